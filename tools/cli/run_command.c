/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera run: a job (job.h) from the command line.
 */
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/cli/job_json.h"
#include "tools/cli/job_run.h"
#include "tools/cli/reading.h"
#include "tools/cli/texts.h"
#include "tools/lab/outputs.h"

static const tsr_option options[] = {
    {"--insert", "FILE", true, "Puts the file's pairs into the table."},
    {"--find", "FILE", true, "Looks the file's keys up."},
    {"--erase", "FILE", true, "Erases the file's keys. The three options run in the order in which they are written."},
    {"--load", "FILE", false,
     "Starts with a saved table of the same kind and widths. Where SPEC differs from it otherwise, its pairs are moved "
     "to a table of SPEC."},
    {"--flush", NULL, false,
     "At the end packs the linked lists of buckets, and releases empty units to the allocator."},
    {"--save", "FILE", false, "Saves the table at the end."},
    {"--every", "TIME", false,
     "Also saves the table every so often, as 60s, 5m or 1h, in FILE.at.STEP.KEYS. The job's end removes that "
     "checkpoint."},
    {"--resume", NULL, false,
     "Goes on from the checkpoint that a killed job left. Give the same options and files; without a checkpoint the "
     "job "
     "begins at the beginning."},
    {"--out", "FILE", false,
     "Where the answers go, a row per query: the key, and its value or '-'. A multimap gives a row per value; a set or "
     "multiset gives the number of occurrences. The ending chooses the format: .npy, .csv, .tsv.gz or .csv.gz, "
     "otherwise lines of text. '-' is standard output."},
    {"--key", "COLUMN", false,
     "The column of text that is the key: a name in the first row, or a number from 1. Files of more than two columns "
     "need --key or --value."},
    {"--value", "COLUMN|ordinal|one|N", false,
     "The column that is the value, by name or as @2. Or the value of keys that are read without one: 'ordinal' (the "
     "key's number in the file), 'one', or a number; a table that adds needs it."},
    TSR_OPTIONS_OF_ROWS,
    {"--on-full", "grow|report|stop", false,
     "What to do when a pair does not fit: 'grow' the table, 'report' it at the end, or 'stop'. Otherwise the spec's "
     "growth decides, or the table grows if it can."},
    {"--unplaced", "FILE", false,
     "Where pairs that did not fit go, as --insert reads them. A job that has some ends with status 3."},
    {"--export", "FILE", false, "Where all pairs of the table go at the end, as --insert reads them."},
    {"--sorted", NULL, false, "Sorts the rows of --export by key. Otherwise they have no order."},
    {"--histogram", NULL, false,
     "At the end prints lines `count number`: how many keys have that count. It is a key's value, or in a multiset or "
     "multimap its number of pairs."},
    {"--json", "FILE", false, "Where counts, times and sizes go, as one JSON object; '-' is standard output."},
    {"--kmers", "K", false,
     "Letters per k-mer, at most key_bits / 2; the k-mers of FASTA and FASTQ files are the keys."},
    {"--canonical", NULL, false, "Takes the smaller of a k-mer and its reverse complement."},
    {"--quiet", NULL, false, "Prints errors and warnings only: no report, no progress."},
    TSR_OPTION_GROUP,
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

static const char *const verb_options[TSR_JOB_VERBS] = {"--insert", "--find", "--erase"};

static bool verb_of(const char *option, tsr_job_verb *verb) {
  for (size_t i = 0; i < TSR_JOB_VERBS; i++)
    if (strcmp(option, verb_options[i]) == 0) {
      *verb = (tsr_job_verb)i;
      return true;
    }
  return false;
}

/* A table is saved in a file that can be read at any place: what is none is told here, not when the work is done. */
static tsr_status check_save(const char *path, tsr_error *error) {
  if (!path || !tsr_file_is_stream(path)) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "--save %s: is %s: a table can be saved in a regular file only", path,
                  strcmp(path, "-") == 0 ? "standard output" : "a pipe or a device");
}

/* A table may be saved where it was loaded from: it is read whole before. */
static tsr_exit check_outputs(const tsr_arguments *arguments, const tsr_job *job) {
  const tsr_named_path outputs[] = {{"--out", job->outputs.rows},
                                    {"--json", job->outputs.json},
                                    {"--unplaced", job->outputs.unplaced},
                                    {"--export", job->outputs.pairs},
                                    {"--histogram", job->outputs.has_histogram ? "-" : NULL},
                                    {"--save", job->outputs.save}};
  enum { OUTPUTS = sizeof outputs / sizeof outputs[0] };
  const tsr_named_path load = {"--load", job->load};
  const tsr_named_path rows[] = {
      {"--out", job->outputs.rows}, {"--unplaced", job->outputs.unplaced}, {"--export", job->outputs.pairs}};
  enum { ROWS = sizeof rows / sizeof rows[0] };
  tsr_error error;
  tsr_named_path *inputs = calloc(job->step_count + 1, sizeof *inputs);
  if (!inputs) return tsr_say_error(tsr_fail(&error, TSR_NO_MEMORY, "no memory for the command line"), &error);
  size_t count = 0;
  inputs[count++] = (tsr_named_path){"SPEC", arguments->operands[0]};
  for (size_t i = 0; i < job->step_count; i++)
    inputs[count++] = (tsr_named_path){verb_options[job->steps[i].verb], job->steps[i].path};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < ROWS; i++)
    status = tsr_rows_check_name(rows[i].option, rows[i].path, &error);
  if (status == TSR_OK) status = check_save(job->outputs.save, &error);
  if (status == TSR_OK) status = tsr_outputs_check(outputs, OUTPUTS, inputs, count, &error);
  if (status == TSR_OK) status = tsr_outputs_check(outputs, OUTPUTS - 1, &load, 1, &error);
  free(inputs);
  return status ? tsr_say_error(status, &error) : TSR_EXIT_OK;
}

static tsr_exit read_value(const char *word, tsr_job *job) {
  tsr_dataset_options *reading = &job->reading;
  char advice[TSR_ADVICE_BYTES];
  uint64_t number = 1;
  if (!word) return TSR_EXIT_OK;
  const bool is_number = tsr_parse_u64(word, &number);
  if (is_number && reading->key_column)
    return tsr_say_usage("--value %s beside --key: write --value @%s for the column, or leave --key out for the value",
                         word, word);
  if (strcmp(word, "ordinal") == 0)
    reading->value_rule = TSR_VALUE_ORDINAL;
  else if (is_number || strcmp(word, "one") == 0)
    reading->value_rule = TSR_VALUE_CONSTANT;
  else if (strchr("0123456789+-.", word[0]))
    return tsr_say_usage("--value %s: must be ordinal, one, a whole number, or a column: its name or @N%s", word,
                         tsr_number_advice(word, advice));
  else
    reading->value_column = word;
  reading->value = number;
  return TSR_EXIT_OK;
}

static tsr_exit read_on_full(const char *word, tsr_job *job) {
  static const struct {
    const char *word;
    tsr_on_full meaning;
  } words[] = {{"grow", TSR_FULL_GROW}, {"report", TSR_FULL_REPORT}, {"stop", TSR_FULL_STOP}};
  if (!word) return TSR_EXIT_OK;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp(word, words[i].word) == 0) job->on_full = words[i].meaning;
  return job->on_full ? TSR_EXIT_OK : tsr_say_usage("--on-full %s: must be grow, report or stop", word);
}

/* A spec that is not there is worth more words than that. */
static tsr_exit refuse_idle(const tsr_arguments *arguments) {
  tsr_spec *spec;
  tsr_error error;
  const tsr_status status = tsr_arguments_spec(arguments, arguments->operands[0], &spec, &error);
  if (status) return tsr_say_error(status, &error);
  tsr_spec_free(spec);
  return tsr_say_usage("there is nothing to do: give --insert, --find, --erase or --load FILE");
}

/* Fills the job from the arguments; steps has room for all of them. */
static tsr_exit read_job(const tsr_arguments *arguments, tsr_job_step *steps, tsr_job *job) {
  static const char *const about_inserts[] = {"--value", "--on-full"};
  const char *kmers = tsr_arguments_value(arguments, "--kmers");
  char advice[TSR_ADVICE_BYTES];
  uint64_t letters = 0;
  bool has_find = false, has_insert = false;
  job->plugins = tsr_arguments_value(arguments, "--plugins");
  job->outputs.rows = tsr_arguments_value(arguments, "--out");
  job->outputs.json = tsr_arguments_value(arguments, "--json");
  job->spec_path = arguments->operands[0];
  job->load = tsr_arguments_value(arguments, "--load");
  job->outputs.save = tsr_arguments_value(arguments, "--save");
  job->outputs.unplaced = tsr_arguments_value(arguments, "--unplaced");
  job->outputs.pairs = tsr_arguments_value(arguments, "--export");
  job->outputs.is_sorted = tsr_arguments_has(arguments, "--sorted");
  job->outputs.has_histogram = tsr_arguments_has(arguments, "--histogram");
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  job->outputs.flushes = tsr_arguments_has(arguments, "--flush");
  job->reading.canonical = tsr_arguments_has(arguments, "--canonical");
  job->steps = steps;
  for (size_t i = 0; i < arguments->given_count; i++) {
    tsr_job_verb verb;
    if (!verb_of(arguments->given[i].name, &verb)) continue;
    has_find = has_find || verb == TSR_JOB_FIND;
    has_insert = has_insert || verb == TSR_JOB_INSERT;
    steps[job->step_count++] = (tsr_job_step){.verb = verb, .path = arguments->given[i].value};
  }
  if (kmers && (!tsr_parse_u64(kmers, &letters) || letters < 1 || letters > 64))
    return tsr_say_usage("--kmers %s: must be a whole number from 1 to 64, and at most key_bits / 2%s", kmers,
                         tsr_number_advice(kmers, advice));
  job->reading.kmers = (uint32_t)letters;
  if (job->reading.canonical && !kmers)
    return tsr_say_usage("--canonical is about k-mers: say with --kmers how long they are");
  if (!job->step_count && !job->load) return refuse_idle(arguments);
  if (job->outputs.rows && !has_find)
    return tsr_say_usage("--out %s: only --find makes rows: give --find FILE", job->outputs.rows);
  if (job->outputs.is_sorted && !job->outputs.pairs)
    return tsr_say_usage("--sorted is about the pairs of --export: give --export FILE");
  for (size_t i = 0; i < sizeof about_inserts / sizeof about_inserts[0]; i++)
    if (!has_insert && tsr_arguments_has(arguments, about_inserts[i]))
      return tsr_say_usage("%s is about pairs that are inserted: give --insert FILE", about_inserts[i]);
  tsr_exit failed = tsr_reading_options(arguments, &job->reading);
  if (!failed) failed = read_value(tsr_arguments_value(arguments, "--value"), job);
  if (!failed) failed = tsr_checkpoint_options(arguments, &job->outputs.checkpoint);
  if (!failed) failed = read_on_full(tsr_arguments_value(arguments, "--on-full"), job);
  return failed ? failed : check_outputs(arguments, job);
}

/* Processes that do the job together. The first one writes and speaks. */
static tsr_status open_ranks(const tsr_arguments *arguments, tsr_job *job, tsr_error *error) {
  static const char find[] = "--find", *const alone[] = {"--load", "--every", "--resume", "--unplaced", find};
  if (!tsr_arguments_has(arguments, "--group")) return TSR_OK;
  const char *kind = tsr_spec_get(job->spec, "table", "kind");
  const bool spreads = kind && strncmp(kind, "multi", 5) == 0; /* one process alone knows how many values there are */
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    if (tsr_arguments_has(arguments, alone[i]) && (spreads || alone[i] != find))
      return tsr_fail(error, TSR_UNSUPPORTED, "%s%s does not go with --group: run it by one process", alone[i],
                      alone[i] == find ? " of a multiset or multimap" : "");
  const tsr_status status = tsr_ranks_open(arguments, &job->ranks, error);
  if (job->ranks.rank) {
    job->is_quiet = true;
    job->outputs.json = NULL;
  }
  return status;
}

static tsr_exit run_run(const tsr_arguments *arguments) {
  tsr_job job = {.step_count = 0};
  tsr_spec *spec;
  tsr_error error;
  tsr_job_step *steps = calloc(arguments->given_count + 1, sizeof *steps);
  if (!steps) {
    tsr_say("no memory for the command line");
    return TSR_EXIT_FAILED;
  }
  tsr_exit failed = read_job(arguments, steps, &job);
  if (failed == TSR_EXIT_OK) {
    tsr_status status = tsr_arguments_spec(arguments, arguments->operands[0], &spec, &error);
    if (status == TSR_OK) {
      status = tsr_reading_columns(&job.reading, spec, &error);
      if (status == TSR_OK) status = tsr_reading_texts(arguments, spec, &job.form, &error);
      if (status) tsr_spec_free(spec);
    }
    if (status) {
      for (size_t i = 0; i < job.step_count; i++) tsr_say_if_missing(job.steps[i].path); /* all that is, at once */
      failed = tsr_say_error(status, &error);
    } else {
      job.spec = spec;
      status = open_ranks(arguments, &job, &error);
      failed = status ? tsr_say_error(status, &error) : tsr_job_run(&job);
      const bool is_done = (failed == TSR_EXIT_OK || failed == TSR_EXIT_UNPLACED) && job.ranks.rank == 0;
      status = is_done && job.outputs.json ? tsr_job_write_json(&job, job.outputs.json, &error) : TSR_OK;
      if (status) failed = tsr_say_error(status, &error);
      tsr_spec_free(spec);
    }
  }
  tsr_job_free(&job);
  tsr_texts_free(job.form.texts);
  tsr_ranks_close(&job.ranks);
  free(steps);
  return failed;
}

const tsr_command tsr_run_command = {
    {"run", "SPEC", "Makes a table, and inserts, finds and erases the keys of files.", options, NULL}, run_run};
