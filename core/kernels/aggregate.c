/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of aggregate.h as data.
 */
#include "core/kernels/aggregate.h"

#define RANGE(step) TSR_STEP_RANGE(step##_range, tsr_aggregate_step, tsr_aggregate_##step##_item)
TSR_AGGREGATE_STEPS(RANGE)

#define ROW(step_) {.set = &tsr_aggregate_steps, .kernel = "tsr_aggregate_" #step_ "_kernel", .range = step_##_range},
static const tsr_step steps[] = {TSR_AGGREGATE_STEPS(ROW)};
extern const tsr_image tsr_aggregate_images[];
const tsr_steps tsr_aggregate_steps = {
    .images = tsr_aggregate_images, .step = steps, .count = TSR_AGGREGATE_STEP_COUNT};
