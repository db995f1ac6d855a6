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

/* What the plan() of a layout, of an allocator and of a probing scheme says, in tsr_plan; the core then puts it into
 * the shape, where the parts that plan later read it. A hasher says nothing. F(type, name).
 * bucket_places: the places of a slot's size that a bucket has, a power of two up to 32; those that are no slots are the
 * layout's own. */
#define TSR_LAYOUT_FACTS(F)                                                                                            \
  F(uint32_t, bucket_slots)  /* slots of one bucket, 1 to 32 */                                                        \
  F(uint32_t, bucket_places) /* see above */                                                                           \
  F(uint32_t, tile_lanes)    /* lanes of a warp that work on one bucket: a power of two, 1 to 32; 1 on the CPU */      \
  F(uint32_t, share_lanes)   /* neighbouring lanes that share coherent loads (>= tile_lanes; device.cuh, tsr_load) */  \
  F(uint32_t, bucket_bytes)  /* bytes that loading one bucket reads */                                                 \
  F(uint32_t, can_exchange)  /* 1: a whole pair can be swapped atomically, so schemes may move pairs */                \
  F(uint32_t, whole_pairs)   /* 1: key and value become visible together, so a find may overlap an insert */           \
  F(uint32_t, has_link)      /* 1: the place after the last slot holds a link to a unit of the allocator */            \
  F(uint32_t, has_flag)      /* 1: each bucket tells whether a pair whose walk passed it is further on */              \
  F(uint32_t, short_keys)    /* 1: a slot holds of its key's hash what the page's number does not say */

#define TSR_ALLOCATOR_FACTS(F)                                                                                         \
  F(uint64_t, units)         /* >= units_min, below 2^32 */                                                            \
  F(uint32_t, unit_bytes)    /* of one unit: a multiple of 16 */                                                       \
  F(uint32_t, units_at_once) /* the most that one allocate can give */                                                 \
  F(uint32_t, reuses_units)  /* 1: a released unit can be handed out again; 0: not before the pool is cleared */

/* lists: 0, or: all pairs are in that many lists, one after the other, each of the keys with one number below `lists`
 * (tsr_list_of); the scheme's first region holds where each begins, where those of the two reserved keys begin behind
 * them, and where the last one ends, as lists + 1 + TSR_TAIL_RESERVED numbers of slots of 32 bits, counted through all
 * buckets. The scheme's walk is the buckets of the key's list. The core makes lists in bulk, when pairs are inserted
 * (core/design/0015-lists-in-bulk.md).
 * first_slots: 0, or the promise that a pair goes to a later bucket of its walk only after its first one had this many
 * slots that were not empty, and that whatever is claimed is the lowest vacant slot of its bucket.
 * choices: 0, or: a new pair goes to the least loaded of this many buckets of its walk, of equal ones the first; with
 * first_slots they are the buckets after the first one, and they are asked when it has that many pairs.
 * counts_slots: the promise that a new pair may go into any bucket of its walk with room, if those before have none; then
 * place() is asked for pairs that meet none. */
#define TSR_PROBING_FACTS(F)                                                                                           \
  F(uint64_t, buckets)       /* of a page, where there are pages; >= buckets_min; preset to it */                      \
  F(uint32_t, ends_at_empty) /* 1: an empty slot in a bucket proves that the key is in no later bucket of its walk */  \
  F(uint32_t, moves_pairs)   /* 1: an insert may move other keys' pairs */                                             \
  F(uint32_t, one_bucket)    /* 1: a key's walk is one bucket, and the list that it begins */                          \
  F(uint32_t, holds_many)    /* 1: a walk passes every bucket, or grows, and none twice: many pairs of a key */        \
  F(uint32_t, first_slots)   /* see above */                                                                           \
  F(uint64_t, lists)         /* see above */                                                                           \
  F(uint32_t, sorts_lists)   /* 1: lists are made from a batch in their order; 0: by random access, in two passes */   \
  F(uint32_t, counts_slots)  /* see above */                                                                           \
  F(uint32_t, asks_for_room) /* 1: place() asks a bucket whether it has room, and for nothing else */                  \
  F(uint32_t, choices)       /* see above */                                                                           \
  F(uint32_t, has_notes)     /* 1: next() reads notes (tsr_note) */

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

/* All of them, as plan() reads them: 0 where the writer has not had its turn. */
typedef struct tsr_shape {
  /* from the spec, before any plan() */
  uint32_t kind;           /* TSR_KIND_ */
  uint32_t key_bits;       /* 32 or 64 */
  uint32_t value_bits;     /* 0 (set), 32 or 64 */
  uint32_t payload_bits;   /* bits stored beside a key: 0, 32 or 64 */
  uint32_t sm;             /* compute capability, 90 for Hopper; 0 = the cpu backend */
  uint32_t duplicates;     /* TSR_DUPLICATES_ */
  uint32_t tells_overflow; /* 1: sums of TSR_DUPLICATES_ADD that pass the largest value are counted */
  uint32_t concurrency;    /* TSR_CONCURRENCY_ */
  uint32_t statistics;     /* 1: count probes */
  uint64_t capacity;       /* pairs the user wants to store */
  uint64_t slots_min;      /* capacity / load_factor, rounded up */
  uint64_t seed;           /* a rebuild draws a new one */
  TSR_LAYOUT_FACTS(TSR_FACT_MEMBER)
  /* from the core, after the layout's plan() */
  uint64_t pages; /* equal parts of the table, each with all buckets of its keys' walks; 1 where that is all of it */
  uint64_t buckets_min; /* slots_min / bucket_slots / pages, rounded up */
  uint64_t units_min;   /* that the allocator must hold: where buckets link, enough to hold `capacity` pairs
                         whatever their hashes; else one for each of buckets_min; of a pool what was asked for */
  TSR_ALLOCATOR_FACTS(TSR_FACT_MEMBER)
  TSR_PROBING_FACTS(TSR_FACT_MEMBER)
  /* from the core, after all plan() calls: what the kit's own services have to know */
  uint32_t guard;     /* TSR_GUARD_ */
  uint32_t is_mixed;  /* 1: operations of all kinds overlap, so every load must be coherent */
  uint32_t keys_stay; /* 1: while inserts run no pair is moved or erased: a slot that holds a key goes on holding it */
  uint32_t warp_sync; /* 1: the lanes of a warp make their calls together (device.cuh) */
  uint32_t is_paged;  /* 1: there are pages */
  uint32_t has_lists; /* 1: lists are made in bulk */
  uint32_t in_page;   /* 1: this code works on one page, a copy in the memory that a block of threads shares */
} tsr_shape;

/* ---- Regions: memory that the core owns for a part ------------------------------------------- */

/* The core allocates, clears, copies and frees it. Every region starts at a multiple of 256 bytes. */
typedef struct tsr_region {
  const char *name;          /* static; shown by `tessera check`; NULL ends the list */
  uint64_t bytes;            /* fixed part */
  uint64_t bytes_per_bucket; /* times all buckets, tail buckets included */
  uint8_t fill;              /* every byte of an empty table */
} tsr_region;

/* Where a layout keeps the keys, or the payloads, of all its slots as they are, so that whoever reads a whole table needs no
 * bucket: item i is offset_bytes + i * stride_bytes from where a region begins. Items of a bucket are neighbours, in the
 * order of buckets, and their own order is that of their places, the same for keys and payloads. */
typedef struct tsr_slot_column {
  uint32_t region, offset_bytes, stride_bytes; /* stride_bytes = 0: there is none */
} tsr_slot_column;

/* What a plan() says. Of the facts the core reads those of the plugin's own role. */
typedef struct tsr_plan {
  union {
    tsr_layout_facts layout;
    tsr_allocator_facts allocator;
    tsr_probing_facts probing;
  };
  tsr_region regions[TSR_REGIONS_MAX];
  tsr_slot_column keys, payloads;  /* of a layout, if it likes */
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

/* Host, any thread, reentrant. Checks config against the shape and returns TSR_INCOMPATIBLE with a sentence (tsr_fail)
 * if it cannot work with it; otherwise writes into plan the facts of its role, regions and state.
 * config: the struct that the parameter rows describe, every value within its row's range. plan: zeroed, but for
 * plan->probing.buckets. */
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

/* For hashers: one random word after another from shape->seed, whose every bit counts (splitmix64; S. Vigna, public
 * domain). */
static inline uint64_t tsr_draw(uint64_t *seed) {
  uint64_t z = *seed += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

/* For schemes that step round a prime number of buckets: the first prime from n on. Trial division takes the
 * square root of a candidate in steps, and primes are dense. */
static inline uint64_t tsr_next_prime(uint64_t n) {
  for (n = n < 2 ? 2 : n;; n++) {
    uint64_t divisor = 2;
    while (divisor <= n / divisor && n % divisor != 0) divisor++;
    if (divisor > n / divisor) return n;
  }
}

/* For schemes whose walk passes every bucket unless max_probes bounds it: writes how many it visits, all for 0, and
 * refuses more than tsr_probe counts. scheme: the plugin's name. */
static inline tsr_status tsr_plan_walk(const tsr_plan *plan, const char *scheme, uint32_t max_probes, uint64_t *limit,
                                       tsr_error *error) {
  const uint64_t buckets = plan->probing.buckets;
  if (buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = %s counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise [layout] "
                    "bucket_slots",
                    scheme, (unsigned long long)buckets);
  *limit = max_probes && max_probes < buckets ? max_probes : buckets;
  return TSR_OK;
}

/* For schemes that keep two buckets at a time (fact choices): refuses those that a lane cannot
 * hold twice. scheme: the plugin's name. */
static inline tsr_status tsr_plan_two_buckets(const tsr_shape *shape, const char *scheme, tsr_error *error) {
  uint32_t lane_bytes = shape->tile_lanes ? shape->bucket_bytes / shape->tile_lanes : 0;
  if (!shape->sm || lane_bytes <= 128) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE,
                  "probing = %s compares two buckets, and a lane would hold %u bytes of each, where its registers have "
                  "room for 128: raise [layout] tile_lanes or lower bucket_slots",
                  scheme, lane_bytes);
}

/* For allocators whose unit_bytes may be 0: as many as a bucket of a layout that links has, or 128. */
static inline uint32_t tsr_plan_unit_bytes(const tsr_shape *shape, uint32_t unit_bytes) {
  return unit_bytes ? unit_bytes : shape->has_link ? shape->bucket_bytes : 128;
}

/* For layouts of whole pairs: refuses words that the device cannot swap. slot_bytes: of the word; layout: the plugin's
 * name. */
static inline tsr_status tsr_plan_pairs(const tsr_shape *shape, uint32_t slot_bytes, const char *layout,
                                        tsr_error *error) {
  if (slot_bytes < 16 || !shape->sm || shape->sm >= 90) return TSR_OK;
  return tsr_fail(
      error, TSR_INCOMPATIBLE,
      "layout = %s: key_bits = %u and value_bits = %u need atomic words of 128 bits, which compute "
      "capability 9.0 brought and this device (%u.%u) lacks: use a layout that stores them apart, or narrower ones",
      layout, shape->key_bits, shape->value_bits, shape->sm / 10, shape->sm % 10);
}

/* For layouts: checks the two parameters that every bucketed layout has and writes bucket_slots, bucket_places,
 * tile_lanes, share_lanes and bucket_bytes. Whose places are not all slots lowers bucket_slots afterwards.
 * loaded_bytes: what load reads of one slot. */
static inline tsr_status tsr_plan_buckets(const tsr_shape *shape, uint32_t bucket_slots, uint32_t tile_lanes,
                                          uint32_t loaded_bytes, tsr_plan *plan, tsr_error *error) {
  tsr_layout_facts *facts = &plan->layout;
  uint32_t lanes = shape->sm ? tile_lanes : 1, bucket_bytes = bucket_slots * loaded_bytes;
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
