// SPDX-License-Identifier: Apache-2.0
//
// A primary context goes with the last table in it, and the driver takes tenths of a second to make one for each GPU. A
// test program makes hundreds of tables, one after the other, so it holds the contexts until it ends.
#ifndef TSR_TESTS_CONTEXT_H
#define TSR_TESTS_CONTEXT_H

#include <dlfcn.h>

#include <sstream>
#include <string>

namespace tessera_test {

// devices: numbers, "0,1". Only the first call does something. Without a driver the tables fail, and say so.
inline void hold_contexts(const std::string &devices) {
  static bool are_held;
  void *const library = are_held ? nullptr : dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;
  are_held = true;
  if (!library) return;
  const auto init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto retain = reinterpret_cast<int (*)(void **, int)>(dlsym(library, "cuDevicePrimaryCtxRetain"));
  if (!init || !retain || init(0)) return;
  std::istringstream numbers(devices);
  for (std::string number; std::getline(numbers, number, ',');)
    if (retain(&context, atoi(number.c_str()))) return;
}

} // namespace tessera_test

#endif
