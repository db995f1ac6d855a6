// SPDX-License-Identifier: Apache-2.0
//
// Random batches on an index (kind = index) of any parts: each key in the table has one number that no other key has, and keeps
// it until the key is erased, given up or handed back; rows stay at their numbers, also while these are free. Which key is
// given up is not judged here (eviction.h).
#ifndef TSR_TESTS_INDEX_EXERCISE_H
#define TSR_TESTS_INDEX_EXERCISE_H

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/arrays.h"
#include "tests/oracle/random.h"

namespace tessera_test {

class IndexExercise {
public:
  struct Options {
    uint32_t key_bits, row_bytes; // 0: none
    bool evicts, in_order;        // numbering = first_seen
    bool moves;                   // the scheme moves pairs: a full one may hand back a key that it had
    uint64_t operations, batch_max, distinct;
  };

  IndexExercise(const Options &options, Random &random) : is_(options), random_(random) {}

  // "" if nothing is wrong. It may be run again, on a table that has the same keys.
  std::string run(tsr_table *table) {
    table_ = table;
    for (uint64_t i = 0; i < is_.operations && complaint_.empty(); i++) {
      std::vector<uint64_t> keys(1 + random_.below(is_.batch_max));
      for (uint64_t &key : keys) key = this->key();
      const uint64_t what = random_.below(16);
      if (what < 9)
        number(keys);
      else if (what < 13)
        erase(keys);
      else if (what == 15)
        clear();
      if (is_.row_bytes && what % 2) write_rows();
      if (complaint_.empty()) check(keys);
      if (!complaint_.empty()) complaint_ = "operation " + std::to_string(i) + ": " + complaint_;
    }
    return complaint_;
  }

private:
  static constexpr uint32_t none = 0xFFFFFFFFu;

  // The largest keys mark empty and erased slots.
  uint64_t key() {
    const uint64_t number = random_.below(is_.distinct), all = is_.key_bits == 32 ? 0xFFFFFFFFu : ~uint64_t{0};
    return number < 3 ? all - number : number * 48271 & all;
  }
  void complain(const std::string &what) {
    if (complaint_.empty()) complaint_ = what;
  }
  bool works(tsr_status status, const tsr_error &error) {
    if (status) complain(error.message);
    return status == TSR_OK;
  }

  void number(const std::vector<uint64_t> &keys) {
    const uint64_t n = keys.size(), before = given();
    Keys array(is_.key_bits, keys), back(is_.key_bits, n);
    std::vector<uint32_t> numbers(n);
    std::vector<uint8_t> codes(n, 0);
    tsr_call call = {};
    tsr_error error = {};
    const bool tells = !random_.chance(4);
    call.missing = none;
    call.unplaced_keys = back.data();
    call.results = codes.data();
    if (!tells) call = {};
    call.missing = none;
    const tsr_status status = tsr_number(table_, n, array.data(), numbers.data(), &call, &error);
    if (status == TSR_UNSUPPORTED && is_.evicts) return; // more keys than it holds
    if (!works(status, error)) return;
    forget_evicted();
    const std::vector<uint64_t> back_keys = tells ? handed_back(codes, back.numbers(n)) : std::vector<uint64_t>();
    learn(keys, numbers, before, {back_keys.begin(), back_keys.end()}, !tells);
    for (uint64_t i = 0; i < n && tells; i++)
      if (codes[i] != TSR_INSERTED && codes[i] != TSR_FOUND && codes[i] != TSR_NOT_PLACED)
        complain("the result " + std::to_string(codes[i]));
    if (tells)
      forget_handed_back(back_keys);
    else
      forget_missing();
  }

  // What has a number now; equal keys have one, and present keys theirs. One that was handed back for another item may have
  // been numbered again in the same call, which takes a number of those that new keys get.
  void learn(const std::vector<uint64_t> &keys, const std::vector<uint32_t> &numbers, uint64_t before,
             const std::set<uint64_t> &back, bool is_untold) {
    uint64_t next = before;
    bool lost = false; // then the order of the others' numbers has gaps
    std::map<uint64_t, uint32_t> seen;
    for (size_t i = 0; i < keys.size(); i++) {
      const auto known = numbers_.find(keys[i]);
      const uint32_t first = seen.emplace(keys[i], numbers[i]).first->second;
      const bool is_other = known != numbers_.end() && known->second != numbers[i] && numbers[i] != none;
      if (first == numbers[i] && !is_other) continue;
      lost = true;
      if (is_.moves && (is_untold || back.count(keys[i]))) continue;
      if (first != numbers[i]) complain("key " + std::to_string(keys[i]) + " has two numbers");
      if (is_other) complain("key " + std::to_string(keys[i]) + " has another number than before");
    }
    seen.clear();
    for (size_t i = 0; i < keys.size(); i++) {
      lost = lost || numbers[i] == none;
      if (!seen.emplace(keys[i], numbers[i]).second || numbers[i] == none) continue;
      if (!numbers_.count(keys[i]) && is_.in_order && !lost && numbers[i] >= before && numbers[i] != next++)
        complain("numbers are not in the order of first appearance");
      numbers_[keys[i]] = numbers[i];
    }
  }

  static std::vector<uint64_t> handed_back(const std::vector<uint8_t> &codes, const std::vector<uint64_t> &keys) {
    std::vector<uint64_t> back;
    for (size_t i = 0; i < codes.size(); i++)
      if (codes[i] == TSR_NOT_PLACED) back.push_back(keys[i]);
    return back;
  }

  // A key that was handed back may have been inserted again for another item.
  void forget_handed_back(const std::vector<uint64_t> &gone) {
    const std::vector<uint32_t> found = find(gone);
    for (size_t i = 0; i < gone.size(); i++)
      if (found[i] == none) numbers_.erase(gone[i]);
  }

  void forget_evicted() {
    uint64_t count = 0;
    tsr_error error = {};
    if (!is_.evicts || !works(tsr_evicted(table_, 0, nullptr, nullptr, &count, &error), error)) return;
    Keys gone(is_.key_bits, count);
    std::vector<uint32_t> numbers(count + 1);
    if (!works(tsr_evicted(table_, count, gone.data(), numbers.data(), &count, &error), error)) return;
    const std::vector<uint64_t> keys = gone.numbers(count);
    for (uint64_t i = 0; i < count; i++) {
      const auto known = numbers_.find(keys[i]);
      if (known == numbers_.end() || known->second != numbers[i])
        complain("a key was given up that had no such number");
      numbers_.erase(keys[i]);
    }
  }

  // After a call that has not said which keys it handed back.
  void forget_missing() {
    const std::vector<uint32_t> found = find(known());
    size_t i = 0;
    for (auto at = numbers_.begin(); at != numbers_.end() && i < found.size(); i++)
      at = found[i] == none ? numbers_.erase(at) : std::next(at);
  }

  void erase(const std::vector<uint64_t> &keys) {
    Keys array(is_.key_bits, keys);
    tsr_error error = {};
    if (!works(tsr_erase(table_, keys.size(), array.data(), nullptr, &error), error)) return;
    for (uint64_t key : keys) numbers_.erase(key);
  }

  void clear() {
    tsr_error error = {};
    if (works(tsr_clear(table_, nullptr, &error), error)) numbers_.clear();
  }

  uint64_t given() {
    uint64_t count = 0;
    tsr_error error = {};
    works(tsr_numbers_given(table_, &count, &error), error);
    return count;
  }

  std::vector<uint64_t> known() const {
    std::vector<uint64_t> keys;
    for (const auto &[key, number] : numbers_) keys.push_back(key);
    return keys;
  }

  std::vector<uint32_t> find(const std::vector<uint64_t> &keys) {
    Keys array(is_.key_bits, keys);
    std::vector<uint32_t> numbers(keys.size() + 1);
    tsr_call call = {};
    tsr_error error = {};
    call.missing = none;
    works(tsr_find(table_, keys.size(), array.data(), numbers.data(), &call, &error), error);
    numbers.pop_back();
    return numbers;
  }

  // asked: keys that may be there or not.
  void check(const std::vector<uint64_t> &asked) {
    const std::vector<uint64_t> keys = known();
    const std::vector<uint32_t> found = find(keys), seen = find(asked);
    const uint64_t end = given();
    std::set<uint32_t> different(found.begin(), found.end());
    uint64_t size = 0;
    tsr_error error = {};
    if (!works(tsr_size(table_, &size, &error), error)) return;
    if (size != keys.size())
      complain("it has " + std::to_string(size) + " keys in place of " + std::to_string(keys.size()));
    if (different.size() != keys.size()) complain("two keys have one number");
    for (size_t i = 0; i < keys.size(); i++)
      if (found[i] != numbers_[keys[i]] || found[i] >= end)
        complain("key " + std::to_string(keys[i]) + " has lost its number");
    for (size_t i = 0; i < asked.size(); i++)
      if (seen[i] != none && !numbers_.count(asked[i])) complain("an absent key has a number");
    if (is_.row_bytes) check_rows(end);
  }

  uint8_t byte_of(uint64_t tag, uint64_t at) const {
    return static_cast<uint8_t>(tag * 0x9E3779B1u >> (at / 4 % 3 * 8));
  }

  void write_rows() {
    std::vector<uint32_t> numbers;
    std::vector<uint8_t> rows;
    for (const auto &[key, number] : numbers_) {
      if (!random_.chance(3)) continue;
      numbers.push_back(number);
      tags_[number] = ++tag_;
      for (uint64_t at = 0; at < is_.row_bytes; at++) rows.push_back(byte_of(tag_, at));
    }
    tsr_error error = {};
    if (!numbers.empty())
      works(tsr_write_rows(table_, numbers.size(), numbers.data(), rows.data(), nullptr, &error), error);
  }

  void check_rows(uint64_t end) {
    std::vector<uint32_t> numbers(end);
    std::vector<uint8_t> rows(end * is_.row_bytes + 1);
    tsr_error error = {};
    for (uint32_t i = 0; i < end; i++) numbers[i] = i;
    if (!works(tsr_read_rows(table_, end, numbers.data(), rows.data(), nullptr, &error), error)) return;
    for (uint64_t i = 0; i < end; i++) {
      const auto at = tags_.find(static_cast<uint32_t>(i));
      const uint64_t tag = at == tags_.end() ? 0 : at->second;
      for (uint64_t b = 0; b < is_.row_bytes; b++)
        if (rows[i * is_.row_bytes + b] != byte_of(tag, b))
          return complain("another row at number " + std::to_string(i));
    }
  }

  const Options is_;
  Random &random_;
  tsr_table *table_ = nullptr;
  std::map<uint64_t, uint32_t> numbers_;
  std::map<uint32_t, uint64_t> tags_; // what was written to the rows of numbers; 0: nothing
  uint64_t tag_ = 0;
  std::string complaint_;
};

} // namespace tessera_test

#endif
