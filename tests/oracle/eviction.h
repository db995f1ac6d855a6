// SPDX-License-Identifier: Apache-2.0
//
// An exact model of an index that gives up keys (kind = index, eviction = lru or lfu).
#ifndef TSR_TESTS_EVICTION_H
#define TSR_TESTS_EVICTION_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tessera_test {

// What an index of `capacity` keys must give up. The numbers of new keys are the table's to choose.
class EvictionModel {
public:
  EvictionModel(uint64_t capacity, bool counts_uses) : capacity_(capacity), counts_uses_(counts_uses) {}

  // The keys that a call must give up, by their numbers.
  std::map<uint32_t, uint64_t> evict_for(const std::vector<uint64_t> &keys) {
    const std::set<uint64_t> asked(keys.begin(), keys.end());
    std::set<std::tuple<uint64_t, uint32_t, uint64_t>> order;
    std::map<uint32_t, uint64_t> gone;
    uint64_t used = entries_.size();
    for (const auto &[key, entry] : entries_)
      if (!asked.count(key)) order.insert({entry.score, entry.number, key});
    for (uint64_t key : asked) used += !entries_.count(key);
    for (const auto &[score, number, key] : order) {
      if (used <= capacity_) break;
      gone[number] = key;
      entries_.erase(key);
      used--;
    }
    return gone;
  }

  std::string number(const std::vector<uint64_t> &keys, const std::vector<uint32_t> &numbers) {
    clock_++;
    for (size_t i = 0; i < keys.size(); i++) {
      const auto [at, is_new] = entries_.emplace(keys[i], Entry{numbers[i], 0});
      if (at->second.number != numbers[i]) return "a key has another number than before";
      if (is_new && numbers[i] >= capacity_) return "the number " + std::to_string(numbers[i]) + " is too large";
      use(&at->second);
    }
    std::set<uint32_t> different;
    for (const auto &[key, entry] : entries_) different.insert(entry.number);
    if (different.size() != entries_.size()) return "two keys have one number";
    return entries_.size() > capacity_ ? "there are more keys than capacity" : "";
  }

  void touch(const std::vector<uint64_t> &keys) {
    clock_++;
    for (uint64_t key : keys)
      if (entries_.count(key)) use(&entries_[key]);
  }

  void erase(uint64_t key) { entries_.erase(key); }
  void clear() { entries_.clear(); }
  uint64_t size() const { return entries_.size(); }
  bool has(uint64_t key) const { return entries_.count(key) != 0; }

private:
  struct Entry {
    uint32_t number;
    uint64_t score;
  };

  void use(Entry *entry) { entry->score = counts_uses_ ? entry->score + 1 : clock_; }

  uint64_t capacity_, clock_ = 0;
  bool counts_uses_;
  std::map<uint64_t, Entry> entries_;
};

} // namespace tessera_test

#endif
