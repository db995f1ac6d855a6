// SPDX-License-Identifier: Apache-2.0
//
// Seeds, random numbers and sizes of all randomised tests. The seed comes from TSR_SEED, else it is fixed;
// TSR_TRACE_SEED prints it beside a failure (`bazel test --test_env=TSR_SEED=7`). Read next: oracle.h.
#ifndef TSR_TESTS_RANDOM_H
#define TSR_TESTS_RANDOM_H

#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TSR_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TSR_SANITIZED 1
#endif
#endif
#ifndef TSR_SANITIZED
#define TSR_SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__)
#define TSR_FINDS_RACES 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TSR_FINDS_RACES 1
#endif
#endif
#ifndef TSR_FINDS_RACES
#define TSR_FINDS_RACES 0
#endif

namespace tessera_test {

constexpr bool sanitized = TSR_SANITIZED, finds_races = TSR_FINDS_RACES;

// A number of repetitions: fewer under a sanitizer, which makes each much slower.
constexpr uint64_t scaled(uint64_t full, uint64_t divisor = 8) {
  return sanitized ? (full / divisor ? full / divisor : 1) : full;
}

// Put first in a case whose tables never work with several threads: ThreadSanitizer would see nothing in it.
#define TSR_ONE_THREAD                                                                                                 \
  if (::tessera_test::finds_races) GTEST_SKIP() << "one thread has no races"

// Cases of a test, so that every line that all of them are printed as is in one that is chosen.
template <typename Case>
std::vector<Case> enough(const std::vector<Case> &all) {
  std::vector<std::set<std::string>> lines(all.size());
  for (size_t i = 0; i < all.size(); i++) {
    std::stringstream text;
    text << all[i];
    for (std::string line; std::getline(text, line);) lines[i].insert(line);
  }
  std::vector<Case> chosen;
  std::set<std::string> seen;
  for (;;) {
    size_t best = 0, most = 0;
    for (size_t i = 0; i < all.size(); i++) {
      size_t news = 0;
      for (const std::string &line : lines[i]) news += !seen.count(line);
      if (news > most) best = i, most = news;
    }
    if (!most) return chosen;
    chosen.push_back(all[best]);
    seen.insert(lines[best].begin(), lines[best].end());
  }
}

// Those that a sanitizer gets, which sees a fault in one case that meets it and takes two to ten times as long.
template <typename Case>
std::vector<Case> enough_for_sanitizers(const std::vector<Case> &all) {
  return sanitized ? enough(all) : all;
}

inline uint64_t seed() {
  const char *text = getenv("TSR_SEED");
  return text && *text ? strtoull(text, nullptr, 0) : 20250801;
}

inline std::string seed_text() { return "reproduce with TSR_SEED=" + std::to_string(seed()); }

#define TSR_TRACE_SEED SCOPED_TRACE(::tessera_test::seed_text())

// SplitMix64 (Steele, Lea, Flood: OOPSLA 2014). `stream` makes the parts of a test independent of each other.
class Random {
public:
  // Mixed twice: neighbouring seeds and streams must not give one sequence from two places.
  explicit Random(uint64_t stream = 0) : state_(seed()) {
    state_ = next() ^ stream;
    state_ = next();
  }

  uint64_t next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t bits(uint32_t count) { return count == 0 ? 0 : count < 64 ? next() >> (64 - count) : next(); }
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool chance(uint64_t one_in) { return below(one_in) == 0; }

private:
  uint64_t state_;
};

// Of 64 bits for wider ones: numbers of 64 bits stand for keys of 128 (subject.h).
inline uint64_t width_mask(uint32_t bits) { return bits == 0 ? 0 : bits < 64 ? UINT64_MAX >> (64 - bits) : UINT64_MAX; }

} // namespace tessera_test

#endif
