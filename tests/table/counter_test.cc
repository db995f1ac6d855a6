// SPDX-License-Identifier: Apache-2.0
//
// Counters: keys that are inserted without values, counts that stop at their largest number, on the cpu backend, for
// layouts that store pairs whole and apart, schemes that move pairs and lists. The exercises of the other folders count,
// too (../conformance, ../compositions, ../devices). Read next: judged.h.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *layout, *probing, *allocator;
  uint32_t value_bits, policy;
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.layout << ", " << c.probing << ", " << policy_words[c.policy];
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  return std::string(info.param.layout) + "_" + info.param.probing + "_" + policy_words[info.param.policy] + "_" +
         std::to_string(info.param.value_bits);
}

Recipe recipe_of(const Case &c) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = c.layout;
  recipe.part[TSR_ROLE_PROBING] = c.probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.part[TSR_ROLE_ALLOCATOR] = c.allocator;
  recipe.value_bits = c.value_bits;
  recipe.duplicates = c.policy;
  recipe.capacity = 3000;
  return recipe;
}

class Counters : public testing::TestWithParam<Case>, protected Judged {
protected:
  uint64_t most() const { return oracle_->most(); }

  Batch counted(uint64_t key, uint64_t times) {
    Batch batch;
    batch.keys.assign(times, key);
    return batch;
  }

  uint64_t count_of(uint64_t key) {
    Batch batch = counted(key, 1);
    EXPECT_EQ(table_->find(batch, 0), "");
    return batch.values[0];
  }
};

// Threads reach the largest number together and go on: who takes the sum past it sets it right, whatever the others do.
TEST_P(Counters, StopAtTheirLargest) {
  create(recipe_of(GetParam()));
  const uint64_t hot = 5, rare = ~uint64_t{0} >> 32, times = sanitized ? 10000 : 80000;
  Batch before;
  before.keys = {hot, rare};
  before.values = {most() - 100, 1};
  insert(before);
  Batch batch = counted(hot, 100);
  insert(batch);
  EXPECT_EQ(count_of(hot), most()) << "reached, not passed";
  EXPECT_EQ(report().overflows, 0u);
  batch = counted(hot, 1);
  insert(batch);
  EXPECT_EQ(report().overflows, 1u);
  batch = counted(hot, times);
  for (size_t i = 0; i < times; i += 1000) batch.keys[i] = rare;
  insert(batch);
  EXPECT_EQ(count_of(hot), most());
  EXPECT_EQ(count_of(rare), std::min(1 + times / 1000, most()));
  const uint64_t before_7 = report().overflows;
  EXPECT_GT(before_7, 1u);
  batch = counted(7, times);
  insert(batch);
  EXPECT_EQ(report().overflows > before_7, times > most());
  EXPECT_EQ(count_of(7), std::min(times, most()));
  expect_all({hot, rare, 7, 8});
}

// A first count is no addition, so nothing stops: the values are looked at.
TEST_P(Counters, TellOfOneValueThatIsTooLarge) {
  if (GetParam().policy == TSR_DUPLICATES_COUNT) GTEST_SKIP() << "a value has as many bits as a count";
  for (const char *growth : {"none", "double"}) {
    create(recipe_of(GetParam()), {std::string("table.growth=") + growth});
    Batch batch;
    batch.keys = {5, 6, 7, 8};
    batch.values = {most() + 1, most(), 1, 0xFFFFFFFFu};
    insert(batch);
    EXPECT_EQ(count_of(5), most());
    EXPECT_EQ(count_of(7), 1u);
    EXPECT_EQ(report().overflows, 2u) << growth;
  }
}

TEST_P(Counters, GrowInPagesAndIn8Bits) {
  TSR_TRACE_SEED;
  Random random(3);
  std::vector<std::string> settings = {"table.capacity=50", "table.growth=double"};
  if (std::string(GetParam().layout) != "slab" && std::string(GetParam().probing) != "robin_hood")
    settings.insert(settings.end(), {"table.page_bytes=4Ki", "table.page_batch=100"});
  create(recipe_of(GetParam()), settings);
  std::vector<uint64_t> keys;
  for (int i = 0; i < 6; i++) {
    Batch batch;
    for (int k = 0; k < 3000; k++) batch.keys.push_back(random.below(1500));
    insert(batch);
    keys.insert(keys.end(), batch.keys.begin(), batch.keys.begin() + 50);
  }
  expect_all(keys);
  tsr_error error = {};
  Recipe narrow = recipe_of(GetParam());
  if (GetParam().value_bits == 64) return; // of another width
  narrow.duplicates = TSR_DUPLICATES_COUNT_8;
  SpecPointer spec = spec_of(narrow);
  tsr_rehash_options options = {};
  options.spec = spec.get();
  Batch batch = counted(1, 300);
  insert(batch);
  ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
  EXPECT_EQ(count_of(1), 255u) << "a count that is too large for its new width is the largest there";
}

TEST_P(Counters, AreSavedAndJoined) {
  create(recipe_of(GetParam()));
  Batch batch = counted(5, 90);
  batch.keys[0] = 6;
  insert(batch);
  char path[] = "/tmp/tessera-counter.XXXXXX";
  const int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  tsr_error error = {};
  tsr_load_options load = {};
  const std::string plugins = plugin_directories();
  load.plugins = plugins.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_save(table_->get(), path, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_table_load(path, &load, &loaded, &error), TSR_OK) << error.message;
  unlink(path);
  uint64_t rows = 2;
  Array keys(32, 2), left(GetParam().value_bits, 2), right(GetParam().value_bits, 2);
  tsr_join_rows to = {};
  to.keys = keys.data();
  to.left_values = left.data();
  to.right_values = right.data();
  to.room = 2;
  ASSERT_EQ(tsr_join(table_->get(), loaded, TSR_JOIN_INNER, &to, &rows, &error), TSR_OK) << error.message;
  ASSERT_EQ(rows, 2u);
  for (size_t i = 0; i < 2; i++) {
    EXPECT_EQ(left.numbers(2)[i], keys.numbers(2)[i] == 5 ? 89u : 1u);
    EXPECT_EQ(right.numbers(2)[i], left.numbers(2)[i]);
  }
  table_->replace(loaded);
  insert(batch);
  EXPECT_EQ(count_of(5), std::min<uint64_t>(2 * 89, most()));
}

INSTANTIATE_TEST_SUITE_P(Tables, Counters,
                         testing::Values(Case{"packed", "double_hashing", "", 32, TSR_DUPLICATES_COUNT_8},
                                         Case{"packed", "cuckoo", "", 32, TSR_DUPLICATES_COUNT_16},
                                         Case{"packed", "cuckoo", "", 64, TSR_DUPLICATES_COUNT},
                                         Case{"packed", "robin_hood", "", 32, TSR_DUPLICATES_COUNT},
                                         Case{"soa", "linear", "", 32, TSR_DUPLICATES_COUNT_16},
                                         Case{"soa", "two_choice", "", 64, TSR_DUPLICATES_COUNT},
                                         Case{"aos", "double_hashing", "", 32, TSR_DUPLICATES_COUNT_8},
                                         Case{"aos", "quadratic", "", 32, TSR_DUPLICATES_COUNT},
                                         Case{"aos", "double_hashing", "", 64, TSR_DUPLICATES_COUNT},
                                         Case{"slab", "slab_list", "slab", 32, TSR_DUPLICATES_COUNT_8},
                                         Case{"slab", "slab_list", "slab", 32, TSR_DUPLICATES_COUNT}),
                         name_of);

TEST(CounterRules, RefuseInSentences) {
  const Recipe recipe = recipe_of({"packed", "linear", "", 32, TSR_DUPLICATES_COUNT});
  EXPECT_NE(refusal_of(recipe, {"table.duplicates=add"}).find("has no such policy; remove the line"),
            std::string::npos);
  EXPECT_NE(refusal_of(recipe, {"table.value_bits=24"}).find("must be 8 | 16 | 32 | 64"), std::string::npos);
  EXPECT_NE(refusal_of(recipe, {"table.kind=map", "table.value_bits=8"}).find("only counts are narrower"),
            std::string::npos);
  EXPECT_NE(refusal_of(recipe, {"table.probing=hashgraph"}).find("without looking up keys"), std::string::npos);
  tsr_table *table = made(spec_of(recipe).get());
  const uint32_t keys[] = {1, 2};
  uint32_t values[] = {1, 1};
  tsr_error error = {};
  expect_refused(tsr_find_or_insert(table, 2, keys, values, values, nullptr, &error), TSR_UNSUPPORTED, error,
                 "use tsr_insert, then tsr_find");
  tsr_table_destroy(table);
  Recipe map = recipe;
  map.duplicates = TSR_DUPLICATES_ADD;
  table = made(spec_of(map).get());
  expect_refused(tsr_insert(table, 2, keys, nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "values is NULL");
  tsr_table_destroy(table);
}

// Operations of all kinds at once: an insert without a value counts once, a replace sets the count.
TEST(CounterRules, CountAmongOtherOperations) {
  Recipe recipe = recipe_of({"packed", "linear", "", 32, TSR_DUPLICATES_COUNT_8});
  recipe.mixed = true;
  tsr_table *table = made(spec_of(recipe).get());
  std::vector<uint32_t> keys(3000, 1);
  std::vector<uint8_t> operations(3000, TSR_OP_INSERT);
  std::vector<uint32_t> found(3000);
  keys[10] = 2;
  keys[11] = 3;
  operations[11] = TSR_OP_FIND;
  tsr_error error = {};
  tsr_call call = {};
  call.missing = 77;
  ASSERT_EQ(tsr_apply(table, 3000, operations.data(), keys.data(), nullptr, found.data(), &call, &error), TSR_OK)
      << error.message;
  EXPECT_EQ(found[11], 77u);
  const uint32_t asked[] = {1, 2}, replaces[] = {1000, 9};
  uint32_t counts[2];
  ASSERT_EQ(tsr_find(table, 2, asked, counts, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(counts[0], 255u);
  EXPECT_EQ(counts[1], 1u);
  const uint8_t replace[] = {TSR_OP_REPLACE, TSR_OP_REPLACE};
  ASSERT_EQ(tsr_apply(table, 2, replace, asked, replaces, counts, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find(table, 2, asked, counts, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(counts[0], 255u);
  EXPECT_EQ(counts[1], 9u);
  tsr_table_destroy(table);
}

} // namespace
} // namespace tessera_test
