/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be read off a composition (composition.h). Read next: compose.c, which makes one.
 */
#include "core/compose/composition.h"

#include <string.h>

#include "core/batch/steps.h"
#include "core/compose/filter.h"

/* ---- Regions --------------------------------------------------------------------------------- */

uint64_t tsr_region_bytes(const tsr_composition *t, const tsr_region *region) {
  return region->bytes + region->bytes_per_bucket * tsr_composition_buckets(t);
}

uint64_t tsr_region_page_bytes(const tsr_composition *t, const tsr_region *region) {
  return region->bytes_per_bucket * tsr_composition_page_buckets(t);
}

uint64_t tsr_region_tail_bytes(const tsr_composition *t, const tsr_region *region) {
  return region->bytes + region->bytes_per_bucket * t->tail_buckets;
}

uint64_t tsr_composition_bytes(const tsr_composition *t) {
  uint64_t bytes = t->lock_bytes + tsr_composition_row_bytes(t);
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);) bytes += tsr_region_bytes(t, at.region);
  return bytes;
}

tsr_state tsr_composition_state(const tsr_composition *t) {
  tsr_state state = {.buckets = tsr_composition_page_buckets(t),
                     .pages = t->shape.pages,
                     .bucket_share = t->shape.buckets ? UINT64_MAX / tsr_composition_page_buckets(t) + 1 : 0,
                     .lists = t->shape.lists,
                     .stash_buckets = t->stash_buckets,
                     .lock_shift = t->lock_shift};
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    memcpy(state.part[role].word, t->part[role].plan.state, sizeof state.part[role].word);
  return state;
}

/* ---- Buckets, slots, values ------------------------------------------------------------------ */

uint64_t tsr_composition_buckets(const tsr_composition *t) { return t->shape.buckets + t->tail_buckets; }

uint64_t tsr_composition_page_buckets(const tsr_composition *t) { return t->shape.buckets / t->shape.pages; }

uint64_t tsr_composition_refs(const tsr_composition *t) {
  return tsr_composition_buckets(t) + (t->shape.has_link ? t->shape.units : 0);
}

uint64_t tsr_composition_slots(const tsr_composition *t) {
  return (t->shape.buckets + (t->shape.has_link ? t->shape.units : 0)) * t->shape.bucket_slots;
}

uint32_t tsr_composition_value_bytes(const tsr_composition *t) {
  return t->settings.value_bytes ? (uint32_t)t->settings.value_bytes : t->shape.value_bits / 8;
}

/* One for each slot, so that no pair is without, and one for each item of a batch: those that the batch turns out not to
 * need are not given back one by one (../table/wide.h), and more items than an eighth go in parts. */
uint64_t tsr_composition_rows(const tsr_composition *t) {
  enum { SHARE = 8, LEAST = 4096 };
  const uint64_t slots = tsr_composition_refs(t) * t->shape.bucket_slots;
  return t->settings.value_bytes ? slots + slots / SHARE + LEAST : 0;
}

uint64_t tsr_composition_row_bytes(const tsr_composition *t) {
  return tsr_composition_rows(t) * (t->settings.value_bytes + sizeof(uint32_t));
}

const char *tsr_composition_overlap(const tsr_composition *t) {
  if (t->shape.kind == TSR_KIND_FILTER) return "inserts may overlap inserts, finds finds; the table orders the classes";
  if (TSR_TAKES_TURNS(&t->shape))
    return "finds may overlap inserts or erases, inserts inserts, erases erases; the table orders inserts and erases";
  if (t->shape.concurrency == TSR_CONCURRENCY_MIXED)
    return "insert, find, contains and erase may all overlap each other";
  if (t->shape.duplicates == TSR_DUPLICATES_PROMISE_UNIQUE)
    return "inserts of distinct keys may overlap inserts, finds finds, erases erases; the table orders the classes";
  return "inserts may overlap inserts, finds finds, erases erases; the table orders the classes";
}

/* ---- Links of the same table ----------------------------------------------------------------- */

tsr_composition tsr_composition_of_pages(const tsr_composition *t, bool in_page) {
  tsr_composition link = *t;
  link.facts.loops = 1;
  if (!in_page) return link;
  link.shape.in_page = 1;
  link.shape.share_lanes = link.shape.tile_lanes; /* there are no requests to share */
  link.facts.has_stash = 0;
  link.facts.first_look_cached = 0;
  link.facts.falls_back_to_walk = !t->shape.can_exchange || t->shape.duplicates == TSR_DUPLICATES_KEEP;
  return link;
}

tsr_composition tsr_composition_of_kernel(const tsr_composition *t, bool all_at_once) {
  tsr_composition link = *t;
  link.shape.statistics = 0;
  if (all_at_once && TSR_TAKES_TURNS(&t->shape)) link.shape.guard = TSR_GUARD_LOCK;
  return link;
}

/* ---- Batches that go page by page ------------------------------------------------------------ */

/* CUDA's programming guide, technical specifications: shared memory of a block, less a little that kernels have besides. */
uint32_t tsr_block_bytes(uint32_t sm) {
  enum { OWN_BYTES = 4 << 10 };
  const uint32_t all = sm == 80 || sm == 87 ? 163 << 10 : sm >= 90 && sm < 120 ? 227 << 10 : 99 << 10;
  return all - OWN_BYTES;
}

/* A third more than a page has slots, so that keys are found soon. */
uint32_t tsr_composition_set_room(const tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  if (!s->sm || !s->is_paged || !s->payload_bits || s->statistics || !TSR_POLICY_MERGES(s->duplicates)) return 0;
  const uint64_t slots = tsr_composition_page_buckets(t) * s->bucket_slots, room = (slots + slots / 3) / 4 * 4 + 256;
  return room * ((s->key_bits + s->payload_bits) / 8) <= tsr_block_bytes(s->sm) ? (uint32_t)room : 0;
}

bool tsr_composition_has_few_pages(const tsr_composition *t) {
  enum { PAGES = 256 };
  return t->shape.sm && TSR_POLICY_LOOKS(t->shape.duplicates) && t->shape.pages < PAGES &&
         t->settings.page_batch == TSR_PAGE_BATCH_AUTO;
}

/* The share of a table from which on a batch pays on a GPU, in thousandths of its slots, by how many of them `held` pairs
 * fill: the fuller they are, the slower is random access. An empty table's pages need not be read. Measured:
 * core/design/0014-pages.md. */
static uint64_t break_even(const tsr_shape *s, uint64_t slots, uint64_t held) {
  enum { EMPTY = 50, USUAL = 74, MOST = 115, OF_FULL = 30, FULL = 925, RISE = 190, RISES = 44 };
  if (TSR_POLICY_LOOKS(s->duplicates)) return USUAL;
  if (!held || !slots) return EMPTY;
  const uint64_t full = held * 1000 / slots, share = full < FULL ? OF_FULL + (FULL - full) * RISES / RISE : OF_FULL;
  return share < MOST ? share : MOST;
}

/* A page is read and written once for all its pairs, so that a batch pays from some share of the table on; on the CPU, which
 * only gains its caches, from a quarter on, and there only where inserts wait for memory, as they do that look for their key
 * under its lock, because pairs move: others are in flight together. Small batches pay more for the steps than they save.
 * Where keys may repeat, a batch of any size may lie in few pages: so there must be pages for the blocks that a GPU runs at a
 * time, or blocks that share a page first. */
uint64_t tsr_composition_page_batch(const tsr_composition *t, uint64_t held) {
  enum { CPU_SHARE = 4 };
  static const uint64_t gpu_least = 1u << 20, cpu_least = 1u << 23;
  const uint64_t slots = t->shape.buckets * t->shape.bucket_slots, wanted = t->settings.page_batch;
  const uint64_t share = t->shape.sm ? slots / 1000 * break_even(&t->shape, slots, held) : slots / CPU_SHARE;
  const uint64_t least = t->shape.sm ? gpu_least : cpu_least;
  if (!t->shape.is_paged || wanted == 0) return UINT64_MAX;
  if (wanted != TSR_PAGE_BATCH_AUTO) return wanted;
  if (!t->shape.sm && !(t->facts.moves_pairs && TSR_POLICY_LOOKS(t->shape.duplicates))) return UINT64_MAX;
  if (tsr_composition_has_few_pages(t) && !tsr_composition_set_room(t)) return UINT64_MAX;
  return share > least ? share : least;
}

bool tsr_composition_has_step(const tsr_composition *t, uint32_t step) {
  const bool sorts = t->shape.is_paged || t->shape.sorts_lists;
  switch (step) {
  case TSR_PAGES_count:
  case TSR_PAGES_count_pages:
  case TSR_PAGES_bins:
  case TSR_PAGES_tiles:
  case TSR_PAGES_scatter:
    return sorts || tsr_composition_mark_batch(t) != UINT64_MAX;
  case TSR_PAGES_mark:
    return tsr_composition_marks_in_order(t) && (t->shape.is_paged || tsr_composition_mark_batch(t) != UINT64_MAX);
  case TSR_PAGES_answer:
  case TSR_PAGES_rest:
    return sorts;
  case TSR_PAGES_sample:
  case TSR_PAGES_choose:
  case TSR_PAGES_hot_answer:
  case TSR_PAGES_distinct:
  case TSR_PAGES_merge:
    return t->shape.is_paged && TSR_POLICY_MERGES(t->shape.duplicates);
  case TSR_PAGES_spans:
  case TSR_PAGES_told_spans:
  case TSR_PAGES_spans_answer:
    return t->facts.makes_spans;
  case TSR_PAGES_spans_list:
    return t->facts.makes_spans && t->settings.growth;
  case TSR_PAGES_bar:
  case TSR_PAGES_insert:
  case TSR_PAGES_rest_combine:
    return t->shape.is_paged;
  case TSR_PAGES_spilled:
    return t->shape.is_paged && t->shape.duplicates == TSR_DUPLICATES_PROMISE_UNIQUE;
  case TSR_PAGES_any_count:
  case TSR_PAGES_any_begin:
  case TSR_PAGES_any_place:
  case TSR_PAGES_any_rest:
    return t->shape.has_lists && !sorts;
  default:
    return t->shape.has_lists && sorts;
  }
}

/* ---- Filters, which are the table or stand before it ----------------------------------------- */

bool tsr_composition_marks(const tsr_composition *t, uint32_t op) {
  return t->facts.filter_bits && (op == TSR_BULK_insert || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply);
}

uint64_t tsr_composition_filter_blocks(const tsr_composition *t) {
  return t->facts.is_filter
             ? t->shape.buckets
             : t->part[TSR_ROLE_LAYOUT].plan.regions[t->facts.filter_region].bytes / TSR_FILTER_BLOCK_BYTES;
}

/* Pages of a filter are as large as a tile of keys fills at 12 bits a key; a table's own pages are what they are. */
uint64_t tsr_composition_mark_pages(const tsr_composition *t) {
  enum { PAGE_BLOCKS = 256 };
  if (t->shape.is_paged) return t->shape.pages;
  return (tsr_composition_filter_blocks(t) + PAGE_BLOCKS - 1) / PAGE_BLOCKS;
}

/* The blocks of a page's keys: two of them may be a neighbour's, too. */
uint32_t tsr_composition_mark_bytes(const tsr_composition *t) {
  const uint64_t blocks = tsr_composition_filter_blocks(t) / tsr_composition_mark_pages(t) + 2;
  return (uint32_t)(blocks * t->facts.filter_words * sizeof(uint32_t));
}

bool tsr_composition_marks_in_order(const tsr_composition *t) {
  enum { OWN_BYTES = 4 << 10 };
  return t->facts.filter_words && !t->shape.has_lists &&
         (!t->shape.sm || tsr_composition_mark_bytes(t) + OWN_BYTES <= tsr_block_bytes(t->shape.sm));
}

/* While a filter lies in a GPU's cache its bits may be set in any order. */
uint64_t tsr_composition_mark_batch(const tsr_composition *t) {
  enum { PAGES = 1024, SHARE = 16 };
  static const uint64_t least = 1u << 22;
  if (!tsr_composition_marks_in_order(t) || !t->shape.sm || tsr_composition_mark_pages(t) < PAGES) return UINT64_MAX;
  const uint64_t share = tsr_composition_filter_blocks(t) * t->facts.filter_words / SHARE;
  return share > least ? share : least;
}

/* ---- Tables that lie in the host's memory ---------------------------------------------------- */

void tsr_composition_measure_pages(const tsr_composition *t, uint64_t *page_bytes, uint64_t *behind_bytes) {
  *page_bytes = *behind_bytes = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);) {
    if (!at.region->bytes_per_bucket) continue;
    *page_bytes += tsr_region_page_bytes(t, at.region);
    *behind_bytes += tsr_region_tail_bytes(t, at.region) + 2 * TSR_WINDOW_ALIGNED_BYTES;
  }
}

uint64_t tsr_composition_host_bytes(const tsr_composition *t) {
  uint64_t bytes = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);)
    if (tsr_region_travels(t, at.region)) bytes += tsr_region_bytes(t, at.region);
  return bytes;
}

uint64_t tsr_composition_window_bytes(const tsr_composition *t) {
  uint64_t page_bytes, behind_bytes;
  tsr_composition_measure_pages(t, &page_bytes, &behind_bytes);
  return t->window_pages ? TSR_WINDOWS * (t->window_pages * page_bytes + behind_bytes) : 0;
}

/* Over a bus, what a find reads at random costs as much as READ_BYTES in a row. */
uint64_t tsr_composition_travel_batch(const tsr_composition *t) {
  enum { READ_BYTES = 256 };
  const uint64_t wanted = t->settings.page_batch;
  if (!t->window_pages || wanted == 0) return UINT64_MAX;
  return wanted != TSR_PAGE_BATCH_AUTO ? wanted : 1 + tsr_composition_host_bytes(t) / READ_BYTES;
}
