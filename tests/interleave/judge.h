// SPDX-License-Identifier: Apache-2.0
//
// What is right: some order of the operations gives all answers, and the pairs in the end. Read next: walk.h.
#ifndef TSR_INTERLEAVE_JUDGE_H
#define TSR_INTERLEAVE_JUDGE_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace interleave {

// The last ones are items of tsr_apply.
enum class Verb { INSERT, FIND, ERASE, FIND_OR_INSERT, APPLY_INSERT, APPLY_REPLACE, APPLY_ERASE, APPLY_FIND };

bool is_apply(Verb verb);
bool finds(Verb verb);
bool erases(Verb verb);

struct Operation {
  Verb verb;
  uint64_t key, value;
  bool follows = false; // by the same thread as the one before it
};

using Pairs = std::multimap<uint64_t, uint64_t>;

struct Rules { // of a table
  uint32_t policy = 0;
  uint64_t value_mask = 0xFFFFFFFF, missing = 0;
  bool has_values = true, is_cache = false, saturates = false;
  // A value is written after its key. So the library reads what find_or_insert finds by a find that follows (operate.c), and
  // with `replace` any of the values that race may stay.
  bool is_late = false;
  // A key may seem to be there, so only a key that is there says something. Two inserts of one key may both be the first.
  bool is_filter = false;
  bool moves_pairs = false;
};

struct Answer {
  uint8_t code = 0; // TSR_INSERTED and so on
  uint64_t found = 0;
  uint64_t left_key = 0, left_value = 0; // TSR_NOT_PLACED, TSR_EVICTED: the pair that has no place, or no longer one
};

// Whether the operation's own pair was handed back: then it has done nothing.
bool is_left_out(const Rules &rules, const Operation &operation, const Answer &answer);

// Empty: the answers and the pairs in the end are right.
std::string judge(const Rules &rules, const Pairs &before, const std::vector<Operation> &operations,
                  const std::vector<Answer> &answers, const Pairs &in_the_end);

} // namespace interleave

#endif
