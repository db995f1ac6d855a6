/* SPDX-License-Identifier: Apache-2.0
 *
 * A column of keys in host memory, numbered without a table (tsr_key_column in tessera_tools.h): what the files column*.c
 * share.
 *
 * Each thread puts the keys of a range of rows into a set of its own, in the order of rows, and asks for slots ahead. With several
 * threads these sets are united: each thread takes the keys whose hashes are in one part, from all sets, in the order of hashes.
 * A key belongs to the first range that has it, so numbers do not depend on threads.
 */
#ifndef TSR_CPU_COLUMN_H
#define TSR_CPU_COLUMN_H

#include <stdbool.h>

#include "core/tessera_tools.h"

/* A free slot has key 0. */
typedef struct tsr_key_column_slot {
  uint64_t key;
  uint32_t number, count; /* count: rows */
} tsr_key_column_slot;

/* Half as large, of 32-bit keys: twice as many fit into a cache. */
typedef struct tsr_key_column_short {
  uint32_t key, word; /* word: the number; while rows are counted, how many */
} tsr_key_column_short;

/* What the slots of a set are. */
typedef enum tsr_key_column_form {
  TSR_KEY_COLUMN_WHOLE, /* tsr_key_column_slot */
  TSR_KEY_COLUMN_SHORT, /* tsr_key_column_short */
  TSR_KEY_COLUMN_PLAIN, /* keys of key_bytes alone */
} tsr_key_column_form;

/* Open addressing. It grows, so the number of keys need not be known. Slots have keys XOR the first key of the column, which thus
 * needs no slot: it is found in any free one, with number 0. */
typedef struct tsr_key_column_set {
  void *slots;
  uint64_t base;
  uint32_t key_bytes;
  tsr_key_column_form form;
  bool counts;      /* a short slot has how many rows there are */
  uint32_t bits;    /* log2 of slots */
  uint32_t skip;    /* bits of a hash that chose the set */
  uint32_t size;    /* keys, with the first key of the column */
  uint32_t *firsts; /* the first row of each key, in the order of numbers; NULL: not kept */
} tsr_key_column_set;

struct tsr_key_column {
  const void *keys; /* the caller's */
  uint64_t n;
  uint32_t key_bytes;
  uint32_t detail;          /* as asked for */
  uint32_t parts_log2;      /* of a hash, its first bits */
  tsr_key_column_set *sets; /* a set per part */
  uint64_t range;           /* rows of a thread's set */
  uint32_t range_count;
  uint32_t *ids;     /* of each row: the number of its key in the set of its range; NULL: not kept */
  int64_t *written;  /* the numbers of rows, in the caller's array; NULL: not there */
  uint64_t *bases;   /* where the numbers of a range's keys begin in `numbers`; NULL: there is one range */
  uint32_t *numbers; /* of the column, of each key of each range; NULL: what is kept of rows are these */
  uint32_t *firsts;  /* the first row of each key of the column */
  uint32_t *counts;  /* of each key; NULL: whole slots have them, or the numbers of rows tell */
  uint64_t size;     /* distinct keys */
  uint64_t likely;   /* about how many distinct keys a sample tells of */
  uint32_t *begins;  /* size + 2: where a key's rows begin in `rows` (column_pairs.c); NULL: not needed */
  uint32_t *rows;    /* the rows of each key, ascending */
};

/* is_wide, and form below, are constants where these functions are called. */
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

static inline uint64_t tsr_key_column_slot_key(const void *slots, uint64_t at, bool is_wide, tsr_key_column_form form) {
  if (form == TSR_KEY_COLUMN_SHORT) return ((const tsr_key_column_short *)slots)[at].key;
  return form == TSR_KEY_COLUMN_PLAIN ? tsr_key_column_key(slots, at, is_wide)
                                      : ((const tsr_key_column_slot *)slots)[at].key;
}

static inline uint64_t tsr_key_column_slot_bytes(const tsr_key_column_set *set) {
  return set->form == TSR_KEY_COLUMN_PLAIN   ? set->key_bytes
         : set->form == TSR_KEY_COLUMN_SHORT ? sizeof(tsr_key_column_short)
                                             : sizeof(tsr_key_column_slot);
}

enum {
  TSR_KEY_COLUMN_AHEAD = 32,      /* rows between asking for a slot and looking at it */
  TSR_KEY_COLUMN_CACHED = 1 << 17 /* bytes of slots for which it is not worth asking */
};

/* Of n rows, before which ones those ahead are asked for. */
static inline uint64_t tsr_key_column_asked(const tsr_key_column_set *set, uint64_t n) {
  const bool is_cached = tsr_key_column_slot_bytes(set) << set->bits <= TSR_KEY_COLUMN_CACHED;
  return is_cached || n < TSR_KEY_COLUMN_AHEAD ? 0 : n - TSR_KEY_COLUMN_AHEAD;
}

static inline void tsr_key_column_ask(const void *slots, uint64_t at, bool is_wide, tsr_key_column_form form) {
  const uint64_t bytes = form == TSR_KEY_COLUMN_WHOLE              ? sizeof(tsr_key_column_slot)
                         : form == TSR_KEY_COLUMN_SHORT || is_wide ? sizeof(uint64_t)
                                                                   : sizeof(uint32_t);
  __builtin_prefetch((const char *)slots + at * bytes);
}

/* The slot that has a key, XOR the base, or the free one at which the search for it ends. */
__attribute__((always_inline)) static inline uint64_t tsr_key_column_seek(const tsr_key_column_set *set, uint64_t key,
                                                                          bool is_wide, tsr_key_column_form form) {
  const uint64_t mask = (1ull << set->bits) - 1;
  uint64_t at = tsr_key_column_home(set, tsr_key_column_hash(key));
  for (;; at = (at + 1) & mask) {
    const uint64_t own = tsr_key_column_slot_key(set->slots, at, is_wide, form);
    /* one branch, since nobody could foresee which of the two ends the search; GCC must not see through it, or makes two */
    uint32_t ends = (uint32_t)(own == key) | (uint32_t)(own == 0);
    __asm__("" : "+r"(ends));
    if (ends) return at;
  }
}

/* Memory in large pages, where the system has them. */
void *tsr_key_column_memory(uint64_t bytes);

/* An empty set with room for some keys, of the base and the kind that it has been given. A set that many rows are looked up in,
 * and that a cache holds, is mostly empty: then a search ends at its first slot, and the processor foresees that.
 * rows: about how many are looked up; 0: few. False: no memory. */
bool tsr_key_column_set_make(tsr_key_column_set *set, uint64_t keys, uint64_t rows);
void tsr_key_column_set_free(tsr_key_column_set *set);

/* Makes the set twice as large if it is half full. */
bool tsr_key_column_set_grow(tsr_key_column_set *set);

/* Before many rows are looked up in a set that takes no more keys: as it would have been made for them. */
void tsr_key_column_set_spread(tsr_key_column_set *set, uint64_t rows);

/* n keys that a set is to have, the row of the first one, and where the numbers of all go, if one is not NULL. */
typedef struct tsr_key_column_run {
  const void *keys;
  uint64_t n, row;
  uint32_t *ids;
  int64_t *wide_ids;
} tsr_key_column_run;
bool tsr_key_column_set_take(tsr_key_column_set *set, const tsr_key_column_run *run);

/* Puts the keys of the whole column into sets. */
bool tsr_key_column_number(tsr_key_column *column);

/* The number of the key of a row. Of a column with numbers. */
static inline uint32_t tsr_key_column_number_of(const tsr_key_column *c, uint64_t row) {
  const uint64_t id = c->ids ? c->ids[row] : (uint64_t)c->written[row];
  return c->numbers ? c->numbers[c->bases[row / c->range] + id] : (uint32_t)id;
}

/* Writes the numbers of rows, where wanted, in two widths. */
void tsr_key_column_write(const tsr_key_column *column, int64_t *numbers, uint32_t *short_numbers);

#endif
