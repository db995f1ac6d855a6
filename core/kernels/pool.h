/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool, an allocator alone, as the host sees them: their list and their one argument. Shared by
 * the kernels (pool.cuh), both backends and ../table/pool.c; compiles as C11 and CUDA C.
 */
#ifndef TSR_KERNELS_POOL_H
#define TSR_KERNELS_POOL_H

#include "core/kernels/steps.h"

/* An operation is one kernel, tsr_pool_<op>; no kernel's name may contain another's. Items hold at most one place each:
 *   allocate  a place for every item
 *   release   gives all places back
 *   churn     `rounds` times: gives the item's place back, if it has one, and takes another
 *   stamp     writes the item's mark over its whole place
 *   verify    counts the places that do not hold their item's mark
 *   count     items are units: counts those handed out, by what the allocator says */
#define TSR_POOL_OPS(F) F(allocate) F(release) F(churn) F(stamp) F(verify) F(count)

#define TSR_POOL_ENUM(op) TSR_POOL_##op,
enum { TSR_POOL_OPS(TSR_POOL_ENUM) TSR_POOL_OPERATIONS };

#define TSR_NO_PLACE 0xFFFFFFFFFFFFFFFFull

typedef struct tsr_pool_tally {
  uint64_t hits;                 /* places given, given back, or written; units counted */
  uint64_t exhausted;            /* allocations that failed */
  uint64_t wrong;                /* places that did not hold their mark */
  uint64_t changes, lost_claims; /* only with statistics, see tsr_counts */
} tsr_pool_tally;

typedef struct tsr_pool_run {
  tsr_state state;
  uint64_t n;       /* items */
  uint64_t *places; /* of the items: a handle, or an address of the system's own allocator; TSR_NO_PLACE */
  uint32_t units;   /* of one place, in a row */
  uint32_t unit_bytes;
  uint32_t rounds; /* churn */
  uint32_t checks; /* 1: churn verifies each place before it gives it back, and writes the mark to the new one */
  tsr_pool_tally *tally;
} tsr_pool_run;

TSR_STEPS(tsr_pool_steps)        /* over the allocator role */
TSR_STEPS(tsr_pool_system_steps) /* over malloc */

#endif
