// SPDX-License-Identifier: Apache-2.0
//
// An index on the cpu backend, of every layout and scheme that carry one: its numbers compared with those of a plain model,
// over random calls, full tables, growth, rehash, files, reserved keys, evictions; distinct keys; what is refused. Read next:
// judged.h.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/tessera_kernels.h"
#include "tests/oracle/draw.h"
#include "tests/table/judged.h"

namespace tessera_test {
namespace {

constexpr uint32_t none = 0xFFFFFFFFu; // call->missing of these tests

// What an index must do: numbers that nobody has, of which there are no more than needed.
class Model {
public:
  Model(bool reuses, bool in_order) : reuses_(reuses), in_order_(in_order) {}

  // After a call that numbered keys; numbers: `none` for those without room.
  std::string number(const std::vector<uint64_t> &keys, const std::vector<uint32_t> &numbers,
                     const std::vector<uint8_t> &codes) {
    std::map<uint64_t, uint32_t> fresh;
    std::map<uint64_t, uint64_t> inserted;
    std::vector<uint32_t> order;
    for (size_t i = 0; i < keys.size(); i++) {
      const auto known = numbers_.find(keys[i]), now = fresh.find(keys[i]);
      inserted[keys[i]] += codes[i] == TSR_INSERTED;
      if (numbers[i] == none) return "no number for key " + std::to_string(keys[i]);
      if (known != numbers_.end() && numbers[i] != known->second) return "a key has another number than before";
      if (known != numbers_.end() && codes[i] != TSR_FOUND)
        return "a known key has the code " + std::to_string(codes[i]);
      if (known != numbers_.end()) continue;
      if (now != fresh.end() && now->second != numbers[i]) return "equal keys have two numbers";
      if (now == fresh.end()) order.push_back(numbers[i]);
      fresh[keys[i]] = numbers[i];
    }
    for (const auto &[key, number] : fresh) {
      if (inserted[key] != 1) return "key " + std::to_string(key) + " was inserted " + std::to_string(inserted[key]);
      if (!taken_.insert(number).second) return "two keys have the number " + std::to_string(number);
      numbers_[key] = number;
    }
    return check_order(order);
  }

  void erase(uint64_t key) {
    const auto it = numbers_.find(key);
    if (it == numbers_.end()) return;
    if (reuses_) {
      spare_++;
      taken_.erase(it->second);
    }
    numbers_.erase(it);
  }

  void clear() { *this = Model(reuses_, in_order_); }

  const std::map<uint64_t, uint32_t> &numbers() const { return numbers_; }
  uint64_t given() const { return given_; }

private:
  // Free numbers first; then those that were never given, from the lowest on.
  std::string check_order(const std::vector<uint32_t> &order) {
    uint64_t again = 0, next = given_;
    for (uint32_t number : order) {
      if (number < given_) {
        again++;
      } else {
        if (number >= given_ + order.size()) return "number " + std::to_string(number) + " leaves a hole";
        if (in_order_ && number != next++) return "numbers are not in the order of first appearance";
      }
    }
    const uint64_t expected = std::min<uint64_t>(spare_, order.size());
    if (again != expected)
      return std::to_string(again) + " numbers were given again, where " + std::to_string(expected) + " were free";
    spare_ -= again;
    given_ += order.size() - again;
    return "";
  }

  bool reuses_, in_order_;
  std::map<uint64_t, uint32_t> numbers_;
  std::set<uint32_t> taken_;
  uint64_t given_ = 0, spare_ = 0;
};

struct Case {
  std::string layout, probing, allocator;
  uint32_t key_bits;
  bool reuses, in_order, in_pages;
};

std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.layout << (finds_races ? "\n" : ", ") << c.probing << "\n"
             << c.key_bits << (c.reuses ? ", again" : ", once") << (c.in_order ? ", first seen" : ", any")
             << (c.in_pages ? ", in pages" : "");
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  const Case &c = info.param;
  return c.layout + "_" + c.probing + "_" + c.allocator + std::to_string(c.key_bits) + (c.reuses ? "_again" : "_once") +
         (c.in_order ? "_first_seen" : "_any") + (c.in_pages ? "_pages" : "");
}

std::string text_of(const Case &c, uint64_t capacity, const std::string &more = "") {
  return "[table]\nkind = index\nkey_bits = " + std::to_string(c.key_bits) +
         "\ncapacity = " + std::to_string(capacity) + "\nlayout = " + c.layout + "\nprobing = " + c.probing +
         "\nhasher = murmur3\nbackend = cpu\nreuse = " + (c.reuses ? "yes" : "no") +
         "\nnumbering = " + (c.in_order ? "first_seen" : "any") + "\n" +
         (c.allocator.empty() ? "" : "allocator = " + c.allocator + "\n") +
         (c.in_pages ? "page_bytes = 4Ki\npage_batch = 20\nfind_batch = 10\n" : "") + more;
}

SpecPointer parsed(const std::string &text) {
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "index", &spec, &error), TSR_OK) << error.message << "\n" << text;
  return SpecPointer(spec);
}

// Whether there are such tables of all sizes: pages may not fit the larger ones.
bool composes(const Case &c) {
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  bool is_right = true;
  for (uint64_t capacity : {200u, 400u, 3000u}) {
    char *told = nullptr;
    is_right = is_right && tsr_spec_check(parsed(text_of(c, capacity)).get(), &options, &told, nullptr) == TSR_OK;
    free(told);
  }
  return is_right;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  size_t tried = 0;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (const char *allocator : {"", "slab"})
        for (uint32_t key_bits : {32u, 64u, 128u}) {
          Case c = {layout, probing, allocator, key_bits, true, true, false};
          if (!composes(c)) continue;
          c.reuses = tried % 3 != 0;
          c.in_order = tried / 2 % 2 == 0;
          tried++;
          result.push_back(c);
          c.in_pages = tried % 4 == 0;
          if (c.in_pages && composes(c)) result.push_back(c);
        }
  return covering(result, [](const Case &c) -> Options {
    const std::string numbering = std::string(c.reuses ? "again" : "once") + (c.in_order ? " in order" : "");
    return {c.layout, c.probing, c.allocator, std::to_string(c.key_bits), numbering, c.in_pages ? "pages" : ""};
  });
}

class Index : public testing::TestWithParam<Case> {
protected:
  void create(uint64_t capacity, const std::string &more = "") {
    tsr_table_destroy(table_);
    table_ = made(parsed(text_of(GetParam(), capacity, more)).get());
    model_ = Model(GetParam().reuses, GetParam().in_order);
    ASSERT_NE(table_, nullptr);
  }
  void TearDown() override { tsr_table_destroy(table_); }

  uint32_t key_bits() const { return GetParam().key_bits; }

  // Reserved keys are among them.
  std::vector<uint64_t> some_keys(uint64_t n, uint64_t distinct, Random *random) const {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < n; i++) {
      const uint64_t key = random->below(distinct);
      keys.push_back(key < 3 ? width_mask(std::min(key_bits(), 64u)) - key
                             : key * 2654435761u >> (key_bits() == 32 ? 32 : 0));
    }
    return keys;
  }

  struct Numbered {
    std::vector<uint32_t> numbers;
    std::vector<uint8_t> codes;
  };

  Numbered number_raw(const std::vector<uint64_t> &keys) {
    tsr_error error = {};
    tsr_call call = {};
    Numbered result;
    result.numbers.assign(keys.size() + 1, 12345);
    result.codes.assign(keys.size() + 1, 0);
    call.results = result.codes.data();
    call.missing = none;
    Keys array(key_bits(), keys);
    EXPECT_EQ(tsr_number(table_, keys.size(), array.data(), result.numbers.data(), &call, &error), TSR_OK)
        << error.message;
    result.numbers.pop_back();
    result.codes.pop_back();
    return result;
  }

  void number(const std::vector<uint64_t> &keys) {
    const Numbered result = number_raw(keys);
    ASSERT_EQ(model_.number(keys, result.numbers, result.codes), "");
  }

  void erase(const std::vector<uint64_t> &keys, int way) {
    tsr_error error = {};
    tsr_call call = {};
    std::vector<uint8_t> codes(keys.size() + 1);
    if (way == 1) call.results = codes.data();
    if (way == 2) call.present = codes.data();
    Keys array(key_bits(), keys);
    const tsr_status status = way == 3 ? tsr_erase_pairs(table_, keys.size(), array.data(), nullptr, &call, &error)
                                       : tsr_erase(table_, keys.size(), array.data(), &call, &error);
    ASSERT_EQ(status, TSR_OK) << error.message;
    for (uint64_t key : keys) model_.erase(key);
  }

  std::vector<uint32_t> find(const std::vector<uint64_t> &keys) {
    tsr_error error = {};
    tsr_call call = {};
    call.missing = none;
    std::vector<uint32_t> numbers(keys.size() + 1);
    Keys array(key_bits(), keys);
    EXPECT_EQ(tsr_find(table_, keys.size(), array.data(), numbers.data(), &call, &error), TSR_OK) << error.message;
    numbers.pop_back();
    return numbers;
  }

  void expect_all(const std::vector<uint64_t> &keys) {
    const auto &known = model_.numbers();
    const std::vector<uint32_t> found = find(keys);
    for (size_t i = 0; i < keys.size(); i++) {
      const auto it = known.find(keys[i]);
      ASSERT_EQ(found[i], it == known.end() ? none : it->second) << keys[i];
    }
    tsr_error error = {};
    uint64_t size = 0, given = 0;
    ASSERT_EQ(tsr_size(table_, &size, &error), TSR_OK) << error.message;
    ASSERT_EQ(size, known.size());
    ASSERT_EQ(tsr_numbers_given(table_, &given, &error), TSR_OK) << error.message;
    ASSERT_EQ(given, model_.given());
    expect_keys(0, given + 3);
    if (given > 5) expect_keys(static_cast<uint32_t>(given / 2), 3);
  }

  void expect_keys(uint32_t from, uint64_t n) {
    std::map<uint32_t, uint64_t> keys_of;
    for (const auto &[key, number] : model_.numbers()) keys_of[number] = key;
    tsr_error error = {};
    tsr_call call = {};
    std::vector<uint8_t> present(n, 9);
    call.present = present.data();
    call.missing = 77;
    Keys keys(key_bits(), n);
    ASSERT_EQ(tsr_keys_by_number(table_, from, n, keys.data(), &call, &error), TSR_OK) << error.message;
    const std::vector<uint64_t> written = keys.numbers(n);
    for (uint64_t i = 0; i < n; i++) {
      const auto it = keys_of.find(static_cast<uint32_t>(from + i));
      ASSERT_EQ(present[i], it != keys_of.end());
      ASSERT_EQ(written[i], it != keys_of.end() ? it->second : key_bits() > 64 ? 77 * 8 : 77);
    }
  }

  tsr_table *table_ = nullptr;
  Model model_{true, true};
};

TEST_P(Index, AgreesWithTheModel) {
  TSR_TRACE_SEED;
  for (uint64_t round = finds_races; round < scaled(6, 3); round++) { // from 1 on batches are long enough for threads
    Random random(10 + round);
    ASSERT_NO_FATAL_FAILURE(create(round % 2 ? 3000 : 400));
    const uint64_t distinct = round % 2 ? 2000 : 300;
    for (int call = 0; call < 12; call++) {
      SCOPED_TRACE(std::to_string(round) + ", " + std::to_string(call));
      const uint64_t n = call % 4 == 3 ? random.below(3) : random.below(2 * distinct);
      ASSERT_NO_FATAL_FAILURE(number(some_keys(n, distinct, &random)));
      if (call % 2) {
        ASSERT_NO_FATAL_FAILURE(erase(some_keys(random.below(distinct), distinct, &random), call / 2 % 4));
      }
      if (call % 3 == 0) {
        ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(200, distinct, &random)));
      }
      if (call == 7) {
        tsr_error error = {};
        ASSERT_EQ(tsr_clear(table_, nullptr, &error), TSR_OK) << error.message;
        model_.clear();
      }
    }
    ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(200, distinct, &random)));
  }
}

// What else a table may have: a stash, a filter before it, statistics.
TEST_P(Index, HasOtherFeatures) {
  TSR_ONE_THREAD;
  const std::string directories = plugin_directories();
  tsr_options options = {};
  options.plugins = directories.c_str();
  for (const char *more : {"stash = 64\n", "filter = 8\n", "statistics = yes\n", "load_factor = 1\nstash = 200\n"}) {
    SCOPED_TRACE(more);
    char *told = nullptr;
    const tsr_status status = tsr_spec_check(parsed(text_of(GetParam(), 300, more)).get(), &options, &told, nullptr);
    free(told);
    if (status) continue;
    Random random(11);
    ASSERT_NO_FATAL_FAILURE(create(300, more));
    for (int call = 0; call < 6; call++) {
      ASSERT_NO_FATAL_FAILURE(number(some_keys(200, 200, &random)));
      ASSERT_NO_FATAL_FAILURE(erase(some_keys(60, 200, &random), call % 4));
      ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(50, 250, &random)));
    }
  }
}

// Whoever has room has a number, and nobody else has one. Evictions take numbers with them, which come back.
TEST_P(Index, IsFull) {
  TSR_ONE_THREAD;
  Random random(5);
  ASSERT_NO_FATAL_FAILURE(create(100, "load_factor = 1\n"));
  tsr_table_info info = {};
  tsr_table_describe(table_, &info);
  tsr_error error = {};
  for (int call = 0; call < 60; call++) {
    const std::vector<uint64_t> keys = some_keys(call % 3 ? 50 : 400, 3000, &random);
    const Numbered result = number_raw(keys);
    const std::vector<uint32_t> found = find(keys);
    std::map<uint64_t, uint32_t> numbers;
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_EQ(found[i], result.numbers[i]);
      if (found[i] != none) numbers[keys[i]] = found[i];
    }
    std::set<uint32_t> different;
    for (const auto &[key, number] : numbers) different.insert(number);
    ASSERT_EQ(different.size(), numbers.size());
    uint64_t size = 0, given = 0;
    ASSERT_EQ(tsr_size(table_, &size, &error), TSR_OK);
    ASSERT_EQ(tsr_numbers_given(table_, &given, &error), TSR_OK);
    if (GetParam().reuses) {
      ASSERT_LE(given, info.slots + 3 * info.bucket_slots) << "numbers of keys that found no room are lost";
    }
    std::vector<uint64_t> some(keys.begin(), keys.begin() + 20);
    ASSERT_NO_FATAL_FAILURE(erase(some, 0));
    Keys all_keys(key_bits(), size + 20);
    std::vector<uint32_t> all_numbers(size + 20);
    ASSERT_EQ(tsr_export(table_, size + 20, all_keys.data(), all_numbers.data(), &size, &error), TSR_OK);
    const std::set<uint32_t> distinct(all_numbers.begin(), all_numbers.begin() + static_cast<long>(size));
    ASSERT_EQ(distinct.size(), size);
    if (size) {
      ASSERT_LT(*distinct.rbegin(), given);
    }
  }
  // all that was lost came back: after all keys are erased the numbers that are given again are those that were
  ASSERT_EQ(tsr_clear(table_, nullptr, &error), TSR_OK);
  model_.clear();
  ASSERT_NO_FATAL_FAILURE(number(some_keys(30, 60, &random)));
  ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(30, 60, &random)));
}

TEST_P(Index, Grows) {
  Random random(6);
  if (GetParam().probing == "hashgraph") return;
  ASSERT_NO_FATAL_FAILURE(create(50, "growth = double\n"));
  for (int call = 0; call < 4; call++) {
    ASSERT_NO_FATAL_FAILURE(number(some_keys(scaled(6000), 9000, &random)));
    ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(500, 9000, &random)));
    ASSERT_NO_FATAL_FAILURE(erase(some_keys(500, 9000, &random), call));
  }
}

TEST_P(Index, IsRehashedSavedAndLoaded) {
  Random random(7);
  tsr_error error = {};
  ASSERT_NO_FATAL_FAILURE(create(2000));
  ASSERT_NO_FATAL_FAILURE(number(some_keys(1500, 1500, &random)));
  ASSERT_NO_FATAL_FAILURE(erase(some_keys(700, 1500, &random), 0));
  for (uint64_t capacity : {6000, 1600}) {
    tsr_rehash_options options = {};
    options.capacity = capacity;
    options.seed = 9;
    ASSERT_EQ(tsr_rehash(table_, &options, &error), TSR_OK) << error.message;
    ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(200, 1500, &random)));
    ASSERT_NO_FATAL_FAILURE(number(some_keys(300, 1500, &random)));
    ASSERT_NO_FATAL_FAILURE(erase(some_keys(100, 1500, &random), 2));
  }
  const std::string path = testing::TempDir() + "/index.tsr", directories = plugin_directories();
  ASSERT_EQ(tsr_table_save(table_, path.c_str(), &error), TSR_OK) << error.message;
  tsr_load_options load = {};
  load.plugins = directories.c_str();
  tsr_table *loaded = nullptr;
  ASSERT_EQ(tsr_table_load(path.c_str(), &load, &loaded, &error), TSR_OK) << error.message;
  tsr_table_destroy(table_);
  table_ = loaded;
  ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(200, 1500, &random)));
  ASSERT_NO_FATAL_FAILURE(number(some_keys(800, 1500, &random)));
  ASSERT_NO_FATAL_FAILURE(expect_all(some_keys(200, 1500, &random)));
}

// Many erased keys: the table is rebuilt in place, and numbers stay.
TEST_P(Index, IsCleaned) {
  TSR_ONE_THREAD;
  Random random(8);
  ASSERT_NO_FATAL_FAILURE(create(500));
  for (int call = 0; call < 20; call++) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 300; i++) keys.push_back(10 + 300 * call + i);
    ASSERT_NO_FATAL_FAILURE(number(keys));
    if (call % 5 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_all(keys));
    }
    ASSERT_NO_FATAL_FAILURE(erase(keys, 0));
  }
  ASSERT_NO_FATAL_FAILURE(expect_all({10, 11, 12}));
}

TEST_P(Index, TellsDistinctKeys) {
  Random random(9);
  tsr_error error = {};
  ASSERT_NO_FATAL_FAILURE(create(3000));
  for (uint64_t run : {0, 1, 2, 3, 4, 5, 6, 7}) {
    const uint64_t sizes[] = {0, 1, 5, 4000}, n = sizes[run / 2];
    const std::vector<uint64_t> keys = some_keys(n, 900, &random);
    std::map<uint64_t, uint64_t> expected;
    for (uint64_t key : keys) expected[key]++;
    Keys array(key_bits(), keys), unique(key_bits(), n + 1);
    std::vector<uint32_t> inverse(n + 1);
    std::vector<uint64_t> counts(n + 1);
    tsr_unique_arrays arrays = {};
    arrays.keys = unique.data();
    arrays.inverse = inverse.data();
    arrays.counts = counts.data();
    arrays.room = n;
    arrays.keep = run % 2; // through the table, or without it
    uint64_t count = 99;
    ASSERT_EQ(tsr_unique(table_, n, array.data(), &arrays, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, expected.size());
    const std::vector<uint64_t> written = unique.numbers(count);
    for (uint64_t i = 0; i < n; i++) ASSERT_EQ(written[inverse[i]], keys[i]);
    for (uint64_t i = 0; i < count; i++) ASSERT_EQ(counts[i], expected[written[i]]);
    std::set<uint64_t> seen;
    for (uint64_t i = 0, next = 0; GetParam().in_order && i < n; i++)
      if (seen.insert(keys[i]).second) {
        ASSERT_EQ(inverse[i], next++);
      }
    uint64_t alone = 99;
    ASSERT_EQ(tsr_unique(table_, n, array.data(), nullptr, &alone, &error), TSR_OK) << error.message;
    ASSERT_EQ(alone, count);
    if (count < 2) continue;
    arrays.room = count - 1;
    EXPECT_EQ(tsr_unique(table_, n, array.data(), &arrays, &alone, &error), TSR_BAD_ARGUMENT);
    EXPECT_EQ(alone, count);
    expect_sentence(error, "room");
  }
  const std::vector<uint64_t> three = {1, 2, 1};
  Array keys(key_bits(), three);
  const uint32_t values[] = {3, 4, 5};
  uint64_t sums[3] = {};
  uint64_t distinct = 0;
  tsr_unique_column column = {values, sums, TSR_VALUES_U32, TSR_COMBINE_SUM};
  tsr_unique_arrays with = {};
  with.columns = &column;
  with.column_count = 1;
  with.room = 3;
  ASSERT_EQ(tsr_unique(table_, 3, keys.data(), &with, &distinct, &error), TSR_OK) << error.message;
  EXPECT_EQ(distinct, 2u);
  EXPECT_EQ(sums[0] + sums[1], 12u);
  EXPECT_EQ(std::max(sums[0], sums[1]), 8u);
  const std::pair<tsr_unique_column, const char *> wrong[] = {
      {{nullptr, sums, TSR_VALUES_U32, TSR_COMBINE_SUM}, "values"},
      {{values, nullptr, TSR_VALUES_U32, TSR_COMBINE_SUM}, "combined"},
      {{values, sums, 6, TSR_COMBINE_SUM}, "type = 6"},
      {{values, sums, TSR_VALUES_U32, 3}, "how = 3"}};
  for (const auto &[refused, word] : wrong) {
    column = refused;
    EXPECT_EQ(tsr_unique(table_, 3, keys.data(), &with, &distinct, &error), TSR_BAD_ARGUMENT);
    expect_sentence(error, word);
  }
  with.columns = nullptr;
  EXPECT_EQ(tsr_unique(table_, 3, keys.data(), &with, &distinct, &error), TSR_BAD_ARGUMENT);
  expect_sentence(error, "columns is NULL");
  if (!GetParam().allocator.empty()) return; // whose lists have room for many more keys
  ASSERT_NO_FATAL_FAILURE(create(50));
  const std::vector<uint64_t> many = some_keys(6000, 1u << 30, &random);
  Keys array(key_bits(), many);
  uint64_t count = 0;
  tsr_unique_arrays kept = {};
  kept.keep = 1;
  EXPECT_EQ(tsr_unique(table_, many.size(), array.data(), &kept, &count, &error), TSR_UNSUPPORTED);
  expect_sentence(error, "unique");
}

INSTANTIATE_TEST_SUITE_P(All, Index, testing::ValuesIn(enough_for_sanitizers(cases())), name_of);

const Case plain = {"packed", "cuckoo", "", 32, true, true, false};

TEST(IndexCalls, NumberByOtherNames) {
  tsr_error error = {};
  tsr_table *table = made(parsed(text_of(plain, 100)).get());
  ASSERT_NE(table, nullptr);
  const uint32_t keys[] = {5, 9, 5};
  uint32_t numbers[3] = {7, 7, 7};
  ASSERT_EQ(tsr_insert(table, 3, keys, nullptr, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find_or_insert(table, 3, keys, nullptr, numbers, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(numbers[0], 0u);
  EXPECT_EQ(numbers[1], 1u);
  EXPECT_EQ(numbers[2], 0u);
  ASSERT_EQ(tsr_number(table, 1, keys, nullptr, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_clear(table, nullptr, &error), TSR_OK);
  ASSERT_EQ(tsr_build(table, 2, keys + 1, nullptr, nullptr, 3, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_find(table, 2, keys + 1, numbers, nullptr, &error), TSR_OK) << error.message;
  EXPECT_EQ(numbers[0], 0u);
  EXPECT_EQ(numbers[1], 1u);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_keys, 9u);
  EXPECT_EQ(report.inserted, 4u);
  EXPECT_EQ(report.find_keys, 2u);
  tsr_table_destroy(table);
}

// A large batch is inserted in its pages, and its marks are found and its numbers written zone by zone.
TEST(IndexCalls, GoByPages) {
  Case c = plain;
  c.in_pages = true;
  tsr_error error = {};
  tsr_table *table = made(parsed(text_of(c, 4000)).get());
  ASSERT_NE(table, nullptr);
  std::vector<uint32_t> keys(3000), numbers(3000);
  std::vector<uint8_t> codes(3000);
  tsr_call call = {};
  call.results = codes.data();
  for (uint32_t i = 0; i < 3000; i++) keys[i] = 77 * (i / 2);
  ASSERT_EQ(tsr_number(table, 3000, keys.data(), numbers.data(), &call, &error), TSR_OK) << error.message;
  for (uint32_t i = 0; i < 3000; i++) ASSERT_EQ(numbers[i], i / 2);
  for (uint32_t i = 0; i < 3000; i += 2) ASSERT_EQ((codes[i] == TSR_INSERTED) + (codes[i + 1] == TSR_INSERTED), 1);
  for (uint32_t i = 0; i < 3000; i++) ASSERT_TRUE(codes[i] == TSR_INSERTED || codes[i] == TSR_FOUND);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, &error), TSR_OK);
  EXPECT_EQ(report.insert_keys, 3000u);
  EXPECT_EQ(report.inserted, 1500u);
  EXPECT_EQ(report.insert_paged, 3000u);
  EXPECT_EQ(report.zoned, 6000u);
  tsr_table_destroy(table);
}

// A kernel of a user's own looks numbers up.
TEST(IndexCalls, AreFoundByKernels) {
  if (sanitized) return;
  tsr_error error = {};
  tsr_table *table = made(parsed(text_of(plain, 1000)).get());
  std::vector<uint32_t> keys(500), numbers(500);
  for (uint32_t i = 0; i < 500; i++) keys[i] = 9 * (i % 250);
  ASSERT_EQ(tsr_number(table, 500, keys.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
  tsr_statements statements = {};
  statements.text = "numbers[i] = (uint32_t)value;";
  statements.parameters = "uint32_t *numbers";
  uint32_t *written = numbers.data();
  const void *const arguments[] = {&written};
  statements.arguments = arguments;
  statements.count = 1;
  unsetenv("TESSERA_CC"); // which the other tests need not
  const tsr_status status = tsr_for_each(table, 500, keys.data(), &statements, nullptr, &error);
  setenv("TESSERA_CC", "", 1);
  ASSERT_EQ(status, TSR_OK) << error.message;
  for (uint32_t i = 0; i < 500; i++) EXPECT_EQ(numbers[i], i % 250);
  tsr_table_destroy(table);
}

// More items than one batch of marks has.
TEST(IndexCalls, NumbersManyItems) {
  if (sanitized) return;
  const uint64_t n = (1u << 24) + 1000;
  tsr_error error = {};
  tsr_table *table = made(parsed(text_of(plain, 1000)).get());
  std::vector<uint32_t> keys(n), numbers(n);
  for (uint64_t i = 0; i < n; i++) keys[i] = static_cast<uint32_t>(i < (1u << 24) ? i % 300 : 1000 + i % 200);
  ASSERT_EQ(tsr_number(table, n, keys.data(), numbers.data(), nullptr, &error), TSR_OK) << error.message;
  uint32_t next = 300;
  std::map<uint32_t, uint32_t> later;
  for (uint64_t i = 0; i < n; i++) {
    if (keys[i] < 300) {
      ASSERT_EQ(numbers[i], keys[i]);
    } else {
      if (!later.count(keys[i])) later[keys[i]] = next++;
      ASSERT_EQ(numbers[i], later[keys[i]]);
    }
  }
  tsr_table_destroy(table);
}

TEST(IndexCalls, AreRefused) {
  tsr_error error = {};
  tsr_table *index = made(parsed(text_of(plain, 100)).get());
  tsr_table *map = made(parsed("[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\ncapacity = 100\nlayout = packed\n"
                               "probing = cuckoo\nhasher = murmur3\nbackend = cpu\n")
                            .get());
  ASSERT_TRUE(index && map);
  const uint32_t keys[] = {1, 2}, values[] = {3, 4};
  uint32_t numbers[2];
  uint64_t count = 0;
  tsr_call call = {};
  uint8_t codes[2];
  call.results = codes;
  expect_refused(tsr_number(map, 2, keys, numbers, nullptr, &error), TSR_UNSUPPORTED, error, "kind = index");
  expect_refused(tsr_keys_by_number(map, 0, 2, numbers, nullptr, &error), TSR_UNSUPPORTED, error, "kind = index");
  expect_refused(tsr_numbers_given(map, &count, &error), TSR_UNSUPPORTED, error, "kind = index");
  expect_refused(tsr_insert(index, 2, keys, values, nullptr, &error), TSR_BAD_ARGUMENT, error, "NULL");
  expect_refused(tsr_find_or_insert(index, 2, keys, values, numbers, nullptr, &error), TSR_BAD_ARGUMENT, error, "NULL");
  expect_refused(tsr_number(index, 2, nullptr, numbers, nullptr, &error), TSR_BAD_ARGUMENT, error, "keys");
  expect_refused(tsr_number(nullptr, 2, keys, numbers, nullptr, &error), TSR_BAD_ARGUMENT, error, "NULL");
  expect_refused(tsr_keys_by_number(index, 0, 2, nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "keys");
  expect_refused(tsr_keys_by_number(index, 0, 2, numbers, &call, &error), TSR_BAD_ARGUMENT, error, "present");
  expect_refused(tsr_unique(index, 2, keys, nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "count");
  expect_refused(tsr_numbers_given(index, nullptr, &error), TSR_BAD_ARGUMENT, error, "place");
  tsr_table_destroy(index);
  tsr_table_destroy(map);
}

// ---- Rows -------------------------------------------------------------------------------------

struct RowCase {
  const char *name, *entries;
  uint32_t key_bits, bytes;
};

const RowCase row_cases[] = {
    {"narrow_that_grows", "layout = packed\nprobing = cuckoo\ngrowth = double\n", 32, 20},
    {"of_a_sector_in_pages", "layout = packed\nprobing = two_choice\npage_bytes = 4Ki\npage_batch = 30\n", 64, 64},
    {"long_late_filtered", "layout = soa\nprobing = double_hashing\nfilter = 8\n", 64, 528},
    {"longest_of_wide_keys", "layout = soa\nprobing = linear\ngrowth = double\n", 128, 4096},
};

void PrintTo(const RowCase &c, std::ostream *out) { *out << c.name; }

std::string text_of_rows(const RowCase &c, uint64_t capacity, const std::string &more = "") {
  return "[table]\nkind = index\nhasher = murmur3\nbackend = cpu\nkey_bits = " + std::to_string(c.key_bits) +
         "\nvalue_bytes = " + std::to_string(c.bytes) + "\ncapacity = " + std::to_string(capacity) + "\n" + c.entries +
         more;
}

class IndexRows : public testing::TestWithParam<RowCase> {
protected:
  ~IndexRows() override { tsr_table_destroy(table_); }

  using Row = std::vector<uint8_t>;
  Row row_of(uint64_t seed) const {
    Row row(GetParam().bytes);
    for (size_t i = 0; i < row.size(); i++) row[i] = static_cast<uint8_t>((seed + 1) * (i / 4 + 7) >> i % 4 * 8);
    return row;
  }

  std::vector<uint32_t> number(const std::vector<uint64_t> &keys, std::vector<uint8_t> *codes) {
    std::vector<uint32_t> numbers(keys.size());
    codes->assign(keys.size(), 0);
    tsr_call call = {};
    call.results = codes->data();
    call.missing = none;
    Keys array(GetParam().key_bits, keys);
    EXPECT_EQ(tsr_number(table_, keys.size(), array.data(), numbers.data(), &call, &error_), TSR_OK) << error_.message;
    return numbers;
  }

  void write(const std::vector<uint32_t> &numbers, const std::vector<Row> &rows) {
    std::vector<uint8_t> bytes;
    for (const Row &row : rows) bytes.insert(bytes.end(), row.begin(), row.end());
    ASSERT_EQ(tsr_write_rows(table_, numbers.size(), numbers.data(), bytes.data(), nullptr, &error_), TSR_OK)
        << error_.message;
    for (size_t i = 0; i < numbers.size(); i++) rows_[numbers[i]] = rows[i];
  }

  std::vector<Row> read(const std::vector<uint32_t> &numbers, uint64_t missing = 0) {
    const size_t size = GetParam().bytes;
    std::vector<uint8_t> bytes(numbers.size() * size + 1);
    tsr_call call = {};
    call.missing = missing;
    EXPECT_EQ(tsr_read_rows(table_, numbers.size(), numbers.data(), bytes.data(), &call, &error_), TSR_OK)
        << error_.message;
    std::vector<Row> rows;
    for (size_t i = 0; i < numbers.size(); i++)
      rows.push_back(
          Row(bytes.begin() + static_cast<long>(i * size), bytes.begin() + static_cast<long>((i + 1) * size)));
    return rows;
  }

  // Every number that was written has its row, and the others have none.
  void expect_rows() {
    uint64_t given = 0;
    ASSERT_EQ(tsr_numbers_given(table_, &given, &error_), TSR_OK) << error_.message;
    std::vector<uint32_t> numbers;
    for (uint32_t i = 0; i < given; i++) numbers.push_back(i);
    const std::vector<Row> rows = read(numbers);
    for (uint32_t i = 0; i < given; i++) ASSERT_EQ(rows[i], rows_.count(i) ? rows_[i] : Row(GetParam().bytes)) << i;
  }

  tsr_table *table_ = nullptr;
  tsr_error error_ = {};
  std::map<uint32_t, Row> rows_; // by number
};

TEST_P(IndexRows, StayWithTheirNumbers) {
  Random random(17);
  const bool grows = std::string(GetParam().entries).find("growth") != std::string::npos;
  table_ = made(parsed(text_of_rows(GetParam(), grows ? 40 : 1500)).get());
  ASSERT_NE(table_, nullptr);
  for (uint64_t call = 0; call < 8; call++) {
    std::vector<uint64_t> keys;
    for (int i = 0; i < 150; i++) keys.push_back(random.below(600) * 2654435761u);
    std::vector<uint8_t> codes;
    const std::vector<uint32_t> numbers = number(keys, &codes);
    std::vector<uint32_t> fresh;
    std::vector<Row> rows;
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_NE(numbers[i], none);
      if (codes[i] == TSR_INSERTED && numbers[i] % 5) fresh.push_back(numbers[i]), rows.push_back(row_of(keys[i]));
    }
    ASSERT_NO_FATAL_FAILURE(expect_rows()); // a number that was another key's has what that key left
    ASSERT_NO_FATAL_FAILURE(write(fresh, rows));
    ASSERT_NO_FATAL_FAILURE(expect_rows());
    Keys some(GetParam().key_bits, std::vector<uint64_t>(keys.begin(), keys.begin() + 60));
    ASSERT_EQ(tsr_erase(table_, 60, some.data(), nullptr, &error_), TSR_OK) << error_.message;
    if (call == 3) {
      ASSERT_EQ(tsr_rehash(table_, nullptr, &error_), TSR_OK) << error_.message;
    }
    if (call == 5) {
      const std::string path = testing::TempDir() + "/rows_" + GetParam().name, folders = plugin_directories();
      ASSERT_EQ(tsr_table_save(table_, path.c_str(), &error_), TSR_OK) << error_.message;
      tsr_table_destroy(table_);
      table_ = nullptr;
      tsr_load_options load = {};
      load.plugins = folders.c_str();
      ASSERT_EQ(tsr_table_load(path.c_str(), &load, &table_, &error_), TSR_OK) << error_.message;
    }
  }
  ASSERT_EQ(tsr_clear(table_, nullptr, &error_), TSR_OK) << error_.message;
  std::vector<uint8_t> codes;
  ASSERT_EQ(number({5}, &codes)[0], 0u);
  ASSERT_NO_FATAL_FAILURE(expect_rows());
}

TEST_P(IndexRows, AreReadAndWrittenWhole) {
  table_ = made(parsed(text_of_rows(GetParam(), 100)).get());
  ASSERT_NE(table_, nullptr);
  std::vector<uint32_t> numbers(400, 3);
  std::vector<Row> rows;
  for (uint64_t i = 0; i < 400; i++) rows.push_back(row_of(i));
  numbers[7] = none;
  numbers[8] = 1u << 31;
  ASSERT_NO_FATAL_FAILURE(write(numbers, rows));
  const std::vector<Row> seen = read({3, none, 0}, 0x0102030405060708u);
  EXPECT_NE(std::find(rows.begin(), rows.end(), seen[0]), rows.end()) << "a row of two items";
  EXPECT_TRUE(seen[0] != rows[7] && seen[0] != rows[8]);
  for (size_t i = 0; i < GetParam().bytes; i++) ASSERT_EQ(seen[1][i], 8 - i % 8);
  EXPECT_EQ(seen[2], Row(GetParam().bytes));
}

// An insert with values numbers and writes. A key without room has no row.
TEST_P(IndexRows, AreInserted) {
  table_ = made(parsed(text_of_rows(GetParam(), 50)).get());
  ASSERT_NE(table_, nullptr);
  std::vector<uint64_t> keys;
  std::vector<uint8_t> bytes;
  for (uint64_t i = 0; i < 300; i++) {
    const Row row = row_of(i);
    keys.push_back(i * 977);
    bytes.insert(bytes.end(), row.begin(), row.end());
  }
  Keys array(GetParam().key_bits, keys);
  ASSERT_EQ(tsr_insert(table_, 300, array.data(), bytes.data(), nullptr, &error_), TSR_OK) << error_.message;
  std::vector<uint32_t> numbers(300);
  tsr_call call = {};
  call.missing = none;
  ASSERT_EQ(tsr_find(table_, 300, array.data(), numbers.data(), &call, &error_), TSR_OK) << error_.message;
  const std::vector<Row> rows = read(numbers);
  uint64_t placed = 0;
  for (uint64_t i = 0; i < 300; i++) {
    ASSERT_EQ(rows[i], numbers[i] == none ? Row(GetParam().bytes) : row_of(i));
    placed += numbers[i] != none;
  }
  EXPECT_GE(placed, 40u);
}

INSTANTIATE_TEST_SUITE_P(All, IndexRows, testing::ValuesIn(row_cases),
                         [](const auto &info) { return std::string(info.param.name); });

// A key that is given up leaves its row to be read, until its number's new key writes one.
TEST(IndexRowsOfKeys, ThatAreGivenUp) {
  const RowCase c = {"evicts", "layout = packed\nprobing = double_hashing\neviction = lru\n", 32, 32};
  tsr_error error = {};
  tsr_table *table = made(parsed(text_of_rows(c, 100)).get());
  ASSERT_NE(table, nullptr);
  std::map<uint32_t, uint32_t> kept; // what is given up, as a user writes it behind
  for (uint32_t round = 0; round < 6; round++) {
    std::vector<uint32_t> keys(80), numbers(80), rows(80 * 8), gone(100), gone_numbers(100), gone_rows(100 * 8);
    for (uint32_t i = 0; i < 80; i++) keys[i] = 1000 * round + i;
    ASSERT_EQ(tsr_number(table, 80, keys.data(), numbers.data(), nullptr, &error), TSR_OK) << error.message;
    uint64_t count = 0;
    ASSERT_EQ(tsr_evicted(table, 100, gone.data(), gone_numbers.data(), &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, round ? (round == 1 ? 60u : 80u) : 0u);
    ASSERT_EQ(tsr_read_rows(table, count, gone_numbers.data(), gone_rows.data(), nullptr, &error), TSR_OK);
    for (uint64_t i = 0; i < count; i++)
      for (uint64_t word = 0; word < 8; word++) ASSERT_EQ(gone_rows[8 * i + word], gone[i] + word) << gone[i];
    for (uint64_t i = 0; i < rows.size(); i++) rows[i] = keys[i / 8] + static_cast<uint32_t>(i % 8);
    ASSERT_EQ(tsr_write_rows(table, 80, numbers.data(), rows.data(), nullptr, &error), TSR_OK) << error.message;
  }
  tsr_table_destroy(table);
}

TEST(IndexRowsOfKeys, AreRefused) {
  tsr_error error = {};
  tsr_table *index = made(parsed(text_of(plain, 100)).get());
  ASSERT_NE(index, nullptr);
  uint32_t numbers[] = {0, 1}, rows[32] = {};
  expect_refused(tsr_read_rows(index, 2, numbers, rows, nullptr, &error), TSR_UNSUPPORTED, error, "value_bytes");
  expect_refused(tsr_write_rows(index, 2, numbers, rows, nullptr, &error), TSR_UNSUPPORTED, error, "value_bytes");
  tsr_table_destroy(index);
  const RowCase c = {"refused", "layout = packed\nprobing = cuckoo\n", 32, 64};
  index = made(parsed(text_of_rows(c, 100)).get());
  ASSERT_NE(index, nullptr);
  expect_refused(tsr_read_rows(index, 2, nullptr, rows, nullptr, &error), TSR_BAD_ARGUMENT, error, "numbers");
  expect_refused(tsr_write_rows(index, 2, numbers, nullptr, nullptr, &error), TSR_BAD_ARGUMENT, error, "rows");
  expect_refused(tsr_read_rows(nullptr, 2, numbers, rows, nullptr, &error), TSR_BAD_ARGUMENT, error, "NULL");
  expect_refused(tsr_find_or_insert(index, 2, numbers, rows, numbers, nullptr, &error), TSR_BAD_ARGUMENT, error,
                 "NULL");
  EXPECT_EQ(tsr_read_rows(index, 0, nullptr, nullptr, nullptr, &error), TSR_OK);
  tsr_table_destroy(index);
  const struct {
    const char *entry, *word;
  } wrong[] = {{"devices = 0,0\n", "device"}, {"reuse = no\n", "reuse = yes"}, {"value_bits = 32\n", "value_b"}};
  for (const auto &w : wrong) {
    tsr_table *table = nullptr;
    const std::string folders = plugin_directories();
    tsr_options options = {};
    options.plugins = folders.c_str();
    EXPECT_NE(tsr_table_create(parsed(text_of_rows(c, 100, w.entry)).get(), &options, &table, &error), TSR_OK);
    expect_sentence(error, w.word);
    tsr_table_destroy(table);
  }
}

TEST(IndexSpecs, AreRefused) {
  const struct {
    const char *entry, *word;
  } wrong[] = {{"value_bits = 32\n", "its number"},
               {"value_bytes = 264\n", "multiple of 16"},
               {"duplicates = replace\n", "number"},
               {"concurrency = mixed\n", "phased"},
               {"devices = 0,0\n", "each device numbers the keys"},
               {"page_bytes = auto\ndevice_bytes = 1Mi\n", "device_bytes"},
               {"numbering = sorted\n", "first_seen"},
               {"reuse = never\n", "yes"},
               {"capacity = 4G\n", "2^31"}};
  for (const auto &w : wrong) {
    std::string text = text_of(plain, 100, w.entry);
    const std::string given[] = {"numbering = first_seen\n", "reuse = yes\n", "capacity = 100\n"};
    for (const std::string &line : given)
      if (line.substr(0, line.find(' ')) == std::string(w.entry).substr(0, std::string(w.entry).find(' ')))
        text.erase(text.find(line), line.size());
    const std::string directories = plugin_directories();
    tsr_options options = {};
    options.plugins = directories.c_str();
    tsr_table *table = nullptr;
    tsr_error error = {};
    EXPECT_NE(tsr_table_create(parsed(text).get(), &options, &table, &error), TSR_OK) << w.entry;
    EXPECT_NE(strstr(error.message, w.word), nullptr) << w.entry << error.message;
    expect_sentence(error, w.word);
    tsr_table_destroy(table);
  }
  for (const char *line : {"numbering = any\n", "reuse = yes\n"}) {
    const std::string text = std::string("[table]\nkind = set\nkey_bits = 32\ncapacity = 10\nlayout = packed\n") +
                             "probing = cuckoo\nhasher = murmur3\nbackend = cpu\n" + line;
    tsr_table *table = nullptr;
    tsr_error error = {};
    expect_refused(tsr_table_create(parsed(text).get(), nullptr, &table, &error), TSR_BAD_SPEC, error, "index");
  }
}

} // namespace
} // namespace tessera_test
