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

const char *tsr_advice_when_full(const tsr_table *table, const char *grow, char advice[TSR_FULL_ADVICE_BYTES]) {
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
  snprintf(advice, TSR_FULL_ADVICE_BYTES,
           "raise capacity (now %" PRIu64 ") or lower load_factor, %s, or, where a few are too many, add --set "
           "table.stash=1000 or raise [layout] bucket_slots%s",
           info.capacity, more,
           keeps_all ? ", of which the two largest keys have no more pairs than one bucket has" : "");
  return advice;
}
