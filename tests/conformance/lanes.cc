// SPDX-License-Identifier: Apache-2.0
//
// lanes.h: memory of a composition, and bulk operations lane by lane.
#include "tests/conformance/lanes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

#include "core/batch/plan.h"

namespace tessera_test {

// ---- Memory -------------------------------------------------------------------------------------

static constexpr unsigned char guard_byte = 0x6B;

// Which instances there are: the handler of a signal looks the address up.
static std::mutex memories_mutex;
static std::vector<const Memory *> memories;

static void say(const char *text) {
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

// Names the region whose page was touched, and lets the process end by the signal.
void say_region(int signal, siginfo_t *info, void *) {
  const auto *address = static_cast<unsigned char *>(info->si_addr);
  char sentence[256];
  for (const Memory *memory : memories)
    for (const Memory::Block &block : memory->blocks_) {
      if (address < block.start || address >= block.start + block.whole) continue;
      const bool is_before = address < block.region;
      const auto distance = is_before ? block.region - address : address - (block.region + block.bytes) + 1;
      snprintf(sentence, sizeof sentence,
               "%s is read or written %lld bytes %s: plan() asks for %llu bytes of it, and a part stays in its regions "
               "(P-14, P-34)\n",
               block.name.c_str(), static_cast<long long>(distance), is_before ? "before it begins" : "behind its end",
               static_cast<unsigned long long>(block.bytes));
      say(sentence);
    }
  fflush(stdout);
  std::signal(signal, SIG_DFL);
}

static void watch_pages() {
  struct sigaction action = {};
  action.sa_sigaction = say_region;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, nullptr);
}

Memory::Memory(const tsr_composition *composition) : state_(tsr_composition_state(composition)) {
  static std::once_flag once;
  if (!sanitized) std::call_once(once, watch_pages);
  for (tsr_region_walk at = {}; tsr_next_region(composition, &at);)
    state_.part[at.role].region[at.i] = add(std::string("the region ") + at.region->name + " of the " +
                                                tsr_role_names[at.role] + " " + composition->part[at.role].plugin->name,
                                            tsr_region_bytes(composition, at.region), at.region);
  if (composition->lock_bytes)
    state_.locks = static_cast<uint32_t *>(add("the core's array of locks", composition->lock_bytes, nullptr));
  clear();
  std::lock_guard<std::mutex> hold(memories_mutex);
  memories.push_back(this);
}

Memory::~Memory() {
  std::lock_guard<std::mutex> hold(memories_mutex);
  memories.erase(std::find(memories.begin(), memories.end(), this));
  for (Block &block : blocks_) {
    if (sanitized)
      free(block.start);
    else
      munmap(block.start, block.whole);
  }
}

// The region ends as near to the last page as its alignment allows.
void *Memory::add(const std::string &name, uint64_t bytes, const tsr_region *region) {
  constexpr uint64_t page = 4096, alignment = 256;
  Block block = {name, nullptr, 0, nullptr, bytes, region ? *region : tsr_region()};
  const uint64_t aligned = (bytes + alignment - 1) / alignment * alignment;
  if (sanitized) {
    void *start = nullptr;
    if (posix_memalign(&start, alignment, bytes)) abort();
    block.start = block.region = static_cast<unsigned char *>(start);
  } else {
    const uint64_t inner = (aligned + page - 1) / page * page;
    block.whole = inner + 2 * page;
    void *start = mmap(nullptr, block.whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) abort();
    block.start = static_cast<unsigned char *>(start);
    if (mprotect(block.start + page, inner, PROT_READ | PROT_WRITE)) abort();
    memset(block.start + page, guard_byte, inner);
    block.region = block.start + page + inner - aligned;
  }
  blocks_.push_back(block);
  return block.region;
}

void Memory::clear() {
  state_.has_erased = 0;
  for (Block &block : blocks_)
    if (block.asked.draws)
      tsr_draw_region(&block.asked, reinterpret_cast<uint64_t *>(block.region));
    else
      memset(block.region, block.asked.fill, block.bytes);
}

std::string Memory::check_guards() const {
  constexpr uint64_t page = 4096;
  for (const Block &block : blocks_) {
    if (sanitized) continue;
    const unsigned char *begin = block.start + page, *end = block.start + block.whole - page;
    const auto is_whole = [](unsigned char byte) { return byte == guard_byte; };
    if (!std::all_of<const unsigned char *>(begin, block.region, is_whole) ||
        !std::all_of<const unsigned char *>(block.region + block.bytes, end, is_whole))
      return "something was written beside " + block.name;
  }
  return "";
}

tsr_cpu cpu_of(const tsr_composition *composition, const tsr_tile_services *tile) {
  tsr_cpu cpu = {};
  cpu.shape = &composition->shape;
  cpu.core = &composition->facts;
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    const tsr_part *part = &composition->part[role];
    cpu.config[role] = part->config;
    cpu.functions[role] = part->image ? part->image->functions : nullptr;
  }
  cpu.tile = tile;
  return cpu;
}

tsr_ctx context_of(const tsr_state *state, const tsr_cpu *cpu, uint32_t lane, tsr_scratch *scratch) {
  tsr_ctx c = {};
  c.t = state;
  const uint32_t lanes = cpu->shape->tile_lanes;
  c.lane = lane % lanes;
  c.base = lane - c.lane;
  c.active = 1;
  c.scratch = scratch;
  c.cpu = cpu;
  return c;
}

// ---- Tables -------------------------------------------------------------------------------------

LaneTable::LaneTable(CompositionPointer composition, uint32_t warps, uint32_t tiles)
    : Subject(composition->shape.key_bits, composition->shape.value_bits), composition_(std::move(composition)),
      memory_(composition_.get()) {
  composition_->shape.warp_sync = composition_->shape.tile_lanes * tiles > 1;
  for (uint32_t i = 0; i < warps; i++) warps_.push_back(std::make_unique<Warp>(composition_->shape.tile_lanes, tiles));
}

uint64_t LaneTable::collectives() const {
  uint64_t sum = 0;
  for (const auto &warp : warps_) sum += warp->collectives();
  return sum;
}

// Warps take groups of items in turn; all lanes of a warp make the same calls, those past the end without an item.
std::string LaneTable::launch(uint32_t op, tsr_bulk *bulk) {
  const bool marks = tsr_plan_marks(composition_.get(), op);
  const std::string complaint = marks ? launch(TSR_BULK_mark, bulk) : "";
  if (!complaint.empty()) return complaint;
  const tsr_cpu_bulk *functions = tsr_cpu_bulk_for(composition_->shape.key_bits, composition_->shape.payload_bits);
  uint32_t lanes = warps_[0]->lanes();
  const bool is_one = warps_.size() == 1 && lanes == 1, finds = op == TSR_BULK_find || op == TSR_BULK_contains;
  const uint32_t alone = is_one && launches_ % 2, still = is_one && finds && launches_ % 4 > 1;
  launches_++;
  uint64_t groups = (bulk->n + lanes - 1) / lanes;
  std::vector<std::string> complaints(warps_.size());
  tally_ = {};
  bulk->state = memory_.state();
  bulk->tally = &tally_;
  std::mutex adding;
  tsr_tally sum = {};
  auto work = [&](size_t w) {
    Warp &warp = *warps_[w];
    tsr_cpu cpu = cpu_of(composition_.get(), warp.services());
    complaints[w] = warp.run([&](uint32_t lane) {
      tsr_tally own = {};
      for (uint64_t group = w; group < groups; group += warps_.size()) {
        tsr_scratch scratch = {};
        tsr_ctx c = context_of(&bulk->state, &cpu, lane, &scratch);
        c.alone = alone;
        c.still = still;
        uint64_t item = group * lanes + lane;
        functions->lane[op](&c, bulk, item, item < bulk->n, &own);
        own.overflows += scratch.overflows;
      }
      std::lock_guard<std::mutex> hold(adding);
      tsr_tally_add(&sum, &own);
    });
  };
  std::vector<std::thread> threads;
  for (size_t w = 1; w < warps_.size(); w++) threads.emplace_back(work, w);
  work(0);
  for (std::thread &thread : threads) thread.join();
  tsr_tally_add(&tally_, &sum);
  for (const std::string &complaint : complaints)
    if (!complaint.empty()) return complaint;
  return "";
}

std::string LaneTable::insert(Batch &batch) {
  if (composition_->shape.build_pages) return building(batch);
  return composition_->shape.has_lists ? making_lists(batch) : inserting(TSR_BULK_insert, batch, nullptr, 0);
}

// As core/batch/lists.c: the lists of all pairs, those that there are and the batch's, are made anew. What belongs to no
// list, or has no slot, goes where an insert by itself would put it.
std::string LaneTable::making_lists(Batch &batch) {
  const tsr_cpu_bulk *functions = tsr_cpu_bulk_for(composition_->shape.key_bits, composition_->shape.payload_bits);
  const uint64_t slots = composition_->shape.buckets * composition_->shape.bucket_slots;
  const tsr_cpu cpu = cpu_of(composition_.get(), nullptr);
  std::vector<uint64_t> all, values;
  std::string complaint = exported(&all, &values);
  if (!complaint.empty()) return complaint;
  const size_t held = all.size(), n = held + batch.keys.size();
  memory_.clear();
  all.insert(all.end(), batch.keys.begin(), batch.keys.end());
  if (value_bits) values.insert(values.end(), batch.values.begin(), batch.values.end());
  Keys key_array(composition_->shape.key_bits, all);
  Array value_array(value_bits, values);
  tsr_bulk marked = {};
  marked.n = n;
  marked.keys = key_array.data();
  if (tsr_plan_marks(composition_.get(), TSR_BULK_insert)) complaint = launch(TSR_BULK_mark, &marked);
  if (!complaint.empty()) return complaint;
  constexpr uint32_t no_list = UINT32_MAX; // for pairs that have no slot
  std::vector<uint32_t> lists(n + 1);
  std::vector<uint64_t> at(composition_->shape.lists + 1 + TSR_TAIL_RESERVED), places(n + 1, TSR_CPU_NO_SLOT);
  functions->lists(&cpu, &memory_.state(), key_array.data(), 0, n, lists.data());
  uint64_t placed = 0, next = 0;
  const uint64_t reserved = width_mask(key_bits) - 1; // has no place in the stash: those that are there come first
  for (bool first : {true, false})
    for (size_t i = 0; i < n; i++) {
      if ((i < held && all[i] >= reserved) != first) continue;
      if (placed == slots) lists[i] = no_list;
      if (lists[i] == no_list) continue;
      at[lists[i]]++;
      placed++;
    }
  auto *offsets = static_cast<uint32_t *>(memory_.state().part[TSR_ROLE_PROBING].region[0]);
  for (size_t list = 0; list < at.size(); list++) {
    offsets[list] = static_cast<uint32_t>(next);
    next += std::exchange(at[list], next);
  }
  Batch were_there, left;
  std::vector<size_t> of;
  for (size_t i = 0; i < n; i++) {
    if (lists[i] != no_list) {
      places[i] = at[lists[i]]++;
      continue;
    }
    Batch &to = i < held ? were_there : left;
    to.keys.push_back(all[i]);
    to.values.push_back(value_bits ? values[i] : 0);
    if (i >= held) of.push_back(i - held);
  }
  functions->put(&cpu, &memory_.state(), key_array.data(), value_array.data(), 0, n, places.data());
  complaint = inserting(TSR_BULK_insert, were_there, nullptr, 0); // before a new one takes their place
  if (complaint.empty()) complaint = inserting(TSR_BULK_insert, left, nullptr, 0);
  batch.codes.assign(n - held, TSR_INSERTED);
  batch.back_keys.assign(n - held, canary >> (64 - key_bits));
  batch.back_values.assign(n - held, value_bits ? canary >> (64 - value_bits) : 0);
  for (size_t i = 0; i < of.size(); i++) {
    batch.codes[of[i]] = left.codes[i];
    batch.back_keys[of[i]] = left.back_keys[i];
    batch.back_values[of[i]] = left.back_values[i];
  }
  return complaint;
}

// As core/batch/lists.c: the scheme's memory is built from all pairs, those that there are and the batch's, and then these
// are inserted. Where one that was there would find no room, it stays as it was.
std::string LaneTable::building(Batch &batch) {
  const tsr_region *regions = composition_->part[TSR_ROLE_PROBING].plan.regions;
  Batch held;
  std::string complaint = exported(&held.keys, &held.values);
  if (!complaint.empty()) return complaint;
  std::vector<std::string> before;
  for (int i = 0; i < TSR_REGIONS_MAX; i++)
    before.emplace_back(static_cast<const char *>(memory_.state().part[TSR_ROLE_PROBING].region[i]), regions[i].bytes);
  memory_.clear();
  std::vector<uint64_t> all = held.keys;
  all.insert(all.end(), batch.keys.begin(), batch.keys.end());
  build(all);
  Batch again = held;
  complaint = inserting(TSR_BULK_insert, again, nullptr, 0);
  if (!complaint.empty()) return complaint;
  if (std::count(again.codes.begin(), again.codes.end(), TSR_NOT_PLACED)) {
    memory_.clear();
    for (int i = 0; i < TSR_REGIONS_MAX; i++)
      std::copy(before[i].begin(), before[i].end(),
                static_cast<char *>(memory_.state().part[TSR_ROLE_PROBING].region[i]));
    complaint = inserting(TSR_BULK_insert, held, nullptr, 0);
  }
  return complaint.empty() ? inserting(TSR_BULK_insert, batch, nullptr, 0) : complaint;
}

// The scheme's memory from these keys, page by page.
void LaneTable::build(const std::vector<uint64_t> &keys) {
  const tsr_cpu_bulk *functions = tsr_cpu_bulk_for(composition_->shape.key_bits, composition_->shape.payload_bits);
  const tsr_cpu cpu = cpu_of(composition_.get(), nullptr);
  const uint64_t pages = composition_->shape.build_pages;
  Keys as_they_came(composition_->shape.key_bits, keys);
  std::vector<uint32_t> page(keys.size() + 1);
  functions->pages(&cpu, &memory_.state(), pages, as_they_came.data(), 0, keys.size(), page.data());
  std::vector<size_t> order(keys.size());
  for (size_t i = 0; i < order.size(); i++) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return page[a] < page[b]; });
  std::vector<uint64_t> sorted;
  for (size_t i : order) sorted.push_back(keys[i]);
  Keys in_order(composition_->shape.key_bits, sorted);
  for (uint64_t begin = 0, end, p = 0; p < pages; p++, begin = end) {
    for (end = begin; end < order.size() && page[order[end]] == p;) end++;
    functions->build(&cpu, &memory_.state(), in_order.data(), begin, end, p);
  }
}

// As tsr_find_or_insert: values that are written after their keys are read when the inserts are done.
std::string LaneTable::find_or_insert(Batch &batch, uint64_t missing) {
  Array obtained(value_bits, batch.keys.size());
  std::string complaint =
      inserting(TSR_BULK_find_or_insert, batch, composition_->shape.whole_pairs ? obtained.data() : nullptr, missing);
  batch.obtained = obtained.numbers(batch.keys.size());
  if (!complaint.empty() || composition_->shape.whole_pairs) return complaint;
  Batch later;
  later.keys = batch.keys;
  complaint = find(later, missing);
  batch.obtained = later.values;
  return complaint;
}

std::string LaneTable::inserting(uint32_t op, Batch &batch, void *values_out, uint64_t missing) {
  size_t n = batch.keys.size();
  std::vector<uint64_t> canaries(n, canary);
  Keys keys(composition_->shape.key_bits, batch.keys);
  Array values(value_bits, batch.values);
  Keys back_keys(composition_->shape.key_bits, canaries);
  Array back_values(value_bits, canaries);
  batch.codes.assign(n, 255);
  tsr_bulk bulk = {};
  bulk.n = n;
  bulk.keys = keys.data();
  bulk.values = batch.values.empty() ? nullptr : values.data();
  bulk.unplaced_keys = back_keys.data();
  bulk.unplaced_values = back_values.data();
  bulk.results = batch.codes.data();
  bulk.values_out = values_out;
  bulk.missing = missing;
  std::string complaint = launch(op, &bulk);
  if (complaint.empty() && op == TSR_BULK_insert && composition_->facts.combines_later) {
    const tsr_tally inserted = tally_;
    complaint = launch(TSR_BULK_combine, &bulk);
    tsr_tally_add(&tally_, &inserted);
  }
  batch.back_keys = back_keys.numbers(n);
  batch.back_values = back_values.numbers(n);
  uint64_t failed = static_cast<uint64_t>(std::count(batch.codes.begin(), batch.codes.end(), TSR_NOT_PLACED));
  if (complaint.empty() && tally_.not_placed != failed) complaint = "the tally of failed inserts is wrong";
  return complaint.empty() ? check_back(batch) : complaint;
}

std::string LaneTable::find(Batch &batch, uint64_t missing) {
  Keys keys(composition_->shape.key_bits, batch.keys);
  Array values(value_bits, batch.keys.size());
  batch.codes.assign(batch.keys.size(), 255);
  tsr_bulk bulk = {};
  bulk.n = batch.keys.size();
  bulk.keys = keys.data();
  bulk.values_out = values.data();
  bulk.results = batch.codes.data();
  bulk.missing = missing;
  std::string complaint = launch(TSR_BULK_find, &bulk);
  batch.values = values.numbers(batch.keys.size());
  return complaint;
}

std::string LaneTable::contains(Batch &batch) {
  Keys keys(composition_->shape.key_bits, batch.keys);
  batch.codes.assign(batch.keys.size(), 255);
  tsr_bulk bulk = {};
  bulk.n = batch.keys.size();
  bulk.keys = keys.data();
  bulk.results = batch.codes.data();
  return launch(TSR_BULK_contains, &bulk);
}

std::string LaneTable::count_all(Batch &batch) {
  Keys keys(composition_->shape.key_bits, batch.keys);
  batch.codes.assign(batch.keys.size(), 255);
  batch.counts.assign(batch.keys.size(), canary);
  tsr_bulk bulk = {};
  bulk.n = batch.keys.size();
  bulk.keys = keys.data();
  bulk.counts = batch.counts.data();
  bulk.results = batch.codes.data();
  return launch(TSR_BULK_count, &bulk);
}

// As tsr_find_all: note, sum up, gather.
std::string LaneTable::find_all(Batch &batch, uint64_t room) {
  batch.codes.assign(batch.keys.size(), 255);
  batch.counts.assign(batch.keys.size(), canary);
  std::vector<uint64_t> notes(batch.keys.size(), canary); // each has room for a value or a chain
  Keys keys(composition_->shape.key_bits, batch.keys);
  Array values(value_bits, std::vector<uint64_t>(room + 1, canary));
  tsr_bulk bulk = {};
  bulk.n = batch.keys.size();
  bulk.keys = keys.data();
  bulk.counts = batch.counts.data();
  bulk.values_out = notes.data();
  bulk.results = batch.codes.data();
  std::string complaint = launch(TSR_BULK_note, &bulk);
  batch.counts.push_back(0);
  uint64_t sum = 0;
  for (uint64_t &count : batch.counts) sum += std::exchange(count, sum);
  bulk.counts = batch.counts.data();
  bulk.results = nullptr;
  bulk.values = notes.data();
  bulk.values_out = values.data();
  bulk.room = room;
  if (complaint.empty()) complaint = launch(TSR_BULK_retrieve, &bulk);
  batch.values = values.numbers(room + 1);
  if (complaint.empty() && batch.values[room] != canary >> (64 - value_bits)) complaint = "values beyond the room";
  batch.values.resize(room);
  return complaint;
}

std::string LaneTable::erase(Batch &batch) { return erasing(TSR_BULK_erase, batch); }
std::string LaneTable::erase_pairs(Batch &batch) { return erasing(TSR_BULK_erase_pair, batch); }

std::string LaneTable::erasing(uint32_t op, Batch &batch) {
  Keys keys(composition_->shape.key_bits, batch.keys);
  Array values(value_bits, batch.values);
  batch.codes.assign(batch.keys.size(), 255);
  tsr_bulk bulk = {};
  bulk.n = batch.keys.size();
  bulk.keys = keys.data();
  bulk.values = batch.values.empty() ? nullptr : values.data();
  bulk.results = batch.codes.data();
  if (bulk.n) memory_.note_erase();
  return launch(op, &bulk);
}

std::string LaneTable::apply(const std::vector<uint8_t> &operations, Batch &batch, uint64_t missing) {
  const size_t n = batch.keys.size();
  Keys keys(composition_->shape.key_bits, batch.keys);
  Array values(value_bits, batch.values), found(value_bits, std::vector<uint64_t>(n));
  batch.codes.assign(n, 255);
  tsr_bulk bulk = {};
  bulk.n = n;
  bulk.operations = operations.data();
  bulk.keys = keys.data();
  bulk.values = batch.values.empty() ? nullptr : values.data();
  bulk.values_out = found.data();
  bulk.results = batch.codes.data();
  bulk.missing = missing;
  memory_.note_erase();
  std::string complaint = launch(TSR_BULK_apply, &bulk);
  if (complaint.empty() && TSR_TAKES_TURNS(&composition_->shape)) complaint = launch(TSR_BULK_apply_inserts, &bulk);
  batch.obtained = found.numbers(n);
  return complaint;
}

std::string LaneTable::clear() {
  memory_.clear();
  return "";
}

std::string LaneTable::size(uint64_t *size) {
  tsr_bulk bulk = {};
  bulk.n = tsr_composition_refs(composition_.get());
  std::string complaint = launch(TSR_BULK_size, &bulk);
  *size = tally_.hits;
  return complaint;
}

std::string LaneTable::exported(std::vector<uint64_t> *keys, std::vector<uint64_t> *values) {
  uint64_t room;
  std::string complaint = size(&room);
  if (!complaint.empty()) return complaint;
  Keys key_array(composition_->shape.key_bits, room);
  Array value_array(value_bits, room);
  tsr_bulk bulk = {};
  bulk.n = tsr_composition_refs(composition_.get());
  bulk.keys_out = key_array.data();
  bulk.values_out = value_array.data();
  complaint = launch(TSR_BULK_export, &bulk);
  if (complaint.empty() && tally_.hits != room) complaint = "count and export differ";
  *keys = key_array.numbers(room);
  *values = value_array.numbers(room);
  return complaint;
}

} // namespace tessera_test
