/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers the keys of a column: a set for each thread's range of rows, and these sets united (column.h).
 */
#include <math.h>
#include <stdlib.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"

/* ---- How many distinct keys there are -------------------------------------------------------- */

enum { SAMPLE = 1 << 14, REPEATED = 24 }; /* with fewer repeated keys a sample does not tell */

/* Of n keys that are as frequent as each other, how many some rows are expected to show. */
static double shown(double n, double rows) { return -n * expm1(-rows / n); }

/* Of keys that are as frequent as each other about how many there are, and rather too many: the number of which a sample is
 * expected to show as many as it does. Of skewed ones fewer of the first half of a sample would then be distinct. These become more by
 * a power of rows, and half of what it tells is taken, since such a set may grow. */
static uint64_t extrapolated(uint64_t n, double size, double distinct, double of_half) {
  double low = distinct, high = (double)n;
  while (high > 1.05 * low) {
    const double middle = sqrt(low * high);
    if (shown(middle, size) < distinct)
      low = middle;
    else
      high = middle;
  }
  if (of_half > 0.9 * shown(high, size / 2)) return (uint64_t)high;
  const double skewed = distinct * pow((double)n / size, log2(distinct / of_half)) / 2;
  return (uint64_t)(skewed > high ? skewed : high);
}

/* A sample's first half is as far apart as the second, so that runs of equal keys do not look skewed. */
static uint64_t likely_distinct(const tsr_key_column *c) {
  const bool is_wide = c->key_bytes == sizeof(uint64_t);
  const uint64_t half = (c->n >> 7 < SAMPLE ? c->n >> 7 : SAMPLE) / 2, size = 2 * half;
  uint64_t sample[SAMPLE];
  tsr_key_column_set set = {.key_bytes = sizeof *sample, .form = TSR_KEY_COLUMN_PLAIN};
  if (half < REPEATED || !tsr_key_column_set_make(&set, size, 0)) return c->n;
  for (uint64_t i = 0; i < size; i++)
    sample[i] = tsr_key_column_key(c->keys, (i < half ? 2 * i : 2 * (i - half) + 1) * (c->n / size), is_wide);
  set.base = sample[0];
  bool is_made = tsr_key_column_set_take(&set, &(tsr_key_column_run){.keys = sample, .n = half});
  const uint32_t of_half = set.size;
  is_made = is_made && tsr_key_column_set_take(&set, &(tsr_key_column_run){.keys = sample + half, .n = half});
  tsr_key_column_set_free(&set);
  if (!is_made || size - set.size < REPEATED) return c->n;
  return extrapolated(c->n, (double)size, set.size, of_half);
}

/* ---- Ranges of rows -------------------------------------------------------------------------- */

typedef struct job {
  tsr_key_column *column;
  tsr_key_column_set *ranges;
  uint32_t *owners; /* for each key of each range, where it is in the first range that has it */
  uint64_t *fresh;  /* for each range, how many keys the ranges before it have */
  bool failed;
} job;

static void fail(job *j) { __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED); /* read after the team has joined */ }

/* Sets are united by whole slots. */
static tsr_key_column_form form_of(const tsr_key_column *c) {
  if (c->range_count > 1) return TSR_KEY_COLUMN_WHOLE;
  if (c->detail == TSR_KEY_COLUMN_KEYS) return TSR_KEY_COLUMN_PLAIN;
  return c->key_bytes == sizeof(uint32_t) ? TSR_KEY_COLUMN_SHORT : TSR_KEY_COLUMN_WHOLE;
}

static void number_range(void *argument, uint64_t begin, uint64_t end) {
  job *j = argument;
  tsr_key_column *c = j->column;
  for (uint64_t r = begin; r < end; r++) {
    const uint64_t row = r * c->range, left = c->n - row, n = left < c->range ? left : c->range;
    const tsr_key_column_run run = {.keys = (const char *)c->keys + row * c->key_bytes,
                                    .n = n,
                                    .row = row,
                                    .ids = c->ids ? c->ids + row : NULL,
                                    .wide_ids = c->written ? c->written + row : NULL};
    tsr_key_column_set *set = &j->ranges[r];
    *set = (tsr_key_column_set){.base = tsr_key_column_key(c->keys, 0, c->key_bytes == sizeof(uint64_t)),
                                .key_bytes = c->key_bytes,
                                .form = form_of(c),
                                .counts = c->detail == TSR_KEY_COLUMN_COUNTS};
    if (!tsr_key_column_set_make(set, c->likely < n ? c->likely : n, n) || !tsr_key_column_set_take(set, &run)) fail(j);
  }
}

/* ---- Ranges united --------------------------------------------------------------------------- */

/* Takes the keys of a part from the set of a range. Where a slot is follows the order of hashes, but for keys that found their
 * slots taken: some follow the end of the part, and some at its begin are of the part before. */
static bool unite_range(job *j, uint64_t part, uint64_t range) {
  const tsr_key_column *c = j->column;
  tsr_key_column_set *set = &c->sets[part];
  const tsr_key_column_set *from = &j->ranges[range];
  const uint64_t mask = (1ull << from->bits) - 1, end = (part + 1) << (from->bits - c->parts_log2);
  for (uint64_t i = part << (from->bits - c->parts_log2);; i++) {
    const tsr_key_column_slot *slot = (const tsr_key_column_slot *)from->slots + (i & mask);
    if (i >= end && !slot->key) return true;
    if (!slot->key || tsr_key_column_part(tsr_key_column_hash(slot->key), c->parts_log2) != part) continue;
    const uint32_t flat = (uint32_t)c->bases[range] + slot->number;
    tsr_key_column_slot *own = (tsr_key_column_slot *)set->slots + tsr_key_column_seek(set, slot->key, true, false);
    const bool is_new = !own->key;
    if (is_new) *own = (tsr_key_column_slot){slot->key, flat, 0};
    own->count += slot->count;
    j->owners[flat] = own->number;
    if (is_new && set->size++ && !tsr_key_column_set_grow(set)) return false;
  }
}

static void unite_parts(void *argument, uint64_t begin, uint64_t end) {
  job *j = argument;
  const tsr_key_column *c = j->column;
  for (uint64_t part = begin; part < end; part++) {
    tsr_key_column_set *set = &c->sets[part];
    *set = (tsr_key_column_set){.base = j->ranges[0].base, .key_bytes = c->key_bytes, .skip = c->parts_log2};
    /* Room for all keys of all ranges: keys come in the order of hashes, and would crowd at the start of a small set. */
    bool is_made = tsr_key_column_set_make(set, c->bases[c->range_count] >> c->parts_log2, 0);
    for (uint32_t r = 0; r < c->range_count && is_made; r++) is_made = unite_range(j, part, r);
    if (!is_made) fail(j);
  }
}

static void count_fresh(void *argument, uint64_t begin, uint64_t end) {
  const job *j = argument;
  for (uint64_t r = begin; r < end; r++) {
    uint64_t fresh = 0;
    for (uint64_t f = j->column->bases[r]; f < j->column->bases[r + 1]; f++) fresh += j->owners[f] == f;
    j->fresh[r + 1] = fresh;
  }
}

static void number_fresh(void *argument, uint64_t begin, uint64_t end) {
  const job *j = argument;
  const tsr_key_column *c = j->column;
  for (uint64_t r = begin; r < end; r++) {
    uint64_t next = j->fresh[r];
    for (uint64_t f = c->bases[r]; f < c->bases[r + 1]; f++) {
      if (j->owners[f] != f) continue;
      c->firsts[next] = j->ranges[r].firsts[f - c->bases[r]];
      c->numbers[f] = (uint32_t)next++;
    }
  }
}

static void number_others(void *argument, uint64_t begin, uint64_t end) {
  const job *j = argument;
  const tsr_key_column *c = j->column;
  for (uint64_t r = begin; r < end; r++)
    for (uint64_t f = c->bases[r]; f < c->bases[r + 1]; f++)
      if (j->owners[f] != f) c->numbers[f] = c->numbers[j->owners[f]];
}

static void number_slots(void *argument, uint64_t begin, uint64_t end) {
  const tsr_key_column *c = ((const job *)argument)->column;
  for (uint64_t part = begin; part < end; part++) {
    tsr_key_column_slot *slots = c->sets[part].slots;
    for (uint64_t i = 0; i < 1ull << c->sets[part].bits; i++)
      if (slots[i].key) slots[i].number = c->numbers[slots[i].number];
  }
}

static bool unite(job *j) {
  enum { MOST = 6 };
  tsr_key_column *c = j->column;
  while (1u << c->parts_log2 < c->range_count && c->parts_log2 < MOST) c->parts_log2++;
  const uint64_t parts = 1ull << c->parts_log2;
  c->sets = calloc(parts, sizeof *c->sets);
  c->bases = calloc(c->range_count + 1, sizeof *c->bases);
  j->fresh = calloc(c->range_count + 1, sizeof *j->fresh);
  if (!c->sets || !c->bases || !j->fresh) return false;
  for (uint32_t r = 0; r < c->range_count; r++) c->bases[r + 1] = c->bases[r] + j->ranges[r].size;
  c->numbers = tsr_key_column_memory(c->bases[c->range_count] * sizeof *c->numbers);
  j->owners = tsr_key_column_memory(c->bases[c->range_count] * sizeof *j->owners);
  if (!c->numbers || !j->owners) return false;
  for (uint32_t r = 0; r < c->range_count; r++) j->owners[c->bases[r]] = 0; /* the column's first key */
  tsr_parallel_each(parts, unite_parts, j);
  if (j->failed) return false;
  tsr_parallel_each(c->range_count, count_fresh, j);
  for (uint32_t r = 0; r < c->range_count; r++) j->fresh[r + 1] += j->fresh[r];
  c->size = j->fresh[c->range_count];
  c->firsts = tsr_key_column_memory(c->size * sizeof *c->firsts);
  if (!c->firsts) return false;
  tsr_parallel_each(c->range_count, number_fresh, j);
  tsr_parallel_each(c->range_count, number_others, j);
  tsr_parallel_each(parts, number_slots, j);
  return true;
}

/* ---- One range ------------------------------------------------------------------------------- */

/* Takes the counts out of short slots, which get the numbers. The first key has no slot: what was counted for it is in a free
 * one. */
static bool take_counts(tsr_key_column *c) {
  const tsr_key_column_set *set = &c->sets[0];
  tsr_key_column_short *const slots = set->slots;
  const uint32_t *const keys = c->keys, base = (uint32_t)set->base, shift = 64 - set->bits;
  const uint64_t asked = tsr_key_column_asked(set, c->size);
  c->counts = tsr_key_column_memory(c->size * sizeof *c->counts);
  if (!c->counts) return false;
  uint64_t others = 0;
  for (uint64_t i = 1; i < c->size; i++) {
    if (i < asked)
      __builtin_prefetch(&slots[tsr_key_column_hash(keys[c->firsts[i + TSR_KEY_COLUMN_AHEAD]] ^ base) >> shift], 1);
    tsr_key_column_short *slot =
        &slots[tsr_key_column_seek(set, keys[c->firsts[i]] ^ base, false, TSR_KEY_COLUMN_SHORT)];
    others += c->counts[i] = slot->word;
    slot->word = (uint32_t)i;
  }
  c->counts[0] = (uint32_t)(c->n - others);
  slots[tsr_key_column_seek(set, 0, false, TSR_KEY_COLUMN_SHORT)].word = 0;
  return true;
}

static bool number_all(job *j) {
  tsr_key_column *c = j->column;
  tsr_parallel_each(c->range_count, number_range, j);
  if (j->failed) return false;
  if (c->range_count > 1) return unite(j);
  c->sets = malloc(sizeof *c->sets);
  if (!c->sets) return false;
  c->sets[0] = j->ranges[0];
  j->ranges[0] = (tsr_key_column_set){.slots = NULL};
  c->size = c->sets[0].size;
  c->firsts = c->sets[0].firsts;
  c->sets[0].firsts = NULL;
  return c->sets[0].form != TSR_KEY_COLUMN_SHORT || !c->sets[0].counts || take_counts(c);
}

bool tsr_key_column_number(tsr_key_column *c) {
  enum {
    LEAST = 1 << 15, /* rows that are worth a thread */
    FEW = 2 /* threads that take longer than one: their sets are larger, and have to be united (specs/results/cpu.md) */
  };
  const uint64_t team = tsr_parallel_threads(), threads = team <= FEW ? 1 : team, most = (c->n + LEAST - 1) / LEAST;
  const uint64_t ranges = threads < most ? threads : most;
  c->likely = likely_distinct(c);
  c->range = (c->n + ranges - 1) / ranges;
  c->range_count = (uint32_t)((c->n + c->range - 1) / c->range);
  job j = {.column = c, .ranges = calloc(c->range_count, sizeof *j.ranges)};
  bool is_made = j.ranges != NULL;
  if (is_made && c->detail == TSR_KEY_COLUMN_NUMBERS && !c->written) {
    c->ids = tsr_key_column_memory(c->n * sizeof *c->ids);
    is_made = c->ids != NULL;
  }
  is_made = is_made && number_all(&j);
  for (uint32_t r = 0; j.ranges && r < c->range_count; r++) tsr_key_column_set_free(&j.ranges[r]);
  free(j.ranges);
  free(j.owners);
  free(j.fresh);
  if (is_made && c->written && c->numbers) { /* until now the numbers in the sets of ranges */
    tsr_key_column_write(c, c->written, NULL);
    free(c->numbers);
    c->numbers = NULL;
  }
  return is_made;
}

/* ---- The numbers of rows --------------------------------------------------------------------- */

typedef struct writing {
  const tsr_key_column *column;
  int64_t *numbers;
  uint32_t *shorts;
} writing;

static void write_rows(void *argument, uint64_t begin, uint64_t end) {
  const writing *w = argument;
  const tsr_key_column *c = w->column;
  for (uint64_t i = begin; i < end;) {
    const uint64_t range = i / c->range, after = (range + 1) * c->range, stop = after < end ? after : end;
    const uint32_t *numbers = c->numbers ? c->numbers + c->bases[range] : NULL;
    for (; i < stop; i++) {
      const uint64_t id = c->ids ? c->ids[i] : (uint64_t)c->written[i];
      const uint32_t number = numbers ? numbers[id] : (uint32_t)id;
      if (w->numbers) w->numbers[i] = number;
      if (w->shorts) w->shorts[i] = number;
    }
  }
}

void tsr_key_column_write(const tsr_key_column *c, int64_t *numbers, uint32_t *short_numbers) {
  if (numbers || short_numbers) tsr_parallel_for(c->n, write_rows, &(writing){c, numbers, short_numbers});
}
