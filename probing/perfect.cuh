/* SPDX-License-Identifier: Apache-2.0
 *
 * probing perfect: a hash function that is made for the keys of a batch, so that buckets are full and a find looks at one
 * (hash and displace: Belazzougui et al. 2009; partitions of the keys and the search of seeds by a GPU: Hermann et al.
 * 2024). Keys form pages, and the keys of a page form groups. Each group has a seed of 16 bits: the first one by which
 * each of its keys gets a bucket of the page with room left. Large groups choose first, while most buckets are empty.
 * Law kept: after build() a key's walk is one bucket, and the buckets of all its keys have room for them.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, page_keys, 2816, 256, 8192,                                                                              \
    "Mean number of keys of a page, which share 512 seeds of 16 bits: 2.9 bits a key. More keys need fewer bits each " \
    "and more tries; buckets of one slot have no room for more.")

#include "plugins/probing.cuh"

/* State words: pages; buckets a key, times 2^32; the most keys of a page with seeds for all. */
enum { PERFECT_PAGES, PERFECT_SHARE, PERFECT_KEYS_MOST };
enum { PERFECT_BEGINS, PERFECT_SEEDS }; /* regions: the first bucket of each page; seeds, two a word */
enum {
  PERFECT_GROUPS = 512, /* of a page */
  PERFECT_SEED_BITS = 16,
  PERFECT_SEED_END = 1 << PERFECT_SEED_BITS,
  PERFECT_FEW = 32 /* seeds that are tried first, enough for most groups; and the most keys of a group */
};

/* What the keys of a page are placed by, in the memory of a block. */
typedef struct perfect_work {
  uint32_t seed[PERFECT_GROUPS];      /* before: where the next hash of a group goes */
  uint32_t begin[PERFECT_GROUPS + 1]; /* where the hashes of each group begin */
  uint32_t order[PERFECT_GROUPS];     /* groups by their sizes, the largest first */
  uint32_t ranks[PERFECT_FEW + 1];    /* where the next group of each size goes */
  uint32_t hash[];                    /* of each key; behind them the fill of each bucket, a byte each */
} perfect_work;

/* ---- The function ---------------------------------------------------------------------------- */

/* The bucket of a key under a seed, of `buckets`. */
TSR_INLINE uint32_t perfect_bucket(uint32_t hash, uint32_t seed, uint32_t buckets) {
  uint32_t x = (hash ^ seed * 0x9E3779B9u) * 0x85EBCA6Bu;
  x = (x ^ x >> 15) * 0xC2B2AE35u;
  return (uint32_t)((uint64_t)x * buckets >> 32);
}

/* The group of a key in its page, by what follows the page's digit of its hash: six tenths of the keys share three tenths of
 * the groups (PTHash: Pibiri and Trani 2021, 4.2). The others are small enough for the last free slots. */
TSR_INLINE uint32_t perfect_group(const tsr_ctx *c, tsr_key key) {
  const tsr_hash rest = (tsr_hash)(hasher_hash(c, key, 0) * (tsr_hash)TSR_WORD(c, PERFECT_PAGES));
  const uint32_t dense = (uint32_t)tsr_reduce(rest, PERFECT_GROUPS / 2),
                 sparse = (uint32_t)tsr_reduce(rest, PERFECT_GROUPS * 7 / 4);
  return sparse > dense + PERFECT_GROUPS * 3 / 4 ? sparse - PERFECT_GROUPS * 3 / 4 : dense;
}

TSR_INLINE uint32_t perfect_hash(const tsr_ctx *c, tsr_key key) {
  const uint64_t hash = hasher_hash(c, key, 1);
  return (uint32_t)(hash ^ hash >> 32);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited) return false;
  const uint64_t page = tsr_build_page_of(c, key, TSR_WORD(c, PERFECT_PAGES));
  const uint32_t group = perfect_group(c, key);
  const uint32_t *begins = (const uint32_t *)TSR_REGION(c, PERFECT_BEGINS) + page;
  const uint32_t *seeds = (const uint32_t *)TSR_REGION(c, PERFECT_SEEDS) + page * (PERFECT_GROUPS / 2);
  const uint32_t begin = tsr_load32(begins, 0), end = tsr_load32(begins + 1, 0);
  const uint32_t seed = tsr_load32(seeds + group / 2, 0) >> group % 2 * PERFECT_SEED_BITS & (PERFECT_SEED_END - 1);
  probe->ref = begin + perfect_bucket(perfect_hash(c, key), seed, end - begin);
  return true;
}

/* ---- Its search ------------------------------------------------------------------------------ */

/* The first bucket of a page: a share by the keys before it, and one bucket more a page because shares are rounded. With more
 * keys than were planned the last pages have that one alone. */
TSR_INLINE uint32_t perfect_begin(const tsr_ctx *c, uint64_t page, uint64_t before) {
  const uint64_t share = before * TSR_WORD(c, PERFECT_SHARE) >> 32, all = c->t->buckets - TSR_WORD(c, PERFECT_PAGES);
  return (uint32_t)((share < all ? share : all) + page);
}

/* Whether each of these keys gets a bucket with room. */
TSR_INLINE bool perfect_fits(const uint32_t *hash, uint32_t keys, uint32_t seed, const uint8_t *fill, uint32_t buckets,
                             uint32_t slots) {
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < keys; i++)
    if (fill[perfect_bucket(hash[i], seed, buckets)] >= slots) return false;
  TSR_NO_UNROLL
  for (uint32_t i = 1; i < keys; i++) {
    const uint32_t bucket = perfect_bucket(hash[i], seed, buckets);
    uint32_t taken = fill[bucket];
    TSR_NO_UNROLL
    for (uint32_t j = 0; j < i; j++) taken += perfect_bucket(hash[j], seed, buckets) == bucket;
    if (taken >= slots) return false;
  }
  return true;
}

/* Whether more keys have one hash than a bucket has slots: no seed parts them. */
TSR_INLINE bool perfect_is_hopeless(const uint32_t *hash, uint32_t keys, uint32_t slots) {
  TSR_NO_UNROLL
  for (uint32_t i = 0; i + slots < keys; i++) {
    uint32_t equal = 0;
    TSR_NO_UNROLL
    for (uint32_t j = i; j < keys; j++) equal += hash[j] == hash[i];
    if (equal > slots) return true;
  }
  return false;
}

/* Brings the hashes of the page's first `keys` keys into the order of their groups. */
TSR_INLINE void perfect_sort_keys(const tsr_ctx *c, const tsr_build_page *page, uint32_t keys, perfect_work *work) {
  const uint32_t thread = tsr_block_thread(), threads = tsr_block_threads();
  for (uint32_t g = thread; g < PERFECT_GROUPS; g += threads) work->seed[g] = 0;
  tsr_block_meet();
  for (uint32_t i = thread; i < keys; i += threads) tsr_block_add(&work->seed[perfect_group(c, page->keys[i])], 1);
  tsr_block_meet();
  if (thread == 0) {
    uint32_t before = 0;
    for (uint32_t g = 0; g < PERFECT_GROUPS; g++) {
      const uint32_t own = work->seed[g];
      work->begin[g] = work->seed[g] = before;
      before += own;
    }
    work->begin[PERFECT_GROUPS] = before;
  }
  tsr_block_meet();
  for (uint32_t i = thread; i < keys; i += threads)
    work->hash[tsr_block_add(&work->seed[perfect_group(c, page->keys[i])], 1)] = perfect_hash(c, page->keys[i]);
  tsr_block_meet();
}

/* How many keys the group has fewer than those that are placed first. Groups of very many keys are one size. */
TSR_INLINE uint32_t perfect_rank(const perfect_work *work, uint32_t group) {
  const uint32_t keys = work->begin[group + 1] - work->begin[group];
  return PERFECT_FEW - (keys < PERFECT_FEW ? keys : PERFECT_FEW);
}

/* Groups by their sizes, the largest first, those of one size by their numbers. By one thread. */
TSR_INLINE void perfect_sort_groups(perfect_work *work) {
  uint32_t before = 0;
  for (uint32_t rank = 0; rank <= PERFECT_FEW; rank++) work->ranks[rank] = 0;
  for (uint32_t g = 0; g < PERFECT_GROUPS; g++) work->ranks[perfect_rank(work, g)]++;
  for (uint32_t rank = 0; rank <= PERFECT_FEW; rank++) {
    const uint32_t own = work->ranks[rank];
    work->ranks[rank] = before;
    before += own;
  }
  for (uint32_t g = 0; g < PERFECT_GROUPS; g++) work->order[work->ranks[perfect_rank(work, g)]++] = g;
}

/* The first seed that suits a group; 0 if none does, or it would take too long to see. All threads try, each another
 * seed, and meet after each turn; few try at first. */
TSR_INLINE uint32_t perfect_seed(perfect_work *work, uint32_t group, const uint8_t *fill, uint32_t buckets,
                                 uint32_t slots) {
  const uint32_t *hash = work->hash + work->begin[group];
  const uint32_t keys = work->begin[group + 1] - work->begin[group], thread = tsr_block_thread();
  uint32_t found = PERFECT_SEED_END, turn = tsr_block_threads() < PERFECT_FEW ? tsr_block_threads() : PERFECT_FEW;
  if (keys == 0 || keys > PERFECT_FEW) return 0;
  TSR_NO_UNROLL
  for (uint32_t first = 0; first < PERFECT_SEED_END && found == PERFECT_SEED_END; first += turn) {
    if (first && first == turn && perfect_is_hopeless(hash, keys, slots)) return 0;
    if (first) turn = tsr_block_threads();
    if (thread < turn && first + thread < PERFECT_SEED_END &&
        perfect_fits(hash, keys, first + thread, fill, buckets, slots))
      tsr_block_least(&work->seed[group], first + thread);
    tsr_block_meet();
    found = work->seed[group];
    tsr_block_meet(); /* all have read it before one tries again */
  }
  return found == PERFECT_SEED_END ? 0 : found;
}

TSR_DEVICE void TSR_PART(build)(const tsr_ctx *c, const tsr_build_page *page) {
  perfect_work *work = (perfect_work *)page->memory;
  const uint32_t thread = tsr_block_thread(), threads = tsr_block_threads(), slots = TSR_FACT(c, bucket_slots);
  const uint32_t most = (uint32_t)TSR_WORD(c, PERFECT_KEYS_MOST), keys = page->count <= most ? page->count : 0;
  const uint64_t after = page->before + page->count;
  const uint32_t begin = perfect_begin(c, page->page, page->before), end = perfect_begin(c, page->page + 1, after),
                 buckets = end - begin;
  /* A page of far more keys than the mean has no memory here: its seeds are 0, and its pairs go where there is room. */
  uint8_t *fill = (uint8_t *)(work->hash + most);
  perfect_sort_keys(c, page, keys, work);
  for (uint32_t g = thread; g < PERFECT_GROUPS; g += threads) work->seed[g] = PERFECT_SEED_END;
  for (uint32_t b = thread; keys && b < buckets; b += threads) fill[b] = 0;
  if (thread == 0) perfect_sort_groups(work);
  tsr_block_meet();
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < PERFECT_GROUPS; turn++) {
    const uint32_t group = work->order[turn], seed = perfect_seed(work, group, fill, buckets, slots);
    if (thread == 0) {
      work->seed[group] = seed;
      for (uint32_t i = work->begin[group]; i < work->begin[group + 1]; i++) {
        uint8_t *own = &fill[perfect_bucket(work->hash[i], seed, buckets)];
        *own = (uint8_t)(*own + (*own < slots));
      }
    }
    tsr_block_meet();
  }
  uint32_t *begins = (uint32_t *)TSR_REGION(c, PERFECT_BEGINS) + page->page;
  uint32_t *seeds = (uint32_t *)TSR_REGION(c, PERFECT_SEEDS) + page->page * (PERFECT_GROUPS / 2);
  if (thread == 0) begins[0] = begin;
  if (thread == 0 && page->page + 1 == TSR_WORD(c, PERFECT_PAGES)) begins[1] = end;
  for (uint32_t i = thread; i < PERFECT_GROUPS / 2; i += threads)
    seeds[i] = work->seed[2 * i] | work->seed[2 * i + 1] << PERFECT_SEED_BITS;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .build = TSR_PART(build));
