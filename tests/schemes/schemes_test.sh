#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The schemes of this folder and of examples/parts keep the contract, and each does what it is for. Read next:
# hopscotch.cuh, flagged_cuckoo.cuh, ../../examples/parts/README.md.

# shellcheck source-path=SCRIPTDIR source=../cli/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/../cli/harness.sh"

top=$PWD
export TESSERA_CONFORM=$top/tests/conformance/conformance
export TESSERA_PLUGINS=$plugin_folders:$top/tests/schemes:$top/examples/parts

for file in "$top"/{tests/schemes,examples/parts}/probing_*.so; do
  case_of "$(basename "$file" .so) keeps the contract"
  widths=32:32 # of the schemes of this folder each key's width, and with TSR_TEST_ALL=1 all pairs
  [[ $file != */tests/schemes/* ]] || widths=32:32,64:64
  [[ ! ${TSR_TEST_ALL:-} || $file != */tests/schemes/* ]] || widths=
  TSR_CONFORM_WIDTHS=$widths GTEST_FILTER='-*P22_P26_*:*InFull*:*UnderStress*' run conform "$file"
  expect_status 0
  expect_out 'keeps the contract$'
  [[ $file != *_funnel.so ]] || continue # linking takes long: one pair, and of examples/parts the scheme with collectives
  TSR_CONFORM_WIDTHS=32:32 GTEST_FILTER='*P22_P26_*' run conform "$file"
  expect_status 0
done

# probes SCHEME LOAD OPERATION [OPTION]...: the mean of a key, in buckets.
probes() {
  local scheme=$1 load=$2 operation=$3
  shift 3
  run bench "$specs/quickstart.ini" --set table.backend=cpu --set table.probing="$scheme" --set table.statistics=yes \
    --set layout.bucket_slots=8 --n 65536 --loads "$load" --ops insert,"$operation" --repeat 1 "$@"
  expect_status 0
  awk -F, -v operation="$operation" '$4 == operation { print $10 }' "$work/out"
}

# below A B: a number less than another.
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a < b) }'; }

case_of "a flag ends the search for an absent key where an empty slot does not"
flagged=$(probes flagged_cuckoo .8 find0)
plain=$(probes cuckoo .8 find0)
below "$flagged" "$plain" || fail "$flagged buckets with flags, $plain without"

# With ends_at_empty it was lost: a flag that was raised later led finds past a bucket with room before the stash.
case_of "a pair in the stash is found when a flag was raised after it came"
printf '%s\n' '[table]' 'kind = set' 'key_bits = 32' 'capacity = 500' 'layout = aos' 'probing = flagged_cuckoo' \
  'hasher = murmur3' 'stash = 64' 'backend = cpu' 'seed = 2' '[layout]' 'bucket_slots = 1' '[probing]' 'max_chain = 2' \
  >stash.ini
seq 1 520 >keys.tsv
run run stash.ini --insert keys.tsv --find keys.tsv
expect_status 0
expect_out ' 520 items: 520 inserted,'
expect_out ' 520 queries: 520 found,'

case_of "hopscotch keeps every key near its home"
far=$(probes hopscotch .9 find0)
below "$far" 8.01 || fail "$far buckets for an absent key"

# Section 3 of the paper: at most 37 levels of 14 slots and what follows, where linear probing looks at thousands.
case_of "funnel bounds the search for an absent key in a table of buckets of one slot"
far=$(probes funnel .99 find0 --set layout.bucket_slots=1)
below "$far" 530 || fail "$far buckets for an absent key"
below 14 "$far" || fail "$far buckets for an absent key"

# Section 2: it leaves buckets early that it could have had later, so that finds look at more buckets than inserts.
case_of "elastic inserts look at fewer buckets than its finds"
placed=$(probes elastic .95 insert --set table.duplicates=promise_unique)
found=$(probes elastic .95 find100 --set table.duplicates=promise_unique)
below "$placed" 2.5 || fail "$placed buckets for a new pair"
below "$placed" "$found" || fail "$placed buckets for a new pair, $found to find one"

finish
