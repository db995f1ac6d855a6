// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated/match_kernels.h"

#include "tests/emulated/block.h"

// The memory that a launch asks for is one array for all kernels.
#define match_memory group_room
#include "core/batch/match.cu"

static void run(void (*kernel)(tsr_match), const void *argument) { kernel(*static_cast<const tsr_match *>(argument)); }

#define NOTHING(...)
#define ROW(step, ...)                                                                                                 \
  {"tsr_match_" #step "_kernel", [](const void *argument) { run(tsr_match_##step##_kernel, argument); }},
static const struct {
  const char *name;
  void (*run)(const void *);
} kernels[] = {TSR_MATCH_STEPS(NOTHING, NOTHING, ROW)};

void (*match_kernel(const char *name))(const void *) {
  for (const auto &kernel : kernels)
    if (std::strcmp(kernel.name, name) == 0) return kernel.run;
  return nullptr;
}
