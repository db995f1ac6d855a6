// SPDX-License-Identifier: Apache-2.0
//
// The recipes of specs/, as parameters of tests that hold for each of them, and the names of these tests. Read next:
// debt_test.cc.
#ifndef TSR_TESTS_RECIPES_H
#define TSR_TESTS_RECIPES_H

#include <glob.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

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

// A recipe as the settings that choose the code of its operations, one a line.
struct Chosen {
  std::string file;
};

inline std::ostream &operator<<(std::ostream &out, const Chosen &recipe) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_read(recipe.file.c_str(), &spec, &error), TSR_OK) << error.message;
  for (const char *key : {"kind", "key_bits", "value_bits", "value_bytes", "values", "duplicates", "concurrency",
                          "devices", "growth", "filter", "layout", "probing", "allocator", "eviction"})
    if (const char *value = tsr_spec_get(spec, "table", key)) out << key << " = " << value << "\n";
  tsr_spec_free(spec);
  return out;
}

// Recipes, so that each of these settings is in one that is chosen.
inline std::vector<std::string> enough_recipes() {
  std::vector<Chosen> all;
  for (const std::string &file : recipes()) all.push_back({file});
  std::vector<std::string> files;
  for (const Chosen &recipe : enough(all)) files.push_back(recipe.file);
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
