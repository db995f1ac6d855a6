/* SPDX-License-Identifier: Apache-2.0
 *
 * The outputs of a command, before it begins: none may replace what it reads or what it writes besides, and each must
 * have a place that can be written. So nothing is lost, and hours of work do not end at a wrong path. How a file is
 * written is file.h's. Read next: run_command.c.
 */
#ifndef TSR_OUTPUTS_H
#define TSR_OUTPUTS_H

#include <stddef.h>

#include "core/tessera.h"

typedef struct tsr_named_path {
  const char *option; /* as the user knows it: "--out", or "SPEC" */
  const char *path;   /* NULL: not given */
} tsr_named_path;

/* TSR_BAD_ARGUMENT if an output is the same file as an input or another output, by whatever path or link; TSR_IO if one
 * cannot be written. "-" is standard output; pipes and devices can take several outputs and be read too. */
TSR_MUST_CHECK tsr_status tsr_outputs_check(const tsr_named_path *outputs, size_t output_count,
                                            const tsr_named_path *inputs, size_t input_count, tsr_error *error);

#endif
