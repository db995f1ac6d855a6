// SPDX-License-Identifier: Apache-2.0
//
// kit.h: which plugins there are, and specs that name them.
#include "tests/conformance/kit.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <tuple>

#include "tests/oracle/draw.h"

namespace tessera_test {

static const char *environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

const char *built_list() { return environment("TSR_CONFORM_LIST"); }

bool is_one_plugin() { return *environment("TSR_CONFORM") != '\0'; }

bool draws() { return subjects().size() > 1 && !is_one_plugin() && !tests_all(); }

std::string level() {
  const std::string name = environment("TSR_CONFORM_LEVEL");
  return name.empty() ? "full" : name;
}

const std::vector<Widths> &tested_widths() {
  static const std::vector<Widths> tested = [] {
    std::vector<Widths> all = {{32, 0},  {32, 32}, {32, 64},  {64, 0},  {64, 32},
                               {64, 64}, {128, 0}, {128, 32}, {128, 64}};
    const std::string given = environment("TSR_CONFORM_WIDTHS");
    if (given.empty()) return all;
    all.erase(std::remove_if(all.begin(), all.end(),
                             [&given](const Widths &one) {
                               const std::string pair =
                                   std::to_string(one.key_bits) + ":" + std::to_string(one.value_bits);
                               return ("," + given + ",").find("," + pair + ",") == std::string::npos;
                             }),
              all.end());
    EXPECT_FALSE(all.empty()) << "TSR_CONFORM_WIDTHS = " << given;
    return all;
  }();
  return tested;
}

// "a/b/probing_cuckoo.so" -> probing, cuckoo; roles are checked when the file is loaded.
static PluginFile split(const std::string &path, bool is_subject) {
  size_t slash = path.rfind('/');
  std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  size_t bar = file.find('_'), end = file.rfind(".so");
  PluginFile result = {path, file, "", is_subject};
  if (bar != std::string::npos && end != std::string::npos && bar < end) {
    result.role = file.substr(0, bar);
    result.name = file.substr(bar + 1, end - bar - 1);
  }
  return result;
}

const std::vector<PluginFile> &plugin_files() {
  static const std::vector<PluginFile> files = [] {
    std::vector<PluginFile> found;
    std::set<std::string> names;
    std::stringstream given(environment("TSR_CONFORM"));
    for (std::string path; std::getline(given, path, ':');)
      if (!path.empty() && names.insert(path.substr(path.rfind('/') + 1)).second) found.push_back(split(path, true));
    bool all_are_subjects = found.empty();
    std::ifstream built(built_list());
    for (std::string path; std::getline(built, path);)
      if (!path.empty() && names.insert(path.substr(path.rfind('/') + 1)).second)
        found.push_back(split(path, all_are_subjects));
    return found;
  }();
  return files;
}

std::vector<PluginFile> subjects() {
  std::vector<PluginFile> result;
  for (const PluginFile &file : plugin_files())
    if (file.is_subject) result.push_back(file);
  return result;
}

std::vector<std::string> plugins_of(uint32_t role) {
  std::vector<std::string> names;
  for (const PluginFile &file : plugin_files())
    if (file.role == tsr_role_names[role]) names.push_back(file.name);
  return names;
}

std::string plugin_directories() {
  std::string directories;
  std::set<std::string> seen;
  for (const PluginFile &file : plugin_files()) {
    size_t slash = file.path.rfind('/');
    std::string directory = slash == std::string::npos ? "." : file.path.substr(0, slash);
    if (seen.insert(directory).second) directories += (directories.empty() ? "" : ":") + directory;
  }
  return directories;
}

const tsr_plugin *loaded(const PluginFile &file) {
  const tsr_plugin *plugin = nullptr;
  tsr_error error = {};
  if (tsr_registry_load(file.path.c_str(), &plugin, &error)) ADD_FAILURE() << error.message;
  return plugin;
}

uint32_t role_of(const std::string &word) {
  uint32_t role = 0;
  while (role < TSR_ROLES && word != tsr_role_names[role]) role++;
  return role;
}

std::ostream &operator<<(std::ostream &out, const Recipe &recipe) {
  const bool keeps_all = recipe.duplicates == TSR_DUPLICATES_KEEP;
  const bool counts = TSR_POLICY_COUNTS(recipe.duplicates);
  const uint32_t count_bits = recipe.duplicates == TSR_DUPLICATES_COUNT_8    ? 8
                              : recipe.duplicates == TSR_DUPLICATES_COUNT_16 ? 16
                                                                             : recipe.value_bits;
  out << "[table]\nkind = "
      << (recipe.is_filter                          ? "filter"
          : !recipe.part[TSR_ROLE_EVICTION].empty() ? "cache"
          : counts                                  ? "counter"
                   : std::string(keeps_all ? "multi" : "") + (recipe.value_bits ? "map" : "set"))
      << "\nkey_bits = " << recipe.key_bits << "\n";
  if (recipe.value_bytes)
    out << "value_bytes = " << recipe.value_bytes << "\n";
  else if (recipe.value_bits)
    out << "value_bits = " << (counts ? count_bits : recipe.value_bits) << "\n";
  out << "capacity = " << recipe.capacity << "\nload_factor = " << recipe.load_factor << "\nseed = " << recipe.seed
      << "\nbackend = cpu\n";
  if (recipe.lists) out << "values = buckets\n";
  if (!keeps_all && !counts && !recipe.is_filter) out << "duplicates = " << policy_words[recipe.duplicates] << "\n";
  if (recipe.mixed) out << "concurrency = mixed\n";
  if (recipe.stash) out << "stash = " << recipe.stash << "\n";
  if (recipe.page_bytes) out << "page_bytes = " << recipe.page_bytes << "\npage_batch = 1\n";
  if (recipe.filter) out << "filter = " << recipe.filter << "\n";
  if (recipe.statistics) out << "statistics = yes\n";
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    if (!recipe.part[role].empty()) out << tsr_role_names[role] << " = " << recipe.part[role] << "\n";
  std::string section;
  for (const auto &parameter : recipe.parameters) { // sorted, so a section comes once
    size_t dot = parameter.first.find('.');
    if (parameter.first.substr(0, dot) != section) out << "[" << (section = parameter.first.substr(0, dot)) << "]\n";
    out << parameter.first.substr(dot + 1) << " = " << parameter.second << "\n";
  }
  return out;
}

SpecPointer spec_of(const Recipe &recipe) {
  std::ostringstream text;
  text << recipe;
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  if (tsr_spec_parse(text.str().c_str(), "kit.ini", &spec, &error))
    ADD_FAILURE() << error.message << "\n" << text.str();
  return SpecPointer(spec);
}

CompositionPointer compose(const Recipe &recipe, uint32_t lanes, tsr_error *error, uint32_t sm) {
  SpecPointer spec = spec_of(recipe);
  std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  tsr_composition *composition = nullptr;
  tsr_status status = tsr_compose(spec.get(), &options, sm, lanes, &composition, error);
  EXPECT_EQ(status == TSR_OK, composition != nullptr);
  return CompositionPointer(composition);
}

// Tries companions until a composition works, at each pair of widths.
static std::vector<Recipe> search_recipes(const PluginFile &file, uint32_t sm, bool filters) {
  std::vector<Recipe> result;
  uint32_t own = role_of(file.role);
  std::vector<std::string> parts[TSR_ROLES];
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    parts[role] = role == own ? std::vector<std::string>{file.name} : plugins_of(role);
    if (role == TSR_ROLE_ALLOCATOR && role != own) parts[role].insert(parts[role].begin(), "");
  }
  if (filters) parts[TSR_ROLE_ALLOCATOR] = {""};
  for (Widths widths : tested_widths()) {
    if (filters && widths.value_bits) continue;
    bool works = false;
    Recipe recipe;
    if (own == TSR_ROLE_EVICTION) recipe.part[TSR_ROLE_EVICTION] = file.name;
    recipe.is_filter = filters;
    recipe.key_bits = widths.key_bits;
    recipe.value_bits = widths.value_bits;
    for (uint32_t duplicates : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_PROMISE_UNIQUE}) // some look for no key
      for (const auto &layout : parts[TSR_ROLE_LAYOUT])
        for (const auto &probing : parts[TSR_ROLE_PROBING])
          for (const auto &hasher : parts[TSR_ROLE_HASHER])
            for (const auto &allocator : parts[TSR_ROLE_ALLOCATOR]) {
              if (works) break;
              recipe.duplicates = duplicates;
              recipe.part[TSR_ROLE_LAYOUT] = layout;
              recipe.part[TSR_ROLE_PROBING] = probing;
              recipe.part[TSR_ROLE_HASHER] = hasher;
              recipe.part[TSR_ROLE_ALLOCATOR] = allocator;
              tsr_error error = {};
              works = compose(recipe, 1, &error, sm) != nullptr;
            }
    if (works) result.push_back(recipe);
  }
  return result;
}

// Those with kind = filter, or those of all other kinds. A pair of widths that no composition has is found out once: it takes
// thousands of attempts.
static const std::vector<Recipe> &recipes_of(const PluginFile &file, uint32_t sm, bool filters) {
  static std::map<std::tuple<std::string, uint32_t, bool>, std::vector<Recipe>> found;
  const auto key = std::make_tuple(file.path, sm, filters);
  const auto known = found.find(key);
  return known != found.end() ? known->second : found.emplace(key, search_recipes(file, sm, filters)).first->second;
}

static bool is_bucketed(const PluginFile &file) {
  return file.role == tsr_role_names[TSR_ROLE_LAYOUT] || file.role == tsr_role_names[TSR_ROLE_PROBING];
}

std::vector<Recipe> working_recipes(const PluginFile &file, uint32_t sm) {
  std::vector<Recipe> result = recipes_of(file, sm, false);
  EXPECT_FALSE(result.empty() && filter_recipes(file, sm).empty())
      << file << " works with its default parameters in no composition at all";
  return result;
}

std::vector<Recipe> filter_recipes(const PluginFile &file, uint32_t sm) {
  return is_bucketed(file) ? recipes_of(file, sm, true) : std::vector<Recipe>();
}

std::vector<Recipe> all_recipes(const PluginFile &file, uint32_t sm) {
  std::vector<Recipe> result = working_recipes(file, sm);
  for (const Recipe &recipe : filter_recipes(file, sm)) result.push_back(recipe);
  return result;
}

void expect_sentence(const tsr_error &error, const std::string &about) {
  std::string text = error.message;
  EXPECT_GE(std::count(text.begin(), text.end(), ' '), 4) << about << ": no sentence: '" << text << "'";
  EXPECT_EQ(text.find('\n'), std::string::npos) << about << ": more than one line: '" << text << "'";
  EXPECT_LT(text.size() + 1, size_t{TSR_MESSAGE_BYTES}) << about << ": cut: '" << text << "'";
}

} // namespace tessera_test
