/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations as the host sees them: their list and their one argument. Shared by the kernels (ops.cuh), both
 * backends and the API; compiles as C11 and CUDA C.
 */
#ifndef TSR_BULK_H
#define TSR_BULK_H

#include "plugins/table.h"
#ifndef __CUDACC__
#include <stddef.h>
#endif

/* Items are keys; those of size, export and flush are buckets. An operation is one kernel, tsr_<op>, or one of its
 * roomier forms if that needs a stack (launch.cu), linked when first used.
 *   combine      what insert has left to it where pairs move (fact combines_later)
 *   size         counts the table's pairs
 *   count, note  count the pairs of each key; note also keeps, for each key, what retrieve would look for again
 *   retrieve     writes all values of each key to places that were summed from these counts
 *   erase_pair   erases one pair of the key
 *   apply        does what each item's operation says; leaves inserts to apply_inserts if they take turns with erases
 *   flush        packs the list of a bucket
 *   split        moves the pairs that belong into new buckets there; its items are the buckets that they may be in
 *   mark         sets the bits of keys that are about to be inserted behind a filter */
#define TSR_BULK_OPS(F)                                                                                                \
  F(insert)                                                                                                            \
  F(find)                                                                                                              \
  F(contains)                                                                                                          \
  F(erase)                                                                                                             \
  F(size)                                                                                                              \
  F(export)                                                                                                            \
  F(find_or_insert)                                                                                                    \
  F(count)                                                                                                             \
  F(note)                                                                                                              \
  F(retrieve)                                                                                                          \
  F(erase_pair)                                                                                                        \
  F(combine)                                                                                                           \
  F(apply)                                                                                                             \
  F(flush)                                                                                                             \
  F(apply_inserts)                                                                                                     \
  F(mark)                                                                                                              \
  F(split)

#define TSR_BULK_ENUM(op) TSR_BULK_##op,
enum { TSR_BULK_OPS(TSR_BULK_ENUM) TSR_BULKS };
/* Not every table has the last ones: apply is for concurrency = mixed, flush for buckets that link, apply_inserts for
 * turns. A filter has the first ones. A filter before a table has mark as well, a table with growth = split split. */
#define TSR_BULKS_OF(shape)                                                                                            \
  ((shape)->kind == TSR_KIND_FILTER                ? TSR_BULK_erase                                                    \
   : (shape)->has_link                             ? TSR_BULK_apply_inserts                                            \
   : TSR_TAKES_TURNS(shape)                        ? TSR_BULK_mark                                                     \
   : (shape)->concurrency == TSR_CONCURRENCY_MIXED ? TSR_BULK_flush                                                    \
                                                   : TSR_BULK_apply)
/* Whether inserts and erases take turns although the table is mixed. Finds overlap both
 * (core/design/0004-uniqueness.md). */
#define TSR_TAKES_TURNS(shape) ((shape)->is_mixed && (shape)->guard == TSR_GUARD_CLAIM && !(shape)->has_link)

/* What an item of `apply` asks for; other codes do nothing. */
enum { TSR_APPLY_INSERT, TSR_APPLY_REPLACE, TSR_APPLY_ERASE, TSR_APPLY_FIND, TSR_APPLY_OPERATIONS };

/* Where inserts and erases take turns: how many items of a batch of n a block lists (launch.cu). Many, because the last
 * of them leave most of its warps idle, but first there must be a thousand blocks for the multiprocessors. */
enum { TSR_TURN_ITEMS_MIN = 3 * TSR_BLOCK_THREADS, TSR_TURN_ITEMS_MAX = 16 * TSR_BLOCK_THREADS };
#define TSR_TURN_ITEMS(n)                                                                                              \
  ((n) >> 10 < TSR_TURN_ITEMS_MIN   ? (uint32_t)TSR_TURN_ITEMS_MIN                                                     \
   : (n) >> 10 > TSR_TURN_ITEMS_MAX ? (uint32_t)TSR_TURN_ITEMS_MAX                                                     \
                                    : (uint32_t)((n) >> 10))

/* The items that a block of combine lists. */
enum { TSR_COMBINE_ITEMS = 8 * TSR_BLOCK_THREADS };

/* What it belongs to in the report. */
enum { TSR_CLASS_INSERT, TSR_CLASS_FIND, TSR_CLASS_ERASE, TSR_CLASSES };

/* Device counters of one operation; they only grow until the host clears them. Sums, then maxima. */
typedef struct tsr_tally {
  uint64_t hits;       /* pairs inserted, erased, counted or exported; keys found */
  uint64_t not_placed; /* insert, find_or_insert, apply */
  uint64_t tombstones; /* count: slots that hold an erased pair */
  uint64_t units;      /* count: in use; flush: released */
  uint64_t keys;       /* count: with a value list */

  uint64_t asked[TSR_CLASSES], answered[TSR_CLASSES]; /* apply: keys of each class, and its hits */

  /* only with statistics, see tsr_counts: sums over the keys, and the most of one key */
  uint64_t probes, moves, lost_claims, stashed;
  uint64_t histogram[TSR_HISTOGRAM_BINS]; /* keys by their probes */
  uint64_t probes_max, moves_max;

  uint64_t overflows; /* insert, find_or_insert, apply: as tsr_tell_overflow counts them; or long walks (look.cuh) */
} tsr_tally;

#ifndef __CUDACC__
/* For code that goes over all counters: they are words, all of them sums except two. */
enum { TSR_TALLY_WORDS = sizeof(tsr_tally) / sizeof(uint64_t) };
static inline bool tsr_tally_is_most(uint32_t word) {
  return word == offsetof(tsr_tally, probes_max) / sizeof(uint64_t) ||
         word == offsetof(tsr_tally, moves_max) / sizeof(uint64_t);
}

static inline void tsr_tally_add(tsr_tally *sum, const tsr_tally *tally) {
  uint64_t *all = (uint64_t *)sum;
  const uint64_t *words = (const uint64_t *)tally;
  for (uint32_t i = 0; i < TSR_TALLY_WORDS; i++)
    if (!tsr_tally_is_most(i))
      all[i] += words[i];
    else if (all[i] < words[i])
      all[i] = words[i];
}
#endif

/* What the items of a batch whose keys repeat were combined to (spans.cuh), span by span. A span is 1 << log2 items. It
 * then has made[span] pairs, from its first item's number on. counts says of how many items each pair was made. The
 * answers for these pairs go to arrays of their own, from which those for the items follow. */
typedef struct tsr_spans {
  const uint32_t *made; /* TSR_AS_IT_CAME: the span was not combined; NULL: none was */
  const void *keys, *values;
  const uint32_t *counts;
  uint32_t log2;
  uint8_t *results; /* NULL: nobody wants answers */
  void *unplaced_keys, *unplaced_values;
} tsr_spans;
#define TSR_AS_IT_CAME 0xFFFFFFFFu

/* All arrays hold n items of the table's widths. NULL: the operation does not use it, or the caller does not want
 * it. */
typedef struct tsr_bulk {
  tsr_state state;
  uint64_t n;
  const uint8_t *operations;   /* in, apply: TSR_APPLY_ */
  const void *keys, *values;   /* in; values of retrieve: notes, or NULL */
  uint32_t are_pairs;          /* in steps on pages: 1: each value follows its key; values is that of item 0 */
  void *keys_out, *values_out; /* find, find_or_insert: values; export: pairs; retrieve: `room` values */
  uint64_t *counts;            /* count: out; retrieve: where each key's values begin, then their end */
  void *unplaced_keys, *unplaced_values; /* insert, find_or_insert: at the failed input's index */
  uint8_t *results;                      /* TSR_RESULT_ per key; contains: 0 or 1 */
  uint64_t *times;                       /* apply: when item i began and ended, at 2 i and 2 i + 1 */
  uint64_t missing;                      /* find, find_or_insert, retrieve: the value of an absent pair */
  uint64_t room;                         /* retrieve: of values_out */
  uint32_t in_place;                     /* export: 1: each pair to the number of its slot in the table */
  uint64_t former;                       /* split: how many buckets there were */
  uint32_t tells_presence;               /* find, erase: 1: results are 1 and 0, as those of contains */
  tsr_spans spans;                       /* insert, combine */
  tsr_tally *tally;
} tsr_bulk;

/* Whether a key may get any of the values that one batch offers for it, whatever the items' results say. */
#define TSR_POLICY_TAKES_ANY(policy) ((policy) == TSR_DUPLICATES_FIRST || (policy) == TSR_DUPLICATES_REPLACE)

/* Whether several offers for one key may become one, because it does not matter which item gets which answer. */
#define TSR_POLICY_MERGES(policy) (TSR_POLICY_COMBINES(policy) && (policy) != TSR_DUPLICATES_REPLACE)

#endif
