/* SPDX-License-Identifier: Apache-2.0
 *
 * The core's own facts (../kernels/facts.h) for its kernels: TSR_FACT(c, has_place) reads them like those that parts
 * may know (plugins/device.cuh).
 */
#ifndef TSR_KERNEL_FACTS_CUH
#define TSR_KERNEL_FACTS_CUH

#include "core/kernels/facts.h"
#include "plugins/device.cuh"

#ifdef TSR_HAS_GLUE
#define TSR_CORE_FACT_ACCESS(fact) TSR_FACT_ACCESS(fact)
#else
#define TSR_CORE_FACT_ACCESS(fact)                                                                                     \
  TSR_INLINE uint32_t tsr_fact_of_##fact(const tsr_ctx *c) { return c->cpu->core->fact; }
#endif
TSR_CORE_FACTS(TSR_CORE_FACT_ACCESS)

#endif
