/* SPDX-License-Identifier: Apache-2.0
 *
 * probing funnel: descriptor and plan. What it does: funnel.cuh. delta is 1 - load_factor, as the paper's tables are full
 * but for that share of their slots.
 */
#include "funnel.cuh"

enum { FUNNEL_SIXTEENTHS = 16, FUNNEL_SPECIAL_LEAST = 3 /* buckets of the special array */ };

/* log2(above / below) in sixteenths, rounded up; above >= below > 0. */
static uint64_t funnel_log2(uint64_t above, uint64_t below) {
  uint64_t log = 0;
  while (above / 2 >= below) {
    below *= 2;
    log += FUNNEL_SIXTEENTHS;
  }
  const uint64_t part = (above - below) / (below / FUNNEL_SIXTEENTHS + 1); /* of a line between two powers of two */
  return log + (part < FUNNEL_SIXTEENTHS ? part + (above > below) : FUNNEL_SIXTEENTHS);
}

static uint64_t funnel_ceil(uint64_t sixteenths) { return (sixteenths + FUNNEL_SIXTEENTHS - 1) / FUNNEL_SIXTEENTHS; }
static uint64_t funnel_divide(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

static uint64_t funnel_blocks(uint64_t first, uint64_t levels) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < levels; i++) {
    sum += first;
    first = funnel_next_size(first);
  }
  return sum;
}

/* The most blocks that a first level can have if all levels have no more than `blocks`. */
static uint64_t funnel_first(uint64_t blocks, uint64_t levels) {
  uint64_t least = 1, most = blocks;
  while (least < most) {
    const uint64_t middle = least + (most - least + 1) / 2;
    if (funnel_blocks(middle, levels) <= blocks)
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

static tsr_status funnel_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (shape->buckets_min > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = funnel counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise [layout] "
                    "bucket_slots",
                    (unsigned long long)shape->buckets_min);
  const uint64_t slots_of = shape->bucket_slots, least = FUNNEL_SPECIAL_LEAST + 1;
  const uint64_t buckets = plan->probing.buckets < least ? least : plan->probing.buckets, slots = buckets * slots_of;
  const uint64_t pairs = shape->capacity / (shape->pages ? shape->pages : 1);
  const uint64_t spare = slots > pairs ? slots - pairs : 1; /* delta n */
  const uint64_t log = funnel_log2(slots, spare), loglog = funnel_log2(funnel_ceil(funnel_log2(slots, 1)), 1);
  uint64_t levels = own->levels ? own->levels : funnel_ceil(4 * log) + 10;
  uint64_t block = funnel_divide(own->block_slots ? own->block_slots : funnel_ceil(2 * log), slots_of);
  uint64_t special = spare * 5 / 8 / slots_of; /* between delta n / 2 and 3 delta n / 4 slots */
  if (block == 0) block = 1;
  if (special < FUNNEL_SPECIAL_LEAST) special = FUNNEL_SPECIAL_LEAST;
  if (block > buckets - special) block = buckets - special;
  uint64_t pair_block = funnel_divide(funnel_ceil(2 * loglog), slots_of), tries = funnel_ceil(loglog);
  if (pair_block > special - special / 2) pair_block = special - special / 2;
  if (tries > special / 2) tries = special / 2;
  /* a small table has fewer levels, so that its walk is shorter than itself */
  while (levels > 1 && (levels * block + tries + 2 * pair_block >= buckets || levels * block > buckets - special))
    levels--;

  const uint64_t first = funnel_first((buckets - special) / block, levels);
  const uint64_t paired_blocks = (special - special / 2) / pair_block;
  plan->state[FUNNEL_FIRST] = first;
  plan->state[FUNNEL_LEVELS] = levels;
  plan->state[FUNNEL_BLOCK] = block;
  plan->state[FUNNEL_SPARSE] = funnel_blocks(first, levels) * block; /* what is left over belongs to this half */
  plan->state[FUNNEL_PAIRED] = buckets - paired_blocks * pair_block;
  plan->state[FUNNEL_TRIES] = tries;
  plan->state[FUNNEL_PAIRED_BLOCK] = pair_block;
  plan->state[FUNNEL_PAIRED_BLOCKS] = paired_blocks;
  plan->probing.buckets = buckets;
  plan->probing.ordered = (uint32_t)(levels * block + tries);
  plan->probing.choices = (uint32_t)(2 * pair_block);
  plan->probing.walk_max = levels * block + tries + 2 * pair_block;
  return tsr_plan_two_buckets(shape, "funnel", error);
}

TSR_PLUGIN(funnel_plan,
           "Funnel hashing: levels that shrink by a quarter, one block of a key in each; the first with room takes the "
           "pair. Pairs never move.",
           "Farach-Colton, Krapivin and Kuszmaul 2025, 3");
