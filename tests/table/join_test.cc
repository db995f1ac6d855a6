// SPDX-License-Identifier: Apache-2.0
//
// Tables against tables (tsr_join), on the cpu backend, or that of TSR_BACKEND, for every kind of join, of table and of
// way that matches are found, beside maps of the standard library. SQLite has its say in ../cli/join_sql_test.sh. Read next:
// judged.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint64_t absent = 77;
constexpr const char *by_pages = "page by page", *by_index = "by an index of the side with fewer pairs",
                     *by_finds = "by a find of each left key";

using Row = std::tuple<uint64_t, uint64_t, uint64_t>; // key, left value, right value; 0 where there is none
using Rows = std::vector<Row>;
using Pairs = std::multimap<uint64_t, uint64_t>;

enum class Place { kAnywhere, kPages, kLists, kValues }; // what a table's memory looks like; kValues: values = buckets

enum class Keys { kSpread, kZipf, kEqual }; // how often keys below `below` come

// What a side is made of. Of spread keys one in `often` is the same one, and with `reserved` one in forty is a key whose bits mark
// slots.
struct Shape {
  Widths widths;
  bool is_multi;
  uint64_t count, below;
  Place place = Place::kAnywhere;
  bool reserved = true;
  uint64_t often = 10, capacity = 0;
  Keys keys = Keys::kSpread;
  const char *lists = "probing.lists_percent=80";
};

// About 1 / (k + 1) of all numbers that are 0 are k: the logarithm of a Zipf number is evenly spread.
uint64_t key_of(const Shape &shape, Random *random) {
  if (shape.keys == Keys::kEqual) return 5;
  if (shape.keys == Keys::kSpread) return random->chance(shape.often) ? 5 : random->below(shape.below);
  const double log = std::log(static_cast<double>(shape.below) + 1) * static_cast<double>(random->below(1u << 20));
  return static_cast<uint64_t>(std::exp(log / (1u << 20))) - 1;
}

// One side: a table, and the same pairs.
struct Side {
  Side(const Shape &shape, uint64_t seed) : key_bits(shape.widths.key_bits) {
    Recipe recipe;
    recipe.part[TSR_ROLE_LAYOUT] = key_bits > 64 ? "soa" : "packed";
    recipe.part[TSR_ROLE_PROBING] = shape.place == Place::kLists ? "hashgraph" : "linear";
    recipe.part[TSR_ROLE_HASHER] = "murmur3";
    if (shape.place == Place::kValues) {
      recipe.part[TSR_ROLE_ALLOCATOR] = "bump";
      recipe.lists = true;
    }
    recipe.key_bits = shape.widths.key_bits;
    recipe.value_bits = shape.widths.value_bits;
    recipe.duplicates = shape.is_multi                 ? TSR_DUPLICATES_KEEP
                        : shape.place == Place::kLists ? TSR_DUPLICATES_PROMISE_UNIQUE
                                                       : TSR_DUPLICATES_FIRST;
    recipe.capacity = shape.capacity ? shape.capacity : shape.count + 1;
    if (shape.place == Place::kPages) recipe.load_factor = "0.5";
    SpecPointer spec = spec_of(recipe);
    tsr_error error = {};
    if (shape.place == Place::kPages) {
      EXPECT_EQ(tsr_spec_set(spec.get(), "table.page_bytes=4096", &error), TSR_OK);
    }
    if (shape.place == Place::kLists) {
      EXPECT_EQ(tsr_spec_set(spec.get(), shape.lists, &error), TSR_OK);
    }
    const char *backend = getenv("TSR_BACKEND");
    if (backend) {
      EXPECT_EQ(tsr_spec_set(spec.get(), ("table.backend=" + std::string(backend)).c_str(), &error), TSR_OK);
    }
    table = std::make_unique<Table>(made(spec.get()), recipe.key_bits, recipe.value_bits);
    Random random(seed);
    Batch batch;
    std::map<uint64_t, bool> seen;
    while (batch.keys.size() < shape.count) {
      const uint64_t key = shape.reserved && (shape.is_multi ? batch.keys.size() % 40 == 1 : batch.keys.size() == 1)
                               ? width_mask(recipe.key_bits)
                               : key_of(shape, &random);
      if (!shape.is_multi && seen[key]) {
        if (seen.size() >= shape.below) break;
        continue;
      }
      seen[key] = true;
      batch.keys.push_back(key);
      batch.values.push_back(recipe.value_bits ? random.below(1000) : 0);
      pairs.emplace(key, batch.values.back());
    }
    EXPECT_EQ(table->insert(batch), "");
  }
  Side(Widths widths, bool is_multi, uint64_t count, uint64_t below, uint64_t seed)
      : Side(Shape{widths, is_multi, count, below}, seed) {}

  tsr_table *get() const { return table->get(); }

  const uint32_t key_bits;
  std::unique_ptr<Table> table;
  Pairs pairs;
};

bool has_lefts(uint32_t kind) { return kind <= TSR_JOIN_ANTI; }
bool has_rights(uint32_t kind) { return kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT; }
bool is_aggregate(uint32_t kind) { return kind >= TSR_JOIN_SUM; }

// Of the right values of one key.
uint64_t aggregate_of(const Pairs &pairs, uint64_t key, uint32_t kind) {
  const auto range = pairs.equal_range(key);
  uint64_t result = kind == TSR_JOIN_MIN ? ~uint64_t{0} : 0;
  for (auto at = range.first; at != range.second; at++)
    result = kind == TSR_JOIN_SUM   ? result + at->second
             : kind == TSR_JOIN_MIN ? std::min(result, at->second)
             : kind == TSR_JOIN_MAX ? std::max(result, at->second)
                                    : result + 1;
  return result;
}

Rows expected_keys(const Side &left, const Side &right, uint32_t kind) {
  std::map<uint64_t, uint64_t> keys;
  for (const auto &pair : left.pairs) {
    const bool is_present = right.pairs.count(pair.first) != 0;
    if (kind == TSR_JOIN_UNION || is_present == (kind != TSR_JOIN_DIFFERENCE))
      keys[pair.first] = is_aggregate(kind) ? aggregate_of(right.pairs, pair.first, kind) : 0;
  }
  for (const auto &pair : right.pairs)
    if (kind == TSR_JOIN_UNION) keys[pair.first] = 0;
  Rows rows;
  for (const auto &key : keys) rows.emplace_back(key.first, key.second, 0);
  return rows;
}

Rows expected_rows(const Side &left, const Side &right, uint32_t kind) {
  Rows rows;
  if (!has_lefts(kind)) return expected_keys(left, right, kind);
  for (const auto &pair : left.pairs) {
    const auto range = right.pairs.equal_range(pair.first);
    const bool is_present = range.first != range.second;
    if (kind == TSR_JOIN_SEMI && is_present) rows.emplace_back(pair.first, pair.second, 0);
    if (kind == TSR_JOIN_ANTI && !is_present) rows.emplace_back(pair.first, pair.second, 0);
    if (kind == TSR_JOIN_LEFT && !is_present)
      rows.emplace_back(pair.first, pair.second, right.table->value_bits ? absent : 0);
    if (has_rights(kind))
      for (auto at = range.first; at != range.second; at++) rows.emplace_back(pair.first, pair.second, at->second);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

uint64_t number_at(const std::vector<uint8_t> &bytes, uint64_t i, uint32_t bits) {
  uint64_t number = 0;
  if (bits) memcpy(&number, bytes.data() + i * (bits / 8), bits / 8);
  return number;
}

std::vector<uint64_t> keys_of(const std::vector<uint8_t> &bytes, uint64_t count, uint32_t key_bits) {
  tessera_test::Keys keys(key_bits, count);
  memcpy(keys.data(), bytes.data(), count * (key_bits / 8));
  return keys.numbers(count);
}

// way: how the matches are to be found; nullptr: in any.
void expect_way(const Side &left, const Side &right, const char *way) {
  if (!way) return;
  const bool is_left = left.pairs.size() < right.pairs.size();
  const char *const index = is_left ? "by an index of the left keys" : "by an index of the right keys";
  EXPECT_STREQ(tsr_join_way(right.get()), std::string(way) == by_index ? index : way);
}

void expect_join(const Side &left, const Side &right, uint32_t kind, const char *way = nullptr) {
  tsr_error error = {};
  uint64_t count = 99;
  const bool combines = is_aggregate(kind) && kind != TSR_JOIN_COUNT;
  if (combines && !right.table->value_bits) {
    expect_refused(tsr_join(left.get(), right.get(), kind, nullptr, &count, &error), TSR_BAD_ARGUMENT, error,
                   "right values");
    return;
  }
  const Rows expected = expected_rows(left, right, kind);
  const bool has_left = left.table->value_bits && has_lefts(kind);
  const bool has_right = right.table->value_bits && has_rights(kind);
  ASSERT_EQ(tsr_join(left.get(), right.get(), kind, nullptr, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  expect_way(left, right, way);
  std::vector<uint8_t> keys(16 * count + 16), left_values(8 * count + 8), right_values(8 * count + 8);
  std::vector<uint64_t> aggregates(count + 1);
  tsr_join_rows rows = {};
  rows.room = count;
  rows.keys = keys.data();
  rows.left_values = has_left ? left_values.data() : nullptr;
  rows.right_values = has_right ? right_values.data() : nullptr;
  rows.aggregates = is_aggregate(kind) ? aggregates.data() : nullptr;
  rows.missing = absent;
  ASSERT_EQ(tsr_join(left.get(), right.get(), kind, &rows, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  expect_way(left, right, way);
  Rows found;
  const std::vector<uint64_t> row_keys = keys_of(keys, count, left.key_bits);
  for (uint64_t i = 0; i < count; i++)
    found.emplace_back(row_keys[i],
                       is_aggregate(kind) ? aggregates[i]
                       : has_left         ? number_at(left_values, i, left.table->value_bits)
                                          : 0,
                       has_right ? number_at(right_values, i, right.table->value_bits) : 0);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
  if (count > 1) {
    rows.room = count - 1;
    EXPECT_EQ(tsr_join(left.get(), right.get(), kind, &rows, &count, &error), TSR_BAD_ARGUMENT);
    EXPECT_NE(strstr(error.message, "have room for"), nullptr) << error.message;
    EXPECT_EQ(count, expected.size());
  }
}

void expect_joins(const Side &left, const Side &right, const char *way = nullptr) {
  for (uint32_t kind = 0; kind < TSR_JOIN_KINDS; kind++) {
    SCOPED_TRACE(testing::Message() << "kind " << kind);
    expect_join(left, right, kind, kind == TSR_JOIN_UNION ? nullptr : way);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Join, AgreesWithMaps) {
  TSR_ONE_THREAD;
  const std::tuple<Widths, Widths> widths[] = {{{32, 32}, {32, 32}},  {{64, 64}, {64, 32}}, {{32, 0}, {32, 64}},
                                               {{64, 32}, {64, 0}},   {{32, 0}, {32, 0}},   {{128, 64}, {128, 32}},
                                               {{128, 0}, {128, 64}}, {{128, 32}, {128, 0}}};
  for (const auto &width : widths)
    for (int multi = 0; multi < 4; multi++) {
      const Side left(std::get<0>(width), multi & 1, 900, 700, 1), right(std::get<1>(width), multi & 2, 500, 600, 2);
      SCOPED_TRACE(testing::Message() << "multi " << multi);
      expect_joins(left, right, multi & 2 ? by_index : by_finds);
      expect_joins(right, left, multi & 1 ? by_index : by_finds);
      if (testing::Test::HasFailure()) return;
    }
}

// A key has its values in a list, on either side or on both.
TEST(Join, OfListsOfValuesAgreesWithMaps) {
  const std::tuple<Widths, Widths> widths[] = {{{32, 32}, {32, 64}}, {{64, 64}, {64, 32}}, {{128, 32}, {128, 64}}};
  for (const auto &width : widths)
    for (const Keys keys : {Keys::kSpread, Keys::kZipf, Keys::kEqual}) {
      if (finds_races && (keys != Keys::kZipf || std::get<0>(width).key_bits != 64)) continue;
      SCOPED_TRACE(testing::Message() << static_cast<int>(keys));
      const uint64_t lefts = keys == Keys::kEqual ? 250 : 2500, rights = keys == Keys::kEqual ? 200 : 2000;
      Shape shape = {std::get<0>(width), true, lefts, 2000, Place::kValues, true, 50, 4000, keys};
      Shape other = {std::get<1>(width), true, rights, 2000, Place::kValues, true, 50, 4000, keys};
      const Side left(shape, 3), right(other, 4);
      other.place = Place::kAnywhere;
      const Side slots(other, 5), distinct({std::get<1>(width), false, 900, 1500}, 6);
      expect_joins(left, right, by_index);
      expect_joins(left, slots, by_index);
      expect_joins(slots, left, by_index);
      expect_joins(left, distinct, by_finds);
      expect_joins(distinct, left, by_index);
      expect_joins(left, left);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(Join, OfEmptyTablesAndOfATableWithItself) {
  TSR_ONE_THREAD;
  const Side none({32, 32}, false, 0, 1, 1), some({32, 32}, true, 300, 100, 2);
  for (const Side *left : {&none, &some})
    for (const Side *right : {&none, &some}) expect_joins(*left, *right);
}

// Lists of the same number meet page by page, whatever kinds the tables are of; 12000 pairs have three pages of them.
TEST(Join, OfListsGoesPageByPage) {
  const std::tuple<Widths, Widths> widths[] = {{{32, 32}, {32, 64}}, {{64, 0}, {64, 64}}, {{64, 64}, {64, 0}}};
  for (const auto &width : widths)
    for (int multi = finds_races ? 3 : 0; multi < 4; multi++) {
      SCOPED_TRACE(testing::Message() << "multi " << multi);
      const Shape shape = {
          std::get<0>(width), (multi & 1) != 0, 9000, multi & 1 ? 7000u : 11000u, Place::kLists, false, 50, 12000};
      Shape other = {std::get<1>(width), (multi & 2) != 0, 5000, 7000, Place::kLists, false, 50, 12000};
      const Side left(shape, 3), right(other, 4);
      expect_joins(left, right, by_pages);
      other.capacity = 11000; // other lists
      const Side elsewhere(other, 4);
      expect_joins(left, elsewhere, multi & 2 ? by_index : by_finds);
      if (testing::Test::HasFailure()) return;
    }
}

// Keys that come again a few times, in lists that other keys share.
TEST(Join, OfShortListsCountsWhatRepeats) {
  const std::tuple<Widths, Widths> widths[] = {{{32, 32}, {32, 64}}, {{64, 0}, {64, 64}}, {{64, 64}, {64, 0}}};
  for (const auto &width : widths)
    for (int multi = finds_races ? 3 : 0; multi < 4; multi++) {
      SCOPED_TRACE(testing::Message() << "multi " << multi);
      const Shape left = {
          std::get<0>(width), (multi & 1) != 0, 3000, multi & 1 ? 3000u : 5000u, Place::kLists, false, 1u << 20, 12000};
      const Shape right = {
          std::get<1>(width), (multi & 2) != 0, 4000, multi & 2 ? 2500u : 5000u, Place::kLists, false, 1u << 20, 12000};
      expect_joins(Side(left, 3), Side(right, 4), by_pages);
    }
}

// Where lists are long, a page has fewer of them: else its keys would fill its index.
TEST(Join, OfLongListsGoesPageByPage) {
  for (const Widths &width : {Widths{32, 32}, Widths{64, 64}}) {
    Shape shape = {width, true, 40000, 1u << 30, Place::kLists, false, 1u << 20, 48000};
    shape.lists = "probing.lists_percent=25";
    expect_joins(Side(shape, 3), Side(shape, 3), by_pages);
    if (finds_races) return;
  }
}

// Of pairs that are in no list, or in the slots of another one, pages alone know nothing.
TEST(Join, OfListsGoesAnotherWayWherePairsLieElsewhere) {
  const Shape shape = {{32, 32}, true, 5000, 4000, Place::kLists, true, 50, 6000};
  Side left(shape, 3);
  const Side right({{32, 32}, true, 5000, 4000, Place::kLists, false, 50, 6000}, 4);
  expect_joins(left, right, by_index);
  Side erased({{32, 32}, true, 5000, 4000, Place::kLists, false, 50, 6000}, 5);
  tsr_error error = {};
  const uint32_t key = 5;
  ASSERT_EQ(tsr_erase(erased.get(), 1, &key, nullptr, &error), TSR_OK) << error.message;
  erased.pairs.erase(key);
  expect_joins(erased, right, by_index);
}

// A list of a hundred thousand pairs is too long for a page, and for one thread: rows are found by their number.
TEST(Join, OfAKeyWithManyPairs) {
  const Side left({{32, 32}, true, 40, 30, Place::kLists, false, 4, 120000}, 3);
  const Side right({{32, 32}, true, 100000, 1000, Place::kLists, false, 1, 120000}, 4);
  expect_join(left, right, TSR_JOIN_COUNT, by_index);
  expect_join(left, right, TSR_JOIN_SUM, by_index);
  expect_join(right, left, TSR_JOIN_SEMI, by_index);
  expect_join(left, right, TSR_JOIN_INNER, by_index);
  // more keys in the pages of few lists than these have room for
  const Side many({{32, 0}, true, 30000, 1000000, Place::kLists, false, 1u << 20, 30000}, 5);
  const Side others({{32, 0}, true, 30000, 1000000, Place::kLists, false, 1u << 20, 30000}, 6);
  expect_join(many, others, TSR_JOIN_DIFFERENCE);
}

// Keys of which a few have most of the pairs, or all: of lists, pages and ordinary tables, on either side. Of a table with
// distinct keys each comes once.
TEST(Join, OfSkewedKeysAgreesWithMaps) {
  const Place places[] = {Place::kLists, Place::kPages, Place::kAnywhere};
  for (const Keys keys : {Keys::kZipf, Keys::kEqual})
    for (const Place place : places)
      for (const Place other : places) {
        if (finds_races && (place != other || keys != Keys::kZipf)) continue;
        SCOPED_TRACE(testing::Message() << static_cast<int>(keys) << static_cast<int>(place)
                                        << static_cast<int>(other));
        const uint64_t lefts = keys == Keys::kZipf ? 2500 : 250,
                       rights = keys == Keys::kZipf ? 2000 : 200; // a page has 256 slots
        const Side left(Shape{{32, 32}, true, lefts, 2000, place, false, 0, 4000, keys}, 3);
        const Side right(Shape{{32, 64}, true, rights, 2000, other, false, 0, 4000, keys}, 4);
        const Side distinct(Shape{{32, 64}, false, 900, 1500, other, false, 50, 4000, Keys::kSpread}, 5);
        expect_joins(left, right);
        expect_joins(left, distinct);
        expect_joins(distinct, left);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(Join, OfPagesGoesPageByPage) {
  const Shape shape = {{32, 32}, false, 2000, 3000, Place::kPages, false, 50, 3000};
  Shape other = {{32, 64}, false, 1500, 3000, Place::kPages, false, 50, 3000};
  const Side left(shape, 3);
  // twice the bytes a pair make other pages
  expect_joins(left, Side(other, 4), by_finds);
  other.widths = {32, 32};
  const Side right(other, 4);
  expect_joins(left, right, by_pages);
  other.count = 100;
  expect_joins(Side(other, 5), left, by_finds); // a few keys
  other.reserved = true;
  expect_joins(left, Side(other, 6), by_finds);
}

TEST(Join, RefusesWhatItCannotDo) {
  const Side narrow({32, 32}, false, 10, 100, 1), wide({64, 64}, false, 10, 100, 1), set({32, 0}, false, 10, 100, 1);
  tsr_error error = {};
  uint64_t count = 0;
  uint32_t values[100];
  tsr_join_rows rows = {};
  rows.room = 100;
  expect_refused(tsr_join(narrow.get(), wide.get(), TSR_JOIN_INNER, nullptr, &count, &error), TSR_BAD_ARGUMENT, error,
                 "key_bits");
  expect_refused(tsr_join(narrow.get(), narrow.get(), TSR_JOIN_KINDS, nullptr, &count, &error), TSR_BAD_ARGUMENT, error,
                 "kind = 11");
  expect_refused(tsr_join(nullptr, narrow.get(), TSR_JOIN_INNER, nullptr, &count, &error), TSR_BAD_ARGUMENT, error,
                 "two tables");
  rows.left_values = values;
  expect_refused(tsr_join(set.get(), narrow.get(), TSR_JOIN_INNER, &rows, &count, &error), TSR_BAD_ARGUMENT, error,
                 "left_values");
  rows.left_values = nullptr;
  rows.right_values = values;
  expect_refused(tsr_join(narrow.get(), set.get(), TSR_JOIN_INNER, &rows, &count, &error), TSR_BAD_ARGUMENT, error,
                 "right_values");
  expect_refused(tsr_join(narrow.get(), narrow.get(), TSR_JOIN_SEMI, &rows, &count, &error), TSR_BAD_ARGUMENT, error,
                 "right_values");
}

// Sums of 64 bits past their largest number: exactly it is none, one more is.
class PastTheLargest : public testing::TestWithParam<const char *> {
protected:
  using Wide = unsigned __int128;

  tsr_table *table_of(const char *kind, const std::vector<uint64_t> &keys, const std::vector<uint64_t> &values) {
    const std::string text = std::string("[table]\nkind = ") + kind +
                             "\nkey_bits = 64\nvalue_bits = 64\ncapacity = 20000\nbackend = cpu\nhasher = murmur3\n"
                             "layout = packed\nprobing = linear\nload_factor = 0.5\n" +
                             GetParam();
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    EXPECT_EQ(tsr_spec_parse(text.c_str(), "test.ini", &spec, &error), TSR_OK) << error.message;
    tsr_table *table = made(spec);
    tsr_spec_free(spec);
    EXPECT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    tsr_report report = {};
    EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.not_placed, 0u);
    return table;
  }
};

TEST_P(PastTheLargest, SumsAreCountedOrStopOrFail) {
  TSR_TRACE_SEED;
  Random random(21);
  std::vector<uint64_t> keys = {1, 1, 2, 2, 3}, values = {UINT64_MAX, 0, UINT64_MAX, 1, UINT64_MAX}, lefts;
  for (int i = 0; i < 9000; i++) {
    keys.push_back(i % 3 ? 4 + random.below(300) : 999);
    values.push_back(random.below(4) ? random.below(1u << 20) : UINT64_MAX - random.below(3));
  }
  for (uint64_t key = 0; key < 1000; key++) lefts.push_back(key);
  std::map<uint64_t, Wide> sums;
  for (size_t i = 0; i < keys.size(); i++) sums[keys[i]] += values[i];
  uint64_t expected = 0, overflowed = 77, count = 0;
  for (const auto &sum : sums) expected += sum.second > UINT64_MAX;
  tsr_table *left = table_of("map", lefts, lefts), *right = table_of("multimap", keys, values);
  std::vector<uint64_t> found_keys(sums.size()), found(sums.size());
  tsr_join_rows rows = {};
  rows.room = sums.size();
  rows.keys = found_keys.data();
  rows.aggregates = found.data();
  tsr_error error = {};
  ASSERT_GT(expected, 2u);
  expect_refused(tsr_join(left, right, TSR_JOIN_SUM, &rows, &count, &error), TSR_BAD_ARGUMENT, error, "2^64 - 1");
  rows.overflowed = &overflowed;
  for (uint64_t saturates : {0, 1}) {
    rows.saturates = saturates;
    ASSERT_EQ(tsr_join(left, right, TSR_JOIN_SUM, &rows, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, sums.size());
    EXPECT_EQ(overflowed, expected);
    for (size_t i = 0; i < count; i++) {
      const Wide sum = sums.at(found_keys[i]);
      ASSERT_EQ(found[i], saturates && sum > UINT64_MAX ? UINT64_MAX : static_cast<uint64_t>(sum)) << found_keys[i];
    }
  }
  rows.overflowed = nullptr;
  ASSERT_EQ(tsr_join(left, right, TSR_JOIN_SUM, &rows, &count, &error), TSR_OK) << error.message;
  expect_refused(tsr_join(left, right, TSR_JOIN_MAX, &rows, &count, &error), TSR_BAD_ARGUMENT, error, "saturates");
  tsr_table_destroy(left);
  tsr_table_destroy(right);
}

INSTANTIATE_TEST_SUITE_P(Tables, PastTheLargest, testing::Values("", "page_bytes = 128Ki\n"));

TEST(Join, RefusesColumnsThatRowsDoNotHave) {
  const Side side({32, 32}, true, 10, 100, 1);
  tsr_error error = {};
  uint64_t count = 0, aggregates[100];
  uint32_t values[100];
  tsr_join_rows rows = {};
  rows.room = 100;
  rows.aggregates = aggregates;
  expect_refused(tsr_join(side.get(), side.get(), TSR_JOIN_INNER, &rows, &count, &error), TSR_BAD_ARGUMENT, error,
                 "aggregates");
  rows.aggregates = nullptr;
  rows.left_values = values;
  expect_refused(tsr_join(side.get(), side.get(), TSR_JOIN_UNION, &rows, &count, &error), TSR_BAD_ARGUMENT, error,
                 "left_values");
}

} // namespace
} // namespace tessera_test
