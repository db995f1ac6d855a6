// SPDX-License-Identifier: Apache-2.0
//
// A rival of every map template with the functions of std::unordered_map: sets, maps, counters and indexes of 32-bit and
// 64-bit keys, with every way of merging. A whole adapter is three lines: see std_map.cc. One thread uses it.
#ifndef MAP_RIVAL_H
#define MAP_RIVAL_H

#include <tessera_rival.h>

#include <algorithm>
#include <new>

// What a table does, whatever the widths.
struct MapRival {
  virtual ~MapRival() = default;
  virtual void clear() = 0;
  virtual void insert(uint64_t n, const void *keys, const void *values) = 0;
  virtual void find(uint64_t n, const void *keys, void *values, uint64_t missing) const = 0;
  virtual void erase(uint64_t n, const void *keys) = 0;
  virtual uint64_t join(const MapRival &other) const = 0;
  virtual uint64_t count() const = 0;
  virtual void unique(uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse) = 0;
};

// Value: of a set a byte, which says that the key is there.
template <class Map, class Key, class Value>
class MapRivalOf : public MapRival {
  Map map;
  uint32_t kind, merge;

public:
  explicit MapRivalOf(const tsr_rival_shape &shape) : kind(shape.kind), merge(shape.merge) {
    map.reserve(shape.capacity);
  }
  void clear() override { map.clear(); }
  uint64_t count() const override { return map.size(); }

  void insert(uint64_t n, const void *keys, const void *values) override {
    const Key *key = static_cast<const Key *>(keys);
    const Value *value = static_cast<const Value *>(values);
    for (uint64_t i = 0; i < n; i++) {
      const Value offered = kind == TSR_RIVAL_MAP ? value[i] : 1;
      const auto [at, is_new] = map.emplace(key[i], offered);
      if (is_new || kind == TSR_RIVAL_SET) continue;
      Value &held = at->second;
      if (kind == TSR_RIVAL_COUNTER)
        held += held != static_cast<Value>(-1);
      else if (merge == TSR_RIVAL_KEEP_LAST)
        held = offered;
      else if (merge == TSR_RIVAL_ADD)
        held += offered;
      else if (merge == TSR_RIVAL_MIN || merge == TSR_RIVAL_MAX)
        held = merge == TSR_RIVAL_MIN ? std::min(held, offered) : std::max(held, offered);
    }
  }

  void find(uint64_t n, const void *keys, void *values, uint64_t missing) const override {
    const Key *key = static_cast<const Key *>(keys);
    Value *value = static_cast<Value *>(values);
    for (uint64_t i = 0; i < n; i++) {
      const auto at = map.find(key[i]);
      value[i] = at == map.end() ? static_cast<Value>(missing) : at->second;
    }
  }

  void erase(uint64_t n, const void *keys) override {
    for (uint64_t i = 0; i < n; i++) map.erase(static_cast<const Key *>(keys)[i]);
  }

  // The value of a key is its number among the distinct ones.
  void unique(uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse) override {
    const Key *key = static_cast<const Key *>(keys);
    map.clear();
    for (uint64_t i = 0; i < n; i++) {
      const auto [at, is_new] = map.emplace(key[i], static_cast<Value>(map.size()));
      const Value number = at->second;
      if (is_new) static_cast<Key *>(distinct_keys)[number] = key[i];
      if (counts) counts[number] = is_new ? 1 : counts[number] + 1;
      if (inverse) inverse[i] = static_cast<uint32_t>(number);
    }
  }

  uint64_t join(const MapRival &other) const override {
    const auto &theirs = static_cast<const MapRivalOf &>(other).map;
    return static_cast<uint64_t>(std::count_if(
        map.begin(), map.end(), [&](const auto &pair) { return theirs.find(pair.first) != theirs.end(); }));
  }
};

template <template <class, class> class Map, class Key>
MapRival *make_map_rival(const tsr_rival_shape &shape) {
  if (shape.kind == TSR_RIVAL_SET) return new MapRivalOf<Map<Key, uint8_t>, Key, uint8_t>(shape);
  if (shape.value_bits == 32) return new MapRivalOf<Map<Key, uint32_t>, Key, uint32_t>(shape);
  if (shape.value_bits == 64) return new MapRivalOf<Map<Key, uint64_t>, Key, uint64_t>(shape);
  return nullptr;
}

template <template <class, class> class Map>
tsr_rival map_rival(const char *name, const char *about) {
  tsr_rival rival = {};
  rival.name = name;
  rival.about = about;
  rival.threads = 1;
  rival.create = [](const tsr_rival_shape *shape, void **table) -> const char * {
    if (shape->kind == TSR_RIVAL_MULTIMAP) return "has one value per key";
    MapRival *made =
        shape->key_bits == 32 ? make_map_rival<Map, uint32_t>(*shape) : make_map_rival<Map, uint64_t>(*shape);
    *table = made;
    return made ? nullptr : "has values of 32 and 64 bits";
  };
  rival.destroy = [](void *table) { delete static_cast<MapRival *>(table); };
  rival.clear = [](void *table, void *) -> const char * { return static_cast<MapRival *>(table)->clear(), nullptr; };
  rival.insert = [](void *table, uint64_t n, const void *keys, const void *values, void *) -> const char * {
    return static_cast<MapRival *>(table)->insert(n, keys, values), nullptr;
  };
  rival.find = [](void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *) -> const char * {
    return static_cast<MapRival *>(table)->find(n, keys, values, missing), nullptr;
  };
  rival.erase = [](void *table, uint64_t n, const void *keys, void *) -> const char * {
    return static_cast<MapRival *>(table)->erase(n, keys), nullptr;
  };
  rival.join = [](void *table, void *other, uint64_t *matches, void *) -> const char * {
    return *matches = static_cast<MapRival *>(table)->join(*static_cast<MapRival *>(other)), nullptr;
  };
  rival.count = [](void *table, uint64_t *keys, void *) -> const char * {
    return *keys = static_cast<MapRival *>(table)->count(), nullptr;
  };
  rival.unique = [](void *table, uint64_t n, const void *keys, void *distinct_keys, uint64_t *counts, uint32_t *inverse,
                    uint64_t *distinct, void *) -> const char * {
    MapRival *of = static_cast<MapRival *>(table);
    of->unique(n, keys, distinct_keys, counts, inverse);
    return *distinct = of->count(), nullptr;
  };
  return rival;
}

#define MAP_RIVAL(name, about, map)                                                                                    \
  extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {                                    \
    static const tsr_rival rival = map_rival<map>(name, about);                                                        \
    *count = 1;                                                                                                        \
    return interface == TSR_RIVAL_INTERFACE ? &rival : nullptr;                                                        \
  }

#endif
