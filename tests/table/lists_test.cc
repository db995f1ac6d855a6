// SPDX-License-Identifier: Apache-2.0
//
// Tables whose buckets go on in units of an allocator, on the cpu backend, for every allocator: that the units always
// suffice for the capacity, that a flush leaves what a new table would need, and what of it comes back. That random
// operations agree with the oracle is tested by ../conformance. Read next: apply_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <sstream>

#include "tests/oracle/draw.h"
#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint32_t slab_bytes_of[] = {16, 32, 64, 128, 256};
constexpr Widths list_widths[] = {{32, 32}, {64, 64}, {32, 0}, {64, 32}};

Recipe recipe_of(const std::string &allocator, uint64_t slab_bytes, Widths widths, uint32_t duplicates) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = "slab";
  recipe.part[TSR_ROLE_PROBING] = "slab_list";
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.part[TSR_ROLE_ALLOCATOR] = allocator;
  recipe.key_bits = widths.key_bits;
  recipe.value_bits = widths.value_bits;
  recipe.duplicates = duplicates;
  recipe.set(TSR_ROLE_LAYOUT, "slab_bytes", slab_bytes);
  return recipe;
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  for (const std::string &allocator : plugins_of(TSR_ROLE_ALLOCATOR))
    for (uint32_t slab_bytes : slab_bytes_of)
      for (Widths widths : list_widths) {
        const bool is_usual = widths.key_bits == 32 && widths.value_bits == 32;
        if (is_usual ? sanitized && slab_bytes == 256 : slab_bytes != (widths.value_bits == 64 ? 32 : 128)) continue;
        for (uint32_t duplicates : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_KEEP}) {
          tsr_error error = {};
          Recipe recipe = recipe_of(allocator, slab_bytes, widths, duplicates);
          if (compose(recipe, 1, &error)) result.push_back(recipe);
        }
      }
  return result;
}

std::string recipe_name(const testing::TestParamInfo<Recipe> &info) {
  const Recipe &r = info.param;
  std::ostringstream text;
  text << r.part[TSR_ROLE_ALLOCATOR] << "_" << r.parameters.at("layout.slab_bytes") << "_" << r.key_bits << "_"
       << r.value_bits << (r.duplicates == TSR_DUPLICATES_KEEP ? "_multi" : "");
  return text.str();
}

bool reuses_units(const Recipe &recipe) {
  tsr_error error = {};
  CompositionPointer composition = compose(recipe, 1, &error);
  return composition && composition->shape.reuses_units;
}

// Fewer than the items that one thread takes at a time: what an allocator without reuse loses to races is none.
constexpr uint64_t few = 1200;

class Lists : public testing::TestWithParam<Recipe>, protected Judged {
protected:
  bool is_multi() const { return GetParam().duplicates == TSR_DUPLICATES_KEEP; }

  Recipe sized(uint64_t capacity, const std::string &load_factor) const {
    Recipe recipe = GetParam();
    recipe.capacity = capacity;
    recipe.load_factor = load_factor;
    return recipe;
  }

  // Pairs of new keys, in a multimap some of one key; the keys whose bits mark slots come first.
  Batch some_pairs(uint64_t count, Random *random) const {
    const Recipe &r = GetParam();
    std::set<uint64_t> keys;
    for (uint64_t key : awkward_numbers(r.key_bits)) keys.insert(~key & width_mask(r.key_bits));
    while (keys.size() < count) keys.insert(random->bits(r.key_bits));
    Batch batch;
    for (uint64_t key : keys) {
      batch.keys.push_back(key);
      batch.values.push_back(random->bits(r.value_bits));
    }
    if (is_multi())
      for (uint64_t i = 20; i < count; i += 3) batch.keys[i] = batch.keys[i / 50 + 1];
    std::swap(batch.keys.front(), batch.keys.back()); // 0 is not always the first
    return batch;
  }

  static Batch part(const Batch &batch, uint64_t from, uint64_t to) {
    Batch result;
    for (uint64_t i = from; i < to && i < batch.keys.size(); i++) {
      result.keys.push_back(batch.keys[i]);
      result.values.push_back(batch.values[i]);
    }
    return result;
  }

  // All pairs of the table.
  Batch exported() {
    Batch batch;
    EXPECT_EQ(table_->exported(&batch.keys, &batch.values), "");
    return batch;
  }

  uint64_t flush() {
    uint64_t units = ~uint64_t{0};
    tsr_error error = {};
    EXPECT_EQ(tsr_flush(table_->get(), &units, &error), TSR_OK) << error.message;
    return units;
  }

  // The pairs take no more than these many bytes, and no fewer than they have.
  void expect_usage(uint64_t tombstones) {
    const Recipe &r = GetParam();
    const uint64_t slab_bytes = r.parameters.at("layout.slab_bytes"), slots = info().bucket_slots;
    const uint64_t pair_bytes = (r.key_bits + r.value_bits) / 8;
    tsr_usage u = usage();
    EXPECT_EQ(u.pairs, oracle_->size());
    EXPECT_EQ(u.tombstones, tombstones);
    EXPECT_EQ(u.slots, (info().buckets + u.units) * slots);
    const double most = static_cast<double>(slots * pair_bytes) / static_cast<double>(slab_bytes);
    const uint64_t reserved = 2 * (is_multi() ? slots : 1); // pairs at most, in buckets that no hash names
    EXPECT_LE(u.pairs, u.slots + reserved);
    EXPECT_NEAR(u.utilization, most * static_cast<double>(u.pairs) / static_cast<double>(u.slots), 1e-9);
    EXPECT_LT(most, 1.0);
  }

  // The units of a new table of this recipe and seed that holds these pairs.
  uint64_t units_anew(const Recipe &recipe, Batch pairs) {
    Table table(made(spec_of(recipe).get()), recipe.key_bits, recipe.value_bits);
    EXPECT_EQ(table.insert(pairs), "");
    for (uint8_t code : pairs.codes) EXPECT_EQ(code, TSR_INSERTED);
    tsr_usage usage = {};
    tsr_error error = {};
    EXPECT_EQ(tsr_table_usage(table.get(), &usage, &error), TSR_OK) << error.message;
    return usage.units;
  }
};

TEST_P(Lists, HoldTheirCapacity) {
  TSR_TRACE_SEED;
  for (const char *load_factor : {".5", "1", "4", "16"}) {
    SCOPED_TRACE(load_factor);
    Random random(1);
    ASSERT_NO_FATAL_FAILURE(create(sized(few, load_factor)));
    Batch all = some_pairs(few, &random);
    for (uint64_t from = 0; from < few; from += few / 3) {
      Batch some = part(all, from, from + few / 3);
      ASSERT_NO_FATAL_FAILURE(insert(some));
    }
    EXPECT_EQ(oracle_->size(), few);
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
    ASSERT_NO_FATAL_FAILURE(expect_usage(0));
    EXPECT_EQ(usage().units, units_anew(sized(few, load_factor), all)) << "what another order needs";
  }
}

// The worst that hashes can do: every key in one bucket's list.
TEST_P(Lists, HoldTheirCapacityInOne) {
  TSR_TRACE_SEED;
  Random random(2);
  ASSERT_NO_FATAL_FAILURE(create(sized(1, "1")));
  const uint64_t slots = info().bucket_slots;
  for (uint64_t capacity : {64 * slots, 63 * slots + 1}) {
    ASSERT_NO_FATAL_FAILURE(create(sized(capacity, "64")));
    ASSERT_EQ(info().buckets, 1u);
    Batch all = some_pairs(capacity, &random);
    for (uint64_t &key : all.keys) key -= key >= width_mask(GetParam().key_bits) - 1 ? 77 : 0; // none beside the list
    ASSERT_NO_FATAL_FAILURE(insert(all));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
    ASSERT_NO_FATAL_FAILURE(expect_usage(0));
    EXPECT_EQ(usage().units, (oracle_->size() + slots - 1) / slots - 1);
  }
}

TEST_P(Lists, FlushLeavesWhatANewTableNeeds) {
  TSR_TRACE_SEED;
  for (bool mixed : {false, true}) {
    SCOPED_TRACE(mixed ? "mixed" : "phased");
    Random random(3);
    Recipe recipe = sized(few, "4");
    recipe.mixed = mixed;
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Batch all = some_pairs(few, &random);
    ASSERT_NO_FATAL_FAILURE(insert(all));
    for (uint64_t kept : {few / 2, few / 10, uint64_t{0}}) {
      const uint64_t before = usage().units, pairs = oracle_->size();
      Batch gone = part(all, kept, few);
      gone.keys.push_back(all.keys[0]); // reserved keys stay longer
      ASSERT_NO_FATAL_FAILURE(erase(gone));
      ASSERT_NO_FATAL_FAILURE(expect_usage(usage().tombstones));
      if (kept == few / 2) {
        EXPECT_EQ(usage().tombstones, pairs - oracle_->size());
      }
      const uint64_t released = flush(), needed = units_anew(recipe, exported());
      ASSERT_NO_FATAL_FAILURE(expect_usage(0));
      ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
      if (reuses_units(GetParam())) {
        EXPECT_EQ(usage().units, needed);
        EXPECT_EQ(released, before - needed);
      } else {
        EXPECT_EQ(usage().units, before) << "units do not come back before the table is cleared";
      }
      EXPECT_EQ(flush(), 0u) << "a second flush has nothing to do";
      ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
    }
    EXPECT_EQ(oracle_->size(), 0u);
  }
}

TEST_P(Lists, WorkOnAfterAFlush) {
  TSR_TRACE_SEED;
  Random random(4);
  ASSERT_NO_FATAL_FAILURE(create(sized(few, "2")));
  Batch all = some_pairs(few, &random);
  Batch half = part(all, 0, few / 2), other = part(all, few / 2, few), gone = part(all, few / 4, few / 2);
  ASSERT_NO_FATAL_FAILURE(insert(half));
  ASSERT_NO_FATAL_FAILURE(erase(gone));
  flush();
  Batch again = half; // keys that are there and keys that went
  if (is_multi()) again = gone;
  ASSERT_NO_FATAL_FAILURE(insert(again));
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
  flush();
  ASSERT_NO_FATAL_FAILURE(erase(gone));
  ASSERT_NO_FATAL_FAILURE(insert(other));
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
  EXPECT_EQ(oracle_->handed_back(), 0u);
  tsr_error error = {};
  EXPECT_EQ(tsr_flush(table_->get(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
}

// Lists at their longest, again and again, in the units of a table that is full each time.
TEST_P(Lists, ReleasedUnitsAreUsedAgain) {
  TSR_TRACE_SEED;
  Random random(5);
  const uint64_t capacity = scaled(2000, 2);
  ASSERT_NO_FATAL_FAILURE(create(sized(capacity, "8")));
  uint64_t most = 0;
  for (int round = 0; round < 4; round++) {
    Batch all = some_pairs(capacity, &random);
    ASSERT_NO_FATAL_FAILURE(insert(all));
    if (reuses_units(GetParam())) {
      ASSERT_EQ(oracle_->handed_back(), 0u) << "round " << round;
    }
    ASSERT_NO_FATAL_FAILURE(expect_usage(0));
    EXPECT_LE(most, usage().units + 8);
    most = usage().units;
    ASSERT_NO_FATAL_FAILURE(erase(all));
    ASSERT_EQ(oracle_->size(), 0u);
    const uint64_t released = flush();
    if (reuses_units(GetParam())) {
      EXPECT_EQ(released, most);
      EXPECT_EQ(usage().units, 0u);
    }
  }
  if (!reuses_units(GetParam())) {
    EXPECT_GT(oracle_->handed_back(), 0u) << "units were used again that this allocator does not take back";
  }
  ASSERT_EQ(table_->clear(), "");
  EXPECT_EQ(usage().units, 0u);
  Batch all = some_pairs(few / 2, &random);
  const uint64_t handed_back = oracle_->handed_back();
  ASSERT_NO_FATAL_FAILURE(insert(all));
  EXPECT_EQ(oracle_->handed_back(), handed_back) << "a cleared table has all its units";
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
}

TEST_P(Lists, AnEmptyTableIsFlushed) {
  ASSERT_NO_FATAL_FAILURE(create(sized(few, "4")));
  EXPECT_EQ(flush(), 0u);
  ASSERT_NO_FATAL_FAILURE(expect_usage(0));
  ASSERT_NO_FATAL_FAILURE(expect_all({0, 1, width_mask(GetParam().key_bits)}));
}

// Their bucket has no list: it must not run out of slots by being used often.
TEST_P(Lists, ReservedKeysComeAndGo) {
  TSR_TRACE_SEED;
  for (bool mixed : {false, true}) {
    SCOPED_TRACE(mixed ? "mixed" : "phased");
    Recipe recipe = sized(few, "4");
    recipe.mixed = mixed;
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    const uint64_t all = width_mask(GetParam().key_bits);
    for (uint64_t round = 0; round < 40; round++) { // more than any bucket has slots
      Batch both;
      both.keys = {all, all - 1, 5};
      both.values.assign(3, table_->value_bits ? round : 0);
      ASSERT_NO_FATAL_FAILURE(insert(both));
      ASSERT_EQ(oracle_->handed_back(), 0u) << "round " << round;
      if (round % 35 == 34) flush();
      if (round % 4 == 2) {
        ASSERT_NO_FATAL_FAILURE(expect_all({all, all - 1, all - 2, 5, 0}));
      }
      both.keys.pop_back(), both.values.pop_back();
      ASSERT_NO_FATAL_FAILURE(erase(both));
    }
  }
}

// Far more pairs than units: each one that has no slot comes back at its own index, and slots that come free are used.
TEST_P(Lists, HandBackWhatHasNoUnit) {
  TSR_TRACE_SEED;
  Random random(6);
  const uint64_t capacity = 2000;
  ASSERT_NO_FATAL_FAILURE(create(sized(capacity, ".25"))); // many short lists: an allocator may have far more units
  Batch all = some_pairs(info().slots + 3000, &random);
  Batch batch = all;
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  EXPECT_GT(oracle_->handed_back(), 0u);
  EXPECT_EQ(oracle_->size() + oracle_->handed_back(), all.keys.size());
  EXPECT_GE(oracle_->size(), capacity);
  for (size_t i = 0; i < all.keys.size(); i++) {
    if (batch.codes[i] != TSR_NOT_PLACED) continue;
    ASSERT_EQ(batch.back_keys[i], all.keys[i]) << i;
    if (table_->value_bits) {
      ASSERT_EQ(batch.back_values[i], all.values[i]) << i;
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_all(part(all, 0, 500).keys));
  ASSERT_NO_FATAL_FAILURE(expect_usage(0));
  Batch gone = part(all, 0, all.keys.size() / 2);
  ASSERT_NO_FATAL_FAILURE(erase(gone));
  const uint64_t size = oracle_->size();
  Batch again = part(all, 0, all.keys.size() / 2);
  ASSERT_NO_FATAL_FAILURE(insert(again));
  EXPECT_GT(oracle_->size(), size) << "no slot was used again";
  flush();
  ASSERT_NO_FATAL_FAILURE(expect_all(part(all, 0, 500).keys));
}

TEST_P(Lists, Grow) {
  TSR_TRACE_SEED;
  Random random(7);
  ASSERT_NO_FATAL_FAILURE(create(sized(16, "4"), {"table.growth=double"}));
  Batch all = some_pairs(few, &random);
  for (uint64_t from = 0; from < few; from += few / 3) {
    Batch some = part(all, from, from + few / 3);
    ASSERT_NO_FATAL_FAILURE(insert(some));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    EXPECT_GE(info().capacity, oracle_->size());
    EXPECT_LT(info().capacity, 4 * few);
    flush();
    ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
  }
}

TEST_P(Lists, AreRebuilt) {
  TSR_TRACE_SEED;
  Random random(8);
  ASSERT_NO_FATAL_FAILURE(create(sized(few, "4")));
  Batch all = some_pairs(few, &random), gone = part(all, 0, few / 2);
  ASSERT_NO_FATAL_FAILURE(insert(all));
  ASSERT_NO_FATAL_FAILURE(erase(gone));
  tsr_error error = {};
  tsr_rehash_options same = {};
  ASSERT_EQ(tsr_rehash(table_->get(), &same, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_usage(0));
  EXPECT_EQ(usage().units, units_anew(sized(few, "4"), exported()));
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));

  Recipe packed = GetParam();
  packed.part[TSR_ROLE_LAYOUT] = "packed";
  packed.part[TSR_ROLE_PROBING] = "linear";
  packed.part[TSR_ROLE_ALLOCATOR] = "";
  packed.parameters.clear();
  for (const Recipe &recipe : {packed, sized(few, "16"), packed, sized(few, ".5")}) {
    SpecPointer spec = spec_of(recipe);
    tsr_rehash_options options = {};
    options.spec = spec.get();
    ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
    ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
    const bool links = !recipe.part[TSR_ROLE_ALLOCATOR].empty();
    EXPECT_EQ(tsr_flush(table_->get(), nullptr, &error), links ? TSR_OK : TSR_UNSUPPORTED);
    if (!links) {
      EXPECT_EQ(usage().units, 0u);
    }
  }
  ASSERT_NO_FATAL_FAILURE(insert(gone));
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
  EXPECT_EQ(oracle_->handed_back(), 0u);
}

TEST_P(Lists, AreSavedAndLoaded) {
  TSR_TRACE_SEED;
  Random random(9);
  ASSERT_NO_FATAL_FAILURE(create(sized(few, "4")));
  Batch all = some_pairs(few, &random), gone = part(all, few / 3, few / 2);
  ASSERT_NO_FATAL_FAILURE(insert(all));
  ASSERT_NO_FATAL_FAILURE(erase(gone));
  const tsr_usage before = usage();
  EXPECT_GT(before.units, 0u);
  EXPECT_GT(before.tombstones, 0u);
  const std::string path = testing::TempDir() + "/lists.tsr", directories = plugin_directories();
  tsr_error error = {};
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, GetParam().key_bits, GetParam().value_bits);
  const tsr_usage after = usage();
  EXPECT_EQ(after.pairs, before.pairs);
  EXPECT_EQ(after.tombstones, before.tombstones);
  EXPECT_EQ(after.units, before.units);
  EXPECT_EQ(after.slots, before.slots);
  EXPECT_EQ(after.utilization, before.utilization);
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
  if (reuses_units(GetParam())) flush();
  ASSERT_NO_FATAL_FAILURE(insert(gone)); // the units that are free are known as well
  EXPECT_EQ(oracle_->handed_back(), 0u);
  ASSERT_NO_FATAL_FAILURE(expect_all(all.keys));
}

INSTANTIATE_TEST_SUITE_P(All, Lists, testing::ValuesIn(enough_for_sanitizers(recipes())), recipe_name);

// ---- Races --------------------------------------------------------------------------------------

class ListRaces : public testing::TestWithParam<std::string>, protected Judged {};

// Threads append to one list at a time: none takes a unit in vain, and the capacity is held.
TEST_P(ListRaces, OneListHoldsTheCapacity) {
  TSR_TRACE_SEED;
  for (uint64_t round = 0; round < scaled(3, 3); round++) {
    Recipe recipe = recipe_of(GetParam(), 32, {32, 32}, TSR_DUPLICATES_KEEP);
    recipe.capacity = tests_all() ? 6144 : 3072; // a walk through all of them for each
    recipe.load_factor = "16";
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Batch batch;
    batch.keys.assign(recipe.capacity, 7);
    for (uint64_t i = 0; i < recipe.capacity; i++) batch.values.push_back(i);
    ASSERT_EQ(table_->insert(batch), "");
    const uint64_t back =
        static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), uint8_t{TSR_NOT_PLACED}));
    ASSERT_EQ(back, 0u) << "round " << round;
    ASSERT_EQ(usage().pairs, recipe.capacity);
  }
}

TEST_P(ListRaces, ManyListsHoldTheCapacity) {
  TSR_TRACE_SEED;
  for (uint64_t round = 0; round < scaled(6, 3); round++) {
    Random random(100 + round);
    Recipe recipe = recipe_of(GetParam(), 32, {32, 32}, TSR_DUPLICATES_FIRST);
    recipe.capacity = 10000;
    recipe.load_factor = "64";
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    Batch batch;
    for (uint64_t i = 0; i < recipe.capacity; i++) {
      batch.keys.push_back(i * 0x9E3779B1u & 0xFFFFFFFFu);
      batch.values.push_back(i);
    }
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_EQ(oracle_->handed_back(), 0u) << "round " << round;
    ASSERT_EQ(usage().pairs, recipe.capacity);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ListRaces, testing::ValuesIn(plugins_of(TSR_ROLE_ALLOCATOR)),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

// ---- Refusals -----------------------------------------------------------------------------------

TEST(ListArguments, AreChecked) {
  const Recipe slab = recipe_of(plugins_of(TSR_ROLE_ALLOCATOR).at(0), 128, {32, 32}, TSR_DUPLICATES_FIRST);
  uint64_t units = 77;
  tsr_error error = {};
  expect_refused(tsr_flush(nullptr, &units, &error), TSR_BAD_ARGUMENT, error, "NULL");
  expect_refused(tsr_table_usage(nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "needs a table");
  Recipe packed = slab;
  packed.part[TSR_ROLE_LAYOUT] = "packed";
  packed.part[TSR_ROLE_PROBING] = "linear";
  packed.part[TSR_ROLE_ALLOCATOR] = "";
  packed.parameters.clear();
  Table unlinked(made(spec_of(packed).get()), 32, 32);
  expect_refused(tsr_flush(unlinked.get(), &units, &error), TSR_UNSUPPORTED, error, "do not link");
  Recipe stashed = slab;
  stashed.stash = 64;
  Table with_stash(made(spec_of(stashed).get()), 32, 32);
  expect_refused(tsr_flush(with_stash.get(), &units, &error), TSR_UNSUPPORTED, error, "stash");
  EXPECT_EQ(units, 77u);
}

TEST(ListSpec, IsChecked) {
  const Recipe slab = recipe_of(plugins_of(TSR_ROLE_ALLOCATOR).at(0), 128, {32, 32}, TSR_DUPLICATES_FIRST);
  tsr_error error = {};
  Recipe recipe = slab;
  recipe.part[TSR_ROLE_ALLOCATOR] = "";
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "allocator");
  recipe = slab;
  recipe.part[TSR_ROLE_PROBING] = "linear";
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "one bucket");
  recipe = slab;
  recipe.part[TSR_ROLE_LAYOUT] = "packed";
  recipe.parameters.clear();
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "do not link");
  recipe.part[TSR_ROLE_PROBING] = "linear";
  recipe.load_factor = "1.5";
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "load_factor");
  recipe = slab;
  recipe.set(TSR_ROLE_LAYOUT, "slab_bytes", 96);
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "slab_bytes = 96");
  recipe = recipe_of("bump", 16, {64, 64}, TSR_DUPLICATES_FIRST);
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "holds one word of 16 bytes");
  recipe = slab;
  recipe.set(TSR_ROLE_ALLOCATOR, "unit_bytes", 64);
  EXPECT_FALSE(compose(recipe, 1, &error));
  expect_refused(error.status, TSR_INCOMPATIBLE, error, "unit_bytes");
}

} // namespace
} // namespace tessera_test
