// SPDX-License-Identifier: Apache-2.0
//
// Puts the fake in the place of CUDA (machine.h).
#include "tests/hostile/machine.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/batch/match.h"
#include "core/batch/split.h"
#include "core/batch/steps.h"
#include "core/batch/zones.h"
#include "core/compose/backend.h"
#include "core/compose/compose.h"
#include "core/kernels/numbering.h"
#include "core/kernels/scan.h"
#include "plugins/plugin.h"

namespace tessera_test {

extern "C" { // the linker sends the library's calls here (--wrap)
void *__real_dlopen(const char *path, int flags);
void *__real_dlsym(void *library, const char *symbol);
tsr_status __real_tsr_registry_find(const char *folders, uint32_t role, const char *name, const tsr_plugin **plugin,
                                    tsr_error *error);
}

namespace {

const unsigned char some_code[] = "device code";

void *fake_library() {
  static void *library = __real_dlopen("tests/hostile/libfake_cuda.so", RTLD_NOW | RTLD_LOCAL);
  return library;
}

// "/usr/local/cuda/lib64/libnvrtc.so.13" -> "libnvrtc.so"
bool is_cuda(const std::string &path) {
  const std::string file = path.substr(path.rfind('/') + 1);
  for (const char *name : {"libcuda.so", "libnvrtc.so", "libnvJitLink.so"})
    if (file.compare(0, strlen(name), name) == 0) return true;
  return false;
}

bool is_there(const std::string &path) {
  if (path == missing().library) return false;
  if (path.find('/') == std::string::npos) return toolkit_folder().empty() || path == "libcuda.so.1";
  return !toolkit_folder().empty() && path.compare(0, toolkit_folder().size(), toolkit_folder()) == 0;
}

// A plugin whose every image has device code.
struct Dressed {
  tsr_plugin plugin;
  std::vector<tsr_image> images;
};

} // namespace

extern "C" {
void *__wrap_dlopen(const char *path, int flags) {
  if (!is_cuda(path)) return __real_dlopen(path, flags);
  return is_there(path) ? fake_library() : __real_dlopen("/nonexistent/library.so", flags); // sets dlerror
}

// What glibc's does by AT_SECURE.
char *__wrap_secure_getenv(const char *name) { return is_privileged() ? nullptr : getenv(name); }

void *__wrap_dlsym(void *library, const char *symbol) {
  return symbol == missing().symbol ? nullptr : __real_dlsym(library, symbol);
}

tsr_status __wrap_tsr_registry_find(const char *folders, uint32_t role, const char *name, const tsr_plugin **plugin,
                                    tsr_error *error) {
  static std::mutex lock; // tsr_ahead_begin asks from several threads
  static std::map<const tsr_plugin *, std::unique_ptr<Dressed>> known;
  const tsr_plugin *found;
  tsr_status status = __real_tsr_registry_find(folders, role, name, &found, error);
  if (status) return status;
  std::lock_guard<std::mutex> held(lock);
  auto &dressed = known[found];
  if (!dressed) {
    dressed.reset(new Dressed{*found, {}});
    for (const tsr_image *image = found->images; image->functions; image++) {
      dressed->images.push_back(*image);
      dressed->images.back().device = some_code;
      dressed->images.back().device_bytes = sizeof some_code;
    }
    dressed->images.push_back({});
    dressed->plugin.images = dressed->images.data();
  }
  *plugin = &dressed->plugin;
  return TSR_OK;
}

// In place of the kernels that the build makes, or does not without nvcc.
#define ALL_WIDTHS                                                                                                     \
  {                                                                                                                    \
    {32, 0, nullptr, some_code, sizeof some_code}, {32, 32, nullptr, some_code, sizeof some_code},                     \
        {32, 64, nullptr, some_code, sizeof some_code}, {64, 0, nullptr, some_code, sizeof some_code},                 \
        {64, 32, nullptr, some_code, sizeof some_code}, {64, 64, nullptr, some_code, sizeof some_code}, {              \
      0, 0, nullptr, nullptr, 0                                                                                        \
    }                                                                                                                  \
  }
extern const tsr_image __wrap_tsr_bulk_images[];
const tsr_image __wrap_tsr_bulk_images[] = ALL_WIDTHS;
extern const tsr_image __wrap_tsr_pages_images[];
const tsr_image __wrap_tsr_pages_images[] = ALL_WIDTHS;
extern const tsr_image __wrap_tsr_zone_images[];
const tsr_image __wrap_tsr_zone_images[] = ALL_WIDTHS;
extern const tsr_image __wrap_tsr_roofline_images[];
const tsr_image __wrap_tsr_roofline_images[] = {{0, 0, nullptr, some_code, sizeof some_code},
                                                {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_scan_images[];
const tsr_image __wrap_tsr_scan_images[] = {{0, 0, nullptr, some_code, sizeof some_code}, {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_aggregate_images[];
const tsr_image __wrap_tsr_aggregate_images[] = {{0, 0, nullptr, some_code, sizeof some_code},
                                                 {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_group_images[];
const tsr_image __wrap_tsr_group_images[] = {{0, 0, nullptr, some_code, sizeof some_code}, {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_match_images[];
const tsr_image __wrap_tsr_match_images[] = {{0, 0, nullptr, some_code, sizeof some_code}, {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_numbering_images[];
const tsr_image __wrap_tsr_numbering_images[] = {{0, 0, nullptr, some_code, sizeof some_code},
                                                 {0, 0, nullptr, nullptr, 0}};
extern const tsr_image __wrap_tsr_split_images[];
const tsr_image __wrap_tsr_split_images[] = {{0, 0, nullptr, some_code, sizeof some_code}, {0, 0, nullptr, nullptr, 0}};
}

fake_cuda_state &fake() { return *static_cast<fake_cuda_state *>(__real_dlsym(fake_library(), "fake_cuda")); }

Missing &missing() {
  static Missing none;
  return none;
}

bool &is_privileged() {
  static bool privileged = false;
  return privileged;
}

std::string &toolkit_folder() {
  static std::string none;
  return none;
}

// ---- Launches -----------------------------------------------------------------------------------

namespace {

struct Program {
  tsr_composition *composition = nullptr;
  tsr_program *program = nullptr;
  ~Program() {
    if (program) tsr_cpu_backend.program_destroy(program);
    tsr_composition_free(composition);
  }
};
std::unique_ptr<Program> running;

void launch(const char *kernel, void **parameters) {
  for (const tsr_step *step = tsr_bulk_steps.step; step < tsr_bulk_steps.step + TSR_BULKS; step++)
    if (strcmp(kernel, step->kernel) == 0 || strcmp(kernel, step->roomier[0]) == 0 ||
        strcmp(kernel, step->roomier[1]) == 0) {
      const uint64_t n = static_cast<tsr_bulk *>(parameters[0])->n;
      ASSERT_EQ(tsr_cpu_backend.step(nullptr, running->program, step, parameters[0], n, nullptr, nullptr), TSR_OK);
      return;
    }
  const tsr_step *tiles = &tsr_pages_steps.step[TSR_PAGES_tiles];
  if (strcmp(kernel, tiles->kernel) == 0) {
    const tsr_tiles_step *p = static_cast<tsr_tiles_step *>(parameters[0]);
    ASSERT_EQ(tsr_cpu_backend.step(nullptr, running->program, tiles, p, p->segments.count, nullptr, nullptr), TSR_OK);
    return;
  }
  for (uint32_t number : {TSR_PAGES_count, TSR_PAGES_scatter}) {
    const tsr_step *step = &tsr_pages_steps.step[number];
    if (strcmp(kernel, step->kernel) != 0) continue;
    const tsr_order_step *p = static_cast<tsr_order_step *>(parameters[0]);
    const uint64_t n = (p->bulk.n + p->tile_items - 1) / p->tile_items + p->segments.count;
    ASSERT_EQ(tsr_cpu_backend.step(nullptr, running->program, step, p, n, nullptr, nullptr), TSR_OK);
    return;
  }
  for (const tsr_step *step = tsr_zone_steps.step; step < tsr_zone_steps.step + TSR_ZONE_STEP_COUNT; step++)
    if (strcmp(kernel, step->kernel) == 0) {
      const uint64_t n = static_cast<tsr_zone_step *>(parameters[0])->runs.tiles;
      ASSERT_EQ(tsr_cpu_backend.step(nullptr, running->program, step, parameters[0], n, nullptr, nullptr), TSR_OK);
      return;
    }
  for (const tsr_steps *set : {&tsr_split_steps, &tsr_match_steps, &tsr_numbering_steps})
    for (const tsr_step *step = set->step; step < set->step + set->count; step++)
      if (strcmp(kernel, step->kernel) == 0) {
        uint64_t n = *static_cast<uint64_t *>(parameters[0]); // the arguments begin with it
        if (step == &tsr_split_steps.step[TSR_SPLIT_sizes]) n = static_cast<tsr_split *>(parameters[0])->runs.bins;
        const auto *split = static_cast<const tsr_split *>(parameters[0]);
        if (step == &tsr_split_steps.step[TSR_SPLIT_fold])
          n = (split->runs.n - 1) / split->fold.every + 1;
        else if (set == &tsr_split_steps && step->grid.block_items == 1)
          n = split->runs.tiles;
        ASSERT_EQ(tsr_cpu_backend.step(nullptr, nullptr, step, parameters[0], n, nullptr, nullptr), TSR_OK);
        return;
      }
  const tsr_step *sums = &tsr_scan_steps.step[TSR_SCAN_tiles];
  ASSERT_STREQ(kernel, sums->kernel); // of as many numbers as one tile has
  ASSERT_EQ(static_cast<tsr_scan *>(parameters[0])->tiles, nullptr);
  ASSERT_EQ(tsr_cpu_backend.step(nullptr, nullptr, sums, parameters[0], 1, nullptr, nullptr), TSR_OK);
}

} // namespace

void launch_as(const tsr_spec *spec) {
  tsr_error error = {};
  tsr_options options = {};
  options.plugins = "layouts:probing:hashers:eviction";
  running.reset(spec ? new Program : nullptr);
  fake().launch = spec ? launch : nullptr;
  if (!spec) return;
  ASSERT_EQ(tsr_compose(spec, &options, 0, 1, &running->composition, &error), TSR_OK) << error.message;
  ASSERT_EQ(tsr_cpu_backend.program_create(nullptr, running->composition, &running->program, &error), TSR_OK);
}

} // namespace tessera_test
