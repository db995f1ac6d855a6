/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a file of kernels (user_text.h) word by word, past comments, strings and lines of the preprocessor.
 */
#include "core/compose/user_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"

typedef struct reader {
  const char *at, *file;
  uint32_t line;
  bool fails; /* *error says how */
  tsr_error *error;
} reader;

typedef struct word {
  const char *text;
  size_t length;
} word;

/* What a file declares of tables. */
typedef struct declared {
  word name;
  uint32_t does;
  bool is_wide;
} declared;

enum { DECLARED_MAX = 64 };

/* ---- Words ----------------------------------------------------------------------------------- */

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void skip_line(reader *r) {
  for (; *r->at && *r->at != '\n'; r->at++)
    if (r->at[0] == '\\' && r->at[1] == '\n') {
      r->line++;
      r->at++;
    }
}

static void skip_comment(reader *r) {
  for (r->at += 2; *r->at && !(r->at[0] == '*' && r->at[1] == '/'); r->at++) r->line += *r->at == '\n';
  if (*r->at) r->at += 2;
}

static void skip_quoted(reader *r) {
  const char quote = *r->at++;
  for (; *r->at && *r->at != quote && *r->at != '\n'; r->at++)
    if (*r->at == '\\' && r->at[1]) r->at++;
  if (*r->at == quote) r->at++;
}

/* To the next character that is none of these. */
static void skip_blank(reader *r) {
  for (;;) {
    if (*r->at == '\n') r->line++;
    if (*r->at && isspace((unsigned char)*r->at))
      r->at++;
    else if (*r->at == '#' || (r->at[0] == '/' && r->at[1] == '/'))
      skip_line(r);
    else if (r->at[0] == '/' && r->at[1] == '*')
      skip_comment(r);
    else
      return;
  }
}

/* The next word, a name or number or one other character; empty at the end. */
static word next_word(reader *r) {
  skip_blank(r);
  word w = {r->at, 0};
  if (*r->at == '"' || *r->at == '\'') {
    skip_quoted(r);
    w.length = 1;
    return w;
  }
  while (is_letter(*r->at)) r->at++;
  if (r->at == w.text && *r->at) r->at++;
  w.length = (size_t)(r->at - w.text);
  return w;
}

static bool is(word w, const char *text) { return w.length == strlen(text) && memcmp(w.text, text, w.length) == 0; }
static bool same(word a, word b) { return a.length == b.length && memcmp(a.text, b.text, a.length) == 0; }
static bool is_name(word w) { return w.length && is_letter(*w.text) && !isdigit((unsigned char)*w.text); }

static void fail(reader *r, const char *rule) {
  if (!r->fails) tsr_fail(r->error, TSR_BAD_SPEC, "%s:%u: %s", r->file, r->line, rule);
  r->fails = true;
}

static void expect(reader *r, const char *text, const char *rule) {
  if (!r->fails && !is(next_word(r), text)) fail(r, rule);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static uint32_t does_of(word w) {
  return is(w, "finds")     ? TSR_DOES_FINDS
         : is(w, "inserts") ? TSR_DOES_INSERTS
         : is(w, "erases")  ? TSR_DOES_ERASES
         : is(w, "all")     ? TSR_DOES_ALL
         : is(w, "scans")   ? TSR_DOES_SCANS
                            : 0u;
}

static void read_table(reader *r, bool is_wide, declared *tables, size_t *count) {
  static const char rule[] =
      "a table is declared as TSR_TABLE(name, does), and does is finds, inserts, erases, all or scans";
  declared table = {.is_wide = is_wide};
  expect(r, "(", rule);
  table.name = next_word(r);
  expect(r, ",", rule);
  table.does = does_of(next_word(r));
  expect(r, ")", rule);
  if (!r->fails && (!is_name(table.name) || table.name.length >= 64 || !table.does)) fail(r, rule);
  for (size_t i = 0; !r->fails && i < *count; i++)
    if (same(tables[i].name, table.name)) fail(r, "this table is declared twice: TSR_TABLE names each once");
  if (!r->fails && *count == DECLARED_MAX) fail(r, "a file declares at most 64 tables");
  if (!r->fails) tables[(*count)++] = table;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

static void append(char *to, size_t room, word w) {
  const size_t used = strlen(to), space = used && is_letter(to[used - 1]) && (is_letter(*w.text) || *w.text == '*');
  if (used + space + w.length + 1 > room) return;
  if (space) to[used] = ' ';
  memcpy(to + used + space, w.text, w.length);
  to[used + space + w.length] = 0;
}

/* One parameter, up to its comma or the end of the list; *is_last says which. */
static void read_parameter(reader *r, tsr_kernel_parameter *p, bool *is_last) {
  static const char rule[] = "a kernel's parameters are declared as a type and a name of at most 63 letters, with "
                             "pointers for arrays: TSR_KERNEL(name, (tsr_table_ref table, const uint32_t *keys, ..))";
  word name = {"", 0};
  *p = (tsr_kernel_parameter){.does = 0};
  for (;;) {
    const word w = next_word(r);
    const bool ends = is(w, ",") || is(w, ")");
    if (name.length && !ends) append(p->type, sizeof p->type, name);
    if (ends || (!is_letter(*w.text) && !is(w, "*")) || strlen(p->type) + name.length + 2 > sizeof p->type) {
      *is_last = is(w, ")");
      if (!ends || !is_name(name) || !p->type[0]) fail(r, rule);
      break;
    }
    name = w;
  }
  if (!r->fails) append(p->name, sizeof p->name, name);
}

static void read_kernel(reader *r, tsr_kernel_facts *facts) {
  static const char rule[] = "a kernel begins as TSR_KERNEL(name, (parameters)), with a name of at most 63 letters";
  bool is_last = false;
  *facts = (tsr_kernel_facts){.parameters = 0};
  expect(r, "(", rule);
  const word name = next_word(r);
  if (!r->fails && (!is_name(name) || name.length >= sizeof facts->name)) fail(r, rule);
  expect(r, ",", rule);
  expect(r, "(", rule);
  if (!r->fails) append(facts->name, sizeof facts->name, name);
  while (!r->fails && !is_last) {
    if (facts->parameters == TSR_KERNEL_PARAMETERS_MAX)
      fail(r, "a kernel has at most 32 parameters");
    else
      read_parameter(r, &facts->parameter[facts->parameters++], &is_last);
  }
  expect(r, ")", rule);
}

/* Finds the tables among the parameters. */
static tsr_status settle(const reader *r, tsr_kernel_facts *facts, const declared *tables, size_t count,
                         tsr_error *error) {
  for (size_t i = 0; i < facts->parameters; i++) {
    tsr_kernel_parameter *p = &facts->parameter[i];
    if (strcmp(p->type, "tsr_table_ref") != 0) continue;
    if (facts->tables != i)
      return tsr_fail(error, TSR_BAD_SPEC, "%s: %s: the table %s stands behind other parameters: tables come first",
                      r->file, facts->name, p->name);
    for (size_t j = 0; j < count; j++)
      if (is(tables[j].name, p->name)) {
        p->does = tables[j].does;
        facts->tables_128 |= (uint32_t)tables[j].is_wide << i;
      }
    if (!p->does)
      return tsr_fail(error, TSR_BAD_SPEC,
                      "%s: %s: the table %s is not declared: write TSR_TABLE(%s, finds), or what the kernel does to it",
                      r->file, facts->name, p->name, p->name);
    facts->tables++;
  }
  size_t scanned = 0;
  for (size_t i = 0; i < facts->tables; i++) scanned += facts->parameter[i].does == TSR_DOES_SCANS;
  if (scanned > 1)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: %s scans %zu tables: the pairs of one are its items", r->file,
                    facts->name, scanned);
  if (facts->tables == 0 || facts->tables > TSR_KERNEL_TABLES_MAX)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: %s has %zu tables: a kernel has between 1 and %d", r->file, facts->name,
                    facts->tables, TSR_KERNEL_TABLES_MAX);
  return TSR_OK;
}

tsr_status tsr_user_read(const tsr_kernel_source *source, const char *name, tsr_kernel_facts *facts, tsr_error *error) {
  reader r = {source->text, source->file ? source->file : "the kernel's text", 1, false, error};
  declared tables[DECLARED_MAX];
  tsr_kernel_facts found = {.parameters = 0};
  size_t table_count = 0, kernels = 0;
  tsr_kernel_facts *read = malloc(sizeof *read);
  if (!read) return tsr_fail(error, TSR_NO_MEMORY, "no memory to read a kernel");
  for (word w = next_word(&r); w.length && !r.fails; w = next_word(&r)) {
    if (is(w, "TSR_TABLE") || is(w, "TSR_TABLE_128")) read_table(&r, is(w, "TSR_TABLE_128"), tables, &table_count);
    if (!is(w, "TSR_KERNEL")) continue;
    read_kernel(&r, read);
    if (r.fails || (name && strcmp(name, read->name) != 0)) continue;
    found = *read;
    kernels++;
  }
  free(read);
  if (r.fails) return TSR_BAD_SPEC;
  if (kernels == 0)
    return tsr_fail(error, TSR_NOT_FOUND, "%s has no kernel %s: it begins as TSR_KERNEL(%s, (..))", r.file,
                    name ? name : "at all", name ? name : "name");
  if (kernels > 1)
    return tsr_fail(error, TSR_BAD_SPEC, "%s has %zu kernels%s%s: %s", r.file, kernels, name ? " " : "",
                    name ? name : "", name ? "give each a name of its own" : "say which one is meant");
  tsr_status status = settle(&r, &found, tables, table_count, error);
  if (status == TSR_OK) *facts = found;
  return status;
}

tsr_status tsr_kernel_read(const tsr_kernel_source *source, const char *name, tsr_kernel_facts *facts,
                           tsr_error *error) {
  tsr_kernel_source known;
  tsr_kernel_facts ours;
  if (!source || !facts) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_kernel_read needs a source and a place to tell");
  tsr_status status = tsr_take_over("tsr_kernel_read", &known, source, sizeof known, error);
  if (status == TSR_OK && !known.text)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_kernel_read: the source has no text");
  if (status == TSR_OK) status = tsr_user_read(&known, name, &ours, error);
  if (status == TSR_OK) tsr_hand_over(facts, &ours, sizeof ours);
  return status;
}
