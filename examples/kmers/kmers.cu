/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting k-mers in one kernel: each item is a place in a text, whose k letters become a canonical k-mer; if that is
 * wanted, it is counted. Nothing is written but the counts. The other kernels are what bulk calls need for the same.
 * Read next: kmers.c, README.md.
 */
#include "tessera.cuh"

TSR_TABLE(chosen, inserts)
TSR_TABLE(wanted, finds)
TSR_TABLE(counts, inserts)

/* 0 to 3 for a letter of DNA, else 4. */
TSR_KERNEL_INLINE uint32_t base_of(uint8_t letter) {
  const uint32_t upper = letter & 0xDFu;
  return upper == 'A' ? 0 : upper == 'C' ? 1 : upper == 'G' ? 2 : upper == 'T' ? 3 : 4;
}

/* The k-mer that begins at `at`, or that of the other strand if it is less; *is_kmer: all its letters are bases. k is at
 * most 31. */
TSR_KERNEL_INLINE uint64_t kmer_at(const uint8_t *text, uint64_t n, uint64_t at, uint32_t k, uint32_t *is_kmer) {
  const uint32_t letters = at + k <= n ? k : 0;
  uint64_t forward = 0, backward = 0;
  uint32_t worst = letters ? 0 : 4;
  for (uint32_t j = 0; j < letters; j++) { /* to the end, whatever is there: so that no load waits for another */
    const uint32_t base = base_of(text[at + j]);
    forward = forward << 2 | (base & 3);
    backward |= (uint64_t)(3 - (base & 3)) << 2 * j;
    worst = base > worst ? base : worst;
  }
  *is_kmer = worst < 4;
  return forward < backward ? forward : backward;
}

/* Which k-mers this example wants: about every second one. */
TSR_KERNEL_INLINE uint32_t is_chosen(uint64_t kmer) { return (kmer * 0x9E3779B97F4A7C15u) >> 63 == 0; }

TSR_KERNEL(choose_kmers, (tsr_table_ref chosen, const uint8_t *text, uint64_t n, uint32_t k)) {
  uint32_t is_kmer;
  const uint64_t kmer = kmer_at(text, n, tsr_item(), k, &is_kmer);
  const uint32_t mine = is_kmer && is_chosen(kmer);
  if_any(mine) tsr_insert(chosen, mine, kmer, 0);
}

TSR_KERNEL(count_kmers, (tsr_table_ref counts, tsr_table_ref wanted, const uint8_t *text, uint64_t n, uint32_t k)) {
  uint32_t is_kmer;
  const uint64_t kmer = kmer_at(text, n, tsr_item(), k, &is_kmer);
  const uint32_t mine = tsr_contains(wanted, is_kmer, kmer);
  if_any(mine) tsr_insert(counts, mine, kmer, 1);
}

/* ---- By bulk calls: write, tsr_contains, select, tsr_insert ------------------------------------ */

/* What is no k-mer becomes one that has too many letters, and so is never wanted. */
TSR_KERNEL(write_kmers, (tsr_table_ref wanted, const uint8_t *text, uint64_t n, uint32_t k, uint64_t *kmers)) {
  const uint64_t i = tsr_item();
  uint32_t is_kmer;
  const uint64_t kmer = kmer_at(text, n, i, k, &is_kmer);
  (void)wanted;
  if (i < tsr_items()) kmers[i] = is_kmer ? kmer : (uint64_t)1 << 63;
}

TSR_KERNEL(select_kmers, (tsr_table_ref wanted, const uint64_t *kmers, const uint8_t *present, uint64_t *selected,
                          uint64_t *number)) {
  const uint64_t i = tsr_item();
  (void)wanted;
  const uint64_t at = tsr_append(number, i < tsr_items() && present[i]);
  if (i < tsr_items() && present[i]) selected[at] = kmers[i];
}
