// SPDX-License-Identifier: Apache-2.0
//
// The cubin cache (core/compose/cache.h) as links see it: hits, misses, damage, two processes at once, and folders that
// cannot be used. `cache_test --link FILE` links one table through the cache and writes the cubin: the other process.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "core/compose/cache.h"
#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"

namespace {

// One that links fast.
choices::Choice choice() {
  return {"soa", "linear", "multiply_shift", "promise_unique", "phased", "no", 4, 1, 32, 0, 90, 0};
}

// Links an operation of one table.
void link_table(linking::Link *link, const choices::Choice &what = choice(), bool use_cache = true) {
  ASSERT_NO_FATAL_FAILURE(
      linking::link_operation(what.entries().parse().get(), what.sm, TSR_BULK_size, link, use_cache));
}

const std::string &fresh_cubin() {
  static const std::string cubin = [] {
    linking::Link link;
    link_table(&link, choice(), false);
    EXPECT_FALSE(link.link.cached);
    return link.cubin();
  }();
  return cubin;
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

void write_file(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), (std::streamsize)bytes.size());
}

std::vector<std::string> files_in(const std::string &folder) {
  std::vector<std::string> names;
  DIR *open = opendir(folder.c_str());
  while (dirent *entry = open ? readdir(open) : nullptr)
    if (entry->d_name[0] != '.') names.push_back(folder + "/" + entry->d_name);
  if (open) closedir(open);
  return names;
}

class Cache : public testing::Test {
protected:
  void SetUp() override {
    const char *base = getenv("TEST_TMPDIR");
    std::string pattern = std::string(base ? base : "/tmp") + "/cache.XXXXXX";
    ASSERT_NE(mkdtemp(&pattern[0]), nullptr);
    home = pattern;
    setenv("XDG_CACHE_HOME", (home + "/xdg").c_str(), 1);
    setenv("HOME", home.c_str(), 1);
    folder = home + "/xdg/tessera";
  }
  void TearDown() override {
    std::string command = "chmod -R u+rwx '" + home + "' && rm -rf '" + home + "'";
    EXPECT_EQ(system(command.c_str()), 0);
  }

  // Links; says whether the cache had it. The cubin must be the fresh one in any case.
  bool cached() {
    linking::Link link;
    link_table(&link);
    EXPECT_TRUE(link.cubin() == fresh_cubin());
    if (link.link.cached) {
      EXPECT_EQ(link.link.glue_ms + link.link.link_ms, 0);
    }
    return link.link.cached;
  }

  std::string only_entry() {
    std::vector<std::string> files = files_in(folder);
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? "" : files[0];
  }

  std::string home, folder;
};

TEST_F(Cache, MissesThenHits) {
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  EXPECT_TRUE(cached());
  EXPECT_EQ(files_in(folder).size(), 1u);
}

TEST_F(Cache, IsPrivate) {
  cached();
  struct stat info;
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(only_entry().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 077, 0u);
}

TEST_F(Cache, KnowsOneTableFromAnother) {
  EXPECT_FALSE(cached());
  for (int other = 0; other < 4; other++) {
    choices::Choice what = choice();
    if (other == 0) what.tile_lanes = 2;
    if (other == 1) what.statistics = "yes";
    if (other == 2) what.probing = "double_hashing";
    if (other == 3) what.value_bits = 32;
    linking::Link link;
    ASSERT_NO_FATAL_FAILURE(link_table(&link, what));
    EXPECT_FALSE(link.link.cached) << other;
  }
  EXPECT_EQ(files_in(folder).size(), 5u);
  linking::Link sm_80;
  choices::Choice what = choice();
  what.sm = 80;
  ASSERT_NO_FATAL_FAILURE(link_table(&sm_80, what));
  EXPECT_FALSE(sm_80.link.cached);
}

// Sizes and seeds are state: another capacity never links again.
TEST_F(Cache, P15_HitsForAnotherCapacityAndSeed) {
  choices::Entries entries = choice().entries();
  linking::Link first, link;
  tsr_options options = {};
  tsr_error error = {};
  options.plugins = choices::plugin_folders().c_str();
  ASSERT_EQ(tsr_spec_link(entries.parse().get(), &options, 90, true, &first.link, &error), TSR_OK) << error.message;
  EXPECT_FALSE(first.link.cached);
  EXPECT_EQ(first.link.kernel_count, size_t{TSR_BULK_apply}); // it is phased, and has no lists
  entries.set("table", "seed", "77");
  options.capacity = 123456789;
  ASSERT_EQ(tsr_spec_link(entries.parse().get(), &options, 90, true, &link.link, &error), TSR_OK) << error.message;
  EXPECT_TRUE(link.link.cached);
}

TEST_F(Cache, MakesADamagedEntryAgain) {
  EXPECT_FALSE(cached());
  std::string path = only_entry(), sound = read_file(path);
  ASSERT_GT(sound.size(), 200u);
  std::vector<std::string> damaged;
  for (size_t at : {size_t(0), size_t(9), size_t(20), size_t(36), size_t(100), sound.size() / 2, sound.size() - 1}) {
    damaged.push_back(sound);
    damaged.back()[at] ^= 0x10;
  }
  damaged.push_back("");
  damaged.push_back(sound.substr(0, 20));
  damaged.push_back(sound.substr(0, sound.size() - 1));
  damaged.push_back(sound);
  damaged.back().replace(8, 8, 8, '\xff'); // a length that no file has
  for (size_t i = 0; i < damaged.size(); i++) {
    SCOPED_TRACE(i);
    write_file(path, damaged[i]);
    EXPECT_FALSE(cached());
    EXPECT_TRUE(read_file(path) == sound);
    EXPECT_TRUE(cached());
  }
}

// A sound entry under the name of another table is not taken for that table.
TEST_F(Cache, ChecksWhoseEntryItReads) {
  EXPECT_FALSE(cached());
  std::string path = only_entry();
  choices::Choice what = choice();
  what.tile_lanes = 2;
  linking::Link other;
  ASSERT_NO_FATAL_FAILURE(link_table(&other, what));
  for (const std::string &file : files_in(folder))
    if (file != path) write_file(path, read_file(file));
  EXPECT_FALSE(cached());
}

TEST_F(Cache, FollowsNoLink) {
  EXPECT_FALSE(cached());
  std::string path = only_entry(), elsewhere = home + "/elsewhere";
  ASSERT_EQ(rename(path.c_str(), elsewhere.c_str()), 0);
  ASSERT_EQ(symlink(elsewhere.c_str(), path.c_str()), 0);
  EXPECT_FALSE(cached());
}

TEST_F(Cache, ServesProcessesAtOnce) {
  enum { kProcesses = 3 };
  pid_t children[kProcesses];
  for (int i = 0; i < kProcesses; i++) {
    children[i] = fork();
    ASSERT_GE(children[i], 0);
    if (children[i] == 0) {
      std::string out = home + "/out" + std::to_string(i);
      execl("/proc/self/exe", "cache_test", "--link", out.c_str(), nullptr);
      _exit(127);
    }
  }
  for (int i = 0; i < kProcesses; i++) {
    int status = -1;
    ASSERT_EQ(waitpid(children[i], &status, 0), children[i]);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(read_file(home + "/out" + std::to_string(i)) == fresh_cubin()) << i;
  }
  EXPECT_EQ(files_in(folder).size(), 1u) << "no temporary file is left";
  EXPECT_TRUE(cached());
}

// ---- Folders that cannot be used ----------------------------------------------------------------

TEST_F(Cache, DoesWithoutAFolder) {
  write_file(home + "/file", "");
  for (const std::string &base : {home + "/file", home + "/missing/folder", std::string("/proc")}) {
    SCOPED_TRACE(base);
    setenv("XDG_CACHE_HOME", base.c_str(), 1);
    EXPECT_FALSE(cached());
    EXPECT_FALSE(cached());
  }
}

TEST_F(Cache, DoesWithoutAFolderThatItMayNotWrite) {
  ASSERT_EQ(mkdir((home + "/xdg").c_str(), 0700), 0);
  ASSERT_EQ(mkdir(folder.c_str(), 0500), 0);
  EXPECT_FALSE(cached());
  EXPECT_EQ(cached(), geteuid() == 0); // root may write everywhere
}

// Whoever can write the folder could have us load code.
TEST_F(Cache, DistrustsAFolderThatOthersMayWrite) {
  EXPECT_FALSE(cached());
  ASSERT_EQ(chmod(folder.c_str(), 0770), 0);
  EXPECT_FALSE(cached());
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  EXPECT_TRUE(cached());
}

TEST_F(Cache, FallsBackToHome) {
  unsetenv("XDG_CACHE_HOME");
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  EXPECT_EQ(files_in(home + "/.cache/tessera").size(), 1u);
  for (const char *base : {"relative", ""}) { // as the XDG specification wants it: ignored
    setenv("XDG_CACHE_HOME", base, 1);
    EXPECT_TRUE(cached()) << base;
  }
  EXPECT_NE(access("relative", F_OK), 0);
}

TEST_F(Cache, DoesWithoutHome) {
  unsetenv("XDG_CACHE_HOME");
  for (const char *value : {"", "relative"}) {
    setenv("HOME", value, 1);
    EXPECT_FALSE(cached());
    EXPECT_FALSE(cached());
  }
  unsetenv("HOME");
  EXPECT_FALSE(cached());
  EXPECT_FALSE(cached());
}

// ---- Its size -----------------------------------------------------------------------------------

TEST_F(Cache, RemovesTheOldestBeyondItsBound) {
  tsr_cache_key key = tsr_cache_key_start(0);
  tsr_cache_put(&key, "x", 1);
  std::string old = folder + "/old.cubin", older = folder + "/older.cubin", hidden = folder + "/.hidden";
  for (const std::string &path : {old, older, hidden}) {
    write_file(path, "");
    ASSERT_EQ(truncate(path.c_str(), 200 << 20), 0); // sparse
    timespec times[2] = {{path == older ? 1000 : 2000, 0}, {path == older ? 1000 : 2000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  tsr_cache_key another = tsr_cache_key_start(1);
  const std::string large(5 << 20, 'y'); // entries are counted again when a sixty-fourth of the bound was put
  tsr_cache_put(&another, large.data(), large.size());
  EXPECT_NE(access(older.c_str(), F_OK), 0);
  EXPECT_EQ(access(old.c_str(), F_OK), 0) << "200 MiB are within the bound";
  EXPECT_EQ(access(hidden.c_str(), F_OK), 0) << "not an entry";
  for (tsr_cache_key *one : {&key, &another}) {
    void *data = nullptr;
    size_t bytes = 0;
    EXPECT_TRUE(tsr_cache_get(one, &data, &bytes));
    EXPECT_EQ(bytes, one == &key ? 1u : large.size());
    free(data);
  }
}

// The entry used last stays, even if it was written first.
TEST_F(Cache, GoesByLastUse) {
  tsr_cache_key key = tsr_cache_key_start(0);
  tsr_cache_put(&key, "x", 1);
  std::string entry = only_entry();
  timespec times[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, entry.c_str(), times, 0), 0);
  void *data = nullptr;
  size_t bytes = 0;
  ASSERT_TRUE(tsr_cache_get(&key, &data, &bytes));
  free(data);
  struct stat info;
  ASSERT_EQ(stat(entry.c_str(), &info), 0);
  EXPECT_GT(info.st_mtim.tv_sec, 1000);
}

TEST(CacheKey, DependsOnEveryByteAndBorder) {
  auto key_of = [](uint64_t salt, const std::vector<std::string> &texts) {
    tsr_cache_key key = tsr_cache_key_start(salt);
    for (const std::string &text : texts) tsr_cache_key_add(&key, text.data(), text.size());
    return std::make_pair(key.half[0], key.half[1]);
  };
  std::set<std::pair<uint64_t, uint64_t>> keys;
  const std::vector<std::vector<std::string>> inputs = {{},
                                                        {""},
                                                        {"", ""},
                                                        {"a"},
                                                        {"a", ""},
                                                        {"", "a"},
                                                        {"ab"},
                                                        {"a", "b"},
                                                        {"b", "a"},
                                                        {std::string(1, '\0')},
                                                        {std::string(8, '\0')},
                                                        {std::string(9, '\0')},
                                                        {"12345678"},
                                                        {"123456789"},
                                                        {"12345678", "9"}};
  for (const auto &input : inputs)
    for (uint64_t salt : {80u, 90u}) keys.insert(key_of(salt, input));
  EXPECT_EQ(keys.size(), 2 * inputs.size());
  EXPECT_EQ(key_of(1, {"abc"}), key_of(1, {"abc"}));
}

} // namespace

int main(int count, char **arguments) {
  if (count == 3 && std::string(arguments[1]) == "--link") {
    linking::Link link;
    link_table(&link);
    if (!link.link.cubin) return 1;
    write_file(arguments[2], link.cubin());
    return 0;
  }
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
