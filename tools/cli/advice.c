/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice about pairs without room (advice.h).
 */
#include "tools/cli/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether [table] says a key, and something else of it than its default. */
static bool says(const tsr_table *table, const char *key, const char *initial) {
  const char *value = tsr_spec_get(tsr_table_spec(table), "table", key);
  return value && strcmp(value, initial) != 0;
}

/* Pairs that find no room in a table that is nearly empty meet in few buckets: a larger table would not help. */
static bool is_nearly_empty(tsr_table *table, const tsr_table_info *info, uint64_t *pairs) {
  enum { EMPTY = 4 };
  tsr_error error;
  return tsr_size(table, pairs, &error) == TSR_OK && *pairs < info->slots / EMPTY;
}

const char *tsr_advice_when_full(tsr_table *table, const char *grow, char advice[TSR_FULL_ADVICE_BYTES]) {
  const char *kind = tsr_spec_get(tsr_table_spec(table), "table", "kind");
  const bool keeps_all = kind && strncmp(kind, "multi", 5) == 0;
  const char *more = grow;
  if (says(table, "growth", "none"))
    more = "which growth could not: memory or growth_limit ended it, or the pairs meet in tables of every size, by one "
           "key's many pairs or a hasher that does not spread the keys";
  else if (keeps_all && says(table, "page_bytes", "0"))
    more = "leave page_bytes out where one key has many pairs, for they lie in one page however many pages there are";
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  uint64_t pairs;
  if (is_nearly_empty(table, &info, &pairs)) {
    snprintf(advice, TSR_FULL_ADVICE_BYTES,
             "only %" PRIu64 " of the table's %" PRIu64
             " slots hold a pair, so the keys meet in few buckets: take another hasher, such as murmur3%s",
             pairs, info.slots,
             keeps_all ? ", or a scheme that has room for many pairs of one key" : ", or another seed");
    return advice;
  }
  snprintf(advice, TSR_FULL_ADVICE_BYTES,
           "raise capacity (now %" PRIu64 ") or lower load_factor, %s, or, where a few are too many, add --set "
           "table.stash=1000 or raise [layout] bucket_slots%s",
           info.capacity, more,
           keeps_all ? ", of which the two largest keys have no more pairs than one bucket has" : "");
  return advice;
}
