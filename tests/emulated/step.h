// SPDX-License-Identifier: Apache-2.0
//
// A backend whose steps are kernels of a GPU, emulated, where there are any for them, and otherwise those of the CPU.
#ifndef TSR_TESTS_EMULATED_STEP_H
#define TSR_TESTS_EMULATED_STEP_H

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

extern "C" {
#include "core/batch/groups.h"
#include "core/batch/match.h"
}
#include "tests/emulated/block.h"
#include "tests/emulated/groups_kernels.h"
#include "tests/emulated/match_kernels.h"

namespace emulated {

// Kernels, by name.
inline std::set<std::string> &launched() {
  static std::set<std::string> names;
  return names;
}

inline tsr_status run_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument,
                           uint64_t n, void *stream, tsr_error *error) {
  void (*kernel)(const void *) = step->set == &tsr_group_steps   ? group_kernel(step->kernel)
                                 : step->set == &tsr_match_steps ? match_kernel(step->kernel)
                                                                 : nullptr;
  EXPECT_TRUE(kernel || step->set != &tsr_group_steps) << step->kernel;
  if (!kernel) return tsr_cpu_backend.step(device, program, step, argument, n, stream, error);
  launched().insert(step->kernel);
  tsr_grid grid = step->grid;
  if (step->fit) step->fit(nullptr, argument, &grid);
  if (!grid.threads) grid.threads = TSR_BLOCK_THREADS;
  if (!grid.block_items) grid.block_items = grid.threads;
  const uint64_t needed = (n + grid.block_items - 1) / grid.block_items;
  // Of the blocks that share large pages, some are enough.
  const unsigned blocks = grid.blocks ? std::min(grid.blocks, 3u) : static_cast<unsigned>(needed);
  launch(kernel, argument, blocks, grid.threads, grid.shared_bytes);
  return TSR_OK;
}

inline const tsr_backend *backend() {
  static tsr_backend backend = tsr_cpu_backend;
  backend.step = run_step;
  return &backend;
}

} // namespace emulated

#endif
