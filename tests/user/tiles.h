// SPDX-License-Identifier: Apache-2.0
//
// What a user's kernel calls (core/kernels/user.cuh), for one lane of a warp that is run by hand. Keys and values have 32
// bits. Read next: tiles_test.cc.
#ifndef TSR_TESTS_USER_TILES_H
#define TSR_TESTS_USER_TILES_H

#include "core/kernels/bulk.h"
#include "plugins/device.cuh"

#ifdef __cplusplus
extern "C" {
#endif

uint32_t tiles_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t key, uint32_t value);
/* *value: what is offered, then what the key has. */
uint32_t tiles_find_or_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t key, uint32_t *value);
/* Of rows of 16 bytes; row: what is written. */
typedef struct tiles_rows {
  char *rows;
  uint32_t *taken, *written;
  uint64_t words; /* of either: a bit for each row */
} tiles_rows;
uint32_t tiles_insert_row(const tsr_ctx *c, tsr_tally *tally, const tiles_rows *rows, uint32_t replaces, uint32_t mine,
                          uint32_t key, const uint32_t *row);
uint32_t tiles_find(const tsr_ctx *c, uint32_t mine, uint32_t key, uint64_t *value);
uint64_t tiles_count(const tsr_ctx *c, uint32_t mine, uint32_t key);
uint64_t tiles_erase(const tsr_ctx *c, uint32_t mine, uint32_t key);
// How many values come, and their sum.
uint64_t tiles_values(const tsr_ctx *c, uint32_t mine, uint32_t key, uint64_t *sum);
// How many pairs come from bucket `item`, and the sum of 3 * key + value.
uint64_t tiles_pairs(const tsr_ctx *c, uint32_t mine, uint64_t item, uint64_t *sum);

#ifdef __cplusplus
}
#endif
#endif
