// SPDX-License-Identifier: Apache-2.0
//
// The oracle of multisets and multimaps: the pairs themselves, since no two of them ever become one. Read next:
// oracle.h, which asks it where the policy keeps every pair.
#ifndef TSR_TESTS_MULTI_ORACLE_H
#define TSR_TESTS_MULTI_ORACLE_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/tessera.h"

namespace tessera_test {

// One operation and its answer. Values of a set are 0.
struct Batch {
  std::vector<uint64_t> keys, values;
  std::vector<uint8_t> codes;
  std::vector<uint64_t> back_keys, back_values; // insert: meaningful where codes[i] is TSR_NOT_PLACED
  std::vector<uint64_t> obtained;               // find_or_insert: the values written
  std::vector<uint64_t> counts;                 // count_all: a number a key; find_all: where each key's values begin
};

class MultiOracle {
public:
  uint64_t size() const { return pairs_.size(); }
  uint64_t count(uint64_t key) const { return pairs_.count(key); }
  void clear() { pairs_.clear(); }

  // Every pair is in the table or handed back, whosever it is.
  std::string insert(const Batch &batch, uint64_t *handed_back) {
    for (size_t i = 0; i < batch.keys.size(); i++) {
      if (batch.codes[i] != TSR_INSERTED && batch.codes[i] != TSR_NOT_PLACED)
        return complain(batch.keys[i], "insert answered code " + std::to_string(batch.codes[i]));
      pairs_.emplace(batch.keys[i], value_at(batch.values, i));
    }
    for (size_t i = 0; i < batch.keys.size(); i++) {
      if (batch.codes[i] != TSR_NOT_PLACED) continue;
      ++*handed_back;
      if (!take(batch.back_keys[i], value_at(batch.back_values, i)))
        return complain(batch.back_keys[i], "handed back, but there is no such pair");
    }
    return "";
  }

  std::string find(const Batch &batch, uint64_t missing) const {
    for (size_t i = 0; i < batch.keys.size(); i++) {
      std::string complaint = check_code(batch.keys[i], batch.codes[i], TSR_FOUND, TSR_MISSING);
      if (!complaint.empty()) return complaint;
      std::vector<uint64_t> values = values_of(batch.keys[i]);
      if (values.empty() ? batch.values[i] != missing
                         : !std::binary_search(values.begin(), values.end(), batch.values[i]))
        return complain(batch.keys[i], "find wrote " + std::to_string(batch.values[i]));
    }
    return "";
  }

  std::string count_all(const Batch &batch) const {
    for (size_t i = 0; i < batch.keys.size(); i++) {
      std::string complaint = check_code(batch.keys[i], batch.codes[i], TSR_FOUND, TSR_MISSING);
      if (!complaint.empty()) return complaint;
      if (batch.counts[i] != count(batch.keys[i]))
        return complain(batch.keys[i], "it has " + std::to_string(count(batch.keys[i])) + " pairs, counted " +
                                           std::to_string(batch.counts[i]));
    }
    return "";
  }

  // batch.values: what was written, of the first ones if there was no room for all.
  std::string find_all(const Batch &batch) const {
    uint64_t at = 0;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      std::string complaint = check_code(batch.keys[i], batch.codes[i], TSR_FOUND, TSR_MISSING);
      if (!complaint.empty()) return complaint;
      std::vector<uint64_t> values = values_of(batch.keys[i]);
      if (batch.counts[i] != at || batch.counts[i + 1] != at + values.size())
        return complain(batch.keys[i],
                        "its " + std::to_string(values.size()) + " values are at " + std::to_string(batch.counts[i]) +
                            " to " + std::to_string(batch.counts[i + 1]) + ", expected from " + std::to_string(at));
      std::vector<uint64_t> seen;
      for (; at < batch.counts[i + 1]; at++)
        if (at < batch.values.size()) seen.push_back(batch.values[at]);
      std::sort(seen.begin(), seen.end());
      if (!std::includes(values.begin(), values.end(), seen.begin(), seen.end()))
        return complain(batch.keys[i], "find_all wrote other values than it has");
    }
    return "";
  }

  // Every pair of a key that is named goes, each once; so it is reported at least once, and not more often than it had
  // pairs.
  std::string erase(const Batch &batch) {
    std::unordered_map<uint64_t, uint64_t> erased;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      if (batch.codes[i] != TSR_ERASED && batch.codes[i] != TSR_MISSING)
        return complain(batch.keys[i], "erase answered code " + std::to_string(batch.codes[i]));
      erased[batch.keys[i]] += batch.codes[i] == TSR_ERASED;
    }
    for (auto &entry : erased) {
      uint64_t had = count(entry.first);
      if (entry.second > had || (had && !entry.second))
        return complain(entry.first, "erased " + std::to_string(entry.second) + " times, but it had " +
                                         std::to_string(had) + " pairs");
      pairs_.erase(entry.first);
    }
    return "";
  }

  // Of k equal items and m such pairs the smaller number succeeds.
  std::string erase_pairs(const Batch &batch) {
    std::map<std::pair<uint64_t, uint64_t>, uint64_t> asked, erased;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      if (batch.codes[i] != TSR_ERASED && batch.codes[i] != TSR_MISSING)
        return complain(batch.keys[i], "erase_pairs answered code " + std::to_string(batch.codes[i]));
      asked[{batch.keys[i], batch.values[i]}]++;
      erased[{batch.keys[i], batch.values[i]}] += batch.codes[i] == TSR_ERASED;
    }
    for (auto &entry : asked) {
      uint64_t taken = 0;
      while (taken < entry.second && take(entry.first.first, entry.first.second)) taken++;
      if (erased[entry.first] != taken)
        return complain(entry.first.first, "erase_pairs took " + std::to_string(erased[entry.first]) +
                                               " pairs, expected " + std::to_string(taken));
    }
    return "";
  }

  std::string exported(const std::vector<uint64_t> &keys, const std::vector<uint64_t> &values) const {
    std::vector<std::pair<uint64_t, uint64_t>> seen, expected(pairs_.begin(), pairs_.end());
    for (size_t i = 0; i < keys.size(); i++) seen.emplace_back(keys[i], value_at(values, i));
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    auto differ = std::mismatch(seen.begin(), seen.end(), expected.begin(), expected.end());
    if (differ.first == seen.end() && differ.second == expected.end()) return "";
    bool is_lost = differ.first == seen.end() || (differ.second != expected.end() && *differ.second < *differ.first);
    return is_lost ? complain(differ.second->first, "a pair of it is lost")
                   : complain(differ.first->first, "the table holds a pair too many");
  }

private:
  static uint64_t value_at(const std::vector<uint64_t> &values, size_t i) { return values.empty() ? 0 : values[i]; }

  static std::string complain(uint64_t key, const std::string &what) {
    return "key " + std::to_string(key) + ": " + what;
  }

  std::string check_code(uint64_t key, uint8_t code, uint8_t there, uint8_t absent) const {
    uint8_t expected = count(key) ? there : absent;
    if (code == expected) return "";
    return complain(key, "answered code " + std::to_string(code) + ", expected " + std::to_string(expected));
  }

  std::vector<uint64_t> values_of(uint64_t key) const {
    std::vector<uint64_t> values;
    auto range = pairs_.equal_range(key);
    for (auto at = range.first; at != range.second; ++at) values.push_back(at->second);
    std::sort(values.begin(), values.end());
    return values;
  }

  bool take(uint64_t key, uint64_t value) {
    auto range = pairs_.equal_range(key);
    for (auto at = range.first; at != range.second; ++at)
      if (at->second == value) {
        pairs_.erase(at);
        return true;
      }
    return false;
  }

  std::unordered_multimap<uint64_t, uint64_t> pairs_;
};

} // namespace tessera_test

#endif
