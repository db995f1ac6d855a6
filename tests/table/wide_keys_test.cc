// SPDX-License-Identifier: Apache-2.0
//
// Keys of 128 bits on the cpu backend, compared with the oracle: of every kind, layout and scheme that carries them. Many of
// the keys differ in one half alone, and some are all ones in one half (../oracle/subject.h, Keys). Tables that are full,
// that grow, are rehashed, saved and loaded; and what is refused. Read next: judged.h.
#include <gtest/gtest.h>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *layout, *probing, *hasher;
  uint32_t value_bits, policy;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.layout << ", " << c.probing << ", " << c.value_bits; }

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return std::string(c.layout) + "_" + c.probing + "_" + c.hasher + "_" + policy_words[c.policy] + "_" +
         std::to_string(c.value_bits);
}

Recipe recipe_of(const Case &c) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = c.layout;
  recipe.part[TSR_ROLE_PROBING] = c.probing;
  recipe.part[TSR_ROLE_HASHER] = c.hasher;
  if (recipe.part[TSR_ROLE_LAYOUT] == "slab") recipe.part[TSR_ROLE_ALLOCATOR] = "slab";
  recipe.key_bits = 128;
  recipe.value_bits = c.value_bits;
  recipe.duplicates = c.policy;
  return recipe;
}

constexpr Case cases[] = {
    {"packed", "linear", "murmur3", 0, TSR_DUPLICATES_FIRST},
    {"packed", "cuckoo", "xxhash", 0, TSR_DUPLICATES_FIRST},
    {"packed", "iceberg", "murmur3_full", 0, TSR_DUPLICATES_FIRST},
    {"packed", "double_hashing", "murmur3", 0, TSR_DUPLICATES_KEEP},
    {"packed", "robin_hood", "xxhash", 0, TSR_DUPLICATES_FIRST},
    {"tagged", "linear", "murmur3", 0, TSR_DUPLICATES_FIRST},
    {"slab", "slab_list", "murmur3", 0, TSR_DUPLICATES_FIRST},
    {"slab", "slab_list", "murmur3", 0, TSR_DUPLICATES_KEEP},
    {"aos", "two_choice", "xxhash", 0, TSR_DUPLICATES_FIRST},
    {"aos", "quadratic", "murmur3", 0, TSR_DUPLICATES_PROMISE_UNIQUE},
    {"soa", "linear", "murmur3", 32, TSR_DUPLICATES_FIRST},
    {"soa", "double_hashing", "xxhash", 32, TSR_DUPLICATES_REPLACE},
    {"soa", "linear", "murmur3_full", 64, TSR_DUPLICATES_ADD},
    {"soa", "quadratic", "murmur3", 64, TSR_DUPLICATES_MIN},
    {"soa", "double_hashing", "murmur3", 32, TSR_DUPLICATES_MAX},
    {"soa", "linear", "murmur3", 32, TSR_DUPLICATES_COUNT},
    {"soa", "linear", "xxhash", 32, TSR_DUPLICATES_KEEP},
    {"soa", "two_choice", "murmur3", 64, TSR_DUPLICATES_FIRST},
};

class WideKeys : public testing::TestWithParam<Case>, protected Judged {
protected:
  Batch batch_of(uint64_t n, uint64_t distinct, Random *random) {
    const bool is_unique = GetParam().policy == TSR_DUPLICATES_PROMISE_UNIQUE;
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      batch.keys.push_back(is_unique ? next_key_++ : ~uint64_t{0} - random->below(distinct));
      batch.values.push_back(GetParam().value_bits ? random->bits(GetParam().value_bits) : 0);
    }
    return batch;
  }

  uint64_t next_key_ = 1;
};

TEST_P(WideKeys, AgreeWithTheOracle) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  for (uint64_t round = 0; round < (sanitized ? 3 : 12); round++) {
    SCOPED_TRACE(round);
    Random random(100 + round);
    ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam())));
    Exercise::Options options;
    options.slots = info().slots;
    EXPECT_EQ(Exercise(*table_, GetParam().policy, random, options).run(), "");
  }
}

// Where operations of all kinds overlap, of layouts of whole pairs.
TEST_P(WideKeys, AgreeWhereOperationsOverlap) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  Recipe recipe = recipe_of(GetParam());
  recipe.mixed = true;
  tsr_error error = {};
  if (GetParam().value_bits || !compose(recipe, 1, &error)) return;
  for (uint64_t round = 0; round < (sanitized ? 2 : 6); round++) {
    Random random(200 + round);
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Exercise::Options options;
    options.slots = info().slots;
    options.mixes = true;
    EXPECT_EQ(Exercise(*table_, GetParam().policy, random, options).run(), "");
  }
}

// Behind a filter, with a stash, and with statistics.
TEST_P(WideKeys, AgreeWithWhatElseATableHas) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  for (int what = 0; what < 3; what++) {
    SCOPED_TRACE(what);
    Recipe recipe = recipe_of(GetParam());
    if (what == 0) recipe.filter = 8;
    if (what == 1) recipe.stash = 16;
    if (what == 2) recipe.statistics = true;
    tsr_error error = {};
    if (!compose(recipe, 1, &error)) continue;
    Random random(300 + static_cast<uint64_t>(what));
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Exercise::Options options;
    options.slots = info().slots;
    EXPECT_EQ(Exercise(*table_, GetParam().policy, random, options).run(), "");
  }
}

TEST_P(WideKeys, NoneAndOne) {
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam())));
  Batch none, one;
  ASSERT_NO_FATAL_FAILURE(insert(none));
  ASSERT_NO_FATAL_FAILURE(expect_all({}));
  one.keys = {~uint64_t{0}};
  one.values = {GetParam().value_bits ? 5u : 0u};
  ASSERT_NO_FATAL_FAILURE(insert(one));
  ASSERT_NO_FATAL_FAILURE(expect_all({~uint64_t{0}, ~uint64_t{1}, 0, 7}));
}

// Many items of few keys at once: each is in the table once, the two that mark slots as well.
TEST_P(WideKeys, RacesOfEqualKeys) {
  const uint64_t n = scaled(40000);
  if (!TSR_POLICY_LOOKS(GetParam().policy) || GetParam().policy == TSR_DUPLICATES_KEEP) return;
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=2000"}));
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}, uint64_t{1000}}) {
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      batch.keys.push_back(~uint64_t{0} - i % distinct);
      batch.values.push_back(GetParam().value_bits ? i & 0xFF : 0);
    }
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_NO_FATAL_FAILURE(expect_all(batch.keys));
  }
}

TEST_P(WideKeys, Grow) {
  Random random(4);
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=50", "table.growth=double"}));
  for (int call = 0; call < 3; call++) {
    Batch batch = batch_of(scaled(9000), 30000, &random);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(batch.keys));
    if (GetParam().policy == TSR_DUPLICATES_PROMISE_UNIQUE) continue;
    Batch some = batch_of(100, 30000, &random);
    ASSERT_NO_FATAL_FAILURE(erase(some));
  }
  EXPECT_GE(info().capacity, oracle_->size());
}

TEST_P(WideKeys, AreRehashedSavedAndLoaded) {
  Random random(8);
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=4000"}));
  Batch batch = batch_of(2000, 3000, &random);
  const std::vector<uint64_t> keys = batch.keys;
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  tsr_error error = {};
  tsr_rehash_options options = {};
  options.capacity = 9000;
  options.seed = 9;
  ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  const std::string path = testing::TempDir() + "/wide_keys.tsr", directories = plugin_directories();
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, 128, GetParam().value_bits);
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  Batch more = batch_of(200, 3000, &random);
  ASSERT_NO_FATAL_FAILURE(insert(more));
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
}

INSTANTIATE_TEST_SUITE_P(All, WideKeys, testing::ValuesIn(cases), name_of);

// Rows of value_bytes: the slot has the key and the number of a row.
class WideKeysOfRows : public testing::Test, protected Judged {};

TEST_F(WideKeysOfRows, AgreeWithTheOracle) {
  TSR_ONE_THREAD;
  for (uint32_t policy : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_REPLACE, TSR_DUPLICATES_KEEP}) {
    Recipe recipe = recipe_of({"soa", "linear", "murmur3", 64, policy});
    recipe.value_bytes = 48;
    Random random(policy);
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Exercise::Options options;
    options.slots = info().slots;
    options.erases_pairs = false;
    EXPECT_EQ(Exercise(*table_, policy, random, options).run(), "") << policy;
  }
}

TEST(WideKeysOfAFilter, AreNeverMissed) {
  const char text[] = "[table]\nkind = filter\nkey_bits = 128\ncapacity = 5000\nhasher = xxhash\nbackend = cpu\n";
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_spec_parse(text, "filter", &spec, &error), TSR_OK) << error.message;
  tsr_table *filter = made(spec);
  tsr_spec_free(spec);
  ASSERT_NE(filter, nullptr);
  std::vector<uint64_t> numbers(10000);
  for (uint64_t i = 0; i < numbers.size(); i++) numbers[i] = ~i * 0x9E3779B97F4A7C15u;
  Keys keys(128, numbers);
  std::vector<uint8_t> present(numbers.size());
  ASSERT_EQ(tsr_insert(filter, 5000, keys.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_contains(filter, numbers.size(), keys.data(), present.data(), nullptr, &error), TSR_OK);
  EXPECT_EQ(std::count(present.begin(), present.begin() + 5000, 1), 5000);
  EXPECT_LT(std::count(present.begin() + 5000, present.end(), 1), 250);
  tsr_table_destroy(filter);
}

TEST(WideKeysSpec, IsChecked) {
  const struct {
    const char *word;
    std::vector<const char *> settings;
  } refused[] = {
      {"32 | 64 | 96 | 128; a shorter key is one of 128 bits", {"table.key_bits=80"}},
      {"kind = set", {"table.layout=packed"}},
      {"kind = set", {"table.layout=aos"}},
      {"has no code", {"table.layout=quotient"}},
      {"kind = set", {"table.layout=tagged"}},
      {"has no code", {"table.hasher=wang"}},
      {"`tessera list hasher`", {"table.hasher=identity"}},
      {"has no code", {"table.probing=hashgraph"}},
      {"at most 64 bits", {"table.page_bytes=auto"}},
  };
  for (const auto &r : refused) {
    const std::string why = refusal_of(recipe_of({"soa", "linear", "murmur3", 32, TSR_DUPLICATES_FIRST}), r.settings);
    EXPECT_NE(why.find(r.word), std::string::npos) << r.word << ": " << why;
  }
}

// A device that has no compare-and-swap of 128 bits.
TEST(WideKeysSpec, NeedsAtomicsOfThatWidth) {
  for (const char *layout : {"soa", "packed", "aos"}) {
    tsr_error error = {};
    const Recipe recipe = recipe_of({layout, "linear", "murmur3", 0, TSR_DUPLICATES_FIRST});
    EXPECT_EQ(compose(recipe, 1, &error, 80), nullptr);
    EXPECT_NE(strstr(error.message, "9.0"), nullptr) << error.message;
    expect_sentence(error, layout);
    EXPECT_NE(compose(recipe, 1, &error, 90), nullptr) << error.message;
  }
}

} // namespace
} // namespace tessera_test
