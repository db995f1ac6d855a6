/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts as keys (texts.h): an index numbers the hashes in the order in which they first appear, and the texts are in the same
 * order, one behind the other.
 */
#include "tools/cli/texts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 16, SHOWN = 40 };

struct tsr_texts {
  pthread_mutex_t lock;
  uint64_t seed;
  tsr_table *index;
  char *bytes;
  uint64_t *offsets; /* count + 1 */
  uint64_t count, room;
  size_t byte_room;
  uint32_t *numbers; /* of a call */
  uint64_t number_room;
};

static tsr_status no_memory(uint64_t n, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "no memory for %llu texts", (unsigned long long)n);
}

tsr_status tsr_texts_create(uint64_t seed, const char *plugins, tsr_texts **texts, tsr_error *error) {
  static const char *const entries[] = {"table.backend=cpu", "table.numbering=first_seen"};
  const tsr_options options = {.plugins = plugins, .capacity = 1 << 16};
  tsr_spec *spec = NULL;
  tsr_texts *t = calloc(1, sizeof *t);
  if (!t) return no_memory(0, error);
  pthread_mutex_init(&t->lock, NULL);
  t->seed = seed;
  *texts = t;
  tsr_status status = tsr_spec_read("wide_keys_index", &spec, error);
  for (size_t i = 0; status == TSR_OK && i < sizeof entries / sizeof entries[0]; i++)
    status = tsr_spec_set(spec, entries[i], error);
  if (status == TSR_OK) status = tsr_table_create(spec, &options, &t->index, error);
  tsr_spec_free(spec);
  return status;
}

void tsr_texts_free(tsr_texts *texts) {
  if (!texts) return;
  tsr_table_destroy(texts->index);
  pthread_mutex_destroy(&texts->lock);
  free(texts->bytes);
  free(texts->offsets);
  free(texts->numbers);
  free(texts);
}

static bool make_numbers(tsr_texts *t, uint64_t n) {
  if (n <= t->number_room) return true;
  uint32_t *more = realloc(t->numbers, n * sizeof *more);
  if (!more) return false;
  t->numbers = more;
  t->number_room = n;
  return true;
}

/* Room for n more texts of `bytes` bytes together. */
static bool make_room(tsr_texts *t, uint64_t n, size_t bytes) {
  const uint64_t texts = t->count + n + 1;
  const size_t used = t->offsets ? t->offsets[t->count] : 0;
  if (texts > t->room) {
    uint64_t *more = realloc(t->offsets, 2 * texts * sizeof *more);
    if (!more) return false;
    if (!t->offsets) more[0] = 0;
    t->offsets = more;
    t->room = 2 * texts;
  }
  if (used + bytes > t->byte_room || !t->bytes) {
    char *more = realloc(t->bytes, 2 * (used + bytes) + 1);
    if (!more) return false;
    t->bytes = more;
    t->byte_room = 2 * (used + bytes) + 1;
  }
  return true;
}

static tsr_status refuse_pair(const tsr_texts *t, const char *one, size_t length, uint64_t other, tsr_error *error) {
  const size_t bytes = (size_t)(t->offsets[other + 1] - t->offsets[other]);
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "the keys '%.*s' and '%.*s' have one hash of 128 bits: use another one, by --set table.seed=%llu",
                  (int)(length < SHOWN ? length : SHOWN), one, (int)(bytes < SHOWN ? bytes : SHOWN),
                  t->bytes + t->offsets[other], (unsigned long long)t->seed + 1);
}

/* The texts with numbers from t->count on are new. */
static tsr_status keep(tsr_texts *t, uint64_t n, const char *bytes, const uint64_t *offsets, tsr_error *error) {
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t number = t->numbers[i], begin = offsets[i];
    const size_t length = (size_t)(offsets[i + 1] - begin);
    if (number < t->count) {
      const bool is_same = t->offsets[number + 1] - t->offsets[number] == length &&
                           memcmp(t->bytes + t->offsets[number], bytes + begin, length) == 0;
      if (!is_same) return refuse_pair(t, bytes + begin, length, number, error);
      continue;
    }
    if (!make_room(t, n - i, (size_t)(offsets[n] - begin))) return no_memory(n, error);
    memcpy(t->bytes + t->offsets[t->count], bytes + begin, length);
    t->offsets[t->count + 1] = t->offsets[t->count] + length;
    t->count++;
  }
  return TSR_OK;
}

tsr_status tsr_texts_add(tsr_texts *texts, uint64_t n, const char *bytes, const uint64_t *offsets, void *keys,
                         tsr_error *error) {
  if (!n) return TSR_OK;
  tsr_text_keys(texts->seed, n, bytes, offsets, keys);
  pthread_mutex_lock(&texts->lock);
  tsr_status status = make_numbers(texts, n) ? TSR_OK : no_memory(n, error);
  if (status == TSR_OK) status = tsr_number(texts->index, n, keys, texts->numbers, NULL, error);
  if (status == TSR_OK) status = keep(texts, n, bytes, offsets, error);
  pthread_mutex_unlock(&texts->lock);
  return status;
}

tsr_status tsr_texts_find(tsr_texts *texts, uint64_t n, const void *keys, const char **bytes, size_t *lengths,
                          tsr_error *error) {
  const tsr_call call = {.missing = UINT32_MAX};
  pthread_mutex_lock(&texts->lock);
  tsr_status status = make_numbers(texts, n) ? TSR_OK : no_memory(n, error);
  if (status == TSR_OK && n) status = tsr_find(texts->index, n, keys, texts->numbers, &call, error);
  if (status) {
    pthread_mutex_unlock(&texts->lock);
    return status;
  }
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t number = texts->numbers[i];
    const bool is_known = number < texts->count;
    bytes[i] = is_known ? texts->bytes + texts->offsets[number] : NULL;
    lengths[i] = is_known ? (size_t)(texts->offsets[number + 1] - texts->offsets[number]) : 0;
  }
  return TSR_OK;
}

void tsr_texts_done(tsr_texts *texts) { pthread_mutex_unlock(&texts->lock); }
