// SPDX-License-Identifier: Apache-2.0
//
// tbb::concurrent_hash_map of oneTBB (Debian's libtbb-dev): maps of distinct keys, which all threads share.
#include <tbb/blocked_range.h>
#include <tbb/concurrent_hash_map.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/version.h>
#include <tessera_rival.h>

namespace {

struct Table {
  virtual ~Table() = default;
  virtual void clear() = 0;
  virtual void insert(uint64_t n, const void *keys, const void *values) = 0;
  virtual void find(uint64_t n, const void *keys, void *values, uint64_t missing) = 0;
  virtual void erase(uint64_t n, const void *keys) = 0;
  virtual uint64_t count() = 0;
};

template <class Key, class Value>
class TableOf : public Table {
  using Map = tbb::concurrent_hash_map<Key, Value>;
  Map map;
  tbb::task_arena arena;

  template <class Work>
  void each(uint64_t n, Work work) {
    arena.execute([&] {
      tbb::parallel_for(tbb::blocked_range<uint64_t>(0, n, 1024), [&](const tbb::blocked_range<uint64_t> &range) {
        for (uint64_t i = range.begin(); i < range.end(); i++) work(i);
      });
    });
  }

public:
  explicit TableOf(const tsr_rival_shape &shape) : arena(static_cast<int>(shape.threads)) {
    map.rehash(shape.capacity);
  }
  void clear() override { map.clear(); }
  uint64_t count() override { return map.size(); }
  void insert(uint64_t n, const void *keys, const void *values) override {
    each(n, [&](uint64_t i) {
      map.insert({static_cast<const Key *>(keys)[i], static_cast<const Value *>(values)[i]});
    });
  }
  void find(uint64_t n, const void *keys, void *values, uint64_t missing) override {
    each(n, [&](uint64_t i) {
      typename Map::const_accessor at;
      const bool is_there = map.find(at, static_cast<const Key *>(keys)[i]);
      static_cast<Value *>(values)[i] = is_there ? at->second : static_cast<Value>(missing);
    });
  }
  void erase(uint64_t n, const void *keys) override {
    each(n, [&](uint64_t i) { map.erase(static_cast<const Key *>(keys)[i]); });
  }
};

Table *of(void *table) { return static_cast<Table *>(table); }

const char *create(const tsr_rival_shape *shape, void **table) {
  if (shape->kind != TSR_RIVAL_MAP || (shape->merge != TSR_RIVAL_DISTINCT && shape->merge > TSR_RIVAL_KEEP_FIRST))
    return "is a map that keeps one value of a key: set kind = map and duplicates = first";
  if (shape->key_bits == 32 && shape->value_bits == 32)
    *table = new TableOf<uint32_t, uint32_t>(*shape);
  else if (shape->key_bits == 64 && shape->value_bits == 64)
    *table = new TableOf<uint64_t, uint64_t>(*shape);
  else
    return "is compiled for keys and values of one width, 32 or 64 bits";
  return nullptr;
}

void destroy(void *table) { delete of(table); }
const char *clear(void *table, void *) { return of(table)->clear(), nullptr; }
const char *insert(void *table, uint64_t n, const void *keys, const void *values, void *) {
  return of(table)->insert(n, keys, values), nullptr;
}
const char *find(void *table, uint64_t n, const void *keys, void *values, uint64_t missing, void *) {
  return of(table)->find(n, keys, values, missing), nullptr;
}
const char *erase(void *table, uint64_t n, const void *keys, void *) { return of(table)->erase(n, keys), nullptr; }
const char *count(void *table, uint64_t *keys, void *) { return *keys = of(table)->count(), nullptr; }

const tsr_rival rival = {"tbb::concurrent_hash_map",
                         "oneTBB " TBB_VERSION_STRING ", g++ " __VERSION__,
                         0,
                         0,
                         create,
                         destroy,
                         clear,
                         insert,
                         find,
                         erase,
                         nullptr,
                         count,
                         nullptr,
                         nullptr,
                         nullptr};

} // namespace

extern "C" const tsr_rival *tsr_rival_list(uint32_t interface, uint32_t *count) {
  *count = 1;
  return interface == TSR_RIVAL_INTERFACE ? &rival : nullptr;
}
