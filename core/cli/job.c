/* SPDX-License-Identifier: Apache-2.0
 *
 * Jobs (job.h): inputs, composition, steps, report.
 */
#include "core/cli/job.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/loading.h"
#include "core/cli/rows.h"
#include "core/spec/number.h"
#include "core/tessera_tools.h"

static const char *const verbs[TSR_JOB_VERBS] = {"insert", "find", "erase"};

static const char *setting(const tsr_job *job, const char *key, const char *initial) {
  const char *value = tsr_spec_get(job->spec, "table", key);
  return value ? value : initial;
}

static bool has_capacity(const tsr_job *job) { return setting(job, "capacity", NULL) != NULL; }

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Refuses a wrong spec before any file is read, and learns the widths that the files are read with. */
static tsr_status check_spec(tsr_job *job, tsr_error *error) {
  tsr_options options = {.plugins = job->plugins, .capacity = has_capacity(job) ? 0 : 1};
  char *text;
  uint64_t key_bits = 0, value_bits = 0;
  tsr_status status = tsr_spec_check(job->spec, &options, &text, error);
  if (status) return status;
  free(text);
  if (!tsr_parse_u64(setting(job, "key_bits", "0"), &key_bits) ||
      !tsr_parse_u64(setting(job, "value_bits", "0"), &value_bits))
    return tsr_fail(error, TSR_BAD_SPEC, "[table] key_bits and value_bits must be whole numbers");
  job->key_bits = (uint32_t)key_bits;
  job->value_bits = (uint32_t)value_bits;
  job->unplaced_pairs = (tsr_unplaced){.key_bits = job->key_bits, .value_bits = job->value_bits};
  job->is_multimap = strcmp(setting(job, "kind", ""), "multimap") == 0;
  job->keeps_all = job->is_multimap || strcmp(setting(job, "kind", ""), "multiset") == 0;
  for (size_t i = 0; i < job->step_count; i++)
    if (job->kmers && job->steps[i].verb == TSR_JOB_INSERT && strcmp(setting(job, "duplicates", "first"), "add") == 0)
      return tsr_fail(
          error, TSR_BAD_SPEC,
          "%s: duplicates = add would add up the k-mers' numbers, not count them: count by `tessera count`, "
          "or keep a number by duplicates = first, min or max",
          job->steps[i].path);
  return TSR_OK;
}

/* All files are read before the table is made: a wrong path is told at once, and a missing capacity is their size. */
static tsr_status read_files(tsr_job *job, tsr_error *error) {
  tsr_dataset_options options = {
      .key_bits = job->key_bits, .value_bits = job->value_bits, .kmers = job->kmers, .canonical = job->canonical};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->step_count; i++) {
    tsr_job_step *step = &job->steps[i];
    tsr_say("reading %s", step->path);
    options.want_values = step->verb == TSR_JOB_INSERT && job->value_bits > 0;
    status = tsr_dataset_read(step->path, &options, &step->data, error);
  }
  return status;
}

static tsr_status compose(tsr_job *job, tsr_error *error) {
  tsr_options options = {.plugins = job->plugins};
  if (job->load) return tsr_load_as(job->load, job->spec, job->plugins, &job->table, &job->was_rehashed, error);
  if (!has_capacity(job)) {
    for (size_t i = 0; i < job->step_count; i++)
      if (job->steps[i].verb == TSR_JOB_INSERT) options.capacity += job->steps[i].data.count;
    if (!options.capacity)
      return tsr_fail(error, TSR_BAD_SPEC,
                      "the spec has no capacity, and nothing is inserted from which to derive it: add --insert FILE or "
                      "--set table.capacity=N");
  }
  return tsr_table_create(job->spec, &options, &job->table, error);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* Arrays of one operation where the table lives, so that copying them is not timed. */
typedef struct arrays {
  void *keys, *values;
  uint8_t *codes;
  uint64_t *offsets, room;               /* finding all values of each key */
  void *unplaced_keys, *unplaced_values; /* of an insert that lists them */
} arrays;

static bool finds_all(const tsr_job *job, tsr_job_verb verb) { return verb == TSR_JOB_FIND && job->is_multimap; }

static tsr_status allocate(tsr_table *table, uint64_t bytes, void **memory, tsr_error *error) {
  return bytes ? tsr_memory_allocate(table, bytes, memory, error) : TSR_OK;
}

static bool keeps_rows(const tsr_job *job, const tsr_job_step *step) {
  return step->verb == TSR_JOB_FIND && (job->out || job->keeps_found);
}

static bool lists_unplaced(const tsr_job *job, tsr_job_verb verb) { return verb == TSR_JOB_INSERT && job->unplaced; }

static tsr_status allocate_arrays(const tsr_job *job, const tsr_job_step *step, arrays *a, tsr_error *error) {
  uint64_t n = step->data.count;
  bool has_offsets = finds_all(job, step->verb); /* its values come later: make_room */
  bool has_values = step->verb != TSR_JOB_ERASE && job->value_bits > 0 && !has_offsets;
  bool has_unplaced = lists_unplaced(job, step->verb);
  bool has_codes =
      (keeps_rows(job, step) && !has_offsets) || (step->verb == TSR_JOB_FIND && !job->value_bits) || has_unplaced;
  void *codes = NULL, *offsets = NULL;
  tsr_status status = allocate(job->table, n * (job->key_bits / 8), &a->keys, error);
  if (status == TSR_OK) status = allocate(job->table, has_values ? n * (job->value_bits / 8) : 0, &a->values, error);
  if (status == TSR_OK) status = allocate(job->table, has_codes ? n : 0, &codes, error);
  if (status == TSR_OK) status = allocate(job->table, has_offsets ? (n + 1) * sizeof *a->offsets : 0, &offsets, error);
  if (status == TSR_OK)
    status = allocate(job->table, has_unplaced ? n * (job->key_bits / 8) : 0, &a->unplaced_keys, error);
  if (status == TSR_OK)
    status = allocate(job->table, has_unplaced ? n * (job->value_bits / 8) : 0, &a->unplaced_values, error);
  a->codes = codes;
  a->offsets = offsets;
  return status;
}

static void free_arrays(tsr_table *table, arrays *a) {
  void *all[] = {a->keys, a->values, a->codes, a->offsets, a->unplaced_keys, a->unplaced_values};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (all[i]) tsr_memory_free(table, all[i]);
}

/* values: NULL for a table without. codes: what a find writes for each key, or NULL. */
static tsr_status operate(const tsr_job *job, tsr_job_verb verb, uint64_t n, const arrays *a, tsr_error *error) {
  tsr_call call = {.results = a->codes, .unplaced_keys = a->unplaced_keys, .unplaced_values = a->unplaced_values};
  switch (verb) {
  case TSR_JOB_INSERT:
    return tsr_insert(job->table, n, a->keys, a->values, a->unplaced_keys ? &call : NULL, error);
  case TSR_JOB_ERASE:
    return tsr_erase(job->table, n, a->keys, NULL, error);
  default:
    break;
  }
  if (!job->value_bits) return tsr_contains(job->table, n, a->keys, a->codes, NULL, error);
  if (finds_all(job, verb)) return tsr_find_all(job->table, n, a->keys, a->offsets, a->room, a->values, NULL, error);
  return tsr_find(job->table, n, a->keys, a->values, &call, error);
}

/* Operations are linked when they are first used: that is done here, with one key and no trace, so that the times are
 * those of the work. A find with and one without codes are the same kernel. A loaded table allows finds only. */
static tsr_status warm_up(const tsr_job *job, tsr_error *error) {
  uint64_t key = 0, value = 0, offsets[2];
  uint8_t code = 0;
  arrays one = {.keys = &key, .values = job->value_bits ? &value : NULL, .codes = &code, .offsets = offsets, .room = 1};
  bool done[TSR_JOB_VERBS] = {false};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->step_count; i++) {
    tsr_job_verb verb = job->steps[i].verb;
    if (!done[verb] && (!job->load || verb == TSR_JOB_FIND)) status = operate(job, verb, 1, &one, error);
    done[verb] = true;
  }
  return status == TSR_OK && !job->load ? tsr_clear(job->table, NULL, error) : status;
}

static tsr_status copy_in(const tsr_job *job, const tsr_job_step *step, const arrays *a, tsr_error *error) {
  const tsr_dataset *data = &step->data;
  tsr_status status = tsr_memory_copy(job->table, a->keys, data->keys, data->count * (job->key_bits / 8), error);
  if (status == TSR_OK && data->values)
    status = tsr_memory_copy(job->table, a->values, data->values, data->count * (job->value_bits / 8), error);
  return status;
}

/* How many values there are is known only when they are counted. */
static tsr_status make_room(const tsr_job *job, tsr_job_step *step, arrays *a, tsr_error *error) {
  const uint64_t n = step->data.count;
  tsr_status status = operate(job, step->verb, n, a, error);
  if (status == TSR_OK) status = tsr_memory_copy(job->table, &a->room, a->offsets + n, sizeof a->room, error);
  step->value_count = a->room;
  return status ? status : allocate(job->table, a->room * (job->value_bits / 8), &a->values, error);
}

static tsr_status allocate_rows(const tsr_job *job, tsr_job_step *step, uint64_t count, tsr_error *error) {
  step->row_count = count;
  step->found = malloc(count);
  if (job->value_bits) step->found_values = malloc(count * (job->value_bits / 8));
  if (job->is_multimap) step->row_keys = malloc(count * (job->key_bits / 8));
  if (step->found && (step->found_values || !job->value_bits) && (step->row_keys || !job->is_multimap)) return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %" PRIu64 " rows", step->path, count);
}

/* A row for each value of a key, or one for a key without. offsets, values: copies on the host. */
static tsr_status spread_rows(const tsr_job *job, tsr_job_step *step, const uint64_t *offsets, const char *values,
                              tsr_error *error) {
  const size_t key_bytes = job->key_bits / 8, value_bytes = job->value_bits / 8;
  const uint64_t n = step->data.count;
  uint64_t rows = offsets[n], row = 0;
  for (uint64_t i = 0; i < n; i++) rows += offsets[i + 1] == offsets[i];
  tsr_status status = allocate_rows(job, step, rows, error);
  for (uint64_t i = 0; status == TSR_OK && i < n; i++) {
    uint64_t at = offsets[i];
    do {
      const bool is_value = at < offsets[i + 1];
      memcpy((char *)step->row_keys + row * key_bytes, (const char *)step->data.keys + i * key_bytes, key_bytes);
      memset((char *)step->found_values + row * value_bytes, 0, value_bytes);
      if (is_value) memcpy((char *)step->found_values + row * value_bytes, values + at * value_bytes, value_bytes);
      step->found[row++] = is_value;
    } while (++at < offsets[i + 1]);
  }
  return status;
}

static tsr_status copy_all_out(const tsr_job *job, tsr_job_step *step, const arrays *a, tsr_error *error) {
  const uint64_t n = step->data.count, value_bytes = a->room * (job->value_bits / 8);
  uint64_t *offsets = malloc((n + 1) * sizeof *offsets);
  char *values = malloc(value_bytes + 1);
  tsr_status status = offsets && values
                          ? tsr_memory_copy(job->table, offsets, a->offsets, (n + 1) * sizeof *offsets, error)
                          : tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %" PRIu64 " values", step->path, a->room);
  if (status == TSR_OK && value_bytes) status = tsr_memory_copy(job->table, values, a->values, value_bytes, error);
  if (status == TSR_OK) status = spread_rows(job, step, offsets, values, error);
  free(values);
  free(offsets);
  return status;
}

/* What an insert handed back, in the order of the input. */
static tsr_status list_unplaced(tsr_job *job, const tsr_job_step *step, const arrays *a, tsr_error *error) {
  const uint64_t n = step->data.count, key_bytes = n * (job->key_bits / 8), value_bytes = n * (job->value_bits / 8);
  uint8_t *codes = malloc(n);
  char *keys = malloc(key_bytes), *values = malloc(value_bytes + 1);
  tsr_status status = codes && keys && values ? TSR_OK
                                              : tsr_fail(error, TSR_NO_MEMORY,
                                                         "%s: no memory to list the pairs that "
                                                         "found no room",
                                                         step->path);
  if (status == TSR_OK) status = tsr_memory_copy(job->table, codes, a->codes, n, error);
  if (status == TSR_OK) status = tsr_memory_copy(job->table, keys, a->unplaced_keys, key_bytes, error);
  if (status == TSR_OK && value_bytes)
    status = tsr_memory_copy(job->table, values, a->unplaced_values, value_bytes, error);
  if (status == TSR_OK)
    status = tsr_unplaced_take(&job->unplaced_pairs, step->report.not_placed, n, codes, keys, values, error);
  free(codes);
  free(keys);
  free(values);
  return status;
}

static tsr_status copy_out(const tsr_job *job, tsr_job_step *step, const arrays *a, tsr_error *error) {
  uint64_t n = step->data.count, value_bytes = n * (job->value_bits / 8);
  if (finds_all(job, step->verb)) return copy_all_out(job, step, a, error);
  tsr_status status = allocate_rows(job, step, n, error);
  if (status) return status;
  status = tsr_memory_copy(job->table, step->found, a->codes, n, error);
  if (status || !value_bytes) return status; /* contains writes 0 and 1 */
  for (uint64_t i = 0; i < n; i++) step->found[i] = step->found[i] == TSR_FOUND;
  return tsr_memory_copy(job->table, step->found_values, a->values, value_bytes, error);
}

static tsr_status timed(const tsr_job *job, tsr_job_step *step, const arrays *a, tsr_error *error) {
  tsr_status status = tsr_table_report_reset(job->table, error);
  if (status == TSR_OK) status = tsr_timer_start(job->table, NULL, error);
  if (status == TSR_OK) status = operate(job, step->verb, step->data.count, a, error);
  if (status == TSR_OK) status = tsr_timer_stop(job->table, NULL, &step->milliseconds, error);
  return status == TSR_OK ? tsr_table_report(job->table, &step->report, error) : status;
}

/* ---- The report ------------------------------------------------------------------------------ */

static void print_bytes(FILE *out, uint64_t bytes) {
  static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
  double shown = (double)bytes;
  size_t unit = 0;
  for (; shown >= 1000 && unit + 1 < sizeof units / sizeof units[0]; unit++) shown /= 1000;
  fprintf(out, unit ? "%.1f %s" : "%.0f %s", shown, units[unit]);
}

static void print_composition(const tsr_job *job) {
  static const char *const parts[] = {"layout", "probing", "hasher", "allocator"};
  FILE *out = job->report;
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  fprintf(out, "table    %s of %u-bit keys", setting(job, "kind", "?"), info.key_bits);
  if (info.value_bits) fprintf(out, " and %u-bit values", info.value_bits);
  if (job->keeps_all)
    fprintf(out, ", every pair kept\nparts    ");
  else
    fprintf(out, ", duplicates = %s\nparts    ", setting(job, "duplicates", "first"));
  for (size_t i = 0, shown = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (setting(job, parts[i], NULL))
      fprintf(out, "%s%s = %s", shown++ ? ", " : "", parts[i], setting(job, parts[i], ""));
  fprintf(out, "\nroom     %" PRIu64 " buckets of %u slots (%u bytes, %u lane%s) = %" PRIu64 " slots, ", info.buckets,
          info.bucket_slots, info.bucket_bytes, info.tile_lanes, info.tile_lanes == 1 ? "" : "s", info.slots);
  print_bytes(out, info.bytes);
  fprintf(out, "; capacity %" PRIu64 "%s\n", info.capacity,
          job->load && !job->was_rehashed  ? ", as saved"
          : job->load || has_capacity(job) ? ""
                                           : ", the size of the input");
  fprintf(out, "backend  %s on %s (%s%s)\n", info.backend, info.device,
          *info.backend_reason ? "auto: " : "as the spec says", info.backend_reason);
  fflush(out);
}

static void print_counts(const tsr_job *job, const tsr_job_step *step) {
  FILE *out = job->report;
  const tsr_report *r = &step->report;
  const tsr_dataset *data = &step->data;
  fprintf(out, "%-8s %s\n         ", verbs[step->verb], step->path);
  if (job->kmers)
    fprintf(out,
            "%" PRIu64 " record%s, %" PRIu64 " letters: %" PRIu64 " %u-mers read, %" PRIu64
            " skipped for other letters than ACGT\n         ",
            data->records, data->records == 1 ? "" : "s", data->bases, data->count, job->kmers, data->kmers_skipped);
  switch (step->verb) {
  case TSR_JOB_INSERT:
    fprintf(out, "%" PRIu64 " items: %" PRIu64 " inserted, %" PRIu64 " present, %" PRIu64 " not placed\n", data->count,
            r->inserted, r->insert_keys - r->inserted - r->not_placed, r->not_placed);
    break;
  case TSR_JOB_FIND:
    fprintf(out, "%" PRIu64 " queries: %" PRIu64 " found, %" PRIu64 " missing", data->count, r->found,
            r->find_keys - r->found);
    if (job->is_multimap) fprintf(out, "; %" PRIu64 " value%s", step->value_count, step->value_count == 1 ? "" : "s");
    fprintf(out, "\n");
    break;
  default:
    fprintf(out, "%" PRIu64 " items: %" PRIu64 " erased", data->count, r->erased);
    if (!job->keeps_all) fprintf(out, ", %" PRIu64 " missing", r->erase_keys - r->erased);
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
  if (info.statistics)
    fprintf(out, "%.3f probes a key, at most %" PRIu64 "; ", (double)probes[step->verb] / (double)step->data.count,
            most[step->verb]);
  if (r->insert_moves)
    fprintf(out, "%.3f evictions a key, at most %" PRIu64 "; ", (double)r->insert_moves / (double)step->data.count,
            r->insert_moves_max);
  if (milliseconds > 0) fprintf(out, "%.1f M op/s ", (double)step->data.count / milliseconds / 1000);
  fprintf(out, "in %.3f ms (kernel time, without copies)\n", milliseconds);
  fflush(out);
}

static tsr_status flush(const tsr_job *job, tsr_error *error) {
  uint64_t units;
  tsr_status status = tsr_flush(job->table, &units, error);
  if (status == TSR_OK) fprintf(job->report, "flush    %" PRIu64 " units given back\n", units);
  return status;
}

static tsr_status print_size(tsr_job *job, tsr_error *error) {
  tsr_table_info info = {0};
  const tsr_usage *usage = &job->usage;
  tsr_status status = tsr_table_usage(job->table, &job->usage, error);
  if (status) return status;
  tsr_table_describe(job->table, &info);
  fprintf(job->report, "size     %" PRIu64 " in %" PRIu64 " slots: load factor %.3f", usage->pairs, usage->slots,
          (double)usage->pairs / (double)usage->slots);
  if (usage->units)
    fprintf(job->report, "; units: %" PRIu64 ", memory utilization %.3f", usage->units, usage->utilization);
  if (usage->tombstones) fprintf(job->report, "; tombstones: %" PRIu64, usage->tombstones);
  fprintf(job->report, "\n");
  return TSR_OK;
}

/* ---- The job --------------------------------------------------------------------------------- */

static void say_not_placed(const tsr_job *job, const tsr_job_step *step) {
  tsr_table_info info = {0};
  tsr_table_describe(job->table, &info);
  tsr_say("%s: %" PRIu64 " of %" PRIu64 " pairs found no room in the table's %" PRIu64
          " slots: raise capacity (now %" PRIu64 ") or lower load_factor, let the table grow: --set "
          "table.growth=double, or, where a few are too many, add --set table.stash=1000 or raise [layout] "
          "bucket_slots%s",
          step->path, step->report.not_placed, step->data.count, info.slots, info.capacity,
          job->unplaced ? "" : "; --unplaced FILE lists the pairs");
}

/* Every pair is in the table or was handed back: the size grows by what was inserted and shrinks by what was erased. */
static tsr_status check_sums(const tsr_job *job, const tsr_job_step *step, uint64_t before, tsr_error *error) {
  const tsr_report *r = &step->report;
  const uint64_t asked = r->insert_keys + r->find_keys + r->erase_keys;
  const uint64_t answered =
      r->inserted + r->not_placed + r->found; /* of a multimap more pairs than keys may be erased */
  uint64_t after = 0;
  tsr_status status = tsr_size(job->table, &after, error);
  if (status) return status;
  if (asked != step->data.count || answered > asked)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: the sums do not agree: %" PRIu64 " keys, of which the table counted %" PRIu64 ": %" PRIu64
                    " inserted, %" PRIu64 " not placed, %" PRIu64
                    " found: a part breaks the contract, see `tessera conform`",
                    step->path, step->data.count, asked, r->inserted, r->not_placed, r->found);
  if (after != before + r->inserted - r->erased)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: the sums do not agree: %" PRIu64 " pairs before, %" PRIu64 " inserted, %" PRIu64
                    " erased, and the table holds %" PRIu64
                    ": a part lost pairs or made some, see `tessera conform FILE.so --stress 2^22`",
                    step->path, before, r->inserted, r->erased, after);
  return TSR_OK;
}

static tsr_status run_step(tsr_job *job, tsr_job_step *step, tsr_error *error) {
  arrays a = {.keys = NULL};
  tsr_say("%s: %" PRIu64 " keys", verbs[step->verb], step->data.count);
  uint64_t before = 0;
  tsr_status status = tsr_size(job->table, &before, error);
  if (status == TSR_OK) status = allocate_arrays(job, step, &a, error);
  if (status == TSR_OK) status = copy_in(job, step, &a, error);
  if (status == TSR_OK && finds_all(job, step->verb)) status = make_room(job, step, &a, error);
  if (status == TSR_OK) status = timed(job, step, &a, error);
  if (status == TSR_OK) {
    print_counts(job, step);
    print_speed(job, step);
    status = check_sums(job, step, before, error);
  }
  if (status == TSR_OK && step->report.not_placed) {
    say_not_placed(job, step);
    job->unplaced_count += step->report.not_placed;
    if (lists_unplaced(job, step->verb)) status = list_unplaced(job, step, &a, error);
  }
  if (status == TSR_OK && keeps_rows(job, step)) status = copy_out(job, step, &a, error);
  free_arrays(job->table, &a);
  if (step->verb != TSR_JOB_FIND) tsr_dataset_free(&step->data);
  return status;
}

static tsr_status write_rows(const tsr_job *job, tsr_error *error) {
  size_t count = 0;
  tsr_rows *blocks = calloc(job->step_count, sizeof *blocks);
  if (!blocks) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to write it", job->out);
  for (size_t i = 0; i < job->step_count; i++)
    if (job->steps[i].verb == TSR_JOB_FIND)
      blocks[count++] = (tsr_rows){.keys = job->steps[i].row_keys ? job->steps[i].row_keys : job->steps[i].data.keys,
                                   .values = job->steps[i].found_values,
                                   .found = job->steps[i].found,
                                   .count = job->steps[i].row_count,
                                   .key_bits = job->key_bits,
                                   .value_bits = job->value_bits};
  tsr_status status = tsr_rows_write(job->out, blocks, count, error);
  free(blocks);
  return status;
}

tsr_exit tsr_job_run(tsr_job *job) {
  tsr_error error;
  const char *outputs[] = {job->out, job->json, job->unplaced};
  job->report = stdout;
  for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
    if (outputs[i] && strcmp(outputs[i], "-") == 0) job->report = stderr;
  tsr_status status = check_spec(job, &error);
  if (status == TSR_OK) status = read_files(job, &error);
  if (status == TSR_OK) status = compose(job, &error);
  if (status == TSR_OK) {
    print_composition(job);
    status = warm_up(job, &error);
  }
  for (size_t i = 0; status == TSR_OK && i < job->step_count; i++) status = run_step(job, &job->steps[i], &error);
  if (status == TSR_OK && job->flushes) status = flush(job, &error);
  if (status == TSR_OK) status = print_size(job, &error);
  if (status == TSR_OK && job->save) status = tsr_table_save(job->table, job->save, &error);
  if (status == TSR_OK && job->out) status = write_rows(job, &error);
  if (status == TSR_OK && job->unplaced) status = tsr_unplaced_write(&job->unplaced_pairs, job->unplaced, &error);
  if (status) return tsr_say_error(status, &error);
  return job->unplaced_count ? TSR_EXIT_UNPLACED : TSR_EXIT_OK;
}

void tsr_job_free(tsr_job *job) {
  for (size_t i = 0; i < job->step_count; i++) {
    tsr_dataset_free(&job->steps[i].data);
    free(job->steps[i].row_keys);
    free(job->steps[i].found);
    free(job->steps[i].found_values);
  }
  tsr_unplaced_free(&job->unplaced_pairs);
  tsr_table_destroy(job->table);
  job->table = NULL;
}
