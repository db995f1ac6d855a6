/* SPDX-License-Identifier: Apache-2.0
 *
 * A rank of a group: mpi_ranks WHAT over MPI, for mpi_test.sh, and mpi_ranks WHAT RANK SIZE ID by sockets, for hosts_test.sh.
 * `table` has no line of MPI. It prints one line if all is right.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/tessera_devices.h"

static uint32_t rank, size;

#define NEED(condition)                                                                                                \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "rank %" PRIu32 ", line %d: %s: %s\n", rank, __LINE__, #condition, error.message);               \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static tsr_error error;

/* The transport carries columns too, though all ranks are on one machine. */
static tsr_table *table_of(tsr_group *group, const char *capacity) {
  tsr_spec *spec = NULL;
  tsr_table *table = NULL;
  char words[64];
  NEED(tsr_spec_parse(
           "[table]\nkind = map\nkey_bits = 32\nvalue_bits = 32\nlayout = packed\nprobing = cuckoo\n"
           "hasher = murmur3\nbackend = cpu\ncapacity = 1\ndevices = 0\n[devices]\nchunk = 1024\nexchange = copy\n",
           "spec", &spec, &error) == TSR_OK);
  snprintf(words, sizeof words, "table.capacity=%s", capacity);
  NEED(tsr_spec_set(spec, words, &error) == TSR_OK);
  NEED(tsr_group_table_create(group, spec, NULL, &table, &error) == TSR_OK);
  tsr_spec_free(spec);
  return table;
}

/* Every rank inserts a part and finds all; batches differ in length, and are empty for some. */
static void use_table(tsr_group *group) {
  enum { N = 20000 };
  static uint32_t keys[N], values[N], all[N], found[N], out_keys[N], out_values[N];
  tsr_table *table = table_of(group, "20000");
  uint32_t mine = 0;
  uint64_t count = 0;
  for (uint32_t i = 0; i < N; i++) {
    all[i] = i * 2654435761u;
    if (i % (size + 1) % size != rank) continue;
    keys[mine] = all[i];
    values[mine++] = i;
  }
  NEED(tsr_insert(table, mine, keys, values, NULL, &error) == TSR_OK);
  NEED(tsr_insert(table, rank == 0 ? mine : 0, keys, values, NULL, &error) == TSR_OK);
  NEED(tsr_find(table, N, all, found, NULL, &error) == TSR_OK);
  for (uint32_t i = 0; i < N; i++) NEED(found[i] == i);
  NEED(tsr_size(table, &count, &error) == TSR_OK && count == N);
  NEED(tsr_export(table, N, out_keys, out_values, &count, &error) == TSR_OK && count == N);
  for (uint32_t i = 0; i < N; i++) NEED(out_keys[i] == all[out_values[i]]);
  NEED(tsr_rehash(table, &(tsr_rehash_options){.capacity = 30000, .seed = 3}, &error) == TSR_OK);
  NEED(tsr_erase(table, rank == 0 ? 100 : 0, all, NULL, &error) == TSR_OK);
  NEED(tsr_size(table, &count, &error) == TSR_OK && count == N - 100);
  tsr_table_destroy(table);
}

/* A message larger than the pieces that MPI counts is the same in smaller ones; here it is only large. */
static void send_much(tsr_group *group) {
  const uint32_t n = 1 << 20;
  uint32_t *keys = malloc(n * sizeof *keys), *found = malloc(n * sizeof *found);
  tsr_table *table = table_of(group, "4194304");
  NEED(keys && found);
  for (uint32_t i = 0; i < n; i++) keys[i] = i * size + rank;
  NEED(tsr_insert(table, n, keys, keys, NULL, &error) == TSR_OK);
  NEED(tsr_find(table, n, keys, found, NULL, &error) == TSR_OK);
  NEED(memcmp(keys, found, n * sizeof *keys) == 0);
  tsr_table_destroy(table);
  free(keys);
  free(found);
}

/* One rank fails by itself, makes another call, or leaves: all others are told, and nobody waits for ever. */
static void fail(tsr_group *group, const char *what) {
  uint32_t key = 1, value = 2;
  uint64_t count;
  tsr_table *table = table_of(group, "1000");
  if (strcmp(what, "other_call") == 0) {
    const tsr_status status =
        rank == 0 ? tsr_size(table, &count, &error) : tsr_insert(table, 1, &key, &value, NULL, &error);
    NEED(status == TSR_BAD_ARGUMENT && strstr(error.message, "is at another call than rank"));
  } else if (strcmp(what, "leaves") == 0 && rank != 1) {
    NEED(tsr_insert(table, 1, &key, &value, NULL, &error) == TSR_IO);
    NEED(strcmp(error.message, "rank 1: has left the group") == 0 || strstr(error.message, "rank 1 has ended"));
    NEED(tsr_size(table, &count, &error) == TSR_IO);
  } else if (strcmp(what, "no_memory") == 0) {
    tsr_spec *spec = NULL;
    tsr_table *none = NULL;
    const char *const capacity = rank == 1 ? "capacity = 2^40" : "capacity = 1000";
    char text[256];
    snprintf(
        text, sizeof text,
        "[table]\nkind = set\nkey_bits = 64\nlayout = packed\nprobing = cuckoo\nhasher = murmur3\nbackend = cpu\n%s\n",
        capacity);
    NEED(tsr_spec_parse(text, "spec", &spec, &error) == TSR_OK);
    NEED(tsr_group_table_create(group, spec, NULL, &none, &error) == TSR_NO_MEMORY && !none);
    NEED((rank == 1) == !strstr(error.message, "rank 1: ") && strstr(error.message, "cannot allocate"));
    tsr_spec_free(spec);
  }
  tsr_table_destroy(table);
}

/* The first rank takes the cable out. Then nothing comes from the other host, not even that a process has ended. */
static void lose_cable(tsr_group *group) {
  uint32_t key = rank, value = 2;
  char cut[256];
  tsr_table *table = table_of(group, "1000");
  NEED(tsr_insert(table, 1, &key, &value, NULL, &error) == TSR_OK);
  snprintf(cut, sizeof cut, "%s/cut", getenv("TSR_HOSTS") ? getenv("TSR_HOSTS") : ".");
  NEED(rank != 0 || system(cut) == 0);
  NEED(tsr_insert(table, 1, &key, &value, NULL, &error) == TSR_IO);
  NEED(strstr(error.message, "has not been heard of for") || strstr(error.message, "has ended or given up"));
  tsr_table_destroy(table);
}

static tsr_status meet(int argc, char **argv, tsr_group **group) {
  const tsr_group_options options = {.limit_s = 5};
  if (argc < 5) return tsr_group_create_by("mpi", NULL, &options, group, &error);
  return tsr_group_create((uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]), argv[4], &options, group, &error);
}

int main(int argc, char **argv) {
  tsr_group *group = NULL;
  const char *what = argc > 1 ? argv[1] : "table";
  NEED(meet(argc, argv, &group) == TSR_OK);
  NEED(tsr_group_describe(group, &rank, &size, &error) == TSR_OK);
  if (strcmp(what, "table") == 0) {
    use_table(group);
    send_much(group);
    tsr_group_destroy(group);
    NEED(meet(argc, argv, &group) == TSR_OK); /* and once more */
    use_table(group);
  } else if (strcmp(what, "cable") == 0) {
    lose_cable(group);
  } else {
    fail(group, what);
  }
  tsr_group_destroy(group);
  printf("rank %" PRIu32 " of %" PRIu32 " is right\n", rank, size);
  return 0;
}
