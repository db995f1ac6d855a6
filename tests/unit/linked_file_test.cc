// SPDX-License-Identifier: Apache-2.0
//
// The file of cubins that were linked ahead (core/cuda/linked.h): what was written is read, and a damaged file is refused. What
// is in it is of no matter here; tests/codegen/linked_test.cc has real cubins.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tools/ahead/linked_file.h"

namespace {

tsr_cache_key key_of(uint64_t number) { return tsr_cache_key_start(number); }

// Alike, of several sizes, and every third the one before.
std::vector<std::string> contents() {
  std::mt19937 random(7);
  std::vector<std::string> made;
  for (int i = 0; i < 200; i++) {
    std::string one(static_cast<size_t>(1000 + 90 * (i / 3 * 3)), 'x');
    for (int k = 0; k < 50; k++) one[random() % one.size()] = static_cast<char>(random());
    made.push_back(i % 3 == 2 ? made.back() : one);
  }
  return made;
}

class LinkedFile : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    folder_ = std::string(base ? base : "/tmp") + "/linked.XXXXXX";
    ASSERT_NE(mkdtemp(&folder_[0]), nullptr);
    setenv("TESSERA_PLUGINS", folder_.c_str(), 1);
    std::vector<tsr_linked_cubin> cubins;
    for (size_t i = 0; i < contents_.size(); i++)
      cubins.push_back({key_of(i), i < 150 ? 80u : 90u, contents_[i].data(), contents_[i].size()});
    ASSERT_EQ(tsr_linked_write(path().c_str(), cubins.data(), cubins.size()), 0);
  }
  std::string path() const { return folder_ + "/linked.cubins"; }
  std::string file() const {
    std::ifstream in(path(), std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  // In a folder of its own, because a file that was read stays open.
  void replace(const std::string &bytes) {
    folder_ += "/other";
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    std::ofstream(path(), std::ios::binary) << bytes;
    setenv("TESSERA_PLUGINS", folder_.c_str(), 1);
  }
  // How many cubins are there as they were written; none may be another.
  size_t right() const {
    size_t count = 0;
    for (size_t i = 0; i < contents_.size(); i++) {
      void *cubin = nullptr;
      size_t bytes = 0;
      const tsr_cache_key key = key_of(i);
      if (!tsr_linked_get(&key, &cubin, &bytes)) continue;
      EXPECT_EQ(std::string(static_cast<char *>(cubin), bytes), contents_[i]) << i;
      free(cubin);
      count++;
    }
    return count;
  }
  std::string folder_;
  std::vector<std::string> contents_ = contents();
};

TEST_F(LinkedFile, HasWhatWasWritten) {
  EXPECT_TRUE(tsr_linked_is_there());
  EXPECT_EQ(right(), contents_.size());
  const tsr_cache_key other = key_of(contents_.size());
  void *cubin = nullptr;
  size_t bytes = 0;
  EXPECT_FALSE(tsr_linked_get(&other, &cubin, &bytes));
  EXPECT_FALSE(tsr_linked_has(&other));
  EXPECT_STREQ(tsr_linked_fault(), "");
}

TEST_F(LinkedFile, IsSmall) {
  size_t all = 0;
  for (const std::string &one : contents_) all += one.size();
  EXPECT_LT(file().size(), all / 20);
}

TEST_F(LinkedFile, IsNoneWithoutAFile) {
  setenv("TESSERA_PLUGINS", "/nowhere", 1);
  EXPECT_FALSE(tsr_linked_is_there());
  EXPECT_EQ(right(), 0u);
}

// After those above: the first fault of a process stays.
TEST_F(LinkedFile, TellsWhatIsDamaged) {
  const std::string sound = file();
  std::string damaged = sound;
  damaged[sound.size() - 100] ^= 1; // in the last group
  replace(damaged);
  const size_t left = right();
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, contents_.size());
  EXPECT_NE(std::string(tsr_linked_fault()).find("linked.cubins is damaged: install Tessera again"), std::string::npos)
      << tsr_linked_fault();
  damaged = sound;
  damaged[sizeof(tsr_linked_head) + 5] ^= 1; // in the index
  replace(damaged);
  EXPECT_FALSE(tsr_linked_is_there());
  for (const std::string &bytes : {sound.substr(0, sound.size() - 1), sound.substr(0, 20), sound + "x",
                                   std::string("x"), std::string(1000, 'x'), std::string()}) {
    replace(bytes);
    EXPECT_FALSE(tsr_linked_is_there()) << bytes.size();
    EXPECT_EQ(right(), 0u);
  }
}

// Each byte of the head and the index, one after the other: nothing wrong is ever handed out.
TEST_F(LinkedFile, HandsOutNothingWrong) {
  const std::string sound = file();
  std::mt19937 random(11);
  for (int i = 0; i < 60; i++) {
    std::string damaged = sound;
    const size_t most = i < 40 ? sizeof(tsr_linked_head) : sound.size();
    damaged[i < 40 ? static_cast<size_t>(i) : random() % most] ^= static_cast<char>(1 + random() % 255);
    folder_ = folder_.substr(0, folder_.find("/other")) + "/other" + std::to_string(i);
    ASSERT_EQ(mkdir(folder_.c_str(), 0700), 0);
    std::ofstream(path(), std::ios::binary) << damaged;
    setenv("TESSERA_PLUGINS", folder_.c_str(), 1);
    EXPECT_LT(right(), contents_.size()) << i;
  }
}

TEST(LinkedArchitectures, AreOneForEachMajorNumber) {
  for (auto &[sm, architecture] : {std::pair(80u, 80u),
                                   {86u, 80u},
                                   {89u, 80u},
                                   {90u, 90u},
                                   {100u, 100u},
                                   {103u, 100u},
                                   {120u, 120u},
                                   {121u, 120u},
                                   {87u, 87u},
                                   {101u, 101u}})
    EXPECT_EQ(tsr_linked_architecture(sm), architecture) << sm;
}

} // namespace
