// SPDX-License-Identifier: Apache-2.0
//
// Threads that read one table at once while another changes it, on the cpu backend, for every recipe: each answer is that of a
// thread alone. ThreadSanitizer looks at what finds share. Read next: ../../core/table/hold.h.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/table/judged.h"
#include "tests/table/recipes.h"

namespace tessera_test {
namespace {

using Bytes = std::vector<unsigned char>;

// What one thread asks of a table, and is told.
struct Answers {
  Bytes present, values, gathered;
  std::vector<uint64_t> counts, offsets;
  std::string complaint;
};

class Together : public testing::TestWithParam<std::string> {
protected:
  static constexpr uint64_t n = 3000;

  void SetUp() override {
    tsr_spec *read = nullptr;
    ASSERT_EQ(tsr_spec_read(GetParam().c_str(), &read, &error_), TSR_OK) << error_.message;
    SpecPointer spec(read);
    for (const char *setting : {"table.backend=cpu", "table.capacity=100000"})
      ASSERT_EQ(tsr_spec_set(read, setting, &error_), TSR_OK) << error_.message;
    const char *kind = tsr_spec_get(read, "table", "kind");
    kind_ = kind ? kind : "map";
    table_ = made(read);
    ASSERT_NE(table_, nullptr);
    tsr_table_info info = {};
    tsr_table_describe(table_, &info);
    key_bytes_ = info.key_bits / 8;
    value_bytes_ = info.value_bits / 8;
  }
  void TearDown() override { tsr_table_destroy(table_); }

  // Distinct keys, the first of them number `from`.
  Bytes keys(uint64_t from, uint64_t count) const {
    Bytes made(count * key_bytes_);
    for (uint64_t i = 0; i < count; i++) {
      const uint64_t key = (from + i) * 2654435761u & 0xFFFFFFFFu;
      memcpy(&made[i * key_bytes_], &key, key_bytes_ < 8 ? key_bytes_ : 8);
    }
    return made;
  }

  // "" if all was inserted.
  std::string insert(uint64_t from, uint64_t count) {
    tsr_error error = {};
    const Bytes given = keys(from, count), values(count * value_bytes_ + 1, 7);
    const bool has_values = value_bytes_ && kind_ != "index" && kind_ != "counter";
    const tsr_status status =
        tsr_insert(table_, count, given.data(), has_values ? values.data() : nullptr, nullptr, &error);
    return status ? error.message : "";
  }

  Answers ask() const {
    Answers a;
    tsr_error error = {};
    const Bytes asked = keys(0, n);
    const auto works = [&](tsr_status status) {
      if (status && a.complaint.empty()) a.complaint = error.message;
    };
    a.present.resize(n);
    works(tsr_contains(table_, n, asked.data(), a.present.data(), nullptr, &error));
    if (kind_ == "filter") return a;
    if (value_bytes_) {
      a.values.resize(n * value_bytes_);
      works(tsr_find(table_, n, asked.data(), a.values.data(), nullptr, &error));
    }
    a.counts.resize(n);
    works(tsr_count_all(table_, n, asked.data(), a.counts.data(), nullptr, &error));
    if (kind_ != "multimap") return a;
    a.offsets.resize(n + 1);
    a.gathered.resize(n * value_bytes_);
    works(tsr_find_all(table_, n, asked.data(), a.offsets.data(), n, a.gathered.data(), nullptr, &error));
    return a;
  }

  tsr_table *table_ = nullptr;
  uint32_t key_bytes_ = 0, value_bytes_ = 0;
  std::string kind_;
  tsr_error error_ = {};
};

TEST_P(Together, FindsAreRightWhileOneWrites) {
  constexpr int readers = 3, rounds = 4;
  ASSERT_EQ(insert(0, n), "");
  const Answers alone = ask();
  ASSERT_EQ(alone.complaint, "");
  ASSERT_EQ(std::accumulate(alone.present.begin(), alone.present.end(), uint64_t{0}), n);
  std::vector<Answers> wrong(readers);
  std::atomic<int> wrongs{0};
  std::vector<std::thread> threads;
  for (int r = 0; r < readers; r++)
    threads.emplace_back([&, r] {
      for (int round = 0; round < rounds; round++) {
        Answers a = ask();
        const bool is_right = a.complaint.empty() && a.present == alone.present && a.values == alone.values &&
                              a.counts == alone.counts && a.offsets == alone.offsets && a.gathered == alone.gathered;
        if (is_right) continue;
        wrong[r] = a;
        wrongs++;
      }
    });
  std::string complaint;
  for (uint64_t round = 0; round < rounds; round++) {
    const std::string said = insert(n * (1 + round), n);
    if (!said.empty()) complaint = said;
    tsr_table_info info = {};
    tsr_table_describe(table_, &info);
    tsr_error error = {};
    const tsr_status rebuilt = round == 1 ? tsr_rehash(table_, nullptr, &error) : (tsr_status)TSR_OK;
    if (rebuilt && rebuilt != TSR_UNSUPPORTED) complaint = error.message; /* a filter, for example, cannot be */
  }
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(complaint, "");
  EXPECT_EQ(wrongs, 0);
  for (const Answers &a : wrong) EXPECT_EQ(a.complaint, "");
}

// Some steps of a call belong to no table.
TEST_P(Together, CodeOfAllCallsIsMadeBefore) {
  TSR_ONE_THREAD;
  setenv("TESSERA_CC", "", 1);
  for (uint32_t call = TSR_PREPARE_INSERT; call <= TSR_PREPARE_EXPORT; call *= 2) {
    const tsr_status status = tsr_table_prepare(table_, call, &error_);
    EXPECT_TRUE(status == TSR_OK || status == TSR_UNSUPPORTED) << call << ": " << error_.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, Together, testing::ValuesIn(sanitized ? enough_recipes() : recipes()), recipe_name);

} // namespace
} // namespace tessera_test
