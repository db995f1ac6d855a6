/* SPDX-License-Identifier: Apache-2.0
 *
 * By what a partition orders items: the page of each one's key. Shared by pages.cu and ../cpu/bulk.c.
 */
#ifndef TSR_BINS_CUH
#define TSR_BINS_CUH

#include "core/kernels/walk.cuh"

/* What lies behind all pages goes with the last one. */
TSR_INLINE uint32_t page_of_item(const tsr_ctx *c, tsr_key key) {
  return TSR_FACT(c, is_paged) && walk_is_reserved(key) ? (uint32_t)c->t->pages - 1 : tsr_page_of(c, key);
}

#endif
