/* SPDX-License-Identifier: Apache-2.0
 *
 * Exchanges between the GPUs of several processes by NCCL. The library is opened when a group first needs it. The
 * few functions that are used are declared here, by its documented ABI. Read next: nccl.c; ../devices/group.c.
 */
#ifndef TSR_CUDA_NCCL_H
#define TSR_CUDA_NCCL_H

#include "core/cuda/driver.h"

typedef struct nccl_communicator *nccl_communicator;
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

enum { NCCL_BUSY = 7 /* a call goes on in the background */, NCCL_INT8 = 0, NCCL_VERSION_LEAST = 21800 };

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

/* The functions of tsr_backend.wires. */
extern const tsr_wires tsr_nccl_wires;

#endif
