// SPDX-License-Identifier: Apache-2.0
//
// Level 4: every layout x probing scheme x hasher that composes, at all widths and policies, against the oracle through
// the public API on the cpu backend. Refused combinations must be refused with a sentence. The quick level asks for random
// operations only, with one hasher for each pair of the others. Read next: lanes_test.cc.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <sstream>

#include "tests/conformance/lanes.h"
#include "tests/oracle/exercise.h"
#include "tests/oracle/filter_exercise.h"

namespace tessera_test {
namespace {

struct Triple {
  std::string layout, probing, hasher;
  bool operator==(const Triple &other) const {
    return layout == other.layout && probing == other.probing && hasher == other.hasher;
  }
};
std::ostream &operator<<(std::ostream &out, const Triple &t) {
  return out << t.layout << "_" << t.probing << "_" << t.hasher;
}

std::string triple_name(const testing::TestParamInfo<Triple> &info) {
  std::ostringstream text;
  text << info.param;
  return text.str();
}

// Those that a plugin under test takes part in.
std::vector<Triple> triples() {
  std::set<std::string> under_test;
  for (const PluginFile &file : subjects()) under_test.insert(file.role + "_" + file.name);
  std::vector<Triple> result;
  const std::vector<std::string> hashers = plugins_of(TSR_ROLE_HASHER);
  const bool is_quick = level() == "quick" || level() == "tsan";
  // Where all plugins are under test two hashers, or one, take their turn with each pair of the others: with each layout
  // from another one on, or as many hashers as schemes would make the same two meet in all layouts.
  size_t layouts = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT)) {
    size_t turn = layouts++;
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING)) {
      turn++;
      for (size_t i = 0; i < hashers.size(); i++) {
        bool has_turn = i == turn % hashers.size() ||
                        (!sanitized && !is_quick && i == (turn + hashers.size() / 2) % hashers.size());
        if (!has_turn && (subjects().size() > 1 || is_quick)) continue;
        if (under_test.count("layout_" + layout) || under_test.count("probing_" + probing) ||
            under_test.count("hasher_" + hashers[i]))
          result.push_back({layout, probing, hashers[i]});
      }
    }
  }
  return result;
}

// Of the widths and policies of a composition, every n-th is tried, others with the next composition: where all
// plugins are under test two hashers share what a layout and a scheme have, and a sanitizer gets a third, of which each layout and
// each scheme meets all. 1: all of them, of a plugin that is tested alone.
uint64_t share() {
  const bool has_two_hashers = !sanitized && level() != "quick" && plugins_of(TSR_ROLE_HASHER).size() > 1;
  return subjects().size() <= 1 || is_one_plugin() ? 1 : sanitized ? 3 : has_two_hashers ? 2 : 1;
}

// Operations of one exercise: fewer where many compositions share the time.
uint64_t effort(uint64_t operations) {
  static const uint64_t count = triples().size();
  return std::max<uint64_t>(10, scaled(operations, 3) * 12 / std::max<uint64_t>(12, count));
}

Recipe recipe_of(const Triple &triple) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = triple.layout;
  recipe.part[TSR_ROLE_PROBING] = triple.probing;
  recipe.part[TSR_ROLE_HASHER] = triple.hasher;
  return recipe;
}

// Whether the parts compose; a scheme that needs an allocator gets the first that it accepts. `first` is what was said
// of the composition without one.
bool compose_with_an_allocator(Recipe *recipe, tsr_error *first) {
  tsr_error error = {};
  bool works = compose(*recipe, 1, first) != nullptr;
  for (const std::string &allocator : plugins_of(TSR_ROLE_ALLOCATOR)) {
    if (works) break;
    recipe->part[TSR_ROLE_ALLOCATOR] = allocator;
    works = compose(*recipe, 1, &error) != nullptr;
  }
  return works;
}

std::unique_ptr<Table> create(const Recipe &recipe) {
  SpecPointer spec = spec_of(recipe);
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  tsr_table *table = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_table_create(spec.get(), &options, &table, &error), TSR_OK) << error.message;
  return table ? std::make_unique<Table>(table, recipe.key_bits, recipe.value_bits) : nullptr;
}

class OnComposition : public testing::TestWithParam<Triple> {
protected:
  // Calls body(recipe) for its share of the widths and policies; those that are refused must say why.
  template <class Body>
  void for_each(bool mixed, Body body) {
    static const std::vector<Triple> all = triples();
    uint64_t turn = static_cast<uint64_t>(
        std::find_if(all.begin(), all.end(), [](const Triple &one) { return one == GetParam(); }) - all.begin());
    for (Widths widths : tested_widths())
      for (uint32_t policy = 0; policy < TSR_DUPLICATES_POLICIES; policy++) {
        if (!is_policy_for(widths.value_bits, policy) || turn++ % share()) continue;
        Recipe r = recipe_of(GetParam());
        r.key_bits = widths.key_bits;
        r.value_bits = widths.value_bits;
        r.duplicates = policy;
        r.mixed = mixed;
        std::ostringstream text;
        text << r;
        SCOPED_TRACE(text.str());
        tsr_error first = {};
        if (!compose_with_an_allocator(&r, &first)) {
          EXPECT_TRUE(first.status == TSR_INCOMPATIBLE || first.status == TSR_UNSUPPORTED) << first.message;
          expect_sentence(first, "a refused composition");
          continue;
        }
        body(r);
        if (HasFailure()) return; // one composition that shows it is enough
      }
  }

  static uint64_t slots(Table *table) {
    tsr_table_info info = {};
    tsr_table_describe(table->get(), &info);
    return info.slots;
  }

  void exercise(const Recipe &recipe, uint64_t stream, uint64_t operations, uint64_t batch_max) {
    std::unique_ptr<Table> table = create(recipe);
    ASSERT_NE(table, nullptr);
    Random random(stream);
    Exercise::Options options;
    options.slots = slots(table.get());
    options.capacity = recipe.capacity;
    options.operations = operations;
    options.batch_max = batch_max;
    Exercise exercise(*table, recipe.duplicates, random, options);
    EXPECT_EQ(exercise.run(), "");
    EXPECT_EQ(exercise.overfill(), "");
  }
};

TEST_P(OnComposition, RandomOperationsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 0;
  for_each(false, [&](Recipe r) {
    for (uint64_t capacity : {7u, 250u}) { // hardly more than a bucket; some dozens
      r.capacity = capacity;
      r.seed = 1 + Random(stream).below(1000);
      exercise(r, ++stream, effort(80), 64);
    }
  });
}

// A table of several pages, whose batches go page by page. What cannot have pages says why.
TEST_P(OnComposition, PagesAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 9000;
  for_each(false, [&](Recipe r) {
    tsr_error error = {};
    r.page_bytes = 1024;
    r.stash = 50;
    r.capacity = 600;
    if (compose(r, 1, &error))
      exercise(r, ++stream, effort(20), 200);
    else
      expect_sentence(error, "a refused table of pages");
  });
}

// Filters of the recipe's parts, or the sentence that refuses them.
void expect_no_key_missed(Recipe r, uint64_t stream) {
  for (uint32_t key_bits : {32u, 64u})
    for (uint64_t capacity : {40u, 1000u}) {
      r.is_filter = true;
      r.key_bits = key_bits;
      r.value_bits = 0;
      r.capacity = capacity;
      tsr_error error = {};
      if (!compose(r, 1, &error)) {
        expect_sentence(error, "a refused filter");
        continue;
      }
      std::ostringstream text;
      text << r;
      SCOPED_TRACE(text.str());
      std::unique_ptr<Table> table = create(r);
      ASSERT_NE(table, nullptr);
      Random random(++stream);
      EXPECT_EQ(FilterExercise(*table, random, capacity / 2).run(effort(80)), "");
    }
}

TEST_P(OnComposition, FiltersMissNoKey) {
  TSR_TRACE_SEED;
  expect_no_key_missed(recipe_of(GetParam()), 12000);
}

class OnCompositionInFull : public OnComposition {};

// Bucket sizes and small bounds of the scheme, at one capacity.
TEST_P(OnCompositionInFull, ParametersDoNotChangeTheMeaning) {
  TSR_TRACE_SEED;
  uint64_t stream = 1000, tried = 0;
  const bool first_hasher = GetParam().hasher == plugins_of(TSR_ROLE_HASHER)[0]; // enough for the other roles
  const tsr_plugin *plugins[TSR_ROLES] = {};
  for (const PluginFile &file : plugin_files())
    if (file.name == recipe_of(GetParam()).part[role_of(file.role)]) plugins[role_of(file.role)] = loaded(file);
  for_each(false, [&](Recipe r) {
    r.capacity = 120;
    for (uint32_t role : {TSR_ROLE_LAYOUT, TSR_ROLE_PROBING, TSR_ROLE_HASHER})
      for (const tsr_parameter *row = plugins[role]->parameters; row->name; row++)
        for (uint64_t value : {row->minimum, row->minimum + 1, row->maximum}) {
          // a bound in the thousands is one of time: what it does to a full table takes as long
          if (value > row->maximum || value > 1000 || (role != TSR_ROLE_HASHER && !first_hasher)) continue;
          if (sanitized && ++tried % 4 != 0) continue;
          Recipe other = r;
          other.set(role, row->name, value);
          tsr_error error = {};
          if (!compose(other, 1, &error)) continue; // an admissible value may need the company of another
          SCOPED_TRACE(std::string(row->name) + " = " + std::to_string(value));
          exercise(other, ++stream, 12, 64);
        }
  });
}

// Batches longer than what one thread takes at a time; ThreadSanitizer sees memory that is reached past the kit.
TEST_P(OnCompositionInFull, P24_ThreadsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 2000;
  for_each(false, [&](Recipe r) {
    if (sanitized && r.key_bits == 64) return;
    r.capacity = 5000;
    std::unique_ptr<Table> table = create(r);
    ASSERT_NE(table, nullptr);
    Random random(++stream);
    Exercise::Options options;
    options.slots = slots(table.get());
    options.pool =
        options.slots * 9 / 10; // walks over thousands of full buckets would take the time of all other tests
    options.operations = draws() ? (finds_races ? 4 : 6) : 12;
    options.batch_max = 7000;
    EXPECT_EQ(Exercise(*table, r.duplicates, random, options).run(), "");
  });
}

// A stash is further room: the same laws, more keys placed.
TEST_P(OnCompositionInFull, StashAgreesWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 7000;
  for_each(false, [&](Recipe r) {
    for (uint64_t stash : {1u, 20u}) {
      r.stash = stash;
      r.capacity = 60;
      exercise(r, ++stream, effort(40), 64);
    }
  });
}

// What may overlap is still right when it does not, and whatever cannot be promised is refused.
TEST_P(OnCompositionInFull, MixedOperationsAgreeWithTheOracle) {
  TSR_TRACE_SEED;
  uint64_t stream = 3000;
  for_each(true, [&](Recipe r) { exercise(r, ++stream, effort(40), 64); });
}

TEST_P(OnCompositionInFull, StatisticsAndOptionalArgumentsChangeNothing) {
  TSR_TRACE_SEED;
  uint64_t stream = 4000;
  for_each(false, [&](Recipe r) {
    r.statistics = true;
    std::unique_ptr<Table> table = create(r);
    ASSERT_NE(table, nullptr);
    Random random(++stream);
    std::set<uint64_t> distinct;
    while (distinct.size() < r.capacity / 2) distinct.insert(random.bits(r.key_bits));
    std::vector<uint64_t> numbers(distinct.begin(), distinct.end());
    uint64_t n = numbers.size();
    Keys keys(r.key_bits, numbers);
    Array found(r.value_bits, n);
    if (r.duplicates == TSR_DUPLICATES_COUNT_8) // greater ones would be cut
      for (uint64_t &number : numbers) number %= 256;
    Array values(r.value_bits, numbers);
    std::vector<uint8_t> present(n, 255);
    tsr_error error = {};
    tsr_report report = {};
    ASSERT_EQ(tsr_insert(table->get(), n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_contains(table->get(), n, keys.data(), present.data(), nullptr, &error), TSR_OK) << error.message;
    EXPECT_EQ(present, std::vector<uint8_t>(n, 1));
    if (r.value_bits) {
      ASSERT_EQ(tsr_find(table->get(), n, keys.data(), found.data(), nullptr, &error), TSR_OK) << error.message;
      EXPECT_EQ(found.numbers(n), values.numbers(n));
    } else {
      EXPECT_EQ(tsr_find(table->get(), n, keys.data(), present.data(), nullptr, &error), TSR_UNSUPPORTED);
    }
    ASSERT_EQ(tsr_erase(table->get(), n, keys.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_report(table->get(), &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.inserted, n);
    EXPECT_EQ(report.found, r.value_bits ? 2 * n : n);
    EXPECT_EQ(report.erased, n);
    CompositionPointer composition = compose(r, 1, &error);
    ASSERT_NE(composition, nullptr) << error.message;
    const uint64_t looks = composition->shape.has_lists ? 0 : 1; // lists are made without a look
    EXPECT_GE(report.insert_probes, looks * n) << "every other operation looks at a bucket";
    EXPECT_GE(report.find_probes, report.found);
    EXPECT_GE(report.erase_probes, n);
    EXPECT_GE(report.insert_probes_max, looks);
    EXPECT_LE(report.find_probes_max, report.find_probes);
    ASSERT_EQ(tsr_table_report_reset(table->get(), &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_report(table->get(), &report, &error), TSR_OK) << error.message;
    EXPECT_EQ(report.inserted + report.find_probes + report.erase_keys, 0u);
  });
}

INSTANTIATE_TEST_SUITE_P(Kit, OnComposition, testing::ValuesIn(triples()), triple_name);
INSTANTIATE_TEST_SUITE_P(Kit, OnCompositionInFull, testing::ValuesIn(triples()), triple_name);
// An allocator tested alone is in none of these.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnComposition);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OnCompositionInFull);

// The hashers whose turn it was may suit no pair that is for filters, which needs one that can be undone.
TEST(Compositions, FiltersOfEveryPartMissNoKey) {
  TSR_TRACE_SEED;
  for (const PluginFile &file : subjects()) {
    const std::vector<Recipe> filters = filter_recipes(file);
    if (!filters.empty()) expect_no_key_missed(filters.front(), 13000);
  }
}

// No plugin may be refused everywhere.
TEST(Compositions, EveryPluginTakesPartInOneThatWorks) {
  std::set<std::string> took_part;
  uint64_t composed = 0, refused = 0;
  for (const Triple &triple : triples())
    for (Widths widths : tested_widths()) {
      Recipe recipe = recipe_of(triple);
      recipe.key_bits = widths.key_bits;
      recipe.value_bits = widths.value_bits;
      tsr_error error = {};
      Recipe unseen = recipe; // some look for no key
      unseen.duplicates = TSR_DUPLICATES_PROMISE_UNIQUE;
      Recipe filter = recipe;
      filter.is_filter = !recipe.value_bits;
      const bool works = compose_with_an_allocator(&recipe, &error) || compose_with_an_allocator(&unseen, &error) ||
                         (filter.is_filter && compose(filter, 1, &error));
      (works ? composed : refused)++;
      if (works) took_part.insert({"layout_" + triple.layout, "probing_" + triple.probing, "hasher_" + triple.hasher});
    }
  printf("%llu compositions worked, %llu were refused\n", (unsigned long long)composed, (unsigned long long)refused);
  for (const PluginFile &file : subjects()) {
    if (file.role == tsr_role_names[TSR_ROLE_ALLOCATOR] || file.role == tsr_role_names[TSR_ROLE_EVICTION]) continue;
    EXPECT_TRUE(took_part.count(file.role + "_" + file.name) || !filter_recipes(file).empty())
        << file << " takes part in no composition that works";
  }
}

} // namespace
} // namespace tessera_test
