// SPDX-License-Identifier: Apache-2.0
//
// Tables whose inserts pass erased slots by (core/table/room.h) stay as good as new, however many pairs come and go: all
// answers are right, nothing is without a place, and walks stay short; in small batches, and in batches that would fill
// the table with erased slots several times. Read next: apply_test.cc.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/table/judged.h"

namespace tessera_test {
namespace {

enum : uint64_t { CAPACITY = 4000, HELD = 3600 };

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (uint32_t value_bits : {0u, 32u}) {
        Recipe recipe;
        recipe.part[TSR_ROLE_LAYOUT] = layout;
        recipe.part[TSR_ROLE_PROBING] = probing;
        recipe.part[TSR_ROLE_HASHER] = "murmur3";
        recipe.mixed = recipe.statistics = true;
        recipe.value_bits = value_bits;
        recipe.capacity = CAPACITY;
        tsr_error error = {};
        CompositionPointer composition = compose(recipe, 1, &error);
        if (composition && tsr_composition_passes_erased(composition.get())) result.push_back(recipe);
      }
  return result;
}

std::string recipe_name(const testing::TestParamInfo<Recipe> &info) {
  const Recipe &r = info.param;
  return r.part[TSR_ROLE_LAYOUT] + "_" + r.part[TSR_ROLE_PROBING] + "_" + std::to_string(r.value_bits);
}

// The table holds keys first .. first + HELD - 1, in the order in which they came.
class Room : public testing::TestWithParam<Recipe>, protected Judged {
protected:
  static uint64_t key(uint64_t i) { return i * 0x9E3779B1u & 0xFFFFFFFFu; }
  static uint64_t value(uint64_t i) { return i + 7; }

  void SetUp() override {
    create(GetParam());
    Batch batch;
    for (uint64_t i = 0; i < HELD; i++) {
      batch.keys.push_back(key(i));
      batch.values.push_back(value(i));
    }
    ASSERT_EQ(table_->insert(batch), "");
  }

  // As many of each: inserts of new keys, erases of the oldest, finds of those in between, finds of keys that never come.
  void replace(uint64_t each) {
    const uint32_t bits = GetParam().value_bits;
    std::vector<uint8_t> operations, expected, codes(4 * each, 255);
    std::vector<uint64_t> keys, values;
    auto add = [&](uint8_t operation, uint64_t i, uint8_t code) {
      operations.push_back(operation);
      keys.push_back(key(i));
      values.push_back(value(i));
      expected.push_back(code);
    };
    for (uint64_t i = 0; i < each; i++) {
      add(TSR_OP_INSERT, first_ + HELD + i, TSR_INSERTED);
      add(TSR_OP_ERASE, first_ + i, TSR_ERASED);
      add(TSR_OP_FIND, first_ + each + i, TSR_FOUND);
      add(TSR_OP_FIND, 0x40000000 + first_ + i, TSR_MISSING);
    }
    Array named(32, keys), offered(bits, values), found(bits, 4 * each);
    tsr_call call = {};
    call.results = codes.data();
    tsr_error error = {};
    ASSERT_EQ(tsr_apply(table_->get(), 4 * each, operations.data(), named.data(), offered.data(), found.data(), &call,
                        &error),
              TSR_OK)
        << error.message;
    EXPECT_EQ(codes, expected);
    const std::vector<uint64_t> seen = found.numbers(4 * each);
    for (uint64_t i = 2; bits && i < 4 * each; i += 4) ASSERT_EQ(seen[i], values[i]);
    first_ += each;
  }

  // Buckets that an operation looks at: a table that is full to the last slot has hundreds.
  void expect_short_walks() {
    const tsr_report told = report();
    const double operations = static_cast<double>(told.insert_keys + told.erase_keys + told.find_keys);
    EXPECT_LT(static_cast<double>(told.apply_probes) / operations, 30) << usage().tombstones << " erased slots";
    EXPECT_EQ(usage().pairs, HELD + 0u);
    EXPECT_LE(usage().tombstones + HELD, usage().slots);
  }

  uint64_t first_ = 0;
};

TEST_P(Room, StaysInSmallBatches) {
  for (uint64_t i = 0; i < 400 && !HasFailure(); i++) replace(50);
  expect_short_walks();
}

TEST_P(Room, StaysInLargeBatches) {
  for (uint64_t i = 0; i < 12 && !HasFailure(); i++) replace(HELD / 2);
  expect_short_walks();
}

TEST_P(Room, StaysWhenCountersAreSetBack) {
  for (uint64_t i = 0; i < 100 && !HasFailure(); i++) {
    tsr_error error = {};
    replace(200);
    ASSERT_EQ(tsr_table_report_reset(table_->get(), &error), TSR_OK) << error.message;
  }
  replace(200);
  expect_short_walks();
}

INSTANTIATE_TEST_SUITE_P(All, Room, testing::ValuesIn(recipes()), recipe_name);

} // namespace
} // namespace tessera_test
