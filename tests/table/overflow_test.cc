// SPDX-License-Identifier: Apache-2.0
//
// Sums past the largest value, on the cpu backend or that of TSR_BACKEND. Each that comes out modulo 2^value_bits is
// counted, however a batch's equal keys meet. With overflow = saturate sums stop at the largest value, and are counted if
// and only if one had to. The right answers are sums of 128 bits. For layouts that store pairs whole and apart, schemes that move pairs, lists and pages. Read next:
// judged.h; join_test.cc.
#include <gtest/gtest.h>

#include "tests/oracle/exercise.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

struct Case {
  const char *layout, *probing, *allocator;
  uint32_t key_bits, value_bits;
  const char *setting; // one more; "" = none
};

void PrintTo(const Case &c, std::ostream *out) {
  *out << c.layout << ", " << c.probing << ", " << c.value_bits << " bits " << c.setting;
}

Recipe recipe_of(const Case &c) {
  Recipe recipe;
  recipe.part[TSR_ROLE_LAYOUT] = c.layout;
  recipe.part[TSR_ROLE_PROBING] = c.probing;
  recipe.part[TSR_ROLE_HASHER] = "murmur3";
  recipe.part[TSR_ROLE_ALLOCATOR] = c.allocator;
  recipe.key_bits = c.key_bits;
  recipe.value_bits = c.value_bits;
  recipe.duplicates = TSR_DUPLICATES_ADD;
  recipe.capacity = 3000;
  recipe.mixed = std::string(c.setting) == "table.concurrency=mixed";
  return recipe;
}

class Sums : public testing::TestWithParam<Case>, protected Judged {
protected:
  using Wide = unsigned __int128;

  void make(const std::vector<std::string> &more = {}) {
    std::vector<std::string> settings = more;
    if (*GetParam().setting && !recipe_of(GetParam()).mixed) settings.push_back(GetParam().setting);
    if (std::string(GetParam().setting).find("page_bytes") != std::string::npos)
      settings.push_back("table.page_batch=500");
    if (backend()) settings.push_back(std::string("table.backend=") + backend());
    create(recipe_of(GetParam()), settings);
    sums_.clear();
  }

  // cuda: by hand, on a machine with a GPU, which combines a large batch in several ways before it inserts it.
  static const char *backend() { return getenv("TSR_BACKEND"); }
  static bool gives_up() {
    return backend() && std::string(GetParam().setting).find("page_bytes") != std::string::npos;
  }
  static std::vector<size_t> batches() {
    std::vector<size_t> items = {20, 700, sanitized ? 9000u : 60000u};
    if (backend()) items.push_back(3 << 20);
    return items;
  }

  uint64_t most() const { return UINT64_MAX >> (64 - GetParam().value_bits); }

  void add(const Batch &given) {
    Batch batch = given;
    ASSERT_EQ(table_->insert(batch), "");
    for (size_t i = 0; i < batch.keys.size(); i++) sums_[batch.keys[i]] += batch.values[i];
  }

  void reset() {
    tsr_error error = {};
    ASSERT_EQ(tsr_table_report_reset(table_->get(), &error), TSR_OK) << error.message;
  }

  // Sums as they are modulo 2^value_bits, or as they stop.
  void expect_values(bool saturates) {
    std::vector<uint64_t> keys, values;
    ASSERT_EQ(table_->exported(&keys, &values), "");
    ASSERT_EQ(keys.size(), sums_.size());
    for (size_t i = 0; i < keys.size(); i++) {
      const Wide sum = sums_.at(keys[i]);
      ASSERT_EQ(values[i], saturates && sum > most() ? most() : static_cast<uint64_t>(sum) & most()) << keys[i];
    }
  }

  uint64_t expected() const {
    Wide all = 0;
    for (const auto &sum : sums_) all += sum.second >> GetParam().value_bits;
    return static_cast<uint64_t>(all);
  }

  // A batch in which few keys come often, and one in every third place: threads and what they hold back meet there.
  Batch drawn(Random *random, size_t items) {
    Batch batch;
    for (size_t i = 0; i < items; i++) {
      const uint64_t pick = random->below(8);
      batch.keys.push_back(i % 3 ? random->below(1000) : 5);
      batch.values.push_back(pick == 0 ? most() : pick == 1 ? 0 : pick == 2 ? 1 : random->below(most()));
    }
    batch.keys[0] = UINT64_MAX >> (64 - GetParam().key_bits); // a reserved one
    return batch;
  }

  std::map<uint64_t, Wide> sums_;
};

// The largest value itself is no overflow; one more is.
TEST_P(Sums, ArePassedByOne) {
  make();
  Batch batch;
  batch.keys = {1, 1, 2, 2, 3, 3, 4, 5};
  batch.values = {most() - 1, 0, most() - 1, 1, most() - 1, 2, most(), most()};
  add(batch);
  EXPECT_EQ(report().overflows, 1u);
  expect_values(false);
  batch.keys = {4, 5, 5, 2};
  batch.values = {0, 1, most(), 0};
  add(batch);
  EXPECT_EQ(report().overflows, expected());
  EXPECT_EQ(expected(), 2u);
  expect_values(false);
  reset();
  EXPECT_EQ(report().overflows, 0u);
}

TEST_P(Sums, AreCountedHoweverKeysMeet) {
  TSR_TRACE_SEED;
  Random random(11);
  make();
  for (size_t items : batches()) {
    add(drawn(&random, items));
    EXPECT_GE(report().overflows, expected()) << items;
    if (!gives_up()) { // else the items of the reserved key's page are inserted again, and may count twice
      EXPECT_EQ(report().overflows, expected()) << items;
    }
    expect_values(false);
    if (HasFailure()) return;
  }
}

TEST_P(Sums, StopAtTheLargestValue) {
  TSR_TRACE_SEED;
  Random random(12);
  make({"table.overflow=saturate"});
  for (size_t items : batches()) {
    reset();
    add(drawn(&random, items));
    expect_values(true);
    EXPECT_GT(report().overflows, 0u) << items;
    if (HasFailure()) return;
  }
}

// A sum that reaches the largest value has not stopped; one that is asked for one more has, and keys beside it have not.
TEST_P(Sums, StopByOne) {
  make({"table.overflow=saturate"});
  Batch batch;
  batch.keys = {1, 1, 2, 2, 3, 3, 4, 5};
  batch.values = {most() - 1, 0, most() - 1, 1, most() - 2, 1, most(), 0};
  add(batch);
  EXPECT_EQ(report().overflows, 0u);
  batch.keys = {1, 2, 3, 5};
  batch.values = {1, 0, 1, 0};
  add(batch);
  EXPECT_EQ(report().overflows, 0u);
  expect_values(true);
  for (uint64_t key : {1, 2, 3, 4}) {
    reset();
    batch.keys = {5, key};
    batch.values = {1, 1};
    add(batch);
    EXPECT_EQ(report().overflows, 1u) << key;
  }
  expect_values(true);
}

// Many equal keys reach the largest value together, without passing it; then one more passes it.
TEST_P(Sums, StopAtAnyNumberOfEqualKeys) {
  const size_t items = sanitized ? 5000 : 50000;
  make({"table.overflow=saturate"});
  Batch batch;
  batch.keys = {8};
  batch.values = {most() - items};
  add(batch);
  batch.keys.assign(items, 8);
  batch.values.assign(items, 1);
  add(batch);
  EXPECT_EQ(report().overflows, 0u);
  expect_values(true);
  batch.values[items / 2] = 2;
  add(batch);
  EXPECT_GT(report().overflows, 0u);
  expect_values(true);
}

TEST_P(Sums, WrapUncountedIfTheSpecSaysSo) {
  TSR_TRACE_SEED;
  Random random(13);
  make({"table.overflow=wrap"});
  add(drawn(&random, 5000));
  expect_values(false);
  EXPECT_GT(expected(), 0u);
  EXPECT_EQ(report().overflows, 0u);
}

// What is inserted again, because it had found no room, may count twice; what overflowed is never missed.
TEST_P(Sums, AreCountedWhileTheTableGrows) {
  TSR_TRACE_SEED;
  Random random(14);
  if (std::string(GetParam().setting) == "table.concurrency=mixed") return;
  for (bool saturates : {false, true}) {
    make({"table.capacity=60", "table.growth=double",
          std::string("table.overflow=") + (saturates ? "saturate" : "report")});
    add(drawn(&random, 5000));
    expect_values(saturates);
    EXPECT_GE(report().overflows, saturates ? 1 : expected());
    reset();
    Batch batch;
    for (uint64_t key = 0; key < 5000; key++) batch.keys.push_back(2000 + key);
    batch.values.assign(batch.keys.size(), most());
    add(batch);
    EXPECT_EQ(report().overflows, 0u) << "no sum of these keys passed the largest value";
    expect_values(saturates);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, Sums,
    testing::Values(Case{"packed", "double_hashing", "", 32, 32, ""},
                    Case{"packed", "double_hashing", "", 64, 64, "table.page_bytes=4Ki"},
                    Case{"packed", "linear", "", 32, 32, "table.concurrency=mixed"},
                    Case{"packed", "cuckoo", "", 32, 32, ""}, Case{"packed", "robin_hood", "", 64, 64, ""},
                    Case{"soa", "linear", "", 32, 64, ""}, Case{"soa", "two_choice", "", 64, 32, ""},
                    Case{"aos", "double_hashing", "", 64, 64, ""},
                    Case{"aos", "linear", "", 32, 32, "table.page_bytes=4Ki"}, Case{"tagged", "linear", "", 32, 32, ""},
                    Case{"quotient", "linear", "", 64, 64, "table.page_bytes=8Ki"},
                    Case{"slab", "slab_list", "slab", 32, 32, ""}));

// The same code, compiled for one table.
class FusedSums : public Sums {};

TEST_P(FusedSums, AreCountedHoweverKeysMeet) {
  TSR_TRACE_SEED;
  Random random(15);
  make();
  tsr_error error = {};
  ASSERT_EQ(tsr_table_prepare(table_->get(), TSR_PREPARE_INSERT, &error), TSR_OK) << error.message;
  for (size_t items : {size_t{700}, size_t{sanitized ? 9000 : 60000}}) {
    add(drawn(&random, items));
    EXPECT_EQ(report().overflows, expected()) << items;
    expect_values(false);
  }
}

INSTANTIATE_TEST_SUITE_P(Tables, FusedSums,
                         testing::Values(Case{"packed", "cuckoo", "", 32, 32, ""},
                                         Case{"soa", "linear", "", 64, 64, ""},
                                         Case{"aos", "double_hashing", "", 32, 32, ""}));

TEST_P(FusedSums, StopAtTheLargestValue) {
  TSR_TRACE_SEED;
  Random random(16);
  make({"table.overflow=saturate"});
  tsr_error error = {};
  ASSERT_EQ(tsr_table_prepare(table_->get(), TSR_PREPARE_INSERT, &error), TSR_OK) << error.message;
  Batch batch;
  batch.keys = {1, 1, 2};
  batch.values = {most() - 1, 1, most()};
  add(batch);
  EXPECT_EQ(report().overflows, 0u);
  batch.keys = {1};
  batch.values = {1};
  add(batch);
  EXPECT_EQ(report().overflows, 1u);
  reset();
  add(drawn(&random, sanitized ? 9000 : 60000));
  EXPECT_GT(report().overflows, 0u);
  expect_values(true);
}

// Items of all kinds at a time.
TEST(Overflow, IsCountedInBatchesOfAllOperations) {
  Recipe recipe = recipe_of({"packed", "linear", "", 32, 32, "table.concurrency=mixed"});
  SpecPointer spec = spec_of(recipe);
  tsr_table *table = made(spec.get());
  std::vector<uint32_t> keys(999, 7), values(999, 0x80000001u), out(999);
  std::vector<uint8_t> operations(999, TSR_OP_INSERT);
  for (size_t i = 0; i < 999; i += 3) operations[i] = TSR_OP_FIND;
  tsr_error error = {};
  ASSERT_EQ(tsr_apply(table, 999, operations.data(), keys.data(), values.data(), out.data(), nullptr, &error), TSR_OK)
      << error.message;
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  EXPECT_EQ(report.overflows, 666ull * 0x80000001u >> 32);
  tsr_table_destroy(table);
  recipe.duplicates = TSR_DUPLICATES_COUNT;
  spec = spec_of(recipe);
  table = made(spec.get());
  ASSERT_EQ(tsr_apply(table, 999, operations.data(), keys.data(), values.data(), out.data(), nullptr, &error), TSR_OK)
      << error.message;
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK) << error.message;
  EXPECT_EQ(report.overflows, 665u) << "all but the first find the count too large for theirs";
  tsr_table_destroy(table);
}

TEST(Overflow, IsForSumsAlone) {
  Recipe recipe = recipe_of({"packed", "linear", "", 32, 32, ""});
  EXPECT_EQ(refusal_of(recipe, {"table.overflow=wrap"}), "");
  EXPECT_NE(refusal_of(recipe, {"table.overflow=error"}).find("report | saturate | wrap"), std::string::npos)
      << refusal_of(recipe, {"table.overflow=error"});
  recipe.duplicates = TSR_DUPLICATES_MAX;
  EXPECT_NE(refusal_of(recipe, {"table.overflow=report"}).find("only sums can overflow"), std::string::npos);
  recipe.duplicates = TSR_DUPLICATES_COUNT;
  EXPECT_NE(refusal_of(recipe, {"table.overflow=report"}).find("a counter's counts"), std::string::npos);
}

// Sums that stop are a map's all the same: it is given values.
TEST(Overflow, SaturatesMapsAndNoCounters) {
  Recipe recipe = recipe_of({"packed", "linear", "", 32, 32, ""});
  SpecPointer spec = spec_of(recipe);
  tsr_error error = {};
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.overflow=saturate", &error), TSR_OK) << error.message;
  tsr_table *table = made(spec.get());
  const uint32_t keys[] = {1, 1}, values[] = {UINT32_MAX, 3};
  expect_refused(tsr_insert(table, 2, keys, nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "values is NULL");
  expect_refused(tsr_find_or_insert(table, 2, keys, values, nullptr, nullptr, &error), TSR_UNSUPPORTED, error,
                 "overflow = saturate");
  tsr_table_destroy(table);
}

} // namespace
} // namespace tessera_test
