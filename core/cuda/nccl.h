/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges between the GPUs of several processes by NCCL. The library is opened when a group first needs it. The
 * few functions that are used are declared here, by its documented ABI. Read next: nccl.c; ../devices/group.c.
 */
#ifndef TSR_CUDA_NCCL_H
#define TSR_CUDA_NCCL_H

#include "core/cuda/driver.h"

typedef struct nccl_opaque *nccl_communicator;
typedef struct nccl_id {
  char bytes[TSR_WIRE_NAME_BYTES];
} nccl_id;

/* The first members of ncclConfig_t, as of 2.18: NCCL takes as many as `size` says. */
typedef struct nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking, cga_blocks, min_blocks, max_blocks; /* INT_MIN: NCCL decides */
  const char *net_name;
  int split_share;
} nccl_config;

enum {
  NCCL_BUSY = 7 /* a call goes on in the background */,
  NCCL_INVALID_USAGE = 5,
  NCCL_INT8 = 0,
  NCCL_VERSION_LEAST = 21800
};
/* With less free memory than a communicator's buffers take, a failure is want of memory. */
enum { NCCL_BYTES_LEAST = 64 << 20 };

/* F(member, symbol, parameters) */
#define NCCL_FUNCTIONS(F)                                                                                              \
  F(version, ncclGetVersion, (int *version))                                                                           \
  F(get_id, ncclGetUniqueId, (nccl_id * id))                                                                           \
  F(open, ncclCommInitRankConfig, (nccl_communicator * made, int size, nccl_id id, int rank, nccl_config *config))     \
  F(state, ncclCommGetAsyncError, (nccl_communicator communicator, int *state))                                        \
  F(abort, ncclCommAbort, (nccl_communicator communicator))                                                            \
  F(group_start, ncclGroupStart, (void))                                                                               \
  F(group_end, ncclGroupEnd, (void))                                                                                   \
  F(send, ncclSend,                                                                                                    \
    (const void *from, size_t count, int type, int peer, nccl_communicator communicator, cu_stream stream))            \
  F(receive, ncclRecv, (void *to, size_t count, int type, int peer, nccl_communicator communicator, cu_stream stream))

/* A failure of NCCL, as far as it can be told why. */
typedef struct tsr_nccl_failure {
  int result;
  const char *what, *text; /* the call; the result in NCCL's words */
  const char *detail;      /* the last failure in its words, such as "Cuda failure 2 'out of memory'"; NULL: not told */
  uint64_t free_bytes, all_bytes;
} tsr_nccl_failure;

/* The sentence: want of memory is told as such, whatever NCCL calls it. */
tsr_status tsr_nccl_fail(const tsr_nccl_failure *failure, tsr_error *error) TSR_MUST_CHECK;

/* The functions of tsr_backend.wires. */
extern const tsr_wires tsr_nccl_wires;

#endif
