// SPDX-License-Identifier: Apache-2.0
//
// The sets of steps that belong to no table, linked: no stack but for groups, and no function but the kernels. There is one link for all
// tables. Each set has one target, and all in `full`.
#include <gtest/gtest.h>

#include "core/batch/groups.h"
#include "core/batch/match.h"
#include "core/batch/split.h"
#include "core/kernels/scan.h"
#include "core/kernels/wide.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

void expect_links(const tsr_steps &set, uint32_t target, bool shuffles = false) {
  tsr_kernels kernels;
  for (uint32_t sm : {80u, 90u, 100u}) {
    if (sm != target && !tessera_test::tests_all()) continue;
    SCOPED_TRACE(sm);
    linking::Link link;
    tsr_error error = {};
    ASSERT_EQ(tsr_step_kernels(set.step, set.count, 0, 0, &kernels, &error), TSR_OK) << error.message;
    ASSERT_EQ(tsr_cuda_link(nullptr, 0, &kernels, sm, linking::keeps_links(), &link.link, &error), TSR_OK)
        << error.message;
    if (shuffles && sm < 90) link.link.other_functions = 0; // ptxas's
    linking::expect_sound(link.link, set.count, 255);
  }
}

// Three blocks of 512 threads leave a thread 40 registers, so these kernels put some words aside.
TEST(Kernels, OfGroupsLink) {
  tsr_kernels kernels;
  linking::Link link;
  tsr_error error = {};
  const tsr_steps &set = tsr_group_steps;
  ASSERT_EQ(tsr_step_kernels(set.step, set.count, 0, 0, &kernels, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_cuda_link(nullptr, 0, &kernels, 90, linking::keeps_links(), &link.link, &error), TSR_OK)
      << error.message;
  EXPECT_EQ(link.link.kernel_count, set.count);
  EXPECT_LE(link.link.other_functions, 1u); // of ptxas, for shuffles
  for (size_t i = 0; i < link.link.kernel_count; i++)
    EXPECT_LE(link.link.kernels[i].stack_bytes, 96u) << link.link.kernels[i].name;
}

TEST(Kernels, OfAJoinLink) { expect_links(tsr_match_steps, 80, true); }
TEST(Kernels, OfASplitLink) { expect_links(tsr_split_steps, 90); }
TEST(Kernels, OfAPrefixSumLink) { expect_links(tsr_scan_steps, 100, true); }
TEST(Kernels, OfRowsLink) { expect_links(tsr_wide_steps, 90); }

} // namespace
