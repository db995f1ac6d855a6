/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera sweep`: its command line, and what it prints (sweep.h).
 */
#define _GNU_SOURCE /* asprintf, basename */
#include "tools/lab/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/front.h"
#include "tools/lab/json.h"
#include "tools/lab/outputs.h"
#include "tools/lab/sweep_run.h"
#include "tools/lab/words.h"

enum {
  CSV,
  JSON,
  PLAN,
  LINK,
  SAMPLE,
  SET,
  PLUGINS,
  BENCH,
  N = BENCH,
  LOADS,
  OPS,
  BATCH,
  KEYS,
  MIX,
  REPEAT,
  PROBES,
  RAW,
  COMPILE,
  BESIDE,
  CODES,
  SEED,
  NAMES
};
static const tsr_option options[NAMES + 1] = {
    {"--csv", "FILE", false,
     "Where the rows go; those that it has are not measured again. Otherwise NAME.csv here, after the file's name."},
    {"--json", NULL, false, "Prints the front, or with --plan the tables, as one JSON object."},
    {"--plan", "yes|no", false, "Only lists what would be measured; no."},
    {"--link", "SM", false, "Only links what would be measured, for sm_90 and so on, without a GPU."},
    {"--sample", "N[:SEED]", false,
     "Measures N tables that are drawn at random, the same ones in each call with a SEED; 0."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    {"--n", "N", false, "As for bench, like the following."},
    {"--loads", "L,L...", false, "How full the tables get."},
    {"--ops", "OP,OP...", false, "Of " TSR_BENCH_OP_LIST "."},
    {"--batch", "B", false, "Keys per batch of incremental and rebuild."},
    {"--keys", "K,K...", false, "Distributions of the keys."},
    {"--mix", "A,B,C,D", false, "Shares of a mixed batch."},
    {"--repeat", "N", false, "Measurements; the median is printed."},
    {"--probes", "yes|no", false, "Whether probes are counted, which takes a run of its own."},
    {"--raw", "yes|no", false, "Whether rows list the rates of all repetitions."},
    {"--compile", "yes|no", false,
     "On the CPU, whether a compiler makes each table's code before it is timed; from 2^18 keys on."},
    {"--beside", "FILE.so", true, "Tables of other libraries, measured in turns with each table."},
    {"--codes", "yes|no", false, "Whether operations write result codes."},
    {"--seed", "N", false, "Seed of the keys and the tables."},
    TSR_OPTION_END};

typedef struct request {
  const char *file, *csv; /* csv: NULL: after the file's name */
  bool only_plan, as_json;
  uint32_t link_sm; /* 0: measures */
  tsr_plan_options plan;
  const char **sets;
  char **bench; /* "--n=2^20": plan.bench */
} request;

/* ---- The command line ------------------------------------------------------------------------ */

static tsr_status read_sample(request *r, const char *value, tsr_error *error) {
  const char *colon = strchr(value, ':');
  char count[32];
  snprintf(count, sizeof count, "%.*s", colon ? (int)(colon - value) : (int)strlen(value), value);
  const bool is_number = tsr_parse_u64(count, &r->plan.sample) && r->plan.sample;
  if (is_number && (!colon || tsr_parse_u64(colon + 1, &r->plan.sample_seed))) return TSR_OK;
  return tsr_fail(
      error, TSR_BAD_ARGUMENT,
      "sweep: --sample %s: must be a number of tables, 1 or more, and if you like a seed behind it, such as 200:7",
      value);
}

static tsr_status read_word(request *r, size_t which, const char *value, tsr_error *error) {
  uint64_t sm;
  if (which >= BENCH && which < NAMES) {
    if (asprintf(&r->bench[r->plan.bench_count], "%s=%s", options[which].name, value) < 0)
      return tsr_fail(error, TSR_NO_MEMORY, "no memory for the command line");
    r->plan.bench_count++;
    return TSR_OK;
  }
  switch (which) {
  case CSV:
    r->csv = value;
    return TSR_OK;
  case JSON:
    r->as_json = true;
    return TSR_OK;
  case PLAN:
    r->only_plan = strcmp(value, "yes") == 0;
    if (r->only_plan || strcmp(value, "no") == 0) return TSR_OK;
    return tsr_fail(error, TSR_BAD_ARGUMENT, "sweep: --plan %s: must be yes or no", value);
  case LINK:
    if (strncmp(value, "sm_", 3) != 0 || !tsr_parse_u64(value + 3, &sm) || sm == 0 || sm > 999)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "sweep: --link %s: write it like sm_90", value);
    r->link_sm = (uint32_t)sm;
    r->sets[r->plan.set_count++] = "table.backend=cuda";
    return TSR_OK;
  case SAMPLE:
    return read_sample(r, value, error);
  case SET:
    r->sets[r->plan.set_count++] = value;
    return TSR_OK;
  case PLUGINS:
    r->plan.plugins = value;
    return TSR_OK;
  default:
    if (r->file)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "sweep: %s: one file at a time, and it is %s", value, r->file);
    r->file = value;
    return TSR_OK;
  }
}

static tsr_status read_request(int argc, char **argv, request *r, tsr_error *error) {
  tsr_words words = {.command = "sweep", .options = options, .argc = argc, .argv = argv, .at = 1};
  const tsr_option *which;
  const char *value;
  r->sets = calloc((size_t)argc + 1, sizeof *r->sets);
  r->bench = calloc((size_t)argc + 1, sizeof *r->bench);
  if (!r->sets || !r->bench) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the command line");
  tsr_status status = TSR_OK;
  while (status == TSR_OK && tsr_words_next(&words, &which, &value, &status, error))
    status = read_word(r, which ? (size_t)(which - options) : NAMES, value, error);
  r->plan.sets = r->sets;
  r->plan.bench = (const char *const *)r->bench;
  if (status == TSR_OK && !r->file)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "sweep: no file: name an INI with a section [sweep] or [variants]");
  return status;
}

/* The CSV's name, of the file's: in the working directory. The caller frees it. */
static char *name_after(const char *file) {
  const char *name = basename(file), *end = strrchr(name, '.');
  char *csv = NULL;
  const int letters = (int)(end && end > name ? (size_t)(end - name) : strlen(name));
  return asprintf(&csv, "%.*s.csv", letters, name) < 0 ? NULL : csv;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static double pair_bytes(const tsr_point *point) { return (double)point->bytes / (double)point->options.n; }

static void put_plan(const tsr_plan *plan) {
  tsr_json json = {.out = stdout};
  tsr_json_object(&json, NULL);
  tsr_json_text(&json, "tessera", TSR_VERSION);
  tsr_json_list(&json, "plan");
  for (size_t i = 0; i < plan->count; i++) {
    tsr_json_object(&json, NULL);
    tsr_json_text(&json, "table", plan->points[i].label);
    tsr_json_real(&json, "bytes_per_pair", pair_bytes(&plan->points[i]), 2);
    tsr_json_text(&json, "composition", plan->points[i].composition);
    tsr_json_end_object(&json);
  }
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

static void print_plan(const tsr_plan *plan) {
  for (size_t i = 0; i < plan->count; i++)
    printf("%s\t%.2f bytes a pair\t%s\n", plan->points[i].label, pair_bytes(&plan->points[i]),
           plan->points[i].composition);
}

static tsr_status print_front(const tsr_plan *plan, const char *csv, bool as_json, tsr_error *error) {
  tsr_results results = {0};
  tsr_status status = tsr_results_read(csv, &results, error);
  if (status) return status;
  status = tsr_front_print(stdout, plan, &results, as_json, error);
  tsr_results_free(&results);
  return status;
}

static tsr_status run(const request *r, bool *all_right, tsr_error *error) {
  tsr_plan plan = {0};
  tsr_status status = tsr_plan_read(r->file, &r->plan, &plan, error);
  if (status) return status;
  tsr_plan_tell(&plan);
  char *made = r->csv ? NULL : name_after(r->file);
  const char *csv = r->csv ? r->csv : made;
  if (!csv)
    status = tsr_fail(error, TSR_NO_MEMORY, "no memory for the name of a file");
  else if (plan.count == 0)
    status = tsr_fail(error, TSR_BAD_SPEC, "%s: every combination is refused: there is nothing to measure", r->file);
  else if (r->only_plan)
    (r->as_json ? put_plan : print_plan)(&plan);
  else if (r->link_sm)
    status = tsr_plan_link(stdout, &plan, r->link_sm, error);
  else if ((status = tsr_outputs_check(&(tsr_named_path){"--csv", csv}, 1, &(tsr_named_path){"FILE", r->file}, 1,
                                       error)) == TSR_OK)
    status = tsr_plan_measure(&plan, csv, NULL, all_right, error);
  if (status == TSR_OK && !r->only_plan && !r->link_sm) {
    fprintf(stderr, "tessera: the rows are in %s\n", csv);
    status = print_front(&plan, csv, r->as_json, error);
  }
  free(made);
  tsr_plan_free(&plan);
  return status;
}

const tsr_synopsis tsr_sweep_synopsis = {
    "sweep", "FILE", "Measures all tables that a file lists, and prints the Pareto front.", options,
    "The file is a spec with a section [sweep]. Each of its entries lists values of another entry:\n"
    "    layout.bucket_slots = 1..32 *2\n"
    "    table.probing = NAME, OTHER\n"
    "[variants] names tables by words such as layout.bucket_slots=8; [bench] has options of bench, which the command "
    "line may replace. What cannot be composed, or is there twice, is left out and told. What the CSV file has already "
    "is not measured again, so an interrupted sweep goes on where it was."};

int tsr_sweep_command(int argc, char **argv) {
  request r = {0};
  tsr_error error;
  bool all_right = true;
  tsr_status status = read_request(argc, argv, &r, &error);
  if (status == TSR_OK) status = run(&r, &all_right, &error);
  if (status) fprintf(stderr, "tessera: %s\n", error.message);
  for (size_t i = 0; r.bench && i < r.plan.bench_count; i++) free(r.bench[i]);
  free(r.bench);
  free(r.sets);
  return status ? tsr_words_exit(status) : all_right ? 0 : 1;
}
