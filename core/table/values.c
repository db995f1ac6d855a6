/* SPDX-License-Identifier: Apache-2.0
 *
 * Values in slots (values.h): the store has all of them. Those in rows are in wide.c.
 */
#include "core/table/values.h"

#include "core/table/launch.h"

static tsr_status reserve(tsr_table *t, uint64_t count, tsr_error *error) {
  (void)t, (void)count, (void)error;
  return TSR_OK;
}

static void ignore(tsr_table *t) { (void)t; }

static tsr_status do_nothing(tsr_table *t, void *stream, tsr_error *error) {
  (void)t, (void)stream, (void)error;
  return TSR_OK;
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
                                        .copy = copy,
                                        .open = do_nothing,
                                        .view = see_nothing,
                                        .describe = describe_nothing,
                                        .bytes = none,
                                        .memory = none};

const tsr_values *tsr_values_of(const tsr_composition *c) {
  if (c->settings.kind == TSR_KIND_INDEX) return &tsr_values_are_numbers;
  return c->settings.value_bytes ? &tsr_values_in_rows : &tsr_values_in_slots;
}

tsr_status tsr_take_held(tsr_table *t, tsr_held *held, void *stream, tsr_error *error) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_tally tally = {.hits = 0};
  void *memory = NULL;
  tsr_status status = TSR_OK;
  *held = (tsr_held){.pairs = 0};
  if (!t->store.is_clear) status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &tally, error);
  if (status || tally.hits == 0) return status;
  const uint64_t keys_begin = (tally.hits + 3) / 4 * 4 * sizeof(uint32_t); /* where 128 bits are aligned */
  status = t->backend->allocate_in(t->device, keys_begin + tally.hits * key_bytes, stream, &memory, error);
  if (status) return status;
  *held = (tsr_held){.pairs = tally.hits, .numbers = memory, .keys = (char *)memory + keys_begin};
  bulk.values_out = held->numbers;
  bulk.keys_out = held->keys;
  return tsr_launch_alone(t, &t->store, TSR_BULK_export, &bulk, stream, &tally, error);
}
