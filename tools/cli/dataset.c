/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads files of keys and values by pieces; dataset.h says which. Each kind has a reader that makes the keys; values that
 * a file has none for are added in one place. Read next: tsv.c, npy.c and sequence.c, the readers.
 */
#define _DEFAULT_SOURCE 1 /* POSIX calls, le32toh */

#include "tools/cli/dataset.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/number.h"
#include "tools/cli/npy.h"
#include "tools/cli/tsv.h"

typedef enum tsr_file_kind { TSR_ROWS, TSR_RAW, TSR_NPY, TSR_KMERS } tsr_file_kind;

/* What a path is, and the open file with the reader of its kind. */
struct tsr_input {
  const char *name; /* as it was given */
  const char *path; /* for sentences */
  tsr_dataset_options options;
  tsr_file_kind kind;
  uint32_t raw_bits;             /* of TSR_RAW */
  char separator;                /* of rows; 0: the first one tells */
  const tsr_format *compression; /* NULL: none */
  bool
      is_nameless; /* standard input, or a pipe whose name says nothing: it holds sequences if there are k-mers to read,
                       else lines of numbers, and its first bytes tell whether it is compressed */
  int file;        /* -1: not yet open */
  uint64_t bytes;  /* 0: unknown, for what is no regular file */
  bool is_others;  /* another part has all of it */
  uint64_t first;  /* of arrays: the number of the part's first key in the file */
  uint64_t done;   /* keys */
  tsr_text *text;
  tsr_tsv *tsv;
  tsr_npy *npy;
  tsr_sequence *sequence;
};

static bool is_standard(const char *name) { return strcmp(name, "-") == 0; }

static bool is_array(const tsr_input *in) { return in->kind == TSR_RAW || in->kind == TSR_NPY; }

/* ---- What a spec says of files --------------------------------------------------------------- */

static bool read_bits(const tsr_spec *spec, const char *key, uint64_t *bits) {
  const char *value = tsr_spec_get(spec, "table", key);
  *bits = 0;
  return !value || tsr_parse_u64(value, bits);
}

tsr_status tsr_dataset_widths(const tsr_spec *spec, tsr_key_form *form, uint32_t *key_bits, uint32_t *value_bits,
                              tsr_error *error) {
  uint64_t of_key, of_value, bytes;
  form->parts.size = sizeof form->parts;
  const tsr_status status = tsr_spec_key_parts(spec, &form->parts, error);
  if (status) return status;
  if (!read_bits(spec, "key_bits", &of_key) || !read_bits(spec, "value_bits", &of_value) ||
      !read_bits(spec, "value_bytes", &bytes))
    return tsr_fail(error, TSR_BAD_SPEC, "[table] key_bits, value_bits and value_bytes must be whole numbers");
  const char *kind = tsr_spec_get(spec, "table", "kind");
  if (kind && strcmp(kind, "index") == 0) of_value = 32; /* numbers, which no file gives */
  *key_bits = form->parts.key_bits;
  *value_bits = bytes ? 8 * (uint32_t)bytes : of_value && of_value < 32 ? 32 : (uint32_t)of_value;
  return TSR_OK;
}

/* ---- What a file is -------------------------------------------------------------------------- */

static tsr_status check_widths(const tsr_dataset_options *options, tsr_error *error) {
  const bool has_letters = options->key_bits == TSR_LETTER_BITS && options->kmers;
  if (!has_letters && options->key_bits != 32 && options->key_bits != 64 && options->key_bits != 128)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_input_open: key_bits = %u: allowed are 32, 64, 128",
                    options->key_bits);
  if (options->key_bits > 64 && options->signed_keys)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--signed: keys of 128 bits have no sign: remove it");
  if (options->value_bits > 64 ? options->value_bits % 8 || options->value_bits / 8 > TSR_VALUE_BYTES_MAX
                               : options->value_bits != 32 && options->value_bits != 64 &&
                                     (options->value_bits != 0 || options->want_values)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_input_open: value_bits = %u: allowed are 32, 64, whole bytes up to 2048, and 0 without values",
                    options->value_bits);
  }
  return TSR_OK;
}

static bool is_pipe(const char *name) {
  struct stat facts;
  return stat(name, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

static tsr_status refuse_name(const tsr_input *in, size_t length, tsr_error *error) {
  const char *path = in->path;
  const char *foreign = tsr_sequence_foreign_name(path, length);
  if (foreign) return tsr_fail(error, TSR_BAD_ARGUMENT, "'%s': its name says %s", path, foreign);
  if (*in->name && access(in->name, F_OK) != 0)
    return tsr_fail(error, TSR_NOT_FOUND, "'%s': cannot be opened: %s", path, strerror(errno));
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "'%s': its ending must be .npy, .u32 or .u64; or .tsv, .csv, .txt or one of FASTA and FASTQ (.fa "
                  ".fasta .fna .fas .ffn .fsa .mfa .faa .frn .fq .fastq), also with .gz, .bz2, .xz or .zst. For other "
                  "compressions pipe the text in: `lz4 -dc FILE | tessera ... -`",
                  path);
}

/* Finds out what the file is by its name, and by whether k-mers are read. */
static tsr_status classify(tsr_input *in, tsr_error *error) {
  const char *name = in->name;
  size_t length = strlen(name);
  in->compression = tsr_format_by_name(name, length);
  if (in->compression) length -= strlen(in->compression->ending);
  in->raw_bits = tsr_name_ends(name, length, ".u32") ? 32 : tsr_name_ends(name, length, ".u64") ? 64 : 0;
  const bool is_tsv = tsr_name_ends(name, length, ".tsv"), is_csv = tsr_name_ends(name, length, ".csv");
  const bool is_either = tsr_name_ends(name, length, ".txt"); /* rows or sequences */
  in->separator = is_tsv ? '\t' : is_csv ? ',' : '\0';
  in->kind = in->raw_bits                          ? TSR_RAW
             : is_tsv || is_csv                    ? TSR_ROWS
             : tsr_name_ends(name, length, ".npy") ? TSR_NPY
                                                   : TSR_KMERS;
  const bool is_known = in->kind != TSR_KMERS || is_either || tsr_sequence_is_named(name, length);
  in->is_nameless = is_standard(name) || (!is_known && !in->compression && is_pipe(name));
  if ((in->is_nameless || is_either) && !in->options.kmers) in->kind = TSR_ROWS;
  const bool is_refused = (is_array(in) && in->compression) || (!is_known && !in->is_nameless);
  return is_refused ? refuse_name(in, length, error) : TSR_OK;
}

/* Whether the options fit what the file is. */
static tsr_status check_kind(const tsr_input *in, tsr_error *error) {
  const tsr_dataset_options *options = &in->options;
  const char *path = in->path;
  const bool has_first =
      options->key_column && strcmp(options->key_column, "@1") == 0; /* of what has one column as well */
  if (in->kind != TSR_ROWS && ((options->key_column && !has_first) || options->value_column))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: has no columns to choose: %s is about rows of text (.csv, .tsv, .txt)", path,
                    options->value_column ? "--value" : "--key");
  if (in->kind != TSR_KMERS && (options->kmers != 0 || options->canonical)) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: is not a FASTA or FASTQ file, and k-mers are read from those only. For numbers use `tessera "
                    "run` without --kmers and --canonical",
                    path);
  }
  if (tsr_form_texts(options->form) && in->kind != TSR_ROWS)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: has no texts: --key-text is about rows of text (.csv, .tsv, .txt)",
                    path);
  if (options->want_values && options->value_bits > 64 && in->kind != TSR_ROWS)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: has no values of %u bytes: with value_bytes pairs are read from lines of text, a key and %u "
                    "hexadecimal digits",
                    path, options->value_bits / 8, options->value_bits / 4);
  if (in->raw_bits && in->raw_bits != options->key_bits) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: holds keys of %u bits, but key_bits = %u: they must be the same",
                    path, in->raw_bits, options->key_bits);
  }
  if (in->kind == TSR_KMERS && options->kmers == 0) {
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: is a sequence file: `tessera run` and `count` read it with --kmers K, the letters of a key",
                    path);
  }
  const uint32_t most = options->key_bits == TSR_LETTER_BITS ? 64 : options->key_bits / 2;
  if (in->kind == TSR_KMERS && options->kmers > most) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: --kmers %u does not fit key_bits = %u: allowed are 1 to %u", path,
                    options->kmers, options->key_bits, most);
  }
  return TSR_OK;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* Where keys get their number in the file as values, this is known of arrays alone, unless all before was read. */
static bool counts_rows(const tsr_dataset_options *options, bool has_values) {
  if (!options->want_values || options->value_rule == TSR_VALUE_CONSTANT) return false;
  return !has_values || options->value_rule == TSR_VALUE_ORDINAL;
}

/* Settles whether each part has some of the file. Otherwise one has all, and it is none of the others'. */
static void settle_part(tsr_input *in) {
  tsr_part *part = &in->options.part;
  const bool is_plain = in->bytes && !in->compression && !in->is_nameless;
  const bool is_cut = is_array(in) || (is_plain && !counts_rows(&in->options, in->kind == TSR_ROWS));
  if (tsr_part_is_all(part) || (is_cut && !part->stays_whole)) return;
  in->is_others = part->index != (is_standard(in->name) ? 0 : part->turn);
  *part = (tsr_part){.count = 1};
}

/* ---- Opening --------------------------------------------------------------------------------- */

static tsr_status open_failed(const tsr_input *in, tsr_error *error) {
  const bool is_missing = errno == ENOENT || errno == ENOTDIR;
  return tsr_fail(error, is_missing ? TSR_NOT_FOUND : TSR_IO, "'%s': cannot be opened: %s", in->path, strerror(errno));
}

static tsr_status begin_raw(tsr_input *in, tsr_error *error) {
  const uint64_t key_bytes = in->options.key_bits / 8;
  const tsr_part *part = &in->options.part;
  if (in->bytes % key_bytes != 0)
    return tsr_fail(error, TSR_IO, "%s: has %llu bytes: a raw file of %u-bit keys has a multiple of %llu", in->path,
                    (unsigned long long)in->bytes, in->options.key_bits, (unsigned long long)key_bytes);
  in->first = tsr_part_is_all(part) ? 0 : tsr_part_begin(part, part->index, in->bytes / key_bytes);
  if (!in->first || lseek(in->file, (off_t)(in->first * key_bytes), SEEK_SET) >= 0) return TSR_OK;
  return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", in->path, strerror(errno));
}

/* Of the part. */
static uint64_t keys_known(const tsr_input *in) {
  const tsr_part *part = &in->options.part;
  const uint64_t keys = in->bytes / (in->options.key_bits / 8);
  if (in->is_others) return 0;
  if (in->kind == TSR_RAW)
    return tsr_part_is_all(part) ? keys : tsr_part_begin(part, part->index + 1, keys) - in->first;
  return in->npy ? tsr_npy_count(in->npy) : 0;
}

/* A table that adds values up would add up the keys' numbers, which nobody wants unasked. */
static tsr_status check_rule(const tsr_input *in, tsr_error *error) {
  const bool has_values = in->kind == TSR_ROWS || (in->npy && tsr_npy_has_values(in->npy));
  if (!in->options.want_values || has_values || in->is_others) return TSR_OK;
  if (in->options.value_rule != TSR_VALUE_CONSTANT && in->options.value_bits == 32 &&
      in->first + keys_known(in) > UINT64_C(1) << 32)
    return tsr_refuse_ordinal(in->path, error);
  if (in->options.value_rule != TSR_VALUE_NEEDED) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "%s: its keys have no values, and duplicates = add adds values up. Set them by --value: `one` counts "
                  "the keys, `ordinal` adds up their numbers in the file",
                  in->path);
}

/* Opens the file and begins its reader. */
static tsr_status begin(tsr_input *in, tsr_error *error) {
  tsr_status status = TSR_OK;
  in->file = is_standard(in->name) ? dup(STDIN_FILENO) : open(in->name, O_RDONLY | O_CLOEXEC);
  if (in->file < 0) return open_failed(in, error);
  if (!is_array(in)) status = tsr_text_begin(in->file, in->path, in->compression, in->is_nameless, &in->text, error);
  if (status) return status;
  switch (in->kind) {
  case TSR_RAW:
    return begin_raw(in, error);
  case TSR_NPY:
    status = tsr_npy_begin(in->file, in->path, in->bytes, &in->options, &in->npy, error);
    in->first = status == TSR_OK ? tsr_npy_first(in->npy) : 0;
    return status;
  case TSR_KMERS:
    return tsr_sequence_begin(in->text, in->path, tsr_range_of_part(&in->options.part, in->bytes), &in->options,
                              &in->sequence, error);
  default:
    return tsr_tsv_begin(in->text, in->path, in->separator, tsr_range_of_part(&in->options.part, in->bytes),
                         &in->options, &in->tsv, error);
  }
}

/* What can be told of a path without opening it. Of arrays the size is needed before they are read, and they must be
 * regular files; the others may be pipes. */
static tsr_status look(tsr_input *in, bool *is_pipe, tsr_error *error) {
  struct stat facts;
  if ((is_standard(in->name) ? fstat(STDIN_FILENO, &facts) : stat(in->name, &facts)) != 0)
    return open_failed(in, error);
  if (S_ISDIR(facts.st_mode)) return tsr_fail(error, TSR_IO, "%s: is a directory: an input must be a file", in->path);
  if (is_array(in) && !S_ISREG(facts.st_mode))
    return tsr_fail(error, TSR_IO, "%s: is a pipe or a device: an array must be a regular file", in->path);
  in->bytes = S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
  *is_pipe = S_ISFIFO(facts.st_mode);
  return TSR_OK;
}

tsr_status tsr_input_open(const char *path, const tsr_dataset_options *options, tsr_input **input, tsr_error *error) {
  tsr_input *in = calloc(1, sizeof *in);
  bool is_pipe = false;
  if (!in) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  in->name = path;
  in->path = is_standard(path) ? "standard input" : path;
  in->options = *options;
  in->file = -1;
  tsr_status status = check_widths(options, error);
  if (status == TSR_OK) status = classify(in, error);
  if (status == TSR_OK) status = check_kind(in, error);
  if (status == TSR_OK) status = look(in, &is_pipe, error);
  if (status == TSR_OK) settle_part(in);
  if (status == TSR_OK && !is_pipe && !in->is_others) status = begin(in, error);
  if (status == TSR_OK) status = check_rule(in, error);
  if (status == TSR_OK)
    *input = in;
  else
    tsr_input_close(in);
  return status;
}

void tsr_input_close(tsr_input *input) {
  if (!input) return;
  tsr_sequence_free(input->sequence);
  tsr_tsv_free(input->tsv);
  tsr_npy_free(input->npy);
  tsr_text_free(input->text);
  if (input->file >= 0) close(input->file);
  free(input);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static tsr_status read_raw(const tsr_input *in, uint64_t room, void *keys, uint64_t *count, tsr_error *error) {
  const uint32_t bits = in->options.key_bits;
  const uint64_t left = keys_known(in) - in->done;
  *count = room < left ? room : left;
  tsr_status status = tsr_read_exactly(in->file, in->path, keys, *count * (bits / 8), error);
  for (uint64_t i = 0; status == TSR_OK && i < *count; i++) {
    const uint64_t raw = tsr_number_at(keys, bits, i);
    tsr_number_put(keys, bits, i, bits == 64 ? le64toh(raw) : le32toh((uint32_t)raw));
  }
  return status;
}

/* Gives keys that have none their values. */
static tsr_status add_values(const tsr_input *in, uint64_t count, void *values, tsr_error *error) {
  const uint32_t bits = in->options.value_bits;
  const bool is_constant = in->options.value_rule == TSR_VALUE_CONSTANT;
  const uint64_t done = in->first + in->done;
  if (!is_constant && bits == 32 && done + count > UINT64_C(1) << 32) return tsr_refuse_ordinal(in->path, error);
  for (uint64_t i = 0; i < count; i++) tsr_number_put(values, bits, i, is_constant ? in->options.value : done + i);
  return TSR_OK;
}

tsr_status tsr_input_read(tsr_input *input, uint64_t room, void *keys, void *values, uint64_t *count,
                          tsr_error *error) {
  tsr_input *in = input;
  bool has_values = !in->options.want_values;
  *count = 0;
  if (in->is_others) return TSR_OK;
  tsr_status status = in->file < 0 ? begin(in, error) : TSR_OK;
  if (status) return status;
  if (in->tsv) {
    status = tsr_tsv_next(in->tsv, room, keys, values, count, error);
    has_values = true;
  } else if (in->npy) {
    status = tsr_npy_next(in->npy, room, keys, in->options.want_values ? values : NULL, count, error);
    has_values = has_values || tsr_npy_has_values(in->npy);
  } else if (in->sequence) {
    status = tsr_sequence_next(in->sequence, keys, room, count, error);
  } else {
    status = read_raw(in, room, keys, count, error);
  }
  if (status == TSR_OK && !has_values) status = add_values(in, *count, values, error);
  in->done += *count;
  return status == TSR_OK && !in->done ? tsr_refuse_empty(in->path, &in->options, error) : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

tsr_input_facts tsr_input_describe(const tsr_input *input) {
  tsr_input_facts facts = {.keys = input->done, .keys_known = keys_known(input), .file_bytes = input->bytes};
  const tsr_range range = tsr_range_of_part(&input->options.part, input->bytes);
  facts.bytes = (range.to < input->bytes ? range.to : input->bytes) - range.from;
  facts.is_others = input->is_others;
  if (input->is_others) facts.bytes = 0;
  if (input->text)
    facts.bytes_read = tsr_text_consumed(input->text);
  else if (facts.keys_known)
    facts.bytes_read = (uint64_t)((double)facts.bytes * (double)facts.keys / (double)facts.keys_known);
  if (input->sequence) facts.sequences = tsr_sequence_describe(input->sequence);
  if (input->options.key_bits == TSR_LETTER_BITS) facts.keys = facts.sequences.kmers;
  if (input->tsv) {
    const tsr_tsv_facts of_rows = tsr_tsv_describe(input->tsv);
    const bool has_begin = input->options.part.index == 0;
    facts.rows_skipped = of_rows.rows_skipped;
    if (has_begin) facts.names = of_rows.names;
    facts.keys_alone = of_rows.keys_alone && has_begin;
  }
  if (input->text) facts.lacks_end = tsr_text_lacks_end(input->text);
  return facts;
}

tsr_status tsr_input_look(const char *path, const tsr_dataset_options *options, tsr_input_facts *facts,
                          tsr_error *error) {
  tsr_input *input;
  tsr_status status = tsr_input_open(path, options, &input, error);
  if (status) return status;
  *facts = tsr_input_describe(input);
  tsr_input_close(input);
  return TSR_OK;
}
