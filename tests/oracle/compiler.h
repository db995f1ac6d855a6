// SPDX-License-Identifier: Apache-2.0
//
// Compilers at run time: tests have none (.bazelrc), but those that call this.
#ifndef TSR_TESTS_COMPILER_H
#define TSR_TESTS_COMPILER_H

#include <cstdlib>

#include "tests/oracle/draw.h"

namespace tessera_test {

// The one that TSR_TEST_CC names, which is quick; or the system's, where there is none, or where every case is wanted.
inline void allow_compilers() {
  const char *const quick = getenv("TSR_TEST_CC");
  if (quick && *quick && !tests_all())
    setenv("TESSERA_CC", quick, 1);
  else
    unsetenv("TESSERA_CC");
}

} // namespace tessera_test

#endif
