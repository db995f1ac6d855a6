/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a key become one: what that means, and the steps that do it for items whose keys have numbers. Every
 * combination is one of three operations on 64 bits, for which zero changes nothing: a sum of whole numbers, a sum of
 * doubles, or the largest of unsigned numbers. Signed and floating-point values have unsigned numbers in the same order, and the
 * least value has the largest complement. ../batch/groups.cu does the same page by page. Read next: steps.h.
 */
#ifndef TSR_KERNELS_AGGREGATE_H
#define TSR_KERNELS_AGGREGATE_H

#include <string.h>

#include "core/kernels/steps.h"

/* TSR_COMBINE_ and TSR_VALUES_ of tessera.h. */
enum { TSR_AGGREGATE_SUM, TSR_AGGREGATE_MIN, TSR_AGGREGATE_MAX };
enum {
  TSR_AGGREGATE_U32,
  TSR_AGGREGATE_I32,
  TSR_AGGREGATE_F32,
  TSR_AGGREGATE_U64,
  TSR_AGGREGATE_I64,
  TSR_AGGREGATE_F64
};

/* A column of values. */
typedef struct tsr_aggregate {
  const void *values;
  void *combined; /* of each key */
  uint32_t type, how;
} tsr_aggregate;

/* ---- What values become ---------------------------------------------------------------------- */

#define TSR_AGGREGATE_SIGN (1ull << 63)

TSR_STEP_FUNCTION uint64_t tsr_aggregate_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
TSR_STEP_FUNCTION double tsr_aggregate_double(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TSR_STEP_FUNCTION float tsr_aggregate_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TSR_STEP_FUNCTION uint32_t tsr_aggregate_is_floating(uint32_t type) {
  return type == TSR_AGGREGATE_F32 || type == TSR_AGGREGATE_F64;
}
TSR_STEP_FUNCTION uint32_t tsr_aggregate_bytes(uint32_t type) { return type >= TSR_AGGREGATE_U64 ? 8 : 4; }

/* What a value offers, of which these are the bits. */
TSR_STEP_FUNCTION uint64_t tsr_aggregate_offered(const tsr_aggregate *a, uint64_t value) {
  uint64_t bits = value, ordered;
  if (a->type == TSR_AGGREGATE_I32) bits = (uint64_t)(int64_t)(int32_t)(uint32_t)value;
  if (a->type == TSR_AGGREGATE_F32) bits = tsr_aggregate_bits((double)tsr_aggregate_float((uint32_t)value));
  if (a->how == TSR_AGGREGATE_SUM) return bits;
  ordered = bits;
  if (tsr_aggregate_is_floating(a->type) && bits & TSR_AGGREGATE_SIGN)
    ordered = ~bits;
  else if (a->type != TSR_AGGREGATE_U32 && a->type != TSR_AGGREGATE_U64)
    ordered = bits ^ TSR_AGGREGATE_SIGN;
  return a->how == TSR_AGGREGATE_MIN ? ~ordered : ordered;
}

/* What item i offers. */
TSR_STEP_FUNCTION uint64_t tsr_aggregate_offer(const tsr_aggregate *a, uint64_t i) {
  return tsr_aggregate_offered(a, tsr_aggregate_bytes(a->type) == 8 ? ((const uint64_t *)a->values)[i]
                                                                    : ((const uint32_t *)a->values)[i]);
}

TSR_STEP_FUNCTION uint64_t tsr_aggregate_of(const tsr_aggregate *a, uint64_t one, uint64_t other) {
  if (a->how != TSR_AGGREGATE_SUM) return one > other ? one : other;
  if (!tsr_aggregate_is_floating(a->type)) return one + other;
  return tsr_aggregate_bits(tsr_aggregate_double(one) + tsr_aggregate_double(other));
}

/* Relaxed: a barrier or the next step comes before anybody reads the sum. */
TSR_STEP_FUNCTION void tsr_aggregate_at(const tsr_aggregate *a, uint64_t *to, uint64_t offer) {
#ifdef __CUDACC__
  if (a->how != TSR_AGGREGATE_SUM)
    atomicMax((unsigned long long *)to, (unsigned long long)offer);
  else if (tsr_aggregate_is_floating(a->type))
    atomicAdd((double *)to, tsr_aggregate_double(offer));
  else
    atomicAdd((unsigned long long *)to, (unsigned long long)offer);
#else
  uint64_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(to, &seen, tsr_aggregate_of(a, seen, offer), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {}
#endif
}

/* Writes what key `at` has. */
TSR_STEP_FUNCTION void tsr_aggregate_put(const tsr_aggregate *a, uint64_t at, uint64_t sum) {
  uint64_t bits = a->how == TSR_AGGREGATE_MIN ? ~sum : sum;
  if (a->how == TSR_AGGREGATE_SUM) {
    ((uint64_t *)a->combined)[at] = sum;
    return;
  }
  if (tsr_aggregate_is_floating(a->type) && !(bits & TSR_AGGREGATE_SIGN))
    bits = ~bits;
  else if (a->type != TSR_AGGREGATE_U32 && a->type != TSR_AGGREGATE_U64)
    bits ^= TSR_AGGREGATE_SIGN;
  if (a->type == TSR_AGGREGATE_F32)
    ((float *)a->combined)[at] = (float)tsr_aggregate_double(bits);
  else if (tsr_aggregate_bytes(a->type) == 8)
    ((uint64_t *)a->combined)[at] = bits;
  else
    ((uint32_t *)a->combined)[at] = (uint32_t)bits;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* add   each item offers its value to the sum of its key
 * put   each sum becomes what its key has
 * pass  each item whose value is above `most` adds 1 to the only sum: counts of 8 and 16 bits are stored in 32 */
#define TSR_AGGREGATE_STEPS(ITEM)                                                                                      \
  ITEM(add)                                                                                                            \
  ITEM(put)                                                                                                            \
  ITEM(pass)
#define TSR_AGGREGATE_ENUM(step) TSR_AGGREGATE_##step,
enum { TSR_AGGREGATE_STEPS(TSR_AGGREGATE_ENUM) TSR_AGGREGATE_STEP_COUNT };

typedef struct tsr_aggregate_step {
  uint64_t n;
  tsr_aggregate column;
  const uint32_t *numbers;   /* of the items' keys */
  uint64_t *sums;            /* of keys, zero at first */
  uint64_t most;             /* pass */
  const uint8_t *operations; /* pass: those above `last` offer nothing; NULL: all items insert */
  uint32_t last;
} tsr_aggregate_step;

TSR_STEP_FUNCTION void tsr_aggregate_add_item(const tsr_aggregate_step *s, uint64_t i) {
  tsr_aggregate_at(&s->column, &s->sums[s->numbers[i]], tsr_aggregate_offer(&s->column, i));
}
TSR_STEP_FUNCTION void tsr_aggregate_put_item(const tsr_aggregate_step *s, uint64_t i) {
  tsr_aggregate_put(&s->column, i, s->sums[i]);
}

TSR_STEP_FUNCTION void tsr_aggregate_pass_item(const tsr_aggregate_step *s, uint64_t i) {
  const uint64_t value = tsr_aggregate_bytes(s->column.type) == 8 ? ((const uint64_t *)s->column.values)[i]
                                                                  : ((const uint32_t *)s->column.values)[i];
  if (value <= s->most || (s->operations && s->operations[i] > s->last)) return;
#ifdef __CUDACC__
  atomicAdd((unsigned long long *)s->sums, 1ull);
#else
  __atomic_fetch_add(s->sums, 1, __ATOMIC_RELAXED);
#endif
}

TSR_STEPS(tsr_aggregate_steps)

#endif
