/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters as tables (filter.h): what is in their blocks, read by the host in pieces, and the union of two. Both are
 * rare compared with inserts and finds, so they need no kernels.
 */
#include "core/table/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/filter.h"
#include "core/sized.h"
#include "core/table/hold.h"
#include "core/table/order.h"
#include "core/tessera_tools.h"

enum { PIECE_BYTES = 1 << 20 }; /* a whole number of blocks */

bool tsr_is_filter(const tsr_table *t) { return t->store.composition->settings.kind == TSR_KIND_FILTER; }

tsr_status tsr_table_admits(const tsr_table *t, tsr_feature feature, const char *call, tsr_error *error) {
  return t ? tsr_compatible_call(&t->store.composition->settings.traits, feature, call, error) : TSR_OK;
}

/* ---- Pieces ---------------------------------------------------------------------------------- */

static uint64_t bytes_of(const tsr_table *t) {
  const tsr_shape *shape = &t->store.composition->shape;
  return shape->buckets * shape->bucket_bytes;
}

static char *blocks_of(const tsr_table *t) { return t->store.state.part[TSR_ROLE_LAYOUT].region[0]; }

static tsr_status copy(const tsr_table *t, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  tsr_status status = t->backend->copy(t->device, to, from, bytes, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

/* ---- What is in it --------------------------------------------------------------------------- */

/* Sums over blocks. */
typedef struct sums {
  double seems_present; /* the probability for an absent key whose block this is */
  double keys;          /* that have set these bits, by their number */
} sums;

/* A key's bits are in `functions` words that follow each other, one in each, from any word on. */
static void add_block(const uint32_t *words, uint32_t count, uint32_t functions, sums *s) {
  double set[TSR_FILTER_WORDS_MAX], rate = 0, bits = 0;
  for (uint32_t w = 0; w < count; w++) {
    set[w] = __builtin_popcount(words[w]) / 32.0;
    bits += set[w] / count;
  }
  for (uint32_t first = 0; bits > 0 && first < count; first++) {
    double all = 1;
    for (uint32_t j = 0; j < functions; j++) all *= set[(first + j) % count];
    rate += all / count;
  }
  const double most = 1 - 0.5 / (32.0 * count); /* of a block without an unset bit nobody knows how many there were */
  s->seems_present += rate;
  s->keys += log1p(-(bits < most ? bits : most)) / log1p(-(double)functions / (32.0 * count));
}

static tsr_status sum_up(const tsr_table *t, char *piece, sums *s, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t all = bytes_of(t);
  for (uint64_t done = 0; done < all; done += PIECE_BYTES) {
    const uint64_t bytes = all - done < PIECE_BYTES ? all - done : PIECE_BYTES;
    tsr_status status = copy(t, piece, blocks_of(t) + done, bytes, error);
    if (status) return status;
    for (uint64_t at = 0; at < bytes; at += shape->bucket_bytes)
      add_block((const uint32_t *)(const void *)(piece + at), shape->bucket_bytes / 4,
                t->store.composition->facts.filter_functions, s);
  }
  return TSR_OK;
}

/* ---- Of fingerprints ------------------------------------------------------------------------- */

static tsr_status describe_fingerprints(tsr_table *t, tsr_filter_info *info, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  uint64_t held = 0;
  const tsr_status status = t->methods->size(t, &held, error);
  if (status) return status;
  const tsr_filter_info ours = {
      .block_bytes = shape->bucket_bytes,
      .blocks = shape->buckets,
      .bits_per_key = 8.0 * shape->bucket_bytes * (double)shape->buckets / (double)shape->capacity,
      .rate = tsr_fingerprint_rate(shape, (double)held),
      .rate_at_capacity = tsr_fingerprint_rate(shape, (double)shape->capacity),
      .keys = (double)held,
  };
  tsr_hand_over(info, &ours, sizeof ours);
  return TSR_OK;
}

tsr_status tsr_filter_describe(tsr_table *t, tsr_filter_info *info, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !info)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_filter_describe needs a table and a place for the numbers");
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_OF_FILTERS, "tsr_filter_describe", error);
  if (status) return status;
  const tsr_settings *settings = &t->store.composition->settings;
  const tsr_shape *shape = &t->store.composition->shape;
  if (settings->filter.has_slots) return describe_fingerprints(t, info, error);
  sums s = {.keys = 0};
  char *piece = malloc(PIECE_BYTES);
  if (!piece) return tsr_fail(error, TSR_NO_MEMORY, "tsr_filter_describe: no memory for a piece of the filter");
  status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = sum_up(t, piece, &s, error);
  if (status == TSR_OK) status = tsr_table_leave(t, NULL, error);
  free(piece);
  if (status) return status;
  const double bits = tsr_filter_bits(settings);
  const tsr_filter_info ours = {
      .block_bytes = shape->bucket_bytes,
      .functions = (uint32_t)settings->filter.functions,
      .blocks = shape->buckets,
      .bits_per_key = bits,
      .rate = s.seems_present / (double)shape->buckets,
      .rate_at_capacity = tsr_filter_rate(settings->filter.block_bytes, settings->filter.functions, bits),
      .keys = s.keys,
  };
  tsr_hand_over(info, &ours, sizeof ours);
  return TSR_OK;
}

/* ---- Unions ---------------------------------------------------------------------------------- */

/* One key has the same bits in both. */
static tsr_status check_alike(const tsr_table *into, const tsr_table *from, tsr_error *error) {
  const tsr_composition *a = into->store.composition, *b = from->store.composition;
  const tsr_part *x = &a->part[TSR_ROLE_HASHER], *y = &b->part[TSR_ROLE_HASHER];
  const char *what = a->shape.key_bits != b->shape.key_bits                       ? "key_bits"
                     : a->shape.buckets != b->shape.buckets                       ? "capacity or bits_per_key"
                     : a->shape.bucket_bytes != b->shape.bucket_bytes             ? "block_bytes"
                     : a->facts.filter_functions != b->facts.filter_functions     ? "functions"
                     : a->shape.seed != b->shape.seed                             ? "seed"
                     : strcmp(x->plugin->name, y->plugin->name) != 0              ? "hasher"
                     : memcmp(x->config, y->config, x->plugin->config_bytes) != 0 ? "[hasher]"
                                                                                  : NULL;
  if (!what) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "tsr_filter_merge: the two filters differ in %s, so that a key has other bits in each: make both of "
                  "one spec",
                  what);
}

static tsr_status merge_pieces(const tsr_table *into, const tsr_table *from, uint64_t *mine, uint64_t *theirs,
                               tsr_error *error) {
  const uint64_t all = bytes_of(into);
  tsr_status status = TSR_OK;
  for (uint64_t done = 0; status == TSR_OK && done < all; done += PIECE_BYTES) {
    const uint64_t bytes = all - done < PIECE_BYTES ? all - done : PIECE_BYTES;
    status = copy(into, mine, blocks_of(into) + done, bytes, error);
    if (status == TSR_OK) status = copy(from, theirs, blocks_of(from) + done, bytes, error);
    for (uint64_t i = 0; i < bytes / sizeof *mine; i++) mine[i] |= theirs[i];
    if (status == TSR_OK) status = copy(into, blocks_of(into) + done, mine, bytes, error);
  }
  return status;
}

tsr_status tsr_filter_merge(tsr_table *into, tsr_table *from, tsr_error *error) {
  TSR_WRITES_BOTH(into, from);
  if (!into || !from) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_filter_merge needs two tables");
  tsr_status status = tsr_table_admits(into, TSR_HAS_CALL_OF_FILTERS, "tsr_filter_merge", error);
  if (status == TSR_OK) status = tsr_table_admits(from, TSR_HAS_CALL_OF_FILTERS, "tsr_filter_merge", error);
  if (status == TSR_OK) status = tsr_table_admits(into, TSR_HAS_CALL_MERGE, "tsr_filter_merge", error);
  if (status == TSR_OK) status = tsr_table_admits(from, TSR_HAS_CALL_MERGE, "tsr_filter_merge", error);
  if (status == TSR_OK) status = check_alike(into, from, error);
  if (status || into == from) return status;
  uint64_t *pieces = calloc(2, PIECE_BYTES);
  if (!pieces) return tsr_fail(error, TSR_NO_MEMORY, "tsr_filter_merge: no memory for pieces of the filters");
  status = tsr_table_enter(into, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_table_enter(from, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = merge_pieces(into, from, pieces, pieces + PIECE_BYTES / sizeof *pieces, error);
  if (status == TSR_OK) status = tsr_table_leave(from, NULL, error);
  if (status == TSR_OK) status = tsr_table_leave(into, NULL, error);
  into->store.is_clear = false;
  free(pieces);
  return status;
}
