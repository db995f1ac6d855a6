/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers the keys of a column: by parts, or by ranges of rows (column.h).
 */
#include <math.h>
#include <stdlib.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"

/* ---- How many distinct keys there are -------------------------------------------------------- */

enum { SAMPLE = 1 << 14, REPEATED = 24 }; /* with fewer repeated keys a sample does not tell */

/* About, and rather too many: the number whose sample is expected to show as many as this one. */
static uint64_t likely_distinct(const tsr_key_column *c) {
  const bool is_wide = c->key_bytes == sizeof(uint64_t);
  const uint64_t size = c->n >> 7 < SAMPLE ? c->n >> 7 : SAMPLE;
  uint32_t number, rows[SAMPLE]; /* which nobody reads */
  tsr_key_column_set set = {.firsts = rows};
  if (size < 2 * REPEATED || !tsr_key_column_set_make(&set, 2 * SAMPLE, 0)) return c->n;
  for (uint64_t i = 0; i < size; i++)
    if (!tsr_key_column_set_add(&set, tsr_key_column_key(c->keys, i * (c->n / size), is_wide), 0, 1, &number)) break;
  free(set.slots);
  if (size - set.size < REPEATED) return c->n;
  double low = set.size, high = (double)c->n;
  while (high > 1.05 * low) {
    const double middle = sqrt(low * high);
    if (middle * -expm1(-(double)size / middle) < set.size)
      low = middle;
    else
      high = middle;
  }
  return (uint64_t)high;
}

/* ---- By parts -------------------------------------------------------------------------------- */

typedef struct job {
  tsr_key_column *column;
  bool failed;
} job;

static void fail(job *j) { __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED); /* read after the team has joined */ }

static void number_part(job *j, uint64_t part) {
  tsr_key_column *c = j->column;
  const tsr_key_column_parts *parts = &c->parts;
  const uint64_t count = 1ull << parts->log2;
  tsr_key_column_set *set = &c->sets[part];
  bool is_made = tsr_key_column_set_make(set, c->likely >> parts->log2, parts->log2);
  c->seen[part] = 0;
  for (uint64_t chunk = 0; chunk < parts->chunks && is_made; chunk++) {
    const uint64_t cell = chunk * count + part, first = chunk * TSR_KEY_COLUMN_CHUNK;
    const uint64_t rows = parts->n - first < TSR_KEY_COLUMN_CHUNK ? parts->n - first : TSR_KEY_COLUMN_CHUNK;
    const uint64_t begin = parts->offsets[cell], end = part + 1 < count ? parts->offsets[cell + 1] : rows;
    char *const keys = (char *)parts->keys + (first + begin) * c->key_bytes;
    if (chunk + 1 < parts->chunks) /* not a sequence that the processor would foresee */
      __builtin_prefetch((char *)parts->keys +
                         (first + TSR_KEY_COLUMN_CHUNK + parts->offsets[cell + count]) * c->key_bytes);
    is_made = tsr_key_column_set_number(
        set, &(tsr_key_column_run){
                 .keys = keys, .ids = keys, .n = end - begin, .key_bytes = c->key_bytes, .id_bytes = c->key_bytes});
    c->seen[cell + count] = set->size;
  }
  if (!is_made) fail(j);
}

static void number_parts(void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t part = begin; part < end; part++) number_part(argument, part);
}

static void count_of_chunks(void *argument, uint64_t begin, uint64_t end) {
  tsr_key_column *c = ((job *)argument)->column;
  const uint64_t count = 1ull << c->parts.log2;
  for (uint64_t chunk = begin; chunk < end; chunk++) {
    const uint32_t *seen = c->seen + chunk * count;
    c->chunk_first[chunk + 1] = 0;
    for (uint64_t p = 0; p < count; p++) c->chunk_first[chunk + 1] += seen[count + p] - seen[p];
  }
}

static bool by_parts(tsr_key_column *c, uint32_t log2) {
  job j = {c, false};
  if (!tsr_key_column_split(&c->parts, c->keys, c->n, c->key_bytes, log2)) return false;
  const uint64_t chunks = c->parts.chunks;
  c->set_count = 1u << log2;
  c->sets = calloc(c->set_count, sizeof *c->sets);
  c->seen = tsr_key_column_memory(((chunks + 1) << log2) * sizeof *c->seen);
  c->chunk_first = calloc(chunks + 1, sizeof *c->chunk_first);
  if (!c->sets || !c->seen || !c->chunk_first) return false;
  tsr_parallel_each(c->set_count, number_parts, &j);
  if (j.failed) return false;
  tsr_parallel_each(chunks, count_of_chunks, &j);
  for (uint64_t chunk = 0; chunk < chunks; chunk++) c->chunk_first[chunk + 1] += c->chunk_first[chunk];
  c->size = c->chunk_first[chunks];
  return true;
}

/* ---- By ranges of rows ----------------------------------------------------------------------- */

static void number_range(void *argument, uint64_t begin, uint64_t end) {
  job *j = argument;
  tsr_key_column *c = j->column;
  for (uint64_t r = begin; r < end; r++) {
    tsr_key_column_set *set = &c->sets[r];
    const uint64_t row = r * c->range, left = c->n - row;
    if (!tsr_key_column_set_make(set, c->likely, 0) ||
        !(set->firsts = malloc(tsr_key_column_set_room(set) * sizeof *set->firsts)) ||
        !tsr_key_column_set_number(set, &(tsr_key_column_run){.keys = (const char *)c->keys + row * c->key_bytes,
                                                              .ids = c->ids + row,
                                                              .n = left < c->range ? left : c->range,
                                                              .row = row,
                                                              .key_bytes = c->key_bytes,
                                                              .id_bytes = sizeof *c->ids}))
      fail(j);
  }
}

/* Unites the sets in the order of their rows, in the first. */
static bool unite(tsr_key_column *c) {
  const bool is_wide = c->key_bytes == sizeof(uint64_t);
  for (uint32_t r = 0; r < c->set_count; r++) c->bases[r + 1] = c->bases[r] + c->sets[r].size;
  c->numbers = tsr_key_column_memory(c->bases[c->set_count] * sizeof *c->numbers);
  uint32_t *counts = tsr_key_column_memory(c->bases[c->set_count] * sizeof *counts);
  bool is_made = c->numbers && counts;
  for (uint32_t id = 0; is_made && id < c->sets[0].size; id++) c->numbers[id] = id;
  for (uint32_t r = 1; is_made && r < c->set_count; r++) {
    const tsr_key_column_set *set = &c->sets[r];
    for (uint64_t i = 0; i < 1ull << set->bits; i++)
      if (set->slots[i].number) counts[set->slots[i].number - 1] = set->slots[i].count;
    for (uint32_t id = 0; is_made && id < set->size; id++)
      is_made = tsr_key_column_set_add(&c->sets[0], tsr_key_column_key(c->keys, set->firsts[id], is_wide),
                                       set->firsts[id], counts[id], &c->numbers[c->bases[r] + id]);
  }
  free(counts);
  return is_made;
}

static bool by_ranges(tsr_key_column *c) {
  enum { LEAST = 1 << 15 }; /* rows that are worth a thread */
  job j = {c, false};
  const uint64_t threads = tsr_parallel_threads(), most = (c->n + LEAST - 1) / LEAST;
  const uint64_t ranges = threads < most ? threads : most;
  c->range = (c->n + ranges - 1) / ranges;
  c->set_count = (uint32_t)((c->n + c->range - 1) / c->range);
  c->sets = calloc(c->set_count, sizeof *c->sets);
  c->bases = calloc(c->set_count + 1, sizeof *c->bases);
  c->ids = tsr_key_column_memory(c->n * sizeof *c->ids);
  if (!c->sets || !c->bases || !c->ids) return false;
  tsr_parallel_each(c->set_count, number_range, &j);
  if (j.failed || (c->set_count > 1 && !unite(c))) return false;
  c->size = c->sets[0].size;
  c->firsts = c->sets[0].firsts;
  c->sets[0].firsts = NULL;
  c->is_numbered = true;
  return true;
}

bool tsr_key_column_number(tsr_key_column *c) {
  const uint64_t most = tsr_parallel_threads() == 1 ? TSR_KEY_COLUMN_ALONE_KEYS : TSR_KEY_COLUMN_RANGE_KEYS;
  uint32_t log2 = 4; /* parts enough for several threads */
  c->likely = likely_distinct(c);
  if (c->likely <= most) return by_ranges(c);
  while (log2 < TSR_KEY_COLUMN_PARTS_LOG2 && c->likely >> log2 > TSR_KEY_COLUMN_PART_KEYS) log2++;
  return by_parts(c, log2);
}
