/* SPDX-License-Identifier: Apache-2.0
 *
 * What helps where pairs found no room in a table, for the sentences of all commands that fill one. Read next: advice.c.
 */
#ifndef TSR_ADVICE_H
#define TSR_ADVICE_H

#include "core/tessera.h"

enum { TSR_FULL_ADVICE_BYTES = 256 };

/* "raise capacity (now 1000) or ...", by what the table is made of. grow: how this command lets it grow, as "let the table
 * grow: --on-full grow". Returns advice. */
const char *tsr_advice_when_full(tsr_table *table, const char *grow, char advice[TSR_FULL_ADVICE_BYTES]);

#endif
