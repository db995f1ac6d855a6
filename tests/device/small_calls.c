/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call for a small batch costs the host: medians over rounds, in microseconds a call, as CSV. The clock runs while
 * the calls enqueue, and stops before anybody waits; answers are checked first. Build //tests/device:small_calls:
 *
 *   small_calls SPEC [BACKEND]      TESSERA_PLUGINS names the plugins' folders; BACKEND: cuda, if it is not said
 *
 * `own` are calls on a stream of the caller's, `default` those on the default one, `turns` on two streams in turn; rows of
 * two operations are of a pair of calls, each of which ends the phase of the other. Read next: python_calls.py.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/tessera_tools.h"

enum { KEYS = 64, CALLS = 200, ROUNDS = 25 };

typedef struct arrays {
  uint32_t *keys, *values, *found; /* in the table's memory */
} arrays;

static tsr_error error;

static void need(tsr_status status) {
  if (status == TSR_OK) return;
  fprintf(stderr, "small_calls: %s\n", error.message);
  exit(1);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* One call for each letter: insert, find, contains, erase. */
static void operate(tsr_table *table, const char *letters, const arrays *a, void *stream) {
  const tsr_call call = {.stream = stream};
  for (; *letters; letters++) switch (*letters) {
    case 'i':
      need(tsr_insert(table, KEYS, a->keys, a->values, &call, &error));
      break;
    case 'f':
      need(tsr_find(table, KEYS, a->keys, a->found, &call, &error));
      break;
    case 'e':
      need(tsr_erase(table, KEYS, a->keys, &call, &error));
      break;
    default:
      need(tsr_count_all(table, KEYS, a->keys, (uint64_t *)(void *)a->found, &call, &error));
      break;
    }
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void measure(tsr_table *table, const char *letters, const arrays *a, const char *name, void *first,
                    void *second) {
  double rounds[ROUNDS];
  operate(table, letters, a, first);
  for (int round = 0; round < ROUNDS; round++) {
    need(tsr_table_wait(table, &error));
    const double start = now_us();
    for (int i = 0; i < CALLS; i++) operate(table, letters, a, i % 2 ? second : first);
    rounds[round] = (now_us() - start) / CALLS / (double)strlen(letters);
  }
  need(tsr_table_wait(table, &error));
  qsort(rounds, ROUNDS, sizeof *rounds, compare);
  printf("%s,%s,%d,%.2f\n", letters, name, KEYS, rounds[ROUNDS / 2]);
}

/* A stream that the default one does not wait for; NULL on the cpu backend. */
static void *make_stream(int is_cuda) {
  void *stream = NULL, *driver = is_cuda ? dlopen("libcuda.so.1", RTLD_NOW) : NULL, *address[4] = {NULL};
  static const char *const names[] = {"cuDeviceGet", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                                      "cuStreamCreate"};
  int device = 0;
  void *context = NULL;
  int (*get)(int *, int), (*retain)(void **, int), (*push)(void *), (*create)(void **, unsigned);
  if (!driver) return NULL;
  for (int i = 0; i < 4; i++) address[i] = dlsym(driver, names[i]);
  memcpy(&get, &address[0], sizeof get);
  memcpy(&retain, &address[1], sizeof retain);
  memcpy(&push, &address[2], sizeof push);
  memcpy(&create, &address[3], sizeof create);
  if (get(&device, 0) || retain(&context, device) || push(context) || create(&stream, 1)) exit(1);
  return stream;
}

static void check(tsr_table *table, const arrays *a) {
  uint32_t found[KEYS];
  operate(table, "if", a, NULL);
  need(tsr_table_wait(table, &error));
  need(tsr_memory_copy(table, found, a->found, sizeof found, &error));
  for (uint32_t i = 0; i < KEYS; i++)
    if (found[i] != i * 3) {
      fprintf(stderr, "small_calls: key %" PRIu32 " has value %" PRIu32 ", not %" PRIu32 "\n", i, found[i], i * 3);
      exit(1);
    }
}

int main(int argc, char **argv) {
  static const char *const letters[] = {"f", "i", "c", "e", "if", "fe"};
  const char *backend = argc > 2 ? argv[2] : "cuda";
  char setting[64];
  uint32_t keys[KEYS], values[KEYS];
  tsr_spec *spec = NULL;
  tsr_table *table = NULL;
  void *memory[3];
  const tsr_options options = {.capacity = 1 << 20};
  if (argc < 2) return fprintf(stderr, "usage: small_calls SPEC [BACKEND]\n"), 2;
  snprintf(setting, sizeof setting, "table.backend=%s", backend);
  need(tsr_spec_read(argv[1], &spec, &error));
  need(tsr_spec_set(spec, setting, &error));
  need(tsr_table_create(spec, &options, &table, &error));
  for (int i = 0; i < 3; i++) need(tsr_memory_allocate(table, 2 * sizeof keys, &memory[i], &error));
  for (uint32_t i = 0; i < KEYS; i++) {
    keys[i] = i * 7 + 1;
    values[i] = i * 3;
  }
  const arrays a = {memory[0], memory[1], memory[2]};
  need(tsr_memory_copy(table, a.keys, keys, sizeof keys, &error));
  need(tsr_memory_copy(table, a.values, values, sizeof values, &error));
  check(table, &a);
  void *own = make_stream(strcmp(backend, "cuda") == 0), *other = make_stream(strcmp(backend, "cuda") == 0);
  puts("calls,stream,keys,us_a_call");
  for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
    measure(table, letters[i], &a, "default", NULL, NULL);
    measure(table, letters[i], &a, "own", own, own);
    measure(table, letters[i], &a, "turns", own, other);
  }
  for (int i = 0; i < 3; i++) tsr_memory_free(table, memory[i]);
  tsr_table_destroy(table);
  tsr_spec_free(spec);
  return 0;
}
