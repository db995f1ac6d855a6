/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a saved table: a head, the spec's text, a row for each region and a checksum of all that (the front), and
 * the regions:
 *
 *   head | text | row row ... | checksum | bytes of region 0 | bytes of region 1 | ...
 *
 * Every number is little-endian and 8 bytes wide or half of that. Included by save.c and by tests that make such files;
 * users of tables save and load them (tessera.h).
 *
 * TSR_SAVE_VERSION counts the changes of this format, and of what the core itself lays out: the stash, the buckets of the
 * reserved keys, the units of lists. Where a part puts a pair is the part's own matter. A file does not name versions of
 * plugins, because nothing would force their authors to raise them; what the parts at hand make of the memory is tried
 * instead, on a sample.
 *
 * | version | written by | today |
 * | 1       | no release | refused |
 * | 2       | 0.1.0      | read: where a table is laid out differently today, its pairs are moved |
 * | 3       | since      | read and written |
 *
 * What differs since 0.1.0 (tsr_compose_as_saved in ../compose/compose.h): multisets and multimaps note what key 0 stands for in each
 * bucket, lists made in bulk have two more for the reserved keys, and small tables of short keys have more buckets.
 */
#ifndef TSR_SAVE_FORMAT_H
#define TSR_SAVE_FORMAT_H

#include <stdint.h>
#include <string.h>

#include "plugins/table.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "saved tables are written as they are in memory: little-endian"
#endif

#define TSR_SAVE_MAGIC "TSRTAB\r\n"
#define TSR_SAVE_SHARDS_MAGIC "TSRDEV\r\n"

enum {
  TSR_SAVE_VERSION = 3,
  TSR_SAVE_OLDEST = 2, /* that is read */
  TSR_SAVE_VALUES =
      TSR_STATE_ROLES, /* the role of what belongs to no part, behind all regions: rows of value_bytes, or which
                                  numbers of an index are free */
  TSR_SAVE_REGIONS_MAX = TSR_STATE_ROLES * TSR_REGIONS_MAX + 1,
  TSR_SAVE_TEXT_MAX = 1 << 18,
  TSR_SAVE_SAMPLE_PAIRS = 4096
};

typedef struct tsr_save_head {
  char magic[8];
  uint32_t version, has_erased;
  uint64_t text_bytes, region_count;
  uint64_t capacity, seed, buckets, pairs;
  uint64_t sample; /* the sum of tsr_save_pair over the pairs in the first tsr_save_sample_buckets buckets */
  uint64_t file_bytes;
} tsr_save_head;

typedef struct tsr_save_row {
  uint32_t role, index; /* of the part, and of the region in it */
  char name[48];
  uint64_t bytes, checksum;
} tsr_save_row;

/* The file of a table of several devices: this head, the spec's text, and then of each shard what would be a file of its
 * own. */
typedef struct tsr_save_shards_head {
  char magic[8];
  uint32_t version, shards;
  uint64_t text_bytes, capacity, seed; /* capacity: of all shards */
  uint32_t first_bin[64];
  uint64_t ends[64]; /* of each shard, where its part of the file ends */
  uint64_t checksum; /* of all before it, and of the text */
} tsr_save_shards_head;

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

/* As many buckets as hold about TSR_SAVE_SAMPLE_PAIRS of the pairs, or all if there are fewer. */
static inline uint64_t tsr_save_sample_buckets(const tsr_save_head *head) {
  if (head->pairs <= TSR_SAVE_SAMPLE_PAIRS) return head->buckets;
  return (uint64_t)((double)head->buckets / (double)head->pairs * TSR_SAVE_SAMPLE_PAIRS) + 1;
}

/* Pairs come in any order, so their numbers are added up. A set's values are 0. */
static inline uint64_t tsr_save_pair(const tsr_save_head *head, uint64_t key, uint64_t value) {
  return tsr_save_checksum(tsr_save_checksum(head->version, &key, sizeof key), &value, sizeof value);
}

static inline uint64_t tsr_save_front_bytes(const tsr_save_head *head) {
  return sizeof *head + head->text_bytes + head->region_count * sizeof(tsr_save_row) + sizeof(uint64_t);
}

/* rows: as they are in the file, at any address. */
static inline uint64_t tsr_save_front_checksum(const tsr_save_head *head, const void *text, const void *rows) {
  uint64_t sum = tsr_save_checksum(head->version, head, sizeof *head);
  sum = tsr_save_checksum(sum, text, head->text_bytes);
  return tsr_save_checksum(sum, rows, head->region_count * sizeof(tsr_save_row));
}

#endif
