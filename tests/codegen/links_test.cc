// SPDX-License-Identifier: Apache-2.0
//
// Several kernels, each in a link of its own, at the same time (tsr_cuda_link_steps): what a table does when insert or find
// is first used.
#include <omp.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"

namespace {

const choices::Choice kChoice = {"packed", "cuckoo", "murmur3", "promise_unique", "phased", "no", 8, 1, 32, 32, 90, 0};

class LinksAtATime : public testing::Test {
protected:
  LinksAtATime() : composed_(kChoice.entries().parse().get(), 90, &status_, &error_), table_(composed_.composition) {}
  void SetUp() override {
    ASSERT_EQ(status_, TSR_OK) << error_.message;
    ASSERT_EQ(tsr_step_kernels(TSR_BULK_STEP(TSR_BULK_insert), 4, 32, 32, &kernels_, &error_), TSR_OK)
        << error_.message;
  }
  tsr_status status_ = TSR_OK;
  tsr_error error_ = {};
  linking::Composed composed_;
  const tsr_composition *table_;
  tsr_kernels kernels_ = {};
};

/* "insert" of "tsr_insert_kernel". */
std::string operation_of(const std::string &kernel) { return kernel.substr(4, kernel.size() - 4 - strlen("_kernel")); }

TEST_F(LinksAtATime, GiveWhatOneLinkGives) {
  linking::Link together, links[4];
  tsr_link made[4] = {};
  ASSERT_EQ(tsr_cuda_link(&table_, 1, &kernels_, 90, false, &together.link, &error_), TSR_OK) << error_.message;
  const tsr_step *steps[4];
  for (int i = 0; i < 4; i++) steps[i] = &kernels_.step[i];
  ASSERT_EQ(tsr_cuda_link_steps(table_, steps, 4, false, made, &error_), TSR_OK) << error_.message;
  for (size_t i = 0; i < 4; i++) {
    links[i].link = made[i];
    ASSERT_EQ(made[i].kernel_count, 1u);
    ASSERT_TRUE(linking::is_form_of(made[i].kernels[0].name, operation_of(kernels_.step[i].kernel)));
    // the compiler may order the instructions of a kernel otherwise when it has seen others
    EXPECT_EQ(linking::text_of(made[i], made[i].kernels[0].name).size(),
              linking::text_of(together.link, made[i].kernels[0].name).size());
    for (size_t k = 0; k < together.link.kernel_count; k++) {
      const tsr_kernel_info &same = together.link.kernels[k];
      if (std::string(same.name) != made[i].kernels[0].name) continue;
      EXPECT_EQ(made[i].kernels[0].registers, same.registers);
      EXPECT_EQ(made[i].kernels[0].stack_bytes, same.stack_bytes);
    }
  }
}

// With cores to spare the next variant of a kernel is linked meanwhile; what is chosen is the same.
TEST_F(LinksAtATime, MakeTheSameWithCoresToSpare) {
  std::vector<std::string> names;
  for (uint32_t op : {TSR_BULK_insert, TSR_BULK_find, TSR_BULK_size}) {
    std::string cubins[2];
    for (int threads : {1, 16}) {
      linking::Link made;
      omp_set_num_threads(threads);
      ASSERT_EQ(tsr_cuda_link_step(table_, TSR_BULK_STEP(op), false, &made.link, &error_), TSR_OK) << error_.message;
      cubins[threads == 16] = made.cubin();
      names.push_back(made.link.kernels[0].name);
    }
    EXPECT_TRUE(cubins[0] == cubins[1]) << op;
  }
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), [](const std::string &name) {
    return name.find("medium") != std::string::npos || name.find("roomy") != std::string::npos;
  })) << "no kernel needs it";
}

TEST_F(LinksAtATime, LeaveNothingWhenOneFails) {
  tsr_step missing = {};
  missing.set = kernels_.step[0].set;
  missing.kernel = "tsr_no_such_kernel";
  const tsr_step *const steps[] = {&kernels_.step[0], &missing};
  tsr_link links[2] = {};
  EXPECT_EQ(tsr_cuda_link_steps(table_, steps, 2, false, links, &error_), TSR_LINK_FAILED);
  EXPECT_NE(std::string(error_.message).find("tsr_no_such_kernel"), std::string::npos) << error_.message;
  for (const tsr_link &link : links) {
    EXPECT_EQ(link.cubin, nullptr);
    EXPECT_EQ(link.kernels, nullptr);
  }
}

} // namespace
