/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera bench`: the specs of a command line, measured and compared. Read next: bench_session.h.
 */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "tools/lab/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lab/bench_devices.h"
#include "tools/lab/bench_pool.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/interval.h"
#include "tools/lab/outputs.h"
#include "tools/lab/rivals.h"

/* With --regret, ways of a batch, each by a spec of its own. */
enum { AS_CHOSEN, AT_RANDOM, IN_ORDER, WAYS };
static const char *const way_names[WAYS] = {"", "at random", "in order"};
enum { WAY_NAME_BYTES = 16 };

typedef struct bench {
  tsr_bench_options options;
  tsr_spec **specs;  /* those of the command line, then with --regret each of them in two other ways */
  char **names;      /* of these */
  size_t spec_count; /* of these */
  tsr_rivals rivals;
  tsr_bench_entrant *entrants; /* one for each spec, then for each rival */
  size_t entrant_count;
  tsr_bench_output *output;
  double *mops;  /* for each distribution, load, operation and spec; 0: refused */
  double *rates; /* for each of these options.repeat: its mops in every repetition */
  size_t measured;
  bool all_right;
} bench;

/* ---- Rows ------------------------------------------------------------------------------------ */

static size_t index_of(const bench *b, size_t model, size_t load, tsr_bench_op op, size_t spec) {
  const tsr_bench_options *o = &b->options;
  return ((model * o->loads.count + load) * TSR_BENCH_OPS + op) * b->entrant_count + spec;
}

static void take_row(void *context, const tsr_bench_row *row, const tsr_bench_place *place) {
  bench *b = context;
  tsr_bench_output_row(b->output, row);
  if (row->verdict == TSR_BENCH_REFUSED) return;
  b->measured++;
  const size_t at = index_of(b, place->model, place->load, place->op, place->entrant);
  b->mops[at] = row->mops;
  memcpy(&b->rates[at * b->options.repeat], place->rates, b->options.repeat * sizeof *b->rates);
}

/* What the repetitions say of a ratio's median. */
static void write_confidence(const tsr_ratio *ratio, char *text, size_t bytes) {
  if (!ratio->has_interval)
    snprintf(text, bytes, "no interval: that takes %d repetitions", TSR_INTERVAL_SAMPLES_MIN);
  else
    snprintf(text, bytes, "95 %% interval %.3f to %.3f%s", ratio->low, ratio->high,
             ratio->low <= 1 && ratio->high >= 1 ? ": no difference" : "");
}

/* How many times as fast the spec of --vs is as each other one. They were measured one after the other in each
 * repetition. */
static void print_ratios_of_specs(const bench *b, size_t load, tsr_bench_op op) {
  const tsr_bench_options *o = &b->options;
  char confidence[128];
  for (size_t model = 0; model < o->keys.count; model++)
    for (size_t spec = 0; spec < b->entrant_count; spec++) {
      const size_t one = index_of(b, model, load, op, o->versus.index), other = index_of(b, model, load, op, spec);
      tsr_ratio ratio;
      if (one == other || b->mops[one] <= 0 || b->mops[other] <= 0) continue;
      if (!tsr_ratio_of(&b->rates[one * o->repeat], &b->rates[other * o->repeat], o->repeat, &ratio)) continue;
      write_confidence(&ratio, confidence, sizeof confidence);
      tsr_bench_output_note(b->output, "ratio %s/%s: %s at load %g%s%s: %.3f (%.3f to %.3f), %s",
                            b->entrants[o->versus.index].name, b->entrants[spec].name, tsr_bench_op_name(op),
                            tsr_bench_load(o->loads.each[load]), o->keys.count > 1 ? " with keys " : "",
                            o->keys.count > 1 ? o->keys.each[model].text : "", ratio.median, ratio.least, ratio.most,
                            confidence);
    }
}

/* How many times as fast each further distribution of keys is as the first. */
static void print_ratios_of_keys(const bench *b, size_t load, tsr_bench_op op) {
  const tsr_bench_options *o = &b->options;
  for (size_t spec = 0; spec < b->entrant_count; spec++)
    for (size_t model = 1; model < o->keys.count; model++) {
      const double first = b->mops[index_of(b, 0, load, op, spec)], other = b->mops[index_of(b, model, load, op, spec)];
      if (first <= 0 || other <= 0) continue;
      tsr_bench_output_note(b->output, "ratio keys %s/%s: %s: %s at load %g: %.3f", o->keys.each[model].text,
                            o->keys.each[0].text, b->entrants[spec].name, tsr_bench_op_name(op),
                            tsr_bench_load(o->loads.each[load]), other / first);
    }
}

/* ---- Regret ---------------------------------------------------------------------------------- */

static size_t spec_in_way(const bench *b, size_t spec, size_t way) {
  return way == AS_CHOSEN ? spec : b->options.spec_count + (WAYS - 1) * spec + way - 1;
}

/* 0: the spec has no such way, or was refused. */
static double mops_in_way(const bench *b, size_t model, size_t load, tsr_bench_op op, size_t at) {
  for (size_t entrant = 0; b->names[at] && entrant < b->entrant_count; entrant++)
    if (b->entrants[entrant].name == b->names[at]) return b->mops[index_of(b, model, load, op, entrant)];
  return 0;
}

/* By how much the fastest way is faster than the one that the spec chooses, a share; below 0: there is one way. */
static double print_regret_of(const bench *b, size_t model, size_t load, tsr_bench_op op, size_t spec) {
  const tsr_bench_options *o = &b->options;
  double mops[WAYS], best = 0;
  for (size_t way = 0; way < WAYS; way++) {
    mops[way] = mops_in_way(b, model, load, op, spec_in_way(b, spec, way));
    best = mops[way] > best ? mops[way] : best;
  }
  if (mops[AS_CHOSEN] <= 0 || (mops[AT_RANDOM] <= 0 && mops[IN_ORDER] <= 0)) return -1;
  const double regret = best / mops[AS_CHOSEN] - 1;
  tsr_bench_output_note(
      b->output, "regret %s: %s at load %g with keys %s%s: %.1f %% (chosen %.0f, at random %.0f, in order %.0f)",
      b->entrants[spec].name, tsr_bench_op_name(op), tsr_bench_load(o->loads.each[load]), o->keys.each[model].text,
      o->codes ? " and codes" : "", 100 * regret, mops[AS_CHOSEN], mops[AT_RANDOM], mops[IN_ORDER]);
  return regret;
}

static void print_regrets(const bench *b) {
  const tsr_bench_options *o = &b->options;
  double worst = -1;
  for (size_t load = 0; o->versus.regret && load < o->loads.count; load++)
    for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++)
      for (size_t at = 0; o->ops[op] && at < o->keys.count * o->spec_count; at++) {
        const double regret = print_regret_of(b, at % o->keys.count, load, (tsr_bench_op)op, at / o->keys.count);
        worst = regret > worst ? regret : worst;
      }
  if (worst >= 0) tsr_bench_output_note(b->output, "regret of all: at most %.1f %%", 100 * worst);
}

static void print_ratios(const bench *b) {
  for (size_t load = 0; load < b->options.loads.count; load++)
    for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) {
      if (!b->options.ops[op]) continue;
      print_ratios_of_specs(b, load, (tsr_bench_op)op);
      print_ratios_of_keys(b, load, (tsr_bench_op)op);
    }
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* A filter has an order without pages. */
static bool has_ways(const tsr_spec *spec) {
  const char *pages = tsr_spec_get(spec, "table", "page_bytes");
  return (pages && strcmp(pages, "0") != 0) || !tsr_bench_fills_slots(spec);
}

/* The smallest batches that are put in order, as settings. */
static tsr_status set_way(tsr_spec *spec, size_t way, tsr_error *error) {
  const char *least = way == IN_ORDER ? "1" : "0";
  char text[64];
  tsr_status status = TSR_OK;
  snprintf(text, sizeof text, "table.find_batch=%s", least);
  if (way != AS_CHOSEN) status = tsr_spec_set(spec, text, error);
  snprintf(text, sizeof text, "table.page_batch=%s", least);
  return status || way == AS_CHOSEN || !tsr_bench_fills_slots(spec) ? status : tsr_spec_set(spec, text, error);
}

/* A spec of the command line in one way; none where it has no other one. */
static tsr_status read_spec(bench *b, size_t spec, size_t way, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const size_t at = spec_in_way(b, spec, way), bytes = strlen(o->specs[spec]) + WAY_NAME_BYTES;
  tsr_status status = tsr_spec_read(o->specs[spec], &b->specs[at], error);
  for (size_t i = 0; status == TSR_OK && i < o->set_count; i++) status = tsr_spec_set(b->specs[at], o->sets[i], error);
  if (status || (way != AS_CHOSEN && !has_ways(b->specs[at]))) return status;
  b->names[at] = malloc(bytes);
  if (!b->names[at]) return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for a name");
  snprintf(b->names[at], bytes, "%s%s%s", o->specs[spec], way == AS_CHOSEN ? "" : " ", way_names[way]);
  return set_way(b->specs[at], way, error);
}

static tsr_status read_all(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_status status = TSR_OK;
  for (size_t at = 0; status == TSR_OK && at < b->spec_count; at++) {
    const size_t other = at - o->spec_count; /* of those that come behind */
    const bool is_first = at < o->spec_count;
    status = read_spec(b, is_first ? at : other / (WAYS - 1), is_first ? 0 : 1 + other % (WAYS - 1), error);
    if (status == TSR_OK && b->names[at])
      b->entrants[b->entrant_count++] = (tsr_bench_entrant){.name = b->names[at], .spec = b->specs[at]};
  }
  return status;
}

static tsr_status read_specs(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  b->spec_count = o->spec_count * (o->versus.regret ? WAYS : 1);
  b->specs = calloc(b->spec_count, sizeof *b->specs);
  b->names = calloc(b->spec_count, sizeof *b->names);
  tsr_status status = tsr_rivals_open(o->versus.beside, o->versus.beside_count, &b->rivals, error);
  if (status) return status;
  const size_t most = b->spec_count + b->rivals.count;
  b->entrants = calloc(most, sizeof *b->entrants);
  const size_t figures = o->keys.count * o->loads.count * most * TSR_BENCH_OPS;
  b->mops = calloc(figures, sizeof *b->mops);
  b->rates = calloc(figures * o->repeat, sizeof *b->rates);
  if (!b->specs || !b->names || !b->entrants || !b->mops || !b->rates)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the results of %zu specs", o->spec_count);
  status = read_all(b, error);
  for (size_t i = 0; status == TSR_OK && i < b->rivals.count; i++)
    b->entrants[b->entrant_count++] = (tsr_bench_entrant){.name = b->rivals.each[i]->name,
                                                          .spec = b->specs[o->versus.index],
                                                          .rival = b->rivals.each[i],
                                                          .file = b->rivals.files[i]};
  return status;
}

static tsr_status open_output(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const bool as_table = !o->outputs.is_csv && isatty(STDOUT_FILENO);
  return tsr_bench_output_open(o->outputs.append ? o->outputs.append : o->outputs.out, o->outputs.append, as_table,
                               o->outputs.json, &b->output, error);
}

/* Whatever does not suit all specs is said before anything is measured. */
static tsr_status measure_tables(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_bench_session *session = NULL;
  tsr_status status = tsr_bench_session_open(o, b->entrants, o->spec_count, &session, error);
  for (size_t i = 0; status == TSR_OK && i < o->spec_count; i++)
    status = tsr_bench_session_check(session, &b->entrants[i], error);
  if (status == TSR_OK) status = open_output(b, error);
  if (status == TSR_OK)
    status = tsr_bench_session_measure(session, b->entrants, b->entrant_count, "", take_row, b, error);
  if (status == TSR_OK) {
    b->all_right = tsr_bench_session_is_right(session);
    print_ratios(b);
    print_regrets(b);
  }
  tsr_bench_session_close(session);
  return status;
}

static tsr_status measure_devices(bench *b, tsr_error *error) {
  const char *transport = b->options.sharing.group;
  tsr_group *group = NULL;
  uint32_t rank = 0, size;
  tsr_status status = transport ? tsr_group_create_by(transport, NULL, NULL, &group, error) : TSR_OK;
  if (status == TSR_OK && group) status = tsr_group_describe(group, &rank, &size, error);
  if (status == TSR_OK && rank == 0) status = open_output(b, error); /* the first process writes */
  if (status == TSR_OK) status = tsr_bench_devices(&b->options, b->specs, group, b->output, &b->all_right, error);
  tsr_group_destroy(group);
  b->measured = 1;
  return status;
}

static tsr_status measure_pools(bench *b, tsr_error *error) {
  tsr_status status = open_output(b, error);
  if (status == TSR_OK) status = tsr_bench_pools(&b->options, b->specs, b->output, &b->all_right, error);
  b->measured = 1;
  return status;
}

/* No keys make no rates: the outputs have no rows. */
static tsr_status measure_nothing(bench *b, tsr_error *error) {
  fprintf(stderr, "note: bench: --n 0: there is nothing to measure\n");
  b->measured = 1;
  return open_output(b, error);
}

/* Of the outputs none may be another one, a spec, or a file of keys. */
static tsr_status check_outputs(const tsr_bench_options *o, tsr_error *error) {
  const tsr_named_path outputs[] = {
      {"--out", o->outputs.out}, {"--append", o->outputs.append}, {"--json", o->outputs.json}};
  tsr_named_path *inputs = calloc(o->spec_count + o->keys.count, sizeof *inputs);
  if (!inputs) return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the names of files");
  for (size_t i = 0; i < o->spec_count; i++) inputs[i] = (tsr_named_path){"SPEC", o->specs[i]};
  for (size_t i = 0; i < o->keys.count; i++)
    inputs[o->spec_count + i] = (tsr_named_path){"--keys", o->keys.each[i].path};
  tsr_status status =
      tsr_outputs_check(outputs, sizeof outputs / sizeof outputs[0], inputs, o->spec_count + o->keys.count, error);
  free(inputs);
  return status;
}

static tsr_status run(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_status status = check_outputs(o, error);
  if (status == TSR_OK) status = read_specs(b, error);
  if (status) return status;
  if (!o->n) return measure_nothing(b, error);
  if (o->sharing.devices) return measure_devices(b, error);
  return tsr_bench_wants_pools(o) ? measure_pools(b, error) : measure_tables(b, error);
}

static void clean_up(bench *b) {
  for (size_t spec = 0; b->specs && b->names && spec < b->spec_count; spec++) {
    tsr_spec_free(b->specs[spec]);
    free(b->names[spec]);
  }
  free(b->specs);
  free(b->names);
  tsr_rivals_free(&b->rivals);
  free(b->entrants);
  free(b->mops);
  free(b->rates);
  tsr_bench_options_free(&b->options);
}

int tsr_bench_command(int argc, char **argv) {
  bench b = {.all_right = true};
  tsr_error error, of_output;
  tsr_status status = tsr_bench_options_read(argc, argv, &b.options, &error);
  if (status == TSR_OK) status = run(&b, &error);
  if (status) fprintf(stderr, "tessera: %s\n", error.message);
  const tsr_status written = b.output ? tsr_bench_output_close(b.output, &of_output) : TSR_OK;
  if (written) fprintf(stderr, "tessera: %s\n", of_output.message);
  const size_t measured = b.measured;
  clean_up(&b);
  if (status || written) return tsr_words_exit(status ? status : written);
  return !measured ? 2 : b.all_right ? 0 : 1;
}
