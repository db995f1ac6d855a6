/* SPDX-License-Identifier: Apache-2.0
 *
 * Renumbers a sampled graph: the ends of edges become numbers from 0 on, in one call and without a sort. Once in the order in
 * which nodes are met, by tsr_number; and twice in any order, by tsr_number and by a kernel. An oracle numbers them one by one.
 *
 *   relabel [--times N] [FOLDER]     N edges; FOLDER holds relabel.cu and the specs
 */
#include "../example.h"

typedef struct job {
  example_arguments arguments;
  uint64_t count; /* ends of edges */
  uint64_t *ends; /* the host's copy */
  uint32_t *numbers;
  uint64_t *device_ends; /* where the table is */
  uint32_t *device_numbers;
  tsr_table *index;
  tsr_kernel *kernel;
  tsr_error error;
} job;

/* Each edge goes from a seed, or from a node that was met, to a neighbour far away. */
static void sample(uint64_t *ends, uint64_t edges) {
  uint64_t state = 11;
  for (uint64_t i = 0; i < edges; i++) {
    const uint64_t from = i ? random_number(&state) % (2 * i) : 0;
    ends[2 * i] = i < 64 ? random_number(&state) % 1000000007 : ends[from];
    ends[2 * i + 1] = ends[2 * i] * 31 % 1000000007 + random_number(&state) % 16;
  }
}

/* The first place of each node, by a table of the oracle's own: linear probing in twice as many slots. Numbers are below
 * `nodes`, and where they are `in_order` each node has the next one. */
static bool agrees(const job *j, uint64_t nodes, bool in_order) {
  const uint64_t *ends = j->ends;
  const uint32_t *numbers = j->numbers;
  uint64_t room = 1, met = 0;
  while (room < 4 * j->count) room *= 2;
  uint64_t *slots = calloc(room, sizeof *slots); /* a place in `ends`, plus 1 */
  bool *taken = calloc(nodes + 1, sizeof *taken), right = slots && taken;
  for (uint64_t i = 0; right && i < j->count; i++) {
    uint64_t at = ends[i] * 0x9E3779B97F4A7C15u % room;
    while (slots[at] && ends[slots[at] - 1] != ends[i]) at = (at + 1) % room;
    if (slots[at]) {
      right = numbers[i] == numbers[slots[at] - 1];
      continue;
    }
    slots[at] = i + 1;
    right = numbers[i] < nodes && !taken[numbers[i]] && (!in_order || numbers[i] == met);
    if (right) taken[numbers[i]] = true;
    met++;
  }
  free(slots);
  free(taken);
  return right && met == nodes;
}

static void check(job *j, const char *what, bool in_order) {
  uint64_t given = 0, *nodes = malloc(j->count * sizeof *nodes);
  if (!nodes) exit(1);
  must(tsr_memory_copy(j->index, j->numbers, j->device_numbers, j->count * sizeof *j->numbers, &j->error), &j->error);
  must(tsr_numbers_given(j->index, &given, &j->error), &j->error);
  must(tsr_keys_by_number(j->index, 0, given, nodes, NULL, &j->error),
       &j->error); /* number -> node, for its features */
  bool right = agrees(j, given, in_order);
  for (uint64_t i = 0; right && i < j->count; i++) right = nodes[j->numbers[i]] == j->ends[i];
  printf("%s: %llu edges have %llu nodes; the oracle %s\n", what, (unsigned long long)j->arguments.items,
         (unsigned long long)given, right ? "agrees" : "DISAGREES");
  free(nodes);
  if (!right) exit(1);
}

static void by_bulk(job *j) {
  must(tsr_number(j->index, j->count, j->device_ends, j->device_numbers, NULL, &j->error), &j->error);
}

static void by_kernel(job *j) {
  const void *arguments[] = {&j->device_ends, &j->device_numbers};
  must(tsr_kernel_launch(j->kernel, j->count, arguments, 2, NULL, &j->error), &j->error);
}

/* Milliseconds of the fastest run, each on an empty table. */
static double run(job *j, const char *what, void (*number)(job *j), bool in_order) {
  double least = 0, milliseconds;
  const uint32_t runs = j->arguments.has_times ? EXAMPLE_RUNS : 1;
  for (uint32_t i = 0; i < runs; i++) {
    must(tsr_clear(j->index, NULL, &j->error), &j->error);
    must(tsr_timer_start(j->index, NULL, &j->error), &j->error);
    number(j);
    must(tsr_timer_stop(j->index, NULL, &milliseconds, &j->error), &j->error);
    least = i == 0 || milliseconds < least ? milliseconds : least;
  }
  check(j, what, in_order);
  return least;
}

/* The arrays belong to the table. */
static void make_index(job *j, const char *spec) {
  j->index = make_table(j->arguments.folder, spec, j->count);
  j->device_ends = make_array(j->index, j->count * sizeof *j->ends, j->ends);
  j->device_numbers = make_array(j->index, j->count * sizeof *j->numbers, NULL);
}

static void drop_index(job *j) {
  tsr_memory_free(j->index, j->device_ends);
  tsr_memory_free(j->index, j->device_numbers);
  tsr_table_destroy(j->index);
}

int main(int argc, char **argv) {
  static const char *const names[] = {"nodes"};
  job j = {.count = 0};
  j.arguments = read_arguments(argc, argv, "examples/relabel", 50000);
  j.count = 2 * j.arguments.items;
  j.ends = malloc(j.count * sizeof *j.ends);
  j.numbers = malloc(j.count * sizeof *j.numbers);
  if (!j.ends || !j.numbers) return 1;
  sample(j.ends, j.arguments.items);
  make_index(&j, "nodes.ini");
  const double in_order = run(&j, "in the order of first items", by_bulk, true);
  drop_index(&j);

  char *text = read_text(j.arguments.folder, "relabel.cu");
  const tsr_kernel_source source = {.text = text, .file = "relabel.cu"};
  make_index(&j, "any_order.ini");
  j.kernel = make_kernel(&source, "relabel", &j.index, names, 1);
  const double bulk = run(&j, "bulk call", by_bulk, false), fused = run(&j, "one kernel", by_kernel, false);
  if (j.arguments.has_times) {
    printf("in the order of first items: %.3f ms\n", in_order);
    say_times("numbers", j.count, fused, bulk);
  }
  tsr_kernel_destroy(j.kernel);
  drop_index(&j);
  free(text);
  free(j.ends);
  free(j.numbers);
  return 0;
}
