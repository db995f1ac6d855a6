// SPDX-License-Identifier: Apache-2.0
//
// The faults (faults.h). Those of other libraries are told by their public reports.
#include "tests/interleave/faults.h"

#include <ostream>
#include <set>
#include <string>

#include "core/compose/composition.h"
#include "tests/interleave/walk.h"

namespace interleave {

namespace {

// Texts that several faults change.
#define TAKES_LOCK "found = __atomic_fetch_or(word, bit, __ATOMIC_ACQUIRE);"
#define COMPARES "__atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);"
#define LOADS_IN_MODE "INTERLEAVE_LOAD_IN(address, coherent)"

} // namespace

std::ostream &operator<<(std::ostream &out, const Planted &planted) { return out << planted.name; }

bool plant(const Planted &planted, std::string *text) {
  for (const auto &[from, to] : planted.changes)
    if (!replace_all(text, from, to)) return false;
  return true;
}

bool concerns(const Planted &planted, const Shape &shape) {
  const std::string policy = shape.policy;
  switch (planted.concerns) {
  case LOCKED:
    return shape.guard == TSR_GUARD_LOCK;
  case CLAIMED:
    return shape.guard == TSR_GUARD_CLAIM;
  case UNITS:
    return shape.has_links;
  case RUNS:
    return policy == "Lists";
  case CACHES:
    return is_cache(shape);
  case MOVING:
    return moves_pairs(shape);
  case VALUES:
    return policy != "Set" && policy != "Multiset" && policy != "Lists";
  case FILTERS:
    return shape.is_filter || std::string(shape.other) == "Filtered";
  case OVERLAPPING:
    return shape.overlap != PHASED;
  default:
    return true;
  }
}

namespace {

using Names = std::set<std::string>;

// Reasons that go by how the table's code takes its steps.
const char *why_not_by_guard(const std::string &fault, const Shape &shape) {
  const std::string layout = shape.layout, other = shape.other;
  const bool owns = is_cache(shape) && (layout == "Aos" || layout == "Soa"), has_one_bucket = other == "OneBucket";
  const Names of_locks = {"NoLock", "TheLockIsNotAcquired", "TheLockIsNotReleased"};
  const Names of_slots = {"ACacheTellsAPairThatStays", "ACacheTakesASlotWithoutComparing", "ALostSlotGetsItsScoreBack"};
  if (owns && has_one_bucket && of_locks.count(fault))
    return "an insert owns the key's one bucket, and looks again when it does";
  if (owns && of_slots.count(fault)) return "an insert owns the bucket that it writes to, so no slot is lost";
  if (fault == "AnErasedSlotIsTakenAtOnce" && shape.has_large_buckets)
    return "the table has one bucket, and an insert sees all of it at once";
  if (fault == "AnErasedSlotIsTakenAtOnce" && shape.has_links && shape.overlap == MIXED)
    return "an insert into a list whose erases overlap it looks for no erased slot, so it takes none and goes on to "
           "the lock";
  if (fault == "ErasedSlotsAreNotFound" && shape.has_large_buckets && std::string(shape.policy) == "Lists")
    return "the pool has fewer units than the table has slots, so the table is never full";
  if (fault == "TheFirstLookUnderTheLockIsLeftOut" && shape.in_kernel)
    return "a scheme that gives pairs no place writes where the first look saw the key, and looks there again";
  const bool looks_again = fault == "TheSecondLookIsLeftOut" || (fault == "NoGuard" && shape.guard == TSR_GUARD_CLAIM);
  if (looks_again && other == "OneSlot")
    return "a bucket of one slot that holds the key has no vacant slot, so the write fails and everything is looked at "
           "again";
  if (fault == "TheSecondLookIsLeftOut" && shape.has_links && shape.overlap == MIXED)
    return "an insert takes the lock only where its list has no empty slot, so none without the lock can claim one";
  if (fault == "TheFirstSlotsAreCounted" && std::string(shape.scheme) != "Iceberg")
    return "all slots of a bucket are first ones, so any empty one is one of them";
  return nullptr;
}

// Reasons that go by what the table does with values.
const char *why_not_by_value(const std::string &fault, const Shape &shape) {
  const std::string policy = shape.policy, layout = shape.layout;
  const bool is_apart = layout == "Aos" || layout == "Soa";
  const Names without_values_before = {"First", "Replace", "Cache", "CacheReplace", "CacheExpires"};
  const bool adds = Names{"Add", "Saturating", "Counter"}.count(policy) > 0;
  const bool is_plain = shape.unique || without_values_before.count(policy);
  if (fault == "ALostSlotGetsItsScoreBack" && policy != "CacheExpires")
    return "a new pair that seems old is given up too early, and only where pairs expire it is missing";
  if (fault == "NoGuard" && shape.unique) return "the caller promises that nobody else inserts the key";
  if (fault == "ALesserValueIsWrittenWithoutComparing" && is_plain)
    return "the value does not depend on the one before";
  if (fault == "ALesserValueIsWrittenWithoutComparing" && adds) return "an addition needs no comparing";
  if (fault == "ASumIsWrittenWithoutAdding" && !adds) return "no value is added";
  if ((fault == "ASumIsWrittenWithoutAdding" || fault == "ALesserValueIsWrittenWithoutComparing") &&
      shape.overlap != PHASED)
    return "a mixed table swaps whole pairs";
  if (fault == "TheNextSlotsValueIsFound" && is_apart && (policy == "First" || policy == "Add"))
    return "what is found is read by a later find, and whether a value is written does not depend on the one before";
  if (fault == "TheNextSlotsValueIsFound" && is_apart && policy == "Replace" && std::string(shape.other) == "OneSlot")
    return "a bucket of one slot has no next one: what is read was not loaded, and is no value that is offered";
  if (fault == "AMixedTableLooksThroughL1" && !shape.once)
    return "what overlaps is judged only where a key has one pair";
  return nullptr;
}

} // namespace

const char *why_not_found(const Planted &planted, const Shape &shape) {
  const char *by_guard = why_not_by_guard(planted.name, shape);
  return by_guard ? by_guard : why_not_by_value(planted.name, shape);
}

const std::vector<Planted> &all_planted() {
  static const std::vector<Planted> all = {
      // ---- Locks
      {"NoLock",
       {{TAKES_LOCK, "found = 0;"}},
       ANYTHING,
       LOCKED,
       {"CuckooPackedFirst", "TwoChoicePackedFirst", "DoubleHashingPackedFirstMixedKernel", "RobinHoodPackedFirst",
        "IcebergPackedFirst", "CuckooPackedCacheOneSlot"}},
      {"TheLockIsNotAcquired",
       {{TAKES_LOCK, "found = __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);"}},
       OLD_LOADS,
       LOCKED,
       {"CuckooPackedFirst", "RobinHoodPackedFirst", "TwoChoicePackedFirst", "IcebergPackedFirst",
        "CuckooPackedCacheOneSlot"}},
      {"TheLockIsNotReleased",
       {{"__atomic_fetch_and(address, bits, __ATOMIC_RELEASE);",
         "__atomic_fetch_and(address, bits, __ATOMIC_RELAXED);"}},
       OLD_LOADS,
       LOCKED,
       {"CuckooPackedFirst", "RobinHoodPackedFirst", "TwoChoicePackedFirst", "IcebergPackedFirst",
        "CuckooPackedCacheOneSlot"}},
      {"TheVictimIsNotLocked",
       {{"bool locked = tsr_try_lock(&trying, wanted) || wanted == held;", "bool locked = 1;"},
        {"tsr_unlock(&unlocking, swapped ? held : wanted);", "(void)unlocking;"}},
       ANYTHING,
       MOVING,
       {"CuckooPackedFirstOneSlot"}},
      {"TheWrongLockIsGivenBack",
       {{"tsr_unlock(&unlocking, swapped ? held : wanted);", "tsr_unlock(&unlocking, wanted);"}},
       ANYTHING,
       MOVING,
       {"CuckooPackedFirstOneSlot", "CuckooQuotientFirstOneSlot"}},
      // HierarchicalKV 239: a key is unlocked before its value is written.
      {"TheLockIsGivenBackBeforeTheWrite",
       {{"uint32_t held = insert_held(&holding, key, payload, policy);",
         "tsr_unlock(&holding, lock); uint32_t held = insert_held(&holding, key, payload, policy);"},
        {"if (!HOLDS_NO_LOCK(c)) tsr_unlock(&holding, tsr_lock_of(c, *key));", ""}},
       ANYTHING,
       LOCKED,
       {"CuckooPackedFirst", "RobinHoodPackedFirst", "TwoChoicePackedFirst", "IcebergPackedFirst"}},
      // A claim without a lock goes by how many of the first slots are empty, not by which: an old look may show a later one
      // full. Iceberg as it was.
      {"TheFirstSlotsAreCounted",
       {{"const uint32_t in_first = op->probe.visited == 0 ? first_slots_of(c, v->empties) : 0;",
         "const uint32_t in_first = op->probe.visited == 0 && tsr_count_bits(v->empties) > TSR_FACT(c, bucket_slots) - "
         "TSR_FACT(c, first_slots) ? v->empties : 0;"}},
       OLD_LOADS,
       LOCKED,
       {"IcebergPackedFirst", "IcebergSoaLists"}},
      // ---- Guards
      {"NoGuard",
       {{"#define TSR_FUSED\n", "#define TSR_FUSED\n#define TSR_TEST_WITHOUT_GUARD\n"}},
       ANYTHING,
       ALL,
       {"LinearPackedFirst", "DoubleHashingPackedFirst", "DoubleHashingSoaMax", "CuckooPackedFirst",
        "RobinHoodPackedFirst", "TwoChoicePackedFirst", "IcebergPackedFirst", "DoubleHashingPackedFirstMixed",
        "SlabListSlabFirst"}},
      {"TheClaimDoesNotCompare",
       {{COMPARES,
         "{ __auto_type found_ = __atomic_load_n(address, __ATOMIC_RELAXED);"
         " if (found_ == expected) __atomic_store_n(address, desired, __ATOMIC_RELAXED); expected = found_; }"},
        {"return __sync_val_compare_and_swap(address, expected, desired);",
         "{ const tsr_u128 found_ = __atomic_load_n(address, __ATOMIC_RELAXED);"
         " if (found_ == expected) __atomic_store_n(address, desired, __ATOMIC_RELAXED); return found_; }"}},
       ANYTHING,
       ALL,
       {"LinearPackedFirst", "DoubleHashingSoaMax", "DoubleHashingPackedFirstMixed", "CuckooPackedFirst",
        "RobinHoodPackedFirst", "TwoChoicePackedFirst", "SlabListSlabFirstMixed", "CuckooPackedCacheReplace",
        "LinearPackedLists", "DoubleHashingTaggedFirst", "CuckooFilter"}},
      {"TheSecondLookIsLeftOut",
       {{"#ifdef TSR_TEST_WITHOUT_GUARD\n  if (!s->is_present) matches = 0;\n#endif",
         "if (!s->is_present) matches = 0;"}},
       ANYTHING,
       CLAIMED,
       {"LinearPackedFirst", "DoubleHashingPackedFirstMixed", "LinearPackedLists"}},
      {"TheFirstLookUnderTheLockIsLeftOut",
       {{"found.is_present |= walks && matches;", "found.is_present |= 0;"}},
       ANYTHING,
       LOCKED,
       {"CuckooPackedFirst", "RobinHoodPackedFirst", "TwoChoicePackedFirst"}},
      // cuCollections 606: the slot of an erased key is taken before the key was looked for behind it.
      {"AnErasedSlotIsTakenAtOnce",
       {{"if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->empties;",
         "if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->vacant;"},
        {"return op_guard(c, kind) == TSR_GUARD_CLAIM && !claims_meet_erases(c) && v->vacant != v->empties;",
         "return 0;"}},
       ANYTHING,
       CLAIMED,
       {"LinearPackedFirst", "DoubleHashingPackedFirst", "DoubleHashingSoaMax", "LinearPackedLists"}},
      // The same in lists, where erases overlap inserts (SlabHash).
      {"AListTakesErasedSlots",
       {{"TSR_INLINE bool claims_meet_erases(const tsr_ctx *c) { return is_mixed(c) && !TAKES_TURNS(c); }",
         "TSR_INLINE bool claims_meet_erases(const tsr_ctx *c) { return 0; }"},
        {"if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->empties;",
         "if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->vacant;"},
        {"return op_guard(c, kind) == TSR_GUARD_CLAIM && !claims_meet_erases(c) && v->vacant != v->empties;",
         "return 0;"}},
       ANYTHING,
       UNITS,
       {"SlabListSlabFirstMixed"}},
      // HierarchicalKV 78: an insert does not find the slots of erased keys in a full table.
      {"ErasedSlotsAreNotFound",
       {{"matches = layout_match(c, &b, walk_stored_key(key)), vacant = layout_vacant(c, &b);\n    uint32_t ends",
         "matches = layout_match(c, &b, walk_stored_key(key)), vacant = layout_empties(c, &b);\n    uint32_t ends"}},
       ANYTHING,
       CLAIMED,
       {"LinearPackedFirst", "DoubleHashingPackedFirst", "LinearPackedLists"}},
      // BGHT 15: a key that has the bits of an empty slot.
      {"NoKeyIsReserved",
       {{"TSR_INLINE bool walk_is_reserved(tsr_key key) { return key >= TSR_ERASED_KEY; }",
         "TSR_INLINE bool walk_is_reserved(tsr_key key) { return 0; }"}},
       ANYTHING,
       ALL,
       {"LinearPackedFirst", "CuckooPackedFirst"}},
      // HugeCTR 281: the value that is found is that of the next slot.
      {"TheNextSlotsValueIsFound",
       {{"? layout_payload(c, b, slot)\n                         : 0;",
         "? layout_payload(c, b, slot ^ 1)\n                         : 0;"}},
       ANYTHING,
       VALUES,
       {"DoubleHashingPackedFirst", "CuckooPackedFirst"}},
      // ---- Values
      {"ASumIsWrittenWithoutAdding",
       {{"return __atomic_fetch_add(address, addend, __ATOMIC_RELAXED);",
         "{ __auto_type found_ = __atomic_load_n(address, __ATOMIC_RELAXED);"
         " __atomic_store_n(address, found_ + addend, __ATOMIC_RELAXED); return found_; }"}},
       ANYTHING,
       VALUES,
       {"DoubleHashingAosAdd", "LinearPackedAdd"}},
      {"ALesserValueIsWrittenWithoutComparing",
       {{"while (!__atomic_compare_exchange_n(address, &present, tsr_combine(policy, present, offered), 0, "
         "__ATOMIC_RELAXED,\n                                      __ATOMIC_RELAXED)) {}",
         "__atomic_store_n(address, tsr_combine(policy, present, offered), __ATOMIC_RELAXED);"}},
       ANYTHING,
       VALUES,
       {"DoubleHashingSoaMax", "DoubleHashingAosMin"}},
      // ---- Filters
      {"ABitIsWrittenWithoutOr",
       {{"    __atomic_fetch_or(filter_block(c, place->block) + ((place->first + j) & (TSR_FACT(c, filter_words) - "
         "1u)),\n"
         "                      filter_bit(place->bits, j), __ATOMIC_RELAXED);",
         "{ uint32_t *word_ = filter_block(c, place->block) + ((place->first + j) & (TSR_FACT(c, filter_words) - 1u));"
         " __atomic_store_n(word_, __atomic_load_n(word_, __ATOMIC_RELAXED) | filter_bit(place->bits, j), "
         "__ATOMIC_RELAXED); }"}},
       ANYTHING,
       FILTERS,
       {"Bloom", "DoubleHashingPackedFirstFiltered"}},
      // ---- Evictions
      // HierarchicalKV 110: the pair that was to be inserted is handed back, and the evicted one is gone.
      {"TheEvictedPairIsGone",
       {{"  if (swapped) {\n    *key = victim;\n    *payload = victim_payload;\n  }", "  (void)victim_payload;"}},
       ANYTHING,
       MOVING,
       {"CuckooPackedFirstOneSlot", "CuckooQuotientFirstOneSlot"}},
      // HierarchicalKV 242: a pair counts as given up before that is known.
      {"ACacheTellsAPairThatStays",
       {{"if (!taken) return TSR_RESULT_NONE;", ""}},
       ANYTHING,
       CACHES,
       {"CuckooPackedCacheOneSlot", "CuckooPackedCacheReplace", "LinearPackedCacheOneBucket"}},
      // Another new pair may have the slot, and the same score, by then.
      {"ALostSlotGetsItsScoreBack",
       {{"if (is_low && c->active) return TSR_RESULT_NOT_PLACED;",
         "if (taking.active && !taken && c->lane == 0) cache_swap_score(c, b->ref, slot, fresh, score);"
         " if (is_low && c->active) return TSR_RESULT_NOT_PLACED;"}},
       ANYTHING,
       CACHES,
       {"LinearPackedCacheExpires"}},
      {"ACacheTakesASlotWithoutComparing",
       {{"const uint32_t taken = layout_cas(&taking, b, slot, walk_stored_key(item->key), item->payload) && "
         "taking.active;",
         "tsr_bucket now_; layout_load(c, b->ref, 1, TSR_LOAD_COHERENT, &now_);"
         " const uint32_t taken = layout_cas(&taking, &now_, slot, walk_stored_key(item->key), item->payload) && "
         "taking.active;"}},
       ANYTHING,
       CACHES,
       {"CuckooPackedCacheOneSlot", "CuckooPackedCacheReplace", "LinearPackedCacheOneBucket"}},
      // ---- Lists
      {"AUnitIsAppendedTwice",
       {{"uint32_t allocates = waits && found == TSR_NO_HANDLE;",
         "uint32_t allocates = waits && (found == TSR_NO_HANDLE || found == WALK_LINK_PENDING);"}},
       ANYTHING,
       UNITS,
       {"SlabListSlabFirst"}},
      {"ARunIsNotReleased",
       {{"tsr_store64_release(record + 1, told);", "tsr_store64(record + 1, told);"}},
       OLD_LOADS,
       RUNS,
       {"LinearPackedLists"}},
      {"ARunIsNotAcquired",
       {{"if (late) newest = tsr_load64_acquire(record + 1);", "if (late) newest = tsr_load64(record + 1, 1);"}},
       OLD_LOADS,
       RUNS,
       {"LinearPackedLists"}},
      {"ANumberIsGivenTwice",
       {{"given = tsr_add64(record, group->lanes);",
         "given = tsr_load64(record, 1), tsr_store64(record, given + group->lanes);"}},
       ANYTHING,
       RUNS,
       {"LinearPackedLists"}},
      // ---- Loads
      {"AMixedTableLooksThroughL1",
       {{"return TSR_FACT(c, is_mixed) ? step | TSR_LOAD_COHERENT : step | mode;", "return step | mode;"}},
       L1_LOADS,
       OVERLAPPING,
       {"DoubleHashingPackedFirstMixed"}},
      // stdgpu 25: inserts look through caches that are old.
      {"ALostClaimLooksThroughL1",
       {{LOADS_IN_MODE, "INTERLEAVE_LOAD_IN(address, 0)"},
        {"INTERLEAVE_LOAD_IN((const tsr_u128 *)mine, mode & TSR_LOAD_COHERENT)",
         "INTERLEAVE_LOAD_IN((const tsr_u128 *)mine, 0)"}},
       L1_LOADS,
       ALL,
       {"LinearPackedFirst", "DoubleHashingPackedFirst", "DoubleHashingPackedFirstMixed", "CuckooPackedFirst"}},
  };
  return all;
}

} // namespace interleave
