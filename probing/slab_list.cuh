/* SPDX-License-Identifier: Apache-2.0
 *
 * probing slab_list: one bucket a key, and the list of buckets that begins there (SlabHash III). The core keeps
 * the list: it follows links, and appends a unit where all slots are taken (../core/kernels/links.cuh).
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited) return false;
  probe->ref = tsr_bucket_of(c, key, 0);
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
