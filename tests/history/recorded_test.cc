// SPDX-License-Identifier: Apache-2.0
//
// tsr_apply is linearizable: what its items answer is checked, for all parts that agree to concurrency = mixed, over
// and over, on so few keys that the items of a batch meet on each. On the backend under test (tests/device/device.h).
#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "plugins/table.h"
#include "tests/device/device.h"
#include "tests/history/record.h"

namespace tessera_test {
namespace {

using choices::Choice;

class Applied : public Recordable {
public:
  Applied(const Choice &choice, uint64_t capacity, double load_factor)
      : choice_(choice),
        table_(device::create(choice, capacity, load_factor, "", TSR_PREPARE_APPLY | TSR_PREPARE_EXPORT)) {}

  bool exists() const { return table_ != nullptr; }

  std::string apply(History *items) override {
    const size_t n = items->size();
    std::vector<uint64_t> asked, named, offered;
    for (const Operation &operation : *items) {
      asked.push_back(operation.asks);
      named.push_back(operation.key);
      offered.push_back(operation.offered);
    }
    tsr_table *table = table_.get();
    device::Array operations(table, 8, asked), keys(table, choice_.key_bits, named);
    device::Array values(table, choice_.value_bits, offered), values_out(table, choice_.value_bits, n);
    device::Array results(table, 8, n), times(table, 64, 2 * n);
    tsr_call call = {};
    call.results = static_cast<uint8_t *>(results.data());
    call.times = static_cast<uint64_t *>(times.data());
    call.missing = MISSING;
    tsr_error error = {};
    if (tsr_apply(table, n, static_cast<const uint8_t *>(operations.data()), keys.data(), values.data(),
                  values_out.data(), &call, &error) ||
        tsr_table_wait(table, &error))
      return error.message;
    const std::vector<uint64_t> codes = results.numbers(), seen = values_out.numbers(), moments = times.numbers();
    for (size_t i = 0; i < n; i++) {
      Operation &operation = (*items)[i];
      operation.result = static_cast<uint8_t>(codes[i]);
      operation.seen = seen[i];
      operation.begin = moments[2 * i];
      operation.end = moments[2 * i + 1];
      if (operation.result == TSR_MISSING && operation.asks == TSR_OP_FIND && choice_.value_bits && seen[i] != MISSING)
        return "the value of an absent key is " + std::to_string(seen[i]) + ", not what the call says";
    }
    return "";
  }

  std::string contents(Contents *contents) override {
    contents->clear();
    for (const auto &[key, value] : device::pairs_of(table_.get()))
      if (!contents->insert({key, value}).second) return "key " + std::to_string(key) + " is in the table twice";
    return "";
  }

private:
  enum : uint64_t { MISSING = 0x5A5A5A5A };

  Choice choice_;
  device::Table table_;
};

uint32_t policy_of(const Choice &choice) {
  uint32_t policy = 0;
  while (choices::kPolicies[policy] != choice.duplicates) policy++;
  return policy;
}

// Covers all pairs of options, but of the hashers one is enough, and of the shapes a few.
std::vector<Choice> tables() {
  choices::Options options = device::options();
  options.hashers = {"murmur3"};
  options.shapes = {{1, 1}, {4, 2}, {8, 8}, {32, 4}};
  options.concurrencies = {"mixed"};
  options.duplicates = {"first", "replace", "add", "min", "max"};
  options.statistics = {"no"};
  options.stashes = {0, 8};
  std::vector<Choice> covering = choices::cover_pairs(options, device::accepts), chosen;
  for (size_t i = 0; i < covering.size(); i += sanitized ? 4 : 1) chosen.push_back(covering[i]);
  for (const char *layout : {"packed", "aos", "tagged"})
    for (const char *probing : {"linear", "double_hashing", "two_choice"})
      for (const std::array<uint32_t, 2> shape : {std::array<uint32_t, 2>{4, 1}, std::array<uint32_t, 2>{8, 4}}) {
        const Choice wide = {layout,   probing,  "murmur3", "first", "mixed",      "no",
                             shape[0], shape[1], 128,       0,       device::sm(), 0};
        if (device::accepts(wide)) chosen.push_back(wide);
      }
  return chosen;
}

std::string name_of(const testing::TestParamInfo<Choice> &info) { return info.param.name(); }

Records all_records;

class Recorded : public testing::TestWithParam<Choice> {
protected:
  void record_on(uint64_t capacity, Load load) {
    Applied table(GetParam(), capacity, 1.0);
    ASSERT_TRUE(table.exists());
    const Rules rules = {policy_of(GetParam()), GetParam().value_bits};
    if (rules.policy == TSR_DUPLICATES_ADD && device::backend() != "cpu") load.items /= 4; // sums are hard to explain
    Random random(load.keys);
    Records records = record(&table, GetParam().key_bits, rules, load, &random);
    EXPECT_TRUE(records.complaint.empty()) << records.complaint << load.keys << " keys, capacity " << capacity;
    all_records += records;
  }
};

TEST_P(Recorded, IsLinearizable) {
  TSR_TRACE_SEED;
  if (device::backend() == "cpu") { // its threads take some thousand items a turn
    record_on(200, {1, 6144, 1, 1});
    record_on(200, {5, 8192, 1, 1});
    record_on(200, {64, 4096, 2, 1});
    record_on(16, {64, 6144, 1, 1}); // not all keys have room
  } else {                           // all items of a key at a time
    record_on(200, {1, 64, 4, 20});
    record_on(200, {4, 256, 4, 10});
    record_on(200, {64, 2048, 2, 5});
    record_on(16, {64, 2048, 2, 5});
  }
}

INSTANTIATE_TEST_SUITE_P(All, Recorded, testing::ValuesIn(tables()), name_of);

class Overlaps : public testing::Environment {
  void TearDown() override {
    std::cout << all_records.operations << " operations, up to " << all_records.most_overlapping
              << " at a time on one key; " << all_records.not_placed << " not placed; " << all_records.undecided
              << " of " << all_records.keys << " keys undecided\n";
    if (all_records.operations == 0) return; // --gtest_filter
    EXPECT_GT(all_records.most_overlapping, 1u) << "nothing ran at the same time";
    // Of some histories too many orders would have to be tried: on a GPU up to 80 items of a key overlap. Judged over all
    // tables, as one busy moment may leave a table of one key undecided.
    EXPECT_LE(all_records.undecided * (device::backend() == "cpu" ? 50 : 10), all_records.keys);
  }
};
const testing::Environment *const overlaps = testing::AddGlobalTestEnvironment(new Overlaps);

} // namespace
} // namespace tessera_test
