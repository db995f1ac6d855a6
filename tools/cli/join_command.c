/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera join: rows of the pairs of two files that have one key. Each file is read into a table while a thread reads on,
 * then the tables are joined where they are. Read next: stream.h, rows.h; ../table/join.c does the work.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "core/tessera_tools.h"
#include "tools/cli/advice.h"
#include "tools/cli/command.h"
#include "tools/cli/gather.h"
#include "tools/cli/key_numbers.h"
#include "tools/cli/pairs.h"
#include "tools/cli/progress.h"
#include "tools/cli/ranks.h"
#include "tools/cli/reading.h"
#include "tools/cli/rows.h"
#include "tools/cli/stream.h"
#include "tools/cli/texts.h"
#include "tools/lab/outputs.h"

enum { WAIT_MILLISECONDS = 200 };

typedef struct join_job {
  const tsr_arguments *arguments;
  uint32_t kind;
  bool is_aggregate, saturates, only_counts, is_quiet;
  const char *out;
  tsr_dataset_options reading[2]; /* of the left and the right file */
  tsr_column_names names[2];      /* of their columns */
  bool has_values[2];             /* whether their rows, or the key's number in their place, are shown as values */
  char *columns[2];               /* what --key and --value say, cut in two */
  tsr_spec *spec;
  tsr_key_form form;       /* of the keys of both files */
  uint32_t key_bits;       /* of them */
  tsr_key_numbers numbers; /* of keys of 128 bits, by which the tables are joined */
  tsr_ranks ranks;
  tsr_table *left, *right;
  uint64_t overflowed; /* keys with sums past 2^64 - 1 */
  uint64_t overflows;  /* sums of the tables themselves */
} join_job;

/* ---- The spec -------------------------------------------------------------------------------- */

/* Keys of 128 bits are joined by their numbers, which 32 bits hold. */
static tsr_status narrow_spec(join_job *job, tsr_error *error) {
  tsr_status status =
      tsr_key_numbers_open(job->spec, tsr_arguments_value(job->arguments, "--plugins"), &job->numbers, error);
  if (status == TSR_OK && job->ranks.group)
    return tsr_fail(error, TSR_UNSUPPORTED, "--group: keys of 128 bits are joined by one process: leave it out");
  if (status == TSR_OK && tsr_spec_get(job->spec, "table", "key_columns"))
    status = tsr_spec_set(job->spec, "table.key_columns=u32", error);
  return status || !tsr_spec_get(job->spec, "table", "key_bits") ? status
                                                                 : tsr_spec_set(job->spec, "table.key_bits=32", error);
}

/* Learns what the keys are. Where the spec has key_columns, --key names all of them, of both files alike. */
static tsr_status read_form(join_job *job, tsr_error *error) {
  const char *said = tsr_arguments_value(job->arguments, "--key");
  uint32_t value_bits;
  tsr_status status = tsr_reading_columns(&job->reading[0], job->spec, error);
  if (status == TSR_OK) status = tsr_reading_texts(job->arguments, job->spec, &job->form, error);
  if (status == TSR_OK) status = tsr_dataset_widths(job->spec, &job->form, &job->key_bits, &value_bits, error);
  for (size_t side = 0; side < 2; side++) {
    tsr_reading_use(&job->reading[side], &job->form);
    if (said && job->form.parts.count > 1 && !strchr(said, '=')) job->reading[side].key_column = said;
  }
  return status || job->key_bits <= 64 ? status : narrow_spec(job, error);
}

/* Refuses a wrong one before any file is opened. */
static tsr_status read_spec(join_job *job, tsr_error *error) {
  tsr_status status = tsr_arguments_recipe(job->arguments, "join", &job->spec, error);
  if (status) return status;
  const bool has_capacity = tsr_spec_get(job->spec, "table", "capacity") != NULL;
  const tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins"),
                               .capacity = has_capacity ? 0 : 1};
  char *text;
  if (status == TSR_OK) status = read_form(job, error);
  if (status) return status;
  status = tsr_spec_check(job->spec, &options, &text, error);
  if (status) return status;
  free(text);
  if (strcmp(tsr_spec_get(job->spec, "table", "kind"), "filter") == 0)
    return tsr_fail(error, TSR_BAD_SPEC, "[table] kind = filter: keeps bits and no keys to join by: use another kind");
  return TSR_OK;
}

/* ---- One file -------------------------------------------------------------------------------- */

/* What is told of a file in the end, and kept of it. */
static tsr_status note(join_job *job, uint32_t side, const tsr_stream_file *file, tsr_stream *stream,
                       tsr_error *error) {
  tsr_input_facts facts = tsr_stream_describe(stream, 0);
  const tsr_status status = tsr_ranks_add_facts(&job->ranks, file->path, &file->options, &facts, error);
  job->names[side] = facts.names;
  job->has_values[side] = file->options.want_values && !facts.keys_alone;
  if (status == TSR_OK && !job->ranks.rank) tsr_say_what_was_read(file->path, &file->options, &facts, job->is_quiet);
  return status;
}

/* A table that is filled, by this process and those that share it. */
typedef struct filled {
  tsr_ranks *ranks;
  tsr_table *table;
  tsr_key_numbers *numbers;
} filled;

static tsr_status insert(void *context, const tsr_chunk *batch, tsr_error *error) {
  const filled *f = context;
  const void *keys = batch->keys;
  tsr_status status =
      f->numbers->index ? tsr_key_numbers_of(f->numbers, batch->count, keys, &keys, error) : (tsr_status)TSR_OK;
  return status ? status : tsr_insert(f->table, batch->count, keys, batch->values, NULL, error);
}

static tsr_status agree(void *context, bool *waits, tsr_error *error) {
  return tsr_ranks_agree(((const filled *)context)->ranks, TSR_OK, waits, error);
}

/* Of all shards of a table. */
static tsr_status report_of(const join_job *job, tsr_table *table, tsr_report *report, tsr_error *error) {
  tsr_status status = tsr_table_report(table, report, error);
  uint64_t sums[] = {report->not_placed, report->overflows};
  if (status == TSR_OK) status = tsr_ranks_add_up(&job->ranks, 2, sums, error);
  report->not_placed = sums[0];
  report->overflows = sums[1];
  return status;
}

static tsr_status fill(join_job *job, tsr_stream *stream, tsr_gather *gather, const char *path, tsr_error *error) {
  tsr_table *table = ((const filled *)gather->context)->table;
  tsr_progress progress;
  tsr_chunk chunk = {.count = 0};
  uint64_t done = 0;
  bool is_at_end = false;
  tsr_status status = TSR_OK;
  tsr_progress_begin(&progress, path, "pairs", job->is_quiet);
  while (status == TSR_OK && !is_at_end) {
    status = tsr_stream_next(stream, WAIT_MILLISECONDS, &chunk, error);
    is_at_end = chunk.file >= 1;
    status = tsr_ranks_agree(&job->ranks, status, &is_at_end, error);
    const bool has_turn = chunk.count || job->ranks.group; /* all have, while one reads */
    if (status == TSR_OK && has_turn) status = tsr_gather_add(gather, &chunk, error);
    done += chunk.count;
    const tsr_input_facts facts = tsr_stream_describe(stream, 0);
    tsr_progress_show(&progress, done, facts.bytes_read, facts.bytes);
  }
  if (status == TSR_OK) status = tsr_gather_finish(gather, error);
  tsr_progress_end(&progress);
  char advice[TSR_FULL_ADVICE_BYTES];
  tsr_report report = {.size = 0};
  if (status == TSR_OK) status = report_of(job, table, &report, error);
  if (status == TSR_OK && report.not_placed)
    status = tsr_fail(error, TSR_NO_MEMORY,
                      "%s: %" PRIu64 " pairs found no room in the table, so that rows would be missing: %s", path,
                      report.not_placed, tsr_advice_when_full(table, "let it grow: --set table.growth=double", advice));
  const bool stops = tsr_bits_of_stop(table);
  if (status == TSR_OK && report.overflows && stops && !job->ranks.rank) tsr_say_stopped(path, table, NULL);
  if (!stops) job->overflows += report.overflows;
  if (status == TSR_OK && report.overflows && !stops && !job->ranks.rank)
    tsr_say("%s: %" PRIu64 " sum%s of duplicates = add passed the largest value; these values are wrong. Use --set "
            "table.overflow=saturate, which stops sums there",
            path, report.overflows, report.overflows == 1 ? "" : "s");
  return status;
}

/* Whether rows show a side's values, if it has any. */
static bool shows_values(const join_job *job, uint32_t side) {
  if (job->only_counts || job->is_aggregate) return false;
  return job->kind <= (side == 0 ? TSR_JOIN_ANTI : TSR_JOIN_LEFT);
}

/* Whether a side must have values. */
static bool combines_values(const join_job *job, uint32_t side) {
  return side == 1 && job->is_aggregate && job->kind != TSR_JOIN_COUNT && !job->only_counts;
}

/* What is read of a file: keys alone, whatever other columns hold, or values as well. */
static void choose_reading(const join_job *job, uint32_t side, tsr_dataset_options *options) {
  options->value_rule = TSR_VALUE_OPTIONAL;
  if (shows_values(job, side) || combines_values(job, side)) return;
  options->value_rule = TSR_VALUE_CONSTANT;
  options->value_column = NULL;
  if (!options->key_column) options->key_column = "@1";
}

static tsr_status read_table(join_job *job, uint32_t side, tsr_table **table, tsr_error *error) {
  const char *path = job->arguments->operands[side];
  tsr_stream_file file = {.path = path, .options = job->reading[side], .is_inserted = true};
  tsr_stream *stream = NULL;
  bool is_settled = false, is_exact;
  tsr_key_form of_table = {.parts = {0}};
  tsr_status status = tsr_dataset_widths(job->spec, &of_table, &file.options.key_bits, &file.options.value_bits, error);
  file.options.key_bits = job->key_bits;
  file.options.want_values = file.options.value_bits > 0;
  file.options.part = tsr_ranks_part(&job->ranks, side);
  choose_reading(job, side, &file.options);
  if (status == TSR_OK) status = tsr_stream_open(&file, 1, &stream, error);
  while (status == TSR_OK && !is_settled) status = tsr_stream_settle(stream, WAIT_MILLISECONDS, &is_settled, error);
  status = tsr_ranks_agree(&job->ranks, status, NULL, error);
  tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins")};
  if (status == TSR_OK && !tsr_spec_get(job->spec, "table", "capacity")) {
    options.capacity = tsr_stream_capacity(stream, &is_exact);
    status = tsr_ranks_add_up(&job->ranks, 1, &options.capacity, error);
    if (!options.capacity) options.capacity = 1; /* no key: a table of nothing has room for one */
  }
  if (status == TSR_OK) status = tsr_ranks_table(&job->ranks, job->spec, &options, table, error);
  filled target = {&job->ranks, *table, &job->numbers};
  tsr_gather gather = {.insert = insert,
                       .agree = job->ranks.group ? agree : NULL,
                       .context = &target,
                       .key_bytes = file.options.key_bits / 8,
                       .value_bytes = file.options.value_bits / 8};
  if (status == TSR_OK) status = fill(job, stream, &gather, path, error);
  tsr_gather_free(&gather);
  if (status == TSR_OK) status = note(job, side, &file, stream, error);
  if (status == TSR_OK && file.options.want_values && !job->has_values[side] && combines_values(job, side))
    status = tsr_fail(error, TSR_IO, "%s: has no values, and --aggregate %s needs those of the right file: choose %s",
                      path, tsr_arguments_value(job->arguments, "--aggregate"),
                      "--aggregate count, or a file with a key and a value in each row");
  tsr_stream_close(stream);
  return status;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The rows of one kind of join, in memory. values: of the left table, or aggregates. */
typedef struct found_rows {
  void *keys, *values, *rights;
  uint64_t count;
} found_rows;

static tsr_status join_tables(join_job *job, uint32_t kind, bool has_right, const tsr_rows *widths, found_rows *found,
                              tsr_error *error) {
  tsr_status status = tsr_join(job->left, job->right, kind, NULL, &found->count, error);
  if (status || found->count == 0) return status;
  if (job->ranks.rank)
    return tsr_join(job->left, job->right, kind, NULL, &found->count, error); /* the first has them */
  found->keys = malloc(found->count * (widths->key_bits / 8));
  if (widths->value_bits) found->values = malloc(found->count * (widths->value_bits / 8));
  if (has_right) found->rights = malloc(found->count * (widths->right_bits / 8));
  if (!found->keys || (widths->value_bits && !found->values) || (has_right && !found->rights))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for %" PRIu64 " rows", found->count);
  const tsr_join_rows rows = {.room = found->count,
                              .keys = found->keys,
                              .left_values = job->is_aggregate ? NULL : found->values,
                              .right_values = found->rights,
                              .aggregates = job->is_aggregate ? found->values : NULL,
                              .overflowed = kind == TSR_JOIN_SUM ? &job->overflowed : NULL,
                              .saturates = job->saturates};
  status = tsr_join(job->left, job->right, kind, &rows, &found->count, error);
  return status || !job->numbers.index ? status
                                       : tsr_key_numbers_replace(&job->numbers, found->count, &found->keys, error);
}

static void free_rows(found_rows *found) {
  free(found->keys);
  free(found->values);
  free(found->rights);
}

/* The columns are called as in the files, where these name them. */
static void name_columns(const join_job *job, tsr_rows *rows, char *right, size_t room) {
  const tsr_column_names *l = &job->names[0], *r = &job->names[1];
  const bool is_same = *l->value && strcmp(l->value, r->value) == 0 && !job->is_aggregate;
  snprintf(right, room, "%s%s", is_same ? "right_" : "", r->value);
  rows->names[0] = *l->key ? l->key : r->key;
  rows->names[1] = job->is_aggregate ? r->value : l->value;
  rows->names[2] = right;
}

/* Those of a left join come as those of an inner one and of an anti one, so that a missing value is no number. */
static tsr_status write_rows(join_job *job, uint64_t *count, tsr_error *error) {
  const bool is_left = job->kind == TSR_JOIN_LEFT, has_right = is_left || job->kind == TSR_JOIN_INNER;
  tsr_table_info left = {0}, right = {0};
  tsr_table_describe(job->left, &left);
  tsr_table_describe(job->right, &right);
  tsr_rows rows = {.key_bits = left.key_bits,
                   .value_bits = job->is_aggregate                            ? 64
                                 : shows_values(job, 0) && job->has_values[0] ? left.value_bits
                                                                              : 0,
                   .right_bits = has_right && job->has_values[1] ? right.value_bits : 0,
                   .form = &job->form,
                   .may_lack_right = is_left,
                   .signed_keys = job->reading[0].signed_keys,
                   .signed_values = job->reading[0].signed_values && !job->is_aggregate};
  char right_name[TSR_NAME_BYTES + 8];
  name_columns(job, &rows, right_name, sizeof right_name);
  found_rows found = {.count = 0}, alone = {.count = 0};
  tsr_row_writer *writer = NULL;
  const uint32_t widest = rows.right_bits > rows.value_bits ? rows.right_bits : rows.value_bits;
  tsr_status status = tsr_rows_check_values("--out", job->out, widest, error);
  if (status) return status;
  status = join_tables(job, is_left ? (uint32_t)TSR_JOIN_INNER : job->kind, rows.right_bits, &rows, &found, error);
  if (status == TSR_OK && is_left) status = join_tables(job, TSR_JOIN_ANTI, false, &rows, &alone, error);
  rows.key_bits = job->key_bits;
  if (status == TSR_OK && !job->ranks.rank) status = tsr_rows_open(job->out, &rows, &writer, error);
  const found_rows *const parts[] = {&found, &alone};
  for (uint32_t i = 0; status == TSR_OK && writer && i < 2; i++) {
    rows.keys = parts[i]->keys;
    rows.values = parts[i]->values;
    rows.rights = parts[i]->rights;
    rows.count = parts[i]->count;
    rows.has_right = i == 0;
    tsr_rows_add(writer, &rows);
  }
  const tsr_status closed = writer ? tsr_rows_close(writer, status == TSR_OK, status ? NULL : error) : TSR_OK;
  *count = found.count + alone.count;
  free_rows(&found);
  free_rows(&alone);
  return status ? status : closed;
}

/* Tables know no sign: the right pairs whose keys the left file has are added up or compared here. */
static tsr_status write_signed_aggregates(join_job *job, uint64_t *count, tsr_error *error) {
  const tsr_fold how = job->kind == TSR_JOIN_SUM   ? TSR_FOLD_SUM
                       : job->kind == TSR_JOIN_MIN ? TSR_FOLD_MIN
                                                   : TSR_FOLD_MAX;
  const tsr_column_names names = job->names[1];
  tsr_table_info right = {0};
  tsr_table_describe(job->right, &right);
  tsr_pairs pairs = {.key_bits = right.key_bits,
                     .value_bits = right.value_bits,
                     .signed_keys = job->reading[1].signed_keys,
                     .form = job->numbers.index ? NULL : &job->form,
                     .signed_values = true,
                     .names = &names};
  tsr_status status = tsr_join(job->right, job->left, TSR_JOIN_SEMI, NULL, &pairs.count, error);
  if (status) return status;
  pairs.keys = malloc((pairs.count + 1) * (right.key_bits / 8));
  pairs.values = malloc((pairs.count + 1) * (right.value_bits / 8));
  const tsr_join_rows rows = {.room = pairs.count, .keys = pairs.keys, .left_values = pairs.values};
  const bool writes = job->ranks.rank == 0;
  if (!pairs.keys || !pairs.values)
    status = tsr_fail(error, TSR_NO_MEMORY, "no memory for %" PRIu64 " rows", pairs.count);
  else if (pairs.count)
    status = tsr_join(job->right, job->left, TSR_JOIN_SEMI, writes ? &rows : NULL, &pairs.count, error);
  if (status == TSR_OK && writes) status = tsr_pairs_fold(&pairs, how, error);
  if (status == TSR_OK && writes && job->numbers.index) {
    status = tsr_key_numbers_replace(&job->numbers, pairs.count, &pairs.keys, error);
    pairs.key_bits = job->key_bits;
    pairs.form = &job->form;
    if (status == TSR_OK) status = tsr_pairs_sort(&pairs, error);
  }
  if (status == TSR_OK && writes) status = tsr_pairs_write(&pairs, 0, job->out, error);
  *count = pairs.count;
  tsr_pairs_free(&pairs);
  return status;
}

static bool has_signed_aggregates(const join_job *job) {
  tsr_table_info right = {0};
  tsr_table_describe(job->right, &right);
  return job->is_aggregate && job->kind != TSR_JOIN_COUNT && job->reading[1].signed_values &&
         (right.value_bits == 32 || right.value_bits == 64);
}

static tsr_status put_out(join_job *job, tsr_error *error) {
  const bool is_signed = !job->only_counts && has_signed_aggregates(job);
  uint64_t count = 0;
  tsr_status status = job->only_counts ? tsr_join(job->left, job->right, job->kind, NULL, &count, error)
                      : is_signed      ? write_signed_aggregates(job, &count, error)
                                       : write_rows(job, &count, error);
  if (status || job->ranks.rank) return status; /* the first process speaks for all */
  if (job->only_counts)
    printf("%" PRIu64 "\n", count);
  else if (!job->is_quiet)
    tsr_say("%" PRIu64 " row%s; matches were found %s", count, count == 1 ? "" : "s",
            tsr_join_way(is_signed ? job->left : job->right));
  if (job->overflowed && !job->saturates)
    tsr_say("%" PRIu64 " sum%s passed 2^64 - 1; these rows are wrong. Use --saturate, which stops sums there",
            job->overflowed, job->overflowed == 1 ? "" : "s");
  else if (job->overflowed && !job->is_quiet)
    tsr_say("%" PRIu64 " sum%s stopped at 2^64 - 1", job->overflowed, job->overflowed == 1 ? "" : "s");
  return TSR_OK;
}

/* ---- The command ----------------------------------------------------------------------------- */

static const tsr_option options[] = {
    {"--kind", "inner|left|semi|anti|union|intersect|difference", false,
     "Which rows. inner, the default: every left pair with every right pair of its key. left: those, and left pairs "
     "without a right one. semi, anti: left pairs whose key the right file has, or has not. union, intersect, "
     "difference: keys, each once; difference has those of the left file alone."},
    {"--aggregate", "sum|min|max|count", false,
     "In place of rows of pairs: for each key of both files the sum, min, max or count of its right values."},
    {"--saturate", NULL, false,
     "With --aggregate sum: sums stop at 2^64 - 1. Without it a larger sum is wrong, and the exit status is 3."},
    {"--out", "FILE", false,
     "Where the rows go: key, left value, right value or '-'. In an array of a left join a last column is 1, or 0 "
     "without a right pair. '-', standard output, is the default."},
    {"--key", "COLUMN[,RIGHT]", false,
     "The column of text that is the key, by name or number: of both files, or of the left and the right one. Keys of "
     "several columns have an equals sign between the files: A,B=C,D."},
    {"--value", "COLUMN[,RIGHT]", false, "The same for the value."},
    TSR_OPTIONS_OF_ROWS,
    {"--count", NULL, false, "Prints the number of rows only."},
    {"--spec", "SPEC", false,
     "The tables that both files are read into, in place of specs/join.ini. Two tables with pages or bulk lists and of "
     "one capacity are joined page by page, as with specs/hashgraph_v2.ini --set table.capacity=N."},
    TSR_OPTION_GROUP,
    {"--quiet", NULL, false, "Prints errors and warnings only."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

typedef struct kind_name {
  const char *name;
  uint32_t kind;
} kind_name;

static const kind_name row_kinds[] = {{"inner", TSR_JOIN_INNER},
                                      {"left", TSR_JOIN_LEFT},
                                      {"semi", TSR_JOIN_SEMI},
                                      {"anti", TSR_JOIN_ANTI},
                                      {"union", TSR_JOIN_UNION},
                                      {"intersect", TSR_JOIN_INTERSECT},
                                      {"difference", TSR_JOIN_DIFFERENCE},
                                      {NULL, 0}};
static const kind_name aggregates[] = {
    {"sum", TSR_JOIN_SUM}, {"min", TSR_JOIN_MIN}, {"max", TSR_JOIN_MAX}, {"count", TSR_JOIN_COUNT}, {NULL, 0}};

/* False: there is none of this name. */
static bool find_kind(const kind_name *kinds, const char *name, uint32_t *kind) {
  while (kinds->name && strcmp(kinds->name, name) != 0) kinds++;
  *kind = kinds->kind;
  return kinds->name != NULL;
}

/* What --key or --value says of the left and of the right file. *copy: its two words, which the caller frees. */
static bool cut_in_two(const char *said, char **copy, const char *of_side[2]) {
  if (!said) return true;
  *copy = strdup(said);
  if (!*copy) return false;
  char *comma = strchr(*copy, '=') ? strchr(*copy, '=') : strchr(*copy, ',');
  if (comma) *comma = '\0';
  of_side[0] = **copy ? *copy : NULL;
  of_side[1] = !comma ? *copy : comma[1] ? comma + 1 : NULL;
  return true;
}

static tsr_exit read_reading(const tsr_arguments *arguments, join_job *job) {
  const char *keys[2] = {NULL, NULL}, *values[2] = {NULL, NULL};
  tsr_dataset_options reading = {.key_bits = 0};
  tsr_exit failed = tsr_reading_options(arguments, &reading);
  if (failed) return failed;
  if (!cut_in_two(tsr_arguments_value(arguments, "--key"), &job->columns[0], keys) ||
      !cut_in_two(tsr_arguments_value(arguments, "--value"), &job->columns[1], values)) {
    tsr_say("no memory for the command line");
    return TSR_EXIT_FAILED;
  }
  for (size_t side = 0; side < 2; side++) {
    job->reading[side] = reading;
    job->reading[side].key_column = keys[side];
    job->reading[side].value_column = values[side];
  }
  return TSR_EXIT_OK;
}

static tsr_exit read_arguments(const tsr_arguments *arguments, join_job *job) {
  const char *kind = tsr_arguments_value(arguments, "--kind"), *out = tsr_arguments_value(arguments, "--out");
  const char *aggregate = tsr_arguments_value(arguments, "--aggregate");
  job->arguments = arguments;
  job->only_counts = tsr_arguments_has(arguments, "--count");
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  job->is_aggregate = aggregate != NULL;
  job->out = out ? out : "-";
  if (kind && !find_kind(row_kinds, kind, &job->kind))
    return tsr_say_usage("--kind %s: must be one of inner, left, semi, anti, union, intersect and difference", kind);
  if (aggregate && job->kind != TSR_JOIN_INNER)
    return tsr_say_usage("--kind %s and --aggregate: aggregates are of keys that both files have: leave out --kind",
                         kind);
  if (aggregate && !find_kind(aggregates, aggregate, &job->kind))
    return tsr_say_usage("--aggregate %s: must be one of sum, min, max and count", aggregate);
  job->saturates = tsr_arguments_has(arguments, "--saturate");
  if (job->saturates && (!aggregate || job->kind != TSR_JOIN_SUM))
    return tsr_say_usage("--saturate: only the sums of --aggregate sum can overflow: leave it out");
  if (job->only_counts && out) return tsr_say_usage("--count and --out: rows are either counted or written");
  const tsr_exit failed = read_reading(arguments, job);
  if (!failed && job->saturates && job->reading[1].signed_values)
    return tsr_say_usage("--saturate and --signed: a sum with a sign that does not fit is an error: leave out one");
  return failed;
}

/* Before anything is read: --out replaces none of the inputs. */
static tsr_status check_out(const join_job *job, tsr_error *error) {
  const tsr_named_path out = {"--out", job->out};
  const tsr_named_path inputs[] = {{"LEFT", job->arguments->operands[0]},
                                   {"RIGHT", job->arguments->operands[1]},
                                   {"--spec", tsr_arguments_value(job->arguments, "--spec")}};
  if (strcmp(inputs[0].path, "-") == 0 && strcmp(inputs[1].path, "-") == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "LEFT and RIGHT are both standard input: name a file for one");
  tsr_status status = tsr_rows_check_name("--out", job->out, error);
  return status ? status : tsr_outputs_check(&out, 1, inputs, 3, error);
}

static tsr_exit run_join(const tsr_arguments *arguments) {
  join_job job = {.spec = NULL, .ranks = {.size = 1}};
  tsr_error error;
  tsr_exit failed = read_arguments(arguments, &job);
  if (failed) return failed;
  tsr_status status = check_out(&job, &error);
  if (status == TSR_OK) status = tsr_ranks_open(arguments, &job.ranks, &error);
  if (job.ranks.rank) job.is_quiet = true;
  if (status == TSR_OK) {
    status = read_spec(&job, &error);
    for (size_t i = 0; status && i < 2; i++) tsr_say_if_missing(arguments->operands[i]);
  }
  if (status == TSR_OK) status = read_table(&job, 0, &job.left, &error);
  if (status == TSR_OK) status = read_table(&job, 1, &job.right, &error);
  if (status == TSR_OK) status = put_out(&job, &error);
  tsr_table_destroy(job.left);
  tsr_table_destroy(job.right);
  tsr_key_numbers_close(&job.numbers);
  tsr_texts_free(job.form.texts);
  tsr_ranks_close(&job.ranks);
  tsr_spec_free(job.spec);
  free(job.columns[0]);
  free(job.columns[1]);
  const bool is_wrong = job.overflows || (job.overflowed && !job.saturates);
  if (status == TSR_OK) return is_wrong ? TSR_EXIT_UNPLACED : TSR_EXIT_OK;
  return tsr_ranks_say_error(&job.ranks, status, &error);
}

const tsr_command tsr_join_command = {{"join", "LEFT RIGHT", "Joins two files by key.", options, NULL}, run_join};
