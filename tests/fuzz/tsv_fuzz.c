/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of text, with every pair of widths and the options of rows.
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
  if (options->want_values && options->value_bits <= 64) fuzz_sum(data.values, options->value_bits, data.count);
  tsr_dataset_free(&data);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const uint32_t widths[][2] = {{32, 0}, {32, 32}, {64, 32}, {64, 64}, {64, 128}};
  static const char separators[] = {0, ',', ';', ' '};
  const char *path = fuzz_file(bytes, size, ".tsv");
  for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++)
    for (size_t s = 0; s < sizeof separators; s++) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION /* one of them, which the length chooses: reading starts threads */
      if (size % 5 != i || size / 5 % 4 != s) continue;
#endif
      tsr_dataset_options options = {.key_bits = widths[i][0],
                                     .value_bits = widths[i][1],
                                     .want_values = widths[i][1] > 0,
                                     .separator = separators[s]};
      read_as(path, &options, size);
      options.key_column = "id";
      options.value_column = "@2";
      read_as(path, &options, size);
      options.key_column = "2";
      options.value_column = NULL;
      options.skips_null = options.signed_keys = options.signed_values = options.is_strict = true;
      read_as(path, &options, size);
    }
  return 0;
}
