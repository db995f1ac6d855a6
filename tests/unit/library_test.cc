// SPDX-License-Identifier: Apache-2.0
//
// Where NVIDIA's libraries are looked for (core/cuda/library.h), if pip has installed them next to Tessera's package.
#include "core/cuda/library.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/spec/home.h"

namespace {

std::string site; // stands for site-packages

TEST(Libraries, OfPipAreFoundNextToThePackage) {
  const char *base = getenv("TEST_TMPDIR");
  site = std::string(base ? base : "/tmp") + "/site.XXXXXX";
  ASSERT_NE(mkdtemp(&site[0]), nullptr);
  std::filesystem::create_directories(site + "/tessera/dist/lib");
  EXPECT_EQ(tsr_cuda_library("libsome_toolkit.so", "13"), nullptr);
  for (auto &[folder, name, release] :
       {std::tuple("cu13", "libsome_toolkit.so", "13"), {"nccl", "libsome_nccl.so", "2"}}) {
    const std::string of_pip = site + "/nvidia/" + folder + "/lib";
    std::filesystem::create_directories(of_pip);
    std::filesystem::copy("hashers/hasher_murmur3.so", of_pip + "/" + name + "." + release);
    EXPECT_EQ(tsr_cuda_library(name, "1"), nullptr);
    void *library = tsr_cuda_library(name, release);
    ASSERT_NE(library, nullptr) << name;
    void *address = nullptr;
    EXPECT_TRUE(tsr_cuda_symbol(library, "tsr_plugin_entry", &address, sizeof address));
  }
  std::filesystem::remove_all(site);
}

} // namespace

extern "C" bool __wrap_tsr_home_path(const char *name, char path[PATH_MAX]) {
  return snprintf(path, PATH_MAX, "%s/tessera/dist/lib/%s", site.c_str(), name) < PATH_MAX;
}
