/* SPDX-License-Identifier: Apache-2.0
 *
 * The probing role: which buckets may hold a key. Widths: key and payload. A scheme knows buckets and slots. The core
 * (core/kernels) does the rest, once for all schemes: which lanes look at a bucket, loading, claiming, evicting, locking,
 * and find, insert, erase, every duplicate policy and the uniqueness guard.
 *
 *   next(c, key, probe)     Required. Writes the next bucket that may hold the key to probe->ref, or returns false if there
 *                           is none. probe->visited is the number of buckets already returned, 0 at first. probe->word is
 *                           the scheme's own memory, 0 at first. The walk must end. It must depend on key and state only;
 *                           for the first `choices` buckets on the key and probe->visited only, unless `ordered` is set.
 *
 * A scheme that puts a new pair into the first free slot of its walk needs nothing else. A scheme that puts it into the
 * least loaded of several buckets has the fact `choices`, and first_slots if the first bucket is preferred until that number
 * of its slots is taken. A scheme that evicts pairs to make room decides, bucket by bucket:
 *
 *   place(c, key, seen, placing)   Decides about the pair in hand, whose key is `key`, at the bucket that the core has
 *                           loaded for it: at first the first bucket of its walk (or the least loaded of its choices),
 *                           then those that the scheme asks for. Returns one of
 *                             tsr_claim()          put it into a slot of this bucket that has room (seen->has_room);
 *                             tsr_evict(slot)      put it into this slot of a full bucket; the pair there is then in hand;
 *                             tsr_pass()           look at another bucket for it;
 *                             tsr_nowhere()        give up: the pair goes to the stash, or is handed back.
 *                           placing->word is the scheme's own memory, 0 at first, kept from bucket to bucket. The core
 *                           asks again at the same bucket if another thread was faster. Must return tsr_nowhere() after a
 *                           bounded number of full buckets (placing->passed). It writes no memory but counters of its own
 *                           (tsr_bump).
 *   after(c, key, ref, placing)    Returns the bucket to look at next for the pair in hand, whose key is `key`, after it was
 *                           evicted from bucket `ref` or has passed it.
 *
 * A scheme whose buckets depend on which keys there are has memory that is made of a whole batch of distinct keys:
 *
 *   build(c, page)          Makes the part of the scheme's memory that belongs to a page of the keys, so that next() finds
 *                           each of them a bucket with room. All threads of a block call it together, and share what is
 *                           to be done and page->memory. It writes its regions and page->memory, loads no bucket, and
 *                           ends after a bounded number of steps for any keys, equal ones too. Afterwards the core inserts
 *                           the pairs in the usual way; one without room goes to the stash, or is handed back.
 *
 * Facts that plan() writes: buckets, ends_at_empty, moves_pairs, asks_for_room, holds_many, first_slots, choices,
 * ordered, has_notes, lists, sorts_lists, counts_slots, by_fingerprint, clusters, build_pages, build_bytes, splits. Laws behind
 * them:
 * ends_at_empty: a pair is put into a later bucket of its walk only while its earlier buckets have no empty slot.
 * ordered: the same for the first `ordered` buckets of a walk.
 * first_slots: the same for the first bucket and that number of its slots, and a claim takes the lowest vacant slot of a
 * bucket.
 * holds_many: the walk of every key visits all buckets once, or grows, unless a parameter bounds it. So one key may have
 * any number of pairs, as multisets and multimaps need.
 * lists: see plugin.h. A key without a pair in its list has no bucket. Pairs of reserved keys are in no list.
 * by_fingerprint: two keys of one fingerprint that share a bucket share all of their buckets. The layout has
 * fingerprint_bits, and the key that after() gets is tsr_key_of_fingerprint of what a slot held.
 * splits: bucket i of a walk, where there are `buckets`, is tsr_split_from(bucket i where there are more, buckets).
 * has_notes: the scheme's first region holds a byte per bucket, 0 at first, which only grows. tsr_note reads it, and a choice
 * of place() may raise that of the key's first bucket, before the pair is put anywhere (tsr_with_note).
 */
#ifndef TSR_PROBING_CUH
#define TSR_PROBING_CUH

#include "plugins/hasher.cuh"
#include "plugins/layout.cuh"

typedef struct tsr_probe {
  uint64_t ref;
  uint64_t word[2];
  uint32_t visited; /* kept by the walk, like stashed and page */
  uint32_t stashed;
  uint32_t page;
} tsr_probe;

/* ---- Placing --------------------------------------------------------------------------------- */

/* The bucket that the core has looked at for the pair in hand. */
typedef struct tsr_sight {
  const tsr_bucket *bucket; /* for the services below */
  uint64_t ref;
  uint32_t has_room; /* 1: a slot holds no pair */
} tsr_sight;

/* The state of placing one new pair and all pairs that are evicted for it. */
typedef struct tsr_placing {
  uint64_t ref; /* the core's, like page: the bucket asked for */
  uint32_t page;
  uint32_t passed;  /* full buckets left behind: passed by, or left with another pair evicted from them */
  uint32_t lost;    /* evictions that another thread made impossible */
  uint32_t retry;   /* the core's: 1, the last look was too old */
  uint32_t word[2]; /* the scheme's own, 0 at first */
} tsr_placing;

/* A choice of place(): one of claims, evicts and passes is 1, or none to give up. */
typedef struct tsr_choice {
  uint32_t claims, evicts, passes;
  uint32_t slot; /* to evict from */
  uint32_t note; /* 0, or the least value that the note of the key's first bucket gets */
} tsr_choice;

TSR_INLINE tsr_choice tsr_nowhere(void) {
  tsr_choice choice = {0, 0, 0, 0, 0};
  return choice;
}
TSR_INLINE tsr_choice tsr_claim(void) {
  tsr_choice choice = {1, 0, 0, 0, 0};
  return choice;
}
TSR_INLINE tsr_choice tsr_evict(uint32_t slot) {
  tsr_choice choice = {0, 1, 0, slot, 0};
  return choice;
}
TSR_INLINE tsr_choice tsr_pass(void) {
  tsr_choice choice = {0, 0, 1, 0, 0};
  return choice;
}

TSR_INLINE tsr_choice tsr_with_note(tsr_choice choice, uint32_t note) {
  choice.note = note;
  return choice;
}

/* What a scheme without place() does with a new pair at its bucket. */
TSR_INLINE tsr_choice tsr_claim_or_nowhere(const tsr_sight *seen) {
  return seen->has_room ? tsr_claim() : tsr_nowhere();
}

/* A page of the keys that build() gets. */
typedef struct tsr_build_page {
  const tsr_key *keys;
  uint32_t count;
  uint64_t page, before; /* which page; how many keys are in the pages before it */
  void *memory;          /* build_bytes, not cleared, at a multiple of 16 */
} tsr_build_page;

#define TSR_PROBING_FUNCTIONS(F, O)                                                                                    \
  F(probing, bool, next, (const tsr_ctx *c, tsr_key key, tsr_probe *probe), (c, key, probe))                           \
  O(probing, tsr_choice, place, (const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing),          \
    (c, key, seen, placing), tsr_claim_or_nowhere(seen))                                                               \
  O(probing, uint64_t, after, (const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing),                     \
    (c, key, ref, placing), ref)                                                                                       \
  O(probing, void, build, (const tsr_ctx *c, const tsr_build_page *page), (c, page), (void)0)

/* ---- Services for next() --------------------------------------------------------------------- */

#ifdef TSR_KEY_BITS
/* The i-th bucket of a key, by the i-th hash function. With pages the leading digit of the first hash, to the base of their
 * number, names the page, and the rest of it the bucket there (core/design/0014-pages.md). */
TSR_INLINE uint64_t tsr_bucket_of(const tsr_ctx *c, tsr_key key, uint32_t i) {
  tsr_hash hash = hasher_hash(c, key, i);
  if (TSR_FACT(c, is_paged) && i == 0) hash = (tsr_hash)(hash * (tsr_hash)c->t->pages);
  return tsr_reduce(hash,
                    TSR_FACT(c, is_paged) ? (uint32_t)c->t->buckets : c->t->buckets); /* fewer than 2^32 of a page */
}

/* The bulk list of a key (fact lists). The two reserved keys have one each, behind all others. */
TSR_INLINE uint64_t tsr_list_of(const tsr_ctx *c, tsr_key key) {
  if (key >= TSR_ERASED_KEY) return c->t->lists + (uint64_t)(tsr_key)(key - TSR_ERASED_KEY);
  return tsr_reduce(hasher_hash(c, key, 0), c->t->lists);
}

/* The core's: the page of a key, and its first bucket in the table. Schemes count buckets from there on. Pages of lists
 * have no buckets of their own. */
TSR_INLINE uint32_t tsr_page_of(const tsr_ctx *c, tsr_key key) {
  if (TSR_FACT(c, has_lists)) return (uint32_t)(tsr_list_of(c, key) >> TSR_PAGE_LISTS_LOG2);
  return TSR_FACT(c, is_paged) ? (uint32_t)tsr_reduce(hasher_hash(c, key, 0), (uint32_t)c->t->pages) : 0;
}
TSR_INLINE uint64_t tsr_page_begin(const tsr_ctx *c, uint32_t page) {
  return TSR_FACT(c, is_paged) && !TSR_FACT(c, in_page) ? page * c->t->buckets : 0;
}

/* The page of a key, where build() makes a table of `pages` pages: the leading digit of the key's first hash. */
TSR_INLINE uint64_t tsr_build_page_of(const tsr_ctx *c, tsr_key key, uint64_t pages) {
  return tsr_reduce(hasher_hash(c, key, 0), pages);
}

/* Linear hashing (fact splits). The highest bit of a number, which is not 0. */
TSR_INLINE uint64_t tsr_highest_bit(uint64_t number) {
#ifdef __CUDACC__
  return 1ull << (63 - __clzll((long long)number));
#else
  return 1ull << (63 - __builtin_clzll(number));
#endif
}
/* A hash from its other end: its top bits, which are the best ones, are then those of a remainder by a power of two. */
TSR_INLINE uint64_t tsr_reversed(tsr_hash hash) {
#ifdef __CUDACC__
  return __brevll((unsigned long long)hash) >> (64 - 8 * sizeof hash);
#else
  uint64_t bits = __builtin_bswap64(hash);
  bits = (bits & 0x0F0F0F0F0F0F0F0Fu) << 4 | (bits >> 4 & 0x0F0F0F0F0F0F0F0Fu);
  bits = (bits & 0x3333333333333333u) << 2 | (bits >> 2 & 0x3333333333333333u);
  bits = (bits & 0x5555555555555555u) << 1 | (bits >> 1 & 0x5555555555555555u);
  return bits >> (64 - 8 * sizeof hash);
#endif
}
/* The bucket of a table of `buckets`, at least one, whose pairs may belong into `bucket` of a larger one: the number loses its
 * highest bit until there is such a bucket. Bounded by the bits of a number. */
TSR_INLINE uint64_t tsr_split_from(uint64_t bucket, uint64_t buckets) {
  TSR_NO_UNROLL
  while (bucket >= buckets) bucket ^= tsr_highest_bit(bucket);
  return bucket;
}
/* The core's: how many buckets may lose pairs where `former` become more, and the i-th of them. As many as there are new ones, from
 * the first one on that has not been split since the last power of two; every bucket, where they are more than that power. */
TSR_INLINE uint64_t tsr_split_count(uint64_t former, uint64_t buckets) {
  return buckets - former <= tsr_highest_bit(former) ? buckets - former : former;
}
TSR_INLINE uint64_t tsr_split_nth(uint64_t former, uint64_t buckets, uint64_t i) {
  const uint64_t power = tsr_highest_bit(former);
  return buckets - former <= power ? (former - power + i) & (power - 1) : i;
}

/* The bucket after another one, round all of them. */
TSR_INLINE uint64_t tsr_bucket_after(const tsr_ctx *c, uint64_t bucket) {
  return bucket + 1 < c->t->buckets ? bucket + 1 : 0;
}
#endif

#ifdef TSR_PAYLOAD_BITS
#ifndef __CUDACC__
typedef struct tsr_probing_functions {
  TSR_PROBING_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_probing_functions;
#endif
TSR_PROBING_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)

/* ---- Services for build() -------------------------------------------------------------------- */

/* The threads of a block, which share page->memory; on the CPU there is one. Adding and taking the least are atomic, and
 * relaxed: what others wrote is seen after tsr_block_meet(), which all threads call the same number of times. */
TSR_INLINE uint32_t tsr_block_thread(void) {
#ifdef __CUDACC__
  return threadIdx.x;
#else
  return 0;
#endif
}
TSR_INLINE uint32_t tsr_block_threads(void) {
#ifdef __CUDACC__
  return TSR_BUILD_THREADS;
#else
  return 1;
#endif
}
TSR_INLINE void tsr_block_meet(void) {
#ifdef __CUDACC__
  __syncthreads();
#endif
}
/* Returns the number that was there. */
TSR_INLINE uint32_t tsr_block_add(uint32_t *number, uint32_t addend) {
#ifdef __CUDACC__
  return atomicAdd(number, addend);
#else
  const uint32_t before = *number;
  *number += addend;
  return before;
#endif
}
TSR_INLINE void tsr_block_least(uint32_t *number, uint32_t other) {
#ifdef __CUDACC__
  atomicMin(number, other);
#else
  if (other < *number) *number = other;
#endif
}

/* ---- Services for place() -------------------------------------------------------------------- */

/* A random slot, by the pair in hand and the number of turns so far, so that each turn gets another one. */
TSR_INLINE uint32_t tsr_random_slot(const tsr_ctx *c, tsr_key key, const tsr_placing *placing) {
  uint32_t turn = placing->passed + placing->lost + 1u;
  uint32_t random = ((uint32_t)tsr_key_word(key) + turn * 0x9E3779B9u) * 0x85EBCA6Bu;
  return (uint32_t)((uint64_t)random * TSR_FACT(c, bucket_slots) >> 32);
}

enum { TSR_NO_SLOT = 32 };

/* Declares `victim`: in a full bucket the slot whose resident has the least measure, if that is below `bound`, otherwise
 * TSR_NO_SLOT. measure: an expression in `resident`, the key of a pair there. place() uses it once, whether the bucket is
 * full or not: all tiles of a warp search together, and none does if none has to. */
#define TSR_LEAST_RESIDENT(c, seen, victim, bound, resident, measure)                                                  \
  uint32_t victim = TSR_NO_SLOT;                                                                                       \
  if (tsr_warp_any(c, !(seen)->has_room && (bound) > 0 && (c)->active)) {                                              \
    uint32_t victim##_least = (bound);                                                                                 \
    TSR_NO_UNROLL                                                                                                      \
    for (uint32_t victim##_slot = 0; victim##_slot < TSR_FACT(c, bucket_slots); victim##_slot++) {                     \
      const tsr_key resident = layout_key(c, (seen)->bucket, victim##_slot);                                           \
      const uint32_t victim##_measure = (measure);                                                                     \
      victim = victim##_measure < victim##_least ? victim##_slot : victim;                                             \
      victim##_least = victim##_measure < victim##_least ? victim##_measure : victim##_least;                          \
    }                                                                                                                  \
  }

/* Counters that place() keeps in a region of its scheme: how full a part of the table is, for example. tsr_counter returns
 * one, the same to all lanes; while others insert it may be old. tsr_bump adds to one, once for a tile; a difference may
 * be negative. next() reads no counter: a find after an insert would walk another way. Collective. */
TSR_INLINE uint64_t tsr_counter(const tsr_ctx *c, const uint64_t *counter) {
  return tsr_shuffle64(c, tsr_load64(counter, 1), 0);
}
TSR_INLINE void tsr_bump(const tsr_ctx *c, uint64_t *counter, uint64_t difference) {
  if (c->active && c->lane == 0 && difference) tsr_add64(counter, difference);
}

/* The notes of a scheme with has_notes, and for next() that of the bucket that it named last. Relaxed: an operation that
 * must see a note that was raised for its key holds that key's lock, or comes in a later phase. */
TSR_INLINE uint32_t *tsr_notes(const tsr_ctx *c) { return (uint32_t *)c->t->part[TSR_ROLE_OF_probing].region[0]; }
TSR_INLINE uint32_t tsr_note(const tsr_ctx *c, const tsr_probe *probe) {
  const uint64_t bucket = tsr_page_begin(c, probe->page) + probe->ref;
  return tsr_load32(tsr_notes(c) + bucket / 4, 1) >> bucket % 4 * 8 & 0xFFu;
}
#endif

#endif
