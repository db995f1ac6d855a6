/* SPDX-License-Identifier: Apache-2.0
 *
 * The distinct keys of a batch (groups.h): the host's part. It looks at a sample first, whose answer it waits for, and
 * tries with room for bins as long as that is likely to do. If it does not, it counts. Only keys that were crafted for
 * the seed fill the set of a page; then it tries another seed.
 */
#include "core/batch/groups.h"

#include <math.h>

#include "core/batch/sum.h"
#include "core/batch/work.h"

static void fit_tile(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table, (void)argument;
  grid->shared_bytes = TSR_GROUP_TILE_BYTES;
}

static void fit_page(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const uint32_t key_bytes = ((const tsr_group_page *)argument)->key_bytes;
  (void)table;
  grid->shared_bytes = TSR_GROUP_SET_BYTES(key_bytes);
}

static void fit_merged(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_group_page *page = argument;
  fit_page(table, argument, grid);
  grid->shared_bytes += TSR_GROUP_IN_HAND(page->key_bytes) * page->values.widest;
}

/* room: items of a tile. */
static void fit_carried(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_group_pass *pass = argument;
  fit_tile(table, argument, grid);
  grid->shared_bytes += pass->room * pass->values.widest;
}

static void fit_combined(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table;
  grid->shared_bytes = TSR_GROUP_IN_HAND(((const tsr_group_page *)argument)->key_bytes) * (uint32_t)sizeof(uint64_t);
}

/* With counts of all places. */
static void fit_large(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  fit_page(table, argument, grid);
  grid->shared_bytes +=
      (TSR_GROUP_SLOTS(((const tsr_group_page *)argument)->key_bytes) + 4) * (uint32_t)sizeof(uint32_t);
}

#define ROW(name, ...) {.set = &tsr_group_steps, .kernel = "tsr_group_" #name, __VA_ARGS__},
static const tsr_step steps[] = {TSR_GROUP_STEPS(ROW)};
extern const tsr_image tsr_group_images[]; /* built by core/BUILD from groups.cu */
const tsr_steps tsr_group_steps = {.images = tsr_group_images, .step = steps, .count = TSR_GROUP_STEP_COUNT};

enum {
  SAMPLED = 1 << 18,    /* items of a batch that is worth a sample, */
  WAITED = 1 << 22,     /* ... and of one whose host waits for what the sample says */
  COPIES_MIN = 32,      /* items of a key that bins have space for, */
  COPIES_UNKNOWN = 300, /* ... and where the host does not know: it has memory to spare then */
  ROOM_MAX = 4,         /* times what a bin expects: if more room is needed, its items are counted */
  DEVIATIONS = 6,       /* by which a bin may exceed what it expects */
  SEEDS = 4             /* that are tried */
};

typedef struct job {
  tsr_device *device;
  const tsr_groups *groups;
  void *stream;
  tsr_error *error;
  uint64_t seed;
  double copies;   /* items of a key, on average over items */
  bool is_counted; /* bins get the room that they need, which is counted first */
  bool is_sampled; /* frequent keys are known to the device */
  tsr_group_told told;
  uint32_t passes;
  tsr_group_pass pass[TSR_GROUP_PASSES];
  uint64_t bins[TSR_GROUP_PASSES],
      items[TSR_GROUP_PASSES + 1]; /* of a pass: bins; items that its segments have room for */
  tsr_group_page page;
  uint32_t *numbers[2]; /* in the orders of pages and of passes, in turns */
} job;

static tsr_status run_any(const job *j, uint32_t step, const void *argument, uint64_t n) {
  return j->device->backend->step(j->device, NULL, &tsr_group_steps.step[step], argument, n, j->stream, j->error);
}

/* The step for these keys: in the list that for keys of 64 bits follows. */
static tsr_status run(const job *j, uint32_t step, const void *argument, uint64_t n) {
  return run_any(j, step + (j->groups->key_bytes == sizeof(uint64_t)), argument, n);
}

static tsr_status read_told(job *j) {
  tsr_status status = j->device->backend->copy(j->device, &j->told, j->page.told, sizeof j->told, j->stream, j->error);
  const tsr_status waited = j->device->backend->synchronize(j->device, j->stream, status ? NULL : j->error);
  return status ? status : waited;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static uint32_t array_of(tsr_group_values *values, const void *from, uint32_t bytes) {
  uint32_t a = 0;
  while (a < values->array_count && (values->array[a].from != from || values->array[a].bytes != bytes)) a++;
  if (a == values->array_count) values->array[values->array_count++] = (tsr_group_array){.from = from, .bytes = bytes};
  return a;
}

/* Values that several columns are made of go once. */
static void take_values(job *j) {
  tsr_group_values *values = &j->page.values;
  *values = (tsr_group_values){.widest = 0};
  for (uint32_t c = 0; c < j->groups->column_count; c++) {
    const tsr_unique_column *column = &j->groups->columns[c];
    const uint32_t bytes = tsr_aggregate_bytes(column->type), array = array_of(values, column->values, bytes);
    values->made[values->made_count++] = (tsr_group_made){column->combined, array, column->type, column->how};
    if (bytes > values->widest) values->widest = bytes;
  }
}

static uint64_t hot_sums_bytes(const job *j) {
  return (uint64_t)j->page.values.made_count * TSR_GROUP_HOT * sizeof *j->page.values.hot_sums;
}

/* The arrays of the passes, in turns, which end with that of the pages. */
static void lay_out_values(job *j, char *memory, uint64_t *used, uint64_t most) {
  tsr_group_values *made = &j->page.values;
  take_values(j);
  made->hot_sums = tsr_work_take(memory, used, hot_sums_bytes(j));
  made->bases = tsr_work_take(memory, used, 2 * j->bins[j->passes - 1] * sizeof *made->bases);
  for (uint32_t p = 0; p < j->passes; p++) j->pass[p].values = *made;
  for (uint32_t a = 0; a < made->array_count; a++) {
    char *turns[2] = {NULL, NULL};
    for (uint32_t i = 0; i < 2 && i < j->passes; i++)
      turns[i] = tsr_work_take(memory, used, most * made->array[a].bytes);
    for (uint32_t p = 0; p < j->passes; p++) {
      tsr_group_array *array = &j->pass[p].values.array[a];
      if (p) array->from = turns[(p - 1) % 2];
      array->to = turns[p % 2];
    }
    made->array[a].from = turns[(j->passes - 1) % 2];
  }
}

/* ---- The sample ------------------------------------------------------------------------------ */

/* Returns the bytes of the memory of what is told and of frequent keys. */
static uint64_t lay_out_hot(job *j, char *memory) {
  const tsr_groups *g = j->groups;
  tsr_group_page *page = &j->page;
  uint64_t used = 0;
  *page = (tsr_group_page){.n = g->n, .from = g->keys, .is_first = 1, .key_bytes = g->key_bytes};
  page->keys = g->distinct;
  page->counts = g->counts;
  page->numbers = g->numbers;
  page->wants_numbers = g->numbers != NULL;
  page->room = g->room;
  page->told = tsr_work_take(memory, &used, sizeof *page->told);
  page->hot.keys = tsr_work_take(memory, &used, (uint64_t)TSR_GROUP_HOT * g->key_bytes);
  page->hot.counts = tsr_work_take(memory, &used, TSR_GROUP_HOT * sizeof *page->hot.counts);
  page->hot.slot_keys = tsr_work_take(memory, &used, (uint64_t)TSR_GROUP_HOT_SLOTS * g->key_bytes);
  page->hot.slot_ids = tsr_work_take(memory, &used, TSR_GROUP_HOT_SLOTS * sizeof *page->hot.slot_ids);
  take_values(j);
  return used;
}

/* Otherwise a block has all items in hand. */
static bool needs_passes(const tsr_groups *g) { return g->n > TSR_GROUP_EXPECTED(g->key_bytes); }

/* Finds the frequent keys, and how often others occur. With k copies of each key a sample of s items has
 * s^2 (k - 1) / 2 n pairs of equal ones. */
static tsr_status look_at_sample(job *j) {
  const double n = (double)j->groups->n, sampled = TSR_GROUP_IN_HAND(j->groups->key_bytes);
  tsr_status status = j->device->backend->fill(j->device, j->page.told, 0, sizeof *j->page.told, j->stream, j->error);
  j->page.seed = j->seed;
  j->copies = COPIES_UNKNOWN;
  j->is_sampled = j->groups->n >= SAMPLED || (j->is_counted && !j->groups->found && needs_passes(j->groups));
  if (status == TSR_OK && j->is_sampled) status = run(j, TSR_GROUP_sample_32, &j->page, 1);
  if (status || j->groups->n < WAITED || j->groups->found) return status;
  status = read_told(j);
  j->copies = COPIES_MIN + 2 * j->told.pairs * 2 * n / (sampled * sampled); /* twice: it is an estimate */
  j->is_sampled = j->told.hot;
  return status;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* Room of a bin that expects this many items; 0: they are to be counted. */
static uint32_t room_of(const job *j, double expected) {
  const double room = expected + DEVIATIONS * (sqrt(expected * j->copies) + j->copies);
  return j->is_counted || room > ROOM_MAX * (expected + DEVIATIONS * COPIES_UNKNOWN) ? 0 : (uint32_t)room / 4 * 4;
}

static void plan(job *j) {
  const uint32_t key_bytes = j->groups->key_bytes, expected = TSR_GROUP_EXPECTED(key_bytes);
  uint32_t bits = j->groups->bins_log2, done = 0;
  while (!j->groups->bins_log2 && (j->groups->n - 1) >> bits >= expected) bits++;
  j->passes = (bits + TSR_GROUP_BINS_LOG2 - 1) / TSR_GROUP_BINS_LOG2;
  j->items[0] = j->groups->n;
  for (uint32_t p = 0; p < j->passes; p++) {
    const uint32_t own = (bits - done + j->passes - p - 1) / (j->passes - p);
    tsr_group_pass *pass = &j->pass[p];
    *pass =
        (tsr_group_pass){.n = j->groups->n, .seed = j->seed, .segments.count = 1u << done, .bins_log2 = (uint16_t)own};
    done += own;
    j->bins[p] = 1ull << done;
    pass->shift = (uint16_t)(key_bytes * 8 - done);
    pass->room = room_of(j, (double)j->groups->n / (double)j->bins[p]);
    j->items[p + 1] = pass->room ? pass->room * j->bins[p] : j->groups->n;
  }
  if (j->is_sampled) j->pass[0].hot = j->page.hot;
}

static uint64_t tiles_of(const job *j, uint32_t pass) {
  const uint64_t tile = TSR_GROUP_TILE(j->groups->key_bytes);
  return pass ? j->groups->n / tile + j->pass[pass].segments.count : (j->groups->n + tile - 1) / tile;
}

static void lay_out_pass(job *j, uint32_t p, char *memory, uint64_t *used) {
  tsr_group_pass *pass = &j->pass[p];
  pass->to = tsr_work_take(memory, used, j->items[p + 1] * j->groups->key_bytes);
  pass->bin_begins = tsr_work_take(memory, used, (j->bins[p] + 1) * sizeof *pass->bin_begins);
  pass->cursors = tsr_work_take(memory, used, j->bins[p] * sizeof *pass->cursors);
  pass->segments.tiles = tsr_work_take(memory, used, (pass->segments.count + 1ull) * sizeof *pass->segments.tiles);
  if (j->groups->numbers) {
    pass->runs = tsr_work_take(memory, used, (tiles_of(j, p) << pass->bins_log2) * sizeof *pass->runs);
    pass->places = tsr_work_take(memory, used, j->items[p] * sizeof *pass->places);
  }
  pass->from = p ? j->pass[p - 1].to : j->groups->keys;
  pass->segments.begins = p ? j->pass[p - 1].bin_begins : NULL;
  pass->segments.ends = p ? j->pass[p - 1].cursors : NULL;
  pass->told = j->page.told;
}

/* Returns the bytes of the scratch memory. */
static uint64_t lay_out(job *j, char *memory) {
  uint64_t used = 0, most = 0;
  const tsr_group_pass *last = &j->pass[j->passes - 1];
  for (uint32_t p = 0; p < j->passes; p++) lay_out_pass(j, p, memory, &used);
  for (uint32_t p = 1; p <= j->passes; p++) most = j->items[p] > most ? j->items[p] : most;
  for (uint32_t i = 0; i < (j->groups->numbers ? 2 : j->groups->column_count ? 1 : 0); i++)
    j->numbers[i] = tsr_work_take(memory, &used, most * sizeof **j->numbers);
  if (j->groups->column_count) lay_out_values(j, memory, &used, most);
  j->page.larges = tsr_work_take(memory, &used, j->bins[j->passes - 1] * sizeof *j->page.larges);
  j->page.from = last->to;
  j->page.pages.begins = last->bin_begins;
  j->page.pages.ends = last->cursors;
  j->page.is_first = 0;
  j->page.numbers = j->numbers[0];
  return used;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static tsr_status count_bins(const job *j, uint32_t p) {
  const tsr_group_pass *pass = &j->pass[p];
  tsr_status status = j->device->backend->fill(j->device, pass->bin_begins, 0,
                                               (j->bins[p] + 1) * sizeof *pass->bin_begins, j->stream, j->error);
  if (status == TSR_OK) status = run(j, TSR_GROUP_count_32, pass, tiles_of(j, p));
  return status ? status : tsr_prefix_sum(j->device, pass->bin_begins, j->bins[p], j->stream, j->error);
}

static tsr_status order_keys(const job *j, uint32_t p) {
  static const uint32_t order[2][2] = {{TSR_GROUP_order_32, TSR_GROUP_sift_32},
                                       {TSR_GROUP_carry_32, TSR_GROUP_cull_32}};
  const tsr_group_pass *pass = &j->pass[p];
  tsr_group_pass small = *pass;
  tsr_status status = TSR_OK;
  if (p) {
    small.n = pass->segments.count;
    small.room = TSR_GROUP_TILE(j->groups->key_bytes);
    status = run_any(j, TSR_GROUP_tiles, &small, small.n);
    if (status == TSR_OK)
      status = tsr_prefix_sum(j->device, pass->segments.tiles, pass->segments.count, j->stream, j->error);
  }
  if (status == TSR_OK && !pass->room) status = count_bins(j, p);
  small.n = j->bins[p] + 1;
  small.room = pass->room;
  if (status == TSR_OK) status = run_any(j, TSR_GROUP_begin, &small, small.n);
  small = *pass;
  small.room = TSR_GROUP_TILE(j->groups->key_bytes);
  return status ? status : run(j, order[pass->values.made_count != 0][pass->hot.keys != NULL], &small, tiles_of(j, p));
}

static tsr_status bring_back(const job *j, uint32_t p) {
  const uint32_t turn = (j->passes - 1 - p) % 2;
  tsr_group_pass back = j->pass[p];
  back.from = j->numbers[turn];
  back.to = p ? j->numbers[!turn] : j->groups->numbers;
  return run(j, TSR_GROUP_back_32, &back, tiles_of(j, p));
}

static tsr_status make_pages(const job *j, uint64_t pages) {
  return run(j, j->page.values.made_count ? TSR_GROUP_merge_32 : TSR_GROUP_page_32, &j->page, pages);
}

static tsr_status run_passes(job *j) {
  tsr_status status = TSR_OK;
  if (j->page.values.made_count)
    status = j->device->backend->fill(j->device, j->page.values.hot_sums, 0, hot_sums_bytes(j), j->stream, j->error);
  for (uint32_t p = 0; status == TSR_OK && p < j->passes; p++) status = order_keys(j, p);
  if (status == TSR_OK) status = make_pages(j, j->bins[j->passes - 1]);
  if (status == TSR_OK) status = run(j, TSR_GROUP_large_32, &j->page, 1);
  if (status == TSR_OK && j->page.values.made_count) status = run(j, TSR_GROUP_combine_32, &j->page, 1);
  for (uint32_t p = j->passes; status == TSR_OK && j->groups->numbers && p-- > 0;) status = bring_back(j, p);
  return status;
}

/* Enqueues all steps. *memory: what they work in; NULL: nothing but what all tries have. */
static tsr_status enqueue(job *j, void **memory) {
  tsr_status status = look_at_sample(j);
  *memory = NULL;
  if (status) return status;
  plan(j);
  if (!j->passes) return make_pages(j, 1);
  status = j->device->backend->allocate_in(j->device, lay_out(j, NULL), j->stream, memory, j->error);
  if (status) return status;
  lay_out(j, *memory);
  return run_passes(j);
}

static tsr_status free_memory(const job *j, void *memory, tsr_status status) {
  if (!memory) return status;
  const tsr_status freed = j->device->backend->free_in(j->device, memory, j->stream, status ? NULL : j->error);
  return status ? status : freed;
}

/* told.fails: bins or a set did not do. */
static tsr_status try(job *j) {
  void *memory;
  tsr_status status = enqueue(j, &memory);
  if (status == TSR_OK) status = read_told(j);
  return free_memory(j, memory, status);
}

static tsr_status try_seeds(job *j) {
  for (uint32_t tries = 0; tries <= SEEDS; tries++) {
    lay_out_hot(j, (char *)j->page.told); /* as it was before the passes */
    tsr_status status = try(j);
    if (status == TSR_NO_MEMORY && !j->is_counted)
      j->told.fails = 1; /* bins that are counted need less */
    else if (status || !j->told.fails)
      return status;
    if (j->is_counted) j->seed = j->seed * 0x9E3779B97F4A7C15ull + 1;
    j->is_counted = true;
    j->told = (tsr_group_told){.fails = 0};
  }
  return tsr_fail(
      j->error, TSR_UNSUPPORTED,
      "%u seeds brought too many keys together: they were made for that. Create the table with another seed",
      (unsigned)SEEDS);
}

static tsr_status make_by_passes(job *j) {
  void *memory = NULL;
  tsr_status status = j->device->backend->allocate_in(j->device, lay_out_hot(j, NULL), j->stream, &memory, j->error);
  if (status) return status;
  j->page.told = memory;
  status = try_seeds(j);
  return free_memory(j, memory, status);
}

static tsr_status record_passes(job *j) {
  void *told = NULL, *memory = NULL;
  tsr_status status = j->device->backend->allocate_in(j->device, lay_out_hot(j, NULL), j->stream, &told, j->error);
  if (status) return status;
  j->is_counted = true; /* what bins need is not read back */
  lay_out_hot(j, told);
  status = enqueue(j, &memory);
  const tsr_group_pass tell = {.n = 1, .told = j->page.told, .bin_begins = j->groups->found};
  if (status == TSR_OK) status = run_any(j, TSR_GROUP_tell, &tell, 1);
  status = free_memory(j, memory, status);
  return free_memory(j, told, status);
}

/* ---- Directly -------------------------------------------------------------------------------- */

/* Returns the bytes of the memory. */
static uint64_t lay_out_direct(job *j, tsr_group_direct *direct, char *memory) {
  const tsr_groups *g = j->groups;
  const bool are_answered = g->numbers || g->counts;
  uint64_t used = 0;
  *direct = (tsr_group_direct){.n = g->n, .seed = j->seed, .from = g->keys, .keys = g->distinct, .counts = g->counts};
  direct->room = g->room;
  direct->found = g->found;
  direct->claim_count = TSR_GROUP_DIRECT_CLAIMS * (uint32_t)g->n;
  direct->told = j->page.told = tsr_work_take(memory, &used, sizeof *direct->told);
  direct->claims = tsr_work_take(memory, &used, direct->claim_count * sizeof *direct->claims);
  direct->others = tsr_work_take(memory, &used, g->n * sizeof *direct->others);
  if (are_answered) direct->numbers = tsr_work_take(memory, &used, g->n * sizeof *direct->numbers);
  direct->leaders = g->numbers;
  if (g->counts && !g->numbers) direct->leaders = tsr_work_take(memory, &used, g->n * sizeof *direct->leaders);
  return used;
}

static tsr_status work_directly(job *j) {
  tsr_group_direct direct;
  void *memory = NULL;
  tsr_status status =
      j->device->backend->allocate_in(j->device, lay_out_direct(j, &direct, NULL), j->stream, &memory, j->error);
  if (status) return status;
  lay_out_direct(j, &direct, memory);
  status = run(j, TSR_GROUP_claim_32, &direct, direct.n);
  if (status == TSR_OK) status = run(j, TSR_GROUP_lead_32, &direct, direct.n);
  if (status == TSR_OK && (direct.leaders || direct.found))
    status = run_any(j, TSR_GROUP_answer, &direct, direct.leaders ? direct.n : 1);
  if (status == TSR_OK && !direct.found) status = read_told(j);
  return free_memory(j, memory, status);
}

/* Keys that were crafted for the seed come together; passes try other seeds. */
static tsr_status make_directly(job *j) {
  const tsr_status status = work_directly(j);
  if (status || !j->told.fails) return status;
  j->told = (tsr_group_told){.fails = 0};
  return make_by_passes(j);
}

/* ---- Ways ------------------------------------------------------------------------------------ */

/* How a batch is worked on: the first of these that suits it. */
typedef struct way {
  uint64_t most;        /* items */
  uint64_t cache_bytes; /* per item, that a GPU's cache is to hold */
  bool reads_last; /* keys after answers are written, so they may not be in one array; and values do not go along */
  tsr_status (*make)(job *j);
  tsr_status (*record)(job *j);
} way;

static const way ways[] = {{1 << 20, 40, true, make_directly, work_directly},
                           {TSR_GROUPS_MOST, 0, false, make_by_passes, record_passes}};

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes) {
  return a && b && (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

static bool is_apart(const tsr_groups *g) {
  const uint64_t bytes = g->n * g->key_bytes, most = g->room < g->n ? g->room : g->n;
  return !g->column_count && !overlap(g->keys, bytes, g->distinct, most * g->key_bytes) &&
         !overlap(g->keys, bytes, g->counts, most * sizeof *g->counts) &&
         !overlap(g->keys, bytes, g->numbers, g->n * sizeof *g->numbers);
}

static const way *way_of(const tsr_device *device, const tsr_groups *g) {
  const way *w = ways;
  while (w < &ways[sizeof ways / sizeof *ways - 1] &&
         (g->n > w->most || g->n * w->cache_bytes > device->info.l2_bytes || (w->reads_last && !is_apart(g))))
    w++;
  return w;
}

tsr_status tsr_groups_make(tsr_device *device, const tsr_groups *groups, void *stream, uint64_t *found,
                           tsr_error *error) {
  job j = {.device = device, .groups = groups, .stream = stream, .error = error, .seed = groups->seed};
  const tsr_status status = way_of(device, groups)->make(&j);
  *found = j.told.found;
  return status;
}

tsr_status tsr_groups_record(tsr_device *device, const tsr_groups *groups, void *stream, tsr_error *error) {
  job j = {.device = device, .groups = groups, .stream = stream, .error = error, .seed = groups->seed};
  return way_of(device, groups)->record(&j);
}

/* ---- The passes alone ------------------------------------------------------------------------ */

/* Frequent keys go with the others here, so bins are counted where there are any. */
static tsr_status bring(job *j, void **memory) {
  tsr_status status = look_at_sample(j);
  if (status) return status;
  j->is_counted = j->is_counted || j->told.hot;
  j->is_sampled = false;
  plan(j);
  status = j->device->backend->allocate_in(j->device, lay_out(j, NULL), j->stream, memory, j->error);
  if (status) return status;
  lay_out(j, *memory);
  for (uint32_t p = 0; status == TSR_OK && p < j->passes; p++) status = order_keys(j, p);
  return status ? status : read_told(j);
}

/* First with room to spare; where that did not do, or took too much memory, with counts. */
static tsr_status bring_somehow(job *j, void **memory) {
  tsr_status status = TSR_OK, freed = TSR_OK;
  for (uint32_t tries = 0; tries < 2; tries++) {
    lay_out_hot(j, (char *)j->page.told);
    status = bring(j, memory);
    if (status == TSR_OK && !j->told.fails) return TSR_OK;
    if (*memory) freed = j->device->backend->free_in(j->device, *memory, j->stream, status ? NULL : j->error);
    *memory = NULL;
    if (j->is_counted || freed || (status && status != TSR_NO_MEMORY)) break;
    j->is_counted = true;
    j->told = (tsr_group_told){.fails = 0};
  }
  if (status || freed) return status ? status : freed;
  return tsr_fail(j->error, TSR_BAD_ARGUMENT, "the keys changed while they were read");
}

tsr_status tsr_groups_bring(tsr_device *device, tsr_groups_order *order, void *stream, void **memory,
                            tsr_error *error) {
  const tsr_unique_column column = {.values = order->values,
                                    .type = order->value_bytes == sizeof(uint64_t) ? TSR_VALUES_U64 : TSR_VALUES_U32,
                                    .how = TSR_COMBINE_MAX};
  const tsr_groups groups = {.n = order->n,
                             .keys = order->keys,
                             .key_bytes = order->key_bytes,
                             .seed = order->seed,
                             .bins_log2 = order->bins_log2,
                             .columns = &column,
                             .column_count = order->value_bytes != 0};
  job j = {.device = device, .groups = &groups, .stream = stream, .error = error, .seed = order->seed};
  void *told = NULL;
  *memory = NULL;
  tsr_status status = device->backend->allocate_in(device, lay_out_hot(&j, NULL), stream, &told, error);
  if (status) return status;
  j.page.told = told;
  status = bring_somehow(&j, memory);
  const tsr_status freed = device->backend->free_in(device, told, stream, status ? NULL : error);
  if (status || freed) return status ? status : freed;
  const tsr_group_pass *last = &j.pass[j.passes - 1];
  order->mixed = last->to;
  order->brought = order->value_bytes ? last->values.array[0].to : NULL;
  order->room = j.items[j.passes];
  order->begins = last->bin_begins;
  order->ends = last->cursors;
  return TSR_OK;
}
