/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: the sequence of buckets that may hold a key. The scheme names the buckets of ordinary keys (probing_next).
 * This file adds what schemes do not know: reserved keys, pages, lists of units, the stash. What an operation does in
 * a bucket is elsewhere: decide.cuh says what it means, step.cuh how it is done.
 *
 * Reserved keys: the two keys whose bits mark empty and erased slots are stored under the substitute key 0. No hasher
 * and no layout ever sees them. Each has the first bucket of its own walk in the tail. In a table that keeps every
 * pair the walk goes on: through the units that continue this bucket if buckets link, and otherwise through the
 * buckets of key 0, in the last page, or with short keys in the page of key 0. Lists made in bulk have two lists for
 * them instead. What key 0 stands for follows there from the place in the list, or is noted for the bucket or the unit.
 * A bucket holds pairs under key 0 of one user's key only, the first one that came (core/design/0005-tail-buckets.md).
 *
 * Pages: all buckets that the scheme names for a key are in one page, a run of neighbours. All pages have one size.
 * The scheme sees a page as if it were the table, and the walk adds where it begins (core/design/0014-pages.md).
 *
 * Lists: if buckets link, the walk goes from each bucket through the units that continue it. The stash has no lists.
 *
 * The stash: the walk of every key goes on through further tail buckets after the scheme's own. A pair is put there
 * only if none of its own buckets has an empty slot, so most finds never look there.
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

/* The bucket that is a reserved key's own. */
TSR_INLINE uint64_t walk_reserved_bucket(const tsr_ctx *c, tsr_key key) {
  return walk_tail(c) + (uint64_t)(tsr_key)(key - TSR_ERASED_KEY);
}

/* Where a list that is made in bulk begins. */
TSR_INLINE uint64_t walk_list_begin(const tsr_ctx *c, uint64_t list) {
  return tsr_load32((const uint32_t *)c->t->part[TSR_ROLE_OF_probing].region[0] + list, 0);
}

/* ---- What key 0 stands for ------------------------------------------------------------------- */

/* The keys that are stored as 0, as two bits: ~1, ~0, 0. A bucket with another note has no room for them. */
TSR_INLINE bool walk_is_stored_as_0(tsr_key key) { return (tsr_key)(key + 2) < 3; }
TSR_INLINE uint32_t walk_meaning_of(tsr_key key) { return 1 + (uint32_t)(tsr_key)(key + 2); }
TSR_INLINE tsr_key walk_key_of(uint32_t meaning) {
  return meaning == 1 || meaning == 2 ? (tsr_key)(TSR_ERASED_KEY + (meaning - 1)) : 0;
}

/* Whether such a key meets others in its buckets. In lists it has its own from the tail bucket on; in a page it is left
 * to the walk through the table. */
TSR_INLINE bool walk_meets(const tsr_ctx *c, tsr_key key) {
  return TSR_FACT(c, has_meanings) && !TSR_FACT(c, has_link) && !TSR_FACT(c, in_page) && walk_is_stored_as_0(key);
}

/* The number of a bucket's note; if buckets link, of its unit's. */
TSR_INLINE uint64_t walk_note(const tsr_ctx *c, uint64_t ref) {
  if (!TSR_FACT(c, has_link)) return ref;
  const char *first = (const char *)allocator_address(c, 0);
  return (uint64_t)((const char *)allocator_address(c, (uint32_t)ref) - first) / TSR_FACT(c, unit_bytes);
}
TSR_INLINE uint32_t *walk_notes(const tsr_ctx *c, uint64_t note) {
  return (uint32_t *)c->t->part[TSR_FACT(c, meanings_role)].region[TSR_FACT(c, meanings_region)] +
         note / TSR_MEANINGS_OF_WORD;
}
TSR_INLINE uint32_t walk_meaning(const tsr_ctx *c, uint64_t note, uint32_t coherent) {
  return tsr_load32(walk_notes(c, note), coherent) >> note % TSR_MEANINGS_OF_WORD * 2 & 3u;
}

/* Whether there is a note of bucket ref. */
TSR_INLINE bool walk_is_noted(const tsr_ctx *c, uint64_t ref) {
  return TSR_FACT(c, has_meanings) && (TSR_FACT(c, has_link) ? (ref & TSR_UNIT_REF) != 0 : ref < walk_tail(c));
}

/* The slots of bucket ref that may hold pairs of this key, and those of its vacant slots that may take one (*open):
 * other keys may be stored under the same one. Where operations of all kinds overlap, the pair was seen before, so its
 * note is not too old. */
TSR_INLINE uint32_t walk_own_slots(const tsr_ctx *c, tsr_key key, uint64_t ref, uint32_t coherent, uint32_t *open) {
  const uint32_t slots = TSR_FACT(c, bucket_slots);
  *open = ~(uint32_t)0;
  if (walk_meets(c, key) && walk_is_noted(c, ref)) {
    if (TSR_FACT(c, is_mixed)) tsr_fence();
    const uint32_t meaning = walk_meaning(c, ref, coherent), own = meaning == walk_meaning_of(key) ? ~(uint32_t)0 : 0;
    *open = meaning ? own : ~(uint32_t)0;
    return own;
  }
  if (!TSR_FACT(c, has_lists) || slots == 1 || walk_stored_key(key) != 0 || ref >= walk_tail(c)) return ~(uint32_t)0;
  const uint64_t list = tsr_list_of(c, key), first = ref * slots;
  const uint64_t begin = walk_list_begin(c, list), end = walk_list_begin(c, list + 1);
  const uint64_t from = begin > first ? begin - first : 0, to = end > first ? end - first : 0;
  const uint32_t before = from < 32 ? (1u << from) - 1 : ~(uint32_t)0;
  *open = (to < 32 ? (1u << to) - 1 : ~(uint32_t)0) & ~before;
  return *open;
}

/* Notes what key 0 stands for in bucket ref, if nothing is noted, before a pair of `key` is put there; returns whether
 * it may be put. Relaxed: a note never changes, and where finds overlap inserts the fence makes it visible before the
 * pair. Collective. Bounded: a thread that fails to note has seen another bucket's note made. */
TSR_INLINE uint32_t walk_take_note(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  const uint32_t meets = c->active && walk_meets(c, key) && walk_is_noted(c, ref);
  if (!TSR_FACT(c, has_meanings) || TSR_FACT(c, has_link) || TSR_FACT(c, in_page)) return 1;
  uint32_t *word = walk_notes(c, meets ? ref : 0);
  const uint32_t shift = (uint32_t)(ref % TSR_MEANINGS_OF_WORD * 2), own = walk_meaning_of(key);
  uint32_t seen = meets ? tsr_load32(word, 1) : 0, notes = meets && !(seen >> shift & 3u);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, notes)) {
    const uint32_t found = notes ? tsr_cas32(word, seen, seen | own << shift) : seen;
    seen = notes && found == seen ? seen | own << shift : found;
    notes = notes && !(seen >> shift & 3u);
  }
  if (TSR_FACT(c, is_mixed)) tsr_fence();
  return !meets || (seen >> shift & 3u) == own;
}

/* Notes whose list a unit will be part of, before anybody can see it. Its neighbours' notes change meanwhile.
 * Collective. Relaxed: it is read in a later phase. Bounded: a thread that fails has seen another unit's note made. */
TSR_INLINE void walk_note_unit(const tsr_ctx *c, tsr_key key, uint32_t unit) {
  if (!TSR_FACT(c, has_meanings)) return;
  const uint32_t is_there = c->active && unit != TSR_NO_HANDLE;
  const uint64_t note = walk_note(c, TSR_UNIT_REF | (is_there ? unit : 0));
  const uint32_t shift = (uint32_t)(note % TSR_MEANINGS_OF_WORD * 2), bits = 3u << shift;
  const uint32_t own = walk_is_reserved(key) ? walk_meaning_of(key) << shift : 0;
  uint32_t *word = walk_notes(c, note), seen = is_there ? tsr_load32(word, 1) : 0;
  uint32_t notes = is_there && (seen & bits) != own;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, notes)) {
    const uint32_t noted = (seen & ~bits) | own, found = notes ? tsr_cas32(word, seen, noted) : seen;
    seen = notes && found == seen ? noted : found;
    notes = notes && (seen & bits) != own;
  }
}

/* The user's key of a pair found in a slot of bucket ref. */
TSR_INLINE tsr_key walk_user_key(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key stored) {
  const uint64_t tail = ref - walk_tail(c); /* huge for buckets before the tail */
  const bool may_be = stored == 0 && tail >> 63;
  if (TSR_FACT(c, has_lists)) {
    const uint64_t at = ref * TSR_FACT(c, bucket_slots) + slot;
    const uint64_t first = may_be ? walk_list_begin(c, c->t->lists) : ~(uint64_t)0;
    const uint64_t second = may_be ? walk_list_begin(c, c->t->lists + 1) : ~(uint64_t)0;
    return at < first ? stored : (tsr_key)(TSR_ERASED_KEY + (at >= second));
  }
  if (stored == 0 && walk_is_noted(c, ref)) return walk_key_of(walk_meaning(c, walk_note(c, ref), 1));
  return tail < TSR_TAIL_RESERVED ? (tsr_key)(TSR_ERASED_KEY + (tsr_key)tail) : stored;
}

/* ---- Units ----------------------------------------------------------------------------------- */

/* A link that names no unit is TSR_NO_HANDLE, or one of these. */
#define WALK_LINK_PENDING (TSR_NO_HANDLE - 1u) /* a tile is about to append one */
#define WALK_LINK_CLOSED (TSR_NO_HANDLE - 2u)  /* none was left, until the list is flushed or the table cleared */
TSR_INLINE bool walk_is_unit(uint32_t link) { return link < WALK_LINK_CLOSED; }

TSR_INLINE uint32_t walk_link(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_FACT(c, has_link) ? layout_link(c, b) : TSR_NO_HANDLE;
}

/* Whether bucket ref belongs to the stash. */
TSR_INLINE bool walk_is_stash(const tsr_ctx *c, uint64_t ref) {
  return ref >= walk_tail(c) + TSR_TAIL_RESERVED && !(ref & TSR_UNIT_REF);
}

/* The scheme's next bucket, a number within the key's page. */
TSR_INLINE bool walk_scheme(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint64_t begin = tsr_page_begin(c, probe->page);
  probe->ref -= begin;
  const bool there = probing_next(c, key, probe);
  probe->ref += begin;
  return there;
}

/* The next bucket of the walk that is no unit; false if there is none. probe->ref stays a bucket that exists: a masked
 * tile may read there. */
TSR_INLINE bool walk_next(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint32_t is_reserved = walk_is_reserved(key);
  if (is_reserved && !TSR_FACT(c, has_lists)) {
    if (probe->visited != 0 && !walk_meets(c, key)) return false;
    if (probe->visited == 0) probe->ref = walk_reserved_bucket(c, key);
    if (probe->visited == 0) return true;
    key = 0;
    probe->visited--; /* the scheme's walk begins behind that bucket */
  }
  if (!TSR_FACT(c, has_stash) || is_reserved) {
    const bool there = walk_scheme(c, key, probe);
    if (is_reserved && !TSR_FACT(c, has_lists)) probe->visited++;
    return there;
  }
  if (probe->stashed == 0 && walk_scheme(c, key, probe)) return true;
  if (probe->stashed == c->t->stash_buckets) return false;
  probe->ref = walk_tail(c) + TSR_TAIL_RESERVED + probe->stashed++;
  return true;
}

TSR_INLINE bool walk_begin(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  tsr_probe start = {0, {0, 0}, 0, 0, TSR_FACT(c, is_paged) ? tsr_page_of(c, key) : 0};
  if (TSR_FACT(c, has_meanings) && TSR_FACT(c, is_paged) && walk_is_reserved(key))
    start.page = TSR_FACT(c, short_keys) ? tsr_page_of(c, 0) : (uint32_t)c->t->pages - 1; /* also in bins.cuh */
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
  /* No walk has 2^32 buckets. Without this the scheme's code for the first bucket, with the hash in it, is repeated
   * here, and the compiler computes it at each step (core/design/0008-tiles-in-step.md). */
  WALK_ASSUME(probe->visited != 0);
  return walk_next(c, key, probe);
}

/* Moves a tile that `goes` to the bucket after one whose link is `link`; returns whether there is one. While other
 * tiles raise notes, the lanes of this one may read different ones, so with notes the tile goes where its first lane
 * goes. Collective. */
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
  return TSR_FACT(c, ends_at_flag) || TSR_FACT(c, ends_at_empty) || TSR_FACT(c, ordered) || TSR_FACT(c, first_slots);
}

/* Raises the flag of a bucket that a pair in hand has to pass. Where finds overlap inserts, a thread that sees the pair
 * has passed this bucket and has seen the flag raised. A single word is seen in one order, so nobody sees it down after
 * that thread. The fence is for operations that come after the insert itself: when it ends, the flag is up for all. */
TSR_INLINE void walk_raise(const tsr_ctx *c, uint64_t ref) {
  layout_raise(c, ref);
  if (TSR_FACT(c, is_mixed)) tsr_fence();
}

/* Where buckets have flags nothing else ends a walk. A pair is put into a bucket only after the earlier ones of its
 * walk are raised: those that an insert goes on from, or, if a scheme chooses the bucket, all before it
 * (core/design/0023-overflow-flags.md). Collective. */
TSR_INLINE void walk_raise_before(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  tsr_probe probe;
  uint32_t walks = walk_begin(c, key, &probe);
  walks &= c->active & (probe.ref != ref);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the walk */
    if (walks) walk_raise(c, probe.ref);
    const uint32_t there = walk_advance(c, key, &probe, TSR_NO_HANDLE, walks);
    walks = there & (probe.ref != ref); /* no branch: one path back to the vote */
  }
}

/* Whether such empty slots of a bucket of the walk prove that the key is in no later one. The scheme's law says so for
 * every bucket (ends_at_empty), for those in front (ordered), or for the first one (first_slots). */
TSR_INLINE bool walk_ends(const tsr_ctx *c, const tsr_probe *probe, uint32_t empties) {
  if (TSR_FACT(c, ends_at_empty)) return empties != 0;
  if (TSR_FACT(c, ordered)) return empties != 0 && probe->visited < TSR_FACT(c, ordered);
  return probe->visited == 0 && tsr_count_bits(empties) > TSR_FACT(c, bucket_slots) - TSR_FACT(c, first_slots);
}

#endif
