/* SPDX-License-Identifier: Apache-2.0
 *
 * A command that several processes do together (--group): each reads its parts of the files and inserts them into one table,
 * and the first one writes the outputs. Read next: data_file.h (parts), ../../core/tessera_devices.h.
 */
#ifndef TSR_RANKS_H
#define TSR_RANKS_H

#include "core/tessera_devices.h"
#include "tools/cli/arguments.h"
#include "tools/cli/console.h"
#include "tools/cli/dataset.h"

#define TSR_OPTION_GROUP                                                                                               \
  {                                                                                                                    \
    "--group", "TRANSPORT", false,                                                                                     \
        "Shares the table with the processes that were started together: mpi, or the path of a transport. Each "       \
        "reads a part of every file, and the first one writes."                                                        \
  }

typedef struct tsr_ranks {
  tsr_group *group; /* NULL: this process is alone */
  uint32_t rank, size;
  bool have_failed; /* all, because one has */
  bool is_told;     /* another process says why */
} tsr_ranks;

/* Meets the others, if the command line says so. The caller closes, on failure too. */
TSR_MUST_CHECK tsr_status tsr_ranks_open(const tsr_arguments *arguments, tsr_ranks *ranks, tsr_error *error);
void tsr_ranks_close(tsr_ranks *ranks);
/* tsr_table_create, of a table of all. */
TSR_MUST_CHECK tsr_status tsr_ranks_table(const tsr_ranks *ranks, const tsr_spec *spec, const tsr_options *options,
                                          tsr_table **table, tsr_error *error);
/* What this process reads of a file, by the file's number among those of the command. */
tsr_part tsr_ranks_part(const tsr_ranks *ranks, size_t number);
/* Adds up what each process has counted. */
TSR_MUST_CHECK tsr_status tsr_ranks_add_up(const tsr_ranks *ranks, uint32_t count, uint64_t *numbers, tsr_error *error);
/* Where a process can fail alone: if one has, all return a failure, and none waits for it. flag: NULL, or a thing that each
 * may have; it becomes what all have. */
TSR_MUST_CHECK tsr_status tsr_ranks_agree(tsr_ranks *ranks, tsr_status status, bool *flag, tsr_error *error);
/* What all have read of a file, whose parts belong together. Status: TSR_IO if it is another file in one of the processes, or
 * holds no key and the options are strict. */
TSR_MUST_CHECK tsr_status tsr_ranks_add_facts(const tsr_ranks *ranks, const char *path,
                                              const tsr_dataset_options *options, tsr_input_facts *facts,
                                              tsr_error *error);
/* tsr_say_error, unless another process says it. */
tsr_exit tsr_ranks_say_error(const tsr_ranks *ranks, tsr_status status, const tsr_error *error);

#endif
