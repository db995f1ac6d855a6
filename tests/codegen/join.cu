// SPDX-License-Identifier: Apache-2.0
//
// A kernel of a user: it works on two tables at once, whatever they are made of, by calls that inline. What it must
// keep to: a context's table is a constant, and all lanes of a warp come to a call together. Linked by
// two_tables_test.cc.
#include "core/kernels/ops.cuh"

// The context of this thread's tile in a table.
static __device__ __forceinline__ tsr_ctx context_of(const tsr_state *state, uint32_t table, tsr_scratch *scratch) {
  tsr_ctx c = {state, table, 0, 0, 1, scratch};
  uint32_t lanes = TSR_FACT(&c, tile_lanes), warp_lane = threadIdx.x & 31u;
  c.lane = warp_lane & (lanes - 1u);
  c.base = warp_lane & ~(lanes - 1u);
  return c;
}

struct join_arguments {
  tsr_state tables[2];
  uint64_t n;
  const tsr_key *keys;
  tsr_payload *payloads;
};

// For each key of the first table its value becomes a key of the second, and the key its value.
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1)
    join_tables(const __grid_constant__ join_arguments a) {
  tsr_scratch scratch = {};
  uint64_t i = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
  tsr_ctx first = context_of(&a.tables[0], 0, &scratch), second = context_of(&a.tables[1], 1, &scratch);
  tsr_item item = {}, other = {};
  item.key = i < a.n ? a.keys[i] : 0;
  run(&first, &item, i < a.n, OP_FIND, 0, 0);
  other.key = (tsr_key)item.payload;
  other.payload = (tsr_payload)item.key;
  other.policy = TSR_FACT(&second, duplicates);
  insert(&second, &other, item.result == TSR_RESULT_FOUND);
}

#define LOOK_UP(name, table)                                                                                           \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1) name(const __grid_constant__ join_arguments a) {  \
    tsr_scratch scratch = {};                                                                                          \
    uint64_t i = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;                                               \
    tsr_ctx c = context_of(&a.tables[table], table, &scratch);                                                         \
    tsr_item item = {};                                                                                                \
    item.key = i < a.n ? a.keys[i] : 0;                                                                                \
    run(&c, &item, i < a.n, OP_FIND, 0, 0);                                                                            \
    if (item.result == TSR_RESULT_FOUND) a.payloads[i] = item.payload;                                                 \
  }
LOOK_UP(look_up_first, 0)
LOOK_UP(look_up_second, 1)

// To show that a test can tell a call that stayed a call.
__device__ __noinline__ uint32_t kept_apart(const tsr_ctx *c, tsr_key key, tsr_payload *payload) {
  tsr_item item = {};
  item.key = key;
  run(c, &item, 1, OP_FIND, 0, 0);
  *payload = item.payload;
  return item.result == TSR_RESULT_FOUND;
}
extern "C" __global__ void calls_a_function(const __grid_constant__ join_arguments a) {
  tsr_scratch scratch = {};
  tsr_ctx c = context_of(&a.tables[0], 0, &scratch);
  kept_apart(&c, a.keys[threadIdx.x], &a.payloads[threadIdx.x]);
}
