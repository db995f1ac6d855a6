/* SPDX-License-Identifier: Apache-2.0
 *
 * What the commands that read files of keys have in common: options that say how rows of text are read, and what is told of
 * a file when it was read. Read next: dataset.h.
 */
#ifndef TSR_READING_H
#define TSR_READING_H

#include "tools/cli/arguments.h"
#include "tools/cli/dataset.h"

#define TSR_OPTION_STRICT                                                                                              \
  { "--strict", NULL, false, "Refuses a file without any key. Otherwise it is an empty input." }
/* clang-format off */
#define TSR_OPTIONS_OF_ROWS                                                                                            \
  {"--separator", "C|tab|blank", false, "What separates the columns of text: a character, 'tab' or 'blank'. Otherwise the file's "\
   "ending or its first row decides."},                                                                                \
  {"--null", "refuse|skip", false, "What to do with a row whose key or value is empty, \\N or -: 'refuse' (the default) or "  \
   "'skip'."},                                                                                                         \
  {"--signed", NULL, false, "Reads and writes negative numbers, in two's complement. Values that a table counts, adds "\
   "up or compares must not be negative."},                                                                            \
  {"--key-text", NULL, false, "Keys are texts. Tables have their 128-bit hash, with the seed of [table] seed, and outputs the texts."}, \
  TSR_OPTION_STRICT
/* clang-format on */

/* Reads these options, and --key as it is, into *reading. Says what is wrong. */
tsr_exit tsr_reading_options(const tsr_arguments *arguments, tsr_dataset_options *reading);

/* Whether --key names several columns, of a file that has one key a row; and then what the spec says of them if it says
 * nothing: the widest types that fit, as u64 of two columns. With --signed they are signed. */
TSR_MUST_CHECK tsr_status tsr_reading_columns(const tsr_dataset_options *reading, tsr_spec *spec, tsr_error *error);

/* Files are read with keys of this form. Its columns say what is signed. */
void tsr_reading_use(tsr_dataset_options *reading, const tsr_key_form *form);

/* With --key-text: form->texts, which the caller frees, and keys of 128 bits in `spec`. */
TSR_MUST_CHECK tsr_status tsr_reading_texts(const tsr_arguments *arguments, tsr_spec *spec, tsr_key_form *form,
                                            tsr_error *error);

/* The spec of --spec, or the first of two recipes, or the second one if keys have 128 bits. The caller frees. */
TSR_MUST_CHECK tsr_status tsr_reading_recipe(const tsr_arguments *arguments, const tsr_dataset_options *reading,
                                             const char *const names[2], tsr_spec **spec, tsr_error *error);

/* Says that the file is not there, if so. */
void tsr_say_if_missing(const char *path);

/* Says what a user would not expect of a file that was read: its first row was taken for names, it held no key, rows
 * were left out, it may be cut, or, where no report says it (is_quiet), many k-mers were skipped. */
void tsr_say_what_was_read(const char *path, const tsr_dataset_options *reading, const tsr_input_facts *facts,
                           bool is_quiet);

#endif
