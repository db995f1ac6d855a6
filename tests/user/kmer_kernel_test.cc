// SPDX-License-Identifier: Apache-2.0
//
// tools/cli/kmer_kernel.h on the cpu backend: k-mers that a kernel makes of letters, and those that the host makes without a
// compiler, in a table and as counted by a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/codegen/choices.h"
#include "tests/oracle/random.h"

extern "C" {
#include "tools/cli/kmer_kernel.h"
#include "tools/cli/pairs.h"
#include "tools/cli/sequence.h"
}

namespace tessera_test {
namespace {

using Counts = std::map<tsr_any_key, uint64_t>;

// Breaks, and pieces of one sequence, so that k-mers repeat.
std::vector<uint8_t> some_letters(Random &random, size_t count) {
  std::vector<uint8_t> letters, source;
  for (size_t i = 0; i < 1000; i++) source.push_back(static_cast<uint8_t>(random.below(4)));
  while (letters.size() < count) {
    const size_t first = random.below(source.size()), bytes = std::min(source.size() - first, 1 + random.below(300));
    letters.insert(letters.end(), source.begin() + first, source.begin() + first + bytes);
    if (random.chance(2)) letters.push_back(TSR_LETTER_BREAK);
  }
  letters.resize(count);
  return letters;
}

Counts expected_of(const std::vector<std::vector<uint8_t>> &calls, uint32_t kmers, bool canonical) {
  Counts counts;
  for (const std::vector<uint8_t> &letters : calls)
    for (size_t i = 0; i + kmers <= letters.size(); i++) {
      tsr_any_key forward = 0, reverse = 0;
      bool is_whole = true;
      for (uint32_t j = 0; j < kmers && is_whole; j++) {
        is_whole = letters[i + j] < TSR_LETTER_BREAK;
        forward = forward << 2 | letters[i + j];
        reverse |= tsr_any_key(3 - letters[i + j] % 4) << (2 * j);
      }
      if (is_whole) counts[canonical ? std::min(forward, reverse) : forward]++;
    }
  return counts;
}

tsr_table *table_of(uint32_t key_bits) {
  const std::string text = "[table]\nkind = counter\nvalue_bits = 64\nlayout = soa\nprobing = double_hashing\n"
                           "hasher = murmur3\nbackend = cpu\ngrowth = double\ncapacity = 100\nkey_bits = " +
                           std::to_string(key_bits) + "\n";
  tsr_spec *spec = nullptr;
  tsr_table *table = nullptr;
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "counts", &spec, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  tsr_spec_free(spec);
  return table;
}

Counts counted(const std::vector<std::vector<uint8_t>> &calls, uint32_t kmers, bool canonical, bool has_kernel) {
  const uint32_t bits = kmers <= 16 ? 32 : kmers <= 32 ? 64 : 128;
  tsr_table *table = table_of(bits);
  tsr_kmer_kernel *kernel = nullptr;
  tsr_error error = {};
  const char *why = "";
  Counts counts;
  EXPECT_EQ(tsr_kmer_kernel_new(table, kmers, canonical, 1 << 16, &kernel, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_kmer_kernel_is_on_device(kernel, &why), has_kernel) << why;
  for (const std::vector<uint8_t> &letters : calls)
    EXPECT_EQ(tsr_kmer_kernel_add(kernel, letters.data(), letters.size(), &error), TSR_OK) << error.message;
  tsr_kmer_kernel_free(kernel);
  uint64_t size = 0;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  std::vector<tsr_any_key> room(size + 1);
  std::vector<uint64_t> values(size + 1);
  EXPECT_EQ(tsr_export(table, size, room.data(), values.data(), &size, &error), TSR_OK) << error.message;
  for (uint64_t i = 0; i < size; i++) counts[tsr_key_at(room.data(), bits, i)] = values[i];
  tsr_table_destroy(table);
  return counts;
}

void expect_counts(const std::vector<uint32_t> &lengths, bool has_kernel) {
  Random random(44);
  std::vector<std::vector<uint8_t>> calls;
  for (size_t size : {20000, 0, 5, 30000}) calls.push_back(some_letters(random, size));
  for (uint32_t kmers : lengths)
    for (bool canonical : {false, true}) {
      SCOPED_TRACE(testing::Message() << kmers << (canonical ? " canonical" : ""));
      EXPECT_TRUE(counted(calls, kmers, canonical, has_kernel) == expected_of(calls, kmers, canonical));
    }
}

TEST(KmerKernel, CountsAsAMapDoes) {
  unsetenv("TESSERA_CC"); // with which the other tests forbid compilers
  expect_counts({16, 21, 33, 63}, true);
}

// Other lengths than above, whose kernels are cached.
TEST(KmerKernel, LeavesItToTheHostWithoutACompiler) {
  setenv("TESSERA_CC", "", 1);
  expect_counts({1, 15, 31, 32, 47, 64}, false);
}

} // namespace
} // namespace tessera_test
