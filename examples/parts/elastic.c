/* SPDX-License-Identifier: Apache-2.0
 *
 * probing elastic: descriptor and plan. What it does: elastic.cuh. delta is 1 - load_factor, as the paper's tables are full
 * but for that share of their slots.
 */
#include "elastic.cuh"

/* log2(whole / part) in sixteenths, rounded up; whole >= part > 0. */
static uint64_t elastic_log(uint64_t whole, uint64_t part) {
  uint64_t log = 0;
  for (; whole / 2 >= part; whole /= 2) log += 16;
  return log + ((whole - part) * 16 + part - 1) / part;
}

static tsr_status elastic_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint64_t buckets = plan->probing.buckets, slots = buckets * shape->bucket_slots;
  if (shape->is_paged)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = elastic counts the pairs of its levels, and a page would need counts of its own: use "
                    "page_bytes = 0, and a layout without short keys");
  if (buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = elastic counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise [layout] "
                    "bucket_slots",
                    (unsigned long long)buckets);
  const uint64_t spare = slots > shape->capacity ? slots - shape->capacity : 1;
  const uint64_t log = elastic_log(slots, spare); /* of 1 / delta */
  uint64_t levels = 0;
  while (buckets >> levels) levels++;
  /* f is at most eagerness log(1 / delta); a level that is three quarters full needs a few more */
  const uint64_t needed = (own->eagerness * log + 15) / 16 + 8 + 24 / shape->bucket_slots;
  plan->state[ELASTIC_LEVELS] = levels;
  plan->state[ELASTIC_TRIES] = own->tries ? own->tries : needed < 4095 ? needed : 4095;
  plan->state[ELASTIC_SPARE] = (uint64_t)((double)spare / (double)slots * 4294967296.0);
  plan->state[ELASTIC_LOG] = log;
  for (uint64_t level = 0; level < levels; level++) {
    const uint64_t size = (buckets >> level) - (buckets >> (level + 1)), tries = plan->state[ELASTIC_TRIES];
    plan->probing.walk_max += size < tries ? size : tries;
  }
  plan->regions[ELASTIC_FILLS] = (tsr_region){.name = "fills", .bytes = levels * sizeof(uint64_t)};
  return TSR_OK;
}

TSR_PLUGIN(elastic_plan,
           "Elastic hashing: levels that halve, filled two at a time; a pair leaves the fuller one early. Pairs never "
           "move, and the find of an absent key looks at its whole walk.",
           "Farach-Colton, Krapivin and Kuszmaul 2025, 2");
