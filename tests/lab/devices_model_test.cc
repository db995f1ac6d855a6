// SPDX-License-Identifier: Apache-2.0
//
// The model of several devices (tools/lab/devices_model.h): its sums by hand, what it does where a rate is unknown, and how
// shapes are read.
#include <gtest/gtest.h>

#include "tools/lab/devices_model.h"

namespace {

// 1000 items of 8 bytes, or 12 with what the work hides, in two chunks.
const tsr_devices_batch batch = {10, 2, 8, 12, 1000};

TEST(DevicesModel, OneHost) {
  const tsr_devices_wires wires = {1000, 0}; // 1000 bytes a millisecond
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, &wires, {1, 1}), 10);
  // a half of the items leaves: 4000 bytes in 4 ms, of which 0.6 come on top, and the second device takes the host 0.06 ms
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, &wires, {1, 2}), 10 + 0.6 * 4 + 0.06);
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, &wires, {1, 8}), 10 + 0.6 * 7 + 0.06 * 7);
}

TEST(DevicesModel, Hosts) {
  // three quarters go to other hosts, a quarter's half to the own one
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{1000, 4500}}, {4, 2}), 10 + 2. / 2);
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{1000, 450}}, {4, 2}), 20 + 10. / 2);
  EXPECT_DOUBLE_EQ(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{100, 4500}}, {4, 2}), 15 + 10. / 2);
}

TEST(DevicesModel, UnknownRates) {
  EXPECT_EQ(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{0, 50}}, {1, 2}), 0);
  EXPECT_EQ(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{50, 0}}, {2, 1}), 0);
  EXPECT_GT(tsr_devices_expect(&batch, (const tsr_devices_wires[]){{0, 50}}, {2, 1}), 0);
}

TEST(DevicesModel, Shapes) {
  tsr_devices_shape shape;
  const char *text = "8,16x4";
  ASSERT_TRUE(tsr_devices_shape_read(&text, &shape));
  EXPECT_EQ(shape.hosts, 1u);
  EXPECT_EQ(shape.devices, 8u);
  ASSERT_TRUE(tsr_devices_shape_read(&text, &shape));
  EXPECT_EQ(shape.hosts, 16u);
  EXPECT_EQ(shape.devices, 4u);
  EXPECT_EQ(*text, '\0');
  for (const char *bad : {"", "0", "8x", "x4", "8x0", "8 ", "-1", "5000", "1x2x3"}) {
    const char *at = bad;
    EXPECT_FALSE(tsr_devices_shape_read(&at, &shape)) << bad;
  }
}

} // namespace
