/* SPDX-License-Identifier: Apache-2.0
 *
 * The cpu backend. Every machine has it: it is what a program without a GPU gets, and what sanitizers can look into.
 * Tables are in host memory, and a team of threads calls the same functions of the parts that a GPU runs. There are
 * no streams: every call has finished its work when it returns. Read next: bulk.c.
 */
#define _GNU_SOURCE /* sysconf, clock_gettime */
#include "core/compose/backend.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/cpu/bulk.h"
#include "core/cpu/fuse.h"
#include "core/cpu/parallel.h"
#include "core/cpu/share.h"
#include "core/cpu/user.h"

struct tsr_program {
  const tsr_composition *composition;
  const tsr_cpu_bulk *bulk;
  tsr_cpu cpu;
  tsr_fused fused[TSR_BULKS];    /* those that have been worth it */
  tsr_fusing *fusing[TSR_BULKS]; /* those that a compiler works on */
  uint64_t items[TSR_BULKS];     /* that the tables have worked through, or were asked for */
  bool is_sought[TSR_BULKS];     /* whether it was compiled before was looked up */
  bool is_refused;               /* fusing has failed: not again */
  tsr_error why;                 /* of that */
  pthread_mutex_t guard;         /* of the above, because finds of several threads launch */
  char words[sizeof(tsr_error)];
};

struct tsr_event {
  double milliseconds;
};

/* ---- Device and memory ----------------------------------------------------------------------- */

enum { MAPS_MAX = 16 };

typedef struct cpu_device {
  tsr_device base;
  uint64_t allocated; /* bytes; atomic, because finds of several threads allocate */
  void *mapped[MAPS_MAX];
  uint64_t mapped_bytes[MAPS_MAX];
} cpu_device;

static tsr_status cpu_open(int number, tsr_device **device, tsr_error *error) {
  (void)number;
  cpu_device *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory to open the cpu backend");
  tsr_device *opened = &made->base;
  opened->backend = &tsr_cpu_backend;
  long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  snprintf(opened->info.name, sizeof opened->info.name, "%ld cores", cores);
  opened->info.memory_bytes = (uint64_t)pages * (uint64_t)page;
  *device = opened;
  return TSR_OK;
}

static void cpu_close(tsr_device *device) { free(device); }

/* Bytes. A table is accessed at random. Over pages of 4 KiB such an access misses the translation buffer as often as
 * the cache, so large regions ask for these pages instead. */
enum { HUGE_PAGE = 1 << 21 };

/* Linux promises memory that it does not have, and kills the process that touches it. So this refuses, with a
 * sentence, what cannot fit in addition to the memory that the device has given out already. */
static tsr_status cpu_allocate(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error) {
  cpu_device *d = (cpu_device *)device;
  const uint64_t used = __atomic_load_n(&d->allocated, __ATOMIC_RELAXED); /* it orders nothing */
  const uint64_t all = device->info.memory_bytes, left = all > used ? all - used : 0;
  const size_t page = bytes < HUGE_PAGE ? 256 : HUGE_PAGE;
  if (bytes > left || posix_memalign(memory, page, bytes ? bytes : 1) != 0)
    return tsr_fail(error, TSR_NO_MEMORY,
                    "the cpu backend cannot allocate %llu bytes of this machine's %llu, beside %llu that are in use",
                    (unsigned long long)bytes, (unsigned long long)all, (unsigned long long)used);
  __atomic_fetch_add(&d->allocated, malloc_usable_size(*memory), __ATOMIC_RELAXED);
  if (bytes >= HUGE_PAGE) madvise(*memory, bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* may fail: it is advice */
  return TSR_OK;
}

/* A number of a mapped memory: of this one, or with NULL of none yet; MAPS_MAX if there is no such. */
static uint32_t map_of(const cpu_device *d, const void *memory) {
  uint32_t i = 0;
  while (i < MAPS_MAX && d->mapped[i] != memory) i++;
  return i;
}

/* Memory is aligned to TSR_MAP_LEAST where it is as large, so that its pages can be those of a file. */
static bool cpu_map(tsr_device *device, void *memory, uint64_t bytes, int file, uint64_t offset) {
  cpu_device *d = (cpu_device *)device;
  const uint32_t at = map_of(d, NULL);
  const uint64_t whole = bytes / TSR_MAP_PAGE * TSR_MAP_PAGE, rest = bytes - whole;
  if (bytes < TSR_MAP_LEAST || offset % TSR_MAP_PAGE || at == MAPS_MAX || sysconf(_SC_PAGESIZE) > TSR_MAP_PAGE)
    return false;
  if (rest && pread(file, (char *)memory + whole, rest, (off_t)(offset + whole)) != (ssize_t)rest) return false;
  if (mmap(memory, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, (off_t)offset) != memory) return false;
  d->mapped[at] = memory;
  d->mapped_bytes[at] = whole;
  return true;
}

/* What the allocator gets back is plain memory again. */
static void unmap(cpu_device *d, void *memory) {
  const uint32_t at = map_of(d, memory);
  if (at == MAPS_MAX) return;
  const void *plain =
      mmap(memory, d->mapped_bytes[at], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, -1, 0);
  (void)plain; /* it fails where a process may have no more maps: then it keeps these pages */
  d->mapped[at] = NULL;
}

static void cpu_free(tsr_device *device, void *memory) {
  cpu_device *d = (cpu_device *)device;
  if (memory) {
    unmap(d, memory);
    __atomic_fetch_sub(&d->allocated, malloc_usable_size(memory), __ATOMIC_RELAXED);
  }
  free(memory);
}

/* ---- Memory that grows in place -------------------------------------------------------------- */

/* Bytes by which small memory grows: whole pages of every Linux. */
enum { SMALL_PAGES = 1 << 16 };

static uint64_t rounded_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Memory begins at a huge page. Where a process may not have as many addresses, half as many are asked for. */
static tsr_status cpu_reserve(tsr_device *device, uint64_t least, uint64_t most, tsr_extent *extent, tsr_error *error) {
  (void)device;
  const uint64_t needed = rounded_up(least, HUGE_PAGE);
  uint64_t bytes = rounded_up(most > least ? most : least, HUGE_PAGE);
  void *found = MAP_FAILED;
  for (bool is_last = false; found == MAP_FAILED && !is_last;) {
    is_last = bytes == needed;
    found = mmap(NULL, bytes + HUGE_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) bytes = bytes / 2 > needed ? rounded_up(bytes / 2, HUGE_PAGE) : needed;
  }
  if (found == MAP_FAILED)
    return tsr_fail(error, TSR_NO_MEMORY, "the cpu backend cannot reserve addresses for %llu bytes",
                    (unsigned long long)needed);
  char *const begin = found, *const end = begin + bytes + HUGE_PAGE;
  char *const memory = begin + (HUGE_PAGE - (uintptr_t)begin % HUGE_PAGE) % HUGE_PAGE;
  if (memory > begin) munmap(begin, (size_t)(memory - begin));
  if (end > memory + bytes) munmap(memory + bytes, (size_t)(end - memory) - bytes);
  madvise(memory, bytes, MADV_HUGEPAGE); /* may fail: it is advice */
  *extent = (tsr_extent){.memory = memory, .most = bytes};
  return TSR_OK;
}

/* A huge page that comes at once takes a few milliseconds. So memory grows by small ones, of which the system makes huge ones
 * in time. */
static tsr_status cpu_extend(tsr_device *device, tsr_extent *extent, uint64_t bytes, tsr_error *error) {
  cpu_device *d = (cpu_device *)device;
  const uint64_t whole = rounded_up(bytes, SMALL_PAGES);
  const uint64_t used = __atomic_load_n(&d->allocated, __ATOMIC_RELAXED); /* it orders nothing */
  const uint64_t all = device->info.memory_bytes, left = all > used ? all - used : 0;
  if (bytes <= extent->bytes) return TSR_OK;
  if (whole > extent->most || whole - extent->bytes > left ||
      mprotect((char *)extent->memory + extent->bytes, whole - extent->bytes, PROT_READ | PROT_WRITE) != 0)
    return tsr_fail(
        error, TSR_NO_MEMORY,
        "the cpu backend cannot add %llu bytes to %llu: it has %llu, of which %llu are in use, and addresses "
        "for %llu",
        (unsigned long long)(whole - extent->bytes), (unsigned long long)extent->bytes, (unsigned long long)all,
        (unsigned long long)used, (unsigned long long)extent->most);
  __atomic_fetch_add(&d->allocated, whole - extent->bytes, __ATOMIC_RELAXED);
  extent->bytes = whole;
  return TSR_OK;
}

static void cpu_release(tsr_device *device, tsr_extent *extent) {
  cpu_device *d = (cpu_device *)device;
  if (!extent->memory) return;
  const uint32_t at = map_of(d, extent->memory);
  if (at < MAPS_MAX) d->mapped[at] = NULL;
  munmap(extent->memory, extent->most);
  __atomic_fetch_sub(&d->allocated, extent->bytes, __ATOMIC_RELAXED);
  *extent = (tsr_extent){.memory = NULL};
}

static tsr_status cpu_allocate_in(tsr_device *device, uint64_t bytes, void *stream, void **memory, tsr_error *error) {
  (void)stream;
  return cpu_allocate(device, bytes, memory, error);
}

static tsr_status cpu_free_in(tsr_device *device, void *memory, void *stream, tsr_error *error) {
  (void)stream;
  (void)error;
  cpu_free(device, memory);
  return TSR_OK;
}

static bool cpu_is_device_memory(tsr_device *device, const void *memory) {
  (void)device;
  (void)memory;
  return true; /* host and device have one memory */
}

static bool cpu_reaches(tsr_device *device, tsr_device *other) {
  (void)device;
  (void)other;
  return true;
}

typedef struct fill_job {
  unsigned char *memory;
  uint8_t byte;
} fill_job;

static void fill_range(void *argument, uint64_t begin, uint64_t end) {
  const fill_job *job = argument;
  memset(job->memory + begin, job->byte, end - begin);
}

static tsr_status cpu_fill(tsr_device *device, void *memory, uint8_t byte, uint64_t bytes, void *stream,
                           tsr_error *error) {
  (void)device;
  (void)stream;
  (void)error;
  enum { ALONE = 1 << 18 }; /* what a thread fills before another one is awake */
  fill_job job = {memory, byte};
  if (bytes <= ALONE)
    fill_range(&job, 0, bytes);
  else
    tsr_parallel_for(bytes, fill_range, &job);
  return TSR_OK;
}

static tsr_status cpu_copy(tsr_device *device, void *to, const void *from, uint64_t bytes, void *stream,
                           tsr_error *error) {
  (void)device;
  (void)stream;
  (void)error;
  if (bytes) memcpy(to, from, bytes);
  return TSR_OK;
}

static tsr_status cpu_copy_from(tsr_device *device, void *to, tsr_device *other, const void *from, uint64_t bytes,
                                void *stream, tsr_error *error) {
  (void)other;
  return cpu_copy(device, to, from, bytes, stream, error);
}

static tsr_status cpu_synchronize(tsr_device *device, void *stream, tsr_error *error) {
  (void)device;
  (void)stream;
  (void)error;
  return TSR_OK; /* every call has finished its work */
}

/* ---- Programs -------------------------------------------------------------------------------- */

static tsr_status cpu_program_create(tsr_device *device, const tsr_composition *composition, tsr_program **program,
                                     tsr_error *error) {
  (void)device;
  tsr_program *created = calloc(1, sizeof *created);
  if (!created) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a program of the cpu backend");
  created->composition = composition;
  created->bulk = tsr_cpu_bulk_for(composition->shape.key_bits, composition->shape.payload_bits);
  created->cpu = tsr_cpu_of(composition);
  pthread_mutex_init(&created->guard, NULL);
  *program = created;
  return TSR_OK;
}

static void cpu_program_destroy(tsr_program *program) {
  for (uint32_t op = 0; program && op < TSR_BULKS; op++) {
    tsr_fuse_leave(program->fusing[op]);
    tsr_fused_free(&program->fused[op]);
  }
  if (program) pthread_mutex_destroy(&program->guard);
  free(program);
}

/* Takes an operation that a compiler has made; waits: for a compiler that works on it. */
static void take_fused(tsr_program *program, uint32_t op, bool waits) {
  tsr_fusing *fusing = program->fusing[op];
  if (!fusing || !tsr_fuse_ended(fusing, waits)) return;
  program->fusing[op] = NULL;
  if (tsr_fuse_take(fusing, &program->fused[op], &program->why)) program->is_refused = true;
}

static const char *cpu_program_describe(tsr_program *program) {
#define OPERATION_NAME(op) #op,
  static const char *const names[] = {TSR_BULK_OPS(OPERATION_NAME)};
  size_t used = 0, room = sizeof program->words;
  uint32_t compiled = 0;
  for (uint32_t op = 0; op < TSR_BULKS; op++) {
    take_fused(program, op, false);
    compiled += program->fusing[op] != NULL;
    if (program->fused[op].range && used < room)
      used += (size_t)snprintf(program->words + used, room - used, "%s%s%s", used ? ", " : "fused: ", names[op],
                               program->fused[op].cached  ? " (cached)"
                               : program->fused[op].ahead ? " (ahead)"
                                                          : "");
  }
  if (program->is_refused && used < room)
    used += (size_t)snprintf(program->words + used, room - used, "%sfunction tables: %.*s", used ? "; others by " : "",
                             (int)room - 64, program->why.message);
  else if (!used)
    used = (size_t)snprintf(program->words, room,
                            compiled ? "function tables" : "function tables, as there was little to do");
  if (compiled && used < room)
    used += (size_t)snprintf(program->words + used, room - used, "; a compiler works on %u more", compiled);
  const uint64_t refused = tsr_parallel_refused(), threads = tsr_parallel_threads();
  if (refused && used < room)
    snprintf(program->words + used, room - used, "; %llu thread%s instead of %llu, since no more could be started",
             (unsigned long long)threads, threads == 1 ? "" : "s", (unsigned long long)(threads + refused));
  return program->words;
}

static tsr_code_counts cpu_count_code(tsr_device *device, tsr_program *program) {
  tsr_code_counts counts = {0};
  (void)device;
  for (uint32_t op = 0; op < TSR_BULKS; op++) {
    const tsr_fused *fused = &program->fused[op];
    if (fused->range) *(fused->ahead ? &counts.ahead : fused->cached ? &counts.cached : &counts.made) += 1;
  }
  return counts;
}

/* Takes an operation that was compiled before, which needs no compiler. */
static void take_ready(tsr_program *program, uint32_t op) {
  if (program->is_sought[op] || program->fused[op].range) return;
  program->is_sought[op] = true;
  tsr_fuse_find(program->composition, op, &program->fused[op]);
}

/* The function tables go on working until a compiler has ended. */
static void fuse(tsr_program *program, uint32_t op) {
  if (program->fused[op].range || program->fusing[op]) return;
  if (program->is_refused) {
    take_ready(program, op);
    return;
  }
  if (tsr_fuse_begin(program->composition, op, &program->fused[op], &program->fusing[op], &program->why))
    program->is_refused = true;
}

/* Compiles operations when the tables would take about as long for the n items to come, or have taken it: all at once, each
 * by a compiler of its own. So users of small tables do not load the machine with compilers. pre: the guard is held, as for
 * the functions of a program above. */
static void expect(tsr_program *program, const uint32_t *ops, uint32_t count, uint64_t n) {
  const uint64_t least = tsr_fuse_items(), ready = least / TSR_FUSE_READY;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t items = (program->items[ops[i]] + n) / tsr_parallel_threads();
    if (items >= ready && items < least) take_ready(program, ops[i]);
    if (items >= least) fuse(program, ops[i]);
  }
  for (uint32_t i = 0; least == 0 && i < count; i++) take_fused(program, ops[i], true);
}

static void cpu_expect(tsr_program *program, const uint32_t *ops, uint32_t count, uint64_t n) {
  pthread_mutex_lock(&program->guard);
  expect(program, ops, count, n);
  pthread_mutex_unlock(&program->guard);
}

/* Where there is no compiler the function tables are ready. */
static tsr_status cpu_prepare(tsr_device *device, tsr_program *program, const tsr_step *const *steps, uint32_t count,
                              tsr_error *error) {
  (void)device;
  (void)error;
  if (!program) return TSR_OK; /* steps that belong to no table have their code */
  pthread_mutex_lock(&program->guard);
  for (uint32_t i = 0; i < count; i++)
    if (steps[i]->set == &tsr_bulk_steps) fuse(program, (uint32_t)(steps[i] - tsr_bulk_steps.step));
  for (uint32_t i = 0; i < count; i++)
    if (steps[i]->set == &tsr_bulk_steps) take_fused(program, (uint32_t)(steps[i] - tsr_bulk_steps.step), true);
  pthread_mutex_unlock(&program->guard);
  return TSR_OK;
}

typedef struct launch_job {
  const tsr_program *program;
  const tsr_bulk *bulk;
  tsr_cpu_range *range;
  uint64_t first; /* of the items at hand */
  uint32_t alone;
} launch_job;

/* The loop ends, because the value only rises: an exchange fails when another thread has raised it. Relaxed: nothing is
 * read because of the value, and it is read after the team has joined. */
static void raise_to(uint64_t *most, uint64_t own) {
  uint64_t seen = __atomic_load_n(most, __ATOMIC_RELAXED);
  while (seen < own && !__atomic_compare_exchange_n(most, &seen, own, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static void launch_range(void *argument, uint64_t begin, uint64_t end) {
  const launch_job *job = argument;
  tsr_tally own = {.hits = 0};
  uint64_t *all = (uint64_t *)job->bulk->tally;
  const uint64_t *words = (const uint64_t *)&own;
  job->range(&job->program->cpu, job->bulk, job->alone, job->first + begin, job->first + end, &own);
  /* Relaxed, because nothing is read because of these counts before the team has joined, which orders them. */
  for (uint32_t i = 0; i < TSR_TALLY_WORDS; i++)
    if (tsr_tally_is_most(i))
      raise_to(&all[i], words[i]);
    else if (words[i])
      __atomic_fetch_add(&all[i], words[i], __ATOMIC_RELAXED);
}

/* Chooses the code for the next of `left` items, and returns how many it takes. While a compiler works on the operation the
 * tables take some at a time, so that its code is used as soon as it is there. */
static uint64_t choose(tsr_program *program, uint32_t op, uint64_t left, tsr_cpu_range **range) {
  enum { ITEMS = 1 << 16 }; /* of a thread: 20 to 50 ms */
  const uint64_t some = ITEMS * tsr_parallel_threads();
  pthread_mutex_lock(&program->guard);
  take_fused(program, op, false);
  *range = program->fused[op].range ? program->fused[op].range : program->bulk->range[op];
  const uint64_t items = program->fusing[op] && some < left ? some : left;
  pthread_mutex_unlock(&program->guard);
  return items;
}

static void cpu_launch(tsr_program *program, uint32_t op, const tsr_bulk *bulk) {
  launch_job job = {.program = program, .bulk = bulk, .alone = tsr_parallel_threads() == 1};
  pthread_mutex_lock(&program->guard);
  expect(program, &op, 1, bulk->n);
  program->items[op] += bulk->n;
  pthread_mutex_unlock(&program->guard);
  while (job.first < bulk->n) {
    const uint64_t items = choose(program, op, bulk->n - job.first, &job.range);
    tsr_parallel_for(items, launch_range, &job);
    job.first += items;
  }
}

typedef struct step_job {
  const tsr_step *step;
  const tsr_cpu_table *table;
  const void *argument;
} step_job;

static void step_range(void *argument, uint64_t begin, uint64_t end) {
  const step_job *job = argument;
  job->step->range(job->table, job->argument, begin, end);
}

static tsr_status cpu_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument,
                           uint64_t n, void *stream, tsr_error *error) {
  tsr_cpu_table table = {.launch = cpu_launch};
  step_job job = {step, program ? &table : NULL, argument};
  (void)device;
  (void)stream;
  (void)error;
  if (program) {
    table.cpu = &program->cpu;
    table.bulk = program->bulk;
    table.program = program;
  }
  if (step->set == &tsr_bulk_steps)
    cpu_launch(program, (uint32_t)(step - tsr_bulk_steps.step), argument);
  else if (step->whole)
    step->whole(job.table, argument, n);
  else if (step->range && step->grid.block_items == 1)
    tsr_parallel_each(n, step_range, &job);
  else if (step->range)
    tsr_parallel_for(n, step_range, &job);
  return TSR_OK;
}

static tsr_status cpu_reserve_heap(tsr_device *device, uint64_t bytes, tsr_error *error) {
  (void)device;
  (void)bytes;
  (void)error;
  return TSR_OK; /* the host's malloc needs no reservation */
}

/* ---- Streams and events ---------------------------------------------------------------------- */

static tsr_status cpu_stream_create(tsr_device *device, bool is_urgent, void **stream, tsr_error *error) {
  (void)device;
  (void)is_urgent;
  (void)error;
  *stream = NULL;
  return TSR_OK;
}

static void cpu_stream_destroy(tsr_device *device, void *stream) {
  (void)device;
  (void)stream;
}

static tsr_status cpu_event_create(tsr_device *device, bool tells_time, tsr_event **event, tsr_error *error) {
  (void)device;
  (void)tells_time; /* all do */
  *event = calloc(1, sizeof **event);
  return *event ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for an event");
}

static void cpu_event_destroy(tsr_device *device, tsr_event *event) {
  (void)device;
  free(event);
}

static tsr_status cpu_event_record(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  (void)device;
  (void)stream;
  (void)error;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->milliseconds = (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
  return TSR_OK;
}

static tsr_status cpu_event_wait(tsr_device *device, tsr_event *event, void *stream, tsr_error *error) {
  (void)event;
  return cpu_synchronize(device, stream, error);
}

static tsr_status cpu_event_finish(tsr_device *device, tsr_event *event, tsr_error *error) {
  (void)event;
  return cpu_synchronize(device, NULL, error);
}

static tsr_status cpu_event_between(tsr_device *device, tsr_event *from, tsr_event *to, double *milliseconds,
                                    tsr_error *error) {
  (void)device;
  (void)error;
  *milliseconds = to->milliseconds - from->milliseconds;
  return TSR_OK;
}

static const tsr_user_kernels user_kernels = {tsr_cpu_user_create, tsr_cpu_user_destroy, tsr_cpu_user_launch};
static const tsr_events events = {.create = cpu_event_create,
                                  .destroy = cpu_event_destroy,
                                  .record = cpu_event_record,
                                  .wait = cpu_event_wait,
                                  .finish = cpu_event_finish,
                                  .between = cpu_event_between,
                                  .are_immediate = true};

static const tsr_extents extents = {.reserve = cpu_reserve,
                                    .extend = cpu_extend,
                                    .release = cpu_release,
                                    .map = cpu_map,
                                    .share = tsr_cpu_share,
                                    .unshare = tsr_cpu_unshare,
                                    .open_shared = tsr_cpu_open_shared,
                                    .close_shared = tsr_cpu_close_shared};

const tsr_backend tsr_cpu_backend = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .allocate = cpu_allocate,
    .free = cpu_free,
    .allocate_host = cpu_allocate, /* host and device have one memory */
    .free_host = cpu_free,
    .extents = &extents,
    .allocate_in = cpu_allocate_in,
    .free_in = cpu_free_in,
    .is_device_memory = cpu_is_device_memory,
    .reaches = cpu_reaches,
    .fill = cpu_fill,
    .copy = cpu_copy,
    .copy_from = cpu_copy_from,
    .synchronize = cpu_synchronize,
    .program_create = cpu_program_create,
    .program_destroy = cpu_program_destroy,
    .program_describe = cpu_program_describe,
    .count_code = cpu_count_code,
    .prepare = cpu_prepare,
    .expect = cpu_expect,
    .step = cpu_step,
    .reserve_heap = cpu_reserve_heap,
    .stream_create = cpu_stream_create,
    .stream_destroy = cpu_stream_destroy,
    .user = &user_kernels,
    .events = &events,
};
