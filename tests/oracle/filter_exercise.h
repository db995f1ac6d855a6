// SPDX-License-Identifier: Apache-2.0
//
// Random operations on a filter of fingerprints, judged by a count for each key: no key that is held is missing, each erase
// takes one, and when all are gone nothing seems present. How often it errs is another test's matter
// (../table/fingerprint_test.cc). Read next: exercise.h, which judges tables of keys.
#ifndef TSR_TESTS_FILTER_EXERCISE_H
#define TSR_TESTS_FILTER_EXERCISE_H

#include <map>
#include <string>
#include <vector>

#include "tests/oracle/random.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

class FilterExercise {
public:
  // most: keys that it holds at a time, few enough for all to find room.
  FilterExercise(Subject &subject, Random &random, uint64_t most) : subject_(subject), random_(random), most_(most) {}

  std::string run(uint64_t operations) {
    std::string complaint;
    for (uint64_t i = 0; i < operations && complaint.empty(); i++) complaint = step(random_.chance(2));
    while (count_ && complaint.empty()) complaint = step(false);
    if (complaint.empty()) complaint = look(std::vector<uint64_t>{0, 1, 2, 3, 77}, 0);
    return complaint;
  }

private:
  static constexpr uint64_t copies_ = 3; // of a key, fewer than a bucket has slots

  // The largest two mark empty and erased slots in tables of keys.
  uint64_t some_key() {
    const uint64_t last = width_mask(subject_.key_bits);
    return random_.chance(8) ? last - random_.below(4) : random_.below(most_ + 1) * 0x9E3779B1u & last;
  }

  std::string step(bool inserts) {
    Batch batch;
    for (uint64_t i = 1 + random_.below(24); i--;) {
      const uint64_t key = some_key();
      if (inserts && (held_[key] >= copies_ || count_ >= most_)) continue;
      if (inserts) add(batch, key, 1);
    }
    for (auto &one : held_)
      if (!inserts && one.second && random_.chance(2)) add(batch, one.first, ~uint64_t{0});
    if (batch.keys.empty()) return "";
    const std::string complaint = inserts ? subject_.insert(batch) : subject_.erase(batch);
    if (!complaint.empty()) return complaint;
    for (size_t i = 0; i < batch.keys.size(); i++)
      if (batch.codes[i] != (inserts ? TSR_INSERTED : TSR_ERASED))
        return "key " + std::to_string(batch.keys[i]) + (inserts ? " was to be inserted" : " was to be erased") +
               ", and the answer is code " + std::to_string(batch.codes[i]);
    std::vector<uint64_t> present;
    for (const auto &one : held_)
      if (one.second) present.push_back(one.first);
    return look(present, 1);
  }

  void add(Batch &batch, uint64_t key, uint64_t copies) {
    batch.keys.push_back(key);
    batch.values.push_back(0);
    held_[key] += copies;
    count_ += copies;
  }

  std::string look(const std::vector<uint64_t> &keys, uint8_t expected) {
    Batch asked;
    asked.keys = keys;
    if (keys.empty()) return "";
    const std::string complaint = subject_.contains(asked);
    for (size_t i = 0; i < keys.size() && complaint.empty(); i++)
      if (asked.codes[i] != expected)
        return "key " + std::to_string(keys[i]) + (expected ? " is held and missing" : " is there, and all are gone");
    return complaint;
  }

  Subject &subject_;
  Random &random_;
  uint64_t most_, count_ = 0;
  std::map<uint64_t, uint64_t> held_;
};

} // namespace tessera_test

#endif
