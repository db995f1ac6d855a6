/* SPDX-License-Identifier: Apache-2.0
 *
 * How many keys of an array differ, at least. Read next: sketch.c; growth.c, which makes room for them.
 */
#ifndef TSR_TABLE_SKETCH_H
#define TSR_TABLE_SKETCH_H

#include "core/table/handle.h"

/* keys: n of them, in device memory. present: n bytes in device memory, 1 where a key is not to be counted; NULL: all are.
 * *least: never more than there are of 2^17 keys, of more in one case of a million, and less by some hundredths. In the
 * order of `stream`; waits. */
tsr_status tsr_sketch(const tsr_table *table, uint64_t n, const void *keys, const uint8_t *present, void *stream,
                      uint64_t *least, tsr_error *error) TSR_MUST_CHECK;

#endif
