/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether parts fit each other (fit.h): their facts become features of compatible.h, whose rows refuse. What is left here
 * are sizes.
 */
#include "core/compose/fit.h"

#include "core/compose/value_list.h"
#include "core/kernels/cache.h"
#include "plugins/hasher.cuh"
#include "plugins/layout.cuh"

static tsr_status check(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  return tsr_compatible_check(&t->settings.traits, spec, TSR_INCOMPATIBLE, error);
}

/* A layout may have memory that belongs to the table and to no bucket. */
static bool has_table_memory(const tsr_plan *layout) {
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && layout->regions[i].name; i++)
    if (!layout->regions[i].bytes_per_bucket || layout->regions[i].bytes) return true;
  return false;
}

static bool lacks_regions(const tsr_composition *t, const tsr_plan *layout) {
  uint32_t taken = (tsr_has_value_lists(&t->settings) ? 1u : 0u) + (t->settings.filter.before ? 1u : 0u) +
                   (t->settings.kind == TSR_KIND_CACHE ? 1u + !t->shape.can_exchange : 0u);
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && layout->regions[i].name; i++) taken++;
  return taken > TSR_REGIONS_MAX;
}

tsr_status tsr_fit_layout(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  const tsr_part *layout = &t->part[TSR_ROLE_LAYOUT];
  const tsr_hasher_functions *hasher = t->part[TSR_ROLE_HASHER].image->functions;
  bool *has = t->settings.traits.has;
  has[TSR_HAS_KEEPS_IN_PAGES] = t->settings.pages.bytes && s->duplicates == TSR_DUPLICATES_KEEP;
  has[TSR_HAS_ONE_WAY] = !hasher->unhash;
  has[TSR_HAS_SHORT_KEYS] = s->short_keys;
  has[TSR_HAS_FINGERPRINTS] = s->fingerprint_bits != 0;
  has[TSR_HAS_WHOLE_KEYS] = !s->fingerprint_bits;
  has[TSR_HAS_LINKS] = s->has_link;
  has[TSR_HAS_NO_LINKS] = !s->has_link;
  has[TSR_HAS_TAKES_NO_UNITS] = !s->has_link && !tsr_has_value_lists(&t->settings);
  has[TSR_HAS_LATE_VALUES] = !s->whole_pairs;
  has[TSR_HAS_NO_PUT] = !((const tsr_layout_functions *)layout->image->functions)->put;
  has[TSR_HAS_TABLE_MEMORY] = has_table_memory(&layout->plan);
  has[TSR_HAS_ALL_REGIONS] = lacks_regions(t, &layout->plan);
  has[TSR_HAS_FLAGS] = s->has_flag;
  has[TSR_HAS_NO_EXCHANGE] = !s->can_exchange;
  has[TSR_HAS_NUMBERS_LATE] = has[TSR_HAS_INDEX] && !s->whole_pairs;
  has[TSR_HAS_REPLACES_LATE] = has[TSR_HAS_REPLACES_LATE] && !s->whole_pairs;
  return check(t, spec, error);
}

/* What links ask of the allocator. */
static tsr_status check_units(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  if (!s->has_link || s->unit_bytes >= s->bucket_bytes) return TSR_OK;
  return tsr_spec_refuse(spec, "table", "layout", error,
                         "its buckets have %u bytes, and a unit of allocator = %s has %u: raise [allocator] "
                         "unit_bytes or make the buckets smaller",
                         s->bucket_bytes, t->part[TSR_ROLE_ALLOCATOR].plugin->name, s->unit_bytes);
}

/* A lane has registers for 256 bytes of a bucket. Where the lanes of a tile share one, and so keep what each asks of
 * the others, two kernels have room for half of that. One inserts by a scheme that moves pairs, and then goes along
 * the walk to the stash. The other inserts into a page, whose blocks have more threads. Inserts into a page that
 * look for their key and then choose among buckets leave a quarter (tests/codegen/matrix_test.cc). */
static tsr_status check_registers(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  const bool moves_to_stash = s->moves_pairs && s->guard == TSR_GUARD_LOCK && t->settings.stash;
  const bool makes_pages = s->is_paged && t->settings.pages.batch;
  const bool looks_and_chooses = s->choices && TSR_POLICY_LOOKS(s->duplicates);
  const uint32_t lane_bytes = makes_pages && looks_and_chooses ? 64 : 128;
  if (!s->sm || s->tile_lanes == 1 || s->bucket_bytes <= lane_bytes * s->tile_lanes || !(moves_to_stash || makes_pages))
    return TSR_OK;
  return tsr_spec_refuse(
      spec, "table", "layout", error,
      "a lane would hold %u bytes of a bucket, and %s leaves it room for %u: raise [layout] tile_lanes, lower "
      "bucket_slots, or use %s = 0",
      s->bucket_bytes / s->tile_lanes, makes_pages ? "inserting page by page" : "moving pairs before a stash",
      lane_bytes, makes_pages ? "page_batch" : "stash");
}

tsr_status tsr_fit_parts(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  bool *has = t->settings.traits.has;
  has[TSR_HAS_FEW_BUCKETS] = !s->holds_many && !tsr_has_value_lists(&t->settings);
  has[TSR_HAS_MANY_BUCKETS] = !s->one_bucket;
  has[TSR_HAS_MOVES] = s->moves_pairs;
  has[TSR_HAS_NUMBERS_MOVE] = has[TSR_HAS_INDEX] && s->moves_pairs;
  has[TSR_HAS_BY_KEY] = !s->by_fingerprint && !s->one_bucket;
  has[TSR_HAS_WHOLE_BATCHES] = tsr_is_whole(s);
  has[TSR_HAS_BUILT] = s->build_pages != 0;
  has[TSR_HAS_NO_SPLITS] = !s->splits;
  has[TSR_HAS_NOTES] = s->has_notes;
  has[TSR_HAS_LONG_WALK] = !s->walk_max || s->walk_max > TSR_CACHE_BUCKETS_MAX;
  has[TSR_HAS_OTHER_SCORES] = t->part[TSR_ROLE_EVICTION].plugin && !s->index_scores;
  tsr_status status = check(t, spec, error);
  if (status == TSR_OK) status = check_units(t, spec, error);
  return status ? status : check_registers(t, spec, error);
}

tsr_status tsr_fit_windows(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  t->settings.traits.has[TSR_HAS_HOST_PAGES] = t->window_pages != 0;
  t->settings.traits.has[TSR_HAS_TILES] = t->shape.sm && t->shape.tile_lanes > 1;
  tsr_status status = check(t, spec, error);
  tsr_compatible_refuse_calls(&t->settings.traits);
  return status;
}
