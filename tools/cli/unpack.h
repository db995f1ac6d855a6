/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a compressed file, decoded by a thread of its own while the caller works on what it has. All cores decode gzip of
 * many members (members.h), and one decodes everything else. Memory holds two pieces of text, and the input that is searched
 * for members. Read next: text.h, the user; decoder.h.
 */
#ifndef TSR_UNPACK_H
#define TSR_UNPACK_H

#include <stdint.h>

#include "core/tessera.h"
#include "tools/cli/decoder.h"

typedef struct tsr_unpack tsr_unpack;

/* Begins to read the open file, whose first bytes were read to `head`. The file stays the caller's, `path` is for sentences and
 * lives as long. The caller ends it with tsr_unpack_end. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_unpack_begin(int file, const char *path, const tsr_format *format,
                                           const unsigned char *head, size_t bytes, tsr_unpack **unpack,
                                           tsr_error *error);

/* Moves 1 to `room` further bytes to `to`, or none at the end: *bytes = 0. Status: TSR_IO, when all text before was taken;
 * TSR_NO_MEMORY. The thread that waits here can be cancelled. */
TSR_MUST_CHECK tsr_status tsr_unpack_take(tsr_unpack *unpack, unsigned char *to, size_t room, size_t *bytes,
                                          tsr_error *error);

/* Bytes of the file that the text which was taken is of. */
uint64_t tsr_unpack_consumed(const tsr_unpack *unpack);

/* Whether this is a file of bgzip that has ended without the empty block that bgzip ends one with. */
bool tsr_unpack_lacks_end(tsr_unpack *unpack);

void tsr_unpack_end(tsr_unpack *unpack); /* NULL is fine */

#endif
