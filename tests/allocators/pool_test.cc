// SPDX-License-Identifier: Apache-2.0
//
// Pools through tessera.h on the cpu backend, and what the single allocators promise beyond the laws: the bits of a
// handle, super blocks that come into use one by one, limits.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "core/compose/compose.h"
#include "core/cpu/pool.h"
#include "core/tessera_tools.h"
#include "plugins/allocator.cuh"
#include "tests/conformance/lanes.h"

namespace {

const char folder[] = "allocators";

std::string spec_text(const std::string &allocator, const std::string &parameters) {
  return "[table]\nbackend = cpu\nstatistics = yes\nallocator = " + allocator + "\n[allocator]\n" + parameters;
}

struct PoolFree {
  void operator()(tsr_pool *pool) const { tsr_pool_destroy(pool); }
};
using Pool = std::unique_ptr<tsr_pool, PoolFree>;

Pool make(const std::string &allocator, tsr_pool_options options, tsr_error *error,
          const std::string &parameters = "") {
  tsr_spec *spec = nullptr;
  tsr_pool *pool = nullptr;
  options.plugins = folder;
  EXPECT_EQ(tsr_spec_parse(spec_text(allocator, parameters).c_str(), "pool.ini", &spec, error), TSR_OK);
  tsr_status status = tsr_pool_create(spec, &options, &pool, error);
  EXPECT_EQ(status == TSR_OK, pool != nullptr);
  tsr_spec_free(spec);
  return Pool(pool);
}

tsr_pool_options options_of(uint64_t units, uint64_t items, uint32_t each = 1) {
  tsr_pool_options options = {};
  options.units = units;
  options.items = items;
  options.units_each = each;
  return options;
}

tsr_pool_result operate(const Pool &pool, int operation, bool checks = true) {
  tsr_pool_result result = {};
  tsr_error error = {};
  EXPECT_EQ(tsr_pool_operate(pool.get(), operation, checks, &result, &error), TSR_OK) << error.message;
  EXPECT_STREQ(result.complaint, "");
  return result;
}

uint64_t used(const Pool &pool) {
  uint64_t units = 0;
  tsr_error error = {};
  EXPECT_EQ(tsr_pool_used(pool.get(), &units, &error), TSR_OK) << error.message;
  return units;
}

uint64_t units_of(const Pool &pool) {
  tsr_pool_info info = {};
  tsr_pool_describe(pool.get(), &info);
  return info.units;
}

const char *const all[] = {"slab", "slab_light", "bump"};

TEST(Pools, AllocateReleaseChurn) {
  for (const char *name : all) {
    SCOPED_TRACE(name);
    tsr_error error = {};
    Pool pool = make(name, options_of(60000, 20000), &error);
    ASSERT_TRUE(pool) << error.message;
    tsr_pool_info info = {};
    tsr_pool_describe(pool.get(), &info);
    EXPECT_STREQ(info.allocator, name);
    EXPECT_STREQ(info.backend, "cpu");
    EXPECT_GE(info.units, 60000u);
    EXPECT_GE(info.bytes, info.units * info.unit_bytes);
    EXPECT_EQ(operate(pool, TSR_POOL_ALLOCATE).allocated, 20000u);
    EXPECT_EQ(used(pool), 20000u);
    tsr_pool_result churned = operate(pool, TSR_POOL_CHURN);
    EXPECT_EQ(churned.allocated + churned.exhausted, 20000u * TSR_POOL_ROUNDS);
    EXPECT_EQ(churned.exhausted == 0, info.reuses_units);
    tsr_pool_result released = operate(pool, TSR_POOL_RELEASE);
    EXPECT_EQ(used(pool) == 0, info.reuses_units);
    EXPECT_GT(released.released, 0u);
    ASSERT_EQ(tsr_pool_clear(pool.get(), &error), TSR_OK);
    EXPECT_EQ(used(pool), 0u);
  }
}

TEST(Pools, MallocInTheirPlace) {
  tsr_error error = {};
  tsr_pool_options options = options_of(5000, 5000, 3);
  options.system = true;
  Pool pool = make("slab", options, &error);
  ASSERT_TRUE(pool) << error.message;
  tsr_pool_info info = {};
  tsr_pool_describe(pool.get(), &info);
  EXPECT_STREQ(info.allocator, "malloc");
  EXPECT_EQ(operate(pool, TSR_POOL_ALLOCATE).allocated, 5000u);
  EXPECT_EQ(operate(pool, TSR_POOL_CHURN).allocated, 5000u * TSR_POOL_ROUNDS);
  EXPECT_EQ(operate(pool, TSR_POOL_RELEASE).released, 5000u);
  EXPECT_EQ(operate(pool, TSR_POOL_ALLOCATE).allocated, 5000u); // which destroying the pool frees
}

TEST(Pools, MallocNeedsAHeapThatCanBeCounted) {
  tsr_error error = {};
  tsr_pool_options options = options_of(5000, 5000, 1);
  options.system = true;
  options.items = uint64_t{1} << 36;
  options.units_each = 1u << 31;
  EXPECT_FALSE(make("slab", options, &error));
  EXPECT_EQ(error.status, TSR_NO_MEMORY);
  EXPECT_NE(std::string(error.message).find("no heap is so large: ask for fewer"), std::string::npos) << error.message;
}

TEST(Pools, ReserveKeepsPlaces) {
  for (const char *name : all) {
    SCOPED_TRACE(name);
    tsr_error error = {};
    Pool pool = make(name, options_of(1024, 4000), &error);
    ASSERT_TRUE(pool) << error.message;
    EXPECT_EQ(operate(pool, TSR_POOL_ALLOCATE).allocated, 1024u);
    ASSERT_EQ(tsr_pool_reserve(pool.get(), 2000, &error), TSR_OK) << error.message;
    uint64_t units = units_of(pool);
    EXPECT_GE(units, 3024u);
    EXPECT_EQ(used(pool), 1024u);
    ASSERT_EQ(tsr_pool_reserve(pool.get(), 1, &error), TSR_OK);
    EXPECT_EQ(units_of(pool), units) << "there was room";
    tsr_pool_result churned = operate(pool, TSR_POOL_CHURN); // checks the marks of the first 1024 first
    EXPECT_GE(churned.allocated, 2000u);
    ASSERT_EQ(tsr_pool_reserve(pool.get(), 9000, &error), TSR_OK) << error.message;
    uint64_t released = operate(pool, TSR_POOL_RELEASE).released;
    if (churned.exhausted == 0) {
      EXPECT_EQ(released, 4000u);
    }
  }
}

TEST(Pools, ReserveFailsAndLeavesThePoolAsItWas) {
  tsr_error error = {};
  Pool pool = make("slab_light", options_of(1024, 1000), &error);
  ASSERT_TRUE(pool) << error.message;
  EXPECT_EQ(operate(pool, TSR_POOL_ALLOCATE).allocated, 1000u);
  EXPECT_EQ(tsr_pool_reserve(pool.get(), 1ull << 26, &error), TSR_INCOMPATIBLE);
  EXPECT_NE(strstr(error.message, "4 GB"), nullptr) << error.message;
  EXPECT_EQ(units_of(pool), 1024u);
  EXPECT_EQ(operate(pool, TSR_POOL_CHURN).allocated, 1000u * TSR_POOL_ROUNDS);
}

TEST(Pools, RefuseWhatCannotBe) {
  tsr_error error = {};
  EXPECT_FALSE(make("slab", options_of(1024, 10, 33), &error));
  EXPECT_EQ(error.status, TSR_INCOMPATIBLE);
  EXPECT_NE(strstr(error.message, "at most 32 units at once"), nullptr) << error.message;
  EXPECT_FALSE(make("slab", options_of(1024, 0), &error));
  EXPECT_NE(strstr(error.message, "items = 0"), nullptr) << error.message;
  tsr_pool_options lanes = options_of(1024, 10);
  lanes.tile_lanes = 3;
  EXPECT_FALSE(make("slab", lanes, &error));
  EXPECT_NE(strstr(error.message, "tile_lanes = 3"), nullptr) << error.message;
  EXPECT_FALSE(make("slab", options_of(0, 10), &error));
  EXPECT_NE(strstr(error.message, "capacity is missing"), nullptr) << error.message;
  EXPECT_FALSE(make("slab", options_of(300000, 10), &error, "super_block_blocks = 1\n"));
  EXPECT_NE(strstr(error.message, "raise super_block_blocks"), nullptr) << error.message;
  EXPECT_FALSE(make("slab", options_of(1ull << 32, 10), &error, "super_block_blocks = 16384\n"));
  EXPECT_NE(strstr(error.message, "fewer units"), nullptr) << error.message;
  EXPECT_FALSE(make("slab_light", options_of((1ull << 25) + 1, 10), &error));
  EXPECT_NE(strstr(error.message, "4 GB"), nullptr) << error.message;
  EXPECT_FALSE(make("bump", options_of(1ull << 32, 10), &error));
  EXPECT_NE(strstr(error.message, "32 bits"), nullptr) << error.message;
  for (const char *line : {"unit_bytes = 96\n", "super_block_blocks = 3\n"}) {
    EXPECT_FALSE(make("slab", options_of(1024, 10), &error, line));
    EXPECT_EQ(error.status, TSR_INCOMPATIBLE) << error.message;
  }
  Pool pool = make("bump", options_of(100, 100), &error);
  ASSERT_TRUE(pool);
  operate(pool, TSR_POOL_ALLOCATE);
  tsr_pool_result result = {};
  EXPECT_EQ(tsr_pool_operate(pool.get(), TSR_POOL_ALLOCATE, false, &result, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_pool_operate(pool.get(), 3, false, &result, &error), TSR_BAD_ARGUMENT);
}

TEST(Pools, CheckShowsUnits) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  char *text = nullptr;
  tsr_options options = {};
  options.plugins = folder;
  options.capacity = 5000;
  ASSERT_EQ(tsr_spec_parse(spec_text("slab", "").c_str(), "pool.ini", &spec, &error), TSR_OK);
  ASSERT_EQ(tsr_spec_check(spec, &options, &text, &error), TSR_OK) << error.message;
  EXPECT_NE(strstr(text, "5120 of 128 bytes each"), nullptr) << text;
  EXPECT_NE(strstr(text, "unit bitmaps"), nullptr) << text;
  EXPECT_EQ(strstr(text, "pairs"), nullptr) << text;
  free(text);
  tsr_spec_free(spec);
}

// One thread in a composition of its own.
struct Hand {
  tessera_test::CompositionPointer composition;
  std::unique_ptr<tessera_test::Memory> memory;
  tsr_cpu cpu;
  tsr_scratch scratch = {};
  tsr_ctx c;

  Hand(const std::string &parameters, uint64_t units) {
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_options options = {};
    tsr_composition *made = nullptr;
    options.plugins = folder;
    options.capacity = units;
    EXPECT_EQ(tsr_spec_parse(spec_text("slab", parameters).c_str(), "hand.ini", &spec, &error), TSR_OK);
    EXPECT_EQ(tsr_compose_pool(spec, &options, 0, 1, &made, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
    composition.reset(made);
    memory = std::make_unique<tessera_test::Memory>(made);
    cpu = tessera_test::cpu_of(made, nullptr);
    c = tessera_test::context_of(&memory->state(), &cpu, 0, &scratch);
  }
};

// The paper's 8, 14 and 10 bits, whatever the size of a super block; addresses are without gaps.
TEST(Slab, HandlesHaveTheirBits) {
  for (uint32_t blocks : {1u, 4u}) {
    Hand hand("super_block_blocks = " + std::to_string(blocks) + "\nunit_bytes = 64\n", 11 * 1024);
    char *base = static_cast<char *>(hand.memory->state().part[TSR_ROLE_ALLOCATOR].region[1]);
    std::set<uint32_t> supers;
    for (uint32_t i = 0; i < 11 * 1024; i++) {
      uint32_t handle = allocator_allocate(&hand.c, i, 1);
      ASSERT_NE(handle, TSR_NO_HANDLE);
      uint32_t super = handle >> 24, block = handle >> 10 & 0x3FFF, unit = handle & 1023;
      supers.insert(super);
      EXPECT_LT(block, blocks);
      EXPECT_EQ(allocator_address(&hand.c, handle), base + ((super * blocks + block) * 1024 + unit) * 64);
      EXPECT_EQ(allocator_used(&hand.c, (super * blocks + block) * 1024 + unit), handle);
    }
    EXPECT_EQ(supers.size(), (11 + blocks - 1) / blocks);
    EXPECT_EQ(allocator_allocate(&hand.c, 1, 1), TSR_NO_HANDLE);
  }
}

// With one super block in use, the next one comes when that is full, and not much earlier.
TEST(Slab, SuperBlocksComeIntoUseOneByOne) {
  Hand hand("super_block_blocks = 2\nfirst_super_blocks = 1\n", 16 * 1024);
  uint32_t highest = 0;
  for (uint32_t i = 0; i < 16 * 1024; i++) {
    uint32_t handle = allocator_allocate(&hand.c, i * 32, 1);
    ASSERT_NE(handle, TSR_NO_HANDLE);
    if (handle >> 24 > highest) {
      EXPECT_EQ(handle >> 24, highest + 1);
      highest = handle >> 24;
      EXPECT_GE(i, highest * 2048 * 9 / 10) << "super block " << highest << " was taken into use too early";
    }
  }
  EXPECT_EQ(highest, 7u);
  EXPECT_GT(hand.scratch.key.changes, 0u);
}

// Consecutive numbers, as of a warp's lanes, share a memory block and start in different words of its bitmap.
TEST(Slab, ConsecutiveCallersShareABlock) {
  Hand hand("", 64 * 1024);
  for (uint32_t group = 0; group < 20; group++) {
    std::set<uint32_t> blocks, words;
    for (uint32_t lane = 0; lane < 32; lane++) {
      uint32_t handle = allocator_allocate(&hand.c, group * 32 + lane, 1);
      blocks.insert(handle >> 10);
      words.insert(handle >> 5);
    }
    EXPECT_EQ(blocks.size(), 1u);
    EXPECT_EQ(words.size(), 32u);
  }
}

// A bound on the blocks looked at ends an allocation early, and says so.
TEST(Slab, ABoundEndsTheSearch) {
  Hand hand("max_blocks = 3\nresident_changes = 1\nfirst_super_blocks = 256\n", 200 * 1024);
  uint32_t taken = 0;
  while (allocator_allocate(&hand.c, 0, 1) != TSR_NO_HANDLE) taken++;
  EXPECT_GE(taken, 3u * 1024);
  EXPECT_LE(taken, 8u * 1024) << "one caller, two rounds of two choices and three blocks";
}

} // namespace
