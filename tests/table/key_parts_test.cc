// SPDX-License-Identifier: Apache-2.0
//
// Keys of several columns on the cpu backend: any list of types gives the bytes of its columns one after the other, from
// arrays and from structs, and gives them back; maps with such keys, compared with std::map; and what is refused.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Free {
  void operator()(tsr_table *table) const { tsr_table_destroy(table); }
};
using Table = std::unique_ptr<tsr_table, Free>;

Table create(const std::string &entries, tsr_error *error) {
  const std::string text =
      "[table]\nlayout = soa\nprobing = linear\nhasher = murmur3\ncapacity = 4096\nbackend = cpu\n" + entries;
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  tsr_status status = tsr_spec_parse(text.c_str(), "test.ini", &spec, error);
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  if (status == TSR_OK) status = tsr_table_create(spec, &options, &table, error);
  tsr_spec_free(spec);
  return Table(table);
}

struct Type {
  const char *word;
  size_t bytes;
};
constexpr Type types[] = {{"i8", 1}, {"u8", 1}, {"i16", 2}, {"u16", 2}, {"i32", 4}, {"u32", 4}, {"i64", 8}, {"u64", 8}};

// What a key is, said byte by byte.
std::vector<char> expected_keys(const std::vector<std::vector<char>> &columns, const std::vector<size_t> &bytes,
                                size_t n, size_t key_bytes) {
  std::vector<char> keys(n * key_bytes, 0);
  for (size_t i = 0; i < n; i++) {
    size_t at = i * key_bytes;
    for (size_t c = 0; c < columns.size(); c++)
      for (size_t b = 0; b < bytes[c]; b++) keys[at++] = columns[c][i * bytes[c] + b];
  }
  return keys;
}

TEST(KeyParts, AnyListOfTypesIsPackedAndUnpacked) {
  Random random(1);
  for (int round = 0; round < 200; round++) {
    std::string list;
    std::vector<size_t> bytes, strides;
    size_t all = 0;
    do {
      const Type &type = types[random.below(8)];
      if (all + type.bytes > 16) break;
      list += (bytes.empty() ? "" : ", ") + std::string(type.word);
      bytes.push_back(type.bytes);
      all += type.bytes;
    } while (bytes.size() < 16 && random.below(8));
    SCOPED_TRACE(list);
    tsr_error error = {};
    const Table table = create("kind = set\nkey_columns = " + list + "\n", &error);
    ASSERT_TRUE(table) << error.message;
    tsr_table_info info = {};
    tsr_table_describe(table.get(), &info);
    ASSERT_EQ(info.key_bits, all <= 4 ? 32u : all <= 8 ? 64u : 128u);
    const size_t n = 1 + random.below(100), key_bytes = info.key_bits / 8;
    std::vector<std::vector<char>> columns, back;
    std::vector<const void *> from;
    std::vector<void *> to;
    for (size_t b : bytes) {
      columns.emplace_back(n * b);
      back.emplace_back(n * b);
      for (char &byte : columns.back()) byte = static_cast<char>(random.below(256));
    }
    for (auto &column : columns) from.push_back(column.data());
    for (auto &column : back) to.push_back(column.data());
    std::vector<char> keys(n * key_bytes + 1, 'x');
    char *const out = keys.data() + random.below(2); // at any address
    ASSERT_EQ(tsr_key_pack(table.get(), n, from.data(), nullptr, out, nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(std::vector<char>(out, out + n * key_bytes), expected_keys(columns, bytes, n, key_bytes));
    ASSERT_EQ(tsr_key_unpack(table.get(), n, out, to.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(back, columns);
  }
}

#pragma pack(push, 1)
struct Gaps {
  char first;
  int16_t a;
  double between;
  uint64_t b;
  int32_t c;
};
#pragma pack(pop)

TEST(KeyParts, StructsAreReadAndWrittenInPlace) {
  tsr_error error = {};
  const Table table = create("kind = set\nkey_columns = a:i16, b:u64, c:i32\n", &error);
  ASSERT_TRUE(table) << error.message;
  std::vector<Gaps> rows(50), back(50, Gaps{'k', 0, 0.5, 0, 0});
  Random random(2);
  for (Gaps &row : rows)
    row = {'f', static_cast<int16_t>(random.bits(16)), 1.5, random.bits(64), static_cast<int32_t>(random.bits(32))};
  const void *const from[] = {&rows[0].a, &rows[0].b, &rows[0].c};
  void *const to[] = {&back[0].a, nullptr, &back[0].c};
  const size_t strides[] = {sizeof(Gaps), sizeof(Gaps), sizeof(Gaps)};
  std::vector<unsigned __int128> keys(50);
  ASSERT_EQ(tsr_key_pack(table.get(), 50, from, strides, keys.data(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_key_unpack(table.get(), 50, keys.data(), to, strides, nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < 50; i++) {
    const unsigned __int128 key = static_cast<uint16_t>(rows[i].a) | static_cast<unsigned __int128>(rows[i].b) << 16 |
                                  static_cast<unsigned __int128>(static_cast<uint32_t>(rows[i].c)) << 80;
    EXPECT_TRUE(keys[i] == key) << i;
    EXPECT_EQ(back[i].a, rows[i].a);
    EXPECT_EQ(back[i].c, rows[i].c);
    EXPECT_EQ(back[i].b, 0u);
    EXPECT_EQ(back[i].first, 'k');
    EXPECT_EQ(back[i].between, 0.5);
  }
}

struct Voxel {
  uint32_t x, y, z, t;
};

// Structs of 16 bytes are keys as they are; from separate arrays they are packed. Both find the same.
TEST(KeyParts, AMapOfVoxelsAgreesWithTheOracle) {
  tsr_error error = {};
  const Table table =
      create("kind = map\nvalue_bits = 64\nduplicates = add\nkey_columns = x:u32, y:u32, z:u32, t:u32\n", &error);
  ASSERT_TRUE(table) << error.message;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>, uint64_t> oracle;
  Random random(3);
  const size_t n = 5000;
  std::vector<Voxel> voxels(n);
  std::vector<uint64_t> values(n);
  for (size_t i = 0; i < n; i++) {
    voxels[i] = {static_cast<uint32_t>(random.below(9)), static_cast<uint32_t>(random.below(9)),
                 ~static_cast<uint32_t>(random.below(9)), static_cast<uint32_t>(random.below(4))};
    values[i] = random.below(1000);
    oracle[{voxels[i].x, voxels[i].y, voxels[i].z, voxels[i].t}] += values[i];
  }
  ASSERT_EQ(tsr_insert(table.get(), n, voxels.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  std::vector<uint32_t> x, y, z, t;
  for (uint32_t i = 0; i < 12 * 12 * 12 * 4; i++) {
    x.push_back(i % 12);
    y.push_back(i / 12 % 12);
    z.push_back(~(i / 144 % 12));
    t.push_back(i / 1728);
  }
  const void *const columns[] = {x.data(), y.data(), z.data(), t.data()};
  std::vector<unsigned __int128> keys(x.size());
  std::vector<uint64_t> sums(x.size());
  ASSERT_EQ(tsr_key_pack(table.get(), x.size(), columns, nullptr, keys.data(), nullptr, &error), TSR_OK)
      << error.message;
  tsr_call call = {};
  call.missing = 77777;
  ASSERT_EQ(tsr_find(table.get(), x.size(), keys.data(), sums.data(), &call, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < x.size(); i++) {
    const auto found = oracle.find({x[i], y[i], z[i], t[i]});
    EXPECT_EQ(sums[i], found == oracle.end() ? 77777 : found->second) << i;
  }
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(table.get(), &size, &error), TSR_OK);
  EXPECT_EQ(size, oracle.size());
}

// key_bits = 96 is three u32 columns: an array of 12-byte items is packed by its stride.
TEST(KeyParts, KeysOf96BitsAreThreeNumbers) {
  tsr_error error = {};
  const Table table = create("kind = map\nvalue_bits = 32\nkey_bits = 96\n", &error);
  ASSERT_TRUE(table) << error.message;
  tsr_table_info info = {};
  tsr_table_describe(table.get(), &info);
  EXPECT_EQ(info.key_bits, 128u);
  const size_t n = 3000;
  std::vector<uint32_t> items(3 * n), values(n), found(n), back(3 * n);
  Random random(4);
  for (uint32_t &word : items) word = random.below(8) ? static_cast<uint32_t>(random.bits(32)) : ~uint32_t{0};
  for (size_t i = 0; i < n; i++) values[i] = items[3 * i + i % 3] = static_cast<uint32_t>(i); // all differ
  const void *const columns[] = {&items[0], &items[1], &items[2]};
  void *const to[] = {&back[0], &back[1], &back[2]};
  const size_t strides[] = {12, 12, 12};
  std::vector<unsigned __int128> keys(n);
  ASSERT_EQ(tsr_key_pack(table.get(), n, columns, strides, keys.data(), nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < n; i++) {
    EXPECT_EQ(memcmp(&keys[i], &items[3 * i], 12), 0);
    EXPECT_EQ(static_cast<uint32_t>(keys[i] >> 96), 0u);
  }
  ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find(table.get(), n, keys.data(), found.data(), nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(found, values);
  ASSERT_EQ(tsr_key_unpack(table.get(), n, keys.data(), to, strides, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(back, items);
  for (const char *same : {"key_bits = 96\nkey_columns = a:i32, b:u64", "key_bits = 96\nkey_columns = u8,u8,u8,u8,i64"})
    EXPECT_TRUE(create(std::string("kind = set\n") + same + "\n", &error)) << error.message;
}

// Before a table grows, the different keys of a batch are counted by all their bits, so that it is never overfull: these
// agree in the first column, which is the lowest bits.
TEST(KeyParts, ATableGrowsForKeysThatAgreeInAColumn) {
  tsr_error error = {};
  const Table table =
      create("kind = set\nkey_columns = day:u32, shop:u64\ngrowth = double\nstatistics = yes\n", &error);
  ASSERT_TRUE(table) << error.message;
  const size_t n = 60000;
  std::vector<uint32_t> day(n, 7);
  std::vector<uint64_t> shop(n);
  for (size_t i = 0; i < n; i++) shop[i] = i << 32;
  const void *const columns[] = {day.data(), shop.data()};
  std::vector<unsigned __int128> keys(n);
  ASSERT_EQ(tsr_key_pack(table.get(), n, columns, nullptr, keys.data(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table.get(), &report, &error), TSR_OK) << error.message;
  EXPECT_EQ(report.inserted, n);
  EXPECT_LT(report.insert_probes, 20 * n);
}

TEST(KeyParts, WhatIsRefused) {
  const struct {
    const char *entries, *sentence;
  } cases[] = {
      {"key_columns = u32, f32",
       "has a column of floats: keys are compared bit by bit, and 0.0 and -0.0 have different "
       "bits. Give their bits as u32"},
      {"key_columns = f64", "Give their bits as u64"},
      {"key_columns = u64, u64, u8", "has 136 bits together, and a key has at most 128"},
      {"key_columns = u32,", "must be types between commas"},
      {"key_columns = , u32", "must be types between commas"},
      {"key_columns = int", "must be types between commas"},
      {"key_columns = :u32", "has a column whose name is empty or longer than 31 letters"},
      {"key_columns = u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8,u8", "names more than 16 columns"},
      {"key_columns = u32, u16\nkey_bits = 32", "key_columns makes keys of 64 bits: remove the line"},
      {"key_columns = u32, u64, u8\nkey_bits = 96", "key_columns makes keys of 128 bits: remove the line"},
      {"key_columns = u64, u64\npage_bytes = auto", "batches are put in order by keys of at most 64 bits"},
  };
  for (const auto &c : cases) {
    tsr_error error = {};
    EXPECT_FALSE(create(std::string("kind = set\n") + c.entries + "\n", &error)) << c.entries;
    EXPECT_EQ(error.status, TSR_BAD_SPEC) << c.entries;
    EXPECT_NE(std::string(error.message).find(c.sentence), std::string::npos) << c.entries << ": " << error.message;
  }
}

TEST(KeyParts, CallsThatAreRefused) {
  tsr_error error = {};
  const Table plain = create("kind = set\nkey_bits = 64\n", &error),
              table = create("kind = set\nkey_columns = u32, u16\n", &error);
  ASSERT_TRUE(plain && table) << error.message;
  const uint32_t items[4] = {};
  uint64_t keys[4] = {};
  const void *const columns[] = {items, items}, *const lacking[] = {items, nullptr};
  const size_t narrow[] = {4, 1};
  EXPECT_EQ(tsr_key_pack(plain.get(), 1, columns, nullptr, keys, nullptr, &error), TSR_UNSUPPORTED);
  EXPECT_STREQ(error.message,
               "tsr_key_pack: the table's spec names no columns: add [table] key_columns = u32, u32, ...");
  EXPECT_EQ(tsr_key_pack(table.get(), 1, lacking, nullptr, keys, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_STREQ(error.message, "tsr_key_pack: columns[1] is NULL: a key has all 2 columns");
  EXPECT_EQ(tsr_key_pack(table.get(), 1, columns, narrow, keys, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_STREQ(error.message, "tsr_key_pack: strides[1] = 1: its items have 2 bytes");
  EXPECT_EQ(tsr_key_pack(table.get(), 1, columns, nullptr, nullptr, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_pack(nullptr, 1, columns, nullptr, keys, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_key_pack(table.get(), 0, columns, nullptr, keys, nullptr, &error), TSR_OK);
}

} // namespace
} // namespace tessera_test
