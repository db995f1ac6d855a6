/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of aggregate.h: a thread per item.
 */
#include "core/kernels/aggregate.h"

#define EACH(step) TSR_STEP_EACH(tsr_aggregate_##step##_kernel, tsr_aggregate_step, tsr_aggregate_##step##_item)
TSR_AGGREGATE_STEPS(EACH)
