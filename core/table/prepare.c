/* SPDX-License-Identifier: Apache-2.0
 *
 * Code made before it is needed (tsr_table_prepare, tsr_spec_prepare): which operations each call is made of.
 */
#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/compose/compose.h"
#include "core/cpu/fuse.h"
#include "core/cuda/link.h"
#include "core/sized.h"
#include "core/table/form.h"
#include "core/table/launch.h"
#include "core/tessera_tools.h"

typedef struct call {
  const char *name;
  uint32_t bit, operations[3], count;
} call;

static const call calls[] = {{"tsr_insert", TSR_PREPARE_INSERT, {TSR_BULK_insert}, 1},
                             {"tsr_find", TSR_PREPARE_FIND, {TSR_BULK_find}, 1},
                             {"tsr_contains", TSR_PREPARE_CONTAINS, {TSR_BULK_contains}, 1},
                             {"tsr_count_all", TSR_PREPARE_COUNT_ALL, {TSR_BULK_count}, 1},
                             {"tsr_find_all", TSR_PREPARE_FIND_ALL, {TSR_BULK_note, TSR_BULK_retrieve}, 2},
                             {"tsr_erase", TSR_PREPARE_ERASE, {TSR_BULK_erase}, 1},
                             {"tsr_erase_pairs", TSR_PREPARE_ERASE_PAIRS, {TSR_BULK_erase_pair}, 1},
                             {"tsr_find_or_insert", TSR_PREPARE_FIND_OR_INSERT, {TSR_BULK_find_or_insert}, 1},
                             {"tsr_apply", TSR_PREPARE_APPLY, {TSR_BULK_apply}, 1},
                             {"tsr_size", TSR_PREPARE_SIZE, {TSR_BULK_size}, 1},
                             {"tsr_export", TSR_PREPARE_EXPORT, {TSR_BULK_size, TSR_BULK_export}, 2}};
enum { CALLS = sizeof calls / sizeof calls[0] };

static const char *why_not(const tsr_shape *shape, uint32_t bit) {
  const uint32_t of_filter = TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS | TSR_PREPARE_COUNT_ALL;
  if (shape->kind == TSR_KIND_FILTER && !(bit & of_filter)) return "needs keys, which a filter does not keep";
  const bool looks =
      TSR_POLICY_LOOKS(shape->duplicates) && !TSR_POLICY_COUNTS(shape->duplicates) && shape->kind != TSR_KIND_MULTIMAP;
  if (bit == TSR_PREPARE_APPLY && shape->concurrency != TSR_CONCURRENCY_MIXED) return "is for concurrency = mixed";
  if ((bit == TSR_PREPARE_FIND || bit == TSR_PREPARE_FIND_ALL) && !shape->value_bits)
    return "is for tables with values";
  if (bit == TSR_PREPARE_FIND_OR_INSERT && !looks)
    return "is for tables that look for keys when they insert, and count none";
  return NULL;
}

/* Inserts have more than one operation, by the table: what combines later, and the steps on pages. */
static tsr_status prepare_insert(tsr_table *t, tsr_program *program, tsr_error *error) {
  const tsr_composition *composition = t->store.composition;
  tsr_status status = TSR_OK;
  if (composition->facts.combines_later) status = t->backend->prepare(program, TSR_BULK_combine, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(composition, step)) status = t->backend->prepare(program, TSR_BULKS + step, error);
  return status;
}

tsr_status tsr_table_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: the table is NULL");
  if (wanted >> CALLS)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: calls = %u: a sum of TSR_PREPARE_ is at most %u",
                    wanted, (1u << CALLS) - 1u);
  for (uint32_t i = 0; i < CALLS; i++) {
    const char *why = wanted & calls[i].bit ? why_not(&t->store.composition->shape, calls[i].bit) : NULL;
    if (why)
      return tsr_fail(error, TSR_UNSUPPORTED, "tsr_table_prepare: %s %s, which this one is not", calls[i].name, why);
  }
  return t->form->prepare(t, wanted, error);
}

static uint32_t operation_of(const tsr_table *t, uint32_t operation) {
  return operation == TSR_BULK_note ? tsr_counts_by(&t->store) : operation;
}

tsr_status tsr_single_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  tsr_program *program = t->store.code->program;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < CALLS; i++) {
    if (!(wanted & calls[i].bit)) continue;
    /* lists that are made in bulk have no insert of a single pair: their steps are linked with the first batch */
    if (calls[i].bit == TSR_PREPARE_INSERT && t->store.composition->shape.has_lists) continue;
    for (uint32_t j = 0; status == TSR_OK && j < calls[i].count; j++)
      status = t->backend->prepare(program, operation_of(t, calls[i].operations[j]), error);
    if (status == TSR_OK && tsr_plan_marks(t->store.composition, calls[i].operations[0]))
      status = t->backend->prepare(program, TSR_BULK_mark, error);
    if (status == TSR_OK && calls[i].bit == TSR_PREPARE_INSERT) status = prepare_insert(t, program, error);
    if (status == TSR_OK && calls[i].bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->store.composition->shape))
      status = t->backend->prepare(program, TSR_BULK_apply_inserts, error);
  }
  return status;
}

/* ---- Without a device ------------------------------------------------------------------------ */

/* Adds one kernel's link. */
static tsr_status link_one(const tsr_composition *t, const tsr_kernels *kernels, tsr_code_cost *cost,
                           tsr_error *error) {
  tsr_link made = {0};
  tsr_status status = tsr_cuda_link(&t, 1, kernels, t->shape.sm, true, &made, error);
  if (status) return status;
  if (made.kernels[0].registers > cost->registers) cost->registers = made.kernels[0].registers;
  cost->link_ms += made.glue_ms + made.link_ms;
  tsr_link_free(&made);
  return TSR_OK;
}

static tsr_status link_operation(const tsr_composition *t, uint32_t operation, tsr_code_cost *cost, tsr_error *error) {
  tsr_kernels kernels;
  tsr_status status = tsr_bulk_kernels(t->shape.key_bits, t->shape.payload_bits, operation, 1, &kernels, error);
  return status ? status : link_one(t, &kernels, cost, error);
}

static tsr_status link_step(const tsr_composition *t, uint32_t step, tsr_code_cost *cost, tsr_error *error) {
  const tsr_composition of_pages = tsr_composition_of_pages(t, step == TSR_PAGES_insert);
  tsr_kernels kernels;
  tsr_status status = tsr_pages_kernels(t->shape.key_bits, t->shape.payload_bits, step, &kernels, error);
  return status ? status : link_one(&of_pages, &kernels, cost, error);
}

static tsr_status link_call(const tsr_composition *t, const call *c, tsr_code_cost *cost, tsr_error *error) {
  const bool inserts = c->bit == TSR_PREPARE_INSERT;
  tsr_status status = TSR_OK;
  for (uint32_t j = 0; status == TSR_OK && j < c->count && !(inserts && t->shape.has_lists); j++)
    status = link_operation(t, c->operations[j], cost, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->shape))
    status = link_operation(t, TSR_BULK_apply_inserts, cost, error);
  if (status == TSR_OK && tsr_plan_marks(t, c->operations[0])) status = link_operation(t, TSR_BULK_mark, cost, error);
  if (!inserts) return status;
  if (status == TSR_OK && t->facts.combines_later) status = link_operation(t, TSR_BULK_combine, cost, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(t, step)) status = link_step(t, step, cost, error);
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
    const char *why = why_not(&t->shape, calls[i].bit);
    status =
        why ? tsr_fail(error, TSR_UNSUPPORTED, "tsr_spec_prepare: %s %s, which this one is not", calls[i].name, why)
            : link_call(t, &calls[i], &ours, error);
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
    if (wanted & calls[i].bit && !why_not(&t->shape, calls[i].bit)) status = fuse_call(t, &calls[i], folder, error);
  tsr_composition_free(t);
  return status;
}
