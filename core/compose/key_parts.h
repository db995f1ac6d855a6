/* SPDX-License-Identifier: Apache-2.0
 *
 * [table] key_columns: a key that is made of several whole numbers. Read next: tessera_tools.h, which has the public half.
 */
#ifndef TSR_KEY_PARTS_H
#define TSR_KEY_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera_tools.h"

/* Reads the value of the entry. False: `rule` says what it must be. */
bool tsr_key_parts_read(const char *text, tsr_key_parts *columns, char *rule, size_t rule_bytes);

#endif
