/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing behind (behind.h). The call gets arrays for what comes back, unless its caller has some. Afterwards the items that
 * handed back a pair are listed on the device, and only their keys and values travel to the host.
 */
#include "core/table/behind.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/kernels/cache.h"
#include "core/table/cache.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/wide.h"

bool tsr_writes_behind(const tsr_table *t, const tsr_request *r) {
  return t->listener.write && tsr_is_cache(t) && tsr_cache_puts(r->op);
}

tsr_status tsr_write_behind(tsr_table *t, tsr_write *write, void *context, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_write_behind: the table is NULL");
  const tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_SCORES, "tsr_write_behind", error);
  if (status) return status;
  t->listener.write = write;
  t->listener.written = context;
  return TSR_OK;
}

/* A call, and what it needs in device memory. */
typedef struct behind {
  tsr_table *t;
  tsr_request asked; /* with arrays for all that comes back */
  uint32_t key_bytes, value_bytes;
  uint64_t *count;
  uint32_t *list; /* the items that handed back a pair, *count of them */
  uint8_t *marks; /* 0: such an item */
} behind;

/* Arrays one after another, each where any word may be. */
static uint64_t place(uint64_t *end, uint64_t bytes) {
  enum { ALIGNED = 16 };
  const uint64_t at = *end;
  *end += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return at;
}

static tsr_status furnish(behind *b, void **memory, tsr_error *error) {
  tsr_request *r = &b->asked;
  uint64_t end = 0;
  const uint64_t count = place(&end, sizeof *b->count), list = place(&end, r->n * sizeof *b->list),
                 marks = place(&end, r->n), results = place(&end, r->results ? 0 : r->n),
                 keys = place(&end, r->unplaced_keys ? 0 : r->n * b->key_bytes),
                 values = place(&end, r->unplaced_values ? 0 : r->n * b->value_bytes);
  const tsr_status status = b->t->backend->allocate_in(b->t->device, end, r->call.stream, memory, error);
  if (status) return status;
  char *const begin = *memory;
  b->count = (void *)(begin + count);
  b->list = (void *)(begin + list);
  b->marks = (void *)(begin + marks);
  if (!r->results) r->results = (void *)(begin + results);
  if (!r->unplaced_keys) r->unplaced_keys = begin + keys;
  if (!r->unplaced_values && b->value_bytes) r->unplaced_values = begin + values;
  return TSR_OK;
}

/* Lists the items. Waits. */
static tsr_status list(const behind *b, uint64_t *listed, tsr_error *error) {
  const tsr_backend *backend = b->t->backend;
  tsr_device *device = b->t->device;
  void *const stream = b->asked.call.stream;
  const tsr_picked items = {.n = b->asked.n, .marks = b->marks, .list = b->list, .count = b->count};
  tsr_status status = backend->copy(device, b->marks, b->asked.results, items.n, stream, error);
  if (status == TSR_OK) status = tsr_pick_list(b->t, &items, stream, error);
  if (status == TSR_OK) status = backend->copy(device, listed, b->count, sizeof *listed, stream, error);
  return status ? status : backend->synchronize(device, stream, error);
}

/* The listed items of an array, in host memory that the caller frees. */
static tsr_status take(const behind *b, uint64_t count, void *array, uint32_t bytes, void **taken, tsr_error *error) {
  const tsr_backend *backend = b->t->backend;
  tsr_device *device = b->t->device;
  void *const stream = b->asked.call.stream;
  void *gathered = NULL;
  *taken = malloc(count * bytes);
  if (!*taken)
    return tsr_fail(error, TSR_NO_MEMORY, "tsr_write_behind: no memory for %llu pairs that were given up",
                    (unsigned long long)count);
  tsr_status status = backend->allocate_in(device, count * bytes, stream, &gathered, error);
  if (status) return status;
  status = tsr_pick_items(b->t, count, b->list, array, bytes, gathered, stream, error);
  if (status == TSR_OK) status = backend->copy(device, *taken, gathered, count * bytes, stream, error);
  const tsr_status freed = backend->free_in(device, gathered, stream, status ? NULL : error);
  if (status == TSR_OK) status = freed;
  return status ? status : backend->synchronize(device, stream, error);
}

/* ---- A key that comes back twice ------------------------------------------------------------- */

/* Numbers that stand for keys, or for pairs; 0: none. */
typedef struct numbers {
  uint64_t *slot, mask;
} numbers;

static bool numbers_make(numbers *set, uint64_t count) {
  set->mask = 1;
  while (set->mask < 2 * count) set->mask = 2 * set->mask + 1;
  set->slot = calloc(set->mask + 1, sizeof *set->slot);
  return set->slot != NULL;
}

/* Whether it is there; adds it. */
static bool numbers_have(numbers *set, uint64_t number, bool adds) {
  uint64_t at = number & set->mask;
  while (set->slot[at] && set->slot[at] != number) at = (at + 1) & set->mask;
  const bool is_there = set->slot[at] == number;
  if (adds) set->slot[at] = number;
  return is_there;
}

static uint64_t number_of(const void *array, uint32_t bytes, uint64_t i, uint64_t seed) {
  return XXH3_64bits_withSeed((const char *)array + i * bytes, bytes, seed) | 1;
}

static uint64_t number_of_pair(const behind *b, const void *keys, const void *values, uint64_t i) {
  return number_of(values, b->value_bytes, i, number_of(keys, b->key_bytes, i, 0));
}

static bool have_twice(const behind *b, const void *keys, uint64_t count, bool *twice) {
  numbers seen;
  if (!numbers_make(&seen, count)) return false;
  for (uint64_t i = 0; i < count && !*twice; i++)
    *twice = numbers_have(&seen, number_of(keys, b->key_bytes, i, 0), true);
  free(seen.slot);
  return true;
}

/* Puts pairs that the call has brought behind the others, each in a new array. */
static tsr_status part(const behind *b, uint64_t count, void **keys, void **values, numbers *own, const void *offered,
                       tsr_error *error) {
  const uint64_t n = b->asked.n;
  const char *const their_keys = offered, *const their_values = their_keys + n * b->key_bytes;
  char *new_keys = malloc(count * b->key_bytes), *new_values = malloc(count * b->value_bytes);
  uint64_t next = 0;
  for (uint64_t i = 0; i < n; i++) numbers_have(own, number_of_pair(b, their_keys, their_values, i), true);
  for (int is_own = 0; new_keys && new_values && is_own < 2; is_own++)
    for (uint64_t i = 0; i < count; i++) {
      if (numbers_have(own, number_of_pair(b, *keys, *values, i), false) != is_own) continue;
      memcpy(new_keys + next * b->key_bytes, (char *)*keys + i * b->key_bytes, b->key_bytes);
      memcpy(new_values + next++ * b->value_bytes, (char *)*values + i * b->value_bytes, b->value_bytes);
    }
  const bool is_done = next == count;
  free(is_done ? *keys : new_keys);
  free(is_done ? *values : new_values);
  if (!is_done) return tsr_fail(error, TSR_NO_MEMORY, "tsr_write_behind: no memory for pairs that were given up");
  *keys = new_keys;
  *values = new_values;
  return TSR_OK;
}

/* A pair can be given up, its key inserted again by the same call, and that pair be given up as well. Whoever writes them in
 * their order has to end with the newer one. */
static tsr_status put_in_order(const behind *b, uint64_t count, void **keys, void **values, tsr_error *error) {
  const tsr_backend *backend = b->t->backend;
  const uint64_t n = b->asked.n;
  void *const stream = b->asked.call.stream;
  bool twice = false;
  numbers own = {.slot = NULL};
  if (!have_twice(b, *keys, count, &twice))
    return tsr_fail(error, TSR_NO_MEMORY, "tsr_write_behind: no memory to look for keys that came back twice");
  if (!twice) return TSR_OK;
  char *offered = malloc(n * (b->key_bytes + b->value_bytes));
  tsr_status status = TSR_OK;
  if (!offered || !numbers_make(&own, n))
    status = tsr_fail(error, TSR_NO_MEMORY, "tsr_write_behind: no memory for the pairs of the call");
  if (status == TSR_OK) status = backend->copy(b->t->device, offered, b->asked.keys, n * b->key_bytes, stream, error);
  if (status == TSR_OK)
    status =
        backend->copy(b->t->device, offered + n * b->key_bytes, b->asked.values, n * b->value_bytes, stream, error);
  if (status == TSR_OK) status = backend->synchronize(b->t->device, stream, error);
  if (status == TSR_OK) status = part(b, count, keys, values, &own, offered, error);
  free(offered);
  free(own.slot);
  return status;
}

/* ---- The call -------------------------------------------------------------------------------- */

static tsr_status hand_over(const behind *b, tsr_error *error) {
  const tsr_listener *to = &b->t->listener;
  void *keys = NULL, *values = NULL;
  uint64_t count = 0;
  int answer = 0;
  tsr_status status = list(b, &count, error);
  if (status || !count) return status;
  status = take(b, count, b->asked.unplaced_keys, b->key_bytes, &keys, error);
  if (status == TSR_OK && b->value_bytes)
    status = take(b, count, b->asked.unplaced_values, b->value_bytes, &values, error);
  if (status == TSR_OK && b->value_bytes) status = put_in_order(b, count, &keys, &values, error);
  if (status == TSR_OK) answer = to->write(to->written, count, keys, values);
  free(keys);
  free(values);
  if (!answer) return status;
  return tsr_fail(
      error, TSR_IO,
      "the function of tsr_write_behind returned %d: %llu pairs are no longer in the cache, and may not have "
      "been written",
      answer, (unsigned long long)count);
}

tsr_status tsr_operate_behind(tsr_table *t, const tsr_request *r, tsr_operation *operation, tsr_error *error) {
  const tsr_composition *c = t->store.composition;
  behind b = {.t = t, .asked = *r, .key_bytes = c->shape.key_bits / 8, .value_bytes = tsr_composition_value_bytes(c)};
  void *memory = NULL;
  tsr_status status = furnish(&b, &memory, error);
  if (status) return status;
  status = operation(t, &b.asked, error);
  if (status == TSR_OK) status = hand_over(&b, error);
  const tsr_status freed = t->backend->free_in(t->device, memory, r->call.stream, status ? NULL : error);
  return status ? status : freed;
}
