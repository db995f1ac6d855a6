/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking for what stands in a row's columns of origin (origin.h). NVIDIA's library of management is opened at run time:
 * where there is none, the driver and the clocks are unknown.
 */
#define _GNU_SOURCE /* strchrnul */
#include "tools/lab/origin.h"

#include <dlfcn.h>
#include <inttypes.h>
#ifndef TSR_PTHREADS
#include <omp.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/tessera_tools.h"

extern const char tsr_commit[]; /* made when the program is built; "" = not of a checkout */

const char *tsr_origin_version(void) {
  static char text[64];
  if (!text[0]) snprintf(text, sizeof text, "%s%s%s", tsr_version(), tsr_commit[0] ? " " : "", tsr_commit);
  return text;
}

/* ---- Hashes ---------------------------------------------------------------------------------- */

/* FNV-1a. */
#define HASH_START 0xcbf29ce484222325ull
#define HASH_FACTOR 0x100000001b3ull

static uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * HASH_FACTOR;
  return hash;
}

static uint64_t hash_file(uint64_t hash, const char *path) {
  char bytes[1 << 14];
  FILE *file = fopen(path, "rb");
  for (size_t count; file && (count = fread(bytes, 1, sizeof bytes, file)) > 0;) hash = hash_bytes(hash, bytes, count);
  if (file) fclose(file);
  return hash;
}

/* Whether a composition has the word table.ROLE=NAME. */
static bool has_part(const char *composition, const char *role, const char *name) {
  char word[TSR_ORIGIN_TEXT_BYTES];
  const int letters = snprintf(word, sizeof word, "table.%s=%s", role, name);
  for (const char *at = composition; at && letters > 0; at = strchr(at, ' '), at = at ? at + 1 : NULL)
    if (strncmp(at, word, (size_t)letters) == 0 && (!at[letters] || at[letters] == ' ')) return true;
  return false;
}

void tsr_origin_compose(tsr_origin *origin, const char *composition, const char *plugins) {
  const tsr_plugin_info *list = NULL;
  size_t count = 0, used = 0;
  uint64_t hash = HASH_START;
  tsr_error error;
  snprintf(origin->composition, sizeof origin->composition, "%016" PRIx64,
           hash_bytes(HASH_START, composition, strlen(composition)));
  if (tsr_plugins_list(plugins, &list, &count, &error)) return;
  for (size_t i = 0; i < count; i++) {
    if (!has_part(composition, list[i].role, list[i].name)) continue;
    hash = hash_file(hash, list[i].path);
    used++;
  }
  tsr_plugins_free(list, count);
  if (used) snprintf(origin->parts, sizeof origin->parts, "%016" PRIx64, hash);
}

void tsr_origin_file(tsr_origin *origin, const char *path) {
  snprintf(origin->parts, sizeof origin->parts, "%016" PRIx64, hash_file(HASH_START, path));
}

/* ---- The machine ----------------------------------------------------------------------------- */

typedef struct nvml {
  int (*init)(void);
  int (*driver)(char *version, unsigned length);
  int (*device)(const char *bus, void **device);
  int (*clock)(void *device, int type, unsigned *mhz);
  int (*bus)(char *bus, int length, int device); /* of the driver's API */
} nvml;

enum { NVML_CLOCK_SM = 1, NVML_CLOCK_MEMORY = 2, BUS_BYTES = 32 };

static void find_function(void *library, const char *symbol, void *function) {
  void *address = library ? dlsym(library, symbol) : NULL;
  memcpy(function, &address, sizeof address); /* ISO C converts no pointer to a function */
}

/* NULL: there is no such library, or the version of it lacks something. */
static const nvml *open_nvml(void) {
  static nvml functions;
  static bool is_asked, is_whole;
  if (is_asked) return is_whole ? &functions : NULL;
  is_asked = true;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *driver = NULL;
  if (library) driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  find_function(library, "nvmlInit_v2", &functions.init);
  find_function(library, "nvmlSystemGetDriverVersion", &functions.driver);
  find_function(library, "nvmlDeviceGetHandleByPciBusId_v2", &functions.device);
  find_function(library, "nvmlDeviceGetClockInfo", &functions.clock);
  find_function(driver, "cuDeviceGetPCIBusId", &functions.bus);
  is_whole = functions.init && functions.driver && functions.device && functions.clock && functions.bus &&
             functions.init() == 0;
  return is_whole ? &functions : NULL;
}

static bool is_cuda(const char *backend) { return strcmp(backend, "cuda") == 0; }

void tsr_origin_begin(tsr_origin *origin, const char *backend) {
  origin->compiler = tsr_compiler(backend);
  if (is_cuda(backend)) {
    const nvml *n = open_nvml();
    if (n) n->driver(origin->driver, sizeof origin->driver);
    return;
  }
#ifndef TSR_PTHREADS
  origin->threads = (uint32_t)omp_get_max_threads();
#endif
  struct utsname system;
  if (uname(&system) == 0)
    snprintf(origin->driver, sizeof origin->driver, "%.60s %.60s", system.sysname, system.release);
}

/* The mean of all processors. */
static uint32_t cpu_mhz(void) {
  char line[512];
  double sum = 0;
  uint32_t count = 0;
  FILE *file = fopen("/proc/cpuinfo", "re");
  while (file && fgets(line, sizeof line, file)) {
    if (strncmp(line, "cpu MHz", 7) != 0) continue;
    sum += strtod(strchrnul(line, ':') + 1, NULL);
    count++;
  }
  if (file) fclose(file);
  return count ? (uint32_t)(sum / count) : 0;
}

void tsr_origin_measured(tsr_origin *origin, const char *backend, int device) {
  const time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(origin->date, sizeof origin->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  if (!is_cuda(backend)) {
    origin->clock_mhz = cpu_mhz();
    return;
  }
  const nvml *n = open_nvml();
  char bus[BUS_BYTES];
  void *handle = NULL;
  unsigned mhz = 0;
  if (!n || n->bus(bus, sizeof bus, device) || n->device(bus, &handle)) return;
  if (n->clock(handle, NVML_CLOCK_SM, &mhz) == 0) origin->clock_mhz = mhz;
  if (n->clock(handle, NVML_CLOCK_MEMORY, &mhz) == 0) origin->memory_mhz = mhz;
}
