/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a benchmark as an aligned table for people: columns that no row uses are left out, and what all rows have in
 * common stands above. Read next: bench_rows.c, which fills it.
 */
#ifndef TSR_BENCH_TABLE_H
#define TSR_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* What a column is in a table. */
typedef enum tsr_bench_shape {
  TSR_BENCH_FOLDS, /* stands above if all rows have the same */
  TSR_BENCH_STAYS,
  TSR_BENCH_ABOVE /* too long for a column: left out unless all rows have the same */
} tsr_bench_shape;

typedef struct tsr_bench_table {
  const char *const *names;
  const tsr_bench_shape *shapes;
  size_t columns, rows, room;
  char **cells; /* rows * columns; "-": not known */
} tsr_bench_table;

/* Copies `columns` texts. False: no memory. */
bool tsr_bench_table_add(tsr_bench_table *table, const char *const *texts);
void tsr_bench_table_print(const tsr_bench_table *table, FILE *out);
void tsr_bench_table_free(tsr_bench_table *table);

#endif
