/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera count: how often each k-mer occurs in sequence files. A map k-mer -> count whose duplicates are added up gets
 * the k-mers in batches, while a thread reads on. Memory holds the table and a few chunks of k-mers, and in the end all
 * pairs once more. Read next: kmer_stream.h.
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/command.h"
#include "core/cli/kmer_stream.h"
#include "core/cli/outputs.h"
#include "core/cli/places.h"
#include "core/cli/progress.h"
#include "core/spec/file.h"
#include "core/spec/number.h"
#include "core/tessera_tools.h"

enum { LETTERS_MAX = 32, WAIT_MILLISECONDS = 200 };
static const uint64_t first_capacity_max = UINT64_C(1) << 26; /* what the table has before it grows */

typedef struct pair {
  uint64_t key, count;
} pair;

typedef struct count_job {
  const tsr_arguments *arguments;
  const char *out;
  uint64_t letters, least;
  bool has_histogram, is_sorted, is_quiet;
  tsr_dataset_options options;
  tsr_kmer_stream *stream;
  tsr_table *table;
  uint64_t distinct;
  tsr_kmer_facts facts;
  double seconds;
} count_job;

/* ---- Ctrl-C ---------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_stopped;

static void stop(int number) { is_stopped = number; }

/* Once: a second Ctrl-C ends the process. */
static void watch_signals(void) {
  struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
  sigaction(SIGINT, &action, NULL);
}

/* ---- Counting -------------------------------------------------------------------------------- */

/* The k-mers that can exist; of canonical ones half, and those that are their own reverse complement. */
static uint64_t kmers_possible(const count_job *job) {
  uint64_t all = job->letters < LETTERS_MAX ? UINT64_C(1) << (2 * job->letters) : UINT64_MAX;
  if (!job->options.canonical) return all;
  return all / 2 + (job->letters % 2 == 0 ? UINT64_C(1) << (job->letters - 1) : 0);
}

static tsr_status make_table(count_job *job, tsr_error *error) {
  const char *given = tsr_arguments_value(job->arguments, "--spec");
  char path[TSR_PLACE_BYTES], key_bits[32];
  tsr_spec *spec = NULL;
  tsr_status status = given ? TSR_OK : tsr_place_specs(path, error);
  if (status == TSR_OK && !given && !tsr_place_join(path, "count.ini", path))
    status = tsr_fail(error, TSR_NOT_FOUND, "%s: is too long a path", path);
  if (status == TSR_OK) status = tsr_arguments_spec(job->arguments, given ? given : path, &spec, error);
  if (status) return status;
  snprintf(key_bits, sizeof key_bits, "table.key_bits=%u", job->options.key_bits);
  status = tsr_spec_set(spec, key_bits, error);
  const char *duplicates = tsr_spec_get(spec, "table", "duplicates");
  if (status == TSR_OK && (!duplicates || strcmp(duplicates, "add") != 0))
    status = tsr_fail(error, TSR_BAD_SPEC, "[table] duplicates = %s: counting needs duplicates = add",
                      duplicates ? duplicates : "first");
  if (status == TSR_OK && strcmp(tsr_spec_get(spec, "table", "value_bits"), "64") != 0)
    status = tsr_fail(error, TSR_BAD_SPEC, "[table] value_bits = %s: counts have 64 bits, so that none is too large",
                      tsr_spec_get(spec, "table", "value_bits"));
  tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins")};
  if (!tsr_spec_get(spec, "table", "capacity")) {
    const uint64_t estimate = tsr_kmer_stream_estimate(job->stream), possible = kmers_possible(job);
    options.capacity = estimate && estimate < first_capacity_max ? estimate : first_capacity_max;
    if (possible < options.capacity) options.capacity = possible;
  }
  if (status == TSR_OK) status = tsr_table_create(spec, &options, &job->table, error);
  tsr_spec_free(spec);
  return status;
}

static tsr_status check_placed(const count_job *job, tsr_error *error) {
  tsr_report report = {.size = 0};
  tsr_status status = tsr_table_report(job->table, &report, error);
  if (status == TSR_OK && report.not_placed)
    status = tsr_fail(error, TSR_NO_MEMORY,
                      "%" PRIu64 " k-mers found no room in the table, so that counts would be wrong: raise it by --set "
                      "table.capacity=N, or let it grow by growth = double",
                      report.not_placed);
  return status;
}

static tsr_status count_all(count_job *job, tsr_error *error) {
  tsr_progress progress;
  const void *keys = NULL;
  uint64_t n = 0;
  tsr_status status = TSR_OK;
  uint64_t *ones = malloc(TSR_CHUNK_KMERS * sizeof *ones);
  if (!ones) return tsr_fail(error, TSR_NO_MEMORY, "no memory to count");
  for (size_t i = 0; i < TSR_CHUNK_KMERS; i++) ones[i] = 1;
  tsr_progress_begin(&progress, "counting", "k-mers", job->is_quiet);
  uint64_t done = 0;
  bool has_more = true;
  while (status == TSR_OK && has_more && !is_stopped) {
    status = tsr_kmer_stream_next(job->stream, WAIT_MILLISECONDS, &keys, &n, error);
    if (status == TSR_OK && n) status = tsr_insert(job->table, n, keys, ones, NULL, error);
    if (status == TSR_OK) status = check_placed(job, error);
    has_more = !keys || n;
    done += n;
    job->facts = tsr_kmer_stream_describe(job->stream);
    tsr_progress_show(&progress, done, job->facts.bytes_read, job->facts.bytes);
  }
  job->seconds = tsr_progress_end(&progress);
  free(ones);
  if (status == TSR_OK && is_stopped)
    status = tsr_fail(error, TSR_IO,
                      "stopped: %" PRIu64 " k-mers were counted, %" PRIu64 " bytes of the input read; nothing is "
                      "written",
                      done, job->facts.bytes_read);
  return status == TSR_OK ? tsr_size(job->table, &job->distinct, error) : status;
}

/* ---- What was counted ------------------------------------------------------------------------ */

static int by_number(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

static int by_key(const void *left, const void *right) {
  return by_number(&((const pair *)left)->key, &((const pair *)right)->key);
}

/* "count number" a line; sorts the counts. */
static void print_histogram(uint64_t *counts, uint64_t n, uint64_t least) {
  qsort(counts, n, sizeof *counts, by_number);
  for (uint64_t i = 0, next; i < n; i = next) {
    next = i + 1;
    while (next < n && counts[next] == counts[i]) next++;
    if (counts[i] >= least) printf("%" PRIu64 " %" PRIu64 "\n", counts[i], next - i);
  }
}

typedef struct line_writer {
  tsr_file file;
  int failure;
  size_t used;
  char bytes[1 << 16];
} line_writer;

static void flush_lines(line_writer *w) {
  if (!w->failure) w->failure = tsr_file_write(&w->file, w->bytes, w->used);
  w->used = 0;
}

/* The letters of a k-mer, a tab, its count. */
static void add_line(line_writer *w, uint64_t letters, uint64_t key, uint64_t count) {
  enum { LINE_BYTES = LETTERS_MAX + 24 };
  if (w->used + LINE_BYTES > sizeof w->bytes) flush_lines(w);
  for (uint64_t at = letters; at-- > 0;) w->bytes[w->used++] = "ACGT"[key >> (2 * at) & 3];
  w->used += (size_t)snprintf(w->bytes + w->used, 24, "\t%" PRIu64 "\n", count);
}

static void add_lines(const count_job *job, const void *keys, const uint64_t *counts, line_writer *w) {
  for (uint64_t i = 0; i < job->distinct && !w->failure; i++)
    if (counts[i] >= job->least) add_line(w, job->letters, tsr_number_at(keys, job->options.key_bits, i), counts[i]);
}

static bool add_sorted_lines(const count_job *job, const void *keys, const uint64_t *counts, line_writer *w) {
  pair *pairs = malloc((job->distinct + 1) * sizeof *pairs);
  if (!pairs) return false;
  for (uint64_t i = 0; i < job->distinct; i++)
    pairs[i] = (pair){tsr_number_at(keys, job->options.key_bits, i), counts[i]};
  qsort(pairs, job->distinct, sizeof *pairs, by_key);
  for (uint64_t i = 0; i < job->distinct && !w->failure; i++)
    if (pairs[i].count >= job->least) add_line(w, job->letters, pairs[i].key, pairs[i].count);
  free(pairs);
  return true;
}

static tsr_status write_counts(const count_job *job, const void *keys, const uint64_t *counts, tsr_error *error) {
  line_writer *w = calloc(1, sizeof *w);
  if (!w) return tsr_fail(error, TSR_NO_MEMORY, "--out %s: no memory to write it", job->out);
  int failure = tsr_file_begin_output(&w->file, job->out);
  if (!failure) {
    if (!job->is_sorted)
      add_lines(job, keys, counts, w);
    else if (!add_sorted_lines(job, keys, counts, w))
      w->failure = ENOMEM;
    flush_lines(w);
    failure = tsr_file_end(&w->file, w->failure);
  }
  free(w);
  if (!failure) return TSR_OK;
  return tsr_fail(error, failure == ENOMEM ? TSR_NO_MEMORY : TSR_IO, "--out %s: cannot be written: %s", job->out,
                  strerror(failure));
}

static tsr_status put_out(const count_job *job, tsr_error *error) {
  uint64_t size = 0, *counts = malloc((job->distinct + 1) * sizeof *counts);
  void *keys = malloc((job->distinct + 1) * (job->options.key_bits / 8));
  tsr_status status = counts && keys
                          ? tsr_export(job->table, job->distinct, keys, counts, &size, error)
                          : tsr_fail(error, TSR_NO_MEMORY, "no memory for %" PRIu64 " counts", job->distinct);
  if (status == TSR_OK && job->out) status = write_counts(job, keys, counts, error);
  if (status == TSR_OK && job->has_histogram) print_histogram(counts, size, job->least);
  free(keys);
  free(counts);
  return status;
}

static void say_counted(const count_job *job) {
  const tsr_kmer_facts *f = &job->facts;
  if (job->is_quiet) return;
  tsr_say("%" PRIu64 " record%s, %" PRIu64 " letters: %" PRIu64 " %" PRIu64 "-mers, %" PRIu64
          " skipped for other letters than ACGT; %" PRIu64 " distinct; %.1f s",
          f->sequences.records, f->sequences.records == 1 ? "" : "s", f->sequences.bases, f->kmers, job->letters,
          f->sequences.kmers_skipped, job->distinct, job->seconds);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const tsr_option options[] = {
    {"--kmers", "K", false, "Letters of a k-mer, 1 to 32."},
    {"--canonical", NULL, false, "Counts a k-mer and its reverse complement as one, the smaller."},
    {"--histogram", NULL, false,
     "Prints lines `count number`: so many k-mers occur so often. What it does without --out."},
    {"--out", "FILE", false, "Where the k-mers and their counts go, a line each; '-' is standard output."},
    {"--sorted", NULL, false, "Sorts these lines by the k-mers' letters; else they have no order."},
    {"--min", "N", false, "Leaves k-mers that occur less often out of both."},
    {"--spec", "FILE", false,
     "What table counts, instead of specs/count.ini; its capacity is where it begins to grow."},
    {"--quiet", NULL, false, "Says nothing but errors."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

static tsr_exit read_arguments(const tsr_arguments *arguments, count_job *job) {
  const char *kmers = tsr_arguments_value(arguments, "--kmers"), *least = tsr_arguments_value(arguments, "--min");
  job->arguments = arguments;
  job->out = tsr_arguments_value(arguments, "--out");
  job->has_histogram = tsr_arguments_has(arguments, "--histogram") || !job->out;
  job->is_sorted = tsr_arguments_has(arguments, "--sorted");
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  job->least = 1;
  if (!kmers) return tsr_say_usage("count needs --kmers K, the letters of a k-mer");
  if (!tsr_parse_u64(kmers, &job->letters) || job->letters < 1 || job->letters > LETTERS_MAX)
    return tsr_say_usage("--kmers %s: must be a whole number from 1 to %d", kmers, LETTERS_MAX);
  if (least && !tsr_parse_u64(least, &job->least)) return tsr_say_usage("--min %s: must be a whole number", least);
  if (job->is_sorted && !job->out) return tsr_say_usage("--sorted is about the lines of --out: give --out FILE");
  if (job->has_histogram && job->out && strcmp(job->out, "-") == 0)
    return tsr_say_usage("--histogram and --out -: both would go to standard output: give --out a file");
  job->options = (tsr_dataset_options){.key_bits = job->letters <= 16 ? 32 : 64,
                                       .kmers = (uint32_t)job->letters,
                                       .canonical = tsr_arguments_has(arguments, "--canonical")};
  return TSR_EXIT_OK;
}

/* Before anything is read: --out replaces none of the inputs. */
static tsr_status check_out(const count_job *job, tsr_error *error) {
  const tsr_arguments *arguments = job->arguments;
  const size_t count = arguments->operand_count;
  const tsr_named_path out = {"--out", job->out};
  tsr_named_path *inputs = calloc(count + 1, sizeof *inputs);
  if (!inputs) return tsr_fail(error, TSR_NO_MEMORY, "count: no memory for the names of %zu files", count);
  for (size_t i = 0; i < count; i++) inputs[i] = (tsr_named_path){"FILE", arguments->operands[i]};
  inputs[count] = (tsr_named_path){"--spec", tsr_arguments_value(arguments, "--spec")};
  tsr_status status = tsr_outputs_check(&out, 1, inputs, count + 1, error);
  free(inputs);
  return status;
}

static tsr_exit run_count(const tsr_arguments *arguments) {
  count_job job = {.stream = NULL};
  tsr_error error;
  tsr_exit failed = read_arguments(arguments, &job);
  if (failed) return failed;
  watch_signals();
  tsr_status status = check_out(&job, &error);
  if (status == TSR_OK)
    status = tsr_kmer_stream_open(arguments->operands, arguments->operand_count, &job.options, &job.stream, &error);
  if (status == TSR_OK) status = make_table(&job, &error);
  if (status == TSR_OK) status = count_all(&job, &error);
  tsr_kmer_stream_close(job.stream);
  if (status == TSR_OK) {
    say_counted(&job);
    status = put_out(&job, &error);
  }
  tsr_table_destroy(job.table);
  return status == TSR_OK ? TSR_EXIT_OK : tsr_say_error(status, &error);
}

const tsr_command tsr_count_command = {
    {"count", "FILE...", "Counts how often each k-mer occurs in FASTA and FASTQ files.", options}, run_count};
