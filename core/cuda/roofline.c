/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures what a device's memory allows (tsr_roofline), so that a table's speed can be given as a share of it. Runs
 * the kernels of ../kernels/roofline.h, and times them as operations of tables are timed.
 */
#include <stdlib.h>
#include <string.h>

#include "core/compose/backend.h"
#include "core/cuda/link.h"
#include "core/cuda/module.h"
#include "core/kernels/roofline.h"

enum { REPEATS = 5, BUS_ROWS = 3 };
static const uint64_t ACCESSES = 1ull << 27, FOOTPRINT_BYTES = 1ull << 30;

typedef struct row_kernel {
  const char *symbol, *name;
  uint32_t bytes, lanes;
  tsr_roofline_kind kind;
} row_kernel;

#define ROW(kernel, name, bytes, lanes, kind) {"tsr_roofline_" #kernel, name, bytes, lanes, kind},
static const row_kernel row_kernels[] = {TSR_ROOFLINE_KERNELS(ROW)};
enum { ROWS = sizeof row_kernels / sizeof row_kernels[0] };
_Static_assert(ROWS <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all kernels");

extern const tsr_image
    tsr_roofline_images[]; /* built by core/BUILD from kernels/roofline.cu; only its end without nvcc */

typedef struct meter {
  tsr_device *device;
  const cu_driver *driver;
  tsr_cuda_module module;
  tsr_event *from, *to;
  void *memory, *sink;
  uint64_t footprint_bytes;
  void *host, *stream[2]; /* of the bus: pinned memory, and one for each way */
} meter;

static tsr_status load_kernels(meter *m, tsr_error *error) {
  tsr_step steps[ROWS] = {{.set = NULL}};
  for (size_t i = 0; i < ROWS; i++) steps[i].kernel = row_kernels[i].symbol;
  const tsr_steps set = {.images = tsr_roofline_images, .step = steps, .count = ROWS};
  tsr_code_counts counts = {0};
  return tsr_cuda_module_load(&m->module, m->driver, &set, m->device->info.sm, &counts, error);
}

static tsr_status launch(meter *m, const row_kernel *kernel, uint64_t accesses, uint64_t seed, tsr_error *error) {
  const cu_function function = m->module.kernel[kernel - row_kernels];
  tsr_roofline_run run = {m->memory, m->footprint_bytes / kernel->bytes, accesses, m->sink, seed};
  void *parameters[] = {&run};
  unsigned blocks = (unsigned)((accesses * kernel->lanes + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS);
  return tsr_cuda_check(m->driver->launch(function, blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, NULL, parameters, NULL),
                        "cuLaunchKernel", error);
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return a < b ? -1 : a > b;
}

static double median(double times[REPEATS + 1]) {
  qsort(times + 1, REPEATS, sizeof times[0], by_size);
  return times[1 + REPEATS / 2];
}

/* The first run warms up the device and does not count; of the others it is the median. */
static tsr_status measure(meter *m, const row_kernel *kernel, tsr_roofline_row *row, tsr_error *error) {
  const tsr_backend *backend = m->device->backend;
  double times[REPEATS + 1];
  uint64_t accesses = kernel->kind == TSR_ROOFLINE_COPIES ? m->footprint_bytes / kernel->bytes : ACCESSES;
  tsr_status status = TSR_OK;
  for (uint64_t i = 0; status == TSR_OK && i <= REPEATS; i++) {
    if (i == 0 || kernel->kind == TSR_ROOFLINE_WRITES)
      status = backend->fill(m->device, m->memory, 0xFF, m->footprint_bytes, NULL, error);
    if (status == TSR_OK) status = backend->events->record(m->device, m->from, NULL, error);
    if (status == TSR_OK) status = launch(m, kernel, accesses, i * ACCESSES, error);
    if (status == TSR_OK) status = backend->events->record(m->device, m->to, NULL, error);
    if (status == TSR_OK) status = backend->events->finish(m->device, m->to, error);
    if (status == TSR_OK) status = backend->events->between(m->device, m->from, m->to, &times[i], error);
  }
  if (status) return status;
  const double each = kernel->kind == TSR_ROOFLINE_COPIES ? (double)kernel->bytes : 1;
  *row = (tsr_roofline_row){kernel->name, kernel->bytes, kernel->lanes, m->footprint_bytes,
                            (double)accesses * each / median(times) / 1e6};
  return TSR_OK;
}

/* ---- The bus --------------------------------------------------------------------------------- */

/* What runs of pages take on their way (../batch/travel.c): long copies between pinned memory and the device, one way or,
 * half of the bytes each, both at once. */
enum { TO_DEVICE = 1, FROM_DEVICE = 2 };

static tsr_status copy_once(meter *m, uint32_t ways, uint64_t bytes, double *milliseconds, tsr_error *error) {
  const tsr_backend *backend = m->device->backend;
  const bool both = ways == (TO_DEVICE | FROM_DEVICE);
  const uint64_t each = both ? bytes / 2 : bytes;
  char *host = m->host, *memory = m->memory;
  tsr_status status = backend->events->record(m->device, m->from, m->stream[0], error);
  if (status == TSR_OK) status = backend->events->wait(m->device, m->from, m->stream[1], error);
  if (status == TSR_OK && ways & TO_DEVICE) status = backend->copy(m->device, memory, host, each, m->stream[0], error);
  if (status == TSR_OK && ways & FROM_DEVICE)
    status = backend->copy(m->device, host + bytes - each, memory + bytes - each, each, m->stream[1], error);
  if (status == TSR_OK) status = backend->events->record(m->device, m->to, m->stream[1], error);
  if (status == TSR_OK) status = backend->events->wait(m->device, m->to, m->stream[0], error);
  if (status == TSR_OK) status = backend->events->record(m->device, m->to, m->stream[0], error);
  if (status == TSR_OK) status = backend->events->finish(m->device, m->to, error);
  return status ? status : backend->events->between(m->device, m->from, m->to, milliseconds, error);
}

static tsr_status measure_bus(meter *m, tsr_roofline_row *rows, size_t *count, tsr_error *error) {
  static const char *const names[BUS_ROWS] = {"to_device", "from_device", "both_ways"};
  static const uint64_t most = 256ull << 20;
  const tsr_backend *backend = m->device->backend;
  const uint64_t bytes = m->footprint_bytes < most ? m->footprint_bytes : most;
  tsr_status status = backend->allocate_host(m->device, bytes, &m->host, error);
  for (uint32_t i = 0; status == TSR_OK && i < 2; i++)
    status = backend->stream_create(m->device, false, &m->stream[i], error);
  if (status == TSR_OK) memset(m->host, 0, bytes);
  for (uint32_t ways = TO_DEVICE; status == TSR_OK && ways <= BUS_ROWS; ways++) {
    double times[REPEATS + 1];
    for (uint32_t i = 0; status == TSR_OK && i <= REPEATS; i++) status = copy_once(m, ways, bytes, &times[i], error);
    if (status == TSR_OK)
      rows[(*count)++] =
          (tsr_roofline_row){names[ways - 1], 1, 1, m->footprint_bytes, (double)bytes / median(times) / 1e6};
  }
  return status;
}

static void close_meter(meter *m) {
  const tsr_backend *backend = m->device->backend;
  tsr_cuda_module_unload(&m->module, m->driver);
  for (uint32_t i = 0; i < 2; i++)
    if (m->stream[i]) backend->stream_destroy(m->device, m->stream[i]);
  if (m->host) backend->free_host(m->device, m->host);
  if (m->from) backend->events->destroy(m->device, m->from);
  if (m->to) backend->events->destroy(m->device, m->to);
  if (m->memory) backend->free(m->device, m->memory);
  if (m->sink) backend->free(m->device, m->sink);
}

/* Compare-and-swap of 16 bytes came with compute capability 9.0. */
static bool can_measure(const meter *m, const row_kernel *kernel) {
  return m->device->info.sm >= 90 || kernel->kind != TSR_ROOFLINE_WRITES || kernel->bytes != 16;
}

static tsr_status measure_all(meter *m, tsr_roofline_row *rows, size_t *count, tsr_error *error) {
  const tsr_backend *backend = m->device->backend;
  tsr_status status = load_kernels(m, error);
  if (status == TSR_OK) status = backend->events->create(m->device, true, &m->from, error);
  if (status == TSR_OK) status = backend->events->create(m->device, true, &m->to, error);
  if (status == TSR_OK) status = backend->allocate(m->device, m->footprint_bytes, &m->memory, error);
  if (status == TSR_OK) status = backend->allocate(m->device, sizeof(uint32_t), &m->sink, error);
  for (size_t i = 0; status == TSR_OK && i < ROWS; i++)
    if (can_measure(m, &row_kernels[i])) status = measure(m, &row_kernels[i], &rows[(*count)++], error);
  return status ? status : measure_bus(m, rows, count, error);
}

tsr_status tsr_roofline(int number, uint64_t footprint_bytes, tsr_roofline_row **rows, size_t *count,
                        tsr_error *error) {
  if (!rows || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_roofline needs places for the rows and their number");
  meter m = {.footprint_bytes = footprint_bytes ? footprint_bytes : FOOTPRINT_BYTES};
  if (m.footprint_bytes < 4096 || m.footprint_bytes > 1ull << 40 || m.footprint_bytes % 4096 != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "a footprint of %llu bytes: must be a multiple of 4096 up to 2^40",
                    (unsigned long long)footprint_bytes);
  tsr_status status = tsr_cuda_backend.open(number, &m.device, error);
  if (status) return status;
  m.driver = tsr_cuda_driver(NULL);
  tsr_roofline_row *measured = calloc(ROWS + BUS_ROWS, sizeof *measured);
  cu_context popped;
  size_t measured_count = 0;
  if (!measured) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for the rows of a roofline");
  if (status == TSR_OK)
    status = tsr_cuda_check(m.driver->context_push(tsr_cuda_context(m.device)), "cuCtxPushCurrent", error);
  if (status == TSR_OK) {
    status = measure_all(&m, measured, &measured_count, error);
    close_meter(&m);
    m.driver->context_pop(&popped);
  }
  tsr_cuda_backend.close(m.device);
  if (status) {
    free(measured);
    return status;
  }
  *rows = measured;
  *count = measured_count;
  return TSR_OK;
}
