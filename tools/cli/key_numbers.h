/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys of 128 bits as numbers of 32 bits, for what takes no such keys: `join` joins tables of these numbers. An index gives
 * them and has the keys. Read next: join_command.c.
 */
#ifndef TSR_KEY_NUMBERS_H
#define TSR_KEY_NUMBERS_H

#include "core/tessera_tools.h"

typedef struct tsr_key_numbers {
  tsr_table *index;  /* NULL: keys are taken as they are */
  uint32_t *numbers; /* of the last keys */
  uint64_t room;
  void *keys; /* all of them, by number; NULL: not yet asked for */
} tsr_key_numbers;

/* Makes the index on the device of a table of `spec`. The caller closes, on failure too. */
TSR_MUST_CHECK tsr_status tsr_key_numbers_open(const tsr_spec *spec, const char *plugins, tsr_key_numbers *numbers,
                                               tsr_error *error);
void tsr_key_numbers_close(tsr_key_numbers *numbers);

/* The numbers of n keys, valid until the next call. New keys get new numbers. */
TSR_MUST_CHECK tsr_status tsr_key_numbers_of(tsr_key_numbers *numbers, uint64_t n, const void *keys, const void **of,
                                             tsr_error *error);
/* Puts keys of 16 bytes in the place of n numbers: *array is freed, and made anew. */
TSR_MUST_CHECK tsr_status tsr_key_numbers_replace(tsr_key_numbers *numbers, uint64_t n, void **array, tsr_error *error);

#endif
