// SPDX-License-Identifier: Apache-2.0
//
// tools/lab/keys.h: keys are distinct, queries visit every index once, absent keys are absent.
#include "tools/lab/keys.h"

#include "tools/lab/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <vector>

namespace {

template <class Number>
bool all_distinct(std::vector<Number> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::adjacent_find(numbers.begin(), numbers.end()) == numbers.end();
}

tsr_keys model(uint32_t key_bits, uint64_t n, uint64_t seed = 1, uint32_t value_bits = 32) {
  return {key_bits, value_bits, n, seed, n, 0, 0, nullptr};
}

TEST(Keys, MixIsABijectionOfEveryNarrowWidth) {
  for (uint32_t bits = 1; bits <= 20; bits++) {
    std::vector<uint32_t> images(1u << bits);
    for (uint32_t x = 0; x < images.size(); x++) {
      uint64_t image = tsr_keys_mix(bits, x);
      ASSERT_LT(image, images.size());
      images[x] = static_cast<uint32_t>(image);
    }
    EXPECT_TRUE(all_distinct(images)) << bits;
  }
}

// Wider than brute force allows: a step back through the inverses of the factors must find every number again.
TEST(Keys, MixOfWideWidthsCanBeUndone) {
  for (uint32_t bits : {32u, 47u, 63u, 64u}) {
    const uint64_t mask = UINT64_MAX >> (64 - bits), factors[] = {0xAA5BF36518677DB7ull, 0xDC80F9BE67FD4C1Full};
    const uint32_t half = (bits + 1) / 2;
    for (uint64_t i = 0; i < 10000; i++) {
      uint64_t x = i * 0x123456789ABCDEFull & mask, back = tsr_keys_mix(bits, x);
      back ^= back >> half;
      for (uint64_t factor : factors) {
        uint64_t inverse = factor;
        for (int step = 0; step < 5; step++) inverse *= 2 - factor * inverse;
        back = back * inverse & mask;
        back ^= back >> half;
      }
      ASSERT_EQ(back, x) << bits;
    }
  }
}

TEST(Keys, KeysOfAllIndicesDifferAtTheEdgesOf32Bits) {
  std::vector<uint32_t> keys;
  tsr_keys m = model(32, 1ull << 31);
  for (uint64_t first : {0ull, (1ull << 31) - 50000, (1ull << 32) - 100000})
    for (uint64_t i = first; i < first + 100000; i++) {
      ASSERT_LE(tsr_keys_at(&m, i), UINT32_MAX);
      keys.push_back(static_cast<uint32_t>(tsr_keys_at(&m, i)));
    }
  EXPECT_TRUE(all_distinct(keys));
}

TEST(Keys, OrderIsAPermutationForAnyN) {
  for (uint64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 4095, 4096, 4097, 100003}) {
    tsr_keys m = model(64, n, n);
    std::vector<uint64_t> seen;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
      seen.push_back(tsr_keys_order(&m, i));
      ASSERT_LT(seen.back(), n);
      kept += seen.back() == i;
    }
    EXPECT_TRUE(all_distinct(seen)) << n;
    if (n >= 100) {
      EXPECT_LT(kept, 12u) << n << ": the order of the inserts";
    }
  }
}

template <class Key>
void check_queries(uint32_t bits) {
  const uint64_t n = 10001;
  tsr_keys m = model(bits, n);
  std::vector<Key> keys(n), queries(n);
  tsr_keys_fill(&m, keys.data());
  std::set<Key> inserted(keys.begin(), keys.end());
  ASSERT_EQ(inserted.size(), n);
  const std::pair<tsr_absent, uint64_t> cases[] = {{TSR_ABSENT_NONE, n}, {TSR_ABSENT_HALF, n / 2}, {TSR_ABSENT_ALL, 0}};
  for (auto [absent, expected] : cases) {
    tsr_keys_fill_queries(&m, {false, absent}, queries.data());
    EXPECT_TRUE(all_distinct(queries));
    uint64_t present = 0;
    for (uint64_t i = 0; i < n; i++) {
      bool is_there = inserted.count(queries[i]) > 0;
      EXPECT_EQ(is_there, tsr_keys_asked(&m, {false, absent}, i) < n);
      present += is_there;
    }
    EXPECT_EQ(present, expected);
  }
}

TEST(Keys, QueriesAskForThePresentAndTheAbsent) {
  check_queries<uint32_t>(32);
  check_queries<uint64_t>(64);
}

TEST(Keys, HalfIsMixedAlongTheQueries) {
  tsr_keys m = model(32, 1 << 16);
  uint64_t absent = 0, changes = 0;
  bool last = false;
  for (uint64_t i = 0; i < m.n; i++) {
    bool now = tsr_keys_asked(&m, {false, TSR_ABSENT_HALF}, i) >= m.n;
    absent += now;
    changes += now != last;
    last = now;
  }
  EXPECT_EQ(absent, m.n / 2);
  EXPECT_NEAR(static_cast<double>(changes), static_cast<double>(m.n) / 2, 1000);
}

TEST(Keys, SeedDecidesEverything) {
  std::vector<uint64_t> first(1000), again(1000), other(1000);
  tsr_keys one = model(64, 1000, 1), two = model(64, 1000, 2);
  tsr_keys_fill(&one, first.data());
  tsr_keys_fill(&one, again.data());
  tsr_keys_fill(&two, other.data());
  EXPECT_EQ(first, again);
  other.insert(other.end(), first.begin(), first.end());
  EXPECT_TRUE(all_distinct(other)) << "seeds 1 and 2 share keys";
  bool same_order = true;
  for (uint64_t i = 0; i < 1000; i++) same_order = same_order && tsr_keys_order(&one, i) == tsr_keys_order(&two, i);
  EXPECT_FALSE(same_order);
}

TEST(Keys, ValuesBelongToKeys) {
  const uint64_t n = 1000;
  tsr_keys narrow = model(64, n, 1, 32), wide = model(32, n, 1, 64), set = model(32, n, 1, 0);
  std::vector<uint64_t> keys64(n), values64(n);
  std::vector<uint32_t> keys32(n), values32(n);
  tsr_keys_fill(&narrow, keys64.data());
  tsr_keys_fill_values(&narrow, values32.data());
  tsr_keys_fill(&wide, keys32.data());
  tsr_keys_fill_values(&wide, values64.data());
  for (uint64_t i = 0; i < n; i++) {
    EXPECT_EQ(values32[i], tsr_keys_value(&narrow, keys64[i]));
    EXPECT_EQ(values64[i], tsr_keys_value(&wide, keys32[i]));
    EXPECT_EQ(tsr_keys_value(&set, keys32[i]), 0u);
  }
  EXPECT_TRUE(all_distinct(values64));
}

template <class Key, class Value>
void check_pairs(uint64_t n, uint64_t pairs) {
  tsr_keys m = {sizeof(Key) * 8, sizeof(Value) * 8, n, 1, pairs, 0, 0, nullptr};
  std::vector<Key> keys(pairs), queries(n);
  std::vector<Value> values(pairs);
  tsr_keys_fill(&m, keys.data());
  tsr_keys_fill_values(&m, values.data());
  tsr_keys_fill_queries(&m, {false, TSR_ABSENT_NONE}, queries.data());
  std::map<Key, std::set<uint64_t>> ranks;
  for (uint64_t i = 0; i < pairs; i++) {
    EXPECT_TRUE(ranks[keys[i]].insert(tsr_keys_rank(&m, keys[i], values[i])).second) << "a pair came twice";
  }
  EXPECT_TRUE(all_distinct(queries));
  for (uint64_t i = 0; i < n; i++) {
    const std::set<uint64_t> &found = ranks[queries[i]];
    const uint64_t count = tsr_keys_pairs_of(&m, tsr_keys_order(&m, i));
    ASSERT_EQ(found.size(), count) << n << " " << pairs;
    EXPECT_EQ(*found.rbegin(), count - 1);
    EXPECT_LE(count - pairs / n, pairs % n ? 1u : 0u);
    EXPECT_GE(tsr_keys_rank(&m, queries[i], tsr_keys_value(&m, queries[i]) - 1), count);
  }
}

TEST(Keys, PairsOfAKeyAreEquallyManyAndDiffer) {
  for (auto [n, pairs] : {std::pair(1, 1), {1, 9}, {100, 100}, {100, 101}, {100, 700}, {333, 1000}, {3, 2000}}) {
    check_pairs<uint32_t, uint32_t>(static_cast<uint64_t>(n), static_cast<uint64_t>(pairs));
    check_pairs<uint64_t, uint64_t>(static_cast<uint64_t>(n), static_cast<uint64_t>(pairs));
    check_pairs<uint64_t, uint32_t>(static_cast<uint64_t>(n), static_cast<uint64_t>(pairs));
  }
}

TEST(Keys, PairsOfAKeyLieApart) {
  tsr_keys m = {32, 32, 100, 1, 100000, 0, 0, nullptr};
  std::vector<uint32_t> keys(m.pairs);
  tsr_keys_fill(&m, keys.data());
  uint64_t repeated = 0;
  for (size_t i = 1; i < keys.size(); i++) repeated += keys[i] == keys[i - 1];
  EXPECT_NEAR(static_cast<double>(repeated), 1000, 200) << "as if drawn at random";
}

TEST(Keys, SharesAreCutToWholeNumbers) {
  using Shares = std::vector<double>;
  using Counts = std::vector<uint64_t>;
  for (auto &[n, shares, expected] : {std::tuple<uint64_t, Shares, Counts>(10, {.2, .2, .3, .3}, {2, 2, 3, 3}),
                                      {1ull << 30, {.1, .1, .4, .4}, {107374182, 107374182, 429496730, 429496730}},
                                      {1001, {.5, .5, 0, 0}, {501, 500, 0, 0}},
                                      {1, {.25, .25, .25, .25}, {0, 0, 0, 1}},
                                      {3, {.25, .25, .5, 0}, {1, 1, 1, 0}},
                                      {7, {0, 0, 1, 0}, {0, 0, 7, 0}},
                                      {1000, {1e-12, 1 - 1e-12, 0, 0}, {0, 1000, 0, 0}}}) {
    Counts counts(TSR_MIXED_KINDS);
    tsr_keys_cut(n, shares.data(), counts.data());
    EXPECT_EQ(counts, expected) << n;
  }
}

TEST(Keys, AMixedBatchNamesEachKeyOnceInNoOrder) {
  for (uint64_t n : {1000ull, 1ull << 16, 70001ull}) {
    const double shares[] = {.2, .2, .3, .3};
    uint64_t counts[TSR_MIXED_KINDS], seen[TSR_MIXED_KINDS] = {}, changes = 0, early = 0;
    tsr_keys m = model(64, n, 1, 64);
    tsr_keys_cut(n, shares, counts);
    std::vector<uint64_t> inserted(n), keys(n), values(n);
    std::vector<uint8_t> operations(n);
    const uint8_t codes[] = {10, 11, 12, 13};
    tsr_keys_fill(&m, inserted.data());
    tsr_keys_fill_mixed(&m, counts, codes, operations.data(), keys.data(), values.data());
    const std::set<uint64_t> present(inserted.begin(), inserted.end());
    for (uint64_t i = 0; i < n; i++) {
      uint64_t index;
      const tsr_mixed kind = tsr_keys_mixed(&m, counts, i, &index);
      seen[kind]++;
      early += kind == TSR_MIXED_ERASE && index < n / 2;
      EXPECT_EQ(operations[i], codes[kind]);
      EXPECT_EQ(keys[i], tsr_keys_at(&m, index));
      EXPECT_EQ(values[i], tsr_keys_value(&m, keys[i]));
      EXPECT_EQ(present.count(keys[i]), kind == TSR_MIXED_ERASE || kind == TSR_MIXED_FIND);
      changes += i > 0 && operations[i] != operations[i - 1];
    }
    EXPECT_TRUE(all_distinct(keys));
    for (size_t kind = 0; kind < TSR_MIXED_KINDS; kind++) EXPECT_EQ(seen[kind], counts[kind]);
    EXPECT_NEAR(static_cast<double>(early), static_cast<double>(n) / 10, 5 * std::sqrt(static_cast<double>(n) / 20))
        << "erased keys of the first half";
    const double at_random = static_cast<double>(n) * (1 - .04 - .04 - .09 - .09);
    EXPECT_NEAR(static_cast<double>(changes), at_random, 5 * std::sqrt(static_cast<double>(n)));
  }
}

tsr_keys draw(const char *text, uint32_t value_bits, uint64_t pairs) {
  tsr_distribution distribution;
  tsr_error error;
  tsr_keys keys = {32, value_bits, 0, 5, pairs, 0, 0, nullptr};
  EXPECT_EQ(tsr_distribution_read(text, &distribution, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_distribution_draw(&distribution, true, &keys, &error), TSR_OK) << error.message;
  return keys;
}

// What is said of a key's value, and of how many pairs it has, against the arrays themselves.
TEST(Distributions, ValuesOfTheArraysAreTheOnesExpected) {
  const uint64_t n = 20000;
  for (const char *text : {"repeat:7", "zipf:1.0", "zipf:0:500", "equal", "sequential", "low_bits:10"}) {
    tsr_keys m = draw(text, 32, n);
    std::vector<uint32_t> keys(n), values(n);
    tsr_keys_fill(&m, keys.data());
    tsr_keys_fill_values(&m, values.data());
    std::map<uint32_t, std::vector<uint32_t>> pairs;
    for (uint64_t i = 0; i < n; i++) pairs[keys[i]].push_back(values[i]);
    EXPECT_EQ(pairs.size(), m.n) << text;
    for (uint64_t index = 0; index < m.n; index++) {
      const uint32_t key = static_cast<uint32_t>(tsr_keys_at(&m, index));
      const std::vector<uint32_t> &its = pairs[key];
      ASSERT_EQ(its.size(), tsr_keys_pairs_of(&m, index)) << text;
      uint32_t sum = 0;
      for (uint32_t value : its) sum += value;
      EXPECT_TRUE(tsr_keys_is_value(&m, TSR_MERGE_ADD, key, its.size(), sum)) << text;
      EXPECT_FALSE(tsr_keys_is_value(&m, TSR_MERGE_ADD, key, its.size(), sum + 1u)) << text;
      EXPECT_TRUE(tsr_keys_is_value(&m, TSR_MERGE_MIN, key, its.size(), *std::min_element(its.begin(), its.end())));
      EXPECT_TRUE(tsr_keys_is_value(&m, TSR_MERGE_MAX, key, its.size(), *std::max_element(its.begin(), its.end())));
      for (uint32_t value : its) ASSERT_TRUE(tsr_keys_is_value(&m, TSR_MERGE_ANY, key, its.size(), value));
      EXPECT_EQ(pairs.count(static_cast<uint32_t>(tsr_keys_at(&m, m.n + index))), 0u) << "absent";
    }
    tsr_keys_free(&m);
  }
}

// Of 100000 draws of 1000 numbers, number k has 100000 / (k^s * sum of 1 / i^s) on average.
TEST(Distributions, ZipfsLaw) {
  for (auto &[text, s] : {std::pair<const char *, double>("zipf:0:1000", 0),
                          {"zipf:.7:1000", .7},
                          {"zipf:1:1000", 1},
                          {"zipf:2:1000", 2}}) {
    tsr_keys m = draw(text, 0, 100000);
    double sum = 0;
    for (int i = 1; i <= 1000; i++) sum += std::pow(i, -s);
    std::map<uint64_t, uint64_t> counts;
    for (uint64_t index = 0; index < m.n; index++) counts[tsr_keys_at(&m, index)] = tsr_keys_pairs_of(&m, index);
    for (int k : {1, 2, 3, 10}) {
      const double expected = 100000 * std::pow(k, -s) / sum;
      const double drawn = static_cast<double>(counts[tsr_keys_scatter(&m, static_cast<uint64_t>(k) - 1)]);
      EXPECT_NEAR(drawn, expected, 5 * std::sqrt(expected)) << text << " " << k;
    }
    tsr_keys_free(&m);
  }
}

} // namespace
