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

/* What of a table of one store goes into a file: its description, and its bytes, in the table or in a copy. */
typedef struct tsr_taken tsr_taken;
/* base: where in the file it begins. copies: the table may change at once; otherwise nothing may be done with it until *taken is
 * dropped. The caller drops *taken, which is NULL after a failure. */
tsr_status tsr_save_take(tsr_table *table, uint64_t base, bool copies, tsr_taken **taken, tsr_error *error)
    TSR_MUST_CHECK;
uint64_t tsr_save_taken_bytes(const tsr_taken *taken); /* in the file */
void tsr_save_drop(tsr_taken *taken);

/* The same of a table of either form. */
typedef struct tsr_snapshot {
  tsr_taken *parts[TSR_DEVICES_MAX];
  uint32_t count;
  void *head; /* of several devices: what comes before the parts; otherwise NULL */
  uint64_t head_bytes;
  const bool *stops; /* ends a put before its time; NULL: nothing does */
} tsr_snapshot;
void tsr_snapshot_drop(tsr_snapshot *snapshot);
/* Writes all of it into a file that was begun. A table that was not copied must have been dropped by nobody. */
tsr_status tsr_snapshot_put(const tsr_snapshot *snapshot, const tsr_file *file, const char *path, tsr_error *error)
    TSR_MUST_CHECK;

/* Begins the file that a table is written to: a regular one. */
tsr_status tsr_save_begin(tsr_file *file, const char *path, tsr_error *error) TSR_MUST_CHECK;
/* Ends it; what went wrong before, or now. */
tsr_status tsr_save_end(tsr_file *file, const char *path, tsr_status status, tsr_error *error) TSR_MUST_CHECK;
/* Refuses a file of a version that this library does not read. */
tsr_status tsr_save_check_version(const char *path, uint32_t version, tsr_error *error) TSR_MUST_CHECK;
/* Reads exactly that many bytes. */
tsr_status tsr_save_read(int file, const char *path, void *data, uint64_t bytes, tsr_error *error) TSR_MUST_CHECK;

#endif
