// SPDX-License-Identifier: Apache-2.0
//
// The bounds of statistical tests: how far chance alone takes a count, but for a stated probability. A test names the
// probability with which it may fail though all is right, instead of a bound that somebody guessed. Read next: random.h.
#ifndef TSR_TESTS_CHANCE_H
#define TSR_TESTS_CHANCE_H

#include <cmath>
#include <cstdint>

namespace tessera_test {

// Of one comparison. A test that makes fewer than 10 000 of them fails by chance less than once in 10^6 runs.
constexpr double kError = 1e-10;

// P(exactly k of n), each with probability p.
inline double binomial(uint64_t n, double p, uint64_t k) {
  if (p <= 0 || p >= 1) return k == (p <= 0 ? 0 : n) ? 1 : 0;
  const double of = static_cast<double>(n), that = static_cast<double>(k);
  return std::exp(std::lgamma(of + 1) - std::lgamma(that + 1) - std::lgamma(of - that + 1) + that * std::log(p) +
                  (of - that) * std::log1p(-p));
}

// The largest k such that fewer than k of n come up with a probability of at most `error`.
inline uint64_t fewest_of(uint64_t n, double p, double error = kError) {
  uint64_t k = 0;
  for (double below = binomial(n, p, 0); k < n && below <= error; below += binomial(n, p, k)) k++;
  return k;
}

// The smallest k such that more than k of n come up with a probability of at most `error`.
inline uint64_t most_of(uint64_t n, double p, double error = kError) { return n - fewest_of(n, 1 - p, error); }

// Standard deviations of a normal variable for a chi-square of that many degrees of freedom (Wilson and Hilferty 1931):
// its own upper tail is much heavier than the normal one where the degrees are few.
inline double deviations_of_chi_square(double chi_square, double freedom) {
  const double variance = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - variance)) / std::sqrt(variance);
}

// P(a normal variable exceeds 6.4 standard deviations) = 8e-11.
constexpr double kDeviations = 6.4;

} // namespace tessera_test

#endif
