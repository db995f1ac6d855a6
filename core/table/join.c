/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables against tables: a plan of several steps. The left table's pairs are written out, the right one counts what it has
 * for each of their keys, the counts are summed up to places, and then each row is written by a thread of its own and the
 * right values are retrieved to their places. So a key that occurs often costs no more a row than any other.
 */
#include "core/sized.h"
#include "core/table/form.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/tessera_tools.h"

/* The left table's pairs, and where the rows of each begin; in device memory. */
typedef struct join {
  tsr_table *left, *right;
  uint64_t pairs;
  void *keys, *values;
  uint64_t *begins;
  tsr_error *error;
} join;

static tsr_status allocate(const join *j, uint64_t bytes, void **memory) {
  return bytes ? j->right->backend->allocate(j->right->device, bytes, memory, j->error) : TSR_OK;
}

static void free_join(const join *j) {
  void *const memory[] = {j->keys, j->values, j->begins};
  for (uint32_t i = 0; i < 3; i++)
    if (memory[i]) j->right->backend->free(j->right->device, memory[i]);
}

/* ---- The left side --------------------------------------------------------------------------- */

static tsr_status write_out(join *j) {
  const tsr_shape *shape = &j->left->store.composition->shape;
  tsr_status status = tsr_size(j->left, &j->pairs, j->error);
  if (status == TSR_OK) status = allocate(j, j->pairs * (shape->key_bits / 8), &j->keys);
  if (status == TSR_OK) status = allocate(j, j->pairs * (shape->value_bits / 8), &j->values);
  if (status == TSR_OK) status = allocate(j, (j->pairs + 1) * sizeof *j->begins, (void **)&j->begins);
  if (status || j->pairs == 0) return status;
  return tsr_export(j->left, j->pairs, j->keys, j->values, &j->pairs, j->error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* An operation of the right table on the left keys, or on rows. counted: in the report. */
static tsr_status launch(const join *j, uint32_t op, tsr_bulk *bulk, bool counted) {
  tsr_table *t = j->right;
  bulk->state = t->store.state;
  bulk->tally = t->tallies + (counted ? op : (uint32_t)TSR_TALLY_UNREAD);
  return tsr_launch(t, &t->store, op, bulk, NULL, j->error);
}

/* How many rows there are if each left pair has as many as count_as says; where they begin. Waits. */
static tsr_status count_rows(const join *j, uint32_t count_as, bool counted, uint64_t *rows) {
  tsr_table *t = j->right;
  tsr_bulk bulk = {.n = j->pairs, .keys = j->keys, .counts = j->begins, .count_as = count_as};
  *rows = 0;
  if (j->pairs == 0) return TSR_OK;
  tsr_status status = launch(j, TSR_BULK_count, &bulk, counted);
  if (status == TSR_OK) status = t->backend->prefix_sum(t->device, j->begins, j->pairs, NULL, j->error);
  if (status == TSR_OK) status = t->backend->copy(t->device, rows, j->begins + j->pairs, sizeof *rows, NULL, j->error);
  const tsr_status waited = t->backend->synchronize(t->device, NULL, status ? NULL : j->error);
  return status ? status : waited;
}

/* Where the rows go: arrays on the device, from `first` on. */
typedef struct rows_to {
  char *keys, *left_values, *right_values;
  uint64_t first, count, missing;
} rows_to;

static void *row_at(char *rows, uint64_t i, uint32_t bits) { return rows ? rows + i * (bits / 8) : NULL; }

/* Writes the rows that count_rows counted last. The right value is retrieved, or there is none. */
static tsr_status write_rows(const join *j, const rows_to *to, bool has_right) {
  const tsr_shape *left = &j->left->store.composition->shape, *right = &j->right->store.composition->shape;
  tsr_bulk rows = {.n = to->count, .keys = j->keys, .counts = j->begins, .room = j->pairs, .missing = to->missing};
  tsr_bulk retrieved = {.n = j->pairs, .keys = j->keys, .counts = j->begins, .room = to->count};
  tsr_status status = TSR_OK;
  if (to->count == 0) return TSR_OK;
  /* the operation is the one of the table whose widths the arrays have */
  rows.keys_out = row_at(to->keys, to->first, left->key_bits);
  rows.values = j->values;
  rows.values_out = row_at(to->left_values, to->first, left->value_bits);
  rows.state = j->left->store.state;
  rows.tally = j->left->tallies + TSR_TALLY_UNREAD;
  status = tsr_launch(j->left, &j->left->store, TSR_BULK_expand, &rows, NULL, j->error);
  if (status || !to->right_values) return status;
  retrieved.values_out = row_at(to->right_values, to->first, right->value_bits);
  if (has_right) return launch(j, TSR_BULK_retrieve, &retrieved, false);
  rows.keys_out = NULL;
  rows.values = NULL;
  rows.values_out = retrieved.values_out;
  return launch(j, TSR_BULK_expand, &rows, false);
}

/* Of each kind, how many rows a left pair has; LEFT has a row beside for each that has none. */
static const uint32_t rows_of[] = {[TSR_JOIN_INNER] = TSR_COUNT_PAIRS,
                                   [TSR_JOIN_LEFT] = TSR_COUNT_PAIRS,
                                   [TSR_JOIN_SEMI] = TSR_COUNT_PRESENT,
                                   [TSR_JOIN_ANTI] = TSR_COUNT_ABSENT};

static tsr_status write_all(const join *j, uint32_t kind, rows_to *to, uint64_t first_part) {
  to->count = first_part;
  tsr_status status = TSR_OK;
  if (kind == TSR_JOIN_LEFT)
    status = count_rows(j, rows_of[kind], false, &to->count); /* the last count was of the others */
  if (status == TSR_OK) status = write_rows(j, to, true);
  if (status || kind != TSR_JOIN_LEFT) return status;
  to->first = to->count;
  status = count_rows(j, TSR_COUNT_ABSENT, false, &to->count);
  return status ? status : write_rows(j, to, false);
}

static tsr_status join_rows(join *j, uint32_t kind, const tsr_join_rows *rows, uint64_t *count) {
  const tsr_shape *left = &j->left->store.composition->shape, *right = &j->right->store.composition->shape;
  uint64_t first_part, others = 0;
  tsr_status status = count_rows(j, rows_of[kind], true, &first_part);
  if (status == TSR_OK && kind == TSR_JOIN_LEFT) status = count_rows(j, TSR_COUNT_ABSENT, false, &others);
  if (status) return status;
  *count = first_part + others;
  if (!rows || !rows->room || !*count) return TSR_OK;
  if (*count > rows->room)
    return tsr_fail(j->error, TSR_BAD_ARGUMENT, "tsr_join: the join has %llu rows, the arrays have room for %llu",
                    (unsigned long long)*count, (unsigned long long)rows->room);
  tsr_array arrays[] = {{rows->keys, NULL, *count * (left->key_bits / 8), false, TSR_ARRAY_WRITTEN},
                        {rows->left_values, NULL, *count * (left->value_bits / 8), false, TSR_ARRAY_WRITTEN},
                        {rows->right_values, NULL, *count * (right->value_bits / 8), false, TSR_ARRAY_WRITTEN}};
  for (uint32_t i = 0; status == TSR_OK && i < 3; i++) status = tsr_stage_in(j->right, &arrays[i], NULL, j->error);
  rows_to to = {.keys = arrays[0].devices,
                .left_values = arrays[1].devices,
                .right_values = arrays[2].devices,
                .missing = rows->missing};
  if (status == TSR_OK) status = write_all(j, kind, &to, first_part);
  for (uint32_t i = 0; i < 3; i++) {
    const tsr_status copied = tsr_stage_out(j->right, &arrays[i], NULL, status != TSR_OK, status ? NULL : j->error);
    if (status == TSR_OK) status = copied;
  }
  const tsr_status waited = j->right->backend->synchronize(j->right->device, NULL, status ? NULL : j->error);
  return status ? status : waited;
}

/* ---- The call -------------------------------------------------------------------------------- */

static tsr_status check_join(const tsr_table *left, const tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                             tsr_error *error) {
  if (kind >= TSR_JOIN_KINDS)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: kind = %u: must be one of TSR_JOIN_INNER, LEFT, SEMI and ANTI",
                    kind);
  const tsr_shape *l = &left->store.composition->shape, *r = &right->store.composition->shape;
  if (l->key_bits != r->key_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: the left table has key_bits = %u, the right one %u: they must be the same", l->key_bits,
                    r->key_bits);
  if (left->form != right->form)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: one table lies on a list of devices, the other on one: make both with the same "
                    "[table] devices, or both without");
  if (left->backend != right->backend ||
      left->store.composition->settings.device != right->store.composition->settings.device)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: the left table is on %s (%s), the right one on %s (%s): both must be on one device",
                    left->backend->name, left->device->info.name, right->backend->name, right->device->info.name);
  if (rows && rows->left_values && !l->value_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: the left table has no values: left_values must be NULL");
  if (rows && rows->right_values && (!r->value_bits || kind == TSR_JOIN_SEMI || kind == TSR_JOIN_ANTI))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: %s: right_values must be NULL",
                    r->value_bits ? "the rows of SEMI and ANTI have no right values" : "the right table has no values");
  return TSR_OK;
}

tsr_status tsr_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                    tsr_error *error) {
  tsr_join_rows known;
  if (!left || !right || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join needs two tables and a place for the number of rows");
  tsr_status status = tsr_take_over("tsr_join", &known, rows, sizeof known, error);
  if (status == TSR_OK) status = check_join(left, right, kind, rows ? &known : NULL, error);
  return status ? status : left->form->join(left, right, kind, rows ? &known : NULL, count, error);
}

tsr_status tsr_single_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) {
  join j = {.left = left, .right = right, .error = error};
  tsr_status status = write_out(&j);
  if (status == TSR_OK) status = tsr_table_enter(right, TSR_PHASE_FIND, NULL, error);
  if (status == TSR_OK) status = join_rows(&j, kind, rows, count);
  const tsr_status left_phase = tsr_table_leave(right, NULL, status ? NULL : error);
  if (status == TSR_OK) status = left_phase;
  if (status == TSR_OK) right->find_keys += j.pairs;
  free_join(&j);
  return status;
}
