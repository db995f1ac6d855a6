/* SPDX-License-Identifier: Apache-2.0
 *
 * Maps of 64-bit keys and values on the CPU, Tessera's beside other libraries', as CSV in 10^6 operations a second. They are
 * made for N pairs before the clock starts, in memory that was used before. With several threads a map that is not safe for
 * them is a map for each, and its keys are dealt out before the clock starts as well. The maps take turns, the best of RUNS rounds
 * counts, and every answer is checked. mops is of the processor's time of a thread, so that other work on the machine counts
 * little; mops_wall is of the clock's. Needs abseil, Boost 1.81 and oneTBB; //tests/lab:cpu_maps, which no other target needs.
 * Tessera's parts come from TESSERA_PLUGINS, threads should wait asleep, and huge pages are for all:
 *
 *   OMP_WAIT_POLICY=passive GLIBC_TUNABLES=glibc.malloc.hugetlb=1 cpu_maps N THREADS RUNS MAP...
 *
 * MAP: absl, boost, tbb, or the file of a spec.
 */
#include <absl/container/flat_hash_map.h>
#include <malloc.h>
#include <omp.h>
#include <tbb/concurrent_hash_map.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>
#include <vector>

#include "core/tessera.h"
#include "core/tessera_tools.h"

namespace {

uint64_t key_of(uint64_t index) { /* a bijection */
  uint64_t x = index + 0x9E3779B97F4A7C15u;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
uint64_t value_of(uint64_t key) { return key * 3 + 1; }

[[noreturn]] void fail(const char *map, const char *what) {
  std::fprintf(stderr, "cpu_maps: %s: %s\n", map, what);
  std::exit(1);
}

/* A map of one thread, of which each thread has its own. */
template <class Map>
struct Sharded {
  static constexpr bool shares = false;
  Map map;
  void reserve(uint64_t n) { map.reserve(n); }
  bool insert(uint64_t key, uint64_t value) { return map.emplace(key, value).second; }
  bool find(uint64_t key, uint64_t *value) const {
    const auto at = map.find(key);
    if (at == map.end()) return false;
    *value = at->second;
    return true;
  }
};

struct Shared {
  static constexpr bool shares = true;
  typedef tbb::concurrent_hash_map<uint64_t, uint64_t> Map;
  Map map;
  void reserve(uint64_t n) { map.rehash(n); }
  bool insert(uint64_t key, uint64_t value) { return map.insert({key, value}); }
  bool find(uint64_t key, uint64_t *value) const {
    Map::const_accessor at;
    if (!map.find(at, key)) return false;
    *value = at->second;
    return true;
  }
};

typedef std::vector<std::vector<uint64_t>> Lists; /* of keys, one for each thread */

/* The keys of indices first .. first + n - 1, in the order of index * odd mod n, for odd and n without a common factor. */
Lists deal(uint64_t first, uint64_t n, uint64_t odd, unsigned threads) {
  Lists lists(threads);
  for (auto &list : lists) list.reserve(n / threads + n / 100 + 64);
  for (uint64_t i = 0, at = 0; i < n; i++, at = (at + odd) % n) {
    const uint64_t key = key_of(first + at);
    lists[threads == 1 ? 0 : (key >> 32) * threads >> 32].push_back(key);
  }
  return lists;
}

enum { INSERT, FIND100, FIND0, OPS };
const char *const op_names[OPS] = {"insert", "find100", "find0"};

/* Keys in the order of each operation. */
struct Keys {
  Lists of[OPS];
  Keys(uint64_t n, unsigned threads) {
    const uint64_t odd = 0x9E3779B1u; /* a prime */
    of[INSERT] = deal(0, n, 1, threads);
    of[FIND100] = deal(0, n, odd, threads);
    of[FIND0] = deal(n, n, odd, threads);
  }
};

/* Seconds of the processor for each thread, and of the clock. */
struct Time {
  double processor, wall;
};

double now(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

template <class Work>
Time time_of(unsigned threads, Work work) {
  const double processor = now(CLOCK_PROCESS_CPUTIME_ID), wall = now(CLOCK_MONOTONIC);
  work();
  return {(now(CLOCK_PROCESS_CPUTIME_ID) - processor) / threads, now(CLOCK_MONOTONIC) - wall};
}

template <class Work>
void on_each(unsigned threads, Work work) {
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; t++) others.emplace_back(work, t);
  work(0);
  for (auto &other : others) other.join();
}

/* A round of one map: what each operation took. */
template <class Map>
void run_map(const char *name, uint64_t n, unsigned threads, const Keys &keys, Time *times) {
  const size_t count = Map::shares ? 1 : threads;
  std::vector<std::unique_ptr<Map>> maps;
  for (size_t i = 0; i < count; i++) {
    maps.push_back(std::make_unique<Map>());
    maps[i]->reserve(Map::shares ? n : keys.of[INSERT][i].size());
  }
  std::vector<uint64_t> wrong(threads * 16); /* a line apart */
  const auto insert = [&](unsigned t) {
    Map &map = *maps[Map::shares ? 0 : t];
    uint64_t lost = 0;
    for (const uint64_t key : keys.of[INSERT][t]) lost += !map.insert(key, value_of(key));
    wrong[t * 16] += lost;
  };
  const auto find = [&](int op) {
    return [&, op](unsigned t) {
      const Map &map = *maps[Map::shares ? 0 : t];
      uint64_t lost = 0;
      for (const uint64_t key : keys.of[op][t]) {
        uint64_t value = 0;
        const bool found = map.find(key, &value);
        lost += found != (op == FIND100) || (found && value != value_of(key));
      }
      wrong[t * 16] += lost;
    };
  };
  times[INSERT] = time_of(threads, [&] { on_each(threads, insert); });
  for (int op = FIND100; op <= FIND0; op++) times[op] = time_of(threads, [&] { on_each(threads, find(op)); });
  for (const uint64_t lost : wrong)
    if (lost) fail(name, "answers are wrong");
}

/* A round of a table that a spec describes, of whose 64-bit keys and values only the number is set here. A batch is an array,
 * so what the others do with each answer, adding it up, is done after the clock has stopped. */
void run_table(const char *path, uint64_t n, unsigned threads, const Keys &keys, Time *times) {
  tsr_error error;
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  const tsr_options options = {sizeof options, nullptr, n, 0};
  const auto must = [&](tsr_status status) {
    if (status != TSR_OK) fail(path, error.message);
  };
  static std::vector<uint64_t> values;
  omp_set_num_threads(static_cast<int>(threads));
  must(tsr_spec_read(path, &spec, &error));
  for (const char *set : {"table.key_bits=64", "table.value_bits=64", "table.backend=cpu"})
    must(tsr_spec_set(spec, set, &error));
  must(tsr_table_create(spec, &options, &table, &error));
  must(tsr_table_prepare(table, TSR_PREPARE_INSERT | TSR_PREPARE_FIND, &error));
  values.resize(n);
  for (int op = INSERT; op < OPS; op++) {
    static std::vector<uint64_t> all;
    all.clear();
    for (const auto &list : keys.of[op]) all.insert(all.end(), list.begin(), list.end());
    for (uint64_t i = 0; i < n; i++) values[i] = op == INSERT ? value_of(all[i]) : 0;
    tsr_call call = {};
    call.size = sizeof call;
    call.missing = 1;
    times[op] = time_of(threads, [&] {
      must(op == INSERT ? tsr_insert(table, n, all.data(), values.data(), &call, &error)
                        : tsr_find(table, n, all.data(), values.data(), &call, &error));
    });
    for (uint64_t i = 0; i < n; i++)
      if (values[i] != (op == FIND0 ? call.missing : value_of(all[i]))) fail(path, "answers are wrong");
  }
  tsr_table_destroy(table);
  tsr_spec_free(spec);
}

void run(const char *name, uint64_t n, unsigned threads, const Keys &keys, Time *times) {
  if (std::strcmp(name, "absl") == 0)
    run_map<Sharded<absl::flat_hash_map<uint64_t, uint64_t>>>(name, n, threads, keys, times);
  else if (std::strcmp(name, "boost") == 0)
    run_map<Sharded<boost::unordered_flat_map<uint64_t, uint64_t>>>(name, n, threads, keys, times);
  else if (std::strcmp(name, "tbb") == 0)
    run_map<Shared>(name, n, threads, keys, times);
  else
    run_table(name, n, threads, keys, times);
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t n = argc > 4 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const unsigned threads = argc > 4 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 0;
  const unsigned runs = argc > 4 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 0;
  if (!n || !threads || !runs || n % 0x9E3779B1u == 0)
    return std::fputs("usage: cpu_maps N THREADS RUNS absl|boost|tbb|SPEC...\n", stderr), 2;
  mallopt(M_MMAP_MAX,
          0); /* memory that was freed is used again: a run that waits for the system's pages is not the fastest */
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);
  const Keys keys(n, threads);
  const int maps = argc - 4;
  std::vector<Time> best(static_cast<size_t>(maps * OPS), Time{1e9, 1e9});
  for (unsigned round = 0; round < runs; round++)
    for (int map = 0; map < maps; map++) {
      Time times[OPS];
      run(argv[4 + map], n, threads, keys, times);
      for (int op = 0; op < OPS; op++) {
        Time &least = best[static_cast<size_t>(map * OPS + op)];
        least.processor = std::min(least.processor, times[op].processor);
        least.wall = std::min(least.wall, times[op].wall);
      }
    }
  std::puts("map,threads,n,op,mops,mops_wall");
  for (int map = 0; map < maps; map++)
    for (int op = 0; op < OPS; op++) {
      const Time &least = best[static_cast<size_t>(map * OPS + op)];
      std::printf("%s,%u,%llu,%s,%.2f,%.2f\n", argv[4 + map], threads, static_cast<unsigned long long>(n), op_names[op],
                  static_cast<double>(n) / least.processor * 1e-6, static_cast<double>(n) / least.wall * 1e-6);
    }
}
