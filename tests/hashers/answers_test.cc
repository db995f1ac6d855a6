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

#include <array>
#include <fstream>
#include <map>
#include <random>
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

#if TSR_KEY_BITS == 128
// The laws of tests/conformance are of keys of at most 64 bits.
TEST(Answers, EachBitOfAKeyFlipsHalfOfTheBitsOfItsHash) {
  constexpr uint32_t samples = 4000;
  tsr_state state = {};
  state.part[TSR_ROLE_HASHER].word[0] = 12345;
  tsr_ctx c = {};
  c.t = &state;
  for (const char *name : {"murmur3", "murmur3_full", "xxhash"}) {
    const tsr_hasher_functions *hasher = functions_of(name);
    ASSERT_NE(hasher, nullptr);
    std::mt19937_64 random(7);
    for (uint32_t bit = 0; bit < TSR_KEY_BITS; bit++) {
      std::array<uint32_t, 64> flips = {};
      for (uint32_t i = 0; i < samples; i++) {
        // dense in one half, random in the other
        const tsr_key half = i, key = i % 2 ? half << 64 | random() : static_cast<tsr_key>(random()) << 64 | half;
        const uint64_t changed =
            hasher->hash(&c, key, i % 3) ^ hasher->hash(&c, key ^ static_cast<tsr_key>(1) << bit, i % 3);
        for (uint32_t at = 0; at < 64; at++) flips[at] += changed >> at & 1;
      }
      for (uint32_t at = 0; at < 64; at++)
        EXPECT_NEAR(flips[at], samples / 2, samples / 20)
            << name << ": bit " << bit << " of a key, " << at << " of its hash";
    }
  }
}
#endif

} // namespace
