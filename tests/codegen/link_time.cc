// SPDX-License-Identifier: Apache-2.0
//
// How long linking takes: prints the median of five for insert and find, which a table links when each is first used,
// with the toolkit's libraries loaded; without the cache and from it. Not a test: it judges nothing.
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
#include "tests/codegen/linking.h"

namespace {

double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Milliseconds of linking `count` operations from `first` on, in one link.
double link_ops(const tsr_composition *table, uint32_t first, uint32_t count, bool use_cache) {
  tsr_kernels kernels;
  tsr_error error = {};
  linking::Link link;
  double start = now_ms();
  tsr_status status = tsr_bulk_kernels(table->shape.key_bits, table->shape.cell_bits, first, count, &kernels, &error);
  if (status == TSR_OK) status = tsr_cuda_link(&table, 1, &kernels, table->shape.sm, use_cache, &link.link, &error);
  double elapsed = now_ms() - start;
  if (status || link.link.cached != use_cache) {
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
  link_ops(table, TSR_BULK_insert, 1, false); // loads the libraries
  auto both = [table](bool use_cache) {
    return link_ops(table, TSR_BULK_insert, 1, use_cache) + link_ops(table, TSR_BULK_find, 1, use_cache);
  };
  double uncached = median_of_five([&] { return both(false); });
  double together = median_of_five([&] { return link_ops(table, TSR_BULK_insert, 2, false); });
  tsr_error ignored;
  for (uint32_t op : {TSR_BULK_insert, TSR_BULK_find}) { // fills the cache
    tsr_kernels kernels;
    linking::Link link;
    status = tsr_bulk_kernels(table->shape.key_bits, table->shape.cell_bits, op, 1, &kernels, &ignored);
    if (status == TSR_OK) status = tsr_cuda_link(&table, 1, &kernels, 90, true, &link.link, &ignored);
    if (status) return 1;
  }
  double cached = median_of_five([&] { return both(true); });
  printf("%-32s %10.1f %14.1f %10.2f\n", path, uncached, together, cached);
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
  printf("insert + find for sm_90, ms, median of 5\n%-32s %10s %14s %10s\n", "spec", "two links", "in one link",
         "from cache");
  int failed = 0;
  for (const char *spec : specs) failed |= measure(spec);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  return failed;
}
