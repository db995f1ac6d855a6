/* SPDX-License-Identifier: Apache-2.0
 *
 * What a backend is: memory, streams and the bulk operations of a composition on one device. There are two, cpu/ and
 * cuda/; table/ is written once over this header. Streams and events are opaque. "Enqueues" means that the cuda
 * backend returns before the work is done and the cpu backend after. All calls for one tsr_device are made by one
 * thread at a time, except that several may be inside `step`, `allocate_in` and `free_in` where events are_immediate.
 */
#ifndef TSR_BACKEND_H
#define TSR_BACKEND_H

#include "core/compose/composition.h"
#include "core/compose/user_code.h"
#include "core/kernels/bulk.h"
#include "core/kernels/steps.h"
#include "core/tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_device tsr_device;
typedef struct tsr_program tsr_program; /* the operations of one composition on one device */
typedef struct tsr_event tsr_event;
typedef struct tsr_user_program tsr_user_program; /* a user's kernel, linked with its tables */

/* ---- Devices of several processes -------------------------------------------------------------- */

typedef struct tsr_wire tsr_wire; /* from one device to those of other processes */
enum { TSR_WIRE_NAME_BYTES = 128 };

/* What goes to each process, and comes from it; a process's own is left out. Device memory. */
typedef struct tsr_wire_load {
  const void *out[TSR_DEVICES_MAX];
  void *in[TSR_DEVICES_MAX];
  uint64_t out_bytes[TSR_DEVICES_MAX], in_bytes[TSR_DEVICES_MAX];
} tsr_wire_load;

/* No function waits for another process; after open and exchange is_done is to be asked until it says so. */
typedef struct tsr_wires {
  /* One process makes a name, which all need: TSR_WIRE_NAME_BYTES. */
  tsr_status (*name)(uint8_t *name, tsr_error *error);
  /* The caller closes *wire, before the device. */
  tsr_status (*open)(tsr_device *device, const uint8_t *name, uint32_t rank, uint32_t size, tsr_wire **wire,
                     tsr_error *error);
  /* of several columns at once */
  tsr_status (*exchange)(tsr_wire *wire, const tsr_wire_load *loads, uint32_t columns, void *stream, tsr_error *error);
  tsr_status (*is_done)(tsr_wire *wire, bool *is_done, tsr_error *error);
  void (*close)(tsr_wire *wire); /* also ends what is under way */
} tsr_wires;

/* Users' kernels. */
typedef struct tsr_user_kernels {
  /* The compositions must outlive it. */
  tsr_status (*create)(tsr_device *device, const tsr_user_code *code, tsr_user_program **program, tsr_error *error);
  void (*destroy)(tsr_user_program *program);
  /* Runs it on n items: arguments as for cuLaunchKernel, a table's a pointer to its tsr_user_table. */
  tsr_status (*launch)(tsr_user_program *program, uint64_t n, const void *const *arguments, void *stream,
                       tsr_error *error);
} tsr_user_kernels;

/* What a kernel tells the host before the stream ends: 2 * ticket, or 1 more, in memory of the host's that the device writes.
 * word: NULL: nothing. */
typedef struct tsr_notice {
  uint32_t *word, ticket;
} tsr_notice;

/* Events: a point in a stream that other streams and the host can wait for; one that tells the time costs more. */
typedef struct tsr_events {
  tsr_status (*create)(tsr_device *device, bool tells_time, tsr_event **event, tsr_error *error);
  void (*destroy)(tsr_device *device, tsr_event *event);
  tsr_status (*record)(tsr_device *device, tsr_event *event, void *stream, tsr_error *error);
  tsr_status (*wait)(tsr_device *device, tsr_event *event, void *stream, tsr_error *error);
  tsr_status (*finish)(tsr_device *device, tsr_event *event, tsr_error *error); /* the host waits */
  /* pre: both tell the time. */
  tsr_status (*between)(tsr_device *device, tsr_event *from, tsr_event *to, double *milliseconds, tsr_error *error);
  /* All work is done when a function returns: events order nothing, and finds of a table may overlap. */
  bool are_immediate;
  /* The next notice of the device; an older one is not heard any more. NULL: there are none. */
  tsr_notice (*listen)(tsr_device *device);
  /* Waits for a notice as long as a small kernel of an idle stream takes, and says whether it came: *is_odd is what it says. */
  bool (*hear)(const tsr_notice *notice, bool *is_odd);
} tsr_events;

/* Memory that grows in place, at one address: `bytes` of it are there, of at most `most`. All zero: none. */
typedef struct tsr_extent {
  void *memory;
  uint64_t most, bytes;
} tsr_extent;

/* What else memory can be than an allocation. */
typedef struct tsr_extents {
  /* Takes addresses, of `most` bytes or as many as there are, at least `least`. No memory yet. The caller releases *extent. */
  tsr_status (*reserve)(tsr_device *device, uint64_t least, uint64_t most, tsr_extent *extent, tsr_error *error);
  /* Makes at least `bytes` bytes be there, the new ones uncleared. On failure the extent is as it was. */
  tsr_status (*extend)(tsr_device *device, tsr_extent *extent, uint64_t bytes, tsr_error *error);
  void (*release)(tsr_device *device, tsr_extent *extent); /* after all work on it */
  /* Puts pages of a file in the place of memory that `allocate` or `extend` made; changes stay here. Returns false where it does
   * not, and NULL stands for that as well: then the bytes have to be read. offset: in the file, a multiple of TSR_MAP_PAGE. */
  bool (*map)(tsr_device *device, void *memory, uint64_t bytes, int file, uint64_t offset);
  /* Memory that other processes of this host can use, by a name of TSR_SHARED_NAME_BYTES. The caller gives it to unshare, not to
   * free, when no other process has it open. */
  tsr_status (*share)(tsr_device *device, uint64_t bytes, void **memory, uint8_t *name, tsr_error *error);
  void (*unshare)(tsr_device *device, void *memory);
  /* Memory of another process, for kernels too. It stays until it is closed, also if that process has ended. */
  tsr_status (*open_shared)(tsr_device *device, const uint8_t *name, void **memory, tsr_error *error);
  void (*close_shared)(tsr_device *device, void *memory);
} tsr_extents;
enum { TSR_SHARED_NAME_BYTES = 64 };

enum {
  TSR_MAP_PAGE = 1 << 12,
  TSR_MAP_LEAST = 1 << 21
}; /* bytes: of a page, and of the smallest memory that is mapped */

typedef struct tsr_backend {
  const char *name;
  const tsr_extents *extents;
  const tsr_wires *wires; /* NULL: devices have the host's memory, and sockets do */
  /* Fails with the reason why it cannot be used. The caller closes *device. */
  tsr_status (*open)(int number, tsr_device **device, tsr_error *error);
  void (*close)(tsr_device *device);

  tsr_status (*allocate)(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error);
  void (*free)(tsr_device *device, void *memory);
  /* The host's memory, which the device reads and copies at the bus's full rate: never moved or swapped out. */
  tsr_status (*allocate_host)(tsr_device *device, uint64_t bytes, void **memory, tsr_error *error);
  void (*free_host)(tsr_device *device, void *memory);
  /* In a stream's order: for buffers that live for one operation. */
  tsr_status (*allocate_in)(tsr_device *device, uint64_t bytes, void *stream, void **memory, tsr_error *error);
  tsr_status (*free_in)(tsr_device *device, void *memory, void *stream, tsr_error *error);
  bool (*is_device_memory)(tsr_device *device, const void *memory);
  /* Whether kernels of this device can use the memory of the other one of this backend, from now on. */
  bool (*reaches)(tsr_device *device, tsr_device *other);
  /* Enqueue. Either side of a copy may be host memory; then it must stay valid until synchronize. */
  tsr_status (*fill)(tsr_device *device, void *memory, uint8_t byte, uint64_t bytes, void *stream, tsr_error *error);
  tsr_status (*copy)(tsr_device *device, void *to, const void *from, uint64_t bytes, void *stream, tsr_error *error);
  /* From another device of this backend, in the order of a stream of the one that it goes to. */
  tsr_status (*copy_from)(tsr_device *device, void *to, tsr_device *other, const void *from, uint64_t bytes,
                          void *stream, tsr_error *error);
  tsr_status (*synchronize)(tsr_device *device, void *stream, tsr_error *error);

  /* The composition must outlive the program. */
  tsr_status (*program_create)(tsr_device *device, const tsr_composition *composition, tsr_program **program,
                               tsr_error *error);
  void (*program_destroy)(tsr_program *program);
  /* How the operations run, a phrase. The string lives until the next launch. */
  const char *(*program_describe)(tsr_program *program);
  /* Where the code came from that a program uses. */
  tsr_code_counts (*count_code)(tsr_device *device, tsr_program *program);
  /* Whether code of this step's set can be made for the composition; NULL: always. TSR_NO_DEVICE. */
  tsr_status (*can_make)(const tsr_composition *composition, const tsr_step *step, tsr_error *error);
  /* Makes the code of these steps now, of all at once. program: as for `step`. */
  tsr_status (*prepare)(tsr_device *device, tsr_program *program, const tsr_step *const *steps, uint32_t count,
                        tsr_error *error);
  /* Whether that code is there; NULL where there is nothing to make. */
  bool (*is_prepared)(tsr_device *device, tsr_program *program, const tsr_step *step);
  /* Announces launches of each of `count` operations over n items in all, so that code which all of them are worth
   * is made before the first, for all operations at once. NULL where code is made in one way only. */
  void (*expect)(tsr_program *program, const uint32_t *ops, uint32_t count, uint64_t n);
  /* Enqueues a step over n items; the first time it also makes its code. program: NULL for a step that belongs to no table.
   * argument: of the step's set; read during the call. A pool without an allocator works with malloc. */
  tsr_status (*step)(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument, uint64_t n,
                     void *stream, tsr_error *error);
  /* Sets how many bytes malloc may give, where that has to be set, before the first kernel that calls it. */
  tsr_status (*reserve_heap)(tsr_device *device, uint64_t bytes, tsr_error *error);
  /* Streams in addition to the default one, which work at the same time as others. Kernels of an urgent one begin
   * before those that wait in others. */
  tsr_status (*stream_create)(tsr_device *device, bool is_urgent, void **stream, tsr_error *error);
  void (*stream_destroy)(tsr_device *device, void *stream);

  /* Whether what is enqueued to the stream is recorded into a graph instead of run; NULL where there are no graphs. */
  tsr_status (*is_capturing)(tsr_device *device, void *stream, bool *is, tsr_error *error);

  const tsr_user_kernels *user;
  const tsr_events *events;
} tsr_backend;

/* First member of every backend's device. */
struct tsr_device {
  const tsr_backend *backend;
  tsr_device_info info; /* sm = 0 on the cpu backend */
};

extern const tsr_backend tsr_cpu_backend;
extern const tsr_backend tsr_cuda_backend;

#ifdef __cplusplus
}
#endif
#endif
