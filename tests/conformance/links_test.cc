// SPDX-License-Identifier: Apache-2.0
//
// Level 6: the device code of one plugin, linked at every width for two GPUs, without one. The quick level links its
// narrowest and its widest pairs alone. Where all plugins are under test tests/codegen links the recipes instead. Read
// next: stress_test.cc.
#include <sstream>

#include "core/cuda/link.h"
#include "core/tessera_tools.h"
#include "tests/conformance/kit.h"

namespace tessera_test {
namespace {

class OnLinks : public OnPlugin {};

std::vector<PluginFile> linked_subjects() { return is_one_plugin() ? subjects() : std::vector<PluginFile>(); }

// What is wrong with a link: a kernel's stack, functions beside the kernels.
void expect_sound(const tsr_link &link) {
  for (size_t i = 0; i < link.kernel_count; i++)
    EXPECT_EQ(link.kernels[i].stack_bytes, 0u)
        << link.kernels[i].name << " has a stack of " << link.kernels[i].stack_bytes
        << " bytes: registers are indexed by constants after unrolling (P-26), and what is decided in a loop of "
           "collectives is kept by x = p ? a : x (P-22)";
  EXPECT_EQ(link.other_functions, 0u)
      << link.other_functions
      << " functions beside the kernels: a division by a variable is one, a hash becomes "
         "an index by tsr_reduce alone (P-26); so is what was not inlined (P-22)";
}

TEST_P(OnLinks, P22_P26_NoStackAndNoFunctionBesideTheKernels) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  tsr_error error = {};
  if (!plugin->images[0].device) GTEST_SKIP() << GetParam() << " was built without nvcc: it has no device code to link";
  if (tsr_cuda_linker(&error)) GTEST_SKIP() << "device code cannot be linked here: " << error.message;
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  for (uint32_t sm : {80u, 90u}) {
    std::vector<Recipe> recipes = all_recipes(GetParam(), sm);
    if (level() == "quick" && recipes.size() > 2) recipes = {recipes.front(), recipes.back()};
    for (const Recipe &recipe : recipes) {
      std::ostringstream text;
      text << "sm_" << sm << "\n" << recipe;
      SCOPED_TRACE(text.str());
      tsr_link link = {};
      ASSERT_EQ(tsr_spec_link(spec_of(recipe).get(), &options, sm, false, &link, &error), TSR_OK) << error.message;
      expect_sound(link);
      tsr_link_free(&link);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Kit, OnLinks, testing::ValuesIn(linked_subjects()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnLinks);

} // namespace
} // namespace tessera_test
