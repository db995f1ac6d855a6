/* SPDX-License-Identifier: Apache-2.0
 *
 * A team of threads that does one piece of work, for the program's own work on the CPU. Read next: sort.h and
 * kmer_counter.h, the users.
 */
#ifndef TSR_TEAM_H
#define TSR_TEAM_H

#include <stdint.h>

enum { TSR_TEAM_MAX = 128 };

/* The cores that this process may use, at most OMP_NUM_THREADS and TSR_TEAM_MAX. */
uint32_t tsr_team_size(void);

/* Calls work(argument, 0) to work(argument, members - 1), each by a thread of its own where one can be started, and returns
 * when all have returned. pre: members is 1 to TSR_TEAM_MAX. */
void tsr_team_run(uint32_t members, void (*work)(void *argument, uint32_t member), void *argument);

#endif
