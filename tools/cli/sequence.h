/* SPDX-License-Identifier: Apache-2.0
 *
 * k-mers of FASTA and FASTQ files.
 *
 * A k-mer is K letters in a row, packed with 2 bits a letter: A C G T (either case) are 0 1 2 3, and U counts as T;
 * the first letter is the most significant. Any other letter breaks it; it never spans two records. The first letter
 * of a file tells which it is: '@' begins FASTQ. Letters may go over any number of lines of any length, in FASTQ their
 * qualities too, until there are as many; blanks may end a line. In FASTA a line that begins with ';' is a comment.
 * The text is streamed: memory holds one block of it.
 * Read next: dataset.h, whose reader calls this one and adds the values.
 */
#ifndef TSR_SEQUENCE_H
#define TSR_SEQUENCE_H

#include "tools/cli/cut.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_sequence tsr_sequence;

enum {
#ifdef TSR_SMALL_BLOCKS /* tests/fuzz: so that short inputs have many blocks, and none costs a megabyte */
  TSR_SEQUENCE_BLOCK = 1 << 10,
#else
  TSR_SEQUENCE_BLOCK = 1 << 18, /* bytes of text that are worked on at a time */
#endif
  TSR_SEQUENCE_ROOM = TSR_SEQUENCE_BLOCK + 64, /* k-mers or letters that a call must have room for */
  TSR_LETTER_BREAK = 4
};

typedef struct tsr_sequence_facts { /* of the records that have ended */
  uint64_t records;
  uint64_t bases;         /* their letters, N included */
  uint64_t kmers_skipped; /* windows of K letters that hold another letter than A, C, G or T */
  uint64_t kmers;         /* where letters are read: those that they hold, of the open record too */
} tsr_sequence_facts;

/* Whether the ending of a name, of which `length` bytes count, is one of a sequence file. */
bool tsr_sequence_is_named(const char *name, size_t length);

/* How many k-mers can exist; of canonical ones half, and those that are their own reverse complement. From 32 letters on
 * UINT64_MAX or half of it stands for more. pre: letters is 1 to 64. */
uint64_t tsr_kmers_possible(uint32_t letters, bool canonical);

/* What another format is, whose files such a name has, and what to do with one: "BAM, and k-mers are ...". NULL: it is none
 * that is known. */
const char *tsr_sequence_foreign_name(const char *name, size_t length);

/* Begins to read the k-mers of the records that begin in a range of `text`, which stays the caller's, as `path`, which is for sentences. The caller frees
 * *sequence with tsr_sequence_free. pre: options->kmers is 1 to options->key_bits / 2. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_sequence_begin(tsr_text *text, const char *path, tsr_range range,
                                             const tsr_dataset_options *options, tsr_sequence **sequence,
                                             tsr_error *error);

/* Writes further k-mers to keys[room], in their order, by the options' key_bits; *count = 0 only at the end. With
 * TSR_LETTER_BITS it writes the letters instead, 0 to 3 and TSR_LETTER_BREAK between those that no k-mer may span; what one
 * call writes holds k-mers of its own, so a call begins with up to K - 1 letters of the call before.
 * Status: TSR_IO, TSR_NO_MEMORY. pre: room >= TSR_SEQUENCE_ROOM. */
TSR_MUST_CHECK tsr_status tsr_sequence_next(tsr_sequence *sequence, void *keys, uint64_t room, uint64_t *count,
                                            tsr_error *error);

tsr_sequence_facts tsr_sequence_describe(const tsr_sequence *sequence);

void tsr_sequence_free(tsr_sequence *sequence); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
