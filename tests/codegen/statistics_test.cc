// SPDX-License-Identifier: Apache-2.0
//
// statistics = no costs nothing: every kernel is, byte for byte, what the linker makes of parts and kernels that were
// compiled without the statistics code (TSR_WITHOUT_STATISTICS). And statistics = yes is other code, or the comparison
// would say nothing. The second set of images is built by BUILD.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"

namespace {

std::string file(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

struct Table {
  const char *layout;
  uint32_t bucket_slots, tile_lanes;
  const char *probing, *duplicates;
  uint32_t bits; // of keys and values
};

choices::Spec spec_of(const Table &table, const char *statistics) {
  choices::Choice choice = {table.layout,       table.probing,    "murmur3",  table.duplicates, "phased", statistics,
                            table.bucket_slots, table.tile_lanes, table.bits, table.bits,       90,       0};
  return choice.entries().parse();
}

void PrintTo(const Table &table, std::ostream *out) { *out << table.layout << " + " << table.probing; }

// Images that were built without statistics, in place of the plugins' own.
struct Without {
  explicit Without(const tsr_composition *table) {
    std::string widths = "k" + std::to_string(table->shape.key_bits) + "c" + std::to_string(table->shape.payload_bits);
    for (uint32_t role = 0; role < TSR_ROLES; role++) {
      const tsr_part &part = table->part[role];
      if (!part.plugin) continue;
      text[role] =
          file(std::string("tests/codegen/without_statistics_") + part.plugin->name + "_" + widths + ".fatbin");
      EXPECT_FALSE(text[role].empty()) << part.plugin->name;
      images[role] = *part.image;
      images[role].device = reinterpret_cast<const unsigned char *>(text[role].data());
      images[role].device_bytes = text[role].size();
    }
    bulk = file("tests/codegen/without_statistics_bulk_" + widths + ".fatbin");
    EXPECT_FALSE(bulk.empty());
  }
  std::string text[TSR_ROLES], bulk;
  tsr_image images[TSR_ROLES];
};

// In their first variants: the further ones have the same source, and other bounds on registers.
void link_bulk(const tsr_composition *table, const std::string *image, uint32_t sm, linking::Link *link) {
  tsr_kernels kernels;
  tsr_error error = {};
  ASSERT_EQ(
      tsr_step_kernels(TSR_BULK_STEP(0), TSR_BULKS, table->shape.key_bits, table->shape.payload_bits, &kernels, &error),
      TSR_OK);
  std::vector<tsr_step> steps(kernels.step, kernels.step + kernels.count);
  for (tsr_step &step : steps) std::fill(std::begin(step.roomier), std::end(step.roomier), nullptr);
  kernels.step = steps.data();
  if (image) {
    kernels.image = reinterpret_cast<const unsigned char *>(image->data());
    kernels.image_bytes = image->size();
  }
  ASSERT_EQ(tsr_cuda_link(&table, 1, &kernels, sm, false, &link->link, &error), TSR_OK) << error.message;
}

// The machine code of an operation.
std::string text_of_operation(const tsr_link &link, const std::string &operation) {
  for (size_t i = 0; i < link.kernel_count; i++)
    if (linking::is_form_of(link.kernels[i].name, operation))
      return link.kernels[i].name + linking::text_of(link, link.kernels[i].name);
  ADD_FAILURE() << operation << " is not linked";
  return "";
}

class Statistics : public testing::TestWithParam<std::tuple<Table, uint32_t>> {};

TEST_P(Statistics, CostNothingWhenNo) {
  auto [table, sm] = GetParam();
  tsr_status status;
  tsr_error error = {};
  linking::Composed no(spec_of(table, "no").get(), sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  linking::Composed yes(spec_of(table, "yes").get(), sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  linking::Composed absent(spec_of(table, "no").get(), sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  Without without(absent.composition);
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    if (absent.composition->part[role].plugin) absent.composition->part[role].image = &without.images[role];

  linking::Link link_no, link_yes, link_absent;
  ASSERT_NO_FATAL_FAILURE(link_bulk(no.composition, nullptr, sm, &link_no));
  ASSERT_NO_FATAL_FAILURE(link_bulk(yes.composition, nullptr, sm, &link_yes));
  ASSERT_NO_FATAL_FAILURE(link_bulk(absent.composition, &without.bulk, sm, &link_absent));
#define OPERATION(op) #op,
  for (const std::string operation : {TSR_BULK_OPS(OPERATION)}) {
    std::string text = text_of_operation(link_no.link, operation);
    EXPECT_FALSE(text.empty()) << operation;
    EXPECT_TRUE(text == text_of_operation(link_absent.link, operation))
        << operation << ": statistics = no costs something";
    bool counts = operation != "count" && operation != "export";
    EXPECT_TRUE(!counts || text != text_of_operation(link_yes.link, operation))
        << operation << ": no differs not from yes";
  }
}

// A table of one lane and one of a tile, and both widths: which code is compiled does not depend on the target.
INSTANTIATE_TEST_SUITE_P(All, Statistics,
                         testing::Values(std::tuple(Table{"packed", 8, 1, "cuckoo", "promise_unique", 32}, 90u),
                                         std::tuple(Table{"packed", 16, 16, "cuckoo", "min", 32}, 80u),
                                         std::tuple(Table{"soa", 8, 4, "double_hashing", "first", 64}, 90u)),
                         [](const auto &info) {
                           const Table &table = std::get<0>(info.param);
                           return std::string(table.layout) + "_" + std::to_string(table.bucket_slots) + "_" +
                                  std::to_string(table.tile_lanes) + "_" + table.probing + "_sm" +
                                  std::to_string(std::get<1>(info.param));
                         });

} // namespace
