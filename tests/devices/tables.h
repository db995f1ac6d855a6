// SPDX-License-Identifier: Apache-2.0
//
// Tables of several devices for the tests of this folder: specs in one line. They live on the cpu backend, where every
// number names the same device, or on the one that TSR_BACKEND names and the devices of TSR_DEVICES ("0,1"), in turn. Read
// next: shards_test.cc.
#ifndef TSR_TESTS_DEVICES_TABLES_H
#define TSR_TESTS_DEVICES_TABLES_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/compose/compose.h"
#include "core/cuda/link.h"
#include "core/table/steps.h"
#include "core/tessera_tools.h"
#include "plugins/table.h"
#include "tests/oracle/context.h"
#include "tests/oracle/exercise.h"
#include "tests/oracle/random.h"
#include "tests/oracle/subject.h"

namespace tessera_test {

inline std::string backend() {
  const char *name = getenv("TSR_BACKEND");
  return name && *name ? name : "cpu";
}

inline std::string all_numbers() {
  const char *said = getenv("TSR_DEVICES");
  return said ? said : "0,1,2,3,4,5,6,7";
}

// "0,1,2"
inline std::string numbers(unsigned count) {
  std::vector<std::string> devices;
  std::istringstream words(all_numbers());
  for (std::string word; std::getline(words, word, ',');) devices.push_back(word);
  std::string list;
  for (unsigned i = 0; i < count; i++) list += (i ? "," : "") + devices[i % devices.size()];
  return list;
}

struct Made {
  std::string words; // of a spec, those without a section belong to [table]
  uint32_t key_bits, value_bits, policy;
  uint32_t row_bits = 0; // of values of value_bytes, whose value_bits say how wide the numbers in them are
};

// TSR_TEST_KEY_BITS=128: those with keys of this width alone.
inline std::vector<Made> of_width(const std::vector<Made> &all) {
  const char *bits = getenv("TSR_TEST_KEY_BITS");
  std::vector<Made> chosen;
  for (const Made &made : all)
    if (!bits || made.key_bits == std::strtoul(bits, nullptr, 10)) chosen.push_back(made);
  return chosen;
}

// Every kind, and every way in which a scheme may treat pairs: they move, they stay, they have a value column.
inline std::vector<Made> kinds() {
  const std::string parts = " layout=packed probing=cuckoo hasher=murmur3 ";
  const std::string stays = " layout=packed probing=double_hashing hasher=murmur3 ";
  const std::string columns = " layout=soa probing=double_hashing hasher=murmur3 ";
  const std::string lists = " layout=packed probing=hashgraph hasher=murmur3 load_factor=1 layout.bucket_slots=1 ";
  return of_width(
      {{"kind=multimap key_bits=32 value_bits=32" + lists, 32, 32, TSR_DUPLICATES_KEEP},
       {"kind=map key_bits=32 value_bits=32 duplicates=first" + parts, 32, 32, TSR_DUPLICATES_FIRST},
       {"kind=map key_bits=64 value_bits=32 duplicates=add" + columns, 64, 32, TSR_DUPLICATES_ADD},
       {"kind=map key_bits=32 value_bits=64 duplicates=replace" + columns, 32, 64, TSR_DUPLICATES_REPLACE},
       {"kind=map key_bits=32 value_bits=32 duplicates=min" + parts, 32, 32, TSR_DUPLICATES_MIN},
       {"kind=map key_bits=32 value_bits=32 duplicates=promise_unique" + parts, 32, 32, TSR_DUPLICATES_PROMISE_UNIQUE},
       {"kind=counter key_bits=32 value_bits=8" + stays, 32, 32, TSR_DUPLICATES_COUNT_8},
       {"kind=set key_bits=64" + parts, 64, 0, TSR_DUPLICATES_FIRST},
       {"kind=multiset key_bits=32" + stays, 32, 0, TSR_DUPLICATES_KEEP},
       {"kind=multimap key_bits=32 value_bits=32" + stays, 32, 32, TSR_DUPLICATES_KEEP},
       {"kind=multimap key_bits=64 value_bits=64" + columns, 64, 64, TSR_DUPLICATES_KEEP},
       {"kind=map key_bits=32 value_bytes=64 duplicates=first" + parts, 32, 64, TSR_DUPLICATES_FIRST, 512},
       {"kind=map key_bits=64 value_bytes=20 duplicates=replace" + columns, 64, 64, TSR_DUPLICATES_REPLACE, 160},
       {"kind=multimap key_bits=32 value_bytes=24" + stays, 32, 64, TSR_DUPLICATES_KEEP, 192},
       {"kind=set key_bits=128" + parts, 128, 0, TSR_DUPLICATES_FIRST},
       {"kind=map key_bits=128 value_bits=64 duplicates=add" + columns, 128, 64, TSR_DUPLICATES_ADD},
       {"kind=counter key_bits=128 value_bits=32" + columns, 128, 32, TSR_DUPLICATES_COUNT},
       {"kind=multimap key_bits=128 value_bits=32" + columns, 128, 32, TSR_DUPLICATES_KEEP}});
}

// TSR_TEST_LINK_SM=90: beside the tests, on the cpu backend, a machine without a GPU fills the cubin cache of one with
// GPUs. What a table cannot be, or cannot be linked as, does not matter.
inline void link_ahead(const tsr_spec *spec) {
  static bool has_sets;
  const char *sm = getenv("TSR_TEST_LINK_SM");
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  options.capacity = 1000;
  tsr_error error = {};
  tsr_composition *composition = nullptr;
  if (sm && tsr_compose(spec, &options, static_cast<uint32_t>(atoi(sm)), 1, &composition, &error) == TSR_OK) {
    tsr_step_list list = {};
    std::vector<tsr_link> all(TSR_LINKS_MAX);
    tsr_steps_of_calls(composition, 2 * TSR_PREPARE_EXPORT - 1, &list);
    if (tsr_cuda_link_steps(composition, list.step, list.count, true, all.data(), &error) == TSR_OK)
      for (uint32_t i = 0; i < list.count; i++) tsr_link_free(&all[i]);
    tsr_composition_free(composition);
  }
  for (size_t i = 0; sm && !has_sets && tsr_sets_of_no_table[i]; i++) {
    tsr_link made = {};
    if (tsr_cuda_link_set(tsr_sets_of_no_table[i], static_cast<uint32_t>(atoi(sm)), true, &made, &error)) continue;
    tsr_link_free(&made);
  }
  has_sets = true;
}

inline tsr_spec *spec_of(const std::string &words) {
  tsr_error error = {};
  tsr_spec *spec = nullptr;
  EXPECT_EQ(tsr_spec_parse(("[table]\nbackend = " + backend() + "\n").c_str(), "test.ini", &spec, &error), TSR_OK)
      << error.message;
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    std::string word = words.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (word.find('.') > word.find('=')) word = "table." + word;
    EXPECT_EQ(tsr_spec_set(spec, word.c_str(), &error), TSR_OK) << error.message;
  }
  link_ahead(spec);
  return spec;
}

inline tsr_status try_table(const std::string &words, tsr_table **table, tsr_error *error) {
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  tsr_spec *spec = spec_of(words);
  if (backend() == "cuda") hold_contexts(all_numbers());
  const tsr_status status = tsr_table_create(spec, &options, table, error);
  tsr_spec_free(spec);
  return status;
}

inline tsr_table *table_of(const std::string &words) {
  tsr_error error = {};
  tsr_table *table = nullptr;
  EXPECT_EQ(try_table(words, &table, &error), TSR_OK) << words << ": " << error.message;
  return table;
}

inline tsr_table_info info_of(const tsr_table *table) {
  tsr_table_info info = {};
  tsr_table_describe(table, &info);
  return info;
}

} // namespace tessera_test

#endif
