/* SPDX-License-Identifier: Apache-2.0
 *
 * FASTA and FASTQ. The first byte of an input chooses: bit 0 FASTQ, bit 1 gzip, bit 2 canonical, bits 3 to 7 the
 * letters of a k-mer, less 1.
 */
#define _GNU_SOURCE /* memfd_create */

#include "core/cli/sequence.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

static void check(const tsr_dataset *data, const tsr_dataset_options *options) {
  uint64_t limit = UINT64_MAX >> (64 - 2 * options->kmers);
  FUZZ_CHECK(data->count > 0 && data->records > 0 && !data->values);
  FUZZ_CHECK(data->count + data->kmers_skipped <= data->bases);
  for (uint64_t i = 0; i < data->count; i++) {
    uint64_t key = options->key_bits == 64 ? ((uint64_t *)data->keys)[i] : ((uint32_t *)data->keys)[i];
    FUZZ_CHECK(key <= limit);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  if (size == 0) return 0;
  uint8_t choice = bytes[0];
  tsr_sequence_format format = {.is_fastq = choice & 1, .is_gzip = choice & 2};
  tsr_dataset_options options = {.kmers = (uint32_t)(choice >> 3) + 1, .canonical = choice & 4};
  options.key_bits = options.kmers > 16 ? 64 : 32;
  tsr_dataset data = {.count = 0};
  tsr_error error = {.status = TSR_OK};
  int file = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(file >= 0 && pwrite(file, bytes + 1, size - 1, 0) == (ssize_t)(size - 1));
  tsr_status status = tsr_sequence_read(file, "a.fa", format, &options, &data, &error);
  close(file);
  if (status)
    fuzz_check_sentence(&error, status, "a.fa:");
  else
    check(&data, &options);
  tsr_dataset_free(&data);
  return 0;
}
