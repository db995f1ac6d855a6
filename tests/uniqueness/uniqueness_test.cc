// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness under races: batches full of equal keys, inserted by all threads of the cpu backend at a time, leave each
// key once, with a value that the policy allows, and lose none; for every composition of layout and probing scheme.
//
// Built with TSR_TEST_WITHOUT_GUARD, against a library whose guard is compiled out, the same test demands the contrary:
// that keys are duplicated, or lost when a pair moves between look and update. Read next: interleaving_test.cc.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/conformance/kit.h"
#include "tests/oracle/draw.h"
#include "tests/oracle/oracle.h"
#include "tests/oracle/random.h"
#include "tests/oracle/subject.h"

namespace tessera_test {
namespace {

#ifdef TSR_TEST_WITHOUT_GUARD
constexpr bool guarded = false;
#else
constexpr bool guarded = true;
#endif

// What an export says about keys.
struct Census {
  uint64_t duplicates = 0, lost = 0, strangers = 0, wrong_values = 0;
  bool shows_a_race() const { return duplicates + lost > 0; }
  Census &operator+=(const Census &other) {
    duplicates += other.duplicates;
    lost += other.lost;
    strangers += other.strangers;
    wrong_values += other.wrong_values;
    return *this;
  }
};

std::ostream &operator<<(std::ostream &out, const Census &c) {
  return out << c.duplicates << " duplicates, " << c.lost << " lost, " << c.strangers << " strangers, "
             << c.wrong_values << " wrong values";
}

// Counts the entries of the table against what each key may hold.
Census census(Table *table, const std::unordered_map<uint64_t, Values> &expected) {
  std::vector<uint64_t> keys, values;
  std::string complaint = table->exported(&keys, &values);
  EXPECT_EQ(complaint, "");
  Census result;
  std::unordered_map<uint64_t, uint64_t> entries;
  for (size_t i = 0; i < keys.size(); i++) {
    auto at = expected.find(keys[i]);
    result.strangers += at == expected.end();
    result.duplicates += ++entries[keys[i]] > 1;
    if (at != expected.end() && table->value_bits)
      result.wrong_values += !std::binary_search(at->second.begin(), at->second.end(), values[i]);
  }
  for (auto &entry : expected) result.lost += !entries.count(entry.first);
  return result;
}

struct Case {
  std::string layout, probing, hasher;
  uint32_t key_bits, value_bits, policy;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.layout << "_" << c.probing << "_" << c.key_bits << "_" << c.value_bits << "_"
             << policy_words[c.policy];
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  std::ostringstream text;
  text << info.param;
  return text.str();
}

Recipe recipe_of(const Case &c, uint64_t capacity) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = c.layout;
  recipe.part[TSR_ROLE_PROBING] = c.probing;
  recipe.part[TSR_ROLE_HASHER] = c.hasher;
  recipe.key_bits = c.key_bits;
  recipe.value_bits = c.value_bits;
  recipe.duplicates = c.policy;
  recipe.capacity = capacity;
  return recipe;
}

// Every layout x scheme that composes, and of each two of layout, scheme, widths and policy every pair once at least. Without the
// guard every fourth of all is enough: more than a third of such tests showed a race, on two busy cores. ThreadSanitizer sees a
// race in one test that meets it, whoever wins: it gets every seventh of all, and so each layout, scheme, width and policy.
std::vector<Case> cases() {
  const uint64_t stride = !guarded ? 4 : sanitized ? 7 : 1;
  std::vector<Case> result;
  uint64_t turn = 0;
  if (plugins_of(TSR_ROLE_HASHER).empty()) return result;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (Widths widths : tested_widths())
        for (uint32_t policy = 0; policy < TSR_DUPLICATES_PROMISE_UNIQUE; policy++) {
          if (!is_policy_for(widths.value_bits, policy)) continue;
          bool narrow = widths.key_bits == 32 && widths.value_bits <= 32;
          if (!narrow && policy != TSR_DUPLICATES_FIRST && policy != TSR_DUPLICATES_ADD) continue;
          if (turn++ % stride != 0) continue;
          for (const std::string &hasher : plugins_of(TSR_ROLE_HASHER)) {
            const Case c = {layout, probing, hasher, widths.key_bits, widths.value_bits, policy};
            tsr_error error = {};
            const bool works = compose(recipe_of(c, 100), 1, &error) != nullptr;
            if (works) result.push_back(c);
            if (works || widths.key_bits <= 64) break; // not all have code for wide keys
          }
        }
  if (stride > 1) return result;
  return covering(result, [](const Case &c) -> Options {
    return {c.layout, c.probing, std::to_string(c.key_bits) + "_" + std::to_string(c.value_bits),
            policy_words[c.policy]};
  });
}

class Uniqueness : public testing::TestWithParam<Case> {
protected:
  // stash: for the few pairs whose buckets are full, with schemes that move none, while the table still has room.
  void create(uint64_t capacity, uint64_t seed, uint64_t stash = 0) {
    Recipe recipe = recipe_of(GetParam(), capacity);
    recipe.seed = seed;
    recipe.stash = stash;
    SpecPointer spec = spec_of(recipe);
    std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    tsr_table *table = nullptr;
    tsr_error error = {};
    ASSERT_EQ(tsr_table_create(spec.get(), &options, &table, &error), TSR_OK) << error.message;
    table_ = std::make_unique<Table>(table, recipe.key_bits, recipe.value_bits);
  }

  // n offers of `distinct` keys, key k again and again `distinct` items later; values are random.
  Batch batch_of(uint64_t n, uint64_t distinct, Random *random) {
    std::vector<uint64_t> keys(distinct);
    std::unordered_map<uint64_t, bool> taken;
    for (uint64_t &key : keys) do
        key = random->bits(GetParam().key_bits);
      while (!taken.insert({key, true}).second);
    if (distinct > 2) { // the reserved keys race like any other
      keys[0] = width_mask(GetParam().key_bits);
      keys[1] = keys[0] - 1;
    }
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      batch.keys.push_back(keys[i % distinct]);
      batch.values.push_back(random->bits(GetParam().value_bits));
    }
    return batch;
  }

  // What each key may hold after the batch, whatever the order.
  std::unordered_map<uint64_t, Values> expected(const Batch &batch, const Oracle &oracle) {
    std::unordered_map<uint64_t, Values> result;
    for (size_t i = 0; i < batch.keys.size(); i++) {
      uint64_t offered = GetParam().value_bits ? batch.values[i] : 0;
      auto inserted = result.insert({batch.keys[i], {offered}});
      if (inserted.second) continue;
      Values &values = inserted.first->second;
      if (GetParam().policy == TSR_DUPLICATES_FIRST || GetParam().policy == TSR_DUPLICATES_REPLACE)
        values.push_back(offered); // any one of them
      else
        values[0] = oracle.combine(values[0], offered);
    }
    for (auto &entry : result) std::sort(entry.second.begin(), entry.second.end());
    return result;
  }

  // Inserts the batch into the fresh or emptied table and counts; codes must agree with the entries.
  Census insert(Batch batch, uint64_t distinct) {
    Oracle oracle(GetParam().policy, GetParam().value_bits);
    EXPECT_EQ(table_->insert(batch), "");
    uint64_t inserted = static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), TSR_INSERTED));
    uint64_t present = static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), oracle.present_code()));
    if (guarded) {
      EXPECT_EQ(inserted, distinct);
      EXPECT_EQ(inserted + present, batch.keys.size());
      EXPECT_EQ(oracle.insert(batch), "");
    }
    return census(table_.get(), expected(batch, oracle));
  }

  // Repeats body(round) and judges the sum. Guarded: a few rounds, and all is right. Without the guard: until a race
  // shows, with an end; the tests' last word is caught.
  template <class Body>
  void repeat(uint64_t rounds, Body body) {
    Census total;
    for (uint64_t round = 0; round < (guarded ? rounds : 4); round++) {
      total += body(round);
      if (HasFatalFailure() || (!guarded && total.shows_a_race())) break;
    }
    std::ostringstream text;
    text << total;
    if (guarded) {
      EXPECT_EQ(text.str(), "0 duplicates, 0 lost, 0 strangers, 0 wrong values");
    } else {
      EXPECT_EQ(total.strangers, 0u);
      tests_run++;
      tests_with_races += total.shows_a_race();
    }
  }

  std::unique_ptr<Table> table_;

public:
  static inline uint64_t tests_run, tests_with_races;
};

// Keys of a batch: without the guard few, and many batches.
constexpr uint64_t most = guarded ? scaled(50000, 8) : 4 * 2048, many = guarded ? scaled(20000, 4) : most;

// All inserts of a batch want one key.
TEST_P(Uniqueness, AllKeysEqual) {
  TSR_TRACE_SEED;
  Random random(1);
  create(2 * most, 1);
  repeat(2, [&](uint64_t) {
    EXPECT_EQ(table_->clear(), "");
    return insert(batch_of(most, 1, &random), 1);
  });
}

// Equal keys are one range of the parallel loop apart, so that two threads work on them at the same time.
TEST_P(Uniqueness, EqualKeysInDifferentRanges) {
  TSR_TRACE_SEED;
  Random random(2);
  create(2 * many, 1);
  for (uint64_t distinct : {uint64_t{17}, uint64_t{1000}, uint64_t{2048}, many / 3})
    repeat(1, [&](uint64_t) {
      EXPECT_EQ(table_->clear(), "");
      return insert(batch_of(many, distinct, &random), distinct);
    });
}

// Every key twice, neighbours and far apart, in a table that is nearly full: evictions move keys while they are asked
// for.
TEST_P(Uniqueness, EveryKeyTwiceInANearlyFullTable) {
  TSR_TRACE_SEED;
  Random random(3);
  const uint64_t distinct = many / 2;
  repeat(2, [&](uint64_t round) {
    create(distinct * 112 / 100, 1 + round, 64);
    if (!table_) return Census();
    Batch apart = batch_of(2 * distinct, distinct, &random), near = apart;
    for (uint64_t i = 0; i < 2 * distinct; i++) near.keys[i] = apart.keys[i / 2];
    return insert(round % 2 ? near : apart, distinct);
  });
}

// Tombstones: inserts pass them, and claim them.
TEST_P(Uniqueness, InsertEraseInsert) {
  TSR_TRACE_SEED;
  Random random(4);
  const uint64_t distinct = scaled(6000, 4);
  repeat(scaled(2), [&](uint64_t round) {
    create(distinct * 13 / 10, 1 + round, 64);
    if (!table_) return Census();
    Batch batch = batch_of(3 * distinct, distinct, &random);
    Census before = insert(batch, distinct);
    Batch gone;
    gone.keys.assign(batch.keys.begin(), batch.keys.begin() + static_cast<long>(distinct));
    gone.keys.insert(gone.keys.end(), gone.keys.begin(), gone.keys.end()); // twice in one batch
    EXPECT_EQ(table_->erase(gone), "");
    if (before.shows_a_race()) return before;
    uint64_t size = 1;
    EXPECT_EQ(std::count(gone.codes.begin(), gone.codes.end(), TSR_ERASED), static_cast<long>(distinct));
    EXPECT_EQ(table_->size(&size), "");
    EXPECT_EQ(size, 0u);
    Batch others = batch_of(3 * distinct, distinct, &random); // old and new keys for the tombstones
    std::unordered_map<uint64_t, bool> known;
    for (size_t i = 0; i < others.keys.size(); i++) {
      if (i % 2) others.keys[i] = batch.keys[i];
      known[others.keys[i]] = true;
    }
    return before += insert(others, known.size());
  });
}

INSTANTIATE_TEST_SUITE_P(All, Uniqueness, testing::ValuesIn(cases()), case_name);

// Runs last: whether one test shows a race depends on luck. If only one in twenty did, all of some 400 would miss it with
// a probability of 10^-9.
class Caught : public testing::Environment {
  void TearDown() override {
    if (guarded || Uniqueness::tests_run == 0) return;
    printf("%llu of %llu tests without the guard reported duplicates or losses\n",
           (unsigned long long)Uniqueness::tests_with_races, (unsigned long long)Uniqueness::tests_run);
    EXPECT_GT(Uniqueness::tests_with_races, 0u) << "without the guard nothing went wrong: this test cannot fail";
  }
};
const testing::Environment *const caught = testing::AddGlobalTestEnvironment(new Caught);

} // namespace
} // namespace tessera_test
