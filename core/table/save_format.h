/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a saved table: a head, the spec's text, a row for each region and a checksum of all that (the front), and
 * the regions:
 *
 *   head | text | row row ... | checksum | bytes of region 0 | bytes of region 1 | ...
 *
 * Every number is little-endian and 8 bytes wide or half of that. Included by save.c and by tests that make such files;
 * users of tables save and load them (tessera.h).
 */
#ifndef TSR_SAVE_FORMAT_H
#define TSR_SAVE_FORMAT_H

#include <stdint.h>
#include <string.h>

#include "plugins/table.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "saved tables are written as they lie in memory: little-endian"
#endif

#define TSR_SAVE_MAGIC "TSRTAB\r\n"

enum { TSR_SAVE_VERSION = 1, TSR_SAVE_REGIONS_MAX = TSR_ROLES * TSR_REGIONS_MAX, TSR_SAVE_TEXT_MAX = 1 << 18 };

typedef struct tsr_save_head {
  char magic[8];
  uint32_t version, abi;
  uint64_t text_bytes, region_count;
  uint64_t capacity, seed, buckets, pairs, has_erased;
  uint64_t file_bytes;
} tsr_save_head;

typedef struct tsr_save_row {
  uint32_t role, index; /* of the part, and of the region in it */
  char name[48];
  uint64_t bytes, checksum;
} tsr_save_row;

/* Each step is a bijection of the state for a given word, so one changed word never cancels out. A region's state
 * starts at 0, and its blocks may be summed one after the other if they are whole words. */
static inline uint64_t tsr_save_checksum(uint64_t state, const void *data, uint64_t bytes) {
  const char *at = data;
  while (bytes) {
    uint64_t word = 0, step = bytes < sizeof word ? bytes : sizeof word;
    memcpy(&word, at, step);
    state = (state ^ word) * 0xFF51AFD7ED558CCDu;
    state ^= state >> 29;
    at += step;
    bytes -= step;
  }
  return state;
}

static inline uint64_t tsr_save_front_bytes(const tsr_save_head *head) {
  return sizeof *head + head->text_bytes + head->region_count * sizeof(tsr_save_row) + sizeof(uint64_t);
}

/* rows: as they lie in the file, at any address. */
static inline uint64_t tsr_save_front_checksum(const tsr_save_head *head, const void *text, const void *rows) {
  uint64_t sum = tsr_save_checksum(TSR_SAVE_VERSION, head, sizeof *head);
  sum = tsr_save_checksum(sum, text, head->text_bytes);
  return tsr_save_checksum(sum, rows, head->region_count * sizeof(tsr_save_row));
}

#endif
