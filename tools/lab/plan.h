/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans: what a file of the laboratory enumerates. It is a spec with further sections:
 *
 *   [sweep]                              ; all combinations of what its entries list
 *   layout.bucket_slots = 1..32 *2       ; 1, 2, 4, ... 32; A..B +K counts up; A..B is +1
 *   table.probing = linear, cuckoo       ; with '|' between, where a value has commas
 *   bench.n = 2^20, 2^24                 ; an option of bench as well
 *   [variants]                           ; each with all of these; words as --set takes them
 *   small = layout.bucket_slots=4 layout.tile_lanes=1
 *   [bench]                              ; options of bench: n, loads, ops, repeat, keys, ...
 *   loads = 0.8, 0.9
 *
 * Variants may set options of bench as well (bench.n=2^20). [small] has options of bench for `experiment --small`, [paper] and
 * [experiment] what experiment.h says. A swept parameter that the part of a combination does not have is left out
 * there, and where a combination has another part than the spec, the spec's parameters of that role are. A value '-'
 * leaves an entry out. Read next: sweep_run.h, which measures a plan.
 */
#ifndef TSR_PLAN_H
#define TSR_PLAN_H

#include "core/tessera_tools.h"
#include "tools/lab/bench_options.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One table to measure. */
typedef struct tsr_point {
  char *label; /* the variant's name and what was swept: "small table.probing=linear" */
  tsr_spec *spec;
  char *composition; /* tsr_resolution.text */
  uint64_t bytes;    /* for the pairs of [bench], at its first load */
  uint32_t bucket_slots, bucket_bytes, tile_lanes;
  uint64_t page_batch, zone_batch; /* as of tsr_resolution */
  uint32_t sm;                     /* 0: the cpu backend */
  bool is_built;                   /* as of tsr_resolution */
  tsr_bench_options options;
  char *session; /* widths and options, as text: points of one text can share keys */
  char *words;   /* what options point into */
  char **argv;
} tsr_point;

/* Combinations that were refused for one reason. */
typedef struct tsr_refusal {
  char *sentence, *like; /* the first one; the same without its numbers */
  size_t count;
} tsr_refusal;

typedef struct tsr_plan {
  tsr_spec *file; /* all that it says */
  tsr_point *points;
  size_t count, enumerated, duplicates;
  tsr_refusal *refusals;
  size_t refusal_count;
} tsr_plan;

/* What the command line says over the file. */
typedef struct tsr_plan_options {
  const char *plugins;
  const char *const *sets; /* set_count assignments, for every point */
  size_t set_count;
  const char *const *bench; /* bench_count words of bench's command line, in the place of the same ones in [bench] */
  size_t bench_count;
  const tsr_spec *space; /* whose [sweep] and [variants] count, in the place of the file's; NULL: the file's own */
  uint64_t sample;       /* tables that are drawn at random; 0: all combinations */
  uint64_t sample_seed;  /* which ones */
} tsr_plan_options;

/* Reads the file and enumerates. A plan in which every combination was refused has no points, and is no error. The caller
 * frees *plan. TSR_BAD_SPEC, TSR_BAD_ARGUMENT: the file cannot be understood. */
TSR_MUST_CHECK tsr_status tsr_plan_read(const char *path, const tsr_plan_options *options, tsr_plan *plan,
                                        tsr_error *error);
void tsr_plan_free(tsr_plan *plan); /* all zero is fine */
/* The sections that make a table, [table] first; NULL after the last one. */
const char *tsr_plan_table_section(size_t i);
/* Leaves the points of these labels, in their order, but those of one session after the first one of it. */
void tsr_plan_choose(tsr_plan *plan, const char *const *labels, size_t count);

/* Says on standard error how many combinations there were and what became of them. */
void tsr_plan_tell(const tsr_plan *plan);

/* The values that an entry of [sweep] lists: *count texts in one block, freed by free(). TSR_BAD_SPEC with a sentence that
 * begins with `where`. */
TSR_MUST_CHECK tsr_status tsr_values_read(const char *where, const char *text, char ***values, size_t *count,
                                          tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
