/* SPDX-License-Identifier: Apache-2.0
 *
 * The size of a filter (filter.h). A key sets one bit in each of k words, which follow each other in the ring of its
 * block. An absent key seems present if all of its bits are set. By inclusion and exclusion that is a sum over all
 * sets of its words, with alternating signs: the probability that no bit of the set's words is set. A key of the
 * filter leaves these bits unset with a probability that is averaged over where its own words begin. The keys of a
 * block have a Poisson distribution (F. Putze, P. Sanders and J. Singler, "Cache-, hash- and space-efficient Bloom
 * filters", 2007, section 3).
 */
#include "core/compose/filter.h"

#include <math.h>

#include "core/kernels/facts.h"

enum { BITS_STEPS = 4, BITS_MAX = 48, WORD_BITS = 32 };

/* The probability that a key sets one of the bits that `set` names, one in each of its words. */
static double touches(uint32_t set, uint32_t words, uint32_t functions) {
  double leaves = 0;
  for (uint32_t first = 0; first < words; first++) {
    double all = 1;
    for (uint32_t j = 0; j < functions; j++)
      if (set >> (first + j) % words & 1u) all *= 1 - 1.0 / WORD_BITS;
    leaves += all / words;
  }
  return 1 - leaves;
}

double tsr_filter_rate(uint64_t block_bytes, uint64_t functions, double bits_per_key) {
  const double keys = 8 * (double)block_bytes / bits_per_key; /* of a block, on average */
  double rate = 0;
  for (uint32_t set = 0; set < 1u << functions; set++) {
    const double none = exp(-keys * touches(set, (uint32_t)block_bytes / 4, (uint32_t)functions));
    rate += __builtin_popcount(set) % 2 ? -none : none;
  }
  return rate;
}

/* An absent key meets every fingerprint of two buckets, or fewer where the first has an empty slot. Two values of a
 * fingerprint stand for twice as many keys as the others (tsr_fingerprint). */
double tsr_fingerprint_rate(const tsr_shape *shape, double keys) {
  const double values = ldexp(1, (int)shape->fingerprint_bits), same = (values + 4) / values / values;
  return -expm1(log1p(-same) * 2 * keys / (double)shape->buckets);
}

double tsr_filter_bits(const tsr_settings *s) {
  double bits = (double)s->filter.bits_per_key;
  if (!s->filter.one_in) return bits;
  for (bits = 1; bits < BITS_MAX; bits += 1.0 / BITS_STEPS)
    if (tsr_filter_rate(s->filter.block_bytes, s->filter.functions, bits) * (double)s->filter.one_in <= 1) break;
  return bits;
}

uint64_t tsr_filter_blocks(const tsr_settings *s) {
  return (uint64_t)ceil((double)s->capacity * tsr_filter_bits(s) / (8 * (double)s->filter.block_bytes));
}

uint32_t tsr_filter_functions(uint64_t block_bytes, double bits_per_key) {
  uint32_t best = 1;
  for (uint32_t functions = 2; functions <= TSR_FILTER_FUNCTIONS_MAX; functions++)
    if (tsr_filter_rate(block_bytes, functions, bits_per_key) < tsr_filter_rate(block_bytes, best, bits_per_key))
      best = functions;
  return best;
}
