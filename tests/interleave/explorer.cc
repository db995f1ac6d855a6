// SPDX-License-Identifier: Apache-2.0
//
// The exploration (explorer.h): memory with its history, coroutines, and the search through their orders.
#include "tests/interleave/explorer.h"

#include <ucontext.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>

namespace interleave {

namespace {

using word = unsigned __int128;

enum { GRANULE = 4, STACK_BYTES = 1 << 18, LOCK_FAILURES = 2 };

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

  // At which times thread t may see the memory: how many writes there had been; the last one first.
  std::vector<uint32_t> times(size_t t, const interleave_access &a, Model model) const {
    std::vector<uint32_t> all = {(uint32_t)log_.size()};
    if (is_write(a) || model == Model::SEQUENTIAL) return all;
    const uint32_t begin = (uint32_t)place(a.address), end = begin + a.bytes;
    const View &known = is_through_l1(a, model) ? known_[t].held : known_[t].seen;
    uint32_t least = 0;
    for (uint32_t g = begin / GRANULE; g < (end + GRANULE - 1) / GRANULE; g++) least = std::max(least, known[g]);
    for (uint32_t k = (uint32_t)log_.size(); k-- > least;)
      if (log_[k].begin < end && begin < log_[k].end) all.push_back(k);
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
    if (!is_write(*a) || (a->kind == INTERLEAVE_COMPARE && a->seen != a->expected)) return;
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

struct Thread {
  const std::function<void()> *work = nullptr;
  ucontext_t context = {};
  std::unique_ptr<char[]> stack;
  interleave_access *pending = nullptr; // NULL: it has ended
  uint32_t lock_failures = 0;
  uint64_t waits_for = 0; // so many changes
  bool has_seen_old = false, sees_last = false;
};

struct Step { // for the story of a failure
  size_t thread;
  interleave_access access;
  int64_t place;
  uint32_t age;
};

// What there is to choose from at one point of an execution.
struct Choice {
  uint32_t enabled, asleep, tried; // a bit for each thread
  uint32_t thread, time_index, times;
};

// ---- The search ---------------------------------------------------------------------------------

class Explorer {
public:
  Explorer(const std::vector<Piece> &shared, Model model, const std::vector<std::function<void()>> &work,
           const Limits &limits)
      : memory_(shared), model_(model), limits_(limits), threads_(work.size()) {
    for (size_t t = 0; t < work.size(); t++) {
      threads_[t].work = &work[t];
      threads_[t].stack.reset(new char[STACK_BYTES]);
    }
  }

  Outcome run(const std::function<std::string()> &judge) {
    Outcome outcome;
    running = this;
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
    if (access->kind == INTERLEAVE_FENCE) return memory_.fence(current_, access->order);
    if (access->kind == INTERLEAVE_PAUSE) return pause(&threads_[current_]);
    if (access->kind != INTERLEAVE_PHASE && memory_.place(access->address) < 0) return make(access);
    threads_[current_].pending = access;
    swapcontext(&threads_[current_].context, &main_);
  }

  static Explorer *running; // NULL: nothing is explored
  bool is_in_thread() const { return in_thread_; }

private:
  static void begin(unsigned low, unsigned high) {
    Thread *t = (Thread *)((uintptr_t)high << 32 | low);
    (*t->work)();
    t->pending = nullptr;
  }

  // Lets a thread go on to its next access, or its end.
  void go_on(size_t t) {
    current_ = t;
    threads_[t].pending = nullptr;
    in_thread_ = true;
    swapcontext(&main_, &threads_[t].context);
    in_thread_ = false;
  }

  void start() {
    memory_.restore(threads_.size());
    steps_.clear();
    for (size_t i = 0; i < threads_.size(); i++) {
      Thread *t = &threads_[i];
      const uintptr_t self = (uintptr_t)t;
      t->lock_failures = 0;
      t->waits_for = 0;
      t->has_seen_old = t->sees_last = false;
      getcontext(&t->context);
      t->context.uc_stack.ss_sp = t->stack.get();
      t->context.uc_stack.ss_size = STACK_BYTES;
      t->context.uc_link = &main_;
      makecontext(&t->context, (void (*)())begin, 2, (unsigned)self, (unsigned)(self >> 32));
      go_on(i);
    }
  }

  // A thread that waits has looked in vain. If what it saw was all new, it looks again when something has changed.
  void pause(Thread *t) {
    t->waits_for = t->has_seen_old ? 0 : memory_.changes() + 1;
    t->has_seen_old = t->sees_last = false;
  }

  bool is_at_end_of_phase(const Thread &t) const { return t.pending && t.pending->kind == INTERLEAVE_PHASE; }

  // A lock that a thread has tried in vain twice is tried again when it is free: more attempts see nothing new.
  bool waits(const Thread &t) const {
    const interleave_access &a = *t.pending;
    uint32_t bits = 0;
    if (t.waits_for > memory_.changes()) return true;
    if (a.kind != INTERLEAVE_OR || t.lock_failures < LOCK_FAILURES) return false;
    memcpy(&bits, a.address, sizeof bits);
    return (bits & (uint32_t)a.operand) != 0;
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
      go_on(t);
    }
    return any;
  }

  bool are_independent(const interleave_access &a, const interleave_access &b) const {
    const char *x = (const char *)a.address, *y = (const char *)b.address;
    return x + a.bytes <= y || y + b.bytes <= x || (!is_write(a) && !is_write(b));
  }

  // Threads that are asleep after the step of `c`: what they would do was tried before, and the step changes nothing for it.
  uint32_t asleep_after(const Choice &c, const interleave_access &done) const {
    uint32_t asleep = 0;
    for (size_t t = 0; t < threads_.size(); t++)
      if (((c.asleep | c.tried) >> t & 1u) && threads_[t].pending && are_independent(*threads_[t].pending, done))
        asleep |= 1u << t;
    return asleep;
  }

  void choose(Choice *c) const {
    const uint32_t left = c->enabled & ~c->asleep & ~c->tried;
    c->thread = (uint32_t)__builtin_ctz(left);
    c->time_index = 0;
    c->times = 0; // not known before that thread's turn comes
  }

  // False: the execution was cut.
  bool execute(Outcome *outcome) {
    uint32_t asleep = 0;
    start();
    for (size_t depth = 0;; depth++) {
      const uint32_t ready = enabled();
      if (!ready) {
        if (!begin_phase()) break;
        asleep = 0;
        depth--;
        continue;
      }
      if (depth == limits_.steps) {
        outcome->failure = "a loop without bound: more than " + std::to_string(limits_.steps) + " accesses";
        return true;
      }
      if (depth == choices_.size()) {
        if (!(ready & ~asleep)) return false;
        choices_.push_back({ready, asleep, 0, 0, 0, 0});
        choose(&choices_.back());
      }
      Choice *c = &choices_[depth];
      Thread *t = &threads_[c->thread];
      interleave_access *a = t->pending;
      if (t->waits_for > memory_.changes()) t->sees_last = true; // nobody else can go on
      const std::vector<uint32_t> times = memory_.times(c->thread, *a, t->sees_last ? Model::SEQUENTIAL : model_);
      c->times = (uint32_t)times.size();
      t->has_seen_old |= c->time_index > 0;
      memory_.access(c->thread, a, times[c->time_index], model_);
      if (a->kind == INTERLEAVE_OR && (a->seen & a->operand)) t->lock_failures++;
      steps_.push_back({c->thread, *a, memory_.place(a->address), c->time_index});
      asleep = asleep_after(*c, steps_.back().access);
      go_on(c->thread);
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
      if (c->enabled & ~c->asleep & ~c->tried) {
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
  ucontext_t main_ = {};
  size_t current_ = 0;
  bool in_thread_ = false;
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
