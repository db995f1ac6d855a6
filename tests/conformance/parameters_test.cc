// SPDX-License-Identifier: Apache-2.0
//
// Level 2: the parameters of a plugin. Each is documented and bounded, its bounds hold, and the defaults alone work.
// Read next: laws_test.cc.
#include <cctype>
#include <cstring>
#include <set>
#include <sstream>
#include <thread>

#include "tests/conformance/kit.h"
#include "tests/oracle/exercise.h"
#include "tests/oracle/filter_exercise.h"

namespace tessera_test {
namespace {

std::vector<tsr_parameter> rows_of(const tsr_plugin *plugin) {
  std::vector<tsr_parameter> rows;
  for (const tsr_parameter *row = plugin->parameters; row->name; row++) rows.push_back(*row);
  return rows;
}

// Words of the longest sentence.
size_t longest_sentence(const std::string &text) {
  std::istringstream words(text);
  size_t longest = 0, count = 0;
  for (std::string word; words >> word;) {
    longest = std::max(longest, ++count);
    if (word.back() == '.') count = 0;
  }
  return longest;
}

TEST_P(OnPlugin, P11_ParametersAreDocumentedAndBounded) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  std::set<std::string> names;
  std::vector<bool> taken(plugin->config_bytes);
  EXPECT_LE(longest_sentence(plugin->summary), 35u) << "a sentence has too many words: " << plugin->summary;
  for (const tsr_parameter &row : rows_of(plugin)) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second) << "two parameters of one name";
    for (const char *letter = row.name; *letter; letter++)
      EXPECT_TRUE(islower(*letter) || isdigit(*letter) || *letter == '_') << row.name;
    std::string doc = row.doc ? row.doc : "";
    EXPECT_GT(doc.size(), 10u);
    EXPECT_TRUE(!doc.empty() && isupper(doc[0]) && doc.back() == '.') << "no sentence: " << doc;
    EXPECT_EQ(doc.find('\n'), std::string::npos);
    EXPECT_LE(longest_sentence(doc), 35u) << "a sentence has too many words: " << doc;
    EXPECT_LE(row.minimum, row.initial);
    EXPECT_LE(row.initial, row.maximum);
    uint32_t bytes = row.type == TSR_PARAMETER_U32 ? 4 : 8;
    EXPECT_TRUE(row.type == TSR_PARAMETER_U32 || row.type == TSR_PARAMETER_U64);
    EXPECT_TRUE(row.type == TSR_PARAMETER_U64 || row.maximum <= UINT32_MAX);
    ASSERT_LE(row.offset + bytes, plugin->config_bytes);
    EXPECT_EQ(row.offset % bytes, 0u);
    for (uint32_t i = row.offset; i < row.offset + bytes; i++) {
      EXPECT_FALSE(taken[i]) << "two parameters share memory";
      taken[i] = true;
    }
  }
}

// Whether the value is accepted, alone or with other values of the plugin's other parameters: a bound may need company.
bool accepted(const std::vector<Recipe> &recipes, uint32_t role, const std::vector<tsr_parameter> &rows, size_t which,
              uint64_t value, tsr_error *error) {
  size_t combinations = 1;
  for (size_t i = 0; i < rows.size() && combinations < 1000; i++) combinations *= 3;
  for (size_t combination = 0; combination < combinations; combination++)
    for (Recipe recipe : recipes) {
      size_t rest = combination;
      for (size_t i = 0; i < rows.size(); i++, rest /= 3) {
        const uint64_t choices[] = {rows[i].initial, rows[i].minimum, rows[i].maximum};
        if (i != which && rest % 3) recipe.set(role, rows[i].name, choices[rest % 3]);
      }
      recipe.set(role, rows[which].name, value);
      if (compose(recipe, 1, error)) return true;
    }
  return false;
}

TEST_P(OnPlugin, P11_BoundsAreAcceptedAndOnePastIsNot) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  std::vector<tsr_parameter> rows = rows_of(plugin);
  std::vector<Recipe> recipes = all_recipes(GetParam());
  for (size_t i = 0; i < rows.size(); i++) {
    for (uint64_t bound : {rows[i].minimum, rows[i].initial, rows[i].maximum}) {
      tsr_error error = {};
      EXPECT_TRUE(accepted(recipes, plugin->role, rows, i, bound, &error))
          << rows[i].name << " = " << bound << " is in range, but no composition takes it: " << error.message;
    }
    std::vector<uint64_t> outside;
    if (rows[i].minimum > 0) outside.push_back(rows[i].minimum - 1);
    if (rows[i].maximum < UINT64_MAX) outside.push_back(rows[i].maximum + 1);
    for (uint64_t value : outside) {
      tsr_error error = {};
      EXPECT_FALSE(accepted(recipes, plugin->role, rows, i, value, &error)) << rows[i].name << " = " << value;
      EXPECT_EQ(error.status, TSR_BAD_SPEC);
      EXPECT_NE(strstr(error.message, rows[i].name), nullptr) << error.message;
      expect_sentence(error, rows[i].name);
    }
  }
}

TEST_P(OnPlugin, P11_UnknownParametersAreRefused) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (Recipe recipe : all_recipes(GetParam())) {
    recipe.set(plugin->role, "no_such_parameter", 1);
    tsr_error error = {};
    EXPECT_EQ(compose(recipe, 1, &error), nullptr);
    EXPECT_EQ(error.status, TSR_BAD_SPEC);
    EXPECT_NE(strstr(error.message, "no_such_parameter"), nullptr) << error.message;
  }
}

// Every parameter at some values of its range, in all widths and policies, with every companion: what is refused is
// refused with a sentence that names a part or a parameter.
TEST_P(OnPlugin, P13_RefusalsAreSentences) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  std::vector<Recipe> recipes;
  std::vector<std::string> parts[TSR_ROLES];
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    parts[role] = role == plugin->role ? std::vector<std::string>{GetParam().name} : plugins_of(role);
  for (Widths widths : tested_widths())
    for (const std::string &layout : parts[TSR_ROLE_LAYOUT])
      for (const std::string &probing : parts[TSR_ROLE_PROBING]) {
        Recipe recipe;
        recipe.key_bits = widths.key_bits;
        recipe.value_bits = widths.value_bits;
        recipe.part[TSR_ROLE_HASHER] = parts[TSR_ROLE_HASHER][0];
        recipe.part[TSR_ROLE_LAYOUT] = layout;
        recipe.part[TSR_ROLE_PROBING] = probing;
        if (plugin->role == TSR_ROLE_ALLOCATOR) recipe.part[TSR_ROLE_ALLOCATOR] = GetParam().name;
        const bool is_cache = plugin->role == TSR_ROLE_EVICTION; // of which the spec alone refuses some policies
        if (is_cache) recipe.part[TSR_ROLE_EVICTION] = GetParam().name;
        for (recipe.duplicates = 0; recipe.duplicates < TSR_DUPLICATES_POLICIES; recipe.duplicates++)
          for (bool mixed : {false, true}) {
            recipe.mixed = mixed;
            if (is_cache && (mixed || recipe.duplicates > TSR_DUPLICATES_REPLACE)) continue;
            if (is_policy_for(recipe.value_bits, recipe.duplicates)) recipes.push_back(recipe);
          }
      }
  std::vector<Recipe> odd;
  for (const Recipe &recipe : recipes)
    for (const tsr_parameter &row : rows_of(plugin))
      for (uint64_t value : {row.minimum, row.minimum + 1, row.minimum + 2, row.maximum - 1, row.maximum}) {
        if (value < row.minimum || value > row.maximum) continue;
        odd.push_back(recipe);
        odd.back().set(plugin->role, row.name, value);
      }
  recipes.insert(recipes.end(), odd.begin(), odd.end());
  for (size_t i = 0; i < recipes.size(); i += sanitized ? 11 : 3) { // numbers that share no factor: some of every kind
    const Recipe &recipe = recipes[i];
    tsr_error error = {};
    if (compose(recipe, 1, &error)) continue;
    std::ostringstream text;
    text << recipe;
    SCOPED_TRACE(text.str());
    EXPECT_EQ(error.status, TSR_INCOMPATIBLE) << error.message;
    expect_sentence(error, "a refused composition");
    std::string message = error.message;
    bool names = false;
    for (uint32_t role = 0; role < TSR_ROLES; role++) {
      names = names || (!recipe.part[role].empty() &&
                        message.find(tsr_role_names[role] + (" = " + recipe.part[role])) != std::string::npos);
      names = names || message.find("[" + std::string(tsr_role_names[role]) + "] ") != std::string::npos;
    }
    EXPECT_TRUE(names) << "it names neither a part nor a parameter: " << message;
    if (HasFailure()) return;
  }
}

// P-12 and P-10: plan() is a function of its arguments, from any thread.
TEST_P(OnPlugin, P10_P12_PlanIsAFunction) {
  const tsr_plugin *plugin = loaded(GetParam());
  ASSERT_NE(plugin, nullptr);
  for (const Recipe &recipe : all_recipes(GetParam())) {
    tsr_error error = {};
    CompositionPointer composition = compose(recipe, 1, &error);
    ASSERT_NE(composition, nullptr);
    const void *config = composition->part[plugin->role].config;
    tsr_plan plans[3];
    memset(plans, 0, sizeof plans);
    auto plan = [&](int i) {
      if (plugin->role == TSR_ROLE_PROBING) plans[i].probing.buckets = composition->shape.buckets_min;
      tsr_error why = {};
      return plugin->plan(config, &composition->shape, &plans[i], &why);
    };
    tsr_status status = TSR_OK;
    std::thread other([&] { status = plan(1); });
    EXPECT_EQ(plan(0), TSR_OK);
    other.join();
    EXPECT_EQ(status, TSR_OK);
    EXPECT_EQ(plan(2), TSR_OK);
    for (int i = 1; i < 3; i++)
      EXPECT_EQ(memcmp(&plans[i], &plans[0], sizeof plans[0]), 0) << "another call, another plan";
    for (uint32_t i = 0; i < TSR_STATE_WORDS; i++)
      EXPECT_EQ(plans[0].state[i], composition->part[plugin->role].plan.state[i]) << "another plan than the core's";
  }
}

// A table of every width, made and destroyed many times, and used once in a while.
TEST_P(OnPlugin, P08_DefaultsAloneMakeAWorkingTable) {
  TSR_TRACE_SEED;
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  Random random(1);
  for (const Recipe &recipe : all_recipes(GetParam())) {
    std::ostringstream text;
    text << recipe;
    SCOPED_TRACE(text.str());
    SpecPointer spec = spec_of(recipe);
    for (uint64_t i = 0; i < scaled(draws() ? 50 : 200); i++) {
      tsr_table *table = nullptr;
      tsr_error error = {};
      ASSERT_EQ(tsr_table_create(spec.get(), &options, &table, &error), TSR_OK) << error.message;
      Table subject(table, recipe.key_bits, recipe.value_bits);
      if (i % 50 != 0 || !recipe.part[TSR_ROLE_EVICTION].empty()) continue; // what caches do: tests/table/cache_test.cc
      if (recipe.is_filter) {
        EXPECT_EQ(FilterExercise(subject, random, 100).run(20), "");
        continue;
      }
      Exercise::Options exercise;
      exercise.slots = 200;
      exercise.operations = 20;
      EXPECT_EQ(Exercise(subject, recipe.duplicates, random, exercise).run(), "");
    }
  }
}

} // namespace
} // namespace tessera_test
