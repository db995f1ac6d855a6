// SPDX-License-Identifier: Apache-2.0
//
// Faults that are planted into a table's text (faults.cc), each of which the exploration must find. Read next: faults_test.cc.
#ifndef TSR_INTERLEAVE_FAULTS_H
#define TSR_INTERLEAVE_FAULTS_H

#include <string>
#include <utility>
#include <vector>

#include "tests/interleave/cases.h"

namespace interleave {

// What has to be modelled for a fault to be seen: ANYTHING: nothing more than orders; OLD_LOADS: loads that may see what was
// there before; L1_LOADS: such loads through L1.
enum Needs { ANYTHING, OLD_LOADS, L1_LOADS };

// In which tables a fault may matter: all; those whose inserts need a key's lock; whose claims guard themselves; whose buckets
// are lists; with such values; caches; those that move pairs; those that have a value;
// filters, also before a table; mixed ones.
enum Concerns { ALL, LOCKED, CLAIMED, UNITS, RUNS, CACHES, MOVING, VALUES, FILTERS, OVERLAPPING };

struct Planted {
  const char *name;
  std::vector<std::pair<const char *, const char *>> changes; // of the text: from, to
  Needs needs;
  Concerns concerns;
  std::vector<const char *> shapes; // tables in which it is found, by their names; of the default job the first
};

bool concerns(const Planted &planted, const Shape &shape);

// Why the fault changes the code of this table and yet is not found: nothing that an operation could see comes of it, or nothing
// that is judged. NULL: it is found.
const char *why_not_found(const Planted &planted, const Shape &shape);

std::ostream &operator<<(std::ostream &out, const Planted &planted);

const std::vector<Planted> &all_planted();

// Makes all changes; false: the text has no place for one.
bool plant(const Planted &planted, std::string *text);

} // namespace interleave

#endif
