/* SPDX-License-Identifier: Apache-2.0
 *
 * What is predicted of a spec: its walks are counted on a small table of the CPU, then the model tells rates (predict.h).
 */
#ifndef TSR_FORECAST_H
#define TSR_FORECAST_H

#include <stdio.h>

#include "core/tessera_tools.h"
#include "tools/lab/bench_options.h"
#include "tools/lab/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the model is asked of an operation with n keys; the walks are left out. Returns whether it was fitted to such work: inserts
 * and finds of present and absent keys in sets, maps and counters, with keys and values of up to 64 bits. Of others the nearest
 * of these is asked, which is good enough to put tables in order. r: of a GPU. */
bool tsr_forecast_work(const tsr_spec *spec, const tsr_resolution *r, tsr_bench_op op, uint64_t n, tsr_work *work);

/* Prints a table of rates by operation, load and number of pairs. TSR_UNSUPPORTED: the model knows no such table. */
TSR_MUST_CHECK tsr_status tsr_forecast_print(FILE *out, const tsr_spec *spec, const char *plugins, const tsr_card *card,
                                             tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif
