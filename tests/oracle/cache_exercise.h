// SPDX-License-Identifier: Apache-2.0
//
// Random batches on a cache (kind = cache) of any parts: each pair is in the table or was handed back, once and whole, and finds
// see what the table holds. Which pair is given up is not judged here (cache.h).
#ifndef TSR_TESTS_CACHE_EXERCISE_H
#define TSR_TESTS_CACHE_EXERCISE_H

#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

namespace tessera_test {

class CacheExercise {
public:
  struct Options {
    uint32_t key_bytes, value_bytes; // 0: none
    bool replaces;                   // duplicates = replace
    uint64_t operations, batch_max, distinct;
    uint32_t now; // the clock of all calls; 0: each is one more
  };

  CacheExercise(tsr_table *table, const Options &options, Random &random)
      : table_(table), is_(options), random_(random) {}

  // "" if nothing is wrong. It may be run again.
  std::string run() {
    if (!read(&held_)) return complaint_;
    for (uint64_t i = 0; i < is_.operations && complaint_.empty(); i++) {
      tag_++;
      const uint64_t what = random_.below(8), n = 1 + random_.below(is_.batch_max);
      std::vector<uint64_t> keys;
      for (uint64_t k = 0; k < n; k++) keys.push_back(key());
      if (what < 5)
        insert(keys, what == 0);
      else if (what < 7)
        find(keys, what == 5);
      else
        erase(keys);
      if (!complaint_.empty()) complaint_ = "operation " + std::to_string(i) + ": " + complaint_;
    }
    return complaint_;
  }

private:
  using Bytes = std::vector<unsigned char>;

  // The largest keys mark empty and erased slots.
  uint64_t key() {
    const uint64_t number = random_.below(is_.distinct), all = is_.key_bytes == 8 ? ~uint64_t{0} : 0xFFFFFFFFu;
    return number < 3 ? all - number : number * 48271 & all;
  }
  uint64_t word(uint64_t key, uint64_t tag) const {
    const uint64_t whole = key * 0x9E3779B97F4A7C15u + tag;
    return is_.value_bytes == 0 ? 0 : is_.value_bytes == 4 ? whole & 0xFFFFFFFFu : whole;
  }
  Bytes packed(const std::vector<uint64_t> &words, uint32_t each) const {
    Bytes result(words.size() * each + 1);
    for (size_t i = 0; i < words.size(); i++)
      for (uint32_t at = 0; at < each; at += 8)
        memcpy(&result[i * each + at], &words[i], each - at < 8 ? each - at : 8);
    return result;
  }
  std::vector<uint64_t> unpacked(const Bytes &bytes, uint64_t n, uint32_t each) {
    std::vector<uint64_t> result(n);
    for (uint64_t i = 0; i < n && each; i++) {
      memcpy(&result[i], &bytes[i * each], each < 8 ? each : 8);
      for (uint32_t at = 8; at < each; at++)
        if (bytes[i * each + at] != bytes[i * each + at - 8]) complain("a row is made of two");
    }
    return result;
  }
  void complain(const std::string &what) {
    if (complaint_.empty()) complaint_ = what;
  }
  bool works(tsr_status status, const tsr_error &error) {
    if (status) complain(error.message);
    return status == TSR_OK;
  }
  tsr_call call() const {
    tsr_call made = {};
    made.now = is_.now;
    return made;
  }

  // All pairs.
  bool read(std::map<uint64_t, uint64_t> *pairs) {
    uint64_t size = 0;
    tsr_error error = {};
    pairs->clear();
    if (!works(tsr_size(table_, &size, &error), error)) return false;
    Bytes keys(size * is_.key_bytes + 1), values(size * is_.value_bytes + 1);
    if (!works(tsr_export(table_, size, keys.data(), is_.value_bytes ? values.data() : nullptr, &size, &error), error))
      return false;
    const auto all = unpacked(keys, size, is_.key_bytes), words = unpacked(values, size, is_.value_bytes);
    for (uint64_t i = 0; i < size; i++)
      if (!pairs->emplace(all[i], words[i]).second) complain("key " + std::to_string(all[i]) + " is there twice");
    return complaint_.empty();
  }

  void insert(const std::vector<uint64_t> &keys, bool finds_first) {
    const uint64_t n = keys.size();
    std::vector<uint64_t> offered;
    for (uint64_t key : keys) offered.push_back(word(key, tag_));
    const Bytes key_bytes = packed(keys, is_.key_bytes), value_bytes = packed(offered, is_.value_bytes);
    Bytes gone(n * is_.key_bytes + 1), lost(n * is_.value_bytes + 1), read(n * is_.value_bytes + 1);
    std::vector<uint8_t> results(n);
    tsr_call made = call();
    tsr_error error = {};
    made.results = results.data();
    made.unplaced_keys = gone.data();
    const void *in = is_.value_bytes ? value_bytes.data() : nullptr;
    void *out = is_.value_bytes ? read.data() : nullptr;
    if (is_.value_bytes) made.unplaced_values = lost.data();
    if (!works(finds_first ? tsr_find_or_insert(table_, n, key_bytes.data(), in, out, &made, &error)
                           : tsr_insert(table_, n, key_bytes.data(), in, &made, &error),
               error))
      return;
    judge(keys, results, unpacked(gone, n, is_.key_bytes), unpacked(lost, n, is_.value_bytes), finds_first);
    const auto seen = unpacked(read, n, is_.value_bytes);
    for (uint64_t i = 0; finds_first && is_.value_bytes && i < n; i++)
      if (results[i] != TSR_NOT_PLACED && !may_be(keys[i], seen[i]))
        complain("a find_or_insert has another key's value");
    check_balance(!finds_first);
  }

  // A value that a key may have after or in this batch.
  bool may_be(uint64_t key, uint64_t value) const {
    const auto old = held_.find(key);
    return value == word(key, tag_) || (old != held_.end() && old->second == value);
  }

  // balance_: of each key, how often it came in less how often it went out.
  void judge(const std::vector<uint64_t> &keys, const std::vector<uint8_t> &results, const std::vector<uint64_t> &gone,
             const std::vector<uint64_t> &lost, bool finds_first) {
    balance_.clear();
    came_.clear();
    for (const auto &[key, value] : held_) balance_[key] = 1;
    for (size_t i = 0; i < keys.size(); i++) {
      const uint8_t result = results[i];
      const bool met = result == (finds_first ? TSR_FOUND : is_.replaces ? TSR_REPLACED : TSR_PRESENT);
      const bool comes = result == TSR_INSERTED || result == TSR_EVICTED;
      if (!met && !comes && result != TSR_NOT_PLACED) complain("an insert has the result " + std::to_string(result));
      if (result == TSR_NOT_PLACED && gone[i] != keys[i]) complain("another pair than the item was not placed");
      balance_[keys[i]] += comes;
      if (met || comes) came_.insert(keys[i]);
      if (result == TSR_EVICTED) balance_[gone[i]]--;
      if (result == TSR_EVICTED || result == TSR_NOT_PLACED)
        if (is_.value_bytes && !may_be(gone[i], lost[i])) complain("a pair came back with another one's value");
    }
  }

  void check_balance(bool writes) {
    std::map<uint64_t, uint64_t> after;
    if (!read(&after)) return;
    for (const auto &[key, count] : balance_)
      if (count != static_cast<int64_t>(after.count(key)))
        complain("key " + std::to_string(key) + " came in " + std::to_string(count) +
                 " times more than it went out, and " + (after.count(key) ? "is there" : "is not there"));
    for (const auto &[key, value] : after) {
      if (!balance_.count(key)) complain("key " + std::to_string(key) + " came from nowhere");
      if (!is_.value_bytes) continue;
      const bool is_new = writes && is_.replaces && came_.count(key);
      if (is_new ? value != word(key, tag_) : !may_be(key, value))
        complain("a key has another one's value, or an old one");
    }
    held_ = after;
  }

  void find(const std::vector<uint64_t> &keys, bool peeks) {
    const uint64_t n = keys.size();
    const Bytes asked = packed(keys, is_.key_bytes);
    Bytes values(n * is_.value_bytes + 1);
    std::vector<uint8_t> present(n, 2);
    tsr_call made = call();
    tsr_error error = {};
    made.present = present.data();
    made.peek = peeks;
    if (!works(is_.value_bytes ? tsr_find(table_, n, asked.data(), values.data(), &made, &error)
                               : tsr_contains(table_, n, asked.data(), present.data(), nullptr, &error),
               error))
      return;
    const auto seen = unpacked(values, n, is_.value_bytes);
    for (uint64_t i = 0; i < n; i++) {
      const auto pair = held_.find(keys[i]);
      if (present[i] != (pair != held_.end())) complain("a find is wrong about key " + std::to_string(keys[i]));
      if (pair != held_.end() && pair->second != seen[i]) complain("a find has another value than the table");
    }
  }

  void erase(const std::vector<uint64_t> &keys) {
    const Bytes asked = packed(keys, is_.key_bytes);
    tsr_error error = {};
    if (!works(tsr_erase(table_, keys.size(), asked.data(), nullptr, &error), error)) return;
    balance_.clear();
    came_.clear();
    for (const auto &[key, value] : held_) balance_[key] = 1;
    for (uint64_t key : keys) balance_[key] = 0;
    check_balance(false);
  }

  tsr_table *table_;
  const Options is_;
  Random &random_;
  uint64_t tag_ = 0;
  std::string complaint_;
  std::map<uint64_t, uint64_t> held_;
  std::map<uint64_t, int64_t> balance_;
  std::set<uint64_t> came_;
};

} // namespace tessera_test

#endif
