/* SPDX-License-Identifier: Apache-2.0
 *
 * probing quadratic: squares to both sides of the first bucket h (WarpCore II; C. E. Radke, "The use of quadratic
 * residue research", CACM 13(2), 1970): h, h + 1, h - 1, h + 4, h - 4, h + 9, ... modulo the number of buckets.
 * Law kept: that number is a prime p = 3 (mod 4). The squares of 1 .. (p - 1) / 2 are different, and -1 is no square,
 * so that no square is another one's negative: the walk visits every bucket once before it ends. A pair goes to the
 * first vacant slot of its walk, so a find ends at the first empty one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, max_probes, 0, 0, 4294967295u, "Limit on the buckets that an insert or a find visits. 0: all.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

enum { QUADRATIC_LIMIT };                   /* state word: buckets to visit */
enum { QUADRATIC_START, QUADRATIC_SQUARE }; /* probe words: first bucket, i^2 modulo the buckets */

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  uint64_t buckets = c->t->buckets, start = probe->word[QUADRATIC_START], square = probe->word[QUADRATIC_SQUARE];
  if (probe->visited >= TSR_WORD(c, QUADRATIC_LIMIT)) return false;
  if (probe->visited == 0) {
    probe->ref = probe->word[QUADRATIC_START] = tsr_bucket_of(c, key, 0);
  } else if (probe->visited % 2 == 1) { /* the i-th one up: i^2 = (i - 1)^2 + 2i - 1, and visited = 2i - 1 */
    square += probe->visited;
    if (square >= buckets) square -= buckets;
    probe->word[QUADRATIC_SQUARE] = square;
    probe->ref = start + square < buckets ? start + square : start + square - buckets;
  } else {
    probe->ref = start >= square ? start - square : start + buckets - square;
  }
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));
