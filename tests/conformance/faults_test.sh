#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Faults that no single law forbids in as many words, and that a user would meet late: each must be caught by `tessera conform`
# as it is called first, or as its last line recommends, and the message must name the cause. Read next: mutants.sh.

# shellcheck source-path=SCRIPTDIR source=mutants.sh
source "$(dirname "${BASH_SOURCE[0]}")/mutants.sh"

# says PATTERN: the kit or the command printed it.
says() { grep -qE -- "$1" "$work/out" "$work/err" || fail "no '$1' in: $(tail -n 30 "$work/out" "$work/err")"; }

breaks P-40 "its walk is another one where the thread is alone" "$linear" \
  cuh 's/tsr_bucket_of\(c, key, 0\)/tsr_bucket_of(c, key, c->alone)/'
says 'is another one where no other thread is at the table \(c->alone\)'
breaks P-41 "its walk does not end for one key in a million" "$linear" \
  cuh 's/^  if \(probe->visited >= TSR_WORD\(c, TEMPLATE_LIMIT\)\)/  if (probe->visited >= TSR_WORD(c, TEMPLATE_LIMIT) \&\& (uint32_t)key * 2654435761u >> 12 != 7)/'
says 'the walk of key [0-9]+ over [0-9]+ buckets does not end'
breaks P-52 "its top bit is 0 for one hash in 64" "$mixer" \
  cuh 's/^  return (h \^ h >> [0-9]+);/  return h % 64 == 5 ? (\1) << 1 >> 1 : (\1);/'
says 'hash bit (31|63) is 1 for'
# caught WHAT PATTERN TESTS KEY_BITS ROLE:SOURCE [c|cuh SCRIPT]...: these tests find it in tables of such keys, and say so.
caught() {
  local pattern=$2 tests=$3 key_widths=$4 payload_widths='0 32'
  export TSR_CONFORM_WIDTHS=$4:32
  case_of "$1"
  shift 4
  make_mutant "$@"
  GTEST_FAIL_FAST=1 GTEST_FILTER=$tests run conform "$file"
  expect_status 1
  says "$pattern"
}
caught "it matches without the highest bit of a key of 64 bits" 'match is wrong' '*P33_*' 64 "$keys" \
  cuh 's/^  return template_range\(c, b, key, key\);/  uint32_t mask = 0;\n  TSR_SLOTS_WHERE(c, mask, j, (tsr_key)((template_seen(b, j) ^ key) << (TSR_KEY_BITS == 64)) == 0);\n  return mask;/'
caught "it does not match the last slot where eight lanes share a bucket" 'lane [0-9] of 8: match is wrong' '*P33_*' 32 "$keys" \
  cuh 's/^  return template_range\(c, b, key, key\);/  return template_range(c, b, key, key) \& ~(TSR_FACT(c, tile_lanes) == 8 ? 1u << (TSR_FACT(c, bucket_slots) - 1) : 0);/'
caught "a bucket whose slots are mostly erased seems empty" 'empties is wrong' '*P33_*' 32 "$keys" \
  cuh 's/^  return template_range\(c, b, TSR_EMPTY_KEY, TSR_EMPTY_KEY\);/  const uint32_t empties = template_range(c, b, TSR_EMPTY_KEY, TSR_EMPTY_KEY), all = template_range(c, b, TSR_ERASED_KEY, TSR_EMPTY_KEY);\n  return tsr_count_bits(all \& ~empties) * 4 > 3 * TSR_FACT(c, bucket_slots) ? all : empties;/'
caught "a note is one too low from age 25 on" 'contains answered 0, expected 1' '*OnComposition.*Oracle/*' 32 probing:probing/robin_hood \
  cuh 's/return tsr_with_note\((tsr_claim\(\)|tsr_evict\(youngest\)), age\);/return tsr_with_note(\1, age - (age >= 25));/'
caught "it keeps the last walk for all threads" 'the variable cached_(key|bucket) of template stays between calls' '*P10_*' 32 "$linear" \
  cuh 's/^TSR_DEVICE bool/static tsr_key cached_key;\nstatic uint64_t cached_bucket;\n&/' \
  cuh 's/tsr_bucket_of\(c, key, 0\)/(key == cached_key ? cached_bucket : (cached_key = key, cached_bucket = tsr_bucket_of(c, key, 0)))/'

case_of "a scheme that is made of whole batches has no keys of 128 bits"
key_widths=32 payload_widths=32 make_mutant probing:probing/perfect \
  cuh 's/^#include "plugins.probing.cuh"/#define TSR_KEYS_128 0, 32, 64\n&/'
printf '%s\n' '[table]' 'kind = set' 'key_bits = 128' 'capacity = 1000' 'layout = packed' 'probing = perfect' 'hasher = murmur3' \
  'duplicates = promise_unique' 'backend = cpu' >table.ini
refuses 'probing = perfect: it is made of whole batches, which are put in order by keys of at most 64 bits' \
  check table.ini --plugins "$PWD:$TESSERA_PLUGINS"

with=(--stress 2^22)
breaks P-61 "its stack has no count of takes" allocator:allocators/free_list \
  cuh 's/\(\(top >> 32\) \+ 1\) << 32/(top >> 32) << 32/'
says 'had at once, after a thread that was stopped'
at='0 32' breaks P-44 "it loses a pair in a million, in pages" "$keys" \
  cuh '/^TSR_DEVICE bool TSR_PART\(cas\)/,/^}/s/^  return /  if (c->cpu->shape->is_paged \&\& (uint32_t)key * 2654435761u >> 12 == 77) return true;\n&/'
says 'page_bytes = '
with=()

# Reading and writing behind a region ends the process; the sentence names the region.
# touches WHAT PATTERN ROLE:SOURCE [c|cuh SCRIPT]...
touches() {
  local pattern=$2 key_widths=32 payload_widths=32
  export TSR_CONFORM_WIDTHS=32:32
  case_of "P-14: $1"
  shift 2
  make_mutant "$@"
  GTEST_FILTER='*OnLayout*' run conform "$file"
  expect_status 1
  says "$pattern"
  expect_err 'crashed the kit in the test Kit/OnLayout.*Segmentation fault'
}
touches "it reads a word behind the bucket" \
  'the region keys of the layout template is read or written [0-9]+ bytes behind its end: plan\(\) asks for' "$keys" \
  cuh '/^TSR_DEVICE void TSR_PART\(load\)/,/^}/s/^}/  if (active) (void)*(volatile tsr_key *)((tsr_key *)TSR_REGION(c, TEMPLATE_KEYS) + (ref + 1) * TSR_FACT(c, bucket_slots));\n}/'
touches "its plan() understates a region" 'the region keys of the layout template is read or written' "$keys" \
  c 's/(\.bytes_per_bucket = )(\(uint64_t\)own->bucket_slots \* shape->key_bits \/ 8)/.bytes = 256/'

# These find no companion for the tables of other parts: caches give pairs up, and schemes of whole batches look for no key.
for part in eviction/eviction_lru eviction/eviction_ttl probing/probing_hashgraph probing/probing_perfect; do
  case_of "$part keeps the contract under --stress, which the last line of a run recommends"
  run conform "$top/$part.so" --stress 2^12
  expect_status 0
  expect_out 'keeps the contract$'
done

case_of "a level without a test of a plugin says so"
make_mutant "$linear"
GTEST_FILTER='*NoSuchTest*' run conform "$file"
expect_status 1
expect_err 'was not tested: --quick has no test for it'
! grep -q 'keeps the contract' "$work/out" || fail "and keeps the contract"

case_of "a plugin that was built from other headers is not tested, and the one line says so"
cp "$work/sdk/plugins/table.h" table.h
chmod u+w "$work/sdk/plugins/table.h"
echo '#define TSR_ONE_MORE_CONSTANT 1' >>"$work/sdk/plugins/table.h"
make_mutant "$linear"
cp "$work/table.h" "$work/sdk/plugins/table.h"
run conform "$file"
expect_status 2
expect_err 'probing_template.so: P-02: built from other SDK headers .*: build it again with the SDK that came with this library$'
(($(wc -l <"$work/err") == 1)) || fail "says more: $(cat "$work/err")"

case_of "what was said stays when the kit is ended"
make_mutant "$linear" cuh 's/^  if \(probe->visited >= TSR_WORD.*$//'
GTEST_FILTER='*P40_P41_P43_P48_Walks/*:*P23_P42*' run conform "$file" --timeout 5
expect_status 1
says 'the walk of key [0-9]+ over [0-9]+ buckets does not end'

finish
