// SPDX-License-Identifier: Apache-2.0
//
// What does not go together (core/compose/compatible.h): every row refuses every spec or call that has both features, in
// the words of the table; and what is no row goes together, two features at a time, as far as a spec can say both.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <map>
#include <optional>
#include <set>

#include "core/compose/compatible.h"
#include "core/compose/compose.h"
#include "core/tessera_devices.h"
#include "core/tessera_kernels.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

// "section.key" -> value; "": the key is left out, unless somebody else sets it; "-": it is left out.
using Settings = std::map<std::string, std::string>;

struct Row {
  std::string feature, other, law, reason, way_out;
  std::string ending() const { return ": " + reason + "; " + way_out; }
};

const std::vector<Row> &rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> made;
    tsr_incompatible pair;
    for (size_t i = 0; tsr_incompatible_at(i, &pair); i++)
      made.push_back({pair.feature, pair.other, pair.law ? pair.law : "", pair.reason, pair.way_out});
    return made;
  }();
  return all;
}

struct Feature {
  const char *text;
  std::vector<Settings> ways; // of asking for it; none: no part here has it
};

const Settings kBase = {{"table.kind", "map"},      {"table.key_bits", "32"},   {"table.value_bits", "32"},
                        {"table.capacity", "5000"}, {"table.layout", "packed"}, {"table.probing", "double_hashing"},
                        {"table.hasher", "murmur3"}};

Settings slab(Settings more) {
  more.insert({{"table.layout", "slab"}, {"table.probing", "slab_list"}, {"table.allocator", "slab"}});
  return more;
}

Settings filter(Settings more = {}) {
  more.insert({{"table.kind", "filter"}, {"table.value_bits", ""}, {"table.layout", ""}, {"table.probing", ""}});
  return more;
}

Settings fingerprints(Settings more = {}) {
  more.insert({{"table.kind", "filter"},
               {"table.value_bits", ""},
               {"table.layout", "fingerprint"},
               {"table.probing", "cuckoo_filter"}});
  return more;
}

Settings index(Settings more = {}) {
  more.insert({{"table.kind", "index"}, {"table.value_bits", ""}});
  return more;
}

Settings cache(Settings more = {}) {
  more.insert({{"table.kind", "cache"}, {"table.eviction", "lru"}});
  return more;
}

const std::vector<Feature> &features() {
  static const std::vector<Feature> all = {
      {"kind = set or multiset",
       {{{"table.kind", "set"}, {"table.value_bits", ""}}, {{"table.kind", "multiset"}, {"table.value_bits", ""}}}},
      {"kind = multiset or multimap",
       {{{"table.kind", "multimap"}}, {{"table.kind", "multiset"}, {"table.value_bits", ""}}}},
      {"kind = counter", {{{"table.kind", "counter"}}}},
      {"kind = filter", {filter()}},
      {"kind = filter without a layout", {filter()}},
      {"kind = filter with a layout", {fingerprints(), {{"table.kind", "filter"}, {"table.value_bits", ""}}}},
      {"any kind but filter", {{{"table.kind", "map"}}, {{"table.kind", "counter"}}, {{"table.kind", "multimap"}}}},
      {"any kind but multimap", {{{"table.kind", "map"}}, {{"table.kind", "counter"}}}},
      {"any kind but map or multimap",
       {{{"table.kind", "counter"}}, {{"table.kind", "set"}, {"table.value_bits", ""}}}},
      {"any kind but counter",
       {{{"table.kind", "map"}}, {{"table.kind", "multimap"}}, {{"table.kind", "set"}, {"table.value_bits", ""}}}},
      {"kind = index", {index()}},
      {"any kind but index", {{{"table.kind", "map"}}, {{"table.kind", "set"}, {"table.value_bits", ""}}}},
      {"numbering", {{{"table.numbering", "any"}}, {{"table.numbering", "first_seen"}}}},
      {"reuse", {{{"table.reuse", "yes"}}, {{"table.reuse", "no"}}}},
      {"reuse = no", {index({{"table.reuse", "no"}})}},
      {"numbering = first_seen", {index({{"table.numbering", "first_seen"}})}},
      {"an index on several devices", {index({{"table.devices", "0,1"}})}},
      {"an index whose scheme moves pairs", {index({{"table.probing", "cuckoo"}, {"table.layout", "packed"}})}},
      {"an index whose layout shows a key before its number",
       {index({{"table.layout", "soa"}, {"table.probing", "double_hashing"}})}},
      {"eviction", {{{"table.eviction", "lru"}}, {{"table.eviction", "none"}}}},
      {"kind = cache", {cache({{"table.probing", "cuckoo"}}), cache(), {{"table.kind", "cache"}}}},
      {"any kind but cache", {{{"table.kind", "map"}}, {{"table.kind", "set"}, {"table.value_bits", ""}}}},
      {"any kind but index or cache", {{{"table.kind", "map"}}, {{"table.kind", "multimap"}}}},
      {"a layout with flags that end a search", {{{"table.layout", "tagged"}}}},
      {"a part whose scores an index cannot keep", {{{"table.eviction", "ttl"}}, {{"table.eviction", "custom"}}}},
      {"a scheme whose walks are not bounded to 8 buckets", {{{"table.probing", "linear"}}}},
      {"a scheme that keeps notes of its buckets", {{{"table.probing", "robin_hood"}}}},
      {"an index with eviction", {index({{"table.eviction", "lru"}}), index({{"table.eviction", "lfu"}})}},
      {"eviction = none", {index({{"table.eviction", "none"}}), index(), {{"table.eviction", "none"}}}},
      {"any other key of [table]", {{{"table.stash", "64"}}, {{"table.duplicates", "first"}}}},
      {"key_bits = 128", {{{"table.key_bits", "128"}, {"table.layout", "soa"}}}},
      {"value_bits", {{{"table.value_bits", "32"}}, {{"table.value_bits", "64"}}}},
      {"value_bits = 8 or 16", {{{"table.value_bits", "8"}, {"table.kind", "counter"}}, {{"table.value_bits", "16"}}}},
      {"value_bytes", {{{"table.value_bytes", "48"}, {"table.value_bits", ""}}}},
      {"value_bytes of an index", {index({{"table.value_bytes", "48"}}), index({{"table.value_bytes", "512"}})}},
      {"any table but an index with value_bytes", {{{"table.kind", "map"}}, index()}},
      {"value_bytes above 256", {{{"table.value_bytes", "512"}, {"table.value_bits", ""}}}},
      {"duplicates", {{{"table.duplicates", "first"}}, {{"table.duplicates", "promise_unique"}}}},
      {"duplicates = replace, add, min or max", {{{"table.duplicates", "replace"}}, {{"table.duplicates", "min"}}}},
      {"duplicates = add, min or max", {{{"table.duplicates", "add"}}, {{"table.duplicates", "max"}}}},
      {"duplicates = promise_unique", {{{"table.duplicates", "promise_unique"}}}},
      {"overflow",
       {{{"table.overflow", "wrap"}, {"table.duplicates", "add"}},
        {{"table.overflow", "saturate"}, {"table.duplicates", "add"}},
        {{"table.overflow", "report"}}}},
      {"overflow = saturate", {{{"table.overflow", "saturate"}, {"table.duplicates", "add"}}}},
      {"any duplicates but add", {{{"table.duplicates", "max"}}, {{"table.duplicates", "promise_unique"}}}},
      {"an insert that looks for its key", {{{"table.duplicates", "first"}}, {{"table.kind", "counter"}}}},
      {"concurrency = mixed", {{{"table.concurrency", "mixed"}}}},
      {"concurrency = phased", {{{"table.concurrency", "phased"}}}},
      {"values = buckets",
       {{{"table.values", "buckets"}, {"table.allocator", "bump"}, {"table.kind", "multimap"}},
        {{"table.values", "buckets"}, {"table.allocator", "bump"}},
        {{"table.values", "buckets"}, {"table.kind", "multimap"}}}},
      {"[table] filter", {{{"table.filter", "8"}}}},
      {"stash", {{{"table.stash", "64"}}}},
      {"page_bytes", {{{"table.page_bytes", "auto"}}, {{"table.page_bytes", "4Ki"}}}},
      {"page_bytes = 0", {{{"table.page_bytes", "-"}}, {{"table.page_bytes", "0"}}}},
      {"pages of a multiset or multimap", {{{"table.page_bytes", "auto"}, {"table.kind", "multimap"}}}},
      {"page_batch", {{{"table.page_batch", "1000"}, {"table.page_bytes", "auto"}}, {{"table.page_batch", "1000"}}}},
      {"find_batch", {{{"table.find_batch", "1000"}, {"table.page_bytes", "auto"}}, {{"table.find_batch", "1000"}}}},
      {"a table without pages", {{{"table.page_bytes", "-"}}, {{"table.page_bytes", "0"}}}},
      {"growth = double or split",
       {{{"table.growth", "double"}}, {{"table.growth", "split"}, {"table.probing", "linear_hashing"}}}},
      {"growth = split",
       {{{"table.growth", "split"}, {"table.probing", "linear_hashing"}}, {{"table.growth", "split"}}}},
      {"a scheme whose buckets do not split", {{{"table.probing", "cuckoo"}}, {{"table.probing", "linear"}}}},
      {"growth = none", {{{"table.growth", "-"}}, {{"table.growth", "none"}}}},
      {"growth_limit", {{{"table.growth_limit", "1M"}, {"table.growth", "double"}}, {{"table.growth_limit", "1M"}}}},
      {"device_bytes",
       {{{"table.device_bytes", "1Gi"}, {"table.page_bytes", "auto"}}, {{"table.device_bytes", "1Gi"}}}},
      {"device", {{{"table.device", "0"}}}},
      {"devices", {{{"table.devices", "0,0"}}}},
      {"several devices", {{{"table.devices", "0,0"}}}},
      {"[devices] split = replicated", {{{"devices.split", "replicated"}, {"table.devices", "0,0"}}}},
      {"[devices] split = independent",
       {{{"devices.split", "independent"}, {"table.devices", "0,0"}, {"table.kind", "multimap"}},
        {{"devices.split", "independent"}, {"table.devices", "0,0"}}}},
      {"[filter] bits_per_key", {filter({{"filter.bits_per_key", "16"}})}},
      {"[filter] one_in", {filter({{"filter.one_in", "100"}})}},
      {"load_factor above 1", {slab({{"table.load_factor", "2"}}), {{"table.load_factor", "2"}}}},
      {"allocator", {slab({}), {{"table.allocator", "bump"}}}},
      {"a [table] without allocator", {{{"table.allocator", "-"}}}},
      {"a layout that stores a part of the hash in place of the key",
       {{{"table.layout", "quotient"}, {"table.page_bytes", "auto"}}}},
      {"a layout that stores fingerprints in place of keys",
       {fingerprints(),
        {{"table.layout", "fingerprint"}, {"table.probing", "cuckoo_filter"}},
        {{"table.layout", "fingerprint"}, {"table.kind", "filter"}, {"table.value_bits", ""}}}},
      {"a layout that stores keys",
       {{{"table.layout", "packed"}, {"table.probing", "linear"}},
        {{"table.layout", "soa"}, {"table.probing", "linear"}}}},
      {"a scheme in which keys of equal fingerprints can share some of their buckets",
       {{{"table.probing", "cuckoo"}}, {{"table.probing", "linear"}}}},
      {"a layout whose buckets link",
       {slab({}), {{"table.layout", "slab"}, {"table.allocator", "slab"}}, {{"table.layout", "slab"}}}},
      {"a layout whose buckets do not link", {{{"table.layout", "packed"}}, {{"table.layout", "soa"}}}},
      {"buckets that do not link, and values = inline", {{{"table.layout", "packed"}}, {{"table.layout", "soa"}}}},
      {"a layout that shows a key before its value", {{{"table.layout", "soa"}}, {{"table.layout", "aos"}}}},
      {"a layout that offers no put", {}},
      {"a layout with memory that belongs to no bucket", {}},
      {"a layout with most regions of memory that there can be", {}},
      {"tiles of several lanes", {}},
      {"a layout that cannot exchange pairs", {{{"table.layout", "soa"}}, {{"table.layout", "aos"}}}},
      {"a hasher that cannot be undone", {{{"table.hasher", "universal"}}, {{"table.hasher", "xxhash"}}}},
      {"a scheme that gives a key few buckets, and values = inline",
       {{{"table.probing", "cuckoo"}}, {{"table.probing", "two_choice"}}, {{"table.probing", "iceberg"}}}},
      {"a scheme that gives a key several buckets",
       {{{"table.probing", "double_hashing"}}, {{"table.probing", "linear"}}}},
      {"a scheme that moves pairs", {{{"table.probing", "cuckoo"}}, {{"table.probing", "robin_hood"}}}},
      {"a scheme that is made of whole batches",
       {{{"table.probing", "hashgraph"}, {"table.kind", "multimap"}}, {{"table.probing", "hashgraph"}}}},
      {"a scheme that is built from whole batches", {{{"table.probing", "perfect"}}}},
      {"a table in the host's memory",
       {{{"table.device_bytes", "3Mi"}, {"table.page_bytes", "4Ki"}, {"table.capacity", "1M"}}}},
      {"rows replaced under a layout that shows a key before its row",
       {{{"table.value_bytes", "48"},
         {"table.value_bits", ""},
         {"table.duplicates", "replace"},
         {"table.layout", "soa"}}}},
  };
  return all;
}

const Feature *feature_of(const std::string &text) {
  for (const Feature &feature : features())
    if (feature.text == text) return &feature;
  return nullptr;
}

// Both; nothing where they want two values of one key.
std::optional<Settings> both(const Settings &a, const Settings &b) {
  Settings all = a;
  for (const auto &[key, value] : b) {
    const auto at = all.find(key);
    if (at == all.end() || at->second.empty())
      all[key] = value;
    else if (!value.empty() && value != at->second)
      return std::nullopt;
  }
  return all;
}

std::string text_of(const Settings &asked) {
  Settings all = kBase;
  for (const auto &[key, value] : asked) all[key] = value;
  std::map<std::string, std::string> sections;
  for (const auto &[key, value] : all) {
    const size_t dot = key.find('.');
    if (!value.empty() && value != "-") sections[key.substr(0, dot)] += key.substr(dot + 1) + " = " + value + "\n";
  }
  std::string text;
  for (const auto &[name, lines] : sections) text.append("[").append(name).append("]\n").append(lines);
  return text;
}

SpecPointer parsed(const std::string &text) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "t.ini", &spec, &error), TSR_OK) << error.message << "\n" << text;
  return SpecPointer(spec);
}

// The sentence that refuses the spec, "" if it is accepted.
std::string refusal(const std::string &text, tsr_status *status = nullptr) {
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  SpecPointer spec = parsed(text);
  tsr_composition *composition = nullptr;
  tsr_error error = {};
  const tsr_status got = tsr_compose(spec.get(), &options, 0, 1, &composition, &error);
  if (status) *status = got;
  tsr_composition_free(composition);
  return got ? error.message : "";
}

bool ends_with(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

const Row *row_that_said(const std::string &sentence) {
  for (const Row &row : rows())
    if (ends_with(sentence, row.ending())) return &row;
  return nullptr;
}

// t.ini:LINE: [section] key = value, of an entry that one of both asks for or the base has.
void expect_place(const std::string &sentence, const std::string &text) {
  unsigned line = 0;
  ASSERT_EQ(sscanf(sentence.c_str(), "t.ini:%u: ", &line), 1) << sentence;
  std::istringstream lines(text);
  std::string at;
  for (unsigned i = 0; i < line; i++) ASSERT_TRUE(std::getline(lines, at)) << sentence;
  const size_t bracket = sentence.find("] ");
  ASSERT_NE(bracket, std::string::npos) << sentence;
  EXPECT_EQ(sentence.compare(bracket + 2, at.size(), at), 0) << sentence << "\nline " << line << ": " << at;
}

// ---- Rows ---------------------------------------------------------------------------------------

const char *const kOfGroup = "a table of a group of processes"; // made otherwise: see below

bool is_call(const Row &row) {
  return row.feature.find("tsr_") == 0 || row.feature.find("a call") == 0 || row.feature.find("a kernel") == 0 ||
         row.feature == kOfGroup;
}

TEST(Rows, AreOfFeaturesAndNoTwoOfThemSay) {
  std::set<std::pair<std::string, std::string>> seen;
  ASSERT_GT(rows().size(), 60u);
  for (const Row &row : rows()) {
    EXPECT_TRUE(is_call(row) || feature_of(row.feature)) << row.feature;
    EXPECT_TRUE(feature_of(row.other)) << row.other;
    EXPECT_TRUE(seen.insert({row.feature, row.other}).second) << row.feature << ", " << row.other;
    EXPECT_FALSE(row.reason.empty());
    EXPECT_FALSE(row.way_out.empty());
  }
}

TEST(Rows, RefuseEverySpecThatHasBoth) {
  const std::set<std::string> none_here = {"a layout with memory that belongs to no bucket",
                                           "a layout with most regions of memory that there can be",
                                           "a layout that offers no put", "tiles of several lanes"};
  for (const Row &row : rows()) {
    if (is_call(row)) continue;
    size_t said = 0, written = 0;
    for (const Settings &a : feature_of(row.feature)->ways)
      for (const Settings &b : feature_of(row.other)->ways) {
        const std::optional<Settings> asked = both(a, b);
        if (!asked) continue;
        const std::string text = text_of(*asked);
        tsr_status status = TSR_OK;
        const std::string sentence = refusal(text, &status);
        written++;
        EXPECT_NE(sentence, "") << row.feature << ", " << row.other << ": was accepted:\n" << text;
        if (!ends_with(sentence, row.ending())) continue; // another row, or a part's own sentence, came first
        said++;
        EXPECT_NE(sentence.find(" does not go with "), std::string::npos) << sentence;
        EXPECT_TRUE(status == TSR_BAD_SPEC || status == TSR_INCOMPATIBLE) << sentence;
        expect_place(sentence, text);
      }
    const bool no_part = none_here.count(row.feature) || none_here.count(row.other);
    EXPECT_EQ(said > 0, !no_part) << row.feature << ", " << row.other << ": of " << written << " specs";
  }
}

// Whatever parts there are: with nothing but these two features the sentence is the row's.
TEST(Rows, AreSentences) {
  SpecPointer spec = parsed(text_of({}));
  size_t specs = 0, calls = 0;
  for (int a = 1; a < TSR_FEATURES; a++)
    for (int b = 1; b < TSR_FEATURES; b++) {
      tsr_error error = {};
      tsr_traits traits = {};
      traits.has[b] = true;
      if (a < TSR_FIRST_CALL) {
        traits.has[a] = true;
        if (b >= TSR_FIRST_CALL || a > b || !tsr_compatible_check(&traits, spec.get(), TSR_BAD_SPEC, &error)) continue;
        specs++;
      } else {
        tsr_compatible_refuse_calls(&traits);
        if (b >= TSR_FIRST_CALL || !traits.has[a]) continue;
        EXPECT_EQ(tsr_compatible_call(&traits, static_cast<tsr_feature>(a), "call", &error), TSR_UNSUPPORTED);
        EXPECT_EQ(std::string(error.message).find("call"), 0u);
        calls++;
      }
      EXPECT_NE(row_that_said(error.message), nullptr) << error.message;
      expect_sentence(error, error.message);
    }
  EXPECT_EQ(specs + calls, rows().size());
}

// ---- Calls --------------------------------------------------------------------------------------

struct Call {
  const char *feature;
  std::function<tsr_status(tsr_table *, tsr_error *)> run;
};

tsr_status make_kernel(tsr_table *t, const char *does, tsr_error *error) {
  const std::string text = std::string("#include \"tessera.cuh\"\nTSR_TABLE(mine, ") + does +
                           ")\nTSR_KERNEL(work, (tsr_table_ref mine, uint64_t key)) {}\n";
  tsr_kernel_source source = {};
  source.text = text.c_str();
  const char *const names[] = {"mine"};
  tsr_kernel *kernel = nullptr;
  const tsr_status status = tsr_kernel_create(&source, "work", &t, names, 1, &kernel, error);
  tsr_kernel_destroy(kernel);
  return status;
}

const uint32_t kKeys[2] = {1, 2}, kValues[64] = {};
uint32_t values_out[64];
uint64_t numbers[3], count;

const std::vector<Call> &calls() {
  static const std::vector<Call> all = {
      {"a call that reads or erases keys",
       [](tsr_table *t, tsr_error *e) { return tsr_export(t, 2, values_out, nullptr, &count, e); }},
      {"a call that reads or erases keys", [](tsr_table *t, tsr_error *e) { return tsr_size(t, &count, e); }},
      {"a call that reads or erases keys", [](tsr_table *t, tsr_error *e) { return make_kernel(t, "scans", e); }},
      {"a call for filters",
       [](tsr_table *t, tsr_error *e) {
         tsr_filter_info info = {};
         return tsr_filter_describe(t, &info, e);
       }},
      {"a call for filters", [](tsr_table *t, tsr_error *e) { return tsr_filter_merge(t, t, e); }},
      {"tsr_filter_merge", [](tsr_table *t, tsr_error *e) { return tsr_filter_merge(t, t, e); }},
      {"tsr_erase", [](tsr_table *t, tsr_error *e) { return tsr_erase(t, 2, kKeys, nullptr, e); }},
      {"tsr_find", [](tsr_table *t, tsr_error *e) { return tsr_find(t, 2, kKeys, values_out, nullptr, e); }},
      {"tsr_find", [](tsr_table *t, tsr_error *e) { return tsr_table_prepare(t, TSR_PREPARE_FIND, e); }},
      {"tsr_find_all",
       [](tsr_table *t, tsr_error *e) { return tsr_find_all(t, 2, kKeys, numbers, 2, values_out, nullptr, e); }},
      {"tsr_find_or_insert",
       [](tsr_table *t, tsr_error *e) {
         tsr_table_info info = {};
         tsr_table_describe(t, &info);
         return tsr_find_or_insert(t, 2, kKeys, info.value_bits ? kValues : nullptr, nullptr, nullptr, e);
       }},
      {"a call for an index",
       [](tsr_table *t, tsr_error *e) { return tsr_number(t, 2, kKeys, values_out, nullptr, e); }},
      {"a call for an index",
       [](tsr_table *t, tsr_error *e) { return tsr_keys_by_number(t, 0, 2, values_out, nullptr, e); }},
      {"a call for an index that evicts",
       [](tsr_table *t, tsr_error *e) { return tsr_evicted(t, 0, nullptr, nullptr, &count, e); }},
      {"a call for an index that evicts",
       [](tsr_table *t, tsr_error *e) { return tsr_touch(t, 2, values_out, nullptr, e); }},
      {"a call for an index", [](tsr_table *t, tsr_error *e) { return tsr_numbers_given(t, &count, e); }},
      {"a call on rows by number",
       [](tsr_table *t, tsr_error *e) { return tsr_read_rows(t, 2, values_out, values_out, nullptr, e); }},
      {"a call on rows by number",
       [](tsr_table *t, tsr_error *e) { return tsr_write_rows(t, 2, values_out, values_out, nullptr, e); }},
      {"tsr_unique", [](tsr_table *t, tsr_error *e) { return tsr_unique(t, 2, kKeys, nullptr, &count, e); }},
      {"a call for an index", [](tsr_table *t, tsr_error *e) { return tsr_unique(t, 2, kKeys, nullptr, &count, e); }},
      {"a call for a cache", [](tsr_table *t, tsr_error *e) { return tsr_erase_if(t, nullptr, nullptr, e); }},
      {"a call for a cache", [](tsr_table *t, tsr_error *e) { return tsr_export_if(t, nullptr, &count, e); }},
      {"tsr_rehash", [](tsr_table *t, tsr_error *e) { return tsr_rehash(t, nullptr, e); }},
      {"tsr_erase_pairs", [](tsr_table *t, tsr_error *e) { return tsr_erase_pairs(t, 2, kKeys, nullptr, nullptr, e); }},
      {"a call that erases pairs by value",
       [](tsr_table *t, tsr_error *e) { return tsr_erase_pairs(t, 2, kKeys, kValues, nullptr, e); }},
      {"tsr_apply",
       [](tsr_table *t, tsr_error *e) {
         const uint8_t operations[2] = {};
         return tsr_apply(t, 2, operations, kKeys, kValues, values_out, nullptr, e);
       }},
      {"tsr_flush", [](tsr_table *t, tsr_error *e) { return tsr_flush(t, nullptr, e); }},
      {"tsr_join", [](tsr_table *t, tsr_error *e) { return tsr_join(t, t, TSR_JOIN_SEMI, nullptr, &count, e); }},
      {"a call that combines right values",
       [](tsr_table *t, tsr_error *e) { return tsr_join(t, t, TSR_JOIN_SUM, nullptr, &count, e); }},
      {"a kernel of a user's own", [](tsr_table *t, tsr_error *e) { return make_kernel(t, "finds", e); }},
      {"a kernel that finds, inserts and erases at once",
       [](tsr_table *t, tsr_error *e) { return make_kernel(t, "all", e); }},
      {"a kernel that inserts", [](tsr_table *t, tsr_error *e) { return make_kernel(t, "inserts", e); }},
      {"a kernel that erases", [](tsr_table *t, tsr_error *e) { return make_kernel(t, "erases", e); }},
  };
  return all;
}

// Tables with the feature, of which a call may want more: links, or operations that overlap.
std::vector<std::string> tables_with(const Feature &feature) {
  std::vector<std::string> texts;
  for (const Settings &way : feature.ways)
    for (const Settings &more : {Settings{}, slab({}), Settings{{"table.concurrency", "mixed"}}})
      if (const std::optional<Settings> asked = both(way, more)) texts.push_back(text_of(*asked));
  return texts;
}

TEST(Rows, RefuseEveryCallOnSuchATable) {
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  for (const Row &row : rows()) {
    if (!is_call(row)) continue;
    size_t said = 0, tables = 0;
    for (const std::string &text : tables_with(*feature_of(row.other))) {
      SpecPointer spec = parsed(text);
      ASSERT_EQ(tsr_spec_set(spec.get(), "table.backend=cpu", nullptr), TSR_OK);
      tsr_table *table = nullptr;
      if (tsr_table_create(spec.get(), &options, &table, nullptr)) continue; // this way is for rows that refuse it
      tables++;
      for (const Call &call : calls()) {
        if (call.feature != row.feature) continue;
        tsr_error error = {};
        const tsr_status status = call.run(table, &error);
        const bool has_other = row.other != "concurrency = phased" || text.find("mixed") == std::string::npos;
        EXPECT_EQ(status, has_other ? TSR_UNSUPPORTED : TSR_OK) << row.feature << ", " << row.other << "\n" << text;
        said += ends_with(error.message, row.ending());
        EXPECT_TRUE(status == TSR_OK || row_that_said(error.message)) << error.message;
      }
      tsr_table_destroy(table);
    }
    // no layout whose buckets link lacks an exchange here; ../hostile captures calls
    const bool cannot_be = (row.other == "a layout that cannot exchange pairs" && row.feature == "tsr_flush") ||
                           row.feature == "a call that is captured into a CUDA graph" || row.feature == kOfGroup;
    EXPECT_EQ(said > 0, !cannot_be) << row.feature << ", " << row.other << ": of " << tables << " tables";
  }
}

TEST(Rows, RefuseTablesOfAGroup) {
  const std::string directories = plugin_directories(),
                    path = "/tmp/tessera-" + std::to_string(getpid()); // of a socket, whose name is short
  tsr_options options = {};
  options.plugins = directories.c_str();
  tsr_group *group = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_group_create(0, 1, path.c_str(), nullptr, &group, &error), TSR_OK) << error.message;
  size_t said = 0;
  for (const Row &row : rows()) {
    if (row.feature != kOfGroup) continue;
    for (const Settings &way : feature_of(row.other)->ways) {
      SpecPointer spec = parsed(text_of(way));
      ASSERT_EQ(tsr_spec_set(spec.get(), "table.backend=cpu", nullptr), TSR_OK);
      tsr_table *table = nullptr;
      error = {};
      EXPECT_NE(tsr_group_table_create(group, spec.get(), &options, &table, &error), TSR_OK) << text_of(way);
      EXPECT_NE(row_that_said(error.message), nullptr) << error.message;
      said++;
    }
  }
  EXPECT_GE(said, 3u);
  tsr_group_destroy(group);
}

// ---- What is no row -----------------------------------------------------------------------------

std::string get(const Settings &all, const std::string &key) {
  const auto at = all.find("table." + key);
  return at == all.end() || at->second == "-" ? "" : at->second;
}

bool is_one_of(const std::string &word, const std::set<std::string> &words) { return words.count(word) > 0; }

// Whether a spec asks for the feature, by its words and by what README and the folders say of parts: nothing is composed.
const std::map<std::string, std::function<bool(const Settings &)>> &meanings() {
  static const std::map<std::string, std::function<bool(const Settings &)>> all = [] {
    std::map<std::string, std::function<bool(const Settings &)>> is;
    auto kind = [](std::set<std::string> kinds) {
      return [=](const Settings &s) { return is_one_of(get(s, "kind"), kinds); };
    };
    auto no_kind = [](std::set<std::string> kinds) {
      return [=](const Settings &s) { return !is_one_of(get(s, "kind"), kinds); };
    };
    auto word = [](const char *key, std::set<std::string> words) {
      return [=](const Settings &s) { return is_one_of(get(s, key), words); };
    };
    auto no_word = [](const char *key, std::set<std::string> words) {
      return [=](const Settings &s) { return !is_one_of(get(s, key), words); };
    };
    auto has_values = [](const Settings &s) {
      const bool is_cache_of_keys =
          get(s, "kind") == "cache" && get(s, "value_bits").empty() && get(s, "value_bytes").empty();
      return !is_one_of(get(s, "kind"), {"set", "multiset"}) && !is_cache_of_keys;
    };
    auto written = [](const char *key) { return [=](const Settings &s) { return !get(s, key).empty(); }; };
    auto section = [](const char *key) { return [=](const Settings &s) { return s.count(key) > 0; }; };
    auto has_buckets = word("values", {"buckets"});
    auto keeps_all = kind({"multiset", "multimap"});
    auto links = word("layout", {"slab"});
    is["kind = set or multiset"] = [=](const Settings &s) { return !has_values(s); };
    is["kind = multiset or multimap"] = keeps_all;
    is["kind = counter"] = kind({"counter"});
    is["kind = filter"] = kind({"filter"});
    is["any kind but filter"] = no_kind({"filter"});
    is["kind = index"] = kind({"index"});
    is["any kind but index"] = no_kind({"index"});
    is["numbering"] = written("numbering");
    is["reuse"] = written("reuse");
    is["reuse = no"] = [](const Settings &s) { return get(s, "kind") == "index" && get(s, "reuse") == "no"; };
    is["numbering = first_seen"] = [](const Settings &s) {
      return get(s, "kind") == "index" && get(s, "numbering") == "first_seen";
    };
    is["eviction"] = written("eviction");
    is["kind = cache"] = kind({"cache"});
    is["any kind but index or cache"] = no_kind({"index", "cache"});
    is["an index with eviction"] = [](const Settings &s) {
      return get(s, "kind") == "index" && !is_one_of(get(s, "eviction"), {"", "none"});
    };
    is["a layout with flags that end a search"] = word("layout", {"tagged", "quotient"});
    is["a part whose scores an index cannot keep"] = word("eviction", {"ttl", "custom"});
    is["a scheme whose walks are not bounded to 8 buckets"] =
        no_word("probing", {"cuckoo", "cuckoo_filter", "two_choice", "iceberg", "perfect", "linear_hashing"});
    is["a scheme that keeps notes of its buckets"] = word("probing", {"robin_hood"});
    is["a layout that cannot exchange pairs"] = [=](const Settings &s) {
      return word("layout", {"tagged"})(s) || (word("layout", {"soa", "aos"})(s) && has_values(s));
    };
    is["eviction = none"] = word("eviction", {"", "none"});
    is["any kind but multimap"] = no_kind({"multimap"});
    is["any kind but map or multimap"] = no_kind({"map", "multimap", "cache", "index"});
    is["any kind but counter"] = no_kind({"counter"});
    auto has_slots = [](const Settings &s) { return !get(s, "layout").empty() || !get(s, "probing").empty(); };
    auto is_bloom = [=](const Settings &s) { return get(s, "kind") == "filter" && !has_slots(s); };
    is["kind = filter without a layout"] = is_bloom;
    is["kind = filter with a layout"] = [=](const Settings &s) { return get(s, "kind") == "filter" && has_slots(s); };
    is["any other key of [table]"] = [=](const Settings &s) {
      for (const auto &[key, value] : s)
        if (key.find("table.") == 0 && !value.empty() && value != "-" &&
            !tsr_is_key_of_filter(key.c_str() + 6, has_slots(s)))
          return true;
      return false;
    };
    is["key_bits = 128"] = word("key_bits", {"128"});
    is["value_bits"] = written("value_bits");
    is["value_bits = 8 or 16"] = word("value_bits", {"8", "16"});
    auto has_numbered_rows = [](const Settings &s) {
      return get(s, "kind") == "index" && !get(s, "value_bytes").empty();
    };
    is["value_bytes of an index"] = has_numbered_rows;
    is["any table but an index with value_bytes"] = [=](const Settings &s) { return !has_numbered_rows(s); };
    is["value_bytes"] = [](const Settings &s) { return get(s, "kind") != "index" && !get(s, "value_bytes").empty(); };
    is["value_bytes above 256"] = [](const Settings &s) {
      return get(s, "kind") != "index" && get(s, "value_bytes") == "512";
    };
    is["duplicates"] = written("duplicates");
    is["duplicates = replace, add, min or max"] = word("duplicates", {"replace", "add", "min", "max"});
    is["duplicates = add, min or max"] = word("duplicates", {"add", "min", "max"});
    is["overflow"] = written("overflow");
    is["overflow = saturate"] = word("overflow", {"saturate"});
    is["any duplicates but add"] = [](const Settings &s) { return get(s, "duplicates") != "add"; };
    is["duplicates = promise_unique"] = word("duplicates", {"promise_unique"});
    is["an insert that looks for its key"] = [=](const Settings &s) {
      return get(s, "duplicates") != "promise_unique" && (!keeps_all(s) || has_buckets(s)) &&
             get(s, "kind") != "filter";
    };
    is["concurrency = mixed"] = word("concurrency", {"mixed"});
    is["values = buckets"] = has_buckets;
    is["[table] filter"] = written("filter");
    is["stash"] = written("stash");
    is["page_bytes"] = [](const Settings &s) {
      return is_one_of(get(s, "page_bytes"), {"auto", "4Ki"}) || get(s, "layout") == "quotient";
    };
    is["page_bytes = 0"] = word("page_bytes", {"", "0"});
    is["pages of a multiset or multimap"] = [=](const Settings &s) {
      return is_one_of(get(s, "page_bytes"), {"auto", "4Ki"}) && keeps_all(s) && !has_buckets(s);
    };
    is["page_batch"] = written("page_batch");
    is["find_batch"] = written("find_batch");
    is["a table without pages"] = [=](const Settings &s) {
      return is_one_of(get(s, "page_bytes"), {"", "0"}) && !is_bloom(s);
    };
    is["growth = double or split"] = word("growth", {"double", "split"});
    is["growth = split"] = word("growth", {"split"});
    is["a scheme whose buckets do not split"] = no_word("probing", {"", "linear_hashing"});
    is["growth = none"] = word("growth", {"", "none"});
    is["growth_limit"] = written("growth_limit");
    is["device_bytes"] = written("device_bytes");
    is["device"] = written("device");
    is["devices"] = written("devices");
    is["[devices] split = replicated"] = [](const Settings &s) {
      const auto at = s.find("devices.split");
      return at != s.end() && at->second == "replicated";
    };
    is["[devices] split = independent"] = [](const Settings &s) {
      const auto at = s.find("devices.split");
      return at != s.end() && at->second == "independent";
    };
    is["[filter] bits_per_key"] = section("filter.bits_per_key");
    is["[filter] one_in"] = section("filter.one_in");
    is["load_factor above 1"] = word("load_factor", {"2"});
    is["allocator"] = written("allocator");
    is["a [table] without allocator"] = word("allocator", {""});
    is["a layout that stores a part of the hash in place of the key"] = word("layout", {"quotient"});
    is["a layout that stores fingerprints in place of keys"] = word("layout", {"fingerprint"});
    is["a layout that stores keys"] = no_word("layout", {"", "fingerprint"});
    is["a scheme in which keys of equal fingerprints can share some of their buckets"] =
        no_word("probing", {"", "cuckoo_filter", "slab_list"});
    is["a layout whose buckets link"] = links;
    is["a layout whose buckets do not link"] = [=](const Settings &s) { return !links(s); };
    is["buckets that do not link, and values = inline"] = [=](const Settings &s) {
      return !links(s) && !has_buckets(s);
    };
    is["a layout that shows a key before its value"] = [=](const Settings &s) {
      return is_one_of(get(s, "layout"), {"soa", "aos"}) && has_values(s) && !has_buckets(s);
    };
    is["a hasher that cannot be undone"] = word("hasher", {"universal", "xxhash"});
    is["a scheme that gives a key few buckets, and values = inline"] = [=](const Settings &s) {
      return is_one_of(get(s, "probing"), {"cuckoo", "cuckoo_filter", "two_choice", "iceberg", "perfect", "robin_hood",
                                           "linear_hashing"}) &&
             !has_buckets(s);
    };
    is["a scheme that gives a key several buckets"] = [](const Settings &s) {
      return get(s, "probing") != "slab_list";
    };
    is["a scheme that moves pairs"] = word("probing", {"cuckoo", "cuckoo_filter", "robin_hood", "linear_hashing"});
    is["a scheme that is made of whole batches"] = word("probing", {"hashgraph", "perfect"});
    is["a scheme that is built from whole batches"] = word("probing", {"perfect"});
    return is;
  }();
  return all;
}

// The row that a spec of these settings meets, by the words alone.
const Row *expected_row(const Settings &asked) {
  Settings all = kBase;
  for (const auto &[key, value] : asked) all[key] = value;
  for (const Row &row : rows()) {
    const auto a = meanings().find(row.feature), b = meanings().find(row.other);
    if (a != meanings().end() && b != meanings().end() && a->second(all) && b->second(all)) return &row;
  }
  return nullptr;
}

// What parts refuse of each other by themselves, in plan(); and what a spec of a filter lacks.
bool is_of_a_part(const std::string &sentence) {
  for (const char *words : {"cannot swap a key together with its value", "in pages of a power of two",
                            "has no code for key_bits = 128", "[table] layout is missing", "[table] probing is missing",
                            "or it has a layout; remove it", "stores keys of 128 bits without values"})
    if (sentence.find(words) != std::string::npos) return true;
  return false;
}

// Every two features, in every way that a spec can say both: refused where there is a row, accepted where there is none.
TEST(Pairs, GoTogetherUnlessThereIsARow) {
  size_t accepted = 0, refused = 0, by_parts = 0;
  for (size_t i = 0; i < features().size(); i++)
    for (size_t k = 0; k < i; k++)
      for (const Settings &x : features()[i].ways)
        for (const Settings &y : features()[k].ways) {
          const std::optional<Settings> asked = both(x, y);
          if (!asked) continue;
          const std::string text = text_of(*asked), sentence = refusal(text);
          const Row *row = expected_row(*asked);
          if (!row && is_of_a_part(sentence)) {
            by_parts++;
            continue;
          }
          EXPECT_EQ(!sentence.empty(), row != nullptr)
              << (row ? row->feature + " does not go with " + row->other : sentence) << "\n"
              << text;
          (sentence.empty() ? accepted : refused)++;
          EXPECT_TRUE(sentence.empty() || row_that_said(sentence) || is_of_a_part(sentence)) << sentence;
        }
  EXPECT_GT(accepted, 1500u);
  EXPECT_GT(refused, 500u);
  EXPECT_LT(by_parts, 200u);
  std::cout << accepted << " accepted, " << refused << " refused, " << by_parts << " refused by a part\n";
}

} // namespace
} // namespace tessera_test
