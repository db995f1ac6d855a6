// SPDX-License-Identifier: Apache-2.0
//
// Large batches whose keys repeat, mostly into tables without pages: what is combined before it is inserted (core/kernels/
// spans.cuh) amounts to what each item alone would have, and is counted alike. Runs on the cpu backend too (device.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "tests/device/device.h"
#include "tests/oracle/exercise.h"

namespace {

using choices::Choice;

// The batch is no multiple of a block's items, and large enough to be combined first.
uint64_t items() { return device::backend() == "cpu" ? 5777 : (1u << 20) + 777; }

Choice plain(const std::string &layout, const std::string &probing, const std::string &policy, uint32_t key_bits,
             uint32_t value_bits) {
  Choice choice = {};
  choice.layout = layout;
  choice.probing = probing;
  choice.hasher = "murmur3";
  choice.duplicates = policy;
  choice.concurrency = "phased";
  choice.statistics = "no";
  choice.bucket_slots = layout == "slab" ? 16 : 8;
  choice.tile_lanes = layout == "slab" ? 4 : 1;
  choice.key_bits = key_bits;
  choice.value_bits = value_bits;
  choice.sm = device::sm();
  return choice;
}

Choice with(Choice choice, const std::string &what) {
  if (what == "statistics") choice.statistics = "yes";
  if (what == "filter") choice.filter = 8;
  if (what == "pages") choice.page_bytes = 16 << 10;
  if (what == "growth") choice.grows_to = uint64_t{1} << 40;
  return choice;
}

// The numbers of the keys of n items.
struct Drawn {
  const char *name;
  uint64_t (*number)(uint64_t i, uint64_t n, uint64_t random);
};

// Ranks below n with a probability that is proportional to 1 / rank.
uint64_t zipf(uint64_t, uint64_t n, uint64_t random) {
  return static_cast<uint64_t>(std::pow(static_cast<double>(n), std::ldexp(static_cast<double>(random >> 11), -53)));
}

void PrintTo(const Drawn &drawn, std::ostream *out) { *out << drawn.name; }

const Drawn kDrawn[] = {
    {"distinct", [](uint64_t i, uint64_t, uint64_t) { return i; }},
    {"equal", [](uint64_t, uint64_t, uint64_t) { return uint64_t(7); }},
    {"zipf", zipf},
    {"64_each", [](uint64_t, uint64_t n, uint64_t random) { return random % (n / 64); }},
    {"4096_each", [](uint64_t, uint64_t n, uint64_t random) { return random % (n / 4096 + 1); }},
    {"in_runs", [](uint64_t i, uint64_t, uint64_t) { return i / 100; }},
    {"half_of_them_equal", [](uint64_t i, uint64_t n, uint64_t) { return i < n / 2 ? i : n; }},
    {"and_reserved_ones",
     [](uint64_t, uint64_t n, uint64_t random) { return random % 3 ? random % (n / 50) : n + random % 4; }},
};

using Batch = std::vector<uint64_t>;

uint64_t key_of(const Choice &choice, uint64_t number) {
  return number < items() ? device::key_of(number, choice.key_bits)
                          : tessera_test::awkward_numbers(choice.key_bits)[number % 4];
}

Batch keys_of(const Choice &choice, const Drawn &drawn) {
  Batch keys;
  for (uint64_t i = 0; i < items(); i++)
    keys.push_back(key_of(choice, drawn.number(i, items(), device::key_of(i + 99, 64))));
  return keys;
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

// What these pairs, in any order, amount to.
Pairs combined(const Choice &choice, Pairs offers) {
  const uint64_t mask = tessera_test::width_mask(choice.value_bits);
  Pairs pairs;
  std::sort(offers.begin(), offers.end());
  for (const auto &[key, offer] : offers) {
    if (pairs.empty() || pairs.back().first != key) {
      pairs.push_back({key, offer});
      continue;
    }
    uint64_t &value = pairs.back().second;
    value = choice.duplicates == "add"   ? (value + offer) & mask
            : choice.duplicates == "min" ? std::min(value, offer)
                                         : std::max(value, offer);
  }
  return pairs;
}

// How often sums of the offers pass the largest value, in whatever order they are made.
uint64_t overflows_of(const Choice &choice, const Pairs &offers) {
  std::unordered_map<uint64_t, unsigned __int128> sums;
  uint64_t overflows = 0;
  if (choice.duplicates != "add") return 0;
  for (const auto &[key, offer] : offers) sums[key] += offer;
  for (const auto &[key, sum] : sums) overflows += static_cast<uint64_t>(sum >> choice.value_bits);
  return overflows;
}

tsr_report insert(tsr_table *table, const Choice &choice, const Batch &keys, const Batch &values) {
  device::Array key_array(table, choice.key_bits, keys), value_array(table, choice.value_bits, values);
  tsr_report report = {};
  report.size = sizeof report;
  tsr_error error = {};
  EXPECT_EQ(tsr_insert(table, keys.size(), key_array.data(), value_array.data(), nullptr, &error), TSR_OK)
      << error.message;
  EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  return report;
}

class Repeats : public testing::TestWithParam<std::tuple<Choice, Drawn>> {
protected:
  const Choice &choice_ = std::get<0>(GetParam());
  const Drawn &drawn_ = std::get<1>(GetParam());
};

// Two batches, so that the second one's keys are present.
TEST_P(Repeats, AreCombined) {
  const uint64_t mask = tessera_test::width_mask(choice_.value_bits);
  const Batch keys = keys_of(choice_, drawn_);
  Pairs offers;
  device::Table table = device::create(choice_, items(), 0.5, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  uint64_t inserted = 0, overflows = 0;
  for (uint64_t batch = 0; batch < 2; batch++) {
    Batch values;
    for (uint64_t i = 0; i < items(); i++) values.push_back(device::key_of(i + batch * 1000, 64) & mask);
    for (uint64_t i = 0; i < items(); i++) offers.push_back({keys[i], values[i]});
    const tsr_report report = insert(table.get(), choice_, keys, values);
    EXPECT_EQ(report.not_placed, 0u);
    EXPECT_EQ(report.insert_keys, (batch + 1) * items());
    inserted = report.inserted;
    overflows = report.overflows;
  }
  EXPECT_EQ(overflows, overflows_of(choice_, offers));
  const Pairs expected = combined(choice_, std::move(offers)), held = device::pairs_of(table.get());
  EXPECT_EQ(inserted, expected.size());
  ASSERT_EQ(held.size(), expected.size());
  EXPECT_TRUE(held == expected);
}

// Any value that a batch offers for a key may win; here all of them are one, which the next batch replaces.
class Replaced : public Repeats {};

TEST_P(Replaced, HaveTheValueOfTheLastBatch) {
  const uint64_t mask = tessera_test::width_mask(choice_.value_bits);
  const Batch keys = keys_of(choice_, drawn_);
  device::Table table = device::create(choice_, items(), 0.5, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  Pairs expected;
  for (uint64_t key : keys) expected.push_back({key, (key * 3 + 1) & mask});
  std::sort(expected.begin(), expected.end());
  expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
  for (uint64_t batch = 0; batch < 2; batch++) {
    Batch values;
    for (uint64_t key : keys) values.push_back((key * 3 + batch) & mask);
    const tsr_report report = insert(table.get(), choice_, keys, values);
    EXPECT_EQ(report.not_placed, 0u);
    EXPECT_EQ(report.inserted, expected.size());
  }
  EXPECT_TRUE(device::pairs_of(table.get()) == expected);
}

// As AreCombined, into a table made for a small share of the keys, which grows, and so full that pairs come back.
class Growing : public Repeats {};

TEST_P(Growing, AreCombined) {
  const Batch keys = keys_of(choice_, drawn_);
  Pairs offers;
  for (uint64_t i = 0; i < items(); i++) offers.insert(offers.end(), 2, {keys[i], i & 0xFFFFFF});
  Batch values;
  for (uint64_t i = 0; i < items(); i++) values.push_back(i & 0xFFFFFF);
  device::Table table = device::create(choice_, items() / 50, 0.95, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  insert(table.get(), choice_, keys, values);
  const tsr_report report = insert(table.get(), choice_, keys, values);
  const Pairs expected = combined(choice_, std::move(offers)), held = device::pairs_of(table.get());
  EXPECT_EQ(report.not_placed, 0u);
  EXPECT_EQ(report.insert_keys, 2 * items());
  EXPECT_EQ(report.inserted, expected.size());
  EXPECT_TRUE(held == expected);
}

// Growth ends at once: each item that is in no pair of the table was counted.
class Limited : public Repeats {};

TEST_P(Limited, CountsItemsWithoutAPlace) {
  Choice choice = choice_;
  choice.grows_to = items() / 4096 + 8;
  device::Table table = device::create(choice, choice.grows_to, 1, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  const tsr_report report = insert(table.get(), choice, keys_of(choice, drawn_), Batch(items(), 1));
  const Pairs pairs = device::pairs_of(table.get());
  uint64_t sum = 0;
  for (const auto &pair : pairs) sum += pair.second;
  EXPECT_EQ(report.inserted, pairs.size());
  EXPECT_EQ(sum + report.not_placed, items());
}

// Of tables that add, whose sums tell, where pairs stay, because who finds no place in others tries for long, and may be full.
class Overfull : public Repeats {};

// Each item that is in no pair of the table was counted.
TEST_P(Overfull, CountsItemsWithoutAPlace) {
  device::Table table = device::create(choice_, items() / 4096 + 8, 1, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  const tsr_report report = insert(table.get(), choice_, keys_of(choice_, drawn_), Batch(items(), 1));
  const Pairs pairs = device::pairs_of(table.get());
  uint64_t sum = 0;
  for (const auto &pair : pairs) sum += pair.second;
  EXPECT_EQ(report.inserted, pairs.size());
  EXPECT_EQ(sum + report.not_placed, items());
}

// What each item of an insert is told.
struct Answers {
  Batch codes, unplaced_keys, unplaced_values;
};

// asks_values: otherwise what found no place comes back as keys alone.
Answers insert_and_ask(tsr_table *table, const Choice &choice, const Batch &keys, const Batch &values,
                       bool asks_values = true) {
  device::Array key_array(table, choice.key_bits, keys), value_array(table, choice.value_bits, values);
  device::Array codes(table, 8, Batch(keys.size(), 99)), back(table, choice.key_bits, keys.size()),
      back_values(table, choice.value_bits, keys.size());
  tsr_call call = {};
  call.size = sizeof call;
  call.results = static_cast<uint8_t *>(codes.data());
  call.unplaced_keys = back.data();
  call.unplaced_values = asks_values ? back_values.data() : nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_insert(table, keys.size(), key_array.data(), value_array.data(), &call, &error), TSR_OK)
      << error.message;
  return {codes.numbers(), back.numbers(), back_values.numbers()};
}

// What the items of a batch offer.
Batch values_of(const Choice &choice, uint64_t batch) {
  Batch values;
  for (uint64_t i = 0; i < items(); i++)
    values.push_back(device::key_of(i + batch * 1000, 64) & tessera_test::width_mask(choice.value_bits));
  return values;
}

Batch different(Batch keys) {
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

class Told : public Repeats {};

// Of the items of a new key one has inserted it, and the others met it.
TEST_P(Told, WhichOfThemWasFirst) {
  const Batch keys = keys_of(choice_, drawn_);
  const bool keeps = choice_.duplicates == "first";
  const uint64_t met = keeps ? TSR_PRESENT : choice_.duplicates == "replace" ? TSR_REPLACED : TSR_COMBINED;
  device::Table table = device::create(choice_, items(), 0.5, "", device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  Pairs offers, firsts; // firsts: what those that have inserted a key offered
  Batch inserted;
  for (uint64_t batch = 0; batch < 2; batch++) {
    const Batch values = values_of(choice_, batch);
    for (uint64_t i = 0; i < items(); i++) offers.push_back({keys[i], values[i]});
    const Answers told = insert_and_ask(table.get(), choice_, keys, values);
    for (uint64_t i = 0; i < items(); i++) {
      ASSERT_TRUE(told.codes[i] == met || told.codes[i] == TSR_INSERTED) << told.codes[i] << " of item " << i;
      if (told.codes[i] != TSR_INSERTED) continue;
      inserted.push_back(keys[i]);
      if (keeps) firsts.push_back({keys[i], values[i]});
    }
    std::sort(inserted.begin(), inserted.end());
    EXPECT_TRUE(inserted == different(keys));
  }
  std::sort(firsts.begin(), firsts.end());
  EXPECT_TRUE(!keeps || device::pairs_of(table.get()) == firsts);
  if (keeps || choice_.duplicates == "replace") return;
  EXPECT_TRUE(device::pairs_of(table.get()) == combined(choice_, std::move(offers)));
}

// Of tables that add: what they have, and what they hand back, amounts to what was offered.
class ToldOverfull : public Repeats {};

void told_what_found_no_place(const Choice &choice, const Batch &keys, const Batch &values, bool asks_values) {
  const bool moves = choice.probing == "cuckoo"; // who finds no place in others walks for long, unless there are few
  const uint64_t distinct = different(keys).size();
  device::Table table = device::create(choice, moves ? distinct - distinct / 64 : keys.size() / 4096 + 8, 1, "",
                                       device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  const Answers told = insert_and_ask(table.get(), choice, keys, values, asks_values);
  Pairs offers, kept = device::pairs_of(table.get());
  const uint64_t pairs = kept.size();
  uint64_t inserted = 0, unplaced = 0;
  for (uint64_t i = 0; i < keys.size(); i++) {
    offers.push_back({keys[i], values[i]});
    inserted += told.codes[i] == TSR_INSERTED;
    if (told.codes[i] != TSR_NOT_PLACED) continue;
    kept.push_back({told.unplaced_keys[i], told.unplaced_values[i]});
    unplaced++;
    ASSERT_TRUE(moves || told.unplaced_keys[i] == keys[i]) << "item " << i;
    ASSERT_TRUE(moves || !asks_values || told.unplaced_values[i] == values[i]) << "item " << i;
  }
  tsr_report report = {};
  report.size = sizeof report;
  EXPECT_EQ(tsr_table_report(table.get(), &report, nullptr), TSR_OK);
  EXPECT_EQ(report.not_placed, unplaced);
  EXPECT_EQ(report.inserted, inserted);
  EXPECT_TRUE(moves || inserted == pairs);
  EXPECT_TRUE(!asks_values || combined(choice, std::move(kept)) == combined(choice, std::move(offers)));
}

// Distinct keys, twice as many as there is room for: who found no place gets its own key back, and its value if asked for.
class ToldByHalf : public Repeats {};

TEST_P(ToldByHalf, WhatFoundNoPlace) {
  const Batch keys = keys_of(choice_, drawn_), values = values_of(choice_, 0);
  for (bool asks_values : {true, false}) {
    device::Table table = device::create(choice_, items() / 2, 1, "", device::INSERT_AND_EXPORT);
    ASSERT_TRUE(table);
    const Answers told = insert_and_ask(table.get(), choice_, keys, values, asks_values);
    uint64_t unplaced = 0;
    for (uint64_t i = 0; i < items(); i++) {
      if (told.codes[i] != TSR_NOT_PLACED) continue;
      unplaced++;
      ASSERT_EQ(told.unplaced_keys[i], keys[i]) << "item " << i;
      ASSERT_TRUE(!asks_values || told.unplaced_values[i] == values[i]) << "item " << i;
    }
    EXPECT_GT(unplaced, items() / 4);
    EXPECT_EQ(device::pairs_of(table.get()).size(), items() - unplaced);
  }
}

// A pair that has moved may come to be in hand again when others have added to it, which is rare: so pairs move many times.
TEST_P(ToldOverfull, WhatFoundNoPlace) {
  const Batch keys = keys_of(choice_, drawn_);
  for (uint64_t batch = 0; batch < (choice_.probing == "cuckoo" ? 8 : 2) && !HasFailure(); batch++)
    told_what_found_no_place(choice_, keys, values_of(choice_, batch), batch % 2 == 0);
}

// On a GPU, `auto` puts batches of this size in order unless a sample on the device shows that many keys repeat. If the stream
// is busy, the host does not wait for what the sample says.
class Judged : public testing::TestWithParam<std::tuple<std::string, bool, bool, Drawn>> {};

TEST_P(Judged, HaveEachKeyOnce) {
  const auto &[policy, asks, is_busy, drawn] = GetParam();
  const uint64_t n = device::backend() == "cpu" ? 5777 : (9u << 20) + 777;
  choices::Entries entries = with(plain("packed", "double_hashing", policy, 32, 32), "pages").entries();
  entries.set("table", "page_batch", "auto");
  entries.set("table", "backend", device::backend());
  entries.set("table", "load_factor", "0.5");
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  options.capacity = n;
  device::Table table = device::create(entries.parse().get(), options, false, device::INSERT_AND_EXPORT);
  ASSERT_TRUE(table);
  Batch keys, values;
  for (uint64_t i = 0; i < n; i++) keys.push_back(device::key_of(drawn.number(i, n, device::key_of(i + 99, 64)), 32));
  for (uint64_t key : keys) values.push_back(key * 3 & 0xFFFFFFFF);
  Pairs expected;
  for (uint64_t key : different(keys)) expected.push_back({key, key * 3 & 0xFFFFFFFF});
  device::Array key_array(table.get(), 32, keys), value_array(table.get(), 32, values), found(table.get(), 32, n),
      codes(table.get(), 8, Batch(n, 99));
  tsr_call call = {};
  call.size = sizeof call;
  if (asks) call.results = static_cast<uint8_t *>(codes.data());
  for (int i = 0; is_busy && i < 32; i++) /* milliseconds of work */
    ASSERT_EQ(tsr_find(table.get(), n, key_array.data(), found.data(), nullptr, nullptr), TSR_OK);
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table.get(), n, key_array.data(), value_array.data(), &call, &error), TSR_OK) << error.message;
  tsr_report report = {};
  report.size = sizeof report;
  EXPECT_EQ(tsr_table_report(table.get(), &report, &error), TSR_OK) << error.message;
  EXPECT_EQ(report.inserted, expected.size());
  if (asks) {
    const Batch told = codes.numbers();
    const auto inserted = std::count(told.begin(), told.end(), uint64_t{TSR_INSERTED});
    const auto met = std::count(told.begin(), told.end(), uint64_t{policy == "first" ? TSR_PRESENT : TSR_REPLACED});
    EXPECT_EQ(static_cast<uint64_t>(inserted), expected.size());
    EXPECT_EQ(static_cast<uint64_t>(inserted + met), n);
  }
  EXPECT_TRUE(device::pairs_of(table.get()) == expected);
}

std::string judged_name(const testing::TestParamInfo<std::tuple<std::string, bool, bool, Drawn>> &info) {
  const auto &[policy, asks, is_busy, drawn] = info.param;
  return policy + (asks ? "_told_" : "_") + (is_busy ? "busy_" : "") + drawn.name;
}

INSTANTIATE_TEST_SUITE_P(Large, Judged,
                         testing::Combine(testing::Values("first", "replace"), testing::Bool(), testing::Values(false),
                                          testing::Values(kDrawn[0], kDrawn[2], kDrawn[3])),
                         judged_name);
INSTANTIATE_TEST_SUITE_P(Busy, Judged,
                         testing::Combine(testing::Values("first"), testing::Bool(), testing::Values(true),
                                          testing::Values(kDrawn[0], kDrawn[2])),
                         judged_name);

std::string name_of(const testing::TestParamInfo<std::tuple<Choice, Drawn>> &info) {
  return std::get<0>(info.param).name() + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    Large, Repeats,
    testing::Combine(testing::Values(plain("packed", "cuckoo", "add", 32, 32), plain("packed", "cuckoo", "min", 64, 64),
                                     plain("packed", "robin_hood", "add", 32, 32),
                                     plain("packed", "robin_hood", "max", 64, 64),
                                     plain("packed", "linear", "add", 64, 64),
                                     plain("packed", "double_hashing", "add", 64, 32),
                                     plain("slab", "slab_list", "add", 32, 32), plain("soa", "linear", "add", 32, 32),
                                     plain("aos", "double_hashing", "max", 32, 64),
                                     with(plain("packed", "cuckoo", "add", 32, 32), "statistics"),
                                     with(plain("packed", "linear", "min", 32, 32), "filter")),
                     testing::ValuesIn(kDrawn)),
    name_of);
INSTANTIATE_TEST_SUITE_P(Large, Replaced,
                         testing::Combine(testing::Values(plain("packed", "cuckoo", "replace", 32, 32),
                                                          plain("packed", "linear", "replace", 64, 64),
                                                          plain("soa", "double_hashing", "replace", 64, 32),
                                                          plain("slab", "slab_list", "replace", 32, 32)),
                                          testing::ValuesIn(kDrawn)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, Growing,
                         testing::Combine(testing::Values(with(plain("packed", "cuckoo", "add", 32, 32), "growth"),
                                                          with(plain("packed", "two_choice", "add", 32, 32), "growth"),
                                                          with(plain("soa", "linear", "max", 64, 32), "growth")),
                                          testing::ValuesIn(kDrawn)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, Limited,
                         testing::Combine(testing::Values(with(plain("packed", "linear", "add", 64, 64), "growth")),
                                          testing::ValuesIn(kDrawn)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, Overfull,
                         testing::Combine(testing::Values(plain("packed", "linear", "add", 64, 64),
                                                          plain("packed", "double_hashing", "add", 64, 32)),
                                          testing::ValuesIn(kDrawn)),
                         name_of);
const Drawn kFew[] = {kDrawn[0], kDrawn[2], kDrawn[6], kDrawn[7]};

INSTANTIATE_TEST_SUITE_P(Large, Told,
                         testing::Combine(testing::Values(plain("packed", "linear", "add", 64, 64),
                                                          plain("packed", "cuckoo", "add", 32, 32),
                                                          plain("packed", "robin_hood", "first", 64, 64),
                                                          plain("soa", "double_hashing", "min", 64, 32),
                                                          plain("aos", "two_choice", "replace", 32, 32),
                                                          plain("slab", "slab_list", "add", 32, 32),
                                                          with(plain("packed", "cuckoo", "max", 32, 32), "statistics"),
                                                          with(plain("aos", "linear", "first", 32, 32), "filter")),
                                          testing::ValuesIn(kFew)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, ToldByHalf,
                         testing::Combine(testing::Values(with(plain("soa", "two_choice", "first", 64, 64), "pages"),
                                                          with(plain("packed", "linear", "first", 32, 32), "pages"),
                                                          with(plain("aos", "quadratic", "first", 32, 64), "pages"),
                                                          plain("soa", "two_choice", "first", 64, 64)),
                                          testing::Values(kDrawn[0])),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Large, ToldOverfull,
                         testing::Combine(testing::Values(plain("packed", "linear", "add", 64, 64),
                                                          plain("packed", "cuckoo", "add", 32, 32)),
                                          testing::ValuesIn(kDrawn)),
                         name_of);

} // namespace
