#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Keys that are texts (--key-text) on the cpu backend: run, unique and join, against awk. Read next: columns_test.sh.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu --quiet --key-text)
cd "$work" || exit 1
export LC_ALL=C

# rows SEED COUNT: rows "text<tab>amount"; texts of 1 to 40 letters, also of other alphabets, none that needs quotes.
rows() {
  awk -v seed="$1" -v count="$2" '
    function random(n) { seed = seed * 16807 % 2147483647; return seed % n }
    BEGIN {
      for (i = 0; i < count; i++) {
        text = random(3) ? "key" random(300) : random(2) ? "Köln" random(9) : substr("0123456789012345678901234567890123456789", 1, 1 + random(40))
        print text "\t" random(1000)
      }
    }'
}

rows 3 4000 >rows.tsv
rows 4 60 >asked.tsv
cut -f 1 rows.tsv >keys.txt
cat >sums.ini <<'EOF'
[table]
kind = map
key_bits = 128
value_bits = 64
duplicates = add
layout = soa
probing = linear
hasher = xxhash
EOF

case_of "the distinct texts, in their order, and how often each occurs"
awk -v OFS='\t' '{ if (!count[$0]++) order[++keys] = $0 } END { for (i = 1; i <= keys; i++) print order[i], count[order[i]] }' keys.txt >expected
run unique keys.txt --counts --out distinct.txt --inverse inverse.txt "${cpu[@]}"
expect_status 0
cmp distinct.txt expected || fail "other texts than awk's"
awk 'NR == FNR { key[NR - 1] = $1; next } { print key[$1] }' distinct.txt inverse.txt | cmp - keys.txt ||
  fail "the numbers give other texts back"

case_of "sums by text, sorted by their bytes, and finds"
awk -v OFS='\t' '{ sum[$1] += $2 } END { for (key in sum) print key, sum[key] }' rows.tsv | sort -t $'\t' -k 1,1 >expected
run run sums.ini --insert rows.tsv --export sums.txt --sorted "${cpu[@]}"
expect_status 0
cmp sums.txt expected || fail "other sums than awk's"
awk -v OFS='\t' 'NR == FNR { sum[$1] = $2; next } { print $1, $1 in sum ? sum[$1] : "-" }' expected asked.tsv >answers
run run sums.ini --insert rows.tsv --find asked.tsv --out found.txt "${cpu[@]}"
expect_status 0
cmp found.txt answers || fail "other values than awk's"

case_of "another seed has other keys and the same answers; a saved table finds by the same seed"
run run sums.ini --insert rows.tsv --export other.txt --sorted --set table.seed=77 "${cpu[@]}"
cmp other.txt expected || fail "other sums"
run run sums.ini --insert rows.tsv --save sums.tsr "${cpu[@]}"
run run sums.ini --load sums.tsr --find asked.tsv --out found.txt "${cpu[@]}"
expect_status 0
cmp found.txt answers || fail "other values of the saved table"
run run sums.ini --load sums.tsr --export hashes.txt "${cpu[@]}"
expect_status 0
[[ $(grep -c '^0x[0-9a-f]\{32\}' hashes.txt) == $(wc -l <expected) ]] || fail "texts that are not known are not shown as hashes"

for kind in inner left semi anti; do
  case_of "a join by texts: $kind"
  awk -v OFS='\t' -v kind="$kind" '
    NR == FNR { n = ++count[$1]; value[$1, n] = $2; next }
    {
      if (kind == "semi" && count[$1] || kind == "anti" && !count[$1]) print $1, $2
      if (kind == "left" && !count[$1]) print $1, $2, "-"
      if (kind == "inner" || kind == "left") for (i = 1; i <= count[$1]; i++) print $1, $2, value[$1, i]
    }' asked.tsv rows.tsv | sort >joined
  run join rows.tsv asked.tsv --kind "$kind" --out rows.txt "${cpu[@]}"
  expect_status 0
  sort rows.txt | cmp - joined || fail "other rows than awk's"
done

case_of "quotes, headers, and texts longer than any buffer"
long=$(awk 'BEGIN { for (i = 0; i < 9000; i++) printf "0123456789" }')
printf 'name,n\n"Bad, T",1\n"say ""x""",2\n%s,3\n"Bad, T",4\n' "$long" >odd.csv
run run sums.ini --insert odd.csv --export odd_sums.csv --sorted "${cpu[@]}"
expect_status 0
printf 'name,n\n%s,3\n"Bad, T",5\n"say ""x""",2\n' "$long" | cmp - odd_sums.csv || fail "other rows"
run run sums.ini --insert odd_sums.csv --export again.csv --sorted "${cpu[@]}"
cmp odd_sums.csv again.csv || fail "not read back"
printf 'a\nb\na\n' >bare.txt # no row of these names a column
run unique bare.txt --counts "${cpu[@]}"
expect_rows out "a 2" "b 1"
run unique odd.csv --key n "${cpu[@]}"
expect_rows out 1 2 3 4

case_of "what is wrong is refused"
printf 'a,1\n,2\n' >null.csv
fails 'has no key: leave such rows out by --null skip' run sums.ini --insert null.csv --key-text
run run sums.ini --insert null.csv --null skip "${cpu[@]}"
expect_status 0
printf '' >empty.npy
refuses 'has no texts: --key-text is about rows of text' run sums.ini --insert empty.npy --key-text
refuses 'the key is one column of text' run sums.ini --insert rows.tsv --set table.key_columns=u32,u32 --key-text
refuses 'it stores keys of 128 bits without values' run quickstart --insert rows.tsv --key-text
finish
