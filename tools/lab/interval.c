/* SPDX-License-Identifier: Apache-2.0
 *
 * The bootstrap (interval.h).
 */
#include "tools/lab/interval.h"

#include <stdint.h>
#include <stdlib.h>

#include "tools/lab/bench_rows.h"
#include "tools/lab/keys.h"

enum { DRAWS = 10000, TAIL = DRAWS / 40 /* 2.5 % */ };

bool tsr_interval_of_median(const double *samples, size_t count, double *low, double *high) {
  if (count < TSR_INTERVAL_SAMPLES_MIN) return false;
  double *medians = malloc(DRAWS * sizeof *medians), *drawn = malloc(count * sizeof *drawn);
  uint64_t number = 0;
  for (size_t i = 0; medians && drawn && i < DRAWS; i++) {
    for (size_t k = 0; k < count; k++) drawn[k] = samples[tsr_keys_mix(64, number++) % count];
    medians[i] = tsr_bench_median(drawn, count);
  }
  const bool is_made = medians && drawn;
  if (is_made) {
    tsr_bench_median(medians, DRAWS); /* sorts them */
    *low = medians[TAIL];
    *high = medians[DRAWS - 1 - TAIL];
  }
  free(medians);
  free(drawn);
  return is_made;
}

bool tsr_ratio_of(const double *one, const double *other, size_t count, tsr_ratio *ratio) {
  double *each = count ? malloc(count * sizeof *each) : NULL;
  if (!each) return false;
  for (size_t i = 0; i < count; i++) each[i] = one[i] / other[i];
  *ratio = (tsr_ratio){.median = tsr_bench_median(each, count)}; /* sorts them */
  ratio->least = each[0];
  ratio->most = each[count - 1];
  ratio->has_interval = tsr_interval_of_median(each, count, &ratio->low, &ratio->high);
  free(each);
  return true;
}
