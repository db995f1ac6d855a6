// SPDX-License-Identifier: Apache-2.0
//
// The report, the count of tombstones and find_or_insert's refusals, on the cpu backend, for every scheme: what is told
// must add up to what was done. What find_or_insert does is judged by ../oracle/exercise.h.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "tests/table/judged.h"

namespace tessera_test {
namespace {

class OnScheme : public testing::TestWithParam<PluginFile>, protected Judged {
protected:
  // A table with this scheme, in the first recipe that works with it.
  void create_one(const std::function<void(Recipe *)> &change) {
    Recipe recipe = working_recipes(GetParam())[0];
    recipe.capacity = 10000;
    recipe.load_factor = "0.5"; // every scheme places all
    change(&recipe);
    create(recipe);
  }

  static Batch batch_of(uint64_t first, uint64_t count) {
    Batch batch;
    for (uint64_t i = 0; i < count; i++) {
      batch.keys.push_back((first + i) * 0x9E3779B1u & 0xFFFFFFFFu);
      batch.values.push_back(i);
    }
    return batch;
  }

  uint64_t tombstones() { return usage().tombstones; }
};

// Keys in all, probes in all and the most probes, as the histogram tells them.
void expect_histogram(const uint64_t *bins, uint64_t keys, uint64_t probes, uint64_t probes_max) {
  uint64_t count = std::accumulate(bins, bins + TSR_REPORT_BINS, uint64_t{0}), sum = 0, most = 0;
  for (uint64_t i = 0; i < TSR_REPORT_BINS; i++) {
    sum += i * bins[i];
    if (bins[i]) most = i;
  }
  EXPECT_EQ(count, keys);
  EXPECT_EQ(most, std::min<uint64_t>(probes_max, TSR_REPORT_BINS - 1));
  if (probes_max < TSR_REPORT_BINS) {
    EXPECT_EQ(sum, probes);
  } else {
    EXPECT_LT(sum, probes);
  }
}

TEST_P(OnScheme, StatisticsAddUp) {
  tsr_error error = {};
  CompositionPointer composition = compose(working_recipes(GetParam())[0], 1, &error);
  ASSERT_TRUE(composition) << error.message;
  const bool looks = !composition->shape.has_lists; // lists are made without a look at any bucket
  create_one([](Recipe *recipe) { recipe->statistics = true; });
  Batch batch = batch_of(1, 10000), absent = batch_of(20000, 5000), again = batch;
  ASSERT_EQ(table_->insert(batch), "");
  const bool looks_for_keys = looks && !composition->shape.build_pages; // else there is no find_or_insert
  if (looks_for_keys) {
    ASSERT_EQ(table_->find_or_insert(again, 0), ""); // all are there
  }
  const uint64_t insert_keys = looks_for_keys ? 20000 : looks ? 10000 : 0;
  ASSERT_EQ(table_->contains(absent), "");
  ASSERT_EQ(table_->erase(absent), "");
  tsr_report r = report();
  ASSERT_EQ(r.inserted, 10000u);
  EXPECT_GE(r.insert_probes, insert_keys);
  EXPECT_GE(r.find_probes, looks ? 5000u : 1u); // of an empty list there is no bucket
  EXPECT_GE(r.erase_probes, looks ? 5000u : 1u);
  expect_histogram(r.insert_histogram, insert_keys, r.insert_probes, r.insert_probes_max);
  expect_histogram(r.find_histogram, 5000, r.find_probes, r.find_probes_max);
  expect_histogram(r.erase_histogram, 5000, r.erase_probes, r.erase_probes_max);
  EXPECT_LE(r.insert_moves_max, r.insert_moves);
  if (!composition->shape.moves_pairs) {
    EXPECT_EQ(r.insert_moves, 0u);
  }
  EXPECT_EQ(r.insert_stashed, 0u);
}

// At a load that no scheme reaches without, pairs are in the stash: exactly those that the report counts.
TEST_P(OnScheme, CountsWhatWentToTheStash) {
  create_one([](Recipe *recipe) {
    recipe->statistics = true;
    recipe->load_factor = "1";
    recipe->stash = 64;
  });
  tsr_table_info info = {};
  tsr_table_describe(table_->get(), &info);
  const uint64_t stash = (64 + info.bucket_slots - 1) / info.bucket_slots * info.bucket_slots, n = info.slots + 150;
  Batch batch = batch_of(1, n);
  ASSERT_EQ(table_->insert(batch), "");
  tsr_report r = report();
  EXPECT_GT(r.insert_stashed, 0u);
  EXPECT_LE(r.insert_stashed, stash);
  uint64_t size = 0;
  ASSERT_EQ(table_->size(&size), "");
  EXPECT_EQ(size + r.not_placed, n);
  tsr_error error = {};
  CompositionPointer composition = compose(working_recipes(GetParam())[0], 1, &error);
  ASSERT_TRUE(composition) << error.message;
  if (r.not_placed && composition->shape.build_pages) {
    EXPECT_GE(r.insert_stashed, stash / 2); // as many pairs walk as it has slots, and some find room in their bucket
  } else if (r.not_placed) {
    EXPECT_EQ(r.insert_stashed, stash);
  }
}

// What is counted for one item must not go on to the next one of its thread: mixed, where that may be, since such tables
// look twice. Few pairs, so that the order hardly matters.
TEST_P(OnScheme, ABatchLooksAtAsManyBucketsAsItsKeysAlone) {
  create_one([](Recipe *recipe) {
    tsr_error error = {};
    recipe->statistics = recipe->mixed = true;
    recipe->mixed = compose(*recipe, 1, &error) != nullptr;
  });
  const uint64_t n = 200;
  for (uint64_t i = 0; i < n; i++) {
    Batch one = batch_of(1 + i, 1);
    ASSERT_EQ(table_->insert(one), "");
  }
  const uint64_t alone = report().insert_probes;
  ASSERT_EQ(table_->clear(), "");
  Batch batch = batch_of(1, n);
  ASSERT_EQ(table_->insert(batch), "");
  EXPECT_LE(report().insert_probes - alone, alone + alone / 5);
}

TEST_P(OnScheme, WithoutStatisticsNothingIsCounted) {
  create_one([](Recipe *) {});
  Batch batch = batch_of(1, 10000);
  ASSERT_EQ(table_->insert(batch), "");
  tsr_report r = report();
  EXPECT_EQ(r.insert_probes + r.insert_probes_max + r.insert_moves + r.insert_lost_claims + r.insert_stashed, 0u);
  EXPECT_EQ(std::accumulate(r.insert_histogram, r.insert_histogram + TSR_REPORT_BINS, uint64_t{0}), 0u);
}

TEST_P(OnScheme, TombstonesAreCounted) {
  create_one([](Recipe *) {});
  Batch batch = batch_of(1, 8000), gone = batch_of(1, 3000), other = batch_of(50000, 3000);
  EXPECT_EQ(tombstones(), 0u);
  ASSERT_EQ(table_->insert(batch), "");
  EXPECT_EQ(tombstones(), 0u);
  ASSERT_EQ(table_->erase(gone), "");
  EXPECT_EQ(tombstones(), 3000u);
  ASSERT_EQ(table_->insert(other), "");
  EXPECT_LT(tombstones(), 3000u) << "inserts take no erased slot";
  tsr_error error = {};
  tsr_rehash_options options = {};
  ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
  EXPECT_EQ(tombstones(), 0u);
  ASSERT_EQ(table_->erase(other), "");
  ASSERT_EQ(table_->clear(), "");
  EXPECT_EQ(tombstones(), 0u);
}

TEST_P(OnScheme, FindOrInsertNeedsALook) {
  create_one([](Recipe *recipe) { recipe->duplicates = TSR_DUPLICATES_PROMISE_UNIQUE; });
  Batch batch = batch_of(1, 10);
  std::string complaint = table_->find_or_insert(batch, 0);
  EXPECT_NE(complaint.find("promise_unique"), std::string::npos) << complaint;
}

std::vector<PluginFile> schemes() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : plugin_files())
    if (file.role == "probing" && !working_recipes(file).empty()) result.push_back(file); // no part of filters
  return result;
}

TEST(OfASet, ValuesAreRefusedAndNothingIsInserted) {
  Recipe recipe = working_recipes(schemes()[0])[0];
  recipe.capacity = 100;
  recipe.value_bits = 0;
  recipe.duplicates = TSR_DUPLICATES_FIRST;
  Table table(made(spec_of(recipe).get()), recipe.key_bits, 0);
  const uint64_t keys[] = {1, 2}, values[] = {3, 4};
  tsr_error error = {};
  uint64_t size = 9;
  expect_refused(tsr_insert(table.get(), 2, keys, values, nullptr, &error), TSR_BAD_ARGUMENT, error, "drop the values");
  expect_refused(tsr_build(table.get(), 2, keys, values, nullptr, 1, &error), TSR_BAD_ARGUMENT, error,
                 "drop the values");
  ASSERT_EQ(table.size(&size), "");
  EXPECT_EQ(size, 0u);
}

class OfFlags : public testing::TestWithParam<bool>, protected Judged {
protected:
  // Buckets that are looked at for an absent key, in a table that is full where half of the keys were erased.
  double looks(const char *layout) {
    Recipe recipe;
    recipe.part[TSR_ROLE_LAYOUT] = layout;
    recipe.part[TSR_ROLE_PROBING] = "double_hashing";
    recipe.part[TSR_ROLE_HASHER] = "murmur3";
    recipe.set(TSR_ROLE_LAYOUT, "bucket_slots", 4);
    recipe.capacity = kKeys;
    recipe.statistics = true;
    recipe.mixed = GetParam();
    create(recipe, {"table.clean=no"}); // tsr_apply may insert
    Batch batch, gone, absent;
    for (uint64_t i = 0; i < kKeys; i++) {
      batch.keys.push_back(i * 0x9E3779B1u & 0xFFFFFFFFu);
      batch.values.push_back(i);
      if (i % 2) gone.keys.push_back(batch.keys.back());
      absent.keys.push_back((kKeys + i) * 0x9E3779B1u & 0xFFFFFFFFu);
      absent.values.push_back(0);
    }
    EXPECT_EQ(table_->insert(batch), "");
    EXPECT_EQ(table_->erase(gone), "");
    EXPECT_EQ(table_->contains(absent), "");
    if (GetParam()) {
      EXPECT_EQ(table_->apply(std::vector<uint8_t>(kKeys, TSR_OP_FIND), absent, 0), "");
      EXPECT_EQ(report().apply_probes, report().find_probes) << "what is asked for together is found so as well";
    }
    return static_cast<double>(report().find_probes) / kKeys;
  }

  static constexpr uint64_t kKeys = 10000;
};

// At load 0.8 a bucket of 4 is full in two of five cases; a flag is raised by those pairs alone that had to go on.
TEST_P(OfFlags, TheyEndWalksThatAnEmptySlotDoesNot) {
  const double flags = looks("quotient"), none = looks("packed");
  std::cout << flags << " buckets with flags, " << none << " without\n";
  EXPECT_LT(flags - 1, (none - 1) * 3 / 4);
}

INSTANTIATE_TEST_SUITE_P(All, OfFlags, testing::Bool(), [](const testing::TestParamInfo<bool> &info) {
  return std::string(info.param ? "WhereAllOverlaps" : "InPhases");
});

INSTANTIATE_TEST_SUITE_P(All, OnScheme, testing::ValuesIn(schemes()), plugin_test_name);

} // namespace
} // namespace tessera_test
