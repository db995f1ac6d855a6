/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that several processes do together (--group): each inserts a part of every chunk of the files into one table, and
 * the first one writes the outputs. Read next: ../../core/tessera_devices.h.
 */
#ifndef TSR_RANKS_H
#define TSR_RANKS_H

#include "core/tessera_devices.h"
#include "tools/cli/arguments.h"
#include "tools/cli/stream.h"

#define TSR_OPTION_GROUP                                                                                               \
  {                                                                                                                    \
    "--group", "TRANSPORT", false,                                                                                     \
        "Shares the table with the processes that were started together: mpi, or the path of a transport. Each "       \
        "inserts its "                                                                                                 \
        "part of the files, and the first one writes."                                                                 \
  }

typedef struct tsr_ranks {
  tsr_group *group; /* NULL: this process is alone */
  uint32_t rank, size;
} tsr_ranks;

/* Meets the others, if the command line says so. The caller closes, on failure too. */
TSR_MUST_CHECK tsr_status tsr_ranks_open(const tsr_arguments *arguments, tsr_ranks *ranks, tsr_error *error);
void tsr_ranks_close(tsr_ranks *ranks);
/* tsr_table_create, of a table of all. */
TSR_MUST_CHECK tsr_status tsr_ranks_table(const tsr_ranks *ranks, const tsr_spec *spec, const tsr_options *options,
                                          tsr_table **table, tsr_error *error);
/* What this process inserts of a chunk that all have read. */
void tsr_ranks_part(const tsr_ranks *ranks, uint64_t count, uint64_t *first, uint64_t *part);
/* Adds up what each process has counted of its shard. */
TSR_MUST_CHECK tsr_status tsr_ranks_add_up(const tsr_ranks *ranks, uint32_t count, uint64_t *numbers, tsr_error *error);

#endif
