/* SPDX-License-Identifier: Apache-2.0
 *
 * Hash maps of other libraries on the CPU, to stand beside `tessera bench --set table.backend=cpu`: maps of 64-bit keys and values,
 * as CSV in 10^6 operations a second. They are made for n pairs before the clock starts, in memory
 * that was used before, as Tessera's tables are. With several threads a map that is not safe for them is a map for each, and its
 * keys are dealt out before the clock starts, too. The fastest of three runs counts, and every answer is checked. Needs abseil, Boost 1.81 and oneTBB; //tests/lab:cpu_maps, which no other target needs:
 *
 *   cpu_maps N THREADS [MAP...]      MAP: absl, boost, tbb; all, if none is named
 */
#include <absl/container/flat_hash_map.h>
#include <malloc.h>
#include <tbb/concurrent_hash_map.h>

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

enum { RUNS = 3 };

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

template <class Work>
double seconds(unsigned threads, Work work) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; t++) others.emplace_back(work, t);
  work(0);
  for (auto &other : others) other.join();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void put(const char *map, unsigned threads, uint64_t n, const char *op, const std::vector<double> &times) {
  std::printf("%s,%u,%llu,%s,%.2f\n", map, threads, static_cast<unsigned long long>(n), op,
              n / *std::min_element(times.begin(), times.end()) * 1e-6);
  std::fflush(stdout);
}

template <class Map>
void measure(const char *name, uint64_t n, unsigned threads) {
  const uint64_t odd = 0x9E3779B1u; /* a prime */
  const Lists inserts = deal(0, n, 1, threads), present = deal(0, n, odd, threads), absent = deal(n, n, odd, threads);
  std::vector<double> times[3];
  for (int run = 0; run < RUNS; run++) {
    const size_t count = Map::shares ? 1 : threads;
    std::vector<std::unique_ptr<Map>> maps;
    for (size_t i = 0; i < count; i++) {
      maps.push_back(std::make_unique<Map>());
      maps[i]->reserve(Map::shares ? n : inserts[i].size());
    }
    std::vector<uint64_t> wrong(threads * 16); /* a line apart */
    const auto insert = [&](unsigned t) {
      Map &map = *maps[Map::shares ? 0 : t];
      uint64_t lost = 0;
      for (const uint64_t key : inserts[t]) lost += !map.insert(key, value_of(key));
      wrong[t * 16] += lost;
    };
    const auto find = [&](const Lists &lists, bool is_there) {
      return [&, is_there](unsigned t) {
        const Map &map = *maps[Map::shares ? 0 : t];
        uint64_t lost = 0;
        for (const uint64_t key : lists[t]) {
          uint64_t value = 0;
          const bool found = map.find(key, &value);
          lost += found != is_there || (found && value != value_of(key));
        }
        wrong[t * 16] += lost;
      };
    };
    times[0].push_back(seconds(threads, insert));
    times[1].push_back(seconds(threads, find(present, true)));
    times[2].push_back(seconds(threads, find(absent, false)));
    for (const uint64_t lost : wrong)
      if (lost) fail(name, "answers are wrong");
  }
  static const char *const ops[] = {"insert", "find100", "find0"};
  for (int i = 0; i < 3; i++) put(name, threads, n, ops[i], times[i]);
}

bool is_wanted(int argc, char **argv, const char *name) {
  bool wanted = argc == 3;
  for (int i = 3; i < argc; i++) wanted = wanted || std::strcmp(argv[i], name) == 0;
  return wanted;
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t n = argc > 2 ? std::strtoull(argv[1], nullptr, 10) : 0;
  const unsigned threads = argc > 2 ? static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10)) : 0;
  if (!n || !threads || n % 0x9E3779B1u == 0)
    return std::fputs("usage: cpu_maps N THREADS [absl] [boost] [tbb]\n", stderr), 2;
  mallopt(M_MMAP_MAX,
          0); /* memory that was freed is used again: a run that waits for the system's pages is not the fastest */
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_ARENA_MAX, 1);
  std::puts("map,threads,n,op,mops");
  typedef Sharded<absl::flat_hash_map<uint64_t, uint64_t>> Absl;
  typedef Sharded<boost::unordered_flat_map<uint64_t, uint64_t>> Boost;
  if (is_wanted(argc, argv, "absl")) measure<Absl>("absl::flat_hash_map", n, threads);
  if (is_wanted(argc, argv, "boost")) measure<Boost>("boost::unordered_flat_map", n, threads);
  if (is_wanted(argc, argv, "tbb")) measure<Shared>("tbb::concurrent_hash_map", n, threads);
}
