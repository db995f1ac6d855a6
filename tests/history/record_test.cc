// SPDX-License-Identifier: Apache-2.0
//
// Records of a table that is right and of one that is wrong, both of them a word for each key, used by several threads
// at once. The wrong one looks at the word and writes it later, whatever has come between: that must be seen, or no
// record of another table proves anything. Read next: recorded_test.cc (the library's tables).
#include "tests/history/record.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <unordered_map>

#include "core/tessera.h"
#include "plugins/table.h"

namespace tessera_test {
namespace {

enum class Write { IF_UNCHANGED, WHATEVER_CAME_BETWEEN };

class Words : public Recordable {
public:
  explicit Words(Write write) : write_(write) {}

  std::string apply(History *items) override {
    for (const Operation &operation : *items) words_[operation.key]; // no word is added while threads look for theirs
    std::atomic<uint64_t> waiting{THREADS};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < THREADS; t++)
      threads.emplace_back([this, t, items, &waiting] {
        waiting--;
        while (waiting) std::this_thread::yield(); // all begin together
        for (size_t i = t; i < items->size(); i += THREADS) {
          (*items)[i].begin = now();
          perform(&(*items)[i]);
          (*items)[i].end = now();
        }
      });
    for (std::thread &thread : threads) thread.join();
    return "";
  }

  std::string contents(Contents *contents) override {
    contents->clear();
    for (const auto &[key, word] : words_)
      if (word & PRESENT) (*contents)[key] = static_cast<uint32_t>(word);
    return "";
  }

private:
  enum : uint64_t { PRESENT = uint64_t{1} << 32, THREADS = 4 };

  static uint64_t now() {
    return static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
  }

  // duplicates = first
  void perform(Operation *operation) {
    std::atomic<uint64_t> &word = words_.find(operation->key)->second;
    for (bool is_done = false; !is_done;) {
      uint64_t seen = word, next = seen;
      const bool present = seen & PRESENT;
      operation->seen = static_cast<uint32_t>(seen);
      switch (operation->asks) {
      case TSR_OP_FIND:
        operation->result = present ? TSR_FOUND : TSR_MISSING;
        break;
      case TSR_OP_ERASE:
        operation->result = present ? TSR_ERASED : TSR_MISSING;
        next = 0;
        break;
      case TSR_OP_REPLACE:
        operation->result = present ? TSR_REPLACED : TSR_INSERTED;
        next = PRESENT | operation->offered;
        break;
      default:
        operation->result = present ? TSR_PRESENT : TSR_INSERTED;
        if (!present) next = PRESENT | operation->offered;
      }
      if (next == seen) return;
      std::this_thread::yield();
      if (write_ == Write::IF_UNCHANGED) {
        is_done = word.compare_exchange_strong(seen, next);
      } else {
        word = next;
        is_done = true;
      }
    }
  }

  const Write write_;
  std::unordered_map<uint64_t, std::atomic<uint64_t>> words_;
};

const Rules rules = {TSR_DUPLICATES_FIRST, 32};

TEST(Record, ATableThatIsRight) {
  TSR_TRACE_SEED;
  Random random(1);
  Records records;
  for (uint64_t keys : {1, 3, 40}) {
    Words words(Write::IF_UNCHANGED);
    records += record(&words, 32, rules, {keys, 60, 5, scaled(20)}, &random);
  }
  EXPECT_EQ(records.complaint, "");
  EXPECT_EQ(records.undecided, 0u);
  EXPECT_EQ(records.operations, 3 * 60 * 5 * scaled(20));
  EXPECT_GT(records.most_overlapping, 1u) << "nothing ran at the same time";
}

TEST(Record, ATableThatIsWrong) {
  TSR_TRACE_SEED;
  Random random(2);
  for (uint64_t keys : {1, 3, 40}) {
    Words words(Write::WHATEVER_CAME_BETWEEN);
    Records records = record(&words, 32, rules, {keys, 60, 5, 1000}, &random);
    EXPECT_NE(records.complaint, "") << keys << " keys, " << records.operations << " operations";
    std::cout << records.complaint;
  }
}

// Every operation, answer and place of a key comes up, and no value twice.
TEST(Record, WhatIsAsked) {
  TSR_TRACE_SEED;
  class Asked : public Words {
  public:
    Asked() : Words(Write::IF_UNCHANGED) {}
    std::string apply(History *items) override {
      all.insert(all.end(), items->begin(), items->end());
      return Words::apply(items);
    }
    History all;
  } asked;
  Random random(3);
  EXPECT_EQ(record(&asked, 32, rules, {8, 100, 10, 1}, &random).complaint, "");
  std::map<uint64_t, uint64_t> keys, operations, values;
  for (const Operation &operation : asked.all) {
    keys[operation.key]++;
    operations[operation.asks]++;
    values[operation.offered]++;
  }
  EXPECT_EQ(keys.size(), 8u);
  EXPECT_EQ(keys.count(0xFFFFFFFF), 1u); // the bits that mark slots
  EXPECT_EQ(keys.count(0xFFFFFFFE), 1u);
  EXPECT_EQ(operations.size(), 4u);
  EXPECT_EQ(values.size(), asked.all.size());
}

} // namespace
} // namespace tessera_test
