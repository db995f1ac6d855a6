/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of 128 bits as numbers (key_numbers.h).
 */
#include "tools/cli/key_numbers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 16 };

tsr_status tsr_key_numbers_open(const tsr_spec *spec, const char *plugins, tsr_key_numbers *numbers, tsr_error *error) {
  static const char *const place[] = {"backend", "device"};
  const tsr_options options = {.plugins = plugins, .capacity = 1 << 16};
  tsr_spec *own = NULL;
  tsr_status status = tsr_spec_read("wide_keys_index", &own, error);
  for (size_t i = 0; status == TSR_OK && i < sizeof place / sizeof place[0]; i++) {
    const char *said = tsr_spec_get(spec, "table", place[i]);
    char entry[256];
    snprintf(entry, sizeof entry, "table.%s=%s", place[i], said ? said : "");
    if (said) status = tsr_spec_set(own, entry, error);
  }
  if (status == TSR_OK) status = tsr_table_create(own, &options, &numbers->index, error);
  tsr_spec_free(own);
  return status;
}

void tsr_key_numbers_close(tsr_key_numbers *numbers) {
  tsr_table_destroy(numbers->index);
  free(numbers->numbers);
  free(numbers->keys);
  *numbers = (tsr_key_numbers){.index = NULL};
}

tsr_status tsr_key_numbers_of(tsr_key_numbers *numbers, uint64_t n, const void *keys, const void **of,
                              tsr_error *error) {
  if (n > numbers->room) {
    uint32_t *more = realloc(numbers->numbers, n * sizeof *more);
    if (!more) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the numbers of %llu keys", (unsigned long long)n);
    numbers->numbers = more;
    numbers->room = n;
  }
  *of = numbers->numbers;
  return tsr_number(numbers->index, n, keys, numbers->numbers, NULL, error);
}

tsr_status tsr_key_numbers_replace(tsr_key_numbers *numbers, uint64_t n, void **array, tsr_error *error) {
  uint64_t given = 0;
  tsr_status status = tsr_numbers_given(numbers->index, &given, error);
  if (status == TSR_OK && !numbers->keys) {
    numbers->keys = malloc((given + 1) * KEY_BYTES);
    status = numbers->keys ? tsr_keys_by_number(numbers->index, 0, given, numbers->keys, NULL, error)
                           : tsr_fail(error, TSR_NO_MEMORY, "no memory for %llu keys", (unsigned long long)given);
  }
  char *wide = status ? NULL : malloc((n + 1) * KEY_BYTES);
  if (status) return status;
  if (!wide) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the keys of %llu rows", (unsigned long long)n);
  const uint32_t *narrow = *array;
  for (uint64_t i = 0; i < n; i++)
    memcpy(wide + i * KEY_BYTES, (const char *)numbers->keys + (size_t)narrow[i] * KEY_BYTES, KEY_BYTES);
  free(*array);
  *array = wide;
  return TSR_OK;
}
