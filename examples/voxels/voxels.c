/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the points of a moving point cloud per voxel. A key is four 32-bit coordinates: points come as structs, and the
 * occupied voxels go out as columns (tsr_key_unpack). The counts are compared with those of a sort.
 *
 *   voxels [--times N] [FOLDER]     N points; FOLDER holds voxels.ini
 */
#include "../example.h"

typedef struct voxel {
  int32_t x, y, z;
  uint32_t t;
} voxel;

enum { FRAMES = 4, RADIUS = 8 };

/* A cloud that is dense in the middle and moves to the right. */
static voxel random_point(uint64_t *state, uint64_t i) {
  int32_t at[3];
  for (int axis = 0; axis < 3; axis++) {
    const uint64_t bits = random_number(state);
    at[axis] = (int32_t)(bits % RADIUS) + (int32_t)(bits >> 32) % RADIUS;
  }
  const uint32_t t = (uint32_t)(i % FRAMES);
  return (voxel){at[0] + (int32_t)t, at[1], -at[2], t};
}

static int by_voxel(const void *left, const void *right) { return memcmp(left, right, sizeof(voxel)); }

/* How many points a voxel has among the sorted ones. */
static uint32_t count_of(const voxel *sorted, uint64_t n, const voxel *one) {
  const voxel *found = bsearch(one, sorted, n, sizeof *sorted, by_voxel);
  uint32_t count = 0;
  while (found && found > sorted && by_voxel(found - 1, one) == 0) found--;
  for (; found && found < sorted + n && by_voxel(found, one) == 0; found++) count++;
  return count;
}

/* The columns of all voxels, and their counts. Returns how many there are. */
static uint64_t take_out(tsr_table *table, void *columns[4], uint32_t **counts) {
  tsr_error error;
  uint64_t room = 0;
  must(tsr_size(table, &room, &error), &error);
  voxel *const keys = malloc((room + 1) * sizeof *keys);
  *counts = malloc((room + 1) * sizeof **counts);
  for (int c = 0; c < 4; c++) columns[c] = malloc((room + 1) * sizeof(uint32_t));
  must(tsr_export(table, room, keys, *counts, &room, &error), &error);
  must(tsr_key_unpack(table, room, keys, columns, NULL, NULL, &error), &error);
  free(keys);
  return room;
}

int main(int argc, char **argv) {
  const example_arguments arguments = read_arguments(argc, argv, "examples/voxels", 1 << 20);
  const uint64_t n = arguments.items;
  tsr_error error;
  tsr_table *table = make_table(arguments.folder, "voxels.ini", 1 << 12);
  voxel *points = malloc(n * sizeof *points);
  uint64_t state = 7, wrong = 0, all = 0;
  for (uint64_t i = 0; i < n; i++) points[i] = random_point(&state, i);
  must(tsr_insert(table, n, points, NULL, NULL, &error), &error);

  void *columns[4];
  uint32_t *counts;
  const uint64_t occupied = take_out(table, columns, &counts);
  qsort(points, n, sizeof *points, by_voxel);
  for (uint64_t i = 0; i < occupied; i++) {
    const voxel one = {((int32_t *)columns[0])[i], ((int32_t *)columns[1])[i], ((int32_t *)columns[2])[i],
                       ((uint32_t *)columns[3])[i]};
    wrong += count_of(points, n, &one) != counts[i];
    all += counts[i];
  }
  printf("%llu points in %llu voxels of %d frames; %s\n", (unsigned long long)n, (unsigned long long)occupied, FRAMES,
         wrong || all != n ? "the oracle disagrees" : "the oracle agrees");
  for (int c = 0; c < 4; c++) free(columns[c]);
  free(counts);
  free(points);
  tsr_table_destroy(table);
  return wrong || all != n;
}
