// SPDX-License-Identifier: Apache-2.0
//
// Random operations on fused tables, each judged by the oracle: what recipes_test.sh cannot ask for by the program, and
// several threads. Of each kind of code one table: pairs that move, pairs that stay while all operations overlap, lists
// of pairs that are all kept, keys and values apart.
#include <gtest/gtest.h>
#include <stdlib.h>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *name, *layout, *probing, *allocator;
  Widths widths;
  uint32_t duplicates;
  bool mixed;
};

class Fused : public testing::TestWithParam<Case>, protected Judged {
protected:
  static void SetUpTestSuite() { unsetenv("TESSERA_CC"); } // with which the other tests forbid compilers
};

TEST_P(Fused, RandomOperationsAgreeWithTheOracle) {
  const Case &p = GetParam();
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = p.layout;
  recipe.part[TSR_ROLE_PROBING] = p.probing;
  recipe.part[TSR_ROLE_ALLOCATOR] = p.allocator;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = p.widths.key_bits;
  recipe.value_bits = p.widths.value_bits;
  recipe.duplicates = p.duplicates;
  recipe.mixed = p.mixed;
  recipe.capacity = 20000;
  create(recipe);
  Random random(29);
  Exercise::Options options;
  options.slots = info().slots;
  options.operations = 60;
  options.batch_max = 8192; // several ranges of the parallel loop, so several threads
  options.mixes = p.mixed;
  Exercise exercise(*table_, p.duplicates, random, options);
  EXPECT_EQ(exercise.run(), "");
  const std::string code = info().code;
  EXPECT_EQ(code.find("fused: insert, "), 0u) << code;
  if (p.mixed) {
    EXPECT_NE(code.find(", apply"), std::string::npos) << code;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, Fused,
    testing::Values(Case{"moving", "packed", "cuckoo", "", {64, 64}, TSR_DUPLICATES_ADD, false},
                    Case{"mixed", "packed", "linear", "", {32, 32}, TSR_DUPLICATES_REPLACE, true},
                    Case{"lists", "slab", "slab_list", "slab", {32, 32}, TSR_DUPLICATES_KEEP, false},
                    Case{"apart", "soa", "double_hashing", "", {32, 64}, TSR_DUPLICATES_MIN, false}),
    [](const testing::TestParamInfo<Case> &info) { return std::string(info.param.name); });

} // namespace
} // namespace tessera_test
