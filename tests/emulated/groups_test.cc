// SPDX-License-Identifier: Apache-2.0
//
// The distinct keys of a batch, their values and the passes of joins, by the kernels of a GPU on the CPU (block.h), beside an oracle.
// Larger batches, and more of them, on a GPU: ../device/index_test.cc. Read next: ../../core/batch/groups.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include "core/batch/mix.h"
}
#include "tests/emulated/step.h"
#include "tests/oracle/random.h"

namespace {

class Groups : public testing::Test {
protected:
  void SetUp() override {
    emulated::launched().clear();
    ASSERT_EQ(tsr_cpu_backend.open(0, &device_, &error_), TSR_OK) << error_.message;
    device_->backend = emulated::backend();
  }
  void TearDown() override {
    if (device_) tsr_cpu_backend.close(device_);
  }
  template <class Key, class Value>
  void expect_groups(uint64_t n, uint64_t distinct, bool inverse);
  template <class Key, class Value>
  void expect_brought(uint64_t n, uint64_t distinct, uint32_t bins_log2);
  template <class Key>
  uint64_t expect_direct(const std::vector<Key> &keys, uint64_t seed, const struct Wanted &wanted);

  tsr_device *device_ = nullptr;
  tsr_error error_ = {};
  tessera_test::Random random_{7};
};

// Keys that repeat, with those that look like a free place and like none.
template <class Key>
std::vector<Key> keys_of(uint64_t n, uint64_t distinct, tessera_test::Random *random) {
  std::vector<Key> keys(n);
  for (Key &key : keys) key = static_cast<Key>((random->below(distinct) + 1) * 0x9E3779B97F4A7C15ull);
  if (n > 40) keys[7] = keys[39] = static_cast<Key>(~Key{0}), keys[8] = 0;
  return keys;
}

template <class Value>
struct Column {
  uint32_t type, how;
  std::vector<Value> values;
  std::vector<uint64_t> combined; // in each key's first bytes

  Value wanted(Value one, Value other) const {
    return how == TSR_COMBINE_SUM ? one + other : how == TSR_COMBINE_MIN ? std::min(one, other) : std::max(one, other);
  }
};

// Sum, least and largest of one array.
template <class Value>
std::vector<Column<Value>> columns_of(uint64_t n, uint32_t type, tessera_test::Random *random) {
  std::vector<Value> values(n);
  for (Value &value : values) value = static_cast<Value>(static_cast<int64_t>(random->below(2001)) - 1000);
  std::vector<Column<Value>> columns;
  for (uint32_t how : {TSR_COMBINE_SUM, TSR_COMBINE_MIN, TSR_COMBINE_MAX})
    columns.push_back({type, how, values, std::vector<uint64_t>(n)});
  return columns;
}

template <class Value>
void expect_column(const Column<Value> &column, const std::map<uint64_t, std::vector<uint64_t>> &items,
                   const std::vector<uint64_t> &distinct) {
  const bool is_narrow = sizeof(Value) == 4 && column.how != TSR_COMBINE_SUM;
  for (size_t k = 0; k < distinct.size(); k++) {
    const std::vector<uint64_t> &own = items.at(distinct[k]);
    Value expected = column.values[own[0]];
    int64_t sum = 0;
    for (size_t i = 0; i < own.size(); i++) {
      if (i) expected = column.wanted(expected, column.values[own[i]]);
      sum += static_cast<int64_t>(column.values[own[i]]);
    }
    if (column.how == TSR_COMBINE_SUM && std::is_floating_point_v<Value>) {
      ASSERT_EQ(emulated::value_of<double>(column.combined[k]), static_cast<double>(sum)) << distinct[k];
    } else if (column.how == TSR_COMBINE_SUM) {
      ASSERT_EQ(column.combined[k], static_cast<uint64_t>(sum)) << distinct[k];
    } else {
      Value got;
      const char *from = reinterpret_cast<const char *>(column.combined.data()) + k * (is_narrow ? 4 : 8);
      std::memcpy(&got, from, sizeof got);
      ASSERT_EQ(got, expected) << distinct[k];
    }
  }
}

template <class Value>
constexpr uint32_t type_of() {
  if (std::is_same_v<Value, int32_t>) return TSR_VALUES_I32;
  if (std::is_same_v<Value, int64_t>) return TSR_VALUES_I64;
  return std::is_same_v<Value, float> ? TSR_VALUES_F32 : TSR_VALUES_F64;
}

template <class Key, class Value>
void Groups::expect_groups(uint64_t n, uint64_t distinct, bool inverse) {
  SCOPED_TRACE(testing::Message() << sizeof(Key) << " bytes, n " << n << " of " << distinct << ", values of type "
                                  << type_of<Value>());
  const std::vector<Key> keys = keys_of<Key>(n, distinct, &random_);
  std::map<uint64_t, std::vector<uint64_t>> items;
  for (uint64_t i = 0; i < n; i++) items[keys[i]].push_back(i);
  std::vector<Column<Value>> columns = columns_of<Value>(n, type_of<Value>(), &random_);
  std::vector<tsr_unique_column> wanted;
  for (Column<Value> &column : columns)
    wanted.push_back({column.values.data(), column.combined.data(), column.type, column.how});
  std::vector<Key> found(n);
  std::vector<uint64_t> counts(n);
  std::vector<uint32_t> numbers(n);
  tsr_groups groups = {};
  groups.n = n, groups.keys = keys.data(), groups.key_bytes = sizeof(Key), groups.seed = random_.below(1u << 30);
  groups.distinct = found.data(), groups.counts = counts.data(), groups.room = n;
  if (inverse) groups.numbers = numbers.data();
  groups.columns = wanted.data(), groups.column_count = static_cast<uint32_t>(wanted.size());
  uint64_t count = 0;
  ASSERT_EQ(tsr_groups_make(device_, &groups, nullptr, &count, &error_), TSR_OK) << error_.message;
  ASSERT_EQ(count, items.size());
  const std::vector<uint64_t> these(found.begin(), found.begin() + static_cast<int64_t>(count));
  ASSERT_EQ(std::set<uint64_t>(these.begin(), these.end()).size(), count);
  for (uint64_t k = 0; k < count; k++) {
    ASSERT_EQ(items.count(these[k]), 1u) << these[k];
    ASSERT_EQ(counts[k], items[these[k]].size()) << these[k];
  }
  for (uint64_t i = 0; inverse && i < n; i++) ASSERT_EQ(found.at(numbers[i]), keys[i]) << i;
  for (const Column<Value> &column : columns) expect_column(column, items, these);
}

// Sizes about those of a page, and of a batch whose tiles are smaller.
TEST_F(Groups, AgreeWithTheOracle) {
  for (uint64_t n : {1, 4000, 4097, 5500})
    for (uint64_t distinct : {n / 300 + 1, n * 2}) {
      ASSERT_NO_FATAL_FAILURE((expect_groups<uint32_t, int32_t>(n, distinct, true)));
      ASSERT_NO_FATAL_FAILURE((expect_groups<uint64_t, int64_t>(n, distinct, n > 5000)));
      if (n > 4500) continue;
      ASSERT_NO_FATAL_FAILURE((expect_groups<uint32_t, double>(n, distinct, false)));
      ASSERT_NO_FATAL_FAILURE((expect_groups<uint64_t, float>(n, distinct, false)));
    }
}

uint32_t mixed_of(uint32_t key, uint64_t seed) { return tsr_mix_32(key, seed); }
uint64_t mixed_of(uint64_t key, uint64_t seed) { return tsr_mix_64(key, seed); }

template <class Key, class Value>
void Groups::expect_brought(uint64_t n, uint64_t distinct, uint32_t bins_log2) {
  SCOPED_TRACE(testing::Message() << sizeof(Key) << " and " << sizeof(Value) << " bytes, n " << n << " of "
                                  << distinct);
  const std::vector<Key> keys = keys_of<Key>(n, distinct, &random_);
  std::vector<Value> values(n);
  for (Value &value : values) value = static_cast<Value>(random_.below(1u << 30));
  tsr_groups_order order = {};
  order.n = n, order.keys = keys.data(), order.values = values.data(), order.key_bytes = sizeof(Key);
  order.value_bytes = sizeof(Value), order.seed = 5, order.bins_log2 = bins_log2;
  void *memory = nullptr;
  ASSERT_EQ(tsr_groups_bring(device_, &order, nullptr, &memory, &error_), TSR_OK) << error_.message;
  std::vector<std::pair<Key, Value>> expected, brought;
  for (uint64_t i = 0; i < n; i++) expected.emplace_back(mixed_of(keys[i], order.seed), values[i]);
  for (uint64_t bin = 0; bin < 1u << bins_log2; bin++)
    for (uint64_t i = order.begins[bin]; i < order.ends[bin]; i++) {
      const Key key = static_cast<const Key *>(order.mixed)[i];
      EXPECT_EQ(key >> (8 * sizeof(Key) - bins_log2), bin);
      brought.emplace_back(key, static_cast<const Value *>(order.brought)[i]);
    }
  std::sort(expected.begin(), expected.end());
  std::sort(brought.begin(), brought.end());
  EXPECT_EQ(brought, expected);
  EXPECT_EQ(device_->backend->free_in(device_, memory, nullptr, &error_), TSR_OK);
}

TEST_F(Groups, AreBroughtIntoBins) {
  for (uint64_t distinct : {1u, 300u, 40000u})
    for (uint32_t bins_log2 : {1u, 9u}) {
      ASSERT_NO_FATAL_FAILURE((expect_brought<uint32_t, uint64_t>(6000, distinct, bins_log2)));
      ASSERT_NO_FATAL_FAILURE((expect_brought<uint64_t, uint32_t>(6000, distinct, bins_log2)));
    }
}

// ---- Batches that a cache holds ------------------------------------------------------------------

struct Wanted {
  bool keys, counts, inverse, recorded;
  uint64_t room;
};

// By a call that waits, or as it is recorded, then what `recorded` got is returned.
template <class Key>
uint64_t Groups::expect_direct(const std::vector<Key> &keys, uint64_t seed, const Wanted &wanted) {
  const uint64_t n = keys.size(), spare = ~uint64_t{0} / 3;
  std::map<Key, uint64_t> expected;
  for (Key key : keys) expected[key]++;
  std::vector<Key> found(n + 1, static_cast<Key>(spare));
  std::vector<uint64_t> counts(n + 1, spare);
  std::vector<uint32_t> numbers(n);
  uint64_t count = 99;
  tsr_groups groups = {};
  groups.n = n, groups.keys = keys.data(), groups.key_bytes = sizeof(Key), groups.seed = seed;
  groups.room = wanted.room;
  if (wanted.keys) groups.distinct = found.data();
  if (wanted.counts) groups.counts = counts.data();
  if (wanted.inverse) groups.numbers = numbers.data();
  if (wanted.recorded) groups.found = &count;
  const tsr_status status = wanted.recorded ? tsr_groups_record(device_, &groups, nullptr, &error_)
                                            : tsr_groups_make(device_, &groups, nullptr, &count, &error_);
  EXPECT_EQ(status, TSR_OK) << error_.message;
  if (status || count == UINT64_MAX) return count;
  EXPECT_EQ(count, expected.size());
  const uint64_t written = std::min(count, wanted.room);
  std::set<Key> different;
  for (uint64_t k = 0; wanted.keys && k < written; k++) {
    EXPECT_EQ(expected.count(found[k]), 1u) << k;
    different.insert(found[k]);
    EXPECT_TRUE(!wanted.counts || counts[k] == expected[found[k]]) << k;
  }
  EXPECT_EQ(different.size(), wanted.keys ? written : 0);
  EXPECT_EQ(found[wanted.keys ? written : 0], static_cast<Key>(spare));
  EXPECT_EQ(counts[wanted.counts ? written : 0], spare);
  std::map<uint32_t, Key> named;
  for (uint64_t i = 0; wanted.inverse && i < n; i++) {
    EXPECT_LT(numbers[i], count) << i;
    EXPECT_EQ(named.emplace(numbers[i], keys[i]).first->second, keys[i]) << i;
    EXPECT_TRUE(!wanted.keys || numbers[i] >= written || found[numbers[i]] == keys[i]) << i;
  }
  EXPECT_EQ(named.size(), wanted.inverse ? count : 0);
  return count;
}

// Sizes about those of a block and of a batch that a cache does not hold.
TEST_F(Groups, AreFoundDirectlyWhereACacheHoldsThem) {
  constexpr uint64_t kCached = 3000;
  device_->info.l2_bytes = kCached * 40;
  for (uint64_t n : {uint64_t{1}, uint64_t{2}, uint64_t{33}, uint64_t{512}, uint64_t{1025}, kCached, kCached + 1})
    for (uint64_t distinct : {uint64_t{1}, n / 100 + 2, n * 2}) {
      SCOPED_TRACE(testing::Message() << "n " << n << " of " << distinct);
      const std::vector<uint32_t> narrow = keys_of<uint32_t>(n, distinct, &random_);
      const std::vector<uint64_t> wide = keys_of<uint64_t>(n, distinct, &random_);
      emulated::launched().clear();
      for (bool recorded : {false, true})
        for (uint32_t arrays = 0; arrays < 8; arrays++) {
          const Wanted wanted = {(arrays & 1) != 0, (arrays & 2) != 0, (arrays & 4) != 0, recorded, n};
          expect_direct(narrow, 5 + arrays, wanted);
          expect_direct(wide, 5 + arrays, wanted);
        }
      EXPECT_EQ(emulated::launched().count("tsr_group_claim_32") + emulated::launched().count("tsr_group_lead_64"),
                n > kCached ? 0u : 2u);
      if (n > 2) expect_direct(narrow, 3, {true, true, true, false, 2});
      if (n > 2) expect_direct(wide, 3, {true, true, true, true, 2});
    }
}

// An array that answers would overwrite while its keys are still read.
TEST_F(Groups, KeysInTheArrayOfAnswersGoByPasses) {
  device_->info.l2_bytes = 1 << 20;
  std::vector<uint32_t> keys = keys_of<uint32_t>(5000, 600, &random_), numbers(5000);
  const std::vector<uint32_t> before = keys;
  uint64_t count = 0;
  tsr_groups groups = {};
  groups.n = keys.size(), groups.keys = keys.data(), groups.key_bytes = 4, groups.seed = 1;
  groups.distinct = keys.data() + 1000, groups.room = 4000, groups.numbers = numbers.data();
  ASSERT_EQ(tsr_groups_make(device_, &groups, nullptr, &count, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(count, std::set<uint32_t>(before.begin(), before.end()).size());
  EXPECT_EQ(emulated::launched().count("tsr_group_claim_32"), 0u);
  for (size_t i = 0; i < before.size(); i++) ASSERT_EQ(keys.at(1000 + numbers[i]), before[i]) << i;
}

// Keys with one place among the claims, and with about one place among the others.
TEST_F(Groups, CraftedKeysEndDirectly) {
  constexpr uint64_t kItems = 2400, kSeed = 9;
  device_->info.l2_bytes = 1 << 20;
  std::vector<uint32_t> keys;
  for (uint32_t mixed = 0; keys.size() < kItems / 2 && mixed < (1u << 31) / kItems; mixed++)
    if (mixed * 0x9E3779B1u < 1u << 23) keys.push_back(tsr_unmix_32(mixed, kSeed));
  ASSERT_EQ(keys.size(), kItems / 2);
  for (uint32_t i = 0; keys.size() < kItems; i++) keys.push_back(keys[i]);
  expect_direct(keys, kSeed, {true, true, true, false, kItems});
  EXPECT_EQ(emulated::launched().count("tsr_group_claim_32"), 1u);
  EXPECT_EQ(expect_direct(keys, kSeed, {true, true, true, true, kItems}), UINT64_MAX);
  EXPECT_EQ(expect_direct(keys, kSeed + 1, {true, true, true, true, kItems}), kItems / 2);
}

} // namespace
