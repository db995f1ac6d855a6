// SPDX-License-Identifier: Apache-2.0
//
// Host memory that runs out in a table's life, on both backends: at every allocation, one after the other.
// tests/rebuild has the same for what must survive it.
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "core/tessera_tools.h"
#include "tests/hostile/life.h"
#include "tests/hostile/machine.h"

namespace {
int64_t allocations_left = -1; // negative: no end
bool for_good = false, has_failed = false;

bool fails() {
  if (allocations_left < 0) return false;
  if (allocations_left > 0) {
    allocations_left--;
    return false;
  }
  if (!for_good) allocations_left = -1;
  return has_failed = true;
}
} // namespace

extern "C" { // the linker sends the library's calls here (--wrap)
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
int __real_posix_memalign(void **memory, size_t alignment, size_t bytes);
FILE *__real_open_memstream(char **text, size_t *bytes);
void *__wrap_malloc(size_t bytes) { return fails() ? nullptr : __real_malloc(bytes); }
void *__wrap_calloc(size_t count, size_t bytes) { return fails() ? nullptr : __real_calloc(count, bytes); }
void *__wrap_realloc(void *memory, size_t bytes) { return fails() ? nullptr : __real_realloc(memory, bytes); }
char *__wrap_strdup(const char *text) { return fails() ? nullptr : __real_strdup(text); }
int __wrap_posix_memalign(void **memory, size_t alignment, size_t bytes) {
  return fails() ? ENOMEM : __real_posix_memalign(memory, alignment, bytes);
}
FILE *__wrap_open_memstream(char **text, size_t *bytes) {
  return fails() ? nullptr : __real_open_memstream(text, bytes);
}
__attribute__((format(printf, 2, 3))) int __wrap_asprintf(char **text, const char *format, ...) {
  if (fails()) return -1;
  va_list arguments;
  va_start(arguments, format);
  int written = vasprintf(text, format, arguments);
  va_end(arguments);
  return written;
}
}

namespace {

using namespace tessera_test;

struct Case {
  const char *backend, *words;
  bool for_good;
};
std::ostream &operator<<(std::ostream &out, const Case &c) {
  return out << c.backend << ", " << c.words << (c.for_good ? ", for good" : ", once");
}

class HostMemory : public testing::TestWithParam<Case> {};

TEST_P(HostMemory, MayRunOut) {
  const std::string words =
      std::string(GetParam().words) + " backend=" + GetParam().backend + " capacity=32 load_factor=0.3";
  tsr_spec *spec = spec_of(words);
  launch_as(spec);
  for_good = GetParam().for_good;
  ASSERT_EQ(whole_life(spec), 0);
  for (int64_t k = 0;; k++) {
    SCOPED_TRACE(k);
    ASSERT_LT(k, 20000) << "it never works";
    has_failed = false;
    allocations_left = k;
    int failures = whole_life(spec, TSR_NO_MEMORY);
    allocations_left = -1;
    EXPECT_EQ(fake().allocations, 0);
    EXPECT_EQ(fake().events, 0);
    EXPECT_EQ(fake().modules, 0);
    EXPECT_EQ(fake().programs, 0);
    EXPECT_EQ(fake().links, 0);
    EXPECT_EQ(fake().contexts, 0);
    if (!has_failed) {
      EXPECT_EQ(failures, 0);
      EXPECT_GT(k, 30);
      break;
    }
    if (HasFailure()) break;
  }
  launch_as(nullptr);
  tsr_spec_free(spec);
}

const char plain[] = "layout=packed probing=cuckoo", growing[] = "layout=soa probing=double_hashing growth=double";
const Case cases[] = {{"cpu", plain, false},  {"cpu", plain, true},  {"cpu", growing, false},  {"cpu", growing, true},
                      {"cuda", plain, false}, {"cuda", plain, true}, {"cuda", growing, false}, {"cuda", growing, true}};

INSTANTIATE_TEST_SUITE_P(All, HostMemory, testing::ValuesIn(cases));

TEST(HostMemory, MayRunOutWhilePluginsAreListed) {
  for (bool good : {false, true}) {
    for_good = good;
    for (int64_t k = 0;; k++) {
      SCOPED_TRACE(k);
      const tsr_plugin_info *list = nullptr;
      size_t count = 0;
      tsr_error error = {};
      has_failed = false;
      allocations_left = k;
      tsr_status status = tsr_plugins_list(plugin_folders(), &list, &count, &error);
      allocations_left = -1;
      expect_sentence(status, error);
      ASSERT_EQ(status, has_failed ? TSR_NO_MEMORY : TSR_OK) << error.message;
      tsr_plugins_free(list, count);
      if (!has_failed) {
        EXPECT_GT(k, 10);
        break;
      }
    }
  }
}

TEST(HostMemory, MayRunOutWhileASpecIsReadAndChecked) {
  tsr_options options = {};
  options.plugins = plugin_folders();
  for_good = true;
  for (int64_t k = 0;; k++) {
    SCOPED_TRACE(k);
    tsr_spec *spec = nullptr;
    char *text = nullptr;
    tsr_error error = {};
    has_failed = false;
    allocations_left = k;
    tsr_status status = tsr_spec_parse("[table]\nkind = set\nkey_bits = 64\nlayout = packed\nprobing = cuckoo\n"
                                       "hasher = murmur3\ncapacity = 9\nbackend = cpu\n[layout]\ntile_lanes = 1\n",
                                       "test.ini", &spec, &error);
    if (status == TSR_OK) status = tsr_spec_check(spec, &options, &text, &error);
    allocations_left = -1;
    expect_sentence(status, error);
    ASSERT_EQ(status, has_failed ? TSR_NO_MEMORY : TSR_OK) << error.message;
    free(text);
    tsr_spec_free(spec);
    if (!has_failed) {
      EXPECT_GT(k, 10);
      break;
    }
  }
}

} // namespace
