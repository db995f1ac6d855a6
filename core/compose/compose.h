/* SPDX-License-Identifier: Apache-2.0
 *
 * Composition: settings and plugins become one table's shape, parts, regions and state. Pure host work, no device: the
 * same for `check`, for offline linking and for both backends. Read next: glue.h (device code), backend.h (memory).
 */
#ifndef TSR_COMPOSE_H
#define TSR_COMPOSE_H

#include "core/compose/facts.h"
#include "core/spec/settings.h"

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
  uint64_t window_pages; /* 0: the table lies on the device; else its pages in the host's memory, so many in a window */
} tsr_composition;

/* Where runs of pages are while they are on the device: one comes, one is worked on, one goes. */
enum { TSR_WINDOWS = 3, TSR_WINDOW_ALIGNED = 256 };

/* sm: the target's compute capability, 0 for the cpu backend. cpu_lanes: lanes of a tile there, 1 except in the
 * conformance kit. The caller frees *composition. */
tsr_status tsr_compose(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t cpu_lanes,
                       tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
/* An allocator alone, of at least options->capacity units, or the spec's capacity. Its code has no widths. */
tsr_status tsr_compose_pool(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t lanes,
                            tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
void tsr_composition_free(tsr_composition *composition);

/* TSR_NO_DEVICE if a part has no device code, and the composition is for a GPU. */
tsr_status tsr_composition_check_code(const tsr_composition *composition, tsr_error *error) TSR_MUST_CHECK;
/* Buckets including the tail. */
uint64_t tsr_composition_buckets(const tsr_composition *composition);
/* The composition of a link that works through pages: on pages themselves (in_page), or on the table. Shares all that
 * `composition` owns, and is not freed. */
tsr_composition tsr_composition_of_pages(const tsr_composition *composition, bool in_page);
/* The memory that a block of threads can have on such a device. */
uint32_t tsr_block_bytes(uint32_t sm);
/* The composition of a link with a user's kernel, which keeps no statistics, and takes no turns: where it inserts and
 * erases at once (all_at_once) keys have locks. Shares and is not freed, as above. */
tsr_composition tsr_composition_of_kernel(const tsr_composition *composition, bool all_at_once);
/* The smallest insert that goes page by page; UINT64_MAX where none does. */
uint64_t tsr_composition_page_batch(const tsr_composition *composition);
/* On a GPU, how many keys of a page a block has room for, to make items of one key one; 0: it does not do so. */
uint32_t tsr_composition_set_room(const tsr_composition *composition);
/* Whether keys may repeat and there are fewer pages than blocks that a GPU runs at a time; false: page_batch says what to do. */
bool tsr_composition_has_few_pages(const tsr_composition *composition);
/* A table that lies in the host's memory. Bytes there, and of all windows; the smallest find whose pages travel, while
 * a smaller one reads what it needs where it lies. */
uint64_t tsr_composition_host_bytes(const tsr_composition *composition);
uint64_t tsr_composition_window_bytes(const tsr_composition *composition);
uint64_t tsr_composition_travel_batch(const tsr_composition *composition);
/* Whether its batches take this step (TSR_PAGES_). */
bool tsr_composition_has_step(const tsr_composition *composition, uint32_t step);
/* Whether TSR_BULK_mark goes before this operation. */
bool tsr_composition_marks(const tsr_composition *composition, uint32_t op);
/* A filter, which is the table or stands before it: its blocks. Its bits may be set in the order of pages of it, which are
 * the table's where that has pages: how many pages, what a block of threads holds of the filter meanwhile, whether that
 * can be, and the smallest batch that is put in this order for it alone; UINT64_MAX where none is. */
uint64_t tsr_composition_filter_blocks(const tsr_composition *composition);
uint64_t tsr_composition_mark_pages(const tsr_composition *composition);
uint32_t tsr_composition_mark_bytes(const tsr_composition *composition);
bool tsr_composition_marks_in_order(const tsr_composition *composition);
uint64_t tsr_composition_mark_batch(const tsr_composition *composition);
/* Of one page, or where there are no pages all that a hash can name. */
uint64_t tsr_composition_page_buckets(const tsr_composition *composition);
/* Items of a scan over all pairs: these buckets, and the units that may continue them. */
uint64_t tsr_composition_refs(const tsr_composition *composition);
/* Slots that a hash can lead to, units included. */
uint64_t tsr_composition_slots(const tsr_composition *composition);
uint64_t tsr_region_bytes(const tsr_composition *composition, const tsr_region *region);
/* What a page has of a region, and what the region has behind all pages. */
uint64_t tsr_region_page_bytes(const tsr_composition *composition, const tsr_region *region);
uint64_t tsr_region_tail_bytes(const tsr_composition *composition, const tsr_region *region);
/* Bytes of a value as whoever uses the table sees it; 0: there are none. */
uint32_t tsr_composition_value_bytes(const tsr_composition *composition);
/* With value_bytes: the rows of values, and what they and the list of the spare ones take. 0 without. */
uint64_t tsr_composition_rows(const tsr_composition *composition);
uint64_t tsr_composition_row_bytes(const tsr_composition *composition);
/* Everything the table allocates: regions, locks and rows. */
uint64_t tsr_composition_bytes(const tsr_composition *composition);
/* The state as the device sees it, all pointers NULL. */
tsr_state tsr_composition_state(const tsr_composition *composition);
/* What may overlap with what, one sentence. */
const char *tsr_composition_overlap(const tsr_composition *composition);

#ifdef __cplusplus
}
#endif
#endif
