/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of what does not go together (compatible.h), and the one sentence that they become.
 */
#include "core/compose/compatible.h"

#include <string.h>

#include "core/tessera_tools.h"

/* ---- Laws ------------------------------------------------------------------------------------ */

#define MEANING "one would contradict the other, or have no effect"
#define ONCE "a key is in a map or set once, even if inserts race"
#define KEEPS "a multiset and a multimap keep every pair"
#define WHOLE "a find that overlaps inserts sees whole pairs and misses no key"
#define ENDS "a find ends at the first empty slot and misses no pair"
#define IN_PAGE "everything that the keys of a page need is in that page"
#define BYTES "a value of value_bytes is bytes, not a number"
#define NO_KEYS "a filter keeps bits and no keys"
#define NO_WAIT "a call that is captured waits for nothing and allocates nothing"
#define PHASES "operations of two classes never overlap in a phased table"
#define NOT_BUILT NULL

/* ---- Rows ------------------------------------------------------------------------------------ */

/* R(feature, the other, law, reason, way out). A spec that has several is refused by the first. */
#define SETTING_ROWS(R)                                                                                                \
  R(GROWTH, FILTER, NO_KEYS, "it has no keys that could move to a larger filter", "raise capacity")                    \
  R(PAGES, FILTER, NOT_BUILT, "all blocks of a filter are one array already", "remove the line")                       \
  R(DEVICES, FILTER, NOT_BUILT, "a filter is on one device", "use device, and tsr_filter_merge")                       \
  R(DEVICE_BYTES, FILTER, NOT_BUILT, "a filter is on one device, all of it", "lower [filter] bits_per_key")            \
  R(SLOT_KEY, SLOTS_OF_FILTER, MEANING,                                                                                \
    "such a filter is made of kind, key_bits, capacity, load_factor, layout, probing, hasher and statistics",          \
    "remove the line")                                                                                                 \
  R(MIXED, FILTER, MEANING, "calls on a filter may overlap anyway", "remove the line")                                 \
  R(SLOT_KEY, FILTER, MEANING, "a filter is made of kind, key_bits, capacity, hasher and [filter]", "remove the line") \
  R(BITS_PER_KEY, ONE_IN, MEANING, "both say how many bits per key there are", "remove one")                           \
  R(BUCKETS, NO_MULTIMAP, MEANING, "only a multimap has several values per key", "use inline, or kind = multimap")     \
  R(MIXED, BUCKETS, NOT_BUILT, "an insert writes its key first and then its value, and a find could come between",     \
    "use phased, or values = inline")                                                                                  \
  R(PAGES, BUCKETS, NOT_BUILT, "most of what an insert writes there is in no page", "remove the line")                 \
  R(DEVICES, BUCKETS, NOT_BUILT, "lists of values are on one device", "use values = inline, or device")                \
  R(VALUE_BYTES, NO_MAP, MEANING, "only a map, multimap, cache or index has such values", "remove the line")           \
  R(VALUE_BITS, VALUE_BYTES, MEANING, "both say how large a value is", "remove one")                                   \
  R(NUMBERS, VALUE_BYTES, BYTES, "bytes are not added up or compared",                                                 \
    "use first, replace or promise_unique, or value_bits")                                                             \
  R(MIXED, VALUE_BYTES, NOT_BUILT,                                                                                     \
    "a value is stored apart from its slot, and a find could come before it is written", "use phased, or value_bits")  \
  R(BUCKETS, VALUE_BYTES, NOT_BUILT, "buckets hold values of value_bits", "use inline, or value_bits")                 \
  R(DEVICE_BYTES, VALUE_BYTES, NOT_BUILT, "rows are in no page that could travel", "remove one")                       \
  R(DEVICES, LONG_ROWS, NOT_BUILT, "at most 256 bytes per value are dealt to several devices", "use device")           \
  R(VALUE_BITS, NO_VALUES, MEANING, "a set has no values", "remove the line")                                          \
  R(NARROW, NO_COUNTER, NOT_BUILT, "only counts are narrower than 32 bits", "use 32 or 64")                            \
  R(POLICY, COUNTER, MEANING, "a counter adds up what it counts, and has no such policy", "remove the line")           \
  R(POLICY, KEEPS_ALL, MEANING, "it keeps every pair, and has no such policy", "remove the line")                      \
  R(OVERFLOW, COUNTER, MEANING, "a counter's counts always stop at the largest number", "remove the line")             \
  R(OVERFLOW, NO_SUMS, MEANING, "only sums can overflow", "use duplicates = add, or remove the line")                  \
  R(COMBINES, NO_VALUES, MEANING, "a set has no values to combine", "use first or promise_unique")                     \
  R(NUMBERING, NO_INDEX, MEANING, "only an index numbers its keys", "remove the line")                                 \
  R(REUSE, NO_INDEX, MEANING, "only an index numbers its keys", "remove the line")                                     \
  R(EVICTION, KEEPS_KEYS, MEANING, "only a cache and an index give up keys", "remove the line")                        \
  R(CACHE, EVICTS_NOTHING, MEANING, "a cache gives up a pair for a new one, and a part says which",                    \
    "add `eviction = NAME`; `tessera list eviction` shows them")                                                       \
  R(GROWTH, CACHE, MEANING, "a cache gives up pairs and stays as large as it is", "use growth = none")                 \
  R(PROMISE, CACHE, ONCE, "a key may come again when it was given up", "use replace or first")                         \
  R(NUMBERS, CACHE, NOT_BUILT, "values of a cache are not combined", "use replace or first")                           \
  R(MIXED, CACHE, NOT_BUILT, "a find could come between the swap of a score and that of its pair", "use phased")       \
  R(DEVICES, CACHE, NOT_BUILT, "a cache is on one device", "use device")                                               \
  R(DEVICE_BYTES, CACHE, NOT_BUILT, "a cache is on the device, all of it", "remove the line")                          \
  R(PAGES, CACHE, NOT_BUILT, "its pairs are inserted by random access", "remove the line")                             \
  R(STASH, CACHE, MEANING, "a pair that finds no room takes the place of another", "remove the line")                  \
  R(BEFORE, CACHE, NOT_BUILT, "the filter would keep the bits of keys that were given up", "remove the line")          \
  R(EVICTS, KEEPS_NUMBERS, MEANING, "a new key takes the number of the one that is given up", "use reuse = yes")       \
  R(GROWTH, EVICTS, MEANING, "a table that gives up keys stays as large as it is",                                     \
    "use growth = none, or eviction = none")                                                                           \
  R(VALUE_BITS, INDEX, MEANING, "the value of a key is its number, which has 32 bits", "remove the line")              \
  R(POLICY, INDEX, MEANING, "a key that is present keeps its number", "remove the line")                               \
  R(MIXED, INDEX, NOT_BUILT, "a key gets its number after it is inserted, and a find could come between",              \
    "use phased")                                                                                                      \
  R(FIRST_SEEN, DEVICES, NOT_BUILT, "each device numbers the keys that come to it", "use numbering = any, or device")  \
  R(NUMBERED_ROWS, DEVICES, NOT_BUILT, "a device has only the rows of its own numbers",                                \
    "use device, or arrays of your own at the numbers")                                                                \
  R(NUMBERED_ROWS, KEEPS_NUMBERS, NOT_BUILT,                                                                           \
    "there are as many rows as slots, and numbers that never come back are more",                                      \
    "use reuse = yes, or arrays of your own at the numbers")                                                           \
  R(EVICTS, DEVICES, NOT_BUILT, "scores are at numbers, and each device has a part of these", "use device")            \
  R(REPLICATED, INDEX, NOT_BUILT, "each device gives numbers of its own", "use split = hash")                          \
  R(DEVICE_BYTES, INDEX, NOT_BUILT, "numbers are written to slots that are on the device",                             \
    "remove the line, or use devices for more memory")                                                                 \
  R(PAGES, WIDE_KEYS, NOT_BUILT, "batches are put in order by keys of at most 64 bits", "remove the line")             \
  R(DEVICE, DEVICES, MEANING, "both say where the table is", "remove one")                                             \
  R(INDEPENDENT, LOOKS, ONCE, "a key could be on two devices",                                                         \
    "use hash, a multiset or multimap, or duplicates = promise_unique")                                                \
  R(DEVICE_BYTES, NO_PAGES, MEANING, "a table that does not fit the device comes page by page",                        \
    "add page_bytes = auto")                                                                                           \
  R(GROWTH, DEVICE_BYTES, NOT_BUILT, "a table in host memory does not grow", "use none, or remove device_bytes")       \
  R(STASH, DEVICE_BYTES, NOT_BUILT, "a stash has pairs of all pages, and few pages are on the device at a time",       \
    "remove one")                                                                                                      \
  R(MIXED, DEVICE_BYTES, NOT_BUILT, "a batch must have its pages to itself", "use phased, or remove device_bytes")     \
  R(DEVICES, DEVICE_BYTES, NOT_BUILT, "such a table is on one device and in host memory", "remove one")                \
  R(PAGE_BATCH, NO_PAGES, MEANING, "there are no pages", "add page_bytes = auto, or remove the line")                  \
  R(FIND_BATCH, NO_ZONES, MEANING, "there are no pages", "add page_bytes = auto, or remove the line")                  \
  R(SPLITTING, PAGES, NOT_BUILT, "a page has as many buckets as it was made with", "use growth = double, or no pages") \
  R(SPLITTING, BEFORE, NOT_BUILT, "the blocks of that filter do not split", "use growth = double, or remove filter")   \
  R(SPLITTING, VALUE_BYTES, NOT_BUILT, "the array of rows does not grow in place", "use growth = double")              \
  R(SPLITTING, INDEX, NOT_BUILT, "the list of free numbers does not grow in place", "use growth = double")             \
  R(SPLITTING, DEVICES, NOT_BUILT, "memory that grows in place is one device's own", "use growth = double, or device") \
  R(GROWTH_LIMIT, NO_GROWTH, MEANING, "there is nothing to limit", "add growth = double, or remove the line")

#define PART_ROWS(R)                                                                                                   \
  R(SPLITTING, NO_SPLITS, MEANING, "with more buckets every key would have others",                                    \
    "use a scheme whose buckets split (`tessera list probing`), or growth = double")                                   \
  R(SLOTS_OF_FILTER, WHOLE_KEYS, MEANING, "with keys in its slots it would be a set, and never err",                   \
    "use a layout of fingerprints (`tessera list layout`), or kind = set")                                             \
  R(FINGERPRINTS, NO_FILTER, ONCE, "keys of equal fingerprints cannot be told apart", "use kind = filter")             \
  R(ONE_WAY, FINGERPRINTS, MEANING, "fingerprints that are moved stand for keys, which are made by undoing the hash",  \
    "use a hasher that can be undone (hashers/README.md)")                                                             \
  R(BY_KEY, FINGERPRINTS, "a filter misses no key that it holds",                                                      \
    "an erase could take that of a key that has other buckets",                                                        \
    "use a scheme of fingerprints (`tessera list probing`)")                                                           \
  R(ONE_WAY, SHORT_KEYS, ONCE, "the key cannot be restored from its hash",                                             \
    "use a hasher that can be undone (hashers/README.md), or another layout")                                          \
  R(CACHE, LINKS, NOT_BUILT, "a list grows, and gives up no pair", "use a layout whose buckets do not link")           \
  R(CACHE, FLAGS, NOT_BUILT, "no flag is raised for a pair that takes a full bucket's slot", "use another layout")     \
  R(CACHE, ALL_REGIONS, NOT_BUILT, "scores need a region", "use another layout")                                       \
  R(CACHE, NOTES, NOT_BUILT, "no note is made for a pair that takes a full bucket's slot", "use another scheme")       \
  R(CACHE, WHOLE_BATCHES, NOT_BUILT, "it is made of whole batches", "use another scheme")                              \
  R(CACHE, LONG_WALK, NOT_BUILT, "a full cache looks at every bucket of a key's walk",                                 \
    "set [probing] max_probes = 2, or use a scheme of few buckets")                                                    \
  R(INDEX, OTHER_SCORES, NOT_BUILT, "an index keeps the time of a key's last use, or counts its uses",                 \
    "use another part (`tessera list eviction`), or kind = cache")                                                     \
  R(NO_ALLOCATOR, BUCKETS, MEANING, "lists of values are made of an allocator's units",                                \
    "add `allocator = NAME`; `tessera list allocator` shows them")                                                     \
  R(LINKS, BUCKETS, NOT_BUILT, "both would take the allocator's units",                                                \
    "use a layout whose buckets do not link, or values = inline")                                                      \
  R(NO_ALLOCATOR, LINKS, MEANING, "its buckets continue in units of an allocator",                                     \
    "add `allocator = NAME`; `tessera list allocator` shows them")                                                     \
  R(PAGES, LINKS, IN_PAGE, "its buckets continue in units of an allocator, which are in no page", "remove the line")   \
  R(PAGES, TABLE_MEMORY, IN_PAGE, "that memory is in no page", "remove the line, or use another layout")               \
  R(KEEPS_IN_PAGES, GROWTH, KEEPS, "a page holds all pairs of a key, and growing makes more pages and none larger",    \
    "use growth = none, or no pages")                                                                                  \
  R(OVERLOAD, NO_LINKS, MEANING, "its buckets hold no more pairs than they have slots",                                \
    "use at most 1, or a layout whose buckets link")                                                                   \
  R(ALLOCATOR, TAKES_NO_UNITS, MEANING, "nothing would be taken from it",                                              \
    "remove the line, or use a layout whose buckets link")                                                             \
  R(LINKS, MANY_BUCKETS, ENDS, "a growing list has empty slots, at which walks of other keys would end",               \
    "use a scheme of one bucket a key, or a layout without links")                                                     \
  R(MOVES, BUCKETS, NOT_BUILT,                                                                                         \
    "the record of a value list is stored with its slot, and this scheme moves keys without it",                       \
    "use one that moves nothing, or values = inline")                                                                  \
  R(WHOLE_BATCHES, BUCKETS, NOT_BUILT, "it is made of whole batches, without looking up keys",                         \
    "use another scheme, or values = inline")                                                                          \
  R(BUCKETS, ALL_REGIONS, NOT_BUILT, "value lists need a region", "use another layout")                                \
  R(BEFORE, ALL_REGIONS, NOT_BUILT, "the filter needs a region", "use another layout, or none")                        \
  R(FEW_BUCKETS, KEEPS_ALL, KEEPS, "they cannot hold any number of its pairs",                                         \
    "use a scheme whose walk passes every bucket, or kind = set or map")                                               \
  R(BUILT, LOOKS, NOT_BUILT, "it is built from distinct keys, without looking up keys",                                \
    "make the keys distinct first and use duplicates = promise_unique, or use another scheme")                         \
  R(WHOLE_BATCHES, LOOKS, NOT_BUILT, "it is made of whole batches, without looking up keys",                           \
    "use duplicates = promise_unique, or kind = multiset or multimap")                                                 \
  R(WHOLE_BATCHES, MIXED, WHOLE, "an insert makes the whole table anew, and nothing may overlap that",                 \
    "use concurrency = phased")                                                                                        \
  R(WHOLE_BATCHES, SHORT_KEYS, NOT_BUILT, "its buckets are in no page, and this layout needs pages",                   \
    "use another layout")                                                                                              \
  R(WHOLE_BATCHES, PAGES, NOT_BUILT, "its buckets are in no page", "remove page_bytes")                                \
  R(WHOLE_BATCHES, NO_PUT, NOT_BUILT, "pairs are written by put", "use a layout that has it (`tessera list layout`)")  \
  R(WHOLE_BATCHES, TABLE_MEMORY, NOT_BUILT, "the memory of such a layout does not move with a bucket",                 \
    "use another layout")                                                                                              \
  R(MIXED, MOVES, WHOLE, "a find could miss a pair on its way",                                                        \
    "use concurrency = phased, or a scheme that moves nothing")                                                        \
  R(MIXED, LATE_VALUES, WHOLE, "a find could read between the two writes",                                             \
    "use concurrency = phased, or a layout of whole pairs")                                                            \
  R(TILES, HOST_PAGES, NOT_BUILT, "pages in host memory are worked on by tiles of one lane",                           \
    "set [layout] tile_lanes = 1")

#define CALL_ROWS(R)                                                                                                   \
  R(CALL_KEYS, SLOTS_OF_FILTER, NO_KEYS, "a filter keeps no keys",                                                     \
    "use tsr_insert, tsr_contains, tsr_count_all, tsr_erase, tsr_clear or tsr_filter_describe, or another kind")       \
  R(CALL_ERASE, BLOOM, NO_KEYS, "a filter keeps bits and no keys, and other keys have the same bits",                  \
    "add a layout and a scheme of fingerprints (`tessera list`), or use another kind")                                 \
  R(CALL_MERGE, SLOTS_OF_FILTER, NOT_BUILT, "the fingerprints of both may not fit the buckets of one",                 \
    "insert the keys of both into one")                                                                                \
  R(CALL_KERNEL, SLOTS_OF_FILTER, NOT_BUILT, "a kernel's functions take a filter of bits",                             \
    "use the calls of the library, or a filter without a layout")                                                      \
  R(CALL_KEYS, FILTER, NO_KEYS, "a filter keeps bits and no keys",                                                     \
    "use tsr_insert, tsr_contains, tsr_clear, tsr_filter_merge or tsr_filter_describe, or another kind")               \
  R(CALL_OF_FILTERS, NO_FILTER, MEANING, "the table has keys", "make one of kind = filter")                            \
  R(CALL_FIND, FILTER, NO_KEYS, "a filter has no values", "use tsr_contains")                                          \
  R(CALL_FIND, NO_VALUES, MEANING, "a set has no values", "use tsr_contains")                                          \
  R(CALL_FIND_ALL, FILTER, NO_KEYS, "a filter has no values", "use tsr_count_all")                                     \
  R(CALL_FIND_ALL, NO_VALUES, MEANING, "a set has no values", "use tsr_count_all")                                     \
  R(CALL_FIND_OR_INSERT, PROMISE, MEANING, "such an insert looks for no key", "use another policy, such as first")     \
  R(CALL_FIND_OR_INSERT, COUNTER, MEANING, "a counter counts each key that it is given",                               \
    "use tsr_insert, then tsr_find")                                                                                   \
  R(CALL_FIND_OR_INSERT, SATURATES, NOT_BUILT, "a sum may be too small while others add to it",                        \
    "use tsr_insert, then tsr_find")                                                                                   \
  R(CALL_FIND_OR_INSERT, KEEPS_ALL, MEANING, "it keeps every pair, so that no key counts as present",                  \
    "use tsr_insert, or kind = set or map")                                                                            \
  R(CALL_NUMBER, NO_INDEX, MEANING, "its keys have no numbers", "make a table of kind = index")                        \
  R(CALL_EVICTED, CACHE, MEANING, "it hands the pairs that it gives up back at once", "use tsr_call.unplaced_keys")    \
  R(CALL_EVICTED, NO_INDEX, MEANING, "it gives up no keys", "make a table of kind = index with an eviction part")      \
  R(CALL_ROWS, NO_NUMBERED_ROWS, MEANING, "no numbers have rows", "make a table of kind = index with value_bytes")     \
  R(CALL_SCORES, NO_CACHE, MEANING, "its pairs have no scores", "make a table of kind = cache")                        \
  R(CALL_UNIQUE, DEALT_INDEX, NOT_BUILT, "it works on one device", "use device, or tsr_number")                        \
  R(CALL_JOIN, DEALT_INDEX, NOT_BUILT, "pairs that are dealt anew get new numbers", "use device")                      \
  R(CALL_REHASH, DEALT_INDEX, NOT_BUILT, "pairs that are dealt anew get new numbers", "use device, or another table")  \
  R(CALL_REHASH, CACHE, NOT_BUILT, "scores stay with their slots", "export the pairs, and insert them into another")   \
  R(CALL_EVICTED, EVICTS_NOTHING, MEANING, "it gives up no keys", "add `eviction = NAME`")                             \
  R(CALL_ERASE_PAIRS, BUCKETS, NOT_BUILT, "a key's values are erased together", "use tsr_erase, or values = inline")   \
  R(CALL_ERASE_VALUES, VALUE_BYTES, BYTES, "no two rows are compared",                                                 \
    "pass values = NULL, which erases any one pair of a key, or use tsr_erase")                                        \
  R(CALL_APPLY, PHASED, PHASES, "inserts, finds and erases must not overlap there",                                    \
    "use concurrency = mixed, or one call for each kind of operation")                                                 \
  R(CALL_APPLY, INDEPENDENT, NOT_BUILT, "a key may be on any device",                                                  \
    "use split = hash, or one call for each kind of operation")                                                        \
  R(CALL_FLUSH, NO_LINKS, MEANING, "there are no lists to pack", "use tsr_rehash, which drops erased slots too")       \
  R(CALL_FLUSH, STASH, ENDS, "empty slots would cut off the pairs in the stash",                                       \
    "use tsr_rehash, which drops erased slots too")                                                                    \
  R(CALL_FLUSH, NO_EXCHANGE, WHOLE, "a list gets shorter by exchanging pairs",                                         \
    "use tsr_rehash, which drops erased slots too")                                                                    \
  R(CALL_AGGREGATE, VALUE_BYTES, BYTES, "bytes are not added up or compared",                                          \
    "use an inner join and combine what the rows mean, or count")                                                      \
  R(CALL_CAPTURED, DEVICES, NOT_BUILT, "they work in streams of their own", "use one device")                          \
  R(CALL_CAPTURED, GROWTH, NO_WAIT, "an insert into a table that grows waits, to see what fits", "use growth = none")  \
  R(CALL_CAPTURED, VALUE_BYTES, NOT_BUILT, "the host counts the rows, and allocates memory for them",                  \
    "make this call before or after")                                                                                  \
  R(CALL_CAPTURED, WHOLE_BATCHES, NO_WAIT, "the host allocates memory for a whole batch", "insert before it")          \
  R(CALL_CAPTURED, HOST_PAGES, NOT_BUILT, "the host copies the pages", "use a table that the device holds")            \
  R(CALL_CAPTURED, KEEPS_NUMBERS, NO_WAIT, "the host counts numbers that never come back", "use reuse = yes")          \
  R(CALL_CAPTURED, EVICTS, NO_WAIT, "the host counts the keys that have to go", "use eviction = none")                 \
  R(CALL_GROUP, CACHE, NOT_BUILT, "a cache is on one device", "use one cache for each process")                        \
  R(CALL_GROUP, INDEX, NOT_BUILT, "the shards of a group do not take turns in numbers",                                \
    "number the keys in one process")                                                                                  \
  R(CALL_GROUP, LONG_ROWS, NOT_BUILT, "at most 256 bytes per value are dealt to several devices",                      \
    "make a table in each process")                                                                                    \
  R(CALL_GROUP, SEVERAL_DEVICES, NOT_BUILT, "each process of a group has one device", "name one")                      \
  R(CALL_GROUP, SPLITTING, NOT_BUILT, "memory that grows in place is one process's own", "use growth = double")        \
  R(CALL_GROUP, INDEPENDENT, NOT_BUILT, "pairs of a group are dealt by their keys", "use split = hash")                \
  R(CALL_GROUP, REPLICATED, NOT_BUILT, "pairs of a group are dealt by their keys", "use split = hash")                 \
  R(CALL_KERNEL, DEVICES, NOT_BUILT, "a kernel runs on one device", "use device in place of [table] devices")          \
  R(CALL_KERNEL, HOST_PAGES, NOT_BUILT, "a kernel needs all of the table on the device",                               \
    "raise [table] device_bytes, or use a smaller capacity")                                                           \
  R(CALL_KERNEL, BUCKETS, NOT_BUILT, "a kernel of a user's own does not reach lists of values",                        \
    "use values = inline, or tsr_insert and tsr_find_all")                                                             \
  R(KERNEL_ALL, PHASED, PHASES, "inserts, finds and erases must not overlap there",                                    \
    "use concurrency = mixed, or declare one of them, such as TSR_TABLE(NAME, finds), and write a kernel for each")    \
  R(KERNEL_INSERTS, WHOLE_BATCHES, NOT_BUILT, "what is made of whole batches takes no single pair",                    \
    "insert by tsr_insert, or use another scheme")                                                                     \
  R(KERNEL_INSERTS, REPLACES_LATE, NOT_BUILT, "a kernel could write a row that another one has not named yet",         \
    "use a layout that stores pairs whole, or duplicates = first")                                                     \
  R(KERNEL_INSERTS, FIRST_SEEN, MEANING, "the threads of a kernel come in no order",                                   \
    "use numbering = any, or tsr_number of tessera.h before the kernel")                                               \
  R(KERNEL_INSERTS, NUMBERS_MOVE, WHOLE, "the slot of a new key could change before its number is written",            \
    "use a scheme that moves nothing, or tsr_number of tessera.h before the kernel")                                   \
  R(KERNEL_INSERTS, NUMBERS_LATE, WHOLE, "another thread could read a number that is not written yet",                 \
    "use a layout that stores pairs whole, or tsr_number of tessera.h before the kernel")                              \
  R(KERNEL_INSERTS, EVICTS, NOT_BUILT, "a kernel gives no key a score", "use tsr_number of tessera.h")                 \
  R(KERNEL_INSERTS, LONG_ROWS, NOT_BUILT, "one thread writes a row, of at most 256 bytes", "use tsr_insert")           \
  R(KERNEL_INSERTS, CACHE, NOT_BUILT, "a single insert gives up no pair", "use tsr_insert")                            \
  R(KERNEL_ERASES, EVICTS, NOT_BUILT, "a kernel takes no score back", "use tsr_erase of tessera.h")

typedef struct feature {
  const char *section, *key;
  bool is_class;
  const char *text;
} feature;

#define FEATURE(name, section, key, is_class, text) {section, key, is_class, text},
static const feature features[TSR_FEATURES] = {FEATURE(NOTHING, "", "", 0, "") TSR_SETTING_FEATURES(FEATURE)
                                                   TSR_PART_FEATURES(FEATURE) TSR_CALL_FEATURES(FEATURE)};

typedef struct row {
  tsr_feature first, other;
  const char *law, *reason, *way_out;
} row;

#define ROW(first, other, law, reason, way_out) {TSR_HAS_##first, TSR_HAS_##other, law, reason, way_out},
static const row rows[] = {SETTING_ROWS(ROW) PART_ROWS(ROW) CALL_ROWS(ROW)};
enum { ROWS = sizeof rows / sizeof rows[0] };

bool tsr_incompatible_at(size_t i, tsr_incompatible *pair) {
  if (!pair || i >= ROWS) return false;
  const row *r = &rows[i];
  *pair = (tsr_incompatible){features[r->first].text, features[r->other].text, r->law, r->reason, r->way_out};
  return true;
}

/* ---- Places ---------------------------------------------------------------------------------- */

bool tsr_spec_has_slots(const tsr_spec *spec) {
  return tsr_spec_find(spec, "table", "layout") || tsr_spec_find(spec, "table", "probing");
}

bool tsr_is_key_of_filter(const char *key, bool has_slots) {
  static const char *const keys[] = {"kind", "key_bits", "key_columns", "capacity",  "hasher",
                                     "seed", "backend",  "device",      "find_batch"};
  static const char *const of_slots[] = {"layout", "probing", "load_factor", "statistics"};
  const size_t count = sizeof keys / sizeof keys[0] - (has_slots ? 1 : 0); /* there are no blocks to order finds by */
  for (size_t at = 0; at < count; at++)
    if (strcmp(key, keys[at]) == 0) return true;
  for (size_t at = 0; has_slots && at < sizeof of_slots / sizeof of_slots[0]; at++)
    if (strcmp(key, of_slots[at]) == 0) return true;
  return false;
}

/* The entry that asks for a feature; NULL: none, it is so by default. */
static const tsr_spec_entry *entry_of(const tsr_spec *spec, tsr_feature which) {
  if (which != TSR_HAS_SLOT_KEY) return tsr_spec_find(spec, features[which].section, features[which].key);
  for (size_t i = 0; i < tsr_spec_count(spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec, i);
    if (strcmp(entry->section, "table") == 0 && !tsr_is_key_of_filter(entry->key, tsr_spec_has_slots(spec)))
      return entry;
  }
  return NULL;
}

enum { NAME_BYTES = 512 };

/* Behind the words of an entry or a call, what they mean here. */
static void add_class(tsr_feature which, char *name) {
  const size_t length = strlen(name);
  if (features[which].is_class) snprintf(name + length, NAME_BYTES - length, " (%s)", features[which].text);
}

/* Where the spec asks for it. Where nothing does, the spec as a whole. */
static void name_place(const tsr_spec *spec, tsr_feature which, char *name) {
  const tsr_spec_entry *entry = entry_of(spec, which);
  if (!entry) {
    snprintf(name, NAME_BYTES, "%s: %s", tsr_spec_name(spec), features[which].text);
    return;
  }
  tsr_spec_where(entry, name, NAME_BYTES);
  add_class(which, name);
}

static void name_other(const tsr_spec *spec, tsr_feature which, char *name) {
  const tsr_spec_entry *entry = entry_of(spec, which);
  if (!entry) {
    snprintf(name, NAME_BYTES, "%s", features[which].text);
    return;
  }
  if (strcmp(entry->section, "table") == 0)
    snprintf(name, NAME_BYTES, "%s = %s", entry->key, entry->value);
  else
    snprintf(name, NAME_BYTES, "[%s] %s = %s", entry->section, entry->key, entry->value);
  add_class(which, name);
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static tsr_status refuse(const row *r, const char *name, const char *other, tsr_status as, tsr_error *error) {
  return tsr_fail(error, as, "%s does not go with %s: %s; %s", name, other, r->reason, r->way_out);
}

tsr_status tsr_compatible_check(const tsr_traits *traits, const tsr_spec *spec, tsr_status as, tsr_error *error) {
  char name[NAME_BYTES], other[NAME_BYTES];
  size_t i = 0;
  while (i < ROWS && !(traits->has[rows[i].first] && traits->has[rows[i].other])) i++;
  if (i == ROWS) return TSR_OK;
  const row *r = &rows[i];
  const bool is_first = entry_of(spec, r->first) != NULL;
  name_place(spec, is_first ? r->first : r->other, name);
  name_other(spec, is_first ? r->other : r->first, other);
  return refuse(r, name, other, as, error);
}

tsr_status tsr_compatible_refuse(tsr_feature first, tsr_feature other, const char *call, tsr_error *error) {
  char name[NAME_BYTES];
  size_t i = 0;
  while (i < ROWS && !(rows[i].first == first && rows[i].other == other)) i++;
  if (i == ROWS) return TSR_OK;
  snprintf(name, sizeof name, "%s", call);
  add_class(first, name);
  return refuse(&rows[i], name, features[other].text, TSR_UNSUPPORTED, error);
}

void tsr_compatible_refuse_calls(tsr_traits *traits) {
  for (uint32_t i = TSR_FIRST_CALL; i < TSR_FEATURES; i++) traits->has[i] = false;
  for (size_t i = 0; i < ROWS; i++)
    if (rows[i].first >= TSR_FIRST_CALL && traits->has[rows[i].other]) traits->has[rows[i].first] = true;
}

tsr_status tsr_compatible_explain(const tsr_traits *traits, tsr_feature feature, const char *call, tsr_error *error) {
  size_t i = 0;
  while (i < ROWS && !(rows[i].first == feature && traits->has[rows[i].other])) i++;
  return i < ROWS ? tsr_compatible_refuse(feature, rows[i].other, call, error) : TSR_OK;
}
