/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuda backend, over the driver API. It works in the device's primary context, which is that of the CUDA runtime
 * and its libraries, so their memory and streams can be used here. A caller may have made another context current.
 * So every function pushes the primary one, and pops it before it returns. Read next: link.h.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cuda/device.h"
#include "core/cuda/link.h"
#include "core/cuda/nccl.h"
#include "core/sized.h"

struct tsr_event {
  cu_event handle;
};

cu_context tsr_cuda_context(tsr_device *device) { return tsr_cuda_of(device)->context; }
static cu_pointer address(const void *memory) { return (cu_pointer)(uintptr_t)memory; }

/* ---- Device ---------------------------------------------------------------------------------- */

static tsr_status describe_device(const cu_driver *driver, cu_device number, tsr_device_info *info, tsr_error *error) {
  int major = 0, minor = 0, l2_bytes = 0;
  size_t bytes = 0;
  cu_result result = driver->device_name(info->name, (int)sizeof info->name, number);
  if (!result) result = driver->device_attribute(&major, CU_ATTRIBUTE_SM_MAJOR, number);
  if (!result) result = driver->device_attribute(&minor, CU_ATTRIBUTE_SM_MINOR, number);
  if (!result) result = driver->device_attribute(&l2_bytes, CU_ATTRIBUTE_L2_BYTES, number);
  if (!result) result = driver->device_memory(&bytes, number);
  info->sm = (uint32_t)(major * 10 + minor);
  info->l2_bytes = (uint64_t)l2_bytes;
  info->memory_bytes = bytes;
  return tsr_cuda_check(result, "asking for the device's attributes", error);
}

static tsr_status find_device(int number, const cu_driver **driver, cu_device *found, tsr_device_info *info,
                              tsr_error *error) {
  int count = 0;
  *driver = tsr_cuda_driver(error);
  if (!*driver) return TSR_NO_DEVICE;
  tsr_status status = tsr_cuda_check((*driver)->device_count(&count), "cuDeviceGetCount", error);
  if (status) return status;
  if (number < 0 || number >= count)
    return tsr_fail(error, TSR_NO_DEVICE, "device = %d: there are %d GPUs, numbered from 0", number, count);
  status = tsr_cuda_check((*driver)->device_get(found, number), "cuDeviceGet", error);
  if (status == TSR_OK) status = describe_device(*driver, *found, info, error);
  if (status == TSR_OK && info->sm < 80)
    return tsr_fail(error, TSR_NO_DEVICE, "%s has compute capability %u.%u: the parts' code is for 8.0 and newer",
                    info->name, info->sm / 10, info->sm % 10);
  return status;
}

tsr_status tsr_device_describe(int number, tsr_device_info *info, tsr_error *error) {
  if (!info) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_device_describe needs a place for what it tells");
  const cu_driver *driver;
  cu_device found;
  tsr_device_info read = {0};
  tsr_status status = find_device(number, &driver, &found, &read, error);
  if (status == TSR_OK) tsr_hand_over(info, &read, sizeof read);
  return status;
}

/* A pool of its own keeps the memory of buffers until the device is closed, or memory gets short. Otherwise the
 * driver would give it back when the stream is waited for, and to get it anew takes longer than the work that it is
 * for. pre: the device's context exists. */
static tsr_status open_pool(tsr_cuda_device *d, tsr_error *error) {
  const cu_pool_properties properties = {.allocation = 1, .location = 1, .device = d->number};
  uint64_t kept_bytes = UINT64_MAX;
  tsr_status status = tsr_cuda_check(d->driver->pool_create(&d->pool, &properties), "cuMemPoolCreate", error);
  if (status) return status;
  status =
      tsr_cuda_check(d->driver->pool_set(d->pool, CU_POOL_KEPT_BYTES, &kept_bytes), "cuMemPoolSetAttribute", error);
  if (status) d->driver->pool_destroy(d->pool);
  return status;
}

static tsr_status cuda_open(int number, tsr_device **device, tsr_error *error) {
  tsr_cuda_device *d = calloc(1, sizeof *d);
  if (!d) return tsr_fail(error, TSR_NO_MEMORY, "no memory to open the cuda backend");
  d->base.backend = &tsr_cuda_backend;
  tsr_status status = find_device(number, &d->driver, &d->number, &d->base.info, error);
  if (status == TSR_OK)
    status = tsr_cuda_has_code(error); /* asked now, while backend = auto can still choose the CPU */
  if (status == TSR_OK)
    status = tsr_cuda_check(d->driver->context_retain(&d->context, d->number), "cuDevicePrimaryCtxRetain", error);
  if (status) {
    free(d);
    return status;
  }
  status = open_pool(d, error);
  if (status) {
    d->driver->context_release(d->number);
    free(d);
    return status;
  }
  *device = &d->base;
  return TSR_OK;
}

static void cuda_close(tsr_device *device) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) == TSR_OK) {
    for (uint32_t i = 0; i < TSR_CUDA_MODULES_MAX; i++) tsr_cuda_module_unload(&d->modules[i], d->driver);
    if (d->notice.word) d->driver->host_free(d->notice.word);
    tsr_status status = tsr_cuda_pop(d, 0, "", NULL);
    (void)status; /* it fails if the context was lost, and then the module is gone too */
  }
  d->driver->pool_destroy(d->pool);
  d->driver->context_release(d->number);
  free(d);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static tsr_status out_of_memory(const tsr_cuda_device *d, tsr_status status, uint64_t bytes, tsr_error *error) {
  if (status != TSR_NO_MEMORY) return status;
  return tsr_fail(error, TSR_NO_MEMORY, "%s cannot allocate %llu bytes of its %llu: lower the capacity",
                  d->base.info.name, (unsigned long long)bytes, (unsigned long long)d->base.info.memory_bytes);
}

/* Whether there was something to give back. */
static bool empty_pool(const tsr_cuda_device *d) {
  uint64_t kept_bytes = 0;
  return d->driver->pool_get(d->pool, CU_POOL_BYTES, &kept_bytes) == 0 && kept_bytes &&
         d->driver->pool_trim(d->pool, 0) == 0;
}

static tsr_status cuda_allocate(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_pointer allocated = 0;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  cu_result result = d->driver->allocate(&allocated, bytes ? bytes : 1);
  if (result == CU_OUT_OF_MEMORY && empty_pool(d)) result = d->driver->allocate(&allocated, bytes ? bytes : 1);
  status = tsr_cuda_pop(d, result, "cuMemAlloc", error);
  if (status) return out_of_memory(d, status, bytes, error);
  *memory = (void *)(uintptr_t)allocated;
  return TSR_OK;
}

static void cuda_free(tsr_device *device, void *memory) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) != TSR_OK) return;
  tsr_status status = tsr_cuda_pop(d, d->driver->free(address(memory)), "cuMemFree", NULL);
  (void)status; /* it fails if the context was lost, and then the memory is gone too */
}

/* ---- Memory that grows in place -------------------------------------------------------------- */

static cu_memory_properties extent_properties(const tsr_cuda_device *d) {
  return (cu_memory_properties){.allocation = 1, .location = 1, .device = d->number};
}

static uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

static tsr_status cuda_reserve(tsr_device *device, uint64_t least, uint64_t most, tsr_extent *extent,
                               tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  const cu_memory_properties properties = extent_properties(d);
  size_t unit = 0;
  cu_pointer memory = 0;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  cu_result result = d->driver->granularity(&unit, &properties, CU_GRANULARITY_MINIMUM);
  const uint64_t bytes = result == 0 ? rounded_up(most > least ? most : least, unit) : 0;
  if (result == 0) result = d->driver->reserve(&memory, bytes, 0, 0, 0);
  status = tsr_cuda_pop(d, result, "cuMemAddressReserve", error);
  if (status == TSR_OK) *extent = (tsr_extent){.memory = (void *)(uintptr_t)memory, .most = bytes};
  return status;
}

/* Maps new memory behind what is there. The mapping keeps the memory. */
static cu_result map_more(const tsr_cuda_device *d, cu_pointer at, uint64_t bytes) {
  const cu_memory_properties properties = extent_properties(d);
  const cu_access access = {.location = 1, .device = d->number, .access = CU_ACCESS_READ_WRITE};
  cu_memory memory = 0;
  cu_result result = d->driver->memory_create(&memory, bytes, &properties, 0);
  if (result == CU_OUT_OF_MEMORY && empty_pool(d)) result = d->driver->memory_create(&memory, bytes, &properties, 0);
  if (result) return result;
  result = d->driver->map(at, bytes, 0, memory, 0);
  const bool is_mapped = result == 0;
  if (is_mapped) result = d->driver->access_set(at, bytes, &access, 1);
  const cu_result dropped = d->driver->memory_drop(memory);
  if (result == 0) result = dropped;
  if (result && is_mapped) d->driver->unmap(at, bytes);
  return result;
}

static tsr_status cuda_extend(tsr_device *device, tsr_extent *extent, uint64_t bytes, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  const cu_memory_properties properties = extent_properties(d);
  size_t unit = 0;
  if (bytes <= extent->bytes) return TSR_OK;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  cu_result result = d->driver->granularity(&unit, &properties, CU_GRANULARITY_MINIMUM);
  const uint64_t whole = result == 0 ? rounded_up(bytes, unit) : bytes;
  if (result == 0 && whole > extent->most) result = CU_OUT_OF_MEMORY;
  if (result == 0) result = map_more(d, address(extent->memory) + extent->bytes, whole - extent->bytes);
  status = tsr_cuda_pop(d, result, "cuMemCreate", error);
  if (status == TSR_OK) extent->bytes = whole;
  return out_of_memory(d, status, bytes, error);
}

/* What is mapped piece by piece is unmapped at once: the range ends where pieces end. */
static void cuda_release(tsr_device *device, tsr_extent *extent) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (!extent->memory || tsr_cuda_push(d, NULL) != TSR_OK) return;
  d->driver->context_synchronize();
  if (extent->bytes) d->driver->unmap(address(extent->memory), extent->bytes);
  const cu_result result = d->driver->unreserve(address(extent->memory), extent->most);
  tsr_status status = tsr_cuda_pop(d, result, "cuMemAddressFree", NULL);
  (void)status; /* as in cuda_free */
  *extent = (tsr_extent){.memory = NULL};
}

/* ---- Memory that other processes use --------------------------------------------------------- */

static tsr_status cuda_share(tsr_device *device, uint64_t bytes, void **memory, uint8_t *name, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_shared made;
  tsr_status status = cuda_allocate(device, bytes, memory, error);
  if (status) return status;
  status = tsr_cuda_push(d, error);
  if (status == TSR_OK) status = tsr_cuda_pop(d, d->driver->share(&made, address(*memory)), "cuIpcGetMemHandle", error);
  if (status) {
    cuda_free(device, *memory);
    return status;
  }
  memcpy(name, made.bytes, sizeof made.bytes);
  return TSR_OK;
}

static tsr_status cuda_open_shared(tsr_device *device, const uint8_t *name, void **memory, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_shared theirs;
  cu_pointer opened = 0;
  memcpy(theirs.bytes, name, sizeof theirs.bytes);
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  status = tsr_cuda_pop(d, d->driver->share_open(&opened, theirs, CU_SHARED_PEERS), "cuIpcOpenMemHandle", error);
  if (status == TSR_OK) *memory = (void *)(uintptr_t)opened;
  return status;
}

static void cuda_close_shared(tsr_device *device, void *memory) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) != TSR_OK) return;
  tsr_status status = tsr_cuda_pop(d, d->driver->share_close(address(memory)), "cuIpcCloseMemHandle", NULL);
  (void)status; /* as in cuda_free */
}

/* The device sees it at the same address. */
static tsr_status cuda_allocate_host(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  const cu_result result = d->driver->host_allocate(memory, bytes ? bytes : 1, CU_HOST_PORTABLE | CU_HOST_MAPPED);
  status = tsr_cuda_pop(d, result, "cuMemHostAlloc", error);
  if (status != TSR_NO_MEMORY) return status;
  return tsr_fail(
      error, TSR_NO_MEMORY,
      "cannot allocate %llu bytes of pinned host memory: lower the capacity, or raise this process's memory limits",
      (unsigned long long)bytes);
}

static void cuda_free_host(tsr_device *device, void *memory) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) != TSR_OK) return;
  tsr_status status = tsr_cuda_pop(d, d->driver->host_free(memory), "cuMemFreeHost", NULL);
  (void)status; /* as in cuda_free */
}

static tsr_status cuda_allocate_in(tsr_device *device, uint64_t bytes, void *stream, void **memory, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_pointer allocated = 0;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  status =
      tsr_cuda_pop(d, d->driver->allocate_async(&allocated, bytes, d->pool, stream), "cuMemAllocFromPoolAsync", error);
  if (status) return out_of_memory(d, status, bytes, error);
  *memory = (void *)(uintptr_t)allocated;
  return TSR_OK;
}

static tsr_status cuda_free_in(tsr_device *device, void *memory, void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status : tsr_cuda_pop(d, d->driver->free_async(address(memory), stream), "cuMemFreeAsync", error);
}

static bool cuda_is_device_memory(tsr_device *device, const void *memory) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  unsigned type = 0;
  int owner = d->number, wanted[] = {CU_POINTER_MEMORY_TYPE, CU_POINTER_DEVICE};
  void *values[] = {&type, &owner};
  if (tsr_cuda_push(d, NULL) != TSR_OK) return false;
  cu_result result =
      d->driver->pointer_attributes(2, wanted, values, address(memory)); /* succeeds for host memory too */
  tsr_status status = tsr_cuda_pop(d, 0, "", NULL);
  return status == TSR_OK && result == 0 && type == CU_MEMORY_DEVICE &&
         owner == d->number; /* CUDA does not know what malloc gave */
}

static tsr_status cuda_fill(tsr_device *device, void *memory, uint8_t byte, uint64_t bytes, void *stream,
                            tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status
                : tsr_cuda_pop(d, d->driver->fill(address(memory), byte, bytes, stream), "cuMemsetD8Async", error);
}

static tsr_status cuda_copy(tsr_device *device, void *to, const void *from, uint64_t bytes, void *stream,
                            tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status
                : tsr_cuda_pop(d, d->driver->copy(address(to), address(from), bytes, stream), "cuMemcpyAsync", error);
}

static bool cuda_reaches(tsr_device *device, tsr_device *other) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  const tsr_cuda_device *o = tsr_cuda_of(other);
  const uint64_t bit = 1ull << o->number;
  if (d->number == o->number) return true;
  if (!(d->asked & bit) && tsr_cuda_push(d, NULL) == TSR_OK) {
    const cu_result result = d->driver->peer_enable(o->context, 0);
    const tsr_status popped = tsr_cuda_pop(d, 0, "", NULL);
    d->asked |= bit;
    if (popped == TSR_OK && (result == 0 || result == CU_PEER_ENABLED_ALREADY)) d->reached |= bit;
  }
  return d->reached & bit;
}

/* Where GPUs cannot reach each other's memory the driver takes the way over the host's, and nobody has to know. */
static tsr_status cuda_copy_from(tsr_device *device, void *to, tsr_device *other, const void *from, uint64_t bytes,
                                 void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device), *o = tsr_cuda_of(other);
  if (d->number == o->number) return device->backend->copy(device, to, from, bytes, stream, error);
  const bool is_quick = cuda_reaches(device, other);
  (void)is_quick; /* it has been asked for, and the copy is right without */
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  return tsr_cuda_pop(d, d->driver->copy_peer(address(to), d->context, address(from), o->context, bytes, stream),
                      "cuMemcpyPeerAsync", error);
}

static tsr_status cuda_synchronize(tsr_device *device, void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status : tsr_cuda_pop(d, d->driver->stream_synchronize(stream), "cuStreamSynchronize", error);
}

/* The heap belongs to the context, and others in this process may use it, so it is made larger and never smaller. A driver
 * may set another size than the one that it was asked for; to know, one has to ask again. */
static tsr_status cuda_reserve_heap(tsr_device *device, uint64_t bytes, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  size_t now = 0;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  cu_result result = d->driver->limit_get(&now, CU_LIMIT_MALLOC_HEAP_BYTES);
  if (result == 0 && now < bytes) {
    result = d->driver->limit_set(CU_LIMIT_MALLOC_HEAP_BYTES, bytes);
    if (result == 0) result = d->driver->limit_get(&now, CU_LIMIT_MALLOC_HEAP_BYTES);
  }
  status = tsr_cuda_pop(d, result, "cuCtxSetLimit", error);
  if (status || now >= bytes) return status;
  return tsr_fail(error, TSR_NO_MEMORY, "%s gives malloc a heap of %llu bytes, not of %llu: ask for fewer items",
                  d->base.info.name, (unsigned long long)now, (unsigned long long)bytes);
}

/* ---- Streams and events ---------------------------------------------------------------------- */

static tsr_status cuda_stream_create(tsr_device *device, bool is_urgent, void **stream, tsr_error *error) {
  enum { FIRST = -8 }; /* the driver takes the least number that the device has */
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_stream created = NULL;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  status = tsr_cuda_pop(d, d->driver->stream_create(&created, CU_STREAM_NON_BLOCKING, is_urgent ? FIRST : 0),
                        "cuStreamCreateWithPriority", error);
  if (status == TSR_OK) *stream = created;
  return status;
}

static void cuda_stream_destroy(tsr_device *device, void *stream) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) != TSR_OK) return;
  tsr_status status = tsr_cuda_pop(d, d->driver->stream_destroy(stream), "cuStreamDestroy", NULL);
  (void)status; /* it fails if the context was lost, and then the stream is gone too */
}

/* Only streams that somebody has made can be captured; of the others the driver would not even say that they are not. */
static tsr_status cuda_is_capturing(tsr_device *device, void *stream, bool *is, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  int capture = 0;
  *is = false;
  if (!stream) return TSR_OK;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  status = tsr_cuda_pop(d, d->driver->stream_is_capturing(stream, &capture), "cuStreamIsCapturing", error);
  *is = capture != 0;
  return status;
}

static tsr_status cuda_event_create(tsr_device *device, bool tells_time, tsr_event **event, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_event *created = calloc(1, sizeof *created);
  if (!created) return tsr_fail(error, TSR_NO_MEMORY, "no memory for an event");
  const unsigned flags = tells_time ? 0 : CU_EVENT_DISABLE_TIMING;
  tsr_status status = tsr_cuda_push(d, error);
  if (status == TSR_OK)
    status = tsr_cuda_pop(d, d->driver->event_create(&created->handle, flags), "cuEventCreate", error);
  if (status)
    free(created);
  else
    *event = created;
  return status;
}

static void cuda_event_destroy(tsr_device *device, tsr_event *event) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  if (tsr_cuda_push(d, NULL) == TSR_OK) {
    tsr_status status = tsr_cuda_pop(d, d->driver->event_destroy(event->handle), "cuEventDestroy", NULL);
    (void)status;
  }
  free(event);
}

static tsr_status cuda_event_record(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status : tsr_cuda_pop(d, d->driver->event_record(event->handle, stream), "cuEventRecord", error);
}

static tsr_status cuda_event_wait(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status
                : tsr_cuda_pop(d, d->driver->stream_wait(stream, event->handle, 0), "cuStreamWaitEvent", error);
}

static tsr_status cuda_event_finish(tsr_device *device, tsr_event *event, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  tsr_status status = tsr_cuda_push(d, error);
  return status ? status : tsr_cuda_pop(d, d->driver->event_synchronize(event->handle), "cuEventSynchronize", error);
}

static tsr_status cuda_event_between(tsr_device *device, tsr_event *from, tsr_event *to, double *milliseconds,
                                     tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  float elapsed = 0;
  tsr_status status = tsr_cuda_push(d, error);
  if (status == TSR_OK)
    status = tsr_cuda_pop(d, d->driver->event_elapsed(&elapsed, from->handle, to->handle), "cuEventElapsedTime", error);
  if (status == TSR_OK) *milliseconds = (double)elapsed;
  return status;
}

/* The first time it takes the memory. Without it nothing is told. */
static tsr_notice cuda_listen(tsr_device *device) {
  tsr_notice *last = &tsr_cuda_of(device)->notice;
  void *word = NULL;
  if (!last->word && cuda_allocate_host(device, sizeof *last->word, &word, NULL) == TSR_OK) {
    last->word = word;
    *last->word = 0;
  }
  last->ticket = (last->ticket + 1) & (UINT32_MAX >> 1);
  return *last;
}

/* Relaxed: the word is all that is told. */
static bool cuda_hear(const tsr_notice *notice, bool *is_odd) {
  enum { MOST_NS = 50000, S_NS = 1000000000 };
  struct timespec from, now;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (now = from; (now.tv_sec - from.tv_sec) * S_NS + now.tv_nsec - from.tv_nsec < MOST_NS;) {
    const uint32_t said = __atomic_load_n(notice->word, __ATOMIC_RELAXED);
    *is_odd = said & 1;
    if (said >> 1 == notice->ticket) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  return false;
}

static tsr_code_counts cuda_count_code(tsr_device *device, tsr_program *program) {
  (void)program;
  return tsr_cuda_of(device)->counts;
}

static const tsr_events events = {.create = cuda_event_create,
                                  .destroy = cuda_event_destroy,
                                  .record = cuda_event_record,
                                  .wait = cuda_event_wait,
                                  .finish = cuda_event_finish,
                                  .between = cuda_event_between,
                                  .listen = cuda_listen,
                                  .hear = cuda_hear};

static const tsr_extents extents = {.reserve = cuda_reserve,
                                    .extend = cuda_extend,
                                    .release = cuda_release,
                                    .share = cuda_share,
                                    .unshare = cuda_free,
                                    .open_shared = cuda_open_shared,
                                    .close_shared = cuda_close_shared};

const tsr_backend tsr_cuda_backend = {
    .wires = &tsr_nccl_wires,
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .free = cuda_free,
    .allocate_host = cuda_allocate_host,
    .free_host = cuda_free_host,
    .extents = &extents,
    .allocate_in = cuda_allocate_in,
    .free_in = cuda_free_in,
    .is_device_memory = cuda_is_device_memory,
    .reaches = cuda_reaches,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .copy_from = cuda_copy_from,
    .synchronize = cuda_synchronize,
    .program_create = tsr_cuda_program_create,
    .program_destroy = tsr_cuda_program_destroy,
    .program_describe = tsr_cuda_program_describe,
    .count_code = cuda_count_code,
    .can_make = tsr_cuda_can_make,
    .prepare = tsr_cuda_prepare,
    .is_prepared = tsr_cuda_is_prepared,
    .step = tsr_cuda_step,
    .reserve_heap = cuda_reserve_heap,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .is_capturing = cuda_is_capturing,
    .user = &tsr_cuda_user_kernels,
    .events = &events,
};
