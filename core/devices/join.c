/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins of tables of several devices (join.h). The right table has the same parts as the left one, or is dealt to such
 * parts. Each shard is joined with its counterpart. In a group of processes the rows are then passed on, so that every
 * process has all of them.
 */
#include "core/devices/join.h"

#include <string.h>

#include "core/devices/move.h"
#include "core/devices/whole.h"
#include "core/table/single.h"
#include "core/table/table_struct.h"

static tsr_status check_splits(const tsr_shards *left, const tsr_shards *right, tsr_error *error) {
  if (left->transport.group != right->transport.group)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_join: the two tables are of different processes: make both in one group, or both without");
  if (left->split == right->split && left->split != TSR_SPLIT_INDEPENDENT &&
      left->transport.members == right->transport.members)
    return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "tsr_join: the tables have the pairs of a key on different devices. Make both with the same devices "
                  "and split = hash or replicated, or join tables of one device");
}

static bool have_like_parts(const tsr_shards *left, const tsr_shards *right) {
  return left->split != TSR_SPLIT_HASH ||
         (left->seed == right->seed && memcmp(left->first_bin, right->first_bin, sizeof left->first_bin) == 0);
}

static void *row_at(void *rows, uint64_t i, uint32_t bytes) { return rows ? (char *)rows + i * bytes : NULL; }

/* The pairs of a key are on one device in both tables, so each shard is joined with its counterpart. */
static tsr_status join_shards(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                              uint64_t *count, tsr_error *error) {
  const tsr_composition *l = left->store.composition, *r = right->store.composition;
  tsr_status status = TSR_OK;
  uint64_t overflowed = 0;
  *count = 0;
  for (uint32_t i = 0; status == TSR_OK && i < tsr_shards_holders(left->shards); i++) {
    uint64_t one = 0;
    tsr_join_rows part = {.room = 0};
    if (rows)
      part = (tsr_join_rows){.room = rows->room - *count,
                             .keys = row_at(rows->keys, *count, l->shape.key_bits / 8),
                             .left_values = row_at(rows->left_values, *count, tsr_composition_value_bytes(l)),
                             .right_values = row_at(rows->right_values, *count, tsr_composition_value_bytes(r)),
                             .missing = rows->missing,
                             .aggregates = row_at(rows->aggregates, *count, sizeof(uint64_t)),
                             .overflowed = rows->overflowed ? &overflowed : NULL,
                             .saturates = rows->saturates};
    status = tsr_join(left->shards->members[i].shard, right->shards->members[i].shard, kind, rows ? &part : NULL, &one,
                      error);
    *count += one;
    if (rows && rows->overflowed) *rows->overflowed += overflowed;
    right->joined = right->shards->members[i].shard->joined;
  }
  return status;
}

/* Writes the rows of a join whose matches were counted, and reports the finds once. before: the right table's report
 * before them. */
static tsr_status write_rows(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                             const tsr_report *before, tsr_error *error) {
  tsr_report counted;
  uint64_t count;
  tsr_status status = tsr_shards_report(right, &counted, error);
  if (status) return status;
  right->shards->carried.find_keys -= counted.find_keys - before->find_keys;
  right->shards->carried.found -= counted.found - before->found;
  return join_shards(left, right, kind, rows, &count, error);
}

static tsr_status check_room(uint64_t all, const tsr_join_rows *rows, tsr_error *error) {
  if (!rows || !rows->room || all <= rows->room) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_join: the join has %llu rows, the arrays have room for %llu",
                  (unsigned long long)all, (unsigned long long)rows->room);
}

/* ---- In a group of processes ----------------------------------------------------------------- */

enum { KEYS, LEFT_VALUES, RIGHT_VALUES, AGGREGATES, COLUMNS };

/* What the processes of a group exchange for a join: how many rows the shard has, which columns are wanted, what stands
 * for a missing value, and whether sums saturate. */
typedef struct share {
  uint64_t rows[TSR_DEVICES_MAX], all, wanted, missing, saturates;
} share;

static void *column_in(const tsr_join_rows *rows, uint32_t column) {
  void *const columns[COLUMNS] = {rows->keys, rows->left_values, rows->right_values, rows->aggregates};
  return columns[column];
}

static tsr_status share_counts(tsr_transport *x, uint64_t mine, const tsr_join_rows *rows, share *s, tsr_error *error) {
  enum { WORDS = 4, WANTS_ROWS = 1 << COLUMNS };
  uint64_t words[TSR_DEVICES_MAX * WORDS] = {0}, *own = words + (size_t)x->first * WORDS;
  own[0] = mine;
  if (rows && rows->room) {
    own[1] = WANTS_ROWS;
    for (uint32_t c = 0; c < COLUMNS; c++) own[1] |= (uint64_t)(column_in(rows, c) != NULL) << c;
    own[2] = rows->missing;
    own[3] = rows->saturates;
  }
  const tsr_status status = x->gather(x, words, WORDS, TSR_OK, error);
  *s = (share){.all = 0};
  for (uint32_t i = 0; i < x->members; i++) {
    const uint64_t *row = words + (size_t)i * WORDS;
    s->rows[i] = row[0];
    s->all += row[0];
    if (!s->wanted) s->missing = row[2];
    s->saturates |= row[3];
    s->wanted |= row[1];
  }
  return status;
}

/* How many sums passed 2^64 - 1 in all processes. A caller that does not ask for the number gets an error instead. */
static tsr_status share_overflows(tsr_transport *x, uint64_t mine, const tsr_join_rows *rows, const share *s,
                                  tsr_error *error) {
  uint64_t words[TSR_DEVICES_MAX] = {0}, all = 0;
  words[x->first] = mine;
  const tsr_status status = x->gather(x, words, 1, TSR_OK, error);
  for (uint32_t i = 0; i < x->members; i++) all += words[i];
  if (status || !rows || !rows->room) return status;
  if (rows->overflowed) *rows->overflowed = all;
  return !all || rows->overflowed || s->saturates ? TSR_OK : tsr_join_refuse_overflow(all, error);
}

/* Joins this process's shards into memory of their device, and passes the rows of all processes to all. */
static tsr_status pass_rows(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, const share *s,
                            const tsr_report *before, tsr_error *error) {
  const tsr_composition *l = left->store.composition, *r = right->store.composition;
  const uint32_t bytes[COLUMNS] = {l->shape.key_bits / 8, tsr_composition_value_bytes(l),
                                   tsr_composition_value_bytes(r), sizeof(uint64_t)};
  tsr_transport *x = &left->shards->transport;
  const uint64_t mine = s->rows[x->first];
  uint64_t overflowed = 0;
  void *columns[COLUMNS] = {NULL};
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < COLUMNS; c++)
    if (s->wanted >> c & 1) status = left->backend->allocate(left->device, mine * bytes[c] + 1, &columns[c], error);
  const tsr_join_rows part = {.room = mine,
                              .keys = columns[KEYS],
                              .left_values = columns[LEFT_VALUES],
                              .right_values = columns[RIGHT_VALUES],
                              .missing = s->missing,
                              .aggregates = columns[AGGREGATES],
                              .overflowed = kind == TSR_JOIN_SUM ? &overflowed : NULL,
                              .saturates = s->saturates};
  if (status == TSR_OK && mine) status = write_rows(left, right, kind, &part, before, error);
  status = x->agree(x, status, error);
  for (uint32_t c = 0; status == TSR_OK && c < COLUMNS; c++)
    if (s->wanted >> c & 1)
      status = tsr_shards_pass_column(left, s->rows, columns[c], rows && rows->room ? column_in(rows, c) : NULL,
                                      bytes[c], error);
  for (uint32_t c = 0; c < COLUMNS; c++)
    if (columns[c]) left->backend->free(left->device, columns[c]);
  return status || kind != TSR_JOIN_SUM ? status : share_overflows(x, overflowed, rows, s, error);
}

static tsr_status join_in_group(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                                uint64_t mine, const tsr_report *before, uint64_t *count, tsr_error *error) {
  tsr_transport *x = &left->shards->transport;
  share s;
  tsr_status status = share_counts(x, mine, rows, &s, error);
  if (status) return status;
  *count = s.all;
  status = x->agree(x, check_room(s.all, rows, error), error);
  if (status || !s.all || !s.wanted) return status;
  return pass_rows(left, right, kind, rows, &s, before, error);
}

/* ---- The call -------------------------------------------------------------------------------- */

/* Rows are counted first, because the caller allocates the room for them. */
static tsr_status join_alike(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                             uint64_t *count, tsr_error *error) {
  tsr_transport *x = &left->shards->transport;
  tsr_report before;
  uint64_t all = 0;
  tsr_status status = tsr_shards_report(right, &before, error);
  if (status == TSR_OK) status = join_shards(left, right, kind, NULL, &all, error);
  status = x->agree(x, status, error);
  if (status) return status;
  if (x->group) return join_in_group(left, right, kind, rows, all, &before, count, error);
  *count = all;
  if (!rows || !rows->room || !all) return TSR_OK;
  status = check_room(all, rows, error);
  return status ? status : write_rows(left, right, kind, rows, &before, error);
}

tsr_status tsr_shards_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) {
  tsr_table *made = NULL;
  tsr_report finds;
  tsr_status status = check_splits(left->shards, right->shards, error);
  if (status) return status;
  if (have_like_parts(left->shards, right->shards)) return join_alike(left, right, kind, rows, count, error);
  status = tsr_shards_redeal(right, left->shards, &made, error);
  if (status == TSR_OK) status = tsr_shards_report_reset(made, error);
  if (status == TSR_OK) status = join_alike(left, made, kind, rows, count, error);
  if (status == TSR_OK) status = tsr_shards_report(made, &finds, error);
  if (status == TSR_OK) {
    right->shards->carried.find_keys += finds.find_keys;
    right->shards->carried.found += finds.found;
    right->joined = made->joined;
  }
  tsr_table_destroy(made);
  return status;
}
