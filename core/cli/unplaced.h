/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of a job that found no room: collected insert by insert, and written in the form in which they can be
 * inserted again. Read next: job.h.
 */
#ifndef TSR_UNPLACED_H
#define TSR_UNPLACED_H

#include <stdint.h>

#include "core/tessera.h"

/* Zeroed but for the widths to begin with. */
typedef struct tsr_unplaced {
  uint32_t key_bits, value_bits;
  uint64_t count;
  void *keys, *values; /* of `count` pairs, of these widths; values: NULL if value_bits is 0 */
} tsr_unplaced;

/* Takes over the `added` pairs that an insert of n handed back: those at the indices with codes[i] = TSR_NOT_PLACED. The
 * arrays lie in host memory. Status: TSR_NO_MEMORY, with nothing taken. */
TSR_MUST_CHECK tsr_status tsr_unplaced_take(tsr_unplaced *unplaced, uint64_t added, uint64_t n, const uint8_t *codes,
                                            const void *keys, const void *values, tsr_error *error);

/* Writes them to a file (rows.h), an empty one if there are none. */
TSR_MUST_CHECK tsr_status tsr_unplaced_write(const tsr_unplaced *unplaced, const char *path, tsr_error *error);

void tsr_unplaced_free(tsr_unplaced *unplaced);

#endif
