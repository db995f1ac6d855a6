/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch that is inserted page by page (place.h): partition it by the pages of its keys, then work on each
 * page once, then give the rest the ordinary way. Why: ../design/0014-pages.md. Read next: lists.c.
 */
#include "core/batch/place.h"

#include "core/batch/mark.h"
#include "core/batch/order.h"

typedef struct job {
  tsr_work batch;
  const tsr_stages *stages;
  tsr_partition partition;
  bool needs_results, bars, seeks_hot, makes_distinct, needs_made_results;
  uint8_t *results, *made_results; /* of items; of those that one was made of */
  uint32_t *barred, *distinct;
} job;

/* Items of a piece. A page of the usual size is cut into so many equal pieces that the blocks that a large GPU runs at a
 * time all have one, and end together. One that has twice as many items as usual is cut in any case. */
static uint32_t piece_items(const job *j, uint64_t n) {
  enum { BLOCKS = 264, TURNS = 4, LEAST = 1 << 15, SPARE = 32 };
  const uint64_t pages = j->partition.pages, mean = n / pages + 1;
  uint64_t pieces = 1, turns = (pages + BLOCKS - 1) / BLOCKS;
  if (j->partition.has_answers) return UINT32_MAX;
  for (uint64_t more = 2; more * pages <= TURNS * BLOCKS && mean / more >= LEAST; more++) {
    const uint64_t turns_of_more = (more * pages + BLOCKS - 1) / BLOCKS;
    if (turns_of_more * pieces >= turns * more) continue;
    pieces = more;
    turns = turns_of_more;
  }
  if (pieces > 1) return (uint32_t)(mean / pieces + mean / pieces / SPARE);
  return 2 * mean > LEAST ? (uint32_t)(2 * mean) : LEAST;
}
static uint64_t pieces_max(const job *j, uint64_t n) { return n / piece_items(j, n) + 1 + j->partition.pages; }

static job job_for(const tsr_work *work, const tsr_stages *stages) {
  const tsr_composition *composition = work->store->composition;
  const tsr_shape *s = &composition->shape;
  const bool has_answers = stages->answers;
  job j = {.batch = *work,
           .stages = stages,
           .partition = tsr_partition_plan(composition, s->pages, has_answers),
           .needs_results = has_answers || composition->facts.combines_later,
           .bars = s->sm && composition->stash_buckets && s->guard != TSR_GUARD_NONE,
           .seeks_hot = (stages->group & TSR_GROUP_HOT) != 0,
           .makes_distinct = (stages->group & TSR_GROUP_PAGES) != 0};
  j.needs_made_results = j.makes_distinct && composition->facts.combines_later;
  j.partition.has_spare = j.makes_distinct;
  j.partition.takes_pairs =
      s->sm && !has_answers && !composition->facts.filter_words && (j.makes_distinct || s->guard == TSR_GUARD_NONE);
  j.partition.may_guess = j.partition.takes_pairs && s->duplicates == TSR_DUPLICATES_PROMISE_UNIQUE;
  return j;
}

static void lay_out_hot(const tsr_shape *s, tsr_hot *hot, char *memory, uint64_t *used) {
  const uint32_t key_bytes = s->key_bits / 8, value_bytes = s->payload_bits / 8;
  hot->sampled_keys = tsr_partition_take(memory, used, TSR_HOT_SAMPLE_SLOTS * key_bytes);
  hot->sampled_counts = tsr_partition_take(memory, used, TSR_HOT_SAMPLE_SLOTS * sizeof *hot->sampled_counts);
  hot->count = tsr_partition_take(memory, used, sizeof *hot->count);
  hot->keys = tsr_partition_take(memory, used, TSR_HOT_SLOTS * key_bytes);
  hot->values = tsr_partition_take(memory, used, TSR_HOT_SLOTS * value_bytes);
  hot->unplaced_keys = tsr_partition_take(memory, used, TSR_HOT_SLOTS * key_bytes);
  hot->unplaced_values = tsr_partition_take(memory, used, TSR_HOT_SLOTS * value_bytes);
  hot->results = tsr_partition_take(memory, used, TSR_HOT_SLOTS);
  hot->told = tsr_partition_take(memory, used, TSR_HOT_SLOTS * sizeof *hot->told);
  hot->begins = tsr_partition_take(memory, used, 2 * sizeof *hot->begins);
  hot->rest = tsr_partition_take(memory, used, 2 * sizeof *hot->rest);
}

/* Lays the scratch memory out for n items; returns its bytes. */
static uint64_t lay_out(void *argument, uint64_t n, char *memory) {
  job *j = argument;
  uint64_t used = 0;
  tsr_partition_lay_out(&j->partition, n, memory, &used);
  if (j->needs_results) j->results = tsr_partition_take(memory, &used, n);
  if (j->needs_made_results) j->made_results = tsr_partition_take(memory, &used, n);
  if (j->bars) j->barred = tsr_partition_take(memory, &used, j->partition.pages * sizeof(uint32_t));
  if (j->makes_distinct) j->distinct = tsr_partition_take(memory, &used, pieces_max(j, n) * sizeof *j->distinct);
  if (j->seeks_hot) lay_out_hot(&j->partition.composition->shape, &j->partition.hot, memory, &used);
  return used;
}

/* What a block needs to hold a page, and the state of the table that this page is. */
static void describe_page(const tsr_composition *c, uint64_t first, tsr_pages *p) {
  tsr_state *state = &p->bulk.state;
  p->regions = 0;
  p->page_bytes = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(c, &at);) {
    void **region = &state->part[at.role].region[at.i];
    const uint32_t bytes = (uint32_t)tsr_region_page_bytes(c, at.region);
    if (!bytes) continue;
    p->region[p->regions++] = (tsr_page_region){.table = (char *)((uintptr_t)*region + first * bytes),
                                                .offset_bytes = p->page_bytes,
                                                .page_bytes = bytes,
                                                .fill = at.region->fill * 0x01010101u};
    *region = (void *)(uintptr_t)p->page_bytes;
    p->page_bytes += bytes;
  }
  state->stash_buckets = 0;
  state->bucket_share = first; /* as in the link of this step tsr_page_of_bucket reads it */
  if (c->facts.counts_slots && p->is_clear) {
    const uint32_t counts_bytes = (uint32_t)(tsr_composition_page_buckets(c) + 1) / 2 * (uint32_t)sizeof(uint32_t);
    if (p->page_bytes + counts_bytes <= tsr_block_bytes(c->shape.sm)) {
      p->counts_offset_bytes = p->page_bytes;
      p->page_bytes += counts_bytes;
    }
  }
  if (!c->lock_bytes) return;
  uint32_t log2_bits = 0;
  while (1u << log2_bits < TSR_PAGES_LOCK_BYTES * 8u) log2_bits++;
  state->locks = (uint32_t *)(uintptr_t)p->page_bytes;
  state->lock_shift = 64 - log2_bits;
  p->page_bytes += TSR_PAGES_LOCK_BYTES;
}

/* ---- Keys that repeat ------------------------------------------------------------------------ */

/* Which keys of the batch are hot, by a sample. */
static tsr_status seek_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_work *b = &j->batch;
  const tsr_hot *hot = &j->partition.hot;
  const tsr_pages p = {.bulk = *bulk, .hot = *hot};
  const uint64_t key_bytes = b->store->composition->shape.key_bits / 8;
  tsr_status status = b->t->backend->fill(b->t->device, hot->sampled_keys, 0xFF, TSR_HOT_SAMPLE_SLOTS * key_bytes,
                                          b->stream, b->error); /* all are the empty key */
  if (status == TSR_OK)
    status = tsr_work_zero(b, hot->sampled_counts, TSR_HOT_SAMPLE_SLOTS * sizeof *hot->sampled_counts);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_sample, &p, TSR_HOT_SAMPLE);
  return status ? status : tsr_work_step(b, TSR_PAGES_choose, &p, TSR_HOT_SLOTS);
}

/* What random access does to the pairs of hot keys: their slots are items of a page of their own. */
static tsr_pages pairs_of_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_hot *hot = &j->partition.hot;
  tsr_pages p = {.bulk = *bulk, .begins = hot->begins, .rest = hot->rest, .is_hot = 1};
  p.bulk.n = TSR_HOT_SLOTS;
  p.bulk.keys = hot->keys;
  p.bulk.values = j->partition.composition->shape.payload_bits ? hot->values : NULL;
  p.bulk.unplaced_keys = hot->unplaced_keys;
  p.bulk.unplaced_values = j->partition.composition->shape.payload_bits ? hot->unplaced_values : NULL;
  p.bulk.results = hot->results;
  return p;
}

static tsr_status answer_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_pages p = {.bulk = *bulk,
                       .hot = j->partition.hot,
                       .results = bulk->results,
                       .unplaced_keys = bulk->unplaced_keys,
                       .unplaced_values = bulk->unplaced_values};
  return tsr_work_step(&j->batch, TSR_PAGES_hot_answer, &p, bulk->n);
}

/* Makes the items of each key one: *made has them. Who asks for answers is told here: so a page is one piece then. */
static tsr_status make_distinct(const job *j, const tsr_pages *p, tsr_pages *made) {
  const tsr_work *b = &j->batch;
  const tsr_columns *spare = &j->partition.copy[j->partition.passes % TSR_COPIES];
  const bool has_answers = j->partition.has_answers;
  tsr_pages own = *p;
  own.ends = own.begins;
  own.segments = own.pages;
  own.piece_items = piece_items(j, own.bulk.n);
  own.distinct = j->distinct;
  own.set_room = tsr_plan_set_room(j->partition.composition);
  own.keys_to = spare->keys;
  own.values_to = own.pairs_to ? (char *)spare->keys + j->partition.composition->shape.key_bits / 8 : spare->values;
  own.bulk.results = has_answers ? j->results : NULL;
  tsr_status status = tsr_work_step(b, TSR_PAGES_tiles, &own, own.pages);
  if (status == TSR_OK) status = tsr_work_sum(b, own.tiles, own.pages);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_distinct, &own, pieces_max(j, own.bulk.n));
  if (status == TSR_OK && !has_answers) status = tsr_work_step(b, TSR_PAGES_merge, &own, own.pages);
  *made = own;
  made->bulk.keys = own.keys_to;
  made->bulk.values = own.values_to;
  made->bulk.results = j->made_results;
  return status;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

tsr_status tsr_pages_work(const tsr_work *b, const tsr_pages *made, const tsr_pages *p, uint64_t first,
                          uint64_t pages) {
  const tsr_composition *c = b->store->composition;
  tsr_pages own = *made;
  tsr_status status = TSR_OK;
  if (c->shape.sm) {
    status = tsr_work_zero(b, p->rest, sizeof *p->rest);
    describe_page(c, first, &own);
  }
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_insert, &own, pages);
  return status ? status : tsr_work_step(b, TSR_PAGES_rest, p, pages);
}

static tsr_status work_on_pages(const job *j, const tsr_bulk *bulk, tsr_pages *p, bool is_clear) {
  const tsr_work *b = &j->batch;
  const tsr_pages hot = pairs_of_hot(j, bulk);
  const uint64_t pages = j->partition.pages;
  tsr_status status = TSR_OK;
  p->is_clear = is_clear;
  if (j->bars && !p->is_clear) {
    p->barred = j->barred;
    status = tsr_work_zero(b, p->barred, pages * sizeof *p->barred);
    if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_bar, p, p->bulk.state.stash_buckets);
  }
  tsr_pages made = *p;
  if (status == TSR_OK && j->makes_distinct && (is_clear || !j->partition.has_answers))
    status = make_distinct(j, p, &made);
  if (status == TSR_OK) status = tsr_pages_work(b, &made, p, 0, pages);
  if (status == TSR_OK && j->seeks_hot) status = tsr_work_step(b, TSR_PAGES_rest, &hot, 1);
  if (status || !b->store->composition->facts.combines_later) return status;
  status = tsr_work_step(b, TSR_PAGES_rest_combine, p, pages);
  if (status == TSR_OK && j->seeks_hot) status = tsr_work_step(b, TSR_PAGES_rest_combine, &hot, 1);
  return status;
}

/* The bits of all keys in the filter before the table. Where there are fewer hot keys than slots these have the empty key,
 * which may seem present then. */
static tsr_status mark(const job *j, const tsr_bulk *bulk, const tsr_pages *p) {
  const tsr_work *b = &j->batch;
  const tsr_pages hot = pairs_of_hot(j, bulk);
  if (j->stages->mark != TSR_MARK_PAGES) return TSR_OK;
  const tsr_status status = tsr_mark_pages(b, p);
  if (status || !j->seeks_hot) return status;
  return b->t->backend->step(b->t->device, b->store->code->program, TSR_BULK_STEP(TSR_BULK_mark), &hot.bulk, hot.bulk.n,
                             b->stream, b->error);
}

/* One piece of the batch, in its scratch memory. */
static tsr_status insert_piece(const job *j, const tsr_bulk *bulk, bool is_clear) {
  tsr_pages p;
  tsr_status status = j->seeks_hot ? seek_hot(j, bulk) : TSR_OK;
  if (status == TSR_OK) status = tsr_partition_run(&j->partition, &j->batch, bulk, &p);
  if (status == TSR_OK) status = mark(j, bulk, &p);
  if (status) return status;
  p.bulk.results = j->results;
  status = work_on_pages(j, bulk, &p, is_clear);
  if (status == TSR_OK) status = tsr_partition_spilled(&j->partition, &j->batch, bulk);
  if (status == TSR_OK) status = tsr_partition_answer(&j->partition, &j->batch, bulk, &p);
  return status || !j->seeks_hot ? status : answer_hot(j, bulk);
}

tsr_status tsr_pages_insert(const tsr_table *t, tsr_store *store, const tsr_stages *stages, const tsr_bulk *bulk,
                            void *stream, bool *began, tsr_error *error) {
  const tsr_work work = {t, store, stream, error};
  job j = job_for(&work, stages);
  uint64_t piece, bytes;
  void *memory;
  tsr_status status = tsr_partition_allocate(t, &j, lay_out, bulk->n, stream, &piece, &bytes, &memory);
  *began = memory != NULL;
  if (memory && bytes > store->paged_bytes) store->paged_bytes = bytes;
  if (status || !memory) return status;
  for (uint64_t done = 0; status == TSR_OK && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(&j.batch, bulk, done, left < piece ? left : piece);
    status = insert_piece(&j, &part, done == 0 && store->is_clear);
  }
  const tsr_status freed = t->backend->free_in(t->device, memory, stream, status ? NULL : error);
  return status ? status : freed;
}
