#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Rows of text as people have them: CSV and TSV by position, names of columns, quotes, nulls, signs; files without a key; and
# what is told of a file that cannot be read. Read next: inputs_test.sh, ../unit/dataset_test.cc (the readers alone).

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)
cd "$work" || exit 1
common='key_bits = 64\nlayout = packed\nprobing = double_hashing\nhasher = murmur3\n'
# shellcheck disable=SC2059 # the text has line ends
{
  printf "[table]\nkind = set\n$common" >set.ini
  printf "[table]\nkind = map\nvalue_bits = 64\n$common" >map.ini
  printf "[table]\nkind = counter\nvalue_bits = 64\n$common" >counter.ini
}

# put FILE TEXT: the text, with escapes, becomes a file.
put() { printf '%b' "$2" >"$1"; }

# gives SPEC FILE ROWS OPTIONS...: all pairs of the table that FILE makes, by key, as one word "key:value,...".
gives() {
  local spec=$1 file=$2 rows=$3
  shift 3
  run run "$spec.ini" "${cpu[@]}" --insert "$file" --export - --sorted --quiet "$@"
  expect_status 0
  [[ $(tr '\t\n' ':,' <out) == "$rows" ]] || fail "tessera $command_line: $(cat out)"
}

# refuses_file SPEC FILE PATTERN OPTIONS...: the job fails with a sentence, and nothing comes out.
refuses_file() {
  local spec=$1 file=$2 pattern=$3
  shift 3
  run run "$spec.ini" "${cpu[@]}" --insert "$file" --export - --quiet "$@"
  expect_status 1
  [[ ! -s out ]] || fail "tessera $command_line: $(cat out)"
  expect_err "$pattern"
}

case_of "an empty field is an empty field, never the next one"
put in.csv 'id,amount\n1,10\n,20\n3,30\n'
refuses_file set in.csv '^tessera: in.csv:3: has no key: leave such rows out by --null skip$'
refuses_file counter in.csv '^tessera: in.csv:3: has no key'
put in.tsv '1\t10\n\t20\n'
refuses_file map in.tsv '^tessera: in.tsv:2: has no key'
put in.csv 'id,note,amount\n1,,7\n2,,8\n'
refuses_file map in.csv '^tessera: in.csv:1: the row has more than two columns, .*: choose among 3 by --key and --value$'
put in.csv '1,10\n2,\n'
refuses_file map in.csv '^tessera: in.csv:2: has a key but no value'
gives map in.csv '1:10,2:5,' --value 5
gives map in.csv '1:10,' --null skip

case_of "a first row is names only if it cannot be numbers"
for first in +5,6 ffff NULL,7 .5,2 null '\N,1' 'nan,nan' '-1,1' 'id,5' 'inf' 'a,b'; do
  put in.csv "${first//\\/\\\\}\n12,1\n"
  refuses_file set in.csv '^tessera: in.csv:1: '
done
for first in id,amount _a,_b 'user id,n' 'ключ,значение' ',amount' '"id","x,y"' 'x1,x2'; do
  put in.csv "$first\n12,1\n"
  gives map in.csv '12:1,'
done
put in.tsv 'id\tamount\n12\t1\n'
gives map in.tsv '12:1,'
run run map.ini "${cpu[@]}" --insert in.tsv
expect_err '^tessera: in.tsv: its first row names the columns: id, amount$'
put in.csv 'a,b\n12,1\n'
gives map in.csv '12:1,' --key a
gives map in.csv '1:12,' --key b
put in.csv 'ffff\n12\n'
refuses_file set in.csv "in.csv:1: the key 'ffff' is .*: if it is hexadecimal, write 0xffff; or, if this row names the columns, choose one by --key NAME"

case_of "every row has as many columns as the first"
put in.csv 'id,amount\n1,10\n2,20,30\n'
refuses_file map in.csv '^tessera: in.csv:3: the row has more than two columns'
put in.csv 'id,amount\n1,10\n2\n'
refuses_file set in.csv '^tessera: in.csv:3: the row has 1 column, and the first row has 2'
put in.csv 'id,amount,note\n1,10,x\n2,20\n'
refuses_file map in.csv '^tessera: in.csv:3: the row has 2 columns, and the first row has 3' --key id --value amount
put in.csv '1,2,\n'
refuses_file map in.csv '^tessera: in.csv:1: the row has more than two columns'

case_of "columns are chosen by name or number"
put in.csv 'note,amount,id,"x,y"\nhello,10,1,5\n"a ""b"", c\nd",20,2,6\n'
gives map in.csv '1:10,2:20,' --key id --value amount
gives map in.csv '1:10,2:20,' --key 3 --value @2
gives map in.csv '1:5,2:6,' --key @3 --value x,y
gives set in.csv '1,2,' --key id
gives map in.csv '1:1,2:1,' --key id --value one
put in.tsv 'x 1\t10\ny 2\t20\n'
gives set in.tsv '10,20,' --key 2
refuses_file map in.csv "in.csv:1: --key ID: there is no such column: the first row has 4, the first is 'note'" --key ID
refuses_file map in.csv 'in.csv:1: --key 5: there is no such column' --key 5
refuses_file map in.csv 'has 4 columns: choose that of the values by --value' --key id
refuses_file map in.csv 'column 3 would be both key and value' --key id --value id
put twice.csv 'id,id\n1,2\n'
refuses_file map twice.csv '2 columns have this name: choose one by its number, as @2' --key id
gives map twice.csv '2:1,' --key @2
refuses '--value 3 beside --key: write --value @3' run map.ini --insert in.csv --key 1 --value 3
run run map.ini "${cpu[@]}" --insert in.csv --find in.csv --key id --value amount --out - --quiet
expect_rows out '1 10' '2 20'
printf '\1\0\0\0\0\0\0\0' >a.u64
refuses 'a.u64: has no columns to choose' run set.ini "${cpu[@]}" --insert a.u64 --key id

case_of "quotes are those of RFC 4180"
put in.csv '"1","10"\r\n "2" , "20" \r\n'
gives map in.csv '1:10,2:20,'
put in.csv '1,10\n2,"20\n3,30\n'
refuses_file map in.csv '^tessera: in.csv:2: a field begins with a quote and does not end'
put in.csv '1,"1"0\n'
refuses_file map in.csv '^tessera: in.csv:1: text follows a field in quotes'
put in.csv 'k,note\n1,"a\nb"\nx,y\n'
refuses_file set in.csv "^tessera: in.csv:4: the key 'x'" --key k

put in.csv '# words\nid,n\n1,10\n#N/A,20\n'
refuses_file map in.csv "^tessera: in.csv:4: the key '#N/A' is no whole number"
put in.tsv '1\t10\n# words\n2\t20\n'
gives map in.tsv '1:10,2:20,'

case_of "quoted fields of several lines come first in a row as well"
put in.tsv 'note\tid\n"a\nb"\t5\n"\n"\t6\n'
gives set in.tsv '5,6,' --key id
put in.txt 'my id\n5\n'
gives set in.txt '5,' --separator tab

case_of "nulls are refused, or left out and counted"
put in.csv 'id,amount\n1,10\n\\N,20\n3,\\N\n4,\n,\n5,50\n'
refuses_file map in.csv '^tessera: in.csv:3: has no key'
gives map in.csv '1:10,5:50,' --null skip
gives set in.csv '1,3,4,5,' --null skip
run run map.ini "${cpu[@]}" --insert in.csv --null skip
expect_err '^tessera: in.csv: 4 rows were left out, whose key or value is empty, \\N or -$'
put l.tsv '1\t10\n2\t20\n'
put r.tsv '1\t0\n'
for form in csv tsv; do
  run join l.tsv r.tsv --kind left --out "own.$form" --quiet "${cpu[@]}"
  gives map "own.$form" '1:0,' --key @1 --value @3 --null skip
done
refuses_file map own.tsv '^tessera: own.tsv:[12]: has a key but no value' --key @1 --value @3
refuses '--null ignore: must be refuse or skip' run map.ini --insert in.csv --null ignore

case_of "numbers below 0"
put in.csv 'id,amount\n-1,-10\n2,20\n-9223372036854775808,9223372036854775807\n'
refuses_file map in.csv "^tessera: in.csv:2: the key '-1' is no whole number of 64 bits: numbers below 0 are read with --signed"
gives map in.csv '-9223372036854775808:9223372036854775807,-1:-10,2:20,' --signed
put over.csv '-9223372036854775809,1\n'
refuses_file map over.csv 'with --signed they are -2\^63 to 2\^63 - 1' --signed
put over.csv '9223372036854775808,1\n'
refuses_file map over.csv 'with --signed they are -2\^63 to 2\^63 - 1' --signed
put small.csv '-5,1\n-2147483648,-1\n2147483647,3\n'
gives map small.csv '-2147483648:-1,-5:1,2147483647:3,' --signed --set table.key_bits=32 --set table.value_bits=32
put over.csv '2147483648,1\n'
refuses_file map over.csv '-2\^31 to 2\^31 - 1' --signed --set table.key_bits=32
refuses_file map in.csv "the value '-10' is no .*: values that a table counts, adds up or compares are not below 0" --signed \
  --set table.duplicates=add
run run map.ini "${cpu[@]}" --insert in.csv --find in.csv --signed --out - --quiet
expect_rows out '-1 -10' '2 20' '-9223372036854775808 9223372036854775807'
run run map.ini "${cpu[@]}" --insert small.csv --export signed.npy --signed --quiet
head -c 80 signed.npy | grep -aq "'descr': '<i8'" || fail "signed.npy: $(head -c 80 signed.npy)"
gives map signed.npy '-2147483648:-1,-5:1,2147483647:3,' --signed

case_of "aggregates of numbers below 0"
awk 'BEGIN { s = 9; for (i = 0; i < 3000; i++) { s = s * 16807 % 2147483647; print s % 41 - 20 "\t" s % 2000001 - 1000000 } }' >pairs.tsv
seq -20 3 19 >some.tsv
for bits in 32 64; do
  for what in sum min max; do
    awk -v what=$what 'NR == FNR { left[$1]; next } !($1 in left) { next }
      { n[$1]++; sum[$1] += $2 }
      n[$1] == 1 || (what == "min" && $2 < best[$1]) || (what == "max" && $2 > best[$1]) { best[$1] = $2 }
      END { for (k in n) print k "\t" (what == "sum" ? sum[k] : best[k]) }' some.tsv pairs.tsv | sort -n >expected
    run join some.tsv pairs.tsv --aggregate $what --signed --out rows.tsv "${cpu[@]}" --set table.value_bits=$bits
    expect_status 0
    expect_err '^tessera: [0-9]+ rows; matches were found [a-z]+ '
    cmp rows.tsv expected || fail "$what of $bits bits: other values than awk's"
  done
done
put big.tsv '1\t9223372036854775807\n1\t1\n2\t-9223372036854775808\n2\t-1\n3\t-9223372036854775808\n3\t9223372036854775807\n'
run join big.tsv big.tsv --aggregate sum --signed --out none.tsv "${cpu[@]}"
expect_status 1
expect_err 'the sums of 2 keys are beyond -2\^63 to 2\^63 - 1'
[[ ! -e none.tsv ]] || fail "there are rows"

case_of "other separators, and one reader for standard input"
put in.csv 'id;amount\n1;10\n'
refuses_file map in.csv "columns separated by ';' are read with --separator ';'"
gives map in.csv '1:10,' --separator ';'
put in.txt 'id,amount\n1,10\n'
gives map in.txt '1:10,'
put in.txt '1 10\n2   20\n'
gives map in.txt '1:10,2:20,'
refuses '--separator 5: must be' run map.ini --insert in.txt --separator 5
for text in 'id,note,amount\n1,"a, b",10\n' 'id\tnote\tamount\n1\ta, b\t10\n'; do
  put in.any "$text"
  "$tessera" run map.ini "${cpu[@]}" --insert - --key id --value amount --export - --quiet <in.any >out 2>err ||
    fail "standard input: $(cat err)"
  expect_rows out '1 10'
done

case_of "the names of columns are kept"
put in.csv 'id,"my amount"\n1,10\n'
run run map.ini "${cpu[@]}" --insert in.csv --export kept.csv --find in.csv --out rows.csv --quiet
expect_rows kept.csv 'id,"my amount"' 1,10
expect_rows rows.csv 'id,"my amount"' 1,10
run run map.ini "${cpu[@]}" --insert in.csv --export kept.tsv --quiet
[[ $(cat kept.tsv) == $'id\t"my amount"\n1\t10' ]] || fail "kept.tsv: $(cat kept.tsv)"
gives map kept.tsv '1:10,'
put plain.tsv '1\t10\n'
run run map.ini "${cpu[@]}" --insert plain.tsv --export kept.tsv --quiet
expect_rows kept.tsv '1 10'
put orders.csv 'order_id,customer,amount\n1,7,100\n2,8,200\n3,7,300\n'
put names.csv 'nr,name,amount\n7,Anna,5\n9,"Bo, jr",6\n'
run join orders.csv names.csv --key customer,nr --value amount --kind left --out rows.csv "${cpu[@]}" --quiet
expect_status 0
[[ $(head -n 1 rows.csv) == customer,amount,right_amount ]] || fail "$(head -n 1 rows.csv)"
LC_ALL=C sort rows.csv | sed '$d' >sorted
expect_rows sorted 7,100,5 7,300,5 8,200,-
run join orders.csv names.csv --key customer,nr --value order_id,amount --aggregate sum --out sums.csv "${cpu[@]}" --quiet
expect_rows sums.csv customer,amount 7,5
run join orders.csv names.csv --key @2,@1 --kind semi --value @3 --out - "${cpu[@]}" --quiet
expect_status 0
(($(wc -l <out) == 2)) || fail "$(cat out)"

case_of "a file without a key is an input with none"
: >empty.tsv
: >empty.u64
: >empty.csv
put head.csv 'id,amount\n'
put l.tsv '1\t2\n'
for file in empty.tsv empty.csv head.csv empty.u64; do
  gives map "$file" ''
  run run map.ini "${cpu[@]}" --insert "$file" --insert l.tsv --find "$file" --erase "$file" --find l.tsv --out - --json j.json
  expect_status 0
  expect_rows out '1 2'
  expect_err "^tessera: $file: holds no key$"
  ! grep -qi nan j.json err || fail "$file: a number is none: $(cat j.json err)"
  run run map.ini "${cpu[@]}" --insert "$file" --strict
  expect_status 1
  expect_err "$file: holds no key, and --strict refuses such files"
done
for form in tsv csv npy tsv.gz; do
  run run map.ini "${cpu[@]}" --insert empty.tsv --export "none.$form" --save none.tsr --quiet
  expect_status 0
  gives map "none.$form" ''
  run join "none.$form" l.tsv --count --quiet "${cpu[@]}"
  expect_status 0
  [[ $(cat out) == 0 ]] || fail "none.$form: $(cat out)"
done
run run map.ini "${cpu[@]}" --load none.tsr --find l.tsv --out - --quiet
expect_rows out '1 -'

case_of "a join with an empty side"
for kind in anti left inner semi union intersect difference; do
  case $kind in anti) want='1 2' ;; left) want='1 2 -' ;; union | difference) want=1 ;; *) want= ;; esac
  run join l.tsv empty.tsv --kind $kind --quiet "${cpu[@]}"
  expect_status 0
  [[ $(tr '\t' ' ' <out) == "$want" ]] || fail "$kind: $(cat out)"
  run join empty.tsv empty.csv --kind $kind --quiet "${cpu[@]}"
  expect_status 0
  [[ ! -s out ]] || fail "$kind of nothing: $(cat out)"
done
for what in sum min max count; do
  run join l.tsv empty.tsv --aggregate $what --quiet "${cpu[@]}"
  expect_status 0
  [[ ! -s out ]] || fail "$what: $(cat out)"
done
put r.tsv '3\t4\n'
run join l.tsv r.tsv --out rows.tsv --quiet "${cpu[@]}"
run join rows.tsv l.tsv --count --quiet "${cpu[@]}"
expect_status 0
[[ $(cat out) == 0 ]] || fail "own output: $(cat out)"
run join l.tsv empty.tsv --strict "${cpu[@]}"
expect_status 1
expect_err 'empty.tsv: holds no key, and --strict'

# array FILE BYTES: the rows of an array of numbers, a row of BYTES each.
array() { tail -c +129 "$1" | od -An -v -t u8 -w"$2" | tr -s ' ' | sed 's/^ //' | sort; }

case_of "keys alone are enough where no value is shown"
put keys.tsv '1\n5\n'
for kind in semi anti union intersect difference; do
  run join l.tsv keys.tsv --kind $kind --quiet "${cpu[@]}"
  expect_status 0
done
run join l.tsv keys.tsv --count --quiet "${cpu[@]}"
[[ $(cat out) == 1 ]] || fail "$(cat out)"
put named.csv 'id,name,note\n1,Anna,\n5,Bo,x\n'
printf '\1\0\0\0\0\0\0\0' >keys.u64
for keys in named.csv keys.u64; do
  run join l.tsv $keys --kind semi --quiet "${cpu[@]}"
  expect_status 0
  expect_rows out '1 2'
done
run join l.tsv named.csv --aggregate count --quiet "${cpu[@]}"
expect_rows out '1 1'

case_of "a file of keys alone has no column of values"
put keys.tsv '1\n5\n5\n'
put l.tsv '1\t2\n1\t3\n4\t6\n'
joins() { # joins KIND LEFT RIGHT ROW...
  run join "$2" "$3" --kind "$1" --quiet "${cpu[@]}"
  expect_status 0
  sort -o sorted out
  expect_rows sorted "${@:4}"
}
joins inner l.tsv keys.tsv '1 2' '1 3'
joins left l.tsv keys.tsv '1 2 +' '1 3 +' '4 6 -'
joins semi l.tsv keys.tsv '1 2' '1 3'
joins anti l.tsv keys.tsv '4 6'
joins inner keys.tsv l.tsv '1 2' '1 3'
joins left keys.tsv l.tsv '1 2' '1 3' '5 -' '5 -'
joins semi keys.tsv l.tsv 1
joins anti keys.tsv l.tsv 5 5
joins inner keys.tsv keys.tsv 1 5 5 5 5
joins left keys.tsv l.tsv '1 2' '1 3' '5 -' '5 -'
put ids.csv 'id\n1\n5\n'
put many.csv 'name,id\nAnna,1\nBo,4\n'
run join ids.csv l.tsv --kind left --out rows.csv --quiet "${cpu[@]}"
[[ $(sort rows.csv) == $'1,2\n1,3\n5,-\nid,right' ]] || fail "names: $(cat rows.csv)"
run join l.tsv ids.csv --kind left --out rows.npy --quiet "${cpu[@]}"
[[ $(array rows.npy 24) == $'1 2 1\n1 3 1\n4 6 0' ]] || fail "rows.npy: $(array rows.npy 24)"
run join ids.csv l.tsv --kind left --out rows.npy --quiet "${cpu[@]}"
[[ $(array rows.npy 24) == $'1 2 1\n1 3 1\n5 0 0' ]] || fail "rows.npy: $(array rows.npy 24)"
run join - l.tsv --kind anti --quiet "${cpu[@]}" <ids.csv
expect_rows out 5
run join ids.csv many.csv --key id --kind semi --quiet "${cpu[@]}"
expect_rows out 1
put wide.ini '[table]\nkind = multimap\nkey_bits = 32\nvalue_bytes = 16\nlayout = packed\nprobing = double_hashing\nhasher = murmur3\n'
printf '1\t%032d\n' 7 >wide.tsv
run join ids.csv wide.tsv --spec wide.ini --kind left --quiet "${cpu[@]}"
sort -o sorted out
expect_rows sorted "1 $(printf %032d 7)" '5 -'
run join ids.csv wide.tsv --spec wide.ini --kind semi --out rows.npy --quiet "${cpu[@]}"
expect_status 0
[[ $(array rows.npy 8) == 1 ]] || fail "rows.npy: $(array rows.npy 8)"

case_of "values that are needed, or that some rows lack, are asked for"
for how in sum min max; do
  run join l.tsv keys.tsv --aggregate $how --quiet "${cpu[@]}"
  expect_status 1
  expect_err "keys.tsv: has no values, and --aggregate $how needs those of the right file: choose --aggregate count, or a file"
done
put some.tsv '1\t2\n5\n'
run join some.tsv l.tsv --quiet "${cpu[@]}"
expect_status 1
expect_err 'some.tsv:2: the row has 1 column, and the first row has 2'
put more.tsv '1\n5\t2\n'
run join more.tsv l.tsv --quiet "${cpu[@]}"
expect_status 1
expect_err 'more.tsv:2: the row has 2 columns, and the first row has 1'
put lacks.tsv '1\t2\n5\t\n'
run join lacks.tsv l.tsv --quiet "${cpu[@]}"
expect_status 1
expect_err 'lacks.tsv:2: has a key but no value: leave such rows out by --null skip'
run join lacks.tsv l.tsv --null skip --quiet "${cpu[@]}"
sort -o sorted out
expect_rows sorted '1 2 2' '1 2 3'
run join ids.csv l.tsv --value val --quiet "${cpu[@]}"
expect_status 1
expect_err 'ids.csv:1: --value val: there is no such column'

case_of "a missing value is not a value 0, in arrays either"
put l.tsv '1\t0\n2\t0\n'
put r.tsv '1\t0\n'
run join l.tsv r.tsv --kind left --out left.npy --quiet "${cpu[@]}"
[[ $(array left.npy 32) == $'1 0 0 1\n2 0 0 0' ]] || fail "left.npy: $(array left.npy 32)"
run join l.tsv r.tsv --out inner.npy --quiet "${cpu[@]}"
[[ $(array inner.npy 24) == '1 0 0' ]] || fail "inner.npy: $(array inner.npy 24)"
run run map.ini "${cpu[@]}" --insert r.tsv --find l.tsv --out found.npy --quiet
[[ $(array found.npy 24) == $'1 0 1\n2 0 0' ]] || fail "found.npy: $(array found.npy 24)"
sed 's/= map/= multimap/' map.ini >multi.ini
run run multi.ini "${cpu[@]}" --set table.layout=aos --insert r.tsv --find l.tsv --out found.npy --quiet
[[ $(array found.npy 24) == $'1 0 1\n2 0 0' ]] || fail "of a multimap: $(array found.npy 24)"
run join l.tsv r.tsv --kind left --spec set.ini --out left.npy --quiet "${cpu[@]}"
[[ $(array left.npy 16) == $'1 1\n2 0' ]] || fail "of sets: $(array left.npy 16)"
run join l.tsv r.tsv --kind left --spec set.ini --quiet "${cpu[@]}"
[[ $(sort out | tr '\t' ' ') == $'1 +\n2 -' ]] || fail "of sets: $(cat out)"

case_of "what a file is, if it is no text of numbers"
put in.csv 'id\r1\r2\r3\r'
refuses_file set in.csv "in.csv:1: its lines end with CR alone: convert them: tr '.r' '.n' <FILE"
put in.csv '1,2\r3,4\r'
refuses_file map in.csv 'in.csv:1: its lines end with CR alone'
put in.csv 'id,val\r1,2\r'
refuses_file map in.csv 'in.csv:1: its lines end with CR alone' --key id --value val
put in.csv '1,2\n3,4\r5,6\r'
refuses_file map in.csv 'in.csv:2: its lines end with CR alone'
printf '1,2\n' | iconv -t UTF-16 >wide.csv
refuses_file set wide.csv 'wide.csv: is UTF-16 text: convert it: iconv -f UTF-16 -t UTF-8'
printf '1,2\n' | iconv -t UTF-16LE >wide.csv
refuses_file set wide.csv 'wide.csv: is UTF-16 text'
printf '1\t2\n' | gzip >zip.tsv
refuses_file set zip.tsv 'zip.tsv: is compressed by gzip: give it a name that ends in .gz'
put words.tsv '5 1\nbob 1\n'
refuses_file map words.tsv "words.tsv:2: the key 'bob' is no whole number of 32 bits: keys are whole numbers, in decimal or as 0x..$" --set table.key_bits=32
put big.tsv '4294967296 1\n'
refuses_file map big.tsv "is no whole number of 32 bits: it fits key_bits = 64" --set table.key_bits=32

case_of "all that is missing is told, the spec last"
run run absent.ini --insert gone.tsv --find l.tsv
expect_status 2
[[ $(head -n 1 err) == "tessera: 'gone.tsv': cannot be opened: No such file or directory" ]] || fail "said: $(cat err)"
tail -n 1 err | grep -q absent.ini || fail "said: $(cat err)"
for words in "join gone.tsv l.tsv" "count gone.fa --kmers 3"; do
  # shellcheck disable=SC2086
  run $words --spec absent.ini
  expect_status 2
  expect_err "'gone\..*': cannot be opened"
  tail -n 1 err | grep -q absent.ini || fail "said: $(cat err)"
done

finish
