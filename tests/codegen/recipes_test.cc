// SPDX-License-Identifier: Apache-2.0
//
// Every recipe of specs/, as written and at every other width, links for sm_80 and sm_90 without a GPU: every part is
// inlined, nothing lies on a stack. What the parts refuse they refuse with a sentence. Read next: matrix_test.cc, for
// the tables that no recipe describes.
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "core/kernels/bulk.h"
#include "tests/codegen/linking.h"

namespace {

std::vector<std::string> files_of(const char *pattern) {
  glob_t found;
  std::vector<std::string> files;
  if (glob(pattern, 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return files;
}

std::vector<std::string> recipes() {
  std::vector<std::string> files = files_of("specs/*.ini"), deeper = files_of("specs/*/*.ini");
  files.insert(files.end(), deeper.begin(), deeper.end());
  return files;
}

struct Case {
  std::string recipe;
  bool as_written;
  choices::Widths widths; // unless as_written
  uint32_t sm;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::string &recipe : recipes())
    for (uint32_t sm : {80u, 90u}) {
      all.push_back({recipe, true, {0, 0}, sm});
      for (const choices::Widths &widths : choices::kWidths) all.push_back({recipe, false, widths, sm});
    }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  std::ostringstream name;
  name << info.param.recipe.substr(sizeof "specs/" - 1, info.param.recipe.size() - sizeof "specs/.ini" + 1) << "_";
  if (info.param.as_written)
    name << "as_written";
  else
    name << "k" << info.param.widths.key_bits << "v" << info.param.widths.value_bits;
  name << "_sm" << info.param.sm;
  std::string text = name.str();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char letter) { return !isalnum(letter); }, '_');
  return text;
}

// What all cases came to, said and checked at the end.
class Summary : public testing::Environment {
public:
  void TearDown() override {
    std::cout << linked << " linked, " << refused.size() << " refused\n";
    for (const std::string &sentence : refused) std::cout << "refused: " << sentence << "\n";
    bool all = testing::GTEST_FLAG(filter) == "*";
    EXPECT_TRUE(!all || linked > 0);
    EXPECT_TRUE(!all || !refused.empty());
  }
  size_t linked = 0;
  std::vector<std::string> refused;
};
Summary *const summary = static_cast<Summary *>(testing::AddGlobalTestEnvironment(new Summary));

void PrintTo(const Case &, std::ostream *out) { *out << "a recipe"; }

class Recipe : public testing::TestWithParam<Case> {};

TEST_P(Recipe, P22_P26_Links) {
  tsr_spec *read = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_spec_read(GetParam().recipe.c_str(), &read, &error), TSR_OK) << error.message;
  choices::Spec written(read);
  choices::Entries entries = choices::Entries::of(written.get());
  choices::Widths widths = GetParam().widths;
  if (!GetParam().as_written) entries.set_widths(widths.key_bits, widths.value_bits);
  choices::Spec spec = GetParam().as_written ? std::move(written) : entries.parse();
  ASSERT_TRUE(spec);
  linking::Link link;
  std::string refusal;
  if (!linking::link_spec(spec.get(), GetParam().sm, false, &link, &refusal)) {
    // A recipe may be meant for newer devices, but has to link where it says that it can.
    EXPECT_FALSE(GetParam().as_written && refusal.find("compute capability 9.0") == refusal.npos) << refusal;
    EXPECT_FALSE(GetParam().as_written && GetParam().sm >= 90) << refusal;
    summary->refused.push_back(name_of({GetParam(), 0}) + ": " + refusal);
    return;
  }
  summary->linked++;
  linking::expect_sound(link.link, linking::operations_of(spec.get(), GetParam().sm),
                        linking::registers_allowed(spec.get(), GetParam().sm));
}

INSTANTIATE_TEST_SUITE_P(All, Recipe, testing::ValuesIn(cases()), name_of);

// nvJitLink keeps a kernel whose name contains that of a wanted one.
TEST(Kernels, HaveNamesThatDoNotContainEachOther) {
#define KERNEL_NAMES(op) TSR_BULK_KERNEL_NAME(op) TSR_BULK_MEDIUM_NAME(op) TSR_BULK_ROOMY_NAME(op)
  const std::vector<std::string> names = {TSR_BULK_OPS(KERNEL_NAMES)};
  for (const std::string &one : names)
    for (const std::string &other : names)
      EXPECT_TRUE(one == other || one.find(other) == std::string::npos) << one << " " << other;
}

extern "C" const tsr_image tsr_scan_images[];

TEST(Kernels, OfThePrefixSumLink) {
  const char *const names[] = {"tsr_scan_totals", "tsr_scan_tiles"};
  tsr_kernels kernels = {names, 2, tsr_scan_images[0].device, tsr_scan_images[0].device_bytes, {}};
  for (uint32_t sm : {80u, 90u, 100u}) {
    linking::Link link;
    tsr_error error = {};
    ASSERT_EQ(tsr_cuda_link(nullptr, 0, &kernels, sm, false, &link.link, &error), TSR_OK) << error.message;
    if (sm < 90) link.link.other_functions = 0; // ptxas's, for the shuffles of CUB
    linking::expect_sound(link.link, 2, 255);
  }
}

TEST(Recipes, AreFound) {
  EXPECT_GE(recipes().size(), 8u);
  EXPECT_FALSE(files_of("specs/speed/*.ini").empty());
}

} // namespace
