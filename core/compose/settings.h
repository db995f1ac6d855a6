/* SPDX-License-Identifier: Apache-2.0
 *
 * Settings: the meaning of a spec's [table] section, and of a plugin's section. Both are read by the same
 * rows-and-types rule: known keys only, exact values, every sentence with its file:line. Read next: compose.h.
 */
#ifndef TSR_SETTINGS_H
#define TSR_SETTINGS_H

#include "core/compose/compatible.h"
#include "core/spec/spec.h"
#include "core/tessera.h"
#include "plugins/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_BACKEND_AUTO, TSR_BACKEND_CUDA, TSR_BACKEND_CPU };
#define TSR_CAPACITY_MAX (1ull << 40) /* pairs */
enum { TSR_SHORT_ROW = 256 };         /* bytes of a value */
#define TSR_PAGE_BATCH_AUTO UINT64_MAX
#define TSR_LOAD_AUTO 0.0 /* load_factor, until the composition chooses one */
#define TSR_CHUNK_AUTO TSR_PAGE_BATCH_AUTO
/* Three pages of this size fit the shared memory of an H200's multiprocessor, each with its locks. */
enum { TSR_PAGE_BYTES_AUTO = 60 << 10 };
enum { TSR_GROWTH_NONE, TSR_GROWTH_DOUBLE, TSR_GROWTH_SPLIT };
enum { TSR_CLEAN_AUTO, TSR_CLEAN_NO };
enum { TSR_VALUES_INLINE, TSR_VALUES_BUCKETS };
enum { TSR_SPLIT_HASH, TSR_SPLIT_INDEPENDENT, TSR_SPLIT_REPLICATED };
enum { TSR_EXCHANGE_DIRECT, TSR_EXCHANGE_COPY };
enum { TSR_COMBINE_AUTO, TSR_COMBINE_ALWAYS, TSR_COMBINE_NEVER };
enum { TSR_OVERFLOW_REPORT, TSR_OVERFLOW_SATURATE, TSR_OVERFLOW_WRAP };
enum { TSR_DEVICES_MAX = 64, TSR_DEVICES_ALL = TSR_DEVICES_MAX + 1 };

/* [table] devices: how many, 0: the table is on one device and has no shards, TSR_DEVICES_ALL: as many as there are. */
typedef struct tsr_devices {
  uint32_t count;
  uint8_t numbers[TSR_DEVICES_MAX];
} tsr_devices;

/* The kinds of the core's own: parts see another one (composition.h). */
enum { TSR_KIND_INDEX = TSR_KINDS, TSR_KIND_CACHE };
enum { TSR_NUMBERING_ANY, TSR_NUMBERING_FIRST_SEEN };
enum { TSR_REUSE_YES, TSR_REUSE_NO };

/* What inserting a present key does. */
typedef struct tsr_policy_settings {
  uint64_t duplicates;
  uint64_t overflow;      /* TSR_OVERFLOW_; a policy of TSR_DUPLICATES_COUNT where it says saturate */
  uint64_t replaces_rows; /* with value_bytes: that duplicates = replace was said */
} tsr_policy_settings;

typedef struct tsr_target_settings {
  uint64_t backend, device;
} tsr_target_settings;

typedef struct tsr_upkeep_settings {
  uint64_t growth, growth_limit, clean;
} tsr_upkeep_settings;

typedef struct tsr_page_settings {
  uint64_t bytes, batch, find_batch, device_bytes;
} tsr_page_settings;

/* [table] devices, [devices] */
typedef struct tsr_sharing_settings {
  tsr_devices devices;
  uint64_t split, chunk, exchange, combine;
} tsr_sharing_settings;

/* [filter]; and of the filter before the table its bits per key, 0: none. has_slots: a filter that has a layout and a scheme,
 * which hold fingerprints; otherwise it is a Bloom filter. */
typedef struct tsr_filter_settings {
  uint64_t block_bytes, functions, bits_per_key, one_in, before;
  bool has_slots;
} tsr_filter_settings;

/* [table] values, [values] */
typedef struct tsr_value_settings {
  uint64_t kind, first, per_key;
  double growth;
} tsr_value_settings;

/* Of an index. */
typedef struct tsr_number_settings {
  uint64_t numbering, reuse;
  uint64_t row_bytes; /* value_bytes of an index: each number has a row; 0: none. value_bytes itself is 0 then */
  uint64_t scores;    /* TSR_SCORES_: from the eviction part, when it has planned */
} tsr_number_settings;

typedef struct tsr_settings {
  uint64_t kind, key_bits, value_bits, value_bytes, concurrency, statistics, capacity, seed, stash;
  double load_factor;
  tsr_policy_settings policy;
  tsr_target_settings target;
  tsr_upkeep_settings upkeep;
  tsr_page_settings pages;
  tsr_sharing_settings sharing;
  tsr_filter_settings filter;
  tsr_value_settings values;
  tsr_number_settings numbers;
  const char *part[TSR_ROLES]; /* plugin names, NULL = absent; point into the spec */
  tsr_traits traits;           /* of [table] and its sections; compose.h adds those of the parts */
} tsr_settings;

static inline bool tsr_is_bloom(const tsr_settings *s) { return s->kind == TSR_KIND_FILTER && !s->filter.has_slots; }

/* Reads and checks [table], and refuses sections that no part has. options: as in tessera.h, never NULL. */
tsr_status tsr_settings_read(const tsr_spec *spec, const tsr_options *options, tsr_settings *settings, tsr_error *error)
    TSR_MUST_CHECK;

/* Whether values of two specs can be stored for each other: they have the same kind and widths. call: named in an error. */
tsr_status tsr_settings_check_same(const tsr_settings *asked, const tsr_settings *own, const char *call,
                                   tsr_error *error) TSR_MUST_CHECK;

/* As tsr_settings_read, for a pool: only the allocator has to be there, and capacity counts units. Entries of a table may
 * be there as well, so that a table's spec describes its pool. */
tsr_status tsr_settings_read_pool(const tsr_spec *spec, const tsr_options *options, tsr_settings *settings,
                                  tsr_error *error) TSR_MUST_CHECK;

/* Reads the section of a plugin into its config struct (config_bytes, zeroed by the caller). */
tsr_status tsr_settings_read_part(const tsr_spec *spec, const tsr_plugin *plugin, void *config, tsr_error *error)
    TSR_MUST_CHECK;

/* The word for a value of a choice row, e.g. ("duplicates", TSR_DUPLICATES_MIN) -> "min". */
const char *tsr_settings_word(const char *key, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
