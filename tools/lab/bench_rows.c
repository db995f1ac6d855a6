/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing rows (bench_rows.h): a row is a list of texts, which are written as a line of CSV and as an object of JSON.
 */
#define _GNU_SOURCE /* open_memstream, stat */
#include "tools/lab/bench_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "tools/lab/bench_table.h"
#include "tools/lab/json.h"

/* In the order of the columns, which only ever get more. */
#define COLUMNS(column)                                                                                                \
  column(spec) column(backend) column(device) column(op) column(key_bits) column(value_bits) column(n) column(load)    \
      column(mops) column(probes) column(pct_limit) column(ok) column(utilization) column(keys) column(distinct)       \
          column(composition) column(not_placed) column(bytes) column(registers) column(link_ms) column(mops_min)      \
              column(mops_max) column(limit_mops) column(devices) column(stage) column(split_ms) column(exchange_ms)   \
                  column(work_ms) column(answer_ms) column(pct_link) column(scaling) column(scaling_net)               \
                      column(model_mops) column(version) column(parts_hash) column(composition_hash) column(seed)      \
                          column(compiler) column(threads) column(code) column(driver) column(clock_mhz)               \
                              column(memory_mhz) column(date) column(repeat) column(ratio) column(ratio_low)           \
                                  column(ratio_high) column(mops_each) column(warp_probes) column(hit_rate)            \
                                      column(options)

enum {
#define NUMBER(name) COLUMN_##name,
  COLUMNS(NUMBER) COLUMN_COUNT
};

static const char *const names[COLUMN_COUNT] = {
#define NAME(name) #name,
    COLUMNS(NAME)};

const char *tsr_bench_columns(void) {
#define WITH_COMMA(name) "," #name
  return &(COLUMNS(WITH_COMMA))[1]; /* after the first comma */
}

size_t tsr_bench_column(const char *name) {
  for (size_t i = 0; i < COLUMN_COUNT; i++)
    if (strcmp(names[i], name) == 0) return i;
  return SIZE_MAX;
}

/* ---- A row's texts --------------------------------------------------------------------------- */

typedef struct field {
  const char *text; /* NULL: the number */
  char number[48];  /* "" = unknown */
} field;

static void put_text(field *f, const char *text) {
  f->text = text && *text ? text : NULL;
  f->number[0] = 0;
}

static void put_real(field *f, int decimals, double number) {
  f->text = NULL;
  f->number[0] = 0;
  if (number > 0) snprintf(f->number, sizeof f->number, "%.*f", decimals, number);
}

static void put_whole(field *f, uint64_t number) {
  f->text = NULL;
  snprintf(f->number, sizeof f->number, "%" PRIu64, number);
}

static void fill_origin(const tsr_origin *origin, field *f) {
  put_text(&f[COLUMN_version], tsr_origin_version());
  put_text(&f[COLUMN_parts_hash], origin->parts);
  put_text(&f[COLUMN_composition_hash], origin->composition);
  put_real(&f[COLUMN_seed], 0, 0);
  if (origin->seed) put_whole(&f[COLUMN_seed], origin->seed);
  put_text(&f[COLUMN_compiler], origin->compiler);
  put_real(&f[COLUMN_threads], 0, origin->threads);
  put_text(&f[COLUMN_code], origin->code);
  put_text(&f[COLUMN_driver], origin->driver);
  put_real(&f[COLUMN_clock_mhz], 0, origin->clock_mhz);
  put_real(&f[COLUMN_memory_mhz], 0, origin->memory_mhz);
  put_text(&f[COLUMN_date], origin->date);
  put_real(&f[COLUMN_repeat], 0, (double)origin->repeat);
  put_text(&f[COLUMN_options], origin->options);
}

static void fill_fields(const tsr_bench_row *row, field *f) {
  static const char *const verdicts[] = {"yes", "no", "refused"};
  const bool is_measured = row->verdict != TSR_BENCH_REFUSED;
  put_text(&f[COLUMN_spec], row->spec);
  put_text(&f[COLUMN_backend], row->backend);
  put_text(&f[COLUMN_device], row->device);
  put_text(&f[COLUMN_op], row->op);
  put_whole(&f[COLUMN_key_bits], row->key_bits);
  put_whole(&f[COLUMN_value_bits], row->value_bits);
  put_whole(&f[COLUMN_n], row->n);
  f[COLUMN_load].text = NULL;
  snprintf(f[COLUMN_load].number, sizeof f[COLUMN_load].number, "%g", row->load);
  put_real(&f[COLUMN_mops], 2, row->mops);
  put_real(&f[COLUMN_probes], 4, row->probes);
  if (is_measured && row->mops == 0) snprintf(f[COLUMN_mops].number, sizeof f[COLUMN_mops].number, "0.00");
  if (is_measured && row->probes == 0) snprintf(f[COLUMN_probes].number, sizeof f[COLUMN_probes].number, "0.0000");
  put_real(&f[COLUMN_pct_limit], 1, row->limit_mops > 0 ? 100 * row->mops / row->limit_mops : 0);
  put_text(&f[COLUMN_ok], verdicts[row->verdict]);
  put_real(&f[COLUMN_utilization], 4, row->utilization);
  put_text(&f[COLUMN_keys], row->keys);
  put_real(&f[COLUMN_distinct], 0, (double)row->distinct);
  put_text(&f[COLUMN_composition], row->composition);
  put_real(&f[COLUMN_not_placed], 0, 0);
  if (row->not_placed != TSR_BENCH_UNKNOWN) put_whole(&f[COLUMN_not_placed], row->not_placed);
  put_real(&f[COLUMN_bytes], 0, (double)row->bytes);
  put_real(&f[COLUMN_registers], 0, row->registers);
  put_real(&f[COLUMN_link_ms], 1, row->link_ms);
  put_real(&f[COLUMN_mops_min], 2, row->mops_min);
  put_real(&f[COLUMN_mops_max], 2, row->mops_max);
  put_real(&f[COLUMN_limit_mops], 1, row->limit_mops);
  put_text(&f[COLUMN_devices], row->devices);
  put_text(&f[COLUMN_stage], row->stage);
  put_real(&f[COLUMN_split_ms], 3, row->split_ms);
  put_real(&f[COLUMN_exchange_ms], 3, row->exchange_ms);
  put_real(&f[COLUMN_work_ms], 3, row->work_ms);
  put_real(&f[COLUMN_answer_ms], 3, row->answer_ms);
  put_real(&f[COLUMN_pct_link], 1, row->pct_link);
  put_real(&f[COLUMN_scaling], 3, row->scaling);
  put_real(&f[COLUMN_scaling_net], 3, row->scaling_net);
  put_real(&f[COLUMN_model_mops], 2, row->model_mops);
  fill_origin(&row->origin, f);
  put_real(&f[COLUMN_ratio], 4, row->ratio);
  put_real(&f[COLUMN_ratio_low], 4, row->ratio_low);
  put_real(&f[COLUMN_ratio_high], 4, row->ratio_high);
  put_text(&f[COLUMN_mops_each], row->each);
  put_real(&f[COLUMN_warp_probes], 4, row->warp_probes);
  put_real(&f[COLUMN_hit_rate], 4, row->hit_rate);
}

void tsr_bench_print_text(FILE *out, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static void print_csv(FILE *out, const field *f) {
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    const char *text = f[i].text ? f[i].text : f[i].number;
    if (i) fputc(',', out);
    tsr_bench_print_text(out, *text ? text : "-");
  }
  fputc('\n', out);
}

static const tsr_bench_shape shapes[COLUMN_COUNT] = {[COLUMN_op] = TSR_BENCH_STAYS,
                                                     [COLUMN_load] = TSR_BENCH_STAYS,
                                                     [COLUMN_hit_rate] = TSR_BENCH_STAYS,
                                                     [COLUMN_mops] = TSR_BENCH_STAYS,
                                                     [COLUMN_probes] = TSR_BENCH_STAYS,
                                                     [COLUMN_ok] = TSR_BENCH_STAYS,
                                                     [COLUMN_composition] = TSR_BENCH_ABOVE,
                                                     [COLUMN_code] = TSR_BENCH_ABOVE,
                                                     [COLUMN_date] = TSR_BENCH_ABOVE,
                                                     [COLUMN_clock_mhz] = TSR_BENCH_ABOVE,
                                                     [COLUMN_mops_each] = TSR_BENCH_ABOVE,
                                                     [COLUMN_parts_hash] = TSR_BENCH_ABOVE,
                                                     [COLUMN_composition_hash] = TSR_BENCH_ABOVE};

static bool add_to_table(tsr_bench_table *table, const field *f) {
  const char *texts[COLUMN_COUNT];
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    const char *text = f[i].text ? f[i].text : f[i].number;
    texts[i] = *text ? text : "-";
  }
  return tsr_bench_table_add(table, texts);
}

static void print_json(tsr_json *json, const field *f) {
  tsr_json_object(json, NULL);
  for (size_t i = 0; i < COLUMN_COUNT; i++) {
    if (f[i].text)
      tsr_json_text(json, names[i], f[i].text);
    else
      tsr_json_written(json, names[i], f[i].number);
  }
  tsr_json_end_object(json);
}

/* ---- Where they go --------------------------------------------------------------------------- */

struct tsr_bench_output {
  const char *csv, *json_path; /* NULL: none */
  bool has_rows;               /* or had, when it was opened */
  bool is_streamed; /* the CSV is standard output, or a file that cannot be replaced: lines go there at once */
  FILE *stream;
  FILE *lines, *objects, *notes; /* texts in memory: the CSV file, and JSON's rows and notes */
  char *line_text, *object_text, *note_text;
  size_t line_bytes, object_bytes, note_bytes;
  bool has_table; /* rows are kept in `table`, and notes in `lines`, until the end */
  tsr_bench_table table;
  bool is_short;             /* there was no memory for one of them */
  tsr_json json, json_notes; /* into `objects` and `notes` */
};

static FILE *lines_of(tsr_bench_output *o) { return o->is_streamed ? o->stream : o->lines; }

/* Reads a CSV file that rows are to be added to. */
static tsr_status read_former(tsr_bench_output *o, FILE *file, tsr_error *error) {
  const char *columns = tsr_bench_columns();
  const size_t letters = strlen(columns);
  char *line = NULL;
  size_t room = 0, count = 0;
  tsr_status status = TSR_OK;
  for (ssize_t length; status == TSR_OK && (length = getline(&line, &room, file)) >= 0; count++) {
    const bool is_header = (size_t)length == letters + 1 && strncmp(line, columns, letters) == 0;
    if (count == 0 && !is_header)
      status = tsr_fail(error, TSR_BAD_ARGUMENT,
                        "%s: its first line does not name the columns that this version of tessera writes: write to "
                        "another file",
                        o->csv);
    else
      fwrite(line, 1, (size_t)length, o->lines);
  }
  free(line);
  if (status == TSR_OK && ferror(file)) status = tsr_fail(error, TSR_IO, "%s: cannot be read", o->csv);
  if (status == TSR_OK && count == 0) fprintf(o->lines, "%s\n", columns);
  return status;
}

static tsr_status open_csv(tsr_bench_output *o, bool adds_to, bool as_table, tsr_error *error) {
  struct stat facts;
  const bool is_there = o->csv && stat(o->csv, &facts) == 0;
  o->is_streamed = !o->csv || (is_there && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode));
  if (o->is_streamed) {
    if (!o->csv && o->json_path && strcmp(o->json_path, "-") == 0) return TSR_OK;
    o->stream = o->csv ? fopen(o->csv, "w") : stdout;
    if (!o->stream) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", o->csv, strerror(errno));
    o->has_table = as_table && !o->csv;
    o->table = (tsr_bench_table){.names = names, .shapes = shapes, .columns = COLUMN_COUNT};
    if (!o->has_table) fprintf(o->stream, "%s\n", tsr_bench_columns());
    return TSR_OK;
  }
  if (is_there && !adds_to)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is there already: name another file, or add rows to it by --append",
                    o->csv);
  const int failure = tsr_file_check_output(o->csv);
  if (failure) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", o->csv, strerror(failure));
  FILE *former = is_there ? fopen(o->csv, "r") : NULL;
  if (is_there && !former) return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", o->csv, strerror(errno));
  tsr_status status = TSR_OK;
  o->has_rows = is_there;
  if (former) {
    status = read_former(o, former, error);
    fclose(former);
  } else {
    fprintf(o->lines, "%s\n", tsr_bench_columns());
  }
  return status;
}

static void free_output(tsr_bench_output *o) {
  if (o->lines) fclose(o->lines);
  if (o->objects) fclose(o->objects);
  if (o->notes) fclose(o->notes);
  tsr_bench_table_free(&o->table);
  free(o->line_text);
  free(o->object_text);
  free(o->note_text);
  free(o);
}

tsr_status tsr_bench_output_open(const char *csv, bool adds_to, bool as_table, const char *json,
                                 tsr_bench_output **output, tsr_error *error) {
  tsr_bench_output *o = calloc(1, sizeof *o);
  if (!o) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
  o->csv = csv;
  o->json_path = json;
  o->lines = open_memstream(&o->line_text, &o->line_bytes);
  o->objects = open_memstream(&o->object_text, &o->object_bytes);
  o->notes = open_memstream(&o->note_text, &o->note_bytes);
  tsr_status status = o->lines && o->objects && o->notes ? open_csv(o, adds_to, as_table, error)
                                                         : tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
  if (status == TSR_OK) {
    o->json.out = o->objects;
    o->json_notes = (tsr_json){.out = o->notes, .depth = 1};
    tsr_json_object(&o->json, NULL);
    tsr_json_text(&o->json, "tessera", TSR_VERSION);
    tsr_json_list(&o->json, "rows");
  }
  const int failure = status == TSR_OK && json ? tsr_file_check_output(json) : 0;
  if (failure) status = tsr_fail(error, TSR_IO, "%s: cannot be written: %s", json, strerror(failure));
  if (status) {
    if (o->stream && o->csv) fclose(o->stream);
    free_output(o);
    return status;
  }
  *output = o;
  return TSR_OK;
}

void tsr_bench_output_row(tsr_bench_output *o, const tsr_bench_row *row) {
  field fields[COLUMN_COUNT];
  FILE *lines = lines_of(o);
  fill_fields(row, fields);
  o->has_rows = true;
  if (o->has_table)
    o->is_short = !add_to_table(&o->table, fields) || o->is_short;
  else if (lines)
    print_csv(lines, fields);
  if (lines && o->is_streamed) fflush(lines);
  if (o->json_path) print_json(&o->json, fields);
}

void tsr_bench_output_note(tsr_bench_output *o, const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&text, format, arguments);
  va_end(arguments);
  if (length < 0) return;
  if (o->has_table)
    fprintf(o->lines, "%s\n", text);
  else if (lines_of(o))
    fprintf(lines_of(o), "# %s\n", text);
  if (o->json_path) tsr_json_text(&o->json_notes, NULL, text);
  free(text);
}

static tsr_status write_file(const char *path, const char *const *texts, size_t count, tsr_error *error) {
  tsr_file file;
  int failure = tsr_file_begin_output(&file, path);
  if (!failure) {
    for (size_t i = 0; !failure && i < count; i++) failure = tsr_file_write(&file, texts[i], strlen(texts[i]));
    failure = tsr_file_end(&file, failure);
  }
  if (!failure) return TSR_OK;
  return tsr_fail(error, TSR_IO, "writing the results to %s failed: %s", path, strerror(failure));
}

tsr_status tsr_bench_output_save(tsr_bench_output *o, tsr_error *error) {
  if (o->is_streamed || !o->has_rows) return TSR_OK;
  if (fflush(o->lines)) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
  return write_file(o->csv, (const char *const[]){o->line_text}, 1, error);
}

static tsr_status write_json(tsr_bench_output *o, tsr_error *error) {
  if (fflush(o->notes)) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
  tsr_json_end_list(&o->json);
  tsr_json_list(&o->json, "notes");
  fputs(o->note_text, o->objects);
  tsr_json_end_list(&o->json);
  tsr_json_end_object(&o->json);
  if (fflush(o->objects)) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
  return write_file(o->json_path, (const char *const[]){o->object_text}, 1, error);
}

tsr_status tsr_bench_output_close(tsr_bench_output *o, tsr_error *error) {
  tsr_status status = tsr_bench_output_save(o, error);
  if (o->has_table) {
    tsr_bench_table_print(&o->table, o->stream);
    if (!fflush(o->lines)) fprintf(o->stream, "%s%s", *o->line_text ? "\n" : "", o->line_text);
  }
  if (o->stream) {
    bool is_written = !fflush(o->stream) && !ferror(o->stream);
    if (o->csv && fclose(o->stream)) is_written = false;
    if (status == TSR_OK && o->is_short) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for rows");
    if (status == TSR_OK && !is_written)
      status = tsr_fail(error, TSR_IO, "writing the results to %s failed", o->csv ? o->csv : "standard output");
  }
  if (status == TSR_OK && o->json_path) status = write_json(o, error);
  free_output(o);
  return status;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

double tsr_bench_load(const char *load) {
  double number = 0;
  return tsr_parse_double(load, &number) ? number : 0;
}

static int compare_times(const void *left, const void *right) {
  double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

double tsr_bench_median(double *times, size_t count) {
  qsort(times, count, sizeof *times, compare_times);
  return count % 2 ? times[count / 2] : (times[count / 2 - 1] + times[count / 2]) / 2;
}
