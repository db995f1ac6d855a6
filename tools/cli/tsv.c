/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of numbers (tsv.h).
 */
#include "tools/cli/tsv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"

enum { TSR_FIELD_SHOWN = 40 };

struct tsr_tsv {
  tsr_text *source;
  const char *path;
  const tsr_dataset_options *options;
  tsr_error *error; /* of the call that runs, as are the next three */
  void *keys, *values;
  uint64_t count;
  uint64_t before; /* keys of earlier calls */
  bool is_csv, is_at_end;
  uint64_t line;
  size_t block_at, block_end;
  size_t length;
  char text[256 + 2 * TSR_VALUE_BYTES_MAX]; /* the line; two numbers need far less */
  unsigned char block[1 << 16];
};

/* What some spreadsheets begin a file of UTF-8 with. */
#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* The next byte, or EOF: also where the source fails, and then *status tells. */
static int next_byte(tsr_tsv *t, tsr_status *status) {
  if (t->block_at == t->block_end) {
    t->block_at = t->block_end = 0;
    *status = tsr_text_read(t->source, t->block, sizeof t->block, &t->block_end, t->error);
    if (*status || !t->block_end) return EOF;
  }
  return t->block[t->block_at++];
}

/* Reads the next line that is not a comment, without its line end; *has_line is false at the end. A
 * comment may be of any length, so it is passed over before the line must fit. */
static tsr_status next_line(tsr_tsv *t, bool *has_line) {
  int c = 0;
  bool is_comment = false;
  t->line++;
  t->length = 0;
  tsr_status status = TSR_OK;
  while ((c = next_byte(t, &status)) != EOF && c != '\n') {
    if (c == ',' && t->is_csv) c = '\t';
    is_comment = is_comment || (t->length == 0 && c == '#');
    if (is_comment || (t->length == 0 && is_blank((char)c))) {
      continue;
    }
    if (t->length == sizeof t->text) {
      return tsr_fail(t->error, TSR_IO, "%s:%llu: has more than %zu bytes: a line holds a key and a value", t->path,
                      (unsigned long long)t->line, sizeof t->text);
    }
    t->text[t->length++] = (char)c;
    if (t->line == 1 && t->length == 3 && memcmp(t->text, BYTE_ORDER_MARK, 3) == 0) t->length = 0;
  }
  if (status) return status;
  *has_line = c != EOF || t->length > 0;
  while (t->length > 0 && (is_blank(t->text[t->length - 1]) || t->text[t->length - 1] == '\r')) {
    t->length--;
  }
  return TSR_OK;
}

/* The sentence about a field that is no number of `bits` bits. It may be anything, even binary. */
static tsr_status bad_number(const tsr_tsv *t, const char *what, const char *field, size_t length, uint32_t bits) {
  char shown[TSR_FIELD_SHOWN + 1];
  size_t bytes = length < TSR_FIELD_SHOWN ? length : TSR_FIELD_SHOWN;
  for (size_t i = 0; i < bytes; i++) {
    shown[i] = '?';
    if (field[i] >= ' ' && field[i] <= '~') {
      shown[i] = field[i];
    }
  }
  shown[bytes] = '\0';
  char way_out[TSR_FIELD_SHOWN + 40];
  uint64_t meant;
  const char digits = bytes ? shown[strspn(shown, "0123456789")] : '-';
  if (shown[0] == '-')
    snprintf(way_out, sizeof way_out, "there are none below 0");
  else if (tsr_guess_u64(shown, &meant) && meant <= UINT64_MAX >> (64 - bits))
    snprintf(way_out, sizeof way_out, "write %llu", (unsigned long long)meant);
  else if (!digits && !tsr_parse_u64(shown, &meant))
    snprintf(way_out, sizeof way_out, "the largest is 2^%u - 1", bits);
  else
    snprintf(way_out, sizeof way_out, "write it in decimal or as 0x..%s%s%s", bits < 64 ? ", or choose a larger " : "",
             bits < 64 ? what : "", bits < 64 ? "_bits" : "");
  return tsr_fail(t->error, TSR_IO, "%s:%llu: the %s '%s'%s is no whole number of %u bits: %s", t->path,
                  (unsigned long long)t->line, what, shown, bytes < length ? "..." : "", bits, way_out);
}

/* Decimal or 0x hexadecimal digits that fill the field, within `bits` bits. */
static bool parse_number(const char *field, size_t length, uint32_t bits, uint64_t *out) {
  uint64_t limit = UINT64_MAX >> (64 - bits);
  bool is_hex = length > 2 && field[0] == '0' && (field[1] == 'x' || field[1] == 'X');
  uint64_t base = is_hex ? 16 : 10;
  uint64_t value = 0;
  for (size_t i = is_hex ? 2 : 0; i < length; i++) {
    char c = field[i];
    char lower = (char)(c | 0x20);
    uint64_t digit = c >= '0' && c <= '9'                     ? (uint64_t)(c - '0')
                     : is_hex && lower >= 'a' && lower <= 'f' ? (uint64_t)(lower - 'a') + 10
                                                              : 16;
    if (digit >= base || value > (limit - digit) / base) {
      return false;
    }
    value = value * base + digit;
  }
  *out = value;
  return length > 0;
}

static int digit_of(char c) {
  const char lower = (char)(c | 0x20);
  return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* A value that is no number; values: NULL where it is read over. */
static tsr_status add_bytes(const tsr_tsv *t, const char *field, size_t length) {
  const size_t bytes = t->options->value_bits / 8;
  bool is_right = length == 2 * bytes;
  for (size_t i = 0; is_right && i < bytes; i++) {
    const int high = digit_of(field[2 * i]), low = digit_of(field[2 * i + 1]);
    is_right = high >= 0 && low >= 0;
    if (is_right && t->options->want_values)
      ((unsigned char *)t->values)[t->count * bytes + i] = (unsigned char)(high * 16 + low);
  }
  if (is_right || (length == 0 && !t->options->want_values)) return TSR_OK;
  return tsr_fail(
      t->error, TSR_IO,
      "%s:%llu: the value has %zu characters: with value_bytes = %zu it is %zu hexadecimal digits, the first "
      "byte first",
      t->path, (unsigned long long)t->line, length, bytes, 2 * bytes);
}

/* The value of a key that stands alone in its line. */
static tsr_status add_value(const tsr_tsv *t, uint64_t *value) {
  const uint64_t ordinal = t->before + t->count;
  switch (t->options->value_rule) {
  case TSR_VALUE_ORDINAL:
    *value = ordinal;
    if (t->options->value_bits == 64 || ordinal <= UINT32_MAX) return TSR_OK;
    return tsr_refuse_ordinal(t->path, t->error);
  case TSR_VALUE_CONSTANT:
    *value = t->options->value;
    return TSR_OK;
  default:
    return tsr_fail(
        t->error, TSR_IO,
        "%s:%llu: has a key but no value: write `key value`, or say by --value of `tessera run` what such a key gets",
        t->path, (unsigned long long)t->line);
  }
}

/* One line: `key` or `key value`. pre: the line is not empty and has no blanks around it. */
static tsr_status add_row(tsr_tsv *t) {
  size_t key_length = 0;
  while (key_length < t->length && !is_blank(t->text[key_length])) {
    key_length++;
  }
  size_t value_start = key_length;
  while (value_start < t->length && is_blank(t->text[value_start])) {
    value_start++;
  }
  uint64_t key = 0;
  uint64_t value = 0;
  uint32_t value_bits = t->options->want_values ? t->options->value_bits : 64;
  const char *field = t->text + value_start;
  size_t value_length = t->length - value_start;
  if (!parse_number(t->text, key_length, t->options->key_bits, &key)) {
    return bad_number(t, "key", t->text, key_length, t->options->key_bits);
  }
  const char *blank = field;
  while (blank < field + value_length && !is_blank(*blank)) blank++;
  if (blank < field + value_length)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: the line has more than two columns: it holds a key and a value",
                    t->path, (unsigned long long)t->line);
  if (t->options->value_bits > 64) {
    const tsr_status status = add_bytes(t, field, value_length);
    if (status) return status;
    tsr_number_put(t->keys, t->options->key_bits, t->count++, key);
    return TSR_OK;
  }
  if (value_length > 0 && !parse_number(field, value_length, value_bits, &value)) {
    return bad_number(t, "value", field, value_length, value_bits);
  }
  tsr_status status = value_length == 0 && t->options->want_values ? add_value(t, &value) : TSR_OK;
  if (status) return status;
  tsr_number_put(t->keys, t->options->key_bits, t->count, key);
  if (t->options->want_values) tsr_number_put(t->values, t->options->value_bits, t->count, value);
  t->count++;
  return TSR_OK;
}

/* The names of columns, which a .csv may begin with: its first field is no number, quoted or not. */
static bool is_header(const tsr_tsv *t) {
  if (!t->is_csv || t->line != 1 || t->length == 0) return false;
  const char first = t->text[t->text[0] == '"' && t->length > 1];
  return !(first >= '0' && first <= '9') && first != '-';
}

tsr_status tsr_tsv_begin(tsr_text *text, const char *path, bool is_csv, const tsr_dataset_options *options,
                         tsr_tsv **tsv, tsr_error *error) {
  tsr_tsv *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  t->source = text;
  t->path = path;
  t->is_csv = is_csv;
  t->options = options;
  *tsv = t;
  return TSR_OK;
}

tsr_status tsr_tsv_next(tsr_tsv *tsv, uint64_t room, void *keys, void *values, uint64_t *count, tsr_error *error) {
  tsr_tsv *t = tsv;
  bool has_line = !t->is_at_end;
  tsr_status status = TSR_OK;
  t->error = error;
  t->keys = keys;
  t->values = values;
  t->count = 0;
  while (status == TSR_OK && has_line && t->count < room) {
    status = next_line(t, &has_line);
    if (status == TSR_OK && t->length > 0 && !is_header(t)) status = add_row(t);
  }
  if (status == TSR_OK && t->before + t->count == 0)
    status = tsr_fail(error, TSR_IO, "%s: holds no key: write one per line", t->path);
  t->is_at_end = !has_line;
  t->before += t->count;
  *count = t->count;
  return status;
}

void tsr_tsv_free(tsr_tsv *tsv) { free(tsv); }
