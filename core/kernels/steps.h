/* SPDX-License-Identifier: Apache-2.0
 *
 * What a step is: something done for each of n items, by a kernel on a GPU and by a team of threads on the CPU. Steps
 * with one argument and one image are a set, and a set is three files. NAME.h lists its steps, one row each with the
 * grid, and has what an item does. NAME.cu has the kernels. NAME.c is the list for the host. A step whose items are
 * independent needs a row and a function in NAME.h, which nvcc and the host's compiler both read. Where a GPU does
 * better than that, the step has a kernel in NAME.cu and a range in NAME.c. tsr_backend.step runs any of them.
 *
 * Compiles as C11 and CUDA C. Examples: wide.h, wide.cu, wide.c.
 */
#ifndef TSR_STEPS_H
#define TSR_STEPS_H

#ifdef __CUDACC__

#include "plugins/table.h"

/* For the functions that say what an item does. */
#define TSR_STEP_FUNCTION static __device__ __forceinline__

/* The head of a kernel; its argument is `a`. */
#define TSR_STEP_KERNEL(name, argument, bounds)                                                                        \
  extern "C" __global__ void bounds name(const __grid_constant__ argument a)

static __device__ __forceinline__ uint64_t tsr_step_thread() {
  return blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
}

/* A kernel that gives each of a.n items a thread. */
#define TSR_STEP_EACH(name, argument, item)                                                                            \
  TSR_STEP_KERNEL(name, argument, __launch_bounds__(TSR_BLOCK_THREADS)) {                                              \
    if (tsr_step_thread() < a.n) item(&a, tsr_step_thread());                                                          \
  }

/* The row of a step that needs nothing there. */
#define TSR_STEP_NOTHING(...)

/* Declares a set, for the host. */
#define TSR_STEPS(set)

/* For writes of several threads to one place, any of which will do. Relaxed: a later step reads it. */
#define TSR_STEP_STORE(pointer, value) (*(pointer) = (value))

#else

#include <stdbool.h>

#include "plugins/plugin.h"

#ifdef __cplusplus
extern "C" {
#define TSR_STEPS(set) extern "C" const tsr_steps set;
#else
#define TSR_STEPS(set) extern const tsr_steps set;
#endif

#define TSR_STEP_FUNCTION static inline
#define TSR_STEP_STORE(pointer, value) __atomic_store_n(pointer, value, __ATOMIC_RELAXED)

/* The grid of a launch on a GPU. */
typedef struct tsr_grid {
  uint32_t threads;      /* of a block; 0: TSR_BLOCK_THREADS */
  uint32_t block_items;  /* that a block works on; 0: as many as it has threads */
  uint32_t blocks;       /* 0: as many as the items need, */
  uint32_t blocks_max;   /* ... but at most these; 0: any number */
  uint32_t shared_bytes; /* of a block, in addition to what the kernel declares */
} tsr_grid;

typedef struct tsr_cpu_table tsr_cpu_table; /* what the cpu backend has of a table (../cpu/bulk.h) */

/* Items `begin` to before `end`, by one thread of the CPU. table: NULL in a step of no table. Where a block of the GPU has one
 * item, a thread gets one item at a time; otherwise many. */
typedef void tsr_step_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end);
/* The whole step on the CPU, which divides its work itself. */
typedef void tsr_step_whole(const tsr_cpu_table *table, const void *argument, uint64_t n);

enum { TSR_ROOMIER_VARIANTS = 2 };

typedef struct tsr_steps tsr_steps;

typedef struct tsr_step {
  const tsr_steps *set;
  const char *kernel; /* its name contains no other's, because the linker matches parts of names */
  /* Its further variants. Each may use more registers than the one before; NULL ends them. */
  const char *roomier[TSR_ROOMIER_VARIANTS];
  /* If a lane alone holds a bucket of this size, ptxas saves registers in the first variant by loading the last of them
   * late, and the next variant is taken (core/design/0008-tiles-in-step.md). 0: never. */
  uint32_t late_bytes;
  tsr_step_range *range; /* NULL: `whole` does it; or both are NULL, and there is nothing to do on the CPU */
  tsr_step_whole *whole;
  tsr_grid grid;
  bool in_page; /* of an ordered set: a block holds a page of the table */
  /* Sets what depends on the argument in the grid; NULL: nothing does. table: NULL in a step of no table. */
  void (*fit)(const tsr_shape *table, const void *argument, tsr_grid *grid);
} tsr_step;

struct tsr_steps {
  const tsr_image *images; /* one for each pair of widths, or one for all; only their end without nvcc */
  const tsr_step *step;
  uint32_t count;
  bool is_ordered; /* steps of a table whose items are put in order first: linked by tsr_composition_of_pages */
};

/* A range of a step whose items are worked on one by one. */
#define TSR_STEP_RANGE(name, argument_type, item)                                                                      \
  static void name(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {                   \
    const argument_type *const a = (const argument_type *)argument;                                                    \
    (void)table;                                                                                                       \
    for (uint64_t i = begin; i < end; i++) item(a, i);                                                                 \
  }

#ifdef __cplusplus
}
#endif

/* The operations of bulk.h: the argument is a tsr_bulk, whose n is that of the items. */
TSR_STEPS(tsr_bulk_steps)
#define TSR_BULK_STEP(op) (&tsr_bulk_steps.step[op])
#endif
#endif
