/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes rows; rows.h says in which forms.
 */
#define _DEFAULT_SOURCE 1 /* htole64, pwrite */

#include "tools/cli/rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/spec/file.h"
#include "tools/cli/data_file.h"
#include "tools/cli/npy.h"
#include "tools/cli/texts.h"

enum {
  /* 64 letters or the digits of 16 columns, twice a separator and 20 digits, and a line end; or a value of bytes; binary
   * numbers, of which ROW_NUMBERS are in a row */
  ROW_NUMBERS = TSR_KEY_PARTS_MAX + 5,
  TSR_ROW_BYTES_MAX = 8 * ROW_NUMBERS + 2 * 2 * TSR_VALUE_BYTES_MAX,
  TSR_ROW_BLOCK = 1 << 16,
  TEXTS_AT_ONCE = 1 << 10
};

struct tsr_row_writer {
  tsr_file file;
  const char *path; /* for sentences */
  bool is_npy, is_csv, is_gzip;
  bool signed_keys, signed_values;
  uint32_t columns;
  uint64_t count;
  int failure; /* errno of the first write that failed, or 0 */
  z_stream zip;
  size_t used;
  const char *text; /* of the row under way; NULL: its key is no text, or one that is not known */
  size_t text_bytes;
  char bytes[TSR_ROW_BLOCK];
  unsigned char compressed[TSR_ROW_BLOCK];
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

static void put_bytes(tsr_row_writer *w, const void *bytes, size_t count) {
  if (!w->failure && count) w->failure = tsr_file_write(&w->file, bytes, count);
}

static void flush_rows(tsr_row_writer *w, int how) {
  if (!w->is_gzip) {
    put_bytes(w, w->bytes, w->used);
  } else if (w->used || how == Z_FINISH) {
    w->zip.next_in = (unsigned char *)w->bytes;
    w->zip.avail_in = (uInt)w->used;
    do {
      w->zip.next_out = w->compressed;
      w->zip.avail_out = sizeof w->compressed;
      deflate(&w->zip, how); /* cannot fail: the state is sound, and there is room */
      put_bytes(w, w->compressed, sizeof w->compressed - w->zip.avail_out);
    } while (w->zip.avail_out == 0);
  }
  w->used = 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static bool has_parts(const tsr_rows *rows) { return rows->form && rows->form->parts.count; }

static void add_byte(tsr_row_writer *w, char byte) { w->bytes[w->used++] = byte; }

static void add_decimal(tsr_row_writer *w, uint64_t value) {
  char digits[20];
  size_t n = sizeof digits;
  do {
    digits[--n] = (char)('0' + value % 10);
    value /= 10;
  } while (value > 0);
  memcpy(w->bytes + w->used, digits + n, sizeof digits - n);
  w->used += sizeof digits - n;
}

/* A number of an array; one with a sign in 64 bits of two's complement. */
static uint64_t wide_at(const void *array, uint32_t bits, bool is_signed, uint64_t i) {
  const uint64_t number = tsr_number_at(array, bits, i);
  return is_signed && bits == 32 ? (uint64_t)(int64_t)(int32_t)(uint32_t)number : number;
}

static void add_signed(tsr_row_writer *w, uint64_t number, bool is_signed) {
  const bool is_negative = is_signed && number >> 63;
  if (is_negative) add_byte(w, '-');
  add_decimal(w, is_negative ? 0 - number : number);
}

static void add_number(tsr_row_writer *w, const void *array, uint32_t bits, bool is_signed, uint64_t i) {
  add_signed(w, wide_at(array, bits, is_signed, i), is_signed);
}

static void add_value(tsr_row_writer *w, const void *values, uint32_t bits, bool is_signed, uint64_t i) {
  const size_t bytes = bits / 8;
  const unsigned char *value = (const unsigned char *)values + i * bytes;
  if (bits <= 64) add_number(w, values, bits, is_signed, i);
  for (size_t at = 0; bits > 64 && at < bytes; at++) {
    add_byte(w, "0123456789abcdef"[value[at] >> 4]);
    add_byte(w, "0123456789abcdef"[value[at] & 15]);
  }
}

static void add_parts(tsr_row_writer *w, const tsr_rows *rows, uint64_t i) {
  const tsr_any_key key = tsr_key_at(rows->keys, rows->key_bits, i);
  const tsr_key_parts *parts = &rows->form->parts;
  for (uint32_t c = 0; c < parts->count; c++) {
    if (c) add_byte(w, w->is_csv ? ',' : '\t');
    add_signed(w, tsr_part_of(key, &parts->part[c]), parts->part[c].is_signed);
  }
}

/* A text may be longer than the block. */
static void add_text_byte(tsr_row_writer *w, char byte) {
  if (w->used + TSR_ROW_BYTES_MAX >= sizeof w->bytes) flush_rows(w, Z_NO_FLUSH);
  add_byte(w, byte);
}

/* In quotes, as of RFC 4180, where a reader would take it for something else. */
static void add_text(tsr_row_writer *w) {
  static const char others[] = " ,;\t\"\r\n#";
  bool is_quoted = false;
  for (size_t i = 0; i < w->text_bytes; i++) is_quoted = is_quoted || memchr(others, w->text[i], sizeof others - 1);
  if (is_quoted) add_text_byte(w, '"');
  for (size_t i = 0; i < w->text_bytes; i++) {
    if (w->text[i] == '"') add_text_byte(w, '"');
    add_text_byte(w, w->text[i]);
  }
  if (is_quoted) add_text_byte(w, '"');
}

/* As 0x and 32 digits, so that lines are in the order of their keys. */
static void add_key(tsr_row_writer *w, const tsr_rows *rows, uint64_t i) {
  if (w->text) {
    add_text(w);
    return;
  }
  if (has_parts(rows)) {
    add_parts(w, rows, i);
    return;
  }
  if (rows->key_bits <= 64) {
    add_number(w, rows->keys, rows->key_bits, w->signed_keys, i);
    return;
  }
  const tsr_any_key key = tsr_key_at(rows->keys, rows->key_bits, i);
  add_byte(w, '0');
  add_byte(w, 'x');
  for (uint32_t shift = rows->key_bits; shift; shift -= 4) add_byte(w, "0123456789abcdef"[key >> (shift - 4) & 15]);
}

static void add_line(tsr_row_writer *w, const tsr_rows *rows, uint64_t i, bool is_found) {
  const tsr_any_key key = rows->letters ? tsr_key_at(rows->keys, rows->key_bits, i) : 0;
  const char separator = w->is_csv ? ',' : '\t';
  for (uint32_t at = rows->letters; at-- > 0;) add_byte(w, "ACGT"[(uint32_t)(key >> (2 * at)) & 3]);
  if (!rows->letters) add_key(w, rows, i);
  if (rows->found || rows->value_bits > 0) {
    add_byte(w, separator);
    if (is_found && rows->value_bits > 0) {
      add_value(w, rows->values, rows->value_bits, w->signed_values, i);
    } else {
      add_byte(w, is_found ? '+' : '-');
    }
  }
  if (rows->right_bits || rows->may_lack_right) {
    add_byte(w, separator);
    if (rows->rights)
      add_value(w, rows->rights, rows->right_bits, w->signed_values, i);
    else
      add_byte(w, rows->has_right ? '+' : '-');
  }
  add_byte(w, '\n');
}

/* Of an array. */
static uint32_t key_columns_of(const tsr_rows *rows) {
  return has_parts(rows) ? rows->form->parts.count : rows->key_bits > 64 ? 2 : 1;
}

/* key, value and found; of a pair, key and value; of a key alone, the key; the second value of a join, and whether it has
 * one. */
static uint32_t columns_of(const tsr_rows *rows) {
  return (rows->found        ? 3u
          : rows->value_bits ? 2u
                             : 1u) +
         key_columns_of(rows) - 1 + (rows->right_bits ? 1u : 0u) + rows->may_lack_right;
}

/* A row of an array: what there is none of is 0. */
static void add_numbers(tsr_row_writer *w, const tsr_rows *rows, uint64_t i, bool is_found) {
  uint64_t row[ROW_NUMBERS];
  uint32_t count = 0;
  const tsr_any_key wide = rows->key_bits > 64 ? tsr_key_at(rows->keys, rows->key_bits, i) : 0;
  const tsr_any_key key = has_parts(rows) ? tsr_key_at(rows->keys, rows->key_bits, i) : 0;
  for (uint32_t c = 0; has_parts(rows) && c < rows->form->parts.count; c++)
    row[count++] = tsr_part_of(key, &rows->form->parts.part[c]);
  if (!count)
    row[count++] = rows->key_bits > 64 ? (uint64_t)wide : wide_at(rows->keys, rows->key_bits, w->signed_keys, i);
  if (rows->key_bits > 64 && !has_parts(rows)) row[count++] = (uint64_t)(wide >> 64);
  if (rows->found || rows->value_bits)
    row[count++] = is_found && rows->value_bits ? wide_at(rows->values, rows->value_bits, w->signed_values, i) : 0;
  if (rows->found) row[count++] = is_found;
  if (rows->right_bits) row[count++] = rows->rights ? wide_at(rows->rights, rows->right_bits, w->signed_values, i) : 0;
  if (rows->may_lack_right) row[count++] = rows->has_right;
  for (uint32_t c = 0; c < count; c++) row[c] = htole64(row[c]);
  memcpy(w->bytes + w->used, row, count * sizeof row[0]);
  w->used += count * sizeof row[0];
}

/* Lines whose keys are texts, many at a time. */
static void add_texts(tsr_row_writer *w, const tsr_rows *rows) {
  const char *texts[TEXTS_AT_ONCE];
  size_t bytes[TEXTS_AT_ONCE];
  tsr_error error;
  for (uint64_t first = 0; first < rows->count && !w->failure; first += TEXTS_AT_ONCE) {
    const uint64_t left = rows->count - first, n = left < TEXTS_AT_ONCE ? left : TEXTS_AT_ONCE;
    const void *keys = (const char *)rows->keys + first * (rows->key_bits / 8);
    if (tsr_texts_find(rows->form->texts, n, keys, texts, bytes, &error)) {
      w->failure = ENOMEM;
      return;
    }
    for (uint64_t i = 0; i < n; i++) {
      w->text = texts[i];
      w->text_bytes = bytes[i];
      if (w->used + TSR_ROW_BYTES_MAX > sizeof w->bytes) flush_rows(w, Z_NO_FLUSH);
      add_line(w, rows, first + i, !rows->found || rows->found[first + i]);
    }
    tsr_texts_done(rows->form->texts);
  }
}

void tsr_rows_add(tsr_row_writer *writer, const tsr_rows *rows) {
  tsr_row_writer *w = writer;
  const bool has_texts = !w->is_npy && tsr_form_texts(rows->form);
  if (has_texts) add_texts(w, rows);
  for (uint64_t i = 0; i < rows->count && !w->failure && !has_texts; i++) {
    const bool is_found = !rows->found || rows->found[i];
    if (w->used + TSR_ROW_BYTES_MAX > sizeof w->bytes) flush_rows(w, Z_NO_FLUSH);
    if (w->is_npy)
      add_numbers(w, rows, i, is_found);
    else
      add_line(w, rows, i, is_found);
  }
  w->count += rows->count;
}

/* ---- The file -------------------------------------------------------------------------------- */

tsr_status tsr_rows_check_name(const char *option, const char *path, tsr_error *error) {
  static const char *const others[] = {".npy.gz", ".u32", ".u64", ".bz2", ".xz", ".zst", ".parquet", ".arrow"};
  for (size_t i = 0; path && i < sizeof others / sizeof others[0]; i++)
    if (tsr_name_ends(path, strlen(path), others[i]))
      return tsr_fail(
          error, TSR_BAD_ARGUMENT,
          "%s %s: rows are not written as %s: use .npy, .csv, .tsv.gz or .csv.gz, or another ending for lines of text",
          option, path, others[i]);
  return TSR_OK;
}

static tsr_status failed(const char *path, int failure, tsr_error *error) {
  return tsr_fail(error, failure == ENOMEM ? TSR_NO_MEMORY : TSR_IO, "%s: the rows cannot be written: %s",
                  strcmp(path, "-") == 0 ? "standard output" : path, strerror(failure));
}

static bool is_regular(const tsr_file *file) {
  struct stat facts;
  return fstat(file->descriptor, &facts) == 0 && S_ISREG(facts.st_mode);
}

static tsr_status check_kind(const tsr_rows *kind, tsr_error *error) {
  const bool is_key_width = kind->key_bits == 32 || kind->key_bits == 64 || kind->key_bits == 128;
  const uint32_t bits = kind->value_bits;
  const bool is_bytes = bits > 64 && bits % 8 == 0 && bits / 8 <= TSR_VALUE_BYTES_MAX;
  const bool is_value_width = bits == 0 || bits == 32 || bits == 64 || is_bytes;
  if (is_key_width && is_value_width) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_rows_open: key_bits = %u, value_bits = %u: see rows.h", kind->key_bits,
                  kind->value_bits);
}

/* A name that a reader could take for several, in quotes. */
static void add_name(tsr_row_writer *w, const char *name) {
  const bool is_quoted = strpbrk(name, " ,;\t\"\r\n");
  if (is_quoted) add_byte(w, '"');
  for (; *name; name++) {
    if (*name == '"') add_byte(w, '"');
    add_byte(w, *name);
  }
  if (is_quoted) add_byte(w, '"');
}

static bool has_signed_part(const tsr_rows *kind) {
  bool is = false;
  for (uint32_t c = 0; has_parts(kind) && c < kind->form->parts.count; c++)
    is = is || kind->form->parts.part[c].is_signed;
  return is;
}

/* The names of a key's columns: those of the file, if these are as many, or of the spec, or key1, key2. */
static void add_key_names(tsr_row_writer *w, const tsr_rows *kind) {
  const tsr_key_parts *parts = &kind->form->parts;
  const char *at = kind->names[0] ? kind->names[0] : "";
  uint32_t names = *at ? 1 : 0;
  for (const char *c = at; *c; c++) names += *c == ',';
  for (uint32_t c = 0; c < parts->count; c++) {
    char name[4 * TSR_NAME_BYTES];
    const size_t length = strcspn(at, ",");
    if (names == parts->count)
      snprintf(name, sizeof name, "%.*s", (int)length, at);
    else if (*parts->part[c].name)
      snprintf(name, sizeof name, "%s", parts->part[c].name);
    else
      snprintf(name, sizeof name, "key%u", c + 1);
    at += length + (at[length] == ',');
    if (c) add_byte(w, w->is_csv ? ',' : '\t');
    add_name(w, name);
  }
}

/* The row that names the columns. */
static void add_names(tsr_row_writer *w, const tsr_rows *kind) {
  const bool has_right = kind->right_bits || kind->may_lack_right;
  const bool has_column[] = {true, kind->found || kind->value_bits, has_right};
  const char *const own[] = {"key", has_right ? "left" : "value", "right"};
  for (size_t c = 0; c < sizeof own / sizeof own[0]; c++) {
    if (!has_column[c]) continue;
    if (c) add_byte(w, w->is_csv ? ',' : '\t');
    if (c == 0 && has_parts(kind))
      add_key_names(w, kind);
    else
      add_name(w, kind->names[c] && *kind->names[c] ? kind->names[c] : own[c]);
  }
  add_byte(w, '\n');
}

/* Whether the key is called otherwise than here: a .tsv of pairs without names stays one. */
static bool has_own_name(const tsr_rows *kind) {
  if (has_parts(kind) && *kind->form->parts.part[0].name) return true;
  return kind->names[0] && *kind->names[0] && strcmp(kind->names[0], "key") != 0;
}

/* What stands before the first row. That of an array is written over at the end, when the rows are counted. */
static int begin(tsr_row_writer *w, const tsr_rows *kind) {
  const char *path = w->path;
  const bool is_tsv = tsr_name_ends(path, strlen(path) - (w->is_gzip ? 3 : 0), ".tsv");
  if (w->is_npy) {
    tsr_npy_header(0, w->columns, w->signed_keys || w->signed_values, w->bytes);
    w->used = TSR_NPY_HEADER_BYTES;
  } else if (w->is_csv || (is_tsv && has_own_name(kind))) {
    add_names(w, kind);
  }
  const int gzip = 16 + MAX_WBITS, memory_level = 8; /* zlib's own default */
  if (w->is_gzip &&
      deflateInit2(&w->zip, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    return ENOMEM;
  return 0;
}

tsr_status tsr_rows_check_values(const char *option, const char *path, uint32_t value_bits, tsr_error *error) {
  if (!path || value_bits <= 64 || !tsr_name_ends(path, strlen(path), ".npy")) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "%s %s: an array of numbers has no values of %u bytes: name a file of text, .tsv or .csv", option,
                  path, value_bits / 8);
}

tsr_status tsr_rows_open(const char *path, const tsr_rows *kind, tsr_row_writer **writer, tsr_error *error) {
  tsr_status status = check_kind(kind, error);
  if (status) return status;
  size_t length = strlen(path);
  tsr_row_writer *w = calloc(1, sizeof *w);
  if (!w) return failed(path, ENOMEM, error);
  w->path = path;
  w->is_gzip = tsr_name_ends(path, length, ".gz");
  length -= w->is_gzip ? 3 : 0;
  w->is_npy = !w->is_gzip && tsr_name_ends(path, length, ".npy");
  w->is_csv = tsr_name_ends(path, length, ".csv");
  w->columns = columns_of(kind);
  w->signed_keys = kind->signed_keys || has_signed_part(kind);
  w->signed_values = kind->signed_values;
  int failure = tsr_file_begin_output(&w->file, path);
  if (!failure) {
    failure = begin(w, kind);
    if (failure) failure = tsr_file_end(&w->file, failure);
  }
  if (failure) {
    status = failed(path, failure, error);
  } else if (w->is_npy && !is_regular(&w->file)) {
    status = tsr_fail(
        error, TSR_IO,
        "%s: an array must go to a regular file, because its header has the number of rows, which is known at the end",
        path);
    failure = tsr_file_end(&w->file, ESPIPE);
  }
  if (status)
    free(w);
  else
    *writer = w;
  return status;
}

static void finish(tsr_row_writer *w) {
  char header[TSR_NPY_HEADER_BYTES];
  flush_rows(w, Z_FINISH);
  if (!w->is_npy || w->failure) return;
  tsr_npy_header(w->count, w->columns, w->signed_keys || w->signed_values, header);
  const ssize_t written = pwrite(w->file.descriptor, header, sizeof header, 0);
  if (written != (ssize_t)sizeof header) w->failure = written < 0 ? errno : EIO;
}

tsr_status tsr_rows_close(tsr_row_writer *writer, bool is_kept, tsr_error *error) {
  tsr_row_writer *w = writer;
  if (!w) return TSR_OK;
  if (is_kept) finish(w);
  if (w->is_gzip) deflateEnd(&w->zip);
  const int failure = tsr_file_end(&w->file, is_kept ? w->failure : ECANCELED);
  tsr_status status = is_kept && failure ? failed(w->path, failure, error) : TSR_OK;
  free(w);
  return status;
}

tsr_status tsr_rows_write(const char *path, const tsr_rows *rows, tsr_error *error) {
  tsr_row_writer *w = NULL;
  tsr_status status = tsr_rows_open(path, rows, &w, error);
  if (status) return status;
  tsr_rows_add(w, rows);
  return tsr_rows_close(w, true, error);
}
