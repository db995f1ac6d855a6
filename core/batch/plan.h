/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch: which stages it passes, and how. This is the only place that chooses. The choice depends on the
 * composition and the batch alone; no device is asked. Read next: plan.c; README.md has what the stages do.
 */
#ifndef TSR_BATCH_PLAN_H
#define TSR_BATCH_PLAN_H

#include "core/batch/steps.h"
#include "core/compose/composition.h"
#include "core/kernels/bulk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A batch, as far as its plan depends on it. */
typedef struct tsr_batch {
  uint32_t op;          /* TSR_BULK_ */
  uint64_t n;           /* items */
  uint64_t held;        /* pairs that are in the table */
  bool is_clear;        /* nothing was inserted since the table was cleared */
  bool has_answers;     /* the caller asks what became of each item */
  bool is_recorded;     /* recorded into a graph: no stage may wait for the host, or choose by what it sees */
  uint64_t cache_bytes; /* of the device's L2; 0: unknown */
} tsr_batch;

/* The order in which items are worked on: as they came; by the page, or the list, of their keys; or by zones, which are
 * runs of pages that fit the cache. */
typedef enum tsr_batch_order { TSR_ORDER_NONE, TSR_ORDER_PAGES, TSR_ORDER_LISTS, TSR_ORDER_ZONES } tsr_batch_order;

/* How the bits of a filter before the table are set: by random access; in the order of the filter's blocks, for which
 * the keys are sorted; or in the order of pages, which the items have already. */
typedef enum tsr_batch_mark { TSR_MARK_NONE, TSR_MARK_RANDOM, TSR_MARK_BLOCKS, TSR_MARK_PAGES } tsr_batch_mark;

/* How items of one key become one item: of neighbours in the batch, of the most frequent keys of a sample, of a page. */
enum { TSR_GROUP_SPANS = 1, TSR_GROUP_HOT = 2, TSR_GROUP_PAGES = 4 };

/* Where items are worked on: in the table by random access, in pages that a block of threads holds, in lists that
 * are made as a whole, or by random access after the scheme has built its memory from their keys. BITS: the filter is
 * the table, so its bits are all there is to do. */
typedef enum tsr_batch_place {
  TSR_PLACE_RANDOM,
  TSR_PLACE_PAGES,
  TSR_PLACE_LISTS,
  TSR_PLACE_BUILT,
  TSR_PLACE_BITS
} tsr_batch_place;

/* The stages of a batch, in this order. */
typedef struct tsr_stages {
  tsr_batch_order order;
  tsr_batch_mark mark;
  uint32_t group; /* a sum of TSR_GROUP_ */
  tsr_batch_place place;
  tsr_judged judged; /* whether a sample leaves the whole batch to random access after all (judge.cuh) */
  bool travels;      /* pages are copied from the host's memory to the device, */
  bool writes;       /* ... and back, because the operation changes them */
  bool combines;     /* a last stage combines what inserts have left for keys that were present */
  bool answers;      /* results return to the order in which the caller has the keys */
} tsr_stages;

tsr_stages tsr_plan_batch(const tsr_composition *composition, const tsr_batch *batch);

/* Whether nothing else may work on the table meanwhile. */
static inline bool tsr_works_alone(const tsr_stages *stages) {
  return stages->order == TSR_ORDER_PAGES || stages->place == TSR_PLACE_LISTS || stages->place == TSR_PLACE_BUILT;
}

/* A sentence for each stage that is not empty, in their order; returns how many there are, at most TSR_STAGES_MAX. The
 * strings live as long as the process. */
enum { TSR_STAGES_MAX = 11 };
typedef struct tsr_stage_text {
  const char *stage, *sentence;
} tsr_stage_text;
uint32_t tsr_plan_describe(const tsr_stages *stages, tsr_stage_text text[TSR_STAGES_MAX]);

/* ---- What the choice follows from ------------------------------------------------------------ */

/* The smallest insert, in pairs, that goes page by page if the table holds `held` pairs; UINT64_MAX: none does. */
uint64_t tsr_plan_page_batch(const tsr_composition *composition, uint64_t held);
/* The smallest find for which pages come from host memory; a smaller one reads over the bus what it needs. */
uint64_t tsr_plan_travel_batch(const tsr_composition *composition);
/* The zones of a table: a key's zone is its page >> shift. */
typedef struct tsr_zones {
  uint64_t pages; /* of page_of_item */
  uint32_t count, shift;
} tsr_zones;
enum { TSR_ZONES_MAX = 256 };
tsr_zones tsr_plan_zones(const tsr_composition *composition, uint64_t cache_bytes);
/* The smallest batch of finds or erases that is worked on in the order of zones; UINT64_MAX: none is. */
uint64_t tsr_plan_zone_batch(const tsr_composition *composition, uint64_t cache_bytes);
/* Whether an operation can be worked on in this order, if the table has zones. */
bool tsr_plan_has_zones(const tsr_composition *composition, uint32_t op);
/* The smallest batch that is sorted for the filter's blocks alone; UINT64_MAX: none is. */
uint64_t tsr_plan_mark_batch(const tsr_composition *composition);
/* The smallest insert whose neighbouring items of one key become one. */
enum { TSR_SPANS_BATCH = 1 << 20 };

/* Whether items of one key may become one before they travel to another device (fold.h), and the least share of a sample,
 * in eighths, whose keys must be repeated for that to pay. */
bool tsr_plan_folds(const tsr_composition *composition, uint32_t op);
uint32_t tsr_plan_fold_share(const tsr_composition *composition);

/* On a GPU, how many keys of a page a block has room for when it combines items of one key; 0: it does not. */
uint32_t tsr_plan_set_room(const tsr_composition *composition);
/* Whether TSR_BULK_mark goes before this operation. */
bool tsr_plan_marks(const tsr_composition *composition, uint32_t op);
/* The number of pages in whose order a filter's bits are set: the table's, if it has pages; and how many bytes of the
 * filter a block of threads holds meanwhile. */
uint64_t tsr_plan_mark_pages(const tsr_composition *composition);
uint32_t tsr_plan_mark_bytes(const tsr_composition *composition);

/* Whether any batch of this composition takes this step (TSR_PAGES_). */
bool tsr_plan_has_step(const tsr_composition *composition, uint32_t step);

#ifdef __cplusplus
}
#endif
#endif
