/* SPDX-License-Identifier: Apache-2.0
 *
 * What values = buckets does (core/design/0022-bucket-lists.md): a key lies in the table once, as in a set, and its
 * values in a chain of runs of the allocator's units (chain.h, WarpCore IV-C). Beside each slot lies a handle of 64 bits:
 * the newest run's unit, and how many values the chain has. Each later run begins with the unit of the run before it.
 *
 * An insert of pairs is two kernels. The first inserts the keys; the second, when all of them are there, appends the
 * values: so a chain has its key, and no key moves while it does. A handle is changed by compare-and-swap. Who
 * takes the next place of the newest run writes his value there. Who finds that run full sets CHAIN_OPENS, takes a new
 * run from the pool and puts its unit into the handle; the others wait for him as for the holder of a lock. He never
 * waits for anybody, because all that he does is in the body of the loop in which they wait.
 *
 * Nobody reads a value or a link before the phase of inserts ends, and a unit was released in an earlier phase, if ever:
 * what orders the phases orders all of this. So every access to handles and runs may be relaxed. A key whose chain is
 * empty, because the pool had no unit for its first value, is not there for whoever asks.
 */
#ifndef TSR_CHAIN_CUH
#define TSR_CHAIN_CUH

#include "core/kernels/chain.h"
#include "core/kernels/queue.cuh"

/* A table of keys has no payload, so that code for other widths needs none of this. */
#define HAS_CHAINS(c) (TSR_PAYLOAD_BITS == 0 && TSR_FACT(c, chain_first))

#define CHAIN_OPENS (1u << 31) /* in the count: somebody fetches a new run */

TSR_INLINE tsr_chain chain_sizes(const tsr_ctx *c) {
  tsr_chain sizes = {TSR_FACT(c, chain_first), TSR_FACT(c, chain_growth), TSR_FACT(c, chain_units),
                     TSR_FACT(c, unit_bytes) / TSR_FACT(c, value_bytes)};
  return sizes;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value of the caller's arrays. */
TSR_INLINE uint64_t chain_value_at(const tsr_ctx *c, const void *values, uint64_t i, uint32_t mine) {
  if (!mine) return 0;
  return TSR_FACT(c, value_bytes) == 8 ? IO_READ((const io_u64 *)values + i) : IO_READ((const uint32_t *)values + i);
}

TSR_INLINE void chain_put_value(const tsr_ctx *c, void *values, uint64_t i, uint64_t value) {
  if (TSR_FACT(c, value_bytes) == 8)
    IO_WRITE((io_u64 *)values + i, value);
  else
    IO_WRITE((uint32_t *)values + i, (uint32_t)value);
}

/* Value number i of a run, its link counted. */
TSR_INLINE void *chain_place(const tsr_ctx *c, uint32_t unit, uint32_t i) {
  return (char *)allocator_address(c, unit) + (uint64_t)i * TSR_FACT(c, value_bytes);
}

TSR_INLINE uint64_t chain_read(const tsr_ctx *c, uint32_t unit, uint32_t i) {
  const void *place = chain_place(c, unit, i);
  return TSR_FACT(c, value_bytes) == 8 ? tsr_load64((const uint64_t *)place, 0)
                                       : tsr_load32((const uint32_t *)place, 0);
}

TSR_INLINE void chain_write(const tsr_ctx *c, uint32_t unit, uint32_t i, uint64_t value) {
  void *place = chain_place(c, unit, i);
  if (TSR_FACT(c, value_bytes) == 8)
    tsr_store64((uint64_t *)place, value);
  else
    tsr_store32((uint32_t *)place, (uint32_t)value);
}

/* ---- Handles --------------------------------------------------------------------------------- */

TSR_INLINE uint64_t *chain_handle(const tsr_ctx *c, uint64_t place) {
  return (uint64_t *)c->t->part[TSR_ROLE_LAYOUT].region[TSR_FACT(c, chain_region)] + place;
}

TSR_INLINE uint32_t chain_count(uint64_t handle) { return (uint32_t)handle; }
TSR_INLINE uint32_t chain_newest(uint64_t handle) { return (uint32_t)(handle >> 32); }
TSR_INLINE uint64_t chain_join(uint32_t unit, uint32_t count) { return (uint64_t)unit << 32 | count; }

/* The handle beside the place of a slot that was found; 0, an empty chain, where none was. */
TSR_INLINE uint64_t chain_of(const tsr_ctx *c, uint64_t place, uint32_t found) {
  return found ? tsr_load64(chain_handle(c, place), 0) : 0;
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* A run for each lane that opens one, or TSR_NO_HANDLE. Collective: a tile allocates for one lane after another. */
TSR_INLINE uint32_t chain_allocate(const tsr_ctx *c, uint64_t place, uint32_t units, uint32_t opens) {
  const uint32_t todo = tsr_ballot(c, opens);
  uint32_t own = TSR_NO_HANDLE;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    const tsr_ctx allocating = tsr_masked(c, active);
    const uint32_t spread = (uint32_t)((tsr_shuffle64(c, place, turn) + 1u) * 0x9E3779B97F4A7C15u >> 32);
    const uint32_t unit = allocator_allocate(&allocating, spread, tsr_shuffle32(c, units, turn));
    own = active && c->lane == turn ? unit : own;
  }
  return own;
}

/* Appends the values of the lanes with `mine` to the chains beside `place`; returns 0 where the pool has no run, or the
 * chain no number. Bounded: each turn of a lane is its own success, another one's, or a wait for one who opens a run. */
TSR_INLINE uint32_t chain_append(const tsr_ctx *c, uint64_t place, uint64_t value, uint32_t mine) {
  uint64_t *handle = chain_handle(c, place);
  uint32_t waits = mine, appended = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    const uint64_t seen = waits ? tsr_load64(handle, 1) : 0;
    const uint32_t count = chain_count(seen);
    const tsr_chain_run run = tsr_chain_run_of(chain_sizes(c), count & ~CHAIN_OPENS);
    const uint32_t is_full = count == TSR_CHAIN_VALUES_MAX, begins = count == run.begin;
    const uint32_t tries = waits && !is_full && !(count & CHAIN_OPENS);
    uint64_t found = ~seen;
    if (tries) found = tsr_cas64(handle, seen, begins ? seen | CHAIN_OPENS : seen + 1);
    const uint32_t takes = tries && found == seen, opens = takes && begins;
    uint32_t unit = chain_newest(seen), writes = takes;
    if (tsr_warp_any(c, opens)) {
      const uint32_t made = chain_allocate(c, place, run.units, opens);
      unit = opens ? made : unit;
      writes = opens && made == TSR_NO_HANDLE ? 0 : writes;
      if (opens && writes && run.links) tsr_store32((uint32_t *)chain_place(c, unit, 0), chain_newest(seen));
      if (opens) tsr_store64(handle, writes ? chain_join(unit, count + 1) : seen);
    }
    if (writes) chain_write(c, unit, run.links + count - run.begin, value);
    appended |= writes;
    waits = waits && !takes && !is_full;
    if (waits) tsr_pause();
  }
  return appended;
}

/* ---- Reading and releasing ------------------------------------------------------------------- */

/* Writes the values of a chain to values[at] and so on, as far as they come before `end`; the newest come first, as many
 * at a time as the tile has lanes. Of a tile, whose lanes have the same chain; collective. Bounded by the chain. */
TSR_INLINE void chain_copy(const tsr_ctx *c, uint64_t handle, void *values, uint64_t at, uint64_t end) {
  uint32_t unit = chain_newest(handle), left = c->active && values ? chain_count(handle) : 0;
  tsr_chain_run run = tsr_chain_run_of(chain_sizes(c), left ? left - 1 : 0);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, left != 0)) {
    const uint32_t of_run = left - run.begin; /* that are left of it; 0 when nothing is */
    const uint32_t turn = of_run < TSR_FACT(c, tile_lanes) ? of_run : TSR_FACT(c, tile_lanes);
    const uint32_t i = left - turn + c->lane;
    if ((c->lane < turn) & (at + i < end))
      chain_put_value(c, values, at + i, chain_read(c, unit, run.links + i - run.begin));
    left -= turn;
    /* by selects, or ptxas would not see that lanes meet again (core/design/0008): a run before this one is looked up */
    const uint32_t ends = (uint32_t)(left == run.begin) & run.links;
    const tsr_chain_run before = tsr_chain_run_of(chain_sizes(c), ends ? left - 1 : 0);
    if (ends) unit = tsr_load32((const uint32_t *)chain_place(c, unit, 0), 0);
    run.begin = ends ? before.begin : run.begin;
    run.links = ends ? before.links : run.links;
  }
}

/* Gives the runs of a chain back to the pool. As above. */
TSR_INLINE void chain_release(const tsr_ctx *c, uint64_t handle) {
  uint32_t unit = chain_newest(handle), left = c->active ? chain_count(handle) : 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, left != 0)) {
    const tsr_chain_run run = tsr_chain_run_of(chain_sizes(c), left ? left - 1 : 0);
    const tsr_ctx releasing = tsr_masked(c, left != 0);
    uint32_t before = 0;
    if (left && run.links) before = tsr_load32((const uint32_t *)chain_place(c, unit, 0), 0);
    allocator_release(&releasing, unit, run.units);
    unit = before;
    left = left ? run.begin : 0;
  }
}

#endif
