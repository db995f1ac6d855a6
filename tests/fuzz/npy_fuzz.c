/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of NumPy, with every pair of widths.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/unit/whole_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const uint32_t widths[][2] = {{32, 0}, {32, 32}, {64, 32}, {64, 64}};
  const char *path = fuzz_file(bytes, size, ".npy");
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
    tsr_dataset_options options = {
        .key_bits = widths[i][0], .value_bits = widths[i][1], .want_values = widths[i][1] > 0};
    tsr_dataset data = {.count = 0};
    tsr_error error = {.status = TSR_OK};
    tsr_status status = tsr_dataset_read(path, &options, &data, &error);
    if (status) {
      fuzz_check_sentence(&error, status, path);
      FUZZ_CHECK(!data.keys && !data.values);
      continue;
    }
    FUZZ_CHECK(data.count <= size);
    fuzz_sum(data.keys, options.key_bits, data.count);
    if (options.want_values) fuzz_sum(data.values, options.value_bits, data.count);
    tsr_dataset_free(&data);
  }
  return 0;
}
