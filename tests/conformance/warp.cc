// SPDX-License-Identifier: Apache-2.0
//
// warp.h: lanes as coroutines, collectives as places where they take turns.
#include "tests/conformance/warp.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSR_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#define TSR_SCHEDULER __attribute__((no_sanitize("thread"))) // how lanes take turns is not theirs
#endif
#endif
#ifndef TSR_SCHEDULER
#define TSR_SCHEDULER
#endif

namespace tessera_test {

static constexpr size_t stack_bytes = 128 << 10, guard_bytes = 4 << 10;

// A stack and where on it to go on. The caller's is the thread's own.
struct Warp::Coroutine {
  ucontext_t context;
  const void *stack = nullptr;
  size_t bytes = 0;
  void *fiber = nullptr; // ThreadSanitizer's

  void give_stack() {
    void *start = mmap(nullptr, guard_bytes + stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start, guard_bytes, PROT_NONE)) abort();
    stack = static_cast<char *>(start) + guard_bytes;
    bytes = stack_bytes;
#ifdef TSR_THREAD_SANITIZER
    fiber = __tsan_create_fiber(0);
#endif
  }

  void take_stack() {
    munmap(static_cast<char *>(const_cast<void *>(stack)) - guard_bytes, guard_bytes + stack_bytes);
#ifdef TSR_THREAD_SANITIZER
    __tsan_destroy_fiber(fiber);
#endif
  }

  // Returns when somebody goes to this one again.
  TSR_SCHEDULER void go_to(Coroutine &other) {
#if defined(__SANITIZE_ADDRESS__)
    void *fake = nullptr;
    __sanitizer_start_switch_fiber(&fake, other.stack, other.bytes);
#elif defined(TSR_THREAD_SANITIZER)
    __tsan_switch_to_fiber(other.fiber, __tsan_switch_to_fiber_no_sync);
#endif
    swapcontext(&context, &other.context);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  }
};

Warp::Warp(uint32_t tile_lanes, uint32_t tiles)
    : services_{this, ballot, shuffle}, tile_lanes_(tile_lanes), lanes_(tile_lanes * tiles), coroutines_(lanes_ + 1) {
  for (uint32_t lane = 0; lane < lanes_; lane++) coroutines_[lane].give_stack();
}

Warp::~Warp() {
  for (uint32_t lane = 0; lane < lanes_; lane++) coroutines_[lane].take_stack();
}

void Warp::fail(const std::string &complaint) {
  if (complaint_.empty()) complaint_ = complaint;
  is_broken_.store(true);
  throw Broken();
}

// Whose turn it is after this lane: that of the next one that has not returned, else the caller's.
Warp::Coroutine &Warp::next_after(uint32_t lane) {
  for (uint32_t i = 1; i <= lanes_; i++) {
    const uint32_t next = (lane + i) % lanes_;
    if (!has_returned_[next].load()) return coroutines_[next];
  }
  return coroutines_[lanes_];
}

const Warp::Slot *Warp::meet(uint32_t lane, Kind kind, uint64_t value) {
  uint64_t turn = turn_[lane]++;
  Slot *slots = slots_[turn & 1];
  slots[lane] = {kind, value};
  if (arrived_.fetch_add(1) + 1 == (turn + 1) * lanes_)
    done_.store(turn + 1);
  else
    coroutines_[lane].go_to(next_after(lane));
  if (is_broken_.load()) throw Broken();
  // all others had their turn: who has not come here by now never will
  if (done_.load() <= turn)
    fail("a lane has returned while lane " + std::to_string(lane) + " waits in a " +
         (kind == BALLOT ? "ballot" : "shuffle"));
  for (uint32_t i = 0; i < lanes_; i++)
    if (slots[i].kind != kind)
      fail("lanes " + std::to_string(lane) + " and " + std::to_string(i) + " call different collectives in one step");
  return slots;
}

uint32_t Warp::ballot(void *self, uint32_t lane, uint32_t predicate) {
  Warp *warp = static_cast<Warp *>(self);
  const Slot *slots = warp->meet(lane, BALLOT, predicate);
  uint32_t bits = 0;
  for (uint32_t i = 0; i < warp->lanes_; i++) bits |= (slots[i].value != 0 ? 1u : 0u) << i;
  return bits;
}

uint64_t Warp::shuffle(void *self, uint32_t lane, uint64_t value, uint32_t from) {
  Warp *warp = static_cast<Warp *>(self);
  const Slot *slots = warp->meet(lane, SHUFFLE, value);
  const uint32_t lanes = warp->tile_lanes_, first = lane / lanes * lanes;
  if (from < first || from >= first + lanes)
    warp->fail("a shuffle from lane " + std::to_string(from - first) + " of " + std::to_string(lanes));
  return slots[from].value;
}

void Warp::run_lane(uint32_t lane) {
  if (!is_broken_.load()) { // which brings what the caller has written
    try {
      (*body_)(lane);
    } catch (const Broken &) {}
  }
  has_returned_[lane].store(true);
  Coroutine &self = coroutines_[lane], &next = next_after(lane);
  arrived_.fetch_add(0); // what this lane has read and written, for the caller
  self.go_to(next);
}

void Warp::lane_main(unsigned low, unsigned high, unsigned lane) {
  Warp *warp = reinterpret_cast<Warp *>(static_cast<uintptr_t>(high) << 32 | low);
#if defined(__SANITIZE_ADDRESS__)
  Coroutine &caller = warp->coroutines_[warp->lanes_]; // from which lane 0 comes
  __sanitizer_finish_switch_fiber(nullptr, lane ? nullptr : &caller.stack, lane ? nullptr : &caller.bytes);
#endif
  warp->run_lane(lane);
}

// A function of its own, for getcontext() might return twice.
void Warp::start(uint32_t lane) {
  ucontext_t &context = coroutines_[lane].context;
  getcontext(&context);
  context.uc_stack.ss_sp = const_cast<void *>(coroutines_[lane].stack);
  context.uc_stack.ss_size = coroutines_[lane].bytes;
  const uintptr_t self = reinterpret_cast<uintptr_t>(this);
  makecontext(&context, reinterpret_cast<void (*)()>(lane_main), 3, static_cast<unsigned>(self),
              static_cast<unsigned>(self >> 32), lane);
}

std::string Warp::run(const std::function<void(uint32_t lane)> &body) {
  Coroutine &caller = coroutines_[lanes_];
  body_ = &body;
  complaint_.clear();
  for (uint32_t lane = 0; lane < lanes_; lane++) {
    has_returned_[lane].store(false);
    turn_[lane] = done_.load();
    start(lane);
  }
#ifdef TSR_THREAD_SANITIZER
  caller.fiber = __tsan_get_current_fiber();
#endif
  arrived_.store(done_.load() * lanes_);
  is_broken_.store(false); // last: see run_lane
  caller.go_to(coroutines_[0]);
  arrived_.load();
  return complaint_;
}

} // namespace tessera_test
