/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables that are made of whole batches (lists.h): lists, and what a scheme builds. Lists in order: the partition brings a
 * batch into the order of pages of lists, and a block makes those of a page. By random access: each list is counted, and
 * then each pair goes to the next place of its list. Lists have no spare room, so later pairs need all of them to be made
 * again; so do those of a scheme with build(). Why: ../design/0015-lists-in-bulk.md, ../design/0042-built-from-a-batch.md.
 * Read next: ../table/launch.c.
 */
#include "core/batch/lists.h"

#include "core/batch/order.h"

typedef struct job {
  tsr_work batch;
  tsr_partition partition;
  bool sorts, builds;
  void *memory;
  uint8_t *results;
  uint64_t *counts;
  uint32_t *large, *list_counts;
} job;

/* Including those of the reserved keys. */
static uint64_t lists_of(const tsr_store *store) { return store->composition->shape.lists + TSR_TAIL_RESERVED; }

/* Lays the scratch memory out for n items; returns its bytes. */
static uint64_t lay_out(void *argument, uint64_t n, char *memory) {
  job *j = argument;
  const uint64_t large = n / TSR_LARGE_PAGE;
  uint64_t used = 0;
  if (!j->sorts) {
    j->counts = tsr_work_take(memory, &used, (lists_of(j->batch.store) + 1) * sizeof(uint64_t));
    return used;
  }
  tsr_partition_lay_out(&j->partition, n, memory, &used);
  if (j->partition.wants.answers) j->results = tsr_work_take(memory, &used, n);
  if (j->builds) return used;
  j->large = tsr_work_take(memory, &used, (large + 1) * sizeof(uint32_t));
  j->list_counts = tsr_work_take(memory, &used, large * TSR_PAGE_LISTS * sizeof(uint32_t));
  return used;
}

static uint32_t *offsets_of(const job *j) { return j->batch.store->state.part[TSR_ROLE_PROBING].region[0]; }

static tsr_status make_in_order(const job *j, const tsr_bulk *bulk) {
  static const uint32_t large_steps[] = {TSR_PAGES_large_count, TSR_PAGES_large_sum, TSR_PAGES_large_place};
  const uint64_t large = bulk->n / TSR_LARGE_PAGE;
  const tsr_work *b = &j->batch;
  tsr_ordered ordered;
  tsr_status status = tsr_partition_run(&j->partition, b, bulk, &ordered);
  ordered.bulk.results = j->results;
  const tsr_lists_step p = {.bulk = ordered.bulk,
                            .pages = ordered.pages,
                            .offsets = offsets_of(j),
                            .large = j->large,
                            .list_counts = j->list_counts};
  if (status == TSR_OK) status = tsr_work_zero(b, p.large, sizeof *p.large);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_lists, &p, j->partition.pages);
  for (uint32_t i = 0; status == TSR_OK && large && i < sizeof large_steps / sizeof *large_steps; i++)
    status = tsr_work_step(b, large_steps[i], &p, large);
  return status ? status : tsr_partition_answer(&j->partition, b, bulk, &ordered, j->results);
}

static tsr_status make_at_random(const job *j, const tsr_bulk *bulk) {
  const tsr_work *b = &j->batch;
  const uint64_t lists = lists_of(b->store);
  const tsr_lists_step p = {.bulk = *bulk, .offsets = offsets_of(j), .counts = j->counts};
  tsr_status status = tsr_work_zero(b, j->counts, (lists + 1) * sizeof *j->counts);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_any_count, &p, bulk->n);
  if (status == TSR_OK) status = tsr_work_sum(b, j->counts, lists);
  if (status == TSR_OK) status = tsr_work_step(b, TSR_PAGES_any_begin, &p, lists + 1);
  return status ? status : tsr_work_step(b, TSR_PAGES_any_place, &p, bulk->n);
}

/* Scratch memory for the lists of n items. */
static tsr_status begin(job *j, const tsr_work *b, uint64_t n, bool has_answers) {
  const tsr_shape *s = &b->store->composition->shape;
  uint64_t piece, bytes;
  const uint64_t pages = s->build_pages ? s->build_pages : (lists_of(b->store) + TSR_PAGE_LISTS - 1) / TSR_PAGE_LISTS;
  *j = (job){.batch = *b,
             .sorts = s->sorts_lists || s->build_pages,
             .builds = s->build_pages != 0,
             .partition = tsr_partition_plan(b->store->composition, pages, has_answers)};
  tsr_status status = tsr_work_allocate(b, j, lay_out, n, &piece, &bytes, &j->memory);
  if (status || piece == n) return status;
  if (j->memory) status = b->backend->free_in(b->device, j->memory, b->stream, b->error);
  if (status) return status;
  return tsr_fail(b->error, TSR_NO_MEMORY,
                  "making a table of %llu pairs takes %llu bytes in addition to the table, and there is less memory. "
                  "The table is unchanged: insert fewer pairs, or use another probing scheme",
                  (unsigned long long)n, (unsigned long long)lay_out(j, n, NULL));
}

/* Makes all lists of a table whose buckets are empty. */
static tsr_status make(const job *j, const tsr_bulk *bulk) {
  return j->sorts ? make_in_order(j, bulk) : make_at_random(j, bulk);
}

static tsr_status end(const job *j, tsr_status status) {
  const tsr_work *b = &j->batch;
  const tsr_status freed = b->backend->free_in(b->device, j->memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}

/* Enqueues the build of the scheme's memory from the keys of bulk, and their order. */
static tsr_status build(const job *j, const tsr_bulk *bulk, tsr_ordered *ordered) {
  tsr_status status = tsr_partition_run(&j->partition, &j->batch, bulk, ordered);
  const tsr_build_step p = {.bulk = ordered->bulk, .pages = ordered->pages};
  return status ? status : tsr_work_step(&j->batch, TSR_PAGES_build, &p, j->partition.pages);
}

/* A pair's walk leads to the bucket that build() has kept for it, so the insert is the usual one of distinct keys. In the order of
 * pages their buckets are near each other. */
static tsr_status build_first(const job *j, const tsr_bulk *bulk) {
  tsr_ordered ordered;
  tsr_status status = build(j, bulk, &ordered);
  ordered.bulk.results = j->results;
  if (status == TSR_OK) status = tsr_work_random(&j->batch, TSR_BULK_insert, &ordered.bulk);
  return status ? status : tsr_partition_answer(&j->partition, &j->batch, bulk, &ordered, j->results);
}

static tsr_status make_first(const tsr_work *b, const tsr_bulk *bulk) {
  job j;
  const tsr_status status = begin(&j, b, bulk->n, tsr_wants_answers(bulk));
  return status ? status : end(&j, j.builds ? build_first(&j, bulk) : make(&j, bulk));
}

/* ---- Tables that have pairs ------------------------------------------------------------------ */

/* All pairs: those that the lists have, then the batch's; and the answers for them. */
typedef struct all_pairs {
  uint64_t held, n;
  tsr_tally *tally;
  char *keys, *values, *unplaced_keys, *unplaced_values;
  uint8_t *results;
  char *regions; /* what build() made before, region after region */
} all_pairs;

/* The memory that build() makes is the scheme's. */
static const tsr_region *regions_of(const tsr_work *b) {
  return b->store->composition->part[TSR_ROLE_PROBING].plan.regions;
}

static uint64_t lay_out_pairs(all_pairs *all, const tsr_work *b, const tsr_bulk *bulk, char *memory) {
  const tsr_shape *s = &b->store->composition->shape;
  const uint64_t n = all->held + all->n, key_bytes = n * (s->key_bits / 8), value_bytes = n * (s->payload_bits / 8);
  uint64_t used = 0;
  all->tally = tsr_work_take(memory, &used, sizeof *all->tally);
  all->keys = tsr_work_take(memory, &used, key_bytes);
  if (value_bytes) all->values = tsr_work_take(memory, &used, value_bytes);
  if (s->build_pages) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++) bytes += regions_of(b)[i].bytes;
    all->regions = tsr_work_take(memory, &used, bytes);
    return used;
  }
  if (bulk->unplaced_keys) all->unplaced_keys = tsr_work_take(memory, &used, key_bytes);
  if (bulk->unplaced_values) all->unplaced_values = tsr_work_take(memory, &used, value_bytes);
  if (bulk->results) all->results = tsr_work_take(memory, &used, n);
  return used;
}

/* The buckets that are made anew. Lists leave the tail as it is, since a pair's list stays the same. What a scheme builds leads a
 * pair elsewhere than before, and a find looks into the stash only if it passed a full bucket: so those pairs go along. */
static uint64_t buckets_of(const tsr_work *b) {
  const tsr_composition *c = b->store->composition;
  return c->shape.buckets + (c->shape.build_pages ? c->tail_buckets : 0);
}

/* Runs `op` over these buckets, and waits for what it counts. */
static tsr_status scan(const tsr_work *b, uint32_t op, tsr_bulk *bulk, tsr_tally *on_device, tsr_tally *tally) {
  const tsr_backend *backend = b->backend;
  bulk->state = b->store->state;
  bulk->n = buckets_of(b);
  bulk->tally = on_device;
  tsr_status status = tsr_work_zero(b, on_device, sizeof *tally);
  if (status == TSR_OK) status = tsr_work_random(b, op, bulk);
  if (status == TSR_OK) status = backend->copy(b->device, tally, on_device, sizeof *tally, b->stream, b->error);
  return status ? status : backend->synchronize(b->device, b->stream, b->error);
}

static tsr_status count_held(const tsr_work *b, uint64_t *held) {
  tsr_tally tally;
  void *on_device;
  tsr_bulk bulk = {.n = 0};
  tsr_status status = b->backend->allocate_in(b->device, sizeof tally, b->stream, &on_device, b->error);
  if (status) return status;
  status = scan(b, TSR_BULK_size, &bulk, on_device, &tally);
  *held = tally.hits;
  const tsr_status freed = b->backend->free_in(b->device, on_device, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}

static tsr_status copy(const tsr_work *b, void *to, const void *from, uint64_t bytes) {
  return bytes ? b->backend->copy(b->device, to, from, bytes, b->stream, b->error) : TSR_OK;
}

static tsr_status empty_buckets(const tsr_work *b) {
  const tsr_part *layout = &b->store->composition->part[TSR_ROLE_LAYOUT];
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX && layout->plan.regions[i].name; i++) {
    const tsr_region *region = &layout->plan.regions[i];
    if (!region->bytes_per_bucket) continue; /* a filter's blocks */
    status = b->backend->fill(b->device, b->store->state.part[TSR_ROLE_LAYOUT].region[i], region->fill,
                              region->bytes_per_bucket * buckets_of(b), b->stream, b->error);
  }
  return status;
}

/* Pairs that were held are not news: the caller gets the counts above them. */
static tsr_status tell(const tsr_work *b, const all_pairs *all, tsr_tally *told) {
  const tsr_backend *backend = b->backend;
  tsr_tally sum, made;
  tsr_status status = backend->copy(b->device, &made, all->tally, sizeof made, b->stream, b->error);
  if (status == TSR_OK) status = backend->copy(b->device, &sum, told, sizeof sum, b->stream, b->error);
  if (status == TSR_OK) status = backend->synchronize(b->device, b->stream, b->error);
  if (status) return status;
  made.hits -= all->held;
  tsr_tally_add(&sum, &made);
  status = backend->copy(b->device, told, &sum, sizeof sum, b->stream, b->error);
  return status ? status : backend->synchronize(b->device, b->stream, b->error);
}

/* Copies the batch's part of the answers into the array of all, or back. */
static tsr_status move_unplaced(const tsr_work *b, const all_pairs *all, const tsr_bulk *bulk, bool back) {
  const tsr_shape *s = &b->store->composition->shape;
  void *const theirs[] = {bulk->unplaced_keys, bulk->unplaced_values};
  char *const ours[] = {all->unplaced_keys, all->unplaced_values};
  const uint64_t item_bytes[] = {s->key_bits / 8, s->payload_bits / 8};
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < 2; i++) {
    if (!theirs[i]) continue;
    char *own = ours[i] + all->held * item_bytes[i];
    status = copy(b, back ? theirs[i] : own, back ? own : theirs[i], all->n * item_bytes[i]);
  }
  return status;
}

/* Writes all pairs to *all: those that the table holds, then the batch's. Its tally is zero. */
static tsr_status gather(const tsr_work *b, const all_pairs *all, const tsr_bulk *bulk) {
  const tsr_shape *s = &b->store->composition->shape;
  const uint64_t key_bytes = s->key_bits / 8, value_bytes = s->payload_bits / 8;
  tsr_bulk pairs = {.keys_out = all->keys, .values_out = all->values};
  tsr_tally tally;
  tsr_status status = scan(b, TSR_BULK_export, &pairs, all->tally, &tally);
  if (status == TSR_OK) status = copy(b, all->keys + all->held * key_bytes, bulk->keys, all->n * key_bytes);
  if (status == TSR_OK && value_bytes)
    status = copy(b, all->values + all->held * value_bytes, bulk->values, all->n * value_bytes);
  return status ? status : tsr_work_zero(b, all->tally, sizeof tally);
}

static tsr_status make_from(const job *j, const all_pairs *all, const tsr_bulk *bulk) {
  const tsr_work *b = &j->batch;
  tsr_status status = gather(b, all, bulk);
  if (status == TSR_OK) status = move_unplaced(b, all, bulk, false); /* an item that has a place keeps what is there */
  if (status == TSR_OK) status = empty_buckets(b);
  tsr_bulk pairs = (tsr_bulk){.state = b->store->state,
                              .n = all->held + all->n,
                              .keys = all->keys,
                              .values = all->values,
                              .unplaced_keys = all->unplaced_keys,
                              .unplaced_values = all->unplaced_values,
                              .results = all->results,
                              .tally = all->tally};
  if (status == TSR_OK) status = make(j, &pairs);
  if (status == TSR_OK && bulk->results) status = copy(b, bulk->results, all->results + all->held, all->n);
  if (status == TSR_OK) status = move_unplaced(b, all, bulk, true);
  return status ? status : tell(b, all, bulk->tally);
}

/* Copies the scheme's memory to all->regions, or back. */
static tsr_status copy_regions(const tsr_work *b, const all_pairs *all, bool back) {
  tsr_status status = TSR_OK;
  char *own = all->regions;
  for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX; i++) {
    void *theirs = b->store->state.part[TSR_ROLE_PROBING].region[i];
    status = copy(b, back ? theirs : own, back ? own : theirs, regions_of(b)[i].bytes);
    own += regions_of(b)[i].bytes;
  }
  return status;
}

/* Puts the pairs that were there into empty buckets; *left: how many found no room. */
static tsr_status put_held(const tsr_work *b, const all_pairs *all, const tsr_bulk *pairs, uint64_t *left) {
  const tsr_bulk held = tsr_work_part(b, pairs, 0, all->held);
  tsr_tally tally;
  tsr_status status = empty_buckets(b);
  if (status == TSR_OK) status = tsr_work_zero(b, all->tally, sizeof tally);
  if (status == TSR_OK && all->held) status = tsr_work_random(b, TSR_BULK_insert, &held);
  if (status == TSR_OK) status = copy(b, &tally, all->tally, sizeof tally);
  if (status == TSR_OK) status = b->backend->synchronize(b->device, b->stream, b->error);
  *left = tally.not_placed;
  return status;
}

/* Builds the table anew for all pairs. If one of those that were there would have no room, because keys are equal or a
 * hasher mixes badly, it stays as it was built, and the batch's pairs go where there is room. */
static tsr_status build_from(const job *j, const all_pairs *all, const tsr_bulk *bulk) {
  const tsr_work *b = &j->batch;
  const tsr_bulk pairs = {
      .state = b->store->state, .n = all->held + all->n, .keys = all->keys, .values = all->values, .tally = all->tally};
  uint64_t left = 0;
  tsr_ordered ordered;
  tsr_status status = gather(b, all, bulk);
  if (status == TSR_OK) status = copy_regions(b, all, false);
  if (status == TSR_OK) status = build(j, &pairs, &ordered);
  if (status == TSR_OK) status = put_held(b, all, &pairs, &left);
  if (status == TSR_OK && left) {
    status = copy_regions(b, all, true);
    if (status == TSR_OK) status = put_held(b, all, &pairs, &left);
  }
  return status ? status : tsr_work_random(b, TSR_BULK_insert, bulk);
}

/* All memory is allocated before the first pair is taken out: a later one could get lost. */
static tsr_status make_anew(const tsr_work *b, const tsr_bulk *bulk, uint64_t held) {
  all_pairs all = {.held = held, .n = bulk->n};
  const bool builds = b->store->composition->shape.build_pages != 0;
  const tsr_backend *backend = b->backend;
  void *memory;
  job j;
  tsr_status status = backend->allocate_in(b->device, lay_out_pairs(&all, b, bulk, NULL), b->stream, &memory, b->error);
  if (status) return status;
  lay_out_pairs(&all, b, bulk, memory);
  status = begin(&j, b, held + bulk->n, !builds && tsr_wants_answers(bulk));
  if (status == TSR_OK) status = end(&j, builds ? build_from(&j, &all, bulk) : make_from(&j, &all, bulk));
  const tsr_status freed = backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}

/* ---- The batch ------------------------------------------------------------------------------- */

/* Hands pairs back as an insert does that finds no slot. */
static tsr_status hand_back(const tsr_work *b, const tsr_bulk *left) {
  const tsr_backend *backend = b->backend;
  const tsr_shape *s = &b->store->composition->shape;
  tsr_tally tally;
  tsr_status status = TSR_OK;
  if (left->results)
    status = backend->fill(b->device, left->results, TSR_RESULT_NOT_PLACED, left->n, b->stream, b->error);
  if (status == TSR_OK && left->unplaced_keys)
    status = copy(b, left->unplaced_keys, left->keys, left->n * (s->key_bits / 8));
  if (status == TSR_OK && left->unplaced_values && left->values)
    status = copy(b, left->unplaced_values, left->values, left->n * (s->payload_bits / 8));
  if (status == TSR_OK) status = backend->copy(b->device, &tally, left->tally, sizeof tally, b->stream, b->error);
  if (status == TSR_OK) status = backend->synchronize(b->device, b->stream, b->error);
  if (status) return status;
  tally.not_placed += left->n;
  status = copy(b, left->tally, &tally, sizeof tally);
  return status ? status : backend->synchronize(b->device, b->stream, b->error);
}

/* Inserts pairs when every slot is taken. The walk of each would pass all pairs of its list, to find no room but in the
 * stash. So only as many walk as the stash has slots, and the work is linear in the pairs. */
static tsr_status insert_into_stash(const tsr_work *b, const tsr_bulk *left) {
  const tsr_composition *c = b->store->composition;
  const uint64_t stash = c->stash_buckets * c->shape.bucket_slots, walking = left->n < stash ? left->n : stash;
  const tsr_bulk first = tsr_work_part(b, left, 0, walking),
                 beyond = tsr_work_part(b, left, walking, left->n - walking);
  tsr_status status = walking ? tsr_work_random(b, TSR_BULK_insert, &first) : TSR_OK;
  return status || beyond.n == 0 ? status : hand_back(b, &beyond);
}

tsr_status tsr_lists_insert(const tsr_work *b, const tsr_bulk *bulk) {
  const tsr_store *store = b->store;
  const tsr_shape *s = &store->composition->shape;
  const uint64_t slots = s->build_pages ? s->capacity : s->buckets * s->bucket_slots;
  uint64_t held = 0;
  tsr_status status = store->is_clear ? TSR_OK : count_held(b, &held);
  if (status) return status;
  const uint64_t room = held < slots ? slots - held : 0, fits = bulk->n < room ? bulk->n : room;
  const tsr_bulk first = tsr_work_part(b, bulk, 0, fits), left = tsr_work_part(b, bulk, fits, bulk->n - fits);
  if (fits) status = store->is_clear ? make_first(b, &first) : make_anew(b, &first, held);
  return status || left.n == 0 ? status : insert_into_stash(b, &left);
}
