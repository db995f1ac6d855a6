/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of a table of one store (operate.h): their order, host arrays, and which launches each is made of. What an
 * operation does to a key is in kernels/decide.cuh. Read next: launch.h, stage.h, order.h.
 */
#include "core/table/operate.h"

#include "core/batch/group.h"
#include "core/batch/order.h"
#include "core/batch/sum.h"
#include "core/table/behind.h"
#include "core/table/cache.h"
#include "core/table/call.h"
#include "core/table/clean.h"
#include "core/table/enlarge.h"
#include "core/table/growth.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/single.h"
#include "core/table/stage.h"
#include "core/table/steps.h"
#include "core/table/values.h"

static bool is_plain(const tsr_stages *stages) {
  return stages->order == TSR_ORDER_NONE && stages->place == TSR_PLACE_RANDOM && !stages->group &&
         stages->mark != TSR_MARK_BLOCKS;
}

/* The steps of a call of this operation, and mostly an insert is followed by a find. *bulk: those of them that batches need
 * which are worked on as they come. */
static void list_steps(const tsr_composition *c, uint32_t op, tsr_step_list *all, tsr_step_list *bulk) {
  tsr_steps_of_operation(c, op, all);
  if (op == TSR_BULK_insert) tsr_steps_of_operation(c, c->shape.payload_bits ? TSR_BULK_find : TSR_BULK_contains, all);
  for (uint32_t i = 0; i < all->count; i++)
    if (all->step[i]->set == &tsr_bulk_steps) bulk->step[bulk->count++] = all->step[i];
}

/* Makes the code of a way of working when it is first gone: of all its steps at once, because a link keeps one core busy. What
 * is captured into a graph has its code: it was refused otherwise. */
static tsr_status prepare(const tsr_table *t, uint32_t op, const tsr_bulk *asked, const tsr_call_state *call,
                          tsr_error *error) {
  const uint32_t bit = 1u << op;
  tsr_code *code = t->store.code;
  if (!t->backend->is_prepared || code->plain & code->others & bit) return TSR_OK;
  const tsr_stages stages = tsr_launch_plan(t, &t->store, op, asked->n, tsr_wants_answers(asked), call);
  tsr_step_list all = {.count = 0}, bulk = {.count = 0};
  uint32_t *made = is_plain(&stages) ? &code->plain : &code->others;
  if (*made & bit) return TSR_OK;
  list_steps(t->store.composition, op, &all, &bulk);
  const tsr_step_list *list = made == &code->plain ? &bulk : &all;
  tsr_status status = TSR_OK;
  const bool is_there = t->backend->is_prepared(t->device, code->program, TSR_BULK_STEP(op));
  if (made == &code->others || (op == TSR_BULK_insert && !is_there))
    status = t->backend->prepare(t->device, code->program, list->step, list->count, error);
  if (status) return status;
  *made |= bit;
  if (all.count == bulk.count) code->plain |= bit, code->others |= bit;
  return TSR_OK;
}

static tsr_status launch(tsr_table *t, uint32_t op, const tsr_bulk *bulk, const tsr_call_state *call,
                         tsr_error *error) {
  const tsr_status status = prepare(t, op, bulk, call, error);
  return status ? status : tsr_launch(t, &t->store, op, bulk, call, error);
}

/* Counts each key's pairs, sums the counts to places, and writes the values there. The count may note a value of each key,
 * so that keys with one need no second walk. */
static tsr_status launch_gather(tsr_table *t, tsr_bulk *bulk, const tsr_call_state *call, tsr_error *error) {
  const uint32_t op = tsr_counts_by(&t->store);
  const uint64_t note_bytes =
      t->store.composition->facts.value_list_first ? sizeof(uint64_t) : t->store.composition->shape.payload_bits / 8;
  tsr_bulk counting = *bulk;
  void *notes = NULL;
  tsr_status status = TSR_OK;
  if (op == TSR_BULK_note && bulk->values_out && bulk->n)
    status = t->backend->allocate_in(t->device, bulk->n * note_bytes, call->stream, &notes, error);
  if (status) return status;
  counting.values_out = notes;
  status = launch(t, op, &counting, call, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, bulk->counts, bulk->n, call->stream, error);
  if (status == TSR_OK && bulk->values_out) {
    bulk->values = notes;
    bulk->tally = t->tallies + TSR_TALLY_UNREAD;
    status = launch(t, TSR_BULK_retrieve, bulk, call, error);
  }
  if (!notes) return status;
  const tsr_status freed = t->backend->free_in(t->device, notes, call->stream, status ? NULL : error);
  return status ? status : freed;
}

/* Inserts, and when no insert moves pairs any more combines what was offered for keys that were present
 * (kernels/ops.cuh). The results say which items are left to combine; where the caller wants none, there are some for that
 * while it takes. */
static tsr_status launch_insert_then_combine(tsr_table *t, tsr_bulk *bulk, const tsr_call_state *call,
                                             tsr_error *error) {
  static const uint32_t ops[] = {TSR_BULK_insert, TSR_BULK_combine};
  const bool has_results = bulk->results != NULL;
  tsr_status status = TSR_OK;
  tsr_launch_expect(t, ops, 2, bulk->n);
  if (!has_results) status = t->backend->allocate_in(t->device, bulk->n, call->stream, (void **)&bulk->results, error);
  if (status) return status;
  status = launch(t, TSR_BULK_insert, bulk, call, error);
  if (status == TSR_OK) status = tsr_call_leave(t, call, error);
  if (status == TSR_OK) status = tsr_call_enter(t, TSR_PHASE_COMBINE, call, error);
  if (status == TSR_OK) status = launch(t, TSR_BULK_combine, bulk, call, error);
  if (has_results) return status;
  tsr_status freed = t->backend->free_in(t->device, bulk->results, call->stream, status ? NULL : error);
  bulk->results = NULL;
  return status ? status : freed;
}

/* Inserts by random access, once what neighbouring items offer for one key is combined, where that pays (group.h). */
static tsr_status launch_insert_at_random(tsr_table *t, const tsr_stages *stages, const tsr_bulk *bulk,
                                          const tsr_call_state *call, tsr_error *error) {
  tsr_bulk made = *bulk;
  void *memory = NULL;
  tsr_status status = TSR_OK;
  const tsr_work work = tsr_work_on(t, &t->store, call->stream, error);
  if (stages->group & TSR_GROUP_SPANS) status = tsr_spans_make(&work, &made, &memory);
  if (status == TSR_OK)
    status = t->store.composition->facts.combines_later ? launch_insert_then_combine(t, &made, call, error)
                                                        : launch(t, TSR_BULK_insert, &made, call, error);
  if (!memory) return status;
  if (status == TSR_OK) status = tsr_spans_answer(&work, &made, memory);
  const tsr_status freed = t->backend->free_in(t->device, memory, call->stream, status ? NULL : error);
  return status ? status : freed;
}

/* Where inserts and erases take turns: its erases and finds, then its inserts. The items of a call have no order, so this
 * one is as good as any. */
static tsr_status launch_apply(tsr_table *t, tsr_bulk *bulk, const tsr_call_state *call, tsr_error *error) {
  tsr_status status = launch(t, TSR_BULK_apply, bulk, call, error);
  if (status == TSR_OK) status = tsr_call_leave(t, call, error);
  if (status == TSR_OK) status = tsr_call_enter(t, TSR_PHASE_INSERT, call, error);
  return status ? status : launch(t, TSR_BULK_apply_inserts, bulk, call, error);
}

/* Where the report counts the items of an operation; NULL: each as what it is, on the device. */
static uint64_t *counter_of(tsr_table *t, uint32_t op) {
  switch (op) {
  case TSR_BULK_insert:
  case TSR_BULK_find_or_insert:
    return &t->done.insert_keys;
  case TSR_BULK_erase:
  case TSR_BULK_erase_pair:
    return &t->done.erase_keys;
  case TSR_BULK_apply:
    return NULL;
  default:
    return &t->done.find_keys;
  }
}

static tsr_stages plan_of(const tsr_table *t, const tsr_request *r) {
  const bool has_answers = r->results || r->unplaced_keys || r->unplaced_values;
  tsr_stages stages = tsr_launch_plan(t, &t->store, r->op, r->n, has_answers, &r->call);
  if (r->is_folded) stages.group &= ~(uint32_t)TSR_GROUP_SPANS;
  return stages;
}

/* The launches that a request is made of. */
static tsr_status launch_all(tsr_table *t, const tsr_stages *stages, const tsr_request *r, tsr_bulk *bulk,
                             tsr_error *error) {
  if (r->op == TSR_BULK_retrieve) return launch_gather(t, bulk, &r->call, error);
  if (r->op == TSR_BULK_insert && stages->order != TSR_ORDER_PAGES)
    return launch_insert_at_random(t, stages, bulk, &r->call, error);
  if (r->op == TSR_BULK_apply && TSR_TAKES_TURNS(&t->store.composition->shape))
    return launch_apply(t, bulk, &r->call, error);
  return launch(t, r->op, bulk, &r->call, error);
}

static tsr_bulk bulk_of(const tsr_table *t, const tsr_request *r) {
  const uint32_t tally = r->op == TSR_BULK_retrieve ? TSR_BULK_count : r->op;
  return (tsr_bulk){.state = t->store.state,
                    .n = r->n,
                    .keys = r->keys,
                    .values = r->values,
                    .values_out = r->values_out,
                    .unplaced_keys = r->unplaced_keys,
                    .unplaced_values = r->unplaced_values,
                    .results = r->results,
                    .counts = r->counts,
                    .operations = r->operations,
                    .times = r->times,
                    .room = r->room,
                    .missing = r->missing,
                    .tells_presence = r->tells_presence,
                    .tally = r->tally ? r->tally : t->tallies + tally};
}

/* An operation whose arrays are on the device. */
static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const tsr_stages stages = plan_of(t, r);
  tsr_status status = tsr_call_enter(t, tsr_works_alone(&stages) ? TSR_PHASE_ALONE : r->phase, &r->call, error);
  if (status == TSR_OK) {
    tsr_bulk bulk = bulk_of(t, r);
    status = tsr_launch_tell_of_values(t, r->op, &bulk, r->call.stream, error);
    if (status == TSR_OK) status = launch_all(t, &stages, r, &bulk, error);
  }
  if (status == TSR_OK) status = tsr_call_leave(t, &r->call, error);
  return tsr_call_end(t, &r->call, r->tally ? NULL : counter_of(t, r->op), r->n, status);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* What the device has counted of inserts without a place. */
static tsr_status count_not_placed(const tsr_table *t, void *stream, uint64_t *pairs, tsr_error *error) {
  tsr_tally tally;
  tsr_status status = t->backend->copy(t->device, &tally, t->tallies + TSR_BULK_insert, sizeof tally, stream, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
  *pairs = tally.not_placed;
  return status;
}

static tsr_status insert_growing(tsr_table *t, const tsr_request *r, tsr_error *error) {
  uint64_t before = 0, after = 0;
  bool is_starved;
  if (!tsr_is_whole(&t->store.composition->shape)) return tsr_insert_growing(t, r, error);
  tsr_status status = tsr_enlarge_for(t, r->n, r->call.stream, &is_starved, error);
  if (status == TSR_OK && is_starved) status = count_not_placed(t, r->call.stream, &before, error);
  if (status == TSR_OK) status = tsr_operate_staged(t, r, operate, error);
  if (status == TSR_OK && is_starved) status = count_not_placed(t, r->call.stream, &after, error);
  t->done.ungrown += after - before;
  return status;
}

/* Where a value is written after its key it can be read when the inserts are done; so it is after growing. */
static tsr_status find_or_insert(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool grows = t->store.composition->settings.upkeep.growth != 0;
  const bool reads_later = r->values_out && (grows || !t->store.composition->shape.whole_pairs);
  tsr_request inserts = *r;
  if (reads_later) inserts.values_out = NULL;
  tsr_status status = grows ? insert_growing(t, &inserts, error) : operate(t, &inserts, error);
  if (status || !reads_later) return status;
  const tsr_request finds = {.op = TSR_BULK_find,
                             .phase = TSR_PHASE_FIND,
                             .n = r->n,
                             .keys = r->keys,
                             .values_out = r->values_out,
                             .missing = r->missing,
                             .is_reached = r->is_reached,
                             .call = r->call,
                             .tally = t->tallies + TSR_TALLY_UNREAD};
  return tsr_operate_staged(t, &finds, operate, error);
}

/* An insert into a table that grows is done in pieces, whose arrays growth.c stages. */
static bool grows(const tsr_table *t, const tsr_request *r) {
  return t->store.composition->settings.upkeep.growth && (r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert);
}

/* A request for what slots hold. */
static tsr_status operate_narrow(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool erases = r->op == TSR_BULK_erase || r->op == TSR_BULK_erase_pair || r->op == TSR_BULK_apply;
  if (erases) {
    t->store.state.has_erased = 1;
    t->values->note_erased(t);
  }
  if (r->op == TSR_BULK_apply) t->known.is_known = false;
  if (r->op == TSR_BULK_find_or_insert) return find_or_insert(t, r, error);
  return grows(t, r) ? insert_growing(t, r, error) : operate(t, r, error);
}

static tsr_status operate_cache(tsr_table *t, const tsr_request *r, tsr_error *error) {
  return tsr_cache_operate(t, r, operate_narrow, error);
}

static tsr_status operate_values(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_operation *const narrow = tsr_is_cache(t) ? operate_cache : operate_narrow;
  return t->values->operate ? t->values->operate(t, r, narrow, error) : narrow(t, r, error);
}

static tsr_status operate_reached(tsr_table *t, const tsr_request *r, tsr_error *error) {
  return tsr_writes_behind(t, r) ? tsr_operate_behind(t, r, operate_values, error) : operate_values(t, r, error);
}

/* A request of a call that has begun. */
static tsr_status operate_begun(tsr_table *t, const tsr_request *r, tsr_error *error) {
  if (t->values->operate || tsr_is_cache(t)) return tsr_operate_staged(t, r, operate_reached, error);
  return grows(t, r) ? operate_narrow(t, r, error) : tsr_operate_staged(t, r, operate_narrow, error);
}

tsr_status tsr_single_operate(tsr_table *t, const tsr_request *asked, tsr_error *error) {
  tsr_request r = *asked;
  if (r.n == 0 && r.op != TSR_BULK_retrieve) return TSR_OK; /* retrieving writes an offset for no key as well */
  tsr_status status = tsr_call_begin(t, &r, error);
  if (status == TSR_OK) status = tsr_clean(t, &r, error);
  return status ? status : operate_begun(t, &r, error);
}

tsr_status tsr_single_call(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const uint64_t before = t->done.ungrown;
  const tsr_status status = tsr_single_operate(t, r, error);
  return status ? status : tsr_growth_tell(t, t->done.ungrown - before, error);
}

tsr_request tsr_inserting(const tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
                          const tsr_call *call) {
  const bool has_values = t->store.composition->shape.value_bits > 0;
  return (tsr_request){.op = op,
                       .phase = TSR_PHASE_INSERT,
                       .n = n,
                       .keys = keys,
                       .values = has_values ? values : NULL,
                       .unplaced_keys = call->unplaced_keys,
                       .unplaced_values = has_values ? call->unplaced_values : NULL,
                       .results = call->results,
                       .missing = call->missing,
                       .use = {.scores = call->scores, .now = call->now},
                       .call.stream = call->stream};
}

tsr_status tsr_insert_counted(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) {
  tsr_tally *counters = t->tallies + TSR_TALLY_TOLD;
  *tally = (tsr_tally){.hits = 0};
  if (n == 0) return TSR_OK;
  tsr_request request = tsr_inserting(t, TSR_BULK_insert, n, keys, values, call);
  request.tally = counters;
  tsr_status status = t->backend->fill(t->device, counters, 0, sizeof *counters, call->stream, error);
  if (status == TSR_OK) status = operate_begun(t, &request, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, tally, counters, sizeof *tally, call->stream, error);
  return status ? status : t->backend->synchronize(t->device, call->stream, error);
}
