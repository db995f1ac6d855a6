// SPDX-License-Identifier: Apache-2.0
//
// Code that was linked ahead, without a GPU: a table takes it without the CUDA toolkit, on each GPU of its major number, and it
// is what a link makes. The toolkit is hidden from this process; a child of it, `linked_test --write`, links.
#include <dlfcn.h>
#include <glob.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/cuda/linked.h"
#include "core/kernels/bulk.h"
#include "core/kernels/scan.h"
#include "core/table/steps.h"
#include "tests/codegen/linking.h"
#include "tools/ahead/linked_file.h"

namespace {

bool hides_toolkit = true;

// One that links fast.
choices::Choice choice(uint32_t sm = 80, uint32_t bucket_slots = 4) {
  return {"soa", "linear", "multiply_shift", "promise_unique", "phased", "no", bucket_slots, 1, 32, 0, sm, 0};
}

std::string read_file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

std::string folder() {
  static const std::string made = [] {
    const char *base = getenv("TEST_TMPDIR");
    std::string pattern = std::string(base ? base : "/tmp") + "/ahead.XXXXXX";
    return std::string(mkdtemp(&pattern[0]));
  }();
  return made;
}

tsr_status link(const choices::Choice &what, linking::Link *made, tsr_error *error, bool use_cache = true) {
  tsr_status status;
  linking::Composed composed(what.entries().parse().get(), what.sm, &status, error);
  if (status) return status;
  return tsr_cuda_link_step(composed.composition, TSR_BULK_STEP(TSR_BULK_size), use_cache, &made->link, error);
}

// Links an operation and a set for sm_80, and writes them to OUT/linked.cubins; the cubins also to OUT/size and OUT/scan. Then
// with a damaged file the code is linked as well.
int write(const std::string &out) {
  tsr_error error = {};
  tsr_status status;
  linking::Link size, scan;
  hides_toolkit = false;
  setenv("XDG_CACHE_HOME", "/dev/null/cache", 1);
  linking::Composed composed(choice().entries().parse().get(), 80, &status, &error);
  std::vector<tsr_linked_cubin> cubins(2);
  if (status == TSR_OK) status = link(choice(), &size, &error, false);
  if (status == TSR_OK) status = tsr_cuda_link_set(&tsr_scan_steps, 80, false, &scan.link, &error);
  if (status == TSR_OK)
    status = tsr_cuda_ahead_key(composed.composition, TSR_BULK_STEP(TSR_BULK_size), &cubins[0].key, &error);
  if (status) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  cubins[1].key = tsr_cuda_ahead_key_of_set(&tsr_scan_steps, 80);
  const linking::Link *const links[] = {&size, &scan};
  for (int i = 0; i < 2; i++) {
    cubins[i].sm = 80;
    cubins[i].cubin = links[i]->link.cubin;
    cubins[i].bytes = links[i]->link.cubin_bytes;
  }
  std::ofstream(out + "/size", std::ios::binary) << size.cubin();
  std::ofstream(out + "/scan", std::ios::binary) << scan.cubin();
  if (tsr_linked_write((out + "/linked.cubins").c_str(), cubins.data(), 2)) return 1;
  std::string damaged = read_file(out + "/linked.cubins");
  damaged[damaged.size() - 50] ^= 1;
  const std::string other = out + "/damaged";
  if (system(("mkdir " + other).c_str())) return 1;
  std::ofstream(other + "/linked.cubins", std::ios::binary) << damaged;
  setenv("TESSERA_PLUGINS", (other + ":" + choices::plugin_folders()).c_str(), 1);
  linking::Link again;
  status = link(choice(), &again, &error);
  if (status) fprintf(stderr, "%s\n", error.message);
  const bool is_told = strstr(tsr_linked_fault(), "damaged");
  return status == TSR_OK && !again.link.ahead && again.cubin() == size.cubin() && is_told ? 0 : 1;
}

class LinkedAhead : public testing::Test {
protected:
  static void SetUpTestSuite() {
    const std::string line = "'" + own_path() + "' --write '" + folder() + "'";
    ASSERT_EQ(system(line.c_str()), 0);
    setenv("XDG_CACHE_HOME", (folder() + "/cache").c_str(), 1);
    setenv("TESSERA_PLUGINS", (folder() + ":" + choices::plugin_folders()).c_str(), 1);
  }
  static std::string own_path() {
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    return std::string(path, static_cast<size_t>(length));
  }
  void expect_toolkit(tsr_status status) const {
    EXPECT_EQ(status, TSR_NOT_FOUND);
    EXPECT_NE(std::string(error_.message).find("of the CUDA toolkit 13 is not on the loader's path"), std::string::npos)
        << error_.message;
  }
  tsr_error error_ = {};
};

TEST_F(LinkedAhead, NeedsNoToolkitOnAnyGpuOfItsMajorNumber) {
  for (uint32_t sm : {80u, 86u, 89u}) {
    linking::Link made;
    ASSERT_EQ(link(choice(sm), &made, &error_), TSR_OK) << error_.message;
    EXPECT_TRUE(made.link.ahead && !made.link.cached);
    EXPECT_EQ(made.link.link_ms, 0);
    EXPECT_EQ(made.link.kernel_count, 1u);
    EXPECT_TRUE(made.cubin() == read_file(folder() + "/size")) << sm;
    linking::Link scan;
    ASSERT_EQ(tsr_cuda_link_set(&tsr_scan_steps, sm, true, &scan.link, &error_), TSR_OK) << error_.message;
    EXPECT_TRUE(scan.cubin() == read_file(folder() + "/scan")) << sm;
  }
}

TEST_F(LinkedAhead, IsForNoOtherTableOrGpu) {
  for (const choices::Choice &what : {choice(90), choice(87), choice(80, 8)}) {
    linking::Link made;
    expect_toolkit(link(what, &made, &error_));
  }
  linking::Link asked_to_link;
  expect_toolkit(link(choice(), &asked_to_link, &error_, false));
}

// A table is made where its code is there, and refused before its memory is allocated where it is not.
TEST_F(LinkedAhead, IsAskedForWhenATableIsMade) {
  tsr_status status;
  linking::Composed there(choice(89).entries().parse().get(), 89, &status, &error_);
  ASSERT_EQ(status, TSR_OK);
  EXPECT_EQ(tsr_cuda_can_make(there.composition, TSR_BULK_STEP(TSR_BULK_size), &error_), TSR_OK);
  EXPECT_EQ(tsr_cuda_can_make(there.composition, TSR_BULK_STEP(TSR_BULK_find), &error_), TSR_NO_DEVICE);
  EXPECT_NE(std::string(error_.message).find("this table's code was not linked ahead, and libnvrtc.so"),
            std::string::npos)
      << error_.message;
  EXPECT_EQ(tsr_cuda_has_code(&error_), TSR_OK);
  setenv("TESSERA_PLUGINS", choices::plugin_folders().c_str(), 1);
  expect_toolkit(tsr_cuda_has_code(&error_));
  setenv("TESSERA_PLUGINS", (folder() + ":" + choices::plugin_folders()).c_str(), 1);
}

// One architecture serves all GPUs of its major number: what is generated for a recipe depends on no more than that.
TEST_F(LinkedAhead, CodeOfRecipesDependsOnTheMajorNumberAlone) {
  glob_t found;
  ASSERT_EQ(glob("specs/*.ini", 0, nullptr, &found), 0);
  size_t compared = 0;
  for (size_t i = 0; i < found.gl_pathc; i++) {
    tsr_spec *read = nullptr;
    ASSERT_EQ(tsr_spec_read(found.gl_pathv[i], &read, &error_), TSR_OK) << error_.message;
    choices::Spec spec(read);
    for (auto &[first, other] : {std::pair(80u, 86u), {80u, 89u}, {90u, 90u}, {100u, 103u}, {120u, 121u}}) {
      tsr_status status, other_status;
      linking::Composed one(spec.get(), first, &status, &error_), two(spec.get(), other, &other_status, &error_);
      if (status || other_status) continue; // a GPU without 128-bit swaps
      tsr_step_list steps = {}, other_steps = {};
      tsr_steps_of_calls(one.composition, TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_CONTAINS, &steps);
      tsr_steps_of_calls(two.composition, TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_CONTAINS, &other_steps);
      for (uint32_t k = 0; k < steps.count; k++) {
        tsr_cache_key key, other_key;
        ASSERT_EQ(tsr_cuda_ahead_key(one.composition, steps.step[k], &key, &error_), TSR_OK);
        ASSERT_EQ(tsr_cuda_ahead_key(two.composition, steps.step[k], &other_key, &error_), TSR_OK);
        EXPECT_EQ(tsr_linked_compare(&key, &other_key), 0)
            << found.gl_pathv[i] << ", " << steps.step[k]->kernel << ", " << other;
        compared++;
      }
    }
  }
  globfree(&found);
  EXPECT_GT(compared, 500u);
}

} // namespace

extern "C" {
void *__real_dlopen(const char *path, int flags);
void *__wrap_dlopen(const char *path, int flags) {
  const bool is_toolkit = path && (strstr(path, "nvrtc") || strstr(path, "nvJitLink"));
  return __real_dlopen(is_toolkit && hides_toolkit ? "/nonexistent/library.so" : path, flags);
}
}

int main(int count, char **arguments) {
  if (count == 3 && strcmp(arguments[1], "--write") == 0) return write(arguments[2]);
  testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
