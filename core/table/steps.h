/* SPDX-License-Identifier: Apache-2.0
 *
 * Which steps the calls of a table are made of: for code that is made before it is needed (prepare.c), and for code that is
 * linked ahead (tools/ahead/link_recipes.c).
 */
#ifndef TSR_TABLE_STEPS_H
#define TSR_TABLE_STEPS_H

#include "core/compose/composition.h"
#include "core/cuda/link.h"
#include "core/kernels/steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A call of TSR_PREPARE_, and the operations that it is made of. */
typedef struct tsr_call_row {
  const char *name;
  uint32_t bit, operations[3], count;
  tsr_feature wants[2]; /* of the table */
} tsr_call_row;
enum { TSR_CALL_ROWS = 11 };
extern const tsr_call_row tsr_call_rows[TSR_CALL_ROWS];

/* Whether the table goes with the call. by: the function that asks. */
tsr_status tsr_call_row_check(const tsr_composition *table, const tsr_call_row *row, const char *by, tsr_error *error)
    TSR_MUST_CHECK;
/* The operation by which this table does one of a row: where pages travel nothing is noted (tsr_counts_by). */
uint32_t tsr_call_operation(const tsr_composition *table, uint32_t operation);

typedef struct tsr_step_list {
  const tsr_step *step[TSR_LINKS_MAX]; /* each once */
  uint32_t count;
} tsr_step_list;

/* Adds the steps of those calls (a sum of TSR_PREPARE_ values) that the table has. */
void tsr_steps_of_calls(const tsr_composition *table, uint32_t calls, tsr_step_list *list);

/* The same of the call that is made of this operation (TSR_BULK_) first. */
void tsr_steps_of_operation(const tsr_composition *table, uint32_t op, tsr_step_list *list);

/* The sets of steps that belong to no table, and that tables use; the last is NULL. */
extern const tsr_steps *const tsr_sets_of_no_table[];

#ifdef __cplusplus
}
#endif
#endif
