/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows separated by commas, with quoted fields and names in the first row: as a file of that ending is read.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/whole_file.h"

static void read_as(const char *path, const tsr_dataset_options *options, size_t size) {
  tsr_dataset data = {.count = 0};
  tsr_error error = {.status = TSR_OK};
  tsr_status status = tsr_dataset_read(path, options, &data, &error);
  if (status) {
    fuzz_check_sentence(&error, status, path);
    FUZZ_CHECK(!data.keys && !data.values);
    return;
  }
  FUZZ_CHECK(data.count <= size);
  fuzz_sum(data.keys, options->key_bits, data.count);
  if (options->want_values) fuzz_sum(data.values, options->value_bits, data.count);
  tsr_dataset_free(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const columns[][2] = {{NULL, NULL}, {"1", NULL}, {"2", "@1"}, {"id", "count"}, {"@3", "id"}};
  const char *path = fuzz_file(bytes, size, ".csv");
  for (size_t c = 0; c < sizeof columns / sizeof columns[0]; c++)
    for (uint32_t flags = 0; flags < 8; flags++) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* one of them, which the length chooses: reading starts threads */
      if (size % 5 != c || size / 5 % 8 != flags) continue;
#endif
      tsr_dataset_options options = {.key_bits = flags & 1 ? 64 : 32,
                                     .value_bits = flags & 2 ? 64 : 32,
                                     .want_values = flags & 2,
                                     .skips_null = flags & 4,
                                     .signed_keys = flags & 4,
                                     .signed_values = flags & 4,
                                     .key_column = columns[c][0],
                                     .value_column = columns[c][1]};
      read_as(path, &options, size);
    }
  return 0;
}
