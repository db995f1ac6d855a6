// SPDX-License-Identifier: Apache-2.0
//
// The kit's program. With --load FILE it only loads a plugin, as a process of its own that load_test.cc watches.
// Read next: kit.h.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--load") == 0) {
    if (dlopen(argv[2], RTLD_NOW | RTLD_LOCAL)) return 0;
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
