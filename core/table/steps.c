/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.h.
 */
#include "core/table/steps.h"

#include <stdio.h>

#include "core/batch/match.h"
#include "core/batch/plan.h"
#include "core/batch/split.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "core/kernels/aggregate.h"
#include "core/kernels/cache.h"
#include "core/kernels/key_parts.h"
#include "core/kernels/numbering.h"
#include "core/kernels/scan.h"
#include "core/kernels/wide.h"
#include "core/table/values.h"
#include "core/tessera_tools.h"

const tsr_call_row tsr_call_rows[TSR_CALL_ROWS] = {
    {"tsr_insert", TSR_PREPARE_INSERT, {TSR_BULK_insert}, 1, {TSR_HAS_NOTHING}},
    {"tsr_find", TSR_PREPARE_FIND, {TSR_BULK_find}, 1, {TSR_HAS_CALL_FIND}},
    {"tsr_contains", TSR_PREPARE_CONTAINS, {TSR_BULK_contains}, 1, {TSR_HAS_NOTHING}},
    {"tsr_count_all", TSR_PREPARE_COUNT_ALL, {TSR_BULK_count}, 1, {TSR_HAS_NOTHING}},
    {"tsr_find_all", TSR_PREPARE_FIND_ALL, {TSR_BULK_note, TSR_BULK_retrieve}, 2, {TSR_HAS_CALL_FIND_ALL}},
    {"tsr_erase", TSR_PREPARE_ERASE, {TSR_BULK_erase}, 1, {TSR_HAS_CALL_ERASE}},
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

/* Whether the table goes with the call. by: the function that asks. */
tsr_status tsr_call_row_check(const tsr_composition *t, const tsr_call_row *c, const char *by, tsr_error *error) {
  char name[64];
  tsr_status status = TSR_OK;
  snprintf(name, sizeof name, "%s: %s", by, c->name);
  for (size_t i = 0; status == TSR_OK && i < sizeof c->wants / sizeof c->wants[0]; i++)
    status = tsr_compatible_call(&t->settings.traits, c->wants[i], name, error);
  return status;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

TSR_STEPS(tsr_group_steps) /* of batch/groups.h, some of whose names are those of plan.h */

const tsr_steps *const tsr_sets_of_no_table[] = {&tsr_scan_steps,      &tsr_match_steps,     &tsr_aggregate_steps,
                                                 &tsr_group_steps,     &tsr_split_steps,     &tsr_wide_steps,
                                                 &tsr_numbering_steps, &tsr_key_parts_steps, NULL};

static void add(tsr_step_list *list, const tsr_step *step) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->step[i] == step) return;
  if (list->count < TSR_LINKS_MAX) list->step[list->count++] = step;
}

/* Inserts have more than one operation, by the table: what combines later, and the steps on pages. */
static void list_insert(const tsr_composition *t, tsr_step_list *list) {
  if (t->facts.combines_later) add(list, TSR_BULK_STEP(TSR_BULK_combine));
  if (t->settings.upkeep.growth == TSR_GROWTH_SPLIT) add(list, TSR_BULK_STEP(TSR_BULK_split));
  for (uint32_t step = 0; step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(t, step)) add(list, &tsr_pages_steps.step[step]);
}

/* Whether a large batch of this call is worked on in the order of zones. */
static bool uses_zones(const tsr_composition *t, const tsr_call_row *c) {
  return tsr_plan_has_zones(t, c->operations[0]) && tsr_plan_zone_batch(t, 0) != UINT64_MAX;
}

/* As tsr_counts_by says of a store. */
uint32_t tsr_call_operation(const tsr_composition *t, uint32_t operation) {
  return operation == TSR_BULK_note && t->window_pages ? TSR_BULK_count : operation;
}

static void list_call(const tsr_composition *t, const tsr_call_row *c, tsr_step_list *list) {
  const bool inserts = c->bit == TSR_PREPARE_INSERT;
  const tsr_step *own[TSR_CACHE_STEPS_MAX];
  const uint32_t steps = tsr_cache_steps_of(t->facts.score_bits != 0, c->operations[0], own);
  for (uint32_t i = 0; i < steps; i++) add(list, own[i]);
  if (steps) return;
  /* lists that are made in bulk have no insert of a single pair */
  for (uint32_t i = 0; i < c->count && !(inserts && t->shape.has_lists); i++)
    add(list, TSR_BULK_STEP(tsr_call_operation(t, c->operations[i])));
  if (c->bit == TSR_PREPARE_APPLY && TSR_TAKES_TURNS(&t->shape)) add(list, TSR_BULK_STEP(TSR_BULK_apply_inserts));
  if (tsr_plan_marks(t, c->operations[0])) add(list, TSR_BULK_STEP(TSR_BULK_mark));
  for (uint32_t step = 0; step < TSR_ZONE_STEP_COUNT && uses_zones(t, c); step++) add(list, &tsr_zone_steps.step[step]);
  uint32_t count = 0;
  const uint32_t *further = tsr_values_of(t)->further ? tsr_values_of(t)->further(c->operations[0], &count) : NULL;
  for (uint32_t i = 0; i < count; i++) add(list, TSR_BULK_STEP(further[i]));
  if (inserts) list_insert(t, list);
}

void tsr_steps_of_calls(const tsr_composition *t, uint32_t wanted, tsr_step_list *list) {
  for (uint32_t i = 0; i < TSR_CALL_ROWS; i++)
    if (wanted & tsr_call_rows[i].bit && tsr_call_row_check(t, &tsr_call_rows[i], "", NULL) == TSR_OK)
      list_call(t, &tsr_call_rows[i], list);
}

void tsr_steps_of_operation(const tsr_composition *t, uint32_t op, tsr_step_list *list) {
  for (uint32_t i = 0; i < TSR_CALL_ROWS; i++)
    if (tsr_call_rows[i].operations[0] == op) tsr_steps_of_calls(t, tsr_call_rows[i].bit, list);
}
