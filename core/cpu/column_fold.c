/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of rows, combined by the numbers of their keys (tsr_combine_by_number in tessera_tools.h).
 *
 * Rows go by in blocks that a cache holds, once for each aggregate, and each thread has aggregates of its own, which are united
 * in the end. Where numbers are many for the rows, fewer threads work.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/parallel.h"
#include "core/sized.h"
#include "core/tessera_tools.h"

enum {
  BLOCK = 1 << 11,      /* rows */
  LEAST_ROWS = 1 << 16, /* of a thread */
  SHARE = 4             /* a thread has at least this many rows per number */
};

/* What is made of the rows of a number. All words have 64 bits but the extremes of narrow values. */
typedef enum part { COUNT, SUM, CARRY, NEAR, LEAST, LARGEST, PARTS } part;

typedef void fold_block(const int64_t *numbers, const void *values, uint64_t n, void *const *made);
typedef void fold_made(void *into, const void *from, uint64_t begin, uint64_t end);

/* ---- Loops for each type of values ----------------------------------------------------------- */

static void count_rows(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {
  (void)values;
  uint64_t *counts = made[COUNT];
  for (uint64_t i = 0; i < n; i++) counts[numbers[i]]++;
}

/* WIDE: the type of sums. Whole numbers wrap. A NaN stays the least and the largest number, since nothing compares with it. */
#define FOLDS(TYPE, T, WIDE)                                                                                           \
  static void sum_##TYPE(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {                  \
    const T *own = values;                                                                                             \
    WIDE *sums = made[SUM];                                                                                            \
    for (uint64_t i = 0; i < n; i++) sums[numbers[i]] += (WIDE)own[i];                                                 \
  }                                                                                                                    \
  static void least_##TYPE(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {                \
    const T *own = values;                                                                                             \
    T *least = made[LEAST];                                                                                            \
    for (uint64_t i = 0; i < n; i++) {                                                                                 \
      const T former = least[numbers[i]];                                                                              \
      least[numbers[i]] = own[i] < former || own[i] != own[i] ? own[i] : former;                                       \
    }                                                                                                                  \
  }                                                                                                                    \
  static void largest_##TYPE(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {              \
    const T *own = values;                                                                                             \
    T *largest = made[LARGEST];                                                                                        \
    for (uint64_t i = 0; i < n; i++) {                                                                                 \
      const T former = largest[numbers[i]];                                                                            \
      largest[numbers[i]] = own[i] > former || own[i] != own[i] ? own[i] : former;                                     \
    }                                                                                                                  \
  }                                                                                                                    \
  static void unite_sums_##TYPE(void *into, const void *from, uint64_t begin, uint64_t end) {                          \
    WIDE *sums = into;                                                                                                 \
    for (uint64_t k = begin; k < end; k++) sums[k] += ((const WIDE *)from)[k];                                         \
  }                                                                                                                    \
  static void unite_least_##TYPE(void *into, const void *from, uint64_t begin, uint64_t end) {                         \
    T *least = into;                                                                                                   \
    const T *own = from;                                                                                               \
    for (uint64_t k = begin; k < end; k++) least[k] = own[k] < least[k] || own[k] != own[k] ? own[k] : least[k];       \
  }                                                                                                                    \
  static void unite_largest_##TYPE(void *into, const void *from, uint64_t begin, uint64_t end) {                       \
    T *largest = into;                                                                                                 \
    const T *own = from;                                                                                               \
    for (uint64_t k = begin; k < end; k++) largest[k] = own[k] > largest[k] || own[k] != own[k] ? own[k] : largest[k]; \
  }
FOLDS(U32, uint32_t, uint64_t)
FOLDS(I32, int32_t, uint64_t)
FOLDS(F32, float, double)
FOLDS(U64, uint64_t, uint64_t)
FOLDS(I64, int64_t, uint64_t)
FOLDS(F64, double, double)
#undef FOLDS

/* Sums that may not have room in 64 bits: also how often they went past, and the sums as doubles. */
static void sum_all_U64(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {
  const uint64_t *own = values;
  uint64_t *sums = made[SUM];
  int64_t *carries = made[CARRY];
  double *near = made[NEAR];
  for (uint64_t i = 0; i < n; i++) {
    carries[numbers[i]] += __builtin_add_overflow(sums[numbers[i]], own[i], &sums[numbers[i]]);
    near[numbers[i]] += (double)own[i];
  }
}
static void sum_all_I64(const int64_t *numbers, const void *values, uint64_t n, void *const *made) {
  const int64_t *own = values;
  int64_t *sums = made[SUM], *carries = made[CARRY];
  double *near = made[NEAR];
  for (uint64_t i = 0; i < n; i++) {
    const int64_t passed = __builtin_add_overflow(sums[numbers[i]], own[i], &sums[numbers[i]]);
    carries[numbers[i]] += own[i] < 0 ? -passed : passed;
    near[numbers[i]] += (double)own[i];
  }
}

/* Their union: carries first, as they depend on the sums before it. */
static void unite_carried(void *const *into, void *const *from, bool is_signed, uint64_t begin, uint64_t end) {
  uint64_t *sums = into[SUM];
  int64_t *carries = into[CARRY];
  for (uint64_t k = begin; k < end; k++) {
    const uint64_t own = sums[k], other = ((const uint64_t *)from[SUM])[k];
    int64_t sum = 0;
    const int64_t passed = is_signed ? __builtin_add_overflow((int64_t)own, (int64_t)other, &sum) : own + other < own;
    carries[k] += ((const int64_t *)from[CARRY])[k] + (is_signed && (int64_t)other < 0 ? -passed : passed);
    sums[k] = own + other;
    ((double *)into[NEAR])[k] += ((const double *)from[NEAR])[k];
  }
}

typedef struct type_folds {
  uint32_t bytes;
  fold_block *sum, *least, *largest, *sum_all; /* sum_all: NULL, sums have room */
  fold_made *unite_sums, *unite_least, *unite_largest;
  uint64_t lowest, highest; /* the bits of the type's smallest and greatest number */
} type_folds;
#define ROW(TYPE, bytes, all, lowest, highest)                                                                         \
  [TSR_VALUES_##TYPE] = {bytes,                                                                                        \
                         sum_##TYPE,                                                                                   \
                         least_##TYPE,                                                                                 \
                         largest_##TYPE,                                                                               \
                         all,                                                                                          \
                         unite_sums_##TYPE,                                                                            \
                         unite_least_##TYPE,                                                                           \
                         unite_largest_##TYPE,                                                                         \
                         lowest,                                                                                       \
                         highest}
static const type_folds of_type[] = {
    ROW(U32, 4, NULL, 0, UINT32_MAX),
    ROW(I32, 4, NULL, 0x80000000u, INT32_MAX),
    ROW(F32, 4, NULL, 0xFF800000u, 0x7F800000u), /* infinities */
    ROW(U64, 8, sum_all_U64, 0, UINT64_MAX),
    ROW(I64, 8, sum_all_I64, 1ull << 63, INT64_MAX),
    ROW(F64, 8, NULL, 0xFFF0000000000000u, 0x7FF0000000000000u),
};
#undef ROW

/* ---- All rows -------------------------------------------------------------------------------- */

typedef struct folding {
  const tsr_numbered_values *wanted;
  const type_folds *type;
  bool is_wanted[PARTS];
  uint64_t threads;
  void **made;    /* PARTS of each thread; those of the first are the caller's */
  uint64_t sizes; /* see may_pass */
  uint64_t wrong; /* a row whose number is too large, plus 1; 0: none was met */
} folding;

static uint64_t word_bytes(const folding *f, uint32_t which) {
  return which == LEAST || which == LARGEST ? f->type->bytes : sizeof(uint64_t);
}

static void fill(const folding *f, uint32_t which, void *words) {
  const uint64_t n = f->wanted->distinct, start = which == LEAST ? f->type->highest : f->type->lowest;
  if (which != LEAST && which != LARGEST)
    memset(words, 0, n * sizeof(uint64_t));
  else if (f->type->bytes == 4)
    for (uint64_t k = 0; k < n; k++) ((uint32_t *)words)[k] = (uint32_t)start;
  else
    for (uint64_t k = 0; k < n; k++) ((uint64_t *)words)[k] = start;
}

/* Whether all numbers of a block are below `distinct`. Relaxed: it is read after the team has returned. */
static bool knows_all(folding *f, uint64_t at, uint64_t n) {
  const int64_t *numbers = f->wanted->numbers + at;
  uint64_t most = 0;
  for (uint64_t i = 0; i < n; i++) most = (uint64_t)numbers[i] > most ? (uint64_t)numbers[i] : most;
  if (most < f->wanted->distinct) return true;
  uint64_t i = 0;
  while ((uint64_t)numbers[i] < f->wanted->distinct) i++;
  __atomic_store_n(&f->wrong, at + i + 1, __ATOMIC_RELAXED);
  return false;
}

static void fold_rows(void *argument, uint64_t first, uint64_t last) {
  folding *f = argument;
  const tsr_numbered_values *w = f->wanted;
  for (uint64_t t = first; t < last; t++) {
    void *const *made = f->made + t * PARTS;
    for (uint32_t which = 0; which < PARTS; which++)
      if (made[which]) fill(f, which, made[which]);
    const uint64_t end = w->n * (t + 1) / f->threads;
    for (uint64_t at = w->n * t / f->threads; at < end; at += BLOCK) {
      const uint64_t n = end - at < BLOCK ? end - at : BLOCK;
      if (!knows_all(f, at, n)) return;
      const int64_t *numbers = w->numbers + at;
      const void *values = w->values ? (const char *)w->values + at * f->type->bytes : NULL;
      if (made[COUNT]) count_rows(numbers, values, n, made);
      if (made[SUM]) (made[CARRY] ? f->type->sum_all : f->type->sum)(numbers, values, n, made);
      if (made[LEAST]) f->type->least(numbers, values, n, made);
      if (made[LARGEST]) f->type->largest(numbers, values, n, made);
    }
  }
}

static void unite_counts(void *into, const void *from, uint64_t begin, uint64_t end) {
  uint64_t *counts = into;
  for (uint64_t k = begin; k < end; k++) counts[k] += ((const uint64_t *)from)[k];
}

static void unite(void *argument, uint64_t begin, uint64_t end) {
  const folding *f = argument;
  for (uint64_t t = 1; t < f->threads; t++) {
    void *const *into = f->made, *const *from = f->made + t * PARTS;
    if (into[COUNT]) unite_counts(into[COUNT], from[COUNT], begin, end);
    if (into[CARRY])
      unite_carried(into, from, f->wanted->type == TSR_VALUES_I64, begin, end);
    else if (into[SUM])
      f->type->unite_sums(into[SUM], from[SUM], begin, end);
    if (into[LEAST]) f->type->unite_least(into[LEAST], from[LEAST], begin, end);
    if (into[LARGEST]) f->type->unite_largest(into[LARGEST], from[LARGEST], begin, end);
  }
}

/* The bits of the sizes of whole numbers, over all values. Relaxed: they are read after the team has returned. */
static void gather_sizes(void *argument, uint64_t begin, uint64_t end) {
  folding *f = argument;
  const uint64_t *values = f->wanted->values;
  const bool is_signed = f->wanted->type == TSR_VALUES_I64;
  uint64_t sizes = 0;
  for (uint64_t i = begin; i < end; i++) sizes |= is_signed && values[i] >> 63 ? 0 - values[i] : values[i];
  __atomic_fetch_or(&f->sizes, sizes, __ATOMIC_RELAXED);
}

/* Whether sums may go past 64 bits: not if a number at least as large as all of them does not, n times. */
static bool may_pass(folding *f) {
  const tsr_numbered_values *w = f->wanted;
  if (!f->type->sum_all || (!w->sums && !w->near)) return false;
  tsr_parallel_for(w->n, gather_sizes, f);
  uint64_t product;
  return __builtin_mul_overflow(f->sizes, w->n, &product) ||
         (w->type == TSR_VALUES_I64 && product > (uint64_t)INT64_MAX);
}

static uint64_t threads_for(const tsr_numbered_values *w) {
  const uint64_t all = tsr_parallel_threads(), by_rows = w->n / LEAST_ROWS,
                 by_numbers = w->n / SHARE / (w->distinct ? w->distinct : 1),
                 least = by_rows < by_numbers ? by_rows : by_numbers;
  return least < 1 ? 1 : least < all ? least : all;
}

/* The caller's arrays, for the first thread, and memory for all others and for what the caller has no array for. NULL: none. */
static void *share_memory(folding *f, void *const *callers) {
  const uint64_t pointers = sizeof *f->made * PARTS * f->threads;
  uint64_t bytes = pointers, words[PARTS];
  for (uint32_t which = 0; which < PARTS; which++) {
    words[which] = f->is_wanted[which] ? (f->wanted->distinct * word_bytes(f, which) + 7) / 8 * 8 : 0;
    bytes += words[which] * (f->threads - (callers[which] ? 1 : 0));
  }
  char *memory = malloc(bytes);
  if (!memory) return NULL;
  char *at = memory + pointers;
  f->made = (void **)memory;
  for (uint64_t t = 0; t < f->threads; t++)
    for (uint32_t which = 0; which < PARTS; which++) {
      const bool is_callers = t == 0 && callers[which];
      f->made[t * PARTS + which] = !f->is_wanted[which] ? NULL : is_callers ? callers[which] : at;
      at += is_callers ? 0 : words[which];
    }
  return memory;
}

static tsr_status check_values(const tsr_numbered_values *w, tsr_error *error) {
  const bool reads = w->sums || w->near || w->least || w->largest;
  if (w->type > TSR_VALUES_F64)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_combine_by_number: type = %u: one of TSR_VALUES_U32 to F64", w->type);
  if (w->n && (!w->numbers || (reads && !w->values)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_combine_by_number: %s is NULL, but n = %llu",
                    w->numbers ? "values" : "numbers", (unsigned long long)w->n);
  return TSR_OK;
}

/* How many sums have wrapped; and all as doubles, where they are not made of the values. */
static void tell_sums(const folding *f, uint64_t *passed) {
  const tsr_numbered_values *w = f->wanted;
  const int64_t *carries = f->made[CARRY];
  uint64_t count = 0;
  for (uint64_t k = 0; carries && k < w->distinct; k++) count += carries[k] != 0;
  if (passed) *passed = count;
  if (!w->near || carries) return;
  if (w->type == TSR_VALUES_F32 || w->type == TSR_VALUES_F64) {
    memcpy(w->near, f->made[SUM], w->distinct * sizeof *w->near);
    return;
  }
  const uint64_t *sums = f->made[SUM];
  const bool is_signed = w->type == TSR_VALUES_I32 || w->type == TSR_VALUES_I64;
  for (uint64_t k = 0; k < w->distinct; k++) w->near[k] = is_signed ? (double)(int64_t)sums[k] : (double)sums[k];
}

tsr_status tsr_combine_by_number(const tsr_numbered_values *values, uint64_t *passed, tsr_error *error) {
  tsr_numbered_values w;
  tsr_status status = tsr_take_over("tsr_combine_by_number", &w, values, sizeof w, error);
  if (status == TSR_OK) status = check_values(&w, error);
  if (status) return status;
  folding f = {.wanted = &w, .type = &of_type[w.type], .threads = threads_for(&w)};
  const bool carries = may_pass(&f);
  void *const callers[PARTS] = {w.counts, w.sums, NULL, w.near, w.least, w.largest};
  for (uint32_t which = 0; which < PARTS; which++) f.is_wanted[which] = callers[which] != NULL;
  f.is_wanted[SUM] |= f.is_wanted[NEAR];
  f.is_wanted[CARRY] = carries;
  f.is_wanted[NEAR] = carries;
  void *memory = share_memory(&f, callers);
  if (!memory)
    return tsr_fail(error, TSR_NO_MEMORY, "tsr_combine_by_number: no memory for %llu numbers",
                    (unsigned long long)w.distinct);
  tsr_parallel_each(f.threads, fold_rows, &f);
  if (f.wrong) {
    status =
        tsr_fail(error, TSR_BAD_ARGUMENT,
                 "tsr_combine_by_number: numbers[%llu] = %lld: numbers are at least 0 and below distinct = %llu",
                 (unsigned long long)f.wrong - 1, (long long)w.numbers[f.wrong - 1], (unsigned long long)w.distinct);
  } else {
    if (f.threads > 1) tsr_parallel_for(w.distinct, unite, &f);
    tell_sums(&f, passed);
  }
  free(memory);
  return status;
}
