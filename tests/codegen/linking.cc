// SPDX-License-Identifier: Apache-2.0
//
// linking.h.
#include "tests/codegen/linking.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"

namespace linking {

static tsr_options options_of_tests() {
  tsr_options options = {};
  options.plugins = choices::plugin_folders().c_str();
  options.capacity = 1u << 20;
  return options;
}

bool keeps_links() {
  static const bool keeps = [] {
    const char *folder = getenv("TSR_TEST_CUBINS");
    return folder && *folder && setenv("XDG_CACHE_HOME", folder, 1) == 0;
  }();
  return keeps;
}

Composed::Composed(const tsr_spec *spec, uint32_t sm, tsr_status *status, tsr_error *error) {
  tsr_options options = options_of_tests();
  *status = tsr_compose(spec, &options, sm, 1, &composition, error);
}

void expect_refusal(tsr_status status, const tsr_error &error) {
  const std::string sentence = error.message;
  EXPECT_TRUE(status == TSR_INCOMPATIBLE || status == TSR_BAD_SPEC) << "status " << status << ": " << sentence;
  EXPECT_EQ(error.status, status);
  EXPECT_GT(sentence.size(), 20u) << "a refusal is a sentence: " << sentence;
  EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
}

bool link_spec(const tsr_spec *spec, uint32_t sm, bool use_cache, Link *link, std::string *refusal) {
  tsr_options options = options_of_tests();
  tsr_error error = {};
  tsr_status status = tsr_spec_link(spec, &options, sm, use_cache, &link->link, &error);
  if (status == TSR_OK) return true;
  expect_refusal(status, error);
  *refusal = error.message;
  return false;
}

void link_operations(const tsr_spec *spec, uint32_t sm, uint32_t first, uint32_t count, Link *link, bool use_cache) {
  tsr_status status;
  tsr_error error = {};
  tsr_kernels kernels;
  Composed composed(spec, sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  const tsr_composition *table = composed.composition;
  if (first != TSR_BULK_mark) count = std::min(count, static_cast<uint32_t>(TSR_BULKS_OF(&table->shape)) - first);
  ASSERT_EQ(
      tsr_step_kernels(TSR_BULK_STEP(first), count, table->shape.key_bits, table->shape.payload_bits, &kernels, &error),
      TSR_OK)
      << error.message;
  ASSERT_EQ(tsr_cuda_link(&table, 1, &kernels, sm, use_cache, &link->link, &error), TSR_OK) << error.message;
  EXPECT_EQ(link->link.kernel_count, count);
}

size_t operations_of(const tsr_spec *spec, uint32_t sm) {
  tsr_status status;
  tsr_error error = {};
  Composed composed(spec, sm, &status, &error);
  EXPECT_EQ(status, TSR_OK) << error.message;
  if (status) return 0;
  size_t operations = static_cast<size_t>(TSR_BULKS_OF(&composed.composition->shape));
  for (uint32_t step = 0; step < TSR_PAGES_STEPS; step++) operations += tsr_plan_has_step(composed.composition, step);
  operations += tsr_plan_marks(composed.composition, TSR_BULK_insert);
  return operations;
}

uint32_t registers_allowed(const tsr_spec *spec, uint32_t sm) {
  tsr_status status;
  tsr_error error = {};
  Composed composed(spec, sm, &status, &error);
  EXPECT_EQ(status, TSR_OK) << error.message;
  if (status) return 0;
  const tsr_shape &shape = composed.composition->shape;
  uint32_t bytes = shape.bucket_bytes / shape.tile_lanes;
  if (shape.is_mixed && shape.share_lanes > shape.tile_lanes) bytes *= 2; // what it fetched for others, and its own
  uint32_t counters = shape.statistics ? 8 : 0;
  return (bytes <= 64 ? 64 : 64 + bytes / 4) + counters;
}

bool is_form_of(const std::string &kernel, const std::string &operation) {
  const std::string name = operation + "_kernel";
  return kernel == "tsr_" + name || kernel == "tsr_medium_" + name || kernel == "tsr_roomy_" + name;
}

void expect_sound(const tsr_link &link, size_t kernels, uint32_t registers) {
  EXPECT_EQ(link.kernel_count, kernels);
  EXPECT_EQ(link.other_functions, 0u) << "a device function was not inlined";
  for (size_t i = 0; i < link.kernel_count; i++) {
    const tsr_kernel_info &kernel = link.kernels[i];
    std::string name = kernel.name;
    EXPECT_EQ(kernel.stack_bytes, 0u) << name << ", " << kernel.registers << " registers";
    EXPECT_GE(kernel.registers, 8u) << name << ": not read from the cubin?";
    if (is_form_of(name, "find") || is_form_of(name, "contains") || is_form_of(name, "count")) {
      EXPECT_LE(kernel.registers, registers) << name;
    }
    // linked apart, for what is told of it
    const bool is_step = name.rfind("tsr_pages_", 0) == 0 || is_form_of(name, "mark");
    EXPECT_TRUE(is_step || !text_of(link, name).empty()) << name;
  }
}

std::string text_of(const tsr_link &link, const std::string &kernel) {
  const char *bytes = static_cast<const char *>(link.cubin);
  Elf64_Ehdr head;
  if (!bytes || link.cubin_bytes < sizeof head) {
    ADD_FAILURE() << "no cubin";
    return "";
  }
  memcpy(&head, bytes, sizeof head);
  auto section = [&](size_t i) {
    Elf64_Shdr read = {};
    size_t at = head.e_shoff + i * sizeof read;
    if (at + sizeof read <= link.cubin_bytes) memcpy(&read, bytes + at, sizeof read);
    return read;
  };
  Elf64_Shdr names = section(head.e_shstrndx);
  for (size_t i = 0; i < head.e_shnum; i++) {
    Elf64_Shdr one = section(i);
    size_t at = names.sh_offset + one.sh_name;
    if (at >= link.cubin_bytes || one.sh_offset + one.sh_size > link.cubin_bytes) continue;
    if (".text." + kernel == bytes + at) return std::string(bytes + one.sh_offset, one.sh_size);
  }
  ADD_FAILURE() << "the cubin has no section .text." << kernel;
  return "";
}

} // namespace linking
