// SPDX-License-Identifier: Apache-2.0
//
// Known answers: published functions and formulas, computed by others (answers.tsv says by whom), against the plugins'
// own functions. A hasher needs nothing but its state words, so the context is made by hand. BUILD compiles this once
// for each width of keys, as TSR_KEY_BITS.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wextra" // C may mix enumerators and numbers in `?:`
#include "plugins/hasher.cuh"
#pragma GCC diagnostic pop

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "core/compose/registry.h"

namespace {

const tsr_hasher_functions *functions_of(const std::string &name) {
  const tsr_plugin *plugin = nullptr;
  tsr_error error = {};
  if (tsr_registry_find("hashers", TSR_ROLE_HASHER, name.c_str(), &plugin, &error)) {
    ADD_FAILURE() << error.message;
    return nullptr;
  }
  for (const tsr_image *image = plugin->images; image->functions; image++)
    if (image->key_bits == TSR_KEY_BITS) return static_cast<const tsr_hasher_functions *>(image->functions);
  ADD_FAILURE() << name << " has no functions for keys of " << TSR_KEY_BITS << " bits";
  return nullptr;
}

// Of the digits behind 0x.
tsr_key key_of(const std::string &text) {
  tsr_key key = 0;
  for (size_t i = 2; i < text.size(); i++)
    key = static_cast<tsr_key>(key << 4 | static_cast<tsr_key>(std::stoul(text.substr(i, 1), nullptr, 16)));
  return key;
}

TEST(Answers, AreThePublishedOnes) {
  std::ifstream file("tests/hashers/answers.tsv");
  ASSERT_TRUE(file.is_open());
  std::map<std::string, const tsr_hasher_functions *> hashers;
  uint32_t number = 0, checked = 0;
  for (std::string line; std::getline(file, line);) {
    number++;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream row(line);
    std::string name;
    uint32_t key_bits = 0, i = 0;
    uint64_t hash = 0;
    std::string key;
    tsr_state state = {};
    uint64_t *word = state.part[TSR_ROLE_HASHER].word;
    row >> name >> std::dec >> key_bits >> std::hex >> word[0] >> word[1] >> word[2] >> std::dec >> i >> std::hex >>
        key >> hash;
    ASSERT_FALSE(row.fail()) << "line " << number << ": " << line;
    if (key_bits != TSR_KEY_BITS) continue;
    auto [entry, is_new] = hashers.try_emplace(name, nullptr);
    if (is_new) entry->second = functions_of(name);
    if (!entry->second) continue;
    tsr_ctx c = {};
    c.t = &state;
    EXPECT_EQ(entry->second->hash(&c, key_of(key), i), hash) << "line " << number << ": " << line;
    checked++;
  }
  EXPECT_GE(checked, 10u * hashers.size());
  EXPECT_GE(hashers.size(), 1u);
}

} // namespace
