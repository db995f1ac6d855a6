/* SPDX-License-Identifier: Apache-2.0
 *
 * What gpus.sh measures of many GPUs that `bench` does not. All keys and answers are made and judged where they are, so that a
 * table may fill the GPUs and no second one is needed.
 *
 *   gpus_program link SM DEVICES N SPEC             links ahead, without a GPU, for one GPU and for all, N pairs each
 *   gpus_program one RANKS 0 - N SPEC TURNS         inserts and finds by one process on devices 0 to RANKS - 1, N pairs on each
 *   gpus_program split 1 0 - N SPEC TURNS           the same on one device that splits as if there were others
 *   gpus_program ranks RANKS RANK ID N SPEC TURNS   the same by processes: RANK is the process's number and its device
 *   gpus_program killed RANKS RANK ID N SPEC        rank 1 kills itself in a loop of inserts; the others tell when they hear of it
 *   gpus_program largest RANKS 0 - N SPEC           as `one`, once, in batches; absent keys are asked as well
 *
 * RANKS may be a list of devices in place of their number. BACKEND=cpu tries it without a GPU. CHUNK and EXCHANGE set what
 * [devices] does. A row: what, op, devices, pairs
 * per device, median milliseconds, least, billion per second, milliseconds of split, exchange, work and answers, chunks, bytes
 * sent, those of them that the work hides, "yes" if all answers are right.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/cuda/link.h"
#include "core/table/steps.h"
#include "core/tessera_devices.h"
#include "core/tessera_kernels.h"

enum { PARTS = 64, TURNS_MAX = 63, BATCH = 1 << 26 };

static tsr_error error;

/* Key i is a bijection's, and its value the complement. */
static const char kernels[] =
    "#include \"tessera.cuh\"\n"
    "TSR_TABLE(none, finds)\n"
    "TSR_KERNEL(make, (tsr_table_ref none, KEY *keys, VALUE *values, uint64_t first)) {\n"
    "  const uint64_t i = tsr_item();\n"
    "  if (i >= tsr_items()) return;\n"
    "  KEY key = (KEY)(first + i + 1) * (KEY)0x9E3779B97F4A7C15u;\n"
    "  key ^= key >> (4 * sizeof key);\n"
    "  keys[i] = key * (KEY)0xD6E8FEB86659FD93u;\n"
    "  if (values) values[i] = ~(VALUE)keys[i];\n"
    "}\n"
    "TSR_KERNEL(judge, (tsr_table_ref none, const KEY *keys, const VALUE *found, const uint8_t *present,\n"
    "                   uint32_t are_there, uint64_t *wrong)) {\n"
    "  const uint64_t i = tsr_item();\n"
    "  if (i >= tsr_items()) return;\n"
    "  const VALUE value = are_there == 2 ? (VALUE)1 : are_there ? ~(VALUE)keys[i] : (VALUE)77;\n"
    "  const uint32_t is_right = found ? found[i] == value : present[i] == are_there;\n"
    "  if (!is_right) tsr_add(wrong, 1);\n"
    "}\n";

/* A device's arrays, and a table of its own that only lends its kernels. */
typedef struct part {
  tsr_table *none;
  tsr_kernel *make, *judge;
  void *keys, *values;
  uint64_t *wrong;
} part;

typedef struct job {
  const char *what, *devices, *spec;
  uint32_t ranks, rank, parts; /* ranks: 0: one process */
  bool splits, counts;         /* counts: a counter takes no values, and has 1 of each key */
  uint64_t n;                  /* pairs on each device */
  uint64_t batch;              /* of them in one call */
  uint64_t value_bytes, key_bytes;
  tsr_group *group;
  tsr_table *table;
  tsr_call call;
  part part[PARTS];
} job;

static void must(tsr_status status, const char *what) {
  if (status == TSR_OK) return;
  fprintf(stderr, "gpus_program: %s: %s\n", what, error.message);
  exit(1);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void set(tsr_spec *spec, const char *key, const char *value) {
  char text[512];
  snprintf(text, sizeof text, "%s=%s", key, value);
  must(tsr_spec_set(spec, text, &error), text);
}

/* A recipe on these devices, without those that it names. A table that does not split has one device. */
static tsr_spec *spec_of(const char *path, const char *devices, bool splits) {
  char name[128];
  tsr_spec *recipe, *spec;
  tsr_spec_item item;
  must(tsr_spec_read(path, &recipe, &error), path);
  must(tsr_spec_parse("[table]\n", path, &spec, &error), path);
  for (size_t i = 0; tsr_spec_get_at(recipe, i, &item); i++) {
    snprintf(name, sizeof name, "%s.%s", item.section, item.key);
    const bool is_list = strcmp(name, "table.devices") == 0 || strcmp(name, "table.device") == 0;
    if (!is_list && (splits || strcmp(item.section, "devices") != 0)) set(spec, name, item.value);
  }
  if (getenv("BACKEND")) set(spec, "table.backend", getenv("BACKEND"));
  set(spec, splits ? "table.devices" : "table.device", devices);
  if (splits && getenv("CHUNK")) set(spec, "devices.chunk", getenv("CHUNK"));
  if (splits && getenv("EXCHANGE")) set(spec, "devices.exchange", getenv("EXCHANGE"));
  tsr_spec_free(recipe);
  return spec;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

static const char *const kernel_tables[] = {"none"};

typedef struct kernel_text {
  char text[2 * sizeof kernels];
} kernel_text;

static kernel_text text_of(uint64_t key_bytes, uint64_t value_bytes) {
  kernel_text made;
  snprintf(made.text, sizeof made.text, "#define KEY uint%" PRIu64 "_t\n#define VALUE uint%" PRIu64 "_t\n%s",
           8 * key_bytes, 8 * (value_bytes ? value_bytes : 4), kernels);
  return made;
}

static tsr_kernel *kernel_of(const job *j, tsr_table *none, const char *name) {
  const kernel_text made = text_of(j->key_bytes, j->value_bytes);
  const tsr_kernel_source source = {.size = sizeof source, .text = made.text};
  tsr_kernel *kernel;
  must(tsr_kernel_create(&source, name, &none, kernel_tables, 1, &kernel, &error), name);
  return kernel;
}

static void open_part(job *j, uint32_t i, const char *device) {
  part *p = &j->part[i];
  tsr_spec *spec = spec_of("specs/quickstart.ini", device, false);
  must(tsr_table_create(spec, &(tsr_options){.capacity = 1}, &p->none, &error), "a table that lends its kernels");
  tsr_spec_free(spec);
  p->make = kernel_of(j, p->none, "make");
  p->judge = kernel_of(j, p->none, "judge");
  void *wrong;
  const uint64_t answer_bytes = j->value_bytes ? j->value_bytes : 1;
  must(tsr_memory_allocate_on(j->table, i, j->batch * j->key_bytes, &p->keys, &error), "keys");
  must(tsr_memory_allocate_on(j->table, i, j->batch * answer_bytes, &p->values, &error), "values");
  must(tsr_memory_allocate(p->none, sizeof *p->wrong, &wrong, &error), "wrong");
  p->wrong = wrong;
}

static void open_job(job *j) {
  char own[16];
  tsr_table_info info = {0};
  const char *at = j->devices;
  snprintf(own, sizeof own, "%u", j->rank);
  tsr_spec *spec = spec_of(j->spec, j->ranks ? own : j->devices, j->splits);
  const char *kind = tsr_spec_get(spec, "table", "kind");
  j->counts = kind && strcmp(kind, "counter") == 0;
  const uint64_t all = j->n * (j->ranks ? j->ranks : j->parts);
  const tsr_options options = {.capacity = all};
  if (j->ranks)
    must(tsr_group_table_create(j->group, spec, &options, &j->table, &error), "a table of the group");
  else
    must(tsr_table_create(spec, &options, &j->table, &error), "a table");
  tsr_spec_free(spec);
  tsr_table_describe(j->table, &info);
  j->key_bytes = info.key_bits / 8;
  j->value_bytes = info.value_bits / 8;
  j->call = (tsr_call){.missing = 77};
  fprintf(stderr, "%s: %" PRIu64 " pairs, %" PRIu64 " bytes here\n", j->what, all, info.bytes);
  must(tsr_table_prepare(j->table, TSR_PREPARE_INSERT | (j->value_bytes ? TSR_PREPARE_FIND : TSR_PREPARE_CONTAINS),
                         &error),
       "the code");
  for (uint32_t i = 0; i < j->parts; i++) {
    char device[16];
    snprintf(device, sizeof device, "%.*s", (int)strcspn(at, ","), at);
    at += strcspn(at, ",") + (at[strcspn(at, ",")] == ',');
    open_part(j, i, j->ranks ? own : device);
  }
}

static void close_job(job *j) {
  for (uint32_t i = 0; i < j->parts; i++) {
    part *p = &j->part[i];
    tsr_kernel_destroy(p->make);
    tsr_kernel_destroy(p->judge);
    tsr_memory_free(p->none, p->wrong);
    tsr_memory_free(j->table, p->keys);
    tsr_memory_free(j->table, p->values);
    tsr_table_destroy(p->none);
  }
  tsr_table_destroy(j->table);
  tsr_group_destroy(j->group);
}

/* Where the pairs of a part begin in a batch; those behind all parts' are absent. */
static uint64_t first_of(const job *j, uint32_t i, uint64_t done, bool are_there) {
  const uint64_t parts = j->ranks ? j->ranks : j->parts, number = j->ranks ? j->rank : i;
  return number * j->n + done + (are_there ? 0 : parts * j->n);
}

/* One call, of a batch that begins after `done` pairs of each part. Returns its milliseconds. */
static double run_batch(job *j, uint32_t call, uint64_t done, bool are_there, uint64_t *wrong) {
  const uint64_t left = j->n - done, n = left < j->batch ? left : j->batch, none = 0;
  const bool inserts = call == TSR_PREPARE_INSERT;
  tsr_batch_part parts[PARTS];
  for (uint32_t i = 0; i < j->parts; i++) {
    part *p = &j->part[i];
    const uint64_t first = first_of(j, i, done, are_there);
    void *values = inserts && j->value_bytes && !j->counts ? p->values : NULL;
    const void *arguments[] = {&p->keys, &values, &first};
    must(tsr_kernel_launch(p->make, n, arguments, 3, NULL, &error), "make");
    must(tsr_table_wait(p->none, &error), "make");
    parts[i] = (tsr_batch_part){.size = sizeof *parts, .n = n, .keys = p->keys, .values = values, .call = &j->call};
    if (!inserts && j->value_bytes) parts[i].found = p->values;
    if (!inserts && !j->value_bytes) parts[i].present = p->values;
  }
  uint64_t one = 1;
  if (j->group) must(tsr_group_add_up(j->group, 1, &one, &error), "all are ready");
  const double begin = now_ms();
  must(tsr_call_parts(j->table, call, j->parts, parts, &error), "the call");
  must(tsr_table_wait(j->table, &error), "the call");
  const double took = now_ms() - begin;
  for (uint32_t i = 0; !inserts && i < j->parts; i++) {
    part *p = &j->part[i];
    uint64_t here = 0;
    const uint32_t expected = are_there && j->counts ? 2 : are_there;
    const void *found = j->value_bytes ? p->values : NULL, *present = j->value_bytes ? NULL : p->values;
    const void *arguments[] = {&p->keys, &found, &present, &expected, &p->wrong};
    must(tsr_memory_copy(p->none, p->wrong, &none, sizeof none, &error), "judge");
    must(tsr_kernel_launch(p->judge, n, arguments, 5, NULL, &error), "judge");
    must(tsr_table_wait(p->none, &error), "judge");
    must(tsr_memory_copy(p->none, &here, p->wrong, sizeof here, &error), "judge");
    *wrong += here;
  }
  return took;
}

/* All pairs, or as many absent ones, by batches. */
static double run_all(job *j, uint32_t call, bool are_there, uint64_t *wrong) {
  double took = 0;
  for (uint64_t done = 0; done < j->n; done += j->batch) took += run_batch(j, call, done, are_there, wrong);
  return took;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int by_time(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

static void print_row(job *j, const char *op, double *times, uint32_t turns, const tsr_phases *p, uint64_t wrong) {
  const uint32_t devices = j->ranks ? j->ranks : j->parts;
  if (j->group) must(tsr_group_add_up(j->group, 1, &wrong, &error), "all have judged");
  if (j->rank) return;
  qsort(times, turns, sizeof *times, by_time);
  printf("%s,%s,%u,%" PRIu64 ",%.3f,%.3f,%.2f,%.3f,%.3f,%.3f,%.3f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s\n", j->what,
         op, devices, j->n, times[turns / 2], times[0], (double)(j->n * devices) / 1e6 / times[turns / 2], p->split_ms,
         p->exchange_ms, p->work_ms, p->answer_ms, p->chunks, p->sent_bytes, p->hidden_bytes, wrong ? "NO" : "yes");
  fflush(stdout);
}

/* The first turn warms up, and the last one measures the legs. */
static void measure(job *j, uint32_t turns) {
  static const struct {
    const char *op;
    bool inserts, are_there;
  } ops[] = {{"insert", true, true}, {"find100", false, true}, {"find0", false, false}};
  for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
    double times[TURNS_MAX + 2];
    uint64_t wrong = 0, size = 0;
    tsr_phases phases = {.size = sizeof phases};
    const uint32_t call = ops[o].inserts   ? TSR_PREPARE_INSERT
                          : j->value_bytes ? TSR_PREPARE_FIND
                                           : TSR_PREPARE_CONTAINS;
    const uint32_t first = turns > 1; /* a turn before, and one behind */
    for (uint32_t turn = 0; turn < turns + 2 * first; turn++) {
      const bool measures = j->splits && first && turn == turns + 1;
      if (ops[o].inserts) must(tsr_clear(j->table, NULL, &error), "clear");
      must(tsr_table_wait(j->table, &error), "wait");
      if (measures) must(tsr_phases_start(j->table, &error), "phases");
      times[turn] = run_all(j, call, ops[o].are_there, &wrong);
      if (measures) must(tsr_phases_stop(j->table, &phases, &error), "phases");
    }
    must(tsr_size(j->table, &size, &error), "size");
    wrong += size != j->n * (j->ranks ? j->ranks : j->parts);
    print_row(j, ops[o].op, times + first, turns, &phases, wrong);
  }
}

/* The others hear of it, and can end. */
static void be_killed(job *j) {
  uint64_t wrong = 0;
  run_batch(j, TSR_PREPARE_INSERT, 0, true, &wrong);
  const tsr_batch_part batch = {
      .size = sizeof batch, .n = j->n, .keys = j->part[0].keys, .values = j->value_bytes ? j->part[0].values : NULL};
  double last = now_ms();
  for (uint32_t turn = 0; turn < 1000; turn++, last = now_ms()) {
    if (turn == 5 && j->rank == 1) raise(SIGKILL);
    if (tsr_call_parts(j->table, TSR_PREPARE_INSERT, 1, &batch, &error) == TSR_OK) continue;
    printf("%s,killed,%u,%" PRIu64 ",%.3f,-,-,-,-,-,-,-,-,-,yes\n", j->what, j->ranks, j->n, now_ms() - last);
    fprintf(stderr, "rank %u: %s\n", j->rank, error.message);
    return;
  }
  fprintf(stderr, "rank %u has heard of nothing\n", j->rank);
  exit(1);
}

/* ---- The program ----------------------------------------------------------------------------- */

static void link_kernels(uint32_t sm, uint64_t key_bytes, uint64_t value_bytes) {
  static const char *const names[] = {"make", "judge"};
  const kernel_text made = text_of(key_bytes, value_bytes);
  const tsr_kernel_source source = {.size = sizeof source, .text = made.text};
  tsr_spec *spec = spec_of("specs/quickstart.ini", "0", false);
  const tsr_spec *const none = spec;
  const tsr_options options = {.capacity = 1};
  const tsr_kernel_target target = {.size = sizeof target, .sm = sm, .use_cache = true, .options = &options};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    tsr_link link = {.size = sizeof link};
    must(tsr_kernel_link(&source, names[i], &none, kernel_tables, 1, &target, &link, &error), names[i]);
    tsr_link_free(&link);
  }
  tsr_spec_free(spec);
}

static uint64_t bytes_of(const tsr_spec *spec, const char *key) {
  const char *bits = tsr_spec_get(spec, "table", key);
  return bits ? strtoull(bits, NULL, 10) / 8 : 0;
}

static void link_ahead(const char *sm, const char *devices, uint64_t n, const char *path) {
  uint64_t parts = 1;
  for (size_t i = 0; tsr_sets_of_no_table[i]; i++) {
    tsr_link link = {.size = sizeof link};
    must(tsr_cuda_link_set(tsr_sets_of_no_table[i], (uint32_t)atoi(sm), true, &link, &error), "steps of no table");
    tsr_link_free(&link);
  }
  for (const char *at = devices; (at = strchr(at, ',')); at++) parts++;
  const char *const lists[] = {"0", devices, devices};
  const uint64_t capacities[] = {n, n, n * parts};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    tsr_spec *spec = spec_of(path, lists[i], i > 0);
    const tsr_options options = {.capacity = capacities[i]};
    const char *kind = tsr_spec_get(spec, "table", "kind");
    const uint32_t finds = kind && strcmp(kind, "set") == 0 ? TSR_PREPARE_CONTAINS : TSR_PREPARE_FIND;
    must(tsr_spec_prepare(spec, &options, (uint32_t)atoi(sm), TSR_PREPARE_INSERT | TSR_PREPARE_SIZE | finds, NULL,
                          &error),
         path);
    link_kernels((uint32_t)atoi(sm), bytes_of(spec, "key_bits"), bytes_of(spec, "value_bits"));
    tsr_spec_free(spec);
  }
}

/* "2^27", or a number. */
static uint64_t number_of(const char *text) {
  return strncmp(text, "2^", 2) == 0 ? UINT64_C(1) << atoi(text + 2) : strtoull(text, NULL, 10);
}

static char *first_devices(uint32_t count) {
  static char list[4 * PARTS];
  for (uint32_t i = 0, at = 0; i < count; i++) at += (uint32_t)sprintf(list + at, i ? ",%u" : "%u", i);
  return list;
}

int main(int count, char **arguments) {
  if (count < 6) {
    fprintf(stderr, "usage: the first lines of gpus.c\n");
    return 2;
  }
  const char *what = arguments[1];
  if (strcmp(what, "link") == 0) {
    link_ahead(arguments[2], arguments[3], number_of(arguments[4]), arguments[5]);
    return 0;
  }
  if (count < 7) return 2;
  const bool is_group = strcmp(what, "ranks") == 0 || strcmp(what, "killed") == 0, is_list = strchr(arguments[2], ',');
  const uint32_t number = (uint32_t)atoi(arguments[2]);
  job j = {.what = getenv("WHAT") ? getenv("WHAT") : what,
           .devices = is_list ? arguments[2] : first_devices(number),
           .ranks = is_group ? number : 0,
           .rank = is_group ? (uint32_t)atoi(arguments[3]) : 0,
           .parts = 1,
           .n = number_of(arguments[5]),
           .spec = arguments[6]};
  for (const char *at = j.devices; !is_group && (at = strchr(at, ',')); at++) j.parts++;
  j.splits = j.ranks || j.parts > 1 || strcmp(what, "split") == 0;
  const bool is_largest = strcmp(what, "largest") == 0;
  j.batch = is_largest && j.n > BATCH ? BATCH : j.n;
  if (j.parts > PARTS || j.ranks > PARTS) return 2;
  const tsr_group_options limits = {.size = sizeof limits, .limit_s = 20};
  if (is_group) must(tsr_group_create(j.rank, j.ranks, arguments[4], &limits, &j.group, &error), "the group");
  open_job(&j);
  const int turns = count > 7 ? atoi(arguments[7]) : 1;
  if (strcmp(what, "killed") == 0)
    be_killed(&j);
  else
    measure(&j, turns < 1 ? 1 : turns > TURNS_MAX ? TURNS_MAX : (uint32_t)turns);
  close_job(&j);
  return 0;
}
