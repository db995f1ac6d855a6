/* SPDX-License-Identifier: Apache-2.0
 *
 * Enumerating a plan (plan.h): each combination becomes a spec, is composed, and is kept if it is a new one.
 */
#define _GNU_SOURCE /* asprintf, open_memstream */
#include "tools/lab/plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/keys.h"
#include "tools/lab/status_line.h"

enum {
  AXES_MAX = 64,
  COMBINATIONS_MAX = 1000000,
  DRAWS_MAX = 100, /* of a sample, per table: most combinations may be refused */
  REFUSALS_TOLD = 12,
  COMPILED_KEYS = 1 << 18
};

/* The sections that are the laboratory's come first, then the table's, and of these the roles last. */
static const char *const sections[] = {"sweep",   "variants", "bench",  "small",    "experiment", "paper",
                                       "picture", "workload", "table",  "devices",  "values",     "filter",
                                       "layout",  "probing",  "hasher", "allocator"};
enum { SECTIONS = sizeof sections / sizeof sections[0], OWN = 8, ROLES = 4 };
static const char *const *const roles = sections + SECTIONS - ROLES;

static bool is_one_of(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static bool is_own(const char *section) { return is_one_of(section, sections, OWN); }

const char *tsr_plan_table_section(size_t i) { return i < SECTIONS - OWN ? sections[OWN + i] : NULL; }

/* What one entry of [sweep] lists, or the variants. */
typedef struct axis {
  const char *name;   /* "layout.bucket_slots"; NULL: the variants */
  char **values;      /* of the variants: their names */
  const char **texts; /* of the variants: what they set */
  size_t count;
  bool is_used; /* some combination has this entry */
} axis;

typedef struct planner {
  const char *path;
  const tsr_plan_options *options;
  tsr_plan *plan;
  const tsr_plugin_info *plugins;
  size_t plugin_count;
  axis axes[AXES_MAX];
  size_t axis_count;
} planner;

/* What a combination sets. */
typedef struct words {
  char **items; /* "section.key=value" */
  size_t count;
} words;

/* ---- Assignments ----------------------------------------------------------------------------- */

static tsr_status no_memory(tsr_error *error) { return tsr_fail(error, TSR_NO_MEMORY, "no memory for a plan"); }

static void free_words(words *w) {
  for (size_t i = 0; i < w->count; i++) free(w->items[i]);
  free(w->items);
  *w = (words){NULL, 0};
}

/* Whether a word sets this entry; its value then. */
static const char *value_in(const char *word, const char *section, const char *key) {
  const size_t first = strlen(section), second = strlen(key);
  if (strncmp(word, section, first) != 0 || word[first] != '.' || strncmp(word + first + 1, key, second) != 0 ||
      word[first + 1 + second] != '=')
    return NULL;
  return word + first + second + 2;
}

/* A later word of the same entry stands in the place of the earlier one. */
static tsr_status add_word(words *w, char *word, tsr_error *error) {
  if (!word) return no_memory(error);
  const size_t letters = strcspn(word, "=") + 1;
  for (size_t i = 0; i < w->count; i++)
    if (strncmp(w->items[i], word, letters) == 0) {
      free(w->items[i]);
      w->items[i] = word;
      return TSR_OK;
    }
  char **longer = realloc(w->items, (w->count + 1) * sizeof *longer);
  if (!longer) {
    free(word);
    return no_memory(error);
  }
  w->items = longer;
  w->items[w->count++] = word;
  return TSR_OK;
}

static const char *find_word(const words *w, const char *section, const char *key) {
  for (size_t i = 0; i < w->count; i++) {
    const char *value = value_in(w->items[i], section, key);
    if (value) return value;
  }
  return NULL;
}

/* The words of a text, with blanks between. */
static tsr_status add_text(words *w, const char *where, const char *text, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (const char *at = text + strspn(text, " \t"); status == TSR_OK && *at; at += strspn(at, " \t")) {
    const size_t letters = strcspn(at, " \t");
    const char *equals = memchr(at, '=', letters), *point = memchr(at, '.', letters);
    if (!equals || !point || point > equals)
      return tsr_fail(error, TSR_BAD_SPEC, "%s: '%.*s' sets nothing: write words such as layout.bucket_slots=8", where,
                      (int)letters, at);
    status = add_word(w, strndup(at, letters), error);
    at += letters;
  }
  return status;
}

/* ---- Parts ----------------------------------------------------------------------------------- */

static bool is_role(const char *name) { return is_one_of(name, roles, ROLES); }

/* The part of a role in a combination; NULL: none. */
static const char *part_of(const planner *p, const words *w, const char *role) {
  const char *set = find_word(w, "table", role);
  if (set) return strcmp(set, "-") == 0 ? NULL : set;
  return tsr_spec_get(p->plan->file, "table", role);
}

/* Whether a part has a parameter. A part that is not there is said to: composing will tell. */
static bool has_parameter(const planner *p, const char *role, const char *part, const char *key) {
  for (size_t i = 0; i < p->plugin_count; i++) {
    if (strcmp(p->plugins[i].role, role) != 0 || strcmp(p->plugins[i].name, part) != 0) continue;
    for (size_t k = 0; k < p->plugins[i].parameter_count; k++)
      if (strcmp(p->plugins[i].parameters[k].name, key) == 0) return true;
    return false;
  }
  return true;
}

/* ---- One combination ------------------------------------------------------------------------- */

/* What a combination sets, from its variant on, without parameters that its parts do not have. */
static tsr_status collect(planner *p, const size_t *at, words *w, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < p->axis_count; i++) {
    axis *a = &p->axes[i];
    char *word = NULL;
    if (!a->name) {
      status = add_text(w, "[variants]", a->texts[at[i]], error);
    } else {
      if (asprintf(&word, "%s=%s", a->name, a->values[at[i]]) < 0) word = NULL;
      status = add_word(w, word, error);
    }
  }
  for (size_t i = 0; status == TSR_OK && i < p->options->set_count; i++)
    status = add_text(w, "--set", p->options->sets[i], error);
  for (size_t i = 0; status == TSR_OK && i < p->axis_count; i++) {
    axis *a = &p->axes[i];
    if (!a->name) continue;
    const size_t letters = strcspn(a->name, ".");
    char role[64];
    snprintf(role, sizeof role, "%.*s", (int)letters, a->name);
    const char *part = is_role(role) ? part_of(p, w, role) : NULL, *key = a->name + letters + 1;
    if (!is_role(role) || (part && has_parameter(p, role, part, key))) {
      a->is_used = true;
      continue;
    }
    for (size_t k = 0; k < w->count; k++)
      if (value_in(w->items[k], role, key)) {
        free(w->items[k]);
        w->items[k] = w->items[--w->count];
        break;
      }
  }
  return status;
}

static bool has_word(const words *w, const char *name, const char *value) {
  const size_t letters = strlen(name);
  for (size_t i = 0; i < w->count; i++)
    if (strncmp(w->items[i], name, letters) == 0 && w->items[i][letters] == '=' &&
        strcmp(w->items[i] + letters + 1, value) == 0)
      return true;
  return false;
}

/* The label: the variant, then what was swept as far as it is there. */
static char *label_of(const planner *p, const size_t *at, const words *w) {
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  const char *between = "";
  for (int swept = 0; swept <= 1; swept++)
    for (size_t i = 0; i < p->axis_count; i++) {
      const axis *a = &p->axes[i];
      const char *value = a->values[at[i]];
      if ((a->name != NULL) != (swept == 1) || (a->name && !has_word(w, a->name, value))) continue;
      fprintf(out, "%s%s%s%s", between, a->name ? a->name : "", a->name ? "=" : "", value);
      between = " ";
    }
  if (!*between) fputs("base", out);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* The file's table with what the combination sets. */
static tsr_status make_spec(const planner *p, const words *w, tsr_spec **made, tsr_error *error) {
  tsr_spec *spec = NULL;
  tsr_spec_item item;
  tsr_status status = tsr_spec_parse("", "the combination", &spec, error);
  for (size_t i = 0; status == TSR_OK && tsr_spec_get_at(p->plan->file, i, &item); i++) {
    char word[512];
    const char *set = find_word(w, item.section, item.key);
    if (is_own(item.section) || (set && strcmp(set, "-") == 0)) continue;
    if (is_role(item.section)) {
      const char *base = tsr_spec_get(p->plan->file, "table", item.section), *part = part_of(p, w, item.section);
      if (base && (!part || strcmp(base, part) != 0)) continue; /* of another part */
    }
    snprintf(word, sizeof word, "%s.%s=%s", item.section, item.key, item.value);
    status = tsr_spec_set(spec, word, error);
  }
  for (size_t i = 0; status == TSR_OK && i < w->count; i++)
    if (strncmp(w->items[i], "bench.", 6) != 0 && strcmp(strchr(w->items[i], '=') + 1, "-") != 0)
      status = tsr_spec_set(spec, w->items[i], error);
  if (status) {
    tsr_spec_free(spec);
    return status;
  }
  *made = spec;
  return TSR_OK;
}

/* ---- Options of bench ------------------------------------------------------------------------ */

static bool is_given(const planner *p, const char *key) {
  const size_t letters = strlen(key);
  for (size_t i = 0; i < p->options->bench_count; i++) {
    const char *word = p->options->bench[i];
    if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, key, letters) == 0 &&
        (word[2 + letters] == '=' || word[2 + letters] == 0))
      return true;
  }
  return false;
}

/* A word of bench's command line: blanks of lists go, '_' of keys become '-'. */
static void print_option(FILE *out, const char *key, const char *value) {
  fputs("--", out);
  for (; *key; key++) fputc(*key == '_' ? '-' : *key, out);
  fputc('=', out);
  for (; *value; value++)
    if (*value != ' ' && *value != '\t') fputc(*value, out);
  fputc('\n', out);
}

/* All words, a line each. */
static char *option_words(const planner *p, const words *w) {
  char *text = NULL;
  size_t bytes = 0;
  tsr_spec_item item;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  for (size_t i = 0; tsr_spec_get_at(p->plan->file, i, &item); i++)
    if (strcmp(item.section, "bench") == 0 && !is_given(p, item.key) && !find_word(w, "bench", item.key))
      print_option(out, item.key, item.value);
  for (size_t i = 0; i < w->count; i++) {
    char key[64];
    if (strncmp(w->items[i], "bench.", 6) != 0) continue;
    snprintf(key, sizeof key, "%.*s", (int)strcspn(w->items[i] + 6, "="), w->items[i] + 6);
    if (!is_given(p, key)) print_option(out, key, strchr(w->items[i], '=') + 1);
  }
  for (size_t i = 0; i < p->options->bench_count; i++) fprintf(out, "%s\n", p->options->bench[i]);
  if (p->options->plugins) fprintf(out, "--plugins\n%s\n", p->options->plugins);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* Cuts the words, which become the point's. Of many small tables a compiler for each would take most of the time, and the
 * library uses none for so few keys. */
static tsr_status read_options(tsr_point *point, tsr_error *error) {
  size_t count = 2;
  for (const char *c = point->words; *c; c++) count += *c == '\n';
  point->argv = calloc(count + 1, sizeof *point->argv);
  if (!point->argv) return no_memory(error);
  point->argv[0] = (char *)(uintptr_t) "sweep";
  point->argv[1] = point->label; /* bench wants a spec */
  size_t at = 2;
  for (char *word = point->words; *word;) {
    char *end = strchr(word, '\n');
    point->argv[at++] = word;
    *end = 0;
    word = end + 1;
  }
  tsr_status status = tsr_bench_options_read((int)at, point->argv, &point->options, error);
  if (status == TSR_OK && point->options.code.compile == TSR_BENCH_AUTO && point->options.n < COMPILED_KEYS)
    point->options.code.compile = TSR_BENCH_BY_TABLES;
  return status;
}

/* A combination's spec is made of words as of --set, but of what the file says, the sentence names the file. */
static void name_file(const planner *p, const words *w, tsr_error *sentence) {
  char word[512], text[sizeof sentence->message];
  tsr_spec_item item;
  for (size_t i = 0; tsr_spec_get_at(p->plan->file, i, &item); i++) {
    const int letters = snprintf(word, sizeof word, "--set %s.%s=%s: ", item.section, item.key, item.value);
    if (find_word(w, item.section, item.key) || strncmp(sentence->message, word, (size_t)letters) != 0) continue;
    const int written = snprintf(text, sizeof text, "%s: [%s] %s = %s: %s", p->path, item.section, item.key, item.value,
                                 sentence->message + letters);
    if (strchr(item.value, ',') && written > 0 && (size_t)written < sizeof text)
      snprintf(text + written, sizeof text - (size_t)written, " A list goes into [sweep], as %s.%s.", item.section,
               item.key);
    memcpy(sentence->message, text, sizeof text);
    return;
  }
}

/* ---- Points ---------------------------------------------------------------------------------- */

static void free_point(tsr_point *point) {
  tsr_bench_options_free(&point->options);
  tsr_spec_free(point->spec);
  free(point->label);
  free(point->composition);
  free(point->session);
  free(point->words);
  free(point->argv);
  *point = (tsr_point){0};
}

/* The sentence without what differs from one combination to the next: the entry that it names, and numbers. */
static char *likeness(const char *sentence) {
  const char *rest = strstr(sentence, ": ");
  char *text = strdup(rest ? rest + 2 : sentence), *to = text;
  for (const char *from = text; from && *from;) {
    if (isdigit((unsigned char)*from)) {
      while (isdigit((unsigned char)*from) || *from == '.') from++;
      *to++ = '#';
    } else {
      *to++ = *from++;
    }
  }
  if (to) *to = 0;
  return text;
}

static tsr_status note_refusal(tsr_plan *plan, const char *sentence, tsr_error *error) {
  char *like = likeness(sentence);
  for (size_t i = 0; like && i < plan->refusal_count; i++)
    if (strcmp(plan->refusals[i].like, like) == 0) {
      plan->refusals[i].count++;
      free(like);
      return TSR_OK;
    }
  tsr_refusal *longer = realloc(plan->refusals, (plan->refusal_count + 1) * sizeof *longer);
  char *copy = strdup(sentence);
  if (longer) plan->refusals = longer;
  if (!like || !longer || !copy) {
    free(like);
    free(copy);
    return no_memory(error);
  }
  plan->refusals[plan->refusal_count++] = (tsr_refusal){copy, like, 1};
  return TSR_OK;
}

static bool is_duplicate(const tsr_plan *plan, const tsr_point *point) {
  for (size_t i = 0; i < plan->count; i++)
    if (strcmp(plan->points[i].composition, point->composition) == 0 &&
        strcmp(plan->points[i].session, point->session) == 0)
      return true;
  return false;
}

static tsr_status keep(tsr_plan *plan, tsr_point *point, tsr_error *error) {
  tsr_point *longer = plan->points;
  if ((plan->count & (plan->count - 1)) == 0) /* full at each power of two */
    longer = realloc(plan->points, (plan->count ? 2 * plan->count : 1) * sizeof *longer);
  if (!longer) return no_memory(error);
  plan->points = longer;
  plan->points[plan->count++] = *point;
  *point = (tsr_point){0};
  return TSR_OK;
}

/* Composes the point at the size and the first load that it is measured with. *sentence: why it is refused. */
static tsr_status resolve(tsr_point *point, tsr_error *sentence, tsr_error *error) {
  const char *widths[] = {
      tsr_spec_get(point->spec, "table", "kind"),       tsr_spec_get(point->spec, "table", "key_bits"),
      tsr_spec_get(point->spec, "table", "value_bits"), tsr_spec_get(point->spec, "table", "value_bytes"),
      tsr_spec_get(point->spec, "table", "backend"),    tsr_spec_get(point->spec, "table", "device"),
      tsr_spec_get(point->spec, "table", "key_columns")};
  const char *load = point->options.loads.each[0];
  const tsr_options options = {.plugins = point->options.plugins,
                               .capacity = tsr_bench_capacity(point->spec, load, point->options.n),
                               .seed = point->options.seed};
  tsr_resolution resolution = {0};
  tsr_spec *sized = NULL;
  char *session = NULL;
  tsr_status status = tsr_spec_copy(point->spec, &sized, error);
  if (status == TSR_OK) status = tsr_bench_set_load(sized, load, error);
  if (status == TSR_OK && tsr_spec_resolve(sized, &options, &resolution, sentence) != TSR_OK) {
    tsr_spec_free(sized);
    return TSR_OK;
  }
  tsr_spec_free(sized);
  if (status) return status;
  point->composition = resolution.text;
  point->bytes = resolution.bytes;
  point->bucket_slots = resolution.bucket_slots;
  point->bucket_bytes = resolution.bucket_bytes;
  point->tile_lanes = resolution.tile_lanes;
  point->page_batch = resolution.page_batch;
  point->zone_batch = resolution.zone_batch;
  point->sm = resolution.sm;
  point->is_built = resolution.is_built;
  size_t bytes = 0;
  FILE *out = open_memstream(&session, &bytes);
  for (size_t i = 0; out && i < sizeof widths / sizeof widths[0]; i++) fprintf(out, "%s ", widths[i] ? widths[i] : "-");
  for (size_t i = 2; out && point->argv[i]; i++) fprintf(out, "%s ", point->argv[i]);
  if (out && fclose(out) == 0) {
    point->session = session;
    return TSR_OK;
  }
  free(session);
  return no_memory(error);
}

static tsr_status add_combination(planner *p, const size_t *at, tsr_error *error) {
  tsr_point point = {0};
  words w = {NULL, 0};
  tsr_error sentence = {TSR_OK, ""};
  p->plan->enumerated++;
  tsr_status status = collect(p, at, &w, error);
  if (status == TSR_OK) {
    point.label = label_of(p, at, &w);
    point.words = option_words(p, &w);
    status = point.label && point.words ? read_options(&point, error) : no_memory(error);
  }
  if (status == TSR_OK) status = make_spec(p, &w, &point.spec, error);
  if (status == TSR_OK) status = resolve(&point, &sentence, error);
  if (status == TSR_OK && !point.composition) name_file(p, &w, &sentence);
  free_words(&w);
  if (status == TSR_OK && !point.composition)
    status = note_refusal(p->plan, sentence.message, error);
  else if (status == TSR_OK && is_duplicate(p->plan, &point))
    p->plan->duplicates++;
  else if (status == TSR_OK)
    status = keep(p->plan, &point, error);
  free_point(&point);
  return status;
}

/* ---- Axes ------------------------------------------------------------------------------------ */

static tsr_status add_axis(planner *p, const tsr_spec_item *item, tsr_error *error) {
  char where[256];
  if (p->axis_count == AXES_MAX)
    return tsr_fail(error, TSR_BAD_SPEC, "[sweep] %s: is one entry too many: %d can be swept", item->key, AXES_MAX);
  snprintf(where, sizeof where, "[sweep] %s = %s", item->key, item->value);
  static const char *const own[][2] = {{"table.load_factor", "bench.loads, or [bench] loads"},
                                       {"table.capacity", "bench.n"},
                                       {"table.seed", "bench.seed"}};
  for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
    if (strcmp(item->key, own[i][0]) == 0)
      return tsr_fail(error, TSR_BAD_SPEC, "%s: here this is said with %s", where, own[i][1]);
  if (!strchr(item->key, '.'))
    return tsr_fail(error, TSR_BAD_SPEC, "%s: write section.key, such as layout.%s", where, item->key);
  axis *a = &p->axes[p->axis_count++];
  a->name = item->key;
  return tsr_values_read(where, item->value, &a->values, &a->count, error);
}

static tsr_status add_variant(axis *a, const tsr_spec_item *item, tsr_error *error) {
  char **values = realloc(a->values, (a->count + 1) * sizeof *values);
  if (values) a->values = values;
  const char **texts = realloc(a->texts, (a->count + 1) * sizeof *texts);
  if (texts) a->texts = texts;
  if (!values || !texts) return no_memory(error);
  a->values[a->count] = (char *)(uintptr_t)item->key;
  a->texts[a->count++] = item->value;
  return TSR_OK;
}

/* What makes another session is outermost: options of bench, and widths. */
static bool is_outer(const char *name) {
  return strncmp(name, "bench.", 6) == 0 || strcmp(name, "table.kind") == 0 || strcmp(name, "table.key_bits") == 0 ||
         strcmp(name, "table.value_bits") == 0 || strcmp(name, "table.value_bytes") == 0 ||
         strcmp(name, "table.backend") == 0;
}

static tsr_status read_axes(planner *p, tsr_error *error) {
  const tsr_spec *space = p->options->space ? p->options->space : p->plan->file;
  tsr_spec_item item;
  tsr_status status = TSR_OK;
  for (int outer = 1; outer >= 0; outer--) {
    for (size_t i = 0; status == TSR_OK && tsr_spec_get_at(space, i, &item); i++)
      if (strcmp(item.section, "sweep") == 0 && is_outer(item.key) == (outer == 1)) status = add_axis(p, &item, error);
    if (!outer || status) break;
    axis *variants = NULL;
    for (size_t i = 0; status == TSR_OK && tsr_spec_get_at(space, i, &item); i++) {
      if (strcmp(item.section, "variants") != 0) continue;
      if (!variants && p->axis_count == AXES_MAX) return no_memory(error);
      if (!variants) variants = &p->axes[p->axis_count++];
      status = add_variant(variants, &item, error);
    }
  }
  return status;
}

/* What is misspelt would be taken for a part's. */
static tsr_status check_sections(const planner *p, tsr_error *error) {
  tsr_spec_item item;
  for (size_t i = 0; tsr_spec_get_at(p->plan->file, i, &item); i++) {
    if (is_one_of(item.section, sections, SECTIONS)) continue;
    const char *nearest = tsr_nearest(item.section, sections, SECTIONS);
    return tsr_fail(error, TSR_BAD_SPEC, "%s: there is no section [%s]%s%s%s", p->path, item.section,
                    nearest ? "; did you mean [" : "", nearest ? nearest : "", nearest ? "]?" : "");
  }
  return TSR_OK;
}

/* Points of one session follow each other. */
static tsr_status group_sessions(tsr_plan *plan, tsr_error *error) {
  const char **labels = calloc(plan->count + 1, sizeof *labels);
  if (!labels) return no_memory(error);
  for (size_t i = 0; i < plan->count; i++) labels[i] = plan->points[i].label;
  tsr_plan_choose(plan, labels, plan->count);
  free(labels);
  return TSR_OK;
}

/* The same combinations in each call with a seed; those of a smaller sample are among those of a larger one. */
static tsr_status draw(planner *p, tsr_error *error) {
  enum { SEED_SHIFT = 40 }; /* beyond the draws of any sample */
  const uint64_t sample = p->options->sample, from = p->options->sample_seed << SEED_SHIFT;
  size_t at[AXES_MAX];
  tsr_status status = TSR_OK;
  for (uint64_t i = 0; status == TSR_OK && p->plan->count < sample && i / DRAWS_MAX < sample; i++) {
    tsr_status_line("drawing table %zu of %llu", p->plan->count + 1, (unsigned long long)sample);
    for (size_t axis = 0; axis < p->axis_count; axis++)
      at[axis] = tsr_keys_mix(64, from + i * AXES_MAX + axis) % p->axes[axis].count;
    status = add_combination(p, at, error);
  }
  tsr_status_line_clear();
  return status ? status : group_sessions(p->plan, error);
}

static tsr_status enumerate(planner *p, tsr_error *error) {
  size_t at[AXES_MAX] = {0};
  double combinations = 1;
  for (size_t i = 0; i < p->axis_count; i++) combinations *= (double)p->axes[i].count;
  if (p->options->sample) return draw(p, error);
  if (combinations > COMBINATIONS_MAX)
    return tsr_fail(
        error, TSR_BAD_SPEC,
        "[sweep] lists %.0f combinations: up to %d are tried; list fewer values, or draw some with --sample",
        combinations, COMBINATIONS_MAX);
  tsr_status status = TSR_OK;
  for (bool is_more = true; status == TSR_OK && is_more;) {
    tsr_status_line("composing %zu of %.0f", p->plan->enumerated + 1, combinations);
    status = add_combination(p, at, error);
    size_t i = p->axis_count;
    while (i > 0 && ++at[i - 1] == p->axes[i - 1].count) at[--i] = 0;
    is_more = i > 0;
  }
  tsr_status_line_clear();
  for (size_t i = 0; status == TSR_OK && i < p->axis_count; i++)
    if (p->axes[i].name && !p->axes[i].is_used)
      status =
          tsr_fail(error, TSR_BAD_SPEC, "[sweep] %s: no part of any combination has this parameter", p->axes[i].name);
  return status;
}

tsr_status tsr_plan_read(const char *path, const tsr_plan_options *options, tsr_plan *plan, tsr_error *error) {
  planner *p = calloc(1, sizeof *p);
  *plan = (tsr_plan){0};
  if (!p) return no_memory(error);
  p->path = path;
  p->options = options;
  p->plan = plan;
  tsr_status status = tsr_spec_read(path, &plan->file, error);
  if (status == TSR_OK) status = check_sections(p, error);
  if (status == TSR_OK) status = tsr_plugins_list(options->plugins, &p->plugins, &p->plugin_count, error);
  if (status == TSR_OK) status = read_axes(p, error);
  if (status == TSR_OK) status = enumerate(p, error);
  for (size_t i = 0; i < p->axis_count; i++) {
    free(p->axes[i].values);
    free(p->axes[i].texts);
  }
  tsr_plugins_free(p->plugins, p->plugin_count);
  free(p);
  if (status) tsr_plan_free(plan);
  return status;
}

void tsr_plan_free(tsr_plan *plan) {
  for (size_t i = 0; i < plan->count; i++) free_point(&plan->points[i]);
  for (size_t i = 0; i < plan->refusal_count; i++) {
    free(plan->refusals[i].sentence);
    free(plan->refusals[i].like);
  }
  free(plan->points);
  free(plan->refusals);
  tsr_spec_free(plan->file);
  *plan = (tsr_plan){0};
}

/* Brings the point of a label, if it is after the first `chosen` and of the session (NULL: any), to their end. */
static size_t choose(tsr_plan *plan, size_t chosen, const char *label, const char *session) {
  for (size_t i = chosen; i < plan->count; i++) {
    const tsr_point point = plan->points[i];
    if (strcmp(point.label, label) != 0 || (session && strcmp(point.session, session) != 0)) continue;
    plan->points[i] = plan->points[chosen];
    plan->points[chosen] = point;
    return chosen + 1;
  }
  return chosen;
}

void tsr_plan_choose(tsr_plan *plan, const char *const *labels, size_t count) {
  size_t chosen = 0;
  for (size_t k = 0; k < count; k++) {
    const size_t before = chosen;
    chosen = choose(plan, chosen, labels[k], NULL);
    for (size_t other = k + 1; chosen > before && other < count; other++)
      chosen = choose(plan, chosen, labels[other], plan->points[before].session);
  }
  for (size_t i = chosen; i < plan->count; i++) free_point(&plan->points[i]);
  plan->count = chosen;
}

void tsr_plan_tell(const tsr_plan *plan) {
  size_t refused = 0;
  for (size_t i = 0; i < plan->refusal_count; i++) refused += plan->refusals[i].count;
  fprintf(stderr, "tessera: %zu combination%s: %zu are refused, %zu compose what another one does, %zu to measure\n",
          plan->enumerated, plan->enumerated == 1 ? "" : "s", refused, plan->duplicates, plan->count);
  for (size_t i = 0; i < plan->refusal_count && i < REFUSALS_TOLD; i++)
    fprintf(stderr, "tessera:   %zu refused%s: %s\n", plan->refusals[i].count,
            plan->refusals[i].count > 1 ? ", such as" : "", plan->refusals[i].sentence);
  if (plan->refusal_count > REFUSALS_TOLD)
    fprintf(stderr, "tessera:   and for %zu other reasons\n", plan->refusal_count - REFUSALS_TOLD);
}
