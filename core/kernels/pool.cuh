/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool, for one lane. Every lane has an item of its own, and its tile works through the lanes'
 * items in turn, as in queue.cuh. Compiled twice: over the allocator role, and (TSR_POOL_SYSTEM) over malloc and free,
 * for comparison. Wrapped by pool.cu and ../cpu/pool.c.
 */
#ifndef TSR_POOL_CUH
#define TSR_POOL_CUH

#include "core/kernels/pool.h"
#include "plugins/allocator.cuh"

typedef struct pool_counts {
  uint32_t hits, exhausted, wrong;
} pool_counts;

/* ---- Places ---------------------------------------------------------------------------------- */

/* Each is collective, and a tile without work takes part. */
#ifdef TSR_POOL_SYSTEM
#ifndef __CUDACC__
#include <stdlib.h>
#endif

TSR_INLINE uint64_t pool_take(const tsr_ctx *c, const tsr_pool_run *a, uint32_t spread) {
  uint64_t place = TSR_NO_PLACE;
  (void)spread;
  if (c->lane == 0 && c->active) {
    void *memory = malloc((size_t)a->units * a->unit_bytes);
    if (memory) place = (uint64_t)memory;
  }
  place = tsr_shuffle64(c, place, 0);
  tsr_join_lanes(c);
  return place;
}

TSR_INLINE void pool_give(const tsr_ctx *c, const tsr_pool_run *a, uint64_t place) {
  (void)a;
  tsr_join_lanes(c);
  if (c->lane == 0 && c->active) free((void *)place);
}

TSR_INLINE uint32_t *pool_words(const tsr_ctx *c, uint64_t place) {
  (void)c;
  return (uint32_t *)place;
}

TSR_INLINE uint32_t pool_is_used(const tsr_ctx *c, uint64_t unit) {
  (void)c;
  (void)unit;
  return 0; /* malloc does not tell */
}
#else
TSR_INLINE uint64_t pool_take(const tsr_ctx *c, const tsr_pool_run *a, uint32_t spread) {
  uint32_t handle = allocator_allocate(c, spread, a->units);
  return handle == TSR_NO_HANDLE ? TSR_NO_PLACE : handle;
}

TSR_INLINE void pool_give(const tsr_ctx *c, const tsr_pool_run *a, uint64_t place) {
  allocator_release(c, (uint32_t)place, a->units);
}

TSR_INLINE uint32_t *pool_words(const tsr_ctx *c, uint64_t place) {
  return (uint32_t *)allocator_address(c, (uint32_t)place);
}

TSR_INLINE uint32_t pool_is_used(const tsr_ctx *c, uint64_t unit) { return allocator_used(c, unit) != TSR_NO_HANDLE; }
#endif

/* ---- Marks ----------------------------------------------------------------------------------- */

/* Lanes write and read words in turn, each always the same ones. Plain accesses: a place has one owner, and allocators
 * order one owner after another. */
TSR_INLINE uint32_t pool_mark(uint64_t item, uint32_t word) {
  return ((uint32_t)item + (uint32_t)(item >> 32)) * 0x9E3779B1u + word * 0x85EBCA6Bu;
}

TSR_INLINE void pool_stamp_place(const tsr_ctx *c, const tsr_pool_run *a, uint64_t place, uint64_t item) {
  uint32_t *words = pool_words(c, place), count = c->active ? a->units * (a->unit_bytes / 4u) : 0;
  TSR_NO_UNROLL
  for (uint32_t i = c->lane; i < count; i += TSR_FACT(c, tile_lanes)) words[i] = pool_mark(item, i);
}

TSR_INLINE uint32_t pool_is_stamped(const tsr_ctx *c, const tsr_pool_run *a, uint64_t place, uint64_t item) {
  const uint32_t *words = pool_words(c, place);
  uint32_t count = c->active ? a->units * (a->unit_bytes / 4u) : 0, differs = 0;
  TSR_NO_UNROLL
  for (uint32_t i = c->lane; i < count; i += TSR_FACT(c, tile_lanes)) differs |= words[i] ^ pool_mark(item, i);
  return tsr_ballot(c, differs != 0) == 0;
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* What a tile does with one item, whose place is *place; every lane counts alike. In step. */
TSR_INLINE void pool_item_allocate(const tsr_ctx *c, const tsr_pool_run *a, uint64_t item, uint64_t *place,
                                   pool_counts *counts) {
  uint64_t taken = pool_take(c, a, (uint32_t)item);
  *place = c->active ? taken : *place;
  counts->exhausted += c->active && taken == TSR_NO_PLACE;
  counts->hits += c->active && taken != TSR_NO_PLACE;
}

TSR_INLINE void pool_item_release(const tsr_ctx *c, const tsr_pool_run *a, uint64_t item, uint64_t *place,
                                  pool_counts *counts) {
  (void)item;
  tsr_ctx work = tsr_masked(c, c->active && *place != TSR_NO_PLACE);
  pool_give(&work, a, *place);
  *place = work.active ? TSR_NO_PLACE : *place;
  counts->hits += work.active;
}

TSR_INLINE void pool_item_churn(const tsr_ctx *c, const tsr_pool_run *a, uint64_t item, uint64_t *place,
                                pool_counts *counts) {
  TSR_NO_UNROLL
  for (uint32_t round = 0; round < a->rounds; round++) {
    tsr_ctx work = tsr_masked(c, c->active && *place != TSR_NO_PLACE);
    if (a->checks) {
      uint32_t is_stamped = pool_is_stamped(&work, a, *place, item);
      counts->wrong += work.active && !is_stamped;
      /* the next owner must not see this after its own mark */
      pool_stamp_place(&work, a, *place, ~item);
    }
    pool_give(&work, a, *place);
    pool_item_allocate(c, a, item + (round + 1) * 0x9E3779A0u, place, counts); /* consecutive items stay together */
    work = tsr_masked(c, c->active && *place != TSR_NO_PLACE);
    if (a->checks) pool_stamp_place(&work, a, *place, item);
  }
}

TSR_INLINE void pool_item_stamp(const tsr_ctx *c, const tsr_pool_run *a, uint64_t item, uint64_t *place,
                                pool_counts *counts) {
  tsr_ctx work = tsr_masked(c, c->active && *place != TSR_NO_PLACE);
  pool_stamp_place(&work, a, *place, item);
  counts->hits += work.active;
}

TSR_INLINE void pool_item_verify(const tsr_ctx *c, const tsr_pool_run *a, uint64_t item, uint64_t *place,
                                 pool_counts *counts) {
  tsr_ctx work = tsr_masked(c, c->active && *place != TSR_NO_PLACE);
  uint32_t is_stamped = pool_is_stamped(&work, a, *place, item);
  counts->hits += work.active;
  counts->wrong += work.active && !is_stamped;
}

/* Called by all lanes of a warp, `mine` = 0 past the end. writes_places is a constant. */
#define POOL_LANE(op, writes_places)                                                                                   \
  TSR_INLINE void pool_##op(const tsr_ctx *c, const tsr_pool_run *a, uint64_t i, uint32_t mine, pool_counts *counts) { \
    uint64_t place = mine ? a->places[i] : TSR_NO_PLACE;                                                               \
    pool_counts none = {0, 0, 0}, all = none;                                                                          \
    uint32_t todo = tsr_ballot(c, mine);                                                                               \
    TSR_NO_UNROLL                                                                                                      \
    for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {                                                  \
      uint32_t active = todo >> turn & 1u;                                                                             \
      if (!tsr_warp_any(c, active)) continue;                                                                          \
      tsr_ctx work = tsr_masked(c, active);                                                                            \
      uint64_t turn_place = tsr_shuffle64(c, place, turn);                                                             \
      pool_item_##op(&work, a, i - c->lane + turn, &turn_place, &all);                                                 \
      place = c->lane == turn && active ? turn_place : place;                                                          \
    }                                                                                                                  \
    if (mine && writes_places) a->places[i] = place;                                                                   \
    *counts = c->lane == 0 ? all : none;                                                                               \
  }
POOL_LANE(allocate, 1)
POOL_LANE(release, 1)
POOL_LANE(churn, 1)
POOL_LANE(stamp, 0)
POOL_LANE(verify, 0)

TSR_INLINE void pool_count(const tsr_ctx *c, const tsr_pool_run *a, uint64_t i, uint32_t mine, pool_counts *counts) {
  (void)a;
  pool_counts own = {mine && pool_is_used(c, i), 0, 0};
  *counts = own;
}

#endif
