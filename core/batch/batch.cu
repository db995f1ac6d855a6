/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of batches that are put in order first (steps.h lists them), one link each, for all stages. Read next:
 * README.md.
 */
#define TSR_ONE_TABLE
#define TSR_MAY_BE_PAIRS
#include "core/batch/build.cuh"
#include "core/batch/distinct.cuh"
#include "core/batch/hot.cuh"
#include "core/batch/judge.cuh"
#include "core/batch/lists.cuh"
#include "core/batch/mark.cuh"
#include "core/batch/order.cuh"
#include "core/batch/place.cuh"
#include "core/batch/spans.cuh"
