/* SPDX-License-Identifier: Apache-2.0
 *
 * Which table runs what, in which order (bench_session.h). What one measurement is: bench_run.c.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "tools/lab/bench_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/bench_limits.h"
#include "tools/lab/interval.h"
#include "tools/lab/status_line.h"

enum { ANCHOR_CAPACITY = 1 << 16, LIMITS_MAX = 64 /* powers of two */ };

/* An entrant at the current load. */
typedef struct lane {
  const tsr_bench_entrant *entrant;
  tsr_bench_subject subject; /* no table: refused */
  tsr_resolution resolution;
  tsr_origin origin;
  double *times; /* milliseconds of the current operation, options->repeat of them */
  double *rates; /* its mops, as many, in turn */
  uint64_t done; /* what its mops count */
  uint64_t not_placed;
  double hit_rate;
  bool is_right;   /* no answer of the current operation was wrong */
  bool is_refused; /* the current operation was */
  bool is_filled;  /* with the pairs, which finds ask for */
} lane;

struct tsr_bench_session {
  const tsr_bench_options *options;
  tsr_table *anchor;   /* a small table whose memory holds the arrays while others come and go */
  tsr_table_info info; /* the anchor's */
  tsr_keys *models;    /* one for each distribution of keys */
  size_t model;        /* the one that the arrays hold; options->keys.count: none */
  tsr_bench_arrays arrays;
  tsr_bench_limits *limits;
  bool is_right;
  tsr_origin origin; /* of all rows */
  /* of the current tsr_bench_session_measure: */
  lane *lanes;
  size_t count, load;
  const char *title;
  tsr_bench_take take;
  void *context;
};

/* ---- Tables ---------------------------------------------------------------------------------- */

bool tsr_bench_is_refusal(tsr_status status) {
  return status == TSR_BAD_SPEC || status == TSR_NOT_FOUND || status == TSR_INCOMPATIBLE || status == TSR_UNSUPPORTED ||
         status == TSR_LINK_FAILED || status == TSR_NO_MEMORY;
}

static bool is_kind(const tsr_spec *spec, const char *kind) {
  const char *its = tsr_spec_get(spec, "table", "kind");
  return its && strcmp(its, kind) == 0;
}

static bool is_bloom(const tsr_spec *spec) { return is_kind(spec, "filter") && !tsr_spec_get(spec, "table", "layout"); }

bool tsr_bench_fills_slots(const tsr_spec *spec) { return !is_bloom(spec) && !is_kind(spec, "cache"); }

uint64_t tsr_bench_capacity(const tsr_spec *spec, const char *load, uint64_t pairs) {
  const double share = tsr_bench_load(load), all = (double)pairs;
  return is_bloom(spec) ? (uint64_t)(all / share) : is_kind(spec, "cache") ? (uint64_t)(all * share) + 1 : pairs;
}

tsr_status tsr_bench_set_load(tsr_spec *spec, const char *load, tsr_error *error) {
  char assignment[64];
  if (!tsr_bench_fills_slots(spec)) return TSR_OK;
  snprintf(assignment, sizeof assignment, "table.load_factor=%s", load);
  return tsr_spec_set(spec, assignment, error);
}

/* A spec as it is measured. load: as written. The caller frees *made. */
static tsr_status make_spec(const tsr_spec *spec, const char *load, bool statistics, tsr_spec **made,
                            tsr_error *error) {
  tsr_spec *copy = NULL;
  tsr_status status = tsr_spec_copy(spec, &copy, error);
  if (status == TSR_OK) status = tsr_bench_set_load(copy, load, error);
  if (status == TSR_OK && tsr_bench_fills_slots(spec) && statistics)
    status = tsr_spec_set(copy, "table.statistics=yes", error);
  if (status) {
    tsr_spec_free(copy);
    return status;
  }
  *made = copy;
  return TSR_OK;
}

static tsr_options options_of(const tsr_bench_options *o, uint64_t capacity) {
  return (tsr_options){.plugins = o->plugins, .capacity = capacity, .seed = o->seed};
}

static tsr_status create_table(const tsr_bench_options *o, const tsr_spec *spec, const char *load, bool statistics,
                               uint64_t capacity, tsr_table **table, tsr_error *error) {
  tsr_spec *made = NULL;
  const tsr_options options = options_of(o, capacity);
  tsr_status status = make_spec(spec, load, statistics, &made, error);
  if (status == TSR_OK) status = tsr_table_create(made, &options, table, error);
  tsr_spec_free(made);
  return status;
}

/* What a spec's table makes of keys that come again. */
typedef struct policy {
  const char *duplicates; /* NULL = whatever a multiset, multimap or counter has */
  tsr_merge merge;
  uint8_t again;
  uint64_t count_max; /* of a counter; else 0 */
} policy;

/* pre: the spec's table could be made. */
static policy policy_of(const tsr_spec *spec) {
  static const policy policies[] = {
      {"first", TSR_MERGE_ANY, TSR_PRESENT, 0},    {"promise_unique", TSR_MERGE_ANY, TSR_PRESENT, 0},
      {"replace", TSR_MERGE_ANY, TSR_REPLACED, 0}, {"add", TSR_MERGE_ADD, TSR_COMBINED, 0},
      {"min", TSR_MERGE_MIN, TSR_COMBINED, 0},     {"max", TSR_MERGE_MAX, TSR_COMBINED, 0}};
  const char *duplicates = tsr_spec_get(spec, "table", "duplicates"), *kind = tsr_spec_get(spec, "table", "kind");
  const bool keeps_all = kind && (strncmp(kind, "multi", 5) == 0 || (is_kind(spec, "filter") && !is_bloom(spec)));
  if (keeps_all) return (policy){NULL, TSR_MERGE_NONE, TSR_PRESENT, 0};
  const char *bits = tsr_spec_get(spec, "table", "value_bits");
  uint64_t count_bits;
  if (kind && strcmp(kind, "counter") == 0 && bits && tsr_parse_u64(bits, &count_bits))
    return (policy){NULL, TSR_MERGE_ADD, TSR_COMBINED, UINT64_MAX >> (64 - count_bits)};
  for (size_t i = 0; duplicates && i < sizeof policies / sizeof policies[0]; i++)
    if (strcmp(duplicates, policies[i].duplicates) == 0) return policies[i];
  return policies[0];
}

/* The size of the table that the pairs fill to the load: pairs of one key that it merges take one slot. A mixed batch
 * inserts before it has erased, and lists do not use erased slots again: so where most pairs are in units (a load above
 * 1), there are units for what it inserts as well. */
typedef struct size {
  uint64_t capacity;
  char load[64];
} size;

static size size_of(const tsr_bench_session *s, const tsr_spec *spec) {
  const tsr_bench_options *o = s->options;
  const tsr_keys *model = &s->models[s->model];
  const bool keeps_all = policy_of(spec).merge == TSR_MERGE_NONE || is_kind(spec, "cache");
  const uint64_t kept = keeps_all ? model->pairs : model->n;
  const double written = tsr_bench_load(o->loads.each[s->load]);
  uint64_t counts[TSR_MIXED_KINDS];
  size made = {.capacity = tsr_bench_capacity(spec, o->loads.each[s->load], kept)};
  snprintf(made.load, sizeof made.load, "%s", o->loads.each[s->load]);
  if (!o->ops[TSR_BENCH_MIXED] || written <= 1) return made;
  tsr_keys_cut(kept, o->mix, counts);
  made.capacity = kept + counts[TSR_MIXED_INSERT];
  snprintf(made.load, sizeof made.load, "%.9g", written * (double)made.capacity / (double)kept);
  return made;
}

static int device_number(const tsr_spec *spec) {
  const char *text = tsr_spec_get(spec, "table", "device");
  uint64_t number = 0;
  return text && tsr_parse_u64(text, &number) ? (int)number : 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void hand_row(tsr_bench_session *s, tsr_bench_row *row, size_t which, tsr_bench_op op) {
  const tsr_bench_options *o = s->options;
  const tsr_bench_place place = {.model = s->model,
                                 .load = s->load,
                                 .entrant = which,
                                 .op = op,
                                 .rates = row->verdict == TSR_BENCH_REFUSED ? NULL : s->lanes[which].rates};
  row->spec = s->lanes[which].entrant->name;
  row->backend = s->info.backend;
  row->device = s->info.device;
  row->key_bits = s->info.key_bits;
  row->value_bits = s->info.value_bits;
  row->n = s->models[s->model].pairs;
  row->load = tsr_bench_load(o->loads.each[s->load]);
  row->keys = o->keys.each[s->model].text;
  row->distinct = s->models[s->model].n;
  row->composition = s->lanes[which].resolution.text;
  row->origin = s->lanes[which].origin;
  tsr_status_line_clear();
  s->take(s->context, row, &place);
}

/* Tells of a refusal: of one operation, or with TSR_BENCH_OPS of the table. */
static void refuse(tsr_bench_session *s, size_t which, tsr_bench_op op, const tsr_error *error) {
  lane *l = &s->lanes[which];
  tsr_bench_row row = {.op = op == TSR_BENCH_OPS ? NULL : tsr_bench_op_name(op),
                       .verdict = TSR_BENCH_REFUSED,
                       .not_placed = TSR_BENCH_UNKNOWN};
  tsr_status_line_clear();
  fprintf(stderr, "tessera: %s at load %g is refused: %s\n", l->entrant->name,
          tsr_bench_load(s->options->loads.each[s->load]), error->message);
  l->is_refused = true;
  hand_row(s, &row, which, op);
}

static void complain(tsr_bench_session *s, size_t which, const char *what, const tsr_bench_result *result) {
  lane *l = &s->lanes[which];
  if (!result->complaint[0]) return;
  const bool is_no_news = result->is_full && l->entrant->may_be_full;
  if (is_no_news) l->is_right = false;
  if (is_no_news) return;
  s->is_right = false;
  if (!l->is_right) return; /* one sentence will do, but a wrong answer in any turn counts */
  l->is_right = false;
  tsr_status_line_clear();
  fprintf(stderr, "tessera: %s at load %g with keys %s: %s: %s\n", l->entrant->name,
          tsr_bench_load(s->options->loads.each[s->load]), s->options->keys.each[s->model].text, what,
          result->complaint);
}

/* ---- One operation of all specs -------------------------------------------------------------- */

tsr_status tsr_bench_link(const tsr_bench_options *o, const tsr_spec *spec, const char *load, tsr_bench_op op,
                          uint32_t sm, tsr_bench_cost *cost, tsr_error *error) {
  const tsr_options options = options_of(o, o->n);
  const char *kind = tsr_spec_get(spec, "table", "kind");
  const bool has_values = !kind || (strcmp(kind, "set") != 0 && strcmp(kind, "multiset") != 0);
  const uint32_t calls = tsr_bench_calls(op, has_values), others = tsr_bench_other_calls(op, is_kind(spec, "filter"));
  tsr_code_cost timed = {0};
  tsr_status status = TSR_OK;
  for (int counts = 0; status == TSR_OK && counts <= (o->code.probes ? 1 : 0); counts++) {
    tsr_spec *made = NULL;
    status = make_spec(spec, load, counts, &made, error);
    if (status == TSR_OK) status = tsr_spec_prepare(made, &options, sm, calls, counts ? NULL : &timed, error);
    if (status == TSR_OK) status = tsr_spec_prepare(made, &options, sm, others, NULL, error);
    tsr_spec_free(made);
  }
  if (status == TSR_OK) *cost = (tsr_bench_cost){timed.registers, timed.link_ms};
  return status;
}

/* What the code costs; that it cannot be linked will be said when it is used. */
static tsr_bench_cost cost_of(const tsr_bench_session *s, const lane *l, tsr_bench_op op) {
  tsr_bench_cost cost = {0};
  tsr_error error;
  if (l->entrant->costs) return l->entrant->costs[op];
  if (!l->resolution.sm) return cost;
  const tsr_status status = tsr_bench_link(s->options, l->entrant->spec, s->options->loads.each[s->load], op,
                                           l->resolution.sm, &cost, &error);
  return status ? (tsr_bench_cost){0} : cost;
}

/* What a table is; a rival's is judged as if it had the buckets of the table of --vs. */
static tsr_table_info info_of(const tsr_bench_session *s, const lane *l) {
  tsr_table_info info = {.code = ""};
  const tsr_foreign *f = l->subject.on.foreign;
  const tsr_table *table = f ? s->lanes[s->options->versus.index].subject.on.table : l->subject.on.table;
  if (table) tsr_table_describe(table, &info);
  if (f) info.bytes = f->rival->bytes ? f->rival->bytes(f->table) : 0;
  if (f) info.code = "";
  return info;
}

/* What the device's memory allows of this operation, or where the table is in the host's memory, the bus. */
static double limit_of(const tsr_bench_session *s, const tsr_table_info *info, tsr_bench_op op, uint64_t keys) {
  uint32_t times;
  if (!info->host_bytes) return 1e3 * tsr_bench_limits_of(s->limits, info, tsr_bench_limit(op));
  const double rate = tsr_bench_limits_of(s->limits, info, tsr_bench_bus_limit(op, &times));
  return 1e3 * rate * (double)keys / ((double)info->host_bytes * times);
}

static void prepare(const lane *l, uint32_t calls) {
  tsr_error error; /* that it cannot be made will be said when it is used */
  const tsr_status status = calls ? tsr_table_prepare(l->subject.on.table, calls, &error) : TSR_OK;
  (void)status;
}

/* The code that fills a table for an operation, and checks it. On a GPU all of it is linked at once, or else one step after the
 * other when it is used. */
static void make_other_code(const lane *l, tsr_bench_op op) {
  if (!l->subject.on.foreign && l->resolution.sm)
    prepare(l, tsr_bench_other_calls(op, is_kind(l->entrant->spec, "filter")));
}

/* Code is made before it is timed, also where the cpu backend would find that so few items do not pay a compiler: or half
 * of the turns would be of one code, half of another. */
static void make_code(const tsr_bench_session *s, const lane *l, tsr_bench_op op) {
  tsr_table_info info = {0};
  if (l->subject.on.foreign || s->options->code.compile == TSR_BENCH_BY_TABLES) return;
  tsr_table_describe(l->subject.on.table, &info);
  prepare(l, tsr_bench_calls(op, info.value_bits > 0));
  make_other_code(l, op);
}

static bool takes_part(const lane *l) { return tsr_contender_is(&l->subject.on) && !l->is_refused; }

static tsr_status count_probes(tsr_bench_session *s, tsr_bench_op op, size_t which, tsr_bench_counts *counts,
                               tsr_error *error) {
  const tsr_spec *spec = s->lanes[which].entrant->spec;
  const size at = size_of(s, spec);
  tsr_table *counting = NULL;
  *counts = (tsr_bench_counts){.probes = -1, .warp_probes = -1};
  if (!s->options->code.probes || s->lanes[which].subject.on.foreign || is_kind(spec, "cache")) return TSR_OK;
  tsr_status status = create_table(s->options, spec, at.load, true, at.capacity, &counting, error);
  if (status == TSR_OK) status = tsr_bench_count(&s->arrays, counting, op, counts, error);
  tsr_table_destroy(counting);
  return status;
}

static void put_rates(tsr_bench_row *row, const lane *l, size_t repeat) {
  const double thousands = (double)l->done / 1e3;
  row->mops = -1;
  if (repeat == 0) return;
  row->mops = thousands / tsr_bench_median(l->times, repeat);
  row->mops_min = thousands / l->times[repeat - 1];
  row->mops_max = thousands / l->times[0];
}

/* The rates of all repetitions as a text, which the caller frees. NULL: they are not wanted, or there is no memory. */
static char *list_rates(const tsr_bench_session *s, const lane *l) {
  char *text = NULL;
  size_t bytes;
  FILE *out = s->options->outputs.raw ? open_memstream(&text, &bytes) : NULL;
  if (!out) return NULL;
  for (size_t i = 0; i < s->options->repeat; i++) fprintf(out, "%s%.4f", i ? " " : "", l->rates[i]);
  fclose(out);
  return text;
}

/* How many times as fast the table of --vs is as this one. */
static void put_ratio(const tsr_bench_session *s, tsr_bench_row *row, const lane *l) {
  const tsr_bench_options *o = s->options;
  if (s->count < 2 || o->repeat == 0) return;
  const lane *versus = &s->lanes[o->versus.index];
  tsr_ratio ratio;
  if (versus == l || !takes_part(versus) || !tsr_ratio_of(versus->rates, l->rates, o->repeat, &ratio)) return;
  row->ratio = ratio.median;
  row->ratio_low = ratio.low;
  row->ratio_high = ratio.high;
}

static tsr_status finish_op(tsr_bench_session *s, tsr_bench_op op, size_t which, const tsr_bench_cost *cost,
                            tsr_error *error) {
  const tsr_bench_options *o = s->options;
  lane *l = &s->lanes[which];
  tsr_bench_counts counts;
  tsr_table_info info = info_of(s, l);
  snprintf(l->origin.code, sizeof l->origin.code, "%s", info.code);
  tsr_bench_options_told(o, op, l->origin.options, sizeof l->origin.options);
  tsr_origin_measured(&l->origin, s->info.backend, device_number(l->entrant->spec));
  tsr_status status = count_probes(s, op, which, &counts, error);
  if (status) return status;
  char *each = list_rates(s, l);
  tsr_bench_row row = {.op = tsr_bench_op_name(op),
                       .probes = counts.probes,
                       .warp_probes = counts.warp_probes,
                       .limit_mops = limit_of(s, &info, op, l->done),
                       .verdict = l->is_right ? TSR_BENCH_RIGHT : TSR_BENCH_WRONG,
                       .utilization = counts.utilization,
                       .not_placed = l->not_placed,
                       .bytes = info.bytes,
                       .registers = cost->registers,
                       .link_ms = cost->link_ms,
                       .hit_rate = l->hit_rate,
                       .each = each};
  put_rates(&row, l, o->repeat);
  put_ratio(s, &row, l);
  hand_row(s, &row, which, op);
  free(each);
  return TSR_OK;
}

/* A table that refuses what is asked of it takes no further part in this operation. */
static tsr_status judge_status(tsr_bench_session *s, size_t which, tsr_bench_op op, tsr_status status,
                               tsr_error *error) {
  if (status == TSR_OK || !tsr_bench_is_refusal(status)) return status;
  refuse(s, which, op, error);
  return TSR_OK;
}

static tsr_status measure_turn(tsr_bench_session *s, tsr_bench_op op, uint64_t turn, size_t which, tsr_error *error) {
  lane *l = &s->lanes[which];
  tsr_bench_result result;
  tsr_status status = l->entrant->rival && !tsr_bench_has_rivals(op)
                          ? tsr_fail(error, TSR_UNSUPPORTED, "no rival has the operation %s", tsr_bench_op_name(op))
                          : tsr_bench_measure(&s->arrays, &l->subject, op, &result, error);
  if (status) return judge_status(s, which, op, status, error);
  if (turn > 0) l->times[turn - 1] = result.milliseconds;
  if (turn > 0) l->rates[turn - 1] = (double)result.done / 1e3 / result.milliseconds;
  l->done = result.done;
  l->hit_rate = result.hit_rate;
  if (turn == 0 || result.not_placed > l->not_placed) l->not_placed = result.not_placed;
  complain(s, which, tsr_bench_op_name(op), &result);
  return TSR_OK;
}

static tsr_status measure_op(tsr_bench_session *s, tsr_bench_op op, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  tsr_bench_cost *costs = calloc(s->count, sizeof *costs);
  if (!costs) return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the costs of code");
  for (size_t i = 0; i < s->count; i++) {
    s->lanes[i].is_right = true;
    s->lanes[i].is_refused = tsr_bench_needs_fill(op) && !s->lanes[i].is_filled;
    if (!takes_part(&s->lanes[i]) || o->repeat == 0) continue;
    costs[i] = cost_of(s, &s->lanes[i], op);
    make_code(s, &s->lanes[i], op);
  }
  tsr_status status = tsr_bench_prepare(&s->arrays, op, error);
  for (uint64_t turn = 0; status == TSR_OK && turn <= o->repeat; turn++) {
    tsr_status_line("%s%s at load %s with keys %s, turn %llu of %llu", s->title, tsr_bench_op_name(op),
                    o->loads.each[s->load], o->keys.each[s->model].text, (unsigned long long)turn + 1,
                    (unsigned long long)o->repeat + 1);
    for (size_t i = 0; status == TSR_OK && i < s->count; i++)
      if (takes_part(&s->lanes[i])) status = measure_turn(s, op, turn, i, error);
  }
  for (size_t i = 0; status == TSR_OK && i < s->count; i++)
    if (takes_part(&s->lanes[i])) status = judge_status(s, i, op, finish_op(s, op, i, &costs[i], error), error);
  tsr_status_line_clear();
  free(costs);
  return status;
}

/* ---- One load -------------------------------------------------------------------------------- */

static tsr_status fill_tables(tsr_bench_session *s, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < s->count; i++) {
    lane *l = &s->lanes[i];
    tsr_bench_result result;
    if (!tsr_contender_is(&l->subject.on)) continue;
    l->is_right = true;
    make_other_code(l, TSR_BENCH_FIND100);
    status = tsr_bench_fill(&s->arrays, &l->subject, &result, error);
    l->is_filled = status == TSR_OK;
    if (status == TSR_OK) complain(s, i, "filling the table", &result);
    status = judge_status(s, i, TSR_BENCH_OPS, status, error);
  }
  return status;
}

/* The cpu backend's tiles have one lane: said once, however many sessions there are. */
static void tell_of_lanes(const tsr_bench_session *s, const tsr_bench_entrant *entrant) {
  static bool is_told;
  const char *lanes = tsr_spec_get(entrant->spec, "layout", "tile_lanes");
  uint64_t number;
  if (is_told || strcmp(s->info.backend, "cpu") != 0 || !lanes || !tsr_parse_u64(lanes, &number) || number <= 1) return;
  is_told = true;
  fprintf(stderr,
          "tessera: %s: [layout] tile_lanes = %s is for GPUs: the cpu backend has tiles of one lane, and ignores it\n",
          entrant->name, lanes);
}

/* Whether a table can take the keys, where some come again. */
static tsr_status check_promise(const tsr_bench_session *s, const tsr_spec *spec, tsr_error *error) {
  const tsr_keys *model = &s->models[s->model];
  const char *duplicates = policy_of(spec).duplicates;
  if (model->n == model->pairs || !duplicates || strcmp(duplicates, "promise_unique") != 0) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE,
                  "--keys %s: duplicates = promise_unique trusts that no key comes again: add --set "
                  "table.duplicates=first, or another policy",
                  s->options->keys.each[s->model].text);
}

/* What the spec asks of its table, in the words of rivals. */
static tsr_status shape_of(const tsr_bench_session *s, const tsr_spec *spec, tsr_rival_shape *shape, tsr_error *error) {
  static const struct {
    const char *duplicates;
    tsr_rival_merge merge;
  } merges[] = {{"promise_unique", TSR_RIVAL_DISTINCT},
                {"first", TSR_RIVAL_KEEP_FIRST},
                {"replace", TSR_RIVAL_KEEP_LAST},
                {"add", TSR_RIVAL_ADD},
                {"min", TSR_RIVAL_MIN},
                {"max", TSR_RIVAL_MAX}};
  const char *kind = tsr_spec_get(spec, "table", "kind"), *duplicates = tsr_spec_get(spec, "table", "duplicates");
  static const char *const kinds[] = {[TSR_RIVAL_SET] = "set",
                                      [TSR_RIVAL_MAP] = "map",
                                      [TSR_RIVAL_COUNTER] = "counter",
                                      [TSR_RIVAL_INDEX] = "index",
                                      [TSR_RIVAL_MULTIMAP] = "multimap"};
  const tsr_keys *model = &s->models[s->model];
  enum { KINDS = sizeof kinds / sizeof kinds[0] };
  uint32_t which = kind ? 0 : TSR_RIVAL_MAP;
  while (kind && which < KINDS && strcmp(kind, kinds[which]) != 0) which++;
  if (which == KINDS)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "rivals are sets, maps, multimaps, counters and indexes, and the spec has kind = %s", kind);
  if (s->info.key_bits > 64)
    return tsr_fail(error, TSR_UNSUPPORTED, "rivals take keys of 32 or 64 bits, and the spec has key_bits = %u",
                    s->info.key_bits);
  *shape = (tsr_rival_shape){.kind = which,
                             .key_bits = s->info.key_bits,
                             .value_bits = s->info.value_bits,
                             .capacity = which == TSR_RIVAL_MULTIMAP ? model->pairs : model->n,
                             .load_factor = tsr_bench_load(s->options->loads.each[s->load]),
                             .threads = s->origin.threads,
                             .device = strcmp(s->info.backend, "cuda") == 0 ? device_number(spec) : -1};
  for (size_t i = 0; duplicates && i < sizeof merges / sizeof merges[0]; i++)
    if (strcmp(duplicates, merges[i].duplicates) == 0) shape->merge = merges[i].merge;
  return TSR_OK;
}

static tsr_status open_rival(tsr_bench_session *s, size_t which, tsr_error *error) {
  lane *l = &s->lanes[which];
  const tsr_rival *rival = l->entrant->rival;
  tsr_rival_shape shape;
  l->origin = s->origin;
  l->origin.compiler = rival->about;
  if (rival->threads) l->origin.threads = rival->threads;
  tsr_origin_file(&l->origin, l->entrant->file);
  tsr_status status = shape_of(s, l->entrant->spec, &shape, error);
  if (status == TSR_OK && rival->on_device != (shape.device >= 0))
    status = tsr_fail(error, TSR_UNSUPPORTED, "its arrays are in %s memory, and the tables' are not: set table.backend",
                      rival->on_device ? "device" : "host");
  if (status == TSR_OK) status = tsr_foreign_open(rival, &shape, &l->subject.on.foreign, error);
  return judge_status(s, which, TSR_BENCH_OPS, status, error);
}

static tsr_status open_lane(tsr_bench_session *s, size_t which, tsr_error *error) {
  lane *l = &s->lanes[which];
  const tsr_spec *spec = l->entrant->spec;
  const size at = size_of(s, spec);
  const tsr_options options = options_of(s->options, at.capacity);
  const policy made = policy_of(spec);
  tsr_spec *copy = NULL;
  l->subject =
      (tsr_bench_subject){.on.spec = spec, .merge = made.merge, .again = made.again, .count_max = made.count_max};
  if (l->entrant->rival) return open_rival(s, which, error);
  l->origin = s->origin;
  tsr_status status = make_spec(spec, at.load, false, &copy, error);
  if (status == TSR_OK) status = tsr_spec_resolve(copy, &options, &l->resolution, error);
  tsr_spec_free(copy);
  if (status == TSR_OK) tsr_origin_compose(&l->origin, l->resolution.text, s->options->plugins);
  if (status == TSR_OK) status = check_promise(s, spec, error);
  if (status == TSR_OK)
    status = create_table(s->options, spec, at.load, false, at.capacity, &l->subject.on.table, error);
  status = judge_status(s, which, TSR_BENCH_OPS, status, error);
  if (status || !l->subject.on.table) return status;
  tell_of_lanes(s, l->entrant);
  if (strcmp(s->info.backend, "cuda") != 0) return TSR_OK;
  tsr_table_info info = {0};
  tsr_table_describe(l->subject.on.table, &info);
  tsr_bench_limits_measure(s->limits, device_number(spec), &info);
  return TSR_OK;
}

static void close_lane(lane *l) {
  tsr_bench_subject_free(&l->subject);
  tsr_resolution_free(&l->resolution);
  l->resolution = (tsr_resolution){0};
  l->is_filled = false;
}

static tsr_status measure_load(tsr_bench_session *s, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < s->count; i++) status = open_lane(s, i, error);
  bool is_filled = false;
  for (size_t op = 0; status == TSR_OK && op < TSR_BENCH_TABLE_OPS; op++) {
    if (!o->ops[op]) continue;
    if (tsr_bench_needs_fill((tsr_bench_op)op) && !is_filled) {
      status = fill_tables(s, error);
      is_filled = true;
    }
    if (status == TSR_OK) status = measure_op(s, (tsr_bench_op)op, error);
  }
  for (size_t i = 0; i < s->count; i++) close_lane(&s->lanes[i]);
  return status;
}

/* The arrays stay from one call to the next, where there is one distribution only. */
static tsr_status take_model(tsr_bench_session *s, size_t model, tsr_error *error) {
  if (s->model == model) return TSR_OK;
  tsr_bench_arrays_free(&s->arrays);
  s->model = s->options->keys.count;
  tsr_status status = tsr_bench_arrays_create(s->anchor, &s->models[model], s->options, &s->arrays, error);
  if (status == TSR_OK) s->model = model;
  return status;
}

tsr_status tsr_bench_session_measure(tsr_bench_session *s, const tsr_bench_entrant *entrants, size_t count,
                                     const char *title, tsr_bench_take take, void *context, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  double *times = calloc(2 * count * o->repeat, sizeof *times);
  s->lanes = calloc(count, sizeof *s->lanes);
  s->count = count;
  s->title = title;
  s->take = take;
  s->context = context;
  tsr_status status = TSR_OK;
  if (!times || !s->lanes)
    status = tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the results of %zu specs", count);
  for (size_t i = 0; status == TSR_OK && i < count; i++)
    s->lanes[i] =
        (lane){.entrant = &entrants[i], .times = times + i * o->repeat, .rates = times + (count + i) * o->repeat};
  for (size_t model = 0; status == TSR_OK && model < o->keys.count; model++) {
    status = take_model(s, model, error);
    for (s->load = 0; status == TSR_OK && s->load < o->loads.count; s->load++) status = measure_load(s, error);
  }
  free(s->lanes);
  free(times);
  s->lanes = NULL;
  return status;
}

const tsr_table_info *tsr_bench_session_info(const tsr_bench_session *s) { return &s->info; }

const tsr_origin *tsr_bench_session_origin(const tsr_bench_session *s) { return &s->origin; }

bool tsr_bench_session_is_right(const tsr_bench_session *s) { return s->is_right; }

/* ---- What suits a session -------------------------------------------------------------------- */

/* Specs share the arrays, so their tables must want the same ones. */
static tsr_status check_alike(const tsr_bench_session *s, const char *name, const tsr_table_info *info,
                              tsr_error *error) {
  if (info->key_bits != s->info.key_bits || info->value_bits != s->info.value_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: %s has key_bits = %u and value_bits = %u, but the first one has %u and %u: compare tables "
                    "of the same widths, or run bench for each",
                    name, info->key_bits, info->value_bits, s->info.key_bits, s->info.value_bits);
  if (strcmp(info->backend, s->info.backend) != 0 || strcmp(info->device, s->info.device) != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: %s runs on %s (%s), but the first one on %s (%s): run bench for each", name, info->backend,
                    info->device, s->info.backend, s->info.device);
  return TSR_OK;
}

static tsr_status check_kind(const tsr_bench_session *s, const tsr_bench_entrant *entrant, tsr_error *error) {
  const char *kind = tsr_spec_get(entrant->spec, "table", "kind");
  const bool is_index = is_kind(entrant->spec, "index"), is_cache = is_kind(entrant->spec, "cache");
  for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) {
    if (!s->options->ops[op]) continue;
    if (tsr_bench_is_of_cache((tsr_bench_op)op) != is_cache)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      is_cache ? "bench: --ops %s: %s has kind = %s: measure " TSR_BENCH_CACHE_OP_LIST
                               : "bench: --ops %s: %s has kind = %s, and only a cache has hits: use kind = cache",
                      tsr_bench_op_name((tsr_bench_op)op), entrant->name, kind);
    if (tsr_bench_is_of_index((tsr_bench_op)op) == is_index) continue;
    if (is_index)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "bench: --ops %s: %s has kind = index: measure " TSR_BENCH_INDEX_OP_LIST
                      ", or the map that it is made of, with kind = map and value_bits = 32",
                      tsr_bench_op_name((tsr_bench_op)op), entrant->name);
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --ops %s: %s has kind = %s, and only an index numbers keys: use kind = index",
                    tsr_bench_op_name((tsr_bench_op)op), entrant->name, kind);
  }
  if (s->options->ops[TSR_BENCH_FIND_ALL] && strcmp(kind, "multimap") != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --ops find_all: %s has kind = %s, and only a multimap has several values of a key to find: "
                    "use kind = multimap, or find100",
                    entrant->name, kind);
  return TSR_OK;
}

/* Whether the operations can take keys that come again. */
static tsr_status check_repeated(const tsr_bench_session *s, size_t model, tsr_error *error) {
  if (!s->options->ops[TSR_BENCH_MIXED] || s->models[model].n == s->models[model].pairs) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "bench: --keys %s: a mixed batch names each key once, so that every result is known: leave out the "
                  "one or the other",
                  s->options->keys.each[model].text);
}

tsr_status tsr_bench_session_check(tsr_bench_session *s, const tsr_bench_entrant *entrant, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  const uint64_t capacity = o->n < ANCHOR_CAPACITY ? o->n : ANCHOR_CAPACITY;
  tsr_table *table = NULL;
  tsr_status status = TSR_OK;
  for (size_t load = 0; !table && load < o->loads.count; load++) {
    status = create_table(o, entrant->spec, o->loads.each[load], false, capacity, &table, error);
    if (status && !tsr_bench_is_refusal(status)) return status;
  }
  if (!table) return TSR_OK;
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  status = check_alike(s, entrant->name, &info, error);
  tsr_table_destroy(table);
  if (status == TSR_OK) status = check_kind(s, entrant, error);
  for (size_t model = 0; status == TSR_OK && model < o->keys.count; model++) status = check_repeated(s, model, error);
  return status;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* A small table of the first spec and load that can be. */
static tsr_status open_anchor(tsr_bench_session *s, const tsr_bench_entrant *entrants, size_t count, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  const uint64_t capacity = o->n < ANCHOR_CAPACITY ? o->n : ANCHOR_CAPACITY;
  tsr_status status = TSR_OK;
  for (size_t i = 0; !s->anchor && i < count; i++)
    for (size_t load = 0; !s->anchor && load < o->loads.count; load++) {
      status = create_table(o, entrants[i].spec, o->loads.each[load], false, capacity, &s->anchor, error);
      if (status && !tsr_bench_is_refusal(status)) return status;
    }
  if (!s->anchor) return status;
  tsr_table_describe(s->anchor, &s->info);
  s->origin = (tsr_origin){.seed = o->seed ? o->seed : 1, .repeat = o->repeat};
  tsr_origin_begin(&s->origin, s->info.backend);
  static bool is_told; /* once, however many sessions there are */
  if (s->info.backend_reason[0] && !is_told)
    fprintf(stderr, "tessera: backend %s: %s\n", s->info.backend, s->info.backend_reason);
  is_told = true;
  return TSR_OK;
}

static tsr_status draw_keys(tsr_bench_session *s, tsr_error *error) {
  const tsr_bench_options *o = s->options;
  const bool needs_absent = o->ops[TSR_BENCH_FIND50] || o->ops[TSR_BENCH_FIND0] || o->ops[TSR_BENCH_MIXED];
  tsr_status status = TSR_OK;
  for (size_t model = 0; status == TSR_OK && model < o->keys.count; model++) {
    const bool takes_all = o->keys.each[model].kind == TSR_KEYS_FILE && !o->n_is_given;
    s->models[model] = (tsr_keys){.key_bits = s->info.key_bits,
                                  .value_bits = s->info.value_bits,
                                  .seed = o->seed ? o->seed : 1,
                                  .pairs = takes_all ? 0 : o->n};
    status = tsr_distribution_draw(&o->keys.each[model], needs_absent, &s->models[model], error);
  }
  return status;
}

/* The library begins to compile what has worked for long, which would be in the midst of the turns. */
static void forbid_compilers(bool forbids) {
  static const char name[] = "TESSERA_CC_ITEMS";
  static bool is_ours;
  if (forbids && !getenv(name)) is_ours = setenv(name, "9000000000000000000", 0) == 0;
  if (!forbids && is_ours) is_ours = unsetenv(name) != 0;
}

tsr_status tsr_bench_session_open(const tsr_bench_options *options, const tsr_bench_entrant *entrants, size_t count,
                                  tsr_bench_session **session, tsr_error *error) {
  tsr_bench_session *s = calloc(1, sizeof *s);
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for a session");
  s->options = options;
  forbid_compilers(options->code.compile == TSR_BENCH_BY_TABLES);
  s->is_right = true;
  s->model = options->keys.count;
  s->models = calloc(options->keys.count, sizeof *s->models);
  s->limits = tsr_bench_limits_create(LIMITS_MAX);
  tsr_status status = s->models && s->limits ? open_anchor(s, entrants, count, error)
                                             : tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for a session");
  if (status == TSR_OK) status = draw_keys(s, error);
  if (status) {
    tsr_bench_session_close(s);
    return status;
  }
  *session = s;
  return TSR_OK;
}

void tsr_bench_session_close(tsr_bench_session *s) {
  if (!s) return;
  tsr_bench_arrays_free(&s->arrays);
  tsr_table_destroy(s->anchor);
  for (size_t model = 0; s->models && model < s->options->keys.count; model++) tsr_keys_free(&s->models[model]);
  free(s->models);
  tsr_bench_limits_free(s->limits);
  free(s);
}
