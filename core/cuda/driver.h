/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of the CUDA driver API that the cuda backend uses. It is loaded from libcuda.so.1 when it is first
 * needed, so that one binary runs with and without a driver. It is declared here, by the driver's documented ABI, so
 * that the library builds without the toolkit.
 */
#ifndef TSR_CUDA_DRIVER_H
#define TSR_CUDA_DRIVER_H

#include "core/compose/backend.h"

typedef int cu_result; /* 0 = success */
typedef int cu_device;
typedef uint64_t cu_pointer;
typedef struct cu_context_s *cu_context;
typedef struct cu_module_s *cu_module;
typedef struct cu_function_s *cu_function;
typedef struct cu_event_s *cu_event;
typedef struct cu_pool_s *cu_pool;
typedef void *cu_stream;

enum { CU_OUT_OF_MEMORY = 2, CU_NOT_READY = 600, CU_PEER_ENABLED_ALREADY = 704, CU_LIMIT_MALLOC_HEAP_BYTES = 2 };
enum {
  CU_ATTRIBUTE_L2_BYTES = 38,
  CU_ATTRIBUTE_SM_MAJOR = 75,
  CU_ATTRIBUTE_SM_MINOR = 76,
  CU_FUNCTION_SHARED_BYTES = 8, /* attribute: the most dynamic shared memory of a launch */
  CU_POINTER_MEMORY_TYPE = 2,   /* attribute; 2 = device, 0 = no memory of CUDA's */
  CU_POINTER_DEVICE = 9,        /* attribute: the number of the device whose memory it is */
  CU_STREAM_NON_BLOCKING = 1,   /* the default stream and it do not wait for each other */
  CU_EVENT_DISABLE_TIMING = 2,  /* the device need not note the time */
  CU_MEMORY_DEVICE = 2,
  CU_HOST_PORTABLE = 1, /* pinned in every context, */
  CU_HOST_MAPPED = 2    /* ... and visible to the device */
};

/* attributes: what a pool keeps when nothing is allocated from it, and what it has */
enum { CU_POOL_KEPT_BYTES = 4, CU_POOL_BYTES = 5 };
/* Memory of one device, for this process alone. */
typedef struct cu_pool_properties {
  int allocation, handles; /* 1: pinned; 0: none */
  int location, device;    /* 1: a device; its number */
  void *security;
  size_t most_bytes; /* 0: no limit */
  unsigned char reserved[56];
} cu_pool_properties;

/* Memory that is mapped to addresses: CUmemAllocationProp and CUmemAccessDesc. */
typedef uint64_t cu_memory;
typedef struct cu_memory_properties {
  int allocation, handles; /* as of a pool */
  int location, device;
  void *security;
  struct {
    unsigned char compression, direct;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
} cu_memory_properties;
typedef struct cu_access {
  int location, device;
  int access; /* 3: reading and writing */
} cu_access;
/* CUipcMemHandle: memory by which another process finds it. */
typedef struct cu_shared {
  uint8_t bytes[TSR_SHARED_NAME_BYTES];
} cu_shared;
enum { CU_SHARED_PEERS = 1 }; /* also if it is another device's */
enum { CU_ACCESS_READ_WRITE = 3, CU_GRANULARITY_MINIMUM = 0 };

/* F(name without cu, symbol, parameters) */
#define CU_FUNCTIONS(F)                                                                                                \
  F(init, cuInit, (unsigned flags))                                                                                    \
  F(driver_version, cuDriverGetVersion, (int *version))                                                                \
  F(device_count, cuDeviceGetCount, (int *count))                                                                      \
  F(device_get, cuDeviceGet, (cu_device * device, int ordinal))                                                        \
  F(device_name, cuDeviceGetName, (char *name, int bytes, cu_device device))                                           \
  F(device_memory, cuDeviceTotalMem_v2, (size_t * bytes, cu_device device))                                            \
  F(device_attribute, cuDeviceGetAttribute, (int *value, int attribute, cu_device device))                             \
  F(context_retain, cuDevicePrimaryCtxRetain, (cu_context * context, cu_device device))                                \
  F(context_release, cuDevicePrimaryCtxRelease_v2, (cu_device device))                                                 \
  F(context_push, cuCtxPushCurrent_v2, (cu_context context))                                                           \
  F(context_pop, cuCtxPopCurrent_v2, (cu_context * context))                                                           \
  F(context_synchronize, cuCtxSynchronize, (void))                                                                     \
  F(limit_get, cuCtxGetLimit, (size_t * value, int limit))                                                             \
  F(limit_set, cuCtxSetLimit, (int limit, size_t value))                                                               \
  F(module_load, cuModuleLoadData, (cu_module * module, const void *image))                                            \
  F(module_unload, cuModuleUnload, (cu_module module))                                                                 \
  F(module_function, cuModuleGetFunction, (cu_function * function, cu_module module, const char *name))                \
  F(function_set, cuFuncSetAttribute, (cu_function function, int attribute, int value))                                \
  F(launch, cuLaunchKernel,                                                                                            \
    (cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,      \
     unsigned block_z, unsigned shared_bytes, cu_stream stream, void **parameters, void **extra))                      \
  F(allocate, cuMemAlloc_v2, (cu_pointer * memory, size_t bytes))                                                      \
  F(free, cuMemFree_v2, (cu_pointer memory))                                                                           \
  F(granularity, cuMemGetAllocationGranularity, (size_t * bytes, const cu_memory_properties *properties, int option))  \
  F(reserve, cuMemAddressReserve,                                                                                      \
    (cu_pointer * memory, size_t bytes, size_t alignment, cu_pointer wanted, unsigned long long flags))                \
  F(unreserve, cuMemAddressFree, (cu_pointer memory, size_t bytes))                                                    \
  F(memory_create, cuMemCreate,                                                                                        \
    (cu_memory * memory, size_t bytes, const cu_memory_properties *properties, unsigned long long flags))              \
  F(memory_drop, cuMemRelease, (cu_memory memory))                                                                     \
  F(map, cuMemMap, (cu_pointer at, size_t bytes, size_t offset, cu_memory memory, unsigned long long flags))           \
  F(unmap, cuMemUnmap, (cu_pointer at, size_t bytes))                                                                  \
  F(access_set, cuMemSetAccess, (cu_pointer at, size_t bytes, const cu_access *access, size_t count))                  \
  F(memory_info, cuMemGetInfo_v2, (size_t * free_bytes, size_t * all_bytes))                                           \
  F(host_allocate, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))                                      \
  F(host_free, cuMemFreeHost, (void *memory))                                                                          \
  F(pool_create, cuMemPoolCreate, (cu_pool * pool, const cu_pool_properties *properties))                              \
  F(pool_set, cuMemPoolSetAttribute, (cu_pool pool, int attribute, void *value))                                       \
  F(pool_get, cuMemPoolGetAttribute, (cu_pool pool, int attribute, void *value))                                       \
  F(pool_trim, cuMemPoolTrimTo, (cu_pool pool, size_t kept_bytes))                                                     \
  F(pool_destroy, cuMemPoolDestroy, (cu_pool pool))                                                                    \
  F(allocate_async, cuMemAllocFromPoolAsync, (cu_pointer * memory, size_t bytes, cu_pool pool, cu_stream stream))      \
  F(free_async, cuMemFreeAsync, (cu_pointer memory, cu_stream stream))                                                 \
  F(fill, cuMemsetD8Async, (cu_pointer memory, unsigned char byte, size_t bytes, cu_stream stream))                    \
  F(copy, cuMemcpyAsync, (cu_pointer to, cu_pointer from, size_t bytes, cu_stream stream))                             \
  F(pointer_attributes, cuPointerGetAttributes, (unsigned count, int *attributes, void **values, cu_pointer pointer))  \
  F(copy_peer, cuMemcpyPeerAsync,                                                                                      \
    (cu_pointer to, cu_context to_context, cu_pointer from, cu_context from_context, size_t bytes, cu_stream stream))  \
  F(share, cuIpcGetMemHandle, (cu_shared * name, cu_pointer memory))                                                   \
  F(share_open, cuIpcOpenMemHandle_v2, (cu_pointer * memory, cu_shared name, unsigned flags))                          \
  F(share_close, cuIpcCloseMemHandle, (cu_pointer memory))                                                             \
  F(peer_enable, cuCtxEnablePeerAccess, (cu_context other, unsigned flags))                                            \
  F(stream_create, cuStreamCreateWithPriority, (cu_stream * stream, unsigned flags, int priority))                     \
  F(stream_destroy, cuStreamDestroy_v2, (cu_stream stream))                                                            \
  F(event_create, cuEventCreate, (cu_event * event, unsigned flags))                                                   \
  F(event_destroy, cuEventDestroy_v2, (cu_event event))                                                                \
  F(event_record, cuEventRecord, (cu_event event, cu_stream stream))                                                   \
  F(event_query, cuEventQuery, (cu_event event))                                                                       \
  F(event_synchronize, cuEventSynchronize, (cu_event event))                                                           \
  F(event_elapsed, cuEventElapsedTime, (float *milliseconds, cu_event from, cu_event to))                              \
  F(stream_wait, cuStreamWaitEvent, (cu_stream stream, cu_event event, unsigned flags))                                \
  F(stream_is_capturing, cuStreamIsCapturing, (cu_stream stream, int *status))                                         \
  F(stream_synchronize, cuStreamSynchronize, (cu_stream stream))                                                       \
  F(error_name, cuGetErrorName, (cu_result result, const char **name))                                                 \
  F(error_string, cuGetErrorString, (cu_result result, const char **text))

#define CU_MEMBER(name, symbol, parameters) cu_result(*name) parameters;
typedef struct cu_driver {
  CU_FUNCTIONS(CU_MEMBER)
} cu_driver;

/* The driver, initialised once for the process; NULL and TSR_NO_DEVICE with the reason where it cannot be used. */
const cu_driver *tsr_cuda_driver(tsr_error *error);

/* TSR_OK for 0; otherwise TSR_NO_MEMORY or TSR_DEVICE_FAILED and "what: NAME (text)". */
tsr_status tsr_cuda_check(cu_result result, const char *what, tsr_error *error) TSR_MUST_CHECK;

/* The primary context of a device that the cuda backend opened; valid until it is closed. */
cu_context tsr_cuda_context(tsr_device *device);

#endif
