/* SPDX-License-Identifier: Apache-2.0
 *
 * A user's program: builds with what pkg-config says of an installed copy, and finds the plugins beside the library.
 */
#include <stdio.h>

#include <tessera.h>

static const char text[] = "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\ncapacity = 100\nlayout = packed\n"
                           "probing = cuckoo\nhasher = murmur3\nbackend = cpu\n";

int main(void) {
  const uint32_t keys[] = {7, 42, 0xFFFFFFFFu, 5}, values[] = {70, 420, 1};
  uint32_t found[4] = {0};
  const tsr_call call = {.missing = 9};
  tsr_spec *spec = NULL;
  tsr_table *table = NULL;
  tsr_error error;
  tsr_status status = tsr_spec_parse(text, "program", &spec, &error);
  if (status == TSR_OK) status = tsr_table_create(spec, NULL, &table, &error);
  if (status == TSR_OK) status = tsr_insert(table, 3, keys, values, NULL, &error);
  if (status == TSR_OK) status = tsr_find(table, 4, keys, found, &call, &error);
  if (status == TSR_OK) printf("%u %u %u %u\n", found[0], found[1], found[2], found[3]);
  if (status) fprintf(stderr, "%s\n", error.message);
  tsr_table_destroy(table);
  tsr_spec_free(spec);
  return status != TSR_OK;
}
