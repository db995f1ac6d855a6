// SPDX-License-Identifier: Apache-2.0
//
// A fuzzer of compositions: random specs (random_spec.h), of which those that tsr_spec_check accepts are made into
// tables and judged by the oracle (../oracle/exercise.h), on either backend. What differs is made smaller and printed
// with the line that repeats it. bazel runs a few hundred; by hand, in the top folder of the checkout:
//
//   bazel build //tests/compositions:fuzz && bazel-bin/tests/compositions/fuzz --count 10000 --seed 7
//
// tests/device/stage.sh carries it to a machine with a GPU: ./fuzz --backend cuda --count 300.
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "core/tessera_tools.h"
#include "tests/compositions/random_spec.h"
#include "tests/oracle/cache_exercise.h"
#include "tests/oracle/exercise.h"
#include "tests/oracle/index_exercise.h"

namespace tessera_test {
namespace {

struct Plan {
  uint64_t count = scaled(200, 3), first = 0; // compositions that work; the number of the first spec
  uint64_t operations = 40;                   // of each exercise
  uint64_t seconds = 120;                     // of processors, that one composition may take
  uint64_t failures = 1;                      // after that many it ends
  std::string backend = "cpu", plugins;
};

// For the handlers below: what is tried now.
std::string now;

void say(const char *what) {
  if (write(STDERR_FILENO, what, strlen(what)) < 0) return;
}

// Async-signal-safe: `now` is complete while a composition runs.
void tell_what_ran(int signal) {
  say(signal == SIGPROF ? "\nFAILED: it has no end:\n" : "\nFAILED: it crashes:\n");
  say(now.c_str());
  std::signal(signal, SIG_DFL);
  raise(signal == SIGPROF ? SIGKILL : signal);
}

// In seconds of processors, which a busy machine does not shorten. 0: no limit.
void limit_time(uint64_t seconds) {
  itimerval limit = {};
  limit.it_value.tv_sec = static_cast<time_t>(seconds);
  setitimer(ITIMER_PROF, &limit, nullptr);
}

std::string folders_of_the_rooms() {
  const char *given = getenv("TESSERA_PLUGINS");
  if (given && *given) return given;
  const bool is_checkout = access("bazel-bin/layouts", F_OK) == 0;
  std::string result;
  for (const char *room : {"layouts", "probing", "hashers", "allocators", "eviction"})
    result += (result.empty() ? "" : ":") + std::string(is_checkout ? "bazel-bin/" : "") + room;
  return result;
}

// ---- One composition ----------------------------------------------------------------------------

class Trial {
public:
  Trial(const Plan &plan, const RandomSpec &spec, uint64_t number) : plan_(plan), spec_(spec), random_(~number) {
    options_.plugins = plan.plugins.c_str();
  }

  // Whether the parts accept each other. *complaint: a refusal that is none.
  bool is_accepted(std::string *complaint) {
    auto spec = spec_.parse();
    char *text = nullptr;
    tsr_error error = {};
    if (!spec) *complaint = "the spec cannot be read";
    if (!spec) return false;
    tsr_status status = tsr_spec_check(spec.get(), &options_, &text, &error);
    free(text);
    if (status == TSR_OK) return true;
    if (status != TSR_INCOMPATIBLE && status != TSR_UNSUPPORTED && status != TSR_BAD_SPEC) *complaint = error.message;
    if (strlen(error.message) < 30 || strchr(error.message, '\n'))
      *complaint = std::string("refused without a sentence: ") + error.message;
    return false;
  }

  // "" if it agrees with the oracle.
  std::string run() {
    auto spec = spec_.parse();
    tsr_table *table = nullptr;
    tsr_error error = {};
    if (tsr_table_create(spec.get(), &options_, &table, &error))
      return std::string("check accepts it, and no table can be made of it: ") + error.message;
    Table subject(table, spec_.key_bits(), spec_.value_bits());
    tsr_table_info info = {};
    tsr_table_describe(table, &info);
    if (spec_.get("table", "kind") == "cache") return run_cache(&subject, info);
    if (spec_.get("table", "kind") == "index") return run_index(&subject, info);
    Exercise::Options options;
    options.slots = std::min<uint64_t>(info.slots, 4000);
    options.operations = plan_.operations;
    options.batch_max = random_.chance(4) ? 1500 : 64;
    options.erases_pairs = spec_.get("table", "values") != "buckets";
    options.mixes = spec_.get("table", "concurrency") == "mixed";
    Exercise exercise(subject, spec_.policy(), random_, options);
    std::string complaint = exercise.run();
    if (complaint.empty()) complaint = change(&subject);
    if (complaint.empty()) complaint = exercise.run();
    return complaint;
  }

private:
  std::string run_cache(Table *subject, const tsr_table_info &info) {
    CacheExercise::Options options = {};
    options.key_bytes = spec_.key_bits() / 8;
    options.value_bytes = spec_.value_bytes();
    options.replaces = spec_.get("table", "duplicates") == "replace";
    options.operations = plan_.operations;
    options.batch_max = random_.chance(4) ? 1500 : 64;
    options.distinct = 4 + (1 + random_.below(3)) * std::min<uint64_t>(info.slots, 4000);
    options.now = spec_.get("table", "eviction") == "ttl"; // so that no pair expires
    std::string complaint = CacheExercise(subject->get(), options, random_).run();
    if (complaint.empty()) complaint = save_and_load(subject);
    return complaint.empty() ? CacheExercise(subject->get(), options, random_).run() : complaint;
  }

  std::string run_index(Table *subject, const tsr_table_info &info) {
    IndexExercise::Options options = {};
    options.key_bits = spec_.key_bits();
    options.row_bytes = spec_.value_bytes();
    options.evicts = !spec_.get("table", "eviction").empty();
    options.in_order = spec_.get("table", "numbering") == "first_seen";
    const std::string scheme = spec_.get("table", "probing");
    options.moves = scheme == "cuckoo" || scheme == "robin_hood" || scheme == "linear_hashing";
    options.operations = plan_.operations;
    options.batch_max = random_.chance(4) ? 1500 : 64;
    options.distinct = 4 + (1 + random_.below(3)) * std::min<uint64_t>(info.slots, 4000) / 2;
    IndexExercise exercise(options, random_);
    std::string complaint = exercise.run(subject->get());
    if (complaint.empty()) complaint = change(subject);
    return complaint.empty() ? exercise.run(subject->get()) : complaint;
  }

  // What leaves every pair where the oracle knows it.
  std::string change(Table *subject) {
    tsr_error error = {};
    tsr_status status = TSR_OK;
    tsr_rehash_options rehash = {};
    switch (random_.below(4)) {
    case 0:
      return save_and_load(subject);
    case 1:
      rehash.seed = 1 + random_.below(1000);
      status = tsr_rehash(subject->get(), &rehash, &error);
      break;
    case 2:
      status = tsr_flush(subject->get(), nullptr, &error);
      break;
    default:
      break;
    }
    return status == TSR_OK || status == TSR_UNSUPPORTED ? "" : error.message;
  }

  std::string save_and_load(Table *subject) {
    char path[] = "/tmp/tessera-fuzz.XXXXXX";
    int file = mkstemp(path);
    if (file < 0) return "no file can be made in /tmp";
    close(file);
    tsr_load_options options = {};
    options.plugins = plan_.plugins.c_str();
    tsr_table *loaded = nullptr;
    tsr_error error = {};
    tsr_status status = tsr_table_save(subject->get(), path, &error);
    if (status == TSR_OK) status = tsr_table_load(path, &options, &loaded, &error);
    unlink(path);
    if (status) return std::string("saved and loaded: ") + error.message;
    subject->replace(loaded);
    return "";
  }

  const Plan &plan_;
  const RandomSpec &spec_;
  Random random_;
  tsr_options options_ = {};
};

// "" also if it is refused; *accepted says which.
std::string trial(const Plan &plan, const RandomSpec &spec, uint64_t number, bool *accepted) {
  std::string complaint;
  now = "  spec " + std::to_string(number) + ": --seed " + std::to_string(seed()) + " --first " +
        std::to_string(number) + " --count 1 --backend " + plan.backend + "\n" + spec.text();
  limit_time(plan.seconds);
  Trial trial(plan, spec, number);
  *accepted = trial.is_accepted(&complaint);
  if (*accepted) complaint = trial.run();
  limit_time(0);
  return complaint;
}

// ---- What fails, made smaller -------------------------------------------------------------------

// Leaves out what it fails without. Threads race: what fails once in a while stays larger than need be.
RandomSpec shrunk(const Plan &plan, RandomSpec spec, uint64_t number) {
  auto fails = [&](const RandomSpec &candidate) {
    bool accepted;
    return !trial(plan, candidate, number, &accepted).empty();
  };
  for (const RandomSpec::Entry &entry : spec.optional()) {
    RandomSpec smaller = spec;
    smaller.drop(entry);
    if (fails(smaller)) spec = smaller;
  }
  for (uint64_t capacity = strtoull(spec.get("table", "capacity").c_str(), nullptr, 10) / 2; capacity; capacity /= 2) {
    RandomSpec smaller = spec;
    smaller.set("table", "capacity", std::to_string(capacity));
    if (!fails(smaller)) break;
    spec = smaller;
  }
  return spec;
}

int fuzz(const Plan &plan) {
  std::string complaint;
  Parts parts(plan.plugins.c_str(), &complaint);
  if (!complaint.empty()) {
    fprintf(stderr, "fuzz: %s\n", complaint.c_str());
    return 2;
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGPROF}) std::signal(signal, tell_what_ran);
  uint64_t worked = 0, failed = 0, number = plan.first;
  // a few specs in a hundred are refused to the last: a spec that never works must not hang the test
  for (; worked < plan.count && failed < plan.failures && number - plan.first < 100 * plan.count + 100; number++) {
    Random random(number);
    RandomSpec spec = parts.draw(random, plan.backend);
    bool accepted;
    complaint = trial(plan, spec, number, &accepted);
    worked += accepted;
    if (!complaint.empty()) {
      failed++;
      printf("FAILED: %s\n%s", complaint.c_str(), now.c_str());
      printf("smaller:\n%s", shrunk(plan, spec, number).text().c_str());
    }
    if ((accepted && worked % 50 == 0) || !complaint.empty()) {
      printf("%llu compositions of %llu specs\n", (unsigned long long)worked,
             (unsigned long long)(number + 1 - plan.first));
      fflush(stdout);
    }
  }
  printf("%llu compositions of %llu random specs on %s, seed %llu: %llu differ from the oracle\n",
         (unsigned long long)worked, (unsigned long long)(number - plan.first), plan.backend.c_str(),
         (unsigned long long)seed(), (unsigned long long)failed);
  return failed || worked == 0;
}

int usage() {
  fprintf(stderr, "usage: fuzz [--count N] [--seed S] [--first N] [--operations N] [--backend cpu|cuda]\n"
                  "            [--plugins FOLDERS] [--timeout SECONDS] [--failures N]\n");
  return 2;
}

} // namespace
} // namespace tessera_test

int main(int argc, char **argv) {
  using namespace tessera_test;
  Plan plan;
  plan.plugins = folders_of_the_rooms();
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 == argc) return usage();
    std::string option = argv[i], value = argv[i + 1];
    uint64_t number = strtoull(value.c_str(), nullptr, 0);
    if (option == "--count")
      plan.count = number;
    else if (option == "--seed")
      setenv("TSR_SEED", value.c_str(), 1);
    else if (option == "--first")
      plan.first = number;
    else if (option == "--operations")
      plan.operations = number;
    else if (option == "--timeout")
      plan.seconds = number;
    else if (option == "--failures")
      plan.failures = number;
    else if (option == "--backend")
      plan.backend = value;
    else if (option == "--plugins")
      plan.plugins = value;
    else
      return usage();
  }
  return fuzz(plan);
}
