// SPDX-License-Identifier: Apache-2.0
//
// Who judges the judge: the oracle accepts right answers and complains about each kind of wrong one.
#include "tests/oracle/oracle.h"

#include <gtest/gtest.h>

#include "tests/oracle/chance.h"
#include "tests/oracle/draw.h"
#include "tests/oracle/exercise.h"

namespace {

using tessera_test::Batch;
using tessera_test::Exercise;
using tessera_test::Oracle;
using tessera_test::Random;

Batch inserted(std::vector<uint64_t> keys, std::vector<uint64_t> values, std::vector<uint8_t> codes) {
  Batch batch;
  batch.keys = std::move(keys);
  batch.values = std::move(values);
  batch.codes = std::move(codes);
  batch.back_keys.resize(batch.keys.size());
  batch.back_values.resize(batch.keys.size());
  return batch;
}

Batch answered(std::vector<uint64_t> keys, std::vector<uint8_t> codes, std::vector<uint64_t> values = {}) {
  return inserted(std::move(keys), std::move(values), std::move(codes));
}

TEST(Oracle, PoliciesOfOneBatch) {
  struct Case {
    uint32_t policy;
    uint8_t code;
    std::vector<uint64_t> allowed, refused;
  };
  const Case cases[] = {{TSR_DUPLICATES_FIRST, TSR_PRESENT, {5}, {3, 7, 0}}, // 5 is the one reported as inserted
                        {TSR_DUPLICATES_REPLACE, TSR_REPLACED, {3, 5, 7}, {0, 8}},
                        {TSR_DUPLICATES_ADD, TSR_COMBINED, {15}, {3, 5, 7, 8}},
                        {TSR_DUPLICATES_MIN, TSR_COMBINED, {3}, {5, 7}},
                        {TSR_DUPLICATES_MAX, TSR_COMBINED, {7}, {3, 5}}};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.policy);
    auto after = [&] {
      Oracle oracle(c.policy, 32);
      EXPECT_EQ(oracle.insert(inserted({9, 9, 9}, {7, 5, 3}, {c.code, TSR_INSERTED, c.code})), "");
      return oracle;
    };
    for (uint64_t value : c.allowed) EXPECT_EQ(after().find(answered({9}, {TSR_FOUND}, {value}), 0), "");
    for (uint64_t value : c.refused) EXPECT_NE(after().find(answered({9}, {TSR_FOUND}, {value}), 0), "");
    EXPECT_NE(after().find(answered({9}, {TSR_MISSING}, {0}), 0), "");
    Oracle twice(c.policy, 32);
    EXPECT_NE(twice.insert(inserted({9, 9}, {7, 5}, {TSR_INSERTED, TSR_INSERTED})), "");
    Oracle never(c.policy, 32);
    EXPECT_NE(never.insert(inserted({9}, {7}, {c.code})), "");
  }
}

TEST(Oracle, SeeingAValueSettlesIt) {
  Oracle oracle(TSR_DUPLICATES_REPLACE, 32);
  EXPECT_EQ(oracle.insert(inserted({1, 1}, {10, 20}, {TSR_INSERTED, TSR_REPLACED})), "");
  EXPECT_EQ(oracle.find(answered({1}, {TSR_FOUND}, {20}), 0), "");
  EXPECT_NE(oracle.find(answered({1}, {TSR_FOUND}, {10}), 0), "");
}

TEST(Oracle, SumsWrapAtTheWidth) {
  Oracle oracle(TSR_DUPLICATES_ADD, 32);
  EXPECT_EQ(oracle.insert(inserted({1, 1}, {0xFFFFFFFF, 3}, {TSR_INSERTED, TSR_COMBINED})), "");
  EXPECT_EQ(oracle.find(answered({1}, {TSR_FOUND}, {2}), 0), "");
}

TEST(Oracle, UnplacedPairs) {
  auto full = [] {
    Oracle oracle(TSR_DUPLICATES_FIRST, 32);
    EXPECT_EQ(oracle.insert(inserted({1}, {10}, {TSR_INSERTED})), "");
    return oracle;
  };
  auto failed = [](uint64_t back_key, uint64_t back_value) {
    Batch batch = inserted({2}, {20}, {TSR_NOT_PLACED});
    batch.back_keys[0] = back_key;
    batch.back_values[0] = back_value;
    return batch;
  };
  Oracle own = full(), other = full(), stranger = full(), wrong_value = full();
  EXPECT_EQ(own.insert(failed(2, 20)), "");
  EXPECT_TRUE(own.has(1) && !own.has(2));
  EXPECT_EQ(other.insert(failed(1, 10)), "");
  EXPECT_TRUE(other.has(2) && !other.has(1));
  EXPECT_NE(stranger.insert(failed(3, 30)), "");
  EXPECT_NE(wrong_value.insert(failed(1, 11)), "");
}

TEST(Oracle, SumsAreConservedWhenAPairIsHandedBack) {
  for (uint64_t back : {5u, 12u, 6u}) {
    Oracle oracle(TSR_DUPLICATES_ADD, 32);
    EXPECT_EQ(oracle.insert(inserted({1}, {5}, {TSR_INSERTED})), "");
    Batch batch = inserted({1, 2}, {7, 0}, {TSR_COMBINED, TSR_NOT_PLACED});
    batch.back_keys[1] = 1;
    batch.back_values[1] = back;
    EXPECT_EQ(oracle.insert(batch) == "", back == 12) << back;
  }
}

TEST(Oracle, EraseOnceAndExportEverything) {
  Oracle oracle(TSR_DUPLICATES_FIRST, 32);
  EXPECT_EQ(oracle.insert(inserted({1, 2, 3}, {10, 20, 30}, {TSR_INSERTED, TSR_INSERTED, TSR_INSERTED})), "");
  Oracle twice = oracle, never = oracle;
  EXPECT_EQ(oracle.erase(answered({1, 1, 4}, {TSR_MISSING, TSR_ERASED, TSR_MISSING})), "");
  EXPECT_NE(twice.erase(answered({1, 1}, {TSR_ERASED, TSR_ERASED})), "");
  EXPECT_NE(never.erase(answered({1}, {TSR_MISSING})), "");
  EXPECT_EQ(oracle.exported({3, 2}, {30, 20}), "");
  EXPECT_NE(oracle.exported({3}, {30}), "");
  EXPECT_NE(oracle.exported({3, 2, 2}, {30, 20, 20}), "");
  EXPECT_NE(oracle.exported({3, 2, 1}, {30, 20, 10}), "");
  EXPECT_NE(oracle.exported({3, 2}, {30, 21}), "");
  EXPECT_EQ(oracle.contains(answered({1, 2}, {0, 1})), "");
  EXPECT_NE(oracle.contains(answered({1, 2}, {1, 1})), "");
}

// A table made of a plain map, right or with one fault: the random operations accept the first and find every other.
class Model : public tessera_test::Subject {
public:
  enum Fault {
    NONE,
    LOSES,
    DOUBLES,
    KEEPS_ERASED,
    WRONG_VALUE,
    FORGETS_TO_COMBINE,
    COUNTS_WRONG,
    OBTAINS_WRONG,
    COUNTS_A_KEY_WRONG,
    MISPLACES_VALUES,
    DOES_NOT_REPLACE,
    DROPS_WHEN_FULL
  };

  Model(Fault fault, size_t slots) : Subject(32, 32), fault_(fault), slots_(slots) {}

  std::string insert(Batch &batch) override {
    batch.codes.assign(batch.keys.size(), TSR_INSERTED);
    batch.back_keys.assign(batch.keys.size(), 0);
    batch.back_values.assign(batch.keys.size(), 0);
    for (size_t i = 0; i < batch.keys.size(); i++) {
      auto at = map_.find(batch.keys[i]);
      if (at != map_.end()) {
        if (fault_ != FORGETS_TO_COMBINE) at->second = std::min(at->second, batch.values[i]);
        batch.codes[i] = TSR_COMBINED;
      } else if (map_.size() >= slots_) {
        batch.codes[i] = fault_ == DROPS_WHEN_FULL ? TSR_INSERTED : TSR_NOT_PLACED;
        batch.back_keys[i] = batch.keys[i];
        batch.back_values[i] = batch.values[i];
      } else if (fault_ != LOSES || ++inserts_ % 100 != 0) {
        map_[batch.keys[i]] = batch.values[i] ^ (fault_ == WRONG_VALUE && ++inserts_ % 100 == 0);
      }
    }
    return "";
  }
  std::string find_or_insert(Batch &batch, uint64_t missing) override {
    batch.obtained.clear();
    batch.back_keys = batch.keys;
    batch.back_values = batch.values;
    batch.codes.assign(batch.keys.size(), TSR_FOUND);
    for (size_t i = 0; i < batch.keys.size(); i++) {
      auto at = map_.find(batch.keys[i]);
      if (at != map_.end()) {
        batch.obtained.push_back(fault_ == OBTAINS_WRONG ? batch.values[i] : at->second);
      } else if (map_.size() >= slots_) {
        batch.codes[i] = TSR_NOT_PLACED;
        batch.obtained.push_back(missing & 0xFFFFFFFFu);
      } else {
        batch.codes[i] = TSR_INSERTED;
        batch.obtained.push_back(map_[batch.keys[i]] = batch.values[i]);
      }
    }
    return "";
  }
  std::string find(Batch &batch, uint64_t missing) override {
    batch.codes.clear();
    batch.values.clear();
    for (uint64_t key : batch.keys) {
      batch.codes.push_back(map_.count(key) ? TSR_FOUND : TSR_MISSING);
      batch.values.push_back(map_.count(key) ? map_[key] : missing & 0xFFFFFFFFu);
    }
    return "";
  }
  std::string contains(Batch &batch) override {
    batch.codes.clear();
    for (uint64_t key : batch.keys) batch.codes.push_back(map_.count(key) != 0);
    return "";
  }
  std::string count_all(Batch &batch) override {
    batch.codes.clear();
    batch.counts.clear();
    for (uint64_t key : batch.keys) {
      batch.codes.push_back(map_.count(key) ? TSR_FOUND : TSR_MISSING);
      batch.counts.push_back(map_.count(key) + (fault_ == COUNTS_A_KEY_WRONG && key % 64 == 0));
    }
    return "";
  }
  std::string find_all(Batch &batch, uint64_t room) override {
    batch.codes.clear();
    batch.counts.assign(1, 0);
    batch.values.assign(room, 0);
    for (uint64_t key : batch.keys) {
      uint64_t at = batch.counts.back();
      batch.codes.push_back(map_.count(key) ? TSR_FOUND : TSR_MISSING);
      batch.counts.push_back(at + map_.count(key));
      if (map_.count(key) && at < room) batch.values[at] = map_[key] + (fault_ == MISPLACES_VALUES);
    }
    return "";
  }
  std::string erase_pairs(Batch &) override { return "maps are not asked for it"; }
  std::string erase(Batch &batch) override {
    batch.codes.clear();
    for (uint64_t key : batch.keys) {
      batch.codes.push_back(map_.count(key) ? TSR_ERASED : TSR_MISSING);
      if (fault_ != KEEPS_ERASED || key % 64 != 0) map_.erase(key);
    }
    return "";
  }
  // One item after the other.
  std::string apply(const std::vector<uint8_t> &operations, Batch &batch, uint64_t missing) override {
    const size_t n = batch.keys.size();
    batch.codes.assign(n, 0);
    batch.obtained = batch.back_keys = batch.back_values = std::vector<uint64_t>(n);
    for (size_t i = 0; i < n; i++) {
      Batch one;
      one.keys = {batch.keys[i]};
      one.values = {batch.values[i]};
      std::string complaint = operations[i] == TSR_OP_ERASE  ? erase(one)
                              : operations[i] == TSR_OP_FIND ? find(one, missing)
                                                             : insert(one);
      if (!complaint.empty()) return complaint;
      batch.codes[i] = one.codes[0];
      if (operations[i] == TSR_OP_REPLACE && one.codes[0] == TSR_COMBINED) {
        batch.codes[i] = TSR_REPLACED;
        if (fault_ != DOES_NOT_REPLACE) map_[batch.keys[i]] = batch.values[i];
      }
      if (operations[i] == TSR_OP_FIND) batch.obtained[i] = one.values[0];
      if (one.codes[0] != TSR_NOT_PLACED) continue;
      batch.back_keys[i] = one.back_keys[0];
      batch.back_values[i] = one.back_values[0];
    }
    return "";
  }
  std::string clear() override {
    map_.clear();
    return "";
  }
  std::string size(uint64_t *size) override {
    *size = map_.size() + (fault_ == COUNTS_WRONG && map_.size() == 7);
    return "";
  }
  std::string exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) override {
    for (auto &pair : map_) {
      keys->push_back(pair.first);
      values->push_back(pair.second);
      if (fault_ == DOUBLES && pair.first % 64 == 1) keys->push_back(pair.first), values->push_back(pair.second);
    }
    return "";
  }

private:
  Fault fault_;
  size_t slots_, inserts_ = 0;
  std::unordered_map<uint64_t, uint64_t> map_;
};

TEST(Exercise, FindsEveryFaultAndNoneWhereThereIsNone) {
  for (int fault = Model::NONE; fault <= Model::DROPS_WHEN_FULL; fault++) {
    TSR_TRACE_SEED;
    std::string complaint;
    for (uint64_t round = 0; round < 20 && complaint.empty(); round++) {
      Model model(static_cast<Model::Fault>(fault), round == 0 ? 7 : 200);
      Random random(round);
      Exercise::Options options;
      options.slots = round == 0 ? 7 : 200;
      options.mixes = round % 2 != 0;
      Exercise exercise(model, TSR_DUPLICATES_MIN, random, options);
      complaint = exercise.run();
      if (complaint.empty()) complaint = exercise.overfill();
    }
    EXPECT_EQ(complaint.empty(), fault == Model::NONE) << "fault " << fault << ": " << complaint;
  }
}

// Against sums that can be done by hand.
TEST(Chance, BoundsAreTheTailsOfTheBinomial) {
  using tessera_test::fewest_of;
  using tessera_test::most_of;
  EXPECT_NEAR(tessera_test::binomial(10, .5, 3), 120. / 1024, 1e-12);
  EXPECT_EQ(fewest_of(10, .5, 10.9 / 1024), 1u); // fewer than two: 11 of 1024
  EXPECT_EQ(fewest_of(10, .5, 11.1 / 1024), 2u);
  EXPECT_EQ(most_of(10, .5, 11.1 / 1024), 8u);
  EXPECT_EQ(most_of(10, .5, 10.9 / 1024), 9u);
  EXPECT_EQ(fewest_of(200, 1), 200u);
  EXPECT_EQ(most_of(200, 0), 0u);
}

// 5 %, 1 % and 0.1 % are exceeded at 82.529, 92.010 and 103.442 of 63 degrees of freedom.
TEST(Chance, ChiSquareIsAsFarOutAsANormalVariable) {
  EXPECT_NEAR(tessera_test::deviations_of_chi_square(82.529, 63), 1.6449, .02);
  EXPECT_NEAR(tessera_test::deviations_of_chi_square(92.010, 63), 2.3263, .02);
  EXPECT_NEAR(tessera_test::deviations_of_chi_square(103.442, 63), 3.0902, .02);
}

TEST(MultiOracle, KeepsEveryPair) {
  auto filled = [] {
    Oracle oracle(TSR_DUPLICATES_KEEP, 32);
    EXPECT_EQ(oracle.insert(inserted({1, 1, 2}, {10, 20, 30}, {TSR_INSERTED, TSR_INSERTED, TSR_INSERTED})), "");
    return oracle;
  };
  EXPECT_EQ(filled().size(), 3u);
  EXPECT_NE(filled().insert(inserted({1}, {10}, {TSR_PRESENT})), "");
  Batch back = inserted({7}, {70}, {TSR_NOT_PLACED});
  back.back_keys = {2}, back.back_values = {30};
  EXPECT_EQ(filled().insert(back), "");
  back.back_values = {31};
  EXPECT_NE(filled().insert(back), "");
  EXPECT_EQ(filled().find(answered({1, 3}, {TSR_FOUND, TSR_MISSING}, {20, 5}), 5), "");
  EXPECT_NE(filled().find(answered({1}, {TSR_FOUND}, {30}), 5), "");
  EXPECT_NE(filled().find(answered({1}, {TSR_MISSING}, {5}), 5), "");
  EXPECT_EQ(filled().exported({1, 2, 1}, {20, 30, 10}), "");
  EXPECT_NE(filled().exported({1, 2, 1}, {20, 30, 20}), "");
  EXPECT_NE(filled().exported({1, 2}, {20, 30}), "");
  EXPECT_NE(filled().exported({1, 2, 1, 1}, {20, 30, 10, 10}), "");

  auto counted = [](std::vector<uint64_t> keys, std::vector<uint8_t> codes, std::vector<uint64_t> counts,
                    std::vector<uint64_t> values = {}) {
    Batch batch = answered(std::move(keys), std::move(codes), std::move(values));
    batch.counts = std::move(counts);
    return batch;
  };
  EXPECT_EQ(filled().count_all(counted({3, 1}, {TSR_MISSING, TSR_FOUND}, {0, 2})), "");
  EXPECT_NE(filled().count_all(counted({3, 1}, {TSR_MISSING, TSR_FOUND}, {0, 1})), "");
  EXPECT_NE(filled().count_all(counted({3, 1}, {TSR_FOUND, TSR_FOUND}, {0, 2})), "");
  EXPECT_EQ(filled().find_all(counted({1, 2}, {TSR_FOUND, TSR_FOUND}, {0, 2, 3}, {20, 10, 30})), "");
  EXPECT_EQ(filled().find_all(counted({1, 2}, {TSR_FOUND, TSR_FOUND}, {0, 2, 3}, {20})), "");
  EXPECT_NE(filled().find_all(counted({1, 2}, {TSR_FOUND, TSR_FOUND}, {0, 2, 3}, {20, 20, 30})), "");
  EXPECT_NE(filled().find_all(counted({1, 2}, {TSR_FOUND, TSR_FOUND}, {0, 1, 2}, {20, 30})), "");

  EXPECT_EQ(filled().erase(answered({1, 1, 3}, {TSR_ERASED, TSR_ERASED, TSR_MISSING})), "");
  EXPECT_EQ(filled().erase(answered({1, 1}, {TSR_ERASED, TSR_MISSING})), "");
  EXPECT_NE(filled().erase(answered({1}, {TSR_MISSING})), "");
  EXPECT_NE(filled().erase(answered({2, 2}, {TSR_ERASED, TSR_ERASED})), "");
  EXPECT_EQ(filled().erase_pairs(answered({1, 1}, {TSR_MISSING, TSR_ERASED}, {10, 10})), "");
  EXPECT_NE(filled().erase_pairs(answered({1, 1}, {TSR_ERASED, TSR_ERASED}, {10, 10})), "");
  EXPECT_NE(filled().erase_pairs(answered({1}, {TSR_ERASED}, {30})), "");
}

// Of 4 x 3 x 5 cases without those that nobody accepts: fewer, and every pair of options that is in them.
TEST(Draw, CoversAllPairs) {
  std::vector<tessera_test::Options> all;
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 3; b++)
      for (int c = 0; c < 5; c++)
        if (a != 2 || b != 1) all.push_back({std::to_string(a), std::to_string(b), std::to_string(c)});
  for (uint64_t seed : {1u, 2u}) {
    const std::vector<size_t> drawn = tessera_test::draw(all, seed);
    EXPECT_LT(drawn.size(), all.size() / 2);
    EXPECT_EQ(drawn, tessera_test::draw(all, seed));
    for (const tessera_test::Options &one : all)
      for (size_t b = 0; b < 3; b++)
        for (size_t a = 0; a < b; a++)
          EXPECT_TRUE(std::any_of(drawn.begin(), drawn.end(),
                                  [&](size_t i) { return all[i][a] == one[a] && all[i][b] == one[b]; }))
              << one[a] << " " << one[b];
  }
  EXPECT_NE(tessera_test::draw(all, 1), tessera_test::draw(all, 2));
}

} // namespace
