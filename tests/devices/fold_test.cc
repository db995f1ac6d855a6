// SPDX-License-Identifier: Apache-2.0
//
// Items of one key become one before they travel: values, results, reports and pairs that come back are those of a table
// that sends every item. Batches are longer than a span (core/batch/fold.h), so that keys repeat within spans and between
// them. Random operations in short batches: shards_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/tessera_devices.h"
#include "tests/devices/tables.h"
#include "tests/oracle/draw.h"

namespace {

using namespace tessera_test;

enum class Which { equal, zipf, distinct, reserved };

struct Case {
  Made made;
  unsigned devices;
  Which keys;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  static const char *const names[] = {"equal", "zipf", "distinct", "reserved"};
  return out << c.made.words << "\ndevices=" << c.devices << "\n" << names[static_cast<int>(c.keys)];
}

std::vector<Made> foldable() {
  const std::string moves = " layout=packed probing=cuckoo hasher=murmur3 ";
  const std::string stays = " layout=soa probing=double_hashing hasher=murmur3 ";
  return of_width({{"kind=map key_bits=32 value_bits=32 duplicates=add" + moves, 32, 32, TSR_DUPLICATES_ADD},
                   {"kind=map key_bits=64 value_bits=64 duplicates=add" + stays, 64, 64, TSR_DUPLICATES_ADD},
                   {"kind=map key_bits=64 value_bits=32 duplicates=min" + stays, 64, 32, TSR_DUPLICATES_MIN},
                   {"kind=map key_bits=32 value_bits=64 duplicates=max" + moves, 32, 64, TSR_DUPLICATES_MAX},
                   {"kind=map key_bits=32 value_bits=32 duplicates=first" + stays, 32, 32, TSR_DUPLICATES_FIRST},
                   {"kind=map key_bits=32 value_bits=32 duplicates=replace" + stays, 32, 32, TSR_DUPLICATES_REPLACE},
                   {"kind=set key_bits=64" + moves, 64, 0, TSR_DUPLICATES_FIRST},
                   {"kind=counter key_bits=32 value_bits=32" + stays, 32, 32, TSR_DUPLICATES_COUNT},
                   {"kind=counter key_bits=64 value_bits=64" + moves, 64, 64, TSR_DUPLICATES_COUNT},
                   {"kind=counter key_bits=32 value_bits=8" + stays, 32, 32, TSR_DUPLICATES_COUNT_8},
                   {"kind=counter key_bits=128 value_bits=32" + stays, 128, 32, TSR_DUPLICATES_COUNT},
                   {"kind=map key_bits=128 value_bits=64 duplicates=add" + stays, 128, 64, TSR_DUPLICATES_ADD},
                   {"kind=set key_bits=128" + moves, 128, 0, TSR_DUPLICATES_FIRST}});
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Made &made : foldable())
    for (unsigned devices : {1u, 3u})
      for (Which keys : {Which::equal, Which::zipf, Which::distinct, Which::reserved})
        all.push_back({made, devices, keys});
  return covering(all, [](const Case &c) -> Options {
    return {c.made.words, std::to_string(c.devices), std::to_string(static_cast<int>(c.keys))};
  });
}

std::vector<uint64_t> keys_of(Which kind, uint64_t n, uint32_t bits, Random &random) {
  std::vector<uint64_t> keys(n);
  const uint64_t all = width_mask(bits);
  for (uint64_t i = 0; i < n; i++) {
    const double share = static_cast<double>(random.below(1u << 30)) / (1u << 30);
    keys[i] = kind == Which::equal      ? 7
              : kind == Which::zipf     ? static_cast<uint64_t>(std::exp(share * std::log(20000.0)))
              : kind == Which::distinct ? i * 2654435761u % all
                                        : all - random.below(4);
  }
  return keys;
}

// A batch, and what an insert of it says.
struct Inserted {
  std::vector<uint64_t> keys, values;
  std::vector<uint8_t> codes;
  std::vector<uint64_t> back_keys, back_values;
  tsr_report report;
};

class Fold : public testing::TestWithParam<Case> {
protected:
  Fold() : made(GetParam().made), random(11), counts(TSR_POLICY_COUNTS(made.policy)) {}

  tsr_table *table(uint64_t capacity, const char *combine, const std::string &words = "") {
    return table_of(made.words + words + " capacity=" + std::to_string(capacity) + " devices.combine=" + combine +
                    " devices.chunk=30000 devices=" + numbers(GetParam().devices));
  }

  // For batches of several spans: a key without a place has seen 20 buckets, and not all of them.
  tsr_table *too_small() {
    const bool moves = made.words.find("cuckoo") != std::string::npos;
    return table(3000, "always", moves ? "" : " probing.max_probes=20");
  }

  Inserted batch(uint64_t n) {
    Inserted b = {};
    b.keys = keys_of(GetParam().keys, n, made.key_bits, random);
    for (uint64_t i = 0; i < n; i++) b.values.push_back(random.below(1000) + 1);
    return b;
  }

  void insert(tsr_table *t, Inserted *b, bool asks, bool has_values = true) {
    const size_t n = b->keys.size();
    Keys keys(made.key_bits, b->keys), back(made.key_bits, n);
    Array values(made.value_bits, b->values), back_values(made.value_bits, n);
    tsr_error error = {};
    tsr_call call = {};
    call.size = sizeof call;
    b->codes.assign(n, 0);
    if (asks) {
      call.results = b->codes.data();
      call.unplaced_keys = back.data();
      call.unplaced_values = made.value_bits ? back_values.data() : nullptr;
    }
    ASSERT_EQ(tsr_insert(t, n, keys.data(), has_values ? values.data() : nullptr, &call, &error), TSR_OK)
        << error.message;
    b->back_keys = back.numbers(n);
    b->back_values = back_values.numbers(n);
    b->report = report_of(t);
  }

  tsr_report report_of(tsr_table *t) {
    tsr_error error = {};
    tsr_report report = {};
    report.size = sizeof report;
    EXPECT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    return report;
  }

  std::map<uint64_t, uint64_t> pairs_of(tsr_table *t) {
    tsr_error error = {};
    uint64_t size = 0, written = 0;
    EXPECT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    Keys keys(made.key_bits, size);
    Array values(made.value_bits, size);
    EXPECT_EQ(tsr_export(t, size, keys.data(), values.data(), &written, &error), TSR_OK) << error.message;
    std::map<uint64_t, uint64_t> pairs;
    const std::vector<uint64_t> k = keys.numbers(size), v = values.numbers(size);
    for (size_t i = 0; i < written; i++) pairs[k[i]] = v[i];
    EXPECT_EQ(pairs.size(), size);
    return pairs;
  }

  uint64_t most() const {
    return made.policy == TSR_DUPLICATES_COUNT_8 ? 255 : made.value_bits == 64 ? ~0ull : 0xFFFFFFFFull;
  }

  // What each key's items offer together; for policies that keep one value: 0.
  std::map<uint64_t, uint64_t> offered(const Inserted &b, bool has_values) const {
    std::map<uint64_t, uint64_t> sums;
    for (size_t i = 0; i < b.keys.size(); i++) {
      const uint64_t value = !has_values ? 1 : b.values[i];
      const auto [at, is_new] = sums.emplace(b.keys[i], counts ? std::min(value, most()) : value);
      if (is_new) continue;
      if (counts || made.policy == TSR_DUPLICATES_ADD) at->second = std::min(at->second + value, most());
      if (made.policy == TSR_DUPLICATES_MIN) at->second = std::min(at->second, value);
      if (made.policy == TSR_DUPLICATES_MAX) at->second = std::max(at->second, value);
    }
    return sums;
  }

  // That the table has what was offered, where all pairs have a place.
  void expect_holds(tsr_table *t, const Inserted &b, bool has_values) {
    const std::map<uint64_t, uint64_t> wanted = offered(b, has_values), held = pairs_of(t);
    ASSERT_EQ(held.size(), wanted.size());
    std::map<uint64_t, std::vector<uint64_t>> values;
    const bool takes_any = made.value_bits && takes_any_of(made.policy);
    for (size_t i = 0; takes_any && i < b.keys.size(); i++) values[b.keys[i]].push_back(b.values[i]);
    for (const auto &[key, value] : held) {
      ASSERT_TRUE(wanted.count(key)) << key;
      if (takes_any) {
        const std::vector<uint64_t> &all = values[key];
        ASSERT_NE(std::find(all.begin(), all.end(), value), all.end()) << "key " << key << " has " << value;
      } else if (made.value_bits) {
        ASSERT_EQ(value, wanted.at(key)) << key;
      }
    }
  }

  static bool takes_any_of(uint32_t policy) {
    return policy == TSR_DUPLICATES_FIRST || policy == TSR_DUPLICATES_REPLACE;
  }

  const Made made;
  Random random;
  const bool counts;
  static constexpr uint64_t several_spans = 36000; // and more than a chunk
};

TEST_P(Fold, ValuesResultsAndReports) {
  TSR_TRACE_SEED;
  for (uint64_t n : {uint64_t{0}, uint64_t{1}, uint64_t{2}, several_spans})
    for (const bool asks : {false, true})
      for (const bool has_values : {true, false}) {
        if (has_values ? made.value_bits == 0 : made.value_bits && !counts) continue;
        tsr_table *t = table(several_spans + 1000, "always");
        Inserted b = batch(n);
        ASSERT_NO_FATAL_FAILURE(insert(t, &b, asks, has_values));
        ASSERT_NO_FATAL_FAILURE(expect_holds(t, b, has_values));
        const std::map<uint64_t, uint64_t> distinct = offered(b, has_values);
        EXPECT_EQ(b.report.insert_keys, n);
        EXPECT_EQ(b.report.inserted, distinct.size());
        EXPECT_EQ(b.report.not_placed, 0u);
        const uint8_t present = made.policy == TSR_DUPLICATES_FIRST     ? TSR_PRESENT
                                : made.policy == TSR_DUPLICATES_REPLACE ? TSR_REPLACED
                                                                        : TSR_COMBINED;
        std::map<uint64_t, uint64_t> inserted;
        for (size_t i = 0; asks && i < n; i++) {
          inserted[b.keys[i]] += b.codes[i] == TSR_INSERTED;
          ASSERT_TRUE(b.codes[i] == TSR_INSERTED || b.codes[i] == present) << i << ": " << int{b.codes[i]};
        }
        for (const auto &[key, times] : inserted) ASSERT_EQ(times, 1u) << key;
        tsr_table_destroy(t);
      }
}

// What comes back is what was offered for it: with what the table has, nothing is lost and nothing appears.
TEST_P(Fold, TooManyKeys) {
  TSR_TRACE_SEED;
  if (GetParam().keys == Which::equal || GetParam().keys == Which::reserved) return;
  tsr_table *t = too_small();
  Inserted b = batch(several_spans);
  ASSERT_NO_FATAL_FAILURE(insert(t, &b, true));
  const std::map<uint64_t, uint64_t> held = pairs_of(t);
  Inserted back = {};
  for (size_t i = 0; i < b.keys.size(); i++)
    if (b.codes[i] == TSR_NOT_PLACED) {
      back.keys.push_back(b.back_keys[i]);
      back.values.push_back(b.back_values[i]);
    }
  EXPECT_GT(back.keys.size(), 0u);
  EXPECT_EQ(b.report.insert_keys, b.keys.size());
  EXPECT_EQ(b.report.not_placed, back.keys.size());
  std::map<uint64_t, uint64_t> found = offered(back, true), wanted = offered(b, true);
  if (made.policy == TSR_DUPLICATES_ADD)
    for (const auto &[key, value] : held) found[key] += value;
  for (const auto &[key, value] : held) found.emplace(key, value);
  ASSERT_EQ(found.size(), wanted.size());
  for (const auto &[key, value] : wanted) {
    ASSERT_TRUE(found.count(key)) << key;
    if (made.policy == TSR_DUPLICATES_ADD) {
      ASSERT_EQ(found[key], value) << key;
    }
  }
  tsr_table_destroy(t);
}

// A report of a call that asks for nothing counts every item without a place, as if it had travelled by itself.
TEST_P(Fold, CountsWhatHasNoPlace) {
  TSR_TRACE_SEED;
  if (GetParam().keys == Which::equal || GetParam().keys == Which::reserved) return;
  if (made.words.find("cuckoo") != std::string::npos) return; // what is evicted depends on the order
  tsr_table *t = too_small();
  Inserted b = batch(several_spans);
  ASSERT_NO_FATAL_FAILURE(insert(t, &b, false));
  const std::map<uint64_t, uint64_t> held = pairs_of(t);
  const uint64_t without = static_cast<uint64_t>(
      std::count_if(b.keys.begin(), b.keys.end(), [&](uint64_t key) { return !held.count(key); }));
  EXPECT_GT(without, 0u);
  EXPECT_EQ(b.report.not_placed, without);
  EXPECT_EQ(b.report.inserted, held.size());
  tsr_table_destroy(t);
}

INSTANTIATE_TEST_SUITE_P(All, Fold, testing::ValuesIn(enough_for_sanitizers(cases())));

// Bytes that the device with the most sent to others, for a batch of these keys.
uint64_t sent(const std::string &words, const std::vector<uint64_t> &keys, uint32_t value_bits) {
  tsr_table *t = table_of(words + " capacity=2^22 devices=" + numbers(3));
  const Array packed(32, keys), values(value_bits, std::vector<uint64_t>(keys.size(), 1));
  Array k = packed, v = values;
  tsr_error error = {};
  tsr_phases phases = {};
  phases.size = sizeof phases;
  EXPECT_EQ(tsr_phases_start(t, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_insert(t, keys.size(), k.data(), value_bits ? v.data() : nullptr, nullptr, &error), TSR_OK)
      << error.message;
  EXPECT_EQ(tsr_phases_stop(t, &phases, &error), TSR_OK) << error.message;
  tsr_table_destroy(t);
  return phases.sent_bytes;
}

// A sample decides: repeated keys travel once per span, distinct ones as they come, and what must not be combined never.
TEST(FoldAuto, ASampleDecides) {
  TSR_TRACE_SEED;
  const uint64_t n = 3 << 20;
  const std::string parts = " key_bits=32 layout=soa probing=double_hashing hasher=murmur3 ";
  Random random(5);
  const std::vector<uint64_t> equal = keys_of(Which::equal, n, 32, random);
  std::vector<uint64_t> distinct(n);
  for (uint64_t i = 0; i < n; i++) distinct[i] = i;
  const std::string add = "kind=map value_bits=32 duplicates=add" + parts;
  const uint64_t all = sent(add + " devices.combine=never", equal, 32);
  EXPECT_EQ(all, n / 3 * 8); // all keys are one shard's, to which two devices send all of theirs
  EXPECT_LT(sent(add, equal, 32), all / 1000);
  if (sanitized) return; // what a sample is worth is not theirs to see: two batches of three million are enough
  EXPECT_LT(sent("kind=counter value_bits=32" + parts, equal, 0), all / 1000);
  EXPECT_LT(sent("kind=set" + parts, equal, 0), all / 1000);
  const uint64_t few = sent(add, distinct, 32);
  EXPECT_GT(few, n / 3 * 8 / 2);
  EXPECT_LT(few, n / 3 * 8 * 3 / 4); // no more than keys and values travel
  if (backend() != "cpu") return;    // lists of 2^21 equal keys
  EXPECT_EQ(
      sent("kind=multiset key_bits=32 layout=packed probing=double_hashing hasher=murmur3 devices.combine=always ",
           std::vector<uint64_t>(900, 7), 0),
      900 / 3 * 4u);
}

// Sums that pass the largest value are counted as often, whoever makes them.
TEST(FoldAuto, OverflowsCount) {
  for (const char *combine : {"always", "never"}) {
    tsr_table *t = table_of("kind=map key_bits=32 value_bits=32 duplicates=add layout=soa probing=double_hashing "
                            "hasher=murmur3 capacity=1000 devices.combine=" +
                            std::string(combine) + " devices=" + numbers(3));
    const uint64_t n = 50000, value = 0xC0000000u;
    Array keys(32, std::vector<uint64_t>(n, 9)), values(32, std::vector<uint64_t>(n, value));
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(t, n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    tsr_report report = {};
    report.size = sizeof report;
    ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    EXPECT_GE(report.overflows, n * value >> 32) << combine;
    if (backend() == "cpu") { /* on a GPU lanes of a warp that insert may count one twice */
      EXPECT_EQ(report.overflows, n * value >> 32) << combine;
    }
    tsr_table_destroy(t);
  }
}

// A value that alone is larger than a count is told of, also where it is cut before it travels.
TEST(FoldAuto, ValuesLargerThanCountsAreTold) {
  for (const char *combine : {"always", "never"}) {
    tsr_table *t =
        table_of("kind=counter key_bits=32 value_bits=8 layout=packed probing=cuckoo hasher=murmur3 capacity=9000 "
                 "devices.combine=" +
                 std::string(combine) + " devices=" + numbers(3));
    const uint64_t n = 5000;
    std::vector<uint64_t> ascending(n), offered(n, 255);
    for (uint64_t i = 0; i < n; i++) ascending[i] = i;
    for (uint64_t i = 0; i < 3; i++) offered[1000 * i] = 256 + i;
    Array keys(32, ascending), values(32, offered);
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(t, n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    tsr_report report = {};
    report.size = sizeof report;
    ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.overflows, 3u) << combine;
    tsr_table_destroy(t);
  }
}

} // namespace
