#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `tessera conform --tsan` can fail: plugins that reach memory past the kit's atomics, or forget an order. ThreadSanitizer
# sees that where the program, the kit and the parts were built with it, in the job tsan. Elsewhere the option is refused
# with a sentence, and the plugins are built all the same. Read next: mutants.sh.

# shellcheck source-path=SCRIPTDIR source=mutants.sh
source "$(dirname "${BASH_SOURCE[0]}")/mutants.sh"

builds=(--tsan)
with=(--tsan)
export GTEST_FAIL_FAST=1 # one composition that shows it is enough

if [[ ${TSR_CONFORM_LEVEL:-} != tsan ]]; then # which .bazelrc sets in that job
  breaks() {
    case_of "$1: $2 (built)"
    shift 2
    make_mutant "$@"
  }
fi

breaks P-24 "a payload is read by a plain load" "$keys" \
  cuh 's/return tsr_load_payload\((template_payload_at\(c, b->ref, slot\)), 1\);/return *\1;/'
breaks P-24 "a payload is combined by a plain store" "$keys" \
  cuh '/^TSR_INLINE bool template_swap/,/^}/s/tsr_combine_at\(c, (.*), policy, payload\);/*\1 = tsr_combine(policy, *\1, payload);/'
breaks P-24 "a slot is claimed by a plain store" "$keys" \
  cuh 's/bool swapped = tsr_cas_key\(address, seen, desired\) == seen;/bool swapped = *address == seen;\n  if (swapped) *address = desired;/'
breaks P-24 "a scheme counts its walks in plain memory" "$linear" \
  c 's/^  plan->probing.ends_at_empty = 1;/  plan->regions[0] = (tsr_region){.name = "walks", .bytes = 8};\n&/' \
  cuh 's/^  if \(probe->visited == 0\) \{/&\n    ++*(uint64_t *)TSR_REGION(c, 0);/'
breaks P-64 "a released unit is not released to its next owner" allocator:allocators/free_list \
  cuh 's/tsr_cas64_release\(/tsr_cas64(/'

case_of "${keys#*:} keeps the contract"
make_mutant "$keys"
GTEST_FILTER='*P24_*' run conform "$file" "${with[@]}"
if [[ ${TSR_CONFORM_LEVEL:-} == tsan ]]; then
  expect_status 0
  expect_out 'keeps the contract$'
else
  expect_status 2
  expect_err '--tsan: this copy of Tessera was built without ThreadSanitizer: .*\./tessera conform --tsan'
fi

finish
