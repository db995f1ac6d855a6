// SPDX-License-Identifier: Apache-2.0
//
// The checker accepts what a map did, however its operations overlapped, and rejects what no map does: planted errors,
// and whatever a trial of all orders rejects. Read next: record_test.cc.
#include "tests/history/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/tessera.h"
#include "plugins/table.h"
#include "tests/oracle/random.h"

namespace tessera_test {
namespace {

constexpr uint32_t policies[] = {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_REPLACE, TSR_DUPLICATES_ADD, TSR_DUPLICATES_MIN,
                                 TSR_DUPLICATES_MAX};

// ---- A map, written without regard to the checker -----------------------------------------------

// Does the operation and fills in its answer. false_room: no room for a new key.
void perform(Contents *map, const Rules &rules, bool has_room, Operation *operation) {
  const uint64_t mask = width_mask(rules.value_bits), offered = operation->offered & mask;
  auto at = map->find(operation->key);
  const bool present = at != map->end();
  operation->seen = 0;
  if (operation->asks == TSR_OP_FIND) {
    operation->result = present ? TSR_FOUND : TSR_MISSING;
    if (present) operation->seen = at->second;
  } else if (operation->asks == TSR_OP_ERASE) {
    operation->result = present ? TSR_ERASED : TSR_MISSING;
    map->erase(operation->key);
  } else if (!present) {
    operation->result = has_room ? TSR_INSERTED : TSR_NOT_PLACED;
    if (has_room) (*map)[operation->key] = offered;
  } else if (operation->asks == TSR_OP_REPLACE || rules.policy == TSR_DUPLICATES_REPLACE) {
    operation->result = TSR_REPLACED;
    at->second = offered;
  } else if (rules.policy == TSR_DUPLICATES_FIRST) {
    operation->result = TSR_PRESENT;
  } else {
    operation->result = TSR_COMBINED;
    at->second = rules.policy == TSR_DUPLICATES_ADD   ? (at->second + offered) & mask
                 : rules.policy == TSR_DUPLICATES_MIN ? std::min(at->second, offered)
                                                      : std::max(at->second, offered);
  }
}

// Whether these operations, in this order, give these answers, and leave that.
bool explains(const History &history, const std::vector<size_t> &order, const Rules &rules, const Contents &before,
              const Contents *after) {
  Contents map = before;
  for (size_t i : order) {
    Operation again = history[i];
    perform(&map, rules, history[i].result != TSR_NOT_PLACED, &again);
    if (again.result != history[i].result) return false;
    if (history[i].result == TSR_FOUND && rules.value_bits && again.seen != history[i].seen) return false;
  }
  auto same_keys = [](const auto &a, const auto &b) { return a.first == b.first; };
  return !after || map == *after ||
         (!rules.value_bits && std::equal(map.begin(), map.end(), after->begin(), after->end(), same_keys));
}

// No operation of the order ended before one that comes earlier began.
bool respects_time(const History &history, const std::vector<size_t> &order, uint64_t resolution) {
  uint64_t latest_begin = 0;
  for (size_t i : order) {
    if (history[i].end + 2 * resolution < latest_begin) return false;
    latest_begin = std::max(latest_begin, history[i].begin);
  }
  return true;
}

bool any_order_explains(const History &history, const Rules &rules, const Contents &before, const Contents *after) {
  std::vector<size_t> order(history.size());
  std::iota(order.begin(), order.end(), 0);
  do
    if (respects_time(history, order, rules.resolution) && explains(history, order, rules, before, after)) return true;
  while (std::next_permutation(order.begin(), order.end()));
  return false;
}

// A verdict of right comes with orders, one for each key: they are looked at.
void expect_right(const History &history, const Rules &rules, const Contents &before = {},
                  const Contents *after = nullptr) {
  Verdict verdict = check(history, rules, before, after);
  ASSERT_FALSE(verdict.wrong) << "key " << verdict.key << "\n" << verdict.why;
  ASSERT_EQ(verdict.undecided, 0u) << verdict.steps << " steps";
  ASSERT_EQ(verdict.order.size(), history.size());
  ASSERT_EQ(std::set<size_t>(verdict.order.begin(), verdict.order.end()).size(), history.size());
  EXPECT_TRUE(explains(history, verdict.order, rules, before, after));
  std::map<uint64_t, std::vector<size_t>> orders;
  for (size_t i : verdict.order) orders[history[i].key].push_back(i);
  for (const auto &[key, order] : orders) EXPECT_TRUE(respects_time(history, order, rules.resolution)) << "key " << key;
}

// why: a line that the explanation must have
void expect_wrong(const History &history, const Rules &rules, const std::string &why, const Contents &before = {},
                  const Contents *after = nullptr) {
  Verdict verdict = check(history, rules, before, after);
  EXPECT_TRUE(verdict.wrong);
  EXPECT_NE(verdict.why.find(why), std::string::npos) << "'" << why << "' is not in:\n" << verdict.why;
}

// ---- Histories by hand --------------------------------------------------------------------------

constexpr uint64_t key = 5;

Operation insert(uint64_t begin, uint64_t end, uint64_t value, uint8_t result = TSR_INSERTED) {
  return {TSR_OP_INSERT, key, value, 0, result, begin, end};
}
Operation replace(uint64_t begin, uint64_t end, uint64_t value, uint8_t result = TSR_REPLACED) {
  return {TSR_OP_REPLACE, key, value, 0, result, begin, end};
}
Operation erase(uint64_t begin, uint64_t end, uint8_t result = TSR_ERASED) {
  return {TSR_OP_ERASE, key, 0, 0, result, begin, end};
}
Operation found(uint64_t begin, uint64_t end, uint64_t value) {
  return {TSR_OP_FIND, key, 0, value, TSR_FOUND, begin, end};
}
Operation missing(uint64_t begin, uint64_t end) { return {TSR_OP_FIND, key, 0, 0, TSR_MISSING, begin, end}; }

Rules rules_of(uint32_t policy, uint32_t value_bits = 32, uint64_t resolution = 0) {
  Rules rules = {policy, value_bits};
  rules.resolution = resolution;
  return rules;
}
const Rules first = rules_of(TSR_DUPLICATES_FIRST), overwrite = rules_of(TSR_DUPLICATES_REPLACE),
            add = rules_of(TSR_DUPLICATES_ADD), least = rules_of(TSR_DUPLICATES_MIN),
            most = rules_of(TSR_DUPLICATES_MAX);

TEST(Right, OneAfterTheOther) {
  expect_right({}, first);
  expect_right({missing(0, 1), insert(2, 3, 7), found(4, 5, 7), insert(6, 7, 8, TSR_PRESENT), found(8, 9, 7),
                replace(10, 11, 9), found(12, 13, 9), erase(14, 15), erase(16, 17, TSR_MISSING), missing(18, 19),
                replace(20, 21, 3, TSR_INSERTED), found(22, 23, 3)},
               first);
  expect_right({insert(0, 1, 7), insert(2, 3, 8, TSR_REPLACED), found(4, 5, 8)}, overwrite);
  expect_right({insert(0, 1, 7), insert(2, 3, 8, TSR_COMBINED), found(4, 5, 15)}, add);
  expect_right({insert(0, 1, 0xFFFFFFFF), insert(2, 3, 8, TSR_COMBINED), found(4, 5, 7)}, add);
  expect_right({insert(0, 1, 7), insert(2, 3, 8, TSR_COMBINED), found(4, 5, 7)}, least);
  expect_right({insert(0, 1, 7), insert(2, 3, 8, TSR_COMBINED), found(4, 5, 8)}, most);
  expect_right({insert(0, 1, 7, TSR_NOT_PLACED), missing(2, 3), insert(4, 5, 8)}, first);
}

TEST(Right, OnlyOneOrder) {
  // all overlap: absent, 1, absent, 2, 3
  expect_right({found(0, 9, 3), found(1, 9, 2), replace(2, 9, 3), insert(3, 9, 2), erase(4, 9), insert(5, 9, 1),
                missing(6, 9), found(7, 9, 1)},
               first);
  // the insert must come last, though it began first
  expect_right({insert(0, 99, 1), missing(1, 2), erase(3, 4, TSR_MISSING), missing(5, 6)}, first);
  // which erase is which
  expect_right({insert(0, 1, 1), erase(2, 20), erase(3, 20), missing(4, 5), insert(6, 7, 2), found(8, 9, 2)}, first);
  // 7 + 1 + 4 was seen, 7 + 2 was not
  expect_right({insert(0, 1, 7), insert(2, 9, 1, TSR_COMBINED), insert(2, 9, 2, TSR_COMBINED),
                insert(2, 9, 4, TSR_COMBINED), found(3, 9, 12), found(4, 9, 14)},
               add);
}

TEST(Right, MomentsThatTouch) { // whether an end and a begin at one moment overlap cannot be told
  expect_right({insert(0, 5, 1), missing(5, 6)}, first);
  expect_wrong({insert(0, 5, 1), missing(6, 7)}, first, "> [1]");
}

TEST(Right, CoarseClock) {
  const History history = {insert(0, 5, 1), missing(9, 12)};
  expect_wrong(history, rules_of(TSR_DUPLICATES_FIRST, 32, 1), "> [1]");
  expect_right(history, rules_of(TSR_DUPLICATES_FIRST, 32, 2));
  // at the ends of time
  expect_right({insert(0, 1, 1), found(UINT64_MAX - 1, UINT64_MAX, 1)}, rules_of(TSR_DUPLICATES_FIRST, 32, 100));
}

TEST(Right, HowManyOverlap) {
  auto most = [](const History &history) {
    return check(history, rules_of(TSR_DUPLICATES_FIRST, 32, 5), {}).most_overlapping;
  };
  EXPECT_EQ(most({insert(0, 5, 1), found(5, 9, 1), found(9, 9, 1), found(10, 11, 1)}), 1u);
  EXPECT_EQ(most({insert(0, 5, 1), found(3, 9, 1), found(4, 6, 1), found(5, 7, 1)}), 3u);
}

TEST(Right, BeforeAndAfter) {
  const Contents seven = {{key, 7}}, none, both = {{key, 7}, {6, 1}};
  expect_right({found(0, 1, 7)}, first, seven);
  expect_right({found(0, 1, 7)}, first, seven, &seven);
  expect_right({erase(0, 1)}, first, seven, &none);
  expect_right({insert(0, 1, 7)}, first, none, &seven);
  expect_right({found(0, 1, 7)}, first, both, &both);
  expect_wrong({missing(0, 1)}, first, "> [0]", seven);
  expect_wrong({insert(0, 1, 7)}, first, "> afterwards: MISSING", none, &none);
  expect_wrong({insert(0, 1, 8)}, first, "> afterwards: FOUND 7", none, &seven);
  expect_wrong({erase(0, 1)}, first, "> afterwards: FOUND 7", seven, &seven);
  expect_wrong({found(0, 1, 7)}, first, "> afterwards: FOUND 1", seven, &both); // of another key
  expect_wrong({found(0, 1, 7)}, first, "> afterwards: MISSING", both, &seven);
}

TEST(Right, Sets) { // values are not looked at
  const Rules set = rules_of(TSR_DUPLICATES_FIRST, 0);
  const Contents before = {{key, 3}}, after = {{key, 4}};
  expect_right({found(0, 1, 9), erase(2, 3), insert(4, 5, 6), insert(6, 7, 6, TSR_PRESENT)}, set, before, &after);
  expect_wrong({found(0, 1, 9), erase(2, 3), found(4, 5, 0)}, set, "> [2]", before);
}

TEST(Wrong, StaleRead) {
  expect_wrong({insert(0, 1, 1), replace(2, 3, 2), found(4, 5, 1)}, first, "> [2]");
  // the second find is the later one
  expect_wrong({insert(0, 1, 1), replace(2, 20, 2), found(3, 5, 2), found(6, 8, 1)}, first, "> [3]");
}

TEST(Wrong, LostInsert) {
  expect_wrong({insert(0, 1, 1), missing(2, 3)}, first, "> [1]");
  expect_wrong({insert(0, 1, 1), insert(2, 3, 2), found(4, 5, 2)}, first, "> [1]");
}

TEST(Wrong, InsertedTwice) {
  expect_wrong({insert(0, 5, 1), insert(0, 5, 2)}, first, "");
  expect_wrong({insert(0, 5, 1), insert(0, 5, 2), erase(6, 7)}, overwrite, "");
  expect_right({insert(0, 5, 1), insert(0, 5, 2), erase(3, 7)}, overwrite);
}

TEST(Wrong, ErasedTwice) {
  expect_wrong({insert(0, 1, 1), erase(2, 5), erase(2, 5)}, first, "");
  expect_right({insert(0, 1, 1), erase(2, 5), erase(2, 5), insert(2, 5, 2)}, first);
}

TEST(Wrong, ValueOfNobody) {
  expect_wrong({insert(0, 1, 1), found(0, 3, 2)}, first, "> [1]");
  expect_wrong({insert(0, 1, 1), insert(0, 3, 2, TSR_PRESENT), found(0, 3, 2)}, first, "[2]");
}

TEST(Wrong, MissingThoughPresentThroughout) {
  expect_wrong({insert(0, 1, 1), replace(2, 10, 2), missing(3, 9), found(11, 12, 2)}, first, "> [2]");
}

TEST(Wrong, OverwrittenValueSeenAgain) {
  expect_wrong({insert(0, 1, 1), insert(2, 3, 2, TSR_REPLACED), found(4, 5, 1)}, overwrite, "> [2]");
  // there and back, with one operation that could do it
  expect_wrong({insert(0, 1, 1), replace(2, 20, 2), found(3, 4, 1), found(5, 6, 2), found(7, 8, 1)}, first, "> [4]");
}

TEST(Wrong, Present) {
  expect_wrong({insert(0, 1, 1, TSR_PRESENT)}, first, "> [0]");
  expect_wrong({insert(0, 1, 1), erase(2, 3), insert(4, 5, 2, TSR_PRESENT)}, first, "> [2]");
  expect_wrong({insert(0, 1, 1), replace(2, 3, 2, TSR_INSERTED)}, first, "> [1]");
  expect_wrong({insert(0, 1, 1), erase(2, 3, TSR_MISSING)}, first, "> [1]");
  expect_wrong({insert(0, 1, 1), insert(2, 3, 1, TSR_NOT_PLACED)}, first, "> [1]");
  expect_wrong({insert(0, 1, 1, TSR_NOT_PLACED), found(2, 3, 1)}, first, "[1]");
}

TEST(Wrong, Combinations) {
  const History base = {insert(0, 1, 5), insert(2, 9, 3, TSR_COMBINED), insert(2, 9, 8, TSR_COMBINED)};
  auto with = [&](uint64_t begin, uint64_t end, uint64_t value) {
    History history = base;
    history.push_back(found(begin, end, value));
    return history;
  };
  for (uint64_t value : {5, 8, 13, 16}) expect_right(with(4, 9, value), add);
  for (uint64_t value : {5, 3}) expect_right(with(4, 9, value), least);
  for (uint64_t value : {5, 8}) expect_right(with(4, 9, value), most);
  expect_right(with(10, 11, 16), add);
  expect_right(with(10, 11, 3), least);
  expect_right(with(10, 11, 8), most);
  expect_wrong(with(4, 9, 11), add, "[3]");
  expect_wrong(with(10, 11, 13), add, "> [3]");
  expect_wrong(with(4, 9, 8), least, "[3]");
  expect_wrong(with(10, 11, 5), least, "> [3]");
  expect_wrong(with(4, 9, 3), most, "[3]");
  expect_wrong(with(10, 11, 5), most, "> [3]");
}

TEST(Wrong, AnswersThatCanNeverBe) {
  expect_wrong({insert(0, 1, 1, TSR_REPLACED)}, first, "[0]");
  expect_wrong({insert(0, 1, 1, TSR_PRESENT)}, add, "[0]");
  expect_wrong({erase(0, 1, TSR_FOUND)}, first, "[0]");
  expect_wrong({erase(0, 1, 0)}, first, "code 0");
  expect_wrong({insert(1, 0, 1)}, first, "[0]"); // it ends before it begins
  expect_wrong({insert(0, 1, 1, 255)}, first, "code 255");
  expect_wrong({{TSR_OP_FIND + 1, key, 0, 0, TSR_INSERTED, 0, 1}}, first, "operation 4");
}

// ---- Histories at random ------------------------------------------------------------------------

struct Shape {
  uint64_t keys, operations, overlapping; // the latter: of all keys, about
  uint64_t values = 0;                    // distinct ones; 0: no value comes twice
  uint64_t error = 0;                     // of the recorded times, at most
};

struct Recorded {
  History history;
  Contents before, after;
};

// What a map did at moments of which only a time before and a time after are recorded.
Recorded record_map(const Shape &shape, const Rules &rules, Random *random) {
  const uint64_t mask = width_mask(rules.value_bits), pace = 16 + 4 * shape.error;
  Recorded recorded;
  auto value = [&] { return (shape.values ? random->below(shape.values) : random->next()) & mask; };
  for (uint64_t k = 0; k < shape.keys; k++)
    if (random->chance(2)) recorded.before[k] = value();
  recorded.after = recorded.before;
  const uint64_t length = 1 + shape.overlapping * pace;
  for (uint64_t i = 0; i < shape.operations; i++) {
    Operation operation = {};
    const uint64_t what = random->below(100), moment = length + i * pace + random->below(pace);
    operation.asks = what < 35 ? TSR_OP_FIND : what < 60 ? TSR_OP_INSERT : what < 80 ? TSR_OP_REPLACE : TSR_OP_ERASE;
    operation.key = random->below(shape.keys);
    operation.offered = value();
    perform(&recorded.after, rules, !random->chance(10), &operation);
    // the recorded times may be on the wrong side of the moment, by the clock's error
    operation.begin = moment - random->below(length) + random->below(shape.error + 1);
    operation.end = std::max(operation.begin, moment + random->below(length) - random->below(shape.error + 1));
    recorded.history.push_back(operation);
  }
  for (size_t i = recorded.history.size(); i > 1; i--)
    std::swap(recorded.history[i - 1], recorded.history[random->below(i)]);
  return recorded;
}

// One answer, value or time becomes another.
void mutate(History *history, uint64_t values, Random *random) {
  Operation &operation = (*history)[random->below(history->size())];
  switch (random->below(4)) {
  case 0:
    operation.result = static_cast<uint8_t>(TSR_INSERTED + random->below(TSR_ERASED));
    break;
  case 1:
    operation.seen = random->below(values);
    break;
  case 2:
    operation.end = operation.begin + random->below(operation.end - operation.begin + 1);
    break;
  default:
    operation.begin = operation.end - random->below(operation.end - operation.begin + 1);
  }
}

class AtRandom : public testing::TestWithParam<uint32_t> {};

std::string policy_name(const testing::TestParamInfo<uint32_t> &info) {
  return std::vector<std::string>{"first", "replace", "add", "min", "max"}[info.param];
}

TEST_P(AtRandom, RightOnes) {
  TSR_TRACE_SEED;
  Random random(100 + GetParam());
  for (uint64_t i = 0; i < scaled(600) && !HasFailure(); i++) {
    SCOPED_TRACE(testing::Message() << "history " << i);
    Shape shape = {1 + random.below(4), 1 + random.below(200), random.below(24)};
    if (random.chance(3)) shape.values = 1 + random.below(6);
    if (random.chance(3)) shape.error = random.below(50);
    const Rules rules = rules_of(GetParam(), random.chance(4) ? 64 : 32, shape.error);
    Recorded recorded = record_map(shape, rules, &random);
    expect_right(recorded.history, rules, recorded.before, random.chance(2) ? &recorded.after : nullptr);
  }
}

// Small ones, of which a trial of all orders tells whether they are right.
TEST_P(AtRandom, AgreesWithATrialOfAllOrders) {
  TSR_TRACE_SEED;
  Random random(200 + GetParam());
  uint64_t right = 0, wrong = 0;
  for (uint64_t i = 0; i < scaled(20000); i++) {
    Shape shape = {1, 1 + random.below(random.chance(4) ? 7 : 5), random.below(7), 1 + random.below(5)};
    const Rules rules = rules_of(GetParam(), GetParam() == TSR_DUPLICATES_FIRST && random.chance(4) ? 0 : 3,
                                 random.chance(4) ? random.below(4) : 0);
    Recorded recorded = record_map(shape, rules, &random);
    for (uint64_t n = random.below(4); n > 0; n--) mutate(&recorded.history, 5, &random);
    if (random.chance(4)) recorded.after = recorded.before;
    const Contents *after = random.chance(2) ? &recorded.after : nullptr;
    const bool is_right = any_order_explains(recorded.history, rules, recorded.before, after);
    Verdict verdict = check(recorded.history, rules, recorded.before, after);
    ASSERT_EQ(verdict.undecided, 0u);
    std::string text;
    for (const Operation &operation : recorded.history)
      text +=
          std::to_string(operation.begin) + " .. " + std::to_string(operation.end) + ": " + text_of(operation) + "\n";
    ASSERT_EQ(verdict.wrong, !is_right) << "history " << i << ":\n" << text << "verdict:\n" << verdict.why;
    (is_right ? right : wrong)++;
  }
  EXPECT_GT(right, scaled(2000));
  EXPECT_GT(wrong, scaled(2000));
}

// A find among hundreds of operations sees what nobody wrote, or another find's value, long ago.
TEST_P(AtRandom, OneWrongAnswerAmongMany) {
  TSR_TRACE_SEED;
  Random random(300 + GetParam());
  uint64_t undecided = 0, lines = 0, wrong = 0;
  for (uint64_t i = 0; i < scaled(200); i++) {
    SCOPED_TRACE(testing::Message() << "history " << i);
    const Rules rules = rules_of(GetParam());
    Recorded recorded = record_map({1 + random.below(3), 300, 2 + random.below(8)}, rules, &random);
    std::vector<Operation *> finds;
    for (Operation &operation : recorded.history)
      if (operation.result == TSR_FOUND) finds.push_back(&operation);
    if (finds.empty()) continue;
    Operation *bad = finds[random.below(finds.size())];
    if (random.chance(2)) {
      bad->seen ^= 1 + random.below(100);
    } else {
      const Operation *early =
          *std::min_element(finds.begin(), finds.end(), [](auto a, auto b) { return a->end < b->end; });
      for (Operation *find : finds)
        if (find->key == early->key && find->begin > bad->begin) bad = find;
      if (bad->key != early->key || bad->seen == early->seen || bad->begin < early->end + 1000) continue;
      bad->seen = early->seen;
    }
    Verdict verdict = check(recorded.history, rules, recorded.before);
    undecided += verdict.undecided;
    if (verdict.undecided) continue;
    ASSERT_TRUE(verdict.wrong);
    ASSERT_EQ(verdict.key, bad->key);
    wrong++;
    const size_t index = static_cast<size_t>(bad - recorded.history.data());
    EXPECT_NE(verdict.why.find("[" + std::to_string(index) + "]"), std::string::npos) << index << ":\n" << verdict.why;
    lines += static_cast<uint64_t>(std::count(verdict.why.begin(), verdict.why.end(), '\n'));
  }
  EXPECT_GT(wrong, scaled(50));
  EXPECT_LE(undecided, scaled(4));
  std::cout << wrong << " wrong histories, " << lines / wrong << " lines of explanation each\n";
}

INSTANTIATE_TEST_SUITE_P(All, AtRandom, testing::ValuesIn(policies), policy_name);

} // namespace
} // namespace tessera_test
