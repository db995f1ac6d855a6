// SPDX-License-Identifier: Apache-2.0
//
// Level 5: the bulk operations on tiles of 2, 4 and 8 lanes, one thread a lane, against the oracle. One-lane tiles run
// no ballot: only here do the sanitizers see the collective code that the GPU runs. Read next: tile.h, lanes.h.
#include <sstream>

#include "tests/conformance/lanes.h"
#include "tests/oracle/exercise.h"

namespace tessera_test {
namespace {

class OnTiles : public OnPlugin {};

std::string text_of(const Recipe &recipe, uint32_t lanes) {
  std::ostringstream text;
  text << recipe << lanes << " lanes";
  return text.str();
}

// Every layout and every probing scheme takes part with each of the other role that it composes with.
std::vector<PluginFile> bucketed_subjects() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : subjects())
    if (file.role == tsr_role_names[TSR_ROLE_LAYOUT] || file.role == tsr_role_names[TSR_ROLE_PROBING])
      result.push_back(file);
  return result;
}

std::vector<Recipe> recipes_of(const PluginFile &file) {
  std::vector<Recipe> result;
  bool is_layout = file.role == tsr_role_names[TSR_ROLE_LAYOUT];
  for (const Recipe &recipe : working_recipes(file))
    for (const std::string &other : plugins_of(is_layout ? TSR_ROLE_PROBING : TSR_ROLE_LAYOUT)) {
      Recipe r = recipe;
      r.part[is_layout ? TSR_ROLE_PROBING : TSR_ROLE_LAYOUT] = other;
      tsr_error error = {};
      if (compose(r, 2, &error)) result.push_back(r);
    }
  return result;
}

void exercise(const Recipe &recipe, uint32_t lanes, uint32_t tiles, uint64_t stream, uint64_t operations,
              uint64_t *collectives) {
  SCOPED_TRACE(text_of(recipe, lanes));
  tsr_error error = {};
  CompositionPointer composition = compose(recipe, lanes, &error);
  ASSERT_NE(composition, nullptr) << error.message;
  if (composition->shape.tile_lanes != lanes) return; // fewer slots than lanes
  LaneTable table(std::move(composition), tiles);
  Random random(stream);
  Exercise::Options options;
  options.slots = table.composition().shape.buckets * table.composition().shape.bucket_slots;
  options.operations = operations;
  options.batch_max = 24;
  Exercise exercise(table, recipe.duplicates, random, options);
  EXPECT_EQ(exercise.run(), "");
  if (lanes == 2) {
    EXPECT_EQ(exercise.overfill(), "");
  }
  *collectives += table.collectives();
}

TEST_P(OnTiles, P25_OperationsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 5000, collectives = 0;
  for (Recipe recipe : recipes_of(GetParam()))
    for (uint32_t lanes : {2u, 4u, 8u}) {
      stream++;
      recipe.capacity = 20;
      recipe.duplicates = static_cast<uint32_t>(stream % TSR_DUPLICATES_POLICIES); // over all recipes, every policy
      tsr_error error = {};
      if (!is_policy_for(recipe.value_bits, recipe.duplicates) || !compose(recipe, lanes, &error))
        recipe.duplicates = TSR_DUPLICATES_FIRST;
      exercise(recipe, lanes, 1, stream, scaled(10, 3), &collectives);
      if (HasFailure()) return;
    }
  EXPECT_GT(collectives, 1000u);
}

// Two tiles of two lanes at a time: locks and claims are contended by whole tiles.
TEST_P(OnTiles, P25_P35_TwoTilesAtATimeAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 6000, collectives = 0;
  for (Recipe recipe : recipes_of(GetParam())) {
    stream++;
    recipe.capacity = 20;
    recipe.duplicates = recipe.value_bits ? TSR_DUPLICATES_ADD : TSR_DUPLICATES_FIRST;
    exercise(recipe, 2, 2, stream, scaled(10, 3), &collectives);
    if (HasFailure()) return;
  }
  EXPECT_GT(collectives, 1000u);
}

// Every pair of a key is found, and its values are written by several lanes at a time.
TEST_P(OnTiles, P25_MultimapsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 8000, collectives = 0, worked = 0;
  for (Recipe recipe : recipes_of(GetParam()))
    for (uint32_t lanes : {2u, 4u, 8u}) {
      tsr_error error = {};
      recipe.capacity = 40;
      recipe.duplicates = TSR_DUPLICATES_KEEP;
      if (!compose(recipe, lanes, &error)) continue; // a scheme that cannot hold them
      worked++;
      exercise(recipe, lanes, lanes == 2 ? 2 : 1, ++stream, scaled(10, 3), &collectives);
    }
  EXPECT_TRUE(worked == 0 || collectives > 1000);
}

INSTANTIATE_TEST_SUITE_P(Kit, OnTiles, testing::ValuesIn(bucketed_subjects()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnTiles);

} // namespace
} // namespace tessera_test
