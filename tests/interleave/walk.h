// SPDX-License-Identifier: Apache-2.0
//
// A table's operations, compiled from the text that the cpu backend would compile, with atomics.h in front: one item of an
// operation is what a thread of the explorer does. Read next: interleave_test.cc.
#ifndef TSR_INTERLEAVE_WALK_H
#define TSR_INTERLEAVE_WALK_H

#include <functional>
#include <string>
#include <vector>

#include "tests/interleave/explorer.h"
#include "tests/interleave/judge.h"

typedef struct tsr_table tsr_table;

namespace interleave {

// CPU: the text as the cpu backend runs it. GPU: the same functions as a lane calls them, and each load in its mode there.
enum class Way { CPU, GPU };

// Changes a text before it is compiled: a planted fault. False: what it changes is not there.
using Fault = std::function<bool(std::string *text)>;

// What a case of this table came to.
struct Verdict {
  Outcome outcome;
  std::string refusal; // the parts do not go together: nothing was explored
  uint32_t guard = 0;  // TSR_GUARD_
};

struct Case {
  std::string spec;              // words for spec_of (tests/rebuild/tables.h)
  std::vector<Operation> before; // one after the other, by the library
  std::vector<Operation> at_once;
  bool shares_locks = false; // there are two locks for all keys
  bool in_kernel = false;    // as in a kernel of a user's that inserts and erases at once
};

// Replaces every place of `from`; false: there is none.
bool replace_all(std::string *text, const std::string &from, const std::string &to);

// Why `check` does not accept these words; empty: it does, and the table has this guard (TSR_GUARD_).
std::string refusal_of(const std::string &spec, uint32_t *guard);

Verdict explore_case(const Case &c, Way way, Model model, const Fault &fault = nullptr, const Limits &limits = {});

// Whether the compiler makes other code of the table's text because of the fault. If not, the fault is where this table executes
// nothing, so it cannot matter there.
bool changes_code(const Case &c, Way way, const Fault &fault);

} // namespace interleave

#endif
