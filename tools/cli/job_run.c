/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs jobs (job_run.h): inputs, composition, steps, outputs. Read next: worker.c (what is done with a chunk).
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "tools/cli/job_run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/gather.h"
#include "tools/cli/hot.h"
#include "tools/cli/job_report.h"
#include "tools/cli/loading.h"
#include "tools/cli/pairs.h"
#include "tools/cli/progress.h"
#include "tools/cli/reading.h"
#include "tools/cli/worker.h"

enum { WAIT_MILLISECONDS = 200 };

/* What a job needs while it runs. */
typedef struct running {
  tsr_job *job;
  tsr_stream_file *files; /* of the steps */
  tsr_stream *stream;
  tsr_ahead *opening; /* the device, while the spec is checked */
  tsr_ahead *linking; /* and its code, while the files are read */
  tsr_worker worker;
  tsr_hot hot;
  uint64_t from_step, from_keys; /* where a checkpoint was made: what is before that is skipped */
  uint64_t skipped;              /* keys of the step under way */
  uint64_t pairs;                /* in the table, after the last step */
} running;

static bool is_setting(const tsr_job *job, const char *key, const char *initial, const char *value) {
  return strcmp(tsr_job_setting(job, key, initial), value) == 0;
}

static bool has_capacity(const tsr_job *job) { return tsr_job_setting(job, "capacity", NULL) != NULL; }

static bool may_grow(const tsr_job *job) { return !is_setting(job, "growth", "none", "none"); }

/* ---- The spec -------------------------------------------------------------------------------- */

static tsr_status check(const tsr_job *job, const tsr_spec *spec, tsr_error *error) {
  const tsr_options options = {.plugins = job->plugins, .capacity = has_capacity(job) ? 0 : 1};
  char *text;
  tsr_status status = tsr_spec_check(spec, &options, &text, error);
  if (status == TSR_OK) free(text);
  return status;
}

/* From now on the job's spec is this one. */
static void take_spec(tsr_job *job, tsr_spec *spec) {
  tsr_spec_free(job->own_spec);
  job->spec = job->own_spec = spec;
}

/* A table of k-mers needs no more room than there can be k-mers, whatever its spec says, unless it keeps equal ones. */
static tsr_status cap_capacity(tsr_job *job, tsr_error *error) {
  char text[48];
  uint64_t said;
  tsr_spec *capped = NULL;
  const char *kind = tsr_job_setting(job, "kind", "");
  const bool keeps_all =
      strncmp(kind, "multi", 5) == 0 || (strcmp(kind, "filter") == 0 && tsr_job_setting(job, "layout", NULL));
  if (!job->reading.kmers || job->load || keeps_all || !has_capacity(job)) return TSR_OK;
  const uint64_t possible = tsr_kmers_possible(job->reading.kmers, job->reading.canonical);
  if (!tsr_parse_u64(tsr_job_setting(job, "capacity", ""), &said) || said <= possible) return TSR_OK;
  snprintf(text, sizeof text, "table.capacity=%" PRIu64, possible);
  tsr_status status = tsr_spec_copy(job->spec, &capped, error);
  if (status == TSR_OK) status = tsr_spec_set(capped, text, error);
  if (status) {
    tsr_spec_free(capped);
    return status;
  }
  take_spec(job, capped);
  job->totals.capacity_note = ", as many as there can be k-mers";
  return TSR_OK;
}

/* Makes the spec say what on_full means. Growth that nobody asked for is left away where the parts refuse it, and where a
 * loaded table has its own. */
static tsr_status settle_growth(tsr_job *job, tsr_error *error) {
  const bool is_said = tsr_spec_get(job->spec, "table", "growth") != NULL;
  const bool is_asked = job->on_full != TSR_FULL_AS_SAID;
  const bool grows = job->on_full == TSR_FULL_GROW || !is_asked;
  if (!is_asked && (is_said || job->load)) return TSR_OK;
  if (grows && is_said && may_grow(job)) return TSR_OK;
  if (!grows && !is_said && !job->load) return TSR_OK; /* it is the default, and a filter takes no such line */
  tsr_spec *settled = NULL;
  tsr_status status = tsr_spec_copy(job->spec, &settled, error);
  if (status == TSR_OK) status = tsr_spec_set(settled, grows ? "table.growth=double" : "table.growth=none", error);
  tsr_error why;
  const tsr_status refused = status == TSR_OK ? check(job, settled, &why) : TSR_OK;
  if (refused && is_asked)
    status = tsr_fail(error, refused, "--on-full %s means growth = %s, which this table refuses: %s",
                      grows ? "grow" : "report and stop", grows ? "double" : "none", why.message);
  if (status || refused)
    tsr_spec_free(settled);
  else
    take_spec(job, settled);
  return status;
}

static tsr_status check_value(const tsr_job *job, tsr_error *error) {
  const tsr_dataset_options *reading = &job->reading;
  if (reading->value_rule == TSR_VALUE_NATURAL && !reading->value_column) return TSR_OK;
  if (job->kind.is_index && job->value_bits <= 64)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--value: an index gives its keys their numbers: remove the option");
  if (!job->value_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--value: a %s has no values", tsr_job_setting(job, "kind", "set"));
  if (job->value_bits > 64 && !reading->value_column)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--value: a value of value_bytes is no number: files must have the values");
  if (reading->value_rule == TSR_VALUE_CONSTANT && job->value_bits == 32 && reading->value > UINT32_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--value %" PRIu64 ": does not fit value_bits = 32: choose 64",
                    reading->value);
  return TSR_OK;
}

/* The library would refuse these as well, but after all files that come before were read. */
static tsr_status check_filter(const tsr_job *job, tsr_error *error) {
  const char *asked = job->outputs.pairs ? "--export" : job->outputs.has_histogram ? "--histogram" : NULL;
  if (!job->kind.is_filter) return TSR_OK;
  if (!asked && !job->kind.is_bloom && job->outputs.unplaced) asked = "--unplaced";
  for (size_t i = 0; !asked && job->kind.is_bloom && i < job->step_count; i++)
    if (job->steps[i].verb == TSR_JOB_ERASE) asked = "--erase";
  if (!asked) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "%s: a filter keeps no keys. It takes --insert, --find, --save and --load, and with a layout of "
                  "fingerprints (`tessera list layout`) also --erase: use that, or another kind",
                  asked);
}

/* Refuses a wrong spec before any file is opened, and learns the widths that the files are read with. */
static tsr_status read_spec(tsr_job *job, tsr_error *error) {
  tsr_status status = cap_capacity(job, error);
  if (status == TSR_OK) status = check(job, job->spec, error);
  if (status == TSR_OK) status = settle_growth(job, error);
  if (status == TSR_OK)
    status = tsr_dataset_widths(job->spec, &job->form, &job->reading.key_bits, &job->value_bits, error);
  tsr_reading_use(&job->reading, &job->form);
  if (status) return status;
  job->kind.is_filter = is_setting(job, "kind", "", "filter");
  job->kind.is_bloom = job->kind.is_filter && !tsr_spec_get(job->spec, "table", "layout");
  job->kind.is_index = is_setting(job, "kind", "", "index");
  job->kind.is_multimap = is_setting(job, "kind", "", "multimap");
  job->kind.keeps_all = job->kind.is_multimap || is_setting(job, "kind", "", "multiset");
  const char *duplicates = job->kind.keeps_all ? "" : tsr_job_setting(job, "duplicates", "first");
  if (is_setting(job, "kind", "", "counter") || strcmp(duplicates, "add") == 0 || strcmp(duplicates, "min") == 0 ||
      strcmp(duplicates, "max") == 0 || job->outputs.has_histogram)
    job->reading.signed_values = false;
  const char *const outputs[][2] = {
      {"--out", job->outputs.rows}, {"--unplaced", job->outputs.unplaced}, {"--export", job->outputs.pairs}};
  for (size_t i = 0; status == TSR_OK && i < sizeof outputs / sizeof outputs[0]; i++)
    status = tsr_rows_check_values(outputs[i][0], outputs[i][1], job->value_bits, error);
  if (status == TSR_OK) status = check_filter(job, error);
  if (status) return status;
  if (job->outputs.has_histogram && job->value_bits > 64 && !job->kind.keeps_all)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--histogram: a value of value_bytes counts nothing: use a counter");
  if (job->outputs.has_histogram && job->kind.is_index)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--histogram: an index numbers its keys, and counts nothing: use a counter");
  if (job->outputs.has_histogram && !job->value_bits && !job->kind.keeps_all)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--histogram: in a set each key is there once: use a multiset, or a counter");
  return check_value(job, error);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static tsr_stream_file file_of(const tsr_job *job, const tsr_job_step *step) {
  const bool adds = !job->kind.keeps_all && is_setting(job, "duplicates", "first", "add");
  const bool counts = is_setting(job, "kind", "", "counter");
  const bool is_natural = job->reading.value_rule == TSR_VALUE_NATURAL;
  tsr_stream_file file = {.path = step->path, .options = job->reading, .is_inserted = step->verb == TSR_JOB_INSERT};
  file.options.part = tsr_ranks_part(&job->ranks, (size_t)(step - job->steps));
  if (step->verb == TSR_JOB_FIND &&
      job->outputs.rows) /* one process asks, which writes rows in the order of the file */
    file.options.part = (tsr_part){job->ranks.rank, job->ranks.size, .turn = 0, .stays_whole = true};
  file.options.value_bits = job->value_bits;
  file.options.want_values = file.is_inserted && job->value_bits > 0 && (!job->kind.is_index || job->value_bits > 64);
  if (is_natural && counts) {
    file.options.value_rule = TSR_VALUE_CONSTANT;
    file.options.value = 1;
  } else if (is_natural && adds) {
    file.options.value_rule = TSR_VALUE_NEEDED;
  }
  return file;
}

static tsr_ahead *begin_ahead(const tsr_job *job, uint32_t calls) {
  const tsr_options options = {.plugins = job->plugins, .capacity = has_capacity(job) ? 0 : 1}; /* which no code has */
  return job->load ? NULL : tsr_ahead_begin(job->spec, &options, calls);
}

static void end_ahead(running *r) {
  tsr_ahead_end(r->linking);
  tsr_ahead_end(r->opening);
  r->linking = r->opening = NULL;
}

/* Begins to read, and waits until much or all is read: what is wrong there is told before anything is done, and the size
 * of what is small is known. Meanwhile code is linked. */
static tsr_status open_files(running *r, tsr_error *error) {
  tsr_job *job = r->job;
  bool is_settled = false;
  r->files = calloc(job->step_count + 1, sizeof *r->files);
  if (!r->files) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the names of files");
  for (size_t i = 0; i < job->step_count; i++) r->files[i] = file_of(job, &job->steps[i]);
  tsr_status status = tsr_stream_open(r->files, job->step_count, &r->stream, error);
  if (status == TSR_OK) r->linking = begin_ahead(job, tsr_worker_calls(&r->worker));
  while (status == TSR_OK && !is_settled) status = tsr_stream_settle(r->stream, WAIT_MILLISECONDS, &is_settled, error);
  return tsr_ranks_agree(&job->ranks, status, NULL, error);
}

/* Reads all that is to be inserted, only to count it: for a table that cannot grow. */
static tsr_status count_inputs(running *r, uint64_t *keys, tsr_error *error) {
  tsr_job *job = r->job;
  tsr_stream *stream = NULL;
  tsr_chunk chunk = {.count = 0};
  tsr_progress progress;
  size_t count = 0;
  for (size_t i = 0; i < job->step_count; i++) {
    const tsr_input_facts facts = tsr_stream_describe(r->stream, i);
    if (!r->files[i].is_inserted) continue;
    if (!facts.bytes && !facts.is_others)
      return tsr_fail(
          error, TSR_BAD_SPEC,
          "%s: its size is not known before it is read, and the table has no capacity and does not grow: add "
          "--set table.capacity=N",
          r->files[i].path);
    count++;
  }
  tsr_stream_file *files = calloc(count + 1, sizeof *files);
  if (!files) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the names of files");
  for (size_t i = 0, at = 0; i < job->step_count; i++)
    if (r->files[i].is_inserted) files[at++] = r->files[i];
  tsr_status status = tsr_stream_open(files, count, &stream, error);
  *keys = 0;
  tsr_progress_begin(&progress, "counting the input", "keys", job->is_quiet);
  while (status == TSR_OK && chunk.file < count) {
    status = tsr_stream_next(stream, WAIT_MILLISECONDS, &chunk, error);
    *keys += chunk.count;
    tsr_progress_show(&progress, *keys, 0, 0);
  }
  tsr_progress_end(&progress);
  tsr_stream_close(stream);
  free(files);
  return status;
}

/* ---- Going on -------------------------------------------------------------------------------- */

/* A job that was killed begins with its last checkpoint as its table. */
static tsr_status find_checkpoint(running *r, tsr_error *error) {
  tsr_job *job = r->job;
  const tsr_checkpoint *last = &job->outputs.checkpoint;
  tsr_status status = tsr_checkpoint_seek(&job->outputs.checkpoint, error);
  if (status || !last->path[0]) return status;
  if (last->step >= job->step_count)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: was made in step %" PRIu64
                    " of its job, and this one has %zu: --resume needs the same options",
                    last->path, last->step + 1, job->step_count);
  job->load = last->path;
  r->from_step = last->step;
  r->from_keys = last->keys;
  tsr_say("going on from %s, after %" PRIu64 " keys of %s", last->path, last->keys, job->steps[last->step].path);
  return TSR_OK;
}

/* ---- The table ------------------------------------------------------------------------------- */

static tsr_status find_capacity(running *r, uint64_t *capacity, tsr_error *error) {
  tsr_job *job = r->job;
  bool is_exact;
  tsr_status status = TSR_OK;
  *capacity = tsr_stream_capacity(r->stream, &is_exact);
  if (!is_exact && !may_grow(job)) status = count_inputs(r, capacity, error);
  status = tsr_ranks_agree(&job->ranks, status, &is_exact, error);
  if (status == TSR_OK) status = tsr_ranks_add_up(&job->ranks, 1, capacity, error);
  job->totals.capacity_note =
      is_exact || !may_grow(job) ? ", the size of the input" : ", expected of the input, and it grows";
  for (size_t i = 0; !*capacity && i < job->step_count; i++)
    *capacity = job->steps[i].verb == TSR_JOB_INSERT; /* a table of nothing has room for one */
  if (status == TSR_OK && !*capacity)
    status = tsr_fail(error, TSR_BAD_SPEC,
                      "the spec has no capacity, and nothing is inserted from which to derive it: add --insert FILE or "
                      "--set table.capacity=N");
  return status;
}

static tsr_status compose(running *r, tsr_error *error) {
  tsr_job *job = r->job;
  tsr_options options = {.plugins = job->plugins};
  tsr_table_info info = {0};
  tsr_status status = TSR_OK;
  if (!job->totals.capacity_note) job->totals.capacity_note = "";
  if (job->load) {
    bool was_rehashed = false;
    status = tsr_load_as(job->load, job->spec, job->plugins, &job->table, &was_rehashed, error);
    if (status == TSR_OK && !was_rehashed) job->totals.capacity_note = ", as saved";
  } else {
    if (!has_capacity(job)) status = find_capacity(r, &options.capacity, error);
    if (status == TSR_OK) status = tsr_ranks_table(&job->ranks, job->spec, &options, &job->table, error);
  }
  if (status) return status;
  tsr_table_describe(job->table, &info);
  job->totals.first_capacity = info.capacity;
  return TSR_OK;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* Every pair is in the table or was handed back: the size grows by what was inserted and shrinks by what was erased or
 * given up. */
static tsr_status check_sums(running *running, const tsr_job_step *step, tsr_error *error) {
  const tsr_job *job = running->job;
  const tsr_report *r = &step->report;
  const uint64_t asked = r->insert_keys + r->find_keys + r->erase_keys;
  const uint64_t answered =
      r->inserted + r->not_placed + r->found; /* of a multimap more pairs than keys may be erased */
  const uint64_t before = running->pairs;
  uint64_t after = 0;
  tsr_status status = job->kind.is_filter ? TSR_OK : tsr_size(job->table, &after, error);
  if (status) return status;
  if (asked != step->count || answered > asked)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: the sums do not agree: %" PRIu64 " keys, of which the table counted %" PRIu64 ": %" PRIu64
                    " inserted, %" PRIu64 " not placed, %" PRIu64
                    " found: a part breaks the contract, see `tessera conform`",
                    step->path, step->count, asked, r->inserted, r->not_placed, r->found);
  if (!job->kind.is_filter && after != before + r->inserted - r->erased - r->evicted)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: the sums do not agree: %" PRIu64 " pairs before, %" PRIu64 " inserted, %" PRIu64
                    " erased, and the table holds %" PRIu64
                    ": a part lost pairs or made some, see `tessera conform FILE.so --stress 2^22`",
                    step->path, before, r->inserted, r->erased, after);
  running->pairs = after;
  return TSR_OK;
}

static tsr_status refuse_full(const tsr_job *job, const tsr_job_step *step, tsr_error *error) {
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  return tsr_fail(
      error, TSR_NO_MEMORY,
      "%s: the table's %" PRIu64 " slots are full: %" PRIu64 " of the first %" PRIu64
      " pairs found no room. --on-full stop ends the job, and nothing is written: raise capacity (now %" PRIu64
      "), or use --on-full grow or report",
      step->path, info.slots, step->report.not_placed, step->count, info.capacity);
}

/* The bytes of the keys that are done: some were read ahead. Processes are about equally far. */
static uint64_t bytes_done(const running *r, const tsr_job_step *step) {
  const tsr_input_facts *f = &step->facts;
  const double count = (double)step->count / (r->job->ranks.group ? r->job->ranks.size : 1);
  const double bytes = f->keys ? (double)f->bytes_read * count / (double)f->keys : 0;
  return bytes < (double)f->bytes_read ? (uint64_t)bytes : f->bytes_read;
}

/* The next chunk, however long it takes, and how far its file is. Among several processes it may be an empty one, so that
 * none waits long for another. */
static tsr_status next_chunk(running *r, tsr_job_step *step, tsr_progress *progress, tsr_chunk *chunk,
                             tsr_error *error) {
  tsr_status status = TSR_OK;
  do {
    status = tsr_stream_next(r->stream, WAIT_MILLISECONDS, chunk, error);
    step->facts = tsr_stream_describe(r->stream, (size_t)(step - r->job->steps));
    tsr_progress_show(progress, step->count, bytes_done(r, step), step->facts.bytes);
  } while (status == TSR_OK && !chunk->count && chunk->file < r->job->step_count && !r->job->ranks.group);
  if (!chunk->count && chunk->file < r->job->step_count) chunk->file = (size_t)(step - r->job->steps);
  return status;
}

/* A step under way, as what batches are gathered for. */
typedef struct doing {
  running *run;
  tsr_job_step *step;
} doing;

static tsr_status do_batch(void *context, const tsr_chunk *batch, tsr_error *error) {
  const doing *d = context;
  if (d->step->verb == TSR_JOB_INSERT) tsr_hot_look(&d->run->hot, d->run->job, d->step->path, batch);
  tsr_status status = tsr_worker_do(&d->run->worker, d->step, batch, error);
  if (status == TSR_OK && d->step->report.not_placed && d->run->job->on_full == TSR_FULL_STOP)
    status = refuse_full(d->run->job, d->step, error);
  if (status == TSR_OK)
    tsr_checkpoint_pass(&d->run->job->outputs.checkpoint, d->run->job->table, (uint64_t)(d->step - d->run->job->steps),
                        d->run->skipped + d->step->count);
  return status;
}

/* Takes away from a chunk what the checkpoint has of its step. */
static void skip_done(running *r, size_t index, tsr_chunk *chunk) {
  const uint64_t left = index < r->from_step ? UINT64_MAX : index == r->from_step ? r->from_keys - r->skipped : 0;
  const uint64_t n = left < chunk->count ? left : chunk->count;
  if (!n) return;
  chunk->keys = (const char *)chunk->keys + n * (r->job->reading.key_bits / 8);
  if (chunk->values) chunk->values = (const char *)chunk->values + n * (r->job->value_bits / 8);
  chunk->count -= n;
  r->skipped += n;
}

static tsr_status agree(void *context, bool *waits, tsr_error *error) {
  return tsr_ranks_agree(&((doing *)context)->run->job->ranks, TSR_OK, waits, error);
}

/* All chunks of a step's file, of all processes. Where an insert makes lists anew, its batches double. */
static tsr_status do_chunks(running *r, size_t index, tsr_progress *progress, tsr_chunk *chunk, tsr_error *error) {
  tsr_job *job = r->job;
  doing under_way = {.run = r, .step = &job->steps[index]};
  tsr_gather gather = {.insert = do_batch,
                       .agree = job->ranks.group ? agree : NULL,
                       .context = &under_way,
                       .key_bytes = job->reading.key_bits / 8,
                       .value_bytes = job->value_bits / 8};
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  const bool gathers = info.makes_lists && under_way.step->verb == TSR_JOB_INSERT;
  tsr_status status = index ? TSR_OK : next_chunk(r, under_way.step, progress, chunk, error);
  bool is_done = chunk->file != index;
  status = tsr_ranks_agree(&job->ranks, status, &is_done, error);
  while (status == TSR_OK && !is_done) {
    tsr_chunk own = chunk->file == index ? *chunk : (tsr_chunk){.file = index};
    skip_done(r, index, &own);
    if (own.count || job->ranks.group)
      status = gathers ? tsr_gather_add(&gather, &own, error) : do_batch(&under_way, &own, error);
    if (status == TSR_OK && chunk->file == index) status = next_chunk(r, under_way.step, progress, chunk, error);
    is_done = chunk->file != index;
    status = tsr_ranks_agree(&job->ranks, status, &is_done, error);
  }
  if (status == TSR_OK && gathers) status = tsr_gather_finish(&gather, error);
  tsr_gather_free(&gather);
  if (status == TSR_OK && index == r->from_step && r->skipped < r->from_keys)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: has %" PRIu64 " keys, and %s was made after %" PRIu64
                      ": --resume needs the files that the killed job had",
                      under_way.step->path, r->skipped, job->outputs.checkpoint.path, r->from_keys);
  return status;
}

/* *chunk is the step's first one, and then the next step's. */
static tsr_status run_step(running *r, size_t index, tsr_chunk *chunk, tsr_error *error) {
  static const char *const doing[TSR_JOB_VERBS] = {"inserting", "finding", "erasing"};
  tsr_job *job = r->job;
  tsr_job_step *step = &job->steps[index];
  tsr_progress progress;
  tsr_status status = TSR_OK;
  if (!job->is_quiet) tsr_say("reading %s", step->path);
  tsr_progress_begin(&progress, doing[step->verb], "keys", job->is_quiet);
  r->skipped = 0;
  status = do_chunks(r, index, &progress, chunk, error);
  tsr_progress_end(&progress);
  step->facts = tsr_stream_describe(r->stream, index);
  if (status == TSR_OK)
    status = tsr_ranks_add_facts(&job->ranks, step->path, &r->files[index].options, &step->facts, error);
  if (status) return status;
  tsr_report_step(job, step);
  if (!job->ranks.rank) tsr_say_what_was_read(step->path, &job->reading, &step->facts, job->is_quiet);
  if (!job->ranks.rank && step->report.not_placed) tsr_say_not_placed(job, step);
  if (!job->ranks.rank && step->report.overflows && !tsr_bits_of_stop(job->table)) tsr_say_overflows(job, step);
  job->totals.unplaced += step->report.not_placed;
  job->totals.overflows += step->report.overflows;
  return check_sums(r, step, error);
}

static tsr_status run_steps(running *r, tsr_error *error) {
  tsr_chunk chunk = {.count = 0};
  tsr_status status = TSR_OK;
  tsr_checkpoint_begin(&r->job->outputs.checkpoint);
  if (r->job->load && !r->job->kind.is_filter) status = tsr_size(r->job->table, &r->pairs, error);
  for (size_t i = 0; status == TSR_OK && i < r->job->step_count; i++) status = run_step(r, i, &chunk, error);
  return status;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static bool is_standard(const char *path) { return path && strcmp(path, "-") == 0; }

/* Where the report goes: to nobody if it is not wanted. */
static tsr_status open_report(tsr_job *job, tsr_error *error) {
  const bool is_taken = job->outputs.has_histogram || is_standard(job->outputs.rows) ||
                        is_standard(job->outputs.json) || is_standard(job->outputs.unplaced) ||
                        is_standard(job->outputs.pairs);
  job->report = job->is_quiet ? fopen("/dev/null", "w") : is_taken ? stderr : stdout;
  return job->report ? TSR_OK : tsr_fail(error, TSR_IO, "--quiet: /dev/null cannot be written");
}

/* The columns are called as in the first file that names them. */
static void take_names(running *r) {
  tsr_column_names *names = &r->job->names;
  for (size_t i = 0; i < r->job->step_count; i++) {
    const tsr_input_facts facts = tsr_stream_describe(r->stream, i);
    if (!*names->key) memcpy(names->key, facts.names.key, sizeof names->key);
    if (!*names->value) memcpy(names->value, facts.names.value, sizeof names->value);
  }
}

/* The rows of a find have a value or none; of a set or multiset they are pairs of a key and a number. */
static tsr_status open_rows(running *r, tsr_error *error) {
  static const uint8_t is_query = 1;
  const tsr_job *job = r->job;
  tsr_rows pairs = {.key_bits = job->reading.key_bits,
                    .value_bits = job->value_bits,
                    .form = &job->form,
                    .signed_keys = job->reading.signed_keys,
                    .signed_values = job->reading.signed_values};
  take_names(r);
  pairs.names[0] = job->names.key;
  pairs.names[1] = job->names.value;
  tsr_rows values = pairs, numbers = pairs;
  values.found = &is_query;
  numbers.value_bits = 64;
  numbers.signed_values = false;
  numbers.names[1] = "";
  tsr_status status = TSR_OK;
  if (job->outputs.rows && !job->ranks.rank)
    status = tsr_rows_open(job->outputs.rows, job->value_bits ? &values : &numbers, &r->worker.out, error);
  if (status == TSR_OK && job->outputs.unplaced)
    status = tsr_rows_open(job->outputs.unplaced, &pairs, &r->worker.unplaced, error);
  return status;
}

static tsr_status close_rows(running *r, tsr_status former, tsr_error *error) {
  tsr_error why;
  tsr_row_writer *writers[] = {r->worker.out, r->worker.unplaced};
  for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
    tsr_status status = tsr_rows_close(writers[i], former == TSR_OK, &why);
    if (!status) continue;
    former = status;
    *error = why;
  }
  return former;
}

static tsr_status put_pairs(tsr_job *job, tsr_error *error) {
  const bool stopped = job->totals.overflows && tsr_bits_of_stop(job->table);
  tsr_pairs pairs = {.count = 0};
  if (!job->outputs.pairs && !job->outputs.has_histogram) {
    if (stopped) tsr_say_stopped("", job->table, NULL);
    return TSR_OK;
  }
  tsr_status status = tsr_pairs_export(job->table, &pairs, error);
  if (status || job->ranks.rank) {
    tsr_pairs_free(&pairs);
    return status;
  }
  const uint32_t bits = tsr_bits_of_stop(job->table);
  const bool may_have =
      bits && (job->load || bits < 32); /* stopped before, or by one value that is larger than a count */
  if (status == TSR_OK && (stopped || may_have)) tsr_say_stopped("", job->table, &pairs);
  pairs.signed_keys = job->reading.signed_keys;
  pairs.form = &job->form;
  pairs.signed_values = job->reading.signed_values;
  pairs.names = &job->names;
  if (status == TSR_OK && job->outputs.is_sorted) status = tsr_pairs_sort(&pairs, error);
  if (status == TSR_OK && job->outputs.pairs) status = tsr_pairs_write(&pairs, 0, job->outputs.pairs, error);
  if (status == TSR_OK && job->outputs.pairs)
    fprintf(job->report, "export   %s\n         %" PRIu64 " pairs\n", job->outputs.pairs, pairs.count);
  if (status == TSR_OK && job->outputs.has_histogram) status = tsr_pairs_histogram(&pairs, !job->kind.keeps_all, error);
  tsr_pairs_free(&pairs);
  return status;
}

static tsr_status flush(const tsr_job *job, tsr_error *error) {
  uint64_t units;
  tsr_status status = tsr_flush(job->table, &units, error);
  if (status == TSR_OK) fprintf(job->report, "flush    %" PRIu64 " units given back\n", units);
  return status;
}

static void show_saving(void *progress, uint64_t done_bytes, uint64_t whole_bytes) {
  tsr_progress_show(progress, done_bytes, done_bytes, whole_bytes);
}

static tsr_status save(const tsr_job *job, tsr_error *error) {
  tsr_progress progress;
  if (!job->outputs.save) return TSR_OK;
  if (!job->is_quiet) tsr_say("saving %s", job->outputs.save);
  tsr_progress_begin(&progress, "saving", "bytes", job->is_quiet);
  tsr_status status = tsr_table_save_watched(job->table, job->outputs.save, show_saving, &progress, error);
  tsr_progress_end(&progress);
  return status;
}

/* ---- The job --------------------------------------------------------------------------------- */

/* Of the shards of all processes. */
static tsr_status find_usage(tsr_job *job, tsr_error *error) {
  tsr_usage *usage = &job->totals.usage;
  tsr_status status = tsr_table_usage(job->table, usage, error);
  uint64_t sums[] = {usage->pairs, usage->tombstones, usage->units, usage->slots};
  if (status == TSR_OK) status = tsr_ranks_add_up(&job->ranks, 4, sums, error);
  usage->pairs = sums[0];
  usage->tombstones = sums[1];
  usage->units = sums[2];
  usage->slots = sums[3];
  return status;
}

static tsr_status run(running *r, tsr_error *error) {
  tsr_job *job = r->job;
  tsr_status status = open_report(job, error);
  if (status == TSR_OK) status = find_checkpoint(r, error);
  if (status == TSR_OK) r->opening = begin_ahead(job, 0);
  if (status == TSR_OK) status = read_spec(job, error);
  if (status == TSR_OK) status = open_files(r, error);
  if (status == TSR_OK) status = compose(r, error);
  end_ahead(r);
  if (status == TSR_OK) {
    tsr_report_composition(job);
    status = tsr_worker_warm_up(&r->worker, error);
  }
  if (status == TSR_OK) status = tsr_ranks_agree(&job->ranks, open_rows(r, error), NULL, error);
  if (status == TSR_OK) status = run_steps(r, error);
  if (status == TSR_OK && job->outputs.flushes) status = flush(job, error);
  if (status == TSR_OK && !job->kind.is_filter) status = find_usage(job, error);
  if (status == TSR_OK) status = tsr_report_size(job, error);
  if (status == TSR_OK) status = save(job, error);
  if (status == TSR_OK) tsr_checkpoint_end(&job->outputs.checkpoint, job->is_quiet);
  status = tsr_ranks_agree(&job->ranks, close_rows(r, status, error), NULL, error);
  return status == TSR_OK ? put_pairs(job, error) : status;
}

/* A context with one queue to the device is made and given back in half the time, and a job that has one stream needs no
 * more. The driver asks when it is initialised; what the caller has set stands. */
static void want_one_queue(const tsr_job *job) {
  if (is_setting(job, "device_bytes", "0", "0") && !tsr_job_setting(job, "devices", NULL))
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0);
}

tsr_exit tsr_job_run(tsr_job *job) {
  tsr_error error;
  running r = {.job = job, .worker = {.job = job}};
  want_one_queue(job);
  tsr_status status = run(&r, &error);
  tsr_checkpoint_leave(&job->outputs.checkpoint);
  const tsr_exit failed =
      status ? tsr_ranks_say_error(&job->ranks, status, &error) : TSR_EXIT_OK; /* before anything is waited for */
  end_ahead(&r);
  tsr_worker_free(&r.worker);
  tsr_stream_close(r.stream);
  free(r.files);
  if (status) return failed;
  const bool is_wrong = job->totals.overflows && !tsr_bits_of_stop(job->table);
  return job->totals.unplaced || is_wrong ? TSR_EXIT_UNPLACED : TSR_EXIT_OK;
}

void tsr_job_free(tsr_job *job) {
  if (job->is_quiet && job->report) fclose(job->report);
  tsr_table_destroy(job->table);
  tsr_spec_free(job->own_spec);
  job->table = NULL;
}
