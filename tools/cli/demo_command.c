/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera demo: the main job on real data. Every 16-mer of a bacterium's genome goes into a map, key -> lowest
 * position, and every 16-mer of a phage's genome is looked up. It is nothing but a `run`, whose line it prints first.
 */
#define _GNU_SOURCE /* program_invocation_name */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/command.h"
#include "tools/cli/data_file.h"
#include "tools/cli/job_run.h"

enum { LETTERS = 16, MATCHES_SHOWN = 10 };

static const char recipe[] = "demo";

/* Prints a word as a shell reads it. */
static void print_word(const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (*word && strspn(word, plain) == strlen(word)) {
    printf(" %s", word);
    return;
  }
  printf(" '");
  for (; *word; word++) printf(*word == '\'' ? "'\\''" : "%c", *word);
  printf("'");
}

/* $TESSERA_COMMAND is what the user typed if a script started this program. */
static void print_line(const tsr_arguments *arguments, const tsr_job *job) {
  const char *command = getenv("TESSERA_COMMAND");
  printf("$");
  print_word(command && *command ? command : program_invocation_name);
  printf(" run");
  print_word(recipe);
  for (size_t i = 0; i < arguments->given_count; i++) {
    print_word(arguments->given[i].name);
    print_word(arguments->given[i].value);
  }
  printf(" --kmers %d --insert", LETTERS);
  print_word(job->steps[0].path);
  printf(" --find");
  print_word(job->steps[1].path);
  printf("\n\n");
  fflush(stdout);
}

typedef struct match {
  uint64_t key, query, value;
} match;

typedef struct matches { /* the first ones */
  match all[MATCHES_SHOWN];
  uint32_t count;
  uint64_t queries; /* so far */
} matches;

static void take_matches(void *context, const tsr_rows *rows) {
  matches *m = context;
  for (uint64_t i = 0; i < rows->count && m->count < MATCHES_SHOWN; i++)
    if (rows->found[i])
      m->all[m->count++] = (match){tsr_number_at(rows->keys, rows->key_bits, i), m->queries + i,
                                   tsr_number_at(rows->values, rows->value_bits, i)};
  m->queries += rows->count;
}

static void print_matches(const matches *m) {
  char letters[LETTERS + 1] = {0};
  printf("\nmatches  the first %d; positions are numbers of k-mers, from 0\n", MATCHES_SHOWN);
  printf("         %-16s %12s %12s\n", "letters", "query", "genome");
  for (uint32_t i = 0; i < m->count; i++) {
    for (uint32_t at = 0; at < LETTERS; at++) letters[at] = "ACGT"[m->all[i].key >> (2 * (LETTERS - 1 - at)) & 3];
    printf("         %s %12" PRIu64 " %12" PRIu64 "\n", letters, m->all[i].query, m->all[i].value);
  }
  if (!m->count) printf("         none\n");
}

static tsr_exit run_demo(const tsr_arguments *arguments) {
  tsr_job_step steps[2] = {{.verb = TSR_JOB_INSERT, .path = getenv("TESSERA_DEMO_GENOME")},
                           {.verb = TSR_JOB_FIND, .path = getenv("TESSERA_DEMO_PHAGE")}};
  matches found = {.count = 0};
  tsr_spec *spec;
  tsr_error error;
  if (!steps[0].path || !steps[1].path)
    return tsr_say_usage("the demo's data was not found: run `./tessera demo` in a checkout, which installs it, or set "
                         "TESSERA_DEMO_GENOME and TESSERA_DEMO_PHAGE to two FASTA files");
  tsr_status status = tsr_arguments_spec(arguments, recipe, &spec, &error);
  if (status) return tsr_say_error(status, &error);
  tsr_job job = {.spec = spec,
                 .plugins = tsr_arguments_value(arguments, "--plugins"),
                 .reading = {.kmers = LETTERS},
                 .steps = steps,
                 .step_count = 2,
                 .listener = {take_matches, &found}};
  print_line(arguments, &job);
  tsr_exit failed = tsr_job_run(&job);
  if (failed == TSR_EXIT_OK || failed == TSR_EXIT_UNPLACED) print_matches(&found);
  tsr_job_free(&job);
  tsr_spec_free(spec);
  return failed;
}

static const tsr_option options[] = {TSR_OPTION_SET, TSR_OPTION_PLUGINS, TSR_OPTION_END};

const tsr_command tsr_demo_command = {
    {"demo", "", "Finds the 16-mers of a phage's genome in that of a bacterium.", options, NULL}, run_demo};
