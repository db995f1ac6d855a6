// SPDX-License-Identifier: Apache-2.0
//
// Every order of a few operations, for every way in which a pair is guarded, and with planted faults, each of which must be
// found. What that shows and what it does not: README.md. TSR_INTERLEAVE=CASE prints how many orders each case has.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/interleave/walk.h"

namespace {

using namespace interleave;

using Operations = std::vector<Operation>;

constexpr uint64_t EMPTY_KEY = 0xFFFFFFFF; // marks an empty slot of 32-bit keys

Operation insert(uint64_t key, uint64_t value) { return {Verb::INSERT, key, value}; }
Operation find(uint64_t key) { return {Verb::FIND, key, 0}; }
Operation erase(uint64_t key) { return {Verb::ERASE, key, 0}; }
Operation find_or_insert(uint64_t key, uint64_t value) { return {Verb::FIND_OR_INSERT, key, value}; }

// ---- What is done -------------------------------------------------------------------------------

// Who may overlap: inserts each other and erases each other (PHASED), finds both as well (TURNS), all (MIXED).
enum Overlap { PHASED, TURNS, MIXED };

struct Scenario {
  const char *name;
  Overlap least;
  Operations before, at_once;
  bool once = false; // only where a key has one pair
};

const std::vector<Scenario> &scenarios() {
  static const std::vector<Scenario> all = {
      {"OneKeyTwice", PHASED, {}, {insert(7, 1), insert(7, 2)}},
      {"OneKeyThrice", PHASED, {}, {insert(7, 1), insert(7, 2), insert(7, 4)}},
      {"APresentKeyTwice", PHASED, {insert(7, 16)}, {insert(7, 1), insert(7, 2)}},
      {"OneKeyBesideAnother", PHASED, {insert(5, 16)}, {insert(7, 1), insert(7, 2), insert(9, 4)}},
      {"OneKeyBehindAnErasedOne", PHASED, {insert(5, 16), insert(7, 32), erase(5)}, {insert(7, 1), insert(7, 2)}},
      {"OneKeyInPlaceOfErasedOnes",
       PHASED,
       {insert(5, 16), insert(6, 32), erase(5), erase(6)},
       {insert(7, 1), insert(7, 2)}},
      {"OneKeyBeyondErasedOnes",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(7, 8), erase(1), erase(2), erase(3), erase(4)},
       {insert(7, 1), insert(7, 2)}},
      {"OneKeyWhereAllWereErased",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(5, 5), erase(1), erase(2), erase(3), erase(4),
        erase(5)},
       {insert(7, 1), insert(7, 2)}},
      {"TwoKeysForTheLastSlot", PHASED, {insert(1, 1), insert(2, 2), insert(3, 3)}, {insert(7, 1), insert(8, 2)}},
      {"OneKeyWhenNearlyFull",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4)},
       {insert(7, 1), insert(7, 2)}},
      {"TwoKeysWhenFull",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(5, 5)},
       {insert(7, 1), insert(8, 2)}},
      {"AnEvictedKeyAgain",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(5, 5)},
       {insert(7, 1), insert(1, 2)}},
      {"TheKeyOfEmptySlotsTwice", PHASED, {}, {insert(EMPTY_KEY, 1), insert(EMPTY_KEY, 2)}},
      {"OneKeyErasedTwice", PHASED, {insert(7, 1), insert(5, 2)}, {erase(7), erase(7)}},
      {"TwoKeysErased", PHASED, {insert(7, 1), insert(5, 2)}, {erase(7), erase(5)}},
      {"FoundOrInsertedTwice", PHASED, {}, {find_or_insert(7, 1), find_or_insert(7, 2)}, true},
      {"FoundOrInsertedBesideAnInsert", PHASED, {}, {find_or_insert(7, 1), insert(7, 2)}, true},
      {"AFindMeetsAnInsert", TURNS, {}, {insert(7, 1), find(7)}, true},
      {"AFindMeetsTwoInserts", TURNS, {insert(7, 8)}, {insert(7, 1), insert(7, 2), find(7)}, true},
      {"AFindMeetsAnErase", TURNS, {insert(5, 1), insert(7, 2)}, {erase(7), find(7)}, true},
      {"AFindBehindAnErase", TURNS, {insert(5, 1), insert(7, 2)}, {erase(5), find(7)}, true},
      {"AnInsertMeetsAnErase", MIXED, {insert(7, 8)}, {insert(7, 1), erase(7)}, true},
      {"TwoInsertsMeetAnErase", MIXED, {insert(7, 8)}, {insert(7, 1), insert(7, 2), erase(7)}, true},
      {"AllThreeMeet", MIXED, {insert(5, 4), insert(7, 8)}, {insert(7, 1), erase(7), find(7)}, true},
  };
  return all;
}

// ---- Where it is done ---------------------------------------------------------------------------

struct Shape {
  const char *name, *spec;
  Overlap overlap = PHASED;
  bool once = true;
};

std::ostream &operator<<(std::ostream &out, const Shape &shape) { return out << shape.name; }

// Buckets of two slots, few enough of them that keys meet.
#define TWO "capacity=4 layout.bucket_slots=2"
#define CUCKOO " probing=cuckoo probing.max_chain=3" // evictions of one insert: more of them make more orders
#define LISTS "capacity=4 layout=slab probing=slab_list allocator=free_list"

const Shape shapes[] = {
    {"Linear", TWO " probing=linear"},
    {"LinearSoaAdd", TWO " layout=soa probing=linear duplicates=add"},
    {"Quadratic", TWO " probing=quadratic duplicates=replace"},
    {"DoubleHashing", TWO},
    {"DoubleHashingAdd", TWO " duplicates=add"},
    {"DoubleHashingSaturating", TWO " duplicates=add overflow=saturate"},
    {"DoubleHashingMinAos", TWO " layout=aos duplicates=min"},
    {"DoubleHashingMaxSoa", TWO " layout=soa duplicates=max"},
    {"DoubleHashingSoa", TWO " layout=soa"},
    {"DoubleHashingReplaceAos", TWO " layout=aos duplicates=replace"},
    {"DoubleHashingWide", TWO " key_bits=64 value_bits=64 duplicates=replace"},
    {"DoubleHashingStash", TWO " stash=2"},
    {"Tagged", "capacity=8 layout=tagged"},
    {"Counter", TWO " kind=counter"},
    {"Multimap", TWO " kind=multimap", PHASED, false},
    {"MixedDoubleHashing", TWO " concurrency=mixed", TURNS},
    {"MixedDoubleHashingReplace", TWO " concurrency=mixed duplicates=replace", TURNS},
    {"MixedLinearAddWide", TWO " key_bits=64 value_bits=64 probing=linear concurrency=mixed duplicates=add", TURNS},
    {"Cuckoo", TWO CUCKOO},
    {"CuckooAdd", TWO CUCKOO " duplicates=add"},
    {"CuckooStash", TWO CUCKOO " stash=2 duplicates=replace"},
    {"CuckooOneSlot", "capacity=4 layout.bucket_slots=1" CUCKOO},
    {"RobinHood", TWO " probing=robin_hood"},
    {"RobinHoodAdd", TWO " probing=robin_hood duplicates=add"},
    {"TwoChoice", TWO " probing=two_choice"},
    {"TwoChoiceAdd", TWO " probing=two_choice duplicates=add"},
    {"Iceberg", TWO " probing=iceberg"},
    {"Quotient", TWO " layout=quotient hasher=mueller page_bytes=auto probing=linear"},
    {"SlabLists", LISTS},
    {"SlabListsMixed", LISTS " concurrency=mixed", MIXED},
    {"SlabListsMixedReplace", LISTS " concurrency=mixed duplicates=replace", MIXED},
};

// The same with other keys, which meet in other buckets.
Operations with_keys(Operations operations, uint64_t more) {
  for (Operation &o : operations)
    if (o.key != EMPTY_KEY) o.key += more;
  return operations;
}

const uint64_t all_keys[] = {0, 100};

bool prints() { return getenv("TSR_INTERLEAVE") != nullptr; }

bool goes_with(const Scenario &s, const Shape &shape) { return s.least <= shape.overlap && (shape.once || !s.once); }

class Shapes : public testing::TestWithParam<Shape> {};

TEST_P(Shapes, EveryOrderIsExplained) {
  const Shape &shape = GetParam();
  for (const Scenario &s : scenarios()) {
    if (!goes_with(s, shape)) continue;
    for (uint64_t more : all_keys) {
      if (more && s.at_once.size() > 2) continue; // most orders by far
      SCOPED_TRACE(std::string(s.name) + ", keys + " + std::to_string(more));
      const Verdict v = explore_case({shape.spec, with_keys(s.before, more), with_keys(s.at_once, more)}, Model::STALE);
      ASSERT_EQ(v.refusal, "");
      EXPECT_EQ(v.outcome.failure, "");
      EXPECT_TRUE(v.outcome.is_whole) << "after " << v.outcome.executions << " orders";
      EXPECT_GE(v.outcome.executions, 1u);
      if (prints())
        printf("%-26s %-30s %3llu %8llu orders, %8llu cut, at most %u accesses\n", shape.name, s.name,
               (unsigned long long)more, (unsigned long long)v.outcome.executions, (unsigned long long)v.outcome.cut,
               v.outcome.steps_max);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Shapes, testing::ValuesIn(shapes),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Planted faults -----------------------------------------------------------------------------

// Replaces every place of `from`. False: there is none.
bool replace_all(std::string *text, const std::string &from, const std::string &to) {
  size_t at = 0, count = 0;
  while ((at = text->find(from, at)) != std::string::npos) {
    text->replace(at, from.size(), to);
    at += to.size();
    count++;
  }
  return count > 0;
}

struct Planted {
  const char *name;
  std::vector<std::pair<const char *, const char *>> changes; // of the text: from, to
  bool is_of_order;                                           // found only where loads may be stale
  std::vector<const char *> shapes;                           // where it matters
};

std::ostream &operator<<(std::ostream &out, const Planted &planted) { return out << planted.name; }

const Planted planted[] = {
    {"NoLock",
     {{"found = __atomic_fetch_or(word, bit, __ATOMIC_ACQUIRE);", "found = 0;"}},
     false,
     {"Cuckoo", "CuckooAdd", "RobinHood", "TwoChoice"}},
    {"TheLockIsNotAcquired",
     {{"found = __atomic_fetch_or(word, bit, __ATOMIC_ACQUIRE);",
       "found = __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);"}},
     true,
     {"Cuckoo", "RobinHood"}},
    {"TheLockIsNotReleased",
     {{"__atomic_fetch_and(address, bits, __ATOMIC_RELEASE);", "__atomic_fetch_and(address, bits, __ATOMIC_RELAXED);"}},
     true,
     {"Cuckoo", "RobinHood"}},
    {"TheVictimIsNotLocked",
     {{"bool locked = tsr_try_lock(&trying, wanted) || wanted == held;", "bool locked = 1;"},
      {"tsr_unlock(&unlocking, swapped ? held : wanted);", "(void)unlocking;"}},
     false,
     {"CuckooOneSlot"}},
    {"TheClaimDoesNotCompare",
     {{"__atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);",
       "{ __auto_type found_ = __atomic_load_n(address, __ATOMIC_RELAXED);"
       " if (found_ == expected) __atomic_store_n(address, desired, __ATOMIC_RELAXED); expected = found_; }"}},
     false,
     {"DoubleHashing", "DoubleHashingSoa", "MixedDoubleHashing", "Cuckoo"}},
    // As in a public library in 2024: the slot of an erased key is taken before the key was looked for behind it.
    {"AnErasedSlotIsTakenAtOnce",
     {{"if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->empties;",
       "if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->vacant;"},
      {"return op_guard(c, kind) == TSR_GUARD_CLAIM && !claims_meet_erases(c) && v->vacant != v->empties;",
       "return 0;"}},
     false,
     {"Linear", "DoubleHashing"}},
    {"ALesserValueIsWrittenWithoutComparing",
     {{"while (!__atomic_compare_exchange_n(address, &present, tsr_combine(policy, present, offered), 0, "
       "__ATOMIC_RELAXED,\n                                      __ATOMIC_RELAXED)) {}",
       "__atomic_store_n(address, tsr_combine(policy, present, offered), __ATOMIC_RELAXED);"}},
     false,
     {"DoubleHashingMinAos", "DoubleHashingMaxSoa"}},
};

bool plant(const Planted &p, std::string *text) {
  for (const auto &[from, to] : p.changes)
    if (!replace_all(text, from, to)) return false;
  return true;
}

class Faults : public testing::TestWithParam<Planted> {};

TEST_P(Faults, AreFound) {
  const Planted &p = GetParam();
  for (const char *name : p.shapes) {
    const Shape *shape = std::begin(shapes);
    while (std::string(shape->name) != name) shape++;
    for (Model model : {Model::SEQUENTIAL, Model::STALE}) {
      std::string found;
      for (const Scenario &s : scenarios())
        for (uint64_t more : all_keys) {
          if (!goes_with(s, *shape) || !found.empty()) continue;
          const Verdict v = explore_case({shape->spec, with_keys(s.before, more), with_keys(s.at_once, more)}, model,
                                         [&](std::string *text) { return plant(p, text); });
          ASSERT_EQ(v.refusal, "") << name;
          if (!v.outcome.failure.empty()) found = s.name;
        }
      if (prints())
        printf("%-28s %-28s %s: %s\n", p.name, name, model == Model::STALE ? "stale" : "sequential", found.c_str());
      EXPECT_EQ(found.empty(), p.is_of_order && model == Model::SEQUENTIAL) << name << ", " << found;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(planted),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
