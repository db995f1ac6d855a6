// SPDX-License-Identifier: Apache-2.0
//
// The key set of a block of threads (core/batch/set.cuh), by threads of the CPU: each key gets one place, whoever adds it;
// what is full or crowded ends; and the hash spreads keys of every pattern.
#include "core/batch/set.cuh"

#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kSeed = 20260;

template <class K>
class Set : public testing::Test {};
using Widths = testing::Types<uint32_t, uint64_t>;
TYPED_TEST_SUITE(Set, Widths);

template <class K>
struct Place {
  uint32_t at;
  bool is_new;
};

template <class K>
Place<K> add(std::vector<K> *keys, K key, uint32_t tries) {
  Place<K> place = {};
  const uint32_t room = (uint32_t)keys->size();
  place.at = set_add(keys->data(), room, set_home(set_hash(key), room), tries, key, &place.is_new);
  return place;
}

template <class K>
uint32_t find(const std::vector<K> &keys, K key, uint32_t tries) {
  const uint32_t room = (uint32_t)keys.size();
  return set_find(keys.data(), room, set_home(set_hash(key), room), tries, key);
}

TYPED_TEST(Set, EachKeyGetsOnePlaceWhoeverAddsIt) {
  using K = TypeParam;
  constexpr uint32_t kRoom = 3001, kDifferent = 2000, kThreads = 4;
  std::vector<K> keys(kRoom, set_free<K>());
  std::atomic<uint32_t> made{0}, wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; t++)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(kSeed + t);
      for (uint32_t i = 0; i < 4 * kDifferent; i++) {
        const K key = (K)((i < kDifferent ? i : random() % kDifferent) * 7919u);
        const Place<K> place = add(&keys, key, kRoom);
        made += place.is_new;
        wrong += place.at >= kRoom || __atomic_load_n(&keys[place.at], __ATOMIC_RELAXED) != key;
      }
    });
  for (std::thread &thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u) << "seed " << kSeed;
  EXPECT_EQ(made, kDifferent) << "seed " << kSeed;
  std::set<uint32_t> places;
  for (uint32_t i = 0; i < kDifferent; i++) places.insert(find(keys, (K)(i * 7919u), kRoom));
  EXPECT_EQ(places.size(), kDifferent) << "two keys have one place";
  EXPECT_EQ(places.count(TSR_SET_NONE), 0u);
  EXPECT_EQ(find(keys, (K)(kDifferent * 7919u), kRoom), TSR_SET_NONE);
}

TYPED_TEST(Set, AFullSetTakesNoMoreAndStillFinds) {
  using K = TypeParam;
  constexpr uint32_t kRoom = 64;
  std::vector<K> keys(kRoom, set_free<K>());
  for (uint32_t i = 0; i < kRoom; i++) EXPECT_TRUE(add(&keys, (K)(i + 1), kRoom).is_new);
  const Place<K> more = add(&keys, (K)1000, kRoom);
  EXPECT_EQ(more.at, TSR_SET_NONE);
  EXPECT_FALSE(more.is_new);
  EXPECT_EQ(find(keys, (K)1000, kRoom), TSR_SET_NONE);
  for (uint32_t i = 0; i < kRoom; i++) EXPECT_LT(find(keys, (K)(i + 1), kRoom), kRoom);
}

TYPED_TEST(Set, NotMorePlacesAreLookedAtThanAllowed) {
  using K = TypeParam;
  std::vector<K> keys(16, set_free<K>());
  bool is_new;
  for (uint32_t i = 0; i < 4; i++) EXPECT_EQ(set_add(keys.data(), 16, 14, 16, (K)(10 + i), &is_new), (14 + i) % 16);
  EXPECT_EQ(set_add(keys.data(), 16, 14, 4, (K)50, &is_new), TSR_SET_NONE);
  EXPECT_EQ(set_find(keys.data(), 16, 14, 3, (K)13), TSR_SET_NONE);
  EXPECT_EQ(set_find(keys.data(), 16, 14, 4, (K)13), 1u);
}

TYPED_TEST(Set, AFreePlaceIsNoKey) {
  using K = TypeParam;
  std::vector<K> keys(16, set_free<K>());
  EXPECT_EQ(find(keys, set_free<K>(), 16), TSR_SET_NONE);
}

// No pattern of keys crowds: with 1024 places for 512 keys, hardly any walk is longer than 64.
TEST(SetHash, SpreadsKeysOfEveryPattern) {
  constexpr uint32_t kRoom = 1024, kKeys = 512;
  for (uint32_t pattern = 0; pattern < 6; pattern++) {
    std::vector<uint64_t> keys(kRoom, set_free<uint64_t>());
    for (uint64_t i = 1; i <= kKeys; i++) {
      const uint64_t patterns[] = {i, i << 12, i << 32, i << 32 | i, i * 0x100000001u << 8, i << 44 | 5};
      EXPECT_NE(add(&keys, patterns[pattern], 64u).at, TSR_SET_NONE) << "pattern " << pattern << ", key " << i;
    }
  }
}

} // namespace
