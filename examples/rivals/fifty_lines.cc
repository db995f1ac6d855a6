// SPDX-License-Identifier: Apache-2.0
//
// The shortest adapter: std::unordered_map with 64-bit keys and values, whose pairs never come twice. README.md explains it.
#include <tessera_rival.h>
#include <unordered_map>

namespace {

// For another library replace these two, and its header above. Rows carry the name.
using Map = std::unordered_map<uint64_t, uint64_t>;
const char name[] = "std::unordered_map";

Map &map_of(void *table) { return *static_cast<Map *>(table); }

const char *create(const tsr_rival_shape *shape, void **table) {
  if (shape->kind != TSR_RIVAL_MAP || shape->key_bits != 64 || shape->value_bits != 64)
    return "is a map of 64-bit keys and values: set key_bits = 64 and value_bits = 64";
  if (shape->merge != TSR_RIVAL_DISTINCT) return "takes distinct keys: set duplicates = promise_unique";
  auto *map = new Map;
  map->max_load_factor(static_cast<float>(shape->load_factor));
  map->reserve(shape->capacity);
  *table = map;
  return nullptr;
}

void destroy(void *table) { delete &map_of(table); }
const char *clear(void *table, void *) { return map_of(table).clear(), nullptr; }
const char *count(void *table, uint64_t *keys, void *) { return *keys = map_of(table).size(), nullptr; }

const char *insert(void *table, uint64_t n, const void *keys, const void *values, void *) {
  for (uint64_t i = 0; i < n; i++)
    map_of(table).emplace(static_cast<const uint64_t *>(keys)[i], static_cast<const uint64_t *>(values)[i]);
  return nullptr;
}

const char *find(void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *) {
  for (uint64_t i = 0; i < n; i++) {
    const auto at = map_of(table).find(static_cast<const uint64_t *>(keys)[i]);
    static_cast<uint64_t *>(values)[i] = at == map_of(table).end() ? missing : at->second;
  }
  return nullptr;
}

const tsr_rival rival = {
    name,   "g++ " __VERSION__, 0, 1, create, destroy, clear, insert, find, nullptr, nullptr, count, nullptr, nullptr,
    nullptr};

} // namespace

extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {
  *count = 1;
  return interface == TSR_RIVAL_INTERFACE ? &rival : nullptr;
}
