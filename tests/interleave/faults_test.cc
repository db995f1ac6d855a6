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

// Whether the text of the table has what the fault changes.
bool has_place(const Shape &shape, const Planted &planted) {
  Limits none;
  none.executions = 1;
  const Verdict v = explore_case(
      {shape.spec, {}, {{Verb::ERASE, 7, 0}}, shape.shares_locks, shape.in_kernel}, Way::GPU, Model::SEQUENTIAL,
      [&](std::string *text) { return plant(planted, text); }, none);
  return v.refusal.empty();
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

// ---- In every table -------------------------------------------------------------------------------

// Tables of one scheme and one layout, in which a fault is looked for.
struct Place {
  const Planted *planted;
  std::string scheme, layout;
};

std::ostream &operator<<(std::ostream &out, const Place &p) { return out << p.planted->name << p.scheme << p.layout; }

std::vector<Place> all_places() {
  std::vector<Place> all;
  if (!runs_all()) return all;
  for (const Planted &planted : all_planted())
    for (const Shape &shape : all_shapes())
      if (all.empty() || all.back().planted != &planted || all.back().scheme != shape.scheme ||
          all.back().layout != shape.layout)
        all.push_back({&planted, shape.scheme, shape.layout});
  return all;
}

class Everywhere : public testing::TestWithParam<Place> {};

TEST_P(Everywhere, FaultsAreFound) {
  const Place &place = GetParam();
  for (const Shape &shape : all_shapes()) {
    const std::string other = shape.other;
    const bool evicts = place.scheme == "Cuckoo" || std::string(shape.policy).find("Cache") == 0;
    if (shape.scheme != place.scheme || shape.layout != place.layout) continue;
    if (!(other == "" || other == "Kernel" || (other == "OneSlot" && evicts))) continue;
    std::string found;
    if (!has_place(shape, *place.planted)) continue;
    found = first_failure(shape, *place.planted, Model::L1, 2);
    printf("fault,%s,%s,%s\n", place.planted->name, shape.name.c_str(), found.c_str()), fflush(stdout);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Everywhere, testing::ValuesIn(all_places()), [](const auto &info) {
  return info.param.planted->name + ("_" + info.param.scheme) + info.param.layout;
});
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Everywhere);

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
