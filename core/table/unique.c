/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_unique: the distinct keys of a batch, how often each occurs, and what becomes of their values. The batch alone is
 * worked on, on a GPU (../batch/groups.h) and on the CPU (../cpu/column.h), unless the table is to keep the keys. Otherwise
 * the keys are numbered in the table, and each item then does something for its number.
 */
#include "core/batch/groups.h"
#include "core/batch/sum.h"
#include "core/kernels/aggregate.h"
#include "core/kernels/scan.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/numbering.h"
#include "core/table/operate.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/table/table.h"
#include "core/tessera_tools.h"

enum { KEYS, UNIQUE, INVERSE, COUNTS, COLUMNS, COLUMNS_MAX = 16, ARRAYS = COLUMNS + 2 * COLUMNS_MAX };

_Static_assert((int)COLUMNS_MAX == TSR_GROUP_VALUES, "the same");
_Static_assert((int)TSR_COMBINE_MIN == TSR_AGGREGATE_MIN && (int)TSR_COMBINE_MAX == TSR_AGGREGATE_MAX, "the same");
_Static_assert((int)TSR_VALUES_F32 == TSR_AGGREGATE_F32 && (int)TSR_VALUES_F64 == TSR_AGGREGATE_F64, "the same");

/* A call under way, with its arrays in device memory. arrays: the values of each column and what becomes of them come last. */
typedef struct distinct {
  tsr_table *t;
  uint64_t n, room;
  bool keeps;
  uint32_t column_count;
  tsr_array arrays[ARRAYS];
  tsr_unique_column columns[COLUMNS_MAX];
  uint32_t *inverse;
  uint64_t *ranks; /* n + 1 */
  void *stream;
} distinct;

static tsr_status run_step(const distinct *d, uint32_t which, uint64_t room, tsr_error *error) {
  const tsr_numbering_run run = {.n = d->n,
                                 .numbers = d->inverse,
                                 .ranks = d->ranks,
                                 .key_bytes = d->t->store.composition->shape.key_bits / 8,
                                 .keys = d->arrays[KEYS].devices,
                                 .keys_out = d->arrays[UNIQUE].devices,
                                 .counts = d->arrays[COUNTS].devices,
                                 .room = room};
  return tsr_numbering_step(d->t, which, &run, d->stream, error);
}

/* Numbers the keys, and counts those that have a number. */
static tsr_status number_all(const distinct *d, uint64_t *count, tsr_error *error) {
  tsr_table *t = d->t;
  const tsr_call call = {.stream = d->stream, .missing = TSR_NUMBER_NONE};
  tsr_free_numbers numbers = {.given = 0};
  uint64_t placed = 0;
  tsr_status status = tsr_clear(t, d->stream, error);
  if (status == TSR_OK) status = tsr_number(t, d->n, d->arrays[KEYS].devices, d->inverse, &call, error);
  if (status == TSR_OK) status = run_step(d, TSR_NUMBERING_leave, 0, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, d->ranks, d->n, d->stream, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, &placed, d->ranks + d->n, sizeof placed, d->stream, error);
  if (status == TSR_OK) status = tsr_read_free_numbers(t, &numbers, d->stream, error);
  if (status) return status;
  *count = numbers.given;
  if (placed == d->n) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "tsr_unique: %llu of %llu keys found no room in the index: raise capacity, or use growth = double",
                  (unsigned long long)(d->n - placed), (unsigned long long)d->n);
}

static tsr_status lacks_room(const distinct *d, uint64_t count, tsr_error *error) {
  const bool is_written = d->arrays[UNIQUE].devices || d->arrays[COUNTS].devices || d->column_count;
  if (!is_written || d->room >= count) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: there are %llu distinct keys, the arrays have room for %llu",
                  (unsigned long long)count, (unsigned long long)d->room);
}

static tsr_status zero(const distinct *d, uint64_t *numbers, uint64_t count, tsr_error *error) {
  return d->t->backend->fill(d->t->device, numbers, 0, count * sizeof *numbers, d->stream, error);
}

static tsr_status combine_column(const distinct *d, const tsr_unique_column *column, uint64_t *sums, uint64_t count,
                                 tsr_error *error) {
  const tsr_step *steps = tsr_aggregate_steps.step;
  tsr_aggregate_step step = {.n = d->n,
                             .column = {column->values, column->combined, column->type, column->how},
                             .numbers = d->inverse,
                             .sums = sums};
  tsr_status status = zero(d, sums, count, error);
  if (status == TSR_OK)
    status = d->t->backend->step(d->t->device, NULL, &steps[TSR_AGGREGATE_add], &step, d->n, d->stream, error);
  step.n = count;
  if (status) return status;
  return d->t->backend->step(d->t->device, NULL, &steps[TSR_AGGREGATE_put], &step, count, d->stream, error);
}

static tsr_status combine_columns(const distinct *d, uint64_t count, tsr_error *error) {
  const tsr_table *t = d->t;
  void *sums;
  tsr_status status = t->backend->allocate_in(t->device, count * sizeof(uint64_t), d->stream, &sums, error);
  if (status) return status;
  for (uint32_t c = 0; status == TSR_OK && c < d->column_count; c++)
    status = combine_column(d, &d->columns[c], sums, count, error);
  const tsr_status freed = t->backend->free_in(t->device, sums, d->stream, status ? NULL : error);
  return status ? status : freed;
}

static tsr_status write_distinct(const distinct *d, uint64_t count, tsr_error *error) {
  tsr_status status = lacks_room(d, count, error);
  if (status) return status;
  if (d->arrays[UNIQUE].devices) status = run_step(d, TSR_NUMBERING_place, count, error);
  if (status == TSR_OK && d->arrays[COUNTS].devices) {
    status = zero(d, d->arrays[COUNTS].devices, count, error);
    if (status == TSR_OK) status = run_step(d, TSR_NUMBERING_add, count, error);
  }
  return status || !d->column_count ? status : combine_columns(d, count, error);
}

/* Whether the batch alone will do: by pages on a GPU, whose numbers are in no order, and as a column on the CPU. */
static bool needs_no_table(const distinct *d) {
  const tsr_composition *c = d->t->store.composition;
  const bool is_on_gpu = d->t->device->info.sm != 0;
  return c->shape.key_bits <= 64 && !d->keeps && !(is_on_gpu && c->settings.numbers.numbering) &&
         d->n <= (is_on_gpu ? (uint64_t)TSR_GROUPS_MOST : (uint64_t)TSR_KEY_COLUMN_MOST);
}

/* Also without room for the distinct keys the inverse is written. */
static tsr_status write_column(const distinct *d, tsr_key_column *column, uint64_t count, tsr_error *error) {
  const tsr_status lacks = lacks_room(d, count, error);
  const tsr_key_column_arrays arrays = {.size = sizeof arrays,
                                        .short_numbers = d->inverse,
                                        .counts = lacks ? NULL : d->arrays[COUNTS].devices,
                                        .keys = lacks ? NULL : d->arrays[UNIQUE].devices};
  const tsr_status told = tsr_key_column_tell(column, &arrays, lacks ? NULL : error);
  if (lacks || told || !d->column_count) return lacks ? lacks : told;
  return combine_columns(d, count, error);
}

/* On the CPU. Its numbers are in the order in which keys first appear. */
static tsr_status work_on_column(distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_table *t = d->t;
  tsr_key_column *column = NULL;
  void *memory = NULL;
  const uint32_t detail = d->arrays[INVERSE].devices || d->column_count ? TSR_KEY_COLUMN_NUMBERS
                          : d->arrays[COUNTS].devices                   ? TSR_KEY_COLUMN_COUNTS
                                                                        : TSR_KEY_COLUMN_KEYS;
  tsr_status status = tsr_key_column_create(t->store.composition->shape.key_bits, detail, d->n, d->arrays[KEYS].devices,
                                            NULL, &column, count, error);
  d->inverse = d->arrays[INVERSE].devices;
  if (status == TSR_OK && !d->inverse && d->column_count)
    status = t->backend->allocate_in(t->device, d->n * sizeof *d->inverse, d->stream, &memory, error);
  if (memory) d->inverse = memory;
  if (status == TSR_OK) status = write_column(d, column, *count, error);
  tsr_key_column_free(column);
  const tsr_status freed = memory ? t->backend->free_in(t->device, memory, d->stream, status ? NULL : error) : TSR_OK;
  return status ? status : freed;
}

static tsr_groups groups_of(const distinct *d) {
  const tsr_composition *c = d->t->store.composition;
  return (tsr_groups){.n = d->n,
                      .keys = d->arrays[KEYS].devices,
                      .key_bytes = c->shape.key_bits / 8,
                      .seed = c->settings.seed,
                      .distinct = d->arrays[UNIQUE].devices,
                      .counts = d->arrays[COUNTS].devices,
                      .room = d->room,
                      .numbers = d->arrays[INVERSE].devices,
                      .columns = d->columns,
                      .column_count = d->column_count};
}

static tsr_status work_on_groups(const distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_groups groups = groups_of(d);
  const tsr_status status = tsr_groups_make(d->t->device, &groups, d->stream, count, error);
  return status ? status : lacks_room(d, *count, error);
}

static tsr_status work_without_table(distinct *d, uint64_t *count, tsr_error *error) {
  const bool is_empty = d->t->store.is_clear && tsr_numbering_check(d->t, NULL) == TSR_OK;
  const tsr_status status = is_empty ? TSR_OK : tsr_clear(d->t, d->stream, error);
  if (status) return status;
  return d->t->device->info.sm ? work_on_groups(d, count, error) : work_on_column(d, count, error);
}

/* With memory for what the caller does not want. */
static tsr_status work(distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_table *t = d->t;
  const uint64_t rank_bytes = (d->n + 1) * sizeof *d->ranks;
  void *memory = NULL;
  tsr_status status =
      t->backend->allocate_in(t->device, rank_bytes + d->n * sizeof *d->inverse, d->stream, &memory, error);
  if (status) return status;
  d->ranks = memory;
  d->inverse = d->arrays[INVERSE].devices ? d->arrays[INVERSE].devices : (uint32_t *)((char *)memory + rank_bytes);
  status = number_all(d, count, error);
  if (status == TSR_OK) status = write_distinct(d, *count, error);
  const tsr_status cleared = d->keeps ? TSR_OK : tsr_clear(d->t, d->stream, status ? NULL : error);
  if (status == TSR_OK) status = cleared;
  const tsr_status freed = t->backend->free_in(t->device, memory, d->stream, status ? NULL : error);
  return status ? status : freed;
}

/* ---- Columns --------------------------------------------------------------------------------- */

static tsr_status check_columns(const tsr_unique_arrays *arrays, tsr_error *error) {
  if (arrays->column_count && !arrays->columns)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: columns is NULL, but column_count = %u",
                    arrays->column_count);
  if (arrays->column_count > COLUMNS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: column_count = %u: at most %d in one call",
                    arrays->column_count, (int)COLUMNS_MAX);
  for (uint32_t c = 0; c < arrays->column_count; c++) {
    const tsr_unique_column *column = &arrays->columns[c];
    if (!column->values || !column->combined)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: columns[%u].%s is NULL: it takes as many as %s", c,
                      column->values ? "combined" : "values", column->values ? "room" : "n");
    if (column->type > TSR_VALUES_F64)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: columns[%u].type = %u: one of TSR_VALUES_U32 to F64", c,
                      column->type);
    if (column->how > TSR_COMBINE_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: columns[%u].how = %u: one of TSR_COMBINE_SUM, MIN, MAX", c,
                      column->how);
  }
  return TSR_OK;
}

static bool follows(const distinct *d, uint32_t c) {
  return c && d->columns[c].values == d->columns[c - 1].values && d->columns[c].type == d->columns[c - 1].type;
}

/* Values of several columns are copied to the device once. */
static void add_columns(distinct *d, const tsr_unique_arrays *arrays) {
  d->column_count = arrays->column_count;
  for (uint32_t c = 0; c < d->column_count; c++) {
    tsr_unique_column *column = &d->columns[c];
    *column = arrays->columns[c];
    const uint32_t bytes = tsr_aggregate_bytes(column->type);
    const uint32_t made = column->how == TSR_COMBINE_SUM ? (uint32_t)sizeof(uint64_t) : bytes;
    d->arrays[COLUMNS + 2 * c] = (tsr_array){
        .callers = follows(d, c) ? NULL : column->values, .bytes = d->n * bytes, .word = bytes, .use = TSR_ARRAY_READ};
    d->arrays[COLUMNS + 2 * c + 1] = (tsr_array){
        .callers = column->combined, .bytes = d->room * made, .word = made, .use = TSR_ARRAY_PARTLY_WRITTEN};
  }
}

static void columns_on_device(distinct *d) {
  const void *before = NULL;
  for (uint32_t c = 0; c < d->column_count; c++) {
    const bool follows_it = !d->arrays[COLUMNS + 2 * c].callers;
    before = d->columns[c].values = follows_it ? before : d->arrays[COLUMNS + 2 * c].devices;
    d->columns[c].combined = d->arrays[COLUMNS + 2 * c + 1].devices;
  }
}

/* ---- In a graph ------------------------------------------------------------------------------ */

/* What keeps a call out of a graph; NULL: nothing. */
static const char *obstacle(const distinct *d, const uint64_t *count) {
  const tsr_table *t = d->t;
  const tsr_array told = {.callers = count, .bytes = sizeof *count, .word = sizeof *count, .use = TSR_ARRAY_WRITTEN};
  bool are_reached = tsr_array_is_reached(t, &told);
  for (uint32_t i = 0; i < ARRAYS; i++) are_reached = are_reached && tsr_array_is_reached(t, &d->arrays[i]);
  if (!needs_no_table(d))
    return "the table's numbers wait: leave keep at 0, and take numbering = any and keys of at most 64 bits";
  if (!are_reached)
    return "an array or count is in host memory, which a replay does not copy: use device memory for all";
  if (!t->backend->is_prepared(t->device, NULL, &tsr_group_steps.step[0]) ||
      !t->backend->is_prepared(t->device, NULL, &tsr_scan_steps.step[0]))
    return "its kernels are not loaded yet, which a capture cannot do: call tsr_table_prepare with "
           "TSR_PREPARE_FIND_OR_INSERT before it";
  return NULL;
}

/* The batch alone is worked on, and the table stays as it is. */
static tsr_status record(distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_table *t = d->t;
  const char *why = obstacle(d, count);
  if (why) return tsr_fail(error, TSR_UNSUPPORTED, "tsr_unique: the stream is captured into a graph, and %s", why);
  if (d->n == 0) return t->backend->fill(t->device, count, 0, sizeof *count, d->stream, error);
  for (uint32_t i = 0; i < ARRAYS; i++) d->arrays[i].devices = (void *)(uintptr_t)d->arrays[i].callers;
  columns_on_device(d);
  tsr_groups groups = groups_of(d);
  groups.found = count;
  return tsr_groups_record(t->device, &groups, d->stream, error);
}

/* ---- The call -------------------------------------------------------------------------------- */

static tsr_status check(tsr_table *t, uint64_t n, const void *keys, const tsr_unique_arrays *arrays,
                        const uint64_t *count, bool *recorded, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_NUMBERS, .call.stream = arrays->stream};
  tsr_status status = t ? TSR_OK : tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: the table is NULL");
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_NUMBER, "tsr_unique", error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_UNIQUE, "tsr_unique", error);
  if (status == TSR_OK) status = tsr_call_is_recorded(t, arrays->stream, recorded, error);
  if (status == TSR_OK && !*recorded) status = tsr_call_begin(t, &r, error);
  if (status == TSR_OK) status = tsr_check_insert(t, "tsr_unique", n, keys, NULL, error);
  if (status == TSR_OK && !count)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: count is NULL: it takes the number of distinct keys");
  return status ? status : check_columns(arrays, error);
}

static distinct distinct_of(tsr_table *t, uint64_t n, const void *keys, const tsr_unique_arrays *known) {
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t room = known->room < n ? known->room : n;
  distinct d = {
      .t = t,
      .n = n,
      .room = room,
      .keeps = known->keep,
      .stream = known->stream,
      .arrays = {
          [KEYS] = {.callers = keys, .bytes = n * key_bytes, .word = key_bytes, .use = TSR_ARRAY_READ},
          [UNIQUE] = {.callers = known->keys, .bytes = room * key_bytes, .word = key_bytes, TSR_ARRAY_PARTLY_WRITTEN},
          [INVERSE] = {.callers = known->inverse, .bytes = n * sizeof(uint32_t), sizeof(uint32_t), TSR_ARRAY_WRITTEN},
          [COUNTS] = {.callers = known->counts,
                      .bytes = room * sizeof(uint64_t),
                      .word = sizeof(uint64_t),
                      .use = TSR_ARRAY_PARTLY_WRITTEN}}};
  add_columns(&d, known);
  return d;
}

tsr_status tsr_unique(tsr_table *t, uint64_t n, const void *keys, const tsr_unique_arrays *arrays, uint64_t *count,
                      tsr_error *error) {
  TSR_WRITES(t);
  tsr_unique_arrays known;
  bool recorded = false;
  tsr_status status = tsr_take_over("tsr_unique", &known, arrays, sizeof known, error);
  if (status == TSR_OK) status = check(t, n, keys, &known, count, &recorded, error);
  if (status) return status;
  distinct d = distinct_of(t, n, keys, &known);
  if (recorded) return record(&d, count, error);
  *count = 0;
  if (n == 0) return tsr_clear(t, known.stream, error);
  status = tsr_stage_in(t, d.arrays, ARRAYS, d.stream, error);
  if (status == TSR_OK) columns_on_device(&d);
  if (status == TSR_OK) status = needs_no_table(&d) ? work_without_table(&d, count, error) : work(&d, count, error);
  status = tsr_stage_out(t, d.arrays, ARRAYS, d.stream, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, d.stream, status ? NULL : error);
  return status ? status : waited;
}
