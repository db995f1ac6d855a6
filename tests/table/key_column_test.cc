// SPDX-License-Identifier: Apache-2.0
//
// tsr_key_column: numbers, counts, finds and pairs compared with the standard library.
#include <gtest/gtest.h>

#include <map>
#include <random>
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
