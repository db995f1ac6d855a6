/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations as the host sees them: their list and their one argument. Shared by the kernels (bulk.cuh), both
 * backends and the API; compiles as C11 and CUDA C.
 */
#ifndef TSR_BULK_H
#define TSR_BULK_H

#include "plugins/table.h"

/* Items are keys, for count and export buckets. An operation is one kernel, tsr_<op>, or tsr_roomy_<op> where that
 * needs a stack (bulk.cu), linked when first used. No kernel's name may contain another's, hence:
 * obtain: find or insert; multiplicity: the number of each key's pairs; gather: their values, to places that were summed
 * from those numbers; remove: erase one pair, key and value. */
#define TSR_BULK_OPS(F)                                                                                                \
  F(insert) F(find) F(contains) F(erase) F(count) F(export) F(obtain) F(multiplicity) F(gather) F(remove)

#define TSR_BULK_ENUM(op) TSR_BULK_##op,
enum { TSR_BULK_OPS(TSR_BULK_ENUM) TSR_BULKS };

/* Device counters of one operation; they only grow until the host clears them. */
typedef struct tsr_tally {
  uint64_t hits;       /* pairs inserted, erased, counted or exported; keys found */
  uint64_t not_placed; /* insert and obtain */
  uint64_t tombstones; /* count: slots that hold an erased pair */
  /* only with statistics, see tsr_counts: sums over the keys, and the most of one key */
  uint64_t probes, moves, lost_claims, stashed, probes_max, moves_max;
  uint64_t histogram[TSR_HISTOGRAM_BINS]; /* keys by their probes */
} tsr_tally;

/* All arrays hold n items of the table's widths; NULL where an operation has no use for it or the caller none. */
typedef struct tsr_bulk {
  tsr_state state;
  uint64_t n;
  const void *keys, *values;             /* in */
  void *keys_out, *values_out;           /* find, obtain: values; export: pairs; gather: `room` values */
  uint64_t *counts;                      /* multiplicity: out; gather: n + 1 places, where each key's values begin */
  void *homeless_keys, *homeless_values; /* insert, obtain: at the failed input's index */
  uint8_t *results;                      /* TSR_RESULT_ per key; contains: 0 or 1 */
  uint64_t missing;                      /* find, obtain, gather: the value of an absent pair */
  uint64_t room;
  tsr_tally *tally;
} tsr_bulk;

#endif
