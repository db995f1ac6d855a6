// SPDX-License-Identifier: Apache-2.0
//
// What people have reported of other hash tables, tried here on every layout with every scheme, on the cpu backend. Each
// test names the report. Read next: multi_test.cc.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

namespace {

using tessera_test::Random;

constexpr const char *kPlugins = "layouts:probing:hashers:allocators:eviction";

tsr_status make(const std::string &text, uint64_t capacity, tsr_table **table, tsr_error *error) {
  tsr_spec *spec = nullptr;
  tsr_options options = {};
  options.plugins = kPlugins;
  options.capacity = capacity;
  *table = nullptr;
  tsr_status status = tsr_spec_parse(text.c_str(), "reported", &spec, error);
  if (status == TSR_OK) status = tsr_table_create(spec, &options, table, error);
  tsr_spec_free(spec);
  return status;
}

std::vector<std::string> names(const std::string &role) {
  const tsr_plugin_info *plugins = nullptr;
  size_t count = 0;
  tsr_error error = {};
  std::vector<std::string> found;
  EXPECT_EQ(tsr_plugins_list(kPlugins, &plugins, &count, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < count; i++)
    if (role == plugins[i].role) found.push_back(plugins[i].name);
  tsr_plugins_free(plugins, count);
  return found;
}

// "layout = ...", of maps with 32 bits for everything, for each pair of parts that fit.
const std::vector<std::string> &maps() {
  static std::vector<std::string> all;
  if (!all.empty()) return all;
  std::vector<std::string> allocators = names("allocator");
  allocators.insert(allocators.begin(), "");
  for (const std::string &layout : names("layout"))
    for (const std::string &probing : names("probing"))
      for (const std::string &allocator : allocators) {
        const std::string text =
            "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nbackend = cpu\nhasher = murmur3\n"
            "layout = " +
            layout + "\nprobing = " + probing + "\n" + (allocator.empty() ? "" : "allocator = " + allocator + "\n");
        tsr_table *table;
        tsr_error error = {};
        const bool fits = make(text, 8, &table, &error) == TSR_OK;
        tsr_table_destroy(table);
        if (fits) all.push_back(text);
        if (fits) break;
      }
  return all;
}

// A table with calls that must succeed.
struct Table {
  tsr_table *handle = nullptr;
  tsr_error error = {};

  Table(const std::string &text, uint64_t capacity) {
    EXPECT_EQ(make(text, capacity, &handle, &error), TSR_OK) << error.message;
  }
  ~Table() { tsr_table_destroy(handle); }
  // The number of pairs that found no room. Values are what a key's is.
  uint64_t insert(const std::vector<uint32_t> &keys) {
    std::vector<uint8_t> codes(keys.size());
    tsr_call call = {};
    call.results = codes.data();
    EXPECT_EQ(tsr_insert(handle, keys.size(), keys.data(), keys.data(), &call, &error), TSR_OK) << error.message;
    return static_cast<uint64_t>(std::count(codes.begin(), codes.end(), TSR_NOT_PLACED));
  }
  void erase(const std::vector<uint32_t> &keys) {
    EXPECT_EQ(tsr_erase(handle, keys.size(), keys.data(), nullptr, &error), TSR_OK) << error.message;
  }
  uint64_t size() {
    uint64_t size = 0;
    EXPECT_EQ(tsr_size(handle, &size, &error), TSR_OK) << error.message;
    return size;
  }
  std::multiset<uint32_t> keys() {
    uint64_t count = size();
    std::vector<uint32_t> keys(count), values(count);
    EXPECT_EQ(tsr_export(handle, count, keys.data(), values.data(), &count, &error), TSR_OK) << error.message;
    EXPECT_EQ(keys, values);
    return {keys.begin(), keys.end()};
  }
};

std::vector<uint32_t> distinct(Random *random, size_t count) {
  std::set<uint32_t> chosen;
  while (chosen.size() < count) chosen.insert(static_cast<uint32_t>(random->bits(32)));
  std::vector<uint32_t> keys(chosen.begin(), chosen.end());
  for (size_t i = keys.size(); i > 1; i--) std::swap(keys[i - 1], keys[random->bits(30) % i]);
  return keys;
}

std::multiset<uint32_t> all_of(const std::vector<uint32_t> &keys) { return {keys.begin(), keys.end()}; }

class Reported : public testing::TestWithParam<size_t> {
protected:
  const std::string &text() const { return maps()[GetParam()]; }
  Random random_{41};
};

// cuCollections 606: insert a and b, erase a, insert b again: b is there twice.
TEST_P(Reported, AnErasedSlotBeforeAKeyMakesNoSecondOne) {
  for (const char *policy : {"first", "replace", "promise_unique"}) {
    tsr_table *probe;
    tsr_error error = {};
    const std::string spec = text() + "duplicates = " + policy + "\n";
    const tsr_status status = make(spec, 64, &probe, &error);
    tsr_table_destroy(probe);
    if (status) continue;
    Table table(spec, 64);
    for (int round = 0; round < 20; round++) {
      const std::vector<uint32_t> keys = distinct(&random_, 40), gone(keys.begin(), keys.begin() + 20);
      ASSERT_EQ(table.insert(keys), 0u);
      table.erase(gone);
      // who promises distinct keys may insert again only what was erased
      ASSERT_EQ(table.insert(std::string(policy) == "promise_unique" ? gone : keys), 0u);
      ASSERT_EQ(table.keys(), all_of(keys)) << policy;
      table.erase(keys);
      ASSERT_EQ(table.size(), 0u);
    }
  }
}

// BGHT 15: a key that is a marker of empty slots spins for ever.
TEST_P(Reported, KeysThatAreMarkersComeAndGo) {
  Table table(text(), 8);
  const std::vector<uint32_t> keys = {0, 1, 0xFFFFFFFFu, 0xFFFFFFFEu};
  std::vector<uint32_t> thrice;
  for (int i = 0; i < 3; i++) thrice.insert(thrice.end(), keys.begin(), keys.end());
  for (int round = 0; round < 100; round++) {
    ASSERT_EQ(table.insert(thrice), 0u);
    ASSERT_EQ(table.keys(), all_of(keys));
    table.erase(thrice);
    ASSERT_EQ(table.size(), 0u);
  }
}

// stdgpu 411, torchsparse 55: tables of a few slots fail although there is room.
TEST_P(Reported, SmallTablesHoldTheirCapacity) {
  for (uint64_t capacity : {1u, 2u, 3u, 4u, 5u, 7u, 16u, 30u, 64u, 128u, 823u}) {
    Table table(text(), capacity);
    for (int round = 0; round < 10; round++) {
      // with more keys chance may fill all buckets of one, where a scheme looks at few
      EXPECT_LE(table.insert(distinct(&random_, capacity)), capacity < 16 ? 0 : capacity / 16) << capacity;
      EXPECT_EQ(tsr_clear(table.handle, nullptr, &table.error), TSR_OK);
    }
  }
}

// HierarchicalKV 78: after an erase in a full table inserts fail.
TEST_P(Reported, ErasedSlotsOfAFullTableAreFoundAgain) {
  Table table(text(), 400);
  for (uint64_t unplaced = 0, turns = 0; unplaced < 10 && turns < 200; turns++)
    unplaced += table.insert(distinct(&random_, 10));
  const uint64_t full = table.size();
  for (int round = 0; round < 3; round++) {
    const std::multiset<uint32_t> before = table.keys();
    std::vector<uint32_t> gone;
    for (uint32_t key : before)
      if (random_.bits(30) % 2) gone.push_back(key);
    table.erase(gone);
    uint64_t unplaced = 0;
    for (uint64_t turns = 0; unplaced < 10 && turns < 200; turns++) unplaced += table.insert(distinct(&random_, 10));
    EXPECT_GE(table.size() * 100, full * 80) << "filled to " << full << ", and again to " << table.size();
  }
}

// HierarchicalKV 242: what is handed back is written where a pair found no room, and nowhere else.
TEST_P(Reported, OnlyPairsWithoutRoomAreHandedBack) {
  Table table(text() + "stash = 1\n", 64);
  const std::vector<uint32_t> keys = distinct(&random_, 3000);
  std::vector<uint32_t> back_keys(keys.size(), 0xAAAAAAAAu), back_values(keys.size(), 0xAAAAAAAAu);
  std::vector<uint8_t> codes(keys.size(), 0xAA);
  tsr_call call = {};
  call.results = codes.data();
  call.unplaced_keys = back_keys.data();
  call.unplaced_values = back_values.data();
  ASSERT_EQ(tsr_insert(table.handle, keys.size(), keys.data(), keys.data(), &call, &table.error), TSR_OK)
      << table.error.message;
  std::multiset<uint32_t> all = table.keys();
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(back_keys[i], back_values[i]);
    if (codes[i] == TSR_NOT_PLACED)
      all.insert(back_keys[i]);
    else
      ASSERT_EQ(back_keys[i], 0xAAAAAAAAu);
  }
  EXPECT_EQ(all, all_of(keys)) << "a pair is lost, or there twice";
}

// MinkowskiEngine 451: where all inputs are distinct the answers are missing. HugeCTR 281: the next slot is answered.
TEST_P(Reported, FindOrInsertAnswersEach) {
  for (size_t n : {0u, 1u, 900u}) {
    Table table(text(), 1000);
    const std::vector<uint32_t> keys = distinct(&random_, n);
    std::vector<uint32_t> offered(n), got(n), again(n);
    std::iota(offered.begin(), offered.end(), 0);
    std::vector<uint8_t> codes(n);
    tsr_call call = {};
    call.results = codes.data();
    ASSERT_EQ(tsr_find_or_insert(table.handle, n, keys.data(), offered.data(), got.data(), &call, &table.error), TSR_OK)
        << table.error.message;
    EXPECT_EQ(got, offered);
    EXPECT_EQ(std::count(codes.begin(), codes.end(), TSR_INSERTED), static_cast<long>(n));
    const std::vector<uint32_t> other(n, 77777);
    ASSERT_EQ(tsr_find_or_insert(table.handle, n, keys.data(), other.data(), again.data(), nullptr, &table.error),
              TSR_OK);
    EXPECT_EQ(again, offered);
    const std::vector<uint32_t> equal(n, 5);
    ASSERT_EQ(tsr_find_or_insert(table.handle, n, equal.data(), offered.data(), again.data(), nullptr, &table.error),
              TSR_OK);
    EXPECT_EQ(std::set<uint32_t>(again.begin(), again.end()).size(), n ? 1u : 0u) << "one key, one value";
  }
}

// qkan 26: an array that is part of another is where a vector load may not.
TEST_P(Reported, ArraysMayLieAnywhere) {
  Table table(text(), 500);
  const std::vector<uint32_t> keys = distinct(&random_, 300);
  const size_t bytes = keys.size() * sizeof keys[0];
  for (size_t offset : {1u, 2u, 3u, 4u, 8u, 12u}) {
    std::vector<char> in(bytes + 16), out(bytes + 16), codes(keys.size() + 16);
    memcpy(in.data() + offset, keys.data(), bytes);
    tsr_call call = {};
    call.results = reinterpret_cast<uint8_t *>(codes.data() + offset);
    ASSERT_EQ(tsr_insert(table.handle, keys.size(), in.data() + offset, in.data() + offset, &call, &table.error),
              TSR_OK)
        << table.error.message;
    ASSERT_EQ(tsr_find(table.handle, keys.size(), in.data() + offset, out.data() + offset, &call, &table.error),
              TSR_OK);
    EXPECT_EQ(memcmp(out.data() + offset, keys.data(), bytes), 0) << offset;
    ASSERT_EQ(table.keys(), all_of(keys)) << offset;
    ASSERT_EQ(tsr_erase(table.handle, keys.size(), in.data() + offset, &call, &table.error), TSR_OK);
  }
}

std::string name_of(const testing::TestParamInfo<size_t> &info) {
  const std::string &text = maps()[info.param];
  const auto word = [&](const std::string &key) {
    const size_t at = text.find(key + " = ") + key.size() + 3;
    return text.substr(at, text.find('\n', at) - at);
  };
  return word("layout") + "_" + word("probing");
}

INSTANTIATE_TEST_SUITE_P(All, Reported, testing::Range(size_t{0}, maps().size()), name_of);

// HierarchicalKV 239: a key's row is written while another insert evicts it, and rows are mixed.
TEST(ReportedRows, ARowIsOfOneKey) {
  enum : uint64_t { kRowBytes = 256, kWords = kRowBytes / 4, kKeys = 1 << 12, kItems = 1 << 16 };
  for (const char *settings : {"load_factor = 0.95\nduplicates = replace\n", "load_factor = 0.95\nstash = 64\n",
                               "growth = double\nduplicates = replace\n", "page_bytes = auto\n"}) {
    SCOPED_TRACE(settings);
    tsr_table *table;
    tsr_error error = {};
    const std::string text = "[table]\nkind = map\nkey_bits = 32\nvalue_bytes = 256\nbackend = cpu\nhasher = murmur3\n"
                             "layout = packed\nprobing = cuckoo\n";
    ASSERT_EQ(make(text + settings, 1024, &table, &error), TSR_OK) << error.message;
    Random random(10);
    std::vector<uint32_t> keys(kItems), rows(kItems * kWords), all(kKeys), found(kKeys * kWords);
    std::vector<uint8_t> is_there(kKeys);
    std::iota(all.begin(), all.end(), 0);
    for (int round = 0; round < (tessera_test::sanitized ? 1 : 4); round++) {
      for (uint64_t i = 0; i < kItems; i++) {
        keys[i] = static_cast<uint32_t>(random.below(kKeys));
        std::fill_n(&rows[i * kWords], kWords, keys[i]);
      }
      ASSERT_EQ(tsr_insert(table, kItems, keys.data(), rows.data(), nullptr, &error), TSR_OK) << error.message;
      tsr_call call = {};
      call.results = is_there.data();
      ASSERT_EQ(tsr_find(table, kKeys, all.data(), found.data(), &call, &error), TSR_OK) << error.message;
      uint64_t present = 0, size = 0;
      for (uint32_t key = 0; key < kKeys; key++) {
        if (is_there[key] != TSR_FOUND) continue;
        present++;
        for (uint64_t word = 0; word < kWords; word++) ASSERT_EQ(found[key * kWords + word], key) << word;
      }
      ASSERT_EQ(tsr_size(table, &size, &error), TSR_OK);
      EXPECT_EQ(present, size);
      EXPECT_GE(present, 900u);
      ASSERT_EQ(tsr_erase(table, 3000, keys.data(), nullptr, &error), TSR_OK) << error.message;
    }
    tsr_table_destroy(table);
  }
}

// dynamicemb: an id that finds no room is looked up as row 0, and nobody learns of it.
TEST_P(Reported, AFullTableSaysSo) {
  Table table(text(), 64);
  const std::vector<uint32_t> keys = distinct(&random_, 3000);
  std::vector<uint32_t> got(keys.size(), 1);
  std::vector<uint8_t> codes(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  call.missing = 0xDEADBEEFu;
  ASSERT_EQ(tsr_find_or_insert(table.handle, keys.size(), keys.data(), keys.data(), got.data(), &call, &table.error),
            TSR_OK)
      << table.error.message;
  uint64_t unplaced = 0;
  for (size_t i = 0; i < keys.size(); i++) {
    unplaced += codes[i] == TSR_NOT_PLACED;
    // where pairs move it may be another that found no room
    if (got[i] != 0xDEADBEEFu || codes[i] != TSR_NOT_PLACED) {
      EXPECT_EQ(got[i], keys[i]) << int{codes[i]};
    }
  }
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table.handle, &report, &table.error), TSR_OK);
  EXPECT_GT(unplaced, 0u);
  EXPECT_EQ(report.not_placed, unplaced); // what a graph's caller reads, who has no results
  EXPECT_EQ(table.size(), keys.size() - unplaced);
}

// WarpCore 6, torchrec 1591: sizes that are no multiple of the number of devices; one shard has all items, or none.
TEST(ReportedShards, SizesMayBeOdd) {
  Random random(43);
  for (const char *split : {"hash", "independent", "replicated"})
    for (const char *devices : {"0,0", "0,0,0", "0,0,0,0,0", "0,0,0,0,0,0,0", "0,0,0,0,0,0,0,0"}) {
      Table table("[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nbackend = cpu\nhasher = murmur3\n"
                  "layout = packed\nprobing = double_hashing\ndevices = " +
                      std::string(devices) +
                      (std::string(split) == "independent" ? "\nduplicates = promise_unique" : "") +
                      "\n[devices]\nsplit = " + split + "\nchunk = 256\n",
                  4091);
      for (size_t n : {1u, 1021u, 2000u}) {
        const std::vector<uint32_t> keys = distinct(&random, n);
        ASSERT_EQ(table.insert(keys), 0u) << split << " " << devices;
        std::vector<uint32_t> values(n);
        ASSERT_EQ(tsr_find(table.handle, n, keys.data(), values.data(), nullptr, &table.error), TSR_OK);
        ASSERT_EQ(values, keys) << split << " " << devices;
        ASSERT_EQ(table.keys(), all_of(keys)) << split << " " << devices;
        table.erase(keys);
        ASSERT_EQ(table.size(), 0u) << split << " " << devices;
      }
      const std::vector<uint32_t> equal(1021, 7); // all to one shard
      if (std::string(split) != "independent") {
        ASSERT_EQ(table.insert(equal), 0u);
        ASSERT_EQ(table.size(), 1u) << split << " " << devices;
      }
    }
}

// pycuda 137, pytorch 17199: a process that is forked after threads were used waits for ever.
TEST(ReportedForks, AForkGoesOnAlone) {
  Table table(maps()[0], 200000);
  std::vector<uint32_t> keys(100000), more(1000); // work for all threads
  for (size_t i = 0; i < keys.size(); i++) keys[i] = static_cast<uint32_t>(i) * 2654435761u;
  for (size_t i = 0; i < more.size(); i++) more[i] = static_cast<uint32_t>(i + keys.size()) * 2654435761u;
  ASSERT_EQ(table.insert(keys), 0u);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(100); // a hang is a failure and no wait
    std::vector<uint32_t> values(keys.size());
    bool is_right = tsr_find(table.handle, keys.size(), keys.data(), values.data(), nullptr, &table.error) == TSR_OK;
    is_right = is_right && values == keys && table.insert(more) == 0 && table.size() == keys.size() + more.size();
    _exit(!is_right);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(table.size(), keys.size());
}

// cantera 153, kunquat 103: a program that chooses a locale with decimal commas changes what is read and written.
TEST(ReportedLocale, NumbersHavePoints) {
  const std::string folder = testing::TempDir() + "locales";
  if (system(("mkdir -p " + folder + " && localedef -i de_DE -f UTF-8 " + folder + "/de_DE.UTF-8 2>/dev/null").c_str()))
    GTEST_SKIP() << "localedef cannot make a locale";
  setenv("LOCPATH", folder.c_str(), 1);
  if (!setlocale(LC_ALL, "de_DE.UTF-8")) GTEST_SKIP() << "the locale cannot be chosen";
  char half[8];
  snprintf(half, sizeof half, "%.1f", 0.5);
  EXPECT_STREQ(half, "0,5");
  const std::string text = maps()[0];
  for (const char *load : {"", "load_factor = 0.75\n"}) {
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_options options = {};
    options.plugins = kPlugins;
    options.capacity = 1000;
    char *said = nullptr;
    ASSERT_EQ(tsr_spec_parse((text + load).c_str(), "reported", &spec, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_spec_check(spec, &options, &said, &error), TSR_OK) << error.message;
    EXPECT_NE(strstr(said, *load ? "0.75" : "0.8 (default)"), nullptr) << said;
    free(said);
    tsr_spec_free(spec);
  }
  snprintf(half, sizeof half, "%.1f", 0.5);
  EXPECT_STREQ(half, "0,5") << "the caller's locale stays";
  setlocale(LC_ALL, "C");
}

} // namespace
