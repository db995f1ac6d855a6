// SPDX-License-Identifier: Apache-2.0
//
// How long linking takes: prints the median of five for insert and find, which a table links together when one of them is
// first used, with the toolkit's libraries loaded; without the cache and from it. Not a test: it judges nothing.
//
//   bazel run //tests/codegen:link_time [-- SPEC...]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "core/kernels/bulk.h"
#include "core/tessera_tools.h"
#include "tests/codegen/linking.h"

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

const tsr_step *const both[] = {TSR_BULK_STEP(TSR_BULK_insert), TSR_BULK_STEP(TSR_BULK_find)};

enum Manner { kAtATime, kOneByOne, kInOneLink };

// Milliseconds of linking insert and find.
double link_both(const tsr_composition *table, Manner manner, bool use_cache) {
  tsr_kernels kernels;
  tsr_error error = {};
  linking::Link links[2];
  tsr_link made[2] = {};
  double start = now_ms();
  tsr_status status = tsr_step_kernels(TSR_BULK_STEP(TSR_BULK_insert), 2, table->shape.key_bits,
                                       table->shape.payload_bits, &kernels, &error);
  if (status == TSR_OK && manner == kAtATime) status = tsr_cuda_link_steps(table, both, 2, use_cache, made, &error);
  if (status == TSR_OK && manner == kInOneLink)
    status = tsr_cuda_link(&table, 1, &kernels, table->shape.sm, use_cache, &made[0], &error);
  for (uint32_t op = 0; status == TSR_OK && manner == kOneByOne && op < 2; op++) {
    status = tsr_step_kernels(TSR_BULK_STEP(op), 1, table->shape.key_bits, table->shape.payload_bits, &kernels, &error);
    if (status == TSR_OK) status = tsr_cuda_link(&table, 1, &kernels, table->shape.sm, use_cache, &made[op], &error);
  }
  double elapsed = now_ms() - start;
  for (int i = 0; i < 2; i++) links[i].link = made[i];
  if (status || made[0].cached != use_cache) {
    fprintf(stderr, "link_time: %s\n", status ? error.message : "the cache did not do what it was asked for");
    exit(1);
  }
  return elapsed;
}

template <typename Work>
double median_of_five(const Work &work) {
  std::vector<double> times;
  for (int i = 0; i < 5; i++) times.push_back(work());
  std::sort(times.begin(), times.end());
  return times[2];
}

int measure(const char *path) {
  tsr_spec *read = nullptr;
  tsr_error error = {};
  tsr_status status = tsr_spec_read(path, &read, &error);
  choices::Spec spec(read);
  if (status) {
    fprintf(stderr, "link_time: %s\n", error.message);
    return 1;
  }
  linking::Composed composed(spec.get(), 90, &status, &error);
  if (status) {
    fprintf(stderr, "link_time: %s\n", error.message);
    return 1;
  }
  const tsr_composition *table = composed.composition;
  link_both(table, kInOneLink, false); // loads the libraries
  auto median = [table](Manner manner) { return median_of_five([&] { return link_both(table, manner, false); }); };
  double at_a_time = median(kAtATime), one_by_one = median(kOneByOne), together = median(kInOneLink);
  tsr_link filled[2] = {};
  tsr_kernels kernels;
  status = tsr_step_kernels(TSR_BULK_STEP(TSR_BULK_insert), 2, table->shape.key_bits, table->shape.payload_bits,
                            &kernels, &error);
  if (status == TSR_OK) status = tsr_cuda_link_steps(table, both, 2, true, filled, &error); // fills the cache
  if (status) return 1;
  for (tsr_link &link : filled) tsr_link_free(&link);
  double cached = median_of_five([&] { return link_both(table, kAtATime, true); });
  printf("%-32s %12.1f %12.1f %12.1f %12.2f\n", path, at_a_time, one_by_one, together, cached);
  return 0;
}

} // namespace

int main(int count, char **arguments) {
  static_assert(TSR_BULK_find == TSR_BULK_insert + 1, "both in one link");
  std::vector<const char *> specs(arguments + 1, arguments + count);
  if (specs.empty()) specs = {"specs/quickstart.ini", "specs/u64_map.ini"};
  std::string folder = (std::filesystem::temp_directory_path() / "link_time.XXXXXX").string();
  if (!mkdtemp(&folder[0])) return 1;
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  printf("insert + find for sm_90, ms, median of 5\n%-32s %12s %12s %12s %12s\n", "spec", "at a time", "one by one",
         "in one link", "from cache");
  int failed = 0;
  for (const char *spec : specs) failed |= measure(spec);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return failed;
}
