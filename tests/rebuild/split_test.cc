// SPDX-License-Identifier: Apache-2.0
//
// growth = split: a table grows in place by as many buckets as it needs, and every operation is right at every size.
#include <gtest/gtest.h>

#include <cstdlib>

#include "plugins/table.h"
#include "tests/oracle/draw.h"
#include "tests/oracle/exercise.h"
#include "tests/rebuild/tables.h"

namespace {

using namespace tessera_test;

const char splits[] = "probing=linear_hashing growth=split ";

struct Widths {
  const char *words;
  uint32_t key_bits, value_bits;
};
const Widths widths[] = {{"key_bits=32 value_bits=32", 32, 32},
                         {"key_bits=64 value_bits=32", 64, 32},
                         {"key_bits=64 value_bits=64", 64, 64},
                         {"kind=set key_bits=32 layout=soa", 32, 0},
                         {"kind=set key_bits=64", 64, 0}};

// value_bits of a set is not written.
tsr_table *table_for(const Widths &w, const std::string &words) {
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = plugin_folders();
  std::string text = "[table]\nkind = map\nhasher = murmur3\nlayout = packed\n";
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "split.ini", &spec, &error), TSR_OK) << error.message;
  std::string all = std::string(splits) + w.words + " backend=" + backend() + " " + words;
  for (size_t at = 0, end; at < all.size(); at = end + 1) {
    end = std::min(all.find(' ', at), all.size());
    std::string word = all.substr(at, end - at);
    if (word.empty()) continue;
    if (word.find('.') > word.find('=')) word = "table." + word;
    EXPECT_EQ(tsr_spec_set(spec, word.c_str(), &error), TSR_OK) << error.message;
  }
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  return table;
}

class Split : public testing::TestWithParam<Widths> {};

// Random operations on tables that begin with one or a few buckets, of all sizes of buckets, with a stash and without.
TEST_P(Split, RandomOperations) {
  TSR_TRACE_SEED;
  for (uint64_t stream = 0; stream < scaled(tests_all() ? 80 : 30); stream++) {
    SCOPED_TRACE("stream " + std::to_string(stream));
    Random random(700 + stream);
    const bool is_set = GetParam().value_bits == 0;
    const uint32_t policies[] = {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD, TSR_DUPLICATES_REPLACE,
                                 TSR_DUPLICATES_PROMISE_UNIQUE};
    const char *const names[] = {"first", "add", "replace", "promise_unique"};
    const uint64_t which = is_set ? 3 * random.below(2) : random.below(4);
    Table table(table_for(GetParam(), "capacity=" + std::to_string(1 + random.below(40)) + " duplicates=" +
                                          names[which] + " stash=" + std::to_string(20 * random.below(2)) +
                                          " layout.bucket_slots=" + std::to_string(4u << random.below(3)) +
                                          " probing.hash_functions=" + std::to_string(2 + random.below(3)) +
                                          " seed=" + std::to_string(1 + random.below(1000))),
                GetParam().key_bits, GetParam().value_bits);
    Exercise::Options options;
    options.slots = 2000;
    options.operations = 60;
    options.batch_max = stream % 3 ? 400 : 9;
    Exercise exercise(table, policies[which], random, options);
    ASSERT_EQ(exercise.run(), "");
    EXPECT_EQ(exercise.oracle().handed_back(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Split, testing::ValuesIn(widths));

// No call makes a table much larger than its pairs.
TEST(SplitGrowth, GrowsByWhatIsNeeded) {
  Random random(1);
  tsr_error error = {};
  tsr_table *table = table_of(std::string(splits) + "capacity=1000");
  const auto pairs = some_pairs(random, scaled(200000));
  std::map<uint32_t, uint32_t> there;
  std::vector<uint32_t> keys, values;
  for (const auto &pair : pairs) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
    there.insert(pair);
    if (keys.size() < 2048 && there.size() < pairs.size()) continue;
    ASSERT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    EXPECT_GE(info_of(table).capacity + info_of(table).capacity / 32, there.size());
    EXPECT_LE(info_of(table).capacity, there.size() + 2 * 2048 + 1024);
    keys.clear();
    values.clear();
  }
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
}

// One key at a time, so that the table passes through every number of buckets; what is erased stays erased.
TEST(SplitGrowth, ByOneKeyAtATime) {
  Random random(2);
  tsr_error error = {};
  tsr_table *table = table_of(std::string(splits) + "capacity=1 layout.bucket_slots=4");
  std::map<uint32_t, uint32_t> there;
  for (const auto &pair : some_pairs(random, scaled(3000))) {
    ASSERT_EQ(tsr_insert(table, 1, &pair.first, &pair.second, nullptr, &error), TSR_OK) << error.message;
    there.insert(pair);
    if (random.chance(3)) {
      const uint32_t gone = there.begin()->first;
      ASSERT_EQ(tsr_erase(table, 1, &gone, nullptr, &error), TSR_OK) << error.message;
      there.erase(gone);
    }
  }
  expect_pairs(table, there);
  tsr_table_destroy(table);
}

TEST(SplitGrowth, NothingGrowsNothing) {
  tsr_error error = {};
  tsr_table *table = table_of(std::string(splits) + "capacity=16");
  const uint32_t key = 5, value = 6;
  ASSERT_EQ(tsr_insert(table, 0, &key, &value, nullptr, &error), TSR_OK);
  for (int i = 0; i < 100; i++) ASSERT_EQ(tsr_insert(table, 1, &key, &value, nullptr, &error), TSR_OK);
  EXPECT_EQ(info_of(table).capacity, 16u);
  expect_pairs(table, {{5, 6}});
  tsr_table_destroy(table);
}

// After a save, a load, a rehash and a clear a table goes on growing.
TEST(SplitGrowth, GoesOnAfterEverything) {
  Random random(3);
  tsr_error error = {};
  const char *folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/split.tessera";
  tsr_table *table = table_of(std::string(splits) + "capacity=16");
  const auto all = some_pairs(random, 9000);
  std::map<uint32_t, uint32_t> there;
  auto next = all.begin();
  const auto add = [&] {
    std::map<uint32_t, uint32_t> pairs;
    for (int i = 0; i < 1500; i++) pairs.insert(*next++);
    fill(table, pairs);
    there.insert(pairs.begin(), pairs.end());
    expect_pairs(table, there);
  };
  add();
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  for (uint32_t mapped : {0u, 1u}) {
    tsr_load_options options = {};
    options.plugins = plugin_folders();
    options.mapped = mapped;
    tsr_table_destroy(table);
    ASSERT_EQ(tsr_table_load(path.c_str(), &options, &table, &error), TSR_OK) << error.message;
    expect_pairs(table, there);
  }
  add();
  tsr_rehash_options options = {};
  options.capacity = 5000;
  ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
  expect_pairs(table, there);
  add();
  add();
  ASSERT_EQ(tsr_clear(table, nullptr, &error), TSR_OK) << error.message;
  there.clear();
  EXPECT_TRUE(pairs_of(table).empty());
  add();
  add();
  tsr_table_destroy(table);
}

// Erased slots are taken again, so a table that loses as many pairs as it gains stays as large as it is.
TEST(SplitGrowth, ErasedSlotsAreTakenAgain) {
  tsr_error error = {};
  tsr_table *table = table_of(std::string(splits) + "capacity=1000");
  std::vector<uint32_t> keys(500), values(500), old(500);
  for (uint32_t round = 0; round < 100; round++) {
    for (uint32_t i = 0; i < 500; i++) {
      keys[i] = (round * 500 + i) * 2654435761u;
      old[i] = ((round - 1) * 500 + i) * 2654435761u;
    }
    if (round) {
      ASSERT_EQ(tsr_erase(table, 500, old.data(), nullptr, &error), TSR_OK);
    }
    ASSERT_EQ(tsr_insert(table, 500, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  }
  EXPECT_EQ(info_of(table).capacity, 1000u);
  EXPECT_EQ(pairs_of(table).size(), 500u);
  tsr_table_destroy(table);
}

TEST(SplitGrowth, EndsAtItsLimit) {
  Random random(4);
  Table table(table_of(std::string(splits) + "capacity=100 growth_limit=5000"), 32, 32);
  Oracle oracle(TSR_DUPLICATES_FIRST, 32);
  Batch batch;
  for (const auto &pair : some_pairs(random, 20000)) {
    batch.keys.push_back(pair.first);
    batch.values.push_back(pair.second);
  }
  ASSERT_EQ(table.insert(batch), "");
  ASSERT_EQ(oracle.insert(batch), "");
  EXPECT_EQ(info_of(table.get()).capacity, 5000u);
  EXPECT_GE(oracle.size(), 5000u);
  ASSERT_EQ(table.check(), "");
}

// What does not go with it is refused in a sentence that names both.
TEST(SplitSpec, Refusals) {
  struct Case {
    const char *words, *named;
  };
  const Case cases[] = {{"probing=cuckoo growth=split", "a scheme whose buckets do not split"},
                        {"probing=linear_hashing growth=split page_bytes=auto", "page_bytes"},
                        {"probing=linear_hashing growth=split layout=soa", "layout = packed"},
                        {"probing=linear_hashing growth=split devices=0,0", "devices"},
                        {"probing=linear_hashing growth=split filter=8", "filter"},
                        {"probing=linear_hashing growth=split kind=multimap", "few buckets"},
                        {"probing=linear_hashing growth=split kind=index", "index"}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.words);
    tsr_error error = {};
    tsr_options options = {};
    options.plugins = plugin_folders();
    tsr_spec *spec = spec_of(c.words);
    tsr_table *table = nullptr;
    const tsr_status status = tsr_table_create(spec, &options, &table, &error);
    EXPECT_TRUE(status == TSR_BAD_SPEC || status == TSR_INCOMPATIBLE) << status;
    EXPECT_NE(std::string(error.message).find(c.named), std::string::npos) << error.message;
    tsr_table_destroy(table);
    tsr_spec_free(spec);
  }
}

} // namespace
