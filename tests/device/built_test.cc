// SPDX-License-Identifier: Apache-2.0
//
// Tables that a scheme builds from whole batches, with arrays in the device's memory: full tables, the keys that
// mark slots among them; later inserts, erases, growth, files, and equal keys, which come back. Runs on the cpu backend too
// (device.h). Read next: ../table/built_test.cc, the laws in small batches.
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
    {"recipe", "layout=packed\n[layout]\nbucket_slots=4\n", 32, 32},
    {"set_of_tiles", "layout=packed\n[layout]\nbucket_slots=8\ntile_lanes=4\n", 64, 0},
    {"pages_of_4096", "layout=aos\n[layout]\nbucket_slots=4\n[probing]\npage_keys=4096\n", 64, 64},
    {"columns", "layout=soa\nstash=64\nstatistics=yes\n[layout]\nbucket_slots=2\n", 64, 32},
    {"filter", "layout=aos\nfilter=8\n[layout]\nbucket_slots=4\n", 32, 64},
};

uint64_t items() { return device::backend() == "cpu" ? 6000 : 400000; }

class Built : public testing::TestWithParam<Spec> {
protected:
  const Spec &spec_ = GetParam();

  // NULL while code is linked.
  device::Table make(uint64_t capacity, const std::string &more = "") {
    const std::string text =
        "[table]\nkind=" + std::string(spec_.value_bits ? "map" : "set") +
        "\nkey_bits=" + std::to_string(spec_.key_bits) +
        (spec_.value_bits ? "\nvalue_bits=" + std::to_string(spec_.value_bits) : "") +
        "\nduplicates=promise_unique\nprobing=perfect\nhasher=murmur3\nload_factor=1\nbackend=" + device::backend() +
        "\n" + more + spec_.entries;
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    tsr_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    options.capacity = capacity;
    EXPECT_EQ(tsr_spec_parse(text.c_str(), "built", &spec, &error), TSR_OK) << error.message;
    device::Table table = device::create(spec, options);
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

  // Inserts pairs of these keys, which are told one by one; returns how many came back, each with its own value.
  uint64_t insert(tsr_table *table, const Numbers &keys) {
    const size_t n = keys.size();
    Numbers values;
    for (uint64_t key : keys) values.push_back(value_of(key));
    device::Array key_array(table, spec_.key_bits, keys), value_array(table, spec_.value_bits, values);
    device::Array codes(table, 8, Numbers(n, 99)), back_keys(table, spec_.key_bits, Numbers(n, 0)),
        back_values(table, spec_.value_bits, Numbers(n, 0));
    tsr_call call = {};
    call.size = sizeof call;
    call.results = static_cast<uint8_t *>(codes.data());
    call.unplaced_keys = back_keys.data();
    call.unplaced_values = back_values.data();
    tsr_error error = {};
    EXPECT_EQ(tsr_insert(table, n, key_array.data(), value_array.data(), &call, &error), TSR_OK) << error.message;
    const Numbers told = codes.numbers(), their_keys = back_keys.numbers(), their_values = back_values.numbers();
    uint64_t back = 0, wrong = 0;
    for (size_t i = 0; i < n; i++) {
      if (told[i] == TSR_INSERTED) there_[keys[i]] = values[i];
      if (told[i] == TSR_INSERTED) continue;
      back++;
      wrong += told[i] != TSR_NOT_PLACED || their_keys[i] != keys[i];
      wrong += spec_.value_bits && their_values[i] != values[i];
    }
    EXPECT_EQ(wrong, 0u);
    return back;
  }

  void erase(tsr_table *table, const Numbers &keys) { device::erase(table, spec_.key_bits, keys, &there_); }

  // Each key that was ever drawn, and others, is answered right.
  void look(tsr_table *table) {
    Numbers keys(drawn_.begin(), drawn_.end());
    for (uint64_t i = 0; i < 1000; i++) keys.push_back(device::key_of(next_ + 1000000 + i, spec_.key_bits));
    device::expect_pairs(table, spec_.key_bits, spec_.value_bits, there_, keys);
  }

  std::set<uint64_t> drawn_;
  std::map<uint64_t, uint64_t> there_;
  uint64_t next_ = 0; // the next number that a key is made of
};

TEST_P(Built, IsFullAndBuiltAnew) {
  device::Table table = make(items());
  if (!table) return;
  ASSERT_EQ(insert(table.get(), draw(items() / 2)), 0u);
  ASSERT_EQ(insert(table.get(), draw(items() - items() / 2)), 0u);
  look(table.get());
  erase(table.get(), {drawn_.begin(), std::next(drawn_.begin(), static_cast<int64_t>(items() / 3))});
  look(table.get());
  ASSERT_EQ(insert(table.get(), draw(items() / 3)), 0u); // in the room of those that were erased
  EXPECT_GE(insert(table.get(), draw(1000)), 900u);      // 64 fit into the stash
  look(table.get());
}

TEST_P(Built, IsSavedAndLoaded) {
  device::Table table = make(items());
  if (!table) return;
  ASSERT_EQ(insert(table.get(), draw(items() - 100)), 0u);
  const char *folder = getenv("TEST_TMPDIR");
  const std::string path = std::string(folder ? folder : "/tmp") + "/built.tsr";
  tsr_error error = {};
  ASSERT_EQ(tsr_table_save(table.get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options options = {};
  options.size = sizeof options;
  options.plugins = choices::plugin_folders().c_str();
  for (const std::string &on : std::set<std::string>{device::backend(), "cpu"}) {
    SCOPED_TRACE(on);
    tsr_table *loaded = nullptr;
    options.backend = on.c_str();
    ASSERT_EQ(tsr_table_load(path.c_str(), &options, &loaded, &error), TSR_OK) << error.message;
    const device::Table own(loaded);
    look(loaded);
    if (on == device::backend()) table.reset(); // the other one has its pairs
    if (on != device::backend()) continue;
    ASSERT_EQ(insert(loaded, draw(100)), 0u);
    look(loaded);
    erase(loaded, {std::prev(drawn_.end(), 50), drawn_.end()});
    look(loaded);
    ASSERT_EQ(tsr_table_save(loaded, path.c_str(), &error), TSR_OK) << error.message;
  }
}

TEST_P(Built, GrowsAndTakesThemAll) {
  device::Table table = make(items() / 8, "growth=double\n");
  if (!table) return;
  for (int batch = 0; batch < 3; batch++) ASSERT_EQ(insert(table.get(), draw(items() / 3)), 0u);
  look(table.get());
}

// A promise that is broken: no pair is lost.
TEST_P(Built, HandsEqualKeysBack) {
  device::Table table = make(items());
  if (!table) return;
  for (uint64_t repeats : {items(), uint64_t{3}}) {
    Numbers keys;
    for (uint64_t i = 0; i < items(); i++) keys.push_back(device::key_of(i / repeats, spec_.key_bits));
    tsr_error error = {};
    uint64_t size = 0;
    ASSERT_EQ(tsr_clear(table.get(), nullptr, &error), TSR_OK) << error.message;
    const uint64_t back = insert(table.get(), keys);
    ASSERT_EQ(tsr_size(table.get(), &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size + back, items());
    EXPECT_TRUE(repeats == 3 || back + 100 > items()) << back; // a bucket, and the stash
    std::set<uint64_t> held;
    for (const auto &[key, value] : device::pairs_of(table.get())) {
      held.insert(key);
      ASSERT_EQ(value, value_of(key));
    }
    EXPECT_EQ(held.size(), there_.size());
    there_.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Built, testing::ValuesIn(kSpecs),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
