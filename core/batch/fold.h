/* SPDX-License-Identifier: Apache-2.0
 *
 * Before a batch travels: items of one key become one item, which carries what all of them offer and how many they are.
 * Equal keys then take the link, and their shard, once. A batch is cut into spans, and a block of threads folds a span.
 * What it makes of the items takes the span's first places. These steps belong to the set of split.h. Read next: fold.cuh.
 */
#ifndef TSR_BATCH_FOLD_H
#define TSR_BATCH_FOLD_H

#include "core/batch/runs.h"
#include "plugins/table.h"

enum {
  TSR_FOLD_SPAN = TSR_RUNS_SPAN, /* items */
  TSR_FOLD_ROOM = 4096,          /* keys of a span that a block of the GPU has room for; others go on alone */
  TSR_FOLD_TRIES = 4,            /* places where it looks for one */
  TSR_FOLD_SAMPLES = 8,          /* spans of a sample of a batch, */
  TSR_FOLD_SAMPLED = 4096        /* ... and the items of each */
};

/* What an item became part of: a number in its span. FIRST: it gets that item's result, the others of its key learn that the
 * key was present. */
#define TSR_FOLD_FIRST 0x80000000u
#define TSR_FOLD_NUMBER (TSR_FOLD_SPAN - 1u)

typedef struct tsr_fold {
  uint32_t policy;     /* TSR_DUPLICATES_ */
  uint32_t span;       /* items of a span, at most TSR_FOLD_SPAN; */
  uint64_t every;      /* ... and from the beginning of one to that of the next */
  uint64_t most;       /* the largest value */
  void *keys, *values; /* out, by span; keys NULL: only their number is wanted */
  uint16_t *more;      /* ... of how many items, but one, each was made */
  uint32_t *made;      /* out: how many of each span */
  uint32_t *parts;     /* out: of each item; NULL: nobody wants to know */
  uint64_t *overflows; /* counts sums that passed the largest value; NULL: nobody wants to know */
} tsr_fold;

/* unfold: the answers for items that were folded, and where those of the batch go. Each may be NULL. */
typedef struct tsr_unfold {
  const uint8_t *codes;
  const void *unplaced_keys, *unplaced_values;
  uint8_t *to_codes;
  void *to_keys, *to_values;
} tsr_unfold;

/* The value of a key for which `present` and `offered` are offered, as tsr_combine (plugins/device.cuh) has it. Policies that
 * do not combine keep the first one. */
TSR_STEP_FUNCTION uint64_t tsr_fold_two(uint32_t policy, uint64_t most, uint64_t present, uint64_t offered,
                                        uint32_t *overflows) {
  const uint64_t sum = present + offered;
  switch (policy) {
  case TSR_DUPLICATES_ADD:
    *overflows += (sum & most) < offered;
    return sum & most;
  case TSR_DUPLICATES_MIN:
    return offered < present ? offered : present;
  case TSR_DUPLICATES_MAX:
    return offered > present ? offered : present;
  case TSR_DUPLICATES_COUNT_8:
  case TSR_DUPLICATES_COUNT_16:
  case TSR_DUPLICATES_COUNT:
    *overflows += sum < present || sum > most;
    return sum < present || sum > most ? most : sum;
  default:
    return present;
  }
}

/* Whether an item alone passes the largest count. */
TSR_STEP_FUNCTION uint32_t tsr_fold_passes(const tsr_fold *f, uint64_t value) {
  return TSR_POLICY_COUNTS(f->policy) && value > f->most;
}

/* What an item offers: of a counter at most the largest count, and 1 if the batch has no values. */
TSR_STEP_FUNCTION uint64_t tsr_fold_offer(const tsr_fold *f, uint32_t has_values, uint64_t value) {
  if (!TSR_POLICY_COUNTS(f->policy)) return value;
  return !has_values ? 1 : value < f->most ? value : f->most;
}

/* The result of an item whose key another item of the batch has brought. */
TSR_STEP_FUNCTION uint32_t tsr_fold_present(uint32_t policy) {
  return policy == TSR_DUPLICATES_FIRST     ? TSR_RESULT_PRESENT
         : policy == TSR_DUPLICATES_REPLACE ? TSR_RESULT_REPLACED
                                            : TSR_RESULT_COMBINED;
}

/* What the first of several items gets back if the value `made` of them is in hand again: what it offered itself, and what
 * others have added to the pair (merge_share in kernels/merge.cuh). */
TSR_STEP_FUNCTION uint64_t tsr_fold_share(const tsr_fold *f, uint64_t offered, uint64_t made, uint64_t in_hand) {
  if (in_hand == made) return offered;
  if (f->policy == TSR_DUPLICATES_ADD || TSR_POLICY_COUNTS(f->policy)) return (offered + (in_hand - made)) & f->most;
  return in_hand;
}

#endif
