// SPDX-License-Identifier: Apache-2.0
//
// Joins whose keys have many pairs, by the kernels of a GPU on the CPU (block.h), beside an oracle that sorts. Larger ones, of
// every kind, on a GPU: ../device/arrays_test.cc. Read next: ../../core/table/match_arrays.c.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/tessera_tools.h"

extern "C" {
#include "core/table/table_struct.h"
}
#include "tests/emulated/step.h"
#include "tests/oracle/random.h"

namespace {

const char *const kByPages = "page by page", *const kByBins = "page by page, both sides put in order first",
                  *const kByLeft = "by an index of the left keys", *const kByRight = "by an index of the right keys";
constexpr uint64_t kMissing = 0xABCDEF;

using Row = std::array<uint64_t, 3>; // key, left, right

template <class Key>
struct Side {
  std::vector<Key> keys, values;

  void add(uint64_t key, uint64_t times) {
    for (uint64_t i = 0; i < times; i++) {
      keys.push_back(static_cast<Key>(key * 0x9E3779B97F4A7C15ull));
      values.push_back(static_cast<Key>(keys.size()));
    }
  }
};

template <class Key>
std::vector<Row> rows_of(const Side<Key> &left, const Side<Key> &right, uint32_t kind) {
  std::map<uint64_t, std::vector<uint64_t>> rights;
  std::vector<Row> rows;
  for (size_t i = 0; i < right.keys.size(); i++) rights[right.keys[i]].push_back(right.values[i]);
  for (size_t i = 0; i < left.keys.size(); i++) {
    const auto found = rights.find(left.keys[i]);
    const bool is_there = found != rights.end();
    if (kind == TSR_JOIN_SEMI || kind == TSR_JOIN_ANTI) {
      if (is_there == (kind == TSR_JOIN_SEMI)) rows.push_back({left.keys[i], left.values[i], 0});
      continue;
    }
    if (kind == TSR_JOIN_LEFT && !is_there) rows.push_back({left.keys[i], left.values[i], kMissing});
    if (is_there)
      for (uint64_t value : found->second) rows.push_back({left.keys[i], left.values[i], value});
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// A table of the cpu backend, for which kernels are emulated.
struct Table {
  Table(unsigned bits, uint64_t capacity, const char *probing = "hashgraph", const char *more = "") {
    const std::string width = std::to_string(bits);
    const std::string text = "[table]\nkind = multimap\nbackend = cpu\nkey_bits = " + width +
                             "\nvalue_bits = " + width + "\nlayout = packed\nprobing = " + probing +
                             "\nhasher = murmur3\ncapacity = " + std::to_string(capacity) + "\n" + more;
    tsr_options options = {};
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    options.plugins = "layouts:probing:hashers:allocators:eviction";
    EXPECT_EQ(tsr_spec_parse(text.c_str(), "joins.ini", &spec, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
  }
  ~Table() { tsr_table_destroy(table); }
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;

  template <class Key>
  void insert(const Side<Key> &side) {
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(table, side.keys.size(), side.keys.data(), side.values.data(), nullptr, &error), TSR_OK)
        << error.message;
  }
  void emulate() {
    table->backend = table->device->backend = emulated::backend();
    table->device->info.sm = 90;
  }

  tsr_table *table = nullptr;
};

// Calls `join` with arrays for all rows, then for one less, where these are few.
template <class Key, class Join>
void expect_rows(const Side<Key> &left, const Side<Key> &right, uint32_t kind, bool values, Join join) {
  const std::vector<Row> expected = rows_of(left, right, kind);
  std::vector<Key> keys(expected.size() + 1), lefts(keys.size()), rights(keys.size());
  tsr_join_rows rows = {};
  tsr_error error = {};
  uint64_t count = 0;
  rows.size = sizeof rows;
  rows.room = expected.size();
  rows.missing = kMissing;
  rows.keys = keys.data();
  rows.left_values = lefts.data();
  if (values && kind <= TSR_JOIN_LEFT) rows.right_values = rights.data();
  ASSERT_EQ(join(&rows, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  std::vector<Row> got(count), wanted = expected;
  for (uint64_t i = 0; i < count; i++) got[i] = {keys[i], lefts[i], rights[i]};
  if (!values)
    for (Row &row : wanted) row[2] = 0;
  std::sort(got.begin(), got.end());
  EXPECT_TRUE(got == wanted) << "kind " << kind;
  EXPECT_EQ(keys.back(), 0u);
  if (count < 2 || count > 300000) return;
  rows.room--;
  keys[rows.room] = 0;
  EXPECT_EQ(join(&rows, &count, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(count, expected.size());
  EXPECT_EQ(keys[rows.room], 0u); // nothing behind the room
}

// The right keys number `first` and on have `times` pairs each, the left ones `lefts`.
template <class Key>
void add(Side<Key> *left, Side<Key> *right, uint64_t first, uint64_t keys, uint64_t lefts, uint64_t times) {
  for (uint64_t k = first; k < first + keys; k++) {
    left->add(k, lefts);
    right->add(k, times);
  }
}

enum class Hot { kFew, kLarge, kBoth };

// At least as many pairs as joins by bins take. kFew: a key has a thousand right pairs and few left ones, and some keys have about
// as many rows as make them long. kLarge: a key has more right pairs than a block takes. kBoth: a left key is in more than one
// tile, and has long rows.
template <class Key>
void fill(Hot hot, Side<Key> *left, Side<Key> *right) {
  add(left, right, 1, 3, 2, TSR_MATCH_LONG - 1);
  add(left, right, 11, 3, 2, TSR_MATCH_LONG);
  add(left, right, 21, 2, 1, TSR_MATCH_PIECE);
  add(left, right, 31, 2, 1, TSR_MATCH_PIECE + 1);
  add(left, right, 41, 400, 1, 1);
  add(left, right, 5000, 300, 2, 0);
  if (hot == Hot::kFew) add(left, right, 10000, 250, 1, 1040);
  if (hot == Hot::kLarge) add(left, right, 10000, 1, 2, 70000), add(left, right, 10001, 3, 2, 64000);
  if (hot == Hot::kBoth) add(left, right, 10000, 1, TSR_MATCH_TILE + 300, 70), add(left, right, 20000, 230000, 1, 1);
}

template <class Key>
void expect_arrays(Hot hot, uint32_t kind, bool values = true) {
  SCOPED_TRACE(testing::Message() << sizeof(Key) << " bytes, hot " << static_cast<int>(hot) << ", kind " << kind);
  Side<Key> left, right;
  fill(hot, &left, &right);
  Table any(8 * sizeof(Key), 100);
  any.emulate();
  tsr_join_sides sides = {};
  sides.size = sizeof sides;
  sides.left = {left.keys.size(), left.keys.data(), left.values.data(), 8 * sizeof(Key)};
  sides.right = {right.keys.size(), right.keys.data(), right.values.data(), 8 * sizeof(Key)};
  ASSERT_NO_FATAL_FAILURE(expect_rows(left, right, kind, values, [&](tsr_join_rows *rows, uint64_t *n, tsr_error *e) {
    return tsr_join_arrays(any.table, &sides, kind, rows, n, e);
  }));
  EXPECT_STREQ(tsr_join_way(any.table), kByBins);
}

TEST(Joins, OfArraysWithFrequentKeysAgreeWithTheOracle) {
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint32_t>(Hot::kFew, TSR_JOIN_INNER));
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint32_t>(Hot::kFew, TSR_JOIN_LEFT, false));
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint64_t>(Hot::kFew, TSR_JOIN_LEFT));
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint32_t>(Hot::kLarge, TSR_JOIN_LEFT));
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint64_t>(Hot::kLarge, TSR_JOIN_ANTI));
  ASSERT_NO_FATAL_FAILURE(expect_arrays<uint32_t>(Hot::kBoth, TSR_JOIN_INNER));
}

template <class Key>
void expect_tables(Hot hot, uint64_t left_capacity, uint64_t capacity, uint32_t kind, const char *way) {
  SCOPED_TRACE(testing::Message() << sizeof(Key) << " bytes, " << way << ", kind " << kind);
  Side<Key> left, right;
  fill(hot, &left, &right);
  if (left_capacity > capacity) std::swap(left, right);
  Table l(8 * sizeof(Key), left_capacity), r(8 * sizeof(Key), capacity);
  ASSERT_NO_FATAL_FAILURE(l.insert(left));
  ASSERT_NO_FATAL_FAILURE(r.insert(right));
  l.emulate(), r.emulate();
  l.table->device->info.l2_bytes = way == kByLeft || way == kByRight ? 1 << 25 : 0;
  ASSERT_NO_FATAL_FAILURE(expect_rows(left, right, kind, true, [&](tsr_join_rows *rows, uint64_t *n, tsr_error *e) {
    return tsr_join(l.table, r.table, kind, rows, n, e);
  }));
  EXPECT_STREQ(tsr_join_way(r.table), way);
}

// Lists of one size meet as they are. Others are put into bins, unless keys of a side are so few that their index stays in the cache.
TEST(Joins, OfTablesWithFrequentKeysAgreeWithTheOracle) {
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kFew, 300000, 300000, TSR_JOIN_INNER, kByPages));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kFew, 300000, 300000, TSR_JOIN_LEFT, kByPages));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kLarge, 300000, 300000, TSR_JOIN_INNER, kByPages));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kLarge, 300000, 300000, TSR_JOIN_ANTI, kByPages));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kFew, 2000, 300000, TSR_JOIN_INNER, kByBins));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kFew, 2000, 300000, TSR_JOIN_SEMI, kByBins));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kFew, 2000, 300000, TSR_JOIN_INNER, kByLeft));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kFew, 2000, 300000, TSR_JOIN_LEFT, kByLeft));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kFew, 2000, 300000, TSR_JOIN_ANTI, kByLeft));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kFew, 300000, 2000, TSR_JOIN_INNER, kByRight));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint64_t>(Hot::kFew, 300000, 2000, TSR_JOIN_LEFT, kByRight));
  ASSERT_NO_FATAL_FAILURE(expect_tables<uint32_t>(Hot::kLarge, 300000, 2000, TSR_JOIN_SEMI, kByRight));
}

// Rows of a warp are summed up in 32 bits.
TEST(Joins, OfAnIndexGiveUpForTooManyMatches) {
  for (uint64_t matches : {uint64_t{TSR_MATCH_MOST}, uint64_t{TSR_MATCH_MOST} + 1}) {
    std::vector<uint32_t> keys(TSR_MATCH_PROBED, 5), entries(2, 0); // the first left pair leads all
    std::vector<uint64_t> groups = {0, matches};
    tsr_match_counters counters = {};
    tsr_match_piece piece = {};
    uint64_t total = 0;
    tsr_match match = {};
    match.n = match.lefts = keys.size();
    match.bytes.key = sizeof(uint32_t);
    match.want.rows = TSR_ROWS_EACH;
    match.left_keys = match.index.keys = {keys.data(), sizeof(uint32_t), sizeof(uint32_t)};
    match.index.entries = entries.data();
    match.index.mask = 1;
    match.index.groups = groups.data();
    match.matches.total = &total;
    match.matches.pieces = &piece; // without room
    match.pages.counters = &counters;
    tsr_error error = {};
    ASSERT_EQ(
        emulated::run_step(nullptr, nullptr, &tsr_match_steps.step[TSR_MATCH_probe], &match, match.n, nullptr, &error),
        TSR_OK);
    const bool fits = matches == TSR_MATCH_MOST;
    EXPECT_EQ(counters.gave_up, fits ? 0u : 1u);
    EXPECT_EQ(total, fits ? keys.size() * matches : 0u);
  }
}

} // namespace
