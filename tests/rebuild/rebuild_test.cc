// SPDX-License-Identifier: Apache-2.0
//
// tsr_rehash and tsr_build: every pair is still there, or nothing has changed.
#include <gtest/gtest.h>

#include "plugins/table.h"
#include "tests/rebuild/tables.h"

namespace {

using namespace tessera_test;

const std::vector<std::string> policies = {"first", "replace", "add", "min", "max", "promise_unique"};

tsr_rehash_options to(uint64_t capacity, uint64_t seed = 0, const tsr_spec *spec = nullptr) {
  tsr_rehash_options options = {};
  options.capacity = capacity;
  options.seed = seed;
  options.spec = spec;
  return options;
}

class Rehash : public testing::TestWithParam<std::string> {};

// Up, down, another seed, the same again: whatever the policy, values stay as they are.
TEST_P(Rehash, KeepsEveryPair) {
  TSR_TRACE_SEED;
  for (const std::string &policy : policies) {
    SCOPED_TRACE(policy);
    Random random(1);
    tsr_error error = {};
    tsr_table *table = table_of(GetParam() + " capacity=2000 duplicates=" + policy);
    auto pairs = some_pairs(random, 2000);
    fill(table, pairs);
    tsr_report before = {}, after = {};
    ASSERT_EQ(tsr_table_report(table, &before, &error), TSR_OK);
    uint64_t last = 2000;
    for (tsr_rehash_options options : {to(50000), to(2000), to(0, 77), to(2100, 5), to(0)}) {
      ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
      EXPECT_EQ(info_of(table).capacity, options.capacity ? options.capacity : last);
      last = info_of(table).capacity;
      expect_pairs(table, pairs);
    }
    ASSERT_EQ(tsr_rehash(table, nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_report(table, &after, &error), TSR_OK);
    EXPECT_EQ(after.insert_keys, before.insert_keys);
    EXPECT_EQ(after.inserted, before.inserted);
    EXPECT_EQ(after.not_placed, before.not_placed);
    tsr_table_destroy(table);
  }
}

TEST_P(Rehash, ASeedIsUsed) {
  tsr_error error = {};
  tsr_table *table = table_of(GetParam());
  tsr_rehash_options options = to(0, 4711);
  ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
  EXPECT_EQ(info_of(table).seed, 4711u);
  tsr_table_destroy(table);
}

TEST_P(Rehash, ErasedSlotsAreGone) {
  TSR_TRACE_SEED;
  Random random(2);
  tsr_error error = {};
  tsr_table *table = table_of(GetParam());
  auto pairs = some_pairs(random, 1000);
  fill(table, pairs);
  std::vector<uint32_t> keys;
  for (const auto &pair : pairs)
    if (keys.size() < 500) keys.push_back(pair.first);
  ASSERT_EQ(tsr_erase(table, keys.size(), keys.data(), nullptr, &error), TSR_OK);
  for (uint32_t key : keys) pairs.erase(key);
  ASSERT_EQ(tsr_rehash(table, nullptr, &error), TSR_OK) << error.message;
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
}

// More pairs than slots: a sentence, and the table is as it was, its seed too.
TEST_P(Rehash, FailureKeepsTheTable) {
  TSR_TRACE_SEED;
  Random random(3);
  tsr_error error = {};
  tsr_table *table = table_of(GetParam() + " capacity=3000");
  auto pairs = some_pairs(random, 3000);
  fill(table, pairs);
  tsr_table_info before = info_of(table);
  std::vector<uint64_t> capacities = {10, 2000};
  if (GetParam().find("cuckoo") != std::string::npos) capacities.push_back(2399); // as many slots: no seed will do
  for (uint64_t capacity : capacities) {
    tsr_rehash_options options = to(capacity);
    ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_UNSUPPORTED);
    EXPECT_NE(std::string(error.message).find("raise capacity"), std::string::npos) << error.message;
    EXPECT_EQ(info_of(table).capacity, before.capacity);
    EXPECT_EQ(info_of(table).seed, before.seed);
    expect_pairs(table, pairs);
  }
  tsr_rehash_options huge = to(uint64_t{1} << 34);
  EXPECT_EQ(tsr_rehash(table, &huge, &error), TSR_NO_MEMORY) << error.message;
  huge.capacity = (uint64_t{1} << 40) + 1;
  EXPECT_EQ(tsr_rehash(table, &huge, &error), TSR_BAD_ARGUMENT) << error.message;
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
}

INSTANTIATE_TEST_SUITE_P(All, Rehash, testing::ValuesIn(compositions()));

TEST(RehashTo, OtherParts) {
  TSR_TRACE_SEED;
  Random random(4);
  tsr_error error = {};
  tsr_table *table = table_of("capacity=2000");
  auto pairs = some_pairs(random, 2000);
  fill(table, pairs);
  for (const char *words :
       {"layout=packed probing=cuckoo layout.bucket_slots=4",
        "layout=soa probing=double_hashing layout.bucket_slots=16",
        "layout=packed probing=cuckoo load_factor=0.5 stash=64 duplicates=add", "load_factor=0.9 duplicates=min"}) {
    SCOPED_TRACE(words);
    tsr_spec *spec = spec_of(words);
    tsr_rehash_options options = to(0, 0, spec);
    ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
    expect_pairs(table, pairs);
    EXPECT_EQ(info_of(table).capacity, 2000u);
  }
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "duplicates"), "min");
  auto more = pairs; // and the new parts work on
  more[12345] = 6;
  uint32_t key = 12345, value = 6;
  ASSERT_EQ(tsr_insert(table, 1, &key, &value, nullptr, &error), TSR_OK) << error.message;
  expect_pairs(table, more);
  tsr_table_destroy(table);
}

TEST(RehashTo, AnotherKindIsRefused) {
  tsr_error error = {};
  tsr_table *table = table_of("");
  fill(table, {{1, 2}});
  for (const std::string words : {"key_bits=64", "value_bits=64"}) {
    tsr_spec *spec = spec_of(words + " layout=soa");
    tsr_rehash_options options = to(0, 0, spec);
    EXPECT_EQ(tsr_rehash(table, &options, &error), TSR_UNSUPPORTED) << error.message;
    tsr_spec_free(spec);
  }
  tsr_spec *wrong = spec_of("probing=nosuch");
  tsr_rehash_options options = to(0, 0, wrong);
  EXPECT_EQ(tsr_rehash(table, &options, &error), TSR_NOT_FOUND) << error.message;
  tsr_spec_free(wrong);
  expect_pairs(table, {{1, 2}});
  EXPECT_EQ(tsr_rehash(nullptr, nullptr, &error), TSR_BAD_ARGUMENT);
  tsr_table_destroy(table);
}

// ---- build --------------------------------------------------------------------------------------

struct Built {
  std::map<uint32_t, uint32_t> pairs;
  std::vector<uint32_t> keys, values, back_keys, back_values;
  std::vector<uint8_t> codes;
  tsr_call call = {};

  Built(Random &random, size_t count) : pairs(some_pairs(random, count)) {
    for (const auto &pair : pairs) {
      keys.push_back(pair.first);
      values.push_back(pair.second);
    }
    codes.resize(count);
    back_keys.resize(count);
    back_values.resize(count);
    call.results = codes.data();
    call.unplaced_keys = back_keys.data();
    call.unplaced_values = back_values.data();
  }
};

// A table so full that most seeds fail: with enough tries there is one that works.
TEST(Build, NewSeedsHelp) {
  tsr_error error = {};
  for (uint64_t stream = 10; stream < 20; stream++) {
    Random random(stream);
    Built b(random, 60);
    tsr_table *table = table_of("capacity=60 load_factor=0.94 probing=cuckoo probing.hash_functions=2 "
                                "layout.bucket_slots=2 probing.max_chain=40");
    ASSERT_EQ(tsr_build(table, 60, b.keys.data(), b.values.data(), &b.call, 100000, &error), TSR_OK) << error.message;
    expect_pairs(table, b.pairs);
    tsr_report report = {};
    ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
    EXPECT_EQ(report.insert_keys, 60u);
    EXPECT_EQ(report.inserted, 60u);
    EXPECT_EQ(report.not_placed, 0u);
    tsr_table_destroy(table);
  }
}

// Pairs that go into buckets unseen take vacant slots, and leave nothing in hand that would be one more pair.
TEST(Build, OfKeysThatAreUniqueMakesTheirPairsAlone) {
  tsr_error error = {};
  Random random(22);
  Built b(random, 300);
  tsr_table *table = table_of("capacity=300 load_factor=0.5 probing=cuckoo layout.bucket_slots=1 "
                              "duplicates=promise_unique");
  ASSERT_EQ(tsr_build(table, 300, b.keys.data(), b.values.data(), &b.call, 100, &error), TSR_OK) << error.message;
  expect_pairs(table, b.pairs);
  tsr_table_destroy(table);
}

// However many tries there were, each key went page by page once.
TEST(Build, CountsKeysOfPagesOnce) {
  tsr_error error = {};
  Random random(21);
  Built b(random, 500);
  tsr_table *table = table_of("capacity=300 page_bytes=1Ki page_batch=1");
  ASSERT_EQ(tsr_build(table, 500, b.keys.data(), b.values.data(), &b.call, 3, &error), TSR_OK) << error.message;
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_paged, 500u);
  tsr_table_destroy(table);
}

// It cannot work: the last try hands back what it could not place.
TEST(Build, TheLastTryIsTold) {
  Random random(20);
  tsr_error error = {};
  Built b(random, 500);
  tsr_table *table = table_of("capacity=300");
  ASSERT_EQ(tsr_build(table, 500, b.keys.data(), b.values.data(), &b.call, 3, &error), TSR_OK) << error.message;
  auto expected = b.pairs;
  size_t handed_back = 0;
  for (size_t i = 0; i < 500; i++) {
    if (b.codes[i] != TSR_NOT_PLACED) {
      EXPECT_EQ(b.back_keys[i], 0u);
      continue;
    }
    handed_back++;
    EXPECT_EQ(expected.erase(b.back_keys[i]), 1u);
  }
  EXPECT_GT(handed_back, 0u);
  expect_pairs(table, expected);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_keys, 500u);
  EXPECT_EQ(report.not_placed, handed_back);
  EXPECT_EQ(report.inserted, 500u - handed_back);
  tsr_table_destroy(table);
}

// What a table is made of was found, and is not looked for again.
TEST(Rehash, WithoutTheFoldersOfItsPlugins) {
  const std::string folder = testing::TempDir() + "plugins";
  ASSERT_EQ(system(("rm -rf " + folder + " && mkdir " + folder + " && cp -L layouts/layout_packed.so " +
                    "probing/probing_linear.so hashers/hasher_xxhash.so " + folder)
                       .c_str()),
            0);
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = folder.c_str();
  tsr_spec *spec = spec_of("probing=linear hasher=xxhash growth=double capacity=10");
  tsr_table *table = nullptr;
  ASSERT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  ASSERT_EQ(system(("rm -r " + folder).c_str()), 0);
  Random random(5);
  const auto pairs = some_pairs(random, 1000);
  fill(table, pairs);
  expect_pairs(table, pairs);
  EXPECT_EQ(info_of(table).capacity, 1280u);
  tsr_table_destroy(table);
  tsr_spec_free(spec);
}

TEST(Build, OnlyIntoAnEmptyTable) {
  tsr_error error = {};
  tsr_table *table = table_of("");
  fill(table, {{1, 2}});
  uint32_t key = 3, value = 4;
  EXPECT_EQ(tsr_build(table, 1, &key, &value, nullptr, 2, &error), TSR_BAD_ARGUMENT);
  expect_pairs(table, {{1, 2}});
  ASSERT_EQ(tsr_clear(table, nullptr, &error), TSR_OK);
  EXPECT_EQ(tsr_build(table, 1, &key, &value, nullptr, 0, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_build(table, 1, &key, &value, nullptr, 1, &error), TSR_OK);
  expect_pairs(table, {{3, 4}});
  tsr_table_destroy(table);
}

} // namespace
