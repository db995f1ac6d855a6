/* SPDX-License-Identifier: Apache-2.0
 *
 * What a batch should cost on several devices, from what its part costs on one: the model that `bench --devices` prints.
 * Read next: bench_devices.c.
 */
#ifndef TSR_DEVICES_MODEL_H
#define TSR_DEVICES_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A batch on one device, which splits it as if there were others. */
typedef struct tsr_devices_batch {
  double work_ms;     /* of its part, with splitting and ordering */
  double chunks;      /* that it is cut into, at least 1 */
  double shown_bytes; /* of an item that goes to another device, as far as the work does not hide them */
  double all_bytes;   /* the same with what the work hides */
  double items;       /* of a part */
} tsr_devices_batch;

/* Bytes per millisecond that a device sends: to others of its host, and to other hosts. 0: unknown. */
typedef struct tsr_devices_wires {
  double link, network;
} tsr_devices_wires;

/* Hosts that are alike, with as many devices each. */
typedef struct tsr_devices_shape {
  uint32_t hosts, devices;
} tsr_devices_shape;

/* Milliseconds of the batch on these devices, a part on each; 0: a rate that it needs is unknown. */
double tsr_devices_expect(const tsr_devices_batch *batch, const tsr_devices_wires *wires, tsr_devices_shape shape);
/* The two parts of it. Kernels write to the other devices' memory: travel_ms is the time of the link for what the work does not
 * hide. */
double tsr_devices_expect_direct(double work_ms, double travel_ms, uint32_t devices);
/* Columns travel by copies, between processes by NCCL or the network, while other chunks are worked on. */
double tsr_devices_expect_copied(double work_ms, double travel_ms, double chunks);

/* Reads shapes such as "8" or "16x4" from a list with commas between: *text goes on behind the one that was read. False: it
 * is none. */
bool tsr_devices_shape_read(const char **text, tsr_devices_shape *shape);

#ifdef __cplusplus
}
#endif

#endif
