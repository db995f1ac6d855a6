/* SPDX-License-Identifier: Apache-2.0
 *
 * Recipes: specs that come with Tessera and are read by their names (tessera_tools.h).
 */
#ifndef TSR_RECIPES_H
#define TSR_RECIPES_H

#include <limits.h>
#include <stdbool.h>

#include "core/tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rule by which tsr_spec_read, and with it every command, reads a word: if it is the name of a recipe, that recipe's
 * path is written and this is true. Everything else is a path. A name has letters, digits, '_' and '/' alone, so a word
 * with a point in it ("quickstart.ini", "./quickstart") is always a path, and a name means the same in every folder. */
bool tsr_recipe_seek(const char *word, char path[PATH_MAX]);

/* Says that a word is no recipe and, with or_file, no file either, with the name that is meant or the nearest one. Returns
 * TSR_NOT_FOUND. */
tsr_status tsr_recipe_refuse(const char *word, bool or_file, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
