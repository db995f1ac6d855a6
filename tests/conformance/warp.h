// SPDX-License-Identifier: Apache-2.0
//
// A warp on the CPU: tiles of several lanes, ballot and shuffle as barriers of the whole warp. Lanes are coroutines on the
// calling thread, which go from one collective to the next in turn: so a run is the same each time, and cheap. Sanitizers
// are told, and ThreadSanitizer sees lanes as threads that only collectives order. What a GPU would hang on or answer with
// garbage is an error here: a lane that does not arrive, lanes that call different collectives, a shuffle from another
// tile. A lane that waits for another one outside of collectives waits for ever: the kit's caller has a timeout.
// Read next: lanes.h, which runs tables on warps.
#ifndef TSR_TESTS_WARP_H
#define TSR_TESTS_WARP_H

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "plugins/probing.cuh"

namespace tessera_test {

class Warp {
public:
  explicit Warp(uint32_t tile_lanes, uint32_t tiles = 1);
  Warp(const Warp &) = delete;
  ~Warp();

  // Calls body(lane) for each lane of the warp. Returns what went wrong, or "".
  std::string run(const std::function<void(uint32_t lane)> &body);

  uint32_t lanes() const { return lanes_; }
  uint32_t tile_lanes() const { return tile_lanes_; }
  const tsr_tile_services *services() const { return &services_; }
  uint64_t collectives() const { return done_.load(); } // of all runs

private:
  struct Coroutine; // a lane's, or the caller's
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
  static void lane_main(unsigned low, unsigned high, unsigned lane); // this warp, in halves: makecontext() takes ints
  const Slot *meet(uint32_t lane, Kind kind, uint64_t value);
  void start(uint32_t lane);
  void run_lane(uint32_t lane);
  Coroutine &next_after(uint32_t lane);
  void fail(const std::string &complaint);

  tsr_tile_services services_;
  const uint32_t tile_lanes_, lanes_;
  std::vector<Coroutine> coroutines_; // the lanes', then the caller's
  const std::function<void(uint32_t)> *body_ = nullptr;
  uint64_t turn_[max_lanes] = {}; // each lane's own
  Slot slots_[2][max_lanes];
  std::string complaint_;
  // Atomic, for this is what orders the lanes' accesses to everything else.
  std::atomic<bool> is_broken_{false}, has_returned_[max_lanes] = {};
  std::atomic<uint64_t> arrived_{0}, done_{0}; // lanes in all collectives; collectives finished
};

} // namespace tessera_test

#endif
