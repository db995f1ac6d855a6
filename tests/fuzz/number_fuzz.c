/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers and near names. What a number is read as, written in decimal, must read as the same.
 */
#include "core/spec/number.h"

#include <inttypes.h>
#include <math.h>

#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char *const names[] = {"capacity", "load_factor", "kind", "hash_functions", ""};
  char *text = fuzz_text(bytes, size), decimal[32];
  uint64_t number = 77, again = 0;
  double real = 0.5, same = 0;
  if (tsr_parse_u64(text, &number)) {
    snprintf(decimal, sizeof decimal, "%" PRIu64, number);
    FUZZ_CHECK(tsr_parse_u64(decimal, &again) && again == number);
  } else {
    FUZZ_CHECK(number == 77);
  }
  if (tsr_parse_double(text, &real)) {
    FUZZ_CHECK(isfinite(real) && real >= 0);
    snprintf(decimal, sizeof decimal, "%.17g", real);
    FUZZ_CHECK(strchr(decimal, '+') || (tsr_parse_double(decimal, &same) && !(same < real) && !(same > real)));
  } else {
    FUZZ_CHECK(!(real < 0.5) && !(real > 0.5));
  }
  const char *nearest = tsr_nearest(text, names, sizeof names / sizeof names[0]);
  for (size_t i = 0; nearest && i < sizeof names / sizeof names[0]; i++)
    if (nearest == names[i]) nearest = NULL;
  FUZZ_CHECK(!nearest);
  free(text);
  return 0;
}
