// SPDX-License-Identifier: Apache-2.0
//
// Filters, on the cpu backend: no key that was inserted is missing, and of absent ones as many seem present as the filter
// says, but for what chance may do (../oracle/chance.h: a bound is passed once in 10^10). Unions, files, refusals. Read
// next: judged.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "core/tessera_tools.h"
#include "tests/oracle/chance.h"
#include "tests/table/judged.h"
#include "tests/table/marked.h"

namespace tessera_test {
namespace {

struct Shape {
  uint32_t key_bits, block_bytes, functions, bits_per_key, one_in;
};

void PrintTo(const Shape &shape, std::ostream *out) {
  *out << shape.key_bits << " bits, " << shape.functions << " functions in " << shape.block_bytes << " bytes";
}

constexpr uint64_t kKeys = sanitized ? 20000 : 200000;

SpecPointer spec_of(const Shape &shape, const std::string &more = "") {
  std::string text =
      "[table]\nkind = filter\nhasher = murmur3\nbackend = cpu\nkey_bits = " + std::to_string(shape.key_bits) +
      "\ncapacity = " + std::to_string(kKeys) + "\n" + more +
      "[filter]\nblock_bytes = " + std::to_string(shape.block_bytes) +
      "\nfunctions = " + std::to_string(shape.functions) + "\n";
  text += shape.one_in ? "one_in = " + std::to_string(shape.one_in) + "\n"
                       : "bits_per_key = " + std::to_string(shape.bits_per_key) + "\n";
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "filter.ini", &spec, &error), TSR_OK) << error.message;
  return SpecPointer(spec);
}

class Filter {
public:
  explicit Filter(const Shape &shape, const std::string &more = "")
      : key_bits_(shape.key_bits), table(made(spec_of(shape, more).get())) {}
  ~Filter() { tsr_table_destroy(table); }
  Filter(const Filter &) = delete;

  // Keys first .. first + count - 1, scattered; different numbers are different keys.
  Array keys(uint64_t first, uint64_t count) const {
    std::vector<uint64_t> numbers;
    for (uint64_t i = first; i < first + count; i++)
      numbers.push_back(key_bits_ == 32 ? uint32_t(i * 2654435761u) : i * 0x9E3779B97F4A7C15u);
    return Array(key_bits_, numbers);
  }
  uint64_t insert(uint64_t first, uint64_t count) {
    std::vector<uint8_t> codes(count);
    tsr_call call = {};
    call.results = codes.data();
    EXPECT_EQ(tsr_insert(table, count, keys(first, count).data(), nullptr, &call, nullptr), TSR_OK);
    uint64_t inserted = 0;
    for (uint8_t code : codes) {
      EXPECT_TRUE(code == TSR_INSERTED || code == TSR_PRESENT);
      inserted += code == TSR_INSERTED;
    }
    return inserted;
  }
  uint64_t found(uint64_t first, uint64_t count) {
    std::vector<uint8_t> present(count, 255);
    EXPECT_EQ(tsr_contains(table, count, keys(first, count).data(), present.data(), nullptr, nullptr), TSR_OK);
    uint64_t sum = 0;
    for (uint8_t one : present) {
      EXPECT_LE(one, 1);
      sum += one;
    }
    return sum;
  }
  tsr_filter_info info() {
    tsr_filter_info info = {};
    tsr_error error = {};
    EXPECT_EQ(tsr_filter_describe(table, &info, &error), TSR_OK) << error.message;
    return info;
  }

private:
  uint32_t key_bits_;

public:
  tsr_table *table;
};

class Filters : public testing::TestWithParam<Shape> {};

// On a GPU large batches are put in the order of the filter's blocks first.
TEST_P(Filters, HaveTheSameBitsInTheOrderOfTheirBlocks) {
  Filter filter(GetParam()), other(GetParam());
  Array keys = filter.keys(0, kKeys);
  ASSERT_EQ(mark_in_order(filter.table, kKeys, keys.data()), "");
  other.insert(0, kKeys);
  EXPECT_EQ(filter_bits(filter.table), filter_bits(other.table));
  EXPECT_EQ(filter.found(0, kKeys), kKeys);
}

TEST_P(Filters, MissNoKeyAndErrAsOftenAsTheySay) {
  Filter filter(GetParam());
  EXPECT_EQ(filter.found(0, kKeys), 0u);
  EXPECT_EQ(filter.info().keys, 0);
  EXPECT_EQ(filter.info().rate, 0);
  const uint64_t inserted = filter.insert(0, kKeys);
  EXPECT_EQ(filter.found(0, kKeys), kKeys);
  EXPECT_EQ(filter.insert(0, kKeys), 0u) << "all of them seem present";

  const tsr_filter_info info = filter.info();
  const uint64_t asked = 5 * kKeys, wrong = filter.found(kKeys, asked);
  EXPECT_GE(wrong, fewest_of(asked, info.rate));
  EXPECT_LE(wrong, most_of(asked, info.rate));
  EXPECT_NEAR(info.rate / info.rate_at_capacity, 1, sanitized ? 0.1 : 0.03) << "means over thousands of blocks";
  EXPECT_NEAR(info.keys / kKeys, 1, 0.01);
  EXPECT_GE(inserted, kKeys - most_of(kKeys, info.rate));
  EXPECT_EQ(info.functions, GetParam().functions);
  EXPECT_EQ(info.block_bytes, GetParam().block_bytes);
  if (GetParam().one_in) {
    EXPECT_LE(info.rate_at_capacity * GetParam().one_in, 1);
    EXPECT_GE(info.rate_at_capacity * GetParam().one_in, 0.8) << "no more bits than it needs";
  } else {
    EXPECT_EQ(info.blocks, (kKeys * GetParam().bits_per_key + 8 * info.block_bytes - 1) / (8 * info.block_bytes));
  }
  tsr_error error = {};
  ASSERT_EQ(tsr_clear(filter.table, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(filter.found(0, kKeys), 0u);
}

TEST_P(Filters, UnionsHoldBoth) {
  Filter left(GetParam()), right(GetParam()), both(GetParam());
  left.insert(0, kKeys / 2);
  right.insert(kKeys / 2, kKeys / 2);
  both.insert(0, kKeys);
  tsr_error error = {};
  ASSERT_EQ(tsr_filter_merge(left.table, right.table, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_filter_merge(left.table, left.table, &error), TSR_OK) << error.message;
  EXPECT_EQ(left.found(0, kKeys), kKeys);
  EXPECT_EQ(left.info().rate, both.info().rate) << "the same bits";
  EXPECT_EQ(left.found(kKeys, 2 * kKeys), both.found(kKeys, 2 * kKeys));
  EXPECT_LT(right.found(0, kKeys / 2), kKeys / 2) << "the other one is as it was";
}

TEST_P(Filters, AreSaved) {
  Filter filter(GetParam());
  filter.insert(0, kKeys);
  char path[] = "/tmp/tessera-filter.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  tsr_error error = {};
  tsr_load_options load = {};
  const std::string plugins = plugin_directories();
  load.plugins = plugins.c_str();
  ASSERT_EQ(tsr_table_save(filter.table, path, &error), TSR_OK) << error.message;
  const uint64_t wrong = filter.found(kKeys, kKeys);
  tsr_table_destroy(filter.table);
  filter.table = nullptr;
  ASSERT_EQ(tsr_table_load(path, &load, &filter.table, &error), TSR_OK) << error.message;
  unlink(path);
  EXPECT_EQ(filter.found(0, kKeys), kKeys);
  EXPECT_EQ(filter.found(kKeys, kKeys), wrong);
}

INSTANTIATE_TEST_SUITE_P(Tables, Filters,
                         testing::Values(Shape{64, 32, 6, 16, 0}, Shape{32, 32, 6, 16, 0}, Shape{64, 64, 8, 12, 0},
                                         Shape{64, 32, 1, 8, 0}, Shape{64, 32, 8, 0, 1000}, Shape{32, 64, 5, 0, 100}));

// The two keys whose bits mark slots elsewhere, 0, and the same key by all threads.
TEST(FilterRules, NoKeyIsReserved) {
  Filter filter({32, 32, 6, 16, 0});
  std::vector<uint32_t> keys(5000, 0xFFFFFFFFu);
  keys[1] = 0xFFFFFFFEu;
  keys[2] = 0;
  std::vector<uint8_t> present(keys.size());
  ASSERT_EQ(tsr_insert(filter.table, keys.size(), keys.data(), nullptr, nullptr, nullptr), TSR_OK);
  ASSERT_EQ(tsr_contains(filter.table, keys.size(), keys.data(), present.data(), nullptr, nullptr), TSR_OK);
  EXPECT_EQ(present, std::vector<uint8_t>(keys.size(), 1));
  EXPECT_NEAR(filter.info().keys, 3, 0.1);
  std::vector<uint64_t> counts(keys.size());
  ASSERT_EQ(tsr_count_all(filter.table, keys.size(), keys.data(), counts.data(), nullptr, nullptr), TSR_OK);
  EXPECT_EQ(counts, std::vector<uint64_t>(keys.size(), 1));
}

TEST(FilterRules, RefuseInSentences) {
  const Shape shape = {32, 32, 6, 16, 0};
  Filter filter(shape), other(shape, "seed = 9\n");
  tsr_error error = {};
  uint32_t keys[2] = {1, 2};
  uint64_t size = 0;
  tsr_filter_info info = {};
  tsr_rehash_options rehash = {};
  const char *word = "a filter keeps bits and no keys";
  expect_refused(tsr_erase(filter.table, 2, keys, nullptr, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_erase_pairs(filter.table, 2, keys, nullptr, nullptr, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_size(filter.table, &size, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_export(filter.table, 2, keys, nullptr, &size, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_rehash(filter.table, &rehash, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_find_or_insert(filter.table, 2, keys, nullptr, nullptr, nullptr, &error), TSR_UNSUPPORTED, error,
                 word);
  expect_refused(tsr_join(filter.table, filter.table, TSR_JOIN_SEMI, nullptr, &size, &error), TSR_UNSUPPORTED, error,
                 word);
  expect_refused(tsr_find(filter.table, 2, keys, keys, nullptr, &error), TSR_UNSUPPORTED, error, "has no values");
  expect_refused(tsr_filter_merge(filter.table, other.table, &error), TSR_BAD_ARGUMENT, error, "differ in seed");
  Recipe set;
  set.part[TSR_ROLE_LAYOUT] = "packed";
  set.part[TSR_ROLE_PROBING] = "linear";
  set.part[TSR_ROLE_HASHER] = "murmur3";
  set.value_bits = 0;
  tsr_table *table = made(tessera_test::spec_of(set).get());
  expect_refused(tsr_filter_describe(table, &info, &error), TSR_UNSUPPORTED, error, "make one of kind = filter");
  tsr_table_destroy(table);
}

TEST(FilterRules, ASectionNeedsTheKind) {
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  tsr_error error = {};
  const char *text = "[table]\nkind = set\nkey_bits = 32\ncapacity = 9\nlayout = packed\nprobing = linear\nhasher = "
                     "murmur3\n[filter]\n";
  ASSERT_EQ(tsr_spec_parse(text, "set.ini", &spec, &error), TSR_OK) << error.message;
  expect_refused(tsr_table_create(spec, nullptr, &table, &error), TSR_BAD_SPEC, error, "set.ini:8: [filter]");
  tsr_spec_free(spec);
}

TEST(FilterRules, SpecsAreRefusedByTheLine) {
  const std::string plugins = plugin_directories();
  tsr_options options = {};
  options.plugins = plugins.c_str();
  const std::pair<const char *, const char *> cases[] = {
      {"table.layout=packed", "probing is missing"},
      {"table.stash=10", "a filter is made of kind, key_bits, capacity, hasher and [filter]"},
      {"table.growth=double", "no keys that could move"},
      {"table.value_bits=32", "a filter is made of"},
      {"filter.one_in=100", "both say how many bits per key"},
      {"filter.block_bytes=48", "must be 32 | 64"},
      {"filter.functions=9", "must be 1 .. 8"},
      {"filter.function=3", "did you mean functions?"},
      {"table.key_bits=16", "must be 32 | 64"}};
  for (const auto &[setting, word] : cases) {
    SpecPointer spec = spec_of({32, 32, 6, 16, 0});
    tsr_error error = {};
    char *text = nullptr;
    ASSERT_EQ(tsr_spec_set(spec.get(), setting, &error), TSR_OK) << error.message;
    const tsr_status status = tsr_spec_check(spec.get(), &options, &text, &error);
    free(text);
    EXPECT_NE(status, TSR_OK) << setting;
    EXPECT_NE(strstr(error.message, word), nullptr) << setting << ": " << error.message;
  }
}

} // namespace
} // namespace tessera_test
