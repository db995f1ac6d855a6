/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of value lists (value_list.h).
 */
#include "core/compose/value_list.h"

#include <math.h>

/* An allocator that gives few units at once gives them from the rest of a group of this many (allocator.cuh, memory
 * blocks). A run of a quarter of the group leaves at most a quarter unused. */
enum { AT_ONCE_SHARE = 4 };

bool tsr_has_value_lists(const tsr_settings *settings) { return settings->values.kind == TSR_VALUES_BUCKETS; }

tsr_value_list tsr_value_list_of(const tsr_settings *settings, const tsr_shape *s) {
  tsr_value_list list = {.first = (uint32_t)settings->values.first,
                         .growth = (uint32_t)lround(ldexp(settings->values.growth, TSR_VALUE_LIST_GROWTH_BITS)),
                         .units_max = s->units_at_once,
                         .unit_values = s->unit_bytes / (s->value_bits / 8)};
  const uint32_t least = tsr_value_list_units(list, list.first + 1);
  list.units_max = s->units_at_once / AT_ONCE_SHARE ? s->units_at_once / AT_ONCE_SHARE : 1;
  const uint32_t most = tsr_value_list_units(list, TSR_VALUE_LIST_RUN_VALUES);
  list.units_max = least > most ? least : most;
  return list;
}

/* U(N), the units of a list of N values, is at most a + b N for all N, where a is the largest U(N) - b N. That is
 * among the lists whose newest run has one value. So keys x a + values x b units are enough for any b that is not
 * less than what a value takes in the longest runs. The least of these bounds is taken. */
static uint64_t room_of(tsr_value_list list, uint64_t keys, uint64_t values) {
  double values_of[TSR_VALUE_LIST_STEPS + 2], units_of[TSR_VALUE_LIST_STEPS + 2],
      best = (double)values * list.units_max;
  uint32_t count = 0;
  tsr_value_list_run run = tsr_value_list_run_of(list, 0);
  for (; count < TSR_VALUE_LIST_STEPS + 2; count++) {
    values_of[count] = (double)run.begin + 1;
    units_of[count] = (double)run.before + run.units;
    run = tsr_value_list_run_of(list, run.begin + run.values);
  }
  const double least = (double)run.units / run.values; /* all later runs are as this one */
  for (uint32_t i = 0; i < 2 * count; i++) {
    const uint32_t j = i / 2, last = j ? j - 1 : 0;
    const double rise = j ? (units_of[j] - units_of[last]) / (values_of[j] - values_of[last]) : least;
    double slope = i % 2 ? rise : units_of[j] / values_of[j], base = 0;
    if (slope < least) slope = least;
    for (uint32_t k = 0; k < count; k++) base = fmax(base, units_of[k] - slope * values_of[k]);
    best = fmin(best, (double)keys * base + (double)values * slope);
  }
  return (uint64_t)ceil(best * (1 + 1e-12));
}

uint64_t tsr_value_list_pool(const tsr_settings *settings, const tsr_shape *s) {
  const tsr_value_list list = tsr_value_list_of(settings, s);
  const double group = s->units_at_once, used = group - list.units_max + 1;
  return (uint64_t)ceil((double)room_of(list, tsr_value_list_keys(settings), s->capacity) * group / used);
}

uint64_t tsr_value_list_keys(const tsr_settings *settings) {
  const uint64_t values = settings->values.per_key;
  return (settings->capacity + values - 1) / values;
}
