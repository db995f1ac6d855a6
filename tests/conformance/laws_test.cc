// SPDX-License-Identifier: Apache-2.0
//
// Level 3: the laws of each role (laws.h), over widths, bucket sizes, tile widths, capacities and parameters.
// Read next: compositions_test.cc.
#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>

#include "plugins/eviction.cuh"
#include "tests/conformance/kit.h"
#include "tests/conformance/lanes.h"
#include "tests/conformance/laws.h"
#include "tests/oracle/exercise.h"

namespace tessera_test {

const Laws *laws_for(uint32_t key_bits, uint32_t payload_bits) {
#define LAWS_ROW(suffix) &laws##suffix,
  static const Laws *const all[] = {TSR_TESTS_LAWS_WIDTHS(LAWS_ROW)};
  for (const Laws *laws : all)
    if (laws->key_bits == key_bits && laws->payload_bits == payload_bits) return laws;
  return nullptr;
}

namespace {

class OnLayout : public OnPlugin {};
class OnHasher : public OnPlugin {};
class OnProbing : public OnPlugin {};
class OnEviction : public OnPlugin {};

std::vector<PluginFile> subjects_of(uint32_t role) {
  std::vector<PluginFile> result;
  for (const PluginFile &file : subjects())
    if (file.role == tsr_role_names[role]) result.push_back(file);
  return result;
}

const Laws *laws_of(const Recipe &recipe) { return laws_for(recipe.key_bits, recipe.value_bits); }

std::string text_of(const Recipe &recipe) {
  std::ostringstream text;
  text << recipe;
  return text.str();
}

bool has_parameter(const tsr_plugin *plugin, const char *name) {
  for (const tsr_parameter *row = plugin->parameters; row->name; row++)
    if (strcmp(row->name, name) == 0) return true;
  return false;
}

// What a context needs, kept alive.
struct Instance {
  CompositionPointer composition;
  std::unique_ptr<Memory> memory;
  tsr_cpu cpu;
  tsr_scratch scratch = {};

  explicit Instance(const Recipe &recipe) {
    tsr_error error = {};
    composition = compose(recipe, 1, &error);
    if (!composition) return;
    memory = std::make_unique<Memory>(composition.get());
    cpu = cpu_of(composition.get(), nullptr);
  }
  tsr_ctx context() { return context_of(&memory->state(), &cpu, 0, &scratch); }
  tsr_ctx context(tsr_scratch *own) { return context_of(&memory->state(), &cpu, 0, own); } // of another thread
};

// ---- Layouts ------------------------------------------------------------------------------------

TEST_P(OnPlugin, P14_Regions) {
  for (const Recipe &recipe : all_recipes(GetParam())) {
    SCOPED_TRACE(text_of(recipe));
    tsr_error error = {};
    CompositionPointer composition = compose(recipe, 1, &error);
    ASSERT_NE(composition, nullptr);
    const tsr_plan &plan = composition->part[role_of(GetParam().role)].plan;
    std::set<std::string> names;
    for (uint32_t i = 0; i < TSR_REGIONS_MAX && plan.regions[i].name; i++) {
      const tsr_region &region = plan.regions[i];
      EXPECT_TRUE(names.insert(region.name).second) << "two regions called " << region.name;
      EXPECT_GT(tsr_region_bytes(composition.get(), &region), 0u) << region.name;
    }
    const tsr_shape &shape = composition->shape;
    const uint32_t places = shape.bucket_places; // a link is behind the last slot
    EXPECT_TRUE(shape.bucket_slots >= 1 && shape.bucket_slots + shape.has_link <= places);
    EXPECT_TRUE(places <= 32 && (places & (places - 1)) == 0);
    EXPECT_GE(shape.buckets, shape.buckets_min);
    EXPECT_GE(shape.buckets * shape.bucket_slots, recipe.capacity);
    if (shape.can_exchange) {
      const tsr_image *image = composition->part[TSR_ROLE_LAYOUT].image;
      ASSERT_NE(image, nullptr);
    }
  }
}

// Runs the laws on one tile; returns the number of checks, 0 if the composition is refused.
uint64_t check_layout(const Recipe &recipe, uint32_t lanes) {
  SCOPED_TRACE(text_of(recipe) + std::to_string(lanes) + " lanes");
  tsr_error error = {};
  CompositionPointer composition = compose(recipe, lanes, &error);
  if (!composition) {
    expect_sentence(error, "a refused layout");
    return 0;
  }
  if (composition->shape.tile_lanes != lanes) return 0; // fewer slots than lanes
  Memory memory(composition.get());
  Warp tile(lanes);
  tsr_cpu cpu = cpu_of(composition.get(), tile.services());
  Findings findings;
  std::string complaint = tile.run([&](uint32_t lane) {
    tsr_scratch scratch = {};
    tsr_ctx c = context_of(&memory.state(), &cpu, lane, &scratch);
    laws_of(recipe)->layout(&c, tsr_composition_buckets(composition.get()), composition->part[TSR_ROLE_LAYOUT].plan,
                            &findings);
  });
  EXPECT_EQ(complaint, "");
  expect_none(findings.text());
  EXPECT_EQ(memory.check_guards(), "");
  EXPECT_GT(findings.checks(), 0u);
  return findings.checks();
}

TEST_P(OnLayout, P30_P32_P33_P34_P35_P36_P37_P38_P39_Slots) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  bool sizes = has_parameter(plugin, "bucket_slots");
  for (Recipe recipe : all_recipes(GetParam())) {
    uint64_t checks = 0;
    for (uint32_t slots : {0u, 1u, 2u, 4u, 8u, 16u, 32u}) { // 0: as it is
      if (slots && !sizes) continue;
      if (slots) recipe.set(TSR_ROLE_LAYOUT, "bucket_slots", slots);
      recipe.capacity = slots ? slots * 4 : 20;
      for (uint32_t lanes : {1u, 2u, 4u, 8u}) {
        if (lanes > 1 && (lanes > slots || slots > (sanitized ? 4 : 16))) continue;
        const uint32_t policies = TSR_DUPLICATES_POLICIES;
        for (uint32_t policy = 0; policy < policies; policy++) {
          if (!is_policy_for(recipe.value_bits, policy)) continue;
          if (policy == TSR_DUPLICATES_KEEP) continue; // which is promise_unique to a layout
          if (lanes > 1 && recipe.value_bits && policy != (lanes / 2 + slots) % policies) continue;
          recipe.duplicates = policy;
          checks += check_layout(recipe, lanes);
          if (HasFailure()) return; // one composition that shows it is enough
        }
      }
    }
    EXPECT_GT(checks, 1000u) << recipe;
  }
}

TEST_P(OnLayout, P31_WholePairsAreNeverTorn) {
  TSR_TRACE_SEED;
  for (Recipe recipe : all_recipes(GetParam())) {
    if (!recipe.value_bits) continue; // a key alone cannot be torn
    recipe.capacity = 20;
    SCOPED_TRACE(text_of(recipe));
    Instance instance(recipe);
    ASSERT_NE(instance.composition, nullptr);
    if (!instance.composition->shape.whole_pairs) continue; // it promises nothing
    tsr_scratch scratch = {};
    tsr_ctx writer = instance.context(), reader = instance.context(&scratch);
    Findings findings;
    laws_of(recipe)->races(&writer, &reader, scaled(100000, 10), &findings);
    expect_none(findings.text());
    if (HasFailure()) return;
  }
}

// ---- Hashers ------------------------------------------------------------------------------------

TEST_P(OnHasher, P50_P51_Seeds) {
  TSR_TRACE_SEED;
  for (Recipe recipe : all_recipes(GetParam())) {
    SCOPED_TRACE(text_of(recipe));
    recipe.seed = 1;
    Instance first(recipe), second(recipe);
    std::vector<std::unique_ptr<Instance>> instances;
    std::vector<tsr_ctx> others;
    for (uint32_t bit = 1; bit < 63; bit++) { // any bit of the seed matters
      recipe.seed = 1 + (uint64_t{1} << bit);
      instances.push_back(std::make_unique<Instance>(recipe));
      others.push_back(instances.back()->context());
    }
    tsr_ctx a = first.context(), b = second.context();
    const tsr_ctx *same[2] = {&a, &b};
    Findings findings;
    laws_of(recipe)->hasher(same, others, &findings);
    expect_none(findings.text());
    if (HasFailure()) return;
  }
}

TEST_P(OnHasher, P52_Mixes) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  // Who is excused must need it: a summary that says too much keeps users from a good hasher.
  bool excused = strstr(plugin->summary, "does not mix") != nullptr;
  // A family may be even over its seeds only: what a bit of the key flips is then fixed by each seed.
  const bool over_seeds = strstr(plugin->summary, "mixes over seeds") != nullptr;
  std::set<uint32_t> done;
  for (Recipe recipe : all_recipes(GetParam())) {
    if (!done.insert(recipe.key_bits).second) continue; // hashers do not depend on the value's width
    SCOPED_TRACE(text_of(recipe));
    for (uint64_t seed : {uint64_t{1}, uint64_t{0x123456789ABCDEF}}) {
      if (draws() && (seed == 1) != (done.size() % 2 == 1)) continue;
      recipe.seed = seed;
      std::vector<std::unique_ptr<Instance>> instances;
      std::vector<tsr_ctx> seeds;
      for (uint64_t i = 0; i < (over_seeds ? 1000 : 1); i++, recipe.seed++) {
        instances.push_back(std::make_unique<Instance>(recipe));
        ASSERT_NE(instances.back()->composition, nullptr);
        seeds.push_back(instances.back()->context());
      }
      Findings findings;
      laws_of(recipe)->mixing(seeds, scaled(20000, 5), &findings);
      if (over_seeds) { // who is excused must need it
        Findings alone;
        laws_of(recipe)->mixing({seeds[0]}, scaled(20000, 5), &alone);
        EXPECT_NE(alone.text(), "") << "it mixes with one seed: " << plugin->summary;
      }
      if (excused) {
        EXPECT_NE(findings.text(), "") << "it mixes: " << plugin->summary;
      } else {
        expect_none(findings.text());
      }
      if (HasFailure()) return;
    }
  }
}

// ---- Probing ------------------------------------------------------------------------------------

// The plugin's recipes, each with its parameters at their default and at some other values of their range.
std::vector<Recipe> variants(const PluginFile &file, const tsr_plugin *plugin) {
  std::vector<Recipe> result;
  for (const Recipe &recipe : all_recipes(file)) {
    result.push_back(recipe);
    for (const tsr_parameter *row = plugin->parameters; row->name; row++)
      for (uint64_t value : {row->minimum, row->minimum + 1, row->minimum + 2, row->initial + 3, row->maximum}) {
        // a bound in the thousands is one of time: what it does to a full table takes as long
        if (value == row->initial || value > row->maximum || value > 1000) continue;
        Recipe other = recipe;
        other.set(plugin->role, row->name, value);
        tsr_error error = {};
        if (compose(other, 1, &error)) result.push_back(other);
      }
  }
  return result;
}

TEST_P(OnProbing, P40_P41_P43_P48_Walks) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (Recipe recipe : variants(GetParam(), plugin)) {
    recipe.load_factor = "1";
    // odd, prime, powers of two, one less and one more, tiny; in buckets where the layout has a bucket_slots to set
    for (uint64_t buckets : {1u, 2u, 3u, 4u, 5u, 15u, 63u, 64u, 65u, 101u, 127u, 128u, 210u, 255u, 257u}) {
      recipe.capacity = buckets;
      Recipe single = recipe;
      single.set(TSR_ROLE_LAYOUT, "bucket_slots", 1);
      tsr_error error = {};
      Instance instance(compose(single, 1, &error) ? single : recipe);
      ASSERT_NE(instance.composition, nullptr);
      SCOPED_TRACE(text_of(recipe) + std::to_string(instance.composition->shape.buckets) + " buckets");
      tsr_ctx c = instance.context();
      Findings findings;
      laws_of(recipe)->walks(&c, scaled(20), &findings);
      expect_none(findings.text());
      if (HasFailure()) return;
    }
  }
}

// Few walks of many keys: one that is wrong for a key in some thousands.
TEST_P(OnProbing, P40_P41_P43_P48_WalksOfManyKeys) {
  TSR_TRACE_SEED;
  for (Recipe recipe : all_recipes(GetParam())) {
    recipe.load_factor = "1";
    recipe.capacity = 120;
    Instance instance(recipe);
    ASSERT_NE(instance.composition, nullptr);
    SCOPED_TRACE(text_of(recipe) + std::to_string(instance.composition->shape.buckets) + " buckets");
    tsr_ctx c = instance.context();
    Findings findings;
    laws_of(recipe)->walks(&c, scaled(20000), &findings);
    expect_none(findings.text());
    if (HasFailure()) return;
  }
}

// In a small table, where a walk is short: one that has no end for a key in a million.
TEST_P(OnProbing, P41_WalksEnd) {
  TSR_TRACE_SEED;
  std::set<uint32_t> done;
  for (Recipe recipe : all_recipes(GetParam())) {
    if (!done.insert(recipe.key_bits).second) continue; // walks do not depend on the value's width
    recipe.capacity = 20;
    Instance instance(recipe);
    ASSERT_NE(instance.composition, nullptr);
    SCOPED_TRACE(text_of(recipe));
    tsr_ctx c = instance.context();
    Findings findings;
    laws_of(recipe)->ends(&c, scaled(uint64_t{1} << 22, 100), &findings);
    expect_none(findings.text());
    if (HasFailure()) return;
  }
}

// A scheme with build() makes its memory for one page of keys and for several, in buckets of any size.
TEST_P(OnProbing, P54_Build) {
  TSR_TRACE_SEED;
  for (Recipe recipe : variants(GetParam(), loaded(GetParam()))) {
    recipe.load_factor = "1";
    for (uint64_t capacity : {1u, 100u, 10000u})
      for (uint64_t slots : {1u, 4u}) {
        tsr_error error = {};
        recipe.capacity = capacity;
        recipe.set(TSR_ROLE_LAYOUT, "bucket_slots", slots);
        if (!compose(recipe, 1, &error)) continue;
        Instance instance(recipe);
        if (!instance.composition->shape.build_pages) return;
        SCOPED_TRACE(text_of(recipe));
        tsr_ctx c = instance.context();
        Findings findings;
        laws_of(recipe)->build(&c, &findings);
        expect_none(findings.text());
        if (HasFailure()) return;
      }
  }
}

// The facts that a table with more buckets may not have otherwise, as one line.
std::string facts_of(const tsr_probing_facts &facts) {
  std::ostringstream text;
#define FACT_SAID(type, name)                                                                                          \
  if (std::string(#name) != "buckets" && std::string(#name) != "walk_max") text << #name << " = " << facts.name << "\n";
  TSR_PROBING_FACTS(FACT_SAID)
#undef FACT_SAID
  return text.str();
}

// Of a scheme whose buckets split: from any number of buckets to any larger one.
TEST_P(OnProbing, P55_Splits) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (Recipe recipe : variants(GetParam(), plugin)) {
    recipe.load_factor = "1";
    std::vector<std::unique_ptr<Instance>> instances; // of more and more buckets
    for (uint64_t capacity : {1u, 2u, 30u, 31u, 100u, 128u, 500u, 512u, 520u, 4000u}) {
      recipe.capacity = capacity;
      instances.push_back(std::make_unique<Instance>(recipe));
      ASSERT_NE(instances.back()->composition, nullptr) << text_of(recipe);
      if (!instances.back()->composition->shape.splits) return;
    }
    for (size_t i = 0; i < instances.size(); i++)
      for (size_t j = i; j < instances.size(); j++) {
        const tsr_composition *small = instances[i]->composition.get(), *large = instances[j]->composition.get();
        const tsr_plan &few = small->part[TSR_ROLE_PROBING].plan, &more = large->part[TSR_ROLE_PROBING].plan;
        SCOPED_TRACE(text_of(recipe) + std::to_string(small->shape.buckets) + " and " +
                     std::to_string(large->shape.buckets) + " buckets");
        EXPECT_EQ(facts_of(few.probing), facts_of(more.probing));
        for (uint32_t r = 0; r < TSR_REGIONS_MAX; r++) {
          EXPECT_EQ(few.regions[r].bytes, more.regions[r].bytes);
          EXPECT_EQ(few.regions[r].bytes_per_bucket, more.regions[r].bytes_per_bucket);
        }
        tsr_ctx before = instances[i]->context(), after = instances[j]->context();
        Random random(i * 100 + j);
        for (uint64_t k = 0; k < scaled(500, 5); k++) {
          const uint64_t key = random.bits(recipe.key_bits > 64 ? 64 : recipe.key_bits - 1);
          std::vector<uint64_t> own = laws_of(recipe)->walk(&before, key, 1000),
                                later = laws_of(recipe)->walk(&after, key, 1000);
          ASSERT_EQ(own.size(), small->shape.choices) << "a key has other buckets than its choices";
          for (uint64_t &bucket : later) bucket = tsr_split_from(bucket, small->shape.buckets);
          ASSERT_EQ(own, later) << "key " << key << ": its buckets do not come from those that it had";
        }
        if (HasFailure()) return;
      }
  }
}

// In pages, buckets of one slot and of several. What builds or lists its walks has the laws of that. Members of the family must
// tell more than the first one's leading digit, which those of hasher identity do not.
TEST_P(OnProbing, P56_UsesWholePages) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (Recipe recipe : variants(GetParam(), plugin))
    for (uint64_t slots : {0u, 1u, 4u}) {
      tsr_error error = {};
      recipe.page_bytes = 1024;
      recipe.stash = 50;
      recipe.capacity = 600;
      recipe.part[TSR_ROLE_HASHER] = "murmur3";
      if (slots) recipe.set(TSR_ROLE_LAYOUT, "bucket_slots", slots);
      if (!compose(recipe, 1, &error)) continue;
      Instance instance(recipe);
      const tsr_shape &shape = instance.composition->shape;
      if (!shape.is_paged || shape.pages < 2 || shape.build_pages || shape.has_lists) continue;
      SCOPED_TRACE(text_of(recipe));
      tsr_ctx c = instance.context();
      Findings findings;
      laws_of(recipe)->pages(&c, &findings);
      expect_none(findings.text());
      if (HasFailure()) return;
    }
}

// Tables filled to half, nearly full and overfull, then thinned out and filled again: every stored key is on its walk.
TEST_P(OnProbing, P23_P42_P43_P44_P46_P49_Placement) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  uint64_t stored = 0;
  for (Recipe recipe : variants(GetParam(), plugin)) {
    const uint32_t first = recipe.duplicates;
    if (recipe.is_filter && !recipe.parameters.empty()) continue; // which has to find room for all
    std::vector<uint32_t> policies = {TSR_DUPLICATES_PROMISE_UNIQUE, TSR_DUPLICATES_FIRST};
    if (recipe.is_filter) policies = {TSR_DUPLICATES_KEEP};
    for (uint32_t policy : policies) {
      if (first != TSR_DUPLICATES_FIRST && policy != first) continue; // it looks for no key
      recipe.duplicates = policy;
      recipe.capacity = 300;
      SCOPED_TRACE(text_of(recipe));
      tsr_error error = {};
      CompositionPointer composition = compose(recipe, 1, &error);
      ASSERT_NE(composition, nullptr);
      uint64_t slots = composition->shape.buckets * composition->shape.bucket_slots;
      LaneTable table(std::move(composition), 1);
      Oracle oracle(recipe.is_filter ? uint32_t{TSR_DUPLICATES_PROMISE_UNIQUE} : policy, recipe.value_bits);
      Random random(stored);
      auto insert = [&](uint64_t count) {
        Batch batch;
        std::set<uint64_t> fresh;
        while (fresh.size() < count) {
          uint64_t key = random.bits(recipe.key_bits);
          if (!oracle.has(key)) fresh.insert(key);
        }
        batch.keys.assign(fresh.begin(), fresh.end());
        batch.values.assign(count, 0);
        EXPECT_EQ(table.insert(batch), "");
        EXPECT_EQ(oracle.insert(batch), "");
      };
      auto look = [&](const char *when) {
        std::vector<uint64_t> keys;
        for (const auto &entry : oracle.all()) keys.push_back(entry.first);
        std::sort(keys.begin(), keys.end());
        stored += keys.size();
        tsr_cpu cpu = cpu_of(&table.composition(), nullptr);
        tsr_scratch scratch = {};
        tsr_ctx c = context_of(&table.state(), &cpu, 0, &scratch);
        Findings findings;
        laws_of(recipe)->placement(&c, keys, &findings);
        expect_none(findings.text(), when);
      };
      insert(slots / 2);
      look("half full");
      insert(slots * 4 / 10);
      look("nearly full");
      if (!recipe.is_filter) insert(slots * 3 / 10); // of a fingerprint that found no room nobody knows the key
      look("overfull");
      Batch gone;
      for (const auto &entry : oracle.all())
        if (entry.first % 3 == 0) gone.keys.push_back(entry.first);
      EXPECT_EQ(table.erase(gone), "");
      EXPECT_EQ(oracle.erase(gone), "");
      look("thinned out");
      insert(slots / 4);
      look("filled again");
      EXPECT_EQ(table.check(), "");
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(stored, 1000u);
}

// Only a scheme that says so reads what it keeps beside the pairs: else the walks of a find may be cut short.
TEST_P(OnProbing, P40_WhatReadsNotesSaysSo) {
  TSR_TRACE_SEED;
  for (Recipe recipe : all_recipes(GetParam())) {
    SCOPED_TRACE(text_of(recipe));
    Instance instance(recipe);
    ASSERT_NE(instance.composition, nullptr);
    if (instance.composition->shape.has_notes || tsr_is_whole(&instance.composition->shape)) continue;
    const tsr_part &part = instance.composition->part[TSR_ROLE_PROBING];
    tsr_ctx c = instance.context();
    std::vector<std::vector<uint64_t>> before, after;
    auto walks = [&](std::vector<std::vector<uint64_t>> *all) {
      for (uint64_t key = 0; key < 100; key++) all->push_back(laws_of(recipe)->walk(&c, key, 1000));
    };
    walks(&before);
    for (uint32_t i = 0; i < TSR_REGIONS_MAX && part.plan.regions[i].name; i++)
      memset(instance.memory->state().part[TSR_ROLE_PROBING].region[i], 0x0F,
             tsr_region_bytes(instance.composition.get(), &part.plan.regions[i]));
    walks(&after);
    EXPECT_EQ(before, after) << "walks depend on a region, but plan() does not say has_notes";
    if (HasFailure()) return;
  }
}

// One key fills a table to its capacity, or the scheme does not promise it and is refused.
TEST_P(OnProbing, P47_ManyPairsOfOneKey) {
  TSR_TRACE_SEED;
  for (Recipe recipe : working_recipes(GetParam())) {
    SCOPED_TRACE(text_of(recipe));
    tsr_error error = {};
    recipe.capacity = 300;
    CompositionPointer single = compose(recipe, 1, &error);
    ASSERT_NE(single, nullptr) << error.message;
    recipe.duplicates = TSR_DUPLICATES_KEEP;
    CompositionPointer composition = compose(recipe, 1, &error);
    ASSERT_EQ(composition != nullptr, single->shape.holds_many != 0) << error.message;
    if (!composition) {
      EXPECT_EQ(error.status, TSR_INCOMPATIBLE);
      expect_sentence(error, "a multimap");
      continue;
    }
    LaneTable table(std::move(composition), 1);
    Oracle oracle(recipe.duplicates, recipe.value_bits);
    Batch batch;
    for (uint64_t i = 0; i < recipe.capacity; i++) {
      batch.keys.push_back(4711);
      batch.values.push_back(recipe.value_bits ? i : 0);
    }
    EXPECT_EQ(table.insert(batch), "");
    EXPECT_EQ(batch.codes, std::vector<uint8_t>(recipe.capacity, TSR_INSERTED));
    EXPECT_EQ(oracle.insert(batch), "");
    Batch found;
    found.keys = {4711, 4712, 4711};
    EXPECT_EQ(table.count_all(found), "");
    EXPECT_EQ(oracle.count_all(found), "");
    if (!recipe.value_bits) continue;
    EXPECT_EQ(table.find_all(found, 2 * recipe.capacity), "");
    EXPECT_EQ(oracle.find_all(found), "");
  }
}

// ---- Eviction parts -----------------------------------------------------------------------------

// The functions of a part at one number of bits.
struct Scored {
  Instance instance;
  const tsr_eviction_functions *functions;
  tsr_ctx c;
  uint32_t max;

  explicit Scored(const Recipe &recipe)
      : instance(recipe), functions(static_cast<const tsr_eviction_functions *>(
                              instance.composition->part[TSR_ROLE_EVICTION].image->functions)),
        c(instance.context()), max(0xFFFFFFFFu >> (32 - instance.composition->shape.score_bits)) {}
  uint32_t inserted(uint32_t now, uint32_t given) const { return functions->inserted(&c, now, given); }
  uint32_t found(uint32_t score, uint32_t now, uint32_t given) const { return functions->found(&c, score, now, given); }
  uint32_t worth(uint32_t score, uint32_t now) const { return functions->worth(&c, score, now); }
};

// A pair's life: it is inserted, and found now and then, while the clock goes on.
void check_life(const Scored &s, Random *random, uint64_t *uses) {
  uint32_t now = static_cast<uint32_t>(1 + random->below(1u << random->below(31)));
  const uint32_t first = random->below(2) ? 0 : static_cast<uint32_t>(1 + random->below(1u << 20));
  uint32_t score = s.inserted(now, first);
  ASSERT_EQ(score, s.inserted(now, first)) << "P-70: equal arguments gave two scores";
  ASSERT_LE(score, s.max) << "P-70: a new score has more bits than score_bits";
  ASSERT_GT(s.worth(score, now), 0u) << "P-71: a new pair has expired";
  for (int use = 0; use < 20; use++) {
    now += static_cast<uint32_t>(random->below(50));
    const uint32_t worth = s.worth(score, now);
    ASSERT_EQ(worth, s.worth(score, now)) << "P-70: equal arguments gave two worths";
    if (!worth) { // it has expired, and is never found again
      ASSERT_TRUE(s.instance.composition->shape.expires) << "P-71: a pair is worth 0, and the fact expires is not set";
      return;
    }
    const uint32_t next = s.found(score, now, 0);
    ASSERT_EQ(next, s.found(score, now, 0)) << "P-70: equal arguments gave two scores";
    ASSERT_LE(next, s.max) << "P-70: the score of a use has more bits than score_bits";
    ASSERT_GE(s.worth(next, now), worth) << "P-72: a use without a score of the caller's makes a pair worth less";
    score = next;
    ++*uses;
  }
}

TEST_P(OnEviction, P70_P71_P72_Scores) {
  TSR_TRACE_SEED;
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  Random random{9};
  uint64_t uses = 0;
  for (Recipe recipe : all_recipes(GetParam()))
    for (uint64_t bits : {8, 16, 32}) {
      if (has_parameter(plugin, "score_bits")) recipe.set(TSR_ROLE_EVICTION, "score_bits", bits);
      SCOPED_TRACE(text_of(recipe));
      const Scored scored(recipe);
      for (int life = 0; life < 500; life++) ASSERT_NO_FATAL_FAILURE(check_life(scored, &random, &uses));
    }
  EXPECT_GT(uses, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Kit, OnEviction, testing::ValuesIn(subjects_of(TSR_ROLE_EVICTION)), plugin_test_name);
INSTANTIATE_TEST_SUITE_P(Kit, OnLayout, testing::ValuesIn(subjects_of(TSR_ROLE_LAYOUT)), plugin_test_name);
INSTANTIATE_TEST_SUITE_P(Kit, OnHasher, testing::ValuesIn(subjects_of(TSR_ROLE_HASHER)), plugin_test_name);
INSTANTIATE_TEST_SUITE_P(Kit, OnProbing, testing::ValuesIn(subjects_of(TSR_ROLE_PROBING)), plugin_test_name);
// One plugin tested alone has one role.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnLayout);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnHasher);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnProbing);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnEviction);

} // namespace
} // namespace tessera_test
