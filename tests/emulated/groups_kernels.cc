// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated/groups_kernels.h"

#include "tests/emulated/block.h"

#include "core/batch/groups.cu"

template <class Argument>
static void run(void (*kernel)(Argument), const void *argument) {
  kernel(*static_cast<const Argument *>(argument));
}

#define ROW(step, ...) {"tsr_group_" #step, [](const void *argument) { run(tsr_group_##step, argument); }},
static const struct {
  const char *name;
  void (*run)(const void *);
} kernels[] = {TSR_GROUP_STEPS(ROW)};

void (*group_kernel(const char *name))(const void *) {
  for (const auto &kernel : kernels)
    if (std::strcmp(kernel.name, name) == 0) return kernel.run;
  return nullptr;
}
