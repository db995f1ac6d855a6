/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting different keys (sketch.h). Each key sets one of 2^21 bits, by a hash of its own, and the bits that were set are
 * counted: keys that share a bit are counted once, so there are at least as many. Of more than 2^17 keys only those are
 * looked at whose hash ends with zeros, one of two or four and so on, so that few share a bit, whatever the number. Equal
 * keys have one hash: unlike a sample of the array's places, a sample of hashes tells how often keys repeat.
 */
#include "core/table/sketch.h"

#include <math.h>

enum { BITS = 1 << 21, SAMPLE = 1 << 17, DEVIATIONS = 5 };

tsr_status tsr_sketch(const tsr_table *t, uint64_t n, const void *keys, const uint8_t *present, void *stream,
                      uint64_t *least, tsr_error *error) {
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t bytes = sizeof(uint64_t) + BITS / 8;
  uint64_t set = 0;
  uint32_t halvings = 0;
  void *memory;
  while (n >> halvings > SAMPLE) halvings++;
  tsr_status status = t->backend->allocate_in(t->device, bytes, stream, &memory, error);
  if (status) return status;
  const tsr_match sketch = {.n = n,
                            .keys = {keys, key_bytes, key_bytes},
                            .results = present,
                            .present = 1,
                            .entries = (uint32_t *)((uint64_t *)memory + 1),
                            .mask = BITS - 1,
                            .sampled_mask = (1ull << halvings) - 1,
                            .total = memory};
  status = t->backend->fill(t->device, memory, 0, bytes, stream, error);
  if (status == TSR_OK) status = t->backend->match(t->device, TSR_MATCH_sketch, &sketch, stream, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, &set, sketch.total, sizeof set, stream, error);
  tsr_status waited = t->backend->synchronize(t->device, stream, status ? NULL : error);
  if (status == TSR_OK) status = waited;
  tsr_status freed = t->backend->free_in(t->device, memory, stream, status ? NULL : error);
  const double seen = (double)set, doubt = halvings ? DEVIATIONS * sqrt(seen) : 0;
  *least = (seen > doubt ? (uint64_t)(seen - doubt) : 0) << halvings;
  return status ? status : freed;
}
