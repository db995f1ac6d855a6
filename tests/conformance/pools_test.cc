// SPDX-License-Identifier: Apache-2.0
//
// The laws of allocators (P-60 to P-65), on pools run by hand: tiles of 1, 2 and 8 lanes, several tiles at a time, in
// memory with guards. Overlap shows because every item writes its mark over its whole place and all are read back.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <set>
#include <sstream>
#include <thread>

#include "core/cpu/pool.h"
#include "plugins/allocator.cuh"
#include "tests/conformance/kit.h"
#include "tests/conformance/lanes.h"

namespace tessera_test {
namespace {

class OnAllocator : public OnPlugin {};

std::vector<PluginFile> allocators() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : subjects())
    if (file.role == tsr_role_names[TSR_ROLE_ALLOCATOR]) result.push_back(file);
  return result;
}

// "allocator.key = value" lines; "" = the defaults.
CompositionPointer compose_pool(const PluginFile &file, const std::string &parameters, uint64_t units, uint32_t lanes,
                                tsr_error *error) {
  std::string text = "[table]\nstatistics = yes\nallocator = " + file.name + "\n[allocator]\n" + parameters;
  std::string folders = plugin_directories();
  tsr_options options = {};
  options.plugins = folders.c_str();
  options.capacity = units;
  tsr_spec *spec = nullptr;
  tsr_composition *composition = nullptr;
  tsr_status status = tsr_spec_parse(text.c_str(), "pool.ini", &spec, error);
  if (status == TSR_OK) status = tsr_compose_pool(spec, &options, 0, lanes, &composition, error);
  tsr_spec_free(spec);
  return CompositionPointer(status == TSR_OK ? composition : nullptr);
}

// A pool and the places that its items hold.
class LanePool {
public:
  LanePool(CompositionPointer composition, uint32_t tiles, uint64_t items, uint32_t units_each)
      : composition_(std::move(composition)), memory_(std::make_unique<Memory>(composition_.get())),
        units_each_(units_each), places(items, TSR_NO_PLACE) {
    for (uint32_t i = 0; i < tiles; i++) tiles_.push_back(std::make_unique<Warp>(composition_->shape.tile_lanes));
  }

  const tsr_shape &shape() const { return composition_->shape; }
  void clear() {
    memory_->clear();
    std::fill(places.begin(), places.end(), TSR_NO_PLACE);
  }

  // Over all items, or over n units; every tile takes every tiles-th group of lanes.
  tsr_pool_tally run(uint32_t op, uint32_t rounds = 1, bool checks = true, uint64_t n = 0) {
    tsr_pool_tally tally = {};
    std::mutex hold;
    tsr_pool_run argument = {};
    argument.state = memory_->state();
    argument.n = n ? n : places.size();
    argument.places = places.data();
    argument.units = units_each_;
    argument.unit_bytes = shape().unit_bytes;
    argument.rounds = rounds;
    argument.checks = checks;
    uint32_t lanes = shape().tile_lanes;
    uint64_t groups = (argument.n + lanes - 1) / lanes;
    auto work = [&](size_t t) {
      tsr_cpu cpu = cpu_of(composition_.get(), tiles_[t]->services());
      std::string complaint = tiles_[t]->run([&](uint32_t lane) {
        tsr_pool_tally own = {};
        for (uint64_t group = t; group < groups; group += tiles_.size()) {
          tsr_scratch scratch = {};
          tsr_ctx c = context_of(&argument.state, &cpu, lane, &scratch);
          uint64_t item = group * lanes + lane;
          tsr_cpu_pool_parts.lane[op](&c, &argument, item, item < argument.n, &own);
        }
        std::lock_guard<std::mutex> one(hold);
        tally.hits += own.hits;
        tally.exhausted += own.exhausted;
        tally.wrong += own.wrong;
        tally.changes += own.changes;
      });
      EXPECT_EQ(complaint, "");
    };
    std::vector<std::thread> threads;
    for (size_t t = 1; t < tiles_.size(); t++) threads.emplace_back(work, t);
    work(0);
    for (std::thread &thread : threads) thread.join();
    EXPECT_EQ(memory_->check_guards(), "");
    return tally;
  }

  uint64_t used() { return run(TSR_POOL_count, 1, false, shape().units).hits; }
  uint64_t held() const {
    return places.size() - static_cast<uint64_t>(std::count(places.begin(), places.end(), TSR_NO_PLACE));
  }

  // Handles are distinct, and places can be written without touching another.
  void expect_apart() {
    std::set<uint64_t> distinct;
    for (uint64_t place : places)
      if (place != TSR_NO_PLACE) {
        EXPECT_TRUE(distinct.insert(place).second) << "handle " << place << " was handed out twice";
      }
    EXPECT_EQ(run(TSR_POOL_stamp).hits, distinct.size());
    EXPECT_EQ(run(TSR_POOL_verify).wrong, 0u) << "places overlap";
  }

  // What the core does between batches: longer regions with the old prefix.
  void grow(CompositionPointer next) {
    auto grown = std::make_unique<Memory>(next.get());
    const tsr_plan &old = composition_->part[TSR_ROLE_ALLOCATOR].plan;
    for (uint32_t i = 0; i < TSR_REGIONS_MAX && old.regions[i].name; i++)
      memcpy(grown->state().part[TSR_ROLE_ALLOCATOR].region[i], memory_->state().part[TSR_ROLE_ALLOCATOR].region[i],
             tsr_region_bytes(composition_.get(), &old.regions[i]));
    memory_ = std::move(grown);
    composition_ = std::move(next);
  }

private:
  CompositionPointer composition_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Warp>> tiles_;
  uint32_t units_each_;

public:
  std::vector<uint64_t> places;
};

struct Shape {
  uint32_t lanes, tiles;
};
constexpr Shape all_shapes[] = {{1, 1}, {1, 4}, {2, 2}, {8, 1}};

void each_shape(const PluginFile &file, uint64_t units,
                const std::function<void(const Shape &, CompositionPointer)> &body) {
  for (const Shape &shape : all_shapes) {
    SCOPED_TRACE(std::to_string(shape.lanes) + " lanes, " + std::to_string(shape.tiles) + " tiles");
    tsr_error error = {};
    CompositionPointer composition = compose_pool(file, "", units, shape.lanes, &error);
    ASSERT_NE(composition, nullptr) << error.message;
    body(shape, std::move(composition));
  }
}

TEST_P(OnAllocator, P60_P61_P62_AllUnitsAreHandedOutOnceAndExhaustionEnds) {
  each_shape(GetParam(), 3000, [](const Shape &shape, CompositionPointer composition) {
    uint64_t units = composition->shape.units;
    ASSERT_GE(units, 3000u);
    ASSERT_EQ(composition->shape.unit_bytes % 16, 0u);
    LanePool pool(std::move(composition), shape.tiles, units + 40, 1); // 40 have to go without
    tsr_pool_tally tally = pool.run(TSR_POOL_allocate);
    EXPECT_EQ(tally.hits, units);
    EXPECT_EQ(tally.exhausted, 40u);
    EXPECT_EQ(pool.held(), units);
    EXPECT_EQ(pool.used(), units);
    pool.expect_apart();
    std::vector<uint64_t> before = pool.places;
    tally = pool.run(TSR_POOL_release);
    EXPECT_EQ(tally.hits, units);
    EXPECT_EQ(pool.held(), 0u);
    bool reuses = pool.shape().reuses_units;
    EXPECT_EQ(pool.used(), reuses ? 0 : units);
    tally = pool.run(TSR_POOL_allocate);
    EXPECT_EQ(tally.hits, reuses ? units : 0);
    pool.expect_apart();
    pool.clear();
    EXPECT_EQ(pool.used(), 0u);
    EXPECT_EQ(pool.run(TSR_POOL_allocate).hits, units);
  });
}

TEST_P(OnAllocator, P61_UsedNamesEveryHandleInUse) {
  tsr_error error = {};
  CompositionPointer composition = compose_pool(GetParam(), "", 2000, 1, &error);
  ASSERT_NE(composition, nullptr) << error.message;
  Memory memory(composition.get());
  tsr_cpu cpu = cpu_of(composition.get(), nullptr);
  tsr_scratch scratch = {};
  tsr_ctx context = context_of(&memory.state(), &cpu, 0, &scratch), *c = &context;
  std::set<uint32_t> taken, named;
  std::set<void *> addresses;
  for (uint64_t i = 0; i < 700; i++) {
    uint32_t handle = allocator_allocate(c, i * 37, 1);
    ASSERT_NE(handle, TSR_NO_HANDLE);
    EXPECT_TRUE(taken.insert(handle).second);
    EXPECT_TRUE(addresses.insert(allocator_address(c, handle)).second);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(allocator_address(c, handle)) % 16, 0u);
  }
  for (uint64_t unit = 0; unit < composition->shape.units; unit++) {
    uint32_t handle = allocator_used(c, unit);
    if (handle != TSR_NO_HANDLE) {
      EXPECT_TRUE(named.insert(handle).second);
    }
  }
  EXPECT_EQ(named, taken);
  EXPECT_EQ(allocator_allocate(c, 0, 0), TSR_NO_HANDLE) << "no units are no handle";
}

// Items give their place back and take another, against each other, in a pool with hardly more units than items: who
// gets a unit finds his own mark in it until he gives it back. ThreadSanitizer sees that one owner's writes come before
// the next one's.
TEST_P(OnAllocator, P61_P64_OneOwnerAfterAnother) {
  each_shape(GetParam(), 1024, [](const Shape &shape, CompositionPointer composition) {
    uint64_t units = composition->shape.units;
    const uint32_t rounds = composition->shape.reuses_units ? static_cast<uint32_t>(scaled(12, 4)) : 1;
    LanePool pool(std::move(composition), shape.tiles, units - 24, 1);
    tsr_pool_tally tally = pool.run(TSR_POOL_churn, rounds);
    EXPECT_EQ(tally.wrong, 0u);
    EXPECT_EQ(tally.exhausted, 0u) << "an item fewer than units always finds one";
    EXPECT_EQ(pool.held(), units - 24);
    pool.expect_apart();
  });
}

// ---- A thread that stands still ------------------------------------------------------------------

constexpr std::chrono::seconds patience{20};
std::atomic<uint32_t> stands_still, may_go_on;

// Async-signal-safe: lock-free atomics and sched_yield.
void stand_still(int) {
  stands_still = 1;
  while (!may_go_on) sched_yield();
}

// A pool whose owners mark their units, and see the mark of another.
class MarkedPool {
public:
  explicit MarkedPool(const tsr_composition *composition)
      : memory_(composition), cpu_(cpu_of(composition, nullptr)), owners_(composition->shape.units) {
    tsr_ctx c = context();
    for (uint32_t unit; (unit = allocator_allocate(&c, 0, 1)) != TSR_NO_HANDLE;) units_.push_back(unit);
    for (uint32_t unit : units_) allocator_release(&c, unit, 1);
    std::sort(units_.begin(), units_.end());
  }
  tsr_ctx context() { return context_of(&memory_.state(), &cpu_, 0, &scratch_); }

  uint32_t take(const tsr_ctx *c) {
    const uint32_t unit = allocator_allocate(c, 0, 1);
    if (unit != TSR_NO_HANDLE && owner_of(unit)->exchange(1)) twice = unit;
    return unit;
  }
  void give(const tsr_ctx *c, uint32_t unit) {
    if (unit == TSR_NO_HANDLE) return;
    *owner_of(unit) = 0;
    allocator_release(c, unit, 1);
  }

  std::atomic<uint32_t> twice{TSR_NO_HANDLE}; // a unit that had two owners

private:
  std::atomic<uint32_t> *owner_of(uint32_t unit) {
    const auto at = std::lower_bound(units_.begin(), units_.end(), unit) - units_.begin();
    return &owners_[static_cast<size_t>(at) % owners_.size()];
  }

  Memory memory_;
  tsr_cpu cpu_;
  tsr_scratch scratch_ = {};
  std::vector<uint32_t> units_; // sorted
  std::vector<std::atomic<uint32_t>> owners_;
};

// A thread takes units and gives them back. It is stopped somewhere in that, again and again. Meanwhile another takes some units
// and gives back all but the second: what the first one has read of the pool is there again, and yet is another (ABA).
void let_one_stand_still(const tsr_composition *composition, uint64_t rounds) {
  MarkedPool pool(composition);
  std::atomic<bool> is_over{false};
  std::atomic<uint64_t> turns{0};
  void (*before)(int) = std::signal(SIGUSR2, stand_still);
  std::thread stopped([&] {
    const tsr_ctx c = pool.context();
    for (; !is_over; turns++) pool.give(&c, pool.take(&c));
  });
  const tsr_ctx c = pool.context();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t round = 0; round < rounds && pool.twice == TSR_NO_HANDLE; round++) {
    if (std::chrono::steady_clock::now() - start > patience) break; // a machine that is busy with other things
    uint32_t taken[4];
    const uint32_t most = 2 + static_cast<uint32_t>(round % 3);
    stands_still = may_go_on = 0;
    pthread_kill(stopped.native_handle(), SIGUSR2);
    while (!stands_still) sched_yield();
    for (uint32_t i = 0; i < most; i++) taken[i] = pool.take(&c);
    for (uint32_t i = most; i-- > 0;) // the first one last: a stack has it on top again
      if (i != 1) pool.give(&c, taken[i]);
    const uint64_t until = turns + 20;
    may_go_on = 1;
    while (turns < until) sched_yield();
    pool.give(&c, taken[1]);
  }
  is_over = true;
  stopped.join();
  std::signal(SIGUSR2, before);
  EXPECT_EQ(pool.twice, TSR_NO_HANDLE) << "is a unit that two owners had at once, after a thread that was stopped "
                                          "inside an allocation or a release went on: "
                                          "it took what it had read before for what is there now (ABA)";
}

// At the default, and with each parameter at its minimum, where threads meet most.
void let_one_stand_still(const PluginFile &file, uint64_t rounds) {
  const tsr_plugin *plugin = loaded(file);
  ASSERT_NE(plugin, nullptr);
  std::vector<std::string> lines = {""};
  for (const tsr_parameter *row = plugin->parameters; row->name; row++)
    lines.push_back(std::string(row->name) + " = " + std::to_string(row->minimum) + "\n");
  for (const std::string &line : lines) {
    SCOPED_TRACE(line);
    tsr_error error = {};
    CompositionPointer composition = compose_pool(file, line, 64, 1, &error);
    if (composition && composition->shape.reuses_units) let_one_stand_still(composition.get(), rounds);
    if (testing::Test::HasFailure()) return;
  }
}

TEST_P(OnAllocator, P61_OneOwnerWhileAnotherThreadStandsStill) {
  TSR_TRACE_SEED;
  let_one_stand_still(GetParam(), scaled(500, 10));
}

class OnAllocatorUnderStress : public OnAllocator {};

TEST_P(OnAllocatorUnderStress, P61_OneOwnerWhileAnotherThreadStandsStill) {
  TSR_TRACE_SEED;
  let_one_stand_still(GetParam(), 20000);
}

TEST_P(OnAllocator, P65_RunsAreConsecutive) {
  for (uint32_t each : {2u, 3u, 7u, 16u, 31u, 32u, 33u, 100u})
    each_shape(GetParam(), 4096, [&](const Shape &shape, CompositionPointer composition) {
      if (shape.lanes == 8 && sanitized) return;
      SCOPED_TRACE(std::to_string(each) + " units");
      uint64_t units = composition->shape.units;
      uint32_t most = composition->shape.units_at_once;
      LanePool pool(std::move(composition), shape.tiles, units / each / 2, each);
      tsr_pool_tally tally = pool.run(TSR_POOL_allocate);
      EXPECT_EQ(tally.hits, each <= most ? pool.places.size() : 0) << "half of the pool is free";
      EXPECT_EQ(pool.used(), tally.hits * each);
      pool.expect_apart();
      if (!pool.shape().reuses_units) return;
      EXPECT_EQ(pool.run(TSR_POOL_churn, 3).wrong, 0u);
      pool.expect_apart();
      pool.run(TSR_POOL_release);
      EXPECT_EQ(pool.used(), 0u);
    });
}

TEST_P(OnAllocator, P63_GrowthKeepsHandles) {
  for (uint64_t larger : {2049u, 5000u, 40000u})
    each_shape(GetParam(), 2000, [&](const Shape &shape, CompositionPointer composition) {
      tsr_error error = {};
      CompositionPointer next = compose_pool(GetParam(), "", larger, shape.lanes, &error);
      ASSERT_NE(next, nullptr) << error.message;
      const tsr_part &a = composition->part[TSR_ROLE_ALLOCATOR], &b = next->part[TSR_ROLE_ALLOCATOR];
      for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++) {
        const tsr_region &x = a.plan.regions[i], &y = b.plan.regions[i];
        ASSERT_EQ(x.name == nullptr, y.name == nullptr) << "region " << i;
        if (!x.name) break;
        EXPECT_EQ(x.fill, y.fill) << x.name;
        EXPECT_LE(tsr_region_bytes(composition.get(), &x), tsr_region_bytes(next.get(), &y)) << x.name;
      }
      EXPECT_EQ(composition->shape.unit_bytes, next->shape.unit_bytes);
      EXPECT_EQ(composition->shape.units_at_once, next->shape.units_at_once);
      EXPECT_EQ(composition->shape.reuses_units, next->shape.reuses_units);
      uint64_t units = composition->shape.units, more = next->shape.units;
      ASSERT_GT(more, units);
      if ((sanitized || (shape.lanes > 1 && draws())) && more > 10000) return;
      LanePool pool(std::move(composition), shape.tiles, units + 10, 1);
      EXPECT_EQ(pool.run(TSR_POOL_allocate).hits, units) << "it is exhausted before it grows";
      pool.expect_apart();
      pool.grow(std::move(next));
      EXPECT_EQ(pool.used(), units);
      EXPECT_EQ(pool.run(TSR_POOL_verify).wrong, 0u) << "a place has moved or was overwritten";
      std::vector<uint64_t> kept = pool.places;
      pool.places.assign(more - units + 5, TSR_NO_PLACE);
      EXPECT_EQ(pool.run(TSR_POOL_allocate).hits, more - units) << "all new units, and no old one";
      pool.places.insert(pool.places.end(), kept.begin(), kept.end());
      pool.expect_apart();
    });
}

// Small super blocks, few choices and the like: whatever the parameters, the laws of handing out hold.
TEST_P(OnAllocator, P60_P61_P62_AtEveryBoundOfItsParameters) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (const tsr_parameter *row = plugin->parameters; row->name; row++)
    for (uint64_t value : {row->minimum, row->minimum + 1, 2 * row->minimum, row->maximum}) {
      std::string line = std::string(row->name) + " = " + std::to_string(value) + "\n";
      SCOPED_TRACE(line);
      tsr_error error = {};
      CompositionPointer composition =
          value <= row->maximum ? compose_pool(GetParam(), line, 7000, 1, &error) : nullptr;
      if (!composition) continue; // the parameters' own tests look at refusals
      uint64_t units = composition->shape.units;
      LanePool pool(std::move(composition), 3, units + 3, 1);
      tsr_pool_tally tally = pool.run(TSR_POOL_allocate);
      EXPECT_EQ(tally.hits + tally.exhausted, units + 3);
      // a bound on the time of an allocation may leave units behind; without one all are found
      EXPECT_GE(tally.hits, value == 1 ? units / 2 : units);
      pool.expect_apart();
    }
}

INSTANTIATE_TEST_SUITE_P(Kit, OnAllocator, testing::ValuesIn(allocators()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnAllocator);

std::vector<PluginFile> stressed_allocators() { return level() == "stress" ? allocators() : std::vector<PluginFile>{}; }
INSTANTIATE_TEST_SUITE_P(Kit, OnAllocatorUnderStress, testing::ValuesIn(stressed_allocators()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnAllocatorUnderStress);

} // namespace
} // namespace tessera_test
