// SPDX-License-Identifier: Apache-2.0
//
// Planted faults: each must be found in the tables that faults.cc names for it, in the default job in one of them, and not
// found where the memory has no loads of the kind that it needs. TSR_INTERLEAVE=CASE prints which scenario found it. With
// TSR_INTERLEAVE=all each fault is planted in a covering set of all tables that it may concern. There it must be found wherever it
// changes the code that the compiler makes of the table, but for what why_not_found() names, where it must not be found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "tests/interleave/cases.h"
#include "tests/interleave/faults.h"

namespace {

using namespace interleave;

constexpr uint64_t kFew = 2000,
                   kEnough = 20000; // orders of a case: in which most faults show; where none is to be found

// The first scenario that fails, among those of at most `most` operations; empty: none. Those of few operations come first, and
// what has many orders is run whole when the first ones of all have shown nothing.
std::string first_failure(const Shape &shape, const Planted &planted, Model model, size_t most,
                          bool is_expected = true) {
  Limits few, enough;
  few.executions = kFew;
  if (!is_expected) enough.executions = kEnough;
  std::vector<std::pair<const Scenario *, uint64_t>> all, long_ones;
  for (size_t count = 2; count <= most; count++)
    for (const Scenario &s : scenarios())
      for (uint64_t more : all_keys)
        if (goes_with(s, shape) && s.at_once.size() == count) all.push_back({&s, more});
  for (const Limits &limits : {few, enough}) {
    for (const auto &[s, more] : all) {
      const Verdict v = explore_case(
          case_of(*s, shape, more), Way::GPU, model, [&](std::string *text) { return plant(planted, text); }, limits);
      EXPECT_EQ(v.refusal, "") << shape;
      if (!v.refusal.empty()) return "";
      if (!v.outcome.failure.empty()) return s->name;
      if (!v.outcome.is_whole) long_ones.push_back({s, more});
    }
    all = std::move(long_ones);
    long_ones.clear();
  }
  return "";
}

struct Plan { // a fault, and a table
  const Planted *planted;
  std::string table;
  bool is_named, is_first; // by faults.cc; as its first table
};

std::ostream &operator<<(std::ostream &out, const Plan &plan) { return out << *plan.planted << " in " << plan.table; }

// By default the first table of each fault. With TSR_INTERLEAVE=all all of those that it names, each other one of the covering set
// that it may concern, and a covering set of those that it may concern.
std::vector<Plan> plans() {
  std::vector<Plan> all;
  for (const Planted &p : all_planted()) {
    std::set<std::string> known;
    for (const char *table : p.shapes) {
      if (!known.empty() && !runs_all()) break;
      all.push_back({&p, table, true, known.empty()});
      known.insert(table);
    }
    if (!runs_all()) continue;
    const auto is_concerned = [&](const Shape &shape) { return concerns(p, shape); };
    for (const auto &drawn : {covering_shapes(), covering_shapes(is_concerned)})
      for (const Shape &shape : drawn)
        if (concerns(p, shape) && known.insert(shape.name).second) all.push_back({&p, shape.name, false, false});
  }
  return all;
}

class Faults : public testing::TestWithParam<Plan> {};

TEST_P(Faults, AreFound) {
  const Plan &plan = GetParam();
  const Planted &p = *plan.planted;
  const Shape &shape = shape_of(plan.table);
  const Case any = case_of(scenarios().front(), shape, 0);
  const bool changes = plan.is_named || changes_code(any, Way::GPU, [&](std::string *text) { return plant(p, text); });
  const char *why = changes ? why_not_found(p, shape) : "it changes no code of this table";
  const std::string found = changes ? first_failure(shape, p, Model::L1, 3, !why) : "";
  if (prints())
    printf("fault,%s,%s,%s,%s\n", p.name, plan.table.c_str(), found.c_str(), why ? why : ""), fflush(stdout);
  if (why) {
    EXPECT_EQ(found, "") << plan.table << ": " << why;
  } else {
    EXPECT_NE(found, "") << plan.table;
  }
  if (p.needs != ANYTHING && plan.is_first) {
    EXPECT_EQ(first_failure(shape, p, p.needs == OLD_LOADS ? Model::SEQUENTIAL : Model::C11, 2), "") << plan.table;
  }
}

// What the library keeps apart by phases must be kept apart: finds from inserts and erases, and inserts from erases.
TEST(Phases, AreNeeded) {
  const std::pair<const char *, Overlap> tables[] = {
      {"DoubleHashingPackedFirstMixed", MIXED}, {"CuckooPackedFirstOneSlot", TURNS}, {"DoubleHashingSoaMax", TURNS}};
  for (const auto &[name, overlap] : tables) {
    Shape shape = shape_of(name);
    shape.overlap = overlap;
    const std::string found = first_failure(shape, {"", {}, ANYTHING, ALL, {}}, Model::L1, 3);
    if (prints()) printf("phases,%s,%s\n", name, found.c_str());
    EXPECT_NE(found, "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(plans()), [](const auto &info) {
  return info.param.planted->name + std::string("In") + info.param.table;
});

} // namespace
