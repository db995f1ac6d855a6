#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What `tessera bench` prints on a terminal and in a pipe.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cd "$work" || exit 1
job=(bench quickstart linear --set table.backend=cpu --n 1000 --repeat 1 --loads .5,.8 --ops insert,find100)

# on_terminal WORD...: standard output goes to a terminal, and what came there to the file out.
on_terminal() {
  status=0
  command_line=$*
  script -qec "'$tessera' $(printf "'%s' " "$@") 2>err" /dev/null </dev/null | tr -d '\r' >out
  status=${PIPESTATUS[0]}
}

case_of "a pipe gets CSV"
run "${job[@]}"
expect_status 0
[[ $(head -n 1 out) == spec,backend,device,op,* ]] || fail "no header: $(head -n 1 out)"
(($(grep -c '^quickstart,cpu,' out) == 4 && $(grep -c '^# ratio ' out) == 4)) || fail "rows: $(cat out)"

case_of "--out FILE is CSV, and standard output is empty"
run "${job[@]}" --out rows.csv
expect_status 0
[[ ! -s out && $(wc -l <rows.csv) == 13 ]] || fail "it holds $(cat rows.csv)"
refuses 'is there already: name another file' "${job[@]}" --out rows.csv
refuses '--csv takes no value' "${job[@]}" --csv=rows.csv

case_of "small tables of a sweep wait for no compiler, unless it is asked for"
printf '%s\n' '[table]' 'kind = map' 'key_bits = 32' 'value_bits = 32' 'layout = packed' 'probing = linear' 'hasher = murmur3' \
  'backend = cpu' '[bench]' 'n = 1000' 'repeat = 5' 'ops = find100' >small.ini
code_of() { awk -F, -v name=code 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } NR == 2 { print $at }' "$1"; }
(
  unset TESSERA_CC # with which the other tests forbid compilers
  "$tessera" sweep small.ini --csv tables.csv >out 2>err && "$tessera" sweep small.ini --csv made.csv --compile yes >out 2>err
) || fail "$(cat err)"
[[ $(code_of tables.csv) == *'function tables'* ]] || fail "its code is $(code_of tables.csv)"
[[ $(code_of made.csv) == *fused:* || $(code_of made.csv) == *'a sanitizer looks at this build'* ]] || fail "its code is $(code_of made.csv)"

if ! command -v script >/dev/null; then
  echo "skipped: there is no program script to open a terminal"
  finish
fi

case_of "a terminal gets an aligned table of the columns that rows use"
on_terminal "${job[@]}"
expect_status 0
expect_out '^spec +op +load +mops +probes +ok +utilization +bytes +mops_min +mops_max +ratio +warp_probes$'
for common in 'backend +cpu' 'key_bits +32' 'n +1000' 'keys +distinct'; do expect_out "^$common$"; done
! grep -qE 'registers|link_ms|devices|scaling|composition' out || fail "has columns that no row uses: $(cat out)"
sed -n '/^spec  /,/^$/p' out | grep . >table
(($(wc -l <table) == 9)) || fail "no 8 rows: $(cat table)"
# The word under `ok` begins where `ok` does, and the number under `mops` ends where `mops` does.
awk 'NR == 1 { ok = index($0, " ok") + 1; mops = index($0, " mops ") + 4 }
  NR > 1 && (substr($0, ok, 3) != "yes" || substr($0, mops, 1) !~ /[0-9]/ || substr($0, mops + 1, 1) != " ") { exit 1 }' table ||
  fail "not aligned: $(cat table)"
! grep -q ' $' table || fail "blanks at ends of lines"
expect_out '^ratio quickstart/linear: insert at load 0.5: '

case_of "one row is a table; --csv is CSV on a terminal"
on_terminal bench quickstart --set table.backend=cpu --n 1000 --repeat 1 --ops insert
expect_out '^op +load +mops +probes +ok$'
expect_out '^insert +0\.8 +[0-9.]+ +[0-9.]+ +yes$'
expect_out '^composition +table\.kind=map '
on_terminal "${job[@]}" --csv
[[ $(head -n 1 out) == spec,backend,device,op,* ]] || fail "no header: $(head -n 1 out)"
on_terminal "${job[@]}" --json -
[[ $(head -c 11 out) == '{"tessera":' ]] || fail "no object: $(head -n 1 out)"

finish
