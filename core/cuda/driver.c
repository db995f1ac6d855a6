/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the CUDA driver (driver.h).
 */
#include "core/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "core/cuda/library.h"

static cu_driver driver;
static tsr_error driver_error;
static pthread_once_t driver_once = PTHREAD_ONCE_INIT;

static void load_driver(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    tsr_fail(&driver_error, TSR_NO_DEVICE, "no CUDA driver: %s", dlerror());
    return;
  }
#define LOAD(name, symbol, parameters)                                                                                 \
  if (!tsr_cuda_symbol(library, #symbol, &driver.name, sizeof driver.name)) {                                          \
    tsr_fail(&driver_error, TSR_NO_DEVICE,                                                                             \
             "the CUDA driver is too old: it has no " #symbol "; 12.0 or newer is needed");                            \
    return;                                                                                                            \
  }
  CU_FUNCTIONS(LOAD)
  int version = 0;
  cu_result result = driver.driver_version(&version);
  if (result == 0 && version < 12000) {
    tsr_fail(&driver_error, TSR_NO_DEVICE, "the CUDA driver is for CUDA %d.%d; 12.0 or newer is needed", version / 1000,
             version % 1000 / 10);
    return;
  }
  if (result == 0) result = driver.init(0);
  if (result) tsr_fail(&driver_error, TSR_NO_DEVICE, "the CUDA driver found no usable GPU (error %d)", result);
}

const cu_driver *tsr_cuda_driver(tsr_error *error) {
  pthread_once(&driver_once, load_driver);
  if (driver_error.status == TSR_OK) return &driver;
  if (error) *error = driver_error;
  return NULL;
}

tsr_status tsr_cuda_check(cu_result result, const char *what, tsr_error *error) {
  if (result == 0) return TSR_OK;
  const char *name = NULL, *text = NULL; /* they stay NULL if the driver does not know the code */
  driver.error_name(result, &name);
  driver.error_string(result, &text);
  return tsr_fail(error, result == CU_OUT_OF_MEMORY ? TSR_NO_MEMORY : TSR_DEVICE_FAILED, "%s: %s (%s), error %d", what,
                  name ? name : "an unknown error", text ? text : "without a text", result);
}
