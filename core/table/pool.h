/* SPDX-License-Identifier: Apache-2.0
 *
 * What pool.c shares with the rest of the core: making an allocator's memory larger, which a growing table needs too.
 */
#ifndef TSR_POOL_INSIDE_H
#define TSR_POOL_INSIDE_H

#include "core/compose/backend.h"
#include "core/kernels/pool.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Replaces the regions of one role by those of `next`, a composition that differs from `now` only in longer regions
 * and other state (P-63). Each new region begins with what the old one held and is filled behind that, as a cleared
 * one is. Frees the old regions and writes the role's part of *state. Waits. TSR_UNSUPPORTED where `next` differs in
 * more. On failure *state and its memory are as they were. */
tsr_status tsr_regions_enlarge(tsr_device *device, const tsr_composition *now, const tsr_composition *next,
                               uint32_t role, tsr_state *state, void *stream, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
