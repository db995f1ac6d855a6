// SPDX-License-Identifier: Apache-2.0
//
// tile.h: collectives as barriers of threads.
#include "tests/conformance/tile.h"

#include <chrono>
#include <thread>
#include <vector>

namespace tessera_test {

Tile::Tile(uint32_t lanes, double timeout_seconds)
    : services_{this, ballot, shuffle}, lanes_(lanes), timeout_(timeout_seconds) {}

void Tile::fail(const std::string &complaint) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    if (complaint_.empty()) complaint_ = complaint;
  }
  broken_.store(true);
  throw Broken();
}

void Tile::wait(uint32_t lane, uint64_t turn, Kind kind) {
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

const Tile::Slot *Tile::meet(uint32_t lane, Kind kind, uint64_t value) {
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

uint32_t Tile::ballot(void *self, uint32_t lane, uint32_t predicate) {
  Tile *tile = static_cast<Tile *>(self);
  const Slot *slots = tile->meet(lane, BALLOT, predicate);
  uint32_t mask = 0;
  for (uint32_t i = 0; i < tile->lanes_; i++) mask |= (slots[i].value != 0 ? 1u : 0u) << i;
  return mask;
}

uint64_t Tile::shuffle(void *self, uint32_t lane, uint64_t value, uint32_t from) {
  Tile *tile = static_cast<Tile *>(self);
  const Slot *slots = tile->meet(lane, SHUFFLE, value);
  if (from >= tile->lanes_)
    tile->fail("a shuffle from lane " + std::to_string(from) + " of " + std::to_string(tile->lanes_));
  return slots[from].value;
}

std::string Tile::run(const std::function<void(uint32_t lane)> &body) {
  uint64_t turn = done_.load();
  arrived_.store(turn * lanes_);
  returned_.store(0);
  broken_.store(false);
  complaint_.clear();
  auto lane_body = [&](uint32_t lane) {
    turn_[lane] = turn;
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
