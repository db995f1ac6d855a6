/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera, the program: finds the command, reads its arguments and runs it. It is a user of tessera.h like any other
 * and knows no plugin by name. Read next: command.h (the commands), arguments.h (how their words are read).
 */
#define _GNU_SOURCE /* setenv, asprintf */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/cli/crash.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/places.h"
#include "tools/lab/bench.h"
#include "tools/lab/roofline.h"
#include "tools/lab/sweep.h"

/* In the order in which a newcomer needs them. */
static const tsr_command *const commands[] = {
    &tsr_demo_command,    &tsr_list_command,       &tsr_describe_command, &tsr_check_command, &tsr_link_command,
    &tsr_run_command,     &tsr_count_command,      &tsr_join_command,     &tsr_exec_command,  &tsr_new_command,
    &tsr_conform_command, &tsr_experiment_command, &tsr_tune_command,     &tsr_plot_command,  &tsr_report_command};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The laboratory reads its own arguments. */
typedef struct lab_command {
  const char *name, *operands, *doc;
  int (*run)(int argc, char **argv);
} lab_command;

static const lab_command lab_commands[] = {
    {"bench", "SPEC...", "Measures operations, verifies every result and prints CSV.", tsr_bench_command},
    {"sweep", "FILE", "Measures all tables that a file lists, and prints the Pareto front.", tsr_sweep_command},
    {"roofline", "", "Measures the random-access limits of the device.", tsr_roofline_command}};
enum { LAB_COMMANDS = sizeof lab_commands / sizeof lab_commands[0] };

static void print_usage(void) {
  printf(
      "usage: tessera COMMAND ...\n\nGPU hash tables, composed at run time from plugins that an INI file names.\n\n");
  for (size_t i = 0; i < COMMANDS; i++)
    printf("  %-10s %-10s %s\n", commands[i]->synopsis.command, commands[i]->synopsis.operands,
           commands[i]->synopsis.doc);
  for (size_t i = 0; i < LAB_COMMANDS; i++)
    printf("  %-10s %-10s %s\n", lab_commands[i].name, lab_commands[i].operands, lab_commands[i].doc);
  printf("  %-10s %-10s %s\n", "version", "", "Prints the version.");
  printf("\n`tessera COMMAND --help` tells a command's options. Results go to standard output, the rest to standard\n"
         "error; the exit status is 0, 1 for a job that failed, 2 for a wrong command line or spec, and 3 for a job "
         "that is\n"
         "done and has pairs that found no room, 130 for one that Ctrl-C ended, 143 for one that SIGTERM did.\n");
}

static tsr_exit unknown_command(const char *word) {
  const char *names[COMMANDS + LAB_COMMANDS + 1];
  size_t count = 0;
  for (size_t i = 0; i < COMMANDS; i++) names[count++] = commands[i]->synopsis.command;
  for (size_t i = 0; i < LAB_COMMANDS; i++) names[count++] = lab_commands[i].name;
  names[count++] = "version";
  const char *nearest = tsr_nearest(word, names, count);
  if (nearest) return tsr_say_usage("there is no command %s; did you mean %s?", word, nearest);
  return tsr_say_usage("there is no command %s; `tessera` alone lists them", word);
}

static tsr_exit run_command(const tsr_command *command, int argc, char **argv) {
  tsr_arguments arguments;
  tsr_exit status = tsr_arguments_read(&command->synopsis, argc, argv, &arguments);
  if (arguments.wants_help) {
    tsr_synopsis_print(&command->synopsis);
  } else if (status == TSR_EXIT_OK) {
    status = command->run(&arguments);
  }
  tsr_arguments_free(&arguments);
  return status;
}

static tsr_exit dispatch(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "--help";
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    print_usage();
    return TSR_EXIT_OK;
  }
  if (strcmp(word, "version") == 0 || strcmp(word, "--version") == 0) {
    if (argc > 2) return tsr_say_usage("%s: one word too many: usage: tessera version", argv[2]);
    printf("tessera %s\n", TSR_VERSION);
    return TSR_EXIT_OK;
  }
  for (size_t i = 0; i < COMMANDS; i++)
    if (strcmp(word, commands[i]->synopsis.command) == 0) return run_command(commands[i], argc - 1, argv + 1);
  for (size_t i = 0; i < LAB_COMMANDS; i++)
    if (strcmp(word, lab_commands[i].name) == 0) return (tsr_exit)lab_commands[i].run(argc - 1, argv + 1);
  return unknown_command(word);
}

/* Puts an installed program's plugins behind those of the environment, where the library looks next. */
static void add_installed_plugins(void) {
  char folder[TSR_PLACE_BYTES], *path;
  const char *given = getenv("TESSERA_PLUGINS");
  if (!tsr_place_plugins(folder) || asprintf(&path, "%s:%s", given ? given : "", folder) < 0) return;
  setenv("TESSERA_PLUGINS", path, 1);
  free(path);
}

int main(int argc, char **argv) {
  tsr_interrupt_watch();
  tsr_crash_watch();
  add_installed_plugins();
  tsr_exit status = dispatch(argc, argv);
  if (fflush(stdout) != 0 || ferror(stdout)) { /* a full disk must not look like success */
    tsr_say("standard output cannot be written: %s", strerror(errno));
    if (status == TSR_EXIT_OK) status = TSR_EXIT_FAILED;
  }
  return (int)status;
}
