/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: the sequence of buckets in which a key may live. The scheme names the buckets of ordinary keys
 * (probing_next); this file adds what no scheme knows of: reserved keys, the stash, and lists of units. What an
 * operation does in a bucket is elsewhere: read decide.cuh for what it means, step.cuh for how it is done.
 *
 * Reserved keys: the two keys whose bits mark empty and erased slots are stored under the substitute key 0, in the first
 * tail buckets, one bucket each, or where lists are made in bulk in two lists of their own. No hasher and no layout ever
 * sees them.
 * Pages: all buckets that the scheme names for a key lie in one page, a run of neighbours as large as every other. The
 * scheme sees a page as if it were the table, and the walk adds where it begins (core/design/0014-pages.md).
 * Lists: where buckets link, the walk goes from each bucket through the units that continue it. Reserved keys and the
 * stash have no lists.
 * The stash: the walk of every key goes on through further tail buckets after the scheme's own. A pair is put there
 * only when no bucket of its own has an empty slot, so most finds never look there.
 */
#ifndef TSR_WALK_CUH
#define TSR_WALK_CUH

#include "core/kernels/facts.cuh"
#include "plugins/allocator.cuh"
#include "plugins/probing.cuh"

#ifdef __CUDACC__
#define WALK_ASSUME(is_so) __builtin_assume(is_so)
#else
#define WALK_ASSUME(is_so) ((void)0)
#endif

TSR_INLINE bool walk_is_reserved(tsr_key key) { return key >= TSR_ERASED_KEY; }
TSR_INLINE tsr_key walk_stored_key(tsr_key key) { return walk_is_reserved(key) ? 0 : key; }

/* The first of the tail buckets, after all that a hash can name. */
TSR_INLINE uint64_t walk_tail(const tsr_ctx *c) {
  return TSR_FACT(c, is_paged) ? c->t->pages * c->t->buckets : c->t->buckets;
}

/* The bucket that a reserved key has to itself. */
TSR_INLINE uint64_t walk_reserved_bucket(const tsr_ctx *c, tsr_key key) {
  return walk_tail(c) + (tsr_key)(key - TSR_ERASED_KEY);
}

/* Where a list begins that is made in bulk. */
TSR_INLINE uint64_t walk_list_begin(const tsr_ctx *c, uint64_t list) {
  return tsr_load32((const uint32_t *)c->t->part[TSR_ROLE_OF_probing].region[0] + list, 0);
}

/* The user's key of a pair found in a slot of bucket ref. */
TSR_INLINE tsr_key walk_user_key(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key stored) {
  uint64_t tail = ref - walk_tail(c); /* huge for buckets before the tail */
  if (TSR_FACT(c, has_lists)) {
    const uint64_t at = ref * TSR_FACT(c, bucket_slots) + slot;
    const bool may_be = stored == 0 && tail >> 63;
    const uint64_t first = may_be ? walk_list_begin(c, c->t->lists) : ~(uint64_t)0;
    const uint64_t second = may_be ? walk_list_begin(c, c->t->lists + 1) : ~(uint64_t)0;
    return at < first ? stored : (tsr_key)(TSR_ERASED_KEY + (at >= second));
  }
  return tail < TSR_TAIL_RESERVED ? (tsr_key)(TSR_ERASED_KEY + (tsr_key)tail) : stored;
}

/* The slots of bucket ref that may hold pairs of this key, though others hold its stored key: lists may share a bucket, and
 * those of reserved keys hold their substitute. */
TSR_INLINE uint32_t walk_own_slots(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  const uint32_t slots = TSR_FACT(c, bucket_slots);
  if (!TSR_FACT(c, has_lists) || slots == 1 || walk_stored_key(key) != 0 || ref >= walk_tail(c)) return ~(uint32_t)0;
  const uint64_t list = tsr_list_of(c, key), first = ref * slots;
  const uint64_t begin = walk_list_begin(c, list), end = walk_list_begin(c, list + 1);
  const uint64_t from = begin > first ? begin - first : 0, to = end > first ? end - first : 0;
  const uint32_t before = from < 32 ? (1u << from) - 1 : ~(uint32_t)0;
  return (to < 32 ? (1u << to) - 1 : ~(uint32_t)0) & ~before;
}

/* A link that names no unit is TSR_NO_HANDLE, or one of these. */
#define WALK_LINK_PENDING (TSR_NO_HANDLE - 1u) /* a tile is about to append one */
#define WALK_LINK_CLOSED (TSR_NO_HANDLE - 2u)  /* none was left; so it stays until a flush of the list, or a clear */
TSR_INLINE bool walk_is_unit(uint32_t link) { return link < WALK_LINK_CLOSED; }

TSR_INLINE uint32_t walk_link(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_FACT(c, has_link) ? layout_link(c, b) : TSR_NO_HANDLE;
}

/* Whether bucket ref belongs to the stash. */
TSR_INLINE bool walk_is_stash(const tsr_ctx *c, uint64_t ref) {
  return ref >= walk_tail(c) + TSR_TAIL_RESERVED && !(ref & TSR_UNIT_REF);
}

/* The scheme's next bucket, which it names within the key's page. */
TSR_INLINE bool walk_scheme(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint64_t begin = tsr_page_begin(c, probe->page);
  probe->ref -= begin;
  const bool there = probing_next(c, key, probe);
  probe->ref += begin;
  return there;
}

/* The next bucket of the walk that is no unit; false when there is none. probe->ref stays a bucket that exists: a
 * masked tile may read there. */
TSR_INLINE bool walk_next(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (walk_is_reserved(key) && TSR_FACT(c, has_lists)) return walk_scheme(c, key, probe);
  if (walk_is_reserved(key)) {
    if (probe->visited != 0) return false;
    probe->ref = walk_reserved_bucket(c, key);
    return true;
  }
  if (!TSR_FACT(c, has_stash)) return walk_scheme(c, key, probe);
  if (probe->stashed == 0 && walk_scheme(c, key, probe)) return true;
  if (probe->stashed == c->t->stash_buckets) return false;
  probe->ref = walk_tail(c) + TSR_TAIL_RESERVED + probe->stashed++;
  return true;
}

TSR_INLINE bool walk_begin(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  tsr_probe start = {0, {0, 0}, 0, 0, TSR_FACT(c, is_paged) ? tsr_page_of(c, key) : 0};
  *probe = start;
  return walk_next(c, key, probe);
}

/* The bucket after one whose link is `link`. */
TSR_INLINE bool walk_after(const tsr_ctx *c, tsr_key key, tsr_probe *probe, uint32_t link) {
  if (TSR_FACT(c, has_link) && walk_is_unit(link)) {
    probe->ref = TSR_UNIT_REF | link;
    return true;
  }
  probe->visited++;
  /* No walk has 2^32 buckets. Without this the scheme's code for the first bucket, and the hash in it, is here once more,
   * and the compiler computes it at each step (core/design/0008-tiles-in-step.md). */
  WALK_ASSUME(probe->visited != 0);
  return walk_next(c, key, probe);
}

/* Moves a tile that `goes` to the bucket after one whose link is `link`; returns whether there is one. While other tiles
 * raise notes the lanes of this one may read different ones, so with notes the tile goes where its first lane goes.
 * Collective. */
TSR_INLINE uint32_t walk_advance(const tsr_ctx *c, tsr_key key, tsr_probe *probe, uint32_t link, uint32_t goes) {
  uint32_t there = goes && walk_after(c, key, probe, link);
  if (!TSR_FACT(c, has_notes)) return there;
  probe->ref = tsr_shuffle64(c, probe->ref, 0);
  for (uint32_t i = 0; i < 2; i++) probe->word[i] = tsr_shuffle64(c, probe->word[i], 0);
  probe->stashed = tsr_shuffle32(c, probe->stashed, 0);
  return tsr_shuffle32(c, there, 0);
}

/* Whether a bucket can prove that a key is in no later one of its walk. */
TSR_INLINE bool walk_has_end(const tsr_ctx *c) {
  return TSR_FACT(c, ends_at_flag) || TSR_FACT(c, ends_at_empty) || TSR_FACT(c, first_slots);
}

/* Raises the flag of a bucket that a pair in hand has to pass. Where finds overlap inserts, whoever sees the pair has come by
 * this bucket and has seen the flag raised; so nobody who comes after him sees it down, since a single word is seen in one
 * order. The fence is for those who come after the insert itself: when it ends, the flag is up for all. */
TSR_INLINE void walk_raise(const tsr_ctx *c, uint64_t ref) {
  layout_raise(c, ref);
  if (TSR_FACT(c, is_mixed)) tsr_fence();
}

/* Where buckets have flags nothing else ends a walk, and nobody puts a pair into a bucket before the earlier ones of its
 * walk are raised: those that an insert goes on from, or, where a scheme chooses the bucket, all before it
 * (core/design/0023-overflow-flags.md). Collective. */
TSR_INLINE void walk_raise_before(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  tsr_probe probe;
  uint32_t walks = walk_begin(c, key, &probe);
  walks &= c->active & (probe.ref != ref);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the walk */
    if (walks) walk_raise(c, probe.ref);
    const uint32_t there = walk_advance(c, key, &probe, TSR_NO_HANDLE, walks);
    walks = there & (probe.ref != ref); /* no branch: one way back to the vote */
  }
}

/* Whether such empty slots of a bucket of the walk prove that the key is in no later one: the scheme's law either for
 * every bucket (ends_at_empty), or for the first one (first_slots). */
TSR_INLINE bool walk_ends(const tsr_ctx *c, const tsr_probe *probe, uint32_t empties) {
  if (TSR_FACT(c, ends_at_empty)) return empties != 0;
  return probe->visited == 0 && tsr_count_bits(empties) > TSR_FACT(c, bucket_slots) - TSR_FACT(c, first_slots);
}

#endif
