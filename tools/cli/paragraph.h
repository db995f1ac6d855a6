/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts in lines that fit the terminal. Read next: help_command.c, which prints help so.
 */
#ifndef TSR_PARAGRAPH_H
#define TSR_PARAGRAPH_H

#include <stddef.h>

/* Columns of a line of standard output: $COLUMNS, otherwise those of the terminal, otherwise 80. At least 40. */
size_t tsr_line_columns(void);

/* Prints a text whose first word begins in column `at`, where standard output is now. A line that is full goes on in
 * column `indent` of the next one. A '\n' begins a new line there; what then begins with a blank is printed as it is. Ends
 * the last line. */
void tsr_paragraph_print(const char *text, size_t at, size_t indent);

/* A name and its text: the name in column 2, the text in column `indent`, on the next line if the name is too long. */
void tsr_entry_print(const char *name, const char *text, size_t indent);

#endif
