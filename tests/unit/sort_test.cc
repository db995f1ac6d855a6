// SPDX-License-Identifier: Apache-2.0
//
// tsr_sort against std::stable_sort: sizes around those at which another thread has a block, one and two words, few and
// many different digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tests/oracle/random.h"

extern "C" {
#include "tools/cli/sort.h"
}

namespace tessera_test {
namespace {

template <size_t WORDS>
void expect_sorted(uint64_t n, uint64_t mask, uint32_t low_bits) {
  using Item = std::array<uint64_t, WORDS>;
  SCOPED_TRACE(testing::Message() << n << " items of " << WORDS << ", bits " << std::hex << mask << " from " << std::dec
                                  << low_bits);
  Random random(n + mask);
  std::vector<Item> items(n + 1), spare(n + 1), expected;
  for (uint64_t i = 0; i < n; i++) {
    items[i][WORDS - 1] = i;
    items[i][0] = random.bits(64) & mask;
  }
  items.resize(n);
  expected = items;
  std::stable_sort(expected.begin(), expected.end(),
                   [=](const Item &a, const Item &b) { return a[0] >> low_bits < b[0] >> low_bits; });
  items.resize(n + 1);
  const uint64_t *sorted = tsr_sort(items[0].data(), spare[0].data(), n, WORDS, low_bits);
  ASSERT_TRUE(sorted == items[0].data() || sorted == spare[0].data());
  EXPECT_TRUE(n == 0 || memcmp(sorted, expected.data(), n * sizeof(Item)) == 0);
}

TEST(Sort, IsThatOfTheStandard) {
  for (uint64_t n : {0u, 1u, 2u, 1000u, 65535u, 65536u, 131072u, 300001u})
    for (uint64_t mask : {0ull, 1ull, 0xFFull, 0xFF00ull, 0xFFFFFFFFull, 0xFF000000000000FFull, ~0ull}) {
      if (finds_races && n != 131072) continue; // of two threads
      expect_sorted<1>(n, mask, 0);
      expect_sorted<1>(n, mask, 32);
      expect_sorted<2>(n, mask, 0);
    }
}

} // namespace
} // namespace tessera_test
