/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs without a slot (unplaced.h).
 */
#include "core/cli/unplaced.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/cli/rows.h"

static bool grow(void **array, uint64_t items, uint32_t bits) {
  if (!bits) return true;
  void *more = realloc(*array, items * (bits / 8));
  if (more) *array = more;
  return more != NULL;
}

tsr_status tsr_unplaced_take(tsr_unplaced *u, uint64_t added, uint64_t n, const uint8_t *codes, const void *keys,
                             const void *values, tsr_error *error) {
  const size_t key_bytes = u->key_bits / 8, value_bytes = u->value_bits / 8;
  if (!added) return TSR_OK;
  if (!grow(&u->keys, u->count + added, u->key_bits) || !grow(&u->values, u->count + added, u->value_bits))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory to list %" PRIu64 " pairs that found no room", u->count + added);
  for (uint64_t i = 0, left = added; left && i < n; i++) {
    if (codes[i] != TSR_NOT_PLACED) continue;
    memcpy((char *)u->keys + u->count * key_bytes, (const char *)keys + i * key_bytes, key_bytes);
    if (value_bytes)
      memcpy((char *)u->values + u->count * value_bytes, (const char *)values + i * value_bytes, value_bytes);
    u->count++;
    left--;
  }
  return TSR_OK;
}

tsr_status tsr_unplaced_write(const tsr_unplaced *u, const char *path, tsr_error *error) {
  const tsr_rows pairs = {
      .keys = u->keys, .values = u->values, .count = u->count, .key_bits = u->key_bits, .value_bits = u->value_bits};
  return tsr_rows_write(path, &pairs, 1, error);
}

void tsr_unplaced_free(tsr_unplaced *u) {
  free(u->keys);
  free(u->values);
  *u = (tsr_unplaced){.count = 0};
}
