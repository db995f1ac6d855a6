#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# tessera plot and report: pictures and pages of results, what they show, and files of results that are none. Needs
# gnuplot, and Python to read XML.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

# read_xml FILE EXPRESSION: what Python says of the elements `root`, whose texts are `texts`.
read_xml() {
  python3 - "$1" "$2" <<'END' 2>&1
import sys, xml.etree.ElementTree as tree
text = open(sys.argv[1], encoding='utf-8').read()
root = tree.fromstring(text.replace('<!DOCTYPE html>', '', 1))
texts = [' '.join(''.join(e.itertext()).split()) for e in root.iter() if len(e) == 0]
ids = [e.get('id') for e in root.iter() if e.get('id')]
colours = {e.get('stroke') for e in root.iter() if e.get('stroke', '').startswith('rgb')}
print(eval(sys.argv[2]))
END
}

expect_xml() {
  local said
  said=$(read_xml "$1" "$2")
  [[ $said == "${3:-True}" ]] || fail "$1: $2 is: $said"
}

# Numbers of no run: two specs, three loads, two operations, a limit of 40 and of 14.
cat >"$work/made.csv" <<'END'
# Made for a test & not measured.
spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok
specs/one.ini,cuda,Some GPU,insert,32,32,1048576,0.5,7000,1.0,50.0,yes
specs/one.ini,cuda,Some GPU,insert,32,32,1048576,0.7,5600,1.1,40.0,yes
specs/one.ini,cuda,Some GPU,insert,32,32,1048576,0.9,2800,1.5,20.0,no
specs/one.ini,cuda,Some GPU,find100,32,32,1048576,0.5,20000,1.0,50.0,yes
specs/one.ini,cuda,Some GPU,find100,32,32,1048576,0.7,16000,1.1,40.0,yes
specs/two.ini,cuda,Some GPU,insert,32,32,1048576,0.5,4200,1.0,30.0,yes
specs/two.ini,cuda,Some GPU,insert,32,32,1048576,0.5,5600,1.0,40.0,yes
specs/two.ini,cuda,Some GPU,find100,32,32,1048576,0.5,30000,1.0,75.0,yes
specs/bad.ini,-,-,-,-,-,1048576,0.5,-,-,-,refused
# ratio specs/one.ini/specs/two.ini: insert at load 0.5: 1.25
END

case_of "a figure is chosen from what bench has measured"
run bench "$specs/quickstart.ini" "$specs/bcht.ini" --set table.backend=cpu --n 4096 --loads .5,.8 --ops insert,find100 \
  --repeat 1 --out bench.csv
expect_status 0
run plot bench.csv
expect_status 0
expect_err '^tessera: bench.svg: 2 panels, 4 lines$'
expect_xml bench.svg "all(word in texts for word in ['insert', 'find (all present)', 'load factor', '0.5', '0.8', 'quickstart', 'bcht'])"
expect_xml bench.svg "any(text.endswith(' operations per second') for text in texts)"
run bench "$specs/quickstart.ini" --set table.backend=cpu --n 4096 --loads .5,.8 --ops insert --repeat 0 --out counted.csv
expect_status 0
run plot counted.csv
expect_status 0
expect_xml counted.svg "'buckets looked at per key' in texts"

case_of "lines, panels, tics, limits and units are those of the data"
run plot made.csv
expect_status 0
expect_err '^tessera: made.svg: 2 panels, 4 lines$'
expect_err '^tessera: 1 rows are measured again'
expect_err '^tessera: 1 rows that bench found wrong'
expect_err '^tessera: 1 rows without a measurement'
expect_xml made.svg "texts.count('one'), texts.count('two'), texts.count('memory limit')" '(1, 1, 1)'
expect_xml made.svg "texts.count('billion operations per second'), '0.9' in texts" '(1, False)'
expect_xml made.svg "texts.count('Billion operations per second by load factor'), sum('Some GPU' in text for text in texts)" '(2, 1)'
expect_xml made.svg "any('2^20 keys · 32-bit keys · 32-bit values · ' in text for text in texts)"
expect_xml made.svg "{'rgb( 0, 114, 178)', 'rgb(213, 94, 0)'} <= {' '.join(c.replace('(  ', '( ').replace(',  ', ', ').split()) for c in colours}"

case_of "options choose the axis, what is drawn, lines, panels and rows"
run plot made.csv --where spec=specs/one.ini --where op=find100,insert --where load=.5 --out bars.svg
expect_status 0
expect_xml bars.svg "'insert' in texts and 'find (all present)' in texts and '7.00' in texts and '20.0' in texts"
run plot made.csv --x spec --y probes --panels none --lines op,load --out chosen.svg
expect_status 0
expect_err '^tessera: chosen.svg: 1 panel, 4 lines$'
expect_xml chosen.svg "'buckets looked at per key' in texts and 'insert, load factor 0.7' in texts and 'memory limit' not in texts"
run plot made.csv --most 1 --out few.svg
expect_err '^tessera: 2 lines with lesser values are left out'

case_of "a parameter that was swept is the axis"
{
  echo 'spec,op,n,load,mops,composition,mops_min,mops_max,limit_mops'
  for slots in 1 2 4 8 16 32; do
    echo "s.ini,insert,1024,0.8,$slots,table.layout=some layout.bucket_slots=$slots layout.tile_lanes=1,$slots,$slots,64"
  done
} >swept.csv
run plot swept.csv --out swept.svg
expect_status 0
expect_xml swept.svg "'layout.bucket_slots' in texts and '32' in texts and 'memory limit' in texts"
expect_xml swept.svg "any('layout some · tile_lanes 1' in text for text in texts)"

case_of "a sweep's tables, whose names are words, are told apart by their parameters"
{
  echo 'spec,op,load,mops,composition'
  for slots in 4 8 16; do
    for kind in red green; do
      echo "layout.bucket_slots=$slots probing.kind=$kind,insert,0.8,$slots,layout.bucket_slots=$slots probing.kind=$kind"
    done
  done
} >words.csv
run plot words.csv
expect_status 0
expect_err '^tessera: words.svg: 1 panel, 2 lines$'
expect_xml words.svg "all(word in texts for word in ['layout.bucket_slots', '16', 'kind red', 'kind green (the same as kind red)'])"

{
  echo 'spec,op,load,mops,composition'
  for mix in 1 2 3; do
    for load in 0.5 0.8; do echo "bench.mix=$mix,mixed,$load,$mix,layout.bucket_slots=4"; done
  done
} >mixes.csv
run plot mixes.csv
expect_status 0
expect_err '^tessera: mixes.svg: 1 panel, 3 lines$'
expect_xml mixes.svg "all(word in texts for word in ['load factor', 'bench.mix=1', 'bench.mix=2', 'bench.mix=3'])"

case_of "lines that hide each other say so, and the day and the version are named"
cat >twins.csv <<'END'
spec,device,op,load,mops,ok,version,date
one,Some GPU,insert,0.5,7000,yes,0.9.9 abcd1234,2026-03-04T05:06:07Z
one,Some GPU,insert,0.7,5600,yes,0.9.9 abcd1234,2026-03-04T05:07:07Z
two,Some GPU,insert,0.5,7000,yes,0.9.9 abcd1234,2026-03-04T05:06:07Z
two,Some GPU,insert,0.7,5600,yes,0.9.9 abcd1234,2026-03-04T05:07:07Z
six,Some GPU,insert,0.5,7000,yes,0.9.9 abcd1234,2026-03-04T05:06:07Z
six,Some GPU,insert,0.7,5601,yes,0.9.9 abcd1234,2026-03-04T05:07:07Z
END
run plot twins.csv
expect_status 0
expect_xml twins.svg "'one' in texts, 'two (the same as one)' in texts, 'six' in texts" '(True, True, True)'
expect_xml twins.svg "any('Some GPU · 2026-03-04 · version 0.9.9 abcd1234' in text for text in texts)"

case_of "PNG, standard output and standard input"
run plot made.csv --out made.png --quiet
expect_status 0
[[ ! -s $work/err ]] || fail "--quiet says: $(cat "$work/err")"
[[ $(head -c 8 made.png | od -An -tx1 | tr -d ' ') == 89504e470d0a1a0a ]] || fail "made.png is no PNG"
status=0
"$tessera" plot - --out - <made.csv >piped.svg 2>"$work/err" || status=$?
expect_status 0
expect_xml piped.svg "'find (all present)' in texts"

case_of "a report is one page that holds everything and needs no script"
run report made.csv swept.csv --out page.html
expect_status 0
expect_xml page.html "root.tag, len(ids) == len(set(ids)), sum(e.tag.endswith('svg') for e in root.iter())" "('html', True, 3)"
expect_xml page.html "all(word in texts for word in ['Some GPU', 'Made for a test & not measured.', 'specs/one.ini, specs/two.ini, specs/bad.ini', '50 %', '75 %', 'one/two: insert at load 0.5: 1.25', 'All 9 rows', 'layout.bucket_slots'])"
expect_xml page.html "[e.tag for e in root.iter() if e.tag in ('script', 'link', 'img') or e.get('src')]" '[]'
grep -q 'prefers-color-scheme:dark' page.html && grep -q 'name="viewport"' page.html || fail "no style for dark or for phones"

case_of "a table of rows has the columns in which they differ, and fits a narrow page"
run report made.csv --out narrow.html
expect_status 0
expect_xml narrow.html "[''.join(e.itertext()) for e in root.iter() if e.tag == 'table' and e.get('class') == 'rows' for e in e[0]]" \
  "['spec', 'backend', 'device', 'op', 'key_bits', 'value_bits', 'load', 'mops', 'probes', 'pct_limit', 'ok']"
expect_xml narrow.html "[''.join(e.itertext()) for e in root.iter() if e.tag == 'dl' and e.get('class') == 'common' for e in e]" "['n', '1048576']"
expect_xml narrow.html "{e.get('data-name') for e in root.iter() if e.get('data-name')} >= {'spec', 'mops', 'ok'}"
grep -q '@media(max-width:40rem)' narrow.html || fail "no style for narrow pages"

case_of "texts of the data are shown, and neither run nor read as markup"
cat >hostile.csv <<'END'
spec,op,load,mops,note
"<script>alert(1)<script>",in'sert,0.5,1,"a, ""b"""
`touch ran`,in'sert,0.5,2,]]>
"'; system ""touch ran""; '",in'sert,0.6,3,&amp;
"%s {/Symbol a}\n$(touch ran)",in'sert,0.6,4,@x
END
run plot hostile.csv --x load --out hostile.svg
expect_status 0
expect_xml hostile.svg "'<script>alert(1)<script>' in texts and '\`touch ran\`' in texts"
run report hostile.csv --out hostile.html
expect_status 0
expect_xml hostile.html "'script' in [e.tag for e in root.iter()], '<script>alert(1)<script>' in texts, ']]>' in texts" '(False, True, True)'
[[ ! -e ran ]] || fail "a text was run"

case_of "what is no file of results gives a sentence"
printf 'spec,op,mops\na.ini,insert\n' >short.csv
printf 'spec,op,mops\na.ini,"insert,1\n' >open.csv
printf 'spec,spec,mops\na,b,1\n' >twice.csv
printf 'spec,op,mops\na\0b,insert,1\n' >zero.csv
printf 'spec,op,mops\n\xff,insert,1\n' >latin.csv
printf 'spec,op,mops\n' >none.csv
printf 'spec,op,speed\na,insert,1\n' >other.csv
printf 'spec,op,mops\na,insert,nan\n' >nan.csv
: >empty.csv
for expected in 'short.csv:2: has 2 fields, the first line names 3 columns' 'open.csv:2: a field opens with " and' \
  'twice.csv:1: two columns are called spec' 'zero.csv:2: the byte 0x00 is no text' 'latin.csv:2: the byte 0xff is no' \
  'none.csv: holds no row' 'empty.csv: holds no row' 'there is no column mops.* other.csv' 'no row has a number.* nan.csv' \
  'missing.csv: cannot be read: No such file'; do
  file=$(grep -oE '[a-z]+\.csv' <<<"$expected")
  run plot "$file" --out no.svg
  [[ $status == [12] ]] || fail "plot $file: status $status"
  expect_err "^tessera: ${expected% [a-z]*.csv}"
  [[ ! -e no.svg ]] || fail "plot $file: wrote a picture"
  run report made.csv "$file" --out no.html
  [[ $status == [12] && ! -e no.html ]] || fail "report $file: status $status, or a page"
done

# Two measurements a row, conditions of two columns, and options in the file.
cat >"$work/noted.csv" <<'END'
# plot: --x library,call --y ours_us,theirs_us --across 2 --panels size --where kind=of two words,of one
# value: microseconds per call
library,call,size,kind,ours_us,theirs_us
NumPy,insert,small,of two words,10,20
NumPy,find,small,of one,5,15
NumPy,find,large,of one,50,45
NumPy,find,large,other,500,450
END

case_of "a file says what its figure is, and the command line overrides it"
run plot noted.csv
expect_status 0
expect_err '^tessera: noted.svg: 2 panels, 4 lines$'
expect_xml noted.svg "all(word in texts for word in ['NumPy insert', 'NumPy find', 'ours_us', 'theirs_us', 'small', 'large', '45.0', '5.00', 'microseconds per call'])"
expect_xml noted.svg "'450' in texts" False
grep -q ' width="784" ' "$work/noted.svg" || fail "the panels do not stand side by side"
run plot noted.csv --across 1 --where size=large
expect_status 0
expect_err '^tessera: noted.svg: 1 panel, 2 lines$'
grep -q ' width="644" ' "$work/noted.svg" || fail "--across 1 does nothing"
run plot noted.csv --out noted.gp
expect_status 0
gnuplot "$work/noted.gp" >"$work/again.svg" 2>/dev/null || fail "the script is none"
grep -q '<svg' "$work/again.svg" || fail "the script draws nothing"
sed 's/--across 2/--acros 2/' "$work/noted.csv" >"$work/wrong.csv"
refuses 'plot has no option --acros; did you mean --across' plot wrong.csv
refuses '\-\-y: there is no column ours; did you mean ours_us' plot noted.csv --y ours,theirs_us
refuses '\-\-across 9: must be a number from 1 to 8' plot noted.csv --across 9

cat >"$work/words.csv" <<'END'
# title: Who is faster
# subtitle: a made-up run
# device: Some GPU
# plot: --x what --y rate --lines who --label name --panels none
# rate: keys per second
# ours: Ours, in words
# b: the second job
what,who,name,rate,date,commit,note
a,ours,red,3,2026-11-24,1234567,unused
a,theirs,green,1,2026-11-26,1234567,-
b,ours,blue,2.5,2026-11-25,1234567,-
END

case_of "notes give title, origin and words; a column names the bars"
run plot words.csv
expect_status 0
expect_xml words.svg "root.find('{http://www.w3.org/2000/svg}title').text, 'Who is faster' in texts" "('Who is faster', True)"
expect_xml words.svg "'a made-up run · Some GPU · 2026-11-24 to 2026-11-26 · commit 1234567' in texts"
expect_xml words.svg "all(word in texts for word in ['Ours, in words', 'theirs', 'a', 'the second job', '3.00 red', '1.00 green', '2.50 blue', 'keys per second'])"
expect_xml words.svg "'ours' in texts or 'b' in texts" False
run report words.csv --out words.html
expect_status 0
expect_xml words.html "'Who is faster' in texts, any('plot:' in text or 'in words' in text for text in texts if 'Ours' not in text)" '(True, False)'

case_of "--markdown prints the numbers as a table"
run plot words.csv --markdown
expect_status 0
[[ $(<"$work/out") == '| keys per second | Ours, in words | theirs |
|---|---:|---:|
| a | 3.00 red | 1.00 green |
| the second job | 2.50 blue | - |' ]] || fail "bars: $(<"$work/out")"
printf 'op,line,x,y\ninsert,a|b,1024,0.25\ninsert,a|b,100000,150\ninsert,c,1024,2\nerase,c,1024,12.34\n' >lines.csv
run plot lines.csv --markdown
[[ $(<"$work/out") == '| y by x | insert, 2^10 | insert, 10^5 | erase, 2^10 |
|---|---:|---:|---:|
| a\|b | 0.25 | 150 | - |
| c | 2.00 | - | 12.3 |' ]] || fail "lines: $(<"$work/out")"

case_of "what varies by much stands on a logarithmic axis, and powers of two as far apart as their exponents"
printf 'spec,op,n,mops\na.ini,insert,%d,%d\n' 1024 1 2048 20 4096 900 | awk '!/spec/ || NR == 1' >wide.csv
run plot wide.csv --out wide.gp
expect_status 0
grep -q '^set logscale y$' "$work/wide.gp" && grep -q '^set logscale x 2$' "$work/wide.gp" || fail "an axis is linear"
sed 's/,900$/,21/; s/,1$/,19/' "$work/wide.csv" >"$work/narrow.csv"
run plot narrow.csv --out narrow.gp
grep -q '^unset logscale y$' "$work/narrow.gp" || fail "a narrow range is logarithmic"

case_of "repetitions that do not agree are told, and those beyond the axis are marked"
printf 'spec,op,load,mops,mops_min,mops_max\na.ini,insert,0.5,10,9,40\na.ini,insert,0.8,10,9,11\n' >unsteady.csv
run plot unsteady.csv --out unsteady.gp
expect_err '^tessera: 1 points are unsteady: '
grep -q 'using 1:6 with points .* pt 8 ' "$work/unsteady.gp" || fail "no mark"
grep -q '^0.5 10 9 13.78 NaN 13.78$' "$work/unsteady.gp" || fail "the bar is not cut: $(grep '^0.5' "$work/unsteady.gp")"

case_of "wrong command lines are refused"
refuses '\-\-label: there is no column nam; did you mean name' plot words.csv --label nam
refuses 'FILE made.csv are one file: the output would replace what is read' report made.csv --out made.csv
cp made.csv same.svg
refuses 'FILE same.svg are one file' plot same.svg --out same.svg
refuses '\-\-out made.gif: must end in .svg, .png or .gp' plot made.csv --out made.gif
refuses '\-\-x: there is no column lode; did you mean load\?' plot made.csv --x lode
refuses '\-\-where op=erase: no row has that op; the first has insert' plot made.csv --where op=erase
refuses '\-\-where op: must be COLUMN=VALUE' plot made.csv --where op
refuses '\-\-most 0: must be a number from 1 to 64' plot made.csv --most 0
refuses 'standard input has no name' plot -
refuses 'report needs more' report

case_of "without gnuplot a sentence says which package has it"
mkdir -p nothing
status=0
command_line='plot made.csv'
PATH=$work/nothing "$tessera" plot made.csv --out no.svg >"$work/out" 2>"$work/err" || status=$?
expect_status 2
expect_err "there is no gnuplot in PATH, .*package gnuplot-nox"
[[ ! -e no.svg ]] || fail "wrote a picture"

finish
