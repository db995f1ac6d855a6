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

#include "tools/cli/command.h"
#include "tools/cli/crash.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/places.h"

static tsr_exit run_command(const tsr_command_row *row, int argc, char **argv) {
  if (tsr_words_want_help(argc, argv)) {
    tsr_help_print(row->synopsis);
    return TSR_EXIT_OK;
  }
  if (row->run_words) return (tsr_exit)row->run_words(argc, argv);
  tsr_arguments arguments;
  tsr_exit status = tsr_arguments_read(row->synopsis, argc, argv, &arguments);
  if (status == TSR_EXIT_OK) status = row->command->run(&arguments);
  tsr_arguments_free(&arguments);
  return status;
}

static tsr_exit dispatch(int argc, char **argv) {
  const char *word = argc > 1 ? argv[1] : "--help";
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    tsr_help_print_all();
    return TSR_EXIT_OK;
  }
  const bool asks_version = strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0;
  const tsr_command_row *row = tsr_command_find(asks_version ? "version" : word);
  return row ? run_command(row, argc - 1, argv + 1) : TSR_EXIT_USAGE;
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
