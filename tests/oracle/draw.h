// SPDX-License-Identifier: Apache-2.0
//
// Cases drawn from many. A test that tries every combination of its dimensions takes long on a GPU, where each case links
// code. TSR_TEST_DRAW=SEED has it try some: a covering set, in which every two options that stand together in one of the
// cases do so again. Other seeds draw others. Without TSR_TEST_DRAW `drawn` are all cases. `covering` are all with
// TSR_TEST_ALL=1, which the job `full` sets.
#ifndef TSR_TESTS_DRAW_H
#define TSR_TESTS_DRAW_H

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tessera_test {

// Whether every case is wanted, also where a covering set is the rule.
inline bool tests_all() {
  const char *const value = getenv("TSR_TEST_ALL");
  return value && *value;
}

// Of two lists that are tried together, each case has a turn in one, or in both where every case is wanted.
inline bool has_turn(size_t turn, bool is_second) { return tests_all() || (turn % 2 != 0) == is_second; }

using Options = std::vector<std::string>; // of a case: one for each dimension, in the same order

// The indices of a covering set of pairs, in rising order. Greedy: first the cases with the most new pairs.
inline std::vector<size_t> draw(const std::vector<Options> &cases, uint64_t seed) {
  using Pair = std::pair<std::pair<size_t, std::string>, std::pair<size_t, std::string>>;
  std::vector<std::vector<Pair>> pairs(cases.size());
  size_t most = 0;
  for (size_t i = 0; i < cases.size(); i++) {
    const Options &options = cases[i];
    for (size_t b = 0; b < options.size(); b++)
      for (size_t a = 0; a < b; a++) pairs[i].push_back({{a, options[a]}, {b, options[b]}});
    most = std::max(most, pairs[i].size());
  }
  std::vector<size_t> order(cases.size()), drawn;
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  std::set<Pair> covered;
  for (size_t gain = most; gain > 0; gain--)
    for (size_t i : order) {
      const auto is_new = [&covered](const Pair &pair) { return covered.count(pair) == 0; };
      if (static_cast<size_t>(std::count_if(pairs[i].begin(), pairs[i].end(), is_new)) < gain) continue;
      covered.insert(pairs[i].begin(), pairs[i].end());
      drawn.push_back(i);
    }
  std::sort(drawn.begin(), drawn.end());
  return drawn;
}

// options_of: the options of a case.
template <typename Case, typename OptionsOf>
std::vector<Case> covering(const std::vector<Case> &all, const OptionsOf &options_of, uint64_t seed = 1) {
  if (tests_all()) return all;
  std::vector<Options> cases;
  for (const Case &one : all) cases.push_back(options_of(one));
  std::vector<Case> chosen;
  for (size_t i : draw(cases, seed)) chosen.push_back(all[i]);
  return chosen;
}

template <typename Case, typename OptionsOf>
std::vector<Case> drawn(const std::vector<Case> &all, const OptionsOf &options_of) {
  const char *const seed = getenv("TSR_TEST_DRAW");
  return seed && *seed ? covering(all, options_of, strtoull(seed, nullptr, 0)) : all;
}

} // namespace tessera_test

#endif
