/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera complete: what the last word of a command line may become, for the completion of shells (completion.bash and the
 * others). Commands, options and words to choose from come from the rows that --help prints, the rest from the library.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/tessera_devices.h"
#include "tools/cli/command.h"
#include "tools/lab/bench_options.h"

enum { WORD_BYTES = 256 };

/* The word to complete; `kept` is what stands before the part that is looked for, such as "--out=". */
typedef struct word {
  const char *part;
  char kept[WORD_BYTES];
} word;

/* A line: the whole word, a tab, the first sentence of what it means. */
static void offer(const word *w, const char *candidate, const char *doc) {
  if (strncmp(candidate, w->part, strlen(w->part)) != 0) return;
  const char *end = strstr(doc, ". ");
  printf("%s%s\t%.*s\n", w->kept, candidate, (int)(end ? (size_t)(end - doc) + 1 : strcspn(doc, "\n")), doc);
}

static void offer_files(void) { printf("\n"); }

/* ---- Names that the library knows ------------------------------------------------------------ */

static void offer_recipes(const word *w, const char *folder, bool with_folder) {
  const tsr_recipe_info *recipes;
  size_t count;
  if (tsr_recipes_list(&recipes, &count, NULL) != TSR_OK) return;
  for (size_t i = 0; i < count; i++) {
    const char *name = recipes[i].name, *slash = strchr(name, '/');
    const size_t letters = slash ? (size_t)(slash - name) + 1 : 0;
    if (letters == strlen(folder) && strncmp(name, folder, letters) == 0)
      offer(w, with_folder ? name : name + letters, recipes[i].summary);
  }
  tsr_recipes_free(recipes, count);
}

static void offer_roles(const word *w) {
  static const char *const roles[] = {"layout", "probing", "hasher", "allocator", "eviction"};
  for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) offer(w, roles[i], "");
}

/* Names of plugins: role NULL: of all roles, as ROLE/NAME. */
static void offer_plugins(const word *w, const char *role) {
  const tsr_plugin_info *plugins;
  size_t count;
  char name[WORD_BYTES];
  if (tsr_plugins_list(NULL, &plugins, &count, NULL) != TSR_OK) return;
  for (size_t i = 0; i < count; i++) {
    if (role && strcmp(role, plugins[i].role) != 0) continue;
    snprintf(name, sizeof name, "%s%s%s", role ? "" : plugins[i].role, role ? "" : "/", plugins[i].name);
    offer(w, name, plugins[i].summary);
  }
  tsr_plugins_free(plugins, count);
}

/* ---- Entries of a spec: SECTION.KEY=VALUE ---------------------------------------------------- */

static const struct {
  const char *name;
  size_t (*list)(const tsr_setting_info **rows);
} sections[] = {{"table", tsr_settings_list},
                {"devices", tsr_devices_settings_list},
                {"filter", tsr_filter_settings_list},
                {"values", tsr_values_settings_list}};
enum { SECTIONS = sizeof sections / sizeof sections[0] };

/* The words of "set | map | a layout" to choose from: those that are one word in small letters. */
static void offer_choices(const word *w, const char *choices, const char *between) {
  for (const char *at = choices; *at;) {
    const char *end = strstr(at, between);
    const size_t letters = end ? (size_t)(end - at) : strlen(at);
    char choice[WORD_BYTES];
    if (letters < sizeof choice && islower((unsigned char)*at) && !memchr(at, ' ', letters)) {
      snprintf(choice, sizeof choice, "%.*s", (int)letters, at);
      offer(w, choice, "");
    }
    at += letters + (end ? strlen(between) : 0);
  }
}

/* Whether a plugin before this one has the same role and a parameter of this name. */
static bool is_there_before(const tsr_plugin_info *plugins, size_t number, const char *name) {
  for (size_t i = 0; i < number; i++)
    for (size_t k = 0; strcmp(plugins[i].role, plugins[number].role) == 0 && k < plugins[i].parameter_count; k++)
      if (strcmp(plugins[i].parameters[k].name, name) == 0) return true;
  return false;
}

static void offer_keys(const word *w) {
  const tsr_plugin_info *plugins;
  const tsr_setting_info *rows;
  size_t count;
  char name[WORD_BYTES];
  for (size_t i = 0; i < SECTIONS; i++) {
    count = sections[i].list(&rows);
    for (size_t k = 0; k < count; k++) {
      snprintf(name, sizeof name, "%s.%s=", sections[i].name, rows[k].key);
      offer(w, name, rows[k].doc);
    }
  }
  if (tsr_plugins_list(NULL, &plugins, &count, NULL) != TSR_OK) return;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < plugins[i].parameter_count; k++) {
      const tsr_parameter_info *row = &plugins[i].parameters[k];
      snprintf(name, sizeof name, "%s.%s=", plugins[i].role, row->name);
      if (!is_there_before(plugins, i, row->name)) offer(w, name, row->doc);
    }
  tsr_plugins_free(plugins, count);
}

static void offer_entry(word *w) {
  const tsr_setting_info *rows;
  char name[WORD_BYTES];
  const char *equals = strchr(w->part, '=');
  if (!equals) {
    offer_keys(w);
    return;
  }
  const size_t letters = (size_t)(equals - w->part) + 1, kept = strlen(w->kept);
  if (kept + letters >= sizeof w->kept) return;
  snprintf(name, sizeof name, "%.*s", (int)letters - 1, w->part);
  snprintf(w->kept + kept, sizeof w->kept - kept, "%s=", name);
  w->part = equals + 1;
  const char *key = strchr(name, '.');
  for (size_t i = 0; key && i < SECTIONS; i++) {
    if (strlen(sections[i].name) != (size_t)(key - name) || strncmp(name, sections[i].name, (size_t)(key - name)) != 0)
      continue;
    const size_t count = sections[i].list(&rows);
    for (size_t k = 0; k < count; k++)
      if (strcmp(rows[k].key, key + 1) == 0) offer_choices(w, rows[k].values, " | ");
  }
  if (key && strncmp(name, "table.", 6) == 0 && tsr_is_role(key + 1, strlen(key + 1))) offer_plugins(w, key + 1);
}

/* ---- Placeholders ---------------------------------------------------------------------------- */

static void offer_commands(const word *w) {
  for (const tsr_command_row *row = tsr_commands; row->synopsis; row++)
    offer(w, row->synopsis->command, row->synopsis->doc);
}

static void offer_described(const word *w) {
  offer_roles(w);
  for (size_t i = 0; i < SECTIONS; i++) offer(w, sections[i].name, "the keys of this section");
  offer(w, "compatible", "which settings do not go together");
  offer_plugins(w, NULL);
}

/* The last one of a list with commas. */
static void offer_operations(word *w) {
  const char *comma = strrchr(w->part, ',');
  const size_t letters = comma ? (size_t)(comma - w->part) + 1 : 0, kept = strlen(w->kept);
  if (kept + letters >= sizeof w->kept) return;
  snprintf(w->kept + kept, sizeof w->kept - kept, "%.*s", (int)letters, w->part);
  w->part += letters;
  for (int op = 0; op < TSR_BENCH_OPS; op++) offer(w, tsr_bench_op_name((tsr_bench_op)op), "");
}

/* What may stand for one alternative of a row's text, such as SPEC in "SPEC" or yes in "yes|no". */
static void offer_for(word *w, const char *placeholder) {
  if (islower((unsigned char)*placeholder)) {
    offer(w, placeholder, "");
  } else if (strcmp(placeholder, "SPEC") == 0) {
    offer_recipes(w, "", true);
    offer_files();
  } else if (strcmp(placeholder, "EXPERIMENT") == 0) {
    offer_recipes(w, "experiments/", false);
  } else if (strcmp(placeholder, "COMMAND") == 0) {
    offer_commands(w);
  } else if (strcmp(placeholder, "ROLE") == 0) {
    offer_roles(w);
  } else if (strcmp(placeholder, "ROLE/NAME") == 0) {
    offer_described(w);
  } else if (strcmp(placeholder, "OP,OP") == 0) {
    offer_operations(w);
  } else if (strcmp(placeholder, "SECTION.KEY=VALUE") == 0) {
    offer_entry(w);
  } else if (strlen(placeholder) > 1 && strcmp(placeholder, "NAME") != 0 && strcmp(placeholder, "COLUMN") != 0) {
    offer_files(); /* FILE, FOLDER, LEFT and such; N and K are numbers */
  }
}

/* Each alternative of "C|tab|blank", without the brackets and points of an operand. */
static void offer_alternatives(word *w, const char *text, size_t letters) {
  for (size_t at = 0; at < letters;) {
    char placeholder[WORD_BYTES];
    size_t length = 0;
    while (at + length < letters && text[at + length] != '|') length++;
    const char *from = text + at;
    size_t kept = length;
    while (kept && strchr("[]. ", from[0])) from++, kept--;
    while (kept && strchr("[]. ", from[kept - 1])) kept--;
    snprintf(placeholder, sizeof placeholder, "%.*s", (int)kept, from);
    if (*placeholder) offer_for(w, placeholder);
    at += length + 1;
  }
}

/* The operand of this number, or the last one if that may be there several times. */
static void offer_operand(word *w, const char *operands, size_t number) {
  const char *at = operands, *last = operands;
  for (size_t i = 0; *at; i++) {
    const size_t letters = strcspn(at, " ");
    last = at;
    if (i == number) {
      offer_alternatives(w, at, letters);
      return;
    }
    at += letters + strspn(at + letters, " ");
  }
  if (strstr(last, "...")) offer_alternatives(w, last, strlen(last));
}

/* ---- The command line ------------------------------------------------------------------------ */

static const tsr_option *find_option(const tsr_synopsis *synopsis, const char *name, size_t letters) {
  for (const tsr_option *option = synopsis->options; option->name; option++)
    if (strlen(option->name) == letters && strncmp(option->name, name, letters) == 0) return option;
  return NULL;
}

/* What is known of the words before the one that is completed. */
typedef struct before {
  const tsr_option *pending; /* its value comes next */
  size_t operands;
  bool has_ended; /* `--` was there */
} before;

static before read_before(const tsr_synopsis *synopsis, const char *const *words, size_t count) {
  before b = {.operands = 0};
  for (size_t i = 0; i < count; i++) {
    const tsr_option *option =
        b.pending || b.has_ended ? NULL : find_option(synopsis, words[i], strcspn(words[i], "="));
    if (b.pending)
      b.pending = NULL;
    else if (option)
      b.pending = option->value && !strchr(words[i], '=') ? option : NULL;
    else if (!b.has_ended && strcmp(words[i], "--") == 0)
      b.has_ended = true;
    else
      b.operands += b.has_ended || words[i][0] != '-';
  }
  return b;
}

static bool is_given(const tsr_option *option, const char *const *words, size_t count) {
  const size_t letters = strlen(option->name);
  for (size_t i = 0; i < count; i++)
    if (strncmp(words[i], option->name, letters) == 0 && (!words[i][letters] || words[i][letters] == '=')) return true;
  return false;
}

static void complete_options(const tsr_synopsis *synopsis, const char *const *words, size_t count, word *w) {
  const size_t letters = strcspn(w->part, "=");
  const tsr_option *option = w->part[letters] ? find_option(synopsis, w->part, letters) : NULL;
  if (option && option->value && letters + 1 < sizeof w->kept) {
    snprintf(w->kept, sizeof w->kept, "%.*s", (int)letters + 1, w->part);
    w->part += letters + 1;
    offer_alternatives(w, option->value, strlen(option->value));
    return;
  }
  for (option = synopsis->options; option->name; option++)
    if (option->is_repeatable || !is_given(option, words, count)) offer(w, option->name, option->doc);
  offer(w, "--help", "Prints these options.");
}

static tsr_exit run(const tsr_arguments *arguments) {
  const size_t count = arguments->operand_count;
  word w = {.part = count ? arguments->operands[count - 1] : "", .kept = ""};
  const tsr_command_row *row = tsr_commands;
  if (count < 2) {
    offer_commands(&w);
    return TSR_EXIT_OK;
  }
  while (row->synopsis && strcmp(row->synopsis->command, arguments->operands[0]) != 0) row++;
  if (!row->synopsis) return TSR_EXIT_OK;
  const char *const *words = arguments->operands + 1;
  const before b = read_before(row->synopsis, words, count - 2);
  if (b.pending)
    offer_alternatives(&w, b.pending->value, strlen(b.pending->value));
  else if (!b.has_ended && w.part[0] == '-')
    complete_options(row->synopsis, words, count - 2, &w);
  else
    offer_operand(&w, row->synopsis->operands, b.operands);
  return TSR_EXIT_OK;
}

static const tsr_option options[] = {TSR_OPTION_END};

const tsr_command tsr_complete_command = {
    {"complete", "[WORD...]", "Prints what the last word of a command line may become, for the completion of shells.",
     options, NULL},
    run};
