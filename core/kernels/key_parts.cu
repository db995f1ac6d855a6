/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of key_parts.h.
 */
#include "core/kernels/key_parts.h"

#define EACH(step) TSR_STEP_EACH(tsr_key_parts_##step, tsr_key_parts_run, tsr_key_parts_##step##_item)
TSR_KEY_PART_STEPS(EACH)
