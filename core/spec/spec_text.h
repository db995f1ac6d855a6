/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of specs: of an INI text, and of one --set. Read next: spec_read.c, which makes specs by it.
 */
#ifndef TSR_SPEC_TEXT_H
#define TSR_SPEC_TEXT_H

#include "core/spec/spec.h"

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
