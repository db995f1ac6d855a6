/* SPDX-License-Identifier: Apache-2.0
 *
 * The load that a table reaches before a pair finds no place, for schemes whose facts decide that. Read next:
 * compose.c, which sizes a table by it.
 */
#ifndef TSR_COMPOSE_REACH_H
#define TSR_COMPOSE_REACH_H

#include "plugins/plugin.h"

/* The highest load at which 99 of 100 tables of shape->capacity pairs place all of them. It is 1 for a scheme that
 * does more than choose by fact `choices`: one that moves pairs, or whose walk passes every bucket. shape: all parts
 * have planned. */
double tsr_reached_load(const tsr_shape *shape);

#endif
