/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder that holds this library, or the program that it is a part of. An installed copy has its plugins, recipes and
 * compiled code at places that are known from there.
 */
#ifndef TSR_HOME_H
#define TSR_HOME_H

#include <limits.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes "<folder>/<name>", without links. False if the folder is not known or the path is too long. */
bool tsr_home_path(const char *name, char path[PATH_MAX]);

#ifdef __cplusplus
}
#endif
#endif
