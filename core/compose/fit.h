/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether parts that each accepted the shape fit one another, and what [table] asks. No plan() can see that, since
 * each part knows itself alone. A refusal is TSR_INCOMPATIBLE, with the line that can be changed. The rows of what
 * does not go together are in compatible.c. Read next: compose.c, the only caller.
 */
#ifndef TSR_COMPOSE_FIT_H
#define TSR_COMPOSE_FIT_H

#include "core/compose/composition.h"

/* Once hasher and layout have planned: what the layout brings. */
tsr_status tsr_fit_layout(tsr_composition *composition, const tsr_spec *spec, tsr_error *error) TSR_MUST_CHECK;
/* Once all parts have planned and the guard is derived: what the scheme brings; units, registers. */
tsr_status tsr_fit_parts(tsr_composition *composition, const tsr_spec *spec, tsr_error *error) TSR_MUST_CHECK;
/* Once it is known where the table's pages are; the composition's traits are complete then. */
tsr_status tsr_fit_windows(tsr_composition *composition, const tsr_spec *spec, tsr_error *error) TSR_MUST_CHECK;

#endif
