/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera tune: the best table for a workload. What the file says and how it searches: tools/lab/tune.h.
 */
#define _GNU_SOURCE /* basename */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/cli/places.h"
#include "tools/lab/outputs.h"
#include "tools/lab/tune.h"

static const tsr_option options[] = {
    {"--out", "FILE", false, "The winner's INI. Otherwise NAME.tuned.ini here, after the file's name."},
    {"--csv", "FILE", false,
     "All measurements; an interrupted search continues from them. Otherwise NAME.tune.csv here."},
    {"--space", "FILE", false,
     "The file whose [sweep] and [variants] are searched. Otherwise the workload's file, or space.ini of the recipes."},
    {"--card", "FILE", false,
     "The GPU's limits, by which tables are chosen: a file of `tessera roofline`, such as specs/cards/h100.csv. "
     "Otherwise they "
     "are measured. Without a GPU the best by prediction wins."},
    {"--seconds", "S", false,
     "When to stop and take the best so far; the same call continues the search. No limit by default."},
    {"--link", "SM", false, "Only links what would be measured, for sm_90 and so on, without a GPU."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

/* NAME.ending, in the working directory, of a file NAME.ini; the option's value if it is given. */
static const char *choose(const tsr_arguments *arguments, const char *option, const char *ending,
                          char path[TSR_PLACE_BYTES]) {
  const char *given = tsr_arguments_value(arguments, option), *name = basename(arguments->operands[0]);
  const char *end = strrchr(name, '.');
  if (given) return given;
  const int letters = (int)(end && end > name ? (size_t)(end - name) : strlen(name));
  snprintf(path, TSR_PLACE_BYTES, "%.*s%s", letters, name, ending);
  return path;
}

/* The numbers of --seconds and --link, where they are given. */
static tsr_exit read_numbers(const tsr_arguments *arguments, double *seconds, uint32_t *link_sm) {
  const char *limit = tsr_arguments_value(arguments, "--seconds"), *target = tsr_arguments_value(arguments, "--link");
  uint64_t number = 0;
  if (limit && (!tsr_parse_double(limit, seconds) || *seconds < 1 || *seconds > 1e6))
    return tsr_say_usage("--seconds %s: must be a number of seconds from 1 to 1000000", limit);
  if (target && (strncmp(target, "sm_", 3) != 0 || !tsr_parse_u64(target + 3, &number) || number == 0 || number > 999))
    return tsr_say_usage("--link %s: write it like sm_90", target);
  *link_sm = (uint32_t)number;
  return TSR_EXIT_OK;
}

static tsr_exit run(const tsr_arguments *arguments) {
  char out[TSR_PLACE_BYTES], csv[TSR_PLACE_BYTES];
  tsr_error error;
  tsr_status status = TSR_OK;
  double seconds = 0;
  uint32_t link_sm = 0;
  const tsr_exit misread = read_numbers(arguments, &seconds, &link_sm);
  if (misread != TSR_EXIT_OK) return misread;
  const char *given = tsr_arguments_value(arguments, "--space");
  const char **sets = calloc(arguments->given_count + 1, sizeof *sets);
  size_t set_count = 0;
  for (size_t i = 0; sets && i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, "--set") == 0) sets[set_count++] = arguments->given[i].value;
  const tsr_tune_options of_tune = {.path = arguments->operands[0],
                                    .space = given ? given : "experiments/space",
                                    .space_is_given = given != NULL,
                                    .csv = choose(arguments, "--csv", ".tune.csv", csv),
                                    .out = choose(arguments, "--out", ".tuned.ini", out),
                                    .plugins = tsr_arguments_value(arguments, "--plugins"),
                                    .card = tsr_arguments_value(arguments, "--card"),
                                    .sets = sets,
                                    .set_count = set_count,
                                    .seconds = seconds,
                                    .link_sm = link_sm};
  const tsr_named_path outputs[] = {{"--out", of_tune.out}, {"--csv", of_tune.csv}};
  const tsr_named_path inputs[] = {{"FILE", of_tune.path}, {"--space", given}, {"--card", of_tune.card}};
  status = tsr_outputs_check(outputs, 2, inputs, 3, &error);
  if (status == TSR_OK)
    status =
        sets ? tsr_tune(stdout, &of_tune, &error) : tsr_fail(&error, TSR_NO_MEMORY, "no memory for the command line");
  if (status == TSR_OK && !link_sm) printf("the winner is in %s, what was measured in %s\n", of_tune.out, of_tune.csv);
  free(sets);
  return status ? tsr_say_error(status, &error) : TSR_EXIT_OK;
}

const tsr_command tsr_tune_command = {
    {"tune", "FILE", "Finds the best table for a workload, and writes its INI.", options, NULL}, run};
