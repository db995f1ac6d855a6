// SPDX-License-Identifier: Apache-2.0
//
// The recipes of specs/, as parameters of tests that hold for each of them, and the names of these tests. Read next:
// debt_test.cc.
#ifndef TSR_TESTS_RECIPES_H
#define TSR_TESTS_RECIPES_H

#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tessera_test {

inline std::vector<std::string> recipes() {
  glob_t found;
  std::vector<std::string> files;
  if (glob("specs/*.ini", 0, nullptr, &found) == 0) {
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return files;
}

// specs/best_find.ini: best_find
inline std::string recipe_name(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param.substr(6, info.param.size() - 10);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char letter) { return !isalnum(letter); }, '_');
  return name;
}

} // namespace tessera_test

#endif
