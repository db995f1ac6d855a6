/* SPDX-License-Identifier: Apache-2.0
 *
 * Where parts of text begin (cut.h).
 */
#include "tools/cli/cut.h"

#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 16 };

tsr_range tsr_range_of_part(const tsr_part *part, uint64_t bytes) {
  if (tsr_part_is_all(part)) return tsr_range_of_all;
  const bool is_last = part->index + 1 == part->count;
  return (tsr_range){tsr_part_begin(part, part->index, bytes),
                     is_last ? UINT64_MAX : tsr_part_begin(part, part->index + 1, bytes)};
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The last line end of a block from `first` on that has no quote in the `near` bytes before it; -1: none. */
static int64_t last_clear_end(const char *block, size_t bytes, size_t first, size_t near) {
  int64_t found = -1, quote = -1;
  for (size_t i = 0; i < bytes; i++) {
    if (block[i] == '"') quote = (int64_t)i;
    if (block[i] == '\n' && i >= first && (quote < 0 || i - (size_t)quote > near)) found = (int64_t)i;
  }
  return found;
}

/* Fills a block, which may take several calls. */
static tsr_status peek_all(const tsr_text *text, uint64_t at, char *to, size_t bytes, tsr_error *error) {
  size_t got = 1;
  tsr_status status = TSR_OK;
  for (size_t done = 0; status == TSR_OK && done < bytes && got; done += got) {
    status = tsr_text_peek(text, at + done, to + done, bytes - done, &got, error);
    if (status == TSR_OK && !got)
      memset(to + done, 0, bytes - done); /* the file has become shorter: its reader says so */
  }
  return status;
}

tsr_status tsr_cut_rows(const tsr_text *text, uint64_t from, size_t row_bytes, uint64_t *at, tsr_error *error) {
  char *block = malloc(2 * row_bytes);
  tsr_status status = block ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory to cut a file");
  *at = 0;
  for (uint64_t end = from; status == TSR_OK && end > 0 && !*at; end = end > row_bytes ? end - row_bytes : 0) {
    const uint64_t begin = end > 2 * row_bytes ? end - 2 * row_bytes : 0;
    status = peek_all(text, begin, block, (size_t)(end - begin), error);
    if (status) break;
    const int64_t found = last_clear_end(block, (size_t)(end - begin), begin ? row_bytes : 0, row_bytes);
    if (found >= 0) *at = begin + (uint64_t)found + 1;
  }
  free(block);
  return status;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Text read from a place on. */
typedef struct scan {
  const tsr_text *text;
  uint64_t block_at;
  size_t bytes;
  tsr_status status;
  tsr_error *error;
  char block[BLOCK_BYTES];
} scan;

/* The byte of an offset; -1: the file has ended, or cannot be read. */
static int byte_at(scan *s, uint64_t offset) {
  if (offset < s->block_at || offset >= s->block_at + s->bytes) {
    s->block_at = offset;
    s->bytes = 0;
    if (s->status == TSR_OK) s->status = tsr_text_peek(s->text, offset, s->block, sizeof s->block, &s->bytes, s->error);
    if (s->status || !s->bytes) return -1;
  }
  return (unsigned char)s->block[offset - s->block_at];
}

/* Behind the line end that comes first from an offset on. false: none does. *has_letters: nothing else was before it. */
static bool pass_line(scan *s, uint64_t *offset, bool *has_letters) {
  int byte;
  *has_letters = true;
  while ((byte = byte_at(s, *offset)) >= 0) {
    ++*offset;
    if (byte == '\n') return true;
    const int lower = byte | 0x20;
    *has_letters = *has_letters && ((lower >= 'a' && lower <= 'z') || (byte && strchr("*-. \t\r", byte)));
  }
  return false;
}

/* Whether the line at an offset can be the first one of a FASTQ record. */
static bool begins_fastq(scan *s, uint64_t offset) {
  bool has_letters = false, has_line = byte_at(s, offset) == '@' && pass_line(s, &offset, &has_letters);
  uint64_t lines = 0;
  for (; has_line && !(lines && byte_at(s, offset) == '+'); lines++)
    has_line = pass_line(s, &offset, &has_letters) && has_letters;
  return has_line;
}

tsr_status tsr_cut_records(const tsr_text *text, bool is_fastq, uint64_t from, uint64_t *at, tsr_error *error) {
  scan *s = malloc(sizeof *s);
  bool has_letters, has_line = true;
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "no memory to cut a file");
  *s = (scan){.text = text, .status = TSR_OK, .error = error};
  *at = from;
  if (from) {
    --*at;
    has_line = pass_line(s, at, &has_letters);
  }
  while (has_line && !(is_fastq ? begins_fastq(s, *at) : byte_at(s, *at) == '>'))
    has_line = pass_line(s, at, &has_letters);
  const tsr_status status = s->status;
  free(s);
  return status;
}
