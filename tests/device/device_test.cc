// SPDX-License-Identifier: Apache-2.0
//
// Right answers on a GPU: every two options of a table that the parts accept together, against the oracle of
// tests/oracle, and the same pairs as the cpu backend; the order of operations on two streams. Cases whose names start
// with Small are meant for compute-sanitizer. Runs on the cpu backend too (device.h).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "tests/device/device.h"
#include "tests/oracle/exercise.h"

namespace {

using choices::Choice;

std::string name_of(const testing::TestParamInfo<Choice> &info) { return info.param.name(); }

uint32_t policy_of(const Choice &choice) {
  for (uint32_t i = 0; i < choices::kPolicies.size(); i++)
    if (choice.duplicates == choices::kPolicies[i]) return i;
  return 0;
}

// A scheme that looks at every resident of a bucket needs more registers than there are where a lane holds 256 bytes of
// one. Such a table is refused when its kernels are linked, in a sentence that names the way out; it is no case here.
bool has_registers(const Choice &choice) {
  const uint32_t lane_bytes =
      choice.bucket_slots / choice.tile_lanes * 2 * std::max(choice.key_bits, choice.value_bits) / 8;
  return lane_bytes < 256 || choice.probing != "robin_hood";
}

// A covering set grows with the shapes, each of which meets every scheme and hasher. Where few cases are to be tried
// (tests/oracle/draw.h), half of the shapes are enough: every number of slots and of lanes is in one of them.
bool is_short() {
  const char *const seed = getenv("TSR_TEST_DRAW");
  return seed && *seed;
}

const std::vector<Choice> &tables() {
  static const std::vector<Choice> all = [] {
    choices::Options options = device::options();
    if (is_short()) options.shapes = {{1, 1}, {2, 2}, {4, 1}, {8, 4}, {16, 8}, {16, 16}, {32, 2}, {32, 32}};
    return choices::cover_pairs(options,
                                [](const Choice &choice) { return has_registers(choice) && device::accepts(choice); });
  }();
  return all;
}

// A few: every part and every number of lanes is among them.
std::vector<Choice> few_tables() {
  choices::Options options = device::options();
  options.shapes = {{1, 1}, {8, 2}, {16, 4}, {32, 32}};
  if (is_short())
    options.hashers = {"murmur3", "tabulation"}; // the oracle's cases have all
  else
    options.shapes.insert(options.shapes.end(), {{4, 1}, {8, 8}, {32, 16}});
  options.duplicates = {"first", "min", "keep"};
  options.statistics = {"yes"};
  options.stashes = {0};
  options.widths = {{32, 32}, {64, 64}, {32, 0}};
  return choices::cover_pairs(options, device::accepts);
}

// pool: distinct keys; 0: twice as many as slots.
std::string exercise(const Choice &choice, uint64_t capacity, uint64_t operations, uint64_t batch_max, bool overfill,
                     uint64_t pool = 0) {
  device::Table made = device::create(choice, capacity, 1, "", device::ALL_BUT_APPLY);
  if (!made) return "no table";
  tsr_table_info info = {};
  tsr_table_describe(made.get(), &info);
  if (info.backend != device::backend()) return std::string("the table is on backend ") + info.backend;
  tessera_test::Table table(made.release(), choice.key_bits, choice.value_bits);
  tessera_test::Random random(capacity + operations);
  tessera_test::Exercise::Options options;
  options.slots = info.slots + choice.stash;
  options.operations = operations;
  options.batch_max = batch_max;
  options.pool = pool;
  options.erases_pairs = choice.lists.empty();
  tessera_test::Exercise exercise(table, policy_of(choice), random, options);
  std::string complaint = exercise.run();
  return complaint.empty() && overfill ? exercise.overfill() : complaint;
}

class Oracle : public testing::TestWithParam<Choice> {};
TEST_P(Oracle, Agrees) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 1500, 50, 1500, true), "");
}
INSTANTIATE_TEST_SUITE_P(Covering, Oracle, testing::ValuesIn(tables()), name_of);

class Exact : public testing::TestWithParam<Choice> {};
TEST_P(Exact, Agrees) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 200, 25, 300, true), "");
}
INSTANTIATE_TEST_SUITE_P(Small, Exact, testing::ValuesIn(few_tables()), name_of);

// Tables of pages: the same, most batches page by page.
std::vector<Choice> paged_tables(const std::vector<std::string> &policies, const char *statistics) {
  choices::Options options = device::options();
  options.shapes = {{4, 1}, {8, 8}};
  if (!is_short()) options.shapes.insert(options.shapes.end(), {{1, 1}, {16, 4}});
  options.hashers = {"murmur3"};
  options.concurrencies = {"phased"};
  options.statistics = {statistics};
  if (!policies.empty()) options.duplicates = policies;
  options.stashes = {0, 8};
  options.widths = {{32, 32}, {64, 64}, {32, 0}};
  std::vector<Choice> chosen = choices::cover_pairs(options, [](const Choice &choice) {
    Choice paged = choice;
    paged.page_bytes = 16 << 10;
    return device::accepts(choice) && device::accepts(paged);
  });
  for (Choice &choice : chosen) choice.page_bytes = 16 << 10;
  return chosen;
}

// Where few cases are to be tried: enough that each option of each dimension is in one.
std::vector<Choice> each_option(const std::vector<Choice> &all) {
  std::vector<Choice> chosen;
  std::set<std::string> covered;
  for (const Choice &c : all) {
    const std::string options[] = {c.layout,
                                   c.probing,
                                   c.duplicates,
                                   std::to_string(c.bucket_slots) + " slots",
                                   std::to_string(c.stash) + " stash",
                                   std::to_string(c.key_bits) + " " + std::to_string(c.value_bits)};
    bool is_new = !is_short();
    for (const std::string &option : options) is_new |= covered.insert(option).second;
    if (is_new) chosen.push_back(c);
  }
  return chosen;
}

class Paged : public testing::TestWithParam<Choice> {};
TEST_P(Paged, Agrees) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 9000, device::backend() == "cpu" ? 10 : 25, 9000, true), "");
}
INSTANTIATE_TEST_SUITE_P(SmallAs, Paged, testing::ValuesIn(paged_tables({}, "yes")), name_of);
// Slots are given out by counting only where nothing is counted for statistics.
INSTANTIATE_TEST_SUITE_P(CountedAs, Paged, testing::ValuesIn(each_option(paged_tables({"promise_unique"}, "no"))),
                         name_of);

// Keys that hash to half of the pages: these get twice as many as pages of distinct keys are expected to.
TEST(CrowdedPages, GetAllTheirPairs) {
  const uint64_t capacity = 4200000, n = capacity / 2;
  for (uint32_t bits : {32u, 64u}) {
    const Choice choice = {"packed",
                           "linear",
                           "identity",
                           "promise_unique",
                           "phased",
                           "no",
                           4,
                           1,
                           bits,
                           bits,
                           device::sm(),
                           8,
                           bits == 32 ? 60u << 10 : 120u << 10};
    device::Table table = device::create(choice, capacity, 0.9);
    ASSERT_TRUE(table);
    std::vector<uint64_t> keys, values;
    for (uint64_t i = 0; keys.size() < n; i++) {
      const uint64_t key = device::key_of(i, 32);
      if (key >> 31) continue;
      keys.push_back(key << (bits - 32));
      values.push_back(i);
    }
    device::Array key_array(table.get(), bits, keys), value_array(table.get(), bits, values);
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(table.get(), keys.size(), key_array.data(), value_array.data(), nullptr, &error), TSR_OK)
        << error.message;
    std::vector<std::pair<uint64_t, uint64_t>> expected;
    for (size_t i = 0; i < keys.size(); i++) expected.emplace_back(keys[i], values[i]);
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(device::pairs_of(table.get()) == expected);
  }
}

// Batches of so few keys that each of them is hot, into tables with room for all and for few of them.
class Repeated : public testing::TestWithParam<Choice> {
protected:
  const uint64_t batch_max_ = device::backend() == "cpu" ? 2000 : 20000;
};
TEST_P(Repeated, Agrees) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 9000, 12, batch_max_, false, 40), "");
}
TEST_P(Repeated, AgreesWithoutRoom) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 150, 12, batch_max_, false, 400), "");
}
INSTANTIATE_TEST_SUITE_P(SmallAs, Repeated,
                         testing::ValuesIn(each_option(paged_tables({"first", "replace", "add", "min", "max"}, "no"))),
                         name_of);

TEST(Covering, HoldsEveryPartOnThisDevice) {
  EXPECT_GT(tables().size(), 60u);
  for (const std::string &layout : choices::plugins_of("layout"))
    EXPECT_TRUE(std::any_of(tables().begin(), tables().end(), [&](const Choice &c) { return c.layout == layout; }))
        << layout;
  for (const std::string &probing : choices::plugins_of("probing"))
    EXPECT_TRUE(std::any_of(tables().begin(), tables().end(), [&](const Choice &c) { return c.probing == probing; }))
        << probing;
}

// ---- Both backends ------------------------------------------------------------------------------

void insert_all(tsr_table *table, const Choice &choice, const std::vector<uint64_t> &keys,
                const std::vector<uint64_t> &values) {
  device::Array key_array(table, choice.key_bits, keys), value_array(table, choice.value_bits, values);
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table, keys.size(), key_array.data(), value_array.data(), nullptr, &error), TSR_OK)
      << error.message;
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  ASSERT_EQ(report.not_placed, 0u) << "the test's load factor is too high, or its stash too small";
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;

// What a table of these pairs holds, sorted, when the batch of distinct keys is followed by one that offers `again`.
Pairs pairs_after(const Choice &choice, const std::vector<uint64_t> &keys, const std::vector<uint64_t> &values,
                  const std::vector<uint64_t> &again, const std::vector<uint64_t> &offers) {
  const uint64_t mask = choice.value_bits ? tessera_test::width_mask(choice.value_bits) : 0;
  std::map<uint64_t, uint64_t> model;
  for (size_t i = 0; i < keys.size(); i++) model[keys[i]] = values[i] & mask;
  for (size_t i = 0; i < again.size(); i++) {
    uint64_t &value = model[again[i]], offer = offers[i] & mask;
    value = choice.duplicates == "add"   ? (value + offer) & mask
            : choice.duplicates == "min" ? std::min(value, offer)
                                         : std::max(value, offer);
  }
  return Pairs(model.begin(), model.end());
}

// A batch of distinct keys, and then, if the policy commutes, one with doubles. Every pair finds room, or the backends
// would choose which ones do not: so there is a stash, for schemes with few buckets for a key, and a bucket has 4
// slots. The cpu backend, which is there everywhere, and this test's, if that is another, must hold what a model holds.
void expect_same_pairs(Choice choice, uint64_t n) {
  choice.stash = 1024;
  choice.bucket_slots = std::max(choice.bucket_slots, 4u);
  const bool commutes = choice.duplicates == "add" || choice.duplicates == "min" || choice.duplicates == "max";
  const uint64_t mask = tessera_test::width_mask(choice.value_bits);
  std::vector<uint64_t> keys, values;
  for (uint64_t i = 0; i < n; i++) {
    keys.push_back(i < 4 ? tessera_test::awkward_numbers(choice.key_bits)[i] : device::key_of(i, choice.key_bits));
    values.push_back(device::key_of(i + 77, 64) & mask);
  }
  std::vector<uint64_t> half, reversed;
  if (commutes) {
    half.assign(keys.begin(), keys.begin() + (long)n / 2);
    half.insert(half.end(), half.begin(), half.end());
    reversed.assign(values.rbegin(), values.rend());
    reversed.resize(half.size());
  }
  const Pairs expected = pairs_after(choice, keys, values, half, reversed);
  ASSERT_EQ(expected.size(), n);
  for (const std::string &on : std::set<std::string>{"cpu", device::backend()}) {
    SCOPED_TRACE(on);
    device::Table table = device::create(choice, n, 0.25, on == device::backend() ? "" : on, device::INSERT_AND_EXPORT);
    ASSERT_TRUE(table);
    tsr_table_info info = {};
    tsr_table_describe(table.get(), &info);
    ASSERT_EQ(info.backend, on);
    ASSERT_NO_FATAL_FAILURE(insert_all(table.get(), choice, keys, values));
    if (commutes) {
      ASSERT_NO_FATAL_FAILURE(insert_all(table.get(), choice, half, reversed));
    }
    const Pairs held = device::pairs_of(table.get());
    EXPECT_EQ(held.size(), n);
    EXPECT_TRUE(held == expected);
  }
}

class Backends : public testing::TestWithParam<Choice> {};
TEST_P(Backends, HoldTheSamePairs) { expect_same_pairs(GetParam(), device::backend() == "cpu" ? 3000 : 30000); }
INSTANTIATE_TEST_SUITE_P(Few, Backends, testing::ValuesIn(few_tables()), name_of);
INSTANTIATE_TEST_SUITE_P(Add, Backends, testing::ValuesIn([] {
                           std::vector<Choice> adding = few_tables(), kept;
                           std::set<std::string> names;
                           for (Choice &choice : adding) {
                             choice.duplicates = "add";
                             if (choice.value_bits && device::accepts(choice) && names.insert(choice.name()).second)
                               kept.push_back(choice);
                           }
                           return kept;
                         }()),
                         name_of);

// Page by page, where nobody wants answers: items of one key are made one, and few pages shared by all blocks.
INSTANTIATE_TEST_SUITE_P(Paged, Backends, testing::ValuesIn(each_option(paged_tables({"add", "min", "max"}, "no"))),
                         name_of);

// ---- Two streams --------------------------------------------------------------------------------

// Each step works on what the step before left, on the other stream, and the host waits for nothing.
void expect_order(const Choice &choice, uint64_t n) {
  device::Table table = device::create(choice, n, 0.8);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> numbers, expected;
  for (uint64_t i = 0; i < n; i++) {
    numbers.push_back(device::key_of(i, choice.key_bits));
    expected.push_back(i & tessera_test::width_mask(choice.value_bits));
  }
  {
    device::Streams streams;
    device::Array keys(t, choice.key_bits, numbers), values(t, choice.value_bits, expected);
    device::Array found(t, choice.value_bits, n), erased(t, 8, n), before(t, 8, n), after(t, 8, n), again(t, 8, n);
    auto at = [](device::Array *array) { return static_cast<uint8_t *>(array->data()); };
    tsr_error error = {};
    tsr_call one = {}, two = {};
    one.stream = streams.one;
    two.stream = streams.two;
    auto done = [&error](tsr_status status) { EXPECT_EQ(status, TSR_OK) << error.message; };
    done(tsr_insert(t, n, keys.data(), values.data(), &one, &error));
    done(tsr_contains(t, n, keys.data(), at(&before), &two, &error));
    if (choice.value_bits) done(tsr_find(t, n, keys.data(), found.data(), &two, &error));
    one.results = at(&erased);
    done(tsr_erase(t, n, keys.data(), &one, &error));
    one.results = nullptr;
    done(tsr_contains(t, n, keys.data(), at(&after), &two, &error));
    done(tsr_insert(t, n, keys.data(), values.data(), &one, &error));
    done(tsr_contains(t, n, keys.data(), at(&again), &two, &error));
    done(tsr_clear(t, streams.one, &error));
    done(tsr_insert(t, n / 2, keys.data(), values.data(), &two, &error));
    done(tsr_table_wait(t, &error));
    EXPECT_EQ(before.numbers(), std::vector<uint64_t>(n, 1));
    EXPECT_EQ(after.numbers(), std::vector<uint64_t>(n, 0));
    EXPECT_EQ(again.numbers(), std::vector<uint64_t>(n, 1));
    EXPECT_EQ(erased.numbers(), std::vector<uint64_t>(n, TSR_ERASED));
    if (choice.value_bits) {
      EXPECT_EQ(found.numbers(), expected);
    }
    EXPECT_EQ(device::pairs_of(t).size(), n / 2);
  }
}

Choice plain(const char *layout, const char *probing, uint32_t slots, uint32_t lanes, const char *policy) {
  return {layout, probing, "murmur3", policy, "phased", "no", slots, lanes, 32, 32, device::sm(), 0};
}

TEST(TwoStreams, AreOrderedByTheTable) {
  uint64_t n = device::backend() == "cpu" ? 200000 : 4 << 20;
  expect_order(plain("packed", "cuckoo", 4, 1, "promise_unique"), n);
  expect_order(plain("packed", "cuckoo", 8, 4, "first"), n);
  expect_order(plain("soa", "double_hashing", 8, 8, "replace"), n);
}
TEST(Small, TwoStreamsAreOrdered) { expect_order(plain("packed", "cuckoo", 4, 1, "first"), 1500); }

// ---- Multimaps ----------------------------------------------------------------------------------

// `pairs` pairs of each key, then every value of every key and of as many absent ones, by another stream and without a
// wait: where each key's values are is summed over all keys, in as many levels as that takes.
void expect_all_values(const Choice &choice, uint64_t distinct, uint64_t pairs) {
  const uint64_t n = distinct * pairs, mask = tessera_test::width_mask(choice.value_bits);
  device::Table table = device::create(choice, n, 0.7);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> inserted, offered, asked;
  for (uint64_t i = 0; i < n; i++) {
    inserted.push_back(device::key_of(i % distinct, choice.key_bits));
    offered.push_back(i & mask);
  }
  for (uint64_t i = 0; i < 2 * distinct; i++) asked.push_back(device::key_of(i, choice.key_bits));
  {
    device::Streams streams;
    device::Array keys(t, choice.key_bits, inserted), values(t, choice.value_bits, offered);
    device::Array queries(t, choice.key_bits, asked), offsets(t, 64, 2 * distinct + 1), found(t, choice.value_bits, n);
    device::Array counts(t, 64, 2 * distinct), codes(t, 8, 2 * distinct), recounted(t, 8, 2 * distinct);
    tsr_error error = {};
    tsr_call one = {}, two = {};
    one.stream = streams.one;
    two.stream = streams.two;
    auto done = [&error](tsr_status status) { ASSERT_EQ(status, TSR_OK) << error.message; };
    done(tsr_insert(t, n, keys.data(), values.data(), &one, &error));
    two.results = static_cast<uint8_t *>(codes.data());
    done(tsr_find_all(t, 2 * distinct, queries.data(), static_cast<uint64_t *>(offsets.data()), n, found.data(), &two,
                      &error));
    two.results = static_cast<uint8_t *>(recounted.data());
    done(tsr_erase_pairs(t, n / 2, keys.data(), values.data(), &one, &error));
    done(tsr_count_all(t, 2 * distinct, queries.data(), static_cast<uint64_t *>(counts.data()), &two, &error));
    done(tsr_table_wait(t, &error));
    std::vector<uint64_t> places = offsets.numbers(), all = found.numbers(), left = counts.numbers();
    std::vector<uint64_t> answered = codes.numbers();
    EXPECT_EQ(places[0], 0u);
    uint64_t wrong = 0, sum = 0;
    for (uint64_t i = 0; i < 2 * distinct; i++) {
      const uint64_t expected = i < distinct ? pairs : 0;
      wrong += places[i + 1] - places[i] != expected || answered[i] != (expected ? TSR_FOUND : TSR_MISSING);
      if (places[i + 1] - places[i] != expected || places[i + 1] > n) continue;
      std::sort(all.begin() + (long)places[i], all.begin() + (long)places[i + 1]);
      for (uint64_t j = 0; j < expected; j++) wrong += all[places[i] + j] != ((i + j * distinct) & mask);
      sum += left[i];
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(sum, n - n / 2);
    tsr_report report = {};
    ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.erased, n / 2);
    EXPECT_EQ(device::pairs_of(t).size(), n - n / 2);
  }
}

Choice multimap(const char *layout, uint32_t slots, uint32_t lanes, uint32_t bits) {
  return {layout, "double_hashing", "murmur3", "keep", "phased", "no", slots, lanes, bits, bits, device::sm(), 0};
}

TEST(Multimaps, ShowEveryValue) {
  const bool is_cpu = device::backend() == "cpu";
  expect_all_values(multimap("packed", 4, 1, 32), is_cpu ? 20000 : 3 << 20, 1); // sums in three levels
  expect_all_values(multimap("aos", 8, 8, 32), is_cpu ? 5000 : 1 << 18, 8);
  expect_all_values(multimap("aos", 8, 1, 64), is_cpu ? 5000 : 1 << 18, 7);
  expect_all_values(multimap("soa", 16, 4, 64), is_cpu ? 500 : 1 << 15, 60);
  expect_all_values(multimap("soa", 32, 32, 32), is_cpu ? 500 : 1 << 15, 33);
}
TEST(Small, MultimapsShowEveryValue) {
  expect_all_values(multimap("aos", 8, 2, 32), 300, 5);
  expect_all_values(multimap("packed", 4, 1, 32), 1024, 1); // 2048 counts and the sum: one more than a tile holds
  expect_all_values(multimap("soa", 16, 16, 64), 40, 20);
}

// ---- Values in buckets --------------------------------------------------------------------------

Choice lists(const char *layout, const char *probing, uint32_t slots, uint32_t lanes, uint32_t bits,
             const char *allocator) {
  Choice choice = multimap(layout, slots, lanes, bits);
  choice.probing = probing;
  choice.lists = allocator;
  return choice;
}

std::vector<Choice> list_tables() {
  return {lists("soa", "double_hashing", 8, 8, 32, "bump"),   lists("soa", "linear", 8, 1, 64, "bump"),
          lists("packed", "quadratic", 4, 4, 32, "slab"),     lists("aos", "two_choice", 16, 4, 64, "slab_light"),
          lists("soa", "iceberg", 16, 16, 32, "free_list"),   lists("packed", "linear", 1, 1, 32, "free_list"),
          lists("soa", "double_hashing", 32, 32, 64, "bump"), lists("aos", "double_hashing", 4, 2, 32, "bump")};
}

// Twice n pairs, in two calls: of `distinct` keys, every second pair of the first one if `is_skewed`. Then all values of
// each key, by the oracle of arithmetic; then no key is left, and no unit that could have come back.
void expect_lists(const Choice &choice, uint64_t n, uint64_t distinct, bool is_skewed) {
  SCOPED_TRACE(distinct);
  device::Table table = device::create(choice, 4 * n, 0.7);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  const uint64_t mask = tessera_test::width_mask(choice.value_bits);
  std::vector<uint64_t> numbers, offered, asked;
  std::vector<std::vector<uint64_t>> expected(distinct + 1);
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = is_skewed && i % 2 ? 0 : i % distinct;
    numbers.push_back(device::key_of(key, choice.key_bits));
    offered.push_back(i * 0x9E3779B1u & mask);
    for (int call = 0; call < 2; call++) expected[key].push_back(offered.back());
  }
  for (uint64_t i = 0; i <= distinct; i++) asked.push_back(device::key_of(i, choice.key_bits)); // the last is absent
  {
    device::Array keys(t, choice.key_bits, numbers), values(t, choice.value_bits, offered);
    device::Array queries(t, choice.key_bits, asked), offsets(t, 64, distinct + 2), found(t, choice.value_bits, 2 * n);
    device::Array codes(t, 8, n);
    tsr_error error = {};
    tsr_call call = {};
    auto done = [&error](tsr_status status) { ASSERT_EQ(status, TSR_OK) << error.message; };
    call.results = static_cast<uint8_t *>(codes.data());
    for (int i = 0; i < 2; i++) done(tsr_insert(t, n, keys.data(), values.data(), i ? &call : nullptr, &error));
    EXPECT_EQ(codes.numbers(), std::vector<uint64_t>(n, TSR_INSERTED));
    done(tsr_find_all(t, distinct + 1, queries.data(), static_cast<uint64_t *>(offsets.data()), 2 * n, found.data(),
                      nullptr, &error));
    std::vector<uint64_t> places = offsets.numbers(), all = found.numbers();
    uint64_t wrong = 0;
    for (uint64_t i = 0; i <= distinct; i++) {
      std::sort(expected[i].begin(), expected[i].end());
      if (places[i + 1] - places[i] == expected[i].size() && places[i + 1] <= 2 * n) {
        std::sort(all.begin() + (long)places[i], all.begin() + (long)places[i + 1]);
        wrong += !std::equal(expected[i].begin(), expected[i].end(), all.begin() + (long)places[i]);
      } else {
        wrong++;
      }
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(device::pairs_of(t).size(), 2 * n);
    done(tsr_erase(t, n, keys.data(), nullptr, &error)); // every key by many at a time
    tsr_usage usage = {};
    usage.size = sizeof usage;
    done(tsr_table_usage(t, &usage, &error));
    EXPECT_EQ(usage.pairs + usage.keys + usage.units, 0u);
    tsr_report report = {};
    done(tsr_table_report(t, &report, &error));
    EXPECT_EQ(report.inserted, 2 * n);
    EXPECT_EQ(report.erased, 2 * n);
    EXPECT_EQ(report.not_placed, 0u);
  }
}

class Lists : public testing::TestWithParam<Choice> {};
TEST_P(Lists, AgreeWithTheOracle) {
  TSR_TRACE_SEED;
  EXPECT_EQ(exercise(GetParam(), 1500, 40, 1500, false), "");
}
TEST_P(Lists, HoldWhatRacesForThem) {
  const uint64_t n = device::backend() == "cpu" ? 6000 : 1 << 19;
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}, n / 64, n}) expect_lists(GetParam(), n, distinct, false);
  expect_lists(GetParam(), n, n / 16, true);
}
INSTANTIATE_TEST_SUITE_P(Each, Lists, testing::ValuesIn(list_tables()), name_of);
TEST(Small, ListsHoldWhatRacesForThem) {
  expect_lists(list_tables()[0], 900, 30, true);
  expect_lists(list_tables()[1], 900, 1, false);
}

// Lists that are made in bulk. A third of the pairs is one key's, and an eighth another's, so that their pages have more
// items than a block works on alone; no number of items fills the last warp. The reserved key is in no list.
void expect_bulk_lists(uint32_t bits) {
  SCOPED_TRACE(bits);
  const uint64_t n = device::backend() == "cpu" ? 20003 : 1000003;
  Choice choice = multimap("packed", 1, 1, bits);
  choice.probing = "hashgraph";
  device::Table table = device::create(choice, n, 1);
  ASSERT_TRUE(table);
  std::vector<uint64_t> numbers, offered;
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = i % 3 == 0 ? 5 : i % 8 == 1 ? 6 : 7 + i;
    numbers.push_back(i == 7 ? tessera_test::width_mask(bits) : device::key_of(key, bits));
    offered.push_back(i);
    pairs.emplace_back(numbers.back(), i);
  }
  std::sort(pairs.begin(), pairs.end());
  device::Array keys(table.get(), bits, numbers), values(table.get(), bits, offered), codes(table.get(), 8, n);
  tsr_error error = {};
  tsr_call call = {};
  call.results = static_cast<uint8_t *>(codes.data());
  ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
  EXPECT_EQ(codes.numbers(), std::vector<uint64_t>(n, TSR_INSERTED));
  EXPECT_TRUE(device::pairs_of(table.get()) == pairs);
}
TEST(Bulk, ListsOfKeysThatHaveMostPairs) {
  for (uint32_t bits : {32u, 64u}) expect_bulk_lists(bits);
}

// ---- Graphs -------------------------------------------------------------------------------------

// A graph of an insert and a find is launched a hundred times with other keys, and between two launches its keys are erased.
void expect_replays(const Choice &choice, uint64_t n) {
  device::Table table = device::create(choice, 2 * n, 0.8);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < n; i++) expected.push_back(i * 3 & tessera_test::width_mask(choice.value_bits));
  {
    device::Streams streams;
    device::Array keys(t, choice.key_bits, n), values(t, choice.value_bits, expected);
    device::Array found(t, choice.value_bits, n), codes(t, 8, n);
    tsr_error error = {};
    tsr_call inserts = {}, other = {};
    inserts.stream = other.stream = streams.one;
    inserts.results = static_cast<uint8_t *>(codes.data());
    ASSERT_EQ(tsr_table_prepare(t, TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_ERASE, &error), TSR_OK)
        << error.message;
    device::Graph graph(streams.one, [&] {
      EXPECT_EQ(tsr_insert(t, n, keys.data(), values.data(), &inserts, &error), TSR_OK) << error.message;
      EXPECT_EQ(tsr_find(t, n, keys.data(), found.data(), &other, &error), TSR_OK) << error.message;
    });
    uint64_t size = 1;
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    ASSERT_EQ(size, 0u) << "it was not only recorded";
    std::vector<uint64_t> numbers(n);
    const uint64_t replays = device::backend() == "cpu" ? 10 : 100; // there, the calls are made anew
    for (uint64_t replay = 0; replay < replays && !testing::Test::HasFailure(); replay++) {
      SCOPED_TRACE(replay);
      for (uint64_t i = 0; i < n; i++) numbers[i] = device::key_of(i + replay * n / 2, choice.key_bits);
      device::Array these(t, choice.key_bits, numbers);
      ASSERT_EQ(tsr_memory_copy(t, keys.data(), these.data(), n * choice.key_bits / 8, &error), TSR_OK);
      ASSERT_NO_FATAL_FAILURE(graph.launch());
      EXPECT_EQ(found.numbers(), expected);
      EXPECT_EQ(codes.numbers(), std::vector<uint64_t>(n, TSR_INSERTED));
      ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
      EXPECT_EQ(size, n);
      ASSERT_EQ(tsr_erase(t, n, keys.data(), &other, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
    }
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, 0u);
  }
}

TEST(Graphs, AreReplayedWithErasesBetween) {
  const uint64_t n = device::backend() == "cpu" ? 500 : 20000;
  expect_replays(plain("packed", "cuckoo", 4, 1, "promise_unique"), n);
  expect_replays(plain("packed", "cuckoo", 8, 4, "first"), n);
  expect_replays(plain("packed", "cuckoo", 8, 4, "add"), n);
  expect_replays(plain("soa", "double_hashing", 8, 8, "replace"), n);
  expect_replays(multimap("aos", 8, 8, 32), n);
  expect_replays(lists("soa", "double_hashing", 8, 8, 32, "slab"), n);
}
TEST(Small, GraphsAreReplayed) { expect_replays(lists("soa", "linear", 8, 2, 32, "slab"), 300); }

// Calls between launches clean the table of erased slots, and the graph goes on working on the same memory.
TEST(Graphs, AreReplayedOnTablesThatAreCleaned) {
  const uint64_t n = device::backend() == "cpu" ? 500 : 20000;
  device::Table table = device::create(plain("packed", "double_hashing", 4, 1, "first"), 2 * n, 0.8);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> numbers(n), expected(n);
  for (uint64_t i = 0; i < n; i++) expected[i] = i * 3;
  device::Streams streams;
  device::Array keys(t, 32, n), values(t, 32, expected), found(t, 32, n);
  tsr_error error = {};
  tsr_call call = {};
  call.stream = streams.one;
  ASSERT_EQ(tsr_table_prepare(t, TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_ERASE, &error), TSR_OK)
      << error.message;
  device::Graph graph(streams.one, [&] {
    EXPECT_EQ(tsr_erase(t, n, keys.data(), &call, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_insert(t, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_find(t, n, keys.data(), found.data(), &call, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_erase(t, n, keys.data(), &call, &error), TSR_OK) << error.message;
  });
  for (uint64_t round = 0; round < 20 && !testing::Test::HasFailure(); round++) {
    SCOPED_TRACE(round);
    for (uint64_t i = 0; i < n; i++) numbers[i] = device::key_of(i + 2 * round * n, 32);
    device::Array these(t, 32, numbers);
    ASSERT_EQ(tsr_memory_copy(t, keys.data(), these.data(), n * 4, &error), TSR_OK);
    ASSERT_NO_FATAL_FAILURE(graph.launch());
    EXPECT_EQ(found.numbers(), expected);
    for (uint64_t i = 0; i < n; i++) numbers[i] = device::key_of(i + (2 * round + 1) * n, 32);
    device::Array others(t, 32, numbers);
    ASSERT_EQ(tsr_insert(t, n, others.data(), values.data(), &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_find(t, n, others.data(), found.data(), &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
    EXPECT_EQ(found.numbers(), expected);
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, n);
    ASSERT_EQ(tsr_erase(t, n, others.data(), &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
  }
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
  EXPECT_GT(report.cleanings, 0u);
}

TEST(Graphs, OfTablesWhoseLargeFindsAreSortedByZones) {
  const uint64_t n = device::backend() == "cpu" ? 500 : 20000;
  Choice choice = plain("packed", "cuckoo", 4, 1, "promise_unique");
  choice.page_bytes = 16 << 10;
  expect_replays(choice, n);
}

// ---- Zones --------------------------------------------------------------------------------------

// What is asked of a table: keys that are there and that are not, some of them twice, and reserved ones.
struct Asked {
  std::vector<uint64_t> keys, values, present; // of absent keys the value is kMissing
  uint64_t found = 0;
};
constexpr uint64_t kMissing = 0x5EEDu;

Asked ask(const std::map<uint64_t, uint64_t> &model, uint64_t n, uint64_t held, uint32_t key_bits, uint64_t seed) {
  tessera_test::Random random(seed);
  const uint64_t last = tessera_test::width_mask(key_bits);
  Asked asked;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = i % 50 == 7 ? last - i % 3 : device::key_of(random.below(2 * held), key_bits);
    const auto at = model.find(key);
    asked.keys.push_back(key);
    asked.present.push_back(at != model.end());
    asked.values.push_back(at != model.end() ? at->second : kMissing);
    asked.found += at != model.end();
  }
  return asked;
}

// Finds and erases of a table of `held` pairs, in batches that fill tiles and that do not.
void expect_zones(Choice choice, uint64_t held, const std::vector<uint64_t> &sizes) {
  SCOPED_TRACE(choice.name());
  choice.page_bytes = 16 << 10;
  device::Table table = device::create(choice, held, 0.7);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  const uint32_t bits = choice.key_bits, value_bits = choice.value_bits;
  std::map<uint64_t, uint64_t> model;
  std::vector<uint64_t> keys, values;
  for (uint64_t i = 0; i < held; i++) {
    keys.push_back(i == 5 ? tessera_test::width_mask(bits) : device::key_of(i, bits));
    values.push_back(i * 3);
    model[keys[i]] = values[i];
  }
  ASSERT_NO_FATAL_FAILURE(insert_all(t, choice, keys, values));
  tsr_report report = {};
  tsr_error error = {};
  uint64_t zoned = 0;
  for (uint64_t n : sizes) {
    SCOPED_TRACE(n);
    const Asked asked = ask(model, n, held, bits, n);
    device::Array these(t, bits, asked.keys), found(t, value_bits, n), codes(t, 8, n), present(t, 8, n);
    tsr_call call = {};
    call.missing = kMissing;
    for (bool has_results : {false, true}) {
      call.results = has_results ? static_cast<uint8_t *>(codes.data()) : nullptr;
      ASSERT_EQ(tsr_find(t, n, these.data(), found.data(), &call, &error), TSR_OK) << error.message;
      EXPECT_EQ(found.numbers(), asked.values);
    }
    std::vector<uint64_t> expected;
    for (uint64_t is : asked.present) expected.push_back(is ? TSR_FOUND : TSR_MISSING);
    EXPECT_EQ(codes.numbers(), expected);
    ASSERT_EQ(tsr_contains(t, n, these.data(), static_cast<uint8_t *>(present.data()), nullptr, &error), TSR_OK);
    EXPECT_EQ(present.numbers(), asked.present);
    device::Array counts(t, 64, n);
    ASSERT_EQ(tsr_count_all(t, n, these.data(), static_cast<uint64_t *>(counts.data()), nullptr, &error), TSR_OK);
    EXPECT_EQ(counts.numbers(), asked.present);
    ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.zoned, zoned += 4 * (n < 100 ? 0 : n));
    EXPECT_EQ(report.find_keys - report.found, (n - asked.found) * 4) << "counted once";
    ASSERT_EQ(tsr_table_report_reset(t, &error), TSR_OK);
    zoned = 0;
  }
  // Erases: each distinct key that is there once, whatever the results are.
  const Asked gone = ask(model, held, held, bits, 1);
  device::Array these(t, bits, gone.keys);
  ASSERT_EQ(tsr_erase(t, held, these.data(), nullptr, &error), TSR_OK) << error.message;
  for (uint64_t key : gone.keys) model.erase(key);
  std::vector<std::pair<uint64_t, uint64_t>> expected(model.begin(), model.end());
  EXPECT_TRUE(device::pairs_of(t) == expected);
}

const std::vector<uint64_t> kZoneSizes = {1, 100, 8191, 8192, 8193, 3 * 8192 + 5};

TEST(Zones, AnswerEveryKey) {
  const uint64_t held = device::backend() == "cpu" ? 9000 : 300000;
  std::vector<uint64_t> sizes = kZoneSizes;
  if (device::backend() != "cpu") sizes.push_back(1000003);
  for (uint32_t bits : {32u, 64u}) {
    Choice choice = plain("packed", "cuckoo", 4, 1, "promise_unique");
    choice.key_bits = choice.value_bits = bits;
    expect_zones(choice, held, sizes);
    choice = plain("quotient", "cuckoo", 8, 1, "promise_unique");
    choice.key_bits = choice.value_bits = bits;
    expect_zones(choice, held, sizes);
    choice = plain("soa", "double_hashing", 8, 4, "first");
    choice.key_bits = choice.value_bits = bits;
    choice.filter = 8;
    expect_zones(choice, held, sizes);
  }
}
TEST(Small, ZonesAnswerEveryKey) {
  expect_zones(plain("packed", "cuckoo", 4, 1, "promise_unique"), 5000, {1, 100, 8193});
}

// ---- Values of value_bytes ----------------------------------------------------------------------

struct Wide {
  const char *kind, *layout, *probing, *more; // more: further lines of [table]
  uint32_t bucket_slots, tile_lanes, value_bytes, policy;
};

const Wide long_rows = {"map", "soa", "double_hashing", "", 8, 8, 256, TSR_DUPLICATES_REPLACE};
const Wide wide_tables[] = {
    {"map", "packed", "cuckoo", "", 4, 1, 64, TSR_DUPLICATES_FIRST},
    {"map", "packed", "cuckoo", "page_bytes = 16Ki\nfind_batch = 1\n", 4, 1, 16, TSR_DUPLICATES_FIRST},
    {"map", "packed", "cuckoo", "growth = double\n", 8, 4, 20, TSR_DUPLICATES_REPLACE},
    long_rows,
    {"map", "aos", "linear", "growth = double\n", 4, 4, 24, TSR_DUPLICATES_FIRST},
    {"multimap", "packed", "double_hashing", "", 8, 8, 48, TSR_DUPLICATES_KEEP},
};

device::Table make_wide(const Wide &w, uint64_t capacity) {
  std::string text = std::string("[table]\nkey_bits = 32\nhasher = murmur3\nkind = ") + w.kind +
                     "\nlayout = " + w.layout + "\nprobing = " + w.probing +
                     "\nvalue_bytes = " + std::to_string(w.value_bytes) + "\nbackend = " + device::backend() +
                     "\ncapacity = " + std::to_string(capacity) + "\n" + w.more;
  if (w.policy == TSR_DUPLICATES_REPLACE) text += "duplicates = replace\n";
  text += "[layout]\nbucket_slots = " + std::to_string(w.bucket_slots) +
          "\ntile_lanes = " + std::to_string(w.tile_lanes) + "\n";
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  device::Table table;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "wide.ini", &spec, &error), TSR_OK) << error.message;
  if (spec) table = device::create(spec, options);
  tsr_spec_free(spec);
  return table;
}

std::string exercise_wide(const Wide &w, uint64_t capacity, uint64_t operations, uint64_t batch_max) {
  device::Table made = make_wide(w, capacity);
  if (!made) return "no table";
  tsr_table_info info = {};
  tsr_table_describe(made.get(), &info);
  tessera_test::Table table(made.release(), 32, 64, 8 * w.value_bytes);
  tessera_test::Random random(capacity + w.value_bytes);
  tessera_test::Exercise::Options options;
  options.slots = info.slots;
  options.operations = operations;
  options.batch_max = batch_max;
  options.erases_pairs = false;
  return tessera_test::Exercise(table, w.policy, random, options).run();
}

TEST(WideValues, AgreeWithTheOracle) {
  TSR_TRACE_SEED;
  for (const Wide &w : wide_tables) EXPECT_EQ(exercise_wide(w, 4000, 20, 4000), "") << w.layout << w.value_bytes;
}
TEST(Small, WideValuesAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  for (const Wide &w : wide_tables) EXPECT_EQ(exercise_wide(w, 200, 20, 300), "") << w.layout << w.value_bytes;
}

// Rows are written after the slots, and finds of another stream wait for both: each row is whole and of the last insert.
TEST(TwoStreams, SeeWholeRows) {
  const uint64_t n = device::backend() == "cpu" ? 3000 : 1 << 18, words = long_rows.value_bytes / 8;
  device::Table table = make_wide(long_rows, n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 2 * n; i++) numbers.push_back(device::key_of(i % n, 32)); // each key twice in a batch
  {
    device::Streams streams;
    device::Array keys(t, 32, numbers), values(t, 64, 2 * n * words), found(t, 64, n * words);
    tsr_error error = {};
    tsr_call one = {}, two = {};
    one.stream = streams.one;
    two.stream = streams.two;
    for (uint64_t round = 0; round < 4; round++) {
      std::vector<uint64_t> rows(2 * n * words);
      for (uint64_t i = 0; i < rows.size(); i++) rows[i] = round << 40 | i / words;
      ASSERT_EQ(tsr_memory_copy(t, values.data(), rows.data(), rows.size() * 8, &error), TSR_OK);
      ASSERT_EQ(tsr_insert(t, 2 * n, keys.data(), values.data(), &one, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_find(t, n, keys.data(), found.data(), &two, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
      const std::vector<uint64_t> got = found.numbers();
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < n; i++) {
        const uint64_t row = got[i * words], item = row & ((1ull << 40) - 1);
        bool is_whole = row >> 40 == round && item % n == i;
        for (uint64_t word = 1; word < words; word++) is_whole = is_whole && got[i * words + word] == row;
        wrong += !is_whole;
      }
      EXPECT_EQ(wrong, 0u) << round;
    }
  }
}

// ---- More streams -------------------------------------------------------------------------------

// More streams than the table keeps account of.
TEST(TwoStreams, AndManyMore) {
  Choice choice = plain("packed", "cuckoo", 8, 1, "first");
  uint64_t n = 20000, batches = 24;
  device::Table table = device::create(choice, n * batches, 0.8);
  ASSERT_TRUE(table);
  std::vector<std::unique_ptr<device::Streams>> streams;
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < n * batches; i++) numbers.push_back(device::key_of(i, 32));
  {
    device::Array keys(table.get(), 32, numbers), present(table.get(), 8, n * batches);
    tsr_error error = {};
    for (uint64_t i = 0; i < batches; i++) {
      if (i % 2 == 0) streams.push_back(std::make_unique<device::Streams>());
      tsr_call call = {};
      call.stream = i % 2 ? streams.back()->two : streams.back()->one;
      void *from = static_cast<char *>(keys.data()) + 4 * i * n;
      ASSERT_EQ(tsr_insert(table.get(), n, from, from, &call, &error), TSR_OK) << error.message;
    }
    tsr_call call = {};
    call.stream = streams[0]->one;
    ASSERT_EQ(
        tsr_contains(table.get(), n * batches, keys.data(), static_cast<uint8_t *>(present.data()), &call, &error),
        TSR_OK);
    ASSERT_EQ(tsr_table_wait(table.get(), &error), TSR_OK) << error.message;
    EXPECT_EQ(present.numbers(), std::vector<uint64_t>(n * batches, 1));
  }
}

// ---- Addresses ----------------------------------------------------------------------------------

// Arrays on the device where no word of a key begins, of tables that grow, combine and stay as they are.
TEST(Small, ArraysAtAnyAddress) {
  for (const char *policy : {"first", "add"})
    for (const char *growth : {"double", "none"}) {
      const uint64_t n = 5000;
      choices::Entries entries;
      for (const auto &[key, value] : std::map<std::string, std::string>{{"backend", device::backend()},
                                                                         {"layout", "soa"},
                                                                         {"probing", "double_hashing"},
                                                                         {"hasher", "murmur3"},
                                                                         {"duplicates", policy},
                                                                         {"growth", growth}})
        entries.set("table", key, value);
      entries.set_widths(64, 64);
      tsr_options options = {};
      options.plugins = choices::plugin_folders().c_str();
      options.capacity = strcmp(growth, "none") == 0 ? n : 100;
      device::Table table = device::create(entries.parse().get(), options);
      ASSERT_TRUE(table);
      std::vector<uint64_t> pairs{0};
      for (uint64_t i = 0; i < 2 * n; i++) pairs.push_back(device::key_of(i, 64));
      std::vector<uint64_t> apart(pairs.size() + 1); // four bytes further on
      memcpy(reinterpret_cast<char *>(apart.data()) + 4, pairs.data(), pairs.size() * 8);
      tsr_error error = {};
      device::Array all(table.get(), 64, apart), out(table.get(), 64, 2 * n + 4);
      char *const keys = static_cast<char *>(all.data()) + 12, *const values = keys + 8 * n;
      char *const to = static_cast<char *>(out.data()) + 12;
      ASSERT_EQ(tsr_insert(table.get(), n, keys, values, nullptr, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_find(table.get(), n, keys, to, nullptr, &error), TSR_OK) << error.message;
      std::vector<uint64_t> got(n), exported(2 * n);
      ASSERT_EQ(tsr_memory_copy(table.get(), got.data(), to, n * 8, &error), TSR_OK) << error.message;
      EXPECT_EQ(got, std::vector<uint64_t>(pairs.begin() + 1 + n, pairs.end())) << policy << growth;
      uint64_t size = 0;
      ASSERT_EQ(tsr_export(table.get(), n, to, to + 8 * n, &size, &error), TSR_OK) << error.message;
      ASSERT_EQ(size, n);
      ASSERT_EQ(tsr_memory_copy(table.get(), exported.data(), to, 2 * n * 8, &error), TSR_OK) << error.message;
      std::map<uint64_t, uint64_t> expected, had;
      for (uint64_t i = 0; i < n; i++) {
        expected[pairs[1 + i]] = pairs[1 + n + i];
        had[exported[i]] = exported[n + i];
      }
      EXPECT_EQ(had, expected) << policy << growth;
    }
}

} // namespace
