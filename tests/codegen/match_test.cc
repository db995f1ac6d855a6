// SPDX-License-Identifier: Apache-2.0
//
// The steps of a join, linked: no stack, and no function beside the kernels. They work on columns, so that there is one link
// for all tables.
#include <gtest/gtest.h>

#include "core/batch/match.h"
#include "tests/codegen/linking.h"

extern "C" const tsr_image tsr_match_images[];

namespace {

TEST(Kernels, OfAJoinLink) {
#define MATCH_NAME(step) "tsr_match_" #step "_kernel",
  const char *const names[] = {TSR_MATCH_STEPS(MATCH_NAME)};
  tsr_kernels kernels = {names, TSR_MATCH_STEP_COUNT, tsr_match_images[0].device, tsr_match_images[0].device_bytes, {},
                         false};
  for (uint32_t sm : {80u, 90u, 100u}) {
    SCOPED_TRACE(sm);
    linking::Link link;
    tsr_error error = {};
    ASSERT_EQ(tsr_cuda_link(nullptr, 0, &kernels, sm, false, &link.link, &error), TSR_OK) << error.message;
    linking::expect_sound(link.link, TSR_MATCH_STEP_COUNT, 255);
  }
}

} // namespace
