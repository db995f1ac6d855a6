// SPDX-License-Identifier: Apache-2.0
//
// Random operations on a table, each judged by the oracle. Keys come from a pool about twice as large as the table, so
// that it fills, overflows and empties again; the pool holds the keys whose bits mark empty and erased slots.
#ifndef TSR_TESTS_EXERCISE_H
#define TSR_TESTS_EXERCISE_H

#include <string>
#include <unordered_set>
#include <vector>

#include "tests/oracle/oracle.h"
#include "tests/oracle/random.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

// Bit patterns that a part could confuse with a marker, a cleared word or a sign.
inline std::vector<uint64_t> awkward_numbers(uint32_t bits) {
  uint64_t all = width_mask(bits);
  return {0, 1, all, all - 1, all - 2, all >> 1, (all >> 1) + 1, all & 0x5555555555555555u, all ^ (all >> 8)};
}

class Exercise {
public:
  struct Options {
    uint64_t slots = 256;           // of the table
    uint64_t capacity = UINT64_MAX; // of the table: what it takes whatever its slots
    uint64_t operations = 60;
    uint64_t batch_max = 96;  // keys of a batch
    bool mixes = false;       // operations of all kinds in one call as well: the table's concurrency is mixed
    bool erases_pairs = true; // where every pair is kept; tables whose values are in buckets refuse it
    uint64_t pool = 0;        // distinct keys, or (all pairs kept) pairs; 0: twice as many as slots
  };

  Exercise(Subject &subject, uint32_t policy, Random &random, const Options &options)
      : subject_(subject), oracle_(policy, subject.value_bits), random_(random), options_(options),
        unique_(policy == TSR_DUPLICATES_PROMISE_UNIQUE) {
    std::unordered_set<uint64_t> pool;
    for (uint64_t key : awkward_numbers(subject.key_bits)) pool.insert(key);
    uint64_t pairs = options.pool ? options.pool : 2 * options.slots + 16;
    while (pool.size() < (oracle_.keeps_all() ? pairs / 6 : pairs)) // where every pair is kept: several of a key
      pool.insert(random.bits(subject.key_bits));
    pool_.assign(pool.begin(), pool.end());
    std::sort(pool_.begin(), pool_.end()); // the order of a hash set is no function of the seed
  }

  // Returns the first complaint, or "".
  std::string run() {
    std::string complaint;
    for (uint64_t i = 0; i < options_.operations && complaint.empty(); i++) {
      uint64_t what = random_.below(100);
      // filling and emptying take turns, so that full and nearly empty tables are both common
      uint64_t inserts = (i / 12) % 2 == 0 ? 60 : 25;
      if (options_.mixes && random_.chance(4))
        complaint = named("apply", apply());
      else if (what < inserts)
        complaint = named("insert", insert());
      else if (what < 75)
        complaint = named("erase", erase());
      else if (what < 85 && subject_.value_bits)
        complaint = named("find", find());
      else if (what < 95)
        complaint = named("contains", contains());
      else if (what < 99)
        complaint = named("look", look());
      else
        complaint = named("clear", clear());
      if (!complaint.empty()) return "operation " + std::to_string(i) + ": " + complaint;
    }
    return named("the last look", look());
  }

  // More keys than slots: something must be handed back, nothing may be lost.
  std::string overfill() {
    std::string complaint = clear();
    const size_t most = std::max<size_t>(pool_.size(), 2 * options_.slots + 16);
    for (size_t from = 0; from < most && complaint.empty(); from += options_.batch_max) {
      Batch batch;
      for (size_t i = from; i < most && i < from + options_.batch_max; i++) add(&batch, pool_[i % pool_.size()]);
      complaint = subject_.insert(batch);
      if (complaint.empty()) complaint = oracle_.insert(batch);
    }
    if (!complaint.empty()) return complaint;
    if (oracle_.handed_back() == 0) return "twice as many keys as slots, and none was handed back";
    if (oracle_.size() + 2 < std::min(options_.slots / 4, options_.capacity))
      return "less than a quarter of the slots were used before keys were refused";
    return look();
  }

  const Oracle &oracle() const { return oracle_; }

private:
  static std::string named(const char *what, const std::string &complaint) {
    return complaint.empty() ? "" : std::string(what) + ": " + complaint;
  }

  uint64_t some_key() {
    if (random_.chance(40)) { // a key from nowhere
      return random_.bits(subject_.key_bits);
    }
    return pool_[random_.below(pool_.size())];
  }

  uint64_t some_value() {
    if (oracle_.counts() && !random_.chance(8)) return random_.below(40); // few counts stop
    uint64_t value = random_.bits(subject_.value_bits);
    if (random_.chance(8)) {
      auto awkward = awkward_numbers(subject_.value_bits ? subject_.value_bits : 32);
      value = awkward[random_.below(awkward.size())];
    }
    return value & width_mask(subject_.value_bits);
  }

  void add(Batch *batch, uint64_t key) {
    batch->keys.push_back(key);
    batch->values.push_back(some_value());
  }

  uint64_t batch_size() {
    if (random_.chance(4)) return 1;
    return 1 + random_.below(options_.batch_max);
  }

  Batch some_keys() {
    Batch batch;
    for (uint64_t n = batch_size(); n > 0; n--)
      batch.keys.push_back(!batch.keys.empty() && random_.chance(8) ? batch.keys[random_.below(batch.keys.size())]
                                                                    : some_key());
    return batch;
  }

  std::string insert() {
    Batch batch;
    for (uint64_t key : some_keys().keys) add(&batch, key);
    if (oracle_.keeps_all() && options_.pool) { // what bounds the pairs of other tables
      batch.keys.resize(std::min<size_t>(batch.keys.size(), options_.pool - std::min(options_.pool, oracle_.size())));
      batch.values.resize(batch.keys.size());
    }
    if (unique_) { // the caller's promise: new, distinct keys
      std::unordered_set<uint64_t> taken;
      Batch kept;
      for (size_t i = 0; i < batch.keys.size(); i++)
        if (!oracle_.has(batch.keys[i]) && taken.insert(batch.keys[i]).second) add(&kept, batch.keys[i]);
      batch = kept;
    }
    if (oracle_.counts() && random_.chance(2)) batch.values.clear(); // each once
    if (!unique_ && !oracle_.keeps_all() && !oracle_.counts() && random_.chance(4)) {
      uint64_t missing = random_.next();
      std::string complaint = subject_.find_or_insert(batch, missing);
      return complaint.empty() ? oracle_.find_or_insert(batch, missing) : "find or " + complaint;
    }
    std::string complaint = subject_.insert(batch);
    return complaint.empty() ? oracle_.insert(batch) : complaint;
  }

  std::string erase() {
    Batch batch = some_keys();
    if (subject_.value_bits && oracle_.keeps_all() && options_.erases_pairs && random_.chance(2)) return erase_pairs();
    std::string complaint = subject_.erase(batch);
    return complaint.empty() ? oracle_.erase(batch) : complaint;
  }

  // Pairs of the table, some of them twice, and others.
  std::string erase_pairs() {
    Batch batch;
    std::vector<uint64_t> keys, values;
    std::string complaint = subject_.exported(&keys, &values);
    if (!complaint.empty()) return complaint;
    for (uint64_t n = batch_size(); n > 0; n--)
      if (keys.empty() || random_.chance(4)) {
        add(&batch, some_key());
      } else {
        size_t i = random_.below(keys.size());
        batch.keys.push_back(keys[i]);
        batch.values.push_back(values[i]);
      }
    complaint = subject_.erase_pairs(batch);
    return complaint.empty() ? oracle_.erase_pairs(batch) : complaint;
  }

  // Of distinct keys, for which the order of the operations does not matter.
  std::string apply() {
    Batch batch;
    std::vector<uint8_t> operations;
    std::unordered_set<uint64_t> taken;
    for (uint64_t key : some_keys().keys) {
      uint8_t operation = static_cast<uint8_t>(random_.below(TSR_OP_FIND + 1));
      if (operation == TSR_OP_REPLACE && (unique_ || oracle_.keeps_all())) operation = TSR_OP_INSERT;
      if (operation == TSR_OP_INSERT && unique_ && oracle_.has(key)) operation = TSR_OP_FIND;
      if (operation == TSR_OP_INSERT && options_.pool && oracle_.size() >= options_.pool) operation = TSR_OP_ERASE;
      if (!taken.insert(key).second) continue;
      add(&batch, key);
      operations.push_back(operation);
    }
    uint64_t missing = random_.next();
    std::string complaint = subject_.apply(operations, batch, missing);
    Batch parts[TSR_OP_FIND + 1];
    for (size_t i = 0; i < operations.size(); i++) {
      Batch &part = parts[operations[i]];
      part.keys.push_back(batch.keys[i]);
      part.values.push_back(operations[i] == TSR_OP_FIND && subject_.value_bits ? batch.obtained[i] : batch.values[i]);
      part.codes.push_back(batch.codes[i]);
      if (batch.back_keys.empty()) continue;
      part.back_keys.push_back(batch.back_keys[i]);
      part.back_values.push_back(batch.back_values[i]);
    }
    if (!subject_.value_bits)
      for (uint8_t &code : parts[TSR_OP_FIND].codes) code = code == TSR_FOUND;
    if (complaint.empty()) complaint = oracle_.insert(parts[TSR_OP_INSERT]);
    if (complaint.empty()) complaint = oracle_.replace(parts[TSR_OP_REPLACE]);
    if (complaint.empty()) complaint = oracle_.erase(parts[TSR_OP_ERASE]);
    if (complaint.empty())
      complaint =
          subject_.value_bits ? oracle_.find(parts[TSR_OP_FIND], missing) : oracle_.contains(parts[TSR_OP_FIND]);
    return complaint;
  }

  // First how many there are, then with room for all of them or not.
  std::string find_all() {
    Batch batch = some_keys();
    std::string complaint = subject_.find_all(batch, 0);
    if (complaint.empty()) complaint = oracle_.find_all(batch);
    if (!complaint.empty()) return "asking for room: " + complaint;
    uint64_t room = batch.counts.back() + random_.below(3);
    if (random_.chance(4)) room = random_.below(room + 1);
    complaint = subject_.find_all(batch, room);
    return complaint.empty() ? oracle_.find_all(batch) : complaint;
  }

  std::string count_all() {
    Batch batch = some_keys();
    std::string complaint = subject_.count_all(batch);
    return complaint.empty() ? oracle_.count_all(batch) : complaint;
  }

  std::string find() {
    Batch batch = some_keys();
    if (random_.chance(oracle_.keeps_all() ? 2 : 6)) return find_all();
    uint64_t missing = random_.next();
    std::string complaint = subject_.find(batch, missing);
    return complaint.empty() ? oracle_.find(batch, missing) : complaint;
  }

  std::string contains() {
    Batch batch = some_keys();
    if (random_.chance(oracle_.keeps_all() ? 2 : 6)) return count_all();
    std::string complaint = subject_.contains(batch);
    return complaint.empty() ? oracle_.contains(batch) : complaint;
  }

  std::string clear() {
    oracle_.clear();
    std::string complaint = subject_.clear();
    return complaint.empty() ? look() : complaint;
  }

  // Everything at once: size, export, every key of the pool.
  std::string look() {
    uint64_t size;
    std::vector<uint64_t> keys, values;
    std::string complaint = subject_.size(&size);
    if (!complaint.empty()) return complaint;
    if (size != oracle_.size())
      return "the table holds " + std::to_string(size) + " pairs, expected " + std::to_string(oracle_.size());
    complaint = subject_.exported(&keys, &values);
    if (complaint.empty()) complaint = oracle_.exported(keys, values);
    Batch every;
    every.keys = pool_;
    if (complaint.empty()) complaint = subject_.contains(every);
    if (complaint.empty()) complaint = oracle_.contains(every);
    if (complaint.empty() && subject_.value_bits) complaint = subject_.find(every, 77);
    if (complaint.empty() && subject_.value_bits) complaint = oracle_.find(every, 77);
    if (complaint.empty() && oracle_.keeps_all()) complaint = subject_.count_all(every);
    if (complaint.empty() && oracle_.keeps_all()) complaint = oracle_.count_all(every);
    return complaint.empty() ? subject_.check() : complaint;
  }

  Subject &subject_;
  Oracle oracle_;
  Random &random_;
  Options options_;
  bool unique_;
  std::vector<uint64_t> pool_;
};

} // namespace tessera_test

#endif
