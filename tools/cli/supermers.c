/* SPDX-License-Identifier: Apache-2.0
 *
 * Super-k-mers (supermers.h). A run of letters is worked on in pieces that the first-level cache holds: the hashes of its
 * m-mers, the least hash of each k-mer, the places where that changes, and the letters dense.
 */
#define _GNU_SOURCE /* madvise */
#include "tools/cli/supermers.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/cli/sequence.h"

enum {
  MINIMIZER = 9,   /* with fewer letters super-k-mers are longer and bins less equal */
  PIECE = 1 << 11, /* k-mers of a piece */
  LETTERS = PIECE + 64,
  POOL_BLOCKS = 1 << 9,
  RECORD_BYTES = 1 + (TSR_SUPERMER_KMERS + 63 + 3) / 4
};

_Static_assert(sizeof(tsr_supermer_block) <= TSR_BLOCK_BYTES + 4, "a block is a page");

typedef struct piece {
  const uint8_t *letters;
  uint32_t kmers;                /* its letters are K - 1 more */
  uint32_t hash[LETTERS + 64];   /* of the m-mer that begins at a letter; then the least one of a k-mer */
  uint32_t behind[LETTERS + 64]; /* the least hash from here to the end of its group */
  uint8_t dense[LETTERS / 4 + 64];
} piece;

void tsr_supermers_begin(tsr_supermers *s, uint32_t kmers, bool canonical) {
  *s = (tsr_supermers){.kmers = kmers, .minimizer = kmers < MINIMIZER ? kmers : MINIMIZER, .canonical = canonical};
}

/* ---- Blocks ---------------------------------------------------------------------------------- */

static bool add_pool(tsr_supermers *s) {
  const size_t bytes = POOL_BLOCKS * sizeof(tsr_supermer_block);
  tsr_supermer_block **pools = realloc(s->pools, (s->pool_count + 1) * sizeof *pools);
  void *pool = NULL;
  if (pools) s->pools = pools;
  if (!pools || posix_memalign(&pool, 1 << 21, bytes) != 0) return false;
  madvise(pool, bytes, MADV_HUGEPAGE); /* may fail: it is advice */
  s->pools[s->pool_count++] = pool;
  return true;
}

static tsr_supermer_block *next_block(tsr_supermers *s, tsr_supermer_bin *bin) {
  if (s->block == POOL_BLOCKS) {
    s->pool++;
    s->block = 0;
  }
  if (s->pool == s->pool_count && !add_pool(s)) {
    s->has_failed = true;
    return NULL;
  }
  tsr_supermer_block *block = &s->pools[s->pool][s->block++];
  block->before = bin->last;
  block->bytes = 0;
  bin->last = block;
  return block;
}

uint64_t tsr_supermers_bytes(const tsr_supermers *s) {
  return (uint64_t)(s->pool * POOL_BLOCKS + s->block) * sizeof(tsr_supermer_block);
}

void tsr_supermers_clear(tsr_supermers *s) {
  memset(s->bins, 0, sizeof s->bins);
  s->pool = s->block = 0;
}

void tsr_supermers_end(tsr_supermers *s) {
  for (uint32_t i = 0; i < s->pool_count; i++) free(s->pools[i]);
  free(s->pools);
}

/* ---- Minimizers ------------------------------------------------------------------------------ */

/* Of a minimizer's hash, whose small values are frequent. */
static uint32_t bin_of(uint32_t hash) { return hash * 0x85EBCA6Bu >> (32 - TSR_BINS_LOG2); }

/* The hashes of all m-mers. canonical is a constant at each call. */
static inline void hash_piece(const tsr_supermers *s, piece *p, uint32_t count, bool canonical) {
  const uint32_t m = s->minimizer, top = 2 * (m - 1), mask = (1u << 2 * m) - 1;
  uint32_t forward = 0, reverse = 0;
  for (uint32_t i = 0; i < m - 1; i++) {
    forward = forward << 2 | p->letters[i];
    reverse = reverse >> 2 | (3u - p->letters[i]) << top;
  }
  for (uint32_t i = 0; i < count; i++) {
    const uint32_t letter = p->letters[i + m - 1];
    forward = (forward << 2 | letter) & mask;
    reverse = reverse >> 2 | (3 - letter) << top;
    const uint32_t least = canonical && reverse < forward ? reverse : forward;
    p->hash[i] = (least ^ 0x1D0F3u) * 0x9E3779B1u; /* one to one, and poly-A is not the least */
  }
}

/* p->hash becomes the least hash of each k-mer: of `window` m-mers. A window is the end of one group of that many and the
 * begin of the next, so it takes two comparisons whatever its size. */
static void find_minimizers(piece *p, uint32_t count, uint32_t window) {
  for (uint32_t i = count; i < count + 2 * window && i < LETTERS + 64; i++) p->hash[i] = UINT32_MAX;
  for (uint32_t group = 0; group < p->kmers; group += window) {
    uint32_t least = UINT32_MAX;
    for (uint32_t i = group + window; i-- > group;) {
      least = p->hash[i] < least ? p->hash[i] : least;
      p->behind[i] = least;
    }
    least = UINT32_MAX;
    p->hash[group] = p->behind[group];
    for (uint32_t i = group + 1; i < group + window; i++) {
      const uint32_t next = p->hash[i + window - 1];
      least = next < least ? next : least;
      p->hash[i] = p->behind[i] < least ? p->behind[i] : least;
    }
  }
}

/* ---- Records --------------------------------------------------------------------------------- */

static uint64_t load(const uint8_t *from) {
  uint64_t word;
  memcpy(&word, from, sizeof word);
  return word;
}

static void pack(piece *p, uint32_t letters) {
  for (uint32_t i = 0; i < letters; i += 8) {
    uint64_t word = load(p->letters + i);
    word = (word | word >> 6) & 0x000F000F000F000Fu;
    word = (word | word >> 12) & 0x000000FF000000FFu;
    const uint16_t both = (uint16_t)(word | word >> 24);
    memcpy(p->dense + i / 4, &both, sizeof both);
  }
}

static void put_record(tsr_supermers *s, const piece *p, uint32_t first, uint32_t end) {
  tsr_supermer_bin *bin = &s->bins[bin_of(p->hash[first])];
  tsr_supermer_block *block = bin->last;
  const uint32_t kmers = end - first, bytes = (kmers + s->kmers - 1 + 3) / 4, shift = 2 * (first % 4);
  if (!block || block->bytes + RECORD_BYTES + TSR_BLOCK_SPARE > sizeof block->records) block = next_block(s, bin);
  if (!block) return;
  uint8_t *to = block->records + block->bytes;
  *to++ = (uint8_t)(kmers - 1);
  for (uint32_t i = 0; i < bytes; i += 7) { /* as many are whole, however they are shifted */
    const uint64_t word = load(p->dense + first / 4 + i) >> shift;
    memcpy(to + i, &word, sizeof word);
  }
  block->bytes += 1 + bytes;
  bin->kmers += kmers;
}

static void add_piece(tsr_supermers *s, piece *p) {
  const uint32_t letters = p->kmers + s->kmers - 1, hashes = letters - s->minimizer + 1;
  if (s->canonical)
    hash_piece(s, p, hashes, true);
  else
    hash_piece(s, p, hashes, false);
  find_minimizers(p, hashes, s->kmers - s->minimizer + 1);
  pack(p, letters);
  for (uint32_t first = 0, i = 1; first < p->kmers; i++) {
    if (i < p->kmers && p->hash[i] == p->hash[first] && i - first < TSR_SUPERMER_KMERS) continue;
    put_record(s, p, first, i);
    first = i;
  }
}

void tsr_supermers_add(tsr_supermers *s, const uint8_t *letters, uint64_t count, uint64_t begin, uint64_t end) {
  piece p;
  const uint64_t last = end + s->kmers - 1, stop = last < count ? last : count;
  for (uint64_t at = begin; at < stop;) {
    if (letters[at] >= TSR_LETTER_BREAK) {
      at++;
      continue;
    }
    const uint8_t *next = memchr(letters + at, TSR_LETTER_BREAK, stop - at);
    const uint64_t run_end = next ? (uint64_t)(next - letters) : stop;
    for (; at + s->kmers <= run_end; at += p.kmers) {
      const uint64_t left = run_end - at - s->kmers + 1;
      p.letters = letters + at;
      p.kmers = left < PIECE ? (uint32_t)left : PIECE;
      add_piece(s, &p);
    }
    at = run_end;
  }
}
