/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that measure what a device's memory allows, as the host sees them: their list and their one argument.
 * Shared by roofline.cu and the cuda backend; compiles as C11 and CUDA C.
 *
 * An access is what a table does for one key: one bucket at a random place, by one thread or by `lanes` threads
 * together. To measure, fill the whole footprint with 0xFF before each launch of a kernel that writes. Launch blocks
 * of TSR_BLOCK_THREADS threads, accesses * lanes threads in all. No access loops, as in the bulk kernels.
 */
#ifndef TSR_ROOFLINE_H
#define TSR_ROOFLINE_H

#include "plugins/table.h"

/* How a row of the list is measured. */
typedef enum tsr_roofline_kind {
  TSR_ROOFLINE_READS,  /* memory stays as it is */
  TSR_ROOFLINE_WRITES, /* memory must be filled again before the next launch */
  TSR_ROOFLINE_COPIES  /* accesses = chunks, and the rate is accesses * bytes a second, not accesses a second */
} tsr_roofline_kind;

/* F(kernel, name, bytes, lanes, kind): the kernel is tsr_roofline_<kernel>, name that of tsr_roofline_row.
 *   read      loads all bytes of a random chunk with plain loads of 16 bytes, or of 8 where a lane has no more
 *   cas       one compare-and-swap of a random word of 64 or 128 bits, from all ones to the access's number; 128 bits
 *             from compute capability 9.0 on
 *   read+cas  loads a random chunk, then swaps one of its four words, which depends on what was read
 *   copy      one 16-byte word in sequence, from the first half of the memory to the second: 16 bytes read, 16 written
 */
#define TSR_ROOFLINE_KERNELS(F)                                                                                        \
  F(read_32_1, "read", 32, 1, TSR_ROOFLINE_READS)                                                                      \
  F(read_64_1, "read", 64, 1, TSR_ROOFLINE_READS)                                                                      \
  F(read_64_2, "read", 64, 2, TSR_ROOFLINE_READS)                                                                      \
  F(read_64_4, "read", 64, 4, TSR_ROOFLINE_READS)                                                                      \
  F(read_64_8, "read", 64, 8, TSR_ROOFLINE_READS)                                                                      \
  F(read_128_1, "read", 128, 1, TSR_ROOFLINE_READS)                                                                    \
  F(read_128_8, "read", 128, 8, TSR_ROOFLINE_READS)                                                                    \
  F(read_128_16, "read", 128, 16, TSR_ROOFLINE_READS)                                                                  \
  F(read_256_16, "read", 256, 16, TSR_ROOFLINE_READS)                                                                  \
  F(read_512_32, "read", 512, 32, TSR_ROOFLINE_READS)                                                                  \
  F(cas, "cas", 8, 1, TSR_ROOFLINE_WRITES)                                                                             \
  F(cas_128, "cas", 16, 1, TSR_ROOFLINE_WRITES)                                                                        \
  F(read_cas, "read+cas", 32, 1, TSR_ROOFLINE_WRITES)                                                                  \
  F(copy, "copy", 32, 1, TSR_ROOFLINE_COPIES)

/* The one argument of all kernels, by value. */
typedef struct tsr_roofline_run {
  void *memory;      /* chunks * bytes of them, aligned to 256 bytes: the footprint */
  uint64_t chunks;   /* at least 1 */
  uint64_t accesses; /* threads beyond accesses * lanes do nothing */
  uint32_t *sink;    /* one word that nobody reads: keeps the loads alive */
  uint64_t
      seed; /* seed of the random places; another one for each launch of the same kernel, so that caches do not help */
} tsr_roofline_run;

#endif
