/* SPDX-License-Identifier: Apache-2.0
 *
 * Letters cut into super-k-mers, and these kept in bins.
 *
 * The minimizer of a k-mer is the least of its m-mers by a hash; in canonical counting an m-mer and its reverse complement are
 * one. Neighbours mostly share their minimizer. A super-k-mer is a run of k-mers that do: n of them are n + K - 1 letters of 2
 * bits. The minimizer chooses the bin, so all occurrences of a k-mer are in one bin, and each bin is counted alone
 * (kmer_counter.h). A record in a bin is a byte with n - 1 and the letters, the first one in the lowest bits.
 */
#ifndef TSR_SUPERMERS_H
#define TSR_SUPERMERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
  TSR_BINS_LOG2 = 10,
  TSR_BINS = 1 << TSR_BINS_LOG2,
  TSR_SUPERMER_KMERS = 256, /* at most */
  TSR_BLOCK_BYTES = 1 << 12,
  TSR_BLOCK_SPARE = 32 /* bytes behind the last record that may be read and written */
};

/* A piece of a bin: whole records. */
typedef struct tsr_supermer_block {
  struct tsr_supermer_block *before;
  uint32_t bytes; /* of the records */
  uint8_t records[TSR_BLOCK_BYTES - 12];
} tsr_supermer_block;

typedef struct tsr_supermer_bin {
  tsr_supermer_block *last; /* NULL: it is empty */
  uint64_t kmers;
} tsr_supermer_bin;

/* The bins of one thread. */
typedef struct tsr_supermers {
  uint32_t kmers, minimizer;  /* letters of a k-mer, of a minimizer */
  bool canonical, has_failed; /* for want of memory, as was; records are missing then */
  tsr_supermer_bin bins[TSR_BINS];
  tsr_supermer_block **pools;       /* arrays of blocks */
  uint32_t pool_count, pool, block; /* pools in use, and the next block */
} tsr_supermers;

void tsr_supermers_begin(tsr_supermers *s, uint32_t kmers, bool canonical);
/* Adds the k-mers that begin in letters[begin, end), of `count` letters in all: 0 to 3, and larger numbers that no k-mer may
 * hold. 8 bytes behind the letters may be read. */
void tsr_supermers_add(tsr_supermers *s, const uint8_t *letters, uint64_t count, uint64_t begin, uint64_t end);
uint64_t tsr_supermers_bytes(const tsr_supermers *s);
/* Empties all bins and keeps their memory for others. */
void tsr_supermers_clear(tsr_supermers *s);
void tsr_supermers_end(tsr_supermers *s);

#endif
