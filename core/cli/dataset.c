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
  tsr_text *source;
  const char *path;
  const tsr_dataset_options *options;
  tsr_error *error;
  bool is_csv;
  uint64_t line;
  size_t block_at, block_end;
  size_t length;
  char text[256]; /* the line; two numbers need far less */
  tsr_dataset data;
  uint64_t capacity;
  unsigned char block[1 << 16];
} tsr_tsv;

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

/* The names of columns, which a .csv may begin with: no field of the first line is a number. */
static bool is_header(const tsr_tsv *t) {
  return t->is_csv && t->line == 1 && t->length > 0 && !(t->text[0] >= '0' && t->text[0] <= '9') && t->text[0] != '-';
}

static tsr_status read_rows(tsr_tsv *t) {
  bool has_line = true;
  tsr_status status = next_line(t, &has_line);
  while (status == TSR_OK && has_line) {
    status = t->length > 0 && !is_header(t) ? add_row(t) : TSR_OK;
    status = status == TSR_OK ? next_line(t, &has_line) : status;
  }
  if (status == TSR_OK && t->data.count == 0)
    status = tsr_fail(t->error, TSR_IO, "%s: holds no key: write one per line", t->path);
  return status;
}

static tsr_status read_tsv(tsr_text *source, const char *path, bool is_csv, const tsr_dataset_options *options,
                           tsr_dataset *out, tsr_error *error) {
  tsr_tsv *t = calloc(1, sizeof *t);
  if (!t) return no_memory(path, 0, error);
  t->source = source;
  t->path = path;
  t->is_csv = is_csv;
  t->options = options;
  t->error = error;
  tsr_status status = read_rows(t);
  if (status == TSR_OK)
    *out = t->data;
  else
    tsr_dataset_free(&t->data);
  free(t);
  return status;
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

typedef enum tsr_file_kind { TSR_TSV, TSR_CSV, TSR_RAW, TSR_NPY, TSR_KMERS } tsr_file_kind;

/* What a path is, and the open file. */
struct tsr_input {
  const char *path; /* for sentences */
  tsr_dataset_options options;
  tsr_file_kind kind;
  tsr_sequence_format format;
  tsr_compression compression;
  int file;
  uint64_t bytes; /* 0: unknown, for what is no regular file */
  tsr_text *text;
  tsr_sequence *sequence;
};

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

/* Finds out what the file is by its name, and whether the options fit. Standard input has none: it holds sequences if
 * there are k-mers to read, else lines of numbers. */
static tsr_status classify(const char *name, tsr_input *in, tsr_error *error) {
  const tsr_dataset_options *options = &in->options;
  const char *path = in->path;
  size_t length = strlen(name);
  bool is_stdin = strcmp(name, "-") == 0, is_gzip = tsr_name_ends(name, length, ".gz");
  in->compression = is_stdin ? TSR_BY_CONTENT : is_gzip ? TSR_GZIP : TSR_PLAIN;
  length -= is_gzip ? 3 : 0;
  uint32_t raw_bits = tsr_name_ends(name, length, ".u32") ? 32 : tsr_name_ends(name, length, ".u64") ? 64 : 0;
  in->format = TSR_FASTA_OR_FASTQ;
  in->kind = raw_bits                              ? TSR_RAW
             : is_stdin                            ? (options->kmers ? TSR_KMERS : TSR_TSV)
             : tsr_name_ends(name, length, ".tsv") ? TSR_TSV
             : tsr_name_ends(name, length, ".csv") ? TSR_CSV
             : tsr_name_ends(name, length, ".npy") ? TSR_NPY
                                                   : TSR_KMERS;
  bool is_array = in->kind == TSR_RAW || in->kind == TSR_NPY;
  if ((is_array && is_gzip) ||
      (in->kind == TSR_KMERS && !is_stdin && !tsr_sequence_format_of(name, length, &in->format))) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "'%s': its ending says not what it holds: allowed are .u32, .u64, .npy, and .tsv .csv .fa .fasta "
                    ".fna .fq .fastq with or without .gz; - is standard input",
                    path);
  }
  if (in->kind != TSR_KMERS && (options->kmers != 0 || options->canonical)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: is no FASTA or FASTQ file: k-mers are read from those only, so leave "
                    "--kmers and --canonical away",
                    path);
  }
  if (raw_bits && raw_bits != options->key_bits) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: holds keys of %u bits, but key_bits = %u: they must be the same",
                    path, raw_bits, options->key_bits);
  }
  if (in->kind == TSR_KMERS && options->kmers == 0) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is a sequence file: say with --kmers how many letters make a key",
                    path);
  }
  if (in->kind == TSR_KMERS && options->kmers > options->key_bits / 2) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: --kmers %u does not fit key_bits = %u: allowed are 1 to %u", path,
                    options->kmers, options->key_bits, options->key_bits / 2);
  }
  return TSR_OK;
}

/* Opens a file. Of arrays the size is needed before they are read, and they must be regular files; the others may be
 * pipes. One that nobody writes is waited for, as every program does that reads pipes. */
static tsr_status open_file(const char *name, tsr_input *in, tsr_error *error) {
  struct stat facts;
  in->file = strcmp(name, "-") == 0 ? dup(STDIN_FILENO) : -1;
  if (in->file < 0 && strcmp(name, "-") != 0) {
    bool is_array = in->kind == TSR_RAW || in->kind == TSR_NPY;
    in->file = open(name, O_RDONLY | O_CLOEXEC | (is_array ? O_NONBLOCK : 0));
  }
  if (in->file < 0) {
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return tsr_fail(error, is_missing ? TSR_NOT_FOUND : TSR_IO, "'%s': cannot be opened: %s", in->path,
                    strerror(errno));
  }
  if (fstat(in->file, &facts) != 0) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", in->path, strerror(errno));
  if (S_ISDIR(facts.st_mode)) return tsr_fail(error, TSR_IO, "%s: is a directory: an input must be a file", in->path);
  if ((in->kind == TSR_RAW || in->kind == TSR_NPY) && !S_ISREG(facts.st_mode))
    return tsr_fail(error, TSR_IO, "%s: is a pipe or a device: an array must be a regular file", in->path);
  in->bytes = S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
  return TSR_OK;
}

tsr_status tsr_input_open(const char *path, const tsr_dataset_options *options, tsr_input **input, tsr_error *error) {
  tsr_input *in = calloc(1, sizeof *in);
  if (!in) return no_memory(path, 0, error);
  in->path = strcmp(path, "-") == 0 ? "standard input" : path;
  in->options = *options;
  in->file = -1;
  tsr_status status = check_widths(options, error);
  if (status == TSR_OK) status = classify(path, in, error);
  if (status == TSR_OK) status = open_file(path, in, error);
  if (status == TSR_OK && in->kind != TSR_RAW && in->kind != TSR_NPY)
    status = tsr_text_begin(in->file, in->path, in->compression, &in->text, error);
  if (status == TSR_OK && in->kind == TSR_KMERS)
    status = tsr_sequence_begin(in->text, in->path, in->format, options, &in->sequence, error);
  if (status == TSR_OK)
    *input = in;
  else
    tsr_input_close(in);
  return status;
}

void tsr_input_close(tsr_input *input) {
  if (!input) return;
  tsr_sequence_free(input->sequence);
  tsr_text_free(input->text);
  if (input->file >= 0) close(input->file);
  free(input);
}

uint64_t tsr_input_bytes(const tsr_input *input) { return input->bytes; }

bool tsr_input_is_compressed(const tsr_input *input) { return input->compression == TSR_GZIP; }

uint64_t tsr_input_consumed(const tsr_input *input) { return input->text ? tsr_text_consumed(input->text) : 0; }

tsr_sequence_facts tsr_input_describe(const tsr_input *input) { return tsr_sequence_describe(input->sequence); }

tsr_status tsr_input_kmers(tsr_input *input, void *keys, uint64_t room, uint64_t *count, tsr_error *error) {
  return tsr_sequence_next(input->sequence, keys, room, count, error);
}

/* All k-mers of a file in one array. */
static tsr_status read_kmers(tsr_input *in, tsr_dataset *out, tsr_error *error) {
  const size_t key_bytes = in->options.key_bits / 8;
  tsr_dataset data = {.count = 0};
  uint64_t capacity = 0, got = 1;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && got > 0) {
    if (capacity - data.count < TSR_SEQUENCE_ROOM) {
      capacity += capacity / 2 + TSR_SEQUENCE_ROOM;
      void *keys = realloc(data.keys, capacity * key_bytes);
      if (!keys) {
        status = tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for more than %llu k-mers", in->path,
                          (unsigned long long)data.count);
        break;
      }
      data.keys = keys;
    }
    status =
        tsr_sequence_next(in->sequence, (char *)data.keys + data.count * key_bytes, capacity - data.count, &got, error);
    if (status == TSR_OK) data.count += got;
  }
  if (status) {
    tsr_dataset_free(&data);
    return status;
  }
  tsr_sequence_facts facts = tsr_sequence_describe(in->sequence);
  data.records = facts.records;
  data.bases = facts.bases;
  data.kmers_skipped = facts.kmers_skipped;
  void *fitted = realloc(data.keys, data.count * key_bytes);
  data.keys = fitted ? fitted : data.keys;
  *out = data;
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
  tsr_input *in = NULL;
  tsr_dataset data = {.count = 0};
  tsr_status status = tsr_input_open(path, options, &in, error);
  if (status != TSR_OK) {
    return status;
  }
  path = in->path;
  if (in->kind == TSR_TSV || in->kind == TSR_CSV) {
    status = read_tsv(in->text, path, in->kind == TSR_CSV, options, &data, error);
  } else if (in->kind == TSR_RAW) {
    status = read_raw(in->file, path, in->bytes, options, &data, error);
  } else if (in->kind == TSR_NPY) {
    status = tsr_npy_read(in->file, path, in->bytes, options, &data, error);
  } else {
    status = read_kmers(in, &data, error);
  }
  if (status == TSR_OK && options->want_values && !data.values) {
    status = add_ordinals(path, options, &data, error);
  }
  tsr_input_close(in);
  if (status != TSR_OK) {
    tsr_dataset_free(&data);
    return status;
  }
  *out = data;
  return TSR_OK;
}
