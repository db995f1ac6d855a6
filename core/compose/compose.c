/* SPDX-License-Identifier: Apache-2.0
 *
 * From settings to a composition (compose.h). Load the parts, let them plan in their order, derive what only the
 * whole table knows, and refuse parts that do not fit (fit.h). Read it from its end: tsr_compose, then plan_parts.
 */
#include "core/compose/compose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/entries.h"
#include "core/compose/filter.h"
#include "core/compose/fit.h"
#include "core/compose/reach.h"
#include "core/compose/registry.h"
#include "core/compose/value_list.h"
#include "core/kernels/cache.h"
#include "core/tessera_tools.h"
#include "plugins/probing.cuh"

static const uint64_t BUCKETS_MAX = 1ull << 48; /* 2^40 pairs at load_factor 0.01 need half of it */
static const uint64_t LISTS_MAX = 0xFFFFFFFE;   /* a list has a number of 32 bits, and one number names none */

/* ---- Parts ----------------------------------------------------------------------------------- */

/* A name that no plugin has is a mistake in the line that says it. */
static tsr_status refuse_name(const tsr_spec *spec, uint32_t role, const tsr_error *why, tsr_error *error) {
  char where[512];
  tsr_spec_where(tsr_spec_find(spec, "table", tsr_role_names[role]), where, sizeof where);
  return tsr_fail(error, why->status, "%s: %s", where, why->message);
}

static tsr_status load_part(const tsr_spec *spec, const tsr_options *options, uint32_t role, const char *name,
                            tsr_part *part, tsr_error *error) {
  tsr_error why;
  tsr_status status = tsr_registry_find(options->plugins, role, name, &part->plugin, &why);
  if (status == TSR_NOT_FOUND || status == TSR_BAD_SPEC) return refuse_name(spec, role, &why, error);
  if (status) return tsr_fail(error, status, "%s", why.message);
  part->config = calloc(1, part->plugin->config_bytes + 1);
  if (!part->config) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the parameters of %s", name);
  return tsr_settings_read_part(spec, part->plugin, part->config, error);
}

/* The code for these widths. */
static const tsr_image *image_for(const tsr_plugin *plugin, uint32_t key_bits, uint32_t payload_bits) {
  for (const tsr_image *image = plugin->images; image->functions; image++)
    if ((image->key_bits == TSR_ANY_BITS || image->key_bits == key_bits) &&
        (image->payload_bits == TSR_ANY_BITS || image->payload_bits == payload_bits))
      return image;
  return NULL;
}

/* A refusal begins with the line that wrote the parameter that it names, and otherwise with the one that chose the part. */
static tsr_status refuse(const tsr_spec *spec, uint32_t role, tsr_error *why, tsr_error *error) {
  char section[32], key[64];
  const tsr_spec_entry *entry = NULL;
  if (sscanf(why->message, "[%31[a-z_]] %63[a-z0-9_] =", section, key) == 2) entry = tsr_spec_find(spec, section, key);
  if (!entry) entry = tsr_spec_find(spec, "table", tsr_role_names[role]);
  if (entry->file)
    return tsr_fail(error, why->status, "%s:%llu: %s", entry->file, (unsigned long long)entry->line, why->message);
  return tsr_fail(error, why->status, "--set %s.%s=%s: %s", entry->section, entry->key, entry->value, why->message);
}

/* Where each thread is in somebody else's code; volatile: a signal handler reads it. Its place is fixed when the
 * library is loaded, so that the handler allocates nothing. */
static _Thread_local const tsr_plugin *volatile planning __attribute__((tls_model("initial-exec")));

bool tsr_plan_running(const char **role, const char **name) {
  const tsr_plugin *plugin = planning;
  if (!plugin) return false;
  *role = tsr_role_names[plugin->role];
  *name = plugin->name;
  return true;
}

/* A fact that the core divides by, multiplies or counts to, and that its writer left outside its range. */
static tsr_status out_of_range(const tsr_plugin *plugin, const char *fact, uint64_t value, const char *range,
                               tsr_error *error) {
  return tsr_fail(error, TSR_BAD_PLUGIN, "%s/%s: P-12: its plan() wrote %s = %llu: must be %s; correct plan()",
                  tsr_role_names[plugin->role], plugin->name, fact, (unsigned long long)value, range);
}

static bool is_power_to(uint32_t value, uint32_t maximum) {
  return value && !(value & (value - 1)) && value <= maximum;
}

static tsr_status check_layout(const tsr_layout_facts *f, const tsr_plugin *plugin, tsr_error *error) {
  static const char range[] = "a power of two from 1 to 32";
  if (f->has_link > 1) return out_of_range(plugin, "has_link", f->has_link, "0 or 1", error);
  if (f->has_flag > 1) return out_of_range(plugin, "has_flag", f->has_flag, "0 or 1", error);
  if (f->fingerprint_bits != 0 && f->fingerprint_bits != 8 && f->fingerprint_bits != 16 && f->fingerprint_bits != 32)
    return out_of_range(plugin, "fingerprint_bits", f->fingerprint_bits, "0, 8, 16 or 32", error);
  if (f->short_keys > 1) return out_of_range(plugin, "short_keys", f->short_keys, "0 or 1", error);
  if (!is_power_to(f->bucket_places, 32)) return out_of_range(plugin, "bucket_places", f->bucket_places, range, error);
  if (f->bucket_slots < 1 || f->bucket_slots + f->has_link > f->bucket_places)
    return out_of_range(plugin, "bucket_slots", f->bucket_slots,
                        f->has_link ? "from 1 to one less than bucket_places" : "from 1 to bucket_places", error);
  if (!is_power_to(f->tile_lanes, 32)) return out_of_range(plugin, "tile_lanes", f->tile_lanes, range, error);
  if (!is_power_to(f->share_lanes, 32)) return out_of_range(plugin, "share_lanes", f->share_lanes, range, error);
  return TSR_OK;
}

/* Words are drawn once for a region, which then stays: none that operations write, and none that grows. */
static tsr_status check_draws(const tsr_plugin *plugin, const tsr_plan *plan, tsr_error *error) {
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && plan->regions[i].name; i++)
    if (plan->regions[i].draws && (plugin->role != TSR_ROLE_HASHER || plan->regions[i].bytes_per_bucket ||
                                   plan->regions[i].bytes % sizeof(uint64_t)))
      return tsr_fail(
          error, TSR_BAD_PLUGIN,
          "%s/%s: P-53: its plan() asked for region %s with draws: only a hasher has such regions, of whole "
          "words of 64 bits and without bytes_per_bucket; correct plan()",
          tsr_role_names[plugin->role], plugin->name, plan->regions[i].name);
  return TSR_OK;
}

/* Takes over into the shape what a plan() said: the facts of its role, if the core can work with them. */
static tsr_status take_facts(tsr_shape *s, const tsr_plugin *plugin, const tsr_plan *plan, tsr_error *error) {
  tsr_status status = check_draws(plugin, plan, error);
  if (status) return status;
#define TAKE(of, name) s->name = plan->of.name;
#define TAKE_LAYOUT(type, name) TAKE(layout, name)
#define TAKE_ALLOCATOR(type, name) TAKE(allocator, name)
#define TAKE_PROBING(type, name) TAKE(probing, name)
#define TAKE_EVICTION(type, name) TAKE(eviction, name)
  switch (plugin->role) {
  case TSR_ROLE_LAYOUT:
    status = check_layout(&plan->layout, plugin, error);
    TSR_LAYOUT_FACTS(TAKE_LAYOUT)
    break;
  case TSR_ROLE_ALLOCATOR:
    TSR_ALLOCATOR_FACTS(TAKE_ALLOCATOR)
    break;
  case TSR_ROLE_PROBING:
    TSR_PROBING_FACTS(TAKE_PROBING)
    if (s->buckets < s->buckets_min || s->buckets > BUCKETS_MAX)
      status = out_of_range(plugin, "buckets", s->buckets, "from buckets_min to 2^48", error);
    else if (s->lists > LISTS_MAX)
      status = out_of_range(plugin, "lists", s->lists, "below 2^32 - 1", error);
    else if (s->lists && plan->regions[0].bytes < (s->lists + 1 + TSR_TAIL_RESERVED) * sizeof(uint32_t))
      status = out_of_range(plugin, "lists", s->lists, "less than its first region has numbers of 32 bits", error);
    else if (s->build_bytes > TSR_BUILD_BYTES_MAX)
      status = out_of_range(plugin, "build_bytes", s->build_bytes, "at most 65536", error);
    else if (s->build_pages > UINT32_MAX)
      status = out_of_range(plugin, "build_pages", s->build_pages, "below 2^32", error);
    break;
  case TSR_ROLE_EVICTION:
    TSR_EVICTION_FACTS(TAKE_EVICTION)
    if (s->score_bits != 8 && s->score_bits != 16 && s->score_bits != 32)
      status = out_of_range(plugin, "score_bits", s->score_bits, "8, 16 or 32", error);
    else if (s->index_scores > TSR_SCORES_USES)
      status = out_of_range(plugin, "index_scores", s->index_scores, "a TSR_SCORES_", error);
    else if (plan->regions[0].name)
      status = tsr_fail(error, TSR_BAD_PLUGIN,
                        "%s/%s: P-14: its plan() asked for region %s: an eviction part has no memory; correct plan()",
                        tsr_role_names[plugin->role], plugin->name, plan->regions[0].name);
    break;
  default:
    break;
  }
  return status;
}

/* A part has code for wide keys where its author says so (TSR_KEYS_128): for all widths of values, or for some. */
static tsr_status refuse_width(const tsr_composition *t, const tsr_spec *spec, uint32_t role, tsr_error *error) {
  const tsr_plugin *plugin = t->part[role].plugin;
  bool has_some = false;
  for (const tsr_image *image = plugin->images; image->functions; image++)
    has_some |= image->key_bits == t->shape.key_bits;
  if (has_some)
    return tsr_spec_refuse(spec, "table", tsr_role_names[role], error,
                           "it stores keys of %u bits without values of %u bits: use a %s that stores key and value "
                           "apart (`tessera list %s`), or kind = set",
                           t->shape.key_bits, t->shape.payload_bits, tsr_role_names[role], tsr_role_names[role]);
  return tsr_spec_refuse(spec, "table", tsr_role_names[role], error,
                         "it has no code for key_bits = %u: use a %s that has it (`tessera list %s`), or key_bits = 64 "
                         "with a hash of the key",
                         t->shape.key_bits, tsr_role_names[role], tsr_role_names[role]);
}

static tsr_status plan_part(tsr_composition *t, const tsr_spec *spec, uint32_t role, tsr_error *error) {
  tsr_part *part = &t->part[role];
  tsr_error why = {TSR_OK, ""};
  if (!part->plugin) return TSR_OK;
  if (role == TSR_ROLE_PROBING) part->plan.probing.buckets = t->shape.buckets_min;
  planning = part->plugin;
  tsr_status status = part->plugin->plan(part->config, &t->shape, &part->plan, &why);
  planning = NULL;
  if (status == TSR_INCOMPATIBLE && why.message[0]) return refuse(spec, role, &why, error);
  if (status)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s/%s: P-13: its plan() returned status %d%s: a refusal is TSR_INCOMPATIBLE with a sentence",
                    tsr_role_names[role], part->plugin->name, (int)status, why.message[0] ? "" : " and no sentence");
  status = take_facts(&t->shape, part->plugin, &part->plan, error);
  if (status) return status;
  part->image = image_for(part->plugin, t->shape.key_bits, t->shape.payload_bits);
  if (!part->image && t->shape.key_bits > 64) return refuse_width(t, spec, role, error);
  if (role == TSR_ROLE_PROBING && t->shape.key_bits > 64 && tsr_is_whole(&t->shape))
    return tsr_spec_refuse(
        spec, "table", "probing", error,
        "it is made of whole batches, which are put in order by keys of at most 64 bits: use another "
        "probing, or key_bits = 64 with a hash of the key");
  const char *missing = part->image ? tsr_entry_missing(role, part->image) : "code";
  if (missing)
    return tsr_fail(error, TSR_BAD_PLUGIN, "%s/%s: P-08: it has no %s for key_bits = %u, value_bits = %u",
                    tsr_role_names[role], part->plugin->name, missing, t->shape.key_bits, t->shape.value_bits);
  return TSR_OK;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* The bytes that a page of this many buckets takes in all regions, or 0 where one of them could not be copied in
 * pieces of 16 bytes. */
static uint64_t page_bytes(const tsr_composition *t, uint64_t buckets) {
  uint64_t all = 0;
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);) {
    const uint64_t bytes = at.region->bytes_per_bucket * buckets;
    if (bytes % 16) return 0;
    all += bytes;
  }
  return all;
}

/* What asks for pages: the line, or where there is none the layout. */
static const char *pages_entry(const tsr_spec *spec) {
  return tsr_spec_get(spec, "table", "page_bytes") ? "page_bytes" : "layout";
}

static tsr_status refuse_pages(const tsr_composition *t, const tsr_spec *spec, const char *why, tsr_error *error) {
  return tsr_spec_refuse(spec, "table", pages_entry(spec), error, "a page of layout = %s and probing = %s %s",
                         t->part[TSR_ROLE_LAYOUT].plugin->name, t->part[TSR_ROLE_PROBING].plugin->name, why);
}

/* With short keys the page is the hash's top bits. So pages are a power of two, and at least four: two bits are left
 * over, one for the flag and one that tells a part of a hash from the markers of slots without a pair. */
enum { SHORT_PAGES = 4 };
static uint64_t short_pages(uint64_t pages) {
  uint64_t power = SHORT_PAGES;
  while (power < pages) power *= 2;
  return power;
}

/* Buckets of a page where a small table has pages for its short keys alone. A hash gives a page of distinct keys
 * more than its part, but hardly ever by more than four standard deviations. */
static uint64_t roomy_buckets(const tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  const double part = ceil((double)s->capacity / (double)s->pages), roomy = part + 4 * sqrt(part);
  const double most = roomy < (double)s->capacity ? roomy : (double)s->capacity;
  return (uint64_t)ceil(most / t->settings.load_factor / s->bucket_slots);
}

/* The scheme plans one page as if it were the table. It may round its buckets up, so there are as few pages as keep to
 * their size after that. */
static tsr_status plan_pages(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  enum { TRIES = 256, COPIED = 16 };
  tsr_shape *s = &t->shape;
  const uint64_t buckets = s->buckets_min, most = t->settings.pages.bytes;
  uint64_t unit = 1;
  if (s->sm && most > tsr_block_bytes(s->sm))
    return refuse_pages(t, spec, "has more bytes than a block of this device's threads: take page_bytes = auto", error);
  s->is_paged = 1;
  s->pages = 1 + page_bytes(t, buckets) / (most + 1);
  const uint64_t needed = s->pages;
  if (s->short_keys) s->pages = short_pages(s->pages);
  for (uint32_t try = 0; try < TRIES; try++) {
    const uint64_t least = s->short_keys && unit == 1 ? 2 : unit; /* bucket_share of one is no number of 64 bits */
    const uint64_t share = (buckets + s->pages - 1) / s->pages;
    const bool is_small = needed < SHORT_PAGES && s->pages == SHORT_PAGES && !t->is_as_saved;
    const uint64_t roomy = is_small ? roomy_buckets(t) : 0;
    s->buckets_min = ((share > roomy ? share : roomy) + unit - 1) / unit * unit;
    if (s->buckets_min < least) s->buckets_min = least;
    memset(&t->part[TSR_ROLE_PROBING].plan, 0, sizeof t->part[TSR_ROLE_PROBING].plan);
    tsr_status status = plan_part(t, spec, TSR_ROLE_PROBING, error);
    if (status) return status;
    const uint64_t bytes = page_bytes(t, s->buckets);
    if (bytes && bytes <= most) {
      s->buckets *= s->pages;
      return TSR_OK;
    }
    if (!bytes && unit == 1)
      unit = COPIED;
    else if (!bytes || share <= least)
      break;
    else
      s->pages += s->short_keys ? s->pages : 1 + s->pages / 64;
  }
  return refuse_pages(t, spec, "does not fit that many bytes: raise page_bytes, or make buckets smaller", error);
}

/* ---- What only the whole table knows --------------------------------------------------------- */

static void derive_guard(tsr_composition *t, bool asks_scheme, bool has_put) {
  tsr_shape *s = &t->shape;
  const bool has_place = asks_scheme || s->choices;
  s->has_lists = s->lists != 0 && !t->is_as_saved;
  s->is_mixed = s->concurrency == TSR_CONCURRENCY_MIXED;
  const bool is_cache = t->settings.kind == TSR_KIND_CACHE;
  s->keys_stay = !s->is_mixed && !s->moves_pairs && !is_cache;
  s->warp_sync = s->sm && (s->tile_lanes > 1 || (s->is_mixed && s->share_lanes > 1));
  if (!TSR_POLICY_LOOKS(s->duplicates))
    s->guard = TSR_GUARD_NONE;
  else if (s->moves_pairs || has_place || is_cache || (s->is_mixed && tsr_has_value_lists(&t->settings)))
    s->guard = TSR_GUARD_LOCK;
  else
    s->guard = TSR_GUARD_CLAIM;
  const bool has_stash = t->stash_buckets > 0;
  /* each item brings its own value that is stored apart, and has to put it or give it back */
  const bool keeps_first = s->duplicates == TSR_DUPLICATES_FIRST && !tsr_has_value_lists(&t->settings) &&
                           !t->settings.traits.has[TSR_HAS_VALUE_BYTES];
  t->facts = (tsr_core_facts){
      .ends_at_empty = s->ends_at_empty,
      .has_notes = s->has_notes,
      .ends_at_flag = s->has_flag && !s->lists && !s->has_notes, /* notes end a walk by themselves */
      .has_stash = has_stash,
      .moves_pairs = s->moves_pairs,
      .asks_for_room = s->asks_for_room,
      .choices = s->choices,
      .ordered = s->ordered,
      .has_place = has_place,
      .asks_scheme = asks_scheme,
      .claims_first = s->first_slots && !s->is_mixed,
      .places_first = s->guard == TSR_GUARD_NONE && has_place,
      .combines_later = s->moves_pairs && s->payload_bits && TSR_POLICY_COMBINES(s->duplicates) &&
                        s->duplicates != TSR_DUPLICATES_REPLACE,
      .makes_spans = s->sm && s->payload_bits && s->key_bits <= 64 &&
                     (TSR_POLICY_COMBINES(s->duplicates) || keeps_first) && !s->is_paged && !s->has_lists &&
                     !s->is_mixed,
      .falls_back_to_walk = has_stash || !s->can_exchange || s->duplicates == TSR_DUPLICATES_KEEP,
      .first_look_cached =
          s->tile_lanes == 1 && !s->is_mixed && (s->guard != TSR_GUARD_CLAIM || s->has_lists || s->bucket_bytes > 32),
      .whole_pairs = s->whole_pairs,
      .short_keys = s->short_keys,
      .counts_slots =
          (s->guard == TSR_GUARD_NONE || TSR_POLICY_TAKES_ANY(s->duplicates) || TSR_POLICY_MERGES(s->duplicates)) &&
          (s->counts_slots || !has_place) && has_put && !s->statistics,
  };
  if (s->guard == TSR_GUARD_NONE) return;
  /* one bit for every 4 slots, at most 2^23: a million bytes stay in L2, and about 2^18 keys that a GPU works on at
   * a time collide on one bit in 32. On a GPU at least 2^17, because evictions that wait for each other's bit end in
   * a jam */
  uint32_t log2_bits = s->sm ? 17 : 10;
  while (log2_bits < 23 && (4ull << log2_bits) < s->buckets * s->bucket_slots) log2_bits++;
  t->lock_shift = 64 - log2_bits;
  t->lock_bytes = (1ull << log2_bits) / 8;
}

/* ---- Value lists ----------------------------------------------------------------------------- */

/* The number that another region of the layout's has. There is room: tsr_fit_layout has looked. */
static uint32_t free_region(const tsr_composition *t) {
  const tsr_region *regions = t->part[TSR_ROLE_LAYOUT].plan.regions;
  uint32_t i = 0;
  while (i < TSR_REGIONS_MAX - 1 && regions[i].name) i++;
  return i;
}

/* How many units value lists need depends on how large they are: so the allocator plans for one unit first. */
static tsr_status plan_value_lists(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  tsr_shape *s = &t->shape;
  s->units_min = 1;
  tsr_status status = plan_part(t, spec, TSR_ROLE_ALLOCATOR, error);
  if (status) return status;
  const tsr_value_list list = tsr_value_list_of(&t->settings, &t->shape);
  if ((uint64_t)s->units_at_once * list.unit_values <= list.first)
    return tsr_spec_refuse(spec, "table", "allocator", error,
                           "the first buckets of values = buckets are larger than what this allocator gives at once: "
                           "lower [values] first or raise [allocator] unit_bytes");
  s->units_min = tsr_value_list_pool(&t->settings, s);
  memset(&t->part[TSR_ROLE_ALLOCATOR].plan, 0, sizeof t->part[TSR_ROLE_ALLOCATOR].plan);
  return plan_part(t, spec, TSR_ROLE_ALLOCATOR, error);
}

/* Handles are another of the layout's regions. */
static void furnish_value_lists(tsr_composition *t) {
  const tsr_value_list list = tsr_value_list_of(&t->settings, &t->shape);
  const uint32_t region = free_region(t);
  t->part[TSR_ROLE_LAYOUT].plan.regions[region] = (tsr_region){
      .name = "lists", .bytes_per_bucket = TSR_VALUE_LIST_WORDS * sizeof(uint64_t) * t->shape.bucket_places, .fill = 0};
  t->facts.value_list_first = list.first;
  t->facts.value_list_growth = list.growth;
  t->facts.value_list_units = list.units_max;
  t->facts.value_list_in_order = !t->shape.reuses_units;
  t->facts.value_list_region = region;
  t->facts.value_bytes = t->shape.value_bits / 8;
}

/* ---- Reserved keys --------------------------------------------------------------------------- */

/* In 0.1.0 a reserved key had its tail bucket and no other, where lists are made in bulk too. Its pairs there are seen as
 * they are in other tables, which is why such a composition has no lists. */
static void furnish_as_saved(tsr_composition *t) {
  tsr_region *offsets = &t->part[TSR_ROLE_PROBING].plan.regions[0];
  if (t->is_as_saved && t->shape.lists) offsets->bytes -= TSR_TAIL_RESERVED * sizeof(uint32_t);
}

/* A region that no part uses yet: the scheme's, or another part's where the scheme has all that there can be. */
static tsr_region *spare_region(tsr_composition *t, uint32_t *role, uint32_t *number) {
  static const uint32_t order[] = {TSR_ROLE_PROBING, TSR_ROLE_HASHER, TSR_ROLE_LAYOUT};
  for (uint32_t i = 0; i < sizeof order / sizeof *order; i++)
    for (*role = order[i], *number = 0; *number < TSR_REGIONS_MAX; ++*number)
      if (!t->part[*role].plan.regions[*number].name) return &t->part[*role].plan.regions[*number];
  return NULL;
}

/* Two bits for each bucket, or where buckets link for each unit, are another region (kernels/walk.cuh). Keys that come once
 * need none, nor do lists that are made in bulk. Where keys are short and pages come to the device in turn, the seed is one
 * that puts key 0 into the last page (../table/store.c), unless the hasher has memory that is not filled yet. */
static void furnish_meanings(tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  const bool walks = s->has_link || !t->facts.has_place,
             splits = s->short_keys && t->settings.pages.device_bytes && t->part[TSR_ROLE_HASHER].plan.regions[0].name;
  uint32_t role, region;
  if (t->is_as_saved || s->duplicates != TSR_DUPLICATES_KEEP || s->has_lists || splits || !walks) return;
  tsr_region *notes = spare_region(t, &role, &region);
  if (!notes) return;
  const uint64_t noted = s->has_link ? s->units : s->buckets;
  t->facts.has_meanings = 1;
  t->facts.meanings_role = role;
  t->facts.meanings_region = region;
  *notes = (tsr_region){.name = "meanings", .bytes = (noted / TSR_MEANINGS_OF_WORD + 1) * sizeof(uint32_t)};
}

/* ---- A filter before the table ---------------------------------------------------------------- */

/* Its blocks are another of the layout's regions, which belongs to no bucket. So no page has a part of it, and it
 * stays on the device where the pages of a table do not. It has as many bits per bucket as the keys need that the
 * capacity has per bucket. So a table that grows has a filter that grows, by the same code. */
static void furnish_filter(tsr_composition *t) {
  enum { BLOCK_BITS = 8 * TSR_FILTER_BLOCK_BYTES };
  const double keys = t->shape.bucket_slots * t->settings.load_factor; /* of a bucket */
  const uint32_t region = free_region(t);
  t->facts.filter_words = TSR_FILTER_BLOCK_BYTES / sizeof(uint32_t);
  t->facts.filter_functions = tsr_filter_functions(TSR_FILTER_BLOCK_BYTES, (double)t->settings.filter.before);
  t->facts.filter_bits = (uint32_t)ceil(keys * (double)t->settings.filter.before);
  t->facts.filter_region = region;
  const uint64_t bits = t->shape.buckets * t->facts.filter_bits;
  t->part[TSR_ROLE_LAYOUT].plan.regions[region] =
      (tsr_region){.name = "filter", .bytes = (bits + BLOCK_BITS - 1) / BLOCK_BITS * TSR_FILTER_BLOCK_BYTES};
}

/* ---- A cache --------------------------------------------------------------------------------- */

/* Scores are another of the layout's regions, so that each layout carries them. */
static void furnish_cache(tsr_composition *t) {
  const uint32_t region = free_region(t), slot_bits = t->shape.bucket_slots * t->shape.score_bits;
  t->facts.score_bits = t->shape.score_bits;
  t->facts.score_region = region;
  t->facts.has_one_bucket = t->shape.walk_max == 1;
  t->facts.weighs_new = t->shape.weighs_new;
  t->facts.expires = t->shape.expires;
  t->facts.tells_spare = t->settings.traits.has[TSR_HAS_VALUE_BYTES];
  t->part[TSR_ROLE_LAYOUT].plan.regions[region] = (tsr_region){
      .name = "scores", .bytes = TSR_CACHE_HEAD_BYTES + TSR_CACHE_END_BYTES, .bytes_per_bucket = slot_bits / 8};
  t->facts.owns_buckets = !t->shape.can_exchange;
  if (t->shape.can_exchange) return;
  t->facts.owner_region = free_region(t);
  t->part[TSR_ROLE_LAYOUT].plan.regions[t->facts.owner_region] =
      (tsr_region){.name = "owners", .bytes_per_bucket = sizeof(uint32_t)};
}

/* The bytes of all regions can be counted, so that what is allocated is what is filled. */
static tsr_status check_regions(const tsr_composition *t, tsr_error *error) {
  uint64_t all = t->lock_bytes, bytes;
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);)
    if (__builtin_mul_overflow(at.region->bytes_per_bucket, tsr_composition_buckets(t), &bytes) ||
        __builtin_add_overflow(bytes, at.region->bytes, &bytes) || __builtin_add_overflow(all, bytes, &all))
      return tsr_fail(error, TSR_BAD_PLUGIN,
                      "%s/%s: P-14: its plan() asked for region %s of %llu bytes and %llu for each of %llu buckets. "
                      "All regions together must be less than 2^64 bytes: correct plan()",
                      tsr_role_names[at.role], t->part[at.role].plugin->name, at.region->name,
                      (unsigned long long)at.region->bytes, (unsigned long long)at.region->bytes_per_bucket,
                      (unsigned long long)tsr_composition_buckets(t));
  return TSR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The default load factor is what the scheme reaches, a little below it, since threads that place pairs at the same
 * time do not see each other's. Where that would make a table several times as large, it is LOAD_MIN, and `check`
 * warns. */
enum { LOAD_STEPS = 20, LOAD_MIN = 5 /* of these steps */ };

/* The kind that parts and walk see. */
static uint32_t seen_kind(const tsr_settings *settings) {
  if (settings->kind == TSR_KIND_CACHE && !settings->value_bits) return TSR_KIND_SET;
  if (settings->filter.has_slots) return TSR_KIND_MULTISET; /* two keys may have one fingerprint */
  return settings->kind >= TSR_KINDS ? (uint32_t)TSR_KIND_MAP : (uint32_t)settings->kind;
}

static void fill_shape(tsr_composition *t, uint32_t sm) {
  const tsr_settings *settings = &t->settings;
  t->shape = (tsr_shape){
      .kind = seen_kind(settings),
      .key_bits = (uint32_t)settings->key_bits,
      .value_bits = (uint32_t)settings->value_bits,
      .payload_bits = tsr_has_value_lists(&t->settings) ? 0 : (uint32_t)settings->value_bits,
      .sm = sm,
      .duplicates = (uint32_t)settings->policy.duplicates,
      .tells_overflow =
          TSR_POLICY_COUNTS(settings->policy.duplicates) ||
          (settings->policy.duplicates == TSR_DUPLICATES_ADD && settings->policy.overflow == TSR_OVERFLOW_REPORT),
      .concurrency = (uint32_t)settings->concurrency,
      .statistics = (uint32_t)settings->statistics,
      .capacity = settings->capacity,
      .slots_min = (uint64_t)ceil(
          (double)(tsr_has_value_lists(&t->settings) ? tsr_value_list_keys(&t->settings) : settings->capacity) /
          settings->load_factor),
      .seed = settings->seed,
      .pages = 1};
}

/* A layout of short keys needs pages, whether or not batches go by them. Batches of lists of values do not, since
 * most of what they write is in no page. */
static void take_pages(tsr_composition *t) {
  t->settings.pages.bytes = TSR_PAGE_BYTES_AUTO;
  if (tsr_has_value_lists(&t->settings)) t->settings.pages.batch = 0;
}

static tsr_status plan_parts(tsr_composition *t, const tsr_spec *spec, uint32_t cpu_lanes, tsr_error *error) {
  tsr_shape *s = &t->shape;
  tsr_status status = plan_part(t, spec, TSR_ROLE_HASHER, error);
  if (status == TSR_OK) status = plan_part(t, spec, TSR_ROLE_LAYOUT, error);
  if (s->short_keys && !t->settings.pages.bytes) take_pages(t);
  if (status == TSR_OK) status = tsr_fit_layout(t, spec, error);
  if (status) return status;
  if (!s->sm) s->tile_lanes = s->share_lanes = cpu_lanes < s->bucket_places ? cpu_lanes : s->bucket_places;
  s->buckets_min = (s->slots_min + s->bucket_slots - 1) / s->bucket_slots;
  /* a list goes on in another unit only when the one before is full */
  s->units_min = s->has_link ? (s->capacity + s->bucket_slots - 1) / s->bucket_slots : s->buckets_min;
  status = tsr_has_value_lists(&t->settings) ? plan_value_lists(t, spec, error)
                                             : plan_part(t, spec, TSR_ROLE_ALLOCATOR, error);
  if (status == TSR_OK)
    status = t->settings.pages.bytes ? plan_pages(t, spec, error) : plan_part(t, spec, TSR_ROLE_PROBING, error);
  if (status == TSR_OK) status = plan_part(t, spec, TSR_ROLE_EVICTION, error);
  if (status) return status;
  t->settings.numbers.scores = t->settings.kind == TSR_KIND_INDEX ? s->index_scores : TSR_SCORES_NONE;
  t->stash_buckets = (t->settings.stash + s->bucket_slots - 1) / s->bucket_slots;
  t->tail_buckets = TSR_TAIL_RESERVED + t->stash_buckets;
  const tsr_probing_functions *probing = t->part[TSR_ROLE_PROBING].image->functions;
  const tsr_layout_functions *layout = t->part[TSR_ROLE_LAYOUT].image->functions;
  derive_guard(t, probing->place != NULL, layout->put != NULL);
  status = tsr_fit_parts(t, spec, error);
  if (status) return status;
  if (tsr_has_value_lists(&t->settings)) furnish_value_lists(t);
  if (t->settings.filter.before) furnish_filter(t);
  if (t->settings.kind == TSR_KIND_CACHE) furnish_cache(t);
  furnish_meanings(t);
  furnish_as_saved(t);
  return check_regions(t, error);
}

/* A filter has a hasher and no other part: its blocks are the core's. They are where a layout has its buckets. */
static tsr_status plan_filter(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  tsr_shape *s = &t->shape;
  const uint64_t blocks = tsr_filter_blocks(&t->settings);
  tsr_status status = plan_part(t, spec, TSR_ROLE_HASHER, error);
  if (status) return status;
  if (t->settings.filter.one_in &&
      tsr_filter_rate(t->settings.filter.block_bytes, t->settings.filter.functions, tsr_filter_bits(&t->settings)) *
              (double)t->settings.filter.one_in >
          1)
    return tsr_spec_refuse(
        spec, "filter", "one_in", error,
        "a key would need more than 48 bits: raise functions (now %llu) or block_bytes, or ask for less",
        (unsigned long long)t->settings.filter.functions);
  s->bucket_slots = s->bucket_places = s->tile_lanes = s->share_lanes = 1;
  s->bucket_bytes = (uint32_t)t->settings.filter.block_bytes;
  s->buckets = s->buckets_min = blocks;
  t->facts.is_filter = 1;
  t->facts.filter_words = s->bucket_bytes / sizeof(uint32_t);
  t->facts.filter_functions = (uint32_t)t->settings.filter.functions;
  t->part[TSR_ROLE_LAYOUT].plan.regions[0] = (tsr_region){.name = "blocks", .bytes_per_bucket = s->bucket_bytes};
  return check_regions(t, error);
}

/* A table in a GPU's L2 cache is faster the emptier it is, and takes little memory: a quarter full up to 16 MiB of slots, half
 * full up to 64 MiB. As its capacity grows the number of its slots never falls, so that a table that grows needs no rule of its
 * own. The rule is the same for all devices: a file of one has the slots that another expects. Measured:
 * ../../specs/results/small_loads.csv. */
static void choose_load(tsr_settings *s) {
  static const double least = 0.25, half = 0.5, usual = 0.8, few_bytes = 16 << 20, many_bytes = 64 << 20;
  const double pair_bytes = (double)(s->key_bits + (tsr_has_value_lists(s) ? 0 : s->value_bits)) / 8;
  const double bytes = (double)s->capacity * pair_bytes;
  const double load = bytes <= half * few_bytes ? fmax(least, bytes / few_bytes) : fmax(half, bytes / many_bytes);
  if (s->load_factor == TSR_LOAD_AUTO) s->load_factor = fmin(load, usual);
}

/* Whether the table must be planned again, since the default load factor was more than its scheme reaches. */
static bool lower_load(tsr_composition *t, const tsr_spec *spec) {
  const char *written = tsr_spec_get(spec, "table", "load_factor");
  if ((written && strcmp(written, "auto") != 0) || t->settings.kind == TSR_KIND_CACHE) return false;
  double load = floor(tsr_reached_load(&t->shape) * LOAD_STEPS);
  if (load < LOAD_MIN) load = LOAD_MIN;
  if (load / LOAD_STEPS >= t->settings.load_factor) return false;
  t->settings.load_factor = load / LOAD_STEPS;
  for (uint32_t role = 0; role < TSR_ROLES; role++) memset(&t->part[role].plan, 0, sizeof t->part[role].plan);
  return true;
}

/* ---- Larger than the device ------------------------------------------------------------------ */

/* A window as large as the bus needs to be as fast as it can. With small ones the first and the last run, which
 * nothing overlaps, would be a large part of all. */
static tsr_status plan_windows(tsr_composition *t, const tsr_spec *spec, tsr_error *error) {
  static const uint64_t enough = 32ull << 20;
  const uint64_t limit = t->settings.pages.device_bytes, all = tsr_composition_bytes(t);
  uint64_t page, behind;
  if (!limit || all <= limit) return TSR_OK;
  tsr_composition_measure_pages(t, &page, &behind);
  t->window_pages = 1;
  const uint64_t least = all - tsr_composition_host_bytes(t) + TSR_WINDOWS * (page + behind);
  if (limit < least)
    return tsr_spec_refuse(spec, "table", "device_bytes", error,
                           "must be at least %llu, for three of this table's pages and what the device keeps of it",
                           (unsigned long long)least);
  const uint64_t room = (limit - least) / TSR_WINDOWS + page;
  t->window_pages = (room < enough ? room : enough) / page;
  if (!t->window_pages) t->window_pages = 1;
  if (t->window_pages > t->shape.pages) t->window_pages = t->shape.pages;
  return TSR_OK;
}

/* ---- Composing ------------------------------------------------------------------------------- */

static tsr_status compose(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t cpu_lanes,
                          bool is_as_saved, tsr_composition **composition, tsr_error *error) {
  tsr_composition *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "no memory to compose a table");
  t->is_as_saved = is_as_saved;
  tsr_status status = tsr_settings_read(spec, options, &t->settings, error);
  if (status == TSR_OK) choose_load(&t->settings);
  for (uint32_t role = 0; status == TSR_OK && role < TSR_ROLES; role++)
    if (t->settings.part[role]) status = load_part(spec, options, role, t->settings.part[role], &t->part[role], error);
  memset(t->settings.part, 0, sizeof t->settings.part);
  if (status == TSR_OK) {
    fill_shape(t, sm);
    status = tsr_is_bloom(&t->settings) ? plan_filter(t, spec, error) : plan_parts(t, spec, cpu_lanes, error);
  }
  if (status == TSR_OK && !tsr_is_bloom(&t->settings) && lower_load(t, spec)) {
    fill_shape(t, sm);
    status = plan_parts(t, spec, cpu_lanes, error);
  }
  if (status == TSR_OK) status = tsr_composition_check(t, spec, error);
  if (status == TSR_OK) status = plan_windows(t, spec, error);
  if (status == TSR_OK) status = tsr_fit_windows(t, spec, error);
  if (status) {
    tsr_composition_free(t);
    return status;
  }
  *composition = t;
  return TSR_OK;
}

tsr_status tsr_compose(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t cpu_lanes,
                       tsr_composition **composition, tsr_error *error) {
  return compose(spec, options, sm, cpu_lanes, false, composition, error);
}

tsr_status tsr_compose_as_saved(const tsr_spec *spec, const tsr_options *options, uint32_t sm,
                                tsr_composition **composition, tsr_error *error) {
  return compose(spec, options, sm, 1, true, composition, error);
}

tsr_status tsr_compose_pool(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t lanes,
                            tsr_composition **composition, tsr_error *error) {
  tsr_composition *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "no memory to compose a pool");
  tsr_status status = tsr_settings_read_pool(spec, options, &t->settings, error);
  const char *name = t->settings.part[TSR_ROLE_ALLOCATOR];
  if (status == TSR_OK)
    status = load_part(spec, options, TSR_ROLE_ALLOCATOR, name, &t->part[TSR_ROLE_ALLOCATOR], error);
  memset(t->settings.part, 0, sizeof t->settings.part);
  if (status == TSR_OK) {
    t->shape = (tsr_shape){.sm = sm,
                           .statistics = (uint32_t)t->settings.statistics,
                           .capacity = t->settings.capacity,
                           .seed = t->settings.seed,
                           .tile_lanes = lanes,
                           .share_lanes = lanes,
                           .units_min = t->settings.capacity,
                           .pages = 1};
    status = plan_part(t, spec, TSR_ROLE_ALLOCATOR, error);
    t->shape.warp_sync = sm && lanes > 1;
  }
  if (status) {
    tsr_composition_free(t);
    return status;
  }
  *composition = t;
  return TSR_OK;
}

void tsr_composition_free(tsr_composition *t) {
  if (!t) return;
  for (uint32_t role = 0; role < TSR_ROLES; role++) free(t->part[role].config);
  free(t);
}

tsr_status tsr_composition_check_code(const tsr_composition *t, tsr_error *error) {
  for (uint32_t role = 0; t->shape.sm && role < TSR_ROLES; role++) {
    const tsr_part *part = &t->part[role];
    if (part->plugin && !part->image->device)
      return tsr_fail(error, TSR_NO_DEVICE,
                      "%s was built without nvcc and carries no device code: build it with CUDA, or use backend = cpu",
                      part->plugin->name);
  }
  return TSR_OK;
}
