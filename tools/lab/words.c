/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading options and operands; words.h says how they look.
 */
#include "tools/lab/words.h"

#include <string.h>

#include "core/spec/number.h"

bool tsr_words_want_help(int argc, char **argv) {
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return true;
  return false;
}

static tsr_status unknown_option(const tsr_words *w, const char *word, size_t letters, tsr_error *error) {
  char bare[64];
  snprintf(bare, sizeof bare, "%.*s", (int)(letters < sizeof bare ? letters : sizeof bare - 1), word);
  const char *nearest = tsr_nearest(bare, w->names, w->name_count);
  if (nearest)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has no option %s; did you mean %s?", w->command, bare, nearest);
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s has no option %s; see `tessera %s --help`", w->command, bare,
                  w->command);
}

tsr_status tsr_words_next(tsr_words *w, size_t *which, const char **value, tsr_error *error) {
  const char *word = w->argv[w->at++];
  size_t letters = strcspn(word, "="), i = 0;
  *which = w->name_count;
  *value = word;
  if (word[0] != '-') return TSR_OK;
  while (i < w->name_count && (strlen(w->names[i]) != letters || strncmp(word, w->names[i], letters) != 0)) i++;
  if (i == w->name_count) return unknown_option(w, word, letters, error);
  if (w->given & ~w->repeatable & 1u << i)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s is given twice: once is enough", w->names[i]);
  w->given |= 1u << i;
  *which = i;
  if (word[letters]) {
    *value = word + letters + 1;
  } else {
    *value = w->at < w->argc ? w->argv[w->at++] : "";
  }
  return **value ? TSR_OK : tsr_fail(error, TSR_BAD_ARGUMENT, "%s needs a value", w->names[i]);
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
