/* SPDX-License-Identifier: Apache-2.0
 *
 * Composing: a spec and plugins become one table's shape, parts, regions and state. Pure host work, no device: the same
 * for `check`, for offline linking and for both backends. Thread-safe. Read next: composition.h, what is made.
 */
#ifndef TSR_COMPOSE_H
#define TSR_COMPOSE_H

#include "core/compose/composition.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sm: the target's compute capability, 0 for the cpu backend. cpu_lanes: lanes of a tile there, 1 except in the
 * conformance kit. The caller frees *composition, which does not need the spec. Status: as of tsr_table_create. */
tsr_status tsr_compose(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t cpu_lanes,
                       tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
/* The same for a table that 0.1.0 saved, as its memory was laid out then. Such a composition can count, find and
 * hand out pairs, for a load that moves them. */
tsr_status tsr_compose_as_saved(const tsr_spec *spec, const tsr_options *options, uint32_t sm,
                                tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
/* An allocator alone, of at least options->capacity units, or the spec's capacity. Its code has no widths. */
tsr_status tsr_compose_pool(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t lanes,
                            tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
void tsr_composition_free(tsr_composition *composition);

/* TSR_NO_DEVICE if a part has no device code, and the composition is for a GPU. */
tsr_status tsr_composition_check_code(const tsr_composition *composition, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
