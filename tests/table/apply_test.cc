// SPDX-License-Identifier: Apache-2.0
//
// tsr_apply, batches of different operations at once, on the cpu backend, for every layout, scheme and policy that may be
// mixed. With distinct keys in a batch every answer is determined; with equal ones counts must add up. That concurrent
// operations have an order is tested by ../history. Read next: lists_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <sstream>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint64_t untouched = 0xA5A5A5A5A5A5A5A5u;

// A batch for tsr_apply and its answers.
struct Mix {
  std::vector<uint8_t> operations, codes;
  std::vector<uint64_t> keys, values, found, back_keys, times;

  void add(uint8_t operation, uint64_t key, uint64_t value) {
    operations.push_back(operation);
    keys.push_back(key);
    values.push_back(value);
  }
  uint64_t count(uint8_t code, uint8_t operation) const {
    uint64_t result = 0;
    for (size_t i = 0; i < codes.size(); i++) result += codes[i] == code && operations[i] == operation;
    return result;
  }
};

// Returns a complaint or "".
std::string apply(Table *table, Mix *mix, uint64_t missing) {
  const size_t n = mix->keys.size();
  Array keys(table->key_bits, mix->keys), values(table->value_bits, mix->values);
  const std::vector<uint64_t> canaries(n, untouched);
  Array found(table->value_bits, canaries), back_keys(table->key_bits, canaries), back(table->value_bits, canaries);
  mix->codes.assign(n, 255);
  mix->times.assign(2 * n, 0);
  tsr_error error = {};
  tsr_call call = {};
  call.results = mix->codes.data();
  call.unplaced_keys = back_keys.data();
  call.unplaced_values = back.data();
  call.missing = missing;
  call.times = mix->times.data();
  if (tsr_apply(table->get(), n, mix->operations.data(), keys.data(), values.data(), found.data(), &call, &error))
    return error.message;
  mix->found = found.numbers(n);
  mix->back_keys = back_keys.numbers(n);
  return "";
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING)) {
      Recipe recipe;
      recipe.part[TSR_ROLE_LAYOUT] = layout;
      recipe.part[TSR_ROLE_PROBING] = probing;
      recipe.part[TSR_ROLE_HASHER] = plugins_of(TSR_ROLE_HASHER)[0];
      recipe.mixed = true;
      recipe.value_bits = 0; // what shows a key before its value may mix sets
      std::vector<std::string> allocators = plugins_of(TSR_ROLE_ALLOCATOR);
      allocators.insert(allocators.begin(), "");
      for (const std::string &allocator : allocators) {
        tsr_error error = {};
        recipe.part[TSR_ROLE_ALLOCATOR] = allocator;
        CompositionPointer composition = compose(recipe, 1, &error);
        if (composition) result.push_back(recipe);
        if (composition && !composition->shape.has_link) break; // it needs none
      }
    }
  return result;
}

std::string recipe_name(const testing::TestParamInfo<Recipe> &info) {
  const Recipe &r = info.param;
  const std::string &allocator = r.part[TSR_ROLE_ALLOCATOR];
  return r.part[TSR_ROLE_LAYOUT] + "_" + r.part[TSR_ROLE_PROBING] + (allocator.empty() ? "" : "_" + allocator);
}

// Number i of distinct keys that even weak hashers send to different buckets.
uint64_t spread(uint64_t i) { return i * 0x9E3779B1u & 0xFFFFFFFFu; }

class Apply : public testing::TestWithParam<Recipe>, protected Judged {
protected:
  // Calls body(recipe) for the widths and policies with which these parts may be mixed.
  template <class Body>
  void for_each(const std::vector<Widths> &all, Body body) {
    uint64_t bodies = 0;
    for (Widths widths : all)
      for (uint32_t policy = 0; policy <= TSR_DUPLICATES_KEEP; policy++) {
        Recipe recipe = GetParam();
        recipe.key_bits = widths.key_bits;
        recipe.value_bits = widths.value_bits;
        recipe.duplicates = policy;
        tsr_error error = {};
        if (!is_policy_for(widths.value_bits, policy)) continue;
        if (!(composition_ = compose(recipe, 1, &error))) continue;
        std::ostringstream text;
        text << recipe;
        SCOPED_TRACE(text.str());
        bodies++;
        body(recipe);
        if (HasFatalFailure()) return;
      }
    EXPECT_GT(bodies, 0u) << "no widths or policy at all";
  }

  static bool looks(uint32_t policy) {
    return policy != TSR_DUPLICATES_PROMISE_UNIQUE && policy != TSR_DUPLICATES_KEEP;
  }

  void flush_lists() {
    tsr_error error = {};
    if (composition_->shape.has_link) {
      ASSERT_EQ(tsr_flush(table_->get(), nullptr, &error), TSR_OK) << error.message;
    }
  }

  std::multimap<uint64_t, uint64_t> pairs() {
    std::vector<uint64_t> keys, values;
    EXPECT_EQ(table_->exported(&keys, &values), "");
    std::multimap<uint64_t, uint64_t> result;
    for (size_t i = 0; i < keys.size(); i++) result.emplace(keys[i], values[i]);
    return result;
  }

  CompositionPointer composition_;
};

// What the table must hold, and what it must have told of.
struct Expected {
  std::multimap<uint64_t, uint64_t> pairs;
  tsr_report report = {};
};

uint64_t the_value(const Expected &expected, uint64_t key) { return expected.pairs.find(key)->second; }

void set_value(Expected *expected, uint64_t key, uint64_t value) { expected->pairs.find(key)->second = value; }

// Judges item i of a batch of distinct keys, and does to `e` what it asked for.
void judge(const Mix &mix, size_t i, const Oracle &oracle, uint32_t policy, uint64_t missing, uint64_t mask,
           Expected *e) {
  const uint64_t key = mix.keys[i], value = mix.values[i], there = e->pairs.count(key);
  const bool looks = policy != TSR_DUPLICATES_PROMISE_UNIQUE && policy != TSR_DUPLICATES_KEEP;
  const uint8_t operation = mix.operations[i];
  uint64_t found = untouched & mask;
  int code = 0;
  if (operation == TSR_OP_INSERT || (operation == TSR_OP_REPLACE && looks)) {
    e->report.insert_keys++;
    if (looks && there) {
      code = operation == TSR_OP_REPLACE ? int{TSR_REPLACED} : int{oracle.present_code()};
      set_value(e, key, operation == TSR_OP_REPLACE ? value : oracle.combine(the_value(*e, key), value));
    } else {
      code = TSR_INSERTED;
      e->pairs.emplace(key, value);
      e->report.inserted++;
    }
  } else if (operation == TSR_OP_ERASE) {
    code = there ? TSR_ERASED : TSR_MISSING;
    e->pairs.erase(key);
    e->report.erase_keys++;
    e->report.erased += there;
  } else if (operation == TSR_OP_FIND) {
    code = there ? TSR_FOUND : TSR_MISSING;
    e->report.find_keys++;
    e->report.found += there != 0;
    found = missing & mask;
    auto range = e->pairs.equal_range(key);
    for (auto at = range.first; at != range.second; ++at)
      if (at == range.first || at->second == mix.found[i]) found = at->second; // any one of them
  }
  ASSERT_EQ(int{mix.codes[i]}, code) << "operation " << int{operation} << " of key " << key << ", there " << there;
  ASSERT_EQ(mix.found[i], found) << "operation " << int{operation} << " of key " << key << ", there " << there;
}

TEST_P(Apply, DistinctKeysHaveOneAnswer) {
  TSR_TRACE_SEED;
  for_each({{32, 32}, {64, 64}, {32, 0}, {64, 32}}, [&](Recipe recipe) {
    Random random(1);
    recipe.capacity = 2000;
    recipe.load_factor = "0.5";
    recipe.statistics = random.chance(2);
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    std::vector<uint64_t> pool = awkward_numbers(recipe.key_bits);
    while (pool.size() < 600) pool.push_back(random.bits(recipe.key_bits));
    std::sort(pool.begin(), pool.end());
    pool.erase(std::unique(pool.begin(), pool.end()), pool.end());
    const uint64_t mask = width_mask(recipe.value_bits);
    Expected expected;
    for (uint64_t round = 0; round < scaled(30, 4); round++) {
      SCOPED_TRACE("round " + std::to_string(round));
      Mix mix;
      for (size_t i = pool.size(); i > 1; i--) std::swap(pool[i - 1], pool[random.below(i)]);
      for (uint64_t i = 0, n = 1 + random.below(pool.size()); i < n; i++) {
        uint8_t operation = static_cast<uint8_t>(random.below(4));
        if (random.chance(30)) operation = random.chance(2) ? 4 : 255;
        const bool is_there = expected.pairs.count(pool[i]) != 0;
        if (recipe.duplicates == TSR_DUPLICATES_PROMISE_UNIQUE && operation == TSR_OP_INSERT && is_there)
          operation = TSR_OP_FIND; // the caller's promise
        if (expected.pairs.count(pool[i]) >= composition_->shape.bucket_slots) operation = TSR_OP_ERASE;
        mix.add(operation, pool[i], random.bits(recipe.value_bits));
      }
      const uint64_t missing = random.next();
      ASSERT_EQ(apply(table_.get(), &mix, missing), "");
      for (size_t i = 0; i < mix.keys.size(); i++)
        ASSERT_NO_FATAL_FAILURE(judge(mix, i, *oracle_, recipe.duplicates, missing, mask, &expected));
      ASSERT_EQ(pairs().size(), expected.pairs.size());
      if (round % 5 != 4) continue;
      ASSERT_NO_FATAL_FAILURE(flush_lists());
    }
    using Pairs = std::vector<std::pair<uint64_t, uint64_t>>;
    auto got_pairs = pairs();
    Pairs got(got_pairs.begin(), got_pairs.end()), wanted(expected.pairs.begin(), expected.pairs.end());
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(got, wanted);
    const tsr_report r = report(), &e = expected.report;
    EXPECT_EQ(r.insert_keys, e.insert_keys);
    EXPECT_EQ(r.inserted, e.inserted);
    EXPECT_EQ(r.not_placed, 0u);
    EXPECT_EQ(r.find_keys, e.find_keys);
    EXPECT_EQ(r.found, e.found);
    EXPECT_EQ(r.erase_keys, e.erase_keys);
    EXPECT_EQ(r.erased, e.erased);
    EXPECT_EQ(r.insert_probes + r.find_probes + r.erase_probes, 0u) << "those of apply are its own";
    if (recipe.statistics) {
      EXPECT_GE(r.apply_probes, r.insert_keys + r.find_keys + r.erase_keys);
      EXPECT_GT(r.apply_probes_max, 0u);
    } else {
      EXPECT_EQ(r.apply_probes + r.apply_probes_max, 0u);
    }
  });
}

uint64_t now() {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

TEST_P(Apply, TimesLieWithinTheCall) {
  TSR_TRACE_SEED;
  Random random(2);
  Recipe recipe = GetParam();
  recipe.capacity = 10000;
  ASSERT_NO_FATAL_FAILURE(create(recipe));
  Mix mix;
  for (uint64_t i = 0; i < scaled(9000, 2); i++) mix.add(static_cast<uint8_t>(random.below(6)), random.below(5000), 0);
  const uint64_t from = now();
  ASSERT_EQ(apply(table_.get(), &mix, 0), "");
  const uint64_t to = now();
  for (size_t i = 0; i < mix.keys.size(); i++) {
    ASSERT_LE(from, mix.times[2 * i]) << i;
    ASSERT_LE(mix.times[2 * i], mix.times[2 * i + 1]) << i;
    ASSERT_LE(mix.times[2 * i + 1], to) << i;
  }
}

// Threads insert, replace, erase and look for the same few keys: an entry of a key at most, and as many as went in and
// did not go out.
TEST_P(Apply, RacesOfEqualKeys) {
  TSR_TRACE_SEED;
  const uint64_t n = 6144; // a thread takes 2048 at a time
  for_each({{32, 32}, {64, 0}}, [&](Recipe recipe) {
    const uint32_t policies[] = {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD, TSR_DUPLICATES_KEEP};
    if (std::find(std::begin(policies), std::end(policies), recipe.duplicates) == std::end(policies)) return;
    const bool keeps_all = recipe.duplicates == TSR_DUPLICATES_KEEP;
    const uint64_t keys = keeps_all ? 200 : 5; // an insert walks past all equal keys
    Random random(3);
    recipe.capacity = 300; // so that slots are soon erased ones, and walks are short
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    std::map<uint64_t, uint64_t> there;
    for (uint64_t round = 0; round < scaled(6, 2); round++) {
      SCOPED_TRACE("round " + std::to_string(round));
      Mix mix;
      for (uint64_t i = 0; i < n; i++) {
        uint64_t key = spread(random.below(keys));
        if (key == 0 && !keeps_all) key = width_mask(recipe.key_bits) - random.below(2);
        mix.add(static_cast<uint8_t>(random.below(4)), key, (key + random.below(100)) & 0xFFFFFFFFu);
      }
      const tsr_report before = report();
      ASSERT_EQ(apply(table_.get(), &mix, 0), "");
      const tsr_report after = report();
      std::map<uint64_t, uint64_t> in, out;
      for (size_t i = 0; i < mix.keys.size(); i++) {
        in[mix.keys[i]] += mix.codes[i] == TSR_INSERTED;
        out[mix.keys[i]] += mix.codes[i] == TSR_ERASED;
        if (mix.codes[i] == TSR_NOT_PLACED) {
          ASSERT_EQ(mix.back_keys[i], mix.keys[i]);
        }
        const bool sums = recipe.duplicates == TSR_DUPLICATES_ADD;
        if (mix.operations[i] == TSR_OP_FIND && mix.codes[i] == TSR_FOUND && recipe.value_bits && !sums) {
          ASSERT_LT((mix.found[i] - mix.keys[i]) & 0xFFFFFFFFu, 100u) << "a value that nobody offered";
        }
      }
      EXPECT_EQ(after.inserted - before.inserted,
                mix.count(TSR_INSERTED, TSR_OP_INSERT) + mix.count(TSR_INSERTED, TSR_OP_REPLACE));
      EXPECT_EQ(after.found - before.found, mix.count(TSR_FOUND, TSR_OP_FIND));
      std::map<uint64_t, uint64_t> entries;
      for (const auto &pair : pairs()) entries[pair.first]++;
      uint64_t size = 0, grown = 0;
      for (const auto &entry : entries) {
        size += entry.second;
        if (!keeps_all) {
          ASSERT_EQ(entry.second, 1u) << "key " << entry.first << " is there more than once";
        }
      }
      for (const auto &entry : in) {
        grown += entry.second;
        if (!keeps_all) {
          ASSERT_EQ(there[entry.first] + entry.second - out[entry.first], entries[entry.first]) << entry.first;
        }
      }
      uint64_t old = 0;
      for (const auto &entry : there) old += entry.second;
      EXPECT_EQ(old + grown - (after.erased - before.erased), size);
      there = entries;
      ASSERT_NO_FATAL_FAILURE(flush_lists());
    }
  });
}

// Where no slot is empty any more, erased ones are taken, under the keys' locks.
TEST_P(Apply, FullTablesTakeErasedSlots) {
  TSR_TRACE_SEED;
  for_each({{32, 32}, {32, 0}}, [&](Recipe recipe) {
    if (composition_->shape.has_link || !looks(recipe.duplicates)) return;
    if (sanitized && (recipe.duplicates != TSR_DUPLICATES_FIRST || !recipe.value_bits)) return;
    Random random(4);
    recipe.capacity = 2500; // more than a thread takes at a time
    recipe.load_factor = "1";
    ASSERT_NO_FATAL_FAILURE(create(recipe));
    const uint64_t slots = info().slots;
    for (uint64_t i = 0, left = 2; left && i < 6; i++) { // until every slot is full
      Mix mix;
      for (uint64_t j = 0; j < slots; j++) mix.add(TSR_OP_INSERT, spread(i * slots + j), 7);
      ASSERT_EQ(apply(table_.get(), &mix, 0), "");
      left = slots - pairs().size();
    }
    const bool passes_all = composition_->shape.holds_many;
    if (passes_all) {
      ASSERT_EQ(pairs().size(), slots);
    }
    Mix gone, mix;
    for (const auto &pair : pairs())
      if (gone.keys.size() < slots / 2) gone.add(TSR_OP_ERASE, pair.first, 0);
    ASSERT_EQ(apply(table_.get(), &gone, 0), "");
    ASSERT_EQ(gone.count(TSR_ERASED, TSR_OP_ERASE), slots / 2);
    const uint64_t size = pairs().size();
    for (uint64_t i = 0; i < 2 * (slots / 2); i++) // each key twice, the second time in another thread's range
      mix.add(TSR_OP_INSERT, spread(10 * slots + i % (slots / 2)), 9);
    ASSERT_EQ(apply(table_.get(), &mix, 0), "");
    std::set<uint64_t> keys;
    for (const auto &pair : pairs()) ASSERT_TRUE(keys.insert(pair.first).second) << pair.first << " is there twice";
    EXPECT_EQ(keys.size(), size + mix.count(TSR_INSERTED, TSR_OP_INSERT));
    if (passes_all) {
      EXPECT_EQ(mix.count(TSR_INSERTED, TSR_OP_INSERT), slots / 2);
      EXPECT_EQ(mix.count(oracle_->present_code(), TSR_OP_INSERT), slots / 2);
    } else {
      EXPECT_GT(mix.count(TSR_INSERTED, TSR_OP_INSERT), 0u);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, Apply, testing::ValuesIn(enough_for_sanitizers(recipes())), recipe_name);

// ---- Arguments ----------------------------------------------------------------------------------

std::unique_ptr<Table> table_of(uint32_t value_bits, bool mixed) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = "packed";
  recipe.part[TSR_ROLE_PROBING] = "linear";
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.value_bits = value_bits;
  recipe.mixed = mixed;
  return std::make_unique<Table>(made(spec_of(recipe).get()), 32, value_bits);
}

TEST(ApplyArguments, AreChecked) {
  std::unique_ptr<Table> table = table_of(32, true), phased = table_of(32, false), set = table_of(0, true);
  tsr_table *t = table->get();
  const uint8_t operations[3] = {TSR_OP_INSERT, TSR_OP_FIND, TSR_OP_ERASE};
  uint32_t keys[3] = {1, 2, 3}, values[3] = {7, 7, 7}, out[3] = {9, 9, 9};
  tsr_error e = {};
  expect_refused(tsr_apply(nullptr, 3, operations, keys, values, out, nullptr, &e), TSR_BAD_ARGUMENT, e, "NULL");
  expect_refused(tsr_apply(t, 3, nullptr, keys, values, out, nullptr, &e), TSR_BAD_ARGUMENT, e, "operations");
  expect_refused(tsr_apply(t, 3, operations, nullptr, values, out, nullptr, &e), TSR_BAD_ARGUMENT, e, "keys");
  expect_refused(tsr_apply(t, 3, operations, keys, nullptr, out, nullptr, &e), TSR_BAD_ARGUMENT, e, "values");
  expect_refused(tsr_apply(t, 3, operations, keys, values, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "values_out");
  expect_refused(tsr_apply(t, uint64_t{1} << 40, operations, keys, values, out, nullptr, &e), TSR_BAD_ARGUMENT, e,
                 "n =");
  expect_refused(tsr_apply(phased->get(), 3, operations, keys, values, out, nullptr, &e), TSR_UNSUPPORTED, e,
                 "concurrency = mixed");
  uint64_t size = 1;
  ASSERT_EQ(tsr_size(t, &size, &e), TSR_OK);
  EXPECT_EQ(size, 0u) << "a refused call did something";
  EXPECT_EQ(out[1], 9u);
  EXPECT_EQ(tsr_apply(t, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &e), TSR_OK) << e.message;
  EXPECT_EQ(tsr_apply(t, 3, operations, keys, values, out, nullptr, &e), TSR_OK) << e.message;
  EXPECT_EQ(out[0], 9u);
  EXPECT_EQ(out[1], 0u);
  EXPECT_EQ(tsr_apply(set->get(), 3, operations, keys, nullptr, nullptr, nullptr, &e), TSR_OK) << e.message;
}

} // namespace
} // namespace tessera_test
