/* SPDX-License-Identifier: Apache-2.0
 *
 * layout slab: whole pairs, each in one atomic word, and a link to another slab in the last word (SlabHash IV-B). The
 * first slab of a list is a bucket, the others are units of the table's allocator. What it does with pairs and link is
 * the kit's: ../plugins/pair.cuh. With 64 bits a pair the upper half of the link's word is the paper's auxiliary one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, slab_bytes, 128, 16, 256, "Bytes per slab, a power of two. Its last word is the link.")                  \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a slab together: a power of two, at most one per word of the slab.")

#define TSR_KEYS_128 0

#include "plugins/allocator.cuh"
#include "plugins/pair.cuh"

TSR_INLINE tsr_pair *slab_words(const tsr_ctx *c, uint64_t ref) {
  if (ref & TSR_UNIT_REF) return (tsr_pair *)allocator_address(c, (uint32_t)ref);
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_places);
}

TSR_PAIR_LAYOUT(slab_words)

TSR_DEVICE uint32_t TSR_PART(link)(const tsr_ctx *c, const tsr_bucket *b) { return tsr_pair_link(c, b); }

TSR_DEVICE uint32_t TSR_PART(relink)(const tsr_ctx *c, uint64_t ref, uint32_t expected, uint32_t desired) {
  return tsr_pair_relink(c, slab_words(c, ref), expected, desired);
}

TSR_PART_FUNCTIONS(TSR_PAIR_LAYOUT_FUNCTIONS, .link = TSR_PART(link), .relink = TSR_PART(relink));
