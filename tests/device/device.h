// SPDX-License-Identifier: Apache-2.0
//
// What the tests on a device share: tables on the backend under test, arrays in its memory, streams. The backend is
// cuda, or that of TSR_TEST_BACKEND: with cpu the same tests run where there is no GPU, one after the other. Read next:
// device_test.cc (right answers), races_test.cc (many threads at once).
#ifndef TSR_TESTS_DEVICE_DEVICE_H
#define TSR_TESTS_DEVICE_DEVICE_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/tessera_tools.h"
#include "tests/codegen/choices.h"

namespace device {

const std::string &backend(); // "cuda" or "cpu"
uint32_t sm();                // of the device; 0 on the cpu backend

// Whether the parts accept each other on this device. A refusal without a sentence is a failed test.
bool accepts(const choices::Choice &choice);

// All parts found here, for this device.
choices::Options options();

struct Destroy {
  void operator()(tsr_table *table) const { tsr_table_destroy(table); }
};
using Table = std::unique_ptr<tsr_table, Destroy>;

// What a test does with a table, a sum of TSR_PREPARE_: only that is linked ahead (TSR_TEST_LINK_SM).
enum : uint32_t {
  ANY_CALL = 2 * TSR_PREPARE_EXPORT - 1,
  ALL_BUT_APPLY = ANY_CALL & ~TSR_PREPARE_APPLY,
  INSERT_AND_EXPORT = TSR_PREPARE_INSERT | TSR_PREPARE_FIND | TSR_PREPARE_EXPORT
};

// NULL, and a failed test, if it cannot be made. on: a backend, "" = the one under test.
Table create(const choices::Choice &choice, uint64_t capacity, double load_factor, const std::string &on = "",
             uint32_t calls = ANY_CALL);

// The same of a spec. is_elsewhere: on another backend than the one under test.
Table create(const tsr_spec *spec, const tsr_options &options, bool is_elsewhere = false, uint32_t calls = ANY_CALL);

// Numbers in the device's memory, `bits` each, or keys of 128 bits that stand for numbers (../oracle/arrays.h). They belong to
// a table and must be freed before it.
class Array {
public:
  Array(tsr_table *table, uint32_t bits, size_t count);
  Array(tsr_table *table, uint32_t bits, const std::vector<uint64_t> &numbers);
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { tsr_memory_free(table_, memory_); }
  void *data() { return memory_; } // NULL at 0 bits
  std::vector<uint64_t> numbers() const;

private:
  tsr_table *table_;
  uint32_t bits_;
  size_t count_;
  void *memory_ = nullptr;
};

// Two streams; on the cpu backend two numbers that nobody looks at.
class Streams {
public:
  Streams();
  ~Streams();
  Streams(const Streams &) = delete;
  Streams &operator=(const Streams &) = delete;
  void *one = nullptr, *two = nullptr;
};

// What `record` enqueues to the stream, to be run again and again: a CUDA graph; on the cpu backend the calls are made
// anew. It is recorded when it is made, and not run.
class Graph {
public:
  Graph(void *stream, std::function<void()> record);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;
  void launch(); // returns when it is done

private:
  void *stream_, *graph_ = nullptr, *executable_ = nullptr;
  std::function<void()> record_;
};

// All pairs of a table, sorted.
std::vector<std::pair<uint64_t, uint64_t>> pairs_of(tsr_table *table);

// Erases keys, from the table and from what it should hold.
void erase(tsr_table *table, uint32_t key_bits, const std::vector<uint64_t> &keys, std::map<uint64_t, uint64_t> *there);

// The pairs of the table must be these, and a find of each of these keys, present or not, must be right. Of a table without
// values (value_bits = 0), whether it contains them.
void expect_pairs(tsr_table *table, uint32_t key_bits, uint32_t value_bits, const std::map<uint64_t, uint64_t> &there,
                  const std::vector<uint64_t> &keys);

// A bijection of the numbers of that many bits, so that different i give different keys in no order.
uint64_t key_of(uint64_t i, uint32_t bits);

} // namespace device

#endif
