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
  groups_[0].first = 0;
  groups_[0].lanes = lanes_;
  for (uint32_t tile = 0; tile < tiles; tile++) {
    groups_[1 + tile].first = tile * tile_lanes;
    groups_[1 + tile].lanes = tile_lanes;
  }
}

void Warp::fail(const std::string &complaint) {
  {
    std::lock_guard<std::mutex> hold(mutex_);
    if (complaint_.empty()) complaint_ = complaint;
  }
  broken_.store(true);
  throw Broken();
}

void Warp::wait(Group &group, uint32_t lane, uint64_t turn, Kind kind) {
  const char *where = kind == BALLOT ? " waits in a ballot" : " waits in a shuffle";
  auto start = std::chrono::steady_clock::now();
  for (uint32_t spin = 1; group.done.load(std::memory_order_acquire) <= turn; spin++) {
    if (broken_.load()) throw Broken();
    // a lane that has returned never came to this collective: it returned before, or the collective would be done
    if (group.returned.load() && group.done.load() <= turn)
      fail("a lane has returned while lane " + std::to_string(lane) + where);
    if (spin % 64) continue;
    std::this_thread::yield();
    if (spin % 4096 == 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(timeout_))
      fail("lane " + std::to_string(lane) + where + ", and another lane does not arrive");
  }
}

// The mask is the warp's, or of the lane's tile.
Warp::Group &Warp::group_of(uint32_t lane, uint32_t mask) {
  const uint64_t all = (uint64_t{1} << lanes_) - 1;
  if ((mask & all) == all) return groups_[0];
  Group &tile = groups_[1 + lane / tile_lanes_];
  const uint64_t own = ((uint64_t{1} << tile_lanes_) - 1) << tile.first;
  if (mask != own) fail("lane " + std::to_string(lane) + " names the lanes " + std::to_string(mask));
  return tile;
}

const Warp::Slot *Warp::meet(Group &group, uint32_t lane, Kind kind, uint64_t value) {
  uint64_t turn = group.turn[lane]++;
  Slot *slots = group.slots[turn & 1];
  slots[lane] = {kind, value};
  if (group.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == (turn + 1) * group.lanes)
    group.done.store(turn + 1, std::memory_order_release);
  else
    wait(group, lane, turn, kind);
  for (uint32_t i = group.first; i < group.first + group.lanes; i++)
    if (slots[i].kind != kind)
      fail("lanes " + std::to_string(lane) + " and " + std::to_string(i) + " call different collectives in one step");
  return slots;
}

uint32_t Warp::ballot(void *self, uint32_t lane, uint32_t mask, uint32_t predicate) {
  Warp *warp = static_cast<Warp *>(self);
  Group &group = warp->group_of(lane, mask);
  const Slot *slots = warp->meet(group, lane, BALLOT, predicate);
  uint32_t bits = 0;
  for (uint32_t i = group.first; i < group.first + group.lanes; i++) bits |= (slots[i].value != 0 ? 1u : 0u) << i;
  return bits;
}

uint64_t Warp::shuffle(void *self, uint32_t lane, uint32_t mask, uint64_t value, uint32_t from) {
  Warp *warp = static_cast<Warp *>(self);
  const Slot *slots = warp->meet(warp->group_of(lane, mask), lane, SHUFFLE, value);
  const uint32_t lanes = warp->tile_lanes_, first = lane / lanes * lanes;
  if (from < first || from >= first + lanes)
    warp->fail("a shuffle from lane " + std::to_string(from - first) + " of " + std::to_string(lanes));
  return slots[from].value;
}

uint64_t Warp::collectives() const {
  uint64_t sum = 0;
  for (const Group &group : groups_) sum += group.done.load();
  return sum;
}

std::string Warp::run(const std::function<void(uint32_t lane)> &body) {
  for (Group &group : groups_) {
    group.arrived.store(group.done.load() * group.lanes);
    group.returned.store(0);
    for (uint64_t &turn : group.turn) turn = group.done.load();
  }
  broken_.store(false);
  complaint_.clear();
  auto lane_body = [&](uint32_t lane) {
    try {
      body(lane);
    } catch (const Broken &) {}
    groups_[0].returned.fetch_add(1);
    groups_[1 + lane / tile_lanes_].returned.fetch_add(1);
  };
  std::vector<std::thread> threads;
  for (uint32_t lane = 1; lane < lanes_; lane++) threads.emplace_back(lane_body, lane);
  lane_body(0);
  for (std::thread &thread : threads) thread.join();
  return complaint_;
}

} // namespace tessera_test
