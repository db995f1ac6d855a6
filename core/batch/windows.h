/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows: runs of a table's pages on the device, while the table is in host memory. A window's state differs from the
 * table's only in where regions begin: before the window, by the size of the pages before the run. So a bucket has the
 * same number in both, and the ordinary operations work on the keys of these pages. Memory that belongs to no page is
 * behind the last page, and comes with it. Why: ../design/0024-larger-than-the-gpu.md.
 *
 * Read next: ../table/store.h, travel.h.
 */
#ifndef TSR_BATCH_WINDOWS_H
#define TSR_BATCH_WINDOWS_H

#include "core/batch/work.h"

typedef struct tsr_window {
  void *memory;
  tsr_event *filled, *worked, *emptied; /* after its pages came, were worked on, went back */
} tsr_window;

typedef struct tsr_windows {
  tsr_window window[TSR_WINDOWS];
  tsr_event *begun; /* when a batch may touch the table */
  void *in, *out;   /* streams of the copies to the device and from it */
} tsr_windows;

/* Pages from `first` to before `end`, in one window. */
typedef struct tsr_page_run {
  uint64_t first, end;
} tsr_page_run;

/* Nothing is left behind on failure. free: pre: no work on them is under way; NULL is fine. */
tsr_status tsr_windows_make(const tsr_work *work, const tsr_composition *composition, tsr_windows **windows)
    TSR_MUST_CHECK;
void tsr_windows_free(const tsr_work *work, tsr_windows *windows);

/* The store's state for the keys of a run that is in this window. */
tsr_state tsr_window_state(const tsr_store *store, const tsr_window *window, tsr_page_run run);

/* Both enqueue. copy: part of a run to its window, or back, with the memory behind the last page. clear: empties the
 * run. */
tsr_status tsr_window_copy(const tsr_work *work, const tsr_window *window, tsr_page_run run, tsr_page_run part,
                           bool goes_back) TSR_MUST_CHECK;
tsr_status tsr_window_clear(const tsr_work *work, const tsr_window *window, tsr_page_run run) TSR_MUST_CHECK;

#endif
