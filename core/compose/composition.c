/* SPDX-License-Identifier: Apache-2.0
 *
 * What can be read off a composition (composition.h). Read next: compose.c, which makes one.
 */
#include "core/compose/composition.h"

#include <string.h>

#include "core/compose/filter.h"
#include "core/kernels/bulk.h"

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

uint64_t tsr_composition_store_bytes(const tsr_composition *t) {
  uint64_t bytes = t->lock_bytes;
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);) bytes += tsr_region_bytes(t, at.region);
  return bytes;
}

uint64_t tsr_composition_bytes(const tsr_composition *t) {
  return tsr_composition_store_bytes(t) + tsr_composition_row_bytes(t) + tsr_composition_number_bytes(t);
}

tsr_state tsr_composition_state(const tsr_composition *t) {
  tsr_state state = {.buckets = tsr_composition_page_buckets(t),
                     .pages = t->shape.pages,
                     .bucket_share = t->shape.buckets ? UINT64_MAX / tsr_composition_page_buckets(t) + 1 : 0,
                     .lists = t->shape.lists,
                     .stash_buckets = t->stash_buckets,
                     .lock_shift = t->lock_shift};
  for (uint32_t role = 0; role < TSR_STATE_ROLES; role++)
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

/* One row for each slot, so that no pair is without, and one for each item of a batch. Rows that the batch does not
 * need in the end are not given back one by one (../table/wide.h). A batch of more than an eighth of the slots goes
 * in parts. */
uint64_t tsr_composition_rows(const tsr_composition *t) {
  enum { SHARE = 8, LEAST = 4096 };
  const uint64_t slots = tsr_composition_refs(t) * t->shape.bucket_slots;
  return t->settings.value_bytes ? slots + slots / SHARE + LEAST : 0;
}

uint64_t tsr_composition_row_bytes(const tsr_composition *t) {
  return tsr_composition_rows(t) * (t->settings.value_bytes + sizeof(uint32_t));
}

/* As many numbers can be free as there are slots for keys (../table/numbering.c). */
uint64_t tsr_composition_spares(const tsr_composition *t) {
  const bool keeps = t->settings.kind == TSR_KIND_INDEX && t->settings.numbers.reuse == TSR_REUSE_YES;
  return keeps ? tsr_composition_refs(t) * t->shape.bucket_slots : 0;
}

/* Behind the list and the scores, where the widest words are aligned. */
uint64_t tsr_composition_rows_begin(const tsr_composition *t, uint64_t room) {
  enum { ALIGNMENT = 16 };
  uint64_t bytes = 2 * sizeof(uint64_t) + room * sizeof(uint32_t);
  if (t->settings.numbers.scores != TSR_SCORES_NONE) bytes = (bytes + 7) / 8 * 8 + (room + 1) * sizeof(uint64_t);
  return t->settings.numbers.row_bytes ? (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : bytes;
}

uint64_t tsr_composition_number_bytes_for(const tsr_composition *t, uint64_t room) {
  return tsr_composition_rows_begin(t, room) + room * t->settings.numbers.row_bytes;
}

uint64_t tsr_composition_number_bytes(const tsr_composition *t) {
  return t->settings.kind == TSR_KIND_INDEX ? tsr_composition_number_bytes_for(t, tsr_composition_spares(t)) : 0;
}

static tsr_status check_numbers(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const uint64_t slots = tsr_composition_refs(t) * t->shape.bucket_slots;
  if (t->settings.kind != TSR_KIND_INDEX || slots <= 1ull << 31) return TSR_OK;
  return tsr_spec_refuse(spec, "table", "capacity", error,
                         "the index would have %llu slots, and there are 2^31 numbers: lower capacity, or use several "
                         "tables",
                         (unsigned long long)slots);
}

tsr_status tsr_composition_check(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_status status = check_numbers(t, spec, error);
  if (status) return status;
  if (tsr_composition_rows(t) <= 0xFFFFFFFE) return TSR_OK;
  return tsr_spec_refuse(
      spec, "table", "value_bytes", error,
      "the table needs %llu rows, and a row's number has 32 bits: lower capacity, or use several tables",
      (unsigned long long)tsr_composition_rows(t));
}

const char *tsr_composition_overlap(const tsr_composition *t) {
  if (t->shape.kind == TSR_KIND_FILTER) return "inserts may overlap inserts, finds finds; the table orders the classes";
  if (t->settings.kind == TSR_KIND_INDEX) return "finds may overlap finds; the table orders all other calls";
  if (TSR_TAKES_TURNS(&t->shape))
    return "finds may overlap inserts or erases, inserts inserts, erases erases; the table orders inserts and erases";
  if (t->shape.concurrency == TSR_CONCURRENCY_MIXED)
    return "insert, find, contains and erase may all overlap each other";
  if (t->shape.duplicates == TSR_DUPLICATES_PROMISE_UNIQUE)
    return "inserts of distinct keys may overlap inserts, finds finds, erases erases; the table orders the classes";
  return "inserts may overlap inserts, finds finds, erases erases; the table orders the classes";
}

/* An erased key pays for counting and rebuilding this many slots. */
enum { CLEANED_SLOTS = 16 };

uint64_t tsr_composition_clean_every(const tsr_composition *t) { return tsr_composition_slots(t) / CLEANED_SLOTS + 1; }

/* Where cleaning is not enough, or does not happen, this many pairs for each key that may be erased before tsr_rehash. */
enum { REHASHED_PAIRS = 50 };

uint64_t tsr_composition_rehash_every(const tsr_composition *t) {
  const bool passes_erased = t->shape.has_link && t->shape.concurrency == TSR_CONCURRENCY_MIXED;
  const bool leaves = t->shape.kind != TSR_KIND_FILTER && t->settings.kind != TSR_KIND_CACHE &&
                      !t->settings.filter.has_slots && !t->shape.has_lists;
  if (!leaves || t->window_pages) return 0;
  if (!(t->settings.upkeep.clean == TSR_CLEAN_NO || passes_erased || t->part[TSR_ROLE_PROBING].plan.probing.clusters))
    return 0;
  return t->shape.capacity / REHASHED_PAIRS + 1;
}

const char *tsr_composition_why_uncleaned(const tsr_composition *t) {
  if (t->settings.upkeep.clean == TSR_CLEAN_NO) return "clean = no";
  if (t->shape.kind == TSR_KIND_FILTER) return "nothing is erased from a filter";
  if (t->settings.kind == TSR_KIND_CACHE || t->settings.filter.has_slots || t->shape.splits)
    return "an insert takes erased slots again";
  if (tsr_is_whole(&t->shape)) return "every insert makes the table anew, without erased pairs";
  if (t->window_pages) return "a rebuild needs all pairs on the device";
  return NULL;
}

bool tsr_composition_passes_equal_keys(const tsr_composition *t) {
  const bool keeps_all = t->shape.kind == TSR_KIND_MULTISET || t->shape.kind == TSR_KIND_MULTIMAP;
  return keeps_all && !t->shape.has_lists && !t->facts.value_list_first;
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

/* ---- Blocks and filters ----------------------------------------------------------------------- */

/* CUDA's programming guide, technical specifications: shared memory of a block, less a little that kernels have besides. */
uint32_t tsr_block_bytes(uint32_t sm) {
  enum { OWN_BYTES = 4 << 10 };
  const uint32_t all = sm == 80 || sm == 87 ? 163 << 10 : sm >= 90 && sm < 120 ? 227 << 10 : 99 << 10;
  return all - OWN_BYTES;
}

uint64_t tsr_composition_filter_blocks(const tsr_composition *t) {
  return t->facts.is_filter
             ? t->shape.buckets
             : t->part[TSR_ROLE_LAYOUT].plan.regions[t->facts.filter_region].bytes / TSR_FILTER_BLOCK_BYTES;
}

/* ---- Tables in host memory ------------------------------------------------------------------- */

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
