#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera run where pairs find no room: --on-full, growth as the default, and recipes at their defaults.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)
cd "$work" || exit 1
quickstart=(run "$specs/quickstart.ini" "${cpu[@]}")
for ((i = 0; i < 3000; i++)); do echo "$((i * 2654435761 % 4294967291)) $i"; done >pairs.tsv
sort -n pairs.tsv | tr ' ' '\t' >expected.tsv

case_of "a table grows where the spec says nothing of it"
run "${quickstart[@]}" --set table.capacity=10 --insert pairs.tsv --export all.tsv --sorted
expect_status 0
expect_out ' 3000 items: 3000 inserted, 0 present, 0 not placed$'
expect_out 'slots: load factor 0\.[0-9]+; grown to capacity [0-9]+$'
cmp all.tsv expected.tsv || fail "other pairs"

case_of "a key whose pairs would take their square is told"
yes 7 | head -n 40000 >equal.tsv
run run "$specs/best_multi.ini" "${cpu[@]}" --set table.capacity=50000 --value 1 --insert equal.tsv
expect_status 0
expect_err '^tessera: equal.tsv: about 40000 of 40000 keys are one key, such as 7\. Each insert passes the pairs'
run run "$specs/hashgraph_v2.ini" "${cpu[@]}" --set table.capacity=50000 --value 1 --insert equal.tsv
! grep -q 'are one key' err || fail "lists made in bulk take no square: $(cat err)"
run run "$specs/best_multi.ini" "${cpu[@]}" --set table.capacity=50000 --value 1 --insert pairs.tsv
! grep -q 'are one key' err || fail "no key is common: $(cat err)"

case_of "growth = none in the spec is kept, and --on-full says otherwise"
fixed=("${quickstart[@]}" --set table.capacity=10 --set table.growth=none)
run "${fixed[@]}" --insert pairs.tsv
expect_status 3
expect_err 'let the table grow: --on-full grow'
run "${fixed[@]}" --insert pairs.tsv --on-full grow
expect_status 0
run "${quickstart[@]}" --set table.capacity=10 --insert pairs.tsv --on-full report --unplaced rest.tsv --export all.tsv
expect_status 3
(($(wc -l <rest.tsv) == 2984 && $(wc -l <all.tsv) == 16)) || fail "$(wc -l rest.tsv all.tsv)"
sort -n all.tsv rest.tsv | cmp - expected.tsv || fail "placed and listed pairs are not the input"

case_of "growth = split grows by what the pairs need, and --on-full grow leaves it"
for on_full in '' '--on-full grow'; do
  # shellcheck disable=SC2086
  run run "$specs/growing.ini" "${cpu[@]}" --set table.capacity=10 --insert pairs.tsv --export all.tsv --sorted $on_full
  expect_status 0
  expect_out 'slots: load factor 0\.[78][0-9]+; grown to capacity 3[0-9][0-9][0-9]$'
  cmp all.tsv expected.tsv || fail "other pairs"
done

case_of "growth that ends at its limit reports the rest"
run "${quickstart[@]}" --set table.capacity=10 --set table.growth=double --set table.growth_limit=1000 --insert pairs.tsv \
  --unplaced rest.csv --export all.tsv
expect_status 3
expect_err 'it grew to capacity [0-9]+: raise growth_limit .now 1000.'
sed 1d rest.csv | tr ',' '\t' | sort -n - all.tsv | cmp - expected.tsv || fail "placed and listed pairs are not the input"

case_of "growth ends before memory does where no size of a table helps"
for ((i = 0; i < 1000; i++)); do echo $'7\t'"$i"; done >one_key.tsv
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=multimap --set table.probing=linear --set probing.max_probes=4 \
  --set table.capacity=100 --insert one_key.tsv --export all.tsv --unplaced rest.tsv
expect_status 3
expect_out '; grown to capacity 1048576$'
sort -nk 2 all.tsv rest.tsv | cmp - one_key.tsv || fail "placed and listed pairs are not the input"
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=multimap --set table.probing=linear --set probing.max_probes=4 \
  --set table.capacity=100 --set table.growth=double --set table.growth_limit=2097152 --insert one_key.tsv
expect_status 3
expect_out '; grown to capacity 2097152$'

case_of "--on-full stop ends the job and writes nothing"
for setting in table.growth=none table.growth=double; do
  run "${quickstart[@]}" --set table.capacity=10 --set $setting --on-full stop --insert pairs.tsv --save t.tsr --export e.tsv \
    --find pairs.tsv --out o.tsv --json j.json --unplaced u.tsv
  expect_status 1
  expect_err "pairs.tsv: the table's 16 slots are full: 2984 of the first 3000 pairs found no room"
  for file in t.tsr e.tsv o.tsv j.json u.tsv; do [[ ! -e $file ]] || fail "$file was written"; done
done
run "${quickstart[@]}" --set table.capacity=5000 --on-full stop --insert pairs.tsv
expect_status 0

case_of "--on-full that makes no sense is refused"
refuses '--on-full maybe: must be grow, report or stop' "${quickstart[@]}" --insert pairs.tsv --on-full maybe
refuses '--on-full grow means growth = double, which this table refuses: .*: it has no keys that could move to a larger filter' run "$specs/filter.ini" \
  "${cpu[@]}" --insert pairs.tsv --on-full grow
refuses '--on-full grow means growth = double, .*: a table in host memory does not grow' run "$specs/larger.ini" "${cpu[@]}" \
  --insert pairs.tsv --on-full grow
refuses '--on-full is about pairs that are inserted' "${quickstart[@]}" --find pairs.tsv --on-full grow

case_of "all keys equal take one slot, and a multiset of them grows"
yes 7 | head -n 20000 >equal.tsv
run "${quickstart[@]}" --set table.capacity=1 --set table.duplicates=add --insert equal.tsv --value one --export all.tsv
expect_status 0
expect_rows all.tsv '7 20000'
run run "$specs/warpcore_set.ini" "${cpu[@]}" --set table.kind=multiset --set table.capacity=100 --insert equal.tsv --histogram
expect_status 0
expect_rows out '20000 1'

case_of "every recipe takes as many pairs as its capacity says, at its defaults"
for recipe in "$specs"/*.ini; do
  text=$(sed '/^capacity/d' "$recipe")
  [[ $text != *'kind = cache'* ]] || continue # which gives up pairs of a full bucket
  value=()
  [[ $text != *value_bits* ]] || value=(--value ordinal)
  echo "$text" >recipe.ini
  cut -d ' ' -f 1 pairs.tsv >keys.tsv
  [[ $text != *value_bytes* ]] || sed -i "s/$/ $(printf '%0128d' 7)/" keys.tsv
  run run recipe.ini "${cpu[@]}" --insert keys.tsv "${value[@]}" --find keys.tsv
  ((status == 0)) || fail "${recipe##*/}: status $status: $(cat err)"
  expect_out ' 3000 queries: 3000 found, 0 missing'
done

case_of "keys that meet in few buckets of an empty table are told as that, and not as a table that is too small"
for i in {1..3000}; do echo "$i $i"; done >sequence.tsv
for growth in none double; do
  run "${quickstart[@]}" --set table.hasher=identity --set table.probing=two_choice --set table.capacity=3000 \
    --set table.growth=$growth --on-full report --insert sequence.tsv
  expect_status 3
  expect_err 'pairs found no room.*: only [0-9]+ of [0-9]+ slots hold a pair, since keys meet in few buckets; choose another hasher'
done

case_of "repeated keys under promise_unique are told as that"
for i in {1..100}; do echo "7 $i"; done >repeated.tsv
run "${quickstart[@]}" --set table.duplicates=promise_unique --set table.capacity=3000 --on-full report --insert repeated.tsv
expect_status 3
expect_err 'few buckets; keys that repeat need another policy, such as duplicates = first'

finish
