// SPDX-License-Identifier: Apache-2.0
//
// Batches that double: a table that makes its lists anew with each of them does work in proportion to the items, whatever
// the chunks are, and every item comes once and in order.
#include <gtest/gtest.h>

#include <vector>

extern "C" {
#include "tools/cli/gather.h"
}

namespace {

// What a table of lists would be told, and the pairs that it would have to move.
struct Lists {
  std::vector<uint32_t> keys, values;
  uint64_t batches = 0, moved = 0;

  static tsr_status insert(void *context, const tsr_chunk *batch, tsr_error *) {
    Lists *lists = static_cast<Lists *>(context);
    const uint32_t *keys = static_cast<const uint32_t *>(batch->keys);
    const uint32_t *values = static_cast<const uint32_t *>(batch->values);
    lists->keys.insert(lists->keys.end(), keys, keys + batch->count);
    if (values) lists->values.insert(lists->values.end(), values, values + batch->count);
    lists->batches++;
    lists->moved += lists->keys.size();
    return TSR_OK;
  }
};

Lists gathered(const std::vector<uint64_t> &chunks, bool has_values) {
  Lists lists;
  tsr_gather gather = {};
  tsr_error error = {};
  uint32_t next = 0;
  gather.insert = Lists::insert;
  gather.context = &lists;
  gather.key_bytes = 4;
  gather.value_bytes = has_values ? 4 : 0;
  for (uint64_t count : chunks) {
    std::vector<uint32_t> keys(count + 1), values(count + 1);
    for (uint64_t i = 0; i < count; i++) {
      keys[i] = next++;
      values[i] = ~keys[i];
    }
    tsr_chunk chunk = {};
    chunk.keys = keys.data();
    chunk.values = has_values ? values.data() : nullptr;
    chunk.count = count;
    EXPECT_EQ(tsr_gather_add(&gather, &chunk, &error), TSR_OK) << error.message;
  }
  EXPECT_EQ(tsr_gather_finish(&gather, &error), TSR_OK) << error.message;
  tsr_gather_free(&gather);
  EXPECT_EQ(lists.keys.size(), next);
  for (uint32_t i = 0; i < next && i < lists.keys.size(); i++) EXPECT_EQ(lists.keys[i], i);
  EXPECT_EQ(lists.values.size(), has_values ? next : 0u);
  for (uint32_t i = 0; i < lists.values.size(); i++) EXPECT_EQ(lists.values[i], ~i);
  return lists;
}

TEST(Gather, WorkGrowsWithTheItems) {
  for (bool has_values : {false, true}) {
    const Lists equal = gathered(std::vector<uint64_t>(1000, 100), has_values);
    EXPECT_LE(equal.batches, 12u);
    EXPECT_LE(equal.moved, 3 * equal.keys.size());
    const Lists last = gathered({100, 90, 80, 1, 0, 7, 5000, 3}, has_values);
    EXPECT_LE(last.moved, 3 * last.keys.size());
  }
}

TEST(Gather, OneChunkIsOneBatch) {
  EXPECT_EQ(gathered({5000}, true).batches, 1u);
  EXPECT_EQ(gathered({0}, true).batches, 0u);
  EXPECT_EQ(gathered({}, true).batches, 0u);
}

} // namespace
