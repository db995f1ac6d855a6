/* SPDX-License-Identifier: Apache-2.0
 *
 * The fastest of ours beside the fastest of others (duels.h).
 */
#include "tools/lab/duels.h"

#include <string.h>

#include "core/tessera_tools.h"
#include "tools/lab/bench_rows.h"

enum { TEXT = 128, KEYS_TEXT = 48, DATE_LETTERS = 10 };

static const char *field(const tsr_results *r, size_t row, const char *name) {
  const size_t column = tsr_results_column(r, name);
  return column < r->column_count && tsr_results_has(r, row, column) ? tsr_results_field(r, row, column) : "";
}

/* Rows of rivals have no composition. */
static bool is_ours(const tsr_results *r, size_t row) { return *field(r, row, "table.kind") != '\0'; }

/* Of a row whose answers were right; 0: it has none. */
static double rate_of(const tsr_results *r, size_t row) {
  const size_t column = tsr_results_column(r, "mops");
  double rate = 0;
  const bool is_right = strcmp(field(r, row, "ok"), "yes") == 0;
  return is_right && column < r->column_count && tsr_results_number(r, row, column, &rate) ? rate : 0;
}

/* What a table does for a bar, beyond its operations: the name of its kind, or `add` for a map that adds up or compares values. */
static const char *job_of(const tsr_results *r, size_t row) {
  static const char *const merges[] = {"add", "min", "max"};
  while (row > 0 && !is_ours(r, row)) row--; /* a rival's rows follow those of the table whose shape it had */
  const char *kind = field(r, row, "table.kind"), *duplicates = field(r, row, "table.duplicates");
  for (size_t i = 0; strcmp(kind, "map") == 0 && i < sizeof merges / sizeof merges[0]; i++)
    if (strcmp(duplicates, merges[i]) == 0) return "add";
  return kind;
}

/* Whether a rival's row is of the same work. A set has no values, so that its rival's rows have 0 bits of them as well. */
static bool is_same_work(const tsr_results *r, size_t row, size_t other) {
  static const char *const columns[] = {"op", "key_bits", "value_bits", "n", "load", "keys"};
  bool is_same = strcmp(job_of(r, row), job_of(r, other)) == 0;
  for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
    is_same = is_same && strcmp(field(r, row, columns[i]), field(r, other, columns[i])) == 0;
  return is_same;
}

/* Whether a table makes something of a whole batch: counts, sums, or its distinct keys. A load is of no interest then. */
static bool is_of_batch(const tsr_results *r, size_t row) {
  static const char *const jobs[] = {"counter", "add", "index"};
  bool is = false;
  for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) is = is || strcmp(job_of(r, row), jobs[i]) == 0;
  return is;
}

/* What a row of ours is about, in words: map of 64-bit pairs. */
static void name_table(const tsr_results *r, size_t row, char text[TEXT]) {
  const char *job = job_of(r, row), *keys = field(r, row, "key_bits"), *values = field(r, row, "value_bits");
  if (strcmp(job, "counter") == 0)
    snprintf(text, TEXT, "counting %s-bit keys", keys);
  else if (strcmp(job, "index") == 0)
    snprintf(text, TEXT, "finding the distinct %s-bit keys", keys);
  else if (strcmp(job, "add") == 0)
    snprintf(text, TEXT, "group-by of %s-bit keys and %s-bit values", keys, values);
  else if (strcmp(values, "0") == 0)
    snprintf(text, TEXT, "%s of %s-bit keys", job, keys);
  else if (strcmp(keys, values) == 0)
    snprintf(text, TEXT, "%s of %s-bit pairs", job, keys);
  else
    snprintf(text, TEXT, "%s of %s-bit keys and %s-bit values", job, keys, values);
}

/* The keys of a batch, in words: 4 of each key. */
static void name_keys(const char *keys, char text[KEYS_TEXT]) {
  const size_t kind = strcspn(keys, ":");
  const char *number = keys[kind] ? keys + kind + 1 : "";
  if (strcmp(keys, "distinct") == 0)
    snprintf(text, KEYS_TEXT, "distinct keys");
  else if (strcmp(keys, "equal") == 0)
    snprintf(text, KEYS_TEXT, "one key");
  else if (strncmp(keys, "repeat", kind) == 0)
    snprintf(text, KEYS_TEXT, "%s of each key", number);
  else if (strncmp(keys, "zipf", kind) == 0)
    snprintf(text, KEYS_TEXT, "Zipf %.*s", (int)strcspn(number, ":"), number);
  else
    snprintf(text, KEYS_TEXT, "keys %s", keys);
}

/* ... and what it did: insert in pages of new keys. */
static void name_operation(const tsr_results *r, size_t row, char text[TEXT]) {
  static const char *const words[][2] = {
      {"find100", "find (all present)"},      {"find50", "find (half present)"},
      {"find0", "find (none present)"},       {"unique", ""},
      {"unique_counts", " and their counts"}, {"unique_inverse", " and the number of each"}};
  const char *op = field(r, row, "op"), *keys = field(r, row, "keys"), *pages = field(r, row, "table.page_bytes");
  const char *operation = op, *order = "", *policy = "";
  char of_keys[KEYS_TEXT];
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp(op, words[i][0]) == 0) operation = words[i][1];
  name_keys(keys, of_keys);
  if (is_of_batch(r, row)) {
    snprintf(text, TEXT, "%s%s", of_keys, strcmp(op, "insert") == 0 ? "" : operation);
    return;
  }
  if (strcmp(op, "insert") == 0 && strcmp(job_of(r, row), "multimap") != 0) {
    const bool is_new = strcmp(field(r, row, "table.duplicates"), "promise_unique") == 0;
    order = *pages && strcmp(pages, "0") != 0 ? " in pages" : "";
    policy = is_new ? " of new keys" : " that looks first";
  }
  const bool repeats = *keys && strcmp(keys, "distinct") != 0;
  snprintf(text, TEXT, "%s%s%s", operation, order, policy);
  const size_t letters = strlen(text);
  if (repeats) snprintf(text + letters, TEXT - letters, " (%s)", of_keys);
}

/* Whether two rows of ours stand for the same bar. */
static bool is_same_bar(const tsr_results *r, size_t row, size_t other) {
  char of[4][TEXT];
  name_table(r, row, of[0]);
  name_table(r, other, of[1]);
  name_operation(r, row, of[2]);
  name_operation(r, other, of[3]);
  return is_same_work(r, row, other) && strcmp(of[0], of[1]) == 0 && strcmp(of[2], of[3]) == 0;
}

/* The fastest row for the same bar as `row`, of ours or of rivals; row_count: there is none. */
static size_t fastest(const tsr_results *r, size_t row, bool ours) {
  size_t best = r->row_count;
  for (size_t i = 0; i < r->row_count; i++) {
    if (is_ours(r, i) != ours || !(ours ? is_same_bar(r, row, i) : is_same_work(r, row, i))) continue;
    if (rate_of(r, i) > (best < r->row_count ? rate_of(r, best) : 0)) best = i;
  }
  return best;
}

/* What a card's memory allows for random access, as ours has it; "-": nothing. */
static void write_limit(FILE *out, const tsr_results *r, size_t bar) {
  const size_t column = tsr_results_column(r, "limit_mops");
  double limit = 0;
  if (column < r->column_count && tsr_results_number(r, bar, column, &limit) && limit > 0 && !is_of_batch(r, bar))
    fprintf(out, ",%.4g", limit / 1000);
  else
    fputs(",-", out);
}

static void write_row(FILE *out, const tsr_results *r, size_t bar, size_t row, const char *by) {
  char table[TEXT], operation[TEXT];
  const char *spec = field(r, row, "spec"), *load = field(r, bar, "load"), *date = field(r, row, "date");
  const int letters = (int)strcspn(spec, " "); /* the variant's name, without what was swept */
  name_table(r, bar, table);
  name_operation(r, bar, operation);
  fprintf(out, "%s,%s,%s,%s,%s,", table, operation, field(r, bar, "n"), is_of_batch(r, bar) ? "-" : load, by);
  if (is_ours(r, row))
    fprintf(out, "%.*s,-", letters, spec);
  else
    tsr_bench_print_text(out, spec), fputs(",-", out);
  fprintf(out, ",%.4g,billion per second,%s", rate_of(r, row) / 1000, table);
  if (!is_of_batch(r, bar)) fprintf(out, " at load factor %s", load);
  fprintf(out, ",%s,", strcmp(field(r, bar, "op"), "find50") == 0 ? "no" : "yes"); /* it is between the other two */
  tsr_bench_print_text(out, *field(r, row, "device") ? field(r, row, "device") : "-");
  fprintf(out, ",%.*s", DATE_LETTERS, *date ? date : "-");
  write_limit(out, r, bar);
  fputc('\n', out);
}

bool tsr_duels_are_asked(const tsr_spec *file) { return tsr_spec_get(file, "picture", "plot") != NULL; }

size_t tsr_duels_write(FILE *out, const tsr_spec *file, const tsr_results *r) {
  static const char *const notes[] = {"title", "subtitle", "plot"};
  size_t written = 0;
  for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
    const char *words = tsr_spec_get(file, "picture", notes[i]);
    if (words) fprintf(out, "# %s: %s\n", notes[i], words);
  }
  if (r->row_count) fprintf(out, "# device: %s\n# commit: %s\n", field(r, 0, "device"), field(r, 0, "version"));
  fputs("# rate: billion operations per second\n# limit: of random access to the card's memory, in the same unit\n"
        "table,operation,n,load,by,name,variant,rate,unit,panel,picture,card,date,limit\n",
        out);
  for (size_t row = 0; row < r->row_count; row++) {
    if (!is_ours(r, row) || fastest(r, row, true) != row) continue; /* each bar at its fastest row */
    const size_t other = fastest(r, row, false);
    if (other == r->row_count) continue;
    write_row(out, r, row, row, "Tessera");
    write_row(out, r, row, other, "fastest other library");
    written++;
  }
  return written;
}
