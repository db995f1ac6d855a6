// SPDX-License-Identifier: Apache-2.0
//
// A composition run by hand: its memory, with guards around every region, and its operations on tiles of any number of
// lanes, as a GPU would run them. Read next: lanes_test.cc, laws.h.
#ifndef TSR_TESTS_LANES_H
#define TSR_TESTS_LANES_H

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "core/cpu/bulk.h"
#include "tests/conformance/kit.h"
#include "tests/conformance/warp.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

// A composition's regions and locks, each between two pages that nobody may touch: who reads or writes there ends the process,
// and a sentence names the region.
class Memory {
public:
  explicit Memory(const tsr_composition *composition);
  ~Memory();
  Memory(const Memory &) = delete;

  void clear();
  const tsr_state &state() const { return state_; }
  void note_erase() { state_.has_erased = 1; } // as the table does before slots are erased
  // "" while nothing was written between a region and its pages. Under AddressSanitizer the allocator's own guards watch
  // instead.
  std::string check_guards() const;

private:
  struct Block {
    std::string name;
    unsigned char *start; // of the allocation, whose first and last page are closed
    uint64_t whole;       // bytes of it
    unsigned char *region;
    uint64_t bytes;
    tsr_region asked; // what plan() said, or 0
  };
  friend void say_region(int, siginfo_t *, void *);
  void *add(const std::string &name, uint64_t bytes, const tsr_region *region);

  tsr_state state_;
  std::vector<Block> blocks_;
};

// What parts see as `c->cpu`; functions and config stay the composition's.
tsr_cpu cpu_of(const tsr_composition *composition, const tsr_tile_services *tile);
// The context of one lane of a warp.
tsr_ctx context_of(const tsr_state *state, const tsr_cpu *cpu, uint32_t lane, tsr_scratch *scratch);

// A table whose operations run on `warps` warps at a time, of `tiles` tiles of shape.tile_lanes lanes. Several tiles
// go in step, as on a GPU.
class LaneTable : public Subject {
public:
  LaneTable(CompositionPointer composition, uint32_t warps, uint32_t tiles = 1);

  std::string insert(Batch &batch) override;
  std::string find_or_insert(Batch &batch, uint64_t missing) override;
  std::string find(Batch &batch, uint64_t missing) override;
  std::string contains(Batch &batch) override;
  std::string count_all(Batch &batch) override;
  std::string find_all(Batch &batch, uint64_t room) override;
  std::string erase(Batch &batch) override;
  std::string erase_pairs(Batch &batch) override;
  std::string apply(const std::vector<uint8_t> &operations, Batch &batch, uint64_t missing) override;
  std::string clear() override;
  std::string size(uint64_t *size) override;
  std::string exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) override;
  std::string check() override { return memory_.check_guards(); }

  const tsr_composition &composition() const { return *composition_; }
  const tsr_state &state() const { return memory_.state(); }
  uint64_t collectives() const;

private:
  std::string launch(uint32_t op, tsr_bulk *bulk);
  std::string erasing(uint32_t op, Batch &batch);
  std::string making_lists(Batch &batch);
  std::string building(Batch &batch);
  void build(const std::vector<uint64_t> &keys);
  std::string inserting(uint32_t op, Batch &batch, void *values_out, uint64_t missing);

  CompositionPointer composition_;
  Memory memory_;
  std::vector<std::unique_ptr<Warp>> warps_;
  tsr_tally tally_ = {};
  uint64_t launches_ = 0; // every second one of a single lane says that no other thread is at the table
};

} // namespace tessera_test

#endif
