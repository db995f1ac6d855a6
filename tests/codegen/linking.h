// SPDX-License-Identifier: Apache-2.0
//
// What the tests of generated code share: linking a spec without a GPU, and what must hold of every cubin.
// Read next: recipes_test.cc.
#ifndef TSR_TESTS_CODEGEN_LINKING_H
#define TSR_TESTS_CODEGEN_LINKING_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/compose/compose.h"
#include "core/cuda/link.h"
#include "core/tessera_tools.h"
#include "tests/codegen/choices.h"

namespace linking {

// A tsr_link that frees itself.
class Link {
public:
  Link() = default;
  Link(const Link &) = delete;
  Link &operator=(const Link &) = delete;
  ~Link() { tsr_link_free(&link); }
  tsr_link link = {};
  std::string cubin() const { return std::string((const char *)link.cubin, link.cubin_bytes); }
};

// Whether links are taken from, and left in, the folder that TSR_TEST_CUBINS names: for tests of what a link is, which others
// may have made of the same texts (tests/run.sh). Tests of how links are made do not ask.
bool keeps_links();

// Links one operation of a spec of 2^20 pairs as a table does; a failure is a failed test.
void link_operation(const tsr_spec *spec, uint32_t sm, uint32_t operation, Link *link, bool use_cache);

// What was linked of a table. `together` has several operations, each in its first variant, because linking all of them
// again for the sake of one takes twice as long. `alone` has what a table does not get like that: an operation that needs a
// stack or waits twice in its first variant, and the steps of batches.
struct Links {
  Link together;
  std::vector<std::unique_ptr<Link>> alone;
};

// Links `count` bulk operations from `first` on, or those of them that the table has; a failure is a failed test.
void link_operations(const tsr_spec *spec, uint32_t sm, uint32_t first, uint32_t count, Links *links);

// Links these steps of a table into links->alone, with glue that is compiled once.
void link_steps(const tsr_composition *table, const std::vector<const tsr_step *> &steps, Links *links);

// Links what else a table has: the steps of batches that are put in order first, and the marks of a filter.
void link_steps(const tsr_spec *spec, uint32_t sm, Links *links, uint32_t first = 0, uint32_t stride = 1);

// That parts which do not fit together, or a value that does not, are refused with a sentence.
void expect_refusal(tsr_status status, const tsr_error &error);

// Whether a kernel is a bulk operation, in one of its forms (core/kernels/launch.cu).
bool is_form_of(const std::string &kernel, const std::string &operation);

// No function beside the kernels, no stack, so no spill, and at most `registers` for kernels that only look.
void expect_sound(const tsr_link &link, size_t kernels, uint32_t registers);
void expect_sound(const Links &links, uint32_t registers);

// 64, which lets 1024 threads share a multiprocessor, plus what a lane holds of a bucket where that is over 64 bytes.
uint32_t registers_allowed(const tsr_spec *spec, uint32_t sm);

// The machine code of one kernel, the section .text.<kernel>; a failed test and "" if there is none.
std::string text_of(const tsr_link &link, const std::string &kernel);

struct Composed {
  Composed(const tsr_spec *spec, uint32_t sm, tsr_status *status, tsr_error *error);
  Composed(const Composed &) = delete;
  Composed &operator=(const Composed &) = delete;
  ~Composed() { tsr_composition_free(composition); }
  tsr_composition *composition = nullptr;
};

} // namespace linking

#endif
