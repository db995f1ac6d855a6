/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch that is inserted page by page (pages.h): partition it by the pages of its keys, in as many passes
 * as keep a tile's runs long, then work on each page once, then give the rest the ordinary way. No step waits for the
 * host: how many items a bin has is known on the device alone. Why: ../design/0014-pages.md. Read next: table.c.
 */
#include "core/table/pages.h"

#include <string.h>

/* ---- Scratch memory -------------------------------------------------------------------------- */

/* Items that one piece of a batch may have: their numbers have 32 bits. */
static const uint64_t PIECE_MAX = 1ull << 31, PIECE_MIN = 1ull << 20;

enum { ALIGNED = 256, PASSES_MAX = 4, COPIES = 2 };

/* The items in one order. */
typedef struct columns {
  void *keys, *values;
  uint32_t *places;
} columns;

typedef struct scratch {
  columns copy[COPIES]; /* passes go to and fro between them */
  uint8_t *results;
  uint64_t *counts[PASSES_MAX];
  uint64_t *cursors, *tiles;
  uint32_t *barred, *rest;
} scratch;

typedef struct plan {
  const tsr_composition *composition;
  uint64_t pages, tile_items;
  uint32_t passes, fan_log2;
  bool has_answers, needs_results, bars;
} plan;

static plan plan_for(const tsr_table *t, const tsr_composition *composition, bool has_answers) {
  const tsr_shape *s = &composition->shape;
  plan p = {.composition = composition, .pages = s->pages, .tile_items = t->backend->tile_items, .passes = 1};
  uint32_t log2_pages = 0;
  while (1ull << log2_pages < p.pages) log2_pages++;
  while (p.passes < PASSES_MAX && p.passes * TSR_PAGES_FAN_LOG2 < log2_pages) p.passes++;
  p.fan_log2 = (log2_pages + p.passes - 1) / p.passes;
  p.has_answers = has_answers;
  p.needs_results = has_answers || composition->facts.combines_later;
  p.bars = s->sm && composition->stash_buckets && s->guard != TSR_GUARD_NONE;
  return p;
}

/* The pages of a bin of this pass are those with the same number after a shift by so much. */
static uint32_t shift_of(const plan *p, uint32_t pass) { return p->fan_log2 * (p->passes - 1 - pass); }
static uint64_t bins_of(const plan *p, uint32_t pass) { return ((p->pages - 1) >> shift_of(p, pass)) + 1; }

/* Takes the next bytes of a block of memory, or only counts them where there is none. */
static void *take(char *memory, uint64_t *used, uint64_t bytes) {
  void *taken = memory ? memory + *used : NULL;
  *used += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return taken;
}

/* Lays the scratch memory out for n items; returns its bytes. */
static uint64_t lay_out(const plan *p, uint64_t n, char *memory, scratch *s) {
  const tsr_shape *shape = &p->composition->shape;
  uint64_t used = 0;
  memset(s, 0, sizeof *s);
  for (uint32_t i = 0; i < COPIES && i < p->passes; i++) {
    s->copy[i].keys = take(memory, &used, n * (shape->key_bits / 8));
    if (shape->payload_bits) s->copy[i].values = take(memory, &used, n * (shape->payload_bits / 8));
    if (p->has_answers) s->copy[i].places = take(memory, &used, n * sizeof(uint32_t));
  }
  if (p->needs_results) s->results = take(memory, &used, n);
  for (uint32_t pass = 0; pass < p->passes; pass++)
    s->counts[pass] = take(memory, &used, (bins_of(p, pass) + 1) * sizeof(uint64_t));
  s->cursors = take(memory, &used, p->pages * sizeof(uint64_t));
  s->tiles = take(memory, &used, (p->pages + 1) * sizeof(uint64_t));
  s->rest = take(memory, &used, (p->pages + 1) * sizeof(uint32_t));
  if (p->bars) s->barred = take(memory, &used, p->pages * sizeof(uint32_t));
  return used;
}

uint64_t tsr_pages_scratch_bytes(const tsr_table *t, const tsr_composition *composition, uint64_t n, bool has_answers) {
  const plan p = plan_for(t, composition, has_answers);
  scratch s;
  return lay_out(&p, n < PIECE_MAX ? n : PIECE_MAX, NULL, &s);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

typedef struct job {
  const tsr_table *t;
  const tsr_store *store;
  void *stream;
  tsr_error *error;
  plan plan;
  scratch scratch;
} job;

static tsr_status step(const job *j, uint32_t step, const tsr_pages *pages, uint64_t n) {
  return j->t->backend->page(j->store->code->program, step, pages, n, j->stream, j->error);
}

static tsr_status zero(const job *j, void *memory, uint64_t bytes) {
  return j->t->backend->fill(j->t->device, memory, 0, bytes, j->stream, j->error);
}

static tsr_status sum_up(const job *j, uint64_t *numbers, uint64_t n) {
  return j->t->backend->prefix_sum(j->t->device, numbers, n, j->stream, j->error);
}

/* How many tiles a partition of these items has at most: each segment may end with a short one. */
static uint64_t tiles_max(const tsr_pages *p, uint64_t tile_items) {
  return (p->bulk.n + tile_items - 1) / tile_items + (p->ends ? p->segments : 0);
}

/* One pass: the items of *p, in the segments of the pass before, go to `to` in the order of this pass's bins; *p then has
 * them there, and these bins for segments. */
static tsr_status partition_once(const job *j, uint32_t pass, tsr_pages *p, const columns *to) {
  p->shift = shift_of(&j->plan, pass);
  p->bins = bins_of(&j->plan, pass);
  p->counts = j->scratch.counts[pass];
  p->keys_to = to->keys;
  p->values_to = to->values;
  p->places_to = to->places;
  tsr_status status = TSR_OK;
  if (p->ends) {
    status = step(j, TSR_PAGES_tiles, p, p->segments);
    if (status == TSR_OK) status = sum_up(j, p->tiles, p->segments);
  }
  const uint64_t tiles = tiles_max(p, p->tile_items);
  if (status == TSR_OK) status = zero(j, p->counts, (p->bins + 1) * sizeof *p->counts);
  if (status == TSR_OK) status = step(j, TSR_PAGES_count, p, tiles);
  if (status == TSR_OK) status = sum_up(j, p->counts, p->bins);
  if (status == TSR_OK)
    status = j->t->backend->copy(j->t->device, p->cursors, p->counts, p->bins * sizeof *p->counts, j->stream, j->error);
  if (status == TSR_OK) status = step(j, TSR_PAGES_scatter, p, tiles);
  p->bulk.keys = to->keys;
  p->bulk.values = to->values;
  p->places = to->places;
  p->ends = p->counts;
  p->segments = p->bins;
  return status;
}

/* What a block needs to hold a page, and the state of the table that this page is. */
static void describe_page(const job *j, tsr_pages *p) {
  const tsr_composition *c = j->store->composition;
  tsr_state *state = &p->bulk.state;
  p->regions = 0;
  p->page_bytes = 0;
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    for (uint32_t i = 0; i < TSR_REGIONS_MAX && c->part[role].plan.regions[i].name; i++) {
      const tsr_region *region = &c->part[role].plan.regions[i];
      if (!region->bytes_per_bucket) continue;
      const uint32_t bytes = (uint32_t)(region->bytes_per_bucket * tsr_composition_page_buckets(c));
      p->region[p->regions++] = (tsr_page_region){.table = state->part[role].region[i],
                                                  .offset_bytes = p->page_bytes,
                                                  .page_bytes = bytes,
                                                  .fill = region->fill * 0x01010101u};
      state->part[role].region[i] = (void *)(uintptr_t)p->page_bytes;
      p->page_bytes += bytes;
    }
  state->stash_buckets = 0;
  if (!c->lock_bytes) return;
  uint32_t log2_bits = 0;
  while (1u << log2_bits < TSR_PAGES_LOCK_BYTES * 8u) log2_bits++;
  state->locks = (uint32_t *)(uintptr_t)p->page_bytes;
  state->lock_shift = 64 - log2_bits;
  p->page_bytes += TSR_PAGES_LOCK_BYTES;
}

/* The items of *p lie in the order of their pages. A page that a block cannot do alone is left as it was, and its items
 * are inserted by random access: so whatever happens there means what it always means. */
static tsr_status work_on_pages(const job *j, tsr_pages *p, bool is_clear) {
  const tsr_state table = p->bulk.state;
  tsr_status status = TSR_OK;
  p->begins = p->ends;
  p->rest = j->scratch.rest;
  p->is_clear = is_clear;
  if (j->store->composition->shape.sm) status = zero(j, p->rest, sizeof *p->rest);
  if (status == TSR_OK && j->plan.bars && !p->is_clear) {
    p->barred = j->scratch.barred;
    status = zero(j, p->barred, j->plan.pages * sizeof *p->barred);
    if (status == TSR_OK) status = step(j, TSR_PAGES_bar, p, table.stash_buckets);
  }
  if (j->store->composition->shape.sm) describe_page(j, p);
  if (status == TSR_OK) status = step(j, TSR_PAGES_insert, p, j->plan.pages);
  p->bulk.state = table;
  if (status == TSR_OK) status = step(j, TSR_PAGES_rest, p, j->plan.pages);
  if (status == TSR_OK && j->store->composition->facts.combines_later)
    status = step(j, TSR_PAGES_rest_combine, p, j->plan.pages);
  return status;
}

/* One piece of the batch, in its scratch memory. A pair that found no place lies where its item's was, so that no other
 * memory is needed for it. */
static tsr_status insert_piece(const job *j, const tsr_bulk *bulk, bool is_first) {
  tsr_pages p = {.bulk = *bulk,
                 .fan_log2 = j->plan.fan_log2,
                 .tile_items = j->plan.tile_items,
                 .tiles = j->scratch.tiles,
                 .cursors = j->scratch.cursors};
  tsr_status status = TSR_OK;
  for (uint32_t pass = 0; status == TSR_OK && pass < j->plan.passes; pass++)
    status = partition_once(j, pass, &p, &j->scratch.copy[pass % COPIES]);
  p.bulk.results = j->scratch.results;
  p.bulk.unplaced_keys = (void *)(uintptr_t)p.bulk.keys;
  p.bulk.unplaced_values = (void *)(uintptr_t)p.bulk.values;
  if (!j->plan.has_answers) p.bulk.unplaced_keys = p.bulk.unplaced_values = NULL;
  if (status == TSR_OK) status = work_on_pages(j, &p, is_first && j->store->is_clear);
  p.results = bulk->results;
  p.unplaced_keys = bulk->unplaced_keys;
  p.unplaced_values = bulk->unplaced_values;
  if (status == TSR_OK && j->plan.has_answers) status = step(j, TSR_PAGES_answer, &p, bulk->n);
  return status;
}

/* ---- The batch ------------------------------------------------------------------------------- */

static void *item_at(const void *items, uint64_t i, uint32_t bits) {
  return items ? (char *)(uintptr_t)items + i * (bits / 8) : NULL;
}

tsr_status tsr_pages_insert(const tsr_table *t, const tsr_store *store, const tsr_bulk *bulk, void *stream, bool *began,
                            tsr_error *error) {
  const tsr_shape *s = &store->composition->shape;
  const bool has_answers = bulk->results || bulk->unplaced_keys || bulk->unplaced_values;
  job j = {.t = t, .store = store, .stream = stream, .error = error};
  j.plan = plan_for(t, store->composition, has_answers);
  uint64_t piece = bulk->n < PIECE_MAX ? bulk->n : PIECE_MAX;
  void *memory = NULL;
  const uint64_t piece_min = piece < PIECE_MIN ? piece : PIECE_MIN;
  for (; piece >= piece_min && !memory; piece /= memory ? 1 : 2) {
    const uint64_t bytes = lay_out(&j.plan, piece, NULL, &j.scratch);
    if (t->backend->allocate_in(t->device, bytes, stream, &memory, NULL) != TSR_OK) memory = NULL;
  }
  *began = memory != NULL;
  if (!memory) return TSR_OK;
  tsr_status status = TSR_OK;
  lay_out(&j.plan, piece, memory, &j.scratch);
  for (uint64_t done = 0; status == TSR_OK && done < bulk->n; done += piece) {
    tsr_bulk part = *bulk;
    part.n = bulk->n - done < piece ? bulk->n - done : piece;
    part.keys = item_at(bulk->keys, done, s->key_bits);
    part.values = item_at(bulk->values, done, s->payload_bits);
    part.unplaced_keys = item_at(bulk->unplaced_keys, done, s->key_bits);
    part.unplaced_values = item_at(bulk->unplaced_values, done, s->payload_bits);
    part.results = item_at(bulk->results, done, 8);
    status = insert_piece(&j, &part, done == 0);
  }
  const tsr_status freed = t->backend->free_in(t->device, memory, stream, status ? NULL : error);
  return status ? status : freed;
}
