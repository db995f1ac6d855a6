/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: linear probing over buckets. A key's first bucket is its hash; when that is full its next one is
 * the neighbour, and after the last bucket comes the first. Law kept: the walk visits every bucket once before it ends,
 * and a pair goes to the first free slot of its walk, so a find ends at the first empty one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, max_probes, 0, 0, 4294967295u, "Limit on the buckets that an insert or a find visits. 0: all.")

#include "plugins/probing.cuh"

enum { TEMPLATE_LIMIT }; /* state word: buckets to visit */

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_WORD(c, TEMPLATE_LIMIT)) return false;
  if (probe->visited == 0) {
    probe->ref = tsr_bucket_of(c, key, 0);
  } else {
    probe->ref = tsr_bucket_after(c, probe->ref);
  }
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
