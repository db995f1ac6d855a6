// SPDX-License-Identifier: Apache-2.0
//
// What a table looks at is bounded at each load. Erases leave no debt: after a thousand rounds of erase and insert at load 0.9
// a find looks at no more buckets than after one, but for half again, with every recipe that erases. Looks are counted, not
// time. Read next: clean_test.cc, which counts what inserts look at and how often a table is cleaned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/oracle/draw.h"
#include "tests/table/judged.h"
#include "tests/table/recipes.h"

namespace tessera_test {
namespace {

constexpr uint64_t kKeys = 2000, kPart = 100;

// A thousand in recipes of which each part and each kind is in one, or in all with TSR_TEST_ALL=1; the others have enough for a
// debt of a tenth of the table a round to show.
uint64_t rounds_of(const std::string &recipe) {
  static const std::vector<std::string> long_ones = enough_recipes();
  if (sanitized) return 100;
  return tests_all() || std::count(long_ones.begin(), long_ones.end(), recipe) ? 1000 : 200;
}

class Debt : public testing::TestWithParam<std::string> {
protected:
  // False: nothing is erased from such a table. A load that the parts refuse, or do not reach, stays the recipe's own.
  bool create() {
    tsr_spec *read = nullptr;
    EXPECT_EQ(tsr_spec_read(GetParam().c_str(), &read, &error_), TSR_OK) << error_.message;
    SpecPointer spec(read);
    if (strcmp(tsr_spec_get(read, "table", "kind"), "filter") == 0) return false;
    is_index_ = strcmp(tsr_spec_get(read, "table", "kind"), "index") == 0;
    const std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    for (const char *setting : {"table.backend=cpu", "table.statistics=yes", "table.capacity=2000"})
      EXPECT_EQ(tsr_spec_set(read, setting, &error_), TSR_OK) << error_.message;
    tsr_spec *full = nullptr;
    EXPECT_EQ(tsr_spec_copy(read, &full, &error_), TSR_OK) << error_.message;
    SpecPointer at_nine_tenths(full);
    EXPECT_EQ(tsr_spec_set(full, "table.load_factor=0.9", &error_), TSR_OK) << error_.message;
    char *text = nullptr;
    const bool is_taken = tsr_spec_check(full, &options, &text, &error_) == TSR_OK && !strstr(text, "warning");
    free(text);
    read_rehash(is_taken ? full : read, options);
    table_ = made(is_taken ? full : read);
    if (table_) tsr_table_describe(table_, &info_);
    return table_;
  }
  ~Debt() override { tsr_table_destroy(table_); }

  // After how many erased keys `check` asks for tsr_rehash.
  void read_rehash(const tsr_spec *spec, const tsr_options &options) {
    static const char asks[] = "call tsr_rehash after ";
    char *text = nullptr;
    EXPECT_EQ(tsr_spec_check(spec, &options, &text, &error_), TSR_OK) << error_.message;
    const char *found = text ? strstr(text, asks) : nullptr;
    rehash_every_ = found ? strtoull(found + strlen(asks), nullptr, 10) : 0;
    free(text);
  }

  Array keys(uint64_t first, uint64_t count) const {
    std::vector<uint64_t> numbers(count);
    for (uint64_t i = 0; i < count; i++) numbers[i] = (first + i) * 0x9E3779B1u & 0xFFFFFFFFu;
    return Array(info_.key_bits, numbers);
  }

  void insert(uint64_t first, uint64_t count) {
    Array values(info_.value_bits, count);
    ASSERT_EQ(
        tsr_insert(table_, count, keys(first, count).data(), is_index_ ? nullptr : values.data(), nullptr, &error_),
        TSR_OK)
        << error_.message;
  }

  void round(uint64_t number) {
    ASSERT_EQ(tsr_erase(table_, kPart, keys(1 + number * kPart, kPart).data(), nullptr, &error_), TSR_OK)
        << error_.message;
    ASSERT_NO_FATAL_FAILURE(insert(1 + kKeys + number * kPart, kPart));
  }

  // Buckets per key that finds look at, of the keys that are present after a round and of as many that are absent.
  void looks(uint64_t number, double *present, double *absent) {
    std::vector<uint8_t> found(kKeys);
    const uint64_t first[] = {1 + (number + 1) * kPart, 1u << 24};
    double *const looks[] = {present, absent};
    for (int i = 0; i < 2; i++) {
      const uint64_t before = report().find_probes;
      ASSERT_EQ(tsr_contains(table_, kKeys, keys(first[i], kKeys).data(), found.data(), nullptr, &error_), TSR_OK)
          << error_.message;
      const uint64_t there = static_cast<uint64_t>(std::count(found.begin(), found.end(), 1));
      EXPECT_LE(there, i ? 0 : kKeys);
      EXPECT_GE(there + report().not_placed + report().evicted, i ? 0 : kKeys)
          << "more is missing than was handed back";
      *looks[i] = static_cast<double>(report().find_probes - before) / kKeys;
    }
  }

  // Buckets per key that finds of these keys look at.
  void looks_at(uint64_t first, uint64_t count, double *looks) {
    std::vector<uint8_t> found(count);
    const uint64_t before = report().find_probes;
    ASSERT_EQ(tsr_contains(table_, count, keys(first, count).data(), found.data(), nullptr, &error_), TSR_OK)
        << error_.message;
    *looks = static_cast<double>(report().find_probes - before) / static_cast<double>(count);
  }

  tsr_report report() {
    tsr_report report = {};
    EXPECT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
    return report;
  }

  tsr_table *table_ = nullptr;
  tsr_table_info info_ = {};
  bool is_index_ = false;
  uint64_t rehash_every_ = 0; // 0: it needs none
  tsr_error error_ = {};
};

TEST_P(Debt, IsNoneAfterAThousandRounds) {
  if (!create()) GTEST_SKIP() << "nothing is erased from it";
  const uint64_t rounds = rounds_of(GetParam());
  double present = 0, absent = 0, present_after = 0, absent_after = 0, most_present = 0, most_absent = 0;
  ASSERT_NO_FATAL_FAILURE(insert(1, kKeys));
  ASSERT_NO_FATAL_FAILURE(round(0));
  ASSERT_NO_FATAL_FAILURE(looks(0, &present, &absent));
  for (uint64_t number = 1; number < rounds; number++) {
    ASSERT_NO_FATAL_FAILURE(round(number));
    if (number % 50 && number + 8 < rounds) continue; // between two cleanings it may be at its most anywhere
    ASSERT_NO_FATAL_FAILURE(looks(number, &present_after, &absent_after));
    most_present = std::max(most_present, present_after);
    most_absent = std::max(most_absent, absent_after);
  }
  EXPECT_LE(most_present, 1.5 * present + 0.1) << "present keys";
  // How many times as many buckets, where `check` says that tsr_rehash is needed: 0030-cleaning.md.
  EXPECT_LE(most_absent, (rehash_every_ ? 2.25 : 1.5) * absent + 0.1) << "absent keys";
}

// A table that says when it needs tsr_rehash, and gets it then, and no sooner: before it looks as far as right after it, but for
// half again, on average over all rounds. Which keys are there decides much in a small table of linear probing.
TEST_P(Debt, IsSmallWithTheRehashThatCheckNames) {
  if (!create() || !rehash_every_) GTEST_SKIP() << "it needs none";
  constexpr uint64_t kFew = 10;
  const uint64_t rounds = rounds_of(GetParam());
  double before = 0, after = 0, sum_before = 0, sum_after = 0;
  uint64_t erased = 0, rehashed = 0;
  ASSERT_NO_FATAL_FAILURE(insert(1, kKeys));
  for (uint64_t number = 0; number < rounds; number++) {
    ASSERT_EQ(tsr_erase(table_, kFew, keys(1 + number * kFew, kFew).data(), nullptr, &error_), TSR_OK);
    ASSERT_NO_FATAL_FAILURE(insert(1 + kKeys + number * kFew, kFew));
    erased += kFew;
    if (erased < rehash_every_) continue;
    ASSERT_NO_FATAL_FAILURE(looks_at(1u << 24, kKeys, &before));
    ASSERT_EQ(tsr_rehash(table_, nullptr, &error_), TSR_OK) << error_.message;
    ASSERT_NO_FATAL_FAILURE(looks_at(1u << 24, kKeys, &after));
    sum_before += before, sum_after += after, erased = 0;
    rehashed++;
  }
  EXPECT_GE(rehashed, rounds * kFew / (rehash_every_ + kFew));
  EXPECT_LE(sum_before, 1.5 * sum_after) << rehashed << " times, each after " << rehash_every_;
  RecordProperty("times_as_many", std::to_string(sum_before / sum_after));
}

// With n of 10 parts of its keys in it, and nothing erased, a table is looked through by at most as many looks per key as
// a walk through random slots of that load would need, 1 / (1 - load), and by four where that is fewer. Only linear probing
// is as Knuth computed: (1 + 1 / (1 - load)^2) / 2. A bucket has several slots, so most tables need far fewer. A table that grows
// and moves pairs finds its keys first.
double most_looks(const std::string &file, double load) {
  const double free = std::max(1 - load, 0.05), found_first = file == "specs/growing.ini" ? 2.1 : 0;
  return found_first + std::max(4.0, file == "specs/linear.ini" ? (1 + 1 / (free * free)) / 2 : 1 / free);
}

TEST_P(Debt, LooksAreBoundedAtEachLoad) {
  if (!create()) GTEST_SKIP() << "it has no keys";
  for (uint64_t part = 0; part < 10; part++) {
    const uint64_t before = report().insert_probes, keys = kKeys / 10;
    ASSERT_NO_FATAL_FAILURE(insert(1 + part * keys, keys));
    const double inserts = static_cast<double>(report().insert_probes - before) / static_cast<double>(keys);
    const uint64_t there = (part + 1) * keys;
    double present = 0, absent = 0;
    ASSERT_NO_FATAL_FAILURE(looks_at(1, there, &present));
    ASSERT_NO_FATAL_FAILURE(looks_at(1u << 24, there, &absent));
    const double most = most_looks(GetParam(), static_cast<double>(there) / static_cast<double>(info_.slots));
    EXPECT_LE(present, most) << "present keys, part " << part;
    EXPECT_LE(absent, most) << "absent keys, part " << part;
    EXPECT_LE(inserts, most) << "inserts, part " << part;
  }
}

INSTANTIATE_TEST_SUITE_P(Specs, Debt, testing::ValuesIn(sanitized ? enough_recipes() : recipes()), recipe_name);

} // namespace
} // namespace tessera_test
