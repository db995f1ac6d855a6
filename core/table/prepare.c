/* SPDX-License-Identifier: Apache-2.0
 *
 * Code made before it is needed (tsr_table_prepare, tsr_spec_prepare), by steps.h.
 */
#include <string.h>

#include "core/batch/match.h"
#include "core/batch/plan.h"
#include "core/compose/compose.h"
#include "core/cpu/compiler.h"
#include "core/cpu/fuse.h"
#include "core/cuda/link.h"
#include "core/kernels/aggregate.h"
#include "core/kernels/bulk.h"
#include "core/kernels/scan.h"
#include "core/sized.h"
#include "core/table/hold.h"
#include "core/table/launch.h"
#include "core/table/single.h"
#include "core/table/steps.h"
#include "core/table/values.h"
#include "core/tessera_tools.h"

TSR_STEPS(tsr_group_steps) /* ../batch/groups.h, of whose names plan.h has one as well */

/* ---- Of a table ------------------------------------------------------------------------------ */

/* The sets of no table that a call needs. A set is loaded whole. */
static tsr_status prepare_sets(tsr_table *t, const tsr_call_row *c, tsr_error *error) {
  uint32_t count = 0;
  const tsr_step *scan = &tsr_scan_steps.step[TSR_SCAN_tiles], *aggregate = tsr_aggregate_steps.step;
  const tsr_step *unique[] = {tsr_group_steps.step, scan};
  tsr_status status = TSR_OK;
  if (t->values->further) t->values->further(c->operations[0], &count);
  if (c->bit == TSR_PREPARE_FIND_ALL) /* it sums up counts */
    status = t->backend->prepare(t->device, NULL, &scan, 1, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_FIND_OR_INSERT && t->device->info.sm &&
      t->store.composition->settings.kind == TSR_KIND_INDEX) /* of tsr_unique */
    status = t->backend->prepare(t->device, NULL, unique, 2, error);
  if (status == TSR_OK && tsr_launch_tells_of_values(t) && c->operations[0] != TSR_BULK_find)
    status = t->backend->prepare(t->device, NULL, &aggregate, 1, error);
  for (uint32_t i = 0; status == TSR_OK && count && i < TSR_VALUE_SETS_MAX; i++)
    if (t->values->sets[i]) status = t->backend->prepare(t->device, NULL, &t->values->sets[i]->step, 1, error);
  return status;
}

tsr_status tsr_table_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: the table is NULL");
  if (wanted >> TSR_CALL_ROWS)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_prepare: calls = %u: a sum of TSR_PREPARE_ is at most %u",
                    wanted, (1u << TSR_CALL_ROWS) - 1u);
  for (uint32_t i = 0; i < TSR_CALL_ROWS; i++) {
    if (!(wanted & tsr_call_rows[i].bit)) continue;
    tsr_status status = tsr_call_row_check(t->store.composition, &tsr_call_rows[i], "tsr_table_prepare", error);
    if (status) return status;
  }
  return t->methods->prepare(t, wanted, error);
}

/* A backend may make several operations at once. */
static void expect_all(const tsr_table *t, uint32_t wanted) {
  uint32_t ops[TSR_BULKS], count = 0;
  for (uint32_t i = 0; i < TSR_CALL_ROWS; i++)
    for (uint32_t j = 0; (wanted & tsr_call_rows[i].bit) && j < tsr_call_rows[i].count && count < TSR_BULKS; j++)
      ops[count++] = tsr_call_operation(t->store.composition, tsr_call_rows[i].operations[j]);
  tsr_launch_expect(t, ops, count, UINT64_MAX / 2);
}

tsr_status tsr_single_prepare(tsr_table *t, uint32_t wanted, tsr_error *error) {
  tsr_step_list list = {.count = 0};
  expect_all(t, wanted);
  tsr_steps_of_calls(t->store.composition, wanted, &list);
  tsr_status status = t->backend->prepare(t->device, t->store.code->program, list.step, list.count, error);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_CALL_ROWS; i++)
    if (wanted & tsr_call_rows[i].bit) status = prepare_sets(t, &tsr_call_rows[i], error);
  return status;
}

tsr_status tsr_single_prepare_splits(tsr_table *t, tsr_error *error) {
  const tsr_step *sketches[] = {&tsr_match_steps.step[TSR_MATCH_sketch]};
  const bool splits = t->store.composition->settings.upkeep.growth == TSR_GROWTH_SPLIT;
  if (!splits || !t->device->info.sm) return TSR_OK; /* the CPU has function tables until a compiler has made code */
  tsr_status status = tsr_single_prepare(t, TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS, error);
  return status ? status : t->backend->prepare(t->device, NULL, sketches, 1, error);
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
  if (!spec || !sm || wanted >> TSR_CALL_ROWS)
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "tsr_spec_prepare needs a spec, a compute capability and a sum of TSR_PREPARE_, which is at most %u",
        (1u << TSR_CALL_ROWS) - 1u);
  tsr_composition *t;
  tsr_options known;
  tsr_code_cost ours = {0};
  tsr_step_list list = {.count = 0};
  tsr_status status = tsr_take_over("tsr_spec_prepare", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_compose(spec, &known, sm, 1, &t, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < TSR_CALL_ROWS; i++) {
    if (!(wanted & tsr_call_rows[i].bit)) continue;
    status = tsr_call_row_check(t, &tsr_call_rows[i], "tsr_spec_prepare", error);
  }
  tsr_steps_of_calls(t, wanted, &list);
  if (status == TSR_OK) status = link_list(t, &list, &ours, error);
  tsr_composition_free(t);
  if (status == TSR_OK && cost) tsr_hand_over(cost, &ours, sizeof ours);
  return status;
}

/* ---- For CPUs without a compiler ------------------------------------------------------------- */

static tsr_status fuse_call(const tsr_composition *t, const tsr_call_row *c, tsr_code_target target, const char *folder,
                            tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t j = 0; status == TSR_OK && j < c->count; j++)
    status = tsr_fuse_ahead(t, c->operations[j], target, folder, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_INSERT && t->facts.combines_later)
    status = tsr_fuse_ahead(t, TSR_BULK_combine, target, folder, error);
  if (status == TSR_OK && c->bit == TSR_PREPARE_INSERT && t->settings.upkeep.growth == TSR_GROWTH_SPLIT)
    status = tsr_fuse_ahead(t, TSR_BULK_split, target, folder, error);
  if (status == TSR_OK && tsr_plan_marks(t, c->operations[0]))
    status = tsr_fuse_ahead(t, TSR_BULK_mark, target, folder, error);
  uint32_t count = 0;
  const uint32_t *further = tsr_values_of(t)->further ? tsr_values_of(t)->further(c->operations[0], &count) : NULL;
  for (uint32_t j = 0; status == TSR_OK && j < count; j++)
    status = tsr_fuse_ahead(t, further[j], target, folder, error);
  return status;
}

static tsr_status target_of(uint32_t level, tsr_code_target *target, tsr_error *error) {
  *target = level == 2 ? TSR_CODE_V2 : TSR_CODE_V3;
  if ((level == 0 || level == 2 || level == 3) && tsr_compiler_knows(*target)) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "tsr_spec_fuse: level = %u: is 2 or 3, for x86-64-v2 and x86-64-v3, or 0 on any processor", level);
}

tsr_status tsr_spec_fuse(const tsr_spec *spec, const tsr_options *options, uint32_t wanted, uint32_t level,
                         const char *folder, tsr_error *error) {
  if (!spec || !folder || wanted >> TSR_CALL_ROWS)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_spec_fuse needs a spec, a folder and a sum of TSR_PREPARE_, which is at most %u",
                    (1u << TSR_CALL_ROWS) - 1u);
  tsr_composition *t;
  tsr_options known;
  tsr_code_target target;
  tsr_status status = tsr_take_over("tsr_spec_fuse", &known, options, sizeof known, error);
  if (status == TSR_OK) status = target_of(level, &target, error);
  if (status == TSR_OK) status = tsr_compose(spec, &known, 0, 1, &t, error);
  if (status) return status;
  for (uint32_t i = 0; status == TSR_OK && i < TSR_CALL_ROWS; i++)
    if (wanted & tsr_call_rows[i].bit && tsr_call_row_check(t, &tsr_call_rows[i], "", NULL) == TSR_OK)
      status = fuse_call(t, &tsr_call_rows[i], target, folder, error);
  tsr_composition_free(t);
  return status;
}

const char *tsr_compiler(const char *backend) {
  const char *line = strcmp(backend, "cuda") == 0 ? tsr_cuda_linker_line() : tsr_compiler_line();
  return line ? line : "";
}
