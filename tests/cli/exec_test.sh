#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera exec on the cpu backend: kernels of a file over tables, against awk; and what it refuses.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"
unset TESSERA_CC # with which the other tests forbid compilers
cpu=(--set table.backend=cpu)

cat >"$work/kernels.cu" <<'KERNELS'
#include "tessera.cuh"
TSR_TABLE(groups, finds)
TSR_TABLE(sums, inserts)
TSR_TABLE(totals, finds)
TSR_KERNEL(add_up, (tsr_table_ref groups, tsr_table_ref sums, const uint32_t *keys, uint64_t *seen, uint32_t by)) {
  const uint64_t i = tsr_item();
  uint64_t group = 0;
  const uint32_t mine = i < tsr_items(), found = tsr_find(groups, mine, mine ? keys[i] : 0, &group);
  if_any(found) tsr_insert(sums, found, group, by);
  if (mine) seen[i] = found ? group : 99;
}
TSR_KERNEL(read_back, (tsr_table_ref totals, const uint64_t *seen, uint32_t *of_group, uint64_t n)) {
  const uint64_t i = tsr_item();
  uint64_t total = 0;
  const uint32_t mine = i < n;
  tsr_find(totals, mine, mine ? seen[i] : 0, &total);
  if (mine) of_group[i] = (uint32_t)total;
}
KERNELS
cat >"$work/groups.ini" <<'INI'
[table]
kind = map
key_bits = 32
value_bits = 32
capacity = 1000
layout = packed
probing = cuckoo
hasher = murmur3
INI
sed 's/cuckoo/double_hashing/; /^hasher/a duplicates = add' "$work/groups.ini" >"$work/sums.ini"
awk 'BEGIN { for (i = 0; i < 300; i++) print i "\t" i % 7 }' >"$work/groups.tsv"
awk 'BEGIN { for (i = 0; i < 5000; i++) print i * 31 % 450 }' >"$work/keys.tsv"
both=(--table groups=groups.ini --table sums=sums.ini --insert groups=groups.tsv --in keys=keys.tsv --let by=3)

case_of "two tables in one kernel: a join that adds up"
run exec kernels.cu --kernel add_up "${both[@]}" --out sums=out.tsv --out seen=seen.tsv "${cpu[@]}"
expect_status 0
awk 'NR == FNR { group[$1] = $2; next } $1 in group { sum[group[$1]] += 3 }
  END { for (g in sum) print g "\t" sum[g] }' groups.tsv keys.tsv | LC_ALL=C sort -n >expected
cmp out.tsv expected || fail "other sums"
awk 'NR == FNR { group[$1] = $2; next } { print $1 in group ? group[$1] : 99 }' groups.tsv keys.tsv | cmp - seen.tsv ||
  fail "other groups"
expect_out '^table groups: 300 pairs, sum of keys 44850, of values [0-9]+$'
expect_out '^table sums: 7 pairs, sum of keys 21, of values [0-9]+$'
expect_out '^array seen: 5000 numbers, sum [0-9]+$'
! grep -q 'items' err || fail "says that an array is short"

case_of "sums of a kernel that pass the largest value are told"
run exec kernels.cu --kernel add_up --table groups=groups.ini --table sums=sums.ini --insert groups=groups.tsv \
  --in keys=keys.tsv --let by=4000000000 --out sums=out.tsv "${cpu[@]}"
expect_status 3
passed=$(awk 'NR == FNR { group[$1] = $2; next } $1 in group { sum[group[$1]] += 4000000000 }
  END { for (g in sum) all += int(sum[g] / 4294967296); print all }' groups.tsv keys.tsv)
expect_err "table sums: $passed sums passed the largest value; these values are wrong"

case_of "an array with fewer elements than there are items is told"
cat >short.cu <<'KERNELS'
#include "tessera.cuh"
TSR_TABLE(sums, inserts)
TSR_KERNEL(add_up, (tsr_table_ref sums, const uint32_t *keys, const uint32_t *by)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  tsr_insert(sums, mine, mine ? keys[i] : 0, by[0]);
}
KERNELS
echo 3 >by.tsv
run exec short.cu --table sums=sums.ini --in keys=keys.tsv --in by=by.tsv "${cpu[@]}"
expect_status 0
expect_err '^tessera: by has 1 elements, and there are 5000 items: '

case_of "no items: a kernel that has nothing to do"
: >none.tsv
run exec kernels.cu --kernel add_up --table groups=groups.ini --table sums=sums.ini --insert groups=none.tsv --in keys=none.tsv \
  --let by=1 --out sums=none.out "${cpu[@]}"
expect_status 0
[[ -e none.out && ! -s none.out ]] || fail "sums: $(cat none.out)"
expect_err '^tessera: none.tsv: holds no key$'

case_of "rows of value_bytes: records that are found, changed and inserted"
cat >rows.cu <<'KERNELS'
#include "tessera.cuh"
TSR_TABLE(people, finds)
TSR_TABLE(copies, inserts)
struct person {
  uint32_t town, year, pad[2];
};
TSR_KERNEL(move, (tsr_table_ref people, tsr_table_ref copies, const uint32_t *keys, uint32_t *towns)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  uint64_t value = 0;
  const uint32_t found = tsr_find(people, mine, key, &value);
  struct person person = {0, 0, {0, 0}};
  if (found) person = *(const struct person *)tsr_row(value);
  if (found) towns[i] = person.town;
  person.year += 1;
  tsr_insert(copies, found, key, tsr_row_value(&person));
}
KERNELS
sed 's/^value_bits.*/value_bytes = 16/' groups.ini >people.ini
awk 'function word(n) { return sprintf("%02x%02x0000", n % 256, n / 256) }
  BEGIN { for (i = 0; i < 300; i++) print i "\t" word(i % 7) word(1000 + i % 90) word(0) word(0) }' >people.tsv
awk 'function word(n) { return sprintf("%02x%02x0000", n % 256, n / 256) }
  $1 < 300 && !($1 in seen) { seen[$1]; print $1 "\t" word($1 % 7) word(1001 + $1 % 90) word(0) word(0) }' keys.tsv |
  sort -n >expected.copies
run exec rows.cu --table people=people.ini --table copies=people.ini --insert people=people.tsv --in keys=keys.tsv \
  --out copies=copies.tsv --out towns=towns.tsv "${cpu[@]}"
expect_status 0
cmp copies.tsv expected.copies || fail "other rows"
expect_out '^table copies: 300 pairs, sum of keys [0-9]+$'
awk '{ print $1 < 300 ? $1 % 7 : 0 }' keys.tsv | cmp - towns.tsv || fail "other towns"

case_of "kernels one after the other share arrays, and a table may have two names"
run exec kernels.cu --kernel add_up --kernel read_back "${both[@]}" --table totals=@sums --out of_group=each.tsv --quiet \
  "${cpu[@]}"
expect_status 0
[[ ! -s out ]] || fail "$(cat out)"
awk 'NR == FNR { sum[$1] = $2; next } { print $1 in sum ? sum[$1] : 0 }' expected seen.tsv | cmp - each.tsv ||
  fail "other totals"

case_of "what is wrong with the command line"
refuses 'exec needs' exec
refuses 'say which one is meant' exec kernels.cu "${both[@]}"
refuses 'add_up works on a table sums' exec kernels.cu --kernel add_up --table groups=groups.ini --in keys=keys.tsv
refuses 'add_up reads keys' exec kernels.cu --kernel add_up --table groups=groups.ini --table sums=sums.ini --items 5
refuses 'by has no value' exec kernels.cu --kernel add_up --table groups=groups.ini --table sums=sums.ini --in keys=keys.tsv
refuses 'must be a number of 32 bits' exec kernels.cu --kernel add_up "${both[@]}" --let by=5000000000
refuses '--let other=5: no kernel has a parameter of this name that is a number' exec kernels.cu --kernel add_up "${both[@]}" \
  --let other=5
refuses '--let by: must be PARAMETER=NUMBER' exec kernels.cu --kernel add_up "${both[@]}" --let by
refuses 'no kernel has an array parameter of this name' exec kernels.cu --kernel add_up --in other=keys.tsv
refuses 'must be PARAMETER=FILE' exec kernels.cu --kernel add_up --in keys
refuses 'there is no table none before it' exec kernels.cu --kernel add_up --in keys=keys.tsv --table a=@none
refuses 'there is no array or table none' exec kernels.cu --kernel add_up "${both[@]}" --out none=x
refuses 'there are no items' exec kernels.cu --kernel add_up --table groups=groups.ini
run exec kernels.cu --kernel add_up "${both[@]}" --out sums=keys.tsv
expect_status 2
[[ $(wc -l <keys.tsv) == 5000 ]] || fail "an input was replaced"

case_of "what is wrong with the files"
run exec none.cu --table groups=groups.ini
((status != 0)) || fail "it succeeded"
expect_err 'none.cu'
sed 's/tsr_find(groups/tsr_find(sums/' kernels.cu >wrong.cu
run exec wrong.cu --kernel add_up "${both[@]}" "${cpu[@]}"
((status != 0)) || fail "it succeeded"
expect_err 'tsr_find_in_sums'

case_of "pairs that found no room are told, and the status is 3"
cat >put.cu <<'KERNELS'
#include "tessera.cuh"
TSR_TABLE(into, inserts)
TSR_KERNEL(put, (tsr_table_ref into, const uint32_t *keys)) {
  const uint32_t mine = tsr_item() < tsr_items();
  tsr_insert(into, mine, mine ? keys[tsr_item()] : 0, 1);
}
KERNELS
run exec put.cu --table into=groups.ini --in keys=keys.tsv "${cpu[@]}" --set table.capacity=100
expect_status 3
expect_out '^table into: [0-9]+ pairs, .*, [0-9]+ pairs found no room$'

case_of "a filter has no pairs to sum or to write"
filter=(exec put.cu --table into="$specs/filter.ini" --set table.key_bits=32 --set table.capacity=5000 --in keys=keys.tsv)
run "${filter[@]}" "${cpu[@]}"
expect_status 0
expect_out '^table into: about [0-9]+ keys$'
refuses '--out into=-: into is a filter, which keeps bits and no keys' "${filter[@]}" "${cpu[@]}" --out into=-

finish
