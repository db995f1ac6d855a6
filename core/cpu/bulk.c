/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations of one pair of widths, compiled once for each (core/BUILD gives TSR_KEY_BITS and TSR_PAYLOAD_BITS).
 * What they do: ../kernels/ops.cuh.
 */
#define _POSIX_C_SOURCE 199309L /* clock_gettime */
#include "core/kernels/ops.cuh"

#include "core/cpu/bulk.h"

enum { CPU_BATCH = 1 << 16 }; /* items whose counts fit 32 bits */

static uint32_t count_hits(tsr_tally *tally, uint32_t hits) {
  tally->hits += hits;
  return hits;
}

static uint32_t count_answer(tsr_tally *tally, bulk_answer answer) {
  for (uint32_t class = 0; class < TSR_CLASSES; class ++) {
    tally->asked[class] += answer.asked >> class * BULK_CLASS_BITS & BULK_CLASS_MASK;
    tally->answered[class] += answer.answered >> class * BULK_CLASS_BITS & BULK_CLASS_MASK;
  }
  return answer.answered != 0;
}

#define CPU_COUNT(tally, did) _Generic(did, uint32_t : count_hits, bulk_answer : count_answer)(tally, did)

static void cpu_tally(tsr_tally *tally, const tsr_scratch *scratch) {
  tally->probes += scratch->sum.probes;
  tally->moves += scratch->sum.moves;
  tally->lost_claims += scratch->sum.lost_claims;
  tally->stashed += scratch->sum.stashed;
  if (scratch->probes_max > tally->probes_max) tally->probes_max = scratch->probes_max;
  if (scratch->moves_max > tally->moves_max) tally->moves_max = scratch->moves_max;
  for (uint32_t i = 0; i < TSR_HISTOGRAM_BINS; i++) tally->histogram[i] += scratch->histogram[i];
}

#define CPU_LANE(op)                                                                                                   \
  static uint32_t lane_##op(const tsr_ctx *c, const tsr_bulk *bulk, uint64_t item, uint32_t mine, tsr_tally *tally) {  \
    return CPU_COUNT(tally, bulk_##op(c, bulk, item, mine));                                                           \
  }                                                                                                                    \
  static void range_##op(const tsr_cpu *cpu, const tsr_bulk *bulk, uint64_t begin, uint64_t end, tsr_tally *tally) {   \
    for (uint64_t from = begin, to; from < end; from = to) {                                                           \
      to = end - from > CPU_BATCH ? from + CPU_BATCH : end;                                                            \
      uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                    \
      tsr_scratch scratch = {.histogram = histogram};                                                                  \
      tsr_ctx c = {.t = &bulk->state, .active = 1, .scratch = &scratch, .cpu = cpu};                                   \
      for (uint64_t i = from; i < to; i++) CPU_COUNT(tally, bulk_##op(&c, bulk, i, 1));                                \
      cpu_tally(tally, &scratch);                                                                                      \
    }                                                                                                                  \
  }
TSR_BULK_OPS(CPU_LANE)

static void pages_of(const tsr_cpu *cpu, const tsr_state *state, const void *keys, uint64_t begin, uint64_t end,
                     uint32_t *pages) {
  const tsr_ctx c = {.t = state, .active = 1, .cpu = cpu};
  for (uint64_t i = begin; i < end; i++) pages[i - begin] = tsr_page_of(&c, io_key_at(keys, i, 1));
}

#define CPU_LANE_ROW(op) lane_##op,
#define CPU_RANGE_ROW(op) range_##op,
extern const tsr_cpu_bulk TSR_ENTRY(tsr_cpu_bulk);
const tsr_cpu_bulk TSR_ENTRY(tsr_cpu_bulk) = {
    TSR_KEY_BITS, TSR_PAYLOAD_BITS, {TSR_BULK_OPS(CPU_LANE_ROW)}, {TSR_BULK_OPS(CPU_RANGE_ROW)}, pages_of};
