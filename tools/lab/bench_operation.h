/* SPDX-License-Identifier: Apache-2.0
 *
 * What an operation of a benchmark consists of: bench_run.c drives it; bench_insert.c, bench_find.c,
 * bench_mixed.c, bench_join.c, bench_unique.c and bench_hits.c have them.
 */
#ifndef TSR_BENCH_OPERATION_H
#define TSR_BENCH_OPERATION_H

#include "core/tessera_tools.h"
#include "tools/lab/bench_arrays.h"
#include "tools/lab/contender.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A table, what it makes of keys that come again, and the keys that it handed back when it was filled. */
typedef struct tsr_bench_subject {
  tsr_contender on;
  tsr_merge merge;
  uint64_t count_max;                 /* of a counter; else 0 */
  uint8_t again;                      /* the result code of a key that was there; of TSR_MERGE_NONE any */
  uint64_t *unplaced, unplaced_count; /* ascending; a key for each pair */
} tsr_bench_subject;

typedef struct tsr_bench_result {
  double milliseconds;
  uint64_t done;       /* what the row's mops count (bench.h) */
  double hit_rate;     /* of a cache; else 0 */
  uint64_t not_placed; /* pairs handed back by the inserts that the operation consists of, or that filled its table */
  char complaint[256]; /* what is wrong with the result; "" = it is right */
  bool is_full;        /* all that is wrong is that keys found no place */
} tsr_bench_result;

/* One run of an operation on one table. */
typedef struct tsr_bench_turn {
  tsr_bench_arrays *arrays;
  const tsr_bench_subject *subject;
  uint64_t unplaced; /* pairs that had no place when the table was filled for it */
  uint64_t present;  /* pairs that it found in the table, unless it finds the one that tsr_bench_fill left */
  tsr_report report; /* of the operation alone */
  tsr_bench_result *result;
} tsr_bench_turn;

/* What the table is before an operation. SMALL: empty, made for a thousandth of the pairs, with growth = double. FILLED:
 * by tsr_bench_fill. */
enum { TSR_BENCH_ON_EMPTY, TSR_BENCH_ON_SMALL, TSR_BENCH_ON_FULL, TSR_BENCH_ON_FILLED };

typedef struct tsr_bench_operation {
  uint32_t before;   /* TSR_BENCH_ON_ */
  uint32_t answers;  /* TSR_BENCH_OUT | ...: what it writes; check finds it on the host */
  uint32_t calls;    /* of TSR_PREPARE_: those that are timed; a set's finds are TSR_PREPARE_CONTAINS */
  const char *limit; /* see tsr_bench_limit */
  bool has_rivals;   /* start goes by tsr_contender_ alone */
  bool of_index;     /* numbers keys: of kind = index, which has no other operations here */
  bool of_cache;     /* the same of kind = cache */
  tsr_status (*prepare)(tsr_bench_arrays *arrays, tsr_error *error); /* NULL = nothing to make */
  /* All that is timed. */
  tsr_status (*start)(const tsr_bench_arrays *arrays, const tsr_contender *on, tsr_error *error);
  /* The same for `count` items from the item `from` on, whose walks can be counted one by one; NULL = they cannot. */
  tsr_status (*start_some)(const tsr_bench_arrays *arrays, const tsr_contender *on, uint64_t from, uint64_t count,
                           tsr_error *error);
  /* Sets result->done and complains. */
  tsr_status (*check)(tsr_bench_turn *turn, tsr_error *error);
} tsr_bench_operation;

extern const tsr_bench_operation tsr_bench_insert, tsr_bench_incremental, tsr_bench_rebuild, tsr_bench_erase,
    tsr_bench_apply, tsr_bench_grow;
extern const tsr_bench_operation tsr_bench_find100, tsr_bench_find50, tsr_bench_find0, tsr_bench_find_all,
    tsr_bench_count_all;
extern const tsr_bench_operation tsr_bench_mixed, tsr_bench_join;
extern const tsr_bench_operation tsr_bench_number, tsr_bench_unique, tsr_bench_unique_counts, tsr_bench_unique_inverse;
extern const tsr_bench_operation tsr_bench_hits;

/* Writes the result's complaint, if it has none yet: what went wrong first says most. */
TSR_PRINTF(2, 3)
void tsr_bench_complain(tsr_bench_result *result, const char *format, ...);

/* Complains unless as many of the first n codes are `code` as the report says, where the operation wrote codes. */
void tsr_bench_check_codes(const tsr_bench_turn *turn, uint64_t n, uint8_t code, uint64_t reported);

/* What inserts offer: nothing to a counter, which counts each key once. */
const void *tsr_bench_values(const tsr_bench_arrays *arrays, const tsr_contender *on);

/* A filter says of some absent keys that they are there, and keeps none. */
bool tsr_bench_is_filter(const tsr_contender *on);

/* Keys come several times, and the table merges their pairs. */
bool tsr_bench_merges(const tsr_bench_arrays *arrays, const tsr_bench_subject *subject);

/* Complains if the report does not account for every pair of those offered to an empty table. */
void tsr_bench_check_offered(const tsr_bench_arrays *arrays, const tsr_bench_subject *subject, const tsr_report *report,
                             uint64_t offered, tsr_bench_result *result);
/* The same, and each key should be there now. offered: with repetitions. */
TSR_MUST_CHECK tsr_status tsr_bench_check_inserted(const tsr_bench_arrays *arrays, const tsr_bench_subject *subject,
                                                   const tsr_report *report, uint64_t offered, tsr_bench_result *result,
                                                   tsr_error *error);
/* Asks for each key and complains of its value. Overwrites the queries. pre: all pairs are there. */
TSR_MUST_CHECK tsr_status tsr_bench_check_values(tsr_bench_turn *turn, tsr_error *error);

typedef struct tsr_bench_tally {
  uint64_t wrong, found;
} tsr_bench_tally;
/* The sums of what `judge` says of each of `count` answers, on all processors. */
tsr_bench_tally tsr_bench_judge(const tsr_bench_turn *turn, uint64_t count,
                                tsr_bench_tally (*judge)(const tsr_bench_turn *turn, uint64_t i));

#ifdef __cplusplus
}
#endif
#endif
