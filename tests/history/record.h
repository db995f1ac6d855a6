// SPDX-License-Identifier: Apache-2.0
//
// Histories of a table: batches of random operations on few keys, with values of their own, so that a find tells which
// operation it saw. Whatever the backend, whatever the table. Read next: record_test.cc, recorded_test.cc.
#ifndef TSR_TESTS_RECORD_H
#define TSR_TESTS_RECORD_H

#include <cstdint>
#include <string>
#include <vector>

#include "tests/history/history.h"
#include "tests/oracle/random.h"

namespace tessera_test {

// What is recorded. Both functions return a complaint, or "".
class Recordable {
public:
  virtual ~Recordable() = default;
  // Does all items at the same time: fills in what was seen, results and times.
  virtual std::string apply(History *items) = 0;
  // What it holds. A key that it holds twice is a complaint.
  virtual std::string contents(Contents *contents) = 0;
};

struct Load {
  uint64_t keys;    // distinct
  uint64_t items;   // of a batch
  uint64_t batches; // of a history
  uint64_t histories;
};

// What came of it. A test looks at these numbers too: where nothing overlapped, nothing was tested.
struct Records {
  std::string complaint; // the first; it ends the recording
  uint64_t operations = 0, keys = 0, undecided = 0, not_placed = 0, most_overlapping = 0;

  Records &operator+=(const Records &other);
};

// The table keeps what it holds from one history to the next. A clock that shows coarser steps than rules.resolution
// says is trusted no further than its steps.
Records record(Recordable *table, uint32_t key_bits, const Rules &rules, const Load &load, Random *random);

} // namespace tessera_test

#endif
