/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations of one pair of widths, compiled once for each (core/BUILD gives TSR_KEY_BITS and TSR_PAYLOAD_BITS).
 * What they do: ../kernels/ops.cuh.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "core/cpu/bulk.h"

#include "core/cpu/range.cuh"
#include "core/kernels/bins.cuh"
#include "core/kernels/cache.cuh"

#define CPU_LANE(op)                                                                                                   \
  static uint32_t lane_##op(const tsr_ctx *c, const tsr_bulk *bulk, uint64_t item, uint32_t mine, tsr_tally *tally) {  \
    return CPU_COUNT(tally, bulk_##op(c, bulk, item, mine));                                                           \
  }
TSR_BULK_OPS(CPU_LANE)
TSR_BULK_OPS(CPU_RANGE)

static void pages_of(const tsr_cpu *cpu, const tsr_state *state, uint64_t count, const void *keys, uint64_t begin,
                     uint64_t end, uint32_t *pages) {
  const tsr_ctx c = {.t = state, .active = 1, .cpu = cpu};
  for (uint64_t i = begin; i < end; i++) pages[i - begin] = page_of_item(&c, count, io_key_at(keys, i, 1));
}

static void lists_of(const tsr_cpu *cpu, const tsr_state *state, const void *keys, uint64_t begin, uint64_t end,
                     uint32_t *lists) {
  const tsr_ctx c = {.t = state, .active = 1, .cpu = cpu};
  for (uint64_t i = begin; i < end; i++) lists[i - begin] = (uint32_t)tsr_list_of(&c, io_key_at(keys, i, 1));
}

static void build(const tsr_cpu *cpu, const tsr_state *state, const void *keys, uint64_t begin, uint64_t end,
                  uint64_t page) {
  const tsr_ctx c = {.t = state, .active = 1, .cpu = cpu};
  tsr_u128 memory[TSR_BUILD_BYTES_MAX / sizeof(tsr_u128)];
  const tsr_build_page own = {.keys = (const tsr_key *)keys + begin,
                              .count = (uint32_t)(end - begin),
                              .page = page,
                              .before = begin,
                              .memory = memory};
  probing_build(&c, &own);
}

static void put(const tsr_cpu *cpu, const tsr_state *state, const void *keys, const void *values, uint64_t begin,
                uint64_t end, const uint64_t *slots) {
  const tsr_ctx c = {.t = state, .active = 1, .cpu = cpu};
  const uint32_t bucket_slots = TSR_FACT(&c, bucket_slots);
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t at = slots[i - begin];
    if (at != TSR_CPU_NO_SLOT)
      layout_put(&c, at / bucket_slots, (uint32_t)(at % bucket_slots), walk_stored_key(io_key_at(keys, i, 1)),
                 io_payload_at(values, i, 1));
  }
}

/* Relaxed, because nothing is read because of these counts before the team has joined, which orders them. */
static void add_up(tsr_tally *all, const tsr_tally *own) {
  for (uint32_t i = 0; i < TSR_TALLY_WORDS; i++) {
    uint64_t *to = (uint64_t *)all + i, seen = __atomic_load_n(to, __ATOMIC_RELAXED);
    const uint64_t count = ((const uint64_t *)own)[i];
    if (!tsr_tally_is_most(i) && count) __atomic_fetch_add(to, count, __ATOMIC_RELAXED);
    /* bounded: an exchange fails when another thread has raised it */
    while (tsr_tally_is_most(i) && seen < count &&
           !__atomic_compare_exchange_n(to, &seen, count, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
  }
}

#define CPU_CACHE(step)                                                                                                \
  static void cache_range_##step(const tsr_cpu *cpu, const tsr_cache_run *run, uint64_t begin, uint64_t end) {         \
    uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                      \
    tsr_scratch scratch = {.histogram = histogram};                                                                    \
    tsr_tally own = {.hits = 0};                                                                                       \
    uint64_t evicted = 0;                                                                                              \
    const tsr_ctx c = {.t = &run->bulk.state, .active = 1, .scratch = &scratch, .cpu = cpu};                           \
    for (uint64_t i = begin; i < end; i++) {                                                                           \
      const cache_done done = cache_##step(&c, run, i, 1);                                                             \
      own.hits += done.hits;                                                                                           \
      evicted += done.evicted;                                                                                         \
    }                                                                                                                  \
    cpu_tally(&own, &scratch);                                                                                         \
    add_up(run->bulk.tally, &own);                                                                                     \
    if (evicted) IO_ADD(&cache_head(&c)->evicted, evicted);                                                            \
  }
TSR_CACHE_STEPS(CPU_CACHE)

#define CPU_LANE_ROW(op) lane_##op,
#define CPU_RANGE_ROW(op) range_##op,
#define CPU_CACHE_ROW(step) cache_range_##step,
extern const tsr_cpu_bulk TSR_ENTRY(tsr_cpu_bulk);
const tsr_cpu_bulk TSR_ENTRY(tsr_cpu_bulk) = {TSR_KEY_BITS,
                                              TSR_PAYLOAD_BITS,
                                              {TSR_BULK_OPS(CPU_LANE_ROW)},
                                              {TSR_BULK_OPS(CPU_RANGE_ROW)},
                                              pages_of,
                                              lists_of,
                                              build,
                                              put,
                                              {TSR_CACHE_STEPS(CPU_CACHE_ROW)}};
