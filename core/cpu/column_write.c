/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a column's rows, in the order of rows (column.h).
 */
#include "core/cpu/column.h"
#include "core/cpu/parallel.h"

typedef struct writing {
  tsr_key_column *column;
  int64_t *numbers;
  uint32_t *shorts;
  bool assigns; /* numbers and first rows to keys */
} writing;

/* Where a chunk is in a part. */
typedef struct place {
  uint32_t next, seen;
  uint32_t *numbers; /* of the part's keys */
} place;

/* is_wide and assigns are constants where this is called. */
static inline void write_chunk(const writing *w, uint64_t chunk, bool is_wide, bool assigns) {
  const tsr_key_column *c = w->column;
  const uint64_t first = chunk * TSR_KEY_COLUMN_CHUNK, left = c->n - first;
  const uint64_t end = first + (left < TSR_KEY_COLUMN_CHUNK ? left : TSR_KEY_COLUMN_CHUNK),
                 count = 1ull << c->parts.log2;
  const uint64_t cell = chunk * count;
  place places[TSR_KEY_COLUMN_PARTS];
  uint64_t fresh = c->chunk_first[chunk];
  for (uint64_t p = 0; p < count; p++)
    places[p] = (place){c->parts.offsets[cell + p], c->seen[cell + p], c->numbers + c->bases[p]};
  for (uint64_t i = first; i < end; i++) {
    place *at =
        &places[tsr_key_column_part(tsr_key_column_hash(tsr_key_column_key(c->keys, i, is_wide)), c->parts.log2)];
    const uint32_t id = (uint32_t)tsr_key_column_key(c->parts.keys, first + at->next++, is_wide);
    if (assigns && id == at->seen) {
      at->seen++;
      at->numbers[id] = (uint32_t)fresh;
      c->firsts[fresh++] = (uint32_t)i;
    }
    if (w->numbers) w->numbers[i] = at->numbers[id];
    if (w->shorts) w->shorts[i] = at->numbers[id];
  }
}

static void write_chunks(void *argument, uint64_t begin, uint64_t end) {
  const writing *w = argument;
  const bool is_wide = w->column->key_bytes == sizeof(uint64_t);
  for (uint64_t chunk = begin; chunk < end; chunk++)
    if (w->assigns)
      is_wide ? write_chunk(w, chunk, true, true) : write_chunk(w, chunk, false, true);
    else
      is_wide ? write_chunk(w, chunk, true, false) : write_chunk(w, chunk, false, false);
}

static void write_rows(void *argument, uint64_t begin, uint64_t end) {
  const writing *w = argument;
  const tsr_key_column *c = w->column;
  for (uint64_t i = begin; i < end;) {
    const uint64_t set = i / c->range, after = (set + 1) * c->range, stop = after < end ? after : end;
    const uint32_t *numbers = c->numbers ? c->numbers + c->bases[set] : NULL;
    for (; i < stop; i++) {
      const uint32_t number = numbers ? numbers[c->ids[i]] : c->ids[i];
      if (w->numbers) w->numbers[i] = number;
      if (w->shorts) w->shorts[i] = number;
    }
  }
}

/* A key's number is written by the chunk that has its first row, and read by others: with threads, after all have written. */
void tsr_key_column_write(tsr_key_column *c, int64_t *numbers, uint32_t *short_numbers) {
  writing w = {c, numbers, short_numbers, !c->is_numbered};
  const bool is_wanted = numbers || short_numbers;
  if (!c->parts.keys) {
    if (is_wanted) tsr_parallel_for(c->n, write_rows, &w);
    return;
  }
  if (w.assigns && is_wanted && tsr_parallel_threads() > 1) tsr_key_column_write(c, NULL, NULL);
  w.assigns = !c->is_numbered;
  if (w.assigns || is_wanted) tsr_parallel_each(c->parts.chunks, write_chunks, &w);
  c->is_numbered = true;
}
