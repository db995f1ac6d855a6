// SPDX-License-Identifier: Apache-2.0
//
// The bits of a filter, and setting them in the order of its blocks (core/batch/mark.h), which the library does by itself
// on a GPU alone: so that the cpu backend's tests see it. Read next: filter_test.cc, absent_test.cc.
#ifndef TSR_TESTS_MARKED_H
#define TSR_TESTS_MARKED_H

#include <string>

extern "C" {
#include "core/batch/mark.h"
#include "core/table/table_struct.h"
}

namespace tessera_test {

// Sets the bits of n keys; "" or what went wrong. Nothing else is done for them.
inline std::string mark_in_order(tsr_table *table, uint64_t n, const void *keys) {
  tsr_error error = {};
  tsr_bulk bulk = {};
  bool began = false;
  bulk.state = table->store.state;
  bulk.n = n;
  bulk.keys = keys;
  bulk.tally = table->tallies + TSR_TALLY_UNREAD;
  const tsr_work work = tsr_work_on(table, &table->store, nullptr, &error);
  if (tsr_mark_in_order(&work, &bulk, &began)) return error.message;
  return began ? "" : "no memory";
}

// Of a table on the cpu backend.
inline std::string filter_bits(const tsr_table *table) {
  const tsr_composition *c = table->store.composition;
  const void *blocks = table->store.state.part[TSR_ROLE_LAYOUT].region[c->facts.filter_region];
  const uint64_t bytes = tsr_composition_filter_blocks(c) * c->facts.filter_words * sizeof(uint32_t);
  return std::string(static_cast<const char *>(blocks), bytes);
}

} // namespace tessera_test

#endif
