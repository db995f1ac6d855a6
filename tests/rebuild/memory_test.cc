// SPDX-License-Identifier: Apache-2.0
//
// Memory that runs out: the k-th allocation of a call fails, for every k until the call works. Each failure is a
// sentence, and the table is as it was, or every pair is accounted for. A leak would be seen by the job asan.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>

#include "plugins/table.h"
#include "tests/rebuild/tables.h"

namespace {
int64_t allocations_left = -1; // negative: no end
bool has_failed = false;
size_t bytes_max = SIZE_MAX; // of an allocation that succeeds

bool fails(size_t bytes = 0) {
  if (bytes > bytes_max) return true;
  if (allocations_left < 0 || allocations_left-- > 0) return false;
  allocations_left = 0; // and all that follow: memory does not come back
  return has_failed = true;
}
} // namespace

extern "C" { // the linker sends the library's calls here (--wrap)
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
int __real_mprotect(void *memory, size_t bytes, int protection);
FILE *__real_open_memstream(char **text, size_t *bytes);
void *__wrap_malloc(size_t bytes) { return fails(bytes) ? nullptr : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return fails(count * bytes) ? nullptr : __real_calloc(count, bytes); }
void *__wrap_realloc(void *memory, size_t bytes) { return fails(bytes) ? nullptr : __real_realloc(memory, bytes); }
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  return fails(bytes) ? ENOMEM : __real_posix_memalign(memory, alignment, bytes);
}
int __wrap_mprotect(void *memory, size_t bytes, int protection) {
  return protection && fails(bytes) ? -1 : __real_mprotect(memory, bytes, protection);
}
FILE *__wrap_open_memstream(char **text, size_t *bytes) {
  return fails() ? nullptr : __real_open_memstream(text, bytes);
}
}

namespace {

using namespace tessera_test;

// Calls `work` with 0, 1, 2, ... allocations until none fails; `check` judges every outcome.
void with_failures(const std::function<tsr_status(tsr_error *)> &work,
                   const std::function<void(tsr_status, const tsr_error &)> &check) {
  for (int64_t k = 0;; k++) {
    SCOPED_TRACE(k);
    ASSERT_LT(k, 2000) << "it never works";
    tsr_error error = {};
    has_failed = false;
    allocations_left = k;
    tsr_status status = work(&error);
    allocations_left = -1;
    check(status, error);
    if (testing::Test::HasFatalFailure()) return;
    ASSERT_EQ(status != TSR_OK, error.message[0] != 0);
    if (!has_failed) {
      ASSERT_EQ(status, TSR_OK) << error.message;
      ASSERT_GT(k, 0);
      return;
    }
  }
}

std::pair<std::vector<uint32_t>, std::vector<uint32_t>> columns_of(const std::map<uint32_t, uint32_t> &pairs) {
  std::vector<uint32_t> keys, values;
  for (const auto &pair : pairs) {
    keys.push_back(pair.first);
    values.push_back(pair.second);
  }
  return {keys, values};
}

tsr_report report_of(tsr_table *table) {
  tsr_report report = {};
  tsr_error error = {};
  EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  return report;
}

class Memory : public testing::TestWithParam<std::string> {};
class Growing : public testing::TestWithParam<std::string> {};

// The tables grow by doubling, where they do not split.
bool splits(const std::string &composition) { return composition.find("growth=split") != std::string::npos; }
std::string growing(const std::string &composition) {
  return splits(composition) ? composition : composition + " growth=double";
}

std::vector<std::string> all_compositions() {
  std::vector<std::string> all = compositions();
  all.push_back("probing=linear_hashing growth=split");
  return all;
}

TEST_P(Memory, RehashKeepsTheTable) {
  Random random(1);
  tsr_table *table = table_of(GetParam());
  auto pairs = some_pairs(random, 1000);
  fill(table, pairs);
  tsr_spec *spec = spec_of("layout=soa probing=double_hashing load_factor=0.5");
  for (const tsr_spec *parts : {static_cast<const tsr_spec *>(nullptr), static_cast<const tsr_spec *>(spec)}) {
    tsr_rehash_options options = {};
    options.capacity = 3000;
    options.spec = parts;
    with_failures([&](tsr_error *error) { return tsr_rehash(table, &options, error); },
                  [&](tsr_status status, const tsr_error &error) {
                    ASSERT_TRUE(!status || status == TSR_NO_MEMORY) << error.message;
                    expect_pairs(table, pairs);
                  });
  }
  tsr_spec_free(spec);
  tsr_table_destroy(table);
}

TEST_P(Growing, LosesNothing) {
  Random random(2);
  auto pairs = some_pairs(random, 300);
  const auto [keys, values] = columns_of(pairs);
  tsr_table *table = nullptr;
  std::vector<uint8_t> codes(keys.size());
  std::vector<uint32_t> back_keys(keys.size()), back_values(keys.size());
  with_failures(
      [&](tsr_error *error) {
        int64_t k = allocations_left;
        allocations_left = -1;
        tsr_table_destroy(table);
        table = table_of(growing(GetParam()) + " capacity=16");
        codes.assign(codes.size(), 255);
        allocations_left = k;
        tsr_call call = {};
        call.results = codes.data();
        call.unplaced_keys = back_keys.data();
        call.unplaced_values = back_values.data();
        return tsr_insert(table, keys.size(), keys.data(), values.data(), &call, error);
      },
      [&](tsr_status status, const tsr_error &error) {
        ASSERT_TRUE(status == TSR_OK || status == TSR_NO_MEMORY) << error.message;
        const auto back = std::count(codes.begin(), codes.end(), TSR_NOT_PLACED);
        ASSERT_TRUE(status || back == 0) << "the status says nothing of pairs without a place";
        std::map<uint32_t, uint32_t> expected;
        for (size_t i = 0; i < keys.size(); i++)
          if (codes[i] == TSR_INSERTED || codes[i] == TSR_NOT_PLACED) expected[keys[i]] = values[i];
        for (size_t i = 0; i < keys.size(); i++)
          if (codes[i] == TSR_NOT_PLACED) {
            auto at = expected.find(back_keys[i]);
            ASSERT_NE(at, expected.end());
            ASSERT_EQ(at->second, back_values[i]);
            expected.erase(at);
          } else {
            ASSERT_TRUE(codes[i] == TSR_INSERTED || codes[i] == 0) << int(codes[i]);
          }
        expect_pairs(table, expected);
      });
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
}

// There is memory for everything but a table twice as large.
TEST_P(Growing, ThatEndsSaysSoByItsStatus) {
  Random random(5);
  enum { BATCH = 250 };
  for (int i = 0; i < 4; i++) {
    const bool has_arrays = i % 2, has_shards = i / 2;
    SCOPED_TRACE(testing::Message() << "arrays " << has_arrays << ", shards " << has_shards);
    const auto pairs = some_pairs(random, has_shards ? 16000 : splits(GetParam()) ? 10000 : 8000);
    const auto [keys, values] = columns_of(pairs);
    std::vector<uint8_t> codes(BATCH);
    std::vector<uint32_t> back_keys(BATCH), back_values(BATCH), left_keys, left_values;
    if (has_shards && splits(GetParam())) continue; // refused
    tsr_table *table = table_of(growing(GetParam()) + " capacity=" + (has_shards ? "10000 devices=0,0" : "5000"));
    tsr_error error = {};
    int grown_out = 0;
    bytes_max = 49000; // more than a piece takes, less than a region of a larger table
    for (size_t first = 0; first < keys.size(); first += BATCH) {
      tsr_call call = {};
      if (has_arrays) {
        call.results = codes.data();
        call.unplaced_keys = back_keys.data();
        call.unplaced_values = back_values.data();
      }
      const uint64_t before = report_of(table).not_placed;
      const tsr_status status = tsr_insert(table, BATCH, &keys[first], &values[first], &call, &error);
      const uint64_t left = report_of(table).not_placed - before;
      ASSERT_EQ(status, left ? TSR_NO_MEMORY : TSR_OK) << error.message;
      grown_out += status != TSR_OK;
      const std::string begins = std::to_string(left) + " pairs found no room, and there is no memory to " +
                                 (splits(GetParam()) ? "add buckets to" : "double");
      ASSERT_TRUE(!status || std::string(error.message).find(begins) == 0) << error.message;
      for (size_t j = 0; has_arrays && j < BATCH; j++) {
        ASSERT_TRUE(codes[j] == TSR_INSERTED || codes[j] == TSR_NOT_PLACED) << int(codes[j]);
        if (codes[j] != TSR_NOT_PLACED) continue;
        left_keys.push_back(back_keys[j]);
        left_values.push_back(back_values[j]);
      }
    }
    bytes_max = SIZE_MAX;
    EXPECT_GT(grown_out, 1);
    const tsr_report report = report_of(table);
    EXPECT_EQ(report.ungrown, report.not_placed);
    EXPECT_EQ(pairs_of(table).size() + report.ungrown, pairs.size());
    if (has_arrays) { /* with memory, what was handed back has room */
      ASSERT_EQ(tsr_insert(table, left_keys.size(), left_keys.data(), left_values.data(), nullptr, &error), TSR_OK);
      expect_pairs(table, pairs);
    }
    tsr_table_destroy(table);
  }
}

TEST_P(Memory, BuildLeavesAnEmptyTable) {
  Random random(3);
  auto pairs = some_pairs(random, 400);
  const auto [keys, values] = columns_of(pairs);
  tsr_error ignored;
  tsr_table *table = table_of(GetParam() + " capacity=200"); // more pairs than slots: all tries are made
  with_failures([&](tsr_error *error) { return tsr_build(table, 400, keys.data(), values.data(), nullptr, 4, error); },
                [&](tsr_status status, const tsr_error &error) {
                  if (!status) return;
                  ASSERT_EQ(status, TSR_NO_MEMORY) << error.message;
                  ASSERT_TRUE(pairs_of(table).empty());
                });
  ASSERT_EQ(tsr_clear(table, nullptr, &ignored), TSR_OK);
  tsr_table_destroy(table);
}

TEST_P(Memory, SaveAndLoad) {
  Random random(4);
  const std::string path = testing::TempDir() + "/memory.tsr";
  tsr_table *table = table_of(GetParam()), *loaded = nullptr;
  auto pairs = some_pairs(random, 500);
  fill(table, pairs);
  remove(path.c_str());
  with_failures([&](tsr_error *error) { return tsr_table_save(table, path.c_str(), error); },
                [&](tsr_status status, const tsr_error &error) {
                  ASSERT_TRUE(!status || status == TSR_NO_MEMORY) << error.message;
                  expect_pairs(table, pairs);
                });
  tsr_table_destroy(table);
  tsr_load_options options = {};
  options.plugins = plugin_folders();
  with_failures([&](tsr_error *error) { return tsr_table_load(path.c_str(), &options, &loaded, error); },
                [&](tsr_status status, const tsr_error &error) {
                  ASSERT_TRUE(!status || status == TSR_NO_MEMORY) << error.message;
                  ASSERT_EQ(status != TSR_OK, loaded == nullptr);
                });
  expect_pairs(loaded, pairs);
  tsr_table_destroy(loaded);
}

INSTANTIATE_TEST_SUITE_P(All, Memory, testing::ValuesIn(compositions()));
INSTANTIATE_TEST_SUITE_P(All, Growing, testing::ValuesIn(all_compositions()));

} // namespace
