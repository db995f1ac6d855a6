/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of fake_cuda.h. Their declarations follow the documented ABI of CUDA, as core/cuda/driver.h does.
 */
#define _GNU_SOURCE /* posix_memalign, strdup, mmap */
#include "tests/hostile/fake_cuda.h"

#include <elf.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define API __attribute__((visibility("default")))

API fake_cuda_state fake_cuda;

static int number_of(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text ? atoi(text) : otherwise;
}

__attribute__((constructor)) static void start(void) {
  fake_cuda = (fake_cuda_state){.init_result = number_of("FAKE_CUDA_INIT", 0),
                                .driver_version = number_of("FAKE_CUDA_DRIVER", 13000),
                                .devices = number_of("FAKE_CUDA_DEVICES", 1),
                                .sm = number_of("FAKE_CUDA_SM", 90),
                                .heap_bytes_max = 1 << 20,
                                .calls_left = -1,
                                .failure = FAKE_ILLEGAL_ADDRESS};
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* What this call returns. */
static int result_of(const char *call, bool allocates) {
  if (fake_cuda.calls_left < 0 || (fake_cuda.allocations_only && !allocates)) return 0;
  if (fake_cuda.calls_left > 0) {
    fake_cuda.calls_left--;
    return 0;
  }
  if (!fake_cuda.for_good) fake_cuda.calls_left = -1;
  if (!fake_cuda.failed_call) fake_cuda.failed_call = call;
  return fake_cuda.failure;
}

/* For a call that makes or uses something: it does nothing if it fails. */
#define MAY_FAIL(allocates)                                                                                            \
  do {                                                                                                                 \
    int result = result_of(__func__, allocates);                                                                       \
    if (result) return result;                                                                                         \
  } while (0)
/* What spoils a capture. */
#define NOT_IN_A_CAPTURE fake_cuda.unrecordable += fake_cuda.captured != NULL
#define NEEDS_CONTEXT                                                                                                  \
  if (fake_cuda.pushed <= 0) return 201 /* CUDA_ERROR_INVALID_CONTEXT */

/* ---- What is in the context ---------------------------------------------------------------- */

/* First member of what the driver makes. */
typedef struct object {
  struct object *next;
  void (*release)(struct object *object); /* what it holds besides itself */
  int64_t *counter;
} object;
static object *objects;
static pthread_mutex_t objects_lock = PTHREAD_MUTEX_INITIALIZER; /* a table may be made while another is opened ahead */

static void *make(size_t bytes, void (*release)(object *), int64_t *counter) {
  object *made = calloc(1, bytes);
  if (!made) return NULL;
  pthread_mutex_lock(&objects_lock);
  *made = (object){objects, release, counter};
  objects = made;
  ++*counter;
  pthread_mutex_unlock(&objects_lock);
  return made;
}

static int destroy(void *handle) {
  pthread_mutex_lock(&objects_lock);
  object **at = &objects, *o;
  while (*at && *at != handle) at = &(*at)->next;
  o = *at;
  const int result = o ? 0 : 400; /* CUDA_ERROR_INVALID_HANDLE */
  if (o) {
    *at = o->next;
    if (o->release) o->release(o);
    --*o->counter;
    free(o);
  }
  pthread_mutex_unlock(&objects_lock);
  return result;
}

/* All that is left goes with its context, and stays counted. */
static void lose_objects(void) {
  while (objects) {
    int64_t *counter = objects->counter;
    destroy(objects);
    ++*counter;
  }
}

/* ---- The driver: devices and contexts -------------------------------------------------------- */

/* FAKE_CUDA_INIT=queues: fails with the number of queues that are asked for. */
API int cuInit(unsigned flags) {
  const char *asked = getenv("FAKE_CUDA_INIT");
  (void)flags;
  return asked && strcmp(asked, "queues") == 0 ? number_of("CUDA_DEVICE_MAX_CONNECTIONS", 8) : fake_cuda.init_result;
}

API int cuDriverGetVersion(int *version) {
  *version = fake_cuda.driver_version;
  return 0;
}

API int cuDeviceGetCount(int *count) {
  MAY_FAIL(false);
  *count = fake_cuda.devices;
  return 0;
}

API int cuDeviceGet(int *device, int ordinal) {
  MAY_FAIL(false);
  *device = ordinal;
  return 0;
}

API int cuDeviceGetName(char *name, int bytes, int device) {
  (void)device;
  MAY_FAIL(false);
  snprintf(name, (size_t)bytes, "a device of paper");
  return 0;
}

API int cuMemGetInfo_v2(size_t *free_bytes, size_t *all_bytes) {
  *free_bytes = *all_bytes = (size_t)1 << 30;
  return 0;
}

API int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  (void)device;
  MAY_FAIL(false);
  *bytes = (size_t)1 << 30;
  return 0;
}

API int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  MAY_FAIL(false);
  *value = attribute == 75 ? fake_cuda.sm / 10 : attribute == 76 ? fake_cuda.sm % 10 : 1 << 20;
  return 0;
}

API int cuDevicePrimaryCtxRetain(void **context, int device) {
  (void)device;
  MAY_FAIL(false);
  __atomic_fetch_add(&fake_cuda.contexts, 1, __ATOMIC_RELAXED);
  *context = &fake_cuda;
  return 0;
}

API int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  if (__atomic_sub_fetch(&fake_cuda.contexts, 1, __ATOMIC_RELAXED) == 0) lose_objects();
  return result_of(__func__, false);
}

API int cuCtxPushCurrent_v2(void *context) {
  MAY_FAIL(false);
  if (context != &fake_cuda || fake_cuda.contexts <= 0) return 201;
  __atomic_fetch_add(&fake_cuda.pushed, 1, __ATOMIC_RELAXED);
  return 0;
}

API int cuCtxPopCurrent_v2(void **context) {
  NEEDS_CONTEXT;
  __atomic_fetch_sub(&fake_cuda.pushed, 1, __ATOMIC_RELAXED);
  *context = &fake_cuda;
  return result_of(__func__, false);
}

API int cuCtxGetLimit(size_t *value, int limit) {
  NEEDS_CONTEXT;
  (void)limit;
  *value = fake_cuda.heap_bytes;
  return result_of(__func__, false);
}

API int cuCtxSetLimit(int limit, size_t value) {
  NEEDS_CONTEXT;
  (void)limit;
  fake_cuda.heap_bytes = value < fake_cuda.heap_bytes_max ? value : fake_cuda.heap_bytes_max;
  return result_of(__func__, false);
}

API int cuGetErrorName(int result, const char **name) {
  *name = result == FAKE_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : NULL; /* like a driver of tomorrow */
  return *name ? 0 : 1;
}

API int cuGetErrorString(int result, const char **text) {
  *text = result == FAKE_OUT_OF_MEMORY ? "out of memory" : NULL;
  return *text ? 0 : 1;
}

/* ---- The driver: memory ---------------------------------------------------------------------- */

typedef struct block {
  object object;
  char *memory;
  size_t bytes;
} block;

static void release_block(object *o) { free(((block *)o)->memory); }

/* What is mapped to reserved addresses is a block as well, of memory that is not its own. */
static void release_mapped(object *o) { (void)o; }

/* The block that the address is in, or NULL. */
static block *block_of(uint64_t pointer) {
  for (object *o = objects; o; o = o->next) {
    block *b = (block *)o;
    if ((o->release == release_block || o->release == release_mapped) && pointer >= (uintptr_t)b->memory &&
        pointer < (uintptr_t)b->memory + b->bytes)
      return b;
  }
  return NULL;
}

static int allocate(uint64_t *pointer, size_t bytes) {
  void *memory;
  if (!bytes) return 1;
  if (posix_memalign(&memory, 256, bytes) != 0) return FAKE_OUT_OF_MEMORY;
  memset(memory, 0xA5, bytes); /* device memory is not zero */
  block *b = make(sizeof *b, release_block, &fake_cuda.allocations);
  if (!b) {
    free(memory);
    return FAKE_OUT_OF_MEMORY;
  }
  b->memory = memory;
  b->bytes = bytes;
  *pointer = (uintptr_t)memory;
  return 0;
}

static int release(uint64_t pointer) {
  block *b = block_of(pointer);
  return b && pointer == (uintptr_t)b->memory ? destroy(b) : 1;
}

API int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(true);
  return allocate(pointer, bytes);
}

API int cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  uint64_t pointer = 0;
  (void)flags;
  NEEDS_CONTEXT;
  MAY_FAIL(true);
  const int result = allocate(&pointer, bytes);
  *memory = (void *)(uintptr_t)pointer;
  return result;
}

API int cuMemFreeHost(void *memory) {
  NEEDS_CONTEXT;
  const int result = release((uintptr_t)memory);
  return result ? result : result_of(__func__, false);
}

/* A pool keeps nothing here: whatever is taken from it is a block like all others. */
static int pools;

API int cuMemPoolCreate(void **pool, const void *properties) {
  (void)properties;
  MAY_FAIL(false);
  pools++;
  *pool = &pools;
  return 0;
}

API int cuMemPoolSetAttribute(void *pool, int attribute, void *value) {
  (void)value;
  MAY_FAIL(false);
  return pool == &pools && attribute == 4 ? 0 : 1;
}

API int cuMemPoolGetAttribute(void *pool, int attribute, void *value) {
  if (pool != &pools || attribute != 5) return 1;
  *(uint64_t *)value = 0;
  return 0;
}

API int cuMemPoolTrimTo(void *pool, size_t kept_bytes) {
  (void)kept_bytes;
  MAY_FAIL(false);
  return pool == &pools ? 0 : 1;
}

API int cuMemPoolDestroy(void *pool) {
  if (pool != &pools || pools == 0) return 1;
  pools--;
  return result_of(__func__, false);
}

API int cuMemAllocFromPoolAsync(uint64_t *pointer, size_t bytes, void *pool, void *stream) {
  NOT_IN_A_CAPTURE;
  (void)stream;
  if (pool != &pools || pools == 0) return 1;
  NEEDS_CONTEXT;
  MAY_FAIL(true);
  return allocate(pointer, bytes);
}

API int cuMemFree_v2(uint64_t pointer) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  int result = release(pointer);
  return result ? result : result_of(__func__, false);
}

API int cuMemFreeAsync(uint64_t pointer, void *stream) {
  NOT_IN_A_CAPTURE;
  (void)stream;
  NEEDS_CONTEXT;
  int result = release(pointer);
  return result ? result : result_of(__func__, false);
}

/* ---- The driver: memory at reserved addresses -------------------------------------------------- */

enum { GRANULARITY = 1 << 16 };

typedef struct reservation {
  object object;
  void *memory;
  size_t bytes;
} reservation;

static void release_reservation(object *o) { munmap(((reservation *)o)->memory, ((reservation *)o)->bytes); }

API int cuMemGetAllocationGranularity(size_t *bytes, const void *properties, int option) {
  (void)properties;
  *bytes = GRANULARITY;
  return option == 0 ? result_of(__func__, false) : 1;
}

API int cuMemAddressReserve(uint64_t *pointer, size_t bytes, size_t alignment, uint64_t wanted, unsigned long flags) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(true);
  if (!bytes || bytes % GRANULARITY || alignment || wanted || flags) return 1;
  void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return FAKE_OUT_OF_MEMORY;
  reservation *r = make(sizeof *r, release_reservation, &fake_cuda.allocations);
  if (!r) return FAKE_OUT_OF_MEMORY;
  r->memory = memory;
  r->bytes = bytes;
  *pointer = (uintptr_t)memory;
  return 0;
}

static reservation *reservation_of(uint64_t pointer) {
  for (object *o = objects; o; o = o->next) {
    reservation *r = (reservation *)o;
    if (o->release == release_reservation && pointer >= (uintptr_t)r->memory &&
        pointer < (uintptr_t)r->memory + r->bytes)
      return r;
  }
  return NULL;
}

API int cuMemAddressFree(uint64_t pointer, size_t bytes) {
  NEEDS_CONTEXT;
  reservation *r = reservation_of(pointer);
  if (!r || pointer != (uintptr_t)r->memory || bytes != r->bytes || block_of(pointer)) return 1;
  const int result = destroy(r);
  return result ? result : result_of(__func__, false);
}

/* Memory is made when it is mapped: until then a handle is its size. */
API int cuMemCreate(uint64_t *handle, size_t bytes, const void *properties, unsigned long flags) {
  (void)properties;
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(true);
  *handle = bytes;
  return !bytes || bytes % GRANULARITY || flags;
}

API int cuMemRelease(uint64_t handle) {
  NEEDS_CONTEXT;
  return handle ? result_of(__func__, false) : 1;
}

API int cuMemMap(uint64_t pointer, size_t bytes, size_t offset, uint64_t handle, unsigned long flags) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (!reservation_of(pointer) || block_of(pointer) || bytes != handle || offset || flags) return 1;
  block *b = make(sizeof *b, release_mapped, &fake_cuda.allocations);
  if (!b) return FAKE_OUT_OF_MEMORY;
  b->memory = (char *)(uintptr_t)pointer;
  b->bytes = bytes;
  return 0;
}

API int cuMemSetAccess(uint64_t pointer, size_t bytes, const void *access, size_t count) {
  (void)access;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  block *b = block_of(pointer);
  if (!b || pointer != (uintptr_t)b->memory || bytes != b->bytes || count != 1) return 1;
  if (mprotect(b->memory, bytes, PROT_READ | PROT_WRITE) != 0) return FAKE_OUT_OF_MEMORY;
  memset(b->memory, 0xA5, bytes); /* device memory is not zero */
  return 0;
}

/* A range of whole mappings. */
API int cuMemUnmap(uint64_t pointer, size_t bytes) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  for (uint64_t at = pointer; at < pointer + bytes;) {
    block *b = block_of(at);
    if (!b || at != (uintptr_t)b->memory || at + b->bytes > pointer + bytes) return 1;
    at += b->bytes;
    if (mprotect(b->memory, b->bytes, PROT_NONE) != 0 || destroy(b)) return 1;
  }
  return result_of(__func__, false);
}

API int cuCtxSynchronize(void) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  return result_of(__func__, false);
}

API int cuMemsetD8Async(uint64_t pointer, unsigned char byte, size_t bytes, void *stream) {
  (void)stream;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (!block_of(pointer)) return 1;
  memset((void *)(uintptr_t)pointer, byte, bytes);
  return 0;
}

API int cuMemcpyAsync(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  NOT_IN_A_CAPTURE;
  (void)stream;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (block_of(to) && !block_of(from)) fake_cuda.uploaded += bytes;
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return 0;
}

API int cuPointerGetAttributes(unsigned count, int *attributes, void **values, uint64_t pointer) {
  (void)attributes;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (count < 1 || count > 2) return 1;
  *(unsigned *)values[0] = block_of(pointer) ? 2 : 0; /* the second is the device: all memory is everybody's */
  return 0;
}

API int cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context, size_t bytes,
                          void *stream) {
  (void)to_context;
  (void)from_context;
  (void)stream;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (!block_of(to) || !block_of(from)) return 1;
  memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
  return 0;
}

API int cuCtxEnablePeerAccess(void *other, unsigned flags) {
  (void)other;
  (void)flags;
  NEEDS_CONTEXT;
  return 217; /* CUDA_ERROR_PEER_ACCESS_UNSUPPORTED */
}

/* One process has nobody to share with. */
API int cuIpcGetMemHandle(void *name, uint64_t memory) {
  (void)name;
  (void)memory;
  return 801; /* CUDA_ERROR_NOT_SUPPORTED */
}

typedef struct shared_name {
  char bytes[64];
} shared_name;

API int cuIpcOpenMemHandle_v2(uint64_t *memory, shared_name name, unsigned flags) {
  (void)memory;
  (void)name;
  (void)flags;
  return 801;
}

API int cuIpcCloseMemHandle(uint64_t memory) {
  (void)memory;
  return 801;
}

/* ---- The driver: code, events, streams ------------------------------------------------------- */

typedef struct function {
  struct function *next;
  char *name;
} function;

typedef struct module {
  object object;
  function *functions;
} module;

static void release_module(object *o) {
  module *m = (module *)o;
  for (function *f; (f = m->functions);) {
    m->functions = f->next;
    free(f->name);
    free(f);
  }
}

API int cuModuleLoadData(module **loaded, const void *image) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (memcmp(image, ELFMAG, SELFMAG) != 0) return 200; /* CUDA_ERROR_INVALID_IMAGE */
  *loaded = make(sizeof **loaded, release_module, &fake_cuda.modules);
  return *loaded ? 0 : FAKE_OUT_OF_MEMORY;
}

API int cuModuleUnload(module *m) {
  NEEDS_CONTEXT;
  int result = destroy(m);
  return result ? result : result_of(__func__, false);
}

API int cuModuleGetFunction(function **found, module *m, const char *name) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  function *f = malloc(sizeof *f);
  if (!f) return FAKE_OUT_OF_MEMORY;
  *f = (function){m->functions, strdup(name)};
  *found = m->functions = f;
  return 0;
}

/* 8: the dynamic shared memory that a block may ask for, in bytes. */
API int cuFuncSetAttribute(function *f, int attribute, int value) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  return f && attribute == 8 && value >= 0 ? 0 : 1;
}

/* The default stream is the first; a stream is known from its first use on. */
static uint32_t number_of_stream(void *stream) {
  uint32_t i = 0;
  if (!stream) return 0;
  for (i = 1; i < FAKE_STREAMS - 1 && fake_cuda.order[i].stream != stream; i++)
    if (!fake_cuda.order[i].stream) {
      fake_cuda.order[i].stream = stream;
      break;
    }
  return i;
}

API int cuLaunchKernel(function *f, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                       unsigned block_y, unsigned block_z, unsigned shared_bytes, void *stream, void **parameters,
                       void **extra) {
  (void)shared_bytes;
  (void)extra;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z || grid_x > INT32_MAX) return 1;
  const uint32_t on = number_of_stream(stream);
  fake_cuda.order[on].after[on]++;
  fake_cuda.launched_on = on;
  if (fake_cuda.launch) fake_cuda.launch(f->name, parameters);
  return 0;
}

typedef struct event {
  object object;
  int recorded;
  uint64_t after[FAKE_STREAMS]; /* what it was recorded behind */
} event;

/* Reads it, so that a sanitizer sees when it was destroyed before. One that was never recorded is as good as past. */
static int state_of(const event *e) { return e->recorded > 1 ? 400 /* CUDA_ERROR_INVALID_HANDLE */ : 0; }

API int cuEventCreate(event **created, unsigned flags) {
  (void)flags;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  *created = make(sizeof **created, NULL, &fake_cuda.events);
  return *created ? 0 : FAKE_OUT_OF_MEMORY;
}

API int cuEventDestroy_v2(event *e) {
  NEEDS_CONTEXT;
  int result = destroy(e);
  return result ? result : result_of(__func__, false);
}

API int cuEventRecord(event *e, void *stream) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  e->recorded = 1;
  fake_cuda.records++;
  memcpy(e->after, fake_cuda.order[number_of_stream(stream)].after, sizeof e->after);
  return 0;
}

API int cuEventSynchronize(event *e) {
  NOT_IN_A_CAPTURE;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  return state_of(e);
}

API int cuEventQuery(event *e) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  return state_of(e);
}

API int cuEventElapsedTime(float *milliseconds, event *from, event *to) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  *milliseconds = (float)(to->recorded - from->recorded);
  return 0;
}

API int cuStreamCreateWithPriority(object **created, unsigned flags, int priority) {
  (void)flags;
  (void)priority;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  *created = make(sizeof **created, NULL, &fake_cuda.streams);
  return *created ? 0 : FAKE_OUT_OF_MEMORY;
}

API int cuStreamDestroy_v2(object *stream) {
  NEEDS_CONTEXT;
  int result = destroy(stream);
  return result ? result : result_of(__func__, false);
}

API int cuStreamWaitEvent(void *stream, event *e, unsigned flags) {
  NOT_IN_A_CAPTURE;
  (void)flags;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  uint64_t *after = fake_cuda.order[number_of_stream(stream)].after;
  for (uint32_t i = 0; i < FAKE_STREAMS; i++)
    if (after[i] < e->after[i]) after[i] = e->after[i];
  return state_of(e);
}

API int cuStreamIsCapturing(void *stream, int *status) {
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  *status = stream && stream == fake_cuda.captured;
  return 0;
}

API int cuStreamSynchronize(void *stream) {
  NOT_IN_A_CAPTURE;
  (void)stream;
  NEEDS_CONTEXT;
  MAY_FAIL(false);
  return 0;
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

typedef struct program {
  int compiled;
} program;

API int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = (int)fake_cuda.nvrtc_minor;
  return 0;
}

API int nvrtcCreateProgram(program **created, const char *source, const char *name, int headers,
                           const char *const *texts, const char *const *names) {
  (void)source;
  (void)name;
  (void)headers;
  (void)texts;
  (void)names;
  MAY_FAIL(false);
  *created = calloc(1, sizeof **created);
  __atomic_fetch_add(&fake_cuda.programs, 1, __ATOMIC_RELAXED);
  return *created ? 0 : 1;
}

API int nvrtcCompileProgram(program *p, int count, const char *const *options) {
  (void)count;
  (void)options;
  MAY_FAIL(false);
  p->compiled = !fake_cuda.nvrtc_log;
  return p->compiled ? 0 : 6;
}

API int nvrtcGetProgramLogSize(program *p, size_t *bytes) {
  (void)p;
  MAY_FAIL(false);
  *bytes = fake_cuda.nvrtc_log ? strlen(fake_cuda.nvrtc_log) + 1 : 1;
  return 0;
}

API int nvrtcGetProgramLog(program *p, char *log) {
  (void)p;
  MAY_FAIL(false);
  strcpy(log, fake_cuda.nvrtc_log ? fake_cuda.nvrtc_log : "");
  return 0;
}

API int nvrtcGetLTOIRSize(program *p, size_t *bytes) {
  MAY_FAIL(false);
  *bytes = 8;
  return !p->compiled;
}

API int nvrtcGetLTOIR(program *p, char *code) {
  MAY_FAIL(false);
  memset(code, 0x5A, 8);
  return !p->compiled;
}

API int nvrtcDestroyProgram(program **p) {
  free(*p);
  *p = NULL;
  __atomic_fetch_sub(&fake_cuda.programs, 1, __ATOMIC_RELAXED);
  return result_of(__func__, false);
}

/* ---- nvJitLink ------------------------------------------------------------------------------- */

enum { KERNELS_MAX = 32, NAME_BYTES = 64 };

typedef struct jitlink {
  uint32_t count;
  char kernels[KERNELS_MAX][NAME_BYTES];
} jitlink;

/* A cubin as far as its symbols go: head, four section heads, symbols, their names, the sections' names. */
typedef struct cubin {
  Elf64_Ehdr head;
  Elf64_Shdr sections[4];
  Elf64_Sym symbols[KERNELS_MAX + 1];
  char names[KERNELS_MAX + 1][NAME_BYTES];
  char section_names[32];
} cubin;

static void write_cubin(const jitlink *j, cubin *c) {
  memset(c, 0, sizeof *c);
  if (fake_cuda.garbage_cubin) return;
  memcpy(c->head.e_ident, ELFMAG, SELFMAG);
  c->head.e_shoff = offsetof(cubin, sections);
  c->head.e_shentsize = sizeof(Elf64_Shdr);
  c->head.e_shnum = 4;
  c->head.e_shstrndx = 3;
  memcpy(c->section_names, "\0.symtab\0.strtab", sizeof "\0.symtab\0.strtab");
  c->sections[1] = (Elf64_Shdr){
      .sh_name = 1, .sh_offset = offsetof(cubin, symbols), .sh_size = (j->count + 1) * sizeof(Elf64_Sym), .sh_link = 2};
  c->sections[2] = (Elf64_Shdr){.sh_name = 9, .sh_offset = offsetof(cubin, names), .sh_size = sizeof c->names};
  c->sections[3] =
      (Elf64_Shdr){.sh_name = 9, .sh_offset = offsetof(cubin, section_names), .sh_size = sizeof c->section_names};
  for (uint32_t i = 0; i < j->count; i++) {
    c->symbols[i + 1] = (Elf64_Sym){.st_name = (i + 1) * NAME_BYTES, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)};
    memcpy(c->names[i + 1], fake_cuda.other_kernels ? "nobody_asked" : j->kernels[i],
           fake_cuda.other_kernels ? sizeof "nobody_asked" : NAME_BYTES);
  }
}

API int nvJitLinkVersion(unsigned *major, unsigned *minor) {
  *major = 13;
  *minor = fake_cuda.jitlink_minor;
  return 0;
}

API int nvJitLinkCreate(jitlink **created, uint32_t count, const char **options) {
  static const char used[] = "-kernels-used=";
  MAY_FAIL(false);
  jitlink *j = calloc(1, sizeof *j);
  if (!j) return 1;
  for (uint32_t i = 0; i < count; i++)
    if (strncmp(options[i], used, sizeof used - 1) == 0 && j->count < KERNELS_MAX)
      snprintf(j->kernels[j->count++], NAME_BYTES, "%s", options[i] + sizeof used - 1);
  __atomic_fetch_add(&fake_cuda.links, 1, __ATOMIC_RELAXED);
  *created = j;
  return 0;
}

API int nvJitLinkAddData(jitlink *j, int type, const void *data, size_t bytes, const char *name) {
  (void)j;
  (void)type;
  (void)name;
  MAY_FAIL(false);
  return fake_cuda.jitlink_log || !data || !bytes;
}

API int nvJitLinkComplete(jitlink *j) {
  (void)j;
  MAY_FAIL(false);
  return 0;
}

API int nvJitLinkGetLinkedCubinSize(jitlink *j, size_t *bytes) {
  (void)j;
  MAY_FAIL(false);
  *bytes = sizeof(cubin);
  return 0;
}

API int nvJitLinkGetLinkedCubin(jitlink *j, void *cubin_bytes) {
  MAY_FAIL(false);
  write_cubin(j, cubin_bytes);
  return 0;
}

API int nvJitLinkGetErrorLogSize(jitlink *j, size_t *bytes) {
  (void)j;
  MAY_FAIL(false);
  *bytes = fake_cuda.jitlink_log ? strlen(fake_cuda.jitlink_log) + 1 : 1;
  return 0;
}

API int nvJitLinkGetErrorLog(jitlink *j, char *log) {
  (void)j;
  MAY_FAIL(false);
  strcpy(log, fake_cuda.jitlink_log ? fake_cuda.jitlink_log : "");
  return 0;
}

API int nvJitLinkDestroy(jitlink **j) {
  free(*j);
  *j = NULL;
  __atomic_fetch_sub(&fake_cuda.links, 1, __ATOMIC_RELAXED);
  return result_of(__func__, false);
}
