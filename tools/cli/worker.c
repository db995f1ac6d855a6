/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's work on chunks (worker.h).
 */
#include "tools/cli/worker.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/data_file.h"
#include "tools/cli/pairs.h"

/* ---- Arrays ---------------------------------------------------------------------------------- */

static bool keeps_rows(const tsr_worker *w, tsr_job_verb verb) {
  return verb == TSR_JOB_FIND && (w->out || w->job->listener.on_rows);
}

static bool lists_unplaced(const tsr_worker *w, tsr_job_verb verb) { return verb == TSR_JOB_INSERT && w->unplaced; }

/* Of a multimap a find gives all values of a key, of a set or multiset its number of pairs. */
static bool finds_values(const tsr_worker *w) { return w->job->kind.is_multimap; }

static bool finds_numbers(const tsr_worker *w) { return !w->job->value_bits; }

/* Of an index whose numbers have rows: files have these, and a find gives them. */
static bool has_rows(const tsr_worker *w) { return w->job->kind.is_index && w->job->value_bits > 64; }

static size_t key_bytes(const tsr_worker *w) { return w->job->reading.key_bits / 8; }

static size_t value_bytes(const tsr_worker *w) { return w->job->value_bits / 8; }

static tsr_status allocate(const tsr_worker *w, uint64_t bytes, void **memory, tsr_error *error) {
  return bytes ? tsr_memory_allocate(w->job->table, bytes, memory, error) : TSR_OK;
}

static void free_arrays(tsr_worker *w) {
  void *there[] = {w->keys, w->values, w->codes, w->numbers, w->unplaced_keys, w->unplaced_values};
  for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
    if (there[i]) tsr_memory_free(w->job->table, there[i]);
  free(w->host_codes);
  free(w->host_numbers);
  free(w->host_keys);
  free(w->host_values);
  w->room = 0;
  w->keys = w->values = w->codes = NULL;
  w->numbers = NULL;
  w->unplaced_keys = w->unplaced_values = NULL;
  w->host_codes = NULL;
  w->host_numbers = NULL;
  w->host_keys = w->host_values = NULL;
}

void tsr_worker_free(tsr_worker *worker) {
  free_arrays(worker);
  if (worker->all_values) tsr_memory_free(worker->job->table, worker->all_values);
  worker->all_values = NULL;
}

/* Makes room for chunks of n keys, whatever the operation. */
static tsr_status reserve(tsr_worker *w, uint64_t n, tsr_error *error) {
  const bool has_numbers = finds_values(w) || finds_numbers(w) || has_rows(w);
  const uint64_t unplaced = w->unplaced ? n : 0;
  void *codes = NULL, *numbers = NULL;
  if (n <= w->room) return TSR_OK;
  free_arrays(w);
  tsr_status status = allocate(w, n * key_bytes(w), &w->keys, error);
  if (status == TSR_OK) status = allocate(w, n * value_bytes(w), &w->values, error);
  if (status == TSR_OK) status = allocate(w, n, &codes, error);
  w->codes = codes;
  if (status == TSR_OK) status = allocate(w, has_numbers ? (n + 1) * sizeof *w->numbers : 0, &numbers, error);
  w->numbers = numbers;
  if (status == TSR_OK) status = allocate(w, unplaced * key_bytes(w), &w->unplaced_keys, error);
  if (status == TSR_OK) status = allocate(w, unplaced * value_bytes(w), &w->unplaced_values, error);
  if (status) return status;
  w->host_codes = malloc(n);
  w->host_numbers = malloc((n + 1) * sizeof *w->host_numbers);
  w->host_keys = malloc(n * key_bytes(w));
  w->host_values = malloc(n * value_bytes(w) + 1);
  if (!w->host_codes || !w->host_numbers || !w->host_keys || !w->host_values)
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for chunks of %" PRIu64 " keys", n);
  w->room = n;
  return TSR_OK;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static tsr_status find_rows(const tsr_worker *w, uint64_t n, const tsr_call *asked, tsr_error *error) {
  uint32_t *numbers = (uint32_t *)w->numbers;
  const tsr_call call = {.results = asked->results, .missing = UINT32_MAX};
  const tsr_status status = tsr_find(w->job->table, n, w->keys, numbers, &call, error);
  return status ? status : tsr_read_rows(w->job->table, n, numbers, w->values, NULL, error);
}

static tsr_status operate(const tsr_worker *w, tsr_job_verb verb, uint64_t n, tsr_error *error) {
  tsr_table *table = w->job->table;
  const bool has_codes = lists_unplaced(w, verb) || keeps_rows(w, verb);
  const tsr_call call = {
      .results = has_codes ? w->codes : NULL, .unplaced_keys = w->unplaced_keys, .unplaced_values = w->unplaced_values};
  switch (verb) {
  case TSR_JOB_INSERT:
    return tsr_insert(table, n, w->keys, w->job->kind.is_index && !has_rows(w) ? NULL : w->values, &call, error);
  case TSR_JOB_ERASE:
    return tsr_erase(table, n, w->keys, NULL, error);
  default:
    break;
  }
  if (finds_numbers(w)) return tsr_count_all(table, n, w->keys, w->numbers, NULL, error);
  if (finds_values(w)) return tsr_find_all(table, n, w->keys, w->numbers, w->value_room, w->all_values, NULL, error);
  if (has_rows(w)) return find_rows(w, n, &call, error);
  return tsr_find(table, n, w->keys, w->values, &call, error);
}

uint32_t tsr_worker_calls(const tsr_worker *worker) {
  const uint32_t finds = finds_numbers(worker)  ? TSR_PREPARE_COUNT_ALL
                         : finds_values(worker) ? TSR_PREPARE_FIND_ALL
                                                : TSR_PREPARE_FIND;
  const uint32_t of_verb[TSR_JOB_VERBS] = {
      [TSR_JOB_INSERT] = TSR_PREPARE_INSERT, [TSR_JOB_FIND] = finds, [TSR_JOB_ERASE] = TSR_PREPARE_ERASE};
  uint32_t calls = worker->job->kind.is_filter ? 0 : TSR_PREPARE_SIZE; /* its sums are checked */
  for (size_t i = 0; i < worker->job->step_count; i++) calls |= of_verb[worker->job->steps[i].verb];
  return calls;
}

/* A find with and one without codes are the same kernel. A loaded table allows finds only. */
tsr_status tsr_worker_warm_up(const tsr_worker *worker, tsr_error *error) {
  const tsr_job *job = worker->job;
  uint64_t key[2] = {0}, value[TSR_VALUE_BYTES_MAX / 8] = {0}, numbers[2]; /* a key has at most 128 bits */
  tsr_worker one = {.job = worker->job, .keys = key, .values = job->value_bits ? value : NULL, .numbers = numbers};
  bool done[TSR_JOB_VERBS] = {false};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->step_count; i++) {
    const tsr_job_verb verb = job->steps[i].verb;
    if (!done[verb] && (!job->load || verb == TSR_JOB_FIND)) status = operate(&one, verb, 1, error);
    done[verb] = true;
  }
  return status == TSR_OK && !job->load ? tsr_clear(job->table, NULL, error) : status;
}

/* A table that could not grow for want of memory has told of it by a status, and has handed back what found no room: that
 * is counted and listed as in any other full table. */
static tsr_status operate_or_be_full(const tsr_worker *w, tsr_job_verb verb, uint64_t n, tsr_error *error) {
  tsr_report report = {.size = 0};
  const tsr_status status = operate(w, verb, n, error);
  if (status != TSR_NO_MEMORY || verb != TSR_JOB_INSERT) return status;
  return tsr_table_report(w->job->table, &report, NULL) == TSR_OK && report.ungrown ? TSR_OK : status;
}

static tsr_status timed(const tsr_worker *w, tsr_job_verb verb, uint64_t n, tsr_report *report, double *milliseconds,
                        tsr_error *error) {
  tsr_table *table = w->job->table;
  tsr_status status = tsr_table_report_reset(table, error);
  if (status == TSR_OK) status = tsr_timer_start(table, NULL, error);
  if (status == TSR_OK) status = operate_or_be_full(w, verb, n, error);
  if (status == TSR_OK) status = tsr_timer_stop(table, NULL, milliseconds, error);
  return status == TSR_OK ? tsr_table_report(table, report, error) : status;
}

/* How many values there are is known only when they were counted: where there is no room for all, once more. */
static tsr_status find_values(tsr_worker *w, uint64_t n, tsr_report *report, double *milliseconds, tsr_error *error) {
  tsr_table *table = w->job->table;
  uint64_t total = 0;
  tsr_status status = timed(w, TSR_JOB_FIND, n, report, milliseconds, error);
  if (status == TSR_OK) status = tsr_memory_copy(table, &total, w->numbers + n, sizeof total, error);
  if (status || total <= w->value_room) return status;
  if (w->all_values) tsr_memory_free(table, w->all_values);
  w->all_values = NULL;
  w->value_room = 0;
  status = allocate(w, total * value_bytes(w), &w->all_values, error);
  if (status) return status;
  w->value_room = total;
  return timed(w, TSR_JOB_FIND, n, report, milliseconds, error);
}

/* ---- What happened --------------------------------------------------------------------------- */

static void raise_to(uint64_t *most, uint64_t other) { *most = *most > other ? *most : other; }

static void add_report(tsr_report *to, const tsr_report *more) {
  to->insert_keys += more->insert_keys;
  to->inserted += more->inserted;
  to->not_placed += more->not_placed;
  to->insert_paged += more->insert_paged;
  to->find_keys += more->find_keys;
  to->found += more->found;
  to->erase_keys += more->erase_keys;
  to->erased += more->erased;
  to->insert_probes += more->insert_probes;
  to->find_probes += more->find_probes;
  to->erase_probes += more->erase_probes;
  to->insert_moves += more->insert_moves;
  to->insert_lost_claims += more->insert_lost_claims;
  to->insert_stashed += more->insert_stashed;
  to->cleanings += more->cleanings;
  to->erased_slots = more->erased_slots;
  to->overflows += more->overflows;
  to->zoned += more->zoned;
  to->ungrown += more->ungrown;
  to->evicted += more->evicted;
  to->insert_long += more->insert_long;
  raise_to(&to->insert_scratch_bytes, more->insert_scratch_bytes);
  raise_to(&to->insert_probes_max, more->insert_probes_max);
  raise_to(&to->find_probes_max, more->find_probes_max);
  raise_to(&to->erase_probes_max, more->erase_probes_max);
  raise_to(&to->insert_moves_max, more->insert_moves_max);
  for (size_t i = 0; i < TSR_REPORT_BINS; i++) {
    to->insert_histogram[i] += more->insert_histogram[i];
    to->find_histogram[i] += more->find_histogram[i];
    to->erase_histogram[i] += more->erase_histogram[i];
  }
}

/* What an insert handed back, in the order of the input. */
static tsr_status list_unplaced(const tsr_worker *w, uint64_t n, tsr_error *error) {
  const size_t keys = key_bytes(w), values = w->job->kind.is_index ? 0 : value_bytes(w);
  tsr_rows rows = {.keys = w->host_keys,
                   .values = values ? w->host_values : NULL,
                   .key_bits = w->job->reading.key_bits,
                   .form = &w->job->form,
                   .value_bits = w->job->value_bits};
  tsr_status status = tsr_memory_copy(w->job->table, w->host_codes, w->codes, n, error);
  if (status == TSR_OK) status = tsr_memory_copy(w->job->table, w->host_keys, w->unplaced_keys, n * keys, error);
  if (status == TSR_OK && values)
    status = tsr_memory_copy(w->job->table, w->host_values, w->unplaced_values, n * values, error);
  if (status) return status;
  for (uint64_t i = 0; i < n; i++) {
    if (w->host_codes[i] != TSR_NOT_PLACED) continue;
    memmove(w->host_keys + rows.count * keys, w->host_keys + i * keys, keys);
    memmove(w->host_values + rows.count * values, w->host_values + i * values, values);
    rows.count++;
  }
  tsr_rows_add(w->unplaced, &rows);
  return TSR_OK;
}

static void put_rows(const tsr_worker *w, const tsr_rows *rows) {
  if (w->out) tsr_rows_add(w->out, rows);
  if (w->job->listener.on_rows) w->job->listener.on_rows(w->job->listener.context, rows);
}

/* A row a key: its value, if it was found. */
static tsr_status put_values(const tsr_worker *w, const tsr_chunk *chunk, tsr_error *error) {
  const uint64_t n = chunk->count;
  tsr_status status = tsr_memory_copy(w->job->table, w->host_codes, w->codes, n, error);
  if (status == TSR_OK) status = tsr_memory_copy(w->job->table, w->host_values, w->values, n * value_bytes(w), error);
  if (status) return status;
  for (uint64_t i = 0; i < n; i++) w->host_codes[i] = w->host_codes[i] == TSR_FOUND;
  const tsr_rows rows = {.keys = chunk->keys,
                         .values = w->host_values,
                         .found = w->host_codes,
                         .count = n,
                         .key_bits = w->job->reading.key_bits,
                         .form = &w->job->form,
                         .value_bits = w->job->value_bits};
  put_rows(w, &rows);
  return TSR_OK;
}

/* A row a key: its number of pairs. */
static tsr_status put_numbers(const tsr_worker *w, tsr_job_step *step, const tsr_chunk *chunk, tsr_error *error) {
  const uint64_t n = chunk->count;
  tsr_status status = tsr_memory_copy(w->job->table, w->host_numbers, w->numbers, n * sizeof *w->numbers, error);
  if (status) return status;
  for (uint64_t i = 0; i < n; i++) step->value_count += w->host_numbers[i];
  const tsr_rows rows = {.keys = chunk->keys,
                         .values = w->host_numbers,
                         .count = n,
                         .key_bits = w->job->reading.key_bits,
                         .form = &w->job->form,
                         .value_bits = 64};
  put_rows(w, &rows);
  return TSR_OK;
}

/* A row for each value of a key, or one for a key without. */
static tsr_status spread_rows(const tsr_worker *w, const tsr_chunk *chunk, const char *values, tsr_error *error) {
  const size_t keys = key_bytes(w), bytes = value_bytes(w);
  const uint64_t n = chunk->count, *offsets = w->host_numbers;
  uint64_t count = offsets[n], row = 0;
  for (uint64_t i = 0; i < n; i++) count += offsets[i + 1] == offsets[i];
  char *row_keys = malloc(count * keys), *row_values = malloc(count * bytes);
  uint8_t *found = malloc(count);
  const bool has_memory = row_keys && row_values && found;
  for (uint64_t i = 0; has_memory && i < n; i++) {
    uint64_t at = offsets[i];
    do {
      const bool is_value = at < offsets[i + 1];
      memcpy(row_keys + row * keys, (const char *)chunk->keys + i * keys, keys);
      memset(row_values + row * bytes, 0, bytes);
      if (is_value) memcpy(row_values + row * bytes, values + at * bytes, bytes);
      found[row++] = is_value;
    } while (++at < offsets[i + 1]);
  }
  const tsr_rows rows = {.keys = row_keys,
                         .values = row_values,
                         .found = found,
                         .count = count,
                         .key_bits = w->job->reading.key_bits,
                         .form = &w->job->form,
                         .value_bits = w->job->value_bits};
  if (has_memory) put_rows(w, &rows);
  free(found);
  free(row_values);
  free(row_keys);
  return has_memory ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for %" PRIu64 " rows", count);
}

static tsr_status put_all_values(const tsr_worker *w, const tsr_chunk *chunk, tsr_error *error) {
  const uint64_t n = chunk->count;
  tsr_status status = tsr_memory_copy(w->job->table, w->host_numbers, w->numbers, (n + 1) * sizeof *w->numbers, error);
  if (status) return status;
  const uint64_t bytes = w->host_numbers[n] * value_bytes(w);
  char *values = malloc(bytes + 1);
  if (!values) return tsr_fail(error, TSR_NO_MEMORY, "no memory for %" PRIu64 " values", w->host_numbers[n]);
  if (bytes) status = tsr_memory_copy(w->job->table, values, w->all_values, bytes, error);
  if (status == TSR_OK) status = spread_rows(w, chunk, values, error);
  free(values);
  return status;
}

static tsr_status put_found(const tsr_worker *w, tsr_job_step *step, const tsr_chunk *chunk, tsr_error *error) {
  if (finds_numbers(w))
    return keeps_rows(w, step->verb) || w->job->kind.keeps_all ? put_numbers(w, step, chunk, error) : TSR_OK;
  if (finds_values(w)) {
    uint64_t total = 0;
    tsr_status status = tsr_memory_copy(w->job->table, &total, w->numbers + chunk->count, sizeof total, error);
    step->value_count += total;
    return status == TSR_OK && keeps_rows(w, step->verb) ? put_all_values(w, chunk, error) : status;
  }
  return keeps_rows(w, step->verb) ? put_values(w, chunk, error) : TSR_OK;
}

/* What all processes have read and counted. The most probes of one key are this one's. */
static tsr_status add_up_report(const tsr_worker *w, uint64_t *keys, tsr_report *r, tsr_error *error) {
  uint64_t *const counts[] = {keys,
                              &r->insert_keys,
                              &r->inserted,
                              &r->not_placed,
                              &r->insert_paged,
                              &r->find_keys,
                              &r->found,
                              &r->erase_keys,
                              &r->erased,
                              &r->overflows,
                              &r->ungrown,
                              &r->zoned,
                              &r->insert_long,
                              &r->insert_probes,
                              &r->find_probes,
                              &r->erase_probes,
                              &r->insert_moves};
  enum { COUNT = sizeof counts / sizeof *counts };
  uint64_t sums[COUNT];
  for (size_t i = 0; i < COUNT; i++) sums[i] = *counts[i];
  const tsr_status status = tsr_ranks_add_up(&w->job->ranks, COUNT, sums, error);
  for (size_t i = 0; status == TSR_OK && i < COUNT; i++) *counts[i] = sums[i];
  return status;
}

tsr_status tsr_worker_do(tsr_worker *worker, tsr_job_step *step, const tsr_chunk *chunk, tsr_error *error) {
  tsr_worker *w = worker;
  tsr_table *table = w->job->table;
  const bool finds = step->verb == TSR_JOB_FIND, finds_all = finds && finds_values(w);
  const uint64_t n = chunk->count;
  uint64_t keys = n;
  tsr_report report = {.size = 0};
  double milliseconds = 0;
  tsr_status status = reserve(w, n, error);
  if (status == TSR_OK) status = tsr_memory_copy(table, w->keys, chunk->keys, n * key_bytes(w), error);
  if (status == TSR_OK && chunk->values)
    status = tsr_memory_copy(table, w->values, chunk->values, n * value_bytes(w), error);
  if (status == TSR_OK)
    status = finds_all ? find_values(w, n, &report, &milliseconds, error)
                       : timed(w, step->verb, n, &report, &milliseconds, error);
  if (status == TSR_OK) status = add_up_report(w, &keys, &report, error);
  if (status) return status;
  step->count += keys;
  step->milliseconds += milliseconds;
  add_report(&step->report, &report);
  if (report.not_placed && lists_unplaced(w, step->verb)) return list_unplaced(w, n, error);
  return finds && !w->job->ranks.rank ? put_found(w, step, chunk, error) : TSR_OK;
}
