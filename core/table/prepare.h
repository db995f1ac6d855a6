/* SPDX-License-Identifier: Apache-2.0
 *
 * Which steps the calls of a table are made of: for code that is made before it is needed (prepare.c), and for code that is
 * linked ahead (tools/link_recipes.c).
 */
#ifndef TSR_TABLE_PREPARE_H
#define TSR_TABLE_PREPARE_H

#include "core/compose/composition.h"
#include "core/cuda/link.h"
#include "core/kernels/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_step_list {
  const tsr_step *step[TSR_LINKS_MAX]; /* each once */
  uint32_t count;
} tsr_step_list;

/* Adds the steps of those calls (a sum of TSR_PREPARE_ values) that the table has. */
void tsr_prepare_list(const tsr_composition *table, uint32_t calls, tsr_step_list *list);

/* The same of the call that is made of this operation (TSR_BULK_) first. */
void tsr_prepare_operation(const tsr_composition *table, uint32_t op, tsr_step_list *list);

/* The sets of steps that belong to no table, and that tables use; the last is NULL. */
extern const tsr_steps *const tsr_sets_of_no_table[];

#ifdef __cplusplus
}
#endif
#endif
