/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations (bulk.h) as steps of a table. There are no ranges here: what the CPU does is in the program that
 * the cpu backend makes of a table.
 */
#include "core/kernels/bulk.h"

#include "core/kernels/steps.h"

static void fit_turns(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_bulk *bulk = argument;
  if (TSR_TAKES_TURNS(table)) grid->block_items = TSR_TURN_ITEMS(bulk->n);
}

#define TAKES_TURNS_IN(op) (TSR_BULK_##op == TSR_BULK_apply || TSR_BULK_##op == TSR_BULK_apply_inserts)
/* A word on both sides of the operation's name, so that no name contains another. */
#define ROW(op)                                                                                                        \
  {.set = &tsr_bulk_steps,                                                                                             \
   .kernel = "tsr_" #op "_kernel",                                                                                     \
   .roomier = {"tsr_medium_" #op "_kernel", "tsr_roomy_" #op "_kernel"},                                               \
   .late_bytes = TSR_BULK_##op == TSR_BULK_find ? 64 : 0,                                                              \
   .grid = {.block_items = TSR_BULK_##op == TSR_BULK_combine ? TSR_COMBINE_ITEMS : 0},                                 \
   .fit = TAKES_TURNS_IN(op) ? fit_turns : NULL},
static const tsr_step steps[] = {TSR_BULK_OPS(ROW)};
extern const tsr_image tsr_bulk_images[]; /* built by core/BUILD from launch.cu */
const tsr_steps tsr_bulk_steps = {.images = tsr_bulk_images, .step = steps, .count = TSR_BULKS};
