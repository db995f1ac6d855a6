// SPDX-License-Identifier: Apache-2.0
//
// No operation of any recipe takes the square of the equal keys that it is given. Work is counted, not timed: the items of
// all steps, and the buckets that searches have looked at. A recipe whose inserts pass all pairs of their key says so in
// `check`, and is held to that. Read next: join_work_test.cc, ../../core/table/check.c.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/oracle/draw.h"
#include "tests/table/judged.h"
#include "tests/table/recipes.h"

extern "C" {
#include "core/table/table_struct.h"
}

namespace tessera_test {
namespace {

uint64_t items; // of all steps

tsr_status count_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument, uint64_t n,
                      void *stream, tsr_error *error) {
  items += n;
  return tsr_cpu_backend.step(device, program, step, argument, n, stream, error);
}

// The cpu backend, counted.
const tsr_backend *counting() {
  static tsr_backend backend = tsr_cpu_backend;
  backend.step = count_step;
  return &backend;
}

// A table of a recipe that is given n equal keys.
class Work {
public:
  Work(const std::string &file, uint64_t n) : n(n), results_(n) {
    tsr_spec *read = nullptr;
    EXPECT_EQ(tsr_spec_read(file.c_str(), &read, &error_), TSR_OK) << error_.message;
    SpecPointer spec(read);
    kind = tsr_spec_get(read, "table", "kind");
    keeps_all = kind == "multiset" || kind == "multimap";
    const char *concurrency = tsr_spec_get(read, "table", "concurrency");
    is_mixed = concurrency && strcmp(concurrency, "mixed") == 0;
    is_one_store_ = !tsr_spec_get(read, "table", "devices");
    const std::string capacity = std::to_string(keeps_all ? n + 100 : 1000);
    const char *duplicates = tsr_spec_get(read, "table", "duplicates"), *values = tsr_spec_get(read, "table", "values");
    lists_values_ = values && strcmp(values, "buckets") == 0;
    std::vector<std::string> settings = {"table.backend=cpu", "table.capacity=" + capacity};
    if (kind != "filter") settings.push_back("table.statistics=yes");
    if (duplicates && strcmp(duplicates, "promise_unique") == 0) settings.push_back("table.duplicates=first");
    for (const std::string &setting : settings)
      EXPECT_EQ(tsr_spec_set(read, setting.c_str(), &error_), TSR_OK) << error_.message;
    const std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    char *text = nullptr;
    tsr_status status = tsr_spec_check(read, &options, &text, &error_);
    // A scheme that is built from distinct keys knows no other policy: equal keys come back.
    takes_distinct = status == TSR_INCOMPATIBLE && settings.back() == "table.duplicates=first";
    if (takes_distinct) {
      EXPECT_EQ(tsr_spec_set(read, "table.duplicates=promise_unique", &error_), TSR_OK) << error_.message;
      status = tsr_spec_check(read, &options, &text, &error_);
    }
    EXPECT_EQ(status, TSR_OK) << error_.message;
    says_square = text && strstr(text, "r * r");
    free(text);
    table_ = made(read);
    tsr_table_info info = {};
    if (!table_) return;
    if (is_one_store_) table_->backend = counting();
    tsr_table_describe(table_, &info);
    value_bytes_ = info.value_bits / 8;
    keys_ = Array(info.key_bits, std::vector<uint64_t>(n, 7));
    values_.resize(value_bytes_ * n + 8);
    out_.resize(std::max<uint64_t>(value_bytes_, 8) * (n + 1));
  }
  ~Work() { tsr_table_destroy(table_); }
  Work(const Work &) = delete;

  // What a call did, in items and buckets.
  template <class Call>
  uint64_t of(Call call) {
    const uint64_t before = items + probes();
    EXPECT_EQ(call(), TSR_OK) << error_.message;
    return items + probes() - before;
  }

  uint64_t insert() {
    return of([&] { return tsr_insert(table_, n, keys_.data(), values(), call(), &error_); });
  }
  uint64_t find_or_insert() {
    return of([&] {
      return tsr_find_or_insert(table_, n, keys_.data(), values(), value_bytes_ ? out_.data() : nullptr, call(),
                                &error_);
    });
  }
  uint64_t number() {
    return of([&] {
      return tsr_number(table_, n, keys_.data(), reinterpret_cast<uint32_t *>(out_.data()), call(), &error_);
    });
  }
  uint64_t find() {
    return of([&] { return tsr_find(table_, n, keys_.data(), out_.data(), call(), &error_); });
  }
  uint64_t contains() {
    return of([&] { return tsr_contains(table_, n, keys_.data(), results_.data(), nullptr, &error_); });
  }
  uint64_t count_all(uint64_t m) {
    return of([&] { return tsr_count_all(table_, m, keys_.data(), numbers(), nullptr, &error_); });
  }
  uint64_t find_all() {
    std::vector<uint64_t> offsets(2);
    return of([&] { return tsr_find_all(table_, 1, keys_.data(), offsets.data(), n, out_.data(), nullptr, &error_); });
  }
  uint64_t exported() {
    uint64_t size = 0;
    return of([&] {
      return tsr_export(table_, n, Array(keys_).data(), value_bytes_ ? out_.data() : nullptr, &size, &error_);
    });
  }
  uint64_t rehash() {
    return of([&] { return tsr_rehash(table_, nullptr, &error_); });
  }
  uint64_t apply(uint8_t operation) {
    const std::vector<uint8_t> operations(n, operation);
    return of([&] {
      return tsr_apply(table_, n, operations.data(), keys_.data(), values(), value_bytes_ ? out_.data() : nullptr,
                       call(), &error_);
    });
  }
  uint64_t erase_pairs(uint64_t m) {
    return of([&] {
      return tsr_erase_pairs(table_, m, keys_.data(), value_bytes_ > 8 ? nullptr : values(), call(), &error_);
    });
  }
  uint64_t erase(uint64_t m) {
    return of([&] { return tsr_erase(table_, m, keys_.data(), call(), &error_); });
  }
  uint64_t unique() {
    tsr_unique_arrays arrays = {};
    arrays.inverse = reinterpret_cast<uint32_t *>(out_.data());
    uint64_t count = 0;
    return of([&] { return tsr_unique(table_, n, keys_.data(), &arrays, &count, &error_); });
  }
  uint64_t long_inserts() {
    tsr_report report = {};
    EXPECT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
    EXPECT_EQ(report.overflows, 0u);
    return report.insert_long;
  }
  uint64_t clear() {
    return of([&] { return tsr_clear(table_, nullptr, &error_); });
  }

  const uint64_t n;
  std::string kind;
  bool keeps_all = false, is_mixed = false, says_square = false, takes_distinct = false;
  bool has_values() const { return value_bytes_ > 0; }
  bool erases_pairs() const { return kind != "index" && !lists_values_; }
  explicit operator bool() const { return table_; }

private:
  const void *values() { return value_bytes_ && kind != "index" ? values_.data() : nullptr; }
  uint64_t *numbers() { return reinterpret_cast<uint64_t *>(out_.data()); }
  tsr_call *call() {
    call_ = {};
    call_.results = results_.data();
    return &call_;
  }
  uint64_t probes() {
    tsr_report report = {};
    EXPECT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
    return report.insert_probes + report.find_probes + report.erase_probes;
  }

  tsr_table *table_ = nullptr;
  bool is_one_store_ = true, lists_values_ = false;
  uint64_t value_bytes_ = 0;
  Array keys_{32, 0};
  std::vector<uint8_t> results_;
  std::vector<unsigned char> values_, out_;
  tsr_call call_ = {};
  tsr_error error_ = {};
};

constexpr uint64_t kOfEach = 40;        // items and buckets of an item, and then some
constexpr uint64_t kOfTable = 1u << 21; // of a call, however few its items: steps over a filter or a sample

class EqualKeys : public testing::TestWithParam<std::string> {};

// n equal keys in every call that a kind has. A call about all pairs of a key is asked once: it has n results.
void expect_linear(Work &work) {
  const uint64_t n = work.n, asked = work.keeps_all ? 1 : n;
  const bool is_filter = work.kind == "filter", is_index = work.kind == "index", is_counter = work.kind == "counter";
  const auto expect = [&](const char *call, uint64_t looks) { EXPECT_LE(looks, kOfEach * n + kOfTable) << call; };
  expect("contains, the key is absent", work.contains());
  const uint64_t first = work.insert();
  if (!work.says_square) expect("insert", first);
  if (!work.keeps_all) expect("insert, the key is present", work.insert());
  expect("contains", work.contains());
  if (is_filter) return;
  if (work.has_values()) expect("find", work.find());
  expect("count_all", work.count_all(asked));
  if (work.keeps_all && work.has_values()) expect("find_all", work.find_all());
  expect("export", work.exported());
  if (!work.says_square && work.kind != "cache") expect("rehash", work.rehash());
  if (is_index) expect("number", work.number());
  if (is_index) expect("unique", work.unique());
  if (!work.keeps_all && !is_index && !is_counter && !work.takes_distinct)
    expect("find_or_insert", work.find_or_insert());
  for (uint8_t operation = TSR_OP_INSERT; work.is_mixed && operation <= TSR_OP_FIND; operation++)
    expect("apply", work.apply(operation));
  if (work.erases_pairs()) expect("erase_pairs", work.erase_pairs(asked));
  expect("erase", work.erase(asked));
  expect("clear", work.clear());
}

// The square of 10,000 is forty times what is allowed. More keys than a batch has that is sampled (core/batch/groups.c) take the
// code of large batches: in recipes of which each part and each kind is in one. With TSR_TEST_ALL=1 they are a million, for all
// recipes.
TEST_P(EqualKeys, TakeNoSquareOfWork) {
  static const std::vector<std::string> large = enough_recipes();
  const bool is_large = !sanitized && (tests_all() || std::count(large.begin(), large.end(), GetParam()));
  for (uint64_t n : {1000u, 10000u, 100000u, tests_all() ? 1000000u : 300000u}) {
    SCOPED_TRACE(testing::Message() << n << " equal keys");
    if (n > 10000 && !is_large) break;
    Work work(GetParam(), n);
    ASSERT_TRUE(bool(work));
    if (n > 10000 && (work.says_square || work.kind == "filter")) break; // looks of filters are not counted
    expect_linear(work);
    if (HasFailure()) break;
  }
}

// Both what `check` says of squares, and that this test would see one.
TEST_P(EqualKeys, TakeTheSquareThatCheckSays) {
  Work few(GetParam(), 1000), many(GetParam(), 8000);
  ASSERT_TRUE(few && many);
  const uint64_t little = few.insert(), much = many.insert();
  if (few.says_square)
    EXPECT_GT(much, 16 * little);
  else
    EXPECT_LT(much, 16 * little);
}

// Where equal keys take a square, the report says so when they are met, and nowhere else.
TEST_P(EqualKeys, AreToldOfWhereTheyTakeASquare) {
  Work few(GetParam(), 1000), many(GetParam(), 20000);
  ASSERT_TRUE(few && many);
  few.insert();
  EXPECT_EQ(few.long_inserts(), 0u);
  many.insert();
  if (!few.says_square || few.is_mixed)
    EXPECT_EQ(many.long_inserts(), 0u);
  else
    EXPECT_GT(many.long_inserts(), 1000u);
}

INSTANTIATE_TEST_SUITE_P(Specs, EqualKeys, testing::ValuesIn(sanitized ? enough_recipes() : recipes()), recipe_name);

} // namespace
} // namespace tessera_test
