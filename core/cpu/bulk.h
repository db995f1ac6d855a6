/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations on the CPU: one function table per pair of widths, each from the same source (bulk.c).
 */
#ifndef TSR_CPU_BULK_H
#define TSR_CPU_BULK_H

#include "core/kernels/cache.h"
#include "plugins/device.cuh"

#ifdef __cplusplus
extern "C" {
#endif

/* Works on items begin .. end - 1 with one-lane tiles; adds to *tally, which is the caller's alone. cpu: the tsr_cpu
 * whose function tables are called; fused code (fuse.h) needs none. */
typedef void tsr_cpu_range(const void *cpu, const tsr_bulk *bulk, uint32_t alone, uint64_t begin, uint64_t end,
                           tsr_tally *tally);

#define TSR_CPU_NO_SLOT (~(uint64_t)0)

typedef struct tsr_cpu_bulk {
  uint32_t key_bits, payload_bits;
  /* One lane's item, as a kernel's thread does it; adds what it did to *tally, which belongs to the caller alone, and
   * returns its hits. With tiles of several lanes all must call it. */
  uint32_t (*lane[TSR_BULKS])(const tsr_ctx *c, const tsr_bulk *bulk, uint64_t item, uint32_t mine, tsr_tally *tally);
  tsr_cpu_range *range[TSR_BULKS];
  /* The pages, of `count`, of keys begin .. end - 1. */
  void (*pages)(const tsr_cpu *cpu, const tsr_state *state, uint64_t count, const void *keys, uint64_t begin,
                uint64_t end, uint32_t *pages);
  /* Their lists, where lists are made in bulk. */
  void (*lists)(const tsr_cpu *cpu, const tsr_state *state, const void *keys, uint64_t begin, uint64_t end,
                uint32_t *lists);
  /* Builds the memory of the scheme for a page of keys, where that is done for whole batches. */
  void (*build)(const tsr_cpu *cpu, const tsr_state *state, const void *keys, uint64_t begin, uint64_t end,
                uint64_t page);
  /* Puts pair i into slot slots[i - begin] of the table, but for those with TSR_CPU_NO_SLOT. */
  void (*put)(const tsr_cpu *cpu, const tsr_state *state, const void *keys, const void *values, uint64_t begin,
              uint64_t end, const uint64_t *slots);
  /* The steps of a cache: their ranges. */
  void (*cache[TSR_CACHE_STEP_COUNT])(const tsr_cpu *cpu, const tsr_cache_run *run, uint64_t begin, uint64_t end);
} tsr_cpu_bulk;

/* What steps of a table are given (../kernels/steps.h). */
struct tsr_cpu_table {
  const tsr_cpu *cpu;
  const tsr_cpu_bulk *bulk; /* NULL in a pool */
  struct tsr_program *program;
  void (*launch)(struct tsr_program *program, uint32_t op, const tsr_bulk *bulk); /* over all its items */
};

/* The function tables of a composition's parts; it has to stay. */
struct tsr_composition;
tsr_cpu tsr_cpu_of(const struct tsr_composition *composition);

/* The table of these widths; every pair that settings admit has one. */
const tsr_cpu_bulk *tsr_cpu_bulk_for(uint32_t key_bits, uint32_t payload_bits);

#ifdef __cplusplus
}
#endif
#endif
