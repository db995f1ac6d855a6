/* SPDX-License-Identifier: Apache-2.0
 *
 * A file of keys read whole, for tests: what dataset.h gives in pieces, in one piece. The pieces are as small as they may
 * be, so that files of some 10^5 keys cross their borders.
 */
#ifndef TSR_TESTS_WHOLE_FILE_H
#define TSR_TESTS_WHOLE_FILE_H

#include <stdlib.h>

#include "tools/cli/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_dataset {
  void *keys, *values; /* values: NULL if none were wanted */
  uint64_t count, records, bases, kmers_skipped;
} tsr_dataset;

/* Frees the arrays and clears the struct. */
void tsr_dataset_free(tsr_dataset *dataset);

/* The caller frees *out with tsr_dataset_free; on failure it is untouched. Status: as of tsr_input_open and
 * tsr_input_read. */
tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
