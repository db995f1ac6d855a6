/* SPDX-License-Identifier: Apache-2.0
 *
 * layout packed: buckets of whole pairs, each in one atomic word ("packed array of structs", WarpCore IV-B1). What it
 * does with them is the kit's: ../plugins/pair.cuh.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots per bucket, a power of two. A probe reads one bucket.")                   \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a bucket together: a power of two, at most bucket_slots.")

#define TSR_KEYS_128 0

#include "plugins/pair.cuh"

TSR_INLINE tsr_pair *packed_words(const tsr_ctx *c, uint64_t ref) {
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_slots);
}

TSR_PAIR_LAYOUT(packed_words)

TSR_PART_FUNCTIONS(TSR_PAIR_LAYOUT_FUNCTIONS);
