// SPDX-License-Identifier: Apache-2.0
//
// Finds and erases in the order of zones, on the cpu backend, beside the oracle: every layout and scheme that can have
// pages, filters, rows, tiles that are full and that are not. tests/device has the same on a GPU. Read next: judged.h.
#include <gtest/gtest.h>

#include <sstream>

#include "core/batch/plan.h"
#include "core/batch/zones.h"
#include "core/compose/compose.h"
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
  recipe.capacity = 20000;
  recipe.load_factor = "0.6";
  return recipe;
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  const Widths widths[] = {{32, 32}, {64, 64}, {64, 32}, {32, 0}, {64, 0}};
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING)) {
      const uint32_t duplicates = tried % 2 ? TSR_DUPLICATES_KEEP : TSR_DUPLICATES_FIRST;
      const Recipe recipe = recipe_of(layout, probing, widths[tried++ % 5], duplicates);
      tsr_error error = {};
      if (sanitized && layout != "packed") continue;
      CompositionPointer composition = compose(recipe, 1, &error);
      if (composition && !composition->shape.has_link && !tsr_is_whole(&composition->shape)) result.push_back(recipe);
    }
  return result;
}

std::string name_of(const testing::TestParamInfo<Recipe> &info) {
  const Recipe &r = info.param;
  std::ostringstream name;
  name << r.part[TSR_ROLE_LAYOUT] << "_" << r.part[TSR_ROLE_PROBING] << "_" << r.duplicates << "_" << r.key_bits << "_"
       << r.value_bits;
  return name.str();
}

// Keys that are there and that are not, some of them twice, and those whose bits mark slots.
Batch asked(uint64_t n, uint32_t key_bits, Random *random) {
  const uint64_t last = ~uint64_t{0} >> (64 - key_bits);
  Batch batch;
  for (uint64_t i = 0; i < n; i++)
    batch.keys.push_back(i % 100 == 7 ? last - i % 3 : random->below(30000) * 0x9E3779B1u & last);
  return batch;
}

class Zones : public testing::TestWithParam<Recipe>, protected Judged {
protected:
  void fill(uint64_t n, Random *random) {
    Batch batch = asked(n, GetParam().key_bits, random);
    for (uint64_t i = 0; i < n; i++) batch.values.push_back(GetParam().value_bits ? random->below(1000) : 0);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
  }
  void contain(Batch &batch) {
    ASSERT_EQ(table_->contains(batch), "");
    ASSERT_EQ(oracle_->contains(batch), "");
  }
};

TEST_P(Zones, EveryAnswerComesBackToItsKey) {
  TSR_TRACE_SEED;
  Random random(1);
  ASSERT_NO_FATAL_FAILURE(create(GetParam(), {"table.page_bytes=4Ki", "table.find_batch=1", "table.stash=64"}));
  ASSERT_NO_FATAL_FAILURE(fill(9000, &random));
  uint64_t zoned = 0;
  constexpr int tile = TSR_RUNS_TILE;
  for (int items : {0, 1, 2, tile - 1, tile, tile + 1, 2 * tile + 77}) {
    const uint64_t n = static_cast<uint64_t>(items);
    SCOPED_TRACE(n);
    Batch batch = asked(n, GetParam().key_bits, &random);
    ASSERT_NO_FATAL_FAILURE(expect_all(batch.keys));
    ASSERT_NO_FATAL_FAILURE(contain(batch));
    zoned += (GetParam().value_bits ? 4 : 2) * n; /* count_all, find_all, find, contains */
    EXPECT_EQ(report().zoned, zoned);
  }
  for (uint64_t n : {uint64_t{1}, uint64_t{TSR_RUNS_TILE + 5}}) {
    Batch gone = asked(n, GetParam().key_bits, &random);
    ASSERT_NO_FATAL_FAILURE(erase(gone));
    EXPECT_EQ(report().zoned, zoned += n);
  }
  Batch all = asked(9000, GetParam().key_bits, &random);
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
}

// Nobody wants results of a find or of an erase.
TEST_P(Zones, WithoutSomeOfTheAnswers) {
  TSR_TRACE_SEED;
  Random random(2);
  ASSERT_NO_FATAL_FAILURE(create(GetParam(), {"table.page_bytes=4Ki", "table.find_batch=1"}));
  ASSERT_NO_FATAL_FAILURE(fill(5000, &random));
  Batch batch = asked(TSR_RUNS_TILE + 100, GetParam().key_bits, &random);
  const Array keys(GetParam().key_bits, batch.keys);
  const uint64_t n = batch.keys.size();
  Array again = keys, values(GetParam().value_bits, n);
  tsr_error e = {};
  if (GetParam().value_bits) {
    ASSERT_EQ(tsr_find(table_->get(), n, again.data(), values.data(), nullptr, &e), TSR_OK) << e.message;
    ASSERT_EQ(table_->find(batch, 0), "");
    ASSERT_EQ(oracle_->find(batch, 0), "");
    if (GetParam().duplicates == TSR_DUPLICATES_FIRST) {
      ASSERT_EQ(values.numbers(n), batch.values);
    }
  }
  ASSERT_EQ(tsr_erase(table_->get(), n, again.data(), nullptr, &e), TSR_OK) << e.message;
  EXPECT_EQ(report().zoned, (GetParam().value_bits ? 3 : 1) * n);
  uint64_t left = 0;
  Batch none = batch;
  ASSERT_EQ(table_->contains(none), "");
  for (uint8_t code : none.codes) left += code;
  EXPECT_EQ(left, 0u);
}

// All keys of a batch in one zone, and each key many times.
TEST_P(Zones, OfEqualKeys) {
  TSR_TRACE_SEED;
  Random random(3);
  ASSERT_NO_FATAL_FAILURE(create(GetParam(), {"table.page_bytes=4Ki", "table.find_batch=1"}));
  ASSERT_NO_FATAL_FAILURE(fill(3000, &random));
  Batch batch;
  batch.keys.assign(TSR_RUNS_TILE + 3, asked(1, GetParam().key_bits, &random).keys[0]);
  ASSERT_NO_FATAL_FAILURE(contain(batch));
  ASSERT_EQ(table_->count_all(batch), "");
  ASSERT_EQ(oracle_->count_all(batch), "");
}

INSTANTIATE_TEST_SUITE_P(OnCpu, Zones, testing::ValuesIn(recipes()), name_of);

class Others : public testing::Test, protected Judged {};

TEST_F(Others, RowsComeBackWithTheirKeys) {
  Random random(4);
  Recipe recipe = recipe_of("packed", "cuckoo", {64, 64}, TSR_DUPLICATES_FIRST);
  recipe.value_bytes = 48;
  ASSERT_NO_FATAL_FAILURE(create(recipe, {"table.page_bytes=4Ki", "table.find_batch=1"}));
  Batch batch = asked(9000, 64, &random);
  for (uint64_t i = 0; i < 9000; i++) batch.values.push_back(random.bits(64));
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  Batch more = asked(TSR_RUNS_TILE + 9, 64, &random);
  ASSERT_NO_FATAL_FAILURE(expect_all(more.keys));
  EXPECT_GT(report().zoned, 0u);
}

TEST_F(Others, AFilterForgetsNothing) {
  for (const char *bits : {"table.key_bits=32", "table.key_bits=64"}) {
    tsr_spec *read = nullptr;
    tsr_error e = {};
    ASSERT_EQ(
        tsr_spec_parse("[table]\nkind = filter\nkey_bits = 32\ncapacity = 50000\nhasher = murmur3\nbackend = cpu\n"
                       "find_batch = 1\n[filter]\nbits_per_key = 16\n",
                       "filter", &read, &e),
        TSR_OK)
        << e.message;
    const SpecPointer spec(read);
    ASSERT_EQ(tsr_spec_set(read, bits, &e), TSR_OK);
    Table table(made(read), bits[strlen(bits) - 2] == '3' ? 32 : 64, 0);
    Batch batch;
    for (uint64_t i = 0; i < 40000; i++) batch.keys.push_back(i * 7919);
    Batch there = batch, absent;
    ASSERT_EQ(table.insert(batch), "");
    ASSERT_EQ(table.contains(there), "");
    for (uint8_t code : there.codes) ASSERT_EQ(code, 1);
    for (uint64_t i = 0; i < 40000; i++) absent.keys.push_back(i * 7919 + 1);
    ASSERT_EQ(table.contains(absent), "");
    uint64_t passed = 0;
    for (uint8_t code : absent.codes) passed += code;
    EXPECT_LT(passed, 400u);
    tsr_report report = {};
    ASSERT_EQ(tsr_table_report(table.get(), &report, &e), TSR_OK);
    EXPECT_EQ(report.zoned, 80000u);
  }
}

// Where there are no pages, the line has no effect, and is refused.
TEST_F(Others, AreRefusedWithoutPages) {
  const Recipe recipe = recipe_of("packed", "linear", {32, 32}, TSR_DUPLICATES_FIRST);
  EXPECT_NE(refusal_of(recipe, {"table.find_batch=17"}).find("there are no pages"), std::string::npos);
  EXPECT_EQ(refusal_of(recipe, {"table.page_bytes=auto", "table.find_batch=auto"}), "");
}

} // namespace
} // namespace tessera_test
