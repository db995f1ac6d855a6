/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTA and FASTQ. The first byte of an input chooses: bit 1 gzip, bit 2 canonical, bits 3 to 7 the
 * letters of a k-mer, less 1.
 */
#define _GNU_SOURCE /* memfd_create */

#include "tools/cli/sequence.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* Reads to the end, or to what is refused. *count: of k-mers, or letters. */
static tsr_status read_all(tsr_sequence *sequence, const tsr_dataset_options *options, uint64_t *count,
                           tsr_error *error) {
  const bool has_letters = options->key_bits == TSR_LETTER_BITS;
  uint64_t limit = has_letters ? TSR_LETTER_BREAK : UINT64_MAX >> (64 - 2 * options->kmers), got = 1;
  void *keys = malloc(TSR_SEQUENCE_ROOM * (options->key_bits / 8));
  tsr_status status = TSR_OK;
  FUZZ_CHECK(keys);
  for (; status == TSR_OK && got > 0; *count += got) {
    status = tsr_sequence_next(sequence, keys, TSR_SEQUENCE_ROOM, &got, error);
    FUZZ_CHECK(got <= TSR_SEQUENCE_ROOM);
    for (uint64_t i = 0; i < got; i++) FUZZ_CHECK(tsr_key_at(keys, options->key_bits, i) <= limit);
  }
  free(keys);
  return status;
}

static tsr_status read_file(int file, bool is_gzip, const tsr_dataset_options *options, uint64_t *count,
                            tsr_sequence_facts *facts, tsr_error *error) {
  tsr_text *text = NULL;
  tsr_sequence *sequence = NULL;
  FUZZ_CHECK(lseek(file, 0, SEEK_SET) == 0);
  FUZZ_CHECK(!tsr_text_begin(file, "a.fa", is_gzip ? tsr_format_by_name("gz.gz", 5) : NULL, false, &text, error));
  FUZZ_CHECK(!tsr_sequence_begin(text, "a.fa", tsr_range_of_all, options, &sequence, error));
  const tsr_status status = read_all(sequence, options, count, error);
  *facts = tsr_sequence_describe(sequence);
  tsr_sequence_free(sequence);
  tsr_text_free(text);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0) return 0;
  const uint8_t choice = bytes[0];
  tsr_dataset_options options = {.kmers = (uint32_t)(choice >> 3) + 1, .canonical = choice & 4};
  options.key_bits = options.kmers > 16 ? 64 : 32;
  tsr_error error = {.status = TSR_OK};
  tsr_sequence_facts facts, of_letters;
  uint64_t count = 0, letters = 0;
  int file = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(file >= 0 && pwrite(file, bytes + 1, size - 1, 0) == (ssize_t)(size - 1));
  const tsr_status status = read_file(file, choice & 2, &options, &count, &facts, &error);
  if (status)
    fuzz_check_sentence(&error, status, "a.fa:");
  else
    FUZZ_CHECK((count == 0 || facts.records > 0) && count + facts.kmers_skipped <= facts.bases);
  options.key_bits = TSR_LETTER_BITS;
  FUZZ_CHECK(read_file(file, choice & 2, &options, &letters, &of_letters, &error) == status);
  FUZZ_CHECK(of_letters.bases == facts.bases && of_letters.kmers_skipped == facts.kmers_skipped);
  FUZZ_CHECK(status || of_letters.kmers == count);
  close(file);
  return 0;
}
