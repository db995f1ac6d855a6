/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of other libraries, which `tessera bench SPEC --beside FILE.so` measures in the same run: with the same keys, in
 * turns, with every answer checked. FILE.so exports tsr_rival_list. This header needs no library, and C++ reads it too.
 * examples/rivals has adapters and a page on writing one.
 *
 * Arrays are in host memory, or for a rival with on_device in the memory of the device. A function that can fail returns NULL
 * or a sentence that says why; the sentence lives until the next call. A function that is NULL is an operation that the
 * rival does not have: its row says so.
 */
#ifndef TESSERA_RIVAL_H
#define TESSERA_RIVAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_RIVAL_INTERFACE 3 /* changes with what stands below */

/* Of an index `unique` alone is asked, of a multimap no `find`, but `find_all`. */
typedef enum tsr_rival_kind {
  TSR_RIVAL_SET,
  TSR_RIVAL_MAP,
  TSR_RIVAL_COUNTER,
  TSR_RIVAL_INDEX,
  TSR_RIVAL_MULTIMAP
} tsr_rival_kind;

/* What becomes of pairs of one key. A counter has no values to insert: it counts how often each key came. A multimap keeps all
 * pairs. */
typedef enum tsr_rival_merge {
  TSR_RIVAL_KEEP_ONE, /* one of the values stays, whichever */
  TSR_RIVAL_KEEP_FIRST,
  TSR_RIVAL_KEEP_LAST,
  TSR_RIVAL_ADD,
  TSR_RIVAL_MIN,
  TSR_RIVAL_MAX,
  TSR_RIVAL_DISTINCT /* no key comes twice */
} tsr_rival_merge;

typedef struct tsr_rival_shape {
  uint32_t kind, merge;
  uint32_t key_bits, value_bits; /* 32 or 64; value_bits of a set: 0; of a counter: of its counts;
                                    of an index: 32 */
  uint64_t capacity;             /* distinct keys that will be inserted; of a multimap pairs */
  double load_factor;            /* how full they should make the table; it may have more room if it must */
  uint32_t threads;              /* of the CPU, at most */
  int32_t device;                /* the number of a GPU, from 0; -1: the host */
} tsr_rival_shape;

typedef struct tsr_rival {
  const char *name;
  const char *about;  /* versions of library and compiler, flags: the column `compiler` of its rows */
  uint32_t on_device; /* 1: works on device arrays, in streams of CUDA */
  uint32_t threads;   /* that it uses; 0: those of the shape */

  /* Makes an empty table. A shape that the rival cannot have is refused with a sentence. */
  const char *(*create)(const tsr_rival_shape *shape, void **table);
  void (*destroy)(void *table);
  /* The following may return before their work is done, if it is in the stream: a cudaStream_t, and NULL on the host. */
  const char *(*clear)(void *table, void *stream);
  const char *(*insert)(void *table, uint64_t n, const void *keys, const void *values, void *stream);
  /* Writes the value of each key, or `missing` cut to the width. values of a set: a byte per key, 1 or 0. */
  const char *(*find)(void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *stream);
  const char *(*erase)(void *table, uint64_t n, const void *keys, void *stream);
  /* How many of the table's keys the other table has as well. */
  const char *(*join)(void *table, void *other, uint64_t *matches, void *stream);
  /* How many keys the table holds, when all work in the stream is done; of a multimap pairs. */
  const char *(*count)(void *table, uint64_t *keys, void *stream);
  uint64_t (*bytes)(void *table); /* of its memory; 0: not known */
  /* Of the batch alone: writes the distinct keys in any order, and how many they are. counts: how often each comes; inverse:
   * which of them each of the n keys is. Both may be NULL. Waits. */
  const char *(*unique)(void *table, uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts,
                        uint32_t *inverse, uint64_t *distinct, void *stream);
  /* Of a multimap: values of key i go to values[offsets[i]] and the following, in any order; offsets[n] is how many there are,
   * `room` at most. */
  const char *(*find_all)(void *table, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room, void *values,
                          void *stream);
} tsr_rival;

/* The rivals of a file: *count of them, which live as long as the file is open. NULL: they have another interface. */
__attribute__((visibility("default"))) const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count);

#ifdef __cplusplus
}
#endif
#endif
