// SPDX-License-Identifier: Apache-2.0
//
// Nobody waits: a thread that is stopped anywhere inside an insert holds up no other one. On a GPU the thread that is
// waited for may be another lane of the same warp, which runs no further while this one loops; on a CPU such a loop is
// only slow, so that no other test sees it. Waiting for a key's lock is the walk's alone (P-23), hence
// promise_unique, where nothing is locked. Read next: lanes.h.
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

#include "tests/conformance/lanes.h"

namespace tessera_test {
namespace {

class OnWaiting : public OnPlugin {};

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds patience{20}; // for microseconds of work, on a machine that is busy with other things

std::atomic<uint32_t> is_stopped, may_go_on;

// Async-signal-safe: lock-free atomics and sched_yield.
void stop_here(int) {
  is_stopped = 1;
  while (!may_go_on) sched_yield();
}

// Inserts random keys, one after the other, on a tile of one lane. Allocates nothing while it does: a thread that stops
// in malloc holds up others as well.
class Inserter {
public:
  // stream: 0 or 1. Keys of one inserter are even, of the other odd; repeats are too rare to matter.
  Inserter(const tsr_composition *composition, const Memory *memory, uint64_t round, uint64_t stream, uint64_t count)
      : functions_(tsr_cpu_bulk_for(composition->shape.key_bits, composition->shape.payload_bits)),
        cpu_(cpu_of(composition, nullptr)), keys_(composition->shape.key_bits, count),
        values_(composition->shape.value_bits, count) {
    std::vector<uint64_t> keys;
    Random random(2 * round + stream);
    for (uint64_t i = 0; i < count; i++)
      keys.push_back((random.bits(composition->shape.key_bits) & ~uint64_t{1}) | stream);
    keys_ = Keys(composition->shape.key_bits, keys);
    bulk_.state = memory->state();
    bulk_.tally = &tally_;
    bulk_.n = count;
    bulk_.keys = keys_.data();
    bulk_.values = values_.data();
  }

  void insert() {
    tsr_ctx c = context_of(&bulk_.state, &cpu_, 0, &scratch_);
    for (uint64_t i = 0; i < bulk_.n; i++) functions_->lane[TSR_BULK_insert](&c, &bulk_, i, true, &tally_);
  }

private:
  const tsr_cpu_bulk *functions_;
  tsr_cpu cpu_;
  Keys keys_;
  Array values_;
  tsr_bulk bulk_ = {};
  tsr_tally tally_ = {};
  tsr_scratch scratch_ = {};
};

// Whether the second thread was done while the first one stood still somewhere in its inserts.
bool goes_on_without(const tsr_composition *composition, uint64_t round, uint64_t count) {
  Memory memory(composition);
  Inserter first(composition, &memory, round, 0, count), second(composition, &memory, round, 1, count);
  std::atomic<bool> has_begun{false}, first_is_done{false}, second_is_done{false};
  is_stopped = may_go_on = 0;
  std::thread stopped([&] {
    has_begun = true;
    first.insert();
    first_is_done = true;
    while (!is_stopped) sched_yield(); // the signal comes, if late
  });
  while (!has_begun) sched_yield();
  for (uint64_t spin = Random(round).below(20000); spin > 0 && !first_is_done; spin--)
    std::atomic_signal_fence(std::memory_order_seq_cst);
  pthread_kill(stopped.native_handle(), SIGUSR1);
  while (!is_stopped) sched_yield();
  std::thread other([&] {
    second.insert();
    second_is_done = true;
  });
  const auto start = Clock::now();
  while (!second_is_done && Clock::now() - start < patience) sched_yield();
  const bool went_on = second_is_done;
  may_go_on = 1;
  stopped.join();
  other.join();
  return went_on;
}

TEST_P(OnWaiting, P23_NobodyWaitsForAThreadThatStoppedInAnInsert) {
  TSR_TRACE_SEED;
  std::vector<Recipe> recipes = all_recipes(GetParam());
  if (recipes.empty()) return; // which has failed the test
  void (*before)(int) = std::signal(SIGUSR1, stop_here);
  for (Recipe recipe : {recipes.front(), recipes.back()}) {
    recipe.duplicates = TSR_DUPLICATES_PROMISE_UNIQUE;
    recipe.capacity = 500;
    std::ostringstream text;
    text << recipe;
    SCOPED_TRACE(text.str());
    tsr_error error = {};
    CompositionPointer composition = compose(recipe, 1, &error);
    ASSERT_NE(composition, nullptr) << error.message;
    if (composition->shape.has_link) continue; // who needs a unit waits for the tile that appends it, as for a lock
    for (uint64_t round = 0; round < scaled(500, 15); round++)
      if (!goes_on_without(composition.get(), round, recipe.capacity / 2)) {
        ADD_FAILURE() << "in round " << round << " an insert waited until another thread, which was stopped in the "
                      << "middle of its own, ran again: a loop of the part waits for somebody else";
        break;
      }
  }
  std::signal(SIGUSR1, before);
}

std::vector<PluginFile> bucketed() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : subjects())
    if (file.role == tsr_role_names[TSR_ROLE_LAYOUT] || file.role == tsr_role_names[TSR_ROLE_PROBING])
      result.push_back(file);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Kit, OnWaiting, testing::ValuesIn(bucketed()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnWaiting);

} // namespace
} // namespace tessera_test
