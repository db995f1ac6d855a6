/* SPDX-License-Identifier: Apache-2.0
 *
 * The bits of a filter in its own order (mark.h).
 */
#include "core/batch/mark.h"

tsr_status tsr_mark_ordered(const tsr_work *b, const tsr_ordered *ordered) {
  const tsr_composition *c = b->store->composition;
  const tsr_mark_step p = {
      .bulk = ordered->bulk,
      .segments = ordered->pages,
      .page_blocks = (double)tsr_composition_filter_blocks(c) / (double)ordered->pages.count,
      .block_bytes = tsr_plan_mark_bytes(c),
  };
  const uint64_t tiles = p.bulk.n / ordered->tile_items + 1 + p.segments.count;
  const tsr_status status = tsr_work_tiles(b, &p.segments, ordered->tile_items);
  return status ? status : tsr_work_step(b, TSR_PAGES_mark, &p, tiles);
}

static uint64_t lay_out(void *partition, uint64_t n, char *memory) {
  uint64_t used = 0;
  tsr_partition_lay_out(partition, n, memory, &used);
  return used;
}

tsr_status tsr_mark_in_order(const tsr_work *b, const tsr_bulk *bulk, bool *began) {
  const tsr_composition *c = b->store->composition;
  tsr_bulk keys = *bulk;
  keys.values = NULL;
  tsr_partition partition = tsr_partition_plan(c, tsr_plan_mark_pages(c), false);
  uint64_t piece, bytes;
  void *memory;
  tsr_status status = tsr_work_allocate(b, &partition, lay_out, bulk->n, &piece, &bytes, &memory);
  *began = memory != NULL;
  if (status || !memory) return status;
  for (uint64_t done = 0; status == TSR_OK && done < bulk->n; done += piece) {
    const uint64_t left = bulk->n - done;
    const tsr_bulk part = tsr_work_part(b, &keys, done, left < piece ? left : piece);
    tsr_ordered ordered;
    status = tsr_partition_run(&partition, b, &part, &ordered);
    if (status == TSR_OK) status = tsr_mark_ordered(b, &ordered);
  }
  const tsr_status freed = b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}
