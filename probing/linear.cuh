/* SPDX-License-Identifier: Apache-2.0
 *
 * probing linear: one bucket after the other (WarpCore II), from the key's hash on; after the last comes the first.
 * Law kept: the walk visits every bucket once before it ends, and a pair goes to the first vacant slot of its walk, so
 * a find ends at the first empty one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, max_probes, 0, 0, 4294967295u, "Limit on the buckets that an insert or a find visits. 0: all.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

enum { LINEAR_LIMIT }; /* state word: buckets to visit */

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_WORD(c, LINEAR_LIMIT)) return false;
  if (probe->visited == 0)
    probe->ref = tsr_bucket_of(c, key, 0);
  else
    probe->ref = tsr_bucket_after(c, probe->ref);
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
