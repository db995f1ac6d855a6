// SPDX-License-Identifier: Apache-2.0
//
// Linearizability: whether the answers of operations that ran at the same time are those of some order of them, one
// after the other, in which whatever had ended before another began comes first (Herlihy and Wing, TOPLAS 1990). Keys
// do not touch each other, and linearizability is local: each key is judged alone.
// Read next: history.cc (the search), record.h (how histories are made), history_test.cc.
#ifndef TSR_TESTS_HISTORY_H
#define TSR_TESTS_HISTORY_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tessera_test {

struct Operation {
  uint8_t asks; // TSR_OP_
  uint64_t key;
  uint64_t offered;    // insert, replace: the value; not looked at in a set
  uint64_t seen;       // find: the value found; not looked at in a set
  uint8_t result;      // TSR_INSERTED ..
  uint64_t begin, end; // readings of one clock
};
using History = std::vector<Operation>; // in any order

using Contents = std::map<uint64_t, uint64_t>; // key -> value, which is not looked at in a set

struct Rules {
  uint32_t policy; // TSR_DUPLICATES_FIRST, _REPLACE, _ADD, _MIN or _MAX
  uint32_t value_bits;
  uint64_t resolution = 0; // the clock's: a reading may be off by this much, either way
  uint64_t steps = 200000; // of the search for one key, which is undecided beyond
};

struct Verdict {
  bool wrong = false;            // the operations of a key have no such order:
  uint64_t key = 0;              // this one's,
  std::string why;               // and these are the operations in question, a line each, with their indices in the
                                 // history and times since its first: > marks that by whose end no order is left, ~
                                 // what overlaps the others and may come before, among or after them
  uint64_t keys = 0;             // looked at; when wrong, not all are
  uint64_t undecided = 0;        // of these, keys whose search was given up: with TSR_DUPLICATES_ADD it happens where
                                 // more than about 25 overlap, else hardly, but for wrong ones where more than 40 do
  uint64_t steps = 0;            // of all searches
  uint64_t most_overlapping = 0; // operations of one key under way at the same time
  std::vector<size_t> order;     // of each key that is right: its operations in such an order, as indices
};

// before: what the table held when the first operation began. after, if not NULL: what it held when the last had ended.
// A key that is neither there nor in the history is none of the table's.
Verdict check(const History &history, const Rules &rules, const Contents &before, const Contents *after = nullptr);

// One line: what was asked, and the answer.
std::string text_of(const Operation &operation);

// The finest step that the clock of these operations shows: the least difference of two readings; 0 if all are equal.
uint64_t resolution_of(const History &history);

} // namespace tessera_test

#endif
