/* SPDX-License-Identifier: Apache-2.0
 *
 * A saved table made what a spec says, whatever it was saved with. Read next: job.h.
 */
#ifndef TSR_LOADING_H
#define TSR_LOADING_H

#include <stdbool.h>

#include "core/tessera.h"

/* Loads the table saved at `path`. A spec of another kind or other widths is refused. Where it says anything else than
 * the table was saved with (capacity, seed, load factor, policy, parts, any section), that is told, and the pairs
 * are moved into a table that is as the spec says: *was_rehashed. What the spec does not say is the default; growth and
 * a capacity that it does not say, or that the table has grown to, stay. The caller destroys *table; on failure there
 * is none. */
TSR_MUST_CHECK tsr_status tsr_load_as(const char *path, const tsr_spec *spec, const char *plugins, tsr_table **table,
                                      bool *was_rehashed, tsr_error *error);

#endif
