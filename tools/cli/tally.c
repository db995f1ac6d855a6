/* SPDX-License-Identifier: Apache-2.0
 *
 * Histograms (tally.h).
 */
#include "tools/cli/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/cli/sort.h"

void tsr_tally_add_large(tsr_tally *tally, uint64_t value) {
  tsr_tally *t = tally;
  if (t->large_count == t->large_room) {
    const uint64_t room = t->large_room ? 2 * t->large_room : 1024;
    uint64_t *large = realloc(t->large, room * sizeof *large);
    t->has_failed = t->has_failed || !large;
    if (!large) return;
    t->large = large;
    t->large_room = room;
  }
  t->large[t->large_count++] = value;
}

void tsr_tally_move(tsr_tally *to, tsr_tally *from) {
  for (size_t value = 0; value < TSR_TALLY_SMALL; value++) to->small[value] += from->small[value];
  for (uint64_t i = 0; i < from->large_count; i++) tsr_tally_add_large(to, from->large[i]);
  to->has_failed = to->has_failed || from->has_failed;
  tsr_tally_end(from);
}

uint64_t tsr_tally_count(const tsr_tally *tally) {
  uint64_t count = tally->large_count;
  for (size_t value = 0; value < TSR_TALLY_SMALL; value++) count += tally->small[value];
  return count;
}

static void print(uint64_t value, uint64_t number) { printf("%" PRIu64 " %" PRIu64 "\n", value, number); }

tsr_status tsr_tally_print(tsr_tally *tally, uint64_t least, tsr_error *error) {
  uint64_t *spare = malloc((tally->large_count + 1) * sizeof *spare);
  if (!spare || tally->has_failed) {
    free(spare);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a histogram");
  }
  for (uint64_t value = least; value < TSR_TALLY_SMALL; value++)
    if (tally->small[value]) print(value, tally->small[value]);
  const uint64_t *sorted = tally->large_count ? tsr_sort(tally->large, spare, tally->large_count, 1, 0) : spare;
  for (uint64_t i = 0, end; i < tally->large_count; i = end) {
    for (end = i + 1; end < tally->large_count && sorted[end] == sorted[i]; end++) continue;
    if (sorted[i] >= least) print(sorted[i], end - i);
  }
  free(spare);
  return TSR_OK;
}

void tsr_tally_end(tsr_tally *tally) {
  if (!tally) return;
  free(tally->large);
  memset(tally, 0, sizeof *tally);
}
