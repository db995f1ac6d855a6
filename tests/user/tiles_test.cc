// SPDX-License-Identifier: Apache-2.0
//
// What a user's kernel calls, on warps of one or more tiles of 2 to 16 lanes, each lane with its own key, against an
// oracle: the cpu backend has tiles of one lane alone. Lanes past the last item call too, as on a GPU.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/compose/compose.h"
#include "tests/codegen/choices.h"
#include "tests/conformance/lanes.h"
#include "tests/user/tiles.h"

namespace tessera_test {
namespace {

struct Shape {
  const char *name, *entries;
  bool keeps;
};

const Shape kShapes[] = {
    {"aos_multimap", "kind=multimap\nlayout=aos\nprobing=double_hashing\n", true},
    {"soa_add", "kind=map\nlayout=soa\nprobing=linear\nduplicates=add\n", false},
    {"packed_cuckoo_add", "kind=map\nlayout=packed\nprobing=cuckoo\nduplicates=add\n", false},
    {"slab_multimap", "kind=multimap\nlayout=slab\nprobing=slab_list\nallocator=slab_light\n", true},
};

// The tables of numbers that are below rows.
const Shape kRowShapes[] = {
    {"packed_linear", "kind=map\nlayout=packed\nprobing=linear\n", false},
    {"packed_cuckoo", "kind=map\nlayout=packed\nprobing=cuckoo\n", false},
};

struct Case {
  Shape shape;
  uint32_t lanes, tiles;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.shape.name << " " << c.lanes << " lanes, " << c.tiles; }

class Tiles : public testing::TestWithParam<Case> {
protected:
  // Calls body(context, lane, item) for n items, in groups of a warp.
  template <typename Body>
  void launch(uint64_t n, Body body) {
    const tsr_cpu cpu = cpu_of(composition_.get(), warp_->services());
    for (uint64_t first = 0; first < n; first += warp_->lanes())
      ASSERT_EQ(warp_->run([&](uint32_t lane) {
        tsr_scratch scratch = {};
        const tsr_ctx c = context_of(&memory_->state(), &cpu, lane, &scratch);
        body(&c, first + lane);
      }),
                "");
  }

  void SetUp() override {
    const Case &p = GetParam();
    const std::string text =
        std::string("[table]\nkey_bits=32\nvalue_bits=32\ncapacity=200\nhasher=murmur3\nbackend=cpu\n") +
        p.shape.entries + "[layout]\ntile_lanes=" + std::to_string(p.lanes) + "\n" +
        (std::string(p.shape.name).find("slab") == 0 ? "" : "bucket_slots=16\n");
    tsr_error error = {};
    tsr_spec *spec = nullptr;
    tsr_options options = {};
    tsr_composition *composition = nullptr;
    options.plugins = choices::plugin_folders().c_str();
    ASSERT_EQ(tsr_spec_parse(text.c_str(), p.shape.name, &spec, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_compose(spec, &options, 0, p.lanes, &composition, &error), TSR_OK) << error.message;
    tsr_spec_free(spec);
    composition_.reset(composition);
    ASSERT_EQ(composition_->shape.tile_lanes, p.lanes);
    composition_->shape.warp_sync = p.lanes * p.tiles > 1;
    memory_ = std::make_unique<Memory>(composition_.get());
    warp_ = std::make_unique<Warp>(p.lanes, p.tiles);
  }

  CompositionPointer composition_;
  std::unique_ptr<Memory> memory_;
  std::unique_ptr<Warp> warp_;
};

TEST_P(Tiles, DoWhatTheOracleDoes) {
  constexpr uint64_t kItems = 150;
  std::map<uint32_t, std::vector<uint32_t>> pairs;
  tsr_tally tally = {};
  auto key_of = [](uint64_t i) { return static_cast<uint32_t>(i % 60 * 2654435761u); };
  std::vector<uint32_t> results(kItems);
  launch(kItems, [&](const tsr_ctx *c, uint64_t i) {
    const uint32_t result = tiles_insert(c, &tally, i < kItems, key_of(i), static_cast<uint32_t>(i + 1));
    if (i < kItems) results[i] = result;
  });
  EXPECT_EQ(tally.not_placed, 0u);
  for (uint64_t i = 0; i < kItems; i++) {
    std::vector<uint32_t> &values = pairs[key_of(i)];
    ASSERT_NE(results[i], 0u) << i;
    if (values.empty() || GetParam().shape.keeps)
      values.push_back(static_cast<uint32_t>(i + 1));
    else
      values[0] += static_cast<uint32_t>(i + 1);
  }
  auto check = [&] {
    launch(100, [&](const tsr_ctx *c, uint64_t i) { // the last 40 keys are not there
      const uint32_t key = i < 60 ? key_of(i) : static_cast<uint32_t>(i) + 7;
      const uint32_t mine = i < 100 && i % 7 != 3;
      uint64_t value = 0, sum = 0, expected = 0;
      const uint32_t found = tiles_find(c, mine, key, &value);
      const uint64_t count = tiles_count(c, mine, key), values = tiles_values(c, mine, key, &sum);
      const auto at = pairs.find(key);
      const bool is_there = mine && at != pairs.end();
      if (is_there)
        for (uint32_t each : at->second) expected += each;
      EXPECT_EQ(found, is_there) << i;
      EXPECT_EQ(count, is_there ? at->second.size() : 0) << i;
      EXPECT_EQ(values, is_there ? at->second.size() : 0) << i;
      EXPECT_EQ(sum, expected) << i;
    });
    uint64_t count = 0, sum = 0, expected_count = 0, expected = 0;
    const uint64_t refs = tsr_composition_refs(composition_.get());
    launch(refs, [&](const tsr_ctx *c, uint64_t i) {
      uint64_t own = 0;
      const uint64_t own_count = tiles_pairs(c, i < refs, i, &own);
      count += own_count;
      sum += own;
    });
    for (const auto &[key, values] : pairs)
      for (uint32_t value : values) {
        expected_count++;
        expected += 3 * uint64_t{key} + value;
      }
    EXPECT_EQ(count, expected_count);
    EXPECT_EQ(sum, expected);
  };
  check();
  memory_->note_erase();
  launch(30, [&](const tsr_ctx *c, uint64_t i) {
    const uint64_t gone = tiles_erase(c, i < 30, key_of(i));
    EXPECT_EQ(gone, i < 30 ? pairs[key_of(i)].size() : 0) << i;
  });
  for (uint64_t i = 0; i < 30; i++) pairs.erase(key_of(i));
  check();
  EXPECT_EQ(memory_->check_guards(), "");
}

// Of tables of one pair of a key, under the policy `first`.
class MapTiles : public Tiles {};

// HugeCTR 281: a present key got the value of the next slot. All slots of a bucket are full of others.
TEST_P(MapTiles, FindOrInsertGivesTheValueOfThisKey) {
  constexpr uint64_t kKeys = 150, kItems = 190;
  tsr_tally tally = {};
  auto key_of = [](uint64_t i) { return static_cast<uint32_t>(i * 2654435761u); };
  auto value_of = [](uint64_t i) { return static_cast<uint32_t>(1000 + 7 * i); };
  launch(kKeys, [&](const tsr_ctx *c, uint64_t i) {
    const uint32_t result = tiles_insert(c, &tally, i < kKeys, key_of(i), value_of(i));
    EXPECT_EQ(result, i < kKeys ? uint32_t{TSR_INSERTED} : 0) << i;
  });
  for (uint32_t round = 0; round < 2; round++)
    launch(kItems, [&](const tsr_ctx *c, uint64_t i) {
      uint32_t value = round ? 77 : value_of(i);
      const uint32_t result = tiles_find_or_insert(c, &tally, i < kItems, key_of(i), &value);
      const uint32_t is_new = i >= kKeys && !round;
      EXPECT_EQ(result, i >= kItems ? 0 : is_new ? uint32_t{TSR_INSERTED} : uint32_t{TSR_FOUND}) << i;
      if (i < kItems) {
        EXPECT_EQ(value, value_of(i)) << i;
      }
    });
  EXPECT_EQ(tally.not_placed, 0u);
  EXPECT_EQ(memory_->check_guards(), "");
}

// Items of few keys, and few more rows than keys and lanes: each key has one whole row in the end, and no row is lost.
class RowTiles : public Tiles {};

TEST_P(RowTiles, GiveBackWhatTheyDoNotNeed) {
  constexpr uint64_t kItems = 600, kKeys = 60, kWords = 3; // 96 rows
  tsr_tally tally = {};
  auto key_of = [](uint64_t i) { return static_cast<uint32_t>(i % kKeys * 2654435761u); };
  for (uint32_t replaces : {0u, 1u}) {
    std::vector<uint32_t> memory(kWords * 32 * 4), taken(kWords), written(kWords);
    const tiles_rows rows = {reinterpret_cast<char *>(memory.data()), taken.data(), written.data(), kWords};
    memory_ = std::make_unique<Memory>(composition_.get());
    std::map<uint32_t, uint64_t> inserted;
    launch(kItems, [&](const tsr_ctx *c, uint64_t i) {
      const uint32_t item = static_cast<uint32_t>(i), row[4] = {item, item * 3, item ^ 77, key_of(i)};
      const uint32_t result = tiles_insert_row(c, &tally, &rows, replaces, i < kItems, key_of(i), row);
      const uint32_t present = replaces ? TSR_REPLACED : TSR_PRESENT;
      if (i >= kItems)
        EXPECT_EQ(result, 0u);
      else
        EXPECT_TRUE(result == TSR_INSERTED || result == present) << i << ": " << result;
      inserted[key_of(i)] += i < kItems && result == TSR_INSERTED;
    });
    EXPECT_EQ(tally.not_placed, 0u);
    uint64_t bits = 0;
    for (uint32_t word : taken) bits += static_cast<uint64_t>(__builtin_popcount(word));
    EXPECT_EQ(bits, kKeys);
    for (uint32_t word : written) EXPECT_EQ(word, 0u);
    launch(kKeys, [&](const tsr_ctx *c, uint64_t i) {
      uint64_t number = 0;
      ASSERT_EQ(tiles_find(c, i < kKeys, key_of(i), &number), i < kKeys) << i;
      if (i >= kKeys) return;
      const uint32_t *row = &memory[number * 4], item = row[0];
      EXPECT_EQ(inserted[key_of(i)], 1u) << i;
      EXPECT_TRUE(row[1] == item * 3 && row[2] == (item ^ 77) && row[3] == key_of(i) && item % kKeys == i) << i;
      const uint64_t last = kItems - kKeys, lanes = warp_->lanes();
      EXPECT_TRUE(replaces ? item + lanes >= last : item < kKeys + lanes) << i << ": " << item;
    });
    EXPECT_EQ(memory_->check_guards(), "");
  }
}

template <size_t count>
std::vector<Case> cases_of(const Shape (&shapes)[count]) {
  std::vector<Case> all;
  for (const Shape &shape : shapes)
    for (uint32_t lanes : {2u, 4u, 16u}) {
      all.push_back({shape, lanes, 1});
      all.push_back({shape, lanes, 32 / lanes / 2});
    }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  return std::to_string(info.index) + "_" + info.param.shape.name + "_" + std::to_string(info.param.lanes) + "_" +
         std::to_string(info.param.tiles);
}

INSTANTIATE_TEST_SUITE_P(All, Tiles, testing::ValuesIn(cases_of(kShapes)), name_of);
INSTANTIATE_TEST_SUITE_P(All, MapTiles, testing::ValuesIn(cases_of(kRowShapes)), name_of);
INSTANTIATE_TEST_SUITE_P(All, RowTiles, testing::ValuesIn(cases_of(kRowShapes)), name_of);

} // namespace
} // namespace tessera_test
