/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice about pairs without room (advice.h).
 */
#include "tools/cli/advice.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/spec/number.h"

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

/* For pairs that a larger table would not help. */
static const char *say_other_parts(const tsr_table *table, bool keeps_all) {
  const char *duplicates = tsr_spec_get(tsr_table_spec(table), "table", "duplicates");
  if (keeps_all) return "many pairs of one key need lists, as of specs/hashgraph_v2.ini";
  if (duplicates && strcmp(duplicates, "promise_unique") == 0)
    return "keys that repeat need another policy, such as duplicates = first, or `tessera unique` before; for other "
           "keys choose another hasher";
  return "choose another hasher or probing scheme";
}

const char *tsr_advice_when_full(tsr_table *table, const char *grow, char advice[TSR_FULL_ADVICE_BYTES]) {
  const char *kind = tsr_spec_get(tsr_table_spec(table), "table", "kind");
  const bool keeps_all = kind && strncmp(kind, "multi", 5) == 0;
  const char *way_out = say_other_parts(table, keeps_all);
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  const char *limit = tsr_spec_get(tsr_table_spec(table), "table", "growth_limit");
  uint64_t most = 0;
  uint64_t pairs = 0;
  if (is_nearly_empty(table, &info, &pairs))
    snprintf(advice, TSR_FULL_ADVICE_BYTES,
             "only %" PRIu64 " of %" PRIu64 " slots hold a pair, since keys meet in few buckets; %s", pairs, info.slots,
             way_out);
  else if (says(table, "growth", "none") && limit && tsr_parse_u64(limit, &most) && most && info.capacity > most / 2)
    snprintf(advice, TSR_FULL_ADVICE_BYTES, "it grew to capacity %" PRIu64 ": raise growth_limit (now %s)",
             info.capacity, limit);
  else if (says(table, "growth", "none"))
    snprintf(advice, TSR_FULL_ADVICE_BYTES, "it grew to capacity %" PRIu64 ", and more does not help; %s",
             info.capacity, way_out);
  else if (keeps_all && says(table, "page_bytes", "0"))
    snprintf(advice, TSR_FULL_ADVICE_BYTES,
             "raise page_bytes or leave it out, since all pairs of a key share one page; %s", way_out);
  else if (kind && strcmp(kind, "filter") == 0)
    snprintf(advice, TSR_FULL_ADVICE_BYTES,
             "some keys of the filter are missing now: build it anew, with a larger capacity (now %" PRIu64 ")",
             info.capacity);
  else
    snprintf(advice, TSR_FULL_ADVICE_BYTES, "raise capacity (now %" PRIu64 "), or %s", info.capacity, grow);
  return advice;
}
