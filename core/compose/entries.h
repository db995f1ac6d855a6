/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the roles as data: what the contract declares, by name. Read next: glue.h, which calls them.
 */
#ifndef TSR_ENTRIES_H
#define TSR_ENTRIES_H

#include "plugins/plugin.h"

typedef struct tsr_entry {
  uint32_t role;
  const char *result, *verb, *parameters, *arguments;
  const char *absent; /* NULL: required */
  size_t slot;        /* in the role's CPU function table, which tells whether a plugin has it */
} tsr_entry;

extern const tsr_entry tsr_entries[];
extern const size_t tsr_entry_count;

/* Whether this code has the function. */
bool tsr_entry_is_there(const tsr_image *image, const tsr_entry *entry);

/* The name of a function that the role requires and this code lacks, or NULL. */
const char *tsr_entry_missing(uint32_t role, const tsr_image *image);

#endif
