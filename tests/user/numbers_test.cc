// SPDX-License-Identifier: Apache-2.0
//
// Kernels of a user's that number keys (kind = index), on the backend under test (../device/device.h): numbers are dense and one for each key, agree
// with bulk calls, come back when keys are erased, and are refused with a sentence where a table cannot give them. The
// oracle is a map of the host's.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/tessera_kernels.h"
#include "core/tessera_tools.h"
#include "tests/device/device.h"

namespace {

const char kText[] = R"(#include "tessera.cuh"
TSR_TABLE(ids, inserts)
TSR_TABLE(gone, erases)
TSR_TABLE(known, finds)

/* Both ends of an edge, one after the other. */
TSR_KERNEL(number, (tsr_table_ref ids, const uint64_t *from, const uint64_t *to, uint64_t *numbers, uint8_t *results)) {
  const uint64_t i = tsr_item(), n = tsr_items();
  const uint32_t mine = i < n;
  uint64_t first = 77, second = 77;
  const uint32_t a = tsr_number(ids, mine, mine ? from[i] : 0, &first);
  const uint32_t b = tsr_number(ids, mine, mine ? to[i] : 0, &second);
  if (!mine) return;
  numbers[i] = first;
  numbers[n + i] = second;
  results[i] = (uint8_t)a;
  results[n + i] = (uint8_t)b;
}

TSR_KERNEL(erase, (tsr_table_ref gone, const uint64_t *keys, uint64_t *counts)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint64_t count = tsr_erase(gone, mine, mine ? keys[i] : 0);
  if (mine) counts[i] = count;
}

TSR_KERNEL(look, (tsr_table_ref known, const uint64_t *keys, uint64_t *numbers)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t number = 99999999;
  (void)tsr_find(known, mine, mine ? keys[i] : 0, &number);
  if (mine) numbers[i] = number;
}

TSR_KERNEL(insert, (tsr_table_ref ids, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  tsr_insert(ids, mine, mine ? keys[i] : 0, 1);
}
)";

struct Shape {
  const char *name, *entries;
  uint32_t key_bits;
};

const Shape kShapes[] = {
    {"packed_double_hashing", "layout=packed\nprobing=double_hashing\n", 32},
    {"packed_quadratic_64", "layout=packed\nprobing=quadratic\npage_bytes=auto\n", 64},
    {"packed_linear_tiles", "layout=packed\nprobing=linear\n[layout]\nbucket_slots=8\ntile_lanes=4\n", 32},
    {"packed_iceberg", "layout=packed\nprobing=iceberg\n", 32},
    {"packed_two_choice_64", "layout=packed\nprobing=two_choice\n", 64},
    {"slab", "layout=slab\nprobing=slab_list\nallocator=slab_light\n", 32},
    {"filtered", "layout=packed\nprobing=double_hashing\nfilter=8\n", 32},
    {"numbers_once", "layout=packed\nprobing=double_hashing\nreuse=no\n", 32},
};

// With TSR_TEST_LINK_SM none is made, but linked (../device/device.cc), and so are its kernels.
struct Table {
  Table(const std::string &entries, uint32_t key_bits, uint64_t capacity) {
    const std::string text = "[table]\nkind=index\nkey_bits=" + std::to_string(key_bits) +
                             "\nhasher=murmur3\nbackend=" + device::backend() + "\n" + entries;
    tsr_error error = {};
    options.plugins = choices::plugin_folders().c_str();
    options.capacity = capacity;
    EXPECT_EQ(tsr_spec_parse(text.c_str(), "numbers", &spec, &error), TSR_OK) << error.message;
    made = device::create(spec, options, false,
                          TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_ERASE | TSR_PREPARE_EXPORT);
    table = made.get();
  }
  Table(const Shape &shape, uint64_t capacity) : Table(shape.entries, shape.key_bits, capacity) {}
  Table(const Table &) = delete;
  Table &operator=(const Table &) = delete;
  ~Table() { tsr_spec_free(spec); }
  tsr_spec *spec = nullptr;
  tsr_options options = {};
  device::Table made;
  tsr_table *table = nullptr;
};

tsr_status make_kernel(const char *name, const char *table_name, const Table &table, tsr_kernel **kernel,
                       tsr_error *error) {
  unsetenv("TESSERA_CC"); // with which the other tests forbid compilers
  tsr_kernel_source source = {};
  source.text = kText;
  source.file = "numbers.cu";
  if (table.table) return tsr_kernel_create(&source, name, &table.table, &table_name, 1, kernel, error);
  const tsr_spec *const spec = table.spec;
  tsr_kernel_target target = {};
  target.sm = device::sm();
  target.options = &table.options;
  target.use_cache = true;
  tsr_link link = {};
  const tsr_status status = tsr_kernel_link(&source, name, &spec, &table_name, 1, &target, &link, error);
  tsr_link_free(&link);
  return status;
}

class Kernel {
public:
  Kernel(const char *name, const char *table_name, const Table &table) {
    tsr_error error = {};
    EXPECT_EQ(make_kernel(name, table_name, table, &kernel_, &error), TSR_OK) << error.message;
  }
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  ~Kernel() { tsr_kernel_destroy(kernel_); }
  void launch(uint64_t n, const std::vector<const void *> &arguments) const {
    tsr_error error = {};
    ASSERT_EQ(tsr_kernel_launch(kernel_, n, arguments.data(), arguments.size(), nullptr, &error), TSR_OK)
        << error.message;
  }

private:
  tsr_kernel *kernel_ = nullptr;
};

// What an index holds: keys and their numbers.
class Oracle {
public:
  // A key has the number that it had, or a new one that no other key has.
  void number(uint64_t key, uint64_t number) {
    const auto [at, is_new] = numbers_.emplace(key, number);
    ASSERT_EQ(at->second, number) << "key " << key;
    ASSERT_TRUE(!is_new || taken_.insert(number).second) << "number " << number << " was given twice";
  }
  void erase(uint64_t key) {
    taken_.erase(numbers_.at(key));
    numbers_.erase(key);
  }
  const std::map<uint64_t, uint64_t> &numbers() const { return numbers_; }
  uint64_t largest() const { return *taken_.rbegin(); }

private:
  std::map<uint64_t, uint64_t> numbers_;
  std::set<uint64_t> taken_;
};

uint64_t narrowed(uint64_t number, uint32_t bits) { return bits < 64 ? number & ((uint64_t{1} << bits) - 1) : number; }

// On a GPU there are enough for thousands of warps at once.
size_t edges() { return device::backend() == "cpu" ? 6000 : 1 << 18; }

// Edges with few distinct ends, many of them in the same warp; the keys whose bits mark slots are among them.
std::vector<uint64_t> make_ends(uint32_t key_bits, size_t distinct, size_t from) {
  std::vector<uint64_t> ends(2 * edges());
  for (size_t i = 0; i < ends.size(); i++)
    ends[i] = narrowed((from + (i * 2654435761u >> 7) % distinct) * 0x9E3779B97F4A7C15u, key_bits);
  for (size_t i = 0; i < 3; i++) ends[100 + i] = ends[edges() / 2 + i] = narrowed(~uint64_t{i}, key_bits);
  return ends;
}

struct Answers {
  std::vector<uint64_t> numbers, results;
};

Answers number_edges(const Kernel &number, tsr_table *table, const std::vector<uint64_t> &ends) {
  const size_t n = ends.size() / 2;
  device::Array from(table, 64, {ends.begin(), ends.begin() + (long)n}),
      to(table, 64, {ends.begin() + (long)n, ends.end()});
  device::Array numbers(table, 64, 2 * n), results(table, 8, 2 * n);
  const void *arrays[] = {from.data(), to.data(), numbers.data(), results.data()};
  number.launch(n, {&arrays[0], &arrays[1], &arrays[2], &arrays[3]});
  return {numbers.numbers(), results.numbers()};
}

void check_run(const Answers &run, const std::vector<uint64_t> &ends, Oracle *oracle) {
  std::map<uint64_t, size_t> inserted;
  const std::map<uint64_t, uint64_t> before = oracle->numbers();
  for (size_t i = 0; i < ends.size(); i++) {
    ASSERT_TRUE(run.results[i] == TSR_INSERTED || run.results[i] == TSR_FOUND) << i << ": " << run.results[i];
    inserted[ends[i]] += run.results[i] == TSR_INSERTED;
    oracle->number(ends[i], run.numbers[i]);
    if (testing::Test::HasFatalFailure()) return;
  }
  for (const auto &[key, times] : inserted) ASSERT_EQ(times, before.count(key) ? 0u : 1u) << key;
}

// What bulk calls and another kernel say of the same table.
void check_table(tsr_table *table, const Kernel &look, uint32_t key_bits, const Oracle &oracle) {
  tsr_error error = {};
  uint64_t size = 0, given = 0;
  ASSERT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  ASSERT_EQ(size, oracle.numbers().size());
  ASSERT_EQ(tsr_numbers_given(table, &given, &error), TSR_OK) << error.message;
  ASSERT_LT(oracle.largest(), given);
  std::vector<uint64_t> keys, by_number(given);
  std::vector<uint32_t> narrow, found(size);
  for (const auto &[key, number] : oracle.numbers()) {
    keys.push_back(key);
    narrow.push_back((uint32_t)key);
  }
  const void *const asked = key_bits == 64 ? (const void *)keys.data() : (const void *)narrow.data();
  ASSERT_EQ(tsr_find(table, size, asked, found.data(), nullptr, &error), TSR_OK) << error.message;
  device::Array key_array(table, 64, keys), number_array(table, 64, keys.size());
  const void *arrays[] = {key_array.data(), number_array.data()};
  look.launch(size, {&arrays[0], &arrays[1]});
  const std::vector<uint64_t> looked = number_array.numbers();
  ASSERT_EQ(tsr_keys_by_number(table, 0, given, by_number.data(), nullptr, &error), TSR_OK) << error.message;
  const uint32_t *const narrow_by_number = (const uint32_t *)by_number.data();
  for (size_t i = 0; i < size; i++) {
    const uint64_t number = oracle.numbers().at(keys[i]);
    ASSERT_EQ(found[i], number) << keys[i];
    ASSERT_EQ(looked[i], number) << keys[i];
    ASSERT_EQ(key_bits == 64 ? by_number[number] : narrow_by_number[number], keys[i]);
  }
}

class Numbers : public testing::TestWithParam<Shape> {};

TEST_P(Numbers, AreDenseAndComeBack) {
  const Shape &shape = GetParam();
  const bool reuses = std::string(shape.entries).find("reuse=no") == std::string::npos;
  Table table(shape, 4 * edges());
  const Kernel number("number", "ids", table), erase("erase", "gone", table), look("look", "known", table);
  if (!table.table) return;
  Oracle oracle;
  const std::vector<uint64_t> ends = make_ends(shape.key_bits, edges() / 4 + 11, 1);
  check_run(number_edges(number, table.table, ends), ends, &oracle);
  const uint64_t distinct = oracle.numbers().size();
  ASSERT_EQ(oracle.largest(), distinct - 1); // and no number was given twice
  check_table(table.table, look, shape.key_bits, oracle);

  std::vector<uint64_t> gone;
  for (const auto &[key, given] : oracle.numbers())
    if (given % 3 == 0) gone.push_back(key);
  const size_t erased = gone.size();
  for (const uint64_t key : std::vector<uint64_t>(gone)) gone.push_back(key); // a second time
  for (size_t i = 0; i < erased; i++) oracle.erase(gone[i]);
  device::Array gone_array(table.table, 64, gone), count_array(table.table, 64, gone.size());
  const void *arrays[] = {gone_array.data(), count_array.data()};
  erase.launch(gone.size(), {&arrays[0], &arrays[1]});
  const std::vector<uint64_t> counts = count_array.numbers();
  for (size_t i = 0; i < erased; i++) ASSERT_EQ(counts[i] + counts[i + erased], 1u) << gone[i];
  check_table(table.table, look, shape.key_bits, oracle);

  // twice as many keys, a part of which are there
  const std::vector<uint64_t> more = make_ends(shape.key_bits, edges() / 2 + 1, 700);
  check_run(number_edges(number, table.table, more), more, &oracle);
  ASSERT_EQ(oracle.largest() + 1, oracle.numbers().size() + (reuses ? 0 : erased));
  check_table(table.table, look, shape.key_bits, oracle);

  // bulk calls take from the same numbers
  tsr_error error = {};
  const std::vector<uint64_t> others = make_ends(shape.key_bits, edges() / 3, 1000);
  const std::vector<uint32_t> narrow(others.begin(), others.end());
  std::vector<uint32_t> numbers(others.size());
  const void *const all = shape.key_bits == 64 ? (const void *)others.data() : (const void *)narrow.data();
  ASSERT_EQ(tsr_erase(table.table, others.size() / 2, all, nullptr, &error), TSR_OK) << error.message;
  for (const uint64_t key : std::set<uint64_t>(others.begin(), others.begin() + (long)others.size() / 2))
    if (oracle.numbers().count(key)) oracle.erase(key);
  ASSERT_EQ(tsr_number(table.table, others.size(), all, numbers.data(), nullptr, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < others.size(); i++) oracle.number(others[i], numbers[i]);
  check_run(number_edges(number, table.table, ends), ends, &oracle);
  check_table(table.table, look, shape.key_bits, oracle);
}

void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.name; }
INSTANTIATE_TEST_SUITE_P(All, Numbers, testing::ValuesIn(kShapes),
                         [](const auto &info) { return std::string(info.param.name); });

// A key without room gets no number, and takes none from the others.
TEST(Full, KeysWithoutRoomGetNoNumber) {
  Table table(kShapes[0], 256);
  if (!table.table) return;
  const std::vector<uint64_t> ends = make_ends(32, edges() / 2, 1);
  const Answers run = number_edges(Kernel("number", "ids", table), table.table, ends);
  std::set<uint64_t> numbers, placed, unplaced;
  for (size_t i = 0; i < ends.size(); i++) {
    if (run.results[i] == TSR_NOT_PLACED) {
      EXPECT_EQ(run.numbers[i], 77u);
      unplaced.insert(ends[i]);
      continue;
    }
    placed.insert(ends[i]);
    numbers.insert(run.numbers[i]);
  }
  uint64_t size = 0, given = 0;
  ASSERT_EQ(tsr_size(table.table, &size, nullptr), TSR_OK);
  ASSERT_EQ(tsr_numbers_given(table.table, &given, nullptr), TSR_OK);
  EXPECT_GE(size, 256u);
  EXPECT_GT(unplaced.size(), 0u);
  EXPECT_EQ(placed.size(), size);
  EXPECT_EQ(numbers.size(), size);
  EXPECT_EQ(given, size);
  EXPECT_EQ(*numbers.rbegin(), size - 1);
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table.table, &report, nullptr), TSR_OK);
  EXPECT_GT(report.not_placed, 0u);
}

// All items bring one key: whoever inserts it, the others wait for its number.
TEST(Races, OneKeyHasOneNumber) {
  Table table(kShapes[1], 4096);
  const Kernel number("number", "ids", table);
  for (uint64_t round = 0; table.table && round < 100; round++) {
    const std::vector<uint64_t> ends(edges(), round * 977 + 3);
    const Answers run = number_edges(number, table.table, ends);
    size_t inserted = 0;
    for (size_t i = 0; i < ends.size(); i++) {
      ASSERT_EQ(run.numbers[i], round) << i;
      inserted += run.results[i] == TSR_INSERTED;
    }
    ASSERT_EQ(inserted, 1u);
  }
}

// Kernels write and read the rows of their keys' numbers.
TEST(Rows, AreOfKernelsToo) {
  static const char text[] = R"(#include "tessera.cuh"
TSR_TABLE(ids, inserts)
TSR_TABLE(known, finds)
TSR_KERNEL(fill, (tsr_table_ref ids, const uint64_t *keys)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t number = 0;
  if (tsr_number(ids, mine, mine ? keys[i] : 0, &number) != TSR_WAS_INSERTED) return;
  uint64_t *row = (uint64_t *)tsr_row_of(ids, number);
  for (uint32_t word = 0; word < 6; word++) row[word] = 3 * keys[i] + word;
}
TSR_KERNEL(look, (tsr_table_ref known, const uint64_t *keys, uint64_t *sums)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  uint64_t number = 0;
  if (!tsr_find(known, mine, mine ? keys[i] : 0, &number)) return;
  const uint64_t *row = (const uint64_t *)tsr_row_of(known, number);
  for (uint32_t word = 0; word < 6; word++) sums[i] += row[word];
}
)";
  Table table("layout=packed\nprobing=double_hashing\nvalue_bytes=48\n", 32, 2 * edges());
  unsetenv("TESSERA_CC");
  tsr_error error = {};
  tsr_kernel_source source = {};
  source.text = text;
  source.file = "rows.cu";
  const char *const ids = "ids", *const known = "known";
  if (!table.table) return;
  tsr_kernel *fill = nullptr, *look = nullptr;
  ASSERT_EQ(tsr_kernel_create(&source, "fill", &table.table, &ids, 1, &fill, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_kernel_create(&source, "look", &table.table, &known, 1, &look, &error), TSR_OK) << error.message;
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < edges(); i++) keys.push_back(i * 7919 % 0xFFFFFFF1u);
  device::Array key_array(table.table, 64, keys), sum_array(table.table, 64, std::vector<uint64_t>(keys.size()));
  const void *arrays[] = {key_array.data(), sum_array.data()};
  const void *const arguments[] = {&arrays[0], &arrays[1]};
  ASSERT_EQ(tsr_kernel_launch(fill, keys.size(), arguments, 1, nullptr, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_kernel_launch(look, keys.size(), arguments, 2, nullptr, &error), TSR_OK) << error.message;
  const std::vector<uint64_t> sums = sum_array.numbers();
  std::vector<uint32_t> narrow(keys.begin(), keys.end()), numbers(keys.size());
  std::vector<uint64_t> rows(6 * keys.size());
  ASSERT_EQ(tsr_find(table.table, keys.size(), narrow.data(), numbers.data(), nullptr, &error), TSR_OK);
  ASSERT_EQ(tsr_read_rows(table.table, keys.size(), numbers.data(), rows.data(), nullptr, &error), TSR_OK)
      << error.message;
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(sums[i], 18 * keys[i] + 15) << i;
    for (size_t word = 0; word < 6; word++) ASSERT_EQ(rows[6 * i + word], 3 * keys[i] + word) << i;
  }
  tsr_kernel_destroy(fill);
  tsr_kernel_destroy(look);
}

void refuses(const char *kernel_name, const char *table_name, const char *entries, const char *sentence) {
  SCOPED_TRACE(entries);
  tsr_error error = {};
  tsr_kernel *kernel = nullptr;
  const Table table(entries, 32, 1000);
  if (!table.table) return;
  EXPECT_NE(make_kernel(kernel_name, table_name, table, &kernel, &error), TSR_OK);
  EXPECT_NE(std::string(error.message).find(sentence), std::string::npos) << error.message;
}

TEST(Refused, WithASentence) {
  refuses("number", "ids", "numbering=first_seen\nlayout=packed\nprobing=double_hashing\n", "use numbering = any");
  refuses("number", "ids", "layout=packed\nprobing=cuckoo\n", "use a scheme that moves nothing");
  refuses("number", "ids", "layout=aos\nprobing=double_hashing\n", "use a layout that stores pairs whole");
  refuses("number", "ids", "layout=soa\nprobing=double_hashing\n", "use a layout that stores pairs whole");
  refuses("number", "ids", "layout=packed\nprobing=double_hashing\neviction=lru\n", "no key a score");
  refuses("erase", "gone", "layout=packed\nprobing=double_hashing\neviction=lru\n", "takes no score back");
  refuses("insert", "ids", "layout=packed\nprobing=double_hashing\n", "calls a function that is missing");
}

} // namespace
