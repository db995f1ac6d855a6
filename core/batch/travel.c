/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch whose pages travel (travel.h). Three streams work at a time: one run is copied in, one is worked
 * on, one is copied back. Each of the three windows is in one of these states, shown by its events. Why:
 * ../design/0024-larger-than-the-gpu.md. Read next: ../table/launch.c.
 */
#include "core/batch/travel.h"

#include <stdlib.h>

#include "core/batch/place.h"
#include "core/batch/split.h"
#include "core/batch/windows.h"

/* Untouched pages that are copied along, since a separate copy would take as long. */
enum { GAP_PAGES = 4 };

typedef struct job {
  tsr_work batch;
  uint32_t op;
  bool writes, by_pages; /* by_pages: a block holds a page, as in any insert that goes page by page */
  bool has_results;
  tsr_partition partition;
  /* Answers in the order of pages. Pairs without a place are where their items were, except where values are found as
   * well. */
  uint8_t *results;
  void *values_out, *unplaced_keys, *unplaced_values;
  uint64_t *counts;
  bool wants_values, wants_counts, wants_unplaced;
  uint64_t *begins; /* the host's: pages + 1 */
} job;

/* ---- Scratch memory -------------------------------------------------------------------------- */

/* The operation's own arrays alone: tsr_find_all counts with room for values in hand. */
static tsr_bulk own_arrays(uint32_t op, const tsr_bulk *bulk) {
  tsr_bulk own = *bulk;
  if (op != TSR_BULK_find && op != TSR_BULK_find_or_insert) own.values_out = NULL;
  if (op != TSR_BULK_count) own.counts = NULL;
  return own;
}

static job job_for(const tsr_work *b, const tsr_stages *stages, uint32_t op, const tsr_bulk *bulk) {
  const tsr_composition *c = b->store->composition;
  const bool wants_unplaced = bulk->unplaced_keys || bulk->unplaced_values;
  const bool has_answers = bulk->results || wants_unplaced || bulk->values_out || bulk->counts;
  return (job){.batch = *b,
               .op = op,
               .writes = stages->writes,
               .by_pages = stages->place == TSR_PLACE_PAGES,
               .has_results = bulk->results || wants_unplaced || c->facts.combines_later,
               .partition = tsr_partition_plan(c, c->shape.pages, has_answers),
               .wants_values = bulk->values_out != NULL,
               .wants_counts = bulk->counts != NULL,
               .wants_unplaced = wants_unplaced};
}

static uint64_t lay_out(void *argument, uint64_t n, char *memory) {
  job *j = argument;
  const tsr_shape *s = &j->partition.composition->shape;
  uint64_t used = 0;
  tsr_partition_lay_out(&j->partition, n, memory, &used);
  if (j->has_results) j->results = tsr_work_take(memory, &used, n);
  if (j->wants_values) j->values_out = tsr_work_take(memory, &used, n * (s->payload_bits / 8));
  if (j->wants_counts) j->counts = tsr_work_take(memory, &used, n * sizeof *j->counts);
  if (!j->wants_unplaced) return used;
  j->unplaced_keys = tsr_work_take(memory, &used, n * (s->key_bits / 8));
  if (s->payload_bits) j->unplaced_values = tsr_work_take(memory, &used, n * (s->payload_bits / 8));
  return used;
}

/* ---- A run ----------------------------------------------------------------------------------- */

static bool has_items(const job *j, uint64_t page) { return j->begins[page] < j->begins[page + 1]; }

/* The next run from page `at` on that a window holds; it begins and ends with a page that has items. False: there is
 * none. */
static bool next_run(const job *j, uint64_t at, tsr_page_run *run) {
  const tsr_composition *c = j->partition.composition;
  const uint64_t pages = c->shape.pages;
  while (at < pages && !has_items(j, at)) at++;
  if (at == pages) return false;
  run->first = at;
  run->end = pages - at < c->window_pages ? pages : at + c->window_pages;
  while (!has_items(j, run->end - 1)) run->end--;
  return true;
}

/* Copies the pages of a run that have items, neighbours together. */
static tsr_status copy_run(const job *j, const tsr_window *window, tsr_page_run run, bool goes_back, void *stream) {
  tsr_work copies = j->batch;
  copies.stream = stream;
  tsr_status status = TSR_OK;
  for (tsr_page_run piece = {run.first, run.first}; status == TSR_OK && piece.end < run.end; piece.first = piece.end) {
    uint64_t gap = 0;
    while (!has_items(j, piece.first)) piece.first++;
    uint64_t at = piece.first;
    for (; at < run.end && gap <= GAP_PAGES; at++) {
      gap = has_items(j, at) ? 0 : gap + 1;
      if (!gap) piece.end = at + 1;
    }
    status = tsr_window_copy(&copies, window, run, piece, goes_back);
  }
  return status;
}

static tsr_status work_by_pages(const job *j, const tsr_ordered *ordered, const tsr_state *state, tsr_page_run run,
                                bool is_clear) {
  tsr_place_step p = {.bulk = ordered->bulk,
                      .pages = {.count = run.end - run.first, .begins = ordered->pages.begins + run.first},
                      .room.is_clear = is_clear,
                      .rest = ordered->rest};
  p.bulk.state = *state;
  const tsr_status status = tsr_pages_work(&j->batch, &p, &p, run.first);
  if (status || !j->batch.store->composition->facts.combines_later) return status;
  return tsr_work_step(&j->batch, TSR_PAGES_rest_combine, &p, p.pages.count);
}

/* Copies one column of answers to the order of the caller's keys. */
static tsr_status answer(const job *j, const tsr_bulk *part, const uint32_t *places, const void *column, void *ordered,
                         uint32_t bits, bool only_unplaced) {
  const tsr_work *b = &j->batch;
  const tsr_split gather = {.runs.n = part->n,
                            .answers.places = (uint32_t *)(uintptr_t)places,
                            .answers.column = column,
                            .answers.ordered = ordered,
                            .answers.column_bytes = bits / 8,
                            .answers.only = only_unplaced ? part->results : NULL,
                            .answers.only_code = TSR_RESULT_NOT_PLACED};
  if (!ordered) return TSR_OK;
  return b->backend->step(b->device, NULL, &tsr_split_steps.step[TSR_SPLIT_gather], &gather, part->n, b->stream,
                          b->error);
}

static tsr_status answer_run(const job *j, const tsr_bulk *bulk, const tsr_bulk *part, const uint32_t *places) {
  const tsr_shape *s = &j->partition.composition->shape;
  tsr_status status = answer(j, part, places, part->results, bulk->results, 8, false);
  if (status == TSR_OK) status = answer(j, part, places, part->values_out, bulk->values_out, s->payload_bits, false);
  if (status == TSR_OK) status = answer(j, part, places, part->counts, bulk->counts, 64, false);
  if (status == TSR_OK) status = answer(j, part, places, part->unplaced_keys, bulk->unplaced_keys, s->key_bits, true);
  return status ? status : answer(j, part, places, part->unplaced_values, bulk->unplaced_values, s->payload_bits, true);
}

/* bulk: in the caller's order; p: in the order of pages. */
static tsr_status work_on_run(const job *j, const tsr_bulk *bulk, const tsr_ordered *p, const tsr_window *window,
                              tsr_page_run run, bool is_clear) {
  const uint64_t begin = j->begins[run.first], n = j->begins[run.end] - begin;
  tsr_bulk part = tsr_work_part(&j->batch, &p->bulk, begin, n);
  part.state = tsr_window_state(j->batch.store, window, run);
  const tsr_status status = j->by_pages                ? work_by_pages(j, p, &part.state, run, is_clear)
                            : j->op == TSR_BULK_insert ? tsr_work_insert(&j->batch, &part)
                                                       : tsr_work_random(&j->batch, j->op, &part);
  return status || !j->partition.wants.answers ? status : answer_run(j, bulk, &part, p->places + begin);
}

/* ---- A part of the batch --------------------------------------------------------------------- */

/* A window is free when it was worked on and its pages are back. */
static tsr_status fill_window(const job *j, const tsr_window *window, tsr_page_run run, bool is_clear) {
  const tsr_work *b = &j->batch;
  const tsr_backend *backend = b->backend;
  void *in = b->store->windows->in;
  tsr_status status = backend->events->wait(b->device, window->worked, in, b->error);
  if (status == TSR_OK) status = backend->events->wait(b->device, window->emptied, in, b->error);
  if (status == TSR_OK)
    status = is_clear ? tsr_window_clear(&(tsr_work){b->backend, b->device, b->store, in, b->error}, window, run)
                      : copy_run(j, window, run, false, in);
  if (status == TSR_OK) status = backend->events->record(b->device, window->filled, in, b->error);
  return status ? status : backend->events->wait(b->device, window->filled, b->stream, b->error);
}

static tsr_status empty_window(const job *j, const tsr_window *window, tsr_page_run run) {
  const tsr_work *b = &j->batch;
  const tsr_backend *backend = b->backend;
  void *out = b->store->windows->out;
  tsr_status status = backend->events->record(b->device, window->worked, b->stream, b->error);
  if (status || !j->writes) return status;
  status = backend->events->wait(b->device, window->worked, out, b->error);
  if (status == TSR_OK) status = copy_run(j, window, run, true, out);
  return status ? status : backend->events->record(b->device, window->emptied, out, b->error);
}

/* Where the items of each page begin: the host has to know, and waiting for it completes everything that was enqueued
 * before. */
static tsr_status read_begins(const job *j, const tsr_ordered *p) {
  const tsr_work *b = &j->batch;
  const uint64_t bytes = (j->partition.pages + 1) * sizeof *j->begins;
  const tsr_status status = b->backend->copy(b->device, j->begins, p->pages.begins, bytes, b->stream, b->error);
  const tsr_status waited = b->backend->synchronize(b->device, b->stream, status ? NULL : b->error);
  return status ? status : waited;
}

static tsr_status work_on_part(const job *j, const tsr_bulk *bulk, bool is_clear) {
  const tsr_work *b = &j->batch;
  const tsr_backend *backend = b->backend;
  const tsr_windows *windows = b->store->windows;
  tsr_ordered p;
  tsr_status status = tsr_partition_run(&j->partition, b, bulk, &p);
  if (status == TSR_OK) status = read_begins(j, &p);
  if (status) return status;
  p.bulk.results = j->results;
  p.bulk.values_out = j->values_out;
  p.bulk.counts = j->counts;
  p.bulk.unplaced_keys = j->unplaced_keys;
  p.bulk.unplaced_values = j->unplaced_values;
  status = backend->events->record(b->device, windows->begun, b->stream, b->error);
  if (status == TSR_OK) status = backend->events->wait(b->device, windows->begun, windows->in, b->error);
  tsr_page_run run = {0, 0};
  for (uint32_t turn = 0; status == TSR_OK && next_run(j, run.end, &run); turn++) {
    const tsr_window *window = &windows->window[turn % TSR_WINDOWS];
    status = fill_window(j, window, run, is_clear);
    if (status == TSR_OK) status = work_on_run(j, bulk, &p, window, run, is_clear);
    if (status == TSR_OK) status = empty_window(j, window, run);
  }
  for (uint32_t i = 0; status == TSR_OK && i < TSR_WINDOWS; i++)
    status = backend->events->wait(b->device, windows->window[i].emptied, b->stream, b->error);
  return status;
}

/* After a failure no copy is under way any more, so that the caller may do anything. */
static void stop_copies(const job *j) {
  const tsr_work *b = &j->batch;
  void *const streams[] = {b->store->windows->in, b->store->windows->out};
  for (uint32_t i = 0; i < 2; i++) {
    const tsr_status stopped = b->backend->synchronize(b->device, streams[i], NULL);
    (void)stopped; /* the caller gets the first failure */
  }
}

tsr_status tsr_travel(const tsr_work *b, const tsr_stages *stages, uint32_t op, const tsr_bulk *bulk, bool *began) {
  tsr_store *store = b->store;
  const tsr_bulk own = own_arrays(op, bulk);
  job j = job_for(b, stages, op, &own);
  uint64_t piece, bytes;
  void *memory;
  j.begins = malloc((j.partition.pages + 1) * sizeof *j.begins);
  if (!j.begins) return tsr_fail(b->error, TSR_NO_MEMORY, "no memory to count the keys of each page");
  tsr_status status = tsr_work_allocate(b, &j, lay_out, bulk->n, &piece, &bytes, &memory);
  *began = memory != NULL;
  if (memory && op == TSR_BULK_insert && bytes > store->paged_bytes) store->paged_bytes = bytes;
  if (status == TSR_OK && !memory && j.writes)
    status = tsr_fail(b->error, TSR_NO_MEMORY,
                      "%s has no memory to put a batch of %llu keys in the order of its pages: lower device_bytes, or "
                      "pass fewer keys per call",
                      b->device->info.name, (unsigned long long)bulk->n);
  for (uint64_t done = 0; status == TSR_OK && memory && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(b, &own, done, left < piece ? left : piece);
    status = work_on_part(&j, &part, done == 0 && store->is_clear);
  }
  if (status && memory) stop_copies(&j);
  free(j.begins);
  const tsr_status freed =
      memory ? b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error) : TSR_OK;
  return status ? status : freed;
}
