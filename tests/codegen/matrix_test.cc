// SPDX-License-Identifier: Apache-2.0
//
// Tables that no recipe describes: every two options - a layout and a bucket shape, a policy and a width, a scheme and
// a concurrency, a target and a quarter of the operations (with TSR_TEST_ALL=1 a half) - that the parts accept together are
// linked together at least once,
// for sm_80 and sm_90; but a hasher with each key width and target alone. Bulk operations, that is: pages_test.cc has the
// steps of batches that go page by page.
// The parts are whatever is found, so that a new plugin is tested without a line here.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "core/kernels/bulk.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

std::set<std::string> refusals;

bool accepts(const choices::Choice &choice) {
  choices::Spec spec = choice.entries().parse();
  tsr_status status;
  tsr_error error = {};
  linking::Composed composed(spec.get(), choice.sm, &status, &error);
  if (status == TSR_OK) return true;
  EXPECT_TRUE(status == TSR_INCOMPATIBLE || status == TSR_BAD_SPEC) << choice.name() << ": " << error.message;
  EXPECT_GT(strlen(error.message), 20u) << choice.name();
  EXPECT_EQ(strchr(error.message, '\n'), nullptr) << choice.name();
  refusals.insert(error.message);
  return false;
}

// Of the bucket shapes, every number of slots, every number of lanes, and what is hard: all slots in a lane. First what
// links fast.
choices::Options options() {
  choices::Options all = choices::Options::all();
  all.is_linked_only = true;
  all.quarters = tessera_test::tests_all() ? std::vector<uint32_t>{0, 2} : std::vector<uint32_t>{0, 1, 2, 3};
  std::rotate(all.layouts.begin(), std::find(all.layouts.begin(), all.layouts.end(), "soa"), all.layouts.end());
  std::rotate(all.probings.begin(), std::find(all.probings.begin(), all.probings.end(), "linear"), all.probings.end());
  all.shapes = {{1, 1}, {2, 2}, {4, 1}, {8, 8}, {16, 4}, {16, 16}, {32, 1}, {32, 32}};
  return all;
}

const std::vector<choices::Choice> &matrix() {
  static const std::vector<choices::Choice> chosen = choices::cover_pairs(options(), accepts);
  return chosen;
}

std::string name_of(const testing::TestParamInfo<size_t> &info) { return matrix()[info.param].name(); }

class Matrix : public testing::TestWithParam<size_t> {};

// Inserts and finds, what else looks or moves pairs, and those of lists, of pairs and of mixed batches. That every option is
// linked with each quarter is the covering set's matter, to which quarters are options like others.
TEST_P(Matrix, P22_P26_Links) {
  const choices::Choice &choice = matrix()[GetParam()];
  const uint32_t bounds[] = {TSR_BULK_insert, TSR_BULK_erase, TSR_BULK_find_or_insert, TSR_BULK_retrieve, TSR_BULKS};
  const uint32_t first = bounds[choice.quarter], end = bounds[choice.quarter + (tessera_test::tests_all() ? 2 : 1)];
  choices::Spec spec = choice.entries().parse();
  ASSERT_TRUE(spec);
  linking::Links links;
  ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec.get(), choice.sm, first, end - first, &links));
  if (choice.filter) {
    links.alone.push_back(std::make_unique<linking::Link>());
    ASSERT_NO_FATAL_FAILURE(linking::link_operation(spec.get(), choice.sm, TSR_BULK_mark, links.alone.back().get(),
                                                    linking::keeps_links()));
  }
  linking::expect_sound(links, linking::registers_allowed(spec.get(), choice.sm));
}

INSTANTIATE_TEST_SUITE_P(All, Matrix, testing::Range(size_t{0}, matrix().size()), name_of);

TEST(MatrixSize, HoldsLinkedAndRefusedTables) {
  std::cout << matrix().size() << " tables, " << refusals.size() << " refusals\n";
  for (const std::string &sentence : refusals) std::cout << "refused: " << sentence << "\n";
  EXPECT_GT(matrix().size(), 60u);
  EXPECT_FALSE(refusals.empty());
}

// Every part found stands in the matrix, or its own refusals would hide it.
TEST(MatrixSize, HoldsEveryPart) {
  std::set<std::string> seen;
  for (const choices::Choice &choice : matrix())
    for (const std::string &name : {"layout " + choice.layout, "probing " + choice.probing, "hasher " + choice.hasher})
      seen.insert(name);
  for (const char *role : {"layout", "probing", "hasher"}) {
    std::vector<std::string> names = choices::plugins_of(role);
    EXPECT_FALSE(names.empty()) << role;
    for (const std::string &name : names) EXPECT_TRUE(seen.count(role + (" " + name))) << role << " " << name;
  }
}

void expect_all_links(const choices::Choice &choice) {
  linking::Links links;
  choices::Spec spec = choice.entries().parse();
  ASSERT_NO_FATAL_FAILURE(linking::link_operations(spec.get(), choice.sm, 0, TSR_BULKS, &links));
  ASSERT_NO_FATAL_FAILURE(linking::link_steps(spec.get(), choice.sm, &links));
  linking::expect_sound(links, linking::registers_allowed(spec.get(), choice.sm));
}

// The most that a lane of a tile can hold: what is accepted links, and what has no registers left is refused.
TEST(WidestLanes, LinkOrAreRefused) {
  choices::Choice widest = {"packed", "cuckoo", "murmur3", "replace", "phased", "no", 32, 2, 64, 64, 90, 0};
  ASSERT_NO_FATAL_FAILURE(expect_all_links(widest));
  widest.stash = 8;
  EXPECT_FALSE(accepts(widest));
  widest.probing = "double_hashing";
  EXPECT_TRUE(accepts(widest));
  widest.page_bytes = 60 << 10;
  EXPECT_FALSE(accepts(widest));
}

// Which of two buckets is chosen is seen in both, so that a page's kernel has registers for less of each.
TEST(WidestLanes, OfTwoChoicesLinkOrAreRefused) {
  choices::Choice widest = {"quotient", "iceberg", "murmur3", "min", "phased", "no", 32, 4, 32, 32, 90, 0};
  widest.page_bytes = 60 << 10;
  ASSERT_NO_FATAL_FAILURE(expect_all_links(widest));
  widest.tile_lanes = 2;
  EXPECT_FALSE(accepts(widest));
  widest.duplicates = "promise_unique";
  EXPECT_TRUE(accepts(widest));
}

// A lane without a slot is refused by every layout.
TEST(MatrixSize, RefusesLanesWithoutSlots) {
  for (const std::string &layout : choices::plugins_of("layout"))
    for (uint32_t slots = 1; slots <= 16; slots *= 2)
      for (uint32_t lanes = 2 * slots; lanes <= 32; lanes *= 2) {
        choices::Choice choice = matrix().at(0);
        choice.layout = layout;
        choice.key_bits = choice.value_bits = 32;
        choice.bucket_slots = slots;
        choice.tile_lanes = lanes;
        EXPECT_FALSE(accepts(choice)) << choice.name();
      }
}

} // namespace
