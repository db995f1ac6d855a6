/* SPDX-License-Identifier: Apache-2.0
 *
 * Code made before it is needed (tsr_table_prepare, tsr_spec_prepare), and which operations each call is made of.
 */
#include "core/table/prepare.h"

#include <string.h>

#include "core/batch/match.h"
#include "core/batch/plan.h"
#include "core/batch/split.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "core/compose/compose.h"
#include "core/cpu/compiler.h"
#include "core/cpu/fuse.h"
#include "core/kernels/aggregate.h"
#include "core/kernels/cache.h"
#include "core/kernels/numbering.h"
#include "core/kernels/scan.h"
#include "core/kernels/wide.h"
#include "core/sized.h"
#include "core/table/launch.h"
#include "core/table/single.h"
#include "core/table/values.h"
#include "core/tessera_tools.h"

typedef struct call {
  const char *name;
  uint32_t bit, operations[3], count;
  tsr_feature wants[2]; /* of the table */
} call;

static const call calls[] = {
    {"tsr_insert", TSR_PREPARE_INSERT, {TSR_BULK_insert}, 1, {TSR_HAS_NOTHING}},
    {"tsr_find", TSR_PREPARE_FIND, {TSR_BULK_find}, 1, {TSR_HAS_CALL_FIND}},
    {"tsr_contains", TSR_PREPARE_CONTAINS, {TSR_BULK_contains}, 1, {TSR_HAS_NOTHING}},
    {"tsr_count_all", TSR_PREPARE_COUNT_ALL, {TSR_BULK_count}, 1, {TSR_HAS_NOTHING}},
    {"tsr_find_all", TSR_PREPARE_FIND_ALL, {TSR_BULK_note, TSR_BULK_retrieve}, 2, {TSR_HAS_CALL_FIND_ALL}},
    {"tsr_erase", TSR_PREPARE_ERASE, {TSR_BULK_erase}, 1, {TSR_HAS_CALL_KEYS}},
    {"tsr_erase_pairs",
     TSR_PREPARE_ERASE_PAIRS,
     {TSR_BULK_erase_pair},
     1,
     {TSR_HAS_CALL_KEYS, TSR_HAS_CALL_ERASE_PAIRS}},
    {"tsr_find_or_insert",
     TSR_PREPARE_FIND_OR_INSERT,
     {TSR_BULK_find_or_insert},
     1,
     {TSR_HAS_CALL_KEYS, TSR_HAS_CALL_FIND_OR_INSERT}},
    {"tsr_apply", TSR_PREPARE_APPLY, {TSR_BULK_apply}, 1, {TSR_HAS_CALL_APPLY}},
    {"tsr_size", TSR_PREPARE_SIZE, {TSR_BULK_size}, 1, {TSR_HAS_CALL_KEYS}},
    {"tsr_export", TSR_PREPARE_EXPORT, {TSR_BULK_size, TSR_BULK_export}, 2, {TSR_HAS_CALL_KEYS}},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* Whether the table goes with the call. by: the function that asks. */
static tsr_status check_call(const tsr_composition *t, const call *c, const char *by, tsr_error *error) {
  char name[64];
  tsr_status status = TSR_OK;
  snprintf(name, sizeof name, "%s: %s", by, c->name);
  for (size_t i = 0; status == TSR_OK && i < sizeof c->wants / sizeof c->wants[0]; i++)
    status = tsr_compatible_call(&t->settings.traits, c->wants[i], name, error);
  return status;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

TSR_STEPS(tsr_group_steps) /* of batch/groups.h, some of whose names are those of plan.h */

const tsr_steps *const tsr_sets_of_no_table[] = {
    &tsr_scan_steps,  &tsr_match_steps, &tsr_aggregate_steps, &tsr_group_steps,
    &tsr_split_steps, &tsr_wide_steps,  &tsr_numbering_steps, NULL};

static void add(tsr_step_list *list, const tsr_step *step) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->step[i] == step) return;
  if (list->count < TSR_LINKS_MAX) list->step[list->count++] = step;
}

/* Inserts have more than one operation, by the table: what combines later, and the steps on pages. */
static void list_insert(const tsr_composition *t, tsr_step_list *list) {
  if (t->facts.combines_later) add(list, TSR_BULK_STEP(TSR_BULK_combine));
  for (uint32_t step = 0; step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(t, step)) add(list, &tsr_pages_steps.step[step]);
}

/* Whether a large batch of this call is worked on in the order of zones. */
static bool uses_zones(const tsr_composition *t, const call *c) {
  return tsr_plan_has_zones(t, c->operations[0]) && tsr_plan_zone_batch(t, 0) != UINT64_MAX;
}

/* As tsr_counts_by says of a store. */
static uint32_t operation_of(const tsr_composition *t, uint32_t operation) {
  return operation == TSR_BULK_note && t->window_pages ? TSR_BULK_count : operation;
}

static void list_call(const tsr_composition *t, const call *c, tsr_step_list *list) {
  const bool inserts = c->bit == TSR_PREPARE_INSERT;
  const tsr_step *own[TSR_CACHE_STEPS_MAX];
  const uint32_t steps = tsr_cache_steps_of(t->facts.score_bits != 0, c->operations[0], own);
  for (uint32_t i = 0; i < steps; i++) add(list, own[i]);
  if (steps) return;
  /* lists that are made in bulk have no insert of a single pair */
  for (uint32_t i = 0; i < c->count && !(inserts && t->shape.has_lists); i++)
    add(list, TSR_BULK_STEP(operation_of(t, c->operations[i])));
  if (c->bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->shape)) add(list, TSR_BULK_STEP(TSR_BULK_apply_inserts));
  if (tsr_plan_marks(t, c->operations[0])) add(list, TSR_BULK_STEP(TSR_BULK_mark));
  for (uint32_t step = 0; step < TSR_ZONE_STEP_COUNT && uses_zones(t, c); step++) add(list, &tsr_zone_steps.step[step]);
  uint32_t count = 0;
  const uint32_t *further = tsr_values_of(t)->further ? tsr_values_of(t)->further(c->operations[0], &count) : NULL;
  for (uint32_t i = 0; i < count; i++) add(list, TSR_BULK_STEP(further[i]));
  if (inserts) list_insert(t, list);
}

void tsr_prepare_list(const tsr_composition *t, uint32_t wanted, tsr_step_list *list) {
  for (uint32_t i = 0; i < CALLS; i++)
    if (wanted & calls[i].bit && check_call(t, &calls[i], "", NULL) == TSR_OK) list_call(t, &calls[i], list);
}

void tsr_prepare_operation(const tsr_composition *t, uint32_t op, tsr_step_list *list) {
  for (uint32_t i = 0; i < CALLS; i++)
    if (calls[i].operations[0] == op) tsr_prepare_list(t, calls[i].bit, list);
}

/* ---- Of a table ------------------------------------------------------------------------------ */

/* The sets of no table that a call needs. A set is loaded whole. */
static tsr_status prepare_sets(tsr_table *t, const call *c, tsr_error *error) {
  uint32_t count = 0;
  const tsr_step *scan = &tsr_scan_steps.step[TSR_SCAN_tiles];
  tsr_status status = TSR_OK;
  if (t->values->further) t->values->further(c->operations[0], &count);
  if (c->bit == TSR_PREPARE_FIND_ALL) /* it sums up counts */
    status = t->backend->prepare(t->device, NULL, &scan, 1, error);
  for (uint32_t i = 0; status == TSR_OK && count && i < TSR_VALUE_SETS_MAX; i++)
    if (t->values->sets[i]) status = t->backend->prepare(t->device, NULL, &t->values->sets[i]->step, 1, error);
  return status;
}

tsr_status tsr_table_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: the table is NULL");
  if (wanted >> CALLS)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: calls = %u: a sum of TSR_PREPARE_ is at most %u",
                    wanted, (1u << CALLS) - 1u);
  for (uint32_t i = 0; i < CALLS; i++) {
    if (!(wanted & calls[i].bit)) continue;
    tsr_status status = check_call(t->store.composition, &calls[i], "tsr_table_prepare", error);
    if (status) return status;
  }
  return t->methods->prepare(t, wanted, error);
}

/* A backend may make several operations at once. */
static void expect_all(const tsr_table *t, uint32_t wanted) {
  uint32_t ops[TSR_BULKS], count = 0;
  for (uint32_t i = 0; i < CALLS; i++)
    for (uint32_t j = 0; (wanted & calls[i].bit) && j < calls[i].count && count < TSR_BULKS; j++)
      ops[count++] = operation_of(t->store.composition, calls[i].operations[j]);
  tsr_launch_expect(t, ops, count, UINT64_MAX / 2);
}

tsr_status tsr_single_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  tsr_step_list list = {.count = 0};
  expect_all(t, wanted);
  tsr_prepare_list(t->store.composition, wanted, &list);
  tsr_status status = t->backend->prepare(t->device, t->store.code->program, list.step, list.count, error);
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++)
    if (wanted & calls[i].bit) status = prepare_sets(t, &calls[i], error);
  return status;
}

/* ---- Without a device ------------------------------------------------------------------------ */

static tsr_status link_list(const tsr_composition *t, const tsr_step_list *list, tsr_code_cost *cost,
                            tsr_error *error) {
  tsr_link made[TSR_LINKS_MAX];
  tsr_status status = tsr_cuda_link_steps(t, list->step, list->count, true, made, error);
  for (uint32_t i = 0; status == TSR_OK && i < list->count; i++) {
    if (made[i].kernels[0].registers > cost->registers) cost->registers = made[i].kernels[0].registers;
    cost->link_ms += made[i].glue_ms + made[i].link_ms;
    tsr_link_free(&made[i]);
  }
  return status;
}

tsr_status tsr_spec_prepare(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t wanted,
                            tsr_code_cost *cost, tsr_error *error) {
  if (!spec || !sm || wanted >> CALLS)
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "tsr_spec_prepare needs a spec, a compute capability and a sum of TSR_PREPARE_, which is at most %u",
        (1u << CALLS) - 1u);
  tsr_composition *t;
  tsr_options known;
  tsr_code_cost ours = {0};
  tsr_step_list list = {.count = 0};
  tsr_status status = tsr_take_over("tsr_spec_prepare", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_compose(spec, &known, sm, 1, &t, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++) {
    if (!(wanted & calls[i].bit)) continue;
    status = check_call(t, &calls[i], "tsr_spec_prepare", error);
  }
  tsr_prepare_list(t, wanted, &list);
  if (status == TSR_OK) status = link_list(t, &list, &ours, error);
  tsr_composition_free(t);
  if (status == TSR_OK && cost) tsr_hand_over(cost, &ours, sizeof ours);
  return status;
}

/* ---- For CPUs without a compiler ------------------------------------------------------------- */

static tsr_status fuse_call(const tsr_composition *t, const call *c, const char *folder, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t j = 0; status == TSR_OK && j < c->count; j++)
    status = tsr_fuse_ahead(t, c->operations[j], folder, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_INSERT && t->facts.combines_later)
    status = tsr_fuse_ahead(t, TSR_BULK_combine, folder, error);
  uint32_t count = 0;
  const uint32_t *further = tsr_values_of(t)->further ? tsr_values_of(t)->further(c->operations[0], &count) : NULL;
  for (uint32_t j = 0; status == TSR_OK && j < count; j++) status = tsr_fuse_ahead(t, further[j], folder, error);
  return status;
}

tsr_status tsr_spec_fuse(const tsr_spec *spec, const tsr_options *options, uint32_t wanted, const char *folder,
                         tsr_error *error) {
  if (!spec || !folder || wanted >> CALLS)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_spec_fuse needs a spec, a folder and a sum of TSR_PREPARE_, which is at most %u",
                    (1u << CALLS) - 1u);
  tsr_composition *t;
  tsr_options known;
  tsr_status status = tsr_take_over("tsr_spec_fuse", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_compose(spec, &known, 0, 1, &t, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++)
    if (wanted & calls[i].bit && check_call(t, &calls[i], "", NULL) == TSR_OK)
      status = fuse_call(t, &calls[i], folder, error);
  tsr_composition_free(t);
  return status;
}

const char *tsr_compiler(const char *backend) {
  const char *line = strcmp(backend, "cuda") == 0 ? tsr_cuda_linker_line() : tsr_compiler_line();
  return line ? line : "";
}
