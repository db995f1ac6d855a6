/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of inputs (text.h).
 */
#define _POSIX_C_SOURCE 200809L /* read */

#include "tools/cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { TSR_RAW_BYTES = 1 << 16 };

struct tsr_text {
  int file;
  const char *path;
  const tsr_format *format; /* NULL: plain */
  bool is_by_content;       /* `format` is not known yet */
  uint64_t consumed, produced;
  size_t raw_at, raw_end; /* bytes of `raw` that were not used yet */
  tsr_decoder *decoder;
  bool is_in_stream; /* a compressed stream has begun and not ended */
  bool has_stream;   /* one has ended */
  unsigned char raw[TSR_RAW_BYTES];
};

static tsr_status begin_decoder(tsr_text *t, tsr_error *error) {
  t->decoder = t->format ? tsr_decoder_new(t->format) : NULL;
  if (!t->format || t->decoder) return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", t->path);
}

tsr_status tsr_text_begin(int file, const char *path, const tsr_format *format, bool is_by_content, tsr_text **text,
                          tsr_error *error) {
  tsr_text *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  t->file = file;
  t->path = path;
  t->format = format;
  t->is_by_content = is_by_content;
  tsr_status status = begin_decoder(t, error);
  if (status == TSR_OK)
    *text = t;
  else
    free(t);
  return status;
}

void tsr_text_free(tsr_text *text) {
  if (text) tsr_decoder_free(text->decoder);
  free(text);
}

uint64_t tsr_text_consumed(const tsr_text *text) { return text->consumed - (text->raw_end - text->raw_at); }

static tsr_status read_some(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  ssize_t got;
  do {
    got = read(t->file, to, room);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", t->path, strerror(errno));
  *bytes = (size_t)got;
  t->consumed += (uint64_t)got;
  return TSR_OK;
}

/* Refills `raw`, all of which was used; it stays empty at the end of the file. */
static tsr_status refill(tsr_text *t, tsr_error *error) {
  t->raw_at = t->raw_end = 0;
  return read_some(t, t->raw, TSR_RAW_BYTES, &t->raw_end, error);
}

/* A pipe may give one byte at a time: some are needed to tell. */
static tsr_status look_at_content(tsr_text *t, tsr_error *error) {
  size_t got = 1;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && got > 0 && t->raw_end < TSR_MAGIC_BYTES_MAX) {
    status = read_some(t, t->raw + t->raw_end, TSR_RAW_BYTES - t->raw_end, &got, error);
    t->raw_end += status == TSR_OK ? got : 0;
  }
  t->is_by_content = false;
  t->format = tsr_format_by_content(t->raw, t->raw_end);
  return status == TSR_OK ? begin_decoder(t, error) : status;
}

/* Decodes what `raw` holds, until it is used up or there is no room. */
static tsr_status decode_raw(tsr_text *t, tsr_pieces *to, tsr_error *error) {
  while (!t->is_in_stream && t->has_stream && t->raw_at < t->raw_end && t->raw[t->raw_at] == 0) t->raw_at++;
  if (t->raw_at == t->raw_end) return TSR_OK;
  const size_t room = to->out_bytes;
  to->in = t->raw + t->raw_at;
  to->in_bytes = t->raw_end - t->raw_at;
  const tsr_decoded decoded = tsr_decoder_run(t->decoder, to);
  t->raw_at = t->raw_end - to->in_bytes;
  t->is_in_stream = decoded == TSR_DECODED_SOME;
  t->has_stream = t->has_stream || decoded == TSR_DECODED_ALL;
  if (decoded == TSR_DECODED_NO_MEMORY) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to decompress", t->path);
  if (decoded != TSR_DECODED_BAD) return TSR_OK;
  return tsr_fail(error, TSR_IO, "%s: is not %s or is damaged behind byte %llu of its text: compress it again", t->path,
                  t->format->name, (unsigned long long)(t->produced + room - to->out_bytes));
}

static tsr_status read_compressed(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_pieces pieces = {.out = to, .out_bytes = room};
  tsr_status status = TSR_OK;
  bool is_at_end = false;
  while (status == TSR_OK && !is_at_end && pieces.out_bytes == room) {
    if (t->raw_at == t->raw_end) status = refill(t, error);
    is_at_end = t->raw_end == 0;
    if (status == TSR_OK && !is_at_end) status = decode_raw(t, &pieces, error);
  }
  if (status == TSR_OK && is_at_end && t->is_in_stream)
    return tsr_fail(error, TSR_IO, "%s: ends in the middle of its %s data, behind byte %llu of its text: get it again",
                    t->path, t->format->name, (unsigned long long)t->produced);
  *bytes = room - pieces.out_bytes;
  return status;
}

static tsr_status read_plain(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  size_t left = t->raw_end - t->raw_at; /* what look_at_content read */
  if (!left) return read_some(t, to, room, bytes, error);
  *bytes = left < room ? left : room;
  memcpy(to, t->raw + t->raw_at, *bytes);
  t->raw_at += *bytes;
  return TSR_OK;
}

tsr_status tsr_text_read(tsr_text *text, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_status status = TSR_OK;
  room = room < UINT32_MAX ? room : UINT32_MAX; /* as decoders count */
  if (text->is_by_content) status = look_at_content(text, error);
  if (status == TSR_OK)
    status = text->format ? read_compressed(text, to, room, bytes, error) : read_plain(text, to, room, bytes, error);
  if (status == TSR_OK) text->produced += *bytes;
  return status;
}
