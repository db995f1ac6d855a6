/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins rows with a table of groups and sums them up by group, by one kernel and by bulk calls, and checks both.
 *
 *   join_sum [--times N] [FOLDER]     N rows; FOLDER holds join_sum.cu and the specs
 */
#include "../example.h"

enum { GROUPS = 1000, NO_GROUP = GROUPS };

typedef struct job {
  example_arguments arguments;
  tsr_kernel_source source;
  uint64_t n, members; /* rows, and keys that have a group */
  uint64_t expected[GROUPS];
  uint32_t *keys, *amounts; /* where the tables are */
  uint32_t *found;          /* of bulk calls: the group of each row, */
  uint64_t *wide;           /* ... and its amount as the sums have it */
  tsr_table *groups, *sums;
  tsr_kernel *fused;
  tsr_error error;
} job;

/* Every third row has a key that is in no group. */
static void make_rows(job *j) {
  uint64_t state = 1;
  uint32_t *keys = malloc(j->n * sizeof *keys), *amounts = malloc(j->n * sizeof *amounts);
  uint64_t *wide = malloc(j->n * sizeof *wide);
  if (!keys || !amounts || !wide) exit(1);
  for (uint64_t i = 0; i < j->n; i++) {
    const uint64_t random = random_number(&state), member = (random >> 32) % j->members;
    const bool is_member = random % 3 != 0;
    keys[i] = (uint32_t)(is_member ? member : j->members + member);
    wide[i] = amounts[i] = (uint32_t)(random >> 8) % 100000;
    if (is_member) j->expected[member % GROUPS] += amounts[i];
  }
  j->keys = make_array(j->groups, j->n * sizeof *keys, keys);
  j->amounts = make_array(j->groups, j->n * sizeof *amounts, amounts);
  j->wide = make_array(j->groups, j->n * sizeof *wide, wide);
  j->found = make_array(j->groups, j->n * sizeof *j->found, NULL);
  free(keys);
  free(amounts);
  free(wide);
}

static void fill_groups(job *j) {
  uint32_t *keys = malloc(j->members * sizeof *keys), *groups = malloc(j->members * sizeof *groups);
  if (!keys || !groups) exit(1);
  for (uint64_t i = 0; i < j->members; i++) {
    keys[i] = (uint32_t)i;
    groups[i] = (uint32_t)(i % GROUPS);
  }
  must(tsr_build(j->groups, j->members, keys, groups, NULL, 8, &j->error), &j->error);
  free(keys);
  free(groups);
}

static void check_sums(job *j, const char *what) {
  uint32_t keys[GROUPS + 1];
  uint64_t values[GROUPS + 1], size, rows = 0, wrong = 0;
  must(tsr_export(j->sums, GROUPS + 1, keys, values, &size, &j->error), &j->error);
  for (uint64_t i = 0; i < size; i++) {
    if (keys[i] == NO_GROUP) continue; /* bulk calls put rows without a group there */
    wrong += keys[i] > NO_GROUP || values[i] != j->expected[keys[i]];
    rows++;
  }
  for (uint64_t i = 0; i < GROUPS; i++) wrong += j->expected[i] && rows > GROUPS;
  uint64_t groups = 0;
  for (uint64_t i = 0; i < GROUPS; i++) groups += j->expected[i] != 0;
  const bool is_right = wrong == 0 && rows >= groups;
  printf("%s: %llu rows, %llu groups: %s\n", what, (unsigned long long)j->n, (unsigned long long)rows,
         is_right ? "all sums are right" : "SUMS ARE WRONG");
  if (!is_right) exit(1);
}

static void sum_fused(job *j) {
  const void *arguments[] = {&j->keys, &j->amounts};
  must(tsr_kernel_launch(j->fused, j->n, arguments, 2, NULL, &j->error), &j->error);
}

static void sum_by_bulk(job *j) {
  const tsr_call call = {.missing = NO_GROUP};
  must(tsr_find(j->groups, j->n, j->keys, j->found, &call, &j->error), &j->error);
  must(tsr_insert(j->sums, j->n, j->found, j->wide, NULL, &j->error), &j->error);
}

/* Milliseconds of the fastest run, each from an empty table of sums. */
static double run(job *j, const char *what, void (*sum)(job *j)) {
  double least = 0, milliseconds;
  const uint32_t runs = j->arguments.has_times ? EXAMPLE_RUNS : 1;
  for (uint32_t i = 0; i < runs; i++) {
    must(tsr_clear(j->sums, NULL, &j->error), &j->error);
    must(tsr_timer_start(j->sums, NULL, &j->error), &j->error);
    sum(j);
    must(tsr_timer_stop(j->sums, NULL, &milliseconds, &j->error), &j->error);
    least = i == 0 || milliseconds < least ? milliseconds : least;
  }
  check_sums(j, what);
  return least;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"groups", "sums"};
  job j = {.n = 0};
  j.arguments = read_arguments(argc, argv, "examples/join_sum", 1 << 20);
  j.n = j.arguments.items;
  j.members = j.n / 4;
  char *text = read_text(j.arguments.folder, "join_sum.cu");
  j.source = (tsr_kernel_source){.text = text, .file = "join_sum.cu"};
  j.groups = make_table(j.arguments.folder, "groups.ini", j.members);
  j.sums = make_table(j.arguments.folder, "sums.ini", 4 * GROUPS);
  tsr_table *const tables[] = {j.groups, j.sums};
  fill_groups(&j);
  make_rows(&j);
  j.fused = make_kernel(&j.source, "join_sum", tables, names, 2);
  const double bulk = run(&j, "bulk calls", sum_by_bulk), fused = run(&j, "one kernel", sum_fused);
  if (j.arguments.has_times) say_times("join and sum", j.n, fused, bulk);
  tsr_kernel_destroy(j.fused);
  void *const memory[] = {j.keys, j.amounts, j.wide, j.found};
  for (uint32_t i = 0; i < 4; i++) tsr_memory_free(j.groups, memory[i]);
  tsr_table_destroy(j.groups);
  tsr_table_destroy(j.sums);
  free(text);
  return 0;
}
