/* SPDX-License-Identifier: Apache-2.0
 *
 * Where tessera's own files are: the SDK (the folder that holds plugins/) and the conformance kit. The SDK is looked for
 * in its variable, then beside an installed program (<program's folder>/../share/tessera), then in the checkout around the
 * working directory. Plugins and recipes are looked for by the library. Only the plugins of an installed program are known
 * here, since a program that holds the library has none beside it.
 */
#ifndef TSR_PLACES_H
#define TSR_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera.h"

enum { TSR_PLACE_BYTES = 4096 }; /* of a path, as everywhere on Linux */

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
