/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch of items on a table of several devices. Read next: batch.c.
 */
#ifndef TSR_DEVICES_BATCH_H
#define TSR_DEVICES_BATCH_H

#include "core/devices/shards.h"

/* An operation with one answer per item. The items go to the shards of their keys, chunk by chunk, and the answers come
 * back in the caller's order. Waits. */
tsr_status tsr_batch_run(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* The same with parts of one size, whatever the keys: for tables in which any shard can answer. Not TSR_BULK_apply. */
tsr_status tsr_batch_deal(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* The values of all pairs of the items: TSR_BULK_retrieve. Waits. */
tsr_status tsr_batch_find_all(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;

/* The same for a batch that comes in parts, one request for each member of this process, all of one operation. With
 * TSR_BULK_retrieve each part has offsets and values of its own. */
tsr_status tsr_batch_run_parts(tsr_table *table, const tsr_request *parts, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_batch_deal_parts(tsr_table *table, const tsr_request *parts, tsr_error *error) TSR_MUST_CHECK;

#endif
