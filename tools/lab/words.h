/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of a command line of the laboratory, one option or operand at a time: `--name VALUE` or `--name=VALUE`,
 * each option once. Read next: bench_options.c, which uses it.
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

typedef struct tsr_words {
  const char *command;      /* for sentences */
  const char *const *names; /* of the options, each with its dashes; all take a value */
  size_t name_count;        /* at most 32 */
  uint32_t repeatable;      /* bit i: names[i] may be given again */
  int argc;
  char **argv;
  int at;         /* the next word; 1 at first */
  uint32_t given; /* bit i: names[i] was read; 0 at first */
} tsr_words;

/* Reads the next option, or an operand: then *which = name_count. pre: at < argc. TSR_BAD_ARGUMENT with a sentence. */
TSR_MUST_CHECK tsr_status tsr_words_next(tsr_words *words, size_t *which, const char **value, tsr_error *error);

/* Whether --help or -h is among the words. */
bool tsr_words_want_help(int argc, char **argv);

/* The exit status of a command that ends so: 0, 1 if it failed, 2 for a request that cannot be met. */
int tsr_words_exit(tsr_status status);

#ifdef __cplusplus
}
#endif
#endif
