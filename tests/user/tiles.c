// SPDX-License-Identifier: Apache-2.0
//
// tiles.h, from the source of the kernels.
#define _POSIX_C_SOURCE 199309L // clock_gettime
#include "tests/user/tiles.h"

#include "core/kernels/user.cuh"

uint32_t tiles_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t key, uint32_t value) {
  return user_insert(c, tally, mine, TSR_FACT(c, duplicates), &key, &value);
}

uint32_t tiles_find_or_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t key, uint32_t *value) {
  return user_insert(c, tally, mine, POLICY_FIND_OR_INSERT, &key, value);
}

uint32_t tiles_insert_row(const tsr_ctx *c, tsr_tally *tally, const tiles_rows *rows, uint32_t replaces, uint32_t mine,
                          uint32_t key, const uint32_t *row) {
  const user_table table = {.tally = tally, .rows = {rows->rows, rows->taken, rows->written, rows->words}};
  uint64_t wide_key = key, value = (uint64_t)row;
  return user_insert_row(c, &table, 16, replaces, mine, &wide_key, &value);
}

uint32_t tiles_find(const tsr_ctx *c, uint32_t mine, uint32_t key, uint64_t *value) {
  return user_find(c, mine, key, value);
}

uint64_t tiles_count(const tsr_ctx *c, uint32_t mine, uint32_t key) { return user_count(c, mine, key); }
uint64_t tiles_erase(const tsr_ctx *c, uint32_t mine, uint32_t key) { return user_erase(c, mine, key); }

uint64_t tiles_values(const tsr_ctx *c, uint32_t mine, uint32_t key, uint64_t *sum) {
  user_values values;
  uint64_t value = 0, count = 0;
  user_values_begin(c, mine, key, &values);
  for (uint32_t is_there = 1; tsr_warp_any(c, is_there);) {
    is_there = user_values_next(c, &values, &value);
    count += is_there;
    if (is_there) *sum += value;
  }
  return count;
}

uint64_t tiles_pairs(const tsr_ctx *c, uint32_t mine, uint64_t item, uint64_t *sum) {
  user_values values = {.passed = 0};
  uint64_t key = 0, value = 0, count = 0;
  uint32_t is_there = 0;
  values.walks = bulk_scanned(c, item, mine, &values.ref);
  while (user_pairs_next(c, &values, &key, &value, &is_there)) {
    count += is_there;
    if (is_there) *sum += 3 * key + value;
  }
  return count;
}
