/* SPDX-License-Identifier: Apache-2.0
 *
 * The partition (order.h), in as many passes as keep a tile's runs long. No step waits for the host: only the device
 * knows how many items a bin has. Why: ../design/0014-pages.md. Read next: place.c.
 */
#include "core/batch/order.h"

#include "core/batch/sum.h"

/* ---- Scratch memory -------------------------------------------------------------------------- */

bool tsr_wants_answers(const tsr_bulk *bulk) { return bulk->results || bulk->unplaced_keys || bulk->unplaced_values; }

tsr_batch tsr_store_batch(const tsr_store *store, uint32_t op, uint64_t n, bool has_answers) {
  return (tsr_batch){.op = op, .n = n, .held = store->held, .is_clear = store->is_clear, .has_answers = has_answers};
}

tsr_partition tsr_partition_plan(const tsr_composition *composition, uint64_t pages, bool has_answers) {
  const tsr_shape *s = &composition->shape;
  tsr_partition p = {.composition = composition,
                     .pages = pages,
                     .tile_items = s->sm ? TSR_TILE_ITEMS((s->key_bits + s->payload_bits) / 8) : TSR_CPU_TILE_ITEMS,
                     .passes = 1,
                     .wants.answers = has_answers};
  /* items of hot keys, which are combined where offers merge, leave the other first pass */
  p.wants.runs = has_answers && tsr_plan_has_zones(composition, TSR_BULK_find) && !TSR_POLICY_MERGES(s->duplicates);
  while (1ull << p.log2_pages < pages) p.log2_pages++;
  while (p.passes < TSR_PASSES_MAX && p.passes * TSR_PAGES_FAN_LOG2 < p.log2_pages + p.wants.runs) p.passes++;
  return p;
}

/* The pages of a bin of this pass are those with the same number after this shift. If the bits cannot be divided
 * evenly, the first pass takes more of them, because not all of its bins exist; or fewer, if it is one of runs. */
static uint32_t shift_of(const tsr_partition *p, uint32_t pass) {
  return (p->log2_pages * (p->passes - 1 - pass) + (p->wants.runs ? p->passes - 1 : 0)) / p->passes;
}
static uint32_t fan_log2_of(const tsr_partition *p, uint32_t pass) {
  return (pass ? shift_of(p, pass - 1) : p->log2_pages) - shift_of(p, pass);
}
static uint64_t bins_of(const tsr_partition *p, uint32_t pass) { return ((p->pages - 1) >> shift_of(p, pass)) + 1; }

/* If keys are distinct, a page gets room for as many items of n as one page in 10^9 exceeds. Pages of few items would
 * need much more room than they fill, and counting them costs little. */
static uint64_t room_for(const tsr_partition *p, uint64_t n) {
  enum { LEAST = 2048, DEVIATIONS = 6 };
  const uint64_t mean = n / p->pages + 1;
  uint64_t deviation = 1;
  while (deviation * deviation < mean) deviation++;
  return p->wants.guesses && p->passes == 2 && mean >= LEAST ? mean + DEVIATIONS * deviation : 0;
}

static void lay_out_first(tsr_partition *p, uint64_t n, char *memory, uint64_t *used) {
  tsr_runs *runs = &p->first.step.runs;
  runs->bins = (uint32_t)bins_of(p, 0);
  runs->counts = tsr_work_take(memory, used, (runs->bins * TSR_RUNS_TILES(n) + 1) * sizeof *runs->counts);
  runs->places = tsr_work_take(memory, used, n * sizeof *runs->places);
  if (p->passes > 1) p->first.told = tsr_work_take(memory, used, n);
}

void tsr_partition_lay_out(tsr_partition *p, uint64_t n, char *memory, uint64_t *used) {
  const tsr_shape *shape = &p->composition->shape;
  p->room = room_for(p, n);
  if (p->room) n = p->room * p->pages;
  for (uint32_t i = 0; i < TSR_COPIES && (i < p->passes || p->wants.spare); i++) {
    p->copy[i].keys = tsr_work_take(memory, used, n * (shape->key_bits / 8));
    if (shape->payload_bits) p->copy[i].values = tsr_work_take(memory, used, n * (shape->payload_bits / 8));
    if (p->wants.answers && (i > 0 || !p->wants.runs || p->passes > TSR_COPIES))
      p->copy[i].places = tsr_work_take(memory, used, n * sizeof(uint32_t));
  }
  if (p->wants.runs) lay_out_first(p, n, memory, used);
  for (uint32_t pass = 0; pass < p->passes; pass++) {
    p->counts[pass] = tsr_work_take(memory, used, (bins_of(p, pass) + 1) * sizeof(uint64_t));
    p->cursors[pass] = tsr_work_take(memory, used, bins_of(p, pass) * sizeof(uint64_t));
  }
  p->tiles = tsr_work_take(memory, used, (p->pages + 1) * sizeof(uint64_t));
  p->rest = tsr_work_take(memory, used, (p->pages + 2) * sizeof(uint32_t));
}

/* ---- Steps ----------------------------------------------------------------------------------- */

tsr_status tsr_work_tiles(const tsr_work *b, const tsr_segments *segments, uint64_t tile_items) {
  const tsr_tiles_step p = {*segments, (uint32_t)tile_items};
  const tsr_status status = tsr_work_step(b, TSR_PAGES_tiles, &p, segments->count);
  return status ? status : tsr_work_sum(b, segments->tiles, segments->count);
}

/* Whether the items are counted once for all passes: if a block's memory has a count for each page, and there are
 * enough items that what all blocks write out is small compared with them. */
static bool counts_once(const tsr_partition *partition, uint64_t n) {
  enum { OWN_BYTES = 16 << 10, ITEMS_OF_COUNT = 4 }; /* of the kernel; of each number that is written out */
  const uint32_t sm = partition->composition->shape.sm;
  return sm && partition->passes > 1 && partition->pages * sizeof(uint32_t) + OWN_BYTES <= tsr_block_bytes(sm) &&
         n / TSR_COUNT_BLOCKS / ITEMS_OF_COUNT >= partition->pages;
}

static tsr_status count_pages(const tsr_partition *partition, const tsr_work *b, tsr_order_step *p) {
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

/* Sums how many items each bin of this pass has. */
static tsr_status count_bins(const tsr_work *b, const tsr_order_step *p, uint64_t tiles) {
  if (p->page_ends && p->page_ends == p->counts) return TSR_OK;
  if (p->page_ends || p->room) return tsr_work_step(b, TSR_PAGES_bins, p, p->bins + 1);
  tsr_status status = tsr_work_zero(b, p->counts, (p->bins + 1) * sizeof *p->counts);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_count, p, tiles);
  return status ? status : tsr_work_sum(b, p->counts, p->bins);
}

/* Whether keys and values are together after this pass, from the copy's keys on: runs are then twice as long. */
static bool goes_as_pairs(const tsr_partition *partition, uint32_t pass, const tsr_order_step *p) {
  const tsr_shape *s = &partition->composition->shape;
  return s->sm && s->key_bits == s->payload_bits && p->bulk.values &&
         (pass + 1 < partition->passes || partition->wants.pairs);
}

/* One pass: the items of *p, in the segments of the pass before, go to `to` in the order of this pass's bins. *p then
 * has them there, and these bins for segments. */
static tsr_status partition_once(const tsr_partition *partition, const tsr_work *b, uint32_t pass, tsr_order_step *p,
                                 const tsr_columns *to) {
  p->shift = shift_of(partition, pass);
  p->fan_log2 = fan_log2_of(partition, pass);
  p->bins = bins_of(partition, pass);
  p->counts = partition->counts[pass];
  p->cursors = partition->cursors[pass];
  p->to = *to;
  p->to.values = p->bulk.values ? to->values : NULL; /* a counter's call may have none */
  p->to.are_pairs = goes_as_pairs(partition, pass, p);
  p->hot = pass == 0 ? partition->hot : (tsr_hot){.keys = NULL};
  const uint64_t tiles = (p->bulk.n + p->tile_items - 1) / p->tile_items + p->segments.count; /* some may be short */
  tsr_status status = pass ? tsr_work_tiles(b, &p->segments, p->tile_items) : TSR_OK;
  if (status == TSR_OK) status = count_bins(b, p, tiles);
  if (status == TSR_OK)
    status = b->backend->copy(b->device, p->cursors, p->counts, p->bins * sizeof *p->counts, b->stream, b->error);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_scatter, p, tiles);
  p->bulk.keys = to->keys;
  p->bulk.values = p->to.are_pairs ? (char *)to->keys + partition->composition->shape.key_bits / 8 : p->to.values;
  p->bulk.are_pairs = p->to.are_pairs;
  p->places = to->places;
  p->segments.begins = p->counts;
  p->segments.ends = partition->wants.pairs ? p->cursors : NULL;
  p->segments.count = p->bins;
  return status;
}

/* The first pass of a batch, if it is one of runs. */
static tsr_zone_step first_of(const tsr_partition *partition, const tsr_bulk *bulk) {
  tsr_zone_step first = partition->first.step;
  first.bulk = *bulk;
  first.runs.n = bulk->n;
  first.runs.tiles = TSR_RUNS_TILES(bulk->n);
  first.pages = partition->pages;
  first.shift = shift_of(partition, 0);
  first.idle = partition->idle;
  return first;
}

static tsr_status partition_in_runs(const tsr_partition *partition, const tsr_work *b, tsr_order_step *p,
                                    const tsr_columns *to) {
  tsr_zone_step first = first_of(partition, &p->bulk);
  first.keys = to->keys;
  first.column = p->bulk.values;
  first.answers = to->values;
  first.column_bytes = partition->composition->shape.payload_bits / 8;
  first.begins = partition->counts[0];
  tsr_status status = tsr_zone_work(b, TSR_ZONE_count, &first);
  if (status == TSR_OK) status = tsr_work_sum(b, first.runs.counts, first.runs.bins * first.runs.tiles);
  if (status == TSR_OK) status = tsr_zone_work(b, TSR_ZONE_scatter, &first);
  if (status == TSR_OK && first.column) status = tsr_zone_work(b, TSR_ZONE_move, &first);
  p->bulk.keys = first.keys;
  p->bulk.values = first.column ? to->values : NULL;
  p->segments.begins = first.begins;
  p->segments.count = first.runs.bins;
  return status;
}

tsr_status tsr_partition_run(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                             tsr_ordered *ordered) {
  tsr_order_step p = {.bulk = *bulk,
                      .segments = {.tiles = partition->tiles, .idle = partition->idle},
                      .pages = partition->pages,
                      .tile_items = partition->tile_items,
                      .room = partition->room,
                      .spills = partition->rest + partition->pages + 1};
  tsr_status status = count_pages(partition, b, &p);
  if (status == TSR_OK && partition->wants.runs) status = partition_in_runs(partition, b, &p, &partition->copy[0]);
  for (uint32_t pass = partition->wants.runs; status == TSR_OK && pass < partition->passes; pass++)
    status = partition_once(partition, b, pass, &p, &partition->copy[pass % TSR_COPIES]);
  *ordered = (tsr_ordered){p.bulk, p.places, p.segments, p.tile_items, partition->rest};
  /* A pair that finds no place stays where its item was, so that it needs no other memory. */
  const tsr_columns *last = &partition->copy[(partition->passes - 1) % TSR_COPIES];
  ordered->bulk.unplaced_keys = partition->wants.answers ? last->keys : NULL;
  ordered->bulk.unplaced_values = partition->wants.answers ? last->values : NULL;
  return status;
}

tsr_status tsr_partition_spilled(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk) {
  const tsr_order_step p = {.bulk = *bulk,
                            .segments.ends = partition->cursors[1],
                            .shift = shift_of(partition, 0),
                            .pages = partition->pages,
                            .cursors = partition->cursors[0],
                            .room = partition->room,
                            .spills = partition->rest + partition->pages + 1};
  return partition->room ? tsr_work_step(b, TSR_PAGES_spilled, &p, bulk->n) : TSR_OK;
}

/* Brings the answers back by the first pass: results and what came back are in its order, or in the only one. */
static tsr_status tell(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                       const tsr_answer_step *answers) {
  const bool is_only = partition->passes == 1;
  tsr_zone_step first = first_of(partition, bulk);
  first.column_bytes = 1;
  first.column = is_only ? answers->bulk.results : answers->results;
  first.keys = is_only ? (void *)(uintptr_t)answers->bulk.keys : answers->unplaced_keys;
  first.values = is_only ? answers->bulk.unplaced_values : answers->unplaced_values;
  return tsr_zone_work(b, TSR_ZONE_tell, &first);
}

tsr_status tsr_partition_answer(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                                const tsr_ordered *ordered, const uint8_t *told) {
  const tsr_columns *spare = &partition->copy[partition->passes % TSR_COPIES]; /* nobody needs it any more */
  tsr_answer_step p = {.bulk = ordered->bulk,
                       .places = ordered->places,
                       .end = ordered->pages.begins + ordered->pages.count,
                       .results = bulk->results,
                       .unplaced_keys = bulk->unplaced_keys,
                       .unplaced_values = bulk->unplaced_values};
  tsr_status status = TSR_OK;
  p.bulk.results = (uint8_t *)(uintptr_t)told;
  if (!partition->wants.answers) return TSR_OK;
  if (partition->wants.runs) {
    p.results = partition->first.told;
    if (p.unplaced_keys) p.unplaced_keys = spare->keys;
    if (p.unplaced_values) p.unplaced_values = spare->values;
  }
  if (ordered->places && p.results)
    status = b->backend->fill(b->device, p.results, TSR_RESULT_INSERTED, bulk->n, b->stream, b->error);
  if (status == TSR_OK && ordered->places) status = tsr_work_step(b, TSR_PAGES_answer, &p, bulk->n);
  return status || !partition->wants.runs ? status : tell(partition, b, bulk, &p);
}
