/* SPDX-License-Identifier: Apache-2.0
 *
 * Links the code of tables ahead (core/cuda/linked.h). link_recipes.sh calls it:
 *
 *   link_recipes OUT.cubins SM[,SM...] <TABLES      a table a line: [?] SPEC [SECTION.KEY=VALUE...]
 *
 * A table behind a question mark may be refused; it is left out.
 * Each operation of each table is linked by itself, as a table links it when it is first used; so are the kernels that
 * belong to no table. All cores work. What is in the user's cache is taken from there.
 */
#define _GNU_SOURCE /* getline */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/compose/compose.h"
#include "core/table/steps.h"
#include "tools/ahead/linked_file.h"

enum { ARCHITECTURES_MAX = 16 };

/* What is linked: a step of a table, or a whole set of none. */
typedef struct job {
  size_t group;                 /* of jobs of one table, which are linked together; a set is one by itself */
  const tsr_composition *table; /* NULL: a set */
  const tsr_step *step;         /* of a set its first */
  tsr_linked_cubin made;
} job;

typedef struct jobs {
  job *all;
  size_t count, room, groups;
} jobs;

static void say(const char *what, const char *why) { fprintf(stderr, "link_recipes: %s: %s\n", what, why); }

static void *need(void *memory) {
  if (memory) return memory;
  say("memory", "there is none");
  exit(1);
}

static void add(jobs *j, const job *one) {
  if (j->count == j->room) {
    j->room = j->room * 2 + 1024;
    j->all = need(realloc(j->all, j->room * sizeof *j->all));
  }
  j->all[j->count++] = *one;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* The calls that have code of their own for each table. Of tables whose keys have one value, few count or list values. */
static uint32_t calls_of(const tsr_composition *t) {
  const bool holds_many = t->settings.kind == TSR_KIND_MULTIMAP || t->settings.kind == TSR_KIND_MULTISET;
  const uint32_t all = 2 * TSR_PREPARE_EXPORT - 1;
  return holds_many ? all : all & ~(uint32_t)(TSR_PREPARE_COUNT_ALL | TSR_PREPARE_FIND_ALL | TSR_PREPARE_ERASE_PAIRS);
}

/* The composition stays for the links. */
static tsr_status add_table(jobs *j, const tsr_spec *spec, const tsr_options *options, uint32_t sm, tsr_error *error) {
  tsr_composition *table;
  tsr_step_list list = {.count = 0};
  tsr_status status = tsr_compose(spec, options, sm, 1, &table, error);
  if (status) return status;
  tsr_steps_of_calls(table, calls_of(table), &list);
  for (uint32_t i = 0; status == TSR_OK && i < list.count; i++) {
    job one = {.group = j->groups, .table = table, .step = list.step[i], .made.sm = sm};
    status = tsr_cuda_ahead_key(table, list.step[i], &one.made.key, error);
    if (status == TSR_OK) add(j, &one);
  }
  j->groups++;
  return status;
}

static bool is_refusal(tsr_status status) {
  return status == TSR_INCOMPATIBLE || status == TSR_UNSUPPORTED || status == TSR_BAD_SPEC;
}

/* How a batch is worked on depends on the capacity, so tables of several have other steps. What no capacity composes is
 * refused; a GPU may be too old for a recipe. */
static tsr_status add_spec(jobs *j, const tsr_spec *spec, const uint32_t *sm, uint32_t count, tsr_error *error) {
  static const uint64_t capacities[] = {1 << 10, 1 << 20, 50 * 1000 * 1000};
  bool is_any = false;
  for (uint32_t i = 0; i < count; i++)
    for (size_t k = 0; k < sizeof capacities / sizeof *capacities; k++) {
      const tsr_options options = {.size = sizeof options, .capacity = capacities[k]};
      const tsr_status status = add_table(j, spec, &options, sm[i], error);
      if (status == TSR_OK) is_any = true;
      if (status && !is_refusal(status)) return status;
    }
  return is_any ? TSR_OK : error->status;
}

/* A line of the list. */
static tsr_status add_line(jobs *j, char *line, const uint32_t *sm, uint32_t count, tsr_error *error) {
  tsr_spec *spec;
  char *rest, *word = strtok_r(line, " \n", &rest);
  const bool may_be_refused = word && strcmp(word, "?") == 0;
  if (may_be_refused) word = strtok_r(NULL, " \n", &rest);
  if (!word) return TSR_OK;
  tsr_status status = tsr_spec_read(word, &spec, error);
  if (status) return status;
  while (status == TSR_OK && (word = strtok_r(NULL, " \n", &rest))) status = tsr_spec_set(spec, word, error);
  if (status == TSR_OK) status = add_spec(j, spec, sm, count, error);
  tsr_spec_free(spec);
  return may_be_refused && is_refusal(status) ? TSR_OK : status;
}

static void add_sets(jobs *j, uint32_t sm) {
  for (size_t i = 0; tsr_sets_of_no_table[i]; i++)
    add(j, &(job){.group = j->groups++,
                  .step = tsr_sets_of_no_table[i]->step,
                  .made = {.sm = sm, .key = tsr_cuda_ahead_key_of_set(tsr_sets_of_no_table[i], sm)}});
}

/* ---- Links ----------------------------------------------------------------------------------- */

static int by_key(const void *left, const void *right) {
  const job *a = left, *b = right;
  const int order = tsr_linked_compare(&a->made.key, &b->made.key);
  return order ? order : (a->group > b->group) - (a->group < b->group);
}

static int by_group(const void *left, const void *right) {
  const job *a = left, *b = right;
  return a->group == b->group ? by_key(left, right) : a->group > b->group ? 1 : -1;
}

/* Recipes share operations. The first table that has one links it. */
static void drop_equal(jobs *j) {
  size_t kept = 0;
  qsort(j->all, j->count, sizeof *j->all, by_key);
  for (size_t i = 0; i < j->count; i++)
    if (!kept || tsr_linked_compare(&j->all[kept - 1].made.key, &j->all[i].made.key)) j->all[kept++] = j->all[i];
  j->count = kept;
  qsort(j->all, j->count, sizeof *j->all, by_group);
}

/* Links the jobs of one group. */
static tsr_status work(job *first, size_t count) {
  const tsr_step *steps[TSR_LINKS_MAX];
  tsr_link links[TSR_LINKS_MAX];
  tsr_error error;
  tsr_status status;
  for (size_t i = 0; i < count; i++) steps[i] = first[i].step;
  if (first->table)
    status = tsr_cuda_link_steps(first->table, steps, count, true, links, &error);
  else
    status = tsr_cuda_link_set(first->step->set, first->made.sm, true, links, &error);
  if (status) {
    say(first->step->kernel, error.message);
    return status;
  }
  for (size_t i = 0; i < count; i++) {
    first[i].made.cubin = links[i].cubin;
    first[i].made.bytes = links[i].cubin_bytes;
    links[i].cubin = NULL;
    tsr_link_free(&links[i]);
  }
  return TSR_OK;
}

/* starts: where each group begins, and the end. Returns how many there are. */
static size_t find_groups(const jobs *j, size_t *starts) {
  size_t groups = 0;
  for (size_t i = 0; i < j->count; i++)
    if (i == 0 || j->all[i].group != j->all[i - 1].group) starts[groups++] = i;
  starts[groups] = j->count;
  return groups;
}

static int link_all(jobs *j) {
  int failed = 0;
  size_t *starts = need(malloc((j->count + 1) * sizeof *starts));
  const size_t groups = find_groups(j, starts);
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : failed)
  for (size_t i = 0; i < groups; i++) failed += work(&j->all[starts[i]], starts[i + 1] - starts[i]) != TSR_OK;
  free(starts);
  return failed;
}

static int write_all(const char *path, const jobs *j) {
  tsr_linked_cubin *cubins = need(calloc(j->count + 1, sizeof *cubins));
  for (size_t i = 0; i < j->count; i++) cubins[i] = j->all[i].made;
  const int failure = tsr_linked_write(path, cubins, j->count);
  if (failure) say(path, strerror(failure));
  free(cubins);
  return failure;
}

static uint32_t read_architectures(char *text, uint32_t *sm) {
  uint32_t count = 0;
  char *rest;
  for (char *word = strtok_r(text, ",", &rest); word && count < ARCHITECTURES_MAX; word = strtok_r(NULL, ",", &rest))
    sm[count++] = (uint32_t)strtoul(word, NULL, 10);
  return count;
}

int main(int count, char **arguments) {
  uint32_t sm[ARCHITECTURES_MAX];
  jobs j = {.all = NULL};
  char *line = NULL;
  size_t room = 0;
  if (count != 3) {
    say("arguments", "OUT.cubins SM[,SM...]");
    return 2;
  }
  const uint32_t architectures = read_architectures(arguments[2], sm);
  while (getline(&line, &room, stdin) > 0) {
    tsr_error error = {TSR_OK, ""};
    char *copy = need(strdup(line));
    copy[strcspn(copy, "\n")] = '\0';
    if (add_line(&j, line, sm, architectures, &error)) {
      say(copy, error.message);
      return 1;
    }
    free(copy);
  }
  free(line);
  for (uint32_t i = 0; i < architectures; i++) add_sets(&j, sm[i]);
  drop_equal(&j);
  fprintf(stderr, "link_recipes: %zu links\n", j.count);
  return link_all(&j) || write_all(arguments[1], &j);
}
