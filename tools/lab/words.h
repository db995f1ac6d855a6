/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a command line, one option or operand at a time: `--name VALUE` or `--name=VALUE`; `--` ends the options. The
 * only reader of options: of the laboratory, and under ../cli/arguments.h. Read next: bench_options.c, which uses it.
 */
#ifndef TSR_WORDS_H
#define TSR_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_option {
  const char *name;  /* "--find"; NULL ends a table */
  const char *value; /* what follows it: "FILE"; words to choose from in small letters: "yes|no"; NULL: nothing */
  bool is_repeatable;
  const char *doc; /* sentences; a '\n' begins a new line */
} tsr_option;

#define TSR_OPTION_END                                                                                                 \
  { NULL, NULL, false, NULL }

enum { TSR_OPTIONS_MAX = 32 };

#define TSR_OPTION_PLUGINS                                                                                             \
  {                                                                                                                    \
    "--plugins", "DIRS", false,                                                                                        \
        "Folders of plugins, separated by colons. Otherwise $TESSERA_PLUGINS, then the folder next to the library."    \
  }
#define TSR_OPTION_SET                                                                                                 \
  { "--set", "SECTION.KEY=VALUE", true, "Sets an entry of the spec, in place of what its file has." }

/* What a command is: its help, its manual page and the completion of its words are made of these rows. */
typedef struct tsr_synopsis {
  const char *command;
  const char *operands; /* "ROLE NAME"; an optional one in brackets; FILE...: one or more; "" for none */
  const char *doc;      /* one sentence */
  const tsr_option *options;
  const char *more; /* further lines; those that begin with a blank are printed as they are. NULL: none */
} tsr_synopsis;

typedef struct tsr_words {
  const char *command;       /* for sentences */
  const tsr_option *options; /* at most TSR_OPTIONS_MAX */
  int argc;
  char **argv;
  int at;         /* the next word; 1 at first */
  bool has_ended; /* `--` was read */
  uint32_t given; /* bit i: options[i] was read; 0 at first */
} tsr_words;

/* Reads the next option, whose value is NULL where none follows, or an operand: then *which is NULL. False: there is none;
 * or *status is TSR_BAD_ARGUMENT with a sentence. */
bool tsr_words_next(tsr_words *words, const tsr_option **which, const char **value, tsr_status *status,
                    tsr_error *error);

/* Whether --help or -h is among the words before `--`. */
bool tsr_words_want_help(int argc, char **argv);

/* The exit status of a command that ends so: 0, 1 if it failed, 2 for a request that cannot be met. */
int tsr_words_exit(tsr_status status);

#ifdef __cplusplus
}
#endif
#endif
