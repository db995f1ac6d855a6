// SPDX-License-Identifier: Apache-2.0
//
// Hours of use in minutes: tables of many kinds are made, filled from several streams, captured into CUDA graphs, grown, cleared,
// rehashed, saved, loaded and destroyed, round after round, some of them without the memory that they ask for. Each answer is
// judged, by what the round has put in or by the oracle (../oracle/exercise.h). At the end no round may have left memory behind: of
// the device, of malloc, or resident. The last line is `N rounds, N failures`.
//
//   TSR_SOAK_ROUNDS    how many (64 on the cpu backend, otherwise 1000)
//   TSR_SOAK_SECONDS   after that many it ends as well
//   TSR_SEED           another seed
//   TSR_DEVICES        those of the table of several devices, as "0,1" (the first one twice)
//
// Nothing else may use the card meanwhile, since its free memory is measured. ../soak/soak.sh does the same to the program.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>

#include "plugins/table.h"
#include "tests/device/device.h"
#include "tests/oracle/exercise.h"

namespace {

using tessera_test::Random;

// ---- Kinds of tables ----------------------------------------------------------------------------

enum : uint32_t {
  EXERCISED = 1,
  CAPTURED = 2,
  GROWS = 4,
  ERASES = 8,
  FORGETS = 16,
  NUMBERS = 32,
  ROWS = 64,
  OVERLAPS = 128
};

struct Kind {
  const char *name, *entries; // of [table]; `layout.` and the like before those of parts
  uint32_t policy, traits;
};

const Kind kKinds[] = {
    {"cuckoo", "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo layout.bucket_slots=4",
     TSR_DUPLICATES_FIRST, EXERCISED | CAPTURED | ERASES},
    {"growing",
     "kind=map key_bits=64 value_bits=64 layout=packed probing=double_hashing growth=double duplicates=replace",
     TSR_DUPLICATES_REPLACE, EXERCISED | GROWS | ERASES},
    {"growing_set", "kind=set key_bits=32 layout=packed probing=cuckoo growth=double", TSR_DUPLICATES_FIRST,
     EXERCISED | GROWS | ERASES},
    {"mixed", "kind=map key_bits=32 value_bits=32 layout=slab probing=slab_list allocator=slab_light concurrency=mixed",
     TSR_DUPLICATES_FIRST, EXERCISED | CAPTURED | ERASES | OVERLAPS},
    {"robin_hood", "kind=map key_bits=32 value_bits=32 layout=packed probing=robin_hood", TSR_DUPLICATES_FIRST,
     EXERCISED | CAPTURED | ERASES},
    {"added", "kind=map key_bits=32 value_bits=32 layout=soa probing=linear duplicates=add", TSR_DUPLICATES_ADD,
     EXERCISED | CAPTURED | ERASES},
    {"counter", "kind=counter key_bits=64 value_bits=64 layout=packed probing=double_hashing growth=double",
     TSR_DUPLICATES_COUNT, EXERCISED | GROWS | ERASES},
    {"multimap", "kind=multimap key_bits=32 value_bits=32 layout=packed probing=quadratic", TSR_DUPLICATES_KEEP,
     EXERCISED | CAPTURED | ERASES},
    {"lists", "kind=multimap key_bits=32 value_bits=32 values=buckets layout=soa probing=double_hashing allocator=bump",
     TSR_DUPLICATES_KEEP, ERASES},
    {"index", "kind=index key_bits=64 layout=packed probing=double_hashing growth=double reuse=yes",
     TSR_DUPLICATES_FIRST, GROWS | NUMBERS | ERASES},
    {"cache",
     "kind=cache eviction=lru key_bits=64 value_bits=64 duplicates=replace layout=packed "
     "probing=double_hashing probing.max_probes=2",
     TSR_DUPLICATES_REPLACE, FORGETS | ERASES},
    {"filter", "kind=filter key_bits=64", TSR_DUPLICATES_FIRST, 0},
    {"filtered", "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo filter=8", TSR_DUPLICATES_FIRST,
     EXERCISED | ERASES},
    {"rows", "kind=map key_bits=32 value_bytes=64 layout=packed probing=cuckoo", TSR_DUPLICATES_FIRST, ROWS | ERASES},
    {"pages",
     "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo page_bytes=auto stash=100 "
     "layout.bucket_slots=4 duplicates=promise_unique",
     TSR_DUPLICATES_PROMISE_UNIQUE, EXERCISED | CAPTURED | ERASES},
    {"two_devices", "kind=map key_bits=64 value_bits=64 layout=packed probing=double_hashing devices=0,0",
     TSR_DUPLICATES_FIRST, EXERCISED | ERASES},
};
constexpr uint64_t kinds = sizeof kKinds / sizeof kKinds[0];

choices::Spec spec_of(const Kind &kind) {
  choices::Entries entries;
  entries.set("table", "hasher", "murmur3");
  entries.set("table", "backend", device::backend());
  std::istringstream words(kind.entries);
  const char *devices = getenv("TSR_DEVICES");
  for (std::string word; words >> word;) {
    if (devices && !word.find("devices=")) word = std::string("devices=") + devices;
    const size_t equals = word.find('='), point = word.substr(0, equals).find('.');
    const bool is_of_part = point != std::string::npos;
    entries.set(is_of_part ? word.substr(0, point) : "table",
                is_of_part ? word.substr(point + 1, equals - point - 1) : word.substr(0, equals),
                word.substr(equals + 1));
  }
  return entries.parse();
}

// ---- Memory -------------------------------------------------------------------------------------

struct Memory {
  uint64_t device, heap, resident;
};

uint64_t device_bytes_free() {
  static const auto get = [] {
    int (*function)(size_t *, size_t *) = nullptr;
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *address = library ? dlsym(library, "cuMemGetInfo_v2") : nullptr;
    memcpy(&function, &address, sizeof address);
    return function;
  }();
  size_t free = 0, total = 0;
  EXPECT_TRUE(get && get(&free, &total) == 0) << "the device's memory cannot be measured";
  return free;
}

Memory memory_used() {
  Memory used = {};
  uint64_t pages = 0;
  if (device::backend() != "cpu") used.device = ~device_bytes_free();
  const struct mallinfo2 heap = mallinfo2();
  used.heap = heap.uordblks + heap.hblkhd;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  used.resident = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return used;
}

// The most of the second quarter of the rounds, and of the last: the first one warms up.
void expect_flat(const std::vector<Memory> &used, uint64_t Memory::*which, const char *name, uint64_t slack) {
  const size_t quarter = used.size() / 4;
  uint64_t before = 0, after = 0;
  for (size_t i = quarter; i < 2 * quarter; i++) before = std::max(before, used[i].*which);
  for (size_t i = 3 * quarter; i < used.size(); i++) after = std::max(after, used[i].*which);
  const auto grown = static_cast<int64_t>(after - before);
  std::cout << name << " grew by " << grown << " bytes\n";
  EXPECT_LE(grown, static_cast<int64_t>(slack)) << name << " grew";
}

// ---- A round ------------------------------------------------------------------------------------

class Round {
public:
  Round(const Kind &kind, Random &random, const std::string &folder)
      : kind_(kind), random_(random), path_(folder + "/table"), spec_(spec_of(kind)) {}

  void run() {
    create();
    if (!table_ && linked_only()) return;
    ASSERT_TRUE(table_);
    const uint64_t steps = 3 + random_.below(4);
    for (uint64_t i = 0; i < steps && !::testing::Test::HasFatalFailure(); i++) step();
    table_.reset();
  }

private:
  static bool linked_only() { return getenv("TSR_TEST_LINK_SM") != nullptr; }
  bool is(uint32_t trait) const { return kind_.traits & trait; }
  void check(tsr_status status) { ASSERT_EQ(status, TSR_OK) << kind_.name << ": " << error_.message; }

  void create() {
    tsr_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    options.seed = 1 + random_.below(1000);
    options.capacity = capacity_ = (device::backend() == "cpu" ? 500 : 5000) * (1 + random_.below(20));
    table_ = device::create(spec_.get(), options);
    if (!table_) return;
    tsr_table_info info = {};
    tsr_table_describe(table_.get(), &info);
    key_bits_ = info.key_bits;
    value_bits_ = is(NUMBERS) ? 0 : info.value_bits;
    if (device::backend() != "cpu" && kind_.policy != TSR_DUPLICATES_KEEP) // linked on all cores at once
      check(tsr_table_prepare(table_.get(),
                              TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS | (is(ERASES) ? TSR_PREPARE_ERASE : 0) |
                                  (value_bits_ && !is(FORGETS) ? TSR_PREPARE_FIND : 0),
                              &error_));
  }

  void step() {
    switch (random_.below(8)) {
    case 0:
      return exercise();
    case 1:
      return capture();
    case 2:
      return fill(is(GROWS) ? 4 : 1);
    case 3:
      return overfill();
    case 4:
      return want_too_much();
    case 5:
      return rehash();
    case 6:
      return save_and_load();
    default:
      return fill(1);
    }
  }

  void clear() { check(tsr_clear(table_.get(), nullptr, &error_)); }

  // By the oracle, in host memory.
  void exercise() {
    if (!is(EXERCISED)) return fill(1);
    clear();
    check(tsr_table_report_reset(table_.get(), &error_));
    tessera_test::Table subject(table_.release(), key_bits_, value_bits_);
    tessera_test::Exercise::Options options;
    tsr_table_info info = {};
    tsr_table_describe(subject.get(), &info);
    options.slots = std::min<uint64_t>(info.slots, 2000);
    options.operations = 12;
    options.batch_max = 400;
    options.mixes = strstr(kind_.entries, "mixed") != nullptr;
    options.pool = is(GROWS) ? 3000 : 0;
    const std::string complaint = tessera_test::Exercise(subject, kind_.policy, random_, options).run();
    EXPECT_EQ(complaint, "") << kind_.name;
    table_.reset(subject.release());
    clear();
  }

  // Keys that no round before has used, so that what each should have is known.
  struct Items {
    Items(tsr_table *t, uint32_t key_bits, uint32_t value_bits, uint64_t from, uint64_t n)
        : n(n), keys(t, key_bits, keys_of(key_bits, from, n)),
          values(t, std::min(value_bits, 64u), values_of(value_bits, n)), found(t, value_bits, n), present(t, 8, n) {}
    static std::vector<uint64_t> keys_of(uint32_t bits, uint64_t from, uint64_t n) {
      std::vector<uint64_t> keys(n);
      for (uint64_t i = 0; i < n; i++) keys[i] = device::key_of(from + i, bits);
      return keys;
    }
    static std::vector<uint64_t> values_of(uint32_t bits, uint64_t n) {
      std::vector<uint64_t> values(bits > 64 ? n * (bits / 64) : n); // a row: words of the same kind
      for (uint64_t i = 0; i < values.size(); i++) values[i] = 1 + i % 1000;
      return values;
    }
    uint64_t n;
    device::Array keys, values, found, present;
  };

  void insert(Items *items, uint64_t from, uint64_t n, void *stream) {
    auto *keys = static_cast<unsigned char *>(items->keys.data()) + from * key_bits_ / 8;
    tsr_call call = {};
    call.stream = stream;
    if (is(NUMBERS)) return check(tsr_insert(table_.get(), n, keys, nullptr, &call, &error_));
    auto *values = static_cast<unsigned char *>(items->values.data());
    check(tsr_insert(table_.get(), n, keys, value_bits_ ? values + from * value_bits_ / 8 : nullptr, &call, &error_));
  }

  uint64_t count_present(Items *items, void *stream) {
    tsr_call call = {};
    call.stream = stream;
    check(tsr_contains(table_.get(), items->n, items->keys.data(), static_cast<uint8_t *>(items->present.data()), &call,
                       &error_));
    check(tsr_table_wait(table_.get(), &error_));
    const std::vector<uint64_t> present = items->present.numbers();
    return static_cast<uint64_t>(std::count(present.begin(), present.end(), 1u));
  }

  void expect_size(uint64_t expected) {
    uint64_t size = 0;
    if (strcmp(kind_.name, "filter") == 0) return;
    check(tsr_size(table_.get(), &size, &error_));
    EXPECT_EQ(size, expected) << kind_.name;
  }

  // Before a call on another stream. Calls on most tables are ordered among streams; those on lists that are mixed overlap.
  void change_streams() {
    if (is(OVERLAPS)) check(tsr_table_wait(table_.get(), &error_));
  }

  // Inserts on two streams, finds on one of them, erases on it, looks on the other one.
  void fill(uint64_t times) {
    clear();
    const uint64_t n = capacity_ * times * 3 / 4 + 2;
    Items items(table_.get(), key_bits_, value_bits_, random_.below(1 << 20), n);
    device::Streams streams;
    insert(&items, 0, n / 2, streams.one);
    insert(&items, n / 2, n - n / 2, streams.two);
    change_streams();
    uint64_t held = n;
    if (is(FORGETS)) {
      check(tsr_size(table_.get(), &held, &error_));
      EXPECT_LE(held, n);
    }
    EXPECT_EQ(count_present(&items, streams.one), held) << kind_.name;
    expect_size(held);
    if (value_bits_ && value_bits_ <= 64 && !is(FORGETS)) expect_values(&items, streams.two);
    if (!is(ERASES)) return;
    tsr_call call = {};
    call.stream = streams.one;
    check(tsr_erase(table_.get(), n / 2, items.keys.data(), &call, &error_));
    change_streams();
    const uint64_t left = count_present(&items, streams.two);
    if (!is(FORGETS)) {
      EXPECT_EQ(left, n - n / 2) << kind_.name;
    }
    expect_size(left);
  }

  void expect_values(Items *items, void *stream) {
    tsr_call call = {};
    call.stream = stream;
    check(tsr_find(table_.get(), items->n, items->keys.data(), items->found.data(), &call, &error_));
    check(tsr_table_wait(table_.get(), &error_));
    EXPECT_TRUE(items->found.numbers() == items->values.numbers()) << kind_.name << ": other values";
  }

  // A graph that erases, inserts and looks, launched three times.
  void capture() {
    if (!is(CAPTURED)) return fill(1);
    clear();
    check(tsr_table_prepare(table_.get(), TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS | TSR_PREPARE_ERASE, &error_));
    const uint64_t n = capacity_ / 4;
    Items items(table_.get(), key_bits_, value_bits_, random_.below(1 << 20), n);
    device::Array results(table_.get(), 8, n);
    device::Streams streams;
    tsr_call call = {};
    call.stream = streams.one;
    device::Graph graph(streams.one, [&] {
      tsr_call noted = call;
      noted.results = static_cast<uint8_t *>(results.data());
      check(tsr_erase(table_.get(), n, items.keys.data(), &call, &error_));
      check(tsr_insert(table_.get(), n, items.keys.data(), items.values.data(), &noted, &error_));
      check(tsr_contains(table_.get(), n, items.keys.data(), static_cast<uint8_t *>(items.present.data()), &call,
                         &error_));
    });
    for (int i = 0; i < 3; i++) {
      graph.launch();
      const std::vector<uint64_t> present = items.present.numbers(), codes = results.numbers();
      EXPECT_EQ(std::count(present.begin(), present.end(), 1u), static_cast<long>(n)) << kind_.name;
      EXPECT_EQ(std::count(codes.begin(), codes.end(), uint64_t{TSR_INSERTED}), static_cast<long>(n)) << kind_.name;
    }
    expect_size(n);
    clear(); // what a graph erased is not counted by the host
  }

  // More pairs than slots, or than memory: each is in the table or handed back.
  void overfill() {
    if (is(FORGETS) || strcmp(kind_.name, "filter") == 0 || is(NUMBERS | ROWS) || !is(EXERCISED)) return fill(1);
    const bool is_hungry = is(GROWS) && device::backend() != "cpu";
    if (is(GROWS) && !is_hungry) return fill(4);
    clear();
    insert_too_many(is_hungry ? 1 << 24 : 3 * capacity_ + 1000, is_hungry);
    clear();
    if (is_hungry) table_.reset(), create(); // it has grown
  }

  void insert_too_many(uint64_t n, bool is_hungry) {
    Items items(table_.get(), key_bits_, value_bits_, 0, n);
    device::Array results(table_.get(), 8, n);
    void *ballast = nullptr;
    if (is_hungry) { // all but what a tenth of the pairs needs
      constexpr uint64_t left = 128 << 20;
      check(tsr_memory_allocate(table_.get(), device_bytes_free() - left, &ballast, &error_));
    }
    tsr_call call = {};
    call.results = static_cast<uint8_t *>(results.data());
    const tsr_status status =
        tsr_insert(table_.get(), n, items.keys.data(), value_bits_ ? items.values.data() : nullptr, &call, &error_);
    EXPECT_TRUE(status == TSR_OK || (is_hungry && status == TSR_NO_MEMORY)) << kind_.name << ": " << error_.message;
    check(tsr_table_wait(table_.get(), &error_));
    tsr_memory_free(table_.get(), ballast);
    const std::vector<uint64_t> codes = results.numbers();
    expect_size(static_cast<uint64_t>(std::count(codes.begin(), codes.end(), uint64_t{TSR_INSERTED})));
  }

  // A table that no machine has the memory for.
  void want_too_much() {
    if (device::backend() == "cpu" && tessera_test::sanitized) return fill(1); // whose shadow needs the address space
    tsr_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    options.capacity = uint64_t{1} << 39;
    rlimit old = {};
    getrlimit(RLIMIT_AS, &old);
    if (device::backend() == "cpu") { // whose kernel promises more than it has
      const rlimit small = {uint64_t{1} << 36, old.rlim_max};
      setrlimit(RLIMIT_AS, &small);
    }
    tsr_table *table = nullptr;
    const tsr_status status = tsr_table_create(spec_.get(), &options, &table, &error_);
    setrlimit(RLIMIT_AS, &old);
    EXPECT_NE(status, TSR_OK) << kind_.name << ": a table of 2^39 pairs was made";
    EXPECT_TRUE(status == TSR_OK || strlen(error_.message) > 20) << error_.message;
    tsr_table_destroy(table);
  }

  void rehash() {
    uint64_t before = 0;
    const bool counts = strcmp(kind_.name, "filter") != 0;
    if (counts) check(tsr_size(table_.get(), &before, &error_));
    tsr_rehash_options options = {};
    options.seed = 1 + random_.below(1000);
    options.capacity = random_.chance(2) ? 2 * capacity_ : 0;
    const tsr_status status = tsr_rehash(table_.get(), &options, &error_);
    EXPECT_TRUE(status == TSR_OK || status == TSR_UNSUPPORTED) << kind_.name << ": " << error_.message;
    if (counts) expect_size(before);
    if (status == TSR_OK && options.capacity) capacity_ = options.capacity;
  }

  void save_and_load() {
    uint64_t before = 0;
    const bool counts = strcmp(kind_.name, "filter") != 0;
    if (counts) check(tsr_size(table_.get(), &before, &error_));
    tsr_load_options options = {};
    options.plugins = choices::plugin_folders().c_str();
    options.mapped = random_.chance(2);
    tsr_table *loaded = nullptr;
    check(tsr_table_save(table_.get(), path_.c_str(), &error_));
    check(tsr_table_load(path_.c_str(), &options, &loaded, &error_));
    table_.reset(loaded);
    if (counts && loaded) expect_size(before);
  }

  const Kind &kind_;
  Random &random_;
  const std::string path_;
  choices::Spec spec_;
  device::Table table_;
  uint64_t capacity_ = 0;
  uint32_t key_bits_ = 0, value_bits_ = 0;
  tsr_error error_ = {};
};

uint64_t number_from(const char *name, uint64_t otherwise) {
  const char *given = getenv(name);
  return given && *given ? strtoull(given, nullptr, 10) : otherwise;
}

TEST(Soak, LeavesNothingBehind) {
  const bool is_cpu = device::backend() == "cpu";
  const uint64_t rounds = number_from("TSR_SOAK_ROUNDS", is_cpu ? 4 * kinds : 1000);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(number_from("TSR_SOAK_SECONDS", 1000000));
  const char *base = getenv("TMPDIR");
  std::string folder = std::string(base && *base ? base : "/tmp") + "/tessera-soak.XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  device::Streams streams; // the context stays while it lives
  std::vector<Memory> used;
  used.reserve(rounds);
  uint64_t done = 0, failed = 0;
  for (; done < rounds && std::chrono::steady_clock::now() < end; done++) {
    const int before = ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    Random random(tessera_test::seed() * 1000003 + done);
    {
      SCOPED_TRACE(::testing::Message() << "round " << done << ", " << kKinds[done % kinds].name);
      Round(kKinds[done % kinds], random, folder).run();
    }
    unlink((folder + "/table").c_str());
    failed += ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() > before;
    used.push_back(memory_used());
    if (HasFatalFailure()) break;
    if (done % 100 == 99 || done + 1 == kinds)
      std::cout << done + 1 << " rounds, " << failed << " failures" << std::endl;
  }
  rmdir(folder.c_str());
  if (used.size() >= 4 * kinds) {
    constexpr uint64_t MiB = 1 << 20;
    expect_flat(used, &Memory::device, "memory of the device", 4 * MiB);
    expect_flat(used, &Memory::heap, "memory of malloc", is_cpu ? MiB / 10 : 16 * MiB);
    expect_flat(used, &Memory::resident, "resident memory", used.back().resident / 20 + 8 * MiB);
  }
  std::cout << done << " rounds, " << failed << " failures\n";
}

} // namespace
