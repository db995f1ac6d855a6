/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys a benchmark inserts and asks for, and how often each: read from a word of `bench --keys`.
 *
 *   distinct          each key once
 *   repeat:R          each key R times, in no order
 *   equal             one key
 *   zipf:S[:IDS]      pairs draw the numbers 1 to IDS (as many as pairs), k with a probability proportional to 1 / k^S;
 *                     zipf:0 draws all alike
 *   sequential        0, 1, 2, ...: distinct
 *   strided:K         0, K, 2 K, ...: distinct
 *   low_bits:B        distinct, the lowest B bits 0 and the others scattered
 *   file:PATH         those of a file: raw little-endian numbers of the key's width
 *
 * Keys of the first four are scattered over the whole width. Read next: keys.h, what they are filled in as.
 */
#ifndef TSR_DISTRIBUTION_H
#define TSR_DISTRIBUTION_H

#include "core/tessera.h"
#include "tools/lab/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_DISTRIBUTION_LIST                                                                                          \
  "distinct, repeat:R, equal, zipf:S, zipf:S:IDS, sequential, strided:K, low_bits:B and file:PATH"

enum {
  TSR_KEYS_DISTINCT,
  TSR_KEYS_REPEAT,
  TSR_KEYS_EQUAL,
  TSR_KEYS_ZIPF,
  TSR_KEYS_SEQUENTIAL,
  TSR_KEYS_STRIDED,
  TSR_KEYS_LOW_BITS,
  TSR_KEYS_FILE,
  TSR_KEYS_DISTRIBUTIONS
};

typedef struct tsr_distribution {
  const char *text; /* the caller's: the whole word */
  uint32_t kind;    /* TSR_KEYS_ */
  uint64_t number;  /* R, K, B, or IDS, which may be 0 = as many as pairs */
  double exponent;  /* S */
  const char *path;
} tsr_distribution;

/* TSR_BAD_ARGUMENT with a sentence. *distribution points into `text`. */
TSR_MUST_CHECK tsr_status tsr_distribution_read(const char *text, tsr_distribution *distribution, tsr_error *error);

/* Makes the keys of all pairs, a function of the distribution and of what *keys says before: key_bits, value_bits,
 * seed, and how many pairs; of a file pairs may be 0 = all that it has. With needs_absent there are as many further
 * keys to ask for. Sets n, the number of distinct ones, and the rest of *keys. TSR_BAD_ARGUMENT if there are not as
 * many keys, TSR_IO, TSR_NO_MEMORY. The caller frees *keys with tsr_keys_free. */
TSR_MUST_CHECK tsr_status tsr_distribution_draw(const tsr_distribution *distribution, bool needs_absent, tsr_keys *keys,
                                                tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
