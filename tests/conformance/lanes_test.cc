// SPDX-License-Identifier: Apache-2.0
//
// Level 5: the bulk operations on tiles of 2, 4 and 8 lanes, each a coroutine, against the oracle. One-lane tiles run
// no ballot: only here do the sanitizers see the collective code that the GPU runs. Read next: warp.h, lanes.h.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/conformance/lanes.h"
#include "tests/oracle/exercise.h"
#include "tests/oracle/filter_exercise.h"

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

// Where all plugins are under test, a layout and a scheme are tested as the one's companion and as the other's. Each pair of
// widths is then one's or the other's turn.
bool has_turn(const Recipe &recipe, bool is_layout) {
  if (!draws()) return true;
  size_t turn = 0;
  for (const Widths &widths : tested_widths())
    if (widths.key_bits != recipe.key_bits || widths.value_bits != recipe.value_bits)
      turn++;
    else
      break;
  for (uint32_t role : {TSR_ROLE_LAYOUT, TSR_ROLE_PROBING}) {
    const std::vector<std::string> names = plugins_of(role);
    turn += static_cast<size_t>(std::find(names.begin(), names.end(), recipe.part[role]) - names.begin());
  }
  return turn % 2 == is_layout;
}

std::vector<Recipe> recipes_of(const PluginFile &file) {
  std::vector<Recipe> result;
  bool is_layout = file.role == tsr_role_names[TSR_ROLE_LAYOUT];
  for (const Recipe &recipe : working_recipes(file))
    for (const std::string &other : plugins_of(is_layout ? TSR_ROLE_PROBING : TSR_ROLE_LAYOUT)) {
      Recipe r = recipe;
      r.part[is_layout ? TSR_ROLE_PROBING : TSR_ROLE_LAYOUT] = other;
      tsr_error error = {};
      if (has_turn(r, is_layout) && compose(r, 2, &error)) result.push_back(r);
    }
  return result;
}

// Numbers of lanes of a tile: all, or where all plugins are under test the one whose turn it is.
std::vector<uint32_t> lanes_of(uint64_t turn) {
  const std::vector<uint32_t> all = {2, 4, 8};
  if (!draws()) return all;
  return {all[(turn + turn / TSR_DUPLICATES_POLICIES) % all.size()]};
}

// Whether it is a part of filters alone, of which FiltersMissNoKey below is the test.
bool is_of_filters(const PluginFile &file) { return working_recipes(file).empty(); }

// That many warps at a time, of that many tiles.
struct Shape {
  uint32_t lanes, warps, tiles;
};

void exercise(const Recipe &recipe, Shape shape, uint64_t stream, uint64_t operations, uint64_t *collectives) {
  const uint32_t lanes = shape.lanes;
  SCOPED_TRACE(text_of(recipe, lanes) + ", " + std::to_string(shape.tiles) + " tiles");
  tsr_error error = {};
  CompositionPointer composition = compose(recipe, lanes, &error);
  ASSERT_NE(composition, nullptr) << error.message;
  if (composition->shape.tile_lanes != lanes) return; // fewer slots than lanes
  LaneTable table(std::move(composition), shape.warps, shape.tiles);
  Random random(stream);
  Exercise::Options options;
  options.slots = table.composition().shape.buckets * table.composition().shape.bucket_slots;
  options.operations = operations;
  options.batch_max = 24;
  options.erases_pairs = !recipe.lists;
  Exercise exercise(table, recipe.duplicates, random, options);
  EXPECT_EQ(exercise.run(), "");
  if (lanes == 2 && !recipe.lists) { // those end where their pool does
    EXPECT_EQ(exercise.overfill(), "");
  }
  *collectives += table.collectives();
}

// The policy that is wanted, or else one that the parts take: some look for no key.
uint32_t policy_for(Recipe recipe, uint32_t lanes, uint32_t wanted) {
  tsr_error error = {};
  for (uint32_t policy : {wanted, uint32_t{TSR_DUPLICATES_FIRST}, uint32_t{TSR_DUPLICATES_PROMISE_UNIQUE}}) {
    recipe.duplicates = policy;
    if (is_policy_for(recipe.value_bits, policy) && compose(recipe, lanes, &error)) return policy;
  }
  return wanted;
}

TEST_P(OnTiles, P25_OperationsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 5000, collectives = 0;
  for (Recipe recipe : recipes_of(GetParam()))
    for (uint32_t lanes : lanes_of(stream + 1)) {
      stream++;
      recipe.capacity = 20;
      // over all recipes, every policy
      recipe.duplicates = policy_for(recipe, lanes, static_cast<uint32_t>(stream % TSR_DUPLICATES_POLICIES));
      exercise(recipe, {lanes, 1, 1}, stream, scaled(10, 2), &collectives);
      if (HasFailure()) return;
    }
  EXPECT_TRUE(is_of_filters(GetParam()) || collectives > 1000);
}

// Two tiles of two lanes at a time: locks and claims are contended by whole tiles.
TEST_P(OnTiles, P25_P35_TwoTilesAtATimeAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 6000, collectives = 0;
  for (Recipe recipe : recipes_of(GetParam())) {
    stream++;
    recipe.capacity = 20;
    recipe.duplicates = policy_for(recipe, 2, TSR_DUPLICATES_ADD);
    exercise(recipe, {2, 2, 1}, stream, scaled(10, 2), &collectives);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(is_of_filters(GetParam()) || collectives > 1000);
}

// Every pair of a key is found, and its values are written by several lanes at a time.
TEST_P(OnTiles, P25_MultimapsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 8000, collectives = 0, worked = 0;
  for (Recipe recipe : recipes_of(GetParam()))
    for (uint32_t lanes : lanes_of(stream)) {
      tsr_error error = {};
      recipe.capacity = 40;
      recipe.duplicates = TSR_DUPLICATES_KEEP;
      stream++;
      if (!compose(recipe, lanes, &error)) continue; // a scheme that cannot hold them
      worked++;
      exercise(recipe, {lanes, lanes == 2 ? 2u : 1u, 1}, stream, scaled(10, 2), &collectives);
    }
  EXPECT_TRUE(worked == 0 || collectives > 1000);
}

// The same where values are in buckets of an allocator's: lanes wait for one of their own warp, and of another, who takes a
// bucket from the pool. Over all recipes, every allocator.
TEST_P(OnTiles, P25_P35_ListsOfValuesAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  const std::vector<std::string> allocators = plugins_of(TSR_ROLE_ALLOCATOR);
  if (allocators.empty()) GTEST_SKIP() << "there is no allocator among the plugins";
  const Shape shapes[] = {{2, 2, 1}, {4, 1, 2}, {2, 2, 2}, {8, 1, 1}};
  uint64_t stream = 11000, collectives = 0, worked = 0;
  for (Recipe recipe : recipes_of(GetParam())) {
    tsr_error error = {};
    const Shape shape = shapes[++stream % 4];
    recipe.capacity = 60;
    recipe.duplicates = TSR_DUPLICATES_KEEP;
    recipe.lists = true;
    recipe.part[TSR_ROLE_ALLOCATOR] = allocators[stream % allocators.size()];
    if (!recipe.value_bits || !compose(recipe, shape.lanes, &error)) continue; // a set, or a scheme that moves pairs
    worked++;
    exercise(recipe, shape, stream, scaled(10, 2), &collectives);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(worked == 0 || collectives > 1000);
}

// Several tiles of a warp make every call together, with or without work: what one of them would skip is reported. With a
// stash walks end behind the last bucket of all, where a sanitizer sees what a tile without work still reads.
TEST_P(OnTiles, P25_TilesInStepAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 9000, collectives = 0;
  const Shape shapes[] = {{2, 1, 2}, {4, 1, 2}, {2, 1, 4}, {2, 2, 2}};
  for (Recipe recipe : recipes_of(GetParam())) {
    const Shape shape = shapes[++stream % 4];
    recipe.capacity = 20;
    recipe.stash = stream / 2 % 2 * 4;
    recipe.filter = stream % 3 ? 0 : 8; // which each lane asks for itself
    recipe.duplicates = policy_for(recipe, shape.lanes, static_cast<uint32_t>(stream / 4 % (TSR_DUPLICATES_KEEP + 1)));
    exercise(recipe, shape, stream, scaled(10, 2), &collectives);
    if (HasFailure()) return;
  }
  EXPECT_TRUE(is_of_filters(GetParam()) || collectives > 1000);
}

TEST_P(OnTiles, P25_FiltersMissNoKey) {
  TSR_TRACE_SEED;
  uint64_t stream = 10000, collectives = 0;
  for (Recipe recipe : filter_recipes(GetParam()))
    for (Shape shape : {Shape{2, 1, 1}, Shape{4, 1, 1}, Shape{2, 2, 2}, Shape{4, 1, 2}}) {
      tsr_error error = {};
      recipe.capacity = 60;
      CompositionPointer composition = compose(recipe, shape.lanes, &error);
      ASSERT_NE(composition, nullptr) << error.message;
      SCOPED_TRACE(text_of(recipe, shape.lanes));
      LaneTable table(std::move(composition), shape.warps, shape.tiles);
      Random random(++stream);
      EXPECT_EQ(FilterExercise(table, random, 40).run(scaled(12, 2)), "");
      EXPECT_EQ(table.check(), "");
      collectives += table.collectives();
      if (HasFailure()) return;
    }
  EXPECT_TRUE(filter_recipes(GetParam()).empty() || collectives > 1000);
}

// A batch of operations with distinct keys, judged by a map.
void apply_some(LaneTable &table, uint32_t policy, Random &random, std::map<uint64_t, uint64_t> *there) {
  const uint64_t mask = width_mask(table.value_bits), missing = random.next() & mask;
  std::set<uint64_t> asked;
  std::vector<uint8_t> operations;
  Batch batch;
  for (uint64_t i = 0, n = 1 + random.below(30); i < n; i++) {
    uint64_t key = random.below(30) * 0x9E3779B97F4A7C15u >> (64 - table.key_bits); // even weak hashers spread them
    if (random.chance(8)) key = width_mask(table.key_bits) - random.below(3);
    if (!asked.insert(key).second) continue;
    batch.keys.push_back(key);
    batch.values.push_back(random.bits(table.value_bits));
    operations.push_back(static_cast<uint8_t>(random.below(5))); // the last one is none
  }
  ASSERT_EQ(table.apply(operations, batch, missing), "");
  for (size_t i = 0; i < batch.keys.size(); i++) {
    const uint64_t key = batch.keys[i], value = batch.values[i];
    const bool was_there = there->count(key) != 0;
    int code = was_there ? TSR_FOUND : TSR_MISSING;
    uint64_t found = 0;
    switch (operations[i]) {
    case TSR_OP_INSERT:
      if (!was_there) (*there)[key] = value;
      if (was_there && policy == TSR_DUPLICATES_ADD) (*there)[key] = ((*there)[key] + value) & mask;
      code = !was_there ? TSR_INSERTED : policy == TSR_DUPLICATES_ADD ? TSR_COMBINED : TSR_PRESENT;
      break;
    case TSR_OP_REPLACE:
      (*there)[key] = value;
      code = was_there ? TSR_REPLACED : TSR_INSERTED;
      break;
    case TSR_OP_ERASE:
      there->erase(key);
      if (was_there) code = TSR_ERASED;
      break;
    case TSR_OP_FIND:
      found = was_there ? (*there)[key] : missing;
      break;
    default:
      code = 0;
    }
    ASSERT_EQ(int{batch.codes[i]}, code) << "operation " << int{operations[i]} << ", key " << key;
    ASSERT_EQ(batch.obtained[i], found & mask) << "operation " << int{operations[i]} << ", key " << key;
  }
  std::vector<uint64_t> keys, values;
  ASSERT_EQ(table.exported(&keys, &values), "");
  std::map<uint64_t, uint64_t> pairs;
  for (size_t i = 0; i < keys.size(); i++) pairs[keys[i]] = values[i];
  ASSERT_EQ(keys.size(), pairs.size()) << "a key is there twice";
  ASSERT_EQ(pairs, *there);
}

// tsr_apply: the tiles of a warp do different things in one step.
TEST_P(OnTiles, P25_AnyOperationInStepAgreesWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 9500, collectives = 0, worked = 0;
  for (Recipe recipe : recipes_of(GetParam()))
    for (Shape shape : {Shape{2, 1, 2}, Shape{4, 1, 2}, Shape{1, 1, 4}}) {
      tsr_error error = {};
      recipe.capacity = 200; // so that every pair finds a place
      recipe.mixed = true;
      recipe.duplicates = recipe.value_bits && ++stream % 2 ? TSR_DUPLICATES_ADD : TSR_DUPLICATES_FIRST;
      CompositionPointer composition = compose(recipe, shape.lanes, &error);
      if (!composition || composition->shape.tile_lanes != shape.lanes) continue; // refused, or fewer slots than lanes
      SCOPED_TRACE(text_of(recipe, shape.lanes));
      worked++;
      LaneTable table(std::move(composition), shape.warps, shape.tiles);
      Random random(stream);
      std::map<uint64_t, uint64_t> there;
      for (uint64_t round = 0; round < scaled(12, 4); round++) {
        ASSERT_NO_FATAL_FAILURE(apply_some(table, recipe.duplicates, random, &there));
        ASSERT_EQ(table.check(), "");
      }
      collectives += table.collectives();
    }
  EXPECT_TRUE(worked == 0 || collectives > 1000);
}

INSTANTIATE_TEST_SUITE_P(Kit, OnTiles, testing::ValuesIn(bucketed_subjects()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnTiles);

} // namespace
} // namespace tessera_test
