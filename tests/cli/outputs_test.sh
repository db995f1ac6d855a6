#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What tessera run writes: no output replaces an input or another output, and pairs without room are listed. Read next:
# faults_test.sh.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)

cd "$work" || exit 1
printf '1 10\n2 20\n3 30\n' >pairs.tsv
printf '1\n9\n' >queries.tsv
for ((i = 0; i < 200; i++)); do echo "$i $((i + 1000))"; done >many.tsv
sed 's/^backend.*//; /^duplicates/d' "$specs/quickstart.ini" >spec.ini
job=(run spec.ini "${cpu[@]}" --insert pairs.tsv --find queries.tsv)

# keeps FILE... : no file of this folder but these, and the inputs are as they were.
inputs=(spec.ini pairs.tsv queries.tsv)
sums=$(cat "${inputs[@]}" | cksum)
keeps() {
  local file
  [[ $(cat "${inputs[@]}" | cksum) == "$sums" ]] || fail "an input was changed"
  for file in "$@"; do [[ ! -e $file ]] || fail "$file was written"; done
  [[ ! $(find . -name '*.tmp*') ]] || fail "a temporary file is left: $(find . -name '*.tmp*')"
}

# ---- Outputs that would destroy --------------------------------------------------------------------------------------

case_of "two outputs to one file are refused before anything is read"
mkdir -p folder
ln -s same link # to nothing
ln -s ../link folder/link
ln -s "$work/same" far
for other in same ./same folder/../same "$work/same" link folder/link far; do
  refuses 'are one file: each output needs a place of its own$' "${job[@]}" --out same --save "$other"
  ! grep -q reading err || fail "it read before it refused"
  refuses "--json $other and --out same are one file: each output" "${job[@]}" --out same --json "$other"
  refuses 'are one file: each output' "${job[@]}" --unplaced same --save "$other"
  keeps same
done
touch there
ln there hard
ln -s there soft
refuses '--json hard and --out there are one file' "${job[@]}" --out there --json hard
refuses '--save soft and --out there are one file' "${job[@]}" --out there --save soft
[[ -e there && ! -s there ]] || fail "it was written"

case_of "an output over what is read is refused"
ln pairs.tsv hard.tsv
ln -s spec.ini soft.ini
refuses '--out pairs.tsv and --insert pairs.tsv are one file: the output would replace what is read$' "${job[@]}" --out pairs.tsv
refuses '--save ./queries.tsv and --find queries.tsv are one file' "${job[@]}" --save ./queries.tsv
refuses '--json spec.ini and SPEC spec.ini are one file' "${job[@]}" --json spec.ini
refuses '--out soft.ini and SPEC spec.ini are one file' "${job[@]}" --out soft.ini
refuses '--unplaced hard.tsv and --insert pairs.tsv are one file' "${job[@]}" --unplaced hard.tsv
refuses '--out .* and --erase pairs.tsv are one file' run spec.ini "${cpu[@]}" --erase pairs.tsv --find queries.tsv --out "$work/pairs.tsv"
refuses '-o spec.ini and SPEC spec.ini are one file' link spec.ini -o spec.ini
refuses '--out soft.ini and SPEC spec.ini are one file' bench spec.ini --out soft.ini
refuses '--json hard.tsv and --keys pairs.tsv are one file' bench spec.ini --keys file:pairs.tsv --json hard.tsv
refuses '--json ./same and --out same are one file: each output' bench spec.ini --out same --json ./same
printf '[table]\nkind = set\nkey_bits = 32\n[workload]\nn = 1000\nfind = 1\n' >work.ini
refuses '--csv same and --out same are one file: each output' tune work.ini --csv same --out same
refuses '--csv work.ini and FILE work.ini are one file: the output would replace' tune work.ini --csv work.ini
keeps same

case_of "a saved table may be replaced by what is made of it, and not by rows"
run "${job[@]}" --save table.tsr
expect_status 0
refuses '--out table.tsr and --load table.tsr are one file' run spec.ini "${cpu[@]}" --load table.tsr --find queries.tsv --out table.tsr
run run spec.ini "${cpu[@]}" --load table.tsr --insert many.tsv --save table.tsr
expect_status 0

case_of "devices and pipes take several outputs"
run "${job[@]}" --out /dev/null --json /dev/null
expect_status 0

case_of "a place that cannot be written is told before anything is read"
for option in --out --json --save --unplaced; do
  run "${job[@]}" "$option" absent/file
  expect_status 1
  expect_err "^tessera: $option absent/file: cannot be written: No such file or directory$"
  ! grep -q reading err || fail "$option: it read before"
done
run "${job[@]}" --out .
expect_status 1
expect_err 'cannot be written: Is a directory'
keeps

case_of "what no table can be saved in is told before anything is read"
for place in - /dev/full; do refuses "^tessera: --save $place: .*: a table can be saved in a regular file only" "${job[@]}" --save "$place"; done
! grep -q reading err || fail "it read before"
[[ ! -e - ]] || fail "it made a file called -"

# ---- Pairs without room ----------------------------------------------------------------------------------------------

case_of "a job with pairs that found no room is done, lists them and ends with 3"
small=(run spec.ini "${cpu[@]}" --set table.capacity=1 --insert many.tsv --on-full report)
cut -d ' ' -f 1 many.tsv >keys.tsv
run "${small[@]}" --find keys.tsv --out rows.tsv --json job.json --save small.tsr --unplaced rest.tsv
expect_status 3
expect_out ' 200 items: 8 inserted, 0 present, 192 not placed$'
expect_out ' 200 queries: 8 found, 192 missing$'
expect_err '192 of 200 pairs found no room in the table.s 8 slots: '
grep -q '"not_placed": 192' job.json || fail "it holds $(cat job.json)"
(($(wc -l <rest.tsv) == 192)) || fail "it lists $(wc -l <rest.tsv)"
grep -v -- - rows.tsv | cat - rest.tsv | sort -n | tr '\t' ' ' | cmp - many.tsv || fail "placed and listed pairs are not the input"
run run spec.ini "${cpu[@]}" --set table.capacity=1 --load small.tsr --find keys.tsv
expect_out ' 200 queries: 8 found'
run run spec.ini "${cpu[@]}" --set table.capacity=400 --insert rest.tsv --find keys.tsv
expect_status 0
expect_out ' 200 queries: 192 found'

case_of "without a place for them they are counted"
run "${small[@]}"
expect_status 3
expect_err '; --unplaced FILE lists the pairs$'

case_of "nothing unplaced is an empty list"
run "${job[@]}" --unplaced none.tsv
expect_status 0
[[ -e none.tsv && ! -s none.tsv ]] || fail "it holds $(cat none.tsv)"

case_of "a set lists keys alone, and an array has the columns of its input"
run run "$specs/warpcore_set.ini" "${cpu[@]}" --set table.capacity=1 --insert keys.tsv --unplaced rest.tsv --on-full report
expect_status 3
grep -qE '^[0-9]+$' rest.tsv || fail "it holds $(head -n 2 rest.tsv)"
for recipe in spec.ini "$specs/warpcore_set.ini"; do
  run run "$recipe" "${cpu[@]}" --set table.capacity=1 --insert many.tsv --unplaced rest.npy --on-full report
  expect_status 3
  left=$(sed -n 's/.* \([0-9]*\) not placed$/\1/p' out)
  run run "$recipe" "${cpu[@]}" --set table.capacity=1000 --insert rest.npy
  expect_status 0
  expect_out " $left items: $left inserted"
done

case_of "pairs of several inserts, and those that were evicted, are listed on standard output"
run "${small[@]}" --insert pairs.tsv --unplaced -
expect_status 3
[[ $(grep -cE $'^[0-9]+\t[0-9]+$' out) == "$(wc -l <out)" ]] || fail "other lines than pairs: $(cat out)"
expect_err '^size +8 in 8 slots'

finish
