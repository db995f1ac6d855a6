/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of numbering.h: a thread per item.
 */
#include "core/kernels/numbering.h"

#define EACH(step) TSR_STEP_EACH(tsr_numbering_##step, tsr_numbering_run, tsr_numbering_##step##_item)
TSR_NUMBERING_STEPS(EACH)
