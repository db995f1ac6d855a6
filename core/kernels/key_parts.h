/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps that make keys of columns, and columns of keys: their list, their argument, and what an item does. Read next:
 * steps.h, ../table/key_parts.c.
 */
#ifndef TSR_KEY_PART_STEPS_H
#define TSR_KEY_PART_STEPS_H

#include "core/kernels/steps.h"

#define TSR_KEY_PART_STEPS(ITEM)                                                                                       \
  ITEM(pack)                                                                                                           \
  ITEM(unpack)
#define TSR_KEY_PART_ENUM(step) TSR_KEY_PART_##step,
enum { TSR_KEY_PART_STEPS(TSR_KEY_PART_ENUM) TSR_KEY_PART_STEP_COUNT };

enum { TSR_PACKED_MAX = 16 };

typedef struct tsr_packed_part {
  char *items; /* NULL: not wanted */
  uint64_t stride;
  uint32_t bytes, offset; /* of an item; in the key */
} tsr_packed_part;

typedef struct tsr_key_parts_run {
  uint64_t n;
  char *keys;
  uint32_t key_bytes, count;
  tsr_packed_part column[TSR_PACKED_MAX];
} tsr_key_parts_run;

/* A number at any address: a struct may be packed. */
TSR_STEP_FUNCTION uint64_t tsr_packed_load(const char *at, uint32_t bytes) {
  uint64_t number = 0;
  if (((uint64_t)(uintptr_t)at & (bytes - 1)) == 0) {
    switch (bytes) {
    case 8:
      return *(const uint64_t *)(const void *)at;
    case 4:
      return *(const uint32_t *)(const void *)at;
    case 2:
      return *(const uint16_t *)(const void *)at;
    default:
      return *(const uint8_t *)at;
    }
  }
  for (uint32_t byte = 0; byte < bytes; byte++) number |= (uint64_t)(uint8_t)at[byte] << 8 * byte;
  return number;
}

TSR_STEP_FUNCTION void tsr_packed_store(char *at, uint32_t bytes, uint64_t number) {
  if (((uint64_t)(uintptr_t)at & (bytes - 1)) == 0) {
    switch (bytes) {
    case 8:
      *(uint64_t *)(void *)at = number;
      return;
    case 4:
      *(uint32_t *)(void *)at = (uint32_t)number;
      return;
    case 2:
      *(uint16_t *)(void *)at = (uint16_t)number;
      return;
    default:
      *(uint8_t *)at = (uint8_t)number;
      return;
    }
  }
  for (uint32_t byte = 0; byte < bytes; byte++) at[byte] = (char)(number >> 8 * byte);
}

/* A column may begin in the lower half of a key and end in the upper one. */
TSR_STEP_FUNCTION void tsr_key_parts_pack_item(const tsr_key_parts_run *r, uint64_t i) {
  const uint32_t half = r->key_bytes < 8 ? r->key_bytes : 8;
  uint64_t low = 0, high = 0;
  for (uint32_t c = 0; c < r->count; c++) {
    const tsr_packed_part *column = &r->column[c];
    const uint64_t number = tsr_packed_load(column->items + i * column->stride, column->bytes);
    const uint32_t shift = 8 * column->offset;
    if (shift < 64) low |= number << shift;
    if (shift >= 64)
      high |= number << (shift - 64);
    else if (shift)
      high |= number >> (64 - shift);
  }
  char *const key = r->keys + i * r->key_bytes;
  tsr_packed_store(key, half, low);
  if (r->key_bytes > 8) tsr_packed_store(key + 8, 8, high);
}

TSR_STEP_FUNCTION void tsr_key_parts_unpack_item(const tsr_key_parts_run *r, uint64_t i) {
  const char *const key = r->keys + i * r->key_bytes;
  const uint64_t low = tsr_packed_load(key, r->key_bytes < 8 ? r->key_bytes : 8);
  const uint64_t high = r->key_bytes > 8 ? tsr_packed_load(key + 8, 8) : 0;
  for (uint32_t c = 0; c < r->count; c++) {
    const tsr_packed_part *column = &r->column[c];
    const uint32_t shift = 8 * column->offset;
    const uint64_t number = shift >= 64 ? high >> (shift - 64) : shift ? low >> shift | high << (64 - shift) : low;
    if (column->items) tsr_packed_store(column->items + i * column->stride, column->bytes, number);
  }
}

TSR_STEPS(tsr_key_parts_steps)

#endif
