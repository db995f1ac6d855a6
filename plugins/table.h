/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host and the device both know of a table: roles, kinds, policies, result codes, the composition constants
 * and the run-time state. Included by plugin.h (host half of a plugin) and device.cuh (device half); compiles as C11,
 * C++, CUDA C and under NVRTC. Nothing here depends on key or value widths.
 */
#ifndef TSR_TABLE_H
#define TSR_TABLE_H

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
#else
#include <stdbool.h>
#include <stdint.h>
#endif

#define TSR_JOIN_(a, b) a##b
#define TSR_JOIN(a, b) TSR_JOIN_(a, b)
#define TSR_TEXT_(a) #a
#define TSR_TEXT(a) TSR_TEXT_(a)

/* In the order in which the parts plan. Those before TSR_STATE_ROLES have state and regions. */
enum {
  TSR_ROLE_HASHER,
  TSR_ROLE_LAYOUT,
  TSR_ROLE_ALLOCATOR,
  TSR_ROLE_PROBING,
  TSR_ROLE_EVICTION,
  TSR_ROLES,
  TSR_STATE_ROLES = TSR_ROLE_EVICTION
};

#define TSR_ROLE_OF_hasher TSR_ROLE_HASHER
#define TSR_ROLE_OF_layout TSR_ROLE_LAYOUT
#define TSR_ROLE_OF_allocator TSR_ROLE_ALLOCATOR
#define TSR_ROLE_OF_probing TSR_ROLE_PROBING
#define TSR_ROLE_OF_eviction TSR_ROLE_EVICTION

/* What the table means. */
enum { TSR_KIND_SET, TSR_KIND_MAP, TSR_KIND_MULTISET, TSR_KIND_MULTIMAP, TSR_KIND_COUNTER, TSR_KIND_FILTER, TSR_KINDS };

/* What inserting a present key does to its value. All but `first` and `replace` commute. */
enum {
  TSR_DUPLICATES_FIRST,   /* the entry stays; within one batch any one of the offered values wins */
  TSR_DUPLICATES_REPLACE, /* overwritten; within one batch any one of the offered values wins */
  TSR_DUPLICATES_ADD,     /* sum modulo 2^value_bits; with the fact tells_overflow sums that pass it are counted */
  TSR_DUPLICATES_MIN,
  TSR_DUPLICATES_MAX,
  TSR_DUPLICATES_PROMISE_UNIQUE, /* the caller promises new, distinct keys: nothing is looked up */
  TSR_DUPLICATES_KEEP,           /* multiset, multimap: no key is ever present to an insert; every pair is kept */
  TSR_DUPLICATES_COUNT_8,        /* counter: a sum that stops at 2^8 - 1 */
  TSR_DUPLICATES_COUNT_16,       /* ... at 2^16 - 1 */
  TSR_DUPLICATES_COUNT,          /* ... at 2^value_bits - 1 */
  TSR_DUPLICATES_POLICIES
};

/* Whether a policy counts, makes one value of several, and looks for the key. */
#define TSR_POLICY_COUNTS(policy) ((policy) >= TSR_DUPLICATES_COUNT_8 && (policy) <= TSR_DUPLICATES_COUNT)
#define TSR_POLICY_COMBINES(policy)                                                                                    \
  (((policy) >= TSR_DUPLICATES_REPLACE && (policy) <= TSR_DUPLICATES_MAX) || TSR_POLICY_COUNTS(policy))
#define TSR_POLICY_LOOKS(policy) ((policy) != TSR_DUPLICATES_PROMISE_UNIQUE && (policy) != TSR_DUPLICATES_KEEP)

/* phased: operations of one class (insert, find, erase) overlap, classes are ordered. mixed: all overlap. */
enum { TSR_CONCURRENCY_PHASED, TSR_CONCURRENCY_MIXED, TSR_CONCURRENCIES };

/* How an insert keeps a key unique under races. The core chooses from facts, never from a plugin's name. */
enum {
  TSR_GUARD_NONE,  /* promise_unique; multiset, multimap */
  TSR_GUARD_CLAIM, /* the claim's own CAS: nothing moves, the lowest empty slot of the walk is claimed, phased */
  TSR_GUARD_LOCK   /* the key's lock, held over look and write */
};

/* What an operation did with one key. Values are stable: they are stored in result arrays. */
enum {
  TSR_RESULT_NONE,
  TSR_RESULT_INSERTED,
  TSR_RESULT_PRESENT,    /* insert, policy first: the key was there and nothing changed */
  TSR_RESULT_REPLACED,   /* insert, policy replace */
  TSR_RESULT_COMBINED,   /* insert, policies add, min, max, and those that count */
  TSR_RESULT_NOT_PLACED, /* insert: no slot; one pair, perhaps another one, was handed back at this index */
  TSR_RESULT_FOUND,
  TSR_RESULT_MISSING,
  TSR_RESULT_ERASED,
  TSR_RESULTS,
  TSR_RESULT_EVICTED = 32 /* insert: another pair was given up for this one, and handed back at this index */
};

/* How an index can keep the scores of an eviction part, by its fact index_scores: not at all, as the clock of a key's last
 * use, or as the number of its uses. */
enum { TSR_SCORES_NONE, TSR_SCORES_CLOCK, TSR_SCORES_USES };

/* The facts of a composition (plugin.h says who writes each) that parts and the kit may read in device code, where they
 * are constants: TSR_FACT(c, tile_lanes) (device.cuh), and a line of the glue module. */
#define TSR_FACTS(F)                                                                                                   \
  F(bucket_slots)                                                                                                      \
  F(bucket_places)                                                                                                     \
  F(has_link)                                                                                                          \
  F(tile_lanes)                                                                                                        \
  F(share_lanes)                                                                                                       \
  F(unit_bytes)                                                                                                        \
  F(first_slots)                                                                                                       \
  F(duplicates)                                                                                                        \
  F(guard)                                                                                                             \
  F(is_mixed)                                                                                                          \
  F(keys_stay)                                                                                                         \
  F(warp_sync)                                                                                                         \
  F(is_paged)                                                                                                          \
  F(has_lists)                                                                                                         \
  F(in_page)                                                                                                           \
  F(fingerprint_bits)                                                                                                  \
  F(statistics)                                                                                                        \
  F(tells_overflow)

/* A bucket is named by its index, or by this and the handle of the unit that it is in. */
#define TSR_UNIT_REF (1ull << 63)
#define TSR_NO_HANDLE 0xFFFFFFFFu

/* 32-bit words of a bucket that one lane can hold: a GPU's lane has 255 registers, a CPU's holds every bucket whole. */
#ifdef __CUDACC__
enum { TSR_BUCKET_WORDS = 64 };
#else
enum { TSR_BUCKET_WORDS = 128 };
#endif

enum {
  TSR_REGIONS_MAX = 4,      /* regions of one part */
  TSR_STATE_WORDS = 8,      /* by-value state of one part */
  TSR_TAIL_RESERVED = 2,    /* tail buckets for the keys whose bits mark empty and erased slots, one bucket each */
  TSR_HISTOGRAM_BINS = 32,  /* keys by the buckets they looked at: 0, 1, .., the last is that many or more */
  TSR_PAGE_LISTS_LOG2 = 12, /* lists of a page, the part of them that a block of threads makes at once */
  TSR_PAGE_LISTS = 1 << TSR_PAGE_LISTS_LOG2,
  TSR_BUILD_BYTES_MAX = 64 << 10, /* memory of build() for a page */
  TSR_BUILD_THREADS = 128,        /* of a block of the GPU that builds one */
  TSR_BLOCK_THREADS = 256
};

/* Sizes, pointers and seeds: state, so that a new capacity never relinks. Passed to kernels by value. */
typedef struct tsr_part_state {
  void *region[TSR_REGIONS_MAX]; /* as asked for in plan(), in that order */
  uint64_t word[TSR_STATE_WORDS];
} tsr_part_state;

typedef struct tsr_state {
  uint64_t buckets;       /* that a walk can name: those of one page, or of the table where there are no pages */
  uint64_t pages;         /* of that many buckets each, 1 without pages; tail buckets follow them all in the regions */
  uint64_t bucket_share;  /* 2^64 / buckets, rounded up: a bucket's page by a product (tsr_page_of_bucket) */
  uint64_t lists;         /* that are made in bulk, or 0 */
  uint64_t stash_buckets; /* the last of the tail */
  uint64_t has_erased;    /* 1: slots were erased since the table was cleared */
  uint32_t *locks;        /* bit array of key locks, NULL without guard */
  uint64_t lock_shift;    /* a key's lock is the top 64 - lock_shift bits of its mix */
  tsr_part_state part[TSR_STATE_ROLES];
} tsr_state;

#endif
