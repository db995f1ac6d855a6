/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of inputs (text.h).
 */
#define _POSIX_C_SOURCE 200809L /* read, pread */

#include "tools/cli/text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "tools/cli/unpack.h"

enum { RAW_BYTES = 512 };

/* What some editors and spreadsheets begin a file of UTF-8 with. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

struct tsr_text {
  int file;
  const char *path;
  const tsr_format *format; /* NULL: plain */
  bool is_by_content;       /* `format` is not known yet */
  uint64_t consumed, produced;
  uint64_t start;         /* where reading began: 0, or the offset that was sought last */
  size_t raw_at, raw_end; /* bytes of `raw` that were not used yet */
  tsr_unpack *unpack;     /* NULL: it is plain, or was not read yet */
  bool is_begun;          /* `head` is known */
  size_t head_at, head_end;
  unsigned char head[TSR_TEXT_HEAD_BYTES];
  unsigned char raw[RAW_BYTES]; /* what was read to tell by */
};

tsr_status tsr_text_begin(int file, const char *path, const tsr_format *format, bool is_by_content, tsr_text **text,
                          tsr_error *error) {
  tsr_text *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  t->file = file;
  t->path = path;
  t->format = format;
  t->is_by_content = is_by_content;
  *text = t;
  return TSR_OK;
}

void tsr_text_free(tsr_text *text) {
  if (text) tsr_unpack_end(text->unpack);
  free(text);
}

/* ---- Parts of a file ------------------------------------------------------------------------- */

uint64_t tsr_text_at(const tsr_text *text) { return text->start + text->produced - (text->head_end - text->head_at); }

tsr_status tsr_text_seek(tsr_text *text, uint64_t offset, tsr_error *error) {
  if (lseek(text->file, (off_t)offset, SEEK_SET) < 0)
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", text->path, strerror(errno));
  text->start = offset;
  text->consumed = text->produced = 0;
  text->raw_at = text->raw_end = text->head_at = text->head_end = 0;
  text->is_begun = true; /* what its head tells was asked for before */
  return TSR_OK;
}

tsr_status tsr_text_peek(const tsr_text *text, uint64_t offset, void *to, size_t room, size_t *bytes,
                         tsr_error *error) {
  ssize_t got;
  do {
    got = pread(text->file, to, room, (off_t)offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", text->path, strerror(errno));
  *bytes = (size_t)got;
  return TSR_OK;
}

uint64_t tsr_text_lines_before(const tsr_text *text) {
  char block[1 << 16];
  uint64_t lines = 0;
  tsr_error useless;
  size_t got = 0;
  for (uint64_t at = 0; at < text->start; at += got) {
    const uint64_t left = text->start - at;
    if (tsr_text_peek(text, at, block, left < sizeof block ? (size_t)left : sizeof block, &got, &useless) || !got)
      return lines;
    for (const char *from = block; (from = memchr(from, '\n', (size_t)(block + got - from))); from++) lines++;
  }
  return lines;
}

uint64_t tsr_text_consumed(const tsr_text *text) {
  return text->unpack ? tsr_unpack_consumed(text->unpack) : text->consumed - (text->raw_end - text->raw_at);
}

bool tsr_text_lacks_end(const tsr_text *text) { return text->unpack && tsr_unpack_lacks_end(text->unpack); }

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

/* A pipe may give one byte at a time: some are needed to tell. */
static tsr_status look_at_content(tsr_text *t, tsr_error *error) {
  size_t got = 1;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && got > 0 && t->raw_end < TSR_MAGIC_BYTES_MAX) {
    status = read_some(t, t->raw + t->raw_end, RAW_BYTES - t->raw_end, &got, error);
    t->raw_end += status == TSR_OK ? got : 0;
  }
  t->is_by_content = false;
  t->format = tsr_format_by_content(t->raw, t->raw_end);
  return status;
}

static tsr_status read_compressed(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (!t->unpack) status = tsr_unpack_begin(t->file, t->path, t->format, t->raw, t->raw_end, &t->unpack, error);
  return status == TSR_OK ? tsr_unpack_take(t->unpack, to, room, bytes, error) : status;
}

static tsr_status read_plain(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  size_t left = t->raw_end - t->raw_at; /* what look_at_content read */
  if (!left) return read_some(t, to, room, bytes, error);
  *bytes = left < room ? left : room;
  memcpy(to, t->raw + t->raw_at, *bytes);
  t->raw_at += *bytes;
  return TSR_OK;
}

/* 1 to `room` bytes of the decoded text, or none at the end. */
static tsr_status read_decoded(tsr_text *t, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (t->is_by_content) status = look_at_content(t, error);
  if (status == TSR_OK)
    status = t->format ? read_compressed(t, to, room, bytes, error) : read_plain(t, to, room, bytes, error);
  if (status == TSR_OK) t->produced += *bytes;
  return status;
}

/* What begins in a way that no text of numbers or letters does. */
static tsr_status refuse_no_text(const tsr_text *t, tsr_error *error) {
  const unsigned char *h = t->head;
  const size_t n = t->head_end;
  const bool is_marked = n >= 2 && ((h[0] == 0xff && h[1] == 0xfe) || (h[0] == 0xfe && h[1] == 0xff));
  const bool is_wide = n >= 4 && ((h[0] && !h[1] && h[2] && !h[3]) || (!h[0] && h[1] && !h[2] && h[3]));
  const tsr_format *format = t->format ? NULL : tsr_format_by_content(h, n);
  if (is_marked || is_wide)
    return tsr_fail(error, TSR_IO, "%s: is UTF-16 text: convert it: iconv -f UTF-16 -t UTF-8 FILE", t->path);
  if (format)
    return tsr_fail(error, TSR_IO, "%s: is compressed by %s: give it a name that ends in %s", t->path, format->name,
                    format->ending);
  return TSR_OK;
}

static tsr_status begin_text(tsr_text *t, tsr_error *error) {
  size_t got = 1;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && got && t->head_end < sizeof t->head && !memchr(t->head, '\n', t->head_end)) {
    status = read_decoded(t, t->head + t->head_end, sizeof t->head - t->head_end, &got, error);
    t->head_end += status == TSR_OK ? got : 0;
  }
  if (status == TSR_OK) status = refuse_no_text(t, error);
  if (status) return status;
  t->is_begun = true;
  t->head_at = t->head_end >= 3 && memcmp(t->head, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
  return TSR_OK;
}

tsr_status tsr_text_head(tsr_text *text, const unsigned char **bytes, size_t *count, tsr_error *error) {
  tsr_status status = text->is_begun ? TSR_OK : begin_text(text, error);
  *bytes = text->head + text->head_at;
  *count = text->head_end - text->head_at;
  return status;
}

tsr_status tsr_text_read(tsr_text *text, unsigned char *to, size_t room, size_t *bytes, tsr_error *error) {
  tsr_status status = text->is_begun ? TSR_OK : begin_text(text, error);
  const size_t left = text->head_end - text->head_at;
  if (status) return status;
  if (!left) return read_decoded(text, to, room, bytes, error);
  *bytes = left < room ? left : room;
  memcpy(to, text->head + text->head_at, *bytes);
  text->head_at += *bytes;
  return TSR_OK;
}
