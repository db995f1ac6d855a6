/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of tessera, one source file each: <name>_command.c. commands.c lists them. main.c reads the
 * arguments of a command and runs it; it prints its results and returns the exit status. Read next: main.c.
 */
#ifndef TSR_COMMAND_H
#define TSR_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "tools/cli/arguments.h"

typedef struct tsr_command {
  tsr_synopsis synopsis;
  tsr_exit (*run)(const tsr_arguments *arguments);
} tsr_command;

extern const tsr_command tsr_list_command;
extern const tsr_command tsr_describe_command; /* list_command.c */
extern const tsr_command tsr_check_command;
extern const tsr_command tsr_link_command; /* check_command.c */
extern const tsr_command tsr_run_command;
extern const tsr_command tsr_count_command;
extern const tsr_command tsr_join_command;
extern const tsr_command tsr_unique_command;
extern const tsr_command tsr_exec_command;
extern const tsr_command tsr_demo_command;
extern const tsr_command tsr_new_command;
extern const tsr_command tsr_conform_command;
extern const tsr_command tsr_experiment_command;
extern const tsr_command tsr_tune_command;
extern const tsr_command tsr_plot_command;
extern const tsr_command tsr_report_command;

extern const tsr_command tsr_complete_command;
extern const tsr_command tsr_help_command;

/* A command of the list of all. The laboratory's read their own words. */
typedef struct tsr_command_row {
  const tsr_synopsis *synopsis; /* NULL ends the list */
  const tsr_command *command;   /* NULL: of the laboratory */
  int (*run_words)(int argc, char **argv);
} tsr_command_row;

extern const tsr_command_row tsr_commands[]; /* commands.c */

/* The command of this name. NULL: there is none, which it says with the nearest name. */
const tsr_command_row *tsr_command_find(const char *word);

void tsr_help_print(const tsr_synopsis *synopsis); /* help_command.c */
void tsr_help_print_all(void);

/* Whether the first `length` letters of `word` name a role of plugins. */
bool tsr_is_role(const char *word, size_t length); /* list_command.c */

#endif
