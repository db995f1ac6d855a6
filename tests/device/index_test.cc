// SPDX-License-Identifier: Apache-2.0
//
// An index on a device: numbers without gaps, of keys that repeat, that are erased and come again, of two streams, in a
// graph, in tables that are full, grow or give up keys. Read next: ../table/index_test.cc, which has a model of it on the
// cpu backend.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "tests/device/device.h"
#include "tests/oracle/eviction.h"
#include "tests/oracle/random.h"

namespace {

constexpr uint32_t none = 0xFFFFFFFFu;

struct Case {
  const char *layout, *probing, *more; // more: further lines of [table]
  uint32_t key_bits, bucket_slots, tile_lanes;
};

const Case cases[] = {
    {"packed", "cuckoo", "numbering = first_seen\n", 32, 4, 1},
    {"packed", "cuckoo", "", 32, 8, 4},
    {"packed", "cuckoo", "", 64, 8, 8},
    {"soa", "double_hashing", "numbering = first_seen\n", 64, 8, 8},
    {"packed", "double_hashing", "reuse = no\n", 32, 8, 1},
    {"aos", "linear", "", 32, 8, 8},
    {"quotient", "robin_hood", "", 32, 8, 8},
    {"packed", "cuckoo", "numbering = first_seen\npage_bytes = auto\npage_batch = 500\nfind_batch = 500\n", 32, 8, 1},
    {"packed", "double_hashing", "page_bytes = auto\npage_batch = 500\nfind_batch = 500\n", 64, 8, 1},
    {"slab", "slab_list", "allocator = slab\n", 32, 8, 8},
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.layout << ", " << c.probing << ", " << c.key_bits; }

device::Table make(const Case &c, uint64_t capacity, const std::string &more = "") {
  const std::string text =
      std::string("[table]\nkind = index\nhasher = murmur3\nkey_bits = ") + std::to_string(c.key_bits) +
      "\nlayout = " + c.layout + "\nprobing = " + c.probing + "\nbackend = " + device::backend() +
      "\ncapacity = " + std::to_string(capacity) + "\n" + c.more + more +
      (std::string(c.layout) == "slab" ? ""
                                       : "[layout]\nbucket_slots = " + std::to_string(c.bucket_slots) +
                                             "\ntile_lanes = " + std::to_string(c.tile_lanes) + "\n");
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  device::Table table;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "index.ini", &spec, &error), TSR_OK) << error.message;
  if (spec) {
    table = device::create(spec, options);
  }
  tsr_spec_free(spec);
  return table;
}

uint64_t scaled(uint64_t n) { return device::backend() == "cpu" ? n / 40 + 100 : n; }

// Keys 0 .. distinct - 1, scattered over all of their bits; the last one is reserved inside.
std::vector<uint64_t> some_keys(const Case &c, uint64_t n, uint64_t distinct, uint64_t from,
                                tessera_test::Random *random) {
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = from + random->below(distinct);
    keys.push_back(key == 7 ? tessera_test::width_mask(c.key_bits) : device::key_of(key, c.key_bits));
  }
  return keys;
}

class Index : public testing::TestWithParam<Case> {
protected:
  bool in_order() const { return std::string(GetParam().more).find("first_seen") != std::string::npos; }
  bool reuses() const { return std::string(GetParam().more).find("reuse = no") == std::string::npos; }

  std::vector<uint64_t> number(tsr_table *t, const std::vector<uint64_t> &keys) {
    tsr_error error = {};
    tsr_call call = {};
    call.missing = none;
    device::Array array(t, GetParam().key_bits, keys), numbers(t, 32, keys.size());
    EXPECT_EQ(tsr_number(t, keys.size(), array.data(), static_cast<uint32_t *>(numbers.data()), &call, &error), TSR_OK)
        << error.message;
    EXPECT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
    return numbers.numbers();
  }

  // Equal keys have one number, different ones two; all are below what was given.
  void check(tsr_table *t, const std::vector<uint64_t> &keys, const std::vector<uint64_t> &numbers,
             std::map<uint64_t, uint64_t> *known) {
    tsr_error error = {};
    uint64_t given = 0, size = 0;
    ASSERT_EQ(tsr_numbers_given(t, &given, &error), TSR_OK) << error.message;
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_LT(numbers[i], given) << i;
      const auto at = known->emplace(keys[i], numbers[i]).first;
      ASSERT_EQ(at->second, numbers[i]) << "two numbers of the key " << keys[i];
    }
    std::set<uint64_t> different;
    for (const auto &[key, number] : *known) different.insert(number);
    ASSERT_EQ(different.size(), known->size()) << "two keys have one number";
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    ASSERT_EQ(size, known->size());
  }
};

TEST_P(Index, NumbersKeysThatRepeatAndComeAgain) {
  const uint64_t distinct = scaled(200000);
  device::Table table = make(GetParam(), 2 * distinct);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  tessera_test::Random random(1);
  tsr_error error = {};
  std::map<uint64_t, uint64_t> known;
  for (int round = 0; round < 4; round++) {
    SCOPED_TRACE(round);
    const std::vector<uint64_t> keys = some_keys(GetParam(), 3 * distinct, distinct, round * distinct / 4, &random);
    const std::vector<uint64_t> numbers = number(t, keys);
    ASSERT_NO_FATAL_FAILURE(check(t, keys, numbers, &known));
    uint64_t given = 0;
    ASSERT_EQ(tsr_numbers_given(t, &given, &error), TSR_OK) << error.message;
    if (round == 0) {
      ASSERT_EQ(given, known.size());
      uint64_t next = 0;
      std::set<uint64_t> seen;
      for (size_t i = 0; in_order() && i < keys.size(); i++)
        if (seen.insert(keys[i]).second) {
          ASSERT_EQ(numbers[i], next++);
        }
    } else if (reuses()) {
      ASSERT_LE(given, known.size() + distinct / 4 + 1) << "numbers of erased keys did not come back";
    }
    std::vector<uint64_t> gone = some_keys(GetParam(), distinct / 4, distinct, round * distinct / 4, &random);
    device::Array array(t, GetParam().key_bits, gone);
    ASSERT_EQ(tsr_erase(t, gone.size(), array.data(), nullptr, &error), TSR_OK) << error.message;
    for (uint64_t key : gone) known.erase(key);
  }
  uint64_t given = 0;
  ASSERT_EQ(tsr_numbers_given(t, &given, &error), TSR_OK) << error.message;
  device::Array by_number(t, GetParam().key_bits, given), present(t, 8, given);
  tsr_call call = {};
  call.present = static_cast<uint8_t *>(present.data());
  ASSERT_EQ(tsr_keys_by_number(t, 0, given, by_number.data(), &call, &error), TSR_OK) << error.message;
  const std::vector<uint64_t> keys = by_number.numbers(), is = present.numbers();
  uint64_t count = 0;
  for (const auto &[key, number] : known) {
    ASSERT_EQ(is[number], 1u);
    ASSERT_EQ(keys[number], key);
  }
  for (uint64_t i = 0; i < given; i++) count += is[i];
  EXPECT_EQ(count, known.size());
}

// The same calls into two tables give the same numbers.
TEST_P(Index, RepeatsItselfInOrderOfAppearance) {
  if (!in_order()) return;
  const uint64_t n = scaled(400000);
  tessera_test::Random random(2);
  const std::vector<uint64_t> keys = some_keys(GetParam(), n, n / 5, 0, &random);
  std::vector<uint64_t> numbers[2];
  for (std::vector<uint64_t> &one : numbers) {
    device::Table table = make(GetParam(), n);
    ASSERT_TRUE(table);
    one = number(table.get(), keys);
  }
  EXPECT_EQ(numbers[0], numbers[1]);
}

TEST_P(Index, IsFullAndGrows) {
  const uint64_t n = scaled(60000);
  tessera_test::Random random(3);
  for (const char *more : {"", "growth = double\n"}) {
    device::Table table = make(GetParam(), n / 4, more);
    ASSERT_TRUE(table);
    tsr_table *t = table.get();
    tsr_error error = {};
    const std::vector<uint64_t> keys = some_keys(GetParam(), 2 * n, n, 0, &random);
    const std::vector<uint64_t> numbers = number(t, keys);
    std::vector<uint64_t> placed, placed_numbers;
    for (size_t i = 0; i < keys.size(); i++) {
      if (numbers[i] == none) continue;
      placed.push_back(keys[i]);
      placed_numbers.push_back(numbers[i]);
    }
    if (*more) {
      ASSERT_EQ(placed.size(), keys.size());
    }
    std::map<uint64_t, uint64_t> known;
    ASSERT_NO_FATAL_FAILURE(check(t, placed, placed_numbers, &known));
    tsr_table_info info = {};
    tsr_table_describe(t, &info);
    uint64_t given = 0;
    ASSERT_EQ(tsr_numbers_given(t, &given, &error), TSR_OK) << error.message;
    if (reuses()) {
      EXPECT_LE(given, info.slots + 3 * info.bucket_slots);
    }
  }
}

TEST_P(Index, IsOneOfTwoStreams) {
  const uint64_t n = scaled(100000);
  device::Table table = make(GetParam(), 2 * n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  tessera_test::Random random(4);
  tsr_error error = {};
  device::Streams streams;
  for (int round = 0; round < 5; round++) {
    const std::vector<uint64_t> keys = some_keys(GetParam(), n, n, 0, &random);
    device::Array first(t, GetParam().key_bits, keys), second(t, GetParam().key_bits, keys);
    device::Array one(t, 32, n), two(t, 32, n), three(t, 32, n);
    tsr_call a = {}, b = {};
    a.stream = streams.one;
    b.stream = streams.two;
    ASSERT_EQ(tsr_number(t, n, first.data(), static_cast<uint32_t *>(one.data()), &a, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_number(t, n, second.data(), static_cast<uint32_t *>(two.data()), &b, &error), TSR_OK)
        << error.message;
    ASSERT_EQ(tsr_find(t, n, first.data(), three.data(), &a, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_table_wait(t, &error), TSR_OK) << error.message;
    ASSERT_EQ(one.numbers(), two.numbers());
    ASSERT_EQ(one.numbers(), three.numbers());
  }
}

// A graph numbers keys and erases half of them, again and again, with keys that the host does not know.
TEST_P(Index, IsCaptured) {
  const uint64_t n = scaled(50000);
  if (!reuses()) return; // whose numbers the host counts
  device::Table table = make(GetParam(), 2 * n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  tsr_error error = {};
  device::Streams streams;
  device::Array keys(t, GetParam().key_bits, n), numbers(t, 32, n);
  tsr_call call = {};
  call.stream = streams.one;
  ASSERT_EQ(tsr_table_prepare(t, TSR_PREPARE_FIND_OR_INSERT | TSR_PREPARE_ERASE, &error), TSR_OK) << error.message;
  device::Graph graph(streams.one, [&] {
    EXPECT_EQ(tsr_number(t, n, keys.data(), static_cast<uint32_t *>(numbers.data()), &call, &error), TSR_OK)
        << error.message;
    EXPECT_EQ(tsr_erase(t, n / 2, keys.data(), &call, &error), TSR_OK) << error.message;
  });
  tessera_test::Random random(5);
  std::map<uint64_t, uint64_t> known;
  for (int replay = 0; replay < 10; replay++) {
    SCOPED_TRACE(replay);
    const std::vector<uint64_t> these = some_keys(GetParam(), n, n, 0, &random);
    device::Array array(t, GetParam().key_bits, these);
    ASSERT_EQ(tsr_memory_copy(t, keys.data(), array.data(), n * GetParam().key_bits / 8, &error), TSR_OK);
    ASSERT_NO_FATAL_FAILURE(graph.launch());
    const std::vector<uint64_t> got = numbers.numbers();
    for (uint64_t i = 0; i < n; i++) {
      const auto at = known.emplace(these[i], got[i]).first;
      ASSERT_EQ(at->second, got[i]) << i;
    }
    std::set<uint64_t> different;
    for (const auto &[key, number] : known) different.insert(number);
    ASSERT_EQ(different.size(), known.size());
    ASSERT_LT(*different.rbegin(), 2 * n);
    for (uint64_t i = 0; i < n / 2; i++) known.erase(these[i]);
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    ASSERT_EQ(size, known.size());
  }
}

TEST_P(Index, TellsDistinctKeys) {
  const uint64_t n = scaled(300000);
  device::Table table = make(GetParam(), n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  tessera_test::Random random(6);
  tsr_error error = {};
  const std::vector<uint64_t> keys = some_keys(GetParam(), n, n / 3, 0, &random);
  std::map<uint64_t, uint64_t> expected;
  for (uint64_t key : keys) expected[key]++;
  device::Array array(t, GetParam().key_bits, keys), unique(t, GetParam().key_bits, n), inverse(t, 32, n),
      counts(t, 64, n);
  tsr_unique_arrays arrays = {};
  arrays.keys = unique.data();
  arrays.inverse = static_cast<uint32_t *>(inverse.data());
  arrays.counts = static_cast<uint64_t *>(counts.data());
  arrays.room = n;
  uint64_t count = 0;
  ASSERT_EQ(tsr_unique(t, n, array.data(), &arrays, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  const std::vector<uint64_t> written = unique.numbers(), places = inverse.numbers(), often = counts.numbers();
  for (uint64_t i = 0; i < n; i++) ASSERT_EQ(written[places[i]], keys[i]);
  for (uint64_t i = 0; i < count; i++) ASSERT_EQ(often[i], expected[written[i]]);
}

// ---- A batch alone -----------------------------------------------------------------------------

// The keys of a batch: item i has one of `distinct` keys. zipf: key k occurs as often as 1 / (k + 1) says.
std::vector<uint64_t> keys_of(uint32_t bits, uint64_t n, uint64_t distinct, bool zipf, tessera_test::Random *random) {
  std::vector<uint64_t> keys(n);
  for (uint64_t &key : keys) {
    uint64_t k = random->below(distinct);
    if (zipf) k = static_cast<uint64_t>(std::pow(double(distinct), random->below(1u << 30) / double(1u << 30))) - 1;
    key = (k + 1) * 0x9E3779B97F4A7C15ull;
    if (bits == 32) key = static_cast<uint32_t>(k * 0x9E3779B1u);
  }
  return keys;
}

struct Wanted {
  bool keys, inverse, counts;
};

void expect_groups(tsr_table *t, uint32_t bits, const std::vector<uint64_t> &keys, const Wanted &wanted) {
  const uint64_t n = keys.size();
  std::unordered_map<uint64_t, uint64_t> expected;
  for (uint64_t key : keys) expected[key]++;
  device::Array array(t, bits, keys), unique(t, bits, n + 1), inverse(t, 32, n + 1), counts(t, 64, n + 1);
  tsr_error error = {};
  tsr_unique_arrays arrays = {};
  if (wanted.keys) arrays.keys = unique.data();
  if (wanted.inverse) arrays.inverse = static_cast<uint32_t *>(inverse.data());
  if (wanted.counts) arrays.counts = static_cast<uint64_t *>(counts.data());
  arrays.room = n;
  uint64_t count = 99;
  ASSERT_EQ(tsr_unique(t, n, array.data(), &arrays, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  const std::vector<uint64_t> written = unique.numbers(), places = inverse.numbers(), often = counts.numbers();
  if (wanted.keys) {
    const std::set<uint64_t> different(written.begin(), written.begin() + static_cast<int64_t>(count));
    ASSERT_EQ(different.size(), count);
    for (uint64_t key : different) ASSERT_EQ(expected.count(key), 1u) << key;
  }
  for (uint64_t i = 0; wanted.counts && wanted.keys && i < count; i++) ASSERT_EQ(often[i], expected[written[i]]) << i;
  for (uint64_t i = 0; wanted.inverse && wanted.keys && i < n; i++) {
    ASSERT_LT(places[i], count) << i;
    ASSERT_EQ(written[places[i]], keys[i]) << i;
  }
  if (count < 2 || (!wanted.keys && !wanted.counts)) return;
  arrays.room = count - 1;
  EXPECT_EQ(tsr_unique(t, n, array.data(), &arrays, &count, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(count, expected.size());
}

// Without numbering = first_seen. A GPU needs no room in it.
device::Table an_index(uint32_t bits, uint64_t n) {
  const Case plain = {"soa", "double_hashing", "", bits, 8, 8};
  return make(plain, device::backend() == "cpu" ? n : 1000);
}

TEST(Groups, TellDistinctKeysOfAnyBatch) {
  for (uint32_t bits : {32u, 64u}) {
    tsr_error error = {};
    const uint64_t most = device::backend() == "cpu" ? 10000 : 1100000;
    device::Table table = an_index(bits, most);
    ASSERT_TRUE(table);
    tsr_table *t = table.get();
    tessera_test::Random random(bits);
    // sizes about those of a page, of a tile, of one pass, and of a batch that is worth a sample
    for (uint64_t n : {0u, 1u, 2u, 31u, 2048u, 2049u, 4096u, 4097u, 4608u, 8193u, 100000u, 262144u, 1100000u}) {
      if (n > most) break;
      for (uint64_t distinct : {uint64_t{1}, uint64_t{2}, n / 300 + 1, n / 3 + 1, n * 4 + 1})
        for (bool zipf : {false, true}) {
          SCOPED_TRACE(std::to_string(bits) + " bits, n " + std::to_string(n) + ", of " + std::to_string(distinct) +
                       (zipf ? ", Zipf" : ""));
          std::vector<uint64_t> keys = keys_of(bits, n, distinct, zipf, &random);
          if (n > 40) keys[7] = keys[39] = bits == 32 ? 0xFFFFFFFFu : ~uint64_t{0};
          if (n > 40) keys[8] = 0;
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {true, true, true}));
          if (n > 5000 && distinct != n / 3 + 1) continue;
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {true, false, false}));
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {true, true, false}));
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {true, false, true}));
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {false, true, false}));
          ASSERT_NO_FATAL_FAILURE(expect_groups(t, bits, keys, {false, false, false}));
        }
    }
    uint64_t size = 99;
    ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, 0u);
  }
}

// A graph finds the distinct keys of an array, again and again, with keys that the host does not know.
TEST(Groups, AreCaptured) {
  const uint64_t most = device::backend() == "cpu" ? 10000 : 1100000;
  for (uint32_t bits : {32u, 64u}) {
    tsr_error error = {};
    device::Table table = an_index(bits, most);
    ASSERT_TRUE(table);
    tsr_table *t = table.get();
    device::Streams streams;
    tessera_test::Random random(bits + 1);
    ASSERT_EQ(tsr_table_prepare(t, TSR_PREPARE_FIND_OR_INSERT, &error), TSR_OK) << error.message;
    for (uint64_t n : {1u, 4096u, 4097u, 100000u, 300000u, 1100000u}) {
      if (n > most) break;
      device::Array keys(t, bits, n), unique(t, bits, n), inverse(t, 32, n), counts(t, 64, n), count(t, 64, 1);
      tsr_unique_arrays arrays = {};
      arrays.stream = streams.one;
      arrays.keys = unique.data();
      arrays.inverse = static_cast<uint32_t *>(inverse.data());
      arrays.counts = static_cast<uint64_t *>(counts.data());
      arrays.room = n;
      device::Graph graph(streams.one, [&] {
        EXPECT_EQ(tsr_unique(t, n, keys.data(), &arrays, static_cast<uint64_t *>(count.data()), &error), TSR_OK)
            << error.message;
      });
      for (uint64_t distinct : {uint64_t{1}, n / 3 + 1, n * 4 + 1, n / 300 + 1}) {
        SCOPED_TRACE(std::to_string(bits) + " bits, n " + std::to_string(n) + ", of " + std::to_string(distinct));
        const std::vector<uint64_t> these = keys_of(bits, n, distinct, distinct < n / 100, &random);
        std::unordered_map<uint64_t, uint64_t> expected;
        for (uint64_t key : these) expected[key]++;
        device::Array array(t, bits, these);
        ASSERT_EQ(tsr_memory_copy(t, keys.data(), array.data(), n * bits / 8, &error), TSR_OK);
        ASSERT_NO_FATAL_FAILURE(graph.launch());
        ASSERT_EQ(count.numbers()[0], expected.size());
        const std::vector<uint64_t> written = unique.numbers(), places = inverse.numbers(), often = counts.numbers();
        for (uint64_t i = 0; i < n; i++) {
          ASSERT_LT(places[i], expected.size()) << i;
          ASSERT_EQ(written[places[i]], these[i]) << i;
          ASSERT_EQ(often[places[i]], expected[these[i]]) << i;
        }
      }
    }
  }
}

// Columns of all types, and what each key's values become.
struct Expected {
  uint64_t sum, least_u, most_u;
  int64_t signed_sum, least, most;
  double least_f, most_f, sum_f;
};

uint64_t bits_of(double x, uint32_t bits) {
  uint64_t wide = 0;
  const float narrow = static_cast<float>(x);
  if (bits == 32)
    std::memcpy(&wide, &narrow, sizeof narrow);
  else
    std::memcpy(&wide, &x, sizeof x);
  return wide;
}

// What the columns are made from: whole numbers, of which doubles and floats have exact sums.
void expect_combined(tsr_table *t, uint32_t bits, uint32_t value_bits, const std::vector<uint64_t> &keys, bool host,
                     tessera_test::Random *random) {
  const uint64_t n = keys.size();
  std::vector<int64_t> values(n);
  std::vector<uint64_t> whole(n), floating(n);
  std::unordered_map<uint64_t, Expected> expected;
  for (uint64_t i = 0; i < n; i++) {
    values[i] = static_cast<int64_t>(random->below(2001)) - 1000;
    whole[i] = static_cast<uint64_t>(values[i]) & tessera_test::width_mask(value_bits);
    floating[i] = bits_of(static_cast<double>(values[i]) / 4, value_bits);
    const double f = static_cast<double>(values[i]) / 4;
    auto [at, is_new] =
        expected.try_emplace(keys[i], Expected{whole[i], whole[i], whole[i], values[i], values[i], values[i], f, f, f});
    Expected &e = at->second;
    if (is_new) continue;
    e.sum += whole[i], e.signed_sum += values[i], e.sum_f += f;
    e.least_u = std::min(e.least_u, whole[i]), e.most_u = std::max(e.most_u, whole[i]);
    e.least = std::min(e.least, values[i]), e.most = std::max(e.most, values[i]);
    e.least_f = std::min(e.least_f, f), e.most_f = std::max(e.most_f, f);
  }
  const bool is_wide = value_bits == 64;
  const uint32_t u = is_wide ? TSR_VALUES_U64 : TSR_VALUES_U32, i = is_wide ? TSR_VALUES_I64 : TSR_VALUES_I32,
                 f = is_wide ? TSR_VALUES_F64 : TSR_VALUES_F32;
  device::Array array(t, bits, keys), of_whole(t, value_bits, whole), of_floating(t, value_bits, floating),
      unique(t, bits, n + 1);
  const struct {
    uint32_t type, how;
  } wanted[] = {{u, TSR_COMBINE_SUM}, {u, TSR_COMBINE_MIN}, {u, TSR_COMBINE_MAX},
                {i, TSR_COMBINE_MIN}, {i, TSR_COMBINE_MAX}, {i, TSR_COMBINE_SUM},
                {f, TSR_COMBINE_MAX}, {f, TSR_COMBINE_MIN}, {f, TSR_COMBINE_SUM}};
  std::vector<std::unique_ptr<device::Array>> made;
  std::vector<std::vector<uint64_t>> made_on_host;
  std::vector<tsr_unique_column> columns;
  for (const auto &[type, how] : wanted) {
    const uint32_t made_bits = how == TSR_COMBINE_SUM ? 64 : value_bits;
    made.push_back(std::make_unique<device::Array>(t, made_bits, n + 1));
    made_on_host.emplace_back(n + 1);
    columns.push_back({type == f ? of_floating.data() : of_whole.data(),
                       host ? static_cast<void *>(made_on_host.back().data()) : made.back()->data(), type, how});
  }
  tsr_error error = {};
  tsr_unique_arrays arrays = {};
  arrays.keys = unique.data();
  arrays.room = n;
  arrays.columns = columns.data();
  arrays.column_count = static_cast<uint32_t>(columns.size());
  uint64_t count = 99;
  ASSERT_EQ(tsr_unique(t, n, array.data(), &arrays, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, expected.size());
  const std::vector<uint64_t> written = unique.numbers();
  for (size_t c = 0; c < columns.size(); c++) {
    SCOPED_TRACE("column " + std::to_string(c));
    const uint32_t made_bits = columns[c].how == TSR_COMBINE_SUM ? 64 : value_bits;
    std::vector<uint64_t> got = made[c]->numbers();
    for (uint64_t k = 0; host && k < count; k++)
      got[k] = made_bits == 64 ? made_on_host[c][k] : reinterpret_cast<const uint32_t *>(made_on_host[c].data())[k];
    for (uint64_t k = 0; k < count; k++) {
      const Expected &e = expected[written[k]];
      const uint64_t mask = tessera_test::width_mask(made_bits);
      const uint64_t answers[] = {e.sum,
                                  e.least_u,
                                  e.most_u,
                                  static_cast<uint64_t>(e.least) & mask,
                                  static_cast<uint64_t>(e.most) & mask,
                                  static_cast<uint64_t>(e.signed_sum),
                                  bits_of(e.most_f, made_bits),
                                  bits_of(e.least_f, made_bits),
                                  bits_of(e.sum_f, made_bits)};
      ASSERT_EQ(got[k], answers[c]) << "key " << written[k];
    }
  }
}

TEST(Groups, CombineTheValuesOfAnyBatch) {
  for (uint32_t bits : {32u, 64u}) {
    const uint64_t most = device::backend() == "cpu" ? 10000 : 1100000;
    device::Table table = an_index(bits, most);
    ASSERT_TRUE(table);
    tessera_test::Random random(bits + 1);
    for (uint64_t n : {0u, 1u, 2u, 5000u, 100000u, 300000u, 1100000u})
      for (uint64_t distinct : {uint64_t{1}, n / 300 + 1, n / 3 + 1, n * 4 + 1})
        for (bool zipf : {false, true}) {
          if (n > most) continue;
          SCOPED_TRACE(std::to_string(bits) + " bits, n " + std::to_string(n) + ", of " + std::to_string(distinct) +
                       (zipf ? ", Zipf" : ""));
          std::vector<uint64_t> keys = keys_of(bits, n, distinct, zipf, &random);
          if (n > 40) keys[7] = keys[39] = bits == 32 ? 0xFFFFFFFFu : ~uint64_t{0};
          ASSERT_NO_FATAL_FAILURE(expect_combined(table.get(), bits, 32, keys, n < 6000 && zipf, &random));
          ASSERT_NO_FATAL_FAILURE(expect_combined(table.get(), bits, 64, keys, n < 6000 && !zipf, &random));
        }
  }
}

// Three passes.
TEST(Groups, TellDistinctKeysOfALargeBatch) {
  const uint64_t n = scaled((1u << 27) + 12345), distinct = n / 2;
  tsr_error error = {};
  device::Table table = an_index(64, n);
  ASSERT_TRUE(table);
  tsr_table *t = table.get();
  std::vector<uint64_t> keys(n);
  for (uint64_t i = 0; i < n; i++) keys[i] = i % distinct * 0x9E3779B97F4A7C15ull;
  device::Array array(t, 64, keys), unique(t, 64, n), inverse(t, 32, n), counts(t, 64, n);
  tsr_unique_arrays arrays = {};
  arrays.keys = unique.data();
  arrays.inverse = static_cast<uint32_t *>(inverse.data());
  arrays.counts = static_cast<uint64_t *>(counts.data());
  arrays.room = n;
  uint64_t count = 0;
  ASSERT_EQ(tsr_unique(t, n, array.data(), &arrays, &count, &error), TSR_OK) << error.message;
  ASSERT_EQ(count, distinct);
  const std::vector<uint64_t> written = unique.numbers(), places = inverse.numbers(), often = counts.numbers();
  std::vector<uint64_t> expected(count);
  for (uint64_t i = 0; i < n; i++) {
    ASSERT_EQ(written[places[i]], keys[i]) << i;
    expected[places[i]]++;
  }
  for (uint64_t i = 0; i < count; i++) ASSERT_EQ(often[i], expected[i]) << i;
}

// Which keys go depends on the numbers of all, and on nothing else: so a device gives up exactly what the model does.
TEST_P(Index, GivesUpWhatTheModelSays) {
  if (!reuses()) return;
  const uint64_t capacity = scaled(40000);
  tessera_test::Random random(7);
  for (const char *policy : {"lru", "lfu"}) {
    SCOPED_TRACE(policy);
    tsr_error error = {};
    device::Table table = make(GetParam(), capacity, std::string("eviction = ") + policy + "\nload_factor = 0.7\n");
    ASSERT_TRUE(table);
    tsr_table *t = table.get();
    tessera_test::EvictionModel model(capacity, std::string(policy) == "lfu");
    uint64_t all = 0;
    for (int round = 0; round < 8; round++) {
      SCOPED_TRACE(round);
      const std::vector<uint64_t> keys = some_keys(GetParam(), capacity, capacity, round * capacity / 3, &random);
      const std::map<uint32_t, uint64_t> gone = model.evict_for(keys);
      const std::vector<uint64_t> numbers = number(t, keys);
      tsr_report report = {};
      ASSERT_EQ(tsr_table_report(t, &report, &error), TSR_OK) << error.message;
      ASSERT_EQ(std::count(numbers.begin(), numbers.end(), none), 0)
          << "keys without a number; " << report.not_placed << " found no place, cleanings: " << report.cleanings;
      ASSERT_EQ(model.number(keys, std::vector<uint32_t>(numbers.begin(), numbers.end())), "");
      device::Array gone_keys(t, GetParam().key_bits, capacity), gone_numbers(t, 32, capacity);
      uint64_t count = 0;
      ASSERT_EQ(
          tsr_evicted(t, capacity, gone_keys.data(), static_cast<uint32_t *>(gone_numbers.data()), &count, &error),
          TSR_OK)
          << error.message;
      ASSERT_EQ(count, gone.size());
      const std::vector<uint64_t> their_keys = gone_keys.numbers(), theirs = gone_numbers.numbers();
      uint64_t i = 0;
      for (const auto &[number, key] : gone) {
        ASSERT_EQ(theirs[i], number);
        ASSERT_EQ(their_keys[i++], key);
      }
      all += count;
      std::vector<uint64_t> used(keys.begin(), keys.begin() + capacity / 3);
      device::Array some(t, GetParam().key_bits, used), places(t, 32, used.size());
      tsr_call call = {};
      call.missing = none;
      ASSERT_EQ(tsr_find(t, used.size(), some.data(), places.data(), &call, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_touch(t, used.size(), static_cast<uint32_t *>(places.data()), nullptr, &error), TSR_OK)
          << error.message;
      model.touch(used);
      uint64_t size = 0;
      ASSERT_EQ(tsr_size(t, &size, &error), TSR_OK) << error.message;
      ASSERT_EQ(size, model.size());
    }
    EXPECT_GT(all, capacity / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Index, testing::ValuesIn(cases));

} // namespace
