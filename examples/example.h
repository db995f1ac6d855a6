/* SPDX-License-Identifier: Apache-2.0
 *
 * What the example programs share: the command line, files, tables from INI files, times. Read next: kmers/kmers.c.
 */
#ifndef TSR_EXAMPLE_H
#define TSR_EXAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera_kernels.h>

/* Ends the program with the library's sentence. */
static inline void must(tsr_status status, const tsr_error *error) {
  if (status == TSR_OK) return;
  fprintf(stderr, "%s\n", error->message);
  exit(1);
}

/* A whole file of this example's folder, which the caller frees. */
static inline char *read_text(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *in = fopen(path, "rb");
  long bytes = in && fseek(in, 0, SEEK_END) == 0 ? ftell(in) : -1;
  char *text = bytes >= 0 ? calloc(1, (size_t)bytes + 1) : NULL;
  if (!text || fseek(in, 0, SEEK_SET) != 0 || fread(text, 1, (size_t)bytes, in) != (size_t)bytes) {
    fprintf(stderr, "%s cannot be read\n", path);
    exit(1);
  }
  fclose(in);
  return text;
}

/* A table of a spec in that folder. */
static inline tsr_table *make_table(const char *folder, const char *name, uint64_t capacity) {
  char path[4096];
  tsr_error error;
  tsr_spec *spec;
  tsr_table *table;
  const tsr_options options = {.capacity = capacity};
  snprintf(path, sizeof path, "%s/%s", folder, name);
  must(tsr_spec_read(path, &spec, &error), &error);
  must(tsr_table_create(spec, &options, &table, &error), &error);
  tsr_spec_free(spec);
  return table;
}

/* An array where the table lives; with `from` a copy of it. */
static inline void *make_array(tsr_table *table, uint64_t bytes, const void *from) {
  tsr_error error;
  void *memory;
  must(tsr_memory_allocate(table, bytes, &memory, &error), &error);
  if (from) must(tsr_memory_copy(table, memory, from, bytes, &error), &error);
  return memory;
}

static inline tsr_kernel *make_kernel(const tsr_kernel_source *source, const char *name, tsr_table *const *tables,
                                      const char *const *names, size_t count) {
  tsr_error error;
  tsr_kernel *kernel;
  must(tsr_kernel_create(source, name, tables, names, count, &kernel, &error), &error);
  return kernel;
}

/* Random numbers (xorshift64*), the same in every run. */
static inline uint64_t random_number(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 0x2545F4914F6CDD1Du;
}

/* PROGRAM [--times N] [FOLDER]: N items, timed; FOLDER holds the example's files. */
typedef struct example_arguments {
  const char *folder;
  uint64_t items;
  bool has_times;
} example_arguments;

static inline example_arguments read_arguments(int argc, char **argv, const char *folder, uint64_t items) {
  example_arguments a = {folder, items, false};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--times") == 0 && i + 1 < argc) {
      a.has_times = true;
      a.items = strtoull(argv[++i], NULL, 10);
    } else {
      a.folder = argv[i];
    }
  }
  if (a.items < 64 || argv[argc - 1][0] == '-') {
    fprintf(stderr, "usage: %s [--times N] [FOLDER], with at least 64 items\n", argv[0]);
    exit(2);
  }
  return a;
}

/* The least of several runs counts: what a machine does besides only makes one longer. */
enum { EXAMPLE_RUNS = 5 };

static inline void say_times(const char *what, uint64_t items, double fused, double bulk) {
  printf("%s: one kernel %.3f ms, %.2f G items/s; bulk calls %.3f ms, %.2f G items/s; %.2fx\n", what, fused,
         (double)items / fused * 1e-6, bulk, (double)items / bulk * 1e-6, bulk / fused);
}

#endif
