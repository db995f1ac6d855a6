/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of an index (free_numbers.h).
 */
#include "core/table/free_numbers.h"

bool tsr_evicts(const tsr_table *t) { return t->store.composition->settings.numbers.scores != TSR_SCORES_NONE; }

/* Behind the list, where 64 bits are aligned, and behind the clock. */
uint64_t *tsr_scores_in(const tsr_table *t, tsr_free_numbers *memory, uint64_t room) {
  if (!tsr_evicts(t)) return NULL;
  return (uint64_t *)(memory + 1) + (room + 1) / 2 + 1;
}

void *tsr_rows_in(const tsr_table *t, tsr_free_numbers *memory, uint64_t room) {
  const tsr_composition *c = t->store.composition;
  return c->settings.numbers.row_bytes ? (char *)memory + tsr_composition_rows_begin(c, room) : NULL;
}

tsr_status tsr_numbering_step(const tsr_table *t, uint32_t which, const tsr_numbering_run *run, void *stream,
                              tsr_error *error) {
  tsr_numbering_run whole = *run;
  whole.all = t->numbering.all;
  whole.scores = tsr_scores_in(t, whole.all, t->numbering.room);
  return t->backend->step(t->device, NULL, &tsr_numbering_steps.step[tsr_numbering_for(which, run->key_bytes)], &whole,
                          run->n, stream, error);
}

tsr_status tsr_read_free_numbers(tsr_table *t, tsr_free_numbers *numbers, void *stream, tsr_error *error) {
  tsr_status status = t->backend->copy(t->device, numbers, t->numbering.all, sizeof *numbers, stream, error);
  return status ? status : t->backend->synchronize(t->device, stream, error);
}
