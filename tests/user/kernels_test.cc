// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a user's (core/tessera.cuh) on the cpu backend: each call that one may make, against an oracle, for tables
// of many shapes; several tables in one kernel; and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/tessera_kernels.h"
#include "tests/codegen/choices.h"
#include "tests/oracle/compiler.h"

namespace {

tsr_statements statements(const char *text, const char *parameters, const void *const *arguments = nullptr,
                          size_t count = 0) {
  return {0, text, parameters, arguments, count};
}

const char kText[] = R"(#include "tessera.cuh"
/* TSR_KERNEL(no, (int kernel)) */ // TSR_TABLE(neither, nor)
#define TWICE(x) ((x) * 2)
TSR_TABLE(into, inserts)
TSR_TABLE(from, finds)
TSR_TABLE(out_of, erases)
TSR_TABLE(any, all)

TSR_KERNEL(put, (tsr_table_ref into, const uint64_t *keys, const uint64_t *values, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint32_t result = tsr_insert(into, mine, mine ? keys[i] : 0, mine ? values[i] : 0);
  if (mine) results[i] = (uint8_t)result;
}

TSR_KERNEL(put_pairs, (tsr_table_ref into, uint64_t *keys, uint64_t *values, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t key = mine ? keys[i] : 0, value = mine ? values[i] : 0;
  const uint32_t result = tsr_insert_pair(into, mine, &key, &value);
  if (!mine) return;
  results[i] = (uint8_t)result;
  keys[i] = key;
  values[i] = value;
}

TSR_KERNEL(get_or_put, (tsr_table_ref into, const uint64_t *keys, uint64_t *values, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t value = mine ? values[i] : 0;
  const uint32_t result = tsr_find_or_insert(into, mine, mine ? keys[i] : 0, &value);
  if (!mine) return;
  results[i] = (uint8_t)result;
  values[i] = value;
}

/* found, then the number of pairs, then the sum of the values */
TSR_KERNEL(get, (tsr_table_ref from, const uint64_t *keys, uint64_t *values, uint64_t *counts, uint64_t *sums,
                 uint8_t *found)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  uint64_t value = 0, each = 0, sum = 0;
  uint32_t is_there = 0;
  const uint32_t is_found = tsr_find(from, mine, key, &value), is_contained = tsr_contains(from, mine, key);
  const uint64_t count = tsr_count(from, mine, key);
  tsr_for_each_value(from, mine, key, each, is_there) {
    if (is_there) sum += TWICE(each);
  }
  if (!mine) return;
  found[i] = (uint8_t)(is_found + is_contained);
  values[i] = value;
  counts[i] = count;
  sums[i] = sum;
}

TSR_KERNEL(take_out, (tsr_table_ref out_of, const uint64_t *keys, uint64_t *counts)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t count = tsr_erase(out_of, mine, mine ? keys[i] : 0);
  if (mine) counts[i] = count;
}

/* Of each key: put, find, erase, find. */
TSR_KERNEL(in_and_out, (tsr_table_ref any, const uint64_t *keys, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  uint64_t value = 0;
  uint32_t sound = tsr_insert(any, mine, key, key % 1000) == TSR_WAS_INSERTED;
  sound += tsr_find(any, mine, key, &value) && value == key % 1000;
  sound += tsr_erase(any, mine, key) == 1;
  sound += !tsr_contains(any, mine, key);
  if (mine) results[i] = (uint8_t)sound;
}

/* Only keys that the one table holds go to the other, with what was found as key. */
TSR_KERNEL(pass_on, (tsr_table_ref from, tsr_table_ref into, const uint64_t *keys, uint64_t *number, uint32_t times)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t value = 0;
  const uint32_t found = tsr_find(from, mine, mine ? keys[i] : 0, &value);
  if_any(found) tsr_insert(into, found, value, times);
  (void)tsr_append(number, found);
}
)";

const char kIncludes[] = "#include \"tessera.cuh\"\n";

struct Shape {
  const char *name, *entries;
  uint32_t key_bits, value_bits;
  const char *duplicates; // "keep": a multimap
};

const Shape kShapes[] = {
    {"soa_add", "layout=soa\nprobing=double_hashing\nduplicates=add\n", 32, 32, "add"},
    {"aos_max", "layout=aos\nprobing=quadratic\nduplicates=max\n", 64, 32, "max"},
    {"packed_cuckoo_first", "layout=packed\nprobing=cuckoo\nduplicates=first\n", 32, 32, "first"},
    {"packed_cuckoo_add", "layout=packed\nprobing=cuckoo\nduplicates=add\n", 32, 32, "add"},
    {"packed_statistics", "layout=packed\nprobing=double_hashing\nduplicates=add\nstatistics=yes\n", 32, 32, "add"},
    {"multimap", "layout=aos\nprobing=double_hashing\n", 32, 32, "keep"},
    {"slab", "layout=slab\nprobing=slab_list\nallocator=slab_light\nduplicates=first\n", 32, 32, "first"},
    {"set", "layout=soa\nprobing=double_hashing\n", 64, 0, "first"},
    {"counter", "layout=packed\nprobing=double_hashing\n", 32, 64, "count"},
    {"cuckoo_counter", "layout=packed\nprobing=cuckoo\n", 64, 32, "count"},
};

class Table {
public:
  Table(const Shape &shape, uint64_t capacity, const std::string &more = "") {
    const bool keeps = std::string(shape.duplicates) == "keep";
    std::string text = std::string("[table]\nkind=") +
                       (keeps                                      ? "multimap"
                        : std::string(shape.duplicates) == "count" ? "counter"
                        : shape.value_bits                         ? "map"
                                                                   : "set") +
                       "\nkey_bits=" + std::to_string(shape.key_bits) +
                       "\nhasher=murmur3\nbackend=cpu\ncapacity=" + std::to_string(capacity) + "\n" + shape.entries +
                       more;
    if (shape.value_bits) text += "value_bits=" + std::to_string(shape.value_bits) + "\n";
    tsr_error error = {};
    tsr_spec *spec = nullptr;
    tsr_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    EXPECT_EQ(tsr_spec_parse(text.c_str(), shape.name, &spec, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
  }
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;
  ~Table() { tsr_table_destroy(table); }
  tsr_table *table = nullptr;
};

tsr_kernel_source source_of(const char *text) {
  tsr_kernel_source source = {};
  source.text = text;
  source.file = "test.cu";
  return source;
}

class Kernel {
public:
  Kernel(const char *name, std::vector<tsr_table *> tables, std::vector<const char *> names, const char *text = kText) {
    tessera_test::allow_compilers();
    const tsr_kernel_source source = source_of(text);
    status = tsr_kernel_create(&source, name, tables.data(), names.data(), tables.size(), &kernel, &error);
  }
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel() { tsr_kernel_destroy(kernel); }
  void launch(uint64_t n, std::vector<const void *> arguments) {
    ASSERT_EQ(status, TSR_OK) << error.message;
    ASSERT_EQ(tsr_kernel_launch(kernel, n, arguments.data(), arguments.size(), nullptr, &error), TSR_OK)
        << error.message;
  }
  tsr_kernel *kernel = nullptr;
  tsr_status status = TSR_OK;
  tsr_error error = {};
};

template <typename T>
struct Array {
  explicit Array(size_t n) : items(n), data(items.data()) {}
  explicit Array(std::vector<T> from) : items(std::move(from)), data(items.data()) {}
  std::vector<T> items;
  T *data;
};

uint64_t narrowed(uint64_t number, uint32_t bits) { return bits < 64 ? number & ((uint64_t{1} << bits) - 1) : number; }

// What a table holds, pair by pair.
class Oracle {
public:
  explicit Oracle(const Shape &shape) : shape_(shape) {}
  void insert(uint64_t key, uint64_t value) {
    std::vector<uint64_t> &values = pairs_[key];
    const std::string policy = shape_.duplicates;
    if (values.empty() || policy == "keep")
      values.push_back(value);
    else if (policy == "count") // never near its largest number
      values[0] += value;
    else if (policy == "add")
      values[0] = narrowed(values[0] + value, shape_.value_bits);
    else if (policy == "min")
      values[0] = std::min(values[0], value);
    else if (policy == "max")
      values[0] = std::max(values[0], value);
  }
  std::vector<uint64_t> erase(uint64_t key) {
    std::vector<uint64_t> values = pairs_[key];
    pairs_.erase(key);
    return values;
  }
  const std::vector<uint64_t> &of(uint64_t key) { return pairs_[key]; }

private:
  Shape shape_;
  std::unordered_map<uint64_t, std::vector<uint64_t>> pairs_;
};

constexpr size_t kPairs = 6000;

class Calls : public testing::TestWithParam<Shape> {};

TEST_P(Calls, DoWhatTheOracleDoes) {
  const Shape &shape = GetParam();
  Table table(shape, 2 * kPairs);
  Oracle oracle(shape);
  Array<uint64_t> keys(kPairs), values(kPairs), counts(kPairs), sums(kPairs), found_values(kPairs);
  Array<uint8_t> results(kPairs), found(kPairs);
  // a third of the keys come again; with `first` equal keys bring equal values, for any one may win; the last two are
  // those whose bits mark slots
  for (size_t i = 0; i < kPairs; i++) {
    keys.data[i] = narrowed((i % (kPairs * 2 / 3)) * 0x9E3779B97F4A7C15u, shape.key_bits);
    values.data[i] = std::string(shape.duplicates) == "first" ? keys.data[i] % 977 : i + 1;
  }
  for (size_t i = 0; i < 2; i++) keys.data[kPairs / 2 + i] = narrowed(~uint64_t{i}, shape.key_bits);
  for (size_t i = 0; i < kPairs; i++) oracle.insert(keys.data[i], shape.value_bits ? values.data[i] : 0);

  Kernel put("put", {table.table}, {"into"});
  put.launch(kPairs, {&keys.data, &values.data, &results.data});
  std::set<uint64_t> seen;
  size_t inserted = 0;
  for (size_t i = 0; i < kPairs; i++) {
    seen.insert(keys.data[i]);
    inserted += results.items[i] == TSR_INSERTED;
    EXPECT_NE(results.items[i], TSR_NOT_PLACED) << i;
    EXPECT_NE(results.items[i], 0) << i;
  }
  EXPECT_EQ(inserted, std::string(shape.duplicates) == "keep" ? kPairs : seen.size());
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(table.table, &size, nullptr), TSR_OK);
  EXPECT_EQ(size, inserted);

  Kernel get("get", {table.table}, {"from"});
  Array<uint64_t> queries(keys.items);
  for (size_t i = 0; i < kPairs; i += 4) queries.data[i] = 3 + i; // few of which are there
  auto check = [&] {
    get.launch(kPairs, {&queries.data, &found_values.data, &counts.data, &sums.data, &found.data});
    for (size_t i = 0; i < kPairs; i++) {
      const std::vector<uint64_t> &expected = oracle.of(queries.data[i]);
      uint64_t sum = 0;
      bool is_one = expected.empty();
      for (uint64_t value : expected) {
        sum += 2 * value;
        is_one = is_one || value == found_values.items[i];
      }
      ASSERT_EQ(found.items[i], expected.empty() ? 0 : 2) << i;
      ASSERT_EQ(counts.items[i], expected.size()) << i;
      if (!shape.value_bits) continue;
      ASSERT_TRUE(is_one) << i << ": " << found_values.items[i];
      ASSERT_EQ(sums.items[i], sum) << i;
    }
  };
  check();

  Kernel take_out("take_out", {table.table}, {"out_of"});
  Array<uint64_t> gone(std::vector<uint64_t>(seen.begin(), std::next(seen.begin(), (long)seen.size() / 2)));
  take_out.launch(gone.items.size(), {&gone.data, &counts.data});
  for (size_t i = 0; i < gone.items.size(); i++)
    ASSERT_EQ(counts.items[i], oracle.erase(gone.items[i]).size()) << gone.items[i];
  check();

  put.launch(kPairs, {&keys.data, &values.data, &results.data}); // over erased slots
  for (size_t i = 0; i < kPairs; i++) oracle.insert(keys.data[i], shape.value_bits ? values.data[i] : 0);
  check();
}

void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.name; }
INSTANTIATE_TEST_SUITE_P(All, Calls, testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Other calls ------------------------------------------------------------------------------

TEST(Calls, FindOrInsert) {
  Table table(kShapes[2], 4000);
  Array<uint64_t> keys(4000), values(4000);
  Array<uint8_t> results(4000);
  for (size_t i = 0; i < 4000; i++) {
    keys.data[i] = i % 1000;
    values.data[i] = i;
  }
  Kernel kernel("get_or_put", {table.table}, {"into"});
  kernel.launch(4000, {&keys.data, &values.data, &results.data});
  std::map<uint64_t, uint64_t> won;
  size_t inserted = 0;
  for (size_t i = 0; i < 4000; i++) {
    inserted += results.items[i] == TSR_INSERTED;
    EXPECT_EQ(won.emplace(keys.data[i], values.data[i]).first->second, values.data[i]) << i; // one value a key
  }
  EXPECT_EQ(inserted, 1000u);
}

TEST(Calls, AllAtOnceWhereTheSpecIsMixed) {
  Table table(kShapes[6], 4000, "concurrency=mixed\n");
  Array<uint64_t> keys(3000);
  Array<uint8_t> results(3000);
  for (size_t i = 0; i < 3000; i++) keys.data[i] = i * 7919;
  Kernel kernel("in_and_out", {table.table}, {"any"});
  kernel.launch(3000, {&keys.data, &results.data});
  for (size_t i = 0; i < 3000; i++) ASSERT_EQ(results.items[i], 4) << i;
  uint64_t size = 1;
  ASSERT_EQ(tsr_size(table.table, &size, nullptr), TSR_OK);
  EXPECT_EQ(size, 0u);
}

// A pair that finds no room is handed to the kernel, and none is lost.
TEST(Calls, HandBackWhatHasNoRoom) {
  Table table(kShapes[2], 256);
  Array<uint64_t> keys(2000), values(2000);
  Array<uint8_t> results(2000);
  for (size_t i = 0; i < 2000; i++) keys.data[i] = values.data[i] = i + 1;
  Kernel kernel("put_pairs", {table.table}, {"into"});
  kernel.launch(2000, {&keys.data, &values.data, &results.data});
  uint64_t size = 0, handed = 0;
  std::set<uint64_t> all;
  for (size_t i = 0; i < 2000; i++)
    if (results.items[i] == TSR_NOT_PLACED) {
      handed++;
      EXPECT_EQ(keys.data[i], values.data[i]);
      all.insert(keys.data[i]);
    }
  ASSERT_EQ(tsr_size(table.table, &size, nullptr), TSR_OK);
  std::vector<uint32_t> held(size), held_values(size);
  ASSERT_EQ(tsr_export(table.table, size, held.data(), held_values.data(), &size, nullptr), TSR_OK);
  all.insert(held.begin(), held.end());
  EXPECT_GT(handed, 0u);
  EXPECT_EQ(size + handed, 2000u);
  EXPECT_EQ(all.size(), 2000u);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table.table, &report, nullptr), TSR_OK);
  EXPECT_EQ(report.not_placed, handed);
}

// ---- Several tables ---------------------------------------------------------------------------

TEST(Tables, OfDifferentShapesInOneKernel) {
  for (size_t first : {2u, 5u})
    for (size_t second : {0u, 1u}) {
      SCOPED_TRACE(std::string(kShapes[first].name) + " " + kShapes[second].name);
      Table from(kShapes[first], 3000), into(kShapes[second], 3000);
      std::vector<uint32_t> keys(1000), values(1000);
      for (uint32_t i = 0; i < 1000; i++) {
        keys[i] = i * 3;
        values[i] = i % 10;
      }
      ASSERT_EQ(tsr_insert(from.table, 1000, keys.data(), values.data(), nullptr, nullptr), TSR_OK);
      Kernel kernel("pass_on", {into.table, from.table}, {"into", "from"}); // in any order
      Array<uint64_t> queries(3000), number(1);
      for (uint64_t i = 0; i < 3000; i++) queries.data[i] = i;
      const uint32_t times = 2;
      kernel.launch(3000, {&queries.data, &number.data, &times});
      EXPECT_EQ(number.items[0], 1000u);
      uint64_t size = 0;
      ASSERT_EQ(tsr_size(into.table, &size, nullptr), TSR_OK);
      EXPECT_EQ(size, 10u);
    }
}

// Lists that bulk inserts make are found in, and scanned, like others.
TEST(Tables, OfListsMadeInBulk) {
  unsetenv("TESSERA_CC");
  Table lists({"lists", "layout=packed\nprobing=hashgraph\n", 32, 32, "keep"}, 3000);
  std::vector<uint32_t> keys(3000), values(3000);
  for (uint32_t i = 0; i < 3000; i++) {
    keys[i] = i % 1000;
    values[i] = i / 1000 + 1;
  }
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(lists.table, 3000, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  Kernel get("get", {lists.table}, {"from"});
  Array<uint64_t> queries(2000), found_values(2000), counts(2000), sums(2000);
  Array<uint8_t> found(2000);
  for (uint64_t i = 0; i < 2000; i++) queries.data[i] = i;
  get.launch(2000, {&queries.data, &found_values.data, &counts.data, &sums.data, &found.data});
  for (size_t i = 0; i < 2000; i++) {
    ASSERT_EQ(found.items[i], i < 1000 ? 2 : 0) << i;
    ASSERT_EQ(counts.items[i], i < 1000 ? 3u : 0u) << i;
    ASSERT_EQ(sums.items[i], i < 1000 ? 12u : 0u) << i;
  }
  uint64_t sum = 0, *place = &sum;
  const void *arguments[] = {&place};
  const tsr_statements add_up = statements("tsr_add(sum, value);", "uint64_t *sum", arguments, 1);
  ASSERT_EQ(tsr_for_all(lists.table, &add_up, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(sum, 6000u);
}

// A table that was made of other parts since is linked again; one that only grew goes on.
TEST(Tables, AreLinkedAgainAfterARebuild) {
  Table table(kShapes[2], 1000);
  Array<uint64_t> keys(800), values(800);
  Array<uint8_t> results(800);
  for (size_t i = 0; i < 800; i++) keys.data[i] = values.data[i] = i + 5;
  Kernel put("put", {table.table}, {"into"});
  put.launch(400, {&keys.data, &values.data, &results.data});
  tsr_error error = {};
  tsr_rehash_options larger = {};
  larger.capacity = 4000;
  ASSERT_EQ(tsr_rehash(table.table, &larger, &error), TSR_OK) << error.message;
  put.launch(600, {&keys.data, &values.data, &results.data});
  Table other(kShapes[4], 4000);
  tsr_rehash_options parts = {};
  parts.spec = tsr_table_spec(other.table);
  ASSERT_EQ(tsr_rehash(table.table, &parts, &error), TSR_OK) << error.message;
  put.launch(800, {&keys.data, &values.data, &results.data});
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(table.table, &size, nullptr), TSR_OK);
  EXPECT_EQ(size, 800u);
}

// ---- Keys of 128 bits -------------------------------------------------------------------------

using Wide = unsigned __int128;

const char kWideText[] = R"(#include "tessera.cuh"
TSR_TABLE_128(into, inserts)
TSR_TABLE_128(from, finds)
TSR_TABLE_128(out_of, erases)
TSR_TABLE_128(over, scans)
TSR_TABLE(narrow, inserts)

TSR_KERNEL(put, (tsr_table_ref into, tsr_key128 *keys, uint64_t *values, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  tsr_key128 key = mine ? keys[i] : 0;
  uint64_t value = mine ? values[i] : 0;
  const uint32_t result = tsr_insert_pair(into, mine, &key, &value);
  if (!mine) return;
  results[i] = (uint8_t)result;
  keys[i] = key;
  values[i] = value;
}

/* found, then the number of pairs, then the sum of the values */
TSR_KERNEL(get, (tsr_table_ref from, const tsr_key128 *keys, uint64_t *counts, uint64_t *sums, uint8_t *found)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const tsr_key128 key = mine ? keys[i] : 0;
  uint64_t value = 0, each = 0, sum = 0;
  uint32_t is_there = 0;
  const uint32_t is_found = tsr_find(from, mine, key, &value), is_contained = tsr_contains(from, mine, key);
  const uint64_t count = tsr_count(from, mine, key);
  tsr_for_each_value(from, mine, key, each, is_there) {
    if (is_there) sum += each;
  }
  if (!mine) return;
  found[i] = (uint8_t)(is_found + is_contained);
  counts[i] = count;
  sums[i] = sum;
}

TSR_KERNEL(take_out, (tsr_table_ref out_of, const tsr_key128 *keys, uint64_t *counts)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t count = tsr_erase(out_of, mine, mine ? keys[i] : 0);
  if (mine) counts[i] = count;
}

/* The upper halves of the keys go to a table of other widths. */
TSR_KERNEL(split, (tsr_table_ref from, tsr_table_ref narrow, const tsr_key128 *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const tsr_key128 key = mine ? keys[i] : 0;
  const uint32_t is_there = tsr_contains(from, mine, tsr_key128_of(tsr_lower(key), tsr_upper(key)));
  if_any(is_there) tsr_insert(narrow, is_there, tsr_upper(key), 1);
}

TSR_KERNEL(add_up, (tsr_table_ref over, uint64_t *sums)) {
  tsr_key128 key = 0;
  uint64_t value = 0;
  uint32_t is_there;
  tsr_for_each_pair(over, key, value, is_there) {
    if (!is_there) continue;
    tsr_add(&sums[0], tsr_lower(key));
    tsr_add(&sums[1], tsr_upper(key));
    tsr_add(&sums[2], value);
  }
}
)";

const Shape kWideShapes[] = {
    {"wide_set", "layout=packed\nprobing=cuckoo\n", 128, 0, "first"},
    {"wide_add", "layout=soa\nprobing=double_hashing\nduplicates=add\n", 128, 64, "add"},
    {"wide_multimap", "layout=soa\nprobing=double_hashing\n", 128, 32, "keep"},
    {"wide_counter", "layout=soa\nprobing=linear\n", 128, 32, "count"},
    {"wide_slab", "layout=slab\nprobing=slab_list\nallocator=slab_light\n", 128, 0, "first"},
};

class WideCalls : public testing::TestWithParam<Shape> {};

// Many keys differ in one half alone, and the markers are among them. A third of the keys come again.
std::vector<Wide> wide_keys(size_t count) {
  std::vector<Wide> keys(count);
  for (size_t i = 0; i < count; i++) {
    const size_t which = i % (count * 2 / 3);
    keys[i] = which % 2 ? (Wide)which << 64 | 5 : (Wide)7 << 64 | which * 0x9E3779B97F4A7C15u;
  }
  for (size_t i = 0; i < 3; i++) keys[count / 2 + i] = ~(Wide)i;
  return keys;
}

TEST_P(WideCalls, DoWhatTheOracleDoes) {
  const Shape &shape = GetParam();
  const std::string policy = shape.duplicates;
  Table table(shape, 2 * kPairs), upper(kShapes[9], 2 * kPairs);
  std::map<Wide, std::pair<uint64_t, uint64_t>> expected; // count, sum
  const std::vector<Wide> all = wide_keys(kPairs);
  Array<Wide> keys(all);
  Array<uint64_t> values(kPairs), counts(kPairs), sums(kPairs), totals(3);
  Array<uint8_t> results(kPairs), found(kPairs);
  for (size_t i = 0; i < kPairs; i++) {
    values.data[i] = i % 1000;
    auto &[count, sum] = expected[all[i]];
    count = policy == "keep" ? count + 1 : 1;
    sum += shape.value_bits ? values.data[i] : 0;
  }
  Kernel put("put", {table.table}, {"into"}, kWideText);
  put.launch(kPairs, {&keys.data, &values.data, &results.data});
  size_t inserted = 0, pairs = 0;
  for (size_t i = 0; i < kPairs; i++) {
    ASSERT_NE(results.items[i], TSR_NOT_PLACED) << i;
    inserted += results.items[i] == TSR_INSERTED;
  }
  Kernel add_up("add_up", {table.table}, {"over"}, kWideText);
  add_up.launch(1, {&totals.data});
  uint64_t lower = 0, higher = 0, sum = 0;
  for (const auto &[key, held] : expected) {
    pairs += held.first;
    lower += (uint64_t)key * held.first;
    higher += (uint64_t)(key >> 64) * held.first;
    sum += held.second;
  }
  EXPECT_EQ(inserted, pairs);
  EXPECT_EQ(totals.items, (std::vector<uint64_t>{lower, higher, sum}));

  Kernel get("get", {table.table}, {"from"}, kWideText);
  Array<Wide> queries(all);
  for (size_t i = 0; i < kPairs; i += 4) queries.data[i] ^= (Wide)1 << (i % 128); // few of which are there
  auto check = [&] {
    get.launch(kPairs, {&queries.data, &counts.data, &sums.data, &found.data});
    for (size_t i = 0; i < kPairs; i++) {
      const auto held = expected.find(queries.data[i]);
      const bool is_there = held != expected.end();
      ASSERT_EQ(found.items[i], is_there ? 2 : 0) << i;
      ASSERT_EQ(counts.items[i], is_there ? held->second.first : 0) << i;
      ASSERT_EQ(sums.items[i], is_there ? held->second.second : 0) << i;
    }
  };
  check();

  Kernel split("split", {table.table, upper.table}, {"from", "narrow"}, kWideText);
  split.launch(kPairs, {&queries.data});
  std::set<uint64_t> uppers;
  for (size_t i = 0; i < kPairs; i++)
    if (expected.count(queries.data[i])) uppers.insert((uint64_t)(queries.data[i] >> 64));
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(upper.table, &size, nullptr), TSR_OK);
  EXPECT_EQ(size, uppers.size());

  Kernel take_out("take_out", {table.table}, {"out_of"}, kWideText);
  std::vector<Wide> gone;
  for (const auto &[key, held] : expected)
    if (gone.size() < expected.size() / 2) gone.push_back(key);
  Array<Wide> erased(gone);
  take_out.launch(gone.size(), {&erased.data, &counts.data});
  for (size_t i = 0; i < gone.size(); i++) {
    ASSERT_EQ(counts.items[i], expected[gone[i]].first) << i;
    expected.erase(gone[i]);
  }
  check();
}

INSTANTIATE_TEST_SUITE_P(All, WideCalls, testing::ValuesIn(kWideShapes),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(WideKeys, StatementsSeeThemWhole) {
  unsetenv("TESSERA_CC");
  Table table(kWideShapes[1], 3000);
  const std::vector<Wide> keys = wide_keys(1500);
  std::vector<uint64_t> values(1500);
  std::map<Wide, uint64_t> expected;
  for (size_t i = 0; i < 1500; i++) expected[keys[i]] += values[i] = i;
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table.table, 1500, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
  uint64_t upper = 0, sum = 0, sums[2] = {};
  for (const auto &[key, value] : expected) {
    upper += (uint64_t)(key >> 64);
    sum += value;
  }
  uint64_t *to = sums;
  const void *arguments[] = {&to};
  const tsr_statements all =
      statements("tsr_add(&sums[0], tsr_upper(key)); tsr_add(&sums[1], value);", "uint64_t *sums", arguments, 1);
  ASSERT_EQ(tsr_for_all(table.table, &all, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(sums[0], upper);
  EXPECT_EQ(sums[1], sum);

  // from an address that is no multiple of 16
  std::vector<char> bytes(1500 * sizeof(Wide) + 1);
  memcpy(bytes.data() + 1, keys.data(), 1500 * sizeof(Wide));
  std::vector<uint64_t> answers(1500);
  uint64_t *at = answers.data();
  const void *more[] = {&at};
  const tsr_statements each = statements("answers[i] = value + tsr_lower(key);", "uint64_t *answers", more, 1);
  ASSERT_EQ(tsr_for_each(table.table, 1500, bytes.data() + 1, &each, nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < 1500; i++) ASSERT_EQ(answers[i], expected[keys[i]] + (uint64_t)keys[i]) << i;
}

TEST(WideKeys, AreDeclaredAsWhatTheyAre) {
  Table wide(kWideShapes[1], 100), narrow(kShapes[0], 100);
  Kernel as_narrow("put", {wide.table}, {"into"});
  EXPECT_EQ(as_narrow.status, TSR_UNSUPPORTED);
  EXPECT_NE(std::string(as_narrow.error.message).find("declare it by TSR_TABLE_128(into, ..)"), std::string::npos)
      << as_narrow.error.message;
  Kernel as_wide("put", {narrow.table}, {"into"}, kWideText);
  EXPECT_EQ(as_wide.status, TSR_UNSUPPORTED);
  EXPECT_NE(std::string(as_wide.error.message).find("declare it by TSR_TABLE(into, ..)"), std::string::npos)
      << as_wide.error.message;
}

// ---- Short functions --------------------------------------------------------------------------

TEST(Functions, MeetEachPairOnce) {
  unsetenv("TESSERA_CC");
  for (size_t shape : {0u, 5u, 6u, 7u}) {
    SCOPED_TRACE(kShapes[shape].name);
    const bool has_values = kShapes[shape].value_bits != 0, wide = kShapes[shape].key_bits == 64;
    Table table(kShapes[shape], 3000);
    std::vector<uint32_t> narrow_keys(2000), values(2000);
    std::vector<uint64_t> keys(2000), seen(4096), answers(4000);
    tsr_error error = {};
    uint64_t expected = 0, sum = 0, count = 0;
    for (uint32_t i = 0; i < 2000; i++) {
      keys[i] = narrow_keys[i] = i * 2;
      values[i] = i + 1;
      expected += has_values ? i + 1 : 0;
    }
    const void *of_width = wide ? (const void *)keys.data() : narrow_keys.data();
    ASSERT_EQ(tsr_insert(table.table, 2000, of_width, has_values ? values.data() : nullptr, nullptr, &error), TSR_OK)
        << error.message;
    uint64_t *places[] = {seen.data(), &sum, &count};
    const void *arguments[] = {&places[0], &places[1], &places[2]};
    const tsr_statements add_up = statements("tsr_add(&seen[key], 1);\ntsr_add(sum, value);\ntsr_add(count, 1);",
                                             "uint64_t *seen, uint64_t *sum, uint64_t *count", arguments, 3);
    ASSERT_EQ(tsr_for_all(table.table, &add_up, nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(count, 2000u);
    EXPECT_EQ(sum, expected);
    for (size_t i = 0; i < seen.size(); i++) ASSERT_EQ(seen[i], i % 2 == 0 && i < 4000) << i;

    uint64_t *to = answers.data();
    const void *more[] = {&to};
    std::vector<uint32_t> narrow_queries(4000);
    std::vector<uint64_t> queries(4000);
    for (uint32_t i = 0; i < 4000; i++) queries[i] = narrow_queries[i] = i;
    const void *asked = wide ? (const void *)queries.data() : narrow_queries.data();
    const tsr_statements answer = statements("to[i] += key + value + 1;", "uint64_t *to", more, 1);
    ASSERT_EQ(tsr_for_each(table.table, 4000, asked, &answer, nullptr, &error), TSR_OK) << error.message;
    for (size_t i = 0; i < 4000; i++) ASSERT_EQ(answers[i], i % 2 ? 0 : i + (has_values ? i / 2 + 1 : 0) + 1) << i;
  }
}

TEST(Functions, AreRefusedWithASentence) {
  unsetenv("TESSERA_CC");
  Table table(kShapes[0], 100);
  tsr_error error = {};
  const uint32_t key = 0;
  const tsr_statements none = statements("", nullptr), no_c = statements("this is no C", nullptr);
  const tsr_statements unnamed = statements("", "int"), not_given = statements("", "uint64_t *sum");
  const tsr_statements no_arguments = statements("", "uint64_t *sum", nullptr, 1),
                       no_text = statements(nullptr, nullptr);
  EXPECT_EQ(tsr_for_all(table.table, &no_c, nullptr, &error), TSR_LINK_FAILED);
  EXPECT_NE(std::string(error.message).find("statements:1"), std::string::npos) << error.message;
  EXPECT_EQ(tsr_for_all(table.table, &unnamed, nullptr, &error), TSR_BAD_SPEC) << error.message;
  EXPECT_EQ(tsr_for_all(table.table, &not_given, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_all(table.table, &no_arguments, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_all(table.table, &no_text, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_all(table.table, nullptr, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_all(nullptr, &none, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_each(table.table, 1, nullptr, &none, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_for_each(table.table, 0, &key, &none, nullptr, &error), TSR_OK);
}

// ---- Code made before it is needed ------------------------------------------------------------

TEST(Prepare, MakesCalls) {
  unsetenv("TESSERA_CC");
  Table table(kShapes[3], 1000); // inserts combine later
  tsr_error error = {};
  tsr_table_info info = {};
  ASSERT_EQ(tsr_table_prepare(table.table, TSR_PREPARE_INSERT | TSR_PREPARE_FIND, &error), TSR_OK) << error.message;
  tsr_table_describe(table.table, &info);
  for (const char *name : {"insert", "find", "combine"})
    EXPECT_NE(std::string(info.code).find(name), std::string::npos) << info.code;
  const uint32_t key = 7;
  uint32_t value = 5, found = 0;
  ASSERT_EQ(tsr_insert(table.table, 1, &key, &value, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find(table.table, 1, &key, &found, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(found, 5u);
}

TEST(Prepare, RefusesWhatIsNotThere) {
  Table table(kShapes[3], 1000), set(kShapes[7], 1000);
  tsr_error error = {};
  EXPECT_EQ(tsr_table_prepare(nullptr, TSR_PREPARE_FIND, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_table_prepare(table.table, 1u << 11, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_table_prepare(table.table, TSR_PREPARE_APPLY, &error), TSR_UNSUPPORTED);
  EXPECT_EQ(tsr_table_prepare(set.table, TSR_PREPARE_FIND_ALL, &error), TSR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("a set has no values"), std::string::npos) << error.message;
  EXPECT_EQ(tsr_table_prepare(table.table, 0, &error), TSR_OK) << error.message;
}

// ---- Refusals ---------------------------------------------------------------------------------

void expect_refused(const char *name, std::vector<tsr_table *> tables, std::vector<const char *> names,
                    tsr_status status, const char *words, const char *text = kText) {
  Kernel kernel(name, std::move(tables), std::move(names), text);
  EXPECT_EQ(kernel.status, status) << kernel.error.message;
  EXPECT_NE(std::string(kernel.error.message).find(words), std::string::npos) << kernel.error.message;
  EXPECT_EQ(kernel.kernel, nullptr);
}

TEST(Refusals, OfTables) {
  Table one(kShapes[0], 100), two(kShapes[0], 100);
  expect_refused("put", {one.table}, {"from"}, TSR_BAD_ARGUMENT, "into was given no table");
  expect_refused("put", {one.table, two.table}, {"into", "into"}, TSR_BAD_ARGUMENT, "into was given twice");
  expect_refused("put", {one.table, two.table}, {"into", "from"}, TSR_BAD_ARGUMENT, "has 1 tables, and 2 were given");
  expect_refused("pass_on", {one.table, one.table}, {"into", "from"}, TSR_BAD_ARGUMENT, "two names");
  expect_refused("put", {nullptr}, {"into"}, TSR_BAD_ARGUMENT, "is NULL");
  expect_refused("none", {one.table}, {"into"}, TSR_NOT_FOUND, "no kernel none");
  Table several(kShapes[0], 100, "devices=0,0\n");
  expect_refused("put", {several.table}, {"into"}, TSR_UNSUPPORTED, "[table] devices");
  EXPECT_EQ(tsr_table_prepare(several.table, TSR_PREPARE_FIND, nullptr), TSR_OK);
  expect_refused("in_and_out", {one.table}, {"any"}, TSR_UNSUPPORTED, "concurrency = phased");
  Table lists({"lists", "layout=packed\nprobing=hashgraph\n", 32, 32, "keep"}, 100);
  expect_refused("put", {lists.table}, {"into"}, TSR_UNSUPPORTED, "whole batches");
}

TEST(Refusals, OfCode) {
  Table table(kShapes[0], 100);
  expect_refused("k", {table.table}, {"from"}, TSR_LINK_FAILED, "tsr_insert_in_from",
                 "#include \"tessera.cuh\"\nTSR_TABLE(from, finds)\n"
                 "TSR_KERNEL(k, (tsr_table_ref from, uint64_t key)) { tsr_insert(from, 1, key, 1); }\n");
  expect_refused("k", {table.table}, {"from"}, TSR_LINK_FAILED, "test.cu:3:",
                 "#include \"tessera.cuh\"\nTSR_TABLE(from, finds)\n"
                 "TSR_KERNEL(k, (tsr_table_ref from, uint64_t key)) { this is no C; }\n");
}

TEST(Refusals, OfLaunches) {
  Table table(kShapes[0], 100);
  Array<uint64_t> keys(1);
  Kernel kernel("take_out", {table.table}, {"out_of"});
  ASSERT_EQ(kernel.status, TSR_OK) << kernel.error.message;
  tsr_error error = {};
  const void *arguments[] = {&keys.data, nullptr};
  EXPECT_EQ(tsr_kernel_launch(kernel.kernel, 1, arguments, 1, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("2 parameters"), std::string::npos) << error.message;
  EXPECT_EQ(tsr_kernel_launch(kernel.kernel, 1, arguments, 2, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("argument 1, counts, is NULL"), std::string::npos) << error.message;
  EXPECT_EQ(tsr_kernel_launch(nullptr, 1, arguments, 2, nullptr, &error), TSR_BAD_ARGUMENT);
  arguments[1] = &keys.data;
  EXPECT_EQ(tsr_kernel_launch(kernel.kernel, UINT64_MAX, arguments, 2, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_kernel_launch(kernel.kernel, 0, arguments, 2, nullptr, &error), TSR_OK) << error.message;
  tsr_kernel_destroy(nullptr);
}

TEST(Refusals, WithoutACompiler) {
  Table table(kShapes[0], 100);
  const tsr_kernel_source source = source_of(kText);
  const char *const names[] = {"into"};
  tsr_kernel *kernel = nullptr;
  tsr_error error = {};
  setenv("TESSERA_CC", "", 1);
  tsr_status status = tsr_kernel_create(&source, "put", &table.table, names, 1, &kernel, &error);
  unsetenv("TESSERA_CC");
  EXPECT_TRUE(status == TSR_NOT_FOUND || status == TSR_OK) << error.message; // asked once in a process
  tsr_kernel_destroy(kernel);
}

// ---- What a file says -------------------------------------------------------------------------

TEST(Text, TellsParameters) {
  const tsr_kernel_source source = source_of(kText);
  tsr_kernel_facts facts = {};
  tsr_error error = {};
  ASSERT_EQ(tsr_kernel_read(&source, "pass_on", &facts, &error), TSR_OK) << error.message;
  ASSERT_EQ(facts.parameters, 5u);
  EXPECT_EQ(facts.tables, 2u);
  EXPECT_STREQ(facts.name, "pass_on");
  EXPECT_STREQ(facts.parameter[0].name, "from");
  EXPECT_EQ(facts.parameter[0].does, (uint32_t)TSR_DOES_FINDS);
  EXPECT_EQ(facts.parameter[1].does, (uint32_t)TSR_DOES_INSERTS);
  EXPECT_STREQ(facts.parameter[2].type, "const uint64_t *");
  EXPECT_STREQ(facts.parameter[2].name, "keys");
  EXPECT_STREQ(facts.parameter[4].type, "uint32_t");
}

TEST(Text, IsRefusedWithItsLine) {
  const std::pair<const char *, const char *> texts[] = {
      {"", "no kernel at all"},
      {"TSR_TABLE(t, reads)\n", "test.cu:2: a table is declared"},
      {"TSR_TABLE(t)\n", "test.cu:2: a table is declared"},
      {"TSR_TABLE(t, finds)\nTSR_TABLE(t, finds)", "test.cu:3: this table is declared twice"},
      {"TSR_KERNEL(k, (tsr_table_ref t)) {}", "the table t is not declared"},
      {"TSR_KERNEL(k, (int i)) {}", "has 0 tables"},
      {"TSR_TABLE(t, finds) TSR_KERNEL(k, (int i, tsr_table_ref t)) {}", "tables come first"},
      {"TSR_KERNEL(k, (int)) {}", "a type and a name"},
      {"TSR_KERNEL(k, (int a[3])) {}", "a type and a name"},
      {"TSR_KERNEL(k, ()) {}", "a type and a name"},
      {"TSR_KERNEL(k)", "a kernel begins as"},
      {"TSR_KERNEL(k, (int i", "a type and a name"},
      {"TSR_KERNEL(7, (int i))", "a kernel begins as"},
      {"TSR_TABLE(t, finds) TSR_KERNEL(a, (tsr_table_ref t)) {} TSR_KERNEL(b, (tsr_table_ref t)) {}", "2 kernels"},
      {"/* TSR_KERNEL(k, ", "no kernel at all"},
      {"\"TSR_KERNEL(k, (int i))\" 'x", "no kernel at all"}};
  for (const auto &[text, words] : texts) {
    const std::string whole = std::string(kIncludes) + text;
    const tsr_kernel_source source = source_of(whole.c_str());
    tsr_kernel_facts facts = {};
    tsr_error error = {};
    EXPECT_NE(tsr_kernel_read(&source, nullptr, &facts, &error), TSR_OK) << text;
    EXPECT_NE(std::string(error.message).find(words), std::string::npos) << text << ": " << error.message;
  }
}

// A filter in two kernels: one fills it, the other asks.
TEST(Filters, AreFilledAndAskedByKernels) {
  const char *text = R"(
#include "tessera.cuh"
TSR_TABLE(into, inserts)
TSR_TABLE(from, finds)
TSR_KERNEL(fill, (tsr_table_ref into, const uint64_t *keys, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items(), result = tsr_insert(into, mine, mine ? keys[i] : 0, 0);
  if (mine) results[i] = (uint8_t)result;
}
TSR_KERNEL(ask, (tsr_table_ref from, const uint64_t *keys, uint8_t *found)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items(), is_there = tsr_contains(from, mine, mine ? keys[i] : 0);
  if (mine) found[i] = (uint8_t)is_there;
}
)";
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_table *table = nullptr;
  ASSERT_EQ(tsr_spec_parse("[table]\nkind=filter\nkey_bits=64\nhasher=murmur3\nbackend=cpu\ncapacity=5000\n", "f.ini",
                           &spec, &error),
            TSR_OK);
  ASSERT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  {
    Kernel fill("fill", {table}, {"into"}, text), ask("ask", {table}, {"from"}, text);
    Array<uint64_t> keys(5000);
    Array<uint8_t> codes(5000), found(5000), present(5000);
    for (size_t i = 0; i < 5000; i++) keys.data[i] = i * 0x9E3779B97F4A7C15u;
    fill.launch(2500, {&keys.data, &codes.data});
    ask.launch(5000, {&keys.data, &found.data});
    ASSERT_EQ(tsr_contains(table, 5000, keys.data, present.data, nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(found.items, present.items) << "as the bulk call";
    EXPECT_EQ(std::count(found.items.begin(), found.items.begin() + 2500, 1), 2500);
    EXPECT_LT(std::count(found.items.begin() + 2500, found.items.end(), 1), 25);
    Kernel gone("gone", {table}, {"from"},
                "#include \"tessera.cuh\"\nTSR_TABLE(from, erases)\n"
                "TSR_KERNEL(gone, (tsr_table_ref from)) { (void)tsr_erase(from, 1, 1); }\n");
    EXPECT_EQ(gone.status, TSR_UNSUPPORTED);
    EXPECT_NE(strstr(gone.error.message, "keeps bits and no keys"), nullptr) << gone.error.message;
    Kernel undeclared("adds", {table}, {"from"},
                      "#include \"tessera.cuh\"\nTSR_TABLE(from, finds)\n"
                      "TSR_KERNEL(adds, (tsr_table_ref from)) { (void)tsr_insert(from, 1, 1, 0); }\n");
    EXPECT_EQ(undeclared.status, TSR_LINK_FAILED);
    EXPECT_NE(strstr(undeclared.error.message, "TSR_TABLE does not declare it"), nullptr) << undeclared.error.message;
  }
  tsr_table_destroy(table);
}

// A table behind a filter: what a kernel inserts is marked, for kernels and for bulk calls, and what they ask for is right.
TEST(Filters, StandBeforeTheTablesOfKernels) {
  const char *text = R"(
#include "tessera.cuh"
TSR_TABLE(into, inserts)
TSR_TABLE(from, finds)
TSR_TABLE(out, erases)
TSR_KERNEL(fill, (tsr_table_ref into, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  (void)tsr_insert(into, mine, mine ? keys[i] : 0, i);
}
TSR_KERNEL(ask, (tsr_table_ref from, const uint64_t *keys, uint64_t *values, uint64_t *counts, uint64_t *sums)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  uint64_t value = 0, sum = 0, each = 0;
  uint32_t is_there = 0;
  const uint32_t found = tsr_find(from, mine, key, &value);
  const uint64_t count = tsr_count(from, mine, key);
  tsr_for_each_value(from, mine, key, each, is_there) {
    if (is_there) sum += each;
  }
  if (mine) values[i] = found ? value : 9999;
  if (mine) counts[i] = count;
  if (mine) sums[i] = sum;
}
TSR_KERNEL(drop, (tsr_table_ref out, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  (void)tsr_erase(out, mine, mine ? keys[i] : 0);
}
)";
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_table *table = nullptr;
  ASSERT_EQ(tsr_spec_parse("[table]\nkind=map\nkey_bits=64\nvalue_bits=64\nlayout=soa\nprobing=linear\n"
                           "hasher=murmur3\nbackend=cpu\ncapacity=5000\nfilter=8\n",
                           "behind.ini", &spec, &error),
            TSR_OK);
  ASSERT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  {
    Kernel fill("fill", {table}, {"into"}, text), ask("ask", {table}, {"from"}, text),
        drop("drop", {table}, {"out"}, text);
    Array<uint64_t> keys(5000), values(5000), counts(5000), sums(5000);
    Array<uint8_t> present(5000);
    for (size_t i = 0; i < 5000; i++) keys.data[i] = i * 0x9E3779B97F4A7C15u;
    fill.launch(2500, {&keys.data});
    for (uint64_t there : {2500, 0}) {
      ask.launch(5000, {&keys.data, &values.data, &counts.data, &sums.data});
      ASSERT_EQ(tsr_contains(table, 5000, keys.data, present.data, nullptr, &error), TSR_OK) << error.message;
      for (uint64_t i = 0; i < 5000; i++) {
        ASSERT_EQ(values.data[i], i < there ? i : 9999) << i;
        ASSERT_EQ(counts.data[i], i < there) << i;
        ASSERT_EQ(sums.data[i], i < there ? i : 0) << i;
        ASSERT_EQ(present.data[i], i < there) << i << ": as the bulk call";
      }
      drop.launch(5000, {&keys.data});
    }
  }
  tsr_table_destroy(table);
}

} // namespace
