/* SPDX-License-Identifier: Apache-2.0
 *
 * Experiments of papers: a file of specs/experiments is a plan (plan.h) with what the paper found.
 *
 *   [experiment]
 *   paper = BGHT, figure 3             ; required, as the next
 *   title = inserts and finds by bucket size
 *   device = TITAN V                   ; of the paper
 *   [small]                            ; options of bench with which `--small` tries it, in the place of [bench]'s
 *   n = 4096
 *   [paper]                            ; a figure of the paper each
 *   inserts = variant=b16 op=insert mops=1274
 *   ahead = variant=b16 op=insert over.variant=b1 ratio=1.7
 *
 * A line of [paper] chooses rows by a column of the CSV, by `variant`, or by what was swept (layout.bucket_slots=16), and has
 * a number: a column's (mops, probes, pct_limit, utilization), of which ours is the mean over the rows, or with pick=max the
 * largest; full_load, the highest load at which every pair found its place; or ratio, of the mops of the rows to those of
 * the rows that the words over.NAME=VALUE choose in the place of the same ones.
 * What a section [picture] says: duels.h.
 */
#ifndef TSR_EXPERIMENT_H
#define TSR_EXPERIMENT_H

#include <stdio.h>

#include "tools/lab/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_experiment_options {
  const char *path, *name, *csv; /* the file, what it is called, where its rows go */
  tsr_plan_options plan;         /* what the command line says; options of bench: --beside */
  bool is_small;
} tsr_experiment_options;

/* Whether a file is one: others are sweeps. */
bool tsr_experiment_is_one(const char *path);
/* Prints the name, and what the experiment is; nothing of a sweep. */
TSR_MUST_CHECK tsr_status tsr_experiment_list(FILE *out, const char *path, const char *name, tsr_error *error);

/* Measures what its CSV does not have, and prints ours beside the paper's. The same goes to NAME.paper.csv beside NAME.csv,
 * anew each time: name,set,metric,value,ratio,device, with a row of set `ours` and one of `paper` for each line of [paper];
 * ratio is ours over the paper's. With a section [picture] and rivals, the fastest of each go to NAME.peers.csv, whose picture
 * is the caller's to draw: *has_peers. Otherwise the rows are drawn as NAME.svg, as `tessera plot` does it, where there is
 * gnuplot. *all_right becomes false when an answer was wrong. */
TSR_MUST_CHECK tsr_status tsr_experiment_run(FILE *out, const tsr_experiment_options *options, bool *all_right,
                                             bool *has_peers, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
