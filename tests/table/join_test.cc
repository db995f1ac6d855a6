// SPDX-License-Identifier: Apache-2.0
//
// Tables against tables (tsr_join), on the cpu backend, for every kind of join and of table, beside maps of the standard
// library. Read next: judged.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint64_t absent = 77;

using Row = std::tuple<uint64_t, uint64_t, uint64_t>; // key, left value, right value; 0 where there is none
using Rows = std::vector<Row>;
using Pairs = std::multimap<uint64_t, uint64_t>;

// One side: a table, and the same pairs.
struct Side {
  Side(Widths widths, bool is_multi, uint64_t count, uint64_t below, uint64_t seed) {
    Recipe recipe;
    recipe.part[TSR_ROLE_LAYOUT] = "packed";
    recipe.part[TSR_ROLE_PROBING] = "linear";
    recipe.part[TSR_ROLE_HASHER] = "murmur3";
    recipe.key_bits = widths.key_bits;
    recipe.value_bits = widths.value_bits;
    recipe.duplicates = is_multi ? TSR_DUPLICATES_KEEP : TSR_DUPLICATES_FIRST;
    recipe.capacity = count + 1;
    table = std::make_unique<Table>(made(spec_of(recipe).get()), widths.key_bits, widths.value_bits);
    Random random(seed);
    Batch batch;
    std::map<uint64_t, bool> seen;
    while (batch.keys.size() < count) {
      // one key in ten is the same one; and one is a key whose bits mark slots
      const uint64_t key = batch.keys.size() == 1 ? ~uint64_t{0} >> (64 - widths.key_bits)
                           : random.chance(10)    ? 5
                                                  : random.below(below);
      if (!is_multi && seen[key]) {
        if (seen.size() >= below) break;
        continue;
      }
      seen[key] = true;
      batch.keys.push_back(key);
      batch.values.push_back(widths.value_bits ? random.below(1000) : 0);
      pairs.emplace(key, batch.values.back());
    }
    EXPECT_EQ(table->insert(batch), "");
  }

  tsr_table *get() const { return table->get(); }

  std::unique_ptr<Table> table;
  Pairs pairs;
};

Rows expected_rows(const Side &left, const Side &right, uint32_t kind) {
  Rows rows;
  for (const auto &pair : left.pairs) {
    const auto range = right.pairs.equal_range(pair.first);
    const bool is_present = range.first != range.second;
    if (kind == TSR_JOIN_SEMI && is_present) rows.emplace_back(pair.first, pair.second, 0);
    if (kind == TSR_JOIN_ANTI && !is_present) rows.emplace_back(pair.first, pair.second, 0);
    if (kind == TSR_JOIN_LEFT && !is_present)
      rows.emplace_back(pair.first, pair.second, right.table->value_bits ? absent : 0);
    if (kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT)
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

void expect_join(const Side &left, const Side &right, uint32_t kind) {
  const Rows expected = expected_rows(left, right, kind);
  const bool has_right = right.table->value_bits && (kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT);
  tsr_error error = {};
  uint64_t count = 99;
  ASSERT_EQ(tsr_join(left.get(), right.get(), kind, nullptr, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  std::vector<uint8_t> keys(8 * count + 8), left_values(8 * count + 8), right_values(8 * count + 8);
  tsr_join_rows rows = {};
  rows.room = count;
  rows.keys = keys.data();
  rows.left_values = left.table->value_bits ? left_values.data() : nullptr;
  rows.right_values = has_right ? right_values.data() : nullptr;
  rows.missing = absent;
  ASSERT_EQ(tsr_join(left.get(), right.get(), kind, &rows, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  Rows found;
  for (uint64_t i = 0; i < count; i++)
    found.emplace_back(number_at(keys, i, left.table->key_bits), number_at(left_values, i, left.table->value_bits),
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

TEST(Join, AgreesWithMaps) {
  const std::tuple<Widths, Widths> widths[] = {
      {{32, 32}, {32, 32}}, {{64, 64}, {64, 32}}, {{32, 0}, {32, 64}}, {{64, 32}, {64, 0}}, {{32, 0}, {32, 0}}};
  for (const auto &width : widths)
    for (int multi = 0; multi < 4; multi++) {
      const Side left(std::get<0>(width), multi & 1, 900, 700, 1), right(std::get<1>(width), multi & 2, 500, 600, 2);
      for (uint32_t kind = 0; kind < TSR_JOIN_KINDS; kind++) {
        SCOPED_TRACE(testing::Message() << "kind " << kind << ", multi " << multi);
        expect_join(left, right, kind);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
}

TEST(Join, OfEmptyTablesAndOfATableWithItself) {
  const Side none({32, 32}, false, 0, 1, 1), some({32, 32}, true, 300, 100, 2);
  for (uint32_t kind = 0; kind < TSR_JOIN_KINDS; kind++) {
    expect_join(none, some, kind);
    expect_join(some, none, kind);
    expect_join(none, none, kind);
    expect_join(some, some, kind);
  }
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
                 "kind = 4");
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

} // namespace
} // namespace tessera_test
