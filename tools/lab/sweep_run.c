/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring a plan (sweep_run.h): points of one session share its keys.
 */
#define _GNU_SOURCE /* clock_gettime, access */
#include "tools/lab/sweep_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/spec/number.h"
#include "tools/lab/bench_pool.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/links.h"
#include "tools/lab/rivals.h"

/* ---- What is there --------------------------------------------------------------------------- */

static bool says(const tsr_results *r, size_t row, const char *column, const char *text) {
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count && strcmp(tsr_results_field(r, row, at), text) == 0;
}

static bool is_number(const tsr_results *r, size_t row, const char *column, double number) {
  double there;
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count && tsr_results_number(r, row, at, &there) && there == number;
}

/* The value of a word NAME=VALUE of a composition, and its letters; NULL: there is no such word. */
static const char *find_word(const char *composition, const char *name, size_t *letters) {
  const size_t length = strlen(name);
  for (const char *word = composition; *word; word += strcspn(word, " "), word += *word == ' ')
    if (strncmp(word, name, length) == 0 && word[length] == '=') {
      *letters = strcspn(word, " ") - length - 1;
      return word + length + 1;
    }
  return NULL;
}

/* Whether a row has exactly the words of this composition: the reader made a column of each (results.h). */
static bool is_composed_so(const tsr_results *r, size_t row, const char *composition) {
  size_t words = 1, found = 0, letters = 0;
  for (const char *c = composition; *c; c++) words += *c == ' ';
  for (size_t column = 0; column < r->column_count; column++) {
    const char *value = tsr_results_field(r, row, column);
    if (!strchr(r->names[column], '.') || strcmp(value, "-") == 0) continue;
    const char *own = find_word(composition, r->names[column], &letters);
    if (!own || strlen(value) != letters || strncmp(value, own, letters) != 0) return false;
    found++;
  }
  return found == words;
}

/* It is of another library's table. */
static bool has_no_composition(const tsr_results *r, size_t row) {
  for (size_t column = 0; column < r->column_count; column++)
    if (strchr(r->names[column], '.') && tsr_results_has(r, row, column)) return false;
  return true;
}

/* A value of value_bytes has eight times as many bits, and that of an index is a number. */
static bool says_value(const tsr_results *results, size_t row, const tsr_spec *spec) {
  const char *bits = tsr_spec_get(spec, "table", "value_bits"), *bytes = tsr_spec_get(spec, "table", "value_bytes"),
             *kind = tsr_spec_get(spec, "table", "kind");
  uint64_t number;
  if (kind && strcmp(kind, "index") == 0) return says(results, row, "value_bits", "32");
  if (bytes && tsr_parse_u64(bytes, &number)) return is_number(results, row, "value_bits", 8 * (double)number);
  return says(results, row, "value_bits", bits ? bits : "0");
}

bool tsr_point_has_row(const tsr_point *point, const tsr_results *results, size_t row) {
  const tsr_bench_options *o = &point->options;
  tsr_key_parts keys = {.size = sizeof keys};
  const bool has_width = tsr_spec_key_parts(point->spec, &keys, NULL) == TSR_OK && keys.key_bits;
  bool has_keys = false, has_load = false, takes_all = false;
  const bool is_pool = tsr_bench_wants_pools(o);
  const bool is_rival = is_pool && says(results, row, "spec", "malloc"); /* of each pool */
  const bool is_foreign = o->versus.beside_count && !is_pool && has_no_composition(results, row);
  if (!says(results, row, "spec", point->label) && !is_rival && !is_foreign) return false;
  for (size_t i = 0; i < o->keys.count; i++) {
    if (!says(results, row, "keys", o->keys.each[i].text)) continue;
    has_keys = true;
    takes_all = o->keys.each[i].kind == TSR_KEYS_FILE && !o->n_is_given;
  }
  for (size_t i = 0; i < o->loads.count; i++)
    has_load = has_load || is_number(results, row, "load", tsr_bench_load(o->loads.each[i]));
  if (is_pool) return has_load && is_number(results, row, "n", (double)o->n);
  const bool is_refused = says(results, row, "ok", "refused"), is_timed = !says(results, row, "mops", "-");
  const bool is_same =
      is_refused || is_foreign || ((o->repeat > 0) == is_timed && is_composed_so(results, row, point->composition));
  return has_keys && has_load && is_same && (takes_all || is_number(results, row, "n", (double)o->n)) && has_width &&
         is_number(results, row, "key_bits", keys.key_bits) && says_value(results, row, point->spec);
}

/* Whether there is a row of each distribution, load and operation. */
static bool is_measured(const tsr_point *point, const tsr_results *results, const bool *is_its) {
  const tsr_bench_options *o = &point->options;
  for (size_t model = 0; model < o->keys.count; model++)
    for (size_t load = 0; load < o->loads.count; load++)
      for (size_t op = 0; op < TSR_BENCH_OPS; op++) {
        bool is_there = !o->ops[op];
        for (size_t row = 0; !is_there && row < results->row_count; row++)
          is_there = is_its[row] && (says(results, row, "spec", point->label) || tsr_bench_wants_pools(o)) &&
                     (says(results, row, "keys", o->keys.each[model].text) || tsr_bench_wants_pools(o)) &&
                     is_number(results, row, "load", tsr_bench_load(o->loads.each[load])) &&
                     (says(results, row, "op", tsr_bench_op_name((tsr_bench_op)op)) || says(results, row, "op", "-"));
        if (!is_there) return false;
      }
  return true;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

typedef struct sweep {
  const tsr_plan *plan;
  const char *csv;
  const struct timespec *until; /* NULL: whenever it is done */
  tsr_results former;           /* rows that were there; none: all zero */
  bool *wanted;
  size_t count, done; /* of those wanted */
  struct timespec began;
  tsr_bench_output *output;
  tsr_bench_session *session;
  const tsr_point *opener; /* of the session */
  tsr_rivals rivals;       /* its own */
  tsr_links *links;
  bool *all_right;
} sweep;

static tsr_status refuse_other(const sweep *s, const char *what, const char *there, const char *here,
                               tsr_error *error) {
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "%s: has rows whose %s is %s, and here it is %s: they would be compared with each other, so name "
                  "another file by --csv",
                  s->csv, what, there, here);
}

/* Rows of as many keys by code that was compiled, where function tables are used now, or the other way round. */
static bool is_other_code(const sweep *s, const tsr_bench_options *o, size_t row) {
  const size_t column = tsr_results_column(&s->former, "code");
  if (column == s->former.column_count || !is_number(&s->former, row, "n", (double)o->n)) return false;
  const char *code = tsr_results_field(&s->former, row, column);
  return o->code.compile == TSR_BENCH_BY_TABLES ? strncmp(code, "fused", strlen("fused")) == 0
                                                : strstr(code, "as there was little to do") != NULL;
}

static tsr_status refuse_code(const sweep *s, const tsr_bench_options *o, size_t row, tsr_error *error) {
  return refuse_other(s, "code", tsr_results_field(&s->former, row, tsr_results_column(&s->former, "code")),
                      o->code.compile == TSR_BENCH_BY_TABLES ? "function tables" : "compiled", error);
}

/* Rows of a point that were measured with other options of bench, which would stand for those asked for now. */
static tsr_status check_options(const sweep *s, const tsr_point *point, const bool *is_its, tsr_error *error) {
  const tsr_results *r = &s->former;
  const tsr_bench_options *o = &point->options;
  const size_t op = tsr_results_column(r, "op"), options = tsr_results_column(r, "options");
  for (size_t row = 0; options < r->column_count && row < r->row_count; row++) {
    char here[TSR_ORIGIN_TEXT_BYTES], seed[24];
    size_t which = 0;
    if (!is_its[row] || !says(r, row, "ok", "yes")) continue;
    while (which < TSR_BENCH_OPS && strcmp(tsr_bench_op_name((tsr_bench_op)which), tsr_results_field(r, row, op)) != 0)
      which++;
    if (which == TSR_BENCH_OPS || !o->ops[which]) continue;
    tsr_bench_options_told(o, (tsr_bench_op)which, here, sizeof here);
    const char *there = tsr_results_field(r, row, options);
    if (strcmp(there, here[0] ? here : "-") != 0) return refuse_other(s, "options", there, here[0] ? here : "-", error);
    snprintf(seed, sizeof seed, "%" PRIu64, o->seed ? o->seed : 1);
    if (!says(r, row, "seed", seed))
      return refuse_other(s, "seed", tsr_results_field(r, row, tsr_results_column(r, "seed")), seed, error);
    if (says(r, row, "backend", "cpu") && is_other_code(s, o, row)) return refuse_code(s, o, row, error);
  }
  return TSR_OK;
}

/* Times of two devices, or of two versions or compilers, in one file would be compared with each other. A plan may have both
 * backends on purpose. What a row does not tell is no difference. */
static tsr_status check_conditions(const sweep *s, tsr_error *error) {
  const tsr_table_info *info = tsr_bench_session_info(s->session);
  const tsr_origin *origin = tsr_bench_session_origin(s->session);
  char seed[24], threads[24] = "";
  snprintf(seed, sizeof seed, "%" PRIu64, origin->seed);
  if (origin->threads) snprintf(threads, sizeof threads, "%" PRIu32, origin->threads);
  const struct {
    const char *column, *here;
  } conditions[] = {{"device", info->device}, {"version", tsr_origin_version()}, {"compiler", origin->compiler},
                    {"threads", threads},     {"driver", origin->driver},        {"seed", seed}};
  for (size_t row = 0; row < s->former.row_count; row++) {
    if (!says(&s->former, row, "backend", info->backend) || says(&s->former, row, "mops", "-")) continue;
    if (is_other_code(s, &s->opener->options, row)) return refuse_code(s, &s->opener->options, row, error);
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
      const size_t column = tsr_results_column(&s->former, conditions[i].column);
      if (column == s->former.column_count || !tsr_results_has(&s->former, row, column)) continue;
      const char *there = tsr_results_field(&s->former, row, column);
      if (conditions[i].here[0] && strcmp(there, conditions[i].here) != 0)
        return refuse_other(s, conditions[i].column, there, conditions[i].here, error);
    }
  }
  return TSR_OK;
}

/* Rows of a table whose parts were compiled anew since are of another table. */
static tsr_status check_parts(const sweep *s, const tsr_point *point, const bool *is_its, tsr_error *error) {
  const size_t column = tsr_results_column(&s->former, "parts_hash");
  tsr_origin origin = {.seed = 0};
  if (column == s->former.column_count) return TSR_OK;
  for (size_t row = 0; row < s->former.row_count; row++) {
    if (!is_its[row] || !says(&s->former, row, "spec", point->label) || !tsr_results_has(&s->former, row, column))
      continue;
    if (!origin.parts[0]) tsr_origin_compose(&origin, point->composition, point->options.plugins);
    const char *there = tsr_results_field(&s->former, row, column);
    if (origin.parts[0] && strcmp(there, origin.parts) != 0)
      return refuse_other(s, "parts_hash", there, origin.parts, error);
  }
  return TSR_OK;
}

static tsr_status find_wanted(sweep *s, tsr_error *error) {
  bool *is_its = calloc(s->former.row_count + 1, sizeof *is_its);
  s->wanted = calloc(s->plan->count + 1, sizeof *s->wanted);
  tsr_status status = is_its && s->wanted ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for a plan");
  for (size_t i = 0; status == TSR_OK && i < s->plan->count; i++) {
    const tsr_point *point = &s->plan->points[i];
    for (size_t row = 0; row < s->former.row_count; row++) is_its[row] = tsr_point_has_row(point, &s->former, row);
    status = check_parts(s, point, is_its, error);
    if (status == TSR_OK) status = check_options(s, point, is_its, error);
    s->wanted[i] = !is_measured(point, &s->former, is_its);
    s->count += s->wanted[i];
  }
  free(is_its);
  if (status == TSR_OK && s->count < s->plan->count)
    fprintf(stderr, "tessera: %s has %zu of them already\n", s->csv, s->plan->count - s->count);
  return status;
}

static void take_row(void *context, const tsr_bench_row *row, const tsr_bench_place *place) {
  const sweep *s = context;
  tsr_bench_output_row(s->output, row);
  (void)place;
}

static void end_session(sweep *s) {
  if (s->session && !tsr_bench_session_is_right(s->session)) *s->all_right = false;
  tsr_bench_session_close(s->session);
  tsr_rivals_free(&s->rivals);
  s->session = NULL;
}

static tsr_status begin_session(sweep *s, const tsr_point *point, const tsr_bench_entrant *entrant, tsr_error *error) {
  if (s->session && strcmp(s->opener->session, point->session) == 0) return TSR_OK;
  end_session(s);
  s->opener = point;
  const tsr_bench_versus *versus = &point->options.versus;
  tsr_status status = tsr_rivals_open(versus->beside, versus->beside_count, &s->rivals, error);
  if (status == TSR_OK) status = tsr_bench_session_open(&point->options, entrant, 1, &s->session, error);
  return status ? status : check_conditions(s, error);
}

/* "point 3 of 60, 40 s left: " */
static void write_title(const sweep *s, char *title, size_t bytes) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const double passed = (double)(now.tv_sec - s->began.tv_sec) + 1e-9 * (double)(now.tv_nsec - s->began.tv_nsec);
  const int written = snprintf(title, bytes, "point %zu of %zu", s->done + 1, s->count);
  if (s->done)
    snprintf(title + written, bytes - (size_t)written,
             ", %.0f s left: ", passed / (double)s->done * (double)(s->count - s->done));
  else
    snprintf(title + written, bytes - (size_t)written, ": ");
}

static tsr_status measure_pools(sweep *s, const tsr_point *point, tsr_error *error) {
  end_session(s);
  tsr_spec *const specs[] = {point->spec};
  tsr_status status = tsr_bench_pools(&point->options, specs, s->output, s->all_right, error);
  const tsr_status saved = tsr_bench_output_save(s->output, status ? NULL : error);
  return status ? status : saved;
}

static bool is_time_up(const struct timespec *until) {
  struct timespec now;
  if (!until) return false;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
}

/* The point's table, and the rivals. */
static tsr_status measure_beside(sweep *s, const tsr_bench_entrant *entrant, const char *title, tsr_error *error) {
  tsr_bench_entrant *entrants = calloc(s->rivals.count + 1, sizeof *entrants);
  if (!entrants) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rivals");
  entrants[0] = *entrant;
  for (size_t i = 0; i < s->rivals.count; i++)
    entrants[i + 1] = (tsr_bench_entrant){
        .name = s->rivals.each[i]->name, .spec = entrant->spec, .rival = s->rivals.each[i], .file = s->rivals.files[i]};
  const tsr_status status =
      tsr_bench_session_measure(s->session, entrants, s->rivals.count + 1, title, take_row, s, error);
  free(entrants);
  return status;
}

/* *is_late: its code was not there in time, and nothing was measured. */
static tsr_status measure_point(sweep *s, size_t i, bool *is_late, tsr_error *error) {
  const tsr_point *point = &s->plan->points[i];
  if (tsr_bench_wants_pools(&point->options)) return measure_pools(s, point, error);
  tsr_bench_entrant entrant = {.name = point->label, .spec = point->spec, .may_be_full = true};
  tsr_error sentence;
  char title[128];
  tsr_status status = begin_session(s, point, &entrant, error); /* draws keys, while code is linked */
  if (status) return status;
  *is_late = !tsr_links_wait(s->links, i, s->until, &entrant.costs);
  if (*is_late) return TSR_OK;
  status = tsr_bench_session_check(s->session, &entrant, &sentence);
  if (status == TSR_BAD_ARGUMENT) {
    fprintf(stderr, "tessera: %s is left out: %s\n", point->label, sentence.message);
    return TSR_OK;
  }
  if (status) return tsr_fail(error, status, "%s", sentence.message);
  write_title(s, title, sizeof title);
  status = measure_beside(s, &entrant, title, error);
  const tsr_status saved = tsr_bench_output_save(s->output, status ? NULL : error);
  return status ? status : saved;
}

tsr_status tsr_plan_measure(const tsr_plan *plan, const char *csv, const struct timespec *until, bool *all_right,
                            tsr_error *error) {
  sweep s = {.plan = plan, .csv = csv, .until = until, .all_right = all_right};
  bool is_late = false;
  clock_gettime(CLOCK_MONOTONIC, &s.began);
  if (strcmp(csv, "-") == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--csv -: rows are read back from where they went: name a file");
  tsr_status status = access(csv, F_OK) == 0 ? tsr_results_read(csv, &s.former, error) : TSR_OK;
  if (status == TSR_OK) status = find_wanted(&s, error);
  if (status == TSR_OK) status = tsr_bench_output_open(csv, true, false, NULL, &s.output, error);
  if (status == TSR_OK) status = tsr_links_start(plan, s.wanted, &s.links, error);
  for (size_t i = 0; status == TSR_OK && !is_late && i < plan->count; i++) {
    if (!s.wanted[i]) continue;
    is_late = is_time_up(until);
    if (!is_late) status = measure_point(&s, i, &is_late, error);
    s.done += !is_late;
  }
  if (is_late) fprintf(stderr, "tessera: the time is up: %zu of %zu were not measured\n", s.count - s.done, s.count);
  tsr_links_stop(s.links);
  end_session(&s);
  if (s.output) {
    const tsr_status written = tsr_bench_output_close(s.output, status ? NULL : error);
    if (status == TSR_OK) status = written;
  }
  tsr_results_free(&s.former);
  free(s.wanted);
  return status;
}

tsr_status tsr_plan_link(FILE *to, tsr_plan *plan, uint32_t sm, tsr_error *error) {
  tsr_links *links = NULL;
  bool *wanted = calloc(plan->count + 1, sizeof *wanted);
  if (!wanted) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a plan");
  for (size_t i = 0; i < plan->count; i++) {
    plan->points[i].sm = sm;
    wanted[i] = true;
  }
  tsr_status status = tsr_links_start(plan, wanted, &links, error);
  for (size_t i = 0; status == TSR_OK && i < plan->count; i++) {
    const tsr_bench_cost *costs;
    if (tsr_links_wait(links, i, NULL, &costs)) fprintf(to, "linked: %s\n", plan->points[i].label);
    fflush(to);
  }
  tsr_links_stop(links);
  free(wanted);
  return status;
}
