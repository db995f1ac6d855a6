/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether parts that each accepted the shape fit one another, and what [table] asks: what no plan() can see, since each
 * part knows itself alone. A refusal is TSR_INCOMPATIBLE, with the line that can be changed. Read next: compose.c, the
 * only caller, which also refuses what it cannot build.
 */
#ifndef TSR_COMPOSE_FIT_H
#define TSR_COMPOSE_FIT_H

#include "core/compose/composition.h"

/* Once hasher and layout have planned: where slots hold a part of their key's hash, the hasher must be able to undo it. */
tsr_status tsr_fit_short_keys(const tsr_composition *composition, const tsr_spec *spec, tsr_error *error)
    TSR_MUST_CHECK;
/* Once all parts have planned and the guard is derived: links, registers, multiplicity, lists in bulk, overlap. */
tsr_status tsr_fit_parts(const tsr_composition *composition, const tsr_spec *spec, tsr_error *error) TSR_MUST_CHECK;

#endif
