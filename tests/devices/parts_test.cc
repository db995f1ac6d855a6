// SPDX-License-Identifier: Apache-2.0
//
// Batches whose arrays are split among the devices: every call of the oracle's exercises is cut into parts of unlike
// lengths, some of them empty, each with arrays of its own. They answer as one batch does. Read next: shards_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "core/tessera_devices.h"
#include "tests/devices/tables.h"
#include "tests/oracle/draw.h"

namespace {

using namespace tessera_test;

// The table that the calls below are about, for they get no more than those of the API.
struct Cut {
  unsigned devices;
  uint64_t key_bytes, value_bytes;
  uint64_t turns;
};
Cut cut;

const void *at(const void *array, uint64_t i, uint64_t bytes) {
  return array ? static_cast<const char *>(array) + i * bytes : nullptr;
}
void *at(void *array, uint64_t i, uint64_t bytes) { return array ? static_cast<char *>(array) + i * bytes : nullptr; }

// Where each part begins: none of the items, a few, or most.
std::vector<uint64_t> edges(uint64_t n) {
  std::vector<uint64_t> firsts{0};
  for (unsigned i = 1; i < cut.devices; i++) firsts.push_back((cut.turns++ * 2654435761u) % (n + 1));
  firsts.push_back(n);
  std::sort(firsts.begin(), firsts.end());
  return firsts;
}

tsr_status call_parts(tsr_table *table, uint32_t which, const tsr_batch_part &whole, const tsr_call *call,
                      tsr_error *error) {
  std::vector<uint64_t> first = edges(whole.n);
  std::vector<tsr_batch_part> parts(cut.devices);
  std::vector<tsr_call> calls(cut.devices);
  std::vector<std::vector<uint64_t>> offsets(cut.devices);
  std::vector<std::vector<char>> found(cut.devices);
  const bool finds_all = which == TSR_PREPARE_FIND_ALL;
  for (unsigned i = 0; i < cut.devices; i++) {
    const uint64_t begin = first[i], n = first[i + 1] - begin;
    tsr_batch_part &part = parts[i];
    part.size = sizeof part;
    part.n = n;
    part.keys = at(whole.keys, begin, cut.key_bytes);
    part.values = at(whole.values, begin, cut.value_bytes);
    part.operations = static_cast<const uint8_t *>(at(whole.operations, begin, 1));
    part.found = at(whole.found, begin, cut.value_bytes);
    part.present = static_cast<uint8_t *>(at(whole.present, begin, 1));
    part.counts = static_cast<uint64_t *>(at(whole.counts, begin, 8));
    if (finds_all) {
      offsets[i].resize(n + 1);
      found[i].resize(whole.room * cut.value_bytes + 1);
      part.counts = offsets[i].data();
      part.found = whole.room ? found[i].data() : nullptr;
      part.room = whole.room;
    }
    if (!call) continue;
    calls[i] = *call;
    calls[i].results = static_cast<uint8_t *>(at(call->results, begin, 1));
    calls[i].present = static_cast<uint8_t *>(at(call->present, begin, 1));
    calls[i].unplaced_keys = at(call->unplaced_keys, begin, cut.key_bytes);
    calls[i].unplaced_values = at(call->unplaced_values, begin, cut.value_bytes);
    part.call = &calls[i];
  }
  const tsr_status status = tsr_call_parts(table, which, cut.devices, parts.data(), error);
  if (status || !finds_all) return status;
  uint64_t all = 0; // the parts' values one behind the other, as far as there is room
  for (unsigned i = 0; i < cut.devices; i++) {
    const uint64_t n = parts[i].n, count = offsets[i][n], left = whole.room > all ? whole.room - all : 0;
    for (uint64_t k = 0; k <= n; k++) whole.counts[first[i] + k] = all + offsets[i][k];
    if (whole.room)
      memcpy(at(whole.found, std::min(all, whole.room), cut.value_bytes), found[i].data(),
             std::min(count, left) * cut.value_bytes);
    all += count;
  }
  return status;
}

tsr_batch_part whole_of(uint64_t n, const void *keys) {
  tsr_batch_part whole = {};
  whole.n = n;
  whole.keys = keys;
  return whole;
}

tsr_status insert(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.values = values;
  return call_parts(t, TSR_PREPARE_INSERT, whole, call, e);
}
tsr_status find_or_insert(tsr_table *t, uint64_t n, const void *keys, const void *offered, void *values,
                          const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.values = offered;
  whole.found = values;
  return call_parts(t, TSR_PREPARE_FIND_OR_INSERT, whole, call, e);
}
tsr_status find(tsr_table *t, uint64_t n, const void *keys, void *values, const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.found = values;
  return call_parts(t, TSR_PREPARE_FIND, whole, call, e);
}
tsr_status contains(tsr_table *t, uint64_t n, const void *keys, uint8_t *present, const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.present = present;
  return call_parts(t, TSR_PREPARE_CONTAINS, whole, call, e);
}
tsr_status count_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.counts = counts;
  return call_parts(t, TSR_PREPARE_COUNT_ALL, whole, call, e);
}
tsr_status find_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room, void *values,
                    const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.counts = offsets;
  whole.room = room;
  whole.found = values;
  return call_parts(t, TSR_PREPARE_FIND_ALL, whole, call, e);
}
tsr_status erase(tsr_table *t, uint64_t n, const void *keys, const tsr_call *call, tsr_error *e) {
  return call_parts(t, TSR_PREPARE_ERASE, whole_of(n, keys), call, e);
}
tsr_status erase_pairs(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                       tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.values = values;
  return call_parts(t, TSR_PREPARE_ERASE_PAIRS, whole, call, e);
}
tsr_status apply(tsr_table *t, uint64_t n, const uint8_t *operations, const void *keys, const void *values,
                 void *values_out, const tsr_call *call, tsr_error *e) {
  tsr_batch_part whole = whole_of(n, keys);
  whole.operations = operations;
  whole.values = values;
  whole.found = values_out;
  return call_parts(t, TSR_PREPARE_APPLY, whole, call, e);
}

Calls in_parts() {
  Calls calls;
  calls.insert = insert;
  calls.find_or_insert = find_or_insert;
  calls.find = find;
  calls.contains = contains;
  calls.count_all = count_all;
  calls.find_all = find_all;
  calls.erase = erase;
  calls.erase_pairs = erase_pairs;
  calls.apply = apply;
  return calls;
}

struct Case {
  Made made;
  unsigned devices;
  const char *split;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.made.words << "\ndevices=" << c.devices << "\n" << c.split;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Made &made : kinds())
    for (unsigned devices : {1u, 2u, 3u, 8u})
      for (const char *split : {"hash", "hash devices.exchange=copy", "independent", "replicated"}) {
        if (std::string(split) == "independent" && TSR_POLICY_LOOKS(made.policy)) continue;
        if (std::string(split) != "hash" && devices != 3) continue;
        all.push_back({made, devices, split});
      }
  return covering(all, [](const Case &c) -> Options { return {c.made.words, std::to_string(c.devices), c.split}; });
}

class Parts : public testing::TestWithParam<Case> {};

TEST_P(Parts, RandomOperations) {
  TSR_TRACE_SEED;
  const Case &c = GetParam();
  Random random(5);
  cut = {c.devices, c.made.key_bits / 8, (c.made.row_bits ? c.made.row_bits : c.made.value_bits) / 8, 1};
  Table subject(table_of(c.made.words + " devices=" + numbers(c.devices) + " devices.split=" + c.split +
                         " devices.chunk=256 capacity=1500"),
                c.made.key_bits, c.made.value_bits, c.made.row_bits, in_parts());
  Exercise::Options options;
  options.slots = 1500;
  options.batch_max = 900;
  options.operations = scaled(20, 3);
  options.pool = 1400;
  options.erases_pairs = c.made.row_bits == 0;
  Exercise exercise(subject, c.made.policy, random, options);
  EXPECT_EQ(exercise.run(), "");
}

INSTANTIATE_TEST_SUITE_P(All, Parts, testing::ValuesIn(enough_for_sanitizers(cases())));

const char *const kMixed = "kind=map key_bits=32 value_bits=32 layout=packed probing=double_hashing hasher=murmur3 "
                           "capacity=1500 concurrency=mixed ";

TEST(Mixed, OperationsOfAllKinds) {
  TSR_TRACE_SEED;
  Random random(6);
  cut = {3, 4, 4, 1};
  Table subject(table_of(kMixed + ("devices.chunk=256 devices=" + numbers(3))), 32, 32, 0, in_parts());
  Exercise::Options options;
  options.slots = 1500;
  options.batch_max = 900;
  options.operations = scaled(40, 3);
  options.pool = 1400;
  options.mixes = true;
  Exercise exercise(subject, TSR_DUPLICATES_FIRST, random, options);
  EXPECT_EQ(exercise.run(), "");
}

// Each part in the memory of its own device, and how the phases are told of.
TEST(Memory, OfEachDevice) {
  const uint64_t n = 1000;
  tsr_error error = {};
  tsr_table *table = table_of("kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 "
                              "capacity=4000 devices.chunk=512 devices=" +
                              numbers(2));
  std::vector<tsr_batch_part> parts(2);
  for (uint32_t i = 0; i < 2; i++) {
    std::vector<uint32_t> keys(n), values(n);
    for (uint32_t k = 0; k < n; k++) keys[k] = (i * 5000 + k) * 7, values[k] = keys[k] + i;
    void *memory[3];
    for (void *&one : memory) ASSERT_EQ(tsr_memory_allocate_on(table, i, n * 4, &one, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_memory_copy(table, memory[0], keys.data(), n * 4, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_memory_copy(table, memory[1], values.data(), n * 4, &error), TSR_OK) << error.message;
    parts[i].size = sizeof parts[i];
    parts[i].n = n;
    parts[i].keys = memory[0];
    parts[i].values = memory[1];
    parts[i].found = memory[2];
  }
  ASSERT_EQ(tsr_phases_start(table, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 2, parts.data(), &error), TSR_OK) << error.message;
  tsr_phases inserted = {}, found = {};
  ASSERT_EQ(tsr_phases_stop(table, &inserted, &error), TSR_OK) << error.message;
  EXPECT_GT(inserted.sent_bytes, n * 8 / 4); // about half of each part's pairs
  EXPECT_LT(inserted.sent_bytes, n * 8 * 3 / 4);
  EXPECT_GT(inserted.work_ms, 0);
  EXPECT_EQ(inserted.answer_ms, 0);
  ASSERT_EQ(tsr_phases_start(table, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_call_parts(table, TSR_PREPARE_FIND, 2, parts.data(), &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_phases_stop(table, &found, &error), TSR_OK) << error.message;
  EXPECT_GT(found.answer_ms, 0);
  EXPECT_GT(found.exchange_ms, 0);
  EXPECT_GT(found.split_ms, 0);
  for (uint32_t i = 0; i < 2; i++) {
    std::vector<uint32_t> values(n);
    ASSERT_EQ(tsr_memory_copy(table, values.data(), parts[i].found, n * 4, &error), TSR_OK) << error.message;
    for (uint32_t k = 0; k < n; k++) ASSERT_EQ(values[k], (i * 5000 + k) * 7 + i);
    tsr_memory_free(table, const_cast<void *>(parts[i].keys));
    tsr_memory_free(table, const_cast<void *>(parts[i].values));
    tsr_memory_free(table, parts[i].found);
  }
  tsr_table_destroy(table);
}

// A batch is two chunks, but one where each shard sorts what it gets.
TEST(Chunks, AreFew) {
  if (sanitized) GTEST_SKIP() << "a number of chunks, of a long batch like others";
  const uint64_t n = 8 << 20; // in two parts; a chunk has at least 2^21 of each
  const std::string words =
      "kind=set key_bits=32 layout=packed probing=cuckoo hasher=murmur3 capacity=12M devices=" + numbers(2);
  std::vector<uint32_t> keys(n);
  std::vector<uint8_t> present(n);
  for (uint32_t i = 0; i < n; i++) keys[i] = i * 7 + 1;
  for (const bool is_sorted : {false, true}) {
    tsr_error error = {};
    tsr_phases inserted = {}, asked = {};
    tsr_table *table = table_of(words + (is_sorted ? " page_bytes=auto page_batch=1000 find_batch=1000" : ""));
    ASSERT_EQ(tsr_phases_start(table, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_insert(table, n, keys.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_phases_stop(table, &inserted, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_phases_start(table, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_contains(table, n, keys.data(), present.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_phases_stop(table, &asked, &error), TSR_OK) << error.message;
    EXPECT_EQ(inserted.chunks, is_sorted ? 1u : 2u);
    EXPECT_EQ(asked.chunks, is_sorted ? 1u : 2u);
    EXPECT_EQ(std::count(present.begin(), present.end(), 1), static_cast<ptrdiff_t>(n));
    tsr_table_destroy(table);
  }
}

TEST(Arguments, AreChecked) {
  tsr_error error = {};
  uint32_t keys[2] = {1, 2}, values[2] = {3, 4};
  void *memory = nullptr;
  tsr_phases phases = {};
  tsr_table *table = table_of(kMixed + ("devices=" + numbers(2)));
  tsr_table *one = table_of(kMixed);
  std::vector<tsr_batch_part> parts(2);
  for (tsr_batch_part &part : parts) {
    part.size = sizeof part;
    part.n = 1;
    part.keys = keys;
    part.values = values;
  }
  EXPECT_EQ(tsr_call_parts(nullptr, TSR_PREPARE_INSERT, 2, parts.data(), &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 2, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 1, parts.data(), &error), TSR_BAD_ARGUMENT);
  EXPECT_NE(strstr(error.message, "2 devices"), nullptr) << error.message;
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_SIZE, 2, parts.data(), &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_FIND, 2, parts.data(), &error), TSR_BAD_ARGUMENT); // nowhere to write
  parts[1].values = nullptr;
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 2, parts.data(), &error), TSR_BAD_ARGUMENT);
  parts[1].n = 0;
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 2, parts.data(), &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_call_parts(one, TSR_PREPARE_INSERT, 1, parts.data(), &error), TSR_OK) << error.message;
  parts[0].size = 0;
  EXPECT_EQ(tsr_call_parts(table, TSR_PREPARE_INSERT, 2, parts.data(), &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_memory_allocate_on(table, 2, 8, &memory, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_batch_least(one), 0u);
  EXPECT_EQ(tsr_batch_least(table), backend() == "cpu" ? 0u : 2u << 22);
  EXPECT_EQ(tsr_phases_start(one, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_phases_stop(one, &phases, &error), TSR_BAD_ARGUMENT);
  uint64_t size = 0;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK);
  EXPECT_EQ(size, 1u);
  tsr_table_destroy(table);
  tsr_table_destroy(one);
}

} // namespace
