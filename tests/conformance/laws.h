// SPDX-License-Identifier: Apache-2.0
//
// The laws of the roles, judged on a part's own functions (level 3). They are compiled once for each pair of widths
// (laws.cc, BUILD); the test (laws_test.cc) chooses compositions and calls them. A law never stops early: lanes of a
// tile must stay in step, so what is wrong is noted and the walk goes on.
#ifndef TSR_TESTS_LAWS_H
#define TSR_TESTS_LAWS_H

#include <cstdint>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/plugin.h"
#include "plugins/probing.cuh"

namespace tessera_test {

// A key of 128 bits in a sentence.
inline std::ostream &operator<<(std::ostream &out, unsigned __int128 key) {
  return out << static_cast<uint64_t>(key >> 64) << " * 2^64 + " << static_cast<uint64_t>(key);
}

// What was found wrong, by any thread.
class Findings {
public:
  template <class... Parts>
  bool expect(bool right, Parts... parts) {
    std::lock_guard<std::mutex> hold(mutex_);
    checks_++;
    if (right) return true;
    std::ostringstream line;
    (line << ... << parts);
    if (++count_ <= 10) text_ += (text_.empty() ? "" : "\n") + line.str();
    return false;
  }
  // "" if all is right.
  std::string text() const { return count_ > 10 ? text_ + "\n... " + std::to_string(count_) + " in all" : text_; }
  uint64_t checks() const { return checks_; }

private:
  std::mutex mutex_;
  std::string text_;
  uint64_t count_ = 0, checks_ = 0;
};

struct Laws {
  uint32_t key_bits, payload_bits;

  // Slots are apart, masks are right, cas expects what load saw, exchange swaps, update combines, erase leaves a
  // tombstone; in the first, the last and the tail buckets. Called in step by every lane of a tile, on a cleared table
  // of `buckets` buckets, tail included.
  void (*layout)(const tsr_ctx *c, uint64_t buckets, const tsr_plan &plan, Findings *findings);

  // Of a layout of whole pairs: what one thread loads while another puts and erases pairs is one of those pairs.
  void (*races)(const tsr_ctx *writer, const tsr_ctx *reader, uint64_t rounds, Findings *findings);

  // Purity, seeds, members. same: two contexts made apart with one seed; others: with other seeds.
  void (*hasher)(const tsr_ctx *same[2], const std::vector<tsr_ctx> &others, Findings *findings);
  // Avalanche and even buckets. sample: keys for each measure.
  // seeds: contexts of one hasher, among which avalanche is averaged; the other laws are of the first.
  void (*mixing)(const std::vector<tsr_ctx> &seeds, uint64_t sample, Findings *findings);

  // Walks end, stay in range, depend on key and state alone; one that is as long as the table visits every bucket once.
  void (*walks)(const tsr_ctx *c, uint64_t keys, Findings *findings);
  // Walks of very many keys end.
  void (*ends)(const tsr_ctx *c, uint64_t keys, Findings *findings);
  // Of a scheme with build(): it finds each key of a batch a bucket.
  void (*build)(const tsr_ctx *c, Findings *findings);
  // The buckets of a key's walk, in order; of the first `limit` + 1 where it is longer.
  std::vector<uint64_t> (*walk)(const tsr_ctx *c, uint64_t key, uint64_t limit);
  // In every page walks begin in the same buckets.
  void (*pages)(const tsr_ctx *c, Findings *findings);
  // Every key of a table is found on its walk, behind buckets without an empty slot if ends_at_empty.
  void (*placement)(const tsr_ctx *c, const std::vector<uint64_t> &keys, Findings *findings);
};

const Laws *laws_for(uint32_t key_bits, uint32_t payload_bits);

#define TSR_TESTS_LAWS_WIDTHS(F)                                                                                       \
  F(_k32c0) F(_k32c32) F(_k32c64) F(_k64c0) F(_k64c32) F(_k64c64) F(_k128c0) F(_k128c32) F(_k128c64)
#define TSR_TESTS_DECLARE_LAWS(suffix) extern const Laws laws##suffix;
TSR_TESTS_LAWS_WIDTHS(TSR_TESTS_DECLARE_LAWS)

} // namespace tessera_test

#endif
