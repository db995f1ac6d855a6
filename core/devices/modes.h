/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices whose keys are not divided by a hash ([devices] split = independent and replicated). Read
 * next: modes.c.
 */
#ifndef TSR_DEVICES_MODES_H
#define TSR_DEVICES_MODES_H

#include "core/devices/shards.h"

/* Independent: a pair is in any shard, and every shard is asked for a key. Waits. */
tsr_status tsr_independent_operate(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* Replicated: the first shard is written, and the others are copies of it to read. Waits. */
tsr_status tsr_replicated_operate(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;

/* Brings the other replicas up to date, before they are read. */
tsr_status tsr_replicated_refresh(tsr_shards *shards, tsr_error *error) TSR_MUST_CHECK;

#endif
