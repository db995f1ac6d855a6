/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of one command, by a table of its options: what is read, what `--help` prints and the nearest name
 * of a misspelt option all come from the table. Options and operands may be mixed; both `--name VALUE` and
 * `--name=VALUE` are understood; `--` ends the options. Read next: command.h.
 */
#ifndef TSR_ARGUMENTS_H
#define TSR_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera.h"
#include "tools/cli/console.h"
#include "tools/lab/words.h"

typedef struct tsr_given {
  const char *name; /* of the option, from the table */
  const char *value;
} tsr_given;

typedef struct tsr_arguments {
  const char **operands;
  size_t operand_count;
  tsr_given *given; /* the options in the order written */
  size_t given_count;
} tsr_arguments;

/* Reads what stands behind the command word. Says what is wrong and returns TSR_EXIT_USAGE, or TSR_EXIT_OK; then the
 * number of operands is right. The caller frees *arguments in both cases; its strings are those of argv. */
tsr_exit tsr_arguments_read(const tsr_synopsis *synopsis, int argc, char **argv, tsr_arguments *arguments);
void tsr_arguments_free(tsr_arguments *arguments);

/* The value of an option that is not repeatable, or NULL. */
const char *tsr_arguments_value(const tsr_arguments *arguments, const char *name);
bool tsr_arguments_has(const tsr_arguments *arguments, const char *name);

/* Reads a spec, by the path of its file or as a recipe by its name, and applies every --set. The caller frees *spec. */
TSR_MUST_CHECK tsr_status tsr_arguments_spec(const tsr_arguments *arguments, const char *name, tsr_spec **spec,
                                             tsr_error *error);

/* The same with the spec of --spec or, where that is not given, the recipe of this name, which comes with the program. */
TSR_MUST_CHECK tsr_status tsr_arguments_recipe(const tsr_arguments *arguments, const char *name, tsr_spec **spec,
                                               tsr_error *error);

#endif
