#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tables of several devices, in the folder that stage.sh made, on a machine with GPUs: their tests, then weak scaling, n
# keys on the first device against n keys for each on all of them. `bench` verifies every answer.
#
#   devices.sh DEVICES [N]       as: devices.sh 0,1 2^27; devices.sh 0,0 makes two shards on one GPU
#
# The last lines say for each operation what part of the rate of so many single devices all of them reach. The keys of a
# batch lie on the first device: so this is what a caller sees whose data are on one GPU, and its links are a limit. SPEC: a
# recipe, specs/devices.ini. REPEAT: measurements a row, 5. BACKEND: cuda; cpu tries the script. Ends with 1 where a test
# fails or an answer is wrong.

set -euo pipefail

usage() {
  echo "usage: devices.sh DEVICES [N], as devices.sh 0,1 2^27" >&2
  exit 2
}

(($# == 1 || $# == 2)) || usage
[[ $1 =~ ^[0-9]+(,[0-9]+)*$ && ${2:-2^27} =~ ^(2\^[0-9]+|[0-9]+)$ ]] || usage
cd "$(dirname "${BASH_SOURCE[0]}")"
export TESSERA_PLUGINS=${TESSERA_PLUGINS:-layouts:probing:hashers:allocators}
devices=$1 n=$((${2:-2**27}))
[[ ${2:-} != 2^* ]] || n=$((2 ** ${2#2^}))
IFS=, read -ra numbers <<<"$devices"
backend=${BACKEND:-cuda} failed=0

for test in shards_test whole_test; do
  [[ -x ./$test ]] || continue
  TSR_BACKEND=$backend TSR_DEVICES=$devices "./$test" --gtest_brief=1 >&2 || failed=1
done

# rates DEVICES KEYS: the rows of bench, without their header.
rates() {
  ./tessera bench "${SPEC:-specs/devices.ini}" --set "table.devices=$1" --set "table.backend=$backend" --n "$2" \
    --ops insert,find100,find0 --repeat "${REPEAT:-5}" | grep -v '^#' | tail -n +2
}

one=$(rates "${numbers[0]}" "$n") || exit 1
all=$(rates "$devices" $((n * ${#numbers[@]}))) || exit 1
printf 'spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok,utilization,keys,distinct,composition,not_placed,bytes,registers,link_ms,mops_min,mops_max,limit_mops\n%s\n%s\n' \
  "$one" "$all"
awk -F, -v count="${#numbers[@]}" '
  $12 != "yes" { bad = 1 }
  $4 in rate { printf "# weak scaling of %s: %.3f of %d devices\n", $4, $9 / rate[$4] / count, count; next }
  { rate[$4] = $9 }
  END { exit bad }' <<<"$one"$'\n'"$all" || failed=1
exit "$failed"
