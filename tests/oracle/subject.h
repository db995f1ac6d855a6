// SPDX-License-Identifier: Apache-2.0
//
// A table as the oracle sees it, and the first kind: a tsr_table behind the public API. Every function returns a
// complaint or "". Read next: exercise.h (random operations), ../conformance/lanes.h (the second kind).
#ifndef TSR_TESTS_SUBJECT_H
#define TSR_TESTS_SUBJECT_H

#include <string>
#include <vector>

#include "core/tessera.h"
#include "core/tessera_tools.h"
#include "tests/oracle/arrays.h"
#include "tests/oracle/oracle.h"

namespace tessera_test {

class Subject {
public:
  // key_bits: of a number that stands for a key, at most 64.
  Subject(uint32_t key_bits, uint32_t value_bits) : key_bits(key_bits > 64 ? 64 : key_bits), value_bits(value_bits) {}
  virtual ~Subject() = default;
  virtual std::string insert(Batch &batch) = 0;
  virtual std::string find_or_insert(Batch &batch, uint64_t missing) = 0;
  virtual std::string find(Batch &batch, uint64_t missing) = 0;
  virtual std::string contains(Batch &batch) = 0;
  // batch.counts: a number a key, or (find_all) n + 1 places in batch.values, which has room for `room` of them
  virtual std::string count_all(Batch &batch) = 0;
  virtual std::string find_all(Batch &batch, uint64_t room) = 0;
  virtual std::string erase(Batch &batch) = 0;
  virtual std::string erase_pairs(Batch &batch) = 0;
  // Operations of all kinds in one call; batch.obtained is what finds found. For tables of concurrency = mixed.
  virtual std::string apply(const std::vector<uint8_t> &operations, Batch &batch, uint64_t missing) = 0;
  virtual std::string clear() = 0;
  virtual std::string size(uint64_t *size) = 0;
  virtual std::string exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) = 0;
  virtual std::string check() { return ""; } // whatever else the subject knows to be wrong

  const uint32_t key_bits, value_bits;

protected:
  // Where no pair is handed back nothing may be written: these bytes must still be there.
  static constexpr uint64_t canary = 0xA5A5A5A5A5A5A5A5u;

  std::string check_back(const Batch &batch) const {
    for (size_t i = 0; i < batch.keys.size(); i++)
      if (batch.codes[i] != TSR_NOT_PLACED && batch.codes[i] != TSR_EVICTED &&
          (batch.back_keys[i] != (canary >> (64 - key_bits)) ||
           (value_bits && batch.back_values[i] != (canary >> (64 - value_bits)))))
        return "insert wrote a unplaced pair at index " + std::to_string(i) + ", which has another code";
    return "";
  }
};

// The functions of the public API that a Table calls; a test may put others of the same meaning in their place.
struct Calls {
  decltype(&tsr_insert) insert = tsr_insert;
  decltype(&tsr_find_or_insert) find_or_insert = tsr_find_or_insert;
  decltype(&tsr_find) find = tsr_find;
  decltype(&tsr_contains) contains = tsr_contains;
  decltype(&tsr_count_all) count_all = tsr_count_all;
  decltype(&tsr_find_all) find_all = tsr_find_all;
  decltype(&tsr_erase) erase = tsr_erase;
  decltype(&tsr_erase_pairs) erase_pairs = tsr_erase_pairs;
  decltype(&tsr_apply) apply = tsr_apply;
};

class Table : public Subject {
public:
  // Takes over the table. item_bits: of a value, where that is wider than the numbers that stand for it.
  Table(tsr_table *table, uint32_t key_bits, uint32_t value_bits, uint32_t item_bits = 0, const Calls &calls = Calls())
      : Subject(key_bits, value_bits), calls_(calls), table_(table), key_item_bits_(key_bits),
        item_bits_(item_bits ? item_bits : value_bits) {}
  ~Table() override { tsr_table_destroy(table_); }
  Table(const Table &) = delete;

  tsr_table *get() { return table_; }
  // Gives it back.
  tsr_table *release() {
    tsr_table *table = table_;
    table_ = nullptr;
    return table;
  }

  // Puts another table with the same pairs in this one's place: one that was saved and loaded, whose counters start anew.
  void replace(tsr_table *table) {
    tsr_table_destroy(table_);
    table_ = table;
    expected_ = {};
  }

  std::string insert(Batch &batch) override {
    return inserting(batch, [&](uint64_t n, void *keys, void *values, tsr_call *call) {
      return calls_.insert(table_, n, keys, values, call, &error_);
    });
  }

  std::string find_or_insert(Batch &batch, uint64_t missing) override {
    Array obtained(item_bits_, batch.keys.size());
    std::string complaint = inserting(batch, [&](uint64_t n, void *keys, void *values, tsr_call *call) {
      call->missing = missing;
      return calls_.find_or_insert(table_, n, keys, values, obtained.data(), call, &error_);
    });
    batch.obtained = obtained.numbers(batch.keys.size());
    return complaint;
  }

  std::string find(Batch &batch, uint64_t missing) override {
    size_t n = batch.keys.size();
    Keys keys(key_item_bits_, batch.keys);
    Array values(item_bits_, n);
    batch.codes.assign(n, 255);
    tsr_call call = {};
    const bool by_presence = asks_for_presence();
    (by_presence ? call.present : call.results) = batch.codes.data();
    call.missing = missing;
    if (calls_.find(table_, n, keys.data(), values.data(), &call, &error_)) return error_.message;
    if (by_presence) name_codes(batch, TSR_FOUND);
    batch.values = values.numbers(n);
    expected_.find_keys += n;
    expected_.found += count(batch, TSR_FOUND);
    return "";
  }

  std::string contains(Batch &batch) override {
    size_t n = batch.keys.size();
    Keys keys(key_item_bits_, batch.keys);
    batch.codes.assign(n, 255);
    if (calls_.contains(table_, n, keys.data(), batch.codes.data(), nullptr, &error_)) return error_.message;
    expected_.find_keys += n;
    expected_.found += count(batch, 1);
    return "";
  }

  std::string count_all(Batch &batch) override {
    size_t n = batch.keys.size();
    Keys keys(key_item_bits_, batch.keys);
    batch.codes.assign(n, 255);
    batch.counts.assign(n, canary);
    tsr_call call = {};
    call.results = batch.codes.data();
    if (calls_.count_all(table_, n, keys.data(), batch.counts.data(), &call, &error_)) return error_.message;
    expected_.find_keys += n;
    expected_.found += count(batch, TSR_FOUND);
    return "";
  }

  std::string find_all(Batch &batch, uint64_t room) override {
    size_t n = batch.keys.size();
    Keys keys(key_item_bits_, batch.keys);
    Array values(item_bits_, std::vector<uint64_t>(room + 1, canary));
    batch.codes.assign(n, 255);
    batch.counts.assign(n + 1, canary);
    tsr_call call = {};
    call.results = batch.codes.data();
    if (calls_.find_all(table_, n, keys.data(), batch.counts.data(), room, room ? values.data() : nullptr, &call,
                        &error_))
      return error_.message;
    batch.values = values.numbers(room + 1);
    if (batch.values[room] != canary >> (64 - value_bits)) return "find_all wrote beyond the room that it was given";
    batch.values.resize(room);
    expected_.find_keys += n;
    expected_.found += count(batch, TSR_FOUND);
    return "";
  }

  std::string erase(Batch &batch) override {
    return erasing(
        batch, [&](uint64_t n, void *keys, tsr_call *call) { return calls_.erase(table_, n, keys, call, &error_); });
  }

  std::string erase_pairs(Batch &batch) override {
    Array values(item_bits_, batch.values);
    return erasing(batch, [&](uint64_t n, void *keys, tsr_call *call) {
      return calls_.erase_pairs(table_, n, keys, values.data(), call, &error_);
    });
  }

  std::string apply(const std::vector<uint8_t> &operations, Batch &batch, uint64_t missing) override {
    std::vector<uint64_t> counts(TSR_OP_FIND + 1);
    for (uint8_t operation : operations) counts[operation]++;
    uint64_t before = 0, after = 0;
    Array found(item_bits_, batch.keys.size());
    if (tsr_size(table_, &before, &error_)) return error_.message;
    std::string complaint = inserting(batch, [&](uint64_t n, void *keys, void *values, tsr_call *call) {
      call->missing = missing;
      return calls_.apply(table_, n, operations.data(), keys, values, found.data(), call, &error_);
    });
    if (!complaint.empty()) return complaint;
    if (tsr_size(table_, &after, &error_)) return error_.message;
    batch.obtained = found.numbers(batch.keys.size());
    expected_.insert_keys -= counts[TSR_OP_ERASE] + counts[TSR_OP_FIND];
    expected_.erase_keys += counts[TSR_OP_ERASE];
    expected_.erased += before + count(batch, TSR_INSERTED) - after;
    expected_.find_keys += counts[TSR_OP_FIND];
    expected_.found += count(batch, TSR_FOUND);
    return "";
  }

  std::string clear() override { return tsr_clear(table_, nullptr, &error_) ? error_.message : ""; }

  std::string size(uint64_t *size) override { return tsr_size(table_, size, &error_) ? error_.message : ""; }

  std::string exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) override {
    uint64_t room, size;
    if (tsr_size(table_, &room, &error_)) return error_.message;
    Keys key_array(key_item_bits_, room);
    Array value_array(item_bits_, room);
    if (tsr_export(table_, room, key_array.data(), value_array.data(), &size, &error_)) return error_.message;
    *keys = key_array.numbers(size);
    *values = value_array.numbers(size);
    return size == room ? "" : "size and export differ";
  }

  // The report must add up to the codes.
  std::string check() override {
    tsr_report r = {};
    if (tsr_table_report(table_, &r, &error_)) return error_.message;
    auto wrong = [](const char *what, uint64_t got, uint64_t expected) {
      return "the report says " + std::string(what) + " = " + std::to_string(got) + ", the codes " +
             std::to_string(expected);
    };
    if (r.insert_keys != expected_.insert_keys) return wrong("insert_keys", r.insert_keys, expected_.insert_keys);
    if (r.inserted != expected_.inserted) return wrong("inserted", r.inserted, expected_.inserted);
    if (r.not_placed != expected_.not_placed) return wrong("not_placed", r.not_placed, expected_.not_placed);
    if (r.find_keys != expected_.find_keys) return wrong("find_keys", r.find_keys, expected_.find_keys);
    if (r.found != expected_.found) return wrong("found", r.found, expected_.found);
    if (r.erase_keys != expected_.erase_keys) return wrong("erase_keys", r.erase_keys, expected_.erase_keys);
    if (r.erased != expected_.erased) return wrong("erased", r.erased, expected_.erased);
    return "";
  }

private:
  // Of a filter, which has no size: the number of its fingerprints.
  tsr_status held(uint64_t *size) {
    tsr_filter_info info = {};
    const tsr_status status = tsr_size(table_, size, &error_);
    if (status != TSR_UNSUPPORTED || tsr_filter_describe(table_, &info, &error_)) return status;
    *size = static_cast<uint64_t>(info.keys);
    return TSR_OK;
  }

  // insert, find_or_insert and apply: what they share
  template <class Operation>
  std::string inserting(Batch &batch, Operation operation) {
    size_t n = batch.keys.size();
    std::vector<uint64_t> canaries(n, canary);
    Keys keys(key_item_bits_, batch.keys);
    Array values(item_bits_, batch.values);
    Keys back_keys(key_item_bits_, canaries);
    Array back_values(item_bits_, canaries);
    batch.codes.assign(n, 255);
    tsr_call call = {};
    call.results = batch.codes.data();
    call.unplaced_keys = back_keys.data();
    call.unplaced_values = back_values.data();
    void *offered = batch.values.empty() ? nullptr : values.data(); // none: of a counter
    if (operation(n, keys.data(), offered, &call)) return error_.message;
    batch.back_keys = back_keys.numbers(n);
    batch.back_values = back_values.numbers(n);
    expected_.insert_keys += n;
    expected_.inserted += count(batch, TSR_INSERTED) + count(batch, TSR_EVICTED);
    expected_.not_placed += count(batch, TSR_NOT_PLACED);
    return check_back(batch);
  }

  // erase or erase_pairs; the report counts pairs, of which a code may stand for several
  template <class Operation>
  std::string erasing(Batch &batch, Operation operation) {
    size_t n = batch.keys.size();
    uint64_t before = 0, after = 0;
    Keys keys(key_item_bits_, batch.keys);
    batch.codes.assign(n, 255);
    tsr_call call = {};
    const bool by_presence = asks_for_presence();
    (by_presence ? call.present : call.results) = batch.codes.data();
    if (held(&before)) return error_.message;
    if (operation(n, keys.data(), &call)) return error_.message;
    if (by_presence) name_codes(batch, TSR_ERASED);
    if (held(&after)) return error_.message;
    expected_.erase_keys += n;
    expected_.erased += before - after;
    return count(batch, TSR_ERASED) <= before - after ? "" : "more erases were reported than pairs have gone";
  }

  // Every other call asks for 1 and 0 in place of codes, which must say the same.
  bool asks_for_presence() { return asked_++ % 2; }
  static void name_codes(Batch &batch, uint8_t code) {
    for (uint8_t &told : batch.codes) told = told == 1 ? code : told == 0 ? static_cast<uint8_t>(TSR_MISSING) : 254;
  }

  static uint64_t count(const Batch &batch, uint8_t code) {
    return static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), code));
  }

  const Calls calls_;
  tsr_table *table_;
  uint32_t key_item_bits_, item_bits_;
  tsr_report expected_ = {};
  uint64_t asked_ = 0;
  tsr_error error_ = {};
};

} // namespace tessera_test

#endif
