// SPDX-License-Identifier: Apache-2.0
//
// Every recipe of specs/ links without a GPU, for sm_90 all that it has, for sm_80 inserts, finds and erases: every part is
// inlined, nothing is on a stack. At the other widths it composes, or the parts refuse it with a sentence. Read next:
// matrix_test.cc, for the tables that no recipe describes, and all operations of sm_80.
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "core/batch/steps.h"
#include "core/kernels/bulk.h"
#include "core/kernels/pool.h"
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

choices::Spec read(const std::string &recipe) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_read(recipe.c_str(), &spec, &error), TSR_OK) << error.message;
  return choices::Spec(spec);
}

struct Case {
  std::string recipe;
  uint32_t sm;
};

std::vector<Case> cases() {
  std::vector<Case> all; // shards take turns, so neighbours are alike: sm_90 takes three times as long
  for (uint32_t sm : {90u, 80u})
    for (const std::string &recipe : recipes()) all.push_back({recipe, sm});
  return all;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const std::string &recipe = info.param.recipe;
  std::string text = recipe.substr(sizeof "specs/" - 1, recipe.size() - sizeof "specs/.ini" + 1);
  text += "_sm" + std::to_string(info.param.sm);
  std::replace_if(
      text.begin(), text.end(), [](unsigned char letter) { return !isalnum(letter); }, '_');
  return text;
}

void PrintTo(const Case &, std::ostream *out) { *out << "a recipe"; }

// Registers that were measured to be worth 2 to 20 % of the speed (core/design/0008-tiles-in-step.md), on sm_90.
const struct {
  const char *recipe, *operation;
  uint32_t registers;
} kKept[] = {{"specs/best_build.ini", "insert", 48},      {"specs/best_build_64.ini", "insert", 48},
             {"specs/best_build_64.ini", "erase", 48},    {"specs/linear.ini", "insert", 48},
             {"specs/slab_hash_mixed.ini", "insert", 64}, {"specs/slab_hash_mixed.ini", "apply", 64}};

void expect_kept(const std::string &recipe, const tsr_link &link) {
  for (const auto &kept : kKept)
    for (size_t i = 0; recipe == kept.recipe && i < link.kernel_count; i++)
      if (linking::is_form_of(link.kernels[i].name, kept.operation)) {
        EXPECT_LE(link.kernels[i].registers, kept.registers) << link.kernels[i].name;
      }
}

// insert, find, contains and erase, the first operations
constexpr uint32_t kOfAllTables = TSR_BULK_erase + 1;

class Recipe : public testing::TestWithParam<Case> {};

TEST_P(Recipe, P22_P26_Links) {
  choices::Spec spec = read(GetParam().recipe);
  ASSERT_TRUE(spec);
  linking::Link link;
  if (GetParam().sm == 90) {
    std::string refusal;
    ASSERT_TRUE(linking::link_spec(spec.get(), 90, linking::keeps_links(), &link, &refusal)) << refusal;
    linking::expect_sound(link.link, linking::operations_of(spec.get(), 90),
                          linking::registers_allowed(spec.get(), 90));
    expect_kept(GetParam().recipe, link.link);
    return;
  }
  tsr_status status;
  tsr_error error = {};
  linking::Composed composed(spec.get(), GetParam().sm, &status, &error);
  if (status) {
    // A recipe may be meant for newer devices, but has to link where it says that it can.
    linking::expect_refusal(status, error);
    EXPECT_NE(std::string(error.message).find("compute capability 9.0"), std::string::npos) << error.message;
    return;
  }
  ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec.get(), GetParam().sm, TSR_BULK_insert, kOfAllTables, &link,
                                                   linking::keeps_links()));
  linking::expect_sound(link.link, link.link.kernel_count, linking::registers_allowed(spec.get(), GetParam().sm));
}

INSTANTIATE_TEST_SUITE_P(All, Recipe, testing::ValuesIn(cases()), name_of);

// Loops that tiles of a flagged bucket run together keep one way back below sm_90, where ptxas does not see otherwise that
// all lanes meet again (core/design/0008-tiles-in-step.md). The recipes have one lane, and the matrix covers pairs of
// options: of layout, lanes and device all three count here.
TEST(Recipes, OfFlaggedBucketsLinkForTilesBelowSm90) {
  for (const char *recipe : {"specs/flagged.ini", "specs/flagged_negative.ini"})
    for (const char *lanes : {"2", "4"}) {
      SCOPED_TRACE(std::string(recipe) + ", tile_lanes = " + lanes);
      choices::Entries entries = choices::Entries::of(read(recipe).get());
      entries.set("layout", "tile_lanes", lanes);
      choices::Spec spec = entries.parse();
      ASSERT_TRUE(spec);
      linking::Link link;
      ASSERT_NO_FATAL_FAILURE(
          linking::link_operations(spec.get(), 80, TSR_BULK_insert, kOfAllTables, &link, linking::keeps_links()));
      linking::expect_sound(link.link, kOfAllTables, linking::registers_allowed(spec.get(), 80));
    }
}

// What links at the other widths is shown by matrix_test.
TEST(Recipes, ComposeAtOtherWidthsOrSayWhyNot) {
  uint64_t composed = 0, refused = 0;
  for (const std::string &recipe : recipes())
    for (const choices::Widths &widths : choices::kWidths)
      for (uint32_t sm : {80u, 90u}) {
        choices::Entries entries = choices::Entries::of(read(recipe).get());
        entries.set_widths(widths.key_bits, widths.value_bits);
        choices::Spec spec = entries.parse();
        ASSERT_TRUE(spec) << recipe;
        SCOPED_TRACE(recipe + ", " + std::to_string(widths.key_bits) + " and " + std::to_string(widths.value_bits) +
                     " bits, sm_" + std::to_string(sm));
        tsr_status status;
        tsr_error error = {};
        linking::Composed composition(spec.get(), sm, &status, &error);
        composed += status == TSR_OK;
        if (status == TSR_OK) continue;
        refused++;
        linking::expect_refusal(status, error);
        std::cout << "refused: " << error.message << "\n";
      }
  std::cout << composed << " composed, " << refused << " refused\n";
  EXPECT_GT(composed, 0u);
  EXPECT_GT(refused, 0u);
}

// nvJitLink keeps a kernel whose name contains that of a wanted one.
TEST(Kernels, HaveNamesThatDoNotContainEachOther) {
  std::vector<std::string> names;
  for (const tsr_steps *set : {&tsr_bulk_steps, &tsr_pages_steps, &tsr_pool_steps})
    for (const tsr_step *step = set->step; step < set->step + set->count; step++) {
      names.push_back(step->kernel);
      for (const char *form : step->roomier)
        if (form) names.push_back(form);
    }
  for (const std::string &one : names)
    for (const std::string &other : names)
      EXPECT_TRUE(one == other || one.find(other) == std::string::npos) << one << " " << other;
}

TEST(Recipes, AreFound) {
  EXPECT_GE(recipes().size(), 8u);
  EXPECT_FALSE(files_of("specs/speed/*.ini").empty());
}

} // namespace
