// SPDX-License-Identifier: Apache-2.0
//
// choices.h.
#include "tests/codegen/choices.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "core/spec/spec.h"
#include "core/tessera_tools.h"

namespace choices {

const std::array<Widths, 6> kWidths = {{{32, 0}, {32, 32}, {32, 64}, {64, 0}, {64, 32}, {64, 64}}};
// keep: not a word of a spec, but what a multiset and a multimap do
const std::array<const char *, 7> kPolicies = {{"first", "replace", "add", "min", "max", "promise_unique", "keep"}};

// ---- Parts --------------------------------------------------------------------------------------

const std::string &plugin_folders() {
  static const std::string folders = [] {
    const char *given = getenv("TESSERA_PLUGINS");
    if (given && *given) return std::string(given);
    std::string found;
    for (const char *folder : {"layouts", "probing", "hashers", "allocators", "eviction", "plugins/template/layout",
                               "plugins/template/probing", "plugins/template/hasher", "plugins/template/allocator"})
      if (access(folder, F_OK) == 0) found += (found.empty() ? "" : ":") + std::string(folder);
    return found;
  }();
  return folders;
}

std::vector<std::string> plugins_of(const std::string &role) {
  static const std::set<std::string> of_filters = {"layout fingerprint", "probing cuckoo_filter"};
  const tsr_plugin_info *list = nullptr;
  size_t count = 0;
  tsr_error error = {};
  EXPECT_EQ(tsr_plugins_list(plugin_folders().c_str(), &list, &count, &error), TSR_OK) << error.message;
  std::vector<std::string> names;
  for (size_t i = 0; i < count; i++)
    if (role == list[i].role && !of_filters.count(role + " " + list[i].name)) names.push_back(list[i].name);
  tsr_plugins_free(list, count);
  std::sort(names.begin(), names.end());
  return names;
}

// What a layout needs beside it: an allocator, if its buckets link. "" = nothing.
static const std::string &allocator_for(const std::string &layout) {
  static std::map<std::string, std::string> known;
  auto found = known.find(layout);
  if (found != known.end()) return found->second;
  std::vector<std::string> allocators = plugins_of("allocator");
  allocators.insert(allocators.begin(), "");
  for (const std::string &allocator : allocators)
    for (const std::string &probing : plugins_of("probing")) {
      Entries entries;
      entries.set_widths(32, 32);
      entries.set("table", "capacity", "1000");
      entries.set("table", "backend", "cpu");
      entries.set("table", "layout", layout);
      entries.set("table", "probing", probing);
      entries.set("table", "hasher", plugins_of("hasher").at(0));
      if (!allocator.empty()) entries.set("table", "allocator", allocator);
      Spec spec = entries.parse();
      tsr_options options = {};
      options.plugins = plugin_folders().c_str();
      char *text = nullptr;
      tsr_error error = {};
      if (tsr_spec_check(spec.get(), &options, &text, &error) != TSR_OK) continue;
      free(text);
      return known[layout] = allocator;
    }
  return known[layout] = "";
}

static bool has_parameter(const std::string &role, const std::string &name, const std::string &parameter) {
  const tsr_plugin_info *list = nullptr;
  size_t count = 0;
  tsr_error error = {};
  bool has = false;
  EXPECT_EQ(tsr_plugins_list(plugin_folders().c_str(), &list, &count, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < list[i].parameter_count; k++)
      has = has || (role == list[i].role && name == list[i].name && parameter == list[i].parameters[k].name);
  tsr_plugins_free(list, count);
  return has;
}

// ---- Specs --------------------------------------------------------------------------------------

Entries Entries::of(const tsr_spec *spec) {
  Entries entries;
  for (size_t i = 0; i < tsr_spec_count(spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec, i);
    entries.set(entry->section, entry->key, entry->value);
  }
  return entries;
}

void Entries::set(const std::string &section, const std::string &key, const std::string &value) {
  sections_[section][key] = value;
}

void Entries::drop(const std::string &section, const std::string &key) { sections_[section].erase(key); }

std::string Entries::get(const std::string &section, const std::string &key) const {
  auto in = sections_.find(section);
  if (in == sections_.end()) return "";
  auto entry = in->second.find(key);
  return entry == in->second.end() ? "" : entry->second;
}

void Entries::set_widths(uint32_t key_bits, uint32_t value_bits) {
  const bool keeps_all = get("table", "kind").rfind("multi", 0) == 0;
  set("table", "kind", std::string(keeps_all ? "multi" : "") + (value_bits ? "map" : "set"));
  set("table", "key_bits", std::to_string(key_bits));
  drop("table", "value_bits");
  if (value_bits) set("table", "value_bits", std::to_string(value_bits));
}

std::string Entries::text() const {
  std::string text;
  for (const auto &[section, keys] : sections_) {
    text += "[" + section + "]\n";
    for (const auto &[key, value] : keys) text += key + " = " + value + "\n";
  }
  return text;
}

Spec Entries::parse() const {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text().c_str(), "choice.ini", &spec, &error), TSR_OK) << error.message;
  return Spec(spec);
}

// ---- Choices ------------------------------------------------------------------------------------

Entries Choice::entries() const {
  Entries entries;
  if (duplicates == "keep")
    entries.set("table", "kind", "multimap");
  else
    entries.set("table", "duplicates", duplicates);
  entries.set_widths(key_bits, value_bits);
  entries.set("table", "capacity", "1M");
  entries.set("table", "layout", layout);
  entries.set("table", "probing", probing);
  entries.set("table", "hasher", hasher);
  entries.set("table", "concurrency", concurrency);
  entries.set("table", "statistics", statistics);
  if (stash) entries.set("table", "stash", std::to_string(stash));
  if (filter) entries.set("table", "filter", std::to_string(filter));
  if (grows_to) entries.set("table", "growth", "double");
  if (grows_to) entries.set("table", "growth_limit", std::to_string(grows_to));
  if (page_bytes) {
    entries.set("table", "page_bytes", std::to_string(page_bytes));
    entries.set("table", "page_batch", "100"); // smaller ones go by random access
    entries.set("table", "find_batch", "100"); // ... and are not sorted by zones
  }
  if (!allocator_for(layout).empty()) entries.set("table", "allocator", allocator_for(layout));
  if (!lists.empty()) {
    entries.set("table", "values", "buckets");
    entries.set("table", "allocator", lists);
    entries.set("allocator", "unit_bytes", "32");
  }
  static std::map<std::string, bool> is_sized_in_bytes; // with the link's place among the slots
  if (!is_sized_in_bytes.count(layout)) is_sized_in_bytes[layout] = has_parameter("layout", layout, "slab_bytes");
  uint32_t pair_bits = key_bits + value_bits, slot_bytes = pair_bits <= 32 ? 4 : pair_bits <= 64 ? 8 : 16;
  static std::map<std::string, bool> has_slots; // else its buckets have a size of its own, for one lane
  if (!has_slots.count(layout)) has_slots[layout] = has_parameter("layout", layout, "bucket_slots");
  if (is_sized_in_bytes[layout])
    entries.set("layout", "slab_bytes", std::to_string(bucket_slots * slot_bytes));
  else if (has_slots[layout])
    entries.set("layout", "bucket_slots", std::to_string(bucket_slots));
  if (is_sized_in_bytes[layout] || has_slots[layout] || tile_lanes != 1) // which a layout for one lane refuses
    entries.set("layout", "tile_lanes", std::to_string(tile_lanes));
  return entries;
}

std::string Choice::name() const {
  return layout + "_" + std::to_string(bucket_slots) + "_" + std::to_string(tile_lanes) + "_" + probing + "_" + hasher +
         "_k" + std::to_string(key_bits) + "v" + std::to_string(value_bits) + "_" + duplicates + "_" + concurrency +
         (statistics == "yes" ? "_statistics" : "") + (stash ? "_stash" : "") + (filter ? "_filter" : "") +
         (grows_to ? "_grows" : "") + (page_bytes ? "_pages" : "") + (lists.empty() ? "" : "_lists_" + lists) +
         (quarter ? "_part" + std::to_string(quarter) : "") + (sm ? "_sm" + std::to_string(sm) : "");
}

void PrintTo(const Choice &choice, std::ostream *out) { *out << choice.name(); }

Options Options::all() {
  Options options;
  options.layouts = plugins_of("layout");
  options.probings = plugins_of("probing");
  options.hashers = plugins_of("hasher");
  options.duplicates.assign(kPolicies.begin(), kPolicies.end());
  options.concurrencies = {"phased", "mixed"};
  options.statistics = {"no", "yes"};
  for (uint32_t slots = 1; slots <= 32; slots *= 2)
    for (uint32_t lanes = 1; lanes <= slots; lanes *= 2) options.shapes.push_back({slots, lanes});
  options.widths.assign(kWidths.begin(), kWidths.end());
  options.sms = {80, 90};
  options.stashes = {0, 8};
  options.filters = {0, 8};
  options.quarters = {0};
  return options;
}

namespace {

enum { kDimensions = 12 };
using Pick = std::array<uint32_t, kDimensions>; // an option of each dimension

Choice choice_of(const Options &o, const Pick &p) {
  Choice c;
  c.layout = o.layouts[p[0]];
  c.probing = o.probings[p[1]];
  c.hasher = o.hashers[p[2]];
  c.duplicates = o.duplicates[p[3]];
  c.concurrency = o.concurrencies[p[4]];
  c.statistics = o.statistics[p[5]];
  c.bucket_slots = o.shapes[p[6]][0];
  c.tile_lanes = o.shapes[p[6]][1];
  c.key_bits = o.widths[p[7]].key_bits;
  c.value_bits = o.widths[p[7]].value_bits;
  c.sm = o.sms[p[8]];
  c.stash = o.stashes[p[9]];
  c.filter = o.filters[p[10]];
  c.quarter = o.quarters[p[11]];
  return c;
}

// A hasher meets schemes, key widths and targets; what is beside it in a bucket is nothing to it. To code it is a function
// of a key, and who asks is nothing to it either.
bool may_matter(uint32_t a, uint32_t b, bool is_linked_only) {
  enum { kProbing = 1, kHasher = 2, kWidths = 7, kTarget = 8 };
  if (a == kHasher) std::swap(a, b);
  return b != kHasher || (a == kProbing && !is_linked_only) || a == kWidths || a == kTarget;
}

// All pairs of a pick that may matter, each as a number.
std::vector<uint32_t> pairs_of(const Pick &p, bool is_linked_only) {
  std::vector<uint32_t> pairs;
  for (uint32_t i = 0; i < kDimensions; i++)
    for (uint32_t j = 0; j < i; j++)
      if (may_matter(i, j, is_linked_only)) pairs.push_back((i << 28) + (j << 24) + (p[i] << 12) + p[j]);
  return pairs;
}

} // namespace

std::vector<Choice> cover_pairs(const Options &o, const std::function<bool(const Choice &)> &accepts) {
  const size_t sizes[kDimensions] = {o.layouts.size(),       o.probings.size(),   o.hashers.size(), o.duplicates.size(),
                                     o.concurrencies.size(), o.statistics.size(), o.shapes.size(),  o.widths.size(),
                                     o.sms.size(),           o.stashes.size(),    o.filters.size(), o.quarters.size()};
  if (std::count(sizes, sizes + kDimensions, 0u)) return {};
  std::vector<Choice> chosen;
  std::set<uint32_t> covered;
  uint64_t state = 1;
  auto below = [&state](size_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
  };
  auto gain_of = [&covered, &o](const Pick &pick) {
    uint32_t gain = 0;
    for (uint32_t pair : pairs_of(pick, o.is_linked_only)) gain += !covered.count(pair);
    return gain;
  };
  // Of some random picks the one with most new pairs, until many in a row have none.
  enum { kFruitless = 6 };
  const uint32_t candidates = o.is_linked_only ? 3000 : 300; // the more, the fewer choices
  for (uint32_t fruitless = 0; fruitless < kFruitless;) {
    Pick best{};
    uint32_t best_gain = 0;
    for (uint32_t candidate = 0; candidate < candidates; candidate++) {
      Pick pick;
      for (uint32_t i = 0; i < kDimensions; i++) pick[i] = below(sizes[i]);
      uint32_t gain = gain_of(pick);
      if (gain > best_gain && accepts(choice_of(o, pick))) {
        best = pick;
        best_gain = gain;
      }
    }
    fruitless = best_gain ? 0 : fruitless + 1;
    if (!best_gain) continue;
    for (uint32_t i = 0; o.is_linked_only && i < kDimensions; i++) {
      Pick plainer = best;
      plainer[i] = 0;
      if (gain_of(plainer) == best_gain && accepts(choice_of(o, plainer))) best = plainer;
    }
    for (uint32_t pair : pairs_of(best, o.is_linked_only)) covered.insert(pair);
    chosen.push_back(choice_of(o, best));
  }
  return chosen;
}

} // namespace choices
