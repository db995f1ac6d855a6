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

/* told: the answers for the pairs that are made; NULL: nobody wants answers. */
static uint64_t lay_out(const tsr_shape *s, uint64_t n, char *memory, tsr_spans_step *p, tsr_bulk *told) {
  const uint64_t spans = (n >> p->piece_log2) + 1;
  uint64_t used = lay_out_list(s, n, memory, p);
  p->made = tsr_work_take(memory, &used, spans * sizeof *p->made);
  if (!told) return used;
  p->parts = tsr_work_take(memory, &used, n * sizeof *p->parts);
  p->set_places = tsr_work_take(memory, &used, spans * TSR_SPAN_ROOM * sizeof *p->set_places);
  told->results = tsr_work_take(memory, &used, n);
  told->unplaced_keys = tsr_work_take(memory, &used, n * (s->key_bits / 8));
  told->unplaced_values = tsr_work_take(memory, &used, n * (s->payload_bits / 8));
  return used;
}

tsr_status tsr_spans_make(const tsr_work *b, tsr_bulk *bulk, void **memory) {
  const tsr_shape *s = &b->store->composition->shape;
  const bool tells = tsr_wants_answers(bulk);
  const tsr_batch batch = tsr_store_batch(b->store, TSR_BULK_insert, bulk->n, tells);
  tsr_spans_step p = {.bulk = *bulk, .piece_log2 = span_log2(bulk->n)};
  tsr_bulk told = *bulk;
  *memory = NULL;
  if (!(tsr_plan_batch(b->store->composition, &batch).group & TSR_GROUP_SPANS)) return TSR_OK;
  if (b->backend->allocate_in(b->device, lay_out(s, bulk->n, NULL, &p, tells ? &told : NULL), b->stream, memory,
                              NULL)) {
    *memory = NULL;
    return TSR_OK;
  }
  lay_out(s, bulk->n, *memory, &p, tells ? &told : NULL);
  *bulk = told;
  bulk->spans = (tsr_spans){p.made, p.to.keys, p.to.values, p.to.places, p.piece_log2};
  return b->backend->step(b->device, b->store->code->program,
                          &tsr_pages_steps.step[tells ? TSR_PAGES_told_spans : TSR_PAGES_spans], &p,
                          spans_of(bulk->n, p.piece_log2), b->stream, b->error);
}

tsr_status tsr_spans_answer(const tsr_work *b, const tsr_bulk *bulk, const tsr_bulk *made, void *memory) {
  tsr_spans_step p = {.bulk = *made,
                      .piece_log2 = made->spans.log2,
                      .results = bulk->results,
                      .unplaced_keys = bulk->unplaced_keys,
                      .unplaced_values = bulk->unplaced_values};
  if (!tsr_wants_answers(bulk)) return TSR_OK;
  lay_out(&b->store->composition->shape, bulk->n, memory, &p, &p.bulk);
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
