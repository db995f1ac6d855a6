// SPDX-License-Identifier: Apache-2.0
//
// The oracle: what a table must hold, as a plain map. It follows one operation after the other; each operation is a
// batch of keys in no order, so what it knows of a value is the set of those that the policy allows. Seeing a value
// settles it. Where the policy keeps every pair it asks multi_oracle.h.
//
// Every function takes what the table answered and returns a complaint, or "" when it is right. Operations of several
// threads at a time have no oracle: they would need an order. Read next: subject.h (tables), exercise.h (sequences).
#ifndef TSR_TESTS_ORACLE_H
#define TSR_TESTS_ORACLE_H

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/tessera.h"
#include "plugins/table.h"
#include "tests/oracle/multi_oracle.h"

namespace tessera_test {

// What the table holds for a key: any one of these, sorted; of a counter, if there is none, any count.
using Values = std::vector<uint64_t>;

class Oracle {
public:
  Oracle(uint32_t policy, uint32_t value_bits)
      : policy_(policy), mask_(value_bits == 0 ? 0 : UINT64_MAX >> (64 - value_bits)) {}

  bool keeps_all() const { return policy_ == TSR_DUPLICATES_KEEP; }
  bool has(uint64_t key) const { return keeps_all() ? pairs_.count(key) != 0 : map_.count(key) != 0; }
  uint64_t size() const { return keeps_all() ? pairs_.size() : map_.size(); }
  const std::unordered_map<uint64_t, Values> &all() const { return map_; }
  uint64_t handed_back() const { return handed_back_; }
  void clear() {
    map_.clear();
    pairs_.clear();
  }

  uint64_t combine(uint64_t present, uint64_t offered) const {
    switch (policy_) {
    case TSR_DUPLICATES_FIRST:
      return present;
    case TSR_DUPLICATES_ADD:
      return (present + offered) & mask_;
    case TSR_DUPLICATES_MIN:
      return std::min(present, offered);
    case TSR_DUPLICATES_MAX:
      return std::max(present, offered);
    default:
      return counts() ? std::min(present + std::min(offered, most() - present), most()) : offered;
    }
  }

  bool counts() const { return TSR_POLICY_COUNTS(policy_); }
  // What a count stops at.
  uint64_t most() const {
    return policy_ == TSR_DUPLICATES_COUNT_8 ? 255 : policy_ == TSR_DUPLICATES_COUNT_16 ? 65535 : mask_;
  }
  // Of an insert: a counter counts a key once that has no value, and never more than it can.
  uint64_t offered(const Batch &batch, size_t i) const {
    if (batch.values.empty()) return counts();
    return counts() ? std::min(batch.values[i], most()) : batch.values[i];
  }

  uint8_t present_code() const {
    if (policy_ == TSR_DUPLICATES_FIRST || policy_ == TSR_DUPLICATES_PROMISE_UNIQUE) return TSR_PRESENT;
    return policy_ == TSR_DUPLICATES_REPLACE ? TSR_REPLACED : TSR_COMBINED;
  }

  // Judges an insert. Laws: a new key is inserted once; a failed index hands back exactly one pair, its own or another;
  // growth of size + handed back = inserted, key by key.
  std::string insert(const Batch &batch) {
    if (keeps_all()) return pairs_.insert(batch, &handed_back_);
    std::unordered_map<uint64_t, Story> stories;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      Story &story = stories[batch.keys[i]];
      uint64_t offered = this->offered(batch, i);
      story.offered.push_back(offered);
      if (batch.codes[i] == TSR_INSERTED || batch.codes[i] == TSR_NOT_PLACED) {
        story.placed.push_back(offered);
      } else if (batch.codes[i] == present_code()) {
        story.present++;
      } else {
        return complain(batch.keys[i], "insert answered code ", int(batch.codes[i]));
      }
      if (batch.codes[i] != TSR_NOT_PLACED) continue;
      handed_back_++;
      stories[batch.back_keys[i]].back.push_back(batch.back_values.empty() ? 0 : batch.back_values[i]);
    }
    for (auto &entry : stories) {
      std::string complaint = settle(entry.first, entry.second);
      if (!complaint.empty()) return complaint;
    }
    return "";
  }

  // Judges a find_or_insert: an insert that leaves present pairs alone, and shows each key's value.
  std::string find_or_insert(Batch batch, uint64_t missing) {
    for (uint8_t &code : batch.codes) {
      if (code == TSR_PRESENT) return "find_or_insert answered the code of an insert";
      if (code == TSR_FOUND) code = TSR_PRESENT;
    }
    uint32_t own = std::exchange(policy_, TSR_DUPLICATES_FIRST);
    std::string complaint = insert(batch);
    policy_ = own;
    std::unordered_map<uint64_t, bool> handed_back; // their pairs changed while the batch ran
    for (size_t i = 0; i < batch.keys.size(); i++)
      if (batch.codes[i] == TSR_NOT_PLACED) handed_back[batch.back_keys[i]] = true;
    for (size_t i = 0; i < batch.keys.size() && complaint.empty() && mask_; i++) {
      uint64_t key = batch.keys[i];
      auto at = map_.find(key);
      if (batch.codes[i] == TSR_NOT_PLACED) { // its own pair, or another one, which its own may have evicted
        bool may_be = batch.obtained[i] == (missing & mask_) || batch.obtained[i] == batch.values[i] ||
                      (at != map_.end() && holds(at->second, batch.obtained[i]));
        if (!may_be) return complain(key, "find_or_insert wrote ", batch.obtained[i], " though it was not placed");
      } else if (!handed_back.count(key)) {
        complaint = at == map_.end() ? complain(key, "it is lost") : see(key, at->second, batch.obtained[i]);
      }
    }
    return complaint;
  }

  // Judges an insert that replaces present values, whatever the policy.
  std::string replace(Batch batch) {
    if (counts())
      for (uint64_t &value : batch.values) value = std::min(value, most());
    uint32_t own = std::exchange(policy_, uint32_t{TSR_DUPLICATES_REPLACE});
    std::string complaint = insert(batch);
    policy_ = own;
    return complaint;
  }

  // Judges a find; `missing` is what absent keys must show.
  std::string find(const Batch &batch, uint64_t missing) {
    if (keeps_all()) return pairs_.find(batch, missing & mask_);
    for (size_t i = 0; i < batch.keys.size(); i++) {
      auto at = map_.find(batch.keys[i]);
      uint8_t expected = at == map_.end() ? TSR_MISSING : TSR_FOUND;
      if (batch.codes[i] != expected)
        return complain(batch.keys[i], "find answered code ", int(batch.codes[i]), ", expected ", int(expected));
      if (at == map_.end() && batch.values[i] != (missing & mask_))
        return complain(batch.keys[i], "find wrote ", batch.values[i], " for an absent key, expected ",
                        missing & mask_);
      if (at == map_.end()) continue;
      std::string complaint = see(batch.keys[i], at->second, batch.values[i]);
      if (!complaint.empty()) return complaint;
    }
    return "";
  }

  std::string contains(const Batch &batch) const {
    for (size_t i = 0; i < batch.keys.size(); i++)
      if (batch.codes[i] != (has(batch.keys[i]) ? 1 : 0))
        return complain(batch.keys[i], "contains answered ", int(batch.codes[i]), ", expected ", has(batch.keys[i]));
    return "";
  }

  std::string count_all(const Batch &batch) const {
    if (keeps_all()) return pairs_.count_all(batch);
    for (size_t i = 0; i < batch.keys.size(); i++)
      if (batch.counts[i] != has(batch.keys[i]) || batch.codes[i] != (has(batch.keys[i]) ? TSR_FOUND : TSR_MISSING))
        return complain(batch.keys[i], "counted ", batch.counts[i], " pairs, expected ", has(batch.keys[i]));
    return "";
  }

  // Judges a find_all whose array had room for batch.values.size() values.
  std::string find_all(const Batch &batch) {
    if (keeps_all()) return pairs_.find_all(batch);
    uint64_t at = 0;
    for (size_t i = 0; i < batch.keys.size(); i++, at = batch.counts[i]) {
      bool is_there = has(batch.keys[i]);
      if (batch.counts[i] != at || batch.counts[i + 1] != at + is_there)
        return complain(batch.keys[i], "its values are at ", batch.counts[i], " to ", batch.counts[i + 1]);
      if (!is_there || at >= batch.values.size()) continue;
      std::string complaint = see(batch.keys[i], map_.at(batch.keys[i]), batch.values[at]);
      if (!complaint.empty()) return complaint;
    }
    return "";
  }

  std::string erase_pairs(const Batch &batch) { return pairs_.erase_pairs(batch); } // where every pair is kept

  // Judges an erase: a present key is erased once, however often the batch names it.
  std::string erase(const Batch &batch) {
    if (keeps_all()) return pairs_.erase(batch);
    std::unordered_map<uint64_t, uint32_t> erased;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      if (batch.codes[i] != TSR_ERASED && batch.codes[i] != TSR_MISSING)
        return complain(batch.keys[i], "erase answered code ", int(batch.codes[i]));
      erased[batch.keys[i]] += batch.codes[i] == TSR_ERASED;
    }
    for (auto &entry : erased) {
      if (entry.second != (has(entry.first) ? 1u : 0u))
        return complain(entry.first, "erased ", entry.second, " times, but it was there ", has(entry.first), " times");
      map_.erase(entry.first);
    }
    return "";
  }

  // Judges an export: every pair once and nothing else.
  std::string exported(const std::vector<uint64_t> &keys, const std::vector<uint64_t> &values) {
    if (keeps_all()) return pairs_.exported(keys, values);
    std::unordered_map<uint64_t, uint32_t> seen;
    for (size_t i = 0; i < keys.size(); i++) {
      if (++seen[keys[i]] > 1) return complain(keys[i], "the table holds it twice");
      auto at = map_.find(keys[i]);
      if (at == map_.end()) return complain(keys[i], "the table holds a key that nobody left there");
      std::string complaint = see(keys[i], at->second, values.empty() ? 0 : values[i]);
      if (!complaint.empty()) return complaint;
    }
    for (auto &entry : map_)
      if (!seen.count(entry.first)) return complain(entry.first, "it is lost");
    return "";
  }

private:
  // What one batch did to one key.
  struct Story {
    Values offered;       // all values offered for it
    Values placed;        // those at indices that claim a new place
    Values back;          // values of its pairs that were handed back
    uint32_t present = 0; // indices that found it there
  };

  template <class... Parts>
  static std::string complain(uint64_t key, Parts... parts) {
    std::ostringstream text;
    text << "key 0x" << std::hex << key << std::dec << ": ";
    (text << ... << parts);
    return text.str();
  }

  static std::string list(const Values &values) {
    std::ostringstream text;
    for (size_t i = 0; i < values.size() && i < 8; i++) text << (i ? ", " : "") << values[i];
    if (values.size() > 8) text << ", ... (" << values.size() << " values)";
    return text.str();
  }

  static Values normal(Values values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    return values;
  }

  static bool holds(const Values &values, uint64_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  }

  std::string see(uint64_t key, Values &allowed, uint64_t value) const {
    if (!holds(allowed, value) && !(counts() && allowed.empty()))
      return complain(key, "its value is ", value, ", allowed: ", list(allowed));
    allowed = {value};
    return "";
  }

  std::string settle(uint64_t key, const Story &story) {
    auto at = map_.find(key);
    bool before = at != map_.end();
    Values old = before ? at->second : Values();
    uint64_t pairs = before + story.placed.size(); // that were in the table or on their way at some time
    if (story.back.size() > pairs || pairs - story.back.size() > 1)
      return complain(key, "before: ", before, ", newly placed: ", story.placed.size(),
                      ", handed back: ", story.back.size(), ": growth does not add up to 0 or 1");
    if (story.present && pairs == 0) return complain(key, "reported as present, but it was not there");
    bool after = pairs > story.back.size();
    if (story.back.empty()) {
      if (after) map_[key] = without_loss(old, before, story);
      return "";
    }
    return with_loss(key, before, after, old, story);
  }

  // Values that the table may hold when every pair of this key stayed.
  Values without_loss(const Values &old, bool before, const Story &story) const {
    if (mask_ == 0) return {0};
    switch (policy_) {
    case TSR_DUPLICATES_FIRST:
    case TSR_DUPLICATES_PROMISE_UNIQUE:
      return before ? old : story.placed;
    case TSR_DUPLICATES_REPLACE:
      return story.offered.empty() ? old : normal(story.offered);
    default:
      break;
    }
    Values result = before ? old : Values{story.offered[0]};
    for (size_t i = before ? 0 : 1; i < story.offered.size(); i++)
      for (uint64_t &value : result) value = combine(value, story.offered[i]);
    return normal(result);
  }

  // Pairs of this key were handed back: each holds some of the offered values.
  std::string with_loss(uint64_t key, bool before, bool after, const Values &old, const Story &story) {
    if (counts()) return count_with_loss(key, before, after, old, story);
    Values possible = old;
    if (mask_ == 0) possible = {0};
    possible.insert(possible.end(), story.offered.begin(), story.offered.end());
    if (policy_ != TSR_DUPLICATES_ADD) {
      if (story.placed.size() == 1 && !before && !story.present) possible = story.placed;
      for (uint64_t value : story.back)
        if (!holds(possible, value))
          return complain(key, "handed back with value ", value, ", allowed: ", list(possible));
      map_.erase(key);
      if (after) map_[key] = normal(possible);
      return "";
    }
    uint64_t rest = 0; // sums are conserved, whatever was evicted when
    for (uint64_t value : story.offered) rest += value;
    for (uint64_t value : story.back) rest -= value;
    Values table;
    for (uint64_t value : before ? old : Values{0}) table.push_back((value + rest) & mask_);
    map_.erase(key);
    if (after)
      map_[key] = normal(table);
    else if (!holds(table, 0))
      return complain(key, "handed back, and its sum is not what was offered");
    return "";
  }

  // The same of a counter: what was counted is in the table or was handed back, unless a count has stopped.
  std::string count_with_loss(uint64_t key, bool before, bool after, const Values &old, const Story &story) {
    uint64_t sum = before && old.size() == 1 ? old[0] : 0, back = 0;
    bool may_stop = before && old.size() != 1;
    for (uint64_t value : story.offered) may_stop |= (sum = combine(sum, value)) == most();
    for (uint64_t value : story.back) back = combine(back, value);
    map_.erase(key);
    if (!may_stop && (after ? back > sum : back != sum))
      return complain(key, "was counted ", sum, " times, of which ", back, " were handed back");
    if (after) map_[key] = may_stop ? Values{} : Values{sum - back};
    return "";
  }

  uint32_t policy_;
  uint64_t mask_;
  uint64_t handed_back_ = 0;
  std::unordered_map<uint64_t, Values> map_;
  MultiOracle pairs_; // instead, where every pair is kept
};

} // namespace tessera_test

#endif
