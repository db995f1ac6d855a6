// SPDX-License-Identifier: Apache-2.0
//
// Planted faults: each must be found in the tables that faults.cc names for it, in the default job in one of them, and not
// found where the memory has no loads of the kind that it needs.
// TSR_INTERLEAVE=CASE prints which scenario found it.
#include <gtest/gtest.h>

#include <algorithm>
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
  const size_t count = runs_all() ? p.shapes.size() : 1;
  for (const char *name : std::vector<const char *>(p.shapes.begin(), p.shapes.begin() + (long)count)) {
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

// What the library keeps apart by phases must be kept apart: finds from inserts and erases, and inserts from erases.
TEST(Phases, AreNeeded) {
  const std::pair<const char *, Overlap> tables[] = {
      {"DoubleHashingPackedFirstMixed", MIXED}, {"CuckooPackedFirstOneSlot", TURNS}, {"DoubleHashingSoaMax", TURNS}};
  for (const auto &[name, overlap] : tables) {
    Shape shape = shape_of(name);
    shape.overlap = overlap;
    const std::string found = first_failure(shape, {"", {}, ANYTHING, {}}, Model::L1, 3);
    if (prints()) printf("phases,%s,%s\n", name, found.c_str());
    EXPECT_NE(found, "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(all_planted()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
