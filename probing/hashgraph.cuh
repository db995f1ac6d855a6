/* SPDX-License-Identifier: Apache-2.0
 *
 * probing hashgraph: all pairs whose keys have one hash are next to each other, as a list between two offsets (HashGraph
 * 3.1): an array of pairs without a gap, whatever the hashes, and no probing. Law kept: the walk is the buckets that the
 * key's list is in, so a list that begins within a bucket shares that one with the list before. The core makes the
 * lists when pairs are inserted (../core/design/0015-lists-in-bulk.md): version 2 puts the batch in their order first
 * (HashGraph 3.3), version 1 counts each list and then finds each pair its place by random access (3.2).
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, version, 2, 1, 2,                                                                                        \
    "How lists are made. 1: each pair is written to its place at random. 2: the batch is put in the lists' order "     \
    "first.")                                                                                                          \
  P(uint32_t, lists_percent, 80, 1, 400,                                                                               \
    "Lists per 100 pairs of capacity (100 C in the paper). More lists are shorter.")

#include "plugins/probing.cuh"

enum { HASHGRAPH_OFFSETS }; /* region */
enum { HASHGRAPH_LAST };    /* word of a probe: the list's last bucket */

/* Without a branch that ends it: tiles of a warp walk together, and ptxas has to see that they do. */
TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint32_t slots = TSR_FACT(c, bucket_slots), is_first = probe->visited == 0;
  uint32_t begin = 0, end = 0;
  if (is_first) {
    const uint32_t *offset = (const uint32_t *)TSR_REGION(c, HASHGRAPH_OFFSETS) + tsr_list_of(c, key);
    begin = tsr_load32(offset, 0);
    end = tsr_load32(offset + 1, 0);
  }
  const uint64_t last = is_first ? (end - 1) / slots : probe->word[HASHGRAPH_LAST];
  const bool there = is_first ? begin != end : probe->ref != last;
  const uint64_t next = is_first ? begin / slots : probe->ref + 1;
  probe->ref = there ? next : is_first ? 0 : probe->ref;
  probe->word[HASHGRAPH_LAST] = last;
  return there;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
