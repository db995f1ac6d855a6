/* SPDX-License-Identifier: Apache-2.0
 *
 * .npy files (npy.h). Two parts: the header, a Python dictionary of three entries, is read strictly and once; then the
 * numbers are converted block by block, each checked against the width of its column.
 */
#define _DEFAULT_SOURCE 1 /* lseek */

#include "tools/cli/npy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  TSR_MAGIC_BYTES = 8,        /* "\x93NUMPY", major, minor */
  TSR_NPY_TEXT_MAX = 1 << 16, /* of a dictionary; that of an array of numbers has some 100 bytes */
#ifdef TSR_SMALL_BLOCKS
  TSR_BLOCK_NUMBERS = 1 << 7
#else
  TSR_BLOCK_NUMBERS = 1 << 13
#endif
};

/* Those of the part, by their numbers in the file. */
typedef struct rows {
  uint64_t begin, end, next;
} rows;

struct tsr_npy {
  int file;
  const char *path;
  const tsr_dataset_options *options;
  tsr_error *error; /* of the call that runs */
  /* the dictionary */
  const char *text, *end, *at;
  bool has_descr, has_order, has_shape;
  uint32_t number_bytes;
  bool is_signed, is_big_endian, is_fortran;
  uint64_t shape[2];
  uint32_t dimensions;
  /* the numbers */
  uint64_t begin; /* where they do, in the file */
  rows rows;
  unsigned char block[TSR_BLOCK_NUMBERS * 8];
};

static bool has_columns(const tsr_npy *n) { return tsr_form_columns(n->options->form) > 1; }

/* A key of 128 bits is a row of 16 bytes, whatever these are. */
static bool has_wide_keys(const tsr_npy *n) { return n->options->key_bits > 64 && !has_columns(n); }

/* ---- The dictionary -------------------------------------------------------------------------- */

static tsr_status malformed(const tsr_npy *n, const char *what) {
  return tsr_fail(n->error, TSR_IO, "%s: %s at byte %zu of its header: save it again with numpy.save", n->path, what,
                  (size_t)(n->at - n->text));
}

static void skip_blanks(tsr_npy *n) {
  while (n->at < n->end && (*n->at == ' ' || *n->at == '\t' || *n->at == '\n' || *n->at == '\r')) {
    n->at++;
  }
}

/* Passes over blanks and then this byte, if it is there. */
static bool take(tsr_npy *n, char byte) {
  skip_blanks(n);
  bool is_there = n->at < n->end && *n->at == byte;
  n->at += is_there ? 1 : 0;
  return is_there;
}

static bool take_word(tsr_npy *n, const char *word) {
  skip_blanks(n);
  size_t length = strlen(word);
  bool is_there = (size_t)(n->end - n->at) >= length && memcmp(n->at, word, length) == 0;
  n->at += is_there ? length : 0;
  return is_there;
}

/* A Python string without escapes. */
static tsr_status take_string(tsr_npy *n, char *out, size_t room) {
  skip_blanks(n);
  char quote = n->at < n->end ? *n->at : '\0';
  if (quote != '\'' && quote != '"') {
    return malformed(n, "there is no string where one belongs");
  }
  size_t length = 0;
  const char *from = n->at + 1;
  while (from + length < n->end && from[length] >= ' ' && from[length] <= '~' && from[length] != '\\' &&
         from[length] != quote) {
    length++;
  }
  if (from + length == n->end || from[length] != quote || length >= room) {
    return malformed(n, "a string does not end, has an escape or is too long");
  }
  memcpy(out, from, length);
  out[length] = '\0';
  n->at = from + length + 1;
  return TSR_OK;
}

static tsr_status read_descr(tsr_npy *n) {
  char descr[32];
  if (n->at < n->end && (skip_blanks(n), n->at < n->end) && *n->at == '[') {
    return tsr_fail(n->error, TSR_IO, "%s: is an array of records: save keys, or rows of key and value, as numbers",
                    n->path);
  }
  tsr_status status = take_string(n, descr, sizeof descr);
  if (status != TSR_OK) {
    return status;
  }
  if (has_wide_keys(n) && (strcmp(descr, "|V16") == 0 || strcmp(descr, "|S16") == 0)) {
    n->number_bytes = 16;
    return TSR_OK;
  }
  const bool is_number = strlen(descr) == 3 && strchr("<>=|", descr[0]) && strchr("ui", descr[1]) &&
                         strchr("1248", descr[2]) && (descr[0] != '|' || descr[2] == '1');
  if (!is_number)
    return tsr_fail(n->error, TSR_IO,
                    "%s: holds numbers of type '%s': whole numbers of 1, 2, 4 or 8 bytes are read: convert it, for "
                    "example by astype('<u8')",
                    n->path, descr);
  n->number_bytes = (uint32_t)(descr[2] - '0');
  n->is_signed = descr[1] == 'i';
  n->is_big_endian = descr[0] == '>'; /* '=' is never saved by a machine of the other order */
  return TSR_OK;
}

static tsr_status read_order(tsr_npy *n) {
  if (take_word(n, "False")) return TSR_OK;
  n->is_fortran = take_word(n, "True");
  return n->is_fortran ? TSR_OK : malformed(n, "fortran_order is neither True nor False");
}

/* Decimal digits within 64 bits. */
static bool take_number(tsr_npy *n, uint64_t *out) {
  uint64_t value = 0;
  skip_blanks(n);
  const char *start = n->at;
  for (; n->at < n->end && *n->at >= '0' && *n->at <= '9'; n->at++) {
    uint64_t digit = (uint64_t)(*n->at - '0');
    if (value > (UINT64_MAX - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *out = value;
  return n->at > start;
}

/* "(3,)" or "(3, 2)" or "(3, 2,)"; Python reads "(3)" as a number. */
static tsr_status read_shape(tsr_npy *n) {
  bool has_comma = true;
  if (!take(n, '(')) {
    return malformed(n, "the shape starts with no '('");
  }
  while (!take(n, ')')) {
    uint64_t extent = 0;
    if (!has_comma || !take_number(n, &extent)) {
      return malformed(n, "the shape is no list of whole numbers of 64 bits");
    }
    if (n->dimensions < 2) {
      n->shape[n->dimensions] = extent;
    }
    n->dimensions++; /* at most as many as the header has bytes */
    has_comma = take(n, ',');
  }
  return n->dimensions == 1 && !has_comma ? malformed(n, "the shape of one number lacks its ','") : TSR_OK;
}

/* One `'name': value`. */
static tsr_status read_entry(tsr_npy *n) {
  static const char *const names[] = {"descr", "fortran_order", "shape"};
  static tsr_status (*const readers[])(tsr_npy *) = {read_descr, read_order, read_shape};
  bool *const seen[] = {&n->has_descr, &n->has_order, &n->has_shape};
  char name[32];
  tsr_status status = take_string(n, name, sizeof name);
  if (status != TSR_OK) {
    return status;
  }
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(name, names[i]) == 0 && !*seen[i]) {
      *seen[i] = true;
      return take(n, ':') ? readers[i](n) : malformed(n, "a ':' is missing");
    }
  }
  return tsr_fail(
      n->error, TSR_IO,
      "%s: its header has '%s' twice or where it should not be: it has descr, fortran_order and shape, once "
      "each",
      n->path, name);
}

static tsr_status read_dictionary(tsr_npy *n) {
  bool has_comma = true;
  tsr_status status = take(n, '{') ? TSR_OK : malformed(n, "no '{' opens the dictionary");
  while (status == TSR_OK && !take(n, '}')) {
    status = has_comma ? read_entry(n) : malformed(n, "a ',' is missing");
    has_comma = status == TSR_OK && take(n, ',');
  }
  if (status != TSR_OK) {
    return status;
  }
  skip_blanks(n);
  if (n->at != n->end) {
    return malformed(n, "something follows the dictionary");
  }
  return n->has_descr && n->has_order && n->has_shape ? TSR_OK
                                                      : malformed(n, "descr, fortran_order or shape is missing");
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Reads what stands before the dictionary; *used is its bytes, *length those of the dictionary. */
static tsr_status read_preamble(const tsr_npy *n, uint64_t bytes, uint64_t *used, uint32_t *length) {
  static const unsigned char magic[] = "\x93NUMPY";
  unsigned char head[TSR_MAGIC_BYTES + 4];
  if (bytes < TSR_MAGIC_BYTES + 4) {
    return tsr_fail(n->error, TSR_IO, "%s: has %" PRIu64 " bytes: an array of NumPy has more", n->path, bytes);
  }
  tsr_status status = tsr_read_exactly(n->file, n->path, head, TSR_MAGIC_BYTES, n->error);
  if (status != TSR_OK) {
    return status;
  }
  if (memcmp(head, magic, 6) != 0) {
    return tsr_fail(n->error, TSR_IO, "%s: is no .npy file: its first bytes are not those of numpy.save", n->path);
  }
  if (head[6] < 1 || head[6] > 3 || head[7] != 0) {
    return tsr_fail(n->error, TSR_IO, "%s: has version %u.%u of the format: allowed are 1.0, 2.0 and 3.0", n->path,
                    head[6], head[7]);
  }
  uint32_t field = head[6] == 1 ? 2 : 4;
  *length = 0;
  status = tsr_read_exactly(n->file, n->path, head + TSR_MAGIC_BYTES, field, n->error);
  for (uint32_t i = field; i > 0; i--) {
    *length = *length << 8 | head[TSR_MAGIC_BYTES + i - 1];
  }
  *used = TSR_MAGIC_BYTES + field;
  return status;
}

static uint32_t columns_of(const tsr_npy *n) { return n->dimensions == 2 ? (uint32_t)n->shape[1] : 1; }

static tsr_status check_wide_shape(const tsr_npy *n) {
  const bool is_row = n->dimensions == 1 || (n->dimensions == 2 && n->shape[1] <= 16);
  if (is_row && n->number_bytes * columns_of(n) == 16 && !n->is_big_endian && !n->is_fortran) return TSR_OK;
  return tsr_fail(n->error, TSR_IO,
                  "%s: has %u dimensions, and %" PRIu64
                  " numbers of %u bytes%s in the last: keys of 128 bits are n items "
                  "of 16 bytes, as (n, 2) of <u8 in C order or n of V16",
                  n->path, n->dimensions, n->dimensions == 2 ? n->shape[1] : n->shape[0], n->number_bytes,
                  n->is_big_endian ? " (big-endian)"
                  : n->is_fortran  ? " (in Fortran order)"
                                   : "");
}

static tsr_status check_shape(const tsr_npy *n, uint64_t bytes) {
  tsr_status status = has_wide_keys(n) ? check_wide_shape(n) : TSR_OK;
  if (status) return status;
  const uint32_t keys = tsr_form_columns(n->options->form);
  if (has_columns(n) && (n->dimensions != 2 || n->shape[1] < keys || n->shape[1] > keys + 1))
    return tsr_fail(n->error, TSR_IO,
                    "%s: has %u dimensions, the last of %" PRIu64
                    " numbers: with key_columns it must be n rows of %u numbers, "
                    "or of %u with the value",
                    n->path, n->dimensions, n->dimensions == 2 ? n->shape[1] : n->shape[0], keys, keys + 1);
  const bool is_few =
      has_columns(n) || has_wide_keys(n) || n->dimensions == 1 || (n->shape[1] >= 1 && n->shape[1] <= 2);
  if (n->dimensions < 1 || n->dimensions > 2 || !is_few) {
    return tsr_fail(n->error, TSR_IO,
                    "%s: has %u dimensions, the last of %" PRIu64
                    " numbers: it must be n keys, or n rows of a key and a value",
                    n->path, n->dimensions, n->dimensions == 2 ? n->shape[1] : n->shape[0]);
  }
  uint64_t row_bytes = n->number_bytes * (n->dimensions == 2 ? n->shape[1] : 1);
  if (bytes % row_bytes != 0 || bytes / row_bytes != n->shape[0]) {
    return tsr_fail(n->error, TSR_IO,
                    "%s: has %" PRIu64 " bytes behind its header, which speaks of %" PRIu64 " rows of %" PRIu64
                    ": it is cut or damaged",
                    n->path, bytes, n->shape[0], row_bytes);
  }
  return TSR_OK;
}

/* Reads everything before the numbers. */
static tsr_status read_header(tsr_npy *n, uint64_t bytes) {
  uint64_t used = 0;
  uint32_t length = 0;
  tsr_status status = read_preamble(n, bytes, &used, &length);
  if (status != TSR_OK) {
    return status;
  }
  if (length > TSR_NPY_TEXT_MAX || length > bytes - used) {
    return tsr_fail(n->error, TSR_IO,
                    "%s: its header claims %u bytes: a header has at most %d, and no more than the file", n->path,
                    length, TSR_NPY_TEXT_MAX);
  }
  char *text = malloc(length + 1);
  if (!text) {
    return tsr_fail(n->error, TSR_NO_MEMORY, "%s: no memory for its header", n->path);
  }
  status = tsr_read_exactly(n->file, n->path, text, length, n->error);
  n->text = n->at = text;
  n->end = text + length;
  if (status == TSR_OK) {
    status = read_dictionary(n);
  }
  n->text = n->at = n->end = NULL;
  free(text);
  n->begin = used + length;
  return status == TSR_OK ? check_shape(n, bytes - used - length) : status;
}

/* ---- The numbers ----------------------------------------------------------------------------- */

/* Number i of the block; one below 0 in two's complement of 64 bits. */
static uint64_t number_at(const tsr_npy *n, size_t i) {
  const uint32_t bytes = n->number_bytes;
  const unsigned char *at = n->block + i * bytes;
  uint64_t number = 0;
  for (uint32_t b = 0; b < bytes; b++) number = number << 8 | at[n->is_big_endian ? b : bytes - 1 - b];
  const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
  return n->is_signed && (number & sign) ? number | ~(sign - 1) : number;
}

/* Puts number `i` of the block into row `row` of a column of this call. */
static tsr_status convert(const tsr_npy *n, size_t i, bool is_key, void *column, uint64_t row) {
  const char *what = is_key ? "key" : "value";
  const uint32_t bits = is_key ? n->options->key_bits : n->options->value_bits;
  const bool has_sign = is_key ? n->options->signed_keys : n->options->signed_values;
  const uint64_t number = number_at(n, i), half = UINT64_C(1) << (bits - 1);
  const bool is_negative = n->is_signed && number >> 63;
  const uint64_t over = bits == 64 ? 0 : number >> bits;
  if (is_negative && !has_sign)
    return tsr_fail(n->error, TSR_IO, "%s: the %s of row %" PRIu64 " (counted from 0) is negative: %s", n->path, what,
                    n->rows.next + row,
                    n->options->signed_keys ? "values that a table counts, adds up or compares are not"
                                            : "such are read with --signed");
  if (has_sign && (is_negative ? number + half >= half : number >= half))
    return tsr_fail(n->error, TSR_IO,
                    "%s: the %s of row %" PRIu64 " (counted from 0) is beyond -2^%u and 2^%u - 1, which are the limits "
                    "with --signed",
                    n->path, what, n->rows.next + row, bits - 1, bits - 1);
  if (over && !is_negative)
    return tsr_fail(n->error, TSR_IO,
                    "%s: the %s of row %" PRIu64 " (counted from 0) is %" PRIu64
                    ", which does not fit %s_bits = 32: choose 64",
                    n->path, what, n->rows.next + row, number, what);
  tsr_number_put(column, bits, row, number);
  return TSR_OK;
}

/* Puts the key of columns of row `at` of the block into row `row`. */
static tsr_status convert_parts(const tsr_npy *n, size_t at, size_t column_step, void *keys, uint64_t row) {
  const tsr_key_parts *parts = &n->options->form->parts;
  tsr_any_key key = 0;
  for (uint32_t c = 0; c < parts->count; c++) {
    const tsr_key_part *part = &parts->part[c];
    const uint64_t number = number_at(n, at + c * column_step);
    key = tsr_part_put(key, part, number);
    const bool is_below = n->is_signed && number >> 63, may_be = part->is_signed;
    if (tsr_part_of(key, part) != number || (is_below && !may_be) || (may_be && !is_below && number >> 63))
      return tsr_fail(n->error, TSR_IO,
                      "%s: column %u of row %" PRIu64 " (counted from 0) is %" PRId64 ", which does not fit %c%u of "
                      "key_columns",
                      n->path, c + 1, n->rows.next + row, (int64_t)number, may_be ? 'i' : 'u', 8 * part->bytes);
  }
  tsr_key_put(keys, n->options->key_bits, row, key);
  return TSR_OK;
}

/* Reads rows from `first` on into the block: row by row, or in Fortran order column by column. */
static tsr_status read_rows(tsr_npy *n, uint64_t first, size_t rows) {
  const uint32_t columns = columns_of(n);
  const size_t bytes = rows * n->number_bytes;
  tsr_status status = TSR_OK;
  if (!n->is_fortran || columns == 1) return tsr_read_exactly(n->file, n->path, n->block, columns * bytes, n->error);
  for (uint32_t c = 0; status == TSR_OK && c < columns; c++) {
    const uint64_t at = n->begin + (c * n->shape[0] + first) * n->number_bytes;
    if (lseek(n->file, (off_t)at, SEEK_SET) < 0)
      return tsr_fail(n->error, TSR_IO, "%s: cannot be read: %s", n->path, strerror(errno));
    status = tsr_read_exactly(n->file, n->path, n->block + c * bytes, bytes, n->error);
  }
  return status;
}

tsr_status tsr_npy_next(tsr_npy *npy, uint64_t room, void *keys, void *values, uint64_t *count, tsr_error *error) {
  tsr_npy *n = npy;
  const uint32_t columns = columns_of(n), keys_each = tsr_form_columns(n->options->form);
  const size_t block_rows = TSR_BLOCK_NUMBERS / (keys_each + 1);
  const uint64_t left = n->rows.end - n->rows.next, wanted = room < left ? room : left;
  tsr_status status = TSR_OK;
  n->error = error;
  if (has_wide_keys(n)) {
    n->rows.next += *count = wanted;
    return tsr_read_exactly(n->file, n->path, keys, wanted * 16, error);
  }
  for (uint64_t first = 0; status == TSR_OK && first < wanted; first += block_rows) {
    const size_t rows = wanted - first < block_rows ? (size_t)(wanted - first) : block_rows;
    const size_t row_step = n->is_fortran ? 1 : columns, column_step = n->is_fortran ? rows : 1;
    status = read_rows(n, n->rows.next + first, rows);
    for (size_t i = 0; status == TSR_OK && i < rows; i++) {
      status = has_columns(n) ? convert_parts(n, i * row_step, column_step, keys, first + i)
                              : convert(n, i * row_step, true, keys, first + i);
      if (status == TSR_OK && values && columns == keys_each + 1)
        status = convert(n, i * row_step + keys_each * column_step, false, values, first + i);
    }
  }
  n->rows.next += wanted;
  *count = wanted;
  return status;
}

/* The rows of the part. In Fortran order they are sought when they are read. */
static tsr_status go_to_part(tsr_npy *n) {
  const tsr_part *part = &n->options->part;
  const uint64_t rows = n->shape[0];
  n->rows.end = rows;
  if (tsr_part_is_all(part)) return TSR_OK;
  n->rows.begin = n->rows.next = tsr_part_begin(part, part->index, rows);
  n->rows.end = tsr_part_begin(part, part->index + 1, rows);
  const uint64_t at = n->begin + n->rows.begin * n->number_bytes * columns_of(n);
  if (n->is_fortran || lseek(n->file, (off_t)at, SEEK_SET) >= 0) return TSR_OK;
  return tsr_fail(n->error, TSR_IO, "%s: cannot be read: %s", n->path, strerror(errno));
}

tsr_status tsr_npy_begin(int file, const char *path, uint64_t bytes, const tsr_dataset_options *options, tsr_npy **npy,
                         tsr_error *error) {
  tsr_npy *n = calloc(1, sizeof *n);
  if (!n) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  n->file = file;
  n->path = path;
  n->options = options;
  n->error = error;
  tsr_status status = read_header(n, bytes);
  if (status == TSR_OK) status = go_to_part(n);
  if (status == TSR_OK)
    *npy = n;
  else
    free(n);
  return status;
}

uint64_t tsr_npy_count(const tsr_npy *npy) { return npy->rows.end - npy->rows.begin; }

uint64_t tsr_npy_first(const tsr_npy *npy) { return npy->rows.begin; }

bool tsr_npy_has_values(const tsr_npy *npy) {
  return !has_wide_keys(npy) && columns_of(npy) == tsr_form_columns(npy->options->form) + 1;
}

void tsr_npy_free(tsr_npy *npy) { free(npy); }

/* ---- Writing --------------------------------------------------------------------------------- */

void tsr_npy_header(uint64_t rows, uint32_t columns, bool is_signed, char header[TSR_NPY_HEADER_BYTES]) {
  enum { TSR_PREAMBLE = TSR_MAGIC_BYTES + 2 };
  static const char preamble[TSR_PREAMBLE] = {'\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, TSR_NPY_HEADER_BYTES - 10, 0};
  memset(header, ' ', TSR_NPY_HEADER_BYTES);
  memcpy(header, preamble, sizeof preamble);
  int length = snprintf(header + TSR_PREAMBLE, TSR_NPY_HEADER_BYTES - TSR_PREAMBLE,
                        "{'descr': '<%c8', 'fortran_order': False, 'shape': (%" PRIu64 ", %" PRIu32 "), }",
                        is_signed ? 'i' : 'u', rows, columns);
  header[TSR_PREAMBLE + length] = ' '; /* snprintf's end */
  header[TSR_NPY_HEADER_BYTES - 1] = '\n';
}
