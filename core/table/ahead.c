/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest parts of making a table, begun ahead (tsr_ahead_begin). One thread opens the device, because the
 * driver takes tenths of a second to make its context. One loads the toolkit's libraries meanwhile. One more for
 * each call links its code, which needs to know the device but not its context. They share with the table only what
 * belongs to the process and is safe for threads: the driver, the device's primary context, which lives while
 * anybody holds it, and the cubin cache.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/backend.h"
#include "core/cuda/link.h"
#include "core/sized.h"
#include "core/tessera_tools.h"

enum { CALLS_MAX = 11, OTHERS = 2 };
_Static_assert(TSR_PREPARE_EXPORT == 1 << (CALLS_MAX - 1), "a thread for each call");

/* What one of the threads does. */
typedef struct task task;
struct task {
  tsr_ahead *ahead;
  tsr_spec *spec; /* its own, because a spec is one thread's */
  void (*does)(task *);
  uint32_t call; /* TSR_PREPARE_, of link_call */
  pthread_t thread;
};

struct tsr_ahead {
  tsr_options options;
  char *plugins; /* a copy, which options name */
  int number;    /* of the device */
  tsr_device *device;
  task tasks[CALLS_MAX + OTHERS];
  uint32_t task_count; /* whose threads run */
};

/* Whatever fails here fails again where the table is made, and is reported there. */
static void open_device(task *t) {
  if (tsr_cuda_backend.open(t->ahead->number, &t->ahead->device, NULL)) t->ahead->device = NULL;
}

/* What was linked ahead needs no linker. */
static void load_linker(task *t) {
  (void)t;
  const tsr_status status = tsr_cuda_has_code(NULL);
  (void)status;
}

static void link_call(task *t) {
  tsr_device_info info = {.size = sizeof info};
  if (tsr_device_describe(t->ahead->number, &info, NULL)) return;
  const tsr_status status = tsr_spec_prepare(t->spec, &t->ahead->options, info.sm, t->call, NULL, NULL);
  (void)status;
}

static void *work(void *argument) {
  task *t = argument;
  t->does(t);
  return NULL;
}

static bool start(tsr_ahead *a, const tsr_spec *spec, void (*does)(task *), uint32_t call) {
  task *t = &a->tasks[a->task_count];
  *t = (task){.ahead = a, .does = does, .call = call};
  if (tsr_spec_copy(spec, &t->spec, NULL)) return false;
  if (pthread_create(&t->thread, NULL, work, t)) {
    tsr_spec_free(t->spec);
    return false;
  }
  a->task_count++;
  return true;
}

tsr_ahead *tsr_ahead_begin(const tsr_spec *spec, const tsr_options *options, uint32_t calls) {
  tsr_settings settings;
  tsr_options known;
  if (!spec || tsr_take_over("tsr_ahead_begin", &known, options, sizeof known, NULL) ||
      tsr_settings_read(spec, &known, &settings, NULL) || settings.target.backend == TSR_BACKEND_CPU)
    return NULL;
  tsr_ahead *a = calloc(1, sizeof *a);
  if (!a) return NULL;
  a->options = known;
  a->number = (int)settings.target.device;
  if (known.plugins && !(a->plugins = strdup(known.plugins))) {
    free(a);
    return NULL;
  }
  a->options.plugins = a->plugins;
  bool goes = start(a, spec, open_device, 0) && start(a, spec, load_linker, 0);
  for (uint32_t i = 0; goes && i < CALLS_MAX; i++)
    if (calls >> i & 1) goes = start(a, spec, link_call, 1u << i);
  return a;
}

void tsr_ahead_end(tsr_ahead *ahead) {
  if (!ahead) return;
  for (uint32_t i = 0; i < ahead->task_count; i++) {
    pthread_join(ahead->tasks[i].thread, NULL);
    tsr_spec_free(ahead->tasks[i].spec);
  }
  if (ahead->device) tsr_cuda_backend.close(ahead->device);
  free(ahead->plugins);
  free(ahead);
}
