/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of inputs (text.h).
 *
 * inflate is called directly and not through gzFile, which takes the end of a compressed stream for
 * the end of the file if what follows it is damaged: files of many streams (bgzip) would be cut.
 */
#define _POSIX_C_SOURCE 200809L /* read */

#include "core/cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

enum { TSR_RAW_BYTES = 1 << 16 };

struct tsr_text {
  int file;
  const char *path;
  tsr_compression compression;
  uint64_t consumed, produced;
  size_t raw_at, raw_end; /* bytes of `raw` that were not used yet */
  z_stream zip;
  bool has_zip;
  bool is_in_stream; /* a gzip stream has begun and not ended */
  bool has_stream;   /* one has ended */
  unsigned char raw[TSR_RAW_BYTES];
};

tsr_compression tsr_text_compression(const char *name, size_t *length) {
  if (!tsr_name_ends(name, *length, ".gz")) return TSR_PLAIN;
  *length -= 3;
  return TSR_GZIP;
}

tsr_status tsr_text_begin(int file, const char *path, tsr_compression compression, tsr_text **text, tsr_error *error) {
  tsr_text *t = calloc(1, sizeof *t);
  if (t && compression != TSR_PLAIN) t->has_zip = inflateInit2(&t->zip, 16 + MAX_WBITS) == Z_OK;
  if (!t || (compression != TSR_PLAIN && !t->has_zip)) {
    free(t);
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  }
  t->file = file;
  t->path = path;
  t->compression = compression;
  *text = t;
  return TSR_OK;
}

void tsr_text_free(tsr_text *text) {
  if (text && text->has_zip) inflateEnd(&text->zip);
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

/* A pipe may give one byte at a time: two are needed to tell. */
static tsr_status look_at_content(tsr_text *t, tsr_error *error) {
  size_t got = 1;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && got > 0 && t->raw_end < 2) {
    status = read_some(t, t->raw + t->raw_end, TSR_RAW_BYTES - t->raw_end, &got, error);
    t->raw_end += status == TSR_OK ? got : 0;
  }
  t->compression = t->raw_end >= 2 && t->raw[0] == 0x1f && t->raw[1] == 0x8b ? TSR_GZIP : TSR_PLAIN;
  return status;
}

static tsr_status inflate_failed(const tsr_text *t, int code, tsr_error *error) {
  if (code == Z_MEM_ERROR) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to decompress", t->path);
  return tsr_fail(error, TSR_IO, "%s: is not gzip or is damaged behind byte %llu of its text (%s): compress it again",
                  t->path, (unsigned long long)t->produced, t->zip.msg ? t->zip.msg : "bad data");
}

/* Inflates what `raw` holds, until it is used up or `to` is full. */
static tsr_status inflate_raw(tsr_text *t, tsr_error *error) {
  while (!t->is_in_stream && t->has_stream && t->raw_at < t->raw_end && t->raw[t->raw_at] == 0) t->raw_at++;
  if (t->raw_at == t->raw_end) return TSR_OK;
  if (!t->is_in_stream) inflateReset(&t->zip);
  t->is_in_stream = true;
  t->zip.next_in = t->raw + t->raw_at;
  t->zip.avail_in = (uInt)(t->raw_end - t->raw_at);
  int code = inflate(&t->zip, Z_NO_FLUSH);
  t->raw_at = t->raw_end - t->zip.avail_in;
  if (code == Z_STREAM_END) {
    t->is_in_stream = false;
    t->has_stream = true;
  }
  return code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR ? TSR_OK : inflate_failed(t, code, error);
}

static tsr_status read_gzip(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_status status = TSR_OK;
  bool is_at_end = false;
  t->zip.next_out = to;
  t->zip.avail_out = (uInt)room;
  while (status == TSR_OK && !is_at_end && t->zip.avail_out == room) {
    if (t->raw_at == t->raw_end) status = refill(t, error);
    is_at_end = t->raw_end == 0;
    if (status == TSR_OK && !is_at_end) status = inflate_raw(t, error);
  }
  if (status == TSR_OK && is_at_end && t->is_in_stream)
    return tsr_fail(error, TSR_IO,
                    "%s: ends in the middle of its gzip data, behind byte %llu of its text: get it again", t->path,
                    (unsigned long long)t->produced);
  *bytes = room - t->zip.avail_out;
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
  room = room < UINT32_MAX ? room : UINT32_MAX; /* zlib counts so far */
  if (text->compression == TSR_BY_CONTENT) status = look_at_content(text, error);
  if (status == TSR_OK)
    status = text->compression == TSR_GZIP ? read_gzip(text, to, room, bytes, error)
                                           : read_plain(text, to, room, bytes, error);
  if (status == TSR_OK) text->produced += *bytes;
  return status;
}
