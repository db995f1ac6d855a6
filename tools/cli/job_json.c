/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs as JSON (job_json.h). The text is made in memory first: what cannot be made is not begun on standard output.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "tools/cli/job_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "tools/cli/job_report.h"
#include "tools/lab/json.h"

static void put_numbers(tsr_json *json, const char *name, const uint64_t *numbers, size_t count) {
  tsr_json_list(json, name);
  for (size_t i = 0; i < count; i++) tsr_json_number(json, NULL, numbers[i]);
  tsr_json_end_list(json);
}

static void put_composition(tsr_json *json, const tsr_job *job, const tsr_table_info *info) {
  static const char *const entries[] = {"kind", "duplicates", "layout", "probing", "hasher", "allocator", "eviction"};
  tsr_json_text(json, "tessera", TSR_VERSION);
  tsr_json_text(json, "spec", job->spec_path);
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    const char *value = tsr_spec_get(job->spec, "table", entries[i]);
    if (value) tsr_json_text(json, entries[i], value);
  }
  tsr_json_number(json, "key_bits", info->key_bits);
  tsr_json_number(json, "value_bits", info->value_bits);
  tsr_json_text(json, "backend", info->backend);
  tsr_json_text(json, "device", info->device);
  tsr_json_number(json, "capacity", info->capacity);
  tsr_json_number(json, "buckets", info->buckets);
  tsr_json_number(json, "bucket_slots", info->bucket_slots);
  tsr_json_number(json, "tile_lanes", info->tile_lanes);
  tsr_json_number(json, "slots", info->slots);
  tsr_json_number(json, "bytes", info->bytes);
  tsr_json_number(json, "code_ahead", info->code_counts.ahead);
  tsr_json_number(json, "code_cached", info->code_counts.cached);
  tsr_json_number(json, "code_made", info->code_counts.made);
}

static void put_counts(tsr_json *json, const tsr_job *job, const tsr_job_step *step) {
  const tsr_report *r = &step->report;
  switch (step->verb) {
  case TSR_JOB_INSERT:
    tsr_json_number(json, "inserted", r->inserted);
    tsr_json_number(json, "present", r->insert_keys - r->inserted - r->not_placed);
    tsr_json_number(json, "not_placed", r->not_placed);
    tsr_json_number(json, "overflows", r->overflows);
    tsr_json_number(json, "evicted", r->evicted);
    tsr_json_number(json, "page_by_page", r->insert_paged);
    tsr_json_number(json, "scratch_bytes", r->insert_scratch_bytes);
    tsr_json_number(json, "cleanings", r->cleanings);
    if (job->kind.keeps_all) tsr_json_number(json, "long_inserts", r->insert_long);
    break;
  case TSR_JOB_FIND:
    tsr_json_number(json, "found", r->found);
    tsr_json_number(json, "missing", r->find_keys - r->found);
    if (job->kind.keeps_all) tsr_json_number(json, job->kind.is_multimap ? "values" : "pairs", step->value_count);
    break;
  default:
    tsr_json_number(json, "erased",
                    r->erased); /* pairs: where a key has many, they do not tell how many keys were missing */
    if (!job->kind.keeps_all) tsr_json_number(json, "missing", r->erase_keys - r->erased);
    break;
  }
}

static void put_operation(tsr_json *json, const tsr_job *job, const tsr_job_step *step, bool has_probes) {
  const tsr_report *r = &step->report;
  uint64_t probes[TSR_JOB_VERBS] = {r->insert_probes, r->find_probes, r->erase_probes};
  uint64_t most[TSR_JOB_VERBS] = {r->insert_probes_max, r->find_probes_max, r->erase_probes_max};
  uint64_t keys[TSR_JOB_VERBS] = {r->insert_keys, r->find_keys, r->erase_keys};
  const uint64_t *histograms[TSR_JOB_VERBS] = {r->insert_histogram, r->find_histogram, r->erase_histogram};
  tsr_json_object(json, NULL);
  tsr_json_text(json, "operation", tsr_job_verbs[step->verb]);
  tsr_json_text(json, "file", step->path);
  tsr_json_number(json, "keys", keys[step->verb]);
  put_counts(json, job, step);
  if (has_probes) {
    tsr_json_number(json, "probes", probes[step->verb]);
    tsr_json_number(json, "probes_max", most[step->verb]);
    put_numbers(json, "histogram", histograms[step->verb], TSR_REPORT_BINS);
    if (step->verb == TSR_JOB_INSERT) {
      tsr_json_number(json, "moves", r->insert_moves);
      tsr_json_number(json, "moves_max", r->insert_moves_max);
      tsr_json_number(json, "lost_claims", r->insert_lost_claims);
      tsr_json_number(json, "stashed", r->insert_stashed);
    }
  }
  tsr_json_real(json, "milliseconds", step->milliseconds, 6);
  tsr_json_end_object(json);
}

/* A filter has no size, but bits that say about how many keys set them. */
static void put_end(tsr_json *json, const tsr_job *job, const tsr_filter_info *filter) {
  if (job->kind.is_filter) {
    tsr_json_real(json, "keys", filter->keys, 0);
    tsr_json_real(json, "rate", filter->rate, 9);
    tsr_json_real(json, "rate_at_capacity", filter->rate_at_capacity, 9);
    return;
  }
  tsr_json_number(json, "size", job->totals.usage.pairs);
  tsr_json_number(json, "tombstones", job->totals.usage.tombstones);
  tsr_json_number(json, "units", job->totals.usage.units);
  tsr_json_real(json, "load_factor", (double)job->totals.usage.pairs / (double)job->totals.usage.slots, 6);
  tsr_json_real(json, "utilization", job->totals.usage.utilization, 6);
}

static void put_job(FILE *out, const tsr_job *job, const tsr_filter_info *filter) {
  tsr_json json = {.out = out};
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  tsr_json_object(&json, NULL);
  put_composition(&json, job, &info);
  tsr_json_list(&json, "operations");
  for (size_t i = 0; i < job->step_count; i++) put_operation(&json, job, &job->steps[i], info.statistics);
  tsr_json_end_list(&json);
  put_end(&json, job, filter);
  tsr_json_end_object(&json);
}

tsr_status tsr_job_write_json(const tsr_job *job, const char *path, tsr_error *error) {
  tsr_filter_info filter = {0};
  tsr_status status = job->kind.is_filter ? tsr_filter_describe(job->table, &filter, error) : TSR_OK;
  if (status) return status;
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (out) put_job(out, job, &filter);
  bool is_whole = out && !ferror(out);
  if (out && fclose(out) != 0) is_whole = false;
  tsr_file file;
  int failure = is_whole ? tsr_file_begin_output(&file, path) : ENOMEM;
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, text, bytes));
  free(text);
  if (!failure) return TSR_OK;
  return tsr_fail(error, failure == ENOMEM ? TSR_NO_MEMORY : TSR_IO, "--json %s: cannot be written: %s", path,
                  strerror(failure));
}
