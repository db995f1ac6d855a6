/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs of the cuda backend: the steps that a table has used, each linked with its parts. Steps of no table are in modules of
 * the device. Read next: link.h, module.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/cuda/device.h"
#include "core/cuda/link.h"
#include "core/cuda/linked.h"
#include "core/kernels/bulk.h"
#include "core/kernels/pool.h"

/* A step that was used, linked with the table's parts. */
typedef struct made_step {
  const tsr_step *step;
  cu_module module;
  cu_function kernel;
} made_step;

struct tsr_program {
  tsr_cuda_device *device;
  const tsr_composition *composition;
  made_step *made;
  uint32_t made_count;
  char words[TSR_MESSAGE_BYTES + 128]; /* tsr_cuda_program_describe */
};

tsr_status tsr_cuda_program_create(tsr_device *device, const tsr_composition *composition, tsr_program **program,
                                   tsr_error *error) {
  tsr_program *created = calloc(1, sizeof *created);
  if (!created) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a program of the cuda backend");
  created->device = tsr_cuda_of(device);
  created->composition = composition;
  *program = created;
  return TSR_OK;
}

void tsr_cuda_program_destroy(tsr_program *program) {
  const tsr_cuda_device *d = program->device;
  if (tsr_cuda_push(d, NULL) == TSR_OK) {
    for (uint32_t i = 0; i < program->made_count; i++) d->driver->module_unload(program->made[i].module);
    tsr_status status = tsr_cuda_pop(d, 0, "", NULL);
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
  tsr_cuda_device *d = program->device;
  const tsr_shape *shape = &program->composition->shape;
  if (link->kernels[0].stack_bytes) /* P-22: a bucket on the stack costs more time than the table gains */
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "%s needs %u bytes of stack, because a lane holds %u bytes of a bucket and its registers do not "
                    "suffice: raise [layout] tile_lanes or lower bucket_slots",
                    link->kernels[0].name, link->kernels[0].stack_bytes, shape->bucket_bytes / shape->tile_lanes);
  made_step *longer = realloc(program->made, (program->made_count + 1) * sizeof *longer);
  if (!longer) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a step of the cuda backend");
  made_step made = {.step = step};
  program->made = longer;
  tsr_status status = tsr_cuda_check(d->driver->module_load(&made.module, link->cubin), "cuModuleLoadData", error);
  if (status) return status;
  status = tsr_cuda_check(d->driver->module_function(&made.kernel, made.module, link->kernels[0].name),
                          "cuModuleGetFunction", error);
  if (status) {
    d->driver->module_unload(made.module);
    return status;
  }
  longer[program->made_count++] = made;
  tsr_link_count(link, &d->counts);
  return TSR_OK;
}

/* Makes those steps that are not there, all of them at once. pre: the context is pushed. */
static tsr_status make_steps(tsr_program *program, const tsr_step *const *steps, uint32_t count, tsr_error *error) {
  const tsr_step *missing[TSR_LINKS_MAX];
  tsr_link links[TSR_LINKS_MAX];
  uint32_t left = 0;
  for (uint32_t i = 0; i < count; i++) {
    bool is_there = find_made(program, steps[i]) != NULL;
    for (uint32_t j = 0; j < left; j++) is_there |= missing[j] == steps[i];
    if (is_there) continue;
    if (left == TSR_LINKS_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "more than %d steps at a time", (int)TSR_LINKS_MAX);
    missing[left++] = steps[i];
  }
  tsr_status status = tsr_cuda_link_steps(program->composition, missing, left, true, links, error);
  if (status) return status;
  for (uint32_t i = 0; i < left; i++) {
    if (status == TSR_OK) status = load_step(program, missing[i], &links[i], error);
    tsr_link_free(&links[i]);
  }
  return status;
}

/* A program that uses one of a set's first two steps will soon use the other. A link keeps one core busy, so the two together
 * take hardly longer than one. */
enum { LINKED_TOGETHER = 2 };
_Static_assert(TSR_BULK_insert == 0 && TSR_BULK_find == 1, "insert and find are linked together");
_Static_assert(TSR_POOL_allocate == 0 && TSR_POOL_release == 1, "and allocate and release");

/* Called when a step is used for the first time. pre: the context is pushed. */
static tsr_status make_step(tsr_program *program, const tsr_step *step, tsr_error *error) {
  const tsr_step *first = step->set->step, *both[LINKED_TOGETHER] = {&first[0], &first[1]};
  const bool is_first = step - first < LINKED_TOGETHER && !step->set->is_ordered;
  return is_first ? make_steps(program, both, LINKED_TOGETHER, error) : make_steps(program, &step, 1, error);
}

const char *tsr_cuda_program_describe(tsr_program *program) {
  const tsr_code_counts *counts = &program->device->counts;
  const char *fault = tsr_linked_fault();
  snprintf(program->words, sizeof program->words, "%u linked ahead, %u cached, %u linked now%s%s", counts->ahead,
           counts->cached, counts->made, *fault ? "; " : "", fault);
  return program->words;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* The module of a set of no table: the one that has it, or a free one. */
static tsr_status find_module(tsr_cuda_device *d, const tsr_steps *set, tsr_cuda_module **found, tsr_error *error) {
  for (uint32_t i = 0; i < TSR_CUDA_MODULES_MAX; i++) {
    *found = &d->modules[i];
    if ((*found)->set == set || !(*found)->set) return TSR_OK;
  }
  return tsr_fail(error, TSR_UNSUPPORTED, "a device holds the kernels of %d sets of steps, and there are more",
                  (int)TSR_CUDA_MODULES_MAX);
}

/* Its kernel, which is made if it was not used yet. pre: the context is pushed. */
static tsr_status find_kernel(tsr_cuda_device *d, tsr_program *program, const tsr_step *step, cu_function *kernel,
                              tsr_error *error) {
  tsr_status status = TSR_OK;
  if (program) {
    if (!find_made(program, step)) status = make_step(program, step, error);
    if (status == TSR_OK) *kernel = find_made(program, step)->kernel;
    return status;
  }
  tsr_cuda_module *module;
  status = find_module(d, step->set, &module, error);
  if (status == TSR_OK) status = tsr_cuda_module_load(module, d->driver, step->set, d->base.info.sm, &d->counts, error);
  if (status == TSR_OK) *kernel = module->kernel[step - step->set->step];
  return status;
}

tsr_status tsr_cuda_prepare(tsr_device *device, tsr_program *program, const tsr_step *const *steps, uint32_t count,
                            tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  cu_function kernel;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  if (program) status = make_steps(program, steps, count, error);
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) status = find_kernel(d, program, steps[i], &kernel, error);
  tsr_status popped = tsr_cuda_pop(d, 0, "", status ? NULL : error);
  return status ? status : popped;
}

bool tsr_cuda_is_prepared(tsr_device *device, tsr_program *program, const tsr_step *step) {
  tsr_cuda_module *module;
  if (program) return find_made(program, step) != NULL;
  return find_module(tsr_cuda_of(device), step->set, &module, NULL) == TSR_OK && module->module;
}

tsr_status tsr_cuda_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument,
                         uint64_t n, void *stream, tsr_error *error) {
  tsr_cuda_device *d = tsr_cuda_of(device);
  const tsr_cuda_work work = {step, program ? &program->composition->shape : NULL, argument, n, stream};
  cu_function kernel = NULL;
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  status = find_kernel(d, program, step, &kernel, error);
  if (status == TSR_OK) status = tsr_cuda_work_launch(&work, d->driver, kernel, error);
  tsr_status popped = tsr_cuda_pop(d, 0, "", status ? NULL : error);
  return status ? status : popped;
}
