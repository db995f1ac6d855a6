#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera run --save and --load: what was saved comes back, and what is damaged or another table's is refused.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)

cd "$work" || exit 1
for ((i = 0; i < 300; i++)); do echo "$((i * 7919)) $i"; done >pairs.tsv
echo "4294967295 5" >>pairs.tsv # its bits mark an empty slot
for ((i = 0; i < 300; i += 3)); do echo "$((i * 7919))"; done >gone.tsv
cut -d ' ' -f 1 pairs.tsv >queries.tsv
printf '1\n2\n' >>queries.tsv
quickstart=("$specs/quickstart.ini" "${cpu[@]}" --set table.capacity=400)

# ---- Round trips -----------------------------------------------------------------------------------------------------

case_of "a saved table answers as it did"
run run "${quickstart[@]}" --insert pairs.tsv --erase gone.tsv --find queries.tsv --out before.tsv --save table.tsr
expect_status 0
size=$(grep '^size ' out)
[[ $(grep -c -- '-' before.tsv) == 102 ]] || fail "the table was wrong before: $(head before.tsv)"
run run "${quickstart[@]}" --load table.tsr --find queries.tsv --out after.tsv
expect_status 0
cmp before.tsv after.tsv || fail "other rows than before"
expect_out 'capacity 400, as saved$'
expect_out ' 303 queries: 201 found, 102 missing$'
[[ $(grep '^size ' out) == "$size" ]] || fail "another size: $(grep '^size ' out)"

# moves PATTERN --set ... : the table is loaded as the spec says, that is told, and it answers as it did; saved again it
# is what the spec says.
moves() {
  local pattern=$1
  shift
  run run "${quickstart[@]}" "$@" --load table.tsr --find queries.tsv --out after.tsv --save moved.tsr
  expect_status 0
  expect_err "^tessera: --load table.tsr: was saved with $pattern: its pairs are moved$"
  (($(grep -c 'its pairs are moved' err) == 1)) || fail "it tells more: $(cat err)"
  ! grep -q 'as saved' out || fail "it says as saved"
  cmp before.tsv after.tsv || fail "other rows than before"
  run run "${quickstart[@]}" "$@" --load moved.tsr --find queries.tsv --out after.tsv
  expect_status 0
  ! grep -q 'are moved' err || fail "it is moved again: $(cat err)"
  expect_out 'as saved$'
  cmp before.tsv after.tsv || fail "other rows than before"
}

case_of "a table is loaded as the spec says, and that is told"
moves '\[table\] capacity = 400, and the spec says 1M' --set table.capacity=1M
expect_out 'capacity 1000000, as saved$'
moves '\[table\] seed = 1, and the spec says 7' --set table.seed=7
moves '\[table\] load_factor = 0.8, and the spec says 0.5' --set table.load_factor=0.5
moves '\[layout\] bucket_slots = 8, and the spec says 16' --set layout.bucket_slots=16
expect_out ' buckets of 16 slots '
moves '\[table\] probing = cuckoo, and the spec says double_hashing' --set table.probing=double_hashing
expect_out 'probing = double_hashing'
moves '\[table\] duplicates = first, and the spec says min' --set table.duplicates=min
moves '\[table\] stash = 0, and the spec says 64' --set table.stash=64

case_of "what is said in other words is the same, and so is a capacity that is left open or was grown to"
for same in table.capacity=0x190 table.load_factor=.80 layout.bucket_slots=8 table.seed=2^0 table.growth=double; do
  run run "${quickstart[@]}" --set "$same" --load table.tsr --find queries.tsv --out after.tsv
  expect_status 0
  ! grep -q 'are moved' err || fail "$same: $(cat err)"
  cmp before.tsv after.tsv || fail "other rows than before"
done
sed '/^capacity/d' "$specs/quickstart.ini" >open.ini
run run open.ini "${cpu[@]}" --load table.tsr --find queries.tsv --out after.tsv
! grep -q 'are moved' err || fail "$(cat err)"
expect_out 'capacity 400, as saved$'
run run "${quickstart[@]}" --set table.capacity=10 --insert pairs.tsv --save grown.tsr
expect_status 0
expect_out 'slots: load factor .*; grown to capacity [0-9]+$'
run run "${quickstart[@]}" --set table.capacity=10 --load grown.tsr --find queries.tsv
expect_err '--load grown.tsr: keeps its capacity of [0-9]+, beyond the spec.s 10: a table that grows does not shrink$'
! grep -q 'are moved' err || fail "growth as it was saved: $(cat err)"
run run "${quickstart[@]}" --set table.capacity=10 --set table.growth=double --load grown.tsr --find queries.tsv
! grep -q 'are moved' err || fail "$(cat err)"
expect_out ' 303 queries: 301 found'

case_of "pairs that do not fit into what the spec says are told, and nothing is written"
run run "${quickstart[@]}" --set table.capacity=10 --set table.growth=none --load table.tsr --save small.tsr
((status != 0)) || fail "it fits"
expect_err '^tessera: --load table.tsr: its pairs cannot be moved: capacity = 10: [0-9]+ of the table.s 201 pairs found no room in [0-9]+ slots'
[[ ! -e small.tsr ]] || fail "it was saved"

case_of "so are the sections of lists, filters and devices"
lists=("$specs/warpcore_buckets.ini" "${cpu[@]}" --set table.capacity=400)
run run "${lists[@]}" --insert pairs.tsv --save lists.tsr
run run "${lists[@]}" --load lists.tsr --find queries.tsv --out after.tsv --set values.growth=2 --save moved.tsr
expect_status 0
expect_err '^tessera: --load lists.tsr: was saved with \[values\] growth = 1.1, and the spec says 2: its pairs are moved$'
run run "${lists[@]}" --load moved.tsr --find queries.tsv --set values.growth=2.0
expect_out 'as saved$'
run run "$specs/filter.ini" "${cpu[@]}" --set table.capacity=400 --insert queries.tsv --save filter.tsr
refuses '--load filter.tsr: its pairs cannot be moved: .* a filter keeps bits' run "$specs/filter.ini" "${cpu[@]}" \
  --set table.capacity=400 --set filter.functions=3 --load filter.tsr --find queries.tsv
run run "${quickstart[@]}" --set table.devices=0,1 --set devices.split=replicated --load table.tsr --find queries.tsv \
  --out after.tsv
expect_err '--load table.tsr: keeps \[devices\] split = hash, with which it was saved, and not the spec.s replicated$'
cmp before.tsv after.tsv || fail "other rows than before"

case_of "a loaded table goes on, and is saved again"
run run "${quickstart[@]}" --load table.tsr --insert gone_pairs.tsv --save again.tsr
expect_status 2 # there is no such file, and nothing is written
[[ ! -e again.tsr ]] || fail "it was saved nevertheless"
sed 's/$/ 9/' gone.tsv >gone_pairs.tsv
run run "${quickstart[@]}" --load table.tsr --insert gone_pairs.tsv --erase gone.tsv --save again.tsr
expect_status 0
expect_out ' 100 items: 100 inserted, 0 present, 0 not placed$'
expect_out ' 100 items: 100 erased, 0 missing$'
run run "${quickstart[@]}" --load again.tsr --find queries.tsv --out after.tsv
cmp before.tsv after.tsv || fail "other rows than before"

case_of "to load and to save in place is one job"
cp table.tsr place.tsr
run run "${quickstart[@]}" --load place.tsr --insert gone_pairs.tsv --save place.tsr
expect_status 0
run run "${quickstart[@]}" --load place.tsr --find gone.tsv
expect_out ' 100 queries: 100 found, 0 missing$'

case_of "a set and 64-bit pairs come back"
for recipe in warpcore_set u64_map; do
  run run "$specs/$recipe.ini" "${cpu[@]}" --set table.capacity=400 --insert pairs.tsv --find queries.tsv \
    --out before64.tsv --save other.tsr
  expect_status 0
  run run "$specs/$recipe.ini" "${cpu[@]}" --load other.tsr --find queries.tsv --out after64.tsv
  expect_status 0
  cmp before64.tsv after64.tsv || fail "$recipe: other rows than before"
done

case_of "a table without a job is told its size"
run run "${quickstart[@]}" --load table.tsr
expect_status 0
[[ $(grep '^size ' out) == "$size" ]] || fail "another size"

# ---- Refusals --------------------------------------------------------------------------------------------------------

# breaks STATUS PATTERN: the file bad.tsr is refused with that, and nothing is written.
breaks() {
  rm -f rows.tsv
  run run "${quickstart[@]}" --load bad.tsr --find queries.tsv --out rows.tsv
  expect_status "$1"
  expect_err "^tessera: bad\.tsr: $2"
  [[ ! -e rows.tsv ]] || fail "rows were written"
}
# damage AT BYTE: bad.tsr is the table with this octal byte at AT
damage() {
  cp table.tsr bad.tsr
  printf "\\$2" | dd of=bad.tsr bs=1 seek="$1" conv=notrunc status=none
  ! cmp -s table.tsr bad.tsr || fail "byte $1 was $2 before"
}
bytes=$(stat -c %s table.tsr)

case_of "a damaged file is refused"
damage $((bytes - 100)) 125
breaks 1 'the checksum of its pairs is wrong: the saved table is damaged, save it again$'
damage 100 1 # in the spec's text
breaks 1 'the checksum of its head is wrong: the saved table is damaged, save it again$'
damage 40 7 # the seed
breaks 1 'the checksum of its head is wrong'
head -c $((bytes / 2)) table.tsr >bad.tsr
breaks 1 "has $((bytes / 2)) bytes, its head says $bytes: the saved table was cut or damaged, save it again$"
head -c 10 table.tsr >bad.tsr
breaks 1 'ends too early: the saved table was cut'
printf '1\t10\n2\t20\n' >bad.tsr
breaks 1 'is no saved table: tsr_table_save or `tessera run --save` writes one$'
: >bad.tsr
breaks 1 'ends too early'
cp pairs.tsv bad.tsr
breaks 1 'is no saved table: tsr_table_save or `tessera run --save` writes one$'
rm bad.tsr
breaks 2 'cannot be opened as a saved table: No such file'
mkdir bad.tsr
breaks 1 'is a directory: a saved table must be a regular file$'
rmdir bad.tsr

case_of "another version is refused"
damage 8 143
breaks 1 'was saved in version 99 of the format, and this library reads versions 2 to 3: load it with a library as new'

case_of "another table than the spec's is refused"
refuses 'table.tsr: the saved table has value_bits = 32, the spec 64: use the same spec$' run "${quickstart[@]}" \
  --set table.value_bits=64 --load table.tsr --find queries.tsv
refuses 'has key_bits = 32, the spec 64' run "${quickstart[@]}" --set table.key_bits=64 --load table.tsr --find queries.tsv
refuses 'has kind = map, the spec set' run "$specs/warpcore_set.ini" "${cpu[@]}" --load table.tsr --find queries.tsv

case_of "a place that cannot be written fails the job"
run run "${quickstart[@]}" --insert pairs.tsv --save "$work/absent/table.tsr"
expect_status 1
expect_err 'absent/table.tsr: .*No such file'
run run "${quickstart[@]}" --insert pairs.tsv --save /dev/full
((status != 0)) || fail "a full device looks like success"
refuses '--save needs a value' run "${quickstart[@]}" --insert pairs.tsv --save

case_of "a job that fails leaves the saved table alone"
cp table.tsr kept.tsr
echo "1 x" >wrong.tsv
run run "${quickstart[@]}" --insert wrong.tsv --save kept.tsr
expect_status 1
cmp table.tsr kept.tsr || fail "it was overwritten"

finish
