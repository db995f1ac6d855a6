#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Every recipe on the cpu backend, once by function tables and once fused, by one thread: the same reports, the same
# answers, and the same pairs in the same slots. What is fused was compiled ahead, as //:dist carries it; where the
# processor cannot take that it is compiled here.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

export OMP_NUM_THREADS=1
unset TESSERA_CC # with which the other tests forbid compilers
mkdir "$work/ahead"
tar -C "$work/ahead" -xf "$PWD/fused.tar"
export TESSERA_PLUGINS=$plugin_folders:$work/ahead

# Keys that come twice, the two whose bits mark slots, and keys that are never inserted.
awk 'BEGIN {
  for (i = 0; i < 9000; i++) printf "%.0f\t%.0f\n", (i * 2654435761) % 4294967291, i
  for (i = 0; i < 1000; i++) printf "%.0f\t%.0f\n", (i * 7 * 2654435761) % 4294967291, i + 1
  print "4294967295\t1\n4294967294\t2\n0\t3"
}' >"$work/pairs.tsv"
awk '{ print $1 } NR % 3 == 0 { printf "%.0f\n", ($1 + 12345) % 4294967291 }' "$work/pairs.tsv" >"$work/queries.tsv"
awk 'NR % 5 == 0' "$work/pairs.tsv" >"$work/gone_pairs.tsv"
for file in pairs gone_pairs; do cut -f 1 "$work/$file.tsv" >"$work/${file/pairs/keys}.tsv"; done

# rows BYTES NAME: the pairs of NAME.tsv with values of that many bytes, as hexadecimal digits.
rows() {
  awk -v digits=$(($1 * 2)) '{ value = sprintf("%x", $2); while (length(value) < digits) value = "0" value; print $1 "\t" value }' \
    "$work/$2.tsv" >"$work/${2/pairs/rows}.tsv"
}

# run_recipe FOLDER SPEC: what depends on no clock lands in the folder.
run_recipe() {
  local kind bytes what=pairs
  kind=$(sed -nE 's/^kind *= *([a-z]+).*/\1/p' "$2")
  [[ $kind != *set && $kind != index ]] || what=keys
  bytes=$(sed -nE 's/^value_bytes *= *([0-9]+).*/\1/p' "$2")
  [[ ! $bytes ]] || { what=rows && rows "$bytes" pairs && rows "$bytes" gone_pairs; }
  local erase=(--erase "$work/gone_keys.tsv") unplaced=(--unplaced "$1/unplaced.tsv")
  if [[ $kind == filter ]]; then # it keeps no keys, and without slots nothing is erased
    what=keys unplaced=()
    grep -q '^layout' "$2" || erase=()
  fi
  mkdir -p "$1"
  run run "$2" --set table.backend=cpu --set table.capacity=10000 --insert "$work/$what.tsv" \
    --find "$work/queries.tsv" "${erase[@]}" --insert "$work/gone_$what.tsv" --find "$work/queries.tsv" \
    --out "$1/answers.tsv" --save "$1/table" "${unplaced[@]}"
  ((status == 0 || status == 3)) || fail "tessera $command_line: $(cat "$work/err")"
  grep -v '^code ' "$work/out" | sed -E "s|$1||g; s/[0-9.]+ M op.s//; s/in [0-9.]+ ms//" >"$1/report"
}

shopt -s nullglob
recipes=("$specs"/*.ini)
case_of "there are recipes"
((${#recipes[@]} > 20)) || fail "${#recipes[@]} were found"

for spec in "${recipes[@]}"; do
  name=$(basename "$spec" .ini)
  case_of "$name: fused as with tables"
  TESSERA_CC='' TESSERA_CC_ITEMS=1000000000 run_recipe "$work/tables" "$spec"
  expect_out '^code +function tables: TESSERA_CC is empty$|^code +function tables, as there was little to do$'
  TESSERA_CC_ITEMS=0 run_recipe "$work/fused" "$spec"
  inserts='insert( .(ahead|cached).)?, ' # two recipes may be one table; lists are made in bulk, by steps of their own
  ! grep -q '^probing = hashgraph' "$spec" || inserts=
  ! grep -q '^eviction' "$spec" || inserts= # it numbers keys by find_or_insert
  erases=.*erase
  ! grep -q '^kind = filter' "$spec" || erases=
  expect_out "^code +fused: $inserts$erases"
  for file in "$work"/tables/*; do
    cmp "$file" "$work/fused/${file##*/}" || fail "$name: ${file##*/} differs: $(diff "$file" "$work/fused/${file##*/}" | head -n 5)"
  done
  rm -rf "$work/tables" "$work/fused"
done

finish
