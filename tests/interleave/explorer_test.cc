// SPDX-License-Identifier: Apache-2.0
//
// The explorer itself: what it finds for programs whose outcomes are known, and for random ones that what it leaves out shows
// nothing else. The judge: which answers are right.
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <sstream>

#include "core/compose/settings.h"
#include "core/tessera.h"
#include "tests/interleave/explorer.h"
#include "tests/interleave/judge.h"
#include "tests/oracle/random.h"

namespace {

using namespace interleave;

// An access of the word with this number, or a fence, or a pause.
struct Access {
  interleave_kind kind;
  int word = 0;
  int order = __ATOMIC_RELAXED;
  uint32_t operand = 0, expected = 0;
  bool is_cached = false;
};

using Program = std::vector<std::vector<Access>>;
using Seen = std::vector<uint32_t>; // what each thread's accesses saw, and the memory in the end

std::set<Seen> outcomes_of(const Program &program, Model model, bool reduces = true) {
  static uint32_t words[3];
  memset(words, 0, sizeof words);
  std::vector<std::vector<uint32_t>> seen(program.size());
  std::vector<std::function<void()>> threads;
  for (size_t t = 0; t < program.size(); t++) {
    seen[t].resize(program[t].size());
    threads.push_back([&, t] {
      for (size_t i = 0; i < program[t].size(); i++) {
        const Access &a = program[t][i];
        interleave_access access = {};
        access.kind = a.kind;
        access.order = a.order;
        access.bytes = 4;
        access.is_cached = a.is_cached;
        access.address = &words[a.word];
        access.operand = a.operand;
        access.expected = a.expected;
        step(&access);
        // A lock's bit is all that a thread learns of its word.
        seen[t][i] = (uint32_t)access.seen & (a.kind == INTERLEAVE_OR    ? a.operand
                                              : a.kind == INTERLEAVE_AND ? ~a.operand
                                                                         : ~0u);
      }
    });
  }
  std::set<Seen> all;
  Limits limits;
  limits.reduces = reduces;
  const Outcome outcome = explore(
      {{words, sizeof words}}, model, threads,
      [&] {
        Seen one;
        for (const auto &of_thread : seen) one.insert(one.end(), of_thread.begin(), of_thread.end());
        one.insert(one.end(), words, words + 3);
        all.insert(one);
        return "";
      },
      limits);
  EXPECT_TRUE(outcome.is_whole);
  EXPECT_GE(outcome.executions, all.size());
  return all;
}

Access load(int word, int order = __ATOMIC_RELAXED) { return {INTERLEAVE_LOAD, word, order}; }
Access cached(int word) { return {INTERLEAVE_LOAD, word, __ATOMIC_RELAXED, 0, 0, true}; }
Access store(int word, uint32_t value, int order = __ATOMIC_RELAXED) { return {INTERLEAVE_STORE, word, order, value}; }
Access fence(int order) { return {INTERLEAVE_FENCE, 0, order}; }

// Whether the loads of thread 1 may see this, one after the other.
bool may_see(const Program &program, Model model, uint32_t first, uint32_t second) {
  const size_t before = program[0].size();
  size_t at[2], count = 0;
  for (size_t i = 0; i < program[1].size(); i++)
    if (program[1][i].kind == INTERLEAVE_LOAD) at[count++] = before + i;
  for (const Seen &seen : outcomes_of(program, model))
    if (seen[at[0]] == first && seen[at[1]] == second) return true;
  return false;
}

TEST(Explorer, AMessageIsPassedByReleaseAndAcquire) {
  const auto passes = [](int release, int acquire) {
    return Program{{store(0, 1), store(1, 1, release)}, {load(1, acquire), load(0)}};
  };
  EXPECT_TRUE(may_see(passes(__ATOMIC_RELAXED, __ATOMIC_RELAXED), Model::C11, 1, 0));
  EXPECT_TRUE(may_see(passes(__ATOMIC_RELEASE, __ATOMIC_RELAXED), Model::C11, 1, 0));
  EXPECT_TRUE(may_see(passes(__ATOMIC_RELAXED, __ATOMIC_ACQUIRE), Model::C11, 1, 0));
  EXPECT_FALSE(may_see(passes(__ATOMIC_RELEASE, __ATOMIC_ACQUIRE), Model::C11, 1, 0));
  EXPECT_FALSE(may_see(passes(__ATOMIC_RELAXED, __ATOMIC_RELAXED), Model::SEQUENTIAL, 1, 0));
}

TEST(Explorer, AMessageIsPassedByFences) {
  const Access both[] = {fence(__ATOMIC_RELEASE), fence(__ATOMIC_ACQUIRE), fence(__ATOMIC_ACQ_REL)};
  EXPECT_FALSE(may_see({{store(0, 1), both[0], store(1, 1)}, {load(1), both[1], load(0)}}, Model::C11, 1, 0));
  EXPECT_FALSE(may_see({{store(0, 1), both[2], store(1, 1)}, {load(1), both[2], load(0)}}, Model::L1, 1, 0));
  EXPECT_TRUE(may_see({{store(0, 1), both[1], store(1, 1)}, {load(1), both[1], load(0)}}, Model::C11, 1, 0));
  EXPECT_TRUE(may_see({{store(0, 1), both[0], store(1, 1)}, {load(1), both[0], load(0)}}, Model::C11, 1, 0));
}

TEST(Explorer, LoadsOfOneWordGoForwardOnlyPastL1) {
  EXPECT_FALSE(may_see({{store(0, 1)}, {load(0), load(0)}}, Model::C11, 1, 0));
  EXPECT_FALSE(may_see({{store(0, 1)}, {cached(0), cached(0)}}, Model::C11, 1, 0));
  EXPECT_FALSE(may_see({{store(0, 1)}, {load(0), load(0)}}, Model::L1, 1, 0));
  EXPECT_TRUE(may_see({{store(0, 1)}, {load(0), cached(0)}}, Model::L1, 1, 0));
  EXPECT_TRUE(may_see({{store(0, 1)}, {cached(0), load(0)}}, Model::L1, 1, 0)); // what L1 gave teaches nothing
  EXPECT_FALSE(
      may_see({{store(0, 1), store(1, 1, __ATOMIC_RELEASE)}, {load(1, __ATOMIC_ACQUIRE), cached(0)}}, Model::L1, 1, 0));
  EXPECT_FALSE(may_see({{store(0, 2)}, {cached(0), store(0, 1), cached(0)}}, Model::L1, 0, 0)); // its own write is held
}

TEST(Explorer, StoresAreSeenLateAndLoadsNotEarly) {
  const Program stores = {{store(0, 1), load(1)}, {store(1, 1), load(0)}}; // both may see 0
  bool both_old = false;
  for (const Seen &seen : outcomes_of(stores, Model::C11)) both_old |= seen[1] == 0 && seen[3] == 0;
  EXPECT_TRUE(both_old);
  for (const Seen &seen : outcomes_of(stores, Model::SEQUENTIAL)) EXPECT_TRUE(seen[1] || seen[3]);
  for (const Seen &seen : outcomes_of({{load(1), store(0, 1)}, {load(0), store(1, 1)}}, Model::C11))
    EXPECT_FALSE(seen[0] && seen[2]); // C11 allows it, and needs promises: not modelled
}

TEST(Explorer, TwoReadersMayDisagreeAboutTwoWriters) {
  const Program program = {{store(0, 1)}, {store(1, 1)}, {load(0), load(1)}, {load(1), load(0)}};
  const auto disagree = [&](Model model) {
    for (const Seen &s : outcomes_of(program, model))
      if (s[2] == 1 && s[3] == 0 && s[4] == 1 && s[5] == 0) return true;
    return false;
  };
  EXPECT_TRUE(disagree(Model::C11));
  EXPECT_FALSE(disagree(Model::SEQUENTIAL));
}

TEST(Explorer, WhatReadsAndWritesAtOnceSeesTheLastWrite) {
  const Access add = {INTERLEAVE_ADD, 0, __ATOMIC_RELAXED, 1};
  for (const Seen &seen : outcomes_of({{add, add}, {add}, {add}}, Model::L1)) EXPECT_EQ(seen[4], 4u);
  EXPECT_EQ(outcomes_of({{add}, {add}}, Model::C11).size(), 2u);
}

TEST(Explorer, ReportsALoopWithoutBound) {
  static uint32_t word;
  const auto spin = [] {
    for (uint32_t seen = 1; seen == 1;) {
      interleave_access access = {};
      access.kind = INTERLEAVE_EXCHANGE;
      access.bytes = 4;
      access.address = &word;
      access.operand = 1;
      step(&access);
    }
  };
  word = 1;
  const Outcome outcome = explore({{&word, 4}}, Model::C11, {spin}, [] { return ""; });
  EXPECT_NE(outcome.failure.find("a loop without bound"), std::string::npos) << outcome.failure;
}

// One that waits for another's write ends, however old what it may see is, and sees what was written before.
TEST(Explorer, WaitingEnds) {
  static uint32_t words[2];
  for (int order : {__ATOMIC_ACQUIRE, __ATOMIC_RELAXED}) {
    words[0] = words[1] = 0;
    uint32_t got = 0;
    std::set<uint32_t> all;
    const auto access = [](interleave_kind kind, int word, int order, uint32_t operand) {
      interleave_access a = {};
      a.kind = kind, a.order = order, a.bytes = 4, a.address = &words[word], a.operand = operand;
      step(&a);
      return (uint32_t)a.seen;
    };
    const auto waits = [&] {
      while (!access(INTERLEAVE_LOAD, 1, order, 0)) access(INTERLEAVE_PAUSE, 0, 0, 0);
      got = access(INTERLEAVE_LOAD, 0, __ATOMIC_RELAXED, 0);
    };
    const auto tells = [&] {
      access(INTERLEAVE_STORE, 0, __ATOMIC_RELAXED, 7);
      access(INTERLEAVE_STORE, 1, __ATOMIC_RELEASE, 1);
    };
    const Outcome outcome = explore({{words, 8}}, Model::C11, {waits, tells}, [&] {
      all.insert(got);
      return "";
    });
    EXPECT_EQ(outcome.failure, "");
    EXPECT_LT(outcome.executions, 20u);
    EXPECT_EQ(all, order == __ATOMIC_ACQUIRE ? std::set<uint32_t>{7} : (std::set<uint32_t>{0, 7}));
  }
}

// ---- What is left out shows nothing else ---------------------------------------------------------

Access random_access(tessera_test::Random &random) {
  static const interleave_kind kinds[] = {INTERLEAVE_LOAD,  INTERLEAVE_LOAD,    INTERLEAVE_LOAD, INTERLEAVE_STORE,
                                          INTERLEAVE_STORE, INTERLEAVE_COMPARE, INTERLEAVE_OR,   INTERLEAVE_AND,
                                          INTERLEAVE_ADD,   INTERLEAVE_FENCE};
  Access a = {kinds[random.below(10)]};
  a.word = (int)random.below(2);
  a.operand = (uint32_t)random.below(3) + 1;
  a.expected = (uint32_t)random.below(3);
  a.is_cached = a.kind == INTERLEAVE_LOAD && random.below(3) == 0;
  if (a.kind == INTERLEAVE_OR) a.operand = 16u << random.below(2), a.word = 2, a.order = __ATOMIC_ACQUIRE;
  if (a.kind == INTERLEAVE_AND) a.operand = ~(16u << random.below(2)), a.word = 2, a.order = __ATOMIC_RELEASE;
  if (a.kind == INTERLEAVE_LOAD && !a.is_cached && random.below(2)) a.order = __ATOMIC_ACQUIRE;
  if (a.kind == INTERLEAVE_STORE && random.below(2)) a.order = __ATOMIC_RELEASE;
  if (a.kind == INTERLEAVE_COMPARE || a.kind == INTERLEAVE_FENCE)
    a.order = random.below(2) ? __ATOMIC_ACQUIRE : __ATOMIC_RELEASE;
  return a;
}

std::string text_of(const Program &program) {
  static const char *const names[] = {"load", "store", "exchange", "compare", "or", "and", "add", "fence"};
  std::ostringstream out;
  for (const auto &thread : program) {
    out << "\n  thread:";
    for (const Access &a : thread)
      out << "  " << names[a.kind] << (a.is_cached ? " cached" : "") << " [" << a.word << "] order " << a.order << " "
          << (int)a.operand << "/" << a.expected;
  }
  return out.str();
}

TEST(Explorer, LeavesOutOnlyWhatIsTheSame) {
  tessera_test::Random random(1);
  for (int i = 0; i < 300; i++) {
    Program program(2 + random.below(2));
    for (auto &thread : program)
      for (size_t accesses = program.size() == 2 ? 4 : 3; accesses > 0; accesses--)
        thread.push_back(random_access(random));
    for (Model model : {Model::SEQUENTIAL, Model::C11, Model::L1})
      ASSERT_EQ(outcomes_of(program, model), outcomes_of(program, model, false))
          << "program " << i << ", model " << (int)model << text_of(program);
  }
}

// ---- The judge ----------------------------------------------------------------------------------

Operation insert(uint64_t key, uint64_t value) { return {Verb::INSERT, key, value}; }
const Answer inserted = {TSR_INSERTED};
Answer handed_back(uint64_t key, uint64_t value) { return {TSR_NOT_PLACED, 0, key, value}; }
Rules first() {
  Rules rules;
  rules.policy = TSR_DUPLICATES_FIRST;
  return rules;
}

TEST(Judge, AKeyThatWasHandedBackMayComeAgain) {
  const Pairs before = {{1, 1}, {2, 2}};
  const std::vector<Operation> two = {insert(7, 1), insert(1, 4)};
  EXPECT_EQ(judge(first(), before, two, {handed_back(1, 1), inserted}, {{7, 1}, {1, 4}, {2, 2}}), "");
  EXPECT_EQ(judge(first(), before, two, {handed_back(1, 1), {TSR_PRESENT}}, {{7, 1}, {2, 2}}), "") << "before that";
  EXPECT_NE(judge(first(), before, two, {handed_back(2, 2), inserted}, {{7, 1}, {1, 4}, {1, 1}}), "") << "it is there";
  EXPECT_NE(judge(first(), before, two, {handed_back(1, 4), inserted}, {{7, 1}, {1, 1}, {2, 2}}), "") << "twice";
}

TEST(Judge, APairThatWasHandedBackIsNoLongerThere) {
  const Pairs before = {{1, 1}, {2, 2}};
  const std::vector<Operation> one = {insert(7, 1)};
  EXPECT_EQ(judge(first(), before, one, {handed_back(2, 2)}, {{7, 1}, {1, 1}}), "");
  EXPECT_EQ(judge(first(), before, one, {handed_back(7, 1)}, before), "") << "its own";
  EXPECT_NE(judge(first(), before, one, {handed_back(2, 2)}, {{7, 1}, {1, 1}, {2, 2}}), "") << "it stays";
  EXPECT_NE(judge(first(), before, one, {handed_back(2, 1)}, {{7, 1}, {1, 1}}), "") << "another value";
  EXPECT_NE(judge(first(), before, one, {handed_back(2, 2)}, {{1, 1}}), "") << "two are gone";
  EXPECT_NE(judge(first(), before, one, {inserted}, {{7, 1}, {1, 1}}), "") << "nobody was told";
}

TEST(Judge, EvictionsMayComeBackToThePairThatBeganThem) {
  const Pairs before = {{1, 1}, {2, 2}};
  const std::vector<Operation> two = {insert(7, 1), insert(7, 2)};
  const std::vector<Answer> answers = {handed_back(7, 1), {TSR_PRESENT}};
  Rules moving = first();
  moving.moves_pairs = true;
  EXPECT_EQ(judge(moving, before, two, answers, before), "");
  EXPECT_NE(judge(first(), before, two, answers, before), "") << "nothing moves, so it was never there";
  EXPECT_NE(judge(moving, before, two, answers, {{1, 1}}), "") << "another one is gone";
  EXPECT_NE(judge(moving, before, two, answers, {{1, 1}, {2, 2}, {7, 1}}), "") << "it stays";
}

TEST(Judge, TwoInsertsMayHandBackEachOthersPairs) {
  const std::vector<Operation> two = {insert(7, 1), insert(8, 2)};
  EXPECT_EQ(judge(first(), {{1, 1}, {2, 2}}, two, {handed_back(8, 2), handed_back(7, 1)}, {{1, 1}, {2, 2}}), "");
  EXPECT_NE(judge(first(), {{1, 1}, {2, 2}}, two, {handed_back(8, 2), handed_back(8, 2)}, {{1, 1}, {2, 2}}), "");
  EXPECT_NE(judge(first(), {{1, 1}}, {insert(7, 1), insert(7, 2)}, {handed_back(1, 1), inserted}, {{7, 1}, {7, 2}}),
            "");
}

} // namespace
