/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of a column in the order of parts (column.h).
 */
#define _GNU_SOURCE /* madvise */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"

void *tsr_key_column_memory(uint64_t bytes) {
  enum { LARGE = 1 << 21 };
  void *memory = NULL;
  if (!bytes || bytes > SIZE_MAX / 2 || posix_memalign(&memory, bytes < LARGE ? 64 : LARGE, (size_t)bytes)) return NULL;
  if (bytes >= LARGE) madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* may fail: it is advice */
  return memory;
}

typedef struct split {
  tsr_key_column_parts *parts;
  const void *keys;
  uint32_t key_bytes;
} split;

/* is_wide is a constant where this is called. */
static inline void split_chunk(const tsr_key_column_parts *parts, const void *keys, uint64_t chunk, bool is_wide) {
  const uint64_t begin = chunk * TSR_KEY_COLUMN_CHUNK, left = parts->n - begin;
  const uint64_t n = left < TSR_KEY_COLUMN_CHUNK ? left : TSR_KEY_COLUMN_CHUNK;
  const uint32_t count = 1u << parts->log2, log2 = parts->log2;
  uint32_t *offsets = parts->offsets + chunk * count, next[TSR_KEY_COLUMN_PARTS] = {0}, sum = 0;
  for (uint64_t i = begin; i < begin + n; i++)
    next[tsr_key_column_part(tsr_key_column_hash(tsr_key_column_key(keys, i, is_wide)), log2)]++;
  for (uint32_t p = 0; p < count; p++) {
    const uint32_t own = next[p];
    next[p] = offsets[p] = sum;
    sum += own;
  }
  uint64_t *const wide = (uint64_t *)parts->keys + begin;
  uint32_t *const narrow = (uint32_t *)parts->keys + begin;
  for (uint64_t i = begin; i < begin + n; i++) {
    const uint64_t key = tsr_key_column_key(keys, i, is_wide);
    const uint32_t at = next[tsr_key_column_part(tsr_key_column_hash(key), log2)]++;
    if (is_wide)
      wide[at] = key;
    else
      narrow[at] = (uint32_t)key;
  }
}

static void split_range(void *argument, uint64_t begin, uint64_t end) {
  const split *s = argument;
  for (uint64_t chunk = begin; chunk < end; chunk++)
    if (s->key_bytes == sizeof(uint64_t))
      split_chunk(s->parts, s->keys, chunk, true);
    else
      split_chunk(s->parts, s->keys, chunk, false);
}

bool tsr_key_column_split(tsr_key_column_parts *parts, const void *keys, uint64_t n, uint32_t key_bytes,
                          uint32_t log2) {
  *parts =
      (tsr_key_column_parts){.n = n, .chunks = (n + TSR_KEY_COLUMN_CHUNK - 1) / TSR_KEY_COLUMN_CHUNK, .log2 = log2};
  parts->keys = tsr_key_column_memory(n * key_bytes);
  parts->offsets = tsr_key_column_memory((parts->chunks << log2) * sizeof *parts->offsets);
  if (!parts->keys || !parts->offsets) {
    tsr_key_column_parts_free(parts);
    return false;
  }
  tsr_parallel_each(parts->chunks, split_range, &(split){parts, keys, key_bytes});
  return true;
}

void tsr_key_column_parts_free(tsr_key_column_parts *parts) {
  free(parts->keys);
  free(parts->offsets);
  *parts = (tsr_key_column_parts){.keys = NULL};
}
