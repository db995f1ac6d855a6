/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the wanted k-mers of a random text, by one kernel and by bulk calls, and checks both. kmers.cu has the kernels.
 *
 *   kmers [--times N] [FOLDER]     N letters; FOLDER holds kmers.cu and the specs
 */
#include "../example.h"

enum { K = 21, CHECKED_MAX = 1 << 22 };

typedef struct job {
  example_arguments arguments;
  tsr_kernel_source source;
  uint64_t n;
  uint32_t k;
  uint8_t *letters; /* the host's */
  uint8_t *text;    /* where the tables are */
  tsr_table *wanted, *counts;
  uint64_t *kmers, *selected, *number; /* of bulk calls */
  uint8_t *present;
  uint32_t *ones;
  tsr_kernel *fused, *write, *select;
  tsr_error error;
} job;

/* ---- The oracle ------------------------------------------------------------------------------ */

/* All wanted k-mers, in the order of the text; returns how many. */
static uint64_t list_kmers(const job *j, uint64_t *kmers) {
  const uint64_t mask = ((uint64_t)1 << 2 * K) - 1;
  uint64_t forward = 0, backward = 0, count = 0;
  for (uint64_t i = 0, length = 0; i < j->n; i++) {
    const char *at = strchr("ACGT", j->letters[i]);
    const uint64_t base = at ? (uint64_t)(at - "ACGT") : 0;
    length = at ? length + 1 : 0;
    forward = (forward << 2 | base) & mask;
    backward = backward >> 2 | (3 - base) << 2 * (K - 1);
    const uint64_t kmer = forward < backward ? forward : backward;
    if (length >= K && (kmer * 0x9E3779B97F4A7C15u) >> 63 == 0) kmers[count++] = kmer;
  }
  return count;
}

static int by_number(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t mix(uint64_t kmer) { return (kmer ^ kmer >> 29) * 0xBF58476D1CE4E5B9u; }

/* Each count against a sorted list; of a large text their sums. */
static void check_counts(job *j, const char *what) {
  uint64_t size, sum = 0, expected = 0, total = 0;
  uint64_t *all = malloc(j->n * sizeof *all);
  must(tsr_size(j->counts, &size, &j->error), &j->error);
  uint64_t *keys = malloc((size + 1) * sizeof *keys);
  uint32_t *values = malloc((size + 1) * sizeof *values);
  if (!all || !keys || !values) exit(1);
  must(tsr_export(j->counts, size, keys, values, &size, &j->error), &j->error);
  const uint64_t count = list_kmers(j, all);
  for (uint64_t i = 0; i < count; i++) expected += mix(all[i]);
  for (uint64_t i = 0; i < size; i++) {
    sum += mix(keys[i]) * values[i];
    total += values[i];
  }
  bool is_right = sum == expected && total == count;
  if (is_right && j->n <= CHECKED_MAX) {
    uint64_t distinct = 0;
    qsort(all, count, sizeof *all, by_number);
    for (uint64_t i = 0; i < count; i++) distinct += i == 0 || all[i] != all[i - 1];
    is_right = distinct == size;
    for (uint64_t i = 0; is_right && i < size; i++) {
      const uint64_t *at = bsearch(&keys[i], all, count, sizeof *all, by_number);
      uint64_t times = 0;
      while (at && at > all && at[-1] == keys[i]) at--;
      for (; at && at < all + count && *at == keys[i]; at++) times++;
      is_right = times == values[i];
    }
  }
  printf("%s: %llu of %llu k-mers are wanted, %llu of them distinct: %s\n", what, (unsigned long long)total,
         (unsigned long long)j->n, (unsigned long long)size, is_right ? "all counts are right" : "COUNTS ARE WRONG");
  free(all);
  free(keys);
  free(values);
  if (!is_right) exit(1);
}

/* ---- Two ways -------------------------------------------------------------------------------- */

static void count_fused(job *j) {
  const void *arguments[] = {&j->text, &j->n, &j->k};
  must(tsr_kernel_launch(j->fused, j->n, arguments, 3, NULL, &j->error), &j->error);
}

static void count_by_bulk(job *j) {
  const void *writes[] = {&j->text, &j->n, &j->k, &j->kmers};
  const void *selects[] = {&j->kmers, &j->present, &j->selected, &j->number};
  uint64_t number = 0;
  must(tsr_kernel_launch(j->write, j->n, writes, 4, NULL, &j->error), &j->error);
  must(tsr_contains(j->wanted, j->n, j->kmers, j->present, NULL, &j->error), &j->error);
  must(tsr_memory_copy(j->wanted, j->number, &number, sizeof number, &j->error), &j->error);
  must(tsr_kernel_launch(j->select, j->n, selects, 4, NULL, &j->error), &j->error);
  must(tsr_memory_copy(j->wanted, &number, j->number, sizeof number, &j->error), &j->error);
  must(tsr_insert(j->counts, number, j->selected, j->ones, NULL, &j->error), &j->error);
}

/* Milliseconds of the fastest run, each from an empty table of counts. */
static double run(job *j, const char *what, void (*count)(job *j)) {
  double least = 0, milliseconds;
  const uint32_t runs = j->arguments.has_times ? EXAMPLE_RUNS : 1;
  for (uint32_t i = 0; i < runs; i++) {
    must(tsr_clear(j->counts, NULL, &j->error), &j->error);
    must(tsr_timer_start(j->counts, NULL, &j->error), &j->error);
    count(j);
    must(tsr_timer_stop(j->counts, NULL, &milliseconds, &j->error), &j->error);
    least = i == 0 || milliseconds < least ? milliseconds : least;
  }
  check_counts(j, what);
  return least;
}

/* ---- The program ----------------------------------------------------------------------------- */

/* Three quarters of the text repeat its first quarter, with an error now and then, as reads of a genome do. */
static void make_text(job *j) {
  uint64_t state = 1;
  j->letters = malloc(j->n);
  if (!j->letters) exit(1);
  for (uint64_t i = 0; i < j->n; i++) {
    const uint64_t random = random_number(&state);
    const bool is_new = i < j->n / 4 || random % 128 == 0;
    j->letters[i] = is_new ? (uint8_t) "ACGT"[random >> 62] : j->letters[i - j->n / 4];
    if (random % 1024 == 1) j->letters[i] = i % 2 ? 'N' : '\n';
  }
}

static void make_tables(job *j) {
  const char *const names[] = {"counts", "wanted"};
  const char *const chosen[] = {"chosen"};
  const void *arguments[] = {&j->text, &j->n, &j->k};
  j->wanted = make_table(j->arguments.folder, "wanted.ini", j->n);
  j->counts = make_table(j->arguments.folder, "counts.ini", j->n);
  tsr_table *const tables[] = {j->counts, j->wanted};
  j->text = make_array(j->wanted, j->n, j->letters);
  tsr_kernel *choose = make_kernel(&j->source, "choose_kmers", &j->wanted, chosen, 1);
  must(tsr_kernel_launch(choose, j->n, arguments, 3, NULL, &j->error), &j->error);
  tsr_kernel_destroy(choose);
  j->fused = make_kernel(&j->source, "count_kmers", tables, names, 2);
  j->write = make_kernel(&j->source, "write_kmers", &j->wanted, names + 1, 1);
  j->select = make_kernel(&j->source, "select_kmers", &j->wanted, names + 1, 1);
}

static void make_arrays(job *j) {
  uint32_t *ones = malloc(j->n * sizeof *ones);
  if (!ones) exit(1);
  for (uint64_t i = 0; i < j->n; i++) ones[i] = 1;
  j->ones = make_array(j->wanted, j->n * sizeof *ones, ones);
  j->kmers = make_array(j->wanted, j->n * sizeof *j->kmers, NULL);
  j->selected = make_array(j->wanted, j->n * sizeof *j->selected, NULL);
  j->present = make_array(j->wanted, j->n, NULL);
  j->number = make_array(j->wanted, sizeof *j->number, NULL);
  free(ones);
}

static void free_all(job *j) {
  tsr_kernel *const kernels[] = {j->fused, j->write, j->select};
  void *const memory[] = {j->text, j->ones, j->kmers, j->selected, j->present, j->number};
  for (uint32_t i = 0; i < 3; i++) tsr_kernel_destroy(kernels[i]);
  for (uint32_t i = 0; i < 6; i++) tsr_memory_free(j->wanted, memory[i]);
  tsr_table_destroy(j->wanted);
  tsr_table_destroy(j->counts);
  free(j->letters);
}

int main(int argc, char **argv) {
  job j = {.k = K};
  j.arguments = read_arguments(argc, argv, "examples/kmers", 1 << 20);
  j.n = j.arguments.items;
  char *text = read_text(j.arguments.folder, "kmers.cu");
  j.source = (tsr_kernel_source){.text = text, .file = "kmers.cu"};
  make_text(&j);
  make_tables(&j);
  make_arrays(&j);
  const double bulk = run(&j, "bulk calls", count_by_bulk), fused = run(&j, "one kernel", count_fused);
  if (j.arguments.has_times) say_times("k-mers", j.n, fused, bulk);
  free_all(&j);
  free(text);
  return 0;
}
