/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry: finds plugins as shared objects and vouches for them. A plugin is loaded once and never unloaded, so
 * its strings and tables live as long as the process. Thread-safe. Read next: compose.h, its user.
 */
#ifndef TSR_REGISTRY_H
#define TSR_REGISTRY_H

#include <linux/limits.h> /* PATH_MAX, which <limits.h> keeps to itself in strict C11 */
#include <stdbool.h>

#include "core/tessera.h"
#include "plugins/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TSR_ABI of the headers that this library was built from: a plugin must have the same (plugins/build_abi.sh). */
extern const uint32_t tsr_sdk_abi;

extern const char *const tsr_role_names[TSR_ROLES]; /* "hasher", ...: INI key, section and file prefix */

/* Finds <role>_<name>.so: in the directories (colon-separated, may be NULL), then in those of $TESSERA_PLUGINS, then
 * next to the library; never in the working directory. Checks the contract: a whole file, one data symbol, ABI,
 * size, role, name, parameters. What was found is found again without a look at the folders. TSR_NOT_FOUND, or
 * TSR_BAD_SPEC if there is no name at all: names the nearest name, or the directories if none is near; the caller
 * adds where the name stands. TSR_BAD_ARGUMENT: one of `directories` cannot be read. TSR_BAD_PLUGIN: names the file
 * and the rule of plugins/README.md. */
tsr_status tsr_registry_find(const char *directories, uint32_t role, const char *name, const tsr_plugin **plugin,
                             tsr_error *error) TSR_MUST_CHECK;

/* The path of a file, as "fused/NAME.so", in one of those folders that the environment names, or next to the
 * library. */
bool tsr_registry_seek(const char *name, char path[PATH_MAX]) TSR_MUST_CHECK;

/* Loads one file. */
tsr_status tsr_registry_load(const char *path, const tsr_plugin **plugin, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
