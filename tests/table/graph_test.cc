// SPDX-License-Identifier: Apache-2.0
//
// Lists that are made in bulk, on the cpu backend, both ways and for every layout that can be written so: batches of many
// pages of lists beside the oracle, one key's pairs in all of a page, more pairs than slots, batches that come later, and
// what is refused. What every table of many pairs a key does is multi_test.cc's matter. Read next: judged.h.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct GraphRecipe {
  Recipe recipe;
  std::string name;
};

void PrintTo(const GraphRecipe &graph, std::ostream *out) { *out << graph.name; }

Recipe recipe_of(const std::string &layout, Widths widths, uint32_t duplicates, uint64_t version) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = "hashgraph";
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = widths.key_bits;
  recipe.value_bits = widths.value_bits;
  recipe.duplicates = duplicates;
  recipe.capacity = 12000;
  recipe.load_factor = "1";
  recipe.set(TSR_ROLE_PROBING, "version", version);
  return recipe;
}

std::vector<GraphRecipe> recipes() {
  std::vector<GraphRecipe> result;
  const Widths widths[] = {{32, 32}, {64, 64}, {64, 0}, {32, 0}};
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (uint64_t version : {1u, 2u})
      for (uint32_t duplicates : {TSR_DUPLICATES_PROMISE_UNIQUE, TSR_DUPLICATES_KEEP}) {
        const Widths width = widths[tried++ % 4];
        tsr_error error = {};
        GraphRecipe graph = {recipe_of(layout, width, duplicates, version), ""};
        if (sanitized && layout != "packed") continue;
        if (!compose(graph.recipe, 1, &error)) continue;
        std::ostringstream name;
        name << layout << "_v" << version << "_" << duplicates << "_" << width.key_bits << "_" << width.value_bits;
        graph.name = name.str();
        result.push_back(graph);
      }
  return result;
}

std::string name_of(const testing::TestParamInfo<GraphRecipe> &info) { return info.param.name; }

class Graph : public testing::TestWithParam<GraphRecipe>, protected Judged {
protected:
  const Recipe &recipe() const { return GetParam().recipe; }
  bool keeps() const { return recipe().duplicates == TSR_DUPLICATES_KEEP; }
  uint64_t last_key() const { return ~uint64_t{0} >> (64 - recipe().key_bits); }

  // Keys from `first` on, each once, or where all pairs are kept some of them several times; one whose bits mark slots.
  Batch some_pairs(uint64_t first, uint64_t count, Random *random) const {
    Batch batch;
    for (uint64_t i = 0; i < count; i++) {
      batch.keys.push_back(first + (keeps() ? random->below(count) : i));
      batch.values.push_back(recipe().value_bits ? random->below(1000) : 0);
    }
    if (count && first == 0) batch.keys[count / 2] = last_key();
    return batch;
  }
};

TEST_P(Graph, BatchesAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  Random random(1);
  ASSERT_NO_FATAL_FAILURE(create(recipe()));
  std::vector<uint64_t> asked = {7, 1u << 20, last_key(), last_key() - 1};
  ASSERT_NO_FATAL_FAILURE(expect_all(asked)); // no list has been made
  uint64_t first = 0;
  for (uint64_t n : {uint64_t{1}, uint64_t{0}, uint64_t{5000}, uint64_t{3}, uint64_t{2500}}) {
    Batch batch = some_pairs(first, n, &random);
    first += n;
    asked.insert(asked.end(), batch.keys.begin(), batch.keys.end());
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_NO_FATAL_FAILURE(expect_all(asked));
  }
  Batch erased;
  for (uint64_t key = 0; key < first; key += 3) erased.keys.push_back(key);
  erased.keys.push_back(last_key());
  ASSERT_NO_FATAL_FAILURE(erase(erased));
  ASSERT_NO_FATAL_FAILURE(expect_all(asked));
  Batch again = some_pairs(first, 1000, &random); // the slots of the erased ones are no one's any more
  ASSERT_NO_FATAL_FAILURE(insert(again));
  ASSERT_NO_FATAL_FAILURE(expect_all(asked));
  ASSERT_EQ(table_->clear(), "");
  oracle_->clear();
  ASSERT_NO_FATAL_FAILURE(expect_all(asked));
  Batch anew = some_pairs(0, 2000, &random);
  ASSERT_NO_FATAL_FAILURE(insert(anew));
  ASSERT_NO_FATAL_FAILURE(expect_all(asked));
}

// As many pairs as slots have one each, whatever their hashes; what is more comes back, and nothing that was there goes.
TEST_P(Graph, EverySlotIsUsed) {
  TSR_TRACE_SEED;
  Random random(2);
  Recipe small = recipe();
  small.capacity = 3000;
  ASSERT_NO_FATAL_FAILURE(create(small));
  const uint64_t slots = usage().slots;
  Batch most = some_pairs(1, slots - 10, &random), more = some_pairs(1 << 20, 50, &random);
  ASSERT_NO_FATAL_FAILURE(insert(most));
  ASSERT_EQ(oracle_->handed_back(), 0u);
  ASSERT_NO_FATAL_FAILURE(insert(more));
  ASSERT_EQ(oracle_->handed_back(), 40u);
  ASSERT_NO_FATAL_FAILURE(expect_all(most.keys));
  ASSERT_NO_FATAL_FAILURE(expect_all(more.keys));
}

INSTANTIATE_TEST_SUITE_P(OnCpu, Graph, testing::ValuesIn(recipes()), name_of);

// All pairs in one list, and half of them.
TEST(Graphs, HoldManyPairsOfOneKey) {
  class OfOneKey : public Judged {
  public:
    void run(uint64_t version, uint64_t n, uint64_t every) {
      Recipe recipe = recipe_of("packed", {32, 32}, TSR_DUPLICATES_KEEP, version);
      recipe.capacity = n;
      ASSERT_NO_FATAL_FAILURE(create(recipe));
      Batch batch;
      for (uint64_t i = 0; i < n; i++) {
        batch.keys.push_back(i % every ? i : 4711);
        batch.values.push_back(i);
      }
      ASSERT_NO_FATAL_FAILURE(insert(batch));
      ASSERT_NO_FATAL_FAILURE(expect_all({4711, 1, 4710, n, n + 1}));
    }
  };
  const uint64_t n = sanitized ? 5000 : 200000;
  for (uint64_t version : {1u, 2u})
    for (uint64_t every : {1u, 2u}) {
      SCOPED_TRACE(std::to_string(version) + ", one key in " + std::to_string(every));
      ASSERT_NO_FATAL_FAILURE(OfOneKey().run(version, n, every));
    }
}

TEST(Graphs, AreRefusedWhereTheyCannotBe) {
  Recipe recipe = recipe_of("packed", {32, 32}, TSR_DUPLICATES_KEEP, 2);
  EXPECT_EQ(refusal_of(recipe, {}), "");
  EXPECT_NE(refusal_of(recipe, {"table.page_bytes=auto"}).find("remove page_bytes"), std::string::npos);
  EXPECT_EQ(refusal_of(recipe, {"table.stash=10"}), "");
  EXPECT_NE(refusal_of(recipe, {"table.concurrency=mixed"}).find("concurrency = phased"), std::string::npos);
  EXPECT_NE(refusal_of(recipe, {"table.capacity=3G"}).find("2^31 slots"), std::string::npos);
  for (uint32_t duplicates : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD})
    EXPECT_NE(refusal_of(recipe_of("packed", {32, 32}, duplicates, 2), {}).find("duplicates = promise_unique"),
              std::string::npos);
}

} // namespace
} // namespace tessera_test
