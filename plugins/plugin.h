/* SPDX-License-Identifier: Apache-2.0
 *
 * The host half of the plugin contract: the descriptor that a plugin exports, its parameter rows, and plan().
 * The device half is device.cuh and one header per role; README.md numbers every rule.
 *
 * A plugin is two files. `<name>.cuh` is what it does: parameters and device functions, written once for GPU and CPU.
 * `<name>.c` is what it is: it includes its .cuh, defines plan() and ends with TSR_PLUGIN(...). The build compiles the
 * .cuh for every key and value width of the role, to LTO-IR and for the CPU, and carries all of it in one shared object
 * that exports a single data symbol. Host code of a plugin never calls CUDA, never prints and keeps no state.
 */
#ifndef TSR_PLUGIN_H
#define TSR_PLUGIN_H

#include <stddef.h>

#include "plugins/error.h"
#include "plugins/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Facts: what is known of a composition. Each has one writer. ----------------------------- */

/* The facts that plan() writes into tsr_plan: of a layout, an allocator, a probing scheme, an eviction part; a hasher has
 * none. The core
 * copies them to the shape, where the parts that plan later read them. F(type, name).
 * bucket_places: how many times the size of a slot fits in a bucket, a power of two up to 32. Places that are not slots are
 * private to the layout, such as a link or tags. */
#define TSR_LAYOUT_FACTS(F)                                                                                            \
  F(uint32_t, bucket_slots)  /* slots of one bucket, 1 to 32 */                                                        \
  F(uint32_t, bucket_places) /* see above */                                                                           \
  F(uint32_t, tile_lanes)    /* lanes of a warp that work on one bucket: a power of two, 1 to 32; 1 on the CPU */      \
  F(uint32_t, share_lanes)   /* neighbouring lanes that share coherent loads (>= tile_lanes; device.cuh, tsr_load) */  \
  F(uint32_t, bucket_bytes)  /* bytes that loading one bucket reads */                                                 \
  F(uint32_t, can_exchange)  /* 1: a whole pair can be swapped atomically, so schemes may move pairs */                \
  F(uint32_t, whole_pairs)   /* 1: key and value become visible together, so a find may overlap an insert */           \
  F(uint32_t, has_link)      /* 1: the place after the last slot holds a link to a unit of the allocator */            \
  F(uint32_t, has_flag)      /* 1: each bucket has an overflow flag: a pair whose walk passed it is further on */      \
  F(uint32_t, short_keys)    /* 1: a slot holds the part of its key's hash that the page number does not imply */      \
  F(uint32_t, fingerprint_bits) /* 0, or a slot holds only this many bits of its key's hash, which other keys share */

#define TSR_ALLOCATOR_FACTS(F)                                                                                         \
  F(uint64_t, units)         /* >= units_min, below 2^32 */                                                            \
  F(uint32_t, unit_bytes)    /* of one unit: a multiple of 16 */                                                       \
  F(uint32_t, units_at_once) /* the most that one allocate can give */                                                 \
  F(uint32_t, reuses_units)  /* 1: a released unit can be handed out again; 0: not before the pool is cleared */

/* lists: 0, or the number of bulk lists (core/design/0015-lists-in-bulk.md). All pairs are then stored list after list, and
 * tsr_list_of names the list of a key. The walk is the buckets of the key's list. The scheme's first region holds offsets:
 * the slot at which each list begins, then those of the two reserved keys, then the end of the last one. They are
 * lists + 1 + TSR_TAIL_RESERVED 32-bit numbers, counted through all buckets. The core makes the lists when pairs are inserted.
 * first_slots: 0, or a promise: a pair goes to a later bucket of its walk only after its first bucket had this many slots
 * that were not empty, and a claim takes the lowest vacant slot of its bucket.
 * choices: 0, or a new pair goes to the least loaded of this many buckets of its walk, the first of equal ones. With
 * first_slots these are the buckets after the first one, and they are used once that has first_slots pairs.
 * ordered: 0, or a promise for this many buckets at the front of a walk: a pair goes to a later bucket only after all of
 * these had no empty slot. With choices the core keeps it: it tries these buckets in turn, and the choices are those after
 * them.
 * walk_max: 0, or the most buckets that the walk of a key has.
 * clusters: 1: walks of different keys go on alike, so full buckets join. A walk to an empty slot grows with the square of
 * what it grows with elsewhere. The core says when such a table needs tsr_rehash.
 * by_fingerprint: a promise: two keys of one fingerprint that share a bucket share all buckets of their walks, so that either
 * one's fingerprint may be taken for the other's. after() knows the key in hand by its fingerprint alone.
 * build_pages: 0, or build() makes the scheme's memory from the keys of a whole batch, this many pages of them, before its
 * pairs are inserted (core/design/0042-built-from-a-batch.md). tsr_build_page_of names the page of a key.
 * build_bytes: memory that build() gets for a page, at most TSR_BUILD_BYTES_MAX.
 * splits: 1: a promise about other numbers of buckets, by which a table grows in place. A key has `choices` buckets and no
 * other. Where the table has `buckets` of them, its i-th one is that which tsr_split_from makes of its i-th one where the table
 * has more. State words may differ then, but no region and no other fact but walk_max.
 * counts_slots: a promise: a new pair may go into any bucket of its walk with room, if those before have none. place() is
 * then called only for pairs that find none. */
#define TSR_PROBING_FACTS(F)                                                                                           \
  F(uint64_t, buckets)        /* of a page if there are pages, otherwise of the table; >= buckets_min, its preset */   \
  F(uint32_t, ends_at_empty)  /* 1: an empty slot in a bucket proves that the key is in no later bucket of its walk */ \
  F(uint32_t, moves_pairs)    /* 1: an insert may move other keys' pairs */                                            \
  F(uint32_t, one_bucket)     /* 1: a key's walk is one bucket and the linked list that begins there */                \
  F(uint32_t, holds_many)     /* 1: a walk visits every bucket once, or grows: a key may have many pairs */            \
  F(uint32_t, first_slots)    /* see above */                                                                          \
  F(uint64_t, lists)          /* see above */                                                                          \
  F(uint32_t, sorts_lists)    /* 1: lists are made from a batch in their order; 0: by random access, in two passes */  \
  F(uint32_t, counts_slots)   /* see above */                                                                          \
  F(uint32_t, asks_for_room)  /* 1: place() uses nothing of a bucket but has_room */                                   \
  F(uint32_t, choices)        /* see above */                                                                          \
  F(uint32_t, ordered)        /* see above */                                                                          \
  F(uint64_t, walk_max)       /* see above */                                                                          \
  F(uint32_t, has_notes)      /* 1: next() reads notes (tsr_note) */                                                   \
  F(uint32_t, by_fingerprint) /* see above */                                                                          \
  F(uint32_t, clusters)       /* see above */                                                                          \
  F(uint64_t, build_pages)    /* see above */                                                                          \
  F(uint32_t, build_bytes)    /* see above */                                                                          \
  F(uint32_t, splits)         /* see above */

/* weighs_new: a new pair that would be worth less than every candidate is not taken, and is handed back itself. */
#define TSR_EVICTION_FACTS(F)                                                                                          \
  F(uint32_t, score_bits)   /* of the score that is stored for a slot: 8, 16 or 32 */                                  \
  F(uint32_t, weighs_new)   /* see above */                                                                            \
  F(uint32_t, expires)      /* 1: a pair can be worth 0, and then no call finds it */                                  \
  F(uint32_t, index_scores) /* TSR_SCORES_: how an index keeps such scores */

#define TSR_FACT_MEMBER(type, name) type name;
typedef struct tsr_layout_facts {
  TSR_LAYOUT_FACTS(TSR_FACT_MEMBER)
} tsr_layout_facts;
typedef struct tsr_allocator_facts {
  TSR_ALLOCATOR_FACTS(TSR_FACT_MEMBER)
} tsr_allocator_facts;
typedef struct tsr_probing_facts {
  TSR_PROBING_FACTS(TSR_FACT_MEMBER)
} tsr_probing_facts;
typedef struct tsr_eviction_facts {
  TSR_EVICTION_FACTS(TSR_FACT_MEMBER)
} tsr_eviction_facts;

/* All facts, as plan() reads them; 0 before their writer has planned. */
typedef struct tsr_shape {
  /* from the spec, before any plan() */
  uint32_t kind;           /* TSR_KIND_ */
  uint32_t key_bits;       /* 32 or 64 */
  uint32_t value_bits;     /* 0 (set), 32 or 64 */
  uint32_t payload_bits;   /* bits stored beside a key: 0, 32 or 64 */
  uint32_t sm;             /* compute capability, 90 for Hopper; 0 = the cpu backend */
  uint32_t duplicates;     /* TSR_DUPLICATES_ */
  uint32_t tells_overflow; /* 1: sums and counts that pass the largest value are counted */
  uint32_t concurrency;    /* TSR_CONCURRENCY_ */
  uint32_t statistics;     /* 1: count probes */
  uint64_t capacity;       /* pairs to store */
  uint64_t slots_min;      /* capacity / load_factor, rounded up */
  uint64_t seed;           /* a rebuild draws a new one */
  TSR_LAYOUT_FACTS(TSR_FACT_MEMBER)
  /* from the core, after the layout's plan() */
  uint64_t pages; /* number of equal parts of the table, each with all buckets of its keys' walks; 1 without pages */
  uint64_t buckets_min; /* slots_min / bucket_slots / pages, rounded up */
  uint64_t units_min;   /* that the allocator must hold: where buckets link, enough to hold `capacity` pairs
                         whatever their hashes; else one for each of buckets_min; of a pool what was asked for */
  TSR_ALLOCATOR_FACTS(TSR_FACT_MEMBER)
  TSR_PROBING_FACTS(TSR_FACT_MEMBER)
  TSR_EVICTION_FACTS(TSR_FACT_MEMBER)
  /* from the core, after all plan() calls: for services of the SDK */
  uint32_t guard;     /* TSR_GUARD_ */
  uint32_t is_mixed;  /* 1: operations of all kinds overlap, so every load must be coherent */
  uint32_t keys_stay; /* 1: while inserts run no pair is moved or erased: a slot that holds a key goes on holding it */
  uint32_t warp_sync; /* 1: the lanes of a warp make their calls together (device.cuh) */
  uint32_t is_paged;  /* 1: there are pages */
  uint32_t has_lists; /* 1: lists are made in bulk */
  uint32_t in_page;   /* 1: this code works on a copy of one page in shared memory */
} tsr_shape;

/* ---- Regions: memory that the core owns for a part ------------------------------------------- */

/* The core allocates, clears, copies and frees it. Every region starts at a multiple of 256 bytes. */
typedef struct tsr_region {
  const char *name;          /* static; shown by `tessera check`; NULL ends the list */
  uint64_t bytes;            /* fixed part */
  uint64_t bytes_per_bucket; /* times all buckets, tail buckets included */
  uint8_t fill;              /* every byte of an empty table */
  uint64_t draws;            /* not 0, for hashers: instead of `fill`, words that tsr_draw draws from this seed */
} tsr_region;

/* Where a layout stores the keys, or the payloads, of all its slots, so that a whole table can be read without loading
 * buckets. Item i is at offset_bytes + i * stride_bytes of a region. Items are in the order of buckets, and within a bucket
 * in the order of places, which is the same for keys and payloads. */
typedef struct tsr_slot_column {
  uint32_t region, offset_bytes, stride_bytes; /* stride_bytes = 0: there is none */
} tsr_slot_column;

/* The result of a plan(). The core reads the facts of the plugin's own role. */
typedef struct tsr_plan {
  union {
    tsr_layout_facts layout;
    tsr_allocator_facts allocator;
    tsr_probing_facts probing;
    tsr_eviction_facts eviction;
  };
  tsr_region regions[TSR_REGIONS_MAX];
  tsr_slot_column keys, payloads;  /* of a layout; optional */
  uint64_t state[TSR_STATE_WORDS]; /* becomes c->t->part[role].word on the device */
} tsr_plan;

/* ---- Parameters: one row each ---------------------------------------------------------------- */

typedef enum tsr_parameter_type { TSR_PARAMETER_U32, TSR_PARAMETER_U64 } tsr_parameter_type;

typedef struct tsr_parameter {
  const char *name; /* INI key, struct member and device constant alike */
  tsr_parameter_type type;
  uint32_t offset; /* in the plugin's config struct */
  uint64_t initial, minimum, maximum;
  const char *doc; /* short sentences: what it is, its unit, what special values mean */
} tsr_parameter;

/* ---- The code of one width ------------------------------------------------------------------- */

#define TSR_ANY_BITS 0xFFFFFFFFu /* the role does not depend on this width */

typedef struct tsr_image {
  uint32_t key_bits, payload_bits;
  const void *functions; /* the role's function table for the CPU (e.g. tsr_layout_functions); NULL ends the array */
  const unsigned char *device; /* fatbin with LTO-IR, or NULL where the plugin was built without nvcc */
  size_t device_bytes;
} tsr_image;

/* ---- The descriptor -------------------------------------------------------------------------- */

/* Host, any thread, reentrant. Checks config against the shape, and returns TSR_INCOMPATIBLE with a sentence (tsr_fail) if
 * the part cannot work with them. Otherwise writes the facts of its role, regions and state into plan.
 * config: the struct that the parameter rows describe, every value within its row's range. plan: all zero except
 * plan->probing.buckets. Both belong to the core. */
typedef tsr_status tsr_plan_function(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error);

typedef struct tsr_plugin {
  uint32_t abi, size; /* TSR_ABI and sizeof(tsr_plugin): the first two members for ever, checked before anything else */
  uint32_t role;      /* TSR_ROLE_ */
  const char *name;   /* file, target, INI value and .so alike: a-z 0-9 _, starting with a letter, at most 24 */
  const char *summary; /* sentences: what it is (`tessera list` shows this one alone), when to use it, what it needs */
  const char *source;  /* where the algorithm comes from: paper and section, or "own" */
  const tsr_parameter *parameters; /* ends with a row whose name is NULL */
  uint32_t config_bytes;
  tsr_plan_function *plan;
  const tsr_image *images;
  const char *text; /* of the .cuh, for what is compiled at run time */
} tsr_plugin;

/* ---- Services for plan() --------------------------------------------------------------------- */

/* For hashers: draws random 64-bit words, one per call, from a copy of shape->seed; every bit of the seed counts (splitmix64;
 * S. Vigna, public domain). */
static inline uint64_t tsr_draw(uint64_t *seed) {
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* For the core: what a region with `draws` holds. */
static inline void tsr_draw_region(const tsr_region *region, uint64_t *words) {
  uint64_t seed = region->draws;
  for (uint64_t i = 0; i < region->bytes / sizeof *words; i++) words[i] = tsr_draw(&seed);
}

/* For schemes that step round a prime number of buckets: the first prime from n on, by trial division. */
static inline uint64_t tsr_next_prime(uint64_t n) {
  for (n = n < 2 ? 2 : n;; n++) {
    uint64_t divisor = 2;
    while (divisor <= n / divisor && n % divisor != 0) divisor++;
    if (divisor > n / divisor) return n;
  }
}

/* For schemes whose walk visits every bucket unless max_probes bounds it. Writes the number of buckets that it visits to
 * *limit (max_probes = 0: all) and to walk_max, and refuses 2^32 buckets or more. scheme: the plugin's name. */
static inline tsr_status tsr_plan_walk(tsr_plan *plan, const char *scheme, uint32_t max_probes, uint64_t *limit,
                                       tsr_error *error) {
  const uint64_t buckets = plan->probing.buckets;
  if (buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = %s counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise [layout] "
                    "bucket_slots",
                    scheme, (unsigned long long)buckets);
  *limit = plan->probing.walk_max = max_probes && max_probes < buckets ? max_probes : buckets;
  return TSR_OK;
}

/* For schemes that hold two buckets at a time (fact choices): refuses buckets of which a lane cannot hold two. scheme: the
 * plugin's name. */
static inline tsr_status tsr_plan_two_buckets(const tsr_shape *shape, const char *scheme, tsr_error *error) {
  uint32_t lane_bytes = shape->tile_lanes ? shape->bucket_bytes / shape->tile_lanes : 0;
  if (!shape->sm || lane_bytes <= 128) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE,
                  "probing = %s compares two buckets, and a lane would hold %u bytes of each; its registers hold 128. "
                  "Raise [layout] tile_lanes or lower bucket_slots",
                  scheme, lane_bytes);
}

/* For allocators whose unit_bytes may be 0: then the bytes of a bucket if the layout links, otherwise 128. */
static inline uint32_t tsr_plan_unit_bytes(const tsr_shape *shape, uint32_t unit_bytes) {
  return unit_bytes ? unit_bytes : shape->has_link ? shape->bucket_bytes : 128;
}

/* For layouts: refuses keys that the device cannot swap atomically. */
static inline tsr_status tsr_plan_keys(const tsr_shape *shape, tsr_error *error) {
  if (shape->key_bits <= 64 || !shape->sm || shape->sm >= 90) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE,
                  "key_bits = %u: a slot's key is claimed by a 128-bit atomic operation. That needs compute capability "
                  "9.0, and this device has %u.%u: use backend = cpu, or key_bits = 64 with a hash of the key",
                  shape->key_bits, shape->sm / 10, shape->sm % 10);
}

/* For layouts of whole pairs: refuses words that the device cannot swap atomically. slot_bytes: of the word. layout: the
 * plugin's name. */
static inline tsr_status tsr_plan_pairs(const tsr_shape *shape, uint32_t slot_bytes, const char *layout,
                                        tsr_error *error) {
  if (slot_bytes < 16 || !shape->sm || shape->sm >= 90) return TSR_OK;
  if (shape->key_bits > 64) return tsr_plan_keys(shape, error);
  return tsr_fail(
      error, TSR_INCOMPATIBLE,
      "layout = %s: key_bits = %u and value_bits = %u need 128-bit atomics. They need compute capability 9.0, and this "
      "device has %u.%u: use a layout that stores key and value apart, such as soa, or narrower ones",
      layout, shape->key_bits, shape->value_bits, shape->sm / 10, shape->sm % 10);
}

/* For layouts: checks the parameters bucket_slots and tile_lanes, and writes the facts bucket_slots, bucket_places,
 * tile_lanes, share_lanes and bucket_bytes. A layout with places that are not slots lowers bucket_slots afterwards.
 * loaded_bytes: bytes that load reads per slot. */
static inline tsr_status tsr_plan_buckets(const tsr_shape *shape, uint32_t bucket_slots, uint32_t tile_lanes,
                                          uint32_t loaded_bytes, tsr_plan *plan, tsr_error *error) {
  tsr_layout_facts *facts = &plan->layout;
  uint32_t lanes = shape->sm ? tile_lanes : 1, bucket_bytes = bucket_slots * loaded_bytes;
  tsr_status status = tsr_plan_keys(shape, error);
  if (status) return status;
  if (bucket_slots & (bucket_slots - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[layout] bucket_slots = %u: must be a power of two from 1 to 32",
                    bucket_slots);
  if (tile_lanes & (tile_lanes - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[layout] tile_lanes = %u: must be a power of two from 1 to 32",
                    tile_lanes);
  if (tile_lanes > bucket_slots)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] tile_lanes = %u is more than bucket_slots = %u: a lane without a slot has no work; "
                    "lower tile_lanes or raise bucket_slots",
                    tile_lanes, bucket_slots);
  /* on a GPU a lane's part is in registers, of which it has 255 */
  if (bucket_bytes / lanes > (shape->sm ? 256u : 4u * TSR_BUCKET_WORDS))
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] bucket_slots = %u, tile_lanes = %u: a lane would hold %u bytes, and can hold 256: raise "
                    "tile_lanes or lower bucket_slots",
                    bucket_slots, tile_lanes, bucket_bytes / lanes);
  facts->bucket_slots = facts->bucket_places = bucket_slots;
  facts->tile_lanes = facts->share_lanes = lanes;
  facts->bucket_bytes = bucket_bytes;
  /* one lane with 32 or 64 bytes: coherent loads are shared (device.cuh, tsr_load); longer buckets would need more
   * shuffles than the requests they save, and the lanes of a wider tile touch whole sectors by themselves */
  if (shape->sm && lanes == 1 && (bucket_bytes == 32 || bucket_bytes == 64)) facts->share_lanes = bucket_bytes / 16;
  return TSR_OK;
}

/* For eviction parts: refuses scores that are not of 8, 16 or 32 bits. */
static inline tsr_status tsr_plan_scores(tsr_plan *plan, uint32_t score_bits, tsr_error *error) {
  plan->eviction.score_bits = score_bits;
  if (score_bits == 8 || score_bits == 16 || score_bits == 32) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE, "[eviction] score_bits = %u: must be 8, 16 or 32", score_bits);
}

/* ---- What a .c file uses --------------------------------------------------------------------- */

#define TSR_PARAMETER_TYPE_uint32_t TSR_PARAMETER_U32
#define TSR_PARAMETER_TYPE_uint64_t TSR_PARAMETER_U64
#define TSR_PARAMETER_ROW(type, name, initial, minimum, maximum, doc)                                                  \
  {#name, TSR_PARAMETER_TYPE_##type, (uint32_t)offsetof(tsr_config, name), initial, minimum, maximum, doc},

/* Closes a plugin's .c file: TSR_PLUGIN(plan_function, "summary.", "source"). The build gives TSR_ROLE, TSR_NAME,
 * TSR_ABI (a hash of the SDK's headers, by build_abi.sh), the images and the text; the .cuh gives TSR_PARAMETERS and
 * tsr_config. */
#define TSR_PLUGIN(plan_function, summary_text, source_text)                                                           \
  extern const tsr_image tsr_images[];                                                                                 \
  extern const char tsr_text[];                                                                                        \
  static const tsr_parameter tsr_parameters[] = {                                                                      \
      TSR_PARAMETERS(TSR_PARAMETER_ROW){NULL, TSR_PARAMETER_U32, 0, 0, 0, 0, NULL}};                                   \
  extern const tsr_plugin tsr_plugin_entry;                                                                            \
  __attribute__((visibility("default")))                                                                               \
  const tsr_plugin tsr_plugin_entry = {.abi = TSR_ABI,                                                                 \
                                       .size = sizeof(tsr_plugin),                                                     \
                                       .role = TSR_JOIN(TSR_ROLE_OF_, TSR_ROLE),                                       \
                                       .name = TSR_TEXT(TSR_NAME),                                                     \
                                       .summary = summary_text,                                                        \
                                       .source = source_text,                                                          \
                                       .parameters = tsr_parameters,                                                   \
                                       .config_bytes = sizeof(tsr_config),                                             \
                                       .plan = plan_function,                                                          \
                                       .images = tsr_images,                                                           \
                                       .text = tsr_text}

#ifdef __cplusplus
}
#endif
#endif
