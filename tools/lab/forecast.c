/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting walks, and asking the model (forecast.h).
 */
#include "tools/lab/forecast.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/bench_rows.h"
#include "tools/lab/bench_session.h"

#define COUNTED_PAIRS "16384"
#define COUNTED 16384
#define LOADS "0.5,0.7,0.8,0.9,0.95"
#define FULL_PAGES 0.9 /* above it pairs leave their page, which the model does not know */

static const tsr_bench_op ops[] = {TSR_BENCH_INSERT, TSR_BENCH_FIND100, TSR_BENCH_FIND0};
static const uint32_t log2_sizes[] = {18, 20, 22, 24, 26};
enum { OPS = sizeof ops / sizeof ops[0], SIZES = sizeof log2_sizes / sizeof log2_sizes[0], LOADS_MAX = 8 };

/* ---- What the model is asked ----------------------------------------------------------------- */

static uint32_t bits_of(const tsr_spec *spec, const char *key) {
  const char *text = tsr_spec_get(spec, "table", key);
  uint64_t bits = 0;
  return text && tsr_parse_u64(text, &bits) ? (uint32_t)bits : 0;
}

static bool is_one_of(const char *word, const char *const *words, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(word, words[i]) == 0) return true;
  return false;
}

/* Sets, maps and counters with keys and values in slots. */
static bool is_known(const tsr_spec *spec) {
  static const char *const kinds[] = {"set", "map", "counter"};
  const char *kind = tsr_spec_get(spec, "table", "kind"), *values = tsr_spec_get(spec, "table", "values");
  const char *filter = tsr_spec_get(spec, "table", "filter");
  return (!kind || is_one_of(kind, kinds, sizeof kinds / sizeof kinds[0])) && bits_of(spec, "key_bits") <= 64 &&
         !tsr_spec_get(spec, "table", "value_bytes") && (!filter || strcmp(filter, "none") == 0) &&
         (!values || strcmp(values, "inline") == 0);
}

bool tsr_forecast_work(const tsr_spec *spec, const tsr_resolution *r, tsr_bench_op op, uint64_t n, tsr_work *work) {
  const char *duplicates = tsr_spec_get(spec, "table", "duplicates");
  const uint32_t pair_bits = bits_of(spec, "key_bits") + bits_of(spec, "value_bits");
  const bool inserts = op == TSR_BENCH_INSERT || op == TSR_BENCH_ERASE;
  const uint64_t batch = inserts ? r->page_batch : r->zone_batch;
  const bool in_order = batch && n >= batch, is_apart = 8ull * r->bucket_bytes < (uint64_t)r->bucket_slots * pair_bits;
  *work = (tsr_work){.kind = inserts                 ? TSR_WORK_INSERT
                             : op == TSR_BENCH_FIND0 ? TSR_WORK_FIND_ABSENT
                                                     : TSR_WORK_FIND,
                     .by_pages = inserts && in_order,
                     .looks = !duplicates || strcmp(duplicates, "promise_unique") != 0,
                     .n = n,
                     .key_bytes = bits_of(spec, "key_bits") / 8,
                     .value_bytes = bits_of(spec, "value_bits") / 8,
                     .bucket_bytes = r->bucket_bytes,
                     .bucket_slots = r->bucket_slots,
                     .lanes = r->tile_lanes ? r->tile_lanes : 1,
                     .table_bytes = (double)r->bytes,
                     .is_apart = is_apart,
                     .has_short_keys = r->has_short_keys};
  const bool is_op = op == TSR_BENCH_INSERT || op == TSR_BENCH_FIND100 || op == TSR_BENCH_FIND0;
  return is_op && is_known(spec) && !r->is_built && (inserts || !in_order) &&
         (!work->by_pages || r->load_factor <= FULL_PAGES + 1e-9) && r->load_factor <= r->reached_load;
}

/* ---- Counting -------------------------------------------------------------------------------- */

typedef struct walks {
  double probes, warp_probes; /* 0: not counted */
} walks;

typedef struct forecast {
  const tsr_spec *spec; /* as it is asked for */
  tsr_spec *counted;    /* the same on the CPU */
  const char *plugins;
  const tsr_card *card;
  tsr_bench_options options;
  walks walks[LOADS_MAX][OPS];
} forecast;

static void take_row(void *context, const tsr_bench_row *row, const tsr_bench_place *place) {
  forecast *f = context;
  for (size_t i = 0; i < OPS; i++)
    if (row->verdict == TSR_BENCH_RIGHT && place->op == ops[i] && place->load < LOADS_MAX)
      f->walks[place->load][i] = (walks){row->probes, row->warp_probes};
}

/* Tiles have one lane, and a stash has its share of the small table. */
static tsr_status make_counted(forecast *f, tsr_error *error) {
  static const char *const words[] = {"table.backend=cpu", "layout.tile_lanes=1", "table.stash=1"};
  const char *stash = tsr_spec_get(f->spec, "table", "stash");
  const bool is_wanted[] = {true, tsr_spec_get(f->spec, "layout", "tile_lanes") != NULL,
                            stash && strcmp(stash, "0") != 0};
  tsr_status status = tsr_spec_copy(f->spec, &f->counted, error);
  for (size_t i = 0; status == TSR_OK && i < sizeof words / sizeof words[0]; i++)
    if (is_wanted[i]) status = tsr_spec_set(f->counted, words[i], error);
  return status;
}

static tsr_status count_walks(forecast *f, tsr_error *error) {
  char *argv[] = {"check",          "the spec",     "--n=" COUNTED_PAIRS,         "--repeat=0",
                  "--loads=" LOADS, "--compile=no", "--ops=insert,find100,find0", NULL};
  tsr_bench_session *session = NULL;
  tsr_status status = tsr_bench_options_read(sizeof argv / sizeof argv[0] - 1, argv, &f->options, error);
  if (status) return status;
  f->options.plugins = f->plugins;
  status = make_counted(f, error);
  const tsr_bench_entrant entrant = {.name = "the small table", .spec = f->counted, .may_be_full = true};
  if (status == TSR_OK) status = tsr_bench_session_open(&f->options, &entrant, 1, &session, error);
  if (status == TSR_OK) status = tsr_bench_session_measure(session, &entrant, 1, "", take_row, f, error);
  tsr_bench_session_close(session);
  return status;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* 0: not known. */
static double rate_of(const forecast *f, size_t load, size_t op, uint64_t n, const tsr_resolution *r) {
  const walks *w = &f->walks[load][op];
  tsr_work work;
  if (!(w->warp_probes > 0) || !tsr_forecast_work(f->spec, r, ops[op], n, &work)) return 0;
  work.probes = w->probes;
  work.warp_probes = w->warp_probes;
  return tsr_predict(f->card, &work);
}

static tsr_status resolve(const forecast *f, size_t load, uint64_t n, tsr_resolution *r, tsr_error *error) {
  const tsr_options options = {.plugins = f->plugins, .capacity = n};
  tsr_spec *copy = NULL;
  tsr_status status = tsr_spec_copy(f->spec, &copy, error);
  if (status == TSR_OK) status = tsr_bench_set_load(copy, f->options.loads.each[load], error);
  if (status == TSR_OK) status = tsr_spec_set(copy, "table.backend=cuda", error);
  if (status == TSR_OK) status = tsr_spec_resolve(copy, &options, r, error);
  tsr_spec_free(copy);
  return status;
}

static tsr_status print_rates(FILE *out, const forecast *f, tsr_error *error) {
  double rates[OPS][SIZES];
  tsr_status status = TSR_OK;
  fprintf(
      out,
      "predicted    10^9 keys per second by load and pairs. Median error on other tables: finds %d %%, inserts %d %%, "
      "page by page %d %%\n  %-10s %5s",
      TSR_PREDICT_ERROR_FINDS, TSR_PREDICT_ERROR_INSERTS, TSR_PREDICT_ERROR_PAGES, "", "load");
  for (size_t size = 0; size < SIZES; size++) fprintf(out, "   2^%-3u", log2_sizes[size]);
  fprintf(out, " %7s\n", "probes");
  for (size_t load = 0; status == TSR_OK && load < f->options.loads.count && load < LOADS_MAX; load++) {
    for (size_t size = 0; status == TSR_OK && size < SIZES; size++) {
      tsr_resolution r = {0};
      status = resolve(f, load, 1ull << log2_sizes[size], &r, error);
      for (size_t op = 0; status == TSR_OK && op < OPS; op++)
        rates[op][size] = rate_of(f, load, op, 1ull << log2_sizes[size], &r);
      tsr_resolution_free(&r);
    }
    for (size_t op = 0; status == TSR_OK && op < OPS; op++) {
      fprintf(out, "  %-10s %5s", tsr_bench_op_name(ops[op]), f->options.loads.each[load]);
      for (size_t size = 0; size < SIZES; size++)
        if (rates[op][size] > 0)
          fprintf(out, " %7.*f", rates[op][size] < 1 ? 2 : 1, rates[op][size]);
        else
          fprintf(out, " %7s", "-");
      if (f->walks[load][op].probes > 0) fprintf(out, " %7.2f", f->walks[load][op].probes);
      fputc('\n', out);
    }
  }
  return status;
}

tsr_status tsr_forecast_print(FILE *out, const tsr_spec *spec, const char *plugins, const tsr_card *card,
                              tsr_error *error) {
  forecast f = {.spec = spec, .plugins = plugins, .card = card};
  if (!is_known(spec))
    return tsr_fail(
        error, TSR_UNSUPPORTED,
        "--predict: the model knows sets, maps and counters with keys and values of 32 and 64 bits in slots, "
        "without a filter: measure this table with bench");
  tsr_resolution r = {0};
  tsr_status status = tsr_spec_resolve(spec, &(tsr_options){.plugins = plugins, .capacity = COUNTED}, &r, error);
  if (status == TSR_OK && r.is_built)
    status =
        tsr_fail(error, TSR_UNSUPPORTED,
                 "--predict: probing = %s makes its table of a whole batch, which the model does not know: measure "
                 "this table with bench",
                 tsr_spec_get(spec, "table", "probing"));
  tsr_resolution_free(&r);
  if (status == TSR_OK) status = count_walks(&f, error);
  if (status == TSR_OK) status = print_rates(out, &f, error);
  tsr_spec_free(f.counted);
  tsr_bench_options_free(&f.options);
  return status;
}
