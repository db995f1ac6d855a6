/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists that are made in bulk on the CPU (lists.h). Items of reserved keys are in no list: a later
 * step sees to them.
 */
#include "core/batch/steps.h"
#include "core/batch/steps_cpu.h"
#include "core/cpu/bulk.h"
#include "core/cpu/parallel.h"

typedef struct lists_job {
  const tsr_cpu_table *table;
  const tsr_lists_step *pages;
} lists_job;

enum { CHUNK = 512 };

/* Work on at most CHUNK items, begin .. end - 1; lists and slots are theirs. */
typedef struct chunk {
  uint64_t begin, end;
  uint32_t lists[CHUNK];
  uint64_t slots[CHUNK];
} chunk;

static void find_lists(const lists_job *job, chunk *c) {
  const tsr_lists_step *p = job->pages;
  job->table->bulk->lists(job->table->cpu, &p->bulk.state, p->bulk.keys, c->begin, c->end, c->lists);
}

/* Puts the chunk's pairs where c->slots says; returns how many there were. */
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

/* Relaxed, as all here: counts order nothing, and the team's join orders what they lead to. */
static void tell(const tsr_lists_step *p, uint64_t placed) {
  if (placed) __atomic_fetch_add(&p->bulk.tally->hits, placed, __ATOMIC_RELAXED);
}

/* ---- In the order of pages ------------------------------------------------------------------- */

static void make_page(const lists_job *job, uint64_t page) {
  const tsr_lists_step *p = job->pages;
  const uint64_t begin = p->pages.begins[page], end = p->pages.begins[page + 1], first = page << TSR_PAGE_LISTS_LOG2;
  const uint64_t left = p->bulk.state.lists - first, lists = left < TSR_PAGE_LISTS ? left : TSR_PAGE_LISTS;
  uint64_t at[TSR_PAGE_LISTS] = {0}, next = begin, placed = 0;
  chunk c;
  for (c.begin = begin; c.begin < end; c.begin = c.end) {
    c.end = end - c.begin > CHUNK ? c.begin + CHUNK : end;
    find_lists(job, &c);
    for (uint64_t i = 0; i < c.end - c.begin; i++)
      if (c.lists[i] != TSR_CPU_NO_LIST) at[c.lists[i] - first]++;
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
    for (uint64_t i = 0; i < c.end - c.begin; i++)
      c.slots[i] = c.lists[i] == TSR_CPU_NO_LIST ? TSR_CPU_NO_SLOT : at[c.lists[i] - first]++;
    placed += put_chunk(job, &c);
  }
  tell(p, placed);
  if (placed < end - begin) __atomic_fetch_add(p->rest, 1, __ATOMIC_RELAXED);
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
      if (c.lists[i] != TSR_CPU_NO_LIST) __atomic_fetch_add(&job->pages->counts[c.lists[i]], 1, __ATOMIC_RELAXED);
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
      c.slots[i] = c.lists[i] == TSR_CPU_NO_LIST
                       ? TSR_CPU_NO_SLOT
                       : __atomic_fetch_add(&job->pages->counts[c.lists[i]], 1, __ATOMIC_RELAXED);
    placed += put_chunk(job, &c);
  }
  tell(job->pages, placed);
}

/* ---- What is in no list ---------------------------------------------------------------------- */

static bool is_in_list(const tsr_cpu_table *table, const tsr_bulk *items, uint64_t i) {
  uint32_t list;
  table->bulk->lists(table->cpu, &items->state, items->keys, i, i + 1, &list);
  return list != TSR_CPU_NO_LIST;
}

static void insert_rest(const tsr_cpu_table *table, const tsr_bulk *bulk, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++)
    if (!is_in_list(table, bulk, i)) table->work(table->program, TSR_BULK_insert, bulk, i, i + 1);
}

void tsr_lists_any_rest(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  insert_rest(table, &((const tsr_lists_step *)argument)->bulk, begin, end);
}

/* Items of the CPU's step `rest`. */
typedef struct rest_job {
  const tsr_cpu_table *table;
  const tsr_bulk *bulk;
} rest_job;

static void rest_items(void *argument, uint64_t begin, uint64_t end) {
  const rest_job *job = argument;
  insert_rest(job->table, job->bulk, begin, end);
}

/* Pages of slots leave nothing on the CPU. */
void tsr_lists_rest(const tsr_cpu_table *table, const void *argument, uint64_t n) {
  const tsr_place_step *p = argument;
  rest_job job = {table, &p->bulk};
  (void)n;
  if (table->cpu->shape->has_lists && p->rest[0]) tsr_parallel_for(p->bulk.n, rest_items, &job);
}
