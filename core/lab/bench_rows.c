/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing rows (bench_rows.h).
 */
#include "core/lab/bench_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"

/* A text as a CSV field: quoted if it has to be. */
static void print_text(FILE *csv, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, csv);
    return;
  }
  fputc('"', csv);
  for (; *text; text++) {
    if (*text == '"') fputc('"', csv);
    fputc(*text, csv);
  }
  fputc('"', csv);
}

/* A number, or '-' for 0. */
static void print_known(FILE *csv, int decimals, double number) {
  if (number > 0) {
    fprintf(csv, "%.*f", decimals, number);
  } else {
    fputc('-', csv);
  }
}

void tsr_bench_print_row(FILE *csv, const tsr_bench_row *row) {
  print_text(csv, row->spec);
  fprintf(csv, ",%s,", row->backend);
  print_text(csv, row->device);
  fprintf(csv, ",%s,%u,%u,%llu,%g,%.2f,%.4f,", tsr_bench_op_name(row->op), row->key_bits, row->value_bits,
          (unsigned long long)row->n, row->load, row->mops, row->probes);
  print_known(csv, 1, row->limit_mops > 0 ? 100 * row->mops / row->limit_mops : 0);
  fprintf(csv, ",%s,", row->right ? "yes" : "no");
  print_known(csv, 4, row->utilization);
  fputc(',', csv);
  print_text(csv, row->keys ? row->keys : "-");
  fputc(',', csv);
  print_known(csv, 0, (double)row->distinct);
  fputc('\n', csv);
  fflush(csv);
}

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
