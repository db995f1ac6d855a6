/* SPDX-License-Identifier: Apache-2.0
 *
 * Independent and replicated shards (modes.h).
 *
 * Independent shards are WarpCore's other mode (IV-E). Inserts are dealt in equal parts and need no exchange. Queries
 * go to all shards, one after the other, and the host merges the answers.
 *
 * Replicas are copies of the first shard's memory, made before the first query after a change. So they are equal to
 * the bit, whatever races decided which of several pairs of one key was kept or handed back. Queries are dealt among
 * them.
 */
#include "core/devices/modes.h"

#include <stdlib.h>
#include <string.h>

#include "core/devices/batch.h"
#include "core/table/single.h"
#include "core/table/values.h"

/* ---- Independent ----------------------------------------------------------------------------- */

/* A request with its arrays in host memory, and what one shard answers. */
typedef struct merge {
  tsr_table *t;
  const tsr_request *r;
  tsr_error *error;
  uint64_t key_bytes, value_bytes;
  char *keys, *values;     /* of the caller */
  char *found, *one_found; /* merged, and of one shard */
  uint8_t *codes, *one_codes;
  uint64_t *counts, *one_counts, *next; /* find_all: n + 1: where each item's values begin; where the next ones go */
} merge;

static void free_merge(merge *m) {
  void *const memory[] = {m->keys,      m->values, m->found,      m->one_found, m->codes,
                          m->one_codes, m->counts, m->one_counts, m->next};
  for (uint32_t i = 0; i < sizeof memory / sizeof memory[0]; i++) free(memory[i]);
}

static tsr_status fetch(const merge *m, void *to, const void *from, uint64_t bytes) {
  tsr_status status = m->t->backend->copy(m->t->device, to, from, bytes, NULL, m->error);
  return status ? status : m->t->backend->synchronize(m->t->device, NULL, m->error);
}

static tsr_status begin(merge *m) {
  const uint64_t n = m->r->n;
  m->keys = malloc(n * m->key_bytes + 1);
  m->values = malloc(n * m->value_bytes + 1);
  m->found = malloc(n * m->value_bytes + 1);
  m->one_found = malloc(n * m->value_bytes + 1);
  m->codes = calloc(n + 1, 1);
  m->one_codes = calloc(n + 1, 1);
  m->counts = calloc(n + 1, sizeof *m->counts);
  m->one_counts = calloc(n + 1, sizeof *m->one_counts);
  m->next = calloc(n + 1, sizeof *m->next);
  if (!m->keys || !m->values || !m->found || !m->one_found || !m->codes || !m->one_codes || !m->counts ||
      !m->one_counts || !m->next)
    return tsr_fail(m->error, TSR_NO_MEMORY, "no memory to merge the answers of %llu items", (unsigned long long)n);
  tsr_status status = m->t->backend->synchronize(m->t->device, m->r->call.stream, m->error);
  if (status == TSR_OK) status = fetch(m, m->keys, m->r->keys, n * m->key_bytes);
  if (status == TSR_OK && m->r->values) status = fetch(m, m->values, m->r->values, n * m->value_bytes);
  return status;
}

/* Asks one shard. `quietly`: its report does not count that. */
static tsr_status ask(const merge *m, tsr_table *shard, uint32_t op, uint64_t n, bool quietly) {
  const bool counts = op == TSR_BULK_count, finds = op == TSR_BULK_find;
  const tsr_request mine = {.op = op,
                            .phase = m->r->phase,
                            .n = n,
                            .keys = m->keys,
                            .values = m->r->values ? m->values : NULL,
                            .values_out = finds ? m->one_found : NULL,
                            .results = m->one_codes,
                            .counts = counts ? m->one_counts : NULL,
                            .missing = m->r->missing,
                            .tally = quietly ? shard->tallies + TSR_TALLY_UNREAD : NULL};
  tsr_status status = n ? tsr_single_operate(shard, &mine, m->error) : TSR_OK;
  return status ? status : tsr_single_wait(shard, m->error);
}

/* The code of an operation which means that a shard has the key. */
static uint8_t code_of(uint32_t op) {
  return op == TSR_BULK_contains ? 1 : op == TSR_BULK_find || op == TSR_BULK_count ? TSR_FOUND : TSR_ERASED;
}

/* find, contains, count and erase: all shards are asked, and the first one that has the key answers. */
static tsr_status ask_all(merge *m, uint32_t op) {
  const bool erases = op == TSR_BULK_erase;
  const uint8_t has_it = code_of(op);
  tsr_shards *s = m->t->shards;
  tsr_status status = TSR_OK;
  uint64_t found = 0;
  const uint64_t n = m->r->n, bytes = m->value_bytes;
  for (uint32_t i = 0; status == TSR_OK && i < s->transport.here; i++) {
    status = ask(m, s->members[i].shard, op, n, !erases);
    for (uint64_t k = 0; status == TSR_OK && k < n; k++) {
      m->counts[k] += op == TSR_BULK_count ? m->one_counts[k] : 0;
      if (i > 0 && (m->codes[k] == has_it || m->one_codes[k] != has_it)) continue;
      m->codes[k] = m->one_codes[k];
      if (op == TSR_BULK_find) memcpy(m->found + k * bytes, m->one_found + k * bytes, bytes);
    }
  }
  for (uint64_t k = 0; k < n; k++) found += m->codes[k] == has_it;
  if (status) return status;
  s->carried.find_keys += erases ? 0 : n;
  s->carried.found += erases ? 0 : found;
  s->carried.erase_keys -= erases ? n * (s->transport.here - 1) : 0; /* each shard has counted them */
  return TSR_OK;
}

/* Each shard is asked for the pairs that those before it did not have, so as many pairs are erased as were named. */
static tsr_status erase_pairs(merge *m) {
  tsr_shards *s = m->t->shards;
  tsr_status status = TSR_OK;
  uint64_t left = m->r->n, asked = 0;
  for (uint64_t k = 0; k < left; k++) m->next[k] = k;
  memset(m->codes, TSR_MISSING, left);
  for (uint32_t i = 0; status == TSR_OK && left && i < s->transport.here; i++) {
    const uint64_t n = left;
    status = ask(m, s->members[i].shard, TSR_BULK_erase_pair, n, false);
    asked += n;
    left = 0;
    for (uint64_t k = 0; status == TSR_OK && k < n; k++) {
      m->codes[m->next[k]] = m->one_codes[k];
      if (m->one_codes[k] == TSR_ERASED) continue;
      memmove(m->keys + left * m->key_bytes, m->keys + k * m->key_bytes, m->key_bytes);
      if (m->r->values) memmove(m->values + left * m->value_bytes, m->values + k * m->value_bytes, m->value_bytes);
      m->next[left++] = m->next[k];
    }
  }
  s->carried.erase_keys -= asked - m->r->n;
  return status;
}

/* The values of one shard, after those of the shards before it. */
static tsr_status add_values(merge *m, tsr_table *shard, char *values) {
  const uint64_t n = m->r->n, bytes = m->value_bytes;
  tsr_status status = ask(m, shard, TSR_BULK_count, n, true);
  uint64_t all = 0;
  if (status) return status;
  for (uint64_t k = 0; k < n; k++) all += m->one_counts[k];
  char *mine = malloc(all * bytes + 1);
  if (!mine) return tsr_fail(m->error, TSR_NO_MEMORY, "no memory for %llu values", (unsigned long long)all);
  const tsr_request retrieve = {.op = TSR_BULK_retrieve,
                                .phase = TSR_PHASE_FIND,
                                .n = n,
                                .keys = m->keys,
                                .values_out = all ? mine : NULL,
                                .counts = m->one_counts,
                                .room = all,
                                .missing = m->r->missing,
                                .tally = shard->tallies + TSR_TALLY_UNREAD};
  status = tsr_single_operate(shard, &retrieve, m->error);
  if (status == TSR_OK) status = tsr_single_wait(shard, m->error);
  for (uint64_t k = 0; status == TSR_OK && k < n; k++)
    for (uint64_t v = m->one_counts[k]; v < m->one_counts[k + 1]; v++)
      memcpy(values + m->next[k]++ * bytes, mine + v * bytes, bytes);
  free(mine);
  return status;
}

static tsr_status find_all(merge *m) {
  tsr_shards *s = m->t->shards;
  const tsr_request *r = m->r;
  uint64_t all = 0;
  tsr_status status = r->n ? ask_all(m, TSR_BULK_count) : TSR_OK;
  for (uint64_t k = 0; k <= r->n; k++) {
    const uint64_t count = k < r->n ? m->counts[k] : 0;
    m->counts[k] = m->next[k] = all;
    all += count;
  }
  if (status || !r->values_out || !all) return status;
  char *values = malloc(all * m->value_bytes);
  if (!values) return tsr_fail(m->error, TSR_NO_MEMORY, "no memory for %llu values", (unsigned long long)all);
  for (uint32_t i = 0; status == TSR_OK && i < s->transport.here; i++)
    status = add_values(m, s->members[i].shard, values);
  if (status == TSR_OK) status = fetch(m, r->values_out, values, (all < r->room ? all : r->room) * m->value_bytes);
  free(values);
  return status;
}

static tsr_status tell(const merge *m) {
  const tsr_request *r = m->r;
  const uint64_t counts = (r->n + (r->op == TSR_BULK_retrieve)) * sizeof *r->counts;
  const uint8_t has_it = code_of(r->op);
  for (uint64_t k = 0; r->tells_presence && k < r->n; k++) m->codes[k] = m->codes[k] == has_it;
  tsr_status status = r->results ? fetch(m, r->results, m->codes, r->n) : TSR_OK;
  if (status == TSR_OK && r->counts) status = fetch(m, r->counts, m->counts, counts);
  if (status == TSR_OK && r->op == TSR_BULK_find) status = fetch(m, r->values_out, m->found, r->n * m->value_bytes);
  return status;
}

tsr_status tsr_independent_operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  merge m = {.t = t,
             .r = r,
             .error = error,
             .key_bytes = shape->key_bits / 8,
             .value_bytes = tsr_composition_value_bytes(t->store.composition)};
  if (r->op == TSR_BULK_insert) return tsr_batch_deal(t, r, error);
  tsr_status status = begin(&m);
  if (status == TSR_OK) {
    if (r->op == TSR_BULK_retrieve)
      status = find_all(&m);
    else
      status = r->op == TSR_BULK_erase_pair ? erase_pairs(&m) : ask_all(&m, r->op);
  }
  if (status == TSR_OK) status = tell(&m);
  free_merge(&m);
  return status;
}

/* ---- Replicated ------------------------------------------------------------------------------ */

static tsr_status copy_region(tsr_table *to, const tsr_table *from, uint32_t role, uint32_t i, tsr_error *error) {
  const tsr_composition *composition = from->store.composition;
  const uint64_t bytes = tsr_region_bytes(composition, &composition->part[role].plan.regions[i]);
  return to->backend->copy_from(to->device, to->store.state.part[role].region[i], from->device,
                                from->store.state.part[role].region[i], bytes, NULL, error);
}

static tsr_status copy_shard(tsr_table *to, const tsr_table *from, tsr_error *error) {
  const tsr_composition *composition = from->store.composition;
  tsr_status status = tsr_single_clear(to, NULL, error);
  const tsr_rehash_options options = {
      .capacity = composition->shape.capacity, .seed = composition->shape.seed, .spec = from->spec};
  const bool is_alike =
      to->store.composition->shape.capacity == options.capacity && to->store.composition->shape.seed == options.seed;
  if (status == TSR_OK && !is_alike) status = tsr_rehash(to, &options, error); /* the first one has grown */
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(composition, &at);)
    status = copy_region(to, from, at.role, at.i, error);
  if (status == TSR_OK) status = to->values->copy(to, from, error);
  to->store.state.has_erased = from->store.state.has_erased;
  to->store.is_clear = false;
  tsr_status waited = to->backend->synchronize(to->device, NULL, status ? NULL : error);
  return status ? status : waited;
}

tsr_status tsr_replicated_refresh(tsr_shards *s, tsr_error *error) {
  tsr_status status = s->is_stale ? tsr_single_wait(s->members[0].shard, error) : TSR_OK;
  for (uint32_t i = 1; status == TSR_OK && s->is_stale && i < s->transport.here; i++)
    status = copy_shard(s->members[i].shard, s->members[0].shard, error);
  if (status == TSR_OK) s->is_stale = false;
  return status;
}

tsr_status tsr_replicated_operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_shards *s = t->shards;
  tsr_table *first = s->members[0].shard;
  const bool reads = r->op == TSR_BULK_find || r->op == TSR_BULK_contains || r->op == TSR_BULK_count;
  if (reads) {
    tsr_status status = tsr_replicated_refresh(s, error);
    return status ? status : tsr_batch_deal(t, r, error);
  }
  if (r->op != TSR_BULK_retrieve) s->is_stale = true;
  tsr_status status = tsr_single_operate(first, r, error);
  return status ? status : tsr_single_wait(first, error);
}
