/* SPDX-License-Identifier: Apache-2.0
 *
 * transport mpi: carries the messages of a group of processes by MPI (tsr_group_create_by in core/tessera_devices.h). It is
 * compiled against the site's own mpi.h, because MPI has no binary interface that all implementations share. A communicator is
 * duplicated, so that no message meets one of the program. Waiting polls, and sleeps between, so that ranks that share a core
 * get on.
 */
#define _DEFAULT_SOURCE /* nanosleep */
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tessera_devices.h"

#define EXPORT __attribute__((visibility("default")))

enum { SPINS = 200, NAP_US = 50 };
static const uint64_t piece_max = 1u << 30; /* MPI counts in int */

typedef struct carrier {
  MPI_Comm communicator;
  int rank, ranks;
} carrier;

/* The requests of one exchange. */
typedef struct requests {
  MPI_Request *all;
  int count;
} requests;

__attribute__((format(printf, 3, 4))) static tsr_status fail(tsr_error *error, tsr_status status, const char *format,
                                                             ...) {
  va_list arguments;
  if (!error) return status;
  va_start(arguments, format);
  error->status = status;
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

static tsr_status check(int result, const char *what, tsr_error *error) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (result == MPI_SUCCESS) return TSR_OK;
  MPI_Error_string(result, text, &length);
  return fail(error, TSR_IO, "MPI: %s: %s", what, text);
}

static uint64_t pieces_of(uint64_t bytes) { return (bytes + piece_max - 1) / piece_max; }

/* Begins to send or receive bytes, in pieces. */
static tsr_status begin(const carrier *c, requests *r, int peer, void *bytes, uint64_t count, bool sends,
                        tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint64_t done = 0, part; status == TSR_OK && done < count; done += part) {
    part = count - done < piece_max ? count - done : piece_max;
    void *at = (char *)bytes + done;
    MPI_Request *request = &r->all[r->count++];
    status = sends ? check(MPI_Isend(at, (int)part, MPI_BYTE, peer, 0, c->communicator, request), "MPI_Isend", error)
                   : check(MPI_Irecv(at, (int)part, MPI_BYTE, peer, 0, c->communicator, request), "MPI_Irecv", error);
  }
  return status;
}

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static tsr_status wait_for(const carrier *c, requests *r, double limit_s, tsr_error *error) {
  const double until = now_s() + limit_s;
  const struct timespec nap = {0, NAP_US * 1000};
  for (uint64_t spins = 0;; spins++) {
    int done = 0;
    const tsr_status status = check(MPI_Testall(r->count, r->all, &done, MPI_STATUSES_IGNORE), "MPI_Testall", error);
    if (status || done) return status;
    if (now_s() > until)
      return fail(error, TSR_IO, "a message of rank %d has not passed within %g s (late_s): the group is broken",
                  c->rank, limit_s);
    if (spins < SPINS)
      sched_yield();
    else
      nanosleep(&nap, NULL);
  }
}

static tsr_status exchange(void *context, const void *const *out, const uint64_t *out_bytes, void *const *in,
                           const uint64_t *in_bytes, double limit_s, tsr_error *error) {
  const carrier *c = context;
  uint64_t pieces = 0;
  for (int i = 0; i < c->ranks; i++) pieces += pieces_of(out_bytes[i]) + pieces_of(in_bytes[i]);
  requests r = {malloc((pieces + 1) * sizeof *r.all), 0};
  tsr_status status = r.all ? TSR_OK : fail(error, TSR_NO_MEMORY, "no memory for the requests of a message");
  for (int i = 0; status == TSR_OK && i < c->ranks; i++)
    if (i != c->rank) status = begin(c, &r, i, in[i], in_bytes[i], false, error);
  for (int i = 0; status == TSR_OK && i < c->ranks; i++)
    if (i != c->rank) status = begin(c, &r, i, (void *)(uintptr_t)out[i], out_bytes[i], true, error);
  if (status == TSR_OK) status = wait_for(c, &r, limit_s, error);
  for (int i = 0; status && i < r.count; i++) /* after a failure nobody reads or writes the arrays */
    if (r.all[i] != MPI_REQUEST_NULL && MPI_Cancel(&r.all[i]) == MPI_SUCCESS) MPI_Request_free(&r.all[i]);
  free(r.all);
  return status;
}

static void close_carrier(void *context) {
  carrier *c = context;
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (!is_over) MPI_Comm_free(&c->communicator);
  free(c);
}

static void finalize(void) {
  int is_over = 0;
  MPI_Finalized(&is_over);
  if (!is_over) MPI_Finalize();
}

static tsr_status initialize(tsr_error *error) {
  int is_begun = 0, given = 0;
  tsr_status status = check(MPI_Initialized(&is_begun), "MPI_Initialized", error);
  if (status || is_begun) return status;
  status = check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &given), "MPI_Init_thread", error);
  if (status == TSR_OK) atexit(finalize);
  return status;
}

EXPORT extern const uint32_t tsr_transport_abi;
const uint32_t tsr_transport_abi = TSR_TRANSPORT_ABI;
EXPORT tsr_transport_opener tsr_transport_open;

tsr_status tsr_transport_open(const void *handle, tsr_communicator *communicator, tsr_error *error) {
  tsr_status status = initialize(error);
  if (status) return status;
  carrier *c = calloc(1, sizeof *c);
  if (!c) return fail(error, TSR_NO_MEMORY, "no memory for a communicator");
  const MPI_Comm from = handle ? *(const MPI_Comm *)handle : MPI_COMM_WORLD;
  status = check(MPI_Comm_dup(from, &c->communicator), "MPI_Comm_dup", error);
  if (status) {
    free(c);
    return status;
  }
  MPI_Comm_set_errhandler(c->communicator, MPI_ERRORS_RETURN);
  MPI_Comm_rank(c->communicator, &c->rank);
  MPI_Comm_size(c->communicator, &c->ranks);
  communicator->rank = (uint32_t)c->rank;
  communicator->ranks = (uint32_t)c->ranks;
  communicator->context = c;
  communicator->exchange = exchange;
  communicator->close = close_carrier;
  return TSR_OK;
}
