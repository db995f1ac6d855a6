/* SPDX-License-Identifier: Apache-2.0
 *
 * probing elastic: elastic hashing (M. Farach-Colton, A. Krapivin, W. Kuszmaul, "Optimal Bounds for Open Addressing Without
 * Reordering", 2025, section 2). Levels halve in size. A key has a random sequence of buckets in each: h(i, j) is the j-th
 * in level i. Levels are filled from the largest on, two at a time, i and i + 1. While both have room a new pair tries a
 * few buckets of level i, the more the fuller it is, and then goes to level i + 1, which is at most three quarters full: so
 * it gives up early on buckets that it could have had later. How full levels are is counted when pairs are put there.
 * A find looks at h(i, j) in the order of i j^2, so that a pair is found early though its insert looked at many buckets.
 * A slot of the paper is a slot here, its random slot a random bucket: with [layout] bucket_slots = 1 it is the paper's.
 * Levels are filled while nothing is erased; after erases the counts are too high, and pairs go to later levels.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, eagerness, 2, 1, 64,                                                                                     \
    "The paper's constant c: buckets tried in a level before the next one, times a log.")                              \
  P(uint32_t, tries, 0, 0, 4095, "The most buckets of a level that may hold a key. 0: as many as it may need.")

#include "plugins/probing.cuh"

enum { ELASTIC_LEVELS, ELASTIC_TRIES, ELASTIC_SPARE, ELASTIC_LOG }; /* levels; most j; 2^32 delta; log2(1/delta) * 16 */
enum { ELASTIC_FILLS };                                             /* region: pairs that were put into each level */
enum { ELASTIC_WHERE, ELASTIC_ROUND };                              /* probe words: level and j; round and log2 j */
enum { ELASTIC_PLAN, ELASTIC_COUNTED };                  /* placing words: see elastic_plan_word; level + 1 */
enum { ELASTIC_LOG_LEVELS = 5, ELASTIC_LOG_TRIES = 11 }; /* below 64 levels and 4096 tries */

/* ---- Levels, from 0 on ----------------------------------------------------------------------- */

TSR_INLINE uint64_t elastic_begin(const tsr_ctx *c, uint32_t level) { return c->t->buckets - (c->t->buckets >> level); }
TSR_INLINE uint64_t elastic_size(const tsr_ctx *c, uint32_t level) {
  return (c->t->buckets >> level) - (c->t->buckets >> (level + 1));
}

/* How many buckets of a level may hold a key. */
TSR_INLINE uint32_t elastic_tries(const tsr_ctx *c, uint32_t level) {
  const uint64_t size = elastic_size(c, level), tries = TSR_WORD(c, ELASTIC_TRIES);
  return (uint32_t)(size < tries ? size : tries);
}

/* The j-th bucket of a key in a level, j from 1 on: a random one, or in a small level the next one, so that each is tried. */
TSR_INLINE uint64_t elastic_bucket(const tsr_ctx *c, tsr_key key, uint32_t level, uint32_t j) {
  const uint64_t size = elastic_size(c, level), tries = TSR_WORD(c, ELASTIC_TRIES);
  const uint32_t member = level * (uint32_t)tries + (size > tries ? j : 1);
  uint64_t at = tsr_reduce(hasher_hash(c, key, member), (tsr_hash)size);
  if (size <= tries) at = at + j - 1 < size ? at + j - 1 : at + j - 1 - size;
  return elastic_begin(c, level) + at;
}

TSR_INLINE uint32_t elastic_level_of(const tsr_ctx *c, uint64_t ref) {
  uint32_t level = 0;
  while (level + 1 < TSR_WORD(c, ELASTIC_LEVELS) && ref >= elastic_begin(c, level + 1)) level++;
  return level;
}

/* ---- The walk -------------------------------------------------------------------------------- */

/* Round r has all (i, j), both from 1 on, with floor(log2 i) + 2 floor(log2 j) = r. So (i, j) is among the first
 * O(i j^2), which is all that the paper asks of the order. */
TSR_INLINE bool elastic_step(uint32_t levels, uint32_t tries, uint32_t *i, uint32_t *j, uint32_t *round,
                             uint32_t *log) {
  if (++*i <= levels && *i < 2u << (*round - 2 * *log)) return true;
  *i = 1u << (*round - 2 * *log);
  if (++*j <= tries && *j < 2u << *log) return true;
  do { /* bounded: by 2 log2(tries) + log2(levels) rounds */
    *log += 1;
    if (2 * *log > *round) {
      *round += 1;
      *log = 0;
    }
    if (*round > 2 * ELASTIC_LOG_TRIES + ELASTIC_LOG_LEVELS) return false;
  } while (1u << *log > tries || *round - 2 * *log > ELASTIC_LOG_LEVELS || 1u << (*round - 2 * *log) > levels);
  *i = 1u << (*round - 2 * *log);
  *j = 1u << *log;
  return true;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint32_t levels = (uint32_t)TSR_WORD(c, ELASTIC_LEVELS), tries = (uint32_t)TSR_WORD(c, ELASTIC_TRIES);
  uint32_t i = (uint32_t)probe->word[ELASTIC_WHERE], j = (uint32_t)(probe->word[ELASTIC_WHERE] >> 32);
  uint32_t round = (uint32_t)probe->word[ELASTIC_ROUND], log = (uint32_t)(probe->word[ELASTIC_ROUND] >> 32);
  if (probe->visited == 0) i = 0, j = 1;
  do { /* bounded: small levels have fewer tries */
    if (!elastic_step(levels, tries, &i, &j, &round, &log)) return false;
  } while (j > elastic_tries(c, i - 1));
  probe->word[ELASTIC_WHERE] = i | (uint64_t)j << 32;
  probe->word[ELASTIC_ROUND] = round | (uint64_t)log << 32;
  probe->ref = elastic_bucket(c, key, i - 1, j);
  return true;
}

/* ---- Placing --------------------------------------------------------------------------------- */

/* log2(whole / part) in sixteenths, for part <= whole. */
TSR_INLINE uint32_t elastic_log2(uint64_t whole, uint64_t part) {
  uint32_t log = 0;
  while (log < 63 * 16 && whole / 2 >= part) {
    whole /= 2;
    log += 16;
  }
  for (; part >> 27; part /= 2) whole /= 2; /* 32 bits: a GPU divides 64 by a call */
  return part ? log + ((uint32_t)whole - (uint32_t)part) * 16u / (uint32_t)part : log;
}

/* The paper's f: buckets to try in a level of which `room` of `slots` are free. */
TSR_INLINE uint32_t elastic_f(const tsr_ctx *c, uint32_t level, uint64_t slots, uint64_t room) {
  const uint32_t log = elastic_log2(slots, room ? room : 1), squared = log * log / 16;
  const uint32_t least = squared < TSR_WORD(c, ELASTIC_LOG) ? squared : (uint32_t)TSR_WORD(c, ELASTIC_LOG);
  const uint32_t f = (TSR_PARAMETER(c, eagerness) * least + 15) / 16, most = elastic_tries(c, level);
  return f < most ? f : most;
}

/* A try as a word: the level, how often a bucket of it has been tried, and after how many the next level comes. */
TSR_INLINE uint32_t elastic_plan_word(uint32_t level, uint32_t tried, uint32_t most) {
  return 1u | level << 1 | tried << 7 | most << 19;
}

/* Which level a new pair tries, and how often, by how full the levels are. Collective. */
TSR_INLINE uint32_t elastic_choose(const tsr_ctx *c) {
  const uint32_t levels = (uint32_t)TSR_WORD(c, ELASTIC_LEVELS);
  const uint64_t *fills = (const uint64_t *)TSR_REGION(c, ELASTIC_FILLS);
  const uint64_t slots_of = TSR_FACT(c, bucket_slots);
  uint64_t slots = elastic_size(c, 0) * slots_of, filled = tsr_counter(c, fills);
  uint32_t chosen = filled < slots - slots / 4 ? elastic_plan_word(0, 0, elastic_tries(c, 0)) : 0; /* batch 0 */
  for (uint32_t i = 0; i + 1 < levels; i++) {
    const uint64_t later_slots = elastic_size(c, i + 1) * slots_of, later = tsr_counter(c, fills + i + 1);
    const uint64_t kept = (uint64_t)(((tsr_u128)slots * TSR_WORD(c, ELASTIC_SPARE)) >> 33); /* delta / 2 of the slots */
    const bool is_full = filled + kept >= slots, is_later_full = later >= later_slots - later_slots / 4;
    const uint64_t room = filled < slots ? slots - filled : 0;
    uint32_t now = elastic_plan_word(i, 0, elastic_f(c, i, slots, room));       /* case 1 */
    now = is_full ? elastic_plan_word(i + 1, 0, elastic_tries(c, i + 1)) : now; /* case 2 */
    now = is_later_full ? elastic_plan_word(i, 0, elastic_tries(c, i)) : now;   /* case 3 */
    chosen = !chosen && !(is_full && is_later_full) ? now : chosen;             /* both: this batch is over */
    slots = later_slots;
    filled = later;
  }
  return chosen ? chosen : elastic_plan_word(0, 0, elastic_tries(c, 0));
}

/* One try on. After the last of a level comes the next level, and after the last level the first one. */
TSR_INLINE uint32_t elastic_next_try(const tsr_ctx *c, uint32_t plan) {
  const uint32_t level = plan >> 1 & 63u, tried = plan >> 7 & 4095u, most = plan >> 19;
  const uint32_t later = level + 1 < TSR_WORD(c, ELASTIC_LEVELS) ? level + 1 : 0;
  return tried < most ? elastic_plan_word(level, tried + 1, most)
                      : elastic_plan_word(later, 1, elastic_tries(c, later));
}

/* The core asks first at h(1, 1). A pair that begins elsewhere passes it. */
TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  (void)key;
  uint64_t *fills = (uint64_t *)TSR_REGION(c, ELASTIC_FILLS);
  uint32_t plan = placing->word[ELASTIC_PLAN];
  if (tsr_warp_any(c, plan == 0)) {
    const uint32_t chosen = elastic_choose(c);
    const uint32_t level = chosen >> 1 & 63u, tried = level == 0; /* h(1, 1) is its first try */
    plan = plan ? plan : elastic_plan_word(level, tried, chosen >> 19);
    placing->word[ELASTIC_PLAN] = plan;
  }
  const uint32_t tried = plan >> 7 & 4095u;
  const bool gives_up = placing->passed > (TSR_WORD(c, ELASTIC_LEVELS) + 1) * TSR_WORD(c, ELASTIC_TRIES);
  const bool claims = tried && seen->has_room && !gives_up;
  /* asked twice about one bucket, it has counted the pair already */
  const uint32_t level = elastic_level_of(c, seen->ref), before = placing->word[ELASTIC_COUNTED];
  const uint32_t now = claims ? level + 1 : before;
  const bool moves = now != before;
  tsr_bump(c, fills + level, moves);
  tsr_bump(c, fills + (before ? before - 1 : 0), moves && before ? (uint64_t)-1 : 0);
  placing->word[ELASTIC_COUNTED] = now;
  return claims ? tsr_claim() : gives_up ? tsr_nowhere() : tsr_pass();
}

TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)ref;
  const uint32_t plan = elastic_next_try(c, placing->word[ELASTIC_PLAN]);
  placing->word[ELASTIC_PLAN] = plan;
  return elastic_bucket(c, key, plan >> 1 & 63u, plan >> 7 & 4095u);
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));
