// SPDX-License-Identifier: Apache-2.0
//
// Batches in which items of one key follow each other, which an insert may combine before it touches the table: each item
// is answered as if it had come alone, also where the key finds no room.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/table/judged.h"

namespace {

using Numbers = std::vector<uint32_t>;

struct Policy {
  const char *name;
  uint8_t again; // the result of an item whose key is present
  uint32_t (*combine)(uint32_t, uint32_t);
};
std::ostream &operator<<(std::ostream &out, const Policy &policy) { return out << policy.name; }

const Policy policies[] = {
    {"first", TSR_PRESENT, nullptr},
    {"replace", TSR_REPLACED, nullptr},
    {"add", TSR_COMBINED, [](uint32_t a, uint32_t b) { return a + b; }},
    {"min", TSR_COMBINED, [](uint32_t a, uint32_t b) { return std::min(a, b); }},
    {"max", TSR_COMBINED, [](uint32_t a, uint32_t b) { return std::max(a, b); }},
};

class Neighbours : public testing::TestWithParam<Policy> {
protected:
  void TearDown() override { tsr_table_destroy(table_); }

  void create(const std::string &words) {
    tsr_spec *spec = nullptr;
    const std::string text = "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nhasher = murmur3\nbackend = cpu\n"
                             "duplicates = " +
                             std::string(GetParam().name) + "\n" + words;
    ASSERT_EQ(tsr_spec_parse(text.c_str(), "neighbours", &spec, &error_), TSR_OK) << error_.message;
    table_ = tessera_test::made(spec);
    tsr_spec_free(spec);
    ASSERT_NE(table_, nullptr);
  }

  // What the insert says of each item, and which pairs it hands back.
  void insert(const Numbers &keys, const Numbers &values) {
    results_.assign(keys.size(), 0);
    back_keys_.assign(keys.size(), 0);
    back_values_.assign(keys.size(), 0);
    tsr_call call = {};
    call.size = sizeof call;
    call.results = results_.data();
    call.unplaced_keys = back_keys_.data();
    call.unplaced_values = back_values_.data();
    ASSERT_EQ(tsr_insert(table_, keys.size(), keys.data(), values.data(), &call, &error_), TSR_OK) << error_.message;
  }

  uint32_t value_of(uint32_t key) {
    uint32_t value = 0;
    EXPECT_EQ(tsr_find(table_, 1, &key, &value, nullptr, &error_), TSR_OK) << error_.message;
    return value;
  }

  tsr_error error_ = {};
  tsr_table *table_ = nullptr;
  std::vector<uint8_t> results_;
  Numbers back_keys_, back_values_;
};

TEST_P(Neighbours, AreOnePairAndEachIsToldOfIt) {
  for (const char *words :
       {"layout = packed\nprobing = linear\ncapacity = 1000\n", "layout = soa\nprobing = linear\ncapacity = 1000\n",
        "layout = packed\nprobing = cuckoo\ncapacity = 1000\n",
        "layout = slab\nprobing = slab_list\nallocator = slab\ncapacity = 1000\n"}) {
    SCOPED_TRACE(words);
    create(words);
    const Numbers keys = {5, 5, 5, 9, 5, 7, 7}, values = {30, 20, 40, 1, 10, 6, 8};
    insert(keys, values);
    const std::vector<std::pair<uint32_t, Numbers>> offered = {{5, {30, 20, 40, 10}}, {9, {1}}, {7, {6, 8}}};
    for (const auto &[key, of_key] : offered) {
      std::vector<uint8_t> codes;
      for (size_t i = 0; i < keys.size(); i++)
        if (keys[i] == key) codes.push_back(results_[i]);
      std::sort(codes.begin(), codes.end(),
                [](uint8_t a, uint8_t b) { return (a == TSR_INSERTED) > (b == TSR_INSERTED); });
      std::vector<uint8_t> expected(of_key.size(), GetParam().again);
      expected[0] = TSR_INSERTED;
      EXPECT_EQ(codes, expected) << key;
      const uint32_t value = value_of(key);
      if (GetParam().combine)
        EXPECT_EQ(value, std::accumulate(of_key.begin() + 1, of_key.end(), of_key[0], GetParam().combine)) << key;
      else
        EXPECT_NE(std::find(of_key.begin(), of_key.end(), value), of_key.end()) << key;
    }
    tsr_report report = {};
    report.size = sizeof report;
    ASSERT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
    EXPECT_EQ(report.insert_keys, keys.size());
    EXPECT_EQ(report.inserted, 3u);
    EXPECT_EQ(report.not_placed, 0u);
    tsr_table_destroy(table_);
    table_ = nullptr;
  }
}

TEST_P(Neighbours, WithoutRoomAreHandedBackAsTheyCame) {
  create("layout = packed\nprobing = linear\ncapacity = 8\nload_factor = 1\n[layout]\nbucket_slots = 8\n");
  Numbers keys(200), values(200, 1);
  std::iota(keys.begin(), keys.end(), 1000);
  insert(keys, values); // more than there are slots
  ASSERT_GT(std::count(results_.begin(), results_.end(), TSR_NOT_PLACED), 100);
  keys = {3, 3, 3, 4, 4};
  values = {10, 20, 30, 40, 50};
  insert(keys, values);
  EXPECT_EQ(results_, std::vector<uint8_t>(5, TSR_NOT_PLACED));
  EXPECT_EQ(back_keys_, keys);
  EXPECT_EQ(back_values_, values);
}

INSTANTIATE_TEST_SUITE_P(All, Neighbours, testing::ValuesIn(policies),
                         [](const auto &test) { return std::string(test.param.name); });

} // namespace
