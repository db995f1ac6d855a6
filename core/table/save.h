/* SPDX-License-Identifier: Apache-2.0
 *
 * What files of tables have in common, of one store (save.c) and of several (../devices/save.c). Read next:
 * save_format.h.
 */
#ifndef TSR_TABLE_SAVE_H
#define TSR_TABLE_SAVE_H

#include "core/spec/file.h"
#include "core/table/table_struct.h"

/* The INI text of a spec; NULL without memory. The caller frees it. */
char *tsr_save_text(const tsr_spec *spec);
/* Reads a spec from it, with the backend and the devices that the options name. The caller frees *spec. */
tsr_status tsr_save_spec(const char *text, const char *path, const tsr_load_options *options, tsr_spec **spec,
                         tsr_error *error) TSR_MUST_CHECK;
/* Begins the file that a table is written to: a regular one. */
tsr_status tsr_save_begin(tsr_file *file, const char *path, tsr_error *error) TSR_MUST_CHECK;
/* Writes a table of one store from byte `base` of a file on; *bytes: how many. */
tsr_status tsr_save_write(const tsr_file *file, const char *path, uint64_t base, tsr_table *table, uint64_t *bytes,
                          tsr_error *error) TSR_MUST_CHECK;
/* Ends it; what went wrong before, or now. */
tsr_status tsr_save_end(tsr_file *file, const char *path, tsr_status status, tsr_error *error) TSR_MUST_CHECK;
/* Refuses a file of a version that this library does not read. */
tsr_status tsr_save_check_version(const char *path, uint32_t version, tsr_error *error) TSR_MUST_CHECK;
/* Reads exactly that many bytes. */
tsr_status tsr_save_read(int file, const char *path, void *data, uint64_t bytes, tsr_error *error) TSR_MUST_CHECK;

#endif
