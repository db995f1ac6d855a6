/* SPDX-License-Identifier: Apache-2.0
 *
 * The only file that a kernel of your own includes to work on tables. Such a file is compiled for a GPU by NVRTC when the
 * program runs, or earlier by nvcc, and for the cpu backend by the system's C compiler. So it keeps to what C and CUDA C
 * have in common. The host's half is tessera_kernels.h.
 *
 *   #include "tessera.cuh"
 *
 *   TSR_TABLE(counts, inserts)
 *
 *   TSR_KERNEL(count, (tsr_table_ref counts, const uint32_t *keys, uint64_t n)) {
 *     const uint64_t i = tsr_item();
 *     const uint32_t mine = i < n;
 *     tsr_insert(counts, mine, mine ? keys[i] : 0, 1);
 *   }
 *
 * TSR_TABLE(name, does) declares a table and what all kernels of the file do with it: finds, inserts or erases; `all` for
 * all three at once, which needs concurrency = mixed; or scans, where the items are the table's pairs. Only the functions of
 * that class are there. A kernel takes the table as a parameter of this name and of type tsr_table_ref, before all other
 * parameters. So does a function of yours that works on it.
 *
 * Law: all lanes of a warp make each call together, whatever the table's tile_lanes. Each lane passes its own key, or
 * mine = 0 if it has none; then nothing is done and 0 is returned. So a call must not be in a branch that lanes of a warp
 * take differently; if_any(condition) { } is a branch that a warp takes together. Threads past the last item run as
 * well: hence i < n. Blocks have TSR_KERNEL_THREADS threads.
 *
 * TSR_TABLE_128(name, does) is the same for a table with keys of 128 bits, which are tsr_key128 in its calls.
 * tsr_key128_of(lower, upper) makes one of two numbers, and tsr_lower(key) and tsr_upper(key) are these. An array of keys is a
 * tsr_key128 *, and begins at a multiple of 16 bytes. On a GPU such a table needs compute capability 9.0.
 *
 * Keys and values are uint64_t in other calls, whatever widths the table has; larger numbers are cut off. In a table with
 * value_bytes a value is the address of a row, as a number: tsr_row(value) is the row, and tsr_row_value(&mine) is the
 * value from which an insert copies its row. A row of yours is aligned like a uint32_t; those of the table begin at
 * multiples of value_bytes. Only the table writes to its rows.
 */
#ifndef TESSERA_CUH
#define TESSERA_CUH

#include <stdbool.h>
#include <stdint.h>

/* What an insert did, with the numbers of TSR_INSERTED and so on in tessera.h; 0 for mine = 0. */
enum { TSR_WAS_INSERTED = 1, TSR_WAS_PRESENT, TSR_WAS_REPLACED, TSR_WAS_COMBINED, TSR_WAS_NOT_PLACED, TSR_WAS_FOUND };

enum { TSR_KERNEL_THREADS = 256 };

typedef unsigned __int128 tsr_key128;
#define tsr_key128_of(lower, upper) ((tsr_key128)(uint64_t)(upper) << 64 | (uint64_t)(lower))
#define tsr_lower(key) ((uint64_t)(tsr_key128)(key))
#define tsr_upper(key) ((uint64_t)((tsr_key128)(key) >> 64))

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct tsr_kernel_run {
  uint64_t items; /* of the launch */
  uint64_t item;  /* the CPU's */
} tsr_kernel_run;

#ifdef __CUDACC__
#define TSR_KERNEL_DEVICE extern "C" __device__
#define TSR_KERNEL_INLINE static __device__ __forceinline__ __attribute__((unused))

typedef struct tsr_table_ref { /* the library's to fill: where the table is, by value */
  uint64_t words[62];
} tsr_table_ref;

/* Blocks that a multiprocessor holds. The library compiles a text for other numbers, until it needs no stack. What nvcc
 * compiles has one variant, without a bound. */
#if !defined(TSR_KERNEL_BLOCKS) && !defined(__CUDACC_RTC__)
#define TSR_KERNEL_BLOCKS 1
#endif
#ifdef TSR_KERNEL_BLOCKS
#define TSR_KERNEL_BOUNDS_ __launch_bounds__(TSR_KERNEL_THREADS, TSR_KERNEL_BLOCKS)
#else
#define TSR_KERNEL_BOUNDS_ __launch_bounds__(TSR_KERNEL_THREADS)
#endif
#define TSR_KERNEL(name, parameters) extern "C" __global__ void TSR_KERNEL_BOUNDS_ name TSR_WITH_RUN_ parameters

TSR_KERNEL_INLINE uint64_t tsr_item_of_(const tsr_kernel_run *run) {
  (void)run;
  return blockIdx.x * (uint64_t)TSR_KERNEL_THREADS + threadIdx.x;
}
TSR_KERNEL_INLINE bool tsr_any(uint32_t condition) { return __any_sync(0xFFFFFFFFu, condition != 0) != 0; }
TSR_KERNEL_INLINE uint64_t tsr_add(uint64_t *sum, uint64_t value) {
  return atomicAdd((unsigned long long *)sum, (unsigned long long)value);
}
TSR_KERNEL_INLINE uint64_t tsr_append(uint64_t *length, uint32_t mine) {
  const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, mine != 0), lane = threadIdx.x & 31u;
  uint64_t at = 0;
  if (lane == 0 && lanes) at = tsr_add(length, (uint64_t)__popc(lanes));
  at = __shfl_sync(0xFFFFFFFFu, (unsigned long long)at, 0);
  return at + (uint64_t)__popc(lanes & ((1u << lane) - 1u));
}
#else
#define TSR_KERNEL_DEVICE
#define TSR_KERNEL_INLINE static inline __attribute__((always_inline, unused))

typedef struct tsr_table_ref {
  const void *table;
} tsr_table_ref;

#define TSR_KERNEL(name, parameters)                                                                                   \
  static inline __attribute__((always_inline, unused)) void name TSR_WITH_RUN_ parameters

TSR_KERNEL_INLINE uint64_t tsr_item_of_(const tsr_kernel_run *run) { return run->item; }
TSR_KERNEL_INLINE bool tsr_any(uint32_t condition) { return condition != 0; }
TSR_KERNEL_INLINE uint64_t tsr_add(uint64_t *sum, uint64_t value) {
  return __atomic_fetch_add(sum, value, __ATOMIC_RELAXED);
}
TSR_KERNEL_INLINE uint64_t tsr_append(uint64_t *length, uint32_t mine) { return mine ? tsr_add(length, 1) : 0; }
#endif
#define TSR_WITH_RUN_(...) (const tsr_kernel_run tsr_run_, __VA_ARGS__)

/* This thread's item, and how many the launch has; in the body of a kernel. */
#define tsr_item() tsr_item_of_(&tsr_run_)
#define tsr_items() (tsr_run_.items)

/* if_any: a branch that a warp takes together, if the condition holds for any of its lanes (tsr_any).
 * tsr_add(sum, value): adds to a number in memory to which many threads add, and returns what it was before.
 * tsr_append(length, mine): reserves for each lane with `mine` one place at the end of a list, adds their number to *length,
 * and returns the index of the lane's place. All lanes of the warp call it together. */
#define if_any(condition) if (tsr_any(condition))

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The position of a lane in the values of its key; private to the library. */
typedef struct tsr_values {
  uint64_t key, ref, word[2];
  uint32_t visited, stashed, page, passed, walks, bucket;
  uint64_t upper; /* of a key of 128 bits */
} tsr_values;

#define TSR_TABLE_finds(table, key_type)                                                                               \
  TSR_KERNEL_DEVICE uint32_t tsr_find_in_##table(const void *t, uint32_t mine, key_type key, uint64_t *value);         \
  TSR_KERNEL_DEVICE uint32_t tsr_contains_in_##table(const void *t, uint32_t mine, key_type key);                      \
  TSR_KERNEL_DEVICE uint64_t tsr_count_in_##table(const void *t, uint32_t mine, key_type key);                         \
  TSR_KERNEL_DEVICE void tsr_values_in_##table(const void *t, uint32_t mine, key_type key, tsr_values *values);        \
  TSR_KERNEL_DEVICE uint32_t tsr_next_value_in_##table(const void *t, tsr_values *values, uint64_t *value);            \
  TSR_KERNEL_DEVICE void *tsr_row_in_##table(const void *t, uint64_t number);                                          \
  TSR_KERNEL_INLINE tsr_values tsr_values_of_##table(const void *t, uint32_t mine, key_type key) {                     \
    tsr_values values;                                                                                                 \
    tsr_values_in_##table(t, mine, key, &values);                                                                      \
    return values;                                                                                                     \
  }
#define TSR_TABLE_scans(table, key_type)                                                                               \
  TSR_KERNEL_DEVICE void tsr_pairs_in_##table(const void *t, uint32_t mine, uint64_t item, tsr_values *values);        \
  TSR_KERNEL_DEVICE uint32_t tsr_next_pair_in_##table(const void *t, tsr_values *values, key_type *key,                \
                                                      uint64_t *value, uint32_t *is_there);                            \
  TSR_KERNEL_INLINE tsr_values tsr_pairs_of_##table(const void *t, uint32_t mine, uint64_t item) {                     \
    tsr_values values;                                                                                                 \
    tsr_pairs_in_##table(t, mine, item, &values);                                                                      \
    return values;                                                                                                     \
  }
#define TSR_TABLE_inserts(table, key_type)                                                                             \
  TSR_KERNEL_DEVICE uint32_t tsr_insert_in_##table(const void *t, uint32_t mine, key_type key, uint64_t value);        \
  TSR_KERNEL_DEVICE uint32_t tsr_insert_pair_in_##table(const void *t, uint32_t mine, key_type *key, uint64_t *value); \
  TSR_KERNEL_DEVICE uint32_t tsr_find_or_insert_in_##table(const void *t, uint32_t mine, key_type key,                 \
                                                           uint64_t *value);                                           \
  TSR_KERNEL_DEVICE uint32_t tsr_number_in_##table(const void *t, uint32_t mine, key_type key, uint64_t *number);      \
  TSR_KERNEL_DEVICE void *tsr_row_in_##table(const void *t, uint64_t number);
#define TSR_TABLE_erases(table, key_type)                                                                              \
  TSR_KERNEL_DEVICE uint64_t tsr_erase_in_##table(const void *t, uint32_t mine, key_type key);
#define TSR_TABLE_all(table, key_type)                                                                                 \
  TSR_TABLE_finds(table, key_type) TSR_TABLE_inserts(table, key_type) TSR_TABLE_erases(table, key_type)
#define TSR_TABLE(table, does) TSR_TABLE_##does(table, uint64_t)
#define TSR_TABLE_128(table, does) TSR_TABLE_##does(table, tsr_key128)

/* In a table with value_bytes: the row of a value, and the value of a row that is to be inserted. */
#define tsr_row(value) ((const void *)(uint64_t)(value))
#define tsr_row_value(row) ((uint64_t)(row))

/* finds: returns 1 if the key is present, and writes its value to *value, a uint64_t; in a multimap any one of them. */
#define tsr_find(table, mine, key, value) tsr_find_in_##table(&(table), mine, key, value)
/* finds: returns 1 if the key is present; in a filter, if it may be, and a filter has no other call of this class. */
#define tsr_contains(table, mine, key) tsr_contains_in_##table(&(table), mine, key)
/* finds: returns the number of the key's pairs. */
#define tsr_count(table, mine, key) tsr_count_in_##table(&(table), mine, key)
/* finds, before a statement or block: a loop over the values of each lane's key, one value per lane at a time. value, a
 * uint64_t, and is_there, a uint32_t, are variables of yours; in the block is_there is 1 if this lane has a value. All
 * lanes run the loop as often as the lane with the most values, so the block may contain calls. Do not break out of it. */
#define tsr_for_each_value(table, mine, key, value, is_there)                                                          \
  for (tsr_values tsr_of_##value = tsr_values_of_##table(&(table), mine, key);                                         \
       tsr_any(is_there = tsr_next_value_in_##table(&(table), &tsr_of_##value, &(value)));)
/* scans, in the same way: a loop over the pairs of the table. Each item is a bucket, so the library sets the number of
 * items. A kernel scans one table. */
#define tsr_for_each_pair(table, key, value, is_there)                                                                 \
  for (tsr_values tsr_of_##value = tsr_pairs_of_##table(&(table), tsr_item() < tsr_items(), tsr_item());               \
       tsr_next_pair_in_##table(&(table), &tsr_of_##value, &(key), &(value), &(is_there));)
/* inserts: as tsr_insert of tessera.h, by the spec's `duplicates`; returns one of TSR_WAS_. The table's report counts pairs
 * that found no room and sums past the largest value (overflow = report). */
#define tsr_insert(table, mine, key, value) tsr_insert_in_##table(&(table), mine, key, value)
/* inserts: the same. With TSR_WAS_NOT_PLACED it writes the pair that was handed back to *key and *value, both uint64_t; it
 * may be another pair, which was in the table before. A row that is handed back is complete when the kernel has ended, and
 * valid until the next insert. */
#define tsr_insert_pair(table, mine, key, value) tsr_insert_pair_in_##table(&(table), mine, key, value)
/* inserts: inserts an absent key with *value. If the key is present, writes its value to *value and returns TSR_WAS_FOUND.
 * Needs a layout that stores pairs whole, and a spec that looks up keys. Not with value_bytes, as another lane's row may
 * not be written yet. */
#define tsr_find_or_insert(table, mine, key, value) tsr_find_or_insert_in_##table(&(table), mine, key, value)
/* inserts, of an index, which has this call alone: writes the number of the key to *number, a uint64_t, and returns
 * TSR_WAS_FOUND. An absent key is inserted and gets a free number, with TSR_WAS_INSERTED. The lanes of all warps that pass
 * one key get one number. With TSR_WAS_NOT_PLACED there was no room, and *number stays as it was. Needs a layout that
 * stores pairs whole, and a scheme that moves nothing. */
#define tsr_number(table, mine, key, number) tsr_number_in_##table(&(table), mine, key, number)
/* finds, inserts: of an index with value_bytes the row of a number, which the kernel may read and write. The number of a key
 * that was inserted may have been another key's: its row has what that key left. Threads that write one row are yours to order. */
#define tsr_row_of(table, number) tsr_row_in_##table(&(table), number)
/* erases: erases the key with all its pairs; returns the number of these pairs. */
#define tsr_erase(table, mine, key) tsr_erase_in_##table(&(table), mine, key)

#endif
