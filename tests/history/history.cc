// SPDX-License-Identifier: Apache-2.0
//
// history.h: the search of Wing and Gong (JPDC 1993), which takes as the next operation any that began before all the
// others left have ended, and goes back where no order is left; with Lowe's memory (CCPE 2017) of the sets of
// operations and states that it has been at. Where nothing is under way, the set is empty and only the state remains:
// so the search never looks at a part of the history twice from the same state.
//
// Four rules keep it short. Each leaves an order if there was one:
//   1. What leaves the key as it is, is taken as soon as it can be.
//   2. Of operations that do the same, the one that ends first is taken first: they can change places.
//   3. A value is not left while finds that saw it are to come and no operation to come can bring it back. Where values
//      are added up: a find is still to see one of the sums that it can have seen.
//   4. Values that no find saw are one value, where the values that follow do not depend on them.
#include "tests/history/history.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tests/oracle/oracle.h"
#include "tests/oracle/random.h"

namespace tessera_test {
namespace {

constexpr uint64_t never = UINT64_MAX;
constexpr size_t nowhere = SIZE_MAX;

// ---- What an operation does to its key ----------------------------------------------------------

struct State {
  bool present = false, known = true; // not known: it has some value, which the first find tells
  uint64_t value = 0;
};
bool operator==(const State &a, const State &b) {
  return std::tie(a.present, a.known, a.value) == std::tie(b.present, b.known, b.value);
}

enum class Effect : uint8_t { NONE, SET, CLEAR, COMBINE };

// An operation, by its answer: what it found, and what it left.
struct Step {
  bool present; // the key was there,
  bool sees;    // with this value
  Effect effect;
  uint64_t value;
};
bool operator==(const Step &a, const Step &b) {
  return std::tie(a.present, a.sees, a.effect, a.value) == std::tie(b.present, b.sees, b.effect, b.value);
}

struct Event {
  Step step;
  uint64_t begin, end;
  size_t index;            // in the history; nowhere: the look at what the table held afterwards
  size_t place = 0;        // in the story
  bool is_due = true;      // an order must have it, else it may
  bool may_vanish = false; // where it leaves the key as it is, it can be taken at once

  bool brings_value() const { return step.effect == Effect::SET || step.effect == Effect::COMBINE; }
};

// What the operation must have found and done to answer so; false if it never answers so.
bool step_of(const Operation &operation, const Oracle &oracle, uint32_t policy, uint32_t value_bits, Step *step) {
  const uint64_t offered = operation.offered & width_mask(value_bits);
  *step = {false, false, Effect::NONE, 0};
  if (operation.asks == TSR_OP_FIND) {
    if (operation.result == TSR_FOUND) *step = {true, value_bits != 0, Effect::NONE, value_bits ? operation.seen : 0};
    return operation.result == TSR_FOUND || operation.result == TSR_MISSING;
  }
  if (operation.asks == TSR_OP_ERASE) {
    if (operation.result == TSR_ERASED) *step = {true, false, Effect::CLEAR, 0};
    return operation.result == TSR_ERASED || operation.result == TSR_MISSING;
  }
  if (operation.asks > TSR_OP_FIND) return false;
  if (operation.result == TSR_NOT_PLACED) return true;
  if (operation.result == TSR_INSERTED) {
    *step = {false, false, Effect::SET, offered};
    return true;
  }
  if (operation.asks == TSR_OP_REPLACE || policy == TSR_DUPLICATES_REPLACE) {
    *step = {true, false, Effect::SET, offered};
    return operation.result == TSR_REPLACED;
  }
  *step = {true, false, Effect::COMBINE, offered};
  if (policy == TSR_DUPLICATES_FIRST) *step = {true, false, Effect::NONE, 0};
  return operation.result == oracle.present_code();
}

// ---- One key ------------------------------------------------------------------------------------

// A way in which a find can have seen what it saw: this operation has set the value, and these have added to it since.
// They are places in the story; nowhere is the value before.
struct Sum {
  size_t base;
  std::vector<size_t> addends;
};

struct Story {
  Oracle oracle;
  uint32_t policy;
  State before;
  std::vector<Event> events = {};               // by begin
  bool forgets = false;                         // rule 4 holds:
  uint64_t unseen = 0;                          // and this stands for all values that no find saw
  std::map<size_t, std::vector<Sum>> sums = {}; // of finds by their place, where all ways are known

  State after(const State &state, const Step &step) const {
    switch (step.effect) {
    case Effect::SET:
      return {true, true, step.value};
    case Effect::CLEAR:
      return {};
    case Effect::COMBINE:
      return state.known ? State{true, true, oracle.combine(state.value, step.value)} : state;
    default:
      return step.sees ? State{true, true, step.value} : state;
    }
  }

  // Rule 4, and to what operations rule 1 applies. A value matters to later ones only by combination. An unseen value
  // that overwrites an unseen one can do so at once: had it overwritten another one later, then that would stay,
  // with which all that follows can be answered just as well. A minimum or maximum that leaves a smaller or larger
  // value can do so at once if no find saw what it offers: later values are then the same, but where they were its own.
  void prepare() {
    std::set<uint64_t> seen;
    bool combines = false;
    for (const Event &event : events) {
      if (event.step.sees) seen.insert(event.step.value);
      combines |= event.step.effect == Effect::COMBINE;
    }
    forgets = !combines || seen.empty();
    while (seen.count(unseen)) unseen++;
    if (forgets && before.present && !seen.count(before.value)) before.value = unseen;
    for (Event &event : events) {
      Step &step = event.step;
      if (forgets && step.effect == Effect::COMBINE) step = {true, false, Effect::NONE, 0};
      const bool is_seen = seen.count(step.value) != 0;
      if (forgets && step.effect == Effect::SET && !is_seen) step.value = unseen;
      event.may_vanish = step.effect == Effect::NONE || (step.effect == Effect::SET && forgets && !is_seen) ||
                         (step.effect == Effect::COMBINE && policy != TSR_DUPLICATES_ADD && !is_seen);
    }
    std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) { return a.begin < b.begin; });
    for (size_t i = 0; i < events.size(); i++) events[i].place = i;
    if (!sums_up()) return;
    for (const Event &event : events)
      if (event.step.sees) explain(event);
  }

  bool sums_up() const { return policy == TSR_DUPLICATES_ADD && !forgets; }

private:
  enum { ADDENDS_MOST = 24, SUMS_MOST = 16 };

  // Finds all sums that the find can have seen, or leaves it if they are too many to try.
  void explain(const Event &find) {
    uint64_t last_begin = 0; // of those that have overwritten or erased what was there, before the find
    bool is_overwritten = false;
    for (const Event &event : events) {
      if (event.begin > find.begin) break;
      if (event.end >= find.begin || (event.step.effect != Effect::SET && event.step.effect != Effect::CLEAR)) continue;
      last_begin = std::max(last_begin, event.begin);
      is_overwritten = true;
    }
    std::vector<Sum> found;
    bool is_complete = is_overwritten || !before.present || add_up(find, nullptr, &found);
    for (const Event &event : events) {
      if (event.begin > find.end || !is_complete) break;
      if (event.step.effect == Effect::SET && event.end >= last_begin) is_complete = add_up(find, &event, &found);
    }
    if (is_complete) sums[find.place] = std::move(found);
  }

  // The same from one base. What is added between the two for sure is in all of the sums.
  bool add_up(const Event &find, const Event *base, std::vector<Sum> *found) const {
    Sum certain = {base ? base->place : nowhere, {}};
    uint64_t sum = base ? base->step.value : before.value;
    std::vector<size_t> halves[2];
    for (const Event &event : events) {
      if (event.begin > find.end) break;
      if (event.step.effect != Effect::COMBINE || (base && event.end < base->begin)) continue;
      if (event.end < find.begin && (!base || event.begin > base->end)) {
        sum = oracle.combine(sum, event.step.value);
        certain.addends.push_back(event.place);
      } else {
        halves[halves[0].size() > halves[1].size()].push_back(event.place);
      }
    }
    if (halves[0].size() + halves[1].size() > ADDENDS_MOST) return false;
    const auto some = sums_of(halves[0]), others = sums_of(halves[1]);
    for (const auto &[addend, members] : some) {
      const uint64_t rest = oracle.combine(find.step.value - sum - addend, 0);
      for (auto at = std::lower_bound(others.begin(), others.end(), std::make_pair(rest, uint32_t{0}));
           at != others.end() && at->first == rest; ++at) {
        if (found->size() == SUMS_MOST) return false;
        found->push_back(certain);
        for (size_t i = 0; i < halves[0].size(); i++)
          if (members >> i & 1) found->back().addends.push_back(halves[0][i]);
        for (size_t i = 0; i < halves[1].size(); i++)
          if (at->second >> i & 1) found->back().addends.push_back(halves[1][i]);
      }
    }
    return true;
  }

  // Of all subsets, as bits, sorted.
  std::vector<std::pair<uint64_t, uint32_t>> sums_of(const std::vector<size_t> &addends) const {
    std::vector<std::pair<uint64_t, uint32_t>> result = {{0, 0}};
    for (size_t i = 0; i < addends.size(); i++)
      for (size_t j = 0, count = result.size(); j < count; j++)
        result.push_back({oracle.combine(result[j].first, events[addends[i]].step.value), result[j].second | 1u << i});
    std::sort(result.begin(), result.end());
    return result;
  }
};

enum class Outcome { ORDER, NO_ORDER, UNDECIDED };

// For an order of these events of the story, some of which need not be due.
class Search {
public:
  Search(const Story &story, const std::vector<Event> &events, const State &before, uint64_t limit)
      : story_(story), events_(events), limit_(limit), state_(before), taken_(events.size() / 64 + 1),
        index_at_(story.events.size(), nowhere) {
    for (size_t i = 0; i < events.size(); i++) index_at_[events[i].place] = i;
    for (const Event &event : events) {
      left_ += event.is_due;
      if (event.is_due && event.step.sees && !story.sums_up()) to_come_[event.step.value].finds++;
    }
    for (const Event &event : events)
      if (event.brings_value()) count_write(event.step.value, 1);
  }

  Outcome run() {
    std::vector<Place> path;
    if (is_any_lost() || is_any_unexplained()) return Outcome::NO_ORDER;
    for (bool is_new = true;;) {
      if (is_new) {
        settle();
        if (left_ == 0) return Outcome::ORDER;
        if (visited_.insert(position()).second && finds_can_see())
          path.push_back({order_.size(), state_, choices(), 0});
      }
      if (path.empty()) return Outcome::NO_ORDER;
      Place &place = path.back();
      while (order_.size() > place.taken) put_back();
      state_ = place.state;
      is_new = place.next < place.choices.size();
      if (!is_new) {
        path.pop_back();
        continue;
      }
      if (++steps_ > limit_) return Outcome::UNDECIDED;
      is_new = take(place.choices[place.next++]);
    }
  }

  uint64_t steps() const { return steps_; }
  const std::vector<size_t> &order() const { return order_; }

private:
  struct Count {
    uint64_t finds = 0, writes = 0;
  };

  // What can be done next where the search has been, and what of it has been tried.
  struct Place {
    size_t taken;
    State state;
    std::vector<size_t> choices;
    size_t next;
  };

  bool is_taken(size_t i) const { return taken_[i / 64] >> i % 64 & 1; }

  bool can_be_next(const Step &step) const {
    return step.present == state_.present && (!step.sees || !state_.known || step.value == state_.value);
  }

  // The events that began before any that is due and left has ended: open_.
  void scan() {
    open_.clear();
    first_end_ = never;
    for (reach_ = low_; reach_ < events_.size() && events_[reach_].begin <= first_end_; reach_++) {
      if (is_taken(reach_)) continue;
      open_.push_back(reach_);
      if (events_[reach_].is_due) first_end_ = std::min(first_end_, events_[reach_].end);
    }
  }

  // Rule 1.
  void settle() {
    for (size_t before = nowhere; before != order_.size();) {
      before = order_.size();
      scan();
      for (size_t i : open_) {
        const Step &step = events_[i].step;
        if (events_[i].may_vanish && can_be_next(step) && story_.after(state_, step) == state_) take(i);
      }
    }
  }

  // Rule 2. What ends first is tried first.
  std::vector<size_t> choices() const {
    std::vector<size_t> candidates, chosen;
    for (size_t i : open_)
      if (can_be_next(events_[i].step)) candidates.push_back(i);
    std::sort(candidates.begin(), candidates.end(),
              [this](size_t a, size_t b) { return events_[a].end < events_[b].end; });
    for (size_t i : candidates) {
      auto does_the_same = [&](size_t j) {
        return events_[j].step == events_[i].step && events_[j].is_due == events_[i].is_due;
      };
      if (std::none_of(chosen.begin(), chosen.end(), does_the_same)) chosen.push_back(i);
    }
    return chosen;
  }

  // false: there is no way on, by rule 3.
  bool take(size_t i) {
    const Event &event = events_[i];
    const State former = state_;
    taken_[i / 64] |= uint64_t{1} << i % 64;
    order_.push_back(i);
    while (low_ < events_.size() && is_taken(low_)) low_++;
    count(event, -1);
    state_ = story_.after(state_, event.step);
    if (!former.known && state_.known) return !is_any_lost();
    return !(former.present && is_lost(former.value)) && !(event.brings_value() && is_lost(event.step.value));
  }

  void put_back() {
    const size_t i = order_.back();
    order_.pop_back();
    taken_[i / 64] &= ~(uint64_t{1} << i % 64);
    low_ = std::min(low_, i);
    count(events_[i], 1);
  }

  void count(const Event &event, int change) {
    if (event.is_due) left_ += static_cast<size_t>(change);
    if (to_come_.empty()) return;
    if (event.is_due && event.step.sees) to_come_[event.step.value].finds += static_cast<uint64_t>(change);
    if (event.brings_value()) count_write(event.step.value, change);
  }

  void count_write(uint64_t value, int change) {
    auto at = to_come_.find(value);
    if (at != to_come_.end()) at->second.writes += static_cast<uint64_t>(change);
  }

  // Rule 3.
  bool is_lost(uint64_t value) const {
    if (state_.present && (!state_.known || state_.value == value)) return false;
    auto at = to_come_.find(value);
    return at != to_come_.end() && at->second.finds != 0 && at->second.writes == 0;
  }

  bool is_any_lost() const {
    return std::any_of(to_come_.begin(), to_come_.end(), [this](const auto &entry) { return is_lost(entry.first); });
  }

  // Rule 3, of sums: whether each find that may come next is still to see one of its own.
  bool finds_can_see() const {
    return !state_.known || std::all_of(open_.begin(), open_.end(), [this](size_t i) {
      return !events_[i].is_due || !events_[i].step.sees || can_see(events_[i]);
    });
  }

  bool is_any_unexplained() const {
    return std::any_of(events_.begin(), events_.end(), [this](const Event &event) {
      auto sums = story_.sums.find(event.place);
      return event.is_due && sums != story_.sums.end() && sums->second.empty();
    });
  }

  bool can_see(const Event &find) const {
    auto sums = story_.sums.find(find.place);
    if (sums == story_.sums.end()) return true;
    return std::any_of(sums->second.begin(), sums->second.end(), [&](const Sum &sum) {
      if (sum.base != nowhere && is_to_come(sum.base))
        return std::all_of(sum.addends.begin(), sum.addends.end(), [this](size_t place) { return is_to_come(place); });
      uint64_t value = state_.value;
      for (size_t place : sum.addends)
        if (is_to_come(place)) value = story_.oracle.combine(value, story_.events[place].step.value);
      return state_.present && value == find.step.value;
    });
  }

  // What is in the story and not here has been before.
  bool is_to_come(size_t place) const { return index_at_[place] != nowhere && !is_taken(index_at_[place]); }

  // The set of events taken, and the state, as bytes: all before low_ are taken, and none from reach_ on.
  std::string position() const {
    std::string bytes;
    auto append = [&bytes](uint64_t word) { bytes.append(reinterpret_cast<const char *>(&word), sizeof word); };
    append(low_ << 2 | static_cast<uint64_t>(state_.known) << 1 | state_.present);
    append(state_.value);
    for (size_t word = low_ / 64; word * 64 < reach_; word++) append(taken_[word]);
    return bytes;
  }

  const Story &story_;
  const std::vector<Event> &events_;
  const uint64_t limit_;
  State state_;
  size_t left_ = 0;            // due
  size_t low_ = 0, reach_ = 0; // the first event not taken; the first that began too late for open_
  uint64_t first_end_ = never, steps_ = 0;
  std::vector<uint64_t> taken_; // bits
  std::vector<size_t> order_, open_;
  std::unordered_map<uint64_t, Count> to_come_; // rule 3, of each value that a find saw
  std::vector<size_t> index_at_;                // by place in the story
  std::unordered_set<std::string> visited_;
};

// ---- What went wrong ----------------------------------------------------------------------------

// Few of the operations of a key that have no order, and still have none by themselves: those that began from `from`
// on and ended until `until`, among others that overlap them and may or may not come in between. Whatever had ended
// before has left the key absent or with some value.
class Explanation {
public:
  Explanation(const Story &story, uint64_t limit) : story_(story), limit_(limit) {
    std::vector<uint64_t> begins, ends;
    for (const Event &event : story.events) {
      begins.push_back(event.begin);
      ends.push_back(event.end);
    }
    std::sort(ends.begin(), ends.end());
    until_ = *std::partition_point(ends.begin(), ends.end() - 1,
                                   [&](uint64_t end) { return !is_wrong(window(0, end), {story.before}); });
    auto after = std::partition_point(begins.begin(), begins.end(),
                                      [&](uint64_t begin) { return is_wrong(window(begin, until_), states_within); });
    if (after != begins.begin()) {
      from_ = *(after - 1);
      states_ = states_within;
    }
    piece_ = window(from_, until_);
    leave_out();
  }

  std::string text(const History &history) const {
    std::ostringstream out;
    const State &before = states_.front();
    if (states_.size() > 1)
      out << "whatever came before";
    else if (!before.present)
      out << "from absent";
    else if (story_.forgets && before.value == story_.unseen)
      out << "from present";
    else
      out << "from " << before.value;
    out << ", no order explains the answers of\n";
    for (const Event &event : shown()) line(out, event, history);
    if (shown().size() < piece_.size()) out << "  and " << piece_.size() - shown().size() << " more around them\n";
    return out.str();
  }

private:
  enum { SHOWN_MOST = 40 };
  using States = std::vector<State>;
  const States states_within = {{}, {true, false, 0}};

  std::vector<Event> window(uint64_t from, uint64_t until) const {
    std::vector<Event> events;
    for (Event event : story_.events) {
      event.is_due = event.begin >= from && event.end <= until;
      if (event.is_due || (event.end >= from && event.begin <= until && event.step.effect != Effect::NONE))
        events.push_back(event);
    }
    return events;
  }

  // Whether that is known with little effort.
  bool is_wrong(const std::vector<Event> &events, const States &states) {
    return std::all_of(states.begin(), states.end(), [&](const State &state) {
      Search search(story_, events, state, std::min(steps_, limit_ / 16));
      const Outcome outcome = search.run();
      steps_ -= std::min(steps_, search.steps());
      return outcome == Outcome::NO_ORDER;
    });
  }

  // An order of all is an order of the rest, if what is left out changes nothing, or only what nobody sees.
  void leave_out() {
    for (size_t i = piece_.size(); i-- > 0;) {
      const Event event = piece_[i];
      if (event.step.effect != Effect::NONE && !(event.may_vanish && event.step.present)) continue;
      piece_.erase(piece_.begin() + static_cast<ptrdiff_t>(i));
      if (!is_wrong(piece_, states_)) piece_.insert(piece_.begin() + static_cast<ptrdiff_t>(i), event);
    }
  }

  // Of a long piece, what is due, and of that the last.
  std::vector<Event> shown() const {
    std::vector<Event> events = piece_;
    if (events.size() <= SHOWN_MOST) return events;
    std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) {
      return std::make_tuple(a.is_due, a.end) > std::make_tuple(b.is_due, b.end);
    });
    events.resize(SHOWN_MOST);
    std::sort(events.begin(), events.end(), [](const Event &a, const Event &b) { return a.begin < b.begin; });
    return events;
  }

  // Times count from the first begin.
  void line(std::ostream &out, const Event &event, const History &history) const {
    out << (event.end == until_ ? "> " : event.is_due ? "  " : "~ ");
    if (event.index == nowhere) {
      out << "afterwards: " << (event.step.present ? "FOUND " + std::to_string(event.step.value) : "MISSING") << "\n";
      return;
    }
    const uint64_t origin = story_.events.front().begin;
    out << "[" << event.index << "] " << event.begin - origin << " .. " << event.end - origin << ": "
        << text_of(history[event.index]) << "\n";
  }

  const Story &story_;
  const uint64_t limit_;
  uint64_t steps_ = limit_; // left
  uint64_t from_ = 0, until_ = never;
  States states_ = {story_.before}; // before the piece
  std::vector<Event> piece_;
};

// The most of these operations that are under way at the same time; a moment that is an end and a begin is none.
uint64_t most_overlapping(const History &history, const std::vector<size_t> &indices) {
  std::vector<std::pair<uint64_t, int>> moments; // ends sort before begins
  for (size_t i : indices) {
    if (history[i].begin == history[i].end) continue;
    moments.emplace_back(history[i].begin, 1);
    moments.emplace_back(history[i].end, -1);
  }
  std::sort(moments.begin(), moments.end());
  int under_way = 0, most = 0;
  for (const auto &[moment, change] : moments) most = std::max(most, under_way += change);
  return static_cast<uint64_t>(most);
}

} // namespace

std::string text_of(const Operation &operation) {
  static const char *const asked[] = {"INSERT", "REPLACE", "ERASE", "FIND"};
  static const char *const results[] = {"",           "INSERTED", "PRESENT", "REPLACED", "COMBINED",
                                        "NOT_PLACED", "FOUND",    "MISSING", "ERASED"};
  std::string text =
      operation.asks <= TSR_OP_FIND ? asked[operation.asks] : "operation " + std::to_string(operation.asks);
  if (operation.asks == TSR_OP_INSERT || operation.asks == TSR_OP_REPLACE)
    text += " " + std::to_string(operation.offered);
  text += " -> ";
  text += operation.result && operation.result <= TSR_ERASED ? results[operation.result]
                                                             : "code " + std::to_string(operation.result);
  if (operation.result == TSR_FOUND) text += " " + std::to_string(operation.seen);
  return text;
}

uint64_t resolution_of(const History &history) {
  std::vector<uint64_t> readings;
  for (const Operation &operation : history) {
    readings.push_back(operation.begin);
    readings.push_back(operation.end);
  }
  std::sort(readings.begin(), readings.end());
  uint64_t least = 0;
  for (size_t i = 1; i < readings.size(); i++) {
    const uint64_t difference = readings[i] - readings[i - 1];
    if (difference) least = least ? std::min(least, difference) : difference;
  }
  return least;
}

Verdict check(const History &history, const Rules &rules, const Contents &before, const Contents *after) {
  const Oracle oracle(rules.policy, rules.value_bits);
  std::map<uint64_t, std::vector<size_t>> keys;
  for (size_t i = 0; i < history.size(); i++) keys[history[i].key].push_back(i);
  for (const Contents *contents : {&before, after}) {
    if (!contents || !after) continue; // nobody looks at the others
    for (const auto &entry : *contents) keys[entry.first];
  }
  Verdict verdict;
  for (const auto &[key, indices] : keys) {
    verdict.keys++;
    verdict.key = key;
    auto found = before.find(key);
    Story story = {oracle, rules.policy, {}};
    if (found != before.end()) story.before = {true, true, found->second & width_mask(rules.value_bits)};
    for (size_t i : indices) {
      const Operation &operation = history[i];
      Event event = {{}, 0, 0, i};
      // the last moment of all is for the look afterwards
      event.begin = operation.begin - std::min(operation.begin, rules.resolution);
      event.end = std::min(operation.end, never - 1 - rules.resolution) + rules.resolution;
      verdict.wrong = !step_of(operation, oracle, rules.policy, rules.value_bits, &event.step);
      if (verdict.wrong || operation.begin > operation.end) {
        verdict.wrong = true;
        verdict.why = "  [" + std::to_string(i) + "] " + std::to_string(operation.begin) + " .. " +
                      std::to_string(operation.end) + ": " + text_of(operation) + ", which can never be\n";
        return verdict;
      }
      story.events.push_back(event);
    }
    if (after) {
      auto at = after->find(key);
      Step step = {false, false, Effect::NONE, 0};
      if (at != after->end())
        step = {true, rules.value_bits != 0, Effect::NONE, at->second & width_mask(rules.value_bits)};
      story.events.push_back({step, never, never, nowhere});
    }
    story.prepare();
    verdict.most_overlapping = std::max(verdict.most_overlapping, most_overlapping(history, indices));
    Search search(story, story.events, story.before, rules.steps);
    Outcome outcome = search.run();
    verdict.steps += search.steps();
    if (outcome == Outcome::NO_ORDER) {
      verdict.wrong = true;
      verdict.why = Explanation(story, rules.steps).text(history);
      return verdict;
    }
    if (outcome == Outcome::UNDECIDED) {
      verdict.undecided++;
      continue;
    }
    for (size_t i : search.order())
      if (story.events[i].index != nowhere) verdict.order.push_back(story.events[i].index);
  }
  return verdict;
}

} // namespace tessera_test
