/* SPDX-License-Identifier: Apache-2.0
 *
 * The cuda backend, over the driver API. It works in the device's primary context, because that is the one of the CUDA
 * runtime and its libraries, so that their memory and streams can be used here. A caller may have made another context
 * current, so every function pushes the primary one and pops it before it returns. Read next: link.h.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdlib.h>
#include <string.h>

#include "core/compose/backend.h"
#include "core/cuda/driver.h"
#include "core/cuda/link.h"
#include "core/cuda/module.h"
#include "core/cuda/nccl.h"
#include "core/kernels/pool.h"
#include "core/sized.h"

enum { MODULES_MAX = 8 };

typedef struct cuda_device {
  tsr_device base;
  const cu_driver *driver;
  cu_device number;
  cu_context context;
  cu_pool pool;                         /* of buffers that live for one operation */
  tsr_cuda_module modules[MODULES_MAX]; /* of the sets of steps that were used, the first ones */
  uint64_t asked, reached; /* a bit for each device that was asked for access to its memory, and that gave it */
} cuda_device;

/* A step that was used, linked with the table's parts. */
typedef struct made_step {
  const tsr_step *step;
  cu_module module;
  cu_function kernel;
} made_step;

struct tsr_program {
  cuda_device *device;
  const tsr_composition *composition;
  made_step *made;
  uint32_t made_count;
};

struct tsr_event {
  cu_event handle;
};

static cuda_device *of(tsr_device *device) { return (cuda_device *)device; }
cu_context tsr_cuda_context(tsr_device *device) { return of(device)->context; }
static cu_pointer address(const void *memory) { return (cu_pointer)(uintptr_t)memory; }

static tsr_status push(const cuda_device *d, tsr_error *error) {
  return tsr_cuda_check(d->driver->context_push(d->context), "cuCtxPushCurrent", error);
}

/* Makes the caller's context current again after push. result: of the call in between, which `what` names in an error. */
static tsr_status pop(const cuda_device *d, cu_result result, const char *what, tsr_error *error) {
  cu_context popped;
  tsr_status status = tsr_cuda_check(result, what, error);
  tsr_status after = tsr_cuda_check(d->driver->context_pop(&popped), "cuCtxPopCurrent", status ? NULL : error);
  return status ? status : after;
}

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

/* Without a pool of its own the driver would give each buffer's memory back when the stream is waited for, and to get it
 * anew takes longer than what it is for. It is kept until the device is closed, or memory gets short. pre: the device's
 * context exists. */
static tsr_status open_pool(cuda_device *d, tsr_error *error) {
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
  cuda_device *d = calloc(1, sizeof *d);
  if (!d) return tsr_fail(error, TSR_NO_MEMORY, "no memory to open the cuda backend");
  d->base.backend = &tsr_cuda_backend;
  tsr_status status = find_device(number, &d->driver, &d->number, &d->base.info, error);
  if (status == TSR_OK) status = tsr_cuda_linker(error); /* asked now, while backend = auto can still choose the CPU */
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
  cuda_device *d = of(device);
  if (push(d, NULL) == TSR_OK) {
    for (uint32_t i = 0; i < MODULES_MAX; i++) tsr_cuda_module_unload(&d->modules[i], d->driver);
    tsr_status status = pop(d, 0, "", NULL);
    (void)status; /* it fails if the context was lost, and then the module is gone too */
  }
  d->driver->pool_destroy(d->pool);
  d->driver->context_release(d->number);
  free(d);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static tsr_status out_of_memory(const cuda_device *d, tsr_status status, uint64_t bytes, tsr_error *error) {
  if (status != TSR_NO_MEMORY) return status;
  return tsr_fail(error, TSR_NO_MEMORY, "%s cannot allocate %llu bytes of its %llu: lower the capacity",
                  d->base.info.name, (unsigned long long)bytes, (unsigned long long)d->base.info.memory_bytes);
}

/* Whether there was something to give back. */
static bool empty_pool(const cuda_device *d) {
  uint64_t kept_bytes = 0;
  return d->driver->pool_get(d->pool, CU_POOL_BYTES, &kept_bytes) == 0 && kept_bytes &&
         d->driver->pool_trim(d->pool, 0) == 0;
}

static tsr_status cuda_allocate(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error) {
  cuda_device *d = of(device);
  cu_pointer allocated = 0;
  tsr_status status = push(d, error);
  if (status) return status;
  cu_result result = d->driver->allocate(&allocated, bytes ? bytes : 1);
  if (result == CU_OUT_OF_MEMORY && empty_pool(d)) result = d->driver->allocate(&allocated, bytes ? bytes : 1);
  status = pop(d, result, "cuMemAlloc", error);
  if (status) return out_of_memory(d, status, bytes, error);
  *memory = (void *)(uintptr_t)allocated;
  return TSR_OK;
}

static void cuda_free(tsr_device *device, void *memory) {
  cuda_device *d = of(device);
  if (push(d, NULL) != TSR_OK) return;
  tsr_status status = pop(d, d->driver->free(address(memory)), "cuMemFree", NULL);
  (void)status; /* it fails if the context was lost, and then the memory is gone too */
}

/* The device sees it at the same address. */
static tsr_status cuda_allocate_host(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  if (status) return status;
  const cu_result result = d->driver->host_allocate(memory, bytes ? bytes : 1, CU_HOST_PORTABLE | CU_HOST_MAPPED);
  status = pop(d, result, "cuMemHostAlloc", error);
  if (status != TSR_NO_MEMORY) return status;
  return tsr_fail(error, TSR_NO_MEMORY,
                  "the host cannot give %llu bytes of memory that stays where it is (pinned): lower the capacity, or "
                  "raise the limits on this process's memory",
                  (unsigned long long)bytes);
}

static void cuda_free_host(tsr_device *device, void *memory) {
  cuda_device *d = of(device);
  if (push(d, NULL) != TSR_OK) return;
  tsr_status status = pop(d, d->driver->host_free(memory), "cuMemFreeHost", NULL);
  (void)status; /* as in cuda_free */
}

static tsr_status cuda_allocate_in(tsr_device *device, uint64_t bytes, void *stream, void **memory, tsr_error *error) {
  cuda_device *d = of(device);
  cu_pointer allocated = 0;
  tsr_status status = push(d, error);
  if (status) return status;
  status = pop(d, d->driver->allocate_async(&allocated, bytes, d->pool, stream), "cuMemAllocFromPoolAsync", error);
  if (status) return out_of_memory(d, status, bytes, error);
  *memory = (void *)(uintptr_t)allocated;
  return TSR_OK;
}

static tsr_status cuda_free_in(tsr_device *device, void *memory, void *stream, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->free_async(address(memory), stream), "cuMemFreeAsync", error);
}

static bool cuda_is_device_memory(tsr_device *device, const void *memory) {
  cuda_device *d = of(device);
  unsigned type = 0;
  int owner = d->number, wanted[] = {CU_POINTER_MEMORY_TYPE, CU_POINTER_DEVICE};
  void *values[] = {&type, &owner};
  if (push(d, NULL) != TSR_OK) return false;
  cu_result result =
      d->driver->pointer_attributes(2, wanted, values, address(memory)); /* succeeds for host memory too */
  tsr_status status = pop(d, 0, "", NULL);
  return status == TSR_OK && result == 0 && type == CU_MEMORY_DEVICE &&
         owner == d->number; /* CUDA does not know what malloc gave */
}

static tsr_status cuda_fill(tsr_device *device, void *memory, uint8_t byte, uint64_t bytes, void *stream,
                            tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->fill(address(memory), byte, bytes, stream), "cuMemsetD8Async", error);
}

static tsr_status cuda_copy(tsr_device *device, void *to, const void *from, uint64_t bytes, void *stream,
                            tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->copy(address(to), address(from), bytes, stream), "cuMemcpyAsync", error);
}

static bool cuda_reaches(tsr_device *device, tsr_device *other) {
  cuda_device *d = of(device);
  const cuda_device *o = of(other);
  const uint64_t bit = 1ull << o->number;
  if (d->number == o->number) return true;
  if (!(d->asked & bit) && push(d, NULL) == TSR_OK) {
    const cu_result result = d->driver->peer_enable(o->context, 0);
    const tsr_status popped = pop(d, 0, "", NULL);
    d->asked |= bit;
    if (popped == TSR_OK && (result == 0 || result == CU_PEER_ENABLED_ALREADY)) d->reached |= bit;
  }
  return d->reached & bit;
}

/* Where GPUs cannot reach each other's memory the driver takes the way over the host's, and nobody has to know. */
static tsr_status cuda_copy_from(tsr_device *device, void *to, tsr_device *other, const void *from, uint64_t bytes,
                                 void *stream, tsr_error *error) {
  cuda_device *d = of(device), *o = of(other);
  if (d->number == o->number) return device->backend->copy(device, to, from, bytes, stream, error);
  const bool is_quick = cuda_reaches(device, other);
  (void)is_quick; /* it has been asked for, and the copy is right without */
  tsr_status status = push(d, error);
  if (status) return status;
  return pop(d, d->driver->copy_peer(address(to), d->context, address(from), o->context, bytes, stream),
             "cuMemcpyPeerAsync", error);
}

static tsr_status cuda_synchronize(tsr_device *device, void *stream, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->stream_synchronize(stream), "cuStreamSynchronize", error);
}

/* ---- Programs -------------------------------------------------------------------------------- */

static tsr_status cuda_program_create(tsr_device *device, const tsr_composition *composition, tsr_program **program,
                                      tsr_error *error) {
  tsr_program *created = calloc(1, sizeof *created);
  if (!created) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a program of the cuda backend");
  created->device = of(device);
  created->composition = composition;
  *program = created;
  return TSR_OK;
}

static void cuda_program_destroy(tsr_program *program) {
  const cuda_device *d = program->device;
  if (push(d, NULL) == TSR_OK) {
    for (uint32_t i = 0; i < program->made_count; i++) d->driver->module_unload(program->made[i].module);
    tsr_status status = pop(d, 0, "", NULL);
    (void)status;
  }
  free(program->made);
  free(program);
}

/* NULL: it was not used yet. */
static const made_step *find_made(const tsr_program *program, const tsr_step *step) {
  for (uint32_t i = 0; i < program->made_count; i++)
    if (program->made[i].step == step) return &program->made[i];
  return NULL;
}

/* pre: the context is pushed. */
static tsr_status load_step(tsr_program *program, const tsr_step *step, const tsr_link *link, tsr_error *error) {
  const cuda_device *d = program->device;
  const tsr_shape *shape = &program->composition->shape;
  if (link->kernels[0].stack_bytes) /* P-22: a bucket on the stack costs more time than the table gains */
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "%s needs %u bytes of stack: a lane holds %u bytes of a bucket, more than this table's parts leave "
                    "room for in its registers: raise [layout] tile_lanes or lower bucket_slots",
                    link->kernels[0].name, link->kernels[0].stack_bytes, shape->bucket_bytes / shape->tile_lanes);
  made_step *longer = realloc(program->made, (program->made_count + 1) * sizeof *longer);
  if (!longer) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a step of the cuda backend");
  made_step made = {.step = step};
  program->made = longer;
  tsr_status status = tsr_cuda_check(d->driver->module_load(&made.module, link->cubin), "cuModuleLoadData", error);
  if (status) return status;
  status = tsr_cuda_check(d->driver->module_function(&made.kernel, made.module, link->kernels[0].name),
                          "cuModuleGetFunction", error);
  if (status)
    d->driver->module_unload(made.module);
  else
    longer[program->made_count++] = made;
  return status;
}

/* A program that uses one of a set's first two steps will soon use the other. A link keeps one core busy, so the two together
 * take hardly longer than one. */
enum { LINKED_TOGETHER = 2 };
_Static_assert(TSR_BULK_insert == 0 && TSR_BULK_find == 1, "insert and find are linked together");
_Static_assert(TSR_POOL_allocate == 0 && TSR_POOL_release == 1, "and allocate and release");

static tsr_status make_first_steps(tsr_program *program, const tsr_step *steps, tsr_error *error) {
  const tsr_shape *shape = &program->composition->shape;
  tsr_kernels kernels;
  tsr_link links[LINKED_TOGETHER] = {0};
  tsr_status status = tsr_step_kernels(steps, LINKED_TOGETHER, shape->key_bits, shape->payload_bits, &kernels, error);
  if (status == TSR_OK) status = tsr_cuda_link_each(&program->composition, 1, &kernels, shape->sm, true, links, error);
  if (status) return status;
  for (uint32_t i = 0; i < LINKED_TOGETHER; i++) {
    if (status == TSR_OK) status = load_step(program, &steps[i], &links[i], error);
    tsr_link_free(&links[i]);
  }
  return status;
}

/* Called when a step is used for the first time. pre: the context is pushed. */
static tsr_status make_step(tsr_program *program, const tsr_step *step, tsr_error *error) {
  const tsr_step *first = step->set->step;
  const bool is_first = step - first < LINKED_TOGETHER && !step->set->is_ordered;
  tsr_link made = {0};
  if (is_first && !find_made(program, &first[0]) && !find_made(program, &first[1]))
    return make_first_steps(program, first, error);
  tsr_status status = tsr_cuda_link_step(program->composition, step, true, &made, error);
  if (status == TSR_OK) status = load_step(program, step, &made, error);
  tsr_link_free(&made);
  return status;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The module of a set of no table: the one that has it, or a free one. */
static tsr_status find_module(cuda_device *d, const tsr_steps *set, tsr_cuda_module **found, tsr_error *error) {
  for (uint32_t i = 0; i < MODULES_MAX; i++) {
    *found = &d->modules[i];
    if ((*found)->set == set || !(*found)->set) return TSR_OK;
  }
  return tsr_fail(error, TSR_UNSUPPORTED, "a device holds the kernels of %d sets of steps, and there are more",
                  (int)MODULES_MAX);
}

/* Its kernel, which is made if it was not used yet. pre: the context is pushed. */
static tsr_status find_kernel(cuda_device *d, tsr_program *program, const tsr_step *step, cu_function *kernel,
                              tsr_error *error) {
  tsr_status status = TSR_OK;
  if (program) {
    if (!find_made(program, step)) status = make_step(program, step, error);
    if (status == TSR_OK) *kernel = find_made(program, step)->kernel;
    return status;
  }
  tsr_cuda_module *module;
  status = find_module(d, step->set, &module, error);
  if (status == TSR_OK) status = tsr_cuda_module_load(module, d->driver, step->set, d->base.info.sm, error);
  if (status == TSR_OK) *kernel = module->kernel[step - step->set->step];
  return status;
}

static tsr_status cuda_prepare(tsr_device *device, tsr_program *program, const tsr_step *step, tsr_error *error) {
  cuda_device *d = of(device);
  cu_function kernel;
  tsr_status status = push(d, error);
  if (status) return status;
  status = find_kernel(d, program, step, &kernel, error);
  tsr_status popped = pop(d, 0, "", status ? NULL : error);
  return status ? status : popped;
}

static bool cuda_is_prepared(tsr_device *device, tsr_program *program, const tsr_step *step) {
  tsr_cuda_module *module;
  if (program) return find_made(program, step) != NULL;
  return find_module(of(device), step->set, &module, NULL) == TSR_OK && module->module;
}

static tsr_status cuda_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument,
                            uint64_t n, void *stream, tsr_error *error) {
  cuda_device *d = of(device);
  const tsr_cuda_work work = {step, program ? &program->composition->shape : NULL, argument, n, stream};
  cu_function kernel = NULL;
  tsr_status status = push(d, error);
  if (status) return status;
  status = find_kernel(d, program, step, &kernel, error);
  if (status == TSR_OK) status = tsr_cuda_work_launch(&work, d->driver, kernel, error);
  tsr_status popped = pop(d, 0, "", status ? NULL : error);
  return status ? status : popped;
}

/* The heap belongs to the context, and others in this process may use it, so it is made larger and never smaller. A driver
 * may set another size than the one that it was asked for; to know, one has to ask again. */
static tsr_status cuda_reserve_heap(tsr_device *device, uint64_t bytes, tsr_error *error) {
  cuda_device *d = of(device);
  size_t now = 0;
  tsr_status status = push(d, error);
  if (status) return status;
  cu_result result = d->driver->limit_get(&now, CU_LIMIT_MALLOC_HEAP_BYTES);
  if (result == 0 && now < bytes) {
    result = d->driver->limit_set(CU_LIMIT_MALLOC_HEAP_BYTES, bytes);
    if (result == 0) result = d->driver->limit_get(&now, CU_LIMIT_MALLOC_HEAP_BYTES);
  }
  status = pop(d, result, "cuCtxSetLimit", error);
  if (status || now >= bytes) return status;
  return tsr_fail(error, TSR_NO_MEMORY, "%s gives malloc a heap of %llu bytes, not of %llu: ask for fewer items",
                  d->base.info.name, (unsigned long long)now, (unsigned long long)bytes);
}

/* ---- Users' kernels -------------------------------------------------------------------------- */

struct tsr_user_program {
  cuda_device *device;
  size_t parameters;
  cu_module module;
  cu_function function;
};

/* pre: the context is pushed. */
static tsr_status load_user(tsr_user_program *program, const tsr_link *link, tsr_error *error) {
  const cu_driver *driver = program->device->driver;
  tsr_status status = tsr_cuda_check(driver->module_load(&program->module, link->cubin), "cuModuleLoadData", error);
  if (status) return status;
  return tsr_cuda_check(driver->module_function(&program->function, program->module, link->kernels[0].name),
                        "cuModuleGetFunction", error);
}

static void cuda_user_destroy(tsr_user_program *program) {
  const cuda_device *d = program->device;
  if (program->module && push(d, NULL) == TSR_OK) {
    d->driver->module_unload(program->module);
    tsr_status status = pop(d, 0, "", NULL);
    (void)status; /* as in cuda_program_destroy */
  }
  free(program);
}

static tsr_status cuda_user_create(tsr_device *device, const tsr_user_code *code, tsr_user_program **program,
                                   tsr_error *error) {
  tsr_link link = {0};
  tsr_user_program *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel of the cuda backend");
  made->device = of(device);
  made->parameters = code->facts.parameters;
  tsr_status status = tsr_cuda_link_user(code, device->info.sm, true, &link, error);
  if (status == TSR_OK) status = push(made->device, error);
  if (status == TSR_OK) {
    status = load_user(made, &link, error);
    tsr_status popped = pop(made->device, 0, "", status ? NULL : error);
    if (status == TSR_OK) status = popped;
  }
  tsr_link_free(&link);
  if (status)
    cuda_user_destroy(made);
  else
    *program = made;
  return status;
}

static tsr_status cuda_user_launch(tsr_user_program *program, uint64_t n, const void *const *arguments, void *stream,
                                   tsr_error *error) {
  const cuda_device *d = program->device;
  const uint64_t blocks = (n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  const uint64_t run[2] = {n, 0}; /* a tsr_kernel_run */
  void *parameters[TSR_KERNEL_PARAMETERS_MAX + 1] = {(void *)(uintptr_t)run};
  for (size_t i = 0; i < program->parameters; i++) parameters[i + 1] = (void *)(uintptr_t)arguments[i];
  tsr_status status = push(d, error);
  if (status) return status;
  cu_result result = d->driver->launch(program->function, (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream,
                                       parameters, NULL);
  return pop(d, result, "cuLaunchKernel", error);
}

/* ---- Streams and events ---------------------------------------------------------------------- */

static tsr_status cuda_stream_create(tsr_device *device, bool is_urgent, void **stream, tsr_error *error) {
  enum { FIRST = -8 }; /* the driver takes the least number that the device has */
  cuda_device *d = of(device);
  cu_stream created = NULL;
  tsr_status status = push(d, error);
  if (status) return status;
  status = pop(d, d->driver->stream_create(&created, CU_STREAM_NON_BLOCKING, is_urgent ? FIRST : 0),
               "cuStreamCreateWithPriority", error);
  if (status == TSR_OK) *stream = created;
  return status;
}

static void cuda_stream_destroy(tsr_device *device, void *stream) {
  cuda_device *d = of(device);
  if (push(d, NULL) != TSR_OK) return;
  tsr_status status = pop(d, d->driver->stream_destroy(stream), "cuStreamDestroy", NULL);
  (void)status; /* it fails if the context was lost, and then the stream is gone too */
}

/* Only streams that somebody has made can be captured; of the others the driver would not even say that they are not. */
static tsr_status cuda_is_capturing(tsr_device *device, void *stream, bool *is, tsr_error *error) {
  cuda_device *d = of(device);
  int capture = 0;
  *is = false;
  if (!stream) return TSR_OK;
  tsr_status status = push(d, error);
  if (status) return status;
  status = pop(d, d->driver->stream_is_capturing(stream, &capture), "cuStreamIsCapturing", error);
  *is = capture != 0;
  return status;
}

static tsr_status cuda_event_create(tsr_device *device, bool tells_time, tsr_event **event, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_event *created = calloc(1, sizeof *created);
  if (!created) return tsr_fail(error, TSR_NO_MEMORY, "no memory for an event");
  const unsigned flags = tells_time ? 0 : CU_EVENT_DISABLE_TIMING;
  tsr_status status = push(d, error);
  if (status == TSR_OK) status = pop(d, d->driver->event_create(&created->handle, flags), "cuEventCreate", error);
  if (status)
    free(created);
  else
    *event = created;
  return status;
}

static void cuda_event_destroy(tsr_device *device, tsr_event *event) {
  cuda_device *d = of(device);
  if (push(d, NULL) == TSR_OK) {
    tsr_status status = pop(d, d->driver->event_destroy(event->handle), "cuEventDestroy", NULL);
    (void)status;
  }
  free(event);
}

static tsr_status cuda_event_record(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->event_record(event->handle, stream), "cuEventRecord", error);
}

static tsr_status cuda_event_wait(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->stream_wait(stream, event->handle, 0), "cuStreamWaitEvent", error);
}

static tsr_status cuda_event_finish(tsr_device *device, tsr_event *event, tsr_error *error) {
  cuda_device *d = of(device);
  tsr_status status = push(d, error);
  return status ? status : pop(d, d->driver->event_synchronize(event->handle), "cuEventSynchronize", error);
}

static tsr_status cuda_event_between(tsr_device *device, tsr_event *from, tsr_event *to, double *milliseconds,
                                     tsr_error *error) {
  cuda_device *d = of(device);
  float elapsed = 0;
  tsr_status status = push(d, error);
  if (status == TSR_OK)
    status = pop(d, d->driver->event_elapsed(&elapsed, from->handle, to->handle), "cuEventElapsedTime", error);
  if (status == TSR_OK) *milliseconds = (double)elapsed;
  return status;
}

static const tsr_user_kernels user_kernels = {cuda_user_create, cuda_user_destroy, cuda_user_launch};
static const tsr_events events = {cuda_event_create, cuda_event_destroy, cuda_event_record,
                                  cuda_event_wait,   cuda_event_finish,  cuda_event_between};

const tsr_backend tsr_cuda_backend = {
    .wires = &tsr_nccl_wires,
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .free = cuda_free,
    .allocate_host = cuda_allocate_host,
    .free_host = cuda_free_host,
    .allocate_in = cuda_allocate_in,
    .free_in = cuda_free_in,
    .is_device_memory = cuda_is_device_memory,
    .reaches = cuda_reaches,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .copy_from = cuda_copy_from,
    .synchronize = cuda_synchronize,
    .program_create = cuda_program_create,
    .program_destroy = cuda_program_destroy,
    .prepare = cuda_prepare,
    .is_prepared = cuda_is_prepared,
    .step = cuda_step,
    .reserve_heap = cuda_reserve_heap,
    .stream_create = cuda_stream_create,
    .stream_destroy = cuda_stream_destroy,
    .is_capturing = cuda_is_capturing,
    .user = &user_kernels,
    .events = &events,
};
