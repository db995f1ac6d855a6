/* SPDX-License-Identifier: Apache-2.0
 *
 * The partition (order.h), in as many passes as keep a tile's runs long. No step waits for the host: how many items a
 * bin has is known on the device alone. Why: ../design/0014-pages.md. Read next: place.c.
 */
#include "core/batch/order.h"

#include "core/batch/sum.h"

enum { ALIGNED = 256 };
static const uint64_t PIECE_MIN = 1ull << 20;

/* ---- Scratch memory -------------------------------------------------------------------------- */

bool tsr_wants_answers(const tsr_bulk *bulk) { return bulk->results || bulk->unplaced_keys || bulk->unplaced_values; }

tsr_stages tsr_store_plan(const tsr_store *store, uint32_t op, uint64_t n, bool has_answers, bool is_recorded) {
  const tsr_batch batch = {.op = op,
                           .n = n,
                           .held = store->held,
                           .is_clear = store->is_clear,
                           .has_answers = has_answers,
                           .is_recorded = is_recorded};
  return tsr_plan_batch(store->composition, &batch);
}

tsr_partition tsr_partition_plan(const tsr_composition *composition, uint64_t pages, bool has_answers) {
  const tsr_shape *s = &composition->shape;
  tsr_partition p = {.composition = composition,
                     .pages = pages,
                     .tile_items = s->sm ? TSR_TILE_ITEMS((s->key_bits + s->payload_bits) / 8) : TSR_CPU_TILE_ITEMS,
                     .passes = 1,
                     .has_answers = has_answers};
  while (1ull << p.log2_pages < pages) p.log2_pages++;
  while (p.passes < TSR_PASSES_MAX && p.passes * TSR_PAGES_FAN_LOG2 < p.log2_pages) p.passes++;
  return p;
}

/* The pages of a bin of this pass are those with the same number after a shift by so much. Where the bits do not share out
 * the first pass takes more of them, because not all of its bins are there. */
static uint32_t shift_of(const tsr_partition *p, uint32_t pass) {
  return p->log2_pages * (p->passes - 1 - pass) / p->passes;
}
static uint32_t fan_log2_of(const tsr_partition *p, uint32_t pass) {
  return (pass ? shift_of(p, pass - 1) : p->log2_pages) - shift_of(p, pass);
}
static uint64_t bins_of(const tsr_partition *p, uint32_t pass) { return ((p->pages - 1) >> shift_of(p, pass)) + 1; }

/* Where keys are distinct a page gets so many items of n that one in 10^9 has more; pages of few items would need much more
 * room than they fill, and counting them costs little. */
static uint64_t room_for(const tsr_partition *p, uint64_t n) {
  enum { LEAST = 2048, DEVIATIONS = 6 };
  const uint64_t mean = n / p->pages + 1;
  uint64_t deviation = 1;
  while (deviation * deviation < mean) deviation++;
  return p->may_guess && p->passes == 2 && mean >= LEAST ? mean + DEVIATIONS * deviation : 0;
}

void *tsr_partition_take(char *memory, uint64_t *used, uint64_t bytes) {
  void *taken = memory ? memory + *used : NULL;
  *used += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return taken;
}

void tsr_partition_lay_out(tsr_partition *p, uint64_t n, char *memory, uint64_t *used) {
  const tsr_shape *shape = &p->composition->shape;
  p->room = room_for(p, n);
  if (p->room) n = p->room * p->pages;
  for (uint32_t i = 0; i < TSR_COPIES && (i < p->passes || p->has_spare); i++) {
    p->copy[i].keys = tsr_partition_take(memory, used, n * (shape->key_bits / 8));
    if (shape->payload_bits) p->copy[i].values = tsr_partition_take(memory, used, n * (shape->payload_bits / 8));
    if (p->has_answers) p->copy[i].places = tsr_partition_take(memory, used, n * sizeof(uint32_t));
  }
  for (uint32_t pass = 0; pass < p->passes; pass++) {
    p->counts[pass] = tsr_partition_take(memory, used, (bins_of(p, pass) + 1) * sizeof(uint64_t));
    p->cursors[pass] = tsr_partition_take(memory, used, bins_of(p, pass) * sizeof(uint64_t));
  }
  p->tiles = tsr_partition_take(memory, used, (p->pages + 1) * sizeof(uint64_t));
  p->rest = tsr_partition_take(memory, used, (p->pages + 1) * sizeof(uint32_t));
  p->spills = tsr_partition_take(memory, used, sizeof(uint32_t));
}

tsr_status tsr_partition_allocate(const tsr_table *t, void *job,
                                  uint64_t (*lay_out)(void *job, uint64_t n, char *memory), uint64_t n, void *stream,
                                  uint64_t *piece, uint64_t *bytes, void **memory) {
  *piece = n < TSR_PIECE_MAX ? n : TSR_PIECE_MAX;
  *bytes = 0;
  *memory = NULL;
  const uint64_t least = *piece < PIECE_MIN ? *piece : PIECE_MIN;
  for (; *piece >= least; *piece /= 2) {
    *bytes = lay_out(job, *piece, NULL);
    if (t->backend->allocate_in(t->device, *bytes, stream, memory, NULL) == TSR_OK) {
      lay_out(job, *piece, *memory);
      return TSR_OK;
    }
    *memory = NULL;
  }
  return TSR_OK;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

tsr_status tsr_work_step(const tsr_work *b, uint32_t step, const tsr_pages *pages, uint64_t n) {
  return b->t->backend->step(b->t->device, b->store->code->program, &tsr_pages_steps.step[step], pages, n, b->stream,
                             b->error);
}

tsr_status tsr_work_zero(const tsr_work *b, void *memory, uint64_t bytes) {
  return b->t->backend->fill(b->t->device, memory, 0, bytes, b->stream, b->error);
}

tsr_status tsr_work_sum(const tsr_work *b, uint64_t *numbers, uint64_t n) {
  return tsr_prefix_sum(b->t->device, numbers, n, b->stream, b->error);
}

static void *item_at(const void *items, uint64_t i, uint32_t bits) {
  return items ? (char *)(uintptr_t)items + i * (bits / 8) : NULL;
}

tsr_bulk tsr_work_part(const tsr_work *b, const tsr_bulk *bulk, uint64_t begin, uint64_t n) {
  const tsr_shape *s = &b->store->composition->shape;
  tsr_bulk part = *bulk;
  part.n = n;
  part.keys = item_at(bulk->keys, begin, s->key_bits);
  part.values = item_at(bulk->values, begin, s->payload_bits);
  part.unplaced_keys = item_at(bulk->unplaced_keys, begin, s->key_bits);
  part.unplaced_values = item_at(bulk->unplaced_values, begin, s->payload_bits);
  part.results = item_at(bulk->results, begin, 8);
  part.values_out = item_at(bulk->values_out, begin, s->payload_bits);
  part.counts = item_at(bulk->counts, begin, 64);
  return part;
}

tsr_status tsr_partition_tiles(const tsr_work *b, const tsr_pages *p, uint64_t *tiles) {
  *tiles = (p->bulk.n + p->tile_items - 1) / p->tile_items + (p->ends ? p->segments : 0);
  tsr_status status = p->ends ? tsr_work_step(b, TSR_PAGES_tiles, p, p->segments) : TSR_OK;
  return status || !p->ends ? status : tsr_work_sum(b, p->tiles, p->segments);
}

/* Whether the items are counted once for all passes: where a block's memory has a count of each page, and there are so many
 * items that what all blocks write out is little beside them. */
static bool counts_once(const tsr_partition *partition, uint64_t n) {
  enum { OWN_BYTES = 16 << 10, ITEMS_OF_COUNT = 4 }; /* of the kernel; of each number that is written out */
  const uint32_t sm = partition->composition->shape.sm;
  return sm && partition->passes > 1 && partition->pages * sizeof(uint32_t) + OWN_BYTES <= tsr_block_bytes(sm) &&
         n / TSR_COUNT_BLOCKS / ITEMS_OF_COUNT >= partition->pages;
}

static tsr_status count_pages(const tsr_partition *partition, const tsr_work *b, tsr_pages *p) {
  uint64_t *ends = partition->counts[partition->passes - 1];
  if (partition->room) return tsr_work_zero(b, p->spills, sizeof *p->spills);
  if (!counts_once(partition, p->bulk.n)) return TSR_OK;
  p->bins = partition->pages;
  p->counts = ends;
  p->hot = partition->hot;
  tsr_status status = tsr_work_zero(b, ends, (p->bins + 1) * sizeof *ends);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_count_pages, p, TSR_COUNT_BLOCKS);
  if (status == TSR_OK) status = tsr_work_sum(b, ends, p->bins);
  p->page_ends = ends;
  return status;
}

/* How many items each bin of this pass has, summed up. */
static tsr_status count_bins(const tsr_work *b, const tsr_pages *p, uint64_t tiles) {
  if (p->page_ends && p->page_ends == p->counts) return TSR_OK;
  if (p->page_ends || p->room) return tsr_work_step(b, TSR_PAGES_bins, p, p->bins + 1);
  tsr_status status = tsr_work_zero(b, p->counts, (p->bins + 1) * sizeof *p->counts);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_count, p, tiles);
  return status ? status : tsr_work_sum(b, p->counts, p->bins);
}

/* Whether keys and values lie together after this pass, from the copy's keys on: then runs are twice as long. */
static bool goes_as_pairs(const tsr_partition *partition, uint32_t pass, const tsr_pages *p) {
  const tsr_shape *s = &partition->composition->shape;
  return s->sm && s->key_bits == s->payload_bits && p->values_to &&
         (pass + 1 < partition->passes || partition->takes_pairs);
}

/* One pass: the items of *p, in the segments of the pass before, go to `to` in the order of this pass's bins; *p then has
 * them there, and these bins for segments. */
static tsr_status partition_once(const tsr_partition *partition, const tsr_work *b, uint32_t pass, tsr_pages *p,
                                 const tsr_columns *to) {
  const tsr_backend *backend = b->t->backend;
  p->shift = shift_of(partition, pass);
  p->fan_log2 = fan_log2_of(partition, pass);
  p->bins = bins_of(partition, pass);
  p->counts = partition->counts[pass];
  p->cursors = partition->cursors[pass];
  p->keys_to = to->keys;
  p->values_to = p->bulk.values ? to->values : NULL; /* a counter's call may have none */
  p->places_to = to->places;
  p->pairs_to = goes_as_pairs(partition, pass, p);
  p->hot = pass == 0 ? partition->hot : (tsr_hot){.keys = NULL};
  uint64_t tiles;
  tsr_status status = tsr_partition_tiles(b, p, &tiles);
  if (status == TSR_OK) status = count_bins(b, p, tiles);
  if (status == TSR_OK)
    status = backend->copy(b->t->device, p->cursors, p->counts, p->bins * sizeof *p->counts, b->stream, b->error);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_scatter, p, tiles);
  p->bulk.keys = to->keys;
  p->bulk.values = p->pairs_to ? (char *)to->keys + partition->composition->shape.key_bits / 8 : p->values_to;
  p->bulk.are_pairs = p->pairs_to;
  p->places = to->places;
  p->ends = p->counts;
  p->stops = partition->takes_pairs ? p->cursors : NULL;
  p->segments = p->bins;
  return status;
}

tsr_status tsr_partition_run(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk, tsr_pages *p) {
  *p = (tsr_pages){.bulk = *bulk,
                   .tile_items = partition->tile_items,
                   .pages = partition->pages,
                   .tiles = partition->tiles,
                   .room = partition->room,
                   .spills = partition->spills,
                   .rest = partition->rest};
  tsr_status status = count_pages(partition, b, p);
  for (uint32_t pass = 0; status == TSR_OK && pass < partition->passes; pass++)
    status = partition_once(partition, b, pass, p, &partition->copy[pass % TSR_COPIES]);
  p->begins = p->ends;
  /* A pair that finds no place is left where its item was, so that no other memory is needed for it. */
  const tsr_columns *last = &partition->copy[(partition->passes - 1) % TSR_COPIES];
  p->bulk.unplaced_keys = partition->has_answers ? last->keys : NULL;
  p->bulk.unplaced_values = partition->has_answers ? last->values : NULL;
  return status;
}

tsr_status tsr_partition_spilled(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk) {
  const tsr_pages p = {.bulk = *bulk,
                       .shift = shift_of(partition, 0),
                       .pages = partition->pages,
                       .room = partition->room,
                       .spills = partition->spills,
                       .cursors = partition->cursors[0],
                       .stops = partition->cursors[1]};
  return partition->room ? tsr_work_step(b, TSR_PAGES_spilled, &p, bulk->n) : TSR_OK;
}

tsr_status tsr_partition_answer(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk, tsr_pages *p) {
  p->results = bulk->results;
  p->unplaced_keys = bulk->unplaced_keys;
  p->unplaced_values = bulk->unplaced_values;
  return partition->has_answers ? tsr_work_step(b, TSR_PAGES_answer, p, bulk->n) : TSR_OK;
}
