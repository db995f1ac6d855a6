// SPDX-License-Identifier: Apache-2.0
//
// record.h.
#include "tests/history/record.h"

#include <algorithm>

#include "core/tessera.h"

namespace tessera_test {
namespace {

// Different keys for different numbers; the first two are those whose bits mark slots.
uint64_t key_of(uint64_t number, uint32_t key_bits) {
  const uint64_t mask = width_mask(key_bits);
  return number < 2 ? mask - number : number * 0x9E3779B97F4A7C15u & mask >> 1;
}

History batch_of(const Load &load, uint32_t key_bits, const Rules &rules, uint64_t *offers, Random *random) {
  // the share of each kind changes from batch to batch: keys come and go, or stay and change
  const uint64_t finds = 1 + random->below(4), erases = 1 + random->below(4), inserts = 1 + random->below(4);
  const uint64_t replaces = random->below(4), all = finds + erases + inserts + replaces;
  History batch(load.items);
  for (Operation &operation : batch) {
    const uint64_t what = random->below(all);
    operation = {};
    operation.asks = what < finds                      ? TSR_OP_FIND
                     : what < finds + erases           ? TSR_OP_ERASE
                     : what < finds + erases + inserts ? TSR_OP_INSERT
                                                       : TSR_OP_REPLACE;
    operation.key = key_of(random->below(load.keys), key_bits);
    // an odd multiple: no value comes twice, and they are in no order
    operation.offered = ++*offers * 0x9E3779B97F4A7C15u & width_mask(rules.value_bits);
  }
  return batch;
}

} // namespace

Records &Records::operator+=(const Records &other) {
  if (complaint.empty()) complaint = other.complaint;
  operations += other.operations;
  keys += other.keys;
  undecided += other.undecided;
  not_placed += other.not_placed;
  most_overlapping = std::max(most_overlapping, other.most_overlapping);
  return *this;
}

Records record(Recordable *table, uint32_t key_bits, const Rules &rules, const Load &load, Random *random) {
  Records records;
  Contents before, after;
  uint64_t offers = 0;
  records.complaint = table->contents(&before);
  for (uint64_t i = 0; i < load.histories && records.complaint.empty(); i++, before = after) {
    History history;
    for (uint64_t b = 0; b < load.batches && records.complaint.empty(); b++) {
      History batch = batch_of(load, key_bits, rules, &offers, random);
      records.complaint = table->apply(&batch);
      history.insert(history.end(), batch.begin(), batch.end());
    }
    if (records.complaint.empty()) records.complaint = table->contents(&after);
    if (!records.complaint.empty()) break;
    Rules own = rules;
    own.resolution = std::max(rules.resolution, resolution_of(history));
    Verdict verdict = check(history, own, before, &after);
    records.operations += history.size();
    records.keys += verdict.keys;
    records.undecided += verdict.undecided;
    records.most_overlapping = std::max(records.most_overlapping, verdict.most_overlapping);
    for (const Operation &operation : history) records.not_placed += operation.result == TSR_NOT_PLACED;
    if (verdict.wrong)
      records.complaint =
          "history " + std::to_string(i) + " of key " + std::to_string(verdict.key) + ":\n" + verdict.why;
  }
  return records;
}

} // namespace tessera_test
