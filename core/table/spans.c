/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans of a batch (spans.h). Why: ../design/0012-hot-keys.md.
 */
#include "core/table/spans.h"

#include "core/table/partition.h"

/* So many that each multiprocessor of a large GPU has some at a time. */
static uint32_t span_log2(uint64_t n) {
  enum { SPANS = 512, LEAST = 13 };
  uint32_t log2 = LEAST;
  while (n >> log2 > SPANS) log2++;
  return log2;
}

static uint64_t lay_out(const tsr_shape *s, uint64_t n, char *memory, tsr_pages *p) {
  uint64_t used = 0;
  p->keys_to = tsr_partition_take(memory, &used, n * (s->key_bits / 8));
  p->values_to = tsr_partition_take(memory, &used, n * (s->payload_bits / 8));
  p->places_to = tsr_partition_take(memory, &used, n * sizeof *p->places_to);
  p->distinct = tsr_partition_take(memory, &used, ((n >> p->piece_log2) + 1) * sizeof *p->distinct);
  return used;
}

tsr_status tsr_spans_make(const tsr_table *t, tsr_bulk *bulk, void *stream, void **memory, tsr_error *error) {
  static const uint64_t least = 1u << 20;
  const tsr_shape *s = &t->store.composition->shape;
  tsr_pages p = {.bulk = *bulk, .piece_log2 = span_log2(bulk->n)};
  *memory = NULL;
  if (!tsr_composition_has_step(t->store.composition, TSR_PAGES_spans) || bulk->n < least || t->store.is_captured ||
      bulk->results || bulk->unplaced_keys || bulk->unplaced_values)
    return TSR_OK;
  if (t->backend->allocate_in(t->device, lay_out(s, bulk->n, NULL, &p), stream, memory, NULL)) {
    *memory = NULL;
    return TSR_OK;
  }
  lay_out(s, bulk->n, *memory, &p);
  bulk->spans = (tsr_spans){p.distinct, p.keys_to, p.values_to, p.places_to, p.piece_log2};
  const uint64_t spans = ((bulk->n - 1) >> p.piece_log2) + 1;
  return t->backend->page(t->store.code->program, TSR_PAGES_spans, &p, spans, stream, error);
}
