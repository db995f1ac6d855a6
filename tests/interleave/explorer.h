// SPDX-License-Identifier: Apache-2.0
//
// Runs a few threads in every order of their accesses to shared memory, up to orders that differ in nothing that a thread
// could see. A thread is a coroutine, which stops before each access (atomics.h). What was done is done again from the
// beginning for each order, so that nothing of a thread has to be copied (stateless model checking; sleep sets, Godefroid
// 1996). Read next: walk.h, interleave_test.cc.
//
// Memory is one of three. SEQUENTIAL: a load sees the last write. C11: a load sees any write that the C11 memory model
// lets it see, for relaxed, acquire and release: none older than what its thread has seen of these bytes, or has learnt of
// by acquiring. L1: the same, but a load through a GPU's L1 may also be older than what its thread has seen: it sees any
// write that is not older than the thread's own writes of these bytes, or than what it has learnt of by acquiring. It
// teaches the thread nothing. Writes take effect in the order in which they are made, and what reads and writes at once
// sees the last one.
#ifndef TSR_INTERLEAVE_EXPLORER_H
#define TSR_INTERLEAVE_EXPLORER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/interleave/atomics.h"

namespace interleave {

enum class Model { SEQUENTIAL, C11, L1 };

struct Piece { // of shared memory
  void *at;
  size_t bytes;
};

struct Limits {
  uint64_t executions = 2000000; // more: the exploration is not whole
  uint32_t steps = 3000;         // of one execution; more: a loop without bound
  bool reduces = true;           // leaves out orders that differ in nothing that a thread could see
  std::vector<Piece> own = {};   // all other memory that threads work on, but for their stacks; empty: any
};

struct Outcome {
  uint64_t executions = 0; // whole ones; each is another order
  uint64_t cut = 0;        // that turned out to be one that was run before
  uint32_t steps_max = 0;
  bool is_whole = true;
  std::string failure; // empty: every execution was right
};

// Each execution begins with the memory as it is now, and is judged when all threads have ended: an empty text is right.
Outcome explore(const std::vector<Piece> &shared, Model model, const std::vector<std::function<void()>> &threads,
                const std::function<std::string()> &judge, const Limits &limits = {});

// Called by a thread: all threads wait for each other here, and see all that was written before, as at the end of a kernel.
void end_phase();

// Where the walk's accesses go. Outside of an exploration, and for memory that is not shared, they are just made.
void step(interleave_access *access);

} // namespace interleave

#endif
