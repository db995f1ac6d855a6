// SPDX-License-Identifier: Apache-2.0
//
// The plan of a batch (core/batch/plan.h): which stages which batch of which table passes. No device is asked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "core/compose/compose.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint64_t kCapacity = 1 << 27, kLarge = 1 << 26;

Recipe recipe_of(const std::string &layout, const std::string &probing, uint32_t duplicates) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = layout;
  recipe.part[TSR_ROLE_PROBING] = probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.key_bits = recipe.value_bits = 32;
  recipe.duplicates = duplicates;
  return recipe;
}

CompositionPointer composed(Recipe recipe, const std::vector<std::string> &entries, uint64_t capacity = kCapacity) {
  recipe.load_factor = "0.8";
  const SpecPointer spec = spec_of(recipe);
  for (const std::string &entry : entries) EXPECT_EQ(tsr_spec_set(spec.get(), entry.c_str(), nullptr), TSR_OK);
  const std::string plugins = plugin_directories();
  tsr_options options = {};
  options.plugins = plugins.c_str();
  options.capacity = capacity;
  tsr_composition *made = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_compose(spec.get(), &options, 90, 1, &made, &error), TSR_OK) << error.message;
  return CompositionPointer(made);
}

tsr_batch insert_of(uint64_t n) {
  tsr_batch batch = {};
  batch.op = TSR_BULK_insert;
  batch.n = n;
  batch.is_clear = true;
  return batch;
}

TEST(Plan, ASmallBatchGoesAsItComes) {
  const auto c = composed(recipe_of("packed", "cuckoo", TSR_DUPLICATES_ADD), {"table.page_bytes=auto"});
  const tsr_batch batch = insert_of(1000);
  const tsr_stages stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_EQ(stages.order, TSR_ORDER_NONE);
  EXPECT_EQ(stages.group, 0u);
  EXPECT_EQ(stages.place, TSR_PLACE_RANDOM);
  EXPECT_FALSE(tsr_works_alone(&stages));
}

TEST(Plan, ALargeBatchIsOrderedGroupedPlacedAndAnswered) {
  const auto c = composed(recipe_of("packed", "cuckoo", TSR_DUPLICATES_ADD), {"table.page_bytes=auto"});
  tsr_batch batch = insert_of(kLarge);
  tsr_stages stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_EQ(stages.order, TSR_ORDER_PAGES);
  EXPECT_EQ(stages.group, uint32_t{TSR_GROUP_HOT | TSR_GROUP_PAGES});
  EXPECT_EQ(stages.place, TSR_PLACE_PAGES);
  EXPECT_TRUE(stages.combines) << "cuckoo moves pairs, so offers are combined later";
  EXPECT_FALSE(stages.answers);
  EXPECT_TRUE(tsr_works_alone(&stages));
  batch.has_answers = true;
  stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_TRUE(stages.answers);
  batch.is_clear = false;
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).group, uint32_t{TSR_GROUP_HOT}) << "each item has an answer of its own";
  batch.is_recorded = true; // a graph cannot see how large pages are
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE);
  batch.is_recorded = false;
  batch.op = TSR_BULK_find_or_insert;
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE);
}

TEST(Plan, FewPagesAreNotOrderedForResults) {
  const auto c = composed(recipe_of("packed", "cuckoo", TSR_DUPLICATES_ADD), {"table.page_bytes=auto"}, 250000);
  tsr_batch batch = insert_of(kLarge);
  ASSERT_LT(c->shape.pages, 64u);
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_PAGES);
  batch.has_answers = true;
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE);
}

// Whether a sample may leave the batch to random access.
TEST(Plan, KeysThatMayRepeatAreJudgedByASample) {
  for (uint32_t value_bits : {0u, 32u})
    for (uint32_t policy : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_PROMISE_UNIQUE})
      for (const char *page_batch : {"auto", "1Mi"}) {
        Recipe recipe = recipe_of("packed", "cuckoo", policy);
        recipe.value_bits = value_bits;
        const auto c = composed(recipe, {"table.page_bytes=auto", std::string("table.page_batch=") + page_batch});
        tsr_batch batch = insert_of(kLarge);
        const bool depends = policy == TSR_DUPLICATES_FIRST && strcmp(page_batch, "auto") == 0;
        for (bool has_answers : {false, true}) {
          SCOPED_TRACE(testing::Message() << value_bits << " bits, page_batch " << page_batch << ", " << has_answers);
          batch.has_answers = has_answers;
          const tsr_stages stages = tsr_plan_batch(c.get(), &batch);
          EXPECT_EQ(stages.order, TSR_ORDER_PAGES);
          EXPECT_EQ(stages.judged.sample_log2 != 0, depends);
          batch.is_recorded = true;
          EXPECT_EQ(tsr_plan_batch(c.get(), &batch).judged.sample_log2, 0u) << "it goes by random access in any case";
          batch.is_recorded = false;
        }
        EXPECT_EQ(tsr_plan_has_step(c.get(), TSR_PAGES_judge), policy == TSR_DUPLICATES_FIRST);
      }
}

// From how many items per key on a sample of the batch shows that they repeat.
double repeats_of(const tsr_judged &judged, uint64_t n) {
  return 1 + 2.0 * static_cast<double>(n) * judged.from / std::ldexp(1, 2 * static_cast<int>(judged.sample_log2));
}

TEST(Plan, ASampleIsAsLargeAsItTakesToSeeRepeats) {
  const uint64_t most = 1ull << 29;
  const auto c = composed(recipe_of("packed", "cuckoo", TSR_DUPLICATES_FIRST), {"table.page_bytes=auto"}, most);
  const auto replaces =
      composed(recipe_of("packed", "cuckoo", TSR_DUPLICATES_REPLACE), {"table.page_bytes=auto"}, most);
  for (tsr_batch batch = insert_of(1 << 26); batch.n <= most; batch.n *= 2) {
    SCOPED_TRACE(batch.n);
    batch.has_answers = true;
    const tsr_judged answered = tsr_plan_batch(c.get(), &batch).judged;
    EXPECT_GE(answered.from, 8u) << "fewer would often be missed";
    EXPECT_NEAR(repeats_of(answered, batch.n), 8, 0.6);
    EXPECT_EQ(answered.before, UINT32_MAX);
    batch.has_answers = false;
    const tsr_judged silent = tsr_plan_batch(c.get(), &batch).judged;
    EXPECT_EQ(silent.sample_log2, uint32_t{TSR_JUDGED_LOG2}) << "a small sample shows hot keys best";
    EXPECT_EQ(silent.from, (1u << silent.sample_log2) / 6);
    EXPECT_EQ(tsr_plan_batch(replaces.get(), &batch).judged.from, silent.from);
    EXPECT_EQ(silent.before, UINT32_MAX);
  }
}

// Writes to a hot key take turns, for longer where the rest of the table is in the cache.
TEST(Plan, PagesKeepBatchesOfHotKeysOrOfUnevenOnes) {
  tsr_batch batch = insert_of(1 << 24);
  batch.cache_bytes = 50 << 20;
  const auto judged = [&](uint32_t policy, uint64_t capacity) {
    const auto c = composed(recipe_of("packed", "double_hashing", policy), {"table.page_bytes=auto"}, capacity);
    return tsr_plan_batch(c.get(), &batch).judged;
  };
  const uint64_t cached = batch.n / 4;
  const tsr_judged replaces = judged(TSR_DUPLICATES_REPLACE, cached);
  EXPECT_EQ(replaces.from, 0u) << "all others go by random access";
  EXPECT_EQ(replaces.before, (1u << replaces.sample_log2) / 6);
  EXPECT_EQ(replaces.hot, UINT32_MAX);
  batch.has_answers = true;
  EXPECT_LT(judged(TSR_DUPLICATES_ADD, cached).before, UINT32_MAX);
  EXPECT_EQ(judged(TSR_DUPLICATES_MAX, cached).before, UINT32_MAX) << "it is soon found, and nobody writes";
  batch.has_answers = false;
  batch.n = 1 << 25;
  const tsr_judged uneven = judged(TSR_DUPLICATES_FIRST, batch.n / 2);
  EXPECT_LT(uneven.from, uneven.before);
  EXPECT_LT(uneven.before, uneven.hot);
  EXPECT_EQ(uneven.hot, (1u << uneven.sample_log2) / 6);
}

// What the host sees: how many items, slots and bytes there are, and whether results are wanted.
TEST(Plan, WhatTheHostKnowsSparesTheSample) {
  tsr_batch batch = insert_of(1 << 25);
  batch.cache_bytes = 50 << 20;
  const auto stages = [&](uint32_t policy, uint64_t capacity) {
    return tsr_plan_batch(composed(recipe_of("packed", "cuckoo", policy), {"table.page_bytes=auto"}, capacity).get(),
                          &batch);
  };
  const uint64_t roomy = batch.n, crowded = batch.n / 2, cached = batch.n / 16;
  for (uint32_t policy : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_REPLACE}) {
    SCOPED_TRACE(policy);
    for (bool has_answers : {false, true}) {
      batch.has_answers = has_answers;
      EXPECT_EQ(stages(policy, roomy).order, TSR_ORDER_PAGES) << has_answers;
      EXPECT_EQ(stages(policy, crowded).order, has_answers ? TSR_ORDER_NONE : TSR_ORDER_PAGES);
      EXPECT_EQ(stages(policy, cached).order, TSR_ORDER_NONE) << has_answers;
    }
    batch.is_clear = false;
    EXPECT_EQ(stages(policy, roomy).order, TSR_ORDER_NONE) << "each item looks for its key among the pairs of its page";
    batch.is_clear = true;
  }
  batch.has_answers = false;
  for (uint32_t policy : {TSR_DUPLICATES_ADD, TSR_DUPLICATES_PROMISE_UNIQUE}) {
    EXPECT_EQ(stages(policy, crowded).order, TSR_ORDER_PAGES);
    EXPECT_EQ(stages(policy, crowded).judged.sample_log2, 0u) << "their pages do not lose by keys that repeat";
  }
  batch.n = (1 << 23) - 1;
  batch.has_answers = true;
  for (uint32_t policy : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD, TSR_DUPLICATES_PROMISE_UNIQUE})
    EXPECT_EQ(stages(policy, batch.n).order, TSR_ORDER_NONE) << "too few to return their results in order";
}

TEST(Plan, NeighboursAreGroupedBeforeRandomAccess) {
  const auto c = composed(recipe_of("packed", "linear", TSR_DUPLICATES_ADD), {});
  tsr_batch batch = insert_of(TSR_SPANS_BATCH);
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).group, uint32_t{TSR_GROUP_SPANS});
  batch.n--;
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).group, 0u);
}

TEST(Plan, AFilterIsMarkedInTheOrderThatTheBatchHas) {
  const Recipe recipe = recipe_of("packed", "linear", TSR_DUPLICATES_PROMISE_UNIQUE);
  tsr_batch batch = insert_of(kLarge);
  const auto alone = composed(recipe, {"table.filter=8"});
  EXPECT_EQ(tsr_plan_batch(alone.get(), &batch).mark, TSR_MARK_BLOCKS);
  const auto paged = composed(recipe, {"table.filter=8", "table.page_bytes=auto"});
  EXPECT_EQ(tsr_plan_batch(paged.get(), &batch).mark, TSR_MARK_PAGES);
  batch.n = 1000;
  EXPECT_EQ(tsr_plan_batch(alone.get(), &batch).mark, TSR_MARK_RANDOM);
  batch.op = TSR_BULK_find;
  EXPECT_EQ(tsr_plan_batch(alone.get(), &batch).mark, TSR_MARK_NONE);
}

TEST(Plan, TheOperationsOfATableInHostMemory) {
  const auto c = composed(recipe_of("packed", "linear", TSR_DUPLICATES_PROMISE_UNIQUE),
                          {"table.page_bytes=auto", "table.device_bytes=200Mi"});
  ASSERT_GT(c->window_pages, 0u);
  tsr_batch batch = insert_of(1);
  tsr_stages stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_TRUE(stages.travels && stages.writes);
  EXPECT_EQ(stages.place, TSR_PLACE_RANDOM) << "a small batch works on the window as on a table";
  batch.op = TSR_BULK_find;
  EXPECT_FALSE(tsr_plan_batch(c.get(), &batch).travels) << "it reads over the bus";
  batch.n = tsr_plan_travel_batch(c.get());
  stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_TRUE(stages.travels && !stages.writes);
}

tsr_batch find_of(uint64_t n) {
  tsr_batch batch = {};
  batch.op = TSR_BULK_find;
  batch.n = n;
  batch.cache_bytes = 50 << 20;
  return batch;
}

TEST(Plan, LargeFindsAreSortedByZones) {
  const Recipe recipe = recipe_of("packed", "cuckoo", TSR_DUPLICATES_PROMISE_UNIQUE);
  const auto c = composed(recipe, {"table.page_bytes=auto", "layout.bucket_slots=4"});
  tsr_batch batch = find_of(kCapacity);
  tsr_stages stages = tsr_plan_batch(c.get(), &batch);
  EXPECT_EQ(stages.order, TSR_ORDER_ZONES);
  EXPECT_EQ(stages.place, TSR_PLACE_RANDOM);
  EXPECT_TRUE(stages.answers);
  EXPECT_FALSE(tsr_works_alone(&stages)) << "finds overlap finds";
  for (uint32_t op : {TSR_BULK_contains, TSR_BULK_count, TSR_BULK_note, TSR_BULK_erase}) {
    batch.op = op;
    EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_ZONES) << op;
  }
  for (uint32_t op : {TSR_BULK_retrieve, TSR_BULK_erase_pair, TSR_BULK_export, TSR_BULK_apply}) {
    batch.op = op;
    EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE) << op;
  }
  batch = find_of(kCapacity);
  batch.is_recorded = true;
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE);
  batch = find_of(1 << 20);
  EXPECT_EQ(tsr_plan_batch(c.get(), &batch).order, TSR_ORDER_NONE);
}

TEST(Plan, FindsAreSortedWhereThatIsFaster) {
  const Recipe recipe = recipe_of("packed", "cuckoo", TSR_DUPLICATES_PROMISE_UNIQUE);
  const tsr_batch batch = find_of(kCapacity);
  const auto order = [&](const std::vector<std::string> &entries, uint64_t capacity = kCapacity) {
    return tsr_plan_batch(composed(recipe, entries, capacity).get(), &batch).order;
  };
  EXPECT_EQ(order({}), TSR_ORDER_NONE) << "a key's buckets are anywhere";
  EXPECT_EQ(order({"table.page_bytes=auto", "table.find_batch=0"}), TSR_ORDER_NONE);
  EXPECT_EQ(order({"table.page_bytes=auto", "layout.tile_lanes=4"}), TSR_ORDER_NONE) << "instructions bound it";
  EXPECT_EQ(order({"table.page_bytes=auto", "table.find_batch=7", "layout.tile_lanes=4"}), TSR_ORDER_ZONES);
  EXPECT_EQ(order({"table.page_bytes=auto"}, 1 << 20), TSR_ORDER_NONE) << "the table is in the cache";
  // What an H100 gains: narrow pairs from 2^24 keys of a table for 2^27 on, wide ones if most of the table is asked for.
  const auto least = [&](const std::vector<std::string> &entries, uint64_t capacity = kCapacity) {
    std::vector<std::string> all = {"table.page_bytes=auto", "layout.bucket_slots=4"};
    all.insert(all.end(), entries.begin(), entries.end());
    return tsr_plan_zone_batch(composed(recipe, all, capacity).get(), 50 << 20);
  };
  EXPECT_GT(least({}), uint64_t{1} << 23);
  EXPECT_LE(least({}), uint64_t{1} << 24);
  EXPECT_GT(least({"layout.tile_lanes=2"}), uint64_t{1} << 25);
  EXPECT_GT(least({"table.key_bits=64", "table.value_bits=64"}), uint64_t{1} << 26);
  EXPECT_LE(least({"table.key_bits=64", "table.value_bits=64"}), kCapacity);
  // A device that gets a little less than half of 2^27 keys.
  EXPECT_LT(least({"table.key_bits=64", "table.value_bits=64"}, 1 << 26), (uint64_t{1} << 26) - (1 << 20));
  EXPECT_EQ(least({"table.key_bits=64", "table.value_bits=64"}, 1 << 25), uint64_t{1} << 25);
  EXPECT_EQ(least({"table.key_bits=64", "table.value_bits=64", "layout.tile_lanes=2"}), UINT64_MAX);
}

// A zone is a run of pages, at most two fifths of the cache; there are enough of them for the largest table.
TEST(Plan, ZonesFitTheCache) {
  const Recipe recipe = recipe_of("packed", "cuckoo", TSR_DUPLICATES_PROMISE_UNIQUE);
  const uint64_t cache = 50 << 20;
  for (uint64_t capacity : {1ull << 16, 1ull << 23, 1ull << 27, 1ull << 29}) {
    SCOPED_TRACE(capacity);
    const auto c = composed(recipe, {"table.page_bytes=auto"}, capacity);
    const tsr_zones zones = tsr_plan_zones(c.get(), cache);
    EXPECT_LE(zones.count, static_cast<uint32_t>(TSR_ZONES_MAX));
    EXPECT_EQ(zones.count, ((c->shape.pages - 1) >> zones.shift) + 1);
    EXPECT_GE(zones.count, std::min<uint64_t>(16, c->shape.pages));
    const uint64_t page = tsr_composition_store_bytes(c.get()) / c->shape.pages;
    if (capacity <= 1ull << 28) {
      EXPECT_LE(page << zones.shift, cache * 2 / 5);
    }
  }
}

// Each stage that the plan has is told, in the order of the stages, and no other.
TEST(Plan, IsToldStageByStage) {
  tsr_stages stages = {};
  tsr_stage_text text[TSR_STAGES_MAX];
  ASSERT_EQ(tsr_plan_describe(&stages, text), 1u);
  EXPECT_STREQ(text[0].stage, "place");
  stages.order = TSR_ORDER_PAGES;
  stages.group = TSR_GROUP_HOT | TSR_GROUP_PAGES;
  stages.place = TSR_PLACE_PAGES;
  stages.mark = TSR_MARK_PAGES;
  stages.combines = stages.answers = true;
  std::string told;
  for (uint32_t i = 0, n = tsr_plan_describe(&stages, text); i < n; i++) told += std::string(text[i].stage) + " ";
  EXPECT_EQ(told, "order group group filter place rest combine answer ");
  stages = {};
  stages.order = TSR_ORDER_ZONES;
  stages.answers = true;
  ASSERT_EQ(tsr_plan_describe(&stages, text), 3u);
  EXPECT_NE(std::string(text[0].sentence).find("zones"), std::string::npos);
  EXPECT_NE(std::string(text[1].sentence).find("zone"), std::string::npos);
}

} // namespace
} // namespace tessera_test
