/* SPDX-License-Identifier: Apache-2.0
 *
 * The INI reader: a spec, and behind a line "--set" an assignment to it.
 */
#include "core/spec/spec.h"

#include "tests/fuzz/fuzz.h"

static void check_entries(const tsr_spec *spec) {
  char where[64];
  for (size_t i = 0; i < tsr_spec_count(spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(spec, i);
    FUZZ_CHECK(tsr_spec_find(spec, entry->section, entry->key) == entry); /* each stands there once */
    FUZZ_CHECK(*entry->section && *entry->key && *entry->value);
    FUZZ_CHECK(entry->value[0] != ' ' && entry->value[strlen(entry->value) - 1] != ' ');
    FUZZ_CHECK(strcmp(tsr_spec_get(spec, entry->section, entry->key), entry->value) == 0);
    tsr_spec_where(entry, where, sizeof where);
    FUZZ_CHECK(*where);
  }
}

static void check_assignment(tsr_spec *spec, const char *assignment) {
  tsr_error error = {.status = TSR_OK};
  size_t before = tsr_spec_count(spec);
  tsr_status status = tsr_spec_set(spec, assignment, &error);
  if (status) fuzz_check_sentence(&error, status, "--set");
  FUZZ_CHECK(tsr_spec_count(spec) <= before + (status ? 0u : 1u)); /* without a value an entry is taken out */
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  char *text = fuzz_text(bytes, size);
  char *assignment = strstr(text, "\n--set ");
  if (assignment) {
    *assignment = '\0';
    assignment += strlen("\n--set ");
  }
  tsr_error error = {.status = TSR_OK};
  tsr_spec *spec = NULL, *copy = NULL;
  tsr_status status = tsr_spec_parse(text, "a.ini", &spec, &error);
  if (status) {
    FUZZ_CHECK(!spec);
    fuzz_check_sentence(&error, status, "a.ini:");
  } else {
    check_entries(spec);
    if (assignment) check_assignment(spec, assignment);
    check_entries(spec);
    FUZZ_CHECK(tsr_spec_copy(spec, &copy, &error) == TSR_OK);
    FUZZ_CHECK(tsr_spec_count(copy) == tsr_spec_count(spec));
    check_entries(copy);
  }
  tsr_spec_free(copy);
  tsr_spec_free(spec);
  free(text);
  return 0;
}
