/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables against tables: first the matches of the left pairs (match.h), then rows or aggregates of these. Each row
 * is written by a thread of its own. For aggregates a thread combines a fixed number of right values. So a row costs
 * the same however often its key occurs. Why: ../design/0020-joins.md.
 */
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

static tsr_status write_rows(tsr_joining *j, const rows_to *to) {
  tsr_match *m = &j->match;
  m->out.keys = column_at(to, KEYS);
  m->out.left = column_at(to, LEFT_VALUES);
  m->out.right = column_at(to, RIGHT_VALUES);
  m->out.missing = to->numbers[RIGHT_VALUES] ? TSR_HELD_NONE : to->missing;
  return tsr_joining_step(j, TSR_MATCH_rows, j->rows);
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
  const tsr_table *t = j->left;
  uint64_t overflowed = 0;
  if (!j->match.folds.overflowed) return TSR_OK;
  tsr_status status =
      t->backend->copy(t->device, &overflowed, j->match.folds.overflowed, sizeof overflowed, NULL, j->error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, j->error);
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

static tsr_status write_aggregates(tsr_joining *j, const rows_to *to) {
  tsr_match *m = &j->match;
  m->out.keys = column_at(to, KEYS);
  m->folds.sums_out = column_at(to, AGGREGATES);
  return tsr_joining_step(j, TSR_MATCH_emit, m->lefts);
}

/* sides: the tables of the values, or NULL. */
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
  return status ? status : tsr_stage_in(j->left, to->column, COLUMNS, NULL, j->error);
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

static uint32_t plan(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, tsr_joining *parts,
                     tsr_error *error) {
  const kind_facts *facts = &kinds[kind];
  const bool writes = rows && rows->room;
  parts[0] = (tsr_joining){.left = left,
                           .right = kind == TSR_JOIN_UNION ? NULL : right,
                           .rows_as = facts->is_aggregate && !writes ? (uint32_t)TSR_ROWS_PRESENT : facts->rows_as,
                           .keys_once = facts->keys_once,
                           .wants_rows = writes,
                           .wants_left_values = writes && rows->left_values,
                           .wants_right_values =
                               writes && (rows->right_values || (rows->aggregates && facts->fold != TSR_FOLD_COUNT)),
                           .error = error};
  if (kind != TSR_JOIN_UNION) return 1;
  parts[1] = parts[0];
  parts[1].left = right;
  parts[1].right = left;
  parts[1].rows_as = TSR_ROWS_ABSENT;
  return 2;
}

static tsr_status write_all(tsr_joining *parts, uint32_t count, const kind_facts *facts, const tsr_join_rows *rows,
                            uint64_t all, tsr_error *error) {
  tsr_table *const sides[COLUMNS] = {[LEFT_VALUES] = parts[0].left, [RIGHT_VALUES] = parts[0].right};
  const tsr_match *m = &parts[0].match;
  rows_to to = {.bytes = {m->bytes.key, m->bytes.left, m->bytes.right, sizeof(uint64_t)}, .missing = rows->missing};
  tsr_status status = stage(&parts[0], &to, sides, rows, all);
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) {
    status = facts->is_aggregate ? write_aggregates(&parts[i], &to) : write_rows(&parts[i], &to);
    to.first += parts[i].rows;
  }
  if (status == TSR_OK) status = write_values(&to, sides, all, error);
  const tsr_table *t = parts[0].left;
  status = tsr_stage_out(t, to.column, COLUMNS, NULL, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, NULL, status ? NULL : error);
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
  tsr_table *const sides[COLUMNS] = {[LEFT_VALUES] = j->left, [RIGHT_VALUES] = j->right};
  const void *const callers[COLUMNS] = {rows->keys, rows->left_values, rows->right_values};
  for (uint32_t i = 0; i < COLUMNS; i++) {
    const uint32_t word = (i == KEYS ? shape_of(j->left)->key_bits : sides[i] ? shape_of(sides[i])->value_bits : 8) / 8;
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

tsr_status tsr_single_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) {
  tsr_joining parts[PARTS_MAX];
  const uint32_t part_count = plan(left, right, kind, rows, parts, error);
  uint64_t run_pages;
  bool joined = false;
  tsr_status status = tsr_joining_run_pages(&parts[0], &run_pages);
  if (status == TSR_OK && run_pages) status = join_runs(&parts[0], kind, rows, run_pages, count, &joined);
  if (status == TSR_OK && !joined && may_write_at_once(&parts[0], &kinds[kind], rows))
    status = join_at_once(&parts[0], rows, count, &joined);
  if (status == TSR_OK && !joined) status = join(parts, part_count, kind, rows, count, error);
  for (uint32_t i = 0; i < part_count; i++) tsr_joining_free(&parts[i]);
  if (status == TSR_OK && part_count == PARTS_MAX) right->joined = left->joined;
  return status;
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

static tsr_status check_rows(const tsr_table *left, const tsr_table *right, const kind_facts *facts,
                             const tsr_join_rows *rows, tsr_error *error) {
  const tsr_shape *l = &left->store.composition->shape, *r = &right->store.composition->shape;
  const bool combines = facts->is_aggregate && facts->fold != TSR_FOLD_COUNT;
  if (combines && !r->value_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: %s is of right values, and the right table has none",
                    facts->name);
  tsr_status status = combines ? tsr_table_admits(right, TSR_HAS_CALL_AGGREGATE, "tsr_join", error) : TSR_OK;
  if (status) return status;
  if (!rows) return TSR_OK;
  if (rows->left_values && (!l->value_bits || !facts->has_left))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: the %s no%s values: left_values must be NULL",
                    facts->has_left ? "left table has" : "rows of sets and aggregates have",
                    facts->has_left ? "" : " left");
  if (rows->right_values && (!r->value_bits || !facts->has_right))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: the %s no%s values: right_values must be NULL",
                    facts->has_right ? "right table has" : "rows of any kind but INNER and LEFT have",
                    facts->has_right ? "" : " right");
  if (rows->aggregates && !facts->is_aggregate)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_join: the rows of %s have no aggregates, which SUM, MIN, MAX and COUNT have: aggregates must "
                    "be NULL",
                    facts->name);
  if ((rows->overflowed || rows->saturates) && (!facts->is_aggregate || facts->fold != TSR_FOLD_SUM))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: %s makes no sums: overflowed must be NULL and saturates 0",
                    facts->name);
  return TSR_OK;
}

tsr_status tsr_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                    tsr_error *error) {
  TSR_WRITES_BOTH(left, right);
  tsr_join_rows known;
  if (!left || !right || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join needs two tables and a place for the number of rows");
  tsr_status status = tsr_take_over("tsr_join", &known, rows, sizeof known, error);
  if (status == TSR_OK && kind >= TSR_JOIN_KINDS)
    status =
        tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: kind = %u: must be one of TSR_JOIN_INNER .. TSR_JOIN_COUNT", kind);
  if (status == TSR_OK) status = check_tables(left, right, error);
  if (status == TSR_OK) status = check_rows(left, right, &kinds[kind], rows ? &known : NULL, error);
  if (status == TSR_OK && known.overflowed) *known.overflowed = 0;
  return status ? status : left->methods->join(left, right, kind, rows ? &known : NULL, count, error);
}

const char *tsr_join_way(const tsr_table *right) { return right ? right->joined : NULL; }
