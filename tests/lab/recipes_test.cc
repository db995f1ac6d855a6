// SPDX-License-Identifier: Apache-2.0
//
// Keys that come again, in the tables of all recipes on the cpu backend: right, and no walk begins again and again
// because pairs of one key fight. That is told by the buckets looked at for a pair, not by time.
#include <glob.h>

#include "command.h"
#include "core/tessera_tools.h"
#include "tools/lab/bench.h"

namespace {

const char kPlugins[] = "layouts:probing:hashers:allocators:eviction";

std::vector<std::string> recipes() {
  glob_t found = {};
  glob("specs/*.ini", 0, nullptr, &found);
  glob("specs/speed/*.ini", GLOB_APPEND, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

std::string text_of(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_index(const std::string &path) { return text_of(path).find("kind = index") != std::string::npos; }

// Whether its scheme is built from distinct keys, and refuses every policy that would look for one.
bool takes_distinct_keys_alone(const std::string &path) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = kPlugins;
  char *text = nullptr;
  EXPECT_EQ(tsr_spec_read(path.c_str(), &spec, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_spec_set(spec, "table.backend=cpu", &error), TSR_OK) << error.message;
  const char *const duplicates = tsr_spec_get(spec, "table", "duplicates");
  bool refuses = duplicates && std::string(duplicates) == "promise_unique";
  if (refuses) {
    EXPECT_EQ(tsr_spec_set(spec, "table.duplicates=first", &error), TSR_OK) << error.message;
    refuses = tsr_spec_check(spec, &options, &text, &error) == TSR_INCOMPATIBLE;
  }
  free(text);
  tsr_spec_free(spec);
  return refuses;
}

// The entries that make a recipe a table of the cpu backend that takes any keys and, if it has values, adds them up.
std::vector<std::string> words_for(const std::string &path) {
  const std::string text = text_of(path);
  const bool keeps_all = text.find("layout = fingerprint") != std::string::npos;
  const bool is_multi = text.find("kind = multi") != std::string::npos || keeps_all;
  const bool is_set = text.find("kind = set") != std::string::npos;
  std::vector<std::string> words = {path,
                                    "--set",
                                    "table.backend=cpu",
                                    "--plugins",
                                    kPlugins,
                                    "--n",
                                    "20000",
                                    "--loads",
                                    ".6",
                                    "--repeat",
                                    "1",
                                    "--ops",
                                    is_index(path) ? "number" : "insert"};
  // every further pair of a key of a multimap has farther to go, whatever it fights with
  words.insert(words.end(), {"--keys", is_multi ? "distinct,repeat:4" : "distinct,repeat:64,zipf:1.0,equal"});
  const bool has_own =
      text.find("kind = counter") != std::string::npos || text.find("kind = filter") != std::string::npos;
  const bool is_wide = text.find("value_bytes") != std::string::npos; // whose values are not added up
  if (!is_multi && !has_own && !is_index(path))
    words.insert(words.end(), {"--set", is_set || is_wide ? "table.duplicates=first" : "table.duplicates=add"});
  return words;
}

TEST(Recipes, NoneCollapsesWhereKeysComeAgain) {
  const std::vector<std::string> paths = recipes();
  ASSERT_GE(paths.size(), 30u);
  for (const std::string &path : paths) {
    if (text_of(path).find("kind = cache") != std::string::npos) continue; // which gives pairs up that bench would find
    if (takes_distinct_keys_alone(path)) continue;
    Outcome outcome = run(tsr_bench_command, words_for(path));
    EXPECT_EQ(outcome.status, 0) << path << ": " << outcome.err;
    auto rows = outcome.rows();
    ASSERT_GE(rows.size(), 2u) << path;
    const double distinct = std::stod(rows[0][9]);
    for (auto &row : rows) {
      EXPECT_EQ(row[11], "yes") << path << " " << row[13];
      EXPECT_LE(std::stod(row[9]), 4 * distinct + 4) << path << " " << row[13];
    }
  }
}

} // namespace
