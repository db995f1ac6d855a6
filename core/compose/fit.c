/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which parts refuse each other (fit.h).
 */
#include "core/compose/fit.h"

#include "core/compose/chain.h"
#include "plugins/hasher.cuh"
#include "plugins/layout.cuh"

static const char *name_of(const tsr_composition *t, uint32_t role) { return t->part[role].plugin->name; }

tsr_status tsr_fit_short_keys(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_image *hasher = t->part[TSR_ROLE_HASHER].image;
  if (!t->shape.short_keys || (hasher && ((const tsr_hasher_functions *)hasher->functions)->unhash)) return TSR_OK;
  return tsr_spec_refuse(
      spec, "table", "hasher", error,
      "layout = %s stores a part of the hash for the key, and from this one's the key cannot be told "
      "again: use a hasher that can be undone (hashers/README.md), or another layout",
      name_of(t, TSR_ROLE_LAYOUT));
}

/* What links ask of the allocator, and what only they allow. */
static tsr_status check_links(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  const bool has_allocator = t->part[TSR_ROLE_ALLOCATOR].plugin != NULL;
  if (!s->has_link && t->settings.load_factor > 1)
    return tsr_spec_refuse(
        spec, "table", "load_factor", error,
        "a table of layout = %s holds no more pairs than its buckets have slots: use at most 1, or a "
        "layout whose buckets link",
        name_of(t, TSR_ROLE_LAYOUT));
  if (!s->has_link && has_allocator && !tsr_has_chains(&t->settings))
    return tsr_spec_refuse(
        spec, "table", "allocator", error,
        "the buckets of layout = %s do not link, so nothing would be taken from it: remove the line, "
        "or use a layout whose buckets link",
        name_of(t, TSR_ROLE_LAYOUT));
  if (!s->has_link) return TSR_OK;
  if (!has_allocator)
    return tsr_spec_refuse(spec, "table", "layout", error,
                           "its buckets go on in units of an allocator, and [table] names none: add `allocator = "
                           "NAME`; `tessera list allocator` shows them");
  if (!s->one_bucket) /* an appended unit has empty slots, which would end the walks of keys that went on before it came */
    return tsr_spec_refuse(
        spec, "table", "layout", error,
        "it makes lists of buckets, and probing = %s gives a key several: use a scheme of one bucket "
        "a key, or a layout without links",
        name_of(t, TSR_ROLE_PROBING));
  if (s->unit_bytes < s->bucket_bytes)
    return tsr_spec_refuse(spec, "table", "layout", error,
                           "its buckets have %u bytes, and a unit of allocator = %s has %u: raise [allocator] "
                           "unit_bytes or make the buckets smaller",
                           s->bucket_bytes, name_of(t, TSR_ROLE_ALLOCATOR), s->unit_bytes);
  return TSR_OK;
}

/* A lane has registers for 256 bytes of a bucket. Where the lanes of a tile share one, and so keep what each asks of the
 * others, two kernels leave it room for half of that: inserts of a scheme that moves pairs, and then goes along the walk
 * to the stash; and inserts into a page, whose blocks have more threads. Those into a page that look for their key and
 * then choose among buckets leave a quarter (tests/codegen/matrix_test.cc). */
static tsr_status check_registers(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  const bool moves_to_stash = s->moves_pairs && s->guard == TSR_GUARD_LOCK && t->settings.stash;
  const bool makes_pages = s->is_paged && t->settings.page_batch;
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

static tsr_status check_multiplicity(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  if (t->shape.duplicates != TSR_DUPLICATES_KEEP || t->shape.holds_many) return TSR_OK;
  return tsr_spec_refuse(
      spec, "table", "kind", error,
      "probing = %s gives a key a few buckets only, which cannot hold any number of its pairs: use a "
      "scheme whose walk passes every bucket, or kind = set or map",
      name_of(t, TSR_ROLE_PROBING));
}

static tsr_status refuse_lists(const tsr_composition *t, const tsr_spec *spec, const char *key, const char *why,
                               tsr_error *error) {
  return tsr_spec_refuse(spec, "table", key, error, "probing = %s makes lists of whole batches, %s",
                         name_of(t, TSR_ROLE_PROBING), why);
}

/* Lists are made in bulk: nothing looks a key up meanwhile, and every slot of a bucket belongs to the table's order. */
static tsr_status check_lists(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  const tsr_shape *s = &t->shape;
  const tsr_part *layout = &t->part[TSR_ROLE_LAYOUT];
  if (!s->has_lists) return TSR_OK;
  if (s->guard != TSR_GUARD_NONE)
    return refuse_lists(t, spec, tsr_spec_find(spec, "table", "duplicates") ? "duplicates" : "kind",
                        "in which it looks for no key: use kind = multiset or multimap, or duplicates = promise_unique",
                        error);
  if (s->is_mixed)
    return refuse_lists(t, spec, "concurrency", "which nothing may overlap: use concurrency = phased", error);
  if (s->short_keys)
    return refuse_lists(t, spec, "layout", "whose buckets lie in no page, and this layout needs pages: use another",
                        error);
  if (t->settings.page_bytes)
    return refuse_lists(t, spec, "page_bytes", "whose buckets lie in no page: remove the line", error);
  if (!((const tsr_layout_functions *)layout->image->functions)->put)
    return refuse_lists(t, spec, "layout", "and this layout offers no put: use one that does (`tessera list layout`)",
                        error);
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && layout->plan.regions[i].name; i++)
    if (layout->plan.regions[i].bytes)
      return refuse_lists(t, spec, "layout", "and this layout has memory that belongs to no bucket: use another",
                          error);
  return TSR_OK;
}

static tsr_status check_overlap(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  if (t->shape.concurrency != TSR_CONCURRENCY_MIXED) return TSR_OK;
  if (t->shape.moves_pairs)
    return tsr_spec_refuse(spec, "table", "concurrency", error,
                           "probing = %s moves pairs, and a find could miss one on its way: use concurrency = phased, "
                           "or a scheme that moves nothing",
                           name_of(t, TSR_ROLE_PROBING));
  if (!t->shape.whole_pairs)
    return tsr_spec_refuse(spec, "table", "concurrency", error,
                           "layout = %s shows a key before its value, and a find could read between: use concurrency = "
                           "phased, or a layout of whole pairs",
                           name_of(t, TSR_ROLE_LAYOUT));
  return TSR_OK;
}

tsr_status tsr_fit_parts(const tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  tsr_status status = check_links(t, spec, error);
  if (status == TSR_OK) status = check_registers(t, spec, error);
  if (status == TSR_OK) status = check_multiplicity(t, spec, error);
  if (status == TSR_OK) status = check_lists(t, spec, error);
  return status ? status : check_overlap(t, spec, error);
}
