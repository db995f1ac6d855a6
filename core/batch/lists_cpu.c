/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists that are made in bulk on the CPU (lists.h).
 */
#include "core/batch/lists_cpu.h"

#include "core/cpu/parallel.h"

typedef struct lists_job {
  const tsr_cpu *cpu;
  const tsr_cpu_bulk *bulk;
  const tsr_pages *pages;
} lists_job;

enum { CHUNK = 512 };

/* Work on at most CHUNK items, begin .. end - 1; lists and slots are theirs. */
typedef struct chunk {
  uint64_t begin, end;
  uint32_t lists[CHUNK];
  uint64_t slots[CHUNK];
} chunk;

static void find_lists(const lists_job *job, chunk *c) {
  const tsr_pages *p = job->pages;
  job->bulk->lists(job->cpu, &p->bulk.state, p->bulk.keys, c->begin, c->end, c->lists);
}

/* Puts the chunk's pairs where c->slots says; returns how many there were. */
static uint64_t put_chunk(const lists_job *job, const chunk *c) {
  const tsr_pages *p = job->pages;
  uint64_t placed = 0;
  job->bulk->put(job->cpu, &p->bulk.state, p->bulk.keys, p->bulk.values, c->begin, c->end, c->slots);
  for (uint64_t i = c->begin; i < c->end; i++) {
    if (c->slots[i - c->begin] == TSR_CPU_NO_SLOT) continue;
    if (p->bulk.results) p->bulk.results[i] = TSR_RESULT_INSERTED;
    placed++;
  }
  return placed;
}

/* Relaxed, as all here: counts order nothing, and the team's join orders what they lead to. */
static void tell(const tsr_pages *p, uint64_t placed) {
  if (placed) __atomic_fetch_add(&p->bulk.tally->hits, placed, __ATOMIC_RELAXED);
}

/* ---- In the order of pages ------------------------------------------------------------------- */

static void make_page(const lists_job *job, uint64_t page) {
  const tsr_pages *p = job->pages;
  const uint64_t begin = p->begins[page], end = p->begins[page + 1], first = page << TSR_PAGE_LISTS_LOG2;
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

static void make_pages(void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t page = begin; page < end; page++) make_page(argument, page);
}

/* ---- By random access ------------------------------------------------------------------------ */

static void count_any(void *argument, uint64_t begin, uint64_t end) {
  const lists_job *job = argument;
  chunk c;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++)
      __atomic_fetch_add(&job->pages->counts[c.lists[i]], 1, __ATOMIC_RELAXED);
  }
}

static void begin_any(void *argument, uint64_t begin, uint64_t end) {
  const lists_job *job = argument;
  for (uint64_t i = begin; i < end; i++) job->pages->offsets[i] = (uint32_t)job->pages->counts[i];
}

static void place_any(void *argument, uint64_t begin, uint64_t end) {
  const lists_job *job = argument;
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

void tsr_cpu_lists(const tsr_cpu *cpu, const tsr_cpu_bulk *bulk, uint32_t step, const tsr_pages *pages, uint64_t n) {
  lists_job job = {cpu, bulk, pages};
  if (step == TSR_PAGES_lists) tsr_parallel_each(n, make_pages, &job);
  if (step == TSR_PAGES_any_count) tsr_parallel_for(n, count_any, &job);
  if (step == TSR_PAGES_any_begin) tsr_parallel_for(n, begin_any, &job);
  if (step == TSR_PAGES_any_place) tsr_parallel_for(n, place_any, &job);
}
