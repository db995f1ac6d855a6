/* SPDX-License-Identifier: Apache-2.0
 *
 * The number by which a partition orders items: the page of each item's key, in the table, or in its filter if the
 * table has no pages (../kernels/filter.cuh). Shared by batch.cu and ../cpu/bulk.c.
 */
#ifndef TSR_BINS_CUH
#define TSR_BINS_CUH

#include "core/kernels/walk.cuh"

/* Buckets behind all pages go with the last one. */
TSR_INLINE uint32_t page_of_item(const tsr_ctx *c, uint64_t pages, tsr_key key) {
  if (!TSR_FACT(c, is_paged) && !TSR_FACT(c, has_lists)) return (uint32_t)tsr_reduce(hasher_hash(c, key, 0), pages);
  const uint32_t page = tsr_page_of(c, key); /* before it is known whether it counts, so that there is no branch */
  return TSR_FACT(c, is_paged) && walk_is_reserved(key) ? (uint32_t)c->t->pages - 1 : page;
}

#endif
