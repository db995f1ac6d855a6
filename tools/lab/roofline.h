/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera roofline`: what a GPU's memory allows at most, so that a table's speed can be judged.
 *
 *   roofline [--device 0] [--footprint 1Gi,64Mi,...]
 *
 * Prints CSV, name,bytes,lanes,footprint_bytes,giga_per_second, then the same as a table of lines that start with '#'.
 * What is measured: core/kernels/roofline.h. Read next: bench.h, which compares tables with it.
 */
#ifndef TSR_LAB_ROOFLINE_H
#define TSR_LAB_ROOFLINE_H

#include "tools/lab/words.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tsr_synopsis tsr_roofline_synopsis;

/* argv[0] is the command's name. Returns the exit status: 0; 1 without a usable GPU; 2 for a wrong command line. */
int tsr_roofline_command(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif
