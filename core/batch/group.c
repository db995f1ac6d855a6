/* SPDX-License-Identifier: Apache-2.0
 *
 * Spans of a batch (group.h). Why: ../design/0012-hot-keys.md.
 */
#include "core/batch/group.h"

#include "core/batch/order.h"

/* Enough for each multiprocessor of a large GPU. */
enum { SPANS = 512 };
static uint32_t span_log2(uint64_t n) {
  enum { LEAST = 13 };
  uint32_t log2 = LEAST;
  while (n >> log2 > SPANS) log2++;
  return log2;
}

static uint64_t spans_of(uint64_t n, uint32_t log2) { return ((n - 1) >> log2) + 1; }

static uint64_t lay_out_list(const tsr_shape *s, uint64_t n, char *memory, tsr_spans_step *p) {
  uint64_t used = 0;
  p->to.keys = tsr_work_take(memory, &used, n * (s->key_bits / 8));
  p->to.values = tsr_work_take(memory, &used, n * (s->payload_bits / 8));
  p->to.places = tsr_work_take(memory, &used, n * sizeof *p->to.places);
  return used;
}

/* tells: somebody wants answers for the pairs that are made. */
static uint64_t lay_out(const tsr_shape *s, uint64_t n, char *memory, bool tells, tsr_spans_step *p) {
  const uint64_t spans = (n >> p->piece_log2) + 1;
  uint64_t used = lay_out_list(s, n, memory, p);
  p->made = tsr_work_take(memory, &used, spans * sizeof *p->made);
  if (!tells) return used;
  p->parts = tsr_work_take(memory, &used, n * sizeof *p->parts);
  p->set_places = tsr_work_take(memory, &used, spans * TSR_SPAN_ROOM * sizeof *p->set_places);
  p->bulk.spans.results = tsr_work_take(memory, &used, n);
  p->bulk.spans.unplaced_keys = tsr_work_take(memory, &used, n * (s->key_bits / 8));
  p->bulk.spans.unplaced_values = tsr_work_take(memory, &used, n * (s->payload_bits / 8));
  return used;
}

tsr_status tsr_spans_make(const tsr_work *b, tsr_bulk *bulk, void **memory) {
  const tsr_shape *s = &b->store->composition->shape;
  const bool tells = tsr_wants_answers(bulk);
  const tsr_batch batch = tsr_store_batch(b->store, TSR_BULK_insert, bulk->n, tells);
  tsr_spans_step p = {.bulk = *bulk, .piece_log2 = span_log2(bulk->n)};
  *memory = NULL;
  if (!(tsr_plan_batch(b->store->composition, &batch).group & TSR_GROUP_SPANS)) return TSR_OK;
  if (b->backend->allocate_in(b->device, lay_out(s, bulk->n, NULL, tells, &p), b->stream, memory, NULL)) {
    *memory = NULL;
    return TSR_OK;
  }
  lay_out(s, bulk->n, *memory, tells, &p);
  bulk->spans = p.bulk.spans;
  bulk->spans.made = p.made;
  bulk->spans.keys = p.to.keys;
  bulk->spans.values = p.to.values;
  bulk->spans.counts = p.to.places;
  bulk->spans.log2 = p.piece_log2;
  return b->backend->step(b->device, b->store->code->program,
                          &tsr_pages_steps.step[tells ? TSR_PAGES_told_spans : TSR_PAGES_spans], &p,
                          spans_of(bulk->n, p.piece_log2), b->stream, b->error);
}

tsr_status tsr_spans_answer(const tsr_work *b, const tsr_bulk *bulk, void *memory) {
  tsr_spans_step p = {.bulk = *bulk, .piece_log2 = bulk->spans.log2};
  if (!bulk->spans.results) return TSR_OK;
  lay_out(&b->store->composition->shape, bulk->n, memory, true, &p);
  return b->backend->step(b->device, b->store->code->program, &tsr_pages_steps.step[TSR_PAGES_spans_answer], &p,
                          spans_of(bulk->n, p.piece_log2), b->stream, b->error);
}

/* How many pairs all spans of n items became. */
static tsr_status count_made(const tsr_work *b, const tsr_spans *spans, uint64_t n, uint64_t *made) {
  uint32_t of[SPANS + 1];
  const uint64_t count = spans_of(n, spans->log2), last = n - ((count - 1) << spans->log2);
  tsr_status status = b->backend->copy(b->device, of, spans->made, count * sizeof *of, b->stream, b->error);
  const tsr_status waited = b->backend->synchronize(b->device, b->stream, status ? NULL : b->error);
  if (status == TSR_OK) status = waited;
  *made = 0;
  for (uint64_t i = 0; i < count && status == TSR_OK; i++)
    *made += of[i] != TSR_AS_IT_CAME ? of[i] : i + 1 < count ? (uint64_t)1 << spans->log2 : last;
  return status;
}

/* For spans that are made of bulk. */
static tsr_status make_list(const tsr_work *b, const tsr_bulk *bulk, tsr_span_list *list) {
  tsr_spans_step p = {.bulk = *bulk};
  uint64_t made;
  tsr_status status = count_made(b, &bulk->spans, bulk->n, &made);
  if (status || made == bulk->n) return status;
  if (b->backend->allocate_in(b->device, lay_out_list(&b->store->composition->shape, made, NULL, &p), b->stream,
                              &list->memory, NULL)) {
    list->memory = NULL;
    return TSR_OK;
  }
  lay_out_list(&b->store->composition->shape, made, list->memory, &p);
  list->n = made;
  list->keys = p.to.keys;
  list->values = p.to.values;
  list->counts = p.to.places;
  return b->backend->step(b->device, b->store->code->program, &tsr_pages_steps.step[TSR_PAGES_spans_list], &p,
                          spans_of(bulk->n, bulk->spans.log2), b->stream, b->error);
}

tsr_status tsr_spans_list(const tsr_work *b, const tsr_bulk *bulk, tsr_span_list *list) {
  tsr_bulk batch = *bulk;
  void *memory;
  *list = (tsr_span_list){bulk->n, bulk->keys, bulk->values, NULL, NULL};
  tsr_status status = tsr_spans_make(b, &batch, &memory);
  if (!memory) return status;
  if (status == TSR_OK) status = make_list(b, &batch, list);
  const tsr_status freed = b->backend->free_in(b->device, memory, b->stream, status ? NULL : b->error);
  return status ? status : freed;
}
