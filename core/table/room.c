/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for inserts that erases overlap (room.h). A third of the slots that a full table leaves free always stays empty
 * while erased slots are passed by, so that walks end; another third in erased slots is worth a rebuild.
 *
 * No launch can use more slots than it has operations. Where that is too many, the slots in use are counted: from the
 * tallies if all that happened since the last time is in them, else by a scan. So a call may wait, but not often: each
 * time a good part of the table's slots was asked for in between. A large call is launched in pieces, since most of its
 * operations may be no inserts.
 *
 * Inserts that pass erased slots by and inserts that take them must not overlap: they are of different phases (order.c).
 */
#include "core/table/room.h"

#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/rebuild.h"

/* Of the table's slots: so many operations at least between two counts, by tallies and by a scan. */
enum { READ_SHARE = 64, SCAN_SHARE = 16 };

static uint64_t slots_of(const tsr_table *t) { return tsr_composition_slots(t->store.composition); }

/* What a table of `capacity` pairs leaves free, in three parts. */
static uint64_t third_of(const tsr_table *t) {
  const uint64_t slots = slots_of(t), capacity = t->store.composition->shape.capacity;
  return slots > capacity ? (slots - capacity) / 3 : 0;
}

static uint64_t used_of(const tsr_tally *of) {
  return of[TSR_BULK_insert].hits + of[TSR_BULK_find_or_insert].hits + of[TSR_BULK_apply].answered[TSR_CLASS_INSERT];
}

static uint64_t erased_of(const tsr_tally *of) {
  return of[TSR_BULK_erase].hits + of[TSR_BULK_erase_pair].hits + of[TSR_BULK_apply].answered[TSR_CLASS_ERASE];
}

/* ---- Counting -------------------------------------------------------------------------------- */

static tsr_status read_tallies(tsr_table *t, void *stream, tsr_error *error) {
  tsr_tally now[TSR_BULKS], then[TSR_BULKS];
  tsr_room *room = &t->store.room;
  tsr_status status = t->backend->copy(t->device, now, t->tallies, sizeof now, stream, error);
  if (status == TSR_OK)
    status = t->backend->copy(t->device, then, t->tallies + TSR_TALLY_THEN, sizeof then, stream, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
  if (status) return status;
  room->used += used_of(now) - used_of(then);
  room->erased += erased_of(now) - erased_of(then);
  return TSR_OK;
}

static tsr_status scan(tsr_table *t, void *stream, tsr_error *error) {
  tsr_tally counted;
  const tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_status status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  if (status) return status;
  t->store.room.used = counted.hits + counted.tombstones;
  t->store.room.erased = counted.tombstones;
  return TSR_OK;
}

/* pre: nothing works on the table before what is enqueued in `stream`. */
static tsr_status count(tsr_table *t, void *stream, tsr_error *error) {
  tsr_room *room = &t->store.room;
  tsr_status status = room->is_known ? read_tallies(t, stream, error) : scan(t, stream, error);
  if (status == TSR_OK)
    status = t->backend->copy(t->device, t->tallies + TSR_TALLY_THEN, t->tallies, TSR_BULKS * sizeof *t->tallies,
                              stream, error);
  room->is_known = status == TSR_OK;
  room->most = room->used;
  room->items = 0;
  return status;
}

tsr_status tsr_room_read(tsr_table *t, tsr_error *error) {
  if (!tsr_composition_passes_erased(t->store.composition) || !t->store.room.is_known) return TSR_OK;
  const uint64_t items = t->store.room.items; /* not in place of a count: the next one may come as soon as before */
  tsr_status status = count(t, NULL, error);
  t->store.room.items = items;
  return status;
}

/* ---- Making room ----------------------------------------------------------------------------- */

/* Rids the table of its erased slots. Where there is no memory for a second one they stay, and the next try comes when
 * there are more of them. */
static tsr_status flush(tsr_table *t, void *stream, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t pairs = t->store.room.used - t->store.room.erased;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = tsr_rebuild(t, t->spec, shape->capacity, shape->seed, NULL, stream, &why);
  if (status == TSR_OK)
    t->store.room = (tsr_room){.is_known = true, .used = pairs, .most = pairs};
  else
    t->store.room.flush_from = t->store.room.erased + third_of(t);
  if (status == TSR_OK || status == TSR_NO_MEMORY || status == TSR_UNSUPPORTED) return TSR_OK;
  if (error) *error = why;
  return status;
}

/* Counts, and flushes if fewer than n slots are left though many of them hold nothing. */
static tsr_status make_room(tsr_table *t, uint64_t n, void *stream, uint64_t limit, tsr_error *error) {
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status == TSR_OK) status = count(t, stream, error);
  const tsr_room *room = &t->store.room;
  const uint64_t third = third_of(t), worth = room->flush_from > third ? room->flush_from : third;
  if (status == TSR_OK && room->used + n > limit && room->erased && room->erased >= worth)
    status = flush(t, stream, error);
  tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

tsr_status tsr_room_take(tsr_table *t, uint64_t n, void *stream, uint64_t *piece, tsr_error *error) {
  const uint64_t slots = slots_of(t), limit = slots - third_of(t), least = slots / READ_SHARE + 1;
  tsr_room *room = &t->store.room;
  bool fits = !t->store.state.has_erased || (room->is_known && room->most + n <= limit);
  *piece = n;
  if (!fits && room->items + n >= (room->is_known ? least : slots / SCAN_SHARE)) {
    tsr_status status = make_room(t, n, stream, limit, error);
    if (status) return status;
    const uint64_t left = room->most < limit ? limit - room->most : 0;
    fits = n <= left || left >= least;
    if (fits && n > left) *piece = left;
  }
  room->most += *piece;
  room->items += *piece;
  t->retakes = !fits;
  if (!fits) room->is_known = false; /* how many of the slots were used before is in no tally */
  return TSR_OK;
}

void tsr_room_retake(tsr_table *t) {
  t->retakes = tsr_composition_passes_erased(t->store.composition) && t->store.state.has_erased;
}
