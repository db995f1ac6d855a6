// SPDX-License-Identifier: Apache-2.0
//
// Whole tables of several devices: saved and loaded, rehashed, built, joined, balanced; and what is refused. Read next:
// shards_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "core/tessera_devices.h"
#include "tests/devices/tables.h"

namespace {

using namespace tessera_test;

const char *const kMap = "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 ";
const char *const kMulti = "kind=multimap key_bits=32 value_bits=32 layout=packed probing=double_hashing "
                           "hasher=murmur3 ";

std::string path_of(const std::string &name) { return testing::TempDir() + "/" + name; }

std::string read_file(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;

Pairs some_pairs(Random &random, size_t count) {
  std::map<uint32_t, uint32_t> pairs = {{0xFFFFFFFFu, 1}, {0xFFFFFFFEu, 0xFFFFFFFFu}, {0, 7}};
  while (pairs.size() < count) pairs[static_cast<uint32_t>(random.bits(32))] = static_cast<uint32_t>(random.bits(32));
  return {pairs.begin(), pairs.end()};
}

void insert(tsr_table *table, const Pairs &pairs) {
  std::vector<uint32_t> keys, values;
  for (const auto &pair : pairs) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
  }
  std::vector<uint8_t> codes(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
  for (uint8_t code : codes) ASSERT_EQ(code, TSR_INSERTED);
}

Pairs pairs_of(tsr_table *table) {
  tsr_error error = {};
  uint64_t size = 0;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  std::vector<uint32_t> keys(size), values(size);
  EXPECT_EQ(tsr_export(table, size, keys.data(), values.data(), &size, &error), TSR_OK) << error.message;
  Pairs pairs;
  for (size_t i = 0; i < size; i++) pairs.emplace_back(keys[i], values[i]);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// All are there and are found, in the caller's order.
void expect_pairs(tsr_table *table, const Pairs &pairs) {
  tsr_error error = {};
  ASSERT_EQ(pairs_of(table), pairs);
  std::vector<uint32_t> keys, values(pairs.size());
  for (const auto &pair : pairs) keys.push_back(pair.first);
  ASSERT_EQ(tsr_find(table, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < keys.size(); i++) ASSERT_EQ(values[i], pairs[i].second) << keys[i];
}

tsr_status load(const std::string &path, tsr_table **table, tsr_error *error, const char *devices = nullptr) {
  tsr_load_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  options.device = devices;
  return tsr_table_load(path.c_str(), &options, table, error);
}

class Whole : public testing::TestWithParam<std::pair<unsigned, const char *>> {
protected:
  std::string devices() {
    return "devices=" + numbers(GetParam().first) + " devices.split=" + GetParam().second + " devices.chunk=300 ";
  }
};

TEST_P(Whole, SavedAndLoaded) {
  TSR_TRACE_SEED;
  Random random(1);
  tsr_error error = {};
  const std::string path = path_of("shards.tsr");
  tsr_table *table = table_of(kMap + devices() + "capacity=1000 growth=double seed=9");
  const Pairs pairs = some_pairs(random, 3000);
  insert(table, pairs);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  for (int again = 0; again < 2; again++) {
    ASSERT_EQ(load(path, &table, &error), TSR_OK) << error.message;
    expect_pairs(table, pairs);
    EXPECT_EQ(info_of(table).seed, 9u);
    ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
    tsr_table_destroy(table);
  }
  ASSERT_EQ(load(path, &table, &error), TSR_OK) << error.message;
  Pairs more; // it works on
  for (uint32_t key = 1; more.size() < 500; key++)
    if (!std::binary_search(pairs.begin(), pairs.end(), std::make_pair(key, 0u),
                            [](const auto &a, const auto &b) { return a.first < b.first; }))
      more.emplace_back(key, key);
  insert(table, more);
  more.insert(more.end(), pairs.begin(), pairs.end());
  std::sort(more.begin(), more.end());
  expect_pairs(table, more);
  tsr_table_destroy(table);
}

TEST_P(Whole, LoadedOnOtherNumbersOfDevices) {
  TSR_TRACE_SEED;
  Random random(4);
  tsr_error error = {};
  const std::string path = path_of("others.tsr");
  tsr_table *table = table_of(kMap + devices() + "capacity=1000 growth=double seed=9");
  const Pairs pairs = some_pairs(random, 3000);
  insert(table, pairs);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  for (unsigned count : {1u, 2u, 5u, 3u}) {
    ASSERT_EQ(load(path, &table, &error, numbers(count).c_str()), TSR_OK) << error.message;
    EXPECT_EQ(tsr_spec_get(tsr_table_spec(table), "table", "devices"), numbers(count));
    EXPECT_EQ(tsr_spec_get(tsr_table_spec(table), "devices", "split"), std::string(GetParam().second));
    expect_pairs(table, pairs);
    ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
    tsr_table_destroy(table);
  }
}

TEST(Loaded, TheFileOfOneDeviceOnSeveral) {
  for (const Made &made : kinds()) {
    SCOPED_TRACE(made.words);
    tsr_error error = {};
    const std::string path = path_of("one.tsr");
    tsr_table *table = table_of(made.words + " capacity=1000");
    const uint32_t value_bytes = made.row_bits ? made.row_bits / 8 : made.value_bits / 8;
    std::vector<uint64_t> numbers_of(700), values(700 * (value_bytes / 8 + 1));
    for (size_t i = 0; i < 700; i++) numbers_of[i] = 5 * i;
    Keys keys(made.key_bits, numbers_of);
    ASSERT_EQ(tsr_insert(table, 700, keys.data(), value_bytes ? values.data() : nullptr, nullptr, &error), TSR_OK)
        << error.message;
    ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
    tsr_table_destroy(table);
    ASSERT_EQ(load(path, &table, &error, numbers(3).c_str()), TSR_OK) << error.message;
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, 700u);
    std::vector<uint8_t> present(700);
    ASSERT_EQ(tsr_contains(table, 700, keys.data(), present.data(), nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(present, std::vector<uint8_t>(700, 1));
    if (made.key_bits == 128) { // and on to other numbers of devices, by a rehash and a file
      tsr_rehash_options options = {};
      options.capacity = 2000;
      ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
      tsr_table_destroy(table);
      ASSERT_EQ(load(path, &table, &error, numbers(2).c_str()), TSR_OK) << error.message;
      ASSERT_EQ(tsr_contains(table, 700, keys.data(), present.data(), nullptr, &error), TSR_OK) << error.message;
      EXPECT_EQ(present, std::vector<uint8_t>(700, 1));
      Keys all(128, 700);
      uint64_t written = 0;
      ASSERT_EQ(tsr_export(table, 700, all.data(), nullptr, &written, &error), TSR_OK) << error.message;
      std::vector<uint64_t> exported = all.numbers(700);
      std::sort(exported.begin(), exported.end());
      EXPECT_EQ(exported, numbers_of);
    }
    tsr_table_destroy(table);
  }
}

TEST_P(Whole, Rehashed) {
  TSR_TRACE_SEED;
  Random random(2);
  tsr_error error = {};
  tsr_table *table = table_of(kMap + devices() + "capacity=4000");
  const Pairs pairs = some_pairs(random, 3000);
  insert(table, pairs);
  tsr_report before = {}, after = {};
  ASSERT_EQ(tsr_table_report(table, &before, &error), TSR_OK);
  tsr_rehash_options options = {};
  options.capacity = 9000;
  options.seed = 77;
  ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
  EXPECT_EQ(info_of(table).capacity, 9000u);
  ASSERT_EQ(tsr_table_report(table, &after, &error), TSR_OK);
  EXPECT_EQ(after.insert_keys, before.insert_keys);
  EXPECT_EQ(after.inserted, before.inserted);
  expect_pairs(table, pairs);
  tsr_spec *spec = spec_of("kind=map key_bits=32 value_bits=32 layout=soa probing=double_hashing hasher=murmur3");
  options = {};
  options.spec = spec;
  ASSERT_EQ(tsr_rehash(table, &options, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "layout"), "soa");
  EXPECT_STREQ(tsr_spec_get(tsr_table_spec(table), "table", "devices"), numbers(GetParam().first).c_str());
  expect_pairs(table, pairs);
  options = {};
  options.capacity = 100; // too few
  EXPECT_EQ(tsr_rehash(table, &options, &error), TSR_UNSUPPORTED) << error.message;
  expect_pairs(table, pairs);
  options.capacity = (1ull << 40) + 1;
  EXPECT_EQ(tsr_rehash(table, &options, &error), TSR_BAD_ARGUMENT) << error.message;
  expect_pairs(table, pairs);
  ASSERT_EQ(tsr_clear(table, nullptr, &error), TSR_OK);
  expect_pairs(table, {});
  tsr_table_destroy(table);
}

TEST_P(Whole, Built) {
  TSR_TRACE_SEED;
  Random random(3);
  tsr_error error = {};
  tsr_table *table = table_of(kMap + devices() + "capacity=3000 load_factor=.95 layout.bucket_slots=2");
  const Pairs pairs = some_pairs(random, 2900);
  std::vector<uint32_t> keys, values;
  for (const auto &pair : pairs) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
  }
  std::vector<uint8_t> codes(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  ASSERT_EQ(tsr_build(table, keys.size(), keys.data(), values.data(), &call, 20, &error), TSR_OK) << error.message;
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_keys, keys.size()) << "tries are no inserts of the caller's";
  EXPECT_EQ(report.not_placed, static_cast<uint64_t>(std::count(codes.begin(), codes.end(), TSR_NOT_PLACED)));
  if (report.not_placed == 0) expect_pairs(table, pairs);
  EXPECT_EQ(tsr_build(table, keys.size(), keys.data(), values.data(), &call, 20, &error), TSR_BAD_ARGUMENT);
  tsr_table_destroy(table);
}

TEST_P(Whole, Joined) {
  tsr_error error = {};
  tsr_table *left = table_of(kMap + devices() + "capacity=1000"), *right = table_of(kMap + devices() + "capacity=1000");
  Pairs left_pairs, right_pairs;
  for (uint32_t i = 0; i < 600; i++) left_pairs.emplace_back(i, 1000 + i);
  for (uint32_t i = 300; i < 900; i++) right_pairs.emplace_back(i, 2000 + i);
  insert(left, left_pairs);
  insert(right, right_pairs);
  uint64_t count = 0;
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, nullptr, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, 300u);
  std::vector<uint32_t> keys(count), lefts(count), rights(count);
  tsr_join_rows rows = {};
  rows.room = 299;
  rows.keys = keys.data();
  rows.left_values = lefts.data();
  rows.right_values = rights.data();
  EXPECT_EQ(tsr_join(left, right, TSR_JOIN_INNER, &rows, &count, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(count, 300u);
  rows.room = 300;
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, &rows, &count, &error), TSR_OK) << error.message;
  std::sort(keys.begin(), keys.end());
  for (uint32_t i = 0; i < 300; i++) ASSERT_EQ(keys[i], 300 + i);
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_ANTI, nullptr, &count, &error), TSR_OK) << error.message;
  EXPECT_EQ(count, 300u);
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_UNION, nullptr, &count, &error), TSR_OK) << error.message;
  EXPECT_EQ(count, 900u);
  std::vector<uint64_t> sums(300);
  rows.left_values = rows.right_values = nullptr;
  rows.aggregates = sums.data();
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_SUM, &rows, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, 300u);
  for (uint32_t i = 0; i < 300; i++) ASSERT_EQ(sums[i], 2000 + keys[i]);
  EXPECT_STREQ(tsr_join_way(right), "by a find of each left key");
  tsr_table *alone = table_of(std::string(kMap) + "capacity=1000");
  EXPECT_EQ(tsr_join(left, alone, TSR_JOIN_INNER, nullptr, &count, &error), TSR_BAD_ARGUMENT);
  tsr_table *other = table_of(kMap + devices() + "capacity=1000 seed=5"); // its keys are on other devices
  insert(other, right_pairs);
  rows.aggregates = nullptr;
  rows.left_values = lefts.data();
  rows.right_values = rights.data();
  ASSERT_EQ(tsr_join(left, other, TSR_JOIN_INNER, &rows, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, 300u);
  for (uint32_t i = 0; i < 300; i++) ASSERT_TRUE(lefts[i] == 1000 + keys[i] && rights[i] == 2000 + keys[i]);
  std::sort(keys.begin(), keys.end());
  for (uint32_t i = 0; i < 300; i++) ASSERT_EQ(keys[i], 300 + i);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(other, &report, &error), TSR_OK) << error.message;
  EXPECT_EQ(report.find_keys, 600u);
  EXPECT_EQ(report.found, 300u);
  EXPECT_EQ(report.insert_keys, 600u);
  for (tsr_table *table : {left, right, alone, other}) tsr_table_destroy(table);
}

INSTANTIATE_TEST_SUITE_P(All, Whole,
                         testing::Values(std::make_pair(1u, "hash"), std::make_pair(2u, "hash"),
                                         std::make_pair(3u, "hash"), std::make_pair(8u, "hash"),
                                         std::make_pair(3u, "replicated")));

// Multimaps whose first batches dealt the hashes in unlike ways.
TEST(Joined, TablesOfUnlikeParts) {
  tsr_error error = {};
  for (unsigned devices : {2u, 3u, 8u}) {
    const std::string words = kMulti + std::string("devices=" + numbers(devices) + " devices.chunk=512 ");
    tsr_table *left = table_of(words + "capacity=2000"), *right = table_of(words + "capacity=4000");
    Pairs left_pairs, right_pairs;
    uint64_t expected = 0, count = 0;
    for (uint32_t i = 0; i < 1500; i++) left_pairs.emplace_back(i % 50, i); // 30 of each
    for (uint32_t i = 0; i < 3000; i++) right_pairs.emplace_back(i < 300 ? 7 : i % 1000, i);
    for (const auto &pair : right_pairs) expected += pair.first < 50 ? 30 : 0;
    insert(left, left_pairs);
    insert(right, right_pairs);
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, nullptr, &count, &error), TSR_OK) << error.message;
    EXPECT_EQ(count, expected);
    ASSERT_EQ(tsr_join(right, left, TSR_JOIN_INNER, nullptr, &count, &error), TSR_OK) << error.message;
    EXPECT_EQ(count, expected);
    ASSERT_EQ(tsr_size(right, &count, &error), TSR_OK);
    EXPECT_EQ(count, 3000u);
    tsr_table_destroy(left);
    tsr_table_destroy(right);
  }
}

// Distributed HashGraph: a second table on the same splits is the query, intersected locally.
TEST(Joined, HashGraphs) {
  tsr_error error = {};
  for (unsigned devices : {1u, 2u, 3u, 8u}) {
    const std::string words = "kind=multimap key_bits=32 value_bits=32 layout=packed probing=hashgraph hasher=murmur3 "
                              "load_factor=1 layout.bucket_slots=1 devices=" +
                              numbers(devices) + " ";
    tsr_table *left = table_of(words + "capacity=1500"), *right = table_of(words + "capacity=1500");
    Pairs left_pairs, right_pairs;
    std::vector<std::array<uint32_t, 3>> expected, found;
    for (uint32_t i = 0; i < 1500; i++) {
      left_pairs.emplace_back(i < 100 ? 7 : i % 300, i);
      right_pairs.emplace_back(i < 40 ? 7 : i % 700, 5000 + i);
    }
    for (const auto &l : left_pairs)
      for (const auto &r : right_pairs)
        if (l.first == r.first) expected.push_back({l.first, l.second, r.second});
    insert(left, left_pairs);
    insert(right, right_pairs);
    uint64_t count = 0;
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, nullptr, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, expected.size());
    std::vector<uint32_t> keys(count), lefts(count), rights(count);
    tsr_join_rows rows = {};
    rows.room = count;
    rows.keys = keys.data();
    rows.left_values = lefts.data();
    rows.right_values = rights.data();
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_INNER, &rows, &count, &error), TSR_OK) << error.message;
    for (uint64_t i = 0; i < count; i++) found.push_back({keys[i], lefts[i], rights[i]});
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << devices;
    tsr_table_destroy(left);
    tsr_table_destroy(right);
  }
}

// ---- Parts --------------------------------------------------------------------------------------

// One key comes so often that its shard must be almost its own; the others share the rest.
TEST(Balance, FollowsHowOftenKeysCome) {
  TSR_TRACE_SEED;
  Random random(4);
  tsr_error error = {};
  const uint32_t n = 30000;
  std::vector<uint32_t> keys, values(n, 1);
  for (uint32_t i = 0; i < n; i++) // every key 100 times
    keys.push_back(static_cast<uint32_t>((i % 300) * 2654435761u));
  tsr_table *table = table_of(kMulti + std::string("devices=" + numbers(3) + " capacity=30000 devices.chunk=5000"));
  std::vector<uint8_t> codes(n);
  tsr_call call = {};
  call.results = codes.data();
  ASSERT_EQ(tsr_insert(table, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
  EXPECT_EQ(std::count(codes.begin(), codes.end(), TSR_INSERTED), n) << "parts by bins alone would overfill a shard";
  std::vector<uint64_t> counts(n);
  ASSERT_EQ(tsr_count_all(table, n, keys.data(), counts.data(), nullptr, &error), TSR_OK);
  for (uint64_t count : counts) ASSERT_EQ(count, 100u);
  tsr_table_destroy(table);
}

// Chunks of that many items that whoever works on them sends the answers.
TEST(Answers, OfLargeChunks) {
  tsr_error error = {};
  const uint32_t n = 150000;
  for (uint32_t devices = 1; devices <= 3; devices++) {
    tsr_table *table = table_of(kMulti + std::string("devices=" + numbers(devices) + " capacity=300000"));
    std::vector<uint32_t> keys(n), queries(n), values(n), found(n);
    std::vector<uint64_t> counts(n);
    std::vector<uint8_t> present(n);
    for (uint32_t i = 0; i < n; i++) { // half of the queries are for absent keys, the other ones in another order
      keys[i] = values[i] = i * 2654435761u;
      queries[i] = (i * 7u + 3) % (2 * n) * 2654435761u;
    }
    ASSERT_EQ(tsr_insert(table, n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    tsr_call call = {};
    call.missing = 5;
    ASSERT_EQ(tsr_find(table, n, queries.data(), found.data(), &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_contains(table, n, queries.data(), present.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_count_all(table, n, queries.data(), counts.data(), nullptr, &error), TSR_OK) << error.message;
    for (uint32_t i = 0; i < n; i++) {
      const bool is_there = (i * 7u + 3) % (2 * n) < n;
      ASSERT_EQ(found[i], is_there ? queries[i] : 5) << i;
      ASSERT_TRUE(present[i] == is_there && counts[i] == is_there) << i;
    }
    tsr_table_destroy(table);
  }
}

// All keys go to one shard, and the others stay empty: no key but one.
TEST(Balance, EmptyShards) {
  tsr_error error = {};
  std::vector<uint32_t> keys(1000, 42), values(1000, 3), found(1000);
  tsr_table *table = table_of(
      std::string(
          "kind=map key_bits=32 value_bits=32 layout=packed probing=double_hashing hasher=murmur3 duplicates=add ") +
      "devices=" + numbers(8) + " capacity=100 devices.chunk=256");
  ASSERT_EQ(tsr_insert(table, 1000, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find(table, 1000, keys.data(), found.data(), nullptr, &error), TSR_OK) << error.message;
  for (uint32_t value : found) ASSERT_EQ(value, 3000u);
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(table, &size, &error), TSR_OK);
  EXPECT_EQ(size, 1u);
  tsr_table_destroy(table);
}

// Small batches into independent shards are dealt in turn.
TEST(Balance, IndependentShardsFillAlike) {
  tsr_error error = {};
  tsr_table *table =
      table_of(kMulti + std::string("devices=" + numbers(3) + " devices.split=independent capacity=300 load_factor=1"));
  for (uint32_t i = 0; i < 300; i++) {
    uint8_t code = 0;
    tsr_call call = {};
    call.results = &code;
    ASSERT_EQ(tsr_insert(table, 1, &i, &i, &call, &error), TSR_OK) << error.message;
    ASSERT_EQ(code, TSR_INSERTED) << i;
  }
  tsr_table_destroy(table);
}

// ---- What is refused ----------------------------------------------------------------------------

void expect_bad(const std::string &words, const char *part) {
  tsr_error error = {};
  tsr_table *table = nullptr;
  EXPECT_EQ(try_table(words, &table, &error), TSR_BAD_SPEC) << words << ": " << error.message;
  EXPECT_EQ(table, nullptr);
  EXPECT_NE(std::string(error.message).find(part), std::string::npos) << words << ": " << error.message;
}

TEST(Refused, Specs) {
  const std::string map = kMap + std::string("capacity=100 ");
  for (const char *list : {"0,", ",0", "0,,1", "64", "-1", "0;1", "all,0", "x", "99999999999999999999"})
    expect_bad(map + "table.devices=" + list, "must be all, or at most 64 numbers");
  std::string many = "0";
  for (int i = 0; i < 64; i++) many += ",0";
  expect_bad(map + "devices=" + many, "at most 64");
  expect_bad(map + "devices=0,1 device=0", "remove one");
  expect_bad(map + "devices.split=hash", "names no devices");
  expect_bad(map + "devices=0,1 devices.split=modulo", "must be one of");
  expect_bad(map + "devices=0,1 devices.split=pages", "page_bytes = auto");
  expect_bad(map + "devices=0,1 devices.chunk=255", "256");
  expect_bad(map + "devices=0,1 devices.chunks=256", "did you mean chunk");
  expect_bad(map + "devices=0,1 devices.split=independent", "on two devices");
}

TEST(Refused, Calls) {
  tsr_error error = {};
  tsr_table *table = table_of(kMap + ("capacity=100 devices=" + numbers(2)));
  const uint32_t key = 1;
  uint32_t value = 0;
  EXPECT_EQ(tsr_table_prepare(table, TSR_PREPARE_INSERT + TSR_PREPARE_FIND_ALL, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_insert(table, 1, &key, nullptr, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_find(table, 1, nullptr, &value, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_apply(table, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &error), TSR_UNSUPPORTED);
  EXPECT_EQ(tsr_find(table, 0, nullptr, nullptr, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_table_load(nullptr, nullptr, &table, &error), TSR_BAD_ARGUMENT);
  tsr_table_destroy(table);
  table = table_of(kMulti + ("capacity=100 devices=" + numbers(2) + " devices.split=independent concurrency=mixed"));
  const uint8_t operation = TSR_OP_FIND;
  EXPECT_EQ(tsr_apply(table, 1, &operation, &key, &value, &value, nullptr, &error), TSR_UNSUPPORTED) << error.message;
  uint64_t count = 0;
  EXPECT_EQ(tsr_join(table, table, TSR_JOIN_INNER, nullptr, &count, &error), TSR_UNSUPPORTED) << error.message;
  tsr_table_destroy(table);
}

TEST(Refused, MemoryThatThereIsNot) {
  tsr_error error = {};
  tsr_table *table = nullptr;
  EXPECT_EQ(try_table(kMap + ("capacity=2^39 devices=" + numbers(3)), &table, &error), TSR_NO_MEMORY) << error.message;
  EXPECT_EQ(table, nullptr);
}

TEST(Refused, FilesOfOtherShards) {
  tsr_error error = {};
  const std::string path = path_of("three.tsr"), bad = path_of("bad.tsr");
  tsr_table *table = table_of(kMap + ("capacity=100 devices=" + numbers(3)));
  insert(table, {{1, 2}, {3, 4}, {5, 6}});
  ASSERT_EQ(tsr_table_save(table, path.c_str(), &error), TSR_OK) << error.message;
  tsr_table_destroy(table);
  table = nullptr;
  ASSERT_EQ(load(path, &table, &error, "0,0,0"), TSR_OK) << error.message;
  expect_pairs(table, {{1, 2}, {3, 4}, {5, 6}});
  tsr_table_destroy(table);
  table = nullptr;
  const std::string bytes = read_file(path);
  const size_t step = backend() == "cpu" ? 1 : 16; // files are the host's matter
  for (size_t length = 0; length < bytes.size(); length += step * (length < 1200 ? 7 : 211)) {
    write_file(bad, bytes.substr(0, length));
    ASSERT_EQ(load(bad, &table, &error), TSR_IO) << length << ": " << error.message;
    ASSERT_EQ(table, nullptr);
  }
  Random random(5);
  for (size_t at = 0; at < bytes.size(); at += step * (at < 1200 ? 3 : 101)) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random.below(8)));
    write_file(bad, damaged);
    const std::string elsewhere = numbers(2);
    ASSERT_EQ(load(bad, &table, &error, at % 2 ? nullptr : elsewhere.c_str()), TSR_IO) << at << ": " << error.message;
    ASSERT_EQ(table, nullptr);
  }
}

TEST(Settings, OfDevicesAreListed) {
  const tsr_setting_info *rows = nullptr;
  ASSERT_EQ(tsr_devices_settings_list(&rows), 4u);
  EXPECT_STREQ(rows[0].key, "split");
  EXPECT_STREQ(rows[1].key, "chunk");
  EXPECT_STREQ(rows[2].key, "exchange");
  EXPECT_STREQ(rows[3].key, "combine");
}

} // namespace
