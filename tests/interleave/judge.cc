// SPDX-License-Identifier: Apache-2.0
//
// The judge (judge.h): a table that does one thing at a time, in every order.
#include "tests/interleave/judge.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "core/compose/settings.h"
#include "core/tessera.h"

namespace interleave {

namespace {

// A table that does one operation at a time.
struct Reference {
  const Rules &rules;
  Pairs pairs;

  Answer insert(const Operation &o, uint32_t policy) {
    const auto at = pairs.find(o.key);
    const uint64_t offered = rules.has_values ? o.value & rules.value_mask : 0;
    const bool looks = policy != TSR_DUPLICATES_KEEP && policy != TSR_DUPLICATES_PROMISE_UNIQUE;
    if (!looks || at == pairs.end()) {
      pairs.emplace(o.key, offered);
      return {TSR_INSERTED};
    }
    uint64_t *value = &at->second;
    switch (policy) {
    case TSR_DUPLICATES_FIRST:
      return {TSR_PRESENT};
    case TSR_DUPLICATES_REPLACE:
      *value = offered;
      return {TSR_REPLACED};
    case TSR_DUPLICATES_MIN:
      *value = std::min(*value, offered);
      return {TSR_COMBINED};
    case TSR_DUPLICATES_MAX:
      *value = std::max(*value, offered);
      return {TSR_COMBINED};
    default:
      *value = rules.saturates && offered > rules.value_mask - *value ? rules.value_mask
                                                                      : (*value + offered) & rules.value_mask;
      return {TSR_COMBINED};
    }
  }

  // The pair leaves the table: it is handed back, or a cache gives it up. False: there is none.
  bool leave(const Answer &a) {
    const auto [begin, end] = pairs.equal_range(a.left_key);
    const uint64_t value = rules.has_values ? a.left_value : 0;
    const auto at = std::find_if(begin, end, [&](const auto &pair) { return pair.second == value; });
    if (at == end) return false;
    pairs.erase(at);
    return true;
  }

  Answer apply(const Operation &o) {
    const auto at = pairs.find(o.key);
    switch (o.verb) {
    case Verb::INSERT:
    case Verb::APPLY_INSERT:
      return insert(o, rules.policy);
    case Verb::APPLY_REPLACE:
      return insert(o, TSR_DUPLICATES_REPLACE);
    case Verb::FIND:
    case Verb::APPLY_FIND:
      return at == pairs.end() ? Answer{TSR_MISSING, rules.missing} : Answer{TSR_FOUND, at->second};
    case Verb::ERASE:
    case Verb::APPLY_ERASE: {
      const bool was_there = at != pairs.end();
      pairs.erase(o.key);
      return {(uint8_t)(was_there ? TSR_ERASED : TSR_MISSING)};
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

class Judge {
public:
  Judge(const Rules &rules, const Pairs &before, const std::vector<Operation> &operations,
        const std::vector<Answer> &answers, const Pairs &in_the_end)
      : rules_(rules), before_(before), operations_(operations), answers_(answers), in_the_end_(in_the_end) {}

  // Where pairs move, evictions may come back to the pair that began them. So an insert that hands back its own pair has done
  // nothing, or has put it first.
  std::string run() {
    std::vector<size_t> own;
    for (size_t i = 0; i < operations_.size(); i++)
      if (interleave::is_left_out(rules_, operations_[i], answers_[i])) own.push_back(i);
    const uint32_t choices = rules_.moves_pairs ? 1u << own.size() : 1;
    for (uint32_t choice = 0; choice < choices; choice++) {
      comes_back_.assign(operations_.size(), false);
      for (size_t i = 0; i < own.size(); i++) comes_back_[own[i]] = choice >> i & 1u;
      if (is_explained()) return "";
    }
    std::ostringstream out;
    out << "no order explains it: before" << text_of(before_) << "; answers";
    for (const Answer &a : answers_) {
      out << " " << (int)a.code << "/" << a.found;
      if (a.code == TSR_NOT_PLACED || a.code == TSR_EVICTED) out << "/(" << a.left_key << ", " << a.left_value << ")";
    }
    out << "; in the end" << text_of(in_the_end_);
    return out.str();
  }

private:
  bool is_explained() {
    evicts_.clear();
    for (size_t i = 0; i < operations_.size(); i++)
      if (answers_[i].code == TSR_NOT_PLACED && !is_left_out(i) && !rules_.is_filter) evicts_.push_back(i);
    std::vector<size_t> order(operations_.size() + evicts_.size());
    std::iota(order.begin(), order.end(), 0);
    do
      if (keeps_order(order) && explains(order)) return true;
    while (std::next_permutation(order.begin(), order.end()));
    return false;
  }

  bool is_left_out(size_t i) const {
    return interleave::is_left_out(rules_, operations_[i], answers_[i]) && !comes_back_[i];
  }

  // Whether the operations of each thread are in its own order. From operations_.size() on the numbers are those of the pairs
  // that were handed back in place of an operation's own: that is after it, and others may come between the two.
  bool keeps_order(const std::vector<size_t> &order) const {
    std::vector<size_t> place(order.size());
    for (size_t i = 0; i < order.size(); i++) place[order[i]] = i;
    for (size_t i = 1; i < operations_.size(); i++)
      if (operations_[i].follows && place[i] < place[i - 1]) return false;
    for (size_t i = 0; i < evicts_.size(); i++)
      if (place[operations_.size() + i] < place[evicts_[i]]) return false;
    return true;
  }

  bool explains(const std::vector<size_t> &order) const {
    Reference reference{rules_, before_};
    std::vector<Answer> right(operations_.size());
    for (size_t i : order) {
      if (i >= operations_.size()) {
        if (!reference.leave(answers_[evicts_[i - operations_.size()]])) return false;
        continue;
      }
      if (rules_.is_cache && answers_[i].code == TSR_EVICTED) reference.leave(answers_[i]);
      const bool may_be_left = rules_.policy == TSR_DUPLICATES_KEEP || !reference.pairs.count(operations_[i].key);
      if (is_left_out(i) && !may_be_left) return false;
      right[i] = is_left_out(i) ? Answer{TSR_NOT_PLACED, rules_.missing} : reference.apply(operations_[i]);
    }
    for (size_t i = 0; i < operations_.size(); i++)
      if (!(rules_.is_filter ? may_seem(i, right[i]) : is_right(i, right[i]))) return false;
    if (rules_.is_filter) return loses_what_it_says(reference.pairs);
    if (rules_.policy == TSR_DUPLICATES_REPLACE && rules_.is_late) return holds_offered(reference.pairs);
    return std::is_permutation(in_the_end_.begin(), in_the_end_.end(), reference.pairs.begin(), reference.pairs.end());
  }

  bool is_right(size_t i, const Answer &right) const {
    const Verb verb = operations_[i].verb;
    const Answer &answer = answers_[i];
    if (answer.code == TSR_NOT_PLACED && right.code == TSR_INSERTED)
      return true; // another pair was handed back instead
    if (answer.code == TSR_EVICTED && right.code == TSR_INSERTED) return true;
    if (answer.code != right.code && !erases_some(i)) return false;
    const bool is_later = verb == Verb::FIND_OR_INSERT && rules_.is_late;
    const bool tells = rules_.has_values && (finds(verb) || verb == Verb::FIND_OR_INSERT);
    const auto later = in_the_end_.find(operations_[i].key);
    return !tells || answer.found == (is_later && later != in_the_end_.end() ? later->second : right.found);
  }

  // Of a filter. One of fingerprints does not look for the key that it inserts, and may have no room.
  bool may_seem(size_t i, const Answer &right) const {
    const uint8_t code = answers_[i].code;
    if (finds(operations_[i].verb)) return code == TSR_FOUND || (code == TSR_MISSING && right.code == TSR_MISSING);
    if (rules_.moves_pairs) return code == TSR_INSERTED || code == TSR_NOT_PLACED;
    return code == TSR_PRESENT || (code == TSR_INSERTED && !before_.count(operations_[i].key));
  }

  // Whether a filter knows all keys, but for one of each insert that found no room.
  bool loses_what_it_says(const Pairs &right) const {
    const auto unknown =
        std::count_if(right.begin(), right.end(), [&](const auto &pair) { return in_the_end_.count(pair.first) == 0; });
    return unknown <=
           std::count_if(answers_.begin(), answers_.end(), [](const Answer &a) { return a.code == TSR_NOT_PLACED; });
  }

  // Whether the operation may have erased some pairs of a key while another one erased the rest.
  bool erases_some(size_t i) const {
    return rules_.policy == TSR_DUPLICATES_KEEP && erases(operations_[i].verb) && answers_[i].code == TSR_ERASED &&
           before_.count(operations_[i].key) > 1;
  }

  // Whether the keys are right, and each has a value that was offered for it, or that it had.
  bool holds_offered(const Pairs &right) const {
    const auto same_key = [](const auto &one, const auto &other) { return one.first == other.first; };
    if (!std::is_permutation(in_the_end_.begin(), in_the_end_.end(), right.begin(), right.end(), same_key))
      return false;
    return std::all_of(in_the_end_.begin(), in_the_end_.end(), [&](const auto &pair) {
      const auto had = before_.find(pair.first);
      const bool offered = std::any_of(operations_.begin(), operations_.end(), [&](const Operation &o) {
        return o.key == pair.first && o.value == pair.second && !finds(o.verb) && !erases(o.verb);
      });
      return offered || (had != before_.end() && had->second == pair.second);
    });
  }

  const Rules &rules_;
  const Pairs &before_;
  const std::vector<Operation> &operations_;
  const std::vector<Answer> &answers_;
  const Pairs &in_the_end_;
  std::vector<bool> comes_back_; // of each operation: whether it put the pair that it hands back
  std::vector<size_t> evicts_;   // operations that handed back another pair than their own
};

} // namespace

bool is_apply(Verb verb) { return verb >= Verb::APPLY_INSERT; }
bool finds(Verb verb) { return verb == Verb::FIND || verb == Verb::APPLY_FIND; }
bool erases(Verb verb) { return verb == Verb::ERASE || verb == Verb::APPLY_ERASE; }

bool is_left_out(const Rules &rules, const Operation &operation, const Answer &answer) {
  const bool same_value = !rules.has_values || answer.left_value == (operation.value & rules.value_mask);
  return answer.code == TSR_NOT_PLACED && answer.left_key == operation.key && same_value;
}

std::string judge(const Rules &rules, const Pairs &before, const std::vector<Operation> &operations,
                  const std::vector<Answer> &answers, const Pairs &in_the_end) {
  return Judge(rules, before, operations, answers, in_the_end).run();
}

} // namespace interleave
