// SPDX-License-Identifier: Apache-2.0
//
// What a thread counts with statistics = yes: of one key in 32 bits, of all its keys in 64.
#include <gtest/gtest.h>

#include "plugins/device.cuh"
#include "plugins/plugin.h"

namespace {

TEST(Statistics, OfManyKeysDoNotWrap) {
  tsr_shape shape = {};
  tsr_cpu cpu = {};
  tsr_ctx c = {};
  tsr_scratch scratch = {};
  uint32_t histogram[TSR_HISTOGRAM_BINS] = {};
  shape.statistics = 1;
  cpu.shape = &shape;
  scratch.histogram = histogram;
  c.cpu = &cpu;
  c.scratch = &scratch;
  const uint32_t many = 3000000000u;
  for (int key = 0; key < 3; key++) {
    scratch.key = {many, many, many, many, many};
    tsr_leave_key(&c, 0, 1, 1);
  }
  EXPECT_EQ(scratch.sum.probes, 3ull * many);
  EXPECT_EQ(scratch.sum.moves, 3ull * many);
  EXPECT_EQ(scratch.sum.lost_claims, 3ull * many);
  EXPECT_EQ(scratch.sum.stashed, 3ull * many);
  EXPECT_EQ(scratch.sum.changes, 3ull * many);
  EXPECT_EQ(scratch.probes_max, many);
  EXPECT_EQ(histogram[TSR_HISTOGRAM_BINS - 1], 3u);
}

} // namespace
