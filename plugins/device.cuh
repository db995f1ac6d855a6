/* SPDX-License-Identifier: Apache-2.0
 *
 * The kit: everything a part's device code may use besides the functions of the other roles. Every role
 * header includes it. Order of this file: names and widths, the context, constants, the functions of the roles, tiles,
 * hashes; memory, as loads and stores, buckets, atomics, keys and payloads; key locks, statistics.
 *
 * The same source is compiled four ways: by nvcc to LTO-IR (device), by the C compiler into a plugin's function table
 * (the cpu backend: a tile is one lane, atomics are real), by NVRTC as part of the glue, and with TSR_FUSED by the C
 * compiler at run time, in one unit with the glue and all parts of a table (core/design/0013-cpu-fused.md). Widths are macros:
 * TSR_KEY_BITS (32, 64, and 128 in parts that say so by TSR_KEYS_128) and TSR_PAYLOAD_BITS (0, 32, 64); authors write
 * tsr_key, tsr_hash and tsr_payload.
 *
 * Collective functions must be reached by all lanes of the tile (or, where said, of the warp) together.
 * Read next: probing.cuh, the shortest role.
 */
#ifndef TSR_DEVICE_CUH
#define TSR_DEVICE_CUH

#include "plugins/shared.cuh"
#include "plugins/table.h"
#ifndef __CUDACC__
#include <sched.h>
#endif
#ifdef TSR_FUSED
#include <stddef.h>
#elif !defined(__CUDACC__)
#include "plugins/plugin.h"
#endif

/* The glue defines facts, parameters and the functions of the roles. Elsewhere they are read from tables at run time. */
#if defined(__CUDACC__) || defined(TSR_FUSED)
#define TSR_HAS_GLUE
#endif

/* ---- Names ----------------------------------------------------------------------------------- */

#if !defined(TSR_KEY_BITS) && !defined(__CUDACC__)
#define TSR_KEY_BITS 32 /* the host half of a plugin includes its .cuh for parameters and types only */
#define TSR_PAYLOAD_BITS 32
#endif

#if defined(TSR_PAYLOAD_BITS)
#define TSR_SUFFIX TSR_JOIN(TSR_JOIN(_k, TSR_KEY_BITS), TSR_JOIN(c, TSR_PAYLOAD_BITS))
#elif defined(TSR_KEY_BITS)
#define TSR_SUFFIX TSR_JOIN(_k, TSR_KEY_BITS)
#else
#define TSR_SUFFIX
#endif

/* TSR_PART(next) is the full name of a part's own function, e.g. probing_cuckoo_next_k32c32: parts of different widths
 * and different plugins of one role live in one link. */
#define TSR_PART(verb) TSR_JOIN(TSR_JOIN(TSR_JOIN(TSR_JOIN(TSR_ROLE, _), TSR_JOIN(TSR_NAME, _)), verb), TSR_SUFFIX)
/* TSR_ENTRY(probing_next): what the glue module defines, whatever plugin was chosen. Code without widths (a pool's)
 * needs a suffix as well, or it would be the name of the wrapper. */
#ifdef TSR_KEY_BITS
#define TSR_ENTRY(role_verb) TSR_JOIN(role_verb, TSR_SUFFIX)
#else
#define TSR_ENTRY(role_verb) TSR_JOIN(role_verb, _any)
#endif

#ifdef __CUDACC__
#define TSR_DEVICE extern "C" __device__
#define TSR_INLINE static __device__ __forceinline__
#define TSR_UNROLL _Pragma("unroll")
#define TSR_NO_UNROLL _Pragma("unroll 1")
#define TSR_CONSTANT extern "C" __device__ const
#elif defined(TSR_FUSED)
#define TSR_DEVICE static inline __attribute__((always_inline, unused))
#define TSR_INLINE static inline __attribute__((always_inline, unused))
#define TSR_UNROLL
#define TSR_NO_UNROLL
#define TSR_CONSTANT static const __attribute__((unused))
#else
#define TSR_DEVICE static __attribute__((unused))
#define TSR_INLINE static inline __attribute__((unused))
#define TSR_UNROLL
#define TSR_NO_UNROLL
#endif

/* ---- Widths ---------------------------------------------------------------------------------- */

typedef unsigned __int128 tsr_u128;

#ifdef TSR_KEY_BITS
#if TSR_KEY_BITS == 128
typedef tsr_u128 tsr_key;
typedef uint64_t tsr_hash; /* no table has more buckets than 64 bits name */
#elif TSR_KEY_BITS == 64
typedef uint64_t tsr_key;
typedef uint64_t tsr_hash;
#else
typedef uint32_t tsr_key;
typedef uint32_t tsr_hash;
#endif
/* Slot markers. Keys with these bits live in the tail buckets under a substitute (core/kernels/walk.cuh), so neither is
 * reserved for the user and no part ever sees them as a key. */
#define TSR_EMPTY_KEY ((tsr_key) ~(tsr_key)0)
#define TSR_ERASED_KEY ((tsr_key) ~(tsr_key)1)

/* A key as one word, for what needs a few mixed bits and is no hasher. Of 128 bits both halves count. */
TSR_INLINE uint64_t tsr_key_word(tsr_key key) {
#if TSR_KEY_BITS == 128
  return (uint64_t)key ^ (uint64_t)(key >> 64) * 0x9E3779B97F4A7C15u;
#else
  return key;
#endif
}
#endif

#ifdef TSR_PAYLOAD_BITS
#if TSR_PAYLOAD_BITS == 64
typedef uint64_t tsr_payload;
#else
typedef uint32_t tsr_payload; /* at 0 bits always 0 and never stored */
#endif
#endif

/* ---- The one argument ------------------------------------------------------------------------ */

/* What the statistics count. The counts of one key fit into 32 bits, the sums of many keys do not. */
#define TSR_COUNTS(type)                                                                                               \
  type probes;      /* buckets looked at */                                                                            \
  type moves;       /* pairs evicted */                                                                                \
  type lost_claims; /* compare-and-swaps that found the slot changed */                                                \
  type stashed;     /* pairs put into the stash */                                                                     \
  type changes;     /* memory blocks that an allocator left for another, because they had no room */
typedef struct tsr_counts {
  TSR_COUNTS(uint32_t)
} tsr_counts;
typedef struct tsr_sums {
  TSR_COUNTS(uint64_t)
} tsr_sums;

typedef struct tsr_scratch { /* memory of one thread; all but `overflows` is used only with statistics */
  tsr_counts key;            /* of the key in work */
  tsr_sums sum;              /* of the keys before it */
  uint32_t probes_max, moves_max;
  uint32_t aside;      /* buckets looked at for this lane's key, which the tile will come back to */
  uint32_t *histogram; /* TSR_HISTOGRAM_BINS, shared by the block's threads; on the CPU one thread's own */
  uint32_t overflows;  /* with the fact tells_overflow: sums of this thread that passed the largest value */
} tsr_scratch;

#ifndef TSR_HAS_GLUE
/* Tiles of several lanes on the CPU: only the conformance kit supplies them. `lane` is a number in the warp. A lane that
 * does not come to a call to which the others have come is an error there. */
typedef struct tsr_tile_services {
  void *self;
  uint32_t (*ballot)(void *self, uint32_t lane, uint32_t predicate);
  uint64_t (*shuffle)(void *self, uint32_t lane, uint64_t value, uint32_t from_lane);
} tsr_tile_services;

typedef struct tsr_cpu {
  const tsr_shape *shape;
  const struct tsr_core_facts *core; /* what the core's own code has to know */
  const void *config[TSR_ROLES];
  const void *functions[TSR_ROLES];
  const tsr_tile_services *tile; /* NULL: one lane */
} tsr_cpu;
#endif

typedef struct tsr_ctx {
  const tsr_state *t;
  uint32_t table;  /* number of the table in this link, a constant */
  uint32_t lane;   /* of this thread in its tile */
  uint32_t base;   /* first lane of the tile in its warp */
  uint32_t active; /* 0: this tile is masked: it takes part in collectives, but its lanes own no slot (tsr_owns) */
  tsr_scratch *scratch;
  uint32_t still; /* 1: in this call nothing moves or erases a pair, whatever inserts do (tsr_keys_stay) */
#ifndef __CUDACC__
  uint32_t alone; /* 1: no other thread is at the table during this call, so that nothing has to be atomic */
#endif
#ifndef TSR_HAS_GLUE
  const tsr_cpu *cpu;
#endif
} tsr_ctx;

/* ---- Constants of the composition ------------------------------------------------------------ */

/* TSR_FACT(c, tile_lanes): a fact of the table's shape. Kernels over one table, the first of their link, are compiled
 * with TSR_ONE_TABLE: what their table does not need is dropped before it is inlined and optimised, which halves the time
 * of a link. Other kernels and the parts know a fact when c->table is a constant. */
#ifdef TSR_HAS_GLUE
#define TSR_FACT_ACCESS(fact)                                                                                          \
  TSR_CONSTANT uint32_t tsr_fact_##fact;                                                                               \
  TSR_DEVICE uint32_t tsr_fact_of_##fact(const tsr_ctx *c);
#else
#define TSR_FACT_ACCESS(fact)                                                                                          \
  TSR_INLINE uint32_t tsr_fact_of_##fact(const tsr_ctx *c) { return c->cpu->shape->fact; }
#endif
TSR_FACTS(TSR_FACT_ACCESS)
#ifdef TSR_ONE_TABLE
#define TSR_FACT(c, fact) tsr_fact_##fact
#else
#define TSR_FACT(c, fact) tsr_fact_of_##fact(c)
#endif

#if defined(TSR_NAME) || defined(TSR_FUSED) /* inside a plugin: its own parameters */
#ifndef TSR_FUSED                           /* there each part's text comes later */
#define TSR_PARAMETER_MEMBER(type, name, initial, minimum, maximum, doc) type name;
typedef struct tsr_config {
  TSR_PARAMETERS(TSR_PARAMETER_MEMBER)
  char end; /* a plugin without parameters has a config too */
} tsr_config;
#endif
#ifdef TSR_HAS_GLUE
#define TSR_PARAMETER_NAME(name) TSR_JOIN(TSR_JOIN(TSR_JOIN(TSR_ROLE, _), TSR_JOIN(TSR_NAME, _parameter_)), name)
#ifndef TSR_FUSED
#define TSR_PARAMETER_ACCESS(type, name, initial, minimum, maximum, doc)                                               \
  TSR_DEVICE type TSR_PARAMETER_NAME(name)(const tsr_ctx *c);
TSR_PARAMETERS(TSR_PARAMETER_ACCESS)
#endif
#define TSR_PARAMETER(c, name) TSR_PARAMETER_NAME(name)(c)
#else
#define TSR_PARAMETER(c, name) (((const tsr_config *)(c)->cpu->config[TSR_JOIN(TSR_ROLE_OF_, TSR_ROLE)])->name)
#endif
/* This part's state and regions, as plan() asked for them. */
#define TSR_WORD(c, index) ((c)->t->part[TSR_JOIN(TSR_ROLE_OF_, TSR_ROLE)].word[index])
#define TSR_REGION(c, index) ((c)->t->part[TSR_JOIN(TSR_ROLE_OF_, TSR_ROLE)].region[index])
#endif

/* ---- The functions of the roles -------------------------------------------------------------- */

/* Each role header lists its functions once: F(role, result, verb, parameters, arguments) where required, O(.., absent)
 * where a plugin may leave it out and `absent` is then the result. From the list come the wrapper that callers use
 * (layout_load), the CPU function table (tsr_layout_functions) and, in core/compose/glue.c, the text of the glue
 * module. */
#ifdef TSR_HAS_GLUE
#define TSR_ENTRY_F(role, result, verb, parameters, arguments)                                                         \
  TSR_DEVICE result TSR_ENTRY(role##_##verb) parameters;                                                               \
  TSR_INLINE result role##_##verb parameters { return TSR_ENTRY(role##_##verb) arguments; }
#define TSR_ENTRY_O(role, result, verb, parameters, arguments, absent)                                                 \
  TSR_ENTRY_F(role, result, verb, parameters, arguments)
#else
#define TSR_FUNCTIONS_OF_(role) ((const tsr_##role##_functions *)c->cpu->functions[TSR_ROLE_OF_##role])
#define TSR_ENTRY_F(role, result, verb, parameters, arguments)                                                         \
  TSR_INLINE result role##_##verb parameters { return TSR_FUNCTIONS_OF_(role)->verb arguments; }
#define TSR_ENTRY_O(role, result, verb, parameters, arguments, absent)                                                 \
  TSR_INLINE result role##_##verb parameters {                                                                         \
    return TSR_FUNCTIONS_OF_(role)->verb ? TSR_FUNCTIONS_OF_(role)->verb arguments : absent;                           \
  }
#endif
#define TSR_SLOT_F(role, result, verb, parameters, arguments) result(*verb) parameters;
#define TSR_SLOT_O(role, result, verb, parameters, arguments, absent) result(*verb) parameters;

/* Closes a part's .cuh: TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place)). On the device the names
 * are enough; what the table leaves out is absent on both sides. */
#if defined(TSR_FUNCTIONS) && !defined(TSR_HAS_GLUE)
#define TSR_PART_FUNCTIONS(...)                                                                                        \
  extern const TSR_JOIN(TSR_JOIN(tsr_, TSR_ROLE), _functions) TSR_FUNCTIONS;                                           \
  const TSR_JOIN(TSR_JOIN(tsr_, TSR_ROLE), _functions) TSR_FUNCTIONS = {__VA_ARGS__}
#else
#define TSR_PART_FUNCTIONS(...) typedef int tsr_part_functions_are_for_tables
#endif

/* ---- Tiles ----------------------------------------------------------------------------------- */

#ifdef TSR_FUSED /* a tile has one lane, so these are never called */
TSR_INLINE uint32_t tsr_ballot_on_cpu_(const tsr_ctx *c, uint32_t predicate) { return (void)c, predicate; }
TSR_INLINE uint64_t tsr_shuffle_on_cpu_(const tsr_ctx *c, uint64_t value, uint32_t from) {
  return (void)c, (void)from, value;
}
#elif !defined(__CUDACC__)
TSR_INLINE uint32_t tsr_ballot_on_cpu_(const tsr_ctx *c, uint32_t predicate) {
  return c->cpu->tile->ballot(c->cpu->tile->self, c->base + c->lane, predicate);
}
TSR_INLINE uint64_t tsr_shuffle_on_cpu_(const tsr_ctx *c, uint64_t value, uint32_t from) {
  return c->cpu->tile->shuffle(c->cpu->tile->self, c->base + c->lane, value, c->base + from);
}
#endif

/* Collective. Bit l is lane l's predicate. */
TSR_INLINE uint32_t tsr_ballot(const tsr_ctx *c, uint32_t predicate) {
  uint32_t lanes = TSR_FACT(c, tile_lanes);
  if (lanes == 1) return predicate ? 1u : 0u;
#ifdef __CUDACC__
  uint32_t bits = __ballot_sync(0xFFFFFFFFu, predicate != 0) >> c->base;
#else
  uint32_t bits = tsr_ballot_on_cpu_(c, predicate) >> c->base;
#endif
  return lanes == 32 ? bits : bits & ((1u << lanes) - 1u);
}

/* Collective. The value that lane `from` passed. */
TSR_INLINE uint32_t tsr_shuffle32(const tsr_ctx *c, uint32_t value, uint32_t from) {
  if (TSR_FACT(c, tile_lanes) == 1) return value;
#ifdef __CUDACC__
  return __shfl_sync(0xFFFFFFFFu, value, (int)from, (int)TSR_FACT(c, tile_lanes));
#else
  return (uint32_t)tsr_shuffle_on_cpu_(c, value, from);
#endif
}

TSR_INLINE uint64_t tsr_shuffle64(const tsr_ctx *c, uint64_t value, uint32_t from) {
  if (TSR_FACT(c, tile_lanes) == 1) return value;
#ifdef __CUDACC__
  return (uint64_t)__shfl_sync(0xFFFFFFFFu, (unsigned long long)value, (int)from, (int)TSR_FACT(c, tile_lanes));
#else
  return tsr_shuffle_on_cpu_(c, value, from);
#endif
}

#ifdef TSR_KEY_BITS
TSR_INLINE tsr_key tsr_shuffle_key(const tsr_ctx *c, tsr_key value, uint32_t from) {
#if TSR_KEY_BITS == 128
  const uint64_t low = tsr_shuffle64(c, (uint64_t)value, from);
  return (tsr_key)tsr_shuffle64(c, (uint64_t)(value >> 64), from) << 64 | low;
#elif TSR_KEY_BITS == 64
  return tsr_shuffle64(c, value, from);
#else
  return tsr_shuffle32(c, value, from);
#endif
}
#endif

#ifdef TSR_PAYLOAD_BITS
TSR_INLINE tsr_payload tsr_shuffle_payload(const tsr_ctx *c, tsr_payload value, uint32_t from) {
#if TSR_PAYLOAD_BITS == 64
  return tsr_shuffle64(c, value, from);
#elif TSR_PAYLOAD_BITS == 32
  return tsr_shuffle32(c, value, from);
#else
  (void)c;
  (void)from;
  return value;
#endif
}
#endif

/* Where lanes work together all tiles of a warp are warp-synchronous (fact warp_sync): all lanes make the same calls,
 * whether their tile is active or masked (c->active). Then every collective names the whole warp, a constant, which is
 * several instructions cheaper than a mask known at run time; tiles can share loads; and all tiles of a warp wait for
 * memory at the same time. A lane alone (tile_lanes = 1, plain loads) needs none of this: there each collective is the
 * lane's own value. */

/* The context of a call in which this tile is active or masked: a masked one takes part, and changes nothing. */
TSR_INLINE tsr_ctx tsr_masked(const tsr_ctx *c, uint32_t active) {
  tsr_ctx masked = *c;
  masked.active = active != 0;
  return masked;
}

/* Whether a slot that holds a key goes on holding it during this call. */
TSR_INLINE bool tsr_keys_stay(const tsr_ctx *c) { return TSR_FACT(c, keys_stay) || c->still; }

/* Collective over the warp where tiles are warp-synchronous, else the caller's own predicate. A loop whose body is
 * collective runs while any tile has work, and a branch that is worth a vote is taken if any tile takes it. */
TSR_INLINE uint32_t tsr_warp_any(const tsr_ctx *c, uint32_t predicate) {
  if (!TSR_FACT(c, warp_sync)) return predicate;
#ifdef __CUDACC__
  return __any_sync(0xFFFFFFFFu, (int)predicate) != 0;
#else
  return tsr_ballot_on_cpu_(c, predicate) != 0;
#endif
}

/* Collective. Orders memory inside the tile: what a lane did before is seen by all lanes afterwards. */
TSR_INLINE void tsr_join_lanes(const tsr_ctx *c) {
  if (TSR_FACT(c, tile_lanes) == 1) return;
#ifdef __CUDACC__
  __syncwarp();
#else
  tsr_ballot_on_cpu_(c, 0);
#endif
}

/* Index of the lowest set bit; mask must not be 0. */
TSR_INLINE uint32_t tsr_lowest(uint32_t mask) {
#ifdef __CUDACC__
  return (uint32_t)__ffs((int)mask) - 1u;
#else
  return (uint32_t)__builtin_ctz(mask);
#endif
}

TSR_INLINE uint32_t tsr_count_bits(uint32_t mask) {
#ifdef __CUDACC__
  return (uint32_t)__popc(mask);
#else
  return (uint32_t)__builtin_popcount(mask);
#endif
}

/* ---- Hashes ---------------------------------------------------------------------------------- */

#ifdef TSR_KEY_BITS
/* The one place where a hash becomes an index in [0, count). Multiply-high: u64 % variable is a subroutine on the GPU.
 */
TSR_INLINE uint64_t tsr_reduce(tsr_hash hash, uint64_t count) {
#if TSR_KEY_BITS == 32
  return ((uint64_t)hash * count) >> 32;
#elif defined(__CUDACC__)
  return __umul64hi(hash, count);
#else
  return (uint64_t)(((unsigned __int128)hash * count) >> 64);
#endif
}
#endif

#ifdef TSR_KEY_BITS
/* The page that a bucket of the table is in, where there are pages. In the link of a page's step bucket_share is the first
 * page, and each block works on another. Of a tail bucket, which is in none, it is some number. */
TSR_INLINE uint64_t tsr_page_of_bucket(const tsr_ctx *c, uint64_t bucket) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return c->t->bucket_share + blockIdx.x;
  return __umul64hi(bucket, c->t->bucket_share);
#else
  return (uint64_t)(((unsigned __int128)bucket * c->t->bucket_share) >> 64);
#endif
}
#endif

/* ---- Memory: loads and stores ---------------------------------------------------------------- */

/* Every access to a table is one of these. They are relaxed, and that suffices: a slot's word carries all that its reader
 * needs, and operations of different classes are ordered by kernel boundaries (GPU) or the join of the thread team (CPU).
 * What needs more order, as the key locks do, says so below. */

enum {
  TSR_LOAD_COHERENT = 1, /* from L2, which is coherent; otherwise L1 may serve an older state */
  TSR_LOAD_WARP = 2,     /* the tiles of the warp may share their loads */
  TSR_LOAD_SETTLED = 4,  /* nobody writes slots meanwhile, not even the caller: so a layout may read later, in match and
                          * payload, what these may turn out not to need */
  TSR_LOAD_AHEAD = 8     /* CPU: the bucket will be loaded soon. tsr_load asks for its memory and reads nothing */
};

/* The mode of a load by all tiles of a warp: only warp-synchronous lanes can share their loads, and with
 * TSR_CONCURRENCY_MIXED every load is coherent. */
TSR_INLINE uint32_t tsr_load_mode(const tsr_ctx *c, uint32_t mode) {
  uint32_t step = TSR_FACT(c, warp_sync) ? TSR_LOAD_WARP : 0;
  return TSR_FACT(c, is_mixed) ? step | TSR_LOAD_COHERENT : step | mode;
}

#ifdef __CUDACC__
/* 16 bytes, read as two words of 64 bits or (whole) as one of 128. */
TSR_INLINE void tsr_load16_(const void *address, uint32_t coherent, uint32_t whole, uint64_t *low, uint64_t *high) {
  if (TSR_IN_PAGE) {
    tsr_shared_load128(address, low, high);
    return;
  }
  unsigned long long a, b;
  unsigned long long global = (unsigned long long)__cvta_generic_to_global(address);
  if (coherent && whole) {
    asm volatile("{ .reg .b128 v; ld.relaxed.gpu.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(a), "=l"(b)
                 : "l"(global)
                 : "memory");
  } else if (coherent) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(b) : "l"(global) : "memory");
  } else if (whole) {
    asm volatile("{ .reg .b128 v; ld.global.b128 v, [%2]; mov.b128 {%0, %1}, v; }"
                 : "=l"(a), "=l"(b)
                 : "l"(global)
                 : "memory");
  } else {
    ulonglong2 pair = *(const ulonglong2 *)address;
    a = pair.x;
    b = pair.y;
  }
  *low = a;
  *high = b;
}
#endif

TSR_INLINE uint32_t tsr_load32(const uint32_t *address, uint32_t coherent) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return tsr_shared_load32(address);
  if (!coherent) return *address;
  uint32_t value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(address)) : "memory");
  return value;
#else
  (void)coherent;
  return __atomic_load_n(address, __ATOMIC_RELAXED);
#endif
}

/* Relaxed stores, of one thread. One of 8 bits leaves its neighbours alone. */
TSR_INLINE void tsr_store8(uint8_t *address, uint8_t value) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_store8(address, value);
    return;
  }
  asm volatile("st.relaxed.gpu.global.u8 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(address)), "r"((uint32_t)value)
               : "memory");
#else
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE void tsr_store32(uint32_t *address, uint32_t value) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_store32(address, value);
    return;
  }
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" : : "l"(__cvta_generic_to_global(address)), "r"(value) : "memory");
#else
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE void tsr_store64(uint64_t *address, uint64_t value) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_store64(address, value);
    return;
  }
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(address)), "l"((unsigned long long)value)
               : "memory");
#else
  __atomic_store_n(address, value, __ATOMIC_RELAXED);
#endif
}

/* Two words of 64 bits, each of them whole, but not both together: for memory at which nobody else looks. */
TSR_INLINE void tsr_store128(tsr_u128 *address, tsr_u128 value) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_store128(address, (unsigned long long)value, (unsigned long long)(value >> 64));
    return;
  }
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};"
               :
               : "l"(__cvta_generic_to_global(address)), "l"((unsigned long long)value),
                 "l"((unsigned long long)(value >> 64))
               : "memory");
#else
  *address = value;
#endif
}

TSR_INLINE uint64_t tsr_load64(const uint64_t *address, uint32_t coherent) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return tsr_shared_load64(address);
  if (!coherent) return *address;
  unsigned long long value;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(address)) : "memory");
  return value;
#else
  (void)coherent;
  return __atomic_load_n(address, __ATOMIC_RELAXED);
#endif
}

#ifndef __CUDACC__
/* 16 bytes on the CPU. For __atomic compilers call libatomic, which not every system has, and which may take a lock of which
 * nobody else knows. So the swap is a __sync, and the load is assembly, or a swap. Sanitizers cannot see assembly: they get the
 * former. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TSR_IS_SANITIZED_
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define TSR_IS_SANITIZED_
#endif
#endif

TSR_INLINE tsr_u128 tsr_swap128_(tsr_u128 *address, tsr_u128 expected, tsr_u128 desired) {
#if defined(__aarch64__) && !defined(TSR_IS_SANITIZED_)
  __asm__("" : "+r"(expected), "+r"(desired)); /* gcc 12 fails where they are constants */
#endif
#ifdef __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16
  return __sync_val_compare_and_swap(address, expected, desired);
#else
  __atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
#endif
}

TSR_INLINE tsr_u128 tsr_load128(const tsr_u128 *address) {
#ifdef TSR_IS_SANITIZED_
  return __atomic_load_n(address, __ATOMIC_RELAXED);
#elif defined(__ARM_FEATURE_SVE2) /* processors that have it promise that an aligned load of 16 bytes is whole */
  uint64_t low, high;
  __asm__ volatile("ldp %0, %1, %2" : "=r"(low), "=r"(high) : "Q"(*address));
  return (tsr_u128)high << 64 | low;
#else
#ifdef __x86_64__ /* with AVX the same holds */
  typedef long long words __attribute__((vector_size(16)));
  words value;
#ifdef __AVX__
  __asm__ volatile("vmovdqa %1, %0" : "=x"(value) : "m"(*address));
  return (tsr_u128)value;
#else
  if (__builtin_cpu_supports("avx")) {
    __asm__ volatile("movdqa %1, %0" : "=x"(value) : "m"(*address));
    return (tsr_u128)value;
  }
#endif
#endif
#ifndef __AVX__
  return tsr_swap128_((tsr_u128 *)address, 0, 0);
#endif
#endif
}
#endif

/* ---- Memory: buckets ------------------------------------------------------------------------- */

#ifdef __CUDACC__
/* A coherent load for tiles of one lane, which hold 32 or 64 bytes each. If each lane loaded for itself, every 16 bytes
 * would be a request to L2. So lane q of a group loads piece q (16 bytes) of every lane's bucket, so that neighbours touch
 * one sector with one request, and then they swap pieces: this costs what plain loads do (measured,
 * core/design/0003-loads.md). */
TSR_INLINE void tsr_load_shared_(const tsr_ctx *c, const void *bucket, uint32_t pieces, uint32_t whole, uint32_t active,
                                 uint32_t *word) {
  uint32_t q = c->base & (pieces - 1u), mask = 0xFFFFFFFFu;
  unsigned long long mine = active ? (unsigned long long)bucket : 0;
  uint64_t low[4], high[4];
  TSR_UNROLL
  for (uint32_t r = 0; r < 4; r++)
    if (r < pieces) {
      unsigned long long address = __shfl_sync(mask, mine, (int)r, (int)pieces);
      low[r] = high[r] = 0;
      if (address) tsr_load16_((const char *)address + q * 16u, 1, whole, &low[r], &high[r]);
    }
  TSR_UNROLL
  for (uint32_t s = 0; s < 4; s++)
    if (s < pieces) {
      uint32_t serves = (q - s) & (pieces - 1u), k = (q + s) & (pieces - 1u);
      uint64_t send_low = low[0], send_high = high[0];
      TSR_UNROLL
      for (uint32_t r = 1; r < 4; r++)
        if (r < pieces && r == serves) {
          send_low = low[r];
          send_high = high[r];
        }
      uint64_t got_low = __shfl_sync(mask, (unsigned long long)send_low, (int)k, (int)pieces);
      uint64_t got_high = __shfl_sync(mask, (unsigned long long)send_high, (int)k, (int)pieces);
      TSR_UNROLL
      for (uint32_t r = 0; r < 4; r++)
        if (r < pieces && r == k) {
          word[4 * r] = (uint32_t)got_low;
          word[4 * r + 1] = (uint32_t)(got_low >> 32);
          word[4 * r + 2] = (uint32_t)got_high;
          word[4 * r + 3] = (uint32_t)(got_high >> 32);
        }
    }
}
#endif

/* Collective over the tile, with TSR_LOAD_WARP over the warp where tiles are warp-synchronous. Loads this lane's part of
 * the tile's bucket, lane_bytes, into word[]: pieces of 16 bytes, or one of less, of which piece p of lane l is number
 * p * tile_lanes + l of the bucket: so lanes that load together touch whole sectors. unit_bytes (4, 8, 16) is what is
 * read atomically: the size of a slot. lane_bytes: a power of two from unit_bytes to 4 * TSR_BUCKET_WORDS, a constant;
 * the bucket is aligned to a piece. Lanes with active = 0 load nothing and must not use word[]. */
TSR_INLINE void tsr_load(const tsr_ctx *c, const void *bucket, uint32_t unit_bytes, uint32_t lane_bytes,
                         uint32_t active, uint32_t mode, uint32_t *word) {
  uint32_t piece_bytes = lane_bytes < 16 ? lane_bytes : 16;
  const char *mine = (const char *)bucket + c->lane * piece_bytes;
  uint32_t stride = TSR_FACT(c, tile_lanes) * piece_bytes; /* from a lane's piece to its next */
#ifdef __CUDACC__
  uint32_t coherent = mode & TSR_LOAD_COHERENT;
  if ((mode & TSR_LOAD_WARP) && coherent && TSR_FACT(c, share_lanes) > TSR_FACT(c, tile_lanes)) {
    tsr_load_shared_(c, bucket, lane_bytes / 16u, unit_bytes == 16, active, word);
    return;
  }
  if (!active) return;
  if (lane_bytes == 4) {
    word[0] = tsr_load32((const uint32_t *)mine, coherent);
  } else if (lane_bytes == 8) {
    uint64_t value = tsr_load64((const uint64_t *)mine, coherent);
    word[0] = (uint32_t)value;
    word[1] = (uint32_t)(value >> 32);
  } else {
    TSR_UNROLL
    for (uint32_t i = 0; i < TSR_BUCKET_WORDS / 4; i++)
      if (16u * i < lane_bytes) {
        uint64_t low, high;
        tsr_load16_(mine + i * stride, coherent, unit_bytes == 16, &low, &high);
        word[4 * i] = (uint32_t)low;
        word[4 * i + 1] = (uint32_t)(low >> 32);
        word[4 * i + 2] = (uint32_t)high;
        word[4 * i + 3] = (uint32_t)(high >> 32);
      }
  }
#else
  if (!active) return;
  if (mode & TSR_LOAD_AHEAD) {
    for (uint32_t at = 0; at < lane_bytes; at += 64) __builtin_prefetch(mine + at);
    return;
  }
  /* CPU caches are coherent */
  for (; lane_bytes; lane_bytes -= piece_bytes, mine += stride - piece_bytes)
    for (const char *end = mine + piece_bytes; mine < end; mine += unit_bytes, word += unit_bytes / 4) {
      if ((mode & TSR_LOAD_SETTLED) || c->alone) { /* nobody writes: compilers may merge and leave out what is read */
        __builtin_memcpy(word, mine, unit_bytes);
      } else if (unit_bytes == 4) {
        *word = tsr_load32((const uint32_t *)mine, 1);
      } else if (unit_bytes == 8) {
        const uint64_t value = tsr_load64((const uint64_t *)mine, 1);
        __builtin_memcpy(word, &value, sizeof value); /* little-endian: the low word comes first */
      } else {
        const tsr_u128 value = tsr_load128((const tsr_u128 *)mine);
        __builtin_memcpy(word, &value, sizeof value);
      }
    }
#endif
}

/* ---- Memory: atomics ------------------------------------------------------------------------- */

/* Atomics of one thread. Each returns what it found. Those without acquire or release in their name are relaxed. */
TSR_INLINE uint32_t tsr_cas32(uint32_t *address, uint32_t expected, uint32_t desired) {
#ifdef __CUDACC__
  return TSR_IN_PAGE ? tsr_shared_cas32_relaxed(address, expected, desired) : atomicCAS(address, expected, desired);
#else
  __atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
#endif
}

/* What the thread has written is seen by all threads of the device before what it writes from now on. */
TSR_INLINE void tsr_fence(void) {
#ifdef __CUDACC__
  __threadfence();
#else
  __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

/* Order for words that hand over other memory. Acquire: what the thread does next comes after what was written before
 * the value that it found was released. Release: what the thread has written is seen by every thread that acquires the
 * word from now on. A compare-and-swap that fails orders nothing. */
#ifdef __CUDACC__
#define TSR_ORDERED_WORD_(bits, letter)                                                                                \
  TSR_INLINE uint##bits##_t tsr_load##bits##_acquire(const uint##bits##_t *address) {                                  \
    uint##bits##_t found;                                                                                              \
    if (TSR_IN_PAGE) { /* a fence of the block orders both there */                                                    \
      found = tsr_shared_load##bits(address);                                                                          \
      __threadfence_block();                                                                                           \
      return found;                                                                                                    \
    }                                                                                                                  \
    asm volatile("ld.acquire.gpu.global.b" #bits " %0, [%1];"                                                          \
                 : "=" letter(found)                                                                                   \
                 : "l"(__cvta_generic_to_global(address))                                                              \
                 : "memory");                                                                                          \
    return found;                                                                                                      \
  }                                                                                                                    \
  TSR_INLINE void tsr_store##bits##_release(uint##bits##_t *address, uint##bits##_t value) {                           \
    if (TSR_IN_PAGE) {                                                                                                 \
      __threadfence_block();                                                                                           \
      tsr_shared_store##bits(address, value);                                                                          \
      return;                                                                                                          \
    }                                                                                                                  \
    asm volatile("st.release.gpu.global.b" #bits " [%0], %1;"                                                          \
                 :                                                                                                     \
                 : "l"(__cvta_generic_to_global(address)), letter(value)                                               \
                 : "memory");                                                                                          \
  }                                                                                                                    \
  TSR_ORDERED_CAS_(bits, letter, acquire, _)                                                                           \
  TSR_ORDERED_CAS_(bits, letter, release, _)
#define TSR_ORDERED_CAS_(bits, letter, order, unused)                                                                  \
  TSR_INLINE uint##bits##_t tsr_cas##bits##_##order(uint##bits##_t *address, uint##bits##_t expected,                  \
                                                    uint##bits##_t desired) {                                          \
    if (TSR_IN_PAGE) return tsr_shared_cas##bits##_##order(address, expected, desired);                                \
    uint##bits##_t found;                                                                                              \
    asm volatile("atom." #order ".gpu.global.cas.b" #bits " %0, [%1], %2, %3;"                                         \
                 : "=" letter(found)                                                                                   \
                 : "l"(__cvta_generic_to_global(address)), letter(expected), letter(desired)                           \
                 : "memory");                                                                                          \
    return found;                                                                                                      \
  }
#else
#define TSR_ORDERED_WORD_(bits, letter)                                                                                \
  TSR_INLINE uint##bits##_t tsr_load##bits##_acquire(const uint##bits##_t *address) {                                  \
    return __atomic_load_n(address, __ATOMIC_ACQUIRE);                                                                 \
  }                                                                                                                    \
  TSR_INLINE void tsr_store##bits##_release(uint##bits##_t *address, uint##bits##_t value) {                           \
    __atomic_store_n(address, value, __ATOMIC_RELEASE);                                                                \
  }                                                                                                                    \
  TSR_ORDERED_CAS_(bits, letter, acquire, __ATOMIC_ACQUIRE)                                                            \
  TSR_ORDERED_CAS_(bits, letter, release, __ATOMIC_RELEASE)
#define TSR_ORDERED_CAS_(bits, letter, order, c11)                                                                     \
  TSR_INLINE uint##bits##_t tsr_cas##bits##_##order(uint##bits##_t *address, uint##bits##_t expected,                  \
                                                    uint##bits##_t desired) {                                          \
    __atomic_compare_exchange_n(address, &expected, desired, 0, c11, __ATOMIC_RELAXED);                                \
    return expected;                                                                                                   \
  }
#endif
TSR_ORDERED_WORD_(32, "r")
TSR_ORDERED_WORD_(64, "l")

/* Release: what the thread has written is seen by every thread that acquires the word from now on. */
TSR_INLINE void tsr_and32_release(uint32_t *address, uint32_t bits) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_and32_release(address, bits);
    return;
  }
  asm volatile("red.release.gpu.global.and.b32 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(address)), "r"(bits)
               : "memory");
#else
  __atomic_fetch_and(address, bits, __ATOMIC_RELEASE);
#endif
}

/* Clears the bits that `bits` has not; relaxed. */
TSR_INLINE void tsr_and32(uint32_t *address, uint32_t bits) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) {
    tsr_shared_and32(address, bits);
    return;
  }
  asm volatile("red.relaxed.gpu.global.and.b32 [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(address)), "r"(bits)
               : "memory");
#else
  __atomic_fetch_and(address, bits, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE uint32_t tsr_add32(uint32_t *address, uint32_t addend) {
#ifdef __CUDACC__
  return TSR_IN_PAGE ? tsr_shared_add32(address, addend) : atomicAdd(address, addend);
#else
  return __atomic_fetch_add(address, addend, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE uint64_t tsr_add64(uint64_t *address, uint64_t addend) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return tsr_shared_add64(address, addend);
  return atomicAdd((unsigned long long *)address, (unsigned long long)addend);
#else
  return __atomic_fetch_add(address, addend, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE uint64_t tsr_cas64(uint64_t *address, uint64_t expected, uint64_t desired) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return tsr_shared_cas64_relaxed(address, expected, desired);
  return atomicCAS((unsigned long long *)address, (unsigned long long)expected, (unsigned long long)desired);
#else
  __atomic_compare_exchange_n(address, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
#endif
}

/* 128 bits: compute capability 9.0 and the CPU. A plan() that uses them refuses older devices, for which this code is
 * compiled but never linked into a table. */
TSR_INLINE tsr_u128 tsr_cas128(tsr_u128 *address, tsr_u128 expected, tsr_u128 desired) {
#ifndef __CUDACC__
  return tsr_swap128_(address, expected, desired);
#elif __CUDA_ARCH__ >= 900
  if (TSR_IN_PAGE) return tsr_shared_cas128(address, expected, desired);
  unsigned long long low, high;
  asm volatile("{ .reg .b128 e, d, f; mov.b128 e, {%2, %3}; mov.b128 d, {%4, %5};"
               " atom.relaxed.gpu.global.cas.b128 f, [%6], e, d; mov.b128 {%0, %1}, f; }"
               : "=l"(low), "=l"(high)
               : "l"((unsigned long long)expected), "l"((unsigned long long)(expected >> 64)),
                 "l"((unsigned long long)desired), "l"((unsigned long long)(desired >> 64)),
                 "l"(__cvta_generic_to_global(address))
               : "memory");
  return (tsr_u128)high << 64 | low;
#else
  return ~expected;
#endif
}

TSR_INLINE tsr_u128 tsr_exchange128(tsr_u128 *address, tsr_u128 desired) {
#ifndef __CUDACC__
  tsr_u128 seen = tsr_load128(address), found;
  while ((found = tsr_swap128_(address, seen, desired)) != seen) seen = found; /* bounded: others succeed meanwhile */
  return found;
#elif __CUDA_ARCH__ >= 900
  if (TSR_IN_PAGE) return tsr_shared_exchange128(address, desired);
  unsigned long long low, high;
  asm volatile("{ .reg .b128 d, f; mov.b128 d, {%2, %3};"
               " atom.relaxed.gpu.global.exch.b128 f, [%4], d; mov.b128 {%0, %1}, f; }"
               : "=l"(low), "=l"(high)
               : "l"((unsigned long long)desired), "l"((unsigned long long)(desired >> 64)),
                 "l"(__cvta_generic_to_global(address))
               : "memory");
  return (tsr_u128)high << 64 | low;
#else
  return desired;
#endif
}

TSR_INLINE uint32_t tsr_exchange32(uint32_t *address, uint32_t desired) {
#ifdef __CUDACC__
  return TSR_IN_PAGE ? tsr_shared_exchange32(address, desired) : atomicExch(address, desired);
#else
  return __atomic_exchange_n(address, desired, __ATOMIC_RELAXED);
#endif
}

TSR_INLINE uint64_t tsr_exchange64(uint64_t *address, uint64_t desired) {
#ifdef __CUDACC__
  if (TSR_IN_PAGE) return tsr_shared_exchange64(address, desired);
  return atomicExch((unsigned long long *)address, (unsigned long long)desired);
#else
  return __atomic_exchange_n(address, desired, __ATOMIC_RELAXED);
#endif
}

/* ---- Memory: keys and payloads --------------------------------------------------------------- */

/* Each is the function of the key's or the payload's width. */
#ifdef TSR_KEY_BITS
TSR_INLINE tsr_key tsr_cas_key(tsr_key *address, tsr_key expected, tsr_key desired) {
#if TSR_KEY_BITS == 128
  return tsr_cas128(address, expected, desired);
#elif TSR_KEY_BITS == 64
  return tsr_cas64(address, expected, desired);
#else
  return tsr_cas32(address, expected, desired);
#endif
}

TSR_INLINE tsr_key tsr_exchange_key(tsr_key *address, tsr_key desired) {
#if TSR_KEY_BITS == 128
  return tsr_exchange128(address, desired);
#elif TSR_KEY_BITS == 64
  return tsr_exchange64(address, desired);
#else
  return tsr_exchange32(address, desired);
#endif
}

TSR_INLINE void tsr_store_key(tsr_key *address, tsr_key key) {
#if TSR_KEY_BITS == 128
  tsr_store128(address, key);
#elif TSR_KEY_BITS == 64
  tsr_store64(address, key);
#else
  tsr_store32(address, key);
#endif
}
#endif

#ifdef TSR_PAYLOAD_BITS
TSR_INLINE tsr_payload tsr_load_payload(const tsr_payload *address, uint32_t coherent) {
#if TSR_PAYLOAD_BITS == 64
  return tsr_load64(address, coherent);
#else
  return tsr_load32(address, coherent);
#endif
}

TSR_INLINE void tsr_store_payload(tsr_payload *address, tsr_payload payload) {
#if TSR_PAYLOAD_BITS == 64
  tsr_store64(address, payload);
#else
  tsr_store32(address, payload);
#endif
}

/* The largest value that a policy leaves. */
TSR_INLINE tsr_payload tsr_value_max(uint32_t policy) {
  return policy == TSR_DUPLICATES_COUNT_8    ? (tsr_payload)0xFFu
         : policy == TSR_DUPLICATES_COUNT_16 ? (tsr_payload)0xFFFFu
                                             : (tsr_payload) ~(tsr_payload)0;
}

/* The value that `policy` leaves when `offered` meets `present`. */
TSR_INLINE tsr_payload tsr_combine(uint32_t policy, tsr_payload present, tsr_payload offered) {
  switch (policy) {
  case TSR_DUPLICATES_FIRST:
    return present;
  case TSR_DUPLICATES_ADD:
    return (tsr_payload)(present + offered);
  case TSR_DUPLICATES_MIN:
    return offered < present ? offered : present;
  case TSR_DUPLICATES_MAX:
    return offered > present ? offered : present;
  case TSR_DUPLICATES_COUNT_8:
  case TSR_DUPLICATES_COUNT_16:
  case TSR_DUPLICATES_COUNT: {
    const tsr_payload sum = (tsr_payload)(present + offered), most = tsr_value_max(policy);
    return sum < present || sum > most ? most : sum;
  }
  default:
    return offered;
  }
}

/* Whether the sum of two values passes the largest one, so that it comes out modulo 2^TSR_PAYLOAD_BITS. Counted over all
 * additions of a key's values, in whatever order and groups they are made, that is their sum / 2^TSR_PAYLOAD_BITS. */
TSR_INLINE uint32_t tsr_overflows(uint32_t policy, tsr_payload present, tsr_payload offered) {
  return policy == TSR_DUPLICATES_ADD && (tsr_payload)(present + offered) < offered;
}

/* Whether a count stops at the largest one. In any order and groups, at least one addition of a key does so if their sum
 * passes it. */
TSR_INLINE uint32_t tsr_stops(uint32_t policy, tsr_payload present, tsr_payload offered) {
  return TSR_POLICY_COUNTS(policy) && tsr_combine(policy, present, offered) != (tsr_payload)(present + offered);
}

/* To be called wherever a value has been combined with another one, or would have been, had its count not stopped before:
 * counts a sum that passed the largest value. */
TSR_INLINE void tsr_tell_overflow(const tsr_ctx *c, uint32_t policy, tsr_payload present, tsr_payload offered) {
  if (TSR_FACT(c, tells_overflow)) c->scratch->overflows += tsr_overflows(policy, present, offered);
  if (TSR_POLICY_COUNTS(TSR_FACT(c, duplicates))) c->scratch->overflows += tsr_stops(policy, present, offered);
}

/* tsr_combine, and tells of an overflow. */
TSR_INLINE tsr_payload tsr_combine_and_tell(const tsr_ctx *c, uint32_t policy, tsr_payload present,
                                            tsr_payload offered) {
  tsr_tell_overflow(c, policy, present, offered);
  return tsr_combine(policy, present, offered);
}

/* The value that changes nothing when it is combined: what a value column holds where no slot is claimed. */
TSR_INLINE tsr_payload tsr_identity(uint32_t policy) {
  return policy == TSR_DUPLICATES_MIN ? (tsr_payload) ~(tsr_payload)0 : (tsr_payload)0;
}

#if TSR_PAYLOAD_BITS > 0
/* Adds to a value in memory, and returns what it was; puts another in its place. */
TSR_INLINE tsr_payload tsr_add_payload(tsr_payload *address, tsr_payload addend) {
#if TSR_PAYLOAD_BITS == 64
  return tsr_add64(address, addend);
#else
  return tsr_add32(address, addend);
#endif
}

TSR_INLINE void tsr_exchange_payload(tsr_payload *address, tsr_payload payload) {
#if TSR_PAYLOAD_BITS == 64
  tsr_exchange64(address, payload);
#else
  tsr_exchange32(address, payload);
#endif
}
#endif

/* Combines into a value in memory, and tells of an overflow; or gives a newly claimed slot its first value: under `first`
 * and `replace` it stores. One thread. Relaxed: the value orders nothing else. A thread whose addition takes a count past
 * the largest one sets it to that. A thread that adds meanwhile passes the largest as well, or its sum is overwritten: so the
 * last of all writes leaves the largest. Nobody finds counts while they are added to. */
TSR_INLINE void tsr_combine_at(const tsr_ctx *c, tsr_payload *address, uint32_t policy, tsr_payload offered) {
#if TSR_PAYLOAD_BITS > 0
  if (TSR_POLICY_COUNTS(policy)) {
    const tsr_payload seen = tsr_add_payload(address, offered), sum = (tsr_payload)(seen + offered);
    if (tsr_combine(policy, seen, offered) != sum) {
      tsr_exchange_payload(address, tsr_value_max(policy));
      tsr_tell_overflow(c, policy, seen, offered);
    }
    return;
  }
  if (policy == TSR_DUPLICATES_ADD) { /* where nobody asks what was there, the GPU's atomic does not return it */
    tsr_tell_overflow(c, policy, tsr_add_payload(address, offered), offered);
    return;
  }
#endif
#if TSR_PAYLOAD_BITS == 0
  (void)c;
  (void)address;
  (void)policy;
  (void)offered;
#elif defined(__CUDACC__)
#if TSR_PAYLOAD_BITS == 64
  typedef unsigned long long word;
#define TSR_SHARED_PAYLOAD_(name) tsr_shared_##name##64(address, offered)
#else
  typedef unsigned int word;
#define TSR_SHARED_PAYLOAD_(name) tsr_shared_##name##32(address, offered)
#endif
  if (TSR_IN_PAGE) {
    switch (policy) {
    case TSR_DUPLICATES_MIN:
      TSR_SHARED_PAYLOAD_(min);
      return;
    case TSR_DUPLICATES_MAX:
      TSR_SHARED_PAYLOAD_(max);
      return;
    default:
      TSR_SHARED_PAYLOAD_(exchange);
      return;
    }
  }
  switch (policy) {
  case TSR_DUPLICATES_MIN:
    atomicMin((word *)address, (word)offered);
    break;
  case TSR_DUPLICATES_MAX:
    atomicMax((word *)address, (word)offered);
    break;
  default:
    atomicExch((word *)address, (word)offered);
    break;
  }
#else
  if (policy == TSR_DUPLICATES_FIRST) policy = TSR_DUPLICATES_REPLACE;
  tsr_payload present = __atomic_load_n(address, __ATOMIC_RELAXED);
  /* bounded: each failure is another thread's success */
  while (!__atomic_compare_exchange_n(address, &present, tsr_combine(policy, present, offered), 0, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {}
#endif
}
#endif

/* ---- Key locks ------------------------------------------------------------------------------- */

#ifdef TSR_KEY_BITS
/* The lock that guards a key. Different keys may share one. */
TSR_INLINE uint32_t tsr_lock_of(const tsr_ctx *c, tsr_key key) {
  return (uint32_t)((tsr_key_word(key) + 1u) * 0x9E3779B97F4A7C15u >> c->t->lock_shift);
}
#endif

/* Collective. One attempt, by one lane. Acquire, so that no look of the new holder is served before it holds the lock. */
TSR_INLINE uint32_t tsr_try_lock(const tsr_ctx *c, uint32_t lock) {
  uint32_t bit = 1u << (lock & 31u), found = 0;
  if (c->lane == 0 && c->active) {
    uint32_t *word = c->t->locks + (lock >> 5);
#ifdef __CUDACC__
    if (TSR_IN_PAGE)
      found = tsr_shared_or32_acquire(word, bit);
    else
      asm volatile("atom.acquire.gpu.global.or.b32 %0, [%1], %2;"
                   : "=r"(found)
                   : "l"(__cvta_generic_to_global(word)), "r"(bit)
                   : "memory");
#else
    found = __atomic_fetch_or(word, bit, __ATOMIC_ACQUIRE);
#endif
  }
  return !(tsr_shuffle32(c, found, 0) & bit);
}

/* Between two attempts at a lock: on the CPU its holder may be waiting for this core. */
TSR_INLINE void tsr_pause(void) {
#ifndef __CUDACC__
  sched_yield();
#endif
}

/* Collective. Release: all that the holder wrote is seen by the tile that takes the lock next. */
TSR_INLINE void tsr_unlock(const tsr_ctx *c, uint32_t lock) {
  if (c->lane == 0 && c->active) tsr_and32_release(c->t->locks + (lock >> 5), ~(1u << (lock & 31u)));
}

/* ---- Statistics ------------------------------------------------------------------------------ */

/* A test proves that statistics = no compiles to what TSR_WITHOUT_STATISTICS does. */
#ifndef TSR_WITHOUT_STATISTICS
#define TSR_COUNT(c, member) TSR_COUNT_WHERE(c, member, 1)
/* To be used instead of a TSR_COUNT under a condition, which would shape the code even when nothing is counted. */
#define TSR_COUNT_WHERE(c, member, predicate)                                                                          \
  do {                                                                                                                 \
    if (TSR_FACT(c, statistics)) (c)->scratch->key.member += (predicate) ? 1u : 0u;                                    \
  } while (0)
#else
#define TSR_COUNT(c, member) ((void)(c))
/* `0 &&`, because with a cast to void nvcc would warn of a variable that is named only here that it is never used. */
#define TSR_COUNT_WHERE(c, member, predicate) ((void)(c), (void)(0 && (predicate)))
#endif

/* A tile that `leaves` leaves the key of lane `owner`: it is done with it, or will come back to it (tsr_take_up_key).
 * All its lanes have counted the same; the first lane keeps it. This is done by selects, because below sm_90 a branch would
 * hide from ptxas that all lanes meet again. */
TSR_INLINE void tsr_leave_key(const tsr_ctx *c, uint32_t owner, uint32_t leaves, uint32_t is_done) {
#ifndef TSR_WITHOUT_STATISTICS
  if (!TSR_FACT(c, statistics)) return;
  tsr_scratch *scratch = c->scratch;
  const tsr_counts key = scratch->key, none = {0, 0, 0, 0, 0};
  const bool adds = leaves && c->lane == 0, counts = adds && is_done;
  const uint32_t moves = adds ? key.moves : 0, probes = counts ? key.probes : 0;
  scratch->sum.probes += probes;
  scratch->sum.moves += moves;
  scratch->sum.lost_claims += adds ? key.lost_claims : 0;
  scratch->sum.stashed += adds ? key.stashed : 0;
  scratch->sum.changes += adds ? key.changes : 0;
  scratch->probes_max = probes > scratch->probes_max ? probes : scratch->probes_max;
  scratch->moves_max = moves > scratch->moves_max ? moves : scratch->moves_max;
  scratch->aside = leaves && !is_done && c->lane == owner ? key.probes : scratch->aside;
  scratch->key = leaves ? none : key;
  if (!counts) return;
  const uint32_t bin = probes < TSR_HISTOGRAM_BINS ? probes : TSR_HISTOGRAM_BINS - 1;
#ifdef __CUDACC__
  atomicAdd(scratch->histogram + bin, 1u); /* relaxed: a count orders nothing */
#else
  scratch->histogram[bin]++;
#endif
#else
  (void)c, (void)owner, (void)leaves, (void)is_done;
#endif
}

/* This lane is done with a key for which nobody looked at a bucket. */
TSR_INLINE void tsr_count_unseen(const tsr_ctx *c, uint32_t counts) {
#ifndef TSR_WITHOUT_STATISTICS
  if (!TSR_FACT(c, statistics) || !counts) return;
#ifdef __CUDACC__
  atomicAdd(c->scratch->histogram, 1u); /* relaxed: a count orders nothing */
#else
  c->scratch->histogram[0]++;
#endif
#else
  (void)c, (void)counts;
#endif
}

/* This lane begins with a key that no tile has left. */
TSR_INLINE void tsr_begin_key(const tsr_ctx *c) {
#ifndef TSR_WITHOUT_STATISTICS
  if (TSR_FACT(c, statistics)) c->scratch->aside = 0;
#else
  (void)c;
#endif
}

/* Collective. The key of lane `owner` goes on where the tile left it. */
TSR_INLINE void tsr_take_up_key(const tsr_ctx *c, uint32_t owner) {
#ifndef TSR_WITHOUT_STATISTICS
  if (!TSR_FACT(c, statistics)) return;
  uint32_t probes = tsr_shuffle32(c, c->scratch->aside, owner);
  if (c->active) c->scratch->key.probes = probes;
#else
  (void)c, (void)owner;
#endif
}

#endif
