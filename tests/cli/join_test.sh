#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera join on the cpu backend, against a join in awk.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)

# random_pairs SEED COUNT BELOW: lines "key<tab>value", the same everywhere; one key in eight is 7.
random_pairs() {
  awk -v seed="$1" -v count="$2" -v below="$3" '
    function random(n) { seed = seed * 16807 % 2147483647; return seed % n }
    BEGIN { for (i = 0; i < count; i++) print (random(8) == 0 ? 7 : random(below)) "\t" random(1000000) }'
}

# oracle KIND LEFT RIGHT: the rows, sorted.
oracle() {
  awk -v kind="$1" -v OFS='\t' '
    NR == FNR { n = ++count[$1]; value[$1, n] = $2; next }
    {
      if (kind == "semi" && count[$1]) print $1, $2
      if (kind == "anti" && !count[$1]) print $1, $2
      if (kind == "left" && !count[$1]) print $1, $2, "-"
      if (kind == "inner" || kind == "left") for (i = 1; i <= count[$1]; i++) print $1, $2, value[$1, i]
    }' "$3" "$2" | LC_ALL=C sort
}

# keys_of FILE: each once.
keys_of() { cut -f 1 "$1" | LC_ALL=C sort -u; }

# aggregates WHAT LEFT RIGHT: of the right values of each key that both have, sorted.
aggregates() {
  awk -v what="$1" -v OFS='\t' '
    NR == FNR { left[$1]; next }
    !($1 in left) { next }
    !($1 in count) || (what == "min" && $2 < best[$1]) || (what == "max" && $2 > best[$1]) { best[$1] = $2 }
    { count[$1]++; sum[$1] += $2 }
    END { for (key in count) print key, what == "sum" ? sum[key] : what == "count" ? count[key] : best[key] }' "$2" "$3" |
    LC_ALL=C sort
}

cd "$work" || exit 1
random_pairs 5 2000 700 >left.tsv
random_pairs 6 1500 600 >right.tsv
gzip -k left.tsv

for kind in inner left semi anti; do
  case_of "the rows of a join: $kind"
  oracle "$kind" left.tsv right.tsv >expected
  run join left.tsv right.tsv --kind "$kind" --out rows.tsv "${cpu[@]}"
  expect_status 0
  LC_ALL=C sort rows.tsv | cmp - expected || fail "other rows than awk's"
  run join left.tsv right.tsv --kind "$kind" --count --quiet "${cpu[@]}"
  [[ $(<out) == $(wc -l <expected) ]] || fail "$(<out) rows"
done

case_of "widths in another form of number"
oracle inner left.tsv right.tsv >expected
run join left.tsv right.tsv --out rows.tsv --set table.key_bits=0x20 --set table.value_bits=0x40 "${cpu[@]}"
expect_status 0
LC_ALL=C sort rows.tsv | cmp - expected || fail "other rows than awk's"

case_of "a spec that is none of a join is refused before a file is opened"
refuses "key_bits=5: must be 32 \| 64" join absent.tsv right.tsv --set table.key_bits=5
refuses "filter: keeps bits and no keys" join absent.tsv right.tsv --spec "$specs/filter.ini"

case_of "what helps pairs without room is told by what the table is"
yes '5 1' | head -n 9000 >hot.tsv
sed 's/hashgraph/double_hashing/; s/^bucket_slots.*/bucket_slots = 8/' "$specs/join.ini" >probes.ini
run join hot.tsv right.tsv --spec probes.ini --set table.page_bytes=auto --set table.growth=none "${cpu[@]}"
expect_status 1
expect_err 'rows would be missing: raise page_bytes or leave it out, .*many pairs of one key need lists'
run join left.tsv right.tsv --set table.growth=none --set table.capacity=8 "${cpu[@]}"
expect_status 1
expect_err 'raise capacity \(now 8\), or let it grow: --set table.growth=double$'

case_of "rows of one key, or of few, on both sides"
yes '18446744073709551615 1' | head -n 9 >largest.tsv
yes '18446744073709551614 2' | head -n 3 >>largest.tsv
run join largest.tsv largest.tsv --count --quiet "${cpu[@]}"
[[ $(<out) == 90 ]] || fail "$(<out) rows of the two largest keys"
seq 65567 | sed 's/.*/7 &/' >equal.tsv
run join equal.tsv equal.tsv --count --quiet "${cpu[@]}"
[[ $(<out) == 4299031489 ]] || fail "$(<out) rows of one key"
run join equal.tsv equal.tsv --kind anti --count --quiet "${cpu[@]}"
[[ $(<out) == 0 ]] || fail "$(<out) rows of a key that is there"
run join equal.tsv equal.tsv --aggregate sum --out sums.tsv "${cpu[@]}"
[[ $(<sums.tsv) == "7"$'\t'"$((65567 * 65568 / 2))" ]] || fail "$(<sums.tsv)"
seq 0 99999 | awk '{ print $1 % 10, $1 }' >facts.tsv
seq 0 9 | awk '{ print $1, $1 }' >dimension.tsv
run join dimension.tsv facts.tsv --count --quiet "${cpu[@]}"
[[ $(<out) == 100000 ]] || fail "$(<out) rows of ten keys"

case_of "values of value_bytes"
sed 's/^value_bits.*/value_bytes = 256/; s/^kind = map/kind = multimap/' "$specs/join.ini" >wide.ini
grep -q value_bytes wide.ini || fail "join.ini has no value_bits"
for side in left right; do awk '{ printf "%s\t%0512d\n", $1, $2 }' $side.tsv >wide_$side.tsv; done
for kind in inner left anti; do
  oracle "$kind" wide_left.tsv wide_right.tsv >expected
  run join wide_left.tsv wide_right.tsv --kind "$kind" --out rows.tsv --spec wide.ini "${cpu[@]}"
  expect_status 0
  LC_ALL=C sort rows.tsv | cmp - expected || fail "other rows than awk's: $kind"
done
run join wide_left.tsv wide_right.tsv --out rows.npy --spec wide.ini "${cpu[@]}"
expect_err 'rows.npy: .* name a file of text'
run join wide_left.tsv wide_right.tsv --aggregate sum --spec wide.ini "${cpu[@]}"
expect_err 'bytes are not added up or compared'
run join wide_left.tsv wide_right.tsv --aggregate count --out rows.tsv --spec wide.ini "${cpu[@]}"
aggregates count left.tsv right.tsv >expected
LC_ALL=C sort rows.tsv | cmp - expected || fail "other counts than awk's"

keys_of left.tsv >left_keys
keys_of right.tsv >right_keys
LC_ALL=C comm -12 left_keys right_keys >intersect
LC_ALL=C comm -23 left_keys right_keys >difference
LC_ALL=C sort -u left_keys right_keys >union
for kind in union intersect difference; do
  case_of "keys once: $kind"
  run join left.tsv right.tsv --kind "$kind" --out keys.tsv "${cpu[@]}"
  expect_status 0
  LC_ALL=C sort keys.tsv | cmp - "$kind" || fail "other keys"
  run join left.tsv right.tsv --kind "$kind" --count --quiet "${cpu[@]}"
  [[ $(<out) == $(wc -l <"$kind") ]] || fail "$(<out) keys"
done

for what in sum min max count; do
  case_of "aggregates by key: $what"
  aggregates "$what" left.tsv right.tsv >expected
  run join left.tsv right.tsv --aggregate "$what" --out sums.tsv "${cpu[@]}"
  expect_status 0
  LC_ALL=C sort sums.tsv | cmp - expected || fail "other aggregates than awk's"
  grep -q 'by an index of the right keys' err || fail "does not say how: $(<err)"
done

case_of "tables of lists meet page by page"
printf '[table]\nkind = multimap\nkey_bits = 64\nvalue_bits = 64\nlayout = packed\nprobing = hashgraph\nhasher = murmur3\ncapacity = 3000\n' >lists.ini
for kind in inner left anti; do
  oracle "$kind" left.tsv right.tsv >expected
  run join left.tsv right.tsv --kind "$kind" --out rows.tsv --spec lists.ini "${cpu[@]}"
  expect_status 0
  LC_ALL=C sort rows.tsv | cmp - expected || fail "other rows of $kind"
  grep -q 'page by page' err || fail "does not say how: $(<err)"
done

case_of "compressed files, standard input and output, commas, arrays"
oracle inner left.tsv right.tsv >expected
"$tessera" join left.tsv.gz - --quiet "${cpu[@]}" <right.tsv | LC_ALL=C sort | cmp - expected || fail "other rows"
run join left.tsv right.tsv --out rows.csv "${cpu[@]}"
[[ $(head -n 1 rows.csv) == key,left,right ]] || fail "$(head -n 1 rows.csv)"
tail -n +2 rows.csv | tr , '\t' | LC_ALL=C sort | cmp - expected || fail "other rows with commas"
run join left.tsv right.tsv --kind left --out rows.npy "${cpu[@]}"
expect_status 0
(($(stat -c %s rows.npy) == 128 + 32 * $(oracle left left.tsv right.tsv | wc -l))) || fail "$(stat -c %s rows.npy) bytes"

case_of "other tables: sets of keys"
cut -f 1 left.tsv | sort -u >left_keys.tsv
cut -f 1 right.tsv | sort -u >right_keys.tsv
printf '[table]\nkind = set\nkey_bits = 32\nlayout = packed\nprobing = linear\nhasher = murmur3\n' >set.ini
sets=(--spec set.ini "${cpu[@]}")
run join left_keys.tsv right_keys.tsv --kind semi --out both.tsv "${sets[@]}"
expect_status 0
LC_ALL=C sort both.tsv | cmp - <(LC_ALL=C sort left_keys.tsv | LC_ALL=C join - <(LC_ALL=C sort right_keys.tsv)) ||
  fail "another intersection"

case_of "what is refused"
refuses '--kind outer: must be one of inner' join left.tsv right.tsv --kind outer
refuses '--aggregate mean: must be one of sum' join left.tsv right.tsv --aggregate mean
refuses 'leave out --kind' join left.tsv right.tsv --aggregate sum --kind left
refuses 'either counted or written' join left.tsv right.tsv --count --out x
refuses 'both standard input' join - -
refuses 'join needs' join left.tsv
run join left.tsv right.tsv --out left.tsv "${cpu[@]}"
expect_status 2
[[ $(wc -l <left.tsv) == 2000 ]] || fail "the input is gone"
run join left.tsv none.tsv --out rows2.tsv "${cpu[@]}"
((status)) || fail "a file that is not there"
[[ ! -e rows2.tsv ]] || fail "there are rows"

case_of "a sum past 2^64 - 1 is told, or stops there"
printf '1\t1\n2\t2\n' >some.tsv
printf '1\t18446744073709551615\n1\t6\n2\t18446744073709551615\n' >large.tsv
run join some.tsv large.tsv "${cpu[@]}" --aggregate sum --out sums.tsv
expect_status 3
expect_err '1 sum passed 2\^64 - 1; these rows are wrong. Use --saturate'
[[ $(sort sums.tsv) == $'1\t5\n2\t18446744073709551615' ]] || fail "other sums: $(cat sums.tsv)"
run join some.tsv large.tsv "${cpu[@]}" --aggregate sum --saturate --out sums.tsv
expect_status 0
expect_err '1 sum stopped at 2\^64 - 1'
[[ $(sort sums.tsv) == $'1\t18446744073709551615\n2\t18446744073709551615' ]] || fail "other sums: $(cat sums.tsv)"
refuses 'saturate and --signed' join some.tsv large.tsv "${cpu[@]}" --aggregate sum --saturate --signed
refuses 'only the sums of --aggregate sum can overflow' join some.tsv large.tsv "${cpu[@]}" --aggregate max --saturate

finish join
