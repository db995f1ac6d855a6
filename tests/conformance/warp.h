// SPDX-License-Identifier: Apache-2.0
//
// A warp on the CPU: tiles of several lanes, one thread each, ballot and shuffle as barriers of the whole warp. What a GPU
// would hang on or answer with garbage is an error here: a lane that does not arrive, lanes that call different
// collectives, a shuffle from another tile. Read next: lanes.h, which runs tables on warps.
#ifndef TSR_TESTS_WARP_H
#define TSR_TESTS_WARP_H

#include <atomic>
#include <functional>
#include <mutex>
#include <string>

#include "plugins/probing.cuh"

namespace tessera_test {

class Warp {
public:
  explicit Warp(uint32_t tile_lanes, uint32_t tiles = 1, double timeout_seconds = 30);
  Warp(const Warp &) = delete;

  // Calls body(lane) on a thread for each lane of the warp and waits. Returns what went wrong, or "".
  std::string run(const std::function<void(uint32_t lane)> &body);

  uint32_t lanes() const { return lanes_; }
  uint32_t tile_lanes() const { return tile_lanes_; }
  const tsr_tile_services *services() const { return &services_; }
  uint64_t collectives() const; // of all runs

private:
  struct Broken {}; // thrown in every lane once the warp has failed
  enum Kind { BALLOT, SHUFFLE };

  // What a lane brings to a collective; two sets, because a fast lane may be one collective ahead of a slow one.
  struct Slot {
    Kind kind;
    uint64_t value;
  };
  static constexpr uint32_t max_lanes = 32;

  static uint32_t ballot(void *self, uint32_t lane, uint32_t predicate);
  static uint64_t shuffle(void *self, uint32_t lane, uint64_t value, uint32_t from);
  const Slot *meet(uint32_t lane, Kind kind, uint64_t value);
  void wait(uint32_t lane, uint64_t turn, Kind kind);
  void fail(const std::string &complaint);

  tsr_tile_services services_;
  const uint32_t tile_lanes_, lanes_;
  const double timeout_;
  std::atomic<bool> broken_{false};
  std::atomic<uint64_t> arrived_{0}, done_{0}; // lanes in all collectives; collectives finished
  std::atomic<uint32_t> returned_{0};
  uint64_t turn_[max_lanes] = {}; // each lane's own
  Slot slots_[2][max_lanes];
  std::mutex mutex_;
  std::string complaint_;
};

} // namespace tessera_test

#endif
