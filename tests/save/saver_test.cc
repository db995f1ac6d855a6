// SPDX-License-Identifier: Apache-2.0
//
// tsr_saver: a table that is saved again and again while it changes. Each file is what the table was when it was begun; two files
// take turns, and of the older one only what differs is written.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/rebuild/tables.h"

namespace {

using namespace tessera_test;

using Pairs = std::map<uint32_t, uint32_t>;

std::string path_of(const std::string &name) { return testing::TempDir() + "/saver." + name; }

bool is_there(const std::string &path) { return access(path.c_str(), F_OK) == 0; }

class Saver : public testing::Test {
protected:
  Saver() : spare_(path_of("spare")) {
    EXPECT_EQ(tsr_saver_create(spare_.c_str(), &saver_, &error_), TSR_OK) << error_.message;
  }
  ~Saver() override {
    tsr_saver_destroy(saver_);
    EXPECT_FALSE(is_there(spare_));
    for (const std::string &path : made_) unlink(path.c_str());
  }

  // Begins a file of that name; without `waits` it may still be written.
  std::string begin(tsr_table *table, const std::string &name, bool waits) {
    const std::string path = path_of(name);
    made_.push_back(path);
    EXPECT_EQ(tsr_saver_begin(saver_, table, path.c_str(), &error_), TSR_OK) << error_.message;
    if (waits) end();
    return path;
  }

  void end() {
    saved_ = {};
    EXPECT_EQ(tsr_saver_end(saver_, true, &saved_, &error_), TSR_OK) << error_.message;
    EXPECT_TRUE(saved_.is_done);
    EXPECT_EQ(std::string(saved_.path), made_.back());
    std::ifstream file(saved_.path, std::ios::ate | std::ios::binary);
    EXPECT_EQ(saved_.bytes, static_cast<uint64_t>(file.tellg()));
  }

  void expect_file(const std::string &path, const Pairs &pairs) {
    tsr_load_options options = {};
    options.plugins = plugin_folders();
    tsr_table *table = nullptr;
    ASSERT_EQ(tsr_table_load(path.c_str(), &options, &table, &error_), TSR_OK) << error_.message;
    expect_pairs(table, {pairs.begin(), pairs.end()});
    tsr_table_destroy(table);
  }

  // Inserts pairs of keys from..to.
  void insert(tsr_table *table, Pairs *pairs, uint32_t from, uint32_t to) {
    std::vector<uint32_t> keys, values;
    for (uint32_t key = from; key < to; key++) {
      keys.push_back(key);
      values.push_back(3 * key);
      (*pairs)[key] = 3 * key;
    }
    ASSERT_EQ(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error_), TSR_OK) << error_.message;
  }

  const std::string spare_;
  tsr_saver *saver_ = nullptr;
  tsr_saved saved_ = {};
  tsr_error error_ = {};
  std::vector<std::string> made_;
};

TEST_F(Saver, WritesWhatDiffers) {
  tsr_table *table = table_of("capacity=100000");
  Pairs pairs;
  insert(table, &pairs, 0, 75000);
  begin(table, "1", true);
  EXPECT_EQ(saved_.written_bytes, saved_.bytes);
  EXPECT_TRUE(saved_.is_beside);
  begin(table, "2", true); // there is no older file yet
  EXPECT_EQ(saved_.written_bytes, saved_.bytes);
  EXPECT_FALSE(is_there(path_of("1"))) << "the older file is the next one";
  const std::string third = begin(table, "3", true);
  const uint64_t ends = saved_.written_bytes; // head and tail of each piece that is written at a time
  EXPECT_LE(ends, saved_.bytes / 50);
  expect_file(third, pairs);
  EXPECT_FALSE(is_there(path_of("2")));
  insert(table, &pairs, 75000, 75010);
  const std::string fourth = begin(table, "4", true);
  EXPECT_GT(saved_.written_bytes, ends);
  EXPECT_LE(saved_.written_bytes, ends + 10 * 2 * 4096) << "of ten pairs";
  expect_file(fourth, pairs);
  insert(table, &pairs, 75010, 80000);
  expect_file(begin(table, "5", true), pairs);
  tsr_table_destroy(table);
}

TEST_F(Saver, HoldsWhatTheTableWasThen) {
  tsr_table *table = table_of("capacity=50000 growth=double");
  Pairs pairs;
  for (uint32_t i = 0; i < 6; i++) { // it grows: files of several lengths
    insert(table, &pairs, i * 40000, (i + 1) * 40000);
    const Pairs then = pairs;
    const std::string path = begin(table, std::to_string(10 + i), false);
    insert(table, &pairs, 10000000 + i * 1000, 10000000 + (i + 1) * 1000); // while it is written
    if (i == 3) {
      tsr_rehash_options options = {};
      options.capacity = 300000;
      ASSERT_EQ(tsr_rehash(table, &options, &error_), TSR_OK) << error_.message;
    }
    end();
    expect_file(path, then);
  }
  tsr_table_destroy(table);
}

TEST_F(Saver, OfSeveralDevices) {
  if (backend() != "cpu") GTEST_SKIP() << "one device is named twice";
  tsr_table *table = table_of("capacity=100000 devices=0,0,0");
  Pairs pairs;
  for (uint32_t i = 0; i < 4; i++) {
    insert(table, &pairs, i * 20000, (i + 1) * 20000);
    expect_file(begin(table, std::to_string(20 + i), true), pairs);
  }
  tsr_table_destroy(table);
}

TEST_F(Saver, OutlivesTheTable) {
  tsr_table *table = table_of("capacity=100000");
  Pairs pairs;
  insert(table, &pairs, 0, 75000);
  const std::string path = begin(table, "30", false);
  tsr_table_destroy(table);
  end();
  expect_file(path, pairs);
}

TEST_F(Saver, AFailureLeavesTheLastWholeFile) {
  tsr_table *table = table_of("capacity=1000");
  Pairs pairs;
  insert(table, &pairs, 0, 500);
  const std::string path = begin(table, "40", true);
  insert(table, &pairs, 500, 600);
  ASSERT_EQ(tsr_saver_begin(saver_, table, path_of("nowhere/at/all").c_str(), &error_), TSR_OK) << error_.message;
  EXPECT_EQ(tsr_saver_end(saver_, true, &saved_, &error_), TSR_IO);
  EXPECT_NE(std::string(error_.message).find("cannot be written"), std::string::npos) << error_.message;
  expect_file(path, {pairs.begin(), pairs.find(500)});
  expect_file(begin(table, "41", true), pairs);
  EXPECT_EQ(saved_.written_bytes, saved_.bytes) << "what a failure left is not known";
  EXPECT_EQ(tsr_saver_begin(saver_, table, path_of("41").c_str(), &error_), TSR_BAD_ARGUMENT);
  EXPECT_NE(std::string(error_.message).find("a name of its own"), std::string::npos) << error_.message;
  EXPECT_EQ(tsr_saver_begin(saver_, table, spare_.c_str(), &error_), TSR_BAD_ARGUMENT);
  tsr_table_destroy(table);
}

TEST_F(Saver, AnotherSpareFileIsWrittenAsAWhole) {
  tsr_table *table = table_of("capacity=1000");
  Pairs pairs;
  insert(table, &pairs, 0, 500);
  begin(table, "50", true);
  begin(table, "51", true);
  std::ofstream(spare_, std::ios::binary | std::ios::trunc) << "something else";
  const std::string path = begin(table, "52", true);
  EXPECT_EQ(saved_.written_bytes, saved_.bytes);
  expect_file(path, pairs);
  tsr_table_destroy(table);
}

TEST_F(Saver, WithoutSaverOrTable) {
  EXPECT_EQ(tsr_saver_begin(nullptr, nullptr, "x", &error_), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_saver_end(nullptr, true, nullptr, &error_), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_saver_create(nullptr, &saver_, &error_), TSR_BAD_ARGUMENT);
  tsr_saver_destroy(nullptr);
}

} // namespace
