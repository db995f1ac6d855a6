// SPDX-License-Identifier: Apache-2.0
//
// Tables of pages, on the cpu backend, for every scheme that can have them: batches that go page by page and batches
// that do not, beside the oracle; keys that all belong to one page; partitions of one, two and three passes; what is
// refused. The composition fuzzer draws pages as well (../compositions). Read next: judged.h.
#include <gtest/gtest.h>

#include <sstream>

#include "core/batch/plan.h"
#include "core/compose/compose.h"
#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct PagedRecipe {
  Recipe recipe;
  std::string name;
};

void PrintTo(const PagedRecipe &paged, std::ostream *out) { *out << paged.name; }

Recipe recipe_of(const std::string &layout, const std::string &probing, Widths widths, uint32_t duplicates) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = widths.key_bits;
  recipe.value_bits = widths.value_bits;
  recipe.duplicates = duplicates;
  recipe.capacity = 3000;
  recipe.load_factor = "0.5";
  return recipe;
}

std::vector<PagedRecipe> recipes() {
  std::vector<PagedRecipe> result;
  const Widths widths[] = {{32, 32}, {64, 64}, {64, 0}};
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (uint32_t duplicates : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD, TSR_DUPLICATES_PROMISE_UNIQUE,
                                  TSR_DUPLICATES_KEEP, TSR_DUPLICATES_COUNT}) {
        const Widths width = widths[tried++ % (TSR_POLICY_COMBINES(duplicates) ? 2 : 3)];
        tsr_error error = {};
        PagedRecipe paged = {recipe_of(layout, probing, width, duplicates), ""};
        if (sanitized && (layout != "packed" || duplicates > TSR_DUPLICATES_ADD)) continue;
        CompositionPointer composition = compose(paged.recipe, 1, &error);
        if (!composition || composition->shape.has_link || tsr_is_whole(&composition->shape)) continue;
        std::ostringstream name;
        name << layout << "_" << probing << "_" << duplicates << "_" << width.key_bits << "_" << width.value_bits;
        paged.name = name.str();
        result.push_back(paged);
      }
  return result;
}

std::string name_of(const testing::TestParamInfo<PagedRecipe> &info) { return info.param.name; }

class Pages : public testing::TestWithParam<PagedRecipe>, protected Judged {
protected:
  bool repeats() const { return GetParam().recipe.duplicates != TSR_DUPLICATES_PROMISE_UNIQUE; }
  uint64_t last_key() const { return ~uint64_t{0} >> (64 - GetParam().recipe.key_bits); }

  // Keys below `below`, and one whose bits mark slots.
  Batch some_pairs(uint64_t count, uint64_t below, bool repeats, Random *random) const {
    Batch batch;
    for (uint64_t i = 0; i < count; i++) {
      batch.keys.push_back(repeats ? random->below(below) : i);
      batch.values.push_back(GetParam().recipe.value_bits ? random->below(1000) : 0);
    }
    if (count > 1) batch.keys[count / 2] = last_key();
    return batch;
  }
};

TEST_P(Pages, BatchesAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  Random random(1);
  create(GetParam().recipe, {"table.page_bytes=4Ki", "table.page_batch=100", "table.stash=200"});
  ASSERT_NE(table_, nullptr);
  std::vector<uint64_t> asked = {7, 1u << 20, last_key(), last_key() - 1};
  uint64_t paged = 0;
  for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{99}, uint64_t{100}, uint64_t{2500}}) {
    Batch batch = some_pairs(repeats() ? n : n == 2500 ? n : 0, 1200, repeats(), &random);
    asked.insert(asked.end(), batch.keys.begin(), batch.keys.end());
    insert(batch);
    paged += batch.keys.size() < 100 ? 0 : batch.keys.size();
    EXPECT_EQ(report().insert_paged, paged);
    EXPECT_EQ(report().insert_scratch_bytes > 0, paged > 0);
    expect_all(asked);
    if (HasFatalFailure()) return;
  }
  Batch erased;
  for (uint64_t key = 0; key < 1200; key += 3) erased.keys.push_back(key);
  erase(erased);
  if (repeats()) {
    Batch again = some_pairs(800, 1200, true, &random);
    insert(again);
  }
  expect_all(asked);
}

// A page has room for 1024 keys at most, and its scheme may have less; what it cannot hold goes to the stash, and what
// that cannot hold comes back.
TEST_P(Pages, KeysOfOnePageFillItAndTheStash) {
  TSR_TRACE_SEED;
  Recipe recipe = GetParam().recipe;
  recipe.part[TSR_ROLE_HASHER] = "identity"; // small keys: all of the first page
  Random random(2);
  tsr_error error = {};
  if (!compose(recipe, 1, &error)) GTEST_SKIP() << error.message; // a layout that asks for a hasher that can be undone
  create(recipe, {"table.page_bytes=4Ki", "table.page_batch=1", "table.stash=64"});
  ASSERT_NE(table_, nullptr);
  Batch batch = some_pairs(2000, 2000, false, &random);
  insert(batch);
  ASSERT_EQ(table_->check(), "");
  uint64_t size = 0, not_placed = 0;
  ASSERT_EQ(table_->size(&size), "");
  for (uint8_t result : batch.codes) not_placed += result == TSR_NOT_PLACED;
  EXPECT_GE(size, 64u);
  EXPECT_GT(not_placed, 0u);
  EXPECT_EQ(size + not_placed, 2000u);
  expect_all(batch.keys);
}

INSTANTIATE_TEST_SUITE_P(OnCpu, Pages, testing::ValuesIn(recipes()), name_of);

// A page takes as many pairs as a table of its size: its scheme's functions name all buckets of it, each by itself. At this
// load a page of 2048 slots is ten deviations from full, so pages alone hand nothing back.
class PagesHaveRoom : public testing::Test, protected Judged {};
TEST_F(PagesHaveRoom, AsATableWithoutPagesHas) {
  TSR_TRACE_SEED;
  const uint64_t capacity = 1 << 15;
  uint32_t schemes = 0;
  for (const PagedRecipe &paged : recipes()) {
    if (paged.recipe.duplicates != TSR_DUPLICATES_FIRST) continue;
    SCOPED_TRACE(paged.name);
    Recipe recipe = paged.recipe;
    recipe.key_bits = recipe.value_bits = 32;
    recipe.capacity = capacity;
    recipe.load_factor = "1.0";
    Batch batch;
    for (uint64_t i = 0; i < capacity * 8 / 10; i++) {
      batch.keys.push_back(uint32_t(i * 2654435761u));
      batch.values.push_back(i);
    }
    uint64_t handed_back[2] = {0, 0};
    for (uint32_t in_pages : {0u, 1u}) {
      std::vector<std::string> settings = {in_pages ? "table.page_bytes=16Ki" : "table.page_bytes=0"};
      if (refusal_of(recipe, {"layout.bucket_slots=16"}).empty()) settings.push_back("layout.bucket_slots=16");
      create(recipe, settings);
      ASSERT_NE(table_, nullptr);
      insert(batch);
      for (uint8_t result : batch.codes) handed_back[in_pages] += result == TSR_NOT_PLACED;
    }
    EXPECT_LE(handed_back[1], handed_back[0]);
    schemes++;
  }
  EXPECT_GT(schemes, 0u);
}

// 262144 pages and more take three passes; their bins have no items mostly.
class Passes : public testing::TestWithParam<uint64_t>, protected Judged {};

TEST_P(Passes, EveryItemReachesItsPage) {
  TSR_TRACE_SEED;
  Recipe recipe = recipe_of("packed", "linear", {32, 32}, TSR_DUPLICATES_REPLACE);
  recipe.capacity = GetParam() * 100;
  recipe.load_factor = "0.8";
  create(recipe, {"table.page_bytes=1Ki", "table.page_batch=1"});
  ASSERT_NE(table_, nullptr);
  Random random(3);
  Batch batch;
  for (uint64_t i = 0; i < 70000; i++) {
    batch.keys.push_back(random.next() & 0xFFFFFF);
    batch.values.push_back(batch.keys.back() * 3 % 1000);
  }
  insert(batch);
  expect_all(batch.keys);
}

std::vector<uint64_t> sizes() {
  if (sanitized) return {3, 600};
  return {3, 600, 300000};
}

INSTANTIATE_TEST_SUITE_P(Of, Passes, testing::ValuesIn(sizes()));

// The fuller a table of a GPU is, the slower is random access, and the smaller is the batch that goes page by page; an empty
// table's pages are not read. Inserts that look for their keys are not told how full it is.
TEST(PageBatches, PayFromASmallerShareOfAFullTableOn) {
  const uint64_t capacity = 1 << 27;
  auto least = [&](uint32_t duplicates, uint64_t held) {
    Recipe recipe = recipe_of("packed", "cuckoo", {32, 32}, duplicates);
    recipe.load_factor = "0.9";
    const SpecPointer spec = spec_of(recipe);
    EXPECT_EQ(tsr_spec_set(spec.get(), "table.page_bytes=auto", nullptr), TSR_OK);
    tsr_options options = {};
    const std::string plugins = plugin_directories();
    options.plugins = plugins.c_str();
    options.capacity = capacity;
    tsr_composition *made = nullptr;
    tsr_error error = {};
    EXPECT_EQ(tsr_compose(spec.get(), &options, 90, 1, &made, &error), TSR_OK) << error.message;
    const CompositionPointer composition(made);
    return tsr_plan_page_batch(made, held);
  };
  const uint32_t unique = TSR_DUPLICATES_PROMISE_UNIQUE;
  EXPECT_LT(least(unique, 0), least(unique, capacity / 2));
  EXPECT_GT(least(unique, capacity / 2), 2 * least(unique, capacity));
  EXPECT_LT(least(unique, capacity), capacity / 20);
  EXPECT_EQ(least(unique, 2 * capacity), least(unique, 10 * capacity)) << "what was erased is counted as well";
  EXPECT_EQ(least(TSR_DUPLICATES_FIRST, 0), least(TSR_DUPLICATES_FIRST, capacity));
}

TEST(PagesAreRefused, WhereTheyCannotBe) {
  Recipe recipe = recipe_of("packed", "linear", {32, 32}, TSR_DUPLICATES_FIRST);
  EXPECT_NE(refusal_of(recipe, {"table.page_bytes=17"}).find("0 | auto | 1Ki .. 128Ki"), std::string::npos);
  EXPECT_NE(refusal_of(recipe, {"table.page_batch=17"}).find("there are no pages"), std::string::npos);
  EXPECT_EQ(refusal_of(recipe, {"table.page_bytes=auto", "table.page_batch=auto"}), "");
  EXPECT_NE(refusal_of(recipe, {"table.page_bytes=1Ki", "layout.bucket_slots=32", "probing.max_probes=2",
                                "table.probing=double_hashing", "probing.window_buckets=64"})
                .find("does not fit"),
            std::string::npos);
  Recipe short_keys =
      recipe_of("quotient", "double_hashing", {32, 64}, TSR_DUPLICATES_FIRST); // its pages are a power of two
  EXPECT_NE(refusal_of(short_keys, {"table.page_bytes=1Ki", "layout.bucket_slots=4", "probing.window_buckets=30"})
                .find("does not fit"),
            std::string::npos);
  Recipe lists = recipe_of("slab", "slab_list", {32, 32}, TSR_DUPLICATES_FIRST);
  lists.part[TSR_ROLE_ALLOCATOR] = "bump";
  EXPECT_NE(refusal_of(lists, {"table.page_bytes=auto"}).find("units of an allocator"), std::string::npos);
  Recipe multi = recipe_of("packed", "linear", {32, 32}, TSR_DUPLICATES_KEEP);
  EXPECT_NE(refusal_of(multi, {"table.page_bytes=auto", "table.growth=double"}).find("growth = none"),
            std::string::npos);
}

} // namespace
} // namespace tessera_test
