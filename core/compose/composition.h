/* SPDX-License-Identifier: Apache-2.0
 *
 * A composition, which compose.h makes, and what can be read off it: bytes, buckets. All of
 * it is a function of settings, facts and plans, and no device is asked. A function takes a composition as it is and
 * changes nothing, so any number of threads may ask. Read next: glue.h (device code), backend.h (memory).
 */
#ifndef TSR_COMPOSITION_H
#define TSR_COMPOSITION_H

#include "core/compose/settings.h"
#include "core/kernels/facts.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_part {
  const tsr_plugin *plugin; /* NULL: the role is absent */
  void *config;             /* plugin->config_bytes */
  const tsr_image *image;   /* of the composition's widths */
  tsr_plan plan;
} tsr_part;

typedef struct tsr_composition {
  tsr_settings settings; /* its strings are not kept: see part[] */
  tsr_shape shape;
  tsr_core_facts facts; /* the core's own */
  tsr_part part[TSR_ROLES];
  uint64_t tail_buckets;  /* for reserved keys, then the stash */
  uint64_t stash_buckets; /* of them */
  uint64_t lock_bytes;    /* 0 without guard */
  uint32_t lock_shift;
  bool is_as_saved;      /* its memory is laid out as 0.1.0 did: compose.h */
  uint64_t window_pages; /* 0: the table is on the device; otherwise its pages are in host memory, this many in a
                          * window */
} tsr_composition;

/* ---- Regions --------------------------------------------------------------------------------- */

/* Goes through the regions of all parts:
 *   for (tsr_region_walk at = {0}; tsr_next_region(composition, &at);) bytes += tsr_region_bytes(composition, at.region); */
typedef struct tsr_region_walk {
  const tsr_region *region; /* NULL at first */
  uint32_t role, i;         /* it is the i-th region of this role's part */
} tsr_region_walk;
static inline bool tsr_next_region(const tsr_composition *composition, tsr_region_walk *at) {
  if (at->region) at->i++;
  for (; at->role < TSR_ROLES; at->role++, at->i = 0) {
    at->region = &composition->part[at->role].plan.regions[at->i];
    if (at->i < TSR_REGIONS_MAX && at->region->name) return true;
  }
  return false;
}

uint64_t tsr_region_bytes(const tsr_composition *composition, const tsr_region *region);
/* What a page has of a region, and what the region has behind all pages. */
uint64_t tsr_region_page_bytes(const tsr_composition *composition, const tsr_region *region);
uint64_t tsr_region_tail_bytes(const tsr_composition *composition, const tsr_region *region);
/* Regions and locks. */
uint64_t tsr_composition_store_bytes(const tsr_composition *composition);
/* Everything the table allocates: these and rows. */
uint64_t tsr_composition_bytes(const tsr_composition *composition);
/* The state as the device sees it, all pointers NULL. */
tsr_state tsr_composition_state(const tsr_composition *composition);

/* ---- Buckets, slots, values ------------------------------------------------------------------ */

/* Buckets including the tail. */
uint64_t tsr_composition_buckets(const tsr_composition *composition);
/* Of one page, or where there are no pages all that a hash can name. */
uint64_t tsr_composition_page_buckets(const tsr_composition *composition);
/* Items of a scan over all pairs: all buckets, and the units that may continue them. */
uint64_t tsr_composition_refs(const tsr_composition *composition);
/* Slots that a hash can lead to, units included. */
uint64_t tsr_composition_slots(const tsr_composition *composition);
/* Bytes of a value as whoever uses the table sees it; 0: there are none. */
uint32_t tsr_composition_value_bytes(const tsr_composition *composition);
/* With value_bytes: the rows of values, and what they and the list of the spare ones take. 0 without. */
uint64_t tsr_composition_rows(const tsr_composition *composition);
uint64_t tsr_composition_row_bytes(const tsr_composition *composition);
/* Of an index: how many numbers can be free that were given before, and the memory of the free ones. 0 otherwise. */
uint64_t tsr_composition_spares(const tsr_composition *composition);
uint64_t tsr_composition_number_bytes(const tsr_composition *composition);
/* The same for `room` free numbers, with their rows; and where the rows begin. */
uint64_t tsr_composition_number_bytes_for(const tsr_composition *composition, uint64_t room);
uint64_t tsr_composition_rows_begin(const tsr_composition *composition, uint64_t room);
/* Refuses more rows than 32 bits can number, and more keys of an index than there are numbers. */
tsr_status tsr_composition_check(const tsr_composition *composition, const tsr_spec *spec, tsr_error *error)
    TSR_MUST_CHECK;
/* What may overlap with what, one sentence. It lives as long as the process. */
const char *tsr_composition_overlap(const tsr_composition *composition);

/* How many keys are erased at the least between two cleanings (../table/clean.h). */
uint64_t tsr_composition_clean_every(const tsr_composition *composition);
/* After how many erased keys tsr_rehash keeps finds of absent keys within half again of what they cost before
 * (../design/0030-cleaning.md); 0: cleaning does, or an insert leaves no debt. */
uint64_t tsr_composition_rehash_every(const tsr_composition *composition);
/* Why such a table is not cleaned, a phrase; NULL: it is. It lives as long as the process. */
const char *tsr_composition_why_uncleaned(const tsr_composition *composition);
/* Whether an insert passes all pairs of its key: then r pairs of one key take about r * r / (2 * bucket_slots) looks. */
bool tsr_composition_passes_equal_keys(const tsr_composition *composition);

/* ---- Links of the same table ----------------------------------------------------------------- */

/* Both share all that `composition` owns, and are not freed. */

/* The composition of a link that works through pages: on pages themselves (in_page), or on the table. */
tsr_composition tsr_composition_of_pages(const tsr_composition *composition, bool in_page);
/* The composition of a link with a user's kernel, which keeps no statistics, and takes no turns: where it inserts and
 * erases at once (all_at_once) keys have locks. */
tsr_composition tsr_composition_of_kernel(const tsr_composition *composition, bool all_at_once);

/* ---- Blocks and filters ----------------------------------------------------------------------- */

/* Shared memory in bytes that a block of threads can have on a GPU of compute capability sm. */
uint32_t tsr_block_bytes(uint32_t sm);
/* Of the filter that the table is, or that stands before it. */
uint64_t tsr_composition_filter_blocks(const tsr_composition *composition);

/* ---- Tables in host memory ------------------------------------------------------------------- */

/* Where runs of pages are while they are on the device: one comes, one is worked on, one goes. */
enum { TSR_WINDOWS = 3, TSR_WINDOW_ALIGNED_BYTES = 256 };

/* Whether an insert makes the whole table anew: its lists, or what the scheme builds. */
static inline bool tsr_is_whole(const tsr_shape *shape) { return shape->has_lists || shape->build_pages; }

/* Whether the region is there, and comes to the device page by page. */
static inline bool tsr_region_travels(const tsr_composition *composition, const tsr_region *region) {
  return composition->window_pages && region->bytes_per_bucket;
}
/* Of the regions that travel: bytes of one page, and bytes that a window has besides, behind its last page. */
void tsr_composition_measure_pages(const tsr_composition *composition, uint64_t *page_bytes, uint64_t *behind_bytes);
/* Bytes there, and of all windows. */
uint64_t tsr_composition_host_bytes(const tsr_composition *composition);
uint64_t tsr_composition_window_bytes(const tsr_composition *composition);

#ifdef __cplusplus
}
#endif
#endif
