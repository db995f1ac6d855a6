// SPDX-License-Identifier: Apache-2.0
//
// Groups of processes: tables whose shards are each in a process of its own. Every test forks its processes before it
// does anything else, and each of them is judged by its exit status. Read next: shards_test.cc.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fstream>
#include <functional>
#include <new>
#include <set>
#include <tuple>

extern "C" {
#include "core/cuda/nccl.h"
#include "core/devices/mesh.h"
}
#include "core/tessera_devices.h"
#include "core/tessera_tools.h"
#include "tests/devices/tables.h"

namespace {
int64_t large_left = -1; // large allocations until one fails, once; negative: none does
bool has_lacked = false;

bool lacks(uint64_t bytes) {
  const uint64_t large = 100000;
  if (bytes < large || large_left < 0 || large_left-- > 0) return false;
  return has_lacked = true;
}
} // namespace

extern "C" { // the linker sends the library's calls here (--wrap)
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
int __real_posix_fallocate(int file, off_t from, off_t bytes);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  return lacks(bytes) ? ENOMEM : __real_posix_memalign(memory, alignment, bytes);
}
int __wrap_posix_fallocate(int file, off_t from, off_t bytes) {
  return lacks(static_cast<uint64_t>(bytes)) ? ENOSPC : __real_posix_fallocate(file, from, bytes);
}
}

namespace {

using namespace tessera_test;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// An address on this machine at which nobody listens: asked from the system, which does not give it to another so soon.
std::string new_address() {
  sockaddr_in name = {};
  socklen_t bytes = sizeof name;
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int one = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(bind(one, reinterpret_cast<sockaddr *>(&name), sizeof name), 0);
  EXPECT_EQ(getsockname(one, reinterpret_cast<sockaddr *>(&name), &bytes), 0);
  close(one);
  return "tcp://127.0.0.1:" + std::to_string(ntohs(name.sin_port));
}

// A name that fits into that of a socket, whatever folder tests have.
std::string new_id() {
  static int number = 0;
  return "/tmp/tsr_group_" + std::to_string(getpid()) + "_" + std::to_string(number++);
}

#define NEED(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "rank %u, line %d: %s\n", rank, __LINE__, #condition);                                           \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)
#define NEED_OK(call)                                                                                                  \
  do {                                                                                                                 \
    tsr_error error = {};                                                                                              \
    if (call) {                                                                                                        \
      fprintf(stderr, "rank %u, line %d: %s: %s\n", rank, __LINE__, #call, error.message);                             \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

// How many times as long everything may take where each process has a GPU to open and code to link first, beside others.
int patience() { return backend() == "cpu" ? 1 : 8; }

// A group's limit where a test waits until silence has been noticed. Who compiles, clears or computes is not silent; by a
// wire from GPU to GPU the limit is also that of the work before a chunk travels.
double silence_s() { return backend() == "cpu" ? 2 : 10.0 / patience(); }

using Life = std::function<int(uint32_t rank, const std::string &id)>;

// Each rank in a process. Returns what they exit with; 128 and a signal if they were killed.
std::vector<int> live(uint32_t size, const Life &life, const std::string &id = new_id()) {
  std::vector<pid_t> children;
  std::vector<int> statuses;
  fflush(nullptr);
  for (uint32_t rank = 0; rank < size; rank++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(100 * static_cast<unsigned>(patience())); // a hang is a failure and no wait
      _exit(life(rank, id));
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    statuses.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  }
  for (uint32_t rank = 0; rank < size; rank++) EXPECT_NE(access((id + "." + std::to_string(rank)).c_str(), F_OK), 0);
  return statuses;
}

tsr_status join(uint32_t rank, uint32_t size, const std::string &id, double limit_s, tsr_group **group,
                tsr_error *error, double late_s = 0) {
  tsr_group_options options = {};
  options.limit_s = limit_s * patience();
  options.late_s = late_s * patience();
  return tsr_group_create(rank, size, id.c_str(), &options, group, error);
}

// Every process has a device of its own, where there are several.
std::string device_of(uint32_t rank) {
  const std::string all = numbers(rank + 1);
  return all.substr(all.rfind(',') + 1);
}

// How many processes a test has at most: NCCL wants a GPU for each.
uint32_t most() {
  const std::string all = all_numbers();
  return backend() == "cpu" ? 3 : std::min(3u, 1 + static_cast<uint32_t>(std::count(all.begin(), all.end(), ',')));
}

// Whether columns are exchanged although processes reach each other's memory.
bool copies = false;

tsr_status make(uint32_t rank, tsr_group *group, const std::string &words, tsr_table **table, tsr_error *error) {
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  const std::string way = copies ? " devices.exchange=copy" : "";
  tsr_spec *spec = spec_of(words + " devices=" + device_of(rank) + way);
  const tsr_status status = tsr_group_table_create(group, spec, &options, table, error);
  tsr_spec_free(spec);
  return status;
}

const char *const kMap = "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 "
                         "devices.chunk=256 ";
const char *const kMulti = "kind=multimap key_bits=64 value_bits=32 layout=soa probing=double_hashing hasher=murmur3 "
                           "devices.chunk=256 ";

const char *const kRight =
    "kind=multimap key_bits=32 value_bits=32 layout=packed probing=double_hashing hasher=murmur3 "
    "devices.chunk=256 ";

uint32_t key_of(uint32_t i) { return i * 2654435761u; }

// A number of processes, whose kernels reach each other's memory or exchange copies.
class Group : public testing::TestWithParam<std::tuple<uint32_t, bool>> {
protected:
  void SetUp() override { copies = std::get<1>(GetParam()); }
  void TearDown() override { copies = false; }
  static uint32_t size_asked() { return std::get<0>(GetParam()); }
};

// Every process inserts its part, and asks for the keys of all.
int map_life(uint32_t rank, uint32_t size, const std::string &id) {
  const uint32_t n = 3000;
  tsr_group *group = nullptr;
  tsr_table *table = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(make(rank, group, std::string(kMap) + "capacity=3000", &table, &error));
  NEED(info_of(table).capacity == n);
  std::vector<uint32_t> keys, values, all, found(n + 5), wanted;
  for (uint32_t i = 0; i < n + 5; i++) {
    all.push_back(key_of(i));
    wanted.push_back(i < n ? i : 77);
    if (i < n && i % size == rank && (rank != 0 || size == 1 || i > 500)) { // batches of unlike lengths
      keys.push_back(key_of(i));
      values.push_back(i);
    }
  }
  std::vector<uint8_t> codes(keys.size()), more_codes(n);
  tsr_call call = {};
  if (rank % 2 == 0) call.results = codes.data(); // one wants to know and the next does not
  NEED_OK(tsr_insert(table, keys.size(), keys.data(), values.data(), &call, &error));
  for (uint8_t code : codes) NEED(rank % 2 || code == TSR_INSERTED);
  std::vector<uint32_t> every, own; // what was left out; whoever comes first
  for (uint32_t i = 0; i < n; i++) own.push_back(i);
  call.results = more_codes.data();
  NEED_OK(tsr_insert(table, rank == 0 ? n : 0, all.data(), own.data(), &call, &error));
  call = {};
  call.missing = 77;
  NEED_OK(tsr_find(table, n + 5, all.data(), found.data(), &call, &error));
  NEED(found == wanted);
  NEED_OK(tsr_find(table, rank == 0 ? 0 : 10, all.data(), found.data(), &call, &error));
  uint64_t count = 0;
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == n);
  std::vector<uint32_t> out_keys(n), out_values(n);
  NEED_OK(tsr_export(table, n, out_keys.data(), rank == 1 ? nullptr : out_values.data(), &count, &error));
  for (uint32_t i = 0; i < n; i++) NEED(rank == 1 || out_keys[i] == key_of(out_values[i]));
  std::sort(out_keys.begin(), out_keys.end());
  NEED(std::unique(out_keys.begin(), out_keys.end()) == out_keys.end());
  tsr_rehash_options options = {};
  options.capacity = 5000;
  options.seed = 3;
  NEED_OK(tsr_rehash(table, &options, &error));
  NEED_OK(tsr_erase(table, rank == 0 ? 100 : 0, all.data(), nullptr, &error));
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == n - 100);
  NEED_OK(tsr_clear(table, nullptr, &error));
  NEED_OK(tsr_build(table, keys.size(), keys.data(), values.data(), nullptr, 3, &error));
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == (size == 1 ? n : n - (500 / size + 1)));
  tsr_table_destroy(table);
  tsr_group_destroy(group);
  return 0;
}

// Two tables whose parts differ; each process gets all rows, or those columns that it wants.
int join_life(uint32_t rank, uint32_t size, const std::string &id) {
  const uint32_t n = 2000;
  tsr_group *group = nullptr;
  tsr_table *left = nullptr, *right = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(make(rank, group, std::string(kMap) + "capacity=2000", &left, &error));
  NEED_OK(make(rank, group, std::string(kRight) + "capacity=8000 seed=5", &right, &error));
  std::vector<uint32_t> keys, values, twice, counts;
  for (uint32_t i = rank; i < n; i += size) {
    keys.push_back(key_of(i));
    values.push_back(i);
    for (uint32_t times = 0; i % 2 == 0 && times < 2; times++) { // every other key, two pairs
      twice.push_back(key_of(i));
      counts.push_back(2 * i + times);
    }
  }
  NEED_OK(tsr_insert(left, keys.size(), keys.data(), values.data(), nullptr, &error));
  NEED_OK(tsr_insert(right, twice.size(), twice.data(), counts.data(), nullptr, &error));
  uint64_t rows = 0, seen = 0;
  for (tsr_table *other : {right, left}) {
    NEED_OK(tsr_join(left, other, TSR_JOIN_INNER, nullptr, &rows, &error));
    NEED(rows == n);
  }
  std::vector<uint32_t> out_keys(n), lefts(n), rights(n);
  tsr_join_rows out = {};
  out.room = n;
  out.keys = out_keys.data();
  if (rank != 1) out.left_values = lefts.data();
  out.right_values = rights.data();
  NEED_OK(tsr_join(left, right, TSR_JOIN_INNER, rank == 2 ? nullptr : &out, &rows, &error));
  NEED(rows == n);
  std::set<uint32_t> pairs(rights.begin(), rights.end());
  NEED(rank == 2 || pairs.size() == n);
  for (uint32_t i = 0; i < n && rank != 2; i++) {
    NEED(out_keys[i] == key_of(rights[i] / 2) && rights[i] / 2 % 2 == 0);
    NEED(rank == 1 || lefts[i] == rights[i] / 2);
  }
  std::vector<uint64_t> sums(n);
  out = {};
  out.room = n;
  out.keys = out_keys.data();
  out.aggregates = sums.data();
  NEED_OK(tsr_join(left, right, TSR_JOIN_SUM, &out, &rows, &error));
  NEED(rows == n / 2);
  for (uint32_t i = 0; i < rows; i++) {
    NEED((sums[i] - 1) % 8 == 0 && out_keys[i] == key_of(static_cast<uint32_t>((sums[i] - 1) / 4)));
    seen += sums[i];
  }
  NEED(seen == uint64_t{n} * (n - 2) + n / 2); // of 4 i + 1, i even
  out.room = 10;
  tsr_error error = {};
  NEED(tsr_join(left, right, TSR_JOIN_INNER, &out, &rows, &error) == TSR_BAD_ARGUMENT);
  tsr_table_destroy(left);
  tsr_table_destroy(right);
  tsr_group_destroy(group);
  return 0;
}

TEST_P(Group, Joins) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return join_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

// Keys that come often, saved and loaded by the group, which grows and erases then.
int save_life(uint32_t rank, uint32_t size, const std::string &id) {
  const uint32_t n = 3000;
  const std::string path = id + ".tsr", mine = path + "." + std::to_string(rank);
  tsr_group *group = nullptr;
  tsr_table *saved = nullptr, *table = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(make(rank, group, std::string(kRight) + "growth=double capacity=3000", &saved, &error));
  std::vector<uint32_t> keys, values, queries;
  for (uint32_t i = rank; i < n; i += size) {
    keys.push_back(key_of(i % 100 < 50 ? i : i % 7)); // bins are dealt by how often they come
    values.push_back(i);
  }
  NEED_OK(tsr_insert(saved, keys.size(), keys.data(), values.data(), nullptr, &error));
  NEED_OK(tsr_table_save(saved, path.c_str(), &error));
  tsr_table_destroy(saved);
  tsr_load_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  NEED_OK(tsr_group_table_load(group, path.c_str(), &options, &table, &error));
  uint64_t count = 0;
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == n);
  for (uint32_t i = 0; i < n; i++) queries.push_back(key_of(i));
  std::vector<uint64_t> counts(n);
  NEED_OK(tsr_count_all(table, n, queries.data(), counts.data(), nullptr, &error));
  for (uint32_t i = 0; i < n; i++) {
    uint64_t wanted = i % 100 < 50;
    for (uint32_t k = 0; i < 7 && k < n; k++) wanted += k % 100 >= 50 && k % 7 == i;
    NEED(counts[i] == wanted);
  }
  for (uint32_t round = 1; round < 4; round++) // it grows
    NEED_OK(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error));
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == uint64_t{4} * n);
  NEED_OK(tsr_erase(table, rank == 0 ? n : 0, queries.data(), nullptr, &error));
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == 0);
  tsr_table_destroy(table);
  tsr_error error = {};
  NEED(size == 1 || tsr_table_load(mine.c_str(), &options, &table, &error) == TSR_INCOMPATIBLE);
  NEED(unlink(mine.c_str()) == 0);
  NEED(tsr_group_table_load(group, path.c_str(), &options, &table, &error) == TSR_NOT_FOUND);
  tsr_group_destroy(group);
  return 0;
}

TEST_P(Group, SavesAndLoads) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return save_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

// A file of one process with as many devices is a group's as well.
TEST(Loading, TheFileOfOneProcess) {
  const std::string id = new_id(), path = id + ".tsr";
  const auto life = [&](uint32_t rank, const std::string &) {
    tsr_load_options options = {};
    const std::string device = device_of(rank);
    options.plugins = "layouts:probing:hashers:allocators:eviction";
    options.device = device.c_str();
    std::vector<uint32_t> keys, found(1000);
    for (uint32_t i = 0; i < 1000; i++) keys.push_back(key_of(i));
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    if (rank == 0) {
      tsr_table *whole = table_of(std::string(kMap) + "capacity=1000 devices=" + numbers(2));
      NEED_OK(tsr_insert(whole, 1000, keys.data(), keys.data(), nullptr, &error));
      NEED_OK(tsr_table_save(whole, path.c_str(), &error));
      tsr_table_destroy(whole);
    }
    NEED_OK(join(rank, 2, id, 20, &group, &error));
    NEED_OK(tsr_group_table_load(group, path.c_str(), &options, &table, &error));
    NEED_OK(tsr_find(table, 1000, keys.data(), found.data(), nullptr, &error));
    NEED(found == keys);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  };
  EXPECT_EQ(live(2, life, id), (std::vector<int>{0, 0}));
  EXPECT_EQ(unlink(path.c_str()), 0);
}

TEST_P(Group, Maps) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return map_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

// Keys that come often, from all processes: parts follow the histogram of all of them.
int multimap_life(uint32_t rank, uint32_t size, const std::string &id) {
  tsr_group *group = nullptr;
  tsr_table *table = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(make(rank, group, std::string(kMulti) + "capacity=12000", &table, &error));
  std::vector<uint64_t> keys, queries;
  std::vector<uint32_t> values;
  for (uint32_t i = 0; i < 1500; i++) { // key k comes k + 1 times from each process
    const uint32_t k = static_cast<uint32_t>((std::sqrt(8.0 * i + 1) - 1) / 2);
    keys.push_back(k);
    values.push_back(rank * 10000 + i);
  }
  std::vector<uint8_t> codes(keys.size());
  tsr_call call = {};
  call.results = codes.data();
  NEED_OK(tsr_insert(table, keys.size(), keys.data(), values.data(), &call, &error));
  for (uint8_t code : codes) NEED(code == TSR_INSERTED);
  for (uint64_t k = 50; k-- > 0;) queries.push_back(k);
  std::vector<uint64_t> offsets(queries.size() + 1);
  NEED_OK(tsr_find_all(table, queries.size(), queries.data(), offsets.data(), 0, nullptr, nullptr, &error));
  std::vector<uint32_t> found(offsets.back());
  NEED_OK(tsr_find_all(table, queries.size(), queries.data(), offsets.data(), rank == 0 ? found.size() : 0,
                       rank == 0 ? found.data() : nullptr, nullptr, &error));
  for (size_t q = 0; q < queries.size(); q++) {
    NEED(offsets[q + 1] - offsets[q] == (queries[q] + 1) * size);
    std::set<uint32_t> seen;
    for (uint64_t at = offsets[q]; rank == 0 && at < offsets[q + 1]; at++) {
      const uint32_t i = found[at] % 10000;
      NEED(i < 1500 && keys[i] == queries[q] && found[at] / 10000 < size);
      NEED(seen.insert(found[at]).second);
    }
  }
  tsr_table_destroy(table);
  tsr_group_destroy(group);
  return 0;
}

// Equal keys of all processes, combined before they travel: first few, then more, so that buffers grow that others have mapped.
int counter_life(uint32_t rank, uint32_t size, const std::string &id) {
  const uint32_t distinct = 1000;
  tsr_group *group = nullptr;
  tsr_table *table = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(
      make(rank, group,
           "kind=counter key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 devices.combine=always "
           "capacity=3000",
           &table, &error));
  std::vector<uint32_t> asked, wanted, found(distinct);
  for (uint32_t i = 0; i < distinct; i++) asked.push_back(key_of(i)), wanted.push_back(0);
  for (uint32_t n : {10u, 700u, 900000u, 300u}) {
    std::vector<uint32_t> keys;
    for (uint32_t i = 0; i < n; i++) keys.push_back(key_of((i * 7 + rank) % distinct));
    for (uint32_t from = 0; from < size; from++)
      for (uint32_t i = 0; i < n; i++) wanted[(i * 7 + from) % distinct]++;
    std::vector<uint8_t> codes(n);
    tsr_call call = {};
    if (n != 700) call.results = codes.data();
    NEED_OK(tsr_insert(table, n, keys.data(), nullptr, &call, &error));
    for (uint8_t code : codes) NEED(n == 700 || code == TSR_INSERTED || code == TSR_COMBINED);
    NEED_OK(tsr_find(table, distinct, asked.data(), found.data(), nullptr, &error));
    NEED(found == wanted);
  }
  tsr_table_destroy(table);
  tsr_group_destroy(group);
  return 0;
}

TEST_P(Group, Counters) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return counter_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

// Keys of 128 bits travel between processes with their values, and into files: every process counts the same keys.
int wide_life(uint32_t rank, uint32_t size, const std::string &id) {
  const uint32_t n = 3000;
  const char *const words = "kind=map key_bits=128 value_bits=64 duplicates=add layout=soa probing=double_hashing "
                            "hasher=murmur3 devices.chunk=256 capacity=3000";
  tsr_group *group = nullptr;
  tsr_table *table = nullptr;
  NEED_OK(join(rank, size, id, 20, &group, &error));
  NEED_OK(make(rank, group, words, &table, &error));
  std::vector<uint64_t> numbers(n), values(n), found(n), wanted(n);
  for (uint32_t i = 0; i < n; i++) {
    numbers[i] = ~uint64_t{0} - i;
    values[i] = i + rank;
    wanted[i] = uint64_t{size} * i + size * (size - 1) / 2;
  }
  Keys keys(128, numbers), out(128, n);
  NEED_OK(tsr_insert(table, n, keys.data(), values.data(), nullptr, &error));
  const std::string path = id + ".tsr";
  tsr_load_options options = {};
  options.plugins = "layouts:probing:hashers:allocators:eviction";
  NEED_OK(tsr_table_save(table, path.c_str(), &error));
  tsr_table_destroy(table);
  NEED_OK(tsr_group_table_load(group, path.c_str(), &options, &table, &error));
  NEED_OK(tsr_find(table, n, keys.data(), found.data(), nullptr, &error));
  NEED(found == wanted);
  uint64_t count = 0;
  NEED_OK(tsr_export(table, n, out.data(), values.data(), &count, &error));
  std::vector<uint64_t> exported = out.numbers(n);
  for (uint32_t i = 0; i < n; i++) NEED(values[i] == wanted[~uint64_t{0} - exported[i]]);
  std::sort(exported.begin(), exported.end(), std::greater<uint64_t>());
  NEED(count == n && exported == numbers);
  tsr_table_destroy(table);
  tsr_group_destroy(group);
  return 0;
}

TEST_P(Group, KeysOf128Bits) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return wide_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

TEST_P(Group, Multimaps) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return multimap_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

TEST_P(Group, MapsOverTcp) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(
                size, [&](uint32_t rank, const std::string &id) { return map_life(rank, size, id); }, new_address()),
            std::vector<int>(size, 0));
}

// Arrays in the memory of each process's own device; on GPUs TSR_GROUP_N pairs a process, and rank 0 says at what rate.
int large_life(uint32_t rank, uint32_t size, const std::string &id) {
  const char *said = getenv("TSR_GROUP_N");
  const uint32_t n = said ? static_cast<uint32_t>(atoi(said)) : 20000;
  tsr_group *group = nullptr;
  tsr_table *table = nullptr;
  NEED_OK(join(rank, size, id, 40, &group, &error));
  NEED_OK(make(rank, group,
               "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 "
               "layout.bucket_slots=4 devices.chunk=" +
                   std::to_string(n / 8) + " capacity=" + std::to_string(size * n),
               &table, &error));
  std::vector<uint32_t> keys(n), values(n), found(n);
  void *arrays[3];
  for (uint32_t i = 0; i < n; i++) keys[i] = key_of(rank * n + i), values[i] = rank * n + i;
  for (void *&array : arrays) NEED_OK(tsr_memory_allocate_on(table, 0, n * 4ull, &array, &error));
  NEED_OK(tsr_memory_copy(table, arrays[0], keys.data(), n * 4ull, &error));
  NEED_OK(tsr_memory_copy(table, arrays[1], values.data(), n * 4ull, &error));
  double insert_s = 0, find_s = 0;
  tsr_phases inserted = {}, asked = {};
  for (int turn = 0; turn < 3; turn++) { // the first makes the code
    NEED_OK(tsr_clear(table, nullptr, &error));
    NEED_OK(tsr_phases_start(table, &error));
    const Clock::time_point begin = Clock::now();
    NEED_OK(tsr_insert(table, n, arrays[0], arrays[1], nullptr, &error));
    insert_s = seconds_since(begin);
    NEED_OK(tsr_phases_stop(table, &inserted, &error));
  }
  uint64_t count = 0;
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == uint64_t{size} * n);
  for (uint32_t i = 0; i < n; i++) keys[i] = key_of((rank + 1) % size * n + n - 1 - i); // what another has inserted
  NEED_OK(tsr_memory_copy(table, arrays[0], keys.data(), n * 4ull, &error));
  for (int turn = 0; turn < 3; turn++) {
    NEED_OK(tsr_phases_start(table, &error));
    const Clock::time_point begin = Clock::now();
    NEED_OK(tsr_find(table, n, arrays[0], arrays[2], nullptr, &error));
    find_s = seconds_since(begin);
    NEED_OK(tsr_phases_stop(table, &asked, &error));
  }
  NEED_OK(tsr_memory_copy(table, found.data(), arrays[2], n * 4ull, &error));
  for (uint32_t i = 0; i < n; i++) NEED(found[i] == (rank + 1) % size * n + n - 1 - i);
  if (backend() == "cpu") NEED(inserted.is_direct == (size > 1 && !copies) && asked.is_direct == inserted.is_direct);
  if (rank == 0 && said)
    for (int op = 0; op < 2; op++) {
      const tsr_phases &p = op ? asked : inserted;
      printf("%u processes, %u pairs each%s: %s %.0f M/s; split %.3f, exchange %.3f, work %.3f, answer %.3f ms\n", size,
             n, p.is_direct ? ", direct" : "", op ? "find" : "insert", size * 1e-6 * n / (op ? find_s : insert_s),
             p.split_ms, p.exchange_ms, p.work_ms, p.answer_ms);
    }
  fflush(stdout);
  for (void *array : arrays) tsr_memory_free(table, array);
  tsr_table_destroy(table);
  tsr_group_destroy(group);
  return 0;
}

TEST_P(Group, LargeBatches) {
  const uint32_t size = size_asked();
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  EXPECT_EQ(live(size, [&](uint32_t rank, const std::string &id) { return large_life(rank, size, id); }),
            std::vector<int>(size, 0));
}

INSTANTIATE_TEST_SUITE_P(All, Group, testing::Combine(testing::Values(1u, 2u, 3u), testing::Bool()),
                         [](const testing::TestParamInfo<std::tuple<uint32_t, bool>> &info) {
                           return std::to_string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "Copies" : "Direct");
                         });

// ---- Memory that processes share ---------------------------------------------------------------

#if defined(__SANITIZE_ADDRESS__)
const bool is_sanitized = true;
#else
const bool is_sanitized = false;
#endif

// Of this process, by its own account: memory of others or of its own that has no folder.
uint32_t count_shared_maps() {
  std::ifstream maps("/proc/self/maps");
  uint32_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:tessera") != std::string::npos;
  return count;
}

// Inserts n pairs of this rank's own, and finds those of another.
int fill_and_find(uint32_t rank, uint32_t size, tsr_table *table, uint32_t n, tsr_phases *phases) {
  std::vector<uint32_t> keys(n), values(n), found(n);
  for (uint32_t i = 0; i < n; i++) keys[i] = key_of(rank * n + i), values[i] = ~keys[i];
  NEED_OK(tsr_clear(table, nullptr, &error));
  NEED_OK(tsr_phases_start(table, &error));
  NEED_OK(tsr_insert(table, n, keys.data(), values.data(), nullptr, &error));
  NEED_OK(tsr_phases_stop(table, phases, &error));
  for (uint32_t i = 0; i < n; i++) keys[i] = key_of((rank + 1) % size * n + i);
  NEED_OK(tsr_find(table, n, keys.data(), found.data(), nullptr, &error));
  for (uint32_t i = 0; i < n; i++) NEED(found[i] == ~keys[i]);
  uint64_t count = 0;
  NEED_OK(tsr_size(table, &count, &error));
  NEED(count == uint64_t{size} * n);
  return 0;
}

// Tables come and go while buffers grow, by processes that are not in step. In the end nobody maps anything.
TEST(Leaving, TablesComeAndGo) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    for (uint32_t turn = 0; turn < 6; turn++) {
      tsr_table *table = nullptr;
      tsr_phases phases = {};
      NEED_OK(make(rank, group, std::string(kMap) + "capacity=300000", &table, &error));
      for (uint32_t n : {100u, 1000u << turn, 77u}) {
        if ((turn + rank) % most() == 0) usleep(30000);
        NEED(fill_and_find(rank, most(), table, n, &phases) == 0);
      }
      if ((turn + rank) % most() == 1) usleep(100000);
      tsr_table_destroy(table);
      NEED(count_shared_maps() == 0);
    }
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(most(), 0));
}

// Memory that another process maps is not given back before that one has unmapped it.
TEST(Leaving, ALateRankIsWaitedFor) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    uint64_t one = 1;
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=9000", &table, &error));
    NEED(fill_and_find(rank, most(), table, 1000, &phases) == 0);
    NEED_OK(tsr_group_add_up(group, 1, &one, &error));
    const Clock::time_point begin = Clock::now();
    if (rank == 1) sleep(1);
    tsr_table_destroy(table);
    NEED(rank == 1 || !phases.is_direct || seconds_since(begin) > .9);
    NEED(seconds_since(begin) < 10 * patience());
    NEED(count_shared_maps() == 0);
    NEED_OK(tsr_group_add_up(group, 1, &one, &error)); // the group is whole
    NEED(one == uint64_t{most()} * most());
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(most(), 0));
}

// ---- Memory that is short ----------------------------------------------------------------------

const char *const kPages =
    "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 load_factor=0.8 "
    "duplicates=promise_unique page_bytes=auto page_batch=1000 stash=1000 layout.bucket_slots=8 layout.tile_lanes=1 "
    "probing.hash_functions=2 ";

// On a GPU it would starve whatever runs beside it, so it has to be asked for.
bool may_starve() { return !is_sanitized && (backend() == "cpu" || getenv("TSR_TEST_STARVES")); }

std::vector<void *> pieces; // that take a GPU's memory

// Leaves this process that many more bytes: of addresses, or of its GPU's memory.
int starve(uint32_t rank, tsr_table *table, uint64_t bytes) {
  if (backend() == "cpu") {
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlim_t limit = pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) + bytes;
    const rlimit most_of_it = {limit, RLIM_INFINITY};
    NEED(mallopt(M_MMAP_THRESHOLD, 1 << 20)); // what is given back is free for whatever comes
    NEED(setrlimit(RLIMIT_AS, &most_of_it) == 0);
    return 0;
  }
  void *kept = nullptr, *piece = nullptr;
  tsr_error error = {};
  NEED_OK(tsr_memory_allocate_on(table, 0, bytes, &kept, &error));
  for (uint64_t step = 1ull << 34; step >= 1u << 21; step /= 2)
    while (tsr_memory_allocate_on(table, 0, step, &piece, &error) == TSR_OK) pieces.push_back(piece);
  tsr_memory_free(table, kept);
  return 0;
}

void feed(tsr_table *table) {
  const rlimit all = {RLIM_INFINITY, RLIM_INFINITY};
  if (backend() == "cpu") setrlimit(RLIMIT_AS, &all);
  for (void *piece : pieces) tsr_memory_free(table, piece);
  pieces.clear();
}

// Where all have memory for a whole batch, each shard sorts it once.
TEST_P(Group, PagesAreFilledAtOnce) {
  const uint32_t size = size_asked(), n = 600000;
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  const std::vector<int> statuses = live(size, [&](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    NEED_OK(join(rank, size, id, 40, &group, &error));
    NEED_OK(make(rank, group, kPages + ("capacity=" + std::to_string(size * n)), &table, &error));
    for (uint32_t pairs : {n, n / 7}) {
      NEED(fill_and_find(rank, size, table, pairs, &phases) == 0);
      NEED(phases.chunks == 1);
    }
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(size, 0));
}

// More than the 32 Mi items that chunks of groups had, and that chunks without an order have.
TEST(Short, NoChunkIsTooLarge) {
  if (is_sanitized) GTEST_SKIP() << "it would take too long";
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    const uint32_t n = (32 << 20) + 1000, pairs = 1000;
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    NEED_OK(join(rank, 2, id, 40, &group, &error));
    NEED_OK(make(rank, group, std::string(kPages) + "find_batch=1000 capacity=10000", &table, &error));
    std::vector<uint32_t> keys(n);
    std::vector<uint8_t> present(n);
    for (uint32_t i = 0; i < n; i++) keys[i] = key_of(i % (2 * pairs));
    NEED_OK(tsr_insert(table, rank == 0 ? pairs : 0, keys.data(), keys.data(), nullptr, &error));
    NEED_OK(tsr_phases_start(table, &error));
    NEED_OK(tsr_contains(table, n, keys.data(), present.data(), nullptr, &error));
    NEED_OK(tsr_phases_stop(table, &phases, &error));
    NEED(phases.chunks == 1);
    for (uint32_t i = 0; i < n; i++) NEED(present[i] == (i % (2 * pairs) < pairs));
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

// One process has no memory for a whole batch. All take smaller chunks, and each item is inserted once.
TEST_P(Group, ARankWithoutMemoryMakesAllSpare) {
  const uint32_t size = size_asked(), n = 2 << 20;
  if (size > most()) GTEST_SKIP() << "there is no GPU for each process";
  if (!may_starve())
    GTEST_SKIP() << "on a GPU TSR_TEST_STARVES asks for it; AddressSanitizer takes addresses of its own";
  const std::vector<int> statuses = live(size, [&](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    const uint64_t mib = 1 << 20, by_copies = backend() == "cpu" ? 30 : 46; // a GPU's memory comes in pieces of 2 MiB
    NEED_OK(join(rank, size, id, 40, &group, &error));
    NEED_OK(make(rank, group, kPages + ("capacity=" + std::to_string(size * n)), &table, &error));
    std::vector<uint32_t> keys(n), found(n);
    std::vector<uint8_t> codes(n);
    for (uint32_t i = 0; i < n; i++) keys[i] = key_of(rank * n + i);
    NEED_OK(tsr_insert(table, 1000, keys.data(), keys.data(), nullptr, &error)); // makes code and threads
    NEED_OK(tsr_find(table, 1000, keys.data(), found.data(), nullptr, &error));
    NEED_OK(tsr_clear(table, nullptr, &error));
    if (rank + 1 == size) NEED(starve(rank, table, (copies || size == 1 ? by_copies : 12 + 12 * size) * mib) == 0);
    tsr_call call = {};
    call.results = codes.data();
    NEED_OK(tsr_phases_start(table, &error));
    NEED_OK(tsr_insert(table, n, keys.data(), keys.data(), &call, &error));
    NEED_OK(tsr_phases_stop(table, &phases, &error));
    NEED(phases.chunks > 1);
    for (uint8_t code : codes) NEED(code == TSR_INSERTED);
    if (rank + 1 == size) feed(table);
    uint64_t count = 0;
    NEED_OK(tsr_size(table, &count, &error));
    NEED(count == uint64_t{size} * n);
    for (uint32_t i = 0; i < n; i++) keys[i] = key_of((rank + 1) % size * n + i);
    for (uint32_t asked :
         {n, rank + 1 == size ? n : n / 16, rank == 0 ? n : 0}) { // some know large parts to be too large
      std::fill(found.begin(), found.end(), 0);
      NEED_OK(tsr_find(table, asked, keys.data(), found.data(), nullptr, &error));
      NEED(std::equal(keys.begin(), keys.begin() + asked, found.begin()));
    }
    tsr_table_destroy(table);
    NEED(count_shared_maps() == 0);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(size, 0));
}

// Each allocation of a batch fails once, in one process: nothing is lost, and nobody has to begin anew.
TEST_P(Group, AnyLargeAllocationMayFail) {
  const uint32_t size = size_asked(), n = 300000;
  if (backend() != "cpu") GTEST_SKIP() << "a GPU's memory cannot be made to fail";
  const std::vector<int> statuses = live(size, [&](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    NEED_OK(join(rank, size, id, 40, &group, &error));
    std::vector<uint32_t> keys(n), all(n), found(n);
    for (uint32_t i = 0; i < n; i++) keys[i] = key_of(rank * n + i), all[i] = key_of((rank + 1) % size * n + i);
    uint64_t failures = 1, spared = 0;
    for (int64_t k = 0; failures; k++) {
      tsr_table *table = nullptr;
      tsr_phases phases = {};
      std::vector<uint8_t> codes(n);
      tsr_call call = {};
      call.results = k % 2 ? codes.data() : nullptr;
      NEED_OK(make(rank, group, kPages + ("capacity=" + std::to_string(size * n)), &table, &error));
      NEED_OK(tsr_phases_start(table, &error));
      has_lacked = false;
      large_left = rank + 1 == size ? k / 2 : -1;
      NEED_OK(tsr_insert(table, n, keys.data(), keys.data(), &call, &error));
      large_left = -1;
      failures = has_lacked || k % 2 == 0;
      NEED_OK(tsr_group_add_up(group, 1, &failures, &error));
      NEED_OK(tsr_phases_stop(table, &phases, &error));
      spared += phases.chunks > 1;
      NEED_OK(tsr_find(table, n, all.data(), found.data(), nullptr, &error));
      NEED(found == all);
      for (uint8_t code : codes) NEED(code == TSR_INSERTED || k % 2 == 0);
      NEED_OK(tsr_size(table, &phases.chunks, &error));
      NEED(phases.chunks == uint64_t{size} * n);
      tsr_table_destroy(table);
      NEED(k < 200);
    }
    NEED(spared > 4);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(size, 0));
}

// Not even for small chunks: all hear which rank it is.
TEST(Short, ARankWithoutAnyMemoryIsNamed) {
  if (!may_starve())
    GTEST_SKIP() << "on a GPU TSR_TEST_STARVES asks for it; AddressSanitizer takes addresses of its own";
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    const uint32_t n = 4 << 20;
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_error error = {};
    NEED_OK(join(rank, 2, id, 40, &group, &error));
    NEED_OK(make(rank, group, kPages + ("capacity=" + std::to_string(2 * n)), &table, &error));
    std::vector<uint32_t> keys(n);
    for (uint32_t i = 0; i < n; i++) keys[i] = key_of(rank * n + i);
    NEED_OK(tsr_insert(table, 1000, keys.data(), keys.data(), nullptr, &error));
    if (rank == 1) NEED(starve(rank, table, 3 << 20) == 0);
    NEED(tsr_insert(table, n, keys.data(), keys.data(), nullptr, &error) == TSR_NO_MEMORY);
    NEED((std::string(error.message).find("rank 1: ") == 0) == (rank == 0));
    if (rank == 1) feed(table);
    tsr_table_destroy(table);
    NEED(count_shared_maps() == 0);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

// ---- Failures ----------------------------------------------------------------------------------

// Goes on until a call fails, and says whether that was soon, with a sentence, and for good.
int survive(uint32_t rank, tsr_table *table, double within_s) {
  std::vector<uint32_t> keys(1000), values(1000);
  const Clock::time_point begin = Clock::now();
  tsr_error error = {};
  uint64_t size;
  for (uint32_t round = 0;; round++) {
    for (uint32_t i = 0; i < 1000; i++) keys[i] = key_of(round * 1000 + i + rank * 100000000);
    const tsr_status status = tsr_insert(table, 1000, keys.data(), values.data(), nullptr, &error);
    if (status) break;
    NEED(seconds_since(begin) < within_s * patience());
  }
  NEED(seconds_since(begin) < within_s * patience());
  NEED(error.status == TSR_IO);
  NEED(strstr(error.message, "rank") != nullptr);
  error = {};
  NEED(tsr_size(table, &size, &error) == TSR_IO);
  return 0;
}

// All end well but one.
std::vector<int> with(uint32_t rank, int status) {
  std::vector<int> all(most(), 0);
  all[rank] = status;
  return all;
}

TEST(Failing, ARankIsKilled) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1M", &table, &error));
    if (rank == 1) {
      std::vector<uint32_t> keys(1000), values(1000);
      for (uint32_t i = 0; i < 1000; i++) keys[i] = key_of(i + 700000);
      NEED_OK(tsr_insert(table, 1000, keys.data(), values.data(), nullptr, &error));
      kill(getpid(), SIGKILL);
    }
    const int failed = survive(rank, table, 60);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return failed;
  });
  EXPECT_EQ(statuses, with(1, 128 + SIGKILL));
}

// The same over TCP: the end of a stream is told there as well.
TEST(Failing, ARankIsKilledOverTcp) {
  const auto life = [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1M", &table, &error));
    if (rank == 0) kill(getpid(), SIGKILL);
    const int failed = survive(rank, table, 60);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return failed;
  };
  EXPECT_EQ(live(most(), life, new_address()), with(0, 128 + SIGKILL));
}

// Before any table is made.
TEST(Failing, ARankIsKilledBeforeTheFirstCall) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_error error = {};
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    if (rank == 1) kill(getpid(), SIGKILL);
    NEED(make(rank, group, std::string(kMap) + "capacity=1000", &table, &error) == TSR_IO);
    NEED(table == nullptr && strstr(error.message, "has ended or given up") != nullptr);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, with(1, 128 + SIGKILL));
}

// In the middle of its file: then no process has one.
TEST(Failing, ARankIsKilledInASave) {
  const std::string path = testing::TempDir() + "/killed.tsr";
  const std::vector<int> statuses = live(most(), [&](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, most(), id, 20, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=4M", &table, &error));
    const auto strike = [](void *, uint64_t, uint64_t) { kill(getpid(), SIGKILL); };
    tsr_error error = {};
    NEED(tsr_table_save_watched(table, path.c_str(), rank == 1 ? +strike : nullptr, nullptr, &error) == TSR_IO);
    NEED(strstr(error.message, "has ended or given up") != nullptr);
    NEED(access((path + "." + std::to_string(rank)).c_str(), F_OK) != 0);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, with(1, 128 + SIGKILL));
}

// What processes share.
struct Shared {
  std::atomic<pid_t> sleeper;  // who is stopped
  std::atomic<int> has_failed; // a call of another
};
Shared *shared;

class Silent : public testing::Test {
protected:
  void SetUp() override {
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    shared = new (memory) Shared{};
  }
  void TearDown() override { munmap(shared, sizeof(Shared)); }
};

TEST_F(Silent, ARankStandsStill) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, most(), id, silence_s(), &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1M", &table, &error));
    if (rank + 1 == most()) {
      shared->sleeper = getpid();
      raise(SIGSTOP);
    }
    const int failed = survive(rank, table, 60); // also who stood still hears of it
    if (rank == 0) kill(shared->sleeper, SIGCONT);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return failed;
  });
  EXPECT_EQ(statuses, std::vector<int>(most(), 0));
}

// It keeps its table. Then what it maps stays, and each hears of it.
TEST_F(Silent, ARankThatKeepsItsTableIsNamed) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    tsr_error error = {};
    uint64_t one = 1;
    NEED_OK(join(rank, 2, id, silence_s(), &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=9000", &table, &error));
    NEED(fill_and_find(rank, 2, table, 1000, &phases) == 0);
    while (rank == 1 && !shared->has_failed) usleep(20000);
    const Clock::time_point begin = Clock::now();
    if (rank == 0) {
      tsr_table_destroy(table);
      NEED(!phases.is_direct || seconds_since(begin) > .9 * silence_s());
      NEED(seconds_since(begin) < 10 * patience());
    }
    const bool is_broken = phases.is_direct;
    if (rank == 0 && is_broken) NEED(tsr_group_add_up(group, 1, &one, &error) == TSR_IO);
    shared->has_failed = 1;
    if (rank == 1 && is_broken) NEED(tsr_size(table, &one, &error) == TSR_IO);
    NEED(!is_broken || strstr(error.message, "rank 1 has not destroyed its part of a table within") != nullptr);
    if (rank == 1) tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

// A group that has lost a rank: nobody waits for that one, and all wait for those that are left.
TEST_F(Silent, ABrokenGroupLeavesInOrder) {
  const std::vector<int> statuses = live(most(), [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_phases phases = {};
    NEED_OK(join(rank, most(), id, 30, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1M", &table, &error));
    NEED(fill_and_find(rank, most(), table, 1000, &phases) == 0);
    if (rank == 1) kill(getpid(), SIGKILL);
    NEED(survive(rank, table, 60) == 0);
    if (rank == 2) sleep(1);
    if (rank == 2) shared->has_failed = 1;
    tsr_table_destroy(table);
    NEED(most() < 3 || !phases.is_direct || shared->has_failed);
    NEED(count_shared_maps() == 0);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, with(1, 128 + SIGKILL));
}

// It compiles, or does something else, for three times the limit, and its beats tell that it is there.
TEST_F(Silent, ABusyRankIsWaitedFor) {
  if (backend() != "cpu") GTEST_SKIP() << "on GPUs the limit bounds work as well";
  const std::vector<int> statuses = live(3, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, 3, id, 1, &group, &error, 90));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1000", &table, &error));
    uint64_t size = 0;
    for (uint32_t round = 0; round < 2; round++) {
      if (rank == round) sleep(3);
      const uint32_t key = key_of(round * 10 + rank), value = 5;
      NEED_OK(tsr_insert(table, 1, &key, &value, nullptr, &error));
    }
    NEED_OK(tsr_size(table, &size, &error));
    NEED(size == 6);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0, 0}));
}

// It is there, but does not come.
TEST_F(Silent, ALateRankIsNamed) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, 2, id, 20, &group, &error, 4));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1000", &table, &error));
    while (rank == 1 && !shared->has_failed) usleep(20000);
    const uint32_t key = 7, value = 5;
    tsr_error error = {};
    NEED(tsr_insert(table, 1, &key, &value, nullptr, &error) == TSR_IO);
    NEED(rank == 1 || strstr(error.message, "rank 1 is alive and has not made this call for") != nullptr);
    shared->has_failed = 1;
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

const uint32_t kBatch = 50000;

// What a process does until it is struck in the middle of it: large batches, one after the other.
int work_on(uint32_t rank, tsr_table *table, int within_ms) {
  itimerval soon = {{0, 0}, {0, within_ms * 1000}};
  std::vector<uint32_t> keys(kBatch), values(kBatch), found(kBatch);
  for (uint32_t i = 0; i < kBatch; i++) keys[i] = key_of(i + rank * 100000000);
  for (bool has_begun = false;; has_begun = true) { // the first round makes the code
    if (has_begun && soon.it_value.tv_usec) NEED(setitimer(ITIMER_REAL, &soon, nullptr) == 0);
    if (has_begun) soon = {};
    NEED_OK(tsr_insert(table, keys.size(), keys.data(), values.data(), nullptr, &error));
    NEED_OK(tsr_find(table, keys.size(), keys.data(), found.data(), nullptr, &error));
  }
}

// What the others do meanwhile, until a call fails: how, and how long that call took.
tsr_status outlive(tsr_table *table, double *waited_s) {
  std::vector<uint32_t> keys(kBatch), values(kBatch);
  for (uint32_t i = 0; i < kBatch; i++) keys[i] = key_of(i);
  for (;;) {
    tsr_error error = {};
    const Clock::time_point begin = Clock::now();
    tsr_status status = tsr_insert(table, kBatch, keys.data(), values.data(), nullptr, &error);
    if (status == TSR_OK) status = tsr_find(table, kBatch, keys.data(), values.data(), nullptr, &error);
    *waited_s = seconds_since(begin);
    if (status) return status;
  }
}

const char *const kBusy = "kind=map key_bits=32 value_bits=32 layout=packed probing=cuckoo hasher=murmur3 capacity=1M "
                          "devices.chunk=1Ki ";

// At some moment of a batch: splitting, sending, working.
TEST(Failing, ARankIsKilledAtWork) {
  for (int within_ms : {20, 57, 111, 230}) {
    const std::vector<int> statuses = live(most(), [&](uint32_t rank, const std::string &id) {
      tsr_group *group = nullptr;
      tsr_table *table = nullptr;
      NEED_OK(join(rank, most(), id, 20, &group, &error));
      NEED_OK(make(rank, group, kBusy, &table, &error));
      if (rank == 1) return work_on(rank, table, within_ms);
      double waited_s = 0;
      NEED(outlive(table, &waited_s) == TSR_IO);
      NEED(waited_s < 60 * patience());
      tsr_table_destroy(table);
      tsr_group_destroy(group);
      return 0;
    });
    EXPECT_EQ(statuses, with(1, 128 + SIGALRM)) << within_ms;
  }
}

// A process that fails by itself says why before it goes: to one that waits for its message, to one that waits for something
// else, and to one that has to read earlier messages first.
TEST_F(Silent, TheLastWordsOfARankReachAll) {
  const std::vector<int> statuses = live(4, [](uint32_t rank, const std::string &id) {
    tsr_mesh mesh;
    tsr_error error = {};
    char mine[3] = {1, 2, 3}, theirs[4][3];
    tsr_mail mail = {};
    for (uint32_t i = 0; i < 4; i++) {
      mail.out[i] = mine;
      mail.in[i] = theirs[i];
      mail.out_bytes[i] = mail.in_bytes[i] = sizeof mine;
    }
    NEED_OK(tsr_mesh_open(&mesh, rank, 4, id.c_str(), 5, 20, &error));
    NEED_OK(tsr_mesh_exchange(&mesh, &mail, &error));
    if (rank == 2) {
      usleep(1500000); // beats come before the words
      error = {TSR_NO_MEMORY, "NCCL has no memory"};
      NEED(tsr_mesh_break(&mesh, &error) == TSR_NO_MEMORY);
      NEED(tsr_mesh_exchange(&mesh, &mail, &error) == TSR_NO_MEMORY && !strcmp(error.message, "NCCL has no memory"));
    } else if (rank == 3) {
      const double since = tsr_mesh_now_s();
      tsr_status status = TSR_OK;
      while (status == TSR_OK) {
        status = tsr_mesh_watch(&mesh, since, &error);
        usleep(1000);
      }
      NEED(status == TSR_NO_MEMORY && !strcmp(error.message, "rank 2: NCCL has no memory"));
    } else {
      const tsr_status status = tsr_mesh_exchange(&mesh, &mail, &error);
      NEED(status == TSR_NO_MEMORY && !strcmp(error.message, "rank 2: NCCL has no memory"));
    }
    tsr_mesh_close(&mesh);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(4, 0));
}

// Who waits for something else waits on while all are alive, also for longer than the limit, and no longer than late_s;
// who is silent is named to all.
TEST_F(Silent, AWatchKnowsWhoIsAlive) {
  const std::vector<int> statuses = live(3, [](uint32_t rank, const std::string &id) {
    tsr_mesh mesh;
    tsr_error error = {};
    NEED_OK(tsr_mesh_open(&mesh, rank, 3, id.c_str(), 1, 60, &error));
    if (rank == 2) {
      shared->sleeper = getpid();
      sleep(3);
      raise(SIGSTOP);
      tsr_mesh_close(&mesh);
      return 0;
    }
    const Clock::time_point begin = Clock::now();
    const double since = tsr_mesh_now_s();
    while (tsr_mesh_watch(&mesh, since, &error) == TSR_OK) usleep(1000);
    const double waited_s = seconds_since(begin);
    if (rank == 0) kill(shared->sleeper, SIGCONT);
    NEED(waited_s > 2.5 && waited_s < 20);
    NEED(strstr(error.message, "rank 2 has not been heard of for 1 s") != nullptr);
    tsr_mesh_close(&mesh);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(3, 0));
}

TEST(Failing, WhatNcclLacksIsTold) {
  const uint64_t gib = 1ull << 30;
  const struct {
    tsr_nccl_failure failure;
    tsr_status status;
    const char *said;
  } cases[] = {
      {{1, "ncclSend", "unhandled cuda error", "Cuda failure 2 'out of memory'", 3 * gib, 80 * gib},
       TSR_NO_MEMORY,
       "NCCL has no memory for its buffers on this GPU: 3221225472 of 85899345920 bytes are free (ncclSend: unhandled "
       "cuda "
       "error: Cuda failure 2 'out of memory')"},
      {{1, "connecting", "unhandled cuda error", nullptr, 600, 80 * gib},
       TSR_NO_MEMORY,
       ": 600 of 85899345920 bytes are free"},
      {{5, "connecting", "invalid usage", "Duplicate GPU detected : rank 0 and rank 1\nmore", gib, gib},
       TSR_BAD_ARGUMENT,
       "NCCL refuses these GPUs (connecting: invalid usage: Duplicate GPU detected : rank 0 and rank 1): each process"},
      {{2, "connecting", "unhandled system error", "", gib, gib},
       TSR_IO,
       "NCCL fails: connecting: unhandled system error, error 2: NCCL_DEBUG=INFO prints more"},
  };
  for (const auto &one : cases) {
    tsr_error error = {};
    EXPECT_EQ(tsr_nccl_fail(&one.failure, &error), one.status);
    EXPECT_NE(strstr(error.message, one.said), nullptr) << error.message;
  }
}

TEST(Failing, RanksThatDoNotComeAreNamed) {
  const std::vector<int> statuses = live(5, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_error error = {};
    if (rank % 2) return 0;
    tsr_group_options options = {};
    options.limit_s = 1;
    NEED(tsr_group_create(rank, 5, id.c_str(), &options, &group, &error) == TSR_IO);
    const char *said = rank ? "rank 1" : "rank 0: ranks 1 and 3 have not come within 1 s: start all 5 processes";
    NEED(strstr(error.message, said) != nullptr);
    return 0;
  });
  EXPECT_EQ(statuses, std::vector<int>(5, 0));
}

// It is stopped there, the others give up in time, and it hears of that when it goes on.
TEST_F(Silent, ARankIsStoppedAtWork) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, 2, id, silence_s(), &group, &error));
    NEED_OK(make(rank, group, kBusy, &table, &error));
    if (rank == 1) {
      shared->sleeper = getpid();
      signal(SIGALRM, [](int) { raise(SIGSTOP); });
      return work_on(rank, table, 150) == 1 ? 0 : 2; // its calls fail in the end
    }
    double waited_s = 0;
    const tsr_status status = outlive(table, &waited_s);
    kill(shared->sleeper, SIGCONT);
    NEED(status == TSR_IO);
    NEED(waited_s < 60 * patience());
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

TEST(Failing, RanksMakeOtherCalls) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    NEED_OK(join(rank, 2, id, 5, &group, &error));
    NEED_OK(make(rank, group, std::string(kMap) + "capacity=1000", &table, &error));
    tsr_error error = {};
    uint32_t key = 1, value = 2;
    uint64_t size;
    NEED((rank == 0 ? tsr_size(table, &size, &error) : tsr_insert(table, 1, &key, &value, nullptr, &error)) != TSR_OK);
    NEED(strstr(error.message, "rank") != nullptr);
    tsr_table_destroy(table);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

TEST(Failing, OneSpecIsAnother) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_error error = {};
    NEED_OK(join(rank, 2, id, 5, &group, &error));
    const std::string words = std::string(kMap) + (rank ? "capacity=1000 seed=2" : "capacity=1000");
    NEED(make(rank, group, words, &table, &error) == TSR_BAD_ARGUMENT);
    NEED(table == nullptr);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

// One process has no memory for its shard, and all hear why.
TEST(Failing, OneCannotMakeItsShard) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    tsr_group *group = nullptr;
    tsr_table *table = nullptr;
    tsr_error error = {};
    NEED_OK(join(rank, 2, id, 5, &group, &error));
    NEED(make(rank, group, std::string(kMap) + (rank ? "capacity=2^40" : "capacity=1000"), &table, &error) ==
         TSR_NO_MEMORY);
    NEED(rank == 1 || std::string(error.message).find("rank 1: ") == 0);
    NEED(table == nullptr);
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

TEST(Meeting, SomebodyDoesNotCome) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    if (rank == 1) return 0;
    tsr_group *group = nullptr;
    tsr_error error = {};
    const Clock::time_point begin = Clock::now();
    NEED(join(0, 2, id, .5, &group, &error) == TSR_IO);
    NEED(seconds_since(begin) < 10 * patience());
    NEED(group == nullptr && strstr(error.message, "start all 2 processes") != nullptr);
    NEED(join(1, 2, id, .5, &group, &error) == TSR_IO);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

TEST(Meeting, SomebodyDoesNotComeOverTcp) {
  const auto life = [](uint32_t rank, const std::string &id) {
    if (rank == 1) return 0;
    tsr_group *group = nullptr;
    tsr_error error = {};
    const Clock::time_point begin = Clock::now();
    NEED(join(rank, 3, id, .5, &group, &error) == TSR_IO); // 0 waits for 1, and 2 for the book
    NEED(seconds_since(begin) < 10 * patience());
    return 0;
  };
  EXPECT_EQ(live(3, life, new_address()), (std::vector<int>{0, 0, 0}));
}

// A socket that a killed process has left, and one that greets with nonsense.
TEST(Meeting, OldSocketsAndStrangers) {
  const std::vector<int> statuses = live(2, [](uint32_t rank, const std::string &id) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    snprintf(name.sun_path, sizeof name.sun_path, "%s.0", id.c_str());
    const int one = socket(AF_UNIX, SOCK_STREAM, 0);
    if (rank == 0) {
      NEED(bind(one, reinterpret_cast<sockaddr *>(&name), sizeof name) == 0);
      close(one); // the name stays
    } else {
      for (int i = 0; i < 500 && connect(one, reinterpret_cast<sockaddr *>(&name), sizeof name) != 0; i++)
        usleep(10000);
      ssize_t sent = send(one, "good morning, here I am", 23, MSG_NOSIGNAL);
      NEED(sent == 23);
    }
    tsr_group *group = nullptr;
    NEED_OK(join(rank, 2, id, 10, &group, &error));
    tsr_group_destroy(group);
    return 0;
  });
  EXPECT_EQ(statuses, (std::vector<int>{0, 0}));
}

TEST(Meeting, Arguments) {
  tsr_error error = {};
  tsr_group *group = nullptr;
  EXPECT_EQ(tsr_group_create(0, 0, "/tmp/x", nullptr, &group, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(2, 2, "/tmp/x", nullptr, &group, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(0, 65, "/tmp/x", nullptr, &group, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(0, 1, nullptr, nullptr, &group, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(0, 1, "/tmp/x", nullptr, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(0, 1, std::string(200, 'x').c_str(), nullptr, &group, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_group_create(0, 1, "/nowhere/at/all", nullptr, &group, &error), TSR_IO) << error.message;
  for (const char *address : {"tcp://", "tcp://host", "tcp://:80", "tcp://127.0.0.1:", "tcp://127.0.0.1:nine",
                              "tcp://[::1:80", "tcp://no such host:80"})
    EXPECT_EQ(tsr_group_create(0, 1, address, nullptr, &group, &error), TSR_BAD_ARGUMENT) << address;
  EXPECT_EQ(group, nullptr);
  ASSERT_EQ(tsr_group_create(0, 1, new_id().c_str(), nullptr, &group, &error), TSR_OK) << error.message;
  tsr_table *table = nullptr;
  EXPECT_EQ(tsr_group_table_create(nullptr, nullptr, nullptr, &table, &error), TSR_BAD_ARGUMENT);
  tsr_group_destroy(group);
  tsr_group_destroy(nullptr);
}

} // namespace
