// SPDX-License-Identifier: Apache-2.0
//
// random_spec.h.
#include "tests/compositions/random_spec.h"

#include <algorithm>
#include <cstring>
#include <sstream>

#include "core/tessera_tools.h"
#include "plugins/table.h"

namespace tessera_test {

static const char *const policies[] = {"first", "replace", "add", "min", "max", "promise_unique"};

std::vector<RandomSpec::Entry> RandomSpec::optional() const {
  static const char *const required[] = {"backend", "capacity", "hasher",     "key_bits",    "kind",
                                         "layout",  "probing",  "value_bits", "value_bytes", "eviction"};
  std::vector<Entry> result;
  for (const auto &entry : entries_)
    if (entry.first.first != "table" ||
        std::find(std::begin(required), std::end(required), entry.first.second) == std::end(required))
      result.push_back(entry.first);
  return result;
}

std::string RandomSpec::text() const {
  std::ostringstream text;
  for (const char *section : {"table", "layout", "probing", "hasher", "allocator", "values", "eviction"}) {
    bool is_open = false;
    for (const auto &entry : entries_) {
      if (entry.first.first != section) continue;
      if (!is_open) text << "[" << section << "]\n";
      is_open = true;
      text << entry.first.second << " = " << entry.second << "\n";
    }
  }
  return text.str();
}

std::unique_ptr<tsr_spec, FreeSpec> RandomSpec::parse() const {
  tsr_spec *spec = nullptr;
  return std::unique_ptr<tsr_spec, FreeSpec>(tsr_spec_parse(text().c_str(), "random.ini", &spec, nullptr) ? nullptr
                                                                                                          : spec);
}

uint32_t RandomSpec::policy() const {
  if (get("table", "kind").compare(0, 5, "multi") == 0) return TSR_DUPLICATES_KEEP;
  if (get("table", "kind") == "counter")
    return bits("value_bits") == 8    ? TSR_DUPLICATES_COUNT_8
           : bits("value_bits") == 16 ? TSR_DUPLICATES_COUNT_16
                                      : TSR_DUPLICATES_COUNT;
  uint32_t policy = 0;
  while (policy < TSR_DUPLICATES_KEEP && get("table", "duplicates") != policies[policy]) policy++;
  return policy < TSR_DUPLICATES_KEEP ? policy : uint32_t{TSR_DUPLICATES_FIRST};
}

Parts::Parts(const char *plugins, std::string *complaint) {
  const tsr_plugin_info *list;
  size_t count;
  tsr_error error = {};
  if (tsr_plugins_list(plugins, &list, &count, &error)) {
    *complaint = error.message;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    Part part = {list[i].name, {}};
    for (size_t j = 0; j < list[i].parameter_count; j++) {
      const tsr_parameter_info &row = list[i].parameters[j];
      part.parameters.push_back({row.name, row.initial, row.minimum, row.maximum});
    }
    parts_[list[i].role].push_back(part);
  }
  tsr_plugins_free(list, count);
  for (const char *role : {"layout", "probing", "hasher"})
    if (parts_[role].empty()) *complaint = std::string("there is no ") + role + ": name folders by --plugins";
}

// Small numbers as often as large ones.
static uint64_t any_size(Random &random, uint64_t minimum, uint64_t maximum) {
  uint64_t span = maximum - minimum, bits = 0;
  while (bits < 64 && span >> bits) bits++;
  uint64_t number = random.below(bits + 1);
  number = number ? random.next() >> (64 - number) : 0;
  return minimum + (number > span ? span : number);
}

void Parts::draw_part(Random &random, const std::string &role, RandomSpec *spec) const {
  // a bound in the thousands is one of time: what it does to a full table takes as long
  const uint64_t most = 1000;
  const std::vector<Part> &parts = parts_.at(role);
  const Part &part = parts[random.below(parts.size())];
  spec->set("table", role, part.name);
  for (const Parameter &parameter : part.parameters) {
    if (random.chance(2) || parameter.minimum > most) continue;
    uint64_t value = any_size(random, parameter.minimum, std::min(parameter.maximum, most));
    if (random.chance(2)) // most that is a size must be a power of two
      while (value & (value - 1) && (value & (value - 1)) >= parameter.minimum) value &= value - 1;
    spec->set(role, parameter.name, std::to_string(value));
  }
}

// Its scheme, layout and hasher are drawn. Most of what else there is would be refused.
void Parts::draw_cache(Random &random, RandomSpec *spec) const {
  draw_part(random, "eviction", spec);
  switch (random.below(4)) {
  case 0:
    break; // keys alone
  case 1:
    spec->set("table", "value_bytes", std::to_string(8 * (2 + random.below(31))));
    break;
  default:
    spec->set("table", "value_bits", random.chance(2) ? "32" : "64");
  }
  if (random.chance(2) && !spec->get("table", "value_bits").empty()) spec->set("table", "duplicates", "replace");
  if (random.chance(3)) spec->set("table", "load_factor", random.chance(3) ? "auto" : random.chance(2) ? "0.5" : "0.9");
  if (random.chance(2)) spec->set("probing", "max_probes", std::to_string(1 + random.below(4)));
  if (random.chance(2)) spec->set("table", "statistics", "yes");
}

void Parts::draw_index(Random &random, RandomSpec *spec) const {
  if (random.chance(2)) spec->set("table", "numbering", "first_seen");
  if (random.chance(4)) spec->set("table", "reuse", "no");
  if (parts_.count("eviction") && random.chance(3)) spec->set("table", "eviction", random.chance(2) ? "lru" : "lfu");
  if (random.chance(3)) spec->set("table", "value_bytes", std::to_string(4 * (4 + random.below(61))));
  if (random.chance(12)) spec->set("table", "value_bytes", std::to_string(16 * (1 + random.below(256))));
}

RandomSpec Parts::draw(Random &random, const std::string &backend) const {
  static const char *const kinds[] = {"set", "map", "multiset", "multimap", "counter", "index", "cache"};
  RandomSpec spec;
  const uint64_t kind = random.below(parts_.count("eviction") ? 7 : 6);
  const uint64_t capacity = any_size(random, 1, random.chance(8) ? 30000 : 1500);
  spec.set("table", "backend", backend);
  spec.set("table", "kind", kinds[kind]);
  spec.set("table", "key_bits", random.chance(5) ? (random.chance(4) ? "96" : "128") : random.chance(2) ? "32" : "64");
  if (kind == 1 || kind == 3) spec.set("table", "value_bits", random.chance(2) ? "32" : "64");
  if (kind == 4) spec.set("table", "value_bits", std::to_string(8u << random.below(4)));
  spec.set("table", "capacity", std::to_string(capacity));
  spec.set("table", "seed", std::to_string(1 + random.next() / 2));
  for (const char *role : {"layout", "probing", "hasher"}) draw_part(random, role, &spec);
  if (kind == 6) draw_cache(random, &spec);
  if (kind == 6) return spec;
  if (kind == 5) draw_index(random, &spec);
  auto allocators = parts_.find("allocator");
  if (allocators != parts_.end() && random.chance(3)) draw_part(random, "allocator", &spec);
  if (kind < 2 && !random.chance(3)) spec.set("table", "duplicates", policies[random.below(TSR_DUPLICATES_KEEP)]);
  if (kind != 5 && random.chance(3)) spec.set("table", "concurrency", "mixed");
  if (random.chance(4)) spec.set("table", "statistics", "yes");
  if (random.chance(3)) spec.set("table", "stash", std::to_string(any_size(random, 0, 64)));
  if (random.chance(4)) {
    spec.set("table", "page_bytes", std::to_string(1024u << random.below(8)));
    if (!random.chance(4)) spec.set("table", "page_batch", std::to_string(any_size(random, 0, 2000)));
    if (!random.chance(4)) spec.set("table", "find_batch", std::to_string(any_size(random, 0, 2000)));
    if (random.chance(2) && spec.get("table", "concurrency").empty() && spec.get("table", "stash").empty() && kind != 5)
      spec.set("table", "device_bytes", std::to_string(any_size(random, 8 << 10, 128 << 10)));
  }
  if (random.chance(2)) {
    uint64_t percent = random.chance(4) ? 100 + random.below(1500) : 5 + random.below(96);
    spec.set("table", "load_factor",
             random.chance(8) ? "auto"
                              : std::to_string(percent / 100) + "." + std::to_string(percent / 10 % 10) +
                                    std::to_string(percent % 10));
  }
  if (random.chance(4)) { // bounded: a scheme with few places for a key would grow for ever
    const bool splits = spec.get("table", "probing") == "linear_hashing" && random.chance(2);
    spec.set("table", "growth", splits ? "split" : "double");
    spec.set("table", "growth_limit", std::to_string(capacity * (1 + random.below(16))));
  }
  if (random.chance(3)) spec.set("table", "filter", std::to_string(any_size(random, 2, 48)));
  if (kind == 3 && random.chance(2)) {
    if (allocators != parts_.end()) draw_part(random, "allocator", &spec);
    spec.set("table", "values", "buckets");
    if (random.chance(2)) spec.set("values", "first", std::to_string(any_size(random, 1, 64)));
    if (random.chance(2))
      spec.set("values", "growth", std::to_string(1 + random.below(3)) + "." + std::to_string(random.below(10)));
    if (random.chance(2)) spec.set("values", "per_key", std::to_string(any_size(random, 1, 50)));
  }
  return spec;
}

} // namespace tessera_test
