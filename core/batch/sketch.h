/* SPDX-License-Identifier: Apache-2.0
 *
 * How many keys of an array differ. Read next: sketch.c; ../table/growth.c, which makes room for them.
 */
#ifndef TSR_BATCH_SKETCH_H
#define TSR_BATCH_SKETCH_H

#include "core/batch/work.h"

/* The bounds of the number; it is outside of them in one case of a million. */
typedef struct tsr_different {
  uint64_t least, most;
} tsr_different;

/* keys: n of them, in device memory. present: n bytes in device memory, 1 if a key is not to be counted; NULL: all are
 * counted. Waits. */
tsr_status tsr_sketch(const tsr_work *work, uint64_t n, const void *keys, const uint8_t *present,
                      tsr_different *different) TSR_MUST_CHECK;

#endif
