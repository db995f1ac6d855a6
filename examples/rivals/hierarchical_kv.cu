// SPDX-License-Identifier: Apache-2.0
//
// Caches compared with HierarchicalKV's in one process: sizes, loads and operations of its own benchmark, in turns, with every
// answer checked; then hit rates under Zipf 1.0 next to exact models. Needs a checkout of HierarchicalKV, of which nothing is
// here:
//
//   nvcc -std=c++17 -O3 --expt-relaxed-constexpr --expt-extended-lambda -arch=native -I CHECKOUT/include
//        $(pkg-config --cflags tessera) hierarchical_kv.cu -o hierarchical_kv $(pkg-config --libs tessera)
//   ./hierarchical_kv > rows.csv
//
// Rows: op, bytes of a row, capacity, load, which table, billions of keys per second (median and mean of the repetitions), keys
// that were found, wrong words. A call has 2^20 keys and is timed from the host until its stream is done, as there.
#include <tessera.h>
#include <tessera_tools.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "merlin_hashtable.cuh"

namespace {

using Key = uint64_t;
constexpr uint64_t kBatch = 1 << 20;

void demand(bool holds, const char *what) {
  if (holds) return;
  fprintf(stderr, "hierarchical_kv: %s\n", what);
  exit(1);
}
void demand(cudaError_t error) { demand(error == cudaSuccess, cudaGetErrorString(error)); }

// ---- On the device -------------------------------------------------------------------------------

__host__ __device__ uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}
__device__ uint32_t word_of(Key key, uint32_t word) { return static_cast<uint32_t>(mix(key)) + word; }

__global__ void number_keys(Key *keys, Key first) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  keys[i] = first + i;
}
// `old` of ten keys are among the newest `mask` + 1 below `next`, the others are new. All differ.
__global__ void draw_keys(Key *keys, Key next, uint64_t mask, uint64_t turn, uint32_t old) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  const bool is_old = mix(i + turn) % 10 < old;
  keys[i] = is_old ? next - 1 - ((i * 0x9E3779B1u + mix(turn)) & mask) : (uint64_t{1} << 62) + turn * kBatch + i;
}
// Of the same ones, by their ranks under Zipf.
__global__ void draw_zipf(Key *keys, const uint32_t *ranks, Key next, uint64_t mask, uint64_t turn) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  keys[i] = next - 1 - ((ranks[i] * uint64_t{0x9E3779B1} + mix(turn)) & mask);
}
__global__ void fill_rows(const Key *keys, uint32_t *rows, uint32_t words) {
  const uint64_t at = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  rows[at] = word_of(keys[at / words], at % words);
}
// Of rows that were found, the words that are not the key's.
__global__ void check_rows(const Key *keys, const uint32_t *rows, const uint8_t *found, uint32_t words,
                           uint64_t *sums) {
  const uint64_t at = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x, i = at / words;
  if (found && !found[i]) return;
  if (rows[at] != word_of(keys[i], at % words)) atomicAdd((unsigned long long *)&sums[1], 1ull);
  if (at % words == 0) atomicAdd((unsigned long long *)&sums[0], 1ull);
}
__global__ void count(const uint8_t *found, uint64_t n, uint64_t *sum) {
  const uint64_t i = blockIdx.x * uint64_t{blockDim.x} + threadIdx.x;
  if (i < n && found[i]) atomicAdd((unsigned long long *)sum, 1ull);
}

template <typename T>
struct Array {
  explicit Array(uint64_t n) { demand(cudaMalloc(&data, n * sizeof(T))); }
  ~Array() { cudaFree(data); }
  Array(const Array &) = delete;
  T *data = nullptr;
};

// ---- The tables ----------------------------------------------------------------------------------

class Cache {
public:
  virtual ~Cache() = default;
  virtual const char *name() const = 0;
  virtual void find(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found) = 0;
  virtual void find_and_use(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found) { find(n, keys, rows, found); }
  virtual void contains(uint64_t n, const Key *keys, uint8_t *found) = 0;
  virtual void insert(uint64_t n, const Key *keys, const uint32_t *rows) = 0;
  virtual void find_or_insert(uint64_t n, const Key *keys, uint32_t *rows, bool are_distinct) = 0;
  virtual void insert_and_evict(uint64_t n, const Key *keys, const uint32_t *rows, Key *gone, uint32_t *lost) = 0;
  virtual uint64_t size() = 0;
  virtual void next_call() {}
  cudaStream_t stream = nullptr;
};

template <int strategy>
class Hierarchical : public Cache {
public:
  Hierarchical(uint64_t capacity, uint32_t words) {
    nv::merlin::HashTableOptions options;
    options.init_capacity = options.max_capacity = capacity;
    options.dim = words;
    options.max_hbm_for_vectors = nv::merlin::GB(16);
    table_.init(options);
    demand(cudaMalloc(&ones_, kBatch * sizeof *ones_));
    demand(cudaMalloc(&scores_, kBatch * sizeof *scores_));
    demand(cudaMalloc(&evicted_scores_, kBatch * sizeof *evicted_scores_));
    demand(cudaMalloc(&evicted_, sizeof *evicted_));
    std::vector<uint64_t> ones(kBatch, 1);
    demand(cudaMemcpy(ones_, ones.data(), kBatch * sizeof *ones_, cudaMemcpyHostToDevice));
  }
  ~Hierarchical() override { cudaFree(ones_), cudaFree(scores_), cudaFree(evicted_scores_), cudaFree(evicted_); }
  const char *name() const override { return "HierarchicalKV"; }
  void find(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found) override {
    table_.find(n, keys, (float *)rows, (bool *)found, nullptr, stream);
  }
  void contains(uint64_t n, const Key *keys, uint8_t *found) override {
    table_.contains(n, keys, (bool *)found, stream);
  }
  void insert(uint64_t n, const Key *keys, const uint32_t *rows) override {
    table_.insert_or_assign(n, keys, (const float *)rows, scores(), stream);
  }
  void find_or_insert(uint64_t n, const Key *keys, uint32_t *rows, bool are_distinct) override {
    if (scores()) demand(cudaMemcpyAsync(scores_, ones_, n * sizeof *ones_, cudaMemcpyDeviceToDevice, stream));
    table_.find_or_insert(n, keys, (float *)rows, scores(), stream, are_distinct);
  }
  void insert_and_evict(uint64_t n, const Key *keys, const uint32_t *rows, Key *gone, uint32_t *lost) override {
    demand(cudaMemsetAsync(evicted_, 0, sizeof *evicted_, stream));
    table_.insert_and_evict(n, keys, (const float *)rows, scores(), gone, (float *)lost, evicted_scores_, evicted_,
                            stream);
  }
  uint64_t size() override { return table_.size(stream); }

private:
  uint64_t *scores() const { return strategy == nv::merlin::EvictStrategy::kLru ? nullptr : scores_; }
  nv::merlin::HashTable<Key, float, uint64_t, strategy, nv::merlin::Sm80> table_;
  uint64_t *ones_ = nullptr, *scores_ = nullptr, *evicted_scores_ = nullptr;
  size_t *evicted_ = nullptr;
};

class Tessera : public Cache {
public:
  static tsr_spec *spec_of(uint64_t capacity, uint32_t words, const char *eviction, uint32_t slots, uint32_t buckets,
                           uint32_t lanes) {
    const std::string text =
        "[table]\nkind=cache\nbackend=cuda\nkey_bits=64\nlayout=packed\nprobing=double_hashing\nhasher=murmur3\n"
        "duplicates=replace\ncapacity=" +
        std::to_string(capacity) + "\neviction=" + eviction +
        (words == 2 ? "\nvalue_bits=64" : "\nvalue_bytes=" + std::to_string(4 * words)) +
        "\n[layout]\nbucket_slots=" + std::to_string(slots) + "\ntile_lanes=" + std::to_string(lanes) +
        "\n[probing]\nmax_probes=" + std::to_string(buckets) + "\n";
    tsr_spec *spec = nullptr;
    tsr_error error = {};
    demand(tsr_spec_parse(text.c_str(), "hierarchical_kv", &spec, &error) == TSR_OK, error.message);
    return spec;
  }
  Tessera(uint64_t capacity, uint32_t words, const char *eviction, uint32_t slots, uint32_t buckets, uint32_t lanes)
      : name_("Tessera " + std::to_string(slots) + "x" + std::to_string(buckets) + "x" + std::to_string(lanes)) {
    tsr_spec *spec = spec_of(capacity, words, eviction, slots, buckets, lanes);
    expect(tsr_table_create(spec, nullptr, &table_, &error_));
    tsr_spec_free(spec);
    demand(cudaMalloc(&results_, kBatch));
  }
  ~Tessera() override { tsr_table_destroy(table_), cudaFree(results_); }
  const char *name() const override { return name_.c_str(); }
  void find(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found) override { look(n, keys, rows, found, true); }
  void find_and_use(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found) override {
    look(n, keys, rows, found, false);
  }
  void contains(uint64_t n, const Key *keys, uint8_t *found) override {
    const tsr_call call = call_of();
    expect(tsr_contains(table_, n, keys, found, &call, &error_));
  }
  void insert(uint64_t n, const Key *keys, const uint32_t *rows) override {
    const tsr_call call = call_of();
    expect(tsr_insert(table_, n, keys, rows, &call, &error_));
  }
  void find_or_insert(uint64_t n, const Key *keys, uint32_t *rows, bool) override {
    const tsr_call call = call_of();
    expect(tsr_find_or_insert(table_, n, keys, rows, rows, &call, &error_));
  }
  void insert_and_evict(uint64_t n, const Key *keys, const uint32_t *rows, Key *gone, uint32_t *lost) override {
    tsr_call call = call_of();
    call.results = results_;
    call.unplaced_keys = gone;
    call.unplaced_values = lost;
    expect(tsr_insert(table_, n, keys, rows, &call, &error_));
  }
  uint64_t size() override {
    uint64_t size = 0;
    expect(tsr_size(table_, &size, &error_));
    return size;
  }

private:
  void expect(tsr_status status) { demand(status == TSR_OK, error_.message); }
  tsr_call call_of() const {
    tsr_call call = {};
    call.size = sizeof call;
    call.stream = stream;
    return call;
  }
  void look(uint64_t n, const Key *keys, uint32_t *rows, uint8_t *found, bool peeks) {
    tsr_call call = call_of();
    call.present = found;
    call.peek = peeks;
    expect(tsr_find(table_, n, keys, rows, &call, &error_));
  }
  std::string name_;
  tsr_table *table_ = nullptr;
  uint8_t *results_ = nullptr;
  tsr_error error_ = {};
};

// ---- Rates ---------------------------------------------------------------------------------------

struct Bench {
  Bench(uint64_t capacity_, uint32_t words_)
      : capacity(capacity_), words(words_), keys(kBatch), gone(kBatch), rows(kBatch * words_), lost(kBatch * words_),
        found(kBatch), sums(2) {}

  template <typename Work>
  double milliseconds(Cache &on, Work work) {
    demand(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    work();
    demand(cudaStreamSynchronize(on.stream));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  void make_rows() { fill_rows<<<kBatch / 256 * words, 256>>>(keys.data, rows.data, words); }

  // Ascending keys until the table is as full as that; returns the key after the last one.
  Key fill(Cache &on, Key next, double load) {
    for (const Key end = next + 4 * capacity; next < end; next += kBatch) {
      const double misses = load * static_cast<double>(capacity) - static_cast<double>(on.size());
      if (misses <= .001 * static_cast<double>(capacity)) break;
      number_keys<<<kBatch / 256, 256>>>(keys.data, next);
      make_rows();
      demand(cudaDeviceSynchronize());
      on.insert(kBatch, keys.data, rows.data);
      demand(cudaDeviceSynchronize());
    }
    return next;
  }

  enum { kFind, kFindAndUse, kFindZipf, kFindOrInsert, kInsertOrAssign, kInsertAndEvict, kInsertNew, kOps };
  void run(Cache &on, int op) {
    switch (op) {
    case kFindAndUse:
      return on.find_and_use(kBatch, keys.data, rows.data, found.data);
    case kFindOrInsert:
      return on.find_or_insert(kBatch, keys.data, rows.data, true);
    case kInsertOrAssign:
      return on.insert(kBatch, keys.data, rows.data);
    case kInsertAndEvict:
    case kInsertNew:
      return on.insert_and_evict(kBatch, keys.data, rows.data, gone.data, lost.data);
    default:
      return on.find(kBatch, keys.data, rows.data, found.data);
    }
  }

  // The words of what the operation wrote or read that are wrong; first: keys whose rows were looked at.
  std::pair<uint64_t, uint64_t> check(Cache &on, int op) {
    uint64_t both[2];
    demand(cudaMemset(sums.data, 0, sizeof both));
    const bool finds = op <= kFindZipf;
    if (!finds) { // the new pairs are there, and have their rows
      demand(cudaMemset(rows.data, 0, kBatch * words * 4));
      on.find(kBatch, keys.data, rows.data, found.data);
    }
    demand(cudaDeviceSynchronize());
    check_rows<<<kBatch / 256 * words, 256>>>(keys.data, rows.data, found.data, words, sums.data);
    demand(cudaMemcpy(both, sums.data, sizeof both, cudaMemcpyDeviceToHost));
    return {both[0], both[1]};
  }

  uint64_t capacity;
  uint32_t words;
  Array<Key> keys, gone;
  Array<uint32_t> rows, lost;
  Array<uint8_t> found;
  Array<uint64_t> sums;
};

const char *const op_names[] = {"find",
                                "find_and_use",
                                "find_zipf",
                                "find_or_insert",
                                "insert_or_assign",
                                "insert_and_evict",
                                "insert_and_evict_new"};

uint64_t wrong_in_all = 0;

// Ranks of ids under Zipf 1.0.
std::vector<uint32_t> zipf(uint32_t ids, uint64_t n, uint64_t seed) {
  std::vector<double> sums;
  double sum = 0;
  for (uint32_t i = 1; i <= ids; i++) sums.push_back(sum += 1. / i);
  std::mt19937_64 random(seed);
  std::vector<uint32_t> drawn(n);
  for (uint32_t &id : drawn) {
    const double x = static_cast<double>(random() >> 11) * 0x1p-53 * sum;
    id = std::min<uint64_t>(std::lower_bound(sums.begin(), sums.end(), x) - sums.begin(), ids - 1);
  }
  return drawn;
}

void rates(uint64_t capacity, uint32_t words, std::vector<std::unique_ptr<Cache>> tables, int repeat) {
  Bench bench(capacity, words);
  std::vector<Key> next(tables.size(), 1);
  static const std::vector<uint32_t> drawn = zipf(1 << 20, kBatch, 2);
  Array<uint32_t> ranks(kBatch);
  demand(cudaMemcpy(ranks.data, drawn.data(), kBatch * sizeof(uint32_t), cudaMemcpyHostToDevice));
  uint64_t turn = 1, mask = 1;
  while (2 * mask < capacity / 4) mask = 2 * mask + 1;
  for (const double load : {.5, .75, 1.}) {
    for (size_t k = 0; k < tables.size(); k++) next[k] = bench.fill(*tables[k], next[k], load);
    for (int op = 0; op < Bench::kOps; op++) {
      std::vector<std::vector<double>> times(tables.size());
      std::vector<uint64_t> found(tables.size()), wrong(tables.size());
      for (auto &table : tables) // HierarchicalKV samples its load in every few calls, and chooses kernels by it
        for (int i = 0; i < 9; i++) bench.run(*table, Bench::kFind);
      for (int r = -2; r < repeat; r++, turn++)
        for (size_t k = 0; k < tables.size(); k++) {
          if (op == Bench::kFindZipf)
            draw_zipf<<<kBatch / 256, 256>>>(bench.keys.data, ranks.data, next[k], mask, turn);
          else // six of ten keys are there, as in HierarchicalKV's benchmark
            draw_keys<<<kBatch / 256, 256>>>(bench.keys.data, next[k], mask, turn, op == Bench::kInsertNew ? 0 : 6);
          if (op <= Bench::kFindZipf)
            demand(cudaMemset(bench.rows.data, 0, kBatch * words * 4));
          else
            bench.make_rows();
          const double ms = bench.milliseconds(*tables[k], [&] { bench.run(*tables[k], op); });
          const auto [looked_at, bad] = bench.check(*tables[k], op);
          found[k] = looked_at;
          wrong[k] += bad;
          if (r >= 0) times[k].push_back(ms);
        }
      for (size_t k = 0; k < tables.size(); k++) {
        double sum = 0;
        for (double ms : times[k]) sum += ms;
        std::sort(times[k].begin(), times[k].end());
        const double keys = kBatch * 1e-6;
        printf("%s,%u,%llu,%.2f,%s,%.4f,%.4f,%llu,%llu\n", op_names[op], 4 * words, (unsigned long long)capacity, load,
               tables[k]->name(), keys / times[k][times[k].size() / 2], keys / (sum / static_cast<double>(repeat)),
               (unsigned long long)found[k], (unsigned long long)wrong[k]);
        wrong_in_all += wrong[k];
      }
      fflush(stdout);
    }
  }
}

// ---- Hit rates -----------------------------------------------------------------------------------

// Counts as hits keys that were there before their call. least: what goes first has the least (first, second).
class Exact {
public:
  Exact(uint32_t ids, uint32_t capacity, bool counts_uses) : of_(ids), capacity_(capacity), counts_uses_(counts_uses) {}
  void use(uint32_t id, uint64_t call) {
    Id &own = of_[id];
    see(own, call);
    hits += own.was_there;
    if (own.is_there) {
      order_.erase({own.uses, own.last, id});
    } else {
      if (order_.size() == capacity_) give_up(call);
      own.uses = 0;
      own.is_there = true;
    }
    own.uses += counts_uses_;
    own.last = clock_++;
    order_.insert({own.uses, own.last, id});
  }
  uint64_t hits = 0;

private:
  struct Id {
    uint64_t last = 0, call = ~uint64_t{0};
    uint32_t uses = 0;
    bool is_there = false, was_there = false;
  };
  struct Place {
    uint32_t uses;
    uint64_t last;
    uint32_t id;
    bool operator<(const Place &o) const { return uses != o.uses ? uses < o.uses : last < o.last; }
  };
  void see(Id &id, uint64_t call) {
    if (id.call != call) id.was_there = id.is_there;
    id.call = call;
  }
  void give_up(uint64_t call) {
    Id &least = of_[order_.begin()->id];
    see(least, call);
    least.is_there = false;
    order_.erase(order_.begin());
  }
  std::vector<Id> of_;
  std::set<Place> order_;
  uint64_t clock_ = 0;
  uint32_t capacity_;
  bool counts_uses_;
};

void hit_rates(const char *eviction, std::vector<std::unique_ptr<Cache>> tables, uint32_t capacity, uint64_t batch) {
  constexpr uint32_t ids = 1 << 20;
  constexpr uint64_t uses = 1 << 21; // and as many before, which are not counted
  const std::vector<uint32_t> ranks = zipf(ids, 2 * uses, 1);
  std::vector<Key> drawn(2 * uses);
  Exact exact(ids, capacity, strcmp(eviction, "lfu") == 0);
  for (uint64_t i = 0; i < drawn.size(); i++) {
    drawn[i] = ranks[i] + 1;
    if (i == uses) exact.hits = 0;
    exact.use(ranks[i], i / batch);
  }
  Array<Key> keys(drawn.size());
  demand(cudaMemcpy(keys.data, drawn.data(), drawn.size() * sizeof(Key), cudaMemcpyHostToDevice));
  Array<uint32_t> rows(batch * 2);
  Array<uint8_t> found(batch);
  Array<uint64_t> hits(1);
  for (auto &table : tables) {
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < drawn.size(); i += batch) {
      if (i == uses) demand(cudaMemset(hits.data, 0, 8));
      table->contains(batch, keys.data + i, found.data);
      demand(cudaStreamSynchronize(table->stream));
      count<<<(batch + 255) / 256, 256>>>(found.data, batch, hits.data);
      table->find_or_insert(batch, keys.data + i, rows.data, false);
      demand(cudaDeviceSynchronize());
    }
    uint64_t counted;
    demand(cudaMemcpy(&counted, hits.data, sizeof counted, cudaMemcpyDeviceToHost));
    const double rate = static_cast<double>(counted) / uses, best = static_cast<double>(exact.hits) / uses;
    printf("# hits,%s,%s,calls of %llu,slots %u,%.4f,exact %.4f,difference %+.4f,seconds %.2f\n", eviction,
           table->name(), (unsigned long long)batch, capacity, rate, best, rate - best,
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    fflush(stdout);
  }
}

using Lru = Hierarchical<nv::merlin::EvictStrategy::kLru>;
using Lfu = Hierarchical<nv::merlin::EvictStrategy::kLfu>;

struct Shape {
  uint32_t slots, buckets, lanes;
};
std::vector<Shape> shapes = {{8, 2, 1}, {16, 1, 4}, {8, 1, 1}, {8, 1, 2}};

// 8x2x1,16x1x4: slots of a bucket, buckets, lanes.
std::vector<Shape> shapes_of(const char *text) {
  std::vector<Shape> read;
  Shape s;
  for (int length = 0; sscanf(text, "%ux%ux%u%n", &s.slots, &s.buckets, &s.lanes, &length) == 3; text += length) {
    read.push_back(s);
    if (text[length] == ',') length++;
  }
  demand(*text == 0 && !read.empty(), "shapes are as 8x2x1,16x1x4");
  return read;
}

// row_bytes: 0 means all.
void all_rates(int repeat, uint64_t part, uint32_t row_bytes) {
  printf("op,row_bytes,capacity,load,table,gkeys_median,gkeys_mean,found,wrong\n");
  for (const uint32_t words : {2u, 8u, 32u, 64u}) {
    if (row_bytes && row_bytes != 4 * words) continue;
    const uint64_t capacity = ((words <= 8 ? 128ull : 1024ull / words) << 20) / part; // at most 4 GB of rows
    std::vector<std::unique_ptr<Cache>> tables;
    tables.emplace_back(new Lru(capacity, words));
    for (const auto &s : shapes) tables.emplace_back(new Tessera(capacity, words, "lru", s.slots, s.buckets, s.lanes));
    rates(capacity, words, std::move(tables), repeat);
  }
}

void all_hit_rates() {
  constexpr uint32_t slots = 1 << 16;
  for (const uint64_t batch : {4096ull, 65536ull}) {
    std::vector<std::unique_ptr<Cache>> lru, lfu;
    for (const auto &s : shapes) {
      lru.emplace_back(new Tessera(slots, 2, "lru", s.slots, s.buckets, s.lanes));
      lfu.emplace_back(new Tessera(slots, 2, "lfu", s.slots, s.buckets, s.lanes));
    }
    lru.emplace_back(new Lru(slots, 2));
    lfu.emplace_back(new Lfu(slots, 2));
    hit_rates("lru", std::move(lru), slots, batch);
    hit_rates("lfu", std::move(lfu), slots, batch);
  }
}

// Links our code ahead, on a machine that may have no GPU, into the cache of cubins.
void link(uint32_t sm) {
  const uint32_t calls = TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_FIND_OR_INSERT | TSR_PREPARE_CONTAINS |
                         TSR_PREPARE_SIZE | TSR_PREPARE_EXPORT;
  for (const uint32_t words : {2u, 8u}) // rows of other lengths have the same code
    for (const auto &s : shapes)
      for (const char *eviction : {"lru", "lfu"}) {
        tsr_spec *spec = Tessera::spec_of(1 << 20, words, eviction, s.slots, s.buckets, s.lanes);
        tsr_error error = {};
        if (words == 2 || eviction == std::string("lru"))
          demand(tsr_spec_prepare(spec, nullptr, sm, calls, nullptr, &error) == TSR_OK, error.message);
        tsr_spec_free(spec);
      }
}

} // namespace

// [REPEAT [PART [ROW_BYTES [SHAPES]]]]: capacities divided by PART; with rows of that length alone (0: all), and without hit
// rates. Or: link SM
int main(int argc, char **argv) {
  if (argc == 3 && argv[1] == std::string("link")) return link(static_cast<uint32_t>(atoi(argv[2]))), 0;
  if (argc > 4) shapes = shapes_of(argv[4]);
  const int repeat = argc > 1 ? atoi(argv[1]) : 15;
  all_rates(repeat, argc > 2 ? strtoull(argv[2], nullptr, 10) : 1, argc > 3 ? static_cast<uint32_t>(atoi(argv[3])) : 0);
  if (argc <= 3) all_hit_rates();
  printf("# wrong words: %llu\n", (unsigned long long)wrong_in_all);
  return wrong_in_all != 0;
}
