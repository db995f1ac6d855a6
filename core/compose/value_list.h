/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of lists, which hold a key's values with values = buckets; ../kernels/value_list.cuh works on it.
 */
#ifndef TSR_COMPOSE_VALUE_LIST_H
#define TSR_COMPOSE_VALUE_LIST_H

#include "core/compose/settings.h"
#include "core/kernels/value_list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the spec asks for them. */
bool tsr_has_value_lists(const tsr_settings *settings);

/* The runs of a value list, when the allocator has planned. */
tsr_value_list tsr_value_list_of(const tsr_settings *settings, const tsr_shape *shape);

/* Units that hold the capacity, for as many keys as the table is sized for, however many values each of them has.
 * When keys were erased, free units that are not neighbours may be of no use to an allocator that gives several at
 * once. */
uint64_t tsr_value_list_pool(const tsr_settings *settings, const tsr_shape *shape);

/* The keys that the table is sized for. */
uint64_t tsr_value_list_keys(const tsr_settings *settings);

#ifdef __cplusplus
}
#endif
#endif
