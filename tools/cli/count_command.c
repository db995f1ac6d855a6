/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera count: how often each k-mer occurs in sequence files, which a thread reads meanwhile. On a GPU, for a group of
 * processes or with a spec, a table gets the k-mers in batches; memory holds it, and for --out all pairs once more. A GPU
 * makes the k-mers of letters itself, and the histogram. Otherwise the k-mers are counted in bins by all cores. Read next:
 * stream.h, kmer_counter.h, kmer_kernel.h, tally.h, pairs.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "core/tessera_tools.h"
#include "tools/cli/advice.h"
#include "tools/cli/command.h"
#include "tools/cli/kmer_counter.h"
#include "tools/cli/kmer_kernel.h"
#include "tools/cli/pairs.h"
#include "tools/cli/progress.h"
#include "tools/cli/ranks.h"
#include "tools/cli/reading.h"
#include "tools/cli/stream.h"
#include "tools/lab/outputs.h"

enum { LETTERS_MAX = 64, WAIT_MILLISECONDS = 200, SUPERMERS_LIMIT = 1 << 30 };

typedef struct counted {
  uint64_t distinct, overflows; /* keys; additions past the largest count */
  tsr_input_facts facts;
  double seconds;
  bool is_tallied; /* the histogram alone is wanted, and there are no pairs */
  tsr_tally tally;
} counted;

typedef struct count_job {
  const tsr_arguments *arguments;
  const char *out;
  uint64_t letters, least;
  bool has_histogram, is_sorted, is_quiet;
  tsr_dataset_options options;
  tsr_spec *spec;
  tsr_stream_file *files; /* file_count */
  tsr_input_facts *read;  /* of each, in the end */
  size_t file_count;
  tsr_stream *stream;
  tsr_ranks ranks;
  bool has_table; /* otherwise the counter counts */
  tsr_table *table;
  tsr_kmer_kernel *kernel;
  tsr_kmer_counter *counter;
  tsr_pairs pairs; /* in the end */
  counted counted;
} count_job;

/* ---- Counting -------------------------------------------------------------------------------- */

static uint32_t key_bits_of(uint64_t letters) { return letters <= 16 ? 32 : letters <= 32 ? 64 : 128; }

/* Whether the command line says more of a table than its backend. */
static bool asks_for_table(const count_job *job) {
  bool is_set = job->ranks.group || tsr_arguments_has(job->arguments, "--spec");
  for (size_t i = 0; i < job->arguments->given_count; i++) {
    const tsr_given *given = &job->arguments->given[i];
    is_set = is_set || (strcmp(given->name, "--set") == 0 && strncmp(given->value, "table.backend=", 14) != 0);
  }
  return is_set;
}

/* A table counts on a GPU, for a group, and where the command line asks for one. */
static bool needs_table(const count_job *job) {
  tsr_device_info device = {.size = sizeof device};
  const char *backend = tsr_spec_get(job->spec, "table", "backend");
  const bool is_asked = asks_for_table(job);
  if (is_asked || (backend && strcmp(backend, "cpu") == 0)) return is_asked;
  return (backend && strcmp(backend, "cuda") == 0) || tsr_device_describe(0, &device, NULL) == TSR_OK;
}

/* The k-mers of a table that is asked for are made on its GPU, if it is one GPU that holds all of it. */
static bool needs_kernel(const count_job *job) {
  static const char *const elsewhere[] = {"devices", "device_bytes"};
  tsr_device_info device = {.size = sizeof device};
  const char *backend = tsr_spec_get(job->spec, "table", "backend");
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
    if (tsr_spec_get(job->spec, "table", elsewhere[i])) return false;
  return !job->ranks.group && !(backend && strcmp(backend, "cpu") == 0) &&
         tsr_device_describe(0, &device, NULL) == TSR_OK;
}

/* Refuses a wrong spec before any file is opened. */
static tsr_status read_spec(count_job *job, tsr_error *error) {
  char key_bits[32];
  const char *const recipe = job->letters > 32 ? "wide_keys_count" : "count";
  tsr_status status = tsr_arguments_recipe(job->arguments, recipe, &job->spec, error);
  if (status) return status;
  snprintf(key_bits, sizeof key_bits, "table.key_bits=%u", key_bits_of(job->letters));
  status = tsr_spec_set(job->spec, key_bits, error);
  const char *kind = tsr_spec_get(job->spec, "table", "kind");
  if (status == TSR_OK && (!kind || strcmp(kind, "counter") != 0))
    status = tsr_fail(error, TSR_BAD_SPEC, "[table] kind = %s: counting needs kind = counter", kind ? kind : "");
  return status;
}

static tsr_status make_kernel(count_job *job, tsr_error *error) {
  const char *why;
  const tsr_status status = tsr_kmer_kernel_new(job->table, (uint32_t)job->letters, job->options.canonical,
                                                TSR_CHUNK_LETTERS, &job->kernel, error);
  if (status == TSR_OK && !tsr_kmer_kernel_is_on_device(job->kernel, &why) && !job->is_quiet)
    tsr_say("one core makes the k-mers, as the GPU cannot: %s", why);
  return status;
}

/* No table needs more room than there can be k-mers, whatever its spec says. */
static tsr_status make_table(count_job *job, tsr_error *error) {
  if (!job->has_table)
    return tsr_kmer_counter_new((uint32_t)job->letters, job->options.canonical, SUPERMERS_LIMIT, &job->counter, error);
  const uint64_t possible = tsr_kmers_possible(job->options.kmers, job->options.canonical);
  const char *said = tsr_spec_get(job->spec, "table", "capacity");
  char capacity[48];
  uint64_t wanted;
  tsr_status status = TSR_OK;
  tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins")};
  if (!said) {
    bool is_exact;
    wanted = tsr_stream_capacity(job->stream, &is_exact);
    status = tsr_ranks_add_up(&job->ranks, 1, &wanted, error);
    options.capacity = wanted > possible ? possible : wanted ? wanted : 1;
  } else if (tsr_parse_u64(said, &wanted) && wanted > possible) {
    if (!job->is_quiet)
      tsr_say("capacity = %s: only %" PRIu64 " %" PRIu64 "-mers can exist, and the table has room for these", said,
              possible, job->letters);
    snprintf(capacity, sizeof capacity, "table.capacity=%" PRIu64, possible);
    status = tsr_spec_set(job->spec, capacity, error);
  }
  if (status == TSR_OK) status = tsr_ranks_table(&job->ranks, job->spec, &options, &job->table, error);
  return status == TSR_OK && job->options.key_bits == TSR_LETTER_BITS ? make_kernel(job, error) : status;
}

/* Of all processes together, which have inserted what each has read. */
static tsr_status check_report(count_job *job, tsr_error *error) {
  char advice[TSR_FULL_ADVICE_BYTES];
  tsr_report report = {.size = 0};
  tsr_status status = tsr_table_report(job->table, &report, error);
  uint64_t sums[] = {report.overflows, report.not_placed};
  if (status == TSR_OK) status = tsr_ranks_add_up(&job->ranks, 2, sums, error);
  job->counted.overflows = sums[0];
  if (status == TSR_OK && sums[1])
    status = tsr_fail(error, TSR_NO_MEMORY,
                      "%" PRIu64 " k-mers found no room in the table, so that counts would be wrong: %s", sums[1],
                      tsr_advice_when_full(job->table, "let it grow: --set table.growth=double", advice));
  return status;
}

static void add_facts(tsr_input_facts *sum, const tsr_input_facts *f) {
  sum->keys += f->keys;
  sum->bytes += f->bytes;
  sum->bytes_read += f->bytes_read;
  sum->sequences.records += f->sequences.records;
  sum->sequences.bases += f->sequences.bases;
  sum->sequences.kmers_skipped += f->sequences.kmers_skipped;
}

/* How far this process is. */
static void show_progress(const count_job *job, tsr_progress *progress, uint64_t done) {
  tsr_input_facts sum = {.keys = 0};
  bool is_known = true;
  for (size_t i = 0; i < job->file_count; i++) {
    const tsr_input_facts f = tsr_stream_describe(job->stream, i);
    is_known = is_known && (f.bytes || f.is_others);
    add_facts(&sum, &f);
  }
  tsr_progress_show(progress, done, sum.bytes_read, is_known ? sum.bytes : 0);
}

/* What all processes have read of each file, and of all together. */
static tsr_status sum_facts(count_job *job, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->file_count; i++) {
    job->read[i] = tsr_stream_describe(job->stream, i);
    status = tsr_ranks_add_facts(&job->ranks, job->files[i].path, &job->options, &job->read[i], error);
    add_facts(&job->counted.facts, &job->read[i]);
  }
  return status;
}

/* Begins to read. Meanwhile the GPU's driver starts, if one is looked for. A table waits until much or all is read, because its
 * capacity depends on that. */
static tsr_status open_files(count_job *job, tsr_error *error) {
  bool is_settled = false;
  job->file_count = job->arguments->operand_count;
  job->files = calloc(job->file_count, sizeof *job->files);
  job->read = calloc(job->file_count, sizeof *job->read);
  if (!job->files || !job->read) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the names of files");
  if (!asks_for_table(job) || needs_kernel(job)) job->options.key_bits = TSR_LETTER_BITS;
  for (size_t i = 0; i < job->file_count; i++) {
    job->files[i] = (tsr_stream_file){job->arguments->operands[i], job->options, true};
    job->files[i].options.part = tsr_ranks_part(&job->ranks, i);
  }
  tsr_status status = tsr_stream_open(job->files, job->file_count, &job->stream, error);
  job->has_table = status == TSR_OK && needs_table(job);
  while (status == TSR_OK && job->has_table && !is_settled)
    status = tsr_stream_settle(job->stream, WAIT_MILLISECONDS, &is_settled, error);
  return status;
}

static tsr_status count_chunk(count_job *job, const tsr_chunk *chunk, tsr_error *error) {
  const bool has_turn = chunk->count || job->ranks.group; /* all have, while one reads */
  if (!has_turn) return TSR_OK;
  if (!job->has_table) return tsr_kmer_counter_add(job->counter, chunk->keys, chunk->count, error);
  const tsr_status status = job->kernel ? tsr_kmer_kernel_add(job->kernel, chunk->keys, chunk->count, error)
                                        : tsr_insert(job->table, chunk->count, chunk->keys, NULL, NULL, error);
  return status == TSR_OK ? check_report(job, error) : status;
}

/* letters: that were read. */
static tsr_status take_result(count_job *job, uint64_t letters, tsr_error *error) {
  const char *useless;
  if (job->has_table) {
    const bool is_on_device = job->kernel && tsr_kmer_kernel_is_on_device(job->kernel, &useless);
    if (is_on_device && !job->out && !job->counted.overflows)
      job->counted.is_tallied = tsr_kmer_kernel_tally(job->kernel, letters, &job->counted.tally, error) == TSR_OK;
    return tsr_size(job->table, &job->counted.distinct, error);
  }
  if (!job->out) {
    job->counted.is_tallied = true;
    const tsr_status status = tsr_kmer_counter_tally(job->counter, &job->counted.tally, error);
    job->counted.distinct = tsr_tally_count(&job->counted.tally);
    return status;
  }
  const tsr_status status = tsr_kmer_counter_take(job->counter, key_bits_of(job->letters), &job->pairs, error);
  job->counted.distinct = job->pairs.count;
  return status;
}

static tsr_status count_all(count_job *job, tsr_error *error) {
  tsr_progress progress;
  tsr_chunk chunk = {.count = 0};
  uint64_t done = 0;
  bool is_at_end = false;
  tsr_status status = TSR_OK;
  tsr_progress_begin(&progress, "counting", job->has_table && !job->kernel ? "k-mers" : "letters", job->is_quiet);
  while (status == TSR_OK && !is_at_end) {
    status = tsr_stream_next(job->stream, WAIT_MILLISECONDS, &chunk, error);
    is_at_end = chunk.file >= job->file_count;
    status = tsr_ranks_agree(&job->ranks, status, &is_at_end, error);
    if (status == TSR_OK) status = count_chunk(job, &chunk, error);
    done += chunk.count;
    show_progress(job, &progress, done);
  }
  if (status == TSR_OK) status = take_result(job, done, error);
  job->counted.seconds = tsr_progress_end(&progress);
  return status == TSR_OK ? sum_facts(job, error) : status;
}

/* ---- What was counted ------------------------------------------------------------------------ */

static tsr_status put_out(count_job *job, tsr_error *error) {
  tsr_pairs *pairs = &job->pairs;
  if (job->counted.is_tallied) return tsr_tally_print(&job->counted.tally, job->least, error);
  tsr_status status = job->has_table ? tsr_pairs_export(job->table, pairs, error) : TSR_OK;
  if (status || job->ranks.rank) return status;
  if (job->counted.overflows) tsr_say_stopped("", job->table, pairs);
  if (job->least > 1) tsr_pairs_keep(pairs, job->least);
  if (job->is_sorted) status = tsr_pairs_sort(pairs, error);
  if (status == TSR_OK && job->out) status = tsr_pairs_write(pairs, (uint32_t)job->letters, job->out, error);
  if (status == TSR_OK && job->has_histogram) status = tsr_pairs_histogram(pairs, true, error);
  return status;
}

static void say_counted(const count_job *job) {
  const tsr_input_facts *f = &job->counted.facts;
  if (job->ranks.rank) return; /* the first one speaks for all */
  for (size_t i = 0; i < job->file_count; i++)
    tsr_say_what_was_read(job->files[i].path, &job->options, &job->read[i], job->is_quiet);
  if (job->is_quiet) return;
  tsr_say("%" PRIu64 " record%s, %" PRIu64 " letters: %" PRIu64 " %" PRIu64 "-mers, %" PRIu64
          " skipped for other letters than ACGTU; %" PRIu64 " distinct; %.1f s",
          f->sequences.records, f->sequences.records == 1 ? "" : "s", f->sequences.bases, f->keys, job->letters,
          f->sequences.kmers_skipped, job->counted.distinct, job->counted.seconds);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const tsr_option options[] = {
    {"--kmers", "K", false, "Letters per k-mer, 1 to 64."},
    {"--canonical", NULL, false, "Counts a k-mer and its reverse complement as one, the smaller."},
    {"--histogram", NULL, false,
     "Prints lines `count number`: how many k-mers occur that often. The default without --out."},
    {"--out", "FILE", false,
     "Where the k-mers and their counts go, a line each; '-' is standard output. The ending chooses the format, as for "
     "run --out; an array has numbers in place of letters."},
    {"--sorted", NULL, false, "Sorts the lines of --out by the k-mers' letters. Otherwise they have no order."},
    {"--min", "N", false, "Leaves out k-mers that occur less often."},
    {"--spec", "SPEC", false,
     "Counts in a table of this spec, such as count, or wide_keys_count from 33 letters on. It starts with the spec's "
     "capacity and grows. Also --set and --group make a table count, and a GPU; otherwise the CPU counts without one."},
    TSR_OPTION_STRICT,
    TSR_OPTION_GROUP,
    {"--quiet", NULL, false, "Prints errors and warnings only."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

static tsr_exit read_arguments(const tsr_arguments *arguments, count_job *job) {
  const char *kmers = tsr_arguments_value(arguments, "--kmers"), *least = tsr_arguments_value(arguments, "--min");
  char advice[TSR_ADVICE_BYTES];
  job->arguments = arguments;
  job->out = tsr_arguments_value(arguments, "--out");
  job->has_histogram = tsr_arguments_has(arguments, "--histogram") || !job->out;
  job->is_sorted = tsr_arguments_has(arguments, "--sorted");
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  job->least = 1;
  if (!kmers) return tsr_say_usage("count needs --kmers K, the letters of a k-mer");
  if (!tsr_parse_u64(kmers, &job->letters) || job->letters < 1 || job->letters > LETTERS_MAX)
    return tsr_say_usage("--kmers %s: must be a whole number from 1 to %d%s", kmers, LETTERS_MAX,
                         tsr_number_advice(kmers, advice));
  if (least && !tsr_parse_u64(least, &job->least))
    return tsr_say_usage("--min %s: must be a whole number below 2^64%s", least, tsr_number_advice(least, advice));
  if (job->is_sorted && !job->out) return tsr_say_usage("--sorted is about the lines of --out: give --out FILE");
  if (job->has_histogram && job->out && strcmp(job->out, "-") == 0)
    return tsr_say_usage("--histogram and --out -: both would go to standard output: give --out a file");
  job->options = (tsr_dataset_options){.key_bits = key_bits_of(job->letters),
                                       .kmers = (uint32_t)job->letters,
                                       .canonical = tsr_arguments_has(arguments, "--canonical"),
                                       .is_strict = tsr_arguments_has(arguments, "--strict"),
                                       .want_values = false};
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
  tsr_status status = tsr_rows_check_name("--out", job->out, error);
  if (status == TSR_OK) status = tsr_outputs_check(&out, 1, inputs, count + 1, error);
  free(inputs);
  return status;
}

static tsr_exit run_count(const tsr_arguments *arguments) {
  count_job job = {.stream = NULL, .ranks = {.size = 1}};
  tsr_error error;
  tsr_exit failed = read_arguments(arguments, &job);
  if (failed) return failed;
  tsr_status status = check_out(&job, &error);
  if (status == TSR_OK) status = tsr_ranks_open(arguments, &job.ranks, &error);
  if (job.ranks.rank) job.is_quiet = true;
  if (status == TSR_OK) {
    status = read_spec(&job, &error);
    for (size_t i = 0; status && i < arguments->operand_count; i++) tsr_say_if_missing(arguments->operands[i]);
  }
  if (status == TSR_OK) status = open_files(&job, &error);
  status = tsr_ranks_agree(&job.ranks, status, NULL, &error);
  if (status == TSR_OK) status = make_table(&job, &error);
  if (status == TSR_OK) status = count_all(&job, &error);
  if (status == TSR_OK) say_counted(&job);
  tsr_stream_close(job.stream);
  if (status == TSR_OK) status = put_out(&job, &error);
  free(job.files);
  free(job.read);
  tsr_spec_free(job.spec);
  tsr_kmer_kernel_free(job.kernel);
  tsr_table_destroy(job.table);
  tsr_kmer_counter_free(job.counter);
  tsr_pairs_free(&job.pairs);
  tsr_tally_end(&job.counted.tally);
  tsr_ranks_close(&job.ranks);
  if (status == TSR_OK) return TSR_EXIT_OK;
  return tsr_ranks_say_error(&job.ranks, status, &error);
}

const tsr_command tsr_count_command = {
    {"count", "FILE...", "Counts how often each k-mer occurs in FASTA and FASTQ files.", options, NULL}, run_count};
