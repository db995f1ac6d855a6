/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of operations: which of them may overlap, by events and without waiting on the host. Read next: create.h.
 */
#ifndef TSR_TABLE_ORDER_H
#define TSR_TABLE_ORDER_H

#include "core/table/table_struct.h"

/* The table's events; on failure tsr_order_close destroys those that were made. */
tsr_status tsr_order_open(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
/* Waits for the table's work, then destroys the events. */
void tsr_order_close(tsr_table *table);

/* Lets `stream` work on the table in phase `next`; notes that it has enqueued its work. Only the order changes. */
tsr_status tsr_table_enter(tsr_table *table, tsr_phase next, void *stream, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_table_leave(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif
