// SPDX-License-Identifier: Apache-2.0
//
// Several tables in one kernel of a user (join.cu): whatever the two are made of, all of both is inlined. And what the
// linker refuses. Nothing is run: linking needs no GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/compose/glue.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"
#include "tests/oracle/draw.h"

namespace {

std::string file(const char *path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
}

struct Shape {
  const char *layout;
  uint32_t bucket_slots, tile_lanes;
  const char *probing, *duplicates;
};

const Shape kFirst = {"packed", 4, 1, "cuckoo", "promise_unique"};

choices::Spec spec_of(const Shape &shape, uint32_t key_bits = 32, uint32_t value_bits = 32) {
  choices::Choice choice = {shape.layout,       shape.probing,    "murmur3", shape.duplicates, "phased", "no",
                            shape.bucket_slots, shape.tile_lanes, key_bits,  value_bits,       90,       0};
  return choice.entries().parse();
}

struct Tables {
  Tables(const choices::Spec &first, const choices::Spec &second, uint32_t sm)
      : one(first.get(), sm, &status, &error), two(second.get(), sm, &status_of_second, &error) {
    EXPECT_EQ(status, TSR_OK) << error.message;
    EXPECT_EQ(status_of_second, TSR_OK) << error.message;
    both[0] = one.composition;
    both[1] = two.composition;
  }
  tsr_status status = TSR_OK, status_of_second = TSR_OK;
  tsr_error error = {};
  linking::Composed one, two;
  const tsr_composition *both[2];
};

// Links kernels of join.cu over two tables.
tsr_status link_user(const Tables &tables, const std::vector<const char *> &names, uint32_t sm, linking::Link *link,
                     tsr_error *error) {
  static const std::string image = file("tests/codegen/join.fatbin");
  EXPECT_FALSE(image.empty()) << "tests/codegen/join.fatbin";
  std::vector<tsr_step> steps(names.size());
  for (size_t i = 0; i < names.size(); i++) steps[i].kernel = names[i];
  tsr_kernels kernels = {steps.data(), steps.size(), reinterpret_cast<const unsigned char *>(image.data()),
                         image.size(), false};
  return tsr_cuda_link(tables.both, 2, &kernels, sm, false, &link->link, error);
}

// The parameters: the second table's parts, and the target.
void PrintTo(const Shape &shape, std::ostream *out) { *out << shape.layout << " + " << shape.probing; }

class TwoTables : public testing::TestWithParam<std::tuple<Shape, uint32_t>> {};

TEST_P(TwoTables, Inline) {
  auto [second, sm] = GetParam();
  Tables tables(spec_of(kFirst), spec_of(second), sm);
  linking::Link link;
  tsr_error error = {};
  ASSERT_EQ(link_user(tables, {"join_tables"}, sm, &link, &error), TSR_OK) << error.message;
  linking::expect_sound(link.link, 1, 64);
  EXPECT_LE(link.link.kernels[0].registers, 96u);
}

// Each for one target in turn.
std::vector<std::tuple<Shape, uint32_t>> cases() {
  const Shape shapes[] = {{"soa", 8, 1, "double_hashing", "first"},
                          {"soa", 8, 8, "double_hashing", "min"},
                          {"packed", 8, 4, "double_hashing", "replace"},
                          {"packed", 16, 16, "cuckoo", "promise_unique"}, // the same plugins again
                          {"slab", 16, 4, "slab_list", "first"},          // an allocator
                          kFirst};                                        // the same table twice
  std::vector<std::tuple<Shape, uint32_t>> all;
  size_t turn = 0;
  for (const Shape &shape : shapes) {
    for (uint32_t sm : {80u, 90u})
      if (tessera_test::has_turn(turn, sm == 80)) all.emplace_back(shape, sm);
    turn++;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, TwoTables, testing::ValuesIn(cases()), [](const auto &info) {
  const Shape &shape = std::get<0>(info.param);
  return std::string(shape.layout) + "_" + std::to_string(shape.bucket_slots) + "_" + std::to_string(shape.tile_lanes) +
         "_" + shape.probing + "_" + shape.duplicates + "_sm" + std::to_string(std::get<1>(info.param));
});

// The two tables are two: other parts for the second are other machine code, in the kernel that uses the second only.
TEST(Glue, NumbersItsTables) {
  Tables tables(spec_of(kFirst), spec_of({"soa", 8, 1, "double_hashing", "first"}), 90);
  linking::Link both, swapped;
  tsr_error error = {};
  ASSERT_EQ(link_user(tables, {"look_up_first", "look_up_second"}, 90, &both, &error), TSR_OK) << error.message;
  linking::expect_sound(both.link, 2, 64);
  EXPECT_NE(linking::text_of(both.link, "look_up_first"), linking::text_of(both.link, "look_up_second"));
  Tables other(spec_of(kFirst), spec_of({"packed", 8, 1, "double_hashing", "first"}), 90);
  ASSERT_EQ(link_user(other, {"look_up_first", "look_up_second"}, 90, &swapped, &error), TSR_OK) << error.message;
  EXPECT_EQ(linking::text_of(both.link, "look_up_first"), linking::text_of(swapped.link, "look_up_first"));
  EXPECT_NE(linking::text_of(both.link, "look_up_second"), linking::text_of(swapped.link, "look_up_second"));
}

TEST(Glue, SwitchesOnTheTable) {
  Tables tables(spec_of(kFirst), spec_of({"soa", 8, 1, "double_hashing", "first"}), 90);
  ASSERT_EQ(tsr_glue_modules(tables.both, 2), 1u);
  char *text = tsr_glue_text(tables.both, 2, 0);
  ASSERT_NE(text, nullptr);
  std::string glue = text;
  free(text);
  EXPECT_NE(glue.find("switch (c->table)"), std::string::npos) << glue;
  for (const char *line : {"case 0: return layout_packed_load_k32c32(c, ref, active, mode, b);",
                           "default: return layout_soa_load_k32c32(c, ref, active, mode, b);",
                           "case 0: return probing_cuckoo_next_k32c32(c, key, probe);",
                           "default: return probing_double_hashing_next_k32c32(c, key, probe);",
                           "case 0: return probing_cuckoo_place_k32c32(c, key, seen, placing);",
                           "default: return tsr_claim_or_nowhere(seen);"})
    EXPECT_NE(glue.find(line), std::string::npos) << line << "\n" << glue;
}

// One module for each pair of widths; a kernel of one width may be linked over tables of two.
TEST(Glue, HasAModuleForEachWidth) {
  for (uint32_t sm : {80u, 90u})
    for (bool first_is_narrow : {true, false}) {
      SCOPED_TRACE(testing::Message() << "sm_" << sm << ", first is narrow: " << first_is_narrow);
      choices::Spec narrow = spec_of(kFirst), wide = spec_of({"soa", 8, 1, "double_hashing", "first"}, 64, 64);
      Tables tables(first_is_narrow ? narrow : wide, first_is_narrow ? wide : narrow, sm);
      EXPECT_EQ(tsr_glue_modules(tables.both, 2), 2u);
      linking::Link link;
      tsr_error error = {};
      ASSERT_EQ(link_user(tables, {first_is_narrow ? "look_up_first" : "look_up_second"}, sm, &link, &error), TSR_OK)
          << error.message;
      linking::expect_sound(link.link, 1, 64);
    }
}

// The tests of generated code rest on this: a function that was not inlined is counted.
TEST(Inspection, CountsAFunctionThatIsNoKernel) {
  Tables tables(spec_of(kFirst), spec_of(kFirst), 90);
  linking::Link link;
  tsr_error error = {};
  ASSERT_EQ(link_user(tables, {"calls_a_function"}, 90, &link, &error), TSR_OK) << error.message;
  EXPECT_EQ(link.link.kernel_count, 1u);
  EXPECT_GE(link.link.other_functions, 1u);
}

TEST(Refusals, UnknownKernel) {
  Tables tables(spec_of(kFirst), spec_of(kFirst), 90);
  linking::Link link;
  tsr_error error = {};
  EXPECT_EQ(link_user(tables, {"no_such_kernel"}, 90, &link, &error), TSR_LINK_FAILED);
  EXPECT_NE(std::string(error.message).find("no_such_kernel"), std::string::npos) << error.message;
  EXPECT_EQ(link.link.cubin, nullptr);
}

TEST(Refusals, OldDevice) {
  tsr_error error = {};
  linking::Link link;
  choices::Spec spec = spec_of(kFirst);
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  EXPECT_EQ(tsr_spec_link(spec.get(), &options, 75, false, &link.link, &error), TSR_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find("7.5"), std::string::npos) << error.message;
  EXPECT_NE(std::string(error.message).find("8.0"), std::string::npos) << error.message;
}

TEST(Refusals, UnknownDevice) {
  tsr_error error = {};
  linking::Link link;
  choices::Spec spec = spec_of(kFirst);
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  EXPECT_EQ(tsr_spec_link(spec.get(), &options, 999, false, &link.link, &error), TSR_LINK_FAILED) << error.message;
  EXPECT_NE(std::string(error.message).find("arch"), std::string::npos) << error.message;
}

TEST(Refusals, KernelsThatAreNoDeviceCode) {
  Tables tables(spec_of(kFirst), spec_of(kFirst), 90);
  tsr_step step = {};
  step.kernel = "join_tables";
  unsigned char junk[64] = {1, 2, 3};
  tsr_kernels kernels = {&step, 1, junk, sizeof junk, false};
  linking::Link link;
  tsr_error error = {};
  EXPECT_EQ(tsr_cuda_link(tables.both, 2, &kernels, 90, false, &link.link, &error), TSR_LINK_FAILED);
  EXPECT_NE(error.message[0], 0);
}

} // namespace
