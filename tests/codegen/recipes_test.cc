// SPDX-License-Identifier: Apache-2.0
//
// Every recipe of specs/ links without a GPU: every part is inlined, nothing is on a stack. The first recipe with its parts
// links inserts, finds, erases and by turns one half of the other operations for sm_90, and inserts and finds for sm_80; the
// others link inserts and finds for sm_90. With TSR_TEST_ALL=1 the first links all operations, and each of these erases as
// well. The first with its pages and filter links the steps of batches, each second one by turns. At the other widths a
// recipe composes, or the parts refuse it with a sentence. Read next: matrix_test.cc, for the tables that no recipe describes,
// and all operations of sm_80; pages_test.cc, for batches.
#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "core/batch/steps.h"
#include "core/kernels/bulk.h"
#include "core/kernels/pool.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

using tessera_test::tests_all;

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

// Whether no recipe before this one, by name, says the same of these things.
bool is_first_with(const std::string &recipe, const std::vector<const char *> &keys) {
  auto said_by = [&keys](const std::string &file) {
    const choices::Entries entries = choices::Entries::of(read(file).get());
    std::string said;
    for (const char *key : keys) said += entries.get(strcmp(key, "version") == 0 ? "probing" : "table", key) + ",";
    return said;
  };
  const std::vector<std::string> all = recipes();
  const std::string said = said_by(recipe);
  return recipe == *std::find_if(all.begin(), all.end(), [&](const std::string &one) { return said_by(one) == said; });
}

bool has_parts_of_its_own(const std::string &recipe) {
  return is_first_with(recipe, {"layout", "probing", "concurrency", "value_bytes"});
}

bool has_batches_of_its_own(const std::string &recipe) {
  return is_first_with(recipe, {"layout", "probing", "page_bytes", "filter", "version"});
}

// The first operations: insert and find; insert, find, contains and erase.
constexpr uint32_t kFew = TSR_BULK_find + 1, kOfAllTables = TSR_BULK_erase + 1;

bool has_second_turn(const std::string &recipe) {
  const std::vector<std::string> all = recipes();
  return (std::find(all.begin(), all.end(), recipe) - all.begin()) % 2;
}

// Of the operations behind those, the half whose turn it is, or all: mixed batches where the table has them.
void link_others(const std::string &recipe, const tsr_spec *spec, const tsr_shape &shape, linking::Links *links) {
  const uint32_t all = static_cast<uint32_t>(TSR_BULKS_OF(&shape)), second = TSR_BULK_note;
  const bool is_second = all > TSR_BULK_apply || has_second_turn(recipe);
  const uint32_t first = is_second && !tests_all() ? second : kOfAllTables,
                 end = is_second || tests_all() ? all : second;
  if (all <= kOfAllTables) return; // a filter
  ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec, 90, first, end - first, links));
}

class Recipe : public testing::TestWithParam<Case> {};

TEST_P(Recipe, P22_P26_Links) {
  auto [recipe, sm] = GetParam();
  choices::Spec spec = read(recipe);
  ASSERT_TRUE(spec);
  linking::Links links;
  tsr_status status;
  tsr_error error = {};
  linking::Composed composed(spec.get(), sm, &status, &error);
  if (status && sm < 90) {
    // A recipe may be meant for newer devices, but has to link where it says that it can.
    linking::expect_refusal(status, error);
    EXPECT_NE(std::string(error.message).find("compute capability 9.0"), std::string::npos) << error.message;
    return;
  }
  ASSERT_EQ(status, TSR_OK) << error.message;
  const bool is_new = has_parts_of_its_own(recipe);
  if (!is_new && sm < 90) return;
  const uint32_t operations = (is_new && sm == 90) || tests_all() ? kOfAllTables : kFew;
  ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec.get(), sm, TSR_BULK_insert, operations, &links));
  if (is_new && sm == 90) {
    linking::Links others;
    ASSERT_NO_FATAL_FAILURE(link_others(recipe, spec.get(), composed.composition->shape, &others));
    linking::expect_sound(others, linking::registers_allowed(spec.get(), sm));
  }
  if (sm == 90 && has_batches_of_its_own(recipe)) {
    const uint32_t first = !tests_all() && has_second_turn(recipe), stride = tests_all() ? 1 : 2;
    ASSERT_NO_FATAL_FAILURE(linking::link_steps(spec.get(), sm, &links, first, stride));
  }
  linking::expect_sound(links, linking::registers_allowed(spec.get(), sm));
}

INSTANTIATE_TEST_SUITE_P(All, Recipe, testing::ValuesIn(cases()), name_of);

// Registers that were measured to be worth 2 to 20 % of the speed (core/design/0008-tiles-in-step.md), on sm_90.
TEST(Recipes, KeepRegistersThatWereMeasured) {
  const struct {
    const char *recipe;
    uint32_t operation, registers;
  } kept[] = {{"specs/best_build.ini", TSR_BULK_insert, 48},      {"specs/best_build_64.ini", TSR_BULK_insert, 48},
              {"specs/best_build_64.ini", TSR_BULK_erase, 48},    {"specs/linear.ini", TSR_BULK_insert, 48},
              {"specs/slab_hash_mixed.ini", TSR_BULK_insert, 64}, {"specs/slab_hash_mixed.ini", TSR_BULK_apply, 64}};
  for (const auto &one : kept) {
    linking::Link link;
    ASSERT_NO_FATAL_FAILURE(
        linking::link_operation(read(one.recipe).get(), 90, one.operation, &link, linking::keeps_links()));
    EXPECT_LE(link.link.kernels[0].registers, one.registers) << one.recipe << ": " << link.link.kernels[0].name;
  }
}

// Loops that tiles of a flagged bucket run together keep one way back below sm_90, where ptxas does not see otherwise that
// all lanes meet again (core/design/0008-tiles-in-step.md). The recipes have one lane, and the matrix covers pairs of
// options: of layout, lanes and device all three count here.
TEST(Recipes, OfFlaggedBucketsLinkForTilesBelowSm90) {
  for (const char *recipe : {"specs/flagged.ini", "specs/flagged_negative.ini"})
    for (const char *lanes : {"2", "4"}) {
      if (!tessera_test::has_turn(recipe == std::string("specs/flagged.ini"), *lanes == '2')) continue;
      SCOPED_TRACE(std::string(recipe) + ", tile_lanes = " + lanes);
      choices::Entries entries = choices::Entries::of(read(recipe).get());
      entries.set("layout", "tile_lanes", lanes);
      choices::Spec spec = entries.parse();
      ASSERT_TRUE(spec);
      linking::Links links;
      ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec.get(), 80, TSR_BULK_insert, kOfAllTables, &links));
      linking::expect_sound(links, linking::registers_allowed(spec.get(), 80));
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
