/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of chains, which hold a key's values with values = buckets; ../kernels/chain.cuh works on it.
 */
#ifndef TSR_COMPOSE_CHAIN_H
#define TSR_COMPOSE_CHAIN_H

#include "core/compose/settings.h"
#include "core/kernels/chain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the spec asks for them. */
bool tsr_has_chains(const tsr_settings *settings);

/* The runs of a chain, when the allocator has planned. */
tsr_chain tsr_chain_of(const tsr_settings *settings, const tsr_shape *shape);

/* Units that hold the capacity, for as many keys as the table is sized for, however many values each of them has.
 * When keys were erased, free units that are not neighbours may be of no use to an allocator that gives several at
 * once. */
uint64_t tsr_chain_pool(const tsr_settings *settings, const tsr_shape *shape);

/* The keys that the table is sized for. */
uint64_t tsr_chain_keys(const tsr_settings *settings);

#ifdef __cplusplus
}
#endif
#endif
