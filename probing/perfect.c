/* SPDX-License-Identifier: Apache-2.0
 *
 * probing perfect: descriptor and plan. What it does: perfect.cuh.
 */
#include "perfect.cuh"

static tsr_status perfect_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint64_t keys = own->page_keys, pages = (shape->capacity + keys - 1) / keys, most = keys + keys / 8 + 64;
  const uint64_t page_buckets = (uint64_t)((double)most * (double)plan->probing.buckets / (double)shape->capacity) + 2;
  const uint64_t bytes = sizeof(perfect_work) + most * sizeof(uint32_t) + page_buckets;
  if (plan->probing.buckets + pages >= 1ull << 32)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = perfect makes tables below 2^32 buckets, and this one has %llu: lower capacity",
                    (unsigned long long)(plan->probing.buckets + pages));
  if (bytes > TSR_BUILD_BYTES_MAX)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = perfect has memory for pages of %llu bytes, and pages of %llu keys in %llu buckets take "
                    "%llu: raise load_factor, or lower [probing] page_keys",
                    (unsigned long long)TSR_BUILD_BYTES_MAX, (unsigned long long)keys, (unsigned long long)page_buckets,
                    (unsigned long long)bytes);
  plan->state[PERFECT_SHARE] = ((plan->probing.buckets << 32) + shape->capacity - 1) / shape->capacity;
  if (shape->pages == 1) plan->probing.buckets += pages; /* with others the core refuses, and says why */
  plan->probing.ends_at_empty = 1;
  plan->probing.walk_max = 1;
  plan->probing.build_pages = pages;
  plan->probing.build_bytes = (uint32_t)bytes;
  plan->state[PERFECT_PAGES] = pages;
  plan->state[PERFECT_KEYS_MOST] = most;
  plan->regions[PERFECT_BEGINS] = (tsr_region){.name = "begins", .bytes = (pages + 1) * sizeof(uint32_t), .fill = 0};
  plan->regions[PERFECT_SEEDS] =
      (tsr_region){.name = "seeds", .bytes = pages * PERFECT_GROUPS * PERFECT_SEED_BITS / 8, .fill = 0};
  return TSR_OK;
}

TSR_PLUGIN(
    perfect_plan,
    "A hash function that is made for the keys of a batch: every bucket is full, and a find looks at one. For "
    "distinct keys that are inserted at once and then only found. Takes 2.9 bits a key besides the pairs, or fewer.",
    "Belazzougui et al. 2009; Hermann et al. 2024");
