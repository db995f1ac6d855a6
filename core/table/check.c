/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_spec_check, tsr_spec_resolve and tsr_spec_link: what a spec resolves to, without a device.
 */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "core/batch/parts.h"
#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/compose/backend.h"
#include "core/compose/compose.h"
#include "core/compose/filter.h"
#include "core/compose/reach.h"
#include "core/compose/registry.h"
#include "core/compose/value_list.h"
#include "core/cuda/link.h"
#include "core/cuda/linked.h"
#include "core/kernels/cache.h"
#include "core/kernels/pool.h"
#include "core/sized.h"
#include "core/spec/number.h"
#include "core/table/open.h"
#include "core/table/steps.h"
#include "core/table/values.h"
#include "core/tessera_devices.h"

/* A spec with an allocator and no layout is a pool's. */
static bool is_pool(const tsr_spec *spec) {
  return tsr_spec_get(spec, "table", "allocator") && !tsr_spec_get(spec, "table", "layout");
}

static bool is_filter(const tsr_composition *t) { return t->shape.kind == TSR_KIND_FILTER; }

static tsr_status compose(const tsr_spec *spec, const tsr_options *options, uint32_t sm, tsr_composition **composition,
                          tsr_error *error) {
  return is_pool(spec) ? tsr_compose_pool(spec, options, sm, 1, composition, error)
                       : tsr_compose(spec, options, sm, 1, composition, error);
}

/* ---- check ----------------------------------------------------------------------------------- */

static void print_parts(FILE *out, const tsr_composition *t) {
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    const tsr_part *part = &t->part[role];
    if (!part->plugin) continue;
    fprintf(out, "%-12s %s: %.*s\n", tsr_role_names[role], part->plugin->name,
            tsr_first_sentence(part->plugin->summary), part->plugin->summary);
    for (const tsr_parameter *p = part->plugin->parameters; p->name; p++) {
      uint64_t value = 0;
      memcpy(&value, (const char *)part->config + p->offset, p->type == TSR_PARAMETER_U32 ? 4 : 8);
      fprintf(out, "  %-18s %llu%s\n", p->name, (unsigned long long)value, value == p->initial ? " (default)" : "");
    }
  }
}

static bool is_auto(const char *value) { return strcmp(value, "auto") == 0; }

static void print_settings(FILE *out, const tsr_spec *spec, const tsr_composition *t) {
  const tsr_setting_info *rows;
  size_t count = tsr_settings_list(&rows);
  const bool is_index = t->settings.kind == TSR_KIND_INDEX;
  fprintf(out, "%-12s %s\n", "spec", tsr_spec_name(spec));
  for (size_t i = 0; i < count; i++) {
    const char *value = tsr_spec_get(spec, "table", rows[i].key);
    const char *shown =
        value || is_pool(spec) || is_filter(t) ? value : rows[i].initial; /* most defaults mean nothing there */
    if (strcmp(rows[i].key, "duplicates") == 0 &&
        (t->shape.kind == TSR_KIND_MULTIMAP || t->shape.duplicates == TSR_DUPLICATES_KEEP ||
         t->shape.kind == TSR_KIND_COUNTER))
      continue;
    if (strcmp(rows[i].key, "duplicates") == 0 && is_index) continue;
    if ((strcmp(rows[i].key, "numbering") == 0 || strcmp(rows[i].key, "reuse") == 0 ||
         strcmp(rows[i].key, "eviction") == 0) &&
        !is_index)
      continue;
    if (strcmp(rows[i].key, "overflow") == 0 && !value && t->shape.duplicates != TSR_DUPLICATES_ADD)
      continue; /* there are no sums */
    if (strcmp(rows[i].key, "key_bits") == 0 && tsr_spec_get(spec, "table", "key_columns"))
      fprintf(out, "  %-18s %u (of key_columns)\n", rows[i].key, t->shape.key_bits);
    else if (strcmp(rows[i].key, "capacity") == 0)
      fprintf(out, "  %-18s %llu\n", rows[i].key, (unsigned long long)t->shape.capacity);
    else if (strcmp(rows[i].key, "load_factor") == 0 && (!value || is_auto(value)) && !is_pool(spec) && !is_filter(t))
      fprintf(out, "  %-18s %.3g (%s)\n", rows[i].key, t->settings.load_factor, value ? value : "default");
    else if (shown && *shown)
      fprintf(out, "  %-18s %s%s\n", rows[i].key, shown, value ? "" : " (default)");
  }
}

static void print_devices(FILE *out, const tsr_spec *spec, uint32_t shards, uint64_t capacity) {
  const tsr_setting_info *rows;
  const size_t count = tsr_devices_settings_list(&rows);
  fprintf(out, "%-12s %u, for %llu pairs together; what follows is one of them\n", "shards", shards,
          (unsigned long long)capacity);
  for (size_t i = 0; i < count; i++) {
    const char *value = tsr_spec_get(spec, "devices", rows[i].key);
    fprintf(out, "  %-18s %s%s\n", rows[i].key, value ? value : rows[i].initial, value ? "" : " (default)");
  }
}

static void print_filter(FILE *out, const tsr_composition *t) {
  const tsr_settings *s = &t->settings;
  const double bits = tsr_filter_bits(s), rate = tsr_filter_rate(s->filter.block_bytes, s->filter.functions, bits);
  fprintf(out, "%-12s %llu of %llu bytes; a key sets %llu bits of one of them\n", "blocks",
          (unsigned long long)t->shape.buckets, (unsigned long long)s->filter.block_bytes,
          (unsigned long long)s->filter.functions);
  fprintf(out, "%-12s with %llu keys, %g bits for each, one absent key in %.0f seems present\n", "errs",
          (unsigned long long)s->capacity, bits, 1 / rate);
}

/* The filter before a table; how often it errs when the table holds what it is made for. */
static void print_filter_before(FILE *out, const tsr_composition *t) {
  const uint64_t block_bytes = t->facts.filter_words * sizeof(uint32_t), functions = t->facts.filter_functions;
  const uint64_t bytes = t->part[TSR_ROLE_LAYOUT].plan.regions[t->facts.filter_region].bytes;
  const double bits = 8 * (double)bytes / (double)tsr_value_list_keys(&t->settings);
  fprintf(out,
          "%-12s %llu blocks of %llu bytes before the table; a key sets %llu bits of one of them; with %llu keys one "
          "absent key in %.0f passes\n",
          "filter", (unsigned long long)(bytes / block_bytes), (unsigned long long)block_bytes,
          (unsigned long long)functions, (unsigned long long)tsr_value_list_keys(&t->settings),
          1 / tsr_filter_rate(block_bytes, functions, bits));
}

/* A table that is in the host's memory, and what its batches cost. */
static void print_windows(FILE *out, const tsr_composition *t) {
  const uint64_t travels = tsr_plan_travel_batch(t);
  fprintf(out,
          "%-12s %llu bytes of pages are in the host's memory; the device has %d windows of %llu pages, %llu bytes; an "
          "insert or erase has the pages of its keys come and go back, ",
          "larger", (unsigned long long)tsr_composition_host_bytes(t), TSR_WINDOWS, (unsigned long long)t->window_pages,
          (unsigned long long)tsr_composition_window_bytes(t));
  if (travels == UINT64_MAX)
    fprintf(out, "a find reads what it needs over the bus\n");
  else
    fprintf(out, "a find of at least %llu keys has them come, and a smaller one reads what it needs over the bus\n",
            (unsigned long long)travels);
}

static void print_cleaning(FILE *out, const tsr_composition *t) {
  const char *why_not = tsr_composition_why_uncleaned(t);
  if (why_not)
    fprintf(out, "%-12s never by itself: %s\n", "cleaned", why_not);
  else
    fprintf(out,
            "%-12s by an insert that finds more than half as many slots erased as empty, at most once for %llu erased "
            "keys; it needs memory for a second table meanwhile; until then absent keys are looked for as in a fuller "
            "table, and tsr_rehash cleans sooner\n",
            "cleaned", (unsigned long long)tsr_composition_clean_every(t));
  const uint64_t rehash_every = tsr_composition_rehash_every(t);
  if (rehash_every)
    fprintf(out,
            "%-12s %s: call tsr_rehash after %llu erased keys to keep finds of absent keys within half again of what "
            "they cost before\n",
            "rehash",
            why_not ? "nothing else takes erased slots away" : "erased slots cost more here than cleaning takes away",
            (unsigned long long)rehash_every);
  else
    fprintf(out, "%-12s not needed: erases leave finds of absent keys within half again of what they cost before\n",
            "rehash");
}

/* What a key with many pairs costs in a table that keeps all of them. */
static void print_hot_keys(FILE *out, const tsr_composition *t) {
  const bool keeps_all = t->shape.kind == TSR_KIND_MULTISET || t->shape.kind == TSR_KIND_MULTIMAP;
  if (!keeps_all || t->settings.filter.has_slots) return;
  if (!tsr_composition_passes_equal_keys(t))
    fprintf(out,
            "%-12s inserting r pairs of one key takes work in proportion to r; each item that counts, finds all or "
            "erases such a key reads all its pairs\n",
            "hot keys");
  else
    fprintf(
        out,
        "%-12s inserting r pairs of one key takes r * r / %u looks, as each insert passes the pairs before it: 2^20 "
        "pairs take %.1e; `run` and tsr_report.insert_long count inserts that passed 1024 buckets; for keys with "
        "thousands of pairs use lists made in bulk, such as those of the recipe "
        "join%s\n",
        "hot keys", 2 * t->shape.bucket_slots, 1099511627776.0 / (2.0 * t->shape.bucket_slots),
        t->shape.kind == TSR_KIND_MULTIMAP && !t->shape.has_link ? ", or values = buckets" : "");
}

static void print_pages(FILE *out, const tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  const uint32_t pair_bytes = (s->key_bits + s->payload_bits) / 8;
  const uint64_t least = tsr_plan_page_batch(t, 0), of_half = tsr_plan_page_batch(t, s->capacity / 2);
  fprintf(out, "%-12s %llu of %llu buckets each; ", "pages", (unsigned long long)s->pages,
          (unsigned long long)tsr_composition_page_buckets(t));
  if (least == UINT64_MAX) {
    fprintf(out, "inserts go by random access\n");
    return;
  }
  fprintf(out, "inserts of at least %llu pairs ", (unsigned long long)least);
  if (of_half != least)
    fprintf(out, "(%llu where the table is half full, %llu where it is full) ", (unsigned long long)of_half,
            (unsigned long long)tsr_plan_page_batch(t, s->capacity));
  fprintf(out, "go page by page, and need memory for two copies of the batch: %u bytes per pair, or %u with results\n",
          2 * pair_bytes, 2 * (pair_bytes + (uint32_t)sizeof(uint32_t)) + 1);
}

static void print_zones(FILE *out, const tsr_composition *t) {
  const uint64_t least = tsr_plan_zone_batch(t, 0);
  const tsr_zones zones = tsr_plan_zones(t, 0);
  const uint32_t value_bytes = t->shape.payload_bits / 8;
  if (!tsr_plan_has_zones(t, TSR_BULK_find)) return;
  if (least == UINT64_MAX)
    fprintf(out, "%-12s finds and erases go by random access\n", "zones");
  else
    fprintf(out,
            "%-12s %u of %llu bytes; finds and erases of at least %llu keys are sorted by them, and need memory for %u "
            "bytes per key\n",
            "zones", zones.count, (unsigned long long)(tsr_composition_store_bytes(t) / zones.count),
            (unsigned long long)least, t->shape.key_bits / 8 + (uint32_t)sizeof(uint16_t) + value_bytes + 1);
}

static void print_stages(FILE *out, const char *title, const tsr_stages *stages) {
  tsr_stage_text text[TSR_STAGES_MAX];
  const uint32_t count = tsr_plan_describe(stages, text);
  fprintf(out, "%s\n", title);
  for (uint32_t i = 0; i < count; i++) fprintf(out, "  %-18s %s\n", text[i].stage, text[i].sentence);
}

static void print_plan_of_finds(FILE *out, const tsr_composition *t) {
  const uint32_t op = t->facts.is_filter ? TSR_BULK_contains : TSR_BULK_find;
  const uint64_t zones = tsr_plan_zone_batch(t, 0);
  if (!tsr_plan_has_zones(t, op) || zones == UINT64_MAX) return;
  const tsr_batch found = {.op = op, .n = zones};
  const tsr_stages finds = tsr_plan_batch(t, &found);
  print_stages(out, "a large find", &finds);
}

/* The stages of an insert that is large enough for all of them. Results may make it go another way. */
static void print_plan(FILE *out, const tsr_composition *t) {
  const uint64_t pages = tsr_plan_page_batch(t, 0), marks = tsr_plan_mark_batch(t);
  const bool is_random = t->settings.kind == TSR_KIND_INDEX && pages == UINT64_MAX;
  const uint32_t op = is_random ? TSR_BULK_find_or_insert : TSR_BULK_insert;
  const uint64_t slots = t->shape.buckets * t->shape.bucket_slots;
  tsr_batch batch = {.op = op, .n = TSR_SPANS_BATCH, .is_clear = true};
  if (pages != UINT64_MAX && pages > batch.n) batch.n = pages;
  if (pages != UINT64_MAX && slots > batch.n) batch.n = slots; /* a smaller one with results may go another way */
  if (marks != UINT64_MAX && marks > batch.n) batch.n = marks;
  const tsr_stages stages = tsr_plan_batch(t, &batch);
  batch.has_answers = true;
  const tsr_stages answered = tsr_plan_batch(t, &batch);
  const bool differs = answered.order != stages.order || answered.mark != stages.mark;
  print_stages(out, "a large insert", differs ? &stages : &answered);
  if (differs) print_stages(out, "a large insert with results", &answered);
}

static void print_fingerprints(FILE *out, const tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  fprintf(out,
          "%-12s of %u bits, %.1f bits per key; at capacity about 1 of %.0f absent keys seems present; a key fits at "
          "most %u times\n",
          "fingerprints", s->fingerprint_bits, 8.0 * s->bucket_bytes * (double)s->buckets / (double)s->capacity,
          1 / tsr_fingerprint_rate(s, (double)s->capacity), 2 * s->bucket_slots);
}

static void print_memory(FILE *out, const tsr_composition *t) {
  const tsr_shape *s = &t->shape;
  if (is_filter(t))
    print_filter(out, t);
  else if (s->buckets)
    fprintf(out, "%-12s %llu of %u slots, %u bytes each; %llu slots for %llu pairs; %llu tail buckets\n", "buckets",
            (unsigned long long)s->buckets, s->bucket_slots, s->bucket_bytes,
            (unsigned long long)(s->buckets * s->bucket_slots), (unsigned long long)s->capacity,
            (unsigned long long)t->tail_buckets);
  if (s->fingerprint_bits) print_fingerprints(out, t);
  if (s->is_paged) print_pages(out, t);
  print_zones(out, t);
  if (t->window_pages) print_windows(out, t);
  if (t->facts.filter_bits) print_filter_before(out, t);
  if (s->build_pages)
    fprintf(out,
            "%-12s of %llu pages of keys; inserts build the whole table, and need memory for two copies of the batch\n",
            "built", (unsigned long long)s->build_pages);
  if (s->has_lists)
    fprintf(out, "%-12s %llu; inserts make them in bulk, and need memory for %s\n", "lists",
            (unsigned long long)s->lists, s->sorts_lists ? "two copies of the batch" : "a count of each");
  if (tsr_has_value_lists(&t->settings))
    fprintf(out,
            "%-12s of at least %llu value%s, each further bucket %g times as long, at most %u; room for %llu keys and "
            "%llu values of them\n",
            "values", (unsigned long long)t->settings.values.first, t->settings.values.first == 1 ? "" : "s",
            t->settings.values.growth, t->facts.value_list_units * (s->unit_bytes / t->facts.value_bytes),
            (unsigned long long)tsr_value_list_keys(&t->settings), (unsigned long long)s->capacity);
  if (s->units) fprintf(out, "%-12s %llu of %u bytes each\n", "units", (unsigned long long)s->units, s->unit_bytes);
  for (tsr_region_walk at = {0}; tsr_next_region(t, &at);)
    fprintf(out, "  %-18s %llu bytes\n", at.region->name, (unsigned long long)tsr_region_bytes(t, at.region));
  tsr_values_of(t)->describe(t, out);
  if (t->lock_bytes) fprintf(out, "  %-18s %llu bytes\n", "key locks", (unsigned long long)t->lock_bytes);
  fprintf(out, "  %-18s %llu bytes\n", "in all", (unsigned long long)tsr_composition_bytes(t));
}

static void print_load(FILE *out, const tsr_composition *t) {
  const double reached = tsr_reached_load(&t->shape);
  if (t->shape.has_link || t->settings.load_factor <= reached) return; /* lists get longer */
  fprintf(
      out,
      "%-12s load_factor = %g, and %llu pairs by probing = %s in buckets of %u slots reach %.2f: above it pairs find "
      "no place; lower load_factor, raise [layout] bucket_slots, or add stash = 1000 or growth = double\n",
      "warning", t->settings.load_factor, (unsigned long long)t->shape.capacity, t->part[TSR_ROLE_PROBING].plugin->name,
      t->shape.bucket_slots, reached);
}

/* What the parts carry, whatever the spec asks for. */
static const char *kinds_of(const tsr_composition *t) {
  const bool can_list_values = !t->shape.moves_pairs && !t->shape.has_link;
  if (is_filter(t) || t->settings.filter.has_slots) return "filter";
  if (t->shape.has_lists) return "multiset, multimap; set and map with duplicates = promise_unique";
  if (tsr_is_whole(&t->shape)) return "set and map with duplicates = promise_unique";
  if (t->shape.holds_many && can_list_values)
    return "set, map, counter, index, multiset, multimap, its values inline or in buckets";
  if (can_list_values) return "set, map, counter, index, multimap with values = buckets";
  return t->shape.holds_many ? "set, map, counter, index, multiset, multimap" : "set, map, counter, index";
}

static void print_constants(FILE *out, const tsr_composition *t) {
  static const char *const guards[] = {"none", "the claim's own CAS", "key locks"};
  fprintf(out, "%-12s", "constants");
#define PRINT_FACT(fact) fprintf(out, " " #fact "=%u", t->shape.fact);
#define PRINT_CORE_FACT(fact) fprintf(out, " " #fact "=%u", t->facts.fact);
  TSR_FACTS(PRINT_FACT)
  TSR_CORE_FACTS(PRINT_CORE_FACT)
  fprintf(out, "\n");
  if (!is_filter(t)) fprintf(out, "%-12s %s\n", "uniqueness", guards[t->shape.guard]);
  fprintf(out, "%-12s %s\n%-12s %s\n", "overlap", tsr_composition_overlap(t), "kinds", kinds_of(t));
  if (!is_filter(t)) print_cleaning(out, t);
  print_hot_keys(out, t);
}

/* How many steps of all its calls are in the file of code that was linked ahead. */
static void print_code(FILE *out, const tsr_composition *t) {
  tsr_step_list list = {.count = 0};
  uint32_t ahead = 0;
  if (!t->shape.sm || !tsr_linked_is_there()) return;
  tsr_steps_of_calls(t, (1u << TSR_CALL_ROWS) - 1u, &list);
  for (uint32_t i = 0; i < list.count; i++) {
    tsr_cache_key key;
    ahead += tsr_cuda_ahead_key(t, list.step[i], &key, NULL) == TSR_OK && tsr_linked_has(&key);
  }
  fprintf(out, "%-12s %u of %u kernels were linked ahead for sm_%u; others are linked when they are first used\n",
          "code", ahead, list.count, tsr_linked_architecture(t->shape.sm));
}

/* The compute capability that the spec's backend would compose for, and why. */
static uint32_t target_of(const tsr_settings *settings, char *why, size_t bytes) {
  tsr_device_info info = {0};
  tsr_error error = {TSR_OK, ""};
  if (settings->target.backend == TSR_BACKEND_CPU) {
    snprintf(why, bytes, "cpu, as the spec says");
    return 0;
  }
  if (tsr_device_describe((int)settings->target.device, &info, &error) == TSR_OK &&
      tsr_cuda_has_code(&error) == TSR_OK) {
    snprintf(why, bytes, "cuda on %s", info.name);
    return info.sm;
  }
  if (settings->target.backend == TSR_BACKEND_AUTO) {
    snprintf(why, bytes, "cpu, because: %.900s", error.message);
    return 0;
  }
  snprintf(why, bytes, "cuda; here checked for sm_90, because: %.900s", error.message);
  return 90;
}

/* A composition, and for what it was made. */
typedef struct resolved {
  tsr_composition *composition; /* of one shard, where there are some */
  uint32_t sm, shards;
  uint64_t capacity;           /* of all shards */
  char why[TSR_MESSAGE_BYTES]; /* that backend */
} resolved;

static tsr_status resolve(const char *call, const tsr_spec *spec, const tsr_options *options, resolved *r,
                          tsr_error *error) {
  tsr_settings settings;
  tsr_options known;
  tsr_status status = tsr_take_over(call, &known, options, sizeof known, error);
  if (status) return status;
  status = is_pool(spec) ? tsr_settings_read_pool(spec, &known, &settings, error)
                         : tsr_settings_read(spec, &known, &settings, error);
  if (status) return status;
  r->sm = target_of(&settings, r->why, sizeof r->why);
  r->shards = settings.sharing.devices.count != TSR_DEVICES_ALL
                  ? settings.sharing.devices.count
                  : tsr_device_count(r->sm ? &tsr_cuda_backend : &tsr_cpu_backend);
  r->capacity = settings.capacity;
  if (r->shards) known.capacity = tsr_shard_capacity(&settings, r->shards);
  return compose(spec, &known, r->sm, &r->composition, error);
}

tsr_status tsr_spec_check(const tsr_spec *spec, const tsr_options *options, char **text, tsr_error *error) {
  if (!spec || !text) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_check needs a spec and a place for the text");
  resolved r;
  tsr_status status = resolve("tsr_spec_check", spec, options, &r, error);
  if (status) return status;
  tsr_composition *t = r.composition;
  char *written = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&written, &bytes);
  tsr_plain_numbers numbers;
  tsr_plain_numbers_begin(&numbers);
  if (out) {
    print_settings(out, spec, t);
    print_parts(out, t);
    fprintf(out, "%-12s %s\n", "backend", r.why);
    if (r.shards) print_devices(out, spec, r.shards, r.capacity);
    print_memory(out, t);
    if (!is_pool(spec)) print_plan(out, t);
    if (!is_pool(spec)) print_plan_of_finds(out, t);
    if (!is_pool(spec) && !is_filter(t)) print_load(out, t);
    if (!is_pool(spec)) print_constants(out, t);
    if (!is_pool(spec)) print_code(out, t);
  }
  tsr_plain_numbers_end(&numbers);
  tsr_composition_free(t);
  if (!out || fclose(out) != 0) {
    free(written);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of a check");
  }
  *text = written;
  return TSR_OK;
}

/* ---- resolve --------------------------------------------------------------------------------- */

/* Of [table], what is no part of a composition: sizes, seed, where, and the widths, which tsr_table_info tells. */
static bool is_composed(const char *key) {
  static const char *const others[] = {"key_bits",    "key_columns", "value_bits", "value_bytes", "capacity",
                                       "load_factor", "seed",        "backend",    "device",      "statistics"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(key, others[i]) == 0) return false;
  return true;
}

/* Whether two values say the same: numbers may be written in several ways. */
static bool is_same(const char *left, const char *right) {
  uint64_t l, r;
  return strcmp(left, right) == 0 || (tsr_parse_u64(left, &l) && tsr_parse_u64(right, &r) && l == r);
}

/* Those of a section that are no defaults. */
static void print_section(FILE *out, const tsr_spec *spec, const char *section, const tsr_setting_info *rows,
                          size_t count) {
  for (size_t i = 0; i < count; i++) {
    const char *value = tsr_spec_get(spec, section, rows[i].key);
    uint64_t number;
    if (!is_composed(rows[i].key) || !value || (rows[i].initial && is_same(value, rows[i].initial))) continue;
    fprintf(out, "%s%s.%s=", ftell(out) > 0 ? " " : "", section, rows[i].key);
    if (tsr_parse_u64(value, &number))
      fprintf(out, "%llu", (unsigned long long)number);
    else
      fputs(value, out);
  }
}

static void print_words(FILE *out, const tsr_spec *spec, const tsr_composition *t) {
  const tsr_setting_info *rows;
  size_t count = tsr_settings_list(&rows);
  print_section(out, spec, "table", rows, count);
  count = tsr_devices_settings_list(&rows);
  print_section(out, spec, "devices", rows, count);
  count = tsr_values_settings_list(&rows);
  print_section(out, spec, "values", rows, count);
  count = tsr_filter_settings_list(&rows);
  print_section(out, spec, "filter", rows, count);
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    const tsr_part *part = &t->part[role];
    for (const tsr_parameter *p = part->plugin ? part->plugin->parameters : NULL; p && p->name; p++) {
      uint64_t value = 0;
      memcpy(&value, (const char *)part->config + p->offset, p->type == TSR_PARAMETER_U32 ? 4 : 8);
      if (!t->shape.sm && strcmp(p->name, "tile_lanes") == 0) value = t->shape.tile_lanes;
      fprintf(out, " %s.%s=%llu", tsr_role_names[role], p->name, (unsigned long long)value);
    }
  }
}

tsr_status tsr_spec_resolve(const tsr_spec *spec, const tsr_options *options, tsr_resolution *resolution,
                            tsr_error *error) {
  if (!spec || !resolution)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_resolve needs a spec and a place for what it composes");
  if (is_pool(spec))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: names an allocator and no layout, and is thereby no table",
                    tsr_spec_name(spec));
  resolved r;
  tsr_status status = resolve("tsr_spec_resolve", spec, options, &r, error);
  if (status) return status;
  const tsr_composition *t = r.composition;
  const uint32_t parts = r.shards ? r.shards : 1;
  const uint64_t inserts = t->shape.is_paged ? tsr_plan_page_batch(t, 0) : UINT64_MAX;
  const uint64_t finds = tsr_plan_has_zones(t, TSR_BULK_find) ? tsr_plan_zone_batch(t, 0) : UINT64_MAX;
  tsr_resolution ours = {.sm = r.sm,
                         .capacity = r.shards ? r.capacity : t->shape.capacity,
                         .slots = parts * tsr_composition_slots(t),
                         .bytes = parts * tsr_composition_bytes(t),
                         .bucket_slots = t->shape.bucket_slots,
                         .bucket_bytes = t->shape.bucket_bytes,
                         .tile_lanes = t->shape.tile_lanes,
                         .load_factor = t->settings.load_factor,
                         .reached_load = tsr_reached_load(&t->shape),
                         .page_batch = inserts == UINT64_MAX ? 0 : inserts,
                         .zone_batch = finds == UINT64_MAX ? 0 : finds,
                         .is_built = tsr_is_whole(&t->shape),
                         .has_short_keys = t->shape.short_keys};
  size_t bytes = 0;
  FILE *out = open_memstream(&ours.text, &bytes);
  tsr_plain_numbers numbers;
  tsr_plain_numbers_begin(&numbers);
  if (out) print_words(out, spec, t);
  tsr_plain_numbers_end(&numbers);
  tsr_composition_free(r.composition);
  if (!out || fclose(out) != 0) {
    free(ours.text);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of a composition");
  }
  tsr_hand_over(resolution, &ours, sizeof ours);
  return TSR_OK;
}

void tsr_resolution_free(tsr_resolution *resolution) {
  free(resolution->text);
  resolution->text = NULL;
}

/* ---- link ------------------------------------------------------------------------------------ */

/* What is told of a link of its own stands behind the kernels of the cubin. */
static tsr_status add_step(const tsr_composition *t, const tsr_step *step, bool use_cache, tsr_link *link,
                           tsr_error *error) {
  tsr_link made = {0};
  tsr_status status = tsr_cuda_link_step(t, step, use_cache, &made, error);
  if (status) return status;
  tsr_kernel_info *longer = realloc(link->kernels, (link->kernel_count + 1) * sizeof *longer);
  if (longer) {
    longer[link->kernel_count] = made.kernels[0];
    longer[link->kernel_count++].name = step->kernel; /* lives as long as the library; the variant does not matter */
    link->kernels = longer;
    link->other_functions += made.other_functions;
    link->glue_ms += made.glue_ms;
    link->link_ms += made.link_ms;
  }
  tsr_link_free(&made);
  return longer ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the facts of a kernel");
}

tsr_status tsr_spec_link(const tsr_spec *spec, const tsr_options *options, uint32_t sm, bool use_cache, tsr_link *link,
                         tsr_error *error) {
  if (!spec || !link) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_link needs a spec and a place for the code");
  tsr_composition *t;
  tsr_kernels kernels;
  tsr_options known;
  tsr_link ours = {0};
  tsr_status status = tsr_take_over("tsr_spec_link", &known, options, sizeof known, error);
  if (status == TSR_OK) status = compose(spec, &known, sm, &t, error);
  if (status) return status;
  const tsr_steps *set = is_pool(spec) ? &tsr_pool_steps : &tsr_bulk_steps;
  const uint32_t count = is_pool(spec) ? TSR_POOL_OPERATIONS : (uint32_t)TSR_BULKS_OF(&t->shape);
  status = tsr_step_kernels(set->step, count, t->shape.key_bits, t->shape.payload_bits, &kernels, error);
  const tsr_composition *tables[] = {t};
  if (status == TSR_OK) status = tsr_cuda_link(tables, 1, &kernels, sm, use_cache, &ours, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_PAGES_STEPS; step++)
    if (tsr_plan_has_step(t, step)) status = add_step(t, &tsr_pages_steps.step[step], use_cache, &ours, error);
  for (uint32_t step = 0; status == TSR_OK && step < TSR_CACHE_STEP_COUNT && t->settings.kind == TSR_KIND_CACHE; step++)
    status = add_step(t, &tsr_cache_steps.step[step], use_cache, &ours, error);
  if (status == TSR_OK && tsr_plan_marks(t, TSR_BULK_insert))
    status = add_step(t, TSR_BULK_STEP(TSR_BULK_mark), use_cache, &ours, error);
  if (status == TSR_OK && t->settings.upkeep.growth == TSR_GROWTH_SPLIT)
    status = add_step(t, TSR_BULK_STEP(TSR_BULK_split), use_cache, &ours, error);
  if (status) tsr_link_free(&ours);
  tsr_composition_free(t);
  if (status == TSR_OK) tsr_hand_over(link, &ours, sizeof ours);
  return status;
}
