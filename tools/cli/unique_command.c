/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera unique: the distinct keys of a file, how often each occurs, and which of them each row has. The file's keys
 * and the answers are in memory. Read next: dataset.h, rows.h; ../../core/table/unique.c does the work.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/tessera_tools.h"
#include "tools/cli/command.h"
#include "tools/cli/reading.h"
#include "tools/cli/rows.h"
#include "tools/cli/texts.h"
#include "tools/lab/outputs.h"

enum { FIRST_ROOM = 1 << 20 };

typedef struct unique_job {
  const tsr_arguments *arguments;
  const char *path, *out, *inverse_path;
  bool counts, is_seen, is_quiet;
  tsr_dataset_options reading;
  tsr_key_form form;
  tsr_input_facts facts;
  tsr_spec *spec;
  tsr_table *table;
  void *keys, *distinct;
  uint64_t *occurrences;
  uint32_t *inverse;
  uint64_t n, found;
} unique_job;

/* Refuses a wrong spec before the file is opened. */
static tsr_status read_spec(unique_job *job, tsr_error *error) {
  static const char *const recipes[] = {"index", "wide_keys_index"};
  tsr_status status = tsr_reading_recipe(job->arguments, &job->reading, recipes, &job->spec, error);
  if (status == TSR_OK) status = tsr_reading_texts(job->arguments, job->spec, &job->form, error);
  if (status) return status;
  status = tsr_spec_set(job->spec, job->is_seen ? "table.numbering=first_seen" : "table.numbering=any", error);
  const char *kind = tsr_spec_get(job->spec, "table", "kind");
  if (status == TSR_OK && (!kind || strcmp(kind, "index") != 0))
    status = tsr_fail(error, TSR_BAD_SPEC, "[table] kind = %s: unique needs kind = index", kind ? kind : "");
  uint32_t value_bits;
  if (status == TSR_OK) status = tsr_dataset_widths(job->spec, &job->form, &job->reading.key_bits, &value_bits, error);
  tsr_reading_use(&job->reading, &job->form);
  return status;
}

/* Makes room for one more piece. */
static tsr_status make_room(unique_job *job, uint64_t *room, tsr_error *error) {
  if (*room - job->n >= TSR_SEQUENCE_ROOM) return TSR_OK;
  const uint64_t more = *room ? 2 * *room : FIRST_ROOM;
  void *keys = realloc(job->keys, more * (job->reading.key_bits / 8));
  if (!keys) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %" PRIu64 " keys", job->path, more);
  job->keys = keys;
  *room = more;
  return TSR_OK;
}

static tsr_status read_keys(unique_job *job, tsr_error *error) {
  tsr_input *input = NULL;
  uint64_t room = 0, count = 1;
  tsr_status status = tsr_input_open(job->path, &job->reading, &input, error);
  while (status == TSR_OK && count) {
    status = make_room(job, &room, error);
    if (status == TSR_OK)
      status = tsr_input_read(input, room - job->n, (char *)job->keys + job->n * (job->reading.key_bits / 8), NULL,
                              &count, error);
    if (status == TSR_OK) job->n += count;
  }
  if (status == TSR_OK) job->facts = tsr_input_describe(input);
  tsr_input_close(input);
  return status;
}

static tsr_status find(unique_job *job, tsr_error *error) {
  const tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins"),
                               .capacity = tsr_spec_get(job->spec, "table", "capacity") ? 0
                                           : job->n                                     ? job->n
                                                                                        : 1};
  tsr_status status = tsr_table_create(job->spec, &options, &job->table, error);
  if (status || job->n == 0) return status;
  job->distinct = malloc(job->n * (job->reading.key_bits / 8));
  if (job->counts) job->occurrences = malloc(job->n * sizeof *job->occurrences);
  if (job->inverse_path) job->inverse = malloc(job->n * sizeof *job->inverse);
  if (!job->distinct || (job->counts && !job->occurrences) || (job->inverse_path && !job->inverse))
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the answers of %" PRIu64 " keys", job->path, job->n);
  const tsr_unique_arrays arrays = {.size = sizeof arrays,
                                    .keys = job->distinct,
                                    .inverse = job->inverse,
                                    .counts = job->occurrences,
                                    .room = job->n};
  return tsr_unique(job->table, job->n, job->keys, &arrays, &job->found, error);
}

static tsr_status put_out(const unique_job *job, tsr_error *error) {
  const tsr_rows rows = {.keys = job->distinct,
                         .values = job->occurrences,
                         .count = job->found,
                         .key_bits = job->reading.key_bits,
                         .value_bits = job->counts ? 64 : 0,
                         .form = &job->form,
                         .signed_keys = job->reading.signed_keys,
                         .names = {job->facts.names.key, "count", NULL}};
  const tsr_rows numbers = {.keys = job->inverse, .count = job->n, .key_bits = 32, .names = {"number", NULL, NULL}};
  const tsr_status status = tsr_rows_write(job->out, &rows, error);
  return status || !job->inverse_path ? status : tsr_rows_write(job->inverse_path, &numbers, error);
}

static const tsr_option options[] = {
    {"--out", "FILE", false,
     "Where the keys go, a line each; '-', standard output, is the default. The ending chooses the format, as for run "
     "--out."},
    {"--counts", NULL, false, "Writes how often each key occurs as a second column."},
    {"--inverse", "FILE", false, "Where the number of each row's key goes, from 0 on in the order of --out."},
    {"--order", "seen|any", false,
     "The order of --out: 'seen' (the default), in which keys first appear, or 'any', which is faster on a GPU."},
    {"--key", "COLUMN", false,
     "The column of text that is the key, by name or number. Otherwise the first. Several with commas between are a "
     "key of "
     "several columns."},
    TSR_OPTIONS_OF_ROWS,
    {"--spec", "SPEC", false, "The index that finds the keys, in place of specs/index.ini."},
    {"--quiet", NULL, false, "Prints errors and warnings only."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

static tsr_exit read_arguments(const tsr_arguments *arguments, unique_job *job) {
  const char *order = tsr_arguments_value(arguments, "--order"), *out = tsr_arguments_value(arguments, "--out");
  job->arguments = arguments;
  job->path = arguments->operands[0];
  job->out = out ? out : "-";
  job->inverse_path = tsr_arguments_value(arguments, "--inverse");
  job->counts = tsr_arguments_has(arguments, "--counts");
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  job->is_seen = !order || strcmp(order, "seen") == 0;
  if (!job->is_seen && strcmp(order, "any") != 0) return tsr_say_usage("--order %s: must be seen or any", order);
  return tsr_reading_options(arguments, &job->reading);
}

/* Before anything is read: outputs replace neither the input nor each other. */
static tsr_status check_out(const unique_job *job, tsr_error *error) {
  const tsr_named_path outs[] = {{"--out", job->out}, {"--inverse", job->inverse_path}};
  const tsr_named_path inputs[] = {{"FILE", job->path}, {"--spec", tsr_arguments_value(job->arguments, "--spec")}};
  tsr_status status = tsr_rows_check_name("--out", job->out, error);
  if (status == TSR_OK) status = tsr_rows_check_name("--inverse", job->inverse_path, error);
  return status ? status : tsr_outputs_check(outs, 2, inputs, 2, error);
}

static tsr_exit run_unique(const tsr_arguments *arguments) {
  unique_job job = {.spec = NULL};
  tsr_error error;
  const tsr_exit failed = read_arguments(arguments, &job);
  if (failed) return failed;
  tsr_status status = check_out(&job, &error);
  if (status == TSR_OK) {
    status = read_spec(&job, &error);
    if (status) tsr_say_if_missing(job.path);
  }
  if (status == TSR_OK) status = read_keys(&job, &error);
  if (status == TSR_OK) tsr_say_what_was_read(job.path, &job.reading, &job.facts, job.is_quiet);
  if (status == TSR_OK) status = find(&job, &error);
  if (status == TSR_OK) status = put_out(&job, &error);
  if (status == TSR_OK && !job.is_quiet)
    tsr_say("%s: %" PRIu64 " keys, %" PRIu64 " distinct", job.path, job.n, job.found);
  tsr_table_destroy(job.table);
  tsr_spec_free(job.spec);
  tsr_texts_free(job.form.texts);
  free(job.keys);
  free(job.distinct);
  free(job.occurrences);
  free(job.inverse);
  return status == TSR_OK ? TSR_EXIT_OK : tsr_say_error(status, &error);
}

const tsr_command tsr_unique_command = {{"unique", "FILE", "Finds the distinct keys of a file.", options, NULL},
                                        run_unique};
