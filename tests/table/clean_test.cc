// SPDX-License-Identifier: Apache-2.0
//
// Tables that clean themselves (core/design/0030-cleaning.md), on the cpu backend: with every recipe that erases, pairs come
// and go for 40 cycles, no operation looks at many more buckets than at first, and the oracle agrees. Work is counted in
// buckets, not in time. Read next: report_test.cc, which counts erased slots.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "core/compose/settings.h"
#include "tests/table/judged.h"
#include "tests/table/recipes.h"

namespace tessera_test {
namespace {

constexpr uint64_t kKeys = 4000, kPart = 800, kCycles = sanitized ? 12 : 40;

class OnFile : protected Judged {
protected:
  // A table of a recipe and its oracle; false: it does not erase, or the oracle does not know its values.
  bool create_of(const std::string &file, const std::vector<std::string> &settings) {
    tsr_spec *read = nullptr;
    tsr_error error = {};
    EXPECT_EQ(tsr_spec_read(file.c_str(), &read, &error), TSR_OK) << error.message;
    SpecPointer spec(read);
    const std::string kind = tsr_spec_get(read, "table", "kind");
    if (kind == "filter" || kind == "index") return false; // index_test.cc cleans those
    if (kind == "cache") return false;                     // it gives up keys of its own accord (debt_test.cc)
    for (const std::string &setting : settings)
      EXPECT_EQ(tsr_spec_set(read, setting.c_str(), &error), TSR_OK) << error.message;
    tsr_options options = {};
    tsr_settings s;
    EXPECT_EQ(tsr_settings_read(read, &options, &s, &error), TSR_OK) << error.message;
    tsr_table *table = made(read);
    if (!table) return false;
    const uint32_t bits = s.value_bytes ? 64 : static_cast<uint32_t>(s.value_bits);
    table_ = std::make_unique<Table>(table, static_cast<uint32_t>(s.key_bits), bits,
                                     8 * static_cast<uint32_t>(s.value_bytes));
    oracle_ = std::make_unique<Oracle>(
        s.values.kind ? uint32_t{TSR_DUPLICATES_KEEP} : static_cast<uint32_t>(s.policy.duplicates), bits);
    return true;
  }

  Batch batch_of(uint64_t first, uint64_t count) const {
    Batch batch;
    for (uint64_t i = first; i < first + count; i++) {
      batch.keys.push_back(i * 0x9E3779B1u & 0xFFFFFFFFu);
      if (table_->value_bits) batch.values.push_back(1 + i % 100);
    }
    return batch;
  }

  // Erases the oldest keys and inserts new ones.
  void churn(uint64_t cycle) {
    Batch gone = batch_of(1 + cycle * kPart, kPart), fresh = batch_of(1 + kKeys + cycle * kPart, kPart);
    erase(gone);
    insert(fresh);
  }

  // Buckets looked at, per key, by the inserts of a cycle and by finds of keys that are absent.
  double looks(uint64_t cycle) {
    const tsr_report then = report();
    churn(cycle);
    Batch absent = batch_of(1u << 24, kPart);
    EXPECT_EQ(table_->contains(absent), "");
    const tsr_report now = report();
    return static_cast<double>(now.insert_probes - then.insert_probes + now.find_probes - then.find_probes) /
           (2 * kPart);
  }
};

class OnRecipe : public testing::TestWithParam<std::string>, protected OnFile {};

TEST_P(OnRecipe, LooksAtNoMoreBucketsWhenPairsComeAndGo) {
  if (!create_of(GetParam(), {"table.backend=cpu", "table.statistics=yes", "table.capacity=" + std::to_string(kKeys)}))
    GTEST_SKIP() << "it has no keys to erase";
  Batch first = batch_of(1, kKeys);
  insert(first);
  const double before = looks(0);
  double most = before;
  for (uint64_t cycle = 1; cycle < kCycles; cycle++) most = std::max(most, looks(cycle));
  EXPECT_LE(most, 1.5 * before + 0.5);
  ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1 + kCycles * kPart - kPart, kKeys + 2 * kPart).keys));
}

// What all tests of one table ask for: an open table whose finds end at an empty slot.
const std::vector<std::string> plain = {"table.backend=cpu", "table.statistics=yes", "table.capacity=4000"};

std::vector<std::string> plain_and(const std::vector<std::string> &more) {
  std::vector<std::string> all = plain;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

class Cleaning : public testing::Test, protected OnFile {
protected:
  void fill(const std::vector<std::string> &more, const std::string &file = "specs/best_build.ini") {
    ASSERT_TRUE(create_of(file, plain_and(more)));
    Batch first = batch_of(1, kKeys);
    insert(first);
  }

  void churn_all() {
    for (uint64_t cycle = 0; cycle < kCycles; cycle++) ASSERT_NO_FATAL_FAILURE(churn(cycle));
    ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1 + kCycles * kPart - kPart, kKeys + 2 * kPart).keys));
  }

  uint64_t every() { return info().slots / 16 + 1; }
};

TEST_F(Cleaning, CostsABoundedPartOfWhatIsErased) {
  TSR_ONE_THREAD;
  ASSERT_NO_FATAL_FAILURE(fill({}));
  // small batches: many calls, each of which erases less than pays for a count
  for (uint64_t done = 0; done < 5 * kKeys; done += 10) {
    Batch gone = batch_of(1 + done, 10), fresh = batch_of(1 + kKeys + done, 10);
    erase(gone);
    insert(fresh);
  }
  const tsr_report r = report();
  EXPECT_GT(r.cleanings, 0u);
  EXPECT_LE(r.cleanings, 5 * kKeys / every());
  EXPECT_GE(r.erased_slots, usage().tombstones);
  ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1 + 5 * kKeys, kKeys).keys));
}

TEST_F(Cleaning, IsNotDoneWhereTheSpecSaysSo) {
  ASSERT_NO_FATAL_FAILURE(fill({"table.clean=no"}));
  const double before = looks(0);
  double after = 0;
  for (uint64_t cycle = 1; cycle < 40 && after <= 10 * before; cycle++) after = looks(cycle);
  EXPECT_EQ(report().cleanings, 0u);
  EXPECT_GT(after, 10 * before) << "then there is nothing to clean";
  EXPECT_GE(report().erased_slots, usage().tombstones);
}

TEST_F(Cleaning, LeavesATableOfFewErasedSlotsAlone) {
  ASSERT_NO_FATAL_FAILURE(fill({"table.capacity=40000"}));
  for (uint64_t cycle = 0; cycle < 4; cycle++) ASSERT_NO_FATAL_FAILURE(churn(cycle));
  EXPECT_EQ(report().cleanings, 0u) << "most slots are empty";
  Batch none;
  erase(none);
  insert(none);
  EXPECT_EQ(report().cleanings, 0u);
}

TEST_F(Cleaning, StartsAgainWithAClearTable) {
  ASSERT_NO_FATAL_FAILURE(fill({}));
  Batch all = batch_of(1, kKeys), next = batch_of(1, kKeys);
  erase(all);
  ASSERT_EQ(table_->clear(), "");
  insert(next);
  EXPECT_EQ(report().cleanings, 0u);
  EXPECT_EQ(report().erased_slots, 0u);
}

TEST_F(Cleaning, OfAnEmptyTableLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(fill({}));
  Batch all = batch_of(1, kKeys), next = batch_of(kKeys + 1, kKeys);
  erase(all);
  insert(next);
  EXPECT_EQ(report().cleanings, 1u);
  EXPECT_EQ(usage().tombstones, 0u);
  ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1, 2 * kKeys).keys));
}

TEST_F(Cleaning, GoesWithGrowth) {
  ASSERT_NO_FATAL_FAILURE(fill({"table.growth=double", "table.capacity=500"}));
  ASSERT_NO_FATAL_FAILURE(churn_all());
  EXPECT_GT(report().cleanings, 0u);
  EXPECT_EQ(info().capacity, 4000u) << "erased slots make no table larger";
}

TEST_F(Cleaning, GoesWithPagesAStashAndAFilter) {
  ASSERT_NO_FATAL_FAILURE(
      fill({"table.page_bytes=4Ki", "table.stash=64", "table.filter=8"}, "specs/best_find_first.ini"));
  ASSERT_NO_FATAL_FAILURE(churn_all());
  EXPECT_GT(report().cleanings, 0u);
}

TEST_F(Cleaning, GoesWithEachNumberOfDevices) {
  for (const char *devices : {"0", "0,0", "0,0,0"}) {
    SCOPED_TRACE(devices);
    ASSERT_NO_FATAL_FAILURE(fill({std::string("table.devices=") + devices}));
    ASSERT_NO_FATAL_FAILURE(churn_all());
    EXPECT_GT(report().cleanings, 0u);
  }
}

TEST_F(Cleaning, GoesWithOtherCallsThatInsert) {
  ASSERT_NO_FATAL_FAILURE(fill({}));
  for (uint64_t cycle = 0; cycle < kCycles; cycle++) {
    Batch gone = batch_of(1 + cycle * kPart, kPart), fresh = batch_of(1 + kKeys + cycle * kPart, kPart);
    erase(gone);
    ASSERT_EQ(table_->find_or_insert(fresh, 0), "");
    ASSERT_EQ(oracle_->find_or_insert(fresh, 0), "");
  }
  EXPECT_GT(report().cleanings, 0u);
  ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1 + kCycles * kPart, kKeys).keys));
}

TEST_F(Cleaning, GoesWithMixedCalls) {
  ASSERT_NO_FATAL_FAILURE(fill({}, "specs/mixed.ini"));
  for (uint64_t cycle = 0; cycle < kCycles; cycle++) {
    Batch all = batch_of(1 + cycle * kPart, kPart), fresh = batch_of(1 + kKeys + cycle * kPart, kPart);
    std::vector<uint8_t> operations(kPart, TSR_OP_ERASE);
    operations.resize(2 * kPart, TSR_OP_INSERT);
    all.keys.insert(all.keys.end(), fresh.keys.begin(), fresh.keys.end());
    all.values.insert(all.values.end(), fresh.values.begin(), fresh.values.end());
    ASSERT_EQ(table_->apply(operations, all, 0), "");
  }
  EXPECT_GT(report().cleanings, 0u);
  Batch present = batch_of(1 + kCycles * kPart, kKeys), gone = batch_of(1, kCycles * kPart);
  ASSERT_EQ(table_->contains(present), "");
  ASSERT_EQ(table_->contains(gone), "");
  EXPECT_EQ(present.codes, std::vector<uint8_t>(kKeys, 1));
  EXPECT_EQ(gone.codes, std::vector<uint8_t>(kCycles * kPart, 0));
}

TEST_F(Cleaning, GoesWithFiles) {
  ASSERT_NO_FATAL_FAILURE(fill({}));
  ASSERT_NO_FATAL_FAILURE(churn_all());
  const std::string path = std::string(getenv("TEST_TMPDIR") ? getenv("TEST_TMPDIR") : "/tmp") + "/cleaned.tessera";
  const std::string directories = plugin_directories();
  tsr_load_options options = {};
  options.plugins = directories.c_str();
  tsr_error error = {};
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, 32, 32);
  for (uint64_t cycle = kCycles; cycle < 2 * kCycles; cycle++) ASSERT_NO_FATAL_FAILURE(churn(cycle));
  EXPECT_GT(report().cleanings, 0u);
  ASSERT_NO_FATAL_FAILURE(expect_all(batch_of(1 + (2 * kCycles - 1) * kPart, kKeys + 2 * kPart).keys));
}

INSTANTIATE_TEST_SUITE_P(Specs, OnRecipe, testing::ValuesIn(sanitized ? enough_recipes() : recipes()), recipe_name);

} // namespace
} // namespace tessera_test
