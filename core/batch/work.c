/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory of a batch, and steps of it (work.h).
 */
#include "core/batch/work.h"

#include "core/batch/steps.h"
#include "core/batch/sum.h"

/* ---- Scratch memory -------------------------------------------------------------------------- */

enum { ALIGNED = 256 };
static const uint64_t PIECE_MIN = 1ull << 20;

void *tsr_work_take(char *memory, uint64_t *used, uint64_t bytes) {
  void *taken = memory ? memory + *used : NULL;
  *used += (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
  return taken;
}

tsr_status tsr_work_allocate(const tsr_work *b, void *job, uint64_t (*lay_out)(void *job, uint64_t n, char *memory),
                             uint64_t n, uint64_t *piece, uint64_t *bytes, void **memory) {
  *piece = n < TSR_PIECE_MAX ? n : TSR_PIECE_MAX;
  *bytes = 0;
  *memory = NULL;
  const uint64_t least = *piece < PIECE_MIN ? *piece : PIECE_MIN;
  for (; *piece >= least; *piece /= 2) {
    *bytes = lay_out(job, *piece, NULL);
    if (b->backend->allocate_in(b->device, *bytes, b->stream, memory, NULL) == TSR_OK) {
      lay_out(job, *piece, *memory);
      return TSR_OK;
    }
    *memory = NULL;
  }
  return TSR_OK;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

tsr_status tsr_work_step(const tsr_work *b, uint32_t step, const void *argument, uint64_t n) {
  return b->backend->step(b->device, b->store->code->program, &tsr_pages_steps.step[step], argument, n, b->stream,
                          b->error);
}

tsr_status tsr_work_random(const tsr_work *b, uint32_t op, const tsr_bulk *bulk) {
  return b->backend->step(b->device, b->store->code->program, TSR_BULK_STEP(op), bulk, bulk->n, b->stream, b->error);
}

/* The results show which items are left to combine; if the caller wants none, they are allocated meanwhile. */
tsr_status tsr_work_insert(const tsr_work *b, const tsr_bulk *bulk) {
  tsr_bulk kept = *bulk;
  tsr_status status = TSR_OK, freed = TSR_OK;
  if (!b->store->composition->facts.combines_later) return tsr_work_random(b, TSR_BULK_insert, bulk);
  if (!bulk->results) status = b->backend->allocate_in(b->device, bulk->n, b->stream, (void **)&kept.results, b->error);
  if (status) return status;
  status = tsr_work_random(b, TSR_BULK_insert, &kept);
  if (status == TSR_OK) status = tsr_work_random(b, TSR_BULK_combine, &kept);
  if (!bulk->results) freed = b->backend->free_in(b->device, kept.results, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}

tsr_status tsr_work_zero(const tsr_work *b, void *memory, uint64_t bytes) {
  return b->backend->fill(b->device, memory, 0, bytes, b->stream, b->error);
}

tsr_status tsr_work_sum(const tsr_work *b, uint64_t *numbers, uint64_t n) {
  return tsr_prefix_sum(b->device, numbers, n, b->stream, b->error);
}

static void *item_at(const void *items, uint64_t i, uint32_t bits) {
  return items ? (char *)(uintptr_t)items + i * (bits / 8) : NULL;
}

tsr_bulk tsr_work_part(const tsr_work *b, const tsr_bulk *bulk, uint64_t begin, uint64_t n) {
  const tsr_shape *s = &b->store->composition->shape;
  tsr_bulk part = *bulk;
  part.n = n;
  part.keys = item_at(bulk->keys, begin, s->key_bits);
  part.values = item_at(bulk->values, begin, s->payload_bits);
  part.unplaced_keys = item_at(bulk->unplaced_keys, begin, s->key_bits);
  part.unplaced_values = item_at(bulk->unplaced_values, begin, s->payload_bits);
  part.results = item_at(bulk->results, begin, 8);
  part.values_out = item_at(bulk->values_out, begin, s->payload_bits);
  part.counts = item_at(bulk->counts, begin, 64);
  return part;
}
