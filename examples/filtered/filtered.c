/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks a table for keys most of which are absent, through a filter by one kernel and by tsr_find, and checks both.
 *
 *   filtered [--times N] [FOLDER]     N queries; FOLDER holds filtered.cu and the specs
 */
#include "../example.h"

enum { PRESENT_OF = 64 }; /* one of that many queries is for a key that is there */
static const uint32_t missing = 0xFFFFFFFFu;

typedef struct job {
  example_arguments arguments;
  tsr_kernel_source source;
  uint64_t n;        /* pairs, and queries */
  uint32_t *asked;   /* the host's copy of the queries */
  uint32_t *queries; /* where the tables are */
  uint32_t *found;
  tsr_table *seen, *pairs;
  tsr_kernel *kernel;
  tsr_error error;
} job;

/* A bijection, so that different numbers give different keys: those from n on are absent. */
static uint32_t key_of(uint64_t number) {
  uint32_t key = (uint32_t)number * 0x9E3779B1u;
  return key ^ key >> 15;
}

/* The value of a key is its complement, which is not `missing` for any key but 0. */
static void fill(job *j) {
  uint32_t *keys = malloc(j->n * sizeof *keys), *values = malloc(j->n * sizeof *values);
  if (!keys || !values) exit(1);
  for (uint64_t i = 0; i < j->n; i++) {
    keys[i] = key_of(i + 1);
    values[i] = ~keys[i];
  }
  must(tsr_build(j->pairs, j->n, keys, values, NULL, 8, &j->error), &j->error);
  must(tsr_insert(j->seen, j->n, keys, NULL, NULL, &j->error), &j->error);
  free(keys);
  free(values);
}

static void make_queries(job *j) {
  j->asked = malloc(j->n * sizeof *j->asked);
  if (!j->asked) exit(1);
  for (uint64_t i = 0; i < j->n; i++) j->asked[i] = key_of(1 + i + (i % PRESENT_OF ? j->n : 0));
  j->queries = make_array(j->pairs, j->n * sizeof *j->asked, j->asked);
  j->found = make_array(j->pairs, j->n * sizeof *j->found, NULL);
}

static void check(job *j, const char *what) {
  uint32_t *found = malloc(j->n * sizeof *found);
  uint64_t wrong = 0;
  if (!found) exit(1);
  must(tsr_memory_copy(j->pairs, found, j->found, j->n * sizeof *found, &j->error), &j->error);
  for (uint64_t i = 0; i < j->n; i++) wrong += found[i] != (i % PRESENT_OF ? missing : ~j->asked[i]);
  printf("%s: %llu queries: %s\n", what, (unsigned long long)j->n,
         wrong ? "ANSWERS ARE WRONG" : "all answers are right");
  free(found);
  if (wrong) exit(1);
}

static void ask_filtered(job *j) {
  const void *arguments[] = {&j->queries, &j->found, &missing};
  must(tsr_kernel_launch(j->kernel, j->n, arguments, 3, NULL, &j->error), &j->error);
}

static void ask_by_bulk(job *j) {
  const tsr_call call = {.missing = missing};
  must(tsr_find(j->pairs, j->n, j->queries, j->found, &call, &j->error), &j->error);
}

/* Milliseconds of the fastest run. */
static double run(job *j, const char *what, void (*ask)(job *j)) {
  double least = 0, milliseconds;
  const uint32_t runs = j->arguments.has_times ? EXAMPLE_RUNS : 1;
  for (uint32_t i = 0; i < runs; i++) {
    must(tsr_timer_start(j->pairs, NULL, &j->error), &j->error);
    ask(j);
    must(tsr_timer_stop(j->pairs, NULL, &milliseconds, &j->error), &j->error);
    least = i == 0 || milliseconds < least ? milliseconds : least;
  }
  check(j, what);
  return least;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"seen", "pairs"};
  job j = {.n = 0};
  j.arguments = read_arguments(argc, argv, "examples/filtered", 1 << 20);
  j.n = j.arguments.items;
  char *text = read_text(j.arguments.folder, "filtered.cu");
  j.source = (tsr_kernel_source){.text = text, .file = "filtered.cu"};
  j.seen = make_table(j.arguments.folder, "seen.ini", j.n);
  j.pairs = make_table(j.arguments.folder, "pairs.ini", j.n);
  tsr_table *const tables[] = {j.seen, j.pairs};
  fill(&j);
  make_queries(&j);
  j.kernel = make_kernel(&j.source, "filtered", tables, names, 2);
  const double bulk = run(&j, "bulk calls", ask_by_bulk), filtered = run(&j, "one kernel", ask_filtered);
  if (j.arguments.has_times) say_times("find behind a filter", j.n, filtered, bulk);
  tsr_kernel_destroy(j.kernel);
  tsr_memory_free(j.pairs, j.queries);
  tsr_memory_free(j.pairs, j.found);
  tsr_table_destroy(j.seen);
  tsr_table_destroy(j.pairs);
  free(j.asked);
  free(text);
  return 0;
}
