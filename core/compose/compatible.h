/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes with what. Two features of a table that do not go together are one row of compatible.c, with the reason,
 * the law behind it, and the way out. Whoever reads a spec, plans a table or takes a call sets the features that are
 * there (tsr_traits), and asks. Everything that is not a row goes together. tsr_incompatible_list (tessera_tools.h)
 * lists the rows. Read next: settings.h and fit.h, which fill in traits.
 */
#ifndef TSR_COMPATIBLE_H
#define TSR_COMPATIBLE_H

#include "core/spec/spec.h"
#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* F(name, section, key, is_class, text). section and key: the entry of a spec that asks for the feature, "" where
 * none does. is_class: the entry's own words do not name it (probing = cuckoo: a scheme that moves pairs). */
#define TSR_SETTING_FEATURES(F)                                                                                        \
  F(NO_VALUES, "table", "kind", 0, "kind = set or multiset")                                                           \
  F(KEEPS_ALL, "table", "kind", 0, "kind = multiset or multimap")                                                      \
  F(COUNTER, "table", "kind", 0, "kind = counter")                                                                     \
  F(FILTER, "table", "kind", 0, "kind = filter")                                                                       \
  F(BLOOM, "table", "kind", 0, "kind = filter without a layout")                                                       \
  F(SLOTS_OF_FILTER, "table", "layout", 1, "kind = filter with a layout")                                              \
  F(NO_FILTER, "table", "kind", 0, "any kind but filter")                                                              \
  F(INDEX, "table", "kind", 0, "kind = index")                                                                         \
  F(NO_INDEX, "table", "kind", 0, "any kind but index")                                                                \
  F(CACHE, "table", "kind", 0, "kind = cache")                                                                         \
  F(NO_CACHE, "table", "kind", 0, "any kind but cache")                                                                \
  F(KEEPS_KEYS, "table", "kind", 0, "any kind but index or cache")                                                     \
  F(NO_MULTIMAP, "table", "kind", 0, "any kind but multimap")                                                          \
  F(NO_MAP, "table", "kind", 0, "any kind but map or multimap")                                                        \
  F(NO_COUNTER, "table", "kind", 0, "any kind but counter")                                                            \
  F(SLOT_KEY, "table", "", 0, "any other key of [table]")                                                              \
  F(WIDE_KEYS, "table", "key_bits", 0, "key_bits = 128")                                                               \
  F(VALUE_BITS, "table", "value_bits", 0, "value_bits")                                                                \
  F(NARROW, "table", "value_bits", 0, "value_bits = 8 or 16")                                                          \
  F(VALUE_BYTES, "table", "value_bytes", 0, "value_bytes")                                                             \
  F(NUMBERED_ROWS, "table", "value_bytes", 0, "value_bytes of an index")                                               \
  F(NO_NUMBERED_ROWS, "table", "value_bytes", 0, "any table but an index with value_bytes")                            \
  F(LONG_ROWS, "table", "value_bytes", 0, "value_bytes above 256")                                                     \
  F(POLICY, "table", "duplicates", 0, "duplicates")                                                                    \
  F(COMBINES, "table", "duplicates", 0, "duplicates = replace, add, min or max")                                       \
  F(NUMBERS, "table", "duplicates", 0, "duplicates = add, min or max")                                                 \
  F(NO_SUMS, "table", "duplicates", 0, "any duplicates but add")                                                       \
  F(OVERFLOW, "table", "overflow", 0, "overflow")                                                                      \
  F(SATURATES, "table", "overflow", 0, "overflow = saturate")                                                          \
  F(PROMISE, "table", "duplicates", 0, "duplicates = promise_unique")                                                  \
  F(LOOKS, "table", "duplicates", 1, "an insert that looks for its key")                                               \
  F(NUMBERING, "table", "numbering", 0, "numbering")                                                                   \
  F(FIRST_SEEN, "table", "numbering", 0, "numbering = first_seen")                                                     \
  F(REUSE, "table", "reuse", 0, "reuse")                                                                               \
  F(KEEPS_NUMBERS, "table", "reuse", 0, "reuse = no")                                                                  \
  F(EVICTION, "table", "eviction", 0, "eviction")                                                                      \
  F(EVICTS, "table", "eviction", 0, "an index with eviction")                                                          \
  F(EVICTS_NOTHING, "table", "eviction", 0, "eviction = none")                                                         \
  F(MIXED, "table", "concurrency", 0, "concurrency = mixed")                                                           \
  F(PHASED, "table", "concurrency", 0, "concurrency = phased")                                                         \
  F(BUCKETS, "table", "values", 0, "values = buckets")                                                                 \
  F(BEFORE, "table", "filter", 0, "[table] filter")                                                                    \
  F(STASH, "table", "stash", 0, "stash")                                                                               \
  F(PAGES, "table", "page_bytes", 0, "page_bytes")                                                                     \
  F(NO_PAGES, "table", "page_bytes", 0, "page_bytes = 0")                                                              \
  F(KEEPS_IN_PAGES, "table", "page_bytes", 1, "pages of a multiset or multimap")                                       \
  F(PAGE_BATCH, "table", "page_batch", 0, "page_batch")                                                                \
  F(FIND_BATCH, "table", "find_batch", 0, "find_batch")                                                                \
  F(NO_ZONES, "table", "page_bytes", 0, "a table without pages")                                                       \
  F(GROWTH, "table", "growth", 0, "growth = double or split")                                                          \
  F(SPLITTING, "table", "growth", 0, "growth = split")                                                                 \
  F(NO_GROWTH, "table", "growth", 0, "growth = none")                                                                  \
  F(GROWTH_LIMIT, "table", "growth_limit", 0, "growth_limit")                                                          \
  F(DEVICE_BYTES, "table", "device_bytes", 0, "device_bytes")                                                          \
  F(DEVICE, "table", "device", 0, "device")                                                                            \
  F(DEVICES, "table", "devices", 0, "devices")                                                                         \
  F(SEVERAL_DEVICES, "table", "devices", 0, "several devices")                                                         \
  F(DEALT_INDEX, "table", "devices", 1, "an index on several devices")                                                 \
  F(REPLICATED, "devices", "split", 0, "[devices] split = replicated")                                                 \
  F(INDEPENDENT, "devices", "split", 0, "[devices] split = independent")                                               \
  F(BITS_PER_KEY, "filter", "bits_per_key", 0, "[filter] bits_per_key")                                                \
  F(ONE_IN, "filter", "one_in", 0, "[filter] one_in")                                                                  \
  F(OVERLOAD, "table", "load_factor", 0, "load_factor above 1")                                                        \
  F(ALLOCATOR, "table", "allocator", 0, "allocator")                                                                   \
  F(NO_ALLOCATOR, "table", "allocator", 0, "a [table] without allocator")

/* Of the parts, by their facts. */
#define TSR_PART_FEATURES(F)                                                                                           \
  F(SHORT_KEYS, "table", "layout", 1, "a layout that stores a part of the hash in place of the key")                   \
  F(FINGERPRINTS, "table", "layout", 1, "a layout that stores fingerprints in place of keys")                          \
  F(WHOLE_KEYS, "table", "layout", 1, "a layout that stores keys")                                                     \
  F(LINKS, "table", "layout", 1, "a layout whose buckets link")                                                        \
  F(NO_LINKS, "table", "layout", 1, "a layout whose buckets do not link")                                              \
  F(TAKES_NO_UNITS, "table", "layout", 1, "buckets that do not link, and values = inline")                             \
  F(LATE_VALUES, "table", "layout", 1, "a layout that shows a key before its value")                                   \
  F(NO_PUT, "table", "layout", 1, "a layout that offers no put")                                                       \
  F(TABLE_MEMORY, "table", "layout", 1, "a layout with memory that belongs to no bucket")                              \
  F(ALL_REGIONS, "table", "layout", 1, "a layout with most regions of memory that there can be")                       \
  F(TILES, "layout", "tile_lanes", 1, "tiles of several lanes")                                                        \
  F(FLAGS, "table", "layout", 1, "a layout with flags that end a search")                                              \
  F(OTHER_SCORES, "table", "eviction", 1, "a part whose scores an index cannot keep")                                  \
  F(LONG_WALK, "table", "probing", 1, "a scheme whose walks are not bounded to 8 buckets")                             \
  F(NOTES, "table", "probing", 1, "a scheme that keeps notes of its buckets")                                          \
  F(NO_EXCHANGE, "table", "layout", 1, "a layout that cannot exchange pairs")                                          \
  F(ONE_WAY, "table", "hasher", 1, "a hasher that cannot be undone")                                                   \
  F(FEW_BUCKETS, "table", "probing", 1, "a scheme that gives a key few buckets, and values = inline")                  \
  F(MANY_BUCKETS, "table", "probing", 1, "a scheme that gives a key several buckets")                                  \
  F(MOVES, "table", "probing", 1, "a scheme that moves pairs")                                                         \
  F(BY_KEY, "table", "probing", 1, "a scheme in which keys of equal fingerprints can share some of their buckets")     \
  F(BUILT, "table", "probing", 1, "a scheme that is built from whole batches")                                         \
  F(WHOLE_BATCHES, "table", "probing", 1, "a scheme that is made of whole batches")                                    \
  F(NO_SPLITS, "table", "probing", 1, "a scheme whose buckets do not split")                                           \
  F(NUMBERS_MOVE, "table", "probing", 1, "an index whose scheme moves pairs")                                          \
  F(NUMBERS_LATE, "table", "layout", 1, "an index whose layout shows a key before its number")                         \
  F(HOST_PAGES, "table", "device_bytes", 1, "a table in the host's memory")                                            \
  F(REPLACES_LATE, "table", "duplicates", 1, "rows replaced under a layout that shows a key before its row")

/* What a call, or a kernel of a user's own, wants of its table. */
#define TSR_CALL_FEATURES(F)                                                                                           \
  F(CALL_KEYS, "", "", 1, "a call that reads or erases keys")                                                          \
  F(CALL_ERASE, "", "", 0, "tsr_erase")                                                                                \
  F(CALL_MERGE, "", "", 0, "tsr_filter_merge")                                                                         \
  F(CALL_FIND, "", "", 0, "tsr_find")                                                                                  \
  F(CALL_FIND_ALL, "", "", 0, "tsr_find_all")                                                                          \
  F(CALL_FIND_OR_INSERT, "", "", 0, "tsr_find_or_insert")                                                              \
  F(CALL_NUMBER, "", "", 1, "a call for an index")                                                                     \
  F(CALL_UNIQUE, "", "", 0, "tsr_unique")                                                                              \
  F(CALL_EVICTED, "", "", 1, "a call for an index that evicts")                                                        \
  F(CALL_ROWS, "", "", 1, "a call on rows by number")                                                                  \
  F(CALL_SCORES, "", "", 1, "a call for a cache")                                                                      \
  F(CALL_REHASH, "", "", 0, "tsr_rehash")                                                                              \
  F(CALL_ERASE_PAIRS, "", "", 0, "tsr_erase_pairs")                                                                    \
  F(CALL_ERASE_VALUES, "", "", 1, "a call that erases pairs by value")                                                 \
  F(CALL_APPLY, "", "", 0, "tsr_apply")                                                                                \
  F(CALL_FLUSH, "", "", 0, "tsr_flush")                                                                                \
  F(CALL_JOIN, "", "", 0, "tsr_join")                                                                                  \
  F(CALL_AGGREGATE, "", "", 1, "a call that combines right values")                                                    \
  F(CALL_CAPTURED, "", "", 0, "a call that is captured into a CUDA graph")                                             \
  F(CALL_GROUP, "", "", 1, "a table of a group of processes")                                                          \
  F(CALL_OF_FILTERS, "", "", 1, "a call for filters")                                                                  \
  F(CALL_KERNEL, "", "", 1, "a kernel of a user's own")                                                                \
  F(KERNEL_ALL, "", "", 1, "a kernel that finds, inserts and erases at once")                                          \
  F(KERNEL_INSERTS, "", "", 1, "a kernel that inserts")                                                                \
  F(KERNEL_ERASES, "", "", 1, "a kernel that erases")

#define TSR_FEATURE_NUMBER(name, section, key, is_class, text) TSR_HAS_##name,
typedef enum tsr_feature {
  TSR_HAS_NOTHING, /* which no table has, and no row names */
  TSR_SETTING_FEATURES(TSR_FEATURE_NUMBER) TSR_PART_FEATURES(TSR_FEATURE_NUMBER) TSR_CALL_FEATURES(TSR_FEATURE_NUMBER)
      TSR_FEATURES,
  TSR_FIRST_CALL = TSR_HAS_CALL_KEYS
} tsr_feature;

/* Which features are there; all false: nothing is known. Those of calls: which the table refuses. */
typedef struct tsr_traits {
  bool has[TSR_FEATURES];
} tsr_traits;

/* Fails with `as` and the sentence of the first row whose two features are both there. Its place is the line of the
 * spec that asks for the first of them, or where none does for the other. */
tsr_status tsr_compatible_check(const tsr_traits *traits, const tsr_spec *spec, tsr_status as, tsr_error *error)
    TSR_MUST_CHECK;

/* When all is known of a table: notes which calls' features it refuses. */
void tsr_compatible_refuse_calls(tsr_traits *traits);
/* Pre: that was done. TSR_UNSUPPORTED with a sentence that begins with `call` where the table refuses the feature. */
tsr_status tsr_compatible_explain(const tsr_traits *traits, tsr_feature feature, const char *call, tsr_error *error)
    TSR_MUST_CHECK;
static inline tsr_status tsr_compatible_call(const tsr_traits *traits, tsr_feature feature, const char *call,
                                             tsr_error *error) {
  return traits->has[feature] ? tsr_compatible_explain(traits, feature, call, error) : TSR_OK;
}

/* The sentence of the row of these two. */
tsr_status tsr_compatible_refuse(tsr_feature first, tsr_feature other, const char *call, tsr_error *error)
    TSR_MUST_CHECK;

/* Whether a filter's spec asks for slots: it names a layout or a scheme. */
bool tsr_spec_has_slots(const tsr_spec *spec);
/* The keys of [table] that a filter has, with slots or without. */
bool tsr_is_key_of_filter(const char *key, bool has_slots);

#ifdef __cplusplus
}
#endif
#endif
