/* SPDX-License-Identifier: Apache-2.0
 *
 * What is included first into a table's fused text: each atomic access of the walk goes to `interleave_step` and happens
 * when the scheduler says so. The text itself is the one that the cpu backend compiles. Read next: explorer.h.
 */
#ifndef TSR_INTERLEAVE_ATOMICS_H
#define TSR_INTERLEAVE_ATOMICS_H

#include <sched.h>
#include <stdint.h>

typedef enum interleave_kind {
  INTERLEAVE_LOAD,
  INTERLEAVE_STORE,
  INTERLEAVE_EXCHANGE,
  INTERLEAVE_COMPARE, /* and exchange */
  INTERLEAVE_OR,
  INTERLEAVE_AND,
  INTERLEAVE_ADD,
  INTERLEAVE_FENCE,
  INTERLEAVE_PAUSE, /* the thread has waited in vain */
  INTERLEAVE_PHASE  /* the end of a kernel: all threads wait for each other, and see all that was written */
} interleave_kind;

/* One access of `bytes` at `address`, whose order is an __ATOMIC_ constant. is_cached: a load that a GPU serves from L1. */
typedef struct interleave_access {
  interleave_kind kind;
  int order;
  uint32_t bytes, is_cached;
  void *address;
  unsigned __int128 operand, expected;
  unsigned __int128 seen; /* out: what was there */
} interleave_access;

#ifndef __cplusplus
__attribute__((visibility("default"))) void (*interleave_step)(interleave_access *access);

#define TSR_IS_SANITIZED_ /* 16 bytes are loaded by a builtin then, and not by assembly */
#define sched_yield() interleave_step(&(interleave_access){.kind = INTERLEAVE_PAUSE})

#define INTERLEAVE_TYPE(p)                                                                                             \
  __typeof__(({                                                                                                        \
    __auto_type value_ = *(p);                                                                                         \
    value_;                                                                                                            \
  }))
#define INTERLEAVE(kind_, p, operand_, expected_, order_) INTERLEAVE_MODE(kind_, p, operand_, expected_, order_, 0)
#define INTERLEAVE_MODE(kind_, p, operand_, expected_, order_, is_cached_)                                             \
  ({                                                                                                                   \
    interleave_access access_ = {.kind = kind_,                                                                        \
                                 .order = order_,                                                                      \
                                 .bytes = sizeof *(p),                                                                 \
                                 .is_cached = is_cached_,                                                              \
                                 .address = (void *)(uintptr_t)(p),                                                    \
                                 .operand = (INTERLEAVE_TYPE(p))(operand_),                                            \
                                 .expected = (INTERLEAVE_TYPE(p))(expected_)};                                         \
    interleave_step(&access_);                                                                                         \
    (INTERLEAVE_TYPE(p)) access_.seen;                                                                                 \
  })

/* A load in the mode of plugins/device.cuh: 0 goes through L1. The text calls it where walk.cc has put it. */
#define INTERLEAVE_LOAD_IN(p, coherent) INTERLEAVE_MODE(INTERLEAVE_LOAD, p, 0, 0, __ATOMIC_RELAXED, !(coherent))

#define __atomic_load_n(p, order) INTERLEAVE(INTERLEAVE_LOAD, p, 0, 0, order)
#define __atomic_store_n(p, v, order) ((void)INTERLEAVE(INTERLEAVE_STORE, p, v, 0, order))
#define __atomic_exchange_n(p, v, order) INTERLEAVE(INTERLEAVE_EXCHANGE, p, v, 0, order)
#define __atomic_fetch_or(p, v, order) INTERLEAVE(INTERLEAVE_OR, p, v, 0, order)
#define __atomic_fetch_and(p, v, order) INTERLEAVE(INTERLEAVE_AND, p, v, 0, order)
#define __atomic_fetch_add(p, v, order) INTERLEAVE(INTERLEAVE_ADD, p, v, 0, order)
#define __atomic_compare_exchange_n(p, e, d, weak, order, failure)                                                     \
  ({                                                                                                                   \
    const INTERLEAVE_TYPE(p) wanted_ = *(e), seen_ = INTERLEAVE(INTERLEAVE_COMPARE, p, d, wanted_, order);             \
    *(e) = seen_;                                                                                                      \
    seen_ == wanted_;                                                                                                  \
  })
#define __sync_val_compare_and_swap(p, e, d) INTERLEAVE(INTERLEAVE_COMPARE, p, d, e, __ATOMIC_RELAXED)
#define __atomic_thread_fence(order_)                                                                                  \
  do {                                                                                                                 \
    interleave_access access_ = {.kind = INTERLEAVE_FENCE, .order = order_};                                           \
    interleave_step(&access_);                                                                                         \
  } while (0)
#endif

#endif
