// SPDX-License-Identifier: Apache-2.0
//
// What a table can be composed of, as data: one choice for each dimension of a spec, the parts that are found, and
// small sets of choices that hold every pair of options which the parts accept together. For tests that cannot try all
// combinations, on whatever parts there are. Read next: matrix_test.cc, ../device/device_test.cc.
#ifndef TSR_TESTS_CODEGEN_CHOICES_H
#define TSR_TESTS_CODEGEN_CHOICES_H

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/tessera.h"

namespace choices {

// The folders that hold plugins: $TESSERA_PLUGINS, or those of the folders of parts under the test's folder.
const std::string &plugin_folders();

// Names of the plugins of a role that tables of keys can have, sorted. Those of filters are not among them
// (../table/fingerprint_test.cc, recipes_test.cc).
std::vector<std::string> plugins_of(const std::string &role);

struct Free {
  void operator()(tsr_spec *spec) const { tsr_spec_free(spec); }
};
using Spec = std::unique_ptr<tsr_spec, Free>;

// The entries of an INI file: section -> key -> value.
class Entries {
public:
  static Entries of(const tsr_spec *spec);
  void set(const std::string &section, const std::string &key, const std::string &value);
  void drop(const std::string &section, const std::string &key);
  std::string get(const std::string &section, const std::string &key) const;
  // Kind and widths; value_bits = 0 makes it a set.
  void set_widths(uint32_t key_bits, uint32_t value_bits);
  std::string text() const;
  Spec parse() const; // NULL, and a failed test, if it is not an INI file

private:
  std::map<std::string, std::map<std::string, std::string>> sections_;
};

struct Widths {
  uint32_t key_bits, value_bits;
};
extern const std::array<Widths, 6> kWidths;
extern const std::array<const char *, 7> kPolicies;

// One table. Its options, one for each dimension, are what a covering set combines.
struct Choice {
  std::string layout, probing, hasher, duplicates, concurrency, statistics;
  uint32_t bucket_slots, tile_lanes, key_bits, value_bits, sm, stash;
  uint32_t page_bytes = 0; // no dimension: what works on pages is linked apart (pages_test.cc)
  std::string lists = {};  // nor this: of a multimap whose values are in buckets, the allocator of these
  uint32_t filter = 0;     // bits a key of the filter before the table
  uint32_t quarter = 0;    // of a choice that is linked: where its operations begin
  uint64_t grows_to = 0;   // no dimension either: the limit of growth = double; 0: it does not grow

  Entries entries() const;
  std::string name() const; // letters, digits and _: the name of a test case
};

void PrintTo(const Choice &choice, std::ostream *out); // for GoogleTest

// The options of each dimension.
struct Options {
  std::vector<std::string> layouts, probings, hashers, duplicates, concurrencies, statistics;
  std::vector<std::array<uint32_t, 2>> shapes; // bucket_slots, tile_lanes
  std::vector<Widths> widths;
  std::vector<uint32_t> sms, stashes, filters, quarters;
  // Whether the choices are linked and not run. Then hashers meet no schemes, and an option that brings no new pair gives
  // way to the first of its dimension: what takes long to link, such as statistics, is there no more than it has to be.
  bool is_linked_only = false;

  static Options all(); // every part found, every shape whose lanes have a slot each
};

// Choices such that each pair of options of two dimensions stands together in one of them, if `accepts` some choice
// with that pair. Always the same for the same options.
std::vector<Choice> cover_pairs(const Options &options, const std::function<bool(const Choice &)> &accepts);

} // namespace choices

#endif
