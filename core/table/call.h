/* SPDX-License-Identifier: Apache-2.0
 *
 * A call under way, and what it carries from its beginning to its end. A call whose stream is captured into a CUDA
 * graph is recorded instead of run (../design/0025-graphs.md). Only call.c knows which calls can be.
 */
#ifndef TSR_TABLE_CALL_H
#define TSR_TABLE_CALL_H

#include "core/table/table_struct.h"

/* What a request may ask for besides an operation TSR_BULK_. */
enum {
  TSR_CALL_CLEAR = TSR_BULKS,
  TSR_CALL_KERNEL,
  TSR_CALL_LINK,
  TSR_CALL_FUNCTION,
  TSR_CALL_BUILD,
  TSR_CALL_PARTS,
  TSR_CALL_NUMBERS,     /* that waits for an index */
  TSR_CALL_NUMBER_ROWS, /* on rows of an index */
  TSR_CALL_PACK,        /* of keys of several columns */
  TSR_CALLS
};

/* Learns whether the stream of request->call is captured. If it is, fails where the call cannot be recorded: it
 * would wait, or allocate memory, or needs code that is not there. Otherwise the table expects changes that no call
 * reports. */
tsr_status tsr_call_begin(tsr_table *table, tsr_request *request, tsr_error *error) TSR_MUST_CHECK;

/* Whether the stream is captured into a graph; never without a GPU. */
tsr_status tsr_call_is_recorded(const tsr_table *table, void *stream, bool *is, tsr_error *error) TSR_MUST_CHECK;

/* tsr_table_enter and tsr_table_leave for a call that may be recorded: a graph has its own order, and its launches have
 * that of their stream. */
tsr_status tsr_call_enter(tsr_table *table, tsr_phase phase, const tsr_call_state *call, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_call_leave(tsr_table *table, const tsr_call_state *call, tsr_error *error) TSR_MUST_CHECK;

/* The end of a call with this status, which it returns. Unless it was recorded, its n items are added to *counter (NULL:
 * nobody counts), or what it had begun is waited for if it failed. */
tsr_status tsr_call_end(const tsr_table *table, const tsr_call_state *call, uint64_t *counter, uint64_t n,
                        tsr_status status) TSR_MUST_CHECK;

#endif
