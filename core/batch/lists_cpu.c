/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists that are made in bulk on the CPU (lists.h).
 */
#include "core/batch/steps.h"
#include "core/batch/steps_cpu.h"
#include "core/cpu/bulk.h"

typedef struct lists_job {
  const tsr_cpu_table *table;
  const tsr_lists_step *pages;
} lists_job;

enum { CHUNK = 512 };

/* Work on at most CHUNK items, begin .. end - 1, with their lists and slots. */
typedef struct chunk {
  uint64_t begin, end;
  uint32_t lists[CHUNK];
  uint64_t slots[CHUNK];
} chunk;

static void find_lists(const lists_job *job, chunk *c) {
  const tsr_lists_step *p = job->pages;
  job->table->bulk->lists(job->table->cpu, &p->bulk.state, p->bulk.keys, c->begin, c->end, c->lists);
}

/* Puts the chunk's pairs into c->slots; returns how many there were. */
static uint64_t put_chunk(const lists_job *job, const chunk *c) {
  const tsr_lists_step *p = job->pages;
  uint64_t placed = 0;
  job->table->bulk->put(job->table->cpu, &p->bulk.state, p->bulk.keys, p->bulk.values, c->begin, c->end, c->slots);
  for (uint64_t i = c->begin; i < c->end; i++) {
    if (c->slots[i - c->begin] == TSR_CPU_NO_SLOT) continue;
    if (p->bulk.results) p->bulk.results[i] = TSR_RESULT_INSERTED;
    placed++;
  }
  return placed;
}

/* Relaxed, like all here: counts order nothing, and the team's join comes before they are used. */
static void tell(const tsr_lists_step *p, uint64_t placed) {
  if (placed) __atomic_fetch_add(&p->bulk.tally->hits, placed, __ATOMIC_RELAXED);
}

/* ---- In the order of pages ------------------------------------------------------------------- */

static void make_page(const lists_job *job, uint64_t page) {
  const tsr_lists_step *p = job->pages;
  const uint64_t begin = p->pages.begins[page], end = p->pages.begins[page + 1], first = page << TSR_PAGE_LISTS_LOG2;
  const uint64_t left = p->bulk.state.lists + TSR_TAIL_RESERVED - first,
                 lists = left < TSR_PAGE_LISTS ? left : TSR_PAGE_LISTS;
  uint64_t at[TSR_PAGE_LISTS] = {0}, next = begin, placed = 0;
  chunk c;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++) at[c.lists[i] - first]++;
  }
  for (uint64_t j = 0; j < lists; j++) {
    const uint64_t count = at[j];
    p->offsets[first + j] = (uint32_t)next;
    at[j] = next;
    next += count;
  }
  if (left == lists) p->offsets[first + lists] = (uint32_t)next;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++) c.slots[i] = at[c.lists[i] - first]++;
    placed += put_chunk(job, &c);
  }
  tell(p, placed);
}

void tsr_lists_make(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const lists_job job = {table, argument};
  for (uint64_t page = begin; page < end; page++) make_page(&job, page);
}

/* ---- By random access ------------------------------------------------------------------------ */

void tsr_lists_any_count(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const lists_job list_job = {table, argument}, *const job = &list_job;
  chunk c;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++)
      __atomic_fetch_add(&job->pages->counts[c.lists[i]], 1, __ATOMIC_RELAXED);
  }
}

void tsr_lists_any_begin(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_lists_step *p = argument;
  (void)table;
  for (uint64_t i = begin; i < end; i++) p->offsets[i] = (uint32_t)p->counts[i];
}

void tsr_lists_any_place(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const lists_job list_job = {table, argument}, *const job = &list_job;
  uint64_t placed = 0;
  chunk c;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++)
      c.slots[i] = __atomic_fetch_add(&job->pages->counts[c.lists[i]], 1, __ATOMIC_RELAXED);
    placed += put_chunk(job, &c);
  }
  tell(job->pages, placed);
}
