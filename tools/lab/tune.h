/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding the best table for a workload. A file of it is a spec with a section
 *
 *   [workload]
 *   n = 2^24                ; pairs; required
 *   insert = 0.1             ; shares of the operations, of which there must be one: inserts of new keys,
 *   find = 0.6               ; finds of present keys,
 *   find_all = 0.1           ; of all pairs of a key, counted in pairs,
 *   find_absent = 0.2        ; of absent keys,
 *   erase = 0               ; and erases
 *   hits = 0                ; of a cache alone: keys that are found or inserted, as of bench
 *   number = 0              ; of an index alone: keys that are numbered
 *   objective = time        ; or hit_rate: the cache wins that holds the most of these keys when they come
 *   keys = zipf:1.0         ; their distribution, as of bench: also file:PATH, a sample; distinct
 *   loads = 0.6, 0.8, 0.9      ; how full the table may be; 0.5, 0.6, 0.7, 0.8, 0.9. Of a cache: slots / n
 *   memory = 1Gi            ; the table's most bytes; no bound
 *
 * and, if it says so itself, the space to search in: [sweep] and [variants] (plan.h). The search: tables that have more
 * bytes than `memory` are left out; small tables count probes on the processors, where nothing is linked, and those go on
 * that are predicted to be fastest on the GPU (predict.h), or without one whose operations go to memory least; they are
 * measured with a fraction of the pairs, and the fastest with all. If its time is up before, the best of what it has measured has won.
 * Read next: tune.c.
 */
#ifndef TSR_TUNE_H
#define TSR_TUNE_H

#include <stdio.h>

#include "tools/lab/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_tune_options {
  const char *path;      /* of the workload */
  const char *space;     /* a file whose [sweep] and [variants] count if that of the workload has none, or */
  bool space_is_given;   /* in the place of them */
  const char *csv, *out; /* where rows go, and are gone on with; where the winner goes: no file, or a former winner */
  const char *plugins;
  /* The GPU's limits: a file of `tessera roofline`; where there is no GPU, the best by prediction wins. NULL: measured. */
  const char *card;
  const char *const *sets; /* set_count assignments for all tables */
  size_t set_count;
  double seconds;   /* after which the best so far has won; 0: no bound */
  uint32_t link_sm; /* only links, for this compute capability, the code that would be measured; 0: measures */
} tsr_tune_options;

/* Searches, tells on `to` what it tried, and writes the winner's INI, with what was measured in its comment. TSR_BAD_SPEC:
 * the workload cannot be understood; TSR_INCOMPATIBLE: no table is small enough and holds its pairs. */
TSR_MUST_CHECK tsr_status tsr_tune(FILE *to, const tsr_tune_options *options, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
