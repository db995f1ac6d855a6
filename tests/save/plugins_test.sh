#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Saved tables meet plugins that are not those they were saved with: plugins of other headers or another compiler read
# them, and one that puts a pair elsewhere, or takes it for another, is found out. Plugins are built as their authors do.

# shellcheck source-path=SCRIPTDIR source=../conformance/mutants.sh
source "$(dirname "${BASH_SOURCE[0]}")/../conformance/mutants.sh"

# The parts of the table, each the template or a simple part, so that `loads` may put a mutant in one's place.
original=$work/original
mkdir "$original"
for part in "$keys" "$linear" "$mixer"; do
  make_mutant "$part"
  cp "$file" "$original"
done

# table KIND ITEMS: saves such a table and what it answers.
table() {
  printf '%s\n' '[table]' "kind = $1" 'key_bits = 32' 'layout = template' 'probing = template' 'hasher = template' \
    'backend = cpu' >"$work/$1.ini"
  [[ $1 == set ]] || echo 'value_bits = 32' >>"$work/$1.ini"
  seq "$2" | awk -v pairs="$([[ $1 == map ]] && echo 1)" '{ print $1 * 7919, pairs ? $1 : "" }' >"$work/$1.tsv"
  cut -d ' ' -f 1 "$work/$1.tsv" >"$work/queries.$1.tsv"
  run run "$work/$1.ini" --plugins "$original" --insert "$work/$1.tsv" --find "$work/queries.$1.tsv" \
    --out "$work/$1.rows" --save "$work/$1.tsr"
  expect_status 0
}
# load KIND: with the mutant, which is in the current folder.
load() { run run "$work/$1.ini" --plugins "$PWD:$original" --load "$work/$1.tsr" --find "$work/queries.$1.tsv" --out rows; }

# refuses_table PATTERN ROLE:SOURCE [c|cuh SCRIPT]...: the tables of these kinds are refused, and nothing is answered.
kinds='map set'
refuses_table() {
  local pattern=$1 kind
  shift
  make_mutant "$@"
  for kind in $kinds; do
    load "$kind"
    expect_status 2
    expect_err "$kind\.tsr: $pattern: load it with the same plugins\$"
    [[ ! -e rows ]] || fail "it answered"
  done
}

case_of "a table of some pairs, and one of more than the sample"
table map 300
table set 50000
buckets='the plugins here look for its keys in other buckets than those that saved it'
pairs='the plugins here read other pairs from its memory than those that saved it'
memory='the plugins here plan other memory than those that saved it'

case_of "a plugin of other code that does the same loads it"
make_mutant "$mixer" cuh 's/^  tsr_hash h = key \+(.*);/  tsr_hash h = key;\n  h = h +\1;/'
for kind in map set; do
  load "$kind"
  expect_status 0
  cmp "$work/$kind.rows" rows || fail "it answers otherwise"
done

case_of "a hasher that hashes otherwise"
refuses_table "$buckets" "$mixer" cuh 's/^  return (h \^ h >> [0-9]+);/  return ~(\1);/'

case_of "a scheme that starts elsewhere"
refuses_table "$buckets" "$linear" \
  cuh 's/tsr_bucket_of\(c, key, 0\)/tsr_bucket_of(c, key, 1)/'

case_of "a layout that keeps a key's value elsewhere"
kinds=map
refuses_table "$pairs" "$keys" cuh '/template_payload_at\(const/,/^}/s/slot, sizeof/TSR_FACT(c, bucket_slots) - 1 - slot, sizeof/'
kinds='map set'

case_of "a layout of other sizes"
refuses_table "$memory" "$keys" \
  c 's/\(uint64_t\)own->bucket_slots \* shape->key_bits/2 * &/'

finish
