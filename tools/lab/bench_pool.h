/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera bench --ops allocate,release,churn`: how fast the allocator of each spec is, beside malloc of the backend.
 *
 * n items take places of --units units from a pool that they fill to the load; release gives all back; churn gives back
 * and takes again, TSR_POOL_ROUNDS times each item. Rows are those of bench.h: mops counts allocations, releases, or
 * pairs of both, without those that found the pool exhausted; key_bits and value_bits are 0; load is that of n places
 * in the pool; probes are memory blocks looked at for an allocation. Every turn is verified: places are written over
 * their whole length and read back; the turn that warms up verifies inside the operation as well.
 */
#ifndef TSR_BENCH_POOL_H
#define TSR_BENCH_POOL_H

#include "core/tessera_tools.h"
#include "tools/lab/bench_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Measures and prints rows. *all_right becomes false when an answer was wrong; a sentence on standard error says which.
 * specs: options->spec_count of them, with all --set. */
TSR_MUST_CHECK tsr_status tsr_bench_pools(const tsr_bench_options *options, tsr_spec *const *specs,
                                          tsr_bench_output *output, bool *all_right, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
