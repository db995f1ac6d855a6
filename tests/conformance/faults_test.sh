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

case_of "a level without a test of a plugin says so"
make_mutant "$linear"
GTEST_FILTER='*NoSuchTest*' run conform "$file"
expect_status 1
expect_err 'was not tested: --quick has no test for it'
! grep -q 'keeps the contract' "$work/out" || fail "and keeps the contract"

case_of "what was said stays when the kit is ended"
make_mutant "$linear" cuh 's/^  if \(probe->visited >= TSR_WORD.*$//'
GTEST_FILTER='*P40_P41_P43_P48_Walks/*:*P23_P42*' run conform "$file" --timeout 5
expect_status 1
says 'the walk of key [0-9]+ over [0-9]+ buckets does not end'

finish
