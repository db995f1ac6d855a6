#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera experiment on the cpu backend: every experiment runs small, and what stands beside the paper's figure is what the
# CSV has.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

rival=$PWD/examples/rivals/std_map.so

case_of "the list names every file that is an experiment"
run experiment --list
expect_status 0
expect_out '^B1 +BGHT, figure 3a: rates by bucket size$'
for file in "$specs"/experiments/*.ini; do
  name=$(basename "$file" .ini)
  if grep -q '^\[experiment\]' "$file"; then expect_out "^$name "; else ! grep -q "^$name " "$work/out" || fail "lists $name"; fi
done

case_of "all of them run, small, and refuse no table"
run experiment --all --small --out csv --set table.backend=cpu
expect_status 0
! grep -i 'refused' "$work/err" || fail "tables are refused"
cp "$work/out" all
for file in "$specs"/experiments/*.ini; do
  name=$(basename "$file" .ini)
  grep -q '^\[experiment\]' "$file" || continue
  grep -q "^$name  " all || fail "$name printed nothing"
  for key in $(sed -n '/^\[paper\]/,/^\[/s/^\([a-z0-9_]*\) =.*/\1/p' "$file"); do
    grep -q "^  $key " all || fail "$name has no line for $key"
  done
  for variant in $(sed -n '/^\[variants\]/,/^\[[^v]/s/^\([a-z0-9_]*\) =.*/\1/p' "$file"); do
    grep -Eq "^\"?$variant[ ,]" "csv/$name.csv" || fail "$name measured no $variant"
  done
done

case_of "of few keys probes and loads are compared, and no rates, which are noise"
run experiment B6 --small --out csv --set table.backend=cpu
! grep 'no row of ours' out || fail "its small run leaves a figure of the paper without one"
expect_out '^  b8_insert +1\.[0-9]+ +1\.23  buckets'
run experiment B1 --small --out csv --set table.backend=cpu
grep -qE '^  [a-z0-9_]+ +- +[0-9.e+]+  M/s, which takes all keys: without --small$' out || fail "$(cat out)"
! grep -q 'M/s, .* of the paper' out || fail "compares rates: $(cat out)"
grep -q ',ours,mops,-,-,' csv/B1.paper.csv || fail "B1.paper.csv has rates"

case_of "each has its picture"
for name in B1 H4 S0; do
  [[ $(head -c 5 "csv/$name.svg") == '<?xml' ]] || fail "csv/$name.svg is no picture"
done
head -n 1 csv/S5.csv >rows
awk -F, 'NR > 1 { $7 = 4000 } 1' OFS=, csv/S5.csv | tail -n +2 >>rows # of another size
cp csv/S5.csv both.csv && tail -n +2 rows >>both.csv
mkdir both && mv both.csv both/S5.csv
run experiment S5 --small --out both --set table.backend=cpu
expect_status 0
cmp -s both/S5.svg csv/S5.svg || fail "the picture shows rows of other sizes"

case_of "beside another library the fastest of each are the rows of the picture"
run experiment peers --small --out csv --set table.backend=cpu --beside "$rival"
expect_status 0
expect_err 'peers: csv/peers.csv has no row of another library .* name another folder by --out'
run experiment peers --small --out duel --set table.backend=cpu --beside "$rival"
expect_status 0
expect_line duel/peers.peers.csv '^table,operation,n,load,by,name,variant,rate,unit,panel,picture,card,date,limit$'
for bar in 'map of 64-bit pairs,insert in pages of new keys,4096,0.8' 'map of 64-bit pairs,find .all present.,4096,0.8' \
  'map of 32-bit pairs,insert that looks first,4096,0.8' 'set of 32-bit keys,find .none present.,4096,0.8' \
  'counting 32-bit keys,4 of each key,4096,-' 'group-by of 32-bit keys and 32-bit values,Zipf 1.0,4096,-' \
  'finding the distinct 32-bit keys,16 of each key and their counts,4096,-'; do
  for by in 'Tessera,[a-z0-9_]+' 'fastest other library,std::unordered_map'; do
    (($(grep -cE "^$bar,$by,-,[0-9.e-]+,billion per second," duel/peers.peers.csv) == 1)) || fail "not one row of $bar, $by: $(cat duel/peers.peers.csv)"
  done
done
awk -F, '!/^#/ && NF != 14 { exit 1 }' duel/peers.peers.csv || fail "a row has other columns"
! grep -q '^multimap' duel/peers.peers.csv || fail "the rival has no multimap"
# fastest KIND KEYS: of the rival's inserts into tables of 32-bit keys and values; its rows follow those of the table.
fastest() {
  awk -F, -v kind="$1" -v keys="$2" '$16 ~ /table.kind=/ { its = $16 ~ "table.kind=" kind && $16 !~ /duplicates=add/ }
    its && $1 == "std::unordered_map" && $4 == "insert" && $5 == 32 && $6 == 32 && $14 == keys { print $9 / 1000 }' duel/peers.csv | sort -g | tail -n 1
}
for bar in 'map distinct map of 32-bit pairs,insert that looks first,4096,0.8' 'counter distinct counting 32-bit keys,distinct keys,4096,-'; do
  read -r kind keys words <<<"$bar"
  grep -q "^$words,fastest other library,std::unordered_map,-,$(fastest "$kind" "$keys")," duel/peers.peers.csv ||
    fail "$words: not the fastest, $(fastest "$kind" "$keys")"
done
run plot duel/peers.peers.csv --out duel/drawn.svg
cmp -s duel/drawn.svg duel/peers.svg || fail "the picture is not that of its rows"
expect_line duel/peers.svg 'Tessera compared with the fastest other library'

case_of "without gnuplot there is everything but the picture"
mkdir nothing bare
cp csv/S0.csv bare/
status=0
command_line='experiment S0'
PATH=$work/nothing "$tessera" experiment S0 --small --out bare --set table.backend=cpu >"$work/out" 2>"$work/err" || status=$?
expect_status 0
expect_err 'S0: no picture: there is no gnuplot in PATH'
[[ -s bare/S0.paper.csv && ! -e bare/S0.svg ]] || fail "lacks S0.paper.csv, or has S0.svg"

case_of "a folder is made, but not those above it"
run experiment S0 --small --out nowhere/deep --set table.backend=cpu
expect_status 1
expect_err '^tessera: --out nowhere/deep: the folder cannot be made: No such file or directory$'

case_of "what was measured is not measured again"
before=$(cat csv/B1.csv)
run experiment b1 --small --out csv --set table.backend=cpu
expect_status 0
expect_err 'csv/B1.csv has 4 of them already'
[[ $(cat csv/B1.csv) == "$before" ]] || fail "the CSV is another one"

case_of "ours is the mean, the largest, the ratio or the highest load of the CSV's rows"
mkdir mine
cat >mine/X1.ini <<'END'
[table]
kind = map
key_bits = 32
value_bits = 32
layout = packed
probing = cuckoo
hasher = murmur3
backend = cpu
[probing]
hash_functions = 2
max_chain = 2
[variants]
narrow = layout.bucket_slots=1
wide = layout.bucket_slots=16
[bench]
n = 2000
loads = .2, .5, 1
ops = insert, find100
repeat = 1
[experiment]
paper = nobody's
title = how ours is found
device = none
[paper]
mean = variant=wide op=find100 mops=10
largest = op=insert pick=max mops=10
at = variant=wide op=insert load=.50 probes=2
ratio = variant=wide over.variant=narrow op=insert over.op=find100 load=.2 ratio=3
full = variant=wide full_load=.5
none = variant=other mops=5
END
TESSERA_SPECS=nowhere run experiment mine/X1.ini # needs none of the recipes
expect_status 0
# expected NAME AWK: the number that awk makes of the rows, in four digits.
expected() {
  local want
  want=$(awk -F, "NR > 1 { n = split(\$1, v, \" \") } NR > 1 $2" X1.csv | awk '{ printf "%.4g", $1 }')
  expect_out "^  $1 +${want//./\\.} "
}
expected mean '&& v[1] == "wide" && $4 == "find100" { s += $9; c++ } END { print s / c }'
expected largest '&& $4 == "insert" && $9 > m { m = $9 } END { print m }'
expected at '&& v[1] == "wide" && $4 == "insert" && $8 == 0.5 { print $10 }'
expected full '&& v[1] == "wide" && $17 == 0 && $8 > m { m = $8 } END { print m }'
awk -F, '$8 == .2 && $4 == "insert" && $1 == "wide" { a = $9 } $8 == .2 && $4 == "find100" && $1 == "narrow" { b = $9 }
  END { printf "%.4g\n", a / b }' X1.csv >want
expect_out "^  ratio +$(sed 's/\./\\./' want) "
expect_out '^  none +- +5 '

case_of "ours and the paper's are in NAME.paper.csv as well, and can be drawn"
[[ $(head -n 1 X1.paper.csv) == name,set,metric,value,ratio,device ]] || fail "the columns are $(head -n 1 X1.paper.csv)"
(($(wc -l <X1.paper.csv) == 1 + 2 * 6)) || fail "there are $(wc -l <X1.paper.csv) lines"
grep -qx 'full,paper,full_load,0.5,-,none' X1.paper.csv || fail "lacks the paper's figure"
grep -q '^none,ours,mops,-,-,' X1.paper.csv || fail "has a figure of what was not measured"
for name in mean largest at ratio full; do
  grep -q "^  $name *$(awk -F, -v name=$name '$1 == name && $2 == "ours" { printf "%.4g ", $4 }' X1.paper.csv)" "$work/out" ||
    fail "another $name is printed"
  awk -F, -v name=$name '$1 == name { v[$2] = $4; if ($2 == "ours") r = $5 }
    END { d = v["ours"] / v["paper"] / r; exit !(d > .9999 && d < 1.0001) }' X1.paper.csv || fail "the ratio of $name is wrong"
done
run plot X1.paper.csv --out figure.svg
expect_status 0
expect_err 'figure.svg: [2-9] panels, '
run report X1.csv X1.paper.csv --out page.html
expect_status 0
grep -q '>paper</td>' page.html || fail "the page lacks the paper's figures"
grep -q '>full</td>' page.html || fail "the page lacks what is compared"

case_of "what is wrong is said"
refuses 'there is no experiment B77, perhaps B7:' experiment B77
refuses 'name one, such as' experiment
cp -r mine wrong
sed -i 's/^mean = .*/mean = op=insert/' wrong/X1.ini
refuses '\[paper\] mean = op=insert: has no number' experiment wrong/X1.ini
sed -i '/^\[experiment\]/,$d' wrong/X1.ini
refuses 'X1.ini: is no experiment' experiment wrong/X1.ini
refuses 'nowhere.ini' experiment nowhere.ini

finish experiment
