/* SPDX-License-Identifier: Apache-2.0
 *
 * probing double_hashing: WarpCore's cooperative scheme (WarpCore IV-B2). An outer double hashing steps from window to
 * window; inside a window of consecutive buckets it is linear. The bucket is the step that all tile sizes share.
 * Law kept: the number of windows is prime and the step below it, so the walk visits every bucket once before it ends;
 * a pair goes to the first free slot of its walk, so a find ends at the first empty one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, window_buckets, 4, 1, 64, "Consecutive buckets that are probed before the next jump.")                   \
  P(uint32_t, max_probes, 0, 0, 4294967295u, "Limit on the buckets that an insert or a find visits. 0: all.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

enum { DOUBLE_HASHING_WINDOWS, DOUBLE_HASHING_LIMIT }; /* state words: number of windows (prime), buckets to visit */
enum { DOUBLE_HASHING_START, DOUBLE_HASHING_STEP };    /* probe words: first bucket of this window, jump in buckets */

/* a + b modulo the number of buckets, both below it */
TSR_INLINE uint64_t double_hashing_add(const tsr_ctx *c, uint64_t a, uint64_t b) {
  uint64_t sum = a + b;
  return sum >= c->t->buckets ? sum - c->t->buckets : sum;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  uint32_t window = TSR_PARAMETER(c, window_buckets);
  if (probe->visited >= TSR_WORD(c, DOUBLE_HASHING_LIMIT)) return false;
  if (probe->visited == 0) {
    probe->ref = tsr_bucket_of(c, key, 0);
    probe->word[DOUBLE_HASHING_START] = probe->ref;
  } else if (probe->visited % window != 0) {
    probe->ref = double_hashing_add(c, probe->ref, 1);
  } else {
    if (probe->visited == window) { /* most walks end before they need the second hash */
      uint64_t jumps = TSR_WORD(c, DOUBLE_HASHING_WINDOWS) - 1;
      probe->word[DOUBLE_HASHING_STEP] = (1 + tsr_reduce(hasher_hash(c, key, 1), jumps)) * window;
    }
    probe->ref = double_hashing_add(c, probe->word[DOUBLE_HASHING_START], probe->word[DOUBLE_HASHING_STEP]);
    probe->word[DOUBLE_HASHING_START] = probe->ref;
  }
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
