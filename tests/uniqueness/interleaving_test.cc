// SPDX-License-Identifier: Apache-2.0
//
// Uniqueness under chosen interleavings. Threads that race freely meet a narrow window once in a million times; here
// one insert is stopped before its loads and claims, and other whole inserts run in between, of the same key and of
// keys that fill the slots it has looked at. Tables are tiny, partly full and partly erased, so that every look
// matters.
//
// The stopping is done on the composition's own functions: the layout's load and cas are wrapped. An interrupting
// insert runs on a second thread; one that waits for a lock of the stopped insert is left waiting and finishes later.
// Widths 32 and 32 stand for all: the walk is the same source. Built with TSR_TEST_WITHOUT_GUARD the test demands that
// every composition is caught. Read next: ../../core/kernels/walk.cuh.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include "tests/conformance/lanes.h"
#include "tests/oracle/exercise.h"

namespace tessera_test {
namespace {

// ---- Stopping an insert -------------------------------------------------------------------------

thread_local std::function<void()> *interrupt = nullptr; // of this thread's insert
tsr_layout_functions original;                           // of the composition under test

void stop_here() {
  if (interrupt) (*interrupt)();
}

void stopping_load(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  stop_here();
  original.load(c, ref, active, mode, b);
}

bool stopping_cas(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  stop_here();
  return original.cas(c, b, slot, key, payload);
}

// A second thread that performs one thing after the other.
class Helper {
public:
  Helper() : thread_([this] { work(); }) {}
  ~Helper() {
    start([] {});
    wait();
    {
      std::lock_guard<std::mutex> hold(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  bool idle() {
    std::lock_guard<std::mutex> hold(mutex_);
    return !job_;
  }
  void start(std::function<void()> job) {
    wait();
    std::lock_guard<std::mutex> hold(mutex_);
    job_ = std::move(job);
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> hold(mutex_);
    changed_.wait(hold, [this] { return !job_; });
  }
  bool wait_for(std::chrono::microseconds time) {
    std::unique_lock<std::mutex> hold(mutex_);
    return changed_.wait_for(hold, time, [this] { return !job_; });
  }

private:
  void work() {
    std::unique_lock<std::mutex> hold(mutex_);
    for (;;) {
      changed_.wait(hold, [this] { return job_ || ends_; });
      if (!job_) return;
      std::function<void()> job = job_;
      hold.unlock();
      job();
      hold.lock();
      job_ = nullptr;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> job_;
  bool ends_ = false;
  std::thread thread_;
};

// ---- One table ----------------------------------------------------------------------------------

class Stage {
public:
  explicit Stage(CompositionPointer composition)
      : composition_(std::move(composition)), memory_(composition_.get()), cpu_(cpu_of(composition_.get(), nullptr)) {
    original = *static_cast<const tsr_layout_functions *>(cpu_.functions[TSR_ROLE_LAYOUT]);
    wrapped_ = original;
    wrapped_.load = stopping_load;
    wrapped_.cas = stopping_cas;
    cpu_.functions[TSR_ROLE_LAYOUT] = &wrapped_;
  }

  uint64_t slots() const { return composition_->shape.buckets * composition_->shape.bucket_slots; }
  void note_erase() { memory_.note_erase(); }

  // Performs `op` for one key; returns its code. With TSR_NOT_PLACED *key and *value are the unplaced pair. code: what an
  // insert has answered, for TSR_BULK_combine.
  uint8_t perform(uint32_t op, uint32_t *key, uint32_t *value, uint8_t code = 255) {
    tsr_tally tally = {};
    tsr_bulk bulk = {};
    bulk.state = memory_.state();
    bulk.n = 1;
    bulk.keys = key;
    bulk.values = value;
    uint32_t back_key = *key, back_value = *value;
    bulk.unplaced_keys = &back_key;
    bulk.unplaced_values = &back_value;
    bulk.results = &code;
    bulk.tally = &tally;
    tsr_scratch scratch = {};
    tsr_ctx c = context_of(&bulk.state, &cpu_, 0, &scratch);
    tsr_cpu_bulk_for(32, 32)->lane[op](&c, &bulk, 0, 1, &tally);
    *key = back_key;
    *value = back_value;
    return code;
  }

  void exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) {
    uint64_t buckets = tsr_composition_buckets(composition_.get());
    std::vector<uint32_t> key_array(buckets * composition_->shape.bucket_slots), value_array(key_array.size());
    tsr_tally tally = {};
    tsr_bulk bulk = {};
    bulk.state = memory_.state();
    bulk.n = buckets;
    bulk.keys_out = key_array.data();
    bulk.values_out = value_array.data();
    bulk.tally = &tally;
    tsr_cpu_bulk_for(32, 32)->range[TSR_BULK_export](&cpu_, &bulk, 0, 0, buckets, &tally);
    keys->assign(key_array.begin(), key_array.begin() + static_cast<long>(tally.hits));
    values->assign(value_array.begin(), value_array.begin() + static_cast<long>(tally.hits));
  }

private:
  CompositionPointer composition_;
  Memory memory_;
  tsr_cpu cpu_;
  tsr_layout_functions wrapped_;
};

// ---- One schedule -------------------------------------------------------------------------------

struct Insert {
  uint32_t key, value;
  uint8_t code;
  uint32_t back_key, back_value;
};

class Schedule {
public:
  Schedule(const Recipe &recipe, CompositionPointer composition, Random *random, Helper *helper)
      : recipe_(recipe), stage_(std::move(composition)), oracle_(recipe.duplicates, 32), random_(*random),
        helper_(*helper) {}

  // Returns a complaint or "".
  std::string run(uint64_t *interruptions) {
    std::string complaint = prepare();
    if (!complaint.empty()) return "before the race: " + complaint;
    std::vector<Insert> inserts = choose();
    size_t next = 1;
    std::function<void()> between = [&] {
      while (next < inserts.size() && helper_.idle() && random_.chance(3)) {
        Insert *other = &inserts[next++];
        helper_.start([this, other] { perform(other); });
        (*interruptions)++;
        // It waits for a lock, or for its turn on a busy machine; whichever it is, both may go on.
        if (!helper_.wait_for(std::chrono::microseconds(200))) return;
      }
    };
    interrupt = &between;
    perform(&inserts[0]);
    interrupt = nullptr;
    helper_.wait();
    for (; next < inserts.size(); next++) perform(&inserts[next]);
    return judge(&inserts);
  }

private:
  void perform(Insert *insert) {
    insert->back_key = insert->key;
    insert->back_value = insert->value;
    insert->code = stage_.perform(TSR_BULK_insert, &insert->back_key, &insert->back_value);
  }

  uint32_t new_key() {
    for (;;) {
      uint32_t key = static_cast<uint32_t>(random_.next());
      if (random_.chance(50)) key = 0xFFFFFFFFu - static_cast<uint32_t>(random_.below(3));
      if (used_.insert(key).second) return key;
    }
  }

  // Some keys, of which some are erased again.
  std::string prepare() {
    uint64_t full = random_.below(stage_.slots() + 2);
    std::vector<Insert> first;
    for (uint64_t i = 0; i < full; i++) {
      first.push_back({new_key(), static_cast<uint32_t>(random_.next()), 0, 0, 0});
      perform(&first.back());
    }
    std::string complaint = judge(&first);
    std::vector<uint32_t> keys(used_.begin(), used_.end());
    uint64_t erased = random_.chance(3) ? 0 : random_.below(4);
    for (uint64_t i = 0; complaint.empty() && i < erased && !keys.empty(); i++) {
      Batch batch;
      uint32_t key = keys[random_.below(keys.size())], ignored = 0, asked = key;
      stage_.note_erase();
      batch.keys = {key};
      batch.codes = {stage_.perform(TSR_BULK_erase, &asked, &ignored)};
      complaint = oracle_.erase(batch);
    }
    return complaint;
  }

  // The insert that is stopped, then those that come between: the same key once or twice, and others.
  std::vector<Insert> choose() {
    uint32_t key = random_.chance(6) && !used_.empty() ? *used_.begin() : new_key();
    std::vector<Insert> inserts;
    uint64_t others = 1 + random_.below(4);
    for (uint64_t i = 0; i < others; i++)
      inserts.push_back({new_key(), static_cast<uint32_t>(random_.next()), 0, 0, 0});
    inserts.insert(inserts.begin() + static_cast<long>(random_.below(others + 1)),
                   {key, static_cast<uint32_t>(random_.next()), 0, 0, 0});
    if (random_.chance(2)) inserts.push_back({key, static_cast<uint32_t>(random_.next()), 0, 0, 0});
    inserts.insert(inserts.begin(), {key, static_cast<uint32_t>(random_.next()), 0, 0, 0});
    return inserts;
  }

  // After all of them; those that are left to be combined (core/design/0012-hot-keys.md) are first.
  std::string judge(std::vector<Insert> *inserts) {
    Batch batch;
    for (Insert &insert : *inserts) {
      if (insert.code >= TSR_RESULTS)
        insert.code = stage_.perform(TSR_BULK_combine, &insert.back_key, &insert.back_value, insert.code);
      batch.keys.push_back(insert.key);
      batch.values.push_back(insert.value);
      batch.codes.push_back(insert.code);
      batch.back_keys.push_back(insert.back_key);
      batch.back_values.push_back(insert.back_value);
    }
    std::string complaint = oracle_.insert(batch);
    std::vector<uint64_t> keys, values;
    stage_.exported(&keys, &values);
    if (complaint.empty()) complaint = oracle_.exported(keys, values);
    return complaint;
  }

  Recipe recipe_;
  Stage stage_;
  Oracle oracle_;
  Random &random_;
  Helper &helper_;
  std::set<uint32_t> used_;
};

// ---- The test -----------------------------------------------------------------------------------

class Interleaving : public testing::TestWithParam<Recipe> {};

std::string recipe_name(const testing::TestParamInfo<Recipe> &info) {
  std::ostringstream text;
  text << info.param.part[TSR_ROLE_LAYOUT] << "_" << info.param.part[TSR_ROLE_PROBING] << "_"
       << policy_words[info.param.duplicates] << (info.param.mixed ? "_mixed" : "")
       << (info.param.stash ? "_stash" : "");
  return text.str();
}

std::vector<Recipe> recipes() {
  std::vector<Recipe> result;
  if (plugins_of(TSR_ROLE_HASHER).empty()) return result;
  for (const std::string &layout : plugins_of(TSR_ROLE_LAYOUT))
    for (const std::string &probing : plugins_of(TSR_ROLE_PROBING))
      for (uint32_t policy : {TSR_DUPLICATES_FIRST, TSR_DUPLICATES_ADD})
        for (uint32_t kind = 0; kind < 3; kind++) {
          Recipe recipe;
          recipe.part[TSR_ROLE_LAYOUT] = layout;
          recipe.part[TSR_ROLE_PROBING] = probing;
          recipe.part[TSR_ROLE_HASHER] = plugins_of(TSR_ROLE_HASHER)[0];
          recipe.duplicates = policy;
          recipe.mixed = kind == 1;
          recipe.stash = kind == 2 ? 2 : 0;
          recipe.load_factor = "1";
          tsr_error error = {};
          if (compose(recipe, 1, &error)) result.push_back(recipe);
        }
  return result;
}

TEST_P(Interleaving, EveryKeyOnce) {
  TSR_TRACE_SEED;
  Random random(9);
  Helper helper;
  uint64_t interruptions = 0, schedules = 500;
  for (uint64_t i = 0; i < schedules; i++) {
    Recipe recipe = GetParam();
    recipe.capacity = 1 + random.below(16);
    recipe.seed = 1 + random.below(1000);
    Recipe small = recipe; // buckets of one or two slots, where the layout has them to choose
    small.set(TSR_ROLE_LAYOUT, "bucket_slots", 1u << random.below(3));
    tsr_error error = {};
    CompositionPointer composition = compose(small, 1, &error);
    if (!composition) composition = compose(recipe, 1, &error);
    ASSERT_NE(composition, nullptr) << error.message;
    std::string complaint = Schedule(small, std::move(composition), &random, &helper).run(&interruptions);
#ifdef TSR_TEST_WITHOUT_GUARD
    if (!complaint.empty()) return; // caught
  }
  FAIL() << "without the guard nothing went wrong: this test cannot fail";
#else
    ASSERT_EQ(complaint, "") << "schedule " << i << "\n" << small;
  }
  EXPECT_GT(interruptions, schedules / 4);
#endif
}

INSTANTIATE_TEST_SUITE_P(All, Interleaving, testing::ValuesIn(recipes()), recipe_name);

} // namespace
} // namespace tessera_test
