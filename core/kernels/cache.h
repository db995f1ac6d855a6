/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a cache (kind = cache) as the host sees them: their list and their one argument. What they do: cache.cuh.
 * Shared by the kernels, both backends and ../table/cache.c; compiles as C11 and CUDA C.
 */
#ifndef TSR_KERNELS_CACHE_H
#define TSR_KERNELS_CACHE_H

#include "core/kernels/bulk.h"
#include "core/kernels/steps.h"

/* put    inserts, and gives up a candidate of the key where there is no room
 * find   looks keys up, and may count that as a use
 * tick   one item: sets the clock; finds that overlap may see each other's
 * sweep  items are buckets: counts, exports or erases the pairs with a range of scores */
#define TSR_CACHE_STEPS(F) F(put) F(find) F(tick) F(sweep)
#define TSR_CACHE_ENUM(step) TSR_CACHE_##step,
enum { TSR_CACHE_STEPS(TSR_CACHE_ENUM) TSR_CACHE_STEP_COUNT };

/* At the beginning of the region of scores; then the score of each slot follows, bucket by bucket. */
typedef struct tsr_cache_head {
  uint64_t clock;
  uint64_t evicted; /* pairs given up since the report was reset */
} tsr_cache_head;
/* What comes before the scores, and room behind them for the last word. */
enum { TSR_CACHE_HEAD_BYTES = 256, TSR_CACHE_END_BYTES = sizeof(uint32_t) };

/* The buckets of a key's walk, which are its candidates, may be at most this many. */
enum { TSR_CACHE_BUCKETS_MAX = 8 };

enum { TSR_SWEEP_COUNT, TSR_SWEEP_EXPORT, TSR_SWEEP_ERASE };

typedef struct tsr_cache_run {
  tsr_bulk bulk;                   /* its n is that of the items; sweep: keys_out and values_out have bulk.room items */
  uint64_t n;                      /* the same */
  const uint32_t *given;           /* the callers' scores, or NULL */
  uint64_t now;                    /* tick: the clock; 0: one more than it was */
  uint32_t touches;                /* find: 1: it is a use */
  uint32_t finds_first;            /* put: 1: a present pair stays as it is, and its value is read */
  uint32_t lowest, highest, sweep; /* sweep: scores, TSR_SWEEP_ */
  uint32_t *scores_out;
} tsr_cache_run;

TSR_STEPS(tsr_cache_steps)

#ifndef __CUDACC__
static inline bool tsr_cache_puts(uint32_t op) { return op == TSR_BULK_insert || op == TSR_BULK_find_or_insert; }
static inline bool tsr_cache_finds(uint32_t op) { return op == TSR_BULK_find || op == TSR_BULK_contains; }

/* The steps that take the place of a bulk operation of a cache; returns how many. 0: it is a bulk operation. */
enum { TSR_CACHE_STEPS_MAX = 2 };
static inline uint32_t tsr_cache_steps_of(bool is_cache, uint32_t op, const tsr_step *steps[TSR_CACHE_STEPS_MAX]) {
  if (!is_cache || (!tsr_cache_puts(op) && !tsr_cache_finds(op))) return 0;
  steps[0] = &tsr_cache_steps.step[tsr_cache_puts(op) ? TSR_CACHE_put : TSR_CACHE_find];
  steps[1] = &tsr_cache_steps.step[TSR_CACHE_tick];
  return 2;
}
#endif

#endif
