/* SPDX-License-Identifier: Apache-2.0
 *
 * The values of a table as the host sees them: what its slots hold, or rows whose numbers its slots hold (wide.h).
 * Both kinds have the same functions, and the kind is chosen by a fact when the table is made. Values in lists are
 * in the store; only kernels know them (../kernels/value.cuh).
 */
#ifndef TSR_TABLE_VALUES_H
#define TSR_TABLE_VALUES_H

#include <stdio.h>

#include "core/compose/user_code.h"
#include "core/table/stage.h"

#define TSR_HELD_NONE UINT32_MAX /* what stands for a slot's number of a pair that is missing */

/* What a file holds of the values behind the regions of the store. */
typedef struct tsr_saved_values {
  const char *name;
  uint64_t (*bytes)(const tsr_table *table); /* at the least, also before there is memory */
  /* Whether a file may have that many bytes, where the table has had more slots. */
  bool (*may_be)(const tsr_table *table, uint64_t bytes);
  /* Makes memory of that many bytes, which are then read into it. */
  tsr_status (*make)(tsr_table *table, uint64_t bytes, tsr_error *error);
  void *(*memory)(const tsr_table *table);
  /* After that. Fails where they are not those of the table's pairs. Waits. */
  tsr_status (*check)(tsr_table *table, uint64_t pairs, tsr_error *error);
  const char *damage; /* what is wrong then, a phrase */
} tsr_saved_values;

enum { TSR_VALUE_SETS_MAX = 2 };

struct tsr_values {
  bool are_apart; /* slots hold numbers of 32 bits, and `read` says what they stand for */
  /* Makes memory for `count` values, and for as many as the store needs; those that are there stay. Waits. */
  tsr_status (*reserve)(tsr_table *table, uint64_t count, tsr_error *error);
  void (*free)(tsr_table *table);
  /* After the store was cleared. pre: the table is entered alone. */
  tsr_status (*clear)(tsr_table *table, void *stream, tsr_error *error);
  void (*note_erased)(tsr_table *table); /* or that pairs will be erased */
  /* Does what is asked for, with all arrays on the device. narrow: does requests for what slots hold. NULL: narrow does
   * all of it. */
  tsr_status (*operate)(tsr_table *table, const tsr_request *request, tsr_operation *narrow, tsr_error *error);
  /* The values of `size` pairs whose slots hold `held`, in device memory; TSR_HELD_NONE: `missing`. values:
   * anywhere. Waits. NULL unless they are apart. */
  tsr_status (*read)(tsr_table *table, uint64_t size, void *held, void *values, uint64_t missing, tsr_error *error);
  /* Makes the values of `to`, whose slots hold what those of `from` do. Enqueues to the default stream. */
  tsr_status (*copy)(tsr_table *to, const tsr_table *from, tsr_error *error);
  /* Lets user kernels insert. Waits if bulk calls have inserted, or pairs were erased, since the last time. */
  tsr_status (*open)(tsr_table *table, void *stream, tsr_error *error);
  /* Fills in where such a kernel finds the values that are outside the store. */
  void (*view)(const tsr_table *table, tsr_user_table *seen);
  void (*describe)(const tsr_composition *composition, FILE *out); /* the memory of values outside the store */
  uint64_t (*bytes)(const tsr_table *table);                       /* of values outside the store */
  uint64_t (*memory)(const tsr_table *table);                      /* that and what is kept about them */
  const tsr_saved_values *saved;                                   /* NULL: nothing is outside the store */
  /* What `operate` needs for an operation in addition to it: operations of the table, and sets of steps, where it needs
   * any. NULL: nothing. */
  const uint32_t *(*further)(uint32_t op, uint32_t *count);
  const tsr_steps *sets[TSR_VALUE_SETS_MAX];
};

extern const tsr_values tsr_values_in_slots, tsr_values_in_rows, tsr_values_are_numbers;
const tsr_values *tsr_values_of(const tsr_composition *composition);

/* Of all pairs, what slots of 32-bit values hold and the keys. In memory of the stream's, which the caller frees if it is
 * not NULL. */
typedef struct tsr_held {
  uint64_t pairs;
  uint32_t *numbers; /* the memory begins with them */
  void *keys;
} tsr_held;
/* Pre: the table is entered alone. Waits. */
tsr_status tsr_take_held(tsr_table *table, tsr_held *held, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif
