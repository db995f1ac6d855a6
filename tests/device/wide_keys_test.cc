// SPDX-License-Identifier: Apache-2.0
//
// Keys of 128 bits on a device: tables of several shapes against the oracle, large batches in the device's memory, caches,
// kernels of a user's own, and k-mers that a kernel makes. Read next: ../table/wide_keys_test.cc (all shapes, on the CPU).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "core/tessera_kernels.h"
#include "tests/device/device.h"
#include "tests/oracle/exercise.h"

extern "C" {
#include "tools/cli/kmer_counter.h"
#include "tools/cli/kmer_kernel.h"
#include "tools/cli/sequence.h"
}

namespace {

using Wide = unsigned __int128;
namespace oracle = tessera_test;

struct Spec {
  const char *name, *entries;
  uint32_t value_bits, policy;
};

void PrintTo(const Spec &spec, std::ostream *out) { *out << spec.name; }

const Spec kSpecs[] = {
    {"packed_cuckoo", "kind=set\nlayout=packed\nprobing=cuckoo\n[layout]\nbucket_slots=4\ntile_lanes=1\n", 0,
     TSR_DUPLICATES_FIRST},
    {"packed_tiles", "kind=set\nlayout=packed\nprobing=double_hashing\n[layout]\nbucket_slots=8\ntile_lanes=4\n", 0,
     TSR_DUPLICATES_FIRST},
    {"tagged_linear", "kind=set\nlayout=tagged\nprobing=linear\n", 0, TSR_DUPLICATES_FIRST},
    {"slab", "kind=set\nlayout=slab\nprobing=slab_list\nallocator=slab\n", 0, TSR_DUPLICATES_FIRST},
    {"soa_add", "kind=map\nvalue_bits=64\nduplicates=add\nlayout=soa\nprobing=double_hashing\n", 64,
     TSR_DUPLICATES_ADD},
    {"soa_multimap", "kind=multimap\nvalue_bits=32\nlayout=soa\nprobing=double_hashing\n", 32, TSR_DUPLICATES_KEEP},
};

device::Table table_of(const std::string &entries, uint64_t capacity, uint32_t calls = device::ANY_CALL,
                       uint32_t key_bits = 128) {
  const std::string text = "[table]\nkey_bits=" + std::to_string(key_bits) +
                           "\nhasher=murmur3\nbackend=" + device::backend() + "\n" + entries;
  tsr_spec *spec = nullptr;
  tsr_error error = {};
  tsr_options options = {};
  if (key_bits > 64 && device::sm() && device::sm() < 90) return nullptr; // it has no compare-and-swap of 16 bytes
  options.plugins = choices::plugin_folders().c_str();
  options.capacity = capacity;
  EXPECT_EQ(tsr_spec_parse(text.c_str(), "wide", &spec, &error), TSR_OK) << error.message;
  device::Table table = device::create(spec, options, false, calls);
  tsr_spec_free(spec);
  return table;
}

// In the device's memory, `offset` bytes from where it begins: such keys are copied if that is no multiple of 16.
class DeviceKeys {
public:
  DeviceKeys(tsr_table *table, const std::vector<Wide> &keys, uint64_t offset = 0) : table_(table), offset_(offset) {
    tsr_error error = {};
    EXPECT_EQ(tsr_memory_allocate(table, keys.size() * 16 + 16, &memory_, &error), TSR_OK) << error.message;
    EXPECT_EQ(tsr_memory_copy(table, data(), keys.data(), keys.size() * 16, &error), TSR_OK) << error.message;
  }
  ~DeviceKeys() { tsr_memory_free(table_, memory_); }
  DeviceKeys(const DeviceKeys &) = delete;
  void *data() { return static_cast<char *>(memory_) + offset_; }

private:
  tsr_table *table_;
  uint64_t offset_;
  void *memory_ = nullptr;
};

// Most of them differ from another one in one half alone; the last three are around the markers.
std::vector<Wide> some_keys(uint64_t count, uint64_t distinct) {
  std::vector<Wide> keys;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t which = i * 48271 % distinct;
    keys.push_back(which % 2 ? static_cast<Wide>(which) << 64 | 5 : static_cast<Wide>(7) << 64 | which);
  }
  for (uint64_t i = 0; i < 3; i++) keys[i] = ~static_cast<Wide>(i);
  return keys;
}

// ---- The oracle ---------------------------------------------------------------------------------

class Wides : public testing::TestWithParam<Spec> {};

TEST_P(Wides, AgreeWithTheOracle) {
  for (uint64_t round = 0; round < 4; round++) {
    device::Table table = table_of(GetParam().entries, 250);
    if (!table) return;
    tsr_table_info info = {};
    tsr_table_describe(table.get(), &info);
    oracle::Table subject(table.release(), 128, GetParam().value_bits);
    oracle::Random random(round);
    oracle::Exercise::Options options;
    options.slots = info.slots;
    EXPECT_EQ(oracle::Exercise(subject, GetParam().policy, random, options).run(), "") << round;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Wides, testing::ValuesIn(kSpecs),
                         [](const auto &info) { return std::string(info.param.name); });

// ---- Large batches ------------------------------------------------------------------------------

TEST(LargeBatches, AreCounted) {
  const uint64_t n = device::backend() == "cpu" ? 1 << 16 : 1 << 20, distinct = n / 3;
  for (uint64_t offset : {0, 8}) {
    device::Table table =
        table_of("kind=counter\nvalue_bits=64\ngrowth=double\nlayout=soa\nprobing=double_hashing\n", 1000);
    if (!table) return;
    const std::vector<Wide> keys = some_keys(n, distinct);
    std::map<Wide, uint64_t> expected;
    for (Wide key : keys) expected[key]++;
    tsr_error error = {};
    {
      DeviceKeys there(table.get(), keys, offset);
      ASSERT_EQ(tsr_insert(table.get(), n, there.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
      ASSERT_EQ(tsr_insert(table.get(), n, there.data(), nullptr, nullptr, &error), TSR_OK) << error.message;
    }
    std::vector<uint64_t> counts(n);
    ASSERT_EQ(tsr_find(table.get(), n, keys.data(), counts.data(), nullptr, &error), TSR_OK) << error.message;
    for (uint64_t i = 0; i < n; i++) ASSERT_EQ(counts[i], 2 * expected[keys[i]]) << i;
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(table.get(), &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, expected.size());
  }
}

void expect_there_or_handed_back(const std::string &parts) {
  SCOPED_TRACE(parts);
  const uint64_t n = 100000;
  device::Table table =
      table_of("kind=cache\neviction=lru\nlayout=packed\n" + parts, 20000, TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS);
  if (!table) return;
  const std::vector<Wide> keys = some_keys(n, 60000);
  std::vector<Wide> gone(n);
  std::vector<uint8_t> results(n);
  std::map<Wide, int64_t> balance;
  tsr_call call = {};
  call.results = results.data();
  call.unplaced_keys = gone.data();
  tsr_error error = {};
  uint64_t evicted = 0;
  for (int batch = 0; batch < 3; batch++) {
    ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), nullptr, &call, &error), TSR_OK) << error.message;
    for (uint64_t i = 0; i < n; i++) {
      balance[keys[i]] += results[i] == TSR_INSERTED || results[i] == TSR_EVICTED;
      if (results[i] == TSR_EVICTED) balance[gone[i]]--;
      evicted += results[i] == TSR_EVICTED;
    }
  }
  std::vector<Wide> asked;
  for (const auto &[key, count] : balance) asked.push_back(key);
  std::vector<uint8_t> present(asked.size());
  ASSERT_EQ(tsr_contains(table.get(), asked.size(), asked.data(), present.data(), nullptr, &error), TSR_OK)
      << error.message;
  for (size_t i = 0; i < asked.size(); i++) ASSERT_EQ(balance[asked[i]], present[i]) << i;
  EXPECT_GT(evicted, n / 2);
}

TEST(LargeBatches, OfACacheAreThereOrWereHandedBack) {
  expect_there_or_handed_back("probing=cuckoo\n[layout]\nbucket_slots=8\ntile_lanes=1\n");
  // a key with one bucket, which is written by what the first look saw
  expect_there_or_handed_back(
      "probing=double_hashing\n[probing]\nmax_probes=1\n[layout]\nbucket_slots=8\ntile_lanes=2\n");
}

// With values: each is made of its key and its batch, so that a pair that comes back shows whether it was whole. Keys that come
// often are updated while others take their place.
TEST(LargeBatches, OfACacheWithValuesAreThereOrWereHandedBack) {
  const uint64_t n = 100000;
  for (const char *tiles : {"1", "8"}) {
    SCOPED_TRACE(tiles);
    device::Table table =
        table_of(std::string("kind=cache\neviction=lru\nvalue_bits=64\nduplicates=replace\nlayout=soa\n"
                             "probing=double_hashing\n[probing]\nmax_probes=2\n[layout]\nbucket_slots=8\n"
                             "tile_lanes=") +
                     tiles + "\n",
                 20000, TSR_PREPARE_INSERT | TSR_PREPARE_FIND);
    if (!table) return;
    std::vector<Wide> keys = some_keys(n, 60000), gone(n);
    for (uint64_t i = 0; i < n; i += 4) keys[i] = keys[i % 400]; // a hundred of them often
    const auto value_of = [](Wide key, uint64_t batch) {
      return (static_cast<uint64_t>(key >> 64) ^ static_cast<uint64_t>(key) * 7) * 4 + batch;
    };
    std::vector<uint8_t> results(n);
    std::vector<uint64_t> values(n), gone_values(n);
    std::map<Wide, int64_t> balance;
    tsr_call call = {};
    call.results = results.data();
    call.unplaced_keys = gone.data();
    call.unplaced_values = gone_values.data();
    tsr_error error = {};
    uint64_t evicted = 0;
    for (uint64_t batch = 1; batch <= 3; batch++) {
      for (uint64_t i = 0; i < n; i++) values[i] = value_of(keys[i], batch);
      ASSERT_EQ(tsr_insert(table.get(), n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
      for (uint64_t i = 0; i < n; i++) {
        balance[keys[i]] += results[i] == TSR_INSERTED || results[i] == TSR_EVICTED;
        if (results[i] != TSR_EVICTED) continue;
        evicted++;
        balance[gone[i]]--;
        const uint64_t of = gone_values[i] - value_of(gone[i], 0);
        ASSERT_TRUE(of >= 1 && of <= batch) << i << ": " << of;
      }
    }
    std::vector<Wide> asked;
    for (const auto &[key, count] : balance) asked.push_back(key);
    std::vector<uint64_t> found(asked.size());
    std::vector<uint8_t> codes(asked.size());
    call = {};
    call.results = codes.data();
    call.missing = 0;
    ASSERT_EQ(tsr_find(table.get(), asked.size(), asked.data(), found.data(), &call, &error), TSR_OK) << error.message;
    for (size_t i = 0; i < asked.size(); i++) {
      ASSERT_EQ(balance[asked[i]], codes[i] == TSR_FOUND) << i;
      if (codes[i] == TSR_FOUND) {
        ASSERT_LE(found[i] - value_of(asked[i], 1), 2u) << i;
      }
    }
    EXPECT_GT(evicted, n / 2);
  }
}

// ---- Joins --------------------------------------------------------------------------------------

// The right table has half of the left keys, each of them once or three times.
TEST(Joins, GiveTheRowsOfEachKey) {
  const uint64_t n = 20000, times[] = {1, 3};
  for (uint64_t copies : times) {
    SCOPED_TRACE(copies);
    device::Table left =
        table_of("kind=map\nvalue_bits=64\nlayout=soa\nprobing=double_hashing\n", n, device::INSERT_AND_EXPORT);
    device::Table right = table_of(std::string("kind=") + (copies > 1 ? "multimap" : "map") +
                                       "\nvalue_bits=32\nlayout=soa\nprobing=double_hashing\n",
                                   n * copies, device::INSERT_AND_EXPORT);
    if (!left || !right) return;
    const std::vector<Wide> keys = some_keys(n, n);
    std::map<Wide, uint64_t> number;
    std::vector<uint64_t> values(n);
    for (uint64_t i = 0; i < n; i++) number[keys[i]] = values[i] = i;
    std::vector<Wide> others;
    std::vector<uint32_t> offered;
    for (uint64_t i = 0; i < n; i += 2)
      for (uint64_t copy = 0; copy < copies; copy++) {
        others.push_back(keys[i]);
        offered.push_back(static_cast<uint32_t>(i * 4 + copy));
      }
    tsr_error error = {};
    ASSERT_EQ(tsr_insert(left.get(), n, keys.data(), values.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_insert(right.get(), others.size(), others.data(), offered.data(), nullptr, &error), TSR_OK)
        << error.message;
    std::vector<Wide> row_keys(others.size() + 1);
    std::vector<uint64_t> lefts(others.size() + 1);
    std::vector<uint32_t> rights(others.size() + 1);
    tsr_join_rows rows = {};
    rows.room = others.size();
    rows.keys = row_keys.data();
    rows.left_values = lefts.data();
    rows.right_values = rights.data();
    uint64_t count = 0;
    ASSERT_EQ(tsr_join(left.get(), right.get(), TSR_JOIN_INNER, &rows, &count, &error), TSR_OK) << error.message;
    ASSERT_EQ(count, others.size());
    std::vector<uint32_t> seen;
    for (uint64_t i = 0; i < count; i++) {
      ASSERT_EQ(number[row_keys[i]], lefts[i]) << i;
      ASSERT_EQ(rights[i] / 4, lefts[i]) << i;
      seen.push_back(rights[i]);
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, offered);
  }
}

// ---- Kernels ------------------------------------------------------------------------------------

const char kKernels[] = R"(#include "tessera.cuh"
TSR_TABLE_128(into, inserts)
TSR_TABLE_128(from, finds)
TSR_TABLE_128(out_of, erases)
TSR_TABLE_128(over, scans)
TSR_KERNEL(put, (tsr_table_ref into, const tsr_key128 *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  tsr_insert(into, mine, mine ? keys[i] : 0, 1);
}
TSR_KERNEL(get, (tsr_table_ref from, const tsr_key128 *keys, uint64_t *sums)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t value = 0, sum = 0;
  uint32_t is_there;
  tsr_for_each_value(from, mine, mine ? keys[i] : 0, value, is_there) {
    if (is_there) sum += value;
  }
  if (tsr_find(from, mine, mine ? keys[i] : 0, &value)) sum += value << 32;
  if (mine) sums[i] = sum;
}
TSR_KERNEL(take, (tsr_table_ref out_of, const tsr_key128 *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  tsr_erase(out_of, mine, mine ? keys[i] : 0);
}
TSR_KERNEL(add_up, (tsr_table_ref over, uint64_t *sums)) {
  tsr_key128 key = 0;
  uint64_t value = 0;
  uint32_t is_there;
  tsr_for_each_pair(over, key, value, is_there) {
    if (!is_there) continue;
    tsr_add(&sums[0], tsr_lower(key));
    tsr_add(&sums[1], tsr_upper(key));
    tsr_add(&sums[2], value);
  }
}
)";

void launch(tsr_table *table, const char *name, const char *parameter, uint64_t n,
            const std::vector<const void *> &arguments) {
  tsr_kernel_source source = {};
  source.text = kKernels;
  tsr_kernel *kernel = nullptr;
  tsr_error error = {};
  ASSERT_EQ(tsr_kernel_create(&source, name, &table, &parameter, 1, &kernel, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_kernel_launch(kernel, n, arguments.data(), arguments.size(), nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_table_wait(table, &error), TSR_OK) << error.message;
  tsr_kernel_destroy(kernel);
}

TEST(Kernels, OfWideKeysDoWhatTheOracleDoes) {
  for (const char *shape : {"[layout]\nbucket_slots=4\ntile_lanes=1\n", "[layout]\nbucket_slots=8\ntile_lanes=4\n"}) {
    const uint64_t n = 50000;
    device::Table table =
        table_of(std::string("kind=counter\nvalue_bits=32\nlayout=soa\nprobing=double_hashing\n") + shape, n,
                 device::INSERT_AND_EXPORT);
    if (!table) return;
    const std::vector<Wide> keys = some_keys(n, n / 2);
    std::map<Wide, uint64_t> expected;
    for (Wide key : keys) expected[key]++;
    DeviceKeys there(table.get(), keys), half(table.get(), {keys.begin(), keys.begin() + n / 4});
    device::Array sums(table.get(), 64, std::vector<uint64_t>(n)), totals(table.get(), 64, std::vector<uint64_t>(3));
    void *at = there.data(), *some = half.data(), *to = sums.data(), *all = totals.data();
    ASSERT_NO_FATAL_FAILURE(launch(table.get(), "put", "into", n, {&at}));
    ASSERT_NO_FATAL_FAILURE(launch(table.get(), "add_up", "over", 1, {&all}));
    uint64_t lower = 0, upper = 0;
    for (const auto &[key, count] : expected) {
      lower += static_cast<uint64_t>(key);
      upper += static_cast<uint64_t>(key >> 64);
    }
    EXPECT_EQ(totals.numbers(), (std::vector<uint64_t>{lower, upper, n}));
    ASSERT_NO_FATAL_FAILURE(launch(table.get(), "take", "out_of", n / 4, {&some}));
    for (uint64_t i = 0; i < n / 4; i++) expected.erase(keys[i]);
    ASSERT_NO_FATAL_FAILURE(launch(table.get(), "get", "from", n, {&at, &to}));
    const std::vector<uint64_t> found = sums.numbers();
    for (uint64_t i = 0; i < n; i++) {
      const auto held = expected.find(keys[i]);
      const uint64_t count = held == expected.end() ? 0 : held->second;
      ASSERT_EQ(found[i], count << 32 | count) << i;
    }
  }
}

// ---- k-mers -------------------------------------------------------------------------------------

TEST(Kmers, OfAKernelAreThoseOfTheCounter) {
  oracle::Random random(3);
  std::vector<uint8_t> letters;
  while (letters.size() < 300000) {
    if (letters.size() > 1000 && random.chance(3)) { // what was there before
      const size_t from = random.below(letters.size() - 1000);
      const std::vector<uint8_t> again(letters.begin() + static_cast<long>(from),
                                       letters.begin() + static_cast<long>(from) + 1000);
      letters.insert(letters.end(), again.begin(), again.end());
    }
    for (size_t i = random.below(500); i; i--) letters.push_back(static_cast<uint8_t>(random.below(4)));
    if (random.chance(2)) letters.push_back(TSR_LETTER_BREAK);
  }
  letters.resize(letters.size() + 2 * TSR_TALLY_SMALL); // one k-mer that occurs often
  const uint64_t count = letters.size();
  letters.resize(count + 8);
  for (uint32_t kmers : {15u, 31u, 47u, 63u}) {
    SCOPED_TRACE(kmers);
    const uint32_t bits = kmers <= 16 ? 32 : kmers <= 32 ? 64 : 128;
    tsr_error error = {};
    tsr_kmer_counter *counter = nullptr;
    tsr_pairs pairs = {};
    ASSERT_EQ(tsr_kmer_counter_new(kmers, true, UINT64_MAX, &counter, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_kmer_counter_add(counter, letters.data(), count, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_kmer_counter_take(counter, bits, &pairs, &error), TSR_OK) << error.message;
    tsr_kmer_counter_free(counter);
    device::Table table = table_of("kind=counter\nvalue_bits=64\ngrowth=double\nlayout=soa\nprobing=double_hashing\n",
                                   1000, device::INSERT_AND_EXPORT, bits);
    if (!table) return;
    tsr_kmer_kernel *kernel = nullptr;
    const char *why = "";
    ASSERT_EQ(tsr_kmer_kernel_new(table.get(), kmers, true, count, &kernel, &error), TSR_OK) << error.message;
    EXPECT_TRUE(tsr_kmer_kernel_is_on_device(kernel, &why)) << why;
    ASSERT_EQ(tsr_kmer_kernel_add(kernel, letters.data(), count, &error), TSR_OK) << error.message;
    tsr_tally tally;
    ASSERT_EQ(tsr_kmer_kernel_tally(kernel, count, &tally, &error), TSR_OK) << error.message;
    tsr_kmer_kernel_free(kernel);
    std::map<uint64_t, uint64_t> numbers, expected;
    for (uint64_t i = 0; i < pairs.count; i++) expected[tsr_number_at(pairs.values, 64, i)]++;
    for (uint64_t value = 0; value < TSR_TALLY_SMALL; value++)
      if (tally.small[value]) numbers[value] = tally.small[value];
    for (uint64_t i = 0; i < tally.large_count; i++) numbers[tally.large[i]]++;
    EXPECT_EQ(numbers, expected);
    EXPECT_EQ(tally.large_count, 1u);
    tsr_tally_end(&tally);
    std::vector<uint64_t> counts(pairs.count);
    uint64_t size = 0;
    ASSERT_EQ(tsr_find(table.get(), pairs.count, pairs.keys, counts.data(), nullptr, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_size(table.get(), &size, &error), TSR_OK) << error.message;
    EXPECT_EQ(size, pairs.count);
    for (uint64_t i = 0; i < pairs.count; i++) ASSERT_EQ(counts[i], tsr_number_at(pairs.values, 64, i)) << i;
    std::free(pairs.keys);
    std::free(pairs.values);
  }
}

} // namespace
