/* SPDX-License-Identifier: Apache-2.0
 *
 * The eviction role: which pair a full cache gives up. Widths: none. Each slot has a score. A part says what a score becomes,
 * and what a pair with that score is worth. The core does the rest: where scores are, which slots are candidates of a key,
 * locks, and the exchange.
 *
 *   inserted(c, now, given)       returns the score of a new pair.
 *   found(c, score, now, given)   returns the score of a pair that was found, or whose key was inserted again.
 *   worth(c, score, now)          returns what the pair is worth. Of the candidates the one that is worth least is given up,
 *                                 and of equal ones the first of the key's walk. 0: the pair has expired, and no call finds
 *                                 it any more. Only a part with the fact `expires` returns that.
 *
 * now: the clock. It is the same for all items of a call. The caller sets it, or it is one more than in the call before.
 * given: what the caller gave for this key, or 0 where the call has no scores.
 *
 * The functions are pure: they depend on their arguments and parameters only, and have no lane, memory, state or region. A
 * score has score_bits bits, and functions return no larger one. plan() writes the facts score_bits, weighs_new, expires
 * and index_scores. Read next: ../eviction/README.md.
 */
#ifndef TSR_EVICTION_CUH
#define TSR_EVICTION_CUH

#include "plugins/device.cuh"

#define TSR_EVICTION_FUNCTIONS(F, O)                                                                                   \
  F(eviction, uint32_t, inserted, (const tsr_ctx *c, uint32_t now, uint32_t given), (c, now, given))                   \
  F(eviction, uint32_t, found, (const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given),                       \
    (c, score, now, given))                                                                                            \
  F(eviction, uint32_t, worth, (const tsr_ctx *c, uint32_t score, uint32_t now), (c, score, now))

#ifndef __CUDACC__
typedef struct tsr_eviction_functions {
  TSR_EVICTION_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_eviction_functions;
#endif
TSR_EVICTION_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)

/* The largest score of this many bits. */
TSR_INLINE uint32_t tsr_score_max(uint32_t bits) { return 0xFFFFFFFFu >> (32u - bits); }

#endif
