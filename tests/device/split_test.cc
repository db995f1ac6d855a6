// SPDX-License-Identifier: Apache-2.0
//
// Tables that grow in place (growth = split), with arrays in the device's memory: batches of all sizes from a small capacity
// on, the keys that mark slots among them, past many powers of two; erases, find_or_insert, files, rehash and clear in
// between. Runs on the cpu backend too (device.h). Read next: ../rebuild/split_test.cc, the same in small batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/device/device.h"
#include "tests/oracle/exercise.h"

namespace {

using Numbers = std::vector<uint64_t>;

struct Spec {
  const char *name, *entries;
  uint32_t key_bits, value_bits;
};

void PrintTo(const Spec &spec, std::ostream *out) { *out << spec.name; }

const Spec kSpecs[] = {
    {"pairs", "layout=packed\n[layout]\nbucket_slots=8\n", 32, 32},
    {"pairs_of_tiles", "layout=packed\n[layout]\nbucket_slots=16\ntile_lanes=16\n[probing]\nhash_functions=3\n", 32,
     32},
    {"wide_pairs", "layout=packed\nload_factor=0.9\n[layout]\nbucket_slots=8\ntile_lanes=2\n", 64, 64},
    {"set_of_columns", "layout=soa\nstash=64\n[layout]\nbucket_slots=16\ntile_lanes=4\n", 64, 0},
    {"counted", "layout=packed\nstatistics=yes\nduplicates=add\n[layout]\nbucket_slots=8\n", 32, 32},
};

uint64_t items() { return device::backend() == "cpu" ? 6000 : 1000000; }

class Split : public testing::TestWithParam<Spec> {
protected:
  const Spec &spec_ = GetParam();

  // NULL while code is linked.
  device::Table make(uint64_t capacity) {
    const std::string text = "[table]\nkind=" + std::string(spec_.value_bits ? "map" : "set") +
                             "\nkey_bits=" + std::to_string(spec_.key_bits) +
                             (spec_.value_bits ? "\nvalue_bits=" + std::to_string(spec_.value_bits) : "") +
                             "\nprobing=linear_hashing\ngrowth=split\nhasher=murmur3\nbackend=" + device::backend() +
                             "\n" + spec_.entries;
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    options.capacity = capacity;
    EXPECT_EQ(tsr_spec_parse(text.c_str(), "split", &spec, &error), TSR_OK) << error.message;
    device::Table table = device::create(spec, options, false, device::ALL_BUT_APPLY);
    tsr_spec_free(spec);
    return table;
  }

  // New distinct keys. The first ones of a test are those that a part could confuse with a marker.
  Numbers draw(uint64_t n) {
    const Numbers awkward = tessera_test::awkward_numbers(spec_.key_bits);
    Numbers keys;
    while (keys.size() < n) {
      const uint64_t i = drawn_.size();
      const uint64_t key = i < awkward.size() ? awkward[i] : device::key_of(next_++, spec_.key_bits);
      if (drawn_.insert(key).second) keys.push_back(key);
    }
    return keys;
  }

  uint64_t value_of(uint64_t key) const {
    return spec_.value_bits ? (key * 3 + 1) & tessera_test::width_mask(spec_.value_bits) : 0;
  }

  // Inserts new pairs, all of which have room.
  void insert(tsr_table *table, const Numbers &keys) {
    const size_t n = keys.size();
    Numbers values;
    for (uint64_t key : keys) values.push_back(value_of(key));
    device::Array key_array(table, spec_.key_bits, keys), value_array(table, spec_.value_bits, values);
    device::Array codes(table, 8, Numbers(n, 99));
    tsr_call call = {};
    call.size = sizeof call;
    call.results = static_cast<uint8_t *>(codes.data());
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(table, n, key_array.data(), value_array.data(), &call, &error), TSR_OK) << error.message;
    const Numbers told = codes.numbers();
    ASSERT_EQ(static_cast<size_t>(std::count(told.begin(), told.end(), TSR_INSERTED)), n);
    for (size_t i = 0; i < n; i++) there_[keys[i]] = values[i];
  }

  void erase(tsr_table *table, const Numbers &keys) { device::erase(table, spec_.key_bits, keys, &there_); }

  // Each key that was ever drawn, and others, is answered right.
  void look(tsr_table *table) {
    Numbers keys(drawn_.begin(), drawn_.end());
    for (uint64_t i = 0; i < 1000; i++) keys.push_back(device::key_of(next_ + 1000000 + i, spec_.key_bits));
    device::expect_pairs(table, spec_.key_bits, spec_.value_bits, there_, keys);
  }

  uint64_t capacity_of(tsr_table *table) {
    tsr_table_info info = {};
    info.size = sizeof info;
    tsr_table_describe(table, &info);
    return info.capacity;
  }

  std::set<uint64_t> drawn_;
  std::map<uint64_t, uint64_t> there_;
  uint64_t next_ = 0; // the next number that a key is made of
};

// As large as its pairs ask for, after batches of very different sizes.
TEST_P(Split, GrowsInPlace) {
  device::Table table = make(16);
  if (!table) return;
  const uint64_t sizes[] = {1, 7, 100, items() / 50, 3, items() / 3, items() / 10, 1, items() / 2, items() / 100};
  for (uint64_t size : sizes) {
    ASSERT_NO_FATAL_FAILURE(insert(table.get(), draw(size)));
    EXPECT_LE(capacity_of(table.get()), there_.size() + there_.size() / 50 + size / 50 + 300);
  }
  ASSERT_NO_FATAL_FAILURE(look(table.get()));
}

TEST_P(Split, InManyBatches) {
  device::Table table = make(1000);
  if (!table) return;
  for (int batch = 0; batch < 60; batch++) {
    ASSERT_NO_FATAL_FAILURE(insert(table.get(), draw(items() / 60)));
    if (batch % 20 == 19) erase(table.get(), {drawn_.begin(), std::next(drawn_.begin(), 1000)});
    if (batch % 30 == 9) look(table.get());
  }
  ASSERT_NO_FATAL_FAILURE(look(table.get()));
}

TEST_P(Split, GoesOnAfterSaveLoadRehashAndClear) {
  device::Table table = make(100);
  if (!table) return;
  ASSERT_NO_FATAL_FAILURE(insert(table.get(), draw(items() / 4)));
  const char *folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/split.tsr";
  tsr_error error = {};
  ASSERT_EQ(tsr_table_save(table.get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options options = {};
  options.size = sizeof options;
  options.plugins = choices::plugin_folders().c_str();
  options.backend = device::backend().c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &options, &loaded, &error), TSR_OK) << error.message;
  table.reset(loaded);
  ASSERT_NO_FATAL_FAILURE(insert(loaded, draw(items() / 4)));
  ASSERT_NO_FATAL_FAILURE(look(loaded));
  tsr_rehash_options larger = {};
  larger.capacity = items();
  ASSERT_EQ(tsr_rehash(loaded, &larger, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(insert(loaded, draw(items())));
  ASSERT_NO_FATAL_FAILURE(look(loaded));
  ASSERT_EQ(tsr_clear(loaded, nullptr, &error), TSR_OK) << error.message;
  there_.clear();
  ASSERT_NO_FATAL_FAILURE(insert(loaded, draw(2 * items())));
  ASSERT_NO_FATAL_FAILURE(look(loaded));
}

// Random operations judged by the oracle, with arrays of the host.
TEST_P(Split, RandomOperations) {
  for (uint64_t stream = 0; stream < 4; stream++) {
    SCOPED_TRACE(stream);
    device::Table made = make(1 + 300 * (stream % 2));
    if (!made) return;
    tessera_test::Random random(40 + stream);
    tessera_test::Table table(made.release(), spec_.key_bits, spec_.value_bits);
    tessera_test::Exercise::Options options;
    options.slots = 3000;
    options.operations = 60;
    options.batch_max = stream % 2 ? 700 : 50;
    const bool adds = std::string(spec_.entries).find("duplicates=add") != std::string::npos;
    tessera_test::Exercise exercise(table, adds ? TSR_DUPLICATES_ADD : TSR_DUPLICATES_FIRST, random, options);
    ASSERT_EQ(exercise.run(), "");
    EXPECT_EQ(exercise.oracle().handed_back(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Split, testing::ValuesIn(kSpecs),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
