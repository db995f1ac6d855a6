/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads files of keys and values; dataset.h says which.
 *
 * Each reader gets an open regular file and makes the keys; values that are mere indices are added
 * in one place at the end. Read next: npy.c and sequence.c, the readers that are too long for this file.
 */
#define _DEFAULT_SOURCE 1 /* POSIX calls, le32toh */

#include "core/cli/dataset.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cli/npy.h"
#include "core/cli/sequence.h"
#include "core/spec/number.h"

static tsr_status no_memory(const char *path, uint64_t count, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for more than %llu keys", path, (unsigned long long)count);
}

/* ---- .tsv ------------------------------------------------------------------------------------ */

enum { TSR_FIELD_SHOWN = 40 };

typedef struct tsr_tsv {
  FILE *file;
  const char *path;
  const tsr_dataset_options *options;
  tsr_error *error;
  uint64_t line;
  size_t length;
  char text[256]; /* the line; two numbers need far less */
  tsr_dataset data;
  uint64_t capacity;
} tsr_tsv;

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Reads the next line that is not a comment, without its line end; *has_line is false at the end. A
 * comment may be of any length, so it is passed over before the line must fit. */
static tsr_status next_line(tsr_tsv *t, bool *has_line) {
  int c = 0;
  bool is_comment = false;
  t->line++;
  t->length = 0;
  while ((c = getc_unlocked(t->file)) != EOF && c != '\n') {
    is_comment = is_comment || (t->length == 0 && c == '#');
    if (is_comment || (t->length == 0 && is_blank((char)c))) {
      continue;
    }
    if (t->length == sizeof t->text) {
      return tsr_fail(t->error, TSR_IO, "%s:%llu: has more than %zu bytes: a line holds a key and a value", t->path,
                      (unsigned long long)t->line, sizeof t->text);
    }
    t->text[t->length++] = (char)c;
  }
  if (ferror(t->file)) {
    return tsr_fail(t->error, TSR_IO, "%s: cannot be read: %s", t->path, strerror(errno));
  }
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
  else if (bits == 64 && !digits)
    snprintf(way_out, sizeof way_out, "the largest is 2^64 - 1");
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

static tsr_status reserve_row(tsr_tsv *t) {
  if (t->data.count < t->capacity) {
    return TSR_OK;
  }
  uint64_t capacity = t->capacity + t->capacity / 2 + 1024;
  void *keys = realloc(t->data.keys, capacity * (t->options->key_bits / 8));
  t->data.keys = keys ? keys : t->data.keys;
  void *values = NULL;
  if (t->options->want_values) {
    values = realloc(t->data.values, capacity * (t->options->value_bits / 8));
    t->data.values = values ? values : t->data.values;
  }
  if (!keys || (t->options->want_values && !values)) {
    return no_memory(t->path, t->data.count, t->error);
  }
  t->capacity = capacity;
  return TSR_OK;
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
  if (value_length > 0 && !parse_number(field, value_length, value_bits, &value)) {
    return bad_number(t, "value", field, value_length, value_bits);
  }
  if (value_length == 0 && t->options->want_values) {
    return tsr_fail(t->error, TSR_IO, "%s:%llu: has a key but no value: write `key value`", t->path,
                    (unsigned long long)t->line);
  }
  tsr_status status = reserve_row(t);
  if (status == TSR_OK) {
    tsr_number_put(t->data.keys, t->options->key_bits, t->data.count, key);
    if (t->options->want_values) {
      tsr_number_put(t->data.values, t->options->value_bits, t->data.count, value);
    }
    t->data.count++;
  }
  return status;
}

static tsr_status read_tsv(int file, const char *path, const tsr_dataset_options *options, tsr_dataset *out,
                           tsr_error *error) {
  tsr_tsv t = {.path = path, .options = options, .error = error};
  int own = dup(file); /* fclose closes it, and the caller closes `file` */
  t.file = own < 0 ? NULL : fdopen(own, "r");
  if (!t.file) {
    tsr_status failed = tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
    if (own >= 0) {
      close(own);
    }
    return failed;
  }
  bool has_line = true;
  tsr_status status = next_line(&t, &has_line);
  while (status == TSR_OK && has_line) {
    status = t.length > 0 ? add_row(&t) : TSR_OK;
    status = status == TSR_OK ? next_line(&t, &has_line) : status;
  }
  fclose(t.file);
  if (status == TSR_OK && t.data.count == 0) {
    status = tsr_fail(error, TSR_IO, "%s: holds no key: write one per line", path);
  }
  if (status != TSR_OK) {
    tsr_dataset_free(&t.data);
    return status;
  }
  *out = t.data;
  return TSR_OK;
}

/* ---- .u32 and .u64 --------------------------------------------------------------------------- */

static void from_little_endian(void *keys, uint32_t bits, uint64_t count) {
  for (uint64_t i = 0; i < count; i++) {
    uint64_t raw = tsr_number_at(keys, bits, i);
    tsr_number_put(keys, bits, i, bits == 64 ? le64toh(raw) : le32toh((uint32_t)raw));
  }
}

/* Refuses counts whose indices do not fit the values. */
static tsr_status check_ordinals(const char *path, const tsr_dataset_options *options, uint64_t count,
                                 tsr_error *error) {
  if (options->want_values && options->value_bits == 32 && count - 1 > UINT32_MAX) {
    return tsr_fail(error, TSR_IO,
                    "%s: holds %llu keys, whose values 0, 1, 2 ... do not fit value_bits = %u: use "
                    "value_bits = 64",
                    path, (unsigned long long)count, options->value_bits);
  }
  return TSR_OK;
}

static tsr_status read_raw(int file, const char *path, uint64_t bytes, const tsr_dataset_options *options,
                           tsr_dataset *out, tsr_error *error) {
  uint64_t key_bytes = options->key_bits / 8;
  if (bytes == 0) {
    return tsr_fail(error, TSR_IO, "%s: is empty: a raw file holds at least one key", path);
  }
  if (bytes % key_bytes != 0) {
    return tsr_fail(error, TSR_IO, "%s: has %llu bytes: a raw file of %u-bit keys has a multiple of %llu", path,
                    (unsigned long long)bytes, options->key_bits, (unsigned long long)key_bytes);
  }
  tsr_dataset data = {.count = bytes / key_bytes};
  tsr_status status = check_ordinals(path, options, data.count, error);
  if (status != TSR_OK) {
    return status;
  }
  data.keys = malloc(bytes);
  if (!data.keys) {
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %llu keys", path, (unsigned long long)data.count);
  }
  status = tsr_read_exactly(file, path, data.keys, bytes, error);
  if (status != TSR_OK) {
    tsr_dataset_free(&data);
    return status;
  }
  from_little_endian(data.keys, options->key_bits, data.count);
  *out = data;
  return TSR_OK;
}

/* ---- Any file -------------------------------------------------------------------------------- */

typedef enum tsr_file_kind { TSR_TSV, TSR_RAW, TSR_NPY, TSR_SEQUENCE } tsr_file_kind;

static tsr_status check_widths(const tsr_dataset_options *options, tsr_error *error) {
  if (options->key_bits != 32 && options->key_bits != 64) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_dataset_read: key_bits = %u: allowed are 32, 64", options->key_bits);
  }
  if (options->value_bits != 32 && options->value_bits != 64 && (options->value_bits != 0 || options->want_values)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_dataset_read: value_bits = %u: allowed are 32, 64, and 0 without values", options->value_bits);
  }
  return TSR_OK;
}

/* Finds out what the file is by its name, and whether the options fit. */
static tsr_status classify(const char *path, const tsr_dataset_options *options, tsr_file_kind *kind,
                           tsr_sequence_format *format, tsr_error *error) {
  size_t length = strlen(path);
  uint32_t raw_bits = tsr_name_ends(path, length, ".u32") ? 32 : tsr_name_ends(path, length, ".u64") ? 64 : 0;
  *kind = raw_bits                              ? TSR_RAW
          : tsr_name_ends(path, length, ".tsv") ? TSR_TSV
          : tsr_name_ends(path, length, ".npy") ? TSR_NPY
                                                : TSR_SEQUENCE;
  if (*kind == TSR_SEQUENCE && !tsr_sequence_format_of(path, format)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "'%s': its ending says not what it holds: allowed are .tsv, .u32, .u64, .npy, and .fa "
                    ".fasta .fna .fq .fastq with or without .gz",
                    path);
  }
  if (*kind != TSR_SEQUENCE && (options->kmers != 0 || options->canonical)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: is no FASTA or FASTQ file: k-mers are read from those only, so leave "
                    "--kmers and --canonical away",
                    path);
  }
  if (raw_bits && raw_bits != options->key_bits) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: holds keys of %u bits, but key_bits = %u: they must be the same",
                    path, raw_bits, options->key_bits);
  }
  if (*kind == TSR_SEQUENCE && options->kmers == 0) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is a sequence file: say with --kmers how many letters make a key",
                    path);
  }
  if (*kind == TSR_SEQUENCE && options->kmers > options->key_bits / 2) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: --kmers %u does not fit key_bits = %u: allowed are 1 to %u", path,
                    options->kmers, options->key_bits, options->key_bits / 2);
  }
  return TSR_OK;
}

/* Opens a regular file. Without O_NONBLOCK, a FIFO that nobody writes would be waited for. */
static tsr_status open_regular(const char *path, int *file, uint64_t *bytes, tsr_error *error) {
  struct stat facts;
  int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (opened < 0) {
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return tsr_fail(error, is_missing ? TSR_NOT_FOUND : TSR_IO, "'%s': cannot be opened: %s", path, strerror(errno));
  }
  tsr_status status = TSR_OK;
  if (fstat(opened, &facts) != 0) {
    status = tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  } else if (!S_ISREG(facts.st_mode)) {
    status = tsr_fail(error, TSR_IO, "%s: is %s: an input must be a regular file", path,
                      S_ISDIR(facts.st_mode) ? "a directory" : "a pipe or a device");
  }
  if (status != TSR_OK) {
    close(opened);
    return status;
  }
  *file = opened;
  *bytes = (uint64_t)facts.st_size;
  return TSR_OK;
}

/* Gives raw keys and k-mers their values: the index of the key. */
static tsr_status add_ordinals(const char *path, const tsr_dataset_options *options, tsr_dataset *data,
                               tsr_error *error) {
  tsr_status status = check_ordinals(path, options, data->count, error);
  if (status != TSR_OK) {
    return status;
  }
  data->values = malloc(data->count * (options->value_bits / 8));
  if (!data->values) {
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %llu values", path, (unsigned long long)data->count);
  }
  for (uint64_t i = 0; i < data->count; i++) {
    tsr_number_put(data->values, options->value_bits, i, i);
  }
  return TSR_OK;
}

tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out, tsr_error *error) {
  if (!path || !options || !out) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_dataset_read: path, options and out must not be NULL");
  }
  tsr_file_kind kind = TSR_TSV;
  tsr_sequence_format format = {.is_fastq = false};
  tsr_dataset data = {.count = 0};
  int file = -1;
  uint64_t bytes = 0;
  tsr_status status = check_widths(options, error);
  if (status == TSR_OK) {
    status = classify(path, options, &kind, &format, error);
  }
  if (status == TSR_OK) {
    status = open_regular(path, &file, &bytes, error);
  }
  if (status != TSR_OK) {
    return status;
  }
  if (kind == TSR_TSV) {
    status = read_tsv(file, path, options, &data, error);
  } else if (kind == TSR_RAW) {
    status = read_raw(file, path, bytes, options, &data, error);
  } else if (kind == TSR_NPY) {
    status = tsr_npy_read(file, path, bytes, options, &data, error);
  } else {
    status = tsr_sequence_read(file, path, format, options, &data, error);
  }
  close(file);
  if (status == TSR_OK && options->want_values && !data.values) {
    status = add_ordinals(path, options, &data, error);
  }
  if (status != TSR_OK) {
    tsr_dataset_free(&data);
    return status;
  }
  *out = data;
  return TSR_OK;
}
