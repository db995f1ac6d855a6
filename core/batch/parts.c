/* SPDX-License-Identifier: Apache-2.0
 *
 * Parts of a table (parts.h).
 */
#include "core/batch/parts.h"

#include <math.h>

#include "core/batch/split.h"

/* By its hash a shard of distinct keys gets more than its part, by at most six standard deviations; independent tables
 * are filled in turn. */
uint64_t tsr_shard_capacity(const tsr_settings *settings, uint32_t count) {
  const uint64_t part = settings->capacity / count + (settings->capacity % count != 0);
  if (count == 1 || settings->sharing.split == TSR_SPLIT_REPLICATED) return settings->capacity;
  if (settings->sharing.split == TSR_SPLIT_INDEPENDENT) return part;
  const uint64_t bin = settings->capacity / TSR_SPLIT_BINS; /* and shards end between bins */
  const uint64_t roomy = part + (uint64_t)(6 * sqrt((double)part)) + bin + 1;
  return roomy < settings->capacity ? roomy : settings->capacity;
}
