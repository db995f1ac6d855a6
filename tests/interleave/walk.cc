// SPDX-License-Identifier: Apache-2.0
//
// Tables for the explorer (walk.h): compiling, running and judging. Right is what the operations do one after the other, in
// some order (Reference).
#include "tests/interleave/walk.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>

#include "core/compose/compose.h"
#include "core/compose/glue.h"
#include "core/cpu/bulk.h"
#include "core/kernels/cache.h"
#include "core/table/table_struct.h"
#include "core/tessera_tools.h"
#include "tests/rebuild/tables.h"

namespace interleave {

namespace {

// ---- Code ---------------------------------------------------------------------------------------

// What a thread calls, one item of an operation at a time: RANGE is the cpu backend's way, ONE that of a GPU's lane
// (core/kernels/launch.cu).
const char *const head = R"(#include "core/cpu/range.cuh"
#define ONE(op)                                                                                                        \
  static void one_##op(const void *cpu, const tsr_bulk *bulk, uint32_t alone, uint64_t begin, uint64_t end,            \
                       tsr_tally *tally) {                                                                             \
    uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                      \
    tsr_scratch scratch = {.histogram = histogram};                                                                    \
    const tsr_ctx c = cpu_context(cpu, bulk, 0, &scratch);                                                             \
    CPU_COUNT(tally, bulk_##op(&c, bulk, begin, 1));                                                                   \
  }
#define EXPORTED __attribute__((visibility("default")))
typedef void range_function(const void *, const tsr_bulk *, uint32_t, uint64_t, uint64_t, tsr_tally *);
)";

const char *const cache_steps = R"(
#define STEP(step)                                                                                                     \
  EXPORTED void interleave_##step(const tsr_cache_run *run) {                                                          \
    uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                      \
    tsr_scratch scratch = {.histogram = histogram};                                                                    \
    const tsr_ctx c = cpu_context(0, &run->bulk, 0, &scratch);                                                         \
    cache_##step(&c, run, 0, 1);                                                                                       \
  }
STEP(put)
STEP(find)
)";

// The text of a cache, which is no part of what is compiled when a program runs. The list of its steps is the host's alone.
std::string cache_body() {
  std::string text = "#define TSR_STEPS(set)\n";
  for (const char *file : {"core/kernels/cache.h", "core/kernels/cache.cuh"}) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      if (line.find("#include \"core/kernels/cache.h\"") && line.find("#include \"core/kernels/steps.h\""))
        text += line + "\n";
  }
  // steps are for the host
  const size_t begin = text.find("#ifndef __CUDACC__"), end = text.find("#endif", begin);
  return text.substr(0, begin) + text.substr(end + 6) + cache_steps;
}

std::string body_of(const tsr_composition *composition, Way way) {
  const bool is_cache = composition->settings.kind == TSR_KIND_CACHE;
  std::vector<const char *> operations = {"erase"};
  if (composition->settings.kind == TSR_KIND_FILTER)
    operations = {"insert", "contains"};
  else if (!is_cache)
    operations.insert(operations.end(), {"insert", "find", "find_or_insert"});
  if (composition->facts.filter_bits) operations.push_back("mark");
  if (composition->facts.combines_later) operations.push_back("combine");
  if (composition->shape.is_mixed) operations.push_back("apply");
  if (TSR_TAKES_TURNS(&composition->shape)) operations.push_back("apply_inserts");
  std::string defined, listed;
  for (const std::string name : operations) {
    defined += (way == Way::GPU ? "ONE(" : "CPU_RANGE(") + name + ")\n";
    listed += "[TSR_BULK_" + name + (way == Way::GPU ? "] = one_" : "] = range_") + name + ", ";
  }
  return head + defined + "EXPORTED range_function *const interleave_ranges[TSR_BULKS] = {" + listed + "};\n" +
         (is_cache ? cache_body() : "");
}

// The text for CPUs loads in one way, since their caches are coherent. Here each load gets the mode that it has on a GPU, and
// writers of phased tables look through L1 first, as in a large table with wide buckets: so small tables stand for those.
const std::vector<std::pair<const char *, const char *>> gpu_modes = {
    {"(void)coherent;\n  return __atomic_load_n(address, __ATOMIC_RELAXED);",
     "return INTERLEAVE_LOAD_IN(address, coherent);"},
    {"tsr_load32((const uint32_t *)mine, 1);", "tsr_load32((const uint32_t *)mine, mode & TSR_LOAD_COHERENT);"},
    {"tsr_load64((const uint64_t *)mine, 1);", "tsr_load64((const uint64_t *)mine, mode & TSR_LOAD_COHERENT);"},
    {"tsr_load128((const tsr_u128 *)mine);", "INTERLEAVE_LOAD_IN((const tsr_u128 *)mine, mode & TSR_LOAD_COHERENT);"},
    {"if ((mode & TSR_LOAD_SETTLED) || c->alone) {", "if (c->alone) {"},
    {"walk_tail(c) * bucket_bytes < (48ull << 20);", "0;"},
};

bool put_gpu_modes(std::string *text, bool is_mixed) {
  for (const auto &[from, to] : gpu_modes)
    if (!replace_all(text, from, to)) return false;
  const std::string fact = "uint32_t tsr_fact_first_look_cached = ";
  replace_all(text, fact + "0u", fact + (is_mixed ? "0u" : "1u"));
  return text->find(fact + (is_mixed ? "0u" : "1u")) != std::string::npos;
}

// Facts as numbers of the preprocessor, so that a compiler that optimises nothing leaves out what the table does not need.
void put_facts(std::string *text) {
  const std::string begin = "TSR_CONSTANT uint32_t tsr_fact_";
  std::string defined;
  replace_all(text, begin + "##fact;", "");
  for (size_t at = 0; (at = text->find(begin, at)) != std::string::npos;) {
    const size_t name = at + strlen("TSR_CONSTANT uint32_t "), sign = text->find(" = ", name),
                 end = text->find(";\n", sign);
    defined += "#define " + text->substr(name, sign - name) + text->substr(sign + 2, end - sign - 2) + "\n";
    text->erase(at, end + 1 - at);
  }
  *text = defined + *text;
}

// Compiles a text in a folder of its own, and hands what came out to `use`. Returns the compiler's words where it failed.
std::string compile(const std::string &text, const char *options, const std::function<void(const std::string &)> &use) {
  char folder[] = "/tmp/tessera-interleave.XXXXXX";
  if (!mkdtemp(folder)) return "no folder in /tmp";
  const std::string in = folder, source = in + "/unit.c", made = in + "/unit.so", told = in + "/words";
  std::ofstream(source) << text;
  const std::string command = "cc -std=gnu11 -w -fPIC -fvisibility=hidden -fno-strict-aliasing -mcx16 "
                              "-include tests/interleave/atomics.h -I. " +
                              std::string(options) + " -o " + made + " " + source + " 2>" + told;
  std::stringstream words;
  if (system(command.c_str()) == 0)
    use(made);
  else
    words << "the text does not compile: " << std::ifstream(told).rdbuf();
  for (const std::string &file : {source, made, told}) unlink(file.c_str());
  rmdir(folder);
  return words.str().substr(0, 2000);
}

// Libraries are kept until the program ends: many cases are of one text.
struct Code {
  tsr_cpu_range *const *ranges = nullptr;
  void (*put)(const tsr_cache_run *) = nullptr, (*find)(const tsr_cache_run *) = nullptr; // of a cache
  std::string failure;
};

const Code &code_of(const std::string &text) {
  static std::map<std::string, Code> known;
  auto [at, is_new] = known.try_emplace(text);
  Code *code = &at->second;
  if (!is_new) return *code;
  code->failure = compile(text, "-O0 -shared", [code](const std::string &library) {
    void *handle = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return;
    code->ranges = (tsr_cpu_range *const *)dlsym(handle, "interleave_ranges");
    code->put = (void (*)(const tsr_cache_run *))dlsym(handle, "interleave_put");
    code->find = (void (*)(const tsr_cache_run *))dlsym(handle, "interleave_find");
    *(void (**)(interleave_access *))dlsym(handle, "interleave_step") = step;
  });
  if (!code->ranges && code->failure.empty()) code->failure = "the code cannot be loaded";
  return *code;
}

// What an optimising compiler makes of a text, all of it inlined: of code that the facts of a table leave out, nothing.
const std::string &machine_code_of(const std::string &text) {
  static std::map<std::string, std::string> known;
  auto [at, is_new] = known.try_emplace(text);
  std::string *code = &at->second;
  if (!is_new) return *code;
  const std::string failure = compile(text, "-O1 -c", [code](const std::string &object) {
    std::stringstream bytes;
    bytes << std::ifstream(object, std::ios::binary).rdbuf();
    *code = bytes.str();
  });
  EXPECT_EQ(failure, "");
  return *code;
}

// ---- Keys and values -------------------------------------------------------------------------

using WideKey = unsigned __int128;

// A key of a scenario as one of `bits`, and back. Each 32 bits of it are the same, so that a torn one is none.
WideKey widened(uint64_t key, uint64_t bits) {
  const WideKey two = key << 32 | key, four = two << 64 | two;
  return bits == 32 ? key : bits == 64 ? two : four;
}

uint64_t narrowed(WideKey key, uint64_t bits) {
  const uint64_t low = (uint32_t)key;
  return key == widened(low, bits) ? low : (uint64_t)key ^ (uint64_t)(key >> 64) ^ 1ull << 63;
}

// The same of a small value.
uint64_t value_of(uint64_t value, uint32_t bits) {
  return bits == 64 && value < 1u << 16 ? value << 32 | value : value;
}

// One item, its arrays of any width, and its counters.
struct Item {
  WideKey key, left_key = 0;
  uint64_t value, found = 0, left_value = 0;
  uint8_t code = 0;
  tsr_tally tally = {};
  uint8_t operation = 0;          // of apply
  tsr_bulk bulk = {}, later = {}; // later: a find of the same key
};

// ---- A table ------------------------------------------------------------------------------------

uint32_t op_of(Verb verb) {
  const uint32_t ops[] = {TSR_BULK_insert, TSR_BULK_find, TSR_BULK_erase, TSR_BULK_find_or_insert};
  return is_apply(verb) ? (uint32_t)TSR_BULK_apply : ops[(int)verb];
}

uint8_t operation_of(Verb verb) {
  return verb == Verb::APPLY_REPLACE ? TSR_APPLY_REPLACE
         : verb == Verb::APPLY_ERASE ? TSR_APPLY_ERASE
         : verb == Verb::APPLY_FIND  ? TSR_APPLY_FIND
                                     : TSR_APPLY_INSERT;
}

struct Content {
  Pairs pairs;
  bool all_found = true, all_counted = true;
};

class Table {
public:
  Table(tsr_table *table, const tsr_composition *composition, const Case &c, const Code &code)
      : table_(table), composition_(composition), operations_(c.at_once), code_(code) {
    const tsr_shape &s = composition_->shape;
    const bool has_lists = composition_->facts.value_list_first != 0; // then a slot has no value
    const uint32_t value_bits = has_lists ? (uint32_t)composition_->settings.value_bits : s.payload_bits;
    const uint64_t mask = value_bits == 32 ? 0xFFFFFFFFu : ~(uint64_t)0;
    const bool is_cache = composition_->settings.kind == TSR_KIND_CACHE;
    const bool saturates =
        composition_->settings.policy.overflow == TSR_OVERFLOW_SATURATE || TSR_POLICY_COUNTS(s.duplicates);
    rules_ = {has_lists ? (uint32_t)TSR_DUPLICATES_KEEP : s.duplicates,
              mask,
              0xFFFFFFF0u,
              value_bits != 0,
              is_cache,
              saturates,
              !s.whole_pairs && !is_cache && !has_lists,
              composition_->settings.kind == TSR_KIND_FILTER,
              s.moves_pairs != 0};
    for (const std::vector<Operation> *all : {&c.before, &c.at_once})
      for (const Operation &o : *all) named_.insert(o.key);
    key_bits_ = s.key_bits;
    value_bits_ = value_bits;
    state_ = table->store.state;
    for (size_t i = 0; i < operations_.size(); i++) {
      if (!operations_[i].follows) threads_.emplace_back();
      threads_.back().push_back(i);
    }
    for (Operation &o : operations_) o.value = value_of(o.value, value_bits);
    if (c.shares_locks) state_.lock_shift = 63;
    for (tsr_region_walk at = {}; tsr_next_region(composition_, &at);)
      shared_.push_back({table->store.state.part[at.role].region[at.i], tsr_region_bytes(composition_, at.region)});
    if (table->store.state.locks) shared_.push_back({table->store.state.locks, composition_->lock_bytes});
    first_ = content().pairs;
    items_.resize(operations_.size());
  }

  Outcome explore(Model model, const Limits &limits) {
    std::vector<std::function<void()>> threads;
    for (const std::vector<size_t> &of_thread : threads_)
      threads.push_back([this, &of_thread] {
        for (size_t i : of_thread) work(i);
      });
    Limits all = limits;
    all.own = {{items_.data(), items_.size() * sizeof items_[0]}};
    return interleave::explore(
        shared_, model, threads, [this] { return judge(); }, all);
  }

private:
  void fill(const Operation &o, Item *item) const {
    tsr_bulk *b = &item->bulk;
    item->key = widened(o.key, key_bits_);
    item->value = o.value;
    item->operation = operation_of(o.verb);
    b->state = state_;
    b->n = 1;
    b->keys = &item->key;
    b->values = rules_.has_values && !finds(o.verb) && !erases(o.verb) ? &item->value : nullptr;
    b->values_out = rules_.has_values && (finds(o.verb) || o.verb == Verb::FIND_OR_INSERT) ? &item->found : nullptr;
    b->operations = &item->operation;
    b->unplaced_keys = &item->left_key;
    b->unplaced_values = rules_.has_values ? &item->left_value : nullptr;
    b->results = &item->code;
    b->missing = rules_.missing;
    b->tally = &item->tally;
    item->later = *b;
    item->later.results = nullptr;
  }

  void run(uint32_t op, tsr_bulk *bulk, Item *item) const { code_.ranges[op](nullptr, bulk, 0, 0, 1, &item->tally); }

  // What a thread does: one item of a call, of as many kernels as the call is made of.
  void work(size_t i) {
    const Verb verb = operations_[i].verb;
    Item *item = &items_[i];
    *item = Item{};
    fill(operations_[i], item);
    if (rules_.is_cache && verb != Verb::ERASE) {
      tsr_cache_run run = {};
      run.bulk = item->bulk;
      run.n = 1;
      run.touches = 1;
      run.finds_first = verb == Verb::FIND_OR_INSERT;
      return finds(verb) ? code_.find(&run) : code_.put(&run);
    }
    // Its bits are set in a launch before that of the insert. Here nothing is between the two, so more orders are possible.
    if (composition_->facts.filter_bits && !finds(verb) && !erases(verb)) run(TSR_BULK_mark, &item->bulk, item);
    if (rules_.is_filter && finds(verb)) {
      run(TSR_BULK_contains, &item->bulk, item);
      item->code = item->code ? TSR_FOUND : TSR_MISSING;
      return;
    }
    run(op_of(verb), &item->bulk, item);
    const bool combines = composition_->facts.combines_later && verb == Verb::INSERT;
    const bool takes_turns = is_apply(verb) && TSR_TAKES_TURNS(&composition_->shape);
    const bool finds_later = verb == Verb::FIND_OR_INSERT && rules_.is_late;
    if (combines || takes_turns || finds_later) end_phase();
    if (combines) run(TSR_BULK_combine, &item->bulk, item);
    if (takes_turns) run(TSR_BULK_apply_inserts, &item->bulk, item);
    if (finds_later) run(TSR_BULK_find, &item->later, item);
  }

  // All pairs, by the library, and whether each is found. Few memories are different, so each is read once.
  const Content &content() {
    std::string memory;
    for (const Piece &piece : shared_) memory.append((const char *)piece.at, piece.bytes);
    auto [at, is_new] = read_.try_emplace(memory);
    if (is_new) at->second = rules_.is_filter ? read_filter() : read();
    return at->second;
  }

  // Which of the keys that the case names seem to be there.
  Content read_filter() {
    Content content;
    tsr_error error = {};
    for (uint64_t key : named_) {
      const WideKey wide = widened(key, key_bits_);
      uint8_t found = 0;
      EXPECT_EQ(tsr_contains(table_, 1, &wide, &found, nullptr, &error), TSR_OK) << error.message;
      if (found) content.pairs.emplace(key, 0);
    }
    return content;
  }

  Content read() {
    Content content;
    tsr_error error = {};
    uint64_t size = 0, keys_bytes = key_bits_ / 8, values_bytes = value_bits_ / 8;
    EXPECT_EQ(tsr_size(table_, &size, &error), TSR_OK) << error.message;
    std::vector<char> keys(size * sizeof(WideKey) + 1), values(size * 8 + 1);
    EXPECT_EQ(tsr_export(table_, size, keys.data(), values_bytes ? values.data() : nullptr, &size, &error), TSR_OK)
        << error.message;
    for (size_t i = 0; i < size; i++) {
      WideKey key = 0;
      uint64_t value = 0;
      memcpy(&key, &keys[i * keys_bytes], keys_bytes);
      if (values_bytes) memcpy(&value, &values[i * values_bytes], values_bytes);
      content.pairs.emplace(narrowed(key, key_bits_), value);
    }
    if (rules_.is_cache) return content; // a find would change its scores
    std::vector<uint8_t> found(size + 1);
    EXPECT_EQ(tsr_contains(table_, size, keys.data(), found.data(), nullptr, &error), TSR_OK) << error.message;
    content.all_found = std::count(found.begin(), found.end(), 1) == (long)size;
    if (rules_.policy == TSR_DUPLICATES_KEEP) content.all_counted = are_counted(content.pairs);
    return content;
  }

  // Whether a key has as many pairs as an export shows. A key with a list of values is in the table once: in it twice, each
  // with some of the values, an export alone would not show it.
  bool are_counted(const Pairs &pairs) {
    tsr_error error = {};
    for (const auto &[key, value] : pairs) {
      const WideKey wide = widened(key, key_bits_);
      uint64_t count = 0;
      EXPECT_EQ(tsr_count_all(table_, 1, &wide, &count, nullptr, &error), TSR_OK) << error.message;
      if (count != pairs.count(key)) return false;
    }
    return true;
  }

  std::string judge() {
    const Content in_the_end = content(); // before a pair that was handed back is tried again
    if (!in_the_end.all_found) return "a find misses a pair that is there";
    if (!in_the_end.all_counted) return "a count of a key's pairs misses some that are there";
    if (const std::string left = what_is_left(); !left.empty()) return left;
    std::vector<Answer> answers;
    for (const Item &item : items_)
      answers.push_back({item.code, item.found, narrowed(item.left_key, key_bits_), item.left_value});
    return interleave::judge(rules_, first_, operations_, answers, in_the_end.pairs);
  }

  // Locks that nobody gives back, and pairs that were handed back although there is room.
  std::string what_is_left() {
    for (const char *at = (const char *)state_.locks, *end = at + (at ? composition_->lock_bytes : 0); at < end; at++)
      if (*at) return "a lock is held in the end";
    const bool may_have_room =
        composition_->shape.moves_pairs || rules_.is_cache ||
        std::any_of(operations_.begin(), operations_.end(), [](const Operation &o) { return erases(o.verb); });
    for (const Item &item : items_) {
      if (may_have_room || item.code != TSR_NOT_PLACED) continue;
      uint8_t code = 0;
      tsr_error error = {};
      tsr_call call = {};
      call.size = sizeof call;
      call.results = &code;
      const void *value = rules_.has_values ? &item.left_value : nullptr;
      EXPECT_EQ(tsr_insert(table_, 1, &item.left_key, value, &call, &error), TSR_OK) << error.message;
      if (code != TSR_NOT_PLACED) return "a pair was handed back although there is room for it";
    }
    return "";
  }

  tsr_table *table_;
  const tsr_composition *composition_;
  std::vector<Operation> operations_;
  std::vector<std::vector<size_t>> threads_;
  const Code &code_;
  Rules rules_ = {};
  uint64_t key_bits_ = 0;
  uint32_t value_bits_ = 0;
  tsr_state state_ = {};
  std::vector<Piece> shared_;
  Pairs first_;
  std::vector<Item> items_;
  std::set<uint64_t> named_; // keys of the case
  std::map<std::string, Content> read_;
};

const char *const plugins = "layouts:probing:hashers:allocators:eviction";

void do_before(tsr_table *table, const Operation &o) {
  tsr_error error = {};
  const tsr_settings *settings = &table->store.composition->settings;
  const WideKey key = widened(o.key, settings->key_bits);
  const uint64_t value = value_of(o.value, (uint32_t)settings->value_bits);
  if (o.verb == Verb::ERASE)
    EXPECT_EQ(tsr_erase(table, 1, &key, nullptr, &error), TSR_OK) << error.message;
  else
    EXPECT_EQ(tsr_insert(table, 1, &key, settings->value_bits ? &value : nullptr, nullptr, &error), TSR_OK)
        << error.message;
}

} // namespace

bool replace_all(std::string *text, const std::string &from, const std::string &to) {
  size_t at = 0, count = 0;
  while ((at = text->find(from, at)) != std::string::npos) {
    text->replace(at, from.size(), to);
    at += to.size();
    count++;
  }
  return count > 0;
}

std::string refusal_of(const std::string &spec, uint32_t *guard) {
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = plugins;
  tsr_spec *read = tessera_test::spec_of(spec);
  char *text = nullptr;
  const tsr_status status = tsr_spec_check(read, &options, &text, &error);
  static const char *const guards[] = {"uniqueness   none", "uniqueness   the claim's own CAS",
                                       "uniqueness   key locks"};
  for (uint32_t i = 0; text && i < std::size(guards); i++)
    if (strstr(text, guards[i])) *guard = i;
  free(text);
  tsr_spec_free(read);
  return status ? error.message : "";
}

namespace {

// The table of a case, with what was done before, and its text.
class Prepared {
public:
  Prepared(const Case &c, Way way, const Fault &fault) {
    using namespace tessera_test;
    tsr_error error = {};
    omp_set_num_threads(1); // tables of a few slots
    tsr_options options = {};
    options.plugins = plugins;
    const bool is_filter = c.spec.find("kind=filter") != std::string::npos; // it has nothing to clean
    tsr_spec *spec = spec_of((is_filter ? "" : "clean=no ") + c.spec);
    const tsr_status status = tsr_table_create(spec, &options, &table, &error);
    tsr_spec_free(spec);
    if (status) {
      refusal = error.message;
      return;
    }
    for (const Operation &o : c.before) do_before(table, o);
    composition = table->store.composition;
    if (c.in_kernel) in_kernel_ = tsr_composition_of_kernel(composition, true), composition = &in_kernel_;
    char *unit = tsr_glue_unit_of(composition, body_of(composition, way).c_str());
    text = unit ? unit : "";
    free(unit);
    if (way == Way::GPU && !put_gpu_modes(&text, composition->shape.is_mixed))
      refusal = "the text has no place for a GPU's modes of loads";
    else if (fault && !fault(&text))
      refusal = "the text has no place for the fault";
    put_facts(&text);
  }
  ~Prepared() { tsr_table_destroy(table); }
  Prepared(const Prepared &) = delete;
  Prepared &operator=(const Prepared &) = delete;

  tsr_table *table = nullptr;
  const tsr_composition *composition = nullptr;
  std::string text, refusal;

private:
  tsr_composition in_kernel_ = {};
};

} // namespace

Verdict explore_case(const Case &c, Way way, Model model, const Fault &fault, const Limits &limits) {
  const Prepared prepared(c, way, fault);
  Verdict verdict;
  verdict.refusal = prepared.refusal;
  if (!prepared.refusal.empty()) return verdict;
  verdict.guard = prepared.composition->shape.guard;
  std::string text = prepared.text;
  // With two locks for all keys, inserts that each want the other's lock give up soon.
  if (c.shares_locks) replace_all(&text, "PLACE_LOST_MAX = 65536", "PLACE_LOST_MAX = 4");
  replace_all(&text, "__attribute__((always_inline, unused))", "__attribute__((unused))"); // compiles twice as fast
  const Code &code = code_of(text);
  verdict.outcome.failure = code.failure;
  if (code.ranges) verdict.outcome = Table(prepared.table, prepared.composition, c, code).explore(model, limits);
  return verdict;
}

bool changes_code(const Case &c, Way way, const Fault &fault) {
  const Prepared right(c, way, nullptr), wrong(c, way, fault);
  EXPECT_EQ(right.refusal + wrong.refusal, "") << c.spec;
  return machine_code_of(right.text) != machine_code_of(wrong.text);
}

} // namespace interleave
