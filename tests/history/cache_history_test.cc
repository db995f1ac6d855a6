// SPDX-License-Identifier: Apache-2.0
//
// Batches of inserts into caches are linearizable, where an eviction is an erase: the answers of a batch, and the pairs that it
// gave up, are those of some order of inserts, of finds that saw the values given up, and of erases. On the cpu backend, with
// batches that several threads share. Read next: history.h.
#include <gtest/gtest.h>

#include "plugins/table.h"
#include "tests/history/history.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *probing, *eviction, *duplicates;
  uint32_t value_bytes;
};

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return std::string(c.probing) + "_" + c.eviction + "_" + c.duplicates + std::to_string(c.value_bytes);
}

class OfCaches : public testing::TestWithParam<Case> {
protected:
  void SetUp() override {
    const Case &c = GetParam();
    const std::string values = c.value_bytes == 8 ? "value_bits = 64\n" : "value_bytes = 64\n";
    const std::string text =
        "[table]\nkind = cache\nkey_bits = 64\ncapacity = 2000\nlayout = packed\nhasher = murmur3\n"
        "backend = cpu\n" +
        values + "probing = " + c.probing + "\neviction = " + c.eviction + "\nduplicates = " + c.duplicates + "\n";
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_options options = {};
    const std::string folders = plugin_directories();
    options.plugins = folders.c_str();
    ASSERT_EQ(tsr_spec_parse(text.c_str(), "cache", &spec, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_create(spec, &options, &table_, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
  }
  void TearDown() override { tsr_table_destroy(table_); }

  size_t words() const { return GetParam().value_bytes / 8; }

  Contents contents() {
    uint64_t size = 0;
    tsr_error error = {};
    EXPECT_EQ(tsr_size(table_, &size, &error), TSR_OK) << error.message;
    std::vector<uint64_t> keys(size), values(size * words());
    EXPECT_EQ(tsr_export(table_, size, keys.data(), values.data(), &size, &error), TSR_OK) << error.message;
    Contents result;
    for (uint64_t i = 0; i < size; i++) EXPECT_TRUE(result.insert({keys[i], values[i * words()]}).second) << keys[i];
    return result;
  }

  // All of a batch overlaps.
  History put(const std::vector<uint64_t> &keys, uint64_t tag) {
    const size_t n = keys.size();
    std::vector<uint64_t> values, gone(n), lost(n * words());
    for (size_t i = 0; i < n; i++) values.insert(values.end(), words(), tag * n + i);
    std::vector<uint8_t> results(n);
    tsr_call call = {};
    call.results = results.data();
    call.unplaced_keys = gone.data();
    call.unplaced_values = lost.data();
    tsr_error error = {};
    EXPECT_EQ(tsr_insert(table_, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
    History history;
    for (size_t i = 0; i < n; i++) {
      const bool evicts = results[i] == TSR_EVICTED;
      const uint8_t result = evicts ? uint8_t{TSR_INSERTED} : results[i];
      history.push_back({TSR_OP_INSERT, keys[i], tag * n + i, 0, result, 0, 1});
      if (!evicts) continue;
      evicted_++;
      history.push_back({TSR_OP_FIND, gone[i], 0, lost[i * words()], TSR_FOUND, 0, 1});
      history.push_back({TSR_OP_ERASE, gone[i], 0, 0, TSR_ERASED, 0, 1});
    }
    return history;
  }

  tsr_table *table_ = nullptr;
  uint64_t evicted_ = 0;
};

TEST_P(OfCaches, BatchesAreLinearizable) {
  TSR_TRACE_SEED;
  const bool replaces = std::string(GetParam().duplicates) == "replace";
  const Rules rules = {replaces ? uint32_t{TSR_DUPLICATES_REPLACE} : uint32_t{TSR_DUPLICATES_FIRST}, 64, 0, 200000};
  Random random(7);
  uint64_t keys = 0, undecided = 0;
  for (uint64_t batch = 1; batch <= (sanitized ? 4u : 12u); batch++) {
    SCOPED_TRACE(batch);
    std::vector<uint64_t> asked;
    for (uint64_t i = 0; i < 16384; i++) asked.push_back(1 + random.below(5000));
    const Contents before = contents();
    const History history = put(asked, batch);
    const Contents after = contents();
    const Verdict verdict = check(history, rules, before, &after);
    ASSERT_FALSE(verdict.wrong) << "key " << verdict.key << "\n" << verdict.why;
    keys += verdict.keys;
    undecided += verdict.undecided;
  }
  EXPECT_GT(evicted_, 10000u);
  EXPECT_LE(undecided * 50, keys);
}

INSTANTIATE_TEST_SUITE_P(All, OfCaches,
                         testing::Values(Case{"cuckoo", "lru", "replace", 8}, Case{"two_choice", "lfu", "first", 8},
                                         Case{"cuckoo", "lfu", "replace", 64}, Case{"iceberg", "lru", "first", 64}),
                         name_of);

} // namespace
} // namespace tessera_test
