// SPDX-License-Identifier: Apache-2.0
//
// The steps of a batch that is inserted page by page, linked for tables of all parts: no stack, no function beside the
// kernel, and no access to the table's memory from what works on a page.
#include <gtest/gtest.h>

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

enum { kPageBytes = 64 << 10 };

bool accepts(const choices::Choice &choice) {
  choices::Choice paged = choice;
  paged.page_bytes = kPageBytes;
  choices::Spec spec = paged.entries().parse();
  tsr_status status;
  tsr_error error = {};
  linking::Composed composed(spec.get(), choice.sm, &status, &error);
  return status == TSR_OK;
}

std::vector<choices::Choice> tables() {
  choices::Options options = choices::Options::all();
  options.shapes = {{4, 1}, {8, 8}, {16, 4}};
  options.widths = {{32, 32}, {64, 64}};
  options.duplicates = {"first", "add", "promise_unique"};
  options.sms = {90};
  options.hashers = {"murmur3"};
  options.concurrencies = {"phased"};
  options.statistics = {"no", "yes"};
  options.filters = {0};
  options.is_linked_only = true;
  std::vector<choices::Choice> chosen = choices::cover_pairs(options, accepts);
  for (choices::Choice &choice : chosen) choice.page_bytes = kPageBytes;
  return chosen;
}

std::string name_of(const testing::TestParamInfo<choices::Choice> &info) { return info.param.name(); }

void expect_steps_link(const tsr_composition *table, const std::vector<const tsr_step *> &steps) {
  linking::Links made;
  SCOPED_TRACE("for sm_" + std::to_string(table->shape.sm));
  ASSERT_NO_FATAL_FAILURE(linking::link_steps(table, steps, &made));
  for (size_t i = 0; i < steps.size(); i++) {
    SCOPED_TRACE(steps[i]->kernel);
    const tsr_link &link = made.alone[i]->link;
    ASSERT_EQ(link.kernel_count, 1u);
    EXPECT_EQ(link.other_functions, 0u);
    EXPECT_EQ(link.kernels[0].stack_bytes, 0u);
  }
}

const tsr_step *step_of_pages(uint32_t number) { return &tsr_pages_steps.step[number]; }

class Pages : public testing::TestWithParam<choices::Choice> {};

TEST_P(Pages, StepsLink) {
  choices::Spec spec = GetParam().entries().parse();
  tsr_status status;
  tsr_error error = {};
  linking::Composed composed(spec.get(), GetParam().sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  std::vector<const tsr_step *> steps = {step_of_pages(TSR_PAGES_insert), step_of_pages(TSR_PAGES_rest),
                                         step_of_pages(TSR_PAGES_spilled)};
  if (tsr_plan_has_step(composed.composition, TSR_PAGES_unordered)) {
    steps.push_back(step_of_pages(TSR_PAGES_judge));
    steps.push_back(step_of_pages(TSR_PAGES_unordered));
  }
  expect_steps_link(composed.composition, steps);
}

INSTANTIATE_TEST_SUITE_P(All, Pages, testing::ValuesIn(tables()), name_of);

// Steps in which no part has a say: those of a table from `first` to `last` that it has, of which these two must be.
void expect_steps_link(choices::Choice choice, const char *setting, uint32_t first, uint32_t last) {
  for (uint32_t sm : {80u, 90u})
    for (uint32_t bits : {32u, 64u}) {
      if (bits == (sm == 80 ? 64u : 32u)) continue; // pairs of 128 bits; each target and each width once
      choice.key_bits = choice.value_bits = bits;
      choice.sm = sm;
      SCOPED_TRACE(choice.name());
      choices::Spec spec = choice.entries().parse();
      tsr_status status;
      tsr_error error = {};
      if (setting) {
        ASSERT_EQ(tsr_spec_set(spec.get(), setting, &error), TSR_OK) << error.message;
      }
      linking::Composed composed(spec.get(), sm, &status, &error);
      ASSERT_EQ(status, TSR_OK) << error.message;
      EXPECT_TRUE(tsr_plan_has_step(composed.composition, first));
      EXPECT_TRUE(tsr_plan_has_step(composed.composition, last));
      std::vector<const tsr_step *> steps;
      for (uint32_t step = first; step <= last; step++)
        if (tsr_plan_has_step(composed.composition, step)) steps.push_back(step_of_pages(step));
      expect_steps_link(composed.composition, steps);
    }
}

TEST(StepsOfOneTable, OfPagesLink) {
  choices::Choice choice = {"packed", "cuckoo", "murmur3", "add", "phased", "no", 8, 8, 32, 32, 90, 8};
  choice.page_bytes = kPageBytes;
  expect_steps_link(choice, nullptr, TSR_PAGES_count, TSR_PAGES_rest_combine);
}

// Each hasher with the steps that have no further variant for one that takes more registers.
TEST(StepsOfOneTable, OfPagesLinkWithEachHasher) {
  uint32_t turn = 0;
  for (const std::string &hasher : choices::plugins_of("hasher"))
    for (uint32_t sm : {80u, 90u})
      for (uint32_t bits : {32u, 64u}) {
        const uint32_t each = turn++; // of the four, one for each hasher, and the next one for the next
        if (each % 4 != each / 4 % 4 && !tessera_test::tests_all()) continue;
        choices::Choice choice = {"packed", "cuckoo", hasher, "add", "phased", "no", 8, 8, bits, bits, sm, 8};
        if (sm == 80 && bits == 64) choice.layout = "soa", choice.probing = "linear"; // no atomics of 128 bits
        choice.page_bytes = kPageBytes;
        SCOPED_TRACE(choice.name());
        choices::Spec spec = choice.entries().parse();
        tsr_status status;
        tsr_error error = {};
        linking::Composed composed(spec.get(), sm, &status, &error);
        ASSERT_EQ(status, TSR_OK) << error.message;
        std::vector<const tsr_step *> steps;
        for (uint32_t step : {TSR_PAGES_count, TSR_PAGES_count_pages, TSR_PAGES_scatter, TSR_PAGES_distinct,
                              TSR_PAGES_merge, TSR_PAGES_rest, TSR_PAGES_spilled, TSR_PAGES_rest_combine})
          if (tsr_plan_has_step(composed.composition, step)) steps.push_back(step_of_pages(step));
        ASSERT_GE(steps.size(), 6u);
        expect_steps_link(composed.composition, steps);
      }
}

TEST(StepsOfOneTable, OfAFilterLinks) {
  choices::Choice choice = {"packed", "linear", "murmur3", "first", "phased", "no", 8, 1, 32, 32, 90, 0};
  choice.page_bytes = kPageBytes;
  choice.filter = 8;
  expect_steps_link(choice, nullptr, TSR_PAGES_mark, TSR_PAGES_mark);
}

// Where a tile's items move, and what is done to keys that repeat meanwhile.
TEST(StepsOfOneTable, ScatterLinksForEveryPolicy) {
  for (const char *policy : {"first", "replace", "add", "min", "max", "promise_unique"}) {
    choices::Choice choice = {"aos", "linear", "murmur3", policy, "phased", "no", 8, 1, 32, 32, 90, 0};
    choice.page_bytes = kPageBytes;
    expect_steps_link(choice, nullptr, TSR_PAGES_scatter, TSR_PAGES_scatter);
  }
}

// What is combined before an insert by random access. Each target and pair of widths has one policy, unless all are wanted.
TEST(StepsOfOneTable, SpansLinkForAllWidths) {
  size_t turn = 0, policy_turn = 0;
  for (const char *policy : {"add", "min", "replace"}) {
    turn = policy_turn++;
    for (uint32_t sm : {80u, 90u})
      for (uint32_t key_bits : {32u, 64u})
        for (uint32_t value_bits : {32u, 64u}) {
          if (sm == 80 && key_bits + value_bits > 64) continue; // pairs of 128 bits
          if (turn++ % 3 && !tessera_test::tests_all()) continue;
          const choices::Choice choice = {"packed", "linear", "murmur3", policy,     "phased", "no",
                                          8,        1,        key_bits,  value_bits, sm,       0};
          choices::Spec spec = choice.entries().parse();
          tsr_status status;
          tsr_error error = {};
          ASSERT_EQ(tsr_spec_set(spec.get(), "table.growth=double", &error), TSR_OK) << error.message;
          linking::Composed composed(spec.get(), sm, &status, &error);
          ASSERT_EQ(status, TSR_OK) << error.message;
          SCOPED_TRACE(choice.name());
          for (uint32_t step : {TSR_PAGES_spans, TSR_PAGES_spans_list})
            ASSERT_TRUE(tsr_plan_has_step(composed.composition, step));
          expect_steps_link(composed.composition,
                            {step_of_pages(TSR_PAGES_spans), step_of_pages(TSR_PAGES_spans_list)});
        }
  }
}

// Each hasher for one target and width, of which each comes up with several hashers. The steps that call no hasher are linked
// once for each.
TEST(StepsOfOneTable, OfZonesLink) {
  uint32_t turn = 0;
  for (const std::string &hasher : choices::plugins_of("hasher")) {
    const uint32_t sm = turn % 2 ? 80 : 90, bits = turn / 2 % 2 ? 64 : 32;
    turn++;
    choices::Choice choice = {"soa", "linear", hasher, "first", "phased", "no", 8, 1, bits, bits, sm, 0};
    choice.page_bytes = kPageBytes;
    SCOPED_TRACE(choice.name());
    tsr_status status;
    tsr_error error = {};
    choices::Spec spec = choice.entries().parse();
    linking::Composed composed(spec.get(), sm, &status, &error);
    ASSERT_EQ(status, TSR_OK) << error.message;
    ASSERT_TRUE(tsr_plan_has_zones(composed.composition, TSR_BULK_find));
    const bool all = turn <= 4 || tessera_test::tests_all();
    std::vector<const tsr_step *> steps;
    for (uint32_t step = 0; step < (all ? TSR_ZONE_STEP_COUNT : TSR_ZONE_scatter + 1); step++)
      steps.push_back(&tsr_zone_steps.step[step]);
    expect_steps_link(composed.composition, steps);
  }
}

// Each hasher, and each target: a hasher's registers are what a kernel that holds a tile may not have left.
TEST(StepsOfOneTable, OfListsLink) {
  bool is_first = true;
  for (const std::string &hasher : choices::plugins_of("hasher")) {
    choices::Choice choice = {"aos", "hashgraph", hasher, "promise_unique", "phased", "no", 1, 1, 32, 32, 90, 8};
    expect_steps_link(choice, nullptr, TSR_PAGES_lists, TSR_PAGES_large_place);
    choice.layout = "packed";
    if (is_first) expect_steps_link(choice, "probing.version=1", TSR_PAGES_any_count, TSR_PAGES_any_place);
    is_first = false;
  }
}

} // namespace
