// SPDX-License-Identifier: Apache-2.0
//
// Filters of fingerprints: no key that is held is missing, whatever else was erased, and of absent ones no
// more seem present than the filter says, but for what chance may do (../oracle/chance.h). Files, refusals, a full one.
// Read next: filter_test.cc.
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "core/tessera_tools.h"
#include "tests/oracle/chance.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Shape {
  uint32_t key_bits, fingerprint_bits, bucket_slots;
  const char *load_factor;
  bool statistics;
};

void PrintTo(const Shape &shape, std::ostream *out) {
  *out << shape.key_bits << " bits, " << shape.bucket_slots << " slots of " << shape.fingerprint_bits;
}

// cpu, or that of TSR_TEST_BACKEND, as in ../device/device.h.
std::string backend() {
  const char *given = getenv("TSR_TEST_BACKEND");
  return given ? given : "cpu";
}

constexpr uint64_t kKeys = sanitized ? 20000 : 200000;

std::string text_of(const Shape &shape, uint64_t capacity, const std::string &more = "") {
  return "[table]\nkind = filter\nhasher = murmur3\nbackend = " + backend() +
         "\nlayout = fingerprint\nprobing = "
         "cuckoo_filter\nkey_bits "
         "= " +
         std::to_string(shape.key_bits) + "\ncapacity = " + std::to_string(capacity) +
         "\nload_factor = " + shape.load_factor + (shape.statistics ? "\nstatistics = yes" : "") + "\n" + more +
         "[layout]\nbucket_slots = " + std::to_string(shape.bucket_slots) +
         "\nfingerprint_bits = " + std::to_string(shape.fingerprint_bits) + "\n";
}

tsr_table *table_of(const std::string &text) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "fingerprints.ini", &spec, &error), TSR_OK) << error.message;
  tsr_table *table = made(spec);
  tsr_spec_free(spec);
  return table;
}

class Filter {
public:
  Filter(const Shape &shape, tsr_table *own) : key_bits_(shape.key_bits), table(own) {}
  explicit Filter(const Shape &shape, uint64_t capacity = kKeys, const std::string &more = "")
      : Filter(shape, table_of(text_of(shape, capacity, more))) {}
  ~Filter() { tsr_table_destroy(table); }
  Filter(const Filter &) = delete;

  // Keys first .. first + count - 1, scattered; different numbers are different keys.
  Array keys(uint64_t first, uint64_t count) const {
    std::vector<uint64_t> numbers;
    for (uint64_t i = first; i < first + count; i++)
      numbers.push_back(key_bits_ == 32 ? uint32_t(i * 2654435761u) : i * 0x9E3779B97F4A7C15u);
    return Array(key_bits_, numbers);
  }
  // The number of keys with this result.
  uint64_t insert(Array &keys, uint64_t count, uint8_t result = TSR_INSERTED) {
    std::vector<uint8_t> codes(count);
    tsr_call call = {};
    call.results = codes.data();
    EXPECT_EQ(tsr_insert(table, count, keys.data(), nullptr, &call, nullptr), TSR_OK);
    return static_cast<uint64_t>(std::count(codes.begin(), codes.end(), result));
  }
  uint64_t erase(Array &keys, uint64_t count) {
    std::vector<uint8_t> codes(count);
    tsr_call call = {};
    call.results = codes.data();
    EXPECT_EQ(tsr_erase(table, count, keys.data(), &call, nullptr), TSR_OK);
    return static_cast<uint64_t>(std::count(codes.begin(), codes.end(), TSR_ERASED));
  }
  std::vector<uint8_t> contains(Array &keys, uint64_t count) {
    std::vector<uint8_t> present(count, 255);
    EXPECT_EQ(tsr_contains(table, count, keys.data(), present.data(), nullptr, nullptr), TSR_OK);
    return present;
  }
  uint64_t found(uint64_t first, uint64_t count) {
    uint64_t sum = 0;
    Array asked = keys(first, count);
    for (uint8_t one : contains(asked, count)) sum += one;
    return sum;
  }
  uint64_t insert(uint64_t first, uint64_t count) {
    Array all = keys(first, count);
    return insert(all, count);
  }
  uint64_t erase(uint64_t first, uint64_t count) {
    Array all = keys(first, count);
    return erase(all, count);
  }
  tsr_filter_info info() {
    tsr_filter_info info = {};
    tsr_error error = {};
    info.size = sizeof info;
    EXPECT_EQ(tsr_filter_describe(table, &info, &error), TSR_OK) << error.message;
    return info;
  }

private:
  uint32_t key_bits_;

public:
  tsr_table *table;
};

class Fingerprints : public testing::TestWithParam<Shape> {};

TEST_P(Fingerprints, MissNoKeyAndErrNoMoreThanTheySay) {
  Filter filter(GetParam());
  EXPECT_EQ(filter.found(0, kKeys), 0u);
  EXPECT_EQ(filter.info().rate, 0);
  EXPECT_EQ(filter.insert(0, kKeys), kKeys);
  EXPECT_EQ(filter.found(0, kKeys), kKeys);

  const tsr_filter_info info = filter.info();
  const uint64_t asked = 5 * kKeys, wrong = filter.found(kKeys, asked);
  EXPECT_LE(wrong, most_of(asked, info.rate));
  EXPECT_GE(wrong, fewest_of(asked, info.rate / 2)) << "not the second bucket, where the first is not full";
  EXPECT_EQ(info.rate, info.rate_at_capacity);
  EXPECT_EQ(info.keys, kKeys);
  EXPECT_EQ(info.functions, 0u);
  EXPECT_NEAR(info.bits_per_key, GetParam().fingerprint_bits / atof(GetParam().load_factor), 0.1);
}

// Half of the keys go, and others come in their place, several times over; those that stay are never missed.
TEST_P(Fingerprints, EraseOneKeyAndNoOther) {
  Filter filter(GetParam());
  uint64_t oldest = 0, next = kKeys;
  ASSERT_EQ(filter.insert(0, kKeys), kKeys);
  for (uint32_t round = 0; round < 4; round++) {
    ASSERT_EQ(filter.erase(oldest, kKeys / 2), kKeys / 2);
    oldest += kKeys / 2;
    ASSERT_EQ(filter.found(oldest, next - oldest), next - oldest);
    EXPECT_EQ(filter.info().keys, static_cast<double>(next - oldest));
    const uint64_t asked = kKeys / 2, wrong = filter.found(oldest - asked, asked); // those that are gone
    EXPECT_LE(wrong, most_of(asked, filter.info().rate));
    ASSERT_EQ(filter.insert(next, kKeys / 2), kKeys / 2) << "erased slots are taken again";
    next += kKeys / 2;
    ASSERT_EQ(filter.found(oldest, next - oldest), next - oldest);
  }
  ASSERT_EQ(filter.erase(oldest, kKeys), kKeys);
  EXPECT_EQ(filter.info().keys, 0);
  EXPECT_EQ(filter.found(oldest, kKeys), 0u);
}

// Keys that come again are held again, and the two keys that mark empty and erased slots elsewhere are keys as well.
TEST_P(Fingerprints, AgreeWithTheOracle) {
  TSR_TRACE_SEED;
  Filter filter(GetParam(), 4000);
  Random random(GetParam().key_bits + GetParam().fingerprint_bits);
  std::map<uint64_t, uint64_t> held;
  const uint64_t last = width_mask(GetParam().key_bits);
  uint64_t all = 0;
  for (uint32_t turn = 0; turn < (sanitized ? 60 : 400); turn++) {
    std::vector<uint64_t> batch;
    const bool inserts = all < 2500 && random.chance(2);
    for (uint64_t i = random.below(60) + 1; i--;) {
      const uint64_t key = random.chance(8) ? last - random.below(4) : random.below(3000);
      uint64_t &copies = held[key];
      if (inserts ? copies >= 3 : !copies) continue;
      copies += inserts ? 1 : uint64_t(-1);
      batch.push_back(key);
    }
    Array keys(GetParam().key_bits, batch);
    if (inserts)
      ASSERT_EQ(filter.insert(keys, batch.size()), batch.size());
    else
      ASSERT_EQ(filter.erase(keys, batch.size()), batch.size());
    std::vector<uint64_t> present, copies;
    all = 0;
    for (const auto &one : held) {
      all += one.second;
      if (one.second) present.push_back(one.first), copies.push_back(one.second);
    }
    Array asked(GetParam().key_bits, present);
    ASSERT_EQ(filter.contains(asked, present.size()), std::vector<uint8_t>(present.size(), 1));
    std::vector<uint64_t> counts(present.size());
    ASSERT_EQ(tsr_count_all(filter.table, counts.size(), asked.data(), counts.data(), nullptr, nullptr), TSR_OK);
    for (size_t i = 0; i < counts.size(); i++) ASSERT_GE(counts[i], copies[i]) << "key " << present[i];
    ASSERT_EQ(filter.info().keys, static_cast<double>(all));
  }
}

TEST_P(Fingerprints, ComeBackFromAFile) {
  Filter filter(GetParam(), 3000);
  tsr_error error = {};
  const std::string path = testing::TempDir() + "fingerprints" + std::to_string(getpid()) + ".tsr";
  ASSERT_EQ(filter.insert(0, 3000), 3000u);
  ASSERT_EQ(filter.erase(0, 1000), 1000u);
  ASSERT_EQ(tsr_table_save(filter.table, path.c_str(), &error), TSR_OK) << error.message;
  const std::string directories = plugin_directories();
  tsr_load_options options = {};
  tsr_table *loaded = nullptr;
  options.size = sizeof options;
  options.plugins = directories.c_str();
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &loaded, &error), TSR_OK) << error.message;
  unlink(path.c_str());
  Filter other(GetParam(), loaded);
  EXPECT_EQ(other.info().keys, 2000);
  EXPECT_EQ(other.found(1000, 2000), 2000u);
  EXPECT_EQ(other.erase(1000, 2000), 2000u);
  EXPECT_EQ(other.insert(0, 3000), 3000u);
  EXPECT_EQ(other.found(0, 3000), 3000u);
  ASSERT_EQ(tsr_clear(other.table, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(other.info().keys, 0);
}

// What found no room is counted, and is as many fingerprints as are missing; a key fits twice as often as a bucket has slots.
TEST_P(Fingerprints, TellWhenTheyAreFull) {
  const uint32_t slots = GetParam().bucket_slots;
  Filter filter(GetParam(), 1000);
  const std::vector<uint64_t> same(2 * slots + 5, 7);
  Array copies(GetParam().key_bits, same);
  EXPECT_EQ(filter.insert(copies, same.size()), 2 * slots);
  ASSERT_EQ(filter.erase(copies, same.size()), 2 * slots);
  tsr_report report = {};
  tsr_error error = {};
  report.size = sizeof report;
  ASSERT_EQ(tsr_table_report_reset(filter.table, &error), TSR_OK) << error.message;
  const uint64_t inserted = filter.insert(0, 3000);
  ASSERT_EQ(tsr_table_report(filter.table, &report, &error), TSR_OK) << error.message;
  EXPECT_LT(inserted, 3000u);
  EXPECT_EQ(report.inserted, inserted);
  EXPECT_EQ(report.not_placed, 3000 - inserted);
  EXPECT_EQ(filter.info().keys, static_cast<double>(inserted));
}

INSTANTIATE_TEST_SUITE_P(Of, Fingerprints,
                         testing::Values(Shape{32, 16, 16, "0.95", false}, Shape{64, 16, 16, "0.95", false},
                                         Shape{64, 16, 4, "0.9", true}, Shape{32, 8, 32, "0.9", false},
                                         Shape{64, 8, 8, "0.9", false}, Shape{64, 32, 8, "0.95", true}));

TEST(FingerprintRules, RefuseInSentences) {
  const Shape shape = {64, 16, 16, "0.9", false};
  Filter filter(shape, 1000), other(shape, 1000);
  tsr_error error = {};
  uint64_t keys[2] = {1, 2}, size = 0;
  tsr_rehash_options rehash = {};
  const char *word = "a filter keeps no keys";
  expect_refused(tsr_erase_pairs(filter.table, 2, keys, nullptr, nullptr, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_size(filter.table, &size, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_export(filter.table, 2, keys, nullptr, &size, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_rehash(filter.table, &rehash, &error), TSR_UNSUPPORTED, error, word);
  expect_refused(tsr_find_or_insert(filter.table, 2, keys, nullptr, nullptr, nullptr, &error), TSR_UNSUPPORTED, error,
                 word);
  expect_refused(tsr_find(filter.table, 2, keys, keys, nullptr, &error), TSR_UNSUPPORTED, error, "has no values");
  expect_refused(tsr_filter_merge(filter.table, other.table, &error), TSR_UNSUPPORTED, error,
                 "insert the keys of both into one");
}

TEST(FingerprintRules, SpecsAreRefusedByTheLine) {
  const Shape shape = {64, 16, 16, "0.9", false};
  const std::string text = text_of(shape, 1000);
  const struct {
    const char *setting, *word;
  } cases[] = {
      {"table.growth=double", "no keys that could move"},
      {"table.page_bytes=auto", "remove the line"},
      {"table.stash=10", "such a filter is made of"},
      {"table.concurrency=mixed", "remove the line"},
      {"table.kind=multiset", "keys of equal fingerprints cannot be told apart"},
      {"table.probing=cuckoo", "an erase could take that of a key that has other buckets"},
      {"table.probing=linear", "an erase could take that of a key that has other buckets"},
      {"table.hasher=xxhash", "a hasher that can be undone"},
      {"table.key_bits=128", "key_bits = 128"},
      {"layout.fingerprint_bits=24", "must be 8, 16 or 32"},
      {"filter.bits_per_key=8", "it has a layout"},
  };
  for (const auto &one : cases) {
    tsr_spec *spec = nullptr;
    tsr_table *table = nullptr;
    tsr_error error = {};
    ASSERT_EQ(tsr_spec_parse(text.c_str(), "f.ini", &spec, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_spec_set(spec, one.setting, &error), TSR_OK) << error.message;
    const std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    EXPECT_NE(tsr_table_create(spec, &options, &table, &error), TSR_OK) << one.setting;
    EXPECT_NE(strstr(error.message, one.word), nullptr) << one.setting << ": " << error.message;
    expect_sentence(error, one.setting);
    tsr_table_destroy(table);
    tsr_spec_free(spec);
  }
}

} // namespace
} // namespace tessera_test
