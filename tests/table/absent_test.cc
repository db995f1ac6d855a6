// SPDX-License-Identifier: Apache-2.0
//
// Tables behind a filter ([table] filter), on the cpu backend: that absent keys stop there, by the statistics, and that no
// key that was inserted does, however it came: by any scheme, by pages, lists and growth, from a file, by a rehash. The
// composition fuzzer draws such tables as well (../compositions). Read next: judged.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <numeric>

#include "core/batch/plan.h"
#include "core/compose/compose.h"
#include "core/compose/filter.h"
#include "tests/oracle/chance.h"
#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"
#include "tests/table/marked.h"

namespace tessera_test {
namespace {

constexpr uint64_t kBits = 8, kKeys = sanitized ? 2000 : 20000;

Batch batch_of(uint64_t first, uint64_t count) {
  Batch batch;
  for (uint64_t i = 0; i < count; i++) {
    batch.keys.push_back((first + i) * 0x9E3779B1u & 0xFFFFFFFFu);
    batch.values.push_back(i);
  }
  return batch;
}

// Of absent keys that many may pass: a table has at least the bits that it was asked for.
uint64_t most_pass(uint64_t keys) {
  return most_of(keys, tsr_filter_rate(32, tsr_filter_functions(32, kBits), static_cast<double>(kBits)));
}

uint64_t sum_of(const uint64_t *bins) { return std::accumulate(bins, bins + TSR_REPORT_BINS, uint64_t{0}); }

class Behind : protected Judged {
protected:
  void make(Recipe recipe, const std::vector<std::string> &more = {}) {
    std::vector<std::string> settings = more;
    settings.push_back("table.filter=" + std::to_string(kBits));
    recipe.part[TSR_ROLE_HASHER] = "murmur3"; // others mix less, and err more
    recipe.statistics = true;
    recipe.capacity = kKeys;
    recipe.load_factor = "0.5";
    create(recipe, settings);
  }

  // How many of these keys pass the filter: the others are looked for in no bucket. `present`: how many are there.
  uint64_t passing(uint64_t first, uint64_t count, uint64_t present) {
    Batch batch = batch_of(first, count);
    const tsr_report before = report();
    EXPECT_EQ(table_->contains(batch), "");
    const tsr_report after = report();
    EXPECT_EQ(after.found - before.found, present);
    EXPECT_EQ(sum_of(after.find_histogram) - sum_of(before.find_histogram), count) << "each key is counted";
    return count - (after.find_histogram[0] - before.find_histogram[0]);
  }
};

class OnScheme : public testing::TestWithParam<PluginFile>, protected Behind {};

TEST_P(OnScheme, AbsentKeysStopAndNoOther) {
  make(working_recipes(GetParam())[0]);
  ASSERT_NE(table_, nullptr);
  Batch batch = batch_of(1, kKeys), absent = batch_of(2 * kKeys, kKeys);
  EXPECT_EQ(passing(1, kKeys, 0), 0u) << "no bit of an empty filter is set";
  insert(batch);
  EXPECT_EQ(passing(1, kKeys, kKeys), kKeys);
  EXPECT_LE(passing(2 * kKeys, kKeys, 0), most_pass(kKeys));
  ASSERT_EQ(table_->erase(absent), "");
  const tsr_report r = report();
  EXPECT_EQ(sum_of(r.erase_histogram), kKeys);
  EXPECT_GE(r.erase_histogram[0], kKeys - most_pass(kKeys));
  ASSERT_EQ(tsr_clear(table_->get(), nullptr, nullptr), TSR_OK);
  EXPECT_EQ(passing(1, kKeys, 0), 0u);
}

TEST_P(OnScheme, OperationsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  for (const Recipe &recipe : working_recipes(GetParam())) {
    Random random(1);
    create(recipe, {"table.filter=4"});
    ASSERT_NE(table_, nullptr);
    Exercise::Options options;
    options.slots = std::min<uint64_t>(info().slots, 500);
    options.operations = 40;
    EXPECT_EQ(Exercise(*table_, recipe.duplicates, random, options).run(), "") << recipe;
  }
}

std::vector<PluginFile> schemes() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : plugin_files())
    if (file.role == "probing" && !working_recipes(file).empty()) result.push_back(file); // no part of filters
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, OnScheme, testing::ValuesIn(schemes()), plugin_test_name);

Recipe of(const char *layout, const char *probing) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.value_bits = 32;
  return recipe;
}

class Filtered : public testing::Test, protected Behind {};

// Erased keys pass, until their bits are made anew.
TEST_F(Filtered, ErasingLeavesBitsUntilARehash) {
  make(of("packed", "linear"));
  Batch batch = batch_of(1, kKeys);
  insert(batch);
  erase(batch);
  EXPECT_EQ(passing(1, kKeys, 0), kKeys);
  tsr_error error = {};
  tsr_rehash_options rehash = {};
  ASSERT_EQ(tsr_rehash(table_->get(), &rehash, &error), TSR_OK) << error.message;
  EXPECT_EQ(passing(1, kKeys, 0), 0u);
}

TEST_F(Filtered, GrowsWithItsTable) {
  for (const char *probing : {"linear", "cuckoo"}) {
    make(of("packed", probing), {"table.growth=double", "table.capacity=100"});
    for (uint64_t from = 1; from < kKeys; from += kKeys / 4) {
      Batch batch = batch_of(from, kKeys / 4);
      insert(batch);
    }
    EXPECT_GE(info().capacity, kKeys);
    EXPECT_EQ(passing(1, kKeys, kKeys), kKeys);
    EXPECT_LE(passing(2 * kKeys, kKeys, 0), most_pass(kKeys));
  }
}

// Batches that go page by page, and tables that are in the host's memory while their filter does not.
TEST_F(Filtered, PagesAreMarked) {
  for (const char *limit : {"0", "64Ki"}) {
    make(of("packed", "cuckoo"),
         {"table.page_bytes=4Ki", "table.page_batch=1", std::string("table.device_bytes=") + limit});
    ASSERT_NE(table_, nullptr);
    Batch batch = batch_of(1, kKeys);
    insert(batch);
    EXPECT_EQ(passing(1, kKeys, kKeys), kKeys);
    EXPECT_LE(passing(2 * kKeys, kKeys, 0), most_pass(kKeys));
  }
}

// Tables without pages have their keys put in the order of the filter's blocks for the filter alone.
TEST_F(Filtered, BitsAreTheSameInTheOrderOfTheirBlocks) {
  make(of("packed", "linear"));
  Batch batch = batch_of(1, kKeys);
  batch.keys.push_back(0xFFFFFFFFu); // reserved
  batch.values.push_back(1);
  Array keys(32, batch.keys);
  ASSERT_EQ(mark_in_order(table_->get(), batch.keys.size(), keys.data()), "");
  const std::string ordered = filter_bits(table_->get());
  ASSERT_EQ(tsr_clear(table_->get(), nullptr, nullptr), TSR_OK);
  insert(batch);
  EXPECT_EQ(ordered, filter_bits(table_->get()));
}

// Whether they are is decided by sizes, and only on a GPU, while its cache cannot hold the filter.
TEST_F(Filtered, BatchesThatAreMarkedInOrder) {
  tsr_error error = {};
  Recipe recipe = of("packed", "linear");
  recipe.load_factor = "0.8";
  auto least = [&](uint64_t capacity, uint32_t sm) {
    SpecPointer spec = spec_of(recipe);
    EXPECT_EQ(tsr_spec_set(spec.get(), "table.filter=8", nullptr), TSR_OK);
    tsr_options options = {};
    const std::string plugins = plugin_directories();
    options.plugins = plugins.c_str();
    options.capacity = capacity;
    tsr_composition *made = nullptr;
    EXPECT_EQ(tsr_compose(spec.get(), &options, sm, 1, &made, &error), TSR_OK) << error.message;
    const CompositionPointer composition(made);
    return tsr_plan_mark_batch(composition.get());
  };
  EXPECT_EQ(least(1 << 27, 0), UINT64_MAX);
  EXPECT_EQ(least(7000000, 90), UINT64_MAX) << "7 MB are in the cache";
  EXPECT_EQ(least(9000000, 90), uint64_t{1} << 22);
  EXPECT_GT(least(1 << 30, 90), uint64_t{1} << 22) << "a small batch does not pay where there are many pages";
}

TEST_F(Filtered, FindOrInsertMarks) {
  make(of("packed", "linear"));
  Batch batch = batch_of(1, kKeys);
  ASSERT_EQ(table_->find_or_insert(batch, 0), "");
  EXPECT_EQ(passing(1, kKeys, kKeys), kKeys);
}

TEST_F(Filtered, ApplyMarksWhatItInserts) {
  Recipe recipe = of("packed", "linear");
  make(recipe, {"table.concurrency=mixed"});
  Batch batch = batch_of(1, kKeys);
  std::vector<uint8_t> operations;
  for (uint64_t i = 0; i < kKeys; i++) operations.push_back(i % 2 ? TSR_OP_INSERT : TSR_OP_FIND);
  ASSERT_EQ(table_->apply(operations, batch, 0), "");
  for (uint64_t i = 0; i < kKeys; i++)
    ASSERT_EQ(batch.codes[i], i % 2 ? TSR_INSERTED : TSR_MISSING) << i << ": whichever comes first, no key is twice";
  const uint64_t passed = passing(1, kKeys, kKeys / 2);
  EXPECT_LE(passed, kKeys / 2 + most_pass(kKeys / 2)) << "those that were only looked for are not marked";
}

// The bits are in the file; and a rehash to another spec makes them anew.
TEST_F(Filtered, IsSavedAndComesAndGoes) {
  const Recipe recipe = of("packed", "cuckoo");
  make(recipe);
  Batch batch = batch_of(1, kKeys);
  insert(batch);
  char path[] = "/tmp/tessera-filtered.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  tsr_error error = {};
  ASSERT_EQ(tsr_table_save(table_->get(), path, &error), TSR_OK) << error.message;
  const uint64_t passed = passing(2 * kKeys, kKeys, 0);
  tsr_load_options load = {};
  const std::string plugins = plugin_directories();
  load.plugins = plugins.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path, &load, &loaded, &error), TSR_OK) << error.message;
  table_->replace(loaded);
  EXPECT_EQ(passing(1, kKeys, kKeys), kKeys);
  EXPECT_EQ(passing(2 * kKeys, kKeys, 0), passed) << "the same bits";
  for (const char *filter : {"none", "16"}) {
    SpecPointer spec = spec_of(recipe);
    for (std::string setting : {std::string("table.filter=") + filter, std::string("table.statistics=yes")})
      ASSERT_EQ(tsr_spec_set(spec.get(), setting.c_str(), &error), TSR_OK) << error.message;
    tsr_rehash_options rehash = {};
    rehash.spec = spec.get();
    ASSERT_EQ(tsr_rehash(table_->get(), &rehash, &error), TSR_OK) << error.message;
    EXPECT_EQ(passing(1, kKeys, kKeys), kKeys) << filter;
    const uint64_t passes = passing(2 * kKeys, kKeys, 0);
    if (strcmp(filter, "none") == 0) {
      EXPECT_EQ(passes, kKeys);
    } else {
      EXPECT_LT(passes, passed);
    }
  }
  unlink(path);
}

// The two keys whose bits mark slots, and 0.
TEST_F(Filtered, ReservedKeysPass) {
  make(of("packed", "linear"));
  Batch batch;
  batch.keys = {0xFFFFFFFFu, 0xFFFFFFFEu, 0};
  batch.values = {1, 2, 3};
  ASSERT_EQ(table_->contains(batch), "");
  EXPECT_EQ(report().find_histogram[0], 3u);
  insert(batch);
  ASSERT_EQ(table_->find(batch, 9), "");
  EXPECT_EQ(batch.values, (std::vector<uint64_t>{1, 2, 3}));
}

TEST_F(Filtered, IsToldAndRefusedInSentences) {
  const Recipe recipe = of("packed", "linear");
  EXPECT_EQ(refusal_of(recipe, {"table.filter=none"}), "");
  for (const char *bits : {"1", "49", "yes", "8.5", "-8"})
    EXPECT_NE(refusal_of(recipe, {(std::string("table.filter=") + bits).c_str()}).find("must be none | 2 .. 48"),
              std::string::npos)
        << bits;
  const std::string plugins = plugin_directories();
  tsr_options options = {};
  options.plugins = plugins.c_str();
  char *text = nullptr;
  SpecPointer spec = spec_of(recipe);
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.filter=8", nullptr), TSR_OK);
  ASSERT_EQ(tsr_spec_check(spec.get(), &options, &text, nullptr), TSR_OK);
  EXPECT_NE(strstr(text, "blocks of 32 bytes before the table; a key sets"), nullptr) << text;
  free(text);
  tsr_resolution resolution = {};
  ASSERT_EQ(tsr_spec_resolve(spec.get(), &options, &resolution, nullptr), TSR_OK);
  EXPECT_NE(strstr(resolution.text, "table.filter=8"), nullptr) << resolution.text;
  tsr_resolution_free(&resolution);
}

} // namespace
} // namespace tessera_test
