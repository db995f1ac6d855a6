// SPDX-License-Identifier: Apache-2.0
//
// Every order of a few operations, for every way in which a pair is guarded, as a CPU and as a GPU runs them. What that shows
// and what it does not: README.md. TSR_INTERLEAVE=CASE prints how many orders each case has, TSR_INTERLEAVE=all runs every
// table and not a covering set. With TSR_INTERLEAVE_ORDERS=N a case that has more orders is stopped there, and printed; with
// TSR_INTERLEAVE_AGAIN=FILE only the cases of such lines are run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "plugins/table.h"
#include "tests/interleave/cases.h"
#include "tests/oracle/draw.h"

namespace {

using namespace interleave;

uint64_t orders_max() {
  const char *text = getenv("TSR_INTERLEAVE_ORDERS");
  return text && *text ? strtoull(text, nullptr, 10) : 0;
}

std::string name_of(const Scenario &s, const Shape &shape, uint64_t more, Way way) {
  return std::string(way == Way::GPU ? "gpu," : "cpu,") + shape.name + "," + s.name + "," + std::to_string(more);
}

// The cases that were stopped in an earlier run.
const std::set<std::string> &again() {
  static const std::set<std::string> all = [] {
    std::set<std::string> lines;
    std::ifstream file(getenv("TSR_INTERLEAVE_AGAIN"));
    for (std::string line; std::getline(file, line);)
      if (!line.find("stopped,")) lines.insert(line.substr(8));
    return lines;
  }();
  return all;
}

void explore(const Scenario &s, const Shape &shape, uint64_t more, Way way) {
  SCOPED_TRACE(shape.spec + ": " + s.name + ", keys + " + std::to_string(more) + (way == Way::GPU ? ", GPU" : ", CPU"));
  Limits limits;
  if (orders_max()) limits.executions = orders_max();
  const Verdict v =
      explore_case(case_of(s, shape, more), way, way == Way::GPU ? Model::L1 : Model::C11, nullptr, limits);
  ASSERT_EQ(v.refusal, "");
  EXPECT_EQ(v.outcome.failure, "");
  if (orders_max() && v.outcome.failure.empty() && !v.outcome.is_whole) {
    printf("stopped,%s\n", name_of(s, shape, more, way).c_str());
    return;
  }
  EXPECT_TRUE(v.outcome.is_whole) << "after " << v.outcome.executions << " orders";
  EXPECT_GE(v.outcome.executions, 1u);
  static const char *const guards[] = {"none", "claim", "lock"};
  if (prints())
    printf("case,%s,%s,%s,%s,%d,%llu,%llu,%u\n", way == Way::GPU ? "gpu" : "cpu", shape.name.c_str(), guards[v.guard],
           s.name, (int)more, (unsigned long long)v.outcome.executions, (unsigned long long)v.outcome.cut,
           v.outcome.steps_max);
}

class Shapes : public testing::TestWithParam<Shape> {};

// Three cases of the covering set have nearly all of its orders. With TSR_TEST_ALL=1 they are run. Otherwise the filter with locks
// has the last slots with the other keys, the scenario of three inserts is that of tables without lists, and full tables whose
// pairs move are those in which faults are planted.
bool has_very_many_orders(const Scenario &s, const Shape &shape, uint64_t more) {
  const std::string name = s.name;
  return (name == "TheLastSlotsOfErasedKeys" && shape.asks_filter && shape.guard == TSR_GUARD_LOCK && !more) ||
         (!name.find("OneKeyBesideOneThatComesLast") && std::string(shape.policy) == "Lists") ||
         name == "TwoKeysWhereEachMovesOthers";
}

// What is left out where not all is run: the CPU's text, which differs in rings of walks and in loads, but for every eighth
// table; other keys, and large buckets, with three operations at once.
bool is_run(const Scenario &s, const Shape &shape, uint64_t more, Way way) {
  if (!goes_with(s, shape)) return false;
  if (getenv("TSR_INTERLEAVE_AGAIN")) return again().count(name_of(s, shape, more, way)) > 0;
  if (runs_all()) return true;
  int sum = 0;
  for (int part : shape.parts) sum += part;
  if (way == Way::CPU && sum % 8) return false;
  if (has_very_many_orders(s, shape, more)) return tessera_test::tests_all();
  return s.at_once.size() <= 2 || (!more && !shape.has_large_buckets);
}

TEST_P(Shapes, EveryOrderIsExplained) {
  for (const Scenario &s : scenarios())
    for (uint64_t more : all_keys)
      for (Way way : {Way::GPU, Way::CPU})
        if (is_run(s, GetParam(), more, way)) explore(s, GetParam(), more, way);
}

INSTANTIATE_TEST_SUITE_P(All, Shapes, testing::ValuesIn(runs_all() ? all_shapes() : covering_shapes()),
                         [](const auto &info) { return info.param.name; });

} // namespace
