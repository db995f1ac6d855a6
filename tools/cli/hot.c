/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys with very many pairs (hot.h).
 */
#include "tools/cli/hot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/console.h"
#include "tools/cli/data_file.h"

enum {
  SAMPLE = 256,
  REPEATS_LEAST = 8,     /* of a key in the sample, so that chance does not make it a common one */
  LOOKS_PER_ITEM = 1024, /* looks that an item may take on average: from then on it is told */
};

static bool passes_equal_keys(const tsr_job *job, const tsr_table_info *info) {
  return job->kind.keeps_all && job->reading.key_bits <= 64 && !info->makes_lists &&
         strcmp(tsr_job_setting(job, "values", "inline"), "buckets") != 0;
}

static int compare(const void *left, const void *right) {
  const uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
  return l < r ? -1 : l > r;
}

/* The share of the commonest key in a sample; 0: no key is common. */
static double share_of_commonest(const tsr_chunk *chunk, uint32_t key_bits, uint64_t *key) {
  uint64_t sample[SAMPLE], most = 0;
  if (chunk->count < SAMPLE) return 0;
  for (uint64_t i = 0; i < SAMPLE; i++) sample[i] = tsr_number_at(chunk->keys, key_bits, chunk->count / SAMPLE * i);
  qsort(sample, SAMPLE, sizeof *sample, compare);
  for (uint64_t i = 0, same = 0; i < SAMPLE; i++) {
    same = i && sample[i] == sample[i - 1] ? same + 1 : 1;
    if (same <= most) continue;
    most = same;
    *key = sample[i];
  }
  return most < REPEATS_LEAST ? 0 : (double)most / SAMPLE;
}

void tsr_hot_look(tsr_hot *hot, const tsr_job *job, const char *path, const tsr_chunk *chunk) {
  tsr_table_info info = {0};
  uint64_t key = 0;
  tsr_table_describe(job->table, &info);
  if (hot->is_told || !passes_equal_keys(job, &info)) return;
  hot->items += chunk->count;
  hot->equal += share_of_commonest(chunk, job->reading.key_bits, &key) * (double)chunk->count;
  const double looks = hot->equal * hot->equal / (2 * (double)info.bucket_slots);
  if (looks < LOOKS_PER_ITEM * (double)hot->items) return;
  hot->is_told = true;
  tsr_say(
      "%s: about %.0f of %" PRIu64 " keys are one key, such as %" PRIu64
      ". Each insert passes the pairs of its key, so these take about %.1e looks. Lists made in bulk, such as those of "
      "the recipe join, take %" PRIu64,
      path, hot->equal, hot->items, key, looks, hot->items);
}
