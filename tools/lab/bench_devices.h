/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmarks of tables of several devices (`tessera bench --devices 0,1`): how an operation's rate grows with them, and what
 * its phases cost. Every device has a part of the keys, in its own memory. For each spec and load there are four stages:
 *
 *   one     --n keys on the first device, by an ordinary table
 *   split   the same, in the form of a table of several devices: what splitting and bringing into order cost
 *   weak    --n keys for each of all devices
 *   strong  --n keys in all, of all devices
 *
 * or with --group one:
 *
 *   group   --n keys for each process, which has one device
 *
 * Read next: bench_devices.c; bench.h (the columns).
 */
#ifndef TSR_BENCH_DEVICES_H
#define TSR_BENCH_DEVICES_H

#include "core/tessera_devices.h"
#include "tools/lab/bench_rows.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Measures and prints rows. *all_right becomes false when an answer was wrong; a sentence on standard error says which.
 * specs: options->spec_count of them, with all --set. */
TSR_MUST_CHECK tsr_status tsr_bench_devices(const tsr_bench_options *options, tsr_spec *const *specs, tsr_group *group,
                                            tsr_bench_output *output, bool *all_right, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
