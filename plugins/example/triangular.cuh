/* SPDX-License-Identifier: Apache-2.0
 *
 * probing triangular: triangular steps over a power of two of buckets: h, h + 1, h + 3, h + 6, ... Neighbouring first
 * buckets part ways after one step, so that clusters grow slower than in linear probing.
 * Law kept: modulo a power of two the triangular numbers are all different, so the walk visits every bucket once before
 * it ends; a pair goes to the first free slot of its walk, so a find ends at the first empty one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, max_probes, 0, 0, 4294967295u, "Limit on the buckets that an insert or a find visits. 0: all.")

#include "plugins/probing.cuh"

enum { TRIANGULAR_LIMIT }; /* state word: buckets to visit */

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_WORD(c, TRIANGULAR_LIMIT)) return false;
  if (probe->visited == 0) {
    probe->ref = tsr_bucket_of(c, key, 0);
  } else {
    probe->ref = (probe->ref + probe->visited) & (c->t->buckets - 1);
  }
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
