// SPDX-License-Identifier: Apache-2.0
//
// Faults that are planted into a table's text (faults.cc), each of which the exploration must find. Read next: faults_test.cc.
#ifndef TSR_INTERLEAVE_FAULTS_H
#define TSR_INTERLEAVE_FAULTS_H

#include <string>
#include <utility>
#include <vector>

namespace interleave {

// What has to be modelled for a fault to be seen: ANYTHING: nothing more than orders; OLD_LOADS: loads that may see what was
// there before; L1_LOADS: such loads through L1.
enum Needs { ANYTHING, OLD_LOADS, L1_LOADS };

struct Planted {
  const char *name;
  std::vector<std::pair<const char *, const char *>> changes; // of the text: from, to
  Needs needs;
  std::vector<const char *> shapes; // tables in which it must be found, by their names
};

std::ostream &operator<<(std::ostream &out, const Planted &planted);

const std::vector<Planted> &all_planted();

// Makes all changes; false: the text has no place for one.
bool plant(const Planted &planted, std::string *text);

} // namespace interleave

#endif
