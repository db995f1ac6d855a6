// SPDX-License-Identifier: Apache-2.0
//
// Level 7: many pairs. What goes wrong for one key in a million is seen by counting: every pair is in the table or was
// handed back, and whatever is there is found with its value. TSR_CONFORM_STRESS: pairs of a table; `tessera conform
// FILE.so --stress N`. Runs only when it is asked for.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "tests/conformance/kit.h"
#include "tests/oracle/subject.h"

namespace tessera_test {
namespace {

class OnPluginUnderStress : public OnPlugin {};

uint64_t pairs_asked() {
  const char *text = getenv("TSR_CONFORM_STRESS");
  return text && *text ? strtoull(text, nullptr, 0) : uint64_t{1} << 22;
}

// The i-th of distinct keys: a bijection of numbers of these bits, or of 64 that stand for wider keys.
uint64_t key_of(uint64_t i, uint32_t key_bits) {
  const uint32_t bits = std::min(key_bits, 64u);
  const uint64_t mask = width_mask(bits);
  for (uint32_t round = 0; round < 3; round++) {
    i = i * 0x9E3779B97F4A7C15u & mask;
    i ^= i >> (bits / 2 - 1);
  }
  return i;
}

uint64_t value_of(uint64_t key, uint32_t bits) { return (key * 0xD6E8FEB86659FD93u ^ key >> 7) & width_mask(bits); }

class Stressed {
public:
  // A cache has room for half of the pairs, so that it gives up others.
  Stressed(const Recipe &recipe, uint64_t pairs) : recipe_(recipe) {
    recipe_.capacity = recipe_.part[TSR_ROLE_EVICTION].empty() ? pairs : pairs / 2;
    SpecPointer spec = spec_of(recipe_);
    std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    tsr_table *table = nullptr;
    tsr_error error = {};
    EXPECT_EQ(tsr_table_create(spec.get(), &options, &table, &error), TSR_OK) << error.message;
    if (table) table_ = std::make_unique<Table>(table, recipe_.key_bits, recipe_.value_bits);
  }
  bool is_made() const { return table_ != nullptr; }

  // Inserts the keys from first to last - 1, all new. Growth of size and pairs handed back must add up to them.
  void insert(uint64_t first, uint64_t last) {
    const uint64_t before = size();
    uint64_t handed_back = 0;
    each_batch(first, last, [&](Batch &batch) {
      for (uint64_t key : batch.keys) batch.values.push_back(value_of(key, recipe_.value_bits));
      std::string complaint = table_->insert(batch);
      for (size_t i = 0; i < batch.keys.size(); i++)
        if (batch.codes[i] == TSR_NOT_PLACED || batch.codes[i] == TSR_EVICTED) {
          handed_back++;
          back_.push_back(batch.back_keys[i]);
          if (batch.back_values[i] != value_of(batch.back_keys[i], recipe_.value_bits) && complaint.empty())
            complaint = "a key was handed back with the value of another";
        } else if (batch.codes[i] != TSR_INSERTED && complaint.empty()) {
          complaint = "a new key was answered by code " + std::to_string(batch.codes[i]);
        }
      return complaint;
    });
    std::sort(back_.begin(), back_.end());
    EXPECT_EQ(std::adjacent_find(back_.begin(), back_.end()), back_.end()) << "a key was handed back twice";
    EXPECT_EQ(size() - before + handed_back, last - first)
        << "growth of size " << size() - before << " and " << handed_back << " handed back are not the " << last - first
        << " keys inserted (P-44: what place() does not place it hands back)";
  }

  // Keys from first to last - 1 are there with their values, but those handed back.
  void look(uint64_t first, uint64_t last, bool were_inserted) {
    uint64_t lost = 0, wrong = 0, invented = 0;
    each_batch(first, last, [&](Batch &batch) {
      std::string complaint = recipe_.value_bits ? table_->find(batch, ~uint64_t{0}) : table_->contains(batch);
      for (size_t i = 0; i < batch.keys.size(); i++) {
        const bool there = recipe_.value_bits ? batch.codes[i] == TSR_FOUND : batch.codes[i] == 1;
        const bool expected = were_inserted && !std::binary_search(back_.begin(), back_.end(), batch.keys[i]);
        lost += expected && !there;
        invented += there && !expected;
        wrong += there && recipe_.value_bits && batch.values[i] != value_of(batch.keys[i], recipe_.value_bits);
      }
      return complaint;
    });
    EXPECT_EQ(lost, 0u) << "keys that were inserted are not found";
    EXPECT_EQ(invented, 0u) << "keys that are not there are found";
    EXPECT_EQ(wrong, 0u) << "keys are found with other values";
  }

  void erase(uint64_t first, uint64_t last) {
    const uint64_t before = size();
    uint64_t there = last - first, gone = 0;
    each_batch(first, last, [&](Batch &batch) {
      std::string complaint = table_->erase(batch);
      gone += static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), TSR_ERASED));
      for (uint64_t key : batch.keys) there -= std::binary_search(back_.begin(), back_.end(), key);
      return complaint;
    });
    EXPECT_EQ(gone, there) << "keys that were there were not erased once each";
    EXPECT_EQ(before - size(), gone) << "the size did not shrink by what was erased";
  }

  void check() { EXPECT_EQ(table_->check(), ""); }

private:
  template <class Body>
  void each_batch(uint64_t first, uint64_t last, Body body) {
    const uint64_t most = 1 << 18; // of a batch: arrays that fit a small machine
    for (uint64_t from = first; from < last && !testing::Test::HasFailure(); from += most) {
      Batch batch;
      for (uint64_t i = from; i < std::min(last, from + most); i++) batch.keys.push_back(key_of(i, recipe_.key_bits));
      std::string complaint = body(batch);
      EXPECT_EQ(complaint, "");
    }
  }

  uint64_t size() {
    uint64_t result = 0;
    EXPECT_EQ(table_->size(&result), "");
    return result;
  }

  Recipe recipe_;
  std::unique_ptr<Table> table_;
  std::vector<uint64_t> back_; // sorted
};

// At its load factor, over it, and again after a third of the pairs went.
void stress(const Recipe &recipe, uint64_t n) {
  const uint64_t more = n / 8;
  std::ostringstream text;
  text << recipe;
  SCOPED_TRACE(text.str() + std::to_string(n) + " pairs");
  Stressed table(recipe, n);
  ASSERT_TRUE(table.is_made());
  table.insert(0, n);
  table.look(0, n, true);
  table.look(2 * n, 2 * n + more, false);
  table.insert(n, n + more); // 0.8 and an eighth of it is 0.9
  table.look(0, n + more, true);
  table.erase(0, n / 3);
  table.look(n / 3, n + more, true);
  table.look(0, n / 3, false);
  table.insert(2 * n, 2 * n + n / 3);
  table.look(2 * n, 2 * n + n / 3, true);
  table.check();
}

TEST_P(OnPluginUnderStress, P41_P43_P44_EveryPairIsThereOrHandedBack) {
  const uint64_t n = pairs_asked();
  uint64_t turn = 0;
  for (Recipe recipe : working_recipes(GetParam())) {
    // what composes with promise_unique alone looks for no key, and a cache always does
    if (recipe.part[TSR_ROLE_EVICTION].empty() && turn++ % 2) recipe.duplicates = TSR_DUPLICATES_PROMISE_UNIQUE;
    stress(recipe, n);
    if (HasFailure()) return;
  }
}

// The same in pages, of those widths that can have them.
TEST_P(OnPluginUnderStress, P41_P43_P44_EveryPairIsThereInPages) {
  for (Recipe recipe : working_recipes(GetParam())) {
    tsr_error error = {};
    recipe.page_bytes = 61440;
    recipe.stash = 1000;
    recipe.capacity = pairs_asked();
    if (!compose(recipe, 1, &error)) recipe.duplicates = TSR_DUPLICATES_PROMISE_UNIQUE;
    if (!compose(recipe, 1, &error)) continue;
    stress(recipe, pairs_asked());
    if (HasFailure()) return;
  }
}

std::vector<PluginFile> stressed() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : subjects())
    if (level() == "stress" && file.role != tsr_role_names[TSR_ROLE_ALLOCATOR]) result.push_back(file);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Kit, OnPluginUnderStress, testing::ValuesIn(stressed()), plugin_test_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnPluginUnderStress);

} // namespace
} // namespace tessera_test
