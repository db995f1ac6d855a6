/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading options and operands; words.h says how they look.
 */
#include "tools/lab/words.h"

#include <string.h>

#include "core/spec/number.h"

bool tsr_words_want_help(int argc, char **argv) {
  for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

static tsr_status unknown_option(const tsr_words *w, const char *word, tsr_error *error) {
  const char *names[TSR_OPTIONS_MAX];
  char bare[64];
  size_t count = 0;
  for (const tsr_option *option = w->options; option->name && count < TSR_OPTIONS_MAX; option++)
    names[count++] = option->name;
  snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
  const char *nearest = tsr_nearest(bare, names, count);
  if (nearest)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has no option %s; did you mean %s?", w->command, bare, nearest);
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has no option %s; see `tessera %s --help`", w->command, bare,
                  w->command);
}

/* The option that `word` names, up to an '='; NULL: none. */
static const tsr_option *find_option(const tsr_words *w, const char *word) {
  const size_t letters = strcspn(word, "=");
  for (const tsr_option *option = w->options; option->name; option++)
    if (strlen(option->name) == letters && strncmp(word, option->name, letters) == 0) return option;
  return NULL;
}

static tsr_status read_option(tsr_words *w, const char *word, const tsr_option *option, const char **value,
                              tsr_error *error) {
  const char *equals = strchr(word, '=');
  const uint32_t bit = 1u << (option - w->options);
  *value = NULL;
  if (!option->value && equals) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s takes no value", word, option->name);
  if (option->value) {
    if (!equals && w->at == w->argc)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s needs a value: %s %s", option->name, option->name, option->value);
    *value = equals ? equals + 1 : w->argv[w->at++];
    if (!**value)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "the value of %s is empty: %s %s", option->name, option->name,
                      option->value);
  }
  if (w->given & bit && !option->is_repeatable)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s is given twice: once is enough", option->name);
  w->given |= bit;
  return TSR_OK;
}

bool tsr_words_next(tsr_words *w, const tsr_option **which, const char **value, tsr_status *status, tsr_error *error) {
  *status = TSR_OK;
  if (w->at < w->argc && !w->has_ended && strcmp(w->argv[w->at], "--") == 0) {
    w->has_ended = true;
    w->at++;
  }
  if (w->at == w->argc) return false;
  const char *word = w->argv[w->at++];
  *which = NULL;
  *value = word;
  if (w->has_ended || word[0] != '-' || !word[1]) return true;
  *which = find_option(w, word);
  *status = *which ? read_option(w, word, *which, value, error) : unknown_option(w, word, error);
  return *status == TSR_OK;
}

int tsr_words_exit(tsr_status status) {
  switch (status) {
  case TSR_OK:
    return 0;
  case TSR_BAD_ARGUMENT:
  case TSR_BAD_SPEC:
  case TSR_NOT_FOUND:
  case TSR_INCOMPATIBLE:
  case TSR_UNSUPPORTED:
    return 2;
  default:
    return 1;
  }
}
