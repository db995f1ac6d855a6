// SPDX-License-Identifier: Apache-2.0
//
// Joins of arrays: every kind of rows and every distribution of keys, beside an oracle that sorts; and joins of lists whose keys
// have many pairs. Read next: ../../core/table/match_arrays.c; rows_test.cc, joins of tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "tests/device/device.h"
#include "tests/oracle/random.h"

namespace {

const char *const kByPages = "page by page, both sides put in order first";

bool is_on_cpu() { return device::backend() == "cpu"; }
uint64_t scaled(uint64_t n) { return is_on_cpu() && n > 3000 ? n / 40 : n; }

device::Table make(uint32_t bits, const std::string &lines) {
  const std::string text = "[table]\nhasher = murmur3\nlayout = packed\nseed = 77\nkey_bits = " + std::to_string(bits) +
                           "\nbackend = " + device::backend() + "\n" + lines;
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  device::Table table;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "arrays.ini", &spec, &error), TSR_OK) << error.message;
  if (spec) table = device::create(spec, options);
  tsr_spec_free(spec);
  return table;
}

// Any table on the device will do.
device::Table make(uint32_t bits) {
  return make(bits, "kind = map\nvalue_bits = 32\nprobing = linear\ncapacity = 100\n");
}

device::Table make_lists(uint32_t bits, uint64_t capacity) {
  return make(bits, "kind = multimap\nvalue_bits = 32\nprobing = hashgraph\nload_factor = 1\ncapacity = " +
                        std::to_string(capacity) + "\n[layout]\nbucket_slots = 1\n");
}

struct Side {
  std::vector<uint64_t> keys, values; // values: their numbers where is_numbered
  uint32_t value_bits = 32;
  bool is_numbered = false;
};

using Row = std::array<uint64_t, 3>; // key, left, right

constexpr uint64_t missing = 0xABCDEF;

// The pairs of each key of a side are neighbours.
std::vector<std::pair<uint64_t, uint64_t>> sorted(const Side &side) {
  std::vector<std::pair<uint64_t, uint64_t>> pairs(side.keys.size());
  for (size_t i = 0; i < pairs.size(); i++) pairs[i] = {side.keys[i], side.is_numbered ? i : side.values[i]};
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;
using At = Pairs::const_iterator;

// Calls got(begin, end, begin, end) for each key of either side, with its pairs.
template <class Got>
void each_key(const Pairs &lefts, const Pairs &rights, Got got) {
  At l = lefts.begin(), r = rights.begin();
  while (l != lefts.end() || r != rights.end()) {
    const uint64_t key = l == lefts.end() ? r->first : r == rights.end() ? l->first : std::min(l->first, r->first);
    At l_end = l, r_end = r;
    while (l_end != lefts.end() && l_end->first == key) ++l_end;
    while (r_end != rights.end() && r_end->first == key) ++r_end;
    got(key, l, l_end, r, r_end);
    l = l_end;
    r = r_end;
  }
}

// The rows of a kind of pairs; 0 stands for a value that it does not have.
std::vector<Row> rows_of(const Pairs &lefts, const Pairs &rights, uint32_t kind) {
  std::vector<Row> rows;
  each_key(lefts, rights, [&](uint64_t key, At l, At l_end, At r, At r_end) {
    const bool is_left = l != l_end, is_right = r != r_end;
    if (kind == TSR_JOIN_UNION || (kind == TSR_JOIN_INTERSECT && is_left && is_right) ||
        (kind == TSR_JOIN_DIFFERENCE && is_left && !is_right))
      rows.push_back({key, 0, 0});
    if (kind >= TSR_JOIN_SUM && is_left && is_right) {
      uint64_t sum = 0, least = ~uint64_t{0}, most = 0;
      for (At at = r; at != r_end; ++at) {
        sum += at->second;
        least = std::min(least, at->second);
        most = std::max(most, at->second);
      }
      rows.push_back({key, 0,
                      kind == TSR_JOIN_SUM   ? sum
                      : kind == TSR_JOIN_MIN ? least
                      : kind == TSR_JOIN_MAX ? most
                                             : static_cast<uint64_t>(r_end - r)});
    }
    for (; l != l_end; ++l) {
      if ((kind == TSR_JOIN_SEMI && is_right) || (kind == TSR_JOIN_ANTI && !is_right))
        rows.push_back({key, l->second, 0});
      if (kind == TSR_JOIN_LEFT && !is_right) rows.push_back({key, l->second, missing});
      for (At at = r; kind <= TSR_JOIN_LEFT && at != r_end; ++at) rows.push_back({key, l->second, at->second});
    }
  });
  std::sort(rows.begin(), rows.end());
  return rows;
}

uint64_t count_of(const Pairs &lefts, const Pairs &rights, uint32_t kind) {
  uint64_t rows = 0;
  each_key(lefts, rights, [&](uint64_t, At l, At l_end, At r, At r_end) {
    const uint64_t left = static_cast<uint64_t>(l_end - l), right = static_cast<uint64_t>(r_end - r);
    rows += kind == TSR_JOIN_INNER  ? left * right
            : kind == TSR_JOIN_LEFT ? left * std::max<uint64_t>(right, 1)
            : kind == TSR_JOIN_SEMI ? (right ? left : 0)
            : kind == TSR_JOIN_ANTI ? (right ? 0 : left)
                                    : (left && right);
  });
  return rows;
}

// Both sides in the memory of the device.
struct Joined {
  tsr_table *table;
  uint32_t bits;
  const Side &left, &right;
  device::Array left_keys, left_values, right_keys, right_values;
  tsr_join_sides sides = {};
  Pairs lefts, rights;
  tsr_table *built[2] = {nullptr, nullptr}; // tables of both sides, which are joined in place of the arrays

  Joined(tsr_table *t, uint32_t key_bits, const Side &l, const Side &r)
      : table(t), bits(key_bits), left(l), right(r), left_keys(t, bits, l.keys), left_values(t, l.value_bits, l.values),
        right_keys(t, bits, r.keys), right_values(t, r.value_bits, r.values), lefts(sorted(l)), rights(sorted(r)) {
    sides.size = sizeof sides;
    sides.left = {l.keys.size(), left_keys.data(), l.is_numbered ? nullptr : left_values.data(), l.value_bits};
    sides.right = {r.keys.size(), right_keys.data(), r.is_numbered ? nullptr : right_values.data(), r.value_bits};
  }

  void insert(uint32_t side, tsr_table *into) {
    tsr_error error = {};
    const tsr_join_side &from = side ? sides.right : sides.left;
    ASSERT_EQ(tsr_insert(into, from.n, from.keys, from.values, nullptr, &error), TSR_OK) << error.message;
    built[side] = into;
  }
  tsr_status join(uint32_t kind, const tsr_join_rows *rows, uint64_t *count, tsr_error *error) {
    return built[1] ? tsr_join(built[0], built[1], kind, rows, count, error)
                    : tsr_join_arrays(table, &sides, kind, rows, count, error);
  }
  std::string way() const { return tsr_join_way(built[1] ? built[1] : table); }

  void expect_count(uint32_t kind) {
    tsr_error error = {};
    uint64_t count = 99;
    ASSERT_EQ(join(kind, nullptr, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, count_of(lefts, rights, kind)) << "kind " << kind << ", " << way();
  }

  static uint64_t number(const std::vector<uint64_t> &host, uint32_t width, uint64_t i) {
    return width == 64 ? host[i] : reinterpret_cast<const uint32_t *>(host.data())[i];
  }

  // to_host: rows are written to arrays of the host.
  void expect_rows(uint32_t kind, bool to_host) {
    const std::vector<Row> expected = rows_of(lefts, rights, kind);
    const uint64_t n = expected.size();
    const bool has_left = kind <= TSR_JOIN_ANTI, has_right = kind <= TSR_JOIN_LEFT, has_one = kind >= TSR_JOIN_SUM;
    const uint32_t right_bits = has_one ? 64 : right.value_bits;
    device::Array keys(table, bits, n + 1), lefts_out(table, left.value_bits, n + 1),
        rights_out(table, right_bits, n + 1);
    std::vector<uint64_t> host[3] = {std::vector<uint64_t>(n + 1), std::vector<uint64_t>(n + 1),
                                     std::vector<uint64_t>(n + 1)};
    tsr_join_rows rows = {};
    rows.size = sizeof rows;
    rows.room = n ? n : 1;
    rows.missing = missing;
    rows.keys = to_host ? host[0].data() : keys.data();
    if (has_left) rows.left_values = to_host ? host[1].data() : lefts_out.data();
    void *rights_to = to_host ? host[2].data() : rights_out.data();
    if (has_right) rows.right_values = rights_to;
    if (has_one) rows.aggregates = static_cast<uint64_t *>(rights_to);
    uint64_t count = 99;
    tsr_error error = {};
    ASSERT_EQ(join(kind, &rows, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, n) << "kind " << kind << ", " << way();
    std::vector<Row> got(n);
    const std::vector<uint64_t> k = keys.numbers(), l = lefts_out.numbers(), r = rights_out.numbers();
    for (uint64_t i = 0; i < n; i++)
      got[i] = {to_host ? number(host[0], bits, i) : k[i],
                !has_left ? 0
                : to_host ? number(host[1], left.value_bits, i)
                          : l[i],
                !has_right && !has_one ? 0
                : to_host              ? number(host[2], right_bits, i)
                                       : r[i]};
    std::sort(got.begin(), got.end());
    for (uint64_t i = 0; i < n; i++)
      ASSERT_EQ(got[i], expected[i]) << "kind " << kind << ", row " << i << ", " << way();
    if (n < 2) return;
    rows.room = n - 1;
    EXPECT_EQ(join(kind, &rows, &count, &error), TSR_BAD_ARGUMENT);
    EXPECT_EQ(count, n);
  }
};

enum { COUNTS = 1, ROWS = 2, HOST = 4, KEYS = 8, ALL = 15 };

void expect_join(tsr_table *table, uint32_t bits, const Side &left, const Side &right, int what) {
  Joined joined(table, bits, left, right);
  for (uint32_t kind : {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI}) {
    if (what & COUNTS) {
      ASSERT_NO_FATAL_FAILURE(joined.expect_count(kind));
    }
    if (what & ROWS) {
      ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
    }
    if (what & HOST) {
      ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, true));
    }
  }
  if (!(what & KEYS)) return;
  for (uint32_t kind : {TSR_JOIN_UNION, TSR_JOIN_INTERSECT, TSR_JOIN_DIFFERENCE})
    ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
  for (uint32_t kind : {TSR_JOIN_SUM, TSR_JOIN_MIN, TSR_JOIN_MAX, TSR_JOIN_COUNT})
    if (!right.is_numbered || kind == TSR_JOIN_COUNT) {
      ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
    }
  if (right.is_numbered) {
    ASSERT_NO_FATAL_FAILURE(joined.expect_count(TSR_JOIN_COUNT));
  }
}

// Item i has one of `distinct` keys, from number `first` on. zipf: key k occurs as often as 1 / (k + 1) says.
Side side_of(uint32_t bits, uint64_t n, uint64_t distinct, uint64_t first, bool zipf, uint32_t value_bits,
             tessera_test::Random *random) {
  Side side;
  side.value_bits = value_bits ? value_bits : 32;
  side.is_numbered = !value_bits;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t k = distinct >= n ? i : random->below(distinct);
    if (zipf) k = static_cast<uint64_t>(std::pow(double(distinct), random->below(1u << 30) / double(1u << 30))) - 1;
    side.keys.push_back(device::key_of(first + k, bits));
    if (value_bits) side.values.push_back(random->below(uint64_t{1} << 31) << (value_bits == 64 ? 20 : 0));
  }
  return side;
}

void add(Side *side, uint64_t key, uint64_t times) {
  for (uint64_t i = 0; i < times; i++) {
    side->keys.push_back(key);
    if (!side->is_numbered) side->values.push_back(i + 5);
  }
}

TEST(Arrays, AgreeWithTheOracle) {
  for (uint32_t bits : {32u, 64u}) {
    device::Table table = make(bits);
    ASSERT_TRUE(table);
    tessera_test::Random random(bits);
    const uint64_t ones = tessera_test::width_mask(bits);
    for (const auto &[l, r] : {std::pair<uint64_t, uint64_t>{0, 0},
                               {0, 1},
                               {1, 0},
                               {1, 1},
                               {7, 3000},
                               {3000, 7},
                               {30000, 12000},
                               {200000, 100000},
                               {270000, 9000},
                               {9000, 270000}}) {
      const uint64_t lefts = scaled(l), rights = scaled(r);
      for (uint64_t copies : {1u, 4u})
        for (uint32_t value_bits : {0u, 32u, 64u}) {
          if (value_bits != 32 && lefts + rights > 10000 && (copies == 1) != (value_bits == 0)) continue;
          SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(lefts) + " x " + std::to_string(rights) +
                       ", " + std::to_string(copies) + " copies, values " + std::to_string(value_bits));
          const uint64_t distinct = std::max(lefts, rights) / copies + 1;
          Side left = side_of(bits, lefts, distinct, 0, false, value_bits, &random),
               right = side_of(bits, rights, distinct, lefts / copies / 2, false, value_bits == 32 ? 64 : value_bits,
                               &random);
          if (lefts > 2) // keys with which tables have trouble
            for (uint64_t key : {ones, ones - 1, uint64_t{0}})
              add(&left, key, 3), add(&right, key, 2), add(&right, (key + 9) & ones, 1);
          ASSERT_NO_FATAL_FAILURE(
              expect_join(table.get(), bits, left, right, copies == 1 && value_bits == 32 ? ALL : ROWS | KEYS));
        }
    }
    uint64_t size = 99;
    tsr_error error = {};
    ASSERT_EQ(tsr_size(table.get(), &size, &error), TSR_OK);
    EXPECT_EQ(size, 0u);
  }
}

void expect_way(tsr_table *table, bool by_pages) {
  const bool is = std::string(tsr_join_way(table)) == kByPages;
  EXPECT_EQ(is, by_pages && !is_on_cpu()) << tsr_join_way(table);
}

TEST(Arrays, OfSkewedKeysAgreeWithTheOracle) {
  for (uint32_t bits : {32u, 64u}) {
    device::Table table = make(bits);
    ASSERT_TRUE(table);
    tessera_test::Random random(bits + 1);
    const uint64_t n = scaled(250000);
    const Side keys = side_of(bits, n, n, 0, false, 32, &random),
               few = side_of(bits, scaled(60000), n, n / 2, false, 32, &random);
    { // of Zipf's: the rows of frequent keys are many, so one side has each key once
      const Side zipf = side_of(bits, n, n, 0, true, 32, &random);
      ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, zipf, keys, COUNTS | ROWS | KEYS));
      ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, keys, zipf, ROWS | KEYS));
      Joined both(table.get(), bits, zipf, zipf);
      for (uint32_t kind : {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI, TSR_JOIN_COUNT})
        ASSERT_NO_FATAL_FAILURE(both.expect_count(kind));
    }
    { // one key of the left has most pairs, in many tiles
      Side hot = few;
      add(&hot, keys.keys[5], n);
      Side right = keys;
      add(&right, keys.keys[5], 2);
      ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, hot, right, COUNTS | ROWS));
      expect_way(table.get(), true);
      ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, hot, right, KEYS));
    }
    { // one key of the right has as many as a block takes, or more
      for (uint64_t times : {uint64_t{50000}, n}) {
        Side left = keys, hot = few;
        if (is_on_cpu()) times /= 20;
        add(&left, keys.keys[5], 3);
        add(&hot, keys.keys[5], times);
        ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, left, hot, COUNTS | ROWS | KEYS));
        Joined joined(table.get(), bits, left, hot);
        ASSERT_NO_FATAL_FAILURE(joined.expect_rows(TSR_JOIN_INNER, false));
        expect_way(table.get(), true);
      }
    }
    { // all pairs have one key: rows are counted, and not written
      Side left, right;
      left.is_numbered = right.is_numbered = true;
      add(&left, ~uint64_t{0} >> (64 - bits), n);
      add(&right, ~uint64_t{0} >> (64 - bits), n);
      Joined joined(table.get(), bits, left, right);
      for (uint32_t kind : {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI, TSR_JOIN_COUNT})
        ASSERT_NO_FATAL_FAILURE(joined.expect_count(kind));
      for (uint32_t kind : {TSR_JOIN_SEMI, TSR_JOIN_COUNT}) ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
    }
    { // one key of the left is in several tiles, and of the right it has many pairs
      Side left = few, right = few;
      add(&left, few.keys[5], scaled(40000));
      add(&right, few.keys[5], 70);
      add(&right, keys.keys[7], scaled(130000));
      Joined joined(table.get(), bits, left, right);
      for (uint32_t kind : {TSR_JOIN_INNER, TSR_JOIN_LEFT}) ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
      expect_way(table.get(), true);
    }
    { // every number of pairs of a key on the right, from one to thousands
      for (uint64_t times : {2u, 100u, 1040u, 20000u}) {
        const uint64_t distinct = n / times + 1;
        const Side left = side_of(bits, distinct, distinct, 0, false, 32, &random),
                   right = side_of(bits, n, distinct, 0, false, 0, &random);
        SCOPED_TRACE(times);
        ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, left, right, COUNTS | ROWS));
        ASSERT_NO_FATAL_FAILURE(expect_join(table.get(), bits, right, left, ROWS));
      }
    }
  }
}

// Lists of one size meet page by page. Others are brought into bins first, or the left keys into an index, if they are few.
TEST(Arrays, ListsWithFrequentKeysAgreeWithTheOracle) {
  for (uint32_t bits : {32u, 64u}) {
    device::Table table = make(bits);
    ASSERT_TRUE(table);
    tessera_test::Random random(bits + 2);
    const uint64_t n = scaled(300000);
    for (uint64_t times : {64u, 1040u, 40000u}) {
      const uint64_t distinct = n / times + 1;
      const std::pair<uint64_t, const char *> ways[] = {
          {n, "page by page"}, {n / 2, kByPages}, {distinct, "by an index of the left keys"}};
      for (const auto &[capacity, way] : ways) {
        SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(times) + " times, " + way);
        const Side left = side_of(bits, distinct, distinct, 0, false, 32, &random),
                   right = side_of(bits, n, distinct, 0, false, 32, &random);
        device::Table lefts = make_lists(bits, capacity), rights = make_lists(bits, n);
        ASSERT_TRUE(lefts && rights);
        Joined joined(table.get(), bits, left, right);
        ASSERT_NO_FATAL_FAILURE(joined.insert(0, lefts.get()));
        ASSERT_NO_FATAL_FAILURE(joined.insert(1, rights.get()));
        for (uint32_t kind :
             {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI, TSR_JOIN_INTERSECT, TSR_JOIN_SUM}) {
          ASSERT_NO_FATAL_FAILURE(joined.expect_count(kind));
          ASSERT_NO_FATAL_FAILURE(joined.expect_rows(kind, false));
          if (!is_on_cpu() && times < 10000) {
            EXPECT_EQ(joined.way(), way);
          }
        }
      }
    }
  }
}

TEST(Arrays, SumsThatOverflowAreTold) {
  device::Table table = make(32);
  ASSERT_TRUE(table);
  const uint64_t n = scaled(150000);
  Side left, right;
  right.value_bits = 64;
  for (uint64_t i = 0; i < n; i++) {
    left.keys.push_back(i), left.values.push_back(i);
    for (uint64_t k = 0; k < 2; k++) right.keys.push_back(i), right.values.push_back(i % 1000 ? i : ~uint64_t{0} - 5);
  }
  Joined joined(table.get(), 32, left, right);
  device::Array keys(table.get(), 32, n), sums(table.get(), 64, n);
  tsr_error error = {};
  uint64_t count = 0, overflowed = 99;
  tsr_join_rows rows = {};
  rows.size = sizeof rows;
  rows.room = n;
  rows.keys = keys.data();
  rows.aggregates = static_cast<uint64_t *>(sums.data());
  EXPECT_EQ(tsr_join_arrays(table.get(), &joined.sides, TSR_JOIN_SUM, &rows, &count, &error), TSR_BAD_ARGUMENT);
  rows.overflowed = &overflowed;
  rows.saturates = 1;
  ASSERT_EQ(tsr_join_arrays(table.get(), &joined.sides, TSR_JOIN_SUM, &rows, &count, &error), TSR_OK) << error.message;
  EXPECT_EQ(count, n);
  EXPECT_EQ(overflowed, (n + 999) / 1000);
  const std::vector<uint64_t> k = keys.numbers(), s = sums.numbers();
  for (uint64_t i = 0; i < n; i++) ASSERT_EQ(s[i], k[i] % 1000 ? 2 * k[i] : ~uint64_t{0}) << k[i];
}

TEST(Arrays, RefuseWhatIsWrong) {
  device::Table table = make(32);
  ASSERT_TRUE(table);
  const uint32_t keys[] = {1, 2, 3}, values[] = {4, 5, 6};
  tsr_join_sides sides = {};
  sides.size = sizeof sides;
  sides.left = {3, keys, values, 32};
  sides.right = {3, keys, values, 32};
  tsr_join_rows rows = {};
  uint32_t out[9];
  uint64_t count = 0;
  tsr_error error = {};
  const auto expect = [&](tsr_status status, const char *words, uint32_t kind = TSR_JOIN_INNER) {
    EXPECT_EQ(tsr_join_arrays(table.get(), &sides, kind, &rows, &count, &error), status);
    EXPECT_NE(std::string(error.message).find(words), std::string::npos) << error.message;
  };
  ASSERT_EQ(tsr_join_arrays(table.get(), &sides, TSR_JOIN_INNER, nullptr, &count, &error), TSR_OK) << error.message;
  EXPECT_EQ(count, 3u);
  EXPECT_EQ(tsr_join_arrays(nullptr, &sides, TSR_JOIN_INNER, nullptr, &count, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_join_arrays(table.get(), nullptr, TSR_JOIN_INNER, nullptr, &count, &error), TSR_BAD_ARGUMENT);
  expect(TSR_BAD_ARGUMENT, "kind = 99", 99);
  sides.left.keys = nullptr;
  expect(TSR_BAD_ARGUMENT, "left.keys is NULL");
  sides.left.keys = keys;
  sides.right.value_bits = 16;
  expect(TSR_BAD_ARGUMENT, "right.value_bits = 16");
  sides.right = {3, keys, nullptr, 0};
  rows.room = 9;
  rows.keys = out;
  expect(TSR_BAD_ARGUMENT, "SUM is of right values", TSR_JOIN_SUM);
  rows.right_values = out;
  expect(TSR_BAD_ARGUMENT, "right_values must be NULL", TSR_JOIN_SEMI);
  sides.right.n = uint64_t{1} << 32;
  expect(TSR_UNSUPPORTED, "at most 2^32 - 2 pairs");
}

} // namespace
