/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of key_parts.h as data.
 */
#include "core/kernels/key_parts.h"

#define RANGE(step) TSR_STEP_RANGE(step##_range, tsr_key_parts_run, tsr_key_parts_##step##_item)
TSR_KEY_PART_STEPS(RANGE)

#define ROW(step_) {.set = &tsr_key_parts_steps, .kernel = "tsr_key_parts_" #step_, .range = step_##_range},
static const tsr_step steps[] = {TSR_KEY_PART_STEPS(ROW)};
extern const tsr_image tsr_key_parts_images[];
const tsr_steps tsr_key_parts_steps = {.images = tsr_key_parts_images, .step = steps, .count = TSR_KEY_PART_STEP_COUNT};
