// SPDX-License-Identifier: Apache-2.0
//
// The exploration (explorer.h): memory with its history, coroutines, and the search through their orders.
#undef _FORTIFY_SOURCE // its longjmp knows one stack only
#include "tests/interleave/explorer.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <sstream>

namespace interleave {

namespace {

using word = unsigned __int128;

enum { GRANULE = 4, STACK_BYTES = 1 << 18, LOCK_FAILURES = 2 };

// A thread that has looked at everything: no floor.
constexpr int64_t NO_FLOOR = -1;

bool is_write(const interleave_access &a) { return a.kind != INTERLEAVE_LOAD; }
bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

// What is there after the access, if it is made where `seen` is.
word after(const interleave_access &a, word seen) {
  switch (a.kind) {
  case INTERLEAVE_STORE:
  case INTERLEAVE_EXCHANGE:
    return a.operand;
  case INTERLEAVE_COMPARE:
    return seen == a.expected ? a.operand : seen;
  case INTERLEAVE_OR:
    return seen | a.operand;
  case INTERLEAVE_AND:
    return seen & a.operand;
  case INTERLEAVE_ADD: {
    const word mask = a.bytes == 16 ? ~(word)0 : ((word)1 << 8 * a.bytes) - 1;
    return (seen + a.operand) & mask;
  }
  default:
    return seen;
  }
}

void make(interleave_access *a) {
  word seen = 0;
  memcpy(&seen, a->address, a->bytes);
  const word next = after(*a, seen);
  if (is_write(*a)) memcpy(a->address, &next, a->bytes);
  a->seen = seen;
}

// Whether an access that saw this is a write. One that tries a lock in vain is none.
bool is_change(const interleave_access &a) {
  if (a.kind == INTERLEAVE_COMPARE) return a.seen == a.expected;
  if (a.kind == INTERLEAVE_OR && !releases(a.order)) return (a.seen & a.operand) != a.operand;
  return is_write(a);
}

// Whether it tries to take a lock: a bit of a word, or a whole word that is 0 while it is free.
bool tries_lock(const interleave_access &a) {
  if (a.kind == INTERLEAVE_COMPARE) return a.expected == 0 && acquires(a.order) && !releases(a.order);
  return a.kind == INTERLEAVE_OR;
}

// Whether another thread has the lock that it tries, where `seen` is there.
bool is_taken(const interleave_access &a, word seen) {
  return tries_lock(a) && (a.kind == INTERLEAVE_OR ? (seen & a.operand) != 0 : seen != 0);
}

bool is_through_l1(const interleave_access &a, Model model) { return model == Model::L1 && a.is_cached; }

// ---- Memory with its history --------------------------------------------------------------------

// What is known of each granule: how many writes to the whole memory there had been after the last one that is known.
using View = std::vector<uint32_t>;

void join(View *view, const View &other) {
  for (size_t g = 0; g < other.size(); g++) (*view)[g] = std::max((*view)[g], other[g]);
}

struct Write {
  uint32_t begin, end; // bytes of the shared memory
  word before;
  View released; // empty: nothing
};

struct Known { // of a thread
  View seen;
  View held;     // what a load through L1 sees at least: what was acquired, and the thread's own writes
  View met;      // by relaxed loads; a fence makes it seen
  View released; // by its last fence
};

class Memory {
public:
  explicit Memory(const std::vector<Piece> &pieces) : pieces_(pieces) {
    for (const Piece &piece : pieces_) {
      begins_.push_back(bytes_);
      first_.insert(first_.end(), (char *)piece.at, (char *)piece.at + piece.bytes);
      bytes_ += (uint32_t)((piece.bytes + 15) / 16 * 16);
      first_.resize(bytes_);
    }
  }

  void restore(size_t threads) {
    for (size_t i = 0; i < pieces_.size(); i++) memcpy(pieces_[i].at, &first_[begins_[i]], pieces_[i].bytes);
    log_.clear();
    changes_ = 0;
    const View none(bytes_ / GRANULE, 0);
    known_.assign(threads, {none, none, none, {}});
  }

  // The number of a byte of shared memory; -1: it is not shared.
  int64_t place(const void *address) const {
    for (size_t i = 0; i < pieces_.size(); i++)
      if (address >= pieces_[i].at && address < (char *)pieces_[i].at + pieces_[i].bytes)
        return begins_[i] + ((const char *)address - (char *)pieces_[i].at);
    return -1;
  }

  // At which times thread t may see the memory: how many writes there had been; the last one first. Only what it may not have
  // seen at the time `floor`.
  std::vector<uint32_t> times(size_t t, const interleave_access &a, Model model, int64_t floor) const {
    std::vector<uint32_t> all = {(uint32_t)log_.size()};
    if (is_write(a)) return all;
    const uint32_t begin = (uint32_t)place(a.address), end = begin + a.bytes;
    const View &known = is_through_l1(a, model) ? known_[t].held : known_[t].seen;
    uint32_t least = 0;
    for (uint32_t g = begin / GRANULE; g < (end + GRANULE - 1) / GRANULE; g++) least = std::max(least, known[g]);
    for (uint32_t k = (uint32_t)log_.size(); k-- > std::max<int64_t>(least, floor);)
      if (log_[k].begin < end && begin < log_[k].end) all.push_back(k);
    if (floor >= (int64_t)least) all.pop_back();
    if (model == Model::SEQUENTIAL && all.size() > 1) all.resize(1);
    return all;
  }

  void access(size_t t, interleave_access *a, uint32_t time, Model model) {
    const uint32_t begin = (uint32_t)place(a->address), end = begin + a->bytes;
    a->seen = value(a->address, begin, end, time);
    if (is_through_l1(*a, model)) return;
    Known *known = &known_[t];
    View before;
    for (uint32_t g = begin / GRANULE; g < (end + GRANULE - 1) / GRANULE; g++) {
      uint32_t k = time;
      while (k > 0 && !(log_[k - 1].begin < (g + 1) * GRANULE && g * GRANULE < log_[k - 1].end)) k--;
      known->seen[g] = std::max(known->seen[g], k);
      if (k == 0 || log_[k - 1].released.empty() || a->kind == INTERLEAVE_STORE) continue;
      if (acquires(a->order)) join(&known->held, log_[k - 1].released);
      join(acquires(a->order) ? &known->seen : &known->met, log_[k - 1].released);
      if (before.empty()) before.assign(bytes_ / GRANULE, 0);
      join(&before, log_[k - 1].released);
    }
    const word next = after(*a, a->seen);
    if (!is_change(*a)) return;
    memcpy(a->address, &next, a->bytes);
    changes_ += next != a->seen;
    log_.push_back({begin, end, a->seen, {}});
    for (uint32_t g = begin / GRANULE; g < (end + GRANULE - 1) / GRANULE; g++)
      known->seen[g] = known->held[g] = (uint32_t)log_.size();
    View *released = &log_.back().released;
    if (releases(a->order))
      *released = known->seen;
    else
      *released = known->released;
    if (before.empty() || a->kind == INTERLEAVE_STORE) return; // what reads and writes at once hands on what it found
    if (released->empty())
      *released = before;
    else
      join(released, before);
  }

  void fence(size_t t, int order) {
    Known *known = &known_[t];
    if (acquires(order)) join(&known->seen, known->met);
    if (acquires(order)) join(&known->held, known->met);
    if (releases(order)) known->released = known->seen;
  }

  uint64_t changes() const { return changes_; }
  uint32_t now() const { return (uint32_t)log_.size(); }

  // The end of a phase: everybody has learnt of every write.
  void settle() {
    for (Known &known : known_) known.seen.assign(bytes_ / GRANULE, (uint32_t)log_.size()), known.held = known.seen;
  }

private:
  word value(const void *address, uint32_t begin, uint32_t end, uint32_t time) const {
    unsigned char bytes[16] = {0};
    memcpy(bytes, address, end - begin);
    for (uint32_t k = (uint32_t)log_.size(); k-- > time;) {
      unsigned char old[16];
      memcpy(old, &log_[k].before, sizeof old);
      for (uint32_t at = std::max(begin, log_[k].begin); at < std::min(end, log_[k].end); at++)
        bytes[at - begin] = old[at - log_[k].begin];
    }
    word value;
    memcpy(&value, bytes, sizeof value);
    return value;
  }

  std::vector<Piece> pieces_;
  std::vector<uint32_t> begins_;
  std::vector<char> first_;
  uint32_t bytes_ = 0;
  std::vector<Write> log_;
  uint64_t changes_ = 0; // writes that changed what is there
  std::vector<Known> known_;
};

// ---- Threads ------------------------------------------------------------------------------------

struct Look { // of a load
  uint64_t at = 0;
  uint32_t bytes = 0;
  int64_t time = NO_FLOOR;
};

struct Thread {
  const std::function<void()> *work = nullptr;
  ucontext_t context = {};
  jmp_buf entry = {}, place = {};
  std::unique_ptr<char[]> stack;
  interleave_access *pending = nullptr; // NULL: it has ended
  uint32_t lock_failures = 0;
  uint64_t waits_for = 0; // until there were that many changes
  bool sees_last = false;
  // Since it waited last: how many changes others had made at its first access, and what it saw first, or saw too late.
  bool has_begun = false, has_seen_old = false;
  uint64_t begun = 0;
  Look look;
  Look known; // before that: the next load there sees something newer
};

enum { THREADS_MAX = 4 };

// For each thread a number of steps: its own among the first N steps of an execution come before.
using After = std::array<uint32_t, THREADS_MAX>;

// A step of an execution.
struct Step {
  size_t thread;
  interleave_access access;
  int64_t place;
  uint32_t age;
  bool is_free, changes; // a load that may see any write; a write
  uint32_t time;         // of a load: what it saw; of a write: how many there have been with it
  After after;
};

// What was tried before of each thread's next access, so that it need not be tried again. A load may see any write, so
// whether it comes before or after another thread's write is all the same, but for what it sees: of a load it is what there
// was to be seen at the time `floor`.
struct Asleep {
  uint32_t threads = 0; // a bit for each whose access is no such load
  std::array<int64_t, THREADS_MAX> floor = {NO_FLOOR, NO_FLOOR, NO_FLOOR, NO_FLOOR};
};

// What there is to choose from at one point of an execution.
struct Choice {
  // A bit for each thread: that can go on; that is not asleep as well; that has to be tried; that was.
  uint32_t ready, enabled, wanted, tried;
  Asleep asleep;
  uint32_t thread, time_index, times;
  uint32_t time; // of the last execution
  After after;   // of its step
};

// ---- The search ---------------------------------------------------------------------------------

class Explorer {
public:
  Explorer(const std::vector<Piece> &shared, Model model, const std::vector<std::function<void()>> &work,
           const Limits &limits)
      : memory_(shared), model_(model), limits_(limits), threads_(work.size()) {
    for (size_t t = 0; t < work.size(); t++) {
      threads_[t].work = &work[t];
    }
  }

  Outcome run(const std::function<std::string()> &judge) {
    Outcome outcome;
    running = this;
    for (Thread &t : threads_) make_coroutine(&t);
    do {
      const bool is_new = execute(&outcome);
      if (is_new && outcome.failure.empty()) outcome.failure = judge();
      if (!outcome.failure.empty()) {
        outcome.failure += "\n" + story();
        outcome.is_whole = false;
        break;
      }
      is_new ? outcome.executions++ : outcome.cut++;
      if (outcome.executions + outcome.cut >= limits_.executions) outcome.is_whole = false;
    } while (outcome.is_whole && go_back());
    running = nullptr;
    memory_.restore(threads_.size());
    return outcome;
  }

  // Called by a thread.
  void stop(interleave_access *access) {
    Thread *t = &threads_[current_];
    if (access->kind == INTERLEAVE_FENCE) return memory_.fence(current_, access->order);
    if (access->kind == INTERLEAVE_PAUSE) return pause(t);
    if (access->kind != INTERLEAVE_PHASE && memory_.place(access->address) < 0) {
      if (is_own(*t, access->address)) return make(access);
      strays_ = true;
      _longjmp(main_, 1);
    }
    t->pending = access;
    if (!_setjmp(t->place)) _longjmp(main_, 1);
  }

  static Explorer *running; // NULL: nothing is explored
  bool is_in_thread() const { return in_thread_; }

private:
  // The first function of a coroutine's stack. Each execution begins again in its middle.
  static void begin(unsigned low, unsigned high) {
    Thread *t = (Thread *)((uintptr_t)high << 32 | low);
    if (!_setjmp(t->entry)) _longjmp(running->main_, 1);
    (*t->work)();
    t->pending = nullptr;
    _longjmp(running->main_, 1);
  }

  bool is_own(const Thread &t, const void *address) const {
    const auto holds = [&](const void *at, size_t bytes) {
      return address >= at && address < (const char *)at + bytes;
    };
    if (limits_.own.empty() || holds(t.stack.get(), STACK_BYTES)) return true;
    for (const Piece &piece : limits_.own)
      if (holds(piece.at, piece.bytes)) return true;
    return false;
  }

  void make_coroutine(Thread *t) {
    const uintptr_t self = (uintptr_t)t;
    t->stack.reset(new char[STACK_BYTES]);
    getcontext(&t->context);
    t->context.uc_stack.ss_sp = t->stack.get();
    t->context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&t->context, (void (*)())begin, 2, (unsigned)self, (unsigned)(self >> 32));
    if (!_setjmp(main_)) setcontext(&t->context);
  }

  // Lets a thread go on to its next access, or its end.
  void go_on(size_t t, jmp_buf *place) {
    current_ = t;
    threads_[t].pending = nullptr;
    in_thread_ = true;
    if (!_setjmp(main_)) _longjmp(*place, 1);
    in_thread_ = false;
  }

  void start() {
    memory_.restore(threads_.size());
    steps_.clear();
    for (size_t i = 0; i < threads_.size(); i++) {
      Thread *t = &threads_[i];
      t->lock_failures = 0;
      t->waits_for = 0;
      t->sees_last = t->has_begun = t->has_seen_old = false;
      t->look = t->known = {};
      go_on(i, &t->entry);
    }
  }

  // A thread that waits has looked in vain. If what it saw was all new, it looks again when others have changed something.
  // Then it sees something newer at the same place: a look that sees the same once more changes nothing.
  void pause(Thread *t) {
    t->waits_for = t->has_seen_old ? 0 : (t->has_begun ? t->begun : memory_.changes()) + 1;
    t->known = t->look;
    t->look = {};
    t->has_seen_old = t->sees_last = t->has_begun = false;
  }

  void note_look(Thread *t, const interleave_access &a, uint32_t time, bool is_old, uint64_t changed) {
    if (!t->has_begun)
      t->begun = memory_.changes();
    else
      t->begun += changed;
    t->has_begun = true;
    if (a.kind != INTERLEAVE_LOAD) return;
    if (t->known.bytes && overlap(a, t->known)) t->known = {};
    if (t->look.bytes == 0 || (is_old && !t->has_seen_old)) t->look = {(uint64_t)a.address, a.bytes, time};
    t->has_seen_old |= is_old;
  }

  static bool overlap(const interleave_access &a, const Look &look) {
    return (uint64_t)a.address < look.at + look.bytes && look.at < (uint64_t)a.address + a.bytes;
  }

  bool is_at_end_of_phase(const Thread &t) const { return t.pending && t.pending->kind == INTERLEAVE_PHASE; }

  // A lock that a thread has tried in vain twice is tried again when it is free: more attempts see nothing new.
  bool waits(const Thread &t) const {
    const interleave_access &a = *t.pending;
    word seen = 0;
    if (t.waits_for > memory_.changes()) return true;
    if (!tries_lock(a) || t.lock_failures < LOCK_FAILURES) return false;
    memcpy(&seen, a.address, a.bytes);
    return is_taken(a, seen);
  }

  uint32_t enabled() const {
    uint32_t all = 0, ready = 0;
    for (size_t t = 0; t < threads_.size(); t++) {
      if (!threads_[t].pending || is_at_end_of_phase(threads_[t])) continue;
      all |= 1u << t;
      if (!waits(threads_[t])) ready |= 1u << t;
    }
    return ready ? ready : all; // all wait for each other: whoever only tries goes on without, and what is new is seen
  }

  // Lets all threads go on that wait for the end of the phase; returns whether there were any.
  bool begin_phase() {
    bool any = false;
    memory_.settle();
    for (size_t t = 0; t < threads_.size(); t++) {
      if (!is_at_end_of_phase(threads_[t])) continue;
      threads_[t].waits_for = 0;
      any = true;
      go_on(t, &threads_[t].place);
    }
    return any;
  }

  // ---- What need not be tried

  bool has_to_see_last(const Thread &t) const {
    return model_ == Model::SEQUENTIAL || t.sees_last || t.waits_for > memory_.changes();
  }

  // A load that may see any write: it comes before or after another thread's write, as far as it does not see it.
  bool is_free(const Thread &t) const { return t.pending->kind == INTERLEAVE_LOAD && !has_to_see_last(t); }

  // Which times thread t may see that were not tried.
  std::vector<uint32_t> times(size_t t, const Asleep &asleep) const {
    const Thread &thread = threads_[t];
    const interleave_access &a = *thread.pending;
    const Model model = has_to_see_last(thread) ? Model::SEQUENTIAL : model_;
    const int64_t floor = asleep.floor[t],
                  newer = thread.known.bytes && overlap(a, thread.known) ? thread.known.time : -1;
    std::vector<uint32_t> all = memory_.times(t, a, model, std::max(floor, newer));
    if (all.empty() && newer > floor) all = memory_.times(t, a, model, floor);
    return all;
  }

  uint32_t awake(uint32_t ready, const Asleep &asleep) const {
    uint32_t left = ready & ~asleep.threads;
    for (size_t t = 0; t < threads_.size(); t++)
      if ((left >> t & 1u) && asleep.floor[t] != NO_FLOOR && times(t, asleep).empty()) left &= ~(1u << t);
    return left;
  }

  bool would_change(interleave_access a) const {
    a.seen = 0;
    memcpy(&a.seen, a.address, a.bytes);
    return is_change(a);
  }

  // Whether `next` of another thread does the same before and after `done`. Who takes or gives back a lock learns nothing of
  // the other bits of its word.
  bool are_independent(const interleave_access &next, const interleave_access &done, bool is_free) const {
    const char *x = (const char *)next.address, *y = (const char *)done.address;
    if (x + next.bytes <= y || y + done.bytes <= x || is_free) return true;
    if (!is_change(done)) return !would_change(next);
    if (next.kind != done.kind) return false;
    if (next.kind == INTERLEAVE_OR) return !(next.operand & done.operand);
    return next.kind == INTERLEAVE_AND && !((uint32_t)~next.operand & (uint32_t)~done.operand);
  }

  // What is asleep after the step of `c`, before which there were `now` writes.
  Asleep asleep_after(const Choice &c, const interleave_access &done, bool is_free_load, uint32_t now) const {
    Asleep asleep;
    for (size_t t = 0; t < threads_.size(); t++) {
      const Thread &thread = threads_[t];
      const bool was_tried = c.tried >> t & 1u;
      if (t == c.thread || !thread.pending || is_at_end_of_phase(thread)) continue;
      if (is_free(thread))
        asleep.floor[t] = was_tried ? now : c.asleep.floor[t];
      else if ((was_tried || (c.asleep.threads >> t & 1u)) && are_independent(*thread.pending, done, is_free_load))
        asleep.threads |= 1u << t;
    }
    return asleep;
  }

  // ---- What has to be tried

  // Whether it makes a difference that `later`, of another thread, comes after `earlier`. A free load after a write does not
  // need it: all that it may see is tried.
  static bool differ(const Step &earlier, const Step &later) {
    const interleave_access &a = earlier.access, &b = later.access;
    const char *x = (const char *)a.address, *y = (const char *)b.address;
    if (x + a.bytes <= y || y + b.bytes <= x || later.is_free || (!earlier.changes && !later.changes)) return false;
    if (earlier.is_free) return later.changes;
    if (a.kind != b.kind) return true;
    if (a.kind == INTERLEAVE_OR) return (a.operand & b.operand) != 0;
    return a.kind != INTERLEAVE_AND || ((uint32_t)~a.operand & (uint32_t)~b.operand) != 0;
  }

  // Whether `later` sees, or changes, what `earlier` wrote.
  static bool follows(const Step &earlier, const Step &later) {
    if (earlier.is_free || !later.is_free) return !earlier.is_free && differ(earlier, later);
    const char *x = (const char *)earlier.access.address, *y = (const char *)later.access.address;
    const bool overlap = x < y + later.access.bytes && y < x + earlier.access.bytes;
    return overlap && earlier.changes && later.time >= earlier.time;
  }

  // What has to come before the step of a thread: its own steps, and those that it follows.
  After after_of(const Step &step, size_t depth, const After &before) const {
    After after = before;
    for (size_t i = phase_; i < depth; i++) {
      if (i < after[steps_[i].thread] || !follows(steps_[i], step)) continue;
      for (size_t t = 0; t < THREADS_MAX; t++) after[t] = std::max(after[t], steps_[i].after[t]);
      after[steps_[i].thread] = std::max(after[steps_[i].thread], (uint32_t)i + 1);
    }
    return after;
  }

  // The same without the step's own.
  After before(size_t thread) const {
    for (size_t i = steps_.size(); i-- > phase_;) {
      if (steps_[i].thread != thread) continue;
      After after = steps_[i].after;
      after[thread] = (uint32_t)i + 1;
      return after;
    }
    return {};
  }

  // The threads that may begin what happened between step i and `step`, apart from what needs step i.
  uint32_t beginners(size_t i, const Step &step) const {
    After first;
    uint32_t all = 0;
    first.fill(UINT32_MAX);
    for (size_t k = i + 1; k <= steps_.size(); k++) {
      const Step &other = k < steps_.size() ? steps_[k] : step;
      if (first[other.thread] != UINT32_MAX) continue;
      if (k < steps_.size() && other.after[steps_[i].thread] > i) continue;
      bool begins = true;
      for (size_t t = 0; t < THREADS_MAX; t++) begins &= first[t] >= other.after[t];
      first[other.thread] = (uint32_t)k;
      if (begins) all |= 1u << other.thread;
    }
    return all;
  }

  // Where this step might have come before another thread's, somebody who leads there has to be tried first (dynamic
  // partial-order reduction with source sets: Abdulla, Aronis, Jonsson, Sagonas 2014).
  void want_before(const Step &step, const After &own) {
    for (size_t i = steps_.size(); i-- > phase_;) {
      const Step &other = steps_[i];
      if (other.thread == step.thread || i < own[other.thread] || !differ(other, step)) continue;
      Choice *c = &choices_[i];
      const uint32_t begin = beginners(i, step);
      if (begin & ~c->ready)
        c->wanted |= c->enabled; // one that waited
      else if (!(begin & (c->wanted | (c->ready & ~c->enabled))))
        c->wanted |= begin & -begin;
    }
  }

  void note_step(Step step, Choice *c) {
    const size_t depth = steps_.size();
    if (depth >= fresh_) {
      const After own = before(step.thread);
      c->after = step.after = after_of(step, depth, own);
      want_before(step, own);
    }
    step.after = c->after;
    steps_.push_back(step);
  }

  // The execution is cut: what was about to be done counts as done.
  void want_before_pending() {
    for (size_t t = 0; t < threads_.size(); t++) {
      if (!threads_[t].pending || is_at_end_of_phase(threads_[t])) continue;
      const interleave_access &a = *threads_[t].pending;
      const After own = before(t);
      Step step = {t, a, 0, 0, is_free(threads_[t]), is_write(a), memory_.now(), {}};
      step.after = after_of(step, steps_.size(), own);
      want_before(step, own);
    }
  }

  // ---- Executions

  void choose(Choice *c) const {
    c->thread = (uint32_t)__builtin_ctz(c->enabled & c->wanted & ~c->tried);
    c->time_index = 0;
    c->times = 0; // not known before that thread's turn comes
  }

  void take(Choice *c, Asleep *asleep) {
    Thread *t = &threads_[c->thread];
    interleave_access *a = t->pending;
    const bool is_free_load = is_free(*t);
    const bool is_fresh = steps_.size() >= fresh_;
    if (is_fresh) {
      const std::vector<uint32_t> all = times(c->thread, c->asleep);
      c->times = (uint32_t)all.size();
      c->time = all[c->time_index];
    }
    const uint32_t now = memory_.now(), time = c->time;
    if (t->waits_for > memory_.changes()) t->sees_last = true; // nobody else can go on
    const uint64_t before = memory_.changes();
    memory_.access(c->thread, a, time, model_);
    note_look(t, *a, time, c->time_index > 0, memory_.changes() - before);
    if (is_taken(*a, a->seen)) t->lock_failures++;
    const bool is_write = is_change(*a);
    note_step({c->thread,
               *a,
               memory_.place(a->address),
               c->time_index,
               is_free_load,
               is_write,
               is_write ? memory_.now() : time,
               {}},
              c);
    go_on(c->thread, &t->place);
    if (limits_.reduces && is_fresh) *asleep = asleep_after(*c, steps_.back().access, is_free_load, now);
  }

  // False: the execution was cut.
  bool execute(Outcome *outcome) {
    Asleep asleep;
    strays_ = false;
    phase_ = 0;
    fresh_ = choices_.empty() ? 0 : choices_.size() - 1;
    start();
    for (size_t depth = 0;; depth++) {
      if (strays_) {
        outcome->failure = "an access outside of the table";
        return true;
      }
      const uint32_t ready = enabled();
      if (!ready) {
        if (!begin_phase()) break;
        asleep = {};
        phase_ = depth;
        depth--;
        continue;
      }
      if (depth == limits_.steps) {
        outcome->failure = "a loop without bound: more than " + std::to_string(limits_.steps) + " accesses";
        return true;
      }
      if (depth == choices_.size()) {
        const uint32_t left = awake(ready, asleep);
        if (!left) {
          want_before_pending();
          return false;
        }
        choices_.push_back({ready, left, limits_.reduces ? left & -left : left, 0, asleep, 0, 0, 0, 0, {}});
        choose(&choices_.back());
      }
      take(&choices_[depth], &asleep);
    }
    outcome->steps_max = std::max(outcome->steps_max, (uint32_t)steps_.size());
    return true;
  }

  // To the last point where something else can be chosen. False: there is none.
  bool go_back() {
    while (!choices_.empty()) {
      Choice *c = &choices_.back();
      if (++c->time_index < c->times) return true;
      c->tried |= 1u << c->thread;
      if (c->enabled & c->wanted & ~c->tried) {
        choose(c);
        return true;
      }
      choices_.pop_back();
    }
    return false;
  }

  std::string story() const {
    static const char *const names[] = {"load", "store", "exchange", "compare", "or", "and", "add"};
    std::ostringstream out;
    for (const Step &s : steps_) {
      const interleave_access &a = s.access;
      out << "  thread " << s.thread << "  " << names[a.kind] << " " << a.bytes << " bytes at " << s.place << "  saw "
          << std::hex << "0x" << (uint64_t)(a.seen >> 64) << "'" << (uint64_t)a.seen;
      if (a.is_cached) out << " through L1";
      if (s.age) out << " (old)";
      if (is_write(a)) out << "  operand 0x" << (uint64_t)(a.operand >> 64) << "'" << (uint64_t)a.operand;
      if (a.kind == INTERLEAVE_COMPARE) out << (a.seen == a.expected ? "  done" : "  failed");
      out << std::dec << "\n";
    }
    return out.str();
  }

  Memory memory_;
  Model model_;
  Limits limits_;
  std::vector<Thread> threads_;
  std::vector<Choice> choices_;
  std::vector<Step> steps_;
  size_t phase_ = 0; // the first step of this phase
  size_t fresh_ = 0; // the first one that is not as in the execution before
  jmp_buf main_ = {};
  size_t current_ = 0;
  bool in_thread_ = false;
  bool strays_ = false; // a thread has left the memory that it may touch
};

Explorer *Explorer::running;

} // namespace

void end_phase() {
  interleave_access access = {};
  access.kind = INTERLEAVE_PHASE;
  step(&access);
}

void step(interleave_access *access) {
  if (Explorer::running && Explorer::running->is_in_thread())
    Explorer::running->stop(access);
  else if (access->kind < INTERLEAVE_FENCE)
    make(access);
}

Outcome explore(const std::vector<Piece> &shared, Model model, const std::vector<std::function<void()>> &threads,
                const std::function<std::string()> &judge, const Limits &limits) {
  return Explorer(shared, model, threads, limits).run(judge);
}

} // namespace interleave
