/* SPDX-License-Identifier: Apache-2.0
 *
 * Which kinds of table a scheme carries, with any of the layouts and allocators that are there. Read next: list_command.c.
 */
#ifndef TSR_KINDS_H
#define TSR_KINDS_H

#include "core/tessera_tools.h"

enum { TSR_KINDS_BYTES = 256 };

/* Finds it out by composing tables in a process of its own, because plan() of any part may end it; a list such as "set,
 * map, counter". folders: as of tsr_plugins_list. */
void tsr_kinds_of(const tsr_plugin_info *scheme, const tsr_plugin_info *plugins, size_t count, const char *folders,
                  char text[TSR_KINDS_BYTES]);

#endif
