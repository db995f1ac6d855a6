/* SPDX-License-Identifier: Apache-2.0
 *
 * The commands of tessera, one source file each: <name>_command.c. main.c holds them in a table and reads their
 * arguments; each prints its results and returns the exit status. Read next: main.c.
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
extern const tsr_command tsr_exec_command;
extern const tsr_command tsr_demo_command;
extern const tsr_command tsr_new_command;
extern const tsr_command tsr_conform_command;
extern const tsr_command tsr_experiment_command;
extern const tsr_command tsr_tune_command;
extern const tsr_command tsr_plot_command;
extern const tsr_command tsr_report_command;

/* Whether the first `length` letters of `word` name a role of plugins. */
bool tsr_is_role(const char *word, size_t length); /* list_command.c */

#endif
