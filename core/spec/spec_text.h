/* SPDX-License-Identifier: Apache-2.0
 *
 * Between spec.c, which holds what a spec says, and spec_text.c, which reads it from texts. No other file includes
 * this: those that use specs include spec.h.
 */
#ifndef TSR_SPEC_TEXT_H
#define TSR_SPEC_TEXT_H

#include "core/spec/spec.h"

/* ---- spec.c: the lists ----------------------------------------------------------------------- */

/* The section of that name, or NULL. */
const tsr_spec_section *tsr_spec_find_section(const tsr_spec *spec, const char *name);

/* Add one to the list. line: where the spec's text says it; 0: --set does. pre: names and value are legal, the list has
 * no such section or entry and holds fewer than TSR_SPEC_KEYS_MAX. Status: TSR_NO_MEMORY. */
tsr_status tsr_spec_add_section(tsr_spec *spec, const char *name, uint64_t line, tsr_error *error);
tsr_status tsr_spec_add_entry(tsr_spec *spec, const char *section, const char *key, const char *value, uint64_t line,
                              tsr_error *error);

/* ---- spec_text.c: the texts ------------------------------------------------------------------ */

/* Adds all that an INI text says to a new spec. After a refusal the spec holds a part of it. */
tsr_status tsr_spec_take_text(tsr_spec *spec, const char *text, size_t bytes, tsr_error *error);

/* One --set, cut into its three parts. */
typedef struct tsr_assignment {
  char section[TSR_SPEC_NAME_MAX + 1];
  char key[TSR_SPEC_NAME_MAX + 1];
  char value[TSR_SPEC_LINE_MAX + 1];
} tsr_assignment;

tsr_status tsr_assignment_split(const char *text, tsr_assignment *out, tsr_error *error);

#endif
