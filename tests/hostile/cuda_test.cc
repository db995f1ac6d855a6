// SPDX-License-Identifier: Apache-2.0
//
// The cuda backend on a driver that fails: at every call, one after the other, and at every allocation. Each failure is
// a sentence; nothing leaks, hangs or crashes; and where memory runs out, the table is as it was.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>

#include "core/batch/steps.h"
#include "core/compose/backend.h"
#include "core/kernels/roofline.h"
extern "C" {
#include "core/table/call.h"
}
#include "core/tessera_devices.h"
#include "core/tessera_kernels.h"
#include "core/tessera_tools.h"
#include "plugins/table.h"
#include "tests/hostile/life.h"
#include "tests/hostile/machine.h"
#include "tests/oracle/draw.h"
#include "tests/rebuild/tables.h"

namespace {

using namespace tessera_test;

const int64_t calls_max = 20000;

// Nothing is left of a table. A context that cannot be made current is lost, with all that is in it.
void expect_nothing_left() {
  const fake_cuda_state &f = fake();
  EXPECT_EQ(f.programs, 0);
  EXPECT_EQ(f.links, 0);
  EXPECT_EQ(f.contexts, 0);
  const std::string failed = f.failed_call ? f.failed_call : "";
  if (failed.find("cuCtx") == 0 || (f.for_good && f.failed_call)) return;
  EXPECT_EQ(f.pushed, 0);
  EXPECT_EQ(f.allocations, 0);
  EXPECT_EQ(f.events, 0);
  EXPECT_EQ(f.streams, 0);
  EXPECT_EQ(f.modules, 0);
}

void heal() {
  fake_cuda_state &f = fake();
  f.calls_left = -1;
  f.failed_call = nullptr;
  f.allocations_only = f.for_good = false;
  f.failure = FAKE_ILLEGAL_ADDRESS;
  f.pushed = f.allocations = f.events = f.streams = f.modules = 0;
}

// ---- Every call ---------------------------------------------------------------------------------

struct Words {
  std::string composition;
  bool for_good;
};
std::ostream &operator<<(std::ostream &out, const Words &words) {
  return out << words.composition << (words.for_good ? ", for good" : ", once");
}

class EveryCall : public testing::TestWithParam<Words> {};

// Whether a program need not hear of this failure: of freeing, of a log, of what tells host from device memory (it is
// then taken for the host's).
bool may_be_silent(const std::string &call) {
  for (const char *word : {"Free", "Unmap", "Destroy", "Unload", "Release", "Log", "cuPointer", "cuCtx"})
    if (call.find(word) != std::string::npos) return true;
  return false;
}

TEST_P(EveryCall, MayFail) {
  fake().devices = 2;
  const std::string words = "capacity=32 load_factor=0.3 " + GetParam().composition;
  tsr_spec *spec = spec_of(words);
  launch_as(spec);
  heal();
  ASSERT_EQ(whole_life(spec), 0); // and the driver is loaded
  expect_nothing_left();
  const bool is_long = tsr_spec_get(spec, "table", "devices") || tsr_spec_get(spec, "table", "device_bytes");
  // A long life has many more calls. AddressSanitizer sees each call fail in one of the two ways, and default in the other.
  const int64_t stride = (is_long ? 11 : 1) * (tests_all() ? 1 : 2);
  int64_t k = !tests_all() && sanitized == GetParam().for_good;
  for (;; k += stride) {
    SCOPED_TRACE(k);
    heal();
    fake().calls_left = k;
    fake().for_good = GetParam().for_good;
    const char *failed_before_end = nullptr;
    int failures = whole_life(spec, TSR_OK, [&] { failed_before_end = fake().failed_call; });
    SCOPED_TRACE(fake().failed_call ? fake().failed_call : "none");
    expect_nothing_left();
    if (!fake().failed_call) {
      EXPECT_EQ(failures, 0);
      break;
    }
    const std::string failed = fake().failed_call; // a find without memory for its batch goes as it came
    const bool orders_finds = tsr_spec_get(spec, "table", "device_bytes") || tsr_spec_get(spec, "table", "find_batch");
    const bool finds_another_way = orders_finds && failed == "cuMemAllocFromPoolAsync";
    // A rehash of several devices ends the tables of before, which wait for their work with nobody left to hear of it.
    const bool ends_tables = tsr_spec_get(spec, "table", "devices") && failed.find("Synchronize") != std::string::npos;
    const bool may_be = finds_another_way || ends_tables || may_be_silent(failed);
    EXPECT_TRUE(failures || !failed_before_end || may_be) << "nobody heard of it";
    if (HasFailure()) break;
    ASSERT_LT(k, calls_max) << "it never works";
  }
  EXPECT_GT(k, 300) << "so few calls?";
  tsr_spec_free(spec);
  heal();
}

std::vector<Words> every_composition() {
  std::vector<Words> all;
  for (const char *words :
       {"layout=packed probing=cuckoo", "layout=soa probing=double_hashing",
        "layout=packed probing=cuckoo growth=double", "layout=soa probing=double_hashing growth=double",
        "layout=packed probing=linear_hashing growth=split", "layout=packed probing=cuckoo page_bytes=1Ki find_batch=1",
        "layout=packed probing=cuckoo devices=0,1", // the last one: a find of 60 keys has all pages travel
        "layout=soa probing=double_hashing capacity=500 page_bytes=1Ki device_bytes=24Ki"})
    for (bool for_good : {false, true}) all.push_back({words, for_good});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryCall, testing::ValuesIn(every_composition()));

// ---- What goes to the device --------------------------------------------------------------------

TEST(HostArrays, GoToTheDeviceWhereTheyAreRead) {
  enum : uint32_t { N = 100 };
  tsr_spec *spec = spec_of("capacity=200 concurrency=mixed");
  launch_as(spec);
  tsr_table *table = table_of("capacity=200 concurrency=mixed");
  tsr_error error = {};
  std::vector<uint32_t> keys(N), values(N), out(N);
  std::vector<uint64_t> numbers(2 * N);
  std::vector<uint8_t> codes(N), operations(N, TSR_OP_FIND);
  for (uint32_t i = 0; i < N; i++) keys[i] = i * 2654435761u, values[i] = i;
  tsr_call call = {};
  call.results = codes.data();
  auto uploaded = [&](const char *what, uint64_t bytes, const std::function<tsr_status()> &operate) {
    fake().uploaded = 0;
    EXPECT_EQ(operate(), TSR_OK) << what << ": " << error.message;
    EXPECT_EQ(fake().uploaded, bytes) << what;
  };
  uploaded("insert", 8 * N, [&] { return tsr_insert(table, N, keys.data(), values.data(), &call, &error); });
  uploaded("find", 4 * N, [&] { return tsr_find(table, N, keys.data(), out.data(), &call, &error); });
  EXPECT_EQ(out, values);
  EXPECT_EQ(codes, std::vector<uint8_t>(N, TSR_FOUND));
  uploaded("contains", 4 * N, [&] { return tsr_contains(table, N, keys.data(), codes.data(), nullptr, &error); });
  EXPECT_EQ(codes, std::vector<uint8_t>(N, 1));
  uploaded("count_all", 4 * N, [&] { return tsr_count_all(table, N, keys.data(), numbers.data(), &call, &error); });
  EXPECT_EQ(numbers[N - 1], 1u);
  uploaded("find_or_insert", 8 * N,
           [&] { return tsr_find_or_insert(table, N, keys.data(), values.data(), out.data(), &call, &error); });
  EXPECT_EQ(out, values);
  // what some items of stay as they are is brought along
  operations[3] = TSR_OP_ERASE;
  out[3] = 12345;
  call.times = numbers.data();
  uploaded("apply", (1 + 4 + 4 + 4) * N, [&] {
    return tsr_apply(table, N, operations.data(), keys.data(), values.data(), out.data(), &call, &error);
  });
  EXPECT_EQ(out[3], 12345u);
  EXPECT_EQ(out[4], 4u);
  uint64_t size = 0;
  uploaded("export", 0, [&] { return tsr_export(table, N, keys.data(), values.data(), &size, &error); });
  EXPECT_EQ(size, N - 1u);
  uploaded("erase", 4 * N, [&] { return tsr_erase(table, N, keys.data(), &call, &error); });
  tsr_table_destroy(table);
  tsr_spec_free(spec);
}

// Each doubling by itself allocates, launches and waits a dozen times, which takes longer than the insert that it is for.
TEST(Growing, AsksTheDriverHardlyMoreOftenFromASmallTable) {
  tsr_spec *spec = spec_of("growth=double");
  launch_as(spec);
  Random random(1);
  const auto pairs = some_pairs(random, 5000);
  auto calls_from = [&](const std::string &capacity) {
    tsr_table *table = table_of("growth=double capacity=" + capacity);
    fake().calls_left = INT64_MAX;
    fill(table, pairs);
    const int64_t calls = INT64_MAX - fake().calls_left;
    fake().calls_left = -1;
    expect_pairs(table, pairs);
    tsr_table_destroy(table);
    return calls;
  };
  const int64_t twice = calls_from("2500");
  EXPECT_GT(twice, 0);
  EXPECT_EQ(calls_from("10"), twice);
  tsr_spec_free(spec);
}

// ---- The order of streams -----------------------------------------------------------------------

// A launch, and what came before it by the waits of streams.
struct Launched {
  std::string phase;
  uint32_t stream;
  uint64_t after[FAKE_STREAMS];
};
std::vector<Launched> launched;

void note_launch(const char *kernel, void **) {
  const fake_cuda_state &f = fake();
  Launched l = {kernel, f.launched_on, {}};
  memcpy(l.after, f.order[f.launched_on].after, sizeof l.after);
  launched.push_back(l);
}

bool is_before(const Launched &a, const Launched &b) { return b.after[a.stream] >= a.after[a.stream]; }

class Streams : public testing::Test {
protected:
  void SetUp() override {
    heal();
    table_ = table_of("capacity=1000 backend=cuda clean=no"); // cleaning is an operation of its own
    fake().launch = note_launch;
    launched.clear();
    ASSERT_EQ(tsr_memory_allocate(table_, 4 * sizeof(uint32_t), &keys_, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(tsr_memory_allocate(table_, 4 * sizeof(uint32_t), &values_, &error_), TSR_OK) << error_.message;
  }
  void TearDown() override {
    for (void *array : {keys_, values_}) tsr_memory_free(table_, array);
    tsr_table_destroy(table_);
    fake().launch = nullptr;
  }
  // stream: 0 is the default one.
  void call(char operation, uint32_t stream) {
    tsr_call call = {};
    call.size = sizeof call;
    call.stream = stream ? &streams_[stream] : nullptr;
    const tsr_status status = operation == 'i'   ? tsr_insert(table_, 4, keys_, values_, &call, &error_)
                              : operation == 'f' ? tsr_find(table_, 4, keys_, values_, &call, &error_)
                                                 : tsr_erase(table_, 4, keys_, &call, &error_);
    ASSERT_EQ(status, TSR_OK) << error_.message;
  }

  tsr_error error_ = {};
  tsr_table *table_ = nullptr;
  void *keys_ = nullptr, *values_ = nullptr;
  char streams_[6] = {};
};

TEST_F(Streams, WaitForAllOfTheFormerPhaseAndForNothingElse) {
  Random random(7);
  for (int i = 0; i < 600; i++) call("iiifffe"[random.next() % 7], static_cast<uint32_t>(random.next() % 6));
  ASSERT_EQ(launched.size(), 600u);
  size_t begin = 0, overlapping = 0; // of the phase
  for (size_t i = 1; i < launched.size(); i++) {
    if (launched[i].phase != launched[i - 1].phase) begin = i;
    for (size_t j = 0; j < begin; j++) ASSERT_TRUE(is_before(launched[j], launched[i])) << j << " " << i;
    for (size_t j = begin; j < i; j++) {
      ASSERT_EQ(is_before(launched[j], launched[i]), launched[j].stream == launched[i].stream) << j << " " << i;
      overlapping += launched[j].stream != launched[i].stream;
    }
  }
  EXPECT_GT(overlapping, 100u);
}

// To record an event costs the host up to a third of what a launch does.
TEST_F(Streams, ThatAreOneRecordOneEventACall) {
  const int64_t before = fake().records;
  for (int i = 0; i < 60; i++) call("iiffef"[i % 6], 1);
  EXPECT_EQ(fake().records, before + 60);
}

// A growing insert and its rebuilds overlap nothing, not even another insert, as those of other tables do (above). So there is
// no hand-over in which an operation would have to look at two stores (tests/interleave/README.md).
TEST_F(Streams, OverlapNoInsertOfATableThatGrows) {
  constexpr uint64_t MOST = 512;
  for (void *array : {keys_, values_}) tsr_memory_free(table_, array);
  tsr_table_destroy(table_);
  table_ = table_of("kind=multimap capacity=16 growth=double backend=cuda clean=no");
  for (void **array : {&keys_, &values_})
    ASSERT_EQ(tsr_memory_allocate(table_, MOST * sizeof(uint32_t), array, &error_), TSR_OK) << error_.message;
  fake().launch = note_launch;
  launched.clear();
  Random random(9);
  std::vector<std::pair<size_t, size_t>> inserts; // their launches
  for (uint64_t n = 8; n <= MOST; n += 8) {
    tsr_call on = {};
    on.size = sizeof on;
    on.stream = &streams_[1 + random.next() % 5];
    const size_t begin = launched.size();
    ASSERT_EQ(tsr_insert(table_, n, keys_, values_, &on, &error_), TSR_OK) << error_.message;
    inserts.emplace_back(begin, launched.size());
    for (uint64_t finds = random.next() % 4; finds > 0; finds--) {
      on.stream = &streams_[1 + random.next() % 5];
      ASSERT_EQ(tsr_contains(table_, 4, keys_, static_cast<uint8_t *>(values_), &on, &error_), TSR_OK)
          << error_.message;
    }
  }
  tsr_table_info info = {};
  info.size = sizeof info;
  tsr_table_describe(table_, &info);
  EXPECT_GE(info.capacity, MOST);
  for (const auto &[begin, end] : inserts)
    for (size_t i = 0; i < launched.size(); i++)
      for (size_t k = begin; k < end; k++) {
        if (i == k) continue;
        ASSERT_TRUE(is_before(launched[std::min(i, k)], launched[std::max(i, k)])) << i << " " << k;
      }
}

// What neighbouring items offer for one key is combined on GPUs only, and no answer tells of it: only the launches do.
struct Combining {
  const char *words;
  uint64_t n;
  bool asks, combines;
};
void PrintTo(const Combining &c, std::ostream *out) {
  *out << c.words << " " << c.n << (c.asks ? " with answers" : "");
}

// And each span becomes three items.
void note_spans(const char *kernel, void **parameters) {
  note_launch(kernel, parameters);
  if (launched.back().phase.find("_spans_kernel") == std::string::npos) return;
  const tsr_spans_step *p = static_cast<const tsr_spans_step *>(parameters[0]);
  for (uint64_t span = 0; span << p->piece_log2 < p->bulk.n; span++) p->made[span] = 3;
}

class Spans : public testing::TestWithParam<Combining> {};

TEST_P(Spans, AreCombinedBeforeTheInsert) {
  heal();
  const Combining &c = GetParam();
  tsr_table *table = table_of(std::string("backend=cuda capacity=2M load_factor=0.5 ") + c.words);
  fake().launch = note_spans;
  launched.clear();
  const std::vector<uint32_t> keys(c.n, 7), values(c.n, 1);
  std::vector<uint8_t> codes(c.n);
  tsr_call call = {};
  if (c.asks) call.results = codes.data();
  tsr_error error = {};
  EXPECT_EQ(tsr_insert(table, c.n, keys.data(), values.data(), &call, &error), TSR_OK) << error.message;
  std::string order;
  for (const Launched &l : launched) {
    order += l.phase.find("_spans_kernel") != std::string::npos ? "spans " : "";
    order += l.phase.find("_spans_list_") != std::string::npos ? "list " : "";
    order += l.phase.find("_insert_") != std::string::npos ? "insert " : "";
    order += l.phase.find("_spans_answer_") != std::string::npos ? "answer " : "";
  }
  const bool grows = std::string(c.words).find("growth") != std::string::npos;
  EXPECT_EQ(order, !c.combines ? "insert "
                   : grows     ? "spans list insert "
                   : c.asks    ? "spans insert answer "
                               : "spans insert ");
  fake().launch = nullptr;
  tsr_table_destroy(table);
}

const uint64_t large = uint64_t{1} << 20;
INSTANTIATE_TEST_SUITE_P(
    All, Spans,
    testing::Values(Combining{"layout=packed probing=linear duplicates=add", large, false, true},
                    Combining{"layout=packed probing=linear duplicates=add", large - 1, false, false},
                    Combining{"layout=packed probing=linear duplicates=add", large, true, true},
                    Combining{"layout=packed probing=linear duplicates=first", large, false, true},
                    Combining{"layout=packed probing=cuckoo duplicates=min", large, false, true},
                    Combining{"layout=soa probing=linear duplicates=replace", large, false, true},
                    Combining{"layout=packed probing=cuckoo duplicates=add growth=double", large, false, true},
                    Combining{"layout=packed probing=cuckoo duplicates=add growth=double", large, true, false},
                    Combining{"layout=packed probing=linear duplicates=add statistics=yes", large, false, true},
                    Combining{"layout=packed probing=linear duplicates=add filter=8", large, false, true},
                    Combining{"layout=soa probing=linear duplicates=max", large, false, true}));

TEST(HostArrays, OfMoreKeysThanAGridCountsAreRefused) {
  tsr_table *table = table_of("");
  tsr_error error = {};
  const uint64_t most = (uint64_t{1} << 39) - 256;
  uint32_t key = 1;
  uint8_t present = 0;
  for (uint64_t n : {most + 1, most + 256}) {
    EXPECT_EQ(tsr_contains(table, n, &key, &present, nullptr, &error), TSR_BAD_ARGUMENT) << error.message;
    EXPECT_NE(std::string(error.message).find("at most 2^39 - 256 keys a call"), std::string::npos) << error.message;
  }
  tsr_table_destroy(table);
}

// ---- Graphs -------------------------------------------------------------------------------------

// What is launched while a stream is captured.
struct Recorded {
  std::string kernel;
  tsr_bulk bulk;
};
std::vector<Recorded> recorded;

void record(const char *kernel, void **parameters) {
  const bool is_bulk = strstr(kernel, "_kernel") != nullptr; // others have another argument
  recorded.push_back({kernel, is_bulk ? *static_cast<tsr_bulk *>(parameters[0]) : tsr_bulk{}});
}

class Captured : public testing::TestWithParam<const char *> {
protected:
  enum : uint32_t { N = 100 };

  void make(const std::string &words) {
    heal();
    tsr_spec *spec = spec_of(words);
    launch_as(spec);
    tsr_spec_free(spec);
    table_ = table_of(words);
    play_ = fake().launch;
    for (void **array : {&keys_, &values_, &found_, &codes_})
      ASSERT_EQ(tsr_memory_allocate(table_, 4 * N, array, &error_), TSR_OK) << error_.message;
    fake().unrecordable = 0;
    recorded.clear();
  }
  void TearDown() override {
    release();
    for (void *array : {keys_, values_, found_, codes_}) tsr_memory_free(table_, array);
    tsr_table_destroy(table_);
    heal();
    EXPECT_EQ(fake().allocations, 0);
  }

  void capture() {
    fake().captured = &stream_;
    fake().launch = record;
  }
  void release() {
    fake().captured = nullptr;
    fake().launch = play_;
  }
  tsr_call call(bool has_results) {
    tsr_call made = {};
    made.stream = &stream_;
    if (has_results) made.results = static_cast<uint8_t *>(codes_);
    return made;
  }
  void replay() {
    for (Recorded &r : recorded) {
      void *parameters[] = {&r.bulk};
      play_(r.kernel.c_str(), parameters);
    }
  }

  tsr_table *table_ = nullptr;
  tsr_error error_ = {};
  void (*play_)(const char *, void **) = nullptr;
  void *keys_ = nullptr, *values_ = nullptr, *found_ = nullptr, *codes_ = nullptr;
  char stream_ = 0;
};

TEST_P(Captured, CallsRecordLaunchesAlone) {
  ASSERT_NO_FATAL_FAILURE(make(std::string("capacity=300 load_factor=0.5 ") + GetParam()));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_INSERT | TSR_PREPARE_FIND, &error_), TSR_OK) << error_.message;
  uint32_t *keys = static_cast<uint32_t *>(keys_), *values = static_cast<uint32_t *>(values_);
  const uint32_t *found = static_cast<uint32_t *>(found_);
  fake().unrecordable = 0;
  capture();
  tsr_call inserts = call(true), finds = call(false);
  ASSERT_EQ(tsr_insert(table_, N, keys_, values_, &inserts, &error_), TSR_OK) << error_.message;
  ASSERT_EQ(tsr_find(table_, N, keys_, found_, &finds, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(fake().unrecordable, 0);
  EXPECT_GE(recorded.size(), 2u);
  release();
  for (uint32_t round = 0; round < 100; round++) {
    for (uint32_t i = 0; i < N; i++) keys[i] = (i + round * 7) * 2654435761u, values[i] = i + round;
    replay();
    for (uint32_t i = 0; i < N; i++) ASSERT_EQ(found[i], i + round) << round;
    uint64_t size = 0;
    ASSERT_EQ(tsr_size(table_, &size, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(size, N);
    if (round % 9 == 8)
      ASSERT_EQ(tsr_clear(table_, nullptr, &error_), TSR_OK) << error_.message;
    else
      ASSERT_EQ(tsr_erase(table_, N, keys_, nullptr, &error_), TSR_OK) << error_.message;
  }
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table_, &report, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(report.insert_keys, 0u) << "no call has inserted";
  EXPECT_EQ(report.inserted, 100u * N);
}
INSTANTIATE_TEST_SUITE_P(All, Captured,
                         testing::Values("layout=packed probing=cuckoo duplicates=first",
                                         "layout=packed probing=cuckoo duplicates=add",
                                         "layout=soa probing=double_hashing duplicates=replace"));

class CapturedCalls : public Captured {
protected:
  void expect_refused(tsr_status status, const char *word) {
    EXPECT_EQ(status, TSR_UNSUPPORTED);
    EXPECT_NE(std::string(error_.message).find(word), std::string::npos) << error_.message;
    EXPECT_EQ(fake().unrecordable, 0) << "the capture is spoiled";
    EXPECT_TRUE(recorded.empty());
  }
};

TEST_F(CapturedCalls, ThatCannotBeRecordedAreRefused) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo duplicates=add"));
  std::vector<uint32_t> on_host(N);
  tsr_call plain = call(false), with_results = call(true);
  capture();
  expect_refused(tsr_insert(table_, N, keys_, values_, &with_results, &error_), "tsr_table_prepare");
  expect_refused(tsr_insert(table_, N, keys_, values_, &plain, &error_), "call->results");
  expect_refused(tsr_find(table_, N, on_host.data(), found_, &plain, &error_), "host memory");
}

// They would wait: for kernels that are made for the call, to see whether all pairs have a place, for other parts.
TEST_F(CapturedCalls, ThatWaitAreRefused) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo"));
  tsr_call plain = call(false);
  tsr_batch_part part = {};
  part.size = sizeof part;
  part.n = N;
  part.keys = keys_;
  part.values = values_;
  part.call = &plain;
  tsr_statements statements = {};
  statements.text = "";
  capture();
  expect_refused(tsr_for_all(table_, &statements, &stream_, &error_), "tsr_kernel_launch");
  expect_refused(tsr_for_each(table_, N, keys_, &statements, &stream_, &error_), "tsr_kernel_launch");
  expect_refused(tsr_build(table_, N, keys_, values_, &plain, 3, &error_), "before");
  expect_refused(tsr_call_parts(table_, TSR_PREPARE_INSERT, 1, &part, &error_), "tsr_insert");
  tsr_request link = {};
  link.op = TSR_CALL_LINK;
  link.call.stream = &stream_;
  expect_refused(tsr_call_begin(table_, &link, &error_), "once before");
}

// A graph has no pages: what goes there at random must then be combined, as by any call that does not go page by page.
TEST_F(CapturedCalls, CombineWherePagesWouldHave) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo duplicates=add page_bytes=4Ki page_batch=1"));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_INSERT, &error_), TSR_OK) << error_.message;
  tsr_call with_results = call(true);
  capture();
  for (uint32_t round = 0; round < 2; round++) {
    recorded.clear();
    ASSERT_EQ(tsr_insert(table_, N, keys_, values_, &with_results, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(recorded.size(), 2u) << "call " << round;
    EXPECT_NE(recorded[0].kernel.find("_insert_"), std::string::npos) << recorded[0].kernel;
    EXPECT_NE(recorded[1].kernel.find("_combine_"), std::string::npos) << recorded[1].kernel;
  }
}

TEST_F(CapturedCalls, OfTablesThatGrowAreRefused) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo growth=double"));
  tsr_call plain = call(false);
  capture();
  expect_refused(tsr_insert(table_, N, keys_, values_, &plain, &error_), "growth = none");
}

// An index needs operations and steps of its own; with reuse = no the host counts its numbers.
TEST_F(CapturedCalls, OfAnIndexAreRecordedOrRefused) {
  const std::string words = "capacity=300 layout=packed probing=cuckoo kind=index ";
  ASSERT_NO_FATAL_FAILURE(make(words));
  uint64_t given = 0;
  uint32_t *numbers = static_cast<uint32_t *>(found_);
  const tsr_call numbering = call(false);
  tsr_unique_arrays unique = {};
  unique.stream = &stream_;
  capture();
  expect_refused(tsr_number(table_, N, keys_, numbers, &numbering, &error_), "tsr_table_prepare");
  expect_refused(tsr_keys_by_number(table_, 0, N, keys_, &numbering, &error_), "it waits");
  uint64_t *device_given = static_cast<uint64_t *>(found_);
  expect_refused(tsr_unique(table_, N, keys_, &unique, &given, &error_), "host memory");
  expect_refused(tsr_unique(table_, N, keys_, &unique, device_given, &error_), "tsr_table_prepare");
  unique.keep = 1;
  expect_refused(tsr_unique(table_, N, keys_, &unique, device_given, &error_), "leave keep at 0");
  unique.keep = 0;
  release();
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_FIND_OR_INSERT | TSR_PREPARE_ERASE, &error_), TSR_OK)
      << error_.message;
  capture();
  EXPECT_EQ(tsr_number(table_, N, keys_, numbers, &numbering, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(tsr_erase(table_, N, keys_, &numbering, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(fake().unrecordable, 4) << "memory of both calls comes and goes with the graph";
  EXPECT_GE(recorded.size(), 12u);
  release();
  capture();
  EXPECT_EQ(tsr_unique(table_, N, keys_, &unique, device_given, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(tsr_unique(table_, 0, nullptr, &unique, device_given, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(fake().unrecordable, 6) << "so does its memory";
  EXPECT_GE(recorded.size(), 3u);
  release();
  TearDown();
  table_ = nullptr;
  ASSERT_NO_FATAL_FAILURE(make(words + "reuse=no"));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_FIND_OR_INSERT, &error_), TSR_OK) << error_.message;
  capture();
  expect_refused(tsr_number(table_, N, keys_, numbers, &numbering, &error_), "reuse = yes");
  release();
  TearDown();
  table_ = nullptr;
  ASSERT_NO_FATAL_FAILURE(make(words + "eviction=lru"));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_FIND_OR_INSERT, &error_), TSR_OK) << error_.message;
  capture();
  expect_refused(tsr_number(table_, N, keys_, numbers, &numbering, &error_), "eviction = none");
  expect_refused(tsr_touch(table_, N, numbers, &stream_, &error_), "it waits");
}

// The same numbers as on the cpu backend, by the launches that a GPU would get.
TEST_F(CapturedCalls, OfAnIndexNumberWhenTheyRun) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo kind=index numbering=first_seen"));
  uint32_t *keys = static_cast<uint32_t *>(keys_), *numbers = static_cast<uint32_t *>(found_);
  for (uint32_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < N; i++) keys[i] = 100 - i % 50;
    ASSERT_EQ(tsr_number(table_, N, keys_, numbers, nullptr, &error_), TSR_OK) << error_.message;
    for (uint32_t i = 0; i < N; i++) ASSERT_EQ(numbers[i], i % 50);
    uint64_t given = 0;
    ASSERT_EQ(tsr_numbers_given(table_, &given, &error_), TSR_OK) << error_.message;
    ASSERT_EQ(given, 50u);
    if (round == 1) {
      ASSERT_EQ(tsr_clear(table_, nullptr, &error_), TSR_OK) << error_.message;
    }
  }
}

TEST_F(CapturedCalls, OfSeveralDevicesAreRefused) {
  fake().devices = 2;
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo devices=0,1"));
  tsr_call plain = call(false);
  capture();
  expect_refused(tsr_find(table_, N, keys_, found_, &plain, &error_), "one device");
  expect_refused(tsr_clear(table_, &stream_, &error_), "one device");
}

// ---- Zones --------------------------------------------------------------------------------------

std::vector<std::string> kernels;

class Zones : public Captured {
protected:
  void look() {
    kernels.clear();
    fake().launch = [](const char *kernel, void **) { kernels.push_back(kernel); };
  }
  bool has(const char *word) {
    for (const std::string &kernel : kernels)
      if (kernel.find(word) != std::string::npos) return true;
    return false;
  }
};

TEST_F(Zones, OrderFindsWhereThereIsMemory) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo page_bytes=4Ki find_batch=100"));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_FIND, &error_), TSR_OK) << error_.message;
  tsr_call plain = call(false);
  look();
  ASSERT_EQ(tsr_find(table_, N, keys_, found_, &plain, &error_), TSR_OK) << error_.message;
  ASSERT_GE(kernels.size(), 5u);
  EXPECT_TRUE(has("tsr_zone_count") && has("tsr_zone_scatter") && has("find_kernel") && has("tsr_zone_gather"));
  const int64_t allocations = fake().allocations;
  look();
  fake().allocations_only = fake().for_good = true;
  fake().calls_left = 0;
  ASSERT_EQ(tsr_find(table_, N, keys_, found_, &plain, &error_), TSR_OK) << error_.message;
  fake().calls_left = -1;
  fake().allocations_only = fake().for_good = false;
  EXPECT_EQ(kernels.size(), 1u) << "without memory a find goes as it came";
  EXPECT_TRUE(has("find_kernel"));
  EXPECT_EQ(fake().allocations, allocations);
  look();
  ASSERT_EQ(tsr_find(table_, N - 1, keys_, found_, &plain, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(kernels.size(), 1u);
}

// Whether there will be memory when a graph is kernels nobody knows.
TEST_F(Zones, AreNotRecorded) {
  ASSERT_NO_FATAL_FAILURE(make("capacity=300 layout=packed probing=cuckoo page_bytes=4Ki find_batch=1"));
  ASSERT_EQ(tsr_table_prepare(table_, TSR_PREPARE_FIND, &error_), TSR_OK) << error_.message;
  tsr_call plain = call(false);
  capture();
  ASSERT_EQ(tsr_find(table_, N, keys_, found_, &plain, &error_), TSR_OK) << error_.message;
  EXPECT_EQ(recorded.size(), 1u);
  EXPECT_EQ(fake().unrecordable, 0);
}

// ---- An index -----------------------------------------------------------------------------------

// Whatever fails, later calls give right numbers, or say that the table must be cleared.
class FailingIndex : public testing::TestWithParam<const char *> {
protected:
  enum : uint32_t { N = 60 };

  tsr_status number(tsr_table *t, uint32_t from, std::vector<uint32_t> *numbers, tsr_error *error) {
    std::vector<uint32_t> keys(N);
    for (uint32_t i = 0; i < N; i++) keys[i] = (from + i % 40) * 2654435761u;
    numbers->assign(N, 12345);
    *error = {};
    const tsr_status status = tsr_number(t, N, keys.data(), numbers->data(), nullptr, error);
    expect_sentence(status, *error);
    return status;
  }

  // With nothing that fails any more.
  void expect_right(tsr_table *t) {
    std::vector<uint32_t> one, two(1);
    tsr_error error = {};
    uint64_t given = 0;
    if (number(t, 0, &one, &error)) {
      ASSERT_NE(std::string(error.message).find("tsr_clear"), std::string::npos) << error.message;
      EXPECT_EQ(tsr_find(t, 1, one.data(), two.data(), nullptr, &error), TSR_UNSUPPORTED);
      EXPECT_EQ(tsr_export(t, 0, nullptr, nullptr, &given, &error), TSR_UNSUPPORTED);
      ASSERT_EQ(tsr_clear(t, nullptr, &error), TSR_OK) << error.message;
      ASSERT_EQ(number(t, 0, &one, &error), TSR_OK) << error.message;
    }
    ASSERT_EQ(number(t, 0, &two, &error), TSR_OK) << error.message;
    EXPECT_EQ(one, two);
    ASSERT_EQ(tsr_numbers_given(t, &given, &error), TSR_OK) << error.message;
    EXPECT_EQ(std::set<uint32_t>(one.begin(), one.end()).size(), 40u);
    for (uint32_t i = 0; i < N; i++) {
      EXPECT_EQ(one[i], one[i % 40]);
      EXPECT_LT(one[i], given);
    }
  }
};

TEST_P(FailingIndex, IsRightOrMustBeCleared) {
  const std::string words = std::string("capacity=200 kind=index ") + GetParam();
  tsr_spec *spec = spec_of(words);
  launch_as(spec);
  uint64_t torn = 0;
  for (bool for_good : {false, true})
    for (int64_t k = !tests_all() && sanitized == for_good;; k += tests_all() ? 1 : 2) {
      SCOPED_TRACE(k);
      ASSERT_LT(k, calls_max) << "it never works";
      heal();
      tsr_table *t = table_of(words);
      std::vector<uint32_t> numbers;
      tsr_error error = {};
      fake().calls_left = k;
      fake().for_good = for_good;
      for (uint32_t round = 0; round < 3; round++) {
        (void)number(t, round * 20, &numbers, &error);
        std::vector<uint32_t> gone(30);
        for (uint32_t i = 0; i < 30; i++) gone[i] = (round * 20 + i) * 2654435761u;
        tsr_status status = tsr_erase(t, 30, gone.data(), nullptr, &error);
        status = status ? status : tsr_keys_by_number(t, 0, 30, gone.data(), nullptr, &error);
        expect_sentence(status, status ? error : tsr_error{});
      }
      const bool has_failed = fake().failed_call != nullptr;
      heal();
      torn += number(t, 500, &numbers, &error) != TSR_OK;
      ASSERT_NO_FATAL_FAILURE(expect_right(t));
      tsr_table_destroy(t);
      if (!has_failed) break;
      if (HasFailure()) break;
    }
  EXPECT_GT(torn, 0u) << "no failure came when keys had marks";
  tsr_spec_free(spec);
  heal();
}
INSTANTIATE_TEST_SUITE_P(All, FailingIndex,
                         testing::Values("probing=cuckoo", "probing=cuckoo numbering=first_seen",
                                         "layout=soa probing=double_hashing reuse=no",
                                         "capacity=50 layout=soa probing=double_hashing eviction=lru clean=no"));

// ---- The heap of malloc -------------------------------------------------------------------------

TEST(Heap, IsAsLargeAsWasAskedForOrTheFailureSaysHowLarge) {
  tsr_device *device = nullptr;
  tsr_error error = {};
  heal();
  ASSERT_EQ(tsr_cuda_backend.open(0, &device, &error), TSR_OK) << error.message;
  EXPECT_EQ(tsr_cuda_backend.reserve_heap(device, 1 << 20, &error), TSR_OK) << error.message;
  EXPECT_EQ(fake().heap_bytes, 1u << 20);
  EXPECT_EQ(tsr_cuda_backend.reserve_heap(device, 1 << 10, &error), TSR_OK) << error.message;
  EXPECT_EQ(fake().heap_bytes, 1u << 20) << "others may use what is there";
  EXPECT_EQ(tsr_cuda_backend.reserve_heap(device, 1 << 21, &error), TSR_NO_MEMORY);
  EXPECT_NE(std::string(error.message).find("a heap of 1048576 bytes, not of 2097152"), std::string::npos)
      << error.message;
  tsr_cuda_backend.close(device);
}

TEST(Roofline, MayFailAtEveryCall) {
#define ONE_MORE(kernel, name, bytes, lanes, kind) +1
  constexpr size_t kernels = 0 TSR_ROOFLINE_KERNELS(ONE_MORE);
#undef ONE_MORE
  launch_as(nullptr);
  for (bool for_good : {false, true})
    for (int64_t k = !tests_all() && sanitized == for_good;; k += tests_all() ? 1 : 2) {
      SCOPED_TRACE(k);
      ASSERT_LT(k, calls_max) << "it never works";
      heal();
      fake().calls_left = k;
      fake().for_good = for_good;
      tsr_roofline_row *rows = nullptr;
      size_t count = 0;
      tsr_error error = {};
      tsr_status status = tsr_roofline(0, 4096, &rows, &count, &error);
      SCOPED_TRACE(fake().failed_call ? fake().failed_call : "none");
      expect_sentence(status, error);
      expect_nothing_left();
      EXPECT_TRUE(status || count == kernels + 3) << count;
      EXPECT_EQ(status != TSR_OK, rows == nullptr);
      free(rows);
      if (!fake().failed_call) {
        EXPECT_EQ(status, TSR_OK) << error.message;
        EXPECT_GT(k, 300);
        break;
      }
      EXPECT_TRUE(status || may_be_silent(fake().failed_call)) << "nobody heard of it";
      if (HasFailure()) break;
    }
  heal();
}

// ---- Every allocation ---------------------------------------------------------------------------

class EveryAllocation : public testing::TestWithParam<Words> {
protected:
  void SetUp() override {
    heal();
    tsr_spec *spec = spec_of(GetParam().composition);
    launch_as(spec);
    tsr_spec_free(spec);
  }
  void TearDown() override { heal(); }

  // Calls `work` while the 0th, 1st, ... allocation fails, until none does; `check` judges every outcome.
  static void with_failures(const std::function<tsr_status(tsr_error *)> &work,
                            const std::function<void(tsr_status)> &check) {
    fake_cuda_state &f = fake();
    for (int64_t k = 0;; k++) {
      SCOPED_TRACE(k);
      ASSERT_LT(k, calls_max) << "it never works";
      f.failed_call = nullptr;
      f.failure = FAKE_OUT_OF_MEMORY;
      f.allocations_only = true;
      f.for_good = GetParam().for_good;
      f.calls_left = k;
      tsr_error error = {};
      tsr_status status = work(&error);
      f.calls_left = -1;
      expect_sentence(status, error);
      ASSERT_TRUE(status == TSR_OK || status == TSR_NO_MEMORY) << error.message;
      ASSERT_EQ(status != TSR_OK,
                std::string(error.message).find("a device of paper cannot allocate ") != std::string::npos)
          << error.message;
      check(status);
      if (testing::Test::HasFailure()) return;
      if (!f.failed_call) {
        ASSERT_EQ(status, TSR_OK) << error.message;
        ASSERT_GT(k, 0);
        return;
      }
    }
  }

  static void arrays_of(const std::map<uint32_t, uint32_t> &pairs, std::vector<uint32_t> *keys,
                        std::vector<uint32_t> *values) {
    for (const auto &pair : pairs) {
      keys->push_back(pair.first);
      values->push_back(pair.second);
    }
  }
};

TEST_P(EveryAllocation, CreateLeavesNothing) {
  for (const char *wanted : {"cuda", "auto"}) { // what does not fit on the GPU is not moved to the CPU in silence
    tsr_spec *spec = spec_of(GetParam().composition + " backend=" + wanted);
    tsr_options options = {};
    options.plugins = plugin_folders();
    tsr_table *table = nullptr;
    with_failures([&](tsr_error *error) { return tsr_table_create(spec, &options, &table, error); },
                  [&](tsr_status status) {
                    ASSERT_EQ(status != TSR_OK, fake().failed_call != nullptr);
                    ASSERT_EQ(status != TSR_OK, table == nullptr);
                    ASSERT_TRUE(!status || fake().allocations == 0);
                  });
    tsr_table_destroy(table);
    tsr_spec_free(spec);
    ASSERT_EQ(fake().allocations, 0);
  }
}

TEST_P(EveryAllocation, InsertAndFindChangeNothing) {
  Random random(1);
  auto pairs = some_pairs(random, 300);
  std::vector<uint32_t> keys, values;
  arrays_of(pairs, &keys, &values);
  std::vector<uint32_t> found(keys.size());
  std::vector<uint8_t> codes(keys.size());
  tsr_table *table = table_of(GetParam().composition);
  tsr_call call = {};
  call.results = codes.data();
  with_failures(
      [&](tsr_error *error) { return tsr_insert(table, keys.size(), keys.data(), values.data(), &call, error); },
      [&](tsr_status status) {
        ASSERT_EQ(status != TSR_OK, fake().failed_call != nullptr);
        expect_pairs(table, status ? std::map<uint32_t, uint32_t>() : pairs);
      });
  with_failures([&](tsr_error *error) { return tsr_find(table, keys.size(), keys.data(), found.data(), &call, error); },
                [&](tsr_status status) {
                  ASSERT_EQ(status != TSR_OK, fake().failed_call != nullptr);
                  ASSERT_TRUE(status || found == values);
                });
  tsr_report report = {};
  ASSERT_EQ(tsr_table_report(table, &report, nullptr), TSR_OK);
  EXPECT_EQ(report.insert_keys, keys.size()) << "calls that did nothing are counted";
  EXPECT_EQ(report.inserted, keys.size());
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
  ASSERT_EQ(fake().allocations, 0);
}

TEST_P(EveryAllocation, GrowingLosesNothing) {
  Random random(2);
  auto pairs = some_pairs(random, 300);
  std::vector<uint32_t> keys, values;
  arrays_of(pairs, &keys, &values);
  std::vector<uint8_t> codes(keys.size());
  std::vector<uint32_t> back_keys(keys.size()), back_values(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  call.unplaced_keys = back_keys.data();
  call.unplaced_values = back_values.data();
  tsr_table *table = nullptr;
  with_failures(
      [&](tsr_error *error) {
        int64_t k = fake().calls_left;
        fake().calls_left = -1;
        tsr_table_destroy(table);
        EXPECT_EQ(fake().allocations, 0);
        table = table_of(GetParam().composition + " capacity=16 growth=double");
        codes.assign(codes.size(), 255);
        fake().calls_left = k;
        return tsr_insert(table, keys.size(), keys.data(), values.data(), &call, error);
      },
      [&](tsr_status) {
        std::map<uint32_t, uint32_t> expected;
        for (size_t i = 0; i < keys.size(); i++)
          if (codes[i] == TSR_INSERTED || codes[i] == TSR_NOT_PLACED) expected[keys[i]] = values[i];
        for (size_t i = 0; i < keys.size(); i++)
          if (codes[i] == TSR_NOT_PLACED) {
            ASSERT_EQ(expected.count(back_keys[i]), 1u);
            ASSERT_EQ(expected[back_keys[i]], back_values[i]);
            expected.erase(back_keys[i]);
          }
        expect_pairs(table, expected);
      });
  expect_pairs(table, pairs);
  tsr_table_destroy(table);
  ASSERT_EQ(fake().allocations, 0);
}

TEST_P(EveryAllocation, RehashKeepsTheTable) {
  Random random(3);
  auto pairs = some_pairs(random, 500);
  tsr_table *table = table_of(GetParam().composition);
  fill(table, pairs);
  tsr_rehash_options options = {};
  options.capacity = 3000;
  int64_t before = fake().allocations;
  with_failures([&](tsr_error *error) { return tsr_rehash(table, &options, error); },
                [&](tsr_status status) {
                  ASSERT_EQ(status != TSR_OK, fake().failed_call != nullptr);
                  ASSERT_EQ(fake().allocations, before);
                  ASSERT_EQ(info_of(table).capacity, status ? 1000u : 3000u);
                  expect_pairs(table, pairs);
                });
  tsr_table_destroy(table);
  ASSERT_EQ(fake().allocations, 0);
}

TEST_P(EveryAllocation, SaveAndLoad) {
  Random random(4);
  const std::string path = testing::TempDir() + "/hostile.tsr";
  auto pairs = some_pairs(random, 500);
  tsr_table *table = table_of(GetParam().composition), *loaded = nullptr;
  fill(table, pairs);
  ASSERT_EQ(tsr_table_save(table, path.c_str(), nullptr), TSR_OK);
  tsr_table_destroy(table);
  tsr_load_options options = {};
  options.plugins = plugin_folders();
  with_failures([&](tsr_error *error) { return tsr_table_load(path.c_str(), &options, &loaded, error); },
                [&](tsr_status status) {
                  ASSERT_EQ(status != TSR_OK, fake().failed_call != nullptr);
                  ASSERT_EQ(status != TSR_OK, loaded == nullptr);
                  ASSERT_TRUE(!status || fake().allocations == 0);
                });
  expect_pairs(loaded, pairs);
  tsr_table_destroy(loaded);
  ASSERT_EQ(fake().allocations, 0);
}

std::vector<Words> plain_compositions() {
  std::vector<Words> all;
  for (const std::string &words : compositions())
    for (bool for_good : {false, true}) all.push_back({words, for_good});
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryAllocation, testing::ValuesIn(plain_compositions()));

} // namespace
