// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness: many threads insert the same keys at once, in every way that a GPU can bring them together, and each key
// is in the table once. Judged by an export: no double, nothing lost, every value one that the policy allows.
// Linked with the library whose guard is compiled out, RACES_WITHOUT_GUARD, the same races must show doubles.
#include <gtest/gtest.h>

#include <algorithm>
#include <unordered_map>

#include "tests/device/device.h"
#include "tests/oracle/draw.h"
#include "tests/oracle/random.h"

namespace {

using choices::Choice;

#ifdef RACES_WITHOUT_GUARD
constexpr bool guarded = false;
#else
constexpr bool guarded = true;
#endif

// Which key number the i-th of n inserts has.
enum Pattern { ALL_EQUAL, TWICE_IN_A_WARP, TWICE_IN_A_BLOCK, TWICE_IN_THE_GRID, FEW_KEYS, PATTERNS };
const char *const kPatternNames[PATTERNS] = {"all_equal", "twice_in_a_warp", "twice_in_a_block", "twice_in_the_grid",
                                             "few_keys"};

uint64_t number_at(Pattern pattern, uint64_t i, uint64_t n) {
  switch (pattern) {
  case ALL_EQUAL:
    return 2;
  case TWICE_IN_A_WARP:
    return i / 2;
  case TWICE_IN_A_BLOCK:
    return i / 256 * 128 + i % 128;
  case TWICE_IN_THE_GRID:
    return i % (n / 2);
  default:
    return device::key_of(i, 64) % 1000;
  }
}

// Keys 0 and 1 are those whose bits mark slots; a bucket of each is all the room that there is for them.
uint64_t key_at(uint64_t number, uint32_t bits) {
  uint64_t mask = tessera_test::width_mask(bits);
  return number < 2 ? mask - number : device::key_of(number, bits) >= mask - 1 ? 1 : device::key_of(number, bits);
}

struct Offers {
  std::vector<uint64_t> keys, values;
};

Offers offers_of(const Choice &choice, Pattern pattern, uint64_t n) {
  Offers offers;
  uint64_t mask = tessera_test::width_mask(choice.value_bits);
  for (uint64_t i = 0; i < n; i++) {
    offers.keys.push_back(key_at(number_at(pattern, i, n), choice.key_bits));
    offers.values.push_back((device::key_of(i, 64) >> 8) & mask);
  }
  return offers;
}

// What is wrong with the table after it was offered these pairs, whatever came first. A key may be missing if a pair of
// it was handed back: schemes with few buckets for a key cannot place all, in buckets of a slot or four.
struct Verdict {
  uint64_t doubles = 0, lost = 0, strangers = 0, wrong_values = 0, size = 0;
};

Verdict judge(tsr_table *table, const Choice &choice, const Offers &offers, const std::vector<uint64_t> &handed_back) {
  struct Seen {
    uint64_t least = UINT64_MAX, most = 0, sum = 0, count = 0;
  };
  uint64_t mask = tessera_test::width_mask(choice.value_bits);
  std::unordered_map<uint64_t, Seen> expected;
  std::vector<std::pair<uint64_t, uint64_t>> offered;
  for (size_t i = 0; i < offers.keys.size(); i++) {
    Seen &seen = expected[offers.keys[i]];
    seen.least = std::min(seen.least, offers.values[i]);
    seen.most = std::max(seen.most, offers.values[i]);
    seen.sum = (seen.sum + offers.values[i]) & mask;
    offered.emplace_back(offers.keys[i], offers.values[i]);
  }
  std::sort(offered.begin(), offered.end());
  Verdict verdict;
  for (auto [key, value] : device::pairs_of(table)) {
    verdict.size++;
    auto found = expected.find(key);
    if (found == expected.end()) {
      verdict.strangers++;
      continue;
    }
    const Seen &seen = found->second;
    if (found->second.count++) verdict.doubles++;
    if (!choice.value_bits) continue;
    bool right;
    if (choice.duplicates == "add")
      right = value == seen.sum;
    else if (choice.duplicates == "min")
      right = value == seen.least;
    else if (choice.duplicates == "max")
      right = value == seen.most;
    else
      right = std::binary_search(offered.begin(), offered.end(), std::make_pair(key, value));
    verdict.wrong_values += !right;
  }
  for (uint64_t key : handed_back) expected[key].count++;
  for (const auto &[key, seen] : expected) verdict.lost += seen.count == 0;
  return verdict;
}

uint64_t distinct(const Offers &offers) {
  std::vector<uint64_t> keys = offers.keys;
  std::sort(keys.begin(), keys.end());
  return (uint64_t)(std::unique(keys.begin(), keys.end()) - keys.begin());
}

// Without the guard one race or another may be won by luck, but not all of them.
uint64_t doubles_in_all = 0;

class RacesShow : public testing::Environment {
  void TearDown() override {
    if (guarded) return;
    EXPECT_GT(doubles_in_all, 0u) << "without its guard the table is unique too: these races test nothing";
  }
};
const testing::Environment *const races_show = testing::AddGlobalTestEnvironment(new RacesShow);

// With the guard nothing may be wrong; without it the races must show.
void expect_verdict(const Verdict &verdict) {
  if (guarded) {
    EXPECT_EQ(verdict.doubles, 0u);
    EXPECT_EQ(verdict.lost, 0u);
    EXPECT_EQ(verdict.strangers, 0u);
    EXPECT_EQ(verdict.wrong_values, 0u);
  } else {
    doubles_in_all += verdict.doubles;
    EXPECT_EQ(verdict.strangers, 0u);
  }
}

// Room for all offers: without the guard every one of them may be stored.
device::Table table_for(const Choice &choice, uint64_t n, uint32_t calls = device::INSERT_AND_EXPORT) {
  return device::create(choice, n, 0.75, "", calls);
}

// What came back at the indices that say so.
std::vector<uint64_t> handed_back(const std::vector<uint64_t> &codes, const std::vector<uint64_t> &keys) {
  std::vector<uint64_t> back;
  for (size_t i = 0; i < codes.size(); i++)
    if (codes[i] == TSR_NOT_PLACED) back.push_back(keys[i]);
  return back;
}

// Each insert that says so has made the table larger by one.
void expect_codes(const std::vector<uint64_t> &codes, uint64_t growth) {
  if (!guarded) return;
  EXPECT_EQ((uint64_t)std::count(codes.begin(), codes.end(), (uint64_t)TSR_INSERTED), growth);
  EXPECT_EQ(std::count(codes.begin(), codes.end(), 0u), 0);
}

void race(const Choice &choice, Pattern pattern, uint64_t n) {
  device::Table table = table_for(choice, n);
  ASSERT_TRUE(table);
  Offers offers = offers_of(choice, pattern, n);
  std::vector<uint64_t> answers, back;
  {
    device::Array keys(table.get(), choice.key_bits, offers.keys),
        values(table.get(), choice.value_bits, offers.values);
    device::Array codes(table.get(), 8, n), unplaced(table.get(), choice.key_bits, offers.keys);
    tsr_call call = {};
    call.results = static_cast<uint8_t *>(codes.data());
    call.unplaced_keys = unplaced.data();
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_wait(table.get(), &error), TSR_OK) << error.message;
    answers = codes.numbers();
    back = handed_back(answers, unplaced.numbers());
  }
  Verdict verdict = judge(table.get(), choice, offers, back);
  expect_codes(answers, verdict.size);
  if (back.empty() && guarded) {
    EXPECT_EQ(verdict.size, distinct(offers));
  }
  expect_verdict(verdict);
}

// ---- One batch ----------------------------------------------------------------------------------

struct Race {
  Choice choice;
  Pattern pattern;
  bool is_small;
};
void PrintTo(const Race &race, std::ostream *out) { *out << race.choice.name() << " " << kPatternNames[race.pattern]; }

std::string name_of(const testing::TestParamInfo<Race> &info) {
  return info.param.choice.name() + "_" + kPatternNames[info.param.pattern];
}

// Every layout x scheme, with the number of lanes and the policy taking turns; each has every pattern.
std::vector<Choice> tables_of_races(bool is_small) {
  const uint32_t shapes[][2] = {{4, 1}, {8, 4}, {16, 16}, {8, 8}, {1, 1}, {32, 2}};
  const char *const policies[] = {"first", "min", "replace", "add", "max"};
  std::vector<Choice> all;
  uint32_t turn = 0;
  for (const std::string &layout : choices::plugins_of("layout"))
    for (const std::string &probing : choices::plugins_of("probing"))
      for (choices::Widths widths : {choices::Widths{32, 32}, {64, 64}, {64, 0}})
        for (uint32_t variant = 0; variant < (is_small ? 1u : 3u); variant++, turn++) {
          Choice choice = {layout,
                           probing,
                           "murmur3",
                           widths.value_bits ? policies[turn % 5] : "first",
                           "phased",
                           "no",
                           shapes[turn % 6][0],
                           shapes[turn % 6][1],
                           widths.key_bits,
                           widths.value_bits,
                           device::sm(),
                           turn % 4 == 3 ? 64u : 0u};
          if (device::accepts(choice)) all.push_back(choice);
        }
  // and with all operations free to overlap, where that is possible
  for (const std::string &layout : choices::plugins_of("layout"))
    for (const std::string &probing : choices::plugins_of("probing")) {
      Choice choice = {layout, probing, "murmur3", "min", "mixed", "no", 4, 1, 32, 32, device::sm(), 0};
      if (device::accepts(choice)) all.push_back(choice);
    }
  return tessera_test::drawn(all, [](const Choice &c) -> tessera_test::Options {
    return {c.layout,
            c.probing,
            std::to_string(c.key_bits) + " " + std::to_string(c.value_bits),
            std::to_string(c.bucket_slots) + " " + std::to_string(c.tile_lanes),
            c.duplicates,
            c.concurrency,
            std::to_string(c.stash)};
  });
}

std::vector<Race> races(bool is_small) {
  std::vector<Race> all;
  for (const Choice &choice : tables_of_races(is_small))
    for (uint32_t pattern = 0; pattern < PATTERNS; pattern++) all.push_back({choice, (Pattern)pattern, is_small});
  return all;
}

class OneBatch : public testing::TestWithParam<Race> {};
TEST_P(OneBatch, KeepsKeysUnique) {
  const Race &r = GetParam();
  uint64_t n = r.is_small ? 1536 : device::backend() == "cpu" ? 1 << 13 : 1 << 20;
  if (r.pattern == ALL_EQUAL) n = std::min<uint64_t>(n, guarded ? 1 << 18 : 1 << 14); // one after the other
  race(r.choice, r.pattern, n);
}
INSTANTIATE_TEST_SUITE_P(Big, OneBatch, testing::ValuesIn(races(false)), name_of);
#ifndef RACES_WITHOUT_GUARD // a race of few may be won
INSTANTIATE_TEST_SUITE_P(Small, OneBatch, testing::ValuesIn(races(true)), name_of);
#endif

// Whether a scheme looks keys up, so that they can race.
bool looks_up(const std::string &probing) {
  for (const std::string &layout : choices::plugins_of("layout"))
    if (device::accepts({layout, probing, "murmur3", "first", "phased", "no", 8, 1, 32, 32, device::sm(), 0}))
      return true;
  return false;
}

TEST(Races, AreHeldForEveryPart) {
  std::vector<Race> all = races(false);
  EXPECT_GT(all.size(), 20u);
  for (const std::string &layout : choices::plugins_of("layout"))
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Race &r) { return r.choice.layout == layout; }))
        << layout;
  for (const std::string &probing : choices::plugins_of("probing"))
    EXPECT_TRUE(!looks_up(probing) || std::any_of(all.begin(), all.end(), [&](const Race &r) {
      return r.choice.probing == probing;
    })) << probing;
}

// ---- More than one batch ------------------------------------------------------------------------

Choice plain(const char *layout, const char *probing, uint32_t slots, uint32_t lanes, const char *policy,
             uint32_t bits = 32) {
  return {layout, probing, "murmur3", policy, "phased", "no", slots, lanes, bits, bits, device::sm(), 0};
}

std::vector<Choice> some_tables() {
  return {plain("packed", "cuckoo", 4, 1, "first"),
          plain("packed", "cuckoo", 8, 4, "min"),
          plain("packed", "cuckoo", 4, 1, "add"),
          plain("packed", "robin_hood", 8, 1, "add"),
          plain("packed", "double_hashing", 8, 8, "replace"),
          plain("soa", "double_hashing", 8, 1, "first", 64),
          plain("soa", "double_hashing", 16, 16, "add")};
}

uint64_t big() { return device::backend() == "cpu" ? 1 << 16 : 10 * 1000 * 1000; }

TEST(Races, TenMillionKeysTwice) {
  for (const Choice &choice : {plain("packed", "cuckoo", 4, 1, "first"), plain("packed", "cuckoo", 8, 4, "min"),
                               plain("soa", "double_hashing", 8, 1, "first")}) {
    SCOPED_TRACE(choice.name());
    race(choice, TWICE_IN_THE_GRID, big());
  }
}

// The same keys come on two streams at once, from both ends.
void race_of_streams(const Choice &choice, uint64_t n) {
  device::Table table = table_for(choice, 2 * n);
  ASSERT_TRUE(table);
  Offers offers = offers_of(choice, TWICE_IN_A_WARP, 2 * n), first, second;
  for (uint64_t i = 0; i < n; i++) {
    first.keys.push_back(offers.keys[2 * i]);
    first.values.push_back(offers.values[2 * i]);
    second.keys.push_back(offers.keys[2 * (n - 1 - i) + 1]);
    second.values.push_back(offers.values[2 * (n - 1 - i) + 1]);
  }
  {
    device::Streams streams;
    tsr_table *t = table.get();
    device::Array keys_one(t, choice.key_bits, first.keys), values_one(t, choice.value_bits, first.values);
    device::Array keys_two(t, choice.key_bits, second.keys), values_two(t, choice.value_bits, second.values);
    tsr_call one = {}, two = {};
    one.stream = streams.one;
    two.stream = streams.two;
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(t, 1, keys_one.data(), values_one.data(), &one, &error), TSR_OK) << error.message; // links
    ASSERT_EQ(tsr_clear(t, streams.one, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_insert(t, n, keys_one.data(), values_one.data(), &one, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_insert(t, n, keys_two.data(), values_two.data(), &two, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
    tsr_report report = {};
    ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    if (guarded) {
      EXPECT_EQ(report.inserted, n + 1); // and the one that was cleared
      EXPECT_EQ(report.not_placed, 0u);
    }
  }
  expect_verdict(judge(table.get(), choice, offers, {}));
}

TEST(Races, OfTwoStreams) {
  for (const Choice &choice : some_tables()) {
    SCOPED_TRACE(choice.name());
    race_of_streams(choice, device::backend() == "cpu" ? 1 << 15 : 1 << 20);
  }
}

// Keys go past erased slots: the claim alone guards no longer.
void race_after_erase(const Choice &choice, uint64_t n) {
  device::Table table = table_for(choice, n, device::INSERT_AND_EXPORT | TSR_PREPARE_ERASE);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  Offers offers = offers_of(choice, TWICE_IN_THE_GRID, n);
  uint64_t keys_of_all = distinct(offers);
  {
    device::Array keys(t, choice.key_bits, offers.keys), values(t, choice.value_bits, offers.values);
    device::Array codes(t, 8, n);
    tsr_call call = {};
    call.results = static_cast<uint8_t *>(codes.data());
    tsr_error error = {};
    for (int round = 0; round < 3; round++) {
      SCOPED_TRACE(round);
      ASSERT_EQ(tsr_insert(t, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
      expect_codes(codes.numbers(), keys_of_all);
      // the last round erases one half only, each of its keys twice
      ASSERT_EQ(tsr_erase(t, round < 2 ? n : n / 4, keys.data(), &call, &error), TSR_OK) << error.message;
      std::vector<uint64_t> erased = codes.numbers();
      erased.resize(round < 2 ? n : n / 4);
      if (guarded) {
        EXPECT_EQ((uint64_t)std::count(erased.begin(), erased.end(), (uint64_t)TSR_ERASED),
                  round < 2 ? keys_of_all : n / 4);
      }
    }
    ASSERT_EQ(tsr_insert(t, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
    expect_codes(codes.numbers(), n / 4);
  }
  Verdict verdict = judge(t, choice, offers, {});
  if (choice.duplicates == "add") verdict.wrong_values = 0; // some keys were offered twice as often
  expect_verdict(verdict);
}

TEST(Races, AfterErasing) {
  for (const Choice &choice : some_tables()) {
    SCOPED_TRACE(choice.name());
    race_after_erase(choice, device::backend() == "cpu" ? 1 << 15 : 1 << 20);
  }
}

#ifndef RACES_WITHOUT_GUARD
TEST(Small, RacesAfterErasing) {
  for (const Choice &choice : some_tables()) {
    SCOPED_TRACE(choice.name());
    race_after_erase(choice, 1600);
    race_of_streams(choice, 800);
  }
}
#endif

} // namespace
