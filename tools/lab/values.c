/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists and ranges of values (plan.h): what an entry of [sweep] says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/plan.h"

enum { VALUES_MAX = 10000, WORD_MAX = 192 };

typedef struct list {
  char (*words)[WORD_MAX];
  size_t count;
} list;

static tsr_status add(list *l, const char *where, const char *word, tsr_error *error) {
  if (l->count == VALUES_MAX)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: lists more than %d values: take larger steps", where, VALUES_MAX);
  snprintf(l->words[l->count++], WORD_MAX, "%s", word);
  return TSR_OK;
}

/* A range A..B with a step: of whole numbers, or of others. */
typedef struct range {
  char from[WORD_MAX], to[WORD_MAX], step[WORD_MAX];
  char kind; /* '*' or '+' */
} range;

static void copy_trimmed(char *to, const char *begin, const char *end) {
  while (begin < end && (*begin == ' ' || *begin == '\t')) begin++;
  while (end > begin && (end[-1] == ' ' || end[-1] == '\t')) end--;
  snprintf(to, WORD_MAX, "%.*s", (int)(end - begin), begin);
}

/* Whether a word is one; its numbers are not looked at. */
static bool read_range(const char *word, range *r) {
  const char *points = *word ? strstr(word + 1, "..") : NULL;
  if (!points) return false;
  const char *rest = points + 2, *step = rest + strcspn(rest, "*+"), *end = rest + strlen(rest);
  copy_trimmed(r->from, word, points);
  copy_trimmed(r->to, rest, step);
  r->kind = *step ? *step : '+';
  if (*step)
    copy_trimmed(r->step, step + 1, end);
  else
    snprintf(r->step, sizeof r->step, "1");
  return true;
}

static tsr_status add_whole(list *l, const char *where, const range *r, uint64_t from, uint64_t to, uint64_t step,
                            tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint64_t value = from; status == TSR_OK && value <= to;) {
    char word[WORD_MAX];
    snprintf(word, sizeof word, "%llu", (unsigned long long)value);
    status = add(l, where, word, error);
    const uint64_t next = r->kind == '*' ? value * step : value + step;
    if (next <= value || (r->kind == '*' && next / step != value)) break; /* beyond 64 bits */
    value = next;
  }
  return status;
}

/* Counted rather than added up, so that 0.1 ten times is 1. */
static tsr_status add_real(list *l, const char *where, const range *r, double from, double to, double step,
                           tsr_error *error) {
  const double slack = 1 + 1e-9;
  double value = from;
  tsr_status status = TSR_OK;
  for (uint64_t i = 1; status == TSR_OK && value <= to * slack; i++) {
    char word[WORD_MAX];
    snprintf(word, sizeof word, "%.10g", value);
    status = add(l, where, word, error);
    value = r->kind == '*' ? value * step : from + (double)i * step;
  }
  return status;
}

static tsr_status add_range(list *l, const char *where, const char *word, const range *r, tsr_error *error) {
  const uint64_t least = r->kind == '*' ? 2 : 1;
  uint64_t from, to, step;
  double real_from, real_to, real_step;
  if (tsr_parse_u64(r->from, &from) && tsr_parse_u64(r->to, &to) && tsr_parse_u64(r->step, &step) && step >= least &&
      from <= to && (from > 0 || r->kind == '+'))
    return add_whole(l, where, r, from, to, step, error);
  if (tsr_parse_double(r->from, &real_from) && tsr_parse_double(r->to, &real_to) &&
      tsr_parse_double(r->step, &real_step) && real_from <= real_to && real_step > (r->kind == '*' ? 1 : 0) &&
      (real_from > 0 || r->kind == '+'))
    return add_real(l, where, r, real_from, real_to, real_step, error);
  return tsr_fail(error, TSR_BAD_SPEC,
                  "%s: '%s' is no range: write A..B, A..B +STEP or A..B *FACTOR, with numbers that lead from A up to B",
                  where, word);
}

tsr_status tsr_values_read(const char *where, const char *text, char ***values, size_t *count, tsr_error *error) {
  const char separator = strchr(text, '|') ? '|' : ',';
  list l = {.words = malloc(VALUES_MAX * sizeof *l.words)};
  tsr_status status = l.words ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for a list of values");
  for (const char *at = text; status == TSR_OK && at;) {
    const char *end = strchr(at, separator);
    char word[WORD_MAX];
    range r;
    copy_trimmed(word, at, end ? end : at + strlen(at));
    if (!*word)
      status = tsr_fail(error, TSR_BAD_SPEC, "%s: has a value that says nothing: write them with '%c' between", where,
                        separator);
    else
      status = read_range(word, &r) ? add_range(&l, where, word, &r, error) : add(&l, where, word, error);
    at = end ? end + 1 : NULL;
  }
  char **made = status == TSR_OK ? malloc(l.count * (sizeof *made + WORD_MAX)) : NULL;
  if (status == TSR_OK && !made) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for a list of values");
  for (size_t i = 0; status == TSR_OK && i < l.count; i++) {
    made[i] = (char *)(made + l.count) + i * WORD_MAX;
    memcpy(made[i], l.words[i], WORD_MAX);
  }
  free(l.words);
  if (status) return status;
  *values = made;
  *count = l.count;
  return TSR_OK;
}
