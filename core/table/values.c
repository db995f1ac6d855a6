/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in slots (values.h): the store has all of them. Those in rows are in wide.c.
 */
#include "core/table/values.h"

static tsr_status reserve(tsr_table *t, uint64_t count, tsr_error *error) {
  (void)t, (void)count, (void)error;
  return TSR_OK;
}

static void ignore(tsr_table *t) { (void)t; }

static tsr_status do_nothing(tsr_table *t, void *stream, tsr_error *error) {
  (void)t, (void)stream, (void)error;
  return TSR_OK;
}

static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_operation *narrow, tsr_error *error) {
  return narrow(t, r, error);
}

static tsr_status copy(tsr_table *to, const tsr_table *from, tsr_error *error) {
  (void)to, (void)from, (void)error;
  return TSR_OK;
}

static uint64_t none(const tsr_table *t) {
  (void)t;
  return 0;
}

static void see_nothing(const tsr_table *t, tsr_user_table *seen) { (void)t, (void)seen; }

static void describe_nothing(const tsr_composition *c, FILE *out) { (void)c, (void)out; }

const tsr_values tsr_values_in_slots = {.reserve = reserve,
                                        .free = ignore,
                                        .clear = do_nothing,
                                        .note_erased = ignore,
                                        .operate = operate,
                                        .copy = copy,
                                        .open = do_nothing,
                                        .view = see_nothing,
                                        .describe = describe_nothing,
                                        .bytes = none,
                                        .memory = none};

const tsr_values *tsr_values_of(const tsr_composition *c) {
  return c->settings.value_bytes ? &tsr_values_in_rows : &tsr_values_in_slots;
}
