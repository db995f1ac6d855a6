/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables against tables: first the matches of the left pairs (match.h), then rows or aggregates of these. Each row
 * is written by a thread of its own. For aggregates a thread combines a fixed number of right values. So a row costs
 * the same however often its key occurs. Why: ../design/0020-joins.md.
 */
#include <string.h>

#include "core/sized.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/match.h"
#include "core/table/single.h"
#include "core/table/stage.h"
#include "core/table/values.h"
#include "core/tessera_tools.h"

/* ---- Kinds ----------------------------------------------------------------------------------- */

/* What a kind of join consists of. */
typedef struct kind_facts {
  const char *name;
  uint32_t rows_as, fold; /* fold: of aggregates */
  bool keys_once, has_left, has_right, is_aggregate;
} kind_facts;

static const kind_facts kinds[] = {
    [TSR_JOIN_INNER] = {.name = "INNER", .rows_as = TSR_ROWS_EACH, .has_left = true, .has_right = true},
    [TSR_JOIN_LEFT] = {.name = "LEFT", .rows_as = TSR_ROWS_OUTER, .has_left = true, .has_right = true},
    [TSR_JOIN_SEMI] = {.name = "SEMI", .rows_as = TSR_ROWS_PRESENT, .has_left = true},
    [TSR_JOIN_ANTI] = {.name = "ANTI", .rows_as = TSR_ROWS_ABSENT, .has_left = true},
    [TSR_JOIN_UNION] = {.name = "UNION", .rows_as = TSR_ROWS_ONE, .keys_once = true},
    [TSR_JOIN_INTERSECT] = {.name = "INTERSECT", .rows_as = TSR_ROWS_PRESENT, .keys_once = true},
    [TSR_JOIN_DIFFERENCE] = {.name = "DIFFERENCE", .rows_as = TSR_ROWS_ABSENT, .keys_once = true},
#define AGGREGATE(name_, fold_)                                                                                        \
  { .name = name_, .rows_as = TSR_ROWS_EACH, .keys_once = true, .is_aggregate = true, .fold = fold_ }
    [TSR_JOIN_SUM] = AGGREGATE("SUM", TSR_FOLD_SUM),
    [TSR_JOIN_MIN] = AGGREGATE("MIN", TSR_FOLD_MIN),
    [TSR_JOIN_MAX] = AGGREGATE("MAX", TSR_FOLD_MAX),
    [TSR_JOIN_COUNT] = AGGREGATE("COUNT", TSR_FOLD_COUNT)};
_Static_assert(sizeof kinds / sizeof *kinds == TSR_JOIN_KINDS, "every kind has its facts");

/* ---- Rows ------------------------------------------------------------------------------------ */

static const tsr_shape *shape_of(const tsr_table *t) { return &t->store.composition->shape; }

enum { KEYS, LEFT_VALUES, RIGHT_VALUES, AGGREGATES, COLUMNS };

/* Where rows go: arrays on the device. Of values of value_bytes the numbers of their rows are written first. */
typedef struct rows_to {
  tsr_array column[COLUMNS];
  void *numbers[COLUMNS];  /* NULL: written at once */
  uint32_t bytes[COLUMNS]; /* of an item that is written */
  uint64_t first, missing;
} rows_to;

static void *column_at(const rows_to *to, uint32_t column) {
  char *begin = to->numbers[column] ? to->numbers[column] : to->column[column].devices;
  return begin ? begin + to->first * to->bytes[column] : NULL;
}

/* Where keys were mixed, they are written so. */
static tsr_status unmix_keys(tsr_joining *j, uint64_t rows) {
  const tsr_match *m = &j->match;
  return m->out.keys && m->pages.mixed_log2 ? tsr_joining_step(j, TSR_MATCH_unmix, rows) : (tsr_status)TSR_OK;
}

static tsr_status write_rows(tsr_joining *j, const rows_to *to) {
  tsr_match *m = &j->match;
  m->out.keys = column_at(to, KEYS);
  m->out.left = column_at(to, LEFT_VALUES);
  m->out.right = column_at(to, RIGHT_VALUES);
  m->out.missing = to->numbers[RIGHT_VALUES] ? TSR_HELD_NONE : to->missing;
  const tsr_status status = tsr_joining_step(j, TSR_MATCH_rows, j->rows);
  return status ? status : unmix_keys(j, j->rows);
}

tsr_status tsr_join_refuse_overflow(uint64_t overflowed, tsr_error *error) {
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "tsr_join: the sums of %llu keys pass 2^64 - 1. Set saturates to stop them there, or overflowed to "
                  "get them modulo 2^64 and their number",
                  (unsigned long long)overflowed);
}

/* Where a sum notes that it passed 2^64 - 1, and where these are counted. */
static tsr_status take_overflows(tsr_joining *j) {
  tsr_match *m = &j->match;
  void *overflows, *overflowed;
  tsr_status status =
      tsr_joining_take(j, "which sums overflow", (m->lefts / 32 + 1) * sizeof *m->folds.overflows, 0, &overflows);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "how many sums overflow", sizeof *m->folds.overflowed, 0, &overflowed);
  if (status) return status;
  m->folds.overflows = overflows;
  m->folds.overflowed = overflowed;
  return TSR_OK;
}

/* How many sums overflowed, added to what the caller knows. A caller who has no place for the number gets an error. */
static tsr_status tell_overflows(tsr_joining *j, const tsr_join_rows *rows) {
  uint64_t overflowed = 0;
  if (!j->match.folds.overflowed) return TSR_OK;
  const tsr_status status = tsr_joining_read(j, j->match.folds.overflowed, &overflowed, sizeof overflowed);
  if (status == TSR_OK && rows->overflowed) *rows->overflowed += overflowed;
  return status || !overflowed || rows->overflowed || rows->saturates ? status
                                                                      : tsr_join_refuse_overflow(overflowed, j->error);
}

/* Combines the right values of each left key, and finds the keys that have any; *count: how many these are. */
static tsr_status aggregate(tsr_joining *j, uint32_t fold, const tsr_join_rows *rows, uint64_t *count) {
  tsr_match *m = &j->match;
  void *folds = NULL, *marks;
  const uint64_t threads = (j->rows + TSR_MATCH_FOLDED - 1) / TSR_MATCH_FOLDED;
  tsr_status status = TSR_OK;
  m->folds.how = fold;
  m->folds.saturates = rows->saturates != 0;
  m->folds.overflows = NULL; /* of another run */
  m->folds.overflowed = NULL;
  if (fold == TSR_FOLD_SUM) status = take_overflows(j);
  if (status == TSR_OK && fold != TSR_FOLD_COUNT)
    status = tsr_joining_take(j, "aggregates", m->lefts * sizeof *m->folds.of, fold == TSR_FOLD_MIN ? 0xFF : 0, &folds);
  m->folds.of = folds;
  if (status == TSR_OK && folds) status = tsr_joining_step(j, TSR_MATCH_fold, threads);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "which keys have a row", (m->lefts + 1) * sizeof *m->folds.marks, 0, &marks);
  if (status) return status;
  m->folds.marks = marks;
  status = tsr_joining_step(j, TSR_MATCH_mark, m->lefts);
  if (status == TSR_OK) status = tell_overflows(j, rows);
  return status ? status : tsr_joining_sum(j, m->folds.marks, m->lefts, count);
}

static tsr_status write_aggregates(tsr_joining *j, const rows_to *to, uint64_t keys) {
  tsr_match *m = &j->match;
  m->out.keys = column_at(to, KEYS);
  m->folds.sums_out = column_at(to, AGGREGATES);
  const tsr_status status = tsr_joining_step(j, TSR_MATCH_emit, m->lefts);
  return status ? status : unmix_keys(j, keys);
}

/* The tables of the values that columns have, or NULL. */
static void tables_of(const tsr_joining *j, tsr_table *tables[COLUMNS]) {
  memset(tables, 0, COLUMNS * sizeof *tables);
  if (!j->sides[0]) tables[LEFT_VALUES] = j->left;
  if (!j->sides[1]) tables[RIGHT_VALUES] = j->right;
}

static tsr_status stage(tsr_joining *j, rows_to *to, tsr_table *const *sides, const tsr_join_rows *rows,
                        uint64_t count) {
  const void *const callers[COLUMNS] = {rows->keys, rows->left_values, rows->right_values, rows->aggregates};
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < COLUMNS; i++) {
    const bool are_apart = callers[i] && sides[i] && sides[i]->values->are_apart;
    const uint64_t bytes = are_apart ? tsr_composition_value_bytes(sides[i]->store.composition) : to->bytes[i];
    const uint32_t word = i == KEYS ? to->bytes[KEYS] : 0; /* written in words of 8 bytes at most */
    to->column[i] = (tsr_array){.callers = callers[i], .bytes = count * bytes, .word = word, .use = TSR_ARRAY_WRITTEN};
    if (are_apart)
      status = tsr_joining_take(j, "what slots hold for values", count * to->bytes[i], -1, &to->numbers[i]);
  }
  return status ? status : tsr_stage_in(j->left, to->column, COLUMNS, j->stream, j->error);
}

static tsr_status write_values(const rows_to *to, tsr_table *const *sides, uint64_t count, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < COLUMNS; i++)
    if (to->numbers[i])
      status = sides[i]->values->read(sides[i], count, to->numbers[i], to->column[i].devices, to->missing, error);
  return status;
}

/* ---- One join -------------------------------------------------------------------------------- */

/* A union has two parts: the left keys, and the right ones that the left table has not. */
enum { PARTS_MAX = 2 };

/* What is joined: two tables, or two sides on the device of a table. */
typedef struct inputs {
  tsr_table *left, *right;
  const tsr_joining_side *sides[2];
  void *stream;
} inputs;

static uint32_t plan(const inputs *in, uint32_t kind, const tsr_join_rows *rows, tsr_joining *parts, tsr_error *error) {
  const kind_facts *facts = &kinds[kind];
  const bool writes = rows && rows->room;
  parts[0] = (tsr_joining){.left = in->left,
                           .right = kind == TSR_JOIN_UNION ? NULL : in->right,
                           .sides = {in->sides[0], in->sides[1]},
                           .stream = in->stream,
                           .rows_as = facts->is_aggregate && !writes ? (uint32_t)TSR_ROWS_PRESENT : facts->rows_as,
                           .keys_once = facts->keys_once,
                           .wants_rows = writes,
                           .wants_left_values = writes && rows->left_values,
                           .wants_right_values =
                               writes && (rows->right_values || (rows->aggregates && facts->fold != TSR_FOLD_COUNT)),
                           .error = error};
  if (kind != TSR_JOIN_UNION) return 1;
  parts[1] = parts[0];
  parts[1].left = in->right;
  parts[1].right = in->left;
  parts[1].sides[0] = in->sides[1];
  parts[1].sides[1] = in->sides[0];
  parts[1].rows_as = TSR_ROWS_ABSENT;
  return 2;
}

static tsr_status write_all(tsr_joining *parts, uint32_t count, const kind_facts *facts, const tsr_join_rows *rows,
                            uint64_t all, tsr_error *error) {
  const tsr_match *m = &parts[0].match;
  tsr_table *sides[COLUMNS];
  tables_of(&parts[0], sides);
  rows_to to = {.bytes = {m->bytes.key, m->bytes.left, m->bytes.right, sizeof(uint64_t)}, .missing = rows->missing};
  tsr_status status = stage(&parts[0], &to, sides, rows, all);
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) {
    status = facts->is_aggregate ? write_aggregates(&parts[i], &to, all) : write_rows(&parts[i], &to);
    to.first += parts[i].rows;
  }
  if (status == TSR_OK) status = write_values(&to, sides, all, error);
  const tsr_table *t = parts[0].left;
  status = tsr_stage_out(t, to.column, COLUMNS, parts[0].stream, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, parts[0].stream, status ? NULL : error);
  return status ? status : waited;
}

static tsr_status refuse_room(uint64_t rows, uint64_t room, tsr_error *error) {
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: the join has %llu rows, the arrays have room for %llu",
                  (unsigned long long)rows, (unsigned long long)room);
}

static tsr_status join(tsr_joining *parts, uint32_t part_count, uint32_t kind, const tsr_join_rows *rows,
                       uint64_t *count, tsr_error *error) {
  const kind_facts *facts = &kinds[kind];
  uint64_t all = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < part_count; i++) {
    status = tsr_joining_match(&parts[i]);
    all += parts[i].rows;
  }
  if (status == TSR_OK && facts->is_aggregate && parts[0].wants_rows)
    status = aggregate(&parts[0], facts->fold, rows, &all);
  if (status) return status;
  *count = all;
  if (!parts[0].wants_rows || !all) return TSR_OK;
  if (all > rows->room) return refuse_room(all, rows->room, error);
  return write_all(parts, part_count, facts, rows, all, error);
}

/* ---- At once ----------------------------------------------------------------------------------- */

/* Whether rows can be written as they are found: each pair's by itself, straight into the caller's arrays. */
static bool may_write_at_once(const tsr_joining *j, const kind_facts *facts, const tsr_join_rows *rows) {
  if (!j->wants_rows || !j->right || facts->is_aggregate || facts->keys_once) return false;
  tsr_table *sides[COLUMNS];
  tables_of(j, sides);
  const void *const callers[COLUMNS] = {rows->keys, rows->left_values, rows->right_values};
  for (uint32_t i = 0; i < COLUMNS; i++) {
    const tsr_joining_side *arrays = i == LEFT_VALUES ? j->sides[0] : i == RIGHT_VALUES ? j->sides[1] : NULL;
    const uint32_t word = i == KEYS  ? shape_of(j->left)->key_bits / 8
                          : arrays   ? arrays->value_bytes
                          : sides[i] ? shape_of(sides[i])->value_bits / 8
                                     : 1;
    const tsr_array array = {.callers = callers[i], .bytes = word, .word = word};
    if (!tsr_array_is_reached(j->left, &array) || (callers[i] && sides[i] && sides[i]->values->are_apart)) return false;
  }
  return true;
}

static tsr_status join_at_once(tsr_joining *j, const tsr_join_rows *rows, uint64_t *count, bool *joined) {
  j->out = (tsr_match_out){.keys = rows->keys,
                           .left = rows->left_values,
                           .right = rows->right_values,
                           .room = rows->room,
                           .missing = rows->missing};
  tsr_status status = tsr_joining_meet(j, joined);
  if (status || !*joined) return status;
  *count = j->rows;
  return j->rows > rows->room ? refuse_room(j->rows, rows->room, j->error) : TSR_OK;
}

/* ---- Run by run ------------------------------------------------------------------------------ */

static void advance(tsr_join_rows *rows, const tsr_joining *j, uint64_t count) {
  const tsr_composition *left = j->left->store.composition, *right = j->right->store.composition;
  if (rows->keys) rows->keys = (char *)rows->keys + count * (left->shape.key_bits / 8);
  if (rows->left_values) rows->left_values = (char *)rows->left_values + count * tsr_composition_value_bytes(left);
  if (rows->right_values) rows->right_values = (char *)rows->right_values + count * tsr_composition_value_bytes(right);
  if (rows->aggregates) rows->aggregates += count;
}

/* A join of tables in host memory, run by run of pages; the rows of each run follow those before. The last run goes
 * first: the pairs of no page are behind it, and because of them all may have to go another way. Then *joined is
 * false. */
static tsr_status join_runs(tsr_joining *j, uint32_t kind, const tsr_join_rows *rows, uint64_t pages, uint64_t *count,
                            bool *joined) {
  const kind_facts *facts = &kinds[kind];
  tsr_join_rows rest = rows ? *rows : (tsr_join_rows){.room = 0};
  uint64_t all = 0;
  tsr_status status = TSR_OK;
  *joined = true;
  for (tsr_page_run run = {.end = j->left->store.composition->shape.pages}; run.end; run.end = run.first) {
    run.first = run.end > pages ? run.end - pages : 0;
    status = tsr_joining_match_run(j, run, joined);
    if (status || !*joined) return status;
    uint64_t found = j->rows;
    if (facts->is_aggregate && j->wants_rows) status = aggregate(j, facts->fold, &rest, &found);
    all += found;
    if (status == TSR_OK && j->wants_rows && found && all <= rest.room)
      status = write_all(j, 1, facts, &rest, found, j->error);
    if (status) return status;
    advance(&rest, j, found);
  }
  *count = all;
  return j->wants_rows && all > rest.room ? refuse_room(all, rest.room, j->error) : TSR_OK;
}

static tsr_status join_inputs(const inputs *in, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                              tsr_error *error) {
  tsr_joining parts[PARTS_MAX];
  const uint32_t part_count = plan(in, kind, rows, parts, error);
  uint64_t run_pages;
  bool joined = false;
  tsr_status status = tsr_joining_run_pages(&parts[0], &run_pages);
  if (status == TSR_OK && run_pages) status = join_runs(&parts[0], kind, rows, run_pages, count, &joined);
  if (status == TSR_OK && !joined && may_write_at_once(&parts[0], &kinds[kind], rows))
    status = join_at_once(&parts[0], rows, count, &joined);
  if (status == TSR_OK && !joined) status = join(parts, part_count, kind, rows, count, error);
  for (uint32_t i = 0; i < part_count; i++) tsr_joining_free(&parts[i]);
  if (status == TSR_OK && part_count == PARTS_MAX) in->right->joined = in->left->joined;
  return status;
}

tsr_status tsr_single_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) {
  const inputs in = {.left = left, .right = right};
  return join_inputs(&in, kind, rows, count, error);
}

/* ---- The call -------------------------------------------------------------------------------- */

static tsr_status check_tables(const tsr_table *left, const tsr_table *right, tsr_error *error) {
  tsr_status status = tsr_table_admits(left, TSR_HAS_CALL_KEYS, "tsr_join", error);
  if (status == TSR_OK) status = tsr_table_admits(right, TSR_HAS_CALL_KEYS, "tsr_join", error);
  if (status == TSR_OK) status = tsr_table_admits(left, TSR_HAS_CALL_JOIN, "tsr_join", error);
  if (status == TSR_OK) status = tsr_table_admits(right, TSR_HAS_CALL_JOIN, "tsr_join", error);
  if (status) return status;
  const tsr_shape *l = &left->store.composition->shape, *r = &right->store.composition->shape;
  if (l->key_bits != r->key_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: the left table has key_bits = %u, the right one %u: they must be the same", l->key_bits,
                    r->key_bits);
  if (left->methods != right->methods)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: one table is on a list of devices, the other on one: make both with the same "
                    "[table] devices, or both without");
  if (left->backend != right->backend ||
      left->store.composition->settings.target.device != right->store.composition->settings.target.device)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: the left table is on %s (%s), the right one on %s (%s): both must be on one device",
                    left->backend->name, left->device->info.name, right->backend->name, right->device->info.name);
  return TSR_OK;
}

/* has_values: whether the sides have any. */
static tsr_status check_rows(const char *call, const bool has_values[2], const kind_facts *facts,
                             const tsr_join_rows *rows, tsr_error *error) {
  const bool combines = facts->is_aggregate && facts->fold != TSR_FOLD_COUNT;
  if (combines && !has_values[1])
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s is of right values, and the right side has none", call,
                    facts->name);
  if (!rows) return TSR_OK;
  if (rows->left_values && (!has_values[0] || !facts->has_left))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the %s no%s values: left_values must be NULL", call,
                    facts->has_left ? "left table has" : "rows of sets and aggregates have",
                    facts->has_left ? "" : " left");
  if (rows->right_values && (!has_values[1] || !facts->has_right))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the %s no%s values: right_values must be NULL", call,
                    facts->has_right ? "right table has" : "rows of any kind but INNER and LEFT have",
                    facts->has_right ? "" : " right");
  if (rows->aggregates && !facts->is_aggregate)
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "%s: the rows of %s have no aggregates, which SUM, MIN, MAX and COUNT have: aggregates must be NULL", call,
        facts->name);
  if ((rows->overflowed || rows->saturates) && (!facts->is_aggregate || facts->fold != TSR_FOLD_SUM))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s makes no sums: overflowed must be NULL and saturates 0", call,
                    facts->name);
  return TSR_OK;
}

static tsr_status check_kind(const char *call, uint32_t kind, tsr_error *error) {
  if (kind < TSR_JOIN_KINDS) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: kind = %u: must be one of TSR_JOIN_INNER .. TSR_JOIN_COUNT", call,
                  kind);
}

static tsr_status check_values(const tsr_table *left, const tsr_table *right, const kind_facts *facts,
                               const tsr_join_rows *rows, tsr_error *error) {
  const bool has_values[2] = {shape_of(left)->value_bits != 0, shape_of(right)->value_bits != 0};
  const tsr_status status = check_rows("tsr_join", has_values, facts, rows, error);
  return status || !facts->is_aggregate || facts->fold == TSR_FOLD_COUNT
             ? status
             : tsr_table_admits(right, TSR_HAS_CALL_AGGREGATE, "tsr_join", error);
}

tsr_status tsr_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                    tsr_error *error) {
  TSR_WRITES_BOTH(left, right);
  tsr_join_rows known;
  if (!left || !right || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join needs two tables and a place for the number of rows");
  tsr_status status = tsr_take_over("tsr_join", &known, rows, sizeof known, error);
  if (status == TSR_OK) status = check_kind("tsr_join", kind, error);
  if (status == TSR_OK) status = check_tables(left, right, error);
  if (status == TSR_OK) status = check_values(left, right, &kinds[kind], rows ? &known : NULL, error);
  if (status == TSR_OK && known.overflowed) *known.overflowed = 0;
  return status ? status : left->methods->join(left, right, kind, rows ? &known : NULL, count, error);
}

const char *tsr_join_way(const tsr_table *right) { return right ? right->joined : NULL; }

/* ---- Arrays ---------------------------------------------------------------------------------- */

enum { LEFT, RIGHT, SIDES, SIDE_ARRAYS = 2 * SIDES };

static tsr_status check_side(const char *name, const tsr_join_side *side, tsr_error *error) {
  if (side->n && !side->keys)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join_arrays: %s.keys is NULL, but %s.n = %llu", name, name,
                    (unsigned long long)side->n);
  if (side->n >= TSR_MATCH_NONE)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_join_arrays: %s.n = %llu: at most 2^32 - 2 pairs of a side: join parts of it", name,
                    (unsigned long long)side->n);
  if (side->value_bits == 32 || side->value_bits == 64 || (!side->values && !side->value_bits)) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join_arrays: %s.value_bits = %u: must be 32 or 64", name,
                  side->value_bits);
}

static tsr_status check_arrays(const tsr_table *t, const tsr_join_sides *sides, uint32_t kind,
                               const tsr_join_rows *rows, tsr_error *error) {
  tsr_status status = check_kind("tsr_join_arrays", kind, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_JOIN, "tsr_join_arrays", error);
  if (status == TSR_OK && t->shards)
    status =
        tsr_fail(error, TSR_UNSUPPORTED, "tsr_join_arrays: the table is on several devices: name one of one device");
  if (status == TSR_OK) status = check_side("left", &sides->left, error);
  if (status == TSR_OK) status = check_side("right", &sides->right, error);
  const kind_facts *facts = status ? NULL : &kinds[kind];
  const bool combines = facts && facts->is_aggregate && facts->fold != TSR_FOLD_COUNT;
  const bool has_values[SIDES] = {true, !combines || sides->right.values};
  return status ? status : check_rows("tsr_join_arrays", has_values, facts, rows, error);
}

/* The numbers of a side's pairs, for values: memory that the caller frees. */
static tsr_status number_pairs(const tsr_table *t, tsr_joining_side *side, void *stream, void **memory,
                               tsr_error *error) {
  tsr_match match = {.n = side->n, .bytes.right = side->value_bytes};
  tsr_status status =
      t->backend->allocate_in(t->device, side->n * side->value_bytes, stream, &match.index.grouped, error);
  *memory = match.index.grouped;
  side->values = *memory;
  if (status) return status;
  return t->backend->step(t->device, NULL, &tsr_match_steps.step[TSR_MATCH_enumerate], &match, side->n, stream, error);
}

static tsr_status join_on_device(tsr_table *t, tsr_joining_side sides[SIDES], const bool wants_values[SIDES],
                                 const inputs *in, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                                 tsr_error *error) {
  void *numbers[SIDES] = {NULL};
  tsr_status status = TSR_OK;
  for (uint32_t side = 0; status == TSR_OK && side < SIDES; side++)
    if (wants_values[side] && sides[side].n && !sides[side].values)
      status = number_pairs(t, &sides[side], in->stream, &numbers[side], error);
  if (status == TSR_OK) status = join_inputs(in, kind, rows, count, error);
  for (uint32_t side = 0; side < SIDES; side++) {
    const tsr_status freed =
        numbers[side] ? t->backend->free_in(t->device, numbers[side], in->stream, status ? NULL : error) : TSR_OK;
    if (status == TSR_OK) status = freed;
  }
  return status;
}

static tsr_status join_sides(tsr_table *t, const tsr_join_sides *known, uint32_t kind, const tsr_join_rows *rows,
                             uint64_t *count, tsr_error *error) {
  const kind_facts *facts = &kinds[kind];
  const tsr_join_side *const callers[SIDES] = {&known->left, &known->right};
  const bool writes = rows && rows->room;
  const bool wants_values[SIDES] = {writes && rows->left_values,
                                    writes &&
                                        (rows->right_values || (rows->aggregates && facts->fold != TSR_FOLD_COUNT))};
  const uint32_t key_bytes = shape_of(t)->key_bits / 8;
  tsr_array arrays[SIDE_ARRAYS];
  tsr_joining_side sides[SIDES];
  for (uint32_t side = 0; side < SIDES; side++) {
    const tsr_join_side *c = callers[side];
    const uint32_t value_bytes = c->value_bits == 64 ? 8 : 4;
    arrays[2 * side] = (tsr_array){.callers = c->keys, .bytes = c->n * key_bytes, .word = key_bytes};
    arrays[2 * side + 1] =
        (tsr_array){.callers = wants_values[side] ? c->values : NULL, .bytes = c->n * value_bytes, .word = value_bytes};
    sides[side] = (tsr_joining_side){.n = c->n, .value_bytes = value_bytes};
  }
  tsr_status status = tsr_stage_in(t, arrays, SIDE_ARRAYS, known->stream, error);
  for (uint32_t side = 0; side < SIDES; side++) {
    sides[side].keys = arrays[2 * side].devices;
    sides[side].values = arrays[2 * side + 1].devices;
  }
  const inputs in = {.left = t, .right = t, .sides = {&sides[LEFT], &sides[RIGHT]}, .stream = known->stream};
  if (status == TSR_OK) status = join_on_device(t, sides, wants_values, &in, kind, rows, count, error);
  return tsr_stage_out(t, arrays, SIDE_ARRAYS, known->stream, status, error);
}

tsr_status tsr_join_arrays(tsr_table *t, const tsr_join_sides *sides, uint32_t kind, const tsr_join_rows *rows,
                           uint64_t *count, tsr_error *error) {
  TSR_WRITES(t);
  tsr_join_sides known;
  tsr_join_rows to;
  if (!t || !sides || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join_arrays needs a table, two sides and a place for the number of rows");
  tsr_status status = tsr_take_over("tsr_join_arrays", &known, sides, sizeof known, error);
  if (status == TSR_OK) status = tsr_take_over("tsr_join_arrays", &to, rows, sizeof to, error);
  if (status == TSR_OK) status = check_arrays(t, &known, kind, rows ? &to : NULL, error);
  if (status == TSR_OK && to.overflowed) *to.overflowed = 0;
  return status ? status : join_sides(t, &known, kind, rows ? &to : NULL, count, error);
}
