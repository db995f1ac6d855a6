// SPDX-License-Identifier: Apache-2.0
//
// Values of value_bytes where bulk calls of one table are not all: kernels of a user's, several shards, joins; each
// against an oracle, on the backend under test. The bulk calls themselves: device_test.cc and ../table/wide_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tessera_kernels.h"
#include "tests/device/device.h"
#include "tests/oracle/compiler.h"

namespace {

using device::Table;

struct Shape {
  const char *name, *parts; // parts: further lines of [table]
  uint32_t key_bits, value_bytes;
  const char *duplicates; // "keep": a multimap
  uint32_t bucket_slots, tile_lanes;
};

const Shape kShapes[] = {
    {"cuckoo_first", "layout=packed\nprobing=cuckoo\nduplicates=first\n", 32, 64, "first", 4, 1},
    {"cuckoo_replace", "layout=packed\nprobing=cuckoo\nduplicates=replace\n", 32, 20, "replace", 8, 4},
    {"linear_replace", "layout=packed\nprobing=linear\nduplicates=replace\n", 32, 256, "replace", 8, 8},
    {"soa_first", "layout=soa\nprobing=double_hashing\nduplicates=first\n", 64, 16, "first", 8, 8},
    {"aos_unique", "layout=aos\nprobing=quadratic\nduplicates=promise_unique\n", 64, 24, "unique", 4, 2},
    {"multimap", "layout=packed\nprobing=double_hashing\n", 32, 48, "keep", 8, 8},
};

void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.name; }

Table make(const Shape &shape, uint64_t capacity, const std::string &more = "") {
  const bool keeps = std::string(shape.duplicates) == "keep";
  const std::string text = std::string("[table]\nkind=") + (keeps ? "multimap" : "map") +
                           "\nkey_bits=" + std::to_string(shape.key_bits) +
                           "\nvalue_bytes=" + std::to_string(shape.value_bytes) +
                           "\nhasher=murmur3\nbackend=" + device::backend() + "\ncapacity=" + std::to_string(capacity) +
                           "\n" + shape.parts + more + "[layout]\nbucket_slots=" + std::to_string(shape.bucket_slots) +
                           "\ntile_lanes=" + std::to_string(shape.tile_lanes) + "\n";
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  Table table;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), shape.name, &spec, &error), TSR_OK) << error.message;
  if (spec) table = device::create(spec, options);
  tsr_spec_free(spec);
  return table;
}

uint64_t scaled(uint64_t items) { return device::backend() == "cpu" ? items : 16 * items; }

// The row that item `ordinal` brings for a key: its first word is the ordinal, and all others follow from it and the key.
uint32_t word_of(uint64_t key, uint32_t ordinal, uint32_t word) {
  if (word == 0) return ordinal;
  uint64_t x = (key + 1) * 0x9E3779B97F4A7C15u ^ (uint64_t{ordinal} << 32 | word);
  x = (x ^ x >> 29) * 0xBF58476D1CE4E5B9u;
  return static_cast<uint32_t>(x >> 32);
}

// A batch of pairs, and what is where the table can see it.
struct Batch {
  std::vector<uint64_t> keys;
  std::vector<uint32_t> ordinals;
  void add(uint64_t key, uint32_t ordinal) { keys.push_back(key), ordinals.push_back(ordinal); }
};

// Memory of the table's, of any words.
template <typename T>
class Memory {
public:
  Memory(tsr_table *table, std::vector<T> items) : table_(table), items_(std::move(items)) {
    tsr_error error = {};
    EXPECT_EQ(tsr_memory_allocate(table, bytes(), &data, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_memory_copy(table, data, items_.data(), items_.size() * sizeof(T), &error), TSR_OK) << error.message;
  }
  Memory(tsr_table *table, size_t count) : Memory(table, std::vector<T>(count)) {}
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() { tsr_memory_free(table_, data); }
  const std::vector<T> &read() {
    tsr_error error = {};
    EXPECT_EQ(tsr_table_wait(table_, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_memory_copy(table_, items_.data(), data, items_.size() * sizeof(T), &error), TSR_OK) << error.message;
    return items_;
  }
  void *data = nullptr;

private:
  size_t bytes() const { return items_.size() * sizeof(T) + 1; }
  tsr_table *table_;
  std::vector<T> items_;
};

std::vector<uint32_t> rows_of(const Batch &batch, uint32_t words) {
  std::vector<uint32_t> rows;
  for (size_t i = 0; i < batch.keys.size(); i++)
    for (uint32_t w = 0; w < words; w++) rows.push_back(word_of(batch.keys[i], batch.ordinals[i], w));
  return rows;
}

// The ordinal that a row names, if it is whole and this key's; -1: it is not.
int64_t ordinal_of(const uint32_t *row, uint64_t key, uint32_t words) {
  for (uint32_t w = 1; w < words; w++)
    if (row[w] != word_of(key, row[0], w)) return -1;
  return row[0];
}

// Which ordinals each key may have (one of them), or, of a multimap, has.
class Oracle {
public:
  explicit Oracle(const Shape &shape) : policy_(shape.duplicates) {}
  void insert(const Batch &batch) { // as one call, whose items come in any order
    std::map<uint64_t, std::multiset<int64_t>> fresh;
    for (size_t i = 0; i < batch.keys.size(); i++) fresh[batch.keys[i]].insert(batch.ordinals[i]);
    for (auto &[key, ordinals] : fresh) {
      std::multiset<int64_t> &mine = pairs_[key];
      if (policy_ == "keep")
        mine.insert(ordinals.begin(), ordinals.end());
      else if (policy_ == "replace" || mine.empty())
        mine = ordinals;
    }
  }
  void erase(const std::vector<uint64_t> &keys) {
    for (uint64_t key : keys) pairs_.erase(key);
  }
  bool keeps() const { return policy_ == "keep"; }
  const std::multiset<int64_t> &of(uint64_t key) { return pairs_[key]; }
  uint64_t size() const {
    uint64_t size = 0;
    for (auto &[key, ordinals] : pairs_) size += keeps() ? ordinals.size() : !ordinals.empty();
    return size;
  }

private:
  std::string policy_;
  std::map<uint64_t, std::multiset<int64_t>> pairs_;
};

// By bulk calls.
void insert_in_bulk(tsr_table *table, const Batch &batch, uint32_t words, uint32_t key_bits) {
  const std::vector<uint32_t> rows = rows_of(batch, words), narrow(batch.keys.begin(), batch.keys.end());
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table, batch.keys.size(),
                       key_bits == 32 ? static_cast<const void *>(narrow.data()) : batch.keys.data(), rows.data(),
                       nullptr, &error),
            TSR_OK)
      << error.message;
}

void expect_found_in_bulk(tsr_table *table, Oracle *oracle, const std::vector<uint64_t> &keys, uint32_t words,
                          uint32_t key_bits) {
  const std::vector<uint32_t> narrow(keys.begin(), keys.end());
  std::vector<uint32_t> rows(keys.size() * words);
  std::vector<uint8_t> present(keys.size());
  tsr_call call = {};
  call.size = sizeof call;
  call.present = present.data();
  tsr_error error = {};
  ASSERT_EQ(tsr_find(table, keys.size(), key_bits == 32 ? static_cast<const void *>(narrow.data()) : keys.data(),
                     rows.data(), &call, &error),
            TSR_OK)
      << error.message;
  for (size_t i = 0; i < keys.size(); i++) {
    const std::multiset<int64_t> &expected = oracle->of(keys[i]);
    ASSERT_EQ(present[i], !expected.empty()) << i;
    if (!expected.empty()) {
      ASSERT_EQ(expected.count(ordinal_of(&rows[i * words], keys[i], words)) > 0, true) << i << ", key " << keys[i];
    }
  }
}

// ---- Kernels ----------------------------------------------------------------------------------

const char kText[] = R"(#include "tessera.cuh"
TSR_TABLE(into, inserts)
TSR_TABLE(from, finds)
TSR_TABLE(out_of, erases)
TSR_TABLE(over, scans)

TSR_KERNEL(put, (tsr_table_ref into, const uint64_t *keys, const uint32_t *rows, uint32_t words, uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint32_t result = tsr_insert(into, mine, mine ? keys[i] : 0, tsr_row_value(rows + i * words));
  if (mine) results[i] = (uint8_t)result;
}

/* What is handed back: its key, and the address of its row. */
TSR_KERNEL(put_pairs, (tsr_table_ref into, uint64_t *keys, const uint32_t *rows, uint32_t words, uint64_t *values,
                       uint8_t *results)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t key = mine ? keys[i] : 0, value = tsr_row_value(rows + i * words);
  const uint32_t result = tsr_insert_pair(into, mine, &key, &value);
  if (!mine) return;
  results[i] = (uint8_t)result;
  keys[i] = key;
  values[i] = value;
}

TSR_KERNEL(read, (tsr_table_ref from, const uint64_t *values, uint32_t *rows, uint32_t words)) {
  const uint64_t i = tsr_item();
  (void)from;
  if (i >= tsr_items() || !values[i]) return;
  for (uint32_t w = 0; w < words; w++) rows[i * words + w] = ((const uint32_t *)tsr_row(values[i]))[w];
}

/* One row of the key, how many it has, and the sum of their first words. */
TSR_KERNEL(get, (tsr_table_ref from, const uint64_t *keys, uint32_t *rows, uint32_t words, uint64_t *counts,
                 uint64_t *sums, uint8_t *found)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t key = mine ? keys[i] : 0;
  uint64_t value = 0, each = 0, sum = 0;
  uint32_t is_there = 0;
  const uint32_t is_found = tsr_find(from, mine, key, &value);
  const uint64_t count = tsr_count(from, mine, key);
  tsr_for_each_value(from, mine, key, each, is_there) {
    if (is_there) sum += *(const uint32_t *)tsr_row(each);
  }
  if (!mine) return;
  for (uint32_t w = 0; is_found && w < words; w++) rows[i * words + w] = ((const uint32_t *)tsr_row(value))[w];
  found[i] = (uint8_t)is_found;
  counts[i] = count;
  sums[i] = sum;
}

TSR_KERNEL(take_out, (tsr_table_ref out_of, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  tsr_erase(out_of, i < tsr_items(), i < tsr_items() ? keys[i] : 0);
}

TSR_KERNEL(add_up, (tsr_table_ref over, uint64_t *pairs, uint64_t *sum)) {
  uint64_t key = 0, value = 0, own_pairs = 0, own_sum = 0;
  uint32_t is_there = 0;
  tsr_for_each_pair(over, key, value, is_there) {
    own_pairs += is_there;
    own_sum += is_there ? (uint64_t)(key ^ *(const uint32_t *)tsr_row(value)) : 0;
  }
  tsr_add(pairs, own_pairs);
  tsr_add(sum, own_sum);
}

/* Of a key of 128 bits, whose hash is the table's key and which is the first half of its row, the second half. */
struct wide_key {
  uint64_t word[2];
};
struct wide_pair {
  struct wide_key key;
  uint64_t value[2];
};
TSR_KERNEL(look_for_wide, (tsr_table_ref from, const uint64_t *hashes, const struct wide_key *asked, uint64_t *found)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t value = 0, answer = 0;
  uint32_t is_there = 0;
  tsr_for_each_value(from, mine, mine ? hashes[i] : 0, value, is_there) {
    const struct wide_pair *pair = (const struct wide_pair *)tsr_row(value);
    if (is_there && pair->key.word[0] == asked[i].word[0] && pair->key.word[1] == asked[i].word[1])
      answer = pair->value[0];
  }
  if (mine) found[i] = answer;
}

/* A row that a kernel makes. */
struct made_row {
  uint64_t key, square;
};
TSR_KERNEL(put_made, (tsr_table_ref into, uint64_t first)) {
  const uint64_t i = tsr_item();
  struct made_row row = {first + i, (first + i) * (first + i)};
  tsr_insert(into, i < tsr_items(), first + i, tsr_row_value(&row));
}
TSR_KERNEL(count_made, (tsr_table_ref from, uint64_t first, uint64_t *sound)) {
  const uint64_t i = tsr_item();
  uint64_t value = 0;
  uint32_t is_sound = tsr_find(from, i < tsr_items(), first + i, &value);
  if (is_sound) {
    const struct made_row *row = (const struct made_row *)tsr_row(value);
    is_sound = row->key == first + i && row->square == row->key * row->key;
  }
  tsr_add(sound, is_sound);
}
)";

class Kernel {
public:
  Kernel(const char *name, tsr_table *table, const char *as) {
    tessera_test::allow_compilers();
    tsr_kernel_source source = {};
    source.text = kText;
    source.file = "rows.cu";
    tsr_error error = {};
    EXPECT_EQ(tsr_kernel_create(&source, name, &table, &as, 1, &kernel_, &error), TSR_OK) << error.message;
  }
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel() { tsr_kernel_destroy(kernel_); }
  void launch(uint64_t n, std::vector<const void *> arguments) {
    tsr_error error = {};
    ASSERT_NE(kernel_, nullptr);
    ASSERT_EQ(tsr_kernel_launch(kernel_, n, arguments.data(), arguments.size(), nullptr, &error), TSR_OK)
        << error.message;
  }

private:
  tsr_kernel *kernel_ = nullptr;
};

class Kernels : public testing::TestWithParam<Shape> {
protected:
  const Shape &shape = GetParam();
  const uint32_t words = shape.value_bytes / 4;
  const bool keeps = std::string(shape.duplicates) == "keep", is_unique = std::string(shape.duplicates) == "unique";

  // n pairs of `distinct` keys, from the given one on; ordinals go on from one call to the next.
  Batch batch_of(uint64_t n, uint64_t distinct, uint64_t first) {
    Batch batch;
    for (uint64_t i = 0; i < n; i++)
      batch.add(device::key_of(first + (is_unique ? i : i * 7 % distinct), shape.key_bits), next_++);
    return batch;
  }

  // Codes of the items.
  std::vector<uint8_t> put(tsr_table *table, Kernel *kernel, const Batch &batch) {
    Memory<uint64_t> keys(table, batch.keys);
    Memory<uint32_t> rows(table, rows_of(batch, words));
    Memory<uint8_t> results(table, batch.keys.size());
    kernel->launch(batch.keys.size(), {&keys.data, &rows.data, &words, &results.data});
    return results.read();
  }

  void expect_found(tsr_table *table, Kernel *kernel, Oracle *oracle, const std::vector<uint64_t> &asked) {
    const size_t n = asked.size();
    Memory<uint64_t> keys(table, asked), counts(table, n), sums(table, n);
    Memory<uint32_t> rows(table, n * words);
    Memory<uint8_t> found(table, n);
    kernel->launch(n, {&keys.data, &rows.data, &words, &counts.data, &sums.data, &found.data});
    const std::vector<uint64_t> &count = counts.read(), &sum = sums.read();
    const std::vector<uint32_t> &row = rows.read();
    const std::vector<uint8_t> &is_found = found.read();
    for (size_t i = 0; i < n; i++) {
      const std::multiset<int64_t> &expected = oracle->of(asked[i]);
      ASSERT_EQ(is_found[i], !expected.empty()) << i;
      ASSERT_EQ(count[i], keeps ? expected.size() : !expected.empty()) << i;
      if (expected.empty()) continue;
      const int64_t ordinal = ordinal_of(&row[i * words], asked[i], words);
      ASSERT_EQ(expected.count(ordinal) > 0, true) << i << ", key " << asked[i] << ": " << ordinal;
      uint64_t all = 0;
      if (keeps)
        for (int64_t each : expected) all += static_cast<uint64_t>(each);
      ASSERT_EQ(sum[i], keeps ? all : static_cast<uint64_t>(ordinal)) << i;
    }
  }

private:
  uint32_t next_ = 1;
};

TEST_P(Kernels, AgreeWithTheOracle) {
  const uint64_t n = scaled(3000);
  Table table = make(shape, 8 * n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  Oracle oracle(shape);
  Kernel put_kernel("put", t, "into"), get_kernel("get", t, "from"), erase_kernel("take_out", t, "out_of");
  std::vector<uint64_t> asked;
  for (uint64_t round = 0; round < 6; round++) { // kernels and bulk calls take turns at the rows
    const Batch by_kernel = batch_of(n, n / 3, round * (is_unique ? n : n / 6)),
                in_bulk = batch_of(n / 2, n / 4, is_unique ? (10 + round) * n : round * (n / 5));
    const std::vector<uint8_t> codes = put(t, &put_kernel, by_kernel);
    uint64_t inserted = 0, size_before = oracle.size();
    for (uint8_t code : codes) {
      ASSERT_TRUE(code == TSR_INSERTED ||
                  code == (std::string(shape.duplicates) == "replace" ? TSR_REPLACED : TSR_PRESENT))
          << int{code};
      inserted += code == TSR_INSERTED;
    }
    oracle.insert(by_kernel);
    ASSERT_EQ(inserted, oracle.size() - size_before);
    ASSERT_NO_FATAL_FAILURE(insert_in_bulk(t, in_bulk, words, shape.key_bits));
    oracle.insert(in_bulk);
    asked.insert(asked.end(), by_kernel.keys.begin(), by_kernel.keys.end());
    asked.insert(asked.end(), in_bulk.keys.begin(), in_bulk.keys.end());
    for (uint64_t i = 0; i < 50; i++) asked.push_back(device::key_of(100 * n + i, shape.key_bits));
    ASSERT_NO_FATAL_FAILURE(expect_found(t, &get_kernel, &oracle, asked));
    ASSERT_NO_FATAL_FAILURE(expect_found_in_bulk(t, &oracle, asked, words, shape.key_bits));
    std::vector<uint64_t> gone(by_kernel.keys.begin(), by_kernel.keys.begin() + static_cast<long>(n / 2));
    Memory<uint64_t> keys(t, gone);
    erase_kernel.launch(gone.size(), {&keys.data});
    oracle.erase(gone);
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(t, &size, nullptr), TSR_OK);
    ASSERT_EQ(size, oracle.size());
  }
  Kernel add_up("add_up", t, "over");
  Memory<uint64_t> pairs(t, 1), sum(t, 1);
  add_up.launch(1, {&pairs.data, &sum.data});
  EXPECT_EQ(pairs.read()[0], oracle.size());
  uint64_t expected = 0;
  std::set<uint64_t> keys(asked.begin(), asked.end());
  if (!keeps) return; // whose values are all known
  for (uint64_t key : keys)
    for (int64_t each : oracle.of(key)) expected += key ^ static_cast<uint64_t>(each);
  EXPECT_EQ(sum.read()[0], expected);
}

// Many threads offer rows for few keys, of a table that has few rows: each gives its row back, so that none is short.
TEST_P(Kernels, GiveRowsBack) {
  if (keeps || is_unique) return;
  const uint64_t n = scaled(40000);
  Table table = make(shape, 100);
  ASSERT_TRUE(table);
  Oracle oracle(shape);
  Kernel put_kernel("put", table.get(), "into"), get_kernel("get", table.get(), "from");
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}, uint64_t{90}})
    for (int times = 0; times < 3; times++) {
      const Batch batch = batch_of(n, distinct, 0);
      for (uint8_t code : put(table.get(), &put_kernel, batch)) ASSERT_NE(code, TSR_NOT_PLACED);
      oracle.insert(batch);
      const std::vector<uint64_t> asked(batch.keys.begin(), batch.keys.begin() + 200);
      ASSERT_NO_FATAL_FAILURE(expect_found(table.get(), &get_kernel, &oracle, asked));
    }
}

// Of more pairs than there is room for, each is in the table or handed back, with its row.
TEST_P(Kernels, HandBackWhatHasNoRoom) {
  const uint64_t n = scaled(3000);
  Table table = make(shape, n / 2);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  Kernel kernel("put_pairs", t, "into"), read("read", t, "from"), get("get", t, "from");
  const Batch batch = batch_of(n, n, 0);
  Memory<uint64_t> keys(t, batch.keys), values(t, n);
  Memory<uint32_t> rows(t, rows_of(batch, words)), back(t, n * words);
  Memory<uint8_t> results(t, n);
  kernel.launch(n, {&keys.data, &rows.data, &words, &values.data, &results.data});
  const std::vector<uint8_t> &codes = results.read();
  const std::vector<uint64_t> &at = keys.read();
  read.launch(n, {&values.data, &back.data, &words});
  const std::vector<uint32_t> &row = back.read();
  Oracle left(shape);
  left.insert(batch);
  std::vector<uint64_t> gone;
  for (size_t i = 0; i < n; i++) {
    if (codes[i] != TSR_NOT_PLACED) continue;
    const int64_t ordinal = ordinal_of(&row[i * words], at[i], words);
    ASSERT_EQ(left.of(at[i]).count(ordinal), 1u) << i << ": " << ordinal; // keys are distinct
    gone.push_back(at[i]);
  }
  EXPECT_GT(gone.size(), 0u);
  left.erase(gone);
  uint64_t size = 0;
  ASSERT_EQ(tsr_size(t, &size, nullptr), TSR_OK);
  EXPECT_EQ(size, left.size());
  EXPECT_EQ(size + gone.size(), n);
  ASSERT_NO_FATAL_FAILURE(expect_found(t, &get, &left, batch.keys));
  tsr_report report = {};
  report.size = sizeof report;
  ASSERT_EQ(tsr_table_report(t, &report, nullptr), TSR_OK);
  EXPECT_EQ(report.not_placed, gone.size());
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(KernelRows, AreMadeByTheKernel) {
  const uint64_t n = scaled(5000), first = 17;
  Table table = make(kShapes[3], n);
  ASSERT_TRUE(table);
  Kernel put("put_made", table.get(), "into"), count("count_made", table.get(), "from");
  Memory<uint64_t> sound(table.get(), 1);
  put.launch(n, {&first});
  count.launch(2 * n, {&first, &sound.data});
  EXPECT_EQ(sound.read()[0], n);
}

// Keys of 128 bits, compared where their rows are (core/design/0027-wide-values.md). Their hashes are of 8 bits here, so that
// many meet.
TEST(KernelRows, HoldWideKeys) {
  const uint64_t n = 1000;
  const Shape shape = {"wide_keys", "layout=packed\nprobing=double_hashing\n", 64, 32, "keep", 4, 1};
  Table table = make(shape, 2 * n);
  ASSERT_TRUE(table);
  std::vector<uint64_t> hashes, asked, rows;
  for (uint64_t i = 0; i < 2 * n; i++) {
    const uint64_t low = device::key_of(i, 64),
                   high = device::key_of(i / 2, 64); // half of which another one has as well
    hashes.push_back((low ^ high) & 255);
    asked.insert(asked.end(), {low, high});
    if (i < n) rows.insert(rows.end(), {low, high, i + 1, 0});
  }
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table.get(), n, hashes.data(), rows.data(), nullptr, &error), TSR_OK) << error.message;
  Kernel kernel("look_for_wide", table.get(), "from");
  Memory<uint64_t> of(table.get(), hashes), keys(table.get(), asked), found(table.get(), 2 * n);
  kernel.launch(2 * n, {&of.data, &keys.data, &found.data});
  const std::vector<uint64_t> &answers = found.read();
  for (uint64_t i = 0; i < 2 * n; i++) ASSERT_EQ(answers[i], i < n ? i + 1 : 0) << i;
}

TEST(KernelRows, ReplaceNeedsWholePairs) {
  const Shape shape = {"soa_replace", "layout=soa\nprobing=linear\nduplicates=replace\n", 32, 16, "replace", 4, 2};
  Table table = make(shape, 100);
  ASSERT_TRUE(table);
  tsr_kernel_source source = {};
  source.text = kText;
  tsr_table *tables[] = {table.get()};
  const char *names[] = {"into"};
  tsr_kernel *kernel = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_kernel_create(&source, "put", tables, names, 1, &kernel, &error), TSR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("stores pairs whole"), std::string::npos) << error.message;
}

// ---- Joins ------------------------------------------------------------------------------------

// A table of a join: value_bytes = 0: its values are the ordinals themselves, 32 bits.
struct Side {
  const char *name, *lines;
  uint32_t value_bytes;
};

const Side kSides[] = {
    {"narrow", "kind=map\nvalue_bits=32\nlayout=packed\nprobing=cuckoo\n", 0},
    {"wide_map", "kind=map\nvalue_bytes=20\nlayout=soa\nprobing=double_hashing\n", 20},
    {"wide_multimap", "kind=multimap\nvalue_bytes=64\nlayout=packed\nprobing=double_hashing\n", 64},
    {"narrow_multimap", "kind=multimap\nvalue_bits=32\nlayout=aos\nprobing=linear\n", 0},
    {"wide_pages", "kind=map\nvalue_bytes=32\nlayout=packed\nprobing=cuckoo\npage_bytes=auto\n", 32},
    {"narrow_pages", "kind=map\nvalue_bits=32\nlayout=packed\nprobing=cuckoo\npage_bytes=auto\n", 0},
    {"wide_lists", "kind=multimap\nvalue_bytes=16\nlayout=packed\nprobing=hashgraph\nload_factor=1\n", 16},
};

// Of 32-bit keys.
Table make(const Side &side, uint64_t capacity, const std::string &more = "") {
  const std::string is_list = strstr(side.lines, "hashgraph") ? "[layout]\nbucket_slots=1\n" : "";
  const std::string text = "[table]\nkey_bits=32\nhasher=murmur3\nbackend=" + device::backend() +
                           "\ncapacity=" + std::to_string(capacity) + "\n" + side.lines + more + is_list;
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  Table table;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), side.name, &spec, &error), TSR_OK) << error.message;
  if (spec) table = device::create(spec, options);
  tsr_spec_free(spec);
  return table;
}

using Ordinals = std::multimap<uint64_t, int64_t>; // of keys

Ordinals fill(tsr_table *table, const Side &side, uint64_t first, uint64_t keys, uint64_t times) {
  const bool keeps = strstr(side.lines, "multimap") != nullptr;
  Ordinals pairs;
  Batch batch;
  for (uint64_t i = 0; i < keys; i++)
    for (uint64_t k = 0; k < (keeps ? 1 + i % times : 1); k++) batch.add(first + i, static_cast<uint32_t>(7 * i + k));
  for (size_t i = 0; i < batch.keys.size(); i++) pairs.emplace(batch.keys[i], batch.ordinals[i]);
  insert_in_bulk(table, batch, side.value_bytes ? side.value_bytes / 4 : 1, 32);
  return pairs;
}

// An ordinal out of column `item`, or -1.
int64_t read_value(const std::vector<uint32_t> &column, const Side &side, size_t item, uint64_t key) {
  return side.value_bytes ? ordinal_of(&column[item * side.value_bytes / 4], key, side.value_bytes / 4) : column[item];
}

bool is_missing(const std::vector<uint32_t> &column, const Side &side, size_t item) {
  const size_t words = side.value_bytes ? side.value_bytes / 4 : 1;
  for (size_t w = 0; w < words; w++)
    if (column[item * words + w] != (w % 2 ? 0xBBu : 0xAAu)) return false;
  return true;
}

std::set<std::string> ways; // in which joins found their matches

using Row = std::array<int64_t, 3>; // key, left, right; -2: missing

void expect_join(tsr_table *left, const Side &l, const Ordinals &lefts, tsr_table *right, const Side &r,
                 const Ordinals &rights, uint32_t kind) {
  std::vector<Row> expected, got;
  for (const auto &[key, value] : lefts) {
    const auto [begin, end] = rights.equal_range(key);
    const bool is_there = begin != end, has_rights = kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT;
    for (auto at = begin; has_rights && at != end; ++at) expected.push_back({int64_t(key), value, at->second});
    if ((kind == TSR_JOIN_LEFT || kind == TSR_JOIN_ANTI) && !is_there) expected.push_back({int64_t(key), value, -2});
    if (kind == TSR_JOIN_SEMI && is_there) expected.push_back({int64_t(key), value, -2});
  }
  tsr_error error = {};
  uint64_t count = 0;
  ASSERT_EQ(tsr_join(left, right, kind, nullptr, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  std::vector<uint32_t> keys(count), left_values(count * (l.value_bytes ? l.value_bytes / 4 : 1)),
      right_values(count * (r.value_bytes ? r.value_bytes / 4 : 1));
  const bool has_rights = kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT;
  tsr_join_rows rows = {};
  rows.size = sizeof rows;
  rows.room = count;
  rows.keys = keys.data();
  rows.left_values = left_values.data();
  rows.right_values = has_rights ? right_values.data() : nullptr;
  rows.missing = 0xBB000000AAu;
  ASSERT_EQ(tsr_join(left, right, kind, &rows, &count, &error), TSR_OK) << error.message;
  for (uint64_t i = 0; i < count; i++) {
    const bool has_none = !has_rights || (kind == TSR_JOIN_LEFT && is_missing(right_values, r, i));
    got.push_back(
        {keys[i], read_value(left_values, l, i, keys[i]), has_none ? -2 : read_value(right_values, r, i, keys[i])});
  }
  ways.insert(tsr_join_way(right));
  std::sort(expected.begin(), expected.end());
  std::sort(got.begin(), got.end());
  ASSERT_EQ(got, expected) << l.name << ", " << r.name << ", " << kind << ", " << tsr_join_way(right);
}

void expect_keys(tsr_table *left, const Ordinals &lefts, tsr_table *right, const Ordinals &rights) {
  std::set<uint64_t> all, both;
  for (const auto &pair : lefts) all.insert(pair.first);
  for (const auto &pair : rights)
    if (!all.insert(pair.first).second && lefts.count(pair.first)) both.insert(pair.first);
  tsr_error error = {};
  uint64_t count = 0;
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_UNION, nullptr, &count, &error), TSR_OK) << error.message;
  EXPECT_EQ(count, all.size());
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_COUNT, nullptr, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, both.size());
  std::vector<uint32_t> keys(count);
  std::vector<uint64_t> counts(count);
  tsr_join_rows rows = {};
  rows.size = sizeof rows;
  rows.room = count;
  rows.keys = keys.data();
  rows.aggregates = counts.data();
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_COUNT, &rows, &count, &error), TSR_OK) << error.message;
  for (uint64_t i = 0; i < count; i++) ASSERT_EQ(counts[i], rights.count(keys[i])) << keys[i];
}

void expect_joins(const Side &l, const Side &r, const std::string &more) {
  SCOPED_TRACE(std::string(l.name) + ", " + r.name);
  const uint64_t n = scaled(600);
  Table left = make(l, 4 * n, more), right = make(r, 4 * n, more);
  ASSERT_TRUE(left && right);
  const Ordinals lefts = fill(left.get(), l, 1, n, 2), rights = fill(right.get(), r, n / 2, n, 4);
  for (uint32_t kind : {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI})
    ASSERT_NO_FATAL_FAILURE(expect_join(left.get(), l, lefts, right.get(), r, rights, kind));
  ASSERT_NO_FATAL_FAILURE(expect_keys(left.get(), lefts, right.get(), rights));
  uint64_t count = 0;
  tsr_error error = {};
  const tsr_status sums = tsr_join(left.get(), right.get(), TSR_JOIN_SUM, nullptr, &count, &error);
  EXPECT_EQ(sums, r.value_bytes ? TSR_UNSUPPORTED : TSR_OK) << error.message;
}

TEST(RowJoins, AgreeWithTheOracle) {
  for (const Side &l : kSides)
    for (const Side &r : kSides)
      if (l.value_bytes || r.value_bytes) expect_joins(l, r, "");
  EXPECT_EQ(ways.size(), 3u) << "pages, finds and an index";
}

// ---- Several devices --------------------------------------------------------------------------

std::string devices(const char *split) {
  return std::string("devices=") + (device::backend() == "cpu" ? "0,1,2" : "0,0,0") + "\n[devices]\nsplit=" + split +
         "\nchunk=700\n";
}

// All that a table of several shards does with whole batches: tests/devices does the same of one operation after another.
void expect_whole(const Shape &shape, const char *split) {
  SCOPED_TRACE(std::string(shape.name) + ", " + split);
  const uint64_t n = scaled(2000);
  const uint32_t words = shape.value_bytes / 4;
  Table table = make(shape, 4 * n, devices(split));
  ASSERT_TRUE(table);
  Oracle oracle(shape);
  Batch batch;
  for (uint64_t i = 0; i < n; i++) batch.add(device::key_of(i, shape.key_bits), static_cast<uint32_t>(i));
  ASSERT_NO_FATAL_FAILURE(insert_in_bulk(table.get(), batch, words, shape.key_bits));
  oracle.insert(batch);
  batch.add(device::key_of(5 * n, shape.key_bits), 0);
  ASSERT_NO_FATAL_FAILURE(expect_found_in_bulk(table.get(), &oracle, batch.keys, words, shape.key_bits));
  tsr_error error = {};
  tsr_rehash_options options = {};
  options.capacity = 6 * n;
  options.seed = 99;
  ASSERT_EQ(tsr_rehash(table.get(), &options, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_found_in_bulk(table.get(), &oracle, batch.keys, words, shape.key_bits));
  const std::string path = testing::TempDir() + "/rows_of_shards.tsr";
  ASSERT_EQ(tsr_table_save(table.get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = choices::plugin_folders().c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table.reset(loaded);
  Batch more;
  for (uint64_t i = n; i < 2 * n; i++) more.add(device::key_of(i, shape.key_bits), static_cast<uint32_t>(i));
  ASSERT_NO_FATAL_FAILURE(insert_in_bulk(loaded, more, words, shape.key_bits));
  oracle.insert(more);
  more.keys.insert(more.keys.end(), batch.keys.begin(), batch.keys.end());
  ASSERT_NO_FATAL_FAILURE(expect_found_in_bulk(loaded, &oracle, more.keys, words, shape.key_bits));
  uint64_t size = 0;
  std::vector<uint32_t> rows(2 * n * words), narrow(2 * n);
  std::vector<uint64_t> keys(2 * n);
  void *const to = shape.key_bits == 32 ? static_cast<void *>(narrow.data()) : keys.data();
  ASSERT_EQ(tsr_export(loaded, 2 * n, to, rows.data(), &size, &error), TSR_OK) << error.message;
  ASSERT_EQ(size, 2 * n);
  for (uint64_t i = 0; i < size; i++) {
    const uint64_t key = shape.key_bits == 32 ? narrow[i] : keys[i];
    ASSERT_EQ(oracle.of(key).count(ordinal_of(&rows[i * words], key, words)), 1u) << i;
  }
}

TEST(RowShards, AreRehashedSavedLoadedAndExported) {
  for (const Shape &shape : kShapes)
    for (const char *split : {"hash", "replicated"}) expect_whole(shape, split);
}

TEST(RowShards, AreJoined) {
  const std::string shards = devices("hash");
  for (const Side &l : {kSides[0], kSides[1], kSides[2]})
    for (const Side &r : {kSides[1], kSides[2]}) expect_joins(l, r, shards);
}

} // namespace
