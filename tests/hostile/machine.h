// SPDX-License-Identifier: Apache-2.0
//
// The library on a machine with the fake driver and toolkit of fake_cuda.h, and parts that seem to have device code.
// The linker sends the library's dlopen, dlsym and a few look-ups here (BUILD), so that what is installed on the
// machine plays no role. Read next: cuda_test.cc.
#ifndef TSR_TESTS_MACHINE_H
#define TSR_TESTS_MACHINE_H

#include <string>

#include "core/tessera.h"
#include "tests/hostile/fake_cuda.h"

namespace tessera_test {

// The driver and toolkit; settings may be changed at any time.
fake_cuda_state &fake();

// What dlopen and dlsym do not find. A library is named as the loader would look for it, libnvrtc.so.13, or by the path
// of a file.
struct Missing {
  std::string library, symbol;
};
Missing &missing();

// Where bare names of the toolkit's libraries are not found, but files under this folder are; empty: bare names are.
std::string &toolkit_folder();

// Whether the program has more rights than its caller, as a setuid program has.
bool &is_privileged();

// Lets launches do on the CPU what the kernels of this spec do, until the next call; NULL: nothing.
void launch_as(const tsr_spec *spec);

} // namespace tessera_test

#endif
