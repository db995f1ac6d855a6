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

void link_steps(const tsr_composition *table, const std::vector<const tsr_step *> &steps, Links *links) {
  tsr_error error = {};
  std::vector<tsr_link> made(steps.size());
  ASSERT_EQ(tsr_cuda_link_steps(table, steps.data(), steps.size(), keeps_links(), made.data(), &error), TSR_OK)
      << error.message;
  for (const tsr_link &one : made) {
    links->alone.push_back(std::make_unique<Link>());
    links->alone.back()->link = one;
  }
}

void link_operation(const tsr_spec *spec, uint32_t sm, uint32_t operation, Link *link, bool use_cache) {
  tsr_status status;
  tsr_error error = {};
  Composed composed(spec, sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  ASSERT_EQ(tsr_cuda_link_step(composed.composition, TSR_BULK_STEP(operation), use_cache, &link->link, &error), TSR_OK)
      << error.message;
}

void link_operations(const tsr_spec *spec, uint32_t sm, uint32_t first, uint32_t count, Links *links) {
  tsr_status status;
  tsr_error error = {};
  tsr_kernels kernels;
  Composed composed(spec, sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  const tsr_composition *table = composed.composition;
  const tsr_shape &shape = table->shape;
  count = std::min(count, static_cast<uint32_t>(TSR_BULKS_OF(&shape)) - first);
  ASSERT_EQ(tsr_step_kernels(TSR_BULK_STEP(first), count, shape.key_bits, shape.payload_bits, &kernels, &error), TSR_OK)
      << error.message;
  std::vector<tsr_step> steps(kernels.step, kernels.step + count);
  for (tsr_step &step : steps) std::fill(std::begin(step.roomier), std::end(step.roomier), nullptr);
  kernels.step = steps.data();
  tsr_link &together = links->together.link;
  ASSERT_EQ(tsr_cuda_link(&table, 1, &kernels, sm, keeps_links(), &together, &error), TSR_OK) << error.message;
  ASSERT_EQ(together.kernel_count, count);
  std::vector<const tsr_step *> alone;
  for (uint32_t op = first; op < first + count; op++) {
    const tsr_step *step = TSR_BULK_STEP(op);
    const tsr_kernel_info *kernel = std::find_if(together.kernels, together.kernels + count, [step](const auto &one) {
      return std::string(step->kernel) == one.name;
    });
    ASSERT_NE(kernel, together.kernels + count) << step->kernel;
    const bool waits_twice = shape.tile_lanes == 1 && step->late_bytes == shape.bucket_bytes;
    if (kernel->stack_bytes || waits_twice) alone.push_back(step);
  }
  link_steps(table, alone, links);
}

void link_steps(const tsr_spec *spec, uint32_t sm, Links *links, uint32_t first, uint32_t stride) {
  tsr_status status;
  tsr_error error = {};
  Composed composed(spec, sm, &status, &error);
  ASSERT_EQ(status, TSR_OK) << error.message;
  std::vector<const tsr_step *> steps;
  for (uint32_t step = first; step < TSR_PAGES_STEPS; step += stride)
    if (tsr_plan_has_step(composed.composition, step)) steps.push_back(&tsr_pages_steps.step[step]);
  if (tsr_plan_marks(composed.composition, TSR_BULK_insert)) steps.push_back(TSR_BULK_STEP(TSR_BULK_mark));
  link_steps(composed.composition, steps, links);
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

static void expect_sound(const tsr_link &link, const tsr_kernel_info &kernel, uint32_t registers) {
  const std::string name = kernel.name;
  EXPECT_EQ(kernel.stack_bytes, 0u) << name << ", " << kernel.registers << " registers";
  EXPECT_GE(kernel.registers, 8u) << name << ": not read from the cubin?";
  if (is_form_of(name, "find") || is_form_of(name, "contains") || is_form_of(name, "count")) {
    EXPECT_LE(kernel.registers, registers) << name;
  }
  EXPECT_FALSE(text_of(link, name).empty()) << name;
}

void expect_sound(const tsr_link &link, size_t kernels, uint32_t registers) {
  EXPECT_EQ(link.kernel_count, kernels);
  EXPECT_EQ(link.other_functions, 0u) << "a device function was not inlined";
  for (size_t i = 0; i < link.kernel_count; i++) expect_sound(link, link.kernels[i], registers);
}

void expect_sound(const Links &links, uint32_t registers) {
  const tsr_link &together = links.together.link;
  EXPECT_EQ(together.other_functions, 0u) << "a device function was not inlined";
  for (const std::unique_ptr<Link> &one : links.alone) expect_sound(one->link, 1, registers);
  for (size_t i = 0; i < together.kernel_count; i++) {
    const std::string compact = together.kernels[i].name, operation = compact.substr(4, compact.size() - 4 - 7);
    if (std::none_of(links.alone.begin(), links.alone.end(),
                     [&operation](const auto &one) { return is_form_of(one->link.kernels[0].name, operation); }))
      expect_sound(together, together.kernels[i], registers);
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
