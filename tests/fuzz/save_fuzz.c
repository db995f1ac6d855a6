/* SPDX-License-Identifier: Apache-2.0
 *
 * Saved tables, of one device and of several: the input as it is, and once more with its checksums and sizes made right, as
 * chance would never get past them. What is loaded must be a table that can be used. TESSERA_PLUGINS names the folders of the
 * plugins.
 */
#include "core/tessera.h"

#include <stddef.h>

#include "core/table/save_format.h"
#include "tests/fuzz/fuzz.h"

/* Makes right what a reader of one table checks first; false if there is no room for it. */
static bool repair_table(uint8_t *bytes, uint64_t size) {
  tsr_save_head head;
  if (size < sizeof head) return false;
  memcpy(&head, bytes, sizeof head);
  memcpy(head.magic, TSR_SAVE_MAGIC, sizeof head.magic);
  if (head.version != TSR_SAVE_OLDEST) head.version = TSR_SAVE_VERSION;
  head.file_bytes = size;
  memcpy(bytes, &head, sizeof head);
  if (head.text_bytes > size || head.region_count > 4 * TSR_SAVE_REGIONS_MAX) return false; /* some too many */
  uint64_t at = tsr_save_front_bytes(&head);
  if (size < at) return false;
  uint8_t *text = bytes + sizeof head, *rows = text + head.text_bytes, *front_end = bytes + at;
  for (uint64_t i = 0; i < head.region_count; i++) {
    tsr_save_row row;
    memcpy(&row, rows + i * sizeof row, sizeof row);
    if (row.bytes > size - at) break;
    row.checksum = tsr_save_checksum(0, bytes + at, row.bytes);
    memcpy(rows + i * sizeof row, &row, sizeof row);
    at += row.bytes;
  }
  uint64_t sum = tsr_save_front_checksum(&head, text, rows);
  memcpy(front_end - sizeof sum, &sum, sizeof sum);
  return true;
}

/* The same of a file of several devices: its shards as they are, where its head says that they end. */
static bool repair_shards(uint8_t *bytes, uint64_t size) {
  tsr_save_shards_head head;
  memcpy(&head, bytes, sizeof head);
  if (head.version != TSR_SAVE_OLDEST) head.version = TSR_SAVE_VERSION;
  uint64_t at = sizeof head + head.text_bytes;
  if (head.text_bytes > size || at > size || head.shards == 0 || head.shards > 64) return false;
  head.ends[head.shards - 1] = size;
  for (uint32_t i = 0; i < head.shards; i++) {
    if (head.ends[i] < at || head.ends[i] > size || !repair_table(bytes + at, head.ends[i] - at)) return false;
    at = head.ends[i];
  }
  const uint64_t sum = tsr_save_checksum(head.version, &head, offsetof(tsr_save_shards_head, checksum));
  head.checksum = tsr_save_checksum(sum, bytes + sizeof head, head.text_bytes);
  memcpy(bytes, &head, sizeof head);
  return true;
}

static bool repair(uint8_t *bytes, uint64_t size) {
  const bool has_shards = size >= sizeof(tsr_save_shards_head) && memcmp(bytes, TSR_SAVE_SHARDS_MAGIC, 8) == 0;
  return has_shards ? repair_shards(bytes, size) : repair_table(bytes, size);
}

/* All pairs come out, and those that are looked for by their own key are found or missing, nothing else. */
static void use(tsr_table *table) {
  tsr_error error;
  uint64_t pairs = 0, exported = 0;
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  FUZZ_CHECK(tsr_size(table, &pairs, &error) == TSR_OK && pairs <= info.bytes);
  void *keys = malloc(pairs * info.key_bits / 8 + 1), *values = malloc(pairs * info.value_bits / 8 + 1);
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
    FUZZ_CHECK(!is_loaded || is_loaded_again); /* else repair() breaks what it should make right */
  }
  free(repaired);
  return 0;
}
