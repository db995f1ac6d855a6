/* SPDX-License-Identifier: Apache-2.0
 *
 * Wires (backend.h) between GPUs by NCCL (nccl.h). No call blocks: NCCL is asked not to, and progress is polled. So
 * a process whose peer has gone can give up, which ends the kernels that wait for it.
 */
#include "core/cuda/nccl.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cuda/library.h"

#define MEMBER(name, symbol, parameters) int(*name) parameters;
static struct { NCCL_FUNCTIONS(MEMBER) } nccl;
static const char *(*nccl_text)(int result);
static const char *(*nccl_detail)(nccl_communicator communicator); /* the last failure in words; NULL: not told */
static tsr_error nccl_error;
static pthread_once_t nccl_once = PTHREAD_ONCE_INIT;

static void load_nccl(void) {
  void *library = tsr_cuda_library("libnccl.so", "2");
  int version = 0;
  const char *missing = NULL;
  if (!library) {
    tsr_fail(&nccl_error, TSR_NOT_FOUND,
             "a group with backend = cuda needs NCCL. libnccl.so.2 is not on the loader's path, nor under CUDA_PATH, "
             "CUDA_HOME or /usr/local/cuda: install it, or add its folder to LD_LIBRARY_PATH");
    return;
  }
#define LOAD(name, symbol, parameters)                                                                                 \
  if (!tsr_cuda_symbol(library, #symbol, &nccl.name, sizeof nccl.name)) missing = #symbol;
  NCCL_FUNCTIONS(LOAD)
  if (!tsr_cuda_symbol(library, "ncclGetErrorString", &nccl_text, sizeof nccl_text)) missing = "ncclGetErrorString";
  if (!tsr_cuda_symbol(library, "ncclGetLastError", &nccl_detail, sizeof nccl_detail)) nccl_detail = NULL;
  if (!missing && nccl.version(&version) == 0 && version >= NCCL_VERSION_LEAST) return;
  tsr_fail(&nccl_error, TSR_NOT_FOUND, "NCCL is of version %d%s%s: a group with backend = cuda needs 2.18 or newer",
           version, missing ? " and has no " : "", missing ? missing : "");
}

static tsr_status need_nccl(tsr_error *error) {
  pthread_once(&nccl_once, load_nccl);
  if (nccl_error.status && error) *error = nccl_error;
  return nccl_error.status;
}

struct tsr_wire {
  tsr_device *device;
  const cu_driver *driver;
  nccl_communicator communicator;
  uint32_t rank, size;
  cu_event ended;
  cu_stream stream; /* of the exchange under way */
  bool is_launched; /* and `ended` recorded behind it */
};

/* ---- Calls ----------------------------------------------------------------------------------- */

tsr_status tsr_nccl_fail(const tsr_nccl_failure *f, tsr_error *error) {
  const bool has_detail = f->detail && *f->detail;
  const char *detail = has_detail ? f->detail : "NCCL_DEBUG=INFO prints more", *newline = strchr(detail, '\n');
  const int length = newline ? (int)(newline - detail) : (int)strlen(detail);
  if (strstr(detail, "out of memory") || f->free_bytes < NCCL_BYTES_LEAST)
    return tsr_fail(
        error, TSR_NO_MEMORY,
        "NCCL has no memory for its buffers on this GPU: %llu of %llu bytes are free (%s: %s: %.*s): lower the "
        "capacity, or end other work on the GPU",
        (unsigned long long)f->free_bytes, (unsigned long long)f->all_bytes, f->what, f->text, length, detail);
  if (f->result == NCCL_INVALID_USAGE)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "NCCL refuses these GPUs (%s: %s: %.*s): each process of a group needs a GPU of its own", f->what,
                    f->text, length, detail);
  return tsr_fail(error, TSR_IO, "NCCL fails: %s: %s, error %d: %.*s", f->what, f->text, f->result, length, detail);
}

/* communicator: NULL: none yet. Free memory is asked for in the current context. */
static tsr_status check_of(nccl_communicator communicator, int result, const char *what, tsr_error *error) {
  size_t free_bytes = SIZE_MAX, all_bytes = 0;
  if (result == 0 || result == NCCL_BUSY) return TSR_OK;
  const cu_driver *driver = tsr_cuda_driver(NULL);
  if (!driver || driver->memory_info(&free_bytes, &all_bytes) != 0) free_bytes = SIZE_MAX;
  return tsr_nccl_fail(&(tsr_nccl_failure){.result = result,
                                           .what = what,
                                           .text = nccl_text(result),
                                           .detail = nccl_detail ? nccl_detail(communicator) : NULL,
                                           .free_bytes = free_bytes,
                                           .all_bytes = all_bytes},
                       error);
}

static tsr_status check(int result, const char *what, tsr_error *error) { return check_of(NULL, result, what, error); }

static tsr_status push(const tsr_wire *w, tsr_error *error) {
  return tsr_cuda_check(w->driver->context_push(tsr_cuda_context(w->device)), "cuCtxPushCurrent", error);
}

static tsr_status pop(const tsr_wire *w, tsr_status status, tsr_error *error) {
  cu_context popped;
  tsr_status after = tsr_cuda_check(w->driver->context_pop(&popped), "cuCtxPopCurrent", status ? NULL : error);
  return status ? status : after;
}

/* ---- Wires ----------------------------------------------------------------------------------- */

static tsr_status wire_name(uint8_t *name, tsr_error *error) {
  nccl_id id;
  tsr_status status = need_nccl(error);
  if (status == TSR_OK) status = check(nccl.get_id(&id), "ncclGetUniqueId", error);
  if (status == TSR_OK) memcpy(name, id.bytes, sizeof id.bytes);
  return status;
}

static void wire_close(tsr_wire *w) {
  if (push(w, NULL) == TSR_OK) {
    const int ended = w->communicator ? nccl.abort(w->communicator) : 0;
    (void)ended; /* there is nobody left to tell */
    if (w->ended) w->driver->event_destroy(w->ended);
    tsr_status popped = pop(w, TSR_OK, NULL);
    (void)popped;
  }
  free(w);
}

static tsr_status wire_open(tsr_device *device, const uint8_t *name, uint32_t rank, uint32_t size, tsr_wire **wire,
                            tsr_error *error) {
  nccl_id id;
  nccl_config config = {.size = sizeof config,
                        .magic = 0xcafebeef,
                        .version = NCCL_VERSION_LEAST,
                        .blocking = 0,
                        .cga_blocks = INT_MIN,
                        .min_blocks = INT_MIN,
                        .max_blocks = INT_MIN,
                        .split_share = INT_MIN};
  const cu_driver *driver = tsr_cuda_driver(error);
  tsr_status status = driver ? need_nccl(error) : TSR_NO_DEVICE;
  if (status) return status;
  tsr_wire *w = calloc(1, sizeof *w);
  if (!w) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the exchange between GPUs");
  *w = (tsr_wire){.device = device, .driver = driver, .rank = rank, .size = size};
  memcpy(id.bytes, name, sizeof id.bytes);
  status = push(w, error);
  if (status == TSR_OK) {
    status = tsr_cuda_check(driver->event_create(&w->ended, CU_EVENT_DISABLE_TIMING), "cuEventCreate", error);
    if (status == TSR_OK)
      status = check(nccl.open(&w->communicator, (int)size, id, (int)rank, &config), "ncclCommInitRankConfig", error);
    status = pop(w, status, error);
  }
  if (status)
    wire_close(w);
  else
    *wire = w;
  return status;
}

/* A column's parts, of and for every other rank. */
static tsr_status add_column(const tsr_wire *w, const tsr_wire_load *load, void *stream, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < w->size; i++) {
    if (i == w->rank) continue;
    if (load->out_bytes[i])
      status = check(nccl.send(load->out[i], load->out_bytes[i], NCCL_INT8, (int)i, w->communicator, stream),
                     "ncclSend", error);
    if (status == TSR_OK && load->in_bytes[i])
      status = check(nccl.receive(load->in[i], load->in_bytes[i], NCCL_INT8, (int)i, w->communicator, stream),
                     "ncclRecv", error);
  }
  return status;
}

static tsr_status wire_exchange(tsr_wire *w, const tsr_wire_load *loads, uint32_t columns, void *stream,
                                tsr_error *error) {
  tsr_status status = push(w, error);
  if (status) return status;
  status = check(nccl.group_start(), "ncclGroupStart", error);
  for (uint32_t c = 0; status == TSR_OK && c < columns; c++) status = add_column(w, &loads[c], stream, error);
  tsr_status ended = check(nccl.group_end(), "ncclGroupEnd", status ? NULL : error);
  w->stream = stream;
  w->is_launched = false;
  return pop(w, status ? status : ended, error);
}

static tsr_status wire_is_done(tsr_wire *w, bool *is_done, tsr_error *error) {
  int state = 0;
  *is_done = false;
  tsr_status status = push(w, error);
  if (status) return status;
  status = check(nccl.state(w->communicator, &state), "ncclCommGetAsyncError", error);
  if (status == TSR_OK) status = check_of(w->communicator, state, "connecting or sending", error);
  if (status == TSR_OK && state == 0 && !w->is_launched) {
    status = tsr_cuda_check(w->driver->event_record(w->ended, w->stream), "cuEventRecord", error);
    w->is_launched = true;
  } else if (status == TSR_OK && state == 0) {
    const cu_result result = w->driver->event_query(w->ended);
    *is_done = result == 0;
    if (result != CU_NOT_READY) status = tsr_cuda_check(result, "cuEventQuery", error);
  }
  return pop(w, status, error);
}

const tsr_wires tsr_nccl_wires = {
    .name = wire_name, .open = wire_open, .exchange = wire_exchange, .is_done = wire_is_done, .close = wire_close};
