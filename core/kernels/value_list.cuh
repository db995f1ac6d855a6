/* SPDX-License-Identifier: Apache-2.0
 *
 * What values = buckets does (core/design/0022-bucket-lists.md). A key is in the table once, as in a set. Its values
 * are in a list of runs of the allocator's units (value_list.h, WarpCore IV-C). Each slot has a record of two 64-bit
 * words: how many places were asked for, and the newest run (its unit, and for how many values the runs so far have
 * room).
 *
 * A thread that brings values gets their numbers by one addition, whatever others do at that time; lanes of a warp
 * with one key share one addition. A number says in which run its place is. The thread with the first number of a run
 * takes the run from the pool, as soon as the run before it is there, and publishes it. The others wait for that as
 * for the holder of a lock. It waits only for its predecessor, and all that it does is in the body of the loop in
 * which they wait. If the pool has no run, it closes the list. Threads whose numbers have no place hand their values
 * back, and the list stays closed until its key is erased or the table is rebuilt.
 *
 * Nobody reads a value before the phase of inserts ends, and units are released in earlier phases: the order of phases
 * orders all of this. Within the phase, only links to earlier runs are read, by threads that were late; hence the
 * release when a record is published. A key whose list is empty, because the pool had no unit for its first value,
 * counts as absent.
 */
#ifndef TSR_VALUE_LIST_CUH
#define TSR_VALUE_LIST_CUH

#include "core/kernels/queue.cuh"
#include "core/kernels/value_list.h"

/* A table of keys has no payload, so that code for other widths needs none of this. */
#define HAS_VALUE_LISTS(c) (TSR_PAYLOAD_BITS == 0 && TSR_FACT(c, value_list_first))

#define VALUE_LIST_CLOSED (1u << 31) /* in a record: the pool had no run for later values */

/* Whether the lanes of a warp append their values together. Not below sm_90: ptxas does not see that they meet again
 * behind an insert (core/design/0008), and would make each collective a routine of its own. */
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900
#define VALUE_LIST_LANES_MEET 1
#else
#define VALUE_LIST_LANES_MEET 0
#endif
#define VALUE_LIST_WARP 0xFFFFFFFFu
#if TSR_KEY_BITS >= 64
typedef unsigned long long value_list_key; /* that __match_any_sync knows; of 128 bits one half */
#else
typedef uint32_t value_list_key;
#endif

TSR_INLINE tsr_value_list value_list_sizes(const tsr_ctx *c) {
  tsr_value_list sizes = {TSR_FACT(c, value_list_first), TSR_FACT(c, value_list_growth), TSR_FACT(c, value_list_units),
                          TSR_FACT(c, unit_bytes) / TSR_FACT(c, value_bytes)};
  return sizes;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* A value of the caller's arrays. */
TSR_INLINE uint64_t value_list_value_at(const tsr_ctx *c, const void *values, uint64_t i, uint32_t mine) {
  if (!mine) return 0;
  return TSR_FACT(c, value_bytes) == 8 ? IO_READ((const io_u64 *)values + i) : IO_READ((const uint32_t *)values + i);
}

TSR_INLINE void value_list_put_value(const tsr_ctx *c, void *values, uint64_t i, uint64_t value) {
  if (TSR_FACT(c, value_bytes) == 8)
    IO_WRITE((io_u64 *)values + i, value);
  else
    IO_WRITE((uint32_t *)values + i, (uint32_t)value);
}

/* Value number i of a run, its link counted. */
TSR_INLINE void *value_list_place(const tsr_ctx *c, uint32_t unit, uint32_t i) {
  return (char *)allocator_address(c, unit) + (uint64_t)i * TSR_FACT(c, value_bytes);
}

TSR_INLINE uint64_t value_list_read(const tsr_ctx *c, uint32_t unit, uint32_t i) {
  const void *place = value_list_place(c, unit, i);
  return TSR_FACT(c, value_bytes) == 8 ? tsr_load64((const uint64_t *)place, 0)
                                       : tsr_load32((const uint32_t *)place, 0);
}

TSR_INLINE void value_list_write(const tsr_ctx *c, uint32_t unit, uint32_t i, uint64_t value) {
  void *place = value_list_place(c, unit, i);
  if (TSR_FACT(c, value_bytes) == 8)
    tsr_store64((uint64_t *)place, value);
  else
    tsr_store32((uint32_t *)place, (uint32_t)value);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Its first word: numbers that were given out. Its second: the newest run, as below. */
TSR_INLINE uint64_t *value_list_record(const tsr_ctx *c, uint64_t place) {
  return (uint64_t *)c->t->part[TSR_ROLE_LAYOUT].region[TSR_FACT(c, value_list_region)] + TSR_VALUE_LIST_WORDS * place;
}

/* A list for reading: how many values it has, and the unit of its newest run. A record's second word is the same with
 * the number of values that there is room for, and CHAIN_CLOSED. */
TSR_INLINE uint32_t value_list_count(uint64_t list) { return (uint32_t)list; }
TSR_INLINE uint32_t value_list_newest(uint64_t list) { return (uint32_t)(list >> 32); }
TSR_INLINE uint64_t value_list_join(uint32_t unit, uint32_t count) { return (uint64_t)unit << 32 | count; }
TSR_INLINE uint32_t value_list_room(uint64_t newest) { return (uint32_t)newest & ~VALUE_LIST_CLOSED; }

/* The list of the slot that was found; 0, an empty one, if none was. */
TSR_INLINE uint64_t value_list_of(const tsr_ctx *c, uint64_t place, uint32_t found) {
  if (!found) return 0;
  const uint64_t *record = value_list_record(c, place);
  const uint64_t asked = tsr_load64(record, 0), newest = tsr_load64(record + 1, 0);
  return value_list_join(value_list_newest(newest),
                         asked < value_list_room(newest) ? (uint32_t)asked : value_list_room(newest));
}

/* For the thread that has erased the key. */
TSR_INLINE void value_list_forget(const tsr_ctx *c, uint64_t place) {
  tsr_store64(value_list_record(c, place), 0);
  tsr_store64(value_list_record(c, place) + 1, 0);
}

/* ---- Lanes of one key ------------------------------------------------------------------------ */

/* For a lane: the lowest lane with its key, how many such lanes are before it, and how many there are. */
typedef struct value_list_group {
  uint32_t leader, rank, lanes;
} value_list_group;

TSR_INLINE uint32_t value_list_lane(void) {
#ifdef __CUDACC__
  return threadIdx.x % 32;
#else
  return 0;
#endif
}

/* Collective over the warp, like all of this part. */
TSR_INLINE value_list_group value_list_group_of(const tsr_ctx *c, tsr_key key, uint32_t mine) {
  value_list_group group = {value_list_lane(), 0, 1};
#ifdef __CUDACC__
  if (VALUE_LIST_LANES_MEET) {
    const uint32_t present = __ballot_sync(VALUE_LIST_WARP, (int)mine);
#if TSR_KEY_BITS == 128
    const uint32_t high = __match_any_sync(VALUE_LIST_WARP, (value_list_key)(key >> 64));
    const uint32_t same = __match_any_sync(VALUE_LIST_WARP, (value_list_key)key) & high & present;
#else
    const uint32_t same = __match_any_sync(VALUE_LIST_WARP, (value_list_key)key) & present;
#endif
    group.leader = mine ? tsr_lowest(same) : group.leader;
    group.rank = tsr_count_bits(same & ((1u << value_list_lane()) - 1u));
    group.lanes = tsr_count_bits(same);
  }
#endif
  (void)c, (void)key, (void)mine;
  return group;
}

/* The leader's value. */
TSR_INLINE uint64_t value_list_from_leader(const tsr_ctx *c, const value_list_group *group, uint64_t value) {
#ifdef __CUDACC__
  if (VALUE_LIST_LANES_MEET) return __shfl_sync(VALUE_LIST_WARP, (unsigned long long)value, (int)group->leader);
#endif
  (void)c, (void)group;
  return value;
}

TSR_INLINE uint32_t value_list_any(const tsr_ctx *c, uint32_t predicate) {
#ifdef __CUDACC__
  if (VALUE_LIST_LANES_MEET) return __any_sync(VALUE_LIST_WARP, (int)predicate) != 0;
#endif
  return tsr_warp_any(c, predicate);
}

/* ---- Appending ------------------------------------------------------------------------------- */

/* The same for all lanes of a warp at once, if units come in order and never come back: an addition to one counter per
 * lane would take longer than everything else. Either each lane gets its units, or none gets any. */
TSR_INLINE uint32_t value_list_allocate_together(const tsr_ctx *c, uint32_t units, uint32_t opens) {
  uint32_t own = TSR_NO_HANDLE;
#ifdef __CUDACC__
  if (VALUE_LIST_LANES_MEET && TSR_FACT(c, value_list_in_order)) {
    uint32_t sum = opens ? units : 0;
    TSR_UNROLL
    for (uint32_t step = 1; step < 32; step *= 2) {
      const uint32_t before = __shfl_up_sync(VALUE_LIST_WARP, sum, step);
      sum += value_list_lane() >= step ? before : 0;
    }
    const uint32_t all = __shfl_sync(VALUE_LIST_WARP, sum, 31);
    const tsr_ctx allocating = tsr_masked(c, c->base == 0);
    const uint32_t first = __shfl_sync(VALUE_LIST_WARP, allocator_allocate(&allocating, 0, all), 0);
    own = opens && first != TSR_NO_HANDLE ? first + sum - units : own;
  }
#endif
  (void)c, (void)units, (void)opens;
  return own;
}

/* A run for each lane that opens one, or TSR_NO_HANDLE. Collective: a tile allocates for one lane after another. */
TSR_INLINE uint32_t value_list_allocate(const tsr_ctx *c, uint64_t place, uint32_t units, uint32_t opens) {
  uint32_t own = value_list_allocate_together(c, units, opens);
  const uint32_t todo = tsr_ballot(c, opens && own == TSR_NO_HANDLE);
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

/* The unit of the run that holds the number of a `late` lane, a number below the room of this record; for other lanes
 * `unit`. Collective over the warp. Bounded by the runs that were opened since the number was given out. */
TSR_INLINE uint32_t value_list_look_back(const tsr_ctx *c, const uint64_t *record, uint32_t number, uint32_t unit,
                                         uint32_t late) {
  uint64_t newest = value_list_join(unit, 1);
  if (late) newest = tsr_load64_acquire(record + 1);
  uint32_t begin = tsr_value_list_run_of(value_list_sizes(c), value_list_room(newest) - 1).begin;
  unit = value_list_newest(newest);
  TSR_NO_UNROLL
  while (value_list_any(c, late && begin > number)) {
    const uint32_t goes = late && begin > number;
    if (goes) unit = tsr_load32((const uint32_t *)value_list_place(c, unit, 0), 1);
    const uint32_t before = tsr_value_list_run_of(value_list_sizes(c), goes ? begin - 1 : 0).begin;
    begin = goes ? before : begin;
  }
  return unit;
}

/* Appends the values of the lanes with `mine` to the lists of `place`; each group of lanes has one list. Returns 0 if
 * the pool has no run, or the list no number. Bounded: a thread waits only for one that opens a run. */
TSR_INLINE uint32_t value_list_append(const tsr_ctx *c, const value_list_group *group, uint64_t place, uint64_t value,
                                      uint32_t mine) {
  uint64_t *record = value_list_record(c, place);
  uint64_t given = 0;
  if (mine && group->rank == 0) given = tsr_add64(record, group->lanes);
  given = value_list_from_leader(c, group, given) + group->rank;
  const uint32_t number = given < TSR_VALUE_LIST_VALUES_MAX ? (uint32_t)given : 0;
  const tsr_value_list_run run = tsr_value_list_run_of(value_list_sizes(c), number);
  const uint32_t all = run.begin + run.values;
  const uint32_t end = all < TSR_VALUE_LIST_VALUES_MAX ? all : (uint32_t)TSR_VALUE_LIST_VALUES_MAX;
  uint32_t waits = mine && given < TSR_VALUE_LIST_VALUES_MAX, appended = 0;
  TSR_NO_UNROLL
  while (value_list_any(c, waits)) {
    const uint64_t newest = waits && number ? tsr_load64(record + 1, 1) : 0; /* nothing is there before number 0 */
    const uint32_t room = value_list_room(newest), is_there = waits && number < room;
    const uint32_t is_closed = (uint32_t)newest & VALUE_LIST_CLOSED;
    const uint32_t opens = waits && number == run.begin && room == run.begin && !is_closed;
    uint32_t unit = value_list_newest(newest), writes = is_there;
    if (value_list_any(c, opens)) {
      const uint32_t made = value_list_allocate(c, place, run.units, opens), is_made = opens && made != TSR_NO_HANDLE;
      if (is_made && run.links) tsr_store32((uint32_t *)value_list_place(c, made, 0), unit);
      const uint64_t told = is_made ? value_list_join(made, end) : newest | VALUE_LIST_CLOSED;
      if (opens && run.links) tsr_store64_release(record + 1, told);
      if (opens && !run.links) tsr_store64(record + 1, told);
      unit = is_made ? made : unit;
      writes |= is_made;
    }
    const uint32_t late = is_there && room != end;
    if (value_list_any(c, late)) unit = value_list_look_back(c, record, number, unit, late);
    if (writes) value_list_write(c, unit, run.links + number - run.begin, value);
    appended |= writes;
    waits = waits && !is_there && !opens && !is_closed;
    if (waits) tsr_pause();
  }
  return appended;
}

/* ---- Reading and releasing ------------------------------------------------------------------- */

/* Writes the values of a list to values[at] and so on, as far as they come before `end`. The newest come first, as
 * many at a time as the tile has lanes. The lanes of a tile have the same list. Collective. Bounded by the list. */
TSR_INLINE void value_list_copy(const tsr_ctx *c, uint64_t handle, void *values, uint64_t at, uint64_t end) {
  uint32_t unit = value_list_newest(handle), left = c->active && values ? value_list_count(handle) : 0;
  tsr_value_list_run run = tsr_value_list_run_of(value_list_sizes(c), left ? left - 1 : 0);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, left != 0)) {
    const uint32_t of_run = left - run.begin; /* values of the run that are left; 0 at the end */
    const uint32_t turn = of_run < TSR_FACT(c, tile_lanes) ? of_run : TSR_FACT(c, tile_lanes);
    const uint32_t i = left - turn + c->lane;
    if ((c->lane < turn) & (at + i < end))
      value_list_put_value(c, values, at + i, value_list_read(c, unit, run.links + i - run.begin));
    left -= turn;
    /* looks up the run before this one, by selects; otherwise ptxas would not see that lanes meet again
     * (core/design/0008) */
    const uint32_t ends = (uint32_t)(left == run.begin) & run.links;
    const tsr_value_list_run before = tsr_value_list_run_of(value_list_sizes(c), ends ? left - 1 : 0);
    if (ends) unit = tsr_load32((const uint32_t *)value_list_place(c, unit, 0), 0);
    run.begin = ends ? before.begin : run.begin;
    run.links = ends ? before.links : run.links;
  }
}

/* Gives the runs of a value list back to the pool. As above. */
TSR_INLINE void value_list_release(const tsr_ctx *c, uint64_t handle) {
  uint32_t unit = value_list_newest(handle), left = c->active ? value_list_count(handle) : 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, left != 0)) {
    const tsr_value_list_run run = tsr_value_list_run_of(value_list_sizes(c), left ? left - 1 : 0);
    const tsr_ctx releasing = tsr_masked(c, left != 0);
    uint32_t before = 0;
    if (left && run.links) before = tsr_load32((const uint32_t *)value_list_place(c, unit, 0), 0);
    allocator_release(&releasing, unit, run.units);
    unit = before;
    left = left ? run.begin : 0;
  }
}

#endif
