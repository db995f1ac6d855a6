#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Tables of several devices, in the folder that stage.sh made, on a machine with GPUs: their tests, groups of processes
# among them, then weak and strong scaling by `bench --devices`, n keys in the memory of each device, every answer verified.
#
#   devices.sh DEVICES [N]       as: devices.sh 0,1 2^27; devices.sh 0,0 makes two shards on one GPU
#
# SPEC: a recipe, specs/devices.ini. REPEAT: measurements a row, 5. BACKEND: cuda; cpu tries the script. Ends with 1 where a
# test fails or an answer is wrong.

set -euo pipefail

usage() {
  echo "usage: devices.sh DEVICES [N], as devices.sh 0,1 2^27" >&2
  exit 2
}

(($# == 1 || $# == 2)) || usage
[[ $1 =~ ^[0-9]+(,[0-9]+)*$ && ${2:-2^27} =~ ^(2\^[0-9]+|[0-9]+)$ ]] || usage
cd "$(dirname "${BASH_SOURCE[0]}")"
export TESSERA_PLUGINS=${TESSERA_PLUGINS:-layouts:probing:hashers:allocators:eviction}
backend=${BACKEND:-cuda} failed=0

twice=$(tr , '\n' <<<"$1" | sort | uniq -d)
for test in shards_test fold_test parts_test whole_test group_test; do
  [[ -x ./$test ]] || continue
  if [[ $test == group_test && $backend == cuda && $twice ]]; then
    echo "skipped: group_test, since each process of a group needs a GPU of its own" >&2
    continue
  fi
  TSR_BACKEND=$backend TSR_DEVICES=$1 "./$test" --gtest_brief=1 >&2 || failed=1
done
./tessera bench "${SPEC:-specs/devices.ini}" --devices "$1" --set "table.backend=$backend" --n "${2:-2^27}" \
  --repeat "${REPEAT:-5}" || failed=1
exit "$failed"
