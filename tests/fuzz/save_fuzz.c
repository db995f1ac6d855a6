/* SPDX-License-Identifier: Apache-2.0
 *
 * Saved tables: the input as it is, and once more with its checksums and sizes made right, as chance would never get
 * past them. What is loaded must be a table that can be used. TESSERA_PLUGINS names the folders of the plugins.
 */
#include "core/tessera.h"

#include "plugins/table.h"
#include "tests/fuzz/fuzz.h"

/* The format as core/save.c describes it. */
enum {
  AT_VERSION = 8,
  AT_ABI = 12,
  AT_TEXT_BYTES = 16,
  AT_ROW_COUNT = 24,
  AT_FILE_BYTES = 72,
  HEAD_BYTES = 80,
  ROW_BYTES = 72, /* role, index, name[48], bytes, checksum */
  AT_ROW_REGION_BYTES = 56,
  AT_ROW_CHECKSUM = 64,
  VERSION = 1
};

static uint64_t checksum(uint64_t state, const uint8_t *at, uint64_t bytes) {
  while (bytes) {
    uint64_t word = 0, step = bytes < sizeof word ? bytes : sizeof word;
    memcpy(&word, at, step);
    state = (state ^ word) * 0xFF51AFD7ED558CCDu;
    state ^= state >> 29;
    at += step;
    bytes -= step;
  }
  return state;
}

static uint64_t number_at(const uint8_t *at) {
  uint64_t number;
  memcpy(&number, at, sizeof number);
  return number;
}

/* Makes right what a reader checks first; false if there is no room for it. */
static bool repair(uint8_t *bytes, uint64_t size) {
  static const uint32_t version = VERSION, abi = TSR_ABI;
  if (size < HEAD_BYTES) return false;
  memcpy(bytes, "TSRTAB\r\n", 8);
  memcpy(bytes + AT_VERSION, &version, 4);
  memcpy(bytes + AT_ABI, &abi, 4);
  memcpy(bytes + AT_FILE_BYTES, &size, 8);
  uint64_t text_bytes = number_at(bytes + AT_TEXT_BYTES), count = number_at(bytes + AT_ROW_COUNT);
  if (text_bytes > size || count > 64) return false;
  uint64_t front = HEAD_BYTES + text_bytes + count * ROW_BYTES;
  if (size < front + 8) return false;
  uint64_t at = front + 8;
  for (uint64_t i = 0; i < count; i++) {
    uint8_t *row = bytes + HEAD_BYTES + text_bytes + i * ROW_BYTES;
    uint64_t region_bytes = number_at(row + AT_ROW_REGION_BYTES);
    if (region_bytes > size - at) break;
    uint64_t sum = 0;
    for (uint64_t done = 0, step; done < region_bytes; done += step) { /* in blocks, as it is read */
      step = region_bytes - done < 1 << 22 ? region_bytes - done : 1 << 22;
      sum = checksum(sum, bytes + at + done, step);
    }
    memcpy(row + AT_ROW_CHECKSUM, &sum, 8);
    at += region_bytes;
  }
  uint64_t sum = checksum(VERSION, bytes, HEAD_BYTES);
  sum = checksum(sum, bytes + HEAD_BYTES, text_bytes);
  sum = checksum(sum, bytes + HEAD_BYTES + text_bytes, count * ROW_BYTES);
  memcpy(bytes + front, &sum, 8);
  return true;
}

/* All pairs come out, and those that are looked for by their own key are found or missing, nothing else. */
static void use(tsr_table *table) {
  tsr_error error;
  uint64_t pairs = 0, exported = 0;
  tsr_table_info info;
  tsr_table_describe(table, &info);
  FUZZ_CHECK(tsr_size(table, &pairs, &error) == TSR_OK && pairs <= info.bytes);
  void *keys = malloc(pairs * 8 + 1), *values = malloc(pairs * 8 + 1);
  uint8_t *present = malloc(pairs + 1);
  FUZZ_CHECK(keys && values && present);
  FUZZ_CHECK(tsr_export(table, pairs, keys, info.value_bits ? values : NULL, &exported, &error) == TSR_OK);
  FUZZ_CHECK(exported == pairs);
  FUZZ_CHECK(tsr_contains(table, pairs, keys, present, NULL, &error) == TSR_OK);
  for (uint64_t i = 0; i < pairs; i++) FUZZ_CHECK(present[i] <= 1);
  FUZZ_CHECK(tsr_erase(table, pairs, keys, NULL, &error) == TSR_OK);
  free(keys);
  free(values);
  free(present);
}

static bool load(const uint8_t *bytes, size_t size) {
  const char *path = fuzz_file(bytes, size, ".tsr");
  tsr_load_options options = {.backend = "cpu"};
  tsr_error error = {.status = TSR_OK};
  tsr_table *table = NULL;
  tsr_status status = tsr_table_load(path, &options, &table, &error);
  if (status) {
    FUZZ_CHECK(!table);
    fuzz_check_sentence(&error, status, ""); /* a spec's or a plugin's begins with its own subject */
    return false;
  }
  use(table);
  tsr_table_destroy(table);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  uint8_t *repaired = malloc(size + 1);
  FUZZ_CHECK(repaired);
  bool is_loaded = load(bytes, size);
  if (size) memcpy(repaired, bytes, size);
  if (repair(repaired, size)) {
    bool is_loaded_again = load(repaired, size);
    FUZZ_CHECK(!is_loaded || is_loaded_again); /* else the format above is another one */
  }
  free(repaired);
  return 0;
}
