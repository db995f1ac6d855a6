/* SPDX-License-Identifier: Apache-2.0
 *
 * Caches (cache.h).
 */
#include "core/table/cache.h"

#include "core/kernels/cache.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/order.h"
#include "core/tessera_tools.h"

bool tsr_is_cache(const tsr_table *t) { return t->store.composition->settings.kind == TSR_KIND_CACHE; }

static const tsr_step *step_of(uint32_t which) { return &tsr_cache_steps.step[which]; }

static tsr_status step(const tsr_table *t, uint32_t which, const tsr_cache_run *run, void *stream, tsr_error *error) {
  return t->backend->step(t->device, t->store.code->program, step_of(which), run, run->n, stream, error);
}

/* ---- Inserts and finds ----------------------------------------------------------------------- */

static tsr_cache_run run_of(const tsr_table *t, const tsr_request *r) {
  return (tsr_cache_run){.bulk = {.state = t->store.state,
                                  .n = r->n,
                                  .keys = r->keys,
                                  .values = r->values,
                                  .values_out = r->values_out,
                                  .unplaced_keys = r->unplaced_keys,
                                  .unplaced_values = r->unplaced_values,
                                  .results = r->results,
                                  .missing = r->missing,
                                  .tells_presence = r->tells_presence || r->op == TSR_BULK_contains,
                                  .tally = r->tally ? r->tally : t->tallies + r->op},
                         .n = r->n,
                         .given = r->use.scores,
                         .now = r->use.now,
                         .touches = r->op == TSR_BULK_find && !r->use.peeks,
                         .finds_first = r->op == TSR_BULK_find_or_insert};
}

/* A look that is no use leaves the clock alone, unless it brings one. */
static tsr_status run_steps(const tsr_table *t, const tsr_request *r, tsr_error *error) {
  const tsr_cache_run run = run_of(t, r);
  tsr_status status = TSR_OK;
  if (tsr_cache_puts(r->op) || run.touches || run.now) {
    tsr_cache_run tick = run;
    tick.n = 1;
    status = step(t, TSR_CACHE_tick, &tick, r->call.stream, error);
  }
  return status ? status : step(t, tsr_cache_puts(r->op) ? TSR_CACHE_put : TSR_CACHE_find, &run, r->call.stream, error);
}

tsr_status tsr_cache_operate(tsr_table *t, const tsr_request *r, tsr_operation *narrow, tsr_error *error) {
  uint64_t *const counter = tsr_cache_puts(r->op) ? &t->done.insert_keys : &t->done.find_keys;
  if (!tsr_cache_puts(r->op) && !tsr_cache_finds(r->op)) return narrow(t, r, error);
  if (tsr_cache_puts(r->op)) {
    t->store.is_clear = false;
    t->store.held += r->n;
  }
  tsr_status status = tsr_call_enter(t, r->phase, &r->call, error);
  if (status == TSR_OK) status = run_steps(t, r, error);
  if (status == TSR_OK) status = tsr_call_leave(t, &r->call, error);
  return tsr_call_end(t, &r->call, r->tally ? NULL : counter, r->n, status);
}

/* ---- The report ------------------------------------------------------------------------------ */

tsr_status tsr_cache_read_evicted(tsr_table *t, bool resets, uint64_t *evicted, tsr_error *error) {
  tsr_cache_head *head = t->store.state.part[TSR_ROLE_LAYOUT].region[t->store.composition->facts.score_region];
  tsr_status status = t->backend->copy(t->device, evicted, &head->evicted, sizeof *evicted, NULL, error);
  if (status == TSR_OK && resets)
    status = t->backend->fill(t->device, &head->evicted, 0, sizeof head->evicted, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

/* ---- Pairs by their scores ------------------------------------------------------------------- */

static tsr_status check(tsr_table *t, const char *call, const tsr_scored *asked, tsr_scored *known, tsr_error *error) {
  tsr_status status = t ? TSR_OK : tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the table is NULL", call);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_SCORES, call, error);
  if (status == TSR_OK) status = tsr_take_over(call, known, asked, sizeof *known, error);
  if (status == TSR_OK && known->lowest > known->highest)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: lowest = %u is more than highest = %u: no score is between", call,
                      known->lowest, known->highest);
  tsr_request r = {.op = TSR_CALL_NUMBERS};
  return status ? status : tsr_call_begin(t, &r, error);
}

/* arrays: NULL: pairs are only counted, or erased. Waits. */
static tsr_status sweep(tsr_table *t, uint32_t how, const tsr_scored *asked, tsr_array *arrays, uint64_t *count,
                        tsr_error *error) {
  tsr_tally *tally = t->tallies + TSR_TALLY_TOLD, told = {.hits = 0};
  tsr_cache_run run = {
      .bulk = {.state = t->store.state, .room = asked->room, .tally = tally},
      .n = tsr_composition_refs(t->store.composition),
      .lowest = asked->lowest,
      .highest = asked->highest,
      .sweep = how,
  };
  if (arrays) {
    run.bulk.keys_out = arrays[0].devices;
    run.bulk.values_out = arrays[1].devices;
    run.scores_out = arrays[2].devices;
  }
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = t->backend->fill(t->device, tally, 0, sizeof *tally, NULL, error);
  if (status == TSR_OK) status = step(t, TSR_CACHE_sweep, &run, NULL, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, &told, tally, sizeof told, NULL, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status == TSR_OK) status = tsr_table_leave(t, NULL, error);
  if (status == TSR_OK && count) *count = told.hits;
  return status;
}

/* Where pairs that are exported go: values that are rows come by their numbers. */
static tsr_status export(tsr_table *t, const tsr_scored *known, uint64_t count, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint32_t key_bytes = shape->key_bits / 8, value_bytes = shape->value_bits / 8;
  const bool are_apart = t->values->are_apart && known->values;
  void *numbers = NULL;
  tsr_array arrays[] = {
      {.callers = known->keys, .bytes = count * key_bytes, .word = key_bytes, .use = TSR_ARRAY_WRITTEN},
      {.callers = value_bytes && !are_apart ? known->values : NULL,
       .bytes = count * value_bytes,
       .word = value_bytes,
       .use = TSR_ARRAY_WRITTEN},
      {.callers = known->scores, .bytes = count * sizeof(uint32_t), sizeof(uint32_t), .use = TSR_ARRAY_WRITTEN}};
  tsr_status status = TSR_OK;
  if (are_apart) status = t->backend->allocate(t->device, count * value_bytes + 1, &numbers, error);
  if (status) return status;
  status = tsr_stage_in(t, arrays, 3, NULL, error);
  if (are_apart) arrays[1].devices = numbers;
  if (status == TSR_OK) status = sweep(t, TSR_SWEEP_EXPORT, known, arrays, NULL, error);
  if (are_apart) arrays[1].devices = NULL;
  status = tsr_stage_out(t, arrays, 3, NULL, status, error);
  if (status == TSR_OK && are_apart) status = t->values->read(t, count, numbers, known->values, 0, error);
  if (numbers) t->backend->free(t->device, numbers);
  return status;
}

tsr_status tsr_erase_if(tsr_table *t, const tsr_scored *scores, uint64_t *erased, tsr_error *error) {
  TSR_WRITES(t);
  tsr_scored known;
  uint64_t count = 0;
  tsr_status status = check(t, "tsr_erase_if", scores, &known, error);
  if (status) return status;
  t->store.state.has_erased = 1;
  t->values->note_erased(t);
  status = sweep(t, TSR_SWEEP_ERASE, &known, NULL, &count, error);
  t->done.erase_keys += count;
  t->done.swept += count;
  if (status == TSR_OK && erased) *erased = count;
  return status;
}

tsr_status tsr_export_if(tsr_table *t, const tsr_scored *scores, uint64_t *count, tsr_error *error) {
  TSR_WRITES(t);
  tsr_scored known;
  tsr_status status = check(t, "tsr_export_if", scores, &known, error);
  if (status) return status;
  if (!count) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export_if needs a place for the count");
  status = sweep(t, TSR_SWEEP_COUNT, &known, NULL, count, error);
  if (status || (!known.keys && !known.values && !known.scores)) return status;
  if (*count > known.room)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export_if: there are %llu such pairs, the arrays have room for %llu",
                    (unsigned long long)*count, (unsigned long long)known.room);
  return export(t, &known, *count, error);
}
