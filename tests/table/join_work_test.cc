// SPDX-License-Identifier: Apache-2.0
//
// The work of the joins that `tessera join` makes by default grows with the rows and the results, however often a key
// comes. Work is counted, not timed: the items of all steps, and the buckets that searches have looked at. Read next:
// join_test.cc.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/tessera_tools.h"

extern "C" {
#include "core/batch/match.h"
#include "core/table/table_struct.h"
}

namespace {

const char *const kPlugins = "layouts:probing:hashers:allocators:eviction";

uint64_t items;       // of all steps since it was set
uint64_t page_passes; // steps over all pages, since it was set

tsr_status count_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument, uint64_t n,
                      void *stream, tsr_error *error) {
  items += n;
  for (uint32_t pages : {TSR_MATCH_pages, TSR_MATCH_wide_pages, TSR_MATCH_meet, TSR_MATCH_wide_meet})
    page_passes += step == &tsr_match_steps.step[pages];
  return tsr_cpu_backend.step(device, program, step, argument, n, stream, error);
}

// The cpu backend, counted.
const tsr_backend *counting() {
  static tsr_backend backend = tsr_cpu_backend;
  backend.step = count_step;
  return &backend;
}

// What `tessera join` reads a file into; `open`: a multimap that is searched instead.
tsr_table *table_of(uint64_t capacity, bool open) {
  std::ifstream file("specs/join.ini");
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (open)
    text = "[table]\nkind = multimap\nkey_bits = 64\nvalue_bits = 64\nlayout = packed\nprobing = linear\n"
           "hasher = murmur3\n";
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  tsr_options options = {};
  tsr_table *table = nullptr;
  options.plugins = kPlugins;
  options.capacity = capacity;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "join.ini", &spec, &error), TSR_OK) << error.message;
  for (const char *setting : {"table.backend=cpu", "table.statistics=yes"})
    EXPECT_EQ(tsr_spec_set(spec, setting, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  if (table) table->backend = counting();
  return table;
}

uint64_t probes_of(tsr_table *table) {
  tsr_report report = {};
  tsr_error error = {};
  EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  return report.insert_probes + report.find_probes;
}

// `rows` pairs of keys 0 to `keys` - 1 in turns, inserted as the program does: in batches that double.
tsr_table *filled(uint64_t rows, uint64_t keys, bool open) {
  tsr_table *table = table_of(rows, open);
  std::vector<uint64_t> key(rows), value(rows);
  for (uint64_t i = 0; i < rows; i++) {
    key[i] = i % keys;
    value[i] = i;
  }
  tsr_error error = {};
  for (uint64_t done = 0, batch; done < rows; done += batch) {
    batch = done ? done : 4096;
    if (batch > rows - done) batch = rows - done;
    EXPECT_EQ(tsr_insert(table, batch, &key[done], &value[done], nullptr, &error), TSR_OK) << error.message;
  }
  return table;
}

// Of filling both tables, and of the join. *results: rows that were written; 0: only counted.
uint64_t work_of(uint64_t left_rows, uint64_t right_rows, uint64_t keys, uint32_t kind, bool open, uint64_t *results) {
  items = 0;
  tsr_table *left = filled(left_rows, keys, open), *right = filled(right_rows, keys, open);
  uint64_t count = 0;
  tsr_error error = {};
  EXPECT_EQ(tsr_join(left, right, kind, nullptr, &count, &error), TSR_OK) << error.message;
  std::vector<uint64_t> out(*results ? 3 * count + 1 : 0);
  if (*results) {
    tsr_join_rows rows = {};
    rows.room = count;
    rows.keys = out.data();
    rows.left_values = out.data() + count;
    if (kind == TSR_JOIN_INNER) rows.right_values = out.data() + 2 * count;
    EXPECT_EQ(tsr_join(left, right, kind, &rows, &count, &error), TSR_OK) << error.message;
  }
  *results = count;
  const uint64_t work = items + probes_of(left) + probes_of(right);
  tsr_table_destroy(left);
  tsr_table_destroy(right);
  return work;
}

struct Case {
  uint64_t left, right, keys;
  uint32_t kind;
  uint64_t writes; // 1: rows; 0: they are counted
  uint64_t rows;   // of the join
};

constexpr uint64_t kOfEach = 40; // items and buckets of a row, and then some

TEST(JoinWork, GrowsWithRowsAndResults) {
  const Case cases[] = {
      {20000, 1000, 1, TSR_JOIN_ANTI, 1, 0},
      {20000, 20000, 1, TSR_JOIN_SEMI, 1, 20000},
      {20000, 20000, 1, TSR_JOIN_INNER, 0, 400000000},
      {200000, 200000, 1, TSR_JOIN_SEMI, 1, 200000},
      {200000, 200000, 1, TSR_JOIN_INNER, 0, 40000000000},
      {10, 50000, 10, TSR_JOIN_INNER, 1, 50000},
      {50000, 10, 10, TSR_JOIN_INNER, 1, 50000},
      {50000, 50000, 50000, TSR_JOIN_INNER, 1, 50000},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(testing::Message() << c.left << " and " << c.right << " rows of " << c.keys << " keys");
    uint64_t results = c.writes;
    const uint64_t work = work_of(c.left, c.right, c.keys, c.kind, false, &results);
    EXPECT_EQ(results, c.rows);
    const uint64_t rows = c.left + c.right + (c.writes ? results : 0);
    EXPECT_LE(work, kOfEach * rows + 100000);
    EXPECT_GE(work, c.left + c.right) << "not all is counted";
  }
}

// Pages of which one has too many pairs of a key are read once; then all keys go by an index.
TEST(JoinWork, PagesAreTriedOnce) {
  page_passes = 0;
  uint64_t results = 1;
  work_of(70000, 70000, 1, TSR_JOIN_SEMI, false, &results);
  EXPECT_EQ(results, 70000u);
  EXPECT_EQ(page_passes, 2u) << "once to count, once for the rows";
}

// What such a test is there for is seen by it: searches that pass all equal keys.
TEST(JoinWork, SearchesPastEqualKeysAreSeen) {
  uint64_t results = 0;
  EXPECT_GT(work_of(5000, 1000, 1, TSR_JOIN_SEMI, true, &results), kOfEach * 6000 + 100000);
}

// Arrays of equal keys: rows of both sides are counted, those of one are written.
TEST(JoinWork, OfArraysGrowsWithPairs) {
  for (uint64_t n : {1000u, 10000u, 100000u, 1000000u}) {
    SCOPED_TRACE(n);
    tsr_table *table = table_of(1, false);
    const std::vector<uint64_t> keys(n, 7);
    std::vector<uint64_t> out(n), sums(n);
    tsr_join_sides sides = {};
    sides.left = sides.right = {n, keys.data(), nullptr, 64};
    for (uint32_t kind :
         {TSR_JOIN_INNER, TSR_JOIN_LEFT, TSR_JOIN_SEMI, TSR_JOIN_ANTI, TSR_JOIN_UNION, TSR_JOIN_COUNT}) {
      const bool counts = kind == TSR_JOIN_INNER || kind == TSR_JOIN_LEFT;
      tsr_join_rows rows = {};
      tsr_error error = {};
      uint64_t count = 0;
      rows.room = counts ? 0 : n;
      rows.keys = out.data();
      if (kind == TSR_JOIN_COUNT) rows.aggregates = sums.data();
      items = 0;
      ASSERT_EQ(tsr_join_arrays(table, &sides, kind, &rows, &count, &error), TSR_OK) << error.message;
      EXPECT_EQ(count, counts ? n * n : kind == TSR_JOIN_SEMI ? n : kind == TSR_JOIN_ANTI ? 0 : 1) << kind;
      EXPECT_LE(items, kOfEach * n) << kind;
      EXPECT_GE(items, n) << "not all is counted";
      if (kind == TSR_JOIN_COUNT) {
        EXPECT_EQ(sums[0], n);
      }
    }
    tsr_table_destroy(table);
  }
}

} // namespace
