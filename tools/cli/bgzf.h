/* SPDX-License-Identifier: Apache-2.0
 *
 * BGZF, the gzip that bgzip writes: many small streams ("blocks"), each of which says its size, so that all cores decode them.
 * What is not exactly a whole and sound block is left to the decoder of any gzip, which also says what is wrong with it. Read
 * next: text.h, the user.
 */
#ifndef TSR_BGZF_H
#define TSR_BGZF_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tsr_bgzf tsr_bgzf;

tsr_bgzf *tsr_bgzf_new(void); /* NULL: no memory */
/* Whether a file that begins so is of bgzip. */
bool tsr_bgzf_begins(const unsigned char *in, size_t bytes);
/* Decodes the blocks that `in` begins with, and returns their bytes: 0 if there is no whole and sound one. pre: all text was
 * taken. */
size_t tsr_bgzf_decode(tsr_bgzf *bgzf, const unsigned char *in, size_t bytes);
/* Moves up to `room` bytes of the decoded text; 0: there are no more. */
size_t tsr_bgzf_take(tsr_bgzf *bgzf, unsigned char *to, size_t room);
void tsr_bgzf_free(tsr_bgzf *bgzf); /* NULL is fine */

#endif
