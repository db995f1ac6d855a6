/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera list and tessera describe: the plugins on the search path, from their own descriptors, the keys of [table],
 * [devices], [filter] and [values], and what does not go together. The tables in the pages are its output
 * (tests/docs/update_tables.sh).
 */
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "core/tessera_devices.h"
#include "tools/cli/command.h"
#include "tools/cli/kinds.h"
#include "tools/lab/json.h"

static const char *const roles[] = {"hasher", "layout", "allocator", "probing", "eviction", "recipes"};
enum { ROLES = sizeof roles / sizeof roles[0] - 1 }; /* the last one is for `list` alone */

bool tsr_is_role(const char *word, size_t length) {
  for (size_t i = 0; i < ROLES; i++)
    if (strlen(roles[i]) == length && strncmp(word, roles[i], length) == 0) return true;
  return false;
}

static tsr_exit check_role(const char *word, bool or_recipes) {
  if (tsr_is_role(word, strlen(word))) return TSR_EXIT_OK;
  const char *nearest = tsr_nearest(word, roles, ROLES + or_recipes);
  return tsr_say_usage("there is no role %s: the roles are layout, probing, hasher, allocator and eviction%s%s%s", word,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* ---- JSON: the same facts for programs -------------------------------------------------------- */

/* Every object begins with the version that wrote it. */
static tsr_json begin_json(void) {
  tsr_json json = {.out = stdout};
  tsr_json_object(&json, NULL);
  tsr_json_text(&json, "tessera", TSR_VERSION);
  return json;
}

static void put_plugin(tsr_json *json, const tsr_plugin_info *plugin, const char *kinds) {
  tsr_json_object(json, NULL);
  tsr_json_text(json, "role", plugin->role);
  tsr_json_text(json, "name", plugin->name);
  tsr_json_text(json, "summary", plugin->summary);
  tsr_json_text(json, "source", plugin->source);
  tsr_json_text(json, "file", plugin->path);
  tsr_json_bool(json, "has_device_code", plugin->has_device_code);
  if (kinds) tsr_json_text(json, "kinds", kinds);
  tsr_json_list(json, "parameters");
  for (size_t i = 0; i < plugin->parameter_count; i++) {
    const tsr_parameter_info *row = &plugin->parameters[i];
    tsr_json_object(json, NULL);
    tsr_json_text(json, "name", row->name);
    tsr_json_text(json, "type", row->type);
    tsr_json_number(json, "default", row->initial);
    tsr_json_number(json, "minimum", row->minimum);
    tsr_json_number(json, "maximum", row->maximum);
    tsr_json_text(json, "doc", row->doc);
    tsr_json_end_object(json);
  }
  tsr_json_end_list(json);
  tsr_json_end_object(json);
}

static void put_settings(const char *section, const tsr_setting_info *rows, size_t count) {
  tsr_json json = begin_json();
  tsr_json_text(&json, "section", section);
  tsr_json_list(&json, "settings");
  for (size_t i = 0; i < count; i++) {
    tsr_json_object(&json, NULL);
    tsr_json_text(&json, "key", rows[i].key);
    tsr_json_text(&json, "values", rows[i].values);
    tsr_json_text(&json, "default", rows[i].initial && *rows[i].initial ? rows[i].initial : NULL);
    tsr_json_bool(&json, "is_required", !rows[i].initial);
    tsr_json_text(&json, "doc", rows[i].doc);
    tsr_json_end_object(&json);
  }
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

static void put_incompatible(void) {
  tsr_json json = begin_json();
  tsr_incompatible pair;
  tsr_json_list(&json, "pairs");
  for (size_t i = 0; tsr_incompatible_at(i, &pair); i++) {
    tsr_json_object(&json, NULL);
    tsr_json_text(&json, "feature", pair.feature);
    tsr_json_text(&json, "other", pair.other);
    tsr_json_text(&json, "reason", pair.reason);
    tsr_json_text(&json, "way_out", pair.way_out);
    tsr_json_text(&json, "law", pair.law);
    tsr_json_end_object(&json);
  }
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

static void put_plugins(const tsr_plugin_info *plugins, size_t count, const char *role) {
  tsr_json json = begin_json();
  tsr_json_list(&json, "plugins");
  for (size_t i = 0; i < count; i++)
    if (!role || strcmp(role, plugins[i].role) == 0) put_plugin(&json, &plugins[i], NULL);
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

static void put_recipes(const tsr_recipe_info *recipes, size_t count) {
  tsr_json json = begin_json();
  tsr_json_list(&json, "recipes");
  for (size_t i = 0; i < count; i++) {
    if (strchr(recipes[i].name, '/')) continue;
    tsr_json_object(&json, NULL);
    tsr_json_text(&json, "name", recipes[i].name);
    tsr_json_text(&json, "summary", recipes[i].summary);
    tsr_json_text(&json, "file", recipes[i].path);
    tsr_json_end_object(&json);
  }
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

/* ---- list ------------------------------------------------------------------------------------ */

static void print_plugins(const tsr_plugin_info *plugins, size_t count, const char *role) {
  size_t shown = 0, without_device = 0;
  for (size_t i = 0; i < count; i++) {
    if (role && strcmp(role, plugins[i].role) != 0) continue;
    char name[64];
    snprintf(name, sizeof name, "%s/%s", plugins[i].role, plugins[i].name);
    printf("%-24s %.*s%s\n", name, tsr_first_sentence(plugins[i].summary), plugins[i].summary,
           plugins[i].has_device_code ? "" : " [no device code]");
    shown++;
    without_device += !plugins[i].has_device_code;
  }
  printf("%zu plugin%s\n", shown, shown == 1 ? "" : "s");
  if (without_device)
    tsr_say("%zu carr%s no device code and can be used on the cpu backend only: built without nvcc", without_device,
            without_device == 1 ? "ies" : "y");
  if (!shown) tsr_say("no plugin was found: name the folders with --plugins or TESSERA_PLUGINS");
}

/* Those of subfolders are not tables alone: files of sweeps and experiments, and of speed tests. */
static tsr_exit list_recipes(bool as_json) {
  const tsr_recipe_info *recipes;
  size_t count, shown = 0;
  tsr_error error;
  tsr_status status = tsr_recipes_list(&recipes, &count, &error);
  if (status) return tsr_say_error(status, &error);
  if (as_json) put_recipes(recipes, count);
  for (size_t i = 0; !as_json && i < count; i++) {
    if (strchr(recipes[i].name, '/')) continue;
    printf("%-20s %s\n", recipes[i].name, recipes[i].summary);
    shown++;
  }
  if (!as_json) printf("%zu recipe%s\n", shown, shown == 1 ? "" : "s");
  tsr_recipes_free(recipes, count);
  return TSR_EXIT_OK;
}

static tsr_exit run_list(const tsr_arguments *arguments) {
  const char *role = arguments->operand_count ? arguments->operands[0] : NULL;
  const bool as_json = tsr_arguments_has(arguments, "--json");
  const tsr_plugin_info *plugins;
  size_t count;
  tsr_error error;
  if (role && strcmp(role, "recipes") == 0) return list_recipes(as_json);
  if (role) {
    tsr_exit failed = check_role(role, true);
    if (failed) return failed;
  }
  tsr_status status = tsr_plugins_list(tsr_arguments_value(arguments, "--plugins"), &plugins, &count, &error);
  if (status) return tsr_say_error(status, &error);
  (as_json ? put_plugins : print_plugins)(plugins, count, role);
  tsr_plugins_free(plugins, count);
  return TSR_EXIT_OK;
}

/* ---- describe -------------------------------------------------------------------------------- */

/* ROLE or ROLE/NAME */
static bool is_about(const tsr_plugin_info *plugin, const char *what) {
  size_t length = strlen(plugin->role);
  return strncmp(plugin->role, what, length) == 0 &&
         (!what[length] || (what[length] == '/' && strcmp(plugin->name, what + length + 1) == 0));
}

static const char *initial_of(const tsr_setting_info *row) {
  return !row->initial ? "required" : *row->initial ? row->initial : "-";
}

static void print_settings(const char *section, const tsr_setting_info *rows, size_t count) {
  printf("the keys of [%s]\n\n%-16s %-51s %-8s  %s\n", section, "key", "values", "default", "what it is");
  for (size_t i = 0; i < count; i++)
    printf("%-16s %-51s %-8s  %s\n", rows[i].key, rows[i].values, initial_of(&rows[i]), rows[i].doc);
}

static void print_parameters(const tsr_plugin_info *plugin) {
  if (!plugin->parameter_count) {
    printf("no parameters\n");
    return;
  }
  printf("\n%-16s %-4s %10s  %-18s %s\n", "parameter", "type", "default", "range", "what it is");
  for (size_t i = 0; i < plugin->parameter_count; i++) {
    const tsr_parameter_info *row = &plugin->parameters[i];
    char range[48];
    snprintf(range, sizeof range, "%llu .. %llu", (unsigned long long)row->minimum, (unsigned long long)row->maximum);
    printf("%-16s %-4s %10llu  %-18s %s\n", row->name, row->type, (unsigned long long)row->initial, range, row->doc);
  }
}

/* What is described, and what is there besides. */
typedef struct described {
  const tsr_plugin_info *plugins;
  size_t count;
  const char *what, *folders;
} described;

typedef enum form { FORM_TEXT, FORM_MARKDOWN, FORM_JSON } form;

static bool has_kinds(const tsr_plugin_info *plugin) { return strcmp(plugin->role, "probing") == 0; }

static void put_described(const described *d) {
  tsr_json json = begin_json();
  tsr_json_list(&json, "plugins");
  for (size_t i = 0; i < d->count; i++) {
    char kinds[TSR_KINDS_BYTES];
    if (!is_about(&d->plugins[i], d->what)) continue;
    if (has_kinds(&d->plugins[i])) tsr_kinds_of(&d->plugins[i], d->plugins, d->count, d->folders, kinds);
    put_plugin(&json, &d->plugins[i], has_kinds(&d->plugins[i]) ? kinds : NULL);
  }
  tsr_json_end_list(&json);
  tsr_json_end_object(&json);
}

static void print_plugin(const described *d, const tsr_plugin_info *plugin) {
  printf("%s/%s  %s\n", plugin->role, plugin->name, plugin->summary);
  printf("source       %s\n", plugin->source);
  printf("file         %s\n", plugin->path);
  printf("device code  %s\n", plugin->has_device_code ? "yes" : "no: cpu backend only");
  char kinds[TSR_KINDS_BYTES];
  if (has_kinds(plugin)) {
    tsr_kinds_of(plugin, d->plugins, d->count, d->folders, kinds);
    printf("kinds        %s\n", kinds);
  }
  print_parameters(plugin);
}

/* ---- describe --markdown: tables of the README files ----------------------------------------- */

/* One cell and the bar behind it. */
static void print_cell(const char *text) {
  putchar(' ');
  for (; *text; text++) printf(*text == '|' ? "\\%c" : "%c", *text);
  printf(" |");
}

static void print_code(const char *name) { printf(" `%s` |", name); }

static void print_settings_markdown(const char *section, const tsr_setting_info *rows, size_t count) {
  printf("| `[%s]` | values | default | what it is |\n|---|---|---|---|\n", section);
  for (size_t i = 0; i < count; i++) {
    printf("|");
    print_code(rows[i].key);
    print_cell(rows[i].values);
    print_cell(initial_of(&rows[i]));
    print_cell(rows[i].doc);
    printf("\n");
  }
}

static void print_parameter_markdown(const tsr_plugin_info *plugin, const tsr_parameter_info *row) {
  printf("|");
  print_code(plugin->name);
  print_code(row->name);
  printf(" %llu | %llu .. %llu |", (unsigned long long)row->initial, (unsigned long long)row->minimum,
         (unsigned long long)row->maximum);
  print_cell(row->doc);
  printf("\n");
}

static void print_plugins_markdown(const described *d) {
  const tsr_plugin_info *plugins = d->plugins;
  const size_t count = d->count;
  const char *what = d->what;
  const bool with_kinds = strncmp(what, "probing", strlen("probing")) == 0;
  size_t parameters = 0;
  printf("| plugin | what it is |%s source |\n|---|---|---|%s\n", with_kinds ? " kinds |" : "",
         with_kinds ? "---|" : "");
  for (size_t i = 0; i < count; i++) {
    char kinds[TSR_KINDS_BYTES];
    if (!is_about(&plugins[i], what)) continue;
    printf("|");
    print_code(plugins[i].name);
    print_cell(plugins[i].summary);
    if (with_kinds) {
      tsr_kinds_of(&plugins[i], plugins, count, d->folders, kinds);
      print_cell(kinds);
    }
    print_cell(plugins[i].source);
    printf("\n");
    parameters += plugins[i].parameter_count;
  }
  if (!parameters) return;
  printf("\n| plugin | parameter | default | range | what it is |\n|---|---|---|---|---|\n");
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; is_about(&plugins[i], what) && k < plugins[i].parameter_count; k++)
      print_parameter_markdown(&plugins[i], &plugins[i].parameters[k]);
}

/* ---- describe compatible --------------------------------------------------------------------- */

static void print_incompatible(const tsr_incompatible *pair) {
  printf("%s does not go with %s\n", pair->feature, pair->other);
  printf("  because      %s\n  way out      %s\n", pair->reason, pair->way_out);
  printf("  %-12s %s\n\n", pair->law ? "cannot" : "not built", pair->law ? pair->law : "");
}

static void print_incompatible_markdown(const tsr_incompatible *pair) {
  printf("|");
  print_cell(pair->feature);
  print_cell(pair->other);
  print_cell(pair->reason);
  print_cell(pair->way_out);
  if (pair->law)
    printf(" cannot: %s |\n", pair->law);
  else
    printf(" not built |\n");
}

static void describe_compatible(form as) {
  tsr_incompatible pair;
  size_t count = 0, not_built = 0;
  const bool as_markdown = as == FORM_MARKDOWN;
  if (as == FORM_JSON) {
    put_incompatible();
    return;
  }
  if (as_markdown)
    printf("| this | does not go with | because | way out | cannot, or not built |\n|---|---|---|---|---|\n");
  for (; tsr_incompatible_at(count, &pair); count++) {
    not_built += !pair.law;
    if (as_markdown)
      print_incompatible_markdown(&pair);
    else
      print_incompatible(&pair);
  }
  if (!as_markdown) printf("%zu pairs, %zu of them not built; all others go together\n", count, not_built);
}

/* ---- describe: what was asked for ------------------------------------------------------------ */

static tsr_exit not_found(const tsr_plugin_info *plugins, size_t count, const char *what) {
  size_t length = strcspn(what, "/"), names_count = 0;
  char role[24];
  snprintf(role, sizeof role, "%.*s", (int)length, what);
  if (!what[length]) return tsr_say_usage("there is no plugin of role %s; see `tessera list`", role);
  const char **names = calloc(count + 1, sizeof *names);
  for (size_t i = 0; names && i < count; i++)
    if (strcmp(plugins[i].role, role) == 0) names[names_count++] = plugins[i].name;
  const char *nearest = names ? tsr_nearest(what + length + 1, names, names_count) : NULL;
  tsr_exit failed = nearest ? tsr_say_usage("there is no plugin %s; did you mean %s/%s?", what, role, nearest)
                            : tsr_say_usage("there is no plugin %s; see `tessera list %s`", what, role);
  free(names);
  return failed;
}

static void describe_settings(const char *section, form as) {
  const tsr_setting_info *rows;
  size_t count = strcmp(section, "table") == 0     ? tsr_settings_list(&rows)
                 : strcmp(section, "devices") == 0 ? tsr_devices_settings_list(&rows)
                 : strcmp(section, "filter") == 0  ? tsr_filter_settings_list(&rows)
                                                   : tsr_values_settings_list(&rows);
  (as == FORM_JSON       ? put_settings
   : as == FORM_MARKDOWN ? print_settings_markdown
                         : print_settings)(section, rows, count);
}

static void describe_plugins(const described *d, form as) {
  if (as != FORM_TEXT) {
    (as == FORM_JSON ? put_described : print_plugins_markdown)(d);
    return;
  }
  const char *between = "";
  for (size_t i = 0; i < d->count; i++) {
    if (!is_about(&d->plugins[i], d->what)) continue;
    printf("%s", between);
    print_plugin(d, &d->plugins[i]);
    between = "\n";
  }
}

static tsr_exit run_describe(const tsr_arguments *arguments) {
  const char *what = arguments->operands[0];
  const bool as_json = tsr_arguments_has(arguments, "--json"), as_markdown = tsr_arguments_has(arguments, "--markdown");
  const form as = as_json ? FORM_JSON : as_markdown ? FORM_MARKDOWN : FORM_TEXT;
  const tsr_plugin_info *plugins;
  size_t count, found = 0;
  char role[24];
  tsr_error error;
  if (as_json && as_markdown) return tsr_say_usage("describe: --json and --markdown are two forms: choose one");
  if (strcmp(what, "table") == 0 || strcmp(what, "devices") == 0 || strcmp(what, "filter") == 0 ||
      strcmp(what, "values") == 0) {
    describe_settings(what, as);
    return TSR_EXIT_OK;
  }
  if (strcmp(what, "compatible") == 0) {
    describe_compatible(as);
    return TSR_EXIT_OK;
  }
  if (!strchr(what, '/') && !tsr_is_role(what, strlen(what)))
    return tsr_say_usage("%s: must be ROLE/NAME as `tessera list` prints them, ROLE for all of a role, table, devices, "
                         "filter or values for the keys of that section, or compatible",
                         what);
  snprintf(role, sizeof role, "%.*s", (int)strcspn(what, "/"), what);
  tsr_exit failed = check_role(role, false);
  if (failed) return failed;
  tsr_status status = tsr_plugins_list(tsr_arguments_value(arguments, "--plugins"), &plugins, &count, &error);
  if (status) return tsr_say_error(status, &error);
  for (size_t i = 0; i < count; i++) found += is_about(&plugins[i], what);
  const described d = {plugins, count, what, tsr_arguments_value(arguments, "--plugins")};
  if (found)
    describe_plugins(&d, as);
  else
    failed = not_found(plugins, count, what);
  tsr_plugins_free(plugins, count);
  return failed;
}

static const tsr_option list_options[] = {
    {"--json", NULL, false, "Prints one JSON object."}, TSR_OPTION_PLUGINS, TSR_OPTION_END};
static const tsr_option describe_options[] = {
    {"--json", NULL, false, "Prints one JSON object."},
    {"--markdown", NULL, false, "Prints tables for a page, as in the README files."},
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

const tsr_command tsr_list_command = {{"list", "[ROLE|recipes]",
                                       "Lists the plugins, or those of one role; `list recipes` lists the recipes.",
                                       list_options, NULL},
                                      run_list};
const tsr_command tsr_describe_command = {
    {"describe", "ROLE/NAME",
     "Prints what a plugin is and its parameters. ROLE: all plugins of that role. table, "
     "devices, filter, values: the keys of that section. compatible: "
     "which settings do not go together.",
     describe_options, NULL},
    run_describe};
