// SPDX-License-Identifier: Apache-2.0
//
// What is done to which tables. Read next: interleave_test.cc, faults_test.cc.
#ifndef TSR_INTERLEAVE_CASES_H
#define TSR_INTERLEAVE_CASES_H

#include <functional>
#include <string>
#include <vector>

#include "tests/interleave/walk.h"

namespace interleave {

// Who may overlap: inserts each other and erases each other (PHASED), finds both as well (TURNS), all (MIXED).
enum Overlap { PHASED, TURNS, MIXED };

// In which tables: those where a key has one pair; where it may have many; where buckets are lists; where inserts need locks;
// caches; tables that move pairs.
enum Where {
  ANYWHERE,
  ONE_PAIR,
  MANY_PAIRS,
  LISTS,
  LOCKS,
  LOCKS_OF_LARGE_BUCKETS,
  LOCKS_OF_VALUE_LISTS,
  IN_CACHES,
  WHERE_PAIRS_MOVE
};

struct Scenario {
  const char *name;
  Overlap least;
  std::vector<Operation> before, at_once;
  Where where = ANYWHERE;
};

const std::vector<Scenario> &scenarios();

// A table. Its name is made of what it is made of.
struct Shape {
  std::string name, spec;
  Overlap overlap = PHASED;
  bool once = true; // a key has one pair
  bool has_links = false, has_large_buckets = false;
  bool unique = false; // the caller promises that no key is inserted twice
  bool shares_locks = false, in_kernel = false;
  bool is_filter = false, has_fingerprints = false,
       asks_filter = false;    // a filter; of fingerprints; a table behind one
  uint32_t guard = 0;          // TSR_GUARD_
  std::vector<int> parts = {}; // by which a covering set is drawn
  const char *scheme = "", *layout = "", *policy = "", *other = "";
};

std::ostream &operator<<(std::ostream &out, const Shape &shape);

// Every table of a few slots that `check` accepts.
const std::vector<Shape> &all_shapes();

// As many of these that each scheme, layout, policy and further setting is there with each guard, and each of the first three
// with each concurrency. is_meant: only of those that it names; NULL: of all.
std::vector<Shape> covering_shapes(const std::function<bool(const Shape &)> &is_meant = nullptr);

// By its name; it must be there.
const Shape &shape_of(const std::string &name);

bool is_cache(const Shape &shape);
bool moves_pairs(const Shape &shape);

bool goes_with(const Scenario &s, const Shape &shape);

// The scenario on the table, with keys that are larger by `more`, which meet in other buckets.
Case case_of(const Scenario &s, const Shape &shape, uint64_t more);
const uint64_t all_keys[] = {0, 100};

bool runs_all(); // TSR_INTERLEAVE=all
bool prints();   // ... or any other word

} // namespace interleave

#endif
