// SPDX-License-Identifier: Apache-2.0
//
// The cases (cases.h). A table is one word of each list below; `check` decides which of them go together.
#include "tests/interleave/cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include "core/compose/composition.h"

namespace interleave {

namespace {

using Operations = std::vector<Operation>;

enum { SCHEME, LAYOUT, POLICY, CONCURRENCY, OTHER, GUARD }; // places in Shape::parts

constexpr uint64_t EMPTY_KEY = 0xFFFFFFFF; // marks an empty slot of 32-bit keys

Operation insert(uint64_t key, uint64_t value) { return {Verb::INSERT, key, value}; }
Operation find(uint64_t key) { return {Verb::FIND, key, 0}; }
Operation erase(uint64_t key) { return {Verb::ERASE, key, 0}; }
Operation find_or_insert(uint64_t key, uint64_t value) { return {Verb::FIND_OR_INSERT, key, value}; }
Operation apply_insert(uint64_t key, uint64_t value) { return {Verb::APPLY_INSERT, key, value}; }
Operation apply_replace(uint64_t key, uint64_t value) { return {Verb::APPLY_REPLACE, key, value}; }
Operation apply_erase(uint64_t key) { return {Verb::APPLY_ERASE, key, 0}; }
Operation apply_find(uint64_t key) { return {Verb::APPLY_FIND, key, 0}; }
Operations keys(uint64_t first, uint64_t count) {
  Operations all;
  for (uint64_t key = first; key < first + count; key++) all.push_back(insert(key, key));
  return all;
}
Operations repeated(uint64_t key, uint64_t count) {
  Operations all;
  for (uint64_t value = 1; value <= count; value++) all.push_back(insert(key, 16 * value));
  return all;
}
Operations full_but(uint64_t erased) {
  Operations all = keys(1, 24);
  for (uint64_t key = 1; key <= erased; key++) all.push_back(erase(key));
  return all;
}
Operations all_erased(uint64_t count) {
  Operations all = keys(1, count);
  for (uint64_t key = 1; key <= count; key++) all.push_back(erase(key));
  return all;
}
// A list whose first unit has `slots` slots, one of them erased, and a key behind it in the next unit.
Operations behind_an_erased_slot(uint64_t slots, uint64_t key) {
  Operations all = keys(1, slots);
  all.push_back(insert(key, 8));
  all.push_back(erase(3));
  return all;
}
Operation then(Operation o) {
  o.follows = true;
  return o;
}

} // namespace

const std::vector<Scenario> &scenarios() {
  static const std::vector<Scenario> all = {
      {"OneKeyTwice", PHASED, {}, {insert(7, 1), insert(7, 2)}},
      {"OneKeyThrice", PHASED, {}, {insert(7, 1), insert(7, 2), insert(7, 4)}},
      {"APresentKeyTwice", PHASED, {insert(7, 16)}, {insert(7, 1), insert(7, 2)}},
      // Where pairs move, one combines its value at once, and the two that lose to it do so later.
      {"APresentKeyThrice", PHASED, {insert(7, 1)}, {insert(7, 2), insert(7, 4), insert(7, 8)}, ONE_PAIR},
      {"SumsThatOverflow", PHASED, {insert(7, ~1ull)}, {insert(7, 1), insert(7, 2), insert(7, 4)}},
      {"AKeyOfManyPairsTwice", PHASED, {insert(7, 16), insert(7, 32), insert(7, 64)}, {insert(7, 1), insert(7, 2)}},
      {"AKeyOfSixPairsTwice", PHASED, repeated(7, 6), {insert(7, 1), insert(7, 2)}, MANY_PAIRS},
      {"OneKeyWhereAListEnds", PHASED, keys(1, 15), {insert(107, 1), insert(107, 2)}, LISTS},
      {"OneKeyWhereAShortListEnds", PHASED, keys(1, 14), {insert(107, 1), insert(107, 2)}, LISTS},
      {"OneKeyInAListBehindAnErasedSlot",
       PHASED,
       behind_an_erased_slot(15, 107),
       {insert(107, 1), insert(107, 2)},
       LISTS},
      {"OneKeyInAListOfWidePairsBehindAnErasedSlot",
       PHASED,
       behind_an_erased_slot(7, 107),
       {insert(107, 1), insert(107, 2)},
       LISTS},
      {"OneKeyInAListOfKeysBehindAnErasedSlot",
       PHASED,
       behind_an_erased_slot(31, 107),
       {insert(107, 1), insert(107, 2)},
       LISTS},
      // One takes the erased slot, one finds none any more and goes without the lock, and one has looked before.
      {"TwoKeysForAnErasedSlotOfAList",
       PHASED,
       {insert(5, 16), insert(6, 32), erase(5)},
       {insert(7, 1), insert(7, 2), insert(9, 4)},
       LISTS},
      {"TwoKeysWhereAListEnds", PHASED, keys(1, 15), {insert(107, 1), insert(108, 2)}, LISTS},
      {"OneKeyWhereAListOfWidePairsEnds", PHASED, keys(1, 7), {insert(107, 1), insert(107, 2)}, LISTS},
      {"TwoKeysWhereAListOfWidePairsEnds", PHASED, keys(1, 7), {insert(107, 1), insert(108, 2)}, LISTS},
      {"TwoKeysWhereAListOfKeysEnds", PHASED, keys(1, 31), {insert(107, 1), insert(108, 2)}, LISTS},
      {"TheLastSlotsOfErasedKeys", PHASED, full_but(5), {insert(107, 1), insert(108, 2)}},
      {"OneKeyBesideAnother", PHASED, {insert(5, 16)}, {insert(7, 1), insert(7, 2), insert(9, 4)}},
      // The key's first bucket has one of the other's choices in it, so that may fill its second slot.
      {"OneKeyBesideOneThatComesLast", PHASED, {insert(1, 16)}, {insert(20, 1), insert(20, 2), insert(46, 4)}, LOCKS},
      // The same in buckets of eight slots.
      {"OneKeyBesideOneThatComesLastInALargeBucket",
       PHASED,
       keys(1, 10),
       {insert(20, 1), insert(20, 2), insert(46, 4)},
       LOCKS_OF_LARGE_BUCKETS},
      // The same in a table of five buckets.
      {"OneKeyBesideOneThatComesLastInAList",
       PHASED,
       keys(1, 5),
       {insert(23, 1), insert(23, 2), insert(46, 4)},
       LOCKS_OF_VALUE_LISTS},
      {"OneKeyBehindAnErasedOne", PHASED, {insert(5, 16), insert(7, 32), erase(5)}, {insert(7, 1), insert(7, 2)}},
      {"OneKeyInPlaceOfErasedOnes",
       PHASED,
       {insert(5, 16), insert(6, 32), erase(5), erase(6)},
       {insert(7, 1), insert(7, 2)}},
      {"OneKeyBeyondErasedOnes",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(7, 8), erase(1), erase(2), erase(3), erase(4)},
       {insert(7, 1), insert(7, 2)}},
      {"OneKeyOfAFullTableBeyondErasedOnes", PHASED, full_but(4), {insert(15, 1), insert(15, 2)}},
      {"OneKeyWhereAllWereErased", PHASED, all_erased(5), {insert(7, 1), insert(7, 2)}},
      // Keys that begin to claim behind a bucket's lowest slot, of two slots and of eight.
      {"ALateKeyWhereAllWereErased", PHASED, all_erased(5), {insert(17, 1), insert(17, 2)}},
      {"ALateKeyOfALargeBucketWhereAllWereErased", PHASED, all_erased(5), {insert(21, 1), insert(21, 2)}},
      {"TwoNewKeys", PHASED, {}, {insert(7, 1), insert(8, 2)}},
      {"TwoNewKeysOfOneWordOfAFilter", PHASED, {}, {insert(1, 1), insert(5, 2)}},
      {"TwoKeysForTheLastSlot", PHASED, {insert(1, 1), insert(2, 2), insert(3, 3)}, {insert(7, 1), insert(8, 2)}},
      {"OneKeyWhenNearlyFull",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4)},
       {insert(7, 1), insert(7, 2)}},
      {"TwoKeysWhenFull",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(5, 5)},
       {insert(7, 1), insert(8, 2)}},
      {"OneKeyInAFullCache", PHASED, keys(1, 24), {insert(107, 1), insert(107, 2)}, IN_CACHES},
      {"AnEvictedKeyAgain",
       PHASED,
       {insert(1, 1), insert(2, 2), insert(3, 3), insert(4, 4), insert(5, 5)},
       {insert(7, 1), insert(1, 2)}},
      {"TheKeyOfEmptySlotsTwice", PHASED, {}, {insert(EMPTY_KEY, 1), insert(EMPTY_KEY, 2)}},
      {"TheKeyOfEmptySlotsBesideAnother", PHASED, {}, {insert(EMPTY_KEY, 1), insert(7, 2)}},
      {"AKeyOfManyPairsErasedTwice", PHASED, repeated(7, 3), {erase(7), erase(7)}, MANY_PAIRS},
      {"AKeyOfManyPairsErasedBesideAnother",
       PHASED,
       {insert(7, 16), insert(5, 1), insert(7, 32), insert(5, 2)},
       {erase(7), erase(5)},
       MANY_PAIRS},
      {"OneKeyErasedTwice", PHASED, {insert(7, 1), insert(5, 2)}, {erase(7), erase(7)}},
      {"TwoKeysErased", PHASED, {insert(7, 1), insert(5, 2)}, {erase(7), erase(5)}},
      {"FoundOrInsertedTwice", PHASED, {}, {find_or_insert(7, 1), find_or_insert(7, 2)}, ONE_PAIR},
      {"FoundOrInsertedBesideAnInsert", PHASED, {}, {find_or_insert(7, 1), insert(7, 2)}, ONE_PAIR},
      {"FoundOrInsertedThrice",
       PHASED,
       {},
       {find_or_insert(7, 1), find_or_insert(7, 2), find_or_insert(7, 4)},
       ONE_PAIR},
      {"FoundOrInsertedBehindAnErasedOne",
       PHASED,
       {insert(5, 16), insert(7, 32), erase(5)},
       {find_or_insert(7, 1), find_or_insert(7, 2)},
       ONE_PAIR},
      {"FoundOrInsertedBesideAnEviction", PHASED, keys(1, 5), {insert(7, 16), find_or_insert(1, 32)}, ONE_PAIR},
      {"AKeyOfTwoPairsThrice", PHASED, repeated(7, 2), {insert(7, 1), insert(7, 2), insert(7, 4)}, MANY_PAIRS},
      {"AFindMeetsAFindOrInsert", TURNS, {}, {find_or_insert(7, 1), find(7)}, ONE_PAIR},
      {"AFindOrInsertMeetsAnErase", MIXED, {insert(7, 8)}, {find_or_insert(7, 1), erase(7)}, ONE_PAIR},
      {"TwoFindOrInsertsMeetAnErase",
       MIXED,
       {insert(7, 8)},
       {find_or_insert(7, 1), find_or_insert(7, 2), erase(7)},
       ONE_PAIR},
      {"OneKeyFoundTwice", PHASED, {insert(7, 1)}, {find(7), find(7)}, ONE_PAIR},
      {"TwoFinds", PHASED, {insert(7, 1), insert(5, 2)}, {find(7), find(5)}, ONE_PAIR},
      {"AFindMeetsAnInsert", TURNS, {}, {insert(7, 1), find(7)}, ONE_PAIR},
      {"AFindMeetsTwoInserts", TURNS, {insert(7, 8)}, {insert(7, 1), insert(7, 2), find(7)}, ONE_PAIR},
      {"AFindMeetsAnErase", TURNS, {insert(5, 1), insert(7, 2)}, {erase(7), find(7)}, ONE_PAIR},
      {"AFindBehindAnErase", TURNS, {insert(5, 1), insert(7, 2)}, {erase(5), find(7)}, ONE_PAIR},
      {"FindsMeetAnEviction", TURNS, keys(1, 5), {insert(7, 16), find(1), find(3)}, ONE_PAIR},
      {"TwoFindsInARow", TURNS, {insert(5, 16)}, {insert(7, 1), find(7), then(find(7))}, ONE_PAIR},
      {"AFindAfterItsInsert", TURNS, {}, {insert(7, 1), then(find(7)), insert(7, 2)}, ONE_PAIR},
      {"AFindAfterItsErase", TURNS, {insert(5, 4), insert(7, 8)}, {erase(7), then(find(7)), erase(5)}, ONE_PAIR},
      {"AnInsertAfterItsErase", MIXED, {insert(7, 8)}, {erase(7), then(insert(7, 1)), insert(7, 2)}, ONE_PAIR},
      {"AnInsertBehindAnErase", MIXED, {insert(5, 4), insert(7, 8)}, {erase(5), insert(7, 1), insert(7, 2)}, ONE_PAIR},
      {"TwoInsertsBesideAnErase", MIXED, {insert(5, 4)}, {erase(5), insert(7, 1), insert(7, 2)}, ONE_PAIR},
      {"TwoInsertsBesideTheEraseThatMakesRoom",
       MIXED,
       full_but(1),
       {erase(3), insert(107, 1), insert(107, 2)},
       ONE_PAIR},
      {"TwoInsertsBesideAnotherEraseThatMakesRoom",
       MIXED,
       full_but(1),
       {erase(4), insert(107, 1), insert(107, 2)},
       ONE_PAIR},
      {"AnInsertMeetsAnErase", MIXED, {insert(7, 8)}, {insert(7, 1), erase(7)}, ONE_PAIR},
      {"TwoInsertsMeetAnErase", MIXED, {insert(7, 8)}, {insert(7, 1), insert(7, 2), erase(7)}, ONE_PAIR},
      {"AllThreeMeet", MIXED, {insert(5, 4), insert(7, 8)}, {insert(7, 1), erase(7), find(7)}, ONE_PAIR},
      {"ABatchInsertsAndErases", TURNS, {insert(7, 8)}, {apply_insert(7, 1), apply_erase(7)}, ONE_PAIR},
      {"ABatchReplacesAndFinds", TURNS, {insert(7, 8)}, {apply_replace(7, 1), apply_find(7)}, ONE_PAIR},
      {"ABatchInsertsTwiceAndErases",
       TURNS,
       {insert(5, 4), insert(7, 8)},
       {apply_insert(7, 1), apply_insert(7, 2), apply_erase(5)},
       ONE_PAIR},
      {"ABatchReplacesTwice", TURNS, {insert(7, 8)}, {apply_replace(7, 1), apply_replace(7, 2)}, ONE_PAIR},
      {"ABatchReplacesAndErases", TURNS, {insert(7, 8)}, {apply_replace(7, 1), apply_erase(7)}, ONE_PAIR},
      {"TwoKeysInFullPages", PHASED, keys(1, 12), {insert(109, 1), insert(110, 2)}, WHERE_PAIRS_MOVE},
      {"TwoKeysWhereEachMovesOthers", PHASED, keys(1, 24), {insert(107, 1), insert(108, 2)}, WHERE_PAIRS_MOVE},
      {"ABatchMeetsAFind", TURNS, {insert(7, 8)}, {apply_insert(7, 1), apply_erase(7), find(7)}, ONE_PAIR},
  };
  return all;
}

// ---- Tables -------------------------------------------------------------------------------------

namespace {

struct Word {
  const char *name, *spec;
};

// Evictions of one insert are few, since more of them make more orders.
const Word schemes[] = {{"Linear", "probing=linear"},
                        {"Quadratic", "probing=quadratic"},
                        {"DoubleHashing", "probing=double_hashing"},
                        {"Cuckoo", "probing=cuckoo probing.max_chain=3"},
                        {"RobinHood", "probing=robin_hood"},
                        {"TwoChoice", "probing=two_choice"},
                        {"Iceberg", "probing=iceberg"},
                        {"SlabList", "probing=slab_list allocator=free_list"},
                        {"Perfect", "probing=perfect"},
                        {"LinearHashing", "probing=linear_hashing probing.max_chain=3"}};

// Buckets of two slots, few enough of them that keys meet; two layouts have larger ones.
#define TWO "capacity=4 layout.bucket_slots=2"
const Word layouts[] = {{"Packed", TWO " layout=packed"},
                        {"Aos", TWO " layout=aos"},
                        {"Soa", TWO " layout=soa"},
                        {"Tagged", "capacity=8 layout=tagged"},
                        {"Quotient", TWO " layout=quotient hasher=mueller page_bytes=auto"},
                        {"Slab", "capacity=4 layout=slab"}};

const Word policies[] = {{"First", ""},
                         {"Replace", "duplicates=replace"},
                         {"Add", "duplicates=add"},
                         {"Saturating", "duplicates=add overflow=saturate"},
                         {"Min", "duplicates=min"},
                         {"Max", "duplicates=max"},
                         {"Unique", "duplicates=promise_unique"},
                         {"Counter", "kind=counter"},
                         {"Set", "kind=set value_bits="},
                         {"Multimap", "kind=multimap"},
                         {"Multiset", "kind=multiset value_bits="},
                         {"Cache", "kind=cache eviction=lru"},
                         {"CacheReplace", "kind=cache eviction=lfu duplicates=replace"},
                         {"CacheExpires", "kind=cache eviction=ttl"},
                         // Capacity is of values: four keys.
                         {"Lists", "kind=multimap values=buckets values.first=1 values.per_key=6 allocator=bump "
                                   "allocator.unit_bytes=16 capacity=24"}};

const Word concurrencies[] = {{"", ""}, {"Mixed", "concurrency=mixed"}};

const Word others[] = {{"", ""},
                       {"OneSlot", "layout.bucket_slots=1"},
                       {"OneBucket", "probing.max_probes=1"},
                       {"Stash", "stash=2"},
                       {"Wide", "key_bits=64 value_bits=64"},
                       {"LongKeys", "key_bits=64"},
                       {"WidestKeys", "key_bits=128"},
                       {"SharedLocks", ""},
                       {"Kernel", ""},
                       {"Filtered", "filter=8"}};

// A Bloom filter of one block, which has no layout and no scheme; and one of fingerprints, which may move.
const Word filters[] = {{"Bloom", "kind=filter layout= probing= value_bits= capacity=16"},
                        {"CuckooFilter",
                         "kind=filter layout=fingerprint probing=cuckoo_filter probing.max_chain=3 value_bits= "
                         "capacity=16 layout.bucket_slots=4"}};

bool is(const Word &word, const std::string &name) { return name == word.name; }

std::vector<Shape> find_shapes() {
  std::vector<Shape> found;
  for (int scheme = 0; scheme < (int)std::size(schemes); scheme++)
    for (int layout = 0; layout < (int)std::size(layouts); layout++)
      for (int policy = 0; policy < (int)std::size(policies); policy++)
        for (int mixed = 0; mixed < (int)std::size(concurrencies); mixed++)
          for (int other = 0; other < (int)std::size(others); other++) {
            const bool shares = is(others[other], "SharedLocks"), lists = is(schemes[scheme], "SlabList");
            const bool locks = is(schemes[scheme], "Cuckoo") || is(schemes[scheme], "RobinHood") ||
                               is(schemes[scheme], "TwoChoice") || is(schemes[scheme], "Iceberg") ||
                               is(schemes[scheme], "LinearHashing");
            const bool in_kernel = is(others[other], "Kernel"),
                       caches = std::string(policies[policy].name).find("Cache") == 0;
            if ((shares && !locks) || (in_kernel && (!mixed || locks || lists || caches))) continue;
            if (is(others[other], "OneBucket") && !caches) continue; // only caches have code of its own for that
            // What is at once is inserted without a build that keeps a bucket for it, and all walks lead to one.
            if (is(schemes[scheme], "Perfect") && is(others[other], "OneSlot")) continue;
            Shape s;
            std::string spec;
            for (const Word &word :
                 {schemes[scheme], layouts[layout], policies[policy], concurrencies[mixed], others[other]}) {
              s.name += word.name;
              if (*word.spec) spec += (spec.empty() ? "" : " ") + std::string(word.spec);
            }
            if (is(others[other], "Wide") && strstr(policies[policy].spec, "value_bits=")) continue; // has no values
            s.spec = spec;
            s.scheme = schemes[scheme].name, s.layout = layouts[layout].name, s.policy = policies[policy].name;
            s.other = others[other].name;
            s.parts = {scheme, layout, policy, mixed, other}; // and the guard
            s.overlap = !mixed ? PHASED : lists || in_kernel ? MIXED : TURNS;
            s.once = !is(policies[policy], "Multimap") && !is(policies[policy], "Multiset") &&
                     !is(policies[policy], "Lists");
            s.unique = is(policies[policy], "Unique");
            s.shares_locks = shares;
            s.has_links = lists;
            s.has_large_buckets = is(layouts[layout], "Tagged");
            s.in_kernel = in_kernel;
            s.asks_filter = is(others[other], "Filtered");
            if (!refusal_of(spec, &s.guard).empty()) continue;
            if (in_kernel && !s.has_links) s.guard = TSR_GUARD_LOCK;
            s.parts.push_back((int)s.guard);
            found.push_back(s);
          }
  for (int i = 0; i < (int)std::size(filters); i++) {
    Shape filter;
    filter.name = filter.scheme = filters[i].name, filter.spec = filters[i].spec;
    filter.is_filter = true;
    filter.has_fingerprints = i > 0;
    filter.parts = {
        (int)std::size(schemes) + i, (int)std::size(layouts) + i, (int)std::size(policies), 0, 0, TSR_GUARD_NONE};
    const std::string refusal = refusal_of(filter.spec, &filter.guard);
    EXPECT_EQ(refusal, "") << filter.name;
    found.push_back(filter);
  }
  return found;
}

} // namespace

std::ostream &operator<<(std::ostream &out, const Shape &shape) { return out << shape.name; }

const std::vector<Shape> &all_shapes() {
  static const std::vector<Shape> all = find_shapes();
  return all;
}

std::vector<Shape> covering_shapes(const std::function<bool(const Shape &)> &is_meant) {
  using Pair = std::vector<int>;
  const int chosen[][2] = {{SCHEME, GUARD},       {LAYOUT, GUARD},       {POLICY, GUARD},      {OTHER, GUARD},
                           {SCHEME, CONCURRENCY}, {LAYOUT, CONCURRENCY}, {POLICY, CONCURRENCY}};
  const auto pairs_of = [&](const Shape &shape) {
    std::set<Pair> pairs;
    for (const auto &[one, other] : chosen) pairs.insert({one, other, shape.parts[one], shape.parts[other]});
    return pairs;
  };
  std::vector<const Shape *> meant;
  for (const Shape &shape : all_shapes())
    if (!is_meant || is_meant(shape)) meant.push_back(&shape);
  std::set<Pair> left;
  for (const Shape *shape : meant) left.merge(pairs_of(*shape));
  std::vector<Shape> drawn;
  while (!left.empty()) {
    const Shape *best = nullptr;
    size_t most = 0;
    for (const Shape *shape : meant) {
      size_t count = 0;
      for (const Pair &pair : pairs_of(*shape)) count += left.count(pair);
      if (count > most) most = count, best = shape;
    }
    for (const Pair &pair : pairs_of(*best)) left.erase(pair);
    drawn.push_back(*best);
  }
  return drawn;
}

const Shape &shape_of(const std::string &name) {
  for (const Shape &shape : all_shapes())
    if (shape.name == name) return shape;
  ADD_FAILURE() << "no table is called " << name;
  return all_shapes().front();
}

// ---- Cases --------------------------------------------------------------------------------------

namespace {

bool is_insert(const Operation &o) {
  return o.verb != Verb::FIND && o.verb != Verb::ERASE && o.verb != Verb::APPLY_ERASE && o.verb != Verb::APPLY_FIND;
}

// Whether no key is inserted while it is there.
bool keeps_promise(const Scenario &s) {
  std::set<uint64_t> there;
  for (const Operation &o : s.before) {
    if (is_insert(o) && !there.insert(o.key).second) return false;
    if (o.verb == Verb::ERASE) there.erase(o.key);
  }
  for (const Operation &o : s.at_once)
    if (is_insert(o) && !there.insert(o.key).second) return false;
  return true;
}

} // namespace

bool is_cache(const Shape &shape) { return std::string(shape.policy).find("Cache") == 0; }

bool moves_pairs(const Shape &shape) {
  const std::string scheme = shape.scheme;
  return !is_cache(shape) && (scheme == "Cuckoo" || scheme == "RobinHood" || scheme == "LinearHashing");
}

bool is_in(Where where, const Shape &shape) {
  return where == ANYWHERE || (where == ONE_PAIR && shape.once) || (where == MANY_PAIRS && !shape.once) ||
         (where == LISTS && shape.has_links) || (where == WHERE_PAIRS_MOVE && moves_pairs(shape)) ||
         (where == IN_CACHES && is_cache(shape)) ||
         (where == LOCKS && shape.guard == TSR_GUARD_LOCK && !shape.in_kernel) ||
         (where == LOCKS_OF_VALUE_LISTS && std::string(shape.policy) == "Lists" && is_in(LOCKS, shape)) ||
         (where == LOCKS_OF_LARGE_BUCKETS && shape.has_large_buckets && is_in(LOCKS, shape));
}

bool goes_with(const Scenario &s, const Shape &shape) {
  // A key sets six bits. A find that meets another one's insert asks for them.
  const bool one_inserts = std::count_if(s.at_once.begin(), s.at_once.end(), is_insert) == 1;
  if (((shape.is_filter && !shape.has_fingerprints) || shape.asks_filter) && s.at_once.size() > 2 &&
      !(shape.asks_filter && one_inserts))
    return false;
  for (const Operations *all : {&s.before, &s.at_once})
    for (const Operation &o : *all)
      if ((shape.is_filter && o.verb != Verb::INSERT && o.verb != Verb::FIND) ||
          (is_apply(o.verb) && !shape.parts[CONCURRENCY]))
        return false;
  return s.least <= shape.overlap && is_in(s.where, shape) && (!shape.unique || keeps_promise(s));
}

Case case_of(const Scenario &s, const Shape &shape, uint64_t more) {
  Case c = {shape.spec, s.before, s.at_once, shape.shares_locks, shape.in_kernel};
  for (Operations *operations : {&c.before, &c.at_once})
    for (Operation &o : *operations)
      if (o.key != EMPTY_KEY) o.key += more;
  return c;
}

bool prints() { return getenv("TSR_INTERLEAVE") != nullptr; }
bool runs_all() { return prints() && std::string(getenv("TSR_INTERLEAVE")) == "all"; }

} // namespace interleave
