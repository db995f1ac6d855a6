#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Keys of several columns on the cpu backend: run, unique and join, against awk. Read next: join_test.sh.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu --quiet)
cd "$work" || exit 1

# rows SEED COUNT: a header, and rows of x (from -4), a value, y (32 bits), t (8 bits).
rows() {
  awk -v seed="$1" -v count="$2" '
    function random(n) { seed = seed * 16807 % 2147483647; return seed % n }
    BEGIN {
      print "x,amount,y,t"
      for (i = 0; i < count; i++) print random(9) - 4 "," random(1000) ",42949672" (95 - random(5)) "," random(3) * 100
    }'
}

rows 11 3000 >rows.csv
rows 12 40 >asked.csv
cat >sums.ini <<'EOF'
[table]
kind = map
key_columns = x:i16, y:u32, t:u8
value_bits = 64
duplicates = add
layout = soa
probing = linear
hasher = murmur3
EOF
awk -F, -v OFS=, 'NR > 1 { sum[$1 OFS $3 OFS $4] += $2 } END { for (key in sum) print key, sum[key] }' rows.csv |
  LC_ALL=C sort -t, -k1,1n -k2,2n -k3,3n >sums

case_of "sums by three columns, chosen by name, sorted as signed numbers"
run run sums.ini --insert rows.csv --key x,y,t --value amount --export sums.csv --sorted "${cpu[@]}"
expect_status 0
[[ $(head -n 1 sums.csv) == "x,y,t,amount" ]] || fail "the header is $(head -n 1 sums.csv)"
tail -n +2 sums.csv | cmp - sums || fail "other sums than awk's"

case_of "finds show the columns, and '-' where there is no such key"
awk -F, -v OFS=, 'NR == FNR { sum[$1 OFS $2 OFS $3] = $4; next } FNR > 1 {
  key = $1 OFS $3 OFS $4; print key, key in sum ? sum[key] : "-" }' sums asked.csv >expected
run run sums.ini --insert rows.csv --find asked.csv --key @1,@3,@4 --value amount --out found.csv "${cpu[@]}"
expect_status 0
tail -n +2 found.csv | cmp - expected || fail "other values than awk's"

case_of "the export is an input again, also as an array"
run run sums.ini --insert sums.csv --export again.csv --sorted "${cpu[@]}"
cmp sums.csv again.csv || fail "not read back"
run run sums.ini --insert sums.csv --export sums.npy "${cpu[@]}"
expect_status 0
run run sums.ini --insert sums.npy --export again.tsv --sorted "${cpu[@]}"
expect_status 0
grep -v '[a-z]' again.tsv | tr '\t' , | cmp - sums || fail "the array holds other pairs"

case_of "a table that was saved knows its columns"
run run sums.ini --insert rows.csv --key x,y,t --value amount --save sums.tsr "${cpu[@]}"
run run sums.ini --load sums.tsr --export loaded.csv --sorted "${cpu[@]}"
expect_status 0
tail -n +2 loaded.csv | cmp - sums || fail "other sums than those that were saved"

for columns in x,t y,t,x; do
  case_of "the distinct keys of the columns $columns"
  awk -F, -v OFS=, -v columns="$columns" 'NR == 1 { n = split(columns, name, ","); for (i = 1; i <= NF; i++) at[$i] = i; next }
    { key = $at[name[1]]; for (i = 2; i <= n; i++) key = key OFS $at[name[i]]
      if (!count[key]++) order[++keys] = key }
    END { print columns, "count"; for (i = 1; i <= keys; i++) print order[i], count[order[i]] }' rows.csv >expected
  run unique rows.csv --key "$columns" --signed --counts --out distinct.csv "${cpu[@]}" \
    $([[ $columns == x,t ]] || echo --set table.key_columns=u32,u8,i8)
  expect_status 0
  cmp distinct.csv expected || fail "other keys than awk's"
done

# Rows of both files that agree in x and t.
for kind in inner left semi anti; do
  case_of "a join by two columns: $kind"
  awk -F, -v OFS=, -v kind="$kind" '
    FNR == 1 { next }
    NR == FNR { n = ++count[$1 OFS $4]; value[$1 OFS $4, n] = $2; next }
    {
      key = $1 OFS $4
      if (kind == "semi" && count[key] || kind == "anti" && !count[key]) print key, $2
      if (kind == "left" && !count[key]) print key, $2, "-"
      if (kind == "inner" || kind == "left") for (i = 1; i <= count[key]; i++) print key, $2, value[key, i]
    }' asked.csv rows.csv | LC_ALL=C sort >expected
  for types in "" i64,u64 i8,u8; do # 128 and 16 bits
    run join rows.csv asked.csv --kind "$kind" --key x,t=x,t --signed --value amount --out joined.csv "${cpu[@]}" \
      ${types:+--set table.key_columns=$types}
    expect_status 0
    tail -n +2 joined.csv | LC_ALL=C sort | cmp - expected || fail "other rows than awk's: $types"
  done
done

case_of "sums of a join by two columns, with signs"
awk -F, -v OFS=, 'FNR == 1 { next } NR == FNR { left[$1 OFS $4]; next } ($1 OFS $4) in left { sum[$1 OFS $4] += $2 }
  END { for (key in sum) print key, sum[key] }' asked.csv rows.csv | LC_ALL=C sort -t, -k1,1n -k2,2n >expected
for types in i64,i64 i8,u8; do
  run join asked.csv rows.csv --aggregate sum --key x,t=x,t --signed --value amount --out joined.csv "${cpu[@]}" \
    --set table.key_columns=$types
  expect_status 0
  tail -n +2 joined.csv | cmp - expected || fail "other sums than awk's"
done

case_of "what is wrong is refused"
refuses 'must name 3 columns with commas between' run sums.ini --insert rows.csv --key x,y --value amount
printf '1,2\n' >narrow.csv
fails 'the row has 2 columns, and a key has 3' run sums.ini --insert narrow.csv --value one
printf '1,2,300,4\n' >large.csv
fails "the key '300' is no whole number of 8 bits" run sums.ini --insert large.csv
printf '1,-2,3,4\n' >negative.csv
fails "the key '-2' is no whole number of 32 bits" run sums.ini --insert negative.csv
printf '1,,3,4\n' >null.csv
fails 'has no key: leave such rows out by --null skip' run sums.ini --insert null.csv
run run sums.ini --insert null.csv --null skip --export none.csv "${cpu[@]}"
expect_status 0
refuses 'has a column of floats' run sums.ini --insert rows.csv --set table.key_columns=f32,u32
refuses 'it stores keys of 128 bits without values' run quickstart --insert rows.csv --key x,y --value amount
finish
