/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera experiment: the papers' experiments, each a file of specs/experiments, or a file of the user's own. What a
 * file says and what is compared: tools/lab/experiment.h. Read next: places.h, which finds the files.
 */
#define _GNU_SOURCE /* glob, asprintf, mkdir */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/cli/plot_request.h"
#include "tools/lab/experiment.h"

static const tsr_option options[] = {
    {"--list", NULL, false, "Lists the experiments."},
    {"--all", NULL, false, "All of them, one after the other."},
    {"--small", NULL, false,
     "With few keys, to try them: seconds for all, also on the cpu backend. Probes and loads are compared, and no "
     "rates."},
    {"--out", "FOLDER", false,
     "Where NAME.csv, NAME.paper.csv and the picture NAME.svg of each go; with rivals NAME.peers.csv as well. The "
     "folder is made if it is missing. Otherwise the working directory. An experiment continues a NAME.csv that is "
     "there."},
    {"--beside", "FILE.so", true, "Tables of other libraries, measured in turns with each table (examples/rivals)."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

/* Those among the recipes, which begin with their folder's name; `names` are without it. */
typedef struct experiments {
  const tsr_recipe_info *recipes, *each; /* each: the first of them */
  size_t recipe_count, count;
  const char **names;
} experiments;

static const char folder_name[] = "experiments/";

/* ---- Which there are ------------------------------------------------------------------------- */

static void free_experiments(experiments *e) {
  free(e->names);
  tsr_recipes_free(e->recipes, e->recipe_count);
}

static bool is_experiment(const tsr_recipe_info *recipe) {
  return strncmp(recipe->name, folder_name, strlen(folder_name)) == 0;
}

/* They stand together in the list, which is sorted. */
static tsr_exit find_experiments(experiments *e) {
  tsr_error error;
  tsr_status status = tsr_recipes_list(&e->recipes, &e->recipe_count, &error);
  if (status) return tsr_say_error(status, &error);
  e->names = calloc(e->recipe_count, sizeof *e->names);
  if (!e->names) return tsr_say_error(tsr_fail(&error, TSR_NO_MEMORY, "no memory for names of experiments"), &error);
  for (size_t i = 0; i < e->recipe_count; i++) {
    if (!is_experiment(&e->recipes[i])) continue;
    if (!e->count) e->each = &e->recipes[i];
    e->names[e->count++] = e->recipes[i].name + strlen(folder_name);
  }
  return e->count ? TSR_EXIT_OK : tsr_say_usage("the recipes have no folder experiments");
}

/* The number of the one of this name, in small or capital letters; the number of all, if there is none. */
static size_t find_name(const experiments *e, const char *name) {
  size_t i = 0;
  while (i < e->count && strcasecmp(e->names[i], name) != 0) i++;
  return i;
}

static tsr_exit unknown_name(const experiments *e, const char *name) {
  const char *nearest = tsr_nearest(name, e->names, e->count);
  return tsr_say_usage("there is no experiment %s%s%s: `tessera experiment --list` tells which there are", name,
                       nearest ? ", perhaps " : "", nearest ? nearest : "");
}

/* What repeats on the command line: assignments, and words of bench, which are its own. */
typedef struct repeated {
  const char **sets;
  char **bench;
  size_t set_count, bench_count;
} repeated;

static void free_repeated(repeated *r) {
  for (size_t i = 0; i < r->bench_count; i++) free(r->bench[i]);
  free(r->bench);
  free(r->sets);
}

static bool read_repeated(const tsr_arguments *arguments, repeated *r) {
  *r = (repeated){.sets = calloc(arguments->given_count + 1, sizeof *r->sets),
                  .bench = calloc(arguments->given_count + 1, sizeof *r->bench)};
  bool is_read = r->sets && r->bench;
  for (size_t i = 0; is_read && i < arguments->given_count; i++) {
    const char *value = arguments->given[i].value;
    if (strcmp(arguments->given[i].name, "--set") == 0) r->sets[r->set_count++] = value;
    if (strcmp(arguments->given[i].name, "--beside") != 0) continue;
    is_read = asprintf(&r->bench[r->bench_count], "--beside=%s", value) >= 0;
    r->bench_count += is_read;
  }
  return is_read;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The picture of ours beside others, which is that of `tessera plot NAME.peers.csv`. What cannot be drawn is said and fails
 * nothing: the figures are there. */
static void draw_peers(const char *folder, const char *name) {
  char csv[PATH_MAX], svg[PATH_MAX];
  const bool fits = snprintf(csv, sizeof csv, "%s/%s.peers.csv", folder, name) < (int)sizeof csv &&
                    snprintf(svg, sizeof svg, "%s/%s.svg", folder, name) < (int)sizeof svg;
  if (!fits || tsr_plot_file(csv, svg)) tsr_say("%s: no picture", name);
}

static tsr_exit run_one(const char *path, const char *name, const tsr_arguments *arguments, const repeated *r) {
  const char *folder = tsr_arguments_value(arguments, "--out");
  char csv[PATH_MAX];
  tsr_error error;
  bool all_right = true, has_peers = false;
  if (snprintf(csv, sizeof csv, "%s/%s.csv", folder ? folder : ".", name) >= (int)sizeof csv)
    return tsr_say_usage("--out %s: is too long a path", folder);
  const tsr_experiment_options of_one = {.path = path,
                                         .name = name,
                                         .csv = csv,
                                         .plan = {.plugins = tsr_arguments_value(arguments, "--plugins"),
                                                  .sets = r->sets,
                                                  .set_count = r->set_count,
                                                  .bench = (const char *const *)r->bench,
                                                  .bench_count = r->bench_count},
                                         .is_small = tsr_arguments_has(arguments, "--small")};
  tsr_status status = tsr_experiment_run(stdout, &of_one, &all_right, &has_peers, &error);
  fflush(stdout);
  if (status) return tsr_say_error(status, &error);
  if (has_peers) draw_peers(folder ? folder : ".", name);
  return all_right ? TSR_EXIT_OK : TSR_EXIT_FAILED;
}

static tsr_exit list_all(const experiments *e) {
  for (size_t i = 0; i < e->count; i++) {
    tsr_error error;
    tsr_status status = tsr_experiment_list(stdout, e->each[i].path, e->names[i], &error);
    if (status) return tsr_say_error(status, &error);
  }
  return TSR_EXIT_OK;
}

/* A name may be that of a file of the user's own. */
static bool is_file(const char *name) {
  const size_t letters = strlen(name);
  return letters > strlen(".ini") && strcmp(name + letters - strlen(".ini"), ".ini") == 0;
}

static tsr_exit run_file(const char *path, const tsr_arguments *arguments, const repeated *r) {
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
  char name[NAME_MAX + 1];
  snprintf(name, sizeof name, "%.*s", (int)(strlen(base) - strlen(".ini")), base);
  return run_one(path, name, arguments, r);
}

/* The folder of --out, made if it is missing. */
static tsr_exit make_folder(const char *folder) {
  tsr_error error;
  if (!folder || mkdir(folder, 0777) == 0 || errno == EEXIST) return TSR_EXIT_OK;
  return tsr_say_error(tsr_fail(&error, TSR_IO, "--out %s: the folder cannot be made: %s", folder, strerror(errno)),
                       &error);
}

/* One that fails does not keep the others from being run. */
static tsr_exit run_several(const experiments *e, const tsr_arguments *arguments) {
  repeated r;
  const bool is_read = read_repeated(arguments, &r);
  tsr_error error;
  tsr_exit worst = TSR_EXIT_OK;
  if (!is_read) worst = tsr_say_error(tsr_fail(&error, TSR_NO_MEMORY, "no memory for the command line"), &error);
  for (size_t i = 0; i < arguments->operand_count && worst == TSR_EXIT_OK; i++)
    if (!is_file(arguments->operands[i]) && find_name(e, arguments->operands[i]) == e->count)
      worst = unknown_name(e, arguments->operands[i]);
  if (worst == TSR_EXIT_OK) worst = make_folder(tsr_arguments_value(arguments, "--out"));
  const bool starts = worst == TSR_EXIT_OK;
  for (size_t i = 0; starts && i < arguments->operand_count; i++) {
    const char *operand = arguments->operands[i];
    const size_t which = is_file(operand) ? 0 : find_name(e, operand);
    const tsr_exit ended = is_file(operand) ? run_file(operand, arguments, &r)
                                            : run_one(e->each[which].path, e->names[which], arguments, &r);
    if (ended) worst = ended;
  }
  for (size_t i = 0; starts && tsr_arguments_has(arguments, "--all") && i < e->count; i++) {
    if (!tsr_experiment_is_one(e->each[i].path)) continue;
    const tsr_exit ended = run_one(e->each[i].path, e->names[i], arguments, &r);
    if (ended) worst = ended;
  }
  free_repeated(&r);
  return worst;
}

static tsr_exit run(const tsr_arguments *arguments) {
  experiments e = {.names = NULL};
  const bool lists = tsr_arguments_has(arguments, "--list");
  bool needs_names = lists || tsr_arguments_has(arguments, "--all");
  if (!needs_names && arguments->operand_count == 0)
    return tsr_say_usage("experiment: name one, such as `tessera experiment B1`, or say --list or --all");
  for (size_t i = 0; i < arguments->operand_count; i++) needs_names = needs_names || !is_file(arguments->operands[i]);
  tsr_exit status = needs_names ? find_experiments(&e) : TSR_EXIT_OK;
  if (status == TSR_EXIT_OK) status = lists ? list_all(&e) : run_several(&e, arguments);
  free_experiments(&e);
  return status;
}

const tsr_command tsr_experiment_command = {
    {"experiment", "[EXPERIMENT...]",
     "Runs experiments of the papers, or those of FILE.ini, and compares the results with theirs.", options, NULL},
    run};
