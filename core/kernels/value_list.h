/* SPDX-License-Identifier: Apache-2.0
 *
 * How large the runs of a list are (value_list.cuh): the host plans memory by it, and kernels find a value by it. A list
 * is the list of buckets that holds a key's values, WarpCore's bucket list (IV-C). Its buckets are called runs here,
 * because a table's buckets are others. A run is made of an allocator's units. The first run is made for s_0 values,
 * each later one for s_i = ceil(lambda s_(i-1)), and the rest of its last unit is used. So the number of a value says
 * in which run it is, and a list's length says how full its newest run is.
 *
 * Compiles as C11 and CUDA C.
 */
#ifndef TSR_VALUE_LIST_H
#define TSR_VALUE_LIST_H

#include "plugins/table.h"

#ifdef __CUDACC__
#define TSR_VALUE_LIST_FUNCTION static __device__ __forceinline__
#else
#define TSR_VALUE_LIST_FUNCTION static inline
#endif

enum {
  TSR_VALUE_LIST_GROWTH_BITS = 16,        /* fraction bits of lambda */
  TSR_VALUE_LIST_STEPS = 128,             /* runs that grow; later ones are as long as the last of these */
  TSR_VALUE_LIST_RUN_VALUES = 1 << 16,    /* runs of this size do not grow */
  TSR_VALUE_LIST_WORDS = 2,               /* of 64 bits, of a record */
  TSR_VALUE_LIST_VALUES_MAX = 0x7FFFFFFE, /* of a key */
};

typedef struct tsr_value_list {
  uint32_t first;       /* s_0 */
  uint32_t growth;      /* lambda, at least 1 << TSR_VALUE_LIST_GROWTH_BITS */
  uint32_t units_max;   /* of a run */
  uint32_t unit_values; /* values that a unit has room for, at least 2 */
} tsr_value_list;

typedef struct tsr_value_list_run {
  uint32_t begin;  /* the number of its first value */
  uint32_t values; /* that it has room for */
  uint32_t units;
  uint32_t before; /* units of the runs before it */
  uint32_t links;  /* 1: it begins with a link to the run before it, in the place of a value; 0: it is the first run */
} tsr_value_list_run;

/* The units of a run for this many values, including its link. */
TSR_VALUE_LIST_FUNCTION uint32_t tsr_value_list_units(tsr_value_list s, uint32_t values) {
  const uint32_t units = (values + s.unit_values - 1) / s.unit_values;
  return units < s.units_max ? units : s.units_max;
}

/* The run that holds value number `at`. The loop has one exit, and its condition is computed without branches, so that
 * ptxas sees that the lanes of a warp meet again behind it (core/design/0008). */
TSR_VALUE_LIST_FUNCTION tsr_value_list_run tsr_value_list_run_of(tsr_value_list s, uint32_t at) {
  const uint32_t most = s.units_max * s.unit_values, is_flat = s.growth == 1u << TSR_VALUE_LIST_GROWTH_BITS;
  uint32_t wanted = s.first, step = 0, are_alike = 0; /* all later runs have the size of this one */
  tsr_value_list_run run = {0, 0, tsr_value_list_units(s, wanted), 0, 0};
  run.values = run.units * s.unit_values;
  while ((at - run.begin >= run.values) & !are_alike) { /* at most TSR_VALUE_LIST_STEPS turns */
    const uint64_t grown =
        ((uint64_t)wanted * s.growth + (1u << TSR_VALUE_LIST_GROWTH_BITS) - 1) >> TSR_VALUE_LIST_GROWTH_BITS;
    wanted = grown < most ? (uint32_t)grown : most;
    run.begin += run.values;
    run.before += run.units;
    run.units = tsr_value_list_units(s, wanted + 1);
    run.values = run.units * s.unit_values - 1;
    run.links = 1;
    are_alike = (uint32_t)(run.units == s.units_max) | is_flat | (uint32_t)(++step == TSR_VALUE_LIST_STEPS);
  }
  const uint32_t more = (at - run.begin) / run.values;
  run.begin += more * run.values;
  run.before += more * run.units;
  return run;
}

#endif
