// SPDX-License-Identifier: Apache-2.0
//
// Rivals that are wrong, each in its own way: what beside_test.cc opens.
#include <cstring>
#include <map>

#include "core/tessera_rival.h"

namespace {

using Map = std::multimap<uint32_t, uint32_t>; // where it is none, a key comes once

enum Fault {
  LOSES_A_PAIR,
  WRONG_VALUE,
  FINDS_ABSENT,
  FINDS_NOTHING,
  KEEPS_ERASED,
  WRONG_KEY,
  KEY_TWICE,
  WRONG_COUNT,
  WRONG_NUMBER,
  LIST_TOO_SHORT,
  WRONG_IN_LIST,
  FAULTS
};

Map &map_of(void *table) { return *static_cast<Map *>(table); }

bool is_multimap; // of the table that was made last: the tests make one kind at a time

const char *create(const tsr_rival_shape *shape, void **table) {
  if (shape->key_bits != 32) return "has keys of 32 bits alone";
  is_multimap = shape->kind == TSR_RIVAL_MULTIMAP;
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
    if ((fault != LOSES_A_PAIR || i != n / 2) &&
        (is_multimap || !map_of(table).count(static_cast<const uint32_t *>(keys)[i])))
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
const char *unique(void *, uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse,
                   uint64_t *distinct, void *) {
  const uint32_t *key = static_cast<const uint32_t *>(keys);
  uint32_t *listed = static_cast<uint32_t *>(distinct_keys);
  std::map<uint32_t, uint32_t> numbers;
  for (uint64_t i = 0; i < n; i++) {
    const auto [at, is_new] = numbers.emplace(key[i], static_cast<uint32_t>(numbers.size()));
    if (is_new) listed[at->second] = key[i];
    if (counts) counts[at->second] = is_new ? 1 : counts[at->second] + 1;
    if (inverse) inverse[i] = at->second;
  }
  *distinct = numbers.size() - (fault == LOSES_A_PAIR);
  if (fault == WRONG_KEY) listed[7]++;
  if (fault == KEY_TWICE) listed[7] = listed[8];
  if (fault == WRONG_COUNT && counts) counts[7]++;
  if (fault == WRONG_NUMBER && inverse) inverse[7]++;
  return nullptr;
}

template <int fault>
const char *find_all(void *table, uint64_t n, const void *keys, uint64_t *offsets, uint64_t, void *values, void *) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; i++) {
    auto [from, to] = map_of(table).equal_range(static_cast<const uint32_t *>(keys)[i]);
    offsets[i] = at;
    if (fault == LIST_TOO_SHORT && i == n / 2) ++from;
    for (; from != to; ++from)
      static_cast<uint32_t *>(values)[at++] = from->second + (fault == WRONG_IN_LIST && i == n / 2);
  }
  offsets[n] = at;
  return nullptr;
}

template <int fault>
tsr_rival rival(const char *name) {
  return {name,        "a compiler", 0,       1,     create, destroy,       clear,          insert<fault>,
          find<fault>, erase<fault>, nullptr, count, bytes,  unique<fault>, find_all<fault>};
}

} // namespace

extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {
  static const tsr_rival list[] = {rival<LOSES_A_PAIR>("loses a pair"),   rival<WRONG_VALUE>("wrong value"),
                                   rival<FINDS_ABSENT>("finds absent"),   rival<FINDS_NOTHING>("finds nothing"),
                                   rival<KEEPS_ERASED>("keeps erased"),   rival<WRONG_KEY>("wrong key"),
                                   rival<KEY_TWICE>("key twice"),         rival<WRONG_COUNT>("wrong count"),
                                   rival<WRONG_NUMBER>("wrong number"),   rival<LIST_TOO_SHORT>("list too short"),
                                   rival<WRONG_IN_LIST>("wrong in list"), rival<FAULTS>("right")};
  *count = sizeof list / sizeof list[0];
  return interface == TSR_RIVAL_INTERFACE ? list : nullptr;
}
