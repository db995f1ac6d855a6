// SPDX-License-Identifier: Apache-2.0
//
// Multimaps whose values are in buckets of their own (values = buckets, core/design/0022-bucket-lists.md), on the cpu
// backend: every layout, scheme and allocator that carries them, against the oracle; what they take of memory, against
// the paper's formula; and what refuses them. Read next: judged.h, multi_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  Recipe recipe;
  std::vector<std::string> settings;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  out << c.recipe;
  for (const std::string &setting : c.settings) out << setting << "\n";
  return out;
}

Case case_of(const std::string &layout, const std::string &probing, const std::string &allocator) {
  Case c;
  c.recipe.part[TSR_ROLE_LAYOUT] = layout;
  c.recipe.part[TSR_ROLE_PROBING] = probing;
  c.recipe.part[TSR_ROLE_HASHER] = "murmur3";
  c.recipe.part[TSR_ROLE_ALLOCATOR] = allocator;
  c.recipe.duplicates = TSR_DUPLICATES_KEEP;
  c.recipe.capacity = 4000;
  c.settings = {"table.values=buckets"};
  return c;
}

// Every layout and scheme that carries them with the first allocator, and every allocator with the first of these.
std::vector<Case> cases() {
  std::vector<Case> result;
  const std::vector<std::string> allocators = plugins_of(TSR_ROLE_ALLOCATOR);
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (const std::string &allocator : allocators) {
        Case c = case_of(layout, probing, allocator);
        if (!refusal_of(c.recipe, {"table.values=buckets"}).empty()) break;
        if (result.size() >= allocators.size() && allocator != allocators[0]) break;
        result.push_back(c);
      }
  // the shapes of chains, and the widths
  const char *const shapes[][2] = {{"1", "1"}, {"1", "2"}, {"16", "1"}, {"3", "1.001"}, {"5", "64"}, {"31", "1.1"}};
  for (uint32_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Case c = case_of(i % 2 ? "packed" : "soa", "double_hashing", i % 2 ? "slab" : "bump");
    c.recipe.key_bits = i % 3 ? 64 : 32;
    c.recipe.value_bits = i % 2 ? 32 : 64;
    c.settings.push_back(std::string("values.first=") + shapes[i][0]);
    c.settings.push_back(std::string("values.growth=") + shapes[i][1]);
    c.settings.push_back(i % 2 ? "allocator.unit_bytes=32" : "allocator.unit_bytes=16");
    result.push_back(c);
  }
  for (const char *layout : {"packed", "soa", "tagged"}) {
    Case c = case_of(layout, "double_hashing", "slab");
    c.recipe.key_bits = 128;
    result.push_back(c);
  }
  return result;
}

std::string case_name(const testing::TestParamInfo<Case> &info) {
  const Recipe &r = info.param.recipe;
  return r.part[TSR_ROLE_LAYOUT] + "_" + r.part[TSR_ROLE_PROBING] + "_" + r.part[TSR_ROLE_ALLOCATOR] + "_" +
         std::to_string(info.index);
}

class Buckets : public testing::TestWithParam<Case>, protected Judged {
protected:
  void make(uint64_t capacity, std::vector<std::string> more = {}) {
    Recipe recipe = GetParam().recipe;
    recipe.capacity = capacity;
    more.insert(more.begin(), GetParam().settings.begin(), GetParam().settings.end());
    create(recipe, more);
  }

  uint64_t mask() const { return width_mask(std::min(GetParam().recipe.key_bits, 64u)); }

  // Keys that come often and seldom, those that mark slots among them.
  Batch batch_of(uint64_t n, uint64_t distinct, Random *random) {
    Batch batch;
    for (uint64_t i = 0; i < n; i++) {
      uint64_t key = random->chance(3) ? random->below(5) : random->below(distinct);
      batch.keys.push_back(key < 2 ? mask() - key : (key * 0x9E3779B97F4A7C15u) & mask());
      batch.values.push_back(random->bits(GetParam().recipe.value_bits));
    }
    return batch;
  }

  std::vector<uint64_t> asked(const Batch &batch) {
    std::set<uint64_t> keys(batch.keys.begin(), batch.keys.end());
    std::vector<uint64_t> result(keys.begin(), keys.end());
    result.push_back(77); // absent
    return result;
  }
};

TEST_P(Buckets, AgreeWithTheOracle) {
  TSR_TRACE_SEED;
  Random random(5);
  ASSERT_NO_FATAL_FAILURE(make(6000));
  for (int round = 0; round < (sanitized ? 4 : 12); round++) {
    SCOPED_TRACE(round);
    Batch batch = batch_of(scaled(1500), 300, &random);
    const std::vector<uint64_t> keys = asked(batch);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    Batch contained;
    contained.keys = keys;
    ASSERT_EQ(table_->contains(contained), "");
    ASSERT_EQ(oracle_->contains(contained), "");
    Batch some = batch_of(200, 300, &random); // keys several times in a call
    ASSERT_NO_FATAL_FAILURE(erase(some));
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
  Batch none;
  none.keys = {1, 2};
  ASSERT_EQ(table_->clear(), "");
  oracle_->clear();
  ASSERT_NO_FATAL_FAILURE(expect_all(none.keys));
}

TEST_P(Buckets, RacesOfEqualKeys) {
  for (uint64_t distinct : {uint64_t{1}, uint64_t{7}}) {
    const uint64_t n = scaled(20000);
    ASSERT_NO_FATAL_FAILURE(make(3 * n));
    Batch one;
    for (uint64_t i = 0; i < n; i++) {
      one.keys.push_back(1000 + i % distinct);
      one.values.push_back(i);
    }
    Batch two = one;
    ASSERT_NO_FATAL_FAILURE(insert(one));
    ASSERT_NO_FATAL_FAILURE(insert(two));
    ASSERT_EQ(oracle_->size(), 2 * n);
    ASSERT_NO_FATAL_FAILURE(expect_all(asked(one)));
    EXPECT_EQ(usage().keys, distinct);
    EXPECT_EQ(report().inserted, 2 * n);
    Batch gone = one; // every key by many threads at a time
    ASSERT_NO_FATAL_FAILURE(erase(gone));
    ASSERT_EQ(oracle_->size(), 0u);
    EXPECT_EQ(report().erased, 2 * n);
    ASSERT_NO_FATAL_FAILURE(expect_all(asked(one)));
    EXPECT_EQ(usage().units, 0u);
  }
}

// As many pairs as the table is made for find room, however they are shared out among as many keys.
TEST_P(Buckets, HoldTheirCapacity) {
  const uint64_t per_key = 8, keys = 500, capacity = keys * per_key;
  for (uint64_t heavy : {uint64_t{0}, uint64_t{1}, uint64_t{20}, uint64_t{250}}) { // of them have all further values
    SCOPED_TRACE(heavy);
    ASSERT_NO_FATAL_FAILURE(make(capacity, {"values.per_key=8", "table.load_factor=0.5"}));
    Batch batch;
    for (uint64_t i = 0; i < capacity; i++) {
      batch.keys.push_back(5 + (i < keys || !heavy ? i % keys : i % heavy));
      batch.values.push_back(i);
    }
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(asked(batch)));
  }
}

// The pool ends: what has no room is handed back, and a key of which nothing was kept is not there.
TEST_P(Buckets, HandBackWhatHasNoRoom) {
  Random random(6);
  ASSERT_NO_FATAL_FAILURE(make(64));
  Batch batch = batch_of(scaled(6000), 60, &random);
  std::vector<uint64_t> keys = asked(batch);
  for (uint64_t i = 0; i < 40; i++)
    batch.keys.push_back(123456 + i), batch.values.push_back(i), keys.push_back(123456 + i);
  for (int round = 0; round < 2; round++) {
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    EXPECT_GT(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  }
  Batch all;
  all.keys = keys;
  ASSERT_NO_FATAL_FAILURE(erase(all));
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
}

TEST_P(Buckets, GrowWithTheirPairs) {
  TSR_TRACE_SEED;
  Random random(7);
  ASSERT_NO_FATAL_FAILURE(make(16, {"table.growth=double"}));
  for (int call = 0; call < 3; call++) {
    Batch batch = batch_of(scaled(5000), 700, &random);
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    EXPECT_EQ(oracle_->handed_back(), 0u);
    ASSERT_NO_FATAL_FAILURE(expect_all(asked(batch)));
    Batch some = batch_of(100, 700, &random);
    ASSERT_NO_FATAL_FAILURE(erase(some));
  }
  EXPECT_GE(info().capacity, oracle_->size());
}

TEST_P(Buckets, AreRehashedSavedAndLoaded) {
  Random random(8);
  ASSERT_NO_FATAL_FAILURE(make(4000));
  Batch batch = batch_of(4000, 500, &random);
  const std::vector<uint64_t> keys = asked(batch);
  ASSERT_NO_FATAL_FAILURE(insert(batch));
  tsr_error error = {};
  tsr_rehash_options options = {};
  options.capacity = 9000;
  options.seed = 9;
  ASSERT_EQ(tsr_rehash(table_->get(), &options, &error), TSR_OK) << error.message;
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  const std::string path = testing::TempDir() + "/buckets.tsr", directories = plugin_directories();
  ASSERT_EQ(tsr_table_save(table_->get(), path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  table_ = std::make_unique<Table>(loaded, GetParam().recipe.key_bits, GetParam().recipe.value_bits);
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
  ASSERT_NO_FATAL_FAILURE(insert(batch)); // to the lists that were loaded
  ASSERT_NO_FATAL_FAILURE(expect_all(keys));
}

INSTANTIATE_TEST_SUITE_P(All, Buckets, testing::ValuesIn(enough_for_sanitizers(cases())), case_name);

// ---- Memory -------------------------------------------------------------------------------------

class Memory : public testing::Test, protected Judged {};

// Units of a list of that many values, by the paper's s_i = ceil(lambda s_(i-1)): each bucket in whole units, and a link
// in all but the first.
uint64_t units_of(uint64_t values, double first, double growth, uint64_t unit_values) {
  uint64_t units = 0, room = 0;
  double wanted = first;
  for (uint64_t i = 0; room < values; i++) {
    const uint64_t link = i ? 1 : 0, least = static_cast<uint64_t>(wanted) + link;
    const uint64_t taken = std::min((least + unit_values - 1) / unit_values, 65536 / unit_values);
    units += taken;
    room += taken * unit_values - link;
    wanted = std::ceil(wanted * growth - 1e-9);
  }
  return units;
}

TEST_F(Memory, IsWhatThePaperSays) {
  const struct {
    const char *first, *growth;
  } shapes[] = {{"1", "1"}, {"1", "1.5"}, {"1", "2"}, {"4", "1"}, {"10", "1.25"}};
  for (const auto &shape : shapes) {
    SCOPED_TRACE(std::string(shape.first) + ", " + shape.growth);
    Case c = case_of("soa", "double_hashing", "bump");
    c.recipe.capacity = 60000;
    ASSERT_NO_FATAL_FAILURE(
        create(c.recipe, {"table.values=buckets", "allocator.unit_bytes=16", std::string("values.first=") + shape.first,
                          std::string("values.growth=") + shape.growth, "values.per_key=40"}));
    Batch batch;
    uint64_t units = 0, keys = 0, values = 0;
    for (uint64_t count : {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 64, 1000, 4000, 9999}) {
      for (uint64_t i = 0; i < count; i++) batch.keys.push_back(100 + count), batch.values.push_back(i);
      units += units_of(count, std::stod(shape.first), std::stod(shape.growth), 4);
      keys++;
      values += count;
    }
    ASSERT_NO_FATAL_FAILURE(insert(batch));
    const tsr_usage u = usage();
    const double held = static_cast<double>(4 * keys + 4 * values), all = static_cast<double>(info().bytes);
    EXPECT_EQ(u.pairs, values);
    EXPECT_EQ(u.keys, keys);
    EXPECT_EQ(u.units, units);
    EXPECT_DOUBLE_EQ(u.density, held / all);
    const double used = static_cast<double>(info().buckets * info().bucket_slots * 20 + 16 * units);
    EXPECT_DOUBLE_EQ(u.utilization, held / used);
  }
}

// ---- Refusals -----------------------------------------------------------------------------------

TEST(BucketsSpec, IsChecked) {
  const struct {
    const char *layout, *probing, *allocator, *word;
    std::vector<const char *> settings;
  } refused[] = {
      {"soa", "double_hashing", "", "allocator", {"table.values=buckets"}},
      {"soa", "cuckoo", "bump", "moves keys", {"table.values=buckets"}},
      {"soa", "robin_hood", "bump", "moves keys", {"table.values=buckets"}},
      {"soa", "hashgraph", "bump", "whole batches", {"table.values=buckets"}},
      {"slab", "slab_list", "slab", "do not link", {"table.values=buckets"}},
      {"packed", "linear", "bump", "phased", {"table.values=buckets", "table.concurrency=mixed"}},
      {"soa", "linear", "bump", "page", {"table.values=buckets", "table.page_bytes=auto"}},
      {"soa", "linear", "bump", "device", {"table.values=buckets", "table.devices=0,0"}},
      {"soa", "linear", "free_list", "at once", {"table.values=buckets", "values.first=600"}},
      {"soa", "linear", "bump", "values = buckets", {"table.values=buckets", "table.values=inline", "values.first=1"}},
      {"soa", "linear", "bump", "1 .. 64", {"table.values=buckets", "values.growth=0.9"}},
      {"soa", "linear", "bump", "1 .. 1024", {"table.values=buckets", "values.first=0"}},
  };
  for (const auto &r : refused) {
    Case c = case_of(r.layout, r.probing, r.allocator);
    const std::string why = refusal_of(c.recipe, r.settings);
    EXPECT_NE(why.find(r.word), std::string::npos) << r.probing << ", " << r.word << ": " << why;
  }
  Case set = case_of("soa", "linear", "bump");
  set.recipe.duplicates = TSR_DUPLICATES_FIRST;
  EXPECT_NE(refusal_of(set.recipe, {"table.values=buckets"}).find("only a multimap"), std::string::npos);
}

TEST(BucketsCalls, AreChecked) {
  Case c = case_of("soa", "double_hashing", "bump");
  SpecPointer spec = spec_of(c.recipe);
  tsr_error e = {};
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.values=buckets", &e), TSR_OK) << e.message;
  Table table(made(spec.get()), 32, 32);
  const uint32_t keys[2] = {1, 2}, values[2] = {3, 4};
  expect_refused(tsr_insert(table.get(), 2, keys, nullptr, nullptr, &e), TSR_BAD_ARGUMENT, e, "values");
  expect_refused(tsr_erase_pairs(table.get(), 2, keys, values, nullptr, &e), TSR_UNSUPPORTED, e, "tsr_erase");
  expect_refused(tsr_find_or_insert(table.get(), 2, keys, values, nullptr, nullptr, &e), TSR_UNSUPPORTED, e, "keeps");
  expect_refused(tsr_flush(table.get(), nullptr, &e), TSR_UNSUPPORTED, e, "link");
}

} // namespace
} // namespace tessera_test
