/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs as JSON (job_json.h). The text is made in memory first: what cannot be made is not begun on standard output.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */

#include "tools/cli/job_json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "tools/cli/job_report.h"

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Bytes of the UTF-8 sequence that starts here; 0 if there is none: a file's name may hold any bytes. */
static size_t sequence_bytes(const unsigned char *at) {
  size_t bytes = at[0] < 0x80 ? 1 : at[0] >= 0xC2 && at[0] < 0xE0 ? 2 : at[0] >= 0xE0 && at[0] < 0xF0 ? 3 : 0;
  if (at[0] >= 0xF0 && at[0] < 0xF5) bytes = 4;
  for (size_t i = 1; i < bytes; i++)
    if ((at[i] & 0xC0) != 0x80) return 0;
  bool is_overlong = (at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xF0 && at[1] < 0x90);
  bool is_surrogate = at[0] == 0xED && at[1] >= 0xA0, is_beyond = at[0] == 0xF4 && at[1] >= 0x90;
  return is_overlong || is_surrogate || is_beyond ? 0 : bytes;
}

static void put_string(FILE *out, const char *text) {
  fputc('"', out);
  for (const unsigned char *at = (const unsigned char *)text; *at;) {
    size_t bytes = sequence_bytes(at);
    if (bytes == 0)
      fputs("\\ufffd", out); /* the replacement character */
    else if (*at == '"' || *at == '\\')
      fprintf(out, "\\%c", *at);
    else if (*at < 0x20)
      fprintf(out, "\\u%04x", *at);
    else
      fwrite(at, 1, bytes, out);
    at += bytes ? bytes : 1;
  }
  fputc('"', out);
}

/* Members end with a comma; the last one of an object is written by hand. */
static void put_text(FILE *out, const char *name, const char *text) {
  fprintf(out, "\"%s\": ", name);
  put_string(out, text);
  fputs(", ", out);
}

static void put_number(FILE *out, const char *name, uint64_t number) {
  fprintf(out, "\"%s\": %" PRIu64 ", ", name, number);
}

static void put_numbers(FILE *out, const char *name, const uint64_t *numbers, size_t count) {
  fprintf(out, "\"%s\": [", name);
  for (size_t i = 0; i < count; i++) fprintf(out, "%s%" PRIu64, i ? ", " : "", numbers[i]);
  fputs("], ", out);
}

/* ---- The object ------------------------------------------------------------------------------ */

static void put_composition(FILE *out, const tsr_job *job, const tsr_table_info *info) {
  static const char *const entries[] = {"kind", "duplicates", "layout", "probing", "hasher", "allocator"};
  put_text(out, "tessera", TSR_VERSION);
  put_text(out, "spec", job->spec_path);
  for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
    const char *value = tsr_spec_get(job->spec, "table", entries[i]);
    if (value) put_text(out, entries[i], value);
  }
  put_number(out, "key_bits", info->key_bits);
  put_number(out, "value_bits", info->value_bits);
  put_text(out, "backend", info->backend);
  put_text(out, "device", info->device);
  put_number(out, "capacity", info->capacity);
  put_number(out, "buckets", info->buckets);
  put_number(out, "bucket_slots", info->bucket_slots);
  put_number(out, "tile_lanes", info->tile_lanes);
  put_number(out, "slots", info->slots);
  put_number(out, "bytes", info->bytes);
}

static void put_counts(FILE *out, const tsr_job *job, const tsr_job_step *step) {
  const tsr_report *r = &step->report;
  switch (step->verb) {
  case TSR_JOB_INSERT:
    put_number(out, "inserted", r->inserted);
    put_number(out, "present", r->insert_keys - r->inserted - r->not_placed);
    put_number(out, "not_placed", r->not_placed);
    put_number(out, "overflows", r->overflows);
    put_number(out, "page_by_page", r->insert_paged);
    put_number(out, "scratch_bytes", r->insert_scratch_bytes);
    put_number(out, "cleanings", r->cleanings);
    break;
  case TSR_JOB_FIND:
    put_number(out, "found", r->found);
    put_number(out, "missing", r->find_keys - r->found);
    if (job->kind.keeps_all) put_number(out, job->kind.is_multimap ? "values" : "pairs", step->value_count);
    break;
  default:
    put_number(out, "erased", r->erased); /* pairs: where a key has many, they do not tell how many keys were missing */
    if (!job->kind.keeps_all) put_number(out, "missing", r->erase_keys - r->erased);
    break;
  }
}

static void put_operation(FILE *out, const tsr_job *job, const tsr_job_step *step, bool has_probes) {
  const tsr_report *r = &step->report;
  uint64_t probes[TSR_JOB_VERBS] = {r->insert_probes, r->find_probes, r->erase_probes};
  uint64_t most[TSR_JOB_VERBS] = {r->insert_probes_max, r->find_probes_max, r->erase_probes_max};
  uint64_t keys[TSR_JOB_VERBS] = {r->insert_keys, r->find_keys, r->erase_keys};
  const uint64_t *histograms[TSR_JOB_VERBS] = {r->insert_histogram, r->find_histogram, r->erase_histogram};
  fputs("{", out);
  put_text(out, "operation", tsr_job_verbs[step->verb]);
  put_text(out, "file", step->path);
  put_number(out, "keys", keys[step->verb]);
  put_counts(out, job, step);
  if (has_probes) {
    put_number(out, "probes", probes[step->verb]);
    put_number(out, "probes_max", most[step->verb]);
    put_numbers(out, "histogram", histograms[step->verb], TSR_REPORT_BINS);
    if (step->verb == TSR_JOB_INSERT) {
      put_number(out, "moves", r->insert_moves);
      put_number(out, "moves_max", r->insert_moves_max);
      put_number(out, "lost_claims", r->insert_lost_claims);
      put_number(out, "stashed", r->insert_stashed);
    }
  }
  fprintf(out, "\"milliseconds\": %.6f}", step->milliseconds);
}

/* A filter has no size, but bits that say about how many keys set them. */
static void put_end(FILE *out, const tsr_job *job, const tsr_filter_info *filter) {
  if (job->kind.is_filter) {
    fprintf(out, "\"keys\": %.0f, \"rate\": %.9f, \"rate_at_capacity\": %.9f}\n", filter->keys, filter->rate,
            filter->rate_at_capacity);
    return;
  }
  put_number(out, "size", job->totals.usage.pairs);
  put_number(out, "tombstones", job->totals.usage.tombstones);
  put_number(out, "units", job->totals.usage.units);
  fprintf(out, "\"load_factor\": %.6f, \"utilization\": %.6f}\n",
          (double)job->totals.usage.pairs / (double)job->totals.usage.slots, job->totals.usage.utilization);
}

static void put_job(FILE *out, const tsr_job *job, const tsr_filter_info *filter) {
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  fputs("{", out);
  put_composition(out, job, &info);
  fputs("\"operations\": [", out);
  for (size_t i = 0; i < job->step_count; i++) {
    fputs(i ? ",\n  " : "\n  ", out);
    put_operation(out, job, &job->steps[i], info.statistics);
  }
  fputs("],\n", out);
  put_end(out, job, filter);
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
