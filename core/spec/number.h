/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and names as people write them in specs and on the command line, and the sentences that they read.
 *
 * What is read is exactly what was written: nothing is clamped, rounded or guessed, and text that
 * is not wholly a number is refused. The caller knows what the number is for and writes the
 * sentence. Read next: spec.h, where the texts come from.
 */
#ifndef TSR_NUMBER_H
#define TSR_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads a whole number of 64 bits:
 *   123, 0123 (decimal as well: there is no octal), 0x7f,
 *   100K M G T = times 10^3 10^6 10^9 10^12, 64Ki Mi Gi Ti = times 2^10 2^20 2^30 2^40,
 *   2^27, 10^6: decimal numbers.
 * Suffixes are written exactly so ("k" or "m" would be read as kilo and milli by some) and follow
 * decimal numbers only. False, and *out untouched, for anything else: NULL, an empty text, a sign,
 * blanks, trailing characters, a value beyond 64 bits. Thread-safe. */
TSR_MUST_CHECK bool tsr_parse_u64(const char *text, uint64_t *out);

/* The number that somebody meant by a text that tsr_parse_u64 refuses: 1e6, 1.5M, 1,000,000 or 1_000_000 (groups of
 * three), 64k, 1MB, "5" in quotes. False, and *out untouched, where that is no whole number of 64 bits, exactly.
 * Nothing is read by it: it is for the sentence that refuses. Thread-safe. */
TSR_MUST_CHECK bool tsr_guess_u64(const char *text, uint64_t *out);

/* The end of that sentence, such as "; write 1000000 or 1M"; "" where tsr_guess_u64 guesses nothing. Returns advice. */
enum { TSR_ADVICE_BYTES = 64 };
const char *tsr_number_advice(const char *text, char advice[TSR_ADVICE_BYTES]);

/* Reads a number such as 0.8, .8, 1 or 2.5e-3 to the nearest double, with a point in every locale.
 * False, and *out untouched, for anything else: NULL, a sign, nan, inf, hexadecimal, blanks,
 * trailing characters, a value that a normal double cannot hold (1e999, 1e-999). Thread-safe. */
TSR_MUST_CHECK bool tsr_parse_double(const char *text, double *out);

/* Between these two the calling thread prints numbers with a point, whatever locale its program has chosen. */
typedef struct tsr_plain_numbers {
  void *plain, *former;
} tsr_plain_numbers;
void tsr_plain_numbers_begin(tsr_plain_numbers *numbers);
void tsr_plain_numbers_end(const tsr_plain_numbers *numbers);

/* The name that `word` was probably meant to be: the one of `names` with the smallest edit
 * distance, in which small and capital letters are the same, the first one on a tie; NULL if none is within 3 edits and
 * fewer edits than `word` has letters. A word of at most 4 letters also begins as the name does: otherwise gpu would be
 * taken for cpu, and last for first. The result points into `names`. */
const char *tsr_nearest(const char *word, const char *const *names, size_t count);

/* Bytes of the first sentence of `text`, its full stop included: for "%.*s". */
int tsr_first_sentence(const char *text);

#ifdef __cplusplus
}
#endif
#endif
