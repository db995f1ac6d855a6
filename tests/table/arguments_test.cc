// SPDX-License-Identifier: Apache-2.0
//
// NULL where a function of tessera.h needs something: a status and a sentence that names the function, or nothing at all
// where there is no status; and arrays that exclude each other. Read next: report_test.cc.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/table/judged.h"

namespace {

TEST(Null, IsABadArgument) {
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  tsr_pool *pool = nullptr;
  tsr_report report = {};
  tsr_usage usage = {};
  tsr_pool_result result = {};
  uint64_t number = 0;
  uint32_t key = 1;
  double milliseconds = 0;
  void *memory = nullptr;
  const std::vector<std::pair<const char *, std::function<tsr_status(tsr_error *)>>> calls = {
      {"tsr_spec_read", [&](tsr_error *e) { return tsr_spec_read(nullptr, &spec, e); }},
      {"tsr_spec_parse", [&](tsr_error *e) { return tsr_spec_parse(nullptr, "", &spec, e); }},
      {"tsr_spec_set", [&](tsr_error *e) { return tsr_spec_set(nullptr, "table.seed=1", e); }},
      {"tsr_spec_copy", [&](tsr_error *e) { return tsr_spec_copy(nullptr, &spec, e); }},
      {"tsr_spec_check", [&](tsr_error *e) { return tsr_spec_check(nullptr, nullptr, nullptr, e); }},
      {"tsr_spec_link", [&](tsr_error *e) { return tsr_spec_link(nullptr, nullptr, 90, false, nullptr, e); }},
      {"tsr_table_create", [&](tsr_error *e) { return tsr_table_create(nullptr, nullptr, &table, e); }},
      {"tsr_insert", [&](tsr_error *e) { return tsr_insert(nullptr, 1, &key, &key, nullptr, e); }},
      {"tsr_find_or_insert",
       [&](tsr_error *e) { return tsr_find_or_insert(nullptr, 1, &key, &key, &key, nullptr, e); }},
      {"tsr_find", [&](tsr_error *e) { return tsr_find(nullptr, 1, &key, &key, nullptr, e); }},
      {"tsr_contains", [&](tsr_error *e) { return tsr_contains(nullptr, 1, &key, nullptr, nullptr, e); }},
      {"tsr_count_all", [&](tsr_error *e) { return tsr_count_all(nullptr, 1, &key, &number, nullptr, e); }},
      {"tsr_find_all", [&](tsr_error *e) { return tsr_find_all(nullptr, 1, &key, &number, 0, nullptr, nullptr, e); }},
      {"tsr_erase", [&](tsr_error *e) { return tsr_erase(nullptr, 1, &key, nullptr, e); }},
      {"tsr_erase_pairs", [&](tsr_error *e) { return tsr_erase_pairs(nullptr, 1, &key, &key, nullptr, e); }},
      {"tsr_apply", [&](tsr_error *e) { return tsr_apply(nullptr, 1, nullptr, &key, &key, &key, nullptr, e); }},
      {"tsr_clear", [&](tsr_error *e) { return tsr_clear(nullptr, nullptr, e); }},
      {"tsr_size", [&](tsr_error *e) { return tsr_size(nullptr, &number, e); }},
      {"tsr_table_usage", [&](tsr_error *e) { return tsr_table_usage(nullptr, &usage, e); }},
      {"tsr_export", [&](tsr_error *e) { return tsr_export(nullptr, 1, &key, &key, &number, e); }},
      {"tsr_flush", [&](tsr_error *e) { return tsr_flush(nullptr, &number, e); }},
      {"tsr_rehash", [&](tsr_error *e) { return tsr_rehash(nullptr, nullptr, e); }},
      {"tsr_build", [&](tsr_error *e) { return tsr_build(nullptr, 1, &key, &key, nullptr, 1, e); }},
      {"tsr_table_save", [&](tsr_error *e) { return tsr_table_save(nullptr, "table.tsr", e); }},
      {"tsr_table_load", [&](tsr_error *e) { return tsr_table_load(nullptr, nullptr, &table, e); }},
      {"tsr_table_report", [&](tsr_error *e) { return tsr_table_report(nullptr, &report, e); }},
      {"tsr_table_report_reset", [&](tsr_error *e) { return tsr_table_report_reset(nullptr, e); }},
      {"tsr_table_wait", [&](tsr_error *e) { return tsr_table_wait(nullptr, e); }},
      {"tsr_memory_allocate", [&](tsr_error *e) { return tsr_memory_allocate(nullptr, 8, &memory, e); }},
      {"tsr_memory_copy", [&](tsr_error *e) { return tsr_memory_copy(nullptr, &key, &key, 0, e); }},
      {"tsr_timer_start", [&](tsr_error *e) { return tsr_timer_start(nullptr, nullptr, e); }},
      {"tsr_timer_stop", [&](tsr_error *e) { return tsr_timer_stop(nullptr, nullptr, &milliseconds, e); }},
      {"tsr_pool_create", [&](tsr_error *e) { return tsr_pool_create(nullptr, nullptr, &pool, e); }},
      {"tsr_pool_operate",
       [&](tsr_error *e) { return tsr_pool_operate(nullptr, TSR_POOL_ALLOCATE, false, &result, e); }},
      {"tsr_pool_clear", [&](tsr_error *e) { return tsr_pool_clear(nullptr, e); }},
      {"tsr_pool_reserve", [&](tsr_error *e) { return tsr_pool_reserve(nullptr, 1, e); }},
      {"tsr_pool_used", [&](tsr_error *e) { return tsr_pool_used(nullptr, &number, e); }},
      {"tsr_plugins_list", [&](tsr_error *e) { return tsr_plugins_list(nullptr, nullptr, nullptr, e); }},
      {"tsr_device_describe", [&](tsr_error *e) { return tsr_device_describe(0, nullptr, e); }},
      {"tsr_roofline", [&](tsr_error *e) { return tsr_roofline(0, 0, nullptr, nullptr, e); }},
  };
  for (const auto &[name, call] : calls) {
    SCOPED_TRACE(name);
    error = {};
    EXPECT_EQ(call(&error), TSR_BAD_ARGUMENT) << error.message;
    EXPECT_EQ(std::string(error.message).find(name), 0u) << error.message;
    EXPECT_EQ(call(nullptr), TSR_BAD_ARGUMENT) << "the error's place is NULL too";
  }
}

TEST(Null, IsNothingWhereThereIsNoStatus) {
  tsr_table_info info = {};
  tsr_pool_info pool_info = {};
  tsr_table_describe(nullptr, &info);
  EXPECT_STREQ(info.backend, "");
  tsr_table_describe(nullptr, nullptr);
  tsr_pool_describe(nullptr, &pool_info);
  EXPECT_STREQ(pool_info.allocator, "");
  tsr_pool_describe(nullptr, nullptr);
  EXPECT_EQ(tsr_table_spec(nullptr), nullptr);
  EXPECT_EQ(tsr_spec_get(nullptr, "table", "kind"), nullptr);
  tsr_spec_free(nullptr);
  tsr_table_destroy(nullptr);
  tsr_memory_free(nullptr, nullptr);
  tsr_pool_destroy(nullptr);
  tsr_plugins_free(nullptr, 3);
  tsr_link_free(nullptr);
}

TEST(Presence, IsNotAskedForBesideCodes) {
  const char text[] = "[table]\nkind=map\nkey_bits=32\nvalue_bits=32\ncapacity=100\nlayout=packed\nprobing=cuckoo\n"
                      "hasher=murmur3\nbackend=cpu\n";
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  const std::string plugins = tessera_test::plugin_directories();
  tsr_options options = {};
  options.plugins = plugins.c_str();
  ASSERT_EQ(tsr_spec_parse(text, "text", &spec, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  const uint32_t key = 5;
  uint32_t value = 6;
  uint8_t codes[1], present[1];
  tsr_call call = {};
  call.results = codes;
  call.present = present;
  for (const tsr_status status :
       {tsr_find(table, 1, &key, &value, &call, &error), tsr_erase(table, 1, &key, &call, &error),
        tsr_erase_pairs(table, 1, &key, &value, &call, &error)}) {
    EXPECT_EQ(status, TSR_BAD_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("present and results"), std::string::npos) << error.message;
  }
  call.results = nullptr;
  EXPECT_EQ(tsr_find(table, 1, &key, &value, &call, &error), TSR_OK) << error.message;
  EXPECT_EQ(present[0], 0);
  tsr_table_destroy(table);
  tsr_spec_free(spec);
}

} // namespace
