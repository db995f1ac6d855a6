/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting different keys (sketch.h). Each key sets one of some bits, by a hash of its own, and the bits that were set
 * are counted. Keys that share a bit are counted once; their number follows from how many bits were set. With four
 * bits per key chance leaves an error of some hundredths of a percent. If there are more than 2^22 keys, only those
 * whose hash ends with zeros are looked at: one in two, four and so on. Equal keys have one hash. So a sample of
 * hashes, unlike a sample of the array's places, shows how often keys repeat.
 */
#include "core/batch/sketch.h"

#include <math.h>

#include "core/batch/match.h"

enum { BITS_MIN = 1 << 12, BITS_OF_KEY = 4, SAMPLE = 1 << 22, DEVIATIONS = 5 };

/* The number of keys that follows from `set` bits being set. Both the bits that keys share and the sample make it
 * uncertain. */
static void estimate(uint64_t n, uint64_t set, uint64_t bits, uint32_t halvings, tsr_different *different) {
  const double all = (double)bits, share = -log1p(-(double)set / all), scale = (double)(1ull << halvings);
  const double number = scale * all * share, shared = scale * scale * all * (expm1(share) - share);
  const double doubt = DEVIATIONS * (1 + sqrt(shared + (scale - 1) * number));
  const uint64_t certain = halvings ? 0 : set;
  different->most = set < bits && number + doubt < (double)n ? (uint64_t)(number + doubt) : n;
  different->least = set < bits && number - doubt > (double)certain ? (uint64_t)(number - doubt) : certain;
}

tsr_status tsr_sketch(const tsr_work *b, uint64_t n, const void *keys, const uint8_t *present,
                      tsr_different *different) {
  const uint32_t key_bytes = b->store->composition->shape.key_bits / 8;
  const uint32_t step = key_bytes > sizeof(uint64_t) ? TSR_MATCH_long_sketch : TSR_MATCH_sketch;
  uint64_t set = 0, bits = BITS_MIN;
  uint32_t halvings = 0;
  void *memory;
  while (n >> halvings > SAMPLE) halvings++;
  while (bits < BITS_OF_KEY * (n >> halvings)) bits *= 2;
  const uint64_t bytes = sizeof(uint64_t) + bits / 8;
  tsr_status status = b->backend->allocate_in(b->device, bytes, b->stream, &memory, b->error);
  if (status) return status;
  const tsr_match sketch = {.n = n,
                            .index.keys = {keys, key_bytes, key_bytes},
                            .known.results = present,
                            .known.present = 1,
                            .index.entries = (uint32_t *)((uint64_t *)memory + 1),
                            .index.mask = bits - 1,
                            .known.sampled_mask = (1ull << halvings) - 1,
                            .matches.total = memory};
  status = b->backend->fill(b->device, memory, 0, bytes, b->stream, b->error);
  if (status == TSR_OK)
    status = b->backend->step(b->device, NULL, &tsr_match_steps.step[step], &sketch, n, b->stream, b->error);
  if (status == TSR_OK)
    status = b->backend->copy(b->device, &set, sketch.matches.total, sizeof set, b->stream, b->error);
  tsr_status waited = b->backend->synchronize(b->device, b->stream, status ? NULL : b->error);
  if (status == TSR_OK) status = waited;
  tsr_status freed = b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  estimate(n, set, bits, halvings, different);
  return status ? status : freed;
}
