/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and printing the front (front.h).
 */
#include "tools/lab/front.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/bench_rows.h"
#include "tools/lab/json.h"
#include "tools/lab/sweep_run.h"

enum { INSERT, FIND100, FIND0, MEASURED };
static const char *const op_names[MEASURED] = {"insert", "find100", "find0"};

/* A table at a load. */
typedef struct candidate {
  const tsr_point *point;
  const char *keys;
  double load, mops[MEASURED]; /* 0: not measured */
  double pair_bytes;
  bool is_wrong;
} candidate;

typedef struct front {
  candidate *all;
  size_t count;
} front;

static const char *text_of(const tsr_results *r, size_t row, const char *column) {
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count ? tsr_results_field(r, row, at) : "";
}

static double number_of(const tsr_results *r, size_t row, const char *column) {
  double number = 0;
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count && tsr_results_number(r, row, at, &number) ? number : 0;
}

/* The candidate that a row is of; of a later row of the same there are newer figures. */
static candidate *candidate_of(front *f, const tsr_point *point, double load, const char *keys) {
  for (size_t i = 0; i < f->count; i++)
    if (f->all[i].point == point && f->all[i].load == load && strcmp(f->all[i].keys, keys) == 0) return &f->all[i];
  f->all[f->count] = (candidate){.point = point, .keys = keys, .load = load};
  return &f->all[f->count++];
}

static void add_row(front *f, const tsr_point *point, const tsr_results *r, size_t row) {
  const char *verdict = text_of(r, row, "ok"), *op = text_of(r, row, "op");
  const double pairs =
      number_of(r, row, strncmp(tsr_spec_get(point->spec, "table", "kind"), "multi", 5) == 0 ? "n" : "distinct");
  candidate *c = candidate_of(f, point, number_of(r, row, "load"), text_of(r, row, "keys"));
  c->is_wrong = c->is_wrong || strcmp(verdict, "yes") != 0;
  if (pairs > 0) c->pair_bytes = number_of(r, row, "bytes") / pairs;
  for (size_t i = 0; i < MEASURED; i++)
    if (strcmp(op, op_names[i]) == 0) c->mops[i] = number_of(r, row, "mops");
}

static bool is_comparable(const candidate *a, const candidate *b) {
  return strcmp(a->point->session, b->point->session) == 0 && strcmp(a->keys, b->keys) == 0;
}

static bool beats(const candidate *a, const candidate *b) {
  bool is_better = a->pair_bytes < b->pair_bytes;
  if (!is_comparable(a, b) || a->pair_bytes > b->pair_bytes) return false;
  for (size_t i = 0; i < MEASURED; i++) {
    if (a->mops[i] < b->mops[i]) return false;
    is_better = is_better || a->mops[i] > b->mops[i];
  }
  return is_better;
}

static int compare(const void *left, const void *right) {
  const candidate *l = left, *r = right;
  const int session = strcmp(l->point->session, r->point->session), keys = strcmp(l->keys, r->keys);
  if (session || keys) return session ? session : keys;
  for (size_t i = 0; i < MEASURED; i++)
    if (l->mops[i] != r->mops[i]) return l->mops[i] < r->mops[i] ? 1 : -1;
  return 0;
}

static void print_head(FILE *out, const candidate *c, const tsr_results *r) {
  const char *device = r->row_count ? text_of(r, 0, "device") : "";
  fprintf(out, "\nPareto front of n = %llu, keys %s, on %s: M/s, and bytes a pair\n",
          (unsigned long long)c->point->options.n, c->keys, device);
  fprintf(out, "%6s %9s %9s %9s %7s  %s\n", "load", op_names[INSERT], op_names[FIND100], op_names[FIND0], "bytes",
          "table");
}

static void print_line(FILE *out, const candidate *c) {
  fprintf(out, "%6g", c->load);
  for (size_t i = 0; i < MEASURED; i++) {
    if (c->mops[i] > 0)
      fprintf(out, " %9.1f", c->mops[i]);
    else
      fprintf(out, " %9s", "-");
  }
  fprintf(out, " %7.2f  %s\n", c->pair_bytes, c->point->label);
}

/* What is '-' in a line is null. */
static void put_table(tsr_json *json, const candidate *c, const tsr_results *r) {
  tsr_json_object(json, NULL);
  tsr_json_text(json, "table", c->point->label);
  tsr_json_text(json, "composition", c->point->composition);
  tsr_json_text(json, "device", r->row_count ? text_of(r, 0, "device") : NULL);
  tsr_json_number(json, "n", c->point->options.n);
  tsr_json_text(json, "keys", c->keys);
  tsr_json_real(json, "load", c->load, 6);
  for (size_t i = 0; i < MEASURED; i++) tsr_json_real(json, op_names[i], c->mops[i] > 0 ? c->mops[i] : NAN, 2);
  tsr_json_real(json, "bytes_per_pair", c->pair_bytes, 2);
  tsr_json_end_object(json);
}

tsr_status tsr_front_print(FILE *out, const tsr_plan *plan, const tsr_results *results, bool as_json,
                           tsr_error *error) {
  front f = {.all = calloc(results->row_count + 1, sizeof *f.all)};
  if (!f.all) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a front");
  for (size_t i = 0; i < plan->count; i++)
    for (size_t row = 0; row < results->row_count; row++)
      if (tsr_point_has_row(&plan->points[i], results, row)) add_row(&f, &plan->points[i], results, row);
  qsort(f.all, f.count, sizeof *f.all, compare);
  const candidate *before = NULL;
  tsr_json json = {.out = out};
  if (as_json) {
    tsr_json_object(&json, NULL);
    tsr_json_text(&json, "tessera", TSR_VERSION);
    tsr_json_list(&json, "front");
  }
  for (size_t i = 0; i < f.count; i++) {
    const candidate *c = &f.all[i];
    bool is_beaten = c->is_wrong || c->pair_bytes <= 0;
    for (size_t k = 0; !is_beaten && k < f.count; k++) is_beaten = !f.all[k].is_wrong && beats(&f.all[k], c);
    if (is_beaten) continue;
    if (as_json) {
      put_table(&json, c, results);
      continue;
    }
    if (!before || !is_comparable(before, c)) print_head(out, c, results);
    print_line(out, c);
    before = c;
  }
  if (as_json) {
    tsr_json_end_list(&json);
    tsr_json_end_object(&json);
  }
  free(f.all);
  return TSR_OK;
}
