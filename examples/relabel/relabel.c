/* SPDX-License-Identifier: Apache-2.0
 *
 * Renumbers a sampled graph: the ends of edges become numbers from 0 on, in the order in which nodes are met, in one call and
 * without a sort. An oracle numbers them one by one.
 *
 *   relabel [--times N] [FOLDER]     N edges; FOLDER holds nodes.ini
 */
#include "../example.h"

/* Each edge goes from a seed, or from a node that was met, to a neighbour far away. */
static void sample(uint64_t *ends, uint64_t edges) {
  uint64_t state = 11;
  for (uint64_t i = 0; i < edges; i++) {
    const uint64_t from = i ? random_number(&state) % (2 * i) : 0;
    ends[2 * i] = i < 64 ? random_number(&state) % 1000000007 : ends[from];
    ends[2 * i + 1] = ends[2 * i] * 31 % 1000000007 + random_number(&state) % 16;
  }
}

/* The first place of each node, by a table of the oracle's own: linear probing in twice as many slots. */
static bool agrees(const uint64_t *ends, const uint32_t *numbers, uint64_t count, uint64_t nodes) {
  uint64_t room = 1, met = 0;
  while (room < 4 * count) room *= 2;
  uint64_t *slots = calloc(room, sizeof *slots); /* a place in `ends`, plus 1 */
  bool right = slots != NULL;
  for (uint64_t i = 0; right && i < count; i++) {
    uint64_t at = ends[i] * 0x9E3779B97F4A7C15u % room;
    while (slots[at] && ends[slots[at] - 1] != ends[i]) at = (at + 1) % room;
    if (!slots[at]) {
      slots[at] = i + 1;
      right = numbers[i] == met++;
    } else {
      right = numbers[i] == numbers[slots[at] - 1];
    }
  }
  free(slots);
  return right && met == nodes;
}

int main(int argc, char **argv) {
  const example_arguments arguments = read_arguments(argc, argv, "examples/relabel", 50000);
  const uint64_t count = 2 * arguments.items; /* ends of edges */
  uint64_t *ends = malloc(count * sizeof *ends), *nodes = malloc(count * sizeof *nodes), given = 0;
  uint32_t *numbers = malloc(count * sizeof *numbers);
  if (!ends || !nodes || !numbers) return 1;
  sample(ends, arguments.items);
  tsr_table *index = make_table(arguments.folder, "nodes.ini", count);
  tsr_error error;
  must(tsr_number(index, count, ends, numbers, NULL, &error), &error);
  must(tsr_numbers_given(index, &given, &error), &error);
  must(tsr_keys_by_number(index, 0, given, nodes, NULL, &error), &error); /* number -> node, for its features */
  bool right = agrees(ends, numbers, count, given);
  for (uint64_t i = 0; i < count; i++) right = right && nodes[numbers[i]] == ends[i];
  printf("%llu edges have %llu nodes; the oracle %s\n", (unsigned long long)arguments.items, (unsigned long long)given,
         right ? "agrees" : "DISAGREES");
  tsr_table_destroy(index);
  free(ends);
  free(nodes);
  free(numbers);
  return !right;
}
