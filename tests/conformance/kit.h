// SPDX-License-Identifier: Apache-2.0
//
// The conformance kit: the laws of plugins/README.md as tests, run over every plugin that was built. No plugin is named
// here. The plugins are those of the file in TSR_CONFORM_LIST (one path a line, made by the build), or the
// colon-separated paths in TSR_CONFORM, which are then tested together with the others as companions.
// How much of it runs is TSR_CONFORM_LEVEL's: quick (all but the suites ...InFull and ...UnderStress), stress (only
// ...UnderStress), tsan (what runs on several threads), else all but ...UnderStress. main.cc makes it a filter.
// Read next: load_test.cc, parameters_test.cc, laws_test.cc, compositions_test.cc, lanes_test.cc: the levels, in order;
// then links_test.cc, stress_test.cc.
#ifndef TSR_TESTS_KIT_H
#define TSR_TESTS_KIT_H

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/compose/compose.h"
#include "core/compose/registry.h"
#include "core/tessera.h"
#include "tests/oracle/random.h"

namespace tessera_test {

// A plugin as its file name tells it; nothing has been loaded yet.
struct PluginFile {
  std::string path, role, name;
  bool is_subject; // else only a companion
};

inline std::ostream &operator<<(std::ostream &out, const PluginFile &file) {
  return out << file.role << "/" << file.name;
}

const std::vector<PluginFile> &plugin_files(); // subjects and companions
std::vector<PluginFile> subjects();            // those under test
bool is_one_plugin();                          // TSR_CONFORM names what is under test
bool draws();        // all plugins are under test: cases are a covering set, unless TSR_TEST_ALL is set
std::string level(); // "quick", "stress", "tsan" or "full"
std::vector<std::string> plugins_of(uint32_t role); // names, subjects first
std::string plugin_directories();                   // for tsr_options.plugins
const char *built_list();                           // path of the list that the build made; "" if there is none
const tsr_plugin *loaded(const PluginFile &file);   // NULL and a failure if it is not sound
// The other roles have a plugin too, or there is nothing to compose.
uint32_t role_of(const std::string &word);

struct SpecFree {
  void operator()(tsr_spec *spec) const { tsr_spec_free(spec); }
};
using SpecPointer = std::unique_ptr<tsr_spec, SpecFree>;
struct CompositionFree {
  void operator()(tsr_composition *composition) const { tsr_composition_free(composition); }
};
using CompositionPointer = std::unique_ptr<tsr_composition, CompositionFree>;

// What a spec says.
struct Recipe {
  std::string part[TSR_ROLES]; // names; "" = absent
  uint32_t key_bits = 32, value_bits = 32;
  uint32_t value_bytes = 0; // in place of value_bits, which then says how wide the numbers are that stand for values
  uint32_t duplicates = TSR_DUPLICATES_FIRST;
  bool mixed = false, statistics = false;
  bool lists = false;     // values = buckets
  bool is_filter = false; // kind = filter, of a layout that keeps fingerprints
  uint64_t capacity = 200, seed = 1, stash = 0, filter = 0;
  uint64_t page_bytes = 0; // batches go page by page where they can
  std::string load_factor = "0.8";
  std::map<std::string, uint64_t> parameters; // "section.key" -> value

  void set(uint32_t role, const std::string &key, uint64_t value) {
    parameters[std::string(tsr_role_names[role]) + "." + key] = value;
  }
};
std::ostream &operator<<(std::ostream &out, const Recipe &recipe); // the spec's text

SpecPointer spec_of(const Recipe &recipe);
// NULL if the composition is refused: then `error` says why. sm: 0 for the cpu backend.
CompositionPointer compose(const Recipe &recipe, uint32_t lanes, tsr_error *error, uint32_t sm = 0);

// Recipes in which this plugin works with its default parameters and companions with theirs: one for each admissible
// pair of widths (and one set of companions each), on the cpu backend or a GPU. Fails the test if there is none and the part
// is none of filters.
std::vector<Recipe> working_recipes(const PluginFile &file, uint32_t sm = 0);
// The same with kind = filter: of a part of filters alone, which keeps no keys. And both.
std::vector<Recipe> filter_recipes(const PluginFile &file, uint32_t sm = 0);
std::vector<Recipe> all_recipes(const PluginFile &file, uint32_t sm = 0);

// A refusal must tell its reader what to do: one sentence without a newline.
void expect_sentence(const tsr_error &error, const std::string &about);

// Fails with what was found, if anything.
inline void expect_none(const std::string &findings, const std::string &when = "") {
  if (!findings.empty()) ADD_FAILURE() << when << (when.empty() ? "" : ":\n") << findings;
}

// from keep on: not words of a spec, but what a multiset, a multimap and counters do
const char *const policy_words[] = {"first",          "replace", "add",     "min",      "max",
                                    "promise_unique", "keep",    "count_8", "count_16", "count"};
// (key_bits, value_bits) of all tables.
struct Widths {
  uint32_t key_bits, value_bits;
};
const std::vector<Widths> &tested_widths(); // all nine, or the one of TSR_CONFORM_WIDTHS, such as 32:32

// Whether a spec may ask for this: a set has no values to combine. Of counters one of each width: those of 16 and 32 bits
// differ by a number, and the fuzzer draws them (../compositions).
inline bool is_policy_for(uint32_t value_bits, uint32_t policy) {
  if (TSR_POLICY_COUNTS(policy))
    return policy == TSR_DUPLICATES_COUNT ? value_bits == 64 : policy == TSR_DUPLICATES_COUNT_8 && value_bits == 32;
  return value_bits || policy == TSR_DUPLICATES_FIRST || policy >= TSR_DUPLICATES_PROMISE_UNIQUE;
}

// Tests with a plugin as parameter, named role_name.
class OnPlugin : public testing::TestWithParam<PluginFile> {};
inline std::string plugin_test_name(const testing::TestParamInfo<PluginFile> &info) {
  return info.param.role + "_" + info.param.name;
}

} // namespace tessera_test

#endif
