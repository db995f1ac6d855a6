// SPDX-License-Identifier: Apache-2.0
//
// The oracle's numbers as arrays of keys and values. Read next: subject.h.
#ifndef TSR_TESTS_ARRAYS_H
#define TSR_TESTS_ARRAYS_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace tessera_test {

// Numbers as an array of 32- or 64-bit items, as the API takes them. A wider item says its number in all of its words, so
// that one that was made of two numbers, or moved by some bytes, is none: it reads as `torn`.
class Array {
public:
  static constexpr uint64_t torn = 0x0BADF00D0BADF00Du;

  Array(uint32_t bits, size_t count) : bits_(bits), bytes_(count * bits / 8 + 1) {}
  Array(uint32_t bits, const std::vector<uint64_t> &numbers) : Array(bits, numbers.size()) {
    for (size_t i = 0; i < numbers.size() && bits && bits <= 64; i++)
      memcpy(&bytes_[i * bits / 8], &numbers[i], bits / 8);
    for (size_t i = 0; i < numbers.size() && bits > 64; i++)
      for (uint32_t word = 0; word < bits / 32; word++) put(i, word, word_of(numbers[i], word));
  }
  void *data() { return bits_ ? bytes_.data() : nullptr; }
  std::vector<uint64_t> numbers(size_t count) const {
    std::vector<uint64_t> result(count);
    for (size_t i = 0; i < count && bits_ && bits_ <= 64; i++) memcpy(&result[i], &bytes_[i * bits_ / 8], bits_ / 8);
    for (size_t i = 0; i < count && bits_ > 64; i++) result[i] = wide_number(i);
    return result;
  }

private:
  static uint32_t word_of(uint64_t number, uint32_t word) {
    return static_cast<uint32_t>(number >> (word % 2 * 32)) ^ word / 2 * 0x9E3779B9u;
  }
  void put(size_t i, uint32_t word, uint32_t value) { memcpy(&bytes_[i * bits_ / 8 + word * 4], &value, 4); }
  uint32_t get(size_t i, uint32_t word) const {
    uint32_t value;
    memcpy(&value, &bytes_[i * bits_ / 8 + word * 4], 4);
    return value;
  }
  // The values of absent keys are one number over and over.
  uint64_t wide_number(size_t i) const {
    const uint64_t number = get(i, 0) | uint64_t{get(i, 1)} << 32;
    bool is_value = true, is_missing = true;
    for (uint32_t word = 2; word < bits_ / 32; word++) {
      is_value = is_value && get(i, word) == word_of(number, word);
      is_missing = is_missing && get(i, word) == get(i, word - 2);
    }
    return is_value || is_missing ? number : torn;
  }

  uint32_t bits_;
  std::vector<unsigned char> bytes_;
};

// Numbers as an array of keys. Keys of 128 bits stand for numbers of 64: the upper bits of a number, with their sign, are the
// lower half, and its lowest three choose the upper half. Most of the keys differ in one half alone, and the two largest
// numbers are the two keys that mark slots. A key that is no number's reads as `torn`.
class Keys {
public:
  Keys(uint32_t bits, size_t count) : bits_(bits), items_(bits > 64 ? 64 : bits, bits > 64 ? 2 * count : count) {}
  Keys(uint32_t bits, const std::vector<uint64_t> &numbers)
      : bits_(bits), items_(bits > 64 ? 64 : bits, bits > 64 ? halves_of(numbers) : numbers) {}
  void *data() { return items_.data(); }
  std::vector<uint64_t> numbers(size_t count) const {
    std::vector<uint64_t> result = items_.numbers(bits_ > 64 ? 2 * count : count);
    for (size_t i = 0; i < count && bits_ > 64; i++) result[i] = number_of(result[2 * i], result[2 * i + 1]);
    result.resize(count);
    return result;
  }

private:
  static constexpr uint64_t upper[8] = {
      0, 1, uint64_t{1} << 32, uint64_t{1} << 63, 0x0123456789ABCDEF, 1000, ~uint64_t{1}, ~uint64_t{0}};
  // The key before the largest is that of ~8, and the other way round.
  static uint64_t swapped(uint64_t number) {
    return number == ~uint64_t{1} ? ~uint64_t{8} : number == ~uint64_t{8} ? ~uint64_t{1} : number;
  }
  static std::vector<uint64_t> halves_of(const std::vector<uint64_t> &numbers) {
    std::vector<uint64_t> halves;
    for (uint64_t number : numbers) {
      halves.push_back(static_cast<uint64_t>(static_cast<int64_t>(swapped(number)) >> 3));
      halves.push_back(upper[swapped(number) % 8]);
    }
    return halves;
  }
  static uint64_t number_of(uint64_t low, uint64_t high) {
    const uint64_t which = static_cast<uint64_t>(std::find(upper, upper + 8, high) - upper);
    const uint64_t number = low << 3 | which % 8;
    return which < 8 && static_cast<uint64_t>(static_cast<int64_t>(number) >> 3) == low ? swapped(number) : Array::torn;
  }

  uint32_t bits_;
  Array items_;
};

} // namespace tessera_test

#endif
