/* SPDX-License-Identifier: Apache-2.0
 *
 * The one parallel loop of the cpu backend.
 */
#ifndef TSR_CPU_PARALLEL_H
#define TSR_CPU_PARALLEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Calls body(argument, begin, end) for consecutive ranges that cover 0 .. n - 1, from a team of all cores. Returns when
 * all have returned; what they wrote is visible to the caller. */
void tsr_parallel_for(uint64_t n, void (*body)(void *argument, uint64_t begin, uint64_t end), void *argument);

/* The same with ranges of one, for work whose pieces are long. */
void tsr_parallel_each(uint64_t n, void (*body)(void *argument, uint64_t begin, uint64_t end), void *argument);

/* The threads of such a team, and how many more there would be if all could be started. */
uint64_t tsr_parallel_threads(void);
uint64_t tsr_parallel_refused(void);

#ifdef __cplusplus
}
#endif
#endif
