// SPDX-License-Identifier: Apache-2.0
//
// Tables for the tests of rebuilding and saving: specs in one line, and what a table holds. They live on the cpu, or on
// the backend that TSR_BACKEND names. Read next: rebuild_test.cc.
#ifndef TSR_TESTS_TABLES_H
#define TSR_TESTS_TABLES_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/tessera.h"
#include "tests/oracle/random.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

inline const char *plugin_folders() { return "layouts:probing:hashers:eviction"; }

// The kinds of composition: a scheme that moves pairs, ones that do not, and a hasher with memory of its own.
inline std::vector<std::string> compositions() {
  return {"layout=packed probing=cuckoo", "layout=packed probing=double_hashing", "layout=soa probing=double_hashing",
          "hasher=tabulation"};
}

inline std::string backend() {
  const char *name = getenv("TSR_BACKEND");
  return name && *name ? name : "cpu";
}

// "capacity=16 probing=cuckoo layout.bucket_slots=4": words without a section belong to [table].
inline tsr_spec *spec_of(const std::string &words) {
  tsr_error error;
  tsr_spec *spec = nullptr;
  std::string text = "[table]\nkind = map\nkey_bits = 32\nhasher = murmur3\nlayout = packed\nprobing = double_hashing\n"
                     "capacity = 1000\n";
  if (words.find("kind=index") == std::string::npos) text += "value_bits = 32\n";
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "test.ini", &spec, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_spec_set(spec, ("table.backend=" + backend()).c_str(), &error), TSR_OK) << error.message;
  size_t at = 0;
  while (at < words.size()) {
    size_t end = std::min(words.find(' ', at), words.size());
    std::string word = words.substr(at, end - at);
    if (word.find('.') > word.find('=')) word = "table." + word;
    EXPECT_EQ(tsr_spec_set(spec, word.c_str(), &error), TSR_OK) << error.message;
    at = end + 1;
  }
  return spec;
}

inline tsr_table *table_of(const std::string &words) {
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = plugin_folders();
  tsr_spec *spec = spec_of(words);
  tsr_table *table = nullptr;
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  return table;
}

inline tsr_table_info info_of(const tsr_table *table) {
  tsr_table_info info = {};
  tsr_table_describe(table, &info);
  return info;
}

// All pairs of a table of 32-bit keys and values.
inline std::map<uint32_t, uint32_t> pairs_of(tsr_table *table) {
  tsr_error error = {};
  uint64_t size = 0;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  std::vector<uint32_t> keys(size), values(size);
  EXPECT_EQ(tsr_export(table, size, keys.data(), values.data(), &size, &error), TSR_OK) << error.message;
  std::map<uint32_t, uint32_t> pairs;
  for (size_t i = 0; i < size; i++) pairs[keys[i]] = values[i];
  EXPECT_EQ(pairs.size(), size) << "a key twice";
  return pairs;
}

// And every one of them is found with its value.
inline void expect_pairs(tsr_table *table, const std::map<uint32_t, uint32_t> &expected) {
  ASSERT_EQ(pairs_of(table), expected);
  std::vector<uint32_t> keys, values(expected.size());
  for (const auto &pair : expected) keys.push_back(pair.first);
  tsr_error error = {};
  ASSERT_EQ(tsr_find(table, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < keys.size(); i++) ASSERT_EQ(values[i], expected.at(keys[i])) << keys[i];
}

// Distinct pairs, the keys with the marks of empty and erased slots among them.
inline std::map<uint32_t, uint32_t> some_pairs(Random &random, size_t count) {
  std::map<uint32_t, uint32_t> pairs;
  if (count > 2) pairs = {{0xFFFFFFFFu, 1}, {0xFFFFFFFEu, 0xFFFFFFFFu}, {0, 0xFFFFFFFEu}};
  while (pairs.size() < count) pairs[static_cast<uint32_t>(random.bits(32))] = static_cast<uint32_t>(random.bits(32));
  return pairs;
}

inline void fill(tsr_table *table, const std::map<uint32_t, uint32_t> &pairs) {
  std::vector<uint32_t> keys, values;
  for (const auto &pair : pairs) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
  }
  std::vector<uint8_t> codes(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
  for (uint8_t code : codes) ASSERT_EQ(code, TSR_INSERTED);
}

} // namespace tessera_test

#endif
