/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in the order of zones (zones.h): the host's part. Nothing waits for the device. Read next: zones_cpu.c.
 */
#include "core/batch/zones.h"

#include "core/batch/plan.h"
#include "core/batch/work.h"

static void fit_keys(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)argument;
  grid->shared_bytes = TSR_RUNS_TILE * (table->key_bits / 8);
}

static void fit_column(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table;
  grid->shared_bytes = TSR_RUNS_TILE * ((const tsr_zone_step *)argument)->column_bytes;
}

#define ROW(name, ...) {.set = &tsr_zone_steps, .kernel = "tsr_zone_" #name "_kernel", __VA_ARGS__},
static const tsr_step steps[] = {TSR_ZONE_STEPS(ROW)};
extern const tsr_image tsr_zone_images[]; /* built by core/BUILD from zones.cu */
const tsr_steps tsr_zone_steps = {.images = tsr_zone_images, .step = steps, .count = TSR_ZONE_STEP_COUNT};

_Static_assert((int)TSR_ZONES_MAX <= (int)TSR_RUNS_BINS, "a block counts the keys of each zone");

/* A batch, and its answers in the order of zones. */
typedef struct job {
  tsr_work work;
  uint32_t op;
  tsr_bulk asked; /* the caller's arrays, as far as the operation has them */
  tsr_zone_step step;
  uint8_t *results;
  void *values;
  uint64_t *counts;
} job;

static uint32_t value_bytes(const job *j) { return j->work.store->composition->shape.payload_bits / 8; }

static job job_for(const tsr_work *b, uint32_t op, const tsr_bulk *bulk) {
  const tsr_zones zones = tsr_plan_zones(b->store->composition, b->device->info.l2_bytes);
  job j = {.work = *b, .op = op, .asked = *bulk};
  j.step = (tsr_zone_step){.runs.bins = zones.count, .pages = zones.pages, .shift = zones.shift};
  if ((op != TSR_BULK_find && op != TSR_BULK_note) || !value_bytes(&j)) j.asked.values_out = NULL;
  if (op != TSR_BULK_count && op != TSR_BULK_note) j.asked.counts = NULL;
  if (op != TSR_BULK_combine) j.asked.values = NULL;
  return j;
}

/* Lays the scratch memory out for n items; returns its bytes. */
static uint64_t lay_out(void *argument, uint64_t n, char *memory) {
  job *j = argument;
  const bool has_answers = j->asked.results || j->asked.values_out || j->asked.counts;
  uint64_t used = 0;
  tsr_runs *runs = &j->step.runs;
  runs->tiles = TSR_RUNS_TILES(n);
  runs->counts = tsr_work_take(memory, &used, (runs->bins * runs->tiles + 1) * sizeof *runs->counts);
  j->step.keys = tsr_work_take(memory, &used, n * (j->work.store->composition->shape.key_bits / 8));
  if (has_answers) runs->places = tsr_work_take(memory, &used, n * sizeof *runs->places);
  if (j->asked.results) j->results = tsr_work_take(memory, &used, n);
  if (j->asked.values_out || j->asked.values) j->values = tsr_work_take(memory, &used, n * value_bytes(j));
  if (j->asked.counts) j->counts = tsr_work_take(memory, &used, n * sizeof *j->counts);
  return used;
}

tsr_status tsr_zone_work(const tsr_work *b, uint32_t step, const tsr_zone_step *argument) {
  return b->backend->step(b->device, b->store->code->program, &tsr_zone_steps.step[step], argument,
                          argument->runs.tiles, b->stream, b->error);
}

/* What a combine brings with its keys: values, and results that say which items it is for. */
static tsr_status bring(const job *j, const tsr_zone_step *part, const void *column, void *ordered, uint32_t bytes) {
  tsr_zone_step move = *part;
  move.column = column;
  move.answers = ordered;
  move.column_bytes = bytes;
  return j->asked.values ? tsr_zone_work(&j->work, TSR_ZONE_move, &move) : (tsr_status)TSR_OK;
}

/* Brings a column of answers back. */
static tsr_status answer(const job *j, const tsr_zone_step *part, const void *column, void *answers, uint32_t bytes) {
  tsr_zone_step gather = *part;
  gather.column = column;
  gather.answers = answers;
  gather.column_bytes = bytes;
  return answers ? tsr_zone_work(&j->work, TSR_ZONE_gather, &gather) : TSR_OK;
}

static tsr_status work_on_part(const job *j, const tsr_bulk *bulk) {
  tsr_zone_step part = j->step;
  tsr_bulk ordered = *bulk;
  part.bulk = *bulk;
  part.runs.n = bulk->n;
  part.runs.tiles = TSR_RUNS_TILES(bulk->n);
  ordered.keys = part.keys;
  ordered.results = j->results;
  ordered.values = j->asked.values ? j->values : NULL;
  ordered.values_out = j->asked.values ? NULL : j->values;
  ordered.counts = j->counts;
  tsr_status status = tsr_zone_work(&j->work, TSR_ZONE_count, &part);
  if (status == TSR_OK) status = tsr_work_sum(&j->work, part.runs.counts, part.runs.bins * part.runs.tiles);
  if (status == TSR_OK) status = tsr_zone_work(&j->work, TSR_ZONE_scatter, &part);
  if (status == TSR_OK) status = bring(j, &part, bulk->values, j->values, value_bytes(j));
  if (status == TSR_OK) status = bring(j, &part, bulk->results, j->results, 1);
  if (status == TSR_OK) status = tsr_work_random(&j->work, j->op, &ordered);
  if (status == TSR_OK) status = answer(j, &part, j->values, bulk->values_out, value_bytes(j));
  if (status == TSR_OK) status = answer(j, &part, j->counts, bulk->counts, sizeof *j->counts);
  return status || j->asked.values ? status : answer(j, &part, j->results, bulk->results, 1);
}

tsr_status tsr_zones_work(const tsr_work *b, uint32_t op, const tsr_bulk *bulk, bool *began) {
  job j = job_for(b, op, bulk);
  uint64_t piece, bytes;
  void *memory;
  tsr_status status = tsr_work_allocate(b, &j, lay_out, bulk->n, &piece, &bytes, &memory);
  *began =
      memory && (piece == bulk->n || piece >= tsr_plan_zone_batch(b->store->composition, b->device->info.l2_bytes));
  for (uint64_t done = 0; status == TSR_OK && *began && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(b, &j.asked, done, left < piece ? left : piece);
    status = work_on_part(&j, &part);
  }
  if (!memory) return status;
  const tsr_status freed = b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}
