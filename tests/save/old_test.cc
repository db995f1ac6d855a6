// SPDX-License-Identifier: Apache-2.0
//
// Tables that 0.1.0 saved are loaded, hold what they held, and go on as tables of today. corpus.py made the files and says
// what is in them.
#include <dirent.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/tessera.h"

namespace {

const char *const kPlugins = "layouts:probing:hashers:allocators:eviction";
const size_t kFiles = 575;

// A pair; a value is its bytes.
using Pair = std::pair<uint64_t, std::string>;
using Pairs = std::vector<Pair>;

std::vector<std::string> split(const std::string &name) {
  std::vector<std::string> words(1);
  for (char letter : name.substr(0, name.rfind('.')))
    if (letter == '-')
      words.emplace_back();
    else
      words.back() += letter;
  return words;
}

// kind, layout, scheme, bits and what else its spec says, as its name has them.
struct File {
  std::string path, name, kind, more;
  unsigned bits = 0;
  explicit File(const std::string &folder, const std::string &file) : path(folder + "/" + file), name(file) {
    const std::vector<std::string> words = split(file);
    kind = words[0];
    bits = words[3] == "32" ? 32 : 64;
    more = words[4];
  }
  bool keeps() const { return kind.compare(0, 5, "multi") == 0; }
  bool has_values() const { return kind == "map" || kind == "multimap" || kind == "counter"; }
};

std::string bytes_of(uint64_t number, size_t bytes) { return {reinterpret_cast<const char *>(&number), bytes}; }

std::vector<uint64_t> keys_of(const File &file) {
  const uint64_t top = file.bits == 32 ? UINT64_C(1) << 32 : 0, mask = top - 1;
  std::vector<uint64_t> keys = {0, 1, 2, (top - 1) & mask, (top - 2) & mask, (top - 3) & mask};
  for (uint64_t i = 1; i < 25; i++) keys.push_back(i * 0x9E3779B97F4A7C15u >> (64 - file.bits));
  if (!file.keeps()) return keys;
  const std::vector<uint64_t> again(keys.begin() + 6, keys.begin() + 12);
  keys.insert(keys.end(), {0, 0, (top - 1) & mask, (top - 2) & mask});
  keys.insert(keys.end(), again.begin(), again.end());
  return keys;
}

std::string value_of(const File &file, uint64_t i) {
  if (!file.has_values()) return "";
  const uint64_t number = file.kind == "counter" ? 1 : 7 * i + 3;
  if (file.more != "value_bytes") return bytes_of(number, file.bits / 8);
  std::string row; // as its hexadecimal digits were written: the first is the first
  for (int word = 0; word < 4; word++)
    for (int shift = 24; shift >= 0; shift -= 8) row += static_cast<char>(number >> shift);
  return row;
}

Pairs known_pairs(const File &file) {
  const std::vector<uint64_t> keys = keys_of(file);
  Pairs pairs;
  for (size_t i = 0; i < keys.size(); i++)
    if (keys[i] != 2 && keys[i] != keys[10]) pairs.emplace_back(keys[i], value_of(file, i)); // those are erased
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

tsr_status load(const std::string &path, tsr_table **table, tsr_error *error) {
  tsr_load_options options = {};
  options.plugins = kPlugins;
  options.backend = "cpu";
  *table = nullptr;
  return tsr_table_load(path.c_str(), &options, table, error);
}

uint64_t number_at(const std::vector<char> &array, size_t i, size_t bytes) {
  uint64_t number = 0;
  memcpy(&number, array.data() + i * bytes, bytes);
  return number;
}

std::vector<char> packed(const std::vector<uint64_t> &numbers, size_t bytes) {
  std::vector<char> array;
  for (uint64_t number : numbers)
    for (size_t i = 0; i < bytes; i++) array.push_back(static_cast<char>(number >> 8 * i));
  return array;
}

Pairs exported(tsr_table *table) {
  tsr_error error = {};
  tsr_table_info info = {};
  uint64_t size = 0;
  tsr_table_describe(table, &info);
  const size_t key_bytes = info.key_bits / 8, value_bytes = info.value_bits / 8;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  std::vector<char> keys(size * key_bytes + 1), values(size * value_bytes + 1);
  EXPECT_EQ(tsr_export(table, size, keys.data(), value_bytes ? values.data() : nullptr, &size, &error), TSR_OK)
      << error.message;
  Pairs pairs;
  for (size_t i = 0; i < size; i++)
    pairs.emplace_back(number_at(keys, i, key_bytes), std::string(values.data() + i * value_bytes, value_bytes));
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

// Each key is found as often as it is there, and one that is not there is not.
void expect_found(tsr_table *table, const File &file, const Pairs &pairs) {
  std::map<uint64_t, uint64_t> expected;
  for (const Pair &pair : pairs) expected[pair.first]++;
  expected[2] += 0;
  expected[keys_of(file)[10]] += 0;
  std::vector<uint64_t> keys, counts(expected.size());
  for (const auto &entry : expected) keys.push_back(entry.first);
  tsr_error error = {};
  const std::vector<char> array = packed(keys, file.bits / 8);
  ASSERT_EQ(tsr_count_all(table, keys.size(), array.data(), counts.data(), nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < keys.size(); i++) EXPECT_EQ(counts[i], expected[keys[i]]) << keys[i];
}

// More pairs of a reserved key than a bucket has, which 0.1.0 had no room for.
void expect_goes_on(tsr_table *table, const File &file, Pairs pairs) {
  const size_t more = file.more == "devices" ? 3 : 9;
  const uint64_t last = file.bits == 32 ? 0xFFFFFFFFu : ~UINT64_C(0);
  const std::vector<char> keys = packed(std::vector<uint64_t>(more, last), file.bits / 8);
  std::vector<char> values(more * 16);
  tsr_error error = {};
  ASSERT_EQ(tsr_insert(table, more, keys.data(), file.has_values() ? values.data() : nullptr, nullptr, &error), TSR_OK)
      << error.message;
  for (size_t i = 0; i < more; i++) pairs.emplace_back(last, std::string(value_of(file, 0).size(), '\0'));
  std::sort(pairs.begin(), pairs.end());
  EXPECT_EQ(exported(table), pairs);
  expect_found(table, file, pairs);
}

void expect_holds(const File &file) {
  SCOPED_TRACE(file.name);
  tsr_error error = {};
  tsr_table *table;
  ASSERT_EQ(load(file.path, &table, &error), TSR_OK) << error.message;
  const Pairs pairs = known_pairs(file);
  ASSERT_EQ(exported(table), pairs);
  expect_found(table, file, pairs);
  const std::string again = file.path + ".again";
  ASSERT_EQ(tsr_table_save(table, again.c_str(), &error), TSR_OK) << error.message;
  const bool has_room = file.keeps() && file.name.find("quotient") == std::string::npos;
  if (has_room) expect_goes_on(table, file, pairs);
  tsr_table_destroy(table);
  ASSERT_EQ(load(again, &table, &error), TSR_OK) << error.message;
  EXPECT_EQ(exported(table), pairs);
  tsr_table_destroy(table);
}

void expect_holds_keys(const File &file) {
  tsr_error error = {};
  tsr_table *table;
  ASSERT_EQ(load(file.path, &table, &error), TSR_OK) << error.message;
  const std::vector<uint64_t> keys = keys_of(file);
  std::vector<uint8_t> present(keys.size());
  ASSERT_EQ(tsr_contains(table, keys.size(), packed(keys, 4).data(), present.data(), nullptr, &error), TSR_OK);
  EXPECT_EQ(std::count(present.begin(), present.end(), 1), static_cast<long>(keys.size()));
  tsr_table_destroy(table);
}

class Old : public testing::Test {
protected:
  static void SetUpTestSuite() {
    folder_ = new std::string(testing::TempDir() + "/old");
    files_ = new std::vector<File>;
    const std::string unpack =
        "mkdir -p " + *folder_ + " && xz -dc tests/save/saved_by_0.1.0.tar.xz | tar -xC " + *folder_;
    ASSERT_EQ(system(unpack.c_str()), 0);
    DIR *listed = opendir(folder_->c_str());
    ASSERT_NE(listed, nullptr);
    while (const dirent *entry = readdir(listed)) {
      const std::string name = entry->d_name;
      if (name.size() > 4 && name.substr(name.size() - 4) == ".tsr") files_->emplace_back(*folder_, name);
    }
    closedir(listed);
  }
  static std::string *folder_;
  static std::vector<File> *files_;
};
std::string *Old::folder_;
std::vector<File> *Old::files_;

TEST_F(Old, TablesHoldWhatTheyHeld) {
  EXPECT_EQ(files_->size(), kFiles);
  for (const File &file : *files_)
    if (file.kind == "filter")
      expect_holds_keys(file);
    else
      expect_holds(file);
}

TEST_F(Old, DamageIsSeen) {
  size_t place = 0;
  for (const File &file : *files_) {
    std::ifstream in(file.path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const std::string bad = file.path + ".bad";
    for (int i = 0; i < 3; i++) {
      std::string bytes = whole;
      place = (place * 31 + 17) % bytes.size();
      if (i == 2)
        bytes.resize(place);
      else
        bytes[place] = static_cast<char>(bytes[place] ^ 1 << place % 8);
      std::ofstream(bad, std::ios::binary | std::ios::trunc) << bytes;
      tsr_error error = {};
      tsr_table *table;
      EXPECT_NE(load(bad, &table, &error), TSR_OK) << file.name << ": byte " << place << (i == 2 ? " is the end" : "");
      EXPECT_EQ(table, nullptr);
      EXPECT_EQ(std::string(error.message).find(bad), 0u) << error.message;
    }
  }
}

} // namespace
