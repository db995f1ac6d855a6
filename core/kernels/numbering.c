/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of numbering.h as data.
 */
#include "core/kernels/numbering.h"

#define RANGE(step) TSR_STEP_RANGE(step##_range, tsr_numbering_run, tsr_numbering_##step##_item)
TSR_NUMBERING_STEPS(RANGE)

#define ROW(step_) {.set = &tsr_numbering_steps, .kernel = "tsr_numbering_" #step_, .range = step_##_range},
static const tsr_step steps[] = {TSR_NUMBERING_STEPS(ROW)};
extern const tsr_image tsr_numbering_images[];
const tsr_steps tsr_numbering_steps = {
    .images = tsr_numbering_images, .step = steps, .count = TSR_NUMBERING_STEP_COUNT};
