/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of wide.h as data, and what the CPU does other than item by item. Atomics are relaxed: they give out
 * places, and what is written there is read after the team has joined.
 */
#include "core/kernels/wide.h"

#include <string.h>

static void spare_item(const tsr_wide_run *w, uint64_t i) {
  if (!w->marks[i]) w->numbers[__atomic_fetch_add(w->count, 1, __ATOMIC_RELAXED)] = (uint32_t)i;
}

static void back_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] != TSR_WIDE_NONE) w->listed[__atomic_fetch_add(w->count, 1, __ATOMIC_RELAXED)] = w->numbers[i];
}

static void put_item(const tsr_wide_run *w, uint64_t i) {
  if (tsr_wide_is_wanted(w, i) && w->numbers[i] < w->row_count)
    memcpy(tsr_wide_row(w, w->numbers[i]), (const char *)w->values + i * w->row_bytes, w->row_bytes);
}

static void get_item(const tsr_wide_run *w, uint64_t i) {
  char *to = (char *)w->values + i * w->row_bytes;
  if (!tsr_wide_is_wanted(w, i)) return;
  if (w->numbers[i] < w->row_count)
    memcpy(to, tsr_wide_row(w, w->numbers[i]), w->row_bytes);
  else /* the bytes of the missing value, repeated */
    for (uint32_t byte = 0; byte < w->row_bytes; byte++) to[byte] = (char)(w->missing >> byte % 8 * 8);
}

/* An item is shared by as many threads of the GPU as a row has words, rounded up to a power of two: at most 256, since
 * longer rows have words of 16 bytes. */
static void fit_rows(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_wide_run *w = argument;
  uint32_t threads = 1;
  (void)table;
  while (threads < w->row_bytes / w->word_bytes) threads *= 2;
  grid->block_items = TSR_BLOCK_THREADS / threads;
}

#define RANGE(step) TSR_STEP_RANGE(step##_range, tsr_wide_run, tsr_wide_##step##_item)
#define OWN_RANGE(step, ...) TSR_STEP_RANGE(step##_range, tsr_wide_run, step##_item)
TSR_WIDE_STEPS(RANGE, OWN_RANGE)

#define ROW(step_, ...) {.set = &tsr_wide_steps, .kernel = "tsr_wide_" #step_, .range = step_##_range, __VA_ARGS__},
static const tsr_step steps[] = {TSR_WIDE_STEPS(ROW, ROW)};
extern const tsr_image tsr_wide_images[];
const tsr_steps tsr_wide_steps = {.images = tsr_wide_images, .step = steps, .count = TSR_WIDE_STEP_COUNT};
