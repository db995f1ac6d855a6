/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressed data of several formats, decoded by their libraries piece by piece. Read next: text.h, the user.
 */
#ifndef TSR_DECODER_H
#define TSR_DECODER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tsr_format {
  const char *name;   /* "gzip" */
  const char *ending; /* of names of files: ".gz" */
} tsr_format;

enum { TSR_MAGIC_BYTES_MAX = 6 };

/* By the ending of a name whose first `length` bytes count, or by a file's first bytes. NULL: it is none of these. */
const tsr_format *tsr_format_by_name(const char *name, size_t length);
const tsr_format *tsr_format_by_content(const unsigned char *bytes, size_t count);

/* What there is to read, and where the text goes. The decoder moves all four. */
typedef struct tsr_pieces {
  const unsigned char *in;
  size_t in_bytes;
  unsigned char *out;
  size_t out_bytes; /* below 2^32, like in_bytes: zlib and libbz2 count so far */
} tsr_pieces;

typedef enum tsr_decoded {
  TSR_DECODED_SOME, /* or nothing, for want of input or room */
  TSR_DECODED_ALL,  /* a stream has ended; another one may follow */
  TSR_DECODED_BAD,  /* it is of another format, or damaged */
  TSR_DECODED_NO_MEMORY
} tsr_decoded;

typedef struct tsr_decoder tsr_decoder;

tsr_decoder *tsr_decoder_new(const tsr_format *format); /* NULL: no memory */
/* Decodes until the input or the room is used up, or a stream ends. A call after that begins with the next stream. */
tsr_decoded tsr_decoder_run(tsr_decoder *decoder, tsr_pieces *pieces);
void tsr_decoder_free(tsr_decoder *decoder); /* NULL is fine */

#endif
