/* SPDX-License-Identifier: Apache-2.0
 *
 * Code made before it is needed (tsr_table_prepare, tsr_spec_prepare), and which operations each call is made of.
 */
#include <string.h>

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "core/compose/compose.h"
#include "core/cpu/compiler.h"
#include "core/cpu/fuse.h"
#include "core/cuda/link.h"
#include "core/kernels/cache.h"
#include "core/kernels/scan.h"
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

/* Inserts have more than one operation, by the table: what combines later, and the steps on pages. */
static tsr_status prepare_insert(tsr_table *t, tsr_program *program, tsr_error *error) {
  const tsr_composition *composition = t->store.composition;
  tsr_status status = TSR_OK;
  if (composition->facts.combines_later)
    status = t->backend->prepare(t->device, program, TSR_BULK_STEP(TSR_BULK_combine), error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(composition, step))
      status = t->backend->prepare(t->device, program, &tsr_pages_steps.step[step], error);
  return status;
}

/* What the values need in addition. A set of steps is loaded whole. */
static tsr_status prepare_further(tsr_table *t, uint32_t op, tsr_error *error) {
  uint32_t count = 0;
  const uint32_t *further = t->values->further ? t->values->further(op, &count) : NULL;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++)
    status = t->backend->prepare(t->device, t->store.code->program, TSR_BULK_STEP(further[i]), error);
  for (uint32_t i = 0; status == TSR_OK && count && i < TSR_VALUE_SETS_MAX; i++)
    if (t->values->sets[i]) status = t->backend->prepare(t->device, NULL, t->values->sets[i]->step, error);
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

static uint32_t operation_of(const tsr_table *t, uint32_t operation) {
  return operation == TSR_BULK_note ? tsr_counts_by(&t->store) : operation;
}

/* A backend may make several operations at once. */
static void expect_all(const tsr_table *t, uint32_t wanted) {
  uint32_t ops[TSR_BULKS], count = 0;
  for (uint32_t i = 0; i < CALLS; i++)
    for (uint32_t j = 0; (wanted & calls[i].bit) && j < calls[i].count && count < TSR_BULKS; j++)
      ops[count++] = operation_of(t, calls[i].operations[j]);
  tsr_launch_expect(t, ops, count, UINT64_MAX / 2);
}

/* Whether a large batch of this call is worked on in the order of zones. */
static bool uses_zones(const tsr_composition *t, const call *c) {
  return tsr_plan_has_zones(t, c->operations[0]) && tsr_plan_zone_batch(t, 0) != UINT64_MAX;
}

tsr_status tsr_single_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  tsr_program *program = t->store.code->program;
  const tsr_composition *composition = t->store.composition;
  tsr_status status = TSR_OK;
  expect_all(t, wanted);
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++) {
    const tsr_step *own[TSR_CACHE_STEPS_MAX];
    if (!(wanted & calls[i].bit)) continue;
    const uint32_t steps = tsr_cache_steps_of(composition->facts.score_bits != 0, calls[i].operations[0], own);
    for (uint32_t j = 0; status == TSR_OK && j < steps; j++)
      status = t->backend->prepare(t->device, program, own[j], error);
    if (steps) continue;
    /* lists that are made in bulk have no insert of a single pair: their steps are linked with the first batch */
    if (calls[i].bit == TSR_PREPARE_INSERT && t->store.composition->shape.has_lists) continue;
    for (uint32_t j = 0; status == TSR_OK && j < calls[i].count; j++)
      status = t->backend->prepare(t->device, program, TSR_BULK_STEP(operation_of(t, calls[i].operations[j])), error);
    if (status == TSR_OK && tsr_plan_marks(t->store.composition, calls[i].operations[0]))
      status = t->backend->prepare(t->device, program, TSR_BULK_STEP(TSR_BULK_mark), error);
    for (uint32_t step = 0; status == TSR_OK && step < TSR_ZONE_STEP_COUNT && uses_zones(composition, &calls[i]);
         step++)
      status = t->backend->prepare(t->device, program, &tsr_zone_steps.step[step], error);
    if (status == TSR_OK && calls[i].bit == TSR_PREPARE_FIND_ALL) /* it sums up counts */
      status = t->backend->prepare(t->device, NULL, &tsr_scan_steps.step[TSR_SCAN_tiles], error);
    if (status == TSR_OK && calls[i].bit == TSR_PREPARE_INSERT) status = prepare_insert(t, program, error);
    if (status == TSR_OK) status = prepare_further(t, calls[i].operations[0], error);
    if (status == TSR_OK && calls[i].bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->store.composition->shape))
      status = t->backend->prepare(t->device, program, TSR_BULK_STEP(TSR_BULK_apply_inserts), error);
  }
  return status;
}

/* ---- Without a device ------------------------------------------------------------------------ */

static tsr_status link_step(const tsr_composition *t, const tsr_step *step, tsr_code_cost *cost, tsr_error *error) {
  tsr_link made = {0};
  tsr_status status = tsr_cuda_link_step(t, step, true, &made, error);
  if (status) return status;
  if (made.kernels[0].registers > cost->registers) cost->registers = made.kernels[0].registers;
  cost->link_ms += made.glue_ms + made.link_ms;
  tsr_link_free(&made);
  return TSR_OK;
}

static tsr_status link_call(const tsr_composition *t, const call *c, tsr_code_cost *cost, tsr_error *error) {
  const bool inserts = c->bit == TSR_PREPARE_INSERT;
  const tsr_step *own[TSR_CACHE_STEPS_MAX];
  const uint32_t steps = tsr_cache_steps_of(t->facts.score_bits != 0, c->operations[0], own);
  tsr_status status = TSR_OK;
  for (uint32_t j = 0; status == TSR_OK && j < steps; j++) status = link_step(t, own[j], cost, error);
  if (status || steps) return status;
  for (uint32_t j = 0; status == TSR_OK && j < c->count && !(inserts && t->shape.has_lists); j++)
    status = link_step(t, TSR_BULK_STEP(c->operations[j]), cost, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->shape))
    status = link_step(t, TSR_BULK_STEP(TSR_BULK_apply_inserts), cost, error);
  if (status == TSR_OK && tsr_plan_marks(t, c->operations[0]))
    status = link_step(t, TSR_BULK_STEP(TSR_BULK_mark), cost, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_ZONE_STEP_COUNT && uses_zones(t, c); step++)
    status = link_step(t, &tsr_zone_steps.step[step], cost, error);
  uint32_t count = 0;
  const uint32_t *further = tsr_values_of(t)->further ? tsr_values_of(t)->further(c->operations[0], &count) : NULL;
  for (uint32_t j = 0; status == TSR_OK && j < count; j++)
    status = link_step(t, TSR_BULK_STEP(further[j]), cost, error);
  if (!inserts) return status;
  if (status == TSR_OK && t->facts.combines_later) status = link_step(t, TSR_BULK_STEP(TSR_BULK_combine), cost, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(t, step)) status = link_step(t, &tsr_pages_steps.step[step], cost, error);
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
  tsr_status status = tsr_take_over("tsr_spec_prepare", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_compose(spec, &known, sm, 1, &t, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++) {
    if (!(wanted & calls[i].bit)) continue;
    status = check_call(t, &calls[i], "tsr_spec_prepare", error);
    if (status == TSR_OK) status = link_call(t, &calls[i], &ours, error);
  }
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
