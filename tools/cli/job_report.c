/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of jobs (job_report.h).
 */
#include "tools/cli/job_report.h"

#include <inttypes.h>
#include <string.h>

#include "tools/cli/advice.h"
#include "tools/cli/console.h"
#include "tools/cli/pairs.h"

const char *const tsr_job_verbs[TSR_JOB_VERBS] = {"insert", "find", "erase"};

static void print_bytes(FILE *out, uint64_t bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double shown = (double)bytes;
  size_t unit = 0;
  for (; shown >= 1000 && unit + 1 < sizeof units / sizeof units[0]; unit++) shown /= 1000;
  fprintf(out, unit ? "%.1f %s" : "%.0f %s", shown, units[unit]);
}

void tsr_report_composition(const tsr_job *job) {
  static const char *const parts[] = {"layout", "probing", "hasher", "allocator", "eviction"};
  FILE *out = job->report;
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  fprintf(out, "table    %s of %u-bit keys", tsr_job_setting(job, "kind", "?"), info.key_bits);
  if (info.value_bits > 64)
    fprintf(out, " and values of %u bytes", info.value_bits / 8);
  else if (info.value_bits)
    fprintf(out, " and %u-bit values", info.value_bits);
  if (job->kind.is_filter)
    fprintf(out, "\nparts    ");
  else if (job->kind.keeps_all)
    fprintf(out, ", every pair kept\nparts    ");
  else if (strcmp(tsr_job_setting(job, "kind", "?"), "counter") == 0)
    fprintf(out, ", which stop at 2^%s - 1\nparts    ", tsr_job_setting(job, "value_bits", "?"));
  else if (job->kind.is_index)
    fprintf(out, ", numbered from 0 on, reuse = %s\nparts    ", tsr_job_setting(job, "reuse", "yes"));
  else
    fprintf(out, ", duplicates = %s\nparts    ", tsr_job_setting(job, "duplicates", "first"));
  for (size_t i = 0, shown = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (tsr_job_setting(job, parts[i], NULL))
      fprintf(out, "%s%s = %s", shown++ ? ", " : "", parts[i], tsr_job_setting(job, parts[i], ""));
  if (job->kind.is_bloom)
    fprintf(out, "\nroom     %" PRIu64 " blocks of %u bytes, ", info.buckets, info.bucket_bytes);
  else
    fprintf(out, "\nroom     %" PRIu64 " buckets of %u slots (%u bytes, %u lane%s) = %" PRIu64 " slots, ", info.buckets,
            info.bucket_slots, info.bucket_bytes, info.tile_lanes, info.tile_lanes == 1 ? "" : "s", info.slots);
  print_bytes(out, info.bytes);
  fprintf(out, "; capacity %" PRIu64 "%s\n", info.capacity, job->totals.capacity_note);
  fprintf(out, "backend  %s on %s (%s%s)\n", info.backend, info.device,
          *info.backend_reason ? "auto: " : "as the spec says", info.backend_reason);
  if (tsr_batch_least(job->table) > TSR_CHUNK_KEYS)
    fprintf(out, "batches  of %d keys; several GPUs are faster than one from %" PRIu64 " keys per call on\n",
            TSR_CHUNK_KEYS, tsr_batch_least(job->table));
  fflush(out);
}

static void print_counts(const tsr_job *job, const tsr_job_step *step) {
  FILE *out = job->report;
  const tsr_report *r = &step->report;
  const tsr_input_facts *facts = &step->facts;
  fprintf(out, "%-8s %s\n         ", tsr_job_verbs[step->verb], step->path);
  if (job->reading.kmers)
    fprintf(out,
            "%" PRIu64 " record%s, %" PRIu64 " letters: %" PRIu64 " %u-mers read, %" PRIu64
            " skipped for other letters than ACGTU\n         ",
            facts->sequences.records, facts->sequences.records == 1 ? "" : "s", facts->sequences.bases, step->count,
            job->reading.kmers, facts->sequences.kmers_skipped);
  switch (step->verb) {
  case TSR_JOB_INSERT:
    fprintf(out, "%" PRIu64 " items: %" PRIu64 " inserted, %" PRIu64 " present, %" PRIu64 " not placed", step->count,
            r->inserted, r->insert_keys - r->inserted - r->not_placed, r->not_placed);
    if (r->overflows)
      fprintf(out, ", %" PRIu64 " %s", r->overflows,
              tsr_bits_of_stop(job->table) ? "additions stopped at the largest value" : "sums overflowed");
    if (r->evicted) fprintf(out, ", %" PRIu64 " evicted", r->evicted);
    if (r->insert_paged)
      fprintf(out, "; %" PRIu64 " went page by page, with %" PRIu64 " bytes of scratch memory", r->insert_paged,
              r->insert_scratch_bytes);
    if (r->cleanings) fprintf(out, "; the table was cleaned of erased slots");
    fprintf(out, "\n");
    if (r->insert_long)
      fprintf(out,
              "         hot keys: %" PRIu64
              " inserts passed 1024 buckets of their key or more, which takes the square of its pairs; `check` says "
              "what keys with thousands of pairs want\n",
              r->insert_long);
    break;
  case TSR_JOB_FIND:
    fprintf(out, "%" PRIu64 " queries: %" PRIu64 " found, %" PRIu64 " missing", step->count, r->found,
            r->find_keys - r->found);
    if (job->kind.keeps_all)
      fprintf(out, "; %" PRIu64 " %s%s", step->value_count, job->kind.is_multimap ? "value" : "pair",
              step->value_count == 1 ? "" : "s");
    fprintf(out, "\n");
    break;
  default:
    fprintf(out, "%" PRIu64 " items: %" PRIu64 " erased", step->count, r->erased);
    if (!job->kind.keeps_all) fprintf(out, ", %" PRIu64 " missing", r->erase_keys - r->erased);
    fprintf(out, "\n");
    break;
  }
}

static void print_speed(const tsr_job *job, const tsr_job_step *step) {
  const tsr_report *r = &step->report;
  double milliseconds = step->milliseconds;
  uint64_t probes[TSR_JOB_VERBS] = {r->insert_probes, r->find_probes, r->erase_probes};
  uint64_t most[TSR_JOB_VERBS] = {r->insert_probes_max, r->find_probes_max, r->erase_probes_max};
  FILE *out = job->report;
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  fprintf(out, "         ");
  if (info.statistics && step->count)
    fprintf(out, "%.3f probes a key, at most %" PRIu64 "; ", (double)probes[step->verb] / (double)step->count,
            most[step->verb]);
  if (r->insert_moves)
    fprintf(out, "%.3f evictions a key, at most %" PRIu64 "; ", (double)r->insert_moves / (double)step->count,
            r->insert_moves_max);
  if (milliseconds > 0) fprintf(out, "%.1f M op/s ", (double)step->count / milliseconds / 1000);
  fprintf(out, "in %.3f ms (without reading and copying)\n", milliseconds);
  fflush(out);
}

void tsr_report_step(const tsr_job *job, const tsr_job_step *step) {
  print_counts(job, step);
  print_speed(job, step);
}

static tsr_status report_filter(const tsr_job *job, tsr_error *error) {
  tsr_filter_info filter = {0};
  tsr_status status = tsr_filter_describe(job->table, &filter, error);
  if (status) return status;
  fprintf(job->report, "filter   about %.0f keys; of a million absent ones %.0f seem present", filter.keys,
          filter.rate * 1e6);
  fprintf(job->report, ", at capacity %.0f\n", filter.rate_at_capacity * 1e6);
  return TSR_OK;
}

static void report_slots(const tsr_job *job) {
  tsr_table_info info = {0};
  const tsr_usage *usage = &job->totals.usage;
  tsr_table_describe(job->table, &info);
  fprintf(job->report, "size     %" PRIu64 " in %" PRIu64 " slots: load factor %.3f", usage->pairs, usage->slots,
          (double)usage->pairs / (double)usage->slots);
  if (usage->units)
    fprintf(job->report, "; units: %" PRIu64 ", memory utilization %.3f", usage->units, usage->utilization);
  if (usage->tombstones) fprintf(job->report, "; tombstones: %" PRIu64, usage->tombstones);
  if (info.capacity > job->totals.first_capacity) fprintf(job->report, "; grown to capacity %" PRIu64, info.capacity);
  fprintf(job->report, "\n");
}

tsr_status tsr_report_size(const tsr_job *job, tsr_error *error) {
  tsr_table_info info = {0};
  tsr_status status = TSR_OK;
  if (job->kind.is_filter)
    status = report_filter(job, error);
  else
    report_slots(job);
  tsr_table_describe(job->table, &info);
  if (*info.code) fprintf(job->report, "code     %s\n", info.code);
  return status;
}

void tsr_say_not_placed(const tsr_job *job, const tsr_job_step *step) {
  char advice[TSR_FULL_ADVICE_BYTES];
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  const char *way_out = step->report.ungrown
                            ? "there is no memory to double it; use a larger load_factor, or more devices"
                            : tsr_advice_when_full(job->table, "let the table grow: --on-full grow", advice);
  tsr_say("%s: %" PRIu64 " of %" PRIu64 " pairs found no room in the table's %" PRIu64 " slots: %s%s", step->path,
          step->report.not_placed, step->count, info.slots, way_out,
          job->outputs.unplaced || job->kind.is_filter ? "" : "; --unplaced FILE lists the pairs");
}

void tsr_say_overflows(const tsr_job *job, const tsr_job_step *step) {
  tsr_say("%s: %" PRIu64 " sum%s passed 2^%u - 1; these values are wrong. Use %s--set table.overflow=saturate, which "
          "stops sums there",
          step->path, step->report.overflows, step->report.overflows == 1 ? "" : "s", job->value_bits,
          job->value_bits < 64 ? "--set table.value_bits=64, or " : "");
}
