// SPDX-License-Identifier: Apache-2.0
//
// A stand-in for the library (core/tessera.h) that answers wrongly when it is told to, and counts what it hands out.
// Read next: bench_check_test.cc, which expects the bench to notice.
#ifndef TSR_TESTS_LAB_FAULTY_H
#define TSR_TESTS_LAB_FAULTY_H

#include <cstdint>
#include <string>
#include <vector>

enum class Fault {
  NONE,
  LOSES_A_KEY,       // insert says nothing of one key
  HIDES_A_KEY,       // insert counts a key that is not there
  HANDS_BACK,        // insert hands a few keys back: allowed, but to be told
  BACK_AND_HIDDEN,   // both
  WRONG_VALUE,       // find: one value
  FINDS_NOTHING_NEW, // find writes nothing
  FINDS_TOO_MUCH,    // find: one absent key
  MISCOUNTS_FOUND,   // the report
  KEEPS_A_KEY,       // erase
  ONLY_ONCE,         // wrong values in the second find only
  KEEPS_ALL,         // clear
  SHORTENS_A_LIST,   // find_all, count_all: one value less
  SHIFTS_LISTS,      // find_all: every list begins one place later
  REPEATS_A_VALUE,   // find_all: in the place of another one
  WRONG_RESULT,      // apply: one code
  WRONG_CODE,        // insert, find and erase: one
  FORGETS_AN_INSERT, // apply says that it has been done
  FORGETS_AN_ERASE,  // so here
  INSERT_FAILS,
  FIND_FAILS,
  ERASE_FAILS,
  APPLY_FAILS,
  NO_MEMORY, // for the arrays
  NO_LIMITS,
  POOL_OVERLAPS,  // two places of a pool
  POOL_EXHAUSTED, // a pool has only 9000 places
  POOL_FAILS
};

struct Faulty {
  Fault fault = Fault::NONE;
  bool is_cuda = false;
  uint32_t value_bits = 32;
  uint32_t bucket_bytes = 32;
  int finds = 0;
  int tables = 0, memories = 0, pools = 0; // alive
  std::vector<std::string> operations;     // timed ones: "a insert"
  std::vector<double> milliseconds;        // of the next timed operations, in reverse; then 1 of a table a, 2 of others
  std::vector<uint64_t> footprints;        // asked of tsr_roofline
  uint32_t called = 0, prepared = 0;       // TSR_PREPARE_ of all calls; of those asked of tsr_spec_prepare
};

extern Faulty faulty;

#endif
