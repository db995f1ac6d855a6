/* SPDX-License-Identifier: Apache-2.0
 *
 * The model (predict.h), and the limits that it reads. How it was fitted, and how well it does: core/design/0038.
 */
#include "tools/lab/predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/results.h"

enum { WARP = 32, SECTOR_BYTES = 32, LOAD_BYTES = 16 };

/* ---- The model ------------------------------------------------------------------------------- */

typedef struct model {
  double memory;  /* factor of the limit of reads */
  double claimed; /* ... of that of a read with compare-and-swap */
  double copied;  /* ... of that of copying, for keys and values in order */
  double apart;   /* ... of that of compare-and-swap, for the write of a value apart */
  double key;     /* nanoseconds per key; so are the following but `call`, which is per call */
  double call;
  double step;    /* per step of a warp */
  double load;    /* per load of 16 bytes that a lane does in a step */
  double wide;    /* per square of their number */
  double slot;    /* per slot that a lane compares */
  double shorter; /* share by which a step is longer if keys are short */
  double wider;   /* ... if they have 64 bits */
  double looked;  /* share by which all is longer for a key that is there, or that an insert looks for */
  double spread;  /* share of what the busiest tile of a warp does more than the mean one */
  double norm;    /* how memory and steps overlap: 1 is their sum, infinity the slower of both */
} model;

static const model finds = {.memory = 0.729,
                            .copied = 1.83,
                            .key = 0.00636,
                            .call = 22300,
                            .step = 0.11,
                            .wide = 0.00432,
                            .slot = 0.0088,
                            .shorter = 0.435,
                            .wider = 0.362,
                            .looked = 0.235,
                            .spread = 0.84,
                            .norm = 8.47};
static const model inserts = {.memory = 1.35,
                              .claimed = 0.696,
                              .copied = 2.79,
                              .apart = 1.05,
                              .key = 0.0036,
                              .call = 40000,
                              .step = 0.11,
                              .load = 0.0104,
                              .wide = 0.00521,
                              .slot = 0.0112,
                              .wider = 0.423,
                              .looked = 0.456,
                              .spread = 0.72,
                              .norm = 1.41};
/* An insert in the order of pages: a page is in the memory of its block, so there are no random accesses. bytes: per byte of a pair;
 * looked: per step, if its key is looked for; key: per key then; tail: per square of what the busiest tile does more, since a
 * page waits for its longest walk. */
static const struct {
  double copied, bytes, call, step, looked, load, shorter, wider, spread, key, tail;
} pages = {2.06, 0.00123, 60700, 0.0293, 0.0283, 0.0194, 0.895, 0.679, 0.685, 0.01, 0.000598};

/* How many steps a warp takes for its 32 keys: as many as the busiest of its 32 / lanes tiles, which work on `lanes` keys each.
 * warp_probes is that of tiles of one lane. A sum of more keys deviates from its mean by the root of their number, and the
 * most of fewer tiles by less. */
static double steps_of(const tsr_work *w, double spread) {
  const double lanes = w->lanes, beyond = fmax(w->warp_probes - w->probes, 0);
  return lanes * w->probes + spread * beyond * sqrt(lanes * log(WARP / lanes) / log(WARP));
}

/* Loads of 16 bytes that a lane does for a bucket. */
static double loads_of(const tsr_work *w) { return fmax((double)w->bucket_bytes / w->lanes / LOAD_BYTES, 1); }

/* Slots that a lane compares in a bucket. */
static double slots_of(const tsr_work *w) { return fmax((double)w->bucket_slots / w->lanes, 1); }

/* Nanoseconds of memory per key, if its limit were all. */
static double accesses(const tsr_card *card, const model *m, const tsr_work *w) {
  const double read = 1 / tsr_card_rate(card, "read", w->bucket_bytes, w->lanes, w->table_bytes);
  const double sector = 1 / tsr_card_rate(card, "read", SECTOR_BYTES, 1, w->table_bytes);
  if (w->kind != TSR_WORK_INSERT)
    return m->memory * (w->probes * read + (w->is_apart && w->kind == TSR_WORK_FIND ? sector : 0));
  const double claim = 1 / tsr_card_rate(card, "read+cas", SECTOR_BYTES, 1, w->table_bytes);
  const double value = 1 / tsr_card_rate(card, "cas", 8, 1, w->table_bytes);
  return m->memory * fmax(w->probes - 1, 0) * read + m->claimed * fmax(claim, read) +
         (w->is_apart ? m->apart * value : 0);
}

/* Nanoseconds of a warp's steps per key. */
static double work_of(const model *m, const tsr_work *w) {
  const double loads = loads_of(w), wider = w->key_bytes > 4 ? m->wider : 0,
               shorter = w->has_short_keys ? m->shorter : 0;
  const bool is_more = w->kind == TSR_WORK_FIND || (w->kind == TSR_WORK_INSERT && w->looks);
  const double step = m->step * (1 + shorter) * (1 + wider) + m->load * loads + m->wide * loads * loads;
  return steps_of(w, m->spread) / WARP * (step + m->slot * slots_of(w)) * (1 + (is_more ? m->looked : 0));
}

/* Bytes that a pair costs on its way to its page. A key and a value of unlike widths travel in two columns, whose runs are half as
 * long as those of pairs (core/batch/items.cuh), and take about as long as two of the wider. */
static double pair_bytes(const tsr_work *w) {
  return w->value_bytes ? 2 * fmax(w->key_bytes, w->value_bytes) : w->key_bytes;
}

/* Nanoseconds per key of an insert in the order of pages; byte: of copying one. */
static double in_pages(const tsr_work *w, double byte) {
  const double step = pages.step + (w->looks ? pages.looked : 0) + pages.load * loads_of(w);
  const double more = (1 + (w->has_short_keys ? pages.shorter : 0)) * (1 + (w->key_bytes > 4 ? pages.wider : 0));
  const double beyond = fmax(w->warp_probes - w->probes, 0);
  return (pages.copied * byte + pages.bytes) * pair_bytes(w) + steps_of(w, pages.spread) / WARP * step * more +
         pages.tail * beyond * beyond + (w->looks ? pages.key : 0) + pages.call / (double)w->n;
}

double tsr_predict(const tsr_card *card, const tsr_work *w) {
  const double copy = tsr_card_rate(card, "copy", SECTOR_BYTES, 1, HUGE_VAL);
  if (w->by_pages) return 1 / in_pages(w, 1 / copy);
  const model *m = w->kind == TSR_WORK_INSERT ? &inserts : &finds;
  const double memory = accesses(card, m, w) + m->copied * (w->key_bytes + w->value_bytes) / copy, warp = work_of(m, w);
  const double both = pow(pow(memory, m->norm) + pow(warp, m->norm), 1 / m->norm);
  return 1 / (both + m->key + m->call / (double)w->n);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

/* Of accesses of one kind, size and number of lanes: between two footprints interpolated, beyond them the nearest. */
static double rate_at(const tsr_card *card, const tsr_roofline_row *like, double footprint) {
  const tsr_roofline_row *below = NULL, *above = NULL;
  for (size_t i = 0; i < card->count; i++) {
    const tsr_roofline_row *row = &card->rows[i];
    if (strcmp(row->name, like->name) != 0 || row->bytes != like->bytes || row->lanes != like->lanes) continue;
    const double at = (double)row->footprint_bytes;
    if (at <= footprint && (!below || row->footprint_bytes > below->footprint_bytes)) below = row;
    if (at >= footprint && (!above || row->footprint_bytes < above->footprint_bytes)) above = row;
  }
  if (!below || !above || below == above) return (below ? below : above)->giga_per_second;
  const double from = (double)below->footprint_bytes, to = (double)above->footprint_bytes;
  const double share = log(footprint / from) / log(to / from);
  return below->giga_per_second * pow(above->giga_per_second / below->giga_per_second, share);
}

/* Fewer lanes than any that is listed take twice as long as for half of the bytes. */
double tsr_card_rate(const tsr_card *card, const char *name, uint32_t bytes, uint32_t lanes, double footprint) {
  const tsr_roofline_row *below = NULL, *above = NULL;
  uint32_t size = SECTOR_BYTES;
  if (strcmp(name, "read") != 0) size = bytes; /* of the others one size is listed */
  while (size < bytes) size *= 2;
  for (size_t i = 0; i < card->count; i++) {
    const tsr_roofline_row *row = &card->rows[i];
    if (strcmp(row->name, name) != 0 || row->bytes != size) continue;
    if (row->lanes <= lanes && (!below || row->lanes > below->lanes)) below = row;
    if (row->lanes >= lanes && (!above || row->lanes < above->lanes)) above = row;
  }
  if (!below && size > SECTOR_BYTES) return tsr_card_rate(card, name, size / 2, lanes, footprint) / 2;
  if (!below || !above || below->lanes == above->lanes)
    return below ? rate_at(card, below, footprint) : above ? rate_at(card, above, footprint) : 0;
  const double share = log((double)lanes / below->lanes) / log((double)above->lanes / below->lanes);
  return pow(rate_at(card, below, footprint), 1 - share) * pow(rate_at(card, above, footprint), share);
}

static tsr_status check_card(const char *path, const tsr_card *card, tsr_error *error) {
  static const struct {
    const char *name;
    uint32_t bytes;
  } needed[] = {{"read", 32}, {"read", 64}, {"cas", 8}, {"read+cas", 32}, {"copy", 32}};
  for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++)
    if (!(tsr_card_rate(card, needed[i].name, needed[i].bytes, 1, 1e9) > 0))
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: has no rate of %s: it must be what `tessera roofline --footprint 1Mi,16Mi,256Mi,1Gi` prints",
                      path, needed[i].name);
  return TSR_OK;
}

/* Rows of the limits in the file, whose names are those of string literals. */
static void take_rows(const tsr_results *r, tsr_card *card) {
  static const char *const names[] = {"read", "cas", "read+cas", "copy"};
  static const char *const columns[] = {"bytes", "lanes", "footprint_bytes", "giga_per_second"};
  enum { COLUMNS = sizeof columns / sizeof columns[0] };
  const size_t name = tsr_results_column(r, "name");
  for (size_t row = 0; name < r->column_count && row < r->row_count; row++) {
    double numbers[COLUMNS];
    bool is_whole = true;
    for (size_t i = 0; i < COLUMNS; i++) {
      const size_t column = tsr_results_column(r, columns[i]);
      is_whole = is_whole && column < r->column_count && tsr_results_number(r, row, column, &numbers[i]);
    }
    for (size_t i = 0; is_whole && i < sizeof names / sizeof names[0]; i++)
      if (strcmp(tsr_results_field(r, row, name), names[i]) == 0)
        card->rows[card->count++] = (tsr_roofline_row){.name = names[i],
                                                       .bytes = (uint32_t)numbers[0],
                                                       .lanes = (uint32_t)numbers[1],
                                                       .footprint_bytes = (uint64_t)numbers[2],
                                                       .giga_per_second = numbers[3]};
  }
}

tsr_status tsr_card_read(const char *path, tsr_card *card, tsr_error *error) {
  tsr_results results = {0};
  *card = (tsr_card){NULL, 0};
  tsr_status status = tsr_results_read(path, &results, error);
  if (status) return status;
  card->rows = calloc(results.row_count + 1, sizeof *card->rows);
  if (!card->rows) status = tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  if (status == TSR_OK) take_rows(&results, card);
  tsr_results_free(&results);
  if (status == TSR_OK) status = check_card(path, card, error);
  if (status) tsr_card_free(card);
  return status;
}

static tsr_status add_footprint(int device, uint64_t bytes, tsr_card *card, tsr_error *error) {
  tsr_roofline_row *rows = NULL;
  size_t count = 0;
  const tsr_status status = tsr_roofline(device, bytes, &rows, &count, error);
  if (status) return status;
  tsr_roofline_row *longer = realloc(card->rows, (card->count + count) * sizeof *longer);
  if (longer) card->rows = longer;
  for (size_t i = 0; longer && i < count; i++) card->rows[card->count++] = rows[i];
  free(rows);
  return longer ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the limits of a device");
}

tsr_status tsr_card_measure(int device, uint64_t bytes, tsr_card *card, tsr_error *error) {
  enum { FOOTPRINTS = 4, LEAST_BYTES = 1 << 20 };
  uint64_t footprint = LEAST_BYTES;
  tsr_status status = TSR_OK;
  *card = (tsr_card){NULL, 0};
  while (footprint < bytes) footprint *= 2;
  for (uint32_t i = FOOTPRINTS; status == TSR_OK && i-- > 0;)
    if (footprint >> i >= LEAST_BYTES) status = add_footprint(device, footprint >> i, card, error);
  if (card->count) return TSR_OK; /* the largest may not fit, and is like the one before it */
  tsr_card_free(card);
  return status;
}

void tsr_card_free(tsr_card *card) {
  free(card->rows);
  *card = (tsr_card){NULL, 0};
}
