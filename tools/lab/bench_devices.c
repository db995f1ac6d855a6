/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring tables of several devices (bench_devices.h).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "tools/lab/bench_devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lab/bench_arrays.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/devices_model.h"
#include "tools/lab/keys.h"
#include "tools/lab/status_line.h"

typedef unsigned long long llu; /* for printf */

enum { DEVICES_MAX = 64, LINK_TRIES = 3 };

typedef enum stage { ONE, SPLIT, WEAK, STRONG, STAGES, GROUP = STAGES } stage; /* GROUP: alone, of --group */
static const char *const stage_names[STAGES + 1] = {"one", "split", "weak", "strong", "group"};

enum { OPS = 4 };
static const tsr_bench_op ops[OPS] = {TSR_BENCH_INSERT, TSR_BENCH_FIND100, TSR_BENCH_FIND50, TSR_BENCH_FIND0};
static const tsr_absent absent[OPS] = {TSR_ABSENT_NONE, TSR_ABSENT_NONE, TSR_ABSENT_HALF, TSR_ABSENT_ALL};

typedef struct bench {
  const tsr_bench_options *options;
  const char *name; /* of the spec */
  const char *load;
  tsr_bench_output *output;
  bool *all_right;
  tsr_group *group; /* of processes; NULL: this one is alone */
  uint32_t rank, ranks;
  uint32_t devices;            /* of --devices */
  double one_ms[OPS];          /* what the stage of one device took; 0: not measured */
  double split_ms[OPS];        /* and that of one split device */
  double link_bytes_per_ms;    /* from one device's memory to another's; 0: unknown */
  tsr_devices_batch part[OPS]; /* of a device, as the model wants it; no items: not measured */
} bench;

/* A table at one stage, and its arrays: host copies of all parts, one behind the other, and each part's own. */
typedef struct subject {
  stage stage;
  tsr_group *group;
  uint32_t rank, ranks;
  const char *numbers; /* of its devices */
  tsr_table *table;
  tsr_table_info info;
  tsr_keys model;
  tsr_queries asked;
  uint32_t count;
  tsr_batch_part parts[DEVICES_MAX];
  void *keys[DEVICES_MAX], *values[DEVICES_MAX], *queries[DEVICES_MAX], *out[DEVICES_MAX];
  void *host; /* what is copied to or from the parts */
  uint64_t key_bytes, value_bytes, out_bytes;
  tsr_call call;
} subject;

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* ---- Specs ----------------------------------------------------------------------------------- */

static bool is_about_devices(const tsr_spec_item *entry) {
  return strcmp(entry->section, "devices") == 0 ||
         (strcmp(entry->section, "table") == 0 &&
          (strcmp(entry->key, "devices") == 0 || strcmp(entry->key, "device") == 0));
}

/* The spec for a stage: of one device it has no [devices]. */
static tsr_status make_spec(const bench *b, const tsr_spec *spec, const subject *s, tsr_spec **made, tsr_error *error) {
  char assignment[512];
  tsr_spec_item entry;
  tsr_status status = tsr_spec_parse("[table]\n", b->name, made, error);
  for (size_t i = 0; status == TSR_OK && tsr_spec_get_at(spec, i, &entry); i++) {
    const bool is_devices = is_about_devices(&entry), is_list = is_devices && strcmp(entry.section, "table") == 0;
    if (is_list || (is_devices && s->stage == ONE)) continue;
    snprintf(assignment, sizeof assignment, "%s.%s=%s", entry.section, entry.key, entry.value);
    status = tsr_spec_set(*made, assignment, error);
  }
  snprintf(assignment, sizeof assignment, "table.%s=%s", s->stage == ONE ? "device" : "devices", s->numbers);
  if (status == TSR_OK) status = tsr_spec_set(*made, assignment, error);
  return status ? status : tsr_bench_set_load(*made, b->load, error);
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* Items of a part: each device of each process has one. */
static uint64_t part_items(const subject *s) { return s->model.n / s->ranks / s->count; }

static tsr_status allocate_parts(subject *s, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < s->count; i++) {
    const uint64_t n = part_items(s);
    s->parts[i] = (tsr_batch_part){.size = sizeof *s->parts, .n = n, .call = &s->call};
    status = tsr_memory_allocate_on(s->table, i, n * s->key_bytes, &s->keys[i], error);
    if (status == TSR_OK && s->value_bytes)
      status = tsr_memory_allocate_on(s->table, i, n * s->value_bytes, &s->values[i], error);
    if (status == TSR_OK) status = tsr_memory_allocate_on(s->table, i, n * s->key_bytes, &s->queries[i], error);
    if (status == TSR_OK) status = tsr_memory_allocate_on(s->table, i, n * s->out_bytes, &s->out[i], error);
  }
  return status;
}

/* The host's array, part by part, to the arrays of the devices, or back. */
static tsr_status spread(const subject *s, void *const *arrays, uint64_t bytes, bool back, tsr_error *error) {
  const uint64_t part_bytes = part_items(s) * bytes;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < s->count; i++) {
    char *host = (char *)s->host + (s->rank * s->count + i) * part_bytes;
    status = tsr_memory_copy(s->table, back ? host : arrays[i], back ? arrays[i] : host, part_bytes, error);
  }
  return status;
}

static tsr_status fill_arrays(subject *s, tsr_error *error) {
  const uint64_t widest = s->key_bytes > s->out_bytes ? s->key_bytes : s->out_bytes;
  s->host = malloc(s->model.n * widest);
  if (!s->host)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for %llu keys and their answers: use a smaller --n",
                    (llu)s->model.n);
  tsr_status status = allocate_parts(s, error);
  if (status) return status;
  tsr_keys_fill(&s->model, s->host);
  status = spread(s, s->keys, s->key_bytes, false, error);
  if (status || !s->value_bytes) return status;
  tsr_keys_fill_values(&s->model, s->host);
  return spread(s, s->values, s->value_bytes, false, error);
}

static void close_subject(subject *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    void *const arrays[] = {s->keys[i], s->values[i], s->queries[i], s->out[i]};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) tsr_memory_free(s->table, arrays[k]);
  }
  free(s->host);
  tsr_table_destroy(s->table);
}

static tsr_status open_subject(const bench *b, const tsr_spec *spec, subject *s, tsr_error *error) {
  const tsr_bench_options *o = b->options;
  const uint64_t share = s->stage == STRONG ? o->n / s->count : o->n; /* all parts are of one size */
  const uint64_t all = share * s->count * s->ranks;
  const tsr_options options = {.plugins = o->plugins, .capacity = all, .seed = o->seed};
  tsr_spec *made = NULL;
  tsr_status status = make_spec(b, spec, s, &made, error);
  if (status == TSR_OK)
    status = s->group ? tsr_group_table_create(s->group, made, &options, &s->table, error)
                      : tsr_table_create(made, &options, &s->table, error);
  tsr_spec_free(made);
  if (status) return status;
  tsr_table_describe(s->table, &s->info);
  s->key_bytes = s->info.key_bits / 8;
  s->value_bytes = s->info.value_bits / 8;
  s->out_bytes = s->value_bytes ? s->value_bytes : 1;
  s->model = (tsr_keys){
      .key_bits = s->info.key_bits, .value_bits = s->info.value_bits, .n = all, .pairs = all, .seed = o->seed};
  s->call = (tsr_call){.missing = TSR_BENCH_MISSING};
  status = fill_arrays(s, error);
  const uint32_t calls = TSR_PREPARE_INSERT | (s->value_bytes ? TSR_PREPARE_FIND : TSR_PREPARE_CONTAINS);
  return status ? status : tsr_table_prepare(s->table, calls, error);
}

/* ---- One operation --------------------------------------------------------------------------- */

static uint64_t missing_of(const subject *s) {
  return s->value_bytes ? TSR_BENCH_MISSING & tsr_keys_mask(s->model.value_bits) : 0;
}

/* How many answers of this process are wrong. The host's array has them. */
static uint64_t judge(const subject *s) {
  const uint64_t first = s->rank * s->count * part_items(s), end = first + s->count * part_items(s);
  uint64_t wrong = 0;
#ifndef TSR_PTHREADS
#pragma omp parallel for schedule(static) reduction(+ : wrong)
#endif
  for (uint64_t i = first; i < end; i++) {
    const uint64_t index = tsr_keys_asked(&s->model, s->asked, i);
    const uint64_t value = s->value_bytes ? tsr_keys_value(&s->model, tsr_keys_at(&s->model, index)) : 1;
    wrong += tsr_keys_load(s->host, (uint32_t)s->out_bytes * 8, i) != (index < s->model.n ? value : missing_of(s));
  }
  return wrong;
}

static void complain(const bench *b, const subject *s, tsr_bench_op op, uint64_t wrong) {
  *b->all_right = false;
  tsr_status_line_clear();
  fprintf(stderr, "tessera: %s at load %s, stage %s on devices %s: %s: %llu of %llu %s\n", b->name, b->load,
          stage_names[s->stage], s->numbers, tsr_bench_op_name(op), (llu)wrong, (llu)s->model.n,
          op == TSR_BENCH_INSERT ? "keys are not there: they found no room, or were lost" : "answers are wrong");
}

/* The arrays of an operation, the answers spoilt. */
static tsr_status prepare(subject *s, bool inserts, tsr_error *error) {
  tsr_status status = inserts ? tsr_clear(s->table, NULL, error) : TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < s->count; i++) {
    tsr_batch_part *p = &s->parts[i];
    p->keys = inserts ? s->keys[i] : s->queries[i];
    p->values = inserts && s->value_bytes ? s->values[i] : NULL;
    p->found = s->value_bytes ? s->out[i] : NULL;
    p->present = s->value_bytes ? NULL : s->out[i];
    const uint64_t bytes = s->key_bytes < s->out_bytes ? s->key_bytes : s->out_bytes;
    if (!inserts) status = tsr_memory_copy(s->table, s->out[i], s->queries[i], p->n * bytes, error);
  }
  return status ? status : tsr_table_wait(s->table, error);
}

static tsr_status check(const bench *b, subject *s, tsr_bench_op op, tsr_bench_row *row, tsr_error *error) {
  uint64_t wrong = 0, size = 0;
  tsr_status status = TSR_OK;
  if (op == TSR_BENCH_INSERT) {
    status = tsr_size(s->table, &size, error);
    wrong = s->model.n - size;
    row->not_placed = wrong;
  } else {
    status = spread(s, s->out, s->out_bytes, true, error);
    if (status == TSR_OK) wrong = judge(s);
    if (status == TSR_OK && s->group) status = tsr_group_add_up(s->group, 1, &wrong, error);
  }
  if (status == TSR_OK && wrong && row->verdict == TSR_BENCH_RIGHT) complain(b, s, op, wrong);
  if (wrong) row->verdict = TSR_BENCH_WRONG;
  return status;
}

/* The call, to the end of the work on all devices. */
static tsr_status run_call(subject *s, tsr_bench_op op, double *ms, tsr_error *error) {
  const uint32_t call = op == TSR_BENCH_INSERT ? TSR_PREPARE_INSERT
                        : s->value_bytes       ? TSR_PREPARE_FIND
                                               : TSR_PREPARE_CONTAINS;
  uint64_t ready = 1;
  tsr_status status = s->group ? tsr_group_add_up(s->group, 1, &ready, error) : TSR_OK;
  const double begin = now_ms();
  if (status == TSR_OK) status = tsr_call_parts(s->table, call, s->count, s->parts, error);
  if (status == TSR_OK) status = tsr_table_wait(s->table, error);
  *ms = now_ms() - begin;
  return status;
}

/* A turn is timed right after one that is not: the host has judged the answers before, and a batch on devices and links that
 * were idle takes up to twice as long. */
static tsr_status run_turn(subject *s, tsr_bench_op op, double *ms, tsr_phases *phases, tsr_error *error) {
  tsr_status status = prepare(s, op == TSR_BENCH_INSERT, error);
  if (status == TSR_OK) status = run_call(s, op, ms, error);
  if (status == TSR_OK) status = prepare(s, op == TSR_BENCH_INSERT, error);
  if (status == TSR_OK && s->stage != ONE) status = tsr_phases_start(s->table, error);
  if (status == TSR_OK) status = run_call(s, op, ms, error);
  if (status == TSR_OK && s->stage != ONE) status = tsr_phases_stop(s->table, phases, error);
  return status;
}

/* What the way from the first device's memory to the second's carries, one way. */
static tsr_status measure_link(bench *b, const subject *s, tsr_error *error) {
  const uint64_t bytes = s->parts[0].n * s->key_bytes;
  tsr_status status = TSR_OK;
  for (int i = 0; status == TSR_OK && i < LINK_TRIES; i++) {
    const double begin = now_ms();
    status = tsr_memory_copy(s->table, s->queries[1], s->keys[0], bytes, error);
    const double rate = (double)bytes / (now_ms() - begin);
    b->link_bytes_per_ms = rate > b->link_bytes_per_ms ? rate : b->link_bytes_per_ms;
  }
  return status;
}

/* How long the link needs for that many bytes; 0: unknown. */
static double link_ms(const bench *b, uint64_t bytes) {
  return b->link_bytes_per_ms > 0 ? (double)bytes / b->link_bytes_per_ms : 0;
}

/* What the time of the batch should be, by the model. */
static double predict_ms(const bench *b, const subject *s, int op, const tsr_phases *phases) {
  const double travel = link_ms(b, phases->sent_bytes - phases->hidden_bytes), chunks = (double)phases->chunks;
  const double work = b->split_ms[op] * (s->stage == STRONG ? 1. / s->count : 1);
  if (s->stage < WEAK || work <= 0 || chunks < 1) return 0;
  if (phases->is_direct) return tsr_devices_expect_direct(work, travel, s->count);
  return tsr_devices_expect_copied(work, travel, chunks);
}

/* What is known of a device's part. Where no other device was there to send to, a find hides its answers. */
static void note_part(bench *b, const subject *s, int op, const tsr_phases *phases) {
  const double items = (double)s->model.n / s->count, sent = items * (s->count - 1) / s->count;
  const double asked = (double)(s->key_bytes + (ops[op] == TSR_BENCH_INSERT ? s->value_bytes : 0));
  const double answered = ops[op] == TSR_BENCH_INSERT ? 0 : (double)s->out_bytes;
  b->part[op] =
      (tsr_devices_batch){.work_ms = b->split_ms[op],
                          .chunks = phases->chunks ? (double)phases->chunks : 1,
                          .shown_bytes = sent > 0 ? (double)(phases->sent_bytes - phases->hidden_bytes) / sent : asked,
                          .all_bytes = sent > 0 ? (double)phases->sent_bytes / sent : asked + answered,
                          .items = items};
}

/* A line for each shape of --expect and each operation that was measured. */
static void print_expected(const bench *b) {
  const tsr_bench_sharing *sharing = &b->options->sharing;
  const double gigabyte_ms = 1e6;
  const tsr_devices_wires wires = {.link = sharing->link > 0 ? sharing->link * gigabyte_ms : b->link_bytes_per_ms,
                                   .network = sharing->network * gigabyte_ms};
  tsr_devices_shape shape;
  for (const char *at = sharing->expect; at && *at;) {
    const char *const begin = at;
    if (!tsr_devices_shape_read(&at, &shape)) return;
    const int length = (int)strcspn(begin, ",");
    for (int op = 0; op < OPS; op++) {
      const tsr_devices_batch *part = &b->part[op];
      if (part->items <= 0) continue;
      const double ms = tsr_devices_expect(part, &wires, shape), all = (double)shape.hosts * shape.devices;
      if (ms > 0)
        tsr_bench_output_note(b->output, "expected %s %s on %.*s: %.1f mops, scaling %.2f", b->name,
                              tsr_bench_op_name(ops[op]), length, begin, all * part->items / 1e3 / ms,
                              b->one_ms[op] > 0 ? b->one_ms[op] / ms : 0);
      else
        tsr_bench_output_note(b->output, "expected %s %s on %.*s: unknown, give %s", b->name,
                              tsr_bench_op_name(ops[op]), length, begin,
                              wires.link <= 0 && shape.devices > 1 ? "--link" : "--network");
    }
  }
}

static void print_row(bench *b, const subject *s, int op, double *times, const tsr_phases *phases, tsr_bench_row *row) {
  const tsr_bench_options *o = b->options;
  const double ms = tsr_bench_median(times, o->repeat), thousands = (double)s->model.n / 1e3;
  const double demanded = link_ms(b, phases->sent_bytes), shown = link_ms(b, phases->sent_bytes - phases->hidden_bytes);
  const double wanted = b->one_ms[op] * (s->stage == STRONG ? 1. / s->count : 1);
  const double predicted = predict_ms(b, s, op, phases);
  if (s->stage == ONE) b->one_ms[op] = ms;
  if (s->stage == SPLIT) b->split_ms[op] = ms;
  if (s->stage == WEAK) note_part(b, s, op, phases);
  row->mops = thousands / ms;
  row->mops_min = thousands / times[o->repeat - 1];
  row->mops_max = thousands / times[0];
  row->devices = s->numbers;
  row->stage = stage_names[s->stage];
  row->split_ms = phases->split_ms;
  row->exchange_ms = phases->exchange_ms;
  row->work_ms = phases->work_ms;
  row->answer_ms = phases->answer_ms;
  const double answer_ms = phases->hidden_bytes ? 0 : phases->answer_ms;
  const double sending_ms = phases->is_direct ? phases->split_ms + answer_ms : phases->exchange_ms;
  if (s->stage >= WEAK && sending_ms > 0) row->pct_link = 100 * shown / sending_ms;
  if (s->stage != ONE && wanted > 0) row->scaling = wanted / ms;
  if (s->stage != ONE && wanted > 0 && ms > demanded) row->scaling_net = wanted / (ms - demanded);
  if (predicted > 0) row->model_mops = thousands / predicted;
  row->origin = (tsr_origin){.seed = o->seed ? o->seed : 1, .repeat = o->repeat};
  tsr_origin_begin(&row->origin, row->backend);
  tsr_origin_measured(&row->origin, row->backend, (int)strtol(s->numbers, NULL, 10));
  tsr_bench_output_row(b->output, row);
}

static tsr_status measure_op(bench *b, subject *s, int op, tsr_error *error) {
  const tsr_bench_options *o = b->options;
  tsr_phases phases = {.size = sizeof phases};
  double *times = calloc(o->repeat, sizeof *times), ms = 0;
  tsr_bench_row row = {.spec = b->name,
                       .backend = s->info.backend,
                       .device = s->info.device,
                       .op = tsr_bench_op_name(ops[op]),
                       .key_bits = s->info.key_bits,
                       .value_bits = s->info.value_bits,
                       .n = s->model.n,
                       .load = tsr_bench_load(b->load),
                       .verdict = TSR_BENCH_RIGHT,
                       .keys = o->keys.each[0].text,
                       .distinct = s->model.n,
                       .not_placed = TSR_BENCH_UNKNOWN,
                       .bytes = s->info.bytes};
  tsr_status status = times ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the times");
  s->asked = (tsr_queries){.of_pairs = true, .absent = absent[op]};
  if (status == TSR_OK && ops[op] != TSR_BENCH_INSERT) {
    tsr_keys_fill_queries(&s->model, s->asked, s->host);
    status = spread(s, s->queries, s->key_bytes, false, error);
  }
  for (uint64_t turn = 0; status == TSR_OK && turn <= o->repeat; turn++) { /* the first one warms up */
    tsr_status_line("%s on devices %s: %s, turn %llu of %llu", stage_names[s->stage], s->numbers, row.op, (llu)turn + 1,
                    (llu)o->repeat + 1);
    status = run_turn(s, ops[op], &ms, &phases, error);
    if (status == TSR_OK) status = check(b, s, ops[op], &row, error);
    if (turn > 0) times[turn - 1] = ms;
  }
  tsr_status_line_clear();
  if (status == TSR_OK && s->stage >= WEAK && s->count > 1 && ops[op] == TSR_BENCH_INSERT)
    status = measure_link(b, s, error); /* the insert has let the devices reach each other */
  if (status == TSR_OK && s->rank == 0) print_row(b, s, op, times, &phases, &row);
  free(times);
  return status;
}

static tsr_status fill_table(subject *s, tsr_error *error) {
  double ms;
  tsr_phases phases = {.size = sizeof phases};
  return run_turn(s, TSR_BENCH_INSERT, &ms, &phases, error);
}

/* The device of a process: each rank takes the next one of the list, and from the first on again. */
static const char *device_of(const bench *b) {
  const char *at = b->options->sharing.devices;
  for (uint32_t i = b->rank % b->devices; i > 0; i--) at = strchr(at, ',') + 1;
  return at;
}

static tsr_status measure_stage(bench *b, const tsr_spec *spec, stage which, tsr_error *error) {
  const tsr_bench_options *o = b->options;
  const char *const own = device_of(b);
  const bool is_one = which < WEAK || which == GROUP;
  char number[24];
  snprintf(number, sizeof number, "%.*s", (int)strcspn(own, ","), own);
  subject s = {.stage = which,
               .group = b->group,
               .rank = b->rank,
               .ranks = b->ranks,
               .numbers = is_one ? number : o->sharing.devices,
               .count = is_one ? 1 : b->devices};
  tsr_status status = open_subject(b, spec, &s, error);
  if (status == TSR_OK && !o->ops[TSR_BENCH_INSERT]) status = fill_table(&s, error);
  for (int op = 0; status == TSR_OK && op < OPS; op++)
    if (o->ops[ops[op]]) status = measure_op(b, &s, op, error);
  close_subject(&s);
  return status;
}

/* The stages of processes that are alone, or that of a group. */
static tsr_status measure_stages(bench *b, const tsr_spec *spec, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (b->group) return measure_stage(b, spec, GROUP, error);
  for (int which = ONE; status == TSR_OK && which < STAGES; which++)
    status = measure_stage(b, spec, (stage)which, error);
  if (status == TSR_OK) print_expected(b);
  return status;
}

tsr_status tsr_bench_devices(const tsr_bench_options *o, tsr_spec *const *specs, tsr_group *group,
                             tsr_bench_output *output, bool *all_right, tsr_error *error) {
  uint32_t rank = 0, ranks = 1;
  tsr_status status = group ? tsr_group_describe(group, &rank, &ranks, error) : TSR_OK;
  for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++)
    for (size_t load = 0; status == TSR_OK && load < o->loads.count; load++) {
      bench b = {.options = o,
                 .name = o->specs[spec],
                 .load = o->loads.each[load],
                 .output = output,
                 .all_right = all_right,
                 .group = group,
                 .rank = rank,
                 .ranks = ranks};
      for (const char *at = o->sharing.devices; at; at = strchr(at + 1, ',')) b.devices++;
      status = measure_stages(&b, specs[spec], error);
    }
  return status;
}
