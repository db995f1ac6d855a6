// SPDX-License-Identifier: Apache-2.0
//
// What a program does with a table, from its creation to its end, for tests that let any part of it fail.
#ifndef TSR_TESTS_LIFE_H
#define TSR_TESTS_LIFE_H

#include <algorithm>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "core/tessera_tools.h"
#include "tests/rebuild/tables.h"

namespace tessera_test {

// A failure, and no success, comes with a sentence.
inline void expect_sentence(tsr_status status, const tsr_error &error) {
  ASSERT_EQ(status != TSR_OK, error.message[0] != 0) << status << error.message;
  if (!status) return;
  ASSERT_EQ(status, error.status);
  ASSERT_GT(strlen(error.message), 10u) << error.message;
  ASSERT_EQ(std::string(error.message).find("(null)"), std::string::npos) << error.message;
}

// What a program does with a table; each step may fail, and the next ones are tried all the same. Returns how many did.
// before_end: called before the table is destroyed, which reports nothing.
// Where one call fails and no other, rehash must leave the table as it was, and build an empty one unless it grows.
inline int whole_life(const tsr_spec *spec, tsr_status only = TSR_OK, const std::function<void()> &before_end = {}) {
  std::vector<uint32_t> keys, values, found(60);
  std::vector<uint8_t> codes(60);
  for (uint32_t i = 0; i < 60; i++) {
    keys.push_back(i * 2654435761u);
    values.push_back(i);
  }
  tsr_options options = {};
  options.plugins = plugin_folders();
  tsr_table *table = nullptr;
  tsr_call call = {};
  call.results = codes.data();
  tsr_report report = {};
  tsr_rehash_options same = {};
  uint64_t size = 0;
  void *memory = nullptr;
  double milliseconds = 0;
  int failures = 0;
  const bool grows = tsr_spec_get(spec, "table", "growth") != nullptr;
  auto step = [&](const std::function<tsr_status(tsr_error *)> &act) {
    tsr_error error = {};
    tsr_status status = act(&error);
    expect_sentence(status, error);
    EXPECT_TRUE(!status || !only || status == only) << error.message;
    failures += status != TSR_OK;
    return status;
  };
  if (step([&](tsr_error *e) { return tsr_table_create(spec, &options, &table, e); }) == TSR_OK) {
    step([&](tsr_error *e) { return tsr_insert(table, 60, keys.data(), values.data(), &call, e); });
    step([&](tsr_error *e) { return tsr_find(table, 60, keys.data(), found.data(), nullptr, e); });
    EXPECT_TRUE(failures || found == values);
    step([&](tsr_error *e) { return tsr_contains(table, 60, keys.data(), codes.data(), nullptr, e); });
    std::vector<uint64_t> offsets(61);
    step([&](tsr_error *e) { return tsr_count_all(table, 60, keys.data(), offsets.data(), nullptr, e); });
    step([&](tsr_error *e) {
      return tsr_find_all(table, 60, keys.data(), offsets.data(), 60, found.data(), nullptr, e);
    });
    EXPECT_TRUE(failures || (found == values && offsets[60] == 60));
    std::vector<uint64_t> sums(60);
    tsr_join_rows rows = {};
    uint64_t joined = 0;
    rows.room = 60;
    rows.aggregates = sums.data();
    step([&](tsr_error *e) { return tsr_join(table, table, TSR_JOIN_SUM, &rows, &joined, e); });
    EXPECT_TRUE(failures || joined == 60) << joined;
    tsr_join_sides sides = {};
    sides.left = {60, keys.data(), nullptr, 32};
    sides.right = {60, keys.data(), values.data(), 8 * static_cast<uint32_t>(sizeof values[0])};
    if (!tsr_spec_get(spec, "table", "devices"))
      step([&](tsr_error *e) { return tsr_join_arrays(table, &sides, TSR_JOIN_SUM, &rows, &joined, e); });
    EXPECT_TRUE(failures || joined == 60) << joined;
    step([&](tsr_error *e) { return tsr_erase(table, 10, keys.data(), nullptr, e); });
    step([&](tsr_error *e) { return tsr_erase_pairs(table, 10, &keys[10], &values[10], nullptr, e); });
    int former_failures = failures;
    step([&](tsr_error *e) { return tsr_rehash(table, &same, e); });
    tsr_status counted = step([&](tsr_error *e) { return tsr_size(table, &size, e); });
    EXPECT_TRUE(counted || former_failures || size == 40) << size;
    step([&](tsr_error *e) { return tsr_export(table, 60, keys.data(), values.data(), &size, e); });
    step([&](tsr_error *e) { return tsr_table_report(table, &report, e); });
    EXPECT_TRUE(failures || report.erased == 20) << report.erased;
    step([&](tsr_error *e) { return tsr_timer_start(table, nullptr, e); });
    if (step([&](tsr_error *e) { return tsr_memory_allocate(table, 64, &memory, e); }) == TSR_OK) {
      step([&](tsr_error *e) { return tsr_memory_copy(table, memory, keys.data(), 64, e); });
      tsr_memory_free(table, memory);
    }
    step([&](tsr_error *e) { return tsr_timer_stop(table, nullptr, &milliseconds, e); });
    tsr_status cleared = step([&](tsr_error *e) { return tsr_clear(table, nullptr, e); });
    codes.assign(60, 0);
    tsr_status built =
        step([&](tsr_error *e) { return tsr_build(table, 40, keys.data(), values.data(), &call, 3, e); });
    // an export that failed may have written some keys, so that these here are not distinct any more
    const uint64_t back = 40 - static_cast<uint64_t>(std::count(codes.begin(), codes.end(), TSR_INSERTED));
    counted = step([&](tsr_error *e) { return tsr_size(table, &size, e); });
    EXPECT_TRUE(cleared || counted || size == (built ? 0 : 40 - back) || (built && grows)) << size;
    step([&](tsr_error *e) { return tsr_table_wait(table, e); });
  }
  if (before_end) before_end();
  tsr_table_destroy(table);
  return failures;
}

} // namespace tessera_test

#endif
