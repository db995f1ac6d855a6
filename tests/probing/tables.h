// SPDX-License-Identifier: Apache-2.0
//
// Tables filled to a load with distinct keys, and what that took. Read next: probes_test.cc, success_test.cc.
#ifndef TSR_TESTS_PROBING_TABLES_H
#define TSR_TESTS_PROBING_TABLES_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/oracle/random.h"

namespace tessera_test {

// A scheme and its parameters as a spec words them.
struct Scheme {
  std::string probing, parameters; // each "name = value\n"
  uint32_t bucket_slots;
  std::string hasher = "murmur3";
};

inline std::ostream &operator<<(std::ostream &out, const Scheme &scheme) {
  out << scheme.probing << ", " << scheme.bucket_slots << " slots a bucket";
  std::string words = scheme.parameters;
  std::replace(words.begin(), words.end(), '\n', ';');
  return words.empty() ? out : out << ", " << words;
}

// The i-th of 2^32 keys that are all different: a bijection of 32 bits (multiplication by an odd number, xor of
// shifts).
inline uint32_t nth_key(uint32_t i) {
  i = (i ^ i >> 16) * 0x7FEB352Du;
  i = (i ^ i >> 15) * 0x846CA68Bu;
  return i ^ i >> 16;
}

inline std::vector<uint32_t> keys_from(uint64_t first, uint64_t count) {
  std::vector<uint32_t> keys(count);
  for (uint64_t i = 0; i < count; i++) keys[i] = nth_key(static_cast<uint32_t>(first + i));
  return keys;
}

struct TableFree {
  void operator()(tsr_table *table) const { tsr_table_destroy(table); }
};
using TablePointer = std::unique_ptr<tsr_table, TableFree>;

// A table of 32-bit keys and values that `pairs` fill to `load`; 0: to the default load factor. The caller promises
// distinct keys, so that an insert looks at no bucket but for room: as the papers count.
inline TablePointer table_of(const Scheme &scheme, uint64_t pairs, double load, uint64_t seed, bool statistics,
                             const std::string &backend = "cpu") {
  std::string text = "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nlayout = packed\n"
                     "duplicates = promise_unique\nbackend = " +
                     backend + "\nhasher = " + scheme.hasher + "\nprobing = " + scheme.probing +
                     "\ncapacity = " + std::to_string(pairs) +
                     (load > 0 ? "\nload_factor = " + std::to_string(load) : "") + "\nseed = " + std::to_string(seed) +
                     "\nstatistics = " + (statistics ? "yes" : "no") +
                     "\n[layout]\nbucket_slots = " + std::to_string(scheme.bucket_slots) +
                     "\ntile_lanes = " + std::to_string(scheme.bucket_slots) + "\n[probing]\n" + scheme.parameters;
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:eviction";
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "test.ini", &spec, &error), TSR_OK) << error.message << "\n" << text;
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message << "\n" << text;
  tsr_spec_free(spec);
  return TablePointer(table);
}

// Inserts the keys; returns how many found no place.
inline uint64_t fill(tsr_table *table, uint64_t n, const void *keys) {
  tsr_error error = {};
  tsr_report report = {};
  EXPECT_EQ(tsr_insert(table, n, keys, keys, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  return report.not_placed;
}
inline uint64_t fill(tsr_table *table, const std::vector<uint32_t> &keys) {
  return fill(table, keys.size(), keys.data());
}

// How many of that many tables, each with another seed, have a place for every pair.
inline uint64_t whole_builds(const Scheme &scheme, uint64_t pairs, double load, uint64_t builds, uint64_t first_seed,
                             const std::string &backend = "cpu") {
  const std::vector<uint32_t> keys = keys_from(0, pairs);
  TablePointer owner = table_of(scheme, 1, load, first_seed, false, backend); // of the keys' memory
  void *memory = nullptr;
  tsr_error error = {};
  if (!owner) return 0;
  EXPECT_EQ(tsr_memory_allocate(owner.get(), pairs * 4, &memory, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_memory_copy(owner.get(), memory, keys.data(), pairs * 4, &error), TSR_OK) << error.message;
  uint64_t whole = 0;
  for (uint64_t i = 0; i < builds; i++)
    whole += fill(table_of(scheme, pairs, load, first_seed + i, false, backend).get(), pairs, memory) == 0;
  tsr_memory_free(owner.get(), memory);
  return whole;
}

} // namespace tessera_test

#endif
