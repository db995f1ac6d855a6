// SPDX-License-Identifier: Apache-2.0
//
// Tables larger than what they may have of the device (device_bytes), on the cpu backend: whatever schemes, policies and
// operations, beside the oracle; batches that touch few pages; what is behind all pages; that the limit is kept; files;
// joins; what is refused. The composition fuzzer draws them as well (../compositions). Read next: judged.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>
#include <sstream>

#include "core/compose/compose.h"
#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

Recipe recipe_of(const std::string &layout, const std::string &probing, Widths widths, uint32_t duplicates) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = widths.key_bits;
  recipe.value_bits = widths.value_bits;
  recipe.duplicates = duplicates;
  recipe.capacity = 6000;
  recipe.load_factor = "0.6";
  return recipe;
}

// A handful of pages in each window, and more than three runs.
std::vector<std::string> travelling(uint64_t page_batch) {
  return {"table.page_bytes=4Ki", "table.device_bytes=40Ki", "table.page_batch=" + std::to_string(page_batch)};
}

struct Travelled {
  Recipe recipe;
  std::string name;
};

std::ostream &operator<<(std::ostream &out, const Travelled &travelled) { return out << travelled.recipe; }

std::vector<Travelled> recipes() {
  std::vector<Travelled> result;
  const Widths widths[] = {{32, 32}, {64, 64}, {64, 0}};
  const uint32_t policies[] = {TSR_DUPLICATES_FIRST,          TSR_DUPLICATES_ADD,  TSR_DUPLICATES_REPLACE,
                               TSR_DUPLICATES_PROMISE_UNIQUE, TSR_DUPLICATES_KEEP, TSR_DUPLICATES_COUNT};
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (uint32_t duplicates : policies) {
        const Widths width = widths[tried++ % (TSR_POLICY_COMBINES(duplicates) ? 2 : 3)];
        tsr_error error = {};
        Travelled travelled = {recipe_of(layout, probing, width, duplicates), ""};
        if (sanitized && (layout != "soa" || duplicates > TSR_DUPLICATES_ADD)) continue;
        CompositionPointer composition = compose(travelled.recipe, 1, &error);
        if (!composition || composition->shape.has_link || tsr_is_whole(&composition->shape)) continue;
        std::ostringstream name;
        name << layout << "_" << probing << "_" << duplicates << "_" << width.key_bits << "_" << width.value_bits;
        travelled.name = name.str();
        result.push_back(travelled);
      }
  return result;
}

std::string name_of(const testing::TestParamInfo<Travelled> &info) { return info.param.name; }

class Larger : public testing::TestWithParam<Travelled>, protected Judged {};

// page_batch: every find has its pages come; or none does, and reads them where they are.
TEST_P(Larger, EveryOperationAgreesWithTheOracle) {
  TSR_TRACE_SEED;
  for (uint64_t page_batch : {1, 0}) {
    Random random(1 + page_batch);
    create(GetParam().recipe, travelling(page_batch));
    ASSERT_NE(table_, nullptr);
    Exercise::Options options;
    options.slots = 2000;
    options.operations = 50;
    options.batch_max = 900;
    EXPECT_EQ(Exercise(*table_, GetParam().recipe.duplicates, random, options).run(), "");
  }
}

INSTANTIATE_TEST_SUITE_P(OnCpu, Larger, testing::ValuesIn(enough_for_sanitizers(recipes())), name_of);

class OneTable : public testing::Test, protected Judged {
protected:
  static Recipe recipe() { return recipe_of("packed", "linear", {32, 32}, TSR_DUPLICATES_REPLACE); }

  Batch pairs(uint64_t first, uint64_t count) const {
    Batch batch;
    for (uint64_t key = first; key < first + count; key++) {
      batch.keys.push_back(key);
      batch.values.push_back(key * 7 % 1000);
    }
    return batch;
  }

  CompositionPointer composition(const std::vector<std::string> &settings) {
    SpecPointer spec = spec_of(recipe());
    tsr_composition *composed = nullptr;
    tsr_error error = {};
    std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    for (const std::string &setting : settings)
      EXPECT_EQ(tsr_spec_set(spec.get(), setting.c_str(), &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_compose(spec.get(), &options, 0, 1, &composed, &error), TSR_OK) << error.message;
    return CompositionPointer(composed);
  }
};

TEST_F(OneTable, TakesNoMoreOfTheDeviceThanItMay) {
  const uint64_t limits[] = {7 << 10, 16 << 10, 40000};
  for (uint64_t limit : limits) {
    CompositionPointer c = composition({"table.page_bytes=1Ki", "table.device_bytes=" + std::to_string(limit)});
    const uint64_t here = tsr_composition_bytes(c.get()) - tsr_composition_host_bytes(c.get());
    EXPECT_GE(c->window_pages, 1u);
    EXPECT_LE(here + tsr_composition_window_bytes(c.get()), limit);
    EXPECT_GT(here + tsr_composition_window_bytes(c.get()), limit / 2);
  }
  CompositionPointer whole = composition({"table.page_bytes=1Ki", "table.device_bytes=1Mi"});
  EXPECT_EQ(whole->window_pages, 0u);
  EXPECT_EQ(tsr_composition_host_bytes(whole.get()), 0u);
}

// One key after the other: runs of one page, and windows that have to be used again; then keys of no page.
TEST_F(OneTable, FewKeysTouchFewPages) {
  create(recipe(), travelling(1));
  ASSERT_NE(table_, nullptr);
  std::vector<uint64_t> asked;
  for (uint64_t i = 0; i < 40; i++) {
    Batch one = pairs(i * 1000, 1);
    insert(one);
    asked.push_back(i * 1000);
    if (HasFatalFailure()) return;
  }
  Batch reserved;
  reserved.keys = {0xFFFFFFFFu, 0xFFFFFFFEu, 17, 0xFFFFFFFFu};
  reserved.values = {1, 2, 3, 4};
  insert(reserved);
  asked.insert(asked.end(), reserved.keys.begin(), reserved.keys.end());
  expect_all(asked);
  Batch erased;
  erased.keys = {0xFFFFFFFFu, 3000, 4000};
  erase(erased);
  expect_all(asked);
}

TEST_F(OneTable, AClearedTableIsEmpty) {
  create(recipe(), travelling(1));
  ASSERT_NE(table_, nullptr);
  Batch batch = pairs(0, 2900), few = pairs(500, 3);
  insert(batch);
  ASSERT_EQ(table_->clear(), "");
  oracle_ = std::make_unique<Oracle>(TSR_DUPLICATES_REPLACE, 32);
  insert(few); /* into windows that still hold the pairs of before */
  expect_all(batch.keys);
}

TEST_F(OneTable, TravelsThroughAFile) {
  create(recipe(), travelling(1));
  ASSERT_NE(table_, nullptr);
  Batch batch = pairs(0, 2500);
  insert(batch);
  char path[] = "/tmp/tessera-larger.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  std::string directories = plugin_directories();
  tsr_load_options options = {};
  options.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_table_save(table_->get(), path, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_table_load(path, &options, &loaded, &error), TSR_OK) << error.message;
  unlink(path);
  ASSERT_NE(loaded, nullptr);
  table_->replace(loaded);
  expect_all(batch.keys);
  tsr_rehash_options rehash = {};
  rehash.seed = 12;
  ASSERT_EQ(tsr_rehash(table_->get(), &rehash, &error), TSR_OK) << error.message;
  expect_all(batch.keys);
}

// All numbers, the even ones, and all again: runs of pages meet where either table is in the host's memory.
TEST_F(OneTable, JoinsTablesOfBothKinds) {
  SpecPointer spec = spec_of(recipe());
  tsr_error error = {};
  std::vector<tsr_table *> tables;
  for (const char *limit : {"table.device_bytes=40Ki", "table.device_bytes=0", "table.device_bytes=48Ki"}) {
    for (const std::string &setting : travelling(1))
      ASSERT_EQ(tsr_spec_set(spec.get(), setting.c_str(), &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_spec_set(spec.get(), limit, &error), TSR_OK) << error.message;
    tables.push_back(made(spec.get()));
    ASSERT_NE(tables.back(), nullptr);
    std::vector<uint32_t> keys, values;
    for (uint32_t i = 0; i < 2400; i++) {
      keys.push_back(i * (tables.size() == 2 ? 2 : 1));
      values.push_back(keys.back() + static_cast<uint32_t>(tables.size()));
    }
    ASSERT_EQ(tsr_insert(tables.back(), keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK)
        << error.message;
  }
  for (uint32_t pair = 0; pair < 9; pair++) {
    tsr_table *left = tables[pair / 3], *right = tables[pair % 3];
    const uint64_t one = pair / 3 + 1, other = pair % 3 + 1;
    const uint64_t both = (one == 2) == (other == 2) ? 2400 : 1200;
    uint64_t inner = 0, all = 0, sums = 0;
    std::vector<uint32_t> keys(both), lefts(both), rights(both);
    tsr_join_rows rows = {};
    rows.room = both;
    rows.keys = keys.data();
    rows.left_values = lefts.data();
    rows.right_values = rights.data();
    EXPECT_EQ(tsr_join(left, right, TSR_JOIN_UNION, nullptr, &all, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, &rows, &inner, &error), TSR_OK) << error.message;
    EXPECT_STREQ(tsr_join_way(right), "page by page");
    EXPECT_EQ(all, 4800 - both);
    ASSERT_EQ(inner, both);
    for (uint64_t i = 0; i < both; i++) {
      EXPECT_EQ(lefts[i], keys[i] + one);
      EXPECT_EQ(rights[i], keys[i] + other);
    }
    std::sort(keys.begin(), keys.end());
    for (uint64_t i = 0; i < both; i++) EXPECT_EQ(keys[i], i * (one == 2 || other == 2 ? 2 : 1));
    std::vector<uint64_t> aggregates(both);
    rows = {};
    rows.room = both;
    rows.aggregates = aggregates.data();
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_SUM, &rows, &sums, &error), TSR_OK) << error.message;
    EXPECT_EQ(sums, both);
    EXPECT_EQ(std::accumulate(aggregates.begin(), aggregates.end(), uint64_t{0}),
              std::accumulate(rights.begin(), rights.end(), uint64_t{0}));
    rows.room = both - 1;
    EXPECT_EQ(tsr_join(left, right, TSR_JOIN_SUM, &rows, &sums, &error), TSR_BAD_ARGUMENT);
    EXPECT_EQ(sums, both);
  }
  const uint32_t last = ~uint32_t{0}; // is behind all pages, so that they do not meet
  uint64_t inner = 0;
  for (int i = 0; i < 2; i++)
    ASSERT_EQ(tsr_insert(tables[i], 1, &last, &last, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_join(tables[1], tables[0], TSR_JOIN_INNER, nullptr, &inner, &error), TSR_OK) << error.message;
  EXPECT_STREQ(tsr_join_way(tables[0]), "by a find of each left key");
  EXPECT_EQ(inner, 1201u);
  for (tsr_table *table : tables) tsr_table_destroy(table);
}

TEST_F(OneTable, IsRefusedWhereItCannotBe) {
  const std::string limit = "table.device_bytes=16Ki", pages = "table.page_bytes=1Ki";
  const std::vector<std::pair<const char *, const char *>> refused = {
      {"table.page_bytes=0", "add page_bytes = auto"},
      {"table.growth=double", "does not grow"},
      {"table.stash=10", "a stash has pairs of all pages"},
      {"table.concurrency=mixed", "use phased"},
      {"table.devices=0,0", "one device"},
      {"table.device_bytes=2Ki", "at least"}};
  for (const auto &[setting, word] : refused) {
    const std::string why = refusal_of(recipe(), {pages.c_str(), limit.c_str(), setting});
    EXPECT_NE(why.find(word), std::string::npos) << setting << ": " << why;
  }
}

} // namespace
} // namespace tessera_test
