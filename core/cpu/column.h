/* SPDX-License-Identifier: Apache-2.0
 *
 * A column of keys in host memory, numbered without a table: what the files column*.c share (tsr_key_column in tessera_tools.h).
 *
 * Chunks of rows bring their keys into the order of parts, by the first bits of a hash, each within its own memory. Then each
 * part numbers its keys by a set that fits the caches. At last each chunk reads these numbers in the order of its rows: the
 * first row of a key gets the next number of the column. So numbers do not depend on threads. A column of few distinct keys
 * has no parts: each of its ranges of rows has a set, and these are united.
 */
#ifndef TSR_CPU_COLUMN_H
#define TSR_CPU_COLUMN_H

#include <stdbool.h>

#include "core/tessera_tools.h"

enum {
  TSR_KEY_COLUMN_CHUNK = 1 << 16, /* rows: keys of 64 bits and their copy fit a second-level cache */
  TSR_KEY_COLUMN_PARTS_LOG2 =
      10, /* the most: with more, what a chunk has of a part would be shorter than a few lines */
  TSR_KEY_COLUMN_PARTS = 1 << TSR_KEY_COLUMN_PARTS_LOG2,
  TSR_KEY_COLUMN_PART_KEYS = 1 << 15, /* distinct keys of a part */
  /* With at most this many distinct keys a column has no parts: one thread alone asks for slots ahead, and parts would be two more
   * passes; several threads would unite sets one after the other. */
  TSR_KEY_COLUMN_ALONE_KEYS = 1 << 21,
  TSR_KEY_COLUMN_RANGE_KEYS = 1 << 14
};

typedef struct tsr_key_column_slot {
  uint64_t key;
  uint32_t number; /* in the set, plus 1; 0: the slot is free */
  uint32_t count;  /* rows */
} tsr_key_column_slot;

/* Open addressing. It grows, so the number of keys need not be known. */
typedef struct tsr_key_column_set {
  tsr_key_column_slot *slots;
  uint32_t bits;    /* log2 of slots */
  uint32_t size;    /* keys */
  uint32_t skip;    /* bits of a hash that chose the part */
  uint32_t *firsts; /* the first row of each key; NULL: not kept */
} tsr_key_column_set;

/* Keys in the order of parts, chunk by chunk. */
typedef struct tsr_key_column_parts {
  void *keys;        /* n; later the numbers of keys, each in the place of its key */
  uint32_t *offsets; /* of chunk c and part p, where it begins in the chunk: c * (1 << log2) + p */
  uint64_t n, chunks;
  uint32_t log2;
} tsr_key_column_parts;

struct tsr_key_column {
  const void *keys; /* the caller's */
  uint64_t n;
  uint32_t key_bytes;
  uint32_t set_count;         /* one per part, or per range of rows */
  tsr_key_column_set *sets;   /* without parts the first has all keys */
  tsr_key_column_parts parts; /* keys NULL: there are no parts */
  uint64_t range;             /* without parts: rows of a set */
  uint32_t *ids;              /* without parts: for each row the number of its key in the set of its range */
  uint32_t *seen;             /* with parts: how many keys part p has before chunk c: c * parts + p */
  uint64_t *chunk_first;      /* with parts: how many keys are first met before chunk c */
  uint64_t *bases;            /* where the numbers of a set begin in `numbers` */
  uint32_t *numbers;          /* of the column, of each key of each set */
  uint32_t *firsts;           /* the first row of each key of the column */
  bool is_numbered;           /* numbers and firsts are written */
  uint64_t size;              /* distinct keys */
  uint64_t likely;            /* about how many distinct keys a sample tells of */
  uint64_t *begins;           /* size + 1: where the rows of a key begin in `rows`; NULL: not asked for yet */
  uint32_t *rows;             /* the rows of each key, ascending */
};

static inline uint64_t tsr_key_column_key(const void *keys, uint64_t i, bool is_wide) {
  return is_wide ? ((const uint64_t *)keys)[i] : ((const uint32_t *)keys)[i];
}

/* Both halves of a product: each bit of the key changes the first bits of the hash. */
static inline uint64_t tsr_key_column_hash(uint64_t key) {
  const unsigned __int128 product = (unsigned __int128)(key ^ 0x9E3779B97F4A7C15u) * 0xD6E8FEB86659FD93u;
  return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

static inline uint64_t tsr_key_column_part(uint64_t hash, uint32_t log2) { return log2 ? hash >> (64 - log2) : 0; }

static inline uint64_t tsr_key_column_home(const tsr_key_column_set *set, uint64_t hash) {
  return hash << set->skip >> (64 - set->bits);
}

/* The number of a key in the set, plus 1; 0: it is not there. */
static inline uint32_t tsr_key_column_sought(const tsr_key_column_set *set, uint64_t key) {
  const uint64_t mask = (1ull << set->bits) - 1;
  uint64_t at = tsr_key_column_home(set, tsr_key_column_hash(key));
  /* a mask in place of a branch, since nobody could foresee which of the two ends the search */
  while (set->slots[at].number & (0u - (uint32_t)(set->slots[at].key != key))) at = (at + 1) & mask;
  return set->slots[at].number;
}

/* Memory that is accessed at random or once: in large pages. NULL if there is none, also for 0 bytes. */
void *tsr_key_column_memory(uint64_t bytes);

/* Brings n keys into the order of 1 << log2 parts. False: no memory. */
bool tsr_key_column_split(tsr_key_column_parts *parts, const void *keys, uint64_t n, uint32_t key_bytes, uint32_t log2);
void tsr_key_column_parts_free(tsr_key_column_parts *parts);

/* How many keys a set has room for before it grows: slots may be three quarters full. */
static inline uint32_t tsr_key_column_set_room(const tsr_key_column_set *set) {
  return (uint32_t)(3 * (1ull << set->bits) / 4);
}

/* Asks for the slot at which a key is sought first. */
static inline void tsr_key_column_ask(const tsr_key_column_set *set, uint64_t key) {
  __builtin_prefetch(&set->slots[tsr_key_column_home(set, tsr_key_column_hash(key))]);
}
enum { TSR_KEY_COLUMN_AHEAD = 16 }; /* rows between asking for a slot and looking at it */

/* An empty set with room for some keys. */
bool tsr_key_column_set_make(tsr_key_column_set *set, uint64_t keys, uint32_t skip);
void tsr_key_column_set_free(tsr_key_column_set *set);
/* Numbers the keys of a set: n of them, and where their numbers go, each of key_bytes. row: of the first one, where firsts are
 * kept. False: no memory. */
typedef struct tsr_key_column_run {
  const void *keys;
  void *ids;
  uint64_t n, row;
  uint32_t key_bytes, id_bytes;
} tsr_key_column_run;
bool tsr_key_column_set_number(tsr_key_column_set *set, const tsr_key_column_run *run);
/* Numbers one key that stands for `count` rows. */
bool tsr_key_column_set_add(tsr_key_column_set *set, uint64_t key, uint32_t row, uint32_t count, uint32_t *number);

/* Numbers the keys of the whole column, by sets. */
bool tsr_key_column_number(tsr_key_column *column);
/* Writes the numbers of rows in the order of rows, where wanted; the first time also numbers and firsts of keys. */
void tsr_key_column_write(tsr_key_column *column, int64_t *numbers, uint32_t *short_numbers);

#endif
