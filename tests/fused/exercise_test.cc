// SPDX-License-Identifier: Apache-2.0
//
// Random operations on fused tables, each judged by the oracle: what recipes_test.sh cannot ask for by the program, and
// several threads. Of each kind of code one table: pairs that move, pairs that stay while all operations overlap, lists
// of pairs that are all kept, keys and values apart.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>

#include "tests/oracle/compiler.h"
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
  static void SetUpTestSuite() { allow_compilers(); }
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

// The function tables work until a compiler that runs beside them has ended; the code takes over in the middle of a call,
// or between two.
class Beside : public testing::Test, protected Judged {
protected:
  void SetUp() override {
    allow_compilers();
    setenv("TESSERA_CC_ITEMS", "1", 1);
    setenv("XDG_CACHE_HOME", (testing::TempDir() + "/beside").c_str(), 1); // where nothing is compiled yet
  }
  void TearDown() override { setenv("TESSERA_CC_ITEMS", "0", 1); }

  bool is_fused() { return std::string(info().code).find("fused: insert") == 0; }
};

TEST_F(Beside, CallsThatDoNotWaitAgreeWithTheOracle) {
  using Clock = std::chrono::steady_clock;
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = "packed";
  recipe.part[TSR_ROLE_PROBING] = "cuckoo";
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.duplicates = TSR_DUPLICATES_ADD;
  recipe.capacity = 20000;
  create(recipe);
  const auto end = Clock::now() + std::chrono::seconds(60);
  for (uint64_t seed = 31; !is_fused() && Clock::now() < end; seed++) {
    Random random(seed);
    Exercise::Options options;
    options.slots = info().slots;
    options.operations = 60;
    options.batch_max = 8192;
    Exercise exercise(*table_, recipe.duplicates, random, options);
    ASSERT_EQ(exercise.run(), "") << "seed " << seed;
    ASSERT_EQ(tsr_clear(table_->get(), nullptr, nullptr), TSR_OK);
  }
  EXPECT_TRUE(is_fused()) << info().code;
}

// A table may go while a compiler works for it.
TEST_F(Beside, TablesDoNotWaitForTheirCompilers) {
  for (uint32_t i = 0; i < 3; i++) {
    Recipe recipe;
    recipe.part[TSR_ROLE_LAYOUT] = "packed";
    recipe.part[TSR_ROLE_PROBING] = "linear";
    recipe.part[TSR_ROLE_HASHER] = "murmur3";
    recipe.capacity = 1000 + i; // the same code
    create(recipe);
    const uint32_t keys[] = {1, 2, 3}, values[] = {10, 20, 30};
    ASSERT_EQ(tsr_insert(table_->get(), 3, keys, values, nullptr, nullptr), TSR_OK);
    table_.reset();
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
