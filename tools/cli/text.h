/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of an input, decompressed: of a file or of standard input, plain or compressed. Read next: decoder.h,
 * sequence.h, dataset.h.
 */
#ifndef TSR_TEXT_H
#define TSR_TEXT_H

#include "tools/cli/data_file.h"
#include "tools/cli/decoder.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_text tsr_text;

/* Begins to read the open file `file`, which stays the caller's, as of this format (NULL: plain), or of what its first
 * bytes tell: for standard input, which has no name. `path` is for sentences and lives as long. The caller frees *text with
 * tsr_text_free. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_text_begin(int file, const char *path, const tsr_format *format, bool is_by_content,
                                         tsr_text **text, tsr_error *error);

/* The first bytes of the decoded text: its first line, or what of it is in TSR_TEXT_HEAD_BYTES. They stay to be read. A byte
 * order mark is no part of the text. Status: as of tsr_text_read. */
enum { TSR_TEXT_HEAD_BYTES = 512 };
TSR_MUST_CHECK tsr_status tsr_text_head(tsr_text *text, const unsigned char **bytes, size_t *count, tsr_error *error);

/* Puts 1 to `room` further bytes into `to`, or none at the end: *bytes = 0. Waits for a pipe that has none yet. A
 * compressed file may be several streams; zeros behind the last are padding, as tapes and block devices add it. Status:
 * TSR_IO (also what is plainly no text: UTF-16, or compressed under a name that says nothing of it), TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_text_read(tsr_text *text, unsigned char *to, size_t room, size_t *bytes,
                                        tsr_error *error);

/* For the parts of a plain regular file. The next byte that is read is that of this offset; and it is from now on. */
uint64_t tsr_text_at(const tsr_text *text);
TSR_MUST_CHECK tsr_status tsr_text_seek(tsr_text *text, uint64_t offset, tsr_error *error);
/* Reads up to `room` bytes that begin at an offset, wherever the text is. *bytes = 0 at the end of the file alone. */
TSR_MUST_CHECK tsr_status tsr_text_peek(const tsr_text *text, uint64_t offset, void *to, size_t room, size_t *bytes,
                                        tsr_error *error);
/* The line ends before the offset that was sought last: counted by reading all of that, for a sentence that names a line. */
uint64_t tsr_text_lines_before(const tsr_text *text);

/* Bytes of the file read so far, as they are there; of a part its own. */
uint64_t tsr_text_consumed(const tsr_text *text);

/* Whether this is a file of bgzip that has ended without the empty block that bgzip ends one with: it may be cut. */
bool tsr_text_lacks_end(const tsr_text *text);

void tsr_text_free(tsr_text *text); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
