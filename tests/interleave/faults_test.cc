// SPDX-License-Identifier: Apache-2.0
//
// Planted faults: each must be found in every table where it matters, and no sooner than the memory is modelled as it needs.
// TSR_INTERLEAVE=CASE prints which scenario found it.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/interleave/cases.h"
#include "tests/interleave/faults.h"

namespace {

using namespace interleave;

// The first scenario that fails, among those of at most `most` operations; empty: none.
std::string first_failure(const Shape &shape, const Planted &planted, Model model, size_t most) {
  for (const Scenario &s : scenarios())
    for (uint64_t more : all_keys) {
      if (!goes_with(s, shape) || s.at_once.size() > most) continue;
      const Verdict v = explore_case(case_of(s, shape, more), Way::GPU, model,
                                     [&](std::string *text) { return plant(planted, text); });
      EXPECT_EQ(v.refusal, "") << shape;
      if (!v.refusal.empty()) return "";
      if (!v.outcome.failure.empty()) return s.name;
    }
  return "";
}

class Faults : public testing::TestWithParam<Planted> {};

TEST_P(Faults, AreFound) {
  const Planted &p = GetParam();
  bool is_first = true;
  for (const char *name : p.shapes) {
    const Shape &shape = shape_of(name);
    const std::string found = first_failure(shape, p, Model::L1, 3);
    if (prints()) printf("fault,%s,%s,%s\n", p.name, name, found.c_str()), fflush(stdout);
    EXPECT_NE(found, "") << name;
    if (p.needs != ANYTHING && is_first) {
      EXPECT_EQ(first_failure(shape, p, p.needs == OLD_LOADS ? Model::SEQUENTIAL : Model::C11, 2), "") << name;
    }
    is_first = false;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(all_planted()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
