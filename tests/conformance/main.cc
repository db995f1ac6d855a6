// SPDX-License-Identifier: Apache-2.0
//
// The kit's program. With --load FILE it only loads a plugin, as a process of its own that load_test.cc watches.
// Read next: kit.h.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/conformance/kit.h"

// Called by ThreadSanitizer's runtime, in whatever thread it found a race. It counts and no more: the runtime holds locks.
static std::atomic<uint64_t> races;
extern "C" void __tsan_on_report(void *) {
  races.fetch_add(1, std::memory_order_relaxed);
} // read when threads are joined

// The exit status where a level has no test of a plugin, which `tessera conform` says.
enum { NO_TEST_WAS_RUN = 3 };

namespace tessera_test {
namespace {

// Else a test in which memory was raced for would pass, and only the program's exit status would tell.
class Races : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo &) override {
    uint64_t count = races.exchange(0, std::memory_order_relaxed);
    EXPECT_EQ(count, 0u)
        << "ThreadSanitizer saw memory that several threads reach and one writes, past the kit's atomics "
           "(P-24, P-64): its reports are above";
  }
};

// Keeps the name of the test that runs in a file: who waits for this program says which test has no end, or crashed.
class Running : public testing::EmptyTestEventListener {
public:
  explicit Running(const char *path) : path_(path) {}

private:
  void OnTestStart(const testing::TestInfo &test) override {
    std::ofstream(path_, std::ios::trunc) << test.test_suite_name() << "." << test.name();
  }
  void OnTestEnd(const testing::TestInfo &) override { std::ofstream(path_, std::ios::trunc); }
  const char *path_;
};

std::string filter_of(const std::string &level) {
  if (level == "quick") return "-*InFull*:*UnderStress*";
  if (level == "stress") return "*UnderStress*";
  if (level == "tsan")
    return "*OnAllocator*:*P10_P12_*:*P24_*:*P25_Multimaps*:*P31_*:*P35_TwoTiles*:Kit.*" // threads
           "-*StandsStill*"; // by a signal, which waits there
  return "-*UnderStress*";
}

} // namespace
} // namespace tessera_test

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--load") == 0) {
    if (dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) return 0;
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  setvbuf(stdout, nullptr, _IOLBF, 0); // what was said stays said when the process is ended
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(filter) == "*") testing::GTEST_FLAG(filter) = tessera_test::filter_of(tessera_test::level());
  testing::UnitTest::GetInstance()->listeners().Append(new tessera_test::Races);
  if (const char *path = getenv("TSR_CONFORM_RUNNING"))
    testing::UnitTest::GetInstance()->listeners().Append(new tessera_test::Running(path));
  const int status = RUN_ALL_TESTS();
  return testing::UnitTest::GetInstance()->test_to_run_count() ? status : NO_TEST_WAS_RUN;
}
