/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of values on the CPU (wide.h). All atomics are relaxed: what threads write at once is the same, or any of it will
 * do, and it is read after the team has joined.
 */
#include "core/cpu/wide.h"

#include <string.h>

#include "core/cpu/parallel.h"

typedef struct wide_job {
  const tsr_wide_run *run;
  uint32_t step;
} wide_job;

static void mark_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] < w->row_count) __atomic_store_n(&w->marks[w->numbers[i]], 1, __ATOMIC_RELAXED);
}

static void spare_item(const tsr_wide_run *w, uint64_t i) {
  if (!w->marks[i]) w->numbers[__atomic_fetch_add(w->count, 1, __ATOMIC_RELAXED)] = (uint32_t)i;
}

static void put_item(const tsr_wide_run *w, uint64_t i) {
  if (tsr_wide_is_wanted(w, i) && w->numbers[i] != TSR_WIDE_NONE)
    memcpy(tsr_wide_row(w, w->numbers[i]), (const char *)w->values + i * w->row_bytes, w->row_bytes);
}

/* The missing value's bytes, over and over. */
static void miss_item(const tsr_wide_run *w, char *to) {
  for (uint32_t byte = 0; byte < w->row_bytes; byte++) to[byte] = (char)(w->missing >> byte % 8 * 8);
}

static void get_item(const tsr_wide_run *w, uint64_t i) {
  char *to = (char *)w->values + i * w->row_bytes;
  if (!tsr_wide_is_wanted(w, i)) return;
  if (w->numbers[i] == TSR_WIDE_NONE)
    miss_item(w, to);
  else
    memcpy(to, tsr_wide_row(w, w->numbers[i]), w->row_bytes);
}

static void claim_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] != TSR_WIDE_NONE) __atomic_store_n(tsr_wide_first(w, w->numbers[i]), (uint32_t)i, __ATOMIC_RELAXED);
}

static void release_item(const tsr_wide_run *w, uint64_t i) {
  __atomic_fetch_and(&w->bits[w->numbers[i] / 32], ~(1u << w->numbers[i] % 32), __ATOMIC_RELAXED);
}

static void work_items(void *argument, uint64_t begin, uint64_t end) {
  const wide_job *job = argument;
  const tsr_wide_run *w = job->run;
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_list; i++) w->numbers[i] = (uint32_t)i;
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_mark; i++) mark_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_spare; i++) spare_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_put; i++) put_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_get; i++) get_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_claim; i++) claim_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_judge; i++) tsr_wide_judge_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_tell; i++) tsr_wide_tell_item(w, i);
  for (uint64_t i = begin; i < end && job->step == TSR_WIDE_release; i++) release_item(w, i);
}

void tsr_cpu_wide(uint32_t step, const tsr_wide_run *run) {
  wide_job job = {run, step};
  tsr_parallel_for(run->n, work_items, &job);
}
