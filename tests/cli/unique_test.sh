#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera unique on the cpu backend, against sort -u and uniq -c.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu --quiet)
cd "$work" || exit 1
awk 'BEGIN { seed = 7; for (i = 0; i < 5000; i++) { seed = seed * 16807 % 2147483647; print seed % 900 } }' >keys.txt
awk '!seen[$1]++' keys.txt >seen
LC_ALL=C sort -u keys.txt >sorted
LC_ALL=C sort keys.txt | uniq -c | awk -v OFS='\t' '{ print $2, $1 }' | LC_ALL=C sort >counted

case_of "the keys in the order in which they first appear"
run unique keys.txt "${cpu[@]}"
expect_status 0
cmp -s out seen || fail "other keys than awk's"

case_of "any order has the same keys, also from standard input"
status=0
"$tessera" unique - --order any "${cpu[@]}" <keys.txt >out 2>err || status=$?
expect_status 0
LC_ALL=C sort out | cmp -s - sorted || fail "other keys than sort -u"

for order in seen any; do
  case_of "counts and the inverse: $order"
  run unique keys.txt --counts --inverse inverse.tsv --out rows.tsv --order $order "${cpu[@]}"
  expect_status 0
  grep -v '^#\|[a-z]' rows.tsv >rows
  LC_ALL=C sort rows | cmp -s - counted || fail "other counts than uniq -c"
  grep -v '[a-z]' inverse.tsv >inverse
  awk 'NR == FNR { key[NR - 1] = $1; next } { print key[$1] }' rows inverse | cmp -s - keys.txt ||
    fail "the numbers give other keys back"
done

case_of "a column of a CSV file, and negative numbers"
printf 'id,town\n5,-3\n6,-3\n7,9\n' >towns.csv
run unique towns.csv --key town --signed --counts --out towns.tsv "${cpu[@]}"
expect_status 0
expect_rows towns.tsv "town count" "-3 2" "9 1"

case_of "keys of 32 bits, one key, none"
run unique keys.txt --set table.key_bits=32 "${cpu[@]}"
cmp -s out seen || fail "other keys"
echo 42 >one.txt
run unique one.txt --counts "${cpu[@]}"
expect_rows out "42 1"
: >none.txt
run unique none.txt --inverse none.tsv --out none_out.tsv "${cpu[@]}"
expect_status 0
[[ -e none_out.tsv && -e none.tsv ]] || fail "writes no file"

case_of "what is wrong is refused"
refuses 'must be seen or any' unique keys.txt --order sorted
run unique keys.txt --out keys.txt "${cpu[@]}"
((status)) || fail "replaces its input"
run unique keys.txt --set table.kind=map "${cpu[@]}"
expect_err 'unique needs kind = index'

finish
