// SPDX-License-Identifier: Apache-2.0
//
// warp.h: collectives as barriers of threads.
#include "tests/conformance/warp.h"

#include <chrono>
#include <thread>
#include <vector>

namespace tessera_test {

Warp::Warp(uint32_t tile_lanes, uint32_t tiles, double timeout_seconds)
    : services_{this, ballot, shuffle}, tile_lanes_(tile_lanes), lanes_(tile_lanes * tiles), timeout_(timeout_seconds) {
}

void Warp::fail(const std::string &complaint) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    if (complaint_.empty()) complaint_ = complaint;
  }
  broken_.store(true);
  throw Broken();
}

void Warp::wait(uint32_t lane, uint64_t turn, Kind kind) {
  const char *where = kind == BALLOT ? " waits in a ballot" : " waits in a shuffle";
  auto start = std::chrono::steady_clock::now();
  for (uint32_t spin = 1; done_.load(std::memory_order_acquire) <= turn; spin++) {
    if (broken_.load()) throw Broken();
    // a lane that has returned never came to this collective: it returned before, or the collective would be done
    if (returned_.load() && done_.load() <= turn)
      fail("a lane has returned while lane " + std::to_string(lane) + where);
    if (spin % 64) continue;
    std::this_thread::yield();
    if (spin % 4096 == 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(timeout_))
      fail("lane " + std::to_string(lane) + where + ", and another lane does not arrive");
  }
}

const Warp::Slot *Warp::meet(uint32_t lane, Kind kind, uint64_t value) {
  uint64_t turn = turn_[lane]++;
  Slot *slots = slots_[turn & 1];
  slots[lane] = {kind, value};
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == (turn + 1) * lanes_)
    done_.store(turn + 1, std::memory_order_release);
  else
    wait(lane, turn, kind);
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

uint64_t Warp::collectives() const { return done_.load(); }

std::string Warp::run(const std::function<void(uint32_t lane)> &body) {
  arrived_.store(done_.load() * lanes_);
  returned_.store(0);
  for (uint64_t &turn : turn_) turn = done_.load();
  broken_.store(false);
  complaint_.clear();
  auto lane_body = [&](uint32_t lane) {
    try {
      body(lane);
    } catch (const Broken &) {}
    returned_.fetch_add(1);
  };
  std::vector<std::thread> threads;
  for (uint32_t lane = 1; lane < lanes_; lane++) threads.emplace_back(lane_body, lane);
  lane_body(0);
  for (std::thread &thread : threads) thread.join();
  return complaint_;
}

} // namespace tessera_test
