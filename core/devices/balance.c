/* SPDX-License-Identifier: Apache-2.0
 *
 * Balanced parts (balance.h), as multi-GPU HashGraph makes them: a histogram of bins over all devices, its prefix sum, and
 * for each shard the bin in which its part of the sum begins, by binary search.
 */
#include "core/devices/balance.h"

#include <stdlib.h>
#include <string.h>

enum { BINS = TSR_SPLIT_BINS };

tsr_status tsr_buffer_reserve(const tsr_member *m, tsr_buffer *b, uint64_t bytes, tsr_error *error) {
  tsr_device *device = m->shard->device;
  if (b->bytes >= bytes && b->memory) return TSR_OK;
  if (b->is_shared) return tsr_fail(error, TSR_UNSUPPORTED, "memory that other processes map cannot grow here");
  if (b->memory) device->backend->free(device, b->memory);
  *b = (tsr_buffer){.memory = NULL};
  const uint64_t roomy = bytes + bytes / 8 + 64; /* the parts of a batch are never quite alike */
  tsr_status status = device->backend->allocate(device, roomy, &b->memory, error);
  if (status)
    b->memory = NULL;
  else
    b->bytes = roomy;
  return status;
}

void tsr_buffer_free(tsr_device *device, tsr_buffer *b) {
  if (b->memory && b->is_shared) device->backend->extents->unshare(device, b->memory);
  if (b->memory && !b->is_shared) device->backend->free(device, b->memory);
  *b = (tsr_buffer){.memory = NULL};
}

void tsr_flight_free(tsr_device *device, tsr_flight *k) {
  tsr_buffer *const others[] = {&k->places,           &k->counts,          &k->gathered.spans,
                                &k->gathered.offsets, &k->gathered.values, &k->gathered.back,
                                &k->gathered.ordered, &k->folded.made,     &k->folded.parts};
  for (uint32_t b = 0; b < sizeof others / sizeof others[0]; b++) tsr_buffer_free(device, others[b]);
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++) {
    tsr_buffer_free(device, &k->in[c]);
    tsr_buffer_free(device, &k->split[c]);
    tsr_buffer_free(device, &k->arrived[c]);
    tsr_buffer_free(device, &k->folded.columns[c]);
  }
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) {
    tsr_buffer_free(device, &k->answer[a]);
    tsr_buffer_free(device, &k->back[a]);
    tsr_buffer_free(device, &k->ordered[a]);
    tsr_buffer_free(device, &k->folded.answers[a]);
  }
}

void tsr_balance_evenly(tsr_shards *s) {
  const uint32_t members = s->transport.members;
  for (uint32_t i = 0; i < members; i++) s->first_bin[i] = BINS * i / members;
}

tsr_status tsr_balance_add(tsr_shards *s, uint32_t member, uint64_t n, const void *keys, uint32_t key_bytes,
                           tsr_error *error) {
  tsr_member *m = &s->members[member];
  tsr_device *device = m->shard->device;
  const bool begins = !m->has_bins;
  void *stream = m->streams[TSR_LEG_SPLIT];
  tsr_status status = tsr_buffer_reserve(m, &m->bins, BINS * sizeof(uint64_t), error);
  if (status == TSR_OK && begins)
    status = device->backend->fill(device, m->bins.memory, 0, BINS * sizeof(uint64_t), stream, error);
  if (status == TSR_OK) m->has_bins = true;
  if (status || n == 0) return status;
  const tsr_split split = {.runs.n = n,
                           .seed = s->seed,
                           .bytes[TSR_SPLIT_KEYS] = key_bytes,
                           .items[TSR_SPLIT_KEYS] = keys,
                           .bins = m->bins.memory};
  const tsr_step *step = &tsr_split_steps.step[tsr_split_for(TSR_SPLIT_bins, key_bytes)];
  return device->backend->step(device, NULL, step, &split, n, stream, error);
}

void tsr_balance_forget(tsr_shards *s) {
  for (uint32_t i = 0; i < s->transport.here; i++) s->members[i].has_bins = false;
  s->is_empty = true;
}

/* The first bin of a part before which the sum should be `target`: the nearest edge. */
static uint32_t bin_at(const double *before, double target) {
  uint32_t low = 0, high = BINS;
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (before[middle] < target)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && target - before[low - 1] < before[low] - target ? low - 1 : low;
}

/* counts: a row of each member. */
static void choose(tsr_shards *s, const uint64_t *counts, uint64_t capacity) {
  static const double none = 0;
  double before[BINS + 1] = {none}, n = 0;
  const uint32_t members = s->transport.members;
  for (uint64_t i = 0; i < (uint64_t)members * BINS; i++) n += (double)counts[i];
  const double to_come = (double)capacity > n ? ((double)capacity - n) / BINS : 0;
  for (uint32_t bin = 0; bin < BINS; bin++) {
    before[bin + 1] = before[bin] + to_come;
    for (uint32_t i = 0; i < members; i++) before[bin + 1] += (double)counts[i * BINS + bin];
  }
  for (uint32_t i = 1; i < members; i++) s->first_bin[i] = bin_at(before, before[BINS] * i / members);
}

tsr_status tsr_balance_choose(tsr_shards *s, uint64_t capacity, tsr_error *error) {
  tsr_transport *x = &s->transport;
  uint64_t *counts = calloc((size_t)x->members * BINS, sizeof *counts);
  tsr_status status = counts ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory to balance %u shards", x->members);
  for (uint32_t i = 0; status == TSR_OK && i < x->here; i++) {
    tsr_member *m = &s->members[i];
    tsr_device *device = m->shard->device;
    void *stream = m->streams[TSR_LEG_SPLIT];
    uint64_t *row = counts + (size_t)(x->first + i) * BINS;
    if (m->has_bins) status = device->backend->copy(device, row, m->bins.memory, BINS * sizeof *row, stream, error);
    m->has_bins = false;
  }
  for (uint32_t i = 0; counts && i < x->here; i++) { /* also after a failure: copies may be under way */
    const tsr_member *m = &s->members[i];
    tsr_device *device = m->shard->device;
    const tsr_status waited = device->backend->synchronize(device, m->streams[TSR_LEG_SPLIT], status ? NULL : error);
    if (status == TSR_OK) status = waited;
  }
  status = x->gather(x, counts, BINS, status, error);
  if (status == TSR_OK) choose(s, counts, capacity);
  free(counts);
  return status;
}
