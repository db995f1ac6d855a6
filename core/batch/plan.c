/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a batch (plan.h). Where the numbers come from: ../design/0014-pages.md, 0012-hot-keys.md, 0019-kinds.md,
 * 0024-larger-than-the-gpu.md. Read next: order.c.
 */
#include "core/batch/plan.h"

#include "core/batch/steps.h"
#include "core/compose/value_list.h"

/* ---- Pages ----------------------------------------------------------------------------------- */

/* A third more than a page has slots, so that keys are found soon. */
uint32_t tsr_plan_set_room(const tsr_composition *c) {
  const tsr_shape *s = &c->shape;
  if (!s->sm || !s->is_paged || !s->payload_bits || s->statistics || !TSR_POLICY_MERGES(s->duplicates)) return 0;
  const uint64_t slots = tsr_composition_page_buckets(c) * s->bucket_slots, room = (slots + slots / 3) / 4 * 4 + 256;
  return room * ((s->key_bits + s->payload_bits) / 8) <= tsr_block_bytes(s->sm) ? (uint32_t)room : 0;
}

/* Whether keys may repeat and there are fewer pages than blocks that a GPU runs at a time. A batch of any size may then be
 * in few pages. False where page_batch says what to do. */
static bool has_few_pages(const tsr_composition *c) {
  enum { PAGES = 256 };
  return c->shape.sm && TSR_POLICY_LOOKS(c->shape.duplicates) && c->shape.pages < PAGES &&
         c->settings.pages.batch == TSR_PAGE_BATCH_AUTO;
}

/* The share of a table from which on a batch pays on a GPU, in thousandths of its slots, by how many of them `held`
 * pairs fill: the fuller they are, the slower random access is. An empty table's pages need not be read. */
static uint64_t break_even(const tsr_shape *s, uint64_t slots, uint64_t held) {
  enum { EMPTY = 50, USUAL = 74, MOST = 115, OF_FULL = 30, FULL = 925, RISE = 190, RISES = 44 };
  if (TSR_POLICY_LOOKS(s->duplicates)) return USUAL;
  if (!held || !slots) return EMPTY;
  const uint64_t full = held * 1000 / slots, share = full < FULL ? OF_FULL + (FULL - full) * RISES / RISE : OF_FULL;
  return share < MOST ? share : MOST;
}

/* The least batch, in pairs, that is worth the steps of pages. If a sample has to judge it, it must be larger. Numbers are
 * written by a second pass over the pages, so an index gains only in very large batches of narrow keys, or where numbers follow the
 * order of first items. */
static uint64_t least_batch(const tsr_composition *c) {
  enum { NARROW_BITS = 64 };
  static const uint64_t of_gpu = 1u << 20, of_first_seen = 1u << 23, of_numbers = 1u << 27, if_judged = 1u << 22,
                        of_cpu = 1u << 23;
  const tsr_shape *s = &c->shape;
  if (!s->sm) return of_cpu;
  if (c->settings.kind == TSR_KIND_INDEX && c->settings.numbers.numbering == TSR_NUMBERING_FIRST_SEEN)
    return of_first_seen;
  if (c->settings.kind == TSR_KIND_INDEX) return s->key_bits + s->payload_bits > NARROW_BITS ? UINT64_MAX : of_numbers;
  return TSR_POLICY_MERGES(s->duplicates) || !TSR_POLICY_LOOKS(s->duplicates) ? of_gpu : if_judged;
}

/* A page is read and written once for all its pairs, so a batch pays from some share of the table on. The CPU gains
 * only its caches. There, only inserts that look for their key under its lock profit, from a quarter of the table on:
 * they wait for memory one after the other, while other inserts overlap. */
uint64_t tsr_plan_page_batch(const tsr_composition *c, uint64_t held) {
  enum { CPU_SHARE = 4 };
  const tsr_shape *s = &c->shape;
  const uint64_t slots = s->buckets * s->bucket_slots, wanted = c->settings.pages.batch;
  const uint64_t share = s->sm ? slots / 1000 * break_even(s, slots, held) : slots / CPU_SHARE;
  const uint64_t least = least_batch(c);
  if (!s->is_paged || wanted == 0) return UINT64_MAX;
  if (wanted != TSR_PAGE_BATCH_AUTO) return wanted;
  if (!s->sm && !(c->facts.moves_pairs && TSR_POLICY_LOOKS(s->duplicates))) return UINT64_MAX;
  if (has_few_pages(c) && !tsr_plan_set_room(c)) return UINT64_MAX; /* blocks that share a page help */
  return share > least ? share : least;
}

/* Over a bus a random read of a find costs as much as READ_BYTES in sequence. */
uint64_t tsr_plan_travel_batch(const tsr_composition *c) {
  enum { READ_BYTES = 256 };
  const uint64_t wanted = c->settings.pages.batch;
  if (!c->window_pages || wanted == 0) return UINT64_MAX;
  return wanted != TSR_PAGE_BATCH_AUTO ? wanted : 1 + tsr_composition_host_bytes(c) / READ_BYTES;
}

/* ---- Zones ----------------------------------------------------------------------------------- */

/* All that a find reads of its key must be in one zone: the page of a table, or the block of a filter. An index combines to
 * write its numbers. */
bool tsr_plan_has_zones(const tsr_composition *c, uint32_t op) {
  const bool is_local = c->facts.is_filter || (c->shape.is_paged && !c->window_pages);
  const bool looks = op == TSR_BULK_find || op == TSR_BULK_contains || op == TSR_BULK_count || op == TSR_BULK_note ||
                     op == TSR_BULK_erase;
  const bool writes_numbers = op == TSR_BULK_combine && c->settings.kind == TSR_KIND_INDEX;
  return (looks || writes_numbers) && is_local && c->shape.key_bits <= 64 && !c->shape.has_lists &&
         !tsr_has_value_lists(&c->settings);
}

/* The cache of the device, or of a usual one. */
static uint64_t cache_of(const tsr_composition *c, uint64_t cache_bytes) {
  static const uint64_t of_gpu = 50u << 20, of_cpu = 32u << 20;
  return cache_bytes ? cache_bytes : c->shape.sm ? of_gpu : of_cpu;
}

/* A zone takes at most this share of the cache, because the keys and the answers pass through it as well. */
tsr_zones tsr_plan_zones(const tsr_composition *c, uint64_t cache_bytes) {
  enum { LEAST = 16, SHARE = 2, OF = 5 };
  const uint64_t zone_bytes = cache_of(c, cache_bytes) / OF * SHARE;
  const uint64_t wanted = tsr_composition_store_bytes(c) / zone_bytes + 1, least = wanted < LEAST ? LEAST : wanted;
  tsr_zones zones = {.pages = c->shape.is_paged ? c->shape.pages : TSR_ZONES_MAX};
  while (((zones.pages - 1) >> zones.shift) + 1 > TSR_ZONES_MAX) zones.shift++;
  while (((zones.pages - 1) >> (zones.shift + 1)) + 1 >= least) zones.shift++;
  zones.count = (uint32_t)((zones.pages - 1) >> zones.shift) + 1;
  return zones;
}

/* The order pays if the looks that become hits of the cache are worth the bytes that it moves. So the batch must ask for
 * a good part of the table's sectors: one key per TABLE_BYTES of the table. Wide pairs move more bytes, and lanes that
 * share a bucket take more instructions; either needs more keys, and both together never gain. Measured on an H100
 * and an H200: ../design/0032-zones.md. */
uint64_t tsr_plan_zone_batch(const tsr_composition *c, uint64_t cache_bytes) {
  enum { NARROW_BYTES = 40, TABLE_BYTES = 128, TABLE_BYTES_IF_DEAR = 24 }; /* moved per key; of the table per key */
  static const uint64_t least = 1u << 23, least_if_wide = 1u << 25, least_if_shared = 1u << 26;
  const tsr_shape *s = &c->shape;
  const uint64_t wanted = c->settings.pages.find_batch, bytes = tsr_composition_store_bytes(c);
  const uint32_t moved = 4 * s->key_bits / 8 + 3 * s->payload_bits / 8 + 2 * (uint32_t)sizeof(uint16_t);
  const bool is_wide = moved > NARROW_BYTES, shares = s->tile_lanes > 1;
  if (wanted != TSR_PAGE_BATCH_AUTO) return wanted ? wanted : UINT64_MAX;
  if (!s->sm || bytes < cache_of(c, cache_bytes) || s->tile_lanes > 2 || (is_wide && shares)) return UINT64_MAX;
  const uint64_t share = bytes / (is_wide || shares ? TABLE_BYTES_IF_DEAR : TABLE_BYTES);
  const uint64_t floor = is_wide ? least_if_wide : shares ? least_if_shared : least;
  return share > floor ? share : floor;
}

/* ---- Filters, which are the table or stand before it ----------------------------------------- */

bool tsr_plan_marks(const tsr_composition *c, uint32_t op) {
  return c->facts.filter_bits && (op == TSR_BULK_insert || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply);
}

/* A page of a filter is as large as a tile of keys fills at 12 bits per key; a table's own pages keep their size. */
uint64_t tsr_plan_mark_pages(const tsr_composition *c) {
  enum { PAGE_BLOCKS = 256 };
  if (c->shape.is_paged) return c->shape.pages;
  return (tsr_composition_filter_blocks(c) + PAGE_BLOCKS - 1) / PAGE_BLOCKS;
}

/* The blocks of a page's keys; two of them may also be a neighbour's. */
uint32_t tsr_plan_mark_bytes(const tsr_composition *c) {
  const uint64_t blocks = tsr_composition_filter_blocks(c) / tsr_plan_mark_pages(c) + 2;
  return (uint32_t)(blocks * c->facts.filter_words * sizeof(uint32_t));
}

/* Whether a block of threads can hold a page of the filter. */
static bool marks_in_order(const tsr_composition *c) {
  enum { OWN_BYTES = 4 << 10 };
  return c->facts.filter_words && c->shape.key_bits <= 64 && !c->shape.has_lists &&
         (!c->shape.sm || tsr_plan_mark_bytes(c) + OWN_BYTES <= tsr_block_bytes(c->shape.sm));
}

/* While a filter is in a GPU's cache its bits may be set in any order. */
uint64_t tsr_plan_mark_batch(const tsr_composition *c) {
  enum { PAGES = 1024, SHARE = 16 };
  static const uint64_t least = 1u << 22;
  if (!marks_in_order(c) || !c->shape.sm || tsr_plan_mark_pages(c) < PAGES) return UINT64_MAX;
  const uint64_t share = tsr_composition_filter_blocks(c) * c->facts.filter_words / SHARE;
  return share > least ? share : least;
}

static tsr_batch_mark mark_of(const tsr_composition *c, const tsr_batch *b, tsr_batch_order order) {
  const bool is_filter = c->facts.is_filter && b->op == TSR_BULK_insert;
  if (!is_filter && !tsr_plan_marks(c, b->op)) return TSR_MARK_NONE;
  if (order == TSR_ORDER_PAGES && b->op == TSR_BULK_insert && !c->window_pages && marks_in_order(c))
    return TSR_MARK_PAGES;
  /* a filter's answers are given one by one, and a call of several operations keeps its order */
  const bool is_ordered = !b->is_recorded && b->op != TSR_BULK_apply && b->n >= tsr_plan_mark_batch(c) &&
                          !(c->facts.is_filter && b->has_answers);
  return is_ordered ? TSR_MARK_BLOCKS : is_filter ? TSR_MARK_NONE : TSR_MARK_RANDOM;
}

/* ---- Before a batch travels ------------------------------------------------------------------ */

/* Each key is in the table once, with a value of a word or none. What grows combines items by itself (growth.c). */
bool tsr_plan_folds(const tsr_composition *c, uint32_t op) {
  const uint32_t policy = c->shape.duplicates, value_bytes = tsr_composition_value_bytes(c);
  return op == TSR_BULK_insert && (TSR_POLICY_COMBINES(policy) || policy == TSR_DUPLICATES_FIRST) &&
         value_bytes == c->shape.payload_bits / 8 && !tsr_has_value_lists(&c->settings) && !c->shape.has_lists &&
         !c->facts.is_filter && !c->settings.upkeep.growth;
}

/* Folding reads each item once and saves the way and the work of those that repeat a key, which is worth more the wider they
 * are. The shard of a folded batch has to say what became of each item: page by page that costs as much as the insert.
 * Measured on four H100: Zipf with S = 1 repeats 29 % of a sample, and folding it gains 12 to 15 % with pairs of 16 bytes, loses
 * 2 % with 8 and 22 % with keys of 4 alone. */
uint32_t tsr_plan_fold_share(const tsr_composition *c) {
  enum { WIDE = 2, NARROW = 4, BY_PAGES = 5, WIDE_BITS = 96 };
  if (tsr_plan_page_batch(c, 0) != UINT64_MAX) return BY_PAGES;
  return c->shape.key_bits + c->shape.payload_bits >= WIDE_BITS ? WIDE : NARROW;
}

/* ---- The stages ------------------------------------------------------------------------------ */

static bool changes(uint32_t op) {
  return op == TSR_BULK_insert || op == TSR_BULK_find_or_insert || op == TSR_BULK_erase || op == TSR_BULK_erase_pair;
}

static bool finds(uint32_t op) { return op == TSR_BULK_find || op == TSR_BULK_contains || op == TSR_BULK_count; }

/* An operation that writes to a table in host memory has its pages on the device. A small find, a scan and
 * TSR_BULK_retrieve read what they need over the bus. */
static bool travels(const tsr_composition *c, const tsr_batch *b) {
  return c->window_pages && (changes(b->op) || (finds(b->op) && b->n >= tsr_plan_travel_batch(c)));
}

/* Whether inserts give their answers faster by random access. With few pages, results would have to be given one by one; where
 * values combine, fewer pages still gain. */
static bool answers_at_random(const tsr_composition *c) {
  enum { PAGES_THAT_COMBINE = 64 };
  const tsr_shape *s = &c->shape;
  return has_few_pages(c) && !(TSR_POLICY_MERGES(s->duplicates) && s->pages >= PAGES_THAT_COMBINE);
}

/* ---- Keys that may repeat -------------------------------------------------------------------- */

/* Random access gains from keys that repeat, whose slots are in the cache, and a page with a hot key loses, because one block
 * has all its items. Which way is faster depends on how often keys repeat, and on what the host knows: */
enum {
  NUMBERS = 1 << 0,  /* an index */
  COMBINES = 1 << 1, /* offers for one key become one: pages take hot keys out by a sample of their own */
  COUNTS = 1 << 2,   /* ... and each offer is one */
  REPLACES = 1 << 3, /* an item whose key is present writes a value */
  DISTINCT = 1 << 4, /* by promise; otherwise, if none of these, an insert looks for its key and writes nothing */
  ANSWERED = 1 << 5, /* results are wanted: pages return them to the caller's order */
  HELD = 1 << 6,     /* the table has pairs */
  WIDE = 1 << 7,     /* a pair takes more than 8 bytes */
  NARROW = 1 << 8,   /* ... or at most 4 */
  SPARSE = 1 << 9,   /* the batch has at most half as many items as the table has slots; */
  FITS = 1 << 10,    /* ... no more items; */
  TIGHT = 1 << 11,   /* ... eight times as many, so keys repeat */
  CROWDED = 1 << 12, /* each item of a page looks for its key (is_crowded) */
  OF_SET = 1 << 13,  /* pairs have no value */
  DEEP = 1 << 14,    /* ... and buckets have many slots: instructions bound pages */
  CACHED = 1 << 15,  /* the table fits the cache, where writes to a hot key take turns for longer */
  HALF = 1 << 16,    /* ... and half of it */
  MOVES = 1 << 17,   /* pairs move, so that random access combines in a second pass; nobody judges */
  EXTREME = 1 << 18  /* the smallest or the largest value of a key: it is soon found, and then nobody writes */
};

/* In batches of less than `below` items with these facts, random access is taken from `tenths` / 10 items per key on, but pages
 * keep batches in which a few keys are hot (HOT), or come much more often than most (UNEVEN) without being hot. The first row
 * that fits is taken. Measured: 0014. */
typedef struct repeats_rule {
  uint32_t facts, tenths;
  uint64_t below;
  enum { KEEP_NONE, KEEP_HOT, KEEP_UNEVEN } keeps;
} repeats_rule;
/* SKEWED, UNEVEN: if some keys are hot, or come much more often than most */
enum { ALL = 10, NONE = 0, UNEVEN = UINT16_MAX - 1, SKEWED = UINT16_MAX };
static const repeats_rule repeats_rules[] = {
    /* An index. */
    {NUMBERS | ANSWERED | WIDE, ALL, UINT64_MAX, KEEP_NONE},
    {NUMBERS | ANSWERED, ALL, 1 << 27, KEEP_NONE},
    {NUMBERS | HELD, ALL, UINT64_MAX, KEEP_NONE},
    {NUMBERS | SPARSE, ALL, UINT64_MAX, KEEP_NONE},
    {NUMBERS | CROWDED, NONE, UINT64_MAX, KEEP_NONE},
    {NUMBERS, ALL, 1 << 24, KEEP_NONE},
    {NUMBERS, NONE, UINT64_MAX, KEEP_NONE},
    /* Values combine, and pairs move; */
    {COMBINES | MOVES | ANSWERED | FITS | WIDE, ALL, UINT64_MAX, KEEP_NONE},
    {COMBINES | MOVES | ANSWERED | FITS, ALL, 1 << 24, KEEP_NONE},
    {COMBINES | MOVES | ANSWERED | WIDE, ALL, 1 << 23, KEEP_NONE},
    {COMBINES | MOVES, NONE, UINT64_MAX, KEEP_NONE},
    /* ... pairs stay, and results are wanted; */
    {COMBINES | ANSWERED | FITS | WIDE, ALL, UINT64_MAX, KEEP_NONE},
    {COMBINES | ANSWERED | EXTREME, ALL, 1 << 23, KEEP_NONE},
    {COMBINES | ANSWERED | CACHED, ALL, 1 << 23, KEEP_HOT},
    {COMBINES | ANSWERED | FITS, ALL, 1 << 24, KEEP_NONE},
    {COMBINES | ANSWERED | TIGHT, NONE, 1 << 26, KEEP_NONE},
    {COMBINES | ANSWERED | EXTREME | CACHED, 20, 1 << 24, KEEP_NONE},
    {COMBINES | ANSWERED | EXTREME | CACHED, 80, 1 << 25, KEEP_NONE},
    {COMBINES | ANSWERED | HALF, 80, 1 << 25, KEEP_HOT},
    {COMBINES | ANSWERED | CACHED, 20, 1 << 24, KEEP_HOT},
    {COMBINES | ANSWERED | CACHED, 80, 1 << 25, KEEP_HOT},
    {COMBINES | ANSWERED | WIDE, ALL, 1 << 24, KEEP_NONE},
    {COMBINES | ANSWERED | COUNTS, SKEWED, 1 << 26, KEEP_NONE},
    {COMBINES | ANSWERED | COUNTS, 80, UINT64_MAX, KEEP_NONE},
    {COMBINES | ANSWERED | FITS, 25, 1 << 25, KEEP_NONE},
    {COMBINES | ANSWERED | FITS, 100, 1 << 26, KEEP_NONE},
    {COMBINES | ANSWERED | FITS, 25, UINT64_MAX, KEEP_NONE},
    {COMBINES | ANSWERED, 80, UINT64_MAX, KEEP_NONE},
    /* ... or nobody wants results. */
    {COMBINES | TIGHT, NONE, UINT64_MAX, KEEP_NONE},
    {COMBINES | FITS | WIDE | SPARSE, ALL, UINT64_MAX, KEEP_NONE},
    {COMBINES | FITS | WIDE, ALL, 1 << 24, KEEP_NONE},
    {COMBINES | FITS | WIDE, UNEVEN, UINT64_MAX, KEEP_NONE},
    {COMBINES | FITS, ALL, 1 << 23, KEEP_HOT},
    {COMBINES | FITS | EXTREME, 80, 1 << 24, KEEP_NONE},
    {COMBINES | FITS | EXTREME, SKEWED, 1 << 25, KEEP_NONE},
    {COMBINES | WIDE, 80, 1 << 24, KEEP_HOT},
    {COMBINES, NONE, UINT64_MAX, KEEP_NONE},
    /* Nothing combines: keys are distinct by promise, or the batch is small; */
    {ANSWERED, ALL, 1 << 23, KEEP_NONE},
    {DISTINCT, NONE, UINT64_MAX, KEEP_NONE},
    {REPLACES | CACHED | FITS, NONE, 1 << 23, KEEP_NONE},
    {REPLACES | WIDE, 80, 1 << 23, KEEP_NONE},
    {NARROW, ALL, 1 << 23, KEEP_NONE},
    {OF_SET | SPARSE, 30, 1 << 23, KEEP_NONE},
    {0, ALL, 1 << 23, KEEP_NONE},
    /* ... or each item of a page looks for its key, with results, */
    {REPLACES | CACHED, ALL, 1 << 25, KEEP_HOT},
    {CROWDED | ANSWERED | DEEP, ALL, UINT64_MAX, KEEP_NONE},
    {CROWDED | ANSWERED | NARROW | FITS, ALL, 1 << 26, KEEP_NONE},
    {CROWDED | ANSWERED | NARROW | FITS, 60, UINT64_MAX, KEEP_NONE},
    {HELD | ANSWERED, ALL, UINT64_MAX, KEEP_NONE},
    {CROWDED | ANSWERED | REPLACES, ALL, 1 << 26, KEEP_NONE},
    {CROWDED | ANSWERED | REPLACES, 60, UINT64_MAX, KEEP_NONE},
    {CROWDED | ANSWERED, ALL, UINT64_MAX, KEEP_NONE},
    /* ... and without; */
    {CROWDED | DEEP, ALL, UINT64_MAX, KEEP_NONE},
    {CROWDED | OF_SET, ALL, 1 << 25, KEEP_NONE},
    {CROWDED | HALF, ALL, UINT64_MAX, KEEP_NONE},
    {CROWDED, ALL, 1 << 24, KEEP_NONE},
    /* ... and all other batches. */
    {REPLACES | ANSWERED, 15, 1 << 24, KEEP_NONE},
    {REPLACES | ANSWERED, 60, 1 << 25, KEEP_NONE},
    {REPLACES, 100, 1 << 24, KEEP_NONE},
    {REPLACES, SKEWED, UINT64_MAX, KEEP_NONE},
    {HELD, 25, UINT64_MAX, KEEP_NONE},
    {CROWDED | FITS | NARROW, 100, 1 << 26, KEEP_UNEVEN},
    {CROWDED | FITS | OF_SET, 100, 1 << 26, KEEP_NONE},
    {CROWDED | FITS | OF_SET, SKEWED, UINT64_MAX, KEEP_NONE},
    {CROWDED | OF_SET, 100, UINT64_MAX, KEEP_UNEVEN},
    {CROWDED | TIGHT, SKEWED, UINT64_MAX, KEEP_NONE},
    {CROWDED, 100, UINT64_MAX, KEEP_UNEVEN},
    {ANSWERED | WIDE, 15, UINT64_MAX, KEEP_NONE},
    {ANSWERED, 15, 1 << 25, KEEP_NONE},
    {ANSWERED, 30, 1 << 26, KEEP_NONE},
    {ANSWERED, 80, UINT64_MAX, KEEP_NONE},
    {WIDE | SPARSE, 15, 1 << 25, KEEP_NONE},
    {WIDE, 25, 1 << 25, KEEP_NONE},
    {WIDE, 100, UINT64_MAX, KEEP_UNEVEN},
    {SPARSE, 30, 1 << 24, KEEP_NONE},
    {FITS, 80, 1 << 24, KEEP_NONE},
    {0, 30, 1 << 24, KEEP_NONE},
    {0, 100, 1 << 25, KEEP_UNEVEN},
    {0, SKEWED, UINT64_MAX, KEEP_NONE},
};

/* Whether each item of a page looks for its key: the page has pairs, or more items than there is room for in the set by which
 * those that repeat a key are taken out (counted.cuh). */
static bool is_crowded(const tsr_composition *c, const tsr_batch *b) {
  uint64_t page_bytes, behind_bytes;
  tsr_composition_measure_pages(c, &page_bytes, &behind_bytes);
  const uint64_t items = b->n / c->shape.pages, room = page_bytes / (c->shape.key_bits / 8);
  return !b->is_clear || items * 3 / 2 > room || items > TSR_PAGES_COUNTED_ITEMS;
}

static uint32_t facts_of(const tsr_composition *c, const tsr_batch *b) {
  enum { DEEP_SLOTS = 16, WIDE_BITS = 64, NARROW_BITS = 32, TIMES = 8 };
  const tsr_shape *s = &c->shape;
  const uint32_t bits = s->key_bits + s->payload_bits;
  const uint64_t slots = s->buckets * s->bucket_slots, bytes = tsr_composition_store_bytes(c),
                 cache_bytes = cache_of(c, b->cache_bytes);
  const bool numbers = c->settings.kind == TSR_KIND_INDEX, merges = !numbers && TSR_POLICY_MERGES(s->duplicates);
  const struct {
    bool is_so;
    uint32_t fact;
  } all[] = {{numbers, NUMBERS},
             {merges, COMBINES},
             {merges && TSR_POLICY_COUNTS(s->duplicates), COUNTS},
             {s->duplicates == TSR_DUPLICATES_REPLACE, REPLACES},
             {!TSR_POLICY_LOOKS(s->duplicates), DISTINCT},
             {b->has_answers, ANSWERED},
             {!b->is_clear, HELD},
             {bits > WIDE_BITS, WIDE},
             {bits <= NARROW_BITS, NARROW},
             {b->n <= slots / 2, SPARSE},
             {b->n <= slots, FITS},
             {b->n / TIMES >= slots, TIGHT},
             {is_crowded(c, b), CROWDED},
             {!s->payload_bits, OF_SET},
             {s->bucket_slots >= DEEP_SLOTS, DEEP},
             {bytes <= cache_bytes, CACHED},
             {bytes <= cache_bytes / 2, HALF},
             {c->facts.combines_later, MOVES},
             {s->duplicates == TSR_DUPLICATES_MIN || s->duplicates == TSR_DUPLICATES_MAX, EXTREME}};
  uint32_t facts = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].is_so) facts |= all[i].fact;
  return facts;
}

/* When random access is taken; page_batch overrides it. */
static repeats_rule rule_of(const tsr_composition *c, const tsr_batch *b) {
  const uint32_t facts = facts_of(c, b);
  if (!c->shape.sm || c->settings.pages.batch != TSR_PAGE_BATCH_AUTO) return (repeats_rule){.tenths = NONE};
  const repeats_rule *row = repeats_rules;
  while ((row->facts & ~facts) || b->n >= row->below) row++; /* the last one fits */
  return *row;
}
static bool is_never_ordered(const repeats_rule *rule) { return rule->tenths == ALL && rule->keeps == KEEP_NONE; }

/* What a sample decides. If each key comes r times, SAMPLE^2 * (r - 1) / 2 n of it repeat another, which must be a few. A share of
 * 1 / HOT of the smallest sample repeats only if keys are hot, and the others only if some come much more often than most. */
static tsr_judged judged_of(const tsr_composition *c, const tsr_batch *b) {
  enum { HOT = 6, FEW = 64, FEWER = 128, LEAST = 16 };
  const repeats_rule rule = rule_of(c, b);
  tsr_judged judged = {.before = UINT32_MAX, .hot = UINT32_MAX, .sample_log2 = TSR_JUDGED_LOG2};
  if (rule.tenths == NONE || is_never_ordered(&rule) || c->facts.combines_later) return (tsr_judged){.sample_log2 = 0};
  uint64_t sample = 1ull << TSR_JUDGED_LOG2, repeats = rule.tenths == SKEWED ? sample / HOT : sample / FEWER;
  for (; rule.tenths > ALL && rule.tenths < UNEVEN; judged.sample_log2++) {
    sample = 1ull << judged.sample_log2;
    repeats = sample * sample / 20 * (rule.tenths - ALL) / b->n;
    if (repeats >= LEAST || judged.sample_log2 == TSR_JUDGED_MOST_LOG2) break;
  }
  if (rule.tenths != ALL)
    judged.from = (uint32_t)(repeats < LEAST / 2 ? LEAST / 2 : repeats < sample / 2 ? repeats : sample / 2);
  if (rule.keeps != KEEP_NONE) judged.before = (uint32_t)(sample / (rule.keeps == KEEP_HOT ? HOT : FEW));
  if (rule.keeps == KEEP_UNEVEN) judged.hot = (uint32_t)(sample / HOT);
  return judged;
}

/* ---- The stages of a batch ------------------------------------------------------------------- */

/* Whether a batch goes by pages. A host that records a graph cannot see how large pages are. */
static bool goes_by_pages(const tsr_composition *c, const tsr_batch *b) {
  const repeats_rule rule = rule_of(c, b);
  return b->op == TSR_BULK_insert && !b->is_recorded && b->n >= tsr_plan_page_batch(c, b->held) &&
         !is_never_ordered(&rule) && !(b->has_answers && answers_at_random(c));
}

/* A host that records a graph does not know whether there will be memory when it is replayed. */
static bool goes_by_zones(const tsr_composition *c, const tsr_batch *b) {
  return tsr_plan_has_zones(c, b->op) && !b->is_recorded && b->n >= tsr_plan_zone_batch(c, b->cache_bytes);
}

/* Items can become one if their offers are combined, since it then does not matter which of them gets which answer. */
static uint32_t groups_of(const tsr_composition *c, const tsr_batch *b, tsr_batch_order order) {
  if (b->op != TSR_BULK_insert || b->is_recorded) return 0;
  if (order == TSR_ORDER_NONE) return c->facts.makes_spans && b->n >= TSR_SPANS_BATCH ? TSR_GROUP_SPANS : 0;
  uint32_t group = 0;
  if (c->shape.sm && c->shape.is_paged && TSR_POLICY_MERGES(c->shape.duplicates)) group |= TSR_GROUP_HOT;
  if (tsr_plan_set_room(c) && (b->is_clear || !b->has_answers)) group |= TSR_GROUP_PAGES;
  return group;
}

tsr_stages tsr_plan_batch(const tsr_composition *c, const tsr_batch *b) {
  const bool inserts = b->op == TSR_BULK_insert;
  tsr_stages stages = {
      .combines = inserts && c->facts.combines_later, .travels = travels(c, b), .writes = changes(b->op)};
  if (inserts && c->shape.has_lists) {
    stages.place = TSR_PLACE_LISTS;
    stages.order = c->shape.sorts_lists ? TSR_ORDER_LISTS : TSR_ORDER_NONE;
  } else if (inserts && c->shape.build_pages) {
    stages.place = TSR_PLACE_BUILT;
    stages.order = TSR_ORDER_LISTS;
  } else if (stages.travels) {
    stages.order = TSR_ORDER_PAGES;
    stages.place = inserts && c->shape.sm && b->n >= tsr_plan_page_batch(c, 0) ? TSR_PLACE_PAGES : TSR_PLACE_RANDOM;
  } else if (goes_by_pages(c, b)) {
    stages.order = TSR_ORDER_PAGES;
    stages.place = TSR_PLACE_PAGES;
    stages.judged = judged_of(c, b);
  } else if (goes_by_zones(c, b)) {
    stages.order = TSR_ORDER_ZONES;
  }
  stages.mark = mark_of(c, b, stages.order);
  if (c->facts.is_filter && stages.mark == TSR_MARK_BLOCKS) stages.place = TSR_PLACE_BITS;
  if (!stages.travels && !(inserts && tsr_is_whole(&c->shape))) stages.group = groups_of(c, b, stages.order);
  stages.answers =
      stages.order != TSR_ORDER_NONE && (b->has_answers || (stages.order == TSR_ORDER_ZONES && finds(b->op)));
  return stages;
}

/* ---- In words -------------------------------------------------------------------------------- */

uint32_t tsr_plan_describe(const tsr_stages *s, tsr_stage_text text[TSR_STAGES_MAX]) {
  static const char *const orders[] = {NULL, "sorts the items by the pages of their keys",
                                       "sorts the items by the pages that the scheme makes of keys or lists",
                                       "sorts the keys by zones, runs of pages that fit the L2 cache"};
  static const char *const marks[] = {NULL, "sets the bits of each key by random access",
                                      "sorts the keys by the blocks of the filter and sets the bits of neighbours",
                                      "sets the bits of the keys of one page together"};
  static const char *const places[] = {"inserts by random access", "inserts the items of one page together",
                                       "counts the items of each list, then makes all lists anew",
                                       "builds the scheme's memory from all keys, then inserts", NULL};
  const tsr_stage_text all[TSR_STAGES_MAX] = {
      {"judge", s->judged.sample_log2 ? "inserts by random access instead if many keys of a sample repeat" : NULL},
      {"order", orders[s->order]},
      {"travel", !s->travels ? NULL
                 : s->writes ? "copies the pages of the keys to the device and back"
                             : "copies the pages of the keys to the device"},
      {"group", s->group & TSR_GROUP_SPANS ? "combines neighbouring items of one key" : NULL},
      {"group", s->group & TSR_GROUP_HOT ? "combines the items of keys that are frequent in a sample" : NULL},
      {"group", s->group & TSR_GROUP_PAGES ? "combines the items of one key in a page" : NULL},
      {"filter", marks[s->mark]},
      {"place", s->order == TSR_ORDER_ZONES ? "works on one zone after the other" : places[s->place]},
      {"rest", s->place == TSR_PLACE_PAGES ? "inserts what has no room in its page by random access" : NULL},
      {"combine", s->combines ? "combines the values that were offered for keys that were present" : NULL},
      {"answer", s->answers ? "returns results in the order of the keys, if they are wanted" : NULL}};
  uint32_t count = 0;
  for (uint32_t i = 0; i < TSR_STAGES_MAX; i++)
    if (all[i].sentence) text[count++] = all[i];
  return count;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* What batches of a composition may do, and what each step is for. */
enum {
  ORDERS = 1 << 0,
  RETURNS = 1 << 1, /* to the caller's order; and inserts what pages leave */
  MARKS = 1 << 2,
  GROUPS = 1 << 3,
  SPANS = 1 << 4,
  SPAN_LISTS = 1 << 5,
  PAGES = 1 << 6,
  GUESSES = 1 << 7,
  LISTS = 1 << 8,
  RANDOM_LISTS = 1 << 9,
  BUILDS = 1 << 10,
  JUDGES = 1 << 11
};
static const uint32_t step_is_for[TSR_PAGES_STEPS] = {
    [TSR_PAGES_count] = ORDERS,
    [TSR_PAGES_count_pages] = ORDERS,
    [TSR_PAGES_bins] = ORDERS,
    [TSR_PAGES_tiles] = ORDERS,
    [TSR_PAGES_scatter] = ORDERS,
    [TSR_PAGES_answer] = RETURNS,
    [TSR_PAGES_rest] = PAGES,
    [TSR_PAGES_mark] = MARKS,
    [TSR_PAGES_judge] = JUDGES,
    [TSR_PAGES_unordered] = JUDGES,
    [TSR_PAGES_sample] = GROUPS,
    [TSR_PAGES_choose] = GROUPS,
    [TSR_PAGES_hot_answer] = GROUPS,
    [TSR_PAGES_distinct] = GROUPS,
    [TSR_PAGES_merge] = GROUPS,
    [TSR_PAGES_spans] = SPANS,
    [TSR_PAGES_told_spans] = SPANS,
    [TSR_PAGES_spans_answer] = SPANS,
    [TSR_PAGES_spans_list] = SPAN_LISTS,
    [TSR_PAGES_bar] = PAGES,
    [TSR_PAGES_insert] = PAGES,
    [TSR_PAGES_rest_combine] = PAGES,
    [TSR_PAGES_spilled] = GUESSES,
    [TSR_PAGES_lists] = LISTS,
    [TSR_PAGES_large_count] = LISTS,
    [TSR_PAGES_large_sum] = LISTS,
    [TSR_PAGES_large_place] = LISTS,
    [TSR_PAGES_any_count] = RANDOM_LISTS,
    [TSR_PAGES_any_begin] = RANDOM_LISTS,
    [TSR_PAGES_any_place] = RANDOM_LISTS,
    [TSR_PAGES_build] = BUILDS,
};

bool tsr_plan_has_step(const tsr_composition *c, uint32_t step) {
  const tsr_shape *s = &c->shape;
  const bool marks_alone = tsr_plan_mark_batch(c) != UINT64_MAX,
             sorts = s->is_paged || s->sorts_lists || s->build_pages;
  uint32_t does = 0;
  if (sorts || marks_alone) does |= ORDERS;
  if (sorts) does |= RETURNS;
  if (marks_in_order(c) && (s->is_paged || marks_alone)) does |= MARKS;
  if (s->is_paged && TSR_POLICY_MERGES(s->duplicates)) does |= GROUPS;
  if (s->is_paged && TSR_POLICY_LOOKS(s->duplicates) && !c->facts.combines_later) does |= JUDGES;
  if (c->facts.makes_spans) does |= SPANS;
  if (c->facts.makes_spans && c->settings.upkeep.growth) does |= SPAN_LISTS;
  if (s->is_paged) does |= PAGES;
  if (s->is_paged && s->duplicates == TSR_DUPLICATES_PROMISE_UNIQUE) does |= GUESSES;
  if (s->has_lists) does |= sorts ? LISTS : RANDOM_LISTS;
  if (s->build_pages) does |= BUILDS;
  return (does & step_is_for[step]) != 0;
}
