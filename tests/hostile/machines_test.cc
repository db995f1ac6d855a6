// SPDX-License-Identifier: Apache-2.0
//
// Machines on which CUDA cannot be used, each for one reason, and what is said of it: with backend = cuda as an error,
// with backend = auto as the reason for the CPU. Every machine is a process of its own, because driver and toolkit are
// looked for once in a process.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "core/compose/compose.h"
#include "core/cuda/link.h"
#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/hostile/machine.h"
#include "tests/rebuild/tables.h"
#include "tools/ahead/linked_file.h"

namespace {

using namespace tessera_test;

enum { SECONDS_MAX = 60 };

// Runs `work` in a child; its failures are said there, and its exit status tells of them. A leak counts as one.
void in_a_process(const std::function<void()> &work) {
  fflush(stdout);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(SECONDS_MAX);
    work();
    fflush(stdout);
    exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int end = 0;
  ASSERT_EQ(waitpid(child, &end, 0), child);
  EXPECT_TRUE(WIFEXITED(end) && WEXITSTATUS(end) == 0) << "the child ended with " << end;
}

tsr_status create(const std::string &words, tsr_table **table, tsr_error *error) {
  tsr_options options = {};
  options.plugins = plugin_folders();
  tsr_spec *spec = spec_of(words);
  tsr_status status = tsr_table_create(spec, &options, table, error);
  tsr_spec_free(spec);
  return status;
}

void expect_words(const std::string &text, const std::string &words) {
  EXPECT_NE(text.find(words), std::string::npos) << "'" << words << "' is not in: " << text;
}

// ---- Where the cuda backend cannot be opened ----------------------------------------------------

struct Machine {
  const char *name;
  void (*break_it)();
  const char *extra; // of the spec
  tsr_status status;
  const char *sentence; // a part of it
};
std::ostream &operator<<(std::ostream &out, const Machine &machine) { return out << machine.name; }

const Machine machines[] = {
    {"NoDriver", [] { missing().library = "libcuda.so.1"; }, "", TSR_NO_DEVICE, "no CUDA driver: "},
    {"ADriverWithoutAFunction", [] { missing().symbol = "cuMemAllocFromPoolAsync"; }, "", TSR_NO_DEVICE,
     "the CUDA driver is too old: it has no cuMemAllocFromPoolAsync; 12.0 or newer is needed"},
    {"AnOldDriver", [] { fake().driver_version = 11080; }, "", TSR_NO_DEVICE,
     "the CUDA driver is for CUDA 11.8; 12.0 or newer is needed"},
    {"ADriverWithoutAGpu", [] { fake().init_result = 100; }, "", TSR_NO_DEVICE,
     "the CUDA driver found no usable GPU (error 100)"},
    {"NoDevice", [] { fake().devices = 0; }, "", TSR_NO_DEVICE, "device = 0: there are 0 GPUs, numbered from 0"},
    {"NoSuchDevice", [] {}, " device=3", TSR_NO_DEVICE, "device = 3: there are 1 GPUs, numbered from 0"},
    {"AnOldDevice", [] { fake().sm = 75; }, "", TSR_NO_DEVICE,
     "a device of paper has compute capability 7.5: the parts' code is for 8.0 and newer"},
    {"ADeviceThatDoesNotAnswer", [] { fake().calls_left = 3; }, "", TSR_DEVICE_FAILED,
     "asking for the device's attributes: an unknown error (without a text), error 700"},
    {"ADeviceWithoutRoomForAContext", [] { fake().calls_left = 7, fake().failure = FAKE_OUT_OF_MEMORY; }, "",
     TSR_NO_MEMORY, "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"},
    {"NoNvrtc", [] { missing().library = "libnvrtc.so.13"; }, "", TSR_NOT_FOUND,
     "libnvrtc.so of the CUDA toolkit 13 is not on the loader's path, nor under CUDA_PATH, CUDA_HOME or"},
    {"NoJitLink", [] { missing().library = "libnvJitLink.so.13"; }, "", TSR_NOT_FOUND,
     "libnvJitLink.so of the CUDA toolkit 13 is not on the loader's path, nor under CUDA_PATH, CUDA_HOME or"},
    {"ALinkerWithoutAFunction", [] { missing().symbol = "nvJitLinkGetLinkedCubinSize"; }, "", TSR_NOT_FOUND,
     "the CUDA toolkit has no nvJitLinkGetLinkedCubinSize: 13.0 or newer is needed"},
    {"ACompilerWithoutAFunction", [] { missing().symbol = "nvrtcGetLTOIR"; }, "", TSR_NOT_FOUND,
     "the CUDA toolkit has no nvrtcGetLTOIR: 13.0 or newer is needed"},
    {"ALinkerOlderThanTheCompiler", [] { fake().nvrtc_minor = 2, fake().jitlink_minor = 1; }, "", TSR_NOT_FOUND,
     "NVRTC is of CUDA 13.2 and nvJitLink of 13.1: they must be of one release; point CUDA_PATH to one toolkit"},
};

class Machines : public testing::TestWithParam<Machine> {};

TEST_P(Machines, CudaFailsWithASentence) {
  in_a_process([] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    GetParam().break_it();
    EXPECT_EQ(create(std::string("backend=cuda") + GetParam().extra, &table, &error), GetParam().status);
    expect_words(error.message, GetParam().sentence);
    EXPECT_EQ(table, nullptr);
    EXPECT_EQ(fake().contexts, 0);
  });
}

TEST_P(Machines, AutoTakesTheCpuAndSaysWhy) {
  in_a_process([] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    GetParam().break_it();
    ASSERT_EQ(create(std::string("backend=auto") + GetParam().extra, &table, &error), TSR_OK) << error.message;
    EXPECT_STREQ(info_of(table).backend, "cpu");
    expect_words(info_of(table).backend_reason, GetParam().sentence);
    std::map<uint32_t, uint32_t> pairs = {{1, 2}, {3, 4}};
    fill(table, pairs);
    expect_pairs(table, pairs);
    tsr_table_destroy(table);
    EXPECT_EQ(fake().contexts, 0);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Machines, testing::ValuesIn(machines),
                         [](const auto &test) { return std::string(test.param.name); });

// ---- Where nothing is broken --------------------------------------------------------------------

TEST(Toolkit, AutoTakesCuda) {
  in_a_process([] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    ASSERT_EQ(create("backend=auto", &table, &error), TSR_OK) << error.message;
    EXPECT_STREQ(info_of(table).backend, "cuda");
    EXPECT_STREQ(info_of(table).backend_reason, "CUDA can be used");
    tsr_table_destroy(table);
  });
}

TEST(Toolkit, IsFoundUnderCudaPathAndCudaHome) {
  for (const char *variable : {"CUDA_PATH", "CUDA_HOME"})
    in_a_process([&] {
      tsr_table *table = nullptr;
      tsr_error error = {};
      toolkit_folder() = "/somewhere/else";
      unsetenv("CUDA_PATH");
      unsetenv("CUDA_HOME");
      setenv(variable, "/somewhere/else", 1);
      ASSERT_EQ(create("backend=cuda", &table, &error), TSR_OK) << error.message;
      tsr_table_destroy(table);
    });
}

TEST(Toolkit, OfTheCallersChoiceIsNotLoadedByAPrivilegedProgram) {
  in_a_process([] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    toolkit_folder() = "/somewhere/else";
    setenv("CUDA_PATH", "/somewhere/else", 1);
    setenv("CUDA_HOME", "/somewhere/else", 1);
    is_privileged() = true;
    EXPECT_EQ(create("backend=cuda", &table, &error), TSR_NOT_FOUND);
    expect_words(error.message, "libnvrtc.so of the CUDA toolkit 13 is not on the loader's path");
  });
}

TEST(Plugins, OfTheCallersChoiceAreNotLoadedByAPrivilegedProgram) {
  for (bool privileged : {false, true})
    in_a_process([&] {
      tsr_table *table = nullptr;
      tsr_error error = {};
      tsr_spec *spec = spec_of("backend=cpu");
      setenv("TESSERA_PLUGINS", plugin_folders(), 1);
      is_privileged() = privileged;
      EXPECT_EQ(tsr_table_create(spec, nullptr, &table, &error), privileged ? TSR_NOT_FOUND : TSR_OK) << error.message;
      if (privileged) expect_words(error.message, "there is no hasher_murmur3.so in");
      tsr_table_destroy(table);
      tsr_spec_free(spec);
    });
}

TEST(Toolkit, IsAskedOnlyOnce) { // what was missing does not appear in a running process
  in_a_process([] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    missing().library = "libnvrtc.so.13";
    EXPECT_EQ(create("backend=cuda", &table, &error), TSR_NOT_FOUND);
    missing().library.clear();
    error = {};
    EXPECT_EQ(create("backend=cuda", &table, &error), TSR_NOT_FOUND);
    expect_words(error.message, "libnvrtc.so");
  });
}

TEST(Toolkit, OfAnotherReleaseLinksAnew) { // the cache knows code by who made it
  in_a_process([] {
    char folder[] = "/tmp/tessera-toolkit.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    setenv("XDG_CACHE_HOME", folder, 1);
    tsr_spec *spec = spec_of("");
    tsr_options options = {};
    options.plugins = plugin_folders();
    auto is_cached = [&] {
      tsr_link link = {};
      tsr_error error = {};
      EXPECT_EQ(tsr_spec_link(spec, &options, 90, true, &link, &error), TSR_OK) << error.message;
      bool cached = link.cached;
      tsr_link_free(&link);
      return cached;
    };
    EXPECT_FALSE(is_cached());
    EXPECT_TRUE(is_cached());
    fake().jitlink_minor++;
    EXPECT_FALSE(is_cached());
    EXPECT_TRUE(is_cached());
    fake().nvrtc_minor++;
    EXPECT_FALSE(is_cached());
    EXPECT_TRUE(is_cached());
    fake().nvrtc_minor--;
    fake().jitlink_minor--;
    EXPECT_TRUE(is_cached());
    tsr_spec_free(spec);
    EXPECT_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
  });
}

// ---- What was linked ahead -----------------------------------------------------------------------

// Links some steps of a table, as a release does, into FOLDER/linked.cubins.
void link_ahead(const std::string &folder, const std::string &words) {
  tsr_error error = {};
  tsr_options options = {};
  tsr_composition *table = nullptr;
  options.plugins = plugin_folders();
  tsr_spec *spec = spec_of(words);
  ASSERT_EQ(tsr_compose(spec, &options, 90, 1, &table, &error), TSR_OK) << error.message;
  std::vector<tsr_linked_cubin> cubins;
  for (uint32_t op : {TSR_BULK_insert, TSR_BULK_find, TSR_BULK_contains}) {
    tsr_link link = {};
    tsr_linked_cubin one = {};
    ASSERT_EQ(tsr_cuda_link_step(table, TSR_BULK_STEP(op), false, &link, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_cuda_ahead_key(table, TSR_BULK_STEP(op), &one.key, &error), TSR_OK) << error.message;
    one.sm = 90;
    one.bytes = link.cubin_bytes;
    one.cubin = malloc(one.bytes);
    memcpy(one.cubin, link.cubin, one.bytes);
    tsr_link_free(&link);
    cubins.push_back(one);
  }
  EXPECT_EQ(tsr_linked_write((folder + "/linked.cubins").c_str(), cubins.data(), cubins.size()), 0);
  for (const tsr_linked_cubin &one : cubins) free(one.cubin);
  tsr_composition_free(table);
  tsr_spec_free(spec);
}

TEST(LinkedAhead, ATableNeedsNoToolkit) {
  char folder[] = "/tmp/tessera-linked.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  in_a_process([&] { link_ahead(folder, ""); });
  in_a_process([&] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    const uint32_t keys[] = {1, 2}, values[] = {3, 4};
    setenv("TESSERA_PLUGINS", folder, 1);
    missing().library = "libnvrtc.so.13";
    ASSERT_EQ(create("backend=auto", &table, &error), TSR_OK) << error.message;
    EXPECT_STREQ(info_of(table).backend, "cuda");
    ASSERT_EQ(tsr_insert(table, 2, keys, values, nullptr, &error), TSR_OK) << error.message;
    const tsr_code_counts counts = info_of(table).code_counts;
    EXPECT_EQ(counts.ahead, 2u) << "insert and find";
    EXPECT_EQ(counts.cached + counts.made, 0u);
    EXPECT_STREQ(info_of(table).code, "2 linked ahead, 0 cached, 0 linked now");
    uint64_t size = 0;
    EXPECT_EQ(tsr_size(table, &size, &error), TSR_NOT_FOUND) << "it is not in the file";
    expect_words(error.message, "libnvrtc.so of the CUDA toolkit 13 is not on the loader's path");
    tsr_table_destroy(table);
  });
  EXPECT_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
}

TEST(LinkedAhead, AutoTakesTheCpuForOtherTables) {
  char folder[] = "/tmp/tessera-linked.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  in_a_process([&] { link_ahead(folder, ""); });
  in_a_process([&] {
    tsr_table *table = nullptr;
    tsr_error error = {};
    setenv("TESSERA_PLUGINS", folder, 1);
    missing().library = "libnvrtc.so.13";
    EXPECT_EQ(create("backend=cuda statistics=yes", &table, &error), TSR_NO_DEVICE);
    expect_words(error.message, "this table's code was not linked ahead, and libnvrtc.so of the CUDA toolkit 13");
    ASSERT_EQ(create("backend=auto statistics=yes", &table, &error), TSR_OK) << error.message;
    EXPECT_STREQ(info_of(table).backend, "cpu");
    expect_words(info_of(table).backend_reason, "this table's code was not linked ahead");
    tsr_table_destroy(table);
    EXPECT_EQ(fake().contexts, 0);
  });
  EXPECT_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
}

// ---- What is begun ahead -------------------------------------------------------------------------

// The device is held and its code in the cache before there is a table; what was not asked for is not.
TEST(Ahead, TheDeviceIsOpenedAndTheCallsAreLinked) {
  in_a_process([] {
    char folder[] = "/tmp/tessera-ahead.XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    setenv("XDG_CACHE_HOME", folder, 1);
    tsr_spec *spec = spec_of("backend=cuda");
    tsr_options options = {};
    options.plugins = plugin_folders();
    options.capacity = 1; // a table of any size finds the code
    tsr_ahead *ahead = tsr_ahead_begin(spec, &options, TSR_PREPARE_INSERT | TSR_PREPARE_FIND);
    ASSERT_NE(ahead, nullptr);
    tsr_ahead_end(ahead);
    EXPECT_EQ(fake().contexts, 0);
    EXPECT_EQ(fake().links, 0);
    options.capacity = 1000;
    auto is_linked = [&](uint32_t call) {
      tsr_code_cost cost = {};
      cost.size = sizeof cost;
      tsr_error error = {};
      EXPECT_EQ(tsr_spec_prepare(spec, &options, 90, call, &cost, &error), TSR_OK) << error.message;
      return cost.link_ms == 0;
    };
    EXPECT_TRUE(is_linked(TSR_PREPARE_INSERT));
    EXPECT_TRUE(is_linked(TSR_PREPARE_FIND));
    EXPECT_FALSE(is_linked(TSR_PREPARE_ERASE));
    tsr_spec_free(spec);
    EXPECT_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
  });
}

TEST(Ahead, ATableMadeMeanwhileKeepsTheDevice) {
  in_a_process([] {
    tsr_spec *spec = spec_of("backend=cuda");
    tsr_options options = {};
    options.plugins = plugin_folders();
    tsr_ahead *ahead = tsr_ahead_begin(spec, &options, TSR_PREPARE_SIZE);
    tsr_table *table = nullptr;
    tsr_error error = {};
    ASSERT_EQ(create("backend=cuda", &table, &error), TSR_OK) << error.message;
    tsr_ahead_end(ahead);
    EXPECT_EQ(fake().contexts, 1);
    tsr_table_destroy(table);
    EXPECT_EQ(fake().contexts, 0);
    tsr_spec_free(spec);
  });
}

TEST_P(Machines, NothingThatFailsAheadIsHeardOfThen) {
  in_a_process([] {
    tsr_spec *spec = spec_of(std::string("backend=auto") + GetParam().extra);
    tsr_options options = {};
    options.plugins = plugin_folders();
    GetParam().break_it();
    tsr_ahead_end(tsr_ahead_begin(spec, &options, TSR_PREPARE_INSERT | TSR_PREPARE_SIZE));
    EXPECT_EQ(fake().contexts, 0);
    tsr_spec_free(spec);
  });
}

TEST(Ahead, IsNothingForTheCpu) {
  in_a_process([] {
    tsr_spec *spec = spec_of("backend=cpu");
    tsr_options options = {};
    options.plugins = plugin_folders();
    EXPECT_EQ(tsr_ahead_begin(spec, &options, TSR_PREPARE_INSERT), nullptr);
    EXPECT_EQ(tsr_ahead_begin(nullptr, &options, TSR_PREPARE_INSERT), nullptr);
    tsr_ahead_end(nullptr);
    tsr_spec_free(spec);
  });
}

// ---- Where the code cannot be linked ------------------------------------------------------------

struct Linker {
  const char *name;
  void (*break_it)(bool broken);
  tsr_status status;
  const char *sentence;
};
std::ostream &operator<<(std::ostream &out, const Linker &linker) { return out << linker.name; }

const char *long_log() {
  static const std::string log = "error: LTO-IR of version 99.0\nis newer " + std::string(5000, '.');
  return log.c_str();
}

const Linker linkers[] = {
    {"CodeNewerThanTheLinker",
     [](bool broken) { fake().jitlink_log = broken ? "LTO-IR of version 99.0\nis newer than this linker" : nullptr; },
     TSR_LINK_FAILED,
     "failed to add murmur3 (what a newer toolkit has built needs that toolkit: point CUDA_PATH to it): LTO-IR of "
     "version 99.0 is newer than this linker"},
    {"ALongLog", [](bool broken) { fake().jitlink_log = broken ? long_log() : nullptr; }, TSR_LINK_FAILED,
     "failed to add murmur3 (what a newer toolkit has built needs that toolkit: point CUDA_PATH to it): error: LTO-IR "
     "of version 99.0 is newer ..."},
    {"NoLog", [](bool broken) { fake().jitlink_log = broken ? "" : nullptr; }, TSR_LINK_FAILED,
     "failed to add murmur3 (what a newer toolkit has built needs that toolkit: point CUDA_PATH to it): it left no "
     "log"},
    {"GlueThatDoesNotCompile", [](bool broken) { fake().nvrtc_log = broken ? "glue.cu(1): error" : nullptr; },
     TSR_LINK_FAILED, "NVRTC refused the generated glue module: glue.cu(1): error"},
    {"GlueWithALongLog", [](bool broken) { fake().nvrtc_log = broken ? long_log() : nullptr; }, TSR_LINK_FAILED,
     "NVRTC refused the generated glue module: error: LTO-IR of version 99.0 is newer ..."},
    {"ACubinThatIsNone", [](bool broken) { fake().garbage_cubin = broken; }, TSR_LINK_FAILED,
     "nvJitLink made a cubin without tsr_insert_kernel"},
    {"ACubinOfOtherKernels", [](bool broken) { fake().other_kernels = broken; }, TSR_LINK_FAILED,
     "nvJitLink made a cubin without tsr_insert_kernel"},
};

class Linkers : public testing::TestWithParam<Linker> {};

// Code is linked when it is first needed: the insert fails, and the table is as it was.
TEST_P(Linkers, FailTheOperation) {
  for (const char *backend : {"cuda", "auto"})
    in_a_process([&] {
      const std::string words = std::string("backend=") + backend;
      const uint32_t key = 1, value = 2;
      tsr_table *table = nullptr;
      tsr_error error = {};
      tsr_spec *spec = spec_of(words);
      launch_as(spec);
      tsr_spec_free(spec);
      ASSERT_EQ(create(words, &table, &error), TSR_OK) << error.message;
      GetParam().break_it(true);
      for (int again = 0; again < 2; again++) {
        EXPECT_EQ(tsr_insert(table, 1, &key, &value, nullptr, &error), GetParam().status);
        expect_words(error.message, GetParam().sentence);
        EXPECT_LT(strlen(error.message), static_cast<size_t>(TSR_MESSAGE_BYTES));
        EXPECT_EQ(strchr(error.message, '\n'), nullptr);
      }
      GetParam().break_it(false);
      expect_pairs(table, {});
      fill(table, {{key, value}});
      expect_pairs(table, {{key, value}});
      tsr_table_destroy(table);
      EXPECT_EQ(fake().allocations, 0);
      EXPECT_EQ(fake().modules, 0);
      EXPECT_EQ(fake().programs, 0);
      EXPECT_EQ(fake().links, 0);
      EXPECT_EQ(fake().contexts, 0);
      launch_as(nullptr);
    });
}

INSTANTIATE_TEST_SUITE_P(All, Linkers, testing::ValuesIn(linkers),
                         [](const auto &test) { return std::string(test.param.name); });

} // namespace
