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
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  if (says(table, "growth", "none"))
    snprintf(advice, TSR_FULL_ADVICE_BYTES,
             "growth ended at capacity %" PRIu64 ", by memory, by growth_limit, or because too many pairs share their "
             "buckets, where --set table.stash=1000 or another scheme helps",
             info.capacity);
  else if (keeps_all && says(table, "page_bytes", "0"))
    snprintf(advice, TSR_FULL_ADVICE_BYTES, "leave page_bytes out, because all pairs of a key lie in one page");
  else
    snprintf(advice, TSR_FULL_ADVICE_BYTES, "raise capacity (now %" PRIu64 ") or lower load_factor, or %s",
             info.capacity, grow);
  return advice;
}
