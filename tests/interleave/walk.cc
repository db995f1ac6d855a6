// SPDX-License-Identifier: Apache-2.0
//
// Tables for the explorer (walk.h): compiling, running and judging. Right is what the operations do one after the other, in
// some order (Reference).
#include "tests/interleave/walk.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>

#include "core/compose/compose.h"
#include "core/compose/glue.h"
#include "core/cpu/bulk.h"
#include "core/table/table_struct.h"
#include "tests/rebuild/tables.h"

namespace interleave {

namespace {

// ---- Code ---------------------------------------------------------------------------------------

const char *const body = R"(#include "core/cpu/range.cuh"
CPU_RANGE(insert)
CPU_RANGE(find)
CPU_RANGE(erase)
CPU_RANGE(find_or_insert)
CPU_RANGE(combine)
__attribute__((visibility("default"))) void (*const interleave_ranges[TSR_BULKS])(
    const void *, const tsr_bulk *, uint32_t, uint64_t, uint64_t, tsr_tally *) = {
    [TSR_BULK_insert] = range_insert,
    [TSR_BULK_find] = range_find,
    [TSR_BULK_erase] = range_erase,
    [TSR_BULK_find_or_insert] = range_find_or_insert,
    [TSR_BULK_combine] = range_combine};
)";

// Libraries are kept until the program ends: many cases are of one text.
struct Code {
  tsr_cpu_range *const *ranges = nullptr;
  std::string failure;
};

const Code &code_of(const std::string &text) {
  static std::map<std::string, Code> known;
  auto [at, is_new] = known.try_emplace(text);
  Code *code = &at->second;
  if (!is_new) return *code;
  char folder[] = "/tmp/tessera-interleave.XXXXXX";
  if (!mkdtemp(folder)) {
    code->failure = "no folder in /tmp";
    return *code;
  }
  const std::string source = std::string(folder) + "/unit.c", library = std::string(folder) + "/unit.so";
  std::ofstream(source) << text;
  const std::string command = "cc -std=gnu11 -O1 -w -shared -fPIC -fvisibility=hidden -fno-strict-aliasing -mcx16 "
                              "-include tests/interleave/atomics.h -I. -o " +
                              library + " " + source + " 2>" + folder + "/words";
  if (system(command.c_str()) == 0) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle) {
      code->ranges = (tsr_cpu_range *const *)dlsym(handle, "interleave_ranges");
      *(void (**)(interleave_access *))dlsym(handle, "interleave_step") = step;
    }
  }
  if (!code->ranges) {
    std::stringstream words;
    words << std::ifstream(std::string(folder) + "/words").rdbuf();
    code->failure = "the text does not compile: " + words.str().substr(0, 2000);
  }
  for (const char *file : {"/unit.c", "/unit.so", "/words"}) unlink((std::string(folder) + file).c_str());
  rmdir(folder);
  return *code;
}

// ---- What is right ------------------------------------------------------------------------------

struct Rules {
  uint32_t policy;
  uint64_t value_mask, missing;
  bool has_values;
  bool
      is_late; // a value is written after its key. So the library reads what find_or_insert finds by a find that follows
               // (operate.c), and with `replace` any of the values that race may stay
};

// A table that does one operation at a time.
struct Reference {
  const Rules &rules;
  Pairs pairs;

  Answer insert(const Operation &o) {
    const auto at = pairs.find(o.key);
    const bool looks = rules.policy != TSR_DUPLICATES_KEEP && rules.policy != TSR_DUPLICATES_PROMISE_UNIQUE;
    if (!looks || at == pairs.end()) {
      pairs.emplace(o.key, rules.has_values ? o.value : 0);
      return {TSR_INSERTED, 0};
    }
    uint64_t *value = &at->second;
    switch (rules.policy) {
    case TSR_DUPLICATES_FIRST:
      return {TSR_PRESENT, 0};
    case TSR_DUPLICATES_REPLACE:
      *value = o.value;
      return {TSR_REPLACED, 0};
    case TSR_DUPLICATES_MIN:
      *value = std::min(*value, o.value);
      return {TSR_COMBINED, 0};
    case TSR_DUPLICATES_MAX:
      *value = std::max(*value, o.value);
      return {TSR_COMBINED, 0};
    default:
      *value = (*value + o.value) & rules.value_mask;
      return {TSR_COMBINED, 0};
    }
  }

  Answer apply(const Operation &o) {
    const auto at = pairs.find(o.key);
    switch (o.verb) {
    case Verb::INSERT:
      return insert(o);
    case Verb::FIND:
      return at == pairs.end() ? Answer{TSR_MISSING, rules.missing} : Answer{TSR_FOUND, at->second};
    case Verb::ERASE: {
      const bool was_there = at != pairs.end();
      pairs.erase(o.key);
      return {(uint8_t)(was_there ? TSR_ERASED : TSR_MISSING), 0};
    }
    case Verb::FIND_OR_INSERT:
      if (at != pairs.end()) return {TSR_FOUND, at->second};
      pairs.emplace(o.key, rules.has_values ? o.value : 0);
      return {TSR_INSERTED, o.value};
    }
    return {};
  }
};

std::string text_of(const Pairs &pairs) {
  std::ostringstream out;
  for (const auto &[key, value] : pairs) out << " (" << key << ", " << value << ")";
  return pairs.empty() ? " nothing" : out.str();
}

// ---- A table ------------------------------------------------------------------------------------

// One item, its arrays of any width, and its counters.
struct Item {
  uint64_t key, value, found = 0, left_key = 0, left_value = 0;
  uint8_t code = 0;
  tsr_tally tally = {};
  tsr_bulk bulk = {}, later = {}; // later: a find of the same key
};

const uint32_t op_of[] = {TSR_BULK_insert, TSR_BULK_find, TSR_BULK_erase, TSR_BULK_find_or_insert};

class Table {
public:
  Table(tsr_table *table, const Case &c, const Code &code)
      : table_(table), composition_(table->store.composition), operations_(c.at_once), code_(code) {
    const tsr_shape &s = composition_->shape;
    const uint64_t mask = s.payload_bits == 32 ? 0xFFFFFFFFu : ~(uint64_t)0;
    rules_ = {s.duplicates, mask, 0xFFFFFFF0u, s.payload_bits != 0, !s.whole_pairs};
    for (tsr_region_walk at = {}; tsr_next_region(composition_, &at);)
      shared_.push_back({table->store.state.part[at.role].region[at.i], tsr_region_bytes(composition_, at.region)});
    if (table->store.state.locks) shared_.push_back({table->store.state.locks, composition_->lock_bytes});
    first_ = pairs();
    items_.resize(operations_.size());
  }

  Outcome explore(Model model, const Limits &limits) {
    std::vector<std::function<void()>> threads;
    for (size_t i = 0; i < operations_.size(); i++) threads.push_back([this, i] { work(i); });
    return interleave::explore(
        shared_, model, threads, [this] { return judge(); }, limits);
  }

private:
  void work(size_t i) {
    const Operation &o = operations_[i];
    Item *item = &items_[i];
    *item = Item{};
    item->key = o.key;
    item->value = o.value;
    tsr_bulk *b = &item->bulk;
    b->state = table_->store.state;
    b->n = 1;
    b->keys = &item->key;
    b->values = rules_.has_values && o.verb != Verb::FIND && o.verb != Verb::ERASE ? &item->value : nullptr;
    b->values_out =
        rules_.has_values && (o.verb == Verb::FIND || o.verb == Verb::FIND_OR_INSERT) ? &item->found : nullptr;
    b->unplaced_keys = &item->left_key;
    b->unplaced_values = rules_.has_values ? &item->left_value : nullptr;
    b->results = &item->code;
    b->missing = rules_.missing;
    b->tally = &item->tally;
    item->later = *b;
    item->later.results = nullptr;
    code_.ranges[op_of[(int)o.verb]](nullptr, b, 0, 0, 1, &item->tally);
  }

  // All pairs, by the library. Few memories are different, so each is read once.
  Pairs pairs() {
    std::string memory;
    for (const Piece &piece : shared_) memory.append((const char *)piece.at, piece.bytes);
    auto [at, is_new] = read_.try_emplace(memory);
    if (!is_new) return at->second;
    tsr_error error = {};
    uint64_t size = 0, keys_bytes = composition_->shape.key_bits / 8,
             values_bytes = composition_->shape.payload_bits / 8;
    EXPECT_EQ(tsr_size(table_, &size, &error), TSR_OK) << error.message;
    std::vector<char> keys(size * 8 + 1), values(size * 8 + 1);
    EXPECT_EQ(tsr_export(table_, size, keys.data(), values_bytes ? values.data() : nullptr, &size, &error), TSR_OK)
        << error.message;
    for (size_t i = 0; i < size; i++) {
      uint64_t key = 0, value = 0;
      memcpy(&key, &keys[i * keys_bytes], keys_bytes);
      if (values_bytes) memcpy(&value, &values[i * values_bytes], values_bytes);
      at->second.emplace(key, value);
    }
    return at->second;
  }

  std::string judge() {
    if (composition_->facts.combines_later)
      for (size_t i = 0; i < operations_.size(); i++)
        if (operations_[i].verb == Verb::INSERT)
          code_.ranges[TSR_BULK_combine](nullptr, &items_[i].bulk, 0, 0, 1, &items_[i].tally);
    Pairs all = pairs();
    for (size_t i = 0; rules_.is_late && i < operations_.size(); i++)
      if (operations_[i].verb == Verb::FIND_OR_INSERT)
        code_.ranges[TSR_BULK_find](nullptr, &items_[i].later, 0, 0, 1, &items_[i].tally);
    for (const Item &item : items_)
      if (item.code == TSR_NOT_PLACED) all.emplace(item.left_key, rules_.has_values ? item.left_value : 0);
    std::vector<size_t> order(operations_.size());
    std::iota(order.begin(), order.end(), 0);
    do
      if (explains(order, all)) return "";
    while (std::next_permutation(order.begin(), order.end()));
    std::ostringstream out;
    out << "no order explains it: before" << text_of(first_) << "; answers";
    for (const Item &item : items_) out << " " << (int)item.code << "/" << item.found;
    out << "; in the end, with pairs that were handed back," << text_of(all);
    return out.str();
  }

  bool explains(const std::vector<size_t> &order, const Pairs &all) const {
    Reference reference{rules_, first_};
    std::vector<Answer> right(operations_.size());
    for (size_t i : order) right[i] = reference.apply(operations_[i]);
    for (size_t i = 0; i < operations_.size(); i++) {
      const Verb verb = operations_[i].verb;
      const Item &item = items_[i];
      if (item.code == TSR_NOT_PLACED && right[i].code == TSR_INSERTED) continue; // handed back instead
      if (item.code != right[i].code) return false;
      const bool is_later = verb == Verb::FIND_OR_INSERT && rules_.is_late;
      const bool tells = rules_.has_values && (verb == Verb::FIND || verb == Verb::FIND_OR_INSERT);
      if (tells && item.found != (is_later ? all.find(operations_[i].key)->second : right[i].value)) return false;
    }
    if (rules_.policy == TSR_DUPLICATES_REPLACE && rules_.is_late) return holds_offered(reference.pairs, all);
    return std::is_permutation(all.begin(), all.end(), reference.pairs.begin(), reference.pairs.end());
  }

  // Whether the keys are right, and each has a value that was offered for it, or that it had.
  bool holds_offered(const Pairs &right, const Pairs &all) const {
    const auto same_key = [](const auto &one, const auto &other) { return one.first == other.first; };
    if (!std::is_permutation(all.begin(), all.end(), right.begin(), right.end(), same_key)) return false;
    return std::all_of(all.begin(), all.end(), [&](const auto &pair) {
      const auto had = first_.find(pair.first);
      const bool offered = std::any_of(operations_.begin(), operations_.end(), [&](const Operation &o) {
        return o.key == pair.first && o.value == pair.second && o.verb != Verb::FIND && o.verb != Verb::ERASE;
      });
      return offered || (had != first_.end() && had->second == pair.second);
    });
  }

  tsr_table *table_;
  const tsr_composition *composition_;
  std::vector<Operation> operations_;
  const Code &code_;
  Rules rules_ = {};
  std::vector<Piece> shared_;
  Pairs first_;
  std::vector<Item> items_;
  std::map<std::string, Pairs> read_;
};

void do_before(tsr_table *table, const Operation &o) {
  tsr_error error = {};
  const bool has_values = table->store.composition->shape.payload_bits != 0;
  if (o.verb == Verb::ERASE)
    EXPECT_EQ(tsr_erase(table, 1, &o.key, nullptr, &error), TSR_OK) << error.message;
  else
    EXPECT_EQ(tsr_insert(table, 1, &o.key, has_values ? &o.value : nullptr, nullptr, &error), TSR_OK) << error.message;
}

} // namespace

Verdict explore_case(const Case &c, Model model, const Fault &fault, const Limits &limits) {
  using namespace tessera_test;
  Verdict verdict;
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  tsr_spec *spec = spec_of("clean=no " + c.spec);
  tsr_table *table = nullptr;
  const tsr_status status = tsr_table_create(spec, &options, &table, &error);
  tsr_spec_free(spec);
  if (status) {
    verdict.refusal = error.message;
    return verdict;
  }
  for (const Operation &o : c.before) do_before(table, o);
  char *unit = tsr_glue_unit_of(table->store.composition, body);
  std::string text = unit ? unit : "";
  free(unit);
  if (fault && !fault(&text)) {
    verdict.refusal = "the text has no place for the fault";
  } else {
    const Code &code = code_of(text);
    verdict.outcome.failure = code.failure;
    if (code.ranges) verdict.outcome = Table(table, c, code).explore(model, limits);
  }
  tsr_table_destroy(table);
  return verdict;
}

} // namespace interleave
