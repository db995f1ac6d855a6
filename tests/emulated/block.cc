// SPDX-License-Identifier: Apache-2.0
#include "tests/emulated/block.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <vector>

emulated::Index threadIdx, blockIdx, gridDim;

// The memory that a launch asks for. Only whole pages behind it can be protected.
constexpr size_t kPage = 4096, kRoom = 64 * kPage;
alignas(kPage) thread_local uint4 group_room[kRoom / sizeof(uint4)];

namespace emulated {
namespace {

constexpr unsigned kThreads = 1024, kWarp = 32;
constexpr size_t kStack = size_t{64} << 10;

struct Copy {
  void *to;
  const void *from;
  size_t bytes;
};

struct Thread {
  ucontext_t context;
  bool ended;
  std::vector<Copy> copies;
};

// Those of a group go on together: `rounds` counts how often they have.
struct Meeting {
  unsigned arrived, rounds;
};

struct Warp {
  Meeting meeting;
  uint64_t brought[kWarp], all[kWarp];
};

ucontext_t scheduler;
std::vector<Thread> threads;
std::vector<char> stacks;
Warp warps[kThreads / kWarp];
Meeting block;
unsigned running, there;
void (*kernel)(const void *);
const void *argument;

void give_up(const char *why) {
  std::fprintf(stderr, "block %u: %s\n", blockIdx.x, why);
  std::abort();
}

void go_on_elsewhere() { swapcontext(&threads[running].context, &scheduler); }

// Returns when `all` have come.
void meet(Meeting *meeting, unsigned all) {
  const unsigned round = meeting->rounds;
  if (++meeting->arrived == all) {
    meeting->arrived = 0;
    meeting->rounds++;
  }
  while (meeting->rounds == round) go_on_elsewhere();
}

void run_thread() {
  kernel(argument);
  threads[running].ended = true;
  there--;
  if (there && block.arrived == there) give_up("a barrier for which a thread does not come, because it has ended");
  go_on_elsewhere();
}

void begin_threads() {
  for (size_t i = 0; i < threads.size(); i++) {
    Thread &thread = threads[i];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = &stacks[i * kStack];
    thread.context.uc_stack.ss_size = kStack;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, run_thread, 0);
    thread.ended = false;
    thread.copies.clear();
  }
}

// How far the block is: a number that grows.
uint64_t progress() {
  uint64_t sum = block.rounds + threads.size() - there;
  for (const Warp &warp : warps) sum += warp.meeting.rounds;
  return sum;
}

void run_block(std::vector<unsigned> *order, std::mt19937 *random) {
  block = {};
  std::memset(warps, 0, sizeof warps);
  there = static_cast<unsigned>(threads.size());
  begin_threads();
  while (there) {
    const uint64_t before = progress();
    std::shuffle(order->begin(), order->end(), *random);
    for (unsigned i : *order)
      if (!threads[i].ended) {
        running = threadIdx.x = i;
        swapcontext(&scheduler, &threads[i].context);
      }
    if (there && progress() == before) give_up("threads wait for others that do not come");
  }
}

} // namespace

void barrier() { meet(&block, there); }

void exchange(uint64_t mine, uint64_t *of_warp) {
  Warp &warp = warps[threadIdx.x / kWarp];
  warp.brought[threadIdx.x % kWarp] = mine;
  if (warp.meeting.arrived + 1 == kWarp) std::memcpy(warp.all, warp.brought, sizeof warp.all);
  meet(&warp.meeting, kWarp);
  std::memcpy(of_warp, warp.all, sizeof warp.all);
}

void copy_later(void *to, const void *from, size_t bytes) { threads[threadIdx.x].copies.push_back({to, from, bytes}); }

void wait_for_copies() {
  for (const Copy &copy : threads[threadIdx.x].copies) std::memcpy(copy.to, copy.from, copy.bytes);
  threads[threadIdx.x].copies.clear();
}

void launch(void (*what)(const void *), const void *given, unsigned blocks, unsigned count, size_t shared_bytes) {
  static std::mt19937 random(1);
  const size_t there_bytes = (shared_bytes + kPage - 1) / kPage * kPage;
  if (there_bytes > kRoom || count > kThreads || count % kWarp) give_up("a launch that cannot be emulated");
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  threads.resize(count);
  stacks.resize(count * kStack);
  kernel = what;
  argument = given;
  gridDim.x = blocks;
  char *behind = reinterpret_cast<char *>(group_room) + there_bytes;
  if (mprotect(behind, kRoom - there_bytes, PROT_NONE) != 0) give_up("mprotect");
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    std::memset(group_room, 0xA5, there_bytes);
    run_block(&order, &random);
  }
  if (mprotect(behind, kRoom - there_bytes, PROT_READ | PROT_WRITE) != 0) give_up("mprotect");
}

} // namespace emulated
