/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a table as the spec says (loading.h).
 */
#include "tools/cli/loading.h"

#include <inttypes.h>
#include <string.h>

#include "core/spec/number.h"
#include "core/tessera_devices.h"
#include "core/tessera_tools.h"
#include "tools/cli/console.h"

enum { VALUE_BYTES = 32 };

typedef struct loading {
  const char *path, *plugins;
  const tsr_spec *spec; /* what the table is to be */
  tsr_table *table;     /* as it was saved */
} loading;

/* ---- What differs ---------------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b) {
  uint64_t number, other_number;
  double fraction, other_fraction;
  if (tsr_parse_u64(a, &number) && tsr_parse_u64(b, &other_number)) return number == other_number;
  if (tsr_parse_double(a, &fraction) && tsr_parse_double(b, &other_fraction)) return fraction == other_fraction;
  return strcmp(a, b) == 0;
}

static void say_difference(const loading *l, const char *section, const char *key, const char *saved,
                           const char *wanted) {
  tsr_say("--load %s: was saved with [%s] %s = %s, and the spec says %s: its pairs are moved", l->path, section, key,
          *saved ? saved : "none", *wanted ? wanted : "none");
}

static const char *said(const tsr_spec *spec, const char *section, const char *key, const char *initial) {
  const char *value = tsr_spec_get(spec, section, key);
  return value ? value : initial;
}

static bool is_said_alike(const loading *l, const char *section, const char *key, const char *initial) {
  return is_same(said(tsr_table_spec(l->table), section, key, initial), said(l->spec, section, key, initial));
}

/* Tells a difference, if there is one; `initial` is what holds where nothing is said. */
static bool differs(const loading *l, const char *section, const char *key, const char *initial) {
  if (is_said_alike(l, section, key, initial)) return false;
  say_difference(l, section, key, said(tsr_table_spec(l->table), section, key, initial),
                 said(l->spec, section, key, initial));
  return true;
}

/* The capacity is the table's, not that of the spec that it was made by: it may come from the input, or have grown. */
static bool capacity_differs(const loading *l) {
  char number[VALUE_BYTES];
  const char *wanted = tsr_spec_get(l->spec, "table", "capacity");
  tsr_table_info info = {0};
  uint64_t pairs;
  tsr_table_describe(l->table, &info);
  if (!wanted || !tsr_parse_u64(wanted, &pairs) || pairs == info.capacity) return false;
  if (strcmp(said(l->spec, "table", "growth", "none"), "none") != 0 && info.capacity > pairs) {
    tsr_say("--load %s: keeps its capacity of %" PRIu64 ", beyond the spec's %s: a table that grows does not shrink",
            l->path, info.capacity, wanted);
    return false;
  }
  snprintf(number, sizeof number, "%" PRIu64, info.capacity);
  say_difference(l, "table", "capacity", number, wanted);
  return true;
}

/* What of [table] cannot be changed, is no matter of the pairs, or is looked at elsewhere. */
static bool is_elsewhere(const char *key) {
  static const char *const others[] = {"kind",    "key_bits", "key_columns", "value_bits", "value_bytes",
                                       "backend", "device",   "devices",     "capacity"};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (strcmp(others[i], key) == 0) return true;
  return false;
}

static bool section_differs(const loading *l, const char *section, size_t (*list)(const tsr_setting_info **)) {
  const tsr_setting_info *rows;
  const size_t count = list(&rows);
  bool is_other = false;
  for (size_t i = 0; i < count; i++)
    if (!is_elsewhere(rows[i].key) && differs(l, section, rows[i].key, rows[i].initial ? rows[i].initial : ""))
      is_other = true;
  return is_other;
}

/* How pairs are shared out among devices is no matter of what a table holds, and stays as it was saved. */
static void tell_devices(const loading *l) {
  const tsr_setting_info *rows;
  const size_t count = tsr_devices_settings_list(&rows);
  for (size_t i = 0; tsr_spec_get(l->spec, "table", "devices") && i < count; i++)
    if (!is_said_alike(l, "devices", rows[i].key, rows[i].initial))
      tsr_say("--load %s: keeps [devices] %s = %s, with which it was saved, and not the spec's %s", l->path,
              rows[i].key, said(tsr_table_spec(l->table), "devices", rows[i].key, rows[i].initial),
              said(l->spec, "devices", rows[i].key, rows[i].initial));
}

/* The parameters of a part that both name. */
static bool part_differs(const loading *l, const tsr_plugin_info *plugin) {
  char initial[VALUE_BYTES];
  bool is_other = false;
  if (strcmp(said(l->spec, "table", plugin->role, ""), plugin->name) != 0 ||
      !is_said_alike(l, "table", plugin->role, ""))
    return false;
  for (size_t i = 0; i < plugin->parameter_count; i++) {
    snprintf(initial, sizeof initial, "%" PRIu64, plugin->parameters[i].initial);
    if (differs(l, plugin->role, plugin->parameters[i].name, initial)) is_other = true;
  }
  return is_other;
}

/* ---- Loading --------------------------------------------------------------------------------- */

static tsr_status check_kind(const loading *l, tsr_error *error) {
  static const char *const keys[] = {"kind", "key_bits", "key_columns", "value_bits", "value_bytes"};
  const tsr_spec *saved = tsr_table_spec(l->table);
  for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
    if (!is_said_alike(l, "table", keys[i], "none"))
      return tsr_fail(error, TSR_BAD_SPEC, "--load %s: the saved table has %s = %s, the spec %s: use the same spec",
                      l->path, keys[i], said(saved, "table", keys[i], "none"), said(l->spec, "table", keys[i], "none"));
  return TSR_OK;
}

static tsr_status find_difference(const loading *l, bool *is_other, tsr_error *error) {
  const tsr_plugin_info *plugins;
  size_t count;
  tsr_status status = tsr_plugins_list(l->plugins, &plugins, &count, error);
  if (status) return status;
  tell_devices(l);
  *is_other = section_differs(l, "table", tsr_settings_list);
  if (section_differs(l, "values", tsr_values_settings_list)) *is_other = true;
  if (section_differs(l, "filter", tsr_filter_settings_list)) *is_other = true;
  if (capacity_differs(l)) *is_other = true;
  for (size_t i = 0; i < count; i++)
    if (part_differs(l, &plugins[i])) *is_other = true;
  tsr_plugins_free(plugins, count);
  return TSR_OK;
}

/* Moves the pairs. A capacity that the spec leaves open stays, and so does one that the table has grown to. */
static tsr_status rehash(loading *l, tsr_error *error) {
  tsr_rehash_options options = {.spec = l->spec};
  tsr_table_info info = {0};
  tsr_error why;
  tsr_table_describe(l->table, &info);
  bool is_read = tsr_parse_u64(said(l->spec, "table", "seed", "1"), &options.seed) &&
                 tsr_parse_u64(said(l->spec, "table", "capacity", "0"), &options.capacity);
  if (!is_read || (info.capacity > options.capacity && strcmp(said(l->spec, "table", "growth", "none"), "none") != 0))
    options.capacity = 0;
  tsr_status status = tsr_rehash(l->table, &options, &why);
  if (status) return tsr_fail(error, status, "--load %s: its pairs cannot be moved: %s", l->path, why.message);
  return TSR_OK;
}

/* What the spec does not say of growth stays as it was saved: *completed is a copy that says it. */
static tsr_status complete(loading *l, tsr_spec **completed, tsr_error *error) {
  static const char *const keys[] = {"growth", "growth_limit"};
  char assignment[2 * VALUE_BYTES];
  tsr_status status = tsr_spec_copy(l->spec, completed, error);
  for (size_t i = 0; status == TSR_OK && i < sizeof keys / sizeof keys[0]; i++) {
    const char *saved = tsr_spec_get(tsr_table_spec(l->table), "table", keys[i]);
    if (!saved || tsr_spec_get(l->spec, "table", "growth")) continue;
    snprintf(assignment, sizeof assignment, "table.%s=%s", keys[i], saved);
    status = tsr_spec_set(*completed, assignment, error);
  }
  if (status == TSR_OK) l->spec = *completed;
  return status;
}

tsr_status tsr_load_as(const char *path, const tsr_spec *spec, const char *plugins, tsr_table **table,
                       bool *was_rehashed, tsr_error *error) {
  const tsr_load_options options = {.plugins = plugins,
                                    .backend = said(spec, "table", "backend", "auto"),
                                    .device = said(spec, "table", "devices", said(spec, "table", "device", "0"))};
  loading l = {.path = path, .plugins = plugins, .spec = spec};
  tsr_status status = tsr_table_load(path, &options, &l.table, error);
  tsr_spec *completed = NULL;
  *was_rehashed = false;
  if (status == TSR_OK) status = complete(&l, &completed, error);
  if (status == TSR_OK) status = check_kind(&l, error);
  if (status == TSR_OK) status = find_difference(&l, was_rehashed, error);
  if (status == TSR_OK && *was_rehashed) status = rehash(&l, error);
  tsr_spec_free(completed);
  if (status)
    tsr_table_destroy(l.table);
  else
    *table = l.table;
  return status;
}
