// SPDX-License-Identifier: Apache-2.0
//
// device.h. The driver's streams come from libcuda itself: the tests are built where there is no toolkit.
#include "tests/device/device.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/compose/compose.h"
#include "core/cuda/link.h"
#include "core/table/steps.h"
#include "core/tessera_tools.h"
#include "tests/oracle/arrays.h"
#include "tests/oracle/context.h"

namespace device {

const std::string &backend() {
  static const std::string name = [] {
    const char *given = getenv("TSR_TEST_BACKEND");
    return std::string(given && *given ? given : "cuda");
  }();
  return name;
}

// TSR_TEST_LINK_SM=90: a machine without a GPU fills the cubin cache of one with a GPU (stage.sh). Tables are linked and
// not created, so the tests fail.
static uint32_t sm_linked_for() {
  const char *given = getenv("TSR_TEST_LINK_SM");
  return given ? (uint32_t)atoi(given) : 0;
}

uint32_t sm() {
  static const uint32_t found = [] {
    tsr_device_info info = {};
    tsr_error error = {};
    if (sm_linked_for()) return sm_linked_for();
    if (backend() == "cpu") return 0u;
    EXPECT_EQ(tsr_device_describe(0, &info, &error), TSR_OK) << error.message;
    return info.sm;
  }();
  return found;
}

bool accepts(const choices::Choice &choice) {
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_composition *composition = nullptr;
  tsr_error error = {};
  tsr_status status = tsr_compose(choice.entries().parse().get(), &options, sm(), 1, &composition, &error);
  tsr_composition_free(composition);
  if (status == TSR_OK) return true;
  EXPECT_TRUE(status == TSR_INCOMPATIBLE || status == TSR_BAD_SPEC) << choice.name() << ": " << error.message;
  EXPECT_GT(strlen(error.message), 20u) << choice.name();
  return false;
}

choices::Options options() {
  choices::Options all = choices::Options::all();
  all.sms = {sm()};
  return all;
}

// A process keeps one core busy (OMP_NUM_THREADS=1, run_all.sh). The glue of a table is compiled once for all its links.
static void link_operations(const tsr_spec *spec, const tsr_options &options, uint32_t calls) {
  static bool has_sets;
  tsr_composition *composition = nullptr;
  tsr_error error = {};
  tsr_step_list list = {};
  std::vector<tsr_link> all(TSR_LINKS_MAX);
  EXPECT_EQ(tsr_compose(spec, &options, sm(), 1, &composition, &error), TSR_OK) << error.message;
  if (composition) tsr_steps_of_calls(composition, calls, &list);
  if (composition) {
    EXPECT_EQ(tsr_cuda_link_steps(composition, list.step, list.count, true, all.data(), &error), TSR_OK)
        << error.message;
  }
  for (uint32_t i = 0; i < list.count; i++) tsr_link_free(&all[i]);
  tsr_composition_free(composition);
  for (size_t i = 0; !has_sets && tsr_sets_of_no_table[i]; i++) {
    tsr_link made = {};
    EXPECT_EQ(tsr_cuda_link_set(tsr_sets_of_no_table[i], sm(), true, &made, &error), TSR_OK) << error.message;
    tsr_link_free(&made);
  }
  has_sets = true;
}

Table create(const tsr_spec *spec, const tsr_options &options, bool is_elsewhere, uint32_t calls) {
  tsr_table *table = nullptr;
  tsr_error error = {};
  if (sm_linked_for()) {
    if (!is_elsewhere) link_operations(spec, options, calls);
    return nullptr;
  }
  if (backend() == "cuda") tessera_test::hold_contexts("0");
  EXPECT_EQ(tsr_table_create(spec, &options, &table, &error), TSR_OK) << error.message;
  return Table(table);
}

Table create(const choices::Choice &choice, uint64_t capacity, double load_factor, const std::string &on,
             uint32_t calls) {
  choices::Entries entries = choice.entries();
  entries.set("table", "backend", on.empty() ? backend() : on);
  entries.set("table", "load_factor", std::to_string(load_factor));
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  options.capacity = capacity;
  return create(entries.parse().get(), options, !on.empty(), calls);
}

// ---- Arrays -------------------------------------------------------------------------------------

Array::Array(tsr_table *table, uint32_t bits, size_t count) : table_(table), bits_(bits), count_(count) {
  tsr_error error = {};
  if (!bits) return;
  EXPECT_EQ(tsr_memory_allocate(table, count * bits / 8, &memory_, &error), TSR_OK) << error.message;
}

Array::Array(tsr_table *table, uint32_t bits, const std::vector<uint64_t> &numbers)
    : Array(table, bits, numbers.size()) {
  std::vector<unsigned char> bytes(count_ * bits / 8 + 8);
  if (bits > 64) memcpy(bytes.data(), tessera_test::Keys(bits, numbers).data(), count_ * bits / 8);
  for (size_t i = 0; i < count_ && bits && bits <= 64; i++) memcpy(&bytes[i * bits / 8], &numbers[i], bits / 8);
  tsr_error error = {};
  if (!memory_) return;
  EXPECT_EQ(tsr_memory_copy(table, memory_, bytes.data(), count_ * bits / 8, &error), TSR_OK) << error.message;
}

std::vector<uint64_t> Array::numbers() const {
  std::vector<uint64_t> result(count_);
  std::vector<unsigned char> bytes(count_ * bits_ / 8 + 8);
  tsr_error error = {};
  if (!memory_) return result;
  EXPECT_EQ(tsr_memory_copy(table_, bytes.data(), memory_, count_ * bits_ / 8, &error), TSR_OK) << error.message;
  for (size_t i = 0; i < count_ && bits_ <= 64; i++) memcpy(&result[i], &bytes[i * bits_ / 8], bits_ / 8);
  if (bits_ <= 64) return result;
  tessera_test::Keys keys(bits_, count_);
  memcpy(keys.data(), bytes.data(), count_ * bits_ / 8);
  return keys.numbers(count_);
}

// ---- Streams ------------------------------------------------------------------------------------

namespace {

struct Driver {
  int (*init)(unsigned);
  int (*retain)(void **, int);
  int (*push)(void *);
  int (*create)(void **, unsigned);
  int (*destroy)(void *);
  int (*synchronize)(void *);
  int (*capture_begin)(void *, int);
  int (*capture_end)(void *, void **);
  int (*instantiate)(void **, void *, unsigned long long);
  int (*graph_launch)(void *, void *);
  int (*executable_destroy)(void *);
  int (*graph_destroy)(void *);
};

// The driver with device 0's primary context current, which is the one that the library uses.
const Driver &driver() {
  static const Driver loaded = [] {
    Driver d = {};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *context = nullptr;
    EXPECT_NE(library, nullptr) << dlerror();
    if (!library) exit(1);
    auto load = [library](const char *name, auto *function) {
      void *address = dlsym(library, name);
      EXPECT_NE(address, nullptr) << name;
      memcpy(function, &address, sizeof address);
    };
    load("cuInit", &d.init);
    load("cuDevicePrimaryCtxRetain", &d.retain);
    load("cuCtxPushCurrent_v2", &d.push);
    load("cuStreamCreate", &d.create);
    load("cuStreamDestroy_v2", &d.destroy);
    load("cuStreamSynchronize", &d.synchronize);
    load("cuStreamBeginCapture_v2", &d.capture_begin);
    load("cuStreamEndCapture", &d.capture_end);
    load("cuGraphInstantiateWithFlags", &d.instantiate);
    load("cuGraphLaunch", &d.graph_launch);
    load("cuGraphExecDestroy", &d.executable_destroy);
    load("cuGraphDestroy", &d.graph_destroy);
    EXPECT_EQ(d.init(0), 0);
    EXPECT_EQ(d.retain(&context, 0), 0);
    EXPECT_EQ(d.push(context), 0);
    return d;
  }();
  return loaded;
}

} // namespace

Streams::Streams() {
  enum { kNonBlocking = 1 }; // does not wait for the default stream, which would hide a missing order
  if (backend() == "cpu") {
    one = &one;
    two = &two;
    return;
  }
  EXPECT_EQ(driver().create(&one, kNonBlocking), 0);
  EXPECT_EQ(driver().create(&two, kNonBlocking), 0);
}

Streams::~Streams() {
  if (backend() == "cpu") return;
  EXPECT_EQ(driver().destroy(one), 0);
  EXPECT_EQ(driver().destroy(two), 0);
}

// ---- Graphs -------------------------------------------------------------------------------------

Graph::Graph(void *stream, std::function<void()> record) : stream_(stream), record_(std::move(record)) {
  enum { kGlobal = 0 }; // nothing unsafe is forgiven, in no thread
  if (backend() == "cpu") return;
  EXPECT_EQ(driver().capture_begin(stream_, kGlobal), 0);
  record_();
  EXPECT_EQ(driver().capture_end(stream_, &graph_), 0);
  EXPECT_NE(graph_, nullptr);
  if (graph_) {
    EXPECT_EQ(driver().instantiate(&executable_, graph_, 0), 0);
  }
}

Graph::~Graph() {
  if (executable_) {
    EXPECT_EQ(driver().executable_destroy(executable_), 0);
  }
  if (graph_) {
    EXPECT_EQ(driver().graph_destroy(graph_), 0);
  }
}

void Graph::launch() {
  if (backend() == "cpu") return record_();
  ASSERT_NE(executable_, nullptr);
  ASSERT_EQ(driver().graph_launch(executable_, stream_), 0);
  ASSERT_EQ(driver().synchronize(stream_), 0);
}

// ---- Pairs --------------------------------------------------------------------------------------

std::vector<std::pair<uint64_t, uint64_t>> pairs_of(tsr_table *table) {
  tsr_table_info info = {};
  tsr_table_describe(table, &info);
  tsr_error error = {};
  uint64_t size = 0, written = 0;
  std::vector<std::pair<uint64_t, uint64_t>> pairs;
  EXPECT_EQ(tsr_size(table, &size, &error), TSR_OK) << error.message;
  const std::vector<uint64_t> zeros(size + 1);
  Array keys(table, info.key_bits, zeros), values(table, info.value_bits, zeros);
  EXPECT_EQ(tsr_export(table, size + 1, keys.data(), values.data(), &written, &error), TSR_OK) << error.message;
  EXPECT_EQ(written, size);
  std::vector<uint64_t> all_keys = keys.numbers(), all_values = values.numbers();
  for (uint64_t i = 0; i < size; i++) pairs.emplace_back(all_keys[i], all_values[i]);
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

uint64_t key_of(uint64_t i, uint32_t bits) {
  if (bits == 32) { // MurmurHash3's finalizers are bijections
    uint32_t h = (uint32_t)i;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
  }
  i = (i ^ i >> 33) * 0xFF51AFD7ED558CCDu;
  i = (i ^ i >> 33) * 0xC4CEB9FE1A85EC53u;
  return i ^ i >> 33;
}

void erase(tsr_table *table, uint32_t key_bits, const std::vector<uint64_t> &keys,
           std::map<uint64_t, uint64_t> *there) {
  Array key_array(table, key_bits, keys);
  tsr_error error = {};
  ASSERT_EQ(tsr_erase(table, keys.size(), key_array.data(), nullptr, &error), TSR_OK) << error.message;
  for (uint64_t key : keys) there->erase(key);
}

void expect_pairs(tsr_table *table, uint32_t key_bits, uint32_t value_bits, const std::map<uint64_t, uint64_t> &there,
                  const std::vector<uint64_t> &keys) {
  const std::vector<std::pair<uint64_t, uint64_t>> expected(there.begin(), there.end()), held = pairs_of(table);
  ASSERT_EQ(held.size(), expected.size());
  EXPECT_TRUE(held == expected);
  const size_t n = keys.size();
  Array key_array(table, key_bits, keys), values(table, value_bits, n), codes(table, 8, n);
  tsr_call call = {};
  call.size = sizeof call;
  tsr_error error = {};
  if (value_bits) {
    call.results = static_cast<uint8_t *>(codes.data());
    call.missing = 5;
    ASSERT_EQ(tsr_find(table, n, key_array.data(), values.data(), &call, &error), TSR_OK) << error.message;
  } else {
    ASSERT_EQ(tsr_contains(table, n, key_array.data(), static_cast<uint8_t *>(codes.data()), &call, &error), TSR_OK)
        << error.message;
  }
  const std::vector<uint64_t> told = codes.numbers(), found = values.numbers();
  uint64_t wrong = 0;
  for (size_t i = 0; i < n; i++) {
    const auto own = there.find(keys[i]);
    const bool is_there = own != there.end();
    wrong += told[i] != (value_bits ? uint64_t{is_there ? TSR_FOUND : TSR_MISSING} : uint64_t{is_there});
    wrong += value_bits && found[i] != (is_there ? own->second : 5);
  }
  EXPECT_EQ(wrong, 0u);
}

} // namespace device
