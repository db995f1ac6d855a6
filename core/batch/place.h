/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting a batch page by page: the plan of its steps (steps.h), which both backends follow.
 */
#ifndef TSR_BATCH_PLACE_H
#define TSR_BATCH_PLACE_H

#include "core/batch/order.h"

/* The core of it, for pages from `first` on: inserts the items of *p, which are in the order of their pages, p->pages.
 * p: bulk.state is the table's or a window's; room.is_clear. A page that a block cannot finish alone is left as it was,
 * and its items are inserted by random access, so results mean what they always mean. The caller enqueues the combining
 * that these leave (TSR_PAGES_rest_combine). made: *p, or with fewer items per page, which a block inserts instead. */
tsr_status tsr_pages_work(const tsr_work *work, const tsr_place_step *made, const tsr_place_step *p, uint64_t first)
    TSR_MUST_CHECK;

/* Enqueues the insert of bulk->n pairs, and the marks if stages->mark is TSR_MARK_PAGES. *began: false if nothing was
 * done, for want of scratch memory. bulk: with state and tally. Nothing else works on the table meanwhile: pages are
 * written back whole. */
tsr_status tsr_pages_insert(const tsr_work *work, const tsr_stages *stages, const tsr_bulk *bulk, bool *began)
    TSR_MUST_CHECK;

#endif
