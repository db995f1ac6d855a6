// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness at length: for every scheme, on every layout that takes it, more than 10^8 operations race on a GPU, in
// schedules made to break it: hot keys among evictions, inserts of one batch on two streams, inserts past erased slots
// (the duplicate of cuCollections #606). After each launch the table is asked in ways that tell every double and every
// loss: its size against the number of distinct keys, and each of these keys by find. races_test.cc judges values too,
// on fewer operations. On the cpu backend: 10^6 operations.
// Linked with the library whose guard is compiled out, RACES_WITHOUT_GUARD, doubles must show.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "tests/device/device.h"

namespace {

using choices::Choice;

#ifdef RACES_WITHOUT_GUARD
constexpr bool guarded = false;
#else
constexpr bool guarded = true;
#endif

struct Scale {
  uint64_t keys;   // distinct ones
  uint64_t offers; // of one launch
  uint64_t rounds;
};

// Without the guard a table may fill up with doubles, and then each insert walks through all of it.
Scale scale() {
  if (device::backend() == "cpu" || !guarded) return {1 << 14, 1 << 16, 3};
  return {1 << 22, 1 << 24, 2};
}

// Which key the i-th offer has. Each pattern holds every key at least once.
enum Pattern { FOUR_TIMES_FAR_APART, FOUR_TIMES_IN_A_WARP, HOT_KEYS, PATTERNS };

uint64_t number_at(Pattern pattern, uint64_t i, const Scale &s) {
  switch (pattern) {
  case FOUR_TIMES_FAR_APART:
    return i % s.keys;
  case FOUR_TIMES_IN_A_WARP:
    return i / 4;
  default: // a hundred keys, again and again, beside those that fill the table and evict them
    return i % 4 == 0 ? i / 4 : device::key_of(i, 64) % 100;
  }
}

class Race {
public:
  Race(const Choice &choice, double load)
      : scale_(scale()), table_(device::create(choice, (uint64_t)((double)scale_.keys / load), 1.0, "",
                                               TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_CONTAINS |
                                                   TSR_PREPARE_ERASE | TSR_PREPARE_SIZE)) {
    std::vector<uint64_t> all;
    for (uint64_t i = 0; i < scale_.keys; i++) all.push_back(key(i));
    tsr_table *t = table_.get();
    if (!t) return;
    keys_ = std::make_unique<device::Array>(t, 32, all);
    values_ = std::make_unique<device::Array>(t, 32, std::vector<uint64_t>(scale_.offers, 7));
    present_ = std::make_unique<device::Array>(t, 8, scale_.keys);
    for (uint32_t pattern = 0; pattern < PATTERNS; pattern++) {
      std::vector<uint64_t> offers;
      for (uint64_t i = 0; i < scale_.offers; i++) offers.push_back(key(number_at((Pattern)pattern, i, scale_)));
      offers_[pattern] = std::make_unique<device::Array>(t, 32, offers);
    }
  }

  // Everything, in turn; returns the number of operations. Without the guard it ends at the first double.
  uint64_t run() {
    for (uint64_t round = 0; round < scale_.rounds && table_; round++)
      for (uint32_t p = 0; p < PATTERNS && goes_on(); p++) {
        SCOPED_TRACE(::testing::Message() << "round " << round << ", pattern " << p);
        check(tsr_clear(table_.get(), nullptr, &error_));
        insert((Pattern)p, true);
        erase_half();
        insert((Pattern)p, false); // past erased slots, and into them
        erase_half();
        insert((Pattern)((p + 1) % PATTERNS), true);
      }
    return operations_;
  }

  uint64_t doubles() const { return doubles_; }

private:
  static uint64_t key(uint64_t number) { return number < 2 ? 0xFFFFFFFFu - number : device::key_of(number, 32); }
  bool goes_on() const { return guarded ? !::testing::Test::HasFailure() : doubles_ == 0; }
  void check(tsr_status status) { ASSERT_EQ(status, TSR_OK) << error_.message; }

  // All offers, in one launch or in two that overlap.
  void insert(Pattern pattern, bool on_two_streams) {
    if (!goes_on()) return;
    const uint32_t *offers = static_cast<const uint32_t *>(offers_[pattern]->data());
    const uint32_t *values = static_cast<const uint32_t *>(values_->data());
    uint64_t half = scale_.offers / 2;
    tsr_call one = {}, two = {};
    if (on_two_streams) {
      one.stream = streams_.one;
      two.stream = streams_.two;
      check(tsr_insert(table_.get(), half, offers, values, &one, &error_));
      check(tsr_insert(table_.get(), half, offers + half, values + half, &two, &error_));
    } else {
      check(tsr_insert(table_.get(), scale_.offers, offers, values, nullptr, &error_));
    }
    operations_ += scale_.offers;
    expect_all_once();
  }

  // One half of the keys, each four times.
  void erase_half() {
    if (!goes_on()) return;
    uint64_t n = scale_.keys / 2, before = 0, after = 0;
    check(tsr_size(table_.get(), &before, &error_));
    for (int i = 0; i < 4; i++) {
      tsr_call call = {};
      call.stream = i % 2 ? streams_.one : streams_.two;
      check(tsr_erase(table_.get(), n, keys_->data(), &call, &error_));
      operations_ += n;
    }
    check(tsr_size(table_.get(), &after, &error_));
    if (guarded) {
      EXPECT_EQ(before - after, n);
    }
  }

  void expect_all_once() {
    uint64_t size = 0;
    check(tsr_size(table_.get(), &size, &error_));
    check(tsr_contains(table_.get(), scale_.keys, keys_->data(), static_cast<uint8_t *>(present_->data()), nullptr,
                       &error_));
    std::vector<uint64_t> present = present_->numbers();
    uint64_t found = (uint64_t)std::count(present.begin(), present.end(), 1u);
    operations_ += scale_.keys;
    doubles_ += size > found ? size - found : 0;
    if (!guarded) return;
    EXPECT_EQ(found, scale_.keys) << scale_.keys - found << " keys are lost";
    EXPECT_EQ(size, scale_.keys) << size - scale_.keys << " entries too many";
  }

  Scale scale_;
  device::Table table_;
  device::Streams streams_;
  std::unique_ptr<device::Array> keys_, values_, present_;
  std::array<std::unique_ptr<device::Array>, PATTERNS> offers_;
  tsr_error error_ = {};
  uint64_t operations_ = 0, doubles_ = 0;
};

// ---- Every scheme -------------------------------------------------------------------------------

// On each layout; bucket shapes and policies take turns.
std::vector<Choice> tables() {
  const uint32_t shapes[][2] = {{16, 4}, {16, 16}, {16, 1}, {32, 8}}; // in which every scheme reaches this load
  const char *const policies[] = {"first", "replace", "min"};
  std::vector<Choice> all;
  uint32_t turn = 0;
  for (const std::string &probing : choices::plugins_of("probing"))
    for (const std::string &layout : choices::plugins_of("layout"))
      for (const char *concurrency : {"phased", "mixed"}) {
        Choice choice = {layout,      probing, "murmur3",           policies[turn % 3],
                         concurrency, "no",    shapes[turn % 4][0], shapes[turn % 4][1],
                         32,          32,      device::sm(),        64};
        if (!device::accepts(choice)) continue;
        all.push_back(choice);
        turn++;
      }
  return all;
}

std::string name_of(const testing::TestParamInfo<Choice> &info) { return info.param.name(); }

uint64_t doubles_in_all = 0;

class Endurance : public testing::TestWithParam<Choice> {};

TEST_P(Endurance, EveryKeyOnce) {
  Race race(GetParam(), 0.8);
  uint64_t operations = race.run();
  doubles_in_all += race.doubles();
  std::cout << operations << " operations raced\n";
  if (guarded && !HasFailure()) {
    EXPECT_GE(operations, device::backend() == "cpu" ? 1000000u : 100000000u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Endurance, testing::ValuesIn(tables()), name_of);

// Without the guard one scheme or another may be lucky, but not all of them.
class DoublesShow : public testing::Environment {
  void TearDown() override {
    if (guarded) return;
    std::cout << doubles_in_all << " doubles without the guard\n";
    EXPECT_GT(doubles_in_all, 0u) << "without its guard the table is unique too: these races test nothing";
  }
};
const testing::Environment *const doubles_show = testing::AddGlobalTestEnvironment(new DoublesShow);

} // namespace
