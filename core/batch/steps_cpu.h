/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of an ordered batch (steps.h) by the threads of the CPU: order_cpu.c, lists_cpu.c
 * and build_cpu.c.
 */
#ifndef TSR_BATCH_STEPS_CPU_H
#define TSR_BATCH_STEPS_CPU_H

#include "core/kernels/steps.h"

/* A thread works on a tile at a time. */
tsr_step_range tsr_order_count, tsr_order_tiles, tsr_order_scatter, tsr_order_answer;

/* Pages are worked on in the table: the order of the keys is all that the caches need. What a page cannot hold goes
 * where any insert puts it, so none gives up. */
tsr_step_whole tsr_place_insert, tsr_mark_all;

/* A thread makes the lists of a page at a time. */
tsr_step_range tsr_build_make;
tsr_step_range tsr_lists_make, tsr_lists_any_count, tsr_lists_any_begin, tsr_lists_any_place;

#endif
