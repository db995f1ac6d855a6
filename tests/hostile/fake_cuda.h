/* SPDX-License-Identifier: Apache-2.0
 *
 * A CUDA driver and toolkit without a GPU, for tests of what goes wrong: libfake_cuda.so has the functions of libcuda,
 * libnvrtc and libnvJitLink that Tessera uses. Device memory is host memory, the linker makes cubins that hold names
 * only, and a launch calls `launch`. Whatever is created is counted until it is destroyed, and any call can fail.
 * Read next: cuda_test.cc.
 */
#ifndef TSR_TESTS_FAKE_CUDA_H
#define TSR_TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stdint.h>

enum { FAKE_STREAMS = 8 }; /* whose order is known; all further ones are one */
enum { FAKE_OUT_OF_MEMORY = 2, FAKE_ILLEGAL_ADDRESS = 700 };

typedef struct fake_cuda_state {
  /* What the machine is like. The constructor takes them from FAKE_CUDA_INIT, _DRIVER, _DEVICES and _SM, for the
   * program; tests write them. */
  int init_result, driver_version, devices, sm;
  unsigned nvrtc_minor, jitlink_minor;
  const char *nvrtc_log, *jitlink_log; /* NULL: NVRTC, nvJitLink refuses nothing; otherwise why */
  bool garbage_cubin, other_kernels;   /* what nvJitLink makes: no ELF file, functions that nobody asked for */
  void (*launch)(const char *kernel, void **parameters);

  /* Failures: after `calls_left` more calls one fails, and all that follow if `for_good`. A call that frees does so and
   * reports it: the error of some earlier work. Negative: none. */
  int64_t calls_left;
  bool allocations_only, for_good;
  int failure;             /* what the driver's calls return */
  const char *failed_call; /* the first; NULL: none yet */

  /* The stream that is being captured, and how many calls a capture cannot record were made meanwhile. */
  void *captured;
  int64_t unrecordable;

  /* What is enqueued to a stream now comes after that many launches of each stream. */
  struct {
    void *stream;
    uint64_t after[FAKE_STREAMS];
  } order[FAKE_STREAMS];
  uint32_t launched_on; /* the number there of the last launch's stream */
  int64_t records;      /* of events */

  uint64_t heap_bytes, heap_bytes_max; /* of malloc on the device; a request for more gets the most */

  /* Bytes that cuMemcpyAsync brought from the host's memory to the device's. */
  uint64_t uploaded;

  /* What is there. */
  int64_t contexts, pushed, allocations, events, streams, modules, programs, links;
} fake_cuda_state;

#endif
