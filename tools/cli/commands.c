/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of all commands (command.h), in the order in which a newcomer needs them.
 */
#include <stdio.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/lab/bench.h"
#include "tools/lab/roofline.h"
#include "tools/lab/sweep.h"

static tsr_exit run_version(const tsr_arguments *arguments) {
  (void)arguments;
  printf("tessera %s\n", TSR_VERSION);
  return TSR_EXIT_OK;
}

static const tsr_option no_options[] = {TSR_OPTION_END};
static const tsr_command version_command = {{"version", "", "Prints the version.", no_options, NULL}, run_version};

#define OWN(command)                                                                                                   \
  { &(command).synopsis, &(command), NULL }
#define OF_LABORATORY(name)                                                                                            \
  { &tsr_##name##_synopsis, NULL, tsr_##name##_command }

const tsr_command_row tsr_commands[] = {
    OWN(tsr_demo_command),       OWN(tsr_list_command), OWN(tsr_describe_command), OWN(tsr_check_command),
    OWN(tsr_link_command),       OWN(tsr_run_command),  OWN(tsr_count_command),    OWN(tsr_join_command),
    OWN(tsr_unique_command),     OWN(tsr_exec_command), OWN(tsr_new_command),      OWN(tsr_conform_command),
    OWN(tsr_experiment_command), OWN(tsr_tune_command), OWN(tsr_plot_command),     OWN(tsr_report_command),
    OF_LABORATORY(bench),        OF_LABORATORY(sweep),  OF_LABORATORY(roofline),   OWN(tsr_complete_command),
    OWN(tsr_help_command),       OWN(version_command),  {NULL, NULL, NULL}};
enum { COMMANDS = sizeof tsr_commands / sizeof tsr_commands[0] - 1 };

const tsr_command_row *tsr_command_find(const char *word) {
  const char *names[COMMANDS];
  for (size_t i = 0; i < COMMANDS; i++) {
    names[i] = tsr_commands[i].synopsis->command;
    if (strcmp(word, names[i]) == 0) return &tsr_commands[i];
  }
  const char *nearest = tsr_nearest(word, names, COMMANDS);
  if (word[0] == '-')
    tsr_say("%s: options follow the command, as in `tessera run %s`; `tessera help` lists commands", word, word);
  else if (nearest)
    tsr_say("there is no command %s; did you mean %s?", word, nearest);
  else
    tsr_say("there is no command %s; `tessera help` lists them", word);
  return NULL;
}
