/* SPDX-License-Identifier: Apache-2.0
 *
 * Where tessera's own files are: the recipes (specs/) and the SDK (the folder that holds plugins/). Each is looked for
 * where its variable says, then beside an installed program (<program's folder>/../share/tessera), then in the checkout
 * that the working directory is in. Plugins are looked for by the library; only where those of an installed program
 * are is known here, since a program that holds the library has nothing beside it.
 */
#ifndef TSR_PLACES_H
#define TSR_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera.h"

enum { TSR_PLACE_BYTES = 4096 }; /* of a path, as everywhere on Linux */

/* $TESSERA_SPECS, share/tessera/specs, or specs/ of the checkout. */
TSR_MUST_CHECK tsr_status tsr_place_specs(char folder[TSR_PLACE_BYTES], tsr_error *error);

/* $TESSERA_SDK, share/tessera/sdk, or the checkout. */
TSR_MUST_CHECK tsr_status tsr_place_sdk(char folder[TSR_PLACE_BYTES], tsr_error *error);

/* The program behind `tessera conform`: $TESSERA_CONFORM, or tessera-conform beside this program. */
TSR_MUST_CHECK tsr_status tsr_place_kit(char path[TSR_PLACE_BYTES], tsr_error *error);

/* lib/tessera beside bin/ of an installed program: where its plugins are; false if there is no such folder. */
bool tsr_place_plugins(char folder[TSR_PLACE_BYTES]);

/* The Tessera checkout that `path` is in: the nearest folder above that has a WORKSPACE and plugins/plugin.h. */
bool tsr_place_checkout(const char *path, char folder[TSR_PLACE_BYTES]);

/* Joins two parts of a path by '/'; false if the result is too long. `path` may be `folder`. */
bool tsr_place_join(const char *folder, const char *name, char path[TSR_PLACE_BYTES]);

#endif
