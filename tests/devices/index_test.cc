// SPDX-License-Identifier: Apache-2.0
//
// An index of several devices: each shard gives every n-th number, so a number belongs to one key of all. Numbers agree with an
// oracle's when keys come, go and come back, while shards grow, and after a save; and what is refused. Read next:
// shards_test.cc.
#include <gtest/gtest.h>

#include <set>

#include "core/tessera_devices.h"
#include "tests/devices/tables.h"

namespace {

using namespace tessera_test;

struct Shape {
  const char *name, *words;
  unsigned devices;
};

const Shape kShapes[] = {
    {"two", "key_bits=64 layout=packed probing=double_hashing ", 2},
    {"three_that_move", "key_bits=32 layout=packed probing=cuckoo ", 3},
    {"four_late", "key_bits=32 layout=soa probing=linear ", 4},
    {"three_copied", "key_bits=64 layout=packed probing=quadratic devices.exchange=copy ", 3},
    {"two_folded", "key_bits=32 layout=packed probing=double_hashing devices.combine=always ", 2},
    {"three_that_grow", "key_bits=32 layout=packed probing=double_hashing growth=double ", 3},
    {"two_in_pages", "key_bits=32 layout=packed probing=cuckoo page_bytes=4Ki page_batch=50 find_batch=20 ", 2},
    {"two_once", "key_bits=32 layout=packed probing=double_hashing reuse=no ", 2},
    {"two_of_128_bits", "key_bits=128 layout=soa probing=double_hashing ", 2},
    {"one", "key_bits=32 layout=packed probing=double_hashing ", 1},
};

void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.name; }

std::string path_of(const std::string &name) { return testing::TempDir() + "/" + name; }

tsr_status open_table(const std::string &words, uint64_t capacity, tsr_table **table, tsr_error *error) {
  return try_table("kind=index hasher=murmur3 capacity=" + std::to_string(capacity) + " " + words, table, error);
}

class Index : public testing::TestWithParam<Shape> {
protected:
  ~Index() override { tsr_table_destroy(table_); }
  uint32_t key_bits() const {
    const std::string words = GetParam().words;
    return static_cast<uint32_t>(std::stoul(words.substr(words.find("key_bits=") + 9)));
  }
  bool is_wide() const { return key_bits() > 32; }
  bool grows() const { return std::string(GetParam().words).find("growth") != std::string::npos; }
  bool reuses() const { return std::string(GetParam().words).find("reuse=no") == std::string::npos; }

  Keys as_keys(const std::vector<uint64_t> &keys) const { return Keys(key_bits(), keys); }

  void number(const std::vector<uint64_t> &keys, bool wants_results) {
    std::vector<uint32_t> numbers(keys.size());
    std::vector<uint8_t> codes(keys.size());
    tsr_call call = {};
    if (wants_results) call.results = codes.data();
    ASSERT_EQ(tsr_number(table_, keys.size(), as_keys(keys).data(), numbers.data(), &call, &error_), TSR_OK)
        << error_.message;
    std::map<uint64_t, size_t> inserted;
    for (size_t i = 0; i < keys.size(); i++) {
      const bool is_new = !held_.count(keys[i]) || inserted.count(keys[i]);
      inserted[keys[i]] += is_new && wants_results && codes[i] == TSR_INSERTED;
      const auto at = held_.emplace(keys[i], numbers[i]).first;
      ASSERT_EQ(at->second, numbers[i]) << keys[i];
    }
  }

  // Keys, numbers, and what is free.
  void check() {
    std::set<uint32_t> taken;
    std::vector<uint64_t> keys;
    for (const auto &[key, number] : held_) {
      ASSERT_TRUE(taken.insert(number).second) << number << " was given twice";
      keys.push_back(key);
    }
    uint64_t size = 0, end = 0;
    ASSERT_EQ(tsr_size(table_, &size, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(size, held_.size());
    ASSERT_EQ(tsr_numbers_given(table_, &end, &error_), TSR_OK) << error_.message;
    ASSERT_LT(*taken.rbegin(), end);
    std::vector<uint32_t> found(size);
    ASSERT_EQ(tsr_find(table_, size, as_keys(keys).data(), found.data(), nullptr, &error_), TSR_OK) << error_.message;
    Keys by_number(key_bits(), end);
    std::vector<uint8_t> present(end);
    tsr_call call = {};
    call.present = present.data();
    ASSERT_EQ(tsr_keys_by_number(table_, 0, end, by_number.data(), &call, &error_), TSR_OK) << error_.message;
    const std::vector<uint64_t> keys_of_numbers = by_number.numbers(end);
    for (size_t i = 0; i < size; i++) {
      const uint32_t number = held_.at(keys[i]);
      ASSERT_EQ(found[i], number);
      ASSERT_EQ(keys_of_numbers[number], keys[i]);
    }
    for (uint64_t i = 0; i < end; i++) ASSERT_EQ(present[i], taken.count((uint32_t)i)) << i;
  }

  void erase(const std::vector<uint64_t> &keys) {
    ASSERT_EQ(tsr_erase(table_, keys.size(), as_keys(keys).data(), nullptr, &error_), TSR_OK) << error_.message;
    for (const uint64_t key : keys) held_.erase(key);
  }

  tsr_table *table_ = nullptr;
  std::map<uint64_t, uint32_t> held_;
  tsr_error error_ = {};
};

std::vector<uint64_t> keys_from(uint64_t first, size_t count, size_t distinct, bool is_wide) {
  std::vector<uint64_t> keys(count);
  for (size_t i = 0; i < count; i++) {
    const uint64_t key = (first + (i * 2654435761u >> 7) % distinct) * 0x9E3779B97F4A7C15u;
    keys[i] = is_wide ? key : (uint32_t)key;
  }
  for (size_t i = 0; i < 3; i++) keys[5 + i] = is_wide ? ~(uint64_t)i : (uint32_t)~i; // whose bits mark slots
  return keys;
}

TEST_P(Index, NumbersAreOfOneKeyEach) {
  const Shape &shape = GetParam();
  const std::string words = shape.words + ("devices=" + numbers(shape.devices)) + " devices.chunk=2000";
  ASSERT_EQ(open_table(words, grows() ? 400 : 20000, &table_, &error_), TSR_OK) << error_.message;
  number(keys_from(1, 9000, 4000, is_wide()), false);
  check();
  std::map<uint32_t, uint64_t> of_shard; // dense in each shard
  for (const auto &[key, number] : held_) of_shard[number % shape.devices]++;
  for (const auto &[key, number] : held_) ASSERT_LT(number / shape.devices, of_shard[number % shape.devices]);
  ASSERT_EQ(of_shard.size(), shape.devices);

  number(keys_from(2000, 9000, 4000, is_wide()), true); // a half of which is there
  check();
  std::vector<uint64_t> gone;
  for (const auto &[key, number] : held_)
    if (number % 5 < 2) gone.push_back(key);
  uint64_t before = 0, after = 0;
  ASSERT_EQ(tsr_numbers_given(table_, &before, &error_), TSR_OK) << error_.message;
  erase(gone);
  check();
  number(std::vector<uint64_t>(gone.rbegin(), gone.rend()), true); // come back, and take what they left
  check();
  ASSERT_EQ(tsr_numbers_given(table_, &after, &error_), TSR_OK) << error_.message;
  ASSERT_EQ(after == before, reuses());

  const std::string path = path_of(std::string("index_") + shape.name);
  ASSERT_EQ(tsr_table_save(table_, path.c_str(), &error_), TSR_OK) << error_.message;
  tsr_table_destroy(table_);
  table_ = nullptr;
  tsr_load_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &table_, &error_), TSR_OK) << error_.message;
  check();
  number(keys_from(7000, 3000, 1500, is_wide()), true);
  check();

  ASSERT_EQ(tsr_clear(table_, nullptr, &error_), TSR_OK) << error_.message;
  held_.clear();
  number(keys_from(1, 500, 200, is_wide()), true);
  check();
}

INSTANTIATE_TEST_SUITE_P(All, Index, testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Small, AnEmptyCallAndOneKey) {
  tsr_table *table = nullptr;
  tsr_error error = {};
  ASSERT_EQ(open_table("key_bits=32 layout=packed probing=double_hashing devices=" + numbers(3), 10, &table, &error),
            TSR_OK)
      << error.message;
  uint64_t end = 7;
  uint32_t number = 99;
  const uint32_t key = 41;
  ASSERT_EQ(tsr_numbers_given(table, &end, &error), TSR_OK) << error.message;
  EXPECT_EQ(end, 0u);
  ASSERT_EQ(tsr_number(table, 0, nullptr, nullptr, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_number(table, 1, &key, &number, nullptr, &error), TSR_OK) << error.message;
  EXPECT_LT(number, 3u);
  ASSERT_EQ(tsr_numbers_given(table, &end, &error), TSR_OK) << error.message;
  EXPECT_EQ(end, number + 1);
  tsr_table_destroy(table);
}

TEST(Refused, WithASentence) {
  const std::string parts = "key_bits=32 layout=packed probing=double_hashing devices=" + numbers(2) + " ";
  tsr_table *table = nullptr;
  tsr_error error = {};
  for (const auto &[words, sentence] :
       std::vector<std::pair<std::string, std::string>>{{"numbering=first_seen", "use numbering = any"},
                                                        {"eviction=lru", "use device"},
                                                        {"devices.split=replicated", "use split = hash"}}) {
    EXPECT_NE(open_table(parts + words, 1000, &table, &error), TSR_OK) << words;
    EXPECT_NE(std::string(error.message).find(sentence), std::string::npos) << error.message;
  }
  ASSERT_EQ(open_table(parts, 1000, &table, &error), TSR_OK) << error.message;
  const uint32_t keys[] = {1, 2};
  uint64_t count = 0;
  EXPECT_EQ(tsr_unique(table, 2, keys, nullptr, &count, &error), TSR_UNSUPPORTED);
  EXPECT_EQ(tsr_rehash(table, nullptr, &error), TSR_UNSUPPORTED);
  EXPECT_EQ(tsr_join(table, table, TSR_JOIN_SEMI, nullptr, &count, &error), TSR_UNSUPPORTED);
  ASSERT_EQ(tsr_number(table, 2, keys, nullptr, nullptr, &error), TSR_OK) << error.message;
  const std::string path = path_of("index_refused");
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  const std::string three = numbers(3);
  options.device = three.c_str();
  tsr_table *loaded = nullptr;
  EXPECT_EQ(tsr_table_load(path.c_str(), &options, &loaded, &error), TSR_UNSUPPORTED) << error.message;
  EXPECT_NE(std::string(error.message).find("new numbers"), std::string::npos) << error.message;
  tsr_table_destroy(loaded);
  tsr_table_destroy(table);
}

} // namespace
