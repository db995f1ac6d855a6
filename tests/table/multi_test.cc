// SPDX-License-Identifier: Apache-2.0
//
// Multisets and multimaps behind the public API, on the cpu backend: races of equal keys, growing, rebuilding, saving,
// reserved keys and wrong arguments, for every layout and scheme that can hold them. That random operations agree with
// the oracle is tested by ../conformance.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "core/tessera_tools.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

Recipe recipe_of(const std::string &layout, const std::string &probing, uint32_t value_bits = 32) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = probing;
  recipe.part[TSR_ROLE_HASHER] = plugins_of(TSR_ROLE_HASHER)[0];
  recipe.value_bits = value_bits;
  recipe.duplicates = TSR_DUPLICATES_KEEP;
  return recipe;
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  if (plugins_of(TSR_ROLE_HASHER).empty()) return result;
  std::vector<std::string> allocators = plugins_of(TSR_ROLE_ALLOCATOR);
  allocators.insert(allocators.begin(), "");
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (const std::string &allocator : allocators) {
        tsr_error error = {};
        Recipe recipe = recipe_of(layout, probing);
        recipe.part[TSR_ROLE_ALLOCATOR] = allocator;
        CompositionPointer composition = compose(recipe, 1, &error);
        if (!composition) continue;
        result.push_back(recipe);
        break; // the other allocators: lists_test.cc
      }
  return result;
}

std::string recipe_name(const testing::TestParamInfo<Recipe> &info) {
  return info.param.part[TSR_ROLE_LAYOUT] + "_" + info.param.part[TSR_ROLE_PROBING];
}

class Special : protected Judged {
protected:
  void reserved_keys_hold(Recipe recipe, uint64_t slack, const std::vector<std::string> &more = {});
};

class Multi : public testing::TestWithParam<Recipe>, protected Special {
protected:
  static Batch batch_of(uint64_t n, uint64_t distinct, Random *random) {
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      batch.keys.push_back(i % distinct * 2654435761u & 0xFFFFFFFFu);
      batch.values.push_back(random->bits(8)); // equal pairs too
    }
    return batch;
  }
};

// Keys with the bits of an empty or erased slot have as many pairs as any other key, beside those of the key that they are
// stored as, in a table that is nearly full, in one that grows, and with a stash.
void Special::reserved_keys_hold(Recipe recipe, uint64_t slack, const std::vector<std::string> &more) {
  const uint64_t all = recipe.key_bits == 32 ? 0xFFFFFFFFu : ~UINT64_C(0), each = 240;
  const std::vector<uint64_t> special = {all, all - 1, all - 2, 0, 1};
  const std::vector<std::vector<std::string>> usual = {{},
                                                       {"table.growth=double", "table.capacity=16"},
                                                       {"table.stash=32"},
                                                       {"table.page_bytes=auto", "table.page_batch=1"}};
  const auto cases = more.empty() ? usual : std::vector<std::vector<std::string>>{more};
  for (const std::vector<std::string> &settings : cases) {
    SCOPED_TRACE(settings.empty() ? "" : settings[0]);
    Random random(2);
    recipe.capacity = special.size() * each * slack / 4;
    if (!refusal_of(recipe, {settings.empty() ? "table.seed=1" : settings[0].c_str()}).empty()) continue;
    ASSERT_NO_FATAL_FAILURE(create(recipe, settings));
    for (uint64_t round = 0; round < 3; round++) {
      for (uint64_t first = 0; first < each; first += 60) { // in turns, so that they meet
        Batch batch;
        for (uint64_t i = 0; i < 60 * special.size(); i++) {
          batch.keys.push_back(special[random.below(special.size())]);
          batch.values.push_back(random.below(50));
        }
        ASSERT_NO_FATAL_FAILURE(insert(batch));
      }
      EXPECT_EQ(oracle_->handed_back(), 0u);
      ASSERT_NO_FATAL_FAILURE(expect_all({all, all - 1, all - 2, 0, 1, 2}));
      Batch some;
      for (uint64_t i = 0; i < 200; i++) {
        some.keys.push_back(special[random.below(special.size())]);
        some.values.push_back(random.below(50));
      }
      ASSERT_EQ(table_->erase_pairs(some), "");
      ASSERT_EQ(oracle_->erase_pairs(some), "");
      ASSERT_NO_FATAL_FAILURE(expect_all({all, all - 1, all - 2, 0, 1, 2}));
      Batch gone;
      gone.keys = round == 0 ? std::vector<uint64_t>{all} : special;
      ASSERT_NO_FATAL_FAILURE(erase(gone));
      ASSERT_NO_FATAL_FAILURE(expect_all({all, all - 1, all - 2, 0, 1, 2}));
      if (round == 0) { // what is left makes room again
        Batch rest;
        rest.keys = {all - 1, all - 2, 0, 1};
        ASSERT_NO_FATAL_FAILURE(erase(rest));
      }
    }
  }
}

// Threads insert and erase the same keys and pairs at a time: none is lost, none is taken twice.
TEST_P(Multi, RacesOfEqualKeys) {
  TSR_TRACE_SEED;
  const uint64_t most = scaled(5000, 2); // an insert walks past all equal keys
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}, most / 3}) {
    if (sanitized && distinct == 1) continue; // seven keys are as much of a race, at a seventh of the time
    SCOPED_TRACE(distinct);
    Random random(distinct);
    Recipe recipe = GetParam();
    const uint64_t n = distinct == 1 ? most / 2 : most;
    recipe.capacity = 2 * n;
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Batch one = batch_of(n, distinct, &random), two = batch_of(n, distinct, &random);
    const std::vector<uint64_t> keys(one.keys.begin(), one.keys.begin() + static_cast<long>(distinct));
    ASSERT_NO_FATAL_FAILURE(insert(one));
    ASSERT_NO_FATAL_FAILURE(insert(two));
    ASSERT_EQ(oracle_->size(), 2 * n);
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    Batch pairs = one; // each pair of the first batch asked for twice
    pairs.keys.insert(pairs.keys.end(), one.keys.begin(), one.keys.end());
    pairs.values.insert(pairs.values.end(), one.values.begin(), one.values.end());
    ASSERT_EQ(table_->erase_pairs(pairs), "");
    ASSERT_EQ(oracle_->erase_pairs(pairs), "");
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    ASSERT_NO_FATAL_FAILURE(insert(one)); // into erased slots
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    Batch gone = two;
    ASSERT_EQ(table_->erase(gone), "");
    ASSERT_EQ(oracle_->erase(gone), "");
    ASSERT_EQ(oracle_->size(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
}

TEST_P(Multi, GrowsWithItsPairs) {
  TSR_TRACE_SEED;
  Random random(1);
  Recipe recipe = GetParam();
  recipe.capacity = 16;
  ASSERT_NO_FATAL_FAILURE(create(recipe, {"table.growth=double"}));
  std::vector<uint64_t> keys;
  for (int call = 0; call < 3; call++) {
    Batch batch = batch_of(scaled(9000), 500, &random);
    keys.assign(batch.keys.begin(), batch.keys.begin() + 500);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    Batch some = batch_of(100, 100, &random);
    ASSERT_EQ(table_->erase(some), "");
    ASSERT_EQ(oracle_->erase(some), "");
    Batch pairs = batch;
    pairs.keys.resize(300), pairs.values.resize(300);
    ASSERT_EQ(table_->erase_pairs(pairs), "");
    ASSERT_EQ(oracle_->erase_pairs(pairs), "");
  }
  EXPECT_GE(info().capacity, oracle_->size());
  EXPECT_LT(info().capacity, 8 * oracle_->size());
}

TEST_P(Multi, ReservedKeysHaveAsManyPairsAsOthers) {
  TSR_TRACE_SEED;
  reserved_keys_hold(GetParam(), 5); // the last units of lists have empty slots
}

class MultiOfShortKeys : public testing::Test, protected Special {};

// Where a slot holds a part of a hash, they are all in the page of key 0, one of four.
TEST_F(MultiOfShortKeys, ReservedKeysHaveAsManyPairsAsOthers) {
  TSR_TRACE_SEED;
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (uint32_t key_bits : {32u, 64u}) {
        tsr_error error = {};
        Recipe recipe = recipe_of(layout, probing, key_bits);
        recipe.key_bits = key_bits;
        recipe.part[TSR_ROLE_HASHER] = "murmur3"; // a bijection
        CompositionPointer composition = compose(recipe, 1, &error);
        if (!composition || !composition->shape.short_keys || (finds_races && key_bits == 64)) continue;
        SCOPED_TRACE(recipe);
        reserved_keys_hold(recipe, 16);
        // ... which comes to the device in turn with the others, and is the last one
        reserved_keys_hold(recipe, 32,
                           {"table.page_bytes=" + std::to_string(key_bits / 2) + "Ki",
                            "table.device_bytes=" + std::to_string(key_bits * 2) + "Ki", "table.page_batch=1"});
        tried++;
      }
  EXPECT_GT(tried, 0u);
}

TEST_P(Multi, IsRebuiltSavedAndLoaded) {
  TSR_TRACE_SEED;
  Random random(3);
  Recipe recipe = GetParam();
  recipe.capacity = 3000;
  ASSERT_NO_FATAL_FAILURE(create(recipe));
  Batch batch = batch_of(3000, 400, &random);
  for (size_t i = 0; i < 130; i++) batch.keys[5 + 20 * i] = i % 3 ? 0xFFFFFFFEu + i % 3 - 1 : 0;
  const std::vector<uint64_t> keys = batch.keys;
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  tsr_error error = {};
  for (uint64_t capacity : {20000u, 3000u}) {
    tsr_rehash_options options = {};
    options.capacity = capacity;
    options.seed = capacity;
    ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
  for (const Recipe &other : recipes()) { // other parts
    SpecPointer spec = spec_of(other);
    tsr_rehash_options options = {};
    options.spec = spec.get();
    ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
  Recipe map = recipe;
  map.duplicates = TSR_DUPLICATES_FIRST;
  SpecPointer spec = spec_of(map);
  tsr_rehash_options options = {};
  options.spec = spec.get();
  ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_UNSUPPORTED);
  EXPECT_NE(strstr(error.message, "multimap"), nullptr) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));

  std::string path = testing::TempDir() + "/multi.tsr", directories = plugin_directories();
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, 32, 32);
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
}

// Without values, k items of a key remove k of its pairs, whichever they are.
TEST_P(Multi, AnyPairsOfAKeyAreErased) {
  TSR_TRACE_SEED;
  for (uint32_t value_bits : {32u, 0u})
    for (uint32_t duplicates : {TSR_DUPLICATES_KEEP, TSR_DUPLICATES_FIRST}) {
      Recipe recipe = GetParam();
      recipe.value_bits = value_bits;
      recipe.duplicates = duplicates;
      recipe.capacity = 12000;
      std::ostringstream text;
      text << recipe;
      SCOPED_TRACE(text.str());
      tsr_error why = {};
      if (duplicates == TSR_DUPLICATES_FIRST && !compose(recipe, 1, &why)) continue; // it looks for no key
      ASSERT_NO_FATAL_FAILURE(create(recipe));
      Random random(4);
      Batch all = batch_of(9000, 700, &random);
      if (!value_bits) all.values.assign(all.keys.size(), 0);
      ASSERT_EQ(table_->insert(all), "");
      std::vector<uint64_t> asked_keys = {0x87654321u}; // one that is not there, and some more often than they are
      for (uint64_t i = 0; i < 5000; i++) asked_keys.push_back(all.keys[random.below(1 + random.below(700))]);
      const size_t n = asked_keys.size();
      Array keys(32, asked_keys);
      std::vector<uint8_t> codes(n, 255);
      tsr_error error = {};
      tsr_call call = {};
      call.results = codes.data();
      ASSERT_EQ(tsr_erase_pairs(table_->get(), n, keys.data(), nullptr, &call, &error), TSR_OK) << error.message;
      std::map<uint64_t, uint64_t> had, asked, erased, left;
      uint64_t all_erased = 0;
      for (size_t i = 0; i < all.keys.size(); i++) had[all.keys[i]] += all.codes[i] == TSR_INSERTED;
      for (size_t i = 0; i < n; i++) {
        ASSERT_TRUE(codes[i] == TSR_ERASED || codes[i] == TSR_MISSING) << int{codes[i]};
        asked[asked_keys[i]]++;
        erased[asked_keys[i]] += codes[i] == TSR_ERASED;
        all_erased += codes[i] == TSR_ERASED;
      }
      EXPECT_GT(all_erased, 0u);
      EXPECT_LT(all_erased, n);
      std::vector<uint64_t> left_keys, left_values;
      ASSERT_EQ(table_->exported(&left_keys, &left_values), "");
      for (uint64_t key : left_keys) left[key]++;
      for (const auto &entry : had) {
        ASSERT_EQ(erased[entry.first], std::min(asked[entry.first], entry.second)) << entry.first;
        ASSERT_EQ(left[entry.first], entry.second - erased[entry.first]) << entry.first;
      }
      EXPECT_EQ(report().erase_keys, n);
      EXPECT_EQ(report().erased, all_erased);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Multi, testing::ValuesIn(enough_for_sanitizers(recipes())), recipe_name);

// ---- Arguments ----------------------------------------------------------------------------------

// A table made of some layout and scheme that can hold many pairs of a key.
std::unique_ptr<Table> table_of(uint32_t value_bits, uint32_t duplicates) {
  Recipe recipe = recipes().at(0);
  recipe.value_bits = value_bits;
  recipe.duplicates = duplicates;
  return std::make_unique<Table>(made(spec_of(recipe).get()), 32, value_bits);
}

TEST(MultiArguments, AreChecked) {
  std::unique_ptr<Table> table = table_of(32, TSR_DUPLICATES_KEEP);
  tsr_table *t = table->get();
  uint32_t keys[3] = {1, 2, 3}, values[3] = {7, 7, 7};
  uint64_t offsets[4] = {9, 9, 9, 9};
  tsr_error e = {};
  expect_refused(tsr_count_all(nullptr, 3, keys, offsets, nullptr, &e), TSR_BAD_ARGUMENT, e, "NULL");
  expect_refused(tsr_count_all(t, 3, nullptr, offsets, nullptr, &e), TSR_BAD_ARGUMENT, e, "keys");
  expect_refused(tsr_count_all(t, 3, keys, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "counts");
  expect_refused(tsr_find_all(nullptr, 3, keys, offsets, 3, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "NULL");
  expect_refused(tsr_find_all(t, 3, nullptr, offsets, 3, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "keys");
  expect_refused(tsr_find_all(t, 3, keys, nullptr, 3, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "offsets");
  expect_refused(tsr_find_all(t, 3, keys, offsets, 3, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "room");
  expect_refused(tsr_find_all(t, 3, keys, offsets, ~uint64_t{0}, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "room");
  expect_refused(tsr_find_all(t, uint64_t{1} << 40, keys, offsets, 3, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "n =");
  expect_refused(tsr_erase_pairs(nullptr, 3, keys, values, nullptr, &e), TSR_BAD_ARGUMENT, e, "NULL");
  expect_refused(tsr_insert(t, 3, keys, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "values");
  expect_refused(tsr_find_or_insert(t, 3, keys, values, values, nullptr, &e), TSR_UNSUPPORTED, e, "every pair");
  EXPECT_EQ(offsets[0], 9u);
  EXPECT_EQ(values[0], 7u);
  ASSERT_EQ(tsr_find_all(t, 0, nullptr, offsets, 0, nullptr, nullptr, &e), TSR_OK) << e.message;
  EXPECT_EQ(offsets[0], 0u);
  EXPECT_EQ(offsets[1], 9u);
  EXPECT_EQ(tsr_count_all(t, 0, nullptr, nullptr, nullptr, &e), TSR_OK);
  EXPECT_EQ(tsr_erase_pairs(t, 0, nullptr, nullptr, nullptr, &e), TSR_OK);
}

TEST(MultiArguments, RoomIsKept) {
  std::unique_ptr<Table> table = table_of(32, TSR_DUPLICATES_KEEP);
  uint32_t keys[] = {5, 6, 5, 5, 6}, values[] = {1, 2, 3, 4, 5}, asked[] = {6, 7, 5}, found[6];
  uint64_t offsets[4];
  tsr_error e = {};
  ASSERT_EQ(tsr_insert(table->get(), 5, keys, values, nullptr, &e), TSR_OK) << e.message;
  for (uint64_t room = 0; room <= 6; room++) {
    memset(found, 0xAB, sizeof found);
    ASSERT_EQ(tsr_find_all(table->get(), 3, asked, offsets, room, room ? found : nullptr, nullptr, &e), TSR_OK);
    EXPECT_EQ(std::vector<uint64_t>(offsets, offsets + 4), (std::vector<uint64_t>{0, 2, 2, 5}));
    for (uint64_t i = 0; i < 6; i++) EXPECT_EQ(found[i] != 0xABABABABu, i < room && i < 5) << room << " " << i;
  }
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table->get(), &report, &e), TSR_OK);
  EXPECT_EQ(report.find_keys, 21u);
  EXPECT_EQ(report.found, 14u);
}

TEST(MultiArguments, SetsHaveNoValues) {
  for (uint32_t duplicates : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_KEEP}) {
    std::unique_ptr<Table> table = table_of(0, duplicates);
    uint32_t keys[] = {5, 6, 5}, values[3];
    uint64_t counts[4];
    tsr_error e = {};
    expect_refused(tsr_find_all(table->get(), 3, keys, counts, 3, values, nullptr, &e), TSR_UNSUPPORTED, e,
                   "tsr_count_all");
    ASSERT_EQ(tsr_insert(table->get(), 3, keys, nullptr, nullptr, &e), TSR_OK) << e.message;
    ASSERT_EQ(tsr_count_all(table->get(), 2, keys, counts, nullptr, &e), TSR_OK) << e.message;
    EXPECT_EQ(counts[0], duplicates == TSR_DUPLICATES_KEEP ? 2u : 1u);
    EXPECT_EQ(counts[1], 1u);
  }
}

// A map's key has one value, and its pair goes only with the right one.
TEST(MultiArguments, MapsAnswerToo) {
  std::unique_ptr<Table> table = table_of(32, TSR_DUPLICATES_REPLACE);
  uint32_t keys[] = {5, 6}, values[] = {50, 60}, found[2] = {0, 0}, wrong[] = {51, 60};
  uint64_t offsets[3];
  uint8_t codes[2];
  tsr_error e = {};
  tsr_call call = {};
  call.results = codes;
  ASSERT_EQ(tsr_insert(table->get(), 2, keys, values, nullptr, &e), TSR_OK) << e.message;
  ASSERT_EQ(tsr_find_all(table->get(), 2, keys, offsets, 2, found, nullptr, &e), TSR_OK) << e.message;
  EXPECT_EQ(offsets[2], 2u);
  EXPECT_EQ(found[0], 50u);
  EXPECT_EQ(found[1], 60u);
  ASSERT_EQ(tsr_erase_pairs(table->get(), 2, keys, wrong, &call, &e), TSR_OK) << e.message;
  EXPECT_EQ(codes[0], TSR_MISSING);
  EXPECT_EQ(codes[1], TSR_ERASED);
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(table->get(), &size, &e), TSR_OK);
  EXPECT_EQ(size, 1u);
}

TEST(MultiSpec, IsChecked) {
  struct Case {
    const char *setting, *word;
  };
  const Case cases[] = {{"table.duplicates=first", "keeps every pair"},
                        {"table.duplicates=promise_unique", "keeps every pair"},
                        {"table.kind=multiset", "a set has no values"},
                        {"table.kind=multimaps", "did you mean multimap"}};
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  for (const Case &c : cases) {
    SpecPointer spec = spec_of(recipes().at(0));
    tsr_error error = {};
    char *text = nullptr;
    ASSERT_EQ(tsr_spec_check(spec.get(), &options, &text, &error), TSR_OK) << error.message;
    EXPECT_EQ(strstr(text, "duplicates         "), nullptr) << "a multimap has no such setting:\n" << text;
    free(text);
    ASSERT_EQ(tsr_spec_set(spec.get(), c.setting, &error), TSR_OK);
    expect_refused(tsr_spec_check(spec.get(), &options, &text, &error), TSR_BAD_SPEC, error, c.word);
  }
  SpecPointer spec = spec_of(recipe_of("x", "y", 0));
  tsr_error error = {};
  char *text = nullptr;
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.kind=multimap", &error), TSR_OK);
  expect_refused(tsr_spec_check(spec.get(), &options, &text, &error), TSR_BAD_SPEC, error, "value_bits");
}

} // namespace
} // namespace tessera_test
