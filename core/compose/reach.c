/* SPDX-License-Identifier: Apache-2.0
 *
 * How full the less loaded of several buckets get (reach.h). Where nothing moves, the facts choices and first_slots
 * say where every pair goes. So the shares of buckets with k pairs or more follow differential equations, to which
 * large tables keep closely (M. Mitzenmacher, "The power of two choices in randomized load balancing", 1996). Up to
 * the load that is sought a pair without a place is rare, so the number of such pairs has a Poisson distribution.
 */
#include "core/compose/reach.h"

enum { SLOTS_MAX = 32, STEPS = 64 /* of one more pair a bucket */ };

static const double UNPLACED_MAX = 0.01; /* that a table may have on average: then 99 of 100 have none */

/* Of a whole exponent, which is small here: pow() would take more time than the rebuild of a table that grows. */
static double power(double base, uint32_t exponent) {
  double product = 1;
  while (exponent--) product *= base;
  return product;
}

/* A pair that comes now: how `shares` of buckets with at least k pairs, k = 0 .. slots, change by it. Returns the
 * probability that it finds no place. */
static double place_one(const tsr_shape *s, const double *shares, double *change) {
  const uint32_t d = s->choices;
  const double slots_full = shares[s->bucket_slots], all_full = power(slots_full, d);
  const double asks = s->first_slots ? shares[s->first_slots] : 1; /* P(it goes on to the choices) */
  double fewer = 1;                                                /* P(all choices have k - 1 pairs or more) */
  for (uint32_t k = 1; k <= s->bucket_slots; k++) {
    const double more = power(shares[k], d);
    const double first = shares[k - 1] - shares[k]; /* P(the first bucket has k - 1 pairs) */
    change[k] = asks * (fewer - more);
    fewer = more;
    if (s->first_slots)
      change[k] += k <= s->first_slots ? first : all_full * first; /* at last the first one after all */
  }
  return s->first_slots ? slots_full * all_full : all_full;
}

double tsr_reached_load(const tsr_shape *s) {
  double shares[SLOTS_MAX + 1] = {1}, middle[SLOTS_MAX + 1] = {1}, change[SLOTS_MAX + 1], unplaced = 0;
  const double step = 1.0 / STEPS;
  if (!s->choices || s->ordered || s->moves_pairs || s->holds_many || s->bucket_slots > SLOTS_MAX ||
      s->first_slots > s->bucket_slots)
    return 1;
  for (uint32_t i = 1; i <= s->bucket_slots * STEPS; i++) {
    const double pairs = i * step; /* of a bucket, on average */
    (void)place_one(s, shares, change);
    for (uint32_t k = 1; k <= s->bucket_slots; k++) middle[k] = shares[k] + step / 2 * change[k];
    unplaced += step * place_one(s, middle, change);
    if ((double)s->capacity / pairs * unplaced > UNPLACED_MAX) return (pairs - step) / s->bucket_slots;
    for (uint32_t k = 1; k <= s->bucket_slots; k++) shares[k] += step * change[k];
  }
  return 1;
}
