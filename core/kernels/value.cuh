/* SPDX-License-Identifier: Apache-2.0
 *
 * What a key's values are to the bulk operations (ops.cuh): one in the slot of its key, or all of a key in a list of
 * its slot (values = buckets, value_list.cuh). Both kinds have the same functions, slot_value_ and list_value_, and VALUE
 * chooses by a fact. The rows of value_bytes are a layer above: to a kernel a row's number is a value in a slot.
 *
 *   look_up             walks to the item's key: its result, and for OP_COUNT and OP_NOTE its pairs
 *   find                the same; returns the value to hand out, or a->missing
 *   put, put_unplaced, put_note   write to the caller's arrays, and for retrieve
 *   is_noted            whether retrieve needs no walk for item i
 *   insert, retrieve    the operations of bulk.h for item i; those of values in slots are in ops.cuh
 *   release             after OP_ERASE: what the key had outside its slot
 *   count, export       the pairs of slots of a bucket, for scans; *hits: pairs that are not counted with their places
 */
#ifndef TSR_VALUE_CUH
#define TSR_VALUE_CUH

#include "core/kernels/bulk.h"
#include "core/kernels/value_list.cuh"

#define VALUE(c, function, ...)                                                                                        \
  (HAS_VALUE_LISTS(c) ? list_value_##function(__VA_ARGS__) : slot_value_##function(__VA_ARGS__))

/* ---- In slots -------------------------------------------------------------------------------- */

TSR_INLINE void slot_value_look_up(const tsr_ctx *c, tsr_item *item, uint32_t mine, uint32_t kind) {
  look_up(c, item, mine, kind);
}

TSR_INLINE uint64_t slot_value_find(const tsr_ctx *c, const tsr_bulk *a, tsr_item *item, uint32_t mine) {
  item->payload = (tsr_payload)a->missing;
  look_up(c, item, mine, OP_FIND);
  return item->payload;
}

TSR_INLINE void slot_value_put(const tsr_ctx *c, void *values, uint64_t i, uint64_t value) {
  (void)c;
  io_put_payload(values, i, (tsr_payload)value);
}

TSR_INLINE void slot_value_put_unplaced(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, const tsr_item *item,
                                        void *values) {
  (void)c, (void)a;
  io_put_payload(values, i, item->payload);
}

TSR_INLINE void slot_value_put_note(const tsr_bulk *a, uint64_t i, const tsr_item *item) {
  if (item->pairs == 1) io_put_payload(a->values_out, i, item->payload);
}

TSR_INLINE uint32_t slot_value_is_noted(const tsr_bulk *a, uint64_t i) {
  return a->values && a->counts[i + 1] - a->counts[i] <= 1;
}

TSR_INLINE void slot_value_release(const tsr_ctx *c, tsr_item *item) { (void)c, (void)item; }

TSR_INLINE uint32_t slot_value_count(const tsr_ctx *c, const tsr_bulk *a, uint64_t ref, uint32_t slots) {
  (void)c, (void)a, (void)ref;
  return tsr_count_bits(slots);
}

/* Where the next `pairs` pairs of this thread go, in an export that writes pairs one after another. On the device the
 * threads of a block take their places together: atomics on one address take turns, and one per bucket made an export
 * twenty times slower. All threads come here. Relaxed: nobody reads the pairs before the kernel's end. */
TSR_INLINE uint64_t export_places(const tsr_bulk *a, uint32_t pairs) {
#ifdef __CUDACC__
  __shared__ uint32_t sum;
  __shared__ uint64_t begin;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  const uint32_t before = pairs ? atomicAdd(&sum, pairs) : 0;
  __syncthreads();
  if (threadIdx.x == 0 && sum) begin = IO_ADD(&a->tally->hits, sum);
  __syncthreads();
  return begin + before;
#else
  return pairs ? IO_ADD(&a->tally->hits, pairs) : 0;
#endif
}

/* Collective, also over the block. */
TSR_INLINE void slot_value_export(const tsr_ctx *c, const tsr_bulk *a, tsr_bucket *b, uint64_t ref, uint32_t slots,
                                  uint32_t *hits) {
  const uint32_t written = c->lane == 0 ? tsr_count_bits(slots) : 0;
  const uint64_t next = export_places(a, a->in_place ? 0 : written);
  const uint64_t begin = a->in_place ? ref * TSR_FACT(c, bucket_slots) : next;
  if (a->in_place) *hits += written;
  for (uint32_t nth = 0; tsr_warp_any(c, slots); slots &= slots - 1, nth++) {
    const uint32_t slot = slots ? tsr_lowest(slots) : 0;
    const uint64_t at = begin + (a->in_place ? slot : nth);
    const tsr_key key = walk_user_key(c, ref, slot, layout_key(c, b, slot));
    const tsr_payload payload = layout_payload(c, b, slot);
    if (c->lane != 0 || !slots) continue;
    io_put_key(a->keys_out, at, key);
    io_put_payload(a->values_out, at, payload);
  }
}

/* ---- In lists -------------------------------------------------------------------------------- */

/* item->at: the list. A key whose list is empty is absent. */
TSR_INLINE void list_value_look_up(const tsr_ctx *c, tsr_item *item, uint32_t mine, uint32_t kind) {
  (void)kind;
  look_up(c, item, mine, OP_LOCATE);
  item->at = value_list_of(c, item->at, mine && item->result == TSR_RESULT_FOUND);
  item->pairs = value_list_count(item->at);
  item->result = item->pairs ? TSR_RESULT_FOUND : TSR_RESULT_NONE;
}

/* The newest one. */
TSR_INLINE uint64_t list_value_find(const tsr_ctx *c, const tsr_bulk *a, tsr_item *item, uint32_t mine) {
  list_value_look_up(c, item, mine, OP_FIND);
  const uint32_t count = value_list_count(item->at), last = count ? count - 1 : 0;
  const tsr_value_list_run run = tsr_value_list_run_of(value_list_sizes(c), last);
  return count ? value_list_read(c, value_list_newest(item->at), run.links + last - run.begin) : a->missing;
}

TSR_INLINE void list_value_put(const tsr_ctx *c, void *values, uint64_t i, uint64_t value) {
  value_list_put_value(c, values, i, value);
}

TSR_INLINE void list_value_put_unplaced(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, const tsr_item *item,
                                        void *values) {
  (void)item;
  if (values) value_list_put_value(c, values, i, value_list_value_at(c, a->values, i, 1));
}

TSR_INLINE void list_value_put_note(const tsr_bulk *a, uint64_t i, const tsr_item *item) {
  ((uint64_t *)a->values_out)[i] = item->at;
}

TSR_INLINE uint32_t list_value_is_noted(const tsr_bulk *a, uint64_t i) {
  (void)a, (void)i;
  return 1;
}

/* A tile copies the list of one lane after another. */
TSR_INLINE uint32_t list_value_retrieve(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint64_t begin = mine ? a->counts[i] : 0, all = mine ? a->counts[i + 1] : 0;
  const uint64_t end = all < a->room ? all : a->room, list = mine ? ((const uint64_t *)a->values)[i] : 0;
  const uint32_t todo = tsr_ballot(c, value_list_count(list) != 0);
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    const tsr_ctx copying = tsr_masked(c, active);
    value_list_copy(&copying, tsr_shuffle64(c, list, turn), a->values_out, tsr_shuffle64(c, begin, turn),
                    tsr_shuffle64(c, end, turn));
  }
  return value_list_count(list) != 0;
}

/* Releases the list of the key that this lane has erased; its values are what was erased. Nobody else has it: of
 * several threads that name one key one erases it. */
TSR_INLINE void list_value_release(const tsr_ctx *c, tsr_item *item) {
  const uint32_t erased = item->pairs != 0;
  const uint64_t list = value_list_of(c, item->at, erased);
  const uint32_t todo = tsr_ballot(c, value_list_count(list) != 0);
  if (erased) value_list_forget(c, item->at);
  item->pairs = value_list_count(list);
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    const tsr_ctx releasing = tsr_masked(c, active);
    value_list_release(&releasing, tsr_shuffle64(c, list, turn));
  }
}

/* Counts the values, keys and units of the lists of a bucket's slots. */
TSR_INLINE uint32_t list_value_count(const tsr_ctx *c, const tsr_bulk *a, uint64_t ref, uint32_t slots) {
  uint64_t values = 0, keys = 0, units = 0;
  TSR_NO_UNROLL
  for (uint32_t slot = c->lane; slot < TSR_FACT(c, bucket_slots); slot += TSR_FACT(c, tile_lanes)) {
    const uint32_t count = value_list_count(value_list_of(c, place_of(c, ref, slot), slots >> slot & 1u));
    const tsr_value_list_run run = tsr_value_list_run_of(value_list_sizes(c), count ? count - 1 : 0);
    values += count;
    units += count ? run.before + run.units : 0;
    keys += count != 0;
  }
  if (!keys) return 0;
  IO_ADD(&a->tally->hits, values);
  IO_ADD(&a->tally->keys, keys);
  IO_ADD(&a->tally->units, units);
  return 0;
}

/* Writes the pairs of the lists of these slots, those of a key one after the other. Collective. */
TSR_INLINE void list_value_export(const tsr_ctx *c, const tsr_bulk *a, tsr_bucket *b, uint64_t ref, uint32_t slots,
                                  uint32_t *hits) {
  (void)hits;
  TSR_NO_UNROLL
  for (; tsr_warp_any(c, slots); slots &= slots - 1) {
    const uint32_t slot = slots ? tsr_lowest(slots) : 0;
    const tsr_key key = walk_user_key(c, ref, slot, layout_key(c, b, slot));
    const uint64_t list = value_list_of(c, place_of(c, ref, slot), slots != 0);
    uint64_t at = 0;
    if (c->lane == 0 && value_list_count(list)) at = IO_ADD(&a->tally->hits, value_list_count(list));
    at = tsr_shuffle64(c, at, 0);
    const tsr_ctx copying = tsr_masked(c, slots != 0);
    value_list_copy(&copying, list, a->values_out, at, ~(uint64_t)0);
    TSR_NO_UNROLL
    for (uint32_t i = c->lane; tsr_warp_any(c, i < value_list_count(list)); i += TSR_FACT(c, tile_lanes))
      if (i < value_list_count(list)) io_put_key(a->keys_out, at + i, key);
  }
}

#endif
