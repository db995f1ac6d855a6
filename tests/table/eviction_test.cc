// SPDX-License-Identifier: Apache-2.0
//
// An index that gives up keys, on the cpu backend: which keys go is compared with an exact model, call by call, over random
// calls of repeated keys, erases, touches, files, rehash; what is refused. Read next: index_test.cc.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/oracle/eviction.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint32_t none = 0xFFFFFFFFu; // call->missing of these tests

struct Case {
  std::string layout, probing, policy, more;
  uint32_t key_bits;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.layout << ", " << c.probing << ", " << c.policy << ", " << c.key_bits;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return c.layout + "_" + c.probing + "_" + c.policy + std::to_string(c.key_bits);
}

std::string text_of(const Case &c, uint64_t capacity) {
  return "[table]\nkind = index\nkey_bits = " + std::to_string(c.key_bits) +
         "\ncapacity = " + std::to_string(capacity) + "\nlayout = " + c.layout + "\nprobing = " + c.probing +
         "\nhasher = murmur3\nbackend = cpu\neviction = " + c.policy + "\n" + c.more;
}

tsr_status parse(const std::string &text, tsr_table **table, tsr_error *error) {
  tsr_spec *spec = nullptr;
  tsr_status status = tsr_spec_parse(text.c_str(), "eviction", &spec, error);
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  if (status == TSR_OK) status = tsr_table_create(spec, &options, table, error);
  tsr_spec_free(spec);
  return status;
}

class Eviction : public testing::TestWithParam<Case> {
protected:
  ~Eviction() override { tsr_table_destroy(table_); }

  void make(uint64_t capacity) {
    capacity_ = capacity;
    ASSERT_EQ(parse(text_of(GetParam(), capacity), &table_, &error_), TSR_OK) << error_.message;
  }

  Keys packed(const std::vector<uint64_t> &keys) const { return Keys(GetParam().key_bits, keys); }

  std::vector<uint32_t> number(const std::vector<uint64_t> &keys) {
    std::vector<uint32_t> numbers(keys.size() + 1);
    tsr_call call = {};
    call.missing = none;
    EXPECT_EQ(tsr_number(table_, keys.size(), packed(keys).data(), numbers.data(), &call, &error_), TSR_OK)
        << error_.message;
    numbers.pop_back();
    return numbers;
  }

  // In the order of the numbers.
  std::vector<std::pair<uint32_t, uint64_t>> evicted() {
    uint64_t count = 0;
    std::vector<uint32_t> numbers(capacity_);
    Keys keys(GetParam().key_bits, capacity_);
    EXPECT_EQ(tsr_evicted(table_, capacity_, keys.data(), numbers.data(), &count, &error_), TSR_OK) << error_.message;
    const std::vector<uint64_t> written = keys.numbers(count);
    std::vector<std::pair<uint32_t, uint64_t>> result;
    for (uint64_t i = 0; i < count; i++) result.push_back({numbers[i], written[i]});
    return result;
  }

  void check_call(EvictionModel *model, const std::vector<uint64_t> &keys) {
    const std::map<uint32_t, uint64_t> expected = model->evict_for(keys);
    const std::vector<uint32_t> numbers = number(keys);
    ASSERT_EQ(model->number(keys, numbers), "");
    const std::vector<std::pair<uint32_t, uint64_t>> wanted(expected.begin(), expected.end());
    ASSERT_EQ(evicted(), wanted);
    evictions_ += wanted.size();
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(table_, &size, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(size, model->size());
  }

  std::vector<uint64_t> some_keys(uint64_t n, uint64_t distinct) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < n; i++) { // few of them often; two are reserved inside
      const uint64_t key = random_.below(2) ? random_.below(distinct) : random_.below(distinct / 8 + 1);
      keys.push_back(key < 2 ? width_mask(std::min(GetParam().key_bits, 64u)) - key : key * 2654435761u % (1u << 30));
    }
    return keys;
  }

  bool counts_uses() const { return GetParam().policy == "lfu"; }

  tsr_table *table_ = nullptr;
  tsr_error error_ = {};
  uint64_t capacity_ = 0, evictions_ = 0;
  Random random_{11};
};

TEST_P(Eviction, GivesUpWhatTheModelSays) {
  TSR_ONE_THREAD;
  ASSERT_NO_FATAL_FAILURE(make(200));
  EvictionModel model(200, counts_uses());
  for (int round = 0; round < 150; round++) {
    SCOPED_TRACE(round);
    const std::vector<uint64_t> keys = some_keys(random_.below(round % 10 ? 60 : 250), 600);
    if (keys.empty() || std::set<uint64_t>(keys.begin(), keys.end()).size() > 200) continue;
    ASSERT_NO_FATAL_FAILURE(check_call(&model, keys));
    if (round % 3 == 0) { // finds do not count, touches do
      const std::vector<uint64_t> found = some_keys(20, 600);
      std::vector<uint32_t> numbers(found.size());
      tsr_call call = {};
      call.missing = none;
      ASSERT_EQ(tsr_find(table_, found.size(), packed(found).data(), numbers.data(), &call, &error_), TSR_OK);
      for (size_t i = 0; i < found.size(); i++) ASSERT_EQ(numbers[i] != none, model.has(found[i]));
      if (round % 2) continue;
      ASSERT_EQ(tsr_touch(table_, numbers.size(), numbers.data(), nullptr, &error_), TSR_OK) << error_.message;
      model.touch(found);
    }
    if (round % 7 == 0) {
      const std::vector<uint64_t> erased = some_keys(20, 600);
      ASSERT_EQ(tsr_erase(table_, erased.size(), packed(erased).data(), nullptr, &error_), TSR_OK) << error_.message;
      for (uint64_t key : erased) model.erase(key);
    }
    if (round == 75) {
      ASSERT_EQ(tsr_rehash(table_, nullptr, &error_), TSR_OK) << error_.message;
    }
    if (round == 110) {
      ASSERT_EQ(tsr_clear(table_, nullptr, &error_), TSR_OK) << error_.message;
      model.clear();
    }
  }
  EXPECT_GT(evictions_, 1000u);
  tsr_report report = {};
  report.size = sizeof report;
  ASSERT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(report.evicted, evictions_);
  EXPECT_EQ(report.not_placed, 0u);
}

// Batches that several threads share.
TEST_P(Eviction, GivesUpWhatTheModelSaysOfManyKeys) {
  ASSERT_NO_FATAL_FAILURE(make(3200));
  EvictionModel model(3200, counts_uses());
  for (int round = 0; round < 3; round++) ASSERT_NO_FATAL_FAILURE(check_call(&model, some_keys(5000, 9000)));
  EXPECT_GT(evictions_, 1000u);
}

TEST_P(Eviction, OneKeyAtATime) {
  TSR_ONE_THREAD;
  ASSERT_NO_FATAL_FAILURE(make(8));
  EvictionModel model(8, counts_uses());
  constexpr uint32_t rounds = 300;
  for (uint32_t round = 0; round < rounds; round++) ASSERT_NO_FATAL_FAILURE(check_call(&model, some_keys(1, 30)));
  EXPECT_GT(evictions_, rounds / 6);
}

TEST_P(Eviction, GoesOnAfterASave) {
  TSR_ONE_THREAD;
  const std::string path = testing::TempDir() + "eviction_" + name_of({GetParam(), 0}) + ".tsr";
  ASSERT_NO_FATAL_FAILURE(make(101));
  EvictionModel model(101, counts_uses());
  for (int round = 0; round < 20; round++) ASSERT_NO_FATAL_FAILURE(check_call(&model, some_keys(30, 300)));
  ASSERT_EQ(tsr_table_save(table_, path.c_str(), &error_), TSR_OK) << error_.message;
  tsr_table_destroy(table_);
  table_ = nullptr;
  const std::string directories = plugin_directories();
  tsr_load_options options = {};
  options.size = sizeof options;
  options.plugins = directories.c_str();
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &table_, &error_), TSR_OK) << error_.message;
  for (int round = 0; round < 20; round++) ASSERT_NO_FATAL_FAILURE(check_call(&model, some_keys(30, 300)));
}

TEST_P(Eviction, RefusesMoreKeysThanCapacity) {
  TSR_ONE_THREAD;
  ASSERT_NO_FATAL_FAILURE(make(50));
  EvictionModel model(50, counts_uses());
  std::vector<uint64_t> keys, numbers;
  for (uint64_t i = 1; i <= 50; i++) keys.push_back(i);
  ASSERT_NO_FATAL_FAILURE(check_call(&model, keys));
  keys.push_back(51);
  std::vector<uint32_t> out(keys.size());
  expect_refused(tsr_number(table_, keys.size(), packed(keys).data(), out.data(), nullptr, &error_), TSR_UNSUPPORTED,
                 error_, "51 distinct keys");
  keys.erase(keys.begin());
  ASSERT_NO_FATAL_FAILURE(check_call(&model, keys)); // nothing had changed, and now key 1 goes
  EXPECT_EQ(evicted().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Eviction,
    testing::Values(Case{"packed", "double_hashing", "lru", "load_factor = 1\n", 32},
                    Case{"packed", "double_hashing", "lfu", "", 64},
                    Case{"packed", "two_choice", "lfu", "load_factor = 0.5\n", 32},
                    Case{"packed", "cuckoo", "lru", "page_bytes = 4Ki\npage_batch = 5\nfind_batch = 5\n", 64},
                    Case{"soa", "quadratic", "lfu", "", 64}, Case{"soa", "linear", "lru", "", 128},
                    Case{"aos", "linear", "lru", "", 64}, Case{"quotient", "robin_hood", "lru", "", 32},
                    Case{"tagged", "iceberg", "lru", "load_factor = 0.5\n", 64},
                    Case{"slab", "slab_list", "lfu", "allocator = slab\n", 32}),
    name_of);

TEST(EvictionOf, RefusesWhatDoesNotGoWithIt) {
  const Case c = {"packed", "double_hashing", "lru", "", 32};
  const std::pair<const char *, const char *> refused[] = {
      {"growth = double\n", "growth = none"}, {"reuse = no\n", "reuse = yes"}, {"devices = 0\n", "device"}};
  for (const auto &[line, word] : refused) {
    tsr_table *table = nullptr;
    tsr_error error = {};
    expect_refused(parse(text_of(c, 100) + line, &table, &error), TSR_BAD_SPEC, error, word);
  }
  tsr_table *table = nullptr;
  tsr_error error = {};
  uint64_t count = 0;
  ASSERT_EQ(parse(text_of({"packed", "double_hashing", "none", "", 32}, 100), &table, &error), TSR_OK) << error.message;
  expect_refused(tsr_evicted(table, 0, nullptr, nullptr, &count, &error), TSR_UNSUPPORTED, error, "eviction = NAME");
  expect_refused(tsr_touch(table, 0, nullptr, nullptr, &error), TSR_UNSUPPORTED, error, "eviction = NAME");
  tsr_table_destroy(table);
}

} // namespace
} // namespace tessera_test
