/* SPDX-License-Identifier: Apache-2.0
 *
 * How large a filter is, and how often it errs (core/kernels/filter.cuh says what it does).
 */
#ifndef TSR_COMPOSE_FILTER_H
#define TSR_COMPOSE_FILTER_H

#include "core/compose/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_FILTER_BLOCK_BYTES = 32 /* of a filter before a table */ };

/* The part of absent keys that seem present when the filter holds a key for each `bits_per_key` bits: the mean over
 * blocks, whose keys have a Poisson distribution. */
double tsr_filter_rate(uint64_t block_bytes, uint64_t functions, double bits_per_key);

/* The same of a filter that holds the fingerprints of `keys` keys; at most. */
double tsr_fingerprint_rate(const tsr_shape *shape, double keys);

/* Bits a key: what the settings say, or as many as one_in needs. */
double tsr_filter_bits(const tsr_settings *settings);

uint64_t tsr_filter_blocks(const tsr_settings *settings);

/* The number of functions with which a filter of this many bits per key errs least. */
uint32_t tsr_filter_functions(uint64_t block_bytes, double bits_per_key);

#ifdef __cplusplus
}
#endif
#endif
