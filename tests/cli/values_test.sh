#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What tessera run counts: --value, finds that answer with counts, --export, --sorted and --histogram, against sort, uniq
# and awk.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)
cd "$work" || exit 1
adds=(run "$specs/quickstart.ini" "${cpu[@]}" --set table.capacity=100 --set table.duplicates=add)
multiset=(run "$specs/warpcore_set.ini" "${cpu[@]}" --set table.kind=multiset --set table.capacity=10000)

# 5000 keys, most of them several times; the same everywhere.
awk 'BEGIN { seed = 5; for (i = 0; i < 5000; i++) { seed = seed * 16807 % 2147483647; print seed % (1 + i % 700) } }' >keys.tsv
counted() { sort -n "$1" | uniq -c | awk '{ print $2 "\t" $1 }'; }
histogram() { awk '{ print $2 }' "$1" | sort -n | uniq -c | awk '{ print $2, $1 }'; }
counted keys.tsv >expected.tsv
awk '{ s = s ">r\n"; for (i = 0; i < 14; i++) s = s substr("ACGT", 1 + ($1 * 7 + i * i) % 4, 1); s = s "\n" } END { printf "%s", s }' keys.tsv >keys.fa

case_of "keys without values are counted by --value one"
run "${adds[@]}" --insert keys.tsv --value one --export counts.tsv --sorted
expect_status 0
cmp counts.tsv expected.tsv || fail "other counts than those of uniq"
expect_out "^ +$(wc -l <expected.tsv) pairs$"
run "${adds[@]}" --insert keys.tsv --insert keys.tsv --value 21 --export counts.tsv --sorted
awk '{ print $1 "\t" $2 * 42 }' expected.tsv | cmp counts.tsv - || fail "--value 21, twice"

case_of "--value ordinal is the key's number in its file"
run "${adds[@]}" --set table.value_bits=64 --insert keys.tsv --value ordinal --export sums.tsv --sorted
awk '{ s[$1] += NR - 1 } END { for (k in s) print k "\t" s[k] }' keys.tsv | sort -n | cmp sums.tsv - || fail "other sums than awk's"

case_of "counts that stopped at the largest number are told"
awk 'BEGIN { for (i = 0; i < 300; i++) print 7; for (i = 0; i < 254; i++) print 8 }' >often.tsv
eights=(run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=counter --set table.capacity=10 --insert often.tsv --export - --sorted)
run "${eights[@]}" --set table.value_bits=8 --quiet
expect_status 0
[[ $(cat "$work/out") == $'7\t255\n8\t254' ]] || fail "other counts: $(cat "$work/out")"
expect_err '^tessera: 1 key has the largest count that fits, 255: the true one may be larger. Use a larger value_bits$'
run "${eights[@]}" --set table.value_bits=16 --quiet
[[ $(cat "$work/out") == $'7\t300\n8\t254' && ! -s $work/err ]] || fail "of 16 bits: $(cat "$work/out" "$work/err")"
printf '8\n' >once.tsv
run "${eights[@]}" --set table.value_bits=8 --quiet --insert once.tsv --erase often.tsv --insert often.tsv --json stopped.json
expect_err '^tessera: 1 key has the largest count'
grep -q '"overflows": ' stopped.json || fail "--json: $(cat stopped.json)"
head -n 299 often.tsv | tail -n 255 >largest.tsv
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=counter --set table.value_bits=8 --set table.capacity=10 \
  --insert largest.tsv --find often.tsv --out found.tsv --quiet
expect_status 0
[[ $(sort -u found.tsv) == $'7\t255\n8\t-' && ! -s $work/err ]] || fail "255 is no overflow: $(cat "$work/err")"
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=counter --set table.value_bits=8 --set table.capacity=10 \
  --insert often.tsv --find often.tsv --out found.tsv --quiet
expect_status 0
expect_err '^tessera: counts passed the largest that fits, 255, and stopped there. Use a larger value_bits$'

printf '1\t300\n2\t255\n' >cut.tsv
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.kind=counter --set table.value_bits=8 --set table.capacity=10 \
  --insert cut.tsv --find cut.tsv --out found.tsv --quiet
expect_status 0
expect_err '^tessera: counts passed the largest that fits, 255, and stopped there. Use a larger value_bits$'

case_of "sums past the largest value are told, and stop there if that is asked for"
printf '1\t4294967295\n2\t4294967294\n1\t1\n2\t1\n1\t5\n' >large.tsv
run "${adds[@]}" --insert large.tsv --export sums.tsv --sorted --json sums.json
expect_status 3
expect_err 'large.tsv: 1 sum passed 2\^32 - 1; these values are wrong. Use --set table.value_bits=64, or --set table.overflow=saturate'
grep -q '"overflows": 1,' sums.json || fail "--json: $(cat sums.json)"
[[ $(cat sums.tsv) == $'1\t5\n2\t4294967295' ]] || fail "other sums: $(cat sums.tsv)"
run "${adds[@]}" --set table.overflow=saturate --insert large.tsv --export sums.tsv --sorted
expect_status 0
[[ $(cat sums.tsv) == $'1\t4294967295\n2\t4294967295' ]] || fail "other sums: $(cat sums.tsv)"
expect_err '^tessera: 2 keys have the largest sum that fits, 4294967295: the true one may be larger. Use a larger value_bits$'
run "${adds[@]}" --set table.overflow=wrap --insert large.tsv --export sums.tsv --sorted
expect_status 0
run "${adds[@]}" --set table.value_bits=64 --insert large.tsv --export sums.tsv --sorted
expect_status 0
[[ $(cat sums.tsv) == $'1\t4294967301\n2\t4294967295' ]] || fail "other sums: $(cat sums.tsv)"
refuses 'only sums can overflow' run "$specs/quickstart.ini" "${cpu[@]}" --set table.overflow=wrap --insert large.tsv

case_of "pairs of one key are sorted by their values, of every width"
awk 'BEGIN {
  seed = 3
  for (i = 0; i < 200000; i++) { seed = seed * 16807 % 2147483647; print seed % 5000 - 2500 "\t" int(seed / 7) % 1000 - 500 }
}' >signed.tsv
sort -n -k 1,1 -k 2,2 signed.tsv >expected
for bits in 32 64; do
  run run "$specs/warpcore_multi.ini" "${cpu[@]}" --set table.capacity=200000 --set "table.key_bits=$bits" \
    --set "table.value_bits=$bits" --signed --insert signed.tsv --export sorted.tsv --sorted --quiet
  expect_status 0
  cmp -s sorted.tsv expected || fail "$bits bits: $(diff sorted.tsv expected | head -4)"
done
awk '{ printf "%d\t%032d\n", ($1 + 2500) % 100, $2 + 500 }' signed.tsv | head -n 5000 >bytes.tsv
sed 's/^kind = .*/kind = multimap/; s/^probing = .*/probing = double_hashing/; /^hash_functions/d; /^\[probing\]/d' "$specs/wide.ini" >many.ini
run run many.ini "${cpu[@]}" --set table.capacity=10000 --set table.value_bytes=16 --insert bytes.tsv --export sorted.tsv --sorted --quiet
expect_status 0
sort -n -k 1,1 -k 2,2 bytes.tsv | cmp -s - sorted.tsv || fail "values of bytes: $(head -n 4 sorted.tsv)"

case_of "values of value_bytes are hexadecimal digits"
wide=(run "$specs/wide.ini" "${cpu[@]}" --set table.capacity=100 --set table.value_bytes=16 --set table.duplicates=replace)
printf '7\t%032d\n8,00112233445566778899aAbBcCdDeEfF\n' 5 | tr , '\t' >wide.tsv
printf '7 %032d\n' 6 >again.tsv
printf '8\n7\n9\n' >asked.tsv
run "${wide[@]}" --insert wide.tsv --insert again.tsv --find asked.tsv --out rows.tsv --export all.csv --sorted --save wide.tsr
expect_status 0
expect_rows rows.tsv '8 00112233445566778899aabbccddeeff' "7 $(printf %032d 6)" '9 -'
[[ $(tail -n 1 all.csv) == 8,00112233445566778899aabbccddeeff && $(wc -l <all.csv) == 3 ]] || fail "exported: $(cat all.csv)"
run "${wide[@]}" --load wide.tsr --set table.load_factor=.5 --erase again.tsv --find asked.tsv --out rows.tsv
expect_status 0
expect_rows rows.tsv '8 00112233445566778899aabbccddeeff' '7 -' '9 -'
run "${wide[@]}" --set table.value_bytes=20 --load wide.tsr
expect_err 'value_bytes = 16, the spec 20'
for bad in '7 12' '7' '7 zz112233445566778899aabbccddeeff'; do
  printf '%s\n' "$bad" >bad.tsv
  run "${wide[@]}" --insert bad.tsv
  ((status != 0)) || fail "$bad is read"
  expect_err 'bad.tsv:1: .* 32 hexadecimal digits'
done
expect_err 'bad.tsv:1: character 1 of the value is no hexadecimal digit'
run "${wide[@]}" --insert wide.tsv --export all.npy
expect_err 'all.npy: .* name a file of text'
run "${wide[@]}" --insert wide.tsv --value one
expect_err 'a value of value_bytes is no number'
run "${wide[@]}" --insert wide.tsv --histogram
expect_err 'counts nothing'
printf '\1\0\0\0' >wide.u32
run "${wide[@]}" --insert wide.u32
expect_err 'wide.u32: has no values of 16 bytes'

case_of "k-mers are counted as tessera count counts them"
run "${adds[@]}" --kmers 12 --insert keys.fa --value one --quiet --histogram
expect_status 0
cp out histogram
[[ ! -s err ]] || fail "--quiet says $(cat err)"
run count keys.fa --kmers 12 "${cpu[@]}" --quiet
cmp out histogram || fail "another histogram than that of count"
[[ -s out ]] || fail "it is empty"

case_of "a pair keeps its value whatever --value says"
printf '7 70\n8\n7 5\n' >mixed.tsv
run "${adds[@]}" --insert mixed.tsv --value 3 --find mixed.tsv --out rows.tsv
expect_status 0
expect_rows rows.tsv '7 75' '8 3' '7 75'

case_of "a table that adds must be told what keys without values get"
for file in keys.tsv keys.fa keys.u32; do
  [[ -e $file ]] || printf '\1\0\0\0' >"$file"
  letters=()
  [[ $file != keys.fa ]] || letters=(--kmers 8)
  run "${adds[@]}" "${letters[@]}" --insert "$file" --save table.tsr
  ((status != 0)) || fail "$file: it adds up something"
  expect_err 'by --value'
  [[ ! -e table.tsr ]] || fail "$file: it is saved"
done
for rule in one 0 ordinal; do
  run "${adds[@]}" --insert keys.u32 --value $rule
  expect_status 0
done
run run "$specs/quickstart.ini" "${cpu[@]}" --insert keys.tsv
expect_status 1
expect_err 'keys.tsv:1: has a key but no value: write .key value., or set the value of such keys by --value'

case_of "--value that makes no sense is refused"
run "${adds[@]}" --insert keys.tsv --value two
expect_status 1
expect_err 'keys.tsv:1: --value two: there is no such column: the first row has 1'
refuses '--value 1e3: must be' "${adds[@]}" --insert keys.tsv --value 1e3
refuses '--value -1: must be' "${adds[@]}" --insert keys.tsv --value=-1
refuses '--value 4294967296: does not fit value_bits = 32' "${adds[@]}" --insert keys.tsv --value 2^32
refuses '--value: a multiset has no values' "${multiset[@]}" --insert keys.tsv --value one
refuses '--value is about pairs that are inserted' "${adds[@]}" --find keys.tsv --value one

case_of "finds in a multiset answer how many, in a set 0 or 1"
sort -nu keys.tsv >distinct.tsv
echo 4294967290 >>distinct.tsv
run "${multiset[@]}" --insert keys.tsv --find distinct.tsv --out rows.tsv
expect_status 0
{ cat expected.tsv && printf '4294967290\t0\n'; } | cmp rows.tsv - || fail "other counts than those of uniq"
expect_out " $(wc -l <distinct.tsv) queries: .* found, 1 missing; 5000 pairs$"
run run "$specs/warpcore_set.ini" "${cpu[@]}" --set table.capacity=10000 --insert keys.tsv --find distinct.tsv --out rows.csv
{ echo key,value && sed 's/$/,1/; $s/1$/0/' distinct.tsv; } | cmp rows.csv - || fail "a set: $(tail -n 2 rows.csv)"

case_of "--histogram is of values, and of pairs where all are kept"
histogram expected.tsv >expected.histogram
run "${adds[@]}" --insert keys.tsv --value one --histogram
cmp out expected.histogram || fail "of a map that adds"
expect_err '^size '
run "${multiset[@]}" --insert keys.tsv --histogram
cmp out expected.histogram || fail "of a multiset"
run run "$specs/warpcore_multi.ini" "${cpu[@]}" --set table.capacity=10000 --insert keys.tsv --value ordinal --histogram
cmp out expected.histogram || fail "of a multimap"
refuses 'in a set each key is there once' run "$specs/warpcore_set.ini" "${cpu[@]}" --insert keys.tsv --histogram

case_of "--export has the forms of other outputs, and can be inserted again"
for ending in tsv csv tsv.gz CSV.GZ npy; do
  run "${adds[@]}" --insert keys.tsv --value one --export "pairs.$ending"
  expect_status 0
  run "${adds[@]}" --insert "pairs.$ending" --export again.tsv --sorted
  expect_status 0
  cmp again.tsv expected.tsv || fail "$ending: other pairs"
done
gzip -dc pairs.tsv.gz | sort -n | cmp - expected.tsv || fail "gzip reads something else"
run "${multiset[@]}" --insert keys.tsv --export all.tsv --sorted
sort -n keys.tsv | cmp all.tsv - || fail "of a multiset"
run run "$specs/warpcore_multi.ini" "${cpu[@]}" --set table.capacity=10000 --insert keys.tsv --value ordinal --export all.tsv --sorted
awk '{ print $1 "\t" NR - 1 }' keys.tsv | sort -n -k 1,1 -k 2,2 | cmp all.tsv - || fail "of a multimap"

case_of "a saved table is exported as well"
run "${adds[@]}" --insert keys.tsv --value one --save table.tsr
run "${adds[@]}" --load table.tsr --export - --sorted
expect_status 0
cmp out expected.tsv || fail "other pairs"

case_of "outputs that contradict each other or have no form are refused"
refuses '--export - and --histogram -: each output needs a place of its own' "${adds[@]}" --insert keys.tsv --value one --export - --histogram
refuses '--export keys.tsv and --insert keys.tsv are one file' "${adds[@]}" --insert keys.tsv --value one --export keys.tsv
refuses '--sorted is about the pairs of --export' "${adds[@]}" --insert keys.tsv --sorted
refuses '--export x.u32: rows are not written as .u32' "${adds[@]}" --insert keys.tsv --export x.u32
refuses '--out x.npy.gz: rows are not written as .npy.gz' "${adds[@]}" --find keys.tsv --out x.npy.gz

case_of "an index numbers the keys of a file in the order in which they come"
index=(run "$specs/index.ini" "${cpu[@]}" --set table.numbering=first_seen)
awk '!seen[$1]++ { print $1 "\t" n++ }' keys.tsv >numbers.tsv
run "${index[@]}" --insert keys.tsv --find keys.tsv --out found.tsv --export all.tsv --save index.tsr
expect_status 0
awk 'NR == FNR { number[$1] = $2; next } { print $1 "\t" number[$1] }' numbers.tsv keys.tsv | cmp found.tsv - || fail "other numbers"
sort -n numbers.tsv | cmp - <(sort -n all.tsv) || fail "other pairs"
expect_out 'numbered from 0 on, reuse = yes'
head -3 keys.tsv >some.tsv
printf '1000000\n' >new.tsv
run "${index[@]}" --load index.tsr --erase some.tsv --insert new.tsv --find new.tsv --out - --quiet
expect_status 0
[[ $(cat "$work/out") =~ ^1000000$'\t'[012]$ ]] || fail "a number of an erased key is not given again: $(cat "$work/out")"
case_of "the rows of an index are read and written by its keys"
rows=(run "$specs/index.ini" "${cpu[@]}" --set table.value_bytes=16 --set table.page_bytes=auto --set table.page_batch=1)
awk 'NR < 400 { printf "%s\t%032x\n", 7 * NR, NR }' keys.tsv >rows.tsv
run "${rows[@]}" --insert rows.tsv --save rows.tsr
expect_status 0
cut -f1 rows.tsv >asked.tsv
run "${rows[@]}" --load rows.tsr --find asked.tsv --out found.tsv --quiet
expect_status 0
cmp rows.tsv found.tsv || fail "other rows than were written"
printf '3\n14\n' >asked.tsv
run "${rows[@]}" --load rows.tsr --find asked.tsv --out - --quiet
[[ $(cat "$work/out") == $'3\t-\n14\t00000000000000000000000000000002' ]] || fail "other rows: $(cat "$work/out")"
refuses 'value_bytes is no number' "${rows[@]}" --insert keys.tsv --value one
refuses '--value: an index gives its keys their numbers' "${index[@]}" --insert keys.tsv --value one
refuses '--histogram: an index numbers its keys' "${index[@]}" --insert keys.tsv --histogram
printf '70\n30\n90\n' >used.txt
printf '70\n50\n' >more.txt
run run "$specs/cache_lru.ini" "${cpu[@]}" --set table.capacity=3 --set table.numbering=first_seen --insert used.txt --insert more.txt --find used.txt --out found.tsv
expect_status 0
expect_out 'eviction = lru'
expect_out '2 items: 1 inserted, 1 present, 0 not placed, 1 evicted'
expect_out '3 queries: 2 found, 1 missing'
printf '1\n2\n3\n4\n' >many.txt
refuses 'has 4 distinct keys' run "$specs/cache_lru.ini" "${cpu[@]}" --set table.capacity=3 --insert many.txt --quiet

case_of "a cache gives up the pair that was used longest ago"
seq 1 8 | awk '{ print $1 "\t" 10 * $1 }' >eight.tsv
printf '1\n2\n' >two.txt
printf '9\t90\n' >ninth.tsv
printf '1\n3\n9\n' >asked.txt
one_bucket=(--set table.capacity=8 --set table.probing=linear --set probing.max_probes=1)
run run "$specs/cache.ini" "${cpu[@]}" "${one_bucket[@]}" --insert eight.tsv --find two.txt --insert ninth.tsv \
  --find asked.txt --out found.tsv
expect_status 0
expect_rows found.tsv '1 10' '2 20' '1 10' '3 -' '9 90'
expect_out "1 items: 1 inserted, 0 present, 0 not placed, 1 evicted"
run run "$specs/cache.ini" "${cpu[@]}" "${one_bucket[@]}" --set table.eviction=lfu --insert eight.tsv --insert ninth.tsv \
  --find asked.txt --out found.tsv
expect_rows found.tsv '1 -' '3 30' '9 90'
refuses 'has kind = index: measure number, unique, unique_counts and unique_inverse' bench "$specs/index.ini" \
  "${cpu[@]}" --n 1000
refuses 'has kind = map, and only an index numbers keys' bench "$specs/best_find.ini" "${cpu[@]}" --n 1000 --ops unique

finish
