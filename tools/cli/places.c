/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding tessera's own files (places.h).
 */
#define _GNU_SOURCE /* realpath, readlink */

#include "tools/cli/places.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool tsr_place_join(const char *folder, const char *name, char path[TSR_PLACE_BYTES]) {
  char joined[TSR_PLACE_BYTES];
  int written = snprintf(joined, sizeof joined, "%s/%s", folder, name);
  if (written < 0 || written >= (int)sizeof joined) return false;
  memcpy(path, joined, (size_t)written + 1);
  return true;
}

static bool copy(const char *from, char to[TSR_PLACE_BYTES]) {
  size_t bytes = strlen(from) + 1;
  if (bytes > TSR_PLACE_BYTES) return false;
  memcpy(to, from, bytes);
  return true;
}

static bool has(const char *folder, const char *name) {
  char path[TSR_PLACE_BYTES];
  return tsr_place_join(folder, name, path) && access(path, R_OK) == 0;
}

/* Cuts the last part of a path; false at the root. */
static bool go_up(char *path) {
  char *slash = strrchr(path, '/');
  if (!slash || !path[1]) return false;
  slash[slash == path] = '\0';
  return true;
}

bool tsr_place_checkout(const char *path, char folder[TSR_PLACE_BYTES]) {
  char *at = realpath(path, NULL);
  bool found = false;
  while (at && !(found = has(at, "WORKSPACE") && has(at, "plugins/plugin.h")) && go_up(at)) {}
  found = found && copy(at, folder);
  free(at);
  return found;
}

/* "<program's folder>/../<name>" */
static bool beside_program(const char *name, char folder[TSR_PLACE_BYTES]) {
  ssize_t bytes = readlink("/proc/self/exe", folder, TSR_PLACE_BYTES - 1);
  if (bytes < 0) return false;
  folder[bytes] = '\0';
  return go_up(folder) && go_up(folder) && tsr_place_join(folder, name, folder);
}

tsr_status tsr_place_sdk(char folder[TSR_PLACE_BYTES], tsr_error *error) {
  static const char witness[] = "plugins/plugin.h"; /* a file that the right folder holds */
  const char *given = getenv("TESSERA_SDK");
  if (given && *given) {
    if (has(given, witness) && copy(given, folder)) return TSR_OK;
    return tsr_fail(error, TSR_NOT_FOUND, "TESSERA_SDK = %s: there is no %s: set it to the folder that holds it", given,
                    witness);
  }
  if (beside_program("share/tessera/sdk", folder) && has(folder, witness)) return TSR_OK;
  if (tsr_place_checkout(".", folder)) return TSR_OK;
  return tsr_fail(error, TSR_NOT_FOUND,
                  "%s is neither next to this program nor in a Tessera checkout around this folder: set TESSERA_SDK to "
                  "the folder that holds it",
                  witness);
}

bool tsr_place_plugins(char folder[TSR_PLACE_BYTES]) {
  return beside_program("lib/tessera", folder) && has(folder, ".");
}

tsr_status tsr_place_kit(char path[TSR_PLACE_BYTES], tsr_error *error) {
  const char *given = getenv("TESSERA_CONFORM");
  bool is_given = given && *given;
  if ((is_given ? copy(given, path) : beside_program("bin/tessera-conform", path)) && access(path, X_OK) == 0)
    return TSR_OK;
  if (is_given)
    return tsr_fail(error, TSR_NOT_FOUND, "TESSERA_CONFORM = %s: is not a program: set it to the path of the kit",
                    given);
  return tsr_fail(
      error, TSR_NOT_FOUND,
      "there is no tessera-conform next to this program: build with TSR_KIT=1 (tools/build_with_cc.sh, or pip from "
      "the sources), or build //tests/conformance and set TESSERA_CONFORM to its path");
}
