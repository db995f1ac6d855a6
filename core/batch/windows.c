/* SPDX-License-Identifier: Apache-2.0
 *
 * Windows (windows.h): one block of device memory each, which holds the regions of a run one after the other. Read
 * next: ../table/store.c.
 */
#include "core/batch/windows.h"

#include <stdlib.h>

/* ---- Making them ----------------------------------------------------------------------------- */

static tsr_status make_window(const tsr_work *b, uint64_t bytes, tsr_window *window) {
  tsr_event **events[] = {&window->filled, &window->worked, &window->emptied};
  tsr_status status = b->backend->allocate(b->device, bytes, &window->memory, b->error);
  for (uint32_t i = 0; status == TSR_OK && i < 3; i++)
    status = b->backend->events->create(b->device, false, events[i], b->error);
  return status;
}

tsr_status tsr_windows_make(const tsr_work *b, const tsr_composition *composition, tsr_windows **windows) {
  const uint64_t bytes = tsr_composition_window_bytes(composition) / TSR_WINDOWS;
  tsr_windows *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(b->error, TSR_NO_MEMORY, "no memory for a table's windows");
  tsr_status status = b->backend->events->create(b->device, false, &made->begun, b->error);
  if (status == TSR_OK) status = b->backend->stream_create(b->device, false, &made->in, b->error);
  if (status == TSR_OK) status = b->backend->stream_create(b->device, false, &made->out, b->error);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_WINDOWS; i++) status = make_window(b, bytes, &made->window[i]);
  if (status)
    tsr_windows_free(b, made);
  else
    *windows = made;
  return status;
}

void tsr_windows_free(const tsr_work *b, tsr_windows *windows) {
  if (!windows) return;
  for (uint32_t i = 0; i < TSR_WINDOWS; i++) {
    tsr_window *window = &windows->window[i];
    tsr_event *events[] = {window->filled, window->worked, window->emptied};
    for (uint32_t j = 0; j < 3; j++)
      if (events[j]) b->backend->events->destroy(b->device, events[j]);
    if (window->memory) b->backend->free(b->device, window->memory);
  }
  if (windows->begun) b->backend->events->destroy(b->device, windows->begun);
  if (windows->in) b->backend->stream_destroy(b->device, windows->in);
  if (windows->out) b->backend->stream_destroy(b->device, windows->out);
  free(windows);
}

/* ---- What is in one -------------------------------------------------------------------------- */

/* A region's part of a window. */
typedef struct part {
  const tsr_region *region;
  char *host;          /* the region, of all pages */
  char *here;          /* the run's first page */
  uint64_t page_bytes; /* of each page, and behind the last one */
  uint64_t tail_bytes;
  void **address; /* the address that the window's state has for it */
} part;

enum { PARTS_MAX = TSR_ROLES * TSR_REGIONS_MAX };

/* A region has the same alignment in a window as in the table, since layouts may read more than one bucket at once. */
static uint32_t parts_of(const tsr_store *store, const tsr_window *window, uint64_t first, tsr_state *state,
                         part parts[PARTS_MAX]) {
  const tsr_composition *c = store->composition;
  uint64_t used = 0;
  uint32_t count = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(c, &at);) {
    if (!tsr_region_travels(c, at.region)) continue;
    const uint64_t page_bytes = tsr_region_page_bytes(c, at.region), tail_bytes = tsr_region_tail_bytes(c, at.region);
    const uint64_t begin = used + first * page_bytes % TSR_WINDOW_ALIGNED_BYTES;
    parts[count++] = (part){.region = at.region,
                            .host = store->state.part[at.role].region[at.i],
                            .here = (char *)window->memory + begin,
                            .page_bytes = page_bytes,
                            .tail_bytes = tail_bytes,
                            .address = &state->part[at.role].region[at.i]};
    used += c->window_pages * page_bytes + tail_bytes + 2 * TSR_WINDOW_ALIGNED_BYTES;
    used -= used % TSR_WINDOW_ALIGNED_BYTES;
  }
  return count;
}

tsr_state tsr_window_state(const tsr_store *store, const tsr_window *window, tsr_page_run run) {
  part parts[PARTS_MAX];
  tsr_state state = store->state;
  const uint32_t count = parts_of(store, window, run.first, &state, parts);
  for (uint32_t i = 0; i < count; i++)
    *parts[i].address = (void *)((uintptr_t)parts[i].here - run.first * parts[i].page_bytes);
  return state;
}

/* Bytes of the pages `run` of a region. */
static uint64_t bytes_of(const tsr_store *store, const part *p, tsr_page_run run) {
  const bool ends = run.end == store->composition->shape.pages;
  return (run.end - run.first) * p->page_bytes + (ends ? p->tail_bytes : 0);
}

tsr_status tsr_window_copy(const tsr_work *b, const tsr_window *window, tsr_page_run run, tsr_page_run piece,
                           bool goes_back) {
  part parts[PARTS_MAX];
  tsr_state state = b->store->state;
  const uint32_t count = parts_of(b->store, window, run.first, &state, parts);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) {
    char *host = parts[i].host + piece.first * parts[i].page_bytes;
    char *here = parts[i].here + (piece.first - run.first) * parts[i].page_bytes;
    status = b->backend->copy(b->device, goes_back ? host : here, goes_back ? here : host,
                              bytes_of(b->store, &parts[i], piece), b->stream, b->error);
  }
  return status;
}

tsr_status tsr_window_clear(const tsr_work *b, const tsr_window *window, tsr_page_run run) {
  part parts[PARTS_MAX];
  tsr_state state = b->store->state;
  const uint32_t count = parts_of(b->store, window, run.first, &state, parts);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++)
    status = b->backend->fill(b->device, parts[i].here, parts[i].region->fill, bytes_of(b->store, &parts[i], run),
                              b->stream, b->error);
  return status;
}
