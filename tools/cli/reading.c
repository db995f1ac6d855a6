/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and notes of files of keys (reading.h).
 */
#define _POSIX_C_SOURCE 200809L /* access */
#include "tools/cli/reading.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/spec/number.h"
#include "tools/cli/texts.h"

enum { SKIPPED_SHARE = 10 }; /* one k-mer in that many may be skipped without a word */

tsr_exit tsr_reading_options(const tsr_arguments *arguments, tsr_dataset_options *reading) {
  const char *separator = tsr_arguments_value(arguments, "--separator");
  const char *null = tsr_arguments_value(arguments, "--null");
  reading->key_column = tsr_arguments_value(arguments, "--key");
  reading->is_strict = tsr_arguments_has(arguments, "--strict");
  reading->signed_keys = reading->signed_values = tsr_arguments_has(arguments, "--signed");
  reading->skips_null = null && strcmp(null, "skip") == 0;
  if (null && !reading->skips_null && strcmp(null, "refuse") != 0)
    return tsr_say_usage("--null %s: must be refuse or skip", null);
  if (!separator) return TSR_EXIT_OK;
  reading->separator = strcmp(separator, "tab") == 0     ? '\t'
                       : strcmp(separator, "blank") == 0 ? ' '
                       : strlen(separator) == 1          ? separator[0]
                                                         : '\0';
  if (!reading->separator || strchr("\"\n\r#\\_+-.", reading->separator) ||
      (separator[0] >= '0' && separator[0] <= '9'))
    return tsr_say_usage("--separator %s: must be tab, blank or a character such as ; that no number has", separator);
  return TSR_EXIT_OK;
}

tsr_status tsr_reading_columns(const tsr_dataset_options *reading, tsr_spec *spec, tsr_error *error) {
  static const char *const types[] = {"64", "64", "32", "32", "16", "16", "16", "16"};
  enum { INFERRED_MAX = sizeof types / sizeof types[0] };
  char said[TSR_KEY_PARTS_MAX * 8] = "table.key_columns=";
  size_t columns = 1;
  tsr_key_parts parts = {.size = sizeof parts};
  for (const char *at = reading->key_column; at && *at; at++) columns += *at == ',';
  if (columns == 1 || tsr_spec_get(spec, "table", "key_columns")) return TSR_OK;
  const tsr_status status = tsr_spec_key_parts(spec, &parts, error); /* key_bits = 96 */
  if (status || parts.count) return status;
  if (columns > INFERRED_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--key %s: names %zu columns: say their types by --set table.key_columns=u8,...",
                    reading->key_column, columns);
  for (size_t i = 0; i < columns; i++)
    snprintf(said + strlen(said), sizeof said - strlen(said), "%s%c%s", i ? "," : "", reading->signed_keys ? 'i' : 'u',
             types[columns - 1]);
  return tsr_spec_set(spec, said, error);
}

void tsr_reading_use(tsr_dataset_options *reading, const tsr_key_form *form) {
  reading->form = form;
  reading->key_bits = form->parts.key_bits;
  if (form->parts.count || form->texts) reading->signed_keys = false;
}

tsr_status tsr_reading_texts(const tsr_arguments *arguments, tsr_spec *spec, tsr_key_form *form, tsr_error *error) {
  const char *said = tsr_spec_get(spec, "table", "seed");
  uint64_t seed = 1;
  if (!tsr_arguments_has(arguments, "--key-text")) return TSR_OK;
  if (tsr_spec_get(spec, "table", "key_columns"))
    return tsr_fail(error, TSR_BAD_SPEC, "--key-text: the key is one column of text, and the spec has key_columns");
  if (said && !tsr_parse_u64(said, &seed))
    return tsr_fail(error, TSR_BAD_SPEC, "[table] seed = %s: must be a number", said);
  tsr_status status = tsr_spec_set(spec, "table.key_bits=128", error);
  if (status == TSR_OK)
    status = tsr_texts_create(seed, tsr_arguments_value(arguments, "--plugins"), &form->texts, error);
  return status;
}

tsr_status tsr_reading_recipe(const tsr_arguments *arguments, const tsr_dataset_options *reading,
                              const char *const names[2], tsr_spec **spec, tsr_error *error) {
  tsr_key_parts parts = {.size = sizeof parts};
  tsr_status status = tsr_arguments_recipe(arguments, names[0], spec, error);
  if (status == TSR_OK) status = tsr_reading_columns(reading, *spec, error);
  if (status == TSR_OK) status = tsr_spec_key_parts(*spec, &parts, error);
  const bool is_wide = parts.key_bits > 64 || tsr_arguments_has(arguments, "--key-text");
  if (status || !is_wide || tsr_arguments_has(arguments, "--spec")) return status;
  tsr_spec_free(*spec);
  *spec = NULL;
  status = tsr_arguments_recipe(arguments, names[1], spec, error);
  return status ? status : tsr_reading_columns(reading, *spec, error);
}

void tsr_say_if_missing(const char *path) {
  if (strcmp(path, "-") == 0 || access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR)) return;
  tsr_say("'%s': cannot be opened: %s", path, strerror(errno));
}

void tsr_say_what_was_read(const char *path, const tsr_dataset_options *reading, const tsr_input_facts *facts,
                           bool is_quiet) {
  const tsr_sequence_facts *s = &facts->sequences;
  if (facts->lacks_end) tsr_say("%s: lacks the empty block with which bgzip ends a file: it may be cut", path);
  if (is_quiet && s->kmers_skipped > (facts->keys + s->kmers_skipped) / SKIPPED_SHARE)
    tsr_say("%s: %" PRIu64 " of %" PRIu64 " %u-mers were skipped for other letters than A, C, G, T and U", path,
            s->kmers_skipped, facts->keys + s->kmers_skipped, reading->kmers);
  if (is_quiet) return;
  if (*facts->names.key && !reading->key_column)
    tsr_say("%s: its first row names the columns: %s%s%s", path, facts->names.key, *facts->names.value ? ", " : "",
            facts->names.value);
  if (facts->rows_skipped)
    tsr_say("%s: %" PRIu64 " row%s left out, whose key or value is empty, \\N or -", path, facts->rows_skipped,
            facts->rows_skipped == 1 ? " was" : "s were");
  if (facts->keys) return;
  if (reading->kmers)
    tsr_say("%s: holds no k-mer of %u letters A, C, G or T (records: %" PRIu64 ", letters: %" PRIu64 ")", path,
            reading->kmers, s->records, s->bases);
  else
    tsr_say("%s: holds no key", path);
}
