// SPDX-License-Identifier: Apache-2.0
//
// The operations on pools, linked without a GPU: every allocator that is found, at every tile width, leaves no stack
// and no function beside the kernels; and those over malloc link.
#include <gtest/gtest.h>

#include "core/compose/compose.h"
#include "core/kernels/pool.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

// Four times 32 lanes of work must fit a multiprocessor: 64 registers let 1024 threads share one.
constexpr uint32_t kRegisters = 64;

choices::Spec pool_spec(const std::string &allocator, const std::string &statistics) {
  choices::Entries entries;
  entries.set("table", "allocator", allocator);
  entries.set("table", "statistics", statistics);
  entries.set("table", "capacity", "1M");
  return entries.parse();
}

void link_pool(const std::string &allocator, const std::string &statistics, uint32_t sm, uint32_t lanes, bool is_system,
               linking::Link *link) {
  choices::Spec spec = pool_spec(allocator, statistics);
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  tsr_error error = {};
  tsr_composition *made = nullptr;
  ASSERT_EQ(tsr_compose_pool(spec.get(), &options, sm, lanes, &made, &error), TSR_OK) << error.message;
  std::unique_ptr<tsr_composition, void (*)(tsr_composition *)> composition(made, tsr_composition_free);
  if (is_system) { // the facts, and no part
    free(made->part[TSR_ROLE_ALLOCATOR].config);
    made->part[TSR_ROLE_ALLOCATOR] = {};
  }
  tsr_kernels kernels;
  ASSERT_EQ(tsr_step_kernels((is_system ? tsr_pool_system_steps : tsr_pool_steps).step, TSR_POOL_OPERATIONS, 0, 0,
                             &kernels, &error),
            TSR_OK)
      << error.message;
  const tsr_composition *tables[] = {made};
  ASSERT_EQ(tsr_cuda_link(tables, 1, &kernels, sm, false, &link->link, &error), TSR_OK) << error.message;
}

struct Case {
  std::string allocator;
  uint32_t sm, lanes;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  size_t turn = 0; // an allocator and a number of lanes meet for one target, each of them for both
  for (const std::string &allocator : choices::plugins_of("allocator")) {
    turn++;
    for (uint32_t lanes : {1u, 2u, 8u, 32u}) {
      turn++;
      for (uint32_t sm : {80u, 90u})
        if (tessera_test::has_turn(turn, sm == 90)) all.push_back({allocator, sm, lanes});
    }
  }
  return all;
}

std::string name_of(const testing::TestParamInfo<Case> &info) {
  return info.param.allocator + "_sm" + std::to_string(info.param.sm) + "_lanes" + std::to_string(info.param.lanes);
}

class Pools : public testing::TestWithParam<Case> {};

TEST_P(Pools, P22_Link) {
  for (const char *statistics : {"no", "yes"}) {
    linking::Link link;
    ASSERT_NO_FATAL_FAILURE(link_pool(GetParam().allocator, statistics, GetParam().sm, GetParam().lanes, false, &link));
    linking::expect_sound(link.link, TSR_POOL_OPERATIONS, kRegisters);
    for (size_t i = 0; i < link.link.kernel_count; i++)
      EXPECT_LE(link.link.kernels[i].registers, kRegisters) << link.link.kernels[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Pools, testing::ValuesIn(cases()), name_of);

TEST(System, LinksWithMalloc) {
  std::vector<std::string> allocators = choices::plugins_of("allocator");
  ASSERT_FALSE(allocators.empty());
  for (uint32_t sm : {80u, 90u}) {
    linking::Link link;
    ASSERT_NO_FATAL_FAILURE(link_pool(allocators[0], "no", sm, 1, true, &link));
    EXPECT_EQ(link.link.kernel_count, size_t{TSR_POOL_OPERATIONS});
    EXPECT_NE(link.cubin().find("malloc"), std::string::npos) << "no kernel calls malloc";
  }
}

} // namespace
