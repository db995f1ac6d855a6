/* SPDX-License-Identifier: Apache-2.0
 *
 * A table's beginning and end. The beginning is two steps, because loading a file needs them apart. Read next:
 * rebuild.h.
 */
#ifndef TSR_TABLE_CREATE_H
#define TSR_TABLE_CREATE_H

#include "core/table/table_struct.h"

/* A table with device and composition, but no memory yet; then the memory, cleared. Both leave *table to be destroyed
 * by the caller when they fail; before the first call it is NULL. */
tsr_status tsr_table_open(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_table_furnish(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

#endif
