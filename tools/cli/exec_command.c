/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera exec: runs kernels of a user's own over tables. Arrays and numbers go to a kernel by the names of its
 * parameters: an array that it reads comes from a file, one that it writes has an element for each item, and kernels that
 * name the same array or table share it. Read next: core/tessera.cuh (the kernels), outputs.h, pairs.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "core/tessera_kernels.h"
#include "tools/cli/advice.h"
#include "tools/cli/command.h"
#include "tools/cli/dataset.h"
#include "tools/cli/pairs.h"
#include "tools/cli/reading.h"
#include "tools/lab/outputs.h"

enum { NAME_BYTES = 64, ARRAYS_MAX = 32, KERNELS_MAX = 16, OUTPUTS_MAX = 64, CHUNK = 1 << 20 };

typedef struct exec_table {
  char name[NAME_BYTES];
  const char *path; /* of its spec */
  tsr_table *table;
  bool is_other; /* another one's, by this name as well */
} exec_table;

typedef struct exec_array {
  char name[NAME_BYTES];
  uint32_t bits; /* of an element */
  uint64_t count;
  void *host; /* what was read, or comes back */
  void *data; /* where the tables are */
  bool is_written;
} exec_array;

typedef struct exec_job {
  const tsr_arguments *arguments;
  tsr_kernel_source source;
  char *text;
  tsr_kernel_facts *kernels; /* in the order of their runs */
  size_t kernel_count;
  exec_table tables[TSR_KERNEL_TABLES_MAX];
  size_t table_count;
  exec_array arrays[ARRAYS_MAX];
  size_t array_count;
  uint64_t items;
} exec_job;

/* ---- Words ----------------------------------------------------------------------------------- */

/* Splits NAME=REST; false if it is none. */
static bool split(const char *word, char name[NAME_BYTES], const char **rest) {
  const char *sign = strchr(word, '=');
  if (!sign || sign == word || sign[1] == 0 || sign - word >= NAME_BYTES) return false;
  memcpy(name, word, (size_t)(sign - word));
  name[sign - word] = 0;
  *rest = sign + 1;
  return true;
}

static exec_table *find_table(exec_job *job, const char *name) {
  for (size_t i = 0; i < job->table_count; i++)
    if (strcmp(job->tables[i].name, name) == 0) return &job->tables[i];
  return NULL;
}

static exec_array *find_array(exec_job *job, const char *name) {
  for (size_t i = 0; i < job->array_count; i++)
    if (strcmp(job->arrays[i].name, name) == 0) return &job->arrays[i];
  return NULL;
}

/* The bits of a number of this type, "uint32_t"; 0 for others. */
static uint32_t bits_of(const char *type) {
  static const struct {
    const char *name;
    uint32_t bits;
  } types[] = {{"uint8_t", 8}, {"uint16_t", 16}, {"uint32_t", 32}, {"uint64_t", 64}, {"tsr_key128", 128}};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
    if (strcmp(type, types[i].name) == 0) return types[i].bits;
  return 0;
}

/* The same of an array's elements; *is_read: the kernel only reads them. */
static uint32_t array_bits(const tsr_kernel_parameter *p, bool *is_read) {
  char type[sizeof p->type];
  const char *from = p->type;
  *is_read = strncmp(from, "const ", 6) == 0;
  if (*is_read) from += 6;
  const size_t length = strlen(from);
  if (length < 2 || strcmp(from + length - 2, " *") != 0) return 0;
  snprintf(type, sizeof type, "%.*s", (int)(length - 2), from);
  return bits_of(type);
}

/* Of 128 bits the lower half. */
static uint64_t number_of(const void *array, uint32_t bits, uint64_t i) {
  return bits > 64 ? tsr_number_at(array, 64, 2 * i) : tsr_number_at(array, bits, i);
}

static uint64_t element(const exec_array *array, uint64_t i) {
  switch (array->bits) {
  case 8:
    return ((const uint8_t *)array->host)[i];
  case 16:
    return ((const uint16_t *)array->host)[i];
  default:
    return number_of(array->host, array->bits, i);
  }
}

/* ---- Files that are read --------------------------------------------------------------------- */

static tsr_status read_bytes(const char *path, void **bytes, uint64_t *count, tsr_error *error) {
  FILE *in = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  uint64_t room = CHUNK;
  unsigned char *read = in ? malloc(room + 1) : NULL;
  *count = 0;
  if (!in) return tsr_fail(error, TSR_NOT_FOUND, "%s: %s", path, strerror(errno));
  for (size_t got = 1; read && got;) {
    got = fread(read + *count, 1, room - *count, in);
    *count += got;
    if (*count < room) continue;
    unsigned char *more = realloc(read, 2 * room + 1);
    if (!more) free(read);
    read = more;
    room *= 2;
  }
  const bool failed = ferror(in) != 0;
  if (in != stdin) fclose(in);
  if (!read) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for all of it", path);
  read[*count] = 0;
  *bytes = read;
  return failed ? tsr_fail(error, TSR_IO, "%s: %s", path, strerror(errno)) : TSR_OK;
}

static void say_read(const exec_job *job, const char *path, const tsr_dataset_options *options,
                     const tsr_input *input) {
  const tsr_input_facts facts = tsr_input_describe(input);
  tsr_say_what_was_read(path, options, &facts, tsr_arguments_has(job->arguments, "--quiet"));
}

/* All keys of a file, as numbers of 32, 64 or 128 bits. */
static tsr_status read_numbers(const exec_job *job, const char *path, uint32_t bits, void **numbers, uint64_t *count,
                               tsr_error *error) {
  const tsr_dataset_options options = {.key_bits = bits};
  const size_t bytes = bits / 8;
  tsr_input *input = NULL;
  uint64_t room = CHUNK, got = 1;
  char *read = malloc(room * bytes);
  *count = 0;
  tsr_status status = read ? tsr_input_open(path, &options, &input, error) : TSR_NO_MEMORY;
  while (status == TSR_OK && got) {
    if (room - *count < CHUNK) {
      room *= 2;
      char *more = realloc(read, room * bytes);
      if (!more) status = TSR_NO_MEMORY;
      if (!more) break;
      read = more;
    }
    status = tsr_input_read(input, CHUNK, read + *count * bytes, NULL, &got, error);
    *count += status == TSR_OK ? got : 0;
  }
  if (status == TSR_OK) say_read(job, path, &options, input);
  tsr_input_close(input);
  *numbers = read;
  return status == TSR_NO_MEMORY ? tsr_fail(error, status, "%s: no memory for all of its numbers", path) : status;
}

static tsr_status read_array(exec_job *job, const char *name, const char *path, tsr_error *error) {
  uint32_t bits = 0;
  for (size_t k = 0; k < job->kernel_count; k++)
    for (size_t i = job->kernels[k].tables; i < job->kernels[k].parameters; i++) {
      bool is_read;
      const tsr_kernel_parameter *p = &job->kernels[k].parameter[i];
      if (strcmp(p->name, name) == 0) bits = array_bits(p, &is_read);
    }
  if (bits == 0 || bits == 16)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--in %s: no kernel has an array parameter of this name, of uint8_t (the bytes of a file), "
                    "uint32_t, uint64_t or tsr_key128 (its numbers)",
                    name);
  if (find_array(job, name)) return tsr_fail(error, TSR_BAD_ARGUMENT, "--in %s was given twice", name);
  if (job->array_count == ARRAYS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--in %s: there are at most %d arrays", name, ARRAYS_MAX);
  exec_array *array = &job->arrays[job->array_count++];
  snprintf(array->name, sizeof array->name, "%s", name);
  array->bits = bits;
  return bits == 8 ? read_bytes(path, &array->host, &array->count, error)
                   : read_numbers(job, path, bits, &array->host, &array->count, error);
}

static tsr_status read_arrays(exec_job *job, tsr_error *error) {
  tsr_status status = TSR_OK;
  const char *items = tsr_arguments_value(job->arguments, "--items");
  for (size_t i = 0; status == TSR_OK && i < job->arguments->given_count; i++) {
    char name[NAME_BYTES];
    const char *path;
    if (strcmp(job->arguments->given[i].name, "--in") != 0) continue;
    if (!split(job->arguments->given[i].value, name, &path))
      return tsr_fail(error, TSR_BAD_ARGUMENT, "--in %s: must be PARAMETER=FILE", job->arguments->given[i].value);
    status = read_array(job, name, path, error);
  }
  if (status) return status;
  job->items = job->array_count ? job->arrays[0].count : 0;
  if (items && !tsr_parse_u64(items, &job->items))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--items %s: must be a number", items);
  if (job->items == 0 && !job->array_count && !items)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "there are no items: say --in PARAMETER=FILE, of which each element is one, "
                    "or --items N");
  return TSR_OK;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static tsr_status add_table(exec_job *job, const char *word, tsr_error *error) {
  exec_table *t = &job->tables[job->table_count];
  if (job->table_count == TSR_KERNEL_TABLES_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--table %s: there are at most %d", word, TSR_KERNEL_TABLES_MAX);
  if (!split(word, t->name, &t->path))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--table %s: must be NAME=SPEC, or NAME=@OTHER for a table that has two",
                    word);
  if (find_table(job, t->name)) return tsr_fail(error, TSR_BAD_ARGUMENT, "--table %s was given twice", t->name);
  if (t->path[0] == '@') {
    const exec_table *other = find_table(job, t->path + 1);
    if (!other)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "--table %s: there is no table %s before it", word, t->path + 1);
    t->table = other->table;
    t->is_other = true;
  } else {
    tsr_options options = {.plugins = tsr_arguments_value(job->arguments, "--plugins")};
    tsr_spec *spec = NULL;
    tsr_status status = tsr_arguments_spec(job->arguments, t->path, &spec, error);
    if (status) return status;
    if (!tsr_spec_get(spec, "table", "capacity")) options.capacity = job->items ? job->items : 1;
    status = tsr_table_create(spec, &options, &t->table, error);
    tsr_spec_free(spec);
    if (status) return status;
  }
  job->table_count++;
  return TSR_OK;
}

static tsr_status insert_file(exec_job *job, const char *word, tsr_error *error) {
  char name[NAME_BYTES];
  const char *path;
  if (!split(word, name, &path) || !find_table(job, name))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--insert %s: must be NAME=FILE, with the name of a --table", word);
  tsr_table *table = find_table(job, name)->table;
  tsr_table_info info = {0};
  char advice[TSR_FULL_ADVICE_BYTES];
  tsr_report report = {0};
  tsr_input *input = NULL;
  tsr_table_describe(table, &info);
  const char *kind = tsr_spec_get(tsr_table_spec(table), "table", "kind");
  const bool counts = strcmp(kind, "counter") == 0, has_values = info.value_bits && strcmp(kind, "index") != 0;
  const tsr_dataset_options options = {.key_bits = info.key_bits,
                                       .value_bits = info.value_bits,
                                       .want_values = has_values,
                                       .value_rule = counts ? TSR_VALUE_CONSTANT : TSR_VALUE_NATURAL,
                                       .value = 1};
  void *keys = malloc((size_t)CHUNK * 16), *values = has_values ? malloc((size_t)CHUNK * (info.value_bits / 8)) : NULL;
  tsr_status status = keys && (values || !has_values)
                          ? tsr_input_open(path, &options, &input, error)
                          : tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for its pairs", path);
  for (uint64_t got = 1; status == TSR_OK && got;) {
    status = tsr_input_read(input, CHUNK, keys, values, &got, error);
    if (status == TSR_OK && got) status = tsr_insert(table, got, keys, values, NULL, error);
  }
  if (status == TSR_OK) status = tsr_table_report(table, &report, error);
  if (status == TSR_OK && report.not_placed)
    status = tsr_fail(error, TSR_NO_MEMORY, "%s: %" PRIu64 " pairs found no room: %s", path, report.not_placed,
                      tsr_advice_when_full(table, "let it grow: growth = double", advice));
  if (status == TSR_OK) say_read(job, path, &options, input);
  tsr_input_close(input);
  free(keys);
  free(values);
  return status;
}

static tsr_status each(exec_job *job, const char *option,
                       tsr_status (*act)(exec_job *job, const char *word, tsr_error *error), tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->arguments->given_count; i++)
    if (strcmp(job->arguments->given[i].name, option) == 0) status = act(job, job->arguments->given[i].value, error);
  return status;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static tsr_status read_kernel(exec_job *job, const char *name, tsr_error *error) {
  if (job->kernel_count == KERNELS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--kernel %s: at most %d kernels run, one after the other", name,
                    KERNELS_MAX);
  tsr_status status = tsr_kernel_read(&job->source, name, &job->kernels[job->kernel_count], error);
  if (status == TSR_OK) job->kernel_count++;
  return status;
}

static tsr_status read_file(exec_job *job, tsr_error *error) {
  void *text;
  uint64_t bytes;
  job->source.file = job->arguments->operands[0];
  job->kernels = calloc(KERNELS_MAX, sizeof *job->kernels);
  if (!job->kernels) return tsr_fail(error, TSR_NO_MEMORY, "no memory for kernels");
  tsr_status status = read_bytes(job->source.file, &text, &bytes, error);
  if (status) return status;
  job->source.text = job->text = text;
  if (strlen(job->text) != bytes)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: is no text: it has a NUL", job->source.file);
  status = each(job, "--kernel", read_kernel, error);
  return status || job->kernel_count ? status : read_kernel(job, NULL, error);
}

/* An array for a parameter: what was read or is shared, or a new one for what the kernel writes. */
static tsr_status place_array(exec_job *job, const tsr_kernel_facts *kernel, const tsr_kernel_parameter *p,
                              uint32_t bits, bool is_read, exec_array **place, tsr_error *error) {
  exec_array *array = find_array(job, p->name);
  if (!array && is_read)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s reads %s: say --in %s=FILE", kernel->name, p->name, p->name);
  if (!array && job->array_count == ARRAYS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s: there are at most %d arrays", kernel->name, p->name, ARRAYS_MAX);
  if (!array) {
    array = &job->arrays[job->array_count++];
    *array = (exec_array){.bits = bits, .count = job->items};
    snprintf(array->name, sizeof array->name, "%s", p->name);
    array->host = calloc(array->count + 1, bits / 8);
    if (!array->host) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the array %s", p->name);
  }
  if (array->bits != bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s is an array of items of %u bits here, and of %u bits elsewhere",
                    kernel->name, p->name, bits, array->bits);
  array->is_written = array->is_written || !is_read;
  *place = array;
  if (array->data) return TSR_OK;
  if (array->count < job->items)
    tsr_say("%s has %" PRIu64 " elements, and there are %" PRIu64 " items: see that no kernel reads beyond its end",
            array->name, array->count, job->items);
  tsr_table *table = job->tables[0].table;
  const uint64_t bytes = array->count * (bits / 8);
  tsr_status status = tsr_memory_allocate(table, bytes ? bytes : 1, &array->data, error);
  return status ? status : tsr_memory_copy(table, array->data, array->host, bytes, error);
}

/* A number: what --let says, or of `n` the items. */
static tsr_status place_number(const exec_job *job, const tsr_kernel_facts *kernel, const tsr_kernel_parameter *p,
                               uint64_t *number, tsr_error *error) {
  const char *type = strncmp(p->type, "const ", 6) == 0 ? p->type + 6 : p->type;
  const uint32_t bits = bits_of(type);
  bool is_said = strcmp(p->name, "n") == 0;
  if (bits == 0 || bits > 64)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "%s: %s is of type %s: exec knows uint8_t to uint64_t, arrays of these and of tsr_key128, const "
                    "where they are "
                    "read",
                    kernel->name, p->name, p->type);
  *number = job->items;
  for (size_t i = 0; i < job->arguments->given_count; i++) {
    char name[NAME_BYTES];
    const char *word = job->arguments->given[i].value, *text;
    if (strcmp(job->arguments->given[i].name, "--let") != 0) continue;
    if (!split(word, name, &text) || strcmp(name, p->name) != 0) continue;
    if (!tsr_parse_u64(text, number) || (bits < 64 && *number >> bits))
      return tsr_fail(error, TSR_BAD_ARGUMENT, "--let %s: must be a number of %u bits", word, bits);
    is_said = true;
  }
  if (is_said) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: its parameter %s has no value: say --let %s=NUMBER", kernel->name,
                  p->name, p->name);
}

static tsr_status run_kernel(exec_job *job, const tsr_kernel_facts *facts, tsr_error *error) {
  tsr_table *tables[TSR_KERNEL_TABLES_MAX];
  const char *names[TSR_KERNEL_TABLES_MAX];
  const void *arguments[TSR_KERNEL_PARAMETERS_MAX];
  uint64_t numbers[TSR_KERNEL_PARAMETERS_MAX]; /* little-endian: the first bytes are the number of fewer bits */
  tsr_kernel *kernel = NULL;
  tsr_status status = TSR_OK;
  for (size_t i = 0; i < facts->tables; i++) {
    const exec_table *table = find_table(job, facts->parameter[i].name);
    if (!table)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s works on a table %s: say --table %s=SPEC", facts->name,
                      facts->parameter[i].name, facts->parameter[i].name);
    tables[i] = table->table;
    names[i] = table->name;
  }
  for (size_t i = facts->tables; status == TSR_OK && i < facts->parameters; i++) {
    const tsr_kernel_parameter *p = &facts->parameter[i];
    bool is_read;
    exec_array *array = NULL;
    const size_t at = i - facts->tables;
    const uint32_t bits = array_bits(p, &is_read);
    status = bits ? place_array(job, facts, p, bits, is_read, &array, error)
                  : place_number(job, facts, p, &numbers[at], error);
    arguments[at] = array ? (const void *)&array->data : &numbers[at];
  }
  if (status == TSR_OK)
    status = tsr_kernel_create(&job->source, facts->name, tables, names, facts->tables, &kernel, error);
  if (status == TSR_OK)
    status = tsr_kernel_launch(kernel, job->items, arguments, facts->parameters - facts->tables, NULL, error);
  for (size_t i = 0; status == TSR_OK && i < facts->tables; i++) status = tsr_table_wait(tables[i], error);
  tsr_kernel_destroy(kernel);
  return status;
}

/* ---- What comes out -------------------------------------------------------------------------- */

static tsr_status fetch_arrays(exec_job *job, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->array_count; i++) {
    const exec_array *array = &job->arrays[i];
    if (array->is_written)
      status = tsr_memory_copy(job->tables[0].table, array->host, array->data, array->count * (array->bits / 8), error);
  }
  return status;
}

static bool is_filter(const exec_table *t, tsr_filter_info *filter) {
  tsr_error why;
  return tsr_filter_describe(t->table, filter, &why) == TSR_OK;
}

/* A line for each table, and for each array that was written; sums are modulo 2^64. */
static tsr_status print_facts(const exec_job *job, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < job->table_count; i++) {
    const exec_table *t = &job->tables[i];
    tsr_pairs pairs = {.count = 0};
    tsr_report report = {0};
    uint64_t keys = 0, values = 0;
    tsr_filter_info filter = {0};
    if (t->is_other) continue;
    if (is_filter(t, &filter)) {
      printf("table %s: about %.0f keys\n", t->name, filter.keys);
      continue;
    }
    status = tsr_pairs_export(t->table, &pairs, error);
    if (status == TSR_OK) status = tsr_table_report(t->table, &report, error);
    if (status) break;
    const bool has_numbers = pairs.value_bits && pairs.value_bits <= 64;
    for (uint64_t j = 0; j < pairs.count; j++) {
      keys += number_of(pairs.keys, pairs.key_bits, j);
      if (has_numbers) values += tsr_number_at(pairs.values, pairs.value_bits, j);
    }
    printf("table %s: %" PRIu64 " pairs, sum of keys %" PRIu64, t->name, pairs.count, keys);
    if (has_numbers) printf(", of values %" PRIu64, values);
    if (report.not_placed) printf(", %" PRIu64 " pairs found no room", report.not_placed);
    printf("\n");
    tsr_pairs_free(&pairs);
  }
  for (size_t i = 0; status == TSR_OK && i < job->array_count; i++) {
    const exec_array *array = &job->arrays[i];
    uint64_t sum = 0;
    if (!array->is_written) continue;
    for (uint64_t j = 0; j < array->count; j++) sum += element(array, j);
    printf("array %s: %" PRIu64 " numbers, sum %" PRIu64 "\n", array->name, array->count, sum);
  }
  return status;
}

/* A number a line. */
static tsr_status write_array(const exec_array *array, const char *path, tsr_error *error) {
  tsr_rows rows = {.count = array->count, .key_bits = 64};
  if (array->bits > 64) {
    rows.key_bits = array->bits;
    rows.keys = array->host;
    return tsr_rows_write(path, &rows, error);
  }
  uint64_t *numbers = malloc((array->count + 1) * sizeof *numbers);
  if (!numbers) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the numbers of %s", path, array->name);
  for (uint64_t i = 0; i < array->count; i++) numbers[i] = element(array, i);
  rows.keys = numbers;
  tsr_status status = tsr_rows_write(path, &rows, error);
  free(numbers);
  return status;
}

/* Before a kernel runs: what is to be written is a table, or an array of a kernel. */
static tsr_status check_out(exec_job *job, const char *word, tsr_error *error) {
  char name[NAME_BYTES];
  const char *path;
  bool is_read;
  if (!split(word, name, &path)) return TSR_OK;
  const exec_table *table = find_table(job, name);
  tsr_filter_info filter = {0};
  if (table && is_filter(table, &filter))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--out %s: %s is a filter, which keeps bits and no keys to write", word,
                    name);
  if (table) return TSR_OK;
  for (size_t k = 0; k < job->kernel_count; k++)
    for (size_t i = job->kernels[k].tables; i < job->kernels[k].parameters; i++) {
      const tsr_kernel_parameter *p = &job->kernels[k].parameter[i];
      if (strcmp(p->name, name) == 0 && array_bits(p, &is_read)) return TSR_OK;
    }
  return tsr_fail(error, TSR_BAD_ARGUMENT, "--out %s: there is no array or table %s", word, name);
}

/* And what is said of a number is a parameter of a kernel. */
static tsr_status check_let(exec_job *job, const char *word, tsr_error *error) {
  char name[NAME_BYTES];
  const char *text;
  bool is_read;
  if (!split(word, name, &text)) return tsr_fail(error, TSR_BAD_ARGUMENT, "--let %s: must be PARAMETER=NUMBER", word);
  for (size_t k = 0; k < job->kernel_count; k++)
    for (size_t i = job->kernels[k].tables; i < job->kernels[k].parameters; i++) {
      const tsr_kernel_parameter *p = &job->kernels[k].parameter[i];
      if (strcmp(p->name, name) == 0 && !array_bits(p, &is_read)) return TSR_OK;
    }
  return tsr_fail(error, TSR_BAD_ARGUMENT, "--let %s: no kernel has a parameter of this name that is a number", word);
}

static tsr_status write_out(exec_job *job, const char *word, tsr_error *error) {
  char name[NAME_BYTES];
  const char *path;
  tsr_pairs pairs = {.count = 0};
  if (!split(word, name, &path)) return TSR_OK; /* refused before */
  const exec_array *array = find_array(job, name);
  const exec_table *table = find_table(job, name);
  if (array) return write_array(array, path, error);
  tsr_status status = tsr_pairs_export(table->table, &pairs, error);
  if (status == TSR_OK) status = tsr_pairs_sort(&pairs, error);
  if (status == TSR_OK) status = tsr_pairs_write(&pairs, 0, path, error);
  tsr_pairs_free(&pairs);
  return status;
}

/* Before anything is read: outputs have a place, and replace no input and no other output. */
static tsr_status check_outputs(const exec_job *job, tsr_error *error) {
  tsr_named_path outputs[OUTPUTS_MAX], inputs[OUTPUTS_MAX];
  size_t output_count = 0, input_count = 0;
  tsr_status status = TSR_OK;
  inputs[input_count++] = (tsr_named_path){"KERNELS", job->arguments->operands[0]};
  for (size_t i = 0; status == TSR_OK && i < job->arguments->given_count; i++) {
    const tsr_given *given = &job->arguments->given[i];
    char name[NAME_BYTES];
    const char *path;
    const bool is_output = strcmp(given->name, "--out") == 0;
    if (!is_output && strcmp(given->name, "--in") != 0 && strcmp(given->name, "--table") != 0 &&
        strcmp(given->name, "--insert") != 0)
      continue;
    if (!split(given->value, name, &path)) {
      if (is_output) return tsr_fail(error, TSR_BAD_ARGUMENT, "--out %s: must be NAME=FILE", given->value);
      continue; /* refused where it is read */
    }
    if (output_count == OUTPUTS_MAX || input_count == OUTPUTS_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: there are at most %d files", given->value, OUTPUTS_MAX - 1);
    if (is_output) {
      status = tsr_rows_check_name("--out", path, error);
      outputs[output_count++] = (tsr_named_path){given->name, path};
    } else if (path[0] != '@') {
      inputs[input_count++] = (tsr_named_path){given->name, path};
    }
  }
  return status ? status : tsr_outputs_check(outputs, output_count, inputs, input_count, error);
}

/* ---- The command ----------------------------------------------------------------------------- */

static const tsr_option options[] = {
    {"--table", "NAME=SPEC", true,
     "A table, under the name that the kernels use for it. NAME=@OTHER: a further name of a table."},
    {"--insert", "NAME=FILE", true, "Inserts the file's pairs into a table before any kernel runs."},
    {"--in", "PARAMETER=FILE", true,
     "An array that kernels read: the bytes of a file for uint8_t, otherwise its numbers. The elements of the first "
     "one are the items."},
    {"--let", "PARAMETER=NUMBER", true, "A number. n is the number of items if it is not set."},
    {"--items", "N", false, "Number of items of a kernel; arrays that it writes have as many elements."},
    {"--kernel", "NAME", true, "Kernels to run, one after the other. Otherwise the only one of the file."},
    {"--out", "NAME=FILE", true,
     "Where a table's pairs go, sorted by key, or an array, a number per line. '-' is standard output."},
    {"--quiet", NULL, false, "Prints no line for each table and array."},
    TSR_OPTION_SET,
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

static void free_job(exec_job *job) {
  for (size_t i = 0; i < job->array_count; i++) {
    if (job->arrays[i].data) tsr_memory_free(job->tables[0].table, job->arrays[i].data);
    free(job->arrays[i].host);
  }
  for (size_t i = 0; i < job->table_count; i++)
    if (!job->tables[i].is_other) tsr_table_destroy(job->tables[i].table);
  free(job->kernels);
  free(job->text);
}

/* *wrong grows by the pairs without room and the sums that came out wrong. */
static tsr_status say_report(const exec_table *t, uint64_t *wrong, tsr_error *error) {
  char of[NAME_BYTES + sizeof "table "];
  tsr_report report = {0};
  const tsr_status status = tsr_table_report(t->table, &report, error);
  const bool stops = tsr_bits_of_stop(t->table);
  snprintf(of, sizeof of, "table %s", t->name);
  if (status == TSR_OK && report.overflows && stops)
    tsr_say_stopped(of, t->table, NULL);
  else if (status == TSR_OK && report.overflows)
    tsr_say("%s: %" PRIu64
            " sum%s passed the largest value; these values are wrong. Use overflow = saturate in its spec, "
            "which stops sums there",
            of, report.overflows, report.overflows == 1 ? "" : "s");
  *wrong += report.not_placed + (stops ? 0 : report.overflows);
  return status;
}

static tsr_exit run_exec(const tsr_arguments *arguments) {
  exec_job job = {.arguments = arguments};
  tsr_error error;
  uint64_t wrong = 0;
  tsr_status status = check_outputs(&job, &error);
  if (status == TSR_OK) status = read_file(&job, &error);
  if (status == TSR_OK) status = read_arrays(&job, &error);
  if (status == TSR_OK) status = each(&job, "--table", add_table, &error);
  if (status == TSR_OK) status = each(&job, "--out", check_out, &error);
  if (status == TSR_OK) status = each(&job, "--let", check_let, &error);
  if (status == TSR_OK) status = each(&job, "--insert", insert_file, &error);
  for (size_t i = 0; status == TSR_OK && i < job.kernel_count; i++) status = run_kernel(&job, &job.kernels[i], &error);
  if (status == TSR_OK) status = fetch_arrays(&job, &error);
  if (status == TSR_OK && !tsr_arguments_has(arguments, "--quiet")) status = print_facts(&job, &error);
  for (size_t i = 0; status == TSR_OK && i < job.table_count; i++) {
    if (!job.tables[i].is_other) status = say_report(&job.tables[i], &wrong, &error);
  }
  if (status == TSR_OK) status = each(&job, "--out", write_out, &error);
  free_job(&job);
  if (status) return tsr_say_error(status, &error);
  return wrong ? TSR_EXIT_UNPLACED : TSR_EXIT_OK;
}

const tsr_command tsr_exec_command = {
    {"exec", "KERNELS", "Runs kernels of your own, written against tessera.cuh, over tables.", options, NULL},
    run_exec};
