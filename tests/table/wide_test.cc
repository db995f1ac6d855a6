// SPDX-License-Identifier: Apache-2.0
//
// Values of value_bytes on the cpu backend, beside the oracle: of several schemes, layouts and policies, of lengths that
// are copied by words of 4, 8 and 16 bytes; rows that run out, tables that grow, are rehashed, saved and loaded, and what is
// refused. A value that was made of two is none (../oracle/subject.h). Read next: judged.h.
#include <gtest/gtest.h>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *layout, *probing, *allocator;
  uint32_t key_bits, value_bytes, policy;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.layout << ", " << c.probing << ", " << c.value_bytes; }

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return std::string(c.layout) + "_" + c.probing + "_" + policy_words[c.policy] + "_" + std::to_string(c.key_bits) +
         "_" + std::to_string(c.value_bytes);
}

Recipe recipe_of(const Case &c) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = c.layout;
  recipe.part[TSR_ROLE_PROBING] = c.probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.part[TSR_ROLE_ALLOCATOR] = c.allocator;
  recipe.key_bits = c.key_bits;
  recipe.value_bits = 64;
  recipe.value_bytes = c.value_bytes;
  recipe.duplicates = c.policy;
  recipe.capacity = 200;
  return recipe;
}

constexpr Case cases[] = {
    {"packed", "linear", "", 32, 16, TSR_DUPLICATES_FIRST},
    {"packed", "linear", "", 32, 64, TSR_DUPLICATES_REPLACE},
    {"packed", "cuckoo", "", 32, 24, TSR_DUPLICATES_FIRST},
    {"packed", "cuckoo", "", 64, 20, TSR_DUPLICATES_REPLACE},
    {"aos", "double_hashing", "", 64, 256, TSR_DUPLICATES_REPLACE},
    {"packed", "double_hashing", "", 64, 1040, TSR_DUPLICATES_REPLACE},
    {"aos", "quadratic", "", 32, 272, TSR_DUPLICATES_FIRST},
    {"packed", "robin_hood", "", 32, 48, TSR_DUPLICATES_REPLACE},
    {"packed", "two_choice", "", 32, 32, TSR_DUPLICATES_PROMISE_UNIQUE},
    {"slab", "slab_list", "slab", 32, 16, TSR_DUPLICATES_REPLACE},
    {"soa", "linear", "", 32, 28, TSR_DUPLICATES_KEEP},
    {"packed", "double_hashing", "", 32, 32, TSR_DUPLICATES_KEEP},
    {"packed", "hashgraph", "", 32, 64, TSR_DUPLICATES_KEEP},
};

class Wide : public testing::TestWithParam<Case>, protected Judged {
protected:
  Batch batch_of(uint64_t n, uint64_t distinct, Random *random) {
    const uint32_t policy = GetParam().policy;
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      batch.keys.push_back(policy == TSR_DUPLICATES_PROMISE_UNIQUE ? next_key_++ : 1 + random->below(distinct));
      batch.values.push_back(random->bits(64));
    }
    return batch;
  }

  uint64_t next_key_ = 1;
};

TEST_P(Wide, AgreesWithTheOracle) {
  TSR_ONE_THREAD;
  TSR_TRACE_SEED;
  const Case &c = GetParam();
  for (uint64_t round = 0; round < (sanitized ? 3 : 10); round++) {
    SCOPED_TRACE(round);
    Random random(100 + round);
    ASSERT_NO_FATAL_FAILURE(create(recipe_of(c)));
    Exercise::Options options;
    options.slots = info().slots;
    options.erases_pairs = false; // by their values
    EXPECT_EQ(Exercise(*table_, c.policy, random, options).run(), "");
  }
}

// More items than rows: a batch goes in parts, between which the rows that it did not need are found again.
TEST_P(Wide, RunsOutOfRows) {
  Random random(3);
  if (GetParam().policy == TSR_DUPLICATES_PROMISE_UNIQUE) return; // whose keys come once
  const bool keeps = GetParam().policy == TSR_DUPLICATES_KEEP;
  const uint64_t items = keeps ? scaled(7000, 3) : scaled(60000, 4), distinct = scaled(9000, 4);
  const std::string capacity = std::to_string(scaled(30000, 4));
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=" + capacity}));
  for (uint64_t call = 0; call < scaled(4, 2); call++) {
    Batch batch = batch_of(items, distinct, &random), some = batch_of(distinct / 3, distinct, &random);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_NO_FATAL_FAILURE(erase(some));
    batch.keys.resize(400);
    batch.keys.push_back(123456);
    ASSERT_NO_FATAL_FAILURE(expect_all(batch.keys));
  }
}

TEST_P(Wide, GrowsWithItsRows) {
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
  EXPECT_EQ(info().value_bits, 8 * GetParam().value_bytes);
}

TEST_P(Wide, IsRehashedSavedAndLoaded) {
  Random random(8);
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=4000"}));
  Batch batch = batch_of(2000, 3000, &random);
  const std::vector<uint64_t> keys = batch.keys;
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  tsr_error error = {};
  for (uint64_t capacity : {9000, 2500}) { // the rows of the larger one stay, and are saved
    tsr_rehash_options options = {};
    options.capacity = capacity;
    options.seed = 9;
    ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    Batch more = batch_of(100, 3000, &random);
    ASSERT_NO_FATAL_FAILURE(insert(more));
  }
  const std::string path = testing::TempDir() + "/wide.tsr", directories = plugin_directories();
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, GetParam().key_bits, 64, 8 * GetParam().value_bytes);
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  Batch more = batch_of(200, 3000, &random);
  ASSERT_NO_FATAL_FAILURE(insert(more));
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
}

// Batches page by page, and pairs in the stash.
TEST_P(Wide, GoesPageByPage) {
  Random random(6);
  const std::string probing = GetParam().probing;
  if (probing == "slab_list" || probing == "hashgraph" || probing == "robin_hood")
    return; // which have no pages or stash
  ASSERT_NO_FATAL_FAILURE(
      create(recipe_of(GetParam()), {"table.capacity=4000", "table.load_factor=0.9", "table.stash=64",
                                     "table.page_bytes=4Ki", "table.page_batch=100"}));
  std::vector<uint64_t> keys;
  for (int call = 0; call < 3; call++) {
    Batch batch = batch_of(1300, 3000, &random);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    keys.insert(keys.end(), batch.keys.begin(), batch.keys.end());
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
}

// Many items of few keys at once: what a key has in the end is one of their values, whole.
TEST_P(Wide, RacesOfEqualKeys) {
  const uint64_t n = scaled(40000);
  if (!TSR_POLICY_LOOKS(GetParam().policy) || GetParam().policy == TSR_DUPLICATES_KEEP) return;
  ASSERT_NO_FATAL_FAILURE(create(recipe_of(GetParam()), {"table.capacity=2000"}));
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}, uint64_t{1000}}) {
    Batch batch;
    for (uint64_t i = 0; i < n; i++) batch.keys.push_back(1 + i % distinct), batch.values.push_back(~i);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_NO_FATAL_FAILURE(expect_all(batch.keys));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Wide, testing::ValuesIn(cases), name_of);

// Keys of 128 bits whose hash is the table's key and which are in the row, as README.md says. Their hashes are of 8 bits here,
// so that most of them meet.
TEST(WideKeys, AreKeptApartByTheirRows) {
  struct Record {
    uint64_t key[2], value[4];
  };
  Recipe recipe = recipe_of({"packed", "double_hashing", "", 64, sizeof(Record), TSR_DUPLICATES_KEEP});
  recipe.capacity = 5000;
  SpecPointer spec = spec_of(recipe);
  Table table(made(spec.get()), 64, 64, 8 * sizeof(Record));
  Random random(11);
  std::vector<Record> records(3000), found(400000);
  std::vector<uint64_t> hashes, offsets(records.size() + 1);
  for (Record &r : records) {
    r = {{random.bits(64), random.bits(64)}, {r.key[0], random.bits(64), 3, 4}};
    hashes.push_back((r.key[0] ^ r.key[1]) & 255);
  }
  tsr_error e = {};
  const uint64_t inserted = 2000; // the others are asked for as well
  ASSERT_EQ(tsr_insert(table.get(), inserted, hashes.data(), records.data(), nullptr, &e), TSR_OK) << e.message;
  ASSERT_EQ(
      tsr_find_all(table.get(), hashes.size(), hashes.data(), offsets.data(), found.size(), found.data(), nullptr, &e),
      TSR_OK)
      << e.message;
  ASSERT_LE(offsets.back(), found.size());
  for (uint64_t i = 0; i < records.size(); i++) {
    uint64_t matches = 0;
    for (uint64_t at = offsets[i]; at < offsets[i + 1]; at++)
      if (memcmp(found[at].key, records[i].key, sizeof found[at].key) == 0) {
        matches++;
        EXPECT_EQ(memcmp(&found[at], &records[i], sizeof(Record)), 0);
      }
    EXPECT_EQ(matches, i < inserted ? 1u : 0u) << i;
  }
}

// Addresses that words of 16, 8 or 4 bytes would miss.
TEST(WideArrays, LieAnywhere) {
  for (const uint32_t bytes : {64, 272}) {
    Recipe recipe = recipe_of(cases[1]);
    recipe.value_bytes = bytes;
    SpecPointer spec = spec_of(recipe);
    Table table(made(spec.get()), 32, 64, 8 * bytes);
    std::vector<unsigned char> offered(bytes * 20 + 16), found(bytes * 20 + 16);
    for (size_t i = 0; i < offered.size(); i++) offered[i] = static_cast<unsigned char>(i * 7 + i / 256);
    std::vector<uint32_t> keys(20);
    for (uint32_t i = 0; i < 20; i++) keys[i] = i + 1;
    tsr_error error = {};
    for (size_t by : {1, 4, 8}) {
      ASSERT_EQ(tsr_insert(table.get(), 20, keys.data(), &offered[by], nullptr, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_find(table.get(), 20, keys.data(), &found[by], nullptr, &error), TSR_OK) << error.message;
      EXPECT_EQ(memcmp(&offered[by], &found[by], bytes * 20), 0) << by;
    }
  }
}

TEST(WideSpec, IsChecked) {
  const struct {
    const char *word;
    std::vector<const char *> settings;
  } refused[] = {
      {"16 .. 4096", {"table.value_bytes=15"}},
      {"16 .. 4096", {"table.value_bytes=4112"}},
      {"multiple of 16", {"table.value_bytes=260"}},
      {"use device", {"table.value_bytes=272", "table.devices=0,1"}},
      {"multiple of 4", {"table.value_bytes=18"}},
      {"added up", {"table.duplicates=add"}},
      {"compared", {"table.duplicates=min"}},
      {"phased", {"table.concurrency=mixed"}},
      {"page", {"table.page_bytes=auto", "table.device_bytes=1M"}},
      {"remove one", {"table.value_bits=32"}},
      {"only a map", {"table.kind=set"}},
      {"32 bits", {"table.capacity=2^33"}},
  };
  for (const auto &r : refused) {
    const std::string why = refusal_of(recipe_of(cases[0]), r.settings);
    EXPECT_NE(why.find(r.word), std::string::npos) << r.word << ": " << why;
  }
  const std::string missing = refusal_of(recipe_of({"soa", "linear", "bump", 32, 32, TSR_DUPLICATES_KEEP}),
                                         {"table.values=buckets", "allocator.unit_bytes=16"});
  EXPECT_NE(missing.find("inline"), std::string::npos) << missing;
}

TEST(WideCalls, AreChecked) {
  SpecPointer spec = spec_of(recipe_of(cases[0]));
  Table table(made(spec.get()), 32, 64, 8 * 16);
  tsr_error e = {};
  const uint32_t keys[2] = {1, 2}, values[8] = {3, 4};
  expect_refused(tsr_insert(table.get(), 2, keys, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "values");
  expect_refused(tsr_erase_pairs(table.get(), 2, keys, values, nullptr, &e), TSR_UNSUPPORTED, e, "values = NULL");
  Recipe narrow = recipe_of(cases[0]);
  narrow.value_bytes = 0;
  narrow.value_bits = 32;
  SpecPointer other = spec_of(narrow);
  tsr_rehash_options options = {};
  options.spec = other.get();
  expect_refused(tsr_rehash(table.get(), &options, &e), TSR_UNSUPPORTED, e, "value_bytes");
}

} // namespace
} // namespace tessera_test
