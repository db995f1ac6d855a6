/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher tabulation: simple tabulation (M. Patrascu, M. Thorup, "The power of simple tabulation hashing", J. ACM 59(3), 2012).
 * Each byte of a key names a random word in a table of its own, and the hash is the exclusive or of these words. It is
 * 3-independent, and the paper proves for linear probing and cuckoo hashing what is usually only assumed of hash functions.
 * A word of a table has four random words next to each other, one each of four members. Further members are odd multiples
 * of these.
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0

#include "plugins/hasher.cuh"

enum { TABULATION_TABLES }; /* region: [byte of the key][its value][member] */
enum { TABULATION_VALUES = 256, TABULATION_MEMBERS = 4 };

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t hash = 0;
  TSR_UNROLL
  for (uint32_t byte = 0; byte < TSR_KEY_BITS / 8; byte++) {
    const uint32_t value = (uint32_t)(key >> 8 * byte) & 0xFFu;
    const uint32_t row = byte * TABULATION_VALUES + value;
    hash ^= tsr_drawn(c, TABULATION_TABLES, row * TABULATION_MEMBERS + i % TABULATION_MEMBERS);
  }
  hash *= i / TABULATION_MEMBERS * 0x3C6EF372FE94F82Au + 1u;
#if TSR_KEY_BITS == 32
  return (tsr_hash)(hash >> 32);
#else
  return hash;
#endif
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));
