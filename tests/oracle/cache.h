// SPDX-License-Identifier: Apache-2.0
//
// An exact model of a cache of one bucket (kind = cache), whose candidates are all its slots, and of what the eviction parts
// do to scores.
#ifndef TSR_TESTS_CACHE_H
#define TSR_TESTS_CACHE_H

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tessera_test {

// What a part does to scores, written down a second time.
struct Scores {
  std::function<uint32_t(uint32_t now, uint32_t given)> inserted;
  std::function<uint32_t(uint32_t score, uint32_t now, uint32_t given)> found;
  std::function<uint64_t(uint32_t score, uint32_t now)> worth; // 0: expired
  bool weighs_new = false;
};

class CacheModel {
public:
  struct Pair {
    uint64_t key = 0, value = 0;
    uint32_t score = 0;
    bool is_there = false;
  };
  struct Answer {
    bool is_new = false, is_refused = false, is_given_up = false;
    Pair gone; // with is_given_up, or the item itself with is_refused
  };

  CacheModel(uint32_t slots, Scores scores) : slots_(slots), scores_(std::move(scores)) {}

  Answer insert(uint64_t key, uint64_t value, uint32_t now, uint32_t given, bool keeps_first = false) {
    Answer answer;
    if (Pair *pair = seek(key)) {
      const bool is_expired = !scores_.worth(pair->score, now);
      if (is_expired || !keeps_first) pair->value = value;
      pair->score = is_expired ? scores_.inserted(now, given) : scores_.found(pair->score, now, given);
      answer.is_new = is_expired;
      return answer;
    }
    const Pair added = {key, value, scores_.inserted(now, given), true};
    Pair *least = &slots_[0];
    for (Pair &pair : slots_) // the first vacant slot, otherwise the first one that is worth least
      if (least->is_there && (!pair.is_there || scores_.worth(pair.score, now) < scores_.worth(least->score, now)))
        least = &pair;
    if (least->is_there && scores_.weighs_new && scores_.worth(added.score, now) < scores_.worth(least->score, now)) {
      answer.is_refused = true;
      answer.gone = added;
      return answer;
    }
    answer.is_new = true;
    answer.is_given_up = least->is_there;
    answer.gone = *least;
    *least = added;
    return answer;
  }

  // NULL: absent, or expired.
  const Pair *find(uint64_t key, uint32_t now, uint32_t given, bool touches) {
    Pair *pair = seek(key);
    if (!pair || !scores_.worth(pair->score, now)) return nullptr;
    if (touches) pair->score = scores_.found(pair->score, now, given);
    return pair;
  }

  void erase(uint64_t key) {
    if (Pair *pair = seek(key)) pair->is_there = false;
  }

  std::map<uint64_t, Pair> pairs() const {
    std::map<uint64_t, Pair> result;
    for (const Pair &pair : slots_)
      if (pair.is_there) result[pair.key] = pair;
    return result;
  }

private:
  Pair *seek(uint64_t key) {
    for (Pair &pair : slots_)
      if (pair.is_there && pair.key == key) return &pair;
    return nullptr;
  }

  std::vector<Pair> slots_;
  Scores scores_;
};

} // namespace tessera_test

#endif
