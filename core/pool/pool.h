/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools from the inside (pool.c): what the growth of a table's allocator needs, and tests.
 */
#ifndef TSR_POOL_INSIDE_H
#define TSR_POOL_INSIDE_H

#include "core/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the regions of one role those of `next`, a composition that differs from `now` in longer regions and state only
 * (P-63): allocates, copies the prefix, fills the rest, frees the old ones, and writes the role's part of *state.
 * Waits. TSR_UNSUPPORTED where `next` is not such a composition. On failure *state and its memory are as they were. */
tsr_status tsr_regions_enlarge(tsr_device *device, const tsr_composition *now, const tsr_composition *next,
                               uint32_t role, tsr_state *state, void *stream, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
