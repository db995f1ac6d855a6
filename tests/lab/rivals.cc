// SPDX-License-Identifier: Apache-2.0
//
// Rivals that are wrong, each in its own way: what beside_test.cc opens.
#include <cstring>
#include <map>

#include "core/tessera_rival.h"

namespace {

using Map = std::map<uint32_t, uint32_t>;

enum Fault { LOSES_A_PAIR, WRONG_VALUE, FINDS_ABSENT, FINDS_NOTHING, KEEPS_ERASED, FAULTS };

Map &map_of(void *table) { return *static_cast<Map *>(table); }

const char *create(const tsr_rival_shape *shape, void **table) {
  if (shape->key_bits != 32) return "has keys of 32 bits alone";
  *table = new Map;
  return nullptr;
}
void destroy(void *table) { delete &map_of(table); }
const char *clear(void *table, void *) { return map_of(table).clear(), nullptr; }
const char *count(void *table, uint64_t *keys, void *) { return *keys = map_of(table).size(), nullptr; }
uint64_t bytes(void *) { return 12345; }

template <int fault>
const char *insert(void *table, uint64_t n, const void *keys, const void *values, void *) {
  for (uint64_t i = 0; i < n; i++)
    if (fault != LOSES_A_PAIR || i != n / 2)
      map_of(table).emplace(static_cast<const uint32_t *>(keys)[i], static_cast<const uint32_t *>(values)[i]);
  return nullptr;
}

template <int fault>
const char *find(void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *) {
  for (uint64_t i = 0; fault != FINDS_NOTHING && i < n; i++) {
    const auto at = map_of(table).find(static_cast<const uint32_t *>(keys)[i]);
    uint32_t value = at == map_of(table).end() ? static_cast<uint32_t>(missing) : at->second;
    if (fault == WRONG_VALUE && i == n / 2) value++;
    if (fault == FINDS_ABSENT && at == map_of(table).end() && i == n / 2) value = 7;
    static_cast<uint32_t *>(values)[i] = value;
  }
  return nullptr;
}

template <int fault>
const char *erase(void *table, uint64_t n, const void *keys, void *) {
  for (uint64_t i = 0; i < n; i++)
    if (fault != KEEPS_ERASED || i != n / 2) map_of(table).erase(static_cast<const uint32_t *>(keys)[i]);
  return nullptr;
}

template <int fault>
tsr_rival rival(const char *name) {
  return {name,        "a compiler", 0,       1,     create, destroy, clear, insert<fault>,
          find<fault>, erase<fault>, nullptr, count, bytes};
}

} // namespace

extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {
  static const tsr_rival list[] = {rival<LOSES_A_PAIR>("loses a pair"), rival<WRONG_VALUE>("wrong value"),
                                   rival<FINDS_ABSENT>("finds absent"), rival<FINDS_NOTHING>("finds nothing"),
                                   rival<KEEPS_ERASED>("keeps erased"), rival<FAULTS>("right")};
  *count = sizeof list / sizeof list[0];
  return interface == TSR_RIVAL_INTERFACE ? list : nullptr;
}
