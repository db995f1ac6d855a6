/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch that is inserted page by page (place.h). Partition it by the pages of its keys, work on each
 * page once, then insert the rest the ordinary way. Why: ../design/0014-pages.md. Read next: lists.c.
 */
#include "core/batch/place.h"

#include "core/batch/mark.h"
#include "core/batch/order.h"

enum { COUNTED = 2, JUDGED_WORDS = 4 }; /* numbers that judge counts in; its words before the set */

typedef struct job {
  tsr_work batch;
  const tsr_stages *stages;
  tsr_partition partition;
  bool needs_results, bars, seeks_hot, makes_distinct, needs_made_results;
  uint8_t *results, *made_results;      /* of items; of those that one was made of */
  uint32_t *barred, *distinct, *judged; /* judged: what judge counts, and where it says that the order is idle */
  tsr_notice notice;                    /* where it says so to the host */
} job;

/* Items of a piece. A page of the usual size is cut into equal pieces, as many as give each block that a large GPU runs
 * at a time one piece, so that blocks end together. A page with twice as many items as usual is cut in any case. */
static uint32_t piece_items(const job *j, uint64_t n) {
  enum { BLOCKS = 264, TURNS = 4, LEAST = 1 << 15, SPARE = 32 };
  const uint64_t pages = j->partition.pages, mean = n / pages + 1;
  uint64_t pieces = 1, turns = (pages + BLOCKS - 1) / BLOCKS;
  if (j->partition.wants.answers) return UINT32_MAX;
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
  j.partition.wants.spare = j.makes_distinct;
  j.partition.wants.pairs =
      s->sm && !has_answers && !composition->facts.filter_words && (j.makes_distinct || s->guard == TSR_GUARD_NONE);
  j.partition.wants.guesses = j.partition.wants.pairs && s->duplicates == TSR_DUPLICATES_PROMISE_UNIQUE;
  return j;
}

static uint64_t judged_bytes(const job *j) {
  return (JUDGED_WORDS + TSR_JUDGED_SLOTS(j->stages->judged.sample_log2)) * sizeof *j->judged;
}

static void lay_out_hot(const tsr_shape *s, tsr_hot *hot, char *memory, uint64_t *used) {
  const uint32_t key_bytes = s->key_bits / 8, value_bytes = s->payload_bits / 8;
  hot->sampled_keys = tsr_work_take(memory, used, TSR_HOT_SAMPLE_SLOTS * key_bytes);
  hot->sampled_counts = tsr_work_take(memory, used, TSR_HOT_SAMPLE_SLOTS * sizeof *hot->sampled_counts);
  hot->count = tsr_work_take(memory, used, sizeof *hot->count);
  hot->keys = tsr_work_take(memory, used, TSR_HOT_SLOTS * key_bytes);
  hot->values = tsr_work_take(memory, used, TSR_HOT_SLOTS * value_bytes);
  hot->unplaced_keys = tsr_work_take(memory, used, TSR_HOT_SLOTS * key_bytes);
  hot->unplaced_values = tsr_work_take(memory, used, TSR_HOT_SLOTS * value_bytes);
  hot->results = tsr_work_take(memory, used, TSR_HOT_SLOTS);
  hot->told = tsr_work_take(memory, used, TSR_HOT_SLOTS * sizeof *hot->told);
  hot->begins = tsr_work_take(memory, used, 2 * sizeof *hot->begins);
  hot->rest = tsr_work_take(memory, used, 2 * sizeof *hot->rest);
}

/* Lays the scratch memory out for n items; returns its bytes. */
static uint64_t lay_out(void *argument, uint64_t n, char *memory) {
  job *j = argument;
  uint64_t used = 0;
  tsr_partition_lay_out(&j->partition, n, memory, &used);
  if (j->needs_results) j->results = tsr_work_take(memory, &used, n);
  if (j->needs_made_results) j->made_results = tsr_work_take(memory, &used, n);
  if (j->bars) j->barred = tsr_work_take(memory, &used, j->partition.pages * sizeof(uint32_t));
  if (j->makes_distinct) j->distinct = tsr_work_take(memory, &used, pieces_max(j, n) * sizeof *j->distinct);
  if (j->stages->judged.sample_log2) {
    j->judged = tsr_work_take(memory, &used, judged_bytes(j));
    j->partition.idle = j->judged + COUNTED;
  }
  if (j->seeks_hot) lay_out_hot(&j->partition.composition->shape, &j->partition.hot, memory, &used);
  return used;
}

/* What a block needs to hold a page, and the state of the table that is this page. */
static void describe_page(const tsr_composition *c, uint64_t first, tsr_place_step *p) {
  tsr_state *state = &p->bulk.state;
  tsr_page_room *room = &p->room;
  room->regions = room->bytes = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(c, &at);) {
    void **region = &state->part[at.role].region[at.i];
    const uint32_t bytes = (uint32_t)tsr_region_page_bytes(c, at.region);
    if (!bytes) continue;
    room->region[room->regions++] = (tsr_page_region){.table = (char *)((uintptr_t)*region + first * bytes),
                                                      .offset_bytes = room->bytes,
                                                      .page_bytes = bytes,
                                                      .fill = at.region->fill * 0x01010101u};
    *region = (void *)(uintptr_t)room->bytes;
    room->bytes += bytes;
  }
  state->stash_buckets = 0;
  state->bucket_share = first; /* as in the link of this step tsr_page_of_bucket reads it */
  if (c->facts.counts_slots && room->is_clear) {
    const uint32_t counts_bytes = (uint32_t)(tsr_composition_page_buckets(c) + 1) / 2 * (uint32_t)sizeof(uint32_t);
    if (room->bytes + counts_bytes <= tsr_block_bytes(c->shape.sm)) {
      room->counts_offset_bytes = room->bytes;
      room->bytes += counts_bytes;
    }
  }
  if (!c->lock_bytes) return;
  uint32_t log2_bits = 0;
  while (1u << log2_bits < TSR_PAGES_LOCK_BYTES * 8u) log2_bits++;
  state->locks = (uint32_t *)(uintptr_t)room->bytes;
  state->lock_shift = 64 - log2_bits;
  room->bytes += TSR_PAGES_LOCK_BYTES;
}

/* ---- Keys that repeat ------------------------------------------------------------------------ */

static tsr_judge_step judge_of(const job *j, const tsr_bulk *bulk) {
  return (tsr_judge_step){.bulk = *bulk,
                          .judged = j->stages->judged,
                          .counted = j->judged,
                          .seen = j->judged + JUDGED_WORDS,
                          .idle = j->partition.idle,
                          .told = j->notice.word,
                          .ticket = j->notice.ticket};
}

/* The steps of the order have all items, or are idle where a sample shows that random access is faster; and the insert of what
 * was left to it. */
static tsr_status judge(const job *j, const tsr_bulk *bulk) {
  const tsr_judge_step p = judge_of(j, bulk);
  if (!p.judged.sample_log2) return TSR_OK;
  const tsr_work *b = &j->batch;
  const tsr_status status = b->backend->fill(b->device, j->judged, 0xFF, judged_bytes(j), b->stream, b->error);
  return status ? status : tsr_work_step(b, TSR_PAGES_judge, &p, 1ull << p.judged.sample_log2);
}
/* What the sample says, if the stream has little else to do; otherwise the host goes on without. */
static bool hears(const job *j, bool *is_left) {
  return j->notice.word && j->batch.backend->events->hear(&j->notice, is_left);
}
static tsr_status insert_unordered(const job *j, const tsr_bulk *bulk) {
  const tsr_judge_step p = judge_of(j, bulk);
  return p.judged.sample_log2 ? tsr_work_step(&j->batch, TSR_PAGES_unordered, &p, bulk->n) : TSR_OK;
}

/* If the host knows, by the ordinary insert, which has more threads at a time. Where hardly anybody writes, that is slower in
 * smaller batches; and it does not set the bits of a filter. */
static tsr_status insert_as_it_came(const job *j, const tsr_bulk *bulk) {
  enum { NARROW_BITS = 64 };
  static const uint64_t small = 1u << 24;
  const tsr_composition *c = j->partition.composition;
  const bool writes_little =
      c->shape.duplicates == TSR_DUPLICATES_FIRST && c->shape.key_bits + c->shape.payload_bits <= NARROW_BITS;
  if (c->facts.filter_words || (writes_little && bulk->n < small)) return insert_unordered(j, bulk);
  return tsr_work_random(&j->batch, TSR_BULK_insert, bulk);
}

/* Finds the keys of the batch that are hot, by a sample. */
static tsr_status seek_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_work *b = &j->batch;
  const tsr_hot *hot = &j->partition.hot;
  const tsr_hot_step p = {.bulk = *bulk, .hot = *hot, .idle = j->partition.idle};
  const uint64_t key_bytes = b->store->composition->shape.key_bits / 8;
  tsr_status status = b->backend->fill(b->device, hot->sampled_keys, 0xFF, TSR_HOT_SAMPLE_SLOTS * key_bytes, b->stream,
                                       b->error); /* all are the empty key */
  if (status == TSR_OK)
    status = tsr_work_zero(b, hot->sampled_counts, TSR_HOT_SAMPLE_SLOTS * sizeof *hot->sampled_counts);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_sample, &p, TSR_HOT_SAMPLE);
  return status ? status : tsr_work_step(b, TSR_PAGES_choose, &p, TSR_HOT_SLOTS);
}

/* What random access does with the pairs of hot keys: their slots are the items of a page of their own. */
static tsr_place_step pairs_of_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_hot *hot = &j->partition.hot;
  tsr_place_step p = {.bulk = *bulk, .pages = {.count = 1, .begins = hot->begins}, .rest = hot->rest, .is_hot = 1};
  p.bulk.n = TSR_HOT_SLOTS;
  p.bulk.keys = hot->keys;
  p.bulk.values = j->partition.composition->shape.payload_bits ? hot->values : NULL;
  p.bulk.unplaced_keys = hot->unplaced_keys;
  p.bulk.unplaced_values = j->partition.composition->shape.payload_bits ? hot->unplaced_values : NULL;
  p.bulk.results = hot->results;
  return p;
}

static tsr_status answer_hot(const job *j, const tsr_bulk *bulk) {
  const tsr_hot_step p = {.bulk = *bulk,
                          .hot = j->partition.hot,
                          .results = bulk->results,
                          .unplaced_keys = bulk->unplaced_keys,
                          .unplaced_values = bulk->unplaced_values};
  return tsr_work_step(&j->batch, TSR_PAGES_hot_answer, &p, bulk->n);
}

/* Makes the items of each key one: *made has them. If answers are wanted, they are given here, so a page is one piece
 * then. */
static tsr_status make_distinct(const job *j, const tsr_place_step *p, tsr_place_step *made) {
  const tsr_work *b = &j->batch;
  const tsr_columns *spare = &j->partition.copy[j->partition.passes % TSR_COPIES];
  const bool has_answers = j->partition.wants.answers;
  tsr_group_step own = {.bulk = p->bulk,
                        .pages = p->pages,
                        .to = *spare,
                        .made = j->distinct,
                        .set_room = tsr_plan_set_room(j->partition.composition),
                        .piece_items = piece_items(j, p->bulk.n)};
  own.to.are_pairs = p->bulk.are_pairs;
  if (own.to.are_pairs) own.to.values = (char *)spare->keys + j->partition.composition->shape.key_bits / 8;
  own.bulk.results = has_answers ? j->results : NULL;
  tsr_status status = tsr_work_tiles(b, &own.pages, own.piece_items);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_distinct, &own, pieces_max(j, own.bulk.n));
  if (status == TSR_OK && !has_answers) status = tsr_work_step(b, TSR_PAGES_merge, &own, own.pages.count);
  *made = *p;
  made->made = own.made;
  made->bulk.keys = own.to.keys;
  made->bulk.values = own.to.values;
  made->bulk.results = j->made_results;
  return status;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

tsr_status tsr_pages_work(const tsr_work *b, const tsr_place_step *made, const tsr_place_step *p, uint64_t first) {
  const tsr_composition *c = b->store->composition;
  tsr_place_step own = *made;
  tsr_status status = TSR_OK;
  if (c->shape.sm) {
    status = tsr_work_zero(b, p->rest, sizeof *p->rest);
    describe_page(c, first, &own);
  }
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_insert, &own, own.pages.count);
  return status ? status : tsr_work_step(b, TSR_PAGES_rest, p, p->pages.count);
}

static tsr_status work_on_pages(const job *j, const tsr_bulk *bulk, tsr_place_step *p) {
  const tsr_work *b = &j->batch;
  const tsr_place_step hot = pairs_of_hot(j, bulk);
  const bool is_clear = p->room.is_clear;
  tsr_status status = TSR_OK;
  if (j->bars && !is_clear) {
    p->barred = j->barred;
    status = tsr_work_zero(b, p->barred, p->pages.count * sizeof *p->barred);
    if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_bar, p, p->bulk.state.stash_buckets);
  }
  tsr_place_step made = *p;
  if (status == TSR_OK && j->makes_distinct && (is_clear || !j->partition.wants.answers))
    status = make_distinct(j, p, &made);
  if (status == TSR_OK) status = tsr_pages_work(b, &made, p, 0);
  if (status == TSR_OK && j->seeks_hot) status = tsr_work_step(b, TSR_PAGES_rest, &hot, 1);
  if (status || !b->store->composition->facts.combines_later) return status;
  status = tsr_work_step(b, TSR_PAGES_rest_combine, p, p->pages.count);
  if (status == TSR_OK && j->seeks_hot) status = tsr_work_step(b, TSR_PAGES_rest_combine, &hot, 1);
  return status;
}

/* Sets the bits of all keys in the filter before the table. If there are fewer hot keys than slots, the others have the
 * empty key, which may then seem present. */
static tsr_status mark(const job *j, const tsr_bulk *bulk, const tsr_ordered *ordered) {
  const tsr_work *b = &j->batch;
  const tsr_place_step hot = pairs_of_hot(j, bulk);
  if (j->stages->mark != TSR_MARK_PAGES) return TSR_OK;
  const tsr_status status = tsr_mark_ordered(b, ordered);
  if (status || !j->seeks_hot) return status;
  return tsr_work_random(b, TSR_BULK_mark, &hot.bulk);
}

/* One piece of the batch, in its scratch memory. */
static tsr_status insert_piece(const job *j, const tsr_bulk *bulk, bool is_clear) {
  const tsr_work *b = &j->batch;
  tsr_ordered ordered;
  /* Early, so that the host launches the idle steps meanwhile; but numbered answers are filled in before. */
  const bool is_early = !j->partition.wants.answers || j->partition.wants.runs;
  bool is_left = false;
  tsr_status status = judge(j, bulk);
  const bool is_known = status == TSR_OK && hears(j, &is_left);
  if (is_known && is_left) return insert_as_it_came(j, bulk);
  if (status == TSR_OK && j->seeks_hot) status = seek_hot(j, bulk);
  if (status == TSR_OK && is_early && !is_known) status = insert_unordered(j, bulk);
  if (status == TSR_OK) status = tsr_partition_run(&j->partition, b, bulk, &ordered);
  if (status == TSR_OK) status = mark(j, bulk, &ordered);
  if (status) return status;
  tsr_place_step p = {.bulk = ordered.bulk, .pages = ordered.pages, .rest = ordered.rest, .room.is_clear = is_clear};
  p.bulk.results = j->results;
  status = work_on_pages(j, bulk, &p);
  if (status == TSR_OK) status = tsr_partition_spilled(&j->partition, b, bulk);
  if (status == TSR_OK) status = tsr_partition_answer(&j->partition, b, bulk, &ordered, j->results);
  if (status == TSR_OK && j->seeks_hot) status = answer_hot(j, bulk);
  return status || is_early || is_known ? status : insert_unordered(j, bulk);
}

tsr_status tsr_pages_insert(const tsr_work *b, const tsr_stages *stages, const tsr_bulk *bulk, bool *began) {
  tsr_store *store = b->store;
  job j = job_for(b, stages);
  uint64_t piece, bytes;
  void *memory;
  tsr_status status = tsr_work_allocate(b, &j, lay_out, bulk->n, &piece, &bytes, &memory);
  *began = memory != NULL;
  if (memory && bytes > store->paged_bytes) store->paged_bytes = bytes;
  if (status || !memory) return status;
  if (stages->judged.sample_log2 && b->backend->events->listen) j.notice = b->backend->events->listen(b->device);
  for (uint64_t done = 0; status == TSR_OK && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(b, bulk, done, left < piece ? left : piece);
    status = insert_piece(&j, &part, done == 0 && store->is_clear);
    j.notice.word = NULL; /* the stream has much to do now */
  }
  const tsr_status freed = b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}
