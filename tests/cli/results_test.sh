#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What other programs read of `tessera run`: --json, and rows as an array of NumPy.

# shellcheck source-path=SCRIPTDIR source=harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

cpu=(--set table.backend=cpu)

cd "$work" || exit 1
printf '1 10\n2 20\n1 11\n' >pairs.tsv
printf '1\n3\n' >queries.tsv
# two rows of '<u4': (1, 10), (2, 20)
{
  text="{'descr': '<u4', 'fortran_order': False, 'shape': (2, 2), }"
  printf '\223NUMPY\001\000\073\000%s' "$text"
  printf '\001\0\0\0\012\0\0\0\002\0\0\0\024\0\0\0'
} >pairs.npy

# Times and the processor's name differ from run to run.
normalized() { sed -E 's/("milliseconds": )[0-9]+\.[0-9]{6}/\1T/; s/("device": )"[^"]*"/\1"D"/' "$1"; }

valid() {
  command -v python3 >/dev/null || return 0
  python3 -c 'import json, sys; json.load(open(sys.argv[1], encoding="utf-8"))' "$1" 2>json.err ||
    fail "$1 is no JSON: $(cat json.err)"
}

case_of "--json writes what happened"
run run "$specs/quickstart.ini" "${cpu[@]}" --set table.capacity=100 --set table.statistics=yes --insert pairs.tsv \
  --find queries.tsv --erase queries.tsv --json job.json
expect_status 0
expect_out '^size '
valid job.json
two="\"histogram\": [0, 2$(printf ', 0%.0s' {1..30})]" three="${two/0, 2/0, 3}" # keys by probes: one each
[[ $(normalized job.json) == "$(
  cat <<END
{"tessera": "$("$tessera" version | cut -d ' ' -f 2)", "spec": "$specs/quickstart.ini", "kind": "map", \
"layout": "packed", "probing": "cuckoo", "hasher": "murmur3", "key_bits": 32, "value_bits": 32, "backend": "cpu", \
"device": "D", "capacity": 100, "buckets": 16, "bucket_slots": 8, "tile_lanes": 1, "slots": 128, \
"bytes": $(grep -o '"bytes": [0-9]*' job.json | grep -o '[0-9]*'), "code_ahead": 0, "code_cached": 0, "code_made": 0, "operations": [
  {"operation": "insert", "file": "pairs.tsv", "keys": 3, "inserted": 2, "present": 1, "not_placed": 0, \
"overflows": 0, "evicted": 0, "page_by_page": 0, "scratch_bytes": 0, "cleanings": 0, "probes": 3, "probes_max": 1, $three, "moves": 0, "moves_max": 0, "lost_claims": 0, "stashed": 0, \
"milliseconds": T},
  {"operation": "find", "file": "queries.tsv", "keys": 2, "found": 1, "missing": 1, "probes": 2, "probes_max": 1, \
$two, "milliseconds": T},
  {"operation": "erase", "file": "queries.tsv", "keys": 2, "erased": 1, "missing": 1, "probes": 2, "probes_max": 1, \
$two, "milliseconds": T}], "size": 1, "tombstones": 1, "units": 0, "load_factor": 0.007812, "utilization": 0.007812}
END
)" ]] || fail "it holds: $(cat job.json)"

case_of "--json - leaves standard output to the object"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --json -
expect_status 0
expect_err '^size '
cp out object.json
valid object.json
expect_out '^\{"tessera": '
! grep -q probes out || fail "it tells probes that were not counted"

case_of "--json escapes what JSON does not take"
name=$'a "b"\\\t\001 \303\251 \377\355\240\200.tsv'
cp pairs.tsv "$name"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert "$name" --json odd.json
expect_status 0
valid odd.json
expected=$'"file": "a \\"b\\"\\\\\\u0009\\u0001 \303\251 \\ufffd\\ufffd\\ufffd\\ufffd.tsv"'
grep -qF "$expected" odd.json || fail "it holds: $(cat odd.json)"

case_of "--json of a filter, which has no slots"
run run "$specs/filter.ini" "${cpu[@]}" --set table.capacity=100 --insert pairs.tsv --json filter.json
expect_status 0
valid filter.json
grep -qE '\], "keys": 2, "rate": 0\.[0-9]{9}, "rate_at_capacity": 0\.[0-9]{9}\}$' filter.json ||
  fail "it holds: $(cat filter.json)"

case_of "--json that cannot be written"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --json "$work/absent/job.json"
expect_status 1
expect_err 'absent/job.json: cannot be written: No such file'
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --json /dev/full
expect_status 1
expect_err '/dev/full: cannot be written: No space'
refuses 'each output needs a place of its own' run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --find queries.tsv \
  --out - --json -

case_of "arrays of NumPy go in and out"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.npy --find queries.tsv --find pairs.npy --out rows.npy
expect_status 0
[[ $(head -c 128 rows.npy | tail -c 118 | tr -d '\n' | sed 's/ *$//') == \
  "{'descr': '<u8', 'fortran_order': False, 'shape': (4, 3), }" ]] || fail "a wrong header"
rows=$(tail -c +129 rows.npy | od -An -v -w24 -t u8 | sed 's/  */ /g; s/^ //')
[[ $rows == $'1 10 1\n3 0 0\n1 10 1\n2 20 1' ]] || fail "it holds: $rows"

multi=("$specs/warpcore_multi.ini" "${cpu[@]}" --set table.capacity=100)
case_of "a multimap has a row for each value"
printf '1\n3\n2\n1\n' >more.tsv
run run "${multi[@]}" --insert pairs.tsv --find more.tsv --erase queries.tsv --find more.tsv --out rows.tsv \
  --json job.json
expect_status 0
expect_out '^table    multimap of 32-bit keys and 32-bit values, every pair kept$'
expect_out ' 4 queries: 3 found, 1 missing; 5 values$'
expect_out ' 2 items: 2 erased$'
expect_out ' 4 queries: 1 found, 3 missing; 1 value$'
LC_ALL=C sort rows.tsv >sorted.tsv
expect_rows sorted.tsv '1 -' '1 -' '1 10' '1 10' '1 11' '1 11' '2 20' '2 20' '3 -' '3 -'
valid job.json
grep -q '"found": 3, "missing": 1, "values": 5,' job.json || fail "it holds: $(cat job.json)"

case_of "a multimap saved and loaded"
run run "${multi[@]}" --insert pairs.tsv --save multi.tsr
expect_status 0
run run "${multi[@]}" --load multi.tsr --find queries.tsv --out rows.tsv
expect_status 0
LC_ALL=C sort rows.tsv >sorted.tsv
expect_rows sorted.tsv '1 10' '1 11' '3 -'

case_of "a scheme of a few buckets holds no multimap"
sed '/window/d; /probing\]/d; s/= double_hashing/= cuckoo/; s/= aos/= packed/' "$specs/warpcore_multi.ini" >few.ini
refuses 'few.ini:[0-9]+: \[table\] probing = cuckoo .a scheme that gives a key few buckets.* does not go with kind = multimap' check few.ini

# 300 keys in a list of 20 slabs of 15, of which 20 pairs stay.
for ((i = 0; i < 300; i++)); do echo "$i $i"; done >list.tsv
for ((i = 20; i < 300; i++)); do echo "$i"; done >most.tsv
cat >lists.ini <<'END'
[table]
kind = map
key_bits = 32
value_bits = 32
layout = slab
allocator = slab_light
probing = slab_list
hasher = murmur3
load_factor = 64
END
lists=(lists.ini "${cpu[@]}" --set table.capacity=960)
case_of "--flush gives units of lists back"
run run "${lists[@]}" --insert list.tsv --erase most.tsv --json job.json
expect_status 0
! grep -q '^flush' out || fail "it flushed without being told to"
expect_out '^size .*; units: 19, memory utilization 0\.062; tombstones: 280$'
grep -q '"size": 20, "tombstones": 280, "units": 19, "load_factor": 0.066667, "utilization": 0.062500}' job.json ||
  fail "it holds: $(cat job.json)"
run run "${lists[@]}" --insert list.tsv --erase most.tsv --find queries.tsv --flush --save list.tsr --json job.json
expect_status 0
expect_out '^flush    18 units given back$'
expect_out '^size .*; units: 1, memory utilization 0\.625$'
grep -q '"size": 20, "tombstones": 0, "units": 1, "load_factor": 0.666667, "utilization": 0.625000}' job.json ||
  fail "it holds: $(cat job.json)"
valid job.json
run run "${lists[@]}" --load list.tsr --find most.tsv --find queries.tsv --out rows.tsv
expect_status 0
expect_out ' 280 queries: 0 found, 280 missing'
expect_out ' 2 queries: 2 found, 0 missing'
expect_out '; units: 1, memory utilization 0\.625$'

case_of "--flush without lists is refused"
run run "$specs/quickstart.ini" "${cpu[@]}" --insert pairs.tsv --flush
expect_status 2
expect_err 'tsr_flush does not go with a layout whose buckets do not link: there are no lists to pack; use tsr_rehash'

case_of "a damaged array is refused"
head -c 80 pairs.npy >cut.npy
run run "$specs/quickstart.ini" "${cpu[@]}" --insert cut.npy
expect_status 1
expect_err 'cut.npy: .*cut or damaged'

finish
