// SPDX-License-Identifier: Apache-2.0
//
// tools/cli/kmer_counter.h: the k-mers of letters, counted as by a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "tests/oracle/random.h"
#include "tools/cli/stream.h"

extern "C" {
#include "tools/cli/kmer_counter.h"
}

namespace tessera_test {
namespace {

using Counts = std::map<tsr_any_key, uint64_t>;

// Pieces of one sequence and runs of one letter, with breaks, so that k-mers repeat and some are their own reverse complement.
std::vector<uint8_t> some_letters(Random &random, size_t count) {
  std::vector<uint8_t> letters, source;
  for (size_t i = 0; i < 3000; i++) source.push_back(static_cast<uint8_t>(random.below(4)));
  while (letters.size() < count) {
    const size_t first = random.below(source.size()), bytes = std::min(source.size() - first, 1 + random.below(900));
    const uint8_t letter = static_cast<uint8_t>(random.below(4));
    if (random.chance(4)) {
      letters.insert(letters.end(), bytes, letter);
    } else {
      letters.insert(letters.end(), source.begin() + first, source.begin() + first + bytes);
    }
    if (random.chance(2)) letters.push_back(TSR_LETTER_BREAK);
  }
  letters.resize(count);
  return letters;
}

void add_up(const std::vector<uint8_t> &letters, uint32_t kmers, bool canonical, Counts *counts) {
  for (size_t i = 0; i + kmers <= letters.size(); i++) {
    tsr_any_key forward = 0, reverse = 0;
    bool is_whole = true;
    for (uint32_t j = 0; j < kmers && is_whole; j++) {
      is_whole = letters[i + j] < TSR_LETTER_BREAK;
      forward = forward << 2 | letters[i + j];
      reverse |= tsr_any_key(3 - letters[i + j] % 4) << (2 * j);
    }
    if (is_whole) (*counts)[canonical ? std::min(forward, reverse) : forward]++;
  }
}

Counts counted(const std::vector<std::vector<uint8_t>> &calls, uint32_t kmers, bool canonical, uint64_t limit) {
  tsr_kmer_counter *counter = nullptr;
  tsr_error error = {};
  tsr_pairs pairs = {};
  Counts counts;
  EXPECT_EQ(tsr_kmer_counter_new(kmers, canonical, limit, &counter, &error), TSR_OK) << error.message;
  for (const std::vector<uint8_t> &letters : calls) {
    std::vector<uint8_t> behind = letters;
    behind.resize(letters.size() + TSR_CHUNK_SPARE);
    EXPECT_EQ(tsr_kmer_counter_add(counter, behind.data(), letters.size(), &error), TSR_OK) << error.message;
  }
  const uint32_t bits = kmers <= 16 ? 32 : kmers <= 32 ? 64 : 128;
  EXPECT_EQ(tsr_kmer_counter_take(counter, bits, &pairs, &error), TSR_OK) << error.message;
  for (uint64_t i = 0; i < pairs.count; i++) {
    const bool is_new = counts.emplace(tsr_key_at(pairs.keys, bits, i), tsr_number_at(pairs.values, 64, i)).second;
    EXPECT_TRUE(is_new) << "pair " << i << " repeats a key";
  }
  free(pairs.keys);
  free(pairs.values);
  tsr_kmer_counter_free(counter);
  return counts;
}

// How many of them have each count, as a tally says.
std::map<uint64_t, uint64_t> tallied(const std::vector<std::vector<uint8_t>> &calls, uint32_t kmers, bool canonical,
                                     uint64_t limit) {
  tsr_kmer_counter *counter = nullptr;
  tsr_error error = {};
  tsr_tally tally;
  std::map<uint64_t, uint64_t> numbers;
  EXPECT_EQ(tsr_kmer_counter_new(kmers, canonical, limit, &counter, &error), TSR_OK) << error.message;
  for (const std::vector<uint8_t> &letters : calls) {
    std::vector<uint8_t> behind = letters;
    behind.resize(letters.size() + TSR_CHUNK_SPARE);
    EXPECT_EQ(tsr_kmer_counter_add(counter, behind.data(), letters.size(), &error), TSR_OK) << error.message;
  }
  EXPECT_EQ(tsr_kmer_counter_tally(counter, &tally, &error), TSR_OK) << error.message;
  tsr_kmer_counter_free(counter);
  for (uint64_t value = 0; value < TSR_TALLY_SMALL; value++)
    if (tally.small[value]) numbers[value] = tally.small[value];
  for (uint64_t i = 0; i < tally.large_count; i++) numbers[tally.large[i]]++;
  tsr_tally_end(&tally);
  return numbers;
}

TEST(KmerCounter, CountsAsAMapDoes) {
  Random random(44);
  std::vector<std::vector<uint8_t>> calls;
  for (size_t size : {30000, 0, 5, 70000}) calls.push_back(some_letters(random, size));
  for (uint32_t kmers : {1, 9, 16, 21, 32, 33, 47, 64})
    for (bool canonical : {false, true}) {
      Counts expected;
      for (const std::vector<uint8_t> &letters : calls) add_up(letters, kmers, canonical, &expected);
      SCOPED_TRACE(testing::Message() << kmers << (canonical ? " canonical" : ""));
      EXPECT_TRUE(counted(calls, kmers, canonical, UINT64_MAX) == expected) << "counted once";
      EXPECT_TRUE(counted(calls, kmers, canonical, 0) == expected) << "counted after each call that outgrows the pairs";
      std::map<uint64_t, uint64_t> numbers;
      for (const auto &kmer : expected) numbers[kmer.second]++;
      EXPECT_EQ(tallied(calls, kmers, canonical, UINT64_MAX), numbers);
      EXPECT_EQ(tallied(calls, kmers, canonical, 0), numbers);
    }
}

} // namespace
} // namespace tessera_test
