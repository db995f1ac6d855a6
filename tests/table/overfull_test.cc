// SPDX-License-Identifier: Apache-2.0
//
// Lists that are made in bulk, of a key with more pairs than the table has slots: the work is linear in the pairs, and
// those without a slot come back. Looks are counted, not time. Read next: ../../core/batch/lists.c.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/rebuild/tables.h"

namespace tessera_test {
namespace {

struct Case {
  const char *words;
  uint64_t stash; // slots
};

class Overfull : public testing::TestWithParam<Case> {};

tsr_report report_of(tsr_table *table) {
  tsr_report report = {};
  tsr_error error = {};
  EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  return report;
}

TEST_P(Overfull, WorkIsLinearAndEveryPairIsThereOrComesBack) {
  for (uint32_t n : {1000u, 10000u, 100000u}) {
    for (uint32_t key : {7u, 0xFFFFFFFFu}) {
      SCOPED_TRACE(testing::Message() << n << " pairs of " << key);
      tsr_table *table = table_of("kind=multimap probing=hashgraph load_factor=1 "
                                  "statistics=yes capacity=" +
                                  std::to_string(n / 2) + GetParam().words);
      const uint64_t slots = info_of(table).slots;
      std::vector<uint32_t> keys(n, key), values(n), back_keys(n, 1), back_values(n, ~0u), all;
      std::iota(values.begin(), values.end(), 0);
      std::vector<uint8_t> codes(n);
      tsr_call call = {};
      call.results = codes.data();
      call.unplaced_keys = back_keys.data();
      call.unplaced_values = back_values.data();
      tsr_error error = {};
      ASSERT_EQ(tsr_insert(table, n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
      for (uint32_t i = 0; i < n; i++) {
        ASSERT_TRUE(codes[i] == TSR_INSERTED || codes[i] == TSR_NOT_PLACED);
        ASSERT_EQ(back_keys[i], codes[i] == TSR_NOT_PLACED ? key : 1);
        if (codes[i] == TSR_NOT_PLACED) all.push_back(back_values[i]);
      }
      const tsr_report report = report_of(table);
      EXPECT_EQ(report.not_placed, all.size());
      EXPECT_EQ(report.inserted, n - all.size());
      EXPECT_GT(all.size(), n / 4);
      /* each pair that is tried for the stash passes the list and the stash */
      EXPECT_LE(report.insert_probes, 2 * n + GetParam().stash * (slots + GetParam().stash));
      EXPECT_EQ(report.insert_stashed > 0, GetParam().stash && key == 7);
      std::vector<uint64_t> offsets(2);
      std::vector<uint32_t> found(n);
      ASSERT_EQ(tsr_find_all(table, 1, &key, offsets.data(), n, found.data(), nullptr, &error), TSR_OK);
      EXPECT_EQ(offsets[1], report.inserted);
      all.insert(all.end(), found.begin(), found.begin() + static_cast<int64_t>(offsets[1]));
      std::sort(all.begin(), all.end());
      EXPECT_EQ(all, values);
      tsr_table_destroy(table);
    }
  }
}

const Case cases[] = {{"", 0}, {" probing.version=1", 0}, {" stash=60", 64}, {" devices=0,0", 0}};

INSTANTIATE_TEST_SUITE_P(All, Overfull, testing::ValuesIn(cases),
                         [](const auto &info) { return std::to_string(info.index); });

} // namespace
} // namespace tessera_test
