/* SPDX-License-Identifier: Apache-2.0
 *
 * The bits of a filter in its own order (mark.h).
 */
#include "core/batch/mark.h"

tsr_status tsr_mark_pages(const tsr_work *b, const tsr_pages *pages) {
  tsr_pages p = *pages;
  uint64_t tiles;
  const tsr_composition *c = b->store->composition;
  p.mark_blocks = (double)tsr_composition_filter_blocks(c) / (double)p.pages;
  p.mark_bytes = tsr_plan_mark_bytes(c);
  const tsr_status status = tsr_partition_tiles(b, &p, &tiles);
  return status ? status : tsr_work_step(b, TSR_PAGES_mark, &p, tiles);
}

static uint64_t lay_out(void *partition, uint64_t n, char *memory) {
  uint64_t used = 0;
  tsr_partition_lay_out(partition, n, memory, &used);
  return used;
}

tsr_status tsr_mark_in_order(const tsr_table *t, const tsr_store *store, const tsr_bulk *bulk, void *stream,
                             bool *began, tsr_error *error) {
  const tsr_composition *c = store->composition;
  const tsr_work b = {t, store, stream, error};
  tsr_bulk keys = *bulk;
  keys.values = NULL;
  tsr_partition partition = tsr_partition_plan(c, tsr_plan_mark_pages(c), false);
  uint64_t piece, bytes;
  void *memory;
  tsr_status status = tsr_partition_allocate(t, &partition, lay_out, bulk->n, stream, &piece, &bytes, &memory);
  *began = memory != NULL;
  if (status || !memory) return status;
  for (uint64_t done = 0; status == TSR_OK && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(&b, &keys, done, left < piece ? left : piece);
    tsr_pages p;
    status = tsr_partition_run(&partition, &b, &part, &p);
    if (status == TSR_OK) status = tsr_mark_pages(&b, &p);
  }
  const tsr_status freed = t->backend->free_in(t->device, memory, stream, status ? NULL : error);
  return status ? status : freed;
}
