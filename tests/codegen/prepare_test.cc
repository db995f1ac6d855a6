// SPDX-License-Identifier: Apache-2.0
//
// tsr_spec_prepare: what it links is what a table on a GPU looks for in the cache, whatever the table's size and load.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "core/compose/compose.h"
#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"

namespace {

// One that links fast.
choices::Choice choice() {
  return {"soa", "linear", "multiply_shift", "promise_unique", "phased", "no", 4, 1, 32, 0, 90, 0};
}

class Prepare : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "prepare_cache";
    std::filesystem::remove_all(folder);
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
    setenv("TESSERA_PLUGINS", "layouts:probing:hashers:allocators:eviction", 1);
  }
  std::string folder;
};

TEST_F(Prepare, ATableFindsItsCode) {
  auto spec = choice().entries().parse();
  tsr_error error = {};
  tsr_options options = {};
  tsr_code_cost first = {}, again = {};
  options.capacity = 1 << 20;
  const uint32_t calls = TSR_PREPARE_INSERT | TSR_PREPARE_CONTAINS;
  ASSERT_EQ(tsr_spec_prepare(spec.get(), &options, 90, calls, &first, &error), TSR_OK) << error.message;
  EXPECT_GT(first.registers, 8u);
  EXPECT_LE(first.registers, 255u);
  EXPECT_GT(first.link_ms, 0);
  ASSERT_EQ(tsr_spec_prepare(spec.get(), &options, 90, calls, &again, &error), TSR_OK) << error.message;
  EXPECT_EQ(again.registers, first.registers);
  EXPECT_EQ(again.link_ms, 0) << "from the cache";

  // as the table does it: core/cuda/backend.c
  tsr_composition *table = nullptr;
  options.capacity = 12345678;
  ASSERT_EQ(tsr_spec_set(spec.get(), "table.load_factor=.55", &error), TSR_OK);
  ASSERT_EQ(tsr_compose(spec.get(), &options, 90, 1, &table, &error), TSR_OK) << error.message;
  for (auto &[operation, is_there] :
       {std::pair(TSR_BULK_insert, true), {TSR_BULK_contains, true}, {TSR_BULK_erase, false}}) {
    linking::Link link;
    ASSERT_EQ(tsr_cuda_link_step(table, TSR_BULK_STEP(operation), true, &link.link, &error), TSR_OK) << error.message;
    EXPECT_EQ(link.link.cached, is_there) << operation;
  }
  tsr_composition_free(table);
}

TEST_F(Prepare, CallsThatATableDoesNotHaveAreRefused) {
  auto spec = choice().entries().parse();
  tsr_error error = {};
  EXPECT_EQ(tsr_spec_prepare(spec.get(), nullptr, 90, TSR_PREPARE_APPLY, nullptr, &error), TSR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("use concurrency = mixed"), std::string::npos) << error.message;
  EXPECT_EQ(tsr_spec_prepare(spec.get(), nullptr, 90, 1u << 30, nullptr, &error), TSR_BAD_ARGUMENT);
  EXPECT_EQ(tsr_spec_prepare(spec.get(), nullptr, 70, TSR_PREPARE_INSERT, nullptr, &error), TSR_UNSUPPORTED);
}

} // namespace
