/* SPDX-License-Identifier: Apache-2.0
 *
 * The transport of members that are all in this process (transport.h). Kernels write to and read from the other
 * devices' memory, if they reach it. Otherwise copies go from GPU to GPU on CUDA, and from memory to memory on the
 * CPU. Members need not tell each other anything.
 */
#include "core/devices/transport.h"

static tsr_status gather(tsr_transport *transport, uint64_t *rows, uint32_t words, tsr_status status,
                         tsr_error *error) {
  (void)transport;
  (void)rows;
  (void)words;
  (void)error;
  return status;
}

static tsr_status agree(tsr_transport *transport, tsr_status status, tsr_error *error) {
  (void)transport;
  (void)error;
  return status;
}

static tsr_status exchange_column(const tsr_transport *x, const tsr_parcels *p, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t to = 0; to < x->members; to++) {
    uint64_t arrived = 0;
    for (uint32_t from = 0; status == TSR_OK && from < x->members; from++) {
      uint64_t before = 0;
      for (uint32_t other = 0; other < to; other++) before += p->sizes[from * x->members + other];
      const uint64_t items = p->sizes[from * x->members + to];
      tsr_device *device = x->devices[to];
      if (items && from != to)
        status = device->backend->copy_from(device, (char *)p->to[to] + arrived * p->item_bytes, x->devices[from],
                                            (const char *)p->from[from] + before * p->item_bytes, items * p->item_bytes,
                                            p->streams[to], error);
      arrived += items;
    }
  }
  return status;
}

static tsr_status exchange(tsr_transport *x, const tsr_parcels *parcels, uint32_t columns, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < columns; c++) status = exchange_column(x, &parcels[c], error);
  return status;
}

static bool all_reach(tsr_device *const *devices, uint32_t members) {
  for (uint32_t i = 0; i < members; i++)
    for (uint32_t other = 0; other < members; other++)
      if (!devices[i]->backend->reaches(devices[i], devices[other])) return false;
  return true;
}

void tsr_local_transport(tsr_transport *transport, tsr_device *const *devices, uint32_t members, bool copies) {
  *transport = (tsr_transport){
      .members = members, .first = 0, .here = members, .gather = gather, .exchange = exchange, .agree = agree};
  for (uint32_t i = 0; i < members; i++) transport->devices[i] = devices[i];
  transport->is_direct = !copies && all_reach(devices, members);
}
