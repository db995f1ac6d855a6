/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of several devices (devices_model.h).
 */
#include "tools/lab/devices_model.h"

#include <stdlib.h>

/* Kernels that split share the device with those that work, so the time in which they send comes on top, less what they
 * write to their own memory otherwise. The host enqueues for one device after the other. Both numbers are fitted:
 * ../../specs/results/notebook/0016.md */
double tsr_devices_expect_direct(double work_ms, double travel_ms, uint32_t devices) {
  static const double sends = 0.6, host_ms = 0.06;
  return work_ms + sends * travel_ms + host_ms * (devices - 1);
}

/* All but the first chunk's way out and the last one's back go on beside the work, or the work beside them. */
double tsr_devices_expect_copied(double work_ms, double travel_ms, double chunks) {
  return work_ms > travel_ms ? work_ms + travel_ms / chunks : travel_ms + work_ms / chunks;
}

/* Keys are dealt evenly, so a device sends to each other one the same share. What it sends to its own host goes at the same
 * time as what it sends to others. */
double tsr_devices_expect(const tsr_devices_batch *b, const tsr_devices_wires *w, tsr_devices_shape shape) {
  const double all = (double)shape.hosts * shape.devices, near = (shape.devices - 1) / all;
  const double far = (all - shape.devices) / all;
  if ((near > 0 && w->link <= 0) || (far > 0 && w->network <= 0)) return 0;
  const double near_ms = near > 0 ? near * b->items / w->link : 0, far_ms = far > 0 ? far * b->items / w->network : 0;
  if (shape.hosts == 1) return tsr_devices_expect_direct(b->work_ms, near_ms * b->shown_bytes, shape.devices);
  const double travel_ms = (near_ms > far_ms ? near_ms : far_ms) * b->all_bytes;
  return tsr_devices_expect_copied(b->work_ms, travel_ms, b->chunks);
}

static bool read_count(const char **text, uint32_t *count) {
  char *end;
  if (**text < '1' || **text > '9') return false;
  const unsigned long number = strtoul(*text, &end, 10);
  *text = end;
  *count = (uint32_t)number;
  return number <= 4096;
}

bool tsr_devices_shape_read(const char **text, tsr_devices_shape *shape) {
  uint32_t first, second;
  if (!read_count(text, &first)) return false;
  *shape = (tsr_devices_shape){1, first};
  if (**text == 'x') {
    ++*text;
    if (!read_count(text, &second)) return false;
    *shape = (tsr_devices_shape){first, second};
  }
  if (**text && **text != ',') return false;
  if (**text) ++*text;
  return true;
}
