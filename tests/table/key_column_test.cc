// SPDX-License-Identifier: Apache-2.0
//
// tsr_key_column: numbers, counts, finds and pairs, and tsr_combine_by_number, compared with the standard library.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

namespace {

struct Column {
  tsr_key_column *column = nullptr;
  uint64_t distinct = 0;
  tsr_error error;
  template <typename Key>
  explicit Column(const std::vector<Key> &keys, uint32_t detail = TSR_KEY_COLUMN_NUMBERS, int64_t *numbers = nullptr) {
    EXPECT_EQ(
        tsr_key_column_create(8 * sizeof(Key), detail, keys.size(), keys.data(), numbers, &column, &distinct, &error),
        TSR_OK);
  }
  ~Column() { tsr_key_column_free(column); }
};

// n keys of `distinct` values; every second one is the same, if they are skewed.
template <typename Key>
std::vector<Key> some_keys(uint64_t n, uint64_t distinct, bool is_skewed) {
  std::mt19937_64 random(n + distinct);
  std::vector<Key> keys(n);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t chosen = random() % distinct;
    keys[i] = static_cast<Key>((is_skewed && i % 2 ? 0 : chosen) * 0x9E3779B1u << 5);
  }
  return keys;
}

// What the standard library says of keys.
template <typename Key>
struct Expected {
  std::map<Key, int64_t> numbers;
  std::vector<int64_t> firsts, of_rows;
  std::vector<uint64_t> counts;
  std::vector<Key> distinct;
  explicit Expected(const std::vector<Key> &keys) : of_rows(keys.size()) {
    for (size_t i = 0; i < keys.size(); i++) {
      const auto [at, is_new] = numbers.emplace(keys[i], static_cast<int64_t>(distinct.size()));
      if (is_new) {
        firsts.push_back(static_cast<int64_t>(i));
        counts.push_back(0);
        distinct.push_back(keys[i]);
      }
      of_rows[i] = at->second;
      counts[static_cast<size_t>(at->second)]++;
    }
  }
};

template <typename Key>
void expect_told(const std::vector<Key> &keys, const Expected<Key> &expected, uint32_t detail) {
  const bool has_numbers = detail == TSR_KEY_COLUMN_NUMBERS, has_counts = detail != TSR_KEY_COLUMN_KEYS;
  std::vector<int64_t> written(has_numbers ? keys.size() : 0), told(keys.size()), firsts(expected.distinct.size());
  std::vector<uint32_t> shorts(keys.size());
  std::vector<uint64_t> counts(firsts.size());
  std::vector<Key> distinct(firsts.size());
  for (bool is_written : {false, true}) {
    if (is_written && !has_numbers) continue;
    Column c(keys, detail, is_written ? written.data() : nullptr);
    ASSERT_EQ(c.distinct, distinct.size());
    tsr_key_column_arrays arrays = {};
    arrays.size = sizeof arrays;
    arrays.numbers = has_numbers ? told.data() : nullptr;
    arrays.short_numbers = has_numbers ? shorts.data() : nullptr;
    arrays.firsts = firsts.data();
    arrays.counts = has_counts ? counts.data() : nullptr;
    arrays.keys = distinct.data();
    ASSERT_EQ(tsr_key_column_tell(c.column, &arrays, &c.error), TSR_OK);
    if (has_numbers) {
      EXPECT_EQ(told, expected.of_rows);
      EXPECT_EQ(std::vector<int64_t>(shorts.begin(), shorts.end()), expected.of_rows);
    }
    if (has_counts) {
      EXPECT_EQ(counts, expected.counts);
    }
    EXPECT_EQ(firsts, expected.firsts);
    EXPECT_EQ(distinct, expected.distinct);
  }
  if (has_numbers) {
    EXPECT_EQ(written, expected.of_rows);
  }
}

template <typename Key>
void expect_found(const std::vector<Key> &keys, const Expected<Key> &expected, uint32_t detail) {
  Column c(keys, detail);
  std::vector<Key> asked(keys.begin(), keys.begin() + static_cast<long>(keys.size() / 5));
  for (Key k = 1; k < 3000; k++) asked.push_back(k);
  std::vector<int64_t> found(asked.size());
  std::vector<uint8_t> present(asked.size());
  const bool has_numbers = detail != TSR_KEY_COLUMN_KEYS;
  ASSERT_EQ(tsr_key_column_find(c.column, asked.size(), asked.data(), has_numbers ? found.data() : nullptr,
                                present.data(), &c.error),
            TSR_OK);
  for (size_t i = 0; i < asked.size(); i++) {
    const auto at = expected.numbers.find(asked[i]);
    ASSERT_EQ(present[i], at != expected.numbers.end()) << i;
    if (has_numbers) {
      ASSERT_EQ(found[i], at == expected.numbers.end() ? -1 : at->second) << i;
    }
  }
}

template <typename Key>
void expect_right(const std::vector<Key> &keys) {
  const Expected<Key> expected(keys);
  for (uint32_t detail : {TSR_KEY_COLUMN_KEYS, TSR_KEY_COLUMN_COUNTS, TSR_KEY_COLUMN_NUMBERS}) {
    expect_told(keys, expected, detail);
    expect_found(keys, expected, detail);
  }
}

TEST(KeyColumn, IsRightAtAnySize) {
  for (uint64_t n : {0, 1, 2, 100, 5000, 70000, 200000})
    for (uint64_t distinct : {1, 30, 20000, 1000000})
      for (bool is_skewed : {false, true}) {
        if (tessera_test::finds_races && (n != 70000 || is_skewed == (distinct < 100)))
          continue; // more threads than one
        SCOPED_TRACE(testing::Message() << n << " rows of " << distinct << (is_skewed ? ", skewed" : ""));
        expect_right(some_keys<uint64_t>(n, distinct, is_skewed));
        expect_right(some_keys<uint32_t>(n, distinct, is_skewed));
      }
}

// Keys that become more late, or by a power of rows: sets grow, by factors of 2 and 4.
TEST(KeyColumn, IsRightWhereASampleMisleads) {
  const uint64_t n = tessera_test::finds_races ? 70000 : 300000;
  std::mt19937_64 random(n);
  std::vector<uint64_t> late(n), skewed(n);
  for (uint64_t i = 0; i < n; i++) {
    late[i] = i < n / 4 ? 7 : i * 0x9E3779B97F4A7C15u;
    skewed[i] = n / (random() % n + 1) * (random() % 1000);
  }
  for (const auto &keys : {late, skewed}) {
    expect_right(keys);
    expect_right(std::vector<uint32_t>(keys.begin(), keys.end()));
  }
}

// All pairs of rows, as two lists, of a column and the numbers of left rows.
using Pairs = std::pair<std::vector<int64_t>, std::vector<int64_t>>;
Pairs pairs_of(Column &c, const std::vector<int64_t> &left, bool keeps_all, bool keeps_others) {
  uint64_t count = 0;
  tsr_key_column_pairs pairs = {};
  pairs.size = sizeof pairs;
  pairs.n = left.size();
  pairs.numbers = left.data();
  pairs.keeps_all = keeps_all;
  pairs.keeps_others = keeps_others;
  EXPECT_EQ(tsr_key_column_pair(c.column, &pairs, &count, &c.error), TSR_OK);
  Pairs rows = {std::vector<int64_t>(count), std::vector<int64_t>(count)};
  pairs.left_rows = rows.first.data();
  pairs.right_rows = rows.second.data();
  pairs.room = count - 1;
  EXPECT_EQ(tsr_key_column_pair(c.column, &pairs, &count, &c.error), count > 1 ? TSR_BAD_ARGUMENT : TSR_OK);
  pairs.room = count;
  EXPECT_EQ(tsr_key_column_pair(c.column, &pairs, &count, &c.error), TSR_OK);
  return rows;
}

TEST(KeyColumn, PairsComeInOrder) {
  const std::vector<int64_t> left = {1, -1, 0};
  Column repeated(std::vector<uint64_t>{42, 7, 7, 5, 5}), distinct(std::vector<uint64_t>{42, 7, 9, 5});
  EXPECT_EQ(pairs_of(repeated, left, false, false), Pairs({0, 0, 2}, {1, 2, 0}));
  EXPECT_EQ(pairs_of(repeated, left, true, false), Pairs({0, 0, 1, 2}, {1, 2, -1, 0}));
  EXPECT_EQ(pairs_of(repeated, left, false, true), Pairs({0, 0, 2, -1, -1}, {1, 2, 0, 3, 4}));
  EXPECT_EQ(pairs_of(repeated, left, true, true), Pairs({0, 0, 1, 2, -1, -1}, {1, 2, -1, 0, 3, 4}));
  EXPECT_EQ(pairs_of(distinct, left, false, false), Pairs({0, 2}, {1, 0}));
  EXPECT_EQ(pairs_of(distinct, left, true, true), Pairs({0, 1, 2, -1, -1}, {1, -1, 0, 2, 3}));
}

TEST(KeyColumn, PairsOfManyRowsKeepThoseOfBothSides) {
  for (bool is_written : {false, true}) {
    const std::vector<uint64_t> keys = some_keys<uint64_t>(200000, 50000, false);
    std::vector<int64_t> written(keys.size()), left;
    Column c(keys, TSR_KEY_COLUMN_NUMBERS, is_written ? written.data() : nullptr);
    const Expected<uint64_t> expected(keys);
    std::vector<std::vector<int64_t>> rows(c.distinct);
    for (size_t row = 0; row < keys.size(); row++) rows[static_cast<size_t>(expected.of_rows[row])].push_back(row);
    std::mt19937_64 random(1);
    for (size_t i = 0; i < 100000; i++) left.push_back(static_cast<int64_t>(random() % (c.distinct + 9)) - 9);
    for (int64_t &number : left) number = number < 0 ? -1 : number;
    Pairs want;
    std::vector<bool> is_found(c.distinct);
    for (size_t i = 0; i < left.size(); i++) {
      const std::vector<int64_t> none = {-1};
      const bool is_there = left[i] >= 0;
      if (is_there) is_found[static_cast<size_t>(left[i])] = true;
      for (int64_t row : is_there ? rows[static_cast<size_t>(left[i])] : none) {
        want.first.push_back(static_cast<int64_t>(i));
        want.second.push_back(row);
      }
    }
    for (size_t row = 0; row < keys.size(); row++)
      if (!is_found[static_cast<size_t>(expected.of_rows[row])]) {
        want.first.push_back(-1);
        want.second.push_back(static_cast<int64_t>(row));
      }
    EXPECT_EQ(pairs_of(c, left, true, true), want);
  }
}

// ---- Values by number ----------------------------------------------------------------------------

template <typename Value>
struct TypeOf;
template <>
struct TypeOf<uint32_t> {
  static constexpr uint32_t value = TSR_VALUES_U32;
};
template <>
struct TypeOf<int32_t> {
  static constexpr uint32_t value = TSR_VALUES_I32;
};
template <>
struct TypeOf<float> {
  static constexpr uint32_t value = TSR_VALUES_F32;
};
template <>
struct TypeOf<uint64_t> {
  static constexpr uint32_t value = TSR_VALUES_U64;
};
template <>
struct TypeOf<int64_t> {
  static constexpr uint32_t value = TSR_VALUES_I64;
};
template <>
struct TypeOf<double> {
  static constexpr uint32_t value = TSR_VALUES_F64;
};

// Sums of whole numbers are compared modulo 2^64, and with 128 bits; those of floating point are of whole numbers here, so exact.
template <typename Value>
void combine_and_compare(uint64_t n, uint64_t distinct, bool is_large, uint64_t seed) {
  using Sum = std::conditional_t<std::is_floating_point_v<Value>, double, uint64_t>;
  SCOPED_TRACE(testing::Message() << n << " rows, " << distinct << " numbers, seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<int64_t> numbers(n);
  std::vector<Value> values(n);
  std::vector<uint64_t> counts(distinct, 7), want_counts(distinct);
  std::vector<Sum> sums(distinct, 7), want_sums(distinct);
  std::vector<__int128> whole(distinct);
  std::vector<double> near(distinct, 7);
  const Value most =
      std::is_floating_point_v<Value> ? std::numeric_limits<Value>::infinity() : std::numeric_limits<Value>::max();
  const Value last = std::is_floating_point_v<Value> ? -most : std::numeric_limits<Value>::lowest();
  std::vector<Value> least(distinct, 7), want_least(distinct, most), largest(distinct, 7), want_largest(distinct, last);
  for (uint64_t i = 0; i < n; i++) {
    const size_t k = random() % distinct / (i % 3 ? 1 : 2);
    numbers[i] = static_cast<int64_t>(k);
    const uint64_t drawn = random();
    values[i] = static_cast<Value>(is_large ? drawn >> 1 : drawn % 2001);
    if (!is_large && std::is_signed_v<Value>) values[i] -= 1000;
    if (is_large && std::is_signed_v<Value> && drawn % 2) values[i] = static_cast<Value>(-values[i]);
    want_counts[k]++;
    want_sums[k] += static_cast<Sum>(values[i]);
    whole[k] += static_cast<__int128>(values[i]);
    want_least[k] = std::min(want_least[k], values[i]);
    want_largest[k] = std::max(want_largest[k], values[i]);
  }
  const __int128 top = std::is_signed_v<Value> ? __int128(INT64_MAX) : __int128(UINT64_MAX);
  uint64_t want_passed = 0, passed = 99;
  for (__int128 sum : whole)
    want_passed += !std::is_floating_point_v<Value> && (sum > top || sum < (std::is_signed_v<Value> ? -top - 1 : 0));
  tsr_numbered_values asked = {};
  asked.size = sizeof asked;
  asked.n = n;
  asked.numbers = numbers.data();
  asked.values = values.data();
  asked.type = TypeOf<Value>::value;
  asked.distinct = distinct;
  asked.counts = counts.data();
  asked.sums = sums.data();
  asked.near = near.data();
  asked.least = least.data();
  asked.largest = largest.data();
  tsr_error error;
  ASSERT_EQ(tsr_combine_by_number(&asked, &passed, &error), TSR_OK) << error.message;
  EXPECT_EQ(counts, want_counts);
  EXPECT_EQ(least, want_least);
  EXPECT_EQ(largest, want_largest);
  EXPECT_EQ(passed, want_passed);
  const bool is_wide = sizeof(Value) == 8 && !std::is_floating_point_v<Value>;
  if (!is_large || n > 50 * distinct) {
    EXPECT_EQ(want_passed > 0, is_large && is_wide);
  }
  for (size_t k = 0; k < distinct; k++) {
    const double wanted = static_cast<double>(whole[k]);
    if (std::is_floating_point_v<Value>)
      EXPECT_NEAR(static_cast<double>(sums[k]), static_cast<double>(want_sums[k]),
                  std::abs(static_cast<double>(want_sums[k])) * 1e-9 + 1e6);
    else
      EXPECT_EQ(sums[k], want_sums[k]);
    EXPECT_NEAR(near[k], wanted, std::abs(wanted) * 1e-9 + static_cast<double>(want_counts[k]) * 2048);
  }
}

TEST(CombineByNumber, AgreesWithTheStandardLibrary) {
  const uint64_t seed = 20250801;
  const std::pair<uint64_t, uint64_t> sizes[] = {{0, 1},       {1, 1},        {5000, 3},
                                                 {3000, 3000}, {400000, 100}, {300000, 30000}};
  for (auto [n, distinct] : sizes) {
    for (bool is_large : {false, true}) {
      combine_and_compare<uint64_t>(n, distinct, is_large, seed);
      combine_and_compare<int64_t>(n, distinct, is_large, seed);
    }
    combine_and_compare<uint32_t>(n, distinct, true, seed);
    combine_and_compare<int32_t>(n, distinct, false, seed);
    combine_and_compare<float>(n, distinct, false, seed);
    combine_and_compare<double>(n, distinct, false, seed);
  }
}

TEST(CombineByNumber, MakesNarrowExtremesAlone) { // an odd number of 32-bit words, by several threads
  const uint64_t n = 1 << 19, distinct = 33;
  std::vector<int64_t> numbers(n);
  std::vector<int32_t> values(n), least(distinct), want(distinct, INT32_MAX);
  std::vector<uint64_t> counts(distinct);
  std::mt19937_64 random(20250801);
  for (uint64_t i = 0; i < n; i++) {
    numbers[i] = static_cast<int64_t>(random() % distinct);
    values[i] = static_cast<int32_t>(random());
    want[static_cast<size_t>(numbers[i])] = std::min(want[static_cast<size_t>(numbers[i])], values[i]);
  }
  tsr_numbered_values asked = {};
  asked.size = sizeof asked;
  asked.n = n;
  asked.numbers = numbers.data();
  asked.values = values.data();
  asked.type = TSR_VALUES_I32;
  asked.distinct = distinct;
  asked.counts = counts.data();
  asked.least = least.data();
  tsr_error error;
  ASSERT_EQ(tsr_combine_by_number(&asked, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(least, want);
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), uint64_t{0}), n);
}

TEST(CombineByNumber, KeepsNaNAndRefusesOtherNumbers) {
  const double nan = std::nan("");
  std::vector<int64_t> numbers = {0, 0, 1, 1};
  const std::vector<double> values = {nan, 1, 2, nan};
  std::vector<double> least(2), largest(2);
  tsr_numbered_values asked = {};
  asked.size = sizeof asked;
  asked.n = 4;
  asked.numbers = numbers.data();
  asked.values = values.data();
  asked.type = TSR_VALUES_F64;
  asked.distinct = 2;
  asked.least = least.data();
  asked.largest = largest.data();
  tsr_error error;
  ASSERT_EQ(tsr_combine_by_number(&asked, nullptr, &error), TSR_OK);
  for (double each : {least[0], least[1], largest[0], largest[1]}) EXPECT_TRUE(std::isnan(each));
  for (int64_t wrong : {int64_t{2}, int64_t{-1}}) {
    numbers[3] = wrong;
    EXPECT_EQ(tsr_combine_by_number(&asked, nullptr, &error), TSR_BAD_ARGUMENT);
    EXPECT_NE(std::string(error.message).find("numbers[3] = "), std::string::npos) << error.message;
  }
  asked.type = TSR_VALUES_F64 + 1;
  EXPECT_EQ(tsr_combine_by_number(&asked, nullptr, &error), TSR_BAD_ARGUMENT);
  asked.type = TSR_VALUES_F64;
  asked.values = nullptr;
  EXPECT_EQ(tsr_combine_by_number(&asked, nullptr, &error), TSR_BAD_ARGUMENT);
}

TEST(KeyColumn, RefusesWhatItCannotDo) {
  tsr_key_column *column = nullptr;
  uint64_t distinct = 0;
  tsr_error error;
  const uint64_t key = 7;
  EXPECT_EQ(tsr_key_column_create(16, 0, 1, &key, nullptr, &column, &distinct, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_column_create(64, 0, 1, nullptr, nullptr, &column, &distinct, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_column_create(64, TSR_KEY_COLUMN_NUMBERS + 1, 1, &key, nullptr, &column, &distinct, &error),
            TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_column_create(64, 0, TSR_KEY_COLUMN_MOST + 1, &key, nullptr, &column, &distinct, &error),
            TSR_UNSUPPORTED);
  int64_t number = 0;
  EXPECT_EQ(tsr_key_column_create(64, TSR_KEY_COLUMN_COUNTS, 1, &key, &number, &column, &distinct, &error),
            TSR_BAD_ARGUMENT);
  EXPECT_EQ(column, nullptr);
  const std::vector<uint64_t> two = {7, 5};
  Column keys(two, TSR_KEY_COLUMN_KEYS), counts(two, TSR_KEY_COLUMN_COUNTS);
  uint64_t count = 0;
  tsr_key_column_arrays arrays = {};
  arrays.size = sizeof arrays;
  arrays.counts = &count;
  EXPECT_EQ(tsr_key_column_tell(keys.column, &arrays, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_column_find(keys.column, 1, &key, &number, nullptr, &error), TSR_BAD_ARGUMENT);
  arrays.counts = nullptr;
  arrays.numbers = &number;
  EXPECT_EQ(tsr_key_column_tell(counts.column, &arrays, &error), TSR_BAD_ARGUMENT);
  tsr_key_column_pairs pairs = {};
  pairs.size = sizeof pairs;
  EXPECT_EQ(tsr_key_column_pair(counts.column, &pairs, &count, &error), TSR_BAD_ARGUMENT);
}

} // namespace
